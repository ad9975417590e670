"""Which corpora's texts may leave the machine, and tables without them: ids, labels and scores only.

A builder's `Source.redistributable` decides for the corpora that ship with pairbank, whatever a manifest unlocks; what
only has the name of one is no such corpus. A corpus of the user's own may be published once its licence is stated.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairbank.builders.corpora.registry import CORPORA
from pairbank.cards.bank.layout import LEFT_OUT, REPORTS
from pairbank.errors import BankError
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.scored import MODEL

if TYPE_CHECKING:
    import datasets

LABELS = ("item_id", "corpus", "subset", "language", "task", "phenomenon", "paradigm", "pair_id", "flags")
"""Columns of the items that stay where texts may not be published."""
TEXTS = ("context_good", "target_good", "context_bad", "target_bad")
"""Columns of the items that hold their texts."""
READABLE = (".md", ".csv", ".svg", ".json", ".txt", ".html", ".tex")
LEAST_CHARACTERS = 15
"""A text shorter than this is not looked for in reports: words occur in every report."""


def may_publish(corpus: str, facts: Mapping[str, Any]) -> bool:
    """Return whether a published bank may hold a corpus's texts; a shipped corpus must have its builder's facts."""
    stated = (facts.get("source") or {}).get("redistributable") is True
    return stated and (corpus not in CORPORA or CORPORA[corpus].source.redistributable)


def licence_of(corpus: str, facts: Mapping[str, Any]) -> str:
    """Return a corpus's licence and what is to be said about it, on one line."""
    stated = facts.get("source") or {}
    if corpus not in CORPORA:
        licence, note = stated.get("licence") or "unknown", stated.get("licence_note") or ""
    else:
        source = CORPORA[corpus].source
        licence, note = source.licence, source.licence_note
        if source.redistributable and stated.get("redistributable") is not True:
            licence = "unknown"
            note = f"These items are not the corpus {corpus!r} that ships with pairbank: give them a name of their own."
    return f"{licence}. {note}" if note else licence


def lacks_licence(corpus: str, facts: Mapping[str, Any]) -> bool:
    """Return whether nobody has stated a licence of a corpus of the user's own."""
    return corpus not in CORPORA and (facts.get("source") or {}).get("licence") in (None, "", "unknown")


def with_licence(corpus: str, facts: Mapping[str, Any], licence: str) -> dict[str, Any]:
    if corpus in CORPORA:
        raise BankError(
            f"corpus {corpus!r} ships with pairbank and its licence is {CORPORA[corpus].source.licence}; "
            "a licence can be stated for your own items only"
        )
    if not licence.strip():
        raise BankError(f"corpus {corpus!r}: the licence is empty; give an id such as cc-by-4.0")
    empty = {"homepage": "", "revision": "", "citation": ""}
    stated = {"licence": licence.strip(), "licence_note": "", "redistributable": True}
    return {**facts, "source": {**empty, **(facts.get("source") or {}), **stated}}


def score_columns(methods: Mapping[str, Mapping[str, Any]]) -> frozenset[str]:
    """Return the columns that methods made: those that their definitions name, and no other.

    >>> sorted(score_columns({"direct": {"columns": ["direct_good", "direct_bad"]}}))
    ['direct_bad', 'direct_good']
    """
    written = (definition.get("columns", ScoreColumns(name).all) for name, definition in methods.items())
    return frozenset(column for columns in written for column in columns)


def text_columns(features: datasets.Features, methods: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the columns that ids and scores do without: texts, human judgments, and what a model wrote.

    Which option was chosen (`m_answers`) stays: options are in the signature too, and accuracy is made of them.
    """
    scores, flags = score_columns(methods), {ScoreColumns(method).flags for method in methods}
    stay = {name for name in scores if name in flags or (name in features and _is_number(features[name]))}
    stay |= {MODEL} if methods else set()
    stay |= {
        ScoreColumns(name).answers for name, entry in methods.items() if (entry.get("layout") or {}).get("options")
    }
    return [name for name in features if name not in stay and name not in LABELS]


def _is_number(kind: Any) -> bool:  # noqa: ANN401 - a datasets feature
    dtype = getattr(getattr(kind, "feature", kind), "dtype", "string")
    return dtype not in ("string", "large_string", "binary")


def ids_and_scores(table: datasets.Dataset, methods: Mapping[str, Mapping[str, Any]]) -> datasets.Dataset:
    """Return a table without its texts; `methods` as `text_columns` takes them."""
    return table.remove_columns(text_columns(table.features, methods))


def refuse_quoted_texts(root: Path, tables: Iterable[tuple[str, datasets.Dataset]]) -> None:
    """Refuse if a report quotes an item of these (corpus, table): a report is published as it is."""
    files = [p for p in sorted((root / REPORTS).rglob("*")) if p.suffix.lower() in READABLE]
    pages = {p.relative_to(root).as_posix(): p.read_text(encoding="utf-8", errors="replace") for p in files}
    words = {name: set(page.split()) for name, page in pages.items()}
    for corpus, items in tables:
        cells = (text for column in sorted(set(TEXTS) & set(items.column_names)) for text in items[column][:])
        texts = {text for text in cells if text and len(text) >= LEAST_CHARACTERS}
        # a page has these words between white space if it has the text in any form: they are looked up first
        inner_words = {t: {word for word in t.split(" ")[1:-1] if word.isascii() and word.isalnum()} for t in texts}
        for name, page in pages.items():
            near = (text for text, inner in inner_words.items() if inner <= words[name])
            if any(form in page for text in near for form in _forms(text)):
                raise BankError(
                    f"{name} quotes items of {corpus!r}, whose texts may not be published "
                    f"({licence_of(corpus, {})}); delete the file, or make the report again without examples"
                )


def _forms(text: str) -> set[str]:
    """Return a text as it is written in Markdown, CSV, HTML and SVG, or JSON."""
    return {text, text.replace('"', '""'), html.escape(text), html.escape(text, quote=False), json.dumps(text)[1:-1]}


def is_left_out(facts: Mapping[str, Any]) -> bool:
    """Return whether the bank holds only a corpus's ids and scores."""
    return facts.get("texts") == LEFT_OUT


def locked(corpora: Mapping[str, Any]) -> list[str]:
    """Return the corpora of a manifest whose texts are in the bank and may not be published."""
    return [name for name, facts in corpora.items() if not is_left_out(facts) and not may_publish(name, facts)]
