"""Scores and best layers of languages against morphological complexity."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pairbank.builders.languages import typology
from pairbank.stats.analyses.languages.statistics import BEST_LAYER, ORDER, complexity_correlations, permuted_rho

KINDS = {tag: entry.typology for tag, entry in typology().items()}
COMPLEXITY = {tag: ORDER.index(kind) for tag, kind in KINDS.items() if kind is not None}


def cells(values: dict[str, float], *, model: str = "m", method: str = "direct") -> pd.DataFrame:
    rows = [
        {"model": model, "method": method, "negative_type": "random", "language": tag, "value": value}
        for tag, value in values.items()
    ]
    return pd.DataFrame(rows)


def test_rho_is_scipys_and_english_is_left_out() -> None:
    rng = np.random.default_rng(0)
    values = dict(zip(KINDS, rng.normal(size=18).tolist(), strict=True)) | {"en": 99.0}
    row = complexity_correlations(cells(values), cells({}), KINDS, seed=0).iloc[0]
    expected = stats.spearmanr(list(COMPLEXITY.values()), [values[tag] for tag in COMPLEXITY])
    assert row["n_languages"] == 17
    assert row["rho"] == pytest.approx(expected.statistic, abs=1e-12)
    # t approximation of 17 cases, many of them ties: near to the permutations' p
    assert row["p"] == pytest.approx(expected.pvalue, abs=0.03)
    assert row["agglutinative"] == pytest.approx(np.mean([values[tag] for tag in ("hu", "ja", "ko", "tr")]), abs=1e-12)


def test_p_of_few_languages_counts_all_orders() -> None:
    x, y = [0, 0, 1, 1, 2, 2], [1.0, 2.0, 3.0, 4.0, 6.0, 5.0]
    result = permuted_rho(x, y, rng=np.random.default_rng(0))
    exact = stats.permutation_test(
        (np.array(x),),
        lambda a: abs(stats.spearmanr(a, y).statistic),
        permutation_type="pairings",
        alternative="greater",
    )
    assert result["p"] == pytest.approx(exact.pvalue, abs=1e-12)


def test_a_rho_at_the_stated_effect_is_seen_in_four_samples_of_five() -> None:
    """Normal scores of 17 languages, 2, 11 and 4 a type, with the rank correlation that is said to have power .8."""
    rng = np.random.default_rng(1)
    rank = np.array(list(COMPLEXITY.values()), dtype=float)
    result = permuted_rho(rank, rng.normal(size=17), rng=rng)
    x = (rank - rank.mean()) / rank.std()
    slope = result["least_with_power"] / np.sqrt(1 - result["least_with_power"] ** 2)
    drawn = slope * x + rng.normal(size=(2_000, 17))
    rhos = [stats.spearmanr(rank, one).statistic for one in drawn]
    assert np.mean(np.abs(rhos) >= result["least_significant"]) == pytest.approx(0.8, abs=0.08)


def test_under_no_relation_one_sample_in_twenty_is_significant() -> None:
    rng = np.random.default_rng(2)
    rank = np.array(list(COMPLEXITY.values()), dtype=float)
    p = [permuted_rho(rank, rng.normal(size=17), rng=np.random.default_rng(i))["p"] for i in range(100)]
    assert np.mean(np.array(p) < 0.05) <= 0.12  # .05, three standard errors of 100 draws above


def test_best_layers_have_their_own_row_and_too_few_languages_a_reason() -> None:
    layers = cells({tag: 10.0 + nth for tag, nth in COMPLEXITY.items()}, method="neuro")
    some = cells({"zh": 0.6, "hu": 0.5, "de": 0.7})
    table = complexity_correlations(some, layers, KINDS, seed=0).set_index("what")
    rows = table.to_dict("index")
    assert rows[BEST_LAYER]["rho"] == pytest.approx(1.0, abs=1e-12)
    assert [rows[BEST_LAYER][kind] for kind in ORDER] == [10.0, 11.0, 12.0]
    assert rows["direct"]["reason"] == "3 languages of known type; a test needs 5"
