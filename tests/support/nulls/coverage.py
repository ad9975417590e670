"""Kinds of data with known truth, and how often an estimate's 95% interval holds it."""

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np
from scipy import stats

from nulls import Null, Outcome, Table
from pairbank.arrays import FloatArray
from pairbank.stats.estimates.estimate import Estimate
from pairbank.stats.estimates.shares import mean_of_items, share_of_items, share_of_trials
from pairbank.stats.measures.accuracy import balanced_accuracy, wilson_by_group
from pairbank.stats.measures.agreement import cohens_kappa, pearson, raw_agreement, spearman
from pairbank.stats.measures.paired_tests import paired_difference
from pairbank.stats.measures.probes import cross_validated, fold_mean
from pairbank.stats.measures.roc import auc, pooled_pairs

SIZES = (24, 50, 200, 1000)
FEWEST_WITH_INTERVAL = 0.05
"""Below this share of runs with an interval, coverage among them says nothing."""
Draw = Callable[[np.random.Generator, int], tuple[FloatArray, ...]]


@dataclass(frozen=True, slots=True)
class Case:
    estimate: str
    data: str
    draw: Draw
    """From a generator and a number of items, the columns of one sample."""
    statistic: Callable[..., Estimate]
    truth: float | Callable[[int], float] | None = None
    """Or its value at a number of items; none: that of 100,000 items."""
    fewest_runs: int = 1
    """The runs are divided by this where a run is slow."""

    def null(self, n: int) -> Null:
        seed = [zlib.crc32(f"{self.estimate}/{self.data}".encode()), n]
        labels, fewest = (self.estimate, self.data, f"n = {n:,}"), partial(fewer, by=self.fewest_runs)
        return Null(labels, partial(covered, self, n), seed=seed, truth=partial(truth_of, self, n), fewer=fewest)


