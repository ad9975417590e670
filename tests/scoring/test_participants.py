"""Participants: one pass per session equals the naive reference; sessions are cut at trials and resumed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pytest
import torch

import pairbank
from command_line import completed
from made_items import made_item
from pairbank.builders.dataset import features
from pairbank.errors import ScoringError
from pairbank.scoring import participants as module
from pairbank.scoring.api.requests import Request
from pairbank.scoring.engine.forward import rows_at
from pairbank.scoring.models.causal import CausalScorer
from pairbank.scoring.participants import kind_of, participants, sessions_of
from tiny_models import ARCHITECTURES, saved_model

FAMILIES = ("gpt2", "llama", "qwen2", "mistral")
MERGES = "mistral"
"""Its tokenizer has the mark before a response and the response in one token."""
TEXTS = {"en": "The {} hens cluck at {}.", "de": "Die {} Hennen gackern um {}."}


def items(language: str = "en", *, n: int = 9, pairs: bool = False) -> datasets.Dataset:
    texts = [TEXTS[language].format(i, i % 4) for i in range(n)]
    rows = [
        made_item(f"mine/all/{i}", text, text[::-1] if pairs else None, language=language).row()
        for i, text in enumerate(texts)
    ]
    return datasets.Dataset.from_list(rows, features=features())


def ratings(scale: str = "likert5", *, n: int = 9, raters: int = 2, top: int = 5) -> datasets.Dataset:
    """Ratings whose trials run backwards."""
    rows = [
        {"item_id": f"mine/all/{i}", "side": "good", "rater": r, "value": float((i * (r + 2)) % top + (top == 5))}
        | {"scale": scale, "trial": n - i}
        for i in range(n)
        for r in range(raters)
    ]
    return datasets.Dataset.from_list(rows)


def naive(scorer: CausalScorer, context: str, option: str) -> float:
    """log P of one option after a text, from a pass of its own."""
    [encoded] = scorer.encode([Request(context=context, target=option)])
    with torch.inference_mode():
        logits = scorer.model(torch.tensor([encoded.ids])).logits[0].double().log_softmax(-1)
    return sum(float(logits[place - 1, encoded.ids[place]]) for place in range(encoded.start, len(encoded.ids)))


@pytest.mark.ci
@pytest.mark.parametrize(("family", "language"), list(zip(FAMILIES, ["en", "de"] * 2, strict=True)))
def test_one_pass_per_session_equals_the_naive_reference(
    family: str, language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer = pairbank.load_model(str(saved_model(ARCHITECTURES[family], tmp_path / family)))
    assert isinstance(scorer, CausalScorer)
    passes: list[int] = []

    def counted(*given: Any, **more: Any) -> torch.Tensor:  # noqa: ANN401 - as the function has them
        passes.append(1)
        return rows_at(*given, **more)

    monkeypatch.setattr(module, "rows_at", counted)
    given = items(language, n=6), ratings(n=6)
    table = participants(*given, scorer)
    assert len(passes) == (0 if family == MERGES else 2)  # one per participant
    assert table["item_id"].str.rpartition("/")[2].astype(int).tolist() == [*range(5, -1, -1)] * 2
    for session in sessions_of(*given):
        text = session.head
        for trial, (_, row) in zip(session.trials, table[table["rater"] == session.rater].iterrows(), strict=True):
            expected = [naive(scorer, text + trial.prompt, option) for option in trial.options]
            assert row["logprob_nats"] == pytest.approx(expected[trial.response], abs=1e-5)
            total = np.logaddexp.reduce(expected)
            assert row["loglik_nats"] == pytest.approx(expected[trial.response] - total, abs=1e-5)
            alone = [naive(scorer, session.head + trial.prompt, option) for option in trial.options]
            difference = alone[trial.response] - np.logaddexp.reduce(alone)
            assert row["alone_nats"] == pytest.approx(difference, abs=1e-5)
            text += trial.text


@pytest.mark.ci
@pytest.mark.parametrize("family", FAMILIES[:3])
def test_options_of_several_tokens_are_scored_each_with_the_mark_that_ends_them(family: str, tmp_path: Path) -> None:
    scorer = pairbank.load_model(str(saved_model(ARCHITECTURES[family], tmp_path / family)))
    assert isinstance(scorer, CausalScorer)
    table = participants(items(), ratings("likert10"), scorer)
    [session, _] = sessions_of(items(), ratings("likert10"))
    assert session.trials[0].targets[0] == "1>>"  # 1 begins 10
    trial = session.trials[0]
    expected = naive(scorer, session.head + trial.prompt, trial.targets[trial.response])
    assert table["logprob_nats"][0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.ci
def test_a_session_longer_than_the_context_is_cut_at_trials(tmp_path: Path) -> None:
    scorer = pairbank.load_model(str(saved_model(ARCHITECTURES["gpt2"], tmp_path / "gpt2")))
    given = items(n=18), ratings(n=18, raters=1)
    whole, cut = (participants(*given, scorer, window_tokens=n) for n in (None, 320))
    assert whole["n_before"].tolist() == [*range(18)]
    assert cut["n_before"].max() < 12
    assert (cut["n_before"].iloc[1:] > 0).all()
    first = int((cut["n_before"] == cut["trial"] - 1).sum())
    assert cut["loglik_nats"][:first].tolist() == pytest.approx(whole["loglik_nats"][:first].tolist(), abs=1e-5)
    with pytest.raises(ScoringError, match=r"mine/all/8: instructions and trial have \d+ tokens, and .* reads 40"):
        participants(items(), ratings(raters=1), scorer, window_tokens=40)


def test_a_killed_run_reads_no_session_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    read, begun = module._read, list[int]()

    def killed_once(session: module.Session, *rest: Any) -> Any:  # noqa: ANN401 - as the function has them
        begun.append(session.rater)
        if begun == [0, 1]:
            raise KeyboardInterrupt
        yield from read(session, *rest)

    monkeypatch.setattr(module, "_read", killed_once)
    with pytest.raises(KeyboardInterrupt):
        participants(items(n=7), ratings(n=7), "fake:killed")
    again = participants(items(n=7), ratings(n=7), "fake:killed")
    assert begun == [0, 1, 1]
    pd.testing.assert_frame_equal(again, participants(items(n=7), ratings(n=7), "fake:killed"))
    assert begun == [0, 1, 1]


def test_a_forced_choice_shows_each_side_first_for_about_half_and_codes_the_option_shown() -> None:
    given = ratings("forced-choice", n=40, raters=3, top=2)
    sessions = sessions_of(items(n=40, pairs=True), given)
    trials = [trial for session in sessions for trial in session.trials]
    first = np.mean([trial.values[0] for trial in trials])
    assert 0.35 < first < 0.65
    for trial in trials:
        number = int(trial.item_id.rpartition("/")[2])
        good = TEXTS["en"].format(number, number % 4)
        shown = trial.prompt.splitlines()[trial.response].removeprefix(f"{trial.response + 1}: ")
        assert (shown == good) == (trial.value == 1.0)


def test_what_is_no_session_is_refused() -> None:
    assert kind_of("binary", [0.0]).options == ("no", "yes")
    with pytest.raises(ScoringError, match=re.escape("on the scale 'slider' go from 0 to 100")):
        kind_of("slider", [0.0, 100.0])
    with pytest.raises(ScoringError, match="no participant has 5 ratings of these items; the most that one has is 4"):
        sessions_of(items(), ratings(n=4))
    scorer = pairbank.load_model("fake:a")
    masked = replace(scorer.info, pll="original")
    with pytest.raises(ScoringError, match="participants need a causal model"):
        participants(items(), ratings(), type("Masked", (), {"info": masked})())


def test_the_command_reads_a_table_of_ones_own_in_the_order_of_its_rows_and_report_reads_what_it_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = [
        (person, f"The hen {i} clucks.", 1 + (i * i + p) % 5) for p, person in enumerate("ab") for i in (3, 1, 4, 0, 2)
    ]
    lines = [f"{person},{text},{rating}" for person, text, rating in shown]
    Path("mine.csv").write_text("\n".join(["participant,sentence,rating", *lines]), encoding="utf-8")
    completed(["new", "map", "mine.csv"])
    completed(["participants", "mine.csv", "--model", "fake:a", "--model", "fake:b", "--out", "p.csv"])
    table = pd.read_csv("p.csv")
    assert table["model"].unique().tolist() == ["a", "b"]
    assert table["value"].tolist() == [float(rating) for _, _, rating in shown] * 2
    assert table["trial"].tolist() == [1, 2, 3, 4, 5] * 4
    completed(["participants", "mine.csv", "--model", "fake:a", "--participants", "1", "--out", "one.parquet"])
    assert pd.read_parquet("one.parquet")["rater"].unique().tolist() == [0]
    output = completed(["report", "p.csv", "--out", "report"]).output
    assert "Data: 10 responses by 2 participants to 5 items." in output
    assert Path("report/participants_contrasts.csv").is_file()
    rows = [f"{a},{b},{i},{'xy'[(i + ord(a)) % 2]},{'xy'[i % 2]}" for a in "mn" for b in "mn" for i in range(12)]
    Path("said.csv").write_text("\n".join(["predictor,target,item,prediction,behaviour", *rows]), encoding="utf-8")
    assert "Models are right about their own answers in" in completed(["report", "said.csv"]).output
