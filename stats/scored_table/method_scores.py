"""One method's columns of a scored table: in, rows in order and a layout; out, its numbers as arrays.

What should be there and is not, or is no number, is an error with the item's name, before any statistic is computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from pairbank.errors import BankError
from pairbank.scoring.api.layout import ScoreColumns, Side
from pairbank.scoring.api.names import DIRECT, OVER_LENGTH, SENTENCE, TIE_ANSWER
from pairbank.stats.estimates.ties import is_tie

if TYPE_CHECKING:
    from pairbank.arrays import BoolArray, FloatArray
    from pairbank.scoring.api.layout import MethodLayout


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredFrame:
    """One corpus scored with one model."""

    corpus: str
    model: str
    frame: pd.DataFrame
    """The shared schema with the methods' columns, one row an item."""
    layouts: tuple[MethodLayout, ...]
    signature: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_null(self) -> bool:
        """Whether the model's weights are random: a null that models are compared with, and no model of a report.

        >>> import pandas as pd
        >>> signature = {"model": {"weights": "random:0"}}
        >>> ScoredFrame(corpus="c", model="m", frame=pd.DataFrame(), layouts=(), signature=signature).is_null
        True
        """
        return bool(self.signature.get("model", {}).get("weights"))


def number_column(frame: pd.DataFrame, name: str) -> FloatArray:
    """Return a number column as float64 with NaN for null; all NaN where the table has no such column.

    Raises:
        BankError: If a number is infinite.

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
    """Return which rows have a flag in a column of flags (lists, arrays or null), shape (rows,); none without it.

    >>> import pandas as pd
    >>> flagged(pd.DataFrame({"flags": [["identical_sides"], [], None]}), "flags", "identical_sides")
    array([ True, False, False])
    """
    if name not in frame.columns:
        return np.zeros(len(frame), dtype=np.bool_)
    cells = frame[name].to_list()
    return np.array([_holds(cell, flag) for cell in cells], dtype=np.bool_)


def _holds(cell: object, flag: str) -> bool:
    return isinstance(cell, list | tuple | np.ndarray) and len(cell) > 0 and flag in list(cell)


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
        """Whether it was asked of any row."""
        return bool(self.applies.any() or self.predicts.any() or self.rates.any() or not np.isnan(self.unparsed).all())


def delta_of(frame: pd.DataFrame, method: str) -> FloatArray:
    """Return a method's differences (good - bad), shape (rows,); NaN where it does not apply."""
    return number_column(frame, ScoreColumns(method).delta)


def side_of(frame: pd.DataFrame, method: str, side: Side) -> FloatArray:
    """Return a method's scores of one side, `good` or `bad`, shape (rows,); NaN where it gives none."""
    return number_column(frame, ScoreColumns(method).of(side))


def argmax_of(frame: pd.DataFrame, method: str) -> FloatArray:
    """Return the most probable ratings of the better and the worse side, shape (rows, 2); NaN where there are none."""
    columns = ScoreColumns(method)
    return np.column_stack([number_column(frame, columns.argmax(side)) for side in get_args(Side)])


def needed_columns(layout: MethodLayout) -> list[str]:
    """Return the columns that a method of this layout must have."""
    columns = ScoreColumns(layout.method)
    names = [columns.delta]
    names += [columns.logprobs] * layout.has_logprobs
    names += [columns.answers] * layout.has_decisions
    names += [columns.good] * (layout.kind == "prediction")
    rates = layout.kind == "rating" and layout.has_logprobs
    return names + [columns.argmax(side) for side in get_args(Side) if rates]


def method_scores(frame: pd.DataFrame, layout: MethodLayout) -> MethodScores:
    """Return a method's numbers.

    Args:
        frame: Rows of a scored table, with what `needed_columns` names.
        layout: The method.

    Raises:
        BankError: If a score that should be there is null or not finite.
    """
    delta = delta_of(frame, layout.method)
    rates = layout.kind == "rating" and layout.has_logprobs
    sentence_score = _sentence_scores(frame, layout)
    return MethodScores(
        layout=layout,
        delta_nats=delta,
        logprobs_nats=logprobs_of(frame, layout, applies=~np.isnan(delta)),
        word_nats=_words(frame, layout, delta),
        sentence_score=sentence_score,
        says_yes=_says_yes(frame, layout, sentence_score),
        argmax=argmax_of(frame, layout.method) if rates else np.full((len(frame), 2), np.nan),
        unparsed=_unparsed(frame, layout),
        decisions=_decisions(frame, layout) if layout.has_decisions else np.empty((len(frame), 0, 0)),
    )


def logprobs_of(frame: pd.DataFrame, layout: MethodLayout, *, applies: BoolArray) -> FloatArray:
    """Return the list column of log-probabilities, shape (rows, presentations, options).

    Args:
        frame: Rows of a scored table.
        layout: The method; predictions and methods that read nothing are all NaN.
        applies: Where the method applies, shape (rows,); the other rows are NaN.

    Raises:
        BankError: If a list is missing, too short, or holds what is no number where the presentation is asked.
    """
    found = np.full((len(frame), len(layout.presentations), len(layout.options)), np.nan)
    if layout.has_logprobs and layout.kind != "prediction":
        found[applies] = _whole_lists(frame[applies], layout)
    return found


