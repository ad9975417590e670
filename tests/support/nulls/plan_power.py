"""Credits of two models on as many items as `pairbank plan` states: how often `comparisons` says that they differ.

Uneven: the same number of items, the n-th paradigm in proportion to 1 / n, two at least.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product

import numpy as np

from nulls import Null, Outcome, Table, published_rows, shown
from pairbank.stats.measures.paired_tests import beyond_clusters_p
from pairbank.stats.measures.power import DISCORDANT, SD_OF_DIFFERENCE, SIGNIFICANCE, items_for_difference


def detected(rng: np.random.Generator, *, difference: float, sizes: Sequence[int]) -> Outcome:
    """Return whether two models that differ by this much on average are said to differ beyond their paradigms."""
    codes = np.repeat(np.arange(len(sizes)), sizes)
    own = np.clip(rng.normal(difference, SD_OF_DIFFERENCE, len(sizes)), -DISCORDANT, DISCORDANT)[codes]
    draws = rng.random(codes.size)
    gains = np.where(draws < (DISCORDANT + own) / 2, 1.0, np.where(draws < DISCORDANT, -1.0, 0.0))
    return {"said": beyond_clusters_p(gains, codes) < SIGNIFICANCE}


def uneven(n: int, n_items: int) -> list[int]:
    shares = 1 / np.arange(1, n + 1)
    return [int(size) for size in np.maximum(2, np.round(n_items * shares / shares.sum()))]


def nulls() -> Iterator[Null]:
    for difference in (0.1, 0.15, 0.2):
        for plan in items_for_difference(difference, seed=1).dropna().to_dict("records"):
            n, n_items = int(plan["paradigms"]), int(plan["items"])
            for name, true in (("", difference), ("null, ", 0.0)):
                for kind, sizes in (("even", [n_items // n] * n), ("uneven", uneven(n, n_items))):
                    labels = (f"{difference:.2f}", str(n), f"{n_items:,}", name + kind)
                    yield Null(labels, partial(detected, difference=true, sizes=sizes), seed=2)


(STATED,) = ([float(x) for x in row[3:]] for row in published_rows("Planned sizes") if row[:2] == ["0.15", "12"])
SIZES = {"even": [15] * 12, "uneven": uneven(12, 180)}
TESTED = tuple(
    Null((f"{kind}, {true}",), partial(detected, difference=true, sizes=SIZES[kind]), seed=5).small(150, bounds)
    for (true, kind), bounds in zip(
        product((0.15, 0.0), SIZES), ({"said": (rate - 0.1, rate + 0.1)} for rate in STATED), strict=True
    )
)
TABLES = (Table("plan", ("difference", "paradigms", "items"), nulls, TESTED, shown),)
