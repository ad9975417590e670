"""Answers to questions that show both sides: in, one answer a row; out, rows with the decisions of a score.

A log has an answer a question. Here the answers to one pair are put together: in both orders where the log asked both,
else in the one that it asked, else in an order that is not known (`pairbank.scoring.importing.decisions`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pairbank.scoring.importing.declared import DeclaredScore, ScoreImportError
from pairbank.scoring.importing.logs.log import LogRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One question about a pair, and its answer."""

    file: Path
    line: int
    good: str
    bad: str
    chosen: str
    """`good`, `bad`, `tie` or `unparsed`."""
    shown_first: str | None
    """`good` or `bad`; None where it is not known."""
    cells: Mapping[str, str | None]
    """What else the log says of the pair."""


def decided(name: str, label: str, choices: Sequence[Choice]) -> tuple[DeclaredScore, list[LogRow]]:
    """Return the score that answers to one question make, and a row a pair.

    Raises:
        ScoreImportError: a pair that was asked more than once in the same order.
    """
    pairs: dict[tuple[str, str, str | None], list[Choice]] = defaultdict(list)
    for choice in choices:
        pairs[choice.good, choice.bad, choice.cells.get("context_good")].append(choice)
    unknown = any(choice.shown_first is None for choice in choices)
    both = not unknown and any(len({choice.shown_first for choice in asked}) == 2 for asked in pairs.values())
    rows = []
    for requested in pairs.values():
        orders = [None if unknown else choice.shown_first for choice in requested]
        if len(set(orders)) < len(orders):
            raise ScoreImportError(
                f"{requested[1].file.name}, row {requested[1].line}: the same pair was asked in the same order in row "
                f"{requested[0].line}: {requested[0].good[:60]!r}; import one answer to each question"
            )
        cells: dict[str, str | None] = {
            **requested[0].cells,
            "target_good": requested[0].good,
            "target_bad": requested[0].bad,
        }
        for choice in requested:
            if both:
                cells[f"{name}:{choice.shown_first}_first"] = choice.chosen
            else:
                cells[name] = choice.chosen
                cells |= {} if unknown else {f"{name}:shown_first": choice.shown_first}
        rows.append(LogRow(file=requested[0].file, line=requested[0].line, cells=cells))
    return DeclaredScore(name=name, kind="decision", label=label), rows


def side_of(answer: str, options: Sequence[str], good: int) -> str:
    """Return which side an answer names: by its letter, its number, or its text; `unparsed` where it names none.

    >>> [side_of(answer, ["the cat", "cat the"], 0) for answer in ("A", "b)", "2", "The cat", "neither")]
    ['good', 'bad', 'bad', 'good', 'unparsed']
    """
    text = answer.strip().casefold()
    letter = text.strip("().[]: ")
    texts = [option.strip().casefold() for option in options]
    places = [place for place in range(len(options)) if letter in ("ab"[place], str(place + 1)) or text == texts[place]]
    return "unparsed" if len(places) != 1 else "good" if places[0] == good else "bad"
