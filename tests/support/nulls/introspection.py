"""Made-up models that are asked about items: with and without access to themselves that their relatives do not have.

Direct differences = common + family + a part of the model's own. Answers = common + family + noise, and the own part as
far as `privileged` says: the correlation of answers with it. Without, nothing about a model is in its answers that is
not in its relatives' probabilities too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from nulls import Null, Outcome, Table, at_least, at_most, own_seed
from nulls.introspection_quick import quick_own_advantage
from pairbank.stats.analyses.introspection.analysis import published_test
from pairbank.stats.analyses.introspection.beyond_relatives import own_advantage
from pairbank.stats.analyses.introspection.model_pairs import (
    disagreement,
    of_models,
    pair_correlations,
    pair_table,
    words,
)
from pairbank.stats.analyses.introspection.tables import consistency_by_self, consistency_by_similarity
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


CELLS = [(3, 1), (3, 2), (3, 3), (6, 1), (6, 2), (6, 3), (6, 6), (21, 1), (21, 2), (21, 3), (21, 7)]
"""Models and models of a family. Families of 7 do not fit into 3 or 6 models: one family of all stands for them."""
N_ITEMS = (240, 700, 1048)
FEW_CELLS = [(3, 2), (6, 3), (21, 7)]
SIZES = {
    "70 of 10 items": [10] * 70,
    "14 of 50 items": [50] * 14,
    "one of 350 items, 35 of 10": [350] + [10] * 35,
    "12 of 8 to 166 items": [8, 11, 15, 20, 27, 36, 48, 64, 85, 100, 120, 166],
}
PRIVILEGED = (0.05, 0.1, 0.2)
HOLDS = "interval over relatives contains 0"
Cell = tuple[int, int, int]
"""Models, models of a family, items."""
SENTENCES = {
    "beyond relatives": "follow the model's own probabilities beyond",
    "ahead of the declared relatives' only": "ahead of the declared relatives' only",
    "no advantage is shown": "No advantage of a model's own",
    "relatives' more than own": "follow the relatives' probabilities more",
    "inconclusive": "inconclusive",
    "published test: self ahead of every type": "self is ahead of every other type",
    "published test: ahead of some types": "self is ahead of some types",
    "published test: ahead of no type": "self is ahead of no other type",
    "published test: some coefficients positive": "are positive: the line",
}
"""A short name and words that the verdict has only then."""


def seed_of(cell: Sequence[int]) -> Any:  # noqa: ANN401 - of `Null.each`
    return lambda seed, nth: [seed + nth, *cell]


def drawn(seed: Sequence[int], cell: Cell, **how: Any) -> tuple[DeltaStack, dict[str, ModelFeatures]]:  # noqa: ANN401
    n_models, family_size, n_items = cell
    sizes: dict[str, Any] = {"n_models": n_models, "family_size": family_size, "n_items": n_items}
    return made_up_models(np.random.default_rng(seed), **sizes, **how)


def once(
    seed: Sequence[int], *, cell: Cell, design: Design = "alike", privileged: float = 0.0, filtered: bool = False
) -> Outcome:
    """Return whether the verdict says `beyond relatives`, and whether the relatives' interval is above 0."""
    stack, _ = drawn(seed, cell, design=design, privileged=privileged, preference=0.8 if filtered else 0.0)
    if filtered:
        stack = stack.select(disagreement(stack.direct_nats, stack.meta_nats)["kept"].to_numpy())
    own = quick_own_advantage(stack, family_size=cell[1])
    return {
        "beyond": own.beyond == "beyond relatives",
        "relatives": own.over_relatives.low > 0,
        "inconclusive": own.beyond == "inconclusive",
    }


def over_paradigms(seed: Sequence[int], *, cell: tuple[int, int], sizes: Sequence[int]) -> Outcome:
    """Return whether the interval over paradigms contains 0, and whether the report claims an advantage."""
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    stack, features = drawn(seed, (*cell, clusters.size), design="clustered items", clusters=clusters)
    own = own_advantage(replace(stack, clusters=clusters), pair_correlations(stack), features)
    return {
        HOLDS: own.over_relatives.low <= 0 <= own.over_relatives.high,
        "beyond its relatives'": own.beyond == "beyond relatives",
    }


def spoken(seed: Sequence[int], *, cell: Cell, design: Design, privileged: float) -> Outcome:
    """Return which of the sentences the verdict says, then what tables alone would make one say."""
    stack, features = drawn(seed, cell, design=design, privileged=privileged)
    pairs, own = pair_table(stack, features), own_advantage(stack, pair_correlations(stack), features)
    test = published_test(consistency_by_similarity(pairs), n_models=cell[0])
    text = words().render("headline", own) + words().render("published", test)
    family = of_models(pairs, stack.models[: cell[1]])
    one, pooled = (consistency_by_self(part)["self"] for part in (family, pairs))
    return {
        **{name: sentence in text for name, sentence in SENTENCES.items()},
        "Table 8, one family: self ahead": one.estimate > 0 and one.p_value < 0.05,
        "Table 8, were families pooled: self ahead": pooled.estimate > 0 and pooled.p_value < 0.05,
        "partial r above 0": own.partial.value > 0,
    }


