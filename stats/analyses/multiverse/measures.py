"""The readings of a table, the claim that they are about, and the test of its specification curve.

The test is that of Simonsohn, Simmons & Nelson 2020, Nature Human Behaviour 4:1208-1214: of the median effect, the
share of specifications that are significant in the direction of the claim, and the mean z (Stouffer). Under the null,
the sign of what an item contributes is exchanged at random, in all specifications at once, so that the draws are as
dependent as the curve is: of paired gains that is a permutation of what is compared within the item, of correlations a
wild bootstrap of each item's influence. Where items come in paradigms, the signs of whole paradigms are exchanged.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from statistics import NormalDist
from typing import Literal

import numpy as np

from pairbank.arrays import BoolArray, FloatArray, IntArray
from pairbank.errors import BankError, unknown_name
from pairbank.scoring.api.layout import MethodLayout, ScoreColumns
from pairbank.scoring.api.names import MethodName
from pairbank.stats.estimates.estimate import mean_of_known
from pairbank.stats.estimates.shares import signs
from pairbank.stats.measures.distance_bins import largest_distance_kept
from pairbank.stats.scored_table.method_scores import MethodScores, choices_of, credits_of, number_column
from pairbank.stats.scored_table.scored_table import ScoredTable

POOLS = "pooled"
"""What the layout of a method says whose paper pools the presentations."""
MEAN_LOGPROB = "mean_logprob"
"""A method that is what dividing `direct` by its tokens gives."""
AVERAGED, POOLED, ONE_AN_ITEM = "averaged", "each counts", "one per item"
"""What is read of several orders: the mean of their differences; the share of right answers; or one order an item,
every second item the other one, as where a study draws the order."""

ASKING = "asking < probability"
"""The claim where none is given."""
ALL = "all"
Z_975 = NormalDist().inv_cdf(0.975)
LEAST_UNITS = 10
ROWS_A_BLOCK = 8_192


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
    for scores in table.methods:
        if scores.layout.kind == "prediction" or not scores.applies.any():
            continue
        yield from _prompted(scores) if scores.layout.is_prompted else _measured(table, scores)


def _measured(table: ScoredTable, scores: MethodScores) -> Iterator[Reading]:
    layout, names = scores.layout, {*table.frame.columns}
    yield _reading(layout, {"linking": layout.method}, scores.delta_nats)
    if layout.method != table.reference:
        return
    columns, counts = ScoreColumns(layout.method), dict[str, list[FloatArray]]()
    if MEAN_LOGPROB not in {layout.method for layout in table.layouts} and {columns.good_n, columns.bad_n} <= names:
        counts["direct a token"] = [table.numbers(name) for name in (columns.good_n, columns.bad_n)]
    if {"target_good", "target_bad"} <= names and table.frame["target_bad"].notna().all():
        texts = [table.frame[name].str.len() for name in ("target_good", "target_bad")]
        counts["direct per character"] = [np.asarray(lengths.to_numpy(dtype=np.float64)) for lengths in texts]
    for linking, of_sides in counts.items():
        sides = [table.side(layout.method, "good"), table.side(layout.method, "bad")]
        good, bad = (x / np.where(n > 0, n, np.nan) for x, n in zip(sides, of_sides, strict=True))
        yield _reading(layout, {"linking": linking}, good - bad)


def _prompted(scores: MethodScores) -> Iterator[Reading]:
    layout, name = scores.layout, MethodName.parsed(scores.layout.method)
    how = {"wording": name.id, "labels": " / ".join(layout.options)}
    if name.in_chat:
        how["format"] = "chat"
    if name.n_shots:
        how["examples"] = str(name.n_shots)
    parts = _parts(scores)
    pools = layout.accuracy == POOLS and bool(parts)
    for orders, difference in ({AVERAGED if parts else "": scores.delta_nats} | parts).items():
        made = _reading(layout, how | ({"orders": orders} if orders else {}), difference)
        is_credit = orders == POOLED or orders.startswith(ONE_AN_ITEM)  # each answer is right or wrong
        yield replace(
            made,
            credit=(difference + 1) / 2 if is_credit else made.credit,
            by_paper=orders == POOLED if pools else orders in (AVERAGED, ""),
            is_biased=credits_of(scores).is_biased,
        )


def _parts(scores: MethodScores) -> dict[str, FloatArray]:
    """Return what else can be read of a method's presentations: all of them one by one, or one order alone."""
    layout, chosen = scores.layout, choices_of(scores)
    if chosen is None or not layout.is_judged or layout.asked == "one" or len(layout.correct) < 2:
        return {}
    credit = chosen[:, np.arange(len(layout.correct)), list(layout.correct)]
    results = {POOLED: 2 * mean_of_known(credit) - 1}
    if layout.kind == "forced_choice":
        rows, n_orders = np.arange(len(credit)), credit.shape[1]
        for nth in range(n_orders):
            results[f"{ONE_AN_ITEM} ({chr(ord('a') + nth)})"] = 2 * credit[rows, (rows + nth) % n_orders] - 1
    elif layout.has_logprobs:
        results[f"P({layout.options[0]}) only"] = scores.logprobs_nats[:, 0, 0] - scores.logprobs_nats[:, 1, 0]
    return results


