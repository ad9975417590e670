"""Small forms of tests/simulations/sentences.py: what a report says where it would be wrong, and where it is right."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from pairbank.stats.analyses import associations, comparisons, paradigms
from rated_tables import rated_table
from sentence_nulls import (
    Said,
    above_null,
    alone_missed,
    below,
    differ,
    differ_beyond,
    differ_on_paradigms,
    lowest_missed,
    predicted,
    rate,
    uncorrected_below,
)

CONDITIONS = {
    "equal models differ": partial(differ, n=100),
    "equal models differ, one with ties": partial(differ, n=100, rounded=True),
    "models differ beyond paradigms": partial(differ_beyond, n_paradigms=30, n_each=20),
    "paradigms at chance lie below it": partial(below, n_each=30),
    "paradigms at chance lie below it, ties": partial(below, n_each=30, ties=0.3),
    "three models are below chance": partial(below, n_each=30, n_models=3),
    "the lowest lie elsewhere": partial(lowest_missed, n_each=30),
    "the lowest of three models lie elsewhere": partial(lowest_missed, n_each=30, n_models=3),
    "r is above word counts": partial(above_null, n_paradigms=12, n_each=20),
    "r with people is above word counts": partial(above_null, n_paradigms=12, n_each=20, people=True),
    "nothing is predicted": partial(predicted, n=30, n_predictors=10),
    "nothing is predicted, heavy tails": partial(predicted, n=30, n_predictors=6, kind="heavy"),
}


@pytest.mark.ci
@pytest.mark.parametrize("said", CONDITIONS.values(), ids=CONDITIONS)
def test_what_is_wrong_is_said_in_a_twentieth_at_most_within_sampling_error(said: Said) -> None:
    assert rate(said, runs=120) <= 0.125  # 15 of 120; at .05, more in 1 of 2,000


def test_without_a_correction_and_beyond_paradigms_the_same_would_be_said_often() -> None:
    assert rate(partial(uncorrected_below, n_each=30), runs=20) > 0.8
    assert rate(partial(alone_missed, n_each=30), runs=20) > 0.5
    assert rate(partial(differ_on_paradigms, n_paradigms=60, n_each=20), runs=30) > 0.2
    assert rate(partial(above_null, n_paradigms=20, n_each=50, over=False), runs=100) > 0.1


@pytest.mark.ci
def test_differences_are_told_of_such_items_and_beyond_four_paradigms() -> None:
    first, second = (rated_table(240, seed=seed, model=f"m{seed}") for seed in range(2))
    names = [f"p{i % 12}" for i in range(240)]
    better = first.frame.assign(paradigm=names, direct_delta=first.frame["direct_delta"] + 3)
    tables = [replace(first, frame=better), replace(second, frame=second.frame.assign(paradigm=names))]
    text = comparisons.comparisons(tables).text
    assert "1 of 2 comparisons differ on such items" in text
    assert " Beyond their 12 paradigms, 1 differs (t test and McNemar, Holm)" in text
    three = [replace(x, frame=x.frame.assign(paradigm=[f"p{i % 3}" for i in range(240)])) for x in (first, second)]
    few = comparisons.comparisons(three)
    assert " Beyond their paradigms: inconclusive (fewer than 4, or too uneven)" in few.text
    assert few.tables["comparisons"]["p_paradigms"].isna().all()


def test_a_paradigm_below_chance_is_counted_and_the_lowest_have_intervals() -> None:
    table = rated_table(200)
    names = np.array([f"p{i % 5}" for i in range(200)])
    wrong = np.where(names == "p3", -1.0, table.frame["direct_delta"])
    result = paradigms.paradigms([replace(table, frame=table.frame.assign(paradigm=names, direct_delta=wrong))])
    said = result.text.split("\n\n")[0]
    assert "`direct`: of 5 values of paradigm with 5 items or more, 1 is below chance (0.05, signs exchanged by" in said
    assert "The lowest:\n- p3: 0.00 [0.00, 0.12]\n- " in said
    assert "hardest" not in result.text


def test_shares_of_nothing_are_not_told() -> None:
    table = rated_table(60)
    noise = np.random.default_rng(8).normal(size=60)
    nothing = replace(table, frame=table.frame.assign(human_good=noise, human_bad=0.0))
    text = associations.associations([nothing]).text
    assert "that anything of people's differences is predicted is not shown" in text
    assert "Parts of R^2" not in text
