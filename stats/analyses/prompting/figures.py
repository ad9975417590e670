"""The figures of Hu & Levy 2023: in, comparisons and the questions item by item; out, figures to draw when saved.

Consistency (figures 3, 6), task performance (2, 4, 5) and every pair of log-probabilities or differences (7 to 10).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from pairbank.scoring.api.names import DIRECT
from pairbank.stats.analyses.prompting.cells import ACCURACY, LOG_P, POOLED, Asked, whole
from pairbank.stats.figures.models import bars, matrices
from pairbank.stats.figures.scatters import scatter_grid
from pairbank.stats.figures.shared import file_name, n_said
from pairbank.stats.figures.style import Figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

CONSISTENCY = "prompting_consistency"
MOST_MODELS = 7
"""Whose scatters stand in one figure."""


def prompting_figures(cells: pd.DataFrame, asked: Sequence[Asked], models: Sequence[str]) -> Iterator[Figure]:
    """Yield the figures of the section, consistency first.

    Args:
        cells: What `comparisons` returned.
        asked: The questions item by item.
        models: Their order.
    """
    if cells["r"].notna().any():
        yield _consistency(whole(cells), models)
    yield from _performance(cells, models)
    yield from _scatters(asked, models)


def consistency_matrix(found: pd.DataFrame, model: str) -> pd.DataFrame:
    """Return r of one model: a row a task, a column a prompt.

    Args:
        found: What `whole` returned.
        model: The model.
    """
    mine = found[found["model"] == model]
    wide = mine.pivot_table(index="task", columns="prompt", values="r", sort=False, dropna=False)
    return wide.reindex(index=list(dict.fromkeys(found["task"])), columns=list(dict.fromkeys(found["prompt"])))


def _consistency(found: pd.DataFrame, models: Sequence[str]) -> Figure:
    panels = {model: consistency_matrix(found, model) for model in models}
    undefined = any(panel.isna().any(axis=None) for panel in panels.values())
    n_columns = 2 if len(models) < 3 else 3 if len(models) <= 6 else 4
    return Figure(
        name=CONSISTENCY,
        caption=(
            "Pearson r, over items, between what a model says when asked and its probabilities: a row a task, a "
            f"column a prompt, a panel a model, mean over corpora ({n_said(found['n'])} items). Of words to predict r "
            f"is of log P, else of differences (good - bad).{' A dash: r is undefined.' if undefined else ''}"
        ),
        draw=partial(matrices, panels, value_label="Pearson r", limits=(-1, 1), n_columns=n_columns),
    )


def _performance(cells: pd.DataFrame, models: Sequence[str]) -> Iterator[Figure]:
    yield _bars("prompting_performance", whole(cells), "task", models, "several corpora of a task are pooled")
    of_corpora = cells[cells["corpus"] != POOLED]
    for task, part in of_corpora.groupby("task", sort=False):
        if part["corpus"].nunique() > 1:
            named = part.assign(panel=part["task"] + ": " + part["corpus"])
            yield _bars(file_name("prompting", "corpora", task), named, "panel", models, f"the corpora of {task}")


def _bars(name: str, found: pd.DataFrame, panel: str, models: Sequence[str], said: str) -> Figure:
    panels = {str(heading): bar_table(part, models) for heading, part in found.groupby(panel, sort=False)}
    measures = {str(heading): part["measure"].iloc[0] for heading, part in found.groupby(panel, sort=False)}
    scores = set(measures.values())
    what = {LOG_P: "mean log P of the word that came next", ACCURACY: "accuracy as the method's paper defines it"}
    return Figure(
        name=name,
        caption=(
            f"By probability and by each prompt: {' and '.join(what[score] for score in what if score in scores)}; "
            f"{said} ({n_said(found['n'])} items). Lines are 95% intervals over items"
            f"{', the dashed line is chance' if ACCURACY in scores else ''}."
        ),
        draw=partial(
            bars, panels, groups="model", series="method", y_labels=measures,
            chance={heading: 0.5 for heading, measure in measures.items() if measure == ACCURACY},
        ),
    )  # fmt: skip


def bar_table(part: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """Return bars: `direct` of each model, then each prompt; models in order.

    Args:
        part: Rows of one task on one set of items.
        models: Their order.
    """
    rows: list[dict[str, Any]] = []
    for model in models:
        mine = part[part["model"] == model].to_dict("records")
        if mine:
            rows.append({"model": model, "method": DIRECT} | _numbers(mine[0], "direct"))
        rows += [{"model": model, "method": row["prompt"]} | _numbers(row, "asked") for row in mine]
    return pd.DataFrame(rows)


def _numbers(row: Mapping[Any, Any], name: str) -> dict[str, float]:
    return {"value": row[name], "low": row[f"{name}_low"], "high": row[f"{name}_high"]}


def _scatters(asked: Sequence[Asked], models: Sequence[str]) -> Iterator[Figure]:
    """Yield every question's answers over probabilities, a panel a model and prompt, a few models a figure."""
    for task in sorted({one.task for one in asked}):
        for start in range(0, len(models), MOST_MODELS):
            shown = models[start : start + MOST_MODELS]
            mine = [one for model in shown for one in asked if (one.task, one.model) == (task, model)]
            if not mine:
                continue
            part = f" {start // MOST_MODELS + 1}" if len(models) > MOST_MODELS else ""
            n = pd.Series([len(one.direct_nats) for one in mine])
            words = mine[0].measure == LOG_P
            what = "log P of each word" if words else "the difference (good - bad) of each item"
            line = "; the line is where both are equal" if words else ""
            yield Figure(
                name=file_name("prompting", "scatter", f"{task}{part}"),
                caption=(
                    f"{task}: {what} by probability and by each prompt, a panel a model and prompt, a colour a corpus "
                    f"({n_said(n)} items){line}."
                ),
                draw=partial(_draw_scatters, mine),
            )


def _draw_scatters(asked: Sequence[Asked]) -> Drawing:
    several = len({one.model for one in asked}) > 1
    panels: dict[str, list[pd.DataFrame]] = {}
    for one in asked:
        points = pd.DataFrame({"x": one.direct_nats, "y": one.asked_nats, "corpus": one.corpus})
        panels.setdefault(f"{one.model}: {one.prompt}" if several else one.prompt, []).append(points)
    words = asked[0].measure == LOG_P
    return scatter_grid(
        {heading: pd.concat(parts) for heading, parts in panels.items()},
        x="x",
        y="y",
        x_label="direct: log P, nats" if words else "direct: good - bad, nats",
        y_label="asked: log P, nats" if words else "asked: good - bad",
        series="corpus",
        diagonal=list(panels) if words else (),
        n_columns=len({one.prompt for one in asked}) if len(panels) > 1 else 1,
        zero=not words,
    )
