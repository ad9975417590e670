"""What is hard? Scored tables in; accuracy by phenomenon and paradigm out, for every method and in both definitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.analyses.base import DEFAULTS, Context, Section
from pairbank.stats.estimates.shares import CLUSTERED
from pairbank.stats.estimates.ties import is_tie, signs
from pairbank.stats.figures.charts import heat_map
from pairbank.stats.figures.shared import file_name, first_cells, n_said
from pairbank.stats.figures.style import Figure
from pairbank.stats.measures.group_intervals import wilson_by_group
from pairbank.stats.measures.paired_tests import corrected
from pairbank.stats.scored_table.method_scores import ScoredFrame, logprobs_of
from pairbank.stats.scored_table.scored_table import ScoredTable, read_table
from pairbank.stats.scored_table.summary_row import SummaryRow, long_table
from pairbank.stats.wording import number, span

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray, IntArray
    from pairbank.scoring.api.layout import MethodLayout

COLUMNS = ("phenomenon", "paradigm")
"""Coarse and fine linguistic class."""
LEAST_ITEMS = 5
"""Paradigms with fewer items are not named in the text."""
N_NAMED = 5
N_METHODS_SAID = 3
"""Methods whose lowest paradigms the text names; the table has all."""
SIGNIFICANCE = 0.05


def item_shares(logprobs_nats: FloatArray, correct: Sequence[int]) -> FloatArray:
    """Return for each item the share of its presentations that are right, shape (items,).

    A presentation is right where the correct option is the most probable; where several tie, each has an equal part.

    Args:
        logprobs_nats: Shape (items, presentations, options); a presentation that was not asked is all NaN.
        correct: Index of the correct option of each presentation.

    >>> item_shares(np.array([[[-0.1, -2.4], [-0.1, -2.4]], [[-0.7, -0.7], [np.nan, np.nan]]]), (0, 1))
    array([0.5, 0.5])
    """
    asked = np.asarray(~np.isnan(logprobs_nats).all(axis=-1), dtype=np.bool_)
    filled = np.where(asked[..., np.newaxis], logprobs_nats, 0.0)
    top = is_tie(filled - filled.max(axis=-1, keepdims=True)).astype(np.float64)
    credit = top[:, np.arange(len(correct)), list(correct)] / top.sum(axis=-1)
    n_asked = asked.sum(axis=1)
    share = np.full(n_asked.shape, np.nan)
    np.divide((credit * asked).sum(axis=1), n_asked, out=share, where=n_asked > 0)
    return share


def section(tables: Sequence[ScoredFrame], _context: Context = DEFAULTS) -> Section:
    """Return accuracies by phenomenon and paradigm, and name the lowest.

    Args:
        tables: Scored tables.

    Raises:
        BankError: If no table has items of two phenomena or paradigms.
    """
    rows = [row for table in tables for read in [read_table(table)] for row in _rows(read, SummaryRow(**read.place))]
    if not rows:
        raise BankError(
            f"none of {sorted({t.corpus for t in tables})} has scored items of two phenomena or paradigms; the overall "
            "accuracies are all there is"
        )
    found = long_table(rows, {"p_below": "float64"})
    return Section(
        id="paradigms",
        title="Accuracy by phenomenon and paradigm",
        text=_text(found),
        definitions=DEFINITIONS,
        tables={"accuracy": found},
        figures=tuple(paradigm_figures(found)),
        references=("Wilson 1927, JASA 22:209-212", "Holm 1979, Scandinavian Journal of Statistics 6:65-70"),
    )


def _rows(table: ScoredTable, place: SummaryRow) -> Iterator[dict[str, Any]]:
    for column in COLUMNS:
        if column not in table.frame.columns:
            continue
        codes, names = pd.factorize(table.choices.frame[column], sort=True)
        if len(names) < 2:
            continue
        no_choice = table.frame[column][~table.is_choice].value_counts()
        excluded = {str(name): int(n) for name, n in no_choice.items()}
        for layout in table.layouts:
            here = replace(place, group_by=column, method=layout.method)
            labels = [str(name) for name in names]
            yield from _method_rows(table.choices, layout, here, codes=codes, names=labels, excluded=excluded)


def _method_rows(
    pairs: ScoredTable,
    layout: MethodLayout,
    place: SummaryRow,
    *,
    codes: IntArray,
    names: Sequence[str],
    excluded: Mapping[str, int],
) -> Iterator[dict[str, Any]]:
    delta = pairs.delta(layout.method)
    applies = ~np.isnan(delta) & (codes >= 0)
    if not applies.any():
        return
    kept = codes[applies]
    found = {"accuracy": wilson_by_group((signs(delta[applies]) + 1) / 2, kept, len(names))}
    if layout.is_judged and layout.has_logprobs:
        answers = logprobs_of(pairs.frame, layout, applies=applies)[applies]
        found["accuracy_pooled"] = wilson_by_group(
            item_shares(answers, layout.correct), kept, len(names), method=CLUSTERED
        )
    below = below_chance(signs(delta[applies]), kept, len(names))
    for metric, estimates in found.items():
        for name, estimate, p in zip(names, estimates, below, strict=True):
            if estimate.n:
                here = replace(place, group=name, metric=metric)
                p_below = {"p_below": float(p) if metric == "accuracy" else np.nan}
                yield here.row(estimate, n_rows=estimate.n + excluded.get(name, 0)) | p_below


def below_chance(sign: FloatArray, group: IntArray, n_groups: int) -> FloatArray:
    """Return for each group the p-value of right choices as frequent as wrong ones, or more: a sign test, one-sided.

    Args:
        sign: 1 right, -1 wrong, 0 a tie, which says nothing.
        group: Number of the item's group, from 0.
        n_groups: How many there are; one without a choice has p = 1.

    >>> below_chance(np.array([-1.0, -1.0, -1.0, 0.0, 1.0]), np.array([0, 0, 0, 0, 1]), 2).tolist()
    [0.125, 1.0]
    """
    from scipy.stats import binom

    right, wrong = (np.bincount(group[sign == x], minlength=n_groups) for x in (1, -1))
    return np.asarray(binom.cdf(right, right + wrong, 0.5), dtype=np.float64)


def _text(found: pd.DataFrame) -> str:
    fine = found[(found["metric"] == "accuracy") & (found["n"] >= LEAST_ITEMS)]
    parts = []
    for (corpus, column), part in fine.groupby(["corpus", "group_by"], sort=False):
        said = list(dict.fromkeys(part["method"]))[:N_METHODS_SAID]
        for method, mine in part[part["method"].isin(said)].groupby("method", sort=False):
            means = mine.groupby("group", sort=False)["value"].mean().sort_values(kind="stable")
            lowest = ", ".join(_low_said(str(name), mine[mine["group"] == name]) for name in means.head(N_NAMED).index)
            n_below = int((corrected(mine.groupby("group")["p_below"].max()).holm < SIGNIFICANCE).sum())
            models = "" if mine["model"].nunique() == 1 else " in every model"
            parts.append(
                f"**{corpus}**, `{method}`: {len(means):,} values of {column} with {LEAST_ITEMS} items or more; "
                f"lowest: {lowest}; {n_below:,} below chance{models} at {SIGNIFICANCE} (sign test, corrected for all "
                f"{len(means):,} by Holm)."
            )
    parts.append(
        "Pairs with identical sides are left out. With several models the figures are means over them, with their "
        "range. The lowest of many are partly so by chance: with other items they would be somewhat higher."
    )
    return "\n\n".join(parts)


def _low_said(name: str, rows: pd.DataFrame) -> str:
    if len(rows) > 1:
        return f"{name} ({number(rows['value'].mean())}; {span(rows['value'])})"
    (row,) = rows.to_dict("records")
    interval = "" if pd.isna(row["low"]) else f" [{number(row['low'])}, {number(row['high'])}]"
    return f"{name} ({number(row['value'])}{interval})"


MOST_METHODS = 4
"""Whose accuracies are drawn, where there are several models."""

DEFINITIONS = """\
- **accuracy**: share of items whose difference (good - bad, averaged over presentations) is positive, ties one half;
  Wilson's score interval at level 0.95.
