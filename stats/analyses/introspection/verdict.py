"""Does a model follow its own probabilities better than similar models'? In, regression, advantage; out, words.

The headline is ours: own probabilities against relatives' (`own_verdict`). Beside it stands the published test: Song,
Hu & Mahowald 2025 take a significant negative coefficient of a match type, relative to `self` and at equal similarity,
as evidence of introspection (section 3.2.2, appendix G). All wording follows from numbers alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pairbank.stats.analyses.introspection.model_features import MATCH_TYPES, OTHER, SELF, UNDECLARED
from pairbank.stats.analyses.introspection.own.own_verdict import Beyond, beyond_relatives, own_words, why_not_told
from pairbank.stats.analyses.introspection.self_contrast import ANY_OTHER
from pairbank.stats.analyses.introspection.words import signed, signed_with_interval
from pairbank.stats.wording import number, p_value, percent

if TYPE_CHECKING:
    from pairbank.stats.analyses.introspection.own.beyond_relatives import OwnAdvantage
    from pairbank.stats.analyses.introspection.self_contrast import SelfContrast
    from pairbank.stats.measures.regression import Coefficient, Regression

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

    Args:
        fit: What `consistency_by_similarity` returned.
        own: What `own_advantage` returned.
        n_models: Models that are both read and asked; fewer than 3 do not tell.
        contrasts: What `self_contrasts` returned, quoted where there is no test.
        alpha: Level of the published test.
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
        return "not estimable", f"{_PUBLISHED['not estimable']} {reason[:1].upper()}{reason[1:]}.", reason
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
