"""Cells of a user's table: in, a cell and where it stands; out, its text or number, or a refusal with the remedy."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Mapping

from pairbank.builders.sources.readers import SAY_ENCODING, odd_character
from pairbank.errors import CorpusError

MOST_POINTS = 1e9
"""A rating or score farther from 0 than this is taken for a fault of the file."""
MOST_RATERS = 2**31 - 1
BYTE_ORDER_MARK = "\ufeff"
_SCALE = re.compile(r"(?:likert|plausibility)(?:(\d+)-)?(\d+)", re.ASCII)
NOT_AVAILABLE = ("na", "nan", "#n/a")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[+-]?inf(?:inity)?", re.IGNORECASE | re.ASCII)
_WITH_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)

SIDES = ("target_good", "target_bad")


def sentence_in(value: object, where: str, column: str) -> str | None:
    """Return a cell that is to be scored, None for an empty one."""
    if value is not None and not isinstance(value, str):
        raise _wrong_kind(value, where, column, "text: write it as a string")
    return value or None


def label_in(value: object, where: str, column: str) -> str | None:
    """Return a cell that says something of an item (its class, its id, its rating) as text, None for an empty one."""
    if isinstance(value, bytes | list | Mapping):
        raise _wrong_kind(value, where, column, "one plain value")
    return kept_in(value, where, column)


def kept_in(value: object, where: str, column: str) -> str | None:
    """Return a cell that the schema has no place for as text, a list or object as JSON, None for an empty one.

    >>> kept_in("", "", ""), kept_in(3, "", ""), kept_in(["a", 1], "", "")
    (None, '3', '["a", 1]')
    """
    if value is None or value == "":
        return None
    if isinstance(value, bytes):
        raise _wrong_kind(value, where, column, "text: write it as a string, or leave the column out")
    nested = isinstance(value, list | Mapping)
    return json.dumps(value, ensure_ascii=False, default=str) if nested else str(value)


def _wrong_kind(value: object, where: str, column: str, expected: str) -> CorpusError:
    kinds = {bytes: "bytes", dict: "an object", list: "a list", bool: "true or false"}
    kind = kinds.get(type(value), "a number or date")
    return CorpusError(f"{where}: column {column!r} holds {kind} ({str(value)[:40]}), expected {expected}")


def check_characters(row: Mapping[str, object], where: str) -> None:
    """Refuse a row with control characters, halves of characters or byte-order marks: no sentence holds them."""
    for column, cell in row.items():
        if isinstance(cell, str) and BYTE_ORDER_MARK in cell:
            raise CorpusError(
                f"{where}: column {column!r} holds a byte-order mark (U+FEFF) in the middle of the file; were two "
                "files joined? Delete the mark, and the second header, if there is one"
            )
        if isinstance(cell, str) and (odd := odd_character(cell)):
            raise CorpusError(
                f"{where}: column {column!r} holds the control character {odd}, which no sentence holds: delete it, "
                f"or, if all letters are wrong, {SAY_ENCODING}"
            )


def number_in(cell: str | None, where: str, column: str, *, with_commas: bool = False) -> float | None:
    text = (cell or "").strip()
    if not text or text.casefold() in NOT_AVAILABLE:
        return None
    if has_comma(text) and with_commas:
        text = text.replace(",", ".")
    if not _NUMBER.fullmatch(text):
        dot = f" with a point ({text.replace(',', '.')})" if has_comma(text) else ""
        raise CorpusError(f"{where}: column {column!r} holds {cell!r}, expected a number{dot} or an empty cell")
    value = float(text)
    if not math.isfinite(value) or abs(value) > MOST_POINTS:
        raise CorpusError(
            f"{where}: column {column!r} holds {cell!r}, expected a finite number of at most {MOST_POINTS:g}, or an "
            "empty cell: correct or empty it"
        )
    return value


def check_on_scale(value: float | None, scale: str | None, where: str, column: str) -> None:
    """Refuse a rating that a declared scale does not have: `likert7` is from 1 to 7, `likert0-6` from 0 to 6."""
    ends = _SCALE.fullmatch(scale or "")
    if value is not None and ends and not int(ends[1] or 1) <= value <= int(ends[2]):
        zero = f", such as {ends[0].rstrip('0123456789')}0-{int(ends[2]) - 1}" if value == 0 and not ends[1] else ""
        raise CorpusError(
            f"{where}: column {column!r} holds {value:g}, expected a rating from {ends[1] or 1} to {ends[2]} "
            f"({scale}); correct it, or declare another scale{zero}"
        )


def has_comma(text: str) -> bool:
    """Return whether a cell is a number with a decimal comma.

    >>> has_comma("6,4"), has_comma("6.4"), has_comma("1,234.5")
    (True, False, False)
    """
    return _WITH_COMMA.fullmatch(text.strip()) is not None


def count_in(cell: str | None, where: str, column: str) -> int | None:
    text = (cell or "").strip()
    if not text or text.casefold() in NOT_AVAILABLE:
        return None
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not (value.is_integer() and 0 <= value <= MOST_RATERS):
        raise CorpusError(
            f"{where}: column {column!r} holds {cell!r}, expected a whole number from 0 to {MOST_RATERS:,}, or an "
            "empty cell"
        )
    return int(value)


def foreign_letters(text: str) -> set[str]:
    """Return the letters of a text that English does not have.

    >>> sorted(foreign_letters("Der Hund schläft süß, “naturally”.")), foreign_letters("A dog's – 1.")
    (['ß', 'ä', 'ü'], set())
    """
    return {c for c in text.lower() if c.isalpha() and not c.isascii()}


def line_to_type(good: str, bad: str) -> str:
    """Return the options that say which column is which.

    >>> line_to_type("Satz A", "B")
    "--column 'target_good=Satz A' --column target_bad=B"
    """
    return " ".join(
        f"--column {shlex.quote(f'{name}={column}')}" for name, column in zip(SIDES, (good, bad), strict=True)
    )
