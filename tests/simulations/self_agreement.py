"""Coverage of the intervals of a model's agreement with itself: the table of docs/validation.md.

    PYTHONPATH=src:tests/support python tests/simulations/self_agreement.py [--runs 500]

In: seeds; out: Markdown.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from alpha_nulls import SIZES, alpha_rates, true_alpha
from simulated import asked_runs, show


def rows(runs: int) -> Iterator[tuple[object, ...]]:
    for sizes, n_raters, shared in product(SIZES, (2, 5, 10), (0.0, 0.3, 0.6)):
        made = alpha_rates(sizes, n_raters=n_raters, shared=shared, n_runs=runs, seed=0)
        yield sizes, str(n_raters), f"{true_alpha(n_raters, shared):.2f}", *made.values()


if __name__ == "__main__":
    show(("items", "samples", "true alpha", "covered", "below 0", "have one"), rows(asked_runs(500)))
