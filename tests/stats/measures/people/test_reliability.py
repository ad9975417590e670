"""Reliability of raters, against published examples and the raw ratings of corpora."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pairbank.errors import BankError
from pairbank.stats.measures.associations import all_digits
from pairbank.stats.measures.raters import (
    ICC_TYPES,
    Level,
    intraclass_correlations,
    krippendorff_alpha,
    single_rater_correlations,
)

NAN = float("nan")
# Krippendorff 2011, Computing Krippendorff's Alpha-Reliability, section C: four observers, twelve units
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]
# Shrout & Fleiss 1979, Table 2: six targets, four judges
JUDGES = np.transpose([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]])


def ratings(raters: object) -> pd.DataFrame:
    values = np.asarray(raters, dtype=float)
    rater, unit = np.indices(values.shape).reshape(2, -1)
    return pd.DataFrame({"item_id": unit // 2, "side": unit % 2, "rater": rater, "value": values.ravel()})


@pytest.mark.parametrize(("scale", "expected"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_the_published_example_of_alpha(scale: Level, expected: float) -> None:
    result = krippendorff_alpha(ratings(OBSERVERS), scale=scale)
    assert round(result.value, 3) == expected
    assert result.n == 11, "the unit that one observer coded is not used"
    assert result.reason == (
        "raters differ on 3 things, and 9 have a value that is not the most usual; an interval needs 5"
    )
    twice = krippendorff_alpha(ratings(np.tile(np.array(OBSERVERS), 2)), scale=scale)
    assert twice.n == 22
    assert twice.low < twice.value < twice.high


def test_raters_who_differ_by_a_constant_are_consistent_and_do_not_agree() -> None:
    rows = [(f"i{item}", "good", rater, float(item + rater)) for item in range(4) for rater in range(3)]
    result = intraclass_correlations(pd.DataFrame(rows, columns=["item_id", "side", "rater", "value"]))
    assert result["consistency_single"].value == pytest.approx(1)
    assert result["agreement_single"].value == pytest.approx(0.625)  # 5/3 between, 1 of raters: 5/3 / (5/3 + 1)


def test_the_published_example_of_intraclass_correlations() -> None:
    result = intraclass_correlations(ratings(JUDGES))
    # Shrout & Fleiss 1979, Table 4: ICC(1,1) .17, (2,1) .29, (3,1) .71, (1,4) .44, (2,4) .62, (3,4) .91
    names = ("any_raters_single", "agreement_single", "consistency_single")
    assert [round(result[name].value, 2) for name in names] == [0.17, 0.29, 0.71]
    names = ("any_raters_mean", "agreement_mean", "consistency_mean")
    assert [round(result[name].value, 2) for name in names] == [0.44, 0.62, 0.91]
    assert result["agreement_single"].n == 6
    assert {x.reason for x in result.values()} == {"an interval needs 10 things that were rated, there are 6"}


def test_the_interval_of_an_intraclass_correlation_is_that_of_leaving_out_each_thing() -> None:
    rng = np.random.default_rng(3)
    table = rng.normal(size=(14, 1)) + rng.normal(size=(14, 3)) + [0.0, 0.5, 1.0]
    result = intraclass_correlations(ratings(table.T))
    rows = ratings(table.T).assign(unit=lambda rows: 2 * rows["item_id"] + rows["side"])
    with all_digits() as pingouin:
        theirs = pingouin.intraclass_corr(rows, "unit", "rater", "value")
    by_type = theirs.set_index("Type")["ICC"]
    for name, kind in ICC_TYPES.items():
        assert result[name].value == pytest.approx(by_type[kind], abs=1e-12)
    for name, (value, *left_out) in single_rater_correlations(table).items():
        assert value == result[name].value
        for i in (0, 13):
            rest = intraclass_correlations(ratings(np.delete(table, i, axis=0).T))[name].value
            assert left_out[i] == pytest.approx(rest, abs=1e-12)
        one, mean = result[name], result[name.replace("single", "mean")]
        assert one.low < one.value < one.high
        assert mean.low == pytest.approx(3 * one.low / (1 + 2 * one.low))


def test_alpha_has_no_interval_where_raters_hardly_ever_differ() -> None:
    rare = np.ones((2, 40))
    rare[0, :4] = 2
    result = krippendorff_alpha(ratings(rare), scale="nominal")
    assert np.isnan(result.low)
    assert "raters differ on 4 things" in str(result.reason)


def test_missing_ratings_leave_alpha_and_no_intraclass_correlation() -> None:
    result = intraclass_correlations(ratings(OBSERVERS))
    assert {x.reason for x in result.values()} == {"not every rater rated everything"}


def test_raters_who_always_agree_and_raters_who_draw_lots() -> None:
    rng = np.random.default_rng(1)
    one = rng.integers(1, 8, 300)
    same = krippendorff_alpha(ratings([one, one]), scale="ordinal")
    assert same.value == 1
    lots = krippendorff_alpha(ratings(rng.integers(1, 8, (5, 300))), scale="interval")
    assert lots.low < 0 < lots.high
    assert "the same" in str(krippendorff_alpha(ratings(np.ones((2, 9))), scale="nominal").reason)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": "seven"}, "a rating is 'seven'; expected a number"),
        ({"rater": "ann"}, r"ann rated 0 \(0\) twice"),
        ({"values": 1}, r"no columns \['value'\]"),
    ],
)
def test_a_table_that_is_not_one_rating_a_row_is_refused(change: dict[str, Any], message: str) -> None:
    table = ratings(JUDGES)
    table = table.rename(columns={"value": "values"}) if "values" in change else table.assign(**change)
    with pytest.raises(BankError, match=message):
        intraclass_correlations(table)


@pytest.mark.upstream
def test_the_raters_of_qfrblimp_agree_as_its_single_judgments_do(shared: Path) -> None:
    path = shared / "corpora" / "qfrblimp" / "QFrBLiMP" / "human_llm_annotations.tsv"
    if not path.is_file():
        pytest.skip(f"no {path}")
    frame = pd.read_csv(path, sep="\t")
    columns = [name for name in frame.columns if name.startswith("annotator_")]
    chosen = frame[columns].to_numpy(dtype=float)
    assert round(float(np.nanmean(chosen)), 4) == 0.8695
    result = krippendorff_alpha(ratings(chosen.T), scale="nominal")
    assert -0.1 < result.value < 1
    assert result.n == len(frame)
