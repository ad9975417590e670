"""Two Ray nodes: one is killed, one joins, the driver dies, and the result has the bytes of one process.

The long form, with other faults and several models, is `python tests/faults/ray_nodes.py`.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from pairbank.scoring.methods.direct import Direct
from pairbank.scoring.methods.prompted import Prompted
from pairbank.scoring.run import ray_workers
from tiny_models import ARCHITECTURES, saved_model

if TYPE_CHECKING:
    from ray.cluster_utils import Cluster

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed: pip install 'pairbank[ray]'"),
]
SCRIPT = Path(__file__).resolve().parents[2] / "faults" / "ray_nodes.py"


@pytest.fixture(scope="module")
def nodes() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("ray_nodes", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def cluster(nodes: ModuleType) -> Iterator[Cluster]:
    with nodes.one_node() as made:
        yield made


@pytest.fixture(autouse=True)
def small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Direct, "shard_items", 16)
    monkeypatch.setattr(Prompted, "shard_items", 8)
    monkeypatch.setattr(ray_workers, "LATE_S", 3.0)


@pytest.mark.parametrize(("fault", "n_nodes", "name"), [("node killed", 2, "gpt2"), ("node added", 1, "qwen2")])
def test_nodes_that_leave_or_join_change_no_byte(
    fault: str, n_nodes: int, name: str, nodes: ModuleType, cluster: Cluster, tmp_path: Path
) -> None:
    folder = saved_model(ARCHITECTURES[name], tmp_path / name)
    expected = nodes.in_one_process(folder, tmp_path / "one.parquet")
    nodes.with_nodes(cluster, n_nodes)
    result = nodes.disturbed(cluster, folder, tmp_path / "ray.parquet", nodes.FAULTS[fault])
    assert result.table == expected
    assert result.n_scored_twice == 0
    assert result.n_processes == 2 or fault == "node killed"


def test_a_driver_that_is_killed_goes_on_with_the_same_nodes(
    nodes: ModuleType, cluster: Cluster, tmp_path: Path
) -> None:
    folder = saved_model(ARCHITECTURES["mistral"], tmp_path / "mistral")
    expected = nodes.in_one_process(folder, tmp_path / "one.parquet")
    nodes.with_nodes(cluster, 2)
    result = nodes.driver_killed(cluster, folder, tmp_path / "ray.parquet")
    assert result.table == expected
    assert result.n_scored_twice == 0
