"""Do answers follow a model's own probabilities beyond its relatives'? In, an OwnAdvantage; out, the answer in words.

Every sentence follows from numbers alone; `docs/statistics.md` lists with each how often it is said wrongly.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from pairbank.stats.analyses.introspection.words import signed, signed_with_interval
from pairbank.stats.wording import number

if TYPE_CHECKING:
    from pairbank.stats.analyses.introspection.own.beyond_relatives import OwnAdvantage

Beyond = Literal["beyond relatives", "beyond declared relatives only", "not shown", "relatives' more", "inconclusive"]


def beyond_relatives(own: OwnAdvantage) -> Beyond:
    """Return the answer: shown only where both intervals lie above 0, over declared relatives and the most similar.

    Args:
        own: What `own_advantage` returned.
    """
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

    Args:
        own: What `own_advantage` returned.
    """
    if math.isnan(own.over_relatives.low):
        return own.over_relatives.reason
    r = _own_r(own)
    if own.over_relatives.low <= 0 <= own.over_relatives.high and own.smallest > r:
        return (
            f"these models and items would show only an advantage of {number(own.smallest, digits=3)} or more, and r "
            "with a "
            f"model's own probabilities is {signed(r)} itself"
        )
    return None


def own_words(own: OwnAdvantage) -> tuple[str, str]:
    """Return the headline and a bullet with what stands beside it ("" where there is nothing).

    Args:
        own: What `own_advantage` returned.
    """
    return _headline(own), _beside(own)


def _headline(own: OwnAdvantage) -> str:
    over = own.over_relatives
    beyond = beyond_relatives(own)
    if beyond == "inconclusive":
        return (
            "**Inconclusive whether answers follow a model's own probabilities beyond its relatives'**: "
            f"{why_not_told(own)}."
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
        there = ~np.isnan(own.models.value)
        relatives = float(own.models.relatives[there].mean())
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
