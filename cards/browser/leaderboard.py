"""The leaderboard: in, the summary and a view; out, a table of model x corpus x method with intervals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pairbank.cards.browser.charts import whisker
from pairbank.cards.browser.parts import PAGE_ROWS, Heading, empty, headings, note, pager, pages, table
from pairbank.cards.browser.text import esc, identifier, interval, isolated, share, words
from pairbank.stats.estimates.metrics import HUMAN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from pairbank.cards.browser.data import Bank
    from pairbank.cards.browser.view import View

METRICS = {
    "accuracy": "accuracy",
    "human_accuracy": "accuracy",
    "accuracy_pooled": "pooled",
    "position_bias": "first",
}
KEYS = ["model", "corpus", "group", "method"]
NOTE = (
    "Accuracy: the share of items with a positive difference (good − bad), ties counted one half, with its 95 % "
    "interval; the tick is chance. Orders pooled: every presentation of a prompt is one trial. First option: how often "
    "option 1 is the most probable, .50 without a position bias. n: items used."
)


def wide(estimates: pd.DataFrame, columns: Mapping[str, str], keys: Sequence[str]) -> pd.DataFrame:
    """Return a row for each value of the keys: these, n, and value, low, high and reason under each metric's column.

    Args:
        estimates: rows of a summary.
        columns: metric -> its column; metrics of one column have no row in common.
        keys: columns of the summary. People's judgments are the same whatever model is beside them: it is left empty.
    """
    import pandas as pd

    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for estimate in estimates.to_dict("records"):
        told = estimate | {"model": ""} if estimate["method"] == HUMAN else estimate
        key = tuple(str(told[name]) for name in keys)
        row = rows.setdefault(key, dict(zip(keys, key, strict=True)) | {"n": 0})
        column = columns[estimate["metric"]]
        row[column] = estimate["value"]
        row |= {f"{column}_{name}": estimate[name] for name in ("low", "high", "reason")}
        row["n"] = max(row["n"], estimate["n"])
    parts = [f"{name}{part}" for name in dict.fromkeys(columns.values()) for part in ("", "_low", "_high", "_reason")]
    return pd.DataFrame(list(rows.values()), columns=[*keys, "n", *parts])


def board(bank: Bank, view: View) -> pd.DataFrame:
    """Return the leaderboard's rows in the view's order: keys, n, and value, low, high and reason of each metric."""
    summary = bank.summary
    keep = summary["metric"].isin(list(METRICS))
    if view.within:
        keep &= summary["corpus"] == view.within
    if view.group:
        keep &= summary["group"] == view.group
    keep &= _of_task(bank, view) if view.task else summary["group_by"] == view.by
    frame = wide(summary[keep], METRICS, KEYS)
    return sorted_board(frame, view.sort)


def sorted_board(frame: pd.DataFrame, sort: str) -> pd.DataFrame:
    """Return rows sorted by one column, or corpus by corpus with the highest accuracy first; NaN last."""
    column = sort.removeprefix("-")
    if column in (*KEYS, "n", *METRICS.values()):
        return frame.sort_values(column, ascending=not sort.startswith("-"), kind="stable", na_position="last")
    return frame.sort_values(["corpus", "group", "accuracy"], ascending=[True, True, False], kind="stable")


def _of_task(bank: Bank, view: View) -> pd.Series[bool]:
    """Return which estimates are of a task: of its items, or of all where a corpus isn't broken down by task."""
    by, corpus = bank.summary["group_by"], bank.summary["corpus"]
    with_it = (by == view.by) & corpus.isin(corpora_with(bank, view.task))
    if view.by != "all":
        return with_it
    is_split = by == "task"
    return (is_split & (bank.summary["group"] == view.task)) | (with_it & ~corpus.isin(corpus[is_split].unique()))


def corpora_with(bank: Bank, task: str) -> list[str]:
    """Return the corpora that have items of a task."""
    return [name for name, facts in bank.corpora.items() if task in facts.get("tasks", [])]


