"""Pieces of the page that several panels use: sortable headings, pagers, empty states, pickable elements.

A pickable element carries `data-pick` (what) and `data-value` (which); the page's script sends both back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pairbank.cards.browser.text import esc

if TYPE_CHECKING:
    from pairbank.cards.browser.view import View

PAGE_ROWS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A column's heading."""

    label: str
    key: str = ""
    """What sorts by it; empty where nothing does."""
    is_number: bool = False
    kind: str = "num"
    """How numbers stand: `num` to the right, `fig` an estimate before its interval."""
    tip: str = ""


def pick(what: str, value: object) -> str:
    """Return the attributes of an element that can be picked.

    >>> pick("item", 'a"b')
    'data-pick="item" data-value="a&quot;b"'
    """
    return f'data-pick="{what}" data-value="{esc(value)}"'


def headings(columns: Iterable[Heading], view: View) -> str:
    """Return a table's head; the column sorted by says so, and is picked to turn the order round."""
    return f"<thead><tr>{''.join(_heading(column, view) for column in columns)}</tr></thead>"


def _heading(column: Heading, view: View) -> str:
    kind = f' class="{column.kind}"' if column.is_number else ""
    tip = f' data-tip="{esc(column.tip)}"' if column.tip else ""
    if not column.key:
        return f"<th{kind}{tip} scope='col'>{esc(column.label)}</th>"
    is_sorted = view.sort.removeprefix("-") == column.key
    down = view.sort.startswith("-")
    if is_sorted:
        order, arrow = ("descending", "↓") if down else ("ascending", "↑")
        turned = column.key if down else f"-{column.key}"
    else:
        order, arrow, turned = "none", "", f"-{column.key}" if column.is_number else column.key
    label = esc(column.label).replace("_", "_<wbr>")
    button = f'<button type="button" {pick("sort", turned)}>{label}<i>{arrow}</i></button>'
    return f'<th{kind}{tip} scope="col" aria-sort="{order}">{button}</th>'


def table(head: str, rows: Sequence[str], label: str, kind: str = "") -> str:
    """Return a table that scrolls sideways by itself where it is too wide."""
    body = "".join(rows)
    return (
        f'<div class="pb-scroll" tabindex="0" role="region" aria-label="{esc(label)}">'
        f'<table class="pb-table {kind}">{head}<tbody>{body}</tbody></table></div>'
    )


def pager(page: int, n_rows: int, noun: str = "item") -> str:
    """Return where one is among pages of `PAGE_ROWS`, with buttons; nothing for a single page."""
    n_pages = pages(n_rows)
    if n_pages == 1:
        return ""
    first, last = (page - 1) * PAGE_ROWS + 1, min(page * PAGE_ROWS, n_rows)
    buttons = "".join(
        f'<button type="button" class="pb-button" {pick("page", to)}{"" if usable else " disabled"}>{label}</button>'
        for label, to, usable in (("← Previous", page - 1, page > 1), ("Next →", page + 1, page < n_pages))
    )
    return f'<div class="pb-pager"><span>{noun}s {first:,}–{last:,} of {n_rows:,}</span><span>{buttons}</span></div>'


def pages(n_rows: int) -> int:
    """Return how many pages some rows fill, at least one.

    >>> pages(0), pages(50), pages(51)
    (1, 1, 2)
    """
    return max(1, -(-n_rows // PAGE_ROWS))


def empty(title: str, advice: str) -> str:
    """Return a panel that says why it is empty and what to do."""
    return f'<div class="pb-empty"><strong>{esc(title)}</strong><p>{esc(advice)}</p></div>'


def note(text: str) -> str:
    """Return a line of small print."""
    return f'<p class="pb-note">{esc(text)}</p>'
