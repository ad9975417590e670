"""Checks of what was asked: prompts that differ between rows or models, and items whose text differs between models.

In: the tables of one corpus; out: `Looked`. Within a table a prompt is compared with the sides' texts taken out of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.scoring.api.names import DIRECT
from pairbank.stats.analyses.audit.looked import Audited, Looked, listed, share_said
from pairbank.stats.analyses.audit.texts import TEXTS, has_texts, texts_of

if TYPE_CHECKING:
    from pairbank.stats.scored_table.frame import ScoredFrame
    from pairbank.stats.scored_table.scored_table import ScoredTable

PROMPT = re.compile(r"(?:.*_)?(?:prompt|instruction|query|template)s?(?:_text)?", re.IGNORECASE)
"""Columns of a table that hold what was asked."""
MOST_TEMPLATES = 2
"""Both orders of one prompt."""


def prompt_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns of a table that hold prompts.

    >>> prompt_columns(pd.DataFrame(columns=["item_id", "prompt", "direct_delta", "judge_prompt", "prompted_delta"]))
    ['prompt', 'judge_prompt']
    """
    return [str(name) for name in frame.columns if PROMPT.fullmatch(str(name))]


def changed_within(table: ScoredTable, methods: Sequence[Audited]) -> Iterator[Looked]:
    """Yield, for each column of prompts, whether more prompts were asked than the orders of one.

    Args:
        table: One model's table, all rows.
        methods: Of this table.
    """
    columns = prompt_columns(table.frame) if has_texts(table.frame) else []
    place: dict[str, Any] = {"corpus": table.corpus, "model": table.model}
    if not columns:
        why = "the table has no column with the prompts that were asked"
        yield Looked(check="prompts", outcome="not checked", said=why, n=len(table.frame), **place)
    for column in columns:
        template = templates(table.frame, column)
        counts = template.value_counts()
        if len(counts) <= MOST_TEMPLATES:
            yield Looked(check="prompts", n=int(template.notna().sum()), **place)
            continue
        rare = ~template.isin(counts.index[:MOST_TEMPLATES]) & template.notna()
        yield _changed(table, methods, column, template, rare.to_numpy(dtype=np.bool_))


def templates(frame: pd.DataFrame, column: str) -> pd.Series[str]:
    """Return each row's prompt with the texts of its sides taken out; null where there is none."""
    texts = texts_of(frame)
    found = []
    for prompt, *sides in zip(frame[column], *(texts[name] for name in TEXTS), strict=True):
        said = prompt if isinstance(prompt, str) else None
        for side in sorted((side for side in sides if side), key=len, reverse=True):
            said = None if said is None else said.replace(side, "…")
        found.append(said)
    return pd.Series(found, index=frame.index, dtype="object")


def _changed(
    table: ScoredTable, methods: Sequence[Audited], column: str, template: pd.Series[str], rare: np.ndarray
) -> Looked:
    n, first = int(template.nunique()), str(template.value_counts().index[0])
    said = f"was asked with {n:,} prompts in the column `{column}`, most often {first[:60]!r}"
    rare_ids = set(table.frame["item_id"][rare])
    changes = []
    for one in methods:
        kept = one.scored & ~one.table.frame["item_id"].isin(rare_ids).to_numpy(dtype=np.bool_)
        if kept.any():
            changes.append((one.accuracy, float(one.credit[kept].mean()), one.layout.method))
    headline, without, method = max(changes, key=lambda x: abs(x[0] - x[1]), default=(np.nan, np.nan, ""))
    if method:
        said += f"; by `{method}` it is right in {share_said(headline)}"
        said += f", and in {share_said(without)} where asked as most were"
    return Looked(
        check="prompts", corpus=table.corpus, model=table.model, outcome="found", said=said,
        n=int(template.notna().sum()),
        n_concerned=int(rare.sum()), headline=headline, without=without,
        items=tuple(table.frame["item_id"][rare][:5]),
    )  # fmt: skip


