"""Does a model follow its own probabilities better than similar models'? In, a regression and contrasts; out, words.

The wording follows from numbers alone: Song, Hu & Mahowald 2025 take a significant negative coefficient of a match
type, relative to `self` and at equal similarity, as evidence of introspection (section 3.2.2, appendix G).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pairbank.stats.analyses.introspection.model_features import MATCH_TYPES, OTHER, SELF, UNDECLARED
from pairbank.stats.analyses.introspection.self_contrast import ANY_OTHER

if TYPE_CHECKING:
    from pairbank.stats.analyses.introspection.own_probabilities import OwnContribution
    from pairbank.stats.analyses.introspection.self_contrast import SelfContrast
    from pairbank.stats.estimates.estimate import Estimate
    from pairbank.stats.measures.regression import Coefficient, Regression

Outcome = Literal["self-advantage", "partial self-advantage", "no self-advantage", "not estimable"]
ALPHA = 0.05
LEAST_MODELS = 3

_HEADLINES: dict[Outcome, str] = {
    "self-advantage": (
        "**Consistent with introspection by the published test**: at equal similarity, a model's answers follow its "
        "own probabilities better than those of every other type of model."
    ),
    "partial self-advantage": (
        "**Mixed by the published test**: at equal similarity, a model's answers follow its own probabilities better "
        "than those of some types of other models, but not of all."
    ),
    "no self-advantage": (
        "**No evidence of introspection by the published test**: at equal similarity, a model's answers do not follow "
        "its own probabilities better than those of any other type of model."
    ),
    "not estimable": "**The published test cannot be made with these models.**",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer to "does self beat similar models once similarity is controlled?", with its evidence."""

    outcome: Outcome
    text: str
    """Markdown: the answer, every coefficient with its p value, and our intervals."""
    reason: str | None = None
    """Why it cannot be told; None where it can."""


def introspection_verdict(
    fit: Regression,
    *,
    n_models: int,
    contrasts: Sequence[SelfContrast] = (),
    own: OwnContribution | None = None,
    alpha: float = ALPHA,
) -> Verdict:
    """Return the verdict of the regression on similarity and match type.

    A match type counts as beaten by self if its coefficient is negative at p < alpha (two-sided, not corrected for the
    number of types, as published). All beaten: self-advantage; some: partial; none: no self-advantage.

    Args:
        fit: What `consistency_by_similarity` returned.
        n_models: Models that are both read and asked; fewer than 3 do not tell.
        contrasts: What `self_contrasts` returned, quoted beside the coefficients.
        own: What `own_contribution` returned, likewise; it changes no outcome.
        alpha: Level of the tests.

    >>> from pairbank.stats.measures.regression import least_squares
    >>> fit = least_squares([0.5, 0.6, 0.7, 0.2, 0.3, 0.45], {"direct_direct": [1, 1, 1, 0.2, 0.4, 0.6],
    ...                     "other": [0, 0, 0, 1, 1, 1]}, formula="meta_direct ~ direct_direct + match_type")
    >>> introspection_verdict(fit, n_models=3).outcome
    'no self-advantage'
    """
    kinds = _of_match_types(fit)
    if reason := _why_not(fit, kinds, n_models=n_models):
        text = _bulleted(f"{_HEADLINES['not estimable']} {_sentence(reason)}.", _plain(contrasts), _own(own))
        return Verdict(outcome="not estimable", text=text, reason=reason)
    beaten = [c for c in kinds if c.estimate < 0 and c.p_value < alpha]
    ahead = [c for c in kinds if c.estimate > 0 and c.p_value < alpha]
    outcome: Outcome = "no self-advantage"
    if beaten:
        outcome = "self-advantage" if len(beaten) == len(kinds) else "partial self-advantage"
    evidence = f"Coefficients relative to self (negative: self is better; n = {fit.n} pairs of {n_models} models): "
    evidence += f"{_listed(kinds)}. Tests at p < {_bare(f'{alpha:g}')}, two-sided, not corrected for their number."
    if ahead:
        names = " and ".join(c.term for c in ahead)
        evidence += f" For {names} the opposite holds: these follow better than self does at equal similarity."
    parts = [evidence, _no_relatives(kinds), _intervals(contrasts), _own(own)]
    return Verdict(outcome=outcome, text=_bulleted(_HEADLINES[outcome], *parts))


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