def fewer(runs: int, by: int) -> int:
    return max(100, runs // by) if by > 1 else runs


def covered(case: Case, n: int, rng: np.random.Generator, truth: float) -> Outcome:
    one = case.statistic(*case.draw(rng, n))
    if np.isnan(one.low):
        return {"held": np.nan, "given": 0.0}
    return {"held": one.low - 1e-9 <= truth <= one.high + 1e-9, "given": 1.0}


def truth_of(case: Case, n: int, _: np.random.Generator) -> float:
    if case.truth is None:
        return case.statistic(*case.draw(np.random.default_rng(0), 100_000)).value
    return case.truth(n) if callable(case.truth) else case.truth


def normal_pair(rng: np.random.Generator, n: int, *, r: float) -> tuple[FloatArray, FloatArray]:
    """Return two columns of a bivariate normal distribution."""
    x, noise = rng.standard_normal((2, n))
    return x, r * x + np.sqrt(1 - r * r) * noise


def heavy_pair(rng: np.random.Generator, n: int, *, r: float) -> tuple[FloatArray, FloatArray]:
    """Return two columns of a bivariate t distribution, 3 degrees of freedom: hard items are so for both."""
    x, y = normal_pair(rng, n, r=r)
    scale = np.sqrt(3 / rng.chisquare(3, n))
    return x * scale, y * scale


def noisy_pair(rng: np.random.Generator, n: int, *, r: float) -> tuple[FloatArray, FloatArray]:
    """Return t (3) values and their sum with independent t (3) noise."""
    x, noise = rng.standard_t(3, (2, n))
    return x, r * x + np.sqrt(1 - r * r) * noise


def rounded_pair(rng: np.random.Generator, n: int, *, r: float) -> tuple[FloatArray, FloatArray]:
    x, y = normal_pair(rng, n, r=r)
    return np.round(x), np.round(y)


def binary_pair(rng: np.random.Generator, n: int, *, p: float, q: float, r: float) -> tuple[FloatArray, FloatArray]:
    """Return right (1) and wrong (-1) of two methods whose latent difficulty correlates."""
    x, y = normal_pair(rng, n, r=r)
    return np.where(stats.norm.cdf(x) < p, 1.0, -1.0), np.where(stats.norm.cdf(y) < q, 1.0, -1.0)


def trials(rng: np.random.Generator, n: int, *, p: float, alike: float) -> tuple[FloatArray, FloatArray]:
    """Return credits of two orders of each item, beta-binomial with this intraclass correlation, and their items."""
    of_item = rng.beta(p * (1 - alike) / alike, (1 - p) * (1 - alike) / alike, n)
    return (rng.random((n, 2)) < of_item[:, np.newaxis]).astype(np.float64).ravel(), np.repeat(np.arange(n), 2)


def biased_trials(rng: np.random.Generator, n: int, *, p: float, bias: float) -> tuple[FloatArray, FloatArray]:
    """Return credits of two orders, where the first option is chosen too often: one order is right more often."""
    right = np.column_stack([rng.random(n) < p + bias, rng.random(n) < p - bias])
    return right.astype(np.float64).ravel(), np.repeat(np.arange(n), 2)


def texts_without_answer(rng: np.random.Generator, n: int, *, p: float) -> tuple[FloatArray]:
    """Return the share of two written texts of an item that have no answer."""
    credit, _ = trials(rng, n, p=p, alike=0.3)
    return (credit.reshape(n, 2).mean(axis=1),)


def strata(rng: np.random.Generator, n: int, *, spread: float) -> tuple[FloatArray]:
    """Return right and wrong of items of ten paradigms, always these, whose accuracies differ; the mean is .75."""
    of_paradigm = 0.75 + spread * np.linspace(-1, 1, 10)
    return ((rng.random(n) < of_paradigm[np.arange(n) % 10]).astype(np.float64),)


def drawn_paradigms(rng: np.random.Generator, n: int) -> tuple[FloatArray]:
    """Return right and wrong of items of ten paradigms that are themselves drawn anew."""
    of_paradigm = rng.beta(7.5, 2.5, 10)
    return ((rng.random(n) < of_paradigm[np.arange(n) % 10]).astype(np.float64),)


def judged(rng: np.random.Generator, n: int, *, good: float, bad: float) -> tuple[FloatArray, ...]:
    """Return answers to both sentences of pairs, whether each is good, and its pair."""
    x, y = binary_pair(rng, n, p=good, q=bad, r=-0.5)
    return np.concatenate([x, -y]), np.repeat([1.0, 0.0], n), np.tile(np.arange(n, dtype=np.float64), 2)


def message_pairs(rng: np.random.Generator, n: int, *, shift: float, heavy: bool = False) -> tuple[FloatArray, ...]:
    """Return scores of the good and the bad strings of pairs that share a message."""
    message, good, bad = rng.standard_t(3, (3, n)) if heavy else rng.standard_normal((3, n))
    return 0.8 * message + 0.6 * good + shift, 0.8 * message + 0.6 * bad


def half_credit(rng: np.random.Generator, n: int, *, p: float) -> tuple[FloatArray]:
    return (np.where(rng.random(n) < 0.2, 0.5, (rng.random(n) < p).astype(np.float64)),)


def one_column(rng: np.random.Generator, n: int, *, kind: str) -> tuple[FloatArray]:
    made = {
        "normal": lambda: rng.standard_normal(n),
        "heavy-tailed (t3)": lambda: rng.standard_t(3, n),
        "tied (rounded)": lambda: np.round(rng.standard_normal(n)),
        "skewed (gamma, shape 4)": lambda: 2.0 - rng.gamma(4.0, 0.5, n),
    }
    return (made[kind]() - 5.0,)


def correlations() -> Iterator[Case]:
    kinds = {
        "normal": normal_pair,
        "heavy-tailed (t3), items hard for both": heavy_pair,
        "heavy-tailed (t3), independent noise": noisy_pair,
        "tied (rounded)": rounded_pair,
    }
    for name, statistic in (("pearson", pearson), ("spearman", spearman)):
        for kind, draw in kinds.items():
            for r in (0.0, 0.5, 0.9):
                drawn: Draw = partial(draw, r=r)
                known = name == "pearson" and kind != "tied (rounded)"
                yield Case(name, f"{kind}, r = {r}", drawn, statistic, r if known else None)


def shares() -> Iterator[Case]:
    for p in (0.5, 0.75, 0.97):
        plain: Draw = partial(lambda rng, n, p: ((rng.random(n) < p).astype(np.float64),), p=p)
        yield Case("accuracy", f"p = {p}", plain, share_of_items, p)
        for alike in (0.1, 0.5, 0.9):
            drawn: Draw = partial(trials, p=p, alike=alike)
            data = f"p = {p}, two orders, intraclass r = {alike}"
            yield Case("accuracy pooled", data, drawn, share_of_trials, p)
    yield Case("accuracy", "a fifth ties", partial(half_credit, p=0.75), share_of_items, 0.7)
    for spread in (0.1, 0.24):
        data = f"ten paradigms, always these, p = .75 +- {spread}"
        yield Case("accuracy", data, partial(strata, spread=spread), share_of_items, 0.75)
    yield Case("accuracy (no claim: see text)", "ten paradigms drawn anew", drawn_paradigms, share_of_items, 0.75)
    data = "p = .5, order bias .3 (two orders)"
    drawn = partial(biased_trials, p=0.5, bias=0.3)
    yield Case("accuracy pooled", data, drawn, share_of_trials, 0.5)
    for p in (0.03, 0.3):
        drawn = partial(texts_without_answer, p=p)
        yield Case("unparsed", f"p = {p}, two texts", drawn, share_of_items, p)
    for p in (0.75, 0.97):
        drawn = partial(trials, p=p, alike=0.5)
        yield Case("group interval", f"p = {p}, two orders", drawn, group_share, p)
    yield Case("human agreement, pooled", "p = .9, items of 1 to 9 raters", rated, share_of_trials, 0.9)


def group_share(credit: FloatArray, items: FloatArray) -> Estimate:
    means = np.bincount(items.astype(np.int64), weights=credit) / 2
    return wilson_by_group(means, np.zeros(means.size, dtype=np.int64), 1)[0]


def rated(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    """Return single judgments of items that have 1 to 9 raters."""
    sizes = rng.integers(1, 10, n)
    of_item = rng.beta(0.9 * 3, 0.1 * 3, n)
    items = np.repeat(np.arange(n), sizes).astype(np.float64)
    return (rng.random(items.size) < of_item[items.astype(np.int64)]).astype(np.float64), items


def choices() -> Iterator[Case]:
    for p, q in ((0.5, 0.5), (0.75, 0.65), (0.97, 0.97)):
        for r in (0.0, 0.7, 0.95):
            drawn: Draw = partial(binary_pair, p=p, q=q, r=r)
            data = f"p = {p} and {q}, latent r = {r}"
            for name, statistic in (("kappa", cohens_kappa), ("raw agreement", raw_agreement)):
                yield Case(name, data, drawn, statistic)
            yield Case("paired difference", data, drawn, difference, p - q)
    for good, bad in ((0.8, 0.6), (0.97, 0.97), (0.97, 0.6)):
        drawn = partial(judged, good=good, bad=bad)
        yield Case("balanced accuracy", f"yes to good {good}, no to bad {bad}", drawn, balanced, (good + bad) / 2)


def difference(a: FloatArray, b: FloatArray) -> Estimate:
    return paired_difference((a - b) / 2)


def balanced(answers: FloatArray, is_good: FloatArray, items: FloatArray) -> Estimate:
    return balanced_accuracy(answers, is_good, items=items)


def areas_and_means() -> Iterator[Case]:
    for shift in (0.0, 1.0, 2.7):
        for heavy in (False, True):
            drawn: Draw = partial(message_pairs, shift=shift, heavy=heavy)
            data = f"pairs, {'t3' if heavy else 'normal'}, shift {shift}"
            yield Case("auc", data, drawn, area, 0.5 if shift == 0 else None)
    tied: Draw = partial(tied_pairs, shift=1.0)
    yield Case("auc", "pairs, tied (rounded)", tied, area)
    for kind in ("normal", "heavy-tailed (t3)", "tied (rounded)", "skewed (gamma, shape 4)"):
        drawn = partial(one_column, kind=kind)
        yield Case("mean log P", kind, drawn, mean_of_items, -5.0)


def tied_pairs(rng: np.random.Generator, n: int, *, shift: float) -> tuple[FloatArray, ...]:
    good, bad = message_pairs(rng, n, shift=shift)
    return np.round(good), np.round(bad)


def area(good: FloatArray, bad: FloatArray) -> Estimate:
    return auc(pooled_pairs(good, bad))


def probed(rng: np.random.Generator, n: int, *, shift: float) -> tuple[FloatArray, ...]:
    """Return states of eight numbers of the better and the worse sentences, and their folds."""
    states = rng.standard_normal((2 * n, 8))
    states[:n, 0] += shift
    return states, np.repeat([1.0, 0.0], n), np.tile(rng.permutation(n) % 5, 2)


def probe(states: FloatArray, labels: FloatArray, folds: FloatArray) -> Estimate:
    return fold_mean(cross_validated(states, [labels], folds.astype(np.int64))[0].f1, n=len(states) // 2)


def probe_truth(n: int, draw: Draw) -> float:
    """Return the mean of 100 probes trained on as many pairs, n by n."""
    rng = np.random.default_rng(n)
    return float(np.mean([probe(*draw(rng, n)).value for _ in range(100)]))


def probes() -> Iterator[Case]:
    """Yield F1 of one layer."""
    for shift, data in ((0.0, "no difference"), (1.5, "F1 about .77")):
        draw = partial(probed, shift=shift)
        yield Case("probe F1", data, draw, probe, partial(probe_truth, draw=draw), fewest_runs=20)


def nulls() -> Iterator[Null]:
    from nulls.agreement_coverage import clustered, given_the_rest, raters

    cases = chain(
        *(of() for of in (shares, choices, correlations, areas_and_means, probes, clustered, given_the_rest, raters))
    )
    return (case.null(n) for case in cases for n in SIZES)


def cell(rates: Mapping[str, float]) -> str:
    """Return coverage in per cent, and how many runs have an interval where not all do."""
    if rates["given"] < FEWEST_WITH_INTERVAL:
        return "none"
    of = "" if rates["given"] > 0.999 else f" ({100 * rates['given']:.0f}% have one)"
    return f"{100 * rates['held']:.1f}{of}"


CASES = (
    # Fisher's own interval covers .73 here
    Case("pearson", "heavy", partial(heavy_pair, r=0.5), pearson, 0.5),
    Case("spearman", "heavy", partial(heavy_pair, r=0.0), spearman, 0.0),
    # trials taken as independent cover .84
    Case("pooled", "alike", partial(trials, p=0.75, alike=0.8), share_of_trials, 0.75),
    # items taken as right or wrong cover .99
    Case("pooled", "biased", partial(biased_trials, p=0.5, bias=0.3), share_of_trials, 0.5),
    # the percentile bootstrap covers .80 to .90 in these three
    Case("difference", "near 1", partial(binary_pair, p=0.97, q=0.9, r=0.0), difference, 0.07),
    Case("auc", "null", partial(message_pairs, shift=0.0), area, 0.5),
    Case("mean log P", "heavy", partial(one_column, kind="heavy-tailed (t3)"), mean_of_items, -5.0),
    # phi of two median splits of normal variables that correlate at .7: 2 / pi * arcsin(.7)
    Case("kappa", "middling", partial(binary_pair, p=0.5, q=0.5, r=0.7), cohens_kappa, 2 / np.pi * np.arcsin(0.7)),
)
WITHIN = {"given": (0.991, 1.0), "held": (0.91, 0.99)}
"""93 to 97 per cent; two standard errors of a coverage of .95 in 400 runs are .022."""
TESTED = tuple(case.null(50).small(400, WITHIN) for case in CASES)
TABLES = (Table("coverage", ("estimate", "data"), nulls, tested=TESTED, cell=cell),)
