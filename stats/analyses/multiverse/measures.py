"""The ways in which one table measures: in, a scored table; out, `Reading`s, each a number an item and how it was got.

A reading is one defensible way from what the table holds to a difference of the two sides: a method, its pooling (sum,
mean a token or a character), what of its presentations is read. Nothing is computed that the table has already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.names import DIRECT, MethodName
from pairbank.stats.estimates.estimate import mean_of_known
from pairbank.stats.estimates.ties import signs
from pairbank.stats.scored_table.credit import choices_of, credits_of

if TYPE_CHECKING:
    from pairbank.arrays import BoolArray, FloatArray
    from pairbank.scoring.api.layout import MethodLayout
    from pairbank.stats.scored_table.method_scores import MethodScores
    from pairbank.stats.scored_table.scored_table import ScoredTable

POOLS = "pooled"
"""What the layout of a method says whose paper pools the presentations."""
MEAN_LOGPROB = "mean_logprob"
"""A method that is what dividing `direct` by its tokens gives."""
AVERAGED, POOLED, ONE_AN_ITEM = "averaged", "each counts", "one an item"
"""What is read of several orders: the mean of their differences; the share of right answers; or one order an item,
every second item the other one, as where a study draws the order."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Reading:
    """One way of measuring the items of one table."""

    layout: MethodLayout
    choices: Mapping[str, str]
    """Name of a choice -> what was chosen: `{"wording": "meta_question_simple", "orders": "averaged"}`."""
    difference: FloatArray
    """Good - bad, shape (rows,); NaN where there is none."""
    credit: FloatArray
    """1 right, 0 wrong, a tie one half, shape (rows,); NaN where there is none."""
    by_paper: bool = True
    """Whether it is the way of the method's own paper: presentations pooled, or their differences averaged."""
    is_biased: bool = False
    """Whether the model has position bias, so that its accuracy cannot be compared."""

    @property
    def tied(self) -> BoolArray:
        """Where neither side is preferred, shape (rows,); one of two questions answered rightly is no tie."""
        none = np.zeros(self.credit.size, dtype=np.bool_)
        return none if self.choices.get("orders") == POOLED else np.asarray(self.credit == 0.5)


def readings(table: ScoredTable) -> Iterator[Reading]:
    """Yield every reading of a table.

    Args:
        table: Its rows that are a choice, of which one side is right.
    """
    for scores in table.methods:
        if scores.layout.kind == "prediction" or not scores.applies.any():
            continue
        yield from _asked(scores) if scores.layout.is_prompted else _measured(table, scores)


def _measured(table: ScoredTable, scores: MethodScores) -> Iterator[Reading]:
    layout = scores.layout
    yield _reading(layout, {"linking": layout.method}, scores.delta_nats)
    if layout.method != DIRECT:
        return
    others = {one.method for one in table.layouts}
    columns = ScoreColumns(DIRECT)
    sides = [table.side(DIRECT, "good"), table.side(DIRECT, "bad")]
    if MEAN_LOGPROB not in others and {columns.good_n, columns.bad_n} <= {*table.frame.columns}:
        counts = [table.numbers(name) for name in (columns.good_n, columns.bad_n)]
        yield _reading(layout, {"linking": "direct a token"}, _mean_difference(sides, counts))
    if {"target_good", "target_bad"} <= {*table.frame.columns} and table.frame["target_bad"].notna().all():
        texts = [table.frame[name].str.len() for name in ("target_good", "target_bad")]
        lengths: list[FloatArray] = [np.asarray(one.to_numpy(dtype=np.float64)) for one in texts]
        yield _reading(layout, {"linking": "direct a character"}, _mean_difference(sides, lengths))


def _mean_difference(sides: list[FloatArray], counts: list[FloatArray]) -> FloatArray:
    means = [
        np.divide(side, n, out=np.full_like(side, np.nan), where=n > 0) for side, n in zip(sides, counts, strict=True)
    ]
    return np.asarray(means[0] - means[1])


def _asked(scores: MethodScores) -> Iterator[Reading]:
    layout, name = scores.layout, MethodName.parsed(scores.layout.method)
    how = {"wording": name.id, "labels": " / ".join(layout.options)}
    if name.in_chat:
        how["format"] = "chat"
    if name.n_shots:
        how["examples"] = str(name.n_shots)
    is_biased, parts = credits_of(scores).is_biased, _parts(scores)
    pools = layout.accuracy == POOLS and bool(parts)
    first = _reading(layout, how | ({"orders": AVERAGED} if parts else {}), scores.delta_nats)
    yield replace(first, by_paper=not pools, is_biased=is_biased)
    for orders, difference, credit in parts:
        yield Reading(
            layout=layout,
            choices=how | {"orders": orders},
            difference=difference,
            credit=credit,
            by_paper=pools and orders == POOLED,
            is_biased=is_biased,
        )


def _parts(scores: MethodScores) -> list[tuple[str, FloatArray, FloatArray]]:
    """Return what else can be read of a method's presentations: all of them one by one, or one order alone."""
    layout, chosen = scores.layout, choices_of(scores)
    if chosen is None or not layout.is_judged or layout.asked == "one" or len(layout.correct) < 2:
        return []
    at, correct = np.arange(len(layout.correct)), list(layout.correct)
    credit = chosen[:, at, correct]
    found = [(POOLED, 2 * mean_of_known(credit) - 1, mean_of_known(credit))]
    if layout.kind == "forced_choice":
        turn = np.arange(len(credit)) % credit.shape[1]
        for nth in range(credit.shape[1]):
            one = credit[np.arange(len(credit)), (turn + nth) % credit.shape[1]]
            found.append((f"{ONE_AN_ITEM} ({'abcdefgh'[nth % 8]})", 2 * one - 1, one))
    elif layout.has_logprobs:
        yes = scores.logprobs_nats[:, 0, 0] - scores.logprobs_nats[:, 1, 0]
        found.append((f"P({layout.options[0]}) only", yes, (signs(yes) + 1) / 2))
    return found


def _reading(layout: MethodLayout, choices: Mapping[str, str], difference: FloatArray) -> Reading:
    return Reading(layout=layout, choices=choices, difference=difference, credit=(signs(difference) + 1) / 2)
