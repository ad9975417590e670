"""Base and instruction-tuned models that do not differ on average, and how often a difference is claimed."""

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from nulls import Null, Outcome, Table, at_least, at_most
from pairbank.stats.measures.families import correlation_parts, family_contrast

FAMILIES = {
    "3 of one pair": (1, 1, 1),
    "3 uneven": (5, 2, 1),
    "5 uneven": (6, 3, 2, 1, 1),
    "7 uneven": (8, 5, 4, 3, 2, 2, 1),
}
SIZES = {
    "200 items": (1,) * 200,
    "20 x 10": (10,) * 20,
    "Zipf over 20 (190)": tuple(np.maximum(60 // np.arange(1, 21), 2)),
}


def claims(
    rng: np.random.Generator, *, families: str, sizes: str, measure: str, by_family: float, by_paradigm: float
) -> Outcome:
    """Return whether the true difference is covered, and whether it is said to be other than 0.

    Tuning moves a model's scores by a draw of its family, by one of each paradigm that all families share, and by one
    of each family in each paradigm; half of it is taken from the base model, so that neither is better for its spread.
    Beside it, a t test over pairs.
    """
    family = np.repeat(np.arange(len(FAMILIES[families])), FAMILIES[families])
    paradigm = np.repeat(np.arange(len(SIZES[sizes])), SIZES[sizes])
    n, codes = len(paradigm), paradigm if len(SIZES[sizes]) < len(paradigm) else np.full(len(paradigm), -1)
    shape = (n, len(family))
    people = rng.normal(0, 0.5, len(SIZES[sizes]))[paradigm] + rng.normal(size=n)
    common = 0.5 * people[:, None] + rng.normal(size=(n, 1)) + 0.3 * rng.normal(size=(1, len(family))) + 0.8
    shift = rng.normal(0, by_family, family.max() + 1)[family] + rng.normal(0, by_family / 2, len(family))
    shift = shift + rng.normal(0, by_paradigm, (len(SIZES[sizes]), 1))[paradigm]
    shift = shift + rng.normal(0, by_paradigm / 2, (len(SIZES[sizes]), family.max() + 1))[paradigm][:, family]
    base, instruct = (common + own + 0.7 * rng.normal(size=shape) for own in (-shift / 2, shift / 2))
    differences = _differences(base, instruct, people, measure)
    result = family_contrast(differences, [str(x) for x in family], codes)
    return {
        "covered": result.estimate.low <= 0 <= result.estimate.high,
        "claimed": result.p < 0.05,
        "t test over pairs": stats.ttest_1samp(differences.mean(axis=0), 0.0).pvalue < 0.05,
    }


def _differences(
    base: NDArray[np.float64], instruct: NDArray[np.float64], people: NDArray[np.float64], measure: str
) -> NDArray[np.float64]:
    if measure == "accuracy":
        return (instruct > 0).astype(float) - (base > 0)
    parts = [np.column_stack([correlation_parts(x, people) for x in of.T]) for of in (instruct, base)]
    return parts[0] - parts[1]


SPREADS = {"none": (0.0, 0.0), "families": (0.3, 0.0), "paradigms": (0.0, 0.5), "both": (0.3, 0.5)}


def null_of(measure: str, families: str, sizes: str, spread: str) -> Null:
    of_family, of_paradigm = SPREADS[spread]
    data: dict[str, Any] = {"families": families, "sizes": sizes, "measure": measure}
    run = partial(claims, by_family=of_family, by_paradigm=of_paradigm, **data)
    return Null((measure, families, sizes, spread), run)


def nulls() -> Iterator[Null]:
    return (null_of(*each) for each in product(("accuracy", "r"), FAMILIES, SIZES, SPREADS))


BOUNDS = (at_most(0.1, "claimed"), at_least(0.101, "t test over pairs"))
TESTED = (null_of("accuracy", "5 uneven", "20 x 10", "both").small(60, *BOUNDS, seed=3, ci=True),)
HEADS = ("measure", "families", "items", "tuning varies over")
TABLES = (Table("base_instruct", HEADS, nulls, TESTED),)
