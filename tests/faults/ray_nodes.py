"""Two Ray nodes on one machine, and what may befall them; say whether the result has the bytes of one process.

    PYTHONPATH=src:tests/support python tests/faults/ray_nodes.py [--models llama gpt2 mistral demo]

In: names of tiny random models, or `demo`. Out: a line a fault and model; exit code 1 where a table has other bytes, or
a unit was scored twice. Needs ray. A node is a Ray node: a process with an object store and workers of its own. Takes
about a minute a fault and tiny model, and several with the demo model; the short form is in the tests.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import datasets

import pairbank
from pairbank.scoring.api.requests import N_PLACES
from pairbank.scoring.methods.direct import Direct
from pairbank.scoring.methods.prompted import Prompted
from pairbank.scoring.models.checkpoints import DEMO, demo_folder
from pairbank.scoring.run import ray_workers
from pairbank.scoring.run.ray_workers import RayModel
from tiny_models import ARCHITECTURES, saved_model

if TYPE_CHECKING:
    from ray.cluster_utils import Cluster

METHODS = ("direct", "meta_question_simple")
DRIVER = "--driver"
LATE = " late"
EARLY_TASKS = 2
PATIENCE_S = 1800.0


def small_units() -> None:
    """Let a unit be few items, so that a small corpus is many of them."""
    Direct.shard_items, Prompted.shard_items = 16, 8


@contextlib.contextmanager
def one_node() -> Iterator[Cluster]:
    """Yield a cluster of one node with one CPU, which answers to this process and its children alone."""
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))  # Ray reads it once a process
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        yield cluster
    finally:
        cluster.shutdown()


def with_nodes(cluster: Cluster, n_nodes: int) -> Cluster:
    while len(cluster.list_all_nodes()) > n_nodes:
        cluster.remove_node(cluster.list_all_nodes()[-1])
    while len(cluster.list_all_nodes()) < n_nodes:
        cluster.add_node(num_cpus=1)
    return cluster


@contextlib.contextmanager
def store_of_its_own() -> Iterator[None]:
    """Keep scores apart, so that all are computed."""
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, PAIRBANK_CACHE=folder):
        yield


def items() -> datasets.Dataset:
    return pairbank.load_corpus("starter", subset="minimal-pairs")


def in_one_process(folder: Path, out: Path) -> bytes:
    with store_of_its_own():
        scored = pairbank.score(items(), pairbank.load_model(str(folder), device="cpu"), methods=METHODS)
        return scored.save(out).read_bytes()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Of a run that something befell."""

    table: bytes
    n_units: int
    n_scored_twice: int
    n_processes: int
    """That scored something; where the driver died, since it was run again."""


Befall = Callable[["Cluster", "RayModel"], None]


def disturbed(
    cluster: Cluster, folder: Path, out: Path, befall: Befall, *, is_late: bool = False, n_workers: int = 2
) -> Outcome:
    """Score with workers on the nodes, and let something happen early, or when few units are left and are divided."""
    happened: list[bool] = []
    with (
        store_of_its_own(),
        RayModel(str(folder), {"device": "cpu"}, n_workers=n_workers, address=cluster.address) as made,
    ):

        def on_share(_done: float, _total: int) -> None:
            is_time = len(made.ledger) >= EARLY_TASKS
            if is_late:
                is_time = any(not entry.share.is_whole for entry in made.ledger)
            if not happened and is_time:
                happened.append(True)
                befall(cluster, made)

        table = pairbank.score(items(), made, methods=METHODS, progress=on_share).save(out).read_bytes()
        times: Counter[int] = Counter()
        for entry in made.ledger:
            times[entry.unit] += entry.share.n_places
    assert happened
    return Outcome(
        table=table,
        n_units=len(times),
        n_scored_twice=sum(n > N_PLACES for n in times.values()),
        n_processes=len({entry.pid for entry in made.ledger}),
    )


def worker_killed(_cluster: Cluster, made: RayModel) -> None:
    os.kill(made.ledger[-1].pid, signal.SIGKILL)


def node_killed(cluster: Cluster, _made: RayModel) -> None:
    cluster.remove_node(cluster.list_all_nodes()[-1], allow_graceful=False)


def node_added(cluster: Cluster, made: RayModel) -> None:
    """Start a node, and wait until the worker that had no room has begun on it."""
    import ray

    cluster.add_node(num_cpus=1)
    ray.wait(list(made._waking), timeout=PATIENCE_S)


