"""What a bank's files hold, for its card: in, its parquet files; out, columns, an example, lengths, who judged.

Texts of corpora that may not be published give numbers only, never an example. Columns of methods are listed once for
all methods that have them, as `METHOD_good`.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike

from pairbank.builders.corpora.registry import CORPORA
from pairbank.builders.ratings import RATING_COLUMNS
from pairbank.builders.schema.columns import COLUMNS
from pairbank.builders.schema.language_tags import joined
from pairbank.builders.schema.unseen import UNSEEN_FLAGS
from pairbank.cards.bank.layout import LONG, config_name, items_path, long_path, ratings_path, scores_path, signatures
from pairbank.cards.bank.redistribution import TEXTS, is_left_out, may_publish, score_columns
from pairbank.cards.bank.tables import LONG_COLUMNS
from pairbank.markdown import shown
from pairbank.scoring.api.layout import SIDES, MethodLayout, ScoreColumns, columns_of
from pairbank.stats.wording import magnitude, number

TYPES = {"double": "float64", "float": "float32"}
"""Arrow's names of types that have another one everywhere else."""
EXAMPLE_CHARACTERS = 300
"""A text of an example is cut here."""
EXAMPLE_ROWS = 256
"""The example is looked for among so many rows."""
_JUDGED = ("human_good", "human_bad", "human_scale", "human_n")
WORDS: Mapping[str, Any] = tomllib.loads(
    (resources.files("pairbank.cards.card") / "words.toml").read_text(encoding="utf-8")
)
"""The words of cards and Croissant files: uses and limits, what columns and flags mean."""
FLAG_MEANINGS: Mapping[str, str] = {**WORDS["item_flags"], **UNSEEN_FLAGS, **WORDS["score_flags"]}
MEANINGS: Mapping[str, tuple[str, str]] = {name: tuple(words) for name, words in WORDS["method_columns"].items()}
"""Ending of a method's column -> unit and meaning; the unit "score" is the method's own."""
OTHERS: Mapping[str, tuple[str, str]] = {name: tuple(words) for name, words in WORDS["other_columns"].items()}
"""Columns that are neither in the schema nor a method's."""
SUMMARY: Mapping[str, str] = WORDS["summary_columns"]
RATINGS: Mapping[str, tuple[str, str]] = {column.name: ("", column.meaning) for column in RATING_COLUMNS}
"""Columns of a config of individual raters' ratings."""
METHOD = "METHOD"
"""Stands for a method's name."""
UNITS = {"human_good": "points of human_scale", "human_bad": "points of human_scale", "human_n": "people"}
UNDESCRIBED = "as in the file that the corpus was read from"
THIS_BANK = "THIS_BANK"
"""Stands on the card of a bank that has no name on the Hub."""
TAGS = ("linguistics", "minimal-pairs", "acceptability", "surprisal", "benchmark", "pairbank")
VERSION_MODULUS = 2**24


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    scale: str
    n_items: int
    raters: str
    """People an item: median and 5th to 95th percentile; "" where the source does not say it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    items: Mapping[str, str]
    """Column -> type, of the items."""
    scored: Mapping[str, str]
    """Column -> type, of a model's table; all have the same columns. Empty where no model was scored."""
    example: Mapping[str, Any] | None
    """One row of the items, with a model's scores where there are some; None where its texts stay here."""
    characters: str
    """Of a side, context and target together, as `raters`; "" where the bank has no texts."""
    edits: str
    """Characters to insert, delete or replace to make one side of the other; "" where items have one side."""
    judged: tuple[Judged, ...] = ()
    languages: tuple[str, ...] = ()
    """Of the items that are here, which may be fewer than the corpus has."""


def contents_of(root: Path, manifest: Mapping[str, Any]) -> dict[str, Contents]:
    return {corpus: _contents(root, corpus, manifest) for corpus in manifest["corpora"]}


def columns_in(path: Path) -> dict[str, str]:
    return {field.name: type_name(field.type) for field in pq.read_schema(path)}


