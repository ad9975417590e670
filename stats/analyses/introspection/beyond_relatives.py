"""Do answers follow a model's own probabilities beyond its relatives'? Intervals over models and items, and the words.

In: numbers per model (`relatives`). Every sentence follows from numbers alone; `docs/validation.md` lists with each how
often it is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import ndtri, stdtrit

from pairbank.stats.analyses.introspection.relatives import (
    LEAST_YARDSTICK,
    Comparison,
    ModelAdvantages,
    closest_relatives,
    mean_partial,
    model_advantages,
    most_similar,
)
from pairbank.stats.estimates.estimate import Estimate, undefined, without_interval
from pairbank.stats.wording import capitalised, number

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray
    from pairbank.stats.analyses.introspection.model_pairs import PairCorrelations
    from pairbank.stats.scored_table.model_features import ModelFeatures
    from pairbank.stats.scored_table.scored_table import DeltaStack


def signed_with_interval(estimate: Estimate) -> str:
    """Return an estimate with its interval, or with why there is none.

    >>> from pairbank.stats.estimates.estimate import Estimate
    >>> signed_with_interval(Estimate(value=0.0451, low=-0.01, high=0.1, n=40, method="m"))
    '+0.045 [-0.010, +0.100]'
    """
    if math.isnan(estimate.low):
        return f"{signed(estimate.value)} [no interval: {estimate.reason}]"
    return f"{signed(estimate.value)} [{signed(estimate.low)}, {signed(estimate.high)}]"


def signed(value: float) -> str:
    """Return a number with its sign and three digits.

    >>> signed(-0.25), signed(1.5)
    ('-0.250', '+1.500')
    """
    return number(value, digits=3, sign=True)


METHOD, CLUSTERED = "random-effects-t", "random-effects-t, paradigms drawn"
POWER = 0.8
LEAST_FAMILIES = 3
LEAST_ITEMS = 20
_NO_TEST = "no test without declared relatives: what a family shares would look like a model's own"
_DIGITS = 10
"""Numbers are rounded, so that the order of sums on another machine shows in no digit."""


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
    models: ModelAdvantages
    """Over relatives, by model."""
    n_models: int
    """Models with an advantage over relatives."""
    n_families: int
    """Of these."""
    n_most_similar: int
    """Models with an advantage over the most similar one."""
    n_paradigms: int = 0
    """Paradigms that intervals take for the draws; 0 where items are."""


def own_advantage(
    stack: DeltaStack, result: PairCorrelations, features: Mapping[str, ModelFeatures | None], *, level: float = 0.95
) -> OwnAdvantage:
    """Return the advantage of own probabilities over declared relatives', over the most similar model's, and partial r.

    >>> from pairbank.stats.analyses.introspection.model_pairs import pair_correlations
    >>> from pairbank.stats.scored_table.scored_table import DeltaStack
    >>> direct = np.random.default_rng(7).normal(size=(2, 50))
    >>> stack = DeltaStack(corpus="toy", models=("a", "b"), prompts=("meta",), item_ids=tuple(map(str, range(50))),
    ...                    n_identical=0, direct_nats=direct, meta_nats=direct[np.newaxis])
    >>> own_advantage(stack, pair_correlations(stack), {}).over_relatives.reason
    'no two of the models are declared relatives'
    """
    read = np.flatnonzero(~np.isnan(np.diag(result.direct_direct))).tolist()
    n_items = int(result.n_items_by_prompt.max(initial=0))
    declared = closest_relatives(stack.models, features, read=read)
    models = model_advantages(stack, declared)
    present = np.flatnonzero(~np.isnan(models.value))
    families = [str(known.family) if (known := features.get(name)) else name for name in stack.models]
    reason = _why_not(stack.models, features, declared)
    n_drawn = 0 if stack.clusters is None else int(stack.clusters.max()) + 1
    shared: dict[str, Any] = {"n_items": n_items, "n_paradigms": n_drawn, "level": level}
    over_relatives, smallest = over_models(models, families, reason=reason, **shared)
    requested = present.tolist() or np.flatnonzero(~np.isnan(np.diag(result.meta_direct))).tolist()
    similar = model_advantages(stack, most_similar(result.direct_direct, read=read, asked=requested))
    reason = "needs a third model, and direct differences of models that are alike"
    over_similar, _ = over_models(similar, families, reason=reason, **shared)
    if over_similar.is_defined and not len(present):
        over_similar = without_interval(over_similar.value, _NO_TEST, n=n_items, method=METHOD, level=level)
    return OwnAdvantage(
        over_relatives=over_relatives,
        over_most_similar=over_similar,
        partial=mean_partial(result, n_items=n_items),
        smallest=smallest,
        models=models,
        n_models=len(present),
        n_families=len({families[nth] for nth in present}),
        n_most_similar=int((~np.isnan(similar.value)).sum()),
        n_paradigms=n_drawn,
    )


def over_models(
    result: ModelAdvantages, families: list[str], *, n_items: int, level: float, reason: str, n_paradigms: int = 0
) -> tuple[Estimate, float]:
    """Return the mean over families (over models, where there are fewer than three) and the smallest effect."""
    present = np.flatnonzero(~np.isnan(result.value))
    if not len(present):
        return undefined(reason, n=n_items, method=METHOD, level=level), float("nan")
    groups = {family: [nth for nth in present if families[nth] == family] for family in families}
    units = [members for members in groups.values() if members]
    if len(units) < LEAST_FAMILIES:
        units = [[nth] for nth in present]
    values = np.array([result.value[members].mean() for members in units])
    value = round(float(values.mean()), _DIGITS)
    if n_items < LEAST_ITEMS:
        why = f"{n_items} items, and an interval of this kind needs {LEAST_ITEMS}"
        return without_interval(value, why, n=n_items, method=METHOD, level=level), float("nan")
    influence = np.array([result.influence[members].mean(axis=0) for members in units])
    error = np.sqrt((influence.mean(axis=0) ** 2).sum() + _excess_variance(values, influence) / len(units))
    if not error > 1e-9:
        return without_interval(value, "the items leave no spread", n=n_items, method=METHOD, level=level), float("nan")
    half = _quantile((1 + level) / 2, len(units), n_paradigms) * error
    low, high = round(value - half, _DIGITS), round(value + half, _DIGITS)
    smallest = round(half + _quantile(POWER, len(units), n_paradigms) * error, _DIGITS)
    method = CLUSTERED if n_paradigms else METHOD
    return Estimate(value=value, low=low, high=high, n=n_items, method=method, level=level), smallest


def _quantile(share: float, n_units: int, n_paradigms: int) -> float:
    """Return Student's quantile; for a pair of relatives, from which no spread can be told, that of the draws."""
    if n_units < LEAST_FAMILIES:
        return float(stdtrit(n_paradigms - 1, share) if n_paradigms else ndtri(share))
    return float(stdtrit(min(n_units, n_paradigms or n_units) - 1, share))


