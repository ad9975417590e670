"""Regressions, contrasts of self with other models and the verdict: against closed forms and plain loops."""

import itertools
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from statsmodels.api import Logit, add_constant

from pairbank.errors import BankError
from pairbank.stats.analyses.introspection.analysis import (
    differences_from_first,
    introspect,
    published_test,
    self_contrasts,
)
from pairbank.stats.analyses.introspection.model_pairs import (
    pair_correlations,
    pair_table,
    resampled_correlations,
    words,
)
from pairbank.stats.analyses.introspection.tables import (
    consistency_by_similarity,
    consistency_by_size,
    correctness_by_size,
    means_by_match_type,
)
from pairbank.stats.measures.regression import Coefficient, Regression, binomial, least_squares
from pairbank.stats.scored_table.model_features import MATCH_TYPES, features_in_paper, match_type
from pairbank.stats.scored_table.scored_table import DeltaStack, stack_deltas
from scored_frames import related_frames
from shared_files import present

KINDS = ["seed variant", "base/instruct", "same family", "other"]


def stack(models: str = "abcde", *, n_items: int = 80, n_prompts: int = 3, introspection: float = 0.0) -> DeltaStack:
    frames = related_frames(list(models), n_items=n_items, n_prompts=n_prompts, introspection=introspection)
    return stack_deltas(frames)


def types_of(result: DeltaStack) -> list[str]:
    return ["self" if a == b else "other" for a, b in itertools.product(result.models, result.models)]


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def contrasts_of(result: DeltaStack, kinds: list[str], n_resamples: int = 50) -> pd.DataFrame:
    resampled = resampled_correlations(result, rng=rng(), n_resamples=n_resamples)
    return self_contrasts(pair_correlations(result), resampled, kinds)


# Regressions


def test_least_squares_has_the_closed_form_of_a_line() -> None:
    x, y = np.array([1.0, 2.0, 4.0, 7.0, 9.0]), np.array([2.0, 1.0, 5.0, 4.0, 8.0])
    fit = least_squares(y, {"x": x}, formula="y ~ x")
    sxx = ((x - x.mean()) ** 2).sum()
    slope = ((x - x.mean()) * (y - y.mean())).sum() / sxx
    rss = ((y - y.mean() - slope * (x - x.mean())) ** 2).sum()
    assert fit["x"].estimate == pytest.approx(slope)
    assert fit["x"].standard_error == pytest.approx(math.sqrt(rss / 3 / sxx))
    # Gaussian log-likelihood at its maximum; R's AIC counts intercept, slope and variance
    assert fit.log_likelihood == pytest.approx(-2.5 * (math.log(2 * math.pi * rss / 5) + 1))
    assert fit.aic == pytest.approx(6 - 2 * fit.log_likelihood)
    assert fit.bic == pytest.approx(3 * math.log(5) - 2 * fit.log_likelihood)
    assert fit.r_squared == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2)
    assert set(fit.table()["r_squared"]) == {fit.r_squared}
    # t with 3 degrees of freedom: p = 1 - 2/pi (atan(u) + u / (1 + u^2)), u = t / sqrt 3
    u = abs(fit["x"].statistic) / math.sqrt(3)
    assert fit["x"].p_value == pytest.approx(1 - 2 / math.pi * (math.atan(u) + u / (1 + u * u)))


def test_rows_with_a_missing_number_are_left_out_and_counted() -> None:
    fit = least_squares([1.0, 3.0, 2.0, np.nan, 9.0], {"x": [0.0, 1.0, 2.0, 3.0, np.nan]}, formula="y ~ x")
    assert (fit.n, fit.n_left_out) == (3, 2)
    assert fit["x"].estimate == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("y", "x", "reason"),
    [
        ([1.0, 2.0, 4.0], [5.0, 5.0, 5.0], "x cannot be told apart from intercept"),
        ([1.0], [5.0], "1 observations cannot determine 2 coefficients"),
        ([], [], "0 observations cannot determine 2 coefficients"),
    ],
)
def test_what_the_data_do_not_determine_has_no_number(y: list[float], x: list[float], reason: str) -> None:
    fit = least_squares(y, {"x": x}, formula="y ~ x")
    assert reason in str(fit.reason)
    assert not fit.is_defined
    assert all(math.isnan(value) for value in (fit["x"].standard_error, fit["x"].p_value, fit.aic))
    assert fit.table()["reason"].notna().all()


