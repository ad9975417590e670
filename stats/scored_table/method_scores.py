"""One method's columns of a scored table: its numbers, and the credit of its answers as its paper defines it.

What should be there and is not, or is no number, is an error with the item's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Protocol, get_args

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from pairbank.arrays import BoolArray, FloatArray
from pairbank.builders.ratings import SAME_ANSWER
from pairbank.errors import BankError
from pairbank.scoring.api.layout import SIDES, MethodLayout, ScoreColumns, Side
from pairbank.scoring.api.names import OVER_LENGTH, SENTENCE, TIE_ANSWER, is_string_logprob
from pairbank.stats.estimates.estimate import mean_of_known
from pairbank.stats.estimates.shares import is_tie, signs
from pairbank.stats.measures.accuracy import chosen_options

SAME_PLACE = SAME_ANSWER
"""Share of presentations in which the first option is named (or another one) that counts as position bias."""
MOST_NAMED = 3
"""Cases of position bias that a sentence names."""
MARK = "†"
BIAS_NOTE = (
    f"{MARK} Position bias: the model picks the same option in 95% of the presentations or more. Accuracy pools both "
    "orders."
)


class StoredRows(Protocol):
    """Rows of a table that stay in its file until they are read."""

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def read(self, names: Sequence[str] | None = None) -> pd.DataFrame:
        """Return the rows, or some of their columns."""


class _Frame:
    """The field `frame`: it is given a DataFrame or stored rows, and is always read as a DataFrame."""

    def __get__(self, entry: ScoredFrame | None, _kind: type | None = None) -> pd.DataFrame:
        if entry is None:
            raise AttributeError("frame")  # so that the field has no default
        rows: pd.DataFrame | StoredRows = entry.__dict__["_rows"]
        return rows if isinstance(rows, pd.DataFrame) else rows.read()

    def __set__(self, entry: ScoredFrame, rows: pd.DataFrame | StoredRows) -> None:
        entry.__dict__["_rows"] = rows


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoredFrame:
    """One corpus scored with one model."""

    corpus: str
    model: str
    frame: _Frame = _Frame()
    """The shared schema with the methods' columns, one row per item. Stored rows are read each time."""
    layouts: tuple[MethodLayout, ...]
    signature: Mapping[str, Any] = field(default_factory=dict)

    def part(self, names: Sequence[str]) -> pd.DataFrame:
        rows: pd.DataFrame | StoredRows = self.__dict__["_rows"]
        present = [name for name in dict.fromkeys(names) if name in rows.columns]
        return rows[present] if isinstance(rows, pd.DataFrame) else rows.read(present)

    @property
    def column_names(self) -> list[str]:
        return list(self.__dict__["_rows"].columns)

    @property
    def n_rows(self) -> int:
        return len(self.__dict__["_rows"])

    @property
    def is_null(self) -> bool:
        """Whether the model's weights are random: a null that models are compared with, and no model of a report."""
        return bool(self.signature.get("model", {}).get("weights"))


def number_column(frame: pd.DataFrame, name: str) -> FloatArray:
    """Return a number column as float64 with NaN for null; all NaN where the table has no such column.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"item_id": ["a", "b"], "direct_good": [-1.5, None]})
    >>> number_column(frame, "direct_good"), number_column(frame, "direct_bad")
    (array([-1.5,  nan]), array([nan, nan]))
    """
    if name not in frame.columns:
        return np.full(len(frame), np.nan)
    values = np.asarray(frame[name].to_numpy(dtype=np.float64, na_value=np.nan))
    if np.isinf(values).any():
        where = int(np.argmax(np.isinf(values)))
        raise BankError(f"{frame['item_id'].iloc[where]}: {name} is {values[where]}; expected a number or null")
    return values


