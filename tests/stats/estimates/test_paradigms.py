"""Intervals over paradigms: values from outside, when there is none, and how often they hold the truth."""

import numpy as np
import pytest
from scipy.linalg import sqrtm
from scipy.special import stdtr
from scipy.stats import binomtest

from nulls import published
from nulls.paradigm_draws import UNEVEN, nested
from pairbank.errors import BankError
from pairbank.stats.estimates.bootstrap import draws, freedom, standard_error, why_not_drawn
from pairbank.stats.estimates.estimate import Estimate
from pairbank.stats.estimates.shares import mean_of_items, share_of_items
from pairbank.stats.measures.agreement import cohens_kappa, pearson, spearman
from pairbank.stats.measures.associations import p_of_all, p_over_paradigms, partial_correlation
from pairbank.stats.measures.paired_tests import beyond_clusters_p, gain_test, paired_difference

SECTION = "Paradigms of uneven sizes"


def test_the_standard_error_and_its_degrees_of_freedom_are_those_of_cr2() -> None:
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 12, size=90) ** 2 // 12
    values = rng.normal(size=12)[codes] + rng.normal(size=90)
    n, residuals = codes.size, values - values.mean()
    own = [np.flatnonzero(codes == k) for k in range(codes.max() + 1)]  # a design of ones has the leverage 1 / n
    adjusted = [np.linalg.inv(sqrtm(np.eye(rows.size) - 1 / n)) for rows in own]
    sums = [float((a @ residuals[rows]).sum()) / n for a, rows in zip(adjusted, own, strict=True)]
    assert standard_error(values, codes) == pytest.approx(np.linalg.norm(sums))
    left = np.eye(n) - 1 / n
    parts = np.array([left[:, rows] @ a.sum(axis=1) for a, rows in zip(adjusted, own, strict=True)])
    products = parts @ parts.T  # Bell & McCaffrey 2002, section 4
    assert freedom(codes) == pytest.approx(np.trace(products) ** 2 / (products**2).sum())


def test_fewer_than_four_paradigms_unknown_ones_or_one_an_item_give_no_interval() -> None:
    x, y, codes = nested(np.random.default_rng(2), [10] * 3, shared=0.5)
    for clusters in (codes, np.where(codes == 2, -1, codes), np.arange(codes.size), None):
        for result in (pearson(x, y, clusters=clusters), cohens_kappa(x, y, clusters=clusters)):
            assert result.n_paradigms == 0
            assert np.isnan(result.low_paradigms)
    with pytest.raises(BankError, match="one paradigm per item"):
        draws([0, 1], 3)


def test_an_interval_over_paradigms_changes_neither_value_nor_interval_over_items() -> None:
    x, y, codes = nested(np.random.default_rng(3), [8] * 30, shared=0.4)
    right = (x > 0).astype(float)
    pairs: list[tuple[Estimate, Estimate]] = [
        (pearson(x, y), pearson(x, y, clusters=codes)),
        (spearman(x, y), spearman(x, y, clusters=codes)),
        (cohens_kappa(x, y), cohens_kappa(x, y, clusters=codes)),
        (share_of_items(right), share_of_items(right, clusters=codes)),
        (mean_of_items(x), mean_of_items(x, clusters=codes)),
        (paired_difference(right - (y > 0)), paired_difference(right - (y > 0), clusters=codes)),
    ]
    for over_items, both in pairs:
        assert (both.value, both.low, both.high, both.n) == (
            over_items.value,
            over_items.low,
            over_items.high,
            over_items.n,
        )
        assert both.n_paradigms == 30
        assert both.low_paradigms <= both.value <= both.high_paradigms


def test_ratings_that_only_their_paradigms_share_with_the_model_are_not_called_predicted() -> None:
    rng = np.random.default_rng(4)
    n_runs, items, paradigms, partial = 150, 0, 0, 0
    for _ in range(n_runs):
        codes = np.repeat(np.arange(20), 30)
        x, z, y = (rng.normal(size=20)[codes] + rng.normal(size=codes.size) for _ in range(3))
        items += p_of_all(y, np.column_stack([x, z])) < 0.05
        paradigms += p_over_paradigms(y, {"x": x, "z": z}, codes) < 0.05
        result = partial_correlation(x, y, z[:, np.newaxis], clusters=codes)
        partial += not result.low_paradigms <= 0 <= result.high_paradigms
    assert items / n_runs > 0.4
    assert max(paradigms, partial) / n_runs <= 0.10