def node_replaced(cluster: Cluster, made: RayModel) -> None:
    """Kill a node, and start another for its worker."""
    node_killed(cluster, made)
    cluster.add_node(num_cpus=1)


def driver_killed(cluster: Cluster, folder: Path, out: Path) -> Outcome:
    """Kill the process that hands out units and writes the store, and run it again."""

    def run(dies_after: int) -> subprocess.CompletedProcess[str]:
        words = [DRIVER, str(folder), str(out), cluster.address, str(dies_after)]
        argv = [sys.executable, "-W", "ignore", __file__, *words]
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=PATIENCE_S)

    with store_of_its_own():
        first, again = run(3), run(-1)
    if first.returncode != -signal.SIGKILL or again.returncode:
        raise RuntimeError(f"{first.returncode}, {again.returncode}: {first.stderr}{again.stderr}")
    n_units = len(items()) // 16 + len(items()) // 8 + (len(items()) % 16 > 0) + (len(items()) % 8 > 0)
    n_again, n_processes = map(int, again.stdout.split()[-2:])
    # of the third unit the dead driver had not yet written the table
    is_twice = max(0, n_again - (n_units - 2))
    return Outcome(table=out.read_bytes(), n_units=n_units, n_scored_twice=is_twice, n_processes=n_processes)


def drive(folder: str, out: str, address: str, dies_after: str) -> None:
    """Score; kill this process after so many units, if that is more than none."""
    datasets.disable_progress_bars()
    with RayModel(folder, {"device": "cpu"}, n_workers=2, address=address) as made:

        def on_share(_done: float, _total: int) -> None:
            if len(made.ledger) == int(dies_after):
                os.kill(os.getpid(), signal.SIGKILL)

        pairbank.score(items(), made, methods=METHODS, progress=on_share).save(out)
        sys.stdout.write(f"{len({entry.unit for entry in made.ledger})} {len({entry.pid for entry in made.ledger})}\n")


FAULTS: dict[str, Befall] = {
    "worker killed": worker_killed,
    f"worker killed{LATE}": worker_killed,
    "node killed": node_killed,
    f"node killed{LATE}": node_killed,
    "node killed, another added": node_replaced,
    "node added": node_added,
}


def main() -> None:
    small_units()
    if DRIVER in sys.argv:
        drive(*sys.argv[sys.argv.index(DRIVER) + 1 :])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=["llama", "gpt2", "mistral"])
    parser.add_argument("--faults", nargs="+", default=[*FAULTS, "driver killed"])
    asked = parser.parse_args()
    datasets.disable_progress_bars()
    ray_workers.LATE_S = 3.0
    is_right = True
    with tempfile.TemporaryDirectory() as work, one_node() as cluster:
        for name in asked.models:
            folder = _folder(name, Path(work))
            expected = in_one_process(folder, Path(work) / "one.parquet")
            for fault in asked.faults:
                began = time.monotonic()
                is_right &= _line(
                    name, fault, _outcome(cluster, fault, folder, Path(work) / "ray.parquet"), expected, began
                )
    sys.exit(not is_right)


def _folder(name: str, work: Path) -> Path:
    if name != DEMO:
        return saved_model(ARCHITECTURES[name], work / name)
    folder = demo_folder()
    if folder is None:
        sys.exit("the demo model's weights are not here")
    return folder


def _outcome(cluster: Cluster, fault: str, folder: Path, out: Path) -> Outcome:
    with_nodes(cluster, 1 if fault == "node added" else 2)
    if fault == "driver killed":
        return driver_killed(cluster, folder, out)
    return disturbed(cluster, folder, out, FAULTS[fault], is_late=fault.endswith(LATE))


def _line(model: str, fault: str, result: Outcome, expected: bytes, began: float) -> bool:
    is_same = result.table == expected
    sys.stdout.write(
        f"{model}: {fault}: {hashlib.sha256(result.table).hexdigest()[:12]}, "
        f"{'the bytes of one process' if is_same else 'OTHER BYTES'}; {result.n_units} units, "
        f"{result.n_scored_twice} scored twice, by {result.n_processes} processes; {time.monotonic() - began:.0f} s\n"
    )
    sys.stdout.flush()
    return is_same and not result.n_scored_twice


if __name__ == "__main__":
    main()
