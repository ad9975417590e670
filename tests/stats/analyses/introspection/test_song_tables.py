"""The printed regression tables of Song, Hu & Mahowald 2025, from the numbers behind their figures.

Coefficients: appendix G of the paper. Standard errors and information criteria: `lm/*.tex` of the authors' repository
https://github.com/SiyuanSong2004/language-introspection, which print the same tables. All 204 cells of Tables 6 to 8
are reproduced to the last printed digit. Numbers were read from the points of vector figures; the axes of three of
these are stretched by 3 parts in 100,000 (`AXES`), without which five cells are less than .0001 off.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pairbank.stats.analyses.introspection.model_pairs import big_models, of_models
from pairbank.stats.analyses.introspection.tables import (
    by_match_type,
    consistency_by_self,
    consistency_by_similarity,
    consistency_by_size,
    correctness_by_size,
)
from pairbank.stats.measures.regression import Regression
from pairbank.stats.scored_table.model_features import features_in_paper, match_type
from shared_files import present

DATASETS = ["exp1(filtered)", "exp1(unfiltered)", "wikipedia", "news", "nonsense", "randomseq"]
TABLE_6 = {
    "intercept": ["0.1014***", "0.3191***", "0.3143***", "0.3361***", "0.0720***", "0.0603***"],
    "log direct size": ["-0.0040", "0.0025", "-0.0161***", "-0.0119*", "-0.0057", "-0.0063"],
    "log meta size": ["-0.0012", "0.0135***", "0.0233***", "0.0230***", "0.0302***", "0.0432***"],
    "log direct size:log meta size": ["0.0035***", "0.0013", "0.0004", "0.0014", "0.0007", "-0.0001"],
}
TABLE_6_ERRORS = {
    "intercept": [0.0104, 0.0109, 0.0134, 0.0148, 0.0093, 0.0115],
    "log direct size": [0.0033, 0.0035, 0.0043, 0.0047, 0.0029, 0.0037],
    "log meta size": [0.0033, 0.0035, 0.0043, 0.0047, 0.0029, 0.0037],
    "log direct size:log meta size": [0.0011, 0.0011, 0.0014, 0.0015, 0.0009, 0.0012],
}
TABLE_7A = {
    "intercept": ["0.0322", "0.1832***", "-0.0428", "-0.4439*", "-0.3315***", "-0.3849***"],
    "direct_direct": ["0.1026***", "0.1998***", "0.3959***", "0.8338***", "0.4913***", "0.5613***"],
    "seed variant": ["0.0043", "-0.0168", "0.0116", "0.0130", "0.0121", "0.0198"],
    "base/instruct": ["0.0203", "0.0256", "0.0068", "0.0055", "0.0146", "0.0020"],
    "same family": ["0.0519***", "0.0404**", "0.0483*", "0.0550*", "0.0651***", "0.0650**"],
    "other": ["0.0504**", "0.0501**", "0.0479**", "0.0699**", "0.0791***", "0.0887***"],
}
TABLE_7A_ERRORS = {
    "intercept": [0.0181, 0.0393, 0.0653, 0.1774, 0.0825, 0.0971],
    "direct_direct": [0.0154, 0.0376, 0.0636, 0.1767, 0.0815, 0.0957],
    "seed variant": [0.0131, 0.0154, 0.0200, 0.0217, 0.0175, 0.0226],
    "base/instruct": [0.0173, 0.0201, 0.0259, 0.0282, 0.0235, 0.0301],
    "same family": [0.0137, 0.0150, 0.0192, 0.0224, 0.0195, 0.0236],
    "other": [0.0153, 0.0163, 0.0185, 0.0242, 0.0203, 0.0243],
}
TABLE_7B = {
    "intercept": ["0.1406**", "0.3854*", "-0.2688", "-0.1654", "-0.0526", "-0.0454"],
    "direct_direct": ["0.0294", "0.0367", "0.6456***", "0.5926", "0.2571", "0.2754"],
    "base/instruct": ["0.0119", "0.0046", "0.0606", "0.0303", "0.0110", "0.0027"],
    "same family": ["-0.0208", "0.0192", "0.0727*", "0.0135", "-0.0019", "-0.0249"],
    "other": ["-0.0152", "-0.0090", "0.1039**", "0.0469", "0.0499", "0.0550"],
}
TABLE_7B_ERRORS = {
    "intercept": [0.0521, 0.1559, 0.1430, 0.4368, 0.1607, 0.1612],
    "direct_direct": [0.0498, 0.1549, 0.1416, 0.4362, 0.1595, 0.1599],
    "base/instruct": [0.0289, 0.0341, 0.0345, 0.0397, 0.0372, 0.0381],
    "same family": [0.0303, 0.0366, 0.0359, 0.0418, 0.0363, 0.0364],
    "other": [0.0427, 0.0577, 0.0340, 0.0478, 0.0367, 0.0356],
}
TABLE_8 = {
    "intercept": ["0.1446***", "0.3621***", "0.3540***", "0.3952***", "0.1547***", "0.1799***"],
    "self": ["-0.0106", "0.0007", "0.0071", "0.0031", "0.0060", "0.0080"],
}
TABLE_8_ERRORS = {
    "intercept": [0.0036, 0.0029, 0.0022, 0.0019, 0.0022, 0.0031],
    "self": [0.0102, 0.0082, 0.0062, 0.0055, 0.0062, 0.0086],
}
# Figures 3, 4 and 7, recomputed from their points (no table prints them), in the order of KINDS
MEANS = {
    "exp1(filtered)": [0.1349, 0.1331, 0.1296, 0.1298, 0.1072],
    "exp1(unfiltered)": [0.3831, 0.3619, 0.3895, 0.3796, 0.3723],
    "wikipedia": [0.3531, 0.3599, 0.3426, 0.3387, 0.3346],
    "news": [0.3899, 0.3978, 0.3748, 0.3806, 0.3754],
    "nonsense": [0.1598, 0.1599, 0.1309, 0.1447, 0.1451],
    "randomseq": [0.1765, 0.1866, 0.1325, 0.1557, 0.1633],
}
CORRELATIONS = [0.3247, 0.1589, 0.2649, 0.1770, 0.1993, 0.1990]
AXES = {"wikipedia": (-2e-5, 3e-5, -1e-5), "news": (0, -3e-5, 0), "randomseq": (0, -3e-5, 0)}
"""Stretch of the axis of r(Direct, Direct) about 1, and stretch and shift of that of r(Meta, Direct)."""
KINDS = ["self", "seed variant", "base/instruct", "same family", "other"]


@pytest.fixture(scope="module")
def published(shared: Path) -> dict[str, pd.DataFrame]:
    """The pairs of each dataset, with our column names and our match types."""
    table = pd.read_csv(_file(shared, "song_2025_model_pairs.csv")).rename(
        columns={"prob_model": "direct_model", "prompt_model": "meta_model", "match_type": "published_match_type"}
    )
    known = features_in_paper("song-2025")
    table["match_type"] = [
        match_type(a, known[a], b, known[b]) for a, b in zip(table["direct_model"], table["meta_model"], strict=True)
    ]
    table["direct_size_billions"] = [known[name].size_billions for name in table["direct_model"]]
    table["meta_size_billions"] = [known[name].size_billions for name in table["meta_model"]]
    return {name: table[table["dataset"] == name] for name in DATASETS}


def _file(shared: Path, name: str) -> Path:
    return present(shared / "published" / name)


def stars(p_value: float) -> str:
    return "***" if p_value < 0.001 else "**" if p_value < 0.01 else "*" if p_value < 0.05 else ""


def assert_printed(fit: Regression, table: dict[str, list[str]], errors: dict[str, list[float]], column: int) -> None:
    assert [c.term for c in fit.coefficients] == list(table)
    for term, cells in table.items():
        printed, ours = cells[column], fit[term]
        assert round(ours.estimate, 4) == float(printed.rstrip("*")), term
        assert stars(ours.p_value) == printed.lstrip("-.0123456789"), (term, ours.p_value)
        assert round(ours.standard_error, 4) == errors[term][column], term
        assert ours.statistic == pytest.approx(ours.estimate / ours.standard_error)


@pytest.mark.upstream
@pytest.mark.parametrize("column", range(6), ids=DATASETS)
class TestTables:
    def test_match_types_sizes_and_their_counts(self, published: dict[str, pd.DataFrame], column: int) -> None:
        pairs = published[DATASETS[column]]
        assert (pairs["match_type"] == pairs["published_match_type"]).all()
        assert (pairs["direct_size_billions"] == pairs["prob_size"]).all()
        assert (pairs["meta_size_billions"] == pairs["prompt_size"]).all()
        assert pairs["match_type"].value_counts()[KINDS].tolist() == [21, 24, 10, 82, 304]

    def test_every_cell_of_tables_6_to_8(self, published: dict[str, pd.DataFrame], column: int) -> None:
        x_stretch, y_stretch, y_shift = AXES.get(DATASETS[column], (0, 0, 0))
        pairs = published[DATASETS[column]].copy()
        pairs["direct_direct"] = 1 + (pairs["direct_direct"] - 1) * (1 + x_stretch)
        pairs["meta_direct"] = pairs["meta_direct"] * (1 + y_stretch) + y_shift
        by_size = consistency_by_size(pairs)
        assert_printed(by_size, TABLE_6, TABLE_6_ERRORS, column)
        assert (by_size.n, by_size.df_residual, by_size.reason) == (441, 437, None)
        assert_printed(consistency_by_similarity(pairs), TABLE_7A, TABLE_7A_ERRORS, column)
        big = big_models(pairs)  # 7 models
        assert [(big["match_type"] == kind).sum() for kind in KINDS] == [7, 0, 4, 10, 28]
        assert_printed(consistency_by_similarity(big), TABLE_7B, TABLE_7B_ERRORS, column)
        olmo = of_models(pairs, [name for name in features_in_paper("song-2025") if name.startswith("OLMo")])
        assert len(olmo) == 64
        assert_printed(consistency_by_self(olmo), TABLE_8, TABLE_8_ERRORS, column)
        assert consistency_by_self(olmo)["self"].p_value > 0.25  # appendix F: all ps > .25

    def test_means_and_the_correlation_of_the_scatter(self, published: dict[str, pd.DataFrame], column: int) -> None:
        pairs = published[DATASETS[column]]
        means = pairs.groupby("match_type")["meta_direct"].mean()[KINDS]
        assert means.to_numpy() == pytest.approx(np.array(MEANS[DATASETS[column]]), abs=5.5e-5)
        r = pairs["direct_direct"].corr(pairs["meta_direct"])
        assert r == pytest.approx(CORRELATIONS[column], abs=5.5e-5)


@pytest.mark.upstream
def test_the_coefficients_of_the_text_of_section_3(published: dict[str, pd.DataFrame]) -> None:
    filtered, unfiltered = (by_match_type(published[name]) for name in DATASETS[:2])
    # "No condition showed significant differences relative to self, except for other, (beta = -.03, p < .01)": filtered
    assert filtered["other"].estimate == pytest.approx(-0.0276, abs=5e-5)
    assert filtered["other"].p_value == pytest.approx(0.0079, abs=5e-5)
    assert all(filtered[kind].p_value > 0.05 for kind in KINDS[1:4])
    assert unfiltered["other"].p_value > 0.05
    # "all categories had significantly lower correlations than self except for seed variant (p = .27)" is the p of
    # the unfiltered items; on the filtered ones, which that section is about, it is .1476.
    for name, p_value in zip(DATASETS[:2], [0.1476, 0.2664], strict=True):
        similarity = by_match_type(published[name], outcome="direct_direct")
        assert similarity["seed variant"].p_value == pytest.approx(p_value, abs=5e-5)
        assert all(similarity[kind].estimate < 0 and similarity[kind].p_value < 0.001 for kind in KINDS[2:])


@pytest.mark.upstream
def test_table_5_to_every_printed_digit(shared: Path) -> None:
    counts = pd.read_csv(_file(shared, "song_2025_fig2a_correct_of_1048.csv")).set_index("model")
    known = features_in_paper("song-2025")
    rows = [
        {"is_meta": is_meta, "size_billions": known[str(model)].size_billions, "n_correct": n_correct, "n_trials": 1048}
        for model, row in counts.drop(columns="metamean").iterrows()
        for column in [str(float(nth)) for nth in range(1, 9)]
        for is_meta, n_correct in [(True, row[column]), (False, row["direct"])]  # direct once a prompt, as published
    ]
    fit = correctness_by_size(pd.DataFrame(rows))
    # Table 5; standard errors, log-likelihood, AIC and BIC: lm/methodsize.tex
    printed = {
        "intercept": (1.6436, 0.0147),
        "is_meta": (-0.5758, 0.0205),
        "log size": (0.0305, 0.0047),
        "is_meta:log size": (0.2211, 0.0069),
    }
    assert {c.term: (round(c.estimate, 4), round(c.standard_error, 4)) for c in fit.coefficients} == printed
    assert all(c.p_value < 0.001 for c in fit.coefficients)
    assert fit.n == 352_128
    assert round(fit.log_likelihood, 2) == -147_863.52
    assert round(fit.aic, 2) == 295_735.04
    assert round(fit.bic, 3) == 295_778.127
