"""What kind of number an imported score is, as a profile or a command says it. Nothing is guessed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from pydantic import Field

from pairbank.declarations import Declaration, record_of
from pairbank.errors import PairbankError
from pairbank.scoring.api.names import DIRECT, TIE_ANSWER, UNPARSED, is_string_logprob

Kind = Literal["logprob", "surprisal", "perplexity", "score", "rating", "decision"]
Direction = Literal["higher", "lower"]
DIRECTION: tuple[Direction, ...] = get_args(Direction)
Cell = str | int | float | bool
DIRECTIONS: Mapping[str, Direction] = {"logprob": "higher", "surprisal": "lower", "perplexity": "lower"}
"""Of the kinds whose name says which end is the better one."""
NATS: Mapping[str, float] = {"nats": 1.0, "bits": math.log(2), "log10": math.log(10)}
"""Units of log-probabilities and surprisals, in nats."""
SIDES = ("good", "bad")
SHOWN = ("first", "second")
JUDGED = ("yes", "no")
_ANSWERS = (*SIDES, *SHOWN, *JUDGED, TIE_ANSWER, UNPARSED)
_MEANINGS: Mapping[str, tuple[str, ...]] = {"answers": _ANSWERS, "shown_first": SIDES}


class ScoreImportError(PairbankError, ValueError):
    """A file of scores, or the description of one, that cannot be accepted, with row and remedy."""


class ScoreTable(Declaration):
    kind: Kind
    direction: Direction | None = None
    unit: str | None = None
    label: str = ""
    scale: tuple[float, float] | None = None
    of_probability: bool = False
    answers: dict[str, Cell | tuple[Cell, ...]] = Field(default_factory=dict)
    shown_first: dict[str, Cell | tuple[Cell, ...]] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredScore:
    """A score of a file that is neither a log-probability in nats nor the answer to a prompt of the registry."""

    name: str
    """Of the method that it becomes: the prefix of its columns."""
    kind: Kind
    direction: Direction | None = None
    """Which end is the better one; of a decision none."""
    unit: str = ""
    label: str = ""
    """What it is in words: `SLOR`, `acceptability classifier of Warstadt et al.`."""
    scale: tuple[float, float] | None = None
    of_probability: bool = False
    """Of a decision: whether it is the side of higher probability, and not an answer to a prompt."""
    answers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of a decision: what stands in the file for `good`, `bad`, `first`, `second`, `yes`, `no`, `tie`, `unparsed`."""
    shown_first: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of a decision: what stands in the column `NAME:shown_first` where the `good` or the `bad` side came first."""

    def meaning_of(self, cell: str, *, among: Sequence[str], key: str = "answers") -> str | None:
        """Return what a cell stands for, whatever its case; None where that is not known.

        >>> score = DeclaredScore(name="judge", kind="decision", answers={"good": ("1",), "bad": ("0",)})
        >>> [score.meaning_of(cell, among=("good", "bad", "unparsed")) for cell in ("1.0", "Unparsed", "B")]
        ['good', 'unparsed', None]
        """
        text = _plain(cell)
        table = getattr(self, key)
        return next((name for name in among if text in map(_plain, table.get(name, (name,)))), None)


def _plain(cell: str) -> str:
    """Return a cell without case and margins; 1.0, as a column with empty cells prints its 1, is 1."""
    return re.sub(r"\.0+\Z", "", cell.strip().casefold())


def declared_score(name: str, said: str | Mapping[str, Any], *, where: str, taken: Sequence[str] = ()) -> DeclaredScore:
    of = f"{where}: scores.{name}"
    table = record_of(ScoreTable, {"kind": said} if isinstance(said, str) else said, where=of, error=ScoreImportError)
    kind, fixed = table.kind, DIRECTIONS.get(table.kind)
    if is_string_logprob(name) and kind not in ("logprob", "surprisal"):
        raise ScoreImportError(f"{of} is a {kind}; `{name}` is log P(target | context): give this score another name")
    if name == DIRECT and table.label:
        raise ScoreImportError(
            f"{of} has the label {table.label!r}; `direct` is log P after one BOS, and what is scored "
            "otherwise has a name of its own: call it direct_NAME"
        )
    if not re.fullmatch(r"[A-Za-z]\w*", name) or name in taken or {name, f"{name}_good"} & {*taken}:
        raise ScoreImportError(f"{of}: the name is not free; expected a new one of letters, digits and _")
    if table.of_probability and kind != "decision":
        raise ScoreImportError(f"{of}.of_probability is true; a {kind} has none, a decision may")
    directions = (fixed,) if fixed else () if kind == "decision" else DIRECTION
    if table.direction not in directions and not (table.direction is None and len(directions) < 2):
        remedy = f"expected {' or '.join(repr(x) for x in directions)}" if directions else "a decision has none"
        raise ScoreImportError(
            f"{of}.direction is {table.direction!r}; of a {kind} {remedy}: which end is the better one?"
        )
    return DeclaredScore(
        name=name,
        kind=kind,
        of_probability=table.of_probability,
        direction=table.direction or fixed,
        unit=_unit(table, of),
        label=table.label,
        scale=_scale(table, of),
        answers=_meanings("answers", table, of),
        shown_first=_meanings("shown_first", table, of),
    )


def _unit(table: ScoreTable, of: str) -> str:
    kind, unit = table.kind, table.unit
    if kind in ("logprob", "surprisal") and unit not in NATS:
        stated = f"is {unit!r}" if unit else "is not stated"
        raise ScoreImportError(f"{of}.unit {stated}; expected {', '.join(f'unit={name}' for name in NATS)}")
    if kind in ("perplexity", "decision") and unit:
        raise ScoreImportError(f"{of}.unit is {unit!r}; a {kind} has none")
    return unit or ("points" if kind == "rating" else "")


def _scale(table: ScoreTable, of: str) -> tuple[float, float] | None:
    scale = table.scale
    if table.kind != "rating" and scale is not None:
        raise ScoreImportError(f"{of}.scale is {list(scale)}; a {table.kind} has none")
    if table.kind == "rating" and (scale is None or not scale[0] < scale[1] or not all(map(math.isfinite, scale))):
        shown = scale and list(scale)
        raise ScoreImportError(f"{of}.scale is {shown}; expected the lowest and the highest rating: [1, 7]")
    return scale


def _meanings(key: Literal["answers", "shown_first"], table: ScoreTable, of: str) -> dict[str, tuple[str, ...]]:
    """Return what stands for what: texts or numbers, one or several a meaning, none for two."""
    stated, kind = getattr(table, key), table.kind
    expected = () if kind not in ("decision", "rating") else (UNPARSED,) if kind == "rating" else _MEANINGS[key]
    if extra := sorted(stated.keys() - set(expected)):
        raise ScoreImportError(f"{of}.{key} has {extra}; of a {kind} expected {', '.join(expected) or 'nothing'}")
    meanings = {name: tuple(map(str, cells if isinstance(cells, tuple) else [cells])) for name, cells in stated.items()}
    cells = [cell for meaning in meanings.values() for cell in {_plain(cell) for cell in meaning}]
    if twice := sorted({cell for cell in cells if cells.count(cell) > 1}):
        raise ScoreImportError(f"{of}.{key}: {twice[0]!r} stands for two things; expected each once")
    return meanings
