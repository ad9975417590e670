"""Parts of a run meet in the store: the union is what one run gives, to the byte, whoever scores which part."""

import platform
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import pairbank
from command_line import completed
from pairbank.cli import app
from pairbank.errors import ScoringError
from pairbank.scoring.methods.direct import Direct
from pairbank.scoring.methods.prompted import Prompted
from pairbank.scoring.methods.registry import method_named
from pairbank.scoring.models import load
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.run.asking import Run
from pairbank.scoring.run.work import Part, ScoreOptions, part_named, units_of
from pairbank.scoring.score import score_part
from tiny_bidirectional_models import saved, t5_model
from tiny_models import ARCHITECTURES, saved_model

METHODS = ("direct", "meta_question_simple")


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Direct, "shard_items", 16)
    monkeypatch.setattr(Prompted, "shard_items", 4)


@given(st.integers(1, 300), st.integers(1, 9))
def test_every_unit_is_in_one_part(n_items: int, n_parts: int) -> None:
    units = units_of(n_items, [method_named(name) for name in METHODS])
    parts = [Part(number=i + 1, of=n_parts).chosen(units) for i in range(n_parts)]
    assert sorted(unit.number for part in parts for unit in part) == [unit.number for unit in units]
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    covered = {(method.name, i) for unit in units for method in unit.methods for i in range(unit.start, unit.stop)}
    assert covered == {(name, i) for name in METHODS for i in range(n_items)}


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "1/0", "-1/2"])
def test_a_part_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ScoringError, match="expected I/N"):
        part_named(text)


@pytest.mark.ci
@pytest.mark.parametrize("name", ["llama", "gpt2", "t5"])
def test_the_union_of_parts_is_one_run_to_the_byte(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = saved(*t5_model(), tmp_path / name) if name == "t5" else saved_model(ARCHITECTURES[name], tmp_path / name)
    model = pairbank.load_model(str(folder))
    items = pairbank.load_corpus("starter", subset="minimal-pairs").select(range(30))
    whole = pairbank.score(items, model, methods=METHODS).save(tmp_path / "whole.parquet").read_bytes()
    monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / "another"))
    done = [score_part(items, model, Part(number=i, of=3), ScoreOptions(methods=METHODS)) for i in (3, 1, 2)]
    assert sum(one.n_units for one in done) == done[0].n_units_of_all == 10

    def scores_nothing(*_: object) -> None:
        raise AssertionError("all is stored")

    monkeypatch.setattr(Run, "steps", scores_nothing)
    assert pairbank.score(items, model, methods=METHODS).save(tmp_path / "union.parquet").read_bytes() == whole


@pytest.mark.ci
@pytest.mark.parametrize("name", ["llama", "bloom", "t5"])
def test_join_names_the_parts_that_are_missing_and_loads_no_model(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = saved(*t5_model(), tmp_path / name) if name == "t5" else saved_model(ARCHITECTURES[name], tmp_path / name)
    monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / "cache"))
    choice = ["starter", "--subset", "minimal-pairs", "--limit", "1", "--model", str(folder), "-m", "direct"]
    command = ["score", *choice, "-m", "meta_question_simple", "--out", str(tmp_path / "joined.parquet")]
    command += [] if name == "t5" else ["-m", "direct_wb", "-m", "mean_logprob"]

    def run(*more: str) -> Any:  # noqa: ANN401 - a Result
        return CliRunner().invoke(app, [*command, *more])

    assert "no part was scored" in str(run("--join", "3").exception)
    assert run("--part", "1/3").exit_code == 0
    with monkeypatch.context() as without_a_model:

        def loads_nothing(*_: object, **_options: object) -> None:
            raise AssertionError("a model was loaded")

        without_a_model.setattr(load, "_from_pretrained", loads_nothing)
        refused = str(run("--join", "3").exception)
        assert re.search("of [0-9]+ units by .* are not stored, the first from item ", refused)
        assert "run --part 2/3, 3/3 with the same options" in refused
        assert not (tmp_path / "joined.parquet").exists()
    assert [run("--part", part).exit_code for part in ("2/3", "3/3")] == [0, 0]
    with monkeypatch.context() as without_a_model:
        without_a_model.setattr(load, "_from_pretrained", loads_nothing)
        without_a_model.setattr(platform, "node", lambda: "another-machine")
        assert run("--join", "3").exit_code == 0
    joined = (tmp_path / "joined.parquet").read_bytes()
    monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / "another"))
    assert run().exit_code == 0
    assert (tmp_path / "joined.parquet").read_bytes() == joined
    assert run("--join", "3", "--part", "1/3").exit_code == 2
    whole = str(run("-m", "bayes_uniform", "--join", "3").exception)
    assert "bayes_uniform needs the model itself; leave --join out" in whole


def test_small_corpora_are_not_all_the_first_parts() -> None:
    items = pairbank.load_corpus("starter", subset="minimal-pairs").select(range(4))
    counts = [score_part(items, FakeScorer(), Part(number=1, of=2), ScoreOptions(), n_before=n).n_units for n in (0, 1)]
    assert counts == [1, 0]


@pytest.mark.ci
def test_a_study_is_scored_in_parts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = tmp_path / "mine.toml"
    study.write_text(
        'title = "Mine"\nmethods = ["direct", "meta_question_simple"]\nn_resamples = 20\n'
        '[[corpora]]\nname = "starter"\nsubset = "minimal-pairs"\nlimit = 2\n'
    )
    words = ["run", str(study), "--model", "fake:a", "--model", "fake:b", "--out", str(tmp_path / "bank")]
    for part in ("1/3", "2/3", "3/3"):
        done = CliRunner().invoke(app, [*words, "--part", part], catch_exceptions=False)
        assert done.output.count(f"part {part}: ") == 2, done.output
    assert not (tmp_path / "bank").exists()

    def scores_nothing(*_: object) -> None:
        raise AssertionError("all is stored")

    monkeypatch.setattr(Run, "steps", scores_nothing)
    completed(words)
    assert (tmp_path / "bank" / "manifest.json").is_file()
