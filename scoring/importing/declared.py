"""What kind of number an imported score is: in, a table of a profile or an option of a command; out, `DeclaredScore`.

Nothing is guessed: a score that is no log-probability in nats says what it is (`kind`), which end is the better one
(`direction`, where the kind leaves it open) and what it is measured in (`unit`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from pairbank.errors import PairbankError
from pairbank.scoring.api.names import DIRECT, TIE_ANSWER, UNPARSED, is_string_logprob

Kind = Literal["logprob", "surprisal", "perplexity", "score", "rating", "decision"]
Direction = Literal["higher", "lower"]
KINDS: tuple[Kind, ...] = get_args(Kind)
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
    """Lowest and highest rating."""
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
    """Return a score's declaration: its kind alone, or a table of a profile.

    Args:
        name: of the score.
        said: `"surprisal"`, or `{"kind": "surprisal", "unit": "bits"}`.
        where: the file or argument, for messages.
        taken: names that mean something else.

    Raises:
        ScoreImportError: a key or value that means nothing, or a kind without what it needs.
    """
    of = f"{where}: scores.{name}"
    table = {"kind": said} if isinstance(said, str) else dict(said)
    known = [f.name for f in fields(DeclaredScore) if f.name != "name"]
    if extra := sorted(table.keys() - set(known)):
        raise ScoreImportError(f"{of} has unknown key(s) {extra}; known: {', '.join(known)}")
    kind = table.get("kind")
    if kind not in KINDS:
        raise ScoreImportError(f"{of}.kind is {kind!r}, expected one of {', '.join(KINDS)}")
    if is_string_logprob(name) and kind not in ("logprob", "surprisal"):
        raise ScoreImportError(f"{of} is a {kind}; `{name}` is log P(target | context): give this score another name")
    if name == DIRECT and table.get("label"):
        raise ScoreImportError(
            f"{of} has the label {table['label']!r}; `direct` is log P after one BOS, and what is scored "
            "otherwise has a name of its own: call it direct_NAME"
        )
    if not re.fullmatch(r"[A-Za-z]\w*", name) or name in taken or {name, f"{name}_good"} & {*taken}:
        raise ScoreImportError(f"{of}: the name is not free; expected a new one of letters, digits and _")
    for key in ("unit", "label"):
        if not isinstance(table.get(key, ""), str):
            raise ScoreImportError(f"{of}.{key} is {table[key]!r}, expected a text")
    of_probability = table.get("of_probability", False)
    if not isinstance(of_probability, bool) or (of_probability and kind != "decision"):
        raise ScoreImportError(
            f"{of}.of_probability is {of_probability!r}; expected true or false, and true of a decision"
        )
    return DeclaredScore(
        name=name,
        kind=kind,
        of_probability=of_probability,
        direction=_direction(kind, table.get("direction"), of),
        unit=_unit(kind, table.get("unit"), of),
        label=table.get("label", ""),
        scale=_scale(kind, table.get("scale"), of),
        answers=_meanings("answers", table, of),
        shown_first=_meanings("shown_first", table, of),
    )


def _direction(kind: Kind, said: object, of: str) -> Direction | None:
    fixed = DIRECTIONS.get(kind)
    expected = (fixed,) if fixed else () if kind == "decision" else ("higher", "lower")
    if said is None and len(expected) < 2:
        return fixed
    if said == "higher" and "higher" in expected:
        return "higher"
    if said == "lower" and "lower" in expected:
        return "lower"
    remedy = f"expected {' or '.join(repr(x) for x in expected)}" if expected else "a decision has none"
    raise ScoreImportError(f"{of}.direction is {said!r}; of a {kind} {remedy}: which end is the better one?")


def _unit(kind: Kind, said: str | None, of: str) -> str:
    if kind in ("logprob", "surprisal"):
        if said is None or said not in NATS:
            raise ScoreImportError(f"{of}.unit is {said!r}; of a {kind} expected one of {', '.join(NATS)}")
        return said
    if kind in ("perplexity", "decision") and said:
        raise ScoreImportError(f"{of}.unit is {said!r}; a {kind} has none")
    return said or ("points" if kind == "rating" else "")


def _scale(kind: Kind, said: object, of: str) -> tuple[float, float] | None:
    if kind != "rating":
        if said is not None:
            raise ScoreImportError(f"{of}.scale is {said!r}; a {kind} has none")
        return None
    ends = [float(x) for x in said if isinstance(x, int | float)] if isinstance(said, list | tuple) else []
    if len(ends) != 2 or not ends[0] < ends[1] or not all(map(math.isfinite, ends)):
        raise ScoreImportError(f"{of}.scale is {said!r}, expected the lowest and the highest rating: [1, 7]")
    return ends[0], ends[1]


def _meanings(key: str, table: Mapping[str, Any], of: str) -> dict[str, tuple[str, ...]]:
    """Return what stands for what: texts or numbers, one or several a meaning, none for two."""
    text, kind = table.get(key, {}), table["kind"]
    expected = () if kind not in ("decision", "rating") else (UNPARSED,) if kind == "rating" else _MEANINGS[key]
    if not isinstance(text, Mapping) or (extra := sorted(text.keys() - set(expected))):
        result = extra if isinstance(text, Mapping) else text
        raise ScoreImportError(f"{of}.{key} has {result!r}; of a {kind} expected {', '.join(expected) or 'nothing'}")
    meanings = {
        name: tuple(map(str, cells if isinstance(cells, list | tuple) else [cells])) for name, cells in text.items()
    }
    cells = [cell for meaning in meanings.values() for cell in {_plain(cell) for cell in meaning}]
    if twice := sorted({cell for cell in cells if cells.count(cell) > 1}):
        raise ScoreImportError(f"{of}.{key}: {twice[0]!r} stands for two things; expected each once")
    return meanings
