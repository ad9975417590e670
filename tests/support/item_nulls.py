"""Made answers to items of known curves: in paradigms on which models differ, and from models that are relatives."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

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


def outcome(rng: np.random.Generator, design: Design, *, with_curves: bool = True) -> Shares:
    """Return what one run shows: shares of covered values, false suspects, and how many reversed items are found."""
    data = made(rng, design)
    fit = fit_items(data.credit)
    tested = negative_items(data.credit, design_effect=fit.design_effect)
    wrong = tested.suspect & (data.discrimination >= 0)
    result: Shares = {
        "any_false": float(wrong.any()),
        "false": wrong.sum() / max(int(tested.suspect.sum()), 1),
        "design_effect": fit.design_effect,
    }
    if (planted := data.discrimination < 0).any():
        result["found"] = float(tested.suspect[planted].mean())
    if with_curves:
        for name, truth in (("difficulty", -data.easiness), ("discrimination", data.discrimination)):
            low, high = fit.interval(name)
            result[name] = float(((low <= truth) & (truth <= high)).mean())
            result[f"r_{name}"] = float(np.corrcoef(getattr(fit, name), truth)[0, 1])
    return result


def means(design: Design, *, n_runs: int, seed: int = 0) -> Shares:
    runs = [outcome(np.random.default_rng([seed, nth]), design) for nth in range(n_runs)]
    return {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
