"""Formulas of test suites: in, text such as `[(5;%a%) > (5;%b%)] & [...]`; out, what they compare, to be computed.

The language of SyntaxGym (Gauthier, Hu, Wilcox, Qian & Levy 2020): `(n;%condition%)` is the surprisal of region n of a
condition, `(*;%condition%)` that of the whole sentence; sums and differences are compared by `<`, `>` or `=` (within
1e-3 bits and 1e-5 of the size, as its runner had it), and comparisons joined by `&` or `|`. `+` and `-` are read from
left to right, brackets are round or square.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from pairbank.errors import BankError

if TYPE_CHECKING:
    from pairbank.arrays import BoolArray, FloatArray

Region = tuple[int, str]
"""Number of the region, 0 = the whole sentence; and condition."""
Surprisal = Callable[[int, str], "FloatArray"]
"""Region and condition -> surprisals in bits, one an item."""
EQUAL_BITS, EQUAL_SHARE = 1e-3, 1e-5
_TOKEN = re.compile(
    r"\s*(?:\(\s*(?P<region>\d+|\*)\s*;\s*%(?P<condition>[\w-]+)%\s*\)|(?P<number>\d+(?:\.\d+)?)|(?P<sign>[-+<>=&|()\[\]]))"
)
_CLOSING = {"(": ")", "[": "]"}
Sign = Literal["<", ">", "="]


@dataclass(frozen=True, slots=True)
class Total:
    """A sum of surprisals, each with its factor, and a constant."""

    factors: Mapping[Region, float] = field(default_factory=dict)
    constant: float = 0.0

    def plus(self, other: Total, factor: float) -> Total:
        """Return this and another one, times a factor."""
        regions = dict.fromkeys((*self.factors, *other.factors))
        factors = {one: self.factors.get(one, 0.0) + factor * other.factors.get(one, 0.0) for one in regions}
        return Total(factors, self.constant + factor * other.constant)

    def bits(self, surprisal: Surprisal) -> FloatArray:
        """Return the sum, one number an item."""
        parts = [factor * surprisal(*region) for region, factor in self.factors.items()]
        return np.asarray(sum(parts, np.zeros_like(parts[0])) + self.constant if parts else np.float64(self.constant))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sums, and how they should compare."""

    left: Total
    sign: Sign
    right: Total
    text: str
    """As it stands in the formula."""

    @property
    def regions(self) -> tuple[Region, ...]:
        """What it reads."""
        return tuple(dict.fromkeys((*self.left.factors, *self.right.factors)))

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions that it reads."""
        return tuple(dict.fromkeys(condition for _, condition in self.regions))

    def margin_bits(self, surprisal: Surprisal) -> FloatArray:
        """Return by how much it holds, above 0 where it does; of an equality, minus the distance."""
        difference = self.left.plus(self.right, -1).bits(surprisal)
        return -np.abs(difference) if self.sign == "=" else difference if self.sign == ">" else -difference

    def holds(self, surprisal: Surprisal) -> BoolArray:
        """Return for which items it holds; a number that is NaN holds nowhere."""
        margin = self.margin_bits(surprisal)
        if self.sign != "=":
            return np.asarray(margin > 0)
        allowed = EQUAL_BITS + EQUAL_SHARE * np.abs(self.right.bits(surprisal))
        return np.asarray(-margin <= allowed)


@dataclass(frozen=True, slots=True)
class Joined:
    """Formulas of which all hold (`&`), or one (`|`)."""

    sign: Literal["&", "|"]
    parts: tuple[Formula, ...]

    def holds(self, surprisal: Surprisal) -> BoolArray:
        """Return for which items it holds."""
        found = np.stack([part.holds(surprisal) for part in self.parts])
        return np.asarray(found.all(axis=0) if self.sign == "&" else found.any(axis=0))


Formula = Comparison | Joined


def comparisons_of(formula: Formula) -> tuple[Comparison, ...]:
    """Return all comparisons of a formula, in order."""
    if isinstance(formula, Comparison):
        return (formula,)
    return tuple(one for part in formula.parts for one in comparisons_of(part))


def parsed(text: str) -> Formula:
    """Return a formula.

    Raises:
        BankError: it is none; says where.

    >>> found = parsed("[(5;%a%) - (5;%b%)] > [(5;%c%) - (5;%d%)]")
    >>> bits = {"a": 9.0, "b": 4.0, "c": 3.0, "d": 1.0}
    >>> margin = found.margin_bits(lambda region, condition: np.array([bits[condition]]))
    >>> margin.tolist(), found.conditions
    ([3.0], ('a', 'b', 'c', 'd'))
    """
    parser = _Parser(text)
    found = parser.joined()
    if parser.place < len(text.rstrip()) or isinstance(found, Total):
        raise parser.problem("a comparison of surprisals")
    return found


@dataclass(slots=True)
class _Parser:
    text: str
    place: int = 0

    def problem(self, expected: str) -> BankError:
        return BankError(f"formula {self.text!r:.200}, character {self.place + 1}: expected {expected}")

    def next(self) -> re.Match[str] | None:
        return _TOKEN.match(self.text, self.place)

    def sign(self, *signs: str) -> str:
        """Return and pass the next sign if it is one of these; "" if not."""
        token = self.next()
        if token is None or token["sign"] not in signs:
            return ""
        self.place = token.end()
        return str(token["sign"])

    def joined(self) -> Formula | Total:
        parts, signs = [self.compared()], []
        while sign := self.sign("&", "|"):
            signs.append(sign)
            parts.append(self.compared())
        if not signs:
            return parts[0]
        if len(set(signs)) > 1:
            raise self.problem("brackets where & and | stand together")
        return Joined("&" if signs[0] == "&" else "|", tuple(self.formula(part) for part in parts))

    def formula(self, part: Formula | Total) -> Formula:
        if isinstance(part, Total):
            raise self.problem("a comparison on both sides of & or |")
        return part

    def compared(self) -> Formula | Total:
        first = self.next()
        start = first.start() if first is not None else self.place
        left = self.total()
        sign = self.sign("<", ">", "=")
        if not sign:
            return left
        right = self.total()
        if not isinstance(left, Total) or not isinstance(right, Total):
            raise self.problem("sums of surprisals on both sides of a comparison")
        named: Sign = "<" if sign == "<" else ">" if sign == ">" else "="
        return Comparison(left, named, right, " ".join(self.text[start : self.place].split()))

    def total(self) -> Formula | Total:
        found = self.one()
        while sign := self.sign("+", "-"):
            other = self.one()
            if not isinstance(found, Total) or not isinstance(other, Total):
                raise self.problem("surprisals to add, no comparisons")
            found = found.plus(other, 1 if sign == "+" else -1)
        return found

    def one(self) -> Formula | Total:
        token = self.next()
        if token is None:
            raise self.problem("(region;%condition%), a number or a bracket")
        self.place = token.end()
        if token["condition"]:
            number = 0 if token["region"] == "*" else int(token["region"])
            return Total({(number, token["condition"]): 1.0})
        if token["number"]:
            return Total(constant=float(token["number"]))
        if token["sign"] not in _CLOSING:
            self.place = token.start()
            raise self.problem("(region;%condition%), a number or a bracket")
        inner = self.joined()
        if not self.sign(_CLOSING[token["sign"]]):
            raise self.problem(_CLOSING[token["sign"]])
        return inner
