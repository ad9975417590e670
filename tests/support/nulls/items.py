"""Made answers to items of known curves: in paradigms on which models differ, and from models that are relatives."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import expit

from nulls import Null, Table, at_most, pair_of_seeds
from pairbank.arrays import FloatArray
from pairbank.stats.measures.item_response import fit_items, negative_items

Shares = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    n_models: int
    n_paradigms: int
    n_each: int
    family: int = 1
    """Models of one family: what is hard for one of them, beyond its ability, is hard for the others too."""
    family_sd: float = 0.0
    """Of what a family finds hard or easy on an item, in log odds."""
    own_sd: float = 1.0
    """Of a model's ability within its family; that of families is 1."""
    paradigm_sd: float = 0.0
    """Of what a model finds hard or easy on a paradigm."""
    flat: float = 0.0
    """Share of items on which ability changes nothing."""
    reversed_share: float = 0.0
    """Share of items on which it changes the log odds by -1.5 per standard deviation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """Credits of 0 and 1, shape (items, models), and what they were drawn from."""

    credit: FloatArray
    easiness: FloatArray
    discrimination: FloatArray
    ability: FloatArray


def made(rng: np.random.Generator, design: Design) -> Made:
    """Return answers of models that are drawn anew.

    Easiness and discrimination are those of the average over families and paradigms: the log odds that are drawn are
    larger by what such an average shrinks them (Zeger, Liang & Albert 1988, Biometrics 44:1049-1060).
    """
    n = design.n_paradigms * design.n_each
    families = np.arange(design.n_models) // design.family
    ability = design.own_sd * rng.normal(size=design.n_models) + rng.normal(size=families.max() + 1)[families]
    ability = (ability - ability.mean()) / ability.std()
    paradigms = np.repeat(np.arange(design.n_paradigms), design.n_each)
    easiness = rng.normal(1, 1, size=n) + rng.normal(0, 0.5, size=design.n_paradigms)[paradigms]
    slope = np.abs(rng.normal(1, 0.5, size=n))
    kind = rng.random(n)
    slope[kind < design.flat] = 0
    slope[kind > 1 - design.reversed_share] = -1.5
    shrink = np.sqrt(1 + 0.346 * (design.family_sd**2 + design.paradigm_sd**2))
    odds = shrink * (easiness[:, None] + slope[:, None] * ability)
    odds += design.family_sd * rng.normal(size=(n, families.max() + 1))[:, families]
    odds += design.paradigm_sd * rng.normal(size=(design.n_paradigms, design.n_models))[paradigms]
    credit = (rng.random(odds.shape) < expit(odds)).astype(np.float64)
    return Made(credit=credit, easiness=easiness, discrimination=slope, ability=ability)


def outcome(seed: list[int], design: Design) -> Shares:
    """Return what one run shows: shares of covered values, false suspects, and how many reversed items are found."""
    data = made(np.random.default_rng(seed), design)
    fit = fit_items(data.credit)
    tested = negative_items(data.credit, design_effect=fit.design_effect)
    wrong = tested.suspect & (data.discrimination >= 0)
    result: Shares = {
        "runs with a false suspect": float(wrong.any()),
        "false among suspects": wrong.sum() / max(int(tested.suspect.sum()), 1),
        "r of discriminations": float(np.corrcoef(fit.discrimination, data.discrimination)[0, 1]),
    }
    if (planted := data.discrimination < 0).any():
        result["planted items found"] = float(tested.suspect[planted].mean())
    for name, truth in (("difficulty", -data.easiness), ("discrimination", data.discrimination)):
        low, high = fit.interval(name)
        result[f"{name} covered"] = float(((low <= truth) & (truth <= high)).mean())
    return result


def null_of(kind: str, design: Design) -> Null:
    labels = (str(design.n_models), str(design.n_paradigms * design.n_each), kind)
    return Null(labels, partial(outcome, design=design), each=pair_of_seeds)


LARGE = Design(n_models=40, n_paradigms=20, n_each=10, flat=0.3)
RELATIVES = replace(LARGE, family=4, family_sd=1.0)
EQUAL = replace(RELATIVES, flat=0.5, own_sd=0.3)


def nulls() -> Iterator[Null]:
    """Yield items of which none discriminates negatively, and on 30 or 50% ability changes nothing."""
    yield null_of("independent", Design(n_models=12, n_paradigms=10, n_each=10, flat=0.3))
    yield null_of("independent", Design(n_models=13, n_paradigms=15, n_each=20, flat=0.3))
    yield null_of("independent", Design(n_models=20, n_paradigms=5, n_each=10, flat=0.3))
    yield null_of("independent", LARGE)
    yield null_of("vary over paradigms", replace(LARGE, paradigm_sd=0.7))
    yield null_of("in families of 4", RELATIVES)
    yield null_of("both", replace(RELATIVES, paradigm_sd=0.7))
    yield null_of("families of equal ability", EQUAL)
    yield null_of("families of equal ability", replace(EQUAL, n_models=84))


def power() -> Iterator[Null]:
    """Yield items of which on 3% ability lowers the log odds by 1.5 per standard deviation."""
    few = replace(LARGE, flat=0.0, reversed_share=0.03)
    yield null_of("independent", replace(few, n_models=20))
    yield null_of("independent", few)
    many = replace(few, n_models=85, n_each=20, family=5, family_sd=0.7, paradigm_sd=0.5)
    yield null_of("families of 5, paradigms", many)


COVERED = ("difficulty covered", "discrimination covered")
BOUNDS = (dict.fromkeys(COVERED, (0.91, 0.99)), at_most(0.1, "runs with a false suspect"))
FEW = Design(n_models=13, n_paradigms=10, n_each=15, flat=0.3)
TESTED = (
    null_of("few", FEW).small(10, *BOUNDS, ci=True),
    null_of("relatives", replace(EQUAL, paradigm_sd=0.5)).small(10, *BOUNDS, ci=True),
)
HEADS = ("models", "items", "kind")
RATES = ("planted items found", "false among suspects", "r of discriminations")
TABLES = (
    Table("items", HEADS, nulls, TESTED, rates=(*COVERED, "runs with a false suspect")),
    Table("items_power", HEADS, power, rates=RATES),
)
