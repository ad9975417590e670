"""Methods across languages, against the published cells of He et al. 2025."""

import functools
import itertools
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nulls.languages import outcomes
from pairbank.builders.languages import typology
from pairbank.errors import BankError
from pairbank.stats.analyses.base import Context, Section
from pairbank.stats.analyses.languages.section import languages as section
from pairbank.stats.analyses.languages.statistics import (
    languages_differ,
    leave_one_out,
    method_correlations,
    typology_means,
)
from pairbank.stats.analyses.neuro import Probed
from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import DIRECT, META, keyed, rated_table

LANGUAGES = ["en", "ca", "nl", "fr", "fa", "es", "ar", "de", "el", "he", "ru", "uk", "zh", "vi", "hu", "ja", "ko", "tr"]
# He et al. 2025, Figure 1, Llama-3.1-8B-Instruct: cells of the 18 languages above
FIGURE_1 = {
    ("taxonomic", "meta"): ".79 .62 .66 .61 .61 .69 .67 .63 .61 .65 .60 .60 .58 .66 .60 .67 .58 .58",
    ("overlap", "meta"): ".78 .58 .62 .60 .63 .66 .64 .62 .56 .69 .60 .60 .59 .68 .62 .65 .57 .57",
    ("co-occurrence", "meta"): ".79 .60 .65 .59 .62 .67 .63 .62 .56 .66 .62 .61 .61 .67 .62 .68 .59 .56",
    ("random", "meta"): ".90 .62 .72 .67 .66 .76 .67 .67 .62 .65 .68 .65 .60 .67 .70 .77 .61 .60",
    ("taxonomic", "direct"): ".76 .54 .58 .59 .56 .58 .56 .56 .57 .54 .62 .61 .63 .61 .52 .58 .58 .56",
    ("overlap", "direct"): ".73 .54 .59 .62 .59 .60 .58 .58 .59 .57 .63 .62 .65 .61 .56 .57 .61 .56",
    ("co-occurrence", "direct"): ".77 .53 .57 .58 .51 .57 .56 .56 .54 .54 .61 .60 .62 .55 .49 .54 .54 .54",
    ("random", "direct"): ".92 .60 .67 .70 .67 .70 .67 .69 .68 .64 .78 .71 .76 .72 .60 .68 .68 .62",
    ("taxonomic", "neuro"): ".77 .51 .56 .58 .56 .57 .53 .56 .55 .49 .60 .57 .59 .55 .51 .58 .58 .55",
    ("overlap", "neuro"): ".74 .49 .53 .56 .54 .55 .52 .55 .51 .49 .57 .54 .58 .54 .50 .57 .57 .53",
    ("co-occurrence", "neuro"): ".78 .50 .54 .58 .55 .58 .53 .59 .53 .50 .60 .58 .61 .57 .51 .57 .59 .53",
    ("random", "neuro"): ".92 .64 .70 .74 .71 .74 .71 .75 .70 .64 .79 .76 .79 .74 .66 .74 .70 .66",
}
# He et al. 2025, Figure 4: analytic, inflected, agglutinative, without English
FIGURE_4 = {
    ("taxonomic", "meta"): (0.62, 0.63, 0.61),
    ("overlap", "meta"): (0.63, 0.62, 0.60),
    ("co-occurrence", "meta"): (0.64, 0.62, 0.61),
    ("random", "meta"): (0.64, 0.67, 0.67),
    ("taxonomic", "direct"): (0.62, 0.57, 0.56),
    ("overlap", "direct"): (0.63, 0.59, 0.58),
    ("co-occurrence", "direct"): (0.59, 0.56, 0.53),
    ("random", "direct"): (0.74, 0.68, 0.65),
    ("taxonomic", "neuro"): (0.57, 0.55, 0.56),
    ("overlap", "neuro"): (0.56, 0.53, 0.54),
    ("co-occurrence", "neuro"): (0.59, 0.55, 0.55),
    ("random", "neuro"): (0.77, 0.72, 0.69),
}
DIRECT_RHO = -0.5619
TYPES = ("taxonomic", "overlap", "co-occurrence", "random")


@pytest.fixture(scope="module")
def cells() -> pd.DataFrame:
    rows = [
        {"model": "llama", "method": method, "negative_type": kind, "language": language, "value": float(value)}
        for (kind, method), text in FIGURE_1.items()
        for language, value in zip(LANGUAGES, text.split(), strict=True)
    ]
    return pd.DataFrame(rows)


def types() -> dict[str, str | None]:
    return {tag: entry.typology for tag, entry in typology().items()}


