"""Correlation with people: in, the summary and a view; out, a table of corpus x method x model with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pairbank.cards.browser.charts import whisker
from pairbank.cards.browser.leaderboard import figure, method_name, wide
from pairbank.cards.browser.parts import PAGE_ROWS, Heading, empty, headings, note, pager, pages, table
from pairbank.cards.browser.text import esc, isolated, words

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from pairbank.cards.browser.data import Bank
    from pairbank.cards.browser.view import View

METRICS = {"pearson_human": "pearson", "spearman_human": "spearman"}
KEYS = ["corpus", "group_by", "group", "method", "model"]
NOTE = (
    "Correlation over items between a method’s difference and that of the mean human judgments, good − bad. Pearson r "
    "with Fisher’s interval, Spearman’s ρ with a bootstrap interval, both at level .95."
)


def correlations(bank: Bank, view: View) -> pd.DataFrame:
    """Return the rows in the view's order: keys, n, and value, low, high and reason of each correlation."""
    summary = bank.summary
    keep = summary["metric"].isin(list(METRICS))
    if view.within:
        keep &= summary["corpus"] == view.within
    frame = wide(summary[keep], METRICS, KEYS)
    column = view.sort.removeprefix("-")
    if column in frame.columns:
        return frame.sort_values(column, ascending=not view.sort.startswith("-"), kind="stable", na_position="last")
    order = ["corpus", "group_by", "group", "pearson"]
    return frame.sort_values(order, ascending=[True, True, True, False], kind="stable")


def panel(bank: Bank, view: View) -> str:
    """Return the correlations with people as HTML."""
    frame = correlations(bank, view)
    if not len(frame):
        return _nothing(bank, view)
    page = min(view.page, pages(len(frame)))
    shown = frame.iloc[(page - 1) * PAGE_ROWS : page * PAGE_ROWS].to_dict("records")
    columns = [
        Heading(label="Corpus", key="corpus"),
        Heading(label="Method", key="method"),
        Heading(label="Model", key="model"),
        Heading(label="Pearson r", key="pearson", is_number=True, kind="fig"),
        Heading(label="", tip="−1 to 1, with the 95 % interval; the tick is no correlation"),
        Heading(label="Spearman’s ρ", key="spearman", is_number=True, kind="fig"),
        Heading(label="n", key="n", is_number=True, tip="Items with a score and human judgments of both sides"),
    ]
    rows = [_row({str(k): v for k, v in row.items()}) for row in shown]
    scales = _scales(bank, {str(name) for name in frame["corpus"]})
    return (
        table(headings(columns, view), rows, "Correlation with people", "pb-people")
        + pager(page, len(frame), "row")
        + note(f"{NOTE} {scales}")
    )


def _row(row: Mapping[str, Any]) -> str:
    part = "" if row["group_by"] == "all" else f"<small>{words(esc(row['group_by']))}: {isolated(row['group'])}</small>"
    plot = whisker(row["pearson"], row["pearson_low"], row["pearson_high"], domain=(-1, 1), reference=0.0)
    return (
        f"<tr><td class='c-corpus'>{isolated(row['corpus'])} {part}</td>"
        f"<td class='c-method'>{method_name(row['method'])}</td><td class='c-model'>{isolated(row['model'])}</td>"
        f"<td class='fig c-figure'>{_figure(row, 'pearson')}</td><td class='plot'>{plot}</td>"
        f"<td class='fig c-pooled' data-label='Spearman’s ρ'>{_figure(row, 'spearman')}</td>"
        f"<td class='num c-n'>{row['n']:,}</td></tr>"
    )


def _figure(row: Mapping[str, Any], metric: str) -> str:
    return figure(row[metric], row[f"{metric}_low"], row[f"{metric}_high"], row[f"{metric}_reason"])


def _scales(bank: Bank, corpora: set[str]) -> str:
    told = [
        f"{name}: {facts['human']}" for name, facts in bank.corpora.items() if name in corpora and facts.get("human")
    ]
    return f"Judgments: {'; '.join(told)}." if told else ""


def _nothing(bank: Bank, view: View) -> str:
    where = f"The corpus {view.within}" if view.within else "This bank"
    judged = [name for name, facts in bank.corpora.items() if facts.get("human")]
    others = f" Corpora here with judgments: {', '.join(judged)}." if judged else ""
    return empty(
        f"{where} has no items with human judgments of both sides and a model's scores.",
        f"`pairbank corpora` lists the corpora that have them; li, dtfit and cola are some.{others}",
    )
