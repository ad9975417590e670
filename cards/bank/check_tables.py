"""A bank's tables against the manifest and each other: in, a folder and its manifest; out, in words, all that is wrong.

Hashes say that a file is the one that was written; here the rows are read, so that somebody who edited a table and its
hash is found out too.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pairbank.builders.corpora.registry import CORPORA
from pairbank.builders.load import rating_features
from pairbank.builders.schema.columns import COLUMNS
from pairbank.cards.bank import layout, tables
from pairbank.cards.bank.beside_tables import rating_facts
from pairbank.cards.bank.redistribution import LABELS, TEXTS, is_left_out
from pairbank.cards.bank.values import value_problems
from pairbank.errors import BankError
from pairbank.scoring.api.layout import SIDES
from pairbank.scoring.scored import MODEL, Scored, open_scored
from pairbank.scoring.signature import corpus_signature
from pairbank.stats.version import STATISTICS_VERSION
from pairbank.stats.wording import magnitude

if TYPE_CHECKING:
    import datasets

_LOG = logging.getLogger(__name__)
_MOST_AT_ONCE = 100_000  # rows of a table whose texts are read together; of more, column by column
_CLOSE = 1e-5  # rounding of a mean that the items have as float32

_NUMBERS = ("value", "low", "high", "n", "n_excluded")
_RELATIVE = 1e-6  # other versions of numpy and scipy may add in another order
Row = Mapping[Any, Any]
_SAME_IN_ALL_VERSIONS = ("accuracy", "raw_agreement", "pearson", "spearman")
"""Metrics whose value no version of the statistics has changed; their intervals may be others."""


def rating_problems(root: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    for corpus, facts in manifest.get(layout.RATINGS, {}).items():
        path = layout.ratings_path(corpus)
        try:
            items, ratings = tables.read_table(root / layout.items_path(corpus)), tables.read_table(root / path)
        except BankError as error:
            yield str(error)
            continue
        if is_left_out(manifest["corpora"][corpus]):
            yield f"{path}: ratings of a corpus whose texts are left out"
        if ratings.features != rating_features():
            yield f"{path}: columns {', '.join(ratings.column_names)}; expected {', '.join(rating_features())}"
            continue
        yield from (f"{path}: {problem}" for problem in _problems(ratings.to_pandas(), items, facts, corpus))


def _problems(ratings: pd.DataFrame, items: datasets.Dataset, facts: Mapping[str, Any], corpus: str) -> Iterator[str]:
    if ratings.isna().any(axis=None) or not np.isfinite(ratings["value"]).all():
        yield "a cell is empty, or a value is no number"
        return
    if other := set(ratings["side"]) - set(SIDES):
        yield f"side {min(other)!r:.80}; expected good or bad"
        return
    if unknown := set(ratings["item_id"]) - set(items["item_id"][:]):
        yield f"{len(unknown)} item(s) that the corpus does not have, as {min(unknown)!r:.80}"
        return
    result = rating_facts(ratings)
    for name in sorted(result):
        if result[name] != facts.get(name):
            yield f"{name} is {result[name]!r:.200}, the manifest says {facts.get(name)!r:.200}"
    if corpus not in CORPORA or result["normalisation"] != "none" or "human_good" not in items.column_names:
        return
    frame = items.select_columns(["item_id", "human_good", "human_scale"]).to_pandas().set_index("item_id")
    means = ratings[ratings["side"] == "good"].groupby("item_id")["value"].mean()
    scales = ratings.groupby("item_id")["scale"].first()
    rows = frame.loc[means.index]
    alike = (rows["human_scale"] == scales.loc[means.index]).to_numpy()
    wrong = alike & ~np.isclose(rows["human_good"].astype(float), means, atol=_CLOSE, rtol=_CLOSE)
    if wrong.any():
        yield f"human_good of {int(wrong.sum())} item(s), first {means.index[wrong][0]}, is not the mean of the ratings"


def result_problems(root: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield every row of the results that the tables do not give, that is missing, or that stands there twice.

    Of an earlier version of the statistics, what this one computes otherwise is logged, if versions may differ in it.
    """
    summary = tables.read_summary(root)
    if summary is None:
        return
    if (version := manifest.get("statistics", 1)) > STATISTICS_VERSION:
        _LOG.warning(
            "%s: version %d of the statistics made the results, this pairbank has %d: they are not checked. It needs "
            "pairbank >= %s",
            *(root, version, STATISTICS_VERSION, manifest["pairbank"]),
        )
        return
    known = _by_identity(summary)
    if len(known) < len(summary):
        yield f"{layout.SUMMARY}: {len(summary) - len(known)} row(s) occur twice"
    by_table: dict[tuple[str, ...], dict[tuple[str, ...], Row]] = {}
    for key, row in known.items():
        by_table.setdefault(key[:2], {})[key] = row
    present, stale = set(), None if tables.has_current_results(manifest) else list[str]()
    for corpus, slug in layout.tables(manifest):
        table = open_scored(root / layout.scores_path(corpus, slug))
        present.add((table.model, corpus))
        yield from _differences(table, by_table.get((table.model, corpus), {}), stale)
    for model, corpus in sorted({(key[0], key[1]) for key in known} - present):
        yield f"{layout.SUMMARY}: results of {model} on {corpus!r}, which the bank has no scores of"
    if stale:
        _LOG.warning(
            "%s: the results are of version %d of the statistics; version %d computes %d number(s) otherwise, as %s. "
            "Whatever writes the bank next computes them again",
            *(root, manifest.get("statistics", 1), STATISTICS_VERSION, len(stale), stale[0]),
        )


