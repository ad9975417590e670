"""What goes with what, given the rest? Scored tables in, a section of partial and within-model correlations out.

Answers with a model's own direct deltas given those of the other models; models with people given length; answers with
direct deltas within models; and what predicts people's ratings best, as parts of R^2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.names import DIRECT, reference_of
from pairbank.stats.analyses.base import DEFAULTS, Context, Section
from pairbank.stats.estimates.bootstrap import wider
from pairbank.stats.estimates.estimate import HUMAN
from pairbank.stats.measures.associations import (
    bayes_factor_of_r,
    p_of_all,
    p_over_paradigms,
    partial_correlation,
    relative_importance,
    within_correlation,
)
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import ScoredTable, SummaryRow, long_table, read_table
from pairbank.stats.wording import number, percent, span

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray, IntArray

LENGTH, MEAN = "length", "mean"
SIGNIFICANCE = 0.05
MOST_PREDICTORS = 10
_LEAST = 20
"""Items that a regression or partial correlation is made of at least."""
_PREDICTOR_TYPES = {
    "model": "string",
    "corpus": "string",
    "predictor": "string",
    "slope": "float64",
    "p": "float64",
    "importance": "float64",
    "share": "float64",
    "r2": "float64",
    "r2_adjusted": "float64",
    "p_all": "float64",
    "p_paradigms": "float64",
    "n": "int64",
}
_BAYES = {"given": "string", "bf01": "float64"}


def section(tables: Sequence[ScoredFrame], _context: Context = DEFAULTS, *, given: tuple[str, ...] = ()) -> Section:
    """Return partial correlations, correlations within models, and the relative importance of predictors of ratings."""
    read = [read_table(table).choices for table in tables]
    for name in given:
        if not any(name in table.frame.columns for table in read):
            raise BankError(f"no table has a column {name!r}; `given` names number columns of the items")
    place = SummaryRow(model="", corpus="", group_by="all", group="")
    answers = [row for table in read for row in _given_others(table, read, place)]
    people = [row for table in read for row in _given_length(table, given, place)]
    within = [row for corpus in dict.fromkeys(t.corpus for t in read) for row in _within(corpus, read, place)]
    predictors = [row for table in read for row in _predictors(table)]
    if not (answers or people or within or predictors):
        raise BankError(
            f"none of {sorted({t.corpus for t in tables})} has {_LEAST} items with ratings, or with `direct` and a "
            "prompted method by two models"
        )
    created = {
        "answers_given_other_models": long_table(answers, _BAYES),
        "people_given_length": long_table(people, _BAYES),
        "within_models": long_table(within),
        "predictors_of_ratings": pd.DataFrame(predictors, columns=list(_PREDICTOR_TYPES)).astype(_PREDICTOR_TYPES),
    }
    return Section(
        id="associations",
        title="Correlations given the rest, and what predicts ratings",
        text=_text(created),
        definitions=DEFINITIONS,
        tables={name: table for name, table in created.items() if len(table)},
        references=(
            "Vallat 2018, JOSS 3:1026: pingouin",
            "Devlin, Gnanadesikan & Kettenring 1975, Biometrika 62:531-545: influence on r",
            "Bakdash & Marusich 2017, Front Psychol 8:456: correlation within subjects",
            "Lindeman, Merenda & Gold 1980: relative importance (LMG)",
            "Ly, Verhagen & Wagenmakers 2016, J Math Psychol 72:19-32: Bayes factor of r",
        ),
    )


def _prompted(table: ScoredTable) -> list[str]:
    return [layout.method for layout in table.layouts if layout.is_prompted]


def _aligned(table: ScoredTable, values: FloatArray, like: ScoredTable) -> FloatArray:
    """Return one number an item of `like`; NaN where the table lacks it."""
    result = pd.Series(values, index=table.item_ids).reindex(like.item_ids)
    return np.array(result, dtype=np.float64)


def _given_others(table: ScoredTable, read: Sequence[ScoredTable], place: SummaryRow) -> Iterator[dict[str, Any]]:
    others = [x for x in read if x.corpus == table.corpus and x.model != table.model]
    columns = [_aligned(x, x.delta(table.reference), table) for x in others]
    columns = [x for x in columns if not np.isnan(x).all()]
    own_values = table.delta(table.reference)
    if not columns or np.isnan(own_values).all():
        return
    rest = np.column_stack(columns)
    for method in _prompted(table):
        current = replace(
            place,
            model=table.model,
            corpus=table.corpus,
            method=method,
            versus=table.reference,
            metric="partial_pearson",
        )
        yield from _partial_row(
            own_values,
            table.delta(method),
            rest,
            current,
            f"{table.reference} of {len(columns)} other models",
            paradigms=table.paradigms,
        )


def _given_length(table: ScoredTable, given: Sequence[str], place: SummaryRow) -> Iterator[dict[str, Any]]:
    human = table.human_delta
    if np.isnan(human).all():
        return
    rest = {LENGTH: _length(table)} | {name: table.numbers(name) for name in given}
    known = {name: x for name, x in rest.items() if not np.isnan(x).all()}
    if not known:
        return
    for layout in table.layouts:
        current = replace(
            place, model=table.model, corpus=table.corpus, method=layout.method, versus=HUMAN, metric="partial_pearson"
        )
        yield from _partial_row(
            table.delta(layout.method),
            human,
            np.column_stack(list(known.values())),
            current,
            ", ".join(known),
            paradigms=table.paradigms,
        )


def _partial_row(
    x: FloatArray, y: FloatArray, rest: FloatArray, place: SummaryRow, given: str, *, paradigms: IntArray
) -> Iterator[dict[str, Any]]:
    applies = ~np.isnan(x + y)
    both = applies & ~np.isnan(rest).any(axis=1)
    if both.sum() >= _LEAST:
        result = partial_correlation(x[both], y[both], rest[both], clusters=paradigms[both])
        bf01 = bayes_factor_of_r(result.value, result.n - rest.shape[1])
        yield place.row(result, n_rows=int(applies.sum())) | {"given": given, "bf01": bf01}


def _within(corpus: str, read: Sequence[ScoredTable], place: SummaryRow) -> Iterator[dict[str, Any]]:
    selected = [table for table in read if table.corpus == corpus]
    reference = reference_of(name for table in selected for name in table.string_logprobs) or DIRECT
    for method in dict.fromkeys(name for table in selected for name in _prompted(table)):
        parts = []
        for table in selected:
            frame = pd.DataFrame({"x": table.delta(reference), "y": table.delta(method), "item": table.item_ids})
            frame["paradigm"] = table.frame["paradigm"].to_numpy() if "paradigm" in table.frame.columns else None
            parts.append(frame.assign(model=table.model).dropna(subset=["x", "y"]))
        rows = pd.concat(parts, ignore_index=True)
        if rows["model"].nunique() < 3:
            continue
        result = within_correlation(
            rows["x"], rows["y"], rows["model"], rows["item"], clusters=pd.factorize(rows["paradigm"])[0]
        )
        current = replace(
            place, model="all models", corpus=corpus, method=method, versus=reference, metric="pearson_within"
        )
        yield current.row(result, n_rows=int(rows["item"].nunique()))


def _length(table: ScoredTable) -> FloatArray:
    """Return how many more tokens the better side has, of those that are scored; NaN where that is not known."""
    columns = ScoreColumns(table.reference)
    return np.asarray(table.numbers(columns.good_n) - table.numbers(columns.bad_n))


def _mean(table: ScoredTable) -> FloatArray:
    """Return the difference of the mean log-probabilities of a token."""
    columns = ScoreColumns(table.reference)
    good, bad = (table.numbers(x) for x in (columns.good_n, columns.bad_n))
    with np.errstate(divide="ignore", invalid="ignore"):
        result = table.side(table.reference, "good") / good - table.side(table.reference, "bad") / bad
    return np.where(np.isfinite(result), result, np.nan)


def _predictors(table: ScoredTable) -> Iterator[dict[str, Any]]:
    requested = {layout.method: table.delta(layout.method) for layout in table.layouts if layout.is_prompted}
    columns = {table.reference: table.delta(table.reference), MEAN: _mean(table), LENGTH: _length(table)} | requested
    human = table.human_delta
    rated = ~np.isnan(human)
    # a column that most rated items lack, or that is the same for all, says nothing
    used = {name: x for name, x in columns.items() if np.isnan(x[rated]).sum() <= rated.sum() / 10}
    used = dict(list(used.items())[:MOST_PREDICTORS])
    if not used:
        return
    both = rated & ~np.isnan(np.column_stack(list(used.values()))).any(axis=1)
    kept = {name: x[both] for name, x in used.items() if both.any() and np.ptp(x[both]) > 0}
    if both.sum() < _LEAST + len(kept) or not kept or not np.ptp(human[both]):
        return
    created, r2 = relative_importance(human[both], kept)
    n = int(both.sum())
    p_all = p_of_all(human[both], np.column_stack(list(kept.values())))
    p_paradigms = p_over_paradigms(human[both], kept, table.paradigms[both])
    for entry in created:
        yield {
            "model": table.model,
            "corpus": table.corpus,
            "predictor": entry.name,
            "slope": entry.slope,
            "p": entry.p,
            "importance": entry.importance,
            "share": entry.importance / r2 if r2 else np.nan,
            "r2": r2,
            "r2_adjusted": 1 - (1 - r2) * (n - 1) / (n - len(kept) - 1),
            "p_all": p_all,
            "p_paradigms": p_paradigms,
            "n": n,
        }


def _text(made: dict[str, pd.DataFrame]) -> str:
    """Return the numbers in words; no verdict is made of them."""
    parts = []
    for name, text in (
        ("answers_given_other_models", "answers and the model's own `direct`, given the other models'"),
        ("people_given_length", "differences of models and of people, given length"),
        ("within_models", "answers and `direct` within models"),
    ):
        for corpus, part in wider(made[name]).groupby("corpus", sort=False):
            rows = [
                f"`{method}` {number(selected['value'].mean())}"
                + (f" ({span(selected['value'])})" if len(selected) > 1 else _interval(selected))
                for method, selected in part[part["value"].notna()].groupby("method", sort=False)
            ]
            parts.append(f"**{corpus}**, r of {text} ({part['n'].max():,} items): {'; '.join(rows) or 'undefined'}.")
    for (of_corpus, model), part in made["predictors_of_ratings"].groupby(["corpus", "model"], sort=False):
        parts.append(f"**{of_corpus}**, `{model}`: {_predicted_text(part)}")
    return "\n\n".join(parts)


def _predicted_text(part: pd.DataFrame) -> str:
    """Say what people's differences are predicted by, where they are at all: R^2 is above 0 by chance."""
    first = part.iloc[0]
    of = f"({len(part)} predictors, {first['n']:,} items)"
    if not first["p_all"] < SIGNIFICANCE:
        p = f"p = {number(first['p_all'])}"
        return f"that anything of people's differences is predicted is not shown {of}: permutation test, {p}."
    if first["p_paradigms"] >= SIGNIFICANCE:
        p = f"p = {number(first['p_paradigms'])}"
        return f"that people's differences are predicted beyond these paradigms is not shown {of}: T2 test, {p}."
    ranked = part.sort_values("importance", ascending=False, kind="stable")
    shares = "; ".join(
        f"`{name}` {percent(part)}" for name, part in zip(ranked["predictor"], ranked["share"], strict=True)
    )
    return (
        f"{percent(first['r2_adjusted'], digits=1)} of the variance of people's differences is predicted, corrected "
        "for the number of "
        f"predictors {of}. Parts of R^2 = {number(first['r2'], digits=3)}: {shares}."
    )


