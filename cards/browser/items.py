"""The items: in, the rows a view keeps; out, a page of them beside everything about the selected one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pairbank.cards.bank.redistribution import TEXTS
from pairbank.cards.browser.filters import ordered
from pairbank.cards.browser.item import detail
from pairbank.cards.browser.parts import PAGE_ROWS, Heading, empty, headings, pager, pages, pick
from pairbank.cards.browser.parts import table as table_of
from pairbank.cards.browser.text import both_marked, clipped, esc, isolated, logprob, nats, words
from pairbank.cards.browser.view import axes_of
from pairbank.scoring.api.names import DIRECT
from pairbank.stats.estimates.metrics import HUMAN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pairbank.cards.browser.data import Bank, Table
    from pairbank.cards.browser.view import View

SHORT_COLUMNS = ("item_id", *TEXTS, "language", "phenomenon", "subset")
SHORT_TEXT = 240
"""Characters of a text in a list; the whole stands beside it once selected."""


def panel(bank: Bank, table: Table, view: View) -> str:
    """Return a page of items and the selected one as HTML."""
    rows = ordered(table, view)
    if not len(rows):
        beside = detail(bank, table, view) if view.item else ""
        return empty("No item fits.", "Clear the search, or widen the filters above.") + beside
    page = min(view.page, pages(len(rows)))
    here = rows[(page - 1) * PAGE_ROWS : page * PAGE_ROWS].tolist()
    shown = delta_names(table, view)
    columns = [Heading(label=f"{len(rows):,} item{'' if len(rows) == 1 else 's'}")]
    columns += [
        Heading(label="people" if name == HUMAN else name, key=name, is_number=True, tip=_tip(name, table))
        for name in shown
    ]
    body = [
        _row(row, position, table, shown, view)
        for row, position in zip(table.rows(here, SHORT_COLUMNS), here, strict=True)
    ]
    left = table_of(headings(columns, view), body, "Items", "pb-items") + pager(page, len(rows))
    return (
        f'<div class="pb-split pb-browse"><div>{left}</div><div class="pb-side">{detail(bank, table, view)}</div></div>'
    )


def delta_names(table: Table, view: View) -> list[str]:
    """Return the differences that a list shows: direct, the chosen method, people where there are any."""
    axes = axes_of(table)
    return [name for name in dict.fromkeys((DIRECT, view.method, HUMAN)) if name in axes]


def sides(row: Mapping[str, Any]) -> str:
    """Return the good and the bad text of a row as two lines, what differs marked."""
    language = row.get("language") or ""
    good = clipped(row.get("target_good") or "", SHORT_TEXT)
    if not good:
        return f'<p class="pb-good">{isolated(row["item_id"])}</p><p class="pb-context">text not published</p>'
    contexts = [clipped(row.get(f"context_{side}") or "", SHORT_TEXT) for side in ("good", "bad")]
    if row.get("target_bad") is None:
        return _side("good", _with_context(contexts[0], isolated(good, language)))
    left, right = both_marked(good, clipped(row["target_bad"], SHORT_TEXT), language)
    before, after = both_marked(contexts[0], contexts[1], language)
    return _side("good", _joined(contexts[0], before, left)) + _side("bad", _joined(contexts[1], after, right))


def _with_context(context: str, target: str) -> str:
    return _joined(context, isolated(context), target)


def _joined(context: str, shown: str, target: str) -> str:
    return f'<span class="pb-context">{shown}</span> {target}' if context else target


def _side(side: str, text: str) -> str:
    sign = "✓" if side == "good" else "✗"
    return f'<p class="pb-{side}"><i aria-label="{side}">{sign}</i><span dir="auto">{text}</span></p>'


def _row(row: Mapping[str, Any], position: int, table: Table, shown: list[str], view: View) -> str:
    on = ' class="on" aria-selected="true"' if row["item_id"] == view.item else ""
    kind = words(row["phenomenon"] or row["subset"] or "")
    cells = "".join(_delta(name, float(table.delta(name)[position])) for name in shown)
    place = f"<small>{isolated(kind)} · {esc(row['language'] or '')} · {esc(clipped(row['item_id'], 60))}</small>"
    return f'<tr{on} tabindex="0" {pick("item", row["item_id"])}><td>{sides(row)}{place}</td>{cells}</tr>'


def _delta(name: str, value: float) -> str:
    sign = "up" if value > 0 else "down" if value < 0 else "none"
    return f'<td class="num {sign}">{logprob(value) if name == HUMAN else nats(value)}</td>'


def _tip(name: str, table: Table) -> str:
    what = "Log-probability" if table.is_one_sided() else "Good − bad"
    return f"{what}, {'on the scale of the judgments' if name == HUMAN else table.unit(name)}"