def test_figure_4_is_the_mean_of_figure_1(cells: pd.DataFrame) -> None:
    means = keyed(typology_means(cells, types()), "negative_type", "method", "typology")
    kinds = ("analytic", "inflectional", "agglutinative")
    result = 0
    for (negative, method), published in FIGURE_4.items():
        for kind, value in zip(kinds, published, strict=True):
            cell = means[negative, method, kind]
            assert cell["value"] == pytest.approx(value, abs=0.005 + 1e-9), (negative, method, kind)
            result += 1
    assert result == 36
    assert [means["random", "meta", kind]["n_languages"] for kind in kinds] == [2, 11, 4]


@pytest.mark.parametrize(
    ("a", "b", "everywhere", "without_english"),
    [
        # recomputed from the cells of Figure 1 over the languages, one negative type after the other
        ("direct", "neuro", (0.945, 0.895, 0.908, 0.970), (0.810, 0.730, 0.691, 0.935)),
        ("meta", "direct", (0.579, 0.501, 0.636, 0.604), (-0.123, -0.100, 0.020, 0.072)),
    ],
)
def test_methods_correlate_over_languages_and_the_questions_do_so_by_english_alone(
    cells: pd.DataFrame, a: str, b: str, everywhere: tuple[float, ...], without_english: tuple[float, ...]
) -> None:
    table = keyed(method_correlations(cells), "method", "versus", "negative_type")
    for kind, value, without in zip(TYPES, everywhere, without_english, strict=True):
        row = table[a, b, kind]
        assert row["n"] == 18
        assert row["value"] == pytest.approx(value, abs=5e-4)
        assert row["without_english"] == pytest.approx(without, abs=5e-4)
        assert row["most_influential"] == "en"
        assert row["lowest"] == row["without_english"]
        assert row["low"] < row["value"] < row["high"]


def test_leaving_out_is_the_correlation_of_the_rest() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 6))
    result = leave_one_out(x, y, list("abcdef"))
    for position, name in enumerate("abcdef"):
        kept = np.arange(6) != position
        assert result.without[name] == pytest.approx(np.corrcoef(x[kept], y[kept])[0, 1], abs=1e-12)
    assert (result.lowest, result.highest) == (min(result.without.values()), max(result.without.values()))
    with pytest.raises(BankError, match="expected 2 different ones"):
        leave_one_out([1.0, 2.0], [1.0, 3.0], ["en", "en"])


def test_two_languages_leave_nothing_to_correlate(cells: pd.DataFrame) -> None:
    row = method_correlations(cells[cells["language"].isin(["en", "zh"])]).iloc[0]
    assert math.isnan(row["lowest"])
    assert math.isnan(row["without_english"])
    assert pd.isna(row["most_influential"])


def test_a_cell_that_stands_twice_is_refused(cells: pd.DataFrame) -> None:
    with pytest.raises(BankError, match="occurs twice; expected one number"):
        typology_means(pd.concat([cells, cells.iloc[:1]]), types())


def test_two_tables_of_a_model_and_corpus_are_not_merged() -> None:
    one, other = concepts(["zh", "vi"], corpus="xcomps"), concepts(["vi", "hu"], corpus="xcomps")
    with pytest.raises(BankError, match="'language': 'vi'} occurs twice"):
        section([one, other])


def concepts(languages: list[str], *, corpus: str) -> ScoredFrame:
    table = rated_table(400, corpus=corpus)
    cells = list(itertools.product(languages, ["taxonomic", "random"]))
    frame = table.frame.assign(
        language=[cells[i % len(cells)][0] for i in range(400)],
        negative_type=[cells[i % len(cells)][1] for i in range(400)],
    )
    return replace(table, frame=frame)


def test_the_section_pools_the_languages_of_a_model() -> None:
    tables = [concepts(["en"], corpus="comps"), concepts(["zh", "vi", "hu", "de"], corpus="xcomps")]
    result = section(tables)
    accuracy = result.tables["accuracy"]
    assert len(accuracy) == 5 * 2 * 2  # languages, negative types, methods
    frame = tables[1].frame
    cell = accuracy.query("language == 'vi' and negative_type == 'random' and method == 'direct'").iloc[0]
    used = frame[(frame["language"] == "vi") & (frame["negative_type"] == "random")]
    assert cell["value"] == pytest.approx((used["direct_delta"] > 0).mean(), abs=1e-12)
    assert (cell["n"], cell["n_excluded"]) == (len(used), 0)
    assert accuracy["n_excluded"].sum() == 2 * 2  # one identical pair in each corpus, by two methods
    analytic = result.tables["typology"].query("typology == 'analytic' and method == 'direct'")
    assert set(analytic["n_languages"]) == {2}
    assert result.tables["correlation"]["n"].tolist() == [5, 5]
    assert "5 languages (en, de, zh, vi, hu)" in result.text


