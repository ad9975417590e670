"""Pairs of ten languages that are equally hard: how often differences between them, or of English, are claimed."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from nulls import Null, Outcome, Table, at_least, at_most
from pairbank.arrays import FloatArray
from pairbank.stats.analyses.languages.statistics import (
    english_minus_others,
    languages_differ,
    random_minus_subtle,
)

UNEVEN = (30, 15, 10, 7, 6, 5, 4, 4, 3, 3, *[2] * 5, *[1] * 5)


def outcomes(
    rng: np.random.Generator,
    *,
    gain: float,
    shared: float = 0.7,
    spread: float = 0.0,
    own_properties: bool = False,
    sizes: Sequence[int] = (3,) * 20,
    lead: float = 0.0,
) -> pd.DataFrame:
    """Return pairs of ten languages, which share most of their outcomes, and of properties with levels of their own.

    `gain` is how much easier random concepts are, `spread` the standard deviation of languages, `lead` how much easier
    English is, all in logits. With `own_properties` languages share nothing; English has properties of its own in any
    case. `sizes` has a property's pairs of each kind.
    """
    kinds = np.repeat(np.array(["random", "taxonomic", "overlap", "co-occurrence"], dtype=object), sum(sizes))
    code = np.repeat(np.arange(4), sum(sizes))
    cluster = np.tile(np.repeat(np.arange(len(sizes)), sizes), 4)

    def levels() -> tuple[FloatArray, FloatArray]:
        level = rng.normal(scale=1.0, size=len(sizes))[cluster] + 0.4 + gain * (kinds == "random")
        own = rng.normal(scale=0.7, size=(len(sizes), 4))[cluster, code]  # a property's level of each kind
        return level + own, rng.random(own.shape)

    logits, common = levels()
    languages = ["l1", "l2", "l3", "l4", "l5", "l6", "l7", "l8", "l9", "en"]
    parts = []
    for language, shift in zip(languages, rng.normal(scale=spread, size=10), strict=True):
        if own_properties or language == "en":
            logits, common = levels()
        p = 1 / (1 + np.exp(-(logits + shift + lead * (language == "en"))))
        parts.append(np.where(rng.random(p.shape) < shared, common, rng.random(p.shape)) < p)
    return pd.DataFrame(
        {
            "credit": np.concatenate(parts).astype(float),
            "language": np.repeat(np.array(languages, dtype=object), len(kinds)),
            "negative_type": np.tile(kinds, 10),
            "cluster": np.tile(cluster.astype(object), 10),
        }
    )


def differ(rng: np.random.Generator, **how: Any) -> Outcome:  # noqa: ANN401 - of `outcomes`
    """Return whether languages are said to differ; beside it, by a test that takes pairs as independent."""
    pairs = outcomes(rng, gain=0.6, **how)
    right = pairs["credit"].to_numpy().reshape(10, -1).sum(axis=1)
    counts = np.stack([right, len(pairs) / 10 - right])
    over_pairs = stats.chi2_contingency(counts).pvalue < 0.05
    return {"p < .05": languages_differ(pairs)["p"] < 0.05, "chi-squared test over pairs": over_pairs}


def kinds_differ(rng: np.random.Generator, *, gain: float) -> Outcome:
    """Return whether random concepts are said to be easier; beside it, by a test over languages as if independent."""
    pairs = outcomes(rng, gain=gain)
    row = random_minus_subtle(pairs)
    pairs = pairs.assign(random=pairs["negative_type"] == "random")
    wide = pairs.groupby(["language", "random"])["credit"].mean().unstack()
    over_languages = stats.ttest_1samp((wide[True] - wide[False]).to_numpy(), 0).pvalue < 0.05
    return {"interval excludes 0": not row["low"] <= 0 <= row["high"], "t test over languages": over_languages}


def english_differs(rng: np.random.Generator, **how: Any) -> Outcome:  # noqa: ANN401 - of `outcomes`
    row = english_minus_others(outcomes(rng, gain=0.6, **how))
    return {"interval excludes 0": not row["low"] <= 0 <= row["high"]}


DATA: dict[str, dict[str, Any]] = {
    "have properties of their own": {"own_properties": True},
    "share properties": {"shared": 0.0},
    "share properties and 70% of outcomes": {},
}
OWN, _, BOTH = DATA
SIZES = {"equal": (3,) * 20, "uneven": UNEVEN}


def differences(data: str, spread: float) -> Null:
    return Null((data, str(spread)), partial(differ, spread=spread, **DATA[data]))


def contrasts(gain: float) -> Null:
    return Null((str(gain),), partial(kinds_differ, gain=gain))


def english(lead: float, sizes: str, data: str) -> Null:
    return Null((str(lead), sizes, data), partial(english_differs, lead=lead, sizes=SIZES[sizes], **DATA[data]))


def of_languages() -> Iterator[Null]:
    yield from (differences(data, 0.0) for data in DATA)
    yield from (differences(BOTH, spread) for spread in (0.4, 0.8))


def of_english() -> Iterator[Null]:
    return (english(*each) for each in product((0.0, 0.4, 0.8), SIZES, (BOTH, OWN)))


def rare(runs: int) -> float:
    """One in twenty, and three standard errors."""
    return 0.05 + 3 * float(np.sqrt(0.05 * 0.95 / runs))


EXCLUDES, RARE = "interval excludes 0", at_most(rare(200), "p < .05")
DIFFER = (
    differences(BOTH, 0.0).small(200, RARE, seed=12, ci=True),
    differences(OWN, 0.0).small(200, RARE, at_least(0.501, "chi-squared test over pairs"), seed=12, ci=True),
    differences(BOTH, 0.8).small(60, at_least(0.601, "p < .05"), seed=12, ci=True),
)
WRONG = (at_most(rare(200), EXCLUDES), at_least(0.301, "t test over languages"))
KINDS = (
    contrasts(0.0).small(200, *WRONG, seed=11, ci=True),
    contrasts(1.2).small(60, at_least(0.601, EXCLUDES), seed=11, ci=True),
)
ENGLISH = tuple(english(0.0, x, BOTH).small(150, at_most(rare(150), EXCLUDES), seed=13, ci=True) for x in SIZES)
TABLES = (
    Table("languages", ("languages", "standard deviation of languages, logits"), of_languages, DIFFER),
    Table("kinds_of_concepts", ("random − subtle, logits",), lambda: map(contrasts, (0.0, 0.6, 1.2)), KINDS),
    Table("english", ("English − others, logits", "properties", "languages"), of_english, ENGLISH),
)
