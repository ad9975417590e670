"""Made-up models that are asked about items: with and without access to themselves that their relatives do not have.

Direct differences = common + family + a part of the model's own. Answers = common + family + noise, and the own part as
far as `privileged` says: the correlation of answers with it. Without, nothing about a model is in its answers that is
not in its relatives' probabilities too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pairbank.stats.scored_table.model_features import ModelFeatures
from pairbank.stats.scored_table.scored_table import DeltaStack

Design = Literal[
    "alike", "unequal noise", "own mixtures, read", "own mixtures, asked", "own mixtures, both", "heavy tails",
    "answers follow nothing", "near twins", "clustered items",
]  # fmt: skip
DESIGNS: tuple[Design, ...] = get_args(Design)
MEANINGS: dict[Design, str] = {
    "alike": "all models weigh common part, family and own part alike",
    "unequal noise": "a model with less of its own in its probabilities also answers better (bigger models)",
    "own mixtures, read": "each model's probabilities weigh common part and family in their own way",
    "own mixtures, asked": "each model's answers do",
    "own mixtures, both": "both do, unrelated to each other",
    "heavy tails": "as alike, all parts t-distributed with 3 degrees of freedom",
    "answers follow nothing": "answers are noise",
    "near twins": "the first two of each family share a further part, which nobody declared",
    "clustered items": "items come in tens (paradigms) that share 30% of the variance of every part",
}
_CLUSTER = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class _Weights:
    common: NDArray[np.float64]
    family: NDArray[np.float64]
    own: NDArray[np.float64]
    asked_common: NDArray[np.float64]
    asked_family: NDArray[np.float64]


def made_up_models(
    rng: np.random.Generator,
    *,
    n_models: int,
    family_size: int,
    n_items: int,
    design: Design = "alike",
    privileged: float = 0.0,
    n_prompts: int = 1,
    preference: float = 0.0,
    clusters: NDArray[np.int64] | None = None,
) -> tuple[DeltaStack, dict[str, ModelFeatures]]:
    """Return the deltas of models in families (the last one has what is left), and what is declared about them.

    `privileged` is the correlation of the answers to a prompt with the model's own part; half of the variance of the
    noise of answers is the model's over all prompts. `preference` is the mean of direct differences, so that the filter
    for disagreed items has work to do. `clusters` numbers each item's paradigm; None = tens.
    """
    family = np.arange(n_models) // family_size
    drawn = partial(_drawn, rng, design, np.arange(n_items) // _CLUSTER if clusters is None else clusters)
    common = drawn(n_items)
    families = drawn(int(family[-1]) + 1, n_items)[family]
    own = drawn(n_models, n_items)
    weights = _weights(rng, design, n_models)
    direct = _row(weights.common) * common + _row(weights.family) * families + _row(weights.own) * own
    answers = _row(weights.asked_common) * common + _row(weights.asked_family) * families
    if design == "near twins":
        is_twin = _row((np.arange(n_models) % family_size < 2).astype(np.float64))
        shared = is_twin * drawn(int(family[-1]) + 1, n_items)[family]
        direct, answers = direct + 0.7 * shared, answers + 0.3 * shared
    noise = (drawn(n_models, n_items) + drawn(n_prompts, n_models, n_items)) / np.sqrt(2)
    variance = weights.asked_common**2 + weights.asked_family**2 + 1
    own_weight = _row(privileged * np.sqrt(variance / (1 - privileged**2)))
    names = tuple(f"model {nth}" for nth in range(n_models))
    stack = DeltaStack(
        corpus="made up",
        models=names,
        prompts=tuple(f"prompt {nth}" for nth in range(n_prompts)),
        item_ids=tuple(map(str, range(n_items))),
        n_identical=0,
        direct_nats=direct + preference,
        meta_nats=answers + own_weight * own + noise + preference / 2,
    )
    return stack, {
        name: ModelFeatures(family=f"family {family[nth]}", generation="1", size_billions=nth + 1, type="base")
        for nth, name in enumerate(names)
    }


def _weights(rng: np.random.Generator, design: Design, n_models: int) -> _Weights:
    common, family, own, asked_common, asked_family = (np.full(n_models, w) for w in (1.0, 0.7, 0.7, 0.35, 0.3))
    if design == "unequal noise":
        quality = rng.permutation(np.linspace(0, 1, n_models))
        own, asked_common, asked_family = 1.4 - 1.1 * quality, 0.1 + 0.5 * quality, 0.1 + 0.4 * quality
    if design in ("own mixtures, read", "own mixtures, both"):
        common, family = rng.uniform(0.5, 1.3, n_models), rng.uniform(0.3, 1.2, n_models)
    if design in ("own mixtures, asked", "own mixtures, both"):
        asked_common, asked_family = rng.uniform(0.1, 0.6, n_models), rng.uniform(0.1, 0.6, n_models)
    if design == "answers follow nothing":
        asked_common, asked_family = np.zeros(n_models), np.zeros(n_models)
    return _Weights(common=common, family=family, own=own, asked_common=asked_common, asked_family=asked_family)


def _drawn(rng: np.random.Generator, design: Design, clusters: NDArray[np.int64], *shape: int) -> NDArray[np.float64]:
    """Return numbers with mean 0 and variance 1, the last axis items."""
    if design == "heavy tails":
        return np.asarray(rng.standard_t(3, shape) / np.sqrt(3))
    values = rng.normal(size=shape)
    if design != "clustered items":
        return values
    shared = rng.normal(size=(*shape[:-1], int(clusters.max()) + 1))[..., clusters]
    return np.asarray(np.sqrt(0.3) * shared + np.sqrt(0.7) * values)


def _row(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values[:, np.newaxis]
