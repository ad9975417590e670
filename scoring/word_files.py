"""Files of `pairbank words`: texts in, tables out, and a table of reading times beside the words.

A text file has one text per line. A table has one text per row, or one word per row with the text that it belongs to:
self-paced reading and eye tracking come so, often with the rows of all participants below each other. Each text is
then read once; that needs a column that numbers its words, for a text may repeat a sentence itself.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from pairbank.builders.sources.readers import encoding_of, text_lines
from pairbank.builders.sources.tables import SUFFIXES, open_table
from pairbank.errors import ScoringError
from pairbank.files import read_parquet, replaced_atomically
from pairbank.scoring.api.names import PARTICIPANT_COLUMNS
from pairbank.scoring.texts import Text, plain_word, text_in_words, text_of_words

logger = logging.getLogger(__name__)

WRITTEN = (".csv", ".tsv", ".parquet", ".jsonl")
TEXT_COLUMNS = ("text", "sentence")
NUMBER_COLUMNS = re.compile(
    r"(word|token|region|sentence)?_?(number|num|nr|no|index|position|pos|order)", re.IGNORECASE
)
"""Names of columns that say where in its text a word is."""
WORD_NUMBERS = re.compile(r"(word|token)_?(number|num|nr|no|index|position|pos|order)", re.IGNORECASE)
"""Those that say it of words beyond doubt: numbers that never repeat in a text are those of one copy."""
OF_PARTICIPANTS, OF_OTHERS = 0.5, 0.9
"""Of the words of a copy, those that another copy has too, at least: participants may have read two conditions; rows
that another column tells apart may be sentences of one story, which can be much alike."""
OF_PARTS = 0.8
"""Of the rows that a column parts, those that have to be copies."""
WORD_COLUMNS = re.compile(r"words?|token", re.IGNORECASE)
"""Names of columns of reading times that have the word."""
SHIFTS, MOSTLY, SHIFTED = (0, 1, -1, 2, -2), 0.9, 0.7
"""Numbers of words are shifted by these; shares of words that agree if texts are the same, and if one is shifted."""
OTHER_WORD = "other_word"
"""Flag: the reading time is of another word than the text has there."""
SHORTEST_COPY = 3
"""Words of a text that stands several times below itself, where no column tells the copies apart."""

TABLES = {
    "reading": {"model", "text_id", "word_number", "surprisal_bits"},
    "participants": {"model", "rater", "trial", "loglik_nats"},
    "self_prediction": {"predictor", "target", "item", "prediction", "behaviour"},
}
"""Analysis -> columns by which its table is known."""
TEXTS = dict.fromkeys(("text_id", *TABLES["self_prediction"]), str)


def read_table(path: Path, *, encoding: str | None = None) -> pd.DataFrame:
    """Return a table, text cells as they are; its index has the rows' numbers in the file."""
    if path.suffix.lower() not in SUFFIXES:
        raise ScoringError(f"{path}: expected a table ({', '.join(SUFFIXES)})")
    table = open_table(path, encoding=encoding)
    for note in table.notes:
        logger.warning("%s: %s", path.name, note)
    columns: dict[str, list[object]] = {name: [] for name in table.columns}
    numbers = []
    for number, row in table.rows():
        numbers.append(number)
        for name, cells in columns.items():
            cells.append(row.get(name))
    return pd.DataFrame(columns, index=pd.Index(numbers))


def read_texts(
    path: Path,
    *,
    text: str | None = None,
    word: str | None = None,
    text_id: str | None = None,
    number: str | None = None,
    region: str | None = None,
    language: str = "en",
    encoding: str | None = None,
) -> list[Text]:
    if path.suffix == ".txt":
        codec, _ = encoding_of(path, encoding)
        lines = (line.rstrip("\r\n") for line in text_lines(path, codec, newline=""))
        texts = [text_in_words(str(n), line, language=language) for n, line in enumerate(lines, 1) if line.strip()]
    elif word is None:
        table = read_table(path, encoding=encoding)
        texts = _by_text(table, path, text=text, text_id=text_id, language=language)
    else:
        table = read_table(path, encoding=encoding)
        texts = _by_word(table, path, word=word, text_id=text_id, number=number, region=region, language=language)
    if not texts:
        raise ScoringError(f"{path}: no text; expected a text per line or row")
    return texts


def numbers_words(path: Path, column: str, *, encoding: str | None = None) -> bool:
    """Return whether a file has a column, by which times are joined, with a number in each row."""
    table = read_table(path, encoding=encoding) if path.suffix in SUFFIXES else pd.DataFrame()
    return column in table and bool(pd.to_numeric(table[column], errors="coerce").notna().all())


