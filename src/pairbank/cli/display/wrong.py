"""The items that a model got wrong, worst first, with their texts: in, scored tables; out, lines and values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from pairbank.cli.display.output import answer, output, say
from pairbank.cli.display.tables import PIPE_WIDTH, folded
from pairbank.scoring.api.layout import MethodLayout, ScoreColumns
from pairbank.stats.wording import number, percent

if TYPE_CHECKING:
    import pyarrow as pa

    from pairbank.arrays import FloatArray
    from pairbank.scoring.scored import Scored

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
    found = [missed(table, n, method) for table in tables]
    answer(wrong=found)
    if output().as_json:
        return
    width = _width()
    for one in found:
        for line in lines(one, width=width):
            say(line)


def missed(table: Scored, n: int, method: str | None = None) -> Missed:
    """Return the items whose difference is below 0, the lowest first.

    Args:
        table: scored items.
        n: at most so many of them.
        method: which difference; None takes the first method that has one.
    """
    layouts = [MethodLayout.from_dict(layout) for layout in table.layouts]
    names = [one.method for one in layouts if one.columns.delta in table.dataset.column_names]
    if method is not None and method not in names:
        raise typer.BadParameter(f"--wrong-by {method!r}: {table.corpus} has {', '.join(names) or 'no differences'}")
    if not names:
        raise typer.BadParameter(f"--wrong: {table.corpus} by {table.model} has no method with two sides")
    chosen = method or names[0]
    column: pa.ChunkedArray = table.dataset.with_format("arrow")[:][ScoreColumns(chosen).delta]
    deltas: FloatArray = column.to_numpy(zero_copy_only=False).astype(np.float64)
    order = [int(i) for i in np.argsort(deltas, kind="stable") if deltas[i] < 0][:n]
    share, pooled = _by_place(table, next(one for one in layouts if one.method == chosen))
    columns = [name for name in _COLUMNS if name in table.dataset.column_names]
    rows: list[dict[str, Any]] = table.dataset.select_columns(columns).select(order).to_list()
    return Missed(
        model=table.model,
        corpus=table.corpus,
        method=chosen,
        unit=next(one.unit_in_words for one in layouts if one.method == chosen),
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
    from pairbank.stats.scored_table.credit import is_one_place, shows_both

    name = layout.columns.logprobs
    if not (layout.has_logprobs and shows_both(layout) and name in table.dataset.column_names):
        return math.nan, math.nan
    told = table.dataset.select_columns([name]).with_format("arrow")[:][name].drop_null().to_pylist()
    if not told:
        return math.nan, math.nan
    logprobs = layout.reshape([[math.nan if x is None else x for x in row] for row in told])
    share = position_bias(logprobs, layout).value
    return (share, accuracy_pooled(logprobs, layout).value) if is_one_place(share) else (math.nan, math.nan)


def lines(found: Missed, *, width: int) -> Iterator[str]:
    """Yield what is printed of missed items, in so many columns."""
    from pairbank.stats.report.one_place import picks

    tied = f", {found.n_tied:,} tied" if found.n_tied else ""
    yield ""
    yield from folded(
        f"Wrong by {found.method}: {found.n_wrong:,} of {found.n_scored:,} items of {found.corpus}{tied}, "
        f"{found.model}; Δ = good − bad in {found.unit}, the worst {len(found.items):,}:",
        width,
    )
    if not math.isnan(found.first_option):
        yield from folded(
            f"Position bias: the model {picks(found.first_option)} ({percent(found.first_option)} first); accuracy "
            f"{number(found.pooled)} with orders pooled. The differences below show how certain it is of that option.",
            width,
        )
    for item in found.items:
        what = dict.fromkeys(str(item[name]) for name in ("item_id", "phenomenon", "paradigm") if item.get(name))
        yield from folded(f"{number(item['delta']):>8}  {'  '.join(what)}", width, hanging=" " * 10)
        for side in ("good", "bad"):
            text = " | ".join(str(item[k]) for k in (f"context_{side}", f"target_{side}") if item.get(k))
            if text:
                yield from folded(f"{side:<4}  {text}", width, indent=" " * 10, hanging=" " * 16)


def _width() -> int:
    from rich.console import Console

    console = Console()
    return console.width if console.is_terminal else PIPE_WIDTH
