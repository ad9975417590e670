"""Made-up raters and models of which "as good as one more person" is wrong, or right, and whether it is said.

Raters are right with their own probability; a model is right with one that is lower by what the test allows and a
little more, so that its advantage lies exactly epsilon below theirs: there the claim is wrong, and hardest to refuse.
"""

from functools import cache

import numpy as np

from pairbank.arrays import FloatArray, IntArray
from pairbank.stats.measures.human_agreement import alternative_annotator

RIGHT = 0.87
"""Of a rater, as in QFrBLiMP."""


def people(rng: np.random.Generator, *, n: int, n_raters: int) -> FloatArray:
    return np.where(rng.random((n, n_raters)) < RIGHT, 1.0, -1.0)


def model_of(
    rng: np.random.Generator, right: float, *, n: int, paradigms: IntArray | None = None, spread: float = 0.0
) -> FloatArray:
    """Return choices of a model that is right with a probability, which may differ between paradigms."""
    chance = np.full(n, right)
    if paradigms is not None:
        # a beta distribution with this mean and standard deviation, drawn once a paradigm
        total = right * (1 - right) / spread**2 - 1
        chance = rng.beta(right * total, (1 - right) * total, int(paradigms.max()) + 1)[paradigms]
    return np.where(rng.random(n) < chance, 1.0, -1.0)


@cache
def boundary(n_raters: int, epsilon: float) -> float:
    """Return how often a model must be right for its advantage to lie epsilon below that of a rater.

    The shares in which model and rater have the advantage differ by the share of items on which one alone agrees with
    what most others chose; with m right of that majority's choices, that is linear in how often the model is right.
    """
    rng = np.random.default_rng(1)
    others = np.sign(people(rng, n=200_000, n_raters=n_raters - 1).sum(axis=1))
    right, wrong, none = ((others == sign).mean() for sign in (1.0, -1.0, 0.0))
    assert abs(right + wrong + none - 1) < 1e-9
    # P(model agrees) - P(rater agrees) = (right - wrong) (model - RIGHT) = - epsilon
    return float(RIGHT - epsilon / (right - wrong))


def as_good(
    rng: np.random.Generator,
    *,
    n: int,
    n_raters: int,
    right: float | None = None,
    epsilon: float = 0.1,
    n_paradigms: int = 0,
    beyond: bool = False,
) -> bool:
    """Return whether a model is said to be as good as one more person; `right` None = at the edge of the claim."""
    asked = boundary(n_raters, epsilon) if right is None else right
    paradigms = np.arange(n) % n_paradigms if n_paradigms else None
    own = model_of(rng, asked, n=n, paradigms=paradigms, spread=0.15)
    result = alternative_annotator(people(rng, n=n, n_raters=n_raters), own, epsilon=epsilon, paradigms=paradigms)
    return result.winning_rate >= 0.5 and (not beyond or result.beyond_paradigms >= 0.5)
