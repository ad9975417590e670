"""Is prompting a substitute for probability? Scored tables in; out, a section with answer, consistency, performance.

Hu & Levy 2023, Figures 2 to 10; the tasks and prompts are those of the methods, whatever they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from pairbank.errors import BankError
from pairbank.markdown import html_as_text
from pairbank.scoring.api.names import DIRECT
from pairbank.stats.analyses.base import DEFAULTS, Context, Section, reads
from pairbank.stats.analyses.introspection.model_features import ModelFeatures, by_size, find_features
from pairbank.stats.analyses.prompting.cells import ACCURACY, LOG_P, POOLED, Question, comparisons, questions, whole
from pairbank.stats.figures.charts import file_name, n_text
from pairbank.stats.figures.models import bars, matrices
from pairbank.stats.figures.scatters import scatter_grid
from pairbank.stats.figures.style import Figure
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.wording import MISSING, number, span, with_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

CONSISTENCY, MEAN_CONSISTENCY = "prompting_consistency", "prompting_mean_consistency"
CHANCE = 0.5
MOST_MODELS = 7
"""Whose scatters stand in one figure."""


def prompting_figures(cells: pd.DataFrame, asked: Sequence[Question], models: Sequence[str]) -> Iterator[Figure]:
    """Yield the figures of the section, consistency first."""
    if cells["r"].notna().any():
        yield _consistency(whole(cells), models)
        if len(models) > 1:
            yield _mean_consistency(mean_consistency(whole(cells)))
    yield from _performance(cells, models)
    yield from _scatters(asked, models)


def consistency_matrix(result: pd.DataFrame, model: str) -> pd.DataFrame:
    """Return r of one model: a row a task, a column a prompt."""
    selected = result[result["model"] == model]
    wide = selected.pivot_table(index="task", columns="prompt", values="r", sort=False, dropna=False)
    return wide.reindex(index=list(dict.fromkeys(result["task"])), columns=list(dict.fromkeys(result["prompt"])))


def _consistency(result: pd.DataFrame, models: Sequence[str]) -> Figure:
    panels = {model: consistency_matrix(result, model) for model in models}
    undefined = any(panel.isna().any(axis=None) for panel in panels.values())
    n_columns = 2 if len(models) < 3 else 3 if len(models) <= 6 else 4
    return Figure(
        name=CONSISTENCY,
        caption=(
            "Pearson r, over items, between a model's prompted answers and its probabilities: one row per task, one "
            f"column per prompt, one panel per model. Values are means over corpora ({n_text(result['n'])} items). For "
            f"words to predict, r is of log P, otherwise of differences (good - bad)."
            f"{' A dash: r is undefined.' if undefined else ''}"
        ),
        draw=partial(matrices, panels, value_label="Pearson r", limits=(-1, 1), n_columns=n_columns),
    )


def mean_consistency(result: pd.DataFrame) -> pd.DataFrame:
    """Return r of each task and prompt over models: the mean of each model's mean over corpora (Figure 3)."""
    of = result.groupby(["task", "prompt"], sort=False)["r"]
    return of.agg(mean="mean", sd="std", min="min", max="max", n_models="count").reset_index()


def _mean_consistency(means: pd.DataFrame) -> Figure:
    panels = {
        name: means.pivot_table(index="task", columns="prompt", values=column, sort=False, dropna=False)
        for name, column in (("mean over models", "mean"), ("lowest model", "min"), ("highest model", "max"))
    }
    least, most = means["n_models"].min(), means["n_models"].max()
    n_models = f"{most}" if least == most else f"{least} to {most}"
    return Figure(
        name=MEAN_CONSISTENCY,
        caption=(
            "Pearson r between models' prompted answers and their probabilities: one row per task, one column per "
            f"prompt. Means over corpora, then over {n_models} models (Hu & Levy 2023, Figure 3), and the lowest and "
            "the highest model."
        ),
        draw=partial(matrices, panels, value_label="Pearson r", limits=(-1, 1), n_columns=3),
    )


def _performance(cells: pd.DataFrame, models: Sequence[str]) -> Iterator[Figure]:
    yield _bars("prompting_performance", whole(cells), "task", models, "Several corpora of a task are pooled")
    of_corpora = cells[cells["corpus"] != POOLED]
    for task, part in of_corpora.groupby("task", sort=False):
        if part["corpus"].nunique() > 1:
            named = part.assign(panel=part["task"] + ": " + part["corpus"])
            yield _bars(file_name("prompting", "corpora", task), named, "panel", models, f"Corpora of {task}")


