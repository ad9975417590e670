"""Agreement of every two methods: in, the rows a view keeps; out, matrices, a heat map, and a pair in full.

The matrices are computed whole, by products of masked columns, so that twenty methods over 134,000 rows take no
time; the pair that is selected comes from `pairbank.stats`, with its intervals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairbank.cards.browser.filters import chosen
from pairbank.cards.browser.parts import empty, note, pick
from pairbank.cards.browser.text import esc, identifier, interval, share
from pairbank.cards.browser.view import MEASURES, axes_of
from pairbank.stats.estimates.metrics import HUMAN
from pairbank.stats.estimates.ties import signs
from pairbank.stats.measures.agreement import cohens_kappa, pearson

if TYPE_CHECKING:
    from pairbank.arrays import BoolArray, FloatArray, IntArray
    from pairbank.cards.browser.data import Table
    from pairbank.cards.browser.view import View
    from pairbank.stats.estimates.estimate import Estimate

NOTES = {
    "pearson": "Pearson r between the differences, over the items that both methods have.",
    "kappa": "Cohen’s κ between which side each method prefers; ties left out.",
    "raw_agreement": "Share of items on which both prefer the same side; ties left out.",
}
MOST_BESIDE = 8
"""With more methods than this the selected pair stands below the heat map."""
_STRONG = 0.7
"""From here on the cell is dark enough for light text (and light enough for dark text in the dark)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """One measure between every two methods."""

    names: tuple[str, ...]
    values: FloatArray
    """Shape (methods, methods); NaN where it is undefined."""
    n: IntArray
    """Items each value rests on."""


def matrix(names: tuple[str, ...], deltas: FloatArray, measure: str) -> Matrix:
    """Return one measure between every two methods, over the items that both have.

    Args:
        names: the methods.
        deltas: shape (items, methods), NaN where a method does not apply.
        measure: `pearson`, `kappa` or `raw_agreement`.

    >>> import numpy as np
    >>> deltas = np.array([[1.0, 2.0], [1.0, 2.0], [1.0, -2.0], [-1.0, -2.0], [-1.0, -2.0]])
    >>> matrix(("a", "b"), deltas, "kappa").values[0, 1].round(4).item()
    0.6154
    """
    if measure == "pearson":
        return _pearson(names, deltas)
    sides = signs(deltas)
    up, down = (sides > 0).astype(np.float64), (sides < 0).astype(np.float64)
    both_up, both_down, up_down = up.T @ up, down.T @ down, up.T @ down
    n = both_up + both_down + up_down + up_down.T
    with np.errstate(invalid="ignore", divide="ignore"):
        same = (both_up + both_down) / n
        if measure == "raw_agreement":
            return Matrix(names=names, values=same, n=n.astype(np.int64))
        first, second = (both_up + up_down) / n, (both_up + up_down.T) / n
        chance = first * second + (1 - first) * (1 - second)
        kappa = (same - chance) / (1 - chance)
    one_choice = (first == 0) | (first == 1) | (second == 0) | (second == 1)
    return Matrix(names=names, values=np.where(one_choice, np.nan, kappa), n=n.astype(np.int64))


def _pearson(names: tuple[str, ...], deltas: FloatArray) -> Matrix:
    has = np.isfinite(deltas)
    with np.errstate(invalid="ignore", divide="ignore"):
        middle = np.where(has, deltas, 0.0).sum(axis=0) / np.maximum(has.sum(axis=0), 1)
        x, m = np.where(has, deltas - middle, 0.0), has.astype(np.float64)
        n, sums, squares, products = m.T @ m, x.T @ m, (x * x).T @ m, x.T @ x
        covariance = products - sums * sums.T / n
        spread = squares - sums * sums / n
        values = covariance / np.sqrt(spread * spread.T)
    flat = spread <= 1e-20 * np.maximum(squares, 1e-300)
    values = np.where(flat | flat.T | (n < 2), np.nan, np.clip(values, -1, 1))
    return Matrix(names=names, values=values, n=n.astype(np.int64))


def usable(table: Table, view: View) -> BoolArray:
    """Return the rows that agreement is computed over: the view's, where both sides differ."""
    return chosen(table, view) & table.is_choice()


def panel(table: Table, view: View) -> str:
    """Return the heat map and the selected pair as HTML."""
    names = tuple(axes_of(table))
    if len(names) < 2:
        return empty(
            "There is only one method here.", "Score the corpus with `direct` and at least one prompt to compare."
        )
    keep = usable(table, view)
    deltas = np.stack([table.delta(name)[keep] for name in names], axis=1)
    found = matrix(names, deltas, view.measure)
    title = f"<h2>{MEASURES[view.measure]} between methods</h2>"
    wide = " pb-wide" if len(names) > MOST_BESIDE else ""
    return (
        f'<div class="pb-split pb-agree{wide}"><div>{title}{heat_map(found, view.cell)}{_legend()}'
        f'{note(NOTES[view.measure])}</div><div class="pb-side">{_pair(table, view, keep, names)}</div></div>'
    )


