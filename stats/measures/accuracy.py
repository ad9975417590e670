"""How often the better side is preferred, overall and in many small groups: in, deltas or credits; out, Estimate.

Two definitions, which can differ by a quarter on the same answers: the delta averaged over orders (Song et al. 2025,
equation 1) and every presentation as a trial of its own (Hu & Levy 2023; Hu & Frank 2024). Ties are credited the
share that a fair guess among the tied options would get: one half between two. Beside them: how often the first option
is chosen, how often no answer is found, and the balanced accuracy of sentences judged one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pairbank.arrays import BoolArray, FloatArray, IntArray
from pairbank.errors import BankError
from pairbank.stats.estimates.bootstrap import draws, with_paradigms
from pairbank.stats.estimates.estimate import Estimate, finite_vector, refuse_non_finite, undefined, without_interval
from pairbank.stats.estimates.shares import (
    CLUSTERED,
    WILSON,
    design_effect,
    is_tie,
    share_of_items,
    share_of_trials,
    signs,
    wilson_bounds,
)

if TYPE_CHECKING:
    from pairbank.scoring.api.layout import MethodLayout


MOVER = "wilson-mover"

SIMULTANEOUS = "clopper-pearson-bonferroni"


def accuracy(delta_nats: ArrayLike, *, clusters: ArrayLike | None = None, level: float = 0.95) -> Estimate:
    """Return the share of items whose delta (good - bad) is positive; a tie counts one half.

    Args:
        delta_nats: One difference per item, shape (items,), in nats (only the sign is used).
        clusters: Number of each item's paradigm, -1 for none (`pairbank.stats.estimates.bootstrap`).
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
    logprobs: ArrayLike, layout: MethodLayout, *, clusters: ArrayLike | None = None, level: float = 0.95
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
    """Return 1 where the correct option is the most probable, a part in a tie, else 0; shape (items, presentations)."""
    if layout.is_prompted and not layout.is_judged:
        raise BankError(f"{layout.method} is a {layout.kind}; it has no correct options, so use accuracy()")
    return chosen_options(logprobs, layout)[:, np.arange(len(layout.correct)), list(layout.correct)]


