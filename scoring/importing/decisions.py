"""Decisions: in, what a model (or its judge) chose, one or two columns; out, shares of answers, no probabilities.

How a file has them says what can be known (`ASKINGS`): only where both orders were asked is there a position bias to
measure. m_good and m_bad are the shares of the answers that choose each side (a tie is half of one for each, an
unparsed answer none), m_delta their difference. m_answers holds the answers one by one (null where there is none),
m_unparsed how many questions have none. An item without any answer has null scores.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pairbank.files import sha256_of_text
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.names import HALF_EMPTY, TIE_ANSWER, UNPARSED
from pairbank.scoring.importing.declared import JUDGED, SHOWN, SIDES, DeclaredScore, ScoreImportError
from pairbank.scoring.importing.method import Chunk, ImportedMethod

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pairbank.arrays import BoolArray


ORDERS = ("good_first", "bad_first")
NUMBERED = ("1", "2")
"""The options of a question that shows both sides: the one shown first, the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    columns: tuple[str, ...]
    """Behind the score's name."""
    presentations: tuple[str, ...]
    options: tuple[str, ...]
    correct: tuple[int, ...]
    kind: str = "forced_choice"
    layout: Mapping[str, Any] = field(default_factory=dict)
    words: str


SIDES_JUDGED = Asking(
    columns=("_good", "_bad"),
    presentations=SIDES,
    options=JUDGED,
    correct=(0, 1),
    kind="judgment",
    words="yes or no about each side by itself; difference = 1 if yes to good - 1 if yes to bad",
)
SENTENCE_JUDGED = Asking(
    columns=("_good",),
    presentations=("good",),
    options=JUDGED,
    correct=(0,),
    kind="judgment",
    layout={"sides": ["good"]},
    words="yes or no about a single sentence",
)
BOTH_ORDERS = Asking(
    columns=(":good_first", ":bad_first"),
    presentations=ORDERS,
    options=NUMBERED,
    correct=(0, 1),
    words="which of two sides, asked in both orders; difference = share of answers for good - share for bad",
)
ONE_ORDER = Asking(
    columns=("", ":shown_first"),
    presentations=ORDERS,
    options=NUMBERED,
    correct=(0, 1),
    layout={"counterbalanced": False, "asked": "one"},
    words="which of two sides, asked in one order an item; difference = 1 for good, -1 for bad, 0 for a tie",
)
NO_ORDER = Asking(
    columns=("",),
    presentations=("order not stated",),
    options=SIDES,
    correct=(0,),
    layout={"counterbalanced": False, "orders": "unknown"},
    words="which of two sides, the order shown not stated; difference = 1 for good, -1 for bad, 0 for a tie",
)
ASKINGS = (SIDES_JUDGED, SENTENCE_JUDGED, BOTH_ORDERS, ONE_ORDER, NO_ORDER)


def decision_numbers(score: DeclaredScore) -> tuple[str, ...]:
    return tuple(dict.fromkeys(score.name + column for asking in ASKINGS for column in asking.columns))


def decision_method(score: DeclaredScore, names: frozenset[str], where: str) -> ImportedMethod:
    """Return what was decided about each item, held as the mapped columns say."""
    decisions, c = _Decisions(score=score, asking=_asking_of(score, names, where)), ScoreColumns(score.name)
    return ImportedMethod(
        name=score.name,
        numbers=decisions.numbers,
        columns=c.kinds(c.good, c.bad, c.delta, c.answers, c.unparsed, c.flags),
        definition=_definition(score, decisions.asking, decisions.numbers),
        part=decisions.part,
    )


