"""Effects of a factorial design: levels of its factors in, contrasts of its cells and their estimates out.

The difference of two levels is the first minus the second, averaged over the other factors; an interaction is by how
much a difference grows towards the next level of another factor. Of 2 x 2 cells it is the difference of differences
(Sprouse, Wagers & Phillips 2012, Language 88:82-123): above 0 where a violation costs more than its two parts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pairbank.arrays import FloatArray, IntArray
from pairbank.errors import BankError
from pairbank.stats.estimates.estimate import Estimate, Tested, undefined
from pairbank.stats.estimates.shares import STUDENT, mean_of_items
from pairbank.stats.measures.random_slopes import Grouping, fit_maximal

LMM = "lmm-reml"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Effect:
    """A contrast of a design's cells."""

    term: str
    """`structure`, `structure:distance`."""
    contrast: str
    """Which levels it compares."""
    order: int
    """How many factors take part."""
    weights: FloatArray
    """Of the cells, the last factor varying fastest."""


def effects_of(levels: Mapping[str, Sequence[str]], contrasts: Sequence[Sequence[str]] = ()) -> list[Effect]:
    """Return main effects, then interactions; a factor's first level is its baseline.

    A contrast names levels of one factor; by default each is compared with the next.

    >>> found = effects_of({"structure": ["non", "island"], "distance": ["short", "long"]})
    >>> [(effect.term, effect.weights.tolist()) for effect in found[1:]]
    [('distance', [0.5, -0.5, 0.5, -0.5]), ('structure:distance', [-1.0, 1.0, 1.0, -1.0])]
    """
    pairs = {name: list(itertools.pairwise(known)) for name, known in levels.items()}
    if contrasts:
        pairs = {name: [(first, second) for first, second in contrasts] for name in levels}
    result = []
    for order in range(1, len(levels) + 1):
        for factors in itertools.combinations(levels, order):
            for compared in itertools.product(*(pairs[name] for name in factors)):
                by_factor = dict(zip(factors, compared, strict=True))
                vectors = [_vector(known, by_factor.get(name)) for name, known in levels.items()]
                weights = (-1) ** (order - 1) * np.array([math.prod(part) for part in itertools.product(*vectors)])
                said = [*compared] if order % 2 else [compared[0][::-1], *compared[1:]]  # the sign that weights have
                text = " x ".join(f"({a} - {b})" if order > 1 else f"{a} - {b}" for a, b in said)
                result.append(Effect(term=":".join(factors), contrast=text, order=order, weights=weights))
    return result


def _vector(known: Sequence[str], compared: Sequence[str] | None) -> FloatArray:
    if compared is None:
        return np.full(len(known), 1 / len(known))
    return np.array([float(level == compared[0]) - float(level == compared[1]) for level in known])


def of_item_sets(values: FloatArray, weights: FloatArray) -> Tested:
    """Return a contrast over item sets with Student's t: with one score per cell, the maximal model by item set.

    Item sets that lack a cell which has weight are left out.
    """
    from scipy.stats import t

    needed = values[:, weights != 0]
    scores = needed[~np.isnan(needed).any(axis=1)] @ weights[weights != 0]
    estimate = mean_of_items(scores) if scores.size else undefined("no item set has all cells", n=0, method=STUDENT)
    if math.isnan(estimate.low):
        return Tested(estimate)
    error, degrees = float(scores.std(ddof=1) / math.sqrt(scores.size)), scores.size - 1
    return Tested(estimate, float(2 * t.sf(abs(estimate.value) / error, degrees)), degrees)


def of_ratings(
    values: FloatArray,
    cells: IntArray,
    drawn: Mapping[str, IntArray],
    contrasts: Sequence[FloatArray],
    levels: Mapping[str, Sequence[str]],
) -> tuple[str, list[Tested]]:
    """Return contrasts of the cells by a mixed model with all slopes of the design.

    `drawn` numbers each judgment's `participant` and `item_set`. The first result is the random part as R writes it, or
    why there is no model.
    """
    from scipy.stats import t

    present = np.unique(cells)
    if len(present) < math.prod(map(len, levels.values())):
        return _of_present_levels(values, cells, drawn, contrasts, levels)
    whole, n_cells = effects_of(levels), len(present)
    coded = np.linalg.inv(np.vstack([np.full(n_cells, 1 / n_cells), *(effect.weights for effect in whole)]))
    terms = ("1", *(effect.term for effect in whole))
    groupings = [Grouping(name=name, codes=codes, columns=coded[cells], terms=terms) for name, codes in drawn.items()]
    try:
        fit = fit_maximal(values, np.eye(n_cells)[cells], groupings)
    except BankError as problem:
        nothing = undefined(str(problem), n=len(values), method=LMM)
        return str(problem), [Tested(nothing)] * len(contrasts)
    tested = []
    for weights in contrasts:
        value, error, degrees = fit.contrast(weights)
        reach = float(t.isf(0.025, degrees)) * error
        estimate = Estimate(value=value, low=value - reach, high=value + reach, n=len(values), method=LMM)
        tested.append(Tested(estimate, float(2 * t.sf(abs(value) / error, degrees)), degrees))
    return fit.formula, tested


def _of_present_levels(
    values: FloatArray,
    cells: IntArray,
    drawn: Mapping[str, IntArray],
    contrasts: Sequence[FloatArray],
    levels: Mapping[str, Sequence[str]],
) -> tuple[str, list[Tested]]:
    """Return contrasts of one factor of which nobody rated some levels: those that need such a level are undefined."""
    present, codes = np.unique(cells, return_inverse=True)
    named = list(itertools.product(*levels.values()))
    reason = f"no ratings of {', '.join(named[min(set(range(len(named))) - set(present.tolist()))])}"
    nothing = Tested(undefined(reason, n=len(values), method=LMM))
    if len(levels) > 1 or len(present) < 2:
        return reason, [nothing] * len(contrasts)
    ((name, known),) = levels.items()
    rest = {name: [known[place] for place in present]}
    whole = [np.isclose(np.abs(weights).sum(), np.abs(weights[present]).sum()) for weights in contrasts]
    kept = [weights[present] for weights, is_whole in zip(contrasts, whole, strict=True) if is_whole]
    formula, tested = of_ratings(values, codes, drawn, kept, rest)
    return formula, [tested.pop(0) if is_whole else nothing for is_whole in whole]
