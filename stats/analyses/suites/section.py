"""Do a model's surprisals behave as the predictions of test suites say? (SyntaxGym: Hu et al. 2020).

An item counts where every comparison of its suite's formula holds, among them differences of differences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pandas as pd

from pairbank.errors import BankError
from pairbank.scoring.api.names import REGIONS
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Chart, Result, Rows, analysis, groups, records, where
from pairbank.stats.analyses.suites.results import TWOFOLD, comparison_rows, model_rows, suite_row, suites_of
from pairbank.stats.estimates import bootstrap
from pairbank.stats.figures.charts import intervals
from pairbank.stats.figures.models import FEW, grouped_map
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.wording import number

MOST_MODELS = 6
"""Models whose intervals are in one figure; more make a heat map only."""


@analysis(
    title="Do surprisals behave as the suites' predictions say?",
    needs=f"no table was scored with the method {REGIONS}; score a corpus of suites with it (pairbank run syntaxgym)",
)
def suites(tables: Sequence[ScoredFrame], _context: Context) -> Result:
    """Return in how many items of each suite all predictions hold, and by how many bits each comparison does."""
    scored = [suite for table in tables if REGIONS in {x.method for x in table.layouts} for suite in suites_of(table)]
    if not scored:
        return Result()
    by_suite = pd.DataFrame([suite_row(suite) for suite in scored])
    if not by_suite["n"].any():
        raise BankError(
            f"no item of {', '.join(sorted(set(by_suite['corpus'])))} has every condition that its suite compares; a "
            "limit counts sentences, of which an item has two to six: leave it away, or take a subset"
        )
    comparisons = pd.DataFrame([row for suite in scored for row in comparison_rows(suite)])
    models = pd.DataFrame(model_rows(by_suite))
    accuracy = by_suite.pivot_table(index=["phenomenon", "suite"], columns="model", values="value", sort=False)
    return Result(
        tables={
            "by_phenomenon": phenomena(by_suite),
            "models": models,
            "accuracy": accuracy.reset_index(),
            "suites": by_suite,
            "comparisons": comparisons,
            "items": pd.DataFrame(
                {name: suite.place[name] for name in ("model", "suite")} | {"item_number": item, "holds": bool(holds)}
                for suite in scored
                for item, holds in zip(suite.items, suite.held, strict=True)
            ),
        },
        main_chart="accuracy",
        charts=[*_charts(by_suite, where(comparisons, kind=TWOFOLD))],
        values={"means": bootstrap.wider(models), "twofold": where(comparisons, kind=TWOFOLD), "FEW": FEW},
    )


def phenomena(by_suite: pd.DataFrame) -> pd.DataFrame:
    """Return the mean accuracy over the suites of each phenomenon, as the paper has it, with the lowest and highest."""
    rows = Rows()
    for group in groups(by_suite, "model", "phenomenon"):
        suites_of_it = records(group.frame.sort_values("value", kind="stable"))
        counts = {"suites": len(suites_of_it), "items": int(group.frame["n"].sum())}
        row = group.place | counts | {"mean": float(group.frame["value"].mean())}
        for name, suite in (("lowest", suites_of_it[0]), ("highest", suites_of_it[-1])):
            row[name] = f"{suite['suite']} {number(suite['value'])}"
        rows.append(row)
    return pd.DataFrame(rows)


def _charts(by_suite: pd.DataFrame, twofold: pd.DataFrame) -> Iterator[Chart]:
    known = by_suite[by_suite["value"].notna()]  # a limited run may have no item in all conditions
    ordered = known.sort_values(["phenomenon", "suite"], kind="stable")
    matrix, counts = (
        ordered.pivot_table(index=["phenomenon", "suite"], columns="model", values=cell, sort=False)
        for cell in ("value", "n")
    )
    circuits = [str(name).replace("_", " ") for name in matrix.index.get_level_values("phenomenon")]
    numbers = [table.droplevel("phenomenon") for table in (matrix, counts)]
    draw = partial(grouped_map, *numbers, row_groups=circuits, value_label="share of items", diverging=False)
    yield Chart(name="accuracy", caption="accuracies", draw=draw, values={"n": by_suite["n"]})
    if len(twofold) and by_suite["model"].nunique() <= MOST_MODELS:
        x_label = "margin of the prediction (bits)"
        draw = partial(intervals, twofold, rows="suite", series="model", x_label=x_label, zero=True)
        yield Chart(name="differences", caption="differences", draw=draw)