def few(runs: int) -> int:
    """Of models that are alone in their families: never told."""
    return min(20, runs)


def no_access() -> Iterator[Null]:
    """Yield models without privileged access, alike and unequal in noise."""
    designs: tuple[Design, ...] = ("alike", "unequal noise")
    for (n_models, family_size), n_items, design in product(CELLS, N_ITEMS, designs):
        cell = (n_models, family_size, n_items)
        labels = (str(n_models), str(family_size), f"{n_items:,} items, {design}")
        alone = few if family_size == 1 else None
        yield Null(labels, partial(once, cell=cell, design=design), each=seed_of(cell), fewer=alone)


def other_designs() -> Iterator[Null]:
    """Yield what is said without privileged access on 700 items."""
    asked = [(MEANINGS[design], design, False) for design in DESIGNS[2:]]
    asked += [(f"{design}; disagreed items only", design, True) for design in DESIGNS[:2]]
    for (meaning, design, filtered), (n_models, family_size) in product(asked, FEW_CELLS):
        cell = (n_models, family_size, 700)
        run = partial(once, cell=cell, design=design, filtered=filtered)
        yield Null((meaning, f"{n_models} models, {family_size} of a family"), run, each=seed_of(cell))


def paradigms() -> Iterator[Null]:
    """Yield coverage of 0, and said, with paradigms as draws."""
    for (name, sizes), cell in product(SIZES.items(), FEW_CELLS[:2]):
        run = partial(over_paradigms, cell=cell, sizes=sizes)
        yield Null((name, str(cell[0])), run, each=seed_of((*cell, len(sizes))))


def power() -> Iterator[Null]:
    """Yield what is found, where answers correlate so much with the model's own part."""
    cells = [cell for cell in CELLS if cell[1] > 1]
    for (n_models, family_size), r, n in product(cells, PRIVILEGED, (N_ITEMS[0], N_ITEMS[-1])):
        cell = (n_models, family_size, n)
        labels = (str(n_models), str(family_size), f"r = {short(r)}, {n:,} items")
        yield Null(labels, partial(once, cell=cell, privileged=r), each=seed_of(cell))


def sentences() -> Iterator[Null]:
    """Yield how often each sentence is said on 700 items, without privileged access and with r = .1 and .3."""
    settings: list[tuple[Design, float]] = [("alike", 0.0), ("unequal noise", 0.0), ("alike", 0.1), ("alike", 0.3)]
    cells = [(3, 3, 700), (6, 3, 700), (21, 7, 700)]
    for (design, r), cell in product(settings, cells):
        run = partial(spoken, cell=cell, design=design, privileged=r)
        yield Null((f"r = {short(r)}, {design}, {cell[0]} models",), run, each=seed_of(cell))


def short(share: float) -> str:
    return "> 0.99" if 0.995 <= share < 1 else f"{share:.3f}".rstrip("0").rstrip(".")


def both_shares(rates: Mapping[str, float]) -> str:
    """Return how often the verdict is said, and in brackets how often the relatives' interval alone is above 0."""
    told = f"{short(rates['beyond'])} ({short(rates['relatives'])})"
    return "0 (inconclusive)" if rates["inconclusive"] == 1 else told


def found(rates: Mapping[str, float]) -> str:
    return short(rates["beyond"])


RARE: tuple[Design, ...] = ("alike", "unequal noise", "own mixtures, read", "near twins", "heavy tails")
SMALL = ((3, 2, 240), (3, 3, 240), (6, 3, 240), (6, 6, 240), (21, 7, 240))


def small(design: Design, cell: Cell) -> Null:
    null = Null((design, "{} models, {} of a family".format(*cell)), partial(once, cell=cell, design=design))
    return null.small(40, at_most(0.1, "beyond"), each=own_seed, ci=True)


def over(name: str, sizes: Sequence[int], last: int) -> Null:
    """Return three models."""
    return Null((name,), partial(over_paradigms, cell=(3, 2), sizes=sizes), each=seed_of((3, 2, last)))


TESTED = (
    *(small(*each) for each in product(RARE, SMALL)),
    # 10 of 80 wrong at most; at .05, more in 3 of 1,000; with items as draws .883 of 300
    over("70 of 10 items", [10] * 70, 700).small(80, at_least(0.88, HOLDS)),
    # in 400 runs, 0.96; by the formula for equal sizes, 0.89
    over("uneven", [350] + [10] * 35, 36).small(
        100, at_least(0.92, HOLDS), at_most(0.05, "beyond its relatives'"), ci=True
    ),
)
OF = ("models", "per family")
TABLES = (
    Table("introspection", OF, no_access, TESTED, both_shares),
    Table("introspection_designs", ("design",), other_designs, cell=both_shares),
    Table("introspection_paradigms", ("paradigms", "models"), paradigms, number=short),
    Table("introspection_power", OF, power, cell=found),
    Table("introspection_sentences", ("sentence",), sentences, number=short, transposed=True),
)
