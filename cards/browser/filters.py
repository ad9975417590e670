"""Which rows: in, a table and a view; out, a mask and an order. Whole columns at once, never a row in Python."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from pairbank.cards.bank.redistribution import TEXTS
from pairbank.cards.browser.view import FILTERS
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.names import DIRECT
from pairbank.stats.estimates.metrics import HUMAN
from pairbank.stats.estimates.ties import signs

if TYPE_CHECKING:
    import pyarrow as pa

    from pairbank.arrays import BoolArray, FloatArray, IntArray
    from pairbank.cards.browser.data import Table
    from pairbank.cards.browser.view import View


def chosen(table: Table, view: View) -> BoolArray:
    """Return which rows the view's filters keep, shape (rows,)."""
    key = (table.path, view.q, view.show, view.method, *(getattr(view, name) for name in FILTERS))
    return table.cache.get(key, functools.partial(_chosen, table, view), lambda mask: int(mask.nbytes))


def _chosen(table: Table, view: View) -> BoolArray:
    keep = np.ones(table.n_rows, dtype=np.bool_)
    for name in FILTERS:
        if value := getattr(view, name):
            keep &= _bools(pc.equal(table.column(name), value)) if name in table.names else False
    if view.q:
        keep &= containing(table, view.q)
    if view.show != "all":
        keep &= shown(table, view)
    return keep


def containing(table: Table, text: str) -> BoolArray:
    """Return the rows whose id or texts contain a string, whatever the case; shape (rows,)."""
    table.load(("item_id", *TEXTS))
    found = np.zeros(table.n_rows, dtype=np.bool_)
    for name in ("item_id", *TEXTS):
        if name in table.names:
            found |= _bools(pc.match_substring(table.column(name), text, ignore_case=True))
    return found


def shown(table: Table, view: View) -> BoolArray:
    """Return the rows of the kind that the view asks for; a row without the scores in question is none."""
    method = signs(table.delta(view.method))
    if view.show == "wrong":
        return method < 0
    if view.show == "direct":
        return method * signs(table.delta(DIRECT)) < 0
    if view.show == "people":
        return method * signs(table.delta(HUMAN)) < 0
    sides = [signs(table.delta(facts.name)) for facts in table.methods]
    better = functools.reduce(np.logical_or, [sign > 0 for sign in sides], np.zeros(table.n_rows, dtype=np.bool_))
    worse = functools.reduce(np.logical_or, [sign < 0 for sign in sides], np.zeros(table.n_rows, dtype=np.bool_))
    return np.asarray(better & worse)


def ordered(table: Table, view: View) -> IntArray:
    """Return the chosen rows' positions in the view's order: as in the file, or by a difference, NaN last."""
    rows = np.flatnonzero(chosen(table, view))
    column = view.sort.removeprefix("-")
    if not column or (column != HUMAN and ScoreColumns(column).delta not in table.names):
        return rows
    values: FloatArray = table.delta(column)[rows]
    order = np.argsort(-values if view.sort.startswith("-") else values, kind="stable")
    return rows[order]


def _bools(column: pa.Array) -> BoolArray:
    return np.asarray(pc.fill_null(column, fill_value=False).to_numpy(zero_copy_only=False), dtype=np.bool_)
