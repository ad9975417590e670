"""Is this model as good as one more person? Scored tables and ratings in; raters beside models, a section, out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.scoring.api.names import reference_of
from pairbank.stats.analyses.base import DEFAULTS, MOST_FIRST_ROWS, Context, Section, reads
from pairbank.stats.analyses.raters.beside import (
    DISTANCES,
    Judged,
    alternative_rows,
    distance_rows,
    judged,
    model_rows,
    people_rows,
    reliability_rows,
)
from pairbank.stats.analyses.raters.judgments import (
    MEANS,
    has_means,
    how_many_rated,
    mean_reliability_rows,
    mean_rows,
    model_mean_rows,
    ratings_given,
)
from pairbank.stats.estimates.bootstrap import wider
from pairbank.stats.figures.charts import MOST_LINES, file_name, intervals
from pairbank.stats.figures.style import Figure
from pairbank.stats.measures.human_agreement import EPSILON
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import ScoredTable, read_table
from pairbank.stats.wording import capitalised, mean_and_span, number, percent, plural, span, value_range

FAIR = ("mean_logprob", "slor", "bayes_uniform", "bayes_unigram")
"""Scores of a sentence that do not grow with its length alone."""
OF_CHOICES = "How often is one person right, and how often is the majority? "
OF_RATINGS = "How closely does one person agree with the others, and how closely does a model? "
OF_BOTH = (
    "How far do people agree, and what could a model reach at most? Is a model as good as one more person, and on "
    "which phenomena?"
)
OF_MEANS = (
    "Which side do people's mean ratings prefer, do models prefer the same, and do they correlate with the means?"
)
WINS = (
    "Wins against: raters whose agreement with the others the model reaches within epsilon; half are needed to pass. "
    "Epsilon: how much less than a rater a model may agree and still win, as a share of items."
)
OF_SINGLE = "r with other raters is of single sentences, unlike r of differences within pairs."
WITHOUT_ONE = "The majority without one rater is the fair comparison for a model."
HALF = 0.5
"""Of the raters must be won against."""
MOST_SAID = 3
"""Models and methods that a sentence names one by one; of more, the range."""


def beside_table(beside: pd.DataFrame, tests: pd.DataFrame) -> pd.DataFrame:
    """Return the table of the first page: people in up to four lines a corpus, then models."""
    corpora = [(part, _rows_of_people(part)) for _, part in beside.groupby("corpus", sort=False)]
    n_rows = int((beside["kind"] == "model").sum()) + sum(len(people) for _, people in corpora)
    of_models = _rows_of_models if n_rows <= MOST_FIRST_ROWS else _rows_of_methods
    rows = [row for part, people in corpora for row in (*people, *of_models(part, tests))]
    columns = ["corpus", "who", "method", "accuracy", "r with other raters", "r with mean ratings", "wins against", "n"]
    table = pd.DataFrame(rows, columns=columns).astype({"n": "Int64"}).fillna(dict.fromkeys(columns[:-1], ""))
    empty = [name for name in columns[3:-1] if (table[name] == "").all()]
    return table.drop(columns=empty)


def _rows_of_people(part: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one row for all raters of a corpus, and one for each of what they give together."""
    corpus, raters = part["corpus"].iloc[0], part[part["kind"] == "rater"]
    spread = {"accuracy": _range(raters["value"]), "r with other raters": _range(raters["r_with_others"])}
    who = f"{len(raters):,} individual raters: mean (lowest to highest)"
    return [{"corpus": corpus, "who": who} | spread] * bool(len(raters)) + [
        {"corpus": corpus, "who": entry["who"], "accuracy": _interval(entry), "n": entry["n"]}
        for entry in part[part["kind"] == "people"].to_dict("records")
    ]


