"""A store of many made-up submissions: time, memory and bytes of what its owner and its readers run, and their growth.

    PYTHONPATH=tests/support python tests/scale/store.py --models 5 10 20 --corpora 8 --items 200

Each command runs in a process of its own. The numbers of the tables are made up: what they say is of no interest here.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import pairbank
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.scored import Scored
from pairbank.scoring.signature import corpus_signature
from store_submissions import edited, named, put, submission

METHODS = ("direct", "meta_question_simple", "acceptability_judgment_i", "acceptable_sentence", "better_sentence")
REPORTED = ("build-store", "build-store, nothing new", "check --submission", "fetch", "site")


def submissions(folder: Path, *, n_models: int, n_corpora: int, n_items: int) -> tuple[Path, list[Path]]:
    """Write a store with one model of each corpus, and `submissions/` with the others; return it and the tables."""
    known = pairbank.load_corpus("starter", subset="minimal-pairs")
    base = known.select([n % len(known) for n in range(n_items)])
    files, first = [], []
    for corpus in range(n_corpora):
        name = f"corpus-{corpus}"
        ids = [f"{name}/x/{n}" for n in range(n_items)]
        items = base.remove_columns(["corpus", "item_id"]).add_column("corpus", [name] * n_items)
        items = items.add_column("item_id", ids).select_columns(known.column_names)
        made = pairbank.score(items, FakeScorer(name="model-0"), methods=METHODS)
        facts = {"corpus": name, "n_items": n_items, "source": {"licence": "cc-by-4.0", "redistributable": True}}
        signature = {**made.signature, "corpus": {**corpus_signature(items, {}), "manifest": facts}}
        first.append(Scored.of(made.dataset, signature))
        whole = first[-1].save(folder / "whole.parquet")
        for model in range(1, n_models):
            noise = np.abs(np.random.default_rng([corpus, model]).normal(size=n_items))
            other = {"name": f"model-{model}", "slug": f"model_{model}", "model_id": f"pairbank/model-{model}"}
            file = edited(
                whole,
                folder / "table.parquet",
                table_as=partial(of_another, who=f"model-{model}", noise=noise),
                sign=partial(named, model=other),
            )
            files.append(put(folder / "store", submission(file, "lab")))
    parts = folder / "store" / "submissions"
    aside = parts.rename(folder / "aside")
    (folder / "store").rmdir()
    store = pairbank.write_bank(folder / "store", scored=first)
    aside.rename(store / "submissions")
    return store, files


def of_another(table: pa.Table, *, who: str, noise: np.ndarray) -> pa.Table:
    """Return a table as another model would have it, whose better sides are less likely."""
    moved = {name: pc.subtract(table[name], noise) for name in ("direct_good", "direct_delta")}
    moved["model"] = pa.array([who] * len(table))
    for name, values in moved.items():
        table = table.set_column(table.column_names.index(name), name, values)
    return table


def measured(command: list[str]) -> tuple[float, float]:
    """Run a command; return its CPU seconds and its largest memory in MB."""
    code = (
        "import resource,subprocess,sys; done=subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL); "
        "u=resource.getrusage(resource.RUSAGE_CHILDREN); print(u.ru_utime+u.ru_stime,u.ru_maxrss/1024,done.returncode)"
    )
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True)
    seconds, megabytes, status = map(float, done.stdout.split())
    if status:
        raise SystemExit(f"{' '.join(command)} failed: {done.stderr[-2000:]}")
    return seconds, megabytes


def main() -> None:
    """Print a line per size and command, and how CPU seconds and memory grow with tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, nargs="+", default=[5, 10, 20])
    parser.add_argument("--corpora", type=int, default=8)
    parser.add_argument("--items", type=int, default=200)
    options = parser.parse_args()
    rows: dict[str, list[tuple[int, float, float]]] = {name: [] for name in REPORTED}
    for n_models in options.models:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            os.environ["PAIRBANK_CACHE"] = str(folder / "cache")
            store, files = submissions(folder, n_models=n_models, n_corpora=options.corpora, n_items=options.items)
            run, n_tables = [sys.executable, "-m", "pairbank"], n_models * options.corpora
            fetch = [
                "fetch",
                str(store),
                "--model",
                "model-1",
                "--corpus",
                "corpus-0",
                "--out",
                str(folder / "f.parquet"),
            ]
            commands = {
                "check --submission": ["check", "--submission", str(files[-1]), "--against", str(store)],
                "build-store": ["build-store", str(store)],
                "build-store, nothing new": ["build-store", str(store)],
                "fetch": fetch,
                "site": ["site", str(store), "--out", str(folder / "site")],
            }
            for name, command in commands.items():
                seconds, megabytes = measured([*run, *command])
                rows[name].append((n_tables, seconds, megabytes))
                say(f"{n_tables:5} tables  {name:24} {seconds:8.1f} CPU-s {megabytes:7.0f} MB")
            folders = [store / "submissions", store / "scores", store / "results", folder / "site"]
            for part in (*folders, store / "manifest.json", store / "README.md"):
                n_bytes = sum(p.stat().st_size for p in (part, *part.rglob("*")) if p.is_file())
                say(f"{n_tables:5} tables  {n_bytes:14,} bytes of {part.name}")
    for name, result in rows.items():
        n, seconds, megabytes = np.array(result).T
        if len(n) > 1:
            slope, start = np.polyfit(n, seconds, 1)
            fit = 1 - np.var(seconds - start - slope * n) / max(np.var(seconds), 1e-9)
            growth = np.polyfit(n, megabytes, 1)[0]
            exponents = [np.polyfit(np.log(n), np.log(y), 1)[0] for y in (seconds, megabytes)]
            of_time = f"{start:.1f} s + {1000 * slope:.1f} ms per table (R² of a line {fit:.3f})"
            power = f"grows as tables to the power {exponents[0]:.2f} (memory: {exponents[1]:.2f})"
            say(f"{name}: {of_time}, {growth:.3f} MB per table; {power}")


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
