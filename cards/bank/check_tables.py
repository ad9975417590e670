"""A bank's tables against the manifest and each other: in, a folder and its manifest; out, in words, all that is wrong.

Hashes say that a file is the one that was written; here the rows are read, so that somebody who edited a table and its
hash is found out too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pairbank.builders.schema.columns import COLUMNS
from pairbank.cards.bank.layout import items_path, scores_path
from pairbank.cards.bank.redistribution import LABELS, TEXTS, is_left_out
from pairbank.cards.bank.tables import read_table
from pairbank.errors import BankError
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.scored import Scored, read_scored
from pairbank.scoring.signature import corpus_signature

if TYPE_CHECKING:
    import datasets

_CLOSE_NATS = 1e-9
"""Rounding of good - bad."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _First:
    """The first table of a config, whose form the others must have."""

    path: str
    features: datasets.Features


def table_problems(root: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a bank's tables."""
    for corpus, facts in manifest["corpora"].items():
        try:
            items = read_table(root / items_path(corpus))
        except BankError as error:
            yield str(error)
            continue
        if problems := list(_item_problems(corpus, facts, items)):
            yield from problems
            continue
        first = None
        for slug, signature in sorted(manifest["scores"].get(corpus, {}).items()):
            path = scores_path(corpus, slug)
            try:
                scored = read_scored(root / path)
            except BankError as error:
                yield str(error)
                continue
            if scored.signature != signature:
                yield f"{path}: its signature is not the manifest's"
                continue
            first = first or _First(path=path, features=scored.dataset.features)
            yield from (f"{path}: {problem}" for problem in _scored_problems(scored, items, facts, first))


def _item_problems(corpus: str, facts: Mapping[str, Any], items: datasets.Dataset) -> Iterator[str]:
    path = items_path(corpus)
    kinds = {column.name: column.type for column in COLUMNS}
    wanted = [name for name in (*kinds, "flags") if name in LABELS or not is_left_out(facts)]
    if missing := [name for name in wanted if name not in items.column_names]:
        yield f"{path}: lacks the column(s) {', '.join(missing)} of the shared schema"
        return
    wrong = [n for n in wanted if n in kinds and getattr(items.features[n], "dtype", "") != kinds[n]]
    yield from (f"{path}: column {n} is {items.features[n]}, expected {kinds[n]}" for n in wrong)
    if wrong:
        return
    if len(items) != facts["n_items"]:
        yield f"{path}: {len(items)} rows, the manifest says {facts['n_items']}"
    if problem := _id_problem(items):
        yield f"{path}: {problem}"
    if other := set(items["corpus"][:]) - {corpus}:
        yield f"{path}: rows of {sorted(map(str, other))[:3]}, expected {corpus!r} only"
    yield from (f"{path}: {problem}" for problem in _empty_problems(items))


def _id_problem(table: datasets.Dataset) -> str:
    ids = table["item_id"][:]
    if any(not isinstance(one, str) for one in ids):
        return "an item_id is null, or no text"
    return "an item_id stands in several rows" if len(set(ids)) < len(ids) else ""


def _empty_problems(items: datasets.Dataset) -> Iterator[str]:
    """Yield columns with nulls that no item may have, and numbers that are none."""
    arrow: pa.Table = items.with_format("arrow")[:]
    for column in COLUMNS:
        if column.name not in arrow.column_names:
            continue
        if not column.nullable and arrow[column.name].null_count:
            yield f"column {column.name} is null in {arrow[column.name].null_count} row(s)"
        cells = arrow[column.name]
        if pa.types.is_floating(cells.type) and pc.all(pc.is_finite(cells)).as_py() is False:
            yield f"column {column.name} holds NaN or infinity; expected numbers or null"


def _scored_problems(scored: Scored, items: datasets.Dataset, facts: Mapping[str, Any], first: _First) -> Iterator[str]:
    table = scored.dataset
    if "item_id" not in table.column_names:
        yield "lacks the column item_id"
        return
    if problem := _id_problem(table):
        yield problem
        return
    if unknown := set(table["item_id"][:]) - set(items["item_id"][:]):
        yield f"{len(unknown)} item(s) that the corpus does not have, as {min(unknown)}"
        return
    if len(table) != scored.signature["corpus"]["n_items"]:
        yield f"{len(table)} rows, its signature says {scored.signature['corpus']['n_items']}"
        return
    if table.features != first.features:
        a, b = dict(table.features), dict(first.features)
        differ = sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))
        yield f"column(s) {', '.join(differ) or '(order)'} differ from {first.path}; one config has one form"
    yield from _text_problems(scored, items, facts)
    yield from _column_problems(scored, facts)


def _text_problems(scored: Scored, items: datasets.Dataset, facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield where the texts are not those of the items, or not those that the signature says were scored."""
    wanted = ["item_id", *(c for c in (*TEXTS, *LABELS) if c in items.column_names and c != "item_id")]
    if missing := [name for name in wanted if name not in scored.dataset.column_names]:
        yield f"lacks the column(s) {', '.join(missing)} of its items"
        return
    ours: pa.Table = scored.dataset.select_columns(wanted).with_format("arrow")[:]
    theirs: pa.Table = items.select_columns(wanted).with_format("arrow")[:]
    theirs = theirs.take(pc.index_in(ours["item_id"], theirs["item_id"].combine_chunks()))
    for name in wanted:
        a, b = ours[name].combine_chunks(), theirs[name].combine_chunks()
        if not a.equals(b):
            yield f"column {name} is not that of the items"
            return
    if is_left_out(facts):
        return
    found = corpus_signature(scored.dataset, {})["items_sha256"]
    if found != scored.signature["corpus"]["items_sha256"]:
        yield "its ids and texts are not those that its signature says were scored"


def _column_problems(scored: Scored, facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield columns of methods that are missing, that nobody made, and differences that are none."""
    arrow: pa.Table = scored.dataset.with_format("arrow")[:]
    for method, definition in scored.signature["methods"].items():
        stated = definition.get("columns")
        if stated and not is_left_out(facts) and (missing := [c for c in stated if c not in arrow.column_names]):
            yield f"lacks the column(s) {', '.join(missing)} of {method}"
            continue
        names = ScoreColumns(method)
        if definition["layout"]["kind"] != "direct" or not {names.good, names.bad, names.delta} <= set(
            arrow.column_names
        ):
            continue
        columns = [arrow[name] for name in (names.good, names.bad, names.delta)]
        if not all(pa.types.is_floating(column.type) for column in columns):
            yield f"a score of {method} is no number"
            continue
        good, bad, delta = (column.to_numpy(zero_copy_only=False).astype(np.float64) for column in columns)
        both = ~np.isnan(good) & ~np.isnan(bad)
        n_wrong = int((~np.isclose(delta[both], good[both] - bad[both], rtol=1e-9, atol=_CLOSE_NATS)).sum())
        if n_wrong:
            yield f"column {names.delta} is not good - bad in {n_wrong} row(s)"