def test_an_exact_fit_has_coefficients_and_no_errors() -> None:
    for y, x, reason in (
        ([1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 2.0, 3.0], "exact"),
        ([1.0, 3.0], [0.0, 1.0], "as many coefficients as observations"),
    ):
        fit = least_squares(y, {"x": x}, formula="y ~ x")
        assert fit.is_defined
        assert reason in str(fit.reason)
        assert math.isnan(fit["x"].p_value)


def test_a_saturated_binomial_fit_gives_the_log_odds() -> None:
    cells = pd.DataFrame(
        {
            "is_meta": [False, False, True, True],
            "size_billions": [1.0, math.e, 1.0, math.e],
            "n_correct": [80, 90, 60, 75],
            "n_trials": [100] * 4,
        }
    )
    fit = correctness_by_size(cells)
    logits = [math.log(k / (100 - k)) for k in (80, 90, 60, 75)]
    assert fit["intercept"].estimate == pytest.approx(logits[0])
    assert fit["is_meta"].estimate == pytest.approx(logits[2] - logits[0])
    assert fit["log size"].estimate == pytest.approx(logits[1] - logits[0])
    assert fit["is_meta:log size"].estimate == pytest.approx(logits[3] - logits[2] - logits[1] + logits[0])
    # the variance of a log odds ratio is the sum of 1 / count (Woolf 1955)
    woolf = math.sqrt(1 / 80 + 1 / 20 + 1 / 60 + 1 / 40)
    assert fit["is_meta"].standard_error == pytest.approx(woolf)


def test_the_r_squared_of_a_logistic_regression_is_mcfaddens_over_single_trials() -> None:
    successes, trials, x = np.array([30, 10, 22]), np.array([40, 40, 50]), np.array([1.0, 0.0, 2.0])
    fit = binomial(successes, trials, {"x": x}, formula="y ~ x")
    single = np.concatenate([np.repeat([1, 0], [k, n - k]) for k, n in zip(successes, trials, strict=True)])
    by_statsmodels = Logit(single, add_constant(np.repeat(x, trials))).fit(disp=False).prsquared
    assert fit.r_squared == pytest.approx(by_statsmodels, abs=1e-9)
    assert binomial(successes, trials, {}, formula="y ~ 1").r_squared == pytest.approx(0, abs=1e-12)


def test_a_group_that_is_always_right_has_no_finite_log_odds() -> None:
    fit = binomial([40, 10], [40, 40], {"x": [1.0, 0.0]}, formula="y ~ x")
    assert fit.reason == "some group is always or never right: no finite estimate"
    assert not fit.is_defined
    with pytest.raises(BankError, match="between 0 and the trials"):
        binomial([41], [40], {}, formula="y ~ 1")


def test_models_without_a_declared_size_are_left_out_of_regressions_on_size() -> None:
    pairs = pd.DataFrame(
        {
            "direct_size_billions": [1.0, 1.0, 8.0, 8.0, 2.0, np.nan],
            "meta_size_billions": [1.0, 8.0, 1.0, 8.0, 3.0, 1.0],
            "meta_direct": [0.1, 0.3, 0.2, 0.5, 0.4, 0.9],
        }
    )
    fit = consistency_by_size(pairs)
    assert (fit.n, fit.n_left_out, fit.is_defined) == (5, 1, True)
    none = consistency_by_size(pairs.assign(direct_size_billions=np.nan))
    assert none.reason == "0 observations cannot determine 4 coefficients"


# The contrast of self with other models


def naive_contrast(result: DeltaStack, kinds: list[str]) -> tuple[float, float]:
    """Both contrasts of self with others for a stack, by numpy's corrcoef and lstsq."""
    x, y = [], []
    for a, b in itertools.product(range(len(result.models)), repeat=2):
        x.append(np.corrcoef(result.direct_nats[a], result.direct_nats[b])[0, 1])
        y.append(np.mean([np.corrcoef(result.direct_nats[a], meta[b])[0, 1] for meta in result.meta_nats]))
    is_other = np.array([kind != "self" for kind in kinds], dtype=float)
    plain = np.mean(np.array(y)[is_other == 0]) - np.mean(np.array(y)[is_other == 1])
    design = np.column_stack([np.ones(len(x)), x, is_other])
    return float(plain), -float(np.linalg.lstsq(design, np.array(y), rcond=None)[0][2])


