"""Do a model's own probabilities predict its answers better than the text alone does? Deltas and texts in, a table out.

The input-only control of Singh, Linzen & Ravfogel 2026 (arXiv 2605.26242): an outsider that sees the two sentences and
has no model predicts the prompted differences. It is a ridge regression on hashed character n-grams, tested on
paradigms that it was not trained on. Where it does as well, answers show no access to the model's own probabilities.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from pairbank.arrays import FloatArray, IntArray
from pairbank.errors import BankError
from pairbank.stats.analyses.form import equal_steps
from pairbank.stats.estimates.bootstrap import freedom, shifts_of_mean
from pairbank.stats.estimates.shares import varies
from pairbank.stats.measures.paired_tests import corrected
from pairbank.stats.scored_table.scored_table import DeltaStack

LEAST_ITEMS = 100
"""Of fewer, no text classifier can learn anything."""
MOST_ITEMS = 1_200
"""More items are thinned, at equal distances."""
N_FOLDS = 5
SIGNIFICANCE, POWER = 0.05, 0.8
_PENALTIES = np.logspace(-2, 4, 13)
"""Of the ridge regression, in units of the mean diagonal of the kernel."""
_N_FEATURES = 2**14


def input_only(stack: DeltaStack, good: Sequence[str], bad: Sequence[str]) -> pd.DataFrame:
    """Return how well text and own probabilities predict each model's answers, one row per model and prompt."""
    known = ~np.isnan(stack.direct_nats).any(axis=0) & ~np.isnan(stack.meta_nats).any(axis=(0, 1))
    where = np.flatnonzero(known)
    if where.size < LEAST_ITEMS:
        raise BankError(
            f"{where.size:,} items have texts, direct scores and answers of all models; the input-only control needs "
            f"{LEAST_ITEMS}"
        )
    where = where[equal_steps(where.size, MOST_ITEMS)]
    groups = np.arange(where.size) if stack.clusters is None else stack.clusters[where]
    names = list(itertools.product(range(len(stack.prompts)), range(len(stack.models))))
    answers = np.stack([stack.meta_nats[prompt, model, where] for prompt, model in names], axis=1)
    kernel, folds = _kernel_and_folds([good[int(nth)] for nth in where], [bad[int(nth)] for nth in where], groups)
    predicted = predictions(kernel, answers, folds)
    rows = []
    for nth, (prompt, model) in enumerate(names):
        row = {"corpus": stack.corpus, "model": stack.models[model], "method": stack.prompts[prompt]}
        own = stack.direct_nats[model, where]
        rows.append(row | compare_predictors(answers[:, nth], own, predicted[:, nth], folds, groups))
    table = pd.DataFrame(rows)
    tested = table["p"].notna().to_numpy(dtype=np.bool_)
    table["p_holm"] = holm = corrected(table["p"].to_numpy(dtype=np.float64)).holm
    table["better"] = np.select(
        [~tested, holm >= SIGNIFICANCE, table["difference"] > 0], ["undefined", "inconclusive", "own"], "text"
    )
    return table


def predictions(kernel: FloatArray, answers: FloatArray, folds: IntArray) -> FloatArray:
    """Return what a ridge regression says of items of each fold that was trained on the other folds.

    Its penalty is chosen within the other folds: each of them predicted from the rest.
    """
    names = np.unique(folds)
    loss = np.zeros((names.size, _PENALTIES.size, answers.shape[1]))
    for a, b in itertools.combinations(range(names.size), 2):
        train = ~np.isin(folds, names[[a, b]])
        for outer, inner in ((a, b), (b, a)):
            test = folds == names[inner]
            text = _ridge(kernel, answers, train, test)
            loss[outer] += ((text - answers[test]) ** 2).sum(axis=1)
    result = np.empty_like(answers)
    for outer, name in enumerate(names):
        test = folds == name
        best = loss[outer].argmin(axis=0)
        result[test] = _ridge(kernel, answers, ~test, test)[best, :, np.arange(answers.shape[1])].T
    return result


