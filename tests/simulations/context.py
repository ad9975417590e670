"""How often ratings in context are called compressed or spread out when they are not: rows as in docs/validation.md.

    PYTHONPATH=src:tests/support python tests/simulations/context.py [--runs 1000]

In: made ratings from 1 to 4 of the same sentences in two conditions, by as many or more people in context.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np

from pairbank.stats.analyses.context import deming_slope
from pairbank.stats.estimates.bootstrap import bootstrap_statistic
from simulated import asked_runs, show


def claims(seed: int, *, n_sentences: int, n_raters: tuple[int, int], slope: float = 1.0) -> tuple[bool, bool]:
    rng = np.random.default_rng(seed)
    true = rng.normal(2.6, 0.8, n_sentences)
    means = [
        np.clip(np.round(mean[:, None] + rng.normal(0, 0.8, (n_sentences, n))), 1, 4).mean(axis=1)
        for mean, n in zip((true, 2.6 + slope * (true - 2.6)), n_raters, strict=True)
    ]
    estimate = bootstrap_statistic(means, partial(deming_slope, ratio=n_raters[0] / n_raters[1]), rng=rng)
    return estimate.high < 1, estimate.low > 1


def rows(runs: int) -> Iterator[tuple[object, ...]]:
    for slope, n_sentences, n_raters in product((1.0, 0.8), (40, 250), ((15, 15), (15, 17), (10, 20))):
        made = [claims(seed, n_sentences=n_sentences, n_raters=n_raters, slope=slope) for seed in range(runs)]
        yield f"{slope:g}", str(n_sentences), "{}, {}".format(*n_raters), *np.mean(made, axis=0)


if __name__ == "__main__":
    columns = ("slope", "sentences", "raters without, in context", "compressed", "spread out")
    show(columns, rows(asked_runs(1000)))