def test_contrasts_and_their_resamples_are_those_of_a_plain_loop() -> None:
    result = stack()
    kinds = types_of(result)
    contrasts = contrasts_of(result, kinds, n_resamples=40)
    plain, equal = naive_contrast(result, kinds)
    assert contrasts["match_type"].tolist() == ["other", "other", "any other model", "any other model"]
    assert (contrasts[["n_self", "n_pairs", "n_items"]] == [5, 20, 80]).all(axis=None)
    assert contrasts["value"].tolist() == pytest.approx([plain, equal, plain, equal], abs=1e-10)
    drawn = rng().integers(80, size=(40, 80))
    resampled = np.array([naive_contrast(_drawn(result, items), kinds) for items in drawn])
    ends = np.quantile(resampled, [0.025, 0.975], axis=0).T
    np.testing.assert_allclose(contrasts[["low", "high"]].head(2), ends, rtol=0, atol=2e-10)
    assert set(contrasts["ci_method"]) == {"bootstrap-percentile"}


def _drawn(result: DeltaStack, items: np.ndarray) -> DeltaStack:
    return DeltaStack(
        corpus=result.corpus,
        models=result.models,
        prompts=result.prompts,
        item_ids=tuple(result.item_ids[nth] for nth in items),
        direct_nats=result.direct_nats[:, items],
        meta_nats=result.meta_nats[:, :, items],
        n_identical=0,
    )


@pytest.fixture(scope="module")
def published(shared: Path) -> dict[str, pd.DataFrame]:
    table = pd.read_csv(present(shared / "published" / "song_2025_model_pairs.csv")).rename(
        columns={"prob_model": "direct_model", "prompt_model": "meta_model"}
    )
    return {str(name): table[table["dataset"] == name] for name in dict.fromkeys(table["dataset"])}


@pytest.mark.upstream
def test_adjusted_differences_are_minus_the_published_coefficients(published: dict[str, pd.DataFrame]) -> None:
    # Song et al. 2025, Table 7a, exp1(filtered): seed variant .0043, base/instruct .0203, family .0519, other .0504
    pairs = published["exp1(filtered)"]
    groups = np.column_stack([pairs["match_type"] == kind for kind in ["self", *KINDS]]).astype(float)
    x, y = (pairs[name].to_numpy()[np.newaxis] for name in ("direct_direct", "meta_direct"))
    result = differences_from_first(x, y, groups)[1][0]
    assert result == pytest.approx(np.array([0, -0.0043, -0.0203, -0.0519, -0.0504]), abs=5e-5)
    for table in published.values():
        x, y = (table[name].to_numpy()[np.newaxis] for name in ("direct_direct", "meta_direct"))
        fit = consistency_by_similarity(table)
        ours = [-fit[kind].estimate for kind in KINDS]
        assert differences_from_first(x, y, groups)[1][0, 1:] == pytest.approx(np.array(ours), abs=1e-10)


def test_two_models_have_a_plain_contrast_and_none_at_equal_similarity() -> None:
    result = stack("ab")
    contrasts = contrasts_of(result, types_of(result))
    plain, equal = (contrasts[contrasts["control"] == control] for control in ("none", "similarity"))
    assert ((plain["low"] < plain["value"]) & (plain["value"] < plain["high"])).all()
    assert equal["value"].isna().all()
    assert equal["reason"].str.contains("does not vary within match types").all()


def test_one_model_and_no_items_give_reasons() -> None:
    alone = contrasts_of(stack("a"), ["self"]).iloc[0]
    assert (alone["n_self"], alone["n_pairs"]) == (1, 0)
    assert "both need one" in alone["reason"]
    result = stack("abc")
    empty = result.select(np.zeros(80, dtype=np.bool_))
    contrasts = contrasts_of(empty, types_of(result))
    assert contrasts["value"].isna().all()
    assert (contrasts["n_items"] == 0).all()


def test_the_same_generator_gives_the_same_intervals() -> None:
    result = stack()
    first, again = (contrasts_of(result, types_of(result)) for _ in range(2))
    assert first.equals(again)


# The verdict


def fitted(**coefficients: tuple[float, float]) -> Regression:
    """A regression with these coefficients and p values, by match type (underscores for spaces)."""
    parts = [Coefficient(term="intercept", estimate=0.1, standard_error=0.1, statistic=1.0, p_value=0.3)]
    for name, (estimate, p_value) in coefficients.items():
        term = name.replace("_", " ").replace("base instruct", "base/instruct")
        parts.append(Coefficient(term=term, estimate=estimate, standard_error=0.1, statistic=1.0, p_value=p_value))
    return Regression(
        formula="f", coefficients=tuple(parts), n=441, n_left_out=0, df_residual=400,
        log_likelihood=0.0, aic=0.0, bic=0.0, r_squared=0.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("fit", "outcome"),
    [
        (fitted(seed_variant=(-0.1, 0.01), other=(-0.2, 0.049)), "self-advantage"),
        (fitted(seed_variant=(-0.1, 0.01), other=(-0.2, 0.051)), "partial self-advantage"),
        (fitted(seed_variant=(-0.1, 0.01), other=(0.2, 0.001)), "partial self-advantage"),
        (fitted(seed_variant=(-0.1, 0.06), other=(0.2, 0.001)), "no self-advantage"),
        (fitted(seed_variant=(math.nan, math.nan)), "not estimable"),
        (fitted(), "not estimable"),
    ],
)
def test_the_outcome_follows_from_signs_and_p_values(fit: Regression, outcome: str) -> None:
    test = published_test(fit, n_models=21)
    assert test.outcome == outcome
    assert (test.reason is None) == (outcome != "not estimable")


