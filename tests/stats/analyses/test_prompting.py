"""Hu & Levy 2023: consistency, performance with corpora pooled, the answer in words, and what the figures draw."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Rectangle
from scipy import stats
from sklearn import metrics

from asked_frames import CORPORA, PROMPTS, asked_table, asked_tables, layouts_of
from pairbank.errors import BankError
from pairbank.scoring.prompts.registry import prompts
from pairbank.stats.analyses import agreement_summary
from pairbank.stats.analyses.base import Section
from pairbank.stats.analyses.prompting.cells import POOLED, names_of
from pairbank.stats.analyses.prompting.section import prompting as section
from pairbank.stats.figures.style import save_figure
from rated_tables import keyed
from scored_frames import scored_frame

MODELS = ["gpt2", "gpt2-large", "flan-t5-small"]


@pytest.fixture(scope="module")
def result() -> Section:
    return section(asked_tables(MODELS))


def row(result: Section, task: str, prompt: str, corpus: str, model: str = "gpt2") -> dict[str, object]:
    return keyed(result.tables["comparisons"], "task", "prompt", "corpus", "model")[task, prompt, corpus, model]


def test_r_of_words_is_that_of_log_probabilities_and_of_pairs_that_of_differences(result: Section) -> None:
    words = asked_table("p18", "gpt2", seed=0).frame
    expected = stats.pearsonr(words["direct_good"], words["1_1_good"]).statistic
    assert row(result, "Exp. 1", "MetaInstruct", "p18")["r"] == pytest.approx(expected, abs=1e-12)
    pairs = asked_table("dtfit", "gpt2", seed=0).frame
    expected = stats.pearsonr(pairs["direct_delta"], pairs["2_2_delta"]).statistic
    assert row(result, "Exp. 2", "MetaQuestionComplex", "dtfit")["r"] == pytest.approx(expected, abs=1e-12)


def test_r_of_a_task_is_the_unweighted_mean_over_corpora(result: Section) -> None:
    own = [row(result, "Exp. 3b", PROMPTS[0], corpus)["r"] for corpus in ("syntaxgym", "hu-levy-blimp")]
    assert row(result, "Exp. 3b", PROMPTS[0], POOLED)["r"] == pytest.approx(np.mean(np.array(own, dtype=float)))


def test_accuracy_of_a_task_pools_the_items_of_its_corpora_and_is_balanced(result: Section) -> None:
    # 45 + 90 pairs: the mean over items, not over corpora; scikit-learn's balanced accuracy of Yes against No
    answers = [np.array(asked_table(c, "gpt2", seed=0).frame["3a_0_logprobs"].to_list()) for c in list(CORPORA)[3:]]
    together = np.concatenate(answers).reshape(-1, 2, 2)
    says_yes = (together[:, :, 0] > together[:, :, 1]).ravel()
    expected = metrics.balanced_accuracy_score(np.tile([True, False], len(together)), says_yes)
    pooled = row(result, "Exp. 3a", PROMPTS[0], POOLED)
    assert pooled["asked"] == pytest.approx(expected)
    assert pooled["n"] == 45 + 90
    means = [row(result, "Exp. 3a", PROMPTS[0], corpus)["asked"] for corpus in ("syntaxgym", "hu-levy-blimp")]
    assert pooled["asked"] == pytest.approx((45 * float(str(means[0])) + 90 * float(str(means[1]))) / 135)


def test_words_of_both_corpora_are_pooled_and_compared_item_by_item(result: Section) -> None:
    frames = [asked_table(corpus, "gpt2", seed=0).frame for corpus in ("p18", "news-2023")]
    direct, asked = (
        np.concatenate([frame[name] for frame in frames]).astype(float) for name in ("direct_good", "1_0_good")
    )
    pooled = row(result, "Exp. 1", PROMPTS[0], POOLED)
    assert (pooled["direct"], pooled["asked"]) == (pytest.approx(direct.mean()), pytest.approx(asked.mean()))
    interval = stats.ttest_rel(asked, direct).confidence_interval()
    assert (pooled["difference_low"], pooled["difference_high"]) == pytest.approx((interval.low, interval.high))


def test_the_answer_counts_the_tasks_in_which_asking_is_lower(result: Section) -> None:
    one = section(asked_tables(["gpt2"]))
    cells = one.tables["comparisons"]
    whole = cells[(cells["corpus"] == POOLED) | (cells["task"] == "Exp. 2")]
    n_lower = int((whole.groupby("task")["difference"].max() < 0).sum())
    assert one.answer.startswith(f"Every prompt scores lower than direct log-probabilities in **{n_lower} of 4 tasks**")
    n_shown = int((whole.groupby("task")["difference_high"].max() < 0).sum())
    assert f"(all intervals below 0 in {n_shown})" in one.answer
    ends = whole[whole["measure"] == "accuracy"]["difference"].agg(["min", "max"])
    assert f"accuracy {ends['min']:+.2f} to {ends['max']:+.2f} (n = 50 to 135 items)" in one.answer
    assert f"Pearson's r of answers with log-probabilities is {whole['r'].min():.2f} to" in one.answer
    assert "of 12 cases (model × task)" in result.answer
    for model in MODELS:
        assert (result.tables["consistency"]["model"] == model).sum() == 4
    assert len(section(asked_tables([f"m{nth}" for nth in range(7)])).tables["consistency"]) == 7


def test_the_consistency_figure_has_a_panel_a_model_with_its_r(result: Section, tmp_path: Path) -> None:
    figures = {figure.name: figure for figure in result.figures}
    assert result.first_figure is figures["prompting_consistency"]
    drawn = figures["prompting_consistency"].draw()
    panels = {axes.get_title(loc="left"): axes for axes in drawn.axes if axes.images and axes.get_title(loc="left")}
    assert list(panels) == ["flan-t5-small", "gpt2", "gpt2-large"]  # by declared size
    image = np.asarray(panels["gpt2"].images[0].get_array())
    assert image.shape == (4, 3)
    assert image[2, 1] == pytest.approx(row(result, "Exp. 3a", "MetaInstruct", POOLED)["r"])
    bars = figures["prompting_performance"].draw().axes[0].containers
    assert len(bars) >= 4
    assert {f"prompting_scatter_Exp._{task}" for task in ("1", "2", "3a", "3b")} <= set(figures)
    assert "The line is where both are equal" in figures["prompting_scatter_Exp._1"].caption
    points = figures["prompting_scatter_Exp._3a"].draw().axes
    assert [len(np.asarray(axes.collections[0].get_offsets())) for axes in points] == [
        45
    ] * 9  # 3 models x 3 prompts, none left out
    png, *_ = save_figure(drawn, tmp_path / "figure")
    assert png.stat().st_size > 5_000


def test_bars_show_the_pooled_accuracy_of_the_paper(result: Section) -> None:
    (figure,) = [figure for figure in result.figures if figure.name == "prompting_performance"]
    axes = {axes.get_title(loc="left"): axes for axes in figure.draw().axes}["Exp. 3b"]
    heights = [
        patch.get_height() for patch in axes.patches if isinstance(patch, Rectangle)
    ]  # direct of 3 models, then each prompt's
    expected = [
        row(result, "Exp. 3b", PROMPTS[0], POOLED, model)["asked"] for model in ("flan-t5-small", "gpt2", "gpt2-large")
    ]
    assert heights[3:6] == pytest.approx(expected)


def test_asking_in_any_wording_has_an_interval_over_wordings(result: Section) -> None:
    cases = keyed(result.tables["wordings"], "task", "corpus", "model")
    case = cases["Exp. 3b", "syntaxgym", "gpt2"]
    asked = [row(result, "Exp. 3b", prompt, "syntaxgym") for prompt in PROMPTS]
    assert (case["n_wordings"], case["n"], case["n_of_any"]) == (3, 45, 45)
    assert case["asked"] == pytest.approx(np.mean([float(str(one["asked"])) for one in asked]))
    assert case["difference"] == pytest.approx(np.mean([float(str(one["difference"])) for one in asked]))
    of_wordings = stats.t.interval(0.95, 2, *_mean_and_error([float(str(one["difference"])) for one in asked]))
    assert case["difference_high"] - case["difference_low"] > (of_wordings[1] - of_wordings[0]) / 2
    assert "Over wordings as draws (3 wordings of a task), prompted − direct in " in result.answer
    assert section([asked_table("p18", "gpt2", seed=0)]).answer.count("Over wordings") == 1


def _mean_and_error(values: list[float]) -> tuple[float, float]:
    return float(np.mean(values)), float(stats.sem(values))


def test_prompted_probabilities_have_a_brier_score_and_a_reliability_curve(result: Section) -> None:
    logprobs = np.array(asked_table("syntaxgym", "gpt2", seed=0).frame["3b_1_logprobs"].to_list()).reshape(-1, 2, 2)
    p = np.exp(logprobs) / np.exp(logprobs).sum(axis=2, keepdims=True)
    says_first = p[:, :, 0].ravel()
    of = keyed(result.tables["brier"], "task", "prompt", "corpus", "model")[
        "Exp. 3b", "MetaInstruct", "syntaxgym", "gpt2"
    ]
    is_first = np.tile([1, 0], len(p))
    assert of["value"] == pytest.approx(metrics.brier_score_loss(is_first, says_first))
    curve = result.tables["reliability"].query("method == '3b_1' and corpus == 'syntaxgym' and model == 'gpt2'")
    confidence, right = np.maximum(says_first, 1 - says_first), (says_first > 0.5) == is_first
    for cell in curve.to_dict("records"):
        inside = np.minimum(((confidence - 0.5) * 10).astype(int), 4) == cell["bin"] - 1
        assert cell["confidence"] == pytest.approx(confidence[inside].mean())
        assert cell["value"] == pytest.approx(right[inside].mean())
    (figure,) = [figure for figure in result.figures if figure.name.startswith("prompting_reliability_Exp._3b_syntax")]
    assert len(figure.draw().axes) >= 3
    assert set(result.tables["brier"]["task"]) == {"Exp. 2", "Exp. 3a", "Exp. 3b"}


def test_every_prompt_of_the_paper_has_its_experiment_in_its_label() -> None:
    labels = {name: prompt.label for name, prompt in prompts().items() if name.startswith("hl23_")}
    result = {names_of(label, name, kind="", items="") for name, label in labels.items()}
    assert {(task, prompt) for task in ("Exp. 1", "Exp. 2", "Exp. 3a", "Exp. 3b") for prompt in PROMPTS} <= result
    assert {("Exp. 3a, Mandarin", prompt) for prompt in PROMPTS} <= result
    assert all(task.startswith("Exp. ") for task, _ in result)


def test_agreement_of_words_is_that_of_log_probabilities(result: Section) -> None:
    means = agreement_summary.agreement_summary([asked_table("p18", "gpt2", seed=0)])
    assert means.tables["mean_r"]["reason"].isna().all()
    (r,) = means.tables["mean_r"].query("method == '1_0' and model == 'gpt2'")["value"]
    assert r == pytest.approx(row(result, "Exp. 1", PROMPTS[0], "p18")["r"])
    assert means.answer.startswith("Pearson's r of prompts with `direct` averages ")


def test_tables_without_questions_or_without_truth_are_refused() -> None:
    with pytest.raises(BankError, match="scored both directly and with a prompt"):
        section([scored_frame("m", np.ones(4), {})])
    table = scored_frame("m", np.array([1.0, -1.0, 2.0]), {"p": np.array([1.0, 2.0, 3.0])})
    assert section([table]).tables["comparisons"]["n"].tolist() == [3]
    table.frame["flags"] = pd.Series([["no_truth"]] * 3)
    with pytest.raises(BankError, match="of which one side is right"):
        section([table])
    assert len(layouts_of("Exp. 2")) == 3


def test_figure_3_is_the_mean_over_models_of_their_means_over_corpora_with_its_spread(result: Section) -> None:
    cells = result.tables["comparisons"]
    own = cells[(cells["corpus"] == POOLED) | (cells["task"] == "Exp. 2")]
    means = keyed(result.tables["mean_consistency"], "task", "prompt")
    for (task, prompt), part in own.groupby(["task", "prompt"]):
        r = part["r"].to_numpy(dtype=float)
        here = means[task, prompt]
        assert (here["mean"], here["sd"]) == pytest.approx((r.mean(), r.std(ddof=1)))
        assert (here["min"], here["max"], here["n_models"]) == (r.min(), r.max(), len(MODELS))
    (figure,) = [one for one in result.figures if one.name == "prompting_mean_consistency"]
    drawn = figure.draw()
    panels = [axes for axes in drawn.axes if axes.images and axes.get_title(loc="left")]
    assert [axes.get_title(loc="left") for axes in panels] == ["mean over models", "lowest model", "highest model"]
    assert np.asarray(panels[0].images[0].get_array())[0, 0] == pytest.approx(means["Exp. 1", PROMPTS[0]]["mean"])
    assert "Figure 3" in figure.caption
    assert not [one for one in section(asked_tables(["gpt2"])).figures if one.name == "prompting_mean_consistency"]


def test_the_answer_has_mean_r_in_the_order_of_the_paper_and_what_showing_both_sentences_changes(
    result: Section,
) -> None:
    cells = result.tables["comparisons"]
    own = cells[(cells["corpus"] == POOLED) | (cells["task"] == "Exp. 2")]
    by_task = own.groupby("task")["r"].mean()
    shown = ", ".join(f"{task} {value:.2f}" for task, value in by_task.items())
    by_model = own.groupby(["model", "task"])["r"].mean().unstack()
    n_lower = (by_model["Exp. 3b"] < by_model["Exp. 1"]).sum()
    assert f"Mean r by task: {shown}; lower in the last than in the first in {n_lower} of 3 models." in result.answer
    assert "Mean r by prompt: MetaQuestionSimple " in result.answer
    asked = own.groupby(["task", "model"])["asked"].mean()
    gain = (asked["Exp. 3b"] - asked["Exp. 3a"]).mean()
    assert f"(Exp. 3b) minus one sentence (Exp. 3a): {gain:+.2f} (mean of 3 models; " in result.answer


def test_no_text_of_the_study_speaks_of_a_bootstrap_that_is_not_there(result: Section) -> None:
    from pairbank.study.declaration import load_study

    assert "seeded" not in " ".join(load_study("hu-levy-2023").notes)
    assert result.draws == ""


def test_a_negative_result_by_prompting_alone_is_counted_where_three_intervals_show_it() -> None:
    counts = []
    for shift in (0.3, 3.0):  # answers that follow probabilities, and answers that prefer the other side
        tables = [
            asked_table(corpus, model, seed=n, shift=shift) for n, model in enumerate(MODELS) for corpus in CORPORA
        ]
        own = section(tables)
        cells = own.tables["comparisons"].query("measure == 'accuracy'")
        whole = cells[(cells["corpus"] == POOLED) | (cells["task"] == "Exp. 2")]
        known = whole[whole["direct_low"] > 0.5]
        denied = known[(known["asked_low"] <= 0.5) & (known["difference_high"] < 0)]
        counts.append(len(denied))
        assert f"In {len(denied)} of the {len(known)} cases (model × task × prompt) in which direct" in own.answer
    assert counts[0] < counts[1]
    frames = [asked_table("dtfit", "gpt2", seed=0)]
    frames[0].frame["direct_delta"] *= np.where(np.arange(50) % 2, 1, -1)
    assert "Direct log-probabilities are above chance in no case" in section(frames).answer
    assert "above chance" not in section([asked_table("p18", "gpt2", seed=0)]).answer


DELTA = np.linspace(0.5, 2.0, 24)


@pytest.mark.parametrize(
    ("direct", "answers", "sentence"),
    [
        (np.resize([1.0, 1.0, 1.0, -1.0], 24) * DELTA, DELTA, "In none of the 1 case (model × task × prompt) with"),
        (np.resize([1.0, -1.0], 24) * DELTA, -DELTA, "above chance in no case, so that no prompt can deny"),
        (DELTA, DELTA, "no negative result by prompting is contradicted here"),
    ],
    ids=["answers more accurate", "direct at chance", "everything right"],
)
def test_without_a_case_no_negative_result_is_explained(
    direct: np.ndarray[tuple[int], np.dtype[np.float64]],
    answers: np.ndarray[tuple[int], np.dtype[np.float64]],
    sentence: str,
) -> None:
    page = section([scored_frame("m", direct, {"p": answers})]).answer
    assert sentence in page
    assert "In 0 of" not in page
    assert "There a negative result" not in page
    denied = section([scored_frame("m", DELTA, {"p": np.resize([1.0, -1.0], 24) * DELTA})]).answer
    assert "In 1 of the 1 case " in denied
