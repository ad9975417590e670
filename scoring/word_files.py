"""Files of `pairbank words`: texts in, tables out, and a table of reading times beside the words.

A text file has one text per line. A table (.csv, .tsv, .parquet) has one text per row, or one word per row with the
text that it belongs to: self-paced reading and eye tracking come so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pandas as pd

from pairbank.errors import ScoringError
from pairbank.files import reading, replaced_atomically
from pairbank.scoring.words import Text, text_in_words, text_of_words

TEXT_COLUMNS = ("text", "sentence")
TABLES = (".csv", ".tsv", ".parquet")
NUMBER_COLUMNS = re.compile(
    r"(word|token|region|sentence)?_?(number|num|nr|no|index|position|pos|order)", re.IGNORECASE
)
"""Names of columns that say where in its text a word is."""


def read_table(path: Path) -> pd.DataFrame:
    """Return a table as text, .csv, .tsv or .parquet."""
    if path.suffix not in TABLES:
        raise ScoringError(f"{path}: expected a table ({', '.join(TABLES)})")
    with reading(path, ScoringError, saying="cannot be read", remedy="save it as UTF-8"):
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
        separator = "\t" if path.suffix == ".tsv" else None
        return pd.read_csv(path, sep=separator, engine="python", encoding="utf-8-sig", keep_default_na=False, dtype=str)


def read_texts(
    path: Path,
    *,
    text: str | None = None,
    word: str | None = None,
    text_id: str | None = None,
    region: str | None = None,
    language: str = "en",
) -> list[Text]:
    """Return the texts of a file.

    A table of words may have one row per observation (participants repeat the words) if a column numbers the words.
    """
    if path.suffix == ".txt":
        with reading(path, ScoringError, remedy="save it as UTF-8"):
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        results = [text_in_words(str(n), line, language=language) for n, line in enumerate(lines, 1) if line.strip()]
    else:
        table = read_table(path)
        results = (
            _by_text(table, path, text=text, text_id=text_id, language=language)
            if word is None
            else _by_word(table, path, word=word, text_id=text_id, region=region, language=language)
        )
    if not results:
        raise ScoringError(f"{path}: no text; expected a text per line or row")
    return results


def _column(table: pd.DataFrame, name: str, path: Path) -> pd.Series[str]:
    """Return a column as text; of several that are named with commas, their cells joined by a slash."""
    parts = [name] if name in table else [part.strip() for part in name.split(",")]
    if missing := next((part for part in parts if part not in table), None):
        raise ScoringError(f"{path}: no column {missing!r}; it has {', '.join(map(str, table.columns))}")
    if len(parts) == 1:
        return table[parts[0]].astype(str)
    return pd.concat([table[part].astype(str).str.strip() for part in parts], axis=1).agg("/".join, axis=1)


def _by_text(table: pd.DataFrame, path: Path, *, text: str | None, text_id: str | None, language: str) -> list[Text]:
    name = text or next((value for value in TEXT_COLUMNS if value in table), None)
    if name is None:
        raise ScoringError(
            f"{path}: which column is the text? It has {', '.join(map(str, table.columns))}: name it with --text, or "
            "the column of words with --word and that of their text with --id"
        )
    texts = _column(table, name, path)
    ids = [str(n) for n in range(1, len(table) + 1)] if text_id is None else _column(table, text_id, path).tolist()
    if text_id is not None and len(set(ids)) < len(ids):
        twice = next(entry for entry in ids if ids.count(entry) > 1)
        raise ScoringError(f"{path}: {text_id} {twice!r} stands in several rows; expected one text per row")
    return [text_in_words(i, member, language=language) for i, member in zip(ids, texts, strict=True) if member.strip()]


def _by_word(
    table: pd.DataFrame, path: Path, *, word: str, text_id: str | None, region: str | None, language: str
) -> list[Text]:
    if text_id is None:
        raise ScoringError(f"{path}: a row is a word; name the column that says which text it belongs to (--id)")
    ids, texts = _column(table, text_id, path), _column(table, word, path).str.strip()
    regions = pd.Series("", index=table.index) if region is None else _column(table, region, path)
    if len(once := _once(table, ids, texts, text_id, path)) < len(table):
        table, ids, texts, regions = table.loc[once], ids.loc[once], texts.loc[once], regions.loc[once]
    for name, numbers in _numbers(table):
        by_text = numbers.groupby(ids, sort=False)
        if falling := next((text for text, places in by_text if (places.diff() < 0).any()), None):
            raise ScoringError(
                f"{path}: {name} falls within text {falling!r}; rows are read as they are: sort them in reading order, "
                f"or rename the column if it numbers something else"
            )
    return [
        text_of_words(str(name), texts[rows].tolist(), regions[rows].tolist(), language=language)
        for name, rows in table.groupby(ids, sort=False).groups.items()
    ]


def _numbers(table: pd.DataFrame) -> Iterator[tuple[str, pd.Series[float]]]:
    """Yield each column that numbers the words, with its name."""
    for name in map(str, table.columns):
        if NUMBER_COLUMNS.fullmatch(name):
            yield name, pd.to_numeric(table[name], errors="coerce")


def _once(table: pd.DataFrame, ids: pd.Series[str], words: pd.Series[str], text_id: str, path: Path) -> pd.Index[int]:
    """Return one row per word, in reading order, of a table with one row per observation; else all rows.

    A table has observations if a number of a word is in several rows of its text.
    """
    for _, numbers in _numbers(table):
        places = pd.DataFrame({"text": ids, "number": numbers, "word": words})
        if numbers.isna().any() or not places.duplicated(["text", "number"]).any():
            continue
        first = places.drop_duplicates(["text", "number"])
        different = places.drop_duplicates()
        if len(twice := different[different.duplicated(["text", "number"], keep=False)]):
            text, number = twice[["text", "number"]].iloc[0]
            known = twice[(twice["text"] == text) & (twice["number"] == number)]["word"].head(2)
            raise ScoringError(
                f"{path}: word {number:g} of text {text!r} is {' and '.join(map(repr, known))}; name all columns that "
                f"tell texts apart, as in --id {text_id},condition"
            )
        order = first["text"].drop_duplicates().reset_index(drop=True)
        ranks = first["text"].map({text: rank for rank, text in order.items()})
        return first.assign(rank=ranks).sort_values(["rank", "number"], kind="stable").index
    return table.index


def joined(table: pd.DataFrame, times: pd.DataFrame, *, by: tuple[str, str], path: Path) -> pd.DataFrame:
    """Return the rows of a table of reading times, in their order, each with the columns of its word."""
    ids, places = (_column(times, name, path).str.strip() for name in by)
    numbered = bool(places.str.fullmatch(r"\d+(\.0+)?").all())
    key = "word_number" if numbered else "word"
    requested = pd.DataFrame({"text_id": ids, key: places.astype(float).astype(int) if numbered else places})
    known = table[["text_id", key]].drop_duplicates()
    missing = requested[~pd.MultiIndex.from_frame(requested).isin(pd.MultiIndex.from_frame(known))]
    if len(missing):
        first = missing.iloc[0]
        raise ScoringError(
            f"{path}, row {missing.index[0] + 2}: no word {str(first[key])!r} in a text {first['text_id']!r} "
            f"({len(missing):,} rows have none); expected ids and words as in the texts"
        )
    several = table[table.duplicated(["model", "text_id", key])].merge(requested, on=["text_id", key])
    if len(several):
        first = several.iloc[0]
        raise ScoringError(
            f"{path}: the word {first['word']!r} stands twice in text {first['text_id']!r}; name words by their "
            "number: --by ID,NUMBER"
        )
    result = times.assign(_text=requested["text_id"], _place=requested[key]).merge(
        table.assign(_text=table["text_id"], _place=table[key]).drop(columns=[c for c in by if c in table]),
        on=["_text", "_place"],
        how="left",
        sort=False,
        suffixes=("", "_pairbank"),
    )
    return result.drop(columns=["_text", "_place"])


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write a table as .csv (for R), .tsv, .parquet or .jsonl, whole or not at all."""
    if path.suffix not in (*TABLES, ".jsonl"):
        raise ScoringError(f"{path}: expected a file name with {', '.join(TABLES)} or .jsonl")
    write = {
        ".parquet": partial(table.to_parquet, index=False),
        ".jsonl": partial(table.to_json, orient="records", lines=True, force_ascii=False),
        ".csv": partial(table.to_csv, index=False),
        ".tsv": partial(table.to_csv, index=False, sep="\t"),
    }[path.suffix]
    with replaced_atomically(path) as temporary:
        write(temporary)
