"""Charts as SVG: in, numbers; out, text of an SVG that follows the page's colours in light and in dark.

Blue is for agreement or the better side, orange for the other (Okabe & Ito 2008), and each also has a place or a sign.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairbank.cards.browser.parts import pick
from pairbank.cards.browser.text import count, esc, nats, nice_ticks, tick_text

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray, IntArray

MOST_DOTS = 900
"""With more points than this the plot counts them in hexagons."""
PLOT_WIDTH, PLOT_HEIGHT = 600.0, 400.0
"""Of the area inside the axes, in units of the drawing; hexagons are laid out in them at any size of page."""
_HEX_RADIUS = 9.0
_LEVELS = 6
_MOST_ROWS = 1_000
"""Of hexagons; far more than the plot is high."""
MOST_TOKENS = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One axis of a scatter plot."""

    label: str
    low: float
    high: float

    def at(self, values: FloatArray) -> FloatArray:
        """Return values as shares of the axis."""
        return np.asarray((values - self.low) / (self.high - self.low))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hexagons:
    """Points counted in hexagons."""

    of_point: IntArray
    """The hexagon of each point."""
    x: FloatArray
    """Centre of each hexagon in the drawing's units."""
    y: FloatArray
    names: tuple[str, ...]
    """The name of each hexagon: its column and row in the grid."""


def axis_of(label: str, values: FloatArray) -> Axis:
    """Return an axis that holds all values and 0, with some room.

    Args:
        label: what it shows.
        values: finite numbers, at least one.
    """
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    room = (high - low) * 0.04 or 1.0
    return Axis(label=label, low=low - room, high=high + room)


