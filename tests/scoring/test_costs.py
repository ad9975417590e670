"""What a plan says against what a run does: tokens as the engine counts them, FLOPs as torch counts them."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from typer.testing import CliRunner

import pairbank
from command_line import completed
from pairbank.cli import app
from pairbank.errors import StudyError
from pairbank.scoring.costs import TokensOnly, Work, scaled, shape_of, work_of
from pairbank.scoring.methods.direct import Direct
from pairbank.scoring.methods.prompted import Prompted
from pairbank.scoring.models.causal import CausalScorer
from pairbank.study.corpora import as_many
from pairbank.study.model_list import load_list
from tiny_models import ARCHITECTURES, saved_model

METHODS = ("direct", "meta_question_simple", "acceptability_judgment_i")


@pytest.mark.ci
@pytest.mark.parametrize("name", ["llama", "gpt2", "mistral"])
def test_tokens_of_a_plan_are_those_that_a_run_computes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Direct, "shard_items", 8)
    monkeypatch.setattr(Prompted, "shard_items", 8)
    folder = str(saved_model(ARCHITECTURES[name], tmp_path / name))
    items = pairbank.load_corpus("starter", subset="minimal-pairs").select(range(40))
    whole = work_of(items, TokensOnly(folder), methods=METHODS, sampled_units=99)
    model: Any = pairbank.load_model(folder)
    assert isinstance(model, CausalScorer)
    before = model.stats.n_computed_tokens
    pairbank.score(items, model, methods=METHODS)
    assert whole.n_computed_tokens == pytest.approx(model.stats.n_computed_tokens - before, rel=0.02)
    assert whole.shared > 0.2
    sampled = work_of(items, TokensOnly(folder), methods=METHODS, sampled_units=2)
    assert sampled.n_computed_tokens == pytest.approx(whole.n_computed_tokens, rel=0.15)
    assert sampled.n_items == 40


@pytest.mark.parametrize("name", ["llama", "gpt2", "mistral", "qwen2"])
def test_flops_are_those_that_torch_counts(name: str, tmp_path: Path) -> None:
    folder = saved_model(ARCHITECTURES[name], tmp_path / name)
    shape = shape_of(str(folder), dtype="float32")
    model: Any = pairbank.load_model(str(folder), attention="eager")
    n = 48
    counter = FlopCounterMode(display=False)
    with torch.inference_mode(), counter:
        model.model(torch.ones(1, n, dtype=torch.long), use_cache=False)
    work = Work(n_computed_tokens=n, n_attended=n * n, n_read=n)
    assert work.flops(shape) == pytest.approx(counter.get_total_flops(), rel=0.05)
    assert shape.n_weights == model.model.num_parameters()


def test_a_scaled_model_has_its_weights_and_costs_more(tmp_path: Path) -> None:
    shape = shape_of(str(saved_model(ARCHITECTURES["llama"], tmp_path / "llama")))
    large = scaled(shape, 70e9)
    assert large.weights_bytes == 140e9
    work = Work(n_computed_tokens=1_000, n_attended=20_000, n_read=500)
    assert work.flops(large) == pytest.approx(2 * 70e9 * 1_000, rel=0.4)


@pytest.mark.ci
def test_the_command_line_plans_a_study_for_several_models(tmp_path: Path) -> None:
    folders = [str(saved_model(ARCHITECTURES[name], tmp_path / name)) for name in ("llama", "gpt2", "mistral")]
    words = ["plan", "demo", "--flops-per-second", "1e12", "--parameters", "7e9"]
    for folder in folders:
        words += ["--model", folder]
    done = completed(words)
    for name in ("llama", "7B", "gpt2", "mistral"):
        assert name in done.output
    assert "1e+12 FLOP/s per device (as stated)" in done.output
    entries = (f'[[models]]\nid = "{folder}"\nname = "model-{n}"' for n, folder in enumerate(folders))
    (tmp_path / "models.toml").write_text("\n".join(entries), encoding="utf-8")
    listed = CliRunner().invoke(
        app, ["plan", "demo", "--models", str(tmp_path / "models.toml"), *words[2:6]], catch_exceptions=False
    )
    assert all(name in listed.output for name in ("model-0", "7B", "model-1", "model-2")), listed.output
    refused = CliRunner().invoke(app, ["plan", "demo", "--device", "abacus"], catch_exceptions=False)
    assert refused.exit_code == 2
    # a device that takes no time waits for its host
    quick = [*words[:2], "--flops-per-second", "1e30", "--model", folders[0]]
    line = _lines(CliRunner().invoke(app, quick, catch_exceptions=False).output)["llama"]
    assert float(line["hours_1"]) == float(line["host_hours"]) > 0


def test_models_that_are_not_here_are_planned_for_by_one_that_is(tmp_path: Path) -> None:
    folder = str(saved_model(ARCHITECTURES["llama"], tmp_path / "llama"))
    here = str(saved_model(ARCHITECTURES["gpt2"], tmp_path / "gpt2"))
    words = ["plan", "demo", "--like", folder, "--flops-per-second", "1e12", "--total"]
    result: dict[str, dict[str, str]] = {}
    for names in (["--models", "song-2025", "--model", here], ["--models", "hu-levy-2023", "--kind", "seq2seq"]):
        done = completed([*words, *names])
        result |= _lines(done.output)
    assert {"Llama3.1 405B", "gpt2", "22 models", "3 models"} <= result.keys()
    hours = {name: float(line["hours_1"]) for name, line in result.items()}
    # the same tokens: a model of 405 billion parameters costs as many times one of 8 as it is larger, about
    assert hours["Llama3.1 405B"] / hours["Llama3.1 8B"] == pytest.approx(405 / 8, rel=0.2)
    assert hours["22 models"] == pytest.approx(sum(hours[name] for name in result if name in _song()), rel=0.02)
    assert float(result["Llama3.1 405B"]["weights_GB"]) == pytest.approx(405 / 2, rel=0.01)  # in four bits
    # an encoder-decoder shares no beginnings
    assert result["3 models"]["shared"] == "0%"
    assert result["Llama3.1 8B"]["shared"] != "0%"
    refused = CliRunner().invoke(app, ["plan", "demo", "--kind", "seq2seq"])
    assert refused.exit_code == 2


def test_a_corpus_may_be_planned_for_as_if_it_were_larger(tmp_path: Path) -> None:
    folder = str(saved_model(ARCHITECTURES["gpt2"], tmp_path / "gpt2"))
    words = ["plan", "ewok-plausibility", "--model", folder, "--flops-per-second", "1e12"]
    few, many = (
        _lines(CliRunner().invoke(app, [*words, "--corpus", "starter:contexts", *more], catch_exceptions=False).output)
        for more in ([], ["--items", "4374"])
    )
    factor = 4374 / int(few["gpt2"]["items"])
    assert many["gpt2"]["items"] == "4374"
    assert int(many["gpt2"]["computed"]) == pytest.approx(int(few["gpt2"]["computed"]) * factor, abs=1)
    with pytest.raises(StudyError, match=r"items of which corpus\? There are li, starter"):
        as_many({"li": Work(n_items=3), "starter": Work(n_items=4)}, 9)


def _song() -> list[str]:
    return [choice.name for choice in load_list("song-2025")] + ["gpt2"]


def _lines(output: str) -> dict[str, dict[str, str]]:
    """Return the table by model: cells by heading."""
    heading, *lines = [line for line in output.splitlines() if re.search(r"\S  +\S", line)]
    names = heading.split()
    result = {}
    for line in lines:
        cells = re.split(r"  +", line.strip())
        result[cells[0]] = dict(zip(names, cells, strict=True))
    return result
