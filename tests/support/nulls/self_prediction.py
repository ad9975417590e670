"""Models that predict answers, with or without access to their own, and how often access is claimed."""

import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd

from nulls import Null, Outcome, Table, at_least, at_most
from nulls.self_agreement import SIZES
from pairbank.stats.analyses.self_prediction import crossed


def predictions(
    sizes: tuple[int, ...], n_models: int, rng: np.random.Generator, *, access: float = 0.0
) -> pd.DataFrame:
    """Return predictions by models of two families, whose answers are alike within a family, over paradigms of sizes.

    A predictor gives its own answer, less often in paradigms that are hard for it and the less able it is; with access
    it knows its own answer in so much of the other cases.
    """
    paradigm = np.repeat(np.arange(len(sizes)), sizes)
    n = len(paradigm)
    shared = rng.normal(size=(2, n)) + rng.normal(size=(2, len(sizes)))[:, paradigm]
    own = np.array([shared[m % 2] + 0.7 * rng.normal(size=n) for m in range(n_models)]) > 0
    ability = rng.uniform(0.55, 0.95, n_models)
    hard = rng.normal(0, 0.15, (n_models, len(sizes)))[:, paradigm]
    rows = []
    for a, b in itertools.product(range(n_models), repeat=2):
        knows = rng.random(n) < np.clip(ability[a] + hard[a], 0, 1) + (access if a == b else 0.0)
        said = np.where(knows, own[a], rng.random(n) < 0.5)
        facts = {"predictor": f"m{a}", "target": f"m{b}", "item": np.arange(n), "paradigm": paradigm.astype(str)}
        rows.append(pd.DataFrame(facts).assign(prediction=said.astype(str), behaviour=own[b].astype(str)))
    made = pd.concat(rows, ignore_index=True)
    return made.assign(right=(made["prediction"] == made["behaviour"]).astype(float))


def claims(rng: np.random.Generator, *, sizes: tuple[int, ...], n_models: int, access: float) -> Outcome:
    rows = predictions(sizes, n_models, rng, access=access)
    _, estimate = crossed(rows)
    low, high = np.fmin(estimate.low, estimate.low_paradigms), np.fmax(estimate.high, estimate.high_paradigms)
    own = rows["predictor"] == rows["target"]
    above = rows[own]["right"].mean() > rows[~own]["right"].mean()
    return {"claimed": low > 0, "denied": high < 0, "self above others": above}


def null_of(access: float, sizes: str, n_models: int) -> Null:
    return Null(
        (f"{access:g}", sizes, str(n_models)),
        partial(claims, sizes=SIZES[sizes], n_models=n_models, access=access),
    )


def nulls() -> Iterator[Null]:
    return (null_of(*each) for each in itertools.product((0.0, 0.1), SIZES, (2, 4, 6)))


BOUNDS = (at_most(0.12, "claimed"), at_least(1.0, "self above others"))
TESTED = (null_of(0.0, "12 x 10", 3).small(25, *BOUNDS, seed=5),)
TABLES = (Table("self_prediction", ("access", "items", "models"), nulls, TESTED),)