def flagged(frame: pd.DataFrame, name: str, flag: str) -> BoolArray:
    """Return which rows have a flag in a column of flags (lists, arrays or null), shape (rows,); none without it."""
    if name not in frame.columns:
        return np.zeros(len(frame), dtype=np.bool_)
    cells = frame[name].to_list()  # equal lists of a file are one object (`frame_of`): each is looked at once
    holds = {
        key: isinstance(cell, list | tuple | np.ndarray) and flag in list(cell)
        for key, cell in dict(zip(map(id, cells), cells, strict=True)).items()
    }
    return np.fromiter(map(holds.__getitem__, map(id, cells)), dtype=np.bool_, count=len(cells))


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodScores:
    """One method's numbers for every row of the table."""

    layout: MethodLayout
    """Says what the log-probabilities are."""
    delta_nats: FloatArray
    """Good minus bad, shape (rows,), for a rating in points; NaN where the method does not apply."""
    logprobs_nats: FloatArray
    """Shape (rows, presentations, options); NaN where the method does not apply or a presentation is not asked."""
    word_nats: FloatArray
    """Log-probability of the target of a one-sided item (a word, a sentence), shape (rows,); NaN elsewhere."""
    sentence_score: FloatArray
    """Score of a single sentence, of any method: nats, log odds of yes or points, shape (rows,); NaN elsewhere."""
    says_yes: FloatArray
    """Of judgments of single sentences, the share of presentations answered yes, shape (rows,); NaN elsewhere."""
    says_first: FloatArray
    """The share of those answered by the option shown first, where that is yes in some and no in others."""
    argmax: FloatArray
    """Most probable ratings of the better and the worse side, shape (rows, 2); NaN for other methods."""
    unparsed: FloatArray
    """Share of the texts written for an item without an answer, shape (rows,); NaN for methods that read answers."""
    decisions: FloatArray
    """Of methods whose decisions alone are known, the part of the choice that each option has: 1 for the one chosen,
    shared in a tie; shape (rows, presentations, options), NaN where there is no answer. (rows, 0, 0) for others."""

    @property
    def applies(self) -> BoolArray:
        """Whether the method gives a difference of two sides, shape (rows,)."""
        return ~np.isnan(self.delta_nats)

    @property
    def predicts(self) -> BoolArray:
        """Whether the method gives the log-probability of an item's one word, shape (rows,)."""
        return ~np.isnan(self.word_nats)

    @property
    def rates(self) -> BoolArray:
        """Whether the method gives a score of a single sentence, shape (rows,)."""
        return ~np.isnan(self.sentence_score)

    @property
    def was_asked(self) -> bool:
        return bool(self.applies.any() or self.predicts.any() or self.rates.any() or not np.isnan(self.unparsed).all())


def needed_columns(layout: MethodLayout) -> list[str]:
    columns = ScoreColumns(layout.method)
    names = [columns.delta]
    names += [columns.logprobs] * layout.has_logprobs
    names += [columns.answers] * layout.has_decisions
    names += [columns.good] * (layout.kind == "prediction")
    rates = layout.kind == "rating" and layout.has_logprobs
    return names + [columns.argmax(side) for side in get_args(Side) if rates]


def method_scores(frame: pd.DataFrame, layout: MethodLayout) -> MethodScores:
    columns = ScoreColumns(layout.method)
    delta = number_column(frame, columns.delta)
    rates = layout.kind == "rating" and layout.has_logprobs
    nothing = np.full(len(frame), np.nan)
    sentence_score = nothing.copy()
    if "task" in frame.columns and (of_sentence := (frame["task"] == SENTENCE).to_numpy(dtype=np.bool_)).any():
        sentence_score[of_sentence] = number_column(frame, columns.good)[of_sentence]
    return MethodScores(
        layout=layout,
        delta_nats=delta,
        logprobs_nats=logprobs_of(frame, layout, applies=~np.isnan(delta)),
        word_nats=_words(frame, layout, delta),
        sentence_score=sentence_score,
        says_yes=_says(layout.correct, frame, layout, sentence_score),
        says_first=_says(layout.shown_first, frame, layout, sentence_score)
        if shows_both(layout, sides=("good",))
        else nothing,
        argmax=np.column_stack([number_column(frame, columns.argmax(x)) if rates else nothing for x in SIDES]),
        unparsed=_unparsed(frame, layout),
        decisions=_decisions(frame, layout) if layout.has_decisions else np.empty((len(frame), 0, 0)),
    )


