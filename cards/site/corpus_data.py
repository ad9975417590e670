"""One corpus as files of a site: in, its parquet tables; out, columns that a page looks at whole, and rows by page.

In `data/corpora/<config>/`: `corpus` (what the tables are), `ids`, `filters`, `human`, `items/<page>`; of each model
`<slug>/axis-<k>` (the difference by its k-th method) and `<slug>/rows/<page>` (every other column), large ones in
`models/`, small ones many to a file in `packs/`; `others/<page>`: the differences by all models.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pairbank.builders.schema.columns import IDENTICAL_SIDES, ONE_SIDED_TASKS
from pairbank.builders.schema.language_tags import separator
from pairbank.cards.bank.layout import config_name, items_path, scores_path
from pairbank.cards.bank.redistribution import score_columns, text_columns
from pairbank.cards.site.columns import (
    SUFFIX,
    encoded,
    numbers,
    write_chunk,
    write_list,
    write_packed,
    write_packed_parts,
)
from pairbank.cards.site.source import Source
from pairbank.errors import BankError
from pairbank.files import n_rows_of, parquet_batches, read_parquet
from pairbank.scoring.api.layout import MethodLayout, ScoreColumns
from pairbank.scoring.methods.prompted import prompt_of_definition
from pairbank.scoring.prompts.prompt import ANY, Prompt, primary
from pairbank.scoring.scored import MODEL
from pairbank.scoring.signature import prompts_of_table, signature_line
from pairbank.stats.report.checks import cannot_read
from pairbank.stats.report.frames import frame_of
from pairbank.stats.scored_table.method_scores import Credits, ScoredFrame, credits_of, method_scores, needed_columns
from pairbank.stats.scored_table.scored_table import GROUPINGS, PARADIGM

if TYPE_CHECKING:
    import pandas as pd

    from pairbank.arrays import BoolArray, FloatArray

OWN_FILE = 2**17
"""Characters of JSON from which a piece stands alone."""
FULL = 2**19
"""Characters of JSON at which a file of pieces is closed."""
_LOG = logging.getLogger(__name__)
PAGE_ROWS = 1_024
MOST_WHOLE_BYTES = 2**23
"""Of a table's file that is read at once: opening it again for each column takes longer than reading it."""
OTHERS_BYTES = 2**18
"""Of a page of all models' differences, before packing."""
FILTERS = ("subset", "phenomenon", "language", "task", "human_scale")
_WHOLE = ("item_id", "corpus", "human_good", "human_bad", *FILTERS)  # columns that stand in files of their own


