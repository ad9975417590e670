"""What stands on the standard output: with --json one document of every command, with --quiet no notes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd
import pytest
import typer
from typer.testing import CliRunner, Result

import pairbank
from pairbank.cli import app
from pairbank.cli.display.output import plain
from pairbank.scoring.models.fake import FakeScorer


@pytest.fixture(autouse=True)
def _fake_model() -> Iterator[None]:
    with mock.patch("pairbank.scoring.models.load.load_model", return_value=FakeScorer(name="fake-1")):
        yield


def run(*arguments: str | Path) -> Result:
    done = CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def document(*arguments: str | Path) -> Any:  # noqa: ANN401 - JSON is any
    return json.loads(run(*arguments, "--json").stdout)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "mine.csv"
    path.write_text("good,bad\nThe dogs bark.,The dogs barks.\nShe sees him.,She see him.\nA \u202e b.,A c.\n")
    return path


def test_every_command_takes_quiet_and_every_one_with_results_json() -> None:
    group: Any = typer.main.get_command(app)
    result = {name: {o for p in command.params for o in p.opts} for name, command in group.commands.items()}
    assert {name for name, options in result.items() if "--quiet" not in options} == {"new"}
    assert {name for name, options in result.items() if "--json" not in options} == {"new", "browse"}
    inner = [*group.commands["new"].commands.values(), *group.commands["methods"].commands.values()]
    assert all({"--json", "--quiet"} <= {o for p in command.params for o in p.opts} for command in inner)


def test_what_is_listed_is_listed_as_json_too() -> None:
    assert {row["corpus"] for row in document("corpora")["corpora"]} >= {"starter", "blimp"}
    assert {row["id"] for row in document("methods", "--language", "de")["methods"]} >= {"direct", "better_sentence"}
    assert "song-2025" in {row["list"] for row in document("models")["lists"]}
    assert document("models", "song-2025")["models"][0].keys() >= {"id", "name"}
    shown = document("methods", "show", "direct", "--item", "A b.", "--item", "A c.")
    assert "⟦" in shown["text"]
    assert "\n" in shown["text"]


@pytest.mark.ci
def test_from_items_to_a_bank_every_step_is_one_document(tmp_path: Path, pairs: Path) -> None:
    scored, bank = tmp_path / "s.parquet", tmp_path / "bank"
    built = document("build", pairs, "--out", tmp_path / "items.parquet")
    assert (built["n_items"], built["out"]) == (3, str(tmp_path / "items.parquet"))
    made = document("score", pairs, "--out", scored, "--wrong", "2")
    assert (made["model"], made["n_items"], made["out"]) == ("fake-1", 3, [str(scored)])
    [accuracy] = [
        row
        for row in made["results"]
        if (row["method"], row["metric"], row["group_by"]) == ("direct", "accuracy", "all")
    ]
    assert 0 <= accuracy["low"] <= accuracy["value"] <= accuracy["high"] <= 1
    assert len(made["wrong"][0]["items"]) == min(2, made["wrong"][0]["n_wrong"])
    assert document("report", scored, "--out", tmp_path / "r")["report"] == str(tmp_path / "r" / "report.md")
    assert document("bank", scored, "--out", bank)["scores"] == [str(bank / "scores" / "mine" / "fake_1.parquet")]
    assert document("check", bank) == {
        "bank": str(bank),
        "whole": True,
        "corpora": ["mine"],
        "n_tables": 1,
        "quick": False,
    }
    assert document("strip", bank, "--out", tmp_path / "public")["bank"] == str(tmp_path / "public")
    assert document("minimalness", pairs, "--out", tmp_path / "m.parquet", "--edits-only")["n_items"] == 3
    assert document("site", bank, "--out", tmp_path / "site")["n_bytes"] > 0


@pytest.mark.ci
def test_a_run_is_one_document_and_says_what_failed(tmp_path: Path) -> None:
    planned = document("run", "demo", "--out", tmp_path / "bank", "--limit", "1", "--dry-run")
    assert planned["planned"][0]["corpus"] == "starter"
    made = document("run", "demo", "--out", tmp_path / "bank", "--limit", "1")
    assert (made["bank"], made["failures"]) == (str(tmp_path / "bank"), [])
    with mock.patch("pairbank.scoring.models.load.load_model", side_effect=RuntimeError("out of disk")):
        done = CliRunner().invoke(app, ["run", "demo", "--out", str(tmp_path / "bank"), "--limit", "1", "--json"])
    assert done.exit_code == 1


def test_what_could_give_a_terminal_orders_is_an_escape_in_the_document(tmp_path: Path, pairs: Path) -> None:
    done = run("score", pairs, "--out", tmp_path / "s.parquet", "--wrong", "3", "--json", "-m", "direct")
    assert "\u202e" not in done.output
    texts = [item["target_good"] for one in json.loads(done.stdout)["wrong"] for item in one["items"]]
    assert all("[U+" not in text for text in texts)


def test_notes_stand_on_the_standard_error_and_quiet_leaves_them_out(tmp_path: Path, pairs: Path) -> None:
    loud = run("score", pairs, "--out", tmp_path / "s.parquet", "-m", "direct")
    assert "scoring mine" in loud.stderr
    assert "Accuracy" in loud.stdout
    quiet = run("score", pairs, "--out", tmp_path / "s.parquet", "-m", "direct", "-q")
    assert "scoring" not in quiet.stderr
    assert [line for line in quiet.stderr.splitlines() if "better = column 'good'" not in line] == []
    assert quiet.stdout == loud.stdout
    assert run("bank", tmp_path / "s.parquet", "--out", tmp_path / "b", "--quiet").stdout.count("\n") == 2


def test_values_of_any_kind_have_a_form_in_json() -> None:
    table = pd.DataFrame({"a": [1, 2], "b": pd.array([None, 0.5], dtype="Float64")})
    assert plain({"t": table, "p": Path("x"), "s": {1}}) == {
        "t": [{"a": 1, "b": None}, {"a": 2, "b": 0.5}],
        "p": "x",
        "s": [1],
    }


def test_the_version_is_printed_and_nothing_else() -> None:
    assert run("--version").stdout == f"pairbank {pairbank.__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("typed", "result"),
    [
        *(("pairbank sco", "score"), ("pairbank score zhob", "zhoblimp"), ("pairbank run demo-", "demo-full")),
        ("pairbank report a.parquet --analysis compar", "comparisons"),
    ],
)
def test_a_shell_completes_commands_corpora_studies_and_analyses(
    shell: str, typed: str, result: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(typed.count(" ")))
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", typed)
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    done = CliRunner().invoke(app, [], prog_name="pairbank", env={"_PAIRBANK_COMPLETE": f"complete_{shell}"})
    assert result in done.output


def test_who_stops_a_run_is_told_that_rerunning_resumes(tmp_path: Path, pairs: Path) -> None:
    with mock.patch.object(FakeScorer, "token_logprobs", side_effect=KeyboardInterrupt):
        done = CliRunner().invoke(app, ["score", str(pairs), "--out", str(tmp_path / "s.parquet"), "-m", "direct"])
    assert done.exit_code == 130
    assert "what was scored is stored: rerun to resume" in done.stderr