def _whole_lists(frame: pd.DataFrame, layout: MethodLayout) -> FloatArray:
    name, width = ScoreColumns(layout.method).logprobs, len(layout.presentations) * len(layout.options)
    flat = _flat(frame, name, width)
    is_whole = np.isfinite(flat)
    if layout.asked == "one":
        empty = np.asarray(np.isnan(layout.reshape(flat)).all(axis=-1))
        left_out = empty & ~np.asarray(empty.all(axis=1))[:, np.newaxis]
        is_whole |= left_out.repeat(len(layout.options), axis=1)
    if not is_whole.all():
        where = int(np.argmin(is_whole.all(axis=1)))
        raise BankError(f"{frame['item_id'].iloc[where]}: {name} is {flat[where]}; expected finite numbers")
    return layout.reshape(flat)


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
    known = layout.method == DIRECT and {"target_bad", ScoreColumns(DIRECT).good} <= set(frame.columns)
    if layout.kind != "prediction" and not (known and frame["target_bad"].isna().any()):
        return np.full(len(frame), np.nan)
    words = np.where(np.isnan(delta), side_of(frame, layout.method, "good"), np.nan)
    if "target_bad" in frame.columns:
        words[frame["target_bad"].notna().to_numpy()] = np.nan
    return words


def _sentence_scores(frame: pd.DataFrame, layout: MethodLayout) -> FloatArray:
    """Return the scores of single sentences."""
    scores = np.full(len(frame), np.nan)
    if "task" in frame.columns and (of_sentence := (frame["task"] == SENTENCE).to_numpy(dtype=np.bool_)).any():
        scores[of_sentence] = side_of(frame, layout.method, "good")[of_sentence]
    return scores


def _says_yes(frame: pd.DataFrame, layout: MethodLayout, sentence_score: FloatArray) -> FloatArray:
    """Return how often a judgment says yes of each single sentence: its presentations show the better side alone."""
    scored = ~np.isnan(sentence_score)
    found = np.full(len(frame), np.nan)
    if layout.kind != "judgment" or not scored.any():
        return found
    if layout.readout == "generation":
        return sentence_score
    if layout.has_decisions:
        chosen = _decisions(frame[scored], layout)
    else:
        lists = frame.loc[scored, ScoreColumns(layout.method).logprobs].to_list()
        logprobs = layout.reshape(np.array(lists, dtype=np.float64))
        top = is_tie(logprobs - logprobs.max(axis=-1, keepdims=True))
        chosen = np.where(np.isnan(logprobs), np.nan, top / np.maximum(top.sum(axis=-1, keepdims=True), 1))
    yes = chosen[:, np.arange(len(layout.correct)), list(layout.correct)]
    found[scored] = np.nanmean(yes, axis=1)
    return found


def _unparsed(frame: pd.DataFrame, layout: MethodLayout) -> FloatArray:
    """Return the share of each item's texts without an answer; NaN where nothing was written."""
    if layout.readout == "options":
        return np.full(len(frame), np.nan)
    n_asked = np.full(len(frame), 1 if layout.asked == "one" else len(layout.presentations))
    if "task" in frame.columns and layout.kind != "forced_choice":
        n_asked[(frame["task"] == SENTENCE).to_numpy(dtype=np.bool_)] = layout.n_of_a_sentence
    columns = ScoreColumns(layout.method)
    shares: FloatArray = number_column(frame, columns.unparsed) / n_asked
    shares[flagged(frame, columns.flags, OVER_LENGTH)] = np.nan
    return shares


def _decisions(frame: pd.DataFrame, layout: MethodLayout) -> FloatArray:
    """Return which option was chosen, shape (rows, presentations, options).

    Raises:
        BankError: If there are not as many answers as presentations, or one is no option and no tie.
    """
    name, n_options = ScoreColumns(layout.method).answers, len(layout.options)
    choices: dict[str | None, list[float]] = {
        option: [float(option == other) for other in layout.options] for option in layout.options
    }
    choices |= {TIE_ANSWER: [1 / n_options] * n_options, None: [np.nan] * n_options}
    nothing = [None] * len(layout.presentations)
    found = []
    for item_id, cell in zip(frame["item_id"], frame[name].to_list(), strict=True):
        answers = list(cell) if isinstance(cell, list | tuple | np.ndarray) else nothing
        if len(answers) != len(nothing) or not choices.keys() >= set(answers):
            expected = f"{len(nothing)} of {', '.join(layout.options)}, {TIE_ANSWER} or null"
            raise BankError(f"{item_id}: {name} is {cell!r}; expected {expected}")
        found.append([choices[answer] for answer in answers])
    return np.array(found, dtype=np.float64).reshape(len(frame), len(nothing), n_options)
