"""`pairbank methods`, `pairbank methods show`, and prompts of one's own on the command line."""

from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from typer.testing import CliRunner

import pairbank
from command_line import run
from pairbank.cli import app
from pairbank.errors import ScoringError, UnknownNameError
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.prompts.registry import prompts
from prompt_files import BOTH_ORDERS
from tiny_bidirectional_models import saved_as

PAIR = ("--item", "The hens cluck.", "--item", "The hens clucks.")


def test_every_method_is_listed_with_its_requests() -> None:
    lines = {line.split()[0]: line for line in run("methods").splitlines() if line.strip()}
    assert {"direct", *prompts()} <= lines.keys()
    assert lines["acceptability_judgment_i"].split()[4:6] == ["8", "yes"]
    assert "no: one order" in lines["ewok24_choice"]
    only = run("methods", "--task", "concept_pair", "--language", "zh")
    assert "xcomps_meta" in only
    assert "meta_question_simple" not in only


def test_show_prints_what_is_sent_and_marks_what_is_scored() -> None:
    assert run("methods", "show", "meta_question_simple", *PAIR) == (
        "--- meta_question_simple, string 1 of 2\n"
        "Which sentence is a better English sentence? 1: 'The hens cluck.', 2: 'The hens clucks.'. "
        "Respond with 1 or 2 as your answer.\nMy answer is⟦ 1⟧\n  or ⟦ 2⟧\n\n"
        "--- meta_question_simple, string 2 of 2\n"
        "Which sentence is a better English sentence? 1: 'The hens clucks.', 2: 'The hens cluck.'. "
        "Respond with 1 or 2 as your answer.\nMy answer is⟦ 1⟧\n  or ⟦ 2⟧\n"
    )
    assert "⟦The hens cluck.⟧" in run("methods", "show", "direct", *PAIR)
    word = ("--context", "The cook stirred the", "--item", "soup")
    assert run("methods", "show", "hf24_lambada", *word).endswith("stirred the\nPrediction:⟦ soup⟧\n")
    contexts = ("--context", "Mia trusts Leo.", "--context", "Mia doubts Leo.", "--item", "She waves.")
    shown = run("methods", "show", "social24_choice", *contexts, "--column", "target_number=2")
    assert '1. "Mia doubts Leo."\n2. "Mia trusts Leo."' in shown
    assert shown.count("--- ") == 1


def test_show_takes_an_item_of_a_corpus_and_a_models_own_format() -> None:
    shown = run("methods", "show", "xcomps_meta", "--corpus", "starter", "--item-id", "starter/concepts/de-1")
    assert 'Antwort: "⟦' in shown
    assert "@2shot, string 1 of 2" in run("methods", "show", "meta_question_simple@2shot", "--corpus", "starter")
    with mock.patch("pairbank.scoring.models.load.load_model", return_value=FakeScorer(prompt_format="chat")):
        assert "[assistant]My answer is⟦ 1⟧" in run("methods", "show", "meta_question_simple", *PAIR, "--model", "x")


def test_show_explains_what_it_cannot_show() -> None:
    with pytest.raises(ScoringError, match=r"xcomps_meta is not asked of this item \(it lacks missing:property"):
        run("methods", "show", "xcomps_meta", *PAIR, "--language", "de")
    with pytest.raises(UnknownNameError, match="did you mean 'meta_question_simple'"):
        run("methods", "show", "meta_question", *PAIR)
    assert CliRunner().invoke(app, ["methods", "show", "direct"]).exit_code == 2


def test_a_prompt_of_ones_own_is_scored_reported_and_banked(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(BOTH_ORDERS)
    (tmp_path / "pairs.csv").write_text("good,bad\nA b.,B a.\nC d.,D c.\nE f.,F e.\n")
    out = tmp_path / "scored.parquet"
    with mock.patch("pairbank.scoring.models.load.load_model", return_value=FakeScorer(name="fake-1")):
        own = ("--prompts", str(tmp_path / "mine.toml"), "-m", "mine", "-m", "mine@2shot", "--seed", "3")
        shown = run("score", str(tmp_path / "pairs.csv"), "--out", str(out), *own)
    assert "3 items with mine, mine@2shot" in shown
    scored = pairbank.read_scored(out)
    assert scored.signature["seed"] == scored.signature["methods"]["mine@2shot"]["seed"] == 3
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored])
    items = pairbank.load_corpus(bank / "data" / "pairs" / "items.parquet")
    assert not [name for name in items.column_names if name.startswith("mine")]
    assert "A: A b. B: B a.⟦ A⟧" in run(
        "methods", "show", "mine", "--prompts", str(tmp_path / "mine.toml"), "--item", "A b.", "--item", "B a."
    )


def test_show_reads_a_file_of_ones_own_as_score_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "paare.csv"
    path.write_bytes("Satz A;Satz B\n*Ich helfe das Mädchen.;Ich helfe dem Mädchen.\n".encode("cp1252"))
    how = ("--encoding", "cp1252", "--language", "de", "--marks", "strip")
    named = ("--column", "target_good=Satz B", "--column", "target_bad=Satz A")
    shown = run("methods", "show", "better_sentence", "--corpus", str(path), *how, *named)
    assert "Ich helfe dem Mädchen." in shown
    assert "*" not in shown
    contexts = ("--context", "Mia trusts Leo.", "--context", "Mia doubts Leo.", "--item", "She waves.")
    assert '1. "Mia doubts Leo."' in run("methods", "show", "social24_choice", *contexts, "--text", "target_number=2")


@pytest.mark.ci
@pytest.mark.parametrize("kind", ["gpt2", "bert", "t5"])
def test_where_every_number_is_stored_no_model_is_loaded(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = saved_as(kind, tmp_path / kind)
    loaded: list[str] = []
    real = pairbank.load_model

    def counted(model: str, **options: Any) -> Any:  # noqa: ANN401 - as the function in whose place it stands
        loaded.append(model)
        return real(model, **options)

    monkeypatch.setattr(pairbank, "load_model", counted)

    def score(name: str, *more: str) -> bytes:
        out = tmp_path / f"{name}.parquet"
        run("score", "starter", "--limit", "1", "--model", str(folder), "--out", str(out), "-m", "direct", *more)
        return out.read_bytes()

    first = score("first")
    assert len(loaded) == 1
    assert score("again") == first
    assert len(loaded) == 1
    score("other_items", "--limit", "2")
    assert len(loaded) == 2
    score("other_dtype", "--dtype", "bfloat16")
    assert len(loaded) == 3
    config = folder / "config.json"
    config.write_text(config.read_text(encoding="utf-8") + " ", encoding="utf-8")
    score("another_model")
    assert len(loaded) == 4
