"""How often the items that `pairbank plan` states detect a difference in accuracy: rows as in docs/validation.md.

    PYTHONPATH=src:tests/support python tests/simulations/plan_power.py [--runs 400]

In: credits of two models, item by item, on as many items as the plan states; out, Markdown. The test is that of
`comparisons`. Uneven: the same number of items, the n-th paradigm in proportion to 1 / n, two at least.
"""

from collections.abc import Iterator

import numpy as np

from pairbank.arrays import IntArray
from pairbank.stats.measures.paired_tests import beyond_clusters_p
from pairbank.stats.measures.power import DISCORDANT, SD_OF_DIFFERENCE, SIGNIFICANCE, items_for_difference
from simulated import asked_runs, show


def share_detected(difference: float, sizes: IntArray, *, runs: int, seed: int) -> float:
    """Return how often two models that differ by this much on average are said to differ beyond their paradigms."""
    rng, said = np.random.default_rng(seed), 0
    codes = np.repeat(np.arange(len(sizes)), sizes)
    for _ in range(runs):
        own = np.clip(rng.normal(difference, SD_OF_DIFFERENCE, len(sizes)), -DISCORDANT, DISCORDANT)[codes]
        draws = rng.random(codes.size)
        gains = np.where(draws < (DISCORDANT + own) / 2, 1.0, np.where(draws < DISCORDANT, -1.0, 0.0))
        said += beyond_clusters_p(gains, codes) < SIGNIFICANCE
    return said / runs


def rows(runs: int) -> Iterator[tuple[object, ...]]:
    for difference in (0.1, 0.15, 0.2):
        for plan in items_for_difference(difference, seed=1).dropna().to_dict("records"):
            n, n_items = int(plan["paradigms"]), int(plan["items"])
            even = np.full(n, n_items // n)
            uneven = np.maximum(2, np.round(n_items / np.arange(1, n + 1) / np.sum(1 / np.arange(1, n + 1)))).astype(
                int
            )
            detected = [
                share_detected(d, sizes, runs=runs, seed=2) for d in (difference, 0.0) for sizes in (even, uneven)
            ]
            yield f"{difference:.2f}", str(n), f"{n_items:,}", *detected


if __name__ == "__main__":
    columns = ("difference", "paradigms", "items", "even", "uneven", "null, even", "null, uneven")
    show(columns, rows(asked_runs(400)))
