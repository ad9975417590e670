"""What is hard? Accuracy by phenomenon and paradigm, for every method and in both definitions.

The lowest of many groups are named with simultaneous intervals (Bonferroni over all groups): that of a group chosen
beforehand would be too high and too narrow for the one that came out lowest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pairbank.arrays import FloatArray, IntArray
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Chart, Result, Rows, analysis, cells, groups, records, typed, where
from pairbank.stats.estimates.bootstrap import LEAST_PARADIGMS, effective_number, share_over
from pairbank.stats.estimates.shares import CLUSTERED, WILSON, share_of_items
from pairbank.stats.figures.charts import first_cells, heat_map
from pairbank.stats.measures.accuracy import simultaneous_by_group, wilson_by_group
from pairbank.stats.measures.paired_tests import corrected, gain_test
from pairbank.stats.scored_table import method_scores
from pairbank.stats.scored_table.method_scores import Credits, MethodScores, ScoredFrame, credits_of
from pairbank.stats.scored_table.scored_table import ScoredTable, SummaryRow, long_table, read_table

CLASSES = ("phenomenon", "paradigm")
"""Coarse and fine linguistic class: columns of the items."""
LEAST_ITEMS = 5
"""Paradigms with fewer items are not compared with the others."""
N_NAMED = 5
N_METHODS = 3
"""Methods whose lowest paradigms the text names; the table has all."""
MOST_METHODS = 4
"""Whose accuracies are drawn, where there are several models."""
SIGNIFICANCE = 0.05
CHANCE = 0.5
EVEN = 0.9
"""Share of the paradigms that their effective number is, from which on sizes are taken for even."""
OVER_MODELS = (
    "corpus", "group_by", "method", "group", "value", "low", "high", "n", "n_models", "n_models_below", "p_below",
    "p_below_holm",
)  # fmt: skip


@analysis(
    title="Accuracy by phenomenon and paradigm",
    needs="none of {corpora} has scored items of two phenomena or paradigms; the overall accuracies are all there is",
)
def paradigms(tables: Sequence[ScoredFrame], _context: Context) -> Result:
    """Return accuracies by phenomenon and paradigm, and name the lowest."""
    rows, biased, macro = Rows(), Rows(), Rows()
    earned: list[pd.DataFrame] = []
    for table in tables:
        read = read_table(table)
        for scores in read.choices.methods:
            if scores.applies.any():
                credits_earned = credits_of(scores)
                if credits_earned.is_biased:
                    biased.append({"model": table.model, "method": scores.layout.method})
                else:
                    macro += _macro_row(table, scores.layout.method, credits_earned, read.choices.paradigms)
                for column in CLASSES:
                    rows += _rows(read, scores, credits_earned, column, earned)
    if not rows:
        return Result()
    accuracies = long_table(rows, {"by_paper": "bool", "first_option": "float64"})
    return Result(
        tables={"accuracy": accuracies, "over_models": _over_models(earned), "macro": pd.DataFrame(macro)},
        main_table="",
        charts=[*_charts(accuracies)],
        values={
            "uneven": [row for row in macro if row["effective"] < EVEN * row["n_paradigms"]],
            "not_compared": method_scores.not_compared(pd.DataFrame(biased)),
        },
    )


def _macro_row(
    table: ScoredFrame, method: str, credits_earned: Credits, paradigms: IntArray
) -> Iterator[dict[str, Any]]:
    """Yield the mean over items and that of the means of paradigms, which intervals have as draws of one weight."""
    known = ~np.isnan(credits_earned.credit)
    codes, credit = paradigms[known], credits_earned.credit[known]
    if not credit.size or codes.min() < 0 or np.unique(codes).size < LEAST_PARADIGMS:
        return
    sizes = np.unique(codes, return_counts=True)[1]
    means = np.bincount(codes, weights=credit)[np.unique(codes)] / sizes
    whole = share_of_items(means)
    estimate = share_over(whole, means, np.arange(means.size))
    names = {"corpus": table.corpus, "model": table.model, "method": method, "item_average": float(credit.mean())}
    interval = {"value": estimate.value, "low": estimate.low_paradigms, "high": estimate.high_paradigms}
    yield names | interval | {"n": credit.size, "n_paradigms": means.size, "effective": effective_number(codes)}


def _rows(
    table: ScoredTable, scores: MethodScores, credits_earned: Credits, column: str, earned: list[pd.DataFrame]
) -> Iterator[dict[str, Any]]:
    """Yield the accuracies of one method by one column, in both definitions; credits to compare go to `earned`."""
    if column not in table.frame.columns:
        return
    pairs, method = table.choices, scores.layout.method
    codes, labels = pd.factorize(pairs.frame[column], sort=True)
    applies = scores.applies & (codes >= 0)
    if len(labels) < 2 or not applies.any():
        return
    no_choice = table.frame[column][~table.is_choice].value_counts()
    n_excluded = {str(name): int(n) for name, n in no_choice.items()}
    place = replace(SummaryRow(**table.place), group_by=column, method=method)
    by_metric = {"accuracy": credits_earned.averaged, "accuracy_pooled": credits_earned.pooled}
    for metric, credit in by_metric.items():
        if credit is None:
            continue
        by_paper = credit is credits_earned.credit
        how = CLUSTERED if metric == "accuracy_pooled" else WILSON
        more = {"by_paper": by_paper, "first_option": credits_earned.first_option if by_paper else np.nan}
        estimates = wilson_by_group(credit[applies], codes[applies], len(labels), method=how)
        for name, estimate in zip(map(str, labels), estimates, strict=True):
            if estimate.n:
                row = replace(place, group=name, metric=metric)
                yield row.row(estimate, n_rows=estimate.n + n_excluded.get(name, 0)) | more
    if not credits_earned.is_biased:
        names = {"corpus": table.corpus, "group_by": column, "method": method, "model": table.model}
        ids = np.array(pairs.item_ids, dtype=object)[applies]
        items = {"item_id": ids, "group": labels[codes[applies]], "credit": credits_earned.credit[applies]}
        earned.append(pd.DataFrame(items).assign(**names))


def _over_models(earned: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return each group's accuracy over models with a simultaneous interval, and whether it is below chance."""
    parts = []
    whole = pd.concat(earned, ignore_index=True) if earned else pd.DataFrame()
    for by in groups(whole, "corpus", "group_by", "method"):
        sizes = by.frame.groupby("group")["item_id"].nunique()
        each = by.frame[by.frame["group"].isin(sizes[sizes >= LEAST_ITEMS].index)]
        if each.empty:
            continue
        items = each.groupby(["group", "item_id"], sort=True)["credit"].mean().reset_index()
        codes, names = pd.factorize(items["group"])
        over = extremes(items["credit"].to_numpy(dtype=np.float64), np.asarray(codes, dtype=np.int64), len(names))
        of_models = each.groupby(["group", "model"])["credit"].mean()
        parts.append(
            over.assign(
                group=[str(name) for name in names],
                n_models=of_models.groupby("group").size().reindex(names).to_numpy(),
                n_models_below=(of_models < CHANCE).groupby("group").sum().reindex(names).to_numpy(),
                **by.place,
            )
        )
    return typed(records(pd.concat(parts)) if parts else [], OVER_MODELS)


