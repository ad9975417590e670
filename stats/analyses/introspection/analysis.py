"""Introspection on one set of items: in, stacked deltas; out, pairs, regressions, contrasts, verdict."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from pairbank.stats.analyses.introspection.beyond_relatives import (
    Beyond,
    OwnAdvantage,
    beyond_relatives,
    own_advantage,
    own_words,
    signed,
    signed_with_interval,
    why_not_told,
)
from pairbank.stats.analyses.introspection.model_pairs import (
    big_models,
    mean_over_prompts,
    of_models,
    pair_correlations,
    pair_table,
    resampled_correlations,
)
from pairbank.stats.analyses.introspection.tables import (
    SIMILARITY_TABLE,
    by_match_type,
    consistency_by_self,
    consistency_by_similarity,
    consistency_by_size,
    correctness_by_size,
)
from pairbank.stats.estimates.bootstrap import percentile_estimate
from pairbank.stats.estimates.estimate import Estimate, undefined
from pairbank.stats.estimates.shares import signs
from pairbank.stats.scored_table.model_features import (
    MATCH_TYPES,
    OTHER,
    SEED_VARIANT,
    SELF,
    UNDECLARED,
    match_type,
)
from pairbank.stats.wording import capitalised, number, p_value, percent

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray
    from pairbank.stats.analyses.introspection.model_pairs import PairCorrelations, ResampledCorrelations
    from pairbank.stats.measures.regression import Coefficient, Regression
    from pairbank.stats.scored_table.model_features import ModelFeatures
    from pairbank.stats.scored_table.scored_table import DeltaStack

ANY_OTHER = "any other model"
_DIGITS = 10
"""Ends of intervals are rounded, so that the order of sums on another machine shows in no digit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfContrast:
    """The advantage of self over one match type, in units of r; positive where a model follows itself better."""

    match_type: str
    """The match type, or `any other model` for all of them together."""
    n_self: int
    """Pairs of a model with itself."""
    n_pairs: int
    """Pairs of the match type."""
    plain: Estimate
    """Mean r of self minus mean r of the match type."""
    at_equal_similarity: Estimate
    """The same at equal r(direct of A, direct of B): minus the match type's coefficient in Table 7."""


def self_contrasts(
    result: PairCorrelations,
    resampled: ResampledCorrelations,
    match_types: Sequence[str],
    *,
    level: float = 0.95,
) -> tuple[SelfContrast, ...]:
    """Return the contrast of self with each match type that occurs, and with all other models together.

    >>> from pairbank.stats.scored_table.scored_table import DeltaStack
    >>> from pairbank.stats.analyses.introspection.model_pairs import resampled_correlations
    >>> from pairbank.stats.analyses.introspection.model_pairs import pair_correlations
    >>> direct = np.array([[1.0, 2.0, 3.0, 5.0], [3.0, 1.0, 2.0, 4.0]])
    >>> stack = DeltaStack(corpus="toy", models=("a", "b"), prompts=("meta",), item_ids=("w", "x", "y", "z"),
    ...                    n_identical=0, direct_nats=direct, meta_nats=direct[np.newaxis])
    >>> resampled = resampled_correlations(stack, rng=np.random.default_rng(7), n_resamples=50)
    >>> found = self_contrasts(pair_correlations(stack), resampled, ["self", "other", "other", "self"])
    >>> round(found[0].plain.value, 4), found[0].at_equal_similarity.reason  # r(a, b) is .5292
    (0.4708, 'similarity does not vary within match types, so that it cannot be told apart from them')
    """
    x, y = result.direct_direct.reshape(1, -1), result.meta_direct.reshape(1, -1)
    mean = mean_over_prompts(resampled.meta_direct_by_prompt)
    draws = resampled.direct_direct.reshape(len(mean), -1), mean.reshape(len(mean), -1)
    kinds = [kind for kind in MATCH_TYPES if kind in set(match_types)]
    codes = np.array([kinds.index(kind) for kind in match_types], dtype=np.int64)
    both = (codes > 0).astype(np.int64) if SELF in kinds else np.ones_like(codes)
    contrasts = []
    for labels, names, picked in (
        (codes, kinds, [kind for kind in kinds if kind != SELF]),
        (both, [SELF, ANY_OTHER], [ANY_OTHER]),
    ):
        value, spread = _contrasts(x, y, labels, len(names)), _contrasts(*draws, labels, len(names))
        used = ~np.isnan(x[0]) & ~np.isnan(y[0])
        for name in picked:
            nth = names.index(name)
            n_self, n_pairs = int((used & (labels == 0)).sum()), int((used & (labels == nth)).sum())
            estimates = {
                kind: _estimate(
                    value[kind][0, nth],
                    spread[kind][:, nth],
                    _why(kind, n_self, n_pairs),
                    n=result.n_items_direct,
                    level=level,
                    method=resampled.method,
                )
                for kind in value
            }
            contrasts.append(SelfContrast(match_type=name, n_self=n_self, n_pairs=n_pairs, **estimates))
    return tuple(contrasts)


