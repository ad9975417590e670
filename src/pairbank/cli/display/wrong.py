"""The items that a model got wrong, worst first, with their texts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from pairbank.cli.display.console import console_width
from pairbank.cli.display.output import answer, output, say
from pairbank.cli.display.tables import folded
from pairbank.stats.wording import number, percent

if TYPE_CHECKING:
    import pyarrow as pa

    from pairbank.arrays import FloatArray
    from pairbank.scoring.api.layout import MethodLayout
    from pairbank.scoring.scored import Scored


_COLUMNS = ("item_id", "phenomenon", "paradigm", "context_good", "target_good", "context_bad", "target_bad")


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
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
    if n is None:
        if method is not None:
            raise typer.BadParameter("--wrong-by says by which method: say how many too, as in --wrong 10")
        return
    wrong = [missed(table, n, method) for table in tables]
    answer(wrong=wrong)
    if output().as_json:
        return
    width = console_width()
    for of_table in wrong:
        for line in wrong_lines(of_table, width=width):
            say(line)


def missed(table: Scored, n: int, method: str | None = None) -> Missed:
    """Return the items whose difference is below 0, the lowest first."""
    import numpy as np

    from pairbank.scoring.api.layout import MethodLayout

    layouts = {
        layout.method: layout
        for layout in map(MethodLayout.from_dict, table.layouts)
        if layout.columns.delta in table.dataset.column_names
    }
    if method is not None and method not in layouts:
        raise typer.BadParameter(f"--wrong-by {method!r}: {table.corpus} has {', '.join(layouts) or 'no differences'}")
    if not layouts:
        raise typer.BadParameter(f"--wrong: {table.corpus} by {table.model} has no method with two sides")
    layout = layouts[method or next(iter(layouts))]
    column: pa.ChunkedArray = table.dataset.with_format("arrow")[:][layout.columns.delta]
    deltas: FloatArray = column.to_numpy(zero_copy_only=False).astype(np.float64)
    order = [int(i) for i in np.argsort(deltas, kind="stable") if deltas[i] < 0][:n]
    share, pooled = _by_place(table, layout)
    columns = [name for name in _COLUMNS if name in table.dataset.column_names]
    rows: list[dict[str, Any]] = table.dataset.select_columns(columns).select(order).to_list()
    return Missed(
        model=table.model,
        corpus=table.corpus,
        method=layout.method,
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


def wrong_lines(wrong: Missed, *, width: int) -> Iterator[str]:
    from pairbank.stats.report.checks import picks

    tied = f", {wrong.n_tied:,} tied" if wrong.n_tied else ""
    yield ""
    yield from folded(
        f"Wrong by {wrong.method}: {wrong.n_wrong:,} of {wrong.n_scored:,} items of {wrong.corpus}{tied}, "
        f"{wrong.model}; Δ = good − bad in {wrong.unit}, the worst {len(wrong.items):,}:",
        width,
    )
    if not math.isnan(wrong.first_option):
        yield from folded(
            f"Position bias: the model {picks(wrong.first_option)} ({percent(wrong.first_option)} first); accuracy "
            f"{number(wrong.pooled)} with orders pooled. The differences below show how certain it is of that option.",
            width,
        )
    for item in wrong.items:
        description = dict.fromkeys(str(item[name]) for name in ("item_id", "phenomenon", "paradigm") if item.get(name))
        yield from folded(f"{number(item['delta']):>8}  {'  '.join(description)}", width, hanging=" " * 10)
        for side in ("good", "bad"):
            text = " | ".join(str(item[k]) for k in (f"context_{side}", f"target_{side}") if item.get(k))
            if text:
                yield from folded(f"{side:<4}  {text}", width, indent=" " * 10, hanging=" " * 16)