def extremes(credit: FloatArray, group: IntArray, n_groups: int) -> pd.DataFrame:
    """Return for each group its accuracy, an interval that holds for all groups at once, and a test of being below.

    >>> found = extremes(np.repeat([0.0, 1.0], 8), np.repeat([0, 1], 8), 2)
    >>> found["value"].tolist(), found["p_below_holm"].round(4).tolist()
    ([0.0, 1.0], [0.0078, 1.0])
    """
    rows = Rows()
    for nth, estimate in enumerate(simultaneous_by_group(credit, group, n_groups, level=1 - SIGNIFICANCE)):
        is_below = estimate.value < CHANCE
        p_below = gain_test(2 * credit[group == nth] - 1).p_exact / 2 if is_below else 1.0
        rows.append(cells(estimate) | {"n": estimate.n, "p_below": p_below})
    table = pd.DataFrame(rows)
    return table.assign(p_below_holm=corrected(table["p_below"]).holm)


def _charts(accuracies: pd.DataFrame) -> Iterator[Chart]:
    """Yield accuracies by phenomenon (or paradigm where there is none), for each corpus."""
    by_paper = accuracies[accuracies["by_paper"]]
    marks = np.where(by_paper["first_option"].notna(), f" {method_scores.MARK}", "")
    for corpus in groups(by_paper.assign(mark=marks), "corpus"):
        name = str(corpus.key[0])
        column = "phenomenon" if "phenomenon" in set(corpus.frame["group_by"]) else "paradigm"
        rows = where(corpus.frame, group_by=column)
        if rows["model"].nunique() == 1:
            yield _heat_map(rows.assign(method=rows["method"] + rows["mark"]), column, across="method", title=name)
            continue
        for method in list(dict.fromkeys(rows["method"]))[:MOST_METHODS]:
            of_method = where(rows.assign(model=rows["model"] + rows["mark"]), method=method)
            yield _heat_map(of_method, column, across="model", title=f"{name}\n{method}")


def _heat_map(rows: pd.DataFrame, column: str, *, across: str, title: str) -> Chart:
    matrix = rows.pivot_table(index="group", columns=across, values="value", sort=False)
    ordered = first_cells(matrix.loc[matrix.mean(axis=1).sort_values(kind="stable").index])
    corpus, method = rows["corpus"].iloc[0], "" if across == "method" else rows["method"].iloc[0]
    draw = partial(heat_map, ordered, title=title, value_label="accuracy", limits=(0, 1), diverging=False)
    values = {"corpus": corpus, "method": method, "column": column, "across": across, "n": rows["n"]}
    values |= {"biased": rows["first_option"].notna().any()}
    return Chart(name=f"{corpus} {method}".strip(), caption="accuracies", draw=draw, values=values)