def groups_of(bank: Bank, view: View) -> list[str]:
    """Return the groups that the leaderboard can be limited to."""
    summary = bank.summary
    keep = summary["group_by"] == view.by
    if view.within:
        keep &= summary["corpus"] == view.within
    return sorted(str(group) for group in summary[keep]["group"].unique() if group)


def panel(bank: Bank, view: View) -> str:
    """Return the leaderboard as HTML."""
    frame = board(bank, view)
    if not len(frame):
        return _nothing(bank)
    page = min(view.page, pages(len(frame)))
    shown = frame.iloc[(page - 1) * PAGE_ROWS : page * PAGE_ROWS].to_dict("records")
    rows = [_row({str(k): v for k, v in row.items()}, view) for row in shown]
    foot = f"{pager(page, len(frame), 'row')}{note(NOTE)}"
    return table(headings(_columns(view), view), rows, "Leaderboard", "pb-board") + foot + _download(view)


def _columns(view: View) -> list[Heading]:
    columns = [Heading(label="Model", key="model"), Heading(label="Corpus", key="corpus")]
    if view.by != "all":
        columns.append(Heading(label=words(view.by).capitalize(), key="group"))
    columns += [
        Heading(label="Method", key="method"),
        Heading(label="Accuracy", key="accuracy", is_number=True, kind="fig"),
    ]
    columns += [
        Heading(label="", tip="0 to 1, with the 95 % interval; the tick is chance"),
        Heading(label="Orders pooled", key="pooled", is_number=True, kind="fig", tip="Every presentation is one trial"),
        Heading(label="First option", key="first", is_number=True, kind="fig", tip="Position bias: .50 is none"),
        Heading(label="n", key="n", is_number=True, tip="Items used"),
    ]
    return columns


def _row(row: Mapping[str, Any], view: View) -> str:
    group = f"<td class='c-group'>{isolated(words(row['group']))}</td>" if view.by != "all" else ""
    plot = whisker(row["accuracy"], row["accuracy_low"], row["accuracy_high"], domain=(0, 1), reference=0.5)
    more = "".join(
        f'<td class="fig c-{metric}{_absent(row[metric])}" data-label="{label}">{_figure(row, metric)}</td>'
        for metric, label in (("pooled", "orders pooled"), ("first", "first option"))
    )
    return (
        f"<tr><td class='c-model'>{isolated(row['model'])}</td><td class='c-corpus'>{isolated(row['corpus'])}</td>"
        f"{group}<td class='c-method'>{method_name(row['method'])}</td>"
        f"<td class='fig c-figure'>{_figure(row, 'accuracy')}</td>"
        f"<td class='plot'>{plot}</td>{more}<td class='num c-n'>{row['n']:,}</td></tr>"
    )


def _absent(value: float) -> str:
    return " na" if math.isnan(value) else ""


def _figure(row: Mapping[str, Any], metric: str) -> str:
    return figure(row[metric], row[f"{metric}_low"], row[f"{metric}_high"], row[f"{metric}_reason"])


def figure(value: float, low: float, high: float, reason: object) -> str:
    """Return an estimate with its interval, and why either is missing as a tip."""
    tip = f' data-tip="{esc(reason)}"' if isinstance(reason, str) and reason else ""
    return f"<b{tip}>{share(float(value))}</b> <small>{interval(float(low), float(high))}</small>"


def method_name(name: str) -> str:
    """Return a method's name as HTML; people's accuracy is theirs, not a method's."""
    return "<em>people</em>" if name == HUMAN else identifier(name)


def _download(view: View) -> str:
    return f'<p class="pb-note"><a href="pairbank/summary.csv{esc(view.query)}" download>This table as CSV</a></p>'


def _nothing(bank: Bank) -> str:
    if not any(bank.manifest["scores"].values()):
        return empty(
            "No model has been scored yet.",
            "The bank holds items only. Score them with `pairbank score`, and add the file with `pairbank bank`.",
        )
    return empty("No results with these filters.", "Choose another group, or all corpora.")