def test_the_verdict_quotes_every_coefficient_and_says_where_the_opposite_holds() -> None:
    fit = fitted(seed_variant=(-0.012, 0.4), base_instruct=(0.02, 0.0004), other=(0.03, 0.02))
    text = words().render("published", published_test(fit, n_models=21))
    assert "seed variant -0.012 (p = .400); base/instruct +0.020 (p < .001); other +0.030 (p = .020)" in text
    assert "n = 441 pairs of 21 models" in text
    assert "Tests are two-sided at alpha = 0.05, not corrected" in text
    assert "The coefficients of base/instruct, other are positive" in text
    assert "No two of the models are declared as relatives" not in text


def test_the_verdict_says_so_where_no_model_has_a_relative() -> None:
    test = published_test(fitted(other=(0.03, 0.2), undeclared=(-0.1, 0.5)), n_models=5)
    assert "No two of the models are declared as relatives" in words().render("published", test)


@pytest.mark.upstream
def test_the_verdict_on_the_published_pairs_is_the_papers(published: dict[str, pd.DataFrame]) -> None:
    for name, pairs in published.items():
        test = published_test(consistency_by_similarity(pairs), n_models=21)
        assert test.outcome == "no self-advantage", name
        # "we also found significant positive effects of both other and same family" (sections 3.2.2 and 4.2.2)
        assert "same family, other are positive" in words().render("published", test)


def test_few_models_are_told_what_cannot_be_told_and_what_can() -> None:
    result = stack("ab")
    pairs = pair_table(result, {})
    fit = consistency_by_similarity(pairs)
    assert "undeclared cannot be told apart from intercept, direct_direct" in str(fit.reason)
    test = published_test(fit, n_models=2)
    assert test.outcome == "not estimable"
    assert "Only two models have both direct and prompted scores; with fewer than 3" in words().render(
        "published", test
    )
    text = words().render("verdict", introspect(result, {}, n_resamples=50))
    assert "What can be said: mean r of self minus mean r of others" in text


def test_models_that_do_introspect_are_found_out() -> None:
    answers = {}
    for introspection in (0.0, 1.5):
        result = stack("abcdefgh", n_items=300, introspection=introspection)
        pairs = pair_table(result, {})
        contrasts = contrasts_of(result, pairs["match_type"].tolist())
        fit = consistency_by_similarity(pairs)
        outcome = published_test(fit, n_models=8).outcome
        answers[introspection] = (outcome, contrasts["low"][1] > 0)
    assert answers == {0.0: ("no self-advantage", False), 1.5: ("self-advantage", True)}


def test_bars_are_means_with_standard_errors_as_published() -> None:
    pairs = pd.DataFrame(
        {
            "match_type": ["other", "self", "self", "self", "other", "seed variant"],
            "meta_direct": [0.3, 0.1, 0.2, 0.6, np.nan, np.nan],
            "direct_direct": [0.5, 1.0, 1.0, 1.0, 0.4, 0.9],
        }
    )
    bars = means_by_match_type(pairs).set_index("match_type")
    assert bars.index.tolist() == [kind for kind in MATCH_TYPES if kind in {"self", "seed variant", "other"}]
    # sd of .1 .2 .6 is sqrt(.07); standard error sqrt(.07 / 3)
    assert bars["value"]["self"] == pytest.approx(0.3)
    assert bars["high"]["self"] == pytest.approx(0.3 + 1.96 * math.sqrt(0.07 / 3))
    assert (bars["n_pairs"]["other"], bars["reason"]["other"]) == (1, "one pair has no spread")
    assert bars["reason"]["seed variant"] == "no pair has a defined r"


def test_match_types_of_the_published_pairs_need_no_column_of_theirs() -> None:
    known = features_in_paper("song-2025")
    pairs = list(itertools.product(known, known))
    counts = pd.Series([match_type(a, known[a], b, known[b]) for a, b in pairs]).value_counts()
    assert counts[["self", *KINDS]].tolist() == [21, 24, 10, 82, 304]
