"""Is this model as good as one more person? Scored tables and ratings in; raters beside models, a section, out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.analyses.base import DEFAULTS, Context, Section, reads
from pairbank.stats.analyses.raters.beside import (
    N_SPLITS,
    SPLIT_HALVES,
    Judged,
    alternative_rows,
    judged,
    model_rows,
    people_rows,
    reliability_rows,
)
from pairbank.stats.analyses.raters.judgments import ratings_given
from pairbank.stats.analyses.raters.means import (
    has_means,
    how_many_rated,
    mean_reliability_rows,
    mean_rows,
    model_mean_rows,
)
from pairbank.stats.analyses.raters.words import DEFINITIONS, answer_of, beside_table, text_of
from pairbank.stats.figures.charts import intervals
from pairbank.stats.figures.figure import Figure
from pairbank.stats.figures.shared import MOST_LINES, file_name
from pairbank.stats.measures.people.alternative_annotator import EPSILON
from pairbank.stats.scored_table.frame import ScoredFrame
from pairbank.stats.scored_table.scored_table import ScoredTable, read_table

MOST_RATERS = 16
"""Raters that a figure shows one by one; of more, the lowest and the highest."""


@reads("ratings", "mean_ratings")
def section(tables: Sequence[ScoredFrame], context: Context = DEFAULTS, *, epsilon: float = EPSILON) -> Section:
    """Return each rater beside each model: accuracies, correlations with the other raters, the annotator test.

    Args:
        tables: Scored tables; those whose items nobody rated are passed over.
        context: Individual ratings, corpora with mean ratings alone, and the seed of the splits of raters.
        epsilon: How much worse than a rater a model may be and still be as good as one more person (0.2 for experts,
            0.15 for trained raters, 0.1 for crowds).

    Raises:
        BankError: If there are no ratings, or none of items in these tables.
    """
    of_means = [
        read
        for table in tables
        if table.corpus in context.mean_ratings and has_means(read := read_table(table).choices)
    ]
    found = [] if of_means and not context.ratings else _judged(tables, ratings_given(context.ratings))
    if not found and not of_means:
        raise BankError(
            f"the ratings are of none of the items of {', '.join(sorted({t.corpus for t in tables}))}; give ratings "
            "whose item_id are those of the tables (pairbank.load_ratings)"
        )
    first: dict[str, Judged] = {}
    for one in found:
        first.setdefault(one.table.corpus, one)
    first_means: dict[str, ScoredTable] = {}
    for table in of_means:
        if table.corpus not in first:
            first_means.setdefault(table.corpus, table)
    people = [row for one in first.values() for row in people_rows(one)]
    people += [row for table in first_means.values() for row in mean_rows(table)]
    models = [row for one in found for row in model_rows(one)]
    models += [row for table in of_means if table.corpus in first_means for row in model_mean_rows(table)]
    beside = pd.DataFrame([*people, *models])
    tests = pd.DataFrame([row for one in found for row in alternative_rows(one, epsilon=epsilon)], columns=TEST)
    agreed = [
        *(row for one in first.values() for row in reliability_rows(one, rng=context.rng)),
        *(row for t in first_means.values() for row in mean_reliability_rows(t)),
    ]
    reliability = pd.DataFrame(agreed, columns=RELIABILITY)
    means = {corpus: how_many_rated(table) for corpus, table in first_means.items()}
    return Section(
        id="raters",
        title="Is a model as good as one more person?",
        text=text_of(beside, tests, reliability, epsilon=epsilon, means=means),
        answer=answer_of(beside, tests, epsilon=epsilon, means=means),
        main_table="beside",
        draws=f"{N_SPLITS} splits of raters" if (reliability["measure"] == SPLIT_HALVES).any() else "",
        definitions=DEFINITIONS,
        tables={"beside": beside_table(beside, tests), "each": beside, "test": tests, "reliability": reliability},
        figures=tuple(_figures(beside)),
        references=(
            "Calderon, Reichart & Dror 2025: the alternative annotator test, section 3",
            "Benjamini & Yekutieli 2001, Annals of Statistics 29:1165-1188",
            "Krippendorff 2011; Shrout & Fleiss 1979: reliability",
        ),
    )


TEST = [
    "corpus", "model", "method", "phenomenon", "winning_rate", "winning_rate_beyond", "advantage", "rater_advantage",
    "n_raters", "n", "reason",
]  # fmt: skip
RELIABILITY = ["corpus", "of", "measure", "value", "low", "high", "n", "n_ratings", "n_raters", "reason"]


def _judged(tables: Sequence[ScoredFrame], rated: pd.DataFrame) -> list[Judged]:
    return [one for table in tables if (one := judged(read_table(table), rated)) is not None]


def _figures(beside: pd.DataFrame) -> Iterator[Figure]:
    """Yield raters and models of each corpus on one axis: accuracy where raters chose, else r with the others."""
    for corpus, part in beside.groupby("corpus", sort=False):
        chosen = part["value"].notna().any()
        shown = part if chosen else part.assign(value=part["r_with_others"], low=np.nan, high=np.nan)
        shown = shown[shown["value"].notna()].sort_values("value", ascending=False, kind="stable")
        raters = shown[shown["kind"] == "rater"]
        if len(raters) > MOST_RATERS:
            middle = raters.iloc[[0, len(raters) // 2, len(raters) - 1]]
            names = ["highest rater", "middle rater", "lowest rater"]
            shown = pd.concat([middle.assign(who=names), shown[shown["kind"] != "rater"]])
            shown = shown.sort_values("value", ascending=False, kind="stable")
        name = shown["who"].where(shown["method"] == "", shown["who"] + ", " + shown["method"])
        shown = shown.assign(row=name).head(MOST_LINES * 2)
        what = "accuracy" if chosen else "Pearson r with the other raters' mean"
        yield Figure(
            name=file_name("raters", corpus),
            caption=(
                f"Raters and models on {corpus}: {what} on the same items. Lines are 95% intervals over items."
                if chosen
                else f"Raters and models on {corpus}: {what} on the same items."
            ),
            draw=partial(
                intervals, shown, rows="row", series="kind", x_label=what, title=str(corpus),
                chance=0.5 if chosen else None,
            ),
        )  # fmt: skip
