"""Every model has its place: from small to large, in tables that fit a page and in figures that hide none."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

import pairbank
from pairbank.scoring.models.fake import FakeScorer
from pairbank.stats import summarise
from pairbank.stats.analyses.base import Section
from pairbank.stats.report import overview as pages
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.model_features import ModelFeatures
from scored_frames import related_frames

NAMES = [f"model {nth:02d}" for nth in range(21)]


@cache
def many() -> tuple[list[ScoredFrame], Section]:
    """21 models with seven methods, and their overview."""
    frames = related_frames(NAMES, n_items=40, n_prompts=6)
    return frames, overview(frames)


def overview(frames: list[ScoredFrame]) -> Section:
    parts = [summarise(frame.frame, frame.layouts, model=frame.model) for frame in frames]
    return pages.overview(frames, summary=pd.concat(parts, ignore_index=True))


def test_models_stand_from_small_to_large_and_unknown_ones_last() -> None:
    items = pairbank.load_corpus("starter", subset="minimal-pairs", language="en", limit=1)
    names = ["Llama3.1 405B", "nobody's", "mine", "Qwen 1.5B"]
    tables = [pairbank.score(items, FakeScorer(name=name), methods=["direct"]) for name in names]
    mine = ModelFeatures(family="Mine", generation="1", size_billions=7, type="base")
    result = pairbank.report(tables, features={"mine": mine})
    ordered = ["Qwen 1.5B", "mine", "Llama3.1 405B", "nobody's"]
    assert list(dict.fromkeys(result.summary["model"])) == ordered
    assert result.overview.tables["accuracies"]["model"].tolist() == ordered
    axes = result.figures[0].draw().axes[0]
    assert [text.get_text() for text in axes.figure.legends[0].get_texts()] == ordered
    (note,) = [note for note in result.notes if "small to large" in note]
    assert note.endswith("nothing is declared of nobody's: last.")
    alone = pairbank.report(tables[1:2])
    assert not any("small to large" in note for note in alone.notes)
    unknown = pairbank.report([pairbank.score(items, FakeScorer(name=name), methods=["direct"]) for name in ("b", "a")])
    assert list(dict.fromkeys(unknown.summary["model"])) == ["b", "a"]
    assert not any("small to large" in note for note in unknown.notes)


def test_the_scatters_have_a_cell_of_each_model_and_prompt_with_its_r() -> None:
    frames, made = many()
    figures = {figure.name: figure for figure in made.figures}
    shown = []
    for name in ("scatter_toy_1", "scatter_toy_2", "scatter_toy_3"):
        axes = figures[name].draw().axes[0]
        models = [text.get_text() for text in axes.get_yticklabels()]
        cells = np.asarray(axes.collections[0].get_offsets())
        assert len(cells) == 40 * 6 * len(models)
        numbers = [text.get_text() for text in axes.texts]
        for nth, model in enumerate(models):
            frame = frames[NAMES.index(model)].frame
            r = [np.corrcoef(frame["direct_delta"], frame[f"prompt_{prompt}_delta"])[0, 1] for prompt in range(6)]
            assert numbers[6 * nth : 6 * nth + 6] == [f"{x:z.2f}" for x in r]
        shown += models
    assert shown == NAMES
    assert "scatter_toy_4" not in figures
    few = {figure.name for figure in overview(frames[:3]).figures}
    assert "scatter_toy" in few
    assert {figure.name for figure in overview(frames[:1]).figures} >= {"scatter_toy_model_00"}


def test_a_cell_has_its_points_in_the_quadrant_of_their_signs() -> None:
    frames = related_frames(["a", "b"], n_items=30, n_prompts=2)
    (figure,) = [figure for figure in overview(frames).figures if figure.name == "scatter_toy"]
    axes = figure.draw().axes[0]
    places = np.asarray(axes.collections[0].get_offsets())
    frame = frames[1].frame  # row 1, and of it the second prompt in column 1
    drawn = places[(places[:, 0] > 1) & (places[:, 1] > 1)]
    np.testing.assert_array_equal(drawn[:, 0] > 1.5, frame["direct_delta"] > 0)
    np.testing.assert_array_equal(drawn[:, 1] < 1.5, frame["prompt_1_delta"] > 0)  # up is small: rows count down
    assert np.abs(drawn - 1.5).max() == pytest.approx(0.46)


def test_with_many_methods_the_first_table_has_a_line_a_method() -> None:
    frames, made = many()
    few, all_of_them = (one.tables["accuracies"] for one in (overview(frames[:3]), made))
    assert list(few.columns) == ["corpus", "method", "n", *NAMES[:3]]
    assert few["method"].tolist() == ["direct", *(f"prompt_{nth}" for nth in range(6))]
    share = (frames[1].frame["prompt_4_delta"] > 0).mean()
    assert str(few.set_index("method").loc["prompt_4", NAMES[1]]).startswith(f"{share:.2f} [")
    assert list(all_of_them.columns) == ["corpus", "method", "n", "min", "max"]
    shares = pd.Series({x.model: (x.frame["prompt_4_delta"] > 0).mean() for x in frames})
    row = all_of_them.set_index("method").loc["prompt_4"]
    assert row["min"].startswith(f"{shares.min():.2f} (")
    assert row["max"].endswith(f"({shares.idxmax()})") or (shares == shares.max()).sum() > 1
    assert len(few) == 7


def test_people_stand_once_and_never_as_a_row_of_empty_cells() -> None:
    frames = related_frames(NAMES[:10], n_items=40, n_prompts=9)
    for frame in frames:
        frame.frame["human_good"], frame.frame["human_bad"] = 2.0, np.where(np.arange(40) < 30, 1.0, 3.0)
    result = overview(frames)
    table = result.tables["accuracies"]
    assert table["people"].tolist() == ["0.75 [0.60, 0.86]", *[""] * 9]
    (figure,) = [figure for figure in result.figures if figure.name == "accuracy_toy"]
    axes = figure.draw().axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == NAMES[:10]
    assert "People's mean ratings: 0.75 [0.60, 0.86] (n = 40)." in figure.caption
    (few,) = [figure for figure in overview(frames[:2]).figures if figure.name == "accuracy_toy"]
    rows = [text.get_text() for text in few.draw().axes[0].get_yticklabels()]
    assert rows[-1] == "people"
    assert "human" not in rows


@pytest.mark.parametrize("n_models", [2, 9])
def test_more_than_three_subsets_have_one_figure_per_method_with_all_of_them(n_models: int) -> None:
    rows = [(f"The {n} dogs bark.", f"The {n} dogs barks.", f"task {n % 4}") for n in range(12)]
    items = pairbank.load_corpus(pd.DataFrame(rows, columns=["good", "bad", "subset"]))
    tables = [pairbank.score(items, FakeScorer(name=name), methods=["direct"]) for name in NAMES[:n_models]]
    figures = {figure.name: figure for figure in pairbank.report(tables).figures}
    assert [name for name in figures if name.startswith("accuracy")] == [
        "accuracy_items",
        "accuracy_subsets_of_items_by_direct",
    ]
    axes = figures["accuracy_subsets_of_items_by_direct"].draw().axes[0]
    labels = axes.get_yticklabels() if n_models == 2 else axes.get_xticklabels()
    assert [text.get_text() for text in labels] == [f"task {n}" for n in range(4)]
