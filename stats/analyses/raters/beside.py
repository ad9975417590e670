"""One corpus: its raters, their majorities and each model on the same items. A table and ratings in, rows out."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pairbank.arrays import BoolArray, FloatArray, IntArray
from pairbank.builders.ratings import BINARY, FORCED_CHOICE, SHARE_THAT_ACCEPTS
from pairbank.errors import BankError
from pairbank.scoring.api.layout import MethodLayout
from pairbank.stats.analyses.form import cells
from pairbank.stats.analyses.raters import judgments
from pairbank.stats.estimates.estimate import Estimate
from pairbank.stats.estimates.shares import signs
from pairbank.stats.measures import human_agreement, raters
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.measures.distributions import distribution_distance
from pairbank.stats.scored_table.method_scores import answer_shares
from pairbank.stats.scored_table.scored_table import ScoredTable

ICC_SHOWN = ("agreement_single", "consistency_mean")
MOST_ALPHA = 100_000
"""Ratings up to which Krippendorff's alpha and the ceiling are computed."""
CEILING = "ceiling of r (variance components)"
"""The measure that draws."""

ANSWERED = (BINARY, SHARE_THAT_ACCEPTS)
"""Scales of yes/no answers; a value between them is the share of a rater's repeated answers that are yes."""
DISTANCES = {"model": "model", "constant": "one distribution for all", "nearer": "model - one distribution"}
"""Distances by name, as tables have them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A table whose items people judged."""

    table: ScoredTable
    choices: pd.DataFrame | None
    """Of `choices_of`."""
    sides: pd.DataFrame | None
    """Of `side_ratings_of`."""
    rated: pd.DataFrame
    """Ratings of single sides of these items, as they were given; those of raters who always gave one value too."""

    @property
    def chosen(self) -> ScoredTable:
        """The items that raters chose between."""
        if self.choices is None:
            raise BankError(f"{self.table.corpus}: no rater judged both sides of an item")
        return self.table.rows(self.choices.index.to_numpy())


def _paradigms(table: ScoredTable) -> IntArray | None:
    """Return the number of each row's paradigm, or of its phenomenon; None where rows have neither."""
    for column in ("paradigm", "phenomenon"):
        if column in table.frame.columns and table.frame[column].notna().all():
            return np.asarray(pd.factorize(table.frame[column])[0], dtype=np.int64)
    return None


def judged(table: ScoredTable, ratings: pd.DataFrame) -> Judged | None:
    """Return a table with what raters said of its items; None where they said nothing."""
    known = table.choices
    selected = ratings[ratings["item_id"].isin(set(known.item_ids))]
    if selected.empty:
        return None
    choices, sides = judgments.choices_of(selected, known.item_ids), judgments.side_ratings_of(selected, known.item_ids)
    if choices is None and sides is None:
        return None
    return Judged(table=known, choices=choices, sides=sides, rated=selected[selected["scale"] != FORCED_CHOICE])


def people_rows(judged: Judged) -> Iterator[dict[str, Any]]:
    """Yield raters and majorities, a row each: who, accuracy with interval, r with the other raters."""
    made = judged.choices
    people = None if made is None else raters.rater_accuracy(made.to_numpy(), paradigms=judged.chosen.paradigms)
    others = _with_others(judged, None)
    if people is not None:
        together = (("all raters", people.single), ("majority of raters", people.majority))
        for who, estimate in (*together, ("majority without one rater", people.majority_of_others)):
            yield judgments.place_of(judged.table.corpus, "people", who, estimate=estimate)
    for number in range(max(len(people.each) if people else 0, others.rater.size if others else 0)):
        r = float(others.rater[number]) if others is not None and number < others.rater.size else math.nan
        single = people.each[number] if people is not None and number < len(people.each) else None
        yield judgments.place_of(judged.table.corpus, "rater", f"rater {number}", estimate=single, r=r)