def changed_between(tables: Sequence[ScoredFrame], methods: Sequence[Audited]) -> Iterator[Looked]:
    """Yield which methods were defined otherwise for some models of a corpus: another prompt under one name.

    Args:
        tables: Of one corpus.
        methods: Of these tables.
    """
    hashes: dict[str, dict[str, list[str]]] = {}
    for table in tables:
        definitions = table.signature.get("methods", {})
        for layout in table.layouts:
            definition = definitions.get(layout.method) if isinstance(definitions, Mapping) else None
            if isinstance(definition, Mapping) and "sha256" in definition:
                hashes.setdefault(layout.method, {}).setdefault(str(definition["sha256"]), []).append(table.model)
    corpus = tables[0].corpus
    for method in dict.fromkeys(layout.method for table in tables for layout in table.layouts):
        known = hashes.get(method, {})
        n_models = sum(map(len, known.values()))
        if others := _scored_otherwise(method, tables):
            said = f"is another method than `{DIRECT}`, which {listed(others, most=2)} has: other strings were scored"
            yield Looked(check="definitions", corpus=corpus, method=method, outcome="found", said=said)
        elif n_models < 2:
            why = "one model only, or none with a signature" if len(tables) > 1 else "there is one model only"
            yield Looked(check="definitions", corpus=corpus, method=method, outcome="not checked", said=why)
        elif len(known) == 1:
            yield Looked(check="definitions", corpus=corpus, method=method)
        else:
            means = {
                key: np.array([x.accuracy for x in methods if x.layout.method == method and x.table.model in of])
                for key, of in known.items()
            }
            most = max(known, key=lambda key: len(known[key]))
            every, kept = np.concatenate([*means.values()]), means[most]
            parts = [f"{listed(of, most=2)} ({key[:8]})" for key, of in known.items()]
            said = f"is defined in {len(known)} ways under one name: {'; '.join(parts)}"
            yield Looked(
                check="definitions", corpus=corpus, method=method, outcome="found", said=said,
                headline=_mean(every), without=_mean(kept),
            )  # fmt: skip


def _scored_otherwise(method: str, tables: Sequence[ScoredFrame]) -> list[str]:
    """Return the models with `direct` where a method is log-probabilities of other strings, of models without it."""
    layouts = {table.model: {layout.method for layout in table.layouts} for table in tables}
    definitions = [
        table.signature.get("methods", {}).get(method, {}) for table in tables if method in layouts[table.model]
    ]
    is_variant = any((one.get("imported") or {}).get("kind") == "logprob" for one in definitions)
    if method == DIRECT or not is_variant or not method.startswith((f"{DIRECT}_", "logprob_")):
        return []
    if any({DIRECT, method} <= own for own in layouts.values()):
        return []
    return [model for model, own in layouts.items() if DIRECT in own]


def changed_items(tables: Sequence[ScoredTable]) -> Looked:
    """Items whose text is not the same in the tables of all models."""
    corpus = tables[0].corpus
    with_texts = [table for table in tables if has_texts(table.frame)]
    if len(with_texts) < 2:
        return Looked(check="items", corpus=corpus, outcome="not checked", said="there is one model with texts only")
    first = _text_by_id(with_texts[0])
    changed: set[str] = set()
    n_shared = 0
    for other in with_texts[1:]:
        both = first.index.intersection(pd.Index(other.frame["item_id"]))
        n_shared = max(n_shared, len(both))
        mine = _text_by_id(other).reindex(both)
        changed |= {*both[(mine != first.reindex(both)).to_numpy(dtype=np.bool_)]}
    if not n_shared:
        why = "the models share no item"
        return Looked(check="items", corpus=corpus, outcome="not checked", said=why)
    if not changed:
        return Looked(check="items", corpus=corpus, n=n_shared)
    said = f"{len(changed):,} of {n_shared:,} shared items have other texts in some tables, under the same id"
    return Looked(
        check="items", corpus=corpus, outcome="found", said=said, n=n_shared, n_concerned=len(changed),
        items=tuple(sorted(changed)[:5]),
    )  # fmt: skip


def _text_by_id(table: ScoredTable) -> pd.Series[str]:
    texts = texts_of(table.frame)
    joined = texts[TEXTS[0]]
    for name in TEXTS[1:]:
        joined = joined + "\0" + texts[name]
    return joined.set_axis(table.frame["item_id"])


def _mean(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else np.nan