def _bars(name: str, result: pd.DataFrame, panel: str, models: Sequence[str], said: str) -> Figure:
    panels = {str(heading): bar_table(part, models) for heading, part in result.groupby(panel, sort=False)}
    measures = {str(heading): part["measure"].iloc[0] for heading, part in result.groupby(panel, sort=False)}
    scores = set(measures.values())
    description = {
        LOG_P: "mean log P of the word that came next",
        ACCURACY: "accuracy as the method's paper defines it",
    }
    return Figure(
        name=name,
        caption=(
            f"Performance by probability and by each prompt: "
            f"{' and '.join(description[score] for score in description if score in scores)}. "
            f"{said} ({n_text(result['n'])} items). Lines are 95% intervals over items"
            f"{', the dashed line is chance' if ACCURACY in scores else ''}."
        ),
        draw=partial(
            bars, panels, groups="model", series="method", y_labels=measures,
            chance={heading: 0.5 for heading, measure in measures.items() if measure == ACCURACY},
        ),
    )  # fmt: skip


def bar_table(part: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """Return bars: `direct` of each model, then each prompt; models in order."""
    rows: list[dict[str, Any]] = []
    for model in models:
        selected = part[part["model"] == model].to_dict("records")
        if selected:
            rows.append({"model": model, "method": DIRECT} | _numbers(selected[0], "direct"))
        rows += [{"model": model, "method": row["prompt"]} | _numbers(row, "asked") for row in selected]
    return pd.DataFrame(rows)


def _numbers(row: Mapping[Any, Any], name: str) -> dict[str, float]:
    return {"value": row[name], "low": row[f"{name}_low"], "high": row[f"{name}_high"]}


def _scatters(asked: Sequence[Question], models: Sequence[str]) -> Iterator[Figure]:
    """Yield every question's answers over probabilities, one panel per model and prompt, a few models per figure."""
    for task in sorted({member.task for member in asked}):
        for start in range(0, len(models), MOST_MODELS):
            shown = models[start : start + MOST_MODELS]
            selected = [entry for model in shown for entry in asked if (entry.task, entry.model) == (task, model)]
            if not selected:
                continue
            part = f" {start // MOST_MODELS + 1}" if len(models) > MOST_MODELS else ""
            n = pd.Series([len(value.direct_nats) for value in selected])
            words = selected[0].measure == LOG_P
            description = "log P of each word" if words else "the difference (good - bad) of each item"
            line = " The line is where both are equal." if words else ""
            yield Figure(
                name=file_name("prompting", "scatter", f"{task}{part}"),
                caption=(
                    f"{task}: {description} by probability and by each prompt. One panel per model and prompt, one "
                    f"colour per corpus ({n_text(n)} items).{line}"
                ),
                draw=partial(_draw_scatters, selected),
            )


def _draw_scatters(asked: Sequence[Question]) -> Drawing:
    several = len({member.model for member in asked}) > 1
    panels: dict[str, list[pd.DataFrame]] = {}
    for entry in asked:
        points = pd.DataFrame({"x": entry.direct_nats, "y": entry.asked_nats, "corpus": entry.corpus})
        panels.setdefault(f"{entry.model}: {entry.prompt}" if several else entry.prompt, []).append(points)
    words = asked[0].measure == LOG_P
    return scatter_grid(
        {heading: pd.concat(parts) for heading, parts in panels.items()},
        x="x",
        y="y",
        x_label="direct: log P, nats" if words else "direct: good - bad, nats",
        y_label="asked: log P, nats" if words else "asked: good - bad",
        series="corpus",
        diagonal=list(panels) if words else (),
        n_columns=len({value.prompt for value in asked}) if len(panels) > 1 else 1,
        zero=not words,
    )


ONE_SIDED = 0.025
"""Of 95% intervals, those that by chance lie wholly on one side of 0; of several prompts all do in fewer cases."""
MOST_LINES = 25
_CELLS = "Columns of prompts: the prompted score, and Pearson's r of answers with log-probabilities over items."
_CELLS_IN_SHORT = (
    "Cells: direct score / prompted score, then Pearson's r of answers with log-probabilities; of several prompts the "
    "lowest and the highest."
)
PAPER_TASK, JUDGED, COMPARED = "Exp. ", "Exp. 3a", "Exp. 3b"
"""How the paper's tasks begin, which it orders by their likeness to word prediction, and the two on the same pairs."""
_UNITS = {LOG_P: "nats", ACCURACY: "accuracy"}
REFERENCES = (
    "Hu & Levy 2023: Prompting is not a substitute for probability measurements in large language models. EMNLP.",
)
DEFINITIONS = """\
- **Task**: an experiment of the paper, or a kind of question on a kind of items. **Performance**: for words to
  predict, the mean log P (nats) of the word that came next. For all other tasks, accuracy as each method's paper
  defines it: the share of items with a positive difference, or (`pooled`) the share of presentations answered
  correctly, over both orders or both sentences. For yes-no questions the latter is balanced accuracy. Ties are one
  half.
- **pooled**, in the column `corpus`: the items of all corpora of a task under each other (the paper's Figure 2), not
  the mean of their means. Intervals: Wilson's (clustered by item), Student's t for log P.
- **difference**: asked minus direct on the same items; adjusted Wald interval (Bonett & Price 2012), of log P
  Student's t.
- **r**: Pearson's r over items between asked and direct: of log P, or of differences (good - bad); jackknife interval.
  For `pooled` the unweighted mean over corpora (Figures 3 and 6), without an interval.
- Items with identical sides, and corpora of which neither side is right, are left out. No resampling is used.
- **mean_consistency**: r of each task and prompt, the mean over corpora of each model, then over models (Figure 3),
  with standard deviation, lowest and highest over models.
"""


@reads("features")
def section(tables: Sequence[ScoredFrame], context: Context = DEFAULTS) -> Section:
    """Return how well asking does beside reading probabilities, and how closely it follows them."""
    requested = [question for table in tables for question in questions(table)]
    if not requested:
        raise BankError("no table is scored both directly and with a prompt, on items of which one side is right")
    cells = comparisons(requested)
    known = {table.model: _features(table, context.features) for table in tables}
    models = by_size(list(dict.fromkeys(entry.model for entry in requested)), known)
    result = whole(cells)
    first = first_table(result, models)
    return Section(
        id="prompting",
        title="Is prompting a substitute for probability measurements?",
        text=_text(result),
        answer=_answer(result),
        definitions=DEFINITIONS,
        tables={
            "consistency": first,
            "mean_consistency": mean_consistency(result),
            "comparisons": cells,
        },
        main_table="consistency",
        footnotes=(_CELLS,) if "task" in first.columns else (_CELLS_IN_SHORT,),
        main_figure=CONSISTENCY,
        figures=tuple(prompting_figures(cells, requested, models)),
        references=REFERENCES,
    )


def _features(table: ScoredFrame, given: Mapping[str, ModelFeatures]) -> ModelFeatures | None:
    model_id = str(table.signature.get("model", {}).get("model_id", ""))
    return find_features(table.model, model_id=model_id, corpus=table.corpus, given=given)


def first_table(result: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """Return performance and r: a line a model and task, a column a prompt; with many models a line each."""
    tasks, prompts = (list(dict.fromkeys(result[key])) for key in ("task", "prompt"))
    rows: list[dict[str, Any]] = []
    for model in models:
        selected = result[result["model"] == model]
        if len(models) * len(tasks) > MOST_LINES:
            rows.append({"model": model} | {task: _in_short(selected[selected["task"] == task]) for task in tasks})
            continue
        for task in tasks:
            current = selected[selected["task"] == task].set_index("prompt")
            if current.empty:
                continue
            first = current.iloc[0]
            row = {"model": model, "task": task, "n": int(current["n"].max()), "measure": first["measure"]}
            row |= {"direct": number(first["direct"])}
            row |= {prompt: _cell(current.loc[prompt]) if prompt in current.index else "" for prompt in prompts}
            rows.append(row)
    return pd.DataFrame(rows)


def _cell(row: pd.Series[Any]) -> str:
    return (
        f"{number(row['asked'])} (r = {number(row['r'])})"
        if pd.notna(row["r"])
        else f"{number(row['asked'])} (r {MISSING})"
    )


def _in_short(part: pd.DataFrame) -> str:
    if part.empty:
        return ""
    return f"{number(part['direct'].iloc[0])} / {_ends(part['asked'])}, r {_ends(part['r'].dropna())}"


def _ends(values: pd.Series[float]) -> str:
    return span(values)


def _answer(result: pd.DataFrame) -> str:
    """Return how often asking scores lower, by how much, and how high r is in each task."""
    both = result.assign(
        difference_low=result[["difference_low", "difference_low_paradigms"]].min(axis=1),
        difference_high=result[["difference_high", "difference_high_paradigms"]].max(axis=1),
    )
    ends = both.groupby(["model", "task"], sort=False)[["difference", "difference_low", "difference_high"]].agg(
        ["min", "max"]
    )
    n_lower, n_higher = ((ends["difference", "max"] < 0).sum(), (ends["difference", "min"] > 0).sum())
    shown = ((ends["difference_high", "max"] < 0).sum(), (ends["difference_low", "min"] > 0).sum())
    n_models = result["model"].nunique()
    of = _counted(len(ends), "task") if n_models == 1 else f"{len(ends)} cases (model × task)"
    sizes = "; ".join(
        _sizes(result[result["measure"] == measure], measure) for measure in dict.fromkeys(result["measure"])
    )
    first = (
        f"Every prompt scores lower than direct log-probabilities in **{n_lower} of {of}** (all intervals below 0 in "
        f"{shown[0]}) and higher in {n_higher} (all above 0 in {shown[1]}). Chance gives at "
        f"most {number(ONE_SIDED * len(ends), digits=1)} of either. Prompted − direct: {sizes} "
        f"(n = {_n(result)} items)."
    )
    r = result["r"].dropna()
    follows = f"Pearson's r of answers with log-probabilities is {_ends(r)}." if len(r) else "No r is defined."
    others = (_in_order_text(result), _both_sentences_text(result), _negative_results_text(result))
    return html_as_text("\n\n".join([first, follows, *itertools.chain(*others)]))


def _in_order_text(result: pd.DataFrame) -> Iterator[str]:
    """Yield mean r along the paper's order of tasks and prompts, from what is most like reading probabilities on."""
    known = result[result["r"].notna()]
    for key, name in (("task", "task"), ("prompt", "prompt")):
        means = known.groupby(key, sort=False)["r"].mean()
        if len(means) < 2 or not all(str(task).startswith(PAPER_TASK) for task in result["task"]):
            continue
        own_values = (
            known.groupby(["model", key], sort=False)["r"].mean().unstack().reindex(columns=means.index).dropna()
        )
        lower = int((own_values.iloc[:, -1] < own_values.iloc[:, 0]).sum())
        shown = ", ".join(f"{place} {number(value)}" for place, value in means.items())
        of = _counted(len(own_values), "model")
        yield f"Mean r by {name}: {shown}; lower in the last than in the first in {lower} of {of}."


def _both_sentences_text(result: pd.DataFrame) -> Iterator[str]:
    """Yield how much more accurate answers are about two sentences beside each other than about one (Result 3)."""
    entry, both = (
        result[result["task"] == task].groupby("model", sort=False)["asked"].mean() for task in (JUDGED, COMPARED)
    )
    gain = (both - entry).dropna()
    if len(gain):
        ends = "" if len(gain) == 1 else f" (mean of {len(gain)} models; {_ends(gain)})"
        yield (
            f"Prompted accuracy with both sentences ({COMPARED}) minus one sentence ({JUDGED}): "
            f"{number(float(gain.mean()), sign=True)}{ends}."
        )


def _negative_results_text(result: pd.DataFrame) -> Iterator[str]:
    """Yield how often a prompt alone would deny what probabilities show (the abstract's third claim).

    A case counts where all three intervals say so: direct above chance, the answers not, and the answers below direct.
    """
    rows = result[result["measure"] == ACCURACY]
    if rows.empty:
        return
    lowest = {name: rows[[f"{name}_low", f"{name}_low_paradigms"]].min(axis=1) for name in ("direct", "asked")}
    highest = rows[["difference_high", "difference_high_paradigms"]].max(axis=1)
    known = lowest["direct"] > CHANCE
    if not known.any():
        yield "Direct log-probabilities are above chance in no case, so that no prompt can deny what they show."
        return
    denied = known & (lowest["asked"] <= CHANCE) & (highest < 0)
    yield (
        f"In {int(denied.sum())} of the {_counted(int(known.sum()), 'case')} (model × task × prompt) in which direct "
        "log-probabilities are above chance, the answers are not, and are less accurate. There a negative result by "
        "prompting does not show a lack of knowledge."
    )


def _sizes(part: pd.DataFrame, measure: str) -> str:
    """Return the one difference with its interval, or the smallest and the largest."""
    if len(part) == 1:
        row = part.iloc[0]
        shown = with_interval(row, "difference", low="difference_low", high="difference_high", sign=True)
        return f"{_UNITS[measure]} {shown}"
    low, high = (number(x, sign=True) for x in (part["difference"].min(), part["difference"].max()))
    return f"{_UNITS[measure]} {low} to {high}"


def _n(result: pd.DataFrame) -> str:
    least, most = int(result["n"].min()), int(result["n"].max())
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n:,} {what}s"


def _text(result: pd.DataFrame) -> str:
    """Return a bullet a task: direct, asked and r, as ranges over models and prompts."""
    lines = []
    for task, part in result.groupby("task", sort=False):
        corpora = " (corpora pooled)" if (part["corpus"] == POOLED).any() else f" on {part['corpus'].iloc[0]}"
        lines.append(
            f"- **{task}**{corpora}, n = {_n(part)} items, {_counted(part['model'].nunique(), 'model')}: "
            f"{part['measure'].iloc[0]} {_ends(part['direct'])} by probability, {_ends(part['asked'])} asked; r "
            f"{_ends(part['r'].dropna())}."
        )
    return html_as_text("\n".join(lines))
