"""Do a model's surprisals behave as the predictions of test suites say? Scored tables in, a section out.

Hu, Gauthier, Qian, Wilcox & Levy 2020 (SyntaxGym): an item counts where every comparison of its suite's formula holds,
among them differences of differences: is a garden path worse where nothing warns of it, by more than it is elsewhere?
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pandas as pd

from pairbank.errors import BankError
from pairbank.scoring.api.names import REGIONS
from pairbank.stats.analyses.base import DEFAULTS, Context, Section
from pairbank.stats.analyses.suites.results import Suite, comparison_rows, model_rows, suite_row, suites_of
from pairbank.stats.estimates.bootstrap import LEAST_PARADIGMS, wider
from pairbank.stats.figures.charts import file_name, intervals, n_text
from pairbank.stats.figures.models import FEW, grouped_map
from pairbank.stats.figures.style import Figure
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.wording import number, with_interval

DEFINITIONS = """- **A suite's accuracy** (`value`): share of its items in which every comparison of its formulas holds
  (Hu, Gauthier et al. 2020), with Wilson's 95% interval over items. Guessing is no single number: with three
  comparisons that hold by chance independently it is 0.125, with one 0.50. Comparisons that share a number depend on
  each other.
- **models** (table): mean accuracy over suites, each weighted equally. `low`, `high`: for other items of these suites
  (Wilson, effective number of items). `low_paradigms`, `high_paradigms`: for suites like these, from ten suites on
  (suites are the draws, Student's quantile). A suite is one template: its own interval is about its items alone.
- **each_alone**: the mean, over the suite's comparisons, of the share of items in which it holds.
- **Surprisal** of a region: minus the sum of the log-probabilities of its tokens, given the preceding text, in bits.
  The space before a region counts with it. An empty region has surprisal 0.
- **Margin** of a comparison: by how many bits it holds (below 0 where it does not), mean over items with Student's t
  interval. A *difference of differences* compares more than two conditions.
- **control**: a formula that only says that two surprisals are equal; it is no part of a suite's accuracy, as in the
  published results. Equal is within 0.001 bits and 0.00001 of the size, as SyntaxGym's runner had it.
- **left_out**: items that lack a condition or a number. **other_tokens**: sentences in which a token
  reaches over the end of a region; it counts where it begins."""


def answer_of(by_suite: pd.DataFrame, comparisons: pd.DataFrame) -> str:
    """Return two sentences: accuracies of all models, and how many differences of differences hold."""
    rows = {str(row["model"]): row for row in wider(pd.DataFrame(model_rows(by_suite))).to_dict("records")}
    means = {model: float(row["value"]) for model, row in rows.items()}
    n_suites, n_items = by_suite["suite"].nunique(), int(by_suite.groupby("model")["n"].sum().max())
    low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    first = f"{low}: all predictions of a suite hold in {with_interval(rows[low])} of its items"
    if len(means) > 1:
        first = (
            f"All predictions of a suite hold in {number(means[low])} ({low}) to {number(means[high])} ({high}) of its "
            f"items, {len(means)} models"
        )
    size = f"{_counted(n_suites, 'suite')}, {n_items:,} items, each suite weighted equally"
    about = (
        "Intervals of a mean over suites are for suites like these, where that is the wider one."
        if n_suites >= LEAST_PARADIGMS
        else f"Fewer than {LEAST_PARADIGMS} suites: intervals are for other items of these suites."
    )
    return f"{first} ({size}). {about}\n\n{_twofold(comparisons)}"


def _twofold(comparisons: pd.DataFrame) -> str:
    part = comparisons[comparisons["kind"] == "difference of differences"]
    if not len(part):
        return "None of these suites compares differences with each other."
    texts = []
    for model, own_values in part.groupby("model", sort=False):
        above, below = int((own_values["low"] > 0).sum()), int((own_values["high"] < 0).sum())
        texts.append(f"- {model}: {above} as predicted, {below} in the opposite direction")
    n = part.groupby("model").size().max()
    head = (
        f"Differences of differences whose interval excludes 0 (95% each, over items), of {n} per model; by chance, "
        f"{number(n / 20)} are expected:"
    )
    return "\n".join([head, *texts])


def text_of(by_suite: pd.DataFrame, comparisons: pd.DataFrame) -> str:
    """Return the section's text."""
    return "\n\n".join(_paragraphs(by_suite, comparisons))


def _paragraphs(by_suite: pd.DataFrame, comparisons: pd.DataFrame) -> Iterator[str]:
    yield (
        "A comparison tests whether a region has higher surprisal in the condition in which the grammar predicts it; "
        "the margin says by how many bits. Differences of differences test whether the effect of one condition depends "
        "on another as predicted."
    )
    for model, part in by_suite.groupby("model", sort=False):
        alone = part["each_alone"].mean()
        yield (
            f"{model}: on average over {_counted(len(part), 'suite')}, all predictions hold in "
            f"{number(part['value'].mean())} of the items, and a single comparison in {number(alone)}. "
            f"Lowest: {_ends(part, lowest=True)}; highest: {_ends(part, lowest=False)}."
        )
    if (differ := by_suite["other_tokens"]).any():
        yield (
            f"In {int(differ.sum()):,} sentences (over all models), a token reaches over the end of a region; it "
            "counts where it begins (flag `region_tokens_differ`)."
        )
    if (out := by_suite["left_out"]).any():
        yield f"{int(out.sum()):,} items lack a condition or a number, as in a run with a limit, and are left out."
    controls = comparisons[comparisons["kind"] == "control"]
    if len(controls):
        yield f"{len(controls)} comparisons that only say that two surprisals are equal are listed as controls."


def _ends(part: pd.DataFrame, *, lowest: bool) -> str:
    some = part.nsmallest(3, "value") if lowest else part.nlargest(3, "value")
    return ", ".join(f"{row['suite']} {number(row['value'])}" for row in some.to_dict("records"))


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


MOST_MODELS = 6
"""Models whose intervals stand in one figure; more make a heat map only."""


def section(tables: Sequence[ScoredFrame], _context: Context = DEFAULTS) -> Section:
    """Return the section on test suites."""
    used = [table for table in tables if any(layout.method == REGIONS for layout in table.layouts)]
    if not used:
        raise BankError(
            f"no table was scored with the method {REGIONS}; score a corpus of suites with it (pairbank run syntaxgym)"
        )
    suites = [suite for table in used for suite in suites_of(table)]
    by_suite = pd.DataFrame([suite_row(suite) for suite in suites])
    if not by_suite["n"].any():
        raise BankError(
            f"no item of {', '.join(sorted(set(by_suite['corpus'])))} has every condition that its suite compares; a "
            "limit counts sentences, of which an item has two to six: leave it away, or take a subset"
        )
    comparisons = pd.DataFrame([row for suite in suites for row in comparison_rows(suite)])
    by_phenomenon = phenomena(by_suite)
    wide = by_suite.pivot_table(index=["phenomenon", "suite"], columns="model", values="value", sort=False)
    return Section(
        id="suites",
        title="Do surprisals behave as the suites' predictions say?",
        text=text_of(by_suite, comparisons),
        answer=answer_of(by_suite, comparisons),
        main_table="by_phenomenon",
        main_figure="suites_accuracy",
        definitions=DEFINITIONS,
        tables={
            "by_phenomenon": by_phenomenon,
            "models": pd.DataFrame(model_rows(by_suite)),
            "accuracy": wide.reset_index(),
            "suites": by_suite,
            "comparisons": comparisons,
            "items": pd.DataFrame([row for suite in suites for row in item_rows(suite)]),
        },
        figures=tuple(_figures(by_suite, comparisons)),
        references=(
            "Hu, Gauthier, Qian, Wilcox & Levy 2020, ACL: accuracy of a suite, section 2",
            "Gauthier, Hu, Wilcox, Qian & Levy 2020, ACL demonstrations: SyntaxGym, the language of formulas",
        ),
    )


def phenomena(by_suite: pd.DataFrame) -> pd.DataFrame:
    """Return the mean accuracy over the suites of each phenomenon, as the paper has it, with the lowest and highest."""
    rows = []
    for (model, phenomenon), part in by_suite.groupby(["model", "phenomenon"], sort=False):
        ordered = part.sort_values("value", kind="stable")
        lowest, highest = ordered.iloc[0], ordered.iloc[-1]
        rows.append(
            {
                "model": model,
                "phenomenon": phenomenon,
                "suites": len(part),
                "items": int(part["n"].sum()),
                "mean": float(part["value"].mean()),
                "lowest": f"{lowest['suite']} {number(lowest['value'])}",
                "highest": f"{highest['suite']} {number(highest['value'])}",
            }
        )
    return pd.DataFrame(rows)


def item_rows(suite: Suite) -> Iterator[dict[str, object]]:
    """Yield each item of a suite, and whether its predictions hold."""
    held = [prediction.holds(suite.surprisal) for prediction in suite.predictions]
    for place, item in enumerate(suite.items):
        own_values = [bool(entry[place]) for entry in held]
        yield {"model": suite.model, "suite": suite.name, "item_number": item, "holds": all(own_values)}


def _figures(by_suite: pd.DataFrame, comparisons: pd.DataFrame) -> Iterator[Figure]:
    known = by_suite[by_suite["value"].notna()]  # a limited run may have no item in all conditions
    if known.empty:
        return
    ordered = known.sort_values(["phenomenon", "suite"], kind="stable")
    matrix, counts = (
        ordered.pivot_table(index=["phenomenon", "suite"], columns="model", values=cell, sort=False)
        for cell in ("value", "n")
    )
    circuits = [str(name) for name in matrix.index.get_level_values("phenomenon")]
    yield Figure(
        name="suites_accuracy",
        caption="Share of a suite's items in which all its predictions hold (suites by circuit; "
        f"{n_text(by_suite['n'])} a suite; pale below {FEW}). What guessing would give differs between suites.",
        draw=partial(
            grouped_map,
            matrix.droplevel("phenomenon"),
            counts.droplevel("phenomenon"),
            row_groups=[name.replace("_", " ") for name in circuits],
            value_label="share of items",
            diverging=False,
        ),
    )
    twofold = comparisons[comparisons["kind"] == "difference of differences"]
    if len(twofold) and comparisons["model"].nunique() <= MOST_MODELS:
        yield Figure(
            name=file_name("suites", "differences"),
            caption="Differences of differences, in bits: by how much each holds on average over the suite's items, "
            "with 95% Student's t intervals; above 0 is as predicted.",
            draw=partial(
                intervals, twofold, rows="suite", series="model", x_label="margin of the prediction (bits)", zero=True
            ),
        )