def _rows_of_models(part: pd.DataFrame, tests: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield one row per model and method."""
    for member in part[part["kind"] == "model"].to_dict("records"):
        row = {"corpus": member["corpus"], "who": member["who"], "method": member["method"], "n": member["n"] or None}
        row |= {"accuracy": _interval(member), "r with other raters": _number(member["r_with_others"])}
        row |= {"r with mean ratings": _number(member["r_with_means"])}
        yield row | {"wins against": _wins(_test(tests, member["corpus"], member["who"], member["method"]))}


def _rows_of_methods(part: pd.DataFrame, tests: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield one row per method: lowest and highest of its models, and how many win against half of the raters."""
    for method, selected in part[part["kind"] == "model"].groupby("method", sort=False):
        corpus, n = selected["corpus"].iloc[0], int(selected["n"].max())
        tested = tests[(tests["corpus"] == corpus) & (tests["method"] == method) & (tests["phenomenon"] == "")]
        rates = tested["winning_rate"].dropna()
        passing = f"half or more: {(rates >= HALF).sum()} of {plural(len(rates), 'model')}"
        numbers = {"accuracy": "value", "r with other raters": "r_with_others", "r with mean ratings": "r_with_means"}
        yield {
            "corpus": corpus,
            "who": plural(len(selected), "model"),
            "method": method,
            "n": n or None,
            "wins against": passing if len(rates) else "",
        } | {
            heading: value_range(selected.assign(value=selected[column]), ("who",))
            for heading, column in numbers.items()
            if selected[column].notna().any()
        }


Means = Mapping[str, tuple[int, int] | None]
"""Corpora of which mean ratings are all there is, with the least and greatest number of raters behind a mean."""


def questions_of(beside: pd.DataFrame, *, means: Means) -> str:
    """Return the questions that these corpora can answer."""
    rated = beside[~beside["corpus"].isin(list(means))]
    parts = []
    if len(rated):
        chosen = (rated["kind"] == "people").any()
        parts.append(f"{OF_CHOICES if chosen else OF_RATINGS}{OF_BOTH}")
    if means:
        parts.append(OF_MEANS)
    return " ".join(parts)


def answer_of(
    beside: pd.DataFrame, tests: pd.DataFrame, distances: pd.DataFrame, *, epsilon: float, means: Means
) -> str:
    """Return what raters, majorities and models reach, and which models pass the test beside people."""
    texts = list(_length_text(beside))
    if (~beside["corpus"].isin(list(means))).any():
        texts.insert(0, _verdict(tests, epsilon))
    parts = [_people_text(beside), " ".join(texts), *_distances_text(distances)]
    parts += _means_text(means)
    return "\n\n".join(part for part in parts if part)


def _people_text(beside: pd.DataFrame) -> str:
    """Return what people and models reach: a sentence, or of several corpora an entry of a list each."""
    texts = []
    for corpus, part in beside.groupby("corpus", sort=False):
        raters, people = (
            part[part["kind"] == "rater"],
            {entry["who"]: entry for entry in part[part["kind"] == "people"].to_dict("records")},
        )
        models = part[part["kind"] == "model"]
        if "all raters" in people:
            single, majority = people["all raters"], people["majority of raters"]
            texts.append(
                f"on {corpus} (n = {single['n']:,}), individual raters are right in {_interval(single)}, their "
                f"majority in {_interval(majority)} and models in {_ends(models['value'])}"
            )
        elif len(raters):
            texts.append(
                f"on {corpus}, a rater correlates with the mean of the others at r = "
                f"{number(raters['r_with_others'].mean())}. "
                f"Models correlate with it at r = {_by_method(models, 'r_with_others')}"
            )
        elif MEANS in people:
            mean = people[MEANS]
            texts.append(
                f"on {corpus} (n = {mean['n']:,}), people's mean ratings prefer the better side in {_interval(mean)}. "
                f"Models prefer it in {_by_method(models, 'value')}. Models correlate with the mean ratings of single "
                f"sentences at r = {_by_method(models, 'r_with_means')}"
            )
        else:
            texts.append(
                f"on {corpus}, models correlate with people's mean ratings at r = {_by_method(models, 'r_with_means')}"
            )
    sentences = [f"{capitalised(text)}." for text in texts]
    return sentences[0] if len(sentences) == 1 else "\n".join(f"- {sentence}" for sentence in sentences)


def _distances_text(distances: pd.DataFrame) -> Iterator[str]:
    """Yield, for each corpus, whose answers are distributed more as people's are than one distribution for all."""
    for corpus, part in distances.groupby("corpus", sort=False):
        known = part[part["value"].notna()]
        if known.empty:
            continue
        models, constant = (known[known["of"] == DISTANCES[name]] for name in ("model", "constant"))
        nearer = known[(known["of"] == DISTANCES["nearer"]) & (known["high"] < 0)]
        named = [f"{row['model']} by `{row['method']}`" for row in nearer.to_dict("records")]
        more = f" and {len(named) - MOST_SAID} more" if len(named) > MOST_SAID else ""
        who = f"nearer than that: {', '.join(named[:MOST_SAID])}{more}" if named else "no model is shown to be nearer"
        yield (
            f"Distributions of answers on {corpus} (Wasserstein distance from people's, in points): models "
            f"{_ends(models['value'])}, one distribution for all sentences {_ends(constant['value'])}; {who}."
        )


def _by_method(models: pd.DataFrame, column: str) -> str:
    """Return the range over models of each method that has one; of many methods, the smallest and largest value."""
    parts = models[models[column].notna()].groupby("method", sort=False)[column]
    if parts.ngroups > MOST_SAID:
        ends = value_range(models.assign(value=models[column]), ("method",))
        return f"{ends}; the table has all {parts.ngroups} methods"
    return ", ".join(f"{_ends(values)} by `{method}`" for method, values in parts) or "no number"


def _length_text(beside: pd.DataFrame) -> Iterator[str]:
    """Yield which score is fair where sentences of different lengths are compared, as all that is rated singly is."""
    together = beside[(beside["r_with_others"].notna() | beside["r_with_means"].notna()) & (beside["kind"] == "model")]
    methods = set(together["method"])
    if (reference := reference_of(sorted(methods))) is None:
        return
    fair = sorted(methods & set(FAIR))
    rest = f"read {' or '.join(f'`{name}`' for name in fair)} for r" if fair else "score `mean_logprob` too"
    yield f"Summed log-probability (`{reference}`) decreases with length: {rest}."


def _means_text(means: Means) -> Iterator[str]:
    """Yield what mean ratings do not allow, and how many raters each mean has."""
    for corpus, n in means.items():
        behind = (
            "the number of raters per mean is not given"
            if n is None
            else f"{n[0]:,} raters per mean"
            if n[0] == n[1]
            else f"{n[0]:,} to {n[1]:,} raters per mean"
        )
        yield (
            f"{corpus} publishes mean ratings without individual ones ({behind}), so majority votes, inter-rater "
            "agreement and the alternative-annotator test are unavailable. If you have individual ratings, name their "
            "file (raters.ratings)."
        )


def _verdict(tests: pd.DataFrame, epsilon: float) -> str:
    known = tests[(tests["phenomenon"] == "") & tests["winning_rate"].notna()]
    if known.empty:
        return (
            "The alternative-annotator test is unavailable: it needs three raters who each judged 30 items that others "
            "judged too, and a method that scores what they judged."
        )
    # beyond its paradigms as well, where there are ten
    known = known.assign(wins=known[["winning_rate", "winning_rate_beyond"]].min(axis=1))
    passed = known[known["wins"] >= HALF]
    if passed.empty:
        return (
            f"None of {len(known)} combinations of model, method and corpus passes the alternative-annotator test "
            f"(epsilon = {epsilon:g}): each wins against at most {percent(known['wins'].max())} of the raters, "
            "and half are needed."
        )
    texts = [_passed_text(row) for row in passed.to_dict("records")]
    if len(passed) > MOST_SAID:
        texts = [
            f"{(part['wins'] >= HALF).sum()} of {len(part)} by `{method}` on {corpus}"
            for (corpus, method), part in known.groupby(["corpus", "method"], sort=False)
            if (part["wins"] >= HALF).any()
        ]
    verb = "passes" if len(passed) == 1 else "pass"
    return (
        f"{len(passed)} of {len(known)} combinations of model, method and corpus {verb} the alternative-annotator test "
        f"(epsilon = {epsilon:g}): {'; '.join(texts)}."
    )


def _passed_text(row: Mapping[Any, Any]) -> str:
    beyond = row["winning_rate_beyond"]
    rest = "beyond its paradigms inconclusive" if pd.isna(beyond) else f"{percent(beyond)} beyond its paradigms"
    wins = f"wins against {percent(row['winning_rate'])} of {row['n_raters']} raters, {rest}"
    return f"{row['model']} by `{row['method']}` on {row['corpus']} ({wins})"


def text_of(
    beside: pd.DataFrame,
    tests: pd.DataFrame,
    reliability: pd.DataFrame,
    distances: pd.DataFrame,
    *,
    epsilon: float,
    means: Means,
) -> str:
    """Return the text: questions and answer, agreement among raters, phenomena."""
    parts = [questions_of(beside, means=means), answer_of(beside, tests, distances, epsilon=epsilon, means=means)]
    for corpus, part in reliability.groupby("corpus", sort=False):
        lines = [
            f"- {capitalised(row['measure'])} of {row['of']}: {_interval(row)}"
            for row in part.to_dict("records")
            if not pd.isna(row["value"])
        ]
        if lines:
            parts.append("\n".join([f"**{corpus}**, agreement among raters:", *lines]))
        parts += [f"**{corpus}**: no ceiling of r: {row['reason']}." for row in _without(part)]
    by = tests[(tests["phenomenon"] != "") & tests["winning_rate"].notna()]
    if len(by):
        parts.append(
            f"By phenomenon: {by['phenomenon'].nunique()} have 30 items or more; the table `test` has them all, each "
            "tested for itself and not corrected for how many there are."
        )
    parts.append("Pairs with identical sides are left out. Raters are anonymous: they are identified by number only.")
    return "\n\n".join(parts)


def _without(reliability: pd.DataFrame) -> list[dict[Any, Any]]:
    """Return the ceilings that there are not."""
    ceilings = reliability[reliability["measure"].str.startswith("ceiling") & reliability["value"].isna()]
    return ceilings.to_dict("records")


def _test(tests: pd.DataFrame, corpus: object, model: str, method: str) -> pd.DataFrame:
    selected = (tests["corpus"] == corpus) & (tests["model"] == model) & (tests["method"] == method)
    return tests[selected & (tests["phenomenon"] == "")]


def _wins(test: pd.DataFrame) -> str:
    if test.empty or pd.isna(test["winning_rate"].iloc[0]):
        return ""
    rate, n = float(test["winning_rate"].iloc[0]), int(test["n_raters"].iloc[0])
    return f"{round(rate * n)} of {n} raters"


def _interval(row: Mapping[Any, Any]) -> str:
    value = _number(row["value"])
    return f"{value} [{number(row['low'])}, {number(row['high'])}]" if value and not pd.isna(row["low"]) else value


def _number(value: float) -> str:
    return "" if np.isnan(value) else number(value)


def _range(values: pd.Series[float]) -> str:
    known = values.dropna()
    return f"{mean_and_span(known)}" if len(known) else ""


def _ends(values: pd.Series[float]) -> str:
    known = values.dropna()
    if known.empty:
        return "no number"
    return number(known.iloc[0]) if len(known) == 1 else span(known)


DEFINITIONS = """\
- **choice of a rater**: the side that the rater chose, or rated higher; equal ratings are a tie, one half. **Single
  raters**: share of all judgments (interval: items are clusters). **Majority**: of all raters of an item; **without
  one rater**: of the others, averaged over the rater who is left out. The last is the fair comparison for a model.
- **intervals** (`low`, `high`): for other items of these paradigms. `low_paradigms`, `high_paradigms`: for paradigms
  like these, where all items have one and there are ten or more (`n_paradigms`). Sentences, figures and the first table
  have the wider of both. r with raters and the reliabilities are over items alone.
- **r with other raters**: Pearson r of a rater's ratings (z-scores by rater, of single sides) with the mean of the
  other raters of the same sentences. A model's r is with the same means on the same sentences, averaged over raters.
  `share_ahead`: raters whose r is lower. Methods that compare both sides score neither and have no r. The z-scores are
  over the rater's judgments of these items.
- **test** (alternative annotator test, Calderon et al. 2025, section 3): each rater is left out in turn. On an item,
  the rater or the model has an advantage if it agrees with the other raters at least as well. For choices, agreement
  is the same side; for ratings of single sides, it is the distance to the others' mean (the model's scores as
  z-scores). `advantage` is the model's share of items, averaged over raters; `rater_advantage` is the raters'. The
  model wins against a rater where its advantage is shown to be less than epsilon below the rater's (one-sided t test
  over items, Benjamini & Yekutieli over raters, level 0.05). `winning_rate`: share of raters won against; half or more
  = as good as one more person. `winning_rate_beyond`: the same with paradigms as draws (ten or more); a model passes
  by both. Raters with fewer than 30 items are not tested.
- **mean ratings** (corpora without individual ratings): accuracy is the share of pairs whose better side has the
  higher mean. The column `r_with_means` is Pearson r of a model's scores of single sentences with their means, both
  sides pooled.
- **distances** (ratings of single sides, on the scale that the model answers on): Wasserstein distance of the first
  order between the model's distribution of answers and people's, in points, averaged over sentences. The model's
  distribution is the probabilities of the options, or sampled answers. **One distribution for all**: the distance of
  the single distribution that suits these sentences best; a model that ignores the sentence cannot be nearer.
  **floor**: about the distance of a model that had people's own distributions, given as many people (from people split
  into halves). Intervals: jackknife over sentences and raters, the wider of it and one over paradigms where there are
  ten.
- **reliability**: Krippendorff's alpha (nominal for choices, interval for ratings), and the intraclass correlations of
  absolute agreement of one rater and of consistency of all raters' mean. **Ceiling of r**: root of the reliability of
  mean ratings, by the variance of items, raters and the rest (ICC(C,k), for tables with gaps ICC(1,k)).
"""


MOST_RATERS = 16
"""Raters that a figure shows one by one; of more, the lowest and the highest."""


@reads("ratings", "mean_ratings")
def section(tables: Sequence[ScoredFrame], context: Context = DEFAULTS, *, epsilon: float = EPSILON) -> Section:
    """Return each rater beside each model: accuracies, correlations with the other raters, the annotator test."""
    of_means = [
        read
        for table in tables
        if table.corpus in context.mean_ratings and has_means(read := read_table(table).choices)
    ]
    result = [] if of_means and not context.ratings else _judged(tables, ratings_given(context.ratings))
    if not result and not of_means:
        raise BankError(
            f"the ratings are of none of the items of {', '.join(sorted({t.corpus for t in tables}))}; give ratings "
            "whose item_id are those of the tables (pairbank.load_ratings)"
        )
    first: dict[str, Judged] = {}
    for one in result:
        first.setdefault(one.table.corpus, one)
    first_means: dict[str, ScoredTable] = {}
    for table in of_means:
        if table.corpus not in first:
            first_means.setdefault(table.corpus, table)
    people = [row for member in first.values() for row in people_rows(member)]
    people += [row for table in first_means.values() for row in mean_rows(table)]
    models = [row for element in result for row in model_rows(element)]
    models += [row for table in of_means if table.corpus in first_means for row in model_mean_rows(table)]
    beside = pd.DataFrame([*people, *models])
    tests = pd.DataFrame([row for value in result for row in alternative_rows(value, epsilon=epsilon)], columns=TEST)
    agreed = [
        *(row for entry in first.values() for row in reliability_rows(entry)),
        *(row for t in first_means.values() for row in mean_reliability_rows(t)),
    ]
    reliability = pd.DataFrame(agreed, columns=RELIABILITY)
    distances = pd.DataFrame([row for one in result for row in distance_rows(one)], columns=DISTANCE)
    means = {corpus: how_many_rated(table) for corpus, table in first_means.items()}
    shown = wider(beside)
    main = beside_table(shown, tests)
    return Section(
        id="raters",
        title="Is a model as good as one more person?",
        text=text_of(shown, tests, reliability, distances, epsilon=epsilon, means=means),
        answer=answer_of(shown, tests, distances, epsilon=epsilon, means=means),
        main_table="beside",
        footnotes=(
            *([WINS] if tests["winning_rate"].notna().any() else []),
            *([WITHOUT_ONE] if (shown["kind"] == "people").any() and len(tests) else []),
            *([OF_SINGLE] if "r with other raters" in main and main["r with other raters"].ne("").any() else []),
        ),
        definitions=DEFINITIONS,
        tables={"beside": main, "each": beside, "test": tests, "reliability": reliability}
        | ({"distances": distances} if len(distances) else {}),
        figures=tuple(_figures(shown)),
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
DISTANCE = [
    "corpus", "model", "method", "of", "value", "low", "high", "floor", "scale", "n", "n_raters", "reason",
]  # fmt: skip
RELIABILITY = ["corpus", "of", "measure", "value", "low", "high", "n", "n_ratings", "n_raters", "reason"]


def _judged(tables: Sequence[ScoredFrame], rated: pd.DataFrame) -> list[Judged]:
    return [entry for table in tables if (entry := judged(read_table(table), rated)) is not None]


def _figures(beside: pd.DataFrame) -> Iterator[Figure]:
    """Yield raters and models of each corpus on one axis: accuracy where raters chose, else r with the others."""
    for corpus, part in beside.groupby("corpus", sort=False):
        chosen = part["value"].notna().any()
        shown = part if chosen else part.assign(value=part["r_with_others"], low=np.nan, high=np.nan)
        shown = shown[shown["value"].notna()].sort_values("value", ascending=False, kind="stable")
        if shown.empty:
            continue
        raters = shown[shown["kind"] == "rater"]
        if len(raters) > MOST_RATERS:
            middle = raters.iloc[[0, len(raters) // 2, len(raters) - 1]]
            names = ["highest rater", "middle rater", "lowest rater"]
            shown = pd.concat([middle.assign(who=names), shown[shown["kind"] != "rater"]])
            shown = shown.sort_values("value", ascending=False, kind="stable")
        name = shown["who"].where(shown["method"] == "", shown["who"] + ", " + shown["method"])
        shown = shown.assign(row=name).head(MOST_LINES * 2)
        description = "accuracy" if chosen else "Pearson r with the other raters' mean"
        yield Figure(
            name=file_name("raters", corpus),
            caption=(
                f"Raters and models on {corpus}: {description} on the same items. Lines are 95% intervals (the wider)."
                if chosen
                else f"Raters and models on {corpus}: {description} on the same items."
            ),
            draw=partial(
                intervals, shown, rows="row", series="kind", x_label=description, title=str(corpus),
                chance=0.5 if chosen else None,
            ),
        )  # fmt: skip