def model_rows(judged: Judged) -> Iterator[dict[str, Any]]:
    """Yield each method of the model on the same items, and with the fellows of how many raters it goes better."""
    for layout in judged.table.layouts:
        estimate, r, ahead = None, math.nan, math.nan
        if judged.choices is not None:
            delta = judged.chosen.delta(layout.method)
            known = ~np.isnan(delta)
            estimate = accuracy(delta[known], clusters=judged.chosen.paradigms[known]) if known.any() else None
        others = _with_others(judged, layout)
        if others is not None and (~np.isnan(others.model)).any():
            r = float(np.nanmean(others.model))
            both = ~np.isnan(others.rater) & ~np.isnan(others.model)
            ahead = float((others.model[both] > others.rater[both]).mean()) if both.any() else math.nan
        if estimate is not None or not math.isnan(r):
            of_model = judgments.place_of(
                judged.table.corpus, "model", judged.table.model, method=layout.method, estimate=estimate, r=r
            )
            yield of_model | {"share_ahead": ahead}


def _with_others(judged: Judged, layout: MethodLayout | None) -> raters.WithOthers | None:
    if judged.sides is None:
        return None
    scores = None if layout is None else _side_scores(judged, layout)
    if layout is not None and scores is None:
        return None
    return raters.with_others(*_numbers(judged.sides), scores)


def _numbers(sides: pd.DataFrame) -> tuple[IntArray, IntArray, FloatArray]:
    thing, rater, z = (sides[name].to_numpy() for name in ("thing", "number", "z"))
    return thing, rater, z


def _side_scores(judged: Judged, layout: MethodLayout) -> FloatArray | None:
    """Return a method's scores of the sides, numbered as in the ratings; None where it scores no single side."""
    if layout.kind not in judgments.OF_SENTENCES:
        return None
    good, bad = (judged.table.side(layout.method, side) for side in ("good", "bad"))
    scores = np.column_stack([good, bad]).ravel()
    return None if np.isnan(scores).all() else scores


def alternative_rows(judged: Judged, *, epsilon: float) -> Iterator[dict[str, Any]]:
    """Yield the alternative annotator test of each method, on all items and by phenomenon where there are enough."""
    base = judged.table if judged.choices is None else judged.chosen
    paradigms = _paradigms(base)
    groups = [("", np.ones(len(base.frame), dtype=np.bool_))]
    phenomenon = base.frame["phenomenon"] if "phenomenon" in base.frame.columns else pd.Series(dtype=object)
    if phenomenon.nunique() > 1:
        groups += [(str(name), (phenomenon == name).to_numpy()) for name in sorted(phenomenon.dropna().unique())]
    for layout in base.layouts:
        for name, rows in groups:
            test = _tested(judged, layout, rows, epsilon, None if name else paradigms)
            if test is not None and (not name or test.n_items >= human_agreement.LEAST_ITEMS):
                numbers = ("winning_rate", "advantage", "rater_advantage", "n_raters", "reason")
                place = {"corpus": base.corpus, "model": base.model, "method": layout.method, "phenomenon": name}
                place |= {number: getattr(test, number) for number in numbers}
                yield place | {"winning_rate_beyond": test.beyond_paradigms, "n": test.n_items}