def test_invented_words_are_another_task() -> None:
    english, others = concepts(["en"], corpus="comps"), concepts(["zh", "vi"], corpus="xcomps")
    invented = np.where(np.arange(400) < 100, "property inheritance", "property knowledge")
    result = section([replace(english, frame=english.frame.assign(phenomenon=invented)), others])
    cells = result.tables["accuracy"].query("language == 'en' and method == 'direct'")
    assert cells["n"].sum() == 300


def test_one_language_is_no_comparison_of_languages() -> None:
    with pytest.raises(BankError, match=r"1 language\(s\) with a negative type"):
        section([concepts(["en"], corpus="comps")])
    with pytest.raises(BankError, match=r"0 language\(s\) with a negative type"):
        section([rated_table()])


@functools.cache
def published_section(n_models: int) -> Section:
    """Figure 1 as tables of 100 pairs a cell (10 of many models), and probes whose layers deepen with complexity."""
    tables, probed = [], []
    n_pairs = 100 if n_models < 10 else 10
    depth = {"analytic": 9, "inflectional": 12, "agglutinative": 15, None: 8}
    for nth in range(n_models):
        rows, summary = [], []
        for (kind, method), text in FIGURE_1.items():
            for language, value in zip(LANGUAGES, text.split(), strict=True):
                if method == "neuro":
                    place: dict[str, object] = {
                        "model": f"lab/model-{nth}",
                        "corpus": "xcomps",
                        "group_by": "language+negative_type",
                    }
                    place |= {"group": f"{language}/{kind}", "method": "neuro", "versus": "", "n": 100, "n_excluded": 0}
                    empty = {"low": math.nan, "high": math.nan, "ci_method": "", "reason": None}
                    layer = float(depth[typology()[language].typology] + nth % 2)
                    summary.append(place | empty | {"metric": "f1", "value": float(value) - 0.01 * (nth % 3)})
                    summary.append(place | empty | {"metric": "f1_layer", "value": layer})
                else:
                    rows.append((language, kind, method, round(n_pairs * float(value)) - nth % 3))
        tables.append(scored_cells(rows, model=f"lab/model-{nth}", n_pairs=n_pairs))
        probed.append(Probed(layers=pd.DataFrame(), summary=pd.DataFrame(summary), signature={}))
    return section(tables, Context(probed=probed))


def scored_cells(rows: list[tuple[str, str, str, int]], *, model: str, n_pairs: int) -> ScoredFrame:
    """Pairs of each language and kind, as many right as the cell says."""
    right = {(language, kind, method): n for language, kind, method, n in rows}
    places = [(language, kind, i) for language in LANGUAGES for kind in TYPES for i in range(n_pairs)]
    frame = pd.DataFrame(places, columns=["language", "negative_type", "number"])
    for method in ("direct", "meta"):
        n_right = [
            right[language, kind, method]
            for language, kind in zip(frame["language"], frame["negative_type"], strict=True)
        ]
        frame[f"{method}_delta"] = np.where(frame["number"] < n_right, 1.0, -1.0)
    unasked = (frame["language"] == "zh") & (frame["number"] >= 97)
    frame.loc[unasked, "meta_delta"] = np.nan
    frame["meta_flags"] = [["missing:concept_good", "missing:property"] if x else [] for x in unasked]
    frame["item_id"] = [f"x/{i:05d}" for i in range(len(frame))]
    frame["phenomenon"] = "property knowledge"
    frame["flags"] = [[] for _ in range(len(frame))]
    return ScoredFrame(corpus="xcomps", model=model, frame=frame, layouts=(DIRECT, META))


def test_the_heat_map_has_figure_1_languages_by_group_and_kinds_within_methods() -> None:
    result = published_section(1)
    (figure,) = [x for x in result.figures if x.name == result.main_figure]
    made = figure.draw()
    axes = made.axes[0]
    assert [x.get_text() for x in axes.get_xticklabels()] == LANGUAGES
    rows = [x.get_text() for x in axes.get_yticklabels()]
    assert rows == [f"{kind}  {method}" for method in ("meta", "direct", "neuro") for kind in TYPES]
    image = np.asarray(axes.images[0].get_array(), dtype=float)
    expected = [
        [float(x) for x in FIGURE_1[kind, method].split()] for method in ("meta", "direct", "neuro") for kind in TYPES
    ]
    known = np.array(LANGUAGES) != "zh"  # Meta lacks three items of it
    np.testing.assert_allclose(image[:, known], np.array(expected)[:, known], atol=1e-9)
    assert made.axes[1].get_ylabel() == "accuracy (Neuro: F1)"
    groups = {"weakly inflected", "strongly inflected", "analytic", "agglutinative"}
    assert {x.get_text().replace("\n", " ") for x in axes.texts} >= groups


