"""Is prompting a substitute for probability? Hu & Levy 2023, Figures 2 to 10, for any tasks and prompts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from pairbank.scoring.api.names import DIRECT
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Chart, Result, Rows, analysis, charts, groups, where
from pairbank.stats.analyses.prompting import cells
from pairbank.stats.estimates.bootstrap import wider
from pairbank.stats.figures.charts import curve_panels
from pairbank.stats.figures.models import bars, matrices
from pairbank.stats.figures.scatters import scatter_grid
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.model_features import by_size, declared_of
from pairbank.stats.wording import MISSING, number, span

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

CHANCE = 0.5
ONE_SIDED = 0.025
"""Of 95% intervals, those that by chance lie wholly on one side of 0; of several prompts all do in fewer cases."""
MOST_ROWS = 25
"""Of the first table; of more models and tasks, a model has one row."""
MOST_MODELS = 7
"""Whose scatters are in one figure."""
PAPER_TASK, JUDGED, COMPARED = "Exp. ", "Exp. 3a", "Exp. 3b"
"""How the paper's tasks begin, which it orders by their likeness to word prediction, and the two on the same pairs."""


@analysis(
    title="Is prompting a substitute for probability measurements?",
    needs="no table is scored both directly and with a prompt, on items of which one side is right",
    facts=("features",),
)
def prompting(tables: Sequence[ScoredFrame], context: Context) -> Result:
    """Return how well prompts do beside reading probabilities, and how closely they follow them."""
    asked = [question for table in tables for question in cells.questions(table)]
    if not asked:
        return Result()
    compared = cells.comparisons(asked)
    models = by_size([*dict.fromkeys(question.model for question in asked)], declared_of(tables, context.features))
    result = cells.whole(compared)
    one, both = (where(result, task=task).groupby("model", sort=False)["asked"].mean() for task in (JUDGED, COMPARED))
    means = mean_consistency(result)
    brier, reliability = map(pd.DataFrame, cells.calibration(asked))
    made = {"consistency": first_table(result, models), "mean_consistency": means, "comparisons": compared}
    made |= {"wordings": pd.DataFrame(cells.over_wordings(asked)), "brier": brier, "reliability": reliability}
    of_corpora = compared.assign(panel=compared["task"] + ": " + compared["corpus"])
    of_corpora = of_corpora[of_corpora["corpus"] != cells.POOLED]
    draw, name = partial(curve_panels, x="confidence", panel="prompt", series="model"), "reliability {task} {corpus}"
    labels: dict[str, Any] = {"x_label": "probability of the answer", "y_label": "share right", "diagonal": True}
    return Result(
        tables=made,
        main_chart="consistency",
        charts=[
            *_consistency(result, means, models),
            _bars("performance", result, "task", models),
            *(
                _bars(f"corpora {task.key[0]}", task.frame, "panel", models)
                for task in groups(of_corpora, "task")
                if task.frame["corpus"].nunique() > 1
            ),
            *_scatters(asked, models),
            *charts(
                "calibration", reliability, "task", "corpus", name=name, select=wider, draw=partial(draw, **labels)
            ),
        ],
        values={
            "result": result,
            "cases": cases(result),
            "orders": [*orders(result)],
            "gain": (both - one).dropna(),  # how much more accurate answers are about two sentences (Result 3)
            "negative": negative_results(result),
        },
    )


