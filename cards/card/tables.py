"""The tables of a dataset card: in, a bank's manifest and what its tables hold; out, frames of text.

Every foreign text passes `pairbank.markdown`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pairbank import markdown
from pairbank.cards.bank.layout import config_name
from pairbank.cards.bank.redistribution import is_left_out, licence_of, may_publish
from pairbank.cards.card.contents import Contents, dictionary
from pairbank.stats.wording import number


def licence_id(corpus: str, facts: Mapping[str, Any]) -> str:
    """Return a corpus's licence without what else is to be said about it."""
    return licence_of(corpus, facts).split(". ")[0]


def languages_of(corpus: str, facts: Mapping[str, Any], contents: Mapping[str, Contents]) -> list[str]:
    """Return the languages of the items that are here; those of the corpus where its items do not say theirs."""
    held = contents[corpus].languages if corpus in contents else ()
    return [str(tag) for tag in held or facts.get("languages", [])]


def corpus_table(
    corpora: Mapping[str, Any], scores: Mapping[str, Any], contents: Mapping[str, Contents]
) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "corpus": name,
                "config": config_name(name),
                "what": markdown.shown(str(facts.get("description", ""))),
                "items": f"{facts['n_items']:,}",
                "of": f"{facts['n_rows']:,}" if "n_rows" in facts else "",
                "models": f"{len(scores.get(name, {})):,}",
                "languages": few(languages_of(name, facts, contents)),
                "human judgments": markdown.shown(str(facts.get("human") or "none")),
                "licence": licence_id(name, facts),
                "texts": _texts(name, facts),
            }
            for name, facts in corpora.items()
        ]
    )


def _texts(corpus: str, facts: Mapping[str, Any]) -> str:
    if is_left_out(facts):
        return "left out"
    return "yes" if may_publish(corpus, facts) else "here, not to be redistributed"


def prompts_table(signatures: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return in which order the log-probabilities of the answers stand, a row a method that has such a column."""
    layouts = {m: d["layout"] for signature in signatures for m, d in signature["methods"].items()}
    rows = [
        (f"{method}_logprobs", *(few([*map(str, layout[name])], limit=40) for name in ("presentations", "options")))
        for method, layout in layouts.items()
        if layout.get("presentations") and layout.get("options")
    ]
    return pd.DataFrame(rows, columns=["column", "presentations", "options of each"])


def columns_table(manifest: Mapping[str, Any], contents: Mapping[str, Contents]) -> pd.DataFrame:
    rows = [(x.column, x.type, x.unit, x.meaning, few(x.where, limit=60)) for x in dictionary(manifest, contents)]
    return pd.DataFrame(rows, columns=["column", "type", "unit", "meaning", "of"])


def sizes_table(contents: Mapping[str, Contents]) -> pd.DataFrame:
    one_side = {corpus: "one side" if held.characters else "" for corpus, held in contents.items()}
    rows = [
        (config_name(corpus), held.characters or "texts left out", held.edits or one_side[corpus])
        for corpus, held in contents.items()
    ]
    return pd.DataFrame(rows, columns=["config", "characters a side", "edits between the sides"])


def judged_table(corpora: Mapping[str, Any], contents: Mapping[str, Contents]) -> pd.DataFrame:
    reported = {name: str(facts.get("human") or "") for name, facts in corpora.items()}
    return pd.DataFrame(
        [
            {
                "config": config_name(corpus),
                "what": reported[corpus],
                "scale": judged.scale or "not said",
                "judged items": f"{judged.n_items:,}",
                "people an item": judged.raters or "not said",
            }
            for corpus, held in contents.items()
            for judged in held.judged
        ]
    )


def ratings_table(ratings: Mapping[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "corpus": name,
                "load": f"{config_name(name)}_ratings",
                "scale": markdown.shown(facts["scale"]),
                "raters": f"{facts['n_raters']:,}",
                "ratings": f"{facts['n_ratings']:,}",
                "rated items": f"{facts['n_items']:,}",
                "ratings a side": " to ".join(f"{n}" for n in sorted({facts["least_a_side"], facts["most_a_side"]})),
                "Krippendorff's alpha": alpha_text(facts["alpha"]),
            }
            for name, facts in ratings.items()
        ]
    )


def alpha_text(alpha: Mapping[str, Any]) -> str:
    """Return an agreement as the card has it.

    >>> alpha_text({"value": 0.52, "low": 0.5, "high": 0.541}), alpha_text({"value": None, "reason": "2 scales"})
    ('0.52 [0.50, 0.54]', 'undefined (2 scales)')
    """
    value, low, high = (alpha.get(name) for name in ("value", "low", "high"))
    if value is None:
        return f"undefined ({markdown.shown(alpha.get('reason') or 'no reason given')})"
    ends = "no interval" if low is None or high is None else f"{number(low)}, {number(high)}"
    return f"{number(value)} [{ends}]"


def few(tags: Sequence[str], *, limit: int = 20) -> str:
    shown = ", ".join(markdown.shown(tag, limit=limit) for tag in tags[:20])
    return shown if len(tags) <= 20 else f"{shown} and {len(tags) - 20} more"