def logprobs_of(frame: pd.DataFrame, layout: MethodLayout, *, applies: BoolArray) -> FloatArray:
    """Return the list column of log-probabilities, shape (rows, presentations, options)."""
    result = np.full((len(frame), len(layout.presentations), len(layout.options)), np.nan)
    if not layout.has_logprobs or layout.kind == "prediction":
        return result
    asked, name = frame[applies], ScoreColumns(layout.method).logprobs
    flat = _flat(asked, name, len(layout.presentations) * len(layout.options))
    is_whole = np.isfinite(flat)
    if layout.asked == "one":
        empty = np.asarray(np.isnan(layout.reshape(flat)).all(axis=-1))
        left_out = empty & ~np.asarray(empty.all(axis=1))[:, np.newaxis]
        is_whole |= left_out.repeat(len(layout.options), axis=1)
    if not is_whole.all():
        where = int(np.argmin(is_whole.all(axis=1)))
        raise BankError(f"{asked['item_id'].iloc[where]}: {name} is {flat[where]}; expected finite numbers")
    result[applies] = layout.reshape(flat)
    return result


def _flat(frame: pd.DataFrame, name: str, width: int) -> FloatArray:
    """Return a column of lists of so many numbers, shape (rows, width), whether Arrow has them or Python."""
    if isinstance(frame[name].dtype, pd.ArrowDtype):
        column: Any = frame[name].array.__arrow_array__()
        if pc.all(pc.equal(pc.list_value_length(column), width).fill_null(False)).as_py():  # noqa: FBT003
            numbers: FloatArray = pc.list_flatten(column).to_numpy(zero_copy_only=False)
            return numbers.reshape(-1, width)
    lists = frame[name].to_list()
    for item_id, values in zip(frame["item_id"], lists, strict=True):
        if not isinstance(values, list | tuple | np.ndarray) or len(values) != width:
            raise BankError(f"{item_id}: {name} is {values!r}; expected {width} numbers, since it has a delta")
    return np.array(list(chain.from_iterable(lists)), dtype=np.float64).reshape(-1, width)


def _words(frame: pd.DataFrame, layout: MethodLayout, delta: FloatArray) -> FloatArray:
    """Return the log-probability of one-sided items: of a prediction, or of `direct` where the corpus has some."""
    name = ScoreColumns(layout.method).good
    known = is_string_logprob(layout.method) and {"target_bad", name} <= set(frame.columns)
    if layout.kind != "prediction" and not (known and frame["target_bad"].isna().any()):
        return np.full(len(frame), np.nan)
    words = np.where(np.isnan(delta), number_column(frame, name), np.nan)
    if "target_bad" in frame.columns:
        words[frame["target_bad"].notna().to_numpy()] = np.nan
    return words


def _of_sentences(frame: pd.DataFrame, layout: MethodLayout) -> FloatArray:
    """Return the log-probabilities of single sentences, NaN of presentations that show a worse side."""
    return layout.reshape(np.array(frame[ScoreColumns(layout.method).logprobs].to_list(), dtype=np.float64))


def _says(options: Sequence[int], frame: pd.DataFrame, layout: MethodLayout, sentence_score: FloatArray) -> FloatArray:
    """Return how often a judgment of a single sentence, shown as a better side, gives a presentation's option."""
    scored = ~np.isnan(sentence_score)
    result = np.full(len(frame), np.nan)
    if layout.kind != "judgment" or not scored.any():
        return result
    if layout.readout == "generation":
        return sentence_score if options == layout.correct else result
    if layout.has_decisions:
        chosen = _decisions(frame[scored], layout)
    else:
        logprobs = _of_sentences(frame[scored], layout)
        top = is_tie(logprobs - logprobs.max(axis=-1, keepdims=True))
        chosen = np.where(np.isnan(logprobs), np.nan, top / np.maximum(top.sum(axis=-1, keepdims=True), 1))
    result[scored] = np.nanmean(chosen[:, np.arange(len(options)), list(options)], axis=1)
    return result


def _unparsed(frame: pd.DataFrame, layout: MethodLayout) -> FloatArray:
    """Return the share of each item's texts without an answer; NaN where nothing was written."""
    if layout.readout == "options":
        return np.full(len(frame), np.nan)
    n_asked = np.full(len(frame), 1 if layout.asked == "one" else len(layout.presentations))
    if "task" in frame.columns and layout.kind != "forced_choice":
        n_asked[(frame["task"] == SENTENCE).to_numpy(dtype=np.bool_)] = layout.n_of_a_sentence
    columns = ScoreColumns(layout.method)
    shares: FloatArray = number_column(frame, columns.unparsed) / (n_asked * max(1, layout.samples))
    shares[flagged(frame, columns.flags, OVER_LENGTH)] = np.nan
    return shares


