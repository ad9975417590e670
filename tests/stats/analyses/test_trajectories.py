"""Checkpoints as models: curves and onsets of a known run, error rates of onsets, order across runs, --revisions."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import pairbank
from command_line import completed
from pairbank.arrays import FloatArray
from pairbank.cli import app
from pairbank.errors import BankError
from pairbank.scoring.api.layout import MethodLayout
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.trajectories import rank_agreement
from pairbank.stats.analyses.trajectories import trajectories as section
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.model_features import ModelFeatures
from rated_tables import DIRECT, items_frame

KINDS = ["agreement", "binding", "islands", "npi", "quantifiers", "raising"]
LEARNT_AT: dict[str, int | None] = dict(zip(KINDS, [1, 2, 3, 4, 5, None], strict=True))


def checkpoint(run: str, step: int, place: int, *, n: int = 60, seed: int = 0) -> ScoredFrame:
    """Return a table in which a phenomenon is right in 85% from its checkpoint on, at chance before."""
    rng = np.random.default_rng([seed, place])
    kinds = np.repeat(KINDS, n)
    begins = {kind: 99 if at is None else at for kind, at in LEARNT_AT.items()}
    learnt = np.array([place >= begins[str(kind)] for kind in kinds])
    right = rng.random(len(kinds)) < np.where(learnt, 0.85, 0.5)
    delta = np.where(right, 1.0, -1.0) * rng.uniform(0.1, 3, len(kinds))
    numbers = {"direct_good": delta, "direct_bad": 0.0, "direct_delta": delta}
    frame = items_frame(len(kinds), "c", task="sentence_pair", phenomenon=kinds, **numbers)
    name = f"{run}@step-{step}"
    return ScoredFrame(corpus="c", model=name, frame=frame, layouts=(DIRECT,), signature={"model": {"name": name}})


def run_of(run: str, seed: int) -> list[ScoredFrame]:
    return [checkpoint(run, 100 * place, place, seed=seed) for place in range(7)]


def test_onsets_are_where_the_phenomena_were_learnt() -> None:
    result = section(run_of("run", 1)[::-1])
    onsets = result.tables["onsets"].set_index("phenomenon")
    for kind, place in LEARNT_AT.items():
        onset = float(onsets["onset"][kind])
        if place is None:
            assert np.isnan(onset)
        else:
            assert onset == 100 * place
    curves = result.tables["curves"]
    assert list(curves[curves["phenomenon"] == "all items"]["amount"]) == [100 * place for place in range(7)]
    assert "Of 6 phenomena, 5 are above chance for good" in result.text
    assert len(result.figures) == 1


def test_steps_and_tokens_may_be_declared() -> None:
    tables = [replace(table, model=f"run@{n}", signature={}) for n, table in enumerate(run_of("run", 1))]
    base = ModelFeatures(family="run", generation="1", size_billions=0.1, type="base")
    for name, unit in (("step", "step"), ("training_tokens", "training tokens")):
        amounts: list[dict[str, Any]] = [{name: 10.0 * (n + 1)} for n in range(7)]
        declared = {f"run@{n}": replace(base, **amount) for n, amount in enumerate(amounts)}
        onsets = section(tables, Context(features=declared)).tables["onsets"]
        assert (onsets["unit"] == unit).all()
        assert float(onsets.set_index("phenomenon")["onset"]["agreement"]) == 20.0


def test_two_runs_that_learn_in_one_order_are_said_to_agree() -> None:
    result = section([*run_of("one", 1), *run_of("two", 2)])
    (row,) = result.tables["order"].to_dict("records")
    assert row["rho_onset"] > 0.9
    assert "1 of 1 pair of runs agrees" in result.text


def test_rank_agreement_of_random_orders_is_rarely_significant() -> None:
    rng = np.random.default_rng(5)
    p_values = [rank_agreement(rng.random(8), rng.random(8), rng)[1] for _ in range(200)]
    assert np.mean(np.array(p_values) < 0.05) <= 0.09


def test_models_that_are_no_checkpoints_are_refused_with_the_remedy() -> None:
    with pytest.raises(BankError, match="RUN@step-1000"):
        section(run_of("run", 1)[:2])
    with pytest.raises(BankError, match="two checkpoints at step 0"):
        section([*run_of("run", 1), checkpoint("run", 0, 0)])


@pytest.mark.ci
def test_checkpoints_of_a_folder_are_scored_one_after_the_other(tmp_path: Path) -> None:
    from tiny_models import ARCHITECTURES, saved_model

    for step, name in enumerate(("gpt2", "llama", "opt")):
        saved_model(ARCHITECTURES[name], tmp_path / "run" / f"checkpoint-{step}")
    pairs = tmp_path / "pairs.csv"
    pairs.write_text(
        "good,bad\n" + "".join(f"the cat sees {n},cat the sees {n}\n" for n in range(12)), encoding="utf-8"
    )
    asked = ["score", str(pairs), "--model", str(tmp_path / "run"), "-m", "direct"]
    names = "checkpoint-0,checkpoint-1,checkpoint-2"
    said = completed([*asked, "--revisions", names, "--out", str(tmp_path / "out")])
    assert "What is learnt when: run on pairs" in said.output
    tables = [pairbank.read_scored(path) for path in sorted((tmp_path / "out").glob("*.parquet"))]
    assert [table.model for table in tables] == [f"run@checkpoint-{step}" for step in range(3)]
    wrong = CliRunner().invoke(app, [*asked, "--revisions", "a,b", "--out", str(tmp_path / "out")])
    assert "folders there: checkpoint-0, checkpoint-1, checkpoint-2" in " ".join(wrong.output.replace("│", " ").split())


def next_words(name: str, direct: FloatArray, asked: FloatArray) -> ScoredFrame:
    """Return a table of next words, scored directly and after a question."""
    columns: dict[str, Any] = {
        f"{method}_{end}": np.nan for method in ("direct", "hf24_lambada") for end in ("bad", "delta")
    }
    columns |= {"direct_good": direct, "hf24_lambada_good": asked}
    answers = {"hf24_lambada_logprobs": [[value] for value in asked]}
    frame = items_frame(len(direct), "words", task="word_prediction", target_bad=None, **columns, **answers)
    asks = MethodLayout(
        method="hf24_lambada", kind="prediction", presentations=("asked",), options=("target",), correct=()
    )
    return ScoredFrame(
        corpus="words", model=name, frame=frame, layouts=(DIRECT, asks), signature={"model": {"name": name}}
    )


def test_next_words_have_mean_log_probabilities_and_r_with_direct_over_training() -> None:
    rng = np.random.default_rng(3)
    tables = []
    for step, fit in ((10, 0.0), (100, 0.5), (1_000, 1.0)):
        direct = -rng.exponential(2.0, 80) - (1_000 - step) / 1_000
        asked = fit * direct - (1 - fit) * rng.exponential(4.0, 80) - 1.0
        tables.append(next_words(f"run@step-{step}", direct, asked))
    result = section(tables)
    words = result.tables["words"].set_index(["method", "amount"])
    assert words.loc[("direct", 10.0), "value"] == pytest.approx(tables[0].frame["direct_good"].mean())
    by_hand = np.corrcoef(tables[1].frame["direct_good"], tables[1].frame["hf24_lambada_good"])[0, 1]
    assert words.loc[("hf24_lambada", 100.0), "r"] == pytest.approx(by_hand)
    assert words.loc[("hf24_lambada", 1_000.0), "r"] == pytest.approx(1.0)
    assert words["r"].isna().to_list() == [True, False] * 3
    assert "80 next words): from step 10 to 1,000, mean log P goes from" in result.text
    assert result.main_table == "words"
    assert [figure.name for figure in result.figures] == ["trajectories_run_words_words"]