def compare_predictors(
    answer: FloatArray, own: FloatArray, text: FloatArray, folds: IntArray, groups: IntArray
) -> dict[str, Any]:
    """Return r of answers with own probabilities and with what the text predicts, and their difference with its test.

    All are taken about the means of their folds, for a prediction of a fold knows nothing of its mean. The standard
    error is that of the summed influences of groups (paradigms; CR2), with its degrees of freedom. The
    variance of r with predictions is enlarged for the training sets that folds share (Nadeau & Bengio 2003: the ratio
    of tested to trained items times the number of folds); there are none in one fold.
    """
    n, n_groups = answer.size, int(np.unique(groups).size)
    counts = {"n": n, "n_groups": n_groups}
    if not (varies(answer) and varies(own)):
        return counts | dict.fromkeys(("r_own", "r_text", "difference", "low", "high", "detectable", "p"), np.nan)
    y, x, z = (_standardised(values, folds) for values in (answer, own, text))
    r_own, r_text = float((y * x).mean()), float((y * z).mean())
    codes = np.unique(groups, return_inverse=True)[1]
    own_pull, text_pull = y * x - r_own * (y**2 + x**2) / 2, y * z - r_text * (y**2 + z**2) / 2
    variance = (shifts_of_mean(own_pull - text_pull, codes) ** 2).sum()
    n_folds = int(np.unique(folds).size)
    if n_folds > 1:
        variance += n_folds / (n_folds - 1) * (shifts_of_mean(text_pull, codes) ** 2).sum()
    error = float(np.sqrt(variance))
    difference, t = r_own - r_text, stats.t(freedom(codes))
    reach = float(t.ppf(1 - SIGNIFICANCE / 2))
    return counts | {
        "r_own": r_own,
        "r_text": r_text,
        "difference": difference,
        "low": difference - reach * error,
        "high": difference + reach * error,
        "detectable": (reach + float(t.ppf(POWER))) * error,
        "p": float(2 * t.sf(abs(difference) / error)) if error > 0 else np.nan,
    }


def _standardised(values: FloatArray, folds: IntArray) -> FloatArray:
    """Return values about the means of their folds, with mean square 1."""
    codes = np.unique(folds, return_inverse=True)[1]
    means = np.bincount(codes, weights=values) / np.bincount(codes)
    away = values - means[codes]
    size = float(np.sqrt((away**2).mean()))
    return away / size if size > 0 else away


def _kernel_and_folds(good: Sequence[str], bad: Sequence[str], groups: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the similarity of pairs, shape (items, items), and the fold of each item; paradigms stay together."""
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.model_selection import GroupKFold

    hashing = HashingVectorizer(analyzer="char", ngram_range=(1, 4), n_features=_N_FEATURES, norm=None)
    first, second = hashing.transform(good), hashing.transform(bad)
    kernel = np.zeros((len(good), len(good)))
    for part in (first - second, first + second):
        products = (part @ part.T).toarray()
        kernel += products / max(float(np.diag(products).mean()), 1e-12)
    folds = np.empty(len(good), dtype=np.int64)
    for nth, (_, test) in enumerate(GroupKFold(N_FOLDS).split(good, groups=groups)):
        folds[test] = nth
    return kernel, folds


def _ridge(kernel: FloatArray, answers: FloatArray, train: Any, test: Any) -> FloatArray:  # noqa: ANN401 - marks
    """Return predictions by each penalty, shape (penalties, tested items, answers)."""
    inner, across = kernel[np.ix_(train, train)], kernel[np.ix_(test, train)]
    column = inner.mean(axis=0)
    across = across - column - across.mean(axis=1, keepdims=True) + column.mean()
    inner = inner - column - column[:, None] + column.mean()
    values, vectors = np.linalg.eigh(inner)
    values = np.maximum(values, 0.0)
    mean = answers[train].mean(axis=0)
    turned, reached = vectors.T @ (answers[train] - mean), across @ vectors
    scale = float(values.mean())
    return np.stack([mean + reached @ (turned / (values + penalty * scale)[:, None]) for penalty in _PENALTIES])