def test_what_paradigms_and_items_predict_is_found_over_paradigms() -> None:
    rng = np.random.default_rng(5)
    codes = np.repeat(np.arange(20), 20)
    x = rng.normal(size=20)[codes] + rng.normal(size=400)
    y = 0.5 * x + rng.normal(size=400)
    assert p_over_paradigms(y, {"x": x}, codes) < 0.001
    assert np.isnan(p_over_paradigms(y, {"x": x}, codes // 7))


def test_equal_models_rarely_differ_beyond_paradigms_of_uneven_sizes() -> None:
    rates = {row: float(cell) for (row, column), cell in published(SECTION).items() if column == "differ beyond"}
    assert sorted(rates) == sorted(UNEVEN)
    assert max(rates.values()) < 0.07


def test_where_one_paradigm_has_most_items_no_claim_goes_beyond_them_and_the_reason_is_given() -> None:
    sizes = UNEVEN["200 + 19 x 5"]
    assert published(SECTION)["200 + 19 x 5", "accuracy"] == "none"
    x, y, codes = nested(np.random.default_rng(6), sizes, shared=0.5)
    right = (x > 0).astype(float)
    for result in (
        pearson(x, y, clusters=codes),
        share_of_items(right, clusters=codes),
        mean_of_items(x, clusters=codes),
    ):
        assert result.n_paradigms == 0
    assert np.isnan(beyond_clusters_p(right - (y > 0), codes))
    assert why_not_drawn(codes.astype(str).astype(object)) == (
        "200 of 295 items are of one paradigm, so that 20 paradigms count like 2.2 of one size (at least 3 are needed)"
    )


def test_what_is_claimed_beyond_paradigms_holds_for_their_items_as_well() -> None:
    gain = np.zeros(60)
    gain[::5] = 1.0  # one gain in each of twelve paradigms, in two of them a second
    gain[[1, 6]], gain[2] = 1.0, -1.0
    codes = np.repeat(np.arange(12), 5)
    assert beyond_clusters_p(gain, codes) == pytest.approx(gain_test(gain).p_mid)
    error = standard_error(gain, codes)
    assert 2 * stdtr(freedom(codes), -gain.mean() / error) < gain_test(gain).p_mid


@pytest.mark.parametrize(("n", "least"), [(4, 0.3976), (12, 0.7354), (67, 0.9464)])
def test_where_all_items_are_right_the_interval_is_that_of_paradigms_that_are_all_right(n: int, least: float) -> None:
    codes = np.repeat(np.arange(n), 10)
    for right in (1.0, 0.0):
        one = share_of_items(np.full(codes.size, right), clusters=codes)
        away = one.low_paradigms if right else 1 - one.high_paradigms
        assert away == pytest.approx(binomtest(n, n).proportion_ci(0.95, "exact").low)
        assert away == pytest.approx(least, abs=1e-4)
        assert (one.n_paradigms, one.high_paradigms if right else one.low_paradigms) == (n, right)


def test_of_paradigms_nearly_all_right_the_lower_end_is_that_of_random_weights() -> None:
    shares = np.array([1.0] * 8 + [0.9, 0.9, 0.8, 0.7])
    credit = np.concatenate([np.repeat([1.0, 0.0], [round(10 * share), 10 - round(10 * share)]) for share in shares])
    one = share_of_items(credit, clusters=np.repeat(np.arange(12), 10))
    weights = np.random.default_rng(9).dirichlet(np.ones(13), size=100_000)
    assert one.low_paradigms == pytest.approx(np.quantile(weights[:, 1:] @ shares, 0.025), abs=0.02)
    assert one.low > one.low_paradigms + 0.1
    below = share_of_items(np.where(np.arange(120) % 10 == 0, 0.0, credit), clusters=np.repeat(np.arange(12), 10))
    assert below.value < 0.9
    assert below.low_paradigms > 0.75  # of Wilson; 0.64 of random weights
