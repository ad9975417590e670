"""Where items come in paradigms, these are the draws of what introspection says."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from nulls.introspection import made_up_models
from pairbank.stats.analyses.introspection.beyond_relatives import CLUSTERED, own_advantage
from pairbank.stats.analyses.introspection.model_pairs import pair_correlations, resampled_correlations, words
from pairbank.stats.scored_table.scored_table import stack_deltas
from rated_tables import rated_table

TENS = np.arange(700) // 10


def test_a_stack_knows_the_paradigms_of_its_items_where_there_are_ten() -> None:
    tables = [rated_table(60, seed=seed, model=f"m{seed}") for seed in range(2)]
    assert stack_deltas(tables).clusters is None, "two paradigms are no draws"
    named = [replace(x, frame=x.frame.assign(paradigm=[f"p{i % 12:02d}" for i in range(60)])) for x in tables]
    stack = stack_deltas(named)
    assert stack.clusters is not None
    assert stack.clusters.tolist() == [i % 12 for i in range(1, 60)]  # the first item is no choice
    part = stack.select(stack.clusters < 11)
    assert part.clusters is not None
    assert part.clusters.max() == 10
    assert stack.select(stack.clusters < 9).clusters is None
    some = named[0].frame.assign(paradigm=named[0].frame["paradigm"].where(np.arange(60) > 1))
    assert stack_deltas([replace(named[0], frame=some)]).clusters is None


def test_paradigms_of_one_item_are_the_items_but_for_the_correction_for_few() -> None:
    stack, features = made_up_models(np.random.default_rng(4), n_models=3, family_size=2, n_items=200)
    result = own_advantage(stack, pair_correlations(stack), features)
    alone = replace(stack, clusters=np.arange(200))
    drawn = own_advantage(alone, pair_correlations(stack), features)
    assert drawn.over_relatives.method == CLUSTERED
    errors = [np.sqrt((x.models.influence**2).sum(axis=1))[:2] for x in (result, drawn)]
    np.testing.assert_allclose(errors[1], errors[0] * np.sqrt(200 / 199), rtol=1e-12)
    assert "n = 200 items of 200 paradigms, which are the draws" in words().render("headline", drawn)
    assert "paradigms" not in words().render("headline", result)


def test_a_paradigm_counts_by_its_size_in_error_and_degrees_of_freedom() -> None:
    """CR2 and Satterthwaite's degrees of freedom, from the hat matrix of a mean (Bell & McCaffrey 2002)."""
    sizes = np.array([60, 30, 20, 10, 10, 10, 5, 5, 5, 5])
    clusters, n = np.repeat(np.arange(10), sizes), 160
    stack, features = made_up_models(
        np.random.default_rng(4), n_models=3, family_size=2, n_items=n, design="clustered items", clusters=clusters
    )
    by_item, by_paradigm = (
        own_advantage(x, pair_correlations(x), features) for x in (stack, replace(stack, clusters=clusters))
    )
    away = np.eye(n) - 1 / n
    weights = np.zeros((10, n))
    for nth in range(10):
        within = clusters == nth
        values, vectors = np.linalg.eigh(away[np.ix_(within, within)])
        weights[nth] = (vectors / np.sqrt(values) @ vectors.T).sum(axis=0) @ away[within] / n
    expected = by_item.models.influence[:2] * n @ weights.T
    np.testing.assert_allclose(by_paradigm.models.influence[:2], expected, atol=1e-12)
    spectrum = np.linalg.eigvalsh(weights @ weights.T)
    freedom = spectrum.sum() ** 2 / (spectrum**2).sum()
    mean = expected.mean(axis=0)
    over = by_paradigm.over_relatives
    values = by_paradigm.models.value[:2]
    excess = values.var(ddof=1) - ((expected**2).sum() - 2 * (mean**2).sum()) / 1
    error = np.sqrt((mean**2).sum() + max(0.0, excess) / 2)
    assert over.high - over.value == pytest.approx(stats.t.ppf(0.975, freedom) * error, abs=1e-8)


def test_the_bootstrap_draws_paradigms_whole() -> None:
    stack, _ = made_up_models(
        np.random.default_rng(4), n_models=3, family_size=2, n_items=700, design="clustered items"
    )
    spread = {}
    for clusters in (None, TENS):
        drawn = resampled_correlations(replace(stack, clusters=clusters), rng=np.random.default_rng(1), n_resamples=400)
        spread[drawn.method] = float(drawn.direct_direct[:, 0, 1].std())
    assert spread["cluster-bootstrap-percentile"] > 1.15 * spread["bootstrap-percentile"]
    assert spread["bootstrap-percentile"] == pytest.approx(
        float(1 - pair_correlations(stack).direct_direct[0, 1] ** 2) / np.sqrt(700), rel=0.2
    )