def first_table(result: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """Return performance and r: a line a model and task, a column a prompt; with many models a line each."""
    tasks, prompts = (list(dict.fromkeys(result[key])) for key in ("task", "prompt"))
    rows, of_models = Rows(), Rows()
    for model in models:
        row: dict[str, Any] = {"model": model}
        for task in tasks:
            of_task = where(result, model=model, task=task).set_index("prompt")
            row[task] = ""
            if of_task.empty:
                continue
            direct = number(of_task["direct"].iloc[0])
            row[task] = f"{direct} / {span(of_task['asked'])}, r {span(of_task['r'].dropna())}"
            of_prompts = dict.fromkeys(prompts, "")
            for prompt, asked, r in zip(of_task.index, of_task["asked"], of_task["r"], strict=True):
                of_prompts[prompt] = f"{number(asked)} (r {MISSING if pd.isna(r) else f'= {number(r)}'})"
            facts = {"n": int(of_task["n"].max()), "measure": of_task["measure"].iloc[0], "direct": direct}
            rows.append({"model": model, "task": task} | facts | of_prompts)
        of_models.append(row)
    return pd.DataFrame(rows if len(models) * len(tasks) <= MOST_ROWS else of_models)


def cases(result: pd.DataFrame) -> dict[str, int]:
    """Return in how many cases (model, task) every prompt scores lower or higher, and in how many beyond doubt."""
    over = {
        end: result[[f"difference_{end}", f"difference_{end}_paradigms"]].agg(pick, axis=1)
        for end, pick in (("low", "min"), ("high", "max"))
    }
    of_case = result.assign(**over).groupby(["model", "task"], sort=False)
    return {
        "n": len(of_case),
        "lower": int((of_case["difference"].max() < 0).sum()),
        "higher": int((of_case["difference"].min() > 0).sum()),
        "all_below": int((of_case["high"].max() < 0).sum()),
        "all_above": int((of_case["low"].min() > 0).sum()),
    }


def orders(result: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield mean r along the paper's order of tasks and prompts, from what is most like reading probabilities on."""
    known = result[result["r"].notna()]
    if not all(str(task).startswith(PAPER_TASK) for task in result["task"]):
        return
    for key in ("task", "prompt"):
        means = known.groupby(key, sort=False)["r"].mean()
        if len(means) > 1:
            of_models = known.groupby(["model", key], sort=False)["r"].mean().unstack()
            of_models = of_models.reindex(columns=means.index).dropna()
            n_lower = int((of_models.iloc[:, -1] < of_models.iloc[:, 0]).sum())
            yield {"of": key, "means": means.to_dict(), "n_lower": n_lower, "n_models": len(of_models)}


def negative_results(result: pd.DataFrame) -> dict[str, int]:
    """Return how often a prompt alone would deny what probabilities show (the abstract's third claim)."""
    rows = where(result, measure=cells.ACCURACY)
    lowest = {name: rows[[f"{name}_low", f"{name}_low_paradigms"]].min(axis=1) for name in ("direct", "asked")}
    highest = rows[["difference_high", "difference_high_paradigms"]].max(axis=1)
    known = lowest["direct"] > CHANCE
    denied = known & (lowest["asked"] <= CHANCE) & (highest < 0)
    return {"n": len(rows), "known": int(known.sum()), "denied": int(denied.sum())}


def mean_consistency(result: pd.DataFrame) -> pd.DataFrame:
    """Return r of each task and prompt over models: the mean of each model's mean over corpora (Figure 3)."""
    of = result.groupby(["task", "prompt"], sort=False)["r"]
    return of.agg(mean="mean", sd="std", min="min", max="max", n_models="count").reset_index()


def _consistency(result: pd.DataFrame, means: pd.DataFrame, models: Sequence[str]) -> Iterator[Chart]:
    if result["r"].isna().all():
        return
    panels = {model: _matrix(where(result, model=model), "r", like=result) for model in models}
    draw = partial(matrices, value_label="Pearson r", limits=(-1, 1))
    by_model = partial(draw, panels, n_columns=2 if len(models) < 3 else 3 if len(models) <= 6 else 4)
    values = {"n": result["n"], "undefined": any(panel.isna().any(axis=None) for panel in panels.values())}
    yield Chart(name="consistency", caption="consistency_by_model", draw=by_model, values=values)
    if len(models) > 1:
        of_means = {"mean over models": "mean", "lowest model": "min", "highest model": "max"}
        drawn = {name: _matrix(means, column, like=means) for name, column in of_means.items()}
        over_models = partial(draw, drawn, n_columns=3)
        values = {"least": means["n_models"].min(), "most": means["n_models"].max()}
        yield Chart(name="mean_consistency", caption="consistency_over_models", draw=over_models, values=values)


def _matrix(rows: pd.DataFrame, values: str, *, like: pd.DataFrame) -> pd.DataFrame:
    """Return one row per task and one column per prompt, all those of another table."""
    made = rows.pivot_table(index="task", columns="prompt", values=values, sort=False, dropna=False)
    return made.reindex(index=like["task"].unique(), columns=like["prompt"].unique())


def _bars(name: str, rows: pd.DataFrame, panel: str, models: Sequence[str]) -> Chart:
    panels = {str(group.key[0]): _bar_table(group.frame, models) for group in groups(rows, panel)}
    measures = dict(zip(rows[panel], rows["measure"], strict=True))
    chance = {heading: CHANCE for heading, measure in measures.items() if measure == cells.ACCURACY}
    draw = partial(bars, panels, groups="model", series="method", y_labels=measures, chance=chance)
    task = "" if panel == "task" else rows["task"].iloc[0]
    values = {"n": rows["n"], "measures": set(measures.values()), "task": task}
    return Chart(name=name, caption="performance", draw=draw, values=values)


def _bar_table(part: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """Return bars: `direct` of each model, then each prompt; models in order."""
    named = {"direct": part.drop_duplicates("model").assign(method=DIRECT), "asked": part.assign(method=part["prompt"])}
    columns = ["model", "method", "value", "low", "high"]
    made = [
        rows.rename(columns={name: "value", f"{name}_low": "low", f"{name}_high": "high"})[columns]
        for name, rows in named.items()
    ]
    return pd.concat(made).sort_values("model", key=lambda names: names.map(models.index), kind="stable")


def _scatters(asked: Sequence[cells.Question], models: Sequence[str]) -> Iterator[Chart]:
    """Yield every question's answers over probabilities, one panel per model and prompt, a few models per figure."""
    for task in sorted({question.task for question in asked}):
        for nth, start in enumerate(range(0, len(models), MOST_MODELS), 1):
            shown = models[start : start + MOST_MODELS]
            drawn = [
                question for model in shown for question in asked if (question.model, question.task) == (model, task)
            ]
            if not drawn:
                continue
            n, of_words = [len(question.direct_nats) for question in drawn], drawn[0].measure == cells.LOG_P
            yield Chart(
                name=f"scatter {task} {nth}" if len(models) > MOST_MODELS else f"scatter {task}",
                caption="scatter",
                draw=partial(_draw_scatters, drawn, of_words=of_words),  # points are copied as they are drawn
                values={"task": task, "of_words": of_words, "n": n},
            )


def _draw_scatters(drawn: Sequence[cells.Question], *, of_words: bool) -> Drawing:
    several = len({question.model for question in drawn}) > 1
    panels: dict[str, list[pd.DataFrame]] = {}
    for question in drawn:
        points = pd.DataFrame({"x": question.direct_nats, "y": question.asked_nats, "corpus": question.corpus})
        heading = f"{question.model}: {question.prompt}" if several else question.prompt
        panels.setdefault(heading, []).append(points)
    return scatter_grid(
        {heading: pd.concat(parts) for heading, parts in panels.items()},
        x="x",
        y="y",
        x_label="direct: log P, nats" if of_words else "direct: good - bad, nats",
        y_label="asked: log P, nats" if of_words else "asked: good - bad",
        series="corpus",
        diagonal=list(panels) if of_words else (),
        n_columns=len({question.prompt for question in drawn}) if len(panels) > 1 else 1,
        zero=not of_words,
    )
