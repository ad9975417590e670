"""Figures 2a, 5a and 8 of Song, Hu & Mahowald 2025: items with the published counts give the published figures.

Counts and kappas stand in files decoded from the paper's vector figures (`published/`). Two counts and the kappa
between them fix the whole table of agreements, in whole items, so that deltas with these signs can be laid out.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from numpy.typing import NDArray

from pairbank.stats.analyses.introspection.figures import model_charts
from pairbank.stats.analyses.introspection.model_pairs import words
from pairbank.stats.analyses.introspection.tables import by_model
from pairbank.stats.figures.style import Figure
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.model_features import by_size, features_in_paper
from pairbank.stats.scored_table.scored_table import stack_deltas
from scored_frames import scored_frame
from shared_files import present

PUBLISHED = features_in_paper("song-2025")
N_SENTENCES, N_WORDS = 1048, 1000
PROMPTS = [f"prompt_{nth}" for nth in range(1, 9)]
DATASETS = ("wikipedia", "news", "nonsense", "randomseq")

pytestmark = pytest.mark.upstream


def _published(shared: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(present(shared / "published" / name))


def _deltas(n_first: int, n_later: int, *, n_both: int, n_items: int) -> NDArray[np.float64]:
    """Deltas above 0 on `n_both` of the first `n_first` items and on as many later ones as make `n_later` in all."""
    nth = np.arange(n_items)
    positive = (nth < n_both) | ((nth >= n_first) & (nth < n_first + n_later - n_both))
    return np.where(positive, 1.0, -1.0) * (1 + nth % 7)


@pytest.fixture(scope="module")
def experiment_1(shared: Path) -> tuple[pd.DataFrame, pd.DataFrame, list[Figure]]:
    """Published counts and kappas, and our shares and figures of items that have these counts."""
    counts = _published(shared, "song_2025_fig2a_correct_of_1048.csv").set_index("model").drop(columns="metamean")
    kappas = _published(shared, "song_2025_fig5a_kappa.csv").set_index("model")
    counts.columns = pd.Index([*PROMPTS, "direct"])
    kappas.columns = pd.Index(PROMPTS)
    frames = []
    for model in counts.index:
        k = int(counts.loc[model, "direct"])
        answers = {}
        for prompt in PROMPTS:
            asked = int(counts.loc[model, prompt])
            by_chance = (k * asked + (N_SENTENCES - k) * (N_SENTENCES - asked)) / N_SENTENCES**2
            same = float(kappas.loc[model, prompt]) * (1 - by_chance) + by_chance
            both = (same * N_SENTENCES - N_SENTENCES + k + asked) / 2
            assert both == pytest.approx(round(both), abs=0.003), (model, prompt)  # a whole number of items
            answers[prompt] = _deltas(k, asked, n_both=round(both), n_items=N_SENTENCES)
        direct = _deltas(k, k, n_both=k, n_items=N_SENTENCES)
        frames.append(scored_frame(str(model), direct, answers, corpus="blimp-li"))
    return counts, kappas, _drawn(frames)


def _drawn(frames: list[ScoredFrame]) -> list[Figure]:
    corpora = dict.fromkeys(frame.corpus for frame in frames)
    stacks = [stack_deltas([frame for frame in frames if frame.corpus == corpus]) for corpus in corpora]
    shares = pd.concat([by_model(stack, PUBLISHED) for stack in stacks], ignore_index=True)
    charts = model_charts(shares, [], PUBLISHED, {})
    return [Figure(name=f"introspection_{x.name}", caption=words().caption(x), draw=x.draw) for x in charts]


def _lines(axes: Axes) -> pd.DataFrame:
    """Return what is drawn: a row a model, in order, a column a method."""
    names = [text.get_text() for text in axes.figure.axes[-1].get_xticklabels()]
    drawn = {str(x.get_label()): np.asarray(x.get_ydata(), dtype=float) for x in axes.lines}
    return pd.DataFrame({name: y for name, y in drawn.items() if len(y) == len(names) > 2}, index=names)


def _of(counts: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Return the rows of one dataset, by model."""
    return counts[counts.index.get_level_values("dataset") == dataset].droplevel("dataset")


def test_figure_2a_draws_the_published_counts_from_small_to_large_models(
    experiment_1: tuple[pd.DataFrame, pd.DataFrame, list[Figure]],
) -> None:
    counts, _, figures = experiment_1
    figure = next(figure for figure in figures if figure.name == "introspection_accuracy")
    result = _lines(figure.draw().axes[0])
    assert list(result.index) == by_size(list(counts.index), PUBLISHED)
    expected = counts.reindex(index=result.index, columns=result.columns) / N_SENTENCES
    assert result.shape == (21, 9)
    np.testing.assert_allclose(result, expected, atol=1e-12)
    # "All models perform above chance, across the different methods and prompts" (section 3.2.1)
    assert result.to_numpy().min() > 0.6
    # "Direct outperforming Meta for smaller models", and all models alike by it
    assert (result["direct"] > result.drop(columns="direct").mean(axis=1)).head(2).all()


def test_figure_5a_draws_the_published_kappas(experiment_1: tuple[pd.DataFrame, pd.DataFrame, list[Figure]]) -> None:
    _, kappas, figures = experiment_1
    figure = next(figure for figure in figures if figure.name == "introspection_kappa")
    result = _lines(figure.draw().axes[0])
    expected = kappas.reindex(index=result.index, columns=result.columns)
    assert result.shape == (21, 8)
    np.testing.assert_allclose(result, expected, atol=1.5e-5)  # as read from the figure
    assert "mean 0.25, from 0.08 to 0.38" in figure.caption  # "around 0.25" (section 3.2.1)


@pytest.mark.ci
def test_figure_8_draws_the_published_counts_of_each_dataset(shared: Path) -> None:
    counts = _published(shared, "song_2025_fig8_chosen_of_1000.csv").set_index(["dataset", "model"])
    frames = []
    for dataset in DATASETS:
        for model, row in _of(counts, dataset).iterrows():
            n_of = {name: int(n) for name, n in row.items()}
            deltas = {str(name): _deltas(n, n, n_both=n, n_items=N_WORDS) for name, n in n_of.items()}
            frame = scored_frame(str(model), deltas.pop("direct"), deltas, corpus=dataset)
            if dataset in DATASETS[2:]:
                frame.frame["flags"] = [["no_truth"]] * N_WORDS
            frames.append(frame)
    figure = next(figure for figure in _drawn(frames) if figure.name == "introspection_accuracy")
    panels = figure.draw().axes
    assert [axes.get_title(loc="left") for axes in panels] == list(DATASETS)
    for dataset, axes in zip(DATASETS, panels, strict=True):
        result = _lines(axes)
        expected = _of(counts, dataset).reindex(index=result.index, columns=result.columns) / N_WORDS
        assert result.shape == (21, 7)
        np.testing.assert_allclose(result, expected, atol=1e-12)
        # "models overwhelmingly prefer the original word (near 100%)"; no preference in random sequences
        near = {"wikipedia": 0.997, "news": 0.995, "nonsense": 0.804, "randomseq": 0.442}[dataset]
        assert result["direct"].mean() == pytest.approx(near, abs=5e-4)
    assert "On nonsense and randomseq neither word is right" in figure.caption
