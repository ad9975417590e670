"""Do runs learn in the same order? Onsets and mean accuracies of phenomena in; rank agreement of every two runs out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from pairbank.stats.analyses.trajectories.onsets import ALL
from pairbank.stats.measures.paired_tests import corrected

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray

LEAST_PHENOMENA = 5
N_PERMUTATIONS = 4999


def order_table(onsets: pd.DataFrame, *, rng: np.random.Generator) -> pd.DataFrame:
    """Return Spearman's rho of every two runs over the phenomena that both have, with permutation tests.

    Two numbers are compared: the onset (a phenomenon without one stands last) and the mean accuracy over all
    checkpoints, which does not depend on a threshold.
    """
    rows = [
        row
        for (corpus, method), part in onsets[onsets["phenomenon"] != ALL].groupby(["corpus", "method"], sort=False)
        for row in _pairs(str(corpus), str(method), part, rng)
    ]
    if not rows:
        return pd.DataFrame()
    found = pd.DataFrame(rows)
    for name in ("onset", "mean"):
        found[f"p_{name}_holm"] = corrected(found[f"p_{name}"]).holm
    return found


def _pairs(corpus: str, method: str, part: pd.DataFrame, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    by_run = {str(run): rows.set_index("phenomenon") for run, rows in part.groupby("run", sort=False)}
    for (one, x), (two, y) in itertools.combinations(by_run.items(), 2):
        both = x.index.intersection(y.index)
        if len(both) < LEAST_PHENOMENA:
            continue
        row: dict[str, Any] = {"corpus": corpus, "method": method, "a": one, "b": two, "n_phenomena": len(both)}
        for name, sign in (("onset", 1.0), ("mean", -1.0)):
            a, b = (table.loc[both, name].to_numpy(dtype=float) for table in (x, y))
            rho, p = rank_agreement(sign * np.nan_to_num(a, nan=np.inf), sign * np.nan_to_num(b, nan=np.inf), rng)
            row |= {f"rho_{name}": rho, f"p_{name}": p}
        yield row


def rank_agreement(x: FloatArray, y: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
    """Return Spearman's rho (ties share ranks) and its two-sided p-value by permutations; NaN where one is constant.

    >>> rho, p = rank_agreement(np.arange(8.0), np.arange(8.0), np.random.default_rng(0))
    >>> rho, p < 0.002
    (1.0, True)
    """
    a, b = (rankdata(values) - (len(values) + 1) / 2 for values in (x, y))
    scale = float(np.sqrt((a @ a) * (b @ b)))
    if scale == 0:
        return float("nan"), float("nan")
    drawn = rng.permuted(np.tile(b, (N_PERMUTATIONS, 1)), axis=1) @ a / scale
    rho = float(a @ b) / scale
    p = (1 + int((np.abs(drawn) >= abs(rho) - 1e-12).sum())) / (1 + N_PERMUTATIONS)
    return rho, p
