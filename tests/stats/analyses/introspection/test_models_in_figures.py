"""Figures 2, 5 and 8 to 10 of Song, Hu & Mahowald 2025: numbers drawn, order of models, corpora without truth."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

from pairbank.stats import summarise
from pairbank.stats.analyses.base import Context, Section
from pairbank.stats.analyses.introspection.figures import trend
from pairbank.stats.analyses.introspection.section import introspection
from pairbank.stats.report.overview import overview
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.model_features import by_family, by_size, features_in_paper, size_breaks
from scored_frames import related_frames

PUBLISHED = features_in_paper("song-2025")
FOUR = ["Llama3.1 8B", "Qwen 1.5B", "Llama3.1 405B", "OLMo 7B", "OLMo 7B-seed1"]


def without_truth(table: ScoredFrame, corpus: str) -> ScoredFrame:
    frame = table.frame.assign(corpus=corpus, flags=pd.Series([["no_truth"]] * len(table.frame)))
    return replace(table, corpus=corpus, frame=frame)


@pytest.fixture(scope="module")
def tables() -> list[ScoredFrame]:
    real = related_frames(FOUR, n_items=150, n_prompts=2)
    return [*real, *(without_truth(x, "nonsense") for x in related_frames(FOUR, n_items=90, n_prompts=2, seed=3))]


@pytest.fixture(scope="module")
def result(tables: list[ScoredFrame]) -> Section:
    return introspection(tables, Context(n_resamples=20, features=dict(PUBLISHED)), least_share=0)


def test_models_stand_by_size_and_by_family() -> None:
    ordered = by_size(list(PUBLISHED), PUBLISHED)
    sizes = [PUBLISHED[name].size_billions for name in ordered]
    assert sizes == sorted(sizes)
    # the paper's figure 2a: 1.5 | 7 to 13 | 70 to 123 | 405 billion parameters
    assert [sizes[int(place) - 1 : int(place) + 1] for place in size_breaks(ordered, PUBLISHED)] == [
        [1.5, 7], [13, 70], [123, 405],
    ]  # fmt: skip
    families = [PUBLISHED[name].family for name in by_family(list(PUBLISHED), PUBLISHED)]
    assert len(families) == 21
    assert sum(a != b for a, b in pairwise(families)) == len(set(families)) - 1
    assert by_size(["b", *FOUR, "a"], PUBLISHED)[-2:] == ["b", "a"]


def test_a_corpus_without_truth_has_no_accuracy_and_no_regression_on_correctness(
    tables: list[ScoredFrame], result: Section
) -> None:
    fits = result.tables["regressions"]
    assert fits["table"].str.startswith("Table 5").groupby(fits["corpus"]).any().to_dict() == {
        "nonsense": False, "toy": True,
    }  # fmt: skip
    shares = result.tables["models_and_prompts"]
    assert set(shares.loc[shares["corpus"] == "nonsense", "what"]) == {"share of drawn words preferred"}
    assert "On nonsense neither word is right" in {x.name: x for x in result.figures}["introspection_accuracy"].caption
    assert result.text.count("Neither side of its items is right") == 1
    nonsense = tables[-1]
    summary = summarise(nonsense.frame, nonsense.layouts, model=nonsense.model)
    assert set(summary["metric"]) == {"position_bias", "pearson", "spearman", "kappa", "raw_agreement"}
    answer = overview([nonsense], summary=summary).answer
    assert answer == "In nonsense neither side of an item is right: no accuracy."


def test_all_items_are_taken_where_the_paper_filters_none(result: Section) -> None:
    assert result.tables["verdicts"]["items"].tolist() == ["all", "all"]
    assert result.tables["filter"].empty
    assert "No item is left out for being easy" in result.text


def test_lines_and_matrices_draw_the_numbers_of_the_tables(result: Section) -> None:
    figures = {figure.name: figure for figure in result.figures}
    ordered = by_size(FOUR, PUBLISHED)
    shares = result.tables["models_and_prompts"].query("corpus == 'toy'")
    axes = figures["introspection_accuracy"].draw().axes[0]
    direct = next(line for line in axes.lines if line.get_label() == "direct")
    expected = shares[shares["method"] == "direct"].set_index("model")["share"].reindex(ordered)
    np.testing.assert_allclose(np.asarray(direct.get_ydata(), dtype=float), expected)
    kappas = figures["introspection_kappa"].draw().axes[0]
    line = next(line for line in kappas.lines if line.get_label() == "prompt_1")
    expected = shares[shares["method"] == "prompt_1"].set_index("model")["kappa"].reindex(ordered)
    np.testing.assert_allclose(np.asarray(line.get_ydata(), dtype=float), expected)
    drawn = {axes.get_title(loc="left"): axes for axes in figures["introspection_pairs_all_toy"].draw().axes}
    image = np.asarray(drawn["Direct of A, Meta of B"].images[0].get_array())
    pairs = result.tables["pairs"].query("corpus == 'toy'").set_index(["direct_model", "meta_model"])["meta_direct"]
    rows = ordered
    assert image[1, 3] == pytest.approx(pairs[rows[1], rows[3]])
    variants = figures["introspection_seed_variants_OLMo"].draw().axes[0].images[0].get_array()
    assert np.asarray(variants)[0, 1] == pytest.approx(pairs["OLMo 7B", "OLMo 7B-seed1"])


def test_kappa_is_that_of_scikit_learn(tables: list[ScoredFrame], result: Section) -> None:
    frame = tables[1].frame
    expected = metrics.cohen_kappa_score(frame["direct_delta"] > 0, frame["prompt_0_delta"] > 0)
    row = result.tables["models_and_prompts"].query("corpus == 'toy' and model == 'Qwen 1.5B' and method == 'prompt_0'")
    assert row["kappa"].iloc[0] == pytest.approx(expected)
    assert row["n_kappa"].iloc[0] == 150


def test_the_answer_names_each_corpus_and_one_figure_shows_them_all(result: Section) -> None:
    assert result.answer.startswith("Beyond relatives' probabilities: **")
    for corpus in ("toy", "nonsense"):
        assert f"{corpus} (" in result.answer
    assert "no evidence" not in result.answer.lower()
    is_in_words = set(result.tables["answers"]["answer"]) - {"not shown", "inconclusive"}
    assert ("Each of these 2 corpora is judged by itself" in result.answer) == bool(is_in_words)
    assert result.first_figure is not None
    assert result.first_figure.name == "introspection_scatters"
    titles = [axes.get_title(loc="left") for axes in result.first_figure.draw().axes]
    assert titles == ["toy", "nonsense"]
    assert len(result.tables["answers"]) == 2


def test_one_model_draws_nothing_and_the_text_says_why() -> None:
    one = introspection(related_frames(["Qwen 1.5B"], n_items=60, n_prompts=2), Context(n_resamples=5))
    assert one.figures == ()
    assert one.first_figure is None
    assert "One model makes a single pair" in one.text
    assert "Inconclusive whether" in one.answer
    assert "The correlation (r) of its answers with its own probabilities is " in one.answer


def test_a_trend_is_that_of_least_squares_through_pairs_of_different_models() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(0.2, 0.8, 30)
    pairs = pd.DataFrame({"match_type": "other", "direct_direct": x, "meta_direct": 0.1 + 0.5 * x})
    own = pd.DataFrame({"match_type": ["self"] * 5, "direct_direct": 1.0, "meta_direct": 0.9})
    assert trend(pd.concat([pairs, own])) == pytest.approx((0.1, 0.5))
    assert trend(pairs.head(6)) is None


def test_the_first_page_has_table_7a_with_its_stars(result: Section) -> None:
    fits = result.tables["regressions"]
    own = fits[fits["table"].str.startswith("Table 7a") & (fits["corpus"] == "toy")].set_index("term")
    (row,) = result.tables["similarity"].query("corpus == 'toy'").to_dict("records")
    assert row["pairs"] == own["n"].iloc[0]
    for term, heading in (("direct_direct", "ΔDirect ~ ΔDirect"), ("seed variant", "seed variant")):
        p = float(str(own.loc[term, "p_value"]))
        stars = "*" * sum(p < level for level in (0.05, 0.01, 0.001))
        assert row[heading] == f"{float(str(own.loc[term, 'estimate'])):.3f}{stars}".replace("-0.000", "0.000")
    assert result.second_table == "similarity"
    assert "Table 7a" in result.second_caption