def _column(table: pd.DataFrame, name: str, path: Path) -> pd.Series[str]:
    """Return a column as text; of several that are named with commas, their cells joined by a slash."""
    parts = [name] if name in table else [part.strip() for part in name.split(",")]
    if missing := next((part for part in parts if part not in table), None):
        raise ScoringError(f"{path}: no column {missing!r}; it has {', '.join(map(str, table.columns))}")
    columns = [table[part].astype(object).where(table[part].notna(), "").astype("str") for part in parts]
    return columns[0] if len(parts) == 1 else pd.concat([c.str.strip() for c in columns], axis=1).agg("/".join, axis=1)


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
        twice = next(name for name, n in Counter(ids).items() if n > 1)
        raise ScoringError(f"{path}: {text_id} {twice!r} occurs in several rows; expected one text per row")
    return [text_in_words(name, text, language=language) for name, text in zip(ids, texts, strict=True) if text.strip()]


def _by_word(
    table: pd.DataFrame,
    path: Path,
    *,
    word: str,
    text_id: str | None,
    number: str | None,
    region: str | None,
    language: str,
) -> list[Text]:
    if text_id is None:
        raise ScoringError(f"{path}: a row is a word; name the column that says which text it belongs to (--id)")
    ids, words = _column(table, text_id, path), _column(table, word, path).str.strip()
    regions = pd.Series("", index=table.index) if region is None else _column(table, region, path)
    rows = pd.DataFrame({"text": ids, "word": words, "region": regions})
    numbers = {name: column for name, column in _numbers(table, path, number) if column.notna().all()}
    repeated = [name for name in numbers if rows.assign(number=numbers[name]).duplicated(["text", "number"]).any()]
    if repeated:
        name = next((name for name in repeated if not len(_contradictions(rows, numbers[name]))), repeated[0])
        rows = _once(rows, name, numbers[name], text_id, path)
        _warn_of_gaps(rows, name, path)
    else:
        is_numbered = number is not None or any(map(WORD_NUMBERS.fullmatch, numbers))
        if not is_numbered and (copies := _copies(table, rows, {*text_id.split(","), word, region or ""})):
            raise ScoringError(f"{path}: {copies}")
        for name, column in numbers.items():
            by_text = column.groupby(rows["text"], sort=False)
            if falling := next((text for text, places in by_text if (places.diff() < 0).any()), None):
                raise ScoringError(
                    f"{path}: {name} falls within text {falling!r}; rows are read as they are: sort them in reading "
                    "order, or rename the column if it numbers something else"
                )
        if through := number or next(filter(WORD_NUMBERS.fullmatch, numbers), None):
            rows = rows.assign(number=numbers[through])
            _warn_of_gaps(rows, through, path)
    return [
        replace(
            text_of_words(str(name), of_text["word"].tolist(), of_text["region"].tolist(), language=language),
            numbers=tuple(of_text["number"].astype(int)) if "number" in of_text else (),
        )
        for name, of_text in rows.groupby("text", sort=False)
    ]


def _warn_of_gaps(rows: pd.DataFrame, name: str, path: Path) -> None:
    """Say which texts lack words by their numbers: what follows is read without these words."""
    numbers = {str(text): set(of_text) for text, of_text in rows.groupby("text", sort=False)["number"]}
    first = Counter(min(of_text) for of_text in numbers.values()).most_common(1)[0][0]
    lacking = {t: n for t, of_text in numbers.items() if (n := {*range(int(first), int(max(of_text)))} - of_text)}
    if lacking and len(lacking) < len(numbers):
        text = next(iter(lacking))
        logger.warning(
            "%s: by %s, %d of %d texts lack words (text %s: %d); surprisal of the words after them is computed "
            "without them",
            path.name,
            name,
            len(lacking),
            len(numbers),
            text,
            min(lacking[text]),
        )


def _numbers(table: pd.DataFrame, path: Path, stated: str | None) -> Iterator[tuple[str, pd.Series[float]]]:
    """Yield the column that numbers the words, or where none is stated each one that is called so, with its name."""
    if stated is not None and stated not in table:
        raise ScoringError(f"{path}: no column {stated!r}; it has {', '.join(map(str, table.columns))}")
    for name in map(str, table.columns):
        if name == stated or (stated is None and NUMBER_COLUMNS.fullmatch(name)):
            column = pd.to_numeric(table[name], errors="coerce")
            if stated is not None and column.isna().any():
                row = column.index[column.isna()][0]
                raise ScoringError(
                    f"{path}, row {row}: {table[name][row]!r} in {name}, which is to number the words; expected a "
                    "number in each row"
                )
            yield name, column