def _reading(layout: MethodLayout, choices: Mapping[str, str], difference: FloatArray) -> Reading:
    return Reading(layout=layout, choices=choices, difference=difference, credit=(signs(difference) + 1) / 2)


Kind = Literal["methods", "models", "people"]
ASKED, MEASURED, PEOPLE = "asking", "probability", "people"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim that A is better than B, or that r with people is above a number."""

    kind: Kind
    a: str = ""
    """What is claimed to be better: a method, a model, `asking`, `probability`; patterns with * may match several."""
    b: str = ""
    above: float = 0.0
    """Of a claim about people: what r is claimed to be above."""

    @property
    def in_words(self) -> str:
        """The claim as a sentence without its full stop."""
        if self.kind == "people":
            return f"r with people is above {self.above:g}"
        if {self.a, self.b} == {ASKED, MEASURED}:
            return f"asking is {'worse' if self.a == MEASURED else 'better'} than probability"
        return f"{self.a} is right more often than {self.b}"


def claim_of(text: str, *, methods: Sequence[str], models: Sequence[str]) -> Claim:
    """Return a claim from its text: `A > B`, `B < A`, `people > .3`."""
    result = re.fullmatch(r"\s*(.+?)\s*([<>])\s*(.+?)\s*", text)
    if result is None:
        raise BankError(f"multiverse.claim is {text!r}; expected A > B, such as '{ASKING}', 'people > .3' or two names")
    left, sign, right = result.groups()
    a, b = (left, right) if sign == ">" else (right, left)
    if PEOPLE in (a, b):
        above = math.nan
        with contextlib.suppress(ValueError):
            above = float(b)
        if a != PEOPLE or not -1 < above < 1:
            raise BankError(f"multiverse.claim is {text!r}; expected people > NUMBER, with a number between -1 and 1")
        return Claim(kind="people", above=above)
    for side in (a, b):
        if not _matches(side, [*methods, ASKED, MEASURED]) and not _matches(side, models):
            raise unknown_name("method or model of these tables", side, [ASKED, MEASURED, *methods, *models])
    of_methods = all(_matches(side, [*methods, ASKED, MEASURED]) for side in (a, b))
    of_models = all(_matches(side, models) for side in (a, b))
    if not of_methods and not of_models:
        raise BankError(f"multiverse.claim is {text!r}: one side is a method and the other a model; give two of a kind")
    return Claim(kind="methods" if of_methods else "models", a=a, b=b)


def is_on_side(layout: MethodLayout, side: str) -> bool:
    if side in (ASKED, MEASURED):
        return (layout.is_prompted and layout.kind != "prediction") == (side == ASKED)
    return bool(_matches(side, [layout.method]))


def _matches(side: str, names: Sequence[str]) -> list[str]:
    return [name for name in names if fnmatchcase(name, side)] or [name for name in names if name == side]


LEAST_KEPT, LEAST_DROPPED = 20, 0.02


def filters_of(used: ScoredTable) -> dict[str, BoolArray]:
    """Return the filters that leave some items out and 20 in."""
    results: dict[str, BoolArray] = {ALL: np.ones(len(used.frame), dtype=np.bool_)}
    distance = edit_distances(used)
    if not np.isnan(distance).all():
        known = ~np.isnan(distance)
        results["close"] = known & (np.nan_to_num(distance, nan=np.inf) <= largest_distance_kept(distance[known]))
    texts = used.frame.reindex(columns=["target_good", "target_bad"]).astype(object).fillna("").astype(str)
    good, bad = (np.array([len(text.split()) for text in texts[name]], dtype=np.int64) for name in texts)
    results["same length"] = (good == bad) & (good > 0)
    people = used.human_delta
    if not np.isnan(people).all():
        size = np.nan_to_num(np.abs(people), nan=-1.0)
        results["people agree"] = np.nan_to_num(people, nan=-1.0) > 0
        results["people are sure"] = size > np.median(size[size >= 0])
    n = len(used.frame)
    is_used = {name: name == ALL or LEAST_KEPT <= x.sum() <= (1 - LEAST_DROPPED) * n for name, x in results.items()}
    return {name: mask for name, mask in results.items() if is_used[name]}


def edit_distances(used: ScoredTable) -> FloatArray:
    """Return the column `edit_distance`, or what it would hold: edits between the two sides, NaN without texts."""
    known = number_column(used.frame, "edit_distance")
    if not np.isnan(known).all() or not {"target_good", "target_bad"} <= {*used.frame.columns}:
        return known
    from rapidfuzz.distance import Levenshtein

    pairs = zip(used.frame["target_good"], used.frame["target_bad"], strict=True)
    return np.array(
        [Levenshtein.distance(a, b) if isinstance(a, str) and isinstance(b, str) else np.nan for a, b in pairs],
        dtype=np.float64,
    )


Scale = Literal["gain", "z"]


def curve_test(
    contributions: FloatArray,
    units: IntArray,
    *,
    scale: Scale,
    n_used: FloatArray,
    observed: FloatArray,
    significant: FloatArray,
    rng: np.random.Generator,
    n_draws: int,
) -> dict[str, float]:
    """Return the test of a whole curve against its null, a row of the table `tests`.

    `median` is a distance from the null value, as `detectable` (power 0.80) and the middle 95% of the draws' medians;
    `share` is of specifications that are significant (0.05, two-sided) in the direction of the claim; `mean_z` is the
    sum of all z over the root of their number (Stouffer). p values are two-sided, over the draws.

    >>> gains = np.random.default_rng(0).choice([-1.0, 1.0], size=(200, 3), p=[0.3, 0.7])
    >>> test = curve_test(gains, np.arange(200), scale="gain", n_used=np.full(3, 200.0), observed=gains.sum(axis=0),
    ...                   significant=np.ones(3), rng=np.random.default_rng(1), n_draws=99)
    >>> test["p_median"], test["p_mean_z"]
    (0.01, 0.01)
    """
    n_units = int(units.max()) + 1 if units.size else 0
    if n_units < LEAST_UNITS or not contributions.shape[1]:
        raise BankError(f"{contributions.shape[1]} specifications of {n_units} units; expected one, and {LEAST_UNITS}")
    squares = np.einsum("ij,ij->j", contributions, contributions)
    errors = np.sqrt(squares)
    by_unit = contributions
    if n_units < len(units):
        by_unit = np.zeros((n_units, contributions.shape[1]))
        np.add.at(by_unit, units, contributions)
    drawn = _drawn_sums(by_unit, rng=rng, n_draws=n_draws)
    divisor = n_used if scale == "gain" else 1.0
    median, null_median = float(np.median(observed / divisor)), np.median(drawn / divisor, axis=1)
    root = np.sqrt(observed.size)
    mean_z, null_z = float((observed / errors).sum() / root), (drawn / errors).sum(axis=1) / root
    up, down = (_beyond(side * drawn, squares, n_used, scale).mean(axis=1) for side in (1, -1))
    share = float(significant.mean())
    low, high = np.quantile(null_median, [0.025, 0.975])
    return {
        "n_specifications": observed.size,
        "n_units": n_units,
        "median": median,
        "share": share,
        "mean_z": mean_z,
        "p_median": _p(np.abs(null_median) >= abs(median) - 1e-12),
        "p_share": _p(np.maximum(up, down) >= share - 1e-12),
        "p_mean_z": _p(np.abs(null_z) >= abs(mean_z) - 1e-12),
        "null_median_low": float(low),
        "null_median_high": float(high),
        "detectable": float((Z_975 + NormalDist().inv_cdf(0.8)) * null_median.std()),
    }


def _drawn_sums(contributions: FloatArray, *, rng: np.random.Generator, n_draws: int) -> FloatArray:
    """Return the sums of each draw of signs, shape (draws, specifications)."""
    total = np.zeros((n_draws, contributions.shape[1]))
    for start in range(0, len(contributions), ROWS_A_BLOCK):
        block = contributions[start : start + ROWS_A_BLOCK]
        signs = rng.integers(0, 2, size=(n_draws, len(block)), dtype=np.int8).astype(np.float32) * 2 - 1
        total += signs @ block.astype(np.float32)
    return total


def _beyond(sums: FloatArray, squares: FloatArray, n_used: FloatArray, scale: Scale) -> FloatArray:
    """Return where an interval would lie above the null value: of gains the adjusted Wald interval."""
    if scale == "z":
        return (sums > Z_975 * np.sqrt(squares)).astype(np.float64)
    n = n_used + 1
    centre = sums / n
    return (centre > Z_975 * np.sqrt(((squares + 1) / n - centre**2) / n)).astype(np.float64)


def _p(as_far: BoolArray) -> float:
    return float((1 + as_far.sum()) / (1 + as_far.size))
