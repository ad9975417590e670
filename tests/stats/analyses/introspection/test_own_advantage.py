"""Own probabilities against relatives': against algebra, numerical derivatives, pingouin, and simulations of nulls."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.stats import t

from nulls.introspection import Design, made_up_models, spoken
from nulls.introspection_quick import quick_own_advantage
from pairbank.arrays import FloatArray
from pairbank.stats.analyses.introspection.analysis import introspect
from pairbank.stats.analyses.introspection.beyond_relatives import OwnAdvantage, own_advantage
from pairbank.stats.analyses.introspection.model_pairs import pair_correlations, words
from pairbank.stats.analyses.introspection.relatives import (
    Comparison,
    closest_relatives,
    model_advantages,
    most_similar,
    partial_correlations,
    tetrads,
)
from pairbank.stats.estimates.estimate import Estimate
from pairbank.stats.scored_table.model_features import ModelFeatures, features_in_paper
from pairbank.stats.scored_table.scored_table import DeltaStack
from shared_files import present

Floats = NDArray[np.float64]
KINDS = ["seed variant", "base/instruct", "same family", "other"]


def made(
    seed: int = 0,
    *,
    models: int = 6,
    of_family: int = 3,
    items: int = 240,
    design: Design = "alike",
    privileged: float = 0.0,
    n_prompts: int = 3,
) -> tuple[DeltaStack, dict[str, ModelFeatures]]:
    return made_up_models(
        np.random.default_rng(seed),
        n_models=models,
        family_size=of_family,
        n_items=items,
        design=design,
        privileged=privileged,
        n_prompts=n_prompts,
    )


def advantage(stack: DeltaStack, features: dict[str, ModelFeatures]) -> OwnAdvantage:
    return own_advantage(stack, pair_correlations(stack), features)


def declared(family: str, size: float, kind: str = "base", seed: int = 0) -> ModelFeatures:
    assert kind in {"base", "instruct"}
    return ModelFeatures(
        family=family, generation="1", size_billions=size, type="base" if kind == "base" else "instruct", seed=seed
    )


# Who is compared with whom


def test_relatives_are_the_closest_and_yardsticks_are_no_closer_to_either() -> None:
    features = {
        "a": declared("F", 7),
        "a chat": declared("F", 7, "instruct"),
        "b": declared("F", 13),
        "c": declared("G", 7),
        "stranger": None,
    }
    result = closest_relatives(list(features), features, read=range(5))
    pairs = {(c.asked, c.relative): c.yardsticks for c in result}
    # base and instruct are closer than the family; b has only the family, and each of the two is closer to the other
    # than b is to either, so that it is no yardstick for b beside the other
    assert pairs == {(0, 1): (2, 3, 4), (1, 0): (2, 3, 4), (2, 0): (3, 4), (2, 1): (3, 4)}
    assert closest_relatives(list(features), features, read=[0, 1]) == ()  # no third model
    assert closest_relatives(list(features), {}, read=range(5)) == ()


def test_the_most_similar_model_is_that_of_the_highest_r_whatever_is_declared() -> None:
    r = np.array([[1.0, 0.2, 0.7], [0.2, 1.0, 0.3], [0.7, 0.3, 1.0]])
    result = most_similar(r, read=[0, 1, 2], asked=[0, 1])
    assert [(c.asked, c.relative, c.yardsticks) for c in result] == [(0, 2, (1,)), (1, 2, (0,))]
    assert most_similar(r, read=[0, 1], asked=[0, 1]) == ()


# The advantage


def tetrad_advantages(direct: FloatArray, meta: FloatArray, comparisons: Sequence[Comparison]) -> FloatArray:
    """Return the advantage of each comparison of one asked model, from correlations."""
    return tetrads(direct, meta, comparisons)[0]


@pytest.mark.parametrize("seed", range(5))
def test_the_advantage_is_exactly_0_where_one_thing_is_shared_whatever_the_noises_and_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    reliability, follows = rng.uniform(0.3, 1.0, 6), rng.uniform(-0.6, 0.6, 6)  # of probabilities, of answers
    direct, meta = np.outer(reliability, reliability), np.outer(reliability, follows)
    comparisons = [Comparison(asked=2, relative=j, yardsticks=(4, 5)) for j in (0, 1, 3)]
    assert tetrad_advantages(direct, meta, comparisons) == pytest.approx(np.zeros(3), abs=1e-12)
    meta[2, 2] += 0.04  # what only model 2 has
    q = np.sqrt(reliability[[0, 1, 3]] / reliability[2])
    assert tetrad_advantages(direct, meta, comparisons) == pytest.approx(0.04 * q)


@pytest.mark.parametrize("unequal", ["read", "asked"])
def test_the_mean_over_a_pair_is_0_where_only_probabilities_or_only_answers_mix_in_their_own_way(unequal: str) -> None:
    # two shared parts, common and family; the third model has the common part alone
    alike = np.array([[0.7, 0.4], [0.7, 0.4]])
    mixed = np.array([[0.8, 0.2], [0.3, 0.6]])
    read = np.vstack([mixed if unequal == "read" else alike, [0.8, 0.0]])
    asked = 0.5 * np.vstack([mixed if unequal == "asked" else alike, [0.3, 0.0]])
    direct, meta = read @ read.T, read @ asked.T
    both = [tetrad_advantages(direct, meta, [Comparison(asked=i, relative=1 - i, yardsticks=(2,))])[0] for i in (0, 1)]
    assert sum(both) == pytest.approx(0, abs=1e-12)
    assert (abs(both[0]) > 0.01) == (unequal == "read")  # a single model is not told rightly then


def test_a_less_noisy_model_is_not_taken_for_one_that_knows_itself() -> None:
    stack, features = made(items=20_000, design="unequal noise")
    result = model_advantages(stack, closest_relatives(stack.models, features, read=range(6)))
    plain = result.own - result.relatives
    assert np.abs(plain).max() > 0.05
    assert np.abs(result.value).max() < 0.03


def test_the_advantage_is_the_own_part_of_r() -> None:
    stack, features = made(items=20_000, privileged=0.2)
    # the own part has .7^2 of 1 + .7^2 + .7^2 of the variance of direct differences
    expected = 0.2 * 0.7 / np.sqrt(1.98)
    assert advantage(stack, features).over_relatives.value == pytest.approx(expected, abs=0.01)


def weighted(x: Floats, y: Floats, weights: Floats) -> float:
    share = weights / weights.sum()
    x, y = x - (share * x).sum(), y - (share * y).sum()
    return float((share * x * y).sum() / np.sqrt((share * x**2).sum() * (share * y**2).sum()))


def naive_advantage(stack: DeltaStack, comparisons: list[Comparison], asked: int, weights: Floats) -> float:
    """The advantage of a model over items that count so much, by loops."""
    values = []
    for meta in stack.meta_nats:
        there = ~np.isnan(meta).any(axis=0) & ~np.isnan(stack.direct_nats).any(axis=0)
        direct, answers, w = stack.direct_nats[:, there], meta[asked, there], weights[there]
        for c in comparisons:
            if c.asked != asked:
                continue
            of_asked, of_relative = (
                np.mean([weighted(direct[who], direct[k], w) for k in c.yardsticks]) for who in (asked, c.relative)
            )
            q = np.sqrt(of_relative / of_asked)
            own, other = weighted(direct[asked], answers, w), weighted(direct[c.relative], answers, w)
            values.append(own * q - other / q)
    return float(np.mean(values))


def test_advantages_and_the_influence_of_every_item_are_those_of_plain_loops() -> None:
    stack, features = made(items=40, n_prompts=2)
    meta = stack.meta_nats.copy()
    meta[1, 2, :7] = np.nan  # a prompt that one model did not answer everywhere
    stack = replace(stack, meta_nats=meta)
    comparisons = list(closest_relatives(stack.models, features, read=range(6)))
    result = model_advantages(stack, comparisons)
    ones, step = np.ones(40), 1e-6
    for asked in (0, 4):
        value = naive_advantage(stack, comparisons, asked, ones)
        assert result.value[asked] == pytest.approx(value, abs=1e-12)
        for item in (0, 3, 20, 39):
            more = ones.copy()
            more[item] += step
            slope = (naive_advantage(stack, comparisons, asked, more) - value) / step
            assert result.influence[asked, item] == pytest.approx(slope, abs=1e-5)


def test_the_interval_over_items_is_about_the_bootstraps() -> None:
    stack, features = made(items=400, of_family=6)
    comparisons = list(closest_relatives(stack.models, features, read=range(6)))
    result = model_advantages(stack, comparisons)
    rng, draws = np.random.default_rng(1), []
    for _ in range(150):
        drawn = rng.integers(400, size=400)
        again = replace(stack, direct_nats=stack.direct_nats[:, drawn], meta_nats=stack.meta_nats[:, :, drawn])
        draws.append(model_advantages(again, comparisons).value)
    errors = np.sqrt((result.influence**2).sum(axis=1))
    assert errors == pytest.approx(np.std(draws, axis=0), rel=0.2)


# Over models


def test_the_interval_widens_where_families_differ_more_than_items_explain() -> None:
    calm, features = made(models=12, of_family=3, items=2000)
    result = advantage(calm, features).over_relatives
    meta = calm.meta_nats.copy()
    for nth, sign in enumerate((1, 1, 1, -1, -1, -1, 1, 1, 1, -1, -1, -1)):  # half of the families know themselves
        meta[:, nth] += 0.3 * sign * calm.direct_nats[nth]
    wide = advantage(replace(calm, meta_nats=meta), features).over_relatives
    assert wide.high - wide.low > 5 * (result.high - result.low)
    assert wide.low < 0 < wide.high


def test_an_effect_of_the_size_that_is_stated_is_found_four_times_in_five() -> None:
    def result(privileged: float) -> list[OwnAdvantage]:
        return [advantage(*made(seed, items=300, models=12, of_family=2, privileged=privileged)) for seed in range(40)]

    smallest = np.mean([own.smallest for own in result(0.0)])
    size = float(smallest / (0.7 / np.sqrt(1.98)))  # the advantage is .497 of the correlation with the own part
    assert 0.65 <= np.mean([own.over_relatives.low > 0 for own in result(size)]) <= 0.95


@pytest.mark.parametrize(
    ("models", "why"),
    [
        ({"a": None, "b": None, "c": None}, "no two of the models are declared relatives"),
        ({"a": declared("F", 1), "b": declared("G", 1), "c": declared("H", 1)}, "no two of the models are declared"),
        ({"a": declared("F", 1), "b": declared("F", 2)}, "a third model is needed"),
    ],
)
def test_without_relatives_or_a_third_model_it_cannot_be_told(
    models: dict[str, ModelFeatures | None], why: str
) -> None:
    stack, _ = made(models=len(models), of_family=2, privileged=0.3)
    stack = replace(stack, models=tuple(models))
    own = own_advantage(stack, pair_correlations(stack), models)
    assert why in str(own.over_relatives.reason)
    assert np.isnan(own.over_most_similar.low)  # nothing to be read as a test
    assert own.beyond == "inconclusive"
    assert f"beyond its relatives'**. {why[0].upper()}{why[1:]}" in words().render("headline", own)


def test_models_whose_probabilities_have_nothing_in_common_cannot_be_told_apart_by_noise() -> None:
    stack, features = made()
    unlike = replace(stack, direct_nats=np.random.default_rng(1).normal(size=stack.direct_nats.shape))
    own = advantage(unlike, features)
    assert "correlate at least 0.1 with third models'" in str(own.over_relatives.reason)


def test_a_handful_of_items_has_a_value_and_no_interval() -> None:
    own = advantage(*made(items=19))
    assert own.over_relatives.reason == "19 items, and an interval of this kind needs 20"
    assert own.over_relatives.is_defined
    assert own.beyond == "inconclusive"


# In words


def estimated(value: float, low: float, high: float) -> Estimate:
    return Estimate(value=value, low=low, high=high, n=700, method="random-effects-t")


@pytest.mark.parametrize(
    ("over", "similar", "smallest", "answer", "said"),
    [
        ((0.05, 0.02, 0.08), (0.04, 0.01, 0.07), 0.04, "beyond relatives", "by +0.050 [+0.020, +0.080] in r (6"),
        ((0.05, 0.02, 0.08), (0.01, -0.02, 0.04), 0.04, "beyond declared relatives only", "Mixed: own probabilities"),
        ((0.01, -0.02, 0.04), (0.04, 0.01, 0.07), 0.04, "not shown", "minimum detectable effect (80% power) is 0.040"),
        ((-0.05, -0.08, -0.02), (0.04, 0.01, 0.07), 0.04, "relatives' more", "the relatives' probabilities more"),
        ((0.05, -0.3, 0.4), (0.04, 0.01, 0.07), 0.6, "inconclusive", "advantage of 0.600 or more is detectable"),
    ],
)  # fmt: skip
def test_the_answer_and_its_words_follow_from_the_intervals(
    over: tuple[float, float, float], similar: tuple[float, float, float], smallest: float, answer: str, said: str
) -> None:
    own = replace(
        advantage(*made()), over_relatives=estimated(*over), over_most_similar=estimated(*similar), smallest=smallest
    )
    assert own.beyond == answer
    assert said in words().render("headline", own)
    assert "no test, it is above 0 without privileged access too" in words().render("beside", own)


# Partial correlation


def test_partial_correlations_are_those_of_residuals_and_of_pingouin() -> None:
    stack, _ = made(items=120)
    answers = stack.meta_nats[0]
    r = np.corrcoef(np.vstack([stack.direct_nats, answers]))
    result = partial_correlations(r[:6, :6], r[:6, 6:])
    for nth in range(6):
        others = np.vstack([np.delete(stack.direct_nats, nth, axis=0), np.ones(120)]).T
        left = [y - others @ np.linalg.lstsq(others, y, rcond=None)[0] for y in (stack.direct_nats[nth], answers[nth])]
        assert result[nth] == pytest.approx(np.corrcoef(*left)[0, 1], abs=1e-10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what its dependencies say of themselves on import
        pingouin = pytest.importorskip("pingouin")
    table = pd.DataFrame(stack.direct_nats.T, columns=list("abcdef")).assign(y=answers[0])
    theirs = pingouin.partial_corr(table, x="a", y="y", covar=list("bcdef"))
    assert result[0] == pytest.approx(float(theirs["r"].iloc[0]), abs=1e-10)


def test_twins_have_no_partial_correlation_and_the_reason_is_there() -> None:
    stack, features = made()
    direct = stack.direct_nats.copy()
    direct[1] = direct[0]
    assert "linearly dependent" in str(advantage(replace(stack, direct_nats=direct), features).partial.reason)


# Error rates: the small form of tests/simulations/introspection.py


@pytest.mark.parametrize(("models", "of_family", "least"), [(3, 3, 0.5), (6, 3, 0.9), (21, 2, 0.9), (21, 7, 0.9)])
def test_access_to_oneself_is_found_where_it_is(models: int, of_family: int, least: float) -> None:
    own = [advantage(*made(seed, models=models, of_family=of_family, privileged=0.3)) for seed in range(10)]
    assert np.mean([result.beyond == "beyond relatives" for result in own]) >= least


@pytest.mark.parametrize(("models", "of_family"), [(3, 1), (3, 2), (6, 3), (6, 6), (21, 2)])
@pytest.mark.parametrize("design", ["unequal noise", "near twins"])
def test_the_quick_form_of_the_simulations_gives_the_shipped_numbers(
    design: Design, models: int, of_family: int
) -> None:
    for seed in range(3):
        stack, features = made(seed, models=models, of_family=of_family, design=design, n_prompts=1, items=100)
        slow, quick = advantage(stack, features), quick_own_advantage(stack, family_size=of_family)
        assert slow.beyond == quick.beyond
        for ours, theirs in (
            (slow.over_relatives, quick.over_relatives),
            (slow.over_most_similar if of_family > 1 else slow.over_relatives, quick.over_most_similar),
        ):
            numbers = [[result.value, result.low, result.high] for result in (ours, theirs)]
            assert numbers[0] == pytest.approx(numbers[1], abs=1e-8, nan_ok=True)
        assert slow.smallest == pytest.approx(quick.smallest, abs=1e-8, nan_ok=True)


@pytest.mark.parametrize("privileged", [0.0, 0.3])
def test_a_verdict_has_one_headline_and_the_words_that_the_long_form_counts(privileged: float) -> None:
    made = [spoken([seed], cell=(6, 3, 240), design="alike", privileged=privileged) for seed in range(5)]
    said = np.array([[*one.values()] for one in made])
    assert said[:, :5].sum(axis=1).tolist() == [1] * 5  # of own probabilities against relatives'
    assert said[:, 5:8].sum(axis=1).tolist() == [1] * 5  # of the published test


def test_table_8_is_made_for_each_family_with_seed_variants() -> None:
    # pairs of other families would make self look better wherever families share anything
    stack, _ = made(models=6, of_family=3, items=100)
    features = {name: declared(f"F{nth // 3}", 7, seed=nth % 3) for nth, name in enumerate(stack.models)}
    fits = introspect(stack, features, n_resamples=10).regressions
    eight = {name: fit for name, fit in fits.items() if name.startswith("Table 8")}
    assert list(eight) == [f"Table 8: consistency by self, {f}, a family with seed variants" for f in ("F0", "F1")]
    assert [fit.n for fit in eight.values()] == [9, 9]


# The published pairs


@pytest.mark.upstream
def test_on_the_published_pairs_own_probabilities_are_not_ahead_of_relatives(shared: Path) -> None:
    path = present(shared / "published" / "song_2025_model_pairs.csv")
    features = features_in_paper("song-2025")
    names, pairs = list(features), pd.read_csv(path)
    comparisons = closest_relatives(names, features, read=range(21))
    by_family: dict[str, list[float]] = {}
    for dataset, table in pairs.groupby("dataset", sort=False):
        direct, meta = (
            table.pivot(index="prob_model", columns="prompt_model", values=value).loc[names, names].to_numpy()
            for value in ("direct_direct", "meta_direct")
        )
        values = pd.Series(
            {
                asked: tetrad_advantages(direct, meta, [c for c in comparisons if c.asked == asked]).mean()
                for asked in dict.fromkeys(c.asked for c in comparisons)
            }
        )
        assert len(values) == 20  # Mistral has no relative
        # of the filtered items, the probabilities of a pair of models are unlike those of all others
        assert values.notna().sum() == (18 if dataset == "exp1(filtered)" else 20)
        means = values.groupby([features[names[asked]].family for asked in values.index]).mean()
        half = t(df=2).ppf(0.975) * means.std() / np.sqrt(3)
        assert means.mean() - half < 0 < means.mean() + half, dataset
        by_family[str(dataset)] = [*means[["OLMo", "Qwen", "Llama"]].round(3)]
    # OLMo (its seed variants: the closest relatives there are) is .001 ahead whatever the sentences
    assert by_family == {  # OLMo, Qwen, Llama
        "exp1(filtered)": [0.001, 0.005, -0.002],
        "exp1(unfiltered)": [0.001, -0.001, 0.002],
        "wikipedia": [0.001, 0.002, 0.013],
        "news": [0.001, 0.002, 0.010],
        "nonsense": [0.001, 0.004, 0.019],
        "randomseq": [0.001, 0.002, 0.026],
    }
