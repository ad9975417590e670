"""Made-up sentences whose ratings follow log P with known weights of word frequency and length."""

import numpy as np
import pandas as pd


def sentences(
    rng: np.random.Generator, *, beta: float, gamma: float, n: int = 300, noise: float = 1.0, n_groups: int = 0
) -> pd.DataFrame:
    """Ratings that are (log P - beta log P_uni + gamma) / N and noise, of sentences of 4 to 20 tokens in groups."""
    length = rng.integers(4, 21, n).astype(np.float64)
    groups = np.arange(n) % n_groups if n_groups else np.arange(n)
    frequency = -9 + rng.normal(scale=0.8, size=n) + (rng.normal(scale=0.5, size=n_groups)[groups] if n_groups else 0)
    merit = rng.normal(size=n) + (rng.normal(scale=0.7, size=n_groups)[groups] if n_groups else 0)
    unigram = length * frequency
    logprob = length * merit + beta * unigram - gamma
    ratings = merit + noise * rng.normal(size=n)
    columns = {"ratings": ratings, "logprob_nats": logprob, "unigram_nats": unigram, "n_tokens": length}
    return pd.DataFrame(columns | {"groups": groups})
