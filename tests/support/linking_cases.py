"""Made-up sentences whose ratings follow log P with known weights of word frequency and length."""

import numpy as np

from pairbank.stats.analyses.linking import RatedSentences


def sentences(
    rng: np.random.Generator, *, beta: float, gamma: float, n: int = 300, noise: float = 1.0, n_groups: int = 0
) -> RatedSentences:
    """Ratings that are (log P - beta log P_uni + gamma) / N and noise, of sentences of 4 to 20 tokens in groups."""
    length = rng.integers(4, 21, n).astype(np.float64)
    groups = np.arange(n) % n_groups if n_groups else np.arange(n)
    frequency = -9 + rng.normal(scale=0.8, size=n) + (rng.normal(scale=0.5, size=n_groups)[groups] if n_groups else 0)
    merit = rng.normal(size=n) + (rng.normal(scale=0.7, size=n_groups)[groups] if n_groups else 0)
    unigram = length * frequency
    logprob = length * merit + beta * unigram - gamma
    ratings = merit + noise * rng.normal(size=n)
    return RatedSentences(ratings=ratings, logprob_nats=logprob, unigram_nats=unigram, n_tokens=length, groups=groups)