def _tested(
    judged: Judged, layout: MethodLayout, rows: BoolArray, epsilon: float, paradigms: IntArray | None
) -> human_agreement.AlternativeAnnotator | None:
    """Return the test on some of the items, of choices where raters made any, else of ratings of single sides."""
    if judged.choices is not None:
        decided = signs(judged.chosen.delta(layout.method))
        kept = rows & ~np.isnan(decided)
        part = judged.choices.to_numpy()[kept]
        part = part[:, (~np.isnan(part)).any(axis=0)]
        of_kept = None if paradigms is None else paradigms[kept]
        return (
            human_agreement.alternative_annotator(part, decided[kept], epsilon=epsilon, paradigms=of_kept)
            if part.size
            else None
        )
    scores, sides = _side_scores(judged, layout), judged.sides
    if scores is None or sides is None:
        return None
    thing, rater, value = _numbers(sides)
    selected = rows[thing // 2]
    rated = scores[np.unique(thing[selected])]
    if not selected.any() or not np.nanstd(rated) > 0:
        return None
    z = (scores - np.nanmean(rated)) / np.nanstd(rated)
    of_sides = None if paradigms is None else np.repeat(paradigms, 2)
    return human_agreement.alternative_annotator_of_ratings(
        thing[selected], rater[selected], value[selected], z, epsilon=epsilon, paradigms=of_sides
    )


def reliability_rows(judged: Judged) -> Iterator[dict[str, Any]]:
    """Yield how far raters agree: intraclass correlations, Krippendorff's alpha, and the ceiling of r."""
    frames: dict[str, tuple[raters.Level, pd.DataFrame]] = {}
    if judged.choices is not None:
        made = pd.Series(judged.choices.stack().dropna(), name="value").rename_axis(["item_id", "rater"])
        frames["choices"] = "nominal", made.reset_index().assign(side="good")
    if judged.sides is not None:
        frames["ratings of sides"] = "interval", judged.sides
    for of, (level, frame) in frames.items():
        if len(frame) > MOST_ALPHA:
            continue
        place = {"corpus": judged.table.corpus, "of": of, "n_ratings": len(frame), "n_raters": frame["rater"].nunique()}
        named = {"Krippendorff's alpha": raters.krippendorff_alpha(frame, scale=level)}
        if level == "interval":
            icc = raters.intraclass_correlations(frame)
            named |= {f"ICC, {name.replace('_', ', ')} rating": icc[name] for name in ICC_SHOWN}
        for measure, estimate in named.items():
            yield place | {"measure": measure} | cells(estimate) | {"n": estimate.n, "reason": estimate.reason}
        if level == "interval":
            ceiling = human_agreement.ceiling_from_ratings(*_numbers(frame))
            row = place | {"measure": CEILING, "value": ceiling.ceiling_r, "low": math.nan, "high": math.nan}
            yield row | {"n": ceiling.n, "reason": ceiling.reason or "no interval is defined for it"}


def distance_rows(judged: Judged) -> Iterator[dict[str, Any]]:
    """Yield how far each method's distributions of answers are from people's, where both are on one scale."""
    scales = judged.rated["scale"].unique()
    if len(scales) != 1:
        return
    row = pd.Index(judged.table.item_ids).get_indexer(pd.Index(judged.rated["item_id"]))
    units = 2 * row + (judged.rated["side"] == "bad").to_numpy(dtype=np.int64)
    raters = np.unique(judged.rated["rater"].to_numpy(), return_inverse=True)[1]
    values = judged.rated["value"].to_numpy(dtype=np.float64)
    scale, paradigms = str(scales[0]), _paradigms(judged.table)
    as_ratings = units, raters, values, None
    as_answers = _as_answers(units, raters, values) if scale in ANSWERED else as_ratings
    steps = re.fullmatch(r"[a-z]+([1-9][0-9]*)", scale)  # `likert7` is from 1 to 7, others from 0 to 1
    least, most = (1.0, float(steps[1])) if steps else (0.0, 1.0)
    for scores in judged.table.methods:
        answers = answer_shares(scores, judged.table.frame)
        if answers is None or (answers.points[0], answers.points[-1]) != (least, most):
            continue
        if values.min() < least or values.max() > most:
            continue
        unit, rater, value, weights = as_answers if answers.points.size == 2 else as_ratings
        distance = distribution_distance(
            unit,
            rater,
            value,
            answers.shares,
            answers.points,
            weights=weights,
            n_draws=answers.n_draws,
            paradigms=None if paradigms is None else np.repeat(paradigms, 2),
        )
        place = {"corpus": judged.table.corpus, "model": judged.table.model, "method": scores.layout.method}
        for name in ("model", "constant", "nearer"):
            estimate: Estimate = getattr(distance, name)
            low, high = estimate.low, estimate.high
            if estimate.n_paradigms:
                low, high = min(low, estimate.low_paradigms), max(high, estimate.high_paradigms)
            yield place | {
                "of": DISTANCES[name], "value": estimate.value, "low": low, "high": high, "n": estimate.n,
                "scale": scale, "floor": distance.floor, "n_raters": distance.n_raters, "reason": estimate.reason,
            }  # fmt: skip


def _as_answers(
    units: IntArray, raters: IntArray, values: FloatArray
) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Return (units, raters, answers, weights): a rater who said yes in 7 of 10 repetitions is 0.7 of a yes.

    >>> [row.tolist() for row in _as_answers(np.array([0, 1]), np.array([5, 5]), np.array([0.75, 1.0]))]
    [[0, 1, 0, 1], [5, 5, 5, 5], [0.0, 0.0, 1.0, 1.0], [0.25, 0.0, 0.75, 1.0]]
    """
    answers = np.repeat([0.0, 1.0], values.size)
    return np.tile(units, 2), np.tile(raters, 2), answers, np.concatenate([1 - values, values])
