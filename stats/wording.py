"""How numbers become text: one style for every report, card, terminal and figure.

In: values, `Estimate`s, rows of a long table. Out: text. Two decimals with a leading zero, three for small differences
that two cannot show, thousands with commas, intervals as 0.54 [0.44, 0.64], p values as APA prints them (p = .020).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

UNDEFINED = "undefined"
MISSING = "–"
"""In a cell of a table that has no value."""


def number(value: float, *, digits: int = 2, sign: bool = False) -> str:
    """Return a number as every page writes it.

    >>> number(-0.004), number(0.25, sign=True), number(float("nan")), number(12000.0)
    ('0.00', '+0.25', 'undefined', '12,000.00')
    """
    return UNDEFINED if math.isnan(value) else f"{value:{'+' if sign else ''}z,.{digits}f}"


def whole(value: float) -> str:
    """Return a count or a rounded number without decimals.

    >>> whole(12000), whole(2.6)
    ('12,000', '3')
    """
    return number(value, digits=0)


def percent(value: float, *, digits: int = 0) -> str:
    """Return a share in per cent.

    >>> percent(0.953), percent(0.0123, digits=1)
    ('95%', '1.2%')
    """
    return UNDEFINED if math.isnan(value) else f"{value:.{digits}%}"


def magnitude(value: float, *, digits: int = 3) -> str:
    """Return a number to some significant digits: of values that span orders of magnitude, or differ in late digits.

    >>> magnitude(123456.0), magnitude(0.01234, digits=2)
    ('1.23e+05', '0.012')
    """
    return f"{value:.{digits}g}"


def column_of(values: Iterable[float], name: str = "") -> list[str]:
    """Return a column of a table: whole counts, p values in APA style, else two decimals, three below 0.1.

    The largest value decides; an undefined value is an empty cell.

    >>> column_of([0.5, -0.000322, math.nan]), column_of([0.05, 0.0123]), column_of([12.0, 3.0])
    (['0.50', '0.00', ''], ['0.050', '0.012'], ['12', '3'])
    >>> column_of([0.0004, 0.02], "p")
    ['< .001', '.020']
    """
    values = list(values)
    known = [value for value in values if not math.isnan(value)]
    largest = max(map(abs, known), default=0.0)
    digits = 0 if largest > 1 and all(value % 1 == 0 for value in known) else 2 if largest >= 0.1 or not largest else 3

    def cell(value: float) -> str:
        if math.isnan(value):
            return ""
        if name == "p" or name.startswith("p_"):
            return p_value(value).removeprefix("p ").removeprefix("= ")
        return number(value, digits=digits)

    return [cell(value) for value in values]


def with_interval(
    row: Mapping[Any, Any] | pd.Series[Any],
    name: str = "value",
    *,
    low: str = "low",
    high: str = "high",
    interval: bool = True,
    digits: int = 2,
    sign: bool = False,
    side: bool = False,
) -> str:
    """Return a value with its interval, the value alone where it has none.

    >>> with_interval({"value": 0.5, "low": 0.4, "high": 0.61})
    '0.50 [0.40, 0.61]'
    """
    shown = number(row[name], digits=digits, sign=sign)
    if not interval or math.isnan(row[name]) or math.isnan(row[low]):
        return shown
    return f"{shown} {bounds(row[low], row[high], digits=digits, sign=sign, side=side)}"


def bounds(low: float, high: float, *, digits: int = 2, sign: bool = False, side: bool = False) -> str:
    """Return the bounds of an interval; `side`: with as many digits as show on which side of 0 each is.

    >>> bounds(-0.1, 0.25, sign=True), bounds(0.00048, 0.45, side=True)
    ('[-0.10, +0.25]', '[0.0005, 0.45]')
    """
    needed = [next((n for n in range(digits, 7 if side else digits) if round(x, n)), digits) for x in (low, high)]
    return f"[{', '.join(number(x, digits=n, sign=sign) for x, n in zip((low, high), needed, strict=True))}]"


def value_range(rows: pd.DataFrame, keys: Sequence[str] = (), *, code: Sequence[str] = ("method",)) -> str:
    """Return the only value with its interval, or the smallest and the largest with what they belong to.

    These have none: the interval of one that was chosen beforehand would be too narrow for the extreme of several.

    >>> import pandas as pd
    >>> value_range(pd.DataFrame({"value": [0.6, 0.5], "low": 0.4, "high": 0.7, "model": ["a", "b"]}), ["model"])
    '0.50 (b) to 0.60 (a)'
    """
    known = rows[rows["value"].notna()].sort_values("value", kind="stable")
    if known.empty:
        return UNDEFINED
    if len(known) == 1:
        return with_interval(known.iloc[0])
    varying = [key for key in keys if rows[key].nunique() > 1]

    def place(row: pd.Series[Any]) -> str:
        return ", ".join(f"`{row[key]}`" if key in code else str(row[key]) for key in varying)

    ends = (known.iloc[0], known.iloc[-1])
    return " to ".join(f"{with_interval(end, interval=False)} ({place(end)})" for end in ends)


def span(values: pd.Series[float]) -> str:
    """Return the smallest and the largest of some values, or one where two digits do not distinguish them.

    >>> import pandas as pd
    >>> span(pd.Series([0.501, 0.499])), span(pd.Series([0.52, 0.5]))
    ('0.50', '0.50 to 0.52')
    """
    known = values.dropna()
    if known.empty:
        return UNDEFINED
    low, high = number(known.min()), number(known.max())
    return low if low == high else f"{low} to {high}"


def capitalised(text: str) -> str:
    """Return a text with its first letter as a capital.

    >>> capitalised("r of the LAST bin"), capitalised("")
    ('R of the LAST bin', '')
    """
    return text[:1].upper() + text[1:]


def mean_and_span(values: pd.Series[float]) -> str:
    """Return a mean with the smallest and the largest value; one value alone.

    >>> import pandas as pd
    >>> mean_and_span(pd.Series([0.5, 0.7]))
    '0.60 (0.50 to 0.70)'
    """
    known = values.dropna()
    return f"{number(known.mean())} ({span(known)})" if len(known) > 1 else span(known)


def median_and_span(values: pd.Series[float], *, more: str = "", noun: str = "", sign: bool = False) -> str:
    """Return the median of several values, how many these are, and the smallest and the largest; one value alone.

    >>> import pandas as pd
    >>> median_and_span(pd.Series([0.5, 0.6, 0.9]), more="n = 20")
    '0.60 (median of 3; 0.50 to 0.90; n = 20)'
    >>> median_and_span(pd.Series([0.1, 0.3]), noun="models", sign=True)
    '+0.20 (median of 2 models; 0.10 to 0.30)'
    """
    known = values.dropna()
    shown = [f"median of {len(known)} {noun}".rstrip(), span(known)] if len(known) > 1 else []
    inside = "; ".join(part for part in (*shown, more) if part)
    middle = number(float(known.median()), sign=sign) if shown or sign else span(known)
    return f"{middle} ({inside})" if inside else middle


def n_items(n: Iterable[int]) -> str:
    """Return how many items some numbers rest on.

    >>> n_items([1000, 900])
    'n = 900 to 1,000'
    """
    return f"n = {counts(n)}"


def plural(n: int, noun: str, several: str = "") -> str:
    """Return a count with its noun.

    >>> plural(1, "model"), plural(1200, "item"), plural(0, "phenomenon", "phenomena")
    ('1 model', '1,200 items', '0 phenomena')
    """
    return f"{int(n):,} {inflect(n, noun, several or f'{noun}s')}"


def counts(n: Iterable[int], noun: str = "") -> str:
    """Return the smallest and the largest of some counts with their noun.

    >>> counts([900, 1000], "item"), counts([1], "item"), counts([20, 20])
    ('900 to 1,000 items', '1 item', '20')
    """
    known = [int(count) for count in n]
    least, most = min(known), max(known)
    shown = plural(most, noun) if noun else f"{most:,}"
    return shown if least == most else f"{least:,} to {shown}"


def inflect(n: int, singular: str, other: str) -> str:
    """Return the form of a word that goes with a count.

    >>> [f"{plural(n, 'pair')} {inflect(n, 'agrees', 'agree')}" for n in (0, 1, 2)]
    ['0 pairs agree', '1 pair agrees', '2 pairs agree']
    """
    return singular if n == 1 else other


def names(values: Iterable[object], *, most: int = 4) -> str:
    """Return names in a row, the first few of many.

    >>> names("abc"), names("abcdef")
    ('a, b and c', 'a, b, c, d and 2 more')
    """
    listed = list(dict.fromkeys(map(str, values)))
    if len(listed) > most:
        return f"{', '.join(listed[:most])} and {len(listed) - most} more"
    return " and ".join([", ".join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed)


def p_value(p: float) -> str:
    """Return a p value with its relation, near .05 with as many digits as show on which side it is.

    >>> p_value(0.0004), p_value(0.02), p_value(1.0), p_value(0.0496)
    ('p < .001', 'p = .020', 'p = 1.000', 'p = .0496')
    """
    if math.isnan(p):
        return "p undefined"
    digits = next((n for n in range(3, 7) if round(p, n) != 0.05), 3)
    return "p < .001" if p < 0.001 else f"p = {f'{p:z.{digits}f}'.removeprefix('0')}"
