"""The first page's words and table on languages: cells, complexity and unasked items in; sentences and lines out."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from pairbank.markdown import html_as_text
from pairbank.stats.analyses.languages.complexity import BEST_LAYER, ORDER, power_said, said
from pairbank.stats.analyses.languages.figures import languages_in_order, methods_in_order
from pairbank.stats.analyses.languages.statistics import ENGLISH
from pairbank.stats.figures.shared import n_said
from pairbank.stats.wording import number, p_value

MOST_LINES = 25


def first_table(cells: pd.DataFrame, means: pd.DataFrame, complexity: pd.DataFrame) -> pd.DataFrame:
    """Return a line a model and method (a line a model where these are too many): English, the types, the range.

    Args:
        cells: One row a cell.
        means: What `typology_means` returned.
        complexity: What `complexity_correlations` returned.
    """
    rows = []
    for (model, method), part in cells.groupby(["model", "method"], sort=False):
        by_language = part.groupby("language", sort=False)["value"].mean()
        own = means[(means["model"] == model) & (means["method"] == method)].groupby("typology")["value"].mean()
        row = {"model": model, "method": method, "English": _two(by_language.get(ENGLISH))}
        row |= {kind: _two(own.get(kind)) for kind in ORDER}
        others = by_language.drop(labels=[ENGLISH], errors="ignore")
        row["lowest"] = f"{number(others.min())} ({others.idxmin()})" if len(others) else ""
        row["highest"] = f"{number(others.max())} ({others.idxmax()})" if len(others) else ""
        found = complexity[(complexity["model"] == model) & (complexity["what"] == method)]
        row["rho with complexity"] = _rho(found)
        rows.append(row)
    table = pd.DataFrame(rows)
    layers = complexity[complexity["what"] == BEST_LAYER]
    more = [
        {"model": row["model"], "method": BEST_LAYER}
        | {kind: _two(row[kind], digits=1) for kind in ORDER}
        | {"rho with complexity": _rho(layers[layers["model"] == row["model"]])}
        for row in layers.to_dict("records")
    ]
    table = pd.concat([table, pd.DataFrame(more)], ignore_index=True).fillna("") if more else table
    return table if len(table) <= MOST_LINES else _a_line_a_model(table)


def _a_line_a_model(table: pd.DataFrame) -> pd.DataFrame:
    """Return a column a method: English, and the three types from the least complex to the most."""
    shown = table["English"] + "; " + table[list(ORDER)].agg(" / ".join, axis=1)
    wide = table.assign(shown=shown.str.removeprefix("; ")).pivot_table(
        index="model", columns="method", values="shown", aggfunc="first", sort=False, fill_value=""
    )
    return wide.reset_index().rename_axis(columns=None)


def _two(value: float | None, *, digits: int = 2) -> str:
    return "" if value is None or pd.isna(value) else number(value, digits=digits)


def _rho(found: pd.DataFrame) -> str:
    if found.empty or pd.isna(found["rho"].iloc[0]):
        return ""
    row = found.iloc[0]
    return f"{number(row['rho'])} ({p_value(row['p'])}, n = {row['n_languages']})"


def answer(cells: pd.DataFrame, complexity: pd.DataFrame, unasked: pd.DataFrame) -> str:
    """Return the answer: how far each method's score moves over languages, and what goes with complexity.

    Args:
        cells: One row a cell.
        complexity: What `complexity_correlations` returned.
        unasked: What `unasked_rows` of the section gave.
    """
    tags = languages_in_order(list(cells["language"]))
    models = list(dict.fromkeys(cells["model"]))
    parts = [_method_said(cells[cells["method"] == name], name) for name in methods_in_order(list(cells["method"]))]
    who = models[0] if len(models) == 1 else f"{len(models)} models"
    probed = "; F1 is the best layer's, and so optimistic" if (cells["metric"] == "f1").any() else ""
    rest = (
        f"(means over kinds of wrong concept, {n_said(cells['n'])} pairs a language and kind; chance is 0.50{probed})"
    )
    sentences = [f"Over {len(tags)} languages, {who}: {'; '.join(parts)} {rest}."]
    if correlations := list(said(complexity)):
        sentences.append(
            f"With morphological complexity (analytic < inflectional < agglutinative; languages permuted): "
            f"{'; '.join(correlations)}; {power_said(complexity)}."
        )
    return html_as_text(" ".join([*sentences, *unasked_said(unasked)]))


def _method_said(part: pd.DataFrame, name: str) -> str:
    by_language = part.groupby(["language", "model"], sort=False)["value"].mean().sort_values(kind="stable")
    what = "F1" if set(part["metric"]) == {"f1"} else "accuracy"
    ends = " to ".join(f"{number(by_language.iloc[place])} ({_where(part, by_language, place)})" for place in (0, -1))
    return f"`{name}` has {what} {ends}"


def _where(part: pd.DataFrame, by_language: pd.Series[float], place: int) -> str:
    """Return the language of a place among sorted means, and the model where there are several."""
    names = [str(by_language.index.get_level_values(level)[place]) for level in ("language", "model")]
    return ", ".join(names) if part["model"].nunique() > 1 else names[0]


def unasked_said(unasked: pd.DataFrame) -> list[str]:
    """Return a sentence on each method that could not be asked of some items, with the languages that it misses.

    Args:
        unasked: Rows of model, method, language, n_items, n_unasked.
    """
    sentences = []
    for method, part in unasked.groupby("method", sort=False):
        by_language = part.drop_duplicates("language").set_index("language")
        if not (n := int(by_language["n_unasked"].sum())):
            continue
        lacking = by_language[by_language["n_unasked"] > 0]
        shown = ", ".join(f"{tag} {row['n_unasked']} of {row['n_items']}" for tag, row in lacking.iterrows())
        of = int(by_language["n_items"].sum())
        sentences.append(
            f"`{method}` was not asked of {n:,} of {of:,} items, whose concepts the corpus lacks ({shown}): there it "
            "rests on other items than the other methods do."
        )
    return sentences


def small_said(n_languages: int, fewest: int) -> Sequence[str]:
    """Return why methods are not drawn against each other, where the languages are too few.

    >>> small_said(2, 3)
    ['Methods are not drawn against each other: 2 languages are too few for a scatter.']
    """
    if n_languages >= fewest:
        return []
    return [f"Methods are not drawn against each other: {n_languages} languages are too few for a scatter."]