def adjusted_differences(x: FloatArray, y: FloatArray, groups: FloatArray) -> FloatArray:
    """Return how much higher the first group's mean is than each group's, at equal x (analysis of covariance).

    The slope of x is common to the groups. Minus the result is the group's coefficient in `lm(y ~ x + group)`.

    >>> groups = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=float)
    >>> adjusted_differences(np.array([[1.0, 2, 3, 4]]), np.array([[1.0, 2, 2, 3]]), groups).round(6).tolist()
    [[0.0, 1.0]]
    """
    present = (~np.isnan(x) & ~np.isnan(y)).astype(np.float64)
    x, y = np.where(present > 0, x, 0.0), np.where(present > 0, y, 0.0)
    n = _grouped(present, groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_x, mean_y = _grouped(x, groups) / n, _grouped(y, groups) / n
    fill_x, fill_y = (np.einsum("rg,ig->ri", np.nan_to_num(mean), groups) for mean in (mean_x, mean_y))
    within_x, within_y = (x - fill_x) * present, (y - fill_y) * present
    variation, shared = (within_x**2).sum(axis=1), (within_x * within_y).sum(axis=1)
    slope = np.full(len(x), np.nan)
    np.divide(shared, variation, out=slope, where=variation > 1e-16 * x.shape[1])
    level = mean_y - slope[:, np.newaxis] * mean_x
    return np.asarray(level[:, :1] - level)


def _contrasts(x: FloatArray, y: FloatArray, codes: np.ndarray, n_groups: int) -> dict[str, FloatArray]:
    """Return both contrasts of group 0 with each group, shape (resamples, groups)."""
    groups = (codes[:, np.newaxis] == np.arange(n_groups)).astype(np.float64)
    present = (~np.isnan(x) & ~np.isnan(y)).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = _grouped(np.where(present > 0, y, 0.0), groups) / _grouped(present, groups)
    return {"plain": mean[:, :1] - mean, "at_equal_similarity": adjusted_differences(x, y, groups)}


def _grouped(values: FloatArray, groups: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ri,ig->rg", values, groups))


def _why(kind: str, n_self: int, n_pairs: int) -> str:
    """Return why a contrast is undefined, if it is."""
    if not n_self or not n_pairs:
        return f"{n_self} pairs of a model with itself and {n_pairs} of this type have a defined r; both need one"
    if kind == "plain":
        return "r is undefined for these items"
    return "similarity does not vary within match types, so that it cannot be told apart from them"


def _estimate(value: float, resampled: FloatArray, reason: str, *, n: int, level: float, method: str) -> Estimate:
    if np.isnan(value):
        return undefined(reason, n=n, method=method, level=level)
    return percentile_estimate(float(value), resampled.round(_DIGITS), n=n, method=method, level=level)


Outcome = Literal["self-advantage", "partial self-advantage", "no self-advantage", "not estimable"]
ALPHA = 0.05
LEAST_MODELS = 3

_PUBLISHED: dict[Outcome, str] = {
    "self-advantage": "at equal similarity, self is ahead of every other type of model.",
    "partial self-advantage": (
        "at equal similarity, self is ahead of some types of other models, but not of all. This tells little: in "
        "simulations without access to oneself it was so in up to 15%."
    ),
    "no self-advantage": (
        "at equal similarity, self is ahead of no other type of model. This tells little: in simulations the test "
        "hardly ever found an advantage that the comparison with relatives found."
    ),
    "not estimable": "it cannot be made with these models.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer to "does self beat similar models?", with its evidence."""

    beyond: Beyond
    """Own probabilities against relatives'."""
    outcome: Outcome
    """Of the published test."""
    text: str
    """Markdown: the answer with its interval and its power, then every coefficient of the published test."""
    reason: str | None = None
    """Why a part is inconclusive; None where both can."""


def introspection_verdict(
    fit: Regression,
    own: OwnAdvantage,
    *,
    n_models: int,
    contrasts: Sequence[SelfContrast] = (),
    alpha: float = ALPHA,
) -> Verdict:
    """Return the verdict of the comparison with relatives and of the regression on similarity and match type.

    Published test: a match type counts as beaten by self if its coefficient is negative at p < alpha (two-sided, not
    corrected for the number of types, as published). All beaten: self-advantage; some: partial; none: no
    self-advantage.
    """
    headline, beside = own_words(own)
    outcome, published, not_made = _published(fit, n_models=n_models, alpha=alpha)
    published = f"Published test (Song et al. 2025, Table 7a): {published}"
    reasons = [part for part in (why_not_told(own), not_made) if part is not None]
    return Verdict(
        beyond=beyond_relatives(own),
        outcome=outcome,
        text=_bulleted(headline, beside, published, _plain(contrasts) if not_made else ""),
        reason="; ".join(dict.fromkeys(reasons)) or None,
    )


def _published(fit: Regression, *, n_models: int, alpha: float) -> tuple[Outcome, str, str | None]:
    """Return outcome and words of the published test, and why it cannot be made."""
    kinds = [c for c in fit.coefficients if c.term in MATCH_TYPES and c.term != SELF]
    if reason := _why_not(fit, kinds, n_models=n_models):
        return "not estimable", f"{_PUBLISHED['not estimable']} {capitalised(reason)}.", reason
    beaten = [c for c in kinds if c.estimate < 0 and c.p_value < alpha]
    ahead = [c for c in kinds if c.estimate > 0 and c.p_value < alpha]
    outcome: Outcome = "no self-advantage"
    if beaten:
        outcome = "self-advantage" if len(beaten) == len(kinds) else "partial self-advantage"
    evidence = f"Coefficients relative to self (negative: self is better; n = {fit.n} pairs of {n_models} models): "
    evidence += f"{_listed(kinds)}. Tests are two-sided at alpha = {number(alpha)}, not corrected for their number."
    if ahead:
        evidence += (
            f" The coefficients of {', '.join(c.term for c in ahead)} are positive: the line of similarity, "
            "extended to self, passes above it, as it often does in simulations where no model is preferred."
        )
    return outcome, " ".join(filter(None, [_PUBLISHED[outcome], evidence, _no_relatives(kinds)])), None


def _why_not(fit: Regression, kinds: Sequence[Coefficient], *, n_models: int) -> str | None:
    if n_models < LEAST_MODELS:
        models = {0: "no model has", 1: "only one model has", 2: "only two models have"}[n_models]
        return (
            f"{models} both direct and prompted scores; with fewer than {LEAST_MODELS} the effect of self cannot be "
            "told apart from that of similarity"
        )
    if not kinds:
        return "no pair of different models has a defined correlation"
    if any(math.isnan(c.p_value) for c in kinds):
        return f"the regression {fit.formula} is not determined ({fit.reason})"
    return None


def _listed(coefficients: Sequence[Coefficient]) -> str:
    return "; ".join(f"{c.term} {signed(c.estimate)} ({p_value(c.p_value)})" for c in coefficients)


def _no_relatives(kinds: Sequence[Coefficient]) -> str:
    """Say so where no two of the models are declared to be similar."""
    if any(c.term not in (OTHER, UNDECLARED) for c in kinds):
        return ""
    return (
        "No two of the models are declared as relatives (seed variants, base and instruct, same family), so that self "
        "is compared with unrelated models only."
    )


def _plain(contrasts: Sequence[SelfContrast]) -> str:
    """Say what can be said without control for similarity."""
    shown = [
        f"{c.match_type} {signed_with_interval(c.plain)}"
        for c in contrasts
        if c.plain.is_defined and c.match_type != ANY_OTHER
    ]
    if not shown:
        return ""
    return (
        "What can be said: mean r of self minus mean r of others, without control for similarity, with a "
        f"{percent(contrasts[0].plain.level)} bootstrap interval over items: {'; '.join(shown)}. A model is most "
        "similar to "
        "itself, so this alone is no evidence of introspection."
    )


def _bulleted(headline: str, *parts: str) -> str:
    return "\n\n".join(filter(None, [headline, "\n".join(f"- {part}" for part in parts if part)]))


ALL_ITEMS = "all"
DISAGREED = "disagreed"


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
    contrasts: tuple[SelfContrast, ...]
    own: OwnAdvantage
    verdict: Verdict

    @property
    def correlation(self) -> float:
        """Pearson's r over pairs of similarity and consistency (the published 0.32), NaN where it is undefined."""
        x, y = self.pairs["direct_direct"], self.pairs["meta_direct"]
        varies = x.notna() & y.notna()
        if varies.sum() < 2 or np.ptp(x[varies]) == 0 or np.ptp(y[varies]) == 0:
            return float("nan")
        return float(np.corrcoef(x[varies], y[varies])[0, 1])


def introspect(
    stack: DeltaStack,
    features: Mapping[str, ModelFeatures | None],
    *,
    items: str = ALL_ITEMS,
    seed: int = 0,
    n_resamples: int = 1000,
) -> Introspection:
    """Return the analysis of a stack of deltas."""
    pairs = pair_table(stack, features)
    name = json.dumps(["introspection", stack.corpus, items]).encode()
    key = int.from_bytes(hashlib.blake2b(name, digest_size=16).digest(), "big")
    result = pair_correlations(stack)
    resampled = resampled_correlations(stack, rng=np.random.default_rng([seed, key]), n_resamples=n_resamples)
    contrasts = self_contrasts(result, resampled, pairs["match_type"].tolist())
    own_values = own_advantage(stack, result, features)
    regressions = dict(_regressions(stack, pairs, features))
    defined = pairs[(pairs["match_type"] == "self") & pairs["meta_direct"].notna()]
    return Introspection(
        corpus=stack.corpus,
        items=items,
        n_items=len(stack.item_ids),
        n_models=len(defined),
        models=stack.models,
        pairs=pairs,
        regressions=regressions,
        contrasts=contrasts,
        own=own_values,
        verdict=introspection_verdict(
            regressions[SIMILARITY_TABLE],
            own_values,
            n_models=len(defined),
            contrasts=contrasts,
        ),
    )


def _regressions(
    stack: DeltaStack, pairs: pd.DataFrame, features: Mapping[str, ModelFeatures | None]
) -> Iterator[tuple[str, Regression]]:
    """Yield the published regressions; those on big models and on seed variants where there are at least two."""
    if stack.has_truth:
        yield "Table 5: correctness by method and size", correctness_by_size(_cells(stack, features))
    yield "Table 6: consistency by size", consistency_by_size(pairs)
    yield SIMILARITY_TABLE, consistency_by_similarity(pairs)
    big = big_models(pairs)
    if len(big) > 1:
        yield "Table 7b: as 7a, models of 70 billion parameters or more", consistency_by_similarity(big)
    for family, siblings in with_seed_variants(stack.models, features).items():
        yield (
            f"Table 8: consistency by self, {family}, a family with seed variants",
            consistency_by_self(of_models(pairs, siblings)),
        )
    yield "section 3.2.2: consistency by match type", by_match_type(pairs)
    yield "section 3.2.2: similarity by match type", by_match_type(pairs, outcome="direct_direct")


def with_seed_variants(models: Sequence[str], features: Mapping[str, ModelFeatures | None]) -> dict[str, list[str]]:
    """Return the models of each family that has a seed variant in it (OLMo in the paper).

    Families are not pooled: a model is more like itself than like another family's, which is no advantage of self.
    """
    known = {name: result for name in models if (result := features.get(name)) is not None}
    families = [
        known[a].family for a, b in combinations(known, 2) if match_type(a, known[a], b, known[b]) == SEED_VARIANT
    ]
    return {
        family: [name for name, results in known.items() if results.family == family]
        for family in dict.fromkeys(families)
    }


def _cells(stack: DeltaStack, features: Mapping[str, ModelFeatures | None]) -> pd.DataFrame:
    """Return counts of correct answers, a direct and a prompted row for each model and prompt (Table 5)."""
    rows: list[dict[str, Any]] = []
    for nth, model in enumerate(stack.models):
        result = features.get(model)
        size = np.nan if result is None else result.size_billions
        for meta_nats in stack.meta_nats[:, nth]:
            both = ~np.isnan(meta_nats) & ~np.isnan(stack.direct_nats[nth])
            if not both.any():
                continue
            for is_meta, delta in ((False, stack.direct_nats[nth][both]), (True, meta_nats[both])):
                counts = {"n_correct": int((signs(delta) > 0).sum()), "n_trials": int(both.sum())}
                rows.append({"is_meta": is_meta, "size_billions": size} | counts)
    return pd.DataFrame(rows, columns=["is_meta", "size_billions", "n_correct", "n_trials"])
