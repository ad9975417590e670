"""What is claimed: in, the text of the option `claim`; out, which methods or models stand on either side of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal

from pairbank.errors import BankError, unknown_name

if TYPE_CHECKING:
    from pairbank.scoring.api.layout import MethodLayout

Kind = Literal["methods", "models", "people"]
ASKING = "asking < probability"
"""The claim where none is given."""
ASKED, MEASURED, PEOPLE = "asking", "probability", "people"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim that A is better than B, or that r with people is above a number."""

    text: str
    """As it was given."""
    kind: Kind
    a: str = ""
    """What is claimed to be better: a method, a model, `asking`, `probability`; patterns with * may match several."""
    b: str = ""
    above: float = 0.0
    """Of a claim about people: what r is claimed to be above."""

    @property
    def in_words(self) -> str:
        """The claim as a sentence without its full stop."""
        if self.kind == "people":
            return f"r with people is above {self.above:g}"
        if {self.a, self.b} == {ASKED, MEASURED}:
            return f"asking is {'worse' if self.a == MEASURED else 'better'} than probability"
        return f"{self.a} is right more often than {self.b}"


def claim_of(text: str, *, methods: Sequence[str], models: Sequence[str]) -> Claim:
    """Return a claim from its text: `A > B`, `B < A`, `people > .3`.

    Args:
        text: A and B are methods or models, `asking` (all methods that ask) or `probability` (all that do not).
        methods: Names of the methods in the tables.
        models: Names of the models.

    Raises:
        BankError: It is no comparison.
        UnknownNameError: A side is no method and no model of these tables.

    >>> claim_of("asking < probability", methods=["direct", "meta"], models=["a"]).a
    'probability'
    >>> claim_of("people > .3", methods=["direct"], models=["a"]).above
    0.3
    """
    found = re.fullmatch(r"\s*(.+?)\s*([<>])\s*(.+?)\s*", text)
    if found is None:
        raise BankError(f"multiverse.claim is {text!r}; expected A > B, such as '{ASKING}', 'people > .3' or two names")
    left, sign, right = found.groups()
    a, b = (left, right) if sign == ">" else (right, left)
    if PEOPLE in (a, b):
        return _of_people(text, a, b)
    for side in (a, b):
        if not _matches(side, [*methods, ASKED, MEASURED]) and not _matches(side, models):
            raise unknown_name("method or model of these tables", side, [ASKED, MEASURED, *methods, *models])
    of_methods = all(_matches(side, [*methods, ASKED, MEASURED]) for side in (a, b))
    of_models = all(_matches(side, models) for side in (a, b))
    if not of_methods and not of_models:
        raise BankError(f"multiverse.claim is {text!r}: one side is a method and the other a model; give two of a kind")
    return Claim(text=text, kind="methods" if of_methods else "models", a=a, b=b)


def _of_people(text: str, a: str, b: str) -> Claim:
    try:
        above = float(b)
    except ValueError:
        above = float("nan")
    if a != PEOPLE or not -1 < above < 1:
        raise BankError(f"multiverse.claim is {text!r}; expected people > NUMBER, with a number between -1 and 1")
    return Claim(text=text, kind="people", above=above)


def is_on_side(layout: MethodLayout, side: str) -> bool:
    """Return whether a method stands on a side of a claim.

    Args:
        layout: The method's.
        side: `asking`, `probability`, a name, or a pattern with *.
    """
    if side in (ASKED, MEASURED):
        return (layout.is_prompted and layout.kind != "prediction") == (side == ASKED)
    return bool(_matches(side, [layout.method]))


def _matches(side: str, names: Sequence[str]) -> list[str]:
    return [name for name in names if fnmatchcase(name, side)] or [name for name in names if name == side]
