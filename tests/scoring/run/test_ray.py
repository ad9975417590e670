"""Ray workers: the bytes of one process for any number of workers, whoever dies; nothing lost, nothing scored twice."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import sys
from collections import Counter, deque
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import pairbank
from command_line import completed
from pairbank.errors import ModelLoadError, ScoringError
from pairbank.scoring.api.model import ScoringStats
from pairbank.scoring.api.requests import N_PLACES
from pairbank.scoring.methods.direct import Direct
from pairbank.scoring.methods.prompted import Prompted
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.run.ray_actor import Facts, Worker
from pairbank.scoring.run.ray_workers import Needs, begin
from pairbank.scoring.run.store import VERSIONS
from tiny_bidirectional_models import saved, t5_model
from tiny_models import ARCHITECTURES, saved_model

if TYPE_CHECKING:
    import datasets

    from pairbank.scoring.run.ray_workers import RayModel

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed: pip install 'pairbank[ray]'")
METHODS = ("direct", "meta_question_simple")


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Direct, "shard_items", 16)
    monkeypatch.setattr(Prompted, "shard_items", 8)
    # workers are other processes: they find what this one finds
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))


@pytest.fixture
def items() -> datasets.Dataset:
    return pairbank.load_corpus("starter", subset="minimal-pairs")


@contextlib.contextmanager
def workers(folder: Path, n: int) -> Iterator[RayModel]:
    from pairbank.scoring.run.ray_workers import RayModel

    with RayModel(str(folder), {"device": "cpu"}, n_workers=n) as model:
        yield model


def times_scored(model: RayModel) -> list[float]:
    """Return how often each unit was scored; of one that was divided, its shares together."""
    times: Counter[int] = Counter()
    for entry in model.ledger:
        times[entry.unit] += entry.share.n_places
    return [n / N_PLACES for n in times.values()]


@pytest.mark.slow
@needs_ray
def test_a_run_of_one_unit_is_shared_out_among_all_workers(
    items: datasets.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Direct, "shard_items", 2_048)
    folder = folder_of("bloom", tmp_path)
    expected = pairbank.score(items, pairbank.load_model(str(folder), device="cpu")).save(tmp_path / "one.parquet")
    monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / "another"))
    with workers(folder, 2) as model:
        result = pairbank.score(items, model).save(tmp_path / "ray.parquet")
        assert len({entry.pid for entry in model.ledger}) == 2
        assert times_scored(model) == [1]
    assert result.read_bytes() == expected.read_bytes()


def folder_of(name: str, folder: Path) -> Path:
    return saved(*t5_model(), folder / name) if name == "t5" else saved_model(ARCHITECTURES[name], folder / name)


def in_one_process(folder: Path, items: datasets.Dataset, out: Path) -> bytes:
    model = pairbank.load_model(str(folder), device="cpu")
    return pairbank.score(items, model, methods=METHODS).save(out / "one.parquet").read_bytes()


@pytest.mark.slow
@needs_ray
@pytest.mark.parametrize(("name", "n_workers"), [("llama", 2), ("gpt2", 1), ("t5", 2)])
def test_workers_give_the_bytes_of_one_process(
    name: str, n_workers: int, items: datasets.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of(name, tmp_path)
    expected = in_one_process(folder, items, tmp_path)
    monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / "another"))
    with workers(folder, n_workers) as model:
        result = pairbank.score(items, model, methods=METHODS).save(tmp_path / "ray.parquet")
        assert set(times_scored(model)) == {1}
        assert len({entry.pid for entry in model.ledger}) == n_workers
        assert any(not entry.share.is_whole for entry in model.ledger) == (n_workers > 1)
        n_tasks = len(model.ledger)
        pairbank.score(items, model, methods=METHODS)
        assert len(model.ledger) == n_tasks  # all is stored
    assert result.read_bytes() == expected


@pytest.mark.slow
@needs_ray
def test_a_run_of_several_models_by_workers_writes_the_scores_of_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = (f'[[models]]\nid = "{folder_of(name, tmp_path)}"\n' for name in ("llama", "gpt2", "qwen2"))
    (tmp_path / "models.toml").write_text("".join(entries), encoding="utf-8")
    (tmp_path / "mine.toml").write_text(
        'title = "Mine"\nmethods = ["direct", "slor"]\nunigrams_from = ["starter"]\nn_resamples = 20\n'
        '[[corpora]]\nname = "starter"\nsubset = "minimal-pairs"\n',
        encoding="utf-8",
    )
    words = ["run", str(tmp_path / "mine.toml"), "--models", str(tmp_path / "models.toml"), "--device", "cpu"]
    made: list[dict[str, bytes]] = []
    for how in ([], ["--ray", "local", "--workers", "2"]):
        monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / f"cache{len(made)}"))
        bank = tmp_path / f"bank{len(made)}"
        done = completed([*words, *how, "--out", str(bank)])
        assert how == [] or done.output.count("worker ") >= 3
        made.append({path.name: path.read_bytes() for path in (bank / "scores" / "starter").glob("*.parquet")})
    assert len(made[0]) == 3
    assert made[0] == made[1]


@pytest.mark.slow
@needs_ray
def test_a_worker_that_is_killed_comes_back_and_nothing_is_lost_or_scored_twice(
    items: datasets.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of("mistral", tmp_path)
    expected = in_one_process(folder, items, tmp_path)
    monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / "another"))
    killed: list[int] = []
    with workers(folder, 2) as model:

        def on_share(_done: float, _total: int) -> None:
            if not killed:
                killed.append(model.ledger[-1].pid)
                os.kill(killed[0], signal.SIGKILL)

        result = pairbank.score(items, model, methods=METHODS, progress=on_share).save(tmp_path / "ray.parquet")
        assert set(times_scored(model)) == {1}
    assert killed
    assert result.read_bytes() == expected


@pytest.mark.slow
@needs_ray
def test_what_a_worker_raises_is_raised_here(tmp_path: Path) -> None:
    folder = folder_of("gpt2", tmp_path)
    (tmp_path / "mine.csv").write_text(f"good,bad\n{'word ' * 700}ends.,A dog bark.\n")
    with workers(folder, 1) as model, pytest.raises(ScoringError, match="but gpt2 takes 640; shorten the item"):
        pairbank.score(pairbank.load_corpus(tmp_path / "mine.csv"), model)
    with pytest.raises(ModelLoadError, match=r"no folder .*nothing"), workers(tmp_path / "nothing", 1):
        pass


class NoRay:
    """Stands in for the package: an answer is what a worker gives, or the error that it raises."""

    def __init__(self) -> None:
        self.killed: list[object] = []
        self.exceptions = SimpleNamespace(
            RayTaskError=_TaskError, RayActorError=_DiedError, ActorUnavailableError=_DiedError
        )

    def wait(self, answers: list[Any], **_options: object) -> tuple[list[Any], list[Any]]:
        return answers, []

    def get(self, answer: Any) -> Any:  # noqa: ANN401 - of any kind
        if isinstance(answer, Exception):
            raise _TaskError(answer)
        return answer

    def kill(self, worker: object) -> None:
        self.killed.append(worker)


class _DiedError(Exception):
    pass


class _TaskError(Exception):
    def __init__(self, cause: Exception) -> None:
        super().__init__(cause)
        self.cause = cause


def begun(*answers: object) -> Any:  # noqa: ANN401 - a RayModel
    from pairbank.scoring.run.ray_workers import RayModel

    model: Any = RayModel.__new__(RayModel)
    model._ray, model._died, model.stats = NoRay(), (_DiedError,), ScoringStats()
    model._free, model._waking, model._away = deque(), {}, []
    model._workers = [SimpleNamespace(facts=SimpleNamespace(remote=lambda answer=answer: answer)) for answer in answers]
    model.info = model._begun(Needs(n_cpus=1, n_gpus=0))
    return model


def facts_of(host: str) -> Facts:
    return Facts(info=FakeScorer(name="m").info, versions=VERSIONS, pid=1, host=host)


def test_a_node_without_the_model_is_named_and_the_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    lacking = ModelLoadError("on node-2: cannot load '/models/m': no folder")
    model = begun(facts_of("node-1"), lacking, facts_of("node-3"))
    assert [*model._free] == [model._workers[0], model._workers[2]]
    assert model._ray.killed == [model._workers[1]]
    assert "a worker is left out (on node-2: cannot load '/models/m': no folder); the others go on" in caplog.text
    late = ModelLoadError("on node-4: no folder")
    model._waking = {late: model._workers[1]}
    assert not model._woken(late)
    assert "node-4" in caplog.text


def test_where_no_node_has_the_model_the_first_reason_is_raised() -> None:
    with pytest.raises(ModelLoadError, match="on node-1: no folder"):
        begun(ModelLoadError("on node-1: no folder"), ModelLoadError("on node-2: no folder"))


def test_a_worker_that_could_not_load_the_model_says_where_it_is(tmp_path: Path) -> None:
    with pytest.raises(ModelLoadError, match=f"on {re.escape(socket.gethostname())}: .*nothing"):
        Worker(str(tmp_path / "nothing"), {"device": "cpu"}, 1).facts()


@pytest.mark.slow
@needs_ray
def test_gpus_without_a_stated_batch_are_refused() -> None:
    from pairbank.scoring.run.ray_workers import RayModel

    with pytest.raises(ModelLoadError, match="workers on GPUs need batch_tokens"):
        RayModel("demo", n_workers=1, n_gpus_each=1)


@pytest.mark.skipif(find_spec("ray") is not None, reason="ray is installed")
def test_without_ray_there_is_one_line_that_says_what_to_install() -> None:
    from pairbank.scoring.run.ray_workers import RayModel

    with pytest.raises(ModelLoadError, match=r"pip install 'pairbank\[ray\]'"):
        RayModel("demo", n_workers=2)


def no_ray(error: Exception) -> Any:  # noqa: ANN401 - stands for the package
    """Return a Ray that is nowhere."""

    def init(**_: object) -> None:
        raise error

    return SimpleNamespace(is_initialized=lambda: False, init=init)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_an_address_where_nobody_listens_is_refused_before_ray_tries_for_a_minute(host: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"{host}:{free.getsockname()[1]}"
        with pytest.raises(ModelLoadError, match=r"nobody listens at .*; start one"):
            begin(no_ray(AssertionError("asked")), address, n_workers=1, needs=Needs(n_cpus=1, n_gpus=0))


def test_a_ray_that_refuses_a_run_without_a_token_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere, needs = no_ray(ConnectionError("Failed to connect")), Needs(n_cpus=1, n_gpus=0)
    with socket.create_server(("127.0.0.1", 0)) as there:
        address = f"127.0.0.1:{there.getsockname()[1]}"
        monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
        with pytest.raises(ModelLoadError, match=r"no Ray at .* needs it here too \(RAY_AUTH_TOKEN\)"):
            begin(nowhere, address, n_workers=1, needs=needs)
        monkeypatch.setenv("RAY_AUTH_TOKEN", "a")
        with pytest.raises(ModelLoadError, match=r"--ray local$"):
            begin(nowhere, "auto", n_workers=1, needs=needs)
