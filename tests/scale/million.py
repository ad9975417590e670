"""How long a long file of scores takes to import and to report, and in how much memory.

    python tests/scale/million.py                  a million rows, CSV and parquet
    python tests/scale/million.py --rows 50000     fewer

Each step runs in a process of its own. Limits for a million rows: a minute and 1 GiB each.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORDS = [
    *("the", "a", "cat", "dog", "hens", "author", "child", "teacher", "that", "who", "near", "was", "were", "sees"),
    *("admire", "clucks", "runs", "run", "often", "never"),
]
WORDS_A_SENTENCE = 9
"""About 40 characters."""


def write_file(path: Path, n_rows: int) -> None:
    """Write a file of one model's log-probabilities of both sides, with the sentences."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    sides = {
        side: [" ".join(words) for words in np.array(WORDS)[rng.integers(len(WORDS), size=(n_rows, WORDS_A_SENTENCE))]]
        for side in ("good", "bad")
    }
    table = pa.table(
        {
            "model": pa.repeat("a-model", n_rows),
            "pair_id": [str(i) for i in range(n_rows)],
            **sides,
            "phenomenon": [f"phenomenon {i % 12}" for i in range(n_rows)],
            "direct_good": -rng.gamma(40, 1, n_rows),
            "direct_bad": -rng.gamma(42, 1, n_rows),
        }
    )
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path)
    else:
        pa.csv.write_csv(table, path)


def measured(step: str, source: Path, out: Path) -> dict[str, float]:
    """Run a step in a process of its own; return its seconds (on the clock, of CPU) and its most memory in GiB."""
    command = [sys.executable, str(Path(__file__).resolve()), "--step", step, str(source), str(out)]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    return result


def run_step(step: str, source: Path, out: Path) -> dict[str, float]:
    """Run a step here and measure it."""
    import pairbank

    start = time.perf_counter()
    made = pairbank.import_scores(source)[0] if step == "import" else pairbank.report([pairbank.read_scored(source)])
    made.save(out)
    gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**30 if sys.platform == "darwin" else 2**20)
    return {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time(), "gib": gib}


def main() -> None:
    """Measure all steps, or run one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--step", nargs=3, metavar=("STEP", "SOURCE", "OUT"))
    options = parser.parse_args()
    if options.step:
        step, source, out = options.step
        print(json.dumps(run_step(step, Path(source), Path(out))))  # noqa: T201
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for suffix in (".csv", ".parquet"):
            source, table = folder / f"scores{suffix}", folder / "table.parquet"
            write_file(source, options.rows)
            steps = [("import", source, table), *([("report", table, folder / "report")] if suffix == ".csv" else [])]
            for step, given, out in steps:
                result = measured(step, given, out)
                said = ", ".join(f"{value:.2f} {unit.replace('_', ' ')}" for unit, value in result.items())
                print(f"{options.rows:,} rows, {step} {given.suffix}: {said}")  # noqa: T201


if __name__ == "__main__":
    main()