- **accuracy_pooled**: every presentation is a trial, right where the correct option is the most probable; Wilson's
  interval, clustered by items.
- Intervals are of one group each and are not corrected for the number of groups.
- **p_below**: one-sided sign test of right and wrong choices being equally frequent, ties left out; not corrected in
  the table. The text counts groups whose largest p over models is below 0.05 after Holm's correction for all groups.
"""


def paradigm_figures(found: pd.DataFrame) -> Iterator[Figure]:
    """Yield accuracies by phenomenon (or paradigm where there is none), for each corpus.

    One model has a column a method; several have a figure a method and a column a model.

    Args:
        found: Long table of `paradigms`, metric `accuracy`.
    """
    right = found[found["metric"] == "accuracy"]
    for corpus, part in right.groupby("corpus", sort=False):
        column = "phenomenon" if "phenomenon" in set(part["group_by"]) else "paradigm"
        mine = part[part["group_by"] == column]
        if mine["model"].nunique() == 1:
            yield _heat_map(mine, str(corpus), column, across="method", title=str(corpus))
            continue
        for method in list(dict.fromkeys(mine["method"]))[:MOST_METHODS]:
            of_method = mine[mine["method"] == method]
            yield _heat_map(of_method, str(corpus), column, across="model", title=f"{corpus}\n{method}")


def _heat_map(mine: pd.DataFrame, corpus: str, column: str, *, across: str, title: str) -> Figure:
    matrix = mine.pivot_table(index="group", columns=across, values="value", sort=False)
    ordered = matrix.loc[matrix.mean(axis=1).sort_values(kind="stable").index]
    method = "" if across == "method" else str(mine["method"].iloc[0])
    by = f", `{method}`," if method else ""
    return Figure(
        name=file_name("paradigms", corpus, method) if method else file_name("paradigms", corpus),
        caption=f"Accuracy on {corpus}{by} by {column} and {across}, lowest first ({n_said(mine['n'])} each).",
        draw=partial(
            heat_map, first_cells(ordered), title=title, value_label="accuracy", limits=(0, 1), diverging=False
        ),
    )
