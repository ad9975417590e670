"""Components of crossed variance: exact where the formula is known, near the truth, intervals that cover."""

import numpy as np
import pytest

from pairbank.errors import BankError
from pairbank.stats.measures.regression import crossed_components


def drawn(rng: np.random.Generator, n_items: int, sizes: tuple[float, ...], missing: float) -> dict[str, float]:
    """Estimated shares of items, 6 prompts, 8 models, their pairs and the rest, of values with these variances."""
    item, prompt, model = (x.ravel() for x in np.meshgrid(*map(np.arange, (n_items, 6, 8)), indexing="ij"))
    pairs = [(item,), (prompt,), (model,), (item, prompt), (item, model), (prompt, model)]
    value = rng.normal(0, np.sqrt(sizes[-1]), item.size)
    for codes, variance in zip(pairs, sizes, strict=False):
        shape = [int(code.max()) + 1 for code in codes]
        value += rng.normal(0, np.sqrt(variance), shape)[codes]
    kept = rng.random(item.size) >= missing
    factors = {"item": item[kept], "prompt": prompt[kept], "model": model[kept]}
    return {part.name: part.variance for part in crossed_components(value[kept], factors)}


def test_balanced_two_way_components_are_those_of_analysis_of_variance() -> None:
    """Shrout & Fleiss 1979, Table 2: six targets, four judges; mean squares 11.24, 32.49 and 1.02 (Table 3)."""
    ratings = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float)
    item, rater = np.divmod(np.arange(24), 4)
    parts = {p.name: p.variance for p in crossed_components(ratings.ravel(), {"item": item, "rater": rater})}
    assert parts["rest"] == pytest.approx(1.02, abs=0.005)
    assert parts["item"] == pytest.approx((11.24 - 1.02) / 4, abs=0.005)
    assert parts["rater"] == pytest.approx((32.49 - 1.02) / 6, abs=0.005)
    whole = sum(parts.values())
    assert parts["item"] / whole == pytest.approx(0.29, abs=0.005)  # ICC(2, 1) as they print it


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_components_are_unbiased_with_and_without_missing_cells(missing: float) -> None:
    truth = (1.0, 0.5, 0.5, 0.3, 0.8, 0.2, 2.0)
    rng = np.random.default_rng(0)
    runs = [list(drawn(rng, 25, truth, missing).values()) for _ in range(30)]
    mean, error = np.mean(runs, axis=0), np.std(runs, axis=0) / np.sqrt(30)
    assert (np.abs(mean - truth) < 3.5 * error).all()


def test_the_interval_of_the_share_of_items_covers_the_truth() -> None:
    rng, covered = np.random.default_rng(1), 0
    for _ in range(100):
        item, model = np.divmod(np.arange(100 * 5), 5)
        value = rng.normal(size=100)[item] + rng.normal(0, 1.5, 500)
        part = crossed_components(value, {"item": item, "model": model})[0]
        covered += part.low <= 1 / (1 + 2.25) <= part.high
    assert covered >= 88


def test_a_factor_of_one_level_and_cells_that_share_nothing_are_refused() -> None:
    item = np.arange(6)
    with pytest.raises(BankError, match="each needs two levels"):
        crossed_components(item.astype(np.float64), {"item": item, "model": item * 0})
    with pytest.raises(BankError, match="too few cells share a level"):
        crossed_components(item.astype(np.float64), {"item": item, "model": item})
