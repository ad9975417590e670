"""The answer of the introspection report for its first page: in, analyses of sets of items; out, sentences and a table.

The wording is that of the verdicts (`own_verdict`), whose error rates stand in `docs/statistics.md`; nothing is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from pairbank.markdown import html_as_text
from pairbank.stats.analyses.introspection.analysis import ALL_ITEMS
from pairbank.stats.analyses.introspection.model_features import SELF
from pairbank.stats.analyses.introspection.own.beyond_relatives import LEAST_ITEMS
from pairbank.stats.analyses.introspection.own.own_verdict import Beyond, own_words, why_not_told
from pairbank.stats.analyses.introspection.words import signed_with_interval
from pairbank.stats.wording import number, percent, span

if TYPE_CHECKING:
    from pairbank.stats.analyses.introspection.analysis import Introspection
    from pairbank.stats.estimates.estimate import Estimate

_SAID: dict[Beyond, str] = {
    "beyond relatives": "answers follow own probabilities beyond relatives'",
    "beyond declared relatives only": "mixed, ahead of the declared relatives' only",
    "not shown": "no advantage of own probabilities over relatives' is shown",
    "relatives' more": "answers follow the relatives' more than their own",
    "inconclusive": "inconclusive",
}
_NO_DIFFERENCE: tuple[Beyond, ...] = ("not shown", "inconclusive")


def headline_sets(done: Sequence[Introspection]) -> list[Introspection]:
    """Return the analysis of each corpus that answers: of the items the models disagree on, if these are enough.

    Args:
        done: The analyses, all items of a corpus before those that the models disagree on.
    """
    return list({found.corpus: found for found in done if found.items == ALL_ITEMS or _can_answer(found)}.values())


def _can_answer(found: Introspection) -> bool:
    return len(found.models) > 1 and found.n_items >= LEAST_ITEMS


def answer(done: Sequence[Introspection]) -> str:
    """Return two sentences that say whether answers follow own probabilities beyond relatives', with their numbers.

    Args:
        done: As for `headline_sets`.
    """
    chosen = headline_sets(done)
    if len(chosen) > 1:
        return f"{_of_corpora(chosen)} {_own_r(chosen)}"
    (found,) = chosen
    headline, _ = own_words(found.own)
    where = html_as_text(f"{found.corpus}, {found.items} items (n = {found.n_items:,})")
    more = f" {_own_r(chosen)}" if found.verdict.beyond != "not shown" else ""
    return f"{where}: {headline}{more}"


def answer_table(done: Sequence[Introspection]) -> pd.DataFrame:
    """Return a line a corpus and set of items: what the answer rests on.

    Args:
        done: The analyses.
    """
    return pd.DataFrame([_row(found) for found in done])


def _of_corpora(chosen: Sequence[Introspection]) -> str:
    parts = []
    for beyond, said in _SAID.items():
        here = [found for found in chosen if found.verdict.beyond == beyond]
        evidence: dict[str, list[str]] = {}
        for found in here:  # corpora of which the same is to be said stand together
            evidence.setdefault(_evidence(found), []).append(html_as_text(found.corpus))
        if here:
            parts.append(f"**{said}** on {', '.join(in_a_row(corpora) + shown for shown, corpora in evidence.items())}")
    return f"Beyond relatives' probabilities: {'; '.join(parts)}.{_by_itself(chosen)}"


def _by_itself(chosen: Sequence[Introspection]) -> str:
    """Say what comes of judging several corpora each by itself, where one has a difference (Boole's bound)."""
    if all(found.verdict.beyond in _NO_DIFFERENCE for found in chosen):
        return ""
    share = min(1.0, len(chosen) * (1 - chosen[0].own.over_relatives.level))
    return (
        f" Each of these {len(chosen)} corpora is judged by itself: where none has a difference, one or more would be "
        f"said to have one in up to {percent(share)} of such studies."
    )


def in_a_row(names: Sequence[str]) -> str:
    """Return names with a last "and".

    >>> in_a_row(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _evidence(found: Introspection) -> str:
    n = f"n = {found.n_items:,}"
    if found.verdict.beyond == "inconclusive":
        return f" ({why_not_told(found.own)}; {n})"
    interval = f"{signed_with_interval(found.own.over_relatives)} in r, {n}"
    if found.verdict.beyond == "not shown":
        return f" ({interval}; minimum detectable effect {number(found.own.smallest, digits=3)})"
    return f" ({interval})"


def _own_r(chosen: Sequence[Introspection]) -> str:
    """Say how high r of answers with own probabilities gets, and whose it is."""
    pairs = pd.concat([found.pairs.assign(corpus=found.corpus) for found in chosen])
    own = pairs[(pairs["match_type"] == SELF) & pairs["meta_direct"].notna()].sort_values("meta_direct", kind="stable")
    if own.empty:
        return "r of answers with a model's own probabilities is undefined."
    ends = [own.iloc[0], own.iloc[-1]]
    if len(own) == 1:
        return f"r of its answers with its own probabilities is {number(ends[0]['meta_direct'])}."
    several = len(chosen) > 1
    said = [
        html_as_text(f"{number(row['meta_direct'])} ({row['direct_model']}{', ' + row['corpus'] if several else ''})")
        for row in ends
    ]
    n_models = own["direct_model"].nunique()
    of = "1 model" if n_models == 1 else f"{n_models} models"
    return f"r of answers with a model's own probabilities ranges from {' to '.join(said)} ({of})."


def _row(found: Introspection) -> dict[str, Any]:
    own = found.pairs.loc[found.pairs["match_type"] == SELF, "meta_direct"].dropna()
    return {
        "corpus": found.corpus,
        "items": found.items,
        "n": found.n_items,
        "models": found.n_models,
        "r with own (range)": span(own),
        "Δr (self − relatives)": _cell(found.own.over_relatives),
        "minimum detectable effect": found.own.smallest,
        "Δr (self − most similar)": _cell(found.own.over_most_similar),
        "answer": found.verdict.beyond,
        "published test": found.verdict.outcome,
    }


def _cell(estimate: Estimate) -> str:
    """Return an estimate with its interval; why there is none stands in the verdict."""
    return signed_with_interval(estimate).partition(" [no interval")[0] if estimate.is_defined else "undefined"