def differing(old: pd.DataFrame, new: pd.DataFrame) -> list[str]:
    """Return in words what two tables of estimates of the same scores say differently; rows of one alone are named."""
    known, computed = _by_identity(old), _by_identity(new)
    results = [f"{_where(key)}: not in the results" for key in computed.keys() - known.keys()]
    results += [f"{_where(key)}: the tables give no such number" for key in known.keys() - computed.keys()]
    both = [key for key in computed if key in known]
    return sorted(results) + [text for key in both for text in _unlike(key, known[key], computed[key])]


def _differences(table: Scored, ours: Mapping[tuple[str, ...], Row], stale: list[str] | None) -> Iterator[str]:
    """Yield what results say that a table does not give; of an earlier version, `stale` takes what may have changed."""
    from pairbank.stats.report.report import table_summary

    lost = "human_good" not in table.column_names
    table = tables.without_people(table) if lost else table
    try:
        computed = table_summary(table)
    except BankError as error:
        yield f"scores of {table.model} on {table.corpus!r}: {error}"
        return
    if not ours and len(computed):  # sentences by region alone are no choice, and have none
        yield f"{layout.SUMMARY}: no results of {table.model} on {table.corpus!r}"
        return
    again = _by_identity(computed)
    if lost:  # numbers on people were computed from judgments that the table no longer has
        ours = {key: row for key, row in ours.items() if key in again}
    problems = differing(pd.DataFrame(list(ours.values())), computed)
    if stale is not None:
        stale += problems
        both = [(key, row) for key, row in ours.items() if key in again and row["metric"] in _SAME_IN_ALL_VERSIONS]
        problems = [text for key, row in both for text in _unlike(key, row, again[key], ("value", "n"))]
    yield from (f"{layout.SUMMARY}: {problem}" for problem in problems)


def _by_identity(frame: pd.DataFrame) -> dict[tuple[str, ...], Row]:
    return {tuple(str(row[name] or "") for name in tables.IDENTITY): row for row in frame.to_dict("records")}


def _unlike(key: tuple[str, ...], old: Row, new: Row, names: Sequence[str] = _NUMBERS) -> Iterator[str]:
    for name in names:
        a, b = float(old[name]), float(new[name])
        if not np.isclose(a, b, rtol=_RELATIVE, atol=1e-9, equal_nan=True):
            yield f"{_where(key)}: {name} is {magnitude(a, digits=6)}, the tables give {magnitude(b, digits=6)}"
            return


def _where(key: tuple[str, ...]) -> str:
    return " / ".join(part for part in key if part)


class _Whole:
    """The items of a corpus, which all its scored tables are held to."""

    def __init__(self, items: datasets.Dataset) -> None:
        self.items = items
        self.table: pa.Table = items.with_format("arrow")[:]
        self.ids: pa.Array = self.table["item_id"].combine_chunks()

    @functools.cached_property
    def sha256(self) -> str:
        """Of all ids and texts, as a signature has it."""
        return _texts_sha256(self.items)


_kept_whole = functools.lru_cache(maxsize=2)(_Whole)  # for many submissions to one corpus


def _texts_sha256(items: datasets.Dataset | Scored) -> str:
    return str(corpus_signature(items.select_columns(["corpus", "item_id", *TEXTS]), {})["items_sha256"])


