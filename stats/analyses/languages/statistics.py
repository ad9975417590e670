"""Methods across languages, and morphological complexity (He et al. 2025, Figures 1, 3 and 4).

English is so far from the rest that one language can make a correlation: each is also given without English, and
leaving out any one language. Figure 4 has unweighted means by morphological type, without English.

More complex languages (analytic < inflectional < agglutinative) are said to score lower and to need deeper layers. The
unit is the language: few of them (17 in the paper, 2 of them analytic), many ties. So p is from permuting the
languages, with the smallest correlation that could have been significant and the minimum detectable one (power 0.80).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pairbank.errors import BankError
from pairbank.stats.analyses.form import Rows, groups, typed
from pairbank.stats.analyses.form import cells as cells_of
from pairbank.stats.estimates.bootstrap import freedom, standard_error
from pairbank.stats.estimates.estimate import Estimate, paired_vectors
from pairbank.stats.estimates.shares import merged
from pairbank.stats.measures.agreement import pearson

ENGLISH = "en"

CORRELATION = (
    "model", "negative_type", "method", "versus", "value", "low", "high", "n", "without_english", "lowest", "highest",
    "most_influential", "reason",
)  # fmt: skip
RANDOM = "random"
"""The kind of wrong concept that differs visibly from the right one; the others are subtle."""
ORDER = ("analytic", "inflectional", "agglutinative")
"""From the least complex to the most, as in the paper's Figure 4."""
BEST_LAYER = "best layer"
FEWEST = 5
"""Languages below which no order of them is rarer than one in twenty."""
N_PERMUTATIONS = 9_999
MOST_EXACT = 7
"""Languages up to which all orders are counted."""
SPEARMAN_VARIANCE = 1.06
"""Of Fisher's z of a rank correlation, times n - 3 (Fieller, Hartley & Pearson 1957)."""
COMPLEXITY = ("model", "what", "rho", "p", "n_languages", "least_significant", "least_with_power", *ORDER, "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveOneOut:
    """A correlation over named cases, and what becomes of it without each of them."""

    estimate: Estimate
    """Over all cases."""
    without: Mapping[str, float]
    """r without this case; NaN where it is then undefined."""

    @property
    def lowest(self) -> float:
        """Smallest r with one case left out; NaN where none is defined."""
        return float(pd.Series(self.without, dtype=float).min())

    @property
    def highest(self) -> float:
        """Largest r with one case left out; NaN where none is defined."""
        return float(pd.Series(self.without, dtype=float).max())

    @property
    def most_influential(self) -> str | None:
        """The case whose absence changes r most; None where r is undefined."""
        changes = (pd.Series(self.without, dtype=float) - self.estimate.value).abs()
        return str(changes.idxmax()) if changes.notna().any() else None


def leave_one_out(x: ArrayLike, y: ArrayLike, names: Sequence[str], *, level: float = 0.95) -> LeaveOneOut:
    """Return Pearson's r over named cases, and without each one.

    Args:
        x: One number per case, shape (cases,).
        y: The other number of the same cases.
        names: The cases, all different.
        level: Confidence level of the interval over all cases (jackknife).

    Raises:
        BankError: If the lengths differ, a number is not finite, or a name repeats.

    >>> found = leave_one_out([0, 1, 0, 1, 9], [0, 0, 1, 1, 9], ["ca", "nl", "fr", "es", "en"])
    >>> round(found.estimate.value, 3), round(found.without["en"], 3), found.most_influential
    (0.983, 0.0, 'en')
    """
    first, second = paired_vectors(x, y, names=("x", "y"))
    if len(names) != first.size or len(set(names)) != len(names):
        raise BankError(f"names {list(names)}; expected {first.size} different ones")
    without = {name: pearson(np.delete(first, n), np.delete(second, n)).value for n, name in enumerate(names)}
    return LeaveOneOut(estimate=pearson(first, second, level=level), without=without)


def typology_means(cells: pd.DataFrame, typology: Mapping[str, str | None]) -> pd.DataFrame:
    """Return the unweighted mean over the languages of each morphological type (He et al. 2025, Figure 4)."""
    keys = ["model", "method", "negative_type", "language"]
    if cells.duplicated(keys).any():
        twice = cells[cells.duplicated(keys)].iloc[0][keys].to_dict()
        raise BankError(f"the cell {twice} occurs twice; expected one number per model, method, type and language")
    kinds = cells["language"].map(dict(typology))
    known = cells.assign(typology=kinds)[kinds.notna()]
    by_type = known.groupby(["model", "method", "negative_type", "typology"], sort=False)["value"]
    return by_type.agg(value="mean", n_languages="size").reset_index()


def method_correlations(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the correlation of every two methods over languages, for each model and negative type."""
    rows = Rows()
    for (model, negative), part in cells.groupby(["model", "negative_type"], sort=False):
        wide = part.pivot_table(index="language", columns="method", values="value", sort=False)
        for a, b in itertools.combinations(wide.columns, 2):
            both = wide[[a, b]].dropna()
            found = leave_one_out(both[a].to_numpy(), both[b].to_numpy(), [str(name) for name in both.index])
            r, without_english = found.estimate, found.without.get(ENGLISH, math.nan)
            row = {"model": model, "negative_type": negative, "method": a, "versus": b} | cells_of(r) | {"n": r.n}
            row |= {"without_english": without_english, "lowest": found.lowest, "highest": found.highest}
            rows.append(row | {"most_influential": found.most_influential, "reason": r.reason})
    return typed(rows, CORRELATION)


class _Mean(NamedTuple):
    """A weighted sum of the accuracies with each kind of wrong concept in one language."""

    value: float
    error: float
    """Its standard error (CR2), pairs of one property together."""
    freedom: float
    n: int


def random_minus_subtle(pairs: pd.DataFrame) -> dict[str, Any]:
    """Return how much more accurate a method is with random wrong concepts than with subtle ones.

    Of each pair: its `credit` (1 for a right choice, 0.5 for a tie), `language`, `negative_type`, and as `cluster` the
    property, which pairs of one language may have in common.

    In each language: accuracy with random concepts minus the mean of the accuracies with each subtle kind, with a
    standard error that keeps pairs of one property together. Then the unweighted mean over languages. Its standard
    error is the mean of theirs, which is the largest that the mean can have: languages share concepts and properties,
    so that they say little that is new.
    """
    means = []
    for language in groups(pairs, "language"):
        kinds = language.frame["negative_type"].unique()
        if RANDOM in kinds and len(kinds) > 1:
            means.append(_mean(language.frame, {k: 1 if k == RANDOM else -1 / (len(kinds) - 1) for k in kinds}))
    value = float(np.mean([mean.value for mean in means])) if means else math.nan
    counts = {"n_languages": len(means), "n_higher": sum(mean.value > 0 for mean in means)}
    reason = None if means else f"no language has pairs of the kind {RANDOM} and of another"
    return _with_bounds(value, [means]) | counts | {"reason": reason}


def english_minus_others(pairs: pd.DataFrame) -> dict[str, Any]:
    """Return how much more accurate a method is in English than in the others, of which each counts the same.

    A language's accuracy is the mean of those with each kind. The standard error of the others' mean is the mean of
    theirs, as in `random_minus_subtle`; English has pairs of its own.

    >>> pairs = pd.DataFrame({"credit": [1, 0], "language": ["fr", "de"], "negative_type": "random", "cluster": "p"})
    >>> english_minus_others(pairs)["reason"]
    'English and another language are needed'
    """
    means = {}
    for language in groups(pairs, "language"):
        kinds = language.frame["negative_type"].unique()
        means[language.key[0]] = _mean(language.frame, dict.fromkeys(kinds, 1 / len(kinds)))
    english = means.pop(ENGLISH, None)
    if english is None or not means:
        return _with_bounds(math.nan, []) | {"n_languages": 0, "reason": "English and another language are needed"}
    values = np.array([mean.value for mean in means.values()])
    counts = {"n_languages": len(means), "n_higher": int((english.value > values).sum()), "reason": None}
    return _with_bounds(english.value - float(values.mean()), [[english], [*means.values()]]) | counts


def _with_bounds(value: float, parts: Sequence[Sequence[_Mean]]) -> dict[str, Any]:
    """Return a sum of independent parts with Student's 95% interval; languages of a part may share all their pairs."""
    from scipy.stats import t

    means = [mean for part in parts for mean in part]
    if not means:
        return {"value": math.nan, "low": math.nan, "high": math.nan, "n": 0}
    error = math.hypot(*(float(np.mean([mean.error for mean in part])) for part in parts))
    half = float(t.ppf(0.975, min(mean.freedom for mean in means)) * error)
    return {"value": value, "low": value - half, "high": value + half, "n": sum(mean.n for mean in means)}


def _mean(pairs: pd.DataFrame, weights: Mapping[str, float]) -> _Mean:
    credit, kind = pairs["credit"].to_numpy(dtype=np.float64), pairs["negative_type"].to_numpy(dtype=object)
    shifts, value = np.zeros(len(credit)), 0.0
    for name, weight in weights.items():
        of_kind = kind == name
        mean = credit[of_kind].mean()
        value += weight * float(mean)
        shifts[of_kind] = weight * (credit[of_kind] - mean) * len(credit) / of_kind.sum()
    codes = pd.factorize(pairs["cluster"])[0]
    error, degrees = (standard_error(shifts, codes), freedom(codes)) if codes.any() else (math.inf, 1.0)
    return _Mean(value=value, error=error, freedom=degrees, n=len(credit))


def languages_differ(pairs: pd.DataFrame) -> dict[str, Any]:
    """Return whether a method's accuracy differs between languages by more than properties differ within them.

    A one-way analysis of variance; units are the properties of a language, each with the mean over its pairs. Languages
    share properties, so that equal languages differ by less than the test supposes.
    """
    from scipy.stats import f as f_distribution

    units = pairs.groupby(["language", "cluster"], sort=False)["credit"].mean()
    by_language = units.groupby("language", sort=False)
    sizes, means = by_language.size().to_numpy(), by_language.mean().to_numpy()
    between, within = len(sizes) - 1, int(sizes.sum()) - len(sizes)
    squares = float(((units - by_language.transform("mean")) ** 2).sum())
    result: dict[str, Any] = {"F": math.nan, "p": math.nan, "n_languages": len(sizes)}
    if between < 1 or within < 1 or squares <= 0:
        return result
    ratio = float((sizes * (means - units.mean()) ** 2).sum()) / between / (squares / within)
    return result | {"F": ratio, "p": float(f_distribution.sf(ratio, between, within))}


ALPHA, POWER_Z = 0.05, 0.8416


def complexity_correlations(
    cells: pd.DataFrame, best_layers: pd.DataFrame, typology: Mapping[str, str | None], *, seed: int
) -> pd.DataFrame:
    """Return the rank correlation of each method's score, and of the best layer, with morphological complexity."""
    named = [(str(what), rows) for what, rows in cells.groupby("method", sort=False)]
    if len(best_layers):
        named.append((BEST_LAYER, best_layers))
    rows = [
        {"model": model, "what": what} | _row(part, typology, seed=seed)
        for what, rows in named
        for model, part in rows.groupby("model", sort=False)
    ]
    return typed(rows, COMPLEXITY)


def _row(part: pd.DataFrame, typology: Mapping[str, str | None], *, seed: int) -> dict[str, Any]:
    by_language = part.groupby("language", sort=True)["value"].mean()
    kinds = pd.Series({tag: typology.get(str(tag)) for tag in by_language.index}, dtype=object)
    known = kinds.isin(ORDER)
    scores, rank = by_language[known].to_numpy(dtype=float), kinds[known].map(ORDER.index).to_numpy(dtype=float)
    means = {
        kind: float(scores[rank == nth].mean()) if (rank == nth).any() else math.nan for nth, kind in enumerate(ORDER)
    }
    row: dict[str, Any] = {"n_languages": len(scores), **means, "reason": None}
    row |= dict.fromkeys(("rho", "p", "least_significant", "least_with_power"), math.nan)
    if len(scores) < FEWEST:
        return row | {"reason": f"{len(scores)} languages of known type; a test needs {FEWEST}"}
    if len(set(rank)) < 2 or np.ptp(scores) == 0:
        return row | {"reason": "the languages are of one type, or their scores all the same"}
    return row | permuted_rho(rank, scores, rng=np.random.default_rng(seed))


def permuted_rho(x: ArrayLike, y: ArrayLike, *, rng: np.random.Generator) -> dict[str, float]:
    """Return Spearman's rho with its permutation p, and the least |rho| that could be seen, and would be with power."""
    from scipy.stats import rankdata

    ranks = [rankdata(merged(values)) for values in (x, y)]
    centred = [values - values.mean() for values in ranks]
    a, b = (values / np.linalg.norm(values) for values in centred)
    n = len(a)
    if n <= MOST_EXACT:
        orders = np.array(list(itertools.permutations(range(n))))
    else:
        orders = np.vstack([np.arange(n), rng.permuted(np.tile(np.arange(n), (N_PERMUTATIONS, 1)), axis=1)])
    null_rhos = np.abs(b[orders] @ a)
    rho = float(a @ b)
    p = float(np.mean(null_rhos >= abs(rho) - 1e-12))
    values, counts = np.unique(np.round(null_rhos, 12), return_counts=True)
    rare = values[counts[::-1].cumsum()[::-1] / counts.sum() < ALPHA]
    least = float(rare[0]) if rare.size else math.nan  # that at most one in twenty orders reach
    spread = math.sqrt(SPEARMAN_VARIANCE / (n - 3))
    power = math.tanh(math.atanh(least) + POWER_Z * spread) if least < 1 else math.nan
    return {"rho": rho, "p": p, "least_significant": least, "least_with_power": power}
