"""How often do 95% intervals hold the truth? Prints Markdown tables, a row for each estimate and kind of data.

    PYTHONPATH=src:tests/support python tests/simulations/coverage.py [--runs 4000] [--jobs -1] [--only pearson,kappa]

In: made data whose truth is known; out: for each estimate, kind of data and number of items, the share of runs whose
interval holds the truth, and the share that has an interval where that is not all. 4,000 runs take some 20 minutes of
one idle core, 400 a tenth of it.
"""

import argparse

import joblib

from agreement_cases import more_cases
from interval_cases import FEWEST_WITH_INTERVAL, SIZES, Coverage, at_size, cases


def cell(result: Coverage) -> str:
    """Return a cell: coverage in per cent, and how many runs have an interval where not all do."""
    if result.given < FEWEST_WITH_INTERVAL:
        return "none"
    of = "" if result.given > 0.999 else f" ({100 * result.given:.0f}% have one)"
    return f"{100 * result.held:.1f}{of}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    requested = given.only.split(",")
    chosen = [case for case in (*cases(), *more_cases()) if any(name in case.estimate for name in requested)]
    tasks = (joblib.delayed(at_size)(case, n, runs=given.runs) for case in chosen for n in SIZES)
    result = joblib.Parallel(n_jobs=given.jobs, return_as="generator")(tasks)
    print("| estimate | data | " + " | ".join(f"n = {n:,}" for n in SIZES) + " |")  # noqa: T201
    print("| --- | --- |" + " --- |" * len(SIZES))  # noqa: T201
    for case in chosen:
        cells = " | ".join(cell(next(result)) for _ in SIZES)
        print(f"| {case.estimate} | {case.data} | {cells} |", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