def _interval(part: pd.DataFrame) -> str:
    (row,) = part.to_dict("records")
    return "" if pd.isna(row["low"]) else f" [{number(row['low'])}, {number(row['high'])}]"


DEFINITIONS = f"""\
- **partial_pearson**: Pearson r of what is left of both when their linear regression on what is given is taken away;
  jackknife interval on Fisher's z scale (no normal data supposed), level 0.95.
- Given the direct deltas of *other models*, r above 0 is no evidence of privileged access: others measure what models
  have in common with noise of their own. `introspection` asks that question.
- **length**: scored tokens of the better side - of the worse one. **mean**: difference of log P a token.
- **bf01**: Bayes factor for no correlation against any (flat prior, normal data supposed): above 1 speaks for none.
- **pearson_within**: r with each model's own level taken away (repeated measures); items are the draws, so that the
  same item asked of several models counts once.
- **importance**: part of R^2 of a linear regression of the human difference, averaged over all orders in which
  predictors can enter (LMG). **share**: its share of R^2. **slope**: in standard deviations, with an uncorrected **p**
  from White's HC3 standard error. **r2_adjusted**: Ezekiel's, about 0 where nothing is predicted. **p_all**:
  permutation test of all predictors (by the exact mean and variance of R^2 over permutations). **p_paradigms**: T2 test
  of all predictors over paradigms (jackknife), where there are enough; the text gives shares where both are below
  {SIGNIFICANCE}. At most {MOST_PREDICTORS} predictors; those that a tenth of
  the rated items lack are left out.
"""