def hexagons(x: FloatArray, y: FloatArray) -> Hexagons:
    """Count points in a grid of hexagons.

    Args:
        x: shares of the axis, shape (points,).
        y: the same for the vertical axis, upwards.
    """
    px, py = x * PLOT_WIDTH, (1 - y) * PLOT_HEIGHT
    dx, dy = _HEX_RADIUS * math.sqrt(3), _HEX_RADIUS * 1.5
    # The nearer of the two rectangular lattices that a hexagonal grid is made of.
    j0 = np.round(py / dy / 2).astype(np.int64) * 2
    i0 = np.round(px / dx).astype(np.int64)
    j1 = np.floor(py / dy / 2).astype(np.int64) * 2 + 1
    i1 = np.floor(px / dx).astype(np.int64)
    far0 = (px - i0 * dx) ** 2 + (py - j0 * dy) ** 2
    far1 = (px - (i1 + 0.5) * dx) ** 2 + (py - j1 * dy) ** 2
    i, j = np.where(far0 <= far1, i0, i1), np.where(far0 <= far1, j0, j1)
    codes, of_point = np.unique(i * _MOST_ROWS + j, return_inverse=True)
    column, row = np.divmod(codes, _MOST_ROWS)
    return Hexagons(
        of_point=of_point,
        x=(column + 0.5 * (row % 2)) * dx,
        y=row * dy,
        names=tuple(f"{a}.{b}" for a, b in zip(column.tolist(), row.tolist(), strict=True)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """A scatter plot of two differences, with the share of points in each quadrant."""

    x: FloatArray
    y: FloatArray
    x_axis: Axis
    y_axis: Axis
    ids: Sequence[str]
    """Of the points; only read where each is drawn."""
    tips: Sequence[str]
    """Text shown beside each point; only read where each is drawn."""
    corners: tuple[str, ...]
    """What it means to lie top right, top left, bottom right, bottom left; empty where it means nothing."""
    selected: str = ""
    """The item or the hexagon selected."""

    def svg(self, *, narrow: bool) -> str:
        """Return the plot; `narrow` for a phone, where text needs more of the width."""
        scale = 0.5 if narrow else 1.0
        left, bottom, top, right = (62, 46, 30, 8) if narrow else (62, 50, 30, 12)
        width, height = left + PLOT_WIDTH * scale + right, top + PLOT_HEIGHT * scale + bottom
        marks = self._dots(scale) if len(self.x) <= MOST_DOTS else self._hexagons(scale)
        frame = self._frame(scale, most_ticks=4 if narrow else 7)
        return (
            f'<svg class="pb-chart pb-scatter" viewBox="0 0 {width:g} {height:g}" role="img" '
            f'aria-label="{esc(self.y_axis.label)} against {esc(self.x_axis.label)}">'
            f'<g transform="translate({left} {top})">{frame}{marks}{self._corners(scale)}</g></svg>'
        )

    def _frame(self, scale: float, *, most_ticks: int) -> str:
        width, height = PLOT_WIDTH * scale, PLOT_HEIGHT * scale
        parts = []
        ticks = nice_ticks(self.x_axis.low, self.x_axis.high, most_ticks)
        for tick, share in zip(ticks, self.x_axis.at(np.array(ticks)), strict=True):
            x, kind = share * width, "zero" if tick == 0 else "grid"
            parts.append(f'<path class="{kind}" d="M{x:.1f} 0V{height:g}"/>')
            parts.append(f'<text x="{x:.1f}" y="{height + 16:g}" text-anchor="middle">{tick_text(tick, ticks)}</text>')
        ticks = nice_ticks(self.y_axis.low, self.y_axis.high, most_ticks)
        for tick, share in zip(ticks, self.y_axis.at(np.array(ticks)), strict=True):
            y, kind = (1 - share) * height, "zero" if tick == 0 else "grid"
            parts.append(f'<path class="{kind}" d="M0 {y:.1f}H{width:g}"/>')
            parts.append(f'<text x="-7" y="{y + 4:.1f}" text-anchor="end">{tick_text(tick, ticks)}</text>')
        below = f'x="{width / 2:g}" y="{height + 38:g}" text-anchor="middle"'
        parts.append(f'<text class="axis" {below}>{esc(self.x_axis.label)}</text>')
        turn = f"translate(-48 {height / 2:g}) rotate(-90)"
        parts.append(f'<text class="axis" transform="{turn}" text-anchor="middle">{esc(self.y_axis.label)}</text>')
        return "".join(parts)

    def _corners(self, scale: float) -> str:
        if not self.corners:
            return ""
        width, height = PLOT_WIDTH * scale, PLOT_HEIGHT * scale
        sx, sy = np.sign(self.x), np.sign(self.y)
        shares = [float(np.mean((sx == a) & (sy == b))) for a, b in ((1, 1), (-1, 1), (1, -1), (-1, -1))]
        places = ((width, -9, "end"), (0, -9, "start"), (width, height - 8, "end"), (6, height - 8, "start"))
        return "".join(
            f'<text class="corner" x="{x - 6 if anchor == "end" and y > 0 else x:g}" y="{y:g}" text-anchor="{anchor}">'
            f"{esc(label)} {100 * part:.0f}&#8201;%</text>"
            for (x, y, anchor), label, part in zip(places, self.corners, shares, strict=True)
        )

    def _dots(self, scale: float) -> str:
        px = self.x_axis.at(self.x) * PLOT_WIDTH * scale
        py = (1 - self.y_axis.at(self.y)) * PLOT_HEIGHT * scale
        agree = np.sign(self.x) * np.sign(self.y) > 0
        order = sorted(range(len(px)), key=lambda i: self.ids[i] == self.selected)
        return "".join(
            f'<circle class="{"agree" if agree[i] else "differ"}{" on" if self.ids[i] == self.selected else ""}" '
            f'cx="{px[i]:.1f}" cy="{py[i]:.1f}" r="{3.2 if scale == 1 else 2.6}" {pick("item", self.ids[i])} '
            f'data-tip="{esc(self.tips[i])}"/>'
            for i in order
        )

    def _hexagons(self, scale: float) -> str:
        grid = hexagons(self.x_axis.at(self.x), self.y_axis.at(self.y))
        counts = np.bincount(grid.of_point)
        level = np.ceil(np.log1p(counts) / np.log1p(counts.max()) * _LEVELS).astype(int)
        corners = [(math.sin(math.pi / 3 * k), math.cos(math.pi / 3 * k)) for k in range(6)]
        shape = " ".join(f"{_HEX_RADIUS * scale * a:.1f},{_HEX_RADIUS * scale * b:.1f}" for a, b in corners)
        return "".join(
            f'<polygon class="hex level{level[k]}{" on" if name == self.selected else ""}" points="{shape}" '
            f'transform="translate({grid.x[k] * scale:.1f} {grid.y[k] * scale:.1f})" {pick("cell", name)} '
            f'data-tip="{count(int(counts[k]), "item")}"/>'
            for k, name in sorted(enumerate(grid.names), key=lambda pair: pair[1] == self.selected)
        )


def whisker(value: float, low: float, high: float, *, domain: tuple[float, float], reference: float) -> str:
    """Return a dot with its interval on a line, for a cell of a table; empty where there is no value.

    Args:
        value: the estimate.
        low: lower end of its interval, NaN where there is none.
        high: upper end.
        domain: ends of the line.
        reference: marked on the line: chance, or no correlation.
    """
    if math.isnan(value):
        return ""
    width, room = 150.0, 5.0

    def at(number: float) -> float:
        share = (min(max(number, domain[0]), domain[1]) - domain[0]) / (domain[1] - domain[0])
        return room + share * (width - 2 * room)

    bar = "" if math.isnan(low) else f'<path class="bar" d="M{at(low):.1f} 9H{at(high):.1f}"/>'
    return (
        f'<svg class="pb-whisker" viewBox="0 0 {width:g} 18" aria-hidden="true"><path class="line" d="M{room:g} 9H'
        f'{width - room:g}"/><path class="reference" d="M{at(reference):.1f} 2V16"/>{bar}'
        f'<circle class="{"up" if value >= reference else "down"}" cx="{at(value):.1f}" cy="9" r="3.6"/></svg>'
    )


def token_bars(good: Sequence[float], bad: Sequence[float]) -> str:
    """Return the surprisal of each token of both sides as bars, one row a side, on one scale.

    Args:
        good: log-probabilities in nats.
        bad: the same of the worse side; may be empty.
    """
    n_shown = min(max(len(good), len(bad), 1), MOST_TOKENS)
    highest = max([-x for x in (*good[:n_shown], *bad[:n_shown])], default=0.0) or 1.0
    step, height, width = 560 / max(n_shown, 12), 54.0, 600.0
    rows = []
    for row, (side, values) in enumerate((("good", good), ("bad", bad))):
        base = (row + 1) * (height + 14)
        bars = "".join(
            f'<rect class="{side}" x="{38 + k * step + 0.5:.1f}" y="{base - max(-x / highest * height, 0.8):.1f}" '
            f'width="{max(step - 1.5, 0.8):.1f}" height="{max(-x / highest * height, 0.8):.1f}" '
            f'data-tip="{side}, token {k + 1}: {nats(x)} nats"/>'
            for k, x in enumerate(values[:n_shown])
        )
        label = f'<text x="0" y="{base - 2:g}">{side}</text>' if values else ""
        rows.append(f'{label}<path class="grid" d="M38 {base:g}H{width:g}"/>{bars}')
    total = 2 * (height + 14) + 4 if bad else height + 18
    return (
        f'<svg class="pb-chart pb-tokens" viewBox="0 0 {width:g} {total:g}" role="img" aria-label="surprisal of each '
        f'token">{"".join(rows)}</svg>'
    )
