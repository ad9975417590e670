"""Reading times with known effects, in the layout of the Natural Stories corpus: WorkerId, item, zone, word, RT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from nulls import Null, Table, at_most, own_seed
from pairbank.stats.analyses.reading import ALPHA, reading
from pairbank.stats.scored_table.method_scores import ScoredFrame

MS_PER_BIT: dict[str, float] = {"": 0.012, "_lag1": 0.006, "_lag2": 0.0}
"""Effects of surprisal in log ms per bit, where there are some."""


def joined_times(
    *,
    seed: int,
    effect: float = 0.0,
    n_texts: int = 8,
    n_readers: int = 12,
    models: int = 1,
    uneven: bool = True,
    readers_seed: int | None = None,
) -> pd.DataFrame:
    """Return what `words --join` writes: participants who read some of the texts, words of uneven texts.

    Surprisal hangs together within a text and is correlated with length and frequency; participants differ in how it
    changes their times, on average by `effect` (1 = `MS_PER_BIT`). Every further model has a noisier surprisal. With a
    `readers_seed`, participants are the same for all seeds.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.integers(12, 72, n_texts) if uneven else np.full(n_texts, 42)
    texts = np.repeat(np.arange(n_texts), sizes)
    words = pd.DataFrame(
        {"text_id": texts.astype(str), "word_number": np.concatenate([1 + np.arange(n) for n in sizes])}
    )
    kind = rng.integers(0, 40, len(words)) ** 2 // 40
    words["word"] = [f"w{n}" for n in kind]
    words["n_characters"] = 2 + rng.poisson(1 + kind / 8)
    words["n_occurrences"] = words.groupby("word")["word"].transform("size")
    noise = rng.normal(size=(len(words), 1 + models))
    level = rng.normal(0, 1, n_texts)[texts] + pd.Series(rng.normal(size=len(words))).ewm(alpha=0.5).mean().to_numpy()
    true = 6 + level + 0.3 * words["n_characters"] - np.log(words["n_occurrences"]) + noise[:, 0]
    words["surprisal_bits"] = true
    by_text = words.groupby("text_id", sort=False)
    for name in ("surprisal_bits", "n_characters", "n_occurrences"):
        for back in (1, 2):
            words[f"{name}_lag{back}"] = by_text[name].shift(back)
    shares = rng.uniform(0.3, 1, n_readers) if uneven else np.ones(n_readers)
    reads = rng.random((n_readers, n_texts)) < shares[:, None]
    readers, at = np.nonzero(reads[:, texts])
    rows = words.iloc[at].reset_index(drop=True)
    of_readers = rng if readers_seed is None else np.random.default_rng(readers_seed)
    slopes = of_readers.normal(0, 0.01, n_readers)[readers]
    log_rt = 5.8 + of_readers.normal(0, 0.25, n_readers)[readers] + rng.normal(0, 0.06, n_texts)[texts[at]]
    log_rt = log_rt + rng.normal(0, 0.06, len(words))[at] + 0.01 * rows["n_characters"] + rng.normal(0, 0.3, len(rows))
    log_rt = log_rt + slopes * (rows["surprisal_bits"] - words["surprisal_bits"].mean())
    for lag, per_bit in MS_PER_BIT.items():
        log_rt = log_rt + effect * per_bit * rows[f"surprisal_bits{lag}"].fillna(6)
    rows.insert(0, "RT", np.exp(log_rt).round())
    rows.insert(0, "WorkerId", [f"r{n}" for n in readers])
    noisy = []
    for model in range(models):
        of_model = rows.assign(model=f"m{model}", flags="")
        for lag in MS_PER_BIT:
            shift = pd.Series(noise[:, 1 + model] * model * 2).groupby(texts).shift(int(lag[-1:] or 0))
            of_model[f"surprisal_bits{lag}"] += shift.to_numpy()[at]
        noisy.append(of_model)
    return pd.concat(noisy, ignore_index=True)


def reading_tables(table: pd.DataFrame) -> list[ScoredFrame]:
    return [
        ScoredFrame(corpus="stories", model=str(model), frame=rows, layouts=())
        for model, rows in table.groupby("model", sort=False)
    ]


def reading_row(seed: int, **options: Any) -> pd.Series:  # noqa: ANN401 - of `joined_times`
    """Return what is said of made-up times: effect and gain on held-out texts, with intervals and p."""
    return reading(reading_tables(joined_times(seed=seed, **options))).tables["models"].iloc[0]


def said(rows: Sequence[pd.Series]) -> dict[str, float]:
    """Return how often is claimed: an effect, one that slows readers down, a gain on held-out texts; and its coverage.

    Coverage is of its mean over all runs.
    """
    made = pd.DataFrame(rows)
    effect, truth = made["p_holm"] < ALPHA, made["delta_ll"].mean()
    return {
        "an effect": float(effect.mean()),
        "slower": float((effect & (made["effect_ms"] > 0)).mean()),
        "gain on held-out texts": float((made["low"] > 0).mean()),
        "covered": float(((made["low"] <= truth) & (truth <= made["high"])).mean()),
    }


def null_of(effect: float, n_texts: int, readers: str, *, uneven: bool) -> Null:
    """Return readers who differ in how surprisal changes their times; without an effect, on average by nothing."""
    readers_seed = 1 if readers == "the same" else None
    run = partial(reading_row, effect=effect, uneven=uneven, n_texts=n_texts, readers_seed=readers_seed)
    labels = (f"{effect:g}", str(n_texts), "uneven" if uneven else "even", readers)
    return Null(labels, run, each=own_seed, summary=said)


def nulls() -> Iterator[Null]:
    sizes = ((8, True), (8, False), (20, True))
    for effect, (n_texts, uneven), readers in product((0.0, 1.0), sizes, ("drawn anew", "the same")):
        yield null_of(effect, n_texts, readers, uneven=uneven)


CLAIMS = ("an effect", "slower", "gain on held-out texts")
# 10 runs with 4 claims have p = .001 at a rate of 0.05
TESTED = (null_of(0.0, 8, "drawn anew", uneven=True).small(10, at_most(0.3, *CLAIMS), ci=True),)
TABLES = (Table("reading", ("effect", "texts", "sizes", "readers"), nulls, TESTED),)