def table_problems(root: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    for corpus, facts in manifest["corpora"].items():
        yield from _corpus_problems(root, corpus, facts, manifest["scores"].get(corpus, {}))


def _corpus_problems(
    root: Path, corpus: str, facts: Mapping[str, Any], signatures: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    try:
        items = tables.read_table(root / layout.items_path(corpus))
    except BankError as error:
        yield str(error)
        return
    if problems := list(_item_problems(corpus, facts, items)):
        yield from problems
        return
    first: tuple[str, datasets.Features] | None = None
    whole = _Whole(items)
    for slug, signature in sorted(signatures.items()):
        path = layout.scores_path(corpus, slug)
        try:
            scored = open_scored(root / path)
        except BankError as error:
            yield str(error)
            continue
        if scored.signature != signature:
            yield f"{path}: its signature is not the manifest's"
            continue
        first = first or (path, scored.features)
        yield from (f"{path}: {problem}" for problem in _scored_problems(scored, whole, facts, first))


def submission_problems(scored: Scored, items: datasets.Dataset, facts: Mapping[str, Any]) -> Iterator[str]:
    yield from _scored_problems(scored, _kept_whole(items), facts)


def _item_problems(corpus: str, facts: Mapping[str, Any], items: datasets.Dataset) -> Iterator[str]:
    path = layout.items_path(corpus)
    kinds = {column.name: column.type for column in COLUMNS}
    expected = [name for name in (*kinds, "flags") if name in LABELS or not is_left_out(facts)]
    if missing := [name for name in expected if name not in items.column_names]:
        yield f"{path}: lacks the column(s) {', '.join(missing)} of the shared schema"
        return
    stated = {name: getattr(items.features[name], "dtype", "") for name in expected}
    wrong = [name for name, kind in stated.items() if kind != kinds.get(name, kind)]
    yield from (f"{path}: column {name} is {items.features[name]}, expected {kinds[name]}" for name in wrong)
    if wrong:
        return
    if len(items) != facts["n_items"]:
        yield f"{path}: {len(items)} rows, the manifest says {facts['n_items']}"
    table: pa.Table = items.with_format("arrow")[:]
    if problem := _id_problem(table["item_id"].combine_chunks()):
        yield f"{path}: {problem}"
    if other := set(items.unique("corpus")) - {corpus}:
        yield f"{path}: rows of {sorted(map(str, other))[:3]}, expected {corpus!r} only"
    for column in (column for column in COLUMNS if column.name in items.column_names):
        cells = table[column.name]
        if not column.nullable and cells.null_count:
            yield f"{path}: column {column.name} is null in {cells.null_count} row(s)"
        if pa.types.is_floating(cells.type) and pc.all(pc.is_finite(cells)).as_py() is False:
            yield f"{path}: column {column.name} holds NaN or infinity; expected numbers or null"


def _id_problem(ids: pa.Array) -> str:
    if not pa.types.is_string(ids.type) or ids.null_count:
        return "an item_id is null, or no text"
    return "an item_id occurs in several rows" if pc.count_distinct(ids).as_py() < len(ids) else ""


def _scored_problems(
    scored: Scored, items: _Whole, facts: Mapping[str, Any], first: tuple[str, datasets.Features] | None = None
) -> Iterator[str]:
    """Yield what is wrong with a table; `first` is the first of its config, by path, whose form it must have."""
    if "item_id" not in scored.column_names:
        yield "lacks the column item_id"
        return
    ids = scored.arrow(["item_id"])["item_id"].combine_chunks()
    if problem := _id_problem(ids):
        yield problem
        return
    unknown = ids.filter(pc.invert(pc.is_in(ids, items.ids)))
    if len(unknown):
        yield f"{len(unknown)} item(s) that the corpus does not have, as {pc.min(unknown)}"
        return
    if len(scored) != scored.signature["corpus"]["n_items"]:
        yield f"{len(scored)} rows, its signature says {scored.signature['corpus']['n_items']}"
        return
    if first and (differ := tables.differing_keys(scored.features, first[1])):
        yield f"column(s) {', '.join(differ)} differ from {first[0]}; one config has one form"
    yield from _text_problems(scored, ids, items, facts)
    for method, definition in scored.signature["methods"].items():
        stated = definition.get("columns")
        if stated and not is_left_out(facts) and (missing := [c for c in stated if c not in scored.column_names]):
            yield f"lacks the column(s) {', '.join(missing)} of {method}"
    yield from value_problems(scored)


def _text_problems(scored: Scored, ids: pa.Array, items: _Whole, facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield where columns are not those of the items, or texts not those that the signature says were scored."""
    stated = [name for name in items.table.column_names if name not in ("item_id", MODEL)]
    if missing := [name for name in stated if name not in scored.column_names]:
        yield f"lacks the column(s) {', '.join(missing)} of its items"
        return
    is_whole = ids.equals(items.ids)
    places = None if is_whole else pc.index_in(ids, items.ids)
    for names in [stated] if len(scored) <= _MOST_AT_ONCE else [[name] for name in stated]:
        own = scored.arrow(names)
        for name in names:
            theirs = items.table[name] if is_whole else items.table[name].take(places)
            if not own[name].equals(theirs) and not tables.same_cells(own[name], theirs):
                yield f"column {name} is not that of the items"
                return
    if is_left_out(facts):
        return
    result = items.sha256 if is_whole else _texts_sha256(scored)
    if result != scored.signature["corpus"]["items_sha256"]:
        yield "its ids and texts are not those that its signature says were scored"