def type_name(kind: pa.DataType) -> str:
    """Return what a type is called on the card: `float64`, `list<string>`."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"list<{type_name(kind.value_type)}>"
    return TYPES.get(str(kind), str(kind))


def _contents(root: Path, corpus: str, manifest: Mapping[str, Any]) -> Contents:
    from rapidfuzz.distance import Levenshtein

    facts, scores = manifest["corpora"][corpus], manifest["scores"].get(corpus, {})
    path = root / items_path(corpus)
    columns = columns_in(path)
    columns_read = [name for name in (*TEXTS, "language", *_JUDGED) if name in columns]
    table = pq.read_table(path, columns=columns_read, partitioning=None)
    model = min(scores, default="")
    is_shown = may_publish(corpus, facts) and not is_left_out(facts)
    sides = _sides(table)
    pairs = [(a, b) for a, b in zip(*sides, strict=True) if a is not None and b is not None]
    return Contents(
        items=columns,
        scored=columns_in(root / scores_path(corpus, model)) if model else {},
        example=_example(root, corpus, manifest) if is_shown else None,
        characters=_spread([len(text) for texts in sides for text in texts if text is not None]),
        edits=_spread([Levenshtein.distance(*pair) for pair in pairs]),
        judged=_judged(table),
        languages=tuple(sorted(set(table["language"].to_pylist()))) if "language" in columns else (),
    )


def _sides(table: pa.Table) -> list[list[str | None]]:
    """Return the whole strings of both sides, None where there is none; nothing where the texts are left out."""
    if not {*TEXTS, "language"} <= set(table.column_names):
        return []
    columns, sides = table.to_pydict(), []
    for side in SIDES:
        rows = zip(columns[f"context_{side}"], columns[f"target_{side}"], columns["language"], strict=True)
        sides.append([None if text is None else joined(context or "", text, tag) for context, text, tag in rows])
    return sides


def _spread(numbers: ArrayLike) -> str:
    """Return the median of some numbers, and their 5th and 95th percentile."""
    if not np.size(numbers):
        return ""
    low, median, high = (number(x, digits=0) for x in np.quantile(np.asarray(numbers, np.float64), (0.05, 0.5, 0.95)))
    return f"{median} ({low} to {high})"


def _judged(table: pa.Table) -> tuple[Judged, ...]:
    if not set(_JUDGED) <= set(table.column_names):
        return ()
    frame = table.select(_JUDGED).to_pandas()
    rated = frame[frame["human_good"].notna() | frame["human_bad"].notna()]
    return tuple(
        Judged(scale=str(scale), n_items=len(rows), raters=_spread(rows["human_n"].dropna().to_numpy()))
        for scale, rows in rated.assign(human_scale=rated["human_scale"].fillna("")).groupby("human_scale")
    )


def _example(root: Path, corpus: str, manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    row = next((row for row in _first_rows(root / items_path(corpus)) if not row.get("flags")), None)
    if row is None:
        return None
    results = {name: _shown(value) for name, value in row.items() if value not in (None, [])}
    scores = manifest["scores"].get(corpus, {})
    if slug := min(scores, default=""):
        columns = score_columns(scores[slug]["methods"])
        scored_rows = _first_rows(root / scores_path(corpus, slug))
        same = next((scored for scored in scored_rows if scored["item_id"] == row["item_id"]), {})
        results |= {name: _shown(value) for name, value in same.items() if name in columns and value not in (None, [])}
    return results


def _first_rows(path: Path) -> list[dict[str, Any]]:
    batch = next(pq.ParquetFile(path).iter_batches(batch_size=EXAMPLE_ROWS), None)
    return [] if batch is None else batch.to_pylist()


def _shown(value: Any) -> Any:  # noqa: ANN401 - a cell of any type
    """Return a cell as JSON that a reader takes in: numbers of five digits, long texts cut.

    >>> _shown([-1.23456789, float("nan")]), _shown("x" * 400)[-2:]
    ([-1.2346, None], 'x…')
    """
    if isinstance(value, float):
        return float(magnitude(value, digits=5)) if math.isfinite(value) else None
    if isinstance(value, str) and len(value) > EXAMPLE_CHARACTERS:
        return f"{value[:EXAMPLE_CHARACTERS]}…"
    if isinstance(value, list):
        return [_shown(part) for part in value]
    return value


def flags_in(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the flags that a bank's items or scores have, as far as they are told, and what each means."""
    counts = [facts.get("n_by_flag") or {} for facts in manifest["corpora"].values()]
    counts += [count for signature in signatures(manifest) for count in (signature.get("n_by_flag") or {}).values()]
    results = {flag for count in counts if isinstance(count, Mapping) for flag, n in count.items() if n}
    return {flag: meaning for flag, meaning in FLAG_MEANINGS.items() if flag in results}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A column, or one column of each of some methods."""

    column: str
    type: str
    unit: str
    meaning: str
    where: tuple[str, ...] = ()
    """Corpora that have it, where it is not in all of them; of a method's column, the methods."""


def dictionary(manifest: Mapping[str, Any], contents: Mapping[str, Contents]) -> list[Entry]:
    return [*_items(contents), *_scores(manifest, contents)]


def described(manifest: Mapping[str, Any], contents: Mapping[str, Contents]) -> dict[str, Entry]:
    columns = dict(RATINGS) if manifest.get("ratings") else {}
    columns |= {name: ("", meaning) for name, meaning in LONG_COLUMNS.items()} if manifest.get(LONG) else {}
    results = {name: Entry(column=name, type="", unit=unit, meaning=what) for name, (unit, what) in columns.items()}
    for column in dictionary(manifest, contents):
        if column.column.startswith(f"{METHOD}_"):
            names = (column.column.replace(METHOD, method, 1) for method in column.where)
            results |= dict.fromkeys(names, column)
        else:
            results[column.column] = column
    return results


