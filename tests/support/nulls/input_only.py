"""Made answers to made sentences: what their text predicts, what own probabilities predict, and both alike."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import brentq

from nulls import Null, Outcome, Table, at_most, means, pair_of_seeds
from pairbank.stats.analyses.introspection.input_only import compare_predictors, input_only
from pairbank.stats.scored_table.scored_table import DeltaStack

SYLLABLES = ("ba", "de", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va", "ze")


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    n_paradigms: int = 20
    n_each: int = 15
    n_more: int = 0
    """Items that the first paradigm has beyond the others."""
    by_text: float = 1.0
    """Of the answers' standard deviation, what the words of the text give."""
    by_paradigm: float = 0.5
    own: float | None = None
    """Of the model's direct differences, what follows its answers; None = as much as the text predicts, on average."""
    n_models: int = 1


def made(rng: np.random.Generator, design: Design, own: float) -> tuple[DeltaStack, list[str], list[str]]:
    """Return deltas of models that share a text effect, and the texts."""
    paradigms = np.repeat(np.arange(design.n_paradigms), design.n_each)
    paradigms = np.concatenate([np.zeros(design.n_more, dtype=np.int64), paradigms])
    n = paradigms.size
    words = rng.integers(len(SYLLABLES), size=(2, n, 4))
    weights = rng.normal(size=len(SYLLABLES)) / np.sqrt(8)
    by_text = weights[words[0]].sum(axis=1) - weights[words[1]].sum(axis=1)
    by_text /= by_text.std()
    shape = (design.n_models, n)
    answers = design.by_text * by_text + rng.normal(size=shape)
    answers += design.by_paradigm * rng.normal(size=(design.n_models, design.n_paradigms))[:, paradigms]
    centred = answers / answers.std(axis=1, keepdims=True)
    direct = own * centred + np.sqrt(1 - own**2) * rng.normal(size=shape)
    good, bad = ([" ".join(SYLLABLES[one] for one in row) for row in side] for side in words)
    stack = DeltaStack(
        corpus="toy",
        models=tuple(f"m{nth}" for nth in range(design.n_models)),
        prompts=("meta",),
        item_ids=tuple(f"toy/{nth:04d}" for nth in range(n)),
        n_identical=0,
        direct_nats=direct,
        meta_nats=answers[np.newaxis],
        clusters=paradigms if design.n_paradigms >= 10 else None,
    )
    return stack, good, bad


def equal_own(design: Design, seeds: Sequence[list[int]]) -> float:
    """Return how far direct differences follow answers when their r is, on average, that of the text's predictions.

    The average is over the very runs of the simulation: that of other runs would be off by its own error.
    """
    lead = [float(input_only(*made(np.random.default_rng(seed), design, 0.0))["r_text"].mean()) for seed in seeds]
    target = float(np.mean(lead))

    def excess(own: float) -> float:
        each = []
        for seed in seeds:
            stack, *_ = made(np.random.default_rng(seed), design, own)
            n = np.arange(len(stack.item_ids))
            folds = (n if stack.clusters is None else stack.clusters) % 5
            for y, x in zip(stack.meta_nats[0], stack.direct_nats, strict=True):
                each.append(compare_predictors(y, x, y, folds, n)["r_own"])
        return float(np.mean(each)) - target

    return float(brentq(excess, 0.0, 0.99, xtol=1e-3))


def claims(seed: list[int], design: Design, own: float) -> Outcome:
    """Return whether own probabilities, or the text, are said to predict better in any model."""
    better = input_only(*made(np.random.default_rng(seed), design, own))["better"]
    return {"own better": (better == "own").any(), "text better": (better == "text").any()}


def of_seeds(seeds: Sequence[list[int]], design: Design) -> dict[str, float]:
    own = equal_own(design, seeds) if design.own is None else design.own
    return means([claims(seed, design, own) for seed in seeds])


def null_of(design: Design) -> Null:
    text = f"text {design.by_text:.1f}, paradigms {design.by_paradigm:.1f}"
    case = f"both alike: {text}" if design.own is None else f"own r about {design.own:.1f}: {text}"
    sizes = map(str, (design.n_paradigms * design.n_each, design.n_paradigms, design.n_models))
    summary = partial(of_seeds, design=design)
    return Null((case, *sizes), list, each=pair_of_seeds, summary=summary)


def nulls() -> Iterator[Null]:
    """Yield nulls, in which direct differences follow answers as closely as the text's predictions do; then power."""
    yield null_of(Design(n_paradigms=20, n_each=15))
    yield null_of(Design(n_paradigms=20, n_each=15, n_models=5))
    yield null_of(Design(n_paradigms=10, n_each=30, by_paradigm=1.0))
    yield null_of(Design(n_paradigms=1, n_each=200, by_paradigm=0.0))
    yield null_of(Design(n_paradigms=20, n_each=8, n_more=140))
    yield null_of(Design(n_paradigms=20, n_each=15, by_text=0.0, own=0.3))
    yield null_of(Design(n_paradigms=20, n_each=15, own=0.8))
    yield null_of(Design(n_paradigms=20, n_each=15, own=0.0))


RARE = {**at_most(0.1, "own better"), **at_most(0.15, "text better")}
TESTED = (null_of(Design(n_paradigms=12, n_each=10, own=0.543)).small(15, RARE, ci=True),)  # 0.543: `equal_own`
TABLES = (Table("input_only", ("case", "items", "paradigms", "models"), nulls, TESTED),)
