"""How often the better side is preferred: in, deltas or answer log-probabilities in nats; out, Estimate.

Two definitions, which can differ by a quarter on the same answers: the delta averaged over orders (Song et al. 2025,
equation 1) and every presentation as a trial of its own (Hu & Levy 2023; Hu & Frank 2024). Ties are credited the
share that a fair guess among the tied options would get: one half between two. Beside them: how often the first option
is chosen, how often no answer is found, and the balanced accuracy of sentences judged one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pairbank.errors import BankError
from pairbank.stats.estimates.estimate import Estimate, finite_vector, refuse_non_finite, undefined, without_interval
from pairbank.stats.estimates.shares import share_of_items, share_of_trials
from pairbank.stats.estimates.ties import is_tie, signs

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pairbank.arrays import BoolArray, FloatArray, IntArray
    from pairbank.scoring.api.layout import MethodLayout

MOVER = "wilson-mover"


def accuracy(delta_nats: ArrayLike, *, clusters: ArrayLike | None = None, level: float = 0.95) -> Estimate:
    """Return the share of items whose delta (good - bad) is positive; a tie counts one half.

    Args:
        delta_nats: One difference per item, shape (items,), in nats (only the sign is used).
        clusters: Number of each item's paradigm, -1 for none (`pairbank.stats.estimates.paradigms`).
        level: Confidence level, a share.

    Raises:
        BankError: If a delta is NaN or infinite.

    >>> accuracy([2.0, 0.5, 0.0, -1.0]).value
    0.625
    """
    delta = finite_vector(delta_nats, name="delta_nats")
    credit = (signs(delta) + 1) / 2
    return share_of_items(credit, clusters=clusters, level=level)


def accuracy_pooled(
    logprobs: ArrayLike,
    layout: MethodLayout,
    *,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
) -> Estimate:
    """Return the share of presentations in which the correct option is the most probable one.

    Every presentation (order, or sentence judged) is one trial; the interval resamples items. For a judgment
    this is balanced accuracy.

    Args:
        logprobs: Log-probabilities in nats, shape (items, presentations, options).
        layout: Says which option is correct in each presentation.
        clusters: Number of each item's paradigm, -1 for none.
        level: Confidence level, a share.

    Raises:
        BankError: If the shape is not the layout's, the method is not prompted, or a number is not finite.

    >>> from pairbank.scoring.api.layout import MethodLayout
    >>> layout = MethodLayout(method="m", kind="forced_choice", presentations=("good first", "bad first"),
    ...                       options=("1", "2"), correct=(0, 1))
    >>> always_one = [[[-0.1, -2.4], [-0.1, -2.4]]] * 3
    >>> accuracy_pooled(always_one, layout).value
    0.5
    """
    return _share_of_trials(credit_of_presentations(logprobs, layout), clusters, level=level)


def credit_of_presentations(logprobs: ArrayLike, layout: MethodLayout) -> FloatArray:
    """Return 1 where the correct option is the most probable, a part in a tie, else 0; shape (items, presentations).

    Args:
        logprobs: Log-probabilities in nats, shape (items, presentations, options).
        layout: Says which option is correct in each presentation.

    Raises:
        BankError: As `accuracy_pooled`.
    """
    if layout.is_prompted and not layout.is_judged:
        raise BankError(f"{layout.method} is a {layout.kind}; it has no correct options, so use accuracy()")
    return chosen_options(logprobs, layout)[:, np.arange(len(layout.correct)), list(layout.correct)]


def position_bias(
    logprobs: ArrayLike,
    layout: MethodLayout,
    *,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
) -> Estimate:
    """Return how often the option shown first is the most probable one, over all presentations.

    With both orders of a two-option choice, 0.5 is unbiased and 1.0 means that the model always answers "1".
    For a judgment the first option is usually "yes", so this is the yes-bias.

    Args:
        logprobs: Log-probabilities in nats, shape (items, presentations, options).
        layout: The method's presentations and options.
        clusters: Number of each item's paradigm, -1 for none.
        level: Confidence level, a share.

    Raises:
        BankError: If the shape is not the layout's, the method is not prompted, or a number is not finite.

    >>> from pairbank.scoring.api.layout import MethodLayout
    >>> layout = MethodLayout(method="m", kind="judgment", presentations=("good", "bad"),
    ...                       options=("Yes", "No"), correct=(0, 1))
    >>> position_bias([[[-0.1, -2.4], [-0.1, -2.4]], [[-0.1, -2.4], [-2.4, -0.1]]], layout).value
    0.75
    """
    first = chosen_options(logprobs, layout)[:, np.arange(len(layout.presentations)), list(layout.shown_first)]
    return _share_of_trials(first, clusters, level=level)


def decided_accuracy(
    choices: ArrayLike, layout: MethodLayout, *, clusters: ArrayLike | None = None, level: float = 0.95
) -> Estimate:
    """Return the share of answers that are the correct option, of a method whose decisions alone are known.

    Args:
        choices: 1 for the option chosen and 0 for others, shared in a tie, shape (items, presentations, options); NaN
            where there is no answer, which is no trial.
        layout: Says which option is correct in each presentation.
        clusters: Number of each item's paradigm, -1 for none.
        level: Confidence level, a share.

    >>> from pairbank.scoring.api.layout import MethodLayout
    >>> layout = MethodLayout(method="judge", kind="forced_choice", presentations=("good first", "bad first"),
    ...                       options=("1", "2"), correct=(0, 1), readout="decision")
    >>> always_one, right_then_nothing = [[1, 0], [1, 0]], [[1, 0], [np.nan, np.nan]]
    >>> found = decided_accuracy([always_one, right_then_nothing], layout)
    >>> round(found.value, 4), found.n
    (0.6667, 2)
    """
    found = np.asarray(choices, dtype=np.float64)[:, np.arange(len(layout.correct)), list(layout.correct)]
    return _share_of_trials(found, clusters, level=level)


def decided_position_bias(
    choices: ArrayLike, layout: MethodLayout, *, clusters: ArrayLike | None = None, level: float = 0.95
) -> Estimate:
    """Return how often the option shown first is the answer; arguments as for `decided_accuracy`.

    >>> from pairbank.scoring.api.layout import MethodLayout
    >>> layout = MethodLayout(method="judge", kind="forced_choice", presentations=("good first", "bad first"),
    ...                       options=("1", "2"), correct=(0, 1), readout="decision")
    >>> answers = [[[1, 0], [1, 0]], [[1, 0], [np.nan, np.nan]], [[0, 1], [1, 0]]]
    >>> decided_position_bias(answers, layout).value
    0.8
    """
    first = np.asarray(choices, dtype=np.float64)[:, np.arange(len(layout.presentations)), list(layout.shown_first)]
    return _share_of_trials(first, clusters, level=level)


def unparsed_share(shares: ArrayLike, *, clusters: ArrayLike | None = None, level: float = 0.95) -> Estimate:
    """Return the share of written texts in which no answer was found, the mean over items.

    Args:
        shares: Of each item's texts, the share without an answer, shape (items,).
        clusters: Number of each item's paradigm, -1 for none.
        level: Confidence level, a share.

    Raises:
        BankError: If a share is NaN or infinite.

    >>> unparsed_share([0.0, 0.5, 1.0, 0.5]).value
    0.5
    """
    return share_of_items(shares, clusters=clusters, level=level)


def chosen_options(logprobs: ArrayLike, layout: MethodLayout) -> FloatArray:
    """Return 1 for the most probable option, shared where several tie; shape (items, presentations, options).

    NaN where a presentation was not asked. Arguments as for `position_bias`.
    """
    if not layout.is_prompted:
        raise BankError(f"{layout.method} is a direct method; it has no presentations, so use accuracy()")
    numbers = np.asarray(logprobs, dtype=np.float64)
    shape = (len(layout.presentations), len(layout.options))
    if numbers.ndim != 3 or numbers.shape[1:] != shape:
        raise BankError(
            f"{layout.method}: log-probabilities have shape {numbers.shape}; expected (items, {shape[0]}, "
            f"{shape[1]}): use layout.reshape()"
        )
    one = layout.asked == "one"
    asked = ~np.isnan(numbers).all(axis=-1) if one else np.ones(numbers.shape[:2], dtype=np.bool_)
    refuse_non_finite(numbers[asked] if one else numbers, name=f"{layout.method}_logprobs")
    top = is_tie(numbers - numbers.max(axis=-1, keepdims=True)).astype(np.float64)
    chosen = np.full(numbers.shape, np.nan)
    chosen[asked] = top[asked] / top[asked].sum(axis=-1, keepdims=True)
    return chosen


def _share_of_trials(trials: FloatArray, clusters: ArrayLike | None, *, level: float) -> Estimate:
    """Return the mean of an (items, presentations) array, NaN left out; the items are the clusters of the interval."""
    items = np.repeat(np.arange(trials.shape[0]), trials.shape[1])
    asked = ~np.isnan(trials.ravel())
    of_trial = None if clusters is None else np.asarray(clusters)[items[asked]]
    return share_of_trials(trials.ravel()[asked], items[asked], clusters=of_trial, level=level)


def balanced_accuracy(
    yes_minus_no: ArrayLike,
    is_good: ArrayLike,
    *,
    items: ArrayLike | None = None,
    level: float = 0.95,
) -> Estimate:
    """Return the mean of the shares of right answers to good and to bad sentences.

    The interval recovers the variance of the mean from Wilson's intervals of the two shares and their correlation over
    items (MOVER: Zou & Donner 2008, Statistics in Medicine 27:1693-1702).

    Args:
        yes_minus_no: log P(yes) - log P(no) of each sentence judged, shape (sentences,), in nats; a tie is one half.
        is_good: Whether the sentence is good, same shape.
        items: Item of each sentence, same shape, where several sentences (of a pair) make one item: items are then
            resampled whole. None: every sentence is an item.
        level: Confidence level, a share.

    Returns:
        The balanced accuracy; `n` counts items. Undefined where a class is missing.

    Raises:
        BankError: If the lengths differ or a number is not finite.

    >>> found = balanced_accuracy([1.0, 2.0, 3.0, -1.0], [True, True, False, False])
    >>> found.value, found.n
    (0.75, 4)
    """
    answers = finite_vector(yes_minus_no, name="yes_minus_no")
    good = np.asarray(is_good, dtype=np.bool_)
    if good.shape != answers.shape:
        raise BankError(f"{answers.size} answers and labels of shape {good.shape}; expected one label per answer")
    credit = (signs(np.where(good, answers, -answers)) + 1) / 2
    item = np.arange(answers.size) if items is None else np.unique(np.asarray(items), return_inverse=True)[1]
    if item.shape != answers.shape:
        raise BankError(f"items has shape {item.shape}; expected one item per answer, {answers.shape}")
    n_items = int(item.max()) + 1 if item.size else 0
    for name, members in (("good", good), ("bad", ~good)):
        if not members.any():
            return undefined(f"there are no {name} sentences", n=n_items, method=MOVER, level=level)
    if n_items < 2:
        value = float(np.mean([credit[good].mean(), credit[~good].mean()]))
        return without_interval(value, "one item has no spread", n=n_items, method=MOVER, level=level)
    return _mean_of_classes(credit, good, item, level=level)


def _mean_of_classes(credit: FloatArray, good: BoolArray, item: IntArray, *, level: float) -> Estimate:
    shares, residuals = [], []
    for members in (good, ~good):
        shares.append(share_of_trials(credit[members], item[members], level=level))
        deviation = np.where(members, credit - shares[-1].value, 0.0)
        residuals.append(np.bincount(item, weights=deviation))
    first, second = shares
    value = (first.value + second.value) / 2
    if first.reason or second.reason:
        reason = first.reason or second.reason or ""
        return without_interval(value, f"of a class, {reason}", n=residuals[0].size, method=MOVER, level=level)
    scale = float(np.linalg.norm(residuals[0]) * np.linalg.norm(residuals[1]))
    r = float(residuals[0] @ residuals[1]) / scale if scale else 0.0
    below = _both(first.value - first.low, second.value - second.low, r)
    above = _both(first.high - first.value, second.high - second.value, r)
    n = residuals[0].size
    return Estimate(value=value, low=value - below, high=value + above, n=n, method=MOVER, level=level)


def _both(first: float, second: float, r: float) -> float:
    """Return the half-width of a mean of two whose half-widths and correlation are these."""
    return float(np.sqrt(max(0.0, first**2 + second**2 + 2 * r * first * second))) / 2
