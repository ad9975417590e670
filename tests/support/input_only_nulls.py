"""Made answers to made sentences: what their text predicts, what own probabilities predict, and both alike."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from pairbank.arrays import FloatArray
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


def equal_own(design: Design, *, n_runs: int, seed: int = 0) -> float:
    """Return how far direct differences follow answers when their r is, on average, that of the text's predictions.

    The average is over the very runs of `shares`: that of other runs would be off by its own error.
    """
    lead = []
    for nth in range(n_runs):
        table = input_only(*made(np.random.default_rng([seed, nth]), design, 0.0))
        lead.append(float(table["r_text"].mean()))
    target = float(np.mean(lead))

    def excess(own: float) -> float:
        each = []
        for nth in range(n_runs):
            stack, *_ = made(np.random.default_rng([seed, nth]), design, own)
            n = np.arange(len(stack.item_ids))
            folds = (n if stack.clusters is None else stack.clusters) % 5
            for y, x in zip(stack.meta_nats[0], stack.direct_nats, strict=True):
                each.append(compare_predictors(y, x, y, folds, n)["r_own"])
        return float(np.mean(each)) - target

    return float(brentq(excess, 0.0, 0.99, xtol=1e-3))


def shares(design: Design, *, n_runs: int, seed: int = 0) -> dict[str, float]:
    """Return how often own probabilities, or the text, are said to predict better in any model, and coverage of 0."""
    own = equal_own(design, n_runs=n_runs, seed=seed) if design.own is None else design.own
    said: list[tuple[float, float, float]] = []
    for nth in range(n_runs):
        table = input_only(*made(np.random.default_rng([seed, nth]), design, own))
        better = table["better"]
        covers = ((table["low"] <= 0) & (table["high"] >= 0)).mean()
        said.append((float((better == "own").any()), float((better == "text").any()), float(covers)))
    mean: FloatArray = np.mean(np.array(said), axis=0)
    return dict(zip(("own", "text", "covers_0"), mean.tolist(), strict=True))
