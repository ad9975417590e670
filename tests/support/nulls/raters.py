"""Made-up raters and models of which "as good as one more person" is wrong, or right, and whether it is said.

Raters are right with their own probability; a model is right with one that is lower by what the test allows and a
little more, so that its advantage lies exactly epsilon below theirs: there the claim is wrong, and hardest to refuse.
"""

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from nulls import Null, Outcome, at_least, at_most
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
) -> Outcome:
    """Return whether a model is said to be as good as one more person; `right` None = at the edge of the claim."""
    asked = boundary(n_raters, epsilon) if right is None else right
    paradigms = np.arange(n) % n_paradigms if n_paradigms else None
    own = model_of(rng, asked, n=n, paradigms=paradigms, spread=0.15)
    result = alternative_annotator(people(rng, n=n, n_raters=n_raters), own, epsilon=epsilon, paradigms=paradigms)
    return {"said": result.winning_rate >= 0.5 and (not beyond or result.beyond_paradigms >= 0.5)}


def null_of(sentence: str, data: str, **how: Any) -> Null:  # noqa: ANN401
    return Null((sentence, data), partial(as_good, **how))


def nulls() -> Iterator[Null]:
    """Yield the sentence on raters: at the edge, where it is wrong, and of a model as good as a rater."""
    said = "`raters`: as good as one more person within 0.1"
    for n, n_raters in ((100, 3), (100, 13), (1000, 13)):
        yield null_of(said, f"advantage 0.1 below that of {n_raters} raters, {n:,} items", n=n, n_raters=n_raters)
    data, many = "advantage 0.1 below that of {} raters, 1,000 items in 20 paradigms, on which the model varies", 1000
    these = f"{said} (may be true of these paradigms)"
    yield null_of(these, data.format(13), n=many, n_raters=13, n_paradigms=20)
    beyond = f"{said}, beyond its paradigms"
    for n_raters in (3, 13):
        yield null_of(beyond, data.format(n_raters), n=many, n_raters=n_raters, n_paradigms=20, beyond=True)
    for n, n_raters, right in ((100, 3, 0.87), (100, 13, 0.87), (1000, 13, 0.87), (1000, 13, 0.82)):
        data = f"power: a model right in {right:.2f}, {n_raters} raters in 0.87, {n:,} items"
        yield null_of(said, data, n=n, n_raters=n_raters, right=right)
    data = "power: as often right as 13 raters, 1,000 items in 20 paradigms"
    yield null_of(beyond, data, n=many, n_raters=13, right=0.87, n_paradigms=20, beyond=True)


TESTED = (
    null_of("raters", "at the edge", n=300, n_raters=5).small(80, at_most(0.125)),
    null_of("raters", "beyond paradigms", n=600, n_raters=5, n_paradigms=20, beyond=True).small(80, at_most(0.125)),
    null_of("raters", "power", n=1000, n_raters=13, right=0.87).small(10, at_least(0.901)),
    null_of("raters", "a guess", n=300, n_raters=5, right=0.5).small(10, at_most(0.0)),
)