def _definition(score: DeclaredScore, asking: Asking, numbers: Sequence[str]) -> dict[str, Any]:
    label = {"label": score.label} if score.label else {}
    return {
        "paper": f"{f'{score.label}, ' if label else ''}decisions: {asking.words}; no log-probabilities",
        "cites": [],
        "sha256": sha256_of_text("imported", "decision", *asking.presentations, *asking.options, score.label),
        "imported": {
            "kind": "decision",
            "answers": {meaning: list(cells) for meaning, cells in score.answers.items()},
            "columns": list(numbers),
            **label,
        },
        "layout": {
            "method": score.name,
            "kind": asking.kind,
            "presentations": list(asking.presentations),
            "options": list(asking.options),
            "correct": list(asking.correct),
            **asking.layout,
            "readout": "decision",
            "unit": "share of answers",
            **({"of_probability": True} if score.of_probability else {}),
        },
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decisions:
    score: DeclaredScore
    asking: Asking

    @property
    def numbers(self) -> tuple[str, ...]:
        return tuple(self.score.name + column for column in self.asking.columns)

    def part(self, chunk: Chunk, two_sided: BoolArray) -> Mapping[str, Any]:
        """Return shares, answers and flags of some rows; null where an answer that is needed is missing."""
        name, c = self.score.name, ScoreColumns(self.score.name)
        if self.asking is SENTENCE_JUDGED and two_sided.any():
            where = chunk.where(int(two_sided.argmax()))
            raise ScoreImportError(
                f"{where}: a pair, and {name} has no answers about its worse side: "
                f"map {name}_bad too, or {name} where one answer chooses a side"
            )
        cells = zip(*map(chunk.column, self.numbers), strict=True)
        rows = [self._row(chunk, row, answers, c) for row, answers in enumerate(cells)]
        columns = (c.good, c.bad, c.delta, c.answers, c.unparsed, c.flags)
        return {column: [row.get(column) for row in rows] for column in columns}

    def _row(self, chunk: Chunk, row: int, cells: Sequence[str | None], c: ScoreColumns) -> Mapping[str, Any]:
        given = [cell for cell in cells if cell is not None]
        if len(given) < len(cells):
            return {c.flags: [HALF_EMPTY]} if given else {}
        answers = self._answers(chunk, row, given)
        n_unparsed = answers.count(UNPARSED)
        good, bad = self._shares(answers)
        return {
            c.good: good,
            c.bad: bad,
            c.delta: None if good is None or bad is None else good - bad,
            c.answers: [None if answer == UNPARSED else answer for answer in answers],
            c.unparsed: n_unparsed,
            c.flags: [UNPARSED] if n_unparsed else [],
        }

    def _answers(self, chunk: Chunk, row: int, cells: Sequence[str]) -> list[str | None]:
        """Return the option chosen in each presentation, or tie or unparsed; None where it was not asked."""
        if self.asking is ONE_ORDER:
            at = SIDES.index(self._meaning(chunk, row, cells[1], 1, among=SIDES, key="shown_first"))
            answer = self._option(chunk, row, cells[0], 0, at)
            return [answer if order == at else None for order in (0, 1)]
        return [self._option(chunk, row, cell, at, at) for at, cell in enumerate(cells)]

    def _option(self, chunk: Chunk, row: int, cell: str, number: int, at: int) -> str:
        options = self.asking.options
        if options == JUDGED:
            return self._meaning(chunk, row, cell, number, among=(*JUDGED, UNPARSED))
        by_place = SHOWN if options == NUMBERED and self.score.answers.keys() & {*SHOWN} else SIDES
        answer = self._meaning(chunk, row, cell, number, among=(*by_place, TIE_ANSWER, UNPARSED))
        if answer in (TIE_ANSWER, UNPARSED) or options == SIDES:
            return answer
        chosen = by_place.index(answer)
        return options[chosen if by_place is SHOWN else chosen ^ at]

    def _meaning(
        self, chunk: Chunk, row: int, cell: str, number: int, *, among: Sequence[str], key: str = "answers"
    ) -> str:
        meaning = self.score.meaning_of(cell, among=among, key=key)
        if meaning is None:
            raise ScoreImportError(
                f"{chunk.where(row)}: {self.numbers[number]} is {cell!r}, expected one of {', '.join(among)}; say what "
                f"else stands for which: scores.{self.score.name}.{key} = {{{among[0]} = {cell!r}, …}}"
            )
        return meaning

    def _shares(self, answers: Sequence[str | None]) -> tuple[float | None, float | None]:
        asking = self.asking
        if asking.options == JUDGED:
            shares = [None if answer == UNPARSED else float(answer == JUDGED[0]) for answer in answers]
            return shares[0], shares[1] if asking is SIDES_JUDGED else None
        asked = [(answer, asking.options[k]) for answer, k in zip(answers, asking.correct, strict=True) if answer]
        if all(answer == UNPARSED for answer, _ in asked):
            return None, None
        ties = sum(answer == TIE_ANSWER for answer, _ in asked) / 2
        right = sum(answer == correct for answer, correct in asked) + ties
        wrong = sum(answer not in (correct, TIE_ANSWER, UNPARSED) for answer, correct in asked) + ties
        return right / len(asked), wrong / len(asked)


def _asking_of(score: DeclaredScore, names: frozenset[str], where: str) -> Asking:
    """Return how a file has a score's decisions, by the columns that are mapped."""
    asking = next((a for a in ASKINGS if {score.name + column for column in a.columns} <= names), None)
    if asking is None:
        ways = " or ".join(" and ".join(score.name + column for column in a.columns) for a in reversed(ASKINGS))
        raise ScoreImportError(f"{where}: {score.name} needs {ways}; map them to columns")
    meanings = score.answers.keys() - {TIE_ANSWER, UNPARSED}
    expected = ({*JUDGED},) if asking.options == JUDGED else ({*SIDES},) if asking is NO_ORDER else ({*SIDES}, {*SHOWN})
    if meanings and meanings not in expected:
        ways = " or ".join(" and ".join(sorted(answers)) for answers in expected)
        remedy = f"; map {score.name}:shown_first to the column that says it" if meanings == {*SHOWN} else ""
        raise ScoreImportError(
            f"{where}: scores.{score.name}.answers says what stands for {', '.join(sorted(meanings))}; a file with "
            f"{' and '.join(score.name + column for column in asking.columns)} needs it for {ways}{remedy}"
        )
    return asking