def _decisions(frame: pd.DataFrame, layout: MethodLayout) -> FloatArray:
    """Return which option was chosen, shape (rows, presentations, options)."""
    name, n_options = ScoreColumns(layout.method).answers, len(layout.options)
    choices: dict[str | None, list[float]] = dict(zip(layout.options, np.eye(n_options).tolist(), strict=True))
    choices |= {TIE_ANSWER: [1 / n_options] * n_options, None: [np.nan] * n_options}
    nothing = [None] * len(layout.presentations)
    results = []
    for item_id, cell in zip(frame["item_id"], frame[name].to_list(), strict=True):
        answers = list(cell) if isinstance(cell, list | tuple | np.ndarray) else nothing
        if len(answers) != len(nothing) or not choices.keys() >= set(answers):
            expected = f"{len(nothing)} of {', '.join(layout.options)}, {TIE_ANSWER} or null"
            raise BankError(f"{item_id}: {name} is {cell!r}; expected {expected}")
        results.append([choices[answer] for answer in answers])
    return np.array(results, dtype=np.float64).reshape(len(frame), len(nothing), n_options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Credits:
    """What one method of one model earns on each item."""

    credit: FloatArray
    """1 right, 0 wrong, between them a tie or a mean over presentations; NaN where there is none, shape (rows,)."""
    first_option: float
    """Share of presentations in which the first option is picked, where that is position bias; NaN elsewhere."""
    averaged: FloatArray
    """By the sign of the difference averaged over presentations, ties one half, shape (rows,)."""
    pooled: FloatArray | None
    """Mean credit of the presentations, shape (rows,); None for methods without options of which one is correct."""

    @property
    def is_biased(self) -> bool:
        """Whether the model picks one option whatever it stands for."""
        return not np.isnan(self.first_option)

    @property
    def is_pooled(self) -> bool:
        """Whether the credit of an item is the mean of its presentations."""
        return self.credit is self.pooled


def is_one_place(share: float) -> bool:
    """Return whether a share of first options is that of a model with position bias.

    >>> [is_one_place(share) for share in (0.94, 0.95, 0.5, 0.05, float("nan"))]
    [False, True, False, True, False]
    """
    return share >= SAME_PLACE or share <= 1 - SAME_PLACE + 1e-12


def shows_both(layout: MethodLayout, *, sides: Sequence[Side] = SIDES) -> bool:
    """Return whether the correct option is first in some presentations and not in others; of a sentence alone: good."""
    shown = zip(layout.sides_shown, layout.correct, layout.shown_first, strict=True)
    return layout.is_judged and len({correct == first for side, correct, first in shown if side in sides}) > 1


def choices_of(scores: MethodScores) -> FloatArray | None:
    """Return the part of the choice that each option has, shape (rows, presentations, options).

    NaN where nothing was asked or answered; None for methods without options of which one is correct.
    """
    layout = scores.layout
    if not (layout.has_logprobs and layout.is_judged):
        return scores.decisions if layout.has_decisions else None
    result = np.full(scores.logprobs_nats.shape, np.nan)
    known = np.asarray(~np.isnan(scores.logprobs_nats).all(axis=(1, 2)), dtype=np.bool_)
    if known.any():
        result[known] = chosen_options(scores.logprobs_nats[known], layout)
    return result


def credits_of(scores: MethodScores) -> Credits:
    """Return what a method earns on each item, and whether it has position bias."""
    layout, choices = scores.layout, choices_of(scores)
    averaged = (signs(scores.delta_nats) + 1) / 2
    if choices is None:
        return Credits(credit=averaged, first_option=np.nan, averaged=averaged, pooled=None)
    pooled = mean_of_known(choices[:, np.arange(len(layout.correct)), list(layout.correct)])
    share = _first_option(choices, layout)
    is_biased = is_one_place(share)
    return Credits(
        credit=pooled if is_biased or layout.accuracy == "pooled" else averaged,
        first_option=share if is_biased else np.nan,
        averaged=averaged,
        pooled=pooled,
    )


def _first_option(choices: FloatArray, layout: MethodLayout) -> float:
    """Return the share of first options; NaN where no order, or no other place of the correct option, is known."""
    if not shows_both(layout) or (layout.has_decisions and layout.orders != "known"):
        return np.nan
    first = choices[:, np.arange(len(layout.presentations)), list(layout.shown_first)]
    known = first[~np.isnan(first)]
    return float(known.mean()) if known.size else np.nan


def not_compared(biased: pd.DataFrame) -> str:
    """Return which accuracies are not compared, and why; "" where all are."""
    if biased.empty:
        return ""
    names = [f"`{row['model']}` by `{row['method']}`" for row in biased.to_dict("records")]
    names = list(dict.fromkeys(names))
    shown = "; ".join(names[:MOST_NAMED]) + (f"; and {len(names) - MOST_NAMED:,} more" * (len(names) > MOST_NAMED))
    return (
        f"Not compared because of position bias: {shown}. These models pick the same option throughout, so their "
        "accuracy is near one half whatever they know."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerShares:
    """A method's distributions of answers about single sides."""

    shares: FloatArray
    """Of each answer, shape (2 x rows, answers), both sides of a row one after the other; NaN where there is none."""
    points: FloatArray
    """The answers in points, ascending: of a judgment 0 (no) and 1 (yes)."""
    n_draws: int
    """Of answers that the shares are of; 0 = they are probabilities."""


def answer_shares(scores: MethodScores, frame: pd.DataFrame) -> AnswerShares | None:
    """Return a method's distribution of answers about each side; None of a method that has none.

    Options' probabilities are renormalised over the options; presentations of one side are averaged. A single greedy
    answer is no distribution.
    """
    layout = scores.layout
    if layout.kind not in ("judgment", "rating") or not (layout.samples or layout.has_logprobs):
        return None
    is_rating = layout.kind == "rating"
    points = np.array([float(option) for option in layout.options] if is_rating else [0.0, 1.0])
    order = np.argsort(points)
    if layout.samples:
        of_presentations = _drawn_shares(frame, layout, points[order])
    else:
        nats = scores.logprobs_nats.copy()
        if scores.rates.any():
            nats[scores.rates] = _of_sentences(frame[scores.rates], layout)
        weights = np.exp(nats - nats.max(axis=2, keepdims=True))
        of_presentations = weights / weights.sum(axis=2, keepdims=True)
        if not is_rating:
            yes = [
                option if side == "good" else 1 - option
                for option, side in zip(layout.correct, layout.sides_shown, strict=True)
            ]
            text = of_presentations[:, np.arange(len(yes)), yes]
            of_presentations = np.stack([1 - text, text], axis=2)
        of_presentations = of_presentations[:, :, order]
    shares = np.full((len(frame), 2, points.size), np.nan)
    for nth, side in enumerate(("good", "bad")):
        selected = of_presentations[:, [shown == side for shown in layout.sides_shown]]
        known = ~np.isnan(selected).any(axis=2, keepdims=True)
        n = known.sum(axis=1)
        np.divide(np.where(known, selected, 0.0).sum(axis=1), n, out=shares[:, nth], where=n > 0)
    return AnswerShares(shares=shares.reshape(-1, points.size), points=points[order], n_draws=layout.samples)


def _drawn_shares(frame: pd.DataFrame, layout: MethodLayout, points: FloatArray) -> FloatArray:
    """Return the share of each answer among the parsed draws, shape (rows, presentations, answers); NaN of none."""
    shape = (len(layout.presentations), layout.samples)
    result = np.full((len(frame), shape[0], points.size), np.nan)
    for row, cell in enumerate(frame[ScoreColumns(layout.method).draws].to_list()):
        if cell is None:
            continue
        draws = np.asarray(cell, dtype=np.float64).reshape(shape)
        counts = (draws[:, :, np.newaxis] == points).sum(axis=1)
        n = counts.sum(axis=1, keepdims=True)
        np.divide(counts, n, out=result[row], where=n > 0)
    return result
