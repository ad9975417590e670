"""Introspection on one set of items: in, stacked deltas; out, pairs, regressions, contrasts and the published test."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd

from pairbank.arrays import FloatArray
from pairbank.stats.analyses.form import Rows, records, where
from pairbank.stats.analyses.introspection import model_pairs, tables
from pairbank.stats.analyses.introspection.beyond_relatives import OwnAdvantage, own_advantage
from pairbank.stats.estimates.bootstrap import percentile_estimate
from pairbank.stats.estimates.estimate import mean_of_known, undefined
from pairbank.stats.estimates.shares import signs
from pairbank.stats.measures.regression import Coefficient, Regression
from pairbank.stats.scored_table.model_features import (
    MATCH_TYPES,
    OTHER,
    SEED_VARIANT,
    SELF,
    UNDECLARED,
    ModelFeatures,
    match_type,
)
from pairbank.stats.scored_table.scored_table import DeltaStack

ANY_OTHER = "any other model"
_DIGITS = 10
"""Ends of intervals are rounded, so that the order of sums on another machine shows in no digit."""

ALPHA = 0.05
LEAST_MODELS = 3
ALL_ITEMS = "all"
DISAGREED = "disagreed"
CONTRASTS = (
    "match_type", "control", "n_self", "n_pairs", "value", "low", "high", "n_items", "ci_method", "reason",
)  # fmt: skip


def self_contrasts(
    pairs: model_pairs.PairCorrelations, resampled: model_pairs.ResampledCorrelations, match_types: Sequence[str]
) -> pd.DataFrame:
    """Return mean r of self minus that of each match type that occurs, and of all other models together.

    Two rows per match type: without control, and at equal similarity, which is minus its coefficient in Table 7.
    """
    x, y = pairs.direct_direct.reshape(1, -1), pairs.meta_direct.reshape(1, -1)
    mean = mean_of_known(resampled.meta_direct_by_prompt, axis=0)
    draws = resampled.direct_direct.reshape(len(mean), -1), mean.reshape(len(mean), -1)
    kinds = [kind for kind in MATCH_TYPES if kind in set(match_types)]
    codes = np.array([kinds.index(kind) for kind in match_types], dtype=np.int64)
    both = (codes > 0).astype(np.int64) if SELF in kinds else np.ones_like(codes)
    rows = []
    for labels, names in ((codes, kinds), (both, [SELF, ANY_OTHER])):
        groups = (labels[:, np.newaxis] == np.arange(len(names))).astype(np.float64)
        values, spreads = differences_from_first(x, y, groups), differences_from_first(*draws, groups)
        n_pairs = groups[~np.isnan(x[0] + y[0])].sum(axis=0).astype(int).tolist()
        for nth, name in enumerate(names):
            if name == SELF:
                continue
            few = (
                "" if n_pairs[0] and n_pairs[nth] else model_pairs.words().render("few_pairs", n_pairs[0], n_pairs[nth])
            )
            confounded = model_pairs.words().render("similarity_does_not_vary")
            controls = ("none", "r is undefined for these items"), ("similarity", confounded)
            for (control, reason), value, spread in zip(controls, values, spreads, strict=True):
                facts: dict[str, Any] = {"n": pairs.n_items_direct, "method": resampled.method, "level": 0.95}
                drawn = spread[:, nth].round(_DIGITS)
                estimate = (
                    undefined(few or reason, **facts)
                    if math.isnan(value[0, nth])
                    else percentile_estimate(float(value[0, nth]), drawn, **facts)
                )
                place = {"match_type": name, "control": control, "n_self": n_pairs[0], "n_pairs": n_pairs[nth]}
                rows.append(place | tables.cells_of(estimate))
    return pd.DataFrame(rows, columns=[*CONTRASTS]).astype({"reason": "string"})


def differences_from_first(x: FloatArray, y: FloatArray, groups: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how much higher the first group's mean is than each group's, plain and at equal x (ANCOVA).

    `groups` has 1 where a value belongs to a group, else 0, shape (values, groups). The slope of x is common to the
    groups. Minus the second result is the group's coefficient in `lm(y ~ x + group)`.
    """
    present = (~np.isnan(x) & ~np.isnan(y)).astype(np.float64)
    x, y = np.where(present > 0, x, 0.0), np.where(present > 0, y, 0.0)
    n, sum_x, sum_y = (np.einsum("ri,ig->rg", values, groups) for values in (present, x, y))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_x, mean_y = sum_x / n, sum_y / n
    fill_x, fill_y = (np.einsum("rg,ig->ri", np.nan_to_num(mean), groups) for mean in (mean_x, mean_y))
    within_x, within_y = (x - fill_x) * present, (y - fill_y) * present
    variation, shared = (within_x**2).sum(axis=1), (within_x * within_y).sum(axis=1)
    slope = np.full(len(x), np.nan)
    np.divide(shared, variation, out=slope, where=variation > 1e-16 * x.shape[1])
    level = mean_y - slope[:, np.newaxis] * mean_x
    return mean_y[:, :1] - mean_y, level[:, :1] - level


