"""What the section on raters says: its rows in; answer, text, the table of the first page and definitions out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

QUESTIONS = (
    "Asked here: how often is a single person right, and many together? How far do people agree, and what could a "
    "model reach at most? Is a model as good as one more person, and on which phenomena?"
)
MOST_SAID = 3
"""Models that are told one by one; of more, the range."""


def beside_table(beside: pd.DataFrame, tests: pd.DataFrame) -> pd.DataFrame:
    """Return the table of the first page: people in four lines a corpus, then models."""
    rows: list[dict[str, Any]] = []
    for corpus, part in beside.groupby("corpus", sort=False):
        raters = part[part["kind"] == "rater"]
        spread = {
            "accuracy": _range(raters["value"]),
            "r with other raters": _range(raters["r_with_others"]),
        }
        rows.append({"corpus": corpus, "who": f"{len(raters):,} single raters: mean (lowest to highest)"} | spread)
        rows += [
            {"corpus": corpus, "who": one["who"], "accuracy": _interval(one), "n": one["n"]}
            for one in part[part["kind"] == "people"].to_dict("records")
        ]
        for one in part[part["kind"] == "model"].to_dict("records"):
            row = {"corpus": corpus, "who": f"{one['who']}, {one['method']}", "n": one["n"] or None}
            row |= {"accuracy": _interval(one), "r with other raters": _number(one["r_with_others"])}
            rows.append(row | {"wins against": _wins(_test(tests, corpus, one["who"], one["method"]))})
    columns = ["corpus", "who", "accuracy", "r with other raters", "wins against", "n"]
    return pd.DataFrame(rows, columns=columns).astype({"n": "Int64"}).fillna(dict.fromkeys(columns[:-1], ""))


def answer_of(beside: pd.DataFrame, tests: pd.DataFrame, *, epsilon: float) -> str:
    """Return the answer, two sentences: what single raters and majorities reach, and which models stand beside them."""
    return " ".join([" ".join(_people_said(beside)), _verdict(tests, epsilon)])


def _people_said(beside: pd.DataFrame) -> Iterator[str]:
    said = []
    for corpus, part in beside.groupby("corpus", sort=False):
        raters, people = (
            part[part["kind"] == "rater"],
            {one["who"]: one for one in part[part["kind"] == "people"].to_dict("records")},
        )
        models = part[part["kind"] == "model"]
        if people:
            single, majority = people["all raters"], people["majority of raters"]
            said.append(
                f"on {corpus} (n = {single['n']:,}) single raters are right in {_interval(single)}, their majority in "
                f"{_interval(majority)}, models in {_ends(models['value'])}"
            )
        else:
            said.append(
                f"on {corpus} a rater goes with the mean of the others at r = {raters['r_with_others'].mean():z.2f}, "
                f"models at {_ends(models['r_with_others'])}"
            )
    text = "; ".join(said)
    yield f"{text[0].upper()}{text[1:]}."


def _verdict(tests: pd.DataFrame, epsilon: float) -> str:
    known = tests[(tests["phenomenon"] == "") & tests["winning_rate"].notna()]
    if known.empty:
        return (
            "Whether a model is as good as one more person cannot be told: it takes three raters who each judged 30 "
            "items that others judged too, and a method that scores what they judged."
        )
    passed = known[known["winning_rate"] >= 0.5]
    if passed.empty:
        return (
            f"None of {len(known)} (model, method, corpus) is shown to be as good as one more person within "
            f"{epsilon:g} (at most {known['winning_rate'].max():.0%} of the raters won against; half are needed)."
        )
    names = "; ".join(_passed_said(row) for row in passed.head(MOST_SAID).to_dict("records"))
    more = f" and {len(passed) - MOST_SAID} more" if len(passed) > MOST_SAID else ""
    return f"As good as one more person within {epsilon:g} on such items: {names}{more}, of {len(known)} tested."


def _passed_said(row: Mapping[Any, Any]) -> str:
    beyond = row["winning_rate_beyond"]
    rest = "beyond its paradigms cannot be told" if pd.isna(beyond) else f"{beyond:.0%} beyond its paradigms"
    wins = f"wins against {row['winning_rate']:.0%} of {row['n_raters']} raters, {rest}"
    return f"{row['model']} by `{row['method']}` on {row['corpus']} ({wins})"


def text_of(beside: pd.DataFrame, tests: pd.DataFrame, reliability: pd.DataFrame, *, epsilon: float) -> str:
    """Return the text: questions, answer, agreement among raters, phenomena."""
    parts = [
        QUESTIONS,
        answer_of(beside, tests, epsilon=epsilon),
    ]
    for corpus, part in reliability.groupby("corpus", sort=False):
        said = "; ".join(
            f"{row['measure']} of {row['of']} {_interval(row)}"
            for row in part.to_dict("records")
            if not pd.isna(row["value"])
        )
        if said:
            parts.append(f"**{corpus}**: {said}.")
    by = tests[(tests["phenomenon"] != "") & tests["winning_rate"].notna()]
    if len(by):
        parts.append(
            f"By phenomenon: {by['phenomenon'].nunique()} have 30 items or more; the table `test` has them all, each "
            "tested for itself and not corrected for how many there are."
        )
    parts.append("Pairs with identical sides are left out. Raters are numbers; who they are is nowhere.")
    return "\n\n".join(parts)


def _test(tests: pd.DataFrame, corpus: object, model: str, method: str) -> pd.DataFrame:
    mine = (tests["corpus"] == corpus) & (tests["model"] == model) & (tests["method"] == method)
    return tests[mine & (tests["phenomenon"] == "")]


def _wins(test: pd.DataFrame) -> str:
    if test.empty or pd.isna(test["winning_rate"].iloc[0]):
        return ""
    rate, n = float(test["winning_rate"].iloc[0]), int(test["n_raters"].iloc[0])
    return f"{round(rate * n)} of {n} raters"


def _interval(row: Mapping[Any, Any]) -> str:
    value = _number(row["value"])
    return f"{value} [{row['low']:z.2f}, {row['high']:z.2f}]" if value and not pd.isna(row["low"]) else value


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:z.2f}"


def _range(values: pd.Series[float]) -> str:
    known = values.dropna()
    return f"{known.mean():z.2f} ({known.min():z.2f} to {known.max():z.2f})" if len(known) else ""


def _ends(values: pd.Series[float]) -> str:
    known = values.dropna()
    if known.empty:
        return "no number"
    return f"{known.iloc[0]:z.2f}" if len(known) == 1 else f"{known.min():z.2f} to {known.max():z.2f}"


DEFINITIONS = """\
- **choice of a rater**: the side that the rater chose, or rated higher; equal ratings are a tie, one half. **Single
  raters**: share of all judgments (interval: items are clusters). **Majority**: of all raters of an item; **without
  one rater**: of the others, averaged over who is left out, which is what a model can fairly be held against.
- **r with other raters**: Pearson r of a rater's ratings (z-scores by rater, of single sides) with the mean of the
  other raters of the same things; a model's is with the same means on the same things, averaged over raters.
  `share_ahead`: raters whose r is lower. Methods that compare both sides score neither and have no r.
- **test** (alternative annotator test, Calderon et al. 2025, section 3): each rater is left out in turn. On an item,
  whoever agrees with the other raters as well or better has an advantage (choices: the same side; ratings of single
  sides: nearer to the others' mean, the model's scores as z-scores); `advantage` is the model's share of items,
  averaged over raters, `rater_advantage` theirs. The model wins against a rater where its advantage is shown to be
  less than epsilon below the rater's (one-sided t test over items, Benjamini & Yekutieli over raters, level .05).
  `winning_rate`: share of raters won against; half or more = as good as one more person. `winning_rate_beyond`: the
  same with paradigms as draws (ten or more). Raters with fewer than 30 items are not tested.
- **reliability**: Krippendorff's alpha (nominal for choices, interval for ratings); intraclass correlations of
  absolute agreement of one rater and of consistency of all raters' mean; **ceiling of r**: root of the reliability of
  mean ratings, from raters split in halves.
"""
