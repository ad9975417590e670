"""The figures of the further analyses: each draws the numbers of its tables, for one model and for many."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pairbank.stats import summarise
from pairbank.stats.analyses import choice_likert, comparisons, paradigms
from pairbank.stats.analyses.base import Section
from pairbank.stats.analyses.grammaticality import section as grammaticality
from pairbank.stats.analyses.languages import section as multilingual
from pairbank.stats.analyses.people import people
from pairbank.stats.figures.style import save_figure
from pairbank.stats.report.overview import overview
from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import rated_table


def concepts(table: ScoredFrame) -> ScoredFrame:
    n_items = len(table.frame)
    return replace(
        table,
        frame=table.frame.assign(
            language=np.array(["en", "zh", "vi", "hu"])[np.arange(n_items) % 4],
            negative_type=np.where(np.arange(n_items) % 8 < 4, "random", "taxonomic"),
        ),
    )


def contexts(table: ScoredFrame) -> ScoredFrame:
    return replace(table, frame=table.frame.assign(task="context_pair"))


def sections(n_models: int) -> dict[str, Section]:
    tables = [rated_table(seed=seed, model=f"model {seed}/x") for seed in range(n_models)]
    return {
        "people": people(tables),
        "grammaticality": grammaticality.grammaticality(tables),
        "comparisons": comparisons.comparisons(tables),
        "paradigms": paradigms.paradigms(tables),
        "languages": multilingual.languages([concepts(x) for x in tables]),
        "choice_likert": choice_likert.choice_likert([contexts(x) for x in tables]),
    }


FIGURES = {
    "people": [
        "people_pearson_human{}",
        "people_scatter",
        "people_bins_toy_cosine_distance",
        "people_bins_toy_edit_distance",
    ],
    "grammaticality": [
        "grammaticality_auc",
        "grammaticality_scatter_model_0_x",
        "grammaticality_bins_toy_cosine_distance",
        "grammaticality_bins_toy_edit_distance",
        "grammaticality_distributions_toy",
        "grammaticality_roc_toy",
    ],
    "paradigms": ["paradigms_toy{}"],
}


@pytest.mark.ci
@pytest.mark.parametrize("n_models", [1, 9])
def test_every_section_has_its_figures_and_all_can_be_saved(n_models: int, tmp_path: Path) -> None:
    result = sections(n_models)
    for name, expected in FIGURES.items():
        names = [x.format("" if n_models == 1 else {"paradigms": "_direct"}.get(name, "_toy")) for x in expected]
        if n_models > 1:  # the scatters of nine models are cells of one figure; panels go on in a second one
            paged = ("people_scatter", "grammaticality_distributions_toy")
            names = [one.removesuffix("_model_0_x") for one in names]
            names = [one for name in names for one in ([f"{name}_1", f"{name}_2"] if name in paged else [name])]
            names += ["paradigms_toy_meta"] if name == "paradigms" else []
        assert [figure.name for figure in result[name].figures] == names
    assert [figure.name for figure in result["languages"].figures[:2]] == ["languages_types", "languages_methods"]
    figures = [figure for section in result.values() for figure in section.figures]
    assert len({figure.name for figure in figures}) == len(figures)
    for figure in figures:
        assert figure.caption.endswith(".")
        assert figure.draw().axes
    png, svg, _ = save_figure(result["people"].figures[0].draw(), tmp_path / figures[0].name)
    assert min(png.stat().st_size, svg.stat().st_size) > 1000


@pytest.mark.parametrize("n_models", [1, 3, 21])
def test_curves_of_each_model_have_the_r_of_each_bin(n_models: int) -> None:
    result = people([rated_table(seed=s, model=f"m{s}") for s in range(n_models)])
    (figure,) = [x for x in result.figures if x.name == "people_bins_toy_cosine_distance"]
    table = result.tables["by_bin"].query("group_by == 'cosine_distance' and method == 'direct'")
    drawn = figure.draw()
    lines = {str(line.get_label()): np.asarray(line.get_ydata(), dtype=float) for line in drawn.axes[0].lines}
    for model, part in table.groupby("model"):
        np.testing.assert_allclose(next(iter(lines.values())) if n_models == 1 else lines[str(model)], part["value"])
    n_bands = {1: 2, 3: 3, 21: 0}[n_models]  # of one model, a band per method
    assert len(drawn.axes[0].collections) == n_bands
    said = "n = 19 to 20 a bin). Bands are" if n_models == 1 else f"A line is one of {n_models} models"
    assert said in figure.caption


def test_the_areas_of_all_models_are_marks_at_their_values() -> None:
    result = grammaticality.grammaticality([rated_table(seed=s, model=f"m{s}") for s in range(5)])
    (figure,) = [x for x in result.figures if x.name == "grammaticality_auc"]
    marks = next(line for line in figure.draw().axes[0].lines if np.size(line.get_xdata()) == 5)
    table = result.tables["separability"].query("metric == 'auc'")
    np.testing.assert_allclose(np.asarray(marks.get_xdata(), dtype=float), table["value"])
    (roc,) = [x for x in result.figures if x.name == "grammaticality_roc_toy"]
    assert {"m0", "m4"} < {line.get_label() for line in roc.draw().axes[0].lines}


def test_a_scatter_has_the_two_scores_of_each_pair() -> None:
    table = rated_table()
    result = grammaticality.grammaticality([table])
    (figure,) = [x for x in result.figures if x.name == "grammaticality_scatter_gpt2"]
    (axes,) = figure.draw().axes
    points = np.asarray(axes.collections[0].get_offsets())
    np.testing.assert_allclose(points, table.frame.iloc[1:][["direct_bad", "direct_good"]])
    r = result.tables["correlation"]["value"].iloc[0]
    assert axes.get_title(loc="left") == f"toy\nr = {r:.2f}, n = 199"


def test_no_model_of_many_is_left_out_of_scatters_and_distributions() -> None:
    tables = [rated_table(seed=s, model=f"m{s:02d}") for s in range(12)]
    models = [table.model for table in tables]
    result = {x.name: x for x in grammaticality.grammaticality(tables).figures}
    drawn_cells = [result[f"grammaticality_scatter_{nth}"].draw().axes[0] for nth in (1, 2)]
    assert [text.get_text() for axes in drawn_cells for text in axes.get_yticklabels()] == models
    last = tables[-1].frame.iloc[1:]
    places = np.asarray(drawn_cells[-1].collections[0].get_offsets())[-len(last) :] % 1
    np.testing.assert_array_equal(places[:, 0] + places[:, 1] < 1, last["direct_good"] > last["direct_bad"])
    rows = []
    for nth in (1, 2, 3):
        panels = result[f"grammaticality_distributions_toy_{nth}"].draw().axes
        rows += [axes.get_ylabel() for axes in panels if axes.get_ylabel()]
    assert rows == models
    drawn = people(tables).figures
    titles = [
        axes.get_title(loc="left") for x in drawn if x.name.startswith("people_scatter") for axes in x.draw().axes
    ]
    assert [title.split("\n")[0] for title in titles] == [f"toy, {model}" for model in models]


def test_the_legend_of_a_roc_curve_has_its_area() -> None:
    result = grammaticality.grammaticality([rated_table()])
    (figure,) = [x for x in result.figures if x.name == "grammaticality_roc_toy"]
    legend = figure.draw().axes[0].get_legend()
    area = result.tables["separability"].query("metric == 'auc'")["value"].iloc[0]
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [f"direct: {area:.2f}"]


def test_phenomena_of_several_models_are_columns_of_their_own() -> None:
    tables = [rated_table(seed=seed, model=f"m{seed}") for seed in range(3)]
    result = paradigms.paradigms(tables)
    (figure,) = [x for x in result.figures if x.name == "paradigms_toy_direct"]
    axes = figure.draw().axes[0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["m0", "m1", "m2"]
    drawn = np.asarray(axes.images[0].get_array(), dtype=float)
    rows = [text.get_text() for text in axes.get_yticklabels()]
    for nth, table in enumerate(tables):
        used = table.frame.iloc[1:]
        right = (used["direct_delta"] > 0).groupby(used["paradigm"]).mean()
        np.testing.assert_allclose(drawn[:, nth], right[rows])


@pytest.mark.ci
def test_a_matrix_of_differences_is_antisymmetric() -> None:
    tables = [rated_table(60, seed=s, model=f"m{s}") for s in range(8)]
    result = comparisons.comparisons(tables)
    (figure,) = [x for x in result.figures if x.name == "comparisons_toy_models"]
    image = np.ma.filled(np.ma.asarray(figure.draw().axes[0].images[0].get_array(), dtype=np.float64), np.nan)
    assert image.shape == (8, 8)
    np.testing.assert_allclose(image, -image.T)
    assert np.isnan(np.diag(image)).all()


def test_the_order_of_a_files_rows_changes_no_figure_of_a_report(tmp_path: Path) -> None:
    table = rated_table()
    shuffled = replace(table, frame=table.frame.sample(frac=1, random_state=1))
    summary = summarise(table.frame, table.layouts, model=table.model)
    drawn = []
    for nth, scored in enumerate((table, shuffled)):
        figures = {figure.name: figure for figure in overview([scored], summary=summary).figures}
        (_, svg, _) = save_figure(figures["scatter_toy_gpt2"].draw(), tmp_path / str(nth))
        drawn.append(svg.read_bytes())
    assert drawn[0] == drawn[1]
