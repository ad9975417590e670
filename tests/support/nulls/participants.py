"""Participants, and models that know nothing more than a baseline: how often more is claimed."""

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from nulls import Null, Outcome, Table, at_most
from pairbank.stats.analyses.participants import CHANCE, OTHERS, OWN, baselines, better_than
from pairbank.stats.measures.families import crossed_mean

ALONE = "without the session"


def responses(n_people: int, n_items: int, *, kind: str, rng: np.random.Generator, k: int = 5) -> pd.DataFrame:
    """Return ratings: `random`; `habits`, each person's own shares; `items`, shares of each item, alike for all."""
    person, item = (x.ravel() for x in np.indices((n_people, n_items)))
    shares = {
        "random": np.full((len(person), k), 1 / k),
        "habits": rng.dirichlet(np.ones(k), n_people)[person],
        "items": rng.dirichlet(np.ones(k), n_items)[item],
    }[kind]
    option = (shares.cumsum(axis=1) < rng.random((len(person), 1))).sum(axis=1).clip(0, k - 1)
    return pd.DataFrame(
        {"scale": "s", "rater": person, "trial": item, "item_id": item.astype(str), "side": "good", "n_options": k}
        | {"option": option, "value": option + 1.0}
    )


def sessions(gains: dict[str, float], *, seed: int = 2) -> pd.DataFrame:
    """Return what `pairbank participants` writes of models that know the others' answers, and some nats more."""
    rng = np.random.default_rng(seed)
    rows = responses(12, 40, kind="items", rng=rng)
    known = baselines(rows)[OTHERS]
    is_cut = (rows["rater"] == 3) & (rows["trial"] > 5)
    facts: dict[str, Any] = {
        "corpus": "mine",
        "alone_nats": known,
        "predicted": rows["option"],
        "n_before": rows["trial"] - is_cut,
    }
    tables = [
        rows.assign(
            model=name, loglik_nats=known + gain + rng.normal(0, 0.1, len(rows)), **facts, trial=rows["trial"] + 1
        )
        for name, gain in gains.items()
    ]
    return pd.concat(tables, ignore_index=True)


def same_as(rng: np.random.Generator, *, n_people: int, n_items: int) -> Outcome:
    """Return whether a model is said to be better than each baseline.

    Its log-likelihoods are those of the baseline, and noise by person, by item and by response whose mean is 0.
    """
    rows = responses(n_people, n_items, kind="items", rng=rng)
    known = baselines(rows)
    known[ALONE] = known[OTHERS] + rng.normal(0, 0.5, len(rows))
    people, items = rows["rater"].to_numpy(), rows["trial"].to_numpy()
    said = {}
    for name, other in known.items():
        noise = rng.normal(0, 0.2, n_people)[people] + rng.normal(0, 0.2, n_items)[items]
        model = other + noise + rng.normal(0, 0.5, len(rows))
        gain = crossed_mean(model - other, people, items)
        said[name] = gain.p < 0.05 and gain.estimate.value > 0
    return said


def arbitrary(rng: np.random.Generator, *, n_people: int, n_items: int, kind: str) -> Outcome:
    """Return whether a model with arbitrary probabilities for each item is said to be better than each baseline."""
    rows = responses(n_people, n_items, kind=kind, rng=rng)
    people, items = rows["rater"].to_numpy(), rows["trial"].to_numpy()
    model = np.log(rng.dirichlet(np.full(5, 20.0), n_items)[items, rows["option"].to_numpy()])
    gains = {name: crossed_mean(model - other, people, items) for name, other in baselines(rows).items()}
    table = pd.DataFrame(
        [{"model": "m", "versus": name, "value": x.estimate.value, "p_holm": x.p} for name, x in gains.items()]
    )
    return {name: name in set(better_than(table)["versus"]) for name in (CHANCE, OWN, OTHERS)}


MODELS = {"same as": same_as} | {
    f"arbitrary, {kind}": partial(arbitrary, kind=kind) for kind in ("random", "habits", "items")
}


def null_of(size: tuple[int, int], model: str) -> Null:
    return Null((model, f"{size[0]} x {size[1]}"), partial(MODELS[model], n_people=size[0], n_items=size[1]))


def nulls() -> Iterator[Null]:
    return (null_of(*each) for each in product(((5, 40), (12, 40), (12, 200), (60, 40)), MODELS))


ALL = (CHANCE, OWN, OTHERS)
TESTED = (
    null_of((12, 40), "same as").small(60, at_most(0.1, *ALL, ALONE), seed=1),
    null_of((12, 40), "arbitrary, random").small(30, at_most(0.1, *ALL), seed=1),
)
TABLES = (Table("participants", ("model", "people x items"), nulls, TESTED),)