Outcome = Literal["self-advantage", "partial self-advantage", "no self-advantage", "not estimable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTest:
    """Self against each match type at equal similarity (Song et al. 2025, Table 7a)."""

    coefficients: tuple[Coefficient, ...]
    """Of the match types, relative to self."""
    n_pairs: int
    n_models: int
    reason: str | None

    @property
    def ahead(self) -> list[str]:
        return [c.term for c in self.coefficients if c.estimate > 0 and c.p_value < ALPHA]

    @property
    def outcome(self) -> Outcome:
        """Whether self is ahead of all match types, of some or of none."""
        if self.reason:
            return "not estimable"
        beaten = [c for c in self.coefficients if c.estimate < 0 and c.p_value < ALPHA]
        if len(beaten) == len(self.coefficients):
            return "self-advantage"
        return "partial self-advantage" if beaten else "no self-advantage"

    @property
    def has_relatives(self) -> bool:
        """Whether any two of the models are declared to be similar."""
        return any(coefficient.term not in (OTHER, UNDECLARED) for coefficient in self.coefficients)


def published_test(fit: Regression, *, n_models: int) -> PublishedTest:
    """Return the test of a regression on similarity and match type.

    A match type counts as beaten by self if its coefficient is negative at p < ALPHA (two-sided, not corrected for the
    number of types, as published).
    """
    kinds = tuple(c for c in fit.coefficients if c.term in MATCH_TYPES and c.term != SELF)
    reason = None
    if n_models < LEAST_MODELS:
        reason = model_pairs.words().render("few_models", n_models, LEAST_MODELS)
    elif not kinds:
        reason = "no pair of different models has a defined correlation"
    elif any(math.isnan(coefficient.p_value) for coefficient in kinds):
        reason = f"the regression {fit.formula} is not determined ({fit.reason})"
    return PublishedTest(coefficients=kinds, n_pairs=fit.n, n_models=n_models, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Introspection:
    """The analysis of one corpus on one set of its items."""

    corpus: str
    items: str
    """`all`, or `disagreed` for those that pass the filter."""
    n_items: int
    n_models: int
    """Models that are both read and asked."""
    models: tuple[str, ...]
    pairs: pd.DataFrame
    """What `pair_table` returned."""
    regressions: Mapping[str, Regression]
    """By what they are: `Table 7a: consistency by similarity and match type` …"""
    contrasts: pd.DataFrame
    """What `self_contrasts` returned."""
    own: OwnAdvantage
    published: PublishedTest

    @property
    def self_pairs(self) -> pd.DataFrame:
        """The pairs of a model with itself that have an r."""
        return self.pairs[(self.pairs["match_type"] == SELF) & self.pairs["meta_direct"].notna()]

    @property
    def plain_contrasts(self) -> Rows:
        """The contrasts of self with each match type that have a value without control for similarity."""
        plain = where(self.contrasts, control="none")
        return records(plain[plain["value"].notna() & (plain["match_type"] != ANY_OTHER)])

    @property
    def correlation(self) -> float:
        """Pearson's r over pairs of similarity and consistency (the published 0.32), NaN where it is undefined."""
        x, y = self.pairs["direct_direct"], self.pairs["meta_direct"]
        known = x.notna() & y.notna()
        if known.sum() < 2 or np.ptp(x[known]) == 0 or np.ptp(y[known]) == 0:
            return float("nan")
        return float(np.corrcoef(x[known], y[known])[0, 1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """One corpus: its deltas, its models and what came of them."""

    stack: DeltaStack
    declared: Mapping[str, ModelFeatures | None]
    """By model; a published table has names of its own."""
    filtered: pd.DataFrame | None
    """What `disagreement` returned."""
    results: list[Introspection]
    control: pd.DataFrame
    """The input-only control; empty where there is none."""
    no_control: str
    """Why there is none."""

    @property
    def name(self) -> str:
        return self.stack.corpus

    @property
    def strangers(self) -> list[str]:
        return [model for model in self.stack.models if self.declared[model] is None]


def introspect(
    stack: DeltaStack,
    features: Mapping[str, ModelFeatures | None],
    *,
    items: str = ALL_ITEMS,
    seed: int = 0,
    n_resamples: int = 1000,
) -> Introspection:
    pairs = model_pairs.pair_table(stack, features)
    name = json.dumps(["introspection", stack.corpus, items]).encode()
    key = int.from_bytes(hashlib.blake2b(name, digest_size=16).digest(), "big")
    correlations = model_pairs.pair_correlations(stack)
    resampled = model_pairs.resampled_correlations(
        stack, rng=np.random.default_rng([seed, key]), n_resamples=n_resamples
    )
    regressions = dict(_regressions(stack, pairs, features))
    n_models = int(((pairs["match_type"] == SELF) & pairs["meta_direct"].notna()).sum())
    return Introspection(
        corpus=stack.corpus,
        items=items,
        n_items=len(stack.item_ids),
        n_models=n_models,
        models=stack.models,
        pairs=pairs,
        regressions=regressions,
        contrasts=self_contrasts(correlations, resampled, pairs["match_type"].tolist()),
        own=own_advantage(stack, correlations, features),
        published=published_test(regressions[tables.SIMILARITY_TABLE], n_models=n_models),
    )


def _regressions(
    stack: DeltaStack, pairs: pd.DataFrame, features: Mapping[str, ModelFeatures | None]
) -> Iterator[tuple[str, Regression]]:
    """Yield the published regressions; those on big models and on seed variants where there are at least two."""
    if stack.has_truth:
        yield "Table 5: correctness by method and size", tables.correctness_by_size(_cells(stack, features))
    yield "Table 6: consistency by size", tables.consistency_by_size(pairs)
    yield tables.SIMILARITY_TABLE, tables.consistency_by_similarity(pairs)
    big = model_pairs.big_models(pairs)
    if len(big) > 1:
        yield "Table 7b: as 7a, models of 70 billion parameters or more", tables.consistency_by_similarity(big)
    for family, siblings in with_seed_variants(stack.models, features).items():
        fit = tables.consistency_by_self(model_pairs.of_models(pairs, siblings))
        yield f"Table 8: consistency by self, {family}, a family with seed variants", fit
    yield "section 3.2.2: consistency by match type", tables.by_match_type(pairs)
    yield "section 3.2.2: similarity by match type", tables.by_match_type(pairs, outcome="direct_direct")


def with_seed_variants(models: Sequence[str], features: Mapping[str, ModelFeatures | None]) -> dict[str, list[str]]:
    """Return the models of each family that has a seed variant in it (OLMo in the paper).

    Families are not pooled: a model is more like itself than like another family's, which is no advantage of self.
    """
    declared = {model: known for model in models if (known := features.get(model)) is not None}
    pairs = combinations(declared.items(), 2)
    families = dict.fromkeys(a.family for (x, a), (y, b) in pairs if match_type(x, a, y, b) == SEED_VARIANT)
    return {family: [model for model, known in declared.items() if known.family == family] for family in families}


def _cells(stack: DeltaStack, features: Mapping[str, ModelFeatures | None]) -> pd.DataFrame:
    """Return counts of correct answers, a direct and a prompted row for each model and prompt (Table 5)."""
    rows = []
    for nth, model in enumerate(stack.models):
        size = known.size_billions if (known := features.get(model)) else np.nan
        for meta_nats in stack.meta_nats[:, nth]:
            both = ~np.isnan(meta_nats + stack.direct_nats[nth])
            for is_meta, delta in ((False, stack.direct_nats[nth]), (True, meta_nats)) if both.any() else ():
                rows.append((is_meta, size, int((signs(delta[both]) > 0).sum()), int(both.sum())))
    return pd.DataFrame(rows, columns=["is_meta", "size_billions", "n_correct", "n_trials"])
