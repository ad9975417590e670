"""Is this model as good as one more person? Raters beside models, of scored tables and ratings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pairbank.builders.ratings import without_constant_raters
from pairbank.errors import BankError
from pairbank.scoring.api.names import reference_of
from pairbank.stats.analyses.base import MOST_FIRST_ROWS, Context
from pairbank.stats.analyses.form import Chart, Result, Rows, analysis, groups, interval_text, records, where
from pairbank.stats.analyses.raters import beside, judgments
from pairbank.stats.estimates import bootstrap
from pairbank.stats.figures.charts import MOST_LINES, intervals
from pairbank.stats.measures import human_agreement
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import ScoredTable, read_table
from pairbank.stats.wording import capitalised, mean_and_span, number, plural, value_range

FAIR = ("mean_logprob", "slor", "bayes_uniform", "bayes_unigram")
"""Scores of a sentence that do not grow with its length alone."""
HALF = 0.5
"""Of the raters must be won against."""
MOST_NAMED = 3
"""Models and methods that a sentence names one by one; of more, the range."""
MOST_RATERS = 16
"""That a figure shows one by one; of more, the highest, the middle and the lowest."""
TEST = (
    "corpus", "model", "method", "phenomenon", "winning_rate", "winning_rate_beyond", "advantage", "rater_advantage",
    "n_raters", "n", "reason",
)  # fmt: skip
DISTANCE = (
    "corpus", "model", "method", "of", "value", "low", "high", "floor", "scale", "n", "n_raters", "reason",
)  # fmt: skip
RELIABILITY = ("corpus", "of", "measure", "value", "low", "high", "n", "n_ratings", "n_raters", "reason")
R_HEADING = "r with other raters"
NUMBERS = {"accuracy": "value", R_HEADING: "r_with_others", "r with mean ratings": "r_with_means"}
"""Headings of the first table, and the columns that they are of."""


@analysis(title="Is a model as good as one more person?", facts=("ratings", "mean_ratings"))
def raters(tables: Sequence[ScoredFrame], context: Context, *, epsilon: float = human_agreement.EPSILON) -> Result:
    """Return each rater beside each model: accuracies, correlations with the other raters, the annotator test."""
    of_means = [read_table(table).choices for table in tables if table.corpus in context.mean_ratings]
    of_means = [table for table in of_means if not np.isnan(judgments.means_of(table)).all()]
    of_raters, constant = list[beside.Judged](), Rows()
    if context.ratings or not of_means:
        ratings, left_out = without_constant_raters(judgments.ratings_given(context.ratings))
        constant = [asdict(rater) | {"text": capitalised(str(rater))} for rater in left_out]
        found = (beside.judged(read_table(table), ratings) for table in tables)
        of_raters = [one for one in found if one is not None]
    if not of_raters and not of_means:
        corpora = ", ".join(sorted({table.corpus for table in tables}))
        raise BankError(
            f"the ratings are of none of the items of {corpora}; give ratings "
            "whose item_id are those of the tables (pairbank.load_ratings)"
        )
    by_corpus: dict[str, beside.Judged] = {}
    means: dict[str, ScoredTable] = {}
    for one in of_raters:
        by_corpus.setdefault(one.table.corpus, one)
    of_means = [table for table in of_means if table.corpus not in by_corpus]
    for table in of_means:
        means.setdefault(table.corpus, table)
    constant = [rater for rater in constant if rater["corpus"] in {table.corpus for table in tables}]
    rows = [row for one in by_corpus.values() for row in beside.people_rows(one)]
    rows += [row for table in means.values() for row in judgments.mean_rows(table)]
    rows += [row for one in of_raters for row in beside.model_rows(one)]
    each = pd.DataFrame(rows + [row for table in of_means for row in judgments.model_mean_rows(table)])
    tests = pd.DataFrame(
        [row for one in of_raters for row in beside.alternative_rows(one, epsilon=epsilon)], columns=[*TEST]
    )
    agreed = [row for one in by_corpus.values() for row in beside.reliability_rows(one)]
    agreed += map(judgments.mean_reliability, means.values())
    distances = pd.DataFrame([row for one in of_raters for row in beside.distance_rows(one)], columns=[*DISTANCE])
    return _result(
        {
            "each": each,
            "test": tests,
            "reliability": pd.DataFrame(agreed, columns=[*RELIABILITY]),
            "distances": distances if len(distances) else pd.DataFrame(),
            "left_out": pd.DataFrame(constant).drop(columns="text", errors="ignore"),
        },
        means={corpus: judgments.how_many_rated(table) for corpus, table in means.items()},
        values={"epsilon": epsilon, "constant_raters": [rater["text"] for rater in constant]},
    )


def _result(
    tables: dict[str, pd.DataFrame], *, means: dict[str, tuple[int, int] | None], values: dict[str, Any]
) -> Result:
    """Return the tables with that of the first page, and what the template reads beside them."""
    each, tests = bootstrap.wider(tables["each"]), tables["test"]
    tested = where(tests[tests["winning_rate"].notna()], phenomenon="")
    tested = tested.assign(wins=tested[["winning_rate", "winning_rate_beyond"]].min(axis=1))  # beyond paradigms, too
    scored_singly = each[each["r_with_others"].notna() | each["r_with_means"].notna()]
    methods = set(where(scored_singly, kind="model")["method"])
    first = beside_table(each, tests)
    return Result(
        tables={"beside": first} | tables,
        charts=[*_charts(each)],
        values=values
        | {
            "rows": each,
            "rated": each[~each["corpus"].isin(list(means))],
            "means": means,
            "tested": tested,
            "phenomena": set(tests.loc[tests["winning_rate"].notna(), "phenomenon"]) - {""},
            "passed": tested[tested["wins"] >= HALF],
            "reference": reference_of(sorted(methods)),
            "fair": sorted(methods & set(FAIR)),
            "shows_r": R_HEADING in first and first[R_HEADING].ne("").any(),
            "nearest": tables["distances"] if len(tables["distances"]) else pd.DataFrame(columns=[*DISTANCE]),
            "DISTANCES": beside.DISTANCES,
        },
    )


def beside_table(each: pd.DataFrame, tests: pd.DataFrame) -> pd.DataFrame:
    """Return people in up to four rows per corpus, then models; of many models, a row per method."""
    corpora = [(group.frame, _rows_of_people(group.frame)) for group in groups(each, "corpus")]
    n_rows = int((each["kind"] == "model").sum()) + sum(len(people) for _, people in corpora)
    of_models = _rows_of_models if n_rows <= MOST_FIRST_ROWS else _rows_of_methods
    whole = where(tests[tests["winning_rate"].notna()], phenomenon="")
    rows = [row for frame, people in corpora for row in (*people, *of_models(where(frame, kind="model"), whole))]
    columns = ["corpus", "who", "method", *NUMBERS, "wins against", "n"]
    table = pd.DataFrame(rows, columns=columns).astype({"n": "Int64"}).fillna(dict.fromkeys(columns[:-1], ""))
    return table.drop(columns=[name for name in columns[3:-1] if (table[name] == "").all()])


def _rows_of_people(of_corpus: pd.DataFrame) -> Rows:
    """Return one row for all raters of a corpus, and one for each of what they give together."""
    each = where(of_corpus, kind="rater")
    rows = [
        {"corpus": row["corpus"], "who": row["who"], "accuracy": interval_text(row), "n": row["n"]}
        for row in records(where(of_corpus, kind="people"))
    ]
    if each.empty:
        return rows
    who = f"{len(each):,} individual raters: mean (lowest to highest)"
    known = {heading: each[NUMBERS[heading]].dropna() for heading in ("accuracy", R_HEADING)}
    spread = {heading: mean_and_span(values) if len(values) else "" for heading, values in known.items()}
    return [{"corpus": each["corpus"].iloc[0], "who": who} | spread, *rows]


def _rows_of_models(models: pd.DataFrame, tests: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield one row per model and method."""
    for row in records(models):
        test = records(where(tests, corpus=row["corpus"], model=row["who"], method=row["method"]))
        wins = [f"{round(one['winning_rate'] * one['n_raters'])} of {one['n_raters']} raters" for one in test]
        numbers = {name: "" if np.isnan(row[column]) else number(row[column]) for name, column in NUMBERS.items()}
        names = {name: row[name] for name in ("corpus", "who", "method")}
        yield names | numbers | {"accuracy": interval_text(row), "wins against": "".join(wins), "n": row["n"] or None}


