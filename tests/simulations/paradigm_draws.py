"""How often do both kinds of interval hold the truth, and exclude a 0 that is true, where items lie in paradigms?

    PYTHONPATH=src:tests/support python tests/simulations/paradigm_draws.py [--runs 400] [--table uneven]

Each paradigm shifts the differences of its items by a draw of its own, for `direct`, for a question and for people. The
truth is that of all paradigms: paradigms are drawn anew in every run. Out: Markdown tables, a row an estimate and a
column a number of paradigms and items; coverage of the interval over items / of the one over paradigms.
"""

import argparse
import itertools

import numpy as np

from pairbank.stats.estimates.bootstrap import effective_number
from paradigm_cases import (
    CEILING,
    CEILING_SIZES,
    FEW,
    STATISTICS,
    UNEVEN,
    coverage,
    holds_of_shares,
    robust_coverage,
    said_beyond,
)

SIZES = ((12, 2), (10, 10), (20, 10), (20, 50), (67, 15), (75, 10))
"""Paradigms, items in each."""
NESTED = ((12, 2), (10, 10), (20, 50))
"""24, 100 and 1,000 items."""
SHOWN = (
    *("accuracy", "accuracy pooled, position bias", "difference (`comparisons`)", "r", "rho", "kappa", "AUC"),
    "balanced accuracy",
)
"""Estimates of the table of uneven sizes."""


def ceiling(runs: int) -> None:
    """Print the coverage of accuracies near 1 and 0, as reports print them."""
    print("| paradigms | " + " | ".join(CEILING_SIZES) + " |")  # noqa: T201
    print("| --- |" + " --- |" * len(CEILING_SIZES))  # noqa: T201
    for name, solved in CEILING.items():
        cells = (f"{holds_of_shares(solved, sizes, runs=runs):.3f}" for sizes in CEILING_SIZES.values())
        print(f"| {name} | {' | '.join(cells)} |", flush=True)  # noqa: T201


def uneven(runs: int, designs: dict[str, tuple[int, ...]]) -> None:
    """Print the coverage of the interval over paradigms of some sizes, and how often equal models "differ beyond"."""
    print("| sizes | items | effective number | " + " | ".join(SHOWN) + " | differ beyond |")  # noqa: T201
    print("| --- |" + " --- |" * (3 + len(SHOWN)))  # noqa: T201
    for name, sizes in designs.items():
        held = [coverage(estimate, sizes, shared=0.5, runs=runs) for estimate in SHOWN]
        cells = ["none" if not one.given else f"{one.paradigms:.3f}" for one in held]
        cells.append(f"{said_beyond(sizes, runs=runs):.3f}")
        number = effective_number(np.repeat(np.arange(len(sizes)), sizes))
        print(f"| {name} | {sum(sizes):,} | {number:.1f} | {' | '.join(cells)} |", flush=True)  # noqa: T201


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--only", default="", help="estimates that hold this text")
    parser.add_argument("--table", choices=("uneven", "few", "ceiling"), help="this table alone")
    given = parser.parse_args()
    if given.table == "ceiling":
        ceiling(given.runs)
        return
    if given.table:
        uneven(given.runs, UNEVEN if given.table == "uneven" else FEW)
        return
    runs, names = given.runs, [name for name in STATISTICS if given.only in name]
    print("| estimate | " + " | ".join(f"{a} x {b}" for a, b in SIZES) + " |")  # noqa: T201
    print("| --- |" + " --- |" * len(SIZES))  # noqa: T201
    for shared, name in itertools.product((0.0, 0.5), names):
        held = [coverage(name, [b] * a, shared=shared, runs=runs) for a, b in SIZES]
        cells = " | ".join(f"{x.items:.3f} / {x.paradigms:.3f}" for x in held)
        print(f"| {name}, true r {shared} | {cells} |", flush=True)  # noqa: T201
    for shared, heavy in itertools.product((0.0, 0.5), (False, True)) if not given.only else ():
        held = [robust_coverage(a, b, shared=shared, heavy=heavy, runs=runs) for a, b in SIZES]
        cells = " | ".join(f"{x.items:.3f} / {x.paradigms:.3f}" for x in held)
        tails = ", tails as t (3)" if heavy else ""
        print(f"| robust r, true r {shared}{tails} | {cells} |", flush=True)  # noqa: T201
    print()  # noqa: T201
    print("| estimate | tails | " + " | ".join(f"always these {a} x {b}: items" for a, b in NESTED), end=" | ")  # noqa: T201
    print(" | ".join(f"drawn anew {a} x {b}: paradigms" for a, b in NESTED) + " |")  # noqa: T201
    print("| --- | --- |" + " --- |" * 2 * len(NESTED))  # noqa: T201
    for name, heavy in itertools.product(names, (False, True)):
        each = [
            coverage(name, [b] * a, shared=0.5, runs=runs, heavy=heavy, fixed=fixed)
            for fixed in (True, False)
            for a, b in NESTED
        ]
        shown = [x.items if nth < len(NESTED) else x.paradigms for nth, x in enumerate(each)]
        values = " | ".join(f"{x:.3f}" for x in shown)
        print(f"| {name} | {'t (3)' if heavy else 'normal'} | {values} |", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