def _excess_variance(values: FloatArray, influence: FloatArray) -> float:
    """Return by how much units differ beyond their items (DerSimonian & Laird 1986), at least 0."""
    n_units = len(values)
    if n_units < 2:
        return 0.0
    own_values = (influence**2).sum()
    together = (influence.sum(axis=0) ** 2).sum()
    expected = (own_values - together / n_units) / (n_units - 1)
    return float(max(0.0, values.var(ddof=1) - expected))


def _why_not(
    models: tuple[str, ...], features: Mapping[str, ModelFeatures | None], declared: tuple[Comparison, ...]
) -> str:
    if declared:
        return (
            "no model with a declared relative has answers that vary, and direct differences that correlate at least "
            f"{LEAST_YARDSTICK:g} with third models'"
        )
    if len(models) < 2:
        return "one model alone has no relatives"
    families = [known.family for name in models if (known := features.get(name)) is not None]
    if len(set(families)) == len(families):
        return "no two of the models are declared relatives"
    return "a third model is needed, to tell how noisy the probabilities of two relatives are"


Beyond = Literal["beyond relatives", "beyond declared relatives only", "not shown", "relatives' more", "inconclusive"]


def beyond_relatives(own: OwnAdvantage) -> Beyond:
    """Return the answer: shown only where both intervals lie above 0, over declared relatives and the most similar."""
    over, similar = own.over_relatives, own.over_most_similar
    if why_not_told(own) is not None:
        return "inconclusive"
    if over.low > 0:
        return "beyond relatives" if similar.low > 0 else "beyond declared relatives only"
    return "relatives' more" if over.high < 0 else "not shown"


