"""When is something learnt for good? Deltas of the checkpoints of a run in; curves and onsets out.

Onset: the first checkpoint from which on, to the last, accuracy is above chance at every one, by one-sided exact sign
tests (ties dropped). "At every one of them" is a claim that needs all tests, so that its p-value is the greatest of
theirs, whatever the number of checkpoints (Berger 1982, Technometrics 24:295-300); that several phenomena are looked at
is met by Bonferroni's correction. An onset said too early would need a wrong rejection at every checkpoint before the
true one. Onset over the start: the same of the gain over the first checkpoint (exact McNemar), for a model that has
learnt nothing need not be at one half.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom

from pairbank.stats.estimates.ties import signs
from pairbank.stats.measures.group_intervals import wilson_by_group
from pairbank.stats.scored_table.scored_table import read_table

if TYPE_CHECKING:
    from pairbank.arrays import BoolArray, FloatArray
    from pairbank.stats.analyses.trajectories.checkpoints import Trajectory

ALPHA = 0.05
ALL = "all items"
LEAST_ITEMS = 10
"""Of a phenomenon; a sign test of fewer hardly can be significant after the correction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """The signs of a run's differences: 1 right, -1 wrong, 0 a tie."""

    signs: FloatArray
    """Shape (checkpoints, items)."""
    groups: dict[str, BoolArray]
    """Phenomenon -> its items, without `ALL`."""
    n_left_out: int
    """Items that not every checkpoint has a score of."""


def onset_of(p_values: FloatArray, *, alpha: float) -> tuple[int | None, float]:
    """Return the first place from which on all p-values are below alpha, and the greatest p-value from there on.

    Without such a place, that of the last.

    >>> onset_of(np.array([0.2, 0.01, 0.2, 0.01, 0.001]), alpha=0.05)
    (3, 0.01)
    >>> onset_of(np.array([0.001, 0.2]), alpha=0.05)
    (None, 0.2)
    """
    from_here_on = np.maximum.accumulate(p_values[::-1])[::-1]
    below = np.flatnonzero(from_here_on < alpha)
    return (int(below[0]), float(from_here_on[below[0]])) if below.size else (None, float(from_here_on[-1]))


def above_chance(right: FloatArray, wrong: FloatArray) -> FloatArray:
    """Return the one-sided p-values of exact sign tests: more right than wrong.

    >>> above_chance(np.array([5.0, 0.0]), np.array([0.0, 0.0])).round(5).tolist()
    [0.03125, 1.0]
    """
    found: FloatArray = np.asarray(binom.sf(right - 1, right + wrong, 0.5), dtype=np.float64)
    return np.where(right + wrong > 0, found, 1.0)


def learnt(trajectory: Trajectory, method: str) -> Learnt | None:
    """Return the signs of the items that every checkpoint has scored; None where there are none."""
    reads = [read_table(table).choices for table in trajectory.tables]
    if any(read.method(method) is None for read in reads):
        return None
    deltas = [dict(zip(read.item_ids, read.delta(method), strict=True)) for read in reads]
    ids = [item for item in deltas[0] if all(not np.isnan(delta.get(item, np.nan)) for delta in deltas)]
    n_seen = len({item for delta in deltas for item, value in delta.items() if not np.isnan(value)})
    if not ids:
        return None
    frame = reads[0].frame.set_index("item_id").loc[ids]
    groups = {}
    if "phenomenon" in frame.columns and frame["phenomenon"].notna().any():
        names = frame["phenomenon"].astype(object)
        groups = {str(name): np.asarray(names == name) for name in sorted(names.dropna().unique())}
    found = np.array([signs(np.array([delta[item] for item in ids])) for delta in deltas], dtype=np.float64)
    return Learnt(signs=found, groups=groups, n_left_out=n_seen - len(ids))


def curve_rows(trajectory: Trajectory, method: str, known: Learnt) -> Iterator[dict[str, Any]]:
    """Yield the accuracy of every phenomenon at every checkpoint, with Wilson's interval."""
    every = {ALL: np.ones(known.signs.shape[1], dtype=np.bool_)}
    place = {"run": trajectory.run, "corpus": trajectory.corpus, "method": method, "unit": trajectory.unit}
    for name, items in (every | known.groups).items():
        mine = known.signs[:, items]
        p_values = above_chance((mine > 0).sum(axis=1).astype(float), (mine < 0).sum(axis=1).astype(float))
        numbers = np.repeat(np.arange(len(mine)), mine.shape[1])
        found = wilson_by_group(((mine + 1) / 2).ravel(), numbers, len(mine))
        for amount, table, estimate, p in zip(trajectory.amounts, trajectory.tables, found, p_values, strict=True):
            yield place | {
                "phenomenon": name,
                "amount": amount,
                "model": table.model,
                "value": estimate.value,
                "low": estimate.low,
                "high": estimate.high,
                "n": estimate.n,
                "p_above": float(p),
            }


def onset_rows(trajectory: Trajectory, method: str, known: Learnt) -> Iterator[dict[str, Any]]:
    """Yield the onsets of all items, and of every phenomenon with enough of them."""
    every = {ALL: np.ones(known.signs.shape[1], dtype=np.bool_)}
    groups = {name: items for name, items in known.groups.items() if items.sum() >= LEAST_ITEMS}
    for family in (every, groups):
        for name, items in family.items():
            mine = known.signs[:, items]
            yield {
                "run": trajectory.run,
                "corpus": trajectory.corpus,
                "method": method,
                "phenomenon": name,
                "n": int(items.sum()),
                "first": float((mine[0].mean() + 1) / 2),
                "last": float((mine[-1].mean() + 1) / 2),
                "mean": float((mine.mean() + 1) / 2),
                **_onsets(trajectory, mine, alpha=ALPHA / len(family)),
            }


def _onsets(trajectory: Trajectory, mine: FloatArray, *, alpha: float) -> dict[str, Any]:
    right, wrong = ((mine * sign > 0).sum(axis=1).astype(float) for sign in (1, -1))
    place, p = onset_of(above_chance(right, wrong), alpha=alpha)
    gained = mine[1:] - mine[0]
    more, less = ((gained * sign > 0).sum(axis=1).astype(float) for sign in (1, -1))
    over, p_over = onset_of(above_chance(more, less), alpha=alpha)
    amounts = trajectory.amounts
    return {
        "unit": trajectory.unit,
        "onset": np.nan if place is None else amounts[place],
        "p_onset": p,
        "onset_over_first": np.nan if over is None else amounts[over + 1],
        "p_over_first": p_over,
        "alpha": alpha,
        "last_checkpoint": amounts[-1],
    }