class Packs:
    """Pieces of one kind, written to `packs/<kind>-<number>` as they come; `close` writes the last."""

    def __init__(self, folder: Path, kind: str) -> None:
        self._folder, self._kind = folder, kind
        self._pieces: dict[str, str] = {}
        self._n_characters = self._number = 0

    def put(self, name: str, columns: Mapping[str, Any]) -> str | None:
        """Take a piece; return the name of the file of pieces that it will be in, None where it got its own."""
        text = json.dumps({"columns": dict(columns)}, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        if len(text) >= OWN_FILE:
            write_packed_parts(self._folder / "models" / f"{name}{SUFFIX}", (text,))
            return None
        if self._n_characters and self._n_characters + len(text) > FULL:
            self.close()
        self._pieces[name] = text
        self._n_characters += len(text)
        return f"{self._kind}-{self._number}"

    def close(self) -> None:
        if self._pieces:
            inner = ",".join(f"{json.dumps(name)}:{text}" for name, text in self._pieces.items())
            path = self._folder / "packs" / f"{self._kind}-{self._number}{SUFFIX}"
            write_packed_parts(path, (f'{{"pieces":{{{inner}}}}}',))
            self._pieces, self._n_characters, self._number = {}, 0, self._number + 1


@dataclass(slots=True, kw_only=True)
class CorpusWritten:
    groups: dict[str, pd.Categorical] = field(default_factory=dict)
    """Column of the items -> its values, shape (items,), of those that results can be broken down by."""
    choice: BoolArray
    """Which items are a choice between two different sides."""
    deltas: dict[str, dict[str, FloatArray]] = field(default_factory=dict)
    """Method -> model's slug -> differences, shape (items,), NaN where there is none."""
    layouts: dict[str, MethodLayout] = field(default_factory=dict)
    """The methods, by name."""
    credits: dict[str, dict[str, FloatArray]] = field(default_factory=dict)
    """Method -> model's slug -> what each item earns by the definition of the method's paper (`credits_of`)."""
    unread: dict[str, str] = field(default_factory=dict)
    """Model's name -> what its tokenizer cannot read of the items, of those of which much cannot be read."""


def write_corpus(
    root: Path, source: Source, corpus: str, manifest: Mapping[str, Any], *, with_texts: bool
) -> CorpusWritten:
    """Write the files of one corpus below a site's folder; return what the others need of it."""
    folder = root / "data" / "corpora" / config_name(corpus)
    items = _Rows(path=source.path(items_path(corpus)), methods={}, with_texts=with_texts)
    tasks = set(items.different("task"))
    work = _Corpus(
        folder=folder,
        items=items,
        ids=items.column("item_id"),
        with_texts=with_texts,
        one_sided=bool(tasks) and tasks <= set(ONE_SIDED_TASKS),
        human=_human(items),
        languages=[str(x) for x in items.different("language")],
        axes=Packs(folder, "axes"),
        rows=Packs(folder, "rows"),
    )
    choice = _is_choice(items)
    _write_items(work, choice)
    signatures: Mapping[str, Any] = manifest["scores"].get(corpus, {})
    written = CorpusWritten(choice=choice, groups=_groups(items))
    for slug in sorted(signatures):
        try:
            _write_model(work, source.path(scores_path(corpus, slug)), slug, signatures[slug], written)
        except BankError as error:  # the other tables can still be looked at
            _LOG.warning("%s", error)
            work.tables[slug] = {"name": signatures[slug]["model"]["name"], "problem": str(error)}
    work.axes.close()
    work.rows.close()
    page_rows = _write_others(work, written)
    write_packed(
        folder / f"corpus{SUFFIX}",
        {
            "n_items": len(work.ids),
            "page_rows": PAGE_ROWS,
            "others_rows": page_rows,
            "one_sided": work.one_sided,
            "columns": items.names,
            "methods": work.definitions,
            "tables": work.tables,
            "has_human": {"human_good", "human_bad"} <= set(items.names),
            "human": bool(np.isfinite(work.human).any()),
        },
    )
    return written


class _Rows:
    """A table that, if large, stays in its file: columns are read when they are asked for, and rows by the page."""

    def __init__(self, *, path: Path, methods: Mapping[str, Any], with_texts: bool) -> None:
        self.path = path
        self._whole = read_parquet(path) if path.stat().st_size <= MOST_WHOLE_BYTES else None
        self.schema: pa.Schema = read_parquet(path, ()).schema if self._whole is None else self._whole.schema
        self.n_rows = n_rows_of(path) if self._whole is None else len(self._whole)
        self.names: list[str] = self.schema.names  # columns that are shown
        if not with_texts:
            import datasets

            texts = text_columns(datasets.Features.from_arrow_schema(self.schema), methods)
            self.names = [name for name in self.names if name not in texts]

    def _read(self, names: Sequence[str]) -> pa.Table:
        return read_parquet(self.path, names) if self._whole is None else self._whole.select(names)

    def column(self, name: str) -> pa.Array:
        return self._read([name])[name].combine_chunks()

    def different(self, name: str) -> list[Any]:
        values: list[Any] = self.column(name).unique().to_pylist() if name in self.names else []
        return values

    def frame(self, names: Sequence[str], methods: Sequence[str]) -> pd.DataFrame:
        return frame_of(self._read([n for n in names if n in self.schema.names]), methods)

    def pages(self, names: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the columns of so many rows, and of the next."""
        whole, starts = self._whole, range(0, max(self.n_rows, 1), PAGE_ROWS)
        if not names:
            yield from ({} for start in starts)
            return
        slices = None if whole is None else (whole.slice(start, PAGE_ROWS) for start in starts)
        for part in slices or parquet_batches(self.path, names, PAGE_ROWS):
            yield {name: encoded(part[name]) for name in names}


@dataclass(slots=True, kw_only=True)
class _Corpus:
    folder: Path
    items: _Rows
    ids: pa.Array
    with_texts: bool
    one_sided: bool
    human: FloatArray  # difference of the mean judgments, shape (items,), NaN where there is none
    languages: list[str]
    axes: Packs
    rows: Packs
    known: dict[str, int] = field(default_factory=dict)
    """A method as a signature states it -> its number among the definitions."""
    definitions: list[dict[str, Any]] = field(default_factory=list)
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)


def _human(items: _Rows) -> FloatArray:
    names = ("human_good", "human_bad")
    if not set(names) <= set(items.names):
        return np.full(items.n_rows, np.nan)
    good, bad = (items.column(name).cast(pa.float64()).to_numpy(zero_copy_only=False) for name in names)
    return np.asarray(good - bad, dtype=np.float64)


def _is_choice(items: _Rows) -> BoolArray:
    flagged = np.zeros(items.n_rows, dtype=np.bool_)
    if "flags" in items.names:
        flags = items.column("flags")
        identical = pc.equal(pc.list_flatten(flags), IDENTICAL_SIDES).to_numpy(zero_copy_only=False).astype(np.bool_)
        flagged[pc.list_parent_indices(flags).to_numpy()[identical]] = True
    return ~flagged


def _groups(items: _Rows) -> dict[str, pd.Categorical]:
    import pandas as pd

    names = [x for x in (*GROUPINGS, PARADIGM) if x in items.names and items.schema.field(x).type == pa.string()]
    groups = {}
    for name, column in ((name, items.column(name).dictionary_encode()) for name in names):
        codes = pc.fill_null(column.indices, -1).to_numpy(zero_copy_only=False)
        groups[name] = pd.Categorical.from_codes(codes, column.dictionary.to_pylist())
    return groups


def _write_items(work: _Corpus, choice: BoolArray) -> None:
    items, folder = work.items, work.folder
    write_list(folder / f"ids{SUFFIX}", "item_id", work.ids)
    filters = {name: encoded(items.column(name)) for name in FILTERS if name in items.names}
    write_chunk(folder / f"filters{SUFFIX}", filters | {"choice": numbers(choice.astype(np.int64))})
    judged = [name for name in ("human_good", "human_bad") if name in items.names]
    human: dict[str, Any] = {name: encoded(items.column(name)) for name in judged}
    if human:
        write_chunk(folder / f"human{SUFFIX}", human)
    for page, columns in enumerate(items.pages([name for name in items.names if name not in _WHOLE])):
        write_chunk(folder / "items" / f"{page}{SUFFIX}", columns)


def _write_model(work: _Corpus, path: Path, slug: str, signature: Mapping[str, Any], written: CorpusWritten) -> None:
    table = _Rows(path=path, methods=signature["methods"], with_texts=work.with_texts)
    places = _places(work.ids, table.column("item_id"), path)
    model = signature["model"]["name"]
    pieces: dict[str, str | None] = {}
    facts: dict[str, Any] = {"name": model, "n_rows": len(places), "line": signature_line(signature), "methods": []}
    for shown in prompts_of_table(read_parquet(path, ()), path):
        of_method = facts.setdefault("rendered", {}).setdefault(shown.method, {})
        of_method.setdefault(shown.presentation, {})[shown.language] = shown.text
    if not np.array_equal(places, np.arange(len(work.ids))):
        pieces["places"] = work.axes.put(f"{slug}/places", {"place": numbers(places)})
        facts["places"] = True
    axes: list[str] = []
    for name in _methods_of(table, signature):
        columns = ScoreColumns(name)
        axis = columns.good if work.one_sided and columns.good in table.names else columns.delta
        values = np.asarray(table.column(axis).cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
        piece = f"axis-{len(axes)}"
        pieces[piece] = work.axes.put(f"{slug}/{piece}", {"value": numbers(values)})
        current = np.full(len(work.ids), np.nan)
        current[places] = values
        written.deltas.setdefault(name, {})[slug] = current
        fact: dict[str, Any] = {"use": _definition(work, name, signature), "any": bool(np.isfinite(values).any())}
        if not work.one_sided:
            layout = MethodLayout.from_dict(signature["methods"][name]["layout"])
            result, credit = _credits(table, layout, written.choice[places])
            whole = np.full(len(work.ids), np.nan)
            whole[places] = credit
            written.layouts[name] = layout
            written.credits.setdefault(name, {})[slug] = whole
            if result.is_biased:
                fact["first"] = round(result.first_option, 4)
            if result.credit is not result.averaged:
                fact["credit"] = True
                pieces[f"credit-{len(axes)}"] = work.axes.put(f"{slug}/credit-{len(axes)}", {"value": numbers(credit)})
        facts["methods"].append(fact)
        axes.append(axis)
    if text := cannot_read(_with_flags(table, corpus=work.folder.name, model=model, signature=signature)):
        written.unread[model] = text
    facts["human"] = bool(np.isfinite(work.human[places]).any())
    shared = {MODEL, *work.items.names}
    rest = [name for name in table.names if name not in shared and name not in axes]
    for page, part in enumerate(table.pages(rest)):
        pieces[f"rows/{page}"] = work.rows.put(f"{slug}/rows/{page}", part)
    created = score_columns(signature["methods"])
    packed = {piece: pack for piece, pack in pieces.items() if pack is not None}
    names = [name for name in table.names if name != MODEL]
    facts |= {"axes": axes, "packs": packed, "columns": names, "own": [x for x in rest if x not in created]}
    work.tables[slug] = facts


def _credits(table: _Rows, layout: MethodLayout, rows: BoolArray) -> tuple[Credits, FloatArray]:
    """Return what a method earns on the rows that are a choice, and the same on all rows, NaN on the others."""
    frame = table.frame([*needed_columns(layout), "item_id", "flags"], [layout.method])
    result = credits_of(method_scores(frame if rows.all() else frame[rows], layout))
    credit = np.full(len(rows), np.nan)
    credit[rows] = result.credit
    return result, credit


def _with_flags(table: _Rows, *, corpus: str, model: str, signature: Mapping[str, Any]) -> ScoredFrame:
    layouts = [MethodLayout.from_dict(signature["methods"][name]["layout"]) for name in _methods_of(table, signature)]
    columns = [ScoreColumns(layout.method) for layout in layouts]
    columns_read = ["item_id", "flags", *(name for column in columns for name in (column.delta, column.flags))]
    frame = table.frame([name for name in columns_read if name in table.names], list(signature["methods"]))
    return ScoredFrame(corpus=corpus, model=model, frame=frame, layouts=tuple(layouts))


def _places(items: pa.Array, own: pa.Array, path: Path) -> np.ndarray:
    if own.equals(items):
        return np.arange(len(items))
    result = pc.index_in(own, items)
    if result.null_count:
        raise BankError(f"{path}: {result.null_count} item(s) that the corpus does not have; write the bank again")
    return np.asarray(result.to_numpy(zero_copy_only=False), dtype=np.int64)


def _methods_of(table: _Rows, signature: Mapping[str, Any]) -> list[str]:
    names = table.names
    present = [name for name in signature["methods"] if ScoreColumns(name).delta in names]
    return sorted(present, key=lambda name: names.index(ScoreColumns(name).delta))


def _definition(work: _Corpus, name: str, signature: Mapping[str, Any]) -> int:
    stated = signature["methods"][name]
    if (text := repr((name, stated["sha256"], stated.get("paper"), stated["layout"]))) in work.known:
        return work.known[text]
    layout = MethodLayout.from_dict(stated["layout"])
    definition: dict[str, Any] = {
        "name": name,
        "kind": layout.kind,
        "unit": layout.unit_in_words,
        "presentations": list(layout.presentations),
        "options": list(layout.options),
        "correct": list(layout.correct),
        "is_prompted": layout.is_prompted,
        "paper": stated.get("paper", ""),
        "sha256": stated["sha256"],
    }
    prompt = prompt_of_definition(name, stated)
    if prompt is not None and work.with_texts:
        definition["prompt"] = _prompt(prompt, work.languages)
    if definition not in work.definitions:
        work.definitions.append(definition)
    work.known[text] = work.definitions.index(definition)
    return work.known[text]


def _prompt(prompt: Prompt, languages: list[str]) -> dict[str, Any]:
    tags = {ANY, *map(primary, languages)}
    presentations = [
        {
            "name": presentation.name,
            "template": {tag: text for tag, text in presentation.template.items() if tag in tags},
            "stem": {tag: text for tag, text in presentation.stem.items() if tag in tags},
            "when": dict(presentation.when),
        }
        for presentation in prompt.presentations
    ]
    separators = {tag: separator(tag) for tag in languages}
    return {"join": prompt.join, "presentations": presentations, "separators": separators}


def _write_others(work: _Corpus, written: CorpusWritten) -> int:
    """Write all models' differences by page of items; return how many rows a page has."""
    slugs = [slug for slug, facts in work.tables.items() if "problem" not in facts]
    if len(slugs) < 2:
        return 0
    held = [(method, slug) for method, values in written.deltas.items() for slug in slugs if slug in values]
    columns = {f"{method}~{slug}": written.deltas[method][slug] for method, slug in held}
    n_rows = min(PAGE_ROWS, max(32, OTHERS_BYTES // (8 * len(columns))))
    for page, start in enumerate(range(0, len(work.ids), n_rows)):
        part = {name: numbers(values[start : start + n_rows]) for name, values in columns.items()}
        write_chunk(work.folder / "others" / f"{page}{SUFFIX}", part)
    return n_rows