def position_bias(
    logprobs: ArrayLike, layout: MethodLayout, *, clusters: ArrayLike | None = None, level: float = 0.95
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


def decided_share(choices: ArrayLike, options: Sequence[int], *, clusters: ArrayLike | None = None) -> Estimate:
    """Return how often the answer is a presentation's option, of a method whose decisions alone are known.

    Choices are (items, presentations, options): 1 for the option chosen, shared in a tie; NaN is no trial. With the
    correct options it is an accuracy, with those shown first a position bias.

    >>> always_one, right_then_nothing = [[1, 0], [1, 0]], [[1, 0], [np.nan, np.nan]]
    >>> accuracy = decided_share([always_one, right_then_nothing], (0, 1))
    >>> round(accuracy.value, 4), accuracy.n, decided_share([always_one, right_then_nothing], (0, 0)).value
    (0.6667, 2, 1.0)
    """
    return _share_of_trials(np.asarray(choices, dtype=np.float64)[:, np.arange(len(options)), list(options)], clusters)


def chosen_options(logprobs: ArrayLike, layout: MethodLayout) -> FloatArray:
    """Return 1 for the most probable option, shared where several tie; shape (items, presentations, options)."""
    if not layout.is_prompted:
        raise BankError(f"{layout.method} is a direct method; it has no presentations, so use accuracy()")
    numbers = np.asarray(logprobs, dtype=np.float64)
    shape = (len(layout.presentations), len(layout.options))
    if numbers.ndim != 3 or numbers.shape[1:] != shape:
        raise BankError(
            f"{layout.method}: log-probabilities have shape {numbers.shape}; expected (items, {shape[0]}, "
            f"{shape[1]}): use layout.reshape()"
        )
    may_lack = layout.asked == "one"
    requested = ~np.isnan(numbers).all(axis=-1) if may_lack else np.ones(numbers.shape[:2], dtype=np.bool_)
    refuse_non_finite(numbers[requested] if may_lack else numbers, name=f"{layout.method}_logprobs")
    top = is_tie(numbers - numbers.max(axis=-1, keepdims=True)).astype(np.float64)
    chosen = np.full(numbers.shape, np.nan)
    chosen[requested] = top[requested] / top[requested].sum(axis=-1, keepdims=True)
    return chosen


def _share_of_trials(trials: FloatArray, clusters: ArrayLike | None, *, level: float = 0.95) -> Estimate:
    """Return the mean of an (items, presentations) array, NaN left out; the items are the clusters of the interval."""
    items = np.repeat(np.arange(trials.shape[0]), trials.shape[1])
    requested = ~np.isnan(trials.ravel())
    of_trial = None if clusters is None else np.asarray(clusters)[items[requested]]
    return share_of_trials(trials.ravel()[requested], items[requested], clusters=of_trial, level=level)


def balanced_accuracy(
    yes_minus_no: ArrayLike,
    is_good: ArrayLike,
    *,
    items: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
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
        clusters: Number of each sentence's paradigm, -1 for none (`pairbank.stats.estimates.bootstrap`).
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
    result = _mean_of_classes(credit, good, item, level=level)
    if result.reason or (codes := draws(clusters, answers.size)) is None:
        return result
    over = _mean_of_classes(credit, good, codes, level=level, is_drawn=True)
    return result if over.reason else with_paradigms(result, over.low, over.high, codes)


def _mean_of_classes(
    credit: FloatArray, good: BoolArray, item: IntArray, *, level: float, is_drawn: bool = False
) -> Estimate:
    """Return the mean of both classes' shares; the clusters of its interval are items, or paradigms that are drawn."""
    shares, ends, residuals = [], [], []
    for members in (good, ~good):
        drawn = item[members] if is_drawn else None
        share = share_of_trials(credit[members], item[members], clusters=drawn, level=level)
        shares.append(share)
        ends.append((share.low_paradigms, share.high_paradigms) if is_drawn else (share.low, share.high))
        residuals.append(np.bincount(item, weights=np.where(members, credit - share.value, 0.0)))
    first, second = shares
    value, n = (first.value + second.value) / 2, residuals[0].size
    if np.isnan(ends).any():
        reason = first.reason or second.reason or "the paradigms of a class do not vary, or are too few"
        return without_interval(value, f"of a class, {reason}", n=n, method=MOVER, level=level)
    scale = float(np.linalg.norm(residuals[0]) * np.linalg.norm(residuals[1]))
    r = float(residuals[0] @ residuals[1]) / scale if scale else 0.0
    below = _both(first.value - ends[0][0], second.value - ends[1][0], r)
    above = _both(ends[0][1] - first.value, ends[1][1] - second.value, r)
    return Estimate(value=value, low=value - below, high=value + above, n=n, method=MOVER, level=level)


def _both(first: float, second: float, r: float) -> float:
    """Return the half-width of a mean of two whose half-widths and correlation are these."""
    return float(np.sqrt(max(0.0, first**2 + second**2 + 2 * r * first * second))) / 2


def wilson_by_group(
    credit: ArrayLike, group: ArrayLike, n_groups: int, *, method: str = WILSON
) -> tuple[Estimate, ...]:
    """Return the accuracy of each group with Wilson's score interval; all items have as many trials.

    `method` is `wilson-clustered` where items have several trials.

    >>> first, second = wilson_by_group([1, 1, 0, 1], [0, 0, 0, 0], 2)
    >>> first.value, round(first.low, 4), round(first.high, 4), second.reason
    (0.75, 0.3006, 0.9544, 'no items')
    """
    n, mean, variance = _group_sums(credit, group, n_groups)
    share = np.where(n > 0, mean, 0.0)
    low, high = wilson_bounds(share, np.maximum(n, 1), design_effect(variance, share), level=0.95)
    return _estimates(n, mean, low, high, method=method)


def wilson(credit: ArrayLike, *, is_pooled: bool) -> Estimate:
    """Return the accuracy of all items with Wilson's score interval, clustered by items where presentations are pooled.

    >>> wilson([1, 1, 0, 1], is_pooled=False).value
    0.75
    """
    method = CLUSTERED if is_pooled else WILSON
    (estimate,) = wilson_by_group(credit, np.zeros(np.size(credit), dtype=np.int64), 1, method=method)
    return estimate


def simultaneous_by_group(
    credit: ArrayLike, group: ArrayLike, n_groups: int, *, level: float = 0.95
) -> tuple[Estimate, ...]:
    """Return the accuracy of each group with intervals that hold all true accuracies at once, with chance `level`.

    For groups that are named since they came out lowest or highest. Clopper & Pearson's interval (1934, Biometrika
    26:404-413), Bonferroni over the groups, for as many items as the credits' variance is worth; where this variance is
    estimated (credits between 0 and 1) with Student's quantile (Korn & Graubard 1998, Survey Methodology 24:193-201).
    Wilson's misses too often so far out: of 67 equal groups at 0.95 in 0.30 (8 items) to 0.11 (100 items) of runs.

    >>> first, second = simultaneous_by_group([1, 1, 1, 1, 0, 0, 1, 0], [0, 0, 0, 0, 1, 1, 1, 1], 2)
    >>> round(first.low, 4), first.high, round(second.low, 4), round(second.high, 4)
    (0.3344, 1.0, 0.0031, 0.8478)
    """
    from scipy import special

    (n, mean, variance), alpha = _group_sums(credit, group, n_groups), (1 - level) / n_groups
    numbers, codes = finite_vector(credit, name="credit"), np.asarray(group, dtype=np.int64)
    between = np.bincount(codes, weights=(numbers > 0) & (numbers < 1), minlength=n_groups) > 0
    effect = design_effect(variance, mean)
    t = special.stdtrit(np.maximum(n - 1, 1), 1 - alpha / 2) / special.ndtri(1 - alpha / 2)
    worth = np.where(between, n * (n + 1) / (n * effect + 1) / t**2, n)
    right = mean * worth
    low = np.where(right > 0, special.betaincinv(np.maximum(right, 1e-12), worth - right + 1, alpha / 2), 0.0)
    wrong = np.maximum(worth - right, 1e-12)
    high = np.where(wrong > 1e-9, special.betaincinv(right + 1, wrong, 1 - alpha / 2), 1.0)
    return _estimates(n, mean, low, high, method=SIMULTANEOUS, level=level)


def _group_sums(values: ArrayLike, group: ArrayLike, n_groups: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the items of each group, their mean credit and its variance, with n in the denominator."""
    numbers = finite_vector(values, name="credit")
    codes: IntArray = np.asarray(group, dtype=np.int64)
    if codes.shape != numbers.shape or (codes.size and not (codes.min() >= 0 and codes.max() < n_groups)):
        raise BankError(
            f"{numbers.size} credits and groups of shape {codes.shape}; expected a group below {n_groups} each"
        )
    if numbers.size and not (numbers.min() >= 0 and numbers.max() <= 1):
        raise BankError(f"credits go from {numbers.min()} to {numbers.max()}; expected 0 to 1")
    n = np.bincount(codes, minlength=n_groups).astype(np.float64)
    mean, variance = np.full(n_groups, np.nan), np.zeros(n_groups)
    np.divide(np.bincount(codes, weights=numbers, minlength=n_groups), n, out=mean, where=n > 0)
    squares = np.bincount(codes, weights=(numbers - mean[codes]) ** 2, minlength=n_groups)
    np.divide(squares, n, out=variance, where=n > 0)
    return n, mean, variance


def _estimates(*numbers: FloatArray, method: str, level: float = 0.95) -> tuple[Estimate, ...]:
    estimates = []
    for n, value, low, high in zip(*(column.tolist() for column in numbers), strict=True):
        report: dict[str, Any] = {"n": int(n), "method": method, "level": level}
        if not n:
            estimates.append(undefined("no items", **report))
        elif n == 1 and value not in (0.0, 1.0):
            estimates.append(without_interval(value, "one item has no spread", **report))
        else:
            estimates.append(Estimate(value=value, low=low, high=high, **report))
    return tuple(estimates)
