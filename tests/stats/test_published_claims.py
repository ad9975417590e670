"""What Hu et al. 2026 found with their models holds for the 13 models whose scores Hu & Frank 2024 published."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.contingency_tables import mcnemar

from pairbank.stats.analyses.comparisons import comparisons
from pairbank.stats.analyses.grammaticality.section import grammaticality
from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import DIRECT, items_frame

pytestmark = pytest.mark.upstream


@pytest.fixture(scope="module")
def tables(shared: Path) -> list[ScoredFrame]:
    """650 BLiMP and 75 DGL pairs by each model."""
    rows = pd.read_csv(shared / "published" / "hu_frank_2024_syntax.csv")
    frame = items_frame(
        len(rows),
        "syntax",
        model=rows["model"],
        item_id=rows["dataset"].astype(str) + "/" + rows["item_id"].astype(str),
        task="sentence_pair",
        direct_good=rows["direct_sum_logprob_good_sentence"],
        direct_bad=rows["direct_sum_logprob_bad_sentence"],
    )
    frame["direct_delta"] = frame["direct_good"] - frame["direct_bad"]
    return [
        ScoredFrame(corpus="syntax", model=str(model), frame=part, layouts=(DIRECT,))
        for model, part in frame.groupby("model", sort=False)
    ]


def test_the_sides_correlate_and_no_threshold_separates_them(tables: list[ScoredFrame]) -> None:
    # Hu et al. 2026: a strong positive correlation within pairs (Figure 2a), areas that do not exceed .75 (Figure 4b),
    # and about 80% of pairs right (Figure 8)
    result = grammaticality(tables).tables
    assert len(result["correlation"]) == 13
    assert result["correlation"]["value"].min() > 0.9
    areas = result["separability"].query("metric == 'auc'")
    assert set(areas["n"]) == {725}
    assert areas["low"].min() > 0.5
    assert areas["high"].max() < 0.75
    right = result["separability"].query("metric == 'accuracy'")["value"]
    assert 0.8 < right.min() < right.max() < 0.9


def test_models_differ_as_statsmodels_finds(tables: list[ScoredFrame]) -> None:
    result = comparisons(tables).tables["comparisons"]
    assert len(result) == 13 * 12 / 2
    by_model = {table.model: np.sign(table.frame.sort_values("item_id")["direct_delta"].to_numpy()) for table in tables}
    for row in result.to_dict("records"):
        a, b = by_model[row["a"]], by_model[row["b"]]
        decided = (a != 0) & (b != 0)
        cells = [[np.sum(decided & (a == x) & (b == y)) for y in (1, -1)] for x in (1, -1)]
        assert row["p_exact"] == pytest.approx(mcnemar(cells, exact=True).pvalue, rel=1e-9)
    # 725 items: 12 of 78 differences are significant one by one, and none after the correction
    assert (result["p_mid"] < 0.05).sum() == 12
    assert (result["p_mid_holm"] < 0.05).sum() == 0
