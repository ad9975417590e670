"""The download page: in, the rows a view keeps; out, what they are, buttons, and the same rows in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pairbank.cards.bank.layout import config_name
from pairbank.cards.browser.export import filters_of
from pairbank.cards.browser.filters import chosen
from pairbank.cards.browser.parts import note
from pairbank.cards.browser.text import esc, isolated, words

if TYPE_CHECKING:
    from pairbank.cards.browser.data import Bank, Table
    from pairbank.cards.browser.view import View

COLUMNS_NOTE = (
    "All columns of the table, then the model and the signature. In CSV, lists (option log-probabilities, flags) are "
    "JSON, and a text that a spreadsheet would run as a formula starts with an apostrophe. Parquet is exact."
)


def panel(bank: Bank, table: Table, view: View) -> str:
    """Return the download page as HTML."""
    n_rows = int(chosen(table, view).sum())
    model = f" scored by {isolated(table.model)}" if table.model else ""
    told = [f"{words(name)}: {isolated(value)}" for name, value in filters_of(view).items() if name != "method"]
    kept = f", with {'; '.join(told)}" if told else ", all of them"
    buttons = "".join(
        f'<a class="pb-button strong" href="pairbank/rows.{ending}{esc(view.query)}" download>{label}</a>'
        for ending, label in (("csv", "Download CSV"), ("parquet", "Download Parquet"))
    )
    if not n_rows:
        buttons = '<span class="pb-hint">No item fits: widen the filters above.</span>'
    return (
        f'<div class="pb-card pb-download"><h2>{n_rows:,} of {table.n_rows:,} items</h2>'
        f"<p>{isolated(table.corpus)}{model}{kept}.</p><p class='pb-buttons'>{buttons}</p>{note(COLUMNS_NOTE)}"
        f"<h3>The same rows in Python</h3><pre>{esc(python_code(bank, table, view))}</pre></div>"
    )


def python_code(bank: Bank, table: Table, view: View) -> str:
    """Return lines that load the chosen rows with `datasets`; the text search isn't part of them."""
    config, split = config_name(table.corpus), "items"
    if view.model:
        config, split = f"{config}_scored", view.model
    lines = [
        "from datasets import load_dataset",
        f"rows = load_dataset({bank.source.name!r}, {config!r}, split={split!r})",
    ]
    tests = [f"row[{k!r}] == {v!r}" for k, v in filters_of(view).items() if k not in ("q", "show", "method")]
    if tests:
        lines.append(f"rows = rows.filter(lambda row: {' and '.join(tests)})")
    return "\n".join(lines)