def _items(contents: Mapping[str, Contents]) -> Iterator[Entry]:
    shared = {column.name: column.meaning for column in COLUMNS}
    results: dict[tuple[str, str, str], list[str]] = {}
    for corpus, held in contents.items():
        extra = CORPORA[corpus].extra_columns if corpus in CORPORA else ()
        own_meanings = {column.name: column.meaning for column in extra}
        for name, kind in held.items.items():
            known = shared.get(name) or OTHERS.get(name, ("", ""))[1] or own_meanings.get(name) or UNDESCRIBED
            results.setdefault((name, kind, known), []).append(corpus)
    for (name, kind, meaning), corpora in results.items():
        everywhere = len(corpora) == len(contents)
        unit = UNITS.get(name) or OTHERS.get(name, ("", ""))[0]
        yield Entry(column=name, type=kind, unit=unit, meaning=meaning, where=() if everywhere else tuple(corpora))


def _scores(manifest: Mapping[str, Any], contents: Mapping[str, Contents]) -> Iterator[Entry]:
    """Yield what scored tables have beside the items' columns, one entry for all methods that have the same."""
    results: dict[tuple[str, str, str, str], list[str]] = {}
    for corpus, held in contents.items():
        models = manifest["scores"].get(corpus, {})
        if not models:
            continue
        methods = models[min(models)]["methods"]
        declared = {name: definition.get("columns", ()) for name, definition in methods.items()}
        owned = columns_of(methods, held.scored, declared=declared)
        owners = {column: method for method, columns in owned.items() for column in columns}
        for name, kind in held.scored.items():
            if name in owners:
                key, where = _of_method(name, kind, owners[name], methods[owners[name]]), owners[name]
            elif name not in held.items:
                key, where = (name, kind, *OTHERS.get(name, ("", UNDESCRIBED))), corpus
            else:
                continue
            results.setdefault(key, []).append(where)
    for (name, kind, unit, meaning), owned_by in results.items():
        is_general = not name.startswith(f"{METHOD}_") and len(owned_by) == len(contents)
        names = () if is_general else tuple(dict.fromkeys(owned_by))
        yield Entry(column=name, type=kind, unit=unit, meaning=meaning, where=names)


def _of_method(name: str, kind: str, method: str, definition: Mapping[str, Any]) -> tuple[str, str, str, str]:
    ending = name.removeprefix(f"{method}_")
    if name not in ScoreColumns(method).all:
        return name, kind, "", f"of the method {method}: its definition says what it is"
    unit, meaning = MEANINGS[ending]
    unit_of_method = MethodLayout.from_dict(definition["layout"]).unit_in_words
    return f"{METHOD}_{ending}", kind, unit_of_method if unit == "score" else unit, meaning


@dataclass(frozen=True, slots=True, kw_only=True)
class Bank:
    manifest: Mapping[str, Any]
    summary: pd.DataFrame | None
    figures: Mapping[str, str] = field(default_factory=dict)
    """Path in the bank of a report's figure -> its caption."""
    contents: Mapping[str, Contents] = field(default_factory=dict)
    """Corpus -> what its tables hold."""
    columns: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Config -> column -> type."""
    has_rendered: bool = False
    """It has the prompts as models read them."""


def pretty_name(manifest: Mapping[str, Any]) -> str:
    """Return the bank's title: its own, else the corpora's, or their number where there are many."""
    corpora: Mapping[str, Any] = manifest["corpora"]
    if title := manifest.get("title"):
        return shown(str(title), limit=200)
    titles = [shown(str(facts.get("title") or name), limit=60) for name, facts in corpora.items()]
    return f"pairbank: {', '.join(titles)}" if len(titles) <= 4 else f"pairbank: {len(titles)} corpora"


def configs_of(manifest: Mapping[str, Any], hashes: Mapping[str, str]) -> list[dict[str, Any]]:
    configs: list[dict[str, Any]] = []
    for name in manifest["corpora"]:
        config = config_name(name)
        configs.append(_config(config, {"items": items_path(name)}, hashes))
        if models := manifest["scores"].get(name, {}):
            splits = {slug: scores_path(name, slug) for slug in sorted(models)}
            configs.append(_config(f"{config}_scored", splits, hashes))
            if manifest.get(LONG):
                long = {slug: long_path(name, slug) for slug in sorted(models)}
                configs.append(_config(long_config(manifest, name), long, hashes))
        if name in manifest.get("ratings", {}):
            configs.append(_config(f"{config}_ratings", {"ratings": ratings_path(name)}, hashes))
    if manifest["scores"]:
        configs.append(_config("summary", {"results": "results/summary.parquet"}, hashes))
    first_scored = next((c for c in configs if c["config_name"].endswith("_scored")), configs[0])
    first_scored["default"] = True
    return configs


def long_config(manifest: Mapping[str, Any], corpus: str) -> str:
    """Return the config of a corpus's long view; no other corpus is called so."""
    name = f"{config_name(corpus)}_long"
    return f"{name}_view" if name in {config_name(other) for other in manifest["corpora"]} else name


def _config(name: str, splits: Mapping[str, str], hashes: Mapping[str, str]) -> dict[str, Any]:
    patch = int("".join(hashes[path][:6] for path in splits.values()), 16) % VERSION_MODULUS
    return {
        "config_name": name,
        "version": f"1.0.{patch}",
        "data_files": [{"split": split, "path": path} for split, path in splits.items()],
    }
