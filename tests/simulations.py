"""Print the tables of docs/validation.md: how often a verdict or an interval is wrong, one null per row.

    python tests/simulations.py [TABLE ...] [--runs 400] [--only REGEX] [--seed 0] [--jobs -1]

Without a table, lists their names.
"""

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import joblib
import numpy as np

sys.path[:0] = [str(Path(__file__).parent / "support"), str(Path(__file__).parents[1] / "src")]

from nulls import Null, Table  # noqa: E402
from nulls.registry import TABLES  # noqa: E402

Row = tuple[tuple[str, ...], Mapping[str, float]]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tables", nargs="*", choices=[[], *TABLES], metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--only", default="", help="regular expression of the first cells of a row")
    parser.add_argument("--seed", type=int, default=0, help="added to the seeds of the table")
    parser.add_argument("--jobs", type=int, default=-1)
    given = parser.parse_args(arguments)
    for name in given.tables:
        nulls = [null for null in TABLES[name].nulls() if re.search(given.only, " | ".join(null.labels))]
        if given.seed:
            nulls = [
                replace(null, seed=null.seed + ([given.seed] if isinstance(null.seed, list) else given.seed))
                for null in nulls
            ]
        print_table(TABLES[name], nulls, runs=given.runs, jobs=given.jobs)
    if not given.tables:
        print("\n".join(TABLES))  # noqa: T201


def print_table(table: Table, nulls: Sequence[Null], *, runs: int, jobs: int) -> None:
    """Print one row per null; or one per kind of data, whose last label is a column; or one per rate."""
    made = joblib.Parallel(n_jobs=jobs, return_as="generator")(joblib.delayed(null.rates)(runs) for null in nulls)
    rows = zip((null.labels for null in nulls), made, strict=True)
    if table.transposed:
        whole = list(rows)
        line(*table.heads, *(" | ".join(labels) for labels, _ in whole), head=True)
        for name in whole[0][1]:
            line(name, *(table.number(rates[name]) for _, rates in whole))
        return
    if table.cell:
        line(*table.heads, *dict.fromkeys(null.labels[-1] for null in nulls), head=True)
        for labels, of_row in groupby(rows, key=lambda row: row[0][:-1]):
            line(*labels, *(table.cell(rates) for _, rates in of_row))
        return
    for nth, (labels, rates) in enumerate(rows):
        names = table.rates or list(rates)
        if nth == 0:
            line(*table.heads, *names, head=True)
        line(*labels, *("" if np.isnan(rates[name]) else table.number(rates[name]) for name in names))


def line(*cells: str, head: bool = False) -> None:
    print(f"| {' | '.join(cells)} |" + f"\n|{' --- |' * len(cells)}" * head, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
