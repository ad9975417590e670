"""The figures of the further analyses: in, their tidy tables; out, figures with captions a reader can quote.

One model is drawn with its intervals. Several models are drawn as the mean over them, and the caption says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.files import sha256_of_text
from pairbank.stats.figures import curves, heat_map, intervals, roc_curves
from pairbank.stats.sections import Figure

if TYPE_CHECKING:
    from pairbank.stats.arrays import FloatArray

MOST_SERIES = 8
"""Colours that can be told apart."""
MOST_LINES = 24
"""Lines of an interval plot that fit a page."""
MOST_CELLS = 30
"""Rows or columns of a heat map whose numbers can be read."""
LONGEST_NAME = 80
DIRECT = "direct"


def file_name(*parts: object) -> str:
    """Return a file name without ending from labels that may hold anything.

    A hash keeps apart what would be alike once letters that are not ASCII, or a long end, are gone.

    >>> file_name("people", "li: adger", "a/b")
    'people_li_adger_a_b'
    >>> file_name("accuracy", "\u4e2d"), file_name("accuracy", "\u6587")
    ('accuracy_83016d78', 'accuracy_af86c534')
    """
    text = " ".join(str(part) for part in parts)
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "-._") else " " for c in text)
    name = "_".join(kept.split()).strip(".")
    if text.isascii() and len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 9].strip('.')}_{sha256_of_text(text)[:8]}"


def correlation_figures(found: pd.DataFrame, *, section: str, metric: str, x_label: str) -> Iterator[Figure]:
    """Yield one figure of the whole corpora: intervals for one model, else models x methods for each corpus.

    Args:
        found: Long table with the columns of the summary.
        section: Prefix of the file names.
        metric: Which numbers to draw.
        x_label: What they are.
    """
    shown = found[(found["metric"] == metric) & (found["group_by"] == "all") & found["value"].notna()]
    if shown.empty:
        return
    if shown["model"].nunique() == 1 and shown["method"].nunique() <= MOST_SERIES:
        yield Figure(
            name=file_name(section, metric),
            caption=f"{x_label} of {shown['model'].iloc[0]} ({_items(shown['n'])}). Lines are 95 % intervals.",
            draw=partial(intervals, shown, rows="corpus", series="method", x_label=x_label, limits=(-1, 1)),
        )
        return
    for corpus, part in shown.groupby("corpus", sort=False):
        matrix = part.pivot_table(index="model", columns="method", values="value", sort=False)
        yield Figure(
            name=file_name(section, metric, corpus),
            caption=f"{x_label} on {corpus}, by model and method ({_items(part['n'])}).",
            draw=partial(heat_map, _cut(matrix), title=str(corpus), value_label=x_label, limits=(-1, 1)),
        )


def bin_figures(binned: pd.DataFrame, *, section: str, y_label: str) -> Iterator[Figure]:
    """Yield the curve of r over bins of minimalness, for each corpus and distance.

    Args:
        binned: Long table with the columns of the summary and `subset`, `bin`.
        section: Prefix of the file names.
        y_label: What r is between.
    """
    for (corpus, subset, distance), part in binned.groupby(["corpus", "subset", "group_by"], sort=False):
        methods = list(dict.fromkeys(part["method"]))[:MOST_SERIES]
        mine = part[part["method"].isin(methods)]
        if not mine["value"].notna().any():
            continue
        shown, over = _over_models(mine, ["method", "bin"])
        what, where = str(distance).replace("_", " "), _place(corpus, subset)
        yield Figure(
            name=file_name(section, "bins", where, distance),
            caption=(
                f"{y_label} within bins of equal size by the {what} of the two sides, closest pairs left "
                f"({where}, {_items(mine['n'])} a bin{over})."
            ),
            draw=partial(
                curves, shown, x="bin", series="method", x_label=f"bin of {what}", y_label=y_label, title=where
            ),
        )


def roc_figures(roc: pd.DataFrame, separability: pd.DataFrame) -> Iterator[Figure]:
    """Yield the ROC curves: by method for one model, else by model for `direct`, for each corpus.

    Args:
        roc: Points: model, corpus, subset, method, false_positive_rate, true_positive_rate.
        separability: Long table with the areas (metric `auc`).
    """
    keys = ["corpus", "group", "model", "method"]
    areas = separability[separability["metric"] == "auc"].set_index(keys)["value"].to_dict()
    for (corpus, subset), part in roc.groupby(["corpus", "subset"], sort=False):
        several = part["model"].nunique() > 1
        first = DIRECT if DIRECT in set(part["method"]) else part["method"].iloc[0]
        mine = part[part["method"] == first] if several else part
        found: dict[str, tuple[FloatArray, FloatArray]] = {}
        for (model, method), points in mine.groupby(["model", "method"], sort=False):
            if len(found) < MOST_SERIES:
                name = f"{model if several else method}: {areas[corpus, subset, model, method]:.2f}"
                found[name] = (points["false_positive_rate"].to_numpy(), points["true_positive_rate"].to_numpy())
        who = f"the {len(found)} models' `{first}`" if several else f"each score of {part['model'].iloc[0]}"
        yield Figure(
            name=file_name("grammaticality_roc", _place(corpus, subset)),
            caption=(
                f"Separating grammatical from ungrammatical strings of {_place(corpus, subset)} by one threshold on "
                f"{who}; the area under each curve stands in the legend, .50 is chance."
            ),
            draw=partial(roc_curves, found, title=_place(corpus, subset)),
        )


def language_figures(accuracies: pd.DataFrame) -> Iterator[Figure]:
    """Yield one heat map a model: negative types and methods by languages.

    Args:
        accuracies: Long table with `language` and `negative_type`.
    """
    for model, part in accuracies.groupby("model", sort=False):
        rows = part.assign(row=part["negative_type"] + " " + part["method"])
        matrix = rows.pivot_table(index="row", columns="language", values="value", sort=False).sort_index(axis=1)
        yield Figure(
            name=file_name("languages", model),
            caption=f"Accuracy of {model} by language, negative type and method ({_items(part['n'])} a cell).",
            draw=partial(
                heat_map, _cut(matrix), title=str(model), value_label="accuracy", limits=(0, 1), diverging=False
            ),
        )


def agreement_figures(accuracies: pd.DataFrame, consistency: pd.DataFrame) -> Iterator[Figure]:
    """Yield accuracies against each reference, and how often two measures choose alike.

    Args:
        accuracies: Long table of `choice_likert`, metric `accuracy`.
        consistency: Long table of `choice_likert`, metric `consistency`.
    """
    right = accuracies[(accuracies["metric"] == "accuracy") & accuracies["value"].notna()]
    for (corpus, versus), part in right.groupby(["corpus", "versus"], sort=False):
        shown = part[part["model"].isin(list(dict.fromkeys(part["model"]))[:MOST_SERIES])]
        whom = "people" if versus == "human" else "the items' design"
        look: dict[str, Any] = {"x_label": f"same choice as {whom}", "chance": 0.5, "limits": (0, 1)}
        yield Figure(
            name=file_name("choice_likert", corpus, versus),
            caption=(
                f"Share of items of {corpus!s} on which a method chooses as {whom} ({_items(part['n'])}), ties "
                "one half. Lines are 95 % intervals (bootstrap over items)."
            ),
            draw=partial(intervals, shown, rows="method", series="model", title=str(corpus), **look),
        )
    same = consistency[(consistency["metric"] == "consistency") & consistency["value"].notna()]
    for corpus in dict.fromkeys(map(str, same["corpus"])):
        part = same[same["corpus"] == corpus]
        turned = part.assign(method=part["versus"], versus=part["method"])
        matrix = pd.concat([part, turned]).pivot_table(index="method", columns="versus", values="value", sort=True)
        over = "" if part["model"].nunique() == 1 else f", mean over {part['model'].nunique()} models"
        yield Figure(
            name=file_name("choice_likert_consistency", corpus),
            caption=f"Share of items of {corpus} on which two methods choose the same context{over}.",
            draw=partial(heat_map, _cut(matrix), value_label="same choice", limits=(0, 1), diverging=False),
        )


def comparison_figures(found: pd.DataFrame) -> Iterator[Figure]:
    """Yield differences in accuracy: intervals where they fit a page, else every two models by `direct`.

    Args:
        found: The table of `comparisons`.
    """
    for (corpus, compared), part in found[found["difference"].notna()].groupby(["corpus", "compared"], sort=False):
        note = f"Differences in accuracy between {compared} on {corpus} ({_items(part['n'])})"
        if len(part) <= MOST_LINES:
            shown = part.assign(pair=part["a"] + " - " + part["b"], value=part["difference"])
            few = shown["within"].nunique() <= MOST_SERIES
            shown = shown if few else shown.assign(within="")
            yield Figure(
                name=file_name("comparisons", corpus, compared),
                caption=f"{note}; lines are 95 % intervals (paired bootstrap over items).",
                draw=partial(intervals, shown, rows="pair", series="within", x_label="difference in accuracy"),
            )
            continue
        first = DIRECT if DIRECT in set(part["within"]) else part["within"].iloc[0]
        mine = part[part["within"] == first]
        turned = mine.assign(a=mine["b"], b=mine["a"], difference=-mine["difference"])
        matrix = pd.concat([mine, turned]).pivot_table(index="a", columns="b", values="difference", sort=False)
        names = list(dict.fromkeys([*mine["a"], *mine["b"]]))[:MOST_CELLS]
        widest = max(0.05, float(np.ceil(mine["difference"].abs().max() * 20) / 20))
        yield Figure(
            name=file_name("comparisons", corpus, compared),
            caption=f"{note}, row - column, within `{first}`.",
            draw=partial(
                heat_map,
                matrix.reindex(index=names, columns=names),
                value_label="difference in accuracy",
                limits=(-widest, widest),
            ),
        )


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
            caption=f"Accuracy on {corpus} by {column} and method, hardest first ({_items(mine['n'])} each{over}).",
            draw=partial(
                heat_map, _cut(hardest), title=str(corpus), value_label="accuracy", limits=(0, 1), diverging=False
            ),
        )


def _place(corpus: object, subset: object) -> str:
    return f"{corpus}: {subset}" if subset else str(corpus)


def _over_models(table: pd.DataFrame, keys: list[str]) -> tuple[pd.DataFrame, str]:
    """Return the table of one model as it is, else its mean over models without intervals, and what to say."""
    n_models = table["model"].nunique()
    if n_models == 1:
        return table, "; bands are 95 % intervals"
    means = table.groupby(keys, sort=False)["value"].mean().reset_index()
    return means.assign(low=np.nan, high=np.nan), f"; mean over {n_models} models"


def _cut(matrix: pd.DataFrame) -> pd.DataFrame:
    return matrix.iloc[:MOST_CELLS, :MOST_CELLS]


def _items(n: pd.Series[int]) -> str:
    least, most = int(n.min()), int(n.max())
    return f"n = {least:,}" if least == most else f"n = {least:,} to {most:,}"
