"""How often instruction tuning is said to change what it does not: the table of docs/validation.md.

    PYTHONPATH=src:tests/support python tests/simulations/families.py [--runs 1000]

In: seeds; out: Markdown.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from family_nulls import FAMILIES, SIZES, runs_of
from simulated import asked_runs, show

SPREADS = {"none": (0.0, 0.0), "families": (0.3, 0.0), "paradigms": (0.0, 0.5), "both": (0.3, 0.5)}


def rows(runs: int) -> Iterator[tuple[object, ...]]:
    for measure, families, sizes, spread in product(("accuracy", "r"), FAMILIES, SIZES, SPREADS):
        of_family, of_paradigm = SPREADS[spread]
        made = runs_of(
            families, sizes, measure=measure, by_family=of_family, by_paradigm=of_paradigm, n_runs=runs, seed=0
        )
        yield measure, families, sizes, spread, *made.values()


if __name__ == "__main__":
    columns = ("measure", "families", "items", "tuning varies over", "covered", "claimed", "t test over pairs")
    show(columns, rows(asked_runs(1000)))
