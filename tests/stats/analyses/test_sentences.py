"""What a report says of differences, of paradigms below chance and of shares that are none."""

from dataclasses import replace

import numpy as np
import pytest

from pairbank.stats.analyses import associations, comparisons, paradigms
from rated_tables import rated_table


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
