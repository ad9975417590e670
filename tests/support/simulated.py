"""What the scripts of tests/simulations share: the number of runs, and a Markdown table that is printed as it grows."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence


def asked_runs(default: int) -> int:
    """Return how many runs the command line asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=default)
    return int(parser.parse_args().runs)


def show(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table: a number that is no text has three decimals."""
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")  # noqa: T201
    for row in rows:
        cells = (cell if isinstance(cell, str) else f"{cell:.3f}" for cell in row)
        print(f"| {' | '.join(cells)} |", flush=True)  # noqa: T201
