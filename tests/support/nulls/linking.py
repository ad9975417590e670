"""Sentences whose ratings follow log P with known weights of word frequency and length: what MORCELA finds of them.

Coverage of r is of its mean over runs.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from nulls import Null, Table, at_least, at_most, own_seed
from pairbank.stats.analyses.linking import FittedLinking, fitted_linking


def sentences(
    rng: np.random.Generator, *, beta: float, gamma: float, n: int = 300, noise: float = 1.0, n_groups: int = 0
) -> pd.DataFrame:
    """Ratings that are (log P - beta log P_uni + gamma) / N and noise, of sentences of 4 to 20 tokens in groups."""
    length = rng.integers(4, 21, n).astype(np.float64)
    groups = np.arange(n) % n_groups if n_groups else np.arange(n)
    frequency = -9 + rng.normal(scale=0.8, size=n) + (rng.normal(scale=0.5, size=n_groups)[groups] if n_groups else 0)
    merit = rng.normal(size=n) + (rng.normal(scale=0.7, size=n_groups)[groups] if n_groups else 0)
    unigram = length * frequency
    logprob = length * merit + beta * unigram - gamma
    ratings = merit + noise * rng.normal(size=n)
    columns = {"ratings": ratings, "logprob_nats": logprob, "unigram_nats": unigram, "n_tokens": length}
    return pd.DataFrame(columns | {"groups": groups})


def fitted(seed: int, **how: Any) -> FittedLinking:  # noqa: ANN401 - of `sentences`
    result = fitted_linking(sentences(np.random.default_rng(seed), **how))
    assert not isinstance(result, str), result
    return result


def held(runs: Sequence[FittedLinking], *, beta: float, gamma: float) -> dict[str, float]:
    r, slor, over = (float(np.mean([getattr(x, k).value for x in runs])) for k in ("r", "r_slor", "over_slor"))
    truth = {"beta": beta, "gamma": gamma, "r": r, "over_slor": over}
    covered = [np.mean([getattr(x, k).low <= v <= getattr(x, k).high for x in runs]) for k, v in truth.items()]
    names = ("coverage: β", "γ", "coverage: r", "Δr")
    return {
        "r": r,
        "r (SLOR)": slor,
        **dict(zip(names, map(float, covered), strict=True)),
        "MORCELA above SLOR": float(np.mean([x.over_slor.low > 0 for x in runs])),
        "below": float(np.mean([x.over_slor.high < 0 for x in runs])),
    }


RIGHT = "β = 1, γ = 0: SLOR is right (null)"
TRUTHS = {"β = 0.6, γ = 8": (0.6, 8.0), RIGHT: (1.0, 0.0)}


def null_of(data: str, n: int, n_groups: int, truth: str) -> Null:
    beta, gamma = TRUTHS[truth]
    run = partial(fitted, beta=beta, gamma=gamma, n=n, n_groups=n_groups)
    return Null((data, truth), run, each=own_seed, summary=partial(held, beta=beta, gamma=gamma))


def nulls() -> Iterator[Null]:
    data = (("100 sentences", 100, 0), ("300 sentences", 300, 0), ("300 sentences in 30 paradigms", 300, 30))
    return (null_of(*sizes, truth) for sizes, truth in product(data, TRUTHS))


FOUND, ABOVE = at_least(0.85, "coverage: β"), "MORCELA above SLOR"
TESTED = tuple(
    null
    for n in (0, 40)
    for null in (
        null_of(f"{n} groups", 240, n, "β = 0.6, γ = 8").small(40, FOUND, at_least(0.625, ABOVE), ci=True),
        null_of(f"{n} groups", 240, n, RIGHT).small(40, at_most(0.05, ABOVE), seed=900, ci=True),
    )
)
TABLES = (Table("linking", ("data", "truth"), nulls, TESTED),)