def _of_match_types(fit: Regression) -> list[Coefficient]:
    return [c for c in fit.coefficients if c.term in MATCH_TYPES and c.term != SELF]


def _own(found: OwnContribution | None) -> str:
    """Say what a model's own probabilities add to the others', and which way that points."""
    if found is None or not found.advantage.is_defined:
        return ""
    advantage = found.advantage
    says = "which tells nothing either way"
    if advantage.low > 0:
        says = (
            "so that answers follow the model's own probabilities beyond what other models' predict (or the models "
            "that answer best are also the most typical ones, which matters most where there are few)"
        )
    elif advantage.high < 0:
        says = "so that answers follow other models' probabilities more than the model's own"
    elif not math.isnan(advantage.low):
        says = "so that no advantage of a model's own probabilities is shown"
    return (
        "Ours, not the paper's, item by item: where answers are regressed on the direct differences of all models at "
        f"once, the model's own have the mean coefficient {_signed(found.own.value)} and another's "
        f"{_signed(found.others.value)}; difference {_with_interval(advantage)}, {says}."
    )


def _listed(coefficients: Sequence[Coefficient]) -> str:
    return "; ".join(f"{c.term} {_signed(c.estimate)} (p {_p(c.p_value)})" for c in coefficients)


def _no_relatives(kinds: Sequence[Coefficient]) -> str:
    """Say so where no two of the models are declared to be similar."""
    if any(c.term not in (OTHER, UNDECLARED) for c in kinds):
        return ""
    return (
        "No two of the models are declared as relatives (seed variants, base and instruct, same family), so that self "
        "is compared with unrelated models only."
    )


def _intervals(contrasts: Sequence[SelfContrast]) -> str:
    shown = [
        f"{c.match_type} {_with_interval(c.at_equal_similarity)}" for c in contrasts if c.at_equal_similarity.is_defined
    ]
    if not shown:
        return ""
    return (
        "Ours, not the paper's: advantage of self at equal similarity (positive: self is better) with a "
        f"{contrasts[0].plain.level:.0%} bootstrap interval over items: {'; '.join(shown)}."
    )


def _plain(contrasts: Sequence[SelfContrast]) -> str:
    """Say what can be said without control for similarity."""
    shown = [
        f"{c.match_type} {_with_interval(c.plain)}"
        for c in contrasts
        if c.plain.is_defined and c.match_type != ANY_OTHER
    ]
    if not shown:
        return ""
    return (
        "What can be said: mean r of self minus mean r of others, without control for similarity, with a "
        f"{contrasts[0].plain.level:.0%} bootstrap interval over items: {'; '.join(shown)}. A model is most similar to "
        "itself, so this alone is no evidence of introspection."
    )


def _with_interval(estimate: Estimate) -> str:
    if math.isnan(estimate.low):
        return f"{_signed(estimate.value)} [no interval: {estimate.reason}]"
    return f"{_signed(estimate.value)} [{_signed(estimate.low)}, {_signed(estimate.high)}]"


def _bulleted(headline: str, *parts: str) -> str:
    return "\n\n".join(filter(None, [headline, "\n".join(f"- {part}" for part in parts if part)]))


def _signed(value: float) -> str:
    return _bare(f"{value:+.3f}")


def _p(value: float) -> str:
    return "< .001" if value < 0.001 else _bare(f"= {value:.3f}")


def _bare(number: str) -> str:
    """Return a number without the 0 before its point, as papers print r and p."""
    return number.replace("0.", ".", 1) if number.lstrip("=+- ").startswith("0.") else number


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
