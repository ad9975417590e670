"""Which formula holds for a mean over paradigms of uneven sizes? The wrong claims and the width of four candidates.

Two equal models are compared on paradigms that are drawn anew in every run; the standard deviation between paradigms is
half of that of items. A cell has how often the interval of the difference in accuracy excludes 0, and its mean
half-width. `item mean`: of all items, with Cochran's ratio of sums (CR1) and paradigms - 1 degrees of freedom, with CR2
and those of Bell & McCaffrey, and with a jackknife that leaves out paradigms. `paradigm mean`: the t test of unweighted
means.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from scipy import special

from nulls import Null, Table
from nulls.paradigm_draws import UNEVEN, nested
from pairbank.arrays import FloatArray
from pairbank.stats.estimates.bootstrap import deleted, effective_number, freedom, half_width, shifts_of_mean

Interval = tuple[float, float]
"""Centre and half-width."""


def candidates(gain: FloatArray, codes: np.ndarray) -> dict[str, Interval]:
    sizes = np.bincount(codes)
    n, sums, mean = sizes.size, np.bincount(codes, weights=gain), float(gain.mean())
    of_all, quantile = sums - mean * sizes, float(special.stdtrit(n - 1, 0.975))
    ratio = np.sqrt(n / (n - 1)) * np.linalg.norm(of_all) / gain.size
    left_out = deleted((gain.sum() - sums) / (gain.size - sizes))
    each = sums / sizes
    return {
        "item mean, CR1": (mean, quantile * ratio),
        "item mean, CR2": (
            mean,
            float(special.stdtrit(freedom(codes), 0.975) * np.linalg.norm(shifts_of_mean(gain, codes))),
        ),
        "item mean, jackknife": (mean, half_width(left_out, level=0.95, lost=1)),
        "paradigm mean": (float(each.mean()), quantile * float(each.std(ddof=1)) / np.sqrt(n)),
    }


def drawn(rng: np.random.Generator, sizes: Sequence[int]) -> dict[str, Interval]:
    x, y, codes = nested(rng, sizes, shared=0.0)
    return candidates((np.sign(x) - np.sign(y)) / 2, codes)


def wrong(runs: Sequence[dict[str, Interval]], formula: str) -> dict[str, float]:
    centres, halves = np.array([run[formula] for run in runs]).T
    return {"wrong": float(np.mean(np.abs(centres) > halves)), "half-width": float(np.mean(halves))}


def nulls() -> Iterator[Null]:
    for name, sizes in UNEVEN.items():
        number = effective_number(np.repeat(np.arange(len(sizes)), sizes))
        for formula in ("item mean, CR1", "item mean, CR2", "item mean, jackknife", "paradigm mean"):
            labels, seed = (name, f"{number:.1f}", formula), [7, len(sizes), sum(sizes)]
            yield Null(labels, partial(drawn, sizes=sizes), seed=seed, summary=partial(wrong, formula=formula))


HEADS = ("sizes", "effective number")
TABLES = (Table("paradigm_formulas", HEADS, nulls, cell="{0[wrong]:.3f} ({0[half-width]:.2f})".format),)
