"""Do answers follow a model's own probabilities beyond its relatives'? Error rates are in docs/validation.md."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from pairbank.arrays import FloatArray
from pairbank.stats.analyses.introspection import relatives
from pairbank.stats.analyses.introspection.model_pairs import PairCorrelations, words
from pairbank.stats.estimates.estimate import Estimate, undefined, without_interval
from pairbank.stats.scored_table.model_features import ModelFeatures
from pairbank.stats.scored_table.scored_table import DeltaStack

METHOD, CLUSTERED = "random-effects-t", "random-effects-t, paradigms drawn"
POWER = 0.8
LEAST_FAMILIES = 3
LEAST_ITEMS = 20
_DIGITS = 10
"""Numbers are rounded, so that the order of sums on another machine shows in no digit."""

Beyond = Literal["beyond relatives", "beyond declared relatives only", "not shown", "relatives' more", "inconclusive"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAdvantage:
    """What a model's own probabilities have over its relatives', and what only looks like it."""

    over_relatives: Estimate
    """Mean advantage over the closest declared relatives, in units of r."""
    over_most_similar: Estimate
    """Mean advantage of the same models over the model most similar to each; alone it shows nothing."""
    partial: Estimate
    """Mean r of answers with own direct differences given those of all other models; no test."""
    smallest: float
    """The minimum detectable advantage over relatives, with a power of 0.80; NaN without an interval."""
    models: relatives.ModelAdvantages
    n_models: int
    """Models with an advantage over relatives."""
    n_families: int
    n_most_similar: int
    """Models with an advantage over the most similar one."""
    n_paradigms: int = 0
    """Paradigms that intervals take for the draws; 0 where items are."""

    @property
    def r(self) -> float:
        """Mean r of answers with own direct differences."""
        return float(np.nanmean(self.models.own)) if self.n_models else math.nan

    @property
    def relatives_r(self) -> float:
        """Mean r of answers with the relatives' direct differences."""
        return float(np.nanmean(self.models.relatives)) if self.n_models else math.nan

    @property
    def inconclusive(self) -> str | None:
        """Why the data cannot answer, or None: no estimate, or no effect that they could have shown.

        An advantage is a part of r with own probabilities. Where even that r is below the minimum detectable effect,
        its absence is no evidence.
        """
        over = self.over_relatives
        if math.isnan(over.low):
            return over.reason
        is_small = over.low <= 0 <= over.high and self.smallest > self.r
        return words().render("undetectable", self) if is_small else None

    @property
    def beyond(self) -> Beyond:
        """The answer: shown only where both intervals lie above 0, over declared relatives and the most similar."""
        if self.inconclusive is not None:
            return "inconclusive"
        if self.over_relatives.low > 0:
            return "beyond relatives" if self.over_most_similar.low > 0 else "beyond declared relatives only"
        return "relatives' more" if self.over_relatives.high < 0 else "not shown"


def own_advantage(
    stack: DeltaStack, pairs: PairCorrelations, features: Mapping[str, ModelFeatures | None]
) -> OwnAdvantage:
    """Return the advantage of own probabilities over relatives', over the most similar model's, and partial r."""
    read = np.flatnonzero(~np.isnan(np.diag(pairs.direct_direct))).tolist()
    n_items = int(pairs.n_items_by_prompt.max(initial=0))
    declared = relatives.closest_relatives(stack.models, features, read=read)
    models = relatives.model_advantages(stack, declared)
    present = np.flatnonzero(~np.isnan(models.value)).tolist()
    families = [str(known.family) if (known := features.get(name)) else name for name in stack.models]
    n_paradigms = 0 if stack.clusters is None else int(stack.clusters.max()) + 1
    reason = _why_not(stack.models, features, declared)
    over_relatives, smallest = over_models(models, families, n_items=n_items, reason=reason)
    asked = present or np.flatnonzero(~np.isnan(np.diag(pairs.meta_direct))).tolist()
    similar = relatives.model_advantages(stack, relatives.most_similar(pairs.direct_direct, read=read, asked=asked))
    reason = "needs a third model, and direct differences of models that are alike"
    over_similar, _ = over_models(similar, families, n_items=n_items, reason=reason)
    if over_similar.is_defined and not present:
        reason = words().render("no_test")
        over_similar = without_interval(over_similar.value, reason, n=n_items, method=METHOD)
    return OwnAdvantage(
        over_relatives=over_relatives,
        over_most_similar=over_similar,
        partial=relatives.mean_partial(pairs, n_items=n_items),
        smallest=smallest,
        models=models,
        n_models=len(present),
        n_families=len({families[model] for model in present}),
        n_most_similar=int((~np.isnan(similar.value)).sum()),
        n_paradigms=n_paradigms,
    )


def over_models(
    models: relatives.ModelAdvantages, families: list[str], *, n_items: int, reason: str
) -> tuple[Estimate, float]:
    """Return the mean over families (over models, where there are fewer than three) and the smallest effect."""
    present = np.flatnonzero(~np.isnan(models.value))
    if not len(present):
        return undefined(reason, n=n_items, method=METHOD), math.nan
    by_family = ([model for model in present if families[model] == family] for family in dict.fromkeys(families))
    units = [members for members in by_family if members]
    if len(units) < LEAST_FAMILIES:
        units = [[model] for model in present]
    values = np.array([models.value[unit].mean() for unit in units])
    influence = np.array([models.influence[unit].mean(axis=0) for unit in units])
    value = round(float(values.mean()), _DIGITS)
    error = np.sqrt((influence.mean(axis=0) ** 2).sum() + _excess_variance(values, influence) / len(units))
    why = f"{n_items} items, and an interval of this kind needs {LEAST_ITEMS}" if n_items < LEAST_ITEMS else ""
    if why or not error > 1e-9:
        why = why or "the items leave no spread"
        return without_interval(value, why, n=n_items, method=METHOD), math.nan
    freedom = models.freedom  # from a pair of relatives, no spread between models is known
    if len(units) >= LEAST_FAMILIES:
        freedom = min(len(units) - 1, freedom)
    half, reach = (float(stdtrit(freedom, share)) * error for share in (0.975, POWER))
    low, high, smallest = (round(end, _DIGITS) for end in (value - half, value + half, half + reach))
    method = METHOD if math.isinf(models.freedom) else CLUSTERED
    return Estimate(value=value, low=low, high=high, n=n_items, method=method), smallest


def _excess_variance(values: FloatArray, influence: FloatArray) -> float:
    """Return by how much units differ beyond their items (DerSimonian & Laird 1986), at least 0."""
    n_units = len(values)
    if n_units < 2:
        return 0.0
    apart, together = (influence**2).sum(), (influence.sum(axis=0) ** 2).sum()
    expected = (apart - together / n_units) / (n_units - 1)
    return float(max(0.0, values.var(ddof=1) - expected))


def _why_not(
    models: tuple[str, ...], features: Mapping[str, ModelFeatures | None], declared: tuple[relatives.Comparison, ...]
) -> str:
    if declared:
        return words().render("no_reliable_relative", relatives.LEAST_YARDSTICK)
    if len(models) < 2:
        return "one model alone has no relatives"
    families = [known.family for name in models if (known := features.get(name)) is not None]
    if len(set(families)) == len(families):
        return "no two of the models are declared relatives"
    return words().render("no_third_model")
