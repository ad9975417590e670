"""Two differences against each other: in, the rows a view keeps; out, a scatter plot, r, and what is selected in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairbank.cards.browser.charts import MOST_DOTS, Scatter, axis_of, hexagons
from pairbank.cards.browser.filters import chosen
from pairbank.cards.browser.items import SHORT_COLUMNS, sides
from pairbank.cards.browser.parts import empty, note, pick
from pairbank.cards.browser.text import clipped, esc, identifier, interval, logprob, nats, share
from pairbank.scoring.api.names import DIRECT
from pairbank.stats.estimates.metrics import HUMAN
from pairbank.stats.measures.agreement import pearson

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray, IntArray
    from pairbank.cards.browser.data import Table
    from pairbank.cards.browser.view import View
    from pairbank.stats.estimates.estimate import Estimate

MOST_LISTED = 12
_TIP_LENGTH = 110


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The items that both sides of the comparison have."""

    rows: IntArray
    """Positions in the table."""
    x: FloatArray
    y: FloatArray
    r: Estimate


def compared(table: Table, view: View) -> Compared:
    """Return the items of the view that are a choice and have both differences, and their correlation."""
    x, y = table.delta(view.versus), table.delta(view.method)
    rows = np.flatnonzero(chosen(table, view) & table.is_choice() & np.isfinite(x) & np.isfinite(y))
    return Compared(rows=rows, x=x[rows], y=y[rows], r=pearson(x[rows], y[rows]))


def axis_label(name: str, table: Table) -> str:
    """Return what an axis shows, with its unit."""
    if name != HUMAN:
        what = "log P," if table.is_one_sided() else "Δ"
        return f"{what} {name} ({table.unit(name)})"
    scales = table.values_of("human_scale")
    return f"Δ people ({scales[0] if len(scales) == 1 else 'judgments'})"


def title_of(r: Estimate, n: int) -> str:
    """Return r, its interval and n.

    >>> from pairbank.stats.measures.agreement import pearson
    >>> title_of(pearson([1, 2, 3, 4, 5], [2, 1, 4, 3, 5]), 5)
    'r = .80 [−.28, .99], n = 5'
    """
    value = f"r = {share(r.value)} {interval(r.low, r.high)}".strip() if r.is_defined else f"r undefined: {r.reason}"
    return f"{value}, n = {n:,}"


def panel(table: Table, view: View, *, narrow: bool) -> str:
    """Return the plot and what is selected in it as HTML."""
    if not view.method or not view.versus:
        return empty(
            "There are no two differences to compare.",
            "Score the corpus with `direct` and at least one prompt, or choose one with human judgments.",
        )
    found = compared(table, view)
    if not len(found.rows):
        return empty(
            f"No item has both {_who(view.versus)} and {view.method} under these filters.",
            "A prompt applies to some tasks and languages only: choose another method, or widen the filters.",
        )
    heading = f"<h2>{title_of(found.r, len(found.rows))}</h2>"
    subject = f"<p class='pb-sub'>{identifier(view.method)} against {_who(view.versus, code=True)}, one point an item"
    binned = "" if len(found.rows) <= MOST_DOTS else ", counted in hexagons (darker: more, on a log scale)"
    plot = _scatter(table, view, found).svg(narrow=narrow)
    return (
        f'<div class="pb-split pb-compare"><div>{heading}{subject}{binned}.</p>{plot}</div>'
        f'<div class="pb-side">{_selected(table, view, found)}</div></div>'
    )


def _who(name: str, *, code: bool = False) -> str:
    if name == HUMAN:
        return "people"
    return identifier(name) if code else name


def _scatter(table: Table, view: View, found: Compared) -> Scatter:
    ids: list[str] = []
    tips: list[str] = []
    if len(found.rows) <= MOST_DOTS:
        for row, x, y in zip(
            table.rows(found.rows.tolist(), ["item_id", "target_good"]), found.x, found.y, strict=True
        ):
            ids.append(row["item_id"])
            text = clipped(row["target_good"] or row["item_id"], _TIP_LENGTH)
            tips.append(f"{text}\n{_who(view.versus)} {_value(view.versus, x)}, {view.method} {_value(view.method, y)}")
    x_name, y_name = ("people" if name == HUMAN else _short(name) for name in (view.versus, view.method))
    return Scatter(
        x=found.x,
        y=found.y,
        x_axis=axis_of(axis_label(view.versus, table), found.x),
        y_axis=axis_of(axis_label(view.method, table), found.y),
        ids=ids,
        tips=tips,
        corners=() if table.is_one_sided() else ("both right", f"only {y_name}", f"only {x_name}", "both wrong"),
        selected=view.item if len(found.rows) <= MOST_DOTS else view.cell,
    )


def _short(name: str) -> str:
    return name if name == DIRECT else "asked"


def _value(name: str, value: float) -> str:
    return logprob(value) if name == HUMAN else nats(value)


def _selected(table: Table, view: View, found: Compared) -> str:
    if view.item:
        position = table.position(view.item)
        rows = [] if position is None else [position]
        return _listed(table, view, rows, "Selected item")
    if view.cell and len(found.rows) > MOST_DOTS:
        x_axis, y_axis = axis_of("", found.x), axis_of("", found.y)
        grid = hexagons(x_axis.at(found.x), y_axis.at(found.y))
        if view.cell in grid.names:
            inside = found.rows[grid.of_point == grid.names.index(view.cell)]
            head = f"{len(inside):,} item{'' if len(inside) == 1 else 's'} here"
            return _listed(table, view, inside[:MOST_LISTED].tolist(), head) + (
                note(f"The first {MOST_LISTED} in the corpus's order.") if len(inside) > MOST_LISTED else ""
            )
    what = "point to read its item" if len(found.rows) <= MOST_DOTS else "hexagon to read its items"
    return f'<div class="pb-hint">Choose a {what}.</div>'


def _listed(table: Table, view: View, rows: list[int], head: str) -> str:
    cards = []
    for row, position in zip(table.rows(rows, SHORT_COLUMNS), rows, strict=True):
        deltas = "".join(
            f"<span>{_who(name, code=True)} <b>{_value(name, float(table.delta(name)[position]))}</b></span>"
            for name in (view.versus, view.method)
        )
        name = row["item_id"]
        opener = f'<button type="button" class="pb-link" {pick("open", name)}>{esc(name)} →</button>'
        cards.append(f'<article class="pb-card">{sides(row)}<div class="pb-deltas">{deltas}</div>{opener}</article>')
    return f"<h3>{head}</h3>{''.join(cards)}"