def _contradictions(rows: pd.DataFrame, numbers: pd.Series[float]) -> pd.DataFrame:
    different = rows.assign(number=numbers).drop_duplicates(["text", "number", "word"])
    return different[different.duplicated(["text", "number"], keep=False)]


def _once(rows: pd.DataFrame, name: str, numbers: pd.Series[float], text_id: str, path: Path) -> pd.DataFrame:
    """Return one row per word, in reading order, of a table with one row per observation."""
    if len(twice := _contradictions(rows, numbers)):
        text, number = twice[["text", "number"]].iloc[0]
        words = twice[(twice["text"] == text) & (twice["number"] == number)]["word"].head(2)
        raise ScoringError(
            f"{path}: word {number:g} of text {text!r} (by {name}) is {' and '.join(map(repr, words))}; name all "
            f"columns that tell texts apart, as in --id {text_id},condition"
        )
    first = rows.assign(number=numbers).drop_duplicates(["text", "number"])
    return first.assign(rank=pd.factorize(first["text"])[0]).sort_values(["rank", "number"], kind="stable")


def _copies(table: pd.DataFrame, rows: pd.DataFrame, taken: set[str]) -> str | None:
    """Return which text stands several times below itself, and what to do; None where none does.

    Participants' copies are those that a column tells apart, all with the words of the longest one. A story that
    repeats some of its sentences has no copies, whether or not a column numbers its sentences.
    """
    others = [name for name in map(str, table.columns) if name not in {part.strip() for part in taken}]
    for name in others:
        least = OF_PARTICIPANTS if PARTICIPANT_COLUMNS.search(name) else OF_OTHERS
        several = {text: parts for text, parts in _parts(rows, table[name]).items() if len(parts) > 1}
        copied = [text for text, parts in several.items() if _are_copies(parts, least)]
        if copied and len(copied) * 2 >= len(several):
            parts = several[copied[0]]
            return (
                f"text {copied[0]!r} is there {len(parts)} times, once for each {name} ({' '.join(parts[0][:4])} …), "
                f"and would be read as one long text; {_remedy(table, rows, others)}"
            )
    by_text = {text: parts[0] for text, parts in _parts(rows, pd.Series("", index=rows.index)).items()}
    n_copies = {text: n for text, words in by_text.items() if (n := _n_copies(words)) > 1}
    if n_copies and len(n_copies) * 2 >= len(by_text):
        text, n = next(iter(n_copies.items()))
        return (
            f"text {text!r} is the same {len(by_text[text]) // n} words {n} times, and would be read as one long text; "
            f"{_remedy(table, rows, others)}; if the text itself repeats them, number its words through"
        )
    return None


def _parts(rows: pd.DataFrame, column: pd.Series[Any]) -> dict[str, list[list[str]]]:
    """Return the words of each text by the values of a column; nothing if most rows have a value of their own."""
    parts = rows.groupby([rows["text"], column.rename("value")], sort=False, dropna=False)["word"].agg(list)
    if len(rows) < 2 * len(parts):
        return {}
    return {str(text): of_text.tolist() for text, of_text in parts.groupby(level=0, sort=False)}


def _are_copies(parts: Sequence[Sequence[str]], least: float) -> bool:
    longest = max(parts, key=len)
    n_alike = sum(
        part[0] == longest[0] and (Counter(part) & Counter(longest)).total() > least * len(part) for part in parts
    )
    return len(longest) > 1 and n_alike > max(1, OF_PARTS * len(parts))