def _rows_of_methods(models: pd.DataFrame, tests: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield one row per method: lowest and highest of its models, and how many win against half of the raters."""
    for method in groups(models, "method"):
        of_method, corpus = method.frame, method.first["corpus"]
        rates = where(tests, corpus=corpus, method=method.key[0])["winning_rate"]
        passing = f"half or more: {(rates >= HALF).sum()} of {plural(len(rates), 'model')}" if len(rates) else ""
        row = {"corpus": corpus, "who": plural(len(of_method), "model"), "method": method.key[0]}
        row |= {"n": int(of_method["n"].max()) or None, "wins against": passing}
        known = [(name, column) for name, column in NUMBERS.items() if of_method[column].notna().any()]
        yield row | {name: value_range(of_method.assign(value=of_method[column]), ("who",)) for name, column in known}


def _charts(each: pd.DataFrame) -> Iterator[Chart]:
    """Yield raters and models of each corpus on one axis: accuracy where raters chose, else r with the others."""
    for group in groups(each, "corpus"):
        corpus, rows = str(group.key[0]), group.frame
        chosen = rows["value"].notna().any()
        if not chosen:
            rows = rows.assign(value=rows["r_with_others"], low=np.nan, high=np.nan)
        rows = rows[rows["value"].notna()].sort_values("value", ascending=False, kind="stable")
        if rows.empty:
            continue
        people = where(rows, kind="rater")
        if len(people) > MOST_RATERS:
            middle = people.iloc[[0, len(people) // 2, len(people) - 1]]
            middle = middle.assign(who=["highest rater", "middle rater", "lowest rater"])
            rows = pd.concat([middle, rows[rows["kind"] != "rater"]])
            rows = rows.sort_values("value", ascending=False, kind="stable")
        rows = rows.assign(row=rows["who"].where(rows["method"] == "", rows["who"] + ", " + rows["method"]))
        what = "accuracy" if chosen else "Pearson r with the other raters' mean"
        style: dict[str, Any] = {"rows": "row", "series": "kind", "x_label": what, "title": corpus}
        yield Chart(
            name=corpus,
            caption="beside_each_other",
            draw=partial(intervals, rows.head(MOST_LINES * 2), **style, chance=0.5 if chosen else None),
            values={"corpus": corpus, "what": what, "chosen": chosen},
        )
