"""What is hard? Scored tables in; accuracy by phenomenon and paradigm out, for every method and in both definitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.analyses.base import Section
from pairbank.stats.estimates.shares import CLUSTERED
from pairbank.stats.estimates.ties import is_tie, signs
from pairbank.stats.figures.charts import heat_map
from pairbank.stats.figures.figure import Figure
from pairbank.stats.figures.shared import file_name, first_cells, n_said
from pairbank.stats.measures.group_intervals import wilson_by_group
from pairbank.stats.scored_table.frame import ScoredFrame
from pairbank.stats.scored_table.method_scores import logprobs_of
from pairbank.stats.scored_table.scored_table import ScoredTable, read_table
from pairbank.stats.scored_table.summary_row import SummaryRow, long_table

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray, IntArray
    from pairbank.scoring.api.layout import MethodLayout

COLUMNS = ("phenomenon", "paradigm")
"""Coarse and fine linguistic class."""
LEAST_ITEMS = 5
"""Paradigms with fewer items are not named in the text."""
N_NAMED = 5
N_METHODS_SAID = 3
"""Methods whose hardest paradigms the text names; the table has all."""
CHANCE = 0.5


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


def section(tables: Sequence[ScoredFrame], *, seed: int, n_resamples: int) -> Section:
    """Return accuracies by phenomenon and paradigm, and name the hardest paradigms.

    Args:
        tables: Scored tables.
        seed: Not used: the intervals are formulas.
        n_resamples: Not used.

    Raises:
        BankError: If no table has items of two phenomena or paradigms.
    """
    rows = [
        row
        for table in tables
        for read in [read_table(table)]
        for row in _rows(read, SummaryRow(**read.place, seed=seed, n_resamples=n_resamples))
    ]
    if not rows:
        raise BankError(
            f"none of {sorted({t.corpus for t in tables})} has scored items of two phenomena or paradigms; the overall "
            "accuracies are all there is"
        )
    found = long_table(rows)
    return Section(
        id="paradigms",
        title="Accuracy by phenomenon and paradigm",
        text=_text(found),
        definitions=DEFINITIONS,
        tables={"accuracy": found},
        figures=tuple(paradigm_figures(found)),
        references=("Wilson 1927, JASA 22:209-212",),
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
    for metric, estimates in found.items():
        for name, estimate in zip(names, estimates, strict=True):
            if estimate.n:
                here = replace(place, group=name, metric=metric)
                yield here.row(estimate, n_rows=estimate.n + excluded.get(name, 0))


def _text(found: pd.DataFrame) -> str:
    fine = found[(found["metric"] == "accuracy") & (found["n"] >= LEAST_ITEMS)]
    parts = []
    for (corpus, column), part in fine.groupby(["corpus", "group_by"], sort=False):
        said = list(dict.fromkeys(part["method"]))[:N_METHODS_SAID]
        for method, mine in part[part["method"].isin(said)].groupby("method", sort=False):
            means = mine.groupby("group", sort=False)["value"].mean().sort_values(kind="stable")
            hardest = ", ".join(f"{name} ({value:.2f})" for name, value in means.head(N_NAMED).items())
            n_below = int((mine.groupby("group")["high"].max() < CHANCE).sum())
            parts.append(
                f"**{corpus}**, `{method}`: {len(means):,} values of {column} with {LEAST_ITEMS} items or more; "
                f"hardest: {hardest}; {n_below:,} below chance with their whole interval in every model."
            )
    parts.append("Pairs with identical sides are left out. With several models the figures are means over them.")
    return "\n\n".join(parts)


DEFINITIONS = """\
- **accuracy**: share of items whose difference (good - bad, averaged over presentations) is positive, ties one half;
  Wilson's score interval at level .95.
- **accuracy_pooled**: every presentation is a trial, right where the correct option is the most probable; Wilson's
  interval, clustered by items.
- Intervals are of one group each and are not corrected for the number of groups.
"""


def paradigm_figures(found: pd.DataFrame) -> Iterator[Figure]:
    """Yield accuracies by phenomenon (or paradigm where there is none) and method, for each corpus.

    Args:
        found: Long table of `paradigms`, metric `accuracy`.
    """
    right = found[found["metric"] == "accuracy"]
    for corpus, part in right.groupby("corpus", sort=False):
        column = "phenomenon" if "phenomenon" in set(part["group_by"]) else "paradigm"
        mine = part[part["group_by"] == column]
        matrix = mine.pivot_table(index="group", columns="method", values="value", sort=False)
        hardest = matrix.loc[matrix.mean(axis=1).sort_values(kind="stable").index]
        over = "" if mine["model"].nunique() == 1 else f", mean over {mine['model'].nunique()} models"
        yield Figure(
            name=file_name("paradigms", corpus),
            caption=f"Accuracy on {corpus} by {column} and method, hardest first ({n_said(mine['n'])} each{over}).",
            draw=partial(
                heat_map,
                first_cells(hardest),
                title=str(corpus),
                value_label="accuracy",
                limits=(0, 1),
                diverging=False,
            ),
        )
