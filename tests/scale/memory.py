"""How much memory report, bank, check, site and merge take: in, sizes; out, peaks and processor seconds of each step.

    python tests/scale/memory.py --models 3 --items 1000000 --methods 1
    python tests/scale/memory.py --models 21 --items 13400 --methods 9 --steps report
    python tests/scale/memory.py --models 10 --items 2800 --methods 1 --corpora 44    # a tenth of 100 models

Tables are made up: a few hundred items scored by a fake model, over and over with other texts, in another order for
each model. Each step is the command that a user types, in a process of its own. The peak is that of the process and all
that it started, together (resident pages, those they share counted once, looked at twice a second).
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa

import pairbank
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.scored import Scored
from pairbank.scoring.signature import corpus_signature
from pairbank.study.declaration import load_study

BASE_ITEMS = 300
STEPS = ("report", "bank", "check", "site", "merge")
TEXTS = ("target_good", "target_bad")
_LOOK_S = 0.5


def write_tables(folder: Path, *, n_models: int, n_items: int, methods: Sequence[str], n_corpora: int) -> list[Path]:
    """Write scored tables of made-up numbers with valid signatures; return their files."""
    base = pairbank.load_corpus("starter", subset="minimal-pairs", limit=BASE_ITEMS)
    scored = pairbank.score(base, FakeScorer(name="model-000"), methods=methods)
    table, features = scored.arrow(scored.column_names), scored.dataset.features
    made = {name for definition in scored.signature["methods"].values() for name in definition["columns"]}
    paths = []
    for c in range(n_corpora):
        corpus = f"corpus-{c:02d}"
        rows = np.arange(n_items) % len(table)
        items = table.drop_columns([*made, "model"]).take(pa.array(rows))
        numbers = [str(k) for k in range(n_items)]
        items = _with(items, "item_id", [f"{corpus}/{k}" for k in numbers])
        items = _with(items, "corpus", [corpus] * n_items)
        for name in TEXTS:
            texts = [f"{text} {k}" for text, k in zip(items[name].to_pylist(), numbers, strict=True)]
            items = _with(items, name, texts)
        facts = None
        for m in range(n_models):
            path, name = folder / f"{c:02d}-{m:03d}.parquet", f"model-{m:03d}"
            paths.append(path)
            if path.exists():
                continue
            order = pa.array(np.random.default_rng([c, m]).integers(len(table), size=n_items))
            scores = table.select([x for x in table.column_names if x in made]).take(order)
            whole = items.append_column("model", pa.array([name] * n_items))
            for column in scores.column_names:
                whole = whole.append_column(column, scores[column])
            dataset = datasets.Dataset(
                whole.replace_schema_metadata(None).select(list(features)).cast(features.arrow_schema),
                info=datasets.DatasetInfo(features=features),
                fingerprint=f"{c}-{m}",
            )
            facts = facts or corpus_signature(dataset, {})
            model = scored.signature["model"] | {"name": name, "slug": name.replace("-", "_"), "model_id": name}
            Scored.of(dataset, {**scored.signature, "model": model, "corpus": facts}).save(path)
    return paths


def _with(table: pa.Table, name: str, values: Sequence[str]) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, pa.array(values))


def measured(arguments: Sequence[str]) -> dict[str, float]:
    """Run a command of pairbank's; return processor seconds, seconds on the clock and peak memory in MB."""
    peak, start = 0.0, time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen([sys.executable, "-m", "pairbank", *arguments], stdout=subprocess.DEVNULL)
    ended = threading.Event()

    def look() -> None:
        nonlocal peak
        while not ended.wait(_LOOK_S):
            peak = max(peak, sum(map(_megabytes, _family(process.pid))))

    watcher = threading.Thread(target=look)
    watcher.start()
    code = process.wait()
    ended.set()
    watcher.join()
    if code:
        raise SystemExit(f"pairbank {' '.join(arguments)}: exit {code}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"mb": round(peak), "cpu_s": round(cpu, 1), "s": round(time.perf_counter() - start, 1)}


def _family(pid: int) -> list[int]:
    """Return a process and all that it started."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(x) for thread in threads for x in (thread / "children").read_text().split()]
    except OSError:
        return []
    return [pid, *(one for child in children for one in _family(child))]


def _megabytes(pid: int) -> float:
    """Return the memory of a process, its part of what it shares."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1000


def run_steps(folder: Path, paths: Sequence[Path], steps: Sequence[str], analyses: Sequence[str]) -> dict[str, object]:
    """Run steps on tables and return what each took; a step that another one needs is run, too."""
    files, work = [str(path) for path in paths], folder / "made"
    shutil.rmtree(work, ignore_errors=True)
    more = [part for name in analyses for part in ("--analysis", name)]
    commands = {
        "report": ["report", *files, *more, "--out", str(work / "report")],
        "bank": ["bank", *files, "--out", str(work / "bank"), "--licence", "corpus-00=cc-by-4.0"],
        "check": ["check", str(work / "bank")],
        "site": ["site", str(work / "bank"), "--out", str(work / "site")],
        "merge": ["merge", str(work / "bank"), str(work / "other"), "--out", str(work / "merged")],
    }
    result: dict[str, object] = {}
    if "merge" in steps:  # one model in another bank, which has the same items
        own = [path for path in files if path.endswith("-000.parquet")]
        measured(["bank", *own, "--out", str(work / "other"), "--licence", "corpus-00=cc-by-4.0"])
    for step in STEPS:
        if step in steps or (step == "bank" and steps != ["report"]):
            result[step] = measured(commands[step])
            print(json.dumps({step: result[step]}), flush=True)  # noqa: T201
    return result


def main() -> None:
    """Make the tables, then measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=3)
    parser.add_argument("--items", type=int, default=20_000, help="of each corpus")
    parser.add_argument("--methods", type=int, default=1, help="the first of the study `introspection`: up to 9")
    parser.add_argument("--corpora", type=int, default=1)
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS))
    parser.add_argument("--analysis", nargs="+", default=[])
    parser.add_argument("--keep", type=Path, help="where to leave the tables, which another run then finds")
    asked = parser.parse_args()
    datasets.disable_progress_bars()
    methods = load_study("introspection").methods[: asked.methods]
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.keep or Path(scratch)
        folder.mkdir(exist_ok=True, parents=True)
        paths = write_tables(
            folder, n_models=asked.models, n_items=asked.items, methods=methods, n_corpora=asked.corpora
        )
        result = run_steps(folder, paths, asked.steps, asked.analysis)
        size = {name: getattr(asked, name) for name in ("models", "items", "methods", "corpora")}
        print(json.dumps(size | {"steps": result}))  # noqa: T201


if __name__ == "__main__":
    main()
