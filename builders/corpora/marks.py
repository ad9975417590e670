"""Linguists' marks before sentences (*, ??): what is done with them, and the rows that are refused for them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pairbank.builders.corpora.cells import SIDES, line_to_type
from pairbank.errors import CorpusError

Marks = Literal["refuse", "strip", "keep", "decide"]
_MARKS = re.compile(r"\s*[*＊∗✱?？#%]+\s*(?=\S)")
"""What linguists put before a sentence that is bad or odd: *, ?, ??, ?*, #, %."""
_ROWS_NAMED = 3


def mark_before(text: str) -> str:
    """Return the linguist's mark that a sentence begins with, as it stands there; "" where there is none.

    >>> [mark_before(text) for text in ("*Ann leaved.", "?? Ann leaved.", "¿Qué?", "Ann left*.", "#1 is in.")]
    ['*', '?? ', '', '', '#']
    """
    result = _MARKS.match(text)
    return result[0] if result else ""


def is_turned(marks: Mapping[str, str]) -> bool:
    """Return whether marks say that the side that is read as the better one is the worse one.

    >>> is_turned({"target_good": "*"}), is_turned({"target_good": "?", "target_bad": "*"}), is_turned({})
    (True, False, False)
    """
    good, bad = (marks.get(name, "") for name in SIDES)
    return bool(good) and (not bad or ("*" in good and "*" not in bad))


class MarkedRowError(CorpusError):
    """A row that is refused for its marks, or for having none where they decide."""

    def __init__(self, where: str, marks: Mapping[str, str]) -> None:
        sides = " and ".join(f"{name} begins with {mark.strip()!r}" for name, mark in marks.items())
        super().__init__(f"{where}: {sides or 'no side begins with a mark'}; say what to do with marks (marks=)")
        self.marks = dict(marks)


@dataclass(kw_only=True)
class MarkedRows:
    path: object
    mapping: Mapping[str, str]
    """Schema column -> the file's."""
    treatment: Marks
    by_map: bool = False
    """Whether a map made the sides: then no column of the file is one side's alone."""
    rows: list[tuple[int, Mapping[str, str]]] = field(default_factory=list)
    """Line, and side -> mark."""

    def fault(self, *, n_taken_off: int) -> CorpusError | None:
        if not self.rows:
            return None
        where = f"{self.path}, {_rows_named([line for line, _ in self.rows])}"
        if self.treatment == "decide":
            n_none = sum(not marks for _, marks in self.rows)
            kinds = (("none", n_none), ("one before both", len(self.rows) - n_none))
            found = " or ".join(kind for kind, n in kinds if n)
            return CorpusError(
                f"{where}: expected a mark (*, ??) before one of the two sentences, found {found}; mark the worse "
                "one, or type --marks strip"
            )
        two_sided = "target_bad" in self.mapping
        turned = [line for line, result in self.rows if two_sided and is_turned(result)]
        if not turned:
            name, mark = next(iter(self.rows[0][1].items()))
            return CorpusError(
                f"{where}: column {self.mapping[name]!r} begins with the mark {mark.strip()!r}, which would be scored "
                "with the sentence: type --marks strip, or --marks keep (marks='strip')"
            )
        mark = next(results["target_good"] for _, results in self.rows if is_turned(results)).strip()
        exchanged = line_to_type(self.mapping["target_bad"], self.mapping["target_good"])
        remedy = f"if it is the worse one, type --marks strip, and {exchanged} too"
        if self.by_map or len(turned) < len(self.rows) + n_taken_off:
            remedy = "type --marks decide (in each row the sentence with the mark is the worse one)"
        return CorpusError(
            f"{self.path}, {_rows_named(turned)}: column {self.mapping['target_good']!r}, which is read as the better "
            f"side, begins with the mark {mark!r}, and the other side does not: {remedy}; or, if the marks belong to "
            "the sentences, --marks keep"
        )


def _rows_named(lines: Sequence[int]) -> str:
    """Return rows in words: the first three, and how many more.

    >>> _rows_named([2]), _rows_named([2, 3, 4, 5, 6])
    ('row 2', 'row 2, 3, 4 and 2 more')
    """
    more = len(lines) - _ROWS_NAMED
    return f"row {', '.join(map(str, lines[:_ROWS_NAMED]))}{f' and {more} more' if more > 0 else ''}"