@pytest.mark.ci
@pytest.mark.parametrize("n_models", [1, 3, 21])
def test_every_model_is_drawn_in_the_figures_of_types_and_methods(n_models: int) -> None:
    result = published_section(n_models)
    drawn = {figure.name: figure.draw() for figure in result.figures if not figure.name.startswith("languages_lab")}
    assert set(drawn) == {"languages_types", "languages_methods"}
    for axes in drawn["languages_types"].axes:
        assert len([line for line in axes.lines if len(np.asarray(line.get_xdata())) == 3]) == n_models
    first = next(line for line in drawn["languages_types"].axes[0].lines if len(np.asarray(line.get_xdata())) == 3)
    if n_models < 10:
        np.testing.assert_allclose(np.asarray(first.get_ydata()), FIGURE_4["taxonomic", "meta"], atol=0.011)
    for axes in drawn["languages_methods"].axes:
        assert len(axes.lines) == 2 * n_models + 1  # points and a fit of each, and the rings of English
        assert axes.texts[0].get_text().startswith("r = ")
    assert len(result.tables["types"]) <= 25
    assert set(result.tables["types"]["model"]) == {f"lab/model-{nth}" for nth in range(n_models)}


def test_deeper_layers_of_complex_languages_are_tested_over_languages() -> None:
    result = published_section(3)
    layers = keyed(result.tables["complexity"], "what", "model")["best layer", "lab/model-0"]
    assert layers["rho"] == pytest.approx(1.0, abs=1e-9)
    assert (layers["n_languages"], layers["p"] < 0.001) == (17, True)
    assert "best layer rho = 1.00" in result.answer
    assert "with 17 languages p < .05 needs |rho| of 0.5" in result.answer
    # scipy.stats.spearmanr over the 17 languages of the published cells, Direct, mean of four kinds
    direct = keyed(published_section(1).tables["complexity"], "what", "model")["direct", "lab/model-0"]
    assert direct["rho"] == pytest.approx(DIRECT_RHO, abs=5e-4)


def test_items_that_a_question_cannot_be_put_about_are_counted_and_stated() -> None:
    result = published_section(1)
    unasked = keyed(result.tables["unasked"], "language")
    assert (unasked["zh",]["n_unasked"], unasked["zh",]["n_items"], unasked["de",]["n_unasked"]) == (12, 400, 0)
    assert "`meta` was not asked of 12 of 7,200 items" in result.answer
    assert "zh 12 of 400" in result.text


def test_random_minus_subtle_is_the_mean_over_languages_of_differences_of_accuracies() -> None:
    result = published_section(1)
    cells = result.tables["accuracy"].query("method == 'direct'")
    wide = cells.pivot_table(index="language", columns="negative_type", values="value")
    ahead = wide["random"] - wide.drop(columns="random").mean(axis=1)
    row = result.tables["contrasts"].set_index("method").loc["direct"]
    assert row["value"] == pytest.approx(ahead.mean())
    assert (row["n_languages"], row["n_higher"]) == (len(ahead), (ahead > 0).sum())
    assert row["low"] < row["value"] < row["high"]
    assert f"`direct` {row['value']:+.2f} [{row['low']:+.2f}, {row['high']:+.2f}]" in result.answer
    assert "Random minus subtle wrong concepts (taxonomic, overlap, co-occurrence): " in result.answer
    english = cells.groupby("language")["value"].mean()
    gap = english["en"] - english.drop("en").mean()
    assert "English minus the mean of the other languages: " in result.answer
    assert f"`direct` {gap:+.2f}" in result.answer
    assert "interval above 0 in " in published_section(3).answer


def test_differences_between_languages_are_tested_over_properties_and_corrected() -> None:
    pairs = outcomes(np.random.default_rng(3), gain=0.0, spread=1.0)
    units = pairs.groupby(["language", "cluster"])["credit"].mean()
    expected = stats.f_oneway(*(group for _, group in units.groupby("language")))
    row = languages_differ(pairs)
    assert row["F"] == pytest.approx(expected.statistic)
    assert row["p"] == pytest.approx(expected.pvalue)
    assert row["n_languages"] == 10
    result = published_section(3)
    table = result.tables["varies"]
    assert (table["p_holm"] >= table["p"]).all()
    n = int((table.query("method == 'direct'")["p_holm"] < 0.05).sum())
    assert "Differences between languages in accuracy (analysis of variance over properties, Holm's" in result.answer
    assert f"`direct` p < .05 in {n} of 3 models" in result.answer
