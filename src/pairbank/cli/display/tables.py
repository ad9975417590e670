"""Tables for a terminal of any width, with nothing cut off, and the items that a model got wrong.

What does not fit is made narrower in this order: columns that hold nothing go, columns that hold the same in every row
become a line above the table, an interval stands below its estimate, words stand below each other, then the parts of
names; the first column becomes a line above its rows. What does not fit even then is printed row by row, a line a cell.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from pairbank.cli.display.output import answer, output, say
from pairbank.errors import spelt_out
from pairbank.stats.wording import number, percent

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from pairbank.arrays import FloatArray
    from pairbank.scoring.api.layout import MethodLayout
    from pairbank.scoring.scored import Scored


PIPE_WIDTH = 160
"""Columns where no terminal says how many it has."""
_GAP = 2
_LONGEST_WORD = 24
"""A longer word (a sentence in Chinese, a path) may be broken anywhere, unless its column is to stay whole."""


def show(table: pd.DataFrame, *, name: str = "", whole: Sequence[str] = ()) -> None:
    """Print a table."""
    from rich.console import Console

    if name:
        answer(**{name: table})
    if output().as_json:
        return
    console = Console()
    if not console.is_terminal:
        console = Console(width=PIPE_WIDTH)
    for line in lines(table, width=console.width, whole=whole):
        console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=isinstance(line, str))


def lines(table: pd.DataFrame, *, width: int, whole: Sequence[str] = ()) -> list[Any]:
    """Return what is printed of a table in so many columns: texts, and rich's tables."""
    grid = _Grid.of(table, whole)
    if grid.natural > width:
        grid = grid.without_empty()
    common: list[str] = []
    if grid.natural > width:
        grid, common = grid.without_constant()
    if grid.natural > width:
        grid = grid.with_intervals_below()
    if grid.least > width:
        grid = replace(grid, whole=frozenset(), breaks_names=True)
    first, rest = grid.column(0), grid.keeping(range(1, len(grid.header)))
    if min(grid.least, rest.least) > width:
        grid, rest = replace(grid, gap=1), replace(rest, gap=1)
    if grid.least <= width:
        return [*common, grid.drawn(width)]
    if rest.header and len(set(first)) < len(first) and rest.least <= width:
        return [*common, *rest.drawn_under(grid.header[0], first, width)]
    return [*common, *grid.blocks(width)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grid:
    """A table as text."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    whole: frozenset[str]
    """Columns whose cells stay on one line."""
    gap: int = _GAP
    breaks_names: bool = False
    """Whether a name may go on in the next line after a mark in it."""

    @classmethod
    def of(cls, table: pd.DataFrame, whole: Sequence[str]) -> _Grid:
        cells = (
            tuple("" if cell is None or cell != cell else spelt_out(str(cell)) for cell in row)  # noqa: PLR0124 - NaN
            for row in table.itertuples(index=False, name=None)
        )
        return cls(
            header=tuple(spelt_out(str(name)) for name in table.columns), rows=tuple(cells), whole=frozenset(whole)
        )

    def column(self, place: int) -> list[str]:
        return [row[place] for row in self.rows]

    def naturals(self) -> list[int]:
        return [_widest([name, *self.column(i)]) for i, name in enumerate(self.header)]

    def leasts(self) -> list[int]:
        """Return how narrow each column can be with no word broken that should not be."""
        return [
            _widest([w for text in (name, *self.column(i)) for w in self._pieces(text, is_whole=name in self.whole)])
            for i, name in enumerate(self.header)
        ]

    @property
    def natural(self) -> int:
        return sum(self.naturals()) + self.gap * (len(self.header) - 1)

    @property
    def least(self) -> int:
        return sum(self.leasts()) + self.gap * (len(self.header) - 1)

    def keeping(self, places: Sequence[int]) -> _Grid:
        rows = tuple(tuple(row[i] for i in places) for row in self.rows)
        return replace(self, header=tuple(self.header[i] for i in places), rows=rows)

    def _pieces(self, text: str, *, is_whole: bool) -> list[str]:
        """Return what of a text must stand on one line."""
        if is_whole:
            return text.split("\n")
        words = [word for line in text.split("\n") for word in _words(line)]
        if self.breaks_names:
            words = [part for word in words for part in _parts(word)]
        return [word if _widest([word]) <= _LONGEST_WORD else word[: _LONGEST_WORD // 2] for word in words]

    def without_empty(self) -> _Grid:
        return self.keeping([i for i in range(len(self.header)) if any(self.column(i)) or not self.rows])

    def with_intervals_below(self) -> _Grid:
        rows = tuple(tuple(re.sub(r" (?=\[|\()", "\n", cell) if "[" in cell else cell for cell in r) for r in self.rows)
        return replace(self, rows=rows)

    def without_constant(self) -> tuple[_Grid, list[str]]:
        """Return the table without the columns that hold the same in each of several rows, and these as lines."""
        places = range(len(self.header))
        alike = [i for i in places if len(self.rows) > 1 and len(set(self.column(i))) == 1]
        constant = [i for i in alike if "[" not in self.rows[0][i]]  # estimates that happen to be equal stay
        texts = [f"{self.header[i]}: {self.rows[0][i]}".replace("\n", " ") for i in constant]
        kept = [i for i in places if i not in constant]
        return (self.keeping(kept), texts) if kept else (self, [])

    def widths(self, width: int) -> list[int]:
        """Return the columns' widths: the least ones, and what is left to those that need little more first."""
        result, naturals = self.leasts(), self.naturals()
        left = width - self.gap * (len(result) - 1) - sum(result)
        for n_waiting, i in enumerate(sorted(range(len(result)), key=lambda i: naturals[i] - result[i])):
            more = min(naturals[i] - result[i], left // (len(result) - n_waiting))
            result[i] += more
            left -= more
        return result

    def drawn(self, width: int) -> Any:  # noqa: ANN401 - rich's table
        return self._table(self.rows, self.widths(width))

    def drawn_under(self, name: str, heads: Sequence[str], width: int) -> list[Any]:
        """Return the table in parts, one under each head, which stood in a column of this name."""
        widths = self.widths(width)
        places = {head: [i for i, entry in enumerate(heads) if entry == head] for head in heads}
        results: list[Any] = [self._table((), widths)]
        for head, own_values in places.items():
            results += folded(f"{name}: {head}", width)
            results.append(self._table([self.rows[i] for i in own_values], widths, has_header=False))
        return results

    def _table(self, rows: Sequence[Sequence[str]], widths: Sequence[int], *, has_header: bool = True) -> Any:  # noqa: ANN401
        from rich.table import Table

        shown = Table(
            box=None, pad_edge=False, padding=(0, self.gap, 0, 0), header_style="bold", show_header=has_header
        )
        for place, name in enumerate(self.header):
            shown.add_column(name, overflow="fold", min_width=widths[place], max_width=widths[place])
        for row in rows:
            shown.add_row(*(self._fitted(cell, n) for cell, n in zip(row, widths, strict=True)))
        return shown

    def _fitted(self, cell: str, width: int) -> str:
        """Return a cell with line ends within its names where they have to go on in the next line."""
        if not self.breaks_names or _widest([cell]) <= width:
            return cell
        lines = [""]
        for part in re.findall(r"[^_@/\s-]*[_@/-]|[^_@/\s-]+|\s+", cell):
            if lines[-1] and _widest([lines[-1] + part.rstrip()]) > width:
                lines.append("")
            lines[-1] += part if lines[-1] else part.lstrip()
        return "\n".join(line.rstrip() for line in lines)

    def blocks(self, width: int) -> list[str]:
        """Return the rows, one after the other: a line a cell that holds something, folded where it is too long."""
        results: list[str] = []
        for row in self.rows:
            for place, (name, cell) in enumerate(zip(self.header, row, strict=True)):
                if cell:
                    results += folded(f"{name}: {cell}".replace("\n", " "), width, indent="" if place == 0 else "  ")
        return results


def folded(text: str, width: int, *, indent: str = "", hanging: str = "    ") -> list[str]:
    """Return a text in lines of a width, whatever script it is in.

    >>> folded("The dogs bark.", 10, indent="  ", hanging="  ")
    ['  The dogs', '  bark.']
    """
    from rich.console import Console
    from rich.text import Text

    inner = max(8, width - max(len(indent), len(hanging)))
    wrapped = Text(text).wrap(Console(width=inner), inner, overflow="fold")
    return [(indent if i == 0 else hanging) + line.plain.rstrip() for i, line in enumerate(wrapped)]


def _words(line: str) -> list[str]:
    return [line] if line.startswith("[") else line.split()


def _parts(word: str) -> list[str]:
    """Return the parts of a name, each with the mark that ends it; what stands in brackets is one.

    >>> _parts("hl23_sent@chat")
    ['hl23_', 'sent@', 'chat']
    """
    return [word] if word.startswith("[") else re.findall(r"[^_@/-]*[_@/-]|[^_@/-]+", word)


def _widest(texts: Sequence[str]) -> int:
    from rich.cells import cell_len

    return max((cell_len(line) for text in texts for line in text.split("\n")), default=0)


Wrong = Annotated[
    int | None,
    typer.Option("--wrong", min=1, help="Also print the N worst errors."),
]
WrongBy = Annotated[
    str | None,
    typer.Option(
        "--wrong-by",
        help="Method that --wrong ranks by. [default: the first one]",
        show_default=False,
        rich_help_panel="More ways of scoring",
    ),
]
_COLUMNS = ("item_id", "phenomenon", "paradigm", "context_good", "target_good", "context_bad", "target_bad")


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """Items of one table that one method got wrong."""

    model: str
    corpus: str
    method: str
    unit: str
    n_wrong: int
    n_tied: int
    n_scored: int
    items: tuple[dict[str, Any], ...]
    """The worst, each with its delta."""
    first_option: float = math.nan
    """Share of first options, where the answers name a place and not a side; else NaN."""
    pooled: float = math.nan
    """The accuracy of such answers, orders pooled."""


def say_wrong(tables: Sequence[Scored], n: int | None, method: str | None) -> None:
    """Print the worst items of each table; nothing where nobody asked."""
    if n is None:
        if method is not None:
            raise typer.BadParameter("--wrong-by says by which method: say how many too, as in --wrong 10")
        return
    results = [missed(table, n, method) for table in tables]
    answer(wrong=results)
    if output().as_json:
        return
    width = _width()
    for entry in results:
        for line in wrong_lines(entry, width=width):
            say(line)


def missed(table: Scored, n: int, method: str | None = None) -> Missed:
    """Return the items whose difference is below 0, the lowest first."""
    from pairbank.scoring.api.layout import MethodLayout

    layouts = [MethodLayout.from_dict(layout) for layout in table.layouts]
    names = [entry.method for entry in layouts if entry.columns.delta in table.dataset.column_names]
    if method is not None and method not in names:
        raise typer.BadParameter(f"--wrong-by {method!r}: {table.corpus} has {', '.join(names) or 'no differences'}")
    if not names:
        raise typer.BadParameter(f"--wrong: {table.corpus} by {table.model} has no method with two sides")
    chosen = method or names[0]
    layout = next(entry for entry in layouts if entry.method == chosen)
    column: pa.ChunkedArray = table.dataset.with_format("arrow")[:][layout.columns.delta]
    deltas: FloatArray = column.to_numpy(zero_copy_only=False).astype(np.float64)
    order = [int(i) for i in np.argsort(deltas, kind="stable") if deltas[i] < 0][:n]
    share, pooled = _by_place(table, layout)
    columns = [name for name in _COLUMNS if name in table.dataset.column_names]
    rows: list[dict[str, Any]] = table.dataset.select_columns(columns).select(order).to_list()
    return Missed(
        model=table.model,
        corpus=table.corpus,
        method=chosen,
        unit=layout.unit_in_words,
        n_wrong=int((deltas < 0).sum()),
        n_tied=int((deltas == 0).sum()),
        n_scored=int((~np.isnan(deltas)).sum()),
        items=tuple({"delta": float(deltas[i]), **row} for i, row in zip(order, rows, strict=True)),
        first_option=share,
        pooled=pooled,
    )


def _by_place(table: Scored, layout: MethodLayout) -> tuple[float, float]:
    """Return the share of first options and the accuracy with orders pooled, where answers name a place; else NaN."""
    from pairbank.stats.measures.accuracy import accuracy_pooled, position_bias
    from pairbank.stats.scored_table.method_scores import is_one_place, shows_both

    name = layout.columns.logprobs
    if not (layout.has_logprobs and shows_both(layout) and name in table.dataset.column_names):
        return math.nan, math.nan
    reported = table.dataset.select_columns([name]).with_format("arrow")[:][name].drop_null().to_pylist()
    if not reported:
        return math.nan, math.nan
    logprobs = layout.reshape([[math.nan if x is None else x for x in row] for row in reported])
    share = position_bias(logprobs, layout).value
    return (share, accuracy_pooled(logprobs, layout).value) if is_one_place(share) else (math.nan, math.nan)


def wrong_lines(result: Missed, *, width: int) -> Iterator[str]:
    """Yield what is printed of missed items, in so many columns."""
    from pairbank.stats.report.cautions import picks

    tied = f", {result.n_tied:,} tied" if result.n_tied else ""
    yield ""
    yield from folded(
        f"Wrong by {result.method}: {result.n_wrong:,} of {result.n_scored:,} items of {result.corpus}{tied}, "
        f"{result.model}; Δ = good − bad in {result.unit}, the worst {len(result.items):,}:",
        width,
    )
    if not math.isnan(result.first_option):
        yield from folded(
            f"Position bias: the model {picks(result.first_option)} ({percent(result.first_option)} first); accuracy "
            f"{number(result.pooled)} with orders pooled. The differences below show how certain it is of that option.",
            width,
        )
    for item in result.items:
        description = dict.fromkeys(str(item[name]) for name in ("item_id", "phenomenon", "paradigm") if item.get(name))
        yield from folded(f"{number(item['delta']):>8}  {'  '.join(description)}", width, hanging=" " * 10)
        for side in ("good", "bad"):
            text = " | ".join(str(item[k]) for k in (f"context_{side}", f"target_{side}") if item.get(k))
            if text:
                yield from folded(f"{side:<4}  {text}", width, indent=" " * 10, hanging=" " * 16)


def _width() -> int:
    from rich.console import Console

    console = Console()
    return console.width if console.is_terminal else PIPE_WIDTH