def why_not_told(own: OwnAdvantage) -> str | None:
    """Return why the data cannot answer, or None: no estimate, or no effect that they could have shown.

    An advantage is a part of r with own probabilities. Where even that r is below the minimum detectable effect, its
    absence is no evidence.
    """
    if math.isnan(own.over_relatives.low):
        return own.over_relatives.reason
    r = _own_r(own)
    if own.over_relatives.low <= 0 <= own.over_relatives.high and own.smallest > r:
        return (
            f"only an advantage of {number(own.smallest, digits=3)} or more is detectable (80% power), but r with own "
            f"probabilities, of which it is a part, is {signed(r)} on average"
        )
    return None


def own_words(own: OwnAdvantage) -> tuple[str, str]:
    """Return the headline and a bullet with what stands beside it ("" where there is nothing)."""
    return _headline(own), _beside(own)


def _headline(own: OwnAdvantage) -> str:
    over = own.over_relatives
    beyond = beyond_relatives(own)
    if beyond == "inconclusive":
        why = str(why_not_told(own))
        return (
            "**Inconclusive whether answers follow a model's own probabilities beyond its relatives'**. "
            f"{capitalised(why)}."
        )
    families = "1 family" if own.n_families == 1 else f"{own.n_families} families"
    models = "1 model" if own.n_models == 1 else f"{own.n_models} models"
    rests = f"{signed_with_interval(over)} in r ({models} of {families}, n = {over.n:,} items{_drawn(own)})"
    similar = f"the model whose probabilities are most similar ({signed_with_interval(own.over_most_similar)})"
    power = f"The minimum detectable effect (80% power) is {number(own.smallest, digits=3)}."
    return {
        "beyond relatives": (
            "**Answers follow the model's own probabilities beyond its relatives'**: compared with its closest "
            f"declared relatives by {rests}, and compared with {similar}."
        ),
        "beyond declared relatives only": (
            "**Mixed: own probabilities are ahead of the declared relatives' only**: answers follow them more, by "
            f"{rests}, but not more than those of {similar}, which may be closer than what is declared."
        ),
        "not shown": (
            "**No advantage of a model's own probabilities over its relatives' is shown**: compared with its closest "
            f"declared relatives {rests}. {power}"
        ),
        "relatives' more": (
            "**Answers follow the relatives' probabilities more than the model's own**: own compared with the closest "
            f"declared relatives' {rests}."
        ),
    }[beyond]


def _drawn(own: OwnAdvantage) -> str:
    return f" of {own.n_paradigms:,} paradigms, which are the draws" if own.n_paradigms else ""


def _beside(own: OwnAdvantage) -> str:
    parts = []
    if own.n_models:
        present = ~np.isnan(own.models.value)
        relatives = float(own.models.relatives[present].mean())
        parts.append(
            f"Mean r of answers with the model's own direct differences {signed(_own_r(own))}, with its closest "
            f"declared relatives' {signed(relatives)}, before both are put at the same reliability."
        )
    if own.partial.is_defined:
        parts.append(
            f"Partial r with own direct differences, given all other models': {signed(own.partial.value)}; no test, it "
            "is above 0 without privileged access too."
        )
    return " ".join(parts)


def _own_r(own: OwnAdvantage) -> float:
    return float(np.nanmean(own.models.own)) if own.n_models else math.nan