def _n_copies(words: Sequence[str]) -> int:
    """Return how many times the same words are there: below each other, or each of them several times.

    >>> _n_copies("The dog barked The dog barked".split()), _n_copies("The The dog dog barked barked".split())
    (2, 2)
    >>> _n_copies("Go away Go away The dog barked".split())
    1
    """
    for n in range(len(words) // SHORTEST_COPY, 1, -1):
        size, rest = divmod(len(words), n)
        if not rest and ([*words[:size]] * n == [*words] or [w for w in words[::n] for _ in range(n)] == [*words]):
            return n
    return 1


def _remedy(table: pd.DataFrame, rows: pd.DataFrame, others: Sequence[str]) -> str:
    """Return what to do about copies; a column that may number their words is named."""
    for name in others:
        numbers = pd.to_numeric(table[name], errors="coerce")
        if numbers.notna().all() and not len(_contradictions(rows, numbers)):
            n_rows = rows.assign(number=numbers).groupby(["text", "number"]).size()
            if n_rows.median() > 1 and len(n_rows) > rows["text"].nunique():
                return f"name the column that numbers the words: --number {name}"
    return "name the column that numbers the words (--number COLUMN), or keep the rows of one participant"


def joined(
    table: pd.DataFrame, times: pd.DataFrame, *, by: tuple[str, str], path: Path, word: str | None = None
) -> pd.DataFrame:
    """Return the rows of a table of reading times, each with the columns of its word or region in a table of `words`.

    `by` names its columns of the text, and of the number of the word, the word or the region (`zone+1`: a number that
    is 1 too low), `word` that of the word, which is compared with the text's; None = one that is called so.
    """
    place, shift = (by[1], 0) if by[1] in times else _without_shift(by[1])
    ids, places = (_column(times, name, path).str.strip() for name in (by[0], place))
    numbered = bool(places.str.fullmatch(r"-?\d+(\.0+)?").all())
    key = "word_number" if numbered else "word"
    if not numbered and "region" in table and not places.isin(table["word"]).all():
        key, table = "region", _by_region(table)
    asked = pd.DataFrame({"text_id": ids, key: places.astype(float).astype(int) + shift if numbered else places})
    known = table.drop_duplicates(["text_id", key]).set_index(["text_id", key], drop=False)["word"]
    spoken = [str(x) for x in times.columns if x != place and (x == word or WORD_COLUMNS.fullmatch(str(x)))]
    differs = pd.Series(data=False, index=times.index)
    if numbered:
        read = _column(times, word if word in spoken else spoken[0], path).map(plain_word) if spoken else None
        differs = _other_words(known.map(plain_word), asked, read, by=(by[0], place, shift), path=path)
    missing = asked[~pd.MultiIndex.from_frame(asked).isin(known.index)]
    if len(missing):
        first = missing.iloc[0]
        raise ScoringError(
            f"{path}, row {missing.index[0]}: no {key.split('_')[0]} {str(first[key])!r} in a text "
            f"{first['text_id']!r} ({len(missing):,} rows have none); expected ids and words as in the texts"
        )
    several = table[table.duplicated(["model", "text_id", key])].merge(asked, on=["text_id", key])
    if len(several):
        first = several.iloc[0]
        raise ScoringError(
            f"{path}: the word {first['word']!r} occurs twice in text {first['text_id']!r}; name words by their "
            f"number: --by {by[0]},NUMBER"
        )
    used = (by[0], place)
    result = times.assign(_text=asked["text_id"], _place=asked[key], _differs=differs).merge(
        table.assign(_text=table["text_id"], _place=table[key]).drop(columns=[x for x in used if x in table]),
        on=["_text", "_place"],
        how="left",
        sort=False,
        suffixes=("", "_pairbank"),
    )
    if differs.any():
        flags = "flags_pairbank" if "flags" in times else "flags"
        result[flags] = result[flags].where(~result["_differs"], OTHER_WORD)
    return result.drop(columns=["_text", "_place", "_differs"])


def _without_shift(name: str) -> tuple[str, int]:
    """Return a column and what is to be added to its numbers.

    >>> _without_shift("zone+1"), _without_shift("zone")
    (('zone', 1), ('zone', 0))
    """
    shifted = re.fullmatch(r"(.+?)\s*([+-]\d+)", name)
    return (shifted[1], int(shifted[2])) if shifted else (name, 0)


def _other_words(
    known: pd.Series[str], asked: pd.DataFrame, read: pd.Series[str] | None, *, by: tuple[str, str, int], path: Path
) -> pd.Series[bool]:
    """Return which rows are of another word than their number's, where times have words; refuse shifted numbers."""

    def agree(shift: int) -> pd.Series[bool]:
        words = known.reindex(pd.MultiIndex.from_arrays([asked["text_id"], asked["word_number"] + shift])).to_numpy()
        return pd.Series(pd.notna(words) if read is None else words == read.to_numpy(), index=asked.index)

    shares = {shift: float(agree(shift).mean()) for shift in SHIFTS}
    best = max(shares, key=lambda shift: (shares[shift], -abs(shift)))
    same, what = agree(0), "words" if read is not None else "rows"
    if not same.all():
        row = same.index[~same][0]
        text, number = asked.loc[row]
        here = f"{path}, row {row}: word {number} of text {text!r} is "
        here += f"{read[row]!r}, and {known.get((text, number), 'none')!r} in the texts" if read is not None else "none"
        ends = asked.groupby("text_id")["word_number"].agg(["min", "max"])
        of_texts = known.index.to_frame().groupby(level=0)["word_number"].agg(["min", "max"]).reindex(ends.index)
        is_shifted = shares[best] > MOSTLY if read is not None else (ends + best == of_texts).all(axis=None)
        if best and is_shifted and shares[best] > shares[0]:
            right = f"{by[1]}{by[2] + best:+d}".removesuffix("+0")
            raise ScoringError(
                f"{here}. Numbers are shifted by {-best:+d}: {shares[0]:.0%} of the {what} agree, and "
                f"{shares[best]:.0%} with {right}; type --by {by[0]},{right}"
            )
        of_text = pd.DataFrame({shift: agree(shift).groupby(asked["text_id"]).mean() for shift in SHIFTS})
        moved = of_text.idxmax(axis=1)[(of_text.max(axis=1) > SHIFTED) & (of_text[0] < 1 - SHIFTED)]
        if read is not None and len(moved):
            others = f", and those of {len(moved) - 1} other text(s)" if len(moved) > 1 else ""
            row = asked.index[asked["text_id"] == moved.index[0]][0]
            raise ScoringError(
                f"{path}, row {row}: the numbers of text {moved.index[0]!r} are shifted by "
                f"{-moved.iloc[0]:+d}{others}; correct column {by[1]!r} in its rows"
            )
        if read is not None and shares[0] < MOSTLY:
            raise ScoringError(
                f"{here}; {shares[0]:.0%} of the words agree. Expected the words of the same texts in the same order"
            )
        if read is not None:
            logger.warning("%s; %d of %d rows differ, with the flag %s", here, (~same).sum(), len(same), OTHER_WORD)
    return ~same if read is not None else pd.Series(data=False, index=asked.index)


def _by_region(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per model, text and region: sums over its words, rank and entropy of the first one."""
    words = table[table["region"] != ""]
    keys = ["model", "text_id", "region"]
    rows = words.groupby(keys, sort=False, as_index=False)
    total, worst = partial(pd.Series.sum, skipna=False), lambda flags: next(filter(None, flags), "")
    made = rows.agg(
        word_number=("word_number", "first"),
        last=("word_number", "last"),
        n_words=("word", "size"),
        word=("word", " ".join),
        start=("start", "first"),
        end=("end", "last"),
        n_occurrences=("n_occurrences", "min"),
        n_tokens=("n_tokens", "sum"),
        logprob_nats=("logprob_nats", total),
        surprisal_bits=("surprisal_bits", total),
        rank=("rank", "first"),
        entropy_bits=("entropy_bits", "first"),
        flags=("flags", worst),
    )
    if len(parted := made[made["last"] - made["word_number"] + 1 != made["n_words"]]):
        text, region = parted[["text_id", "region"]].iloc[0]
        raise ScoringError(f"region {region!r} of text {text!r} is in two places; give each place a name of its own")
    made = made.drop(columns="last").assign(n_characters=made["end"] - made["start"])
    for column in (name for name in table.columns if "_lag" in name):
        of, lag = column.split("_lag")
        made[column] = made.groupby(["model", "text_id"], sort=False)[of].shift(int(lag))
    return made


def table_of_analysis(path: Path) -> tuple[str, pd.DataFrame] | None:
    """Return a table that `words --join` or `participants` wrote, and its analysis; None if the file is another one."""
    if not path.is_file() or path.suffix not in WRITTEN:
        return None
    columns = read_parquet(path, ()).column_names if path.suffix == ".parquet" else open_table(path).columns
    kind = next((name for name, needed in TABLES.items() if needed <= {*columns}), None)
    if kind is None:
        return None
    if path.suffix == ".parquet":
        return kind, read_parquet(path).to_pandas()
    if path.suffix == ".jsonl":
        return kind, pd.read_json(path, lines=True, dtype=TEXTS)
    return kind, pd.read_csv(path, sep="\t" if path.suffix == ".tsv" else ",", dtype=TEXTS)


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write a table as .csv (for R), .tsv, .parquet or .jsonl, whole or not at all."""
    if path.suffix not in WRITTEN:
        raise ScoringError(f"{path}: expected a file name with {', '.join(WRITTEN)}")
    write = {
        ".parquet": partial(table.to_parquet, index=False),
        ".jsonl": partial(table.to_json, orient="records", lines=True, force_ascii=False),
        ".csv": partial(table.to_csv, index=False),
        ".tsv": partial(table.to_csv, index=False, sep="\t"),
    }[path.suffix]
    with replaced_atomically(path) as temporary:
        write(temporary)