def heat_map(found: Matrix, selected: str) -> str:
    """Return a matrix as a table with coloured cells, methods numbered along the top."""
    head = "".join(f'<th scope="col" data-tip="{esc(_label(name))}">{k}</th>' for k, name in enumerate(found.names, 1))
    rows = []
    for i, name in enumerate(found.names):
        cells = "".join(_cell(found, i, j, selected) for j in range(len(found.names)))
        rows.append(f'<tr><th scope="row"><i>{i + 1}</i> {_shown(name)}</th>{cells}</tr>')
    return (
        '<div class="pb-scroll" tabindex="0" role="region" aria-label="Agreement between methods">'
        f"<table class='pb-heat'><thead><tr><th></th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(found: Matrix, i: int, j: int, selected: str) -> str:
    if i == j:
        return '<td class="same"></td>'
    value, n = float(found.values[i, j]), int(found.n[i, j])
    pair = f"{found.names[i]}~{found.names[j]}"
    on = " on" if pair == selected else ""
    tip = f"{_label(found.names[i])} and {_label(found.names[j])}: {share(value)}, n = {n:,}"
    if math.isnan(value):
        return f'<td class="none{on}" tabindex="0" {pick("cell", pair)} data-tip="{esc(tip)}">–</td>'
    kind = ("up" if value >= 0 else "down") + (" strong" if abs(value) > _STRONG else "")
    return (
        f'<td class="{kind}{on}" style="--w:{min(abs(value), 1) * 100:.0f}%" tabindex="0" {pick("cell", pair)} '
        f'data-tip="{esc(tip)}">{share(value)}</td>'
    )


def _legend() -> str:
    steps = "".join(
        f'<span class="{"up" if v >= 0 else "down"}{" strong" if abs(v) > _STRONG else ""}" style="--w:{abs(v):.0%}">'
        f"{share(v, 1)}</span>"
        for v in (-1.0, -0.6, -0.3, 0.0, 0.3, 0.6, 1.0)
    )
    return f'<div class="pb-legend" aria-hidden="true">{steps}</div>'


def _label(name: str) -> str:
    return "people" if name == HUMAN else name


def _shown(name: str) -> str:
    return "<em>people</em>" if name == HUMAN else identifier(name)


def _pair(table: Table, view: View, keep: BoolArray, names: tuple[str, ...]) -> str:
    pair = view.cell.split("~")
    if len(pair) != 2 or not set(pair) <= set(names) or pair[0] == pair[1]:
        return '<div class="pb-hint">Choose a cell to see the pair in full.</div>'
    a, b = (table.delta(name)[keep] for name in pair)
    both = np.isfinite(a) & np.isfinite(b)
    a, b = a[both], b[both]
    rows = [_estimate("Pearson r", pearson(a, b)), _estimate("Cohen’s κ", cohens_kappa(a, b))]
    compare = f'<button type="button" class="pb-link" {pick("compare", view.cell)}>Plot them →</button>'
    return (
        f'<article class="pb-card"><h3>{_shown(pair[0])} and {_shown(pair[1])}</h3>'
        f"<table class='pb-table small'><tbody>{''.join(rows)}</tbody></table>"
        f"<h4>Which side is preferred</h4>{_counts(pair, a, b)}{compare}</article>"
    )


def _estimate(label: str, found: Estimate) -> str:
    value = f"<b>{share(found.value)}</b> {interval(found.low, found.high)}"
    why = f"<small>{esc(found.reason)}</small>" if found.reason else ""
    return (
        f"<tr><td class='label'>{label}</td><td class='num'>{value} {why}</td><td class='num'>n = {found.n:,}</td></tr>"
    )


def _counts(pair: list[str], a: FloatArray, b: FloatArray) -> str:
    cells = [[int(np.sum((signs(a) == s) & (signs(b) == t))) for t in (1, -1)] for s in (1, -1)]
    ties = len(a) - sum(map(sum, cells))
    rows = "".join(
        f"<tr><th scope='row'>{_shown(pair[0])}: {side}</th><td class='num'>{x:,}</td><td class='num'>{y:,}</td></tr>"
        for side, (x, y) in zip(("better", "worse"), cells, strict=True)
    )
    return (
        f"<table class='pb-table small'><thead><tr><th></th><th class='num'>{_shown(pair[1])}: better</th>"
        f"<th class='num'>worse</th></tr></thead><tbody>{rows}</tbody></table>"
        + (note(f"Ties in either: {ties:,}.") if ties else "")
    )
