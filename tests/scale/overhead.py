"""What sharing work out among Ray workers costs: in, a model; out, times of one process and of workers, interleaved.

    python tests/scale/overhead.py                # a random Llama of 13 million parameters, 2,000 pairs, two repeats
    python tests/scale/overhead.py --model demo --repeats 1

Scores pairs of BLiMP (the starter's, over and over, where BLiMP is not here) in one process with one thread, by one Ray
worker with one thread, in one process with two parallel passes, and by two workers; start-up left out (models, Ray, the
first items that each scores). The tables have to be the same bytes. On an idle machine of two cores it takes some ten
minutes; on a busy one times say little, and the processor time of the process that hands out is what the overhead is.
Needs ray.
"""

import argparse
import contextlib
import hashlib
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import datasets
import pandas as pd
import torch

import pairbank
from pairbank.errors import PairbankError
from pairbank.markdown import to_markdown
from pairbank.scoring.run.ray_workers import RayModel
from tiny_models import Architecture, saved_model

METHODS = ("direct", "meta_question_simple")
SETTLING_S = 20
"""How long Ray's own processes take to have started, beside the workers; start-up is not what is measured."""
WARM_PAIRS = 32
"""Scored before anything is measured: the first passes of a process are slow."""
LOADING_S = 120
"""After which a process that has not loaded its model is given up."""
MODEL = Architecture(
    model_class="LlamaForCausalLM",
    config={
        "hidden_size": 384,
        "intermediate_size": 1024,
        "num_hidden_layers": 7,
        "num_attention_heads": 6,
        "num_key_value_heads": 3,
        "max_position_embeddings": 2048,
    },
    batching="packed",
    tokenizer="byte_bpe_bos",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One run."""

    seconds: float
    cpu_seconds: float
    """Of this process; workers have their own."""
    workers_seconds: float
    """That workers say they scored."""
    sha256: str


def items_of(n: int, data_dir: str | None) -> datasets.Dataset:
    """Return so many pairs, of all paradigms in turn."""
    try:
        items = pairbank.load_corpus("blimp", data_dir=data_dir, limit=-(-n // 67))
    except PairbankError:
        items = pairbank.load_corpus("starter", subset="minimal-pairs")
    places = [place % len(items) for place in range(n)]
    return items.select(places)


@contextlib.contextmanager
def cold_store() -> Iterator[Path]:
    """Keep scores of a run apart."""
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, PAIRBANK_CACHE=folder):
        yield Path(folder)


def measured(items: datasets.Dataset, model: Any, methods: tuple[str, ...]) -> Measured:  # noqa: ANN401 - a Scorer
    """Score with a model that has scored before."""
    with cold_store() as folder:
        before = sum(entry.seconds for entry in getattr(model, "ledger", ()))
        began, cpu_began = time.perf_counter(), time.process_time()
        scored = pairbank.score(items, model, methods=methods)
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
        table = scored.save(folder / "scored.parquet").read_bytes()
    return Measured(
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        workers_seconds=sum(entry.seconds for entry in getattr(model, "ledger", ())) - before,
        sha256=hashlib.sha256(table).hexdigest()[:12],
    )


def warm(items: datasets.Dataset, model: Any, methods: tuple[str, ...]) -> None:  # noqa: ANN401
    """Score a little."""
    with cold_store():
        pairbank.score(items.select(range(min(WARM_PAIRS, len(items)))), model, methods=methods)


@contextlib.contextmanager
def threads(n: int) -> Iterator[None]:
    """Give torch so many threads; a model has as many parallel passes as there were when it was loaded."""
    usual = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(usual)


def loaded(name: str, n_threads: int) -> Any:  # noqa: ANN401 - a Scorer
    """Return a model that scores in so many parallel passes."""
    with threads(n_threads):
        return pairbank.load_model(name, device="cpu")


def in_one_process(items: datasets.Dataset, model: Any, methods: tuple[str, ...], n_threads: int) -> Measured:  # noqa: ANN401
    """Score here, in so many parallel passes."""
    with threads(n_threads):
        warm(items, model, methods)
        return measured(items, model, methods)


def side_by_side(items: datasets.Dataset, name: str, methods: tuple[str, ...], n: int) -> float:
    """Return the seconds that so many processes take for a part each, without Ray: what the machine itself can do."""
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(n + 1)
    parts = [items.select(range(k, len(items), n)) for k in range(n)]
    processes = [context.Process(target=_score_part, args=(part, name, methods, ready)) for part in parts]
    for process in processes:
        process.start()
    ready.wait(timeout=LOADING_S)
    began = time.perf_counter()
    for process in processes:
        process.join()
    if any(process.exitcode for process in processes):
        raise SystemExit("a process without Ray failed")
    return time.perf_counter() - began


def _score_part(items: datasets.Dataset, name: str, methods: tuple[str, ...], ready: Any) -> None:  # noqa: ANN401
    datasets.disable_progress_bars()
    model = loaded(name, 1)
    torch.set_num_threads(1)
    warm(items, model, methods)
    ready.wait(timeout=LOADING_S)
    measured(items, model, methods)


def main() -> None:
    """Measure in turn, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model")
    parser.add_argument("--pairs", type=int, default=2_000)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--data-dir")
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2], help="how many, in turn")
    asked = parser.parse_args()
    datasets.disable_progress_bars()
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    methods, items = tuple(asked.methods), items_of(asked.pairs, asked.data_dir)
    rows: list[dict[str, object]] = []
    alone: list[float] = []
    with tempfile.TemporaryDirectory() as work:
        name = asked.model or str(saved_model(MODEL, Path(work) / "llama"))
        here = {n: loaded(name, n) for n in asked.workers}
        for repeat in range(1, asked.repeats + 1):
            for n in asked.workers:
                rows.append(_row(repeat, f"one process, {n} passes", in_one_process(items, here[n], methods, n)))
                with RayModel(name, {"device": "cpu"}, n_workers=n) as there:
                    time.sleep(SETTLING_S)
                    warm(items, there, methods)
                    rows.append(_row(repeat, f"workers: {n}", measured(items, there, methods)))
                sys.stderr.write(f"{rows[-2:]}\n")
            alone.append(side_by_side(items, name, methods, max(asked.workers)))
            sys.stderr.write(f"{max(asked.workers)} processes without Ray: {alone[-1]:.2f} s\n")
    table = pd.DataFrame(rows)
    sys.stdout.write(to_markdown(table) + "\n")
    middle = table.groupby("how")["s"].median()
    for n in asked.workers:
        ratio = middle[f"one process, {n} passes"] / middle[f"workers: {n}"]
        sys.stdout.write(f"medians of {asked.repeats}: {n} workers do {ratio:.3f} of what {n} parallel passes do\n")
    sys.stdout.write(f"{max(asked.workers)} processes without Ray take {statistics.median(alone):.2f} s\n")
    sys.exit(table["table"].nunique() != 1)


def _row(repeat: int, how: str, result: Measured) -> dict[str, object]:
    return {
        "repeat": repeat,
        "how": how,
        "s": round(result.seconds, 2),
        "CPU s of this process": round(result.cpu_seconds, 2),
        "s that workers scored": round(result.workers_seconds, 2),
        "table": result.sha256,
    }


if __name__ == "__main__":
    main()
