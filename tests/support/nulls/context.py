"""Ratings from 1 to 4 of the same sentences in two conditions: how often they are called compressed or spread out."""

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np

from nulls import Null, Outcome, Table, own_seed
from pairbank.stats.analyses.context import deming_slope
from pairbank.stats.estimates.bootstrap import bootstrap_statistic


def claims(seed: int, *, n_sentences: int, n_raters: tuple[int, int], slope: float) -> Outcome:
    rng = np.random.default_rng(seed)
    true = rng.normal(2.6, 0.8, n_sentences)
    means = [
        np.clip(np.round(mean[:, None] + rng.normal(0, 0.8, (n_sentences, n))), 1, 4).mean(axis=1)
        for mean, n in zip((true, 2.6 + slope * (true - 2.6)), n_raters, strict=True)
    ]
    estimate = bootstrap_statistic(means, partial(deming_slope, ratio=n_raters[0] / n_raters[1]), rng=rng)
    return {"compressed": estimate.high < 1, "spread out": estimate.low > 1}


def nulls() -> Iterator[Null]:
    for slope, n_sentences, n_raters in product((1.0, 0.8), (40, 250), ((15, 15), (15, 17), (10, 20))):
        labels = (f"{slope:g}", str(n_sentences), "{}, {}".format(*n_raters))
        run = partial(claims, n_sentences=n_sentences, n_raters=n_raters, slope=slope)
        yield Null(labels, run, each=own_seed)


TABLES = (Table("context", ("slope", "sentences", "raters without, in context"), nulls),)
