"""Options of `load_model`: one declaration for Python and for every command that loads a model."""

from pathlib import Path
from unittest import mock

import pytest
from typer.testing import CliRunner

import pairbank
from pairbank.cli import app
from pairbank.errors import ModelLoadError
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.models.options import DEFAULTS, LoadOptions, completed
from tiny_models import ARCHITECTURES, saved_model

GIVEN = {
    "name": "mine",
    "kind": "causal",
    "device": "cpu",
    "dtype": "bfloat16",
    "device_map": "balanced",
    "tensor_parallel": True,
    "quantisation": "4bit",
    "revision": "v1",
    "gguf_file": "m.gguf",
    "bos": "none",
    "prompt_format": "base",
    "thinking": "off",
    "thinking_tokens": 99,
    "reasoning_effort": "low",
    "pll": "within_word_l2r",
    "seq2seq_mode": "sentinel",
    "weights": "trained",
    "max_length": 77,
    "attention": "eager",
    "batch_tokens": 99,
    "trust_remote_code": True,
    "keep_mistral_regex": True,
    "tokenizer": "gpt2",
    "served_model": "m",
    "api": "chat",
    "replicas": "http://a/v1,http://b/v1",
    "concurrency": 3,
    "timeout_s": 9,
}


def test_every_declared_option_has_a_default() -> None:
    assert set(LoadOptions.__annotations__) == set(DEFAULTS) == set(GIVEN)


@pytest.mark.ci
@pytest.mark.parametrize("command", ["score", "run"])
def test_every_option_reaches_load_model_from_the_command_line(command: str, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("good,bad\nA b.,B a.\n")
    first = [str(tmp_path / "mine.csv"), "--method", "direct"] if command == "score" else ["demo", "--limit", "1"]
    typed = [
        part
        for name, value in GIVEN.items()
        for part in ([f"--{name.replace('_', '-')}"] if value is True else [f"--{name.replace('_', '-')}", str(value)])
    ]
    with mock.patch("pairbank.scoring.models.load.load_model", return_value=FakeScorer()) as loader:
        done = CliRunner().invoke(
            app, [command, *first, "--out", str(tmp_path / "out"), *typed], catch_exceptions=False
        )
    assert done.exit_code == 0, done.output
    loader.assert_called_once()
    passed = {name: value for name, value in loader.call_args.kwargs.items() if name != "progress"}
    assert loader.call_args.args == ("demo",)
    assert {"weights": DEFAULTS["weights"], **passed} == GIVEN  # `run` passes on what differs from the default


def test_one_name_is_for_one_model(tmp_path: Path) -> None:
    typed = ["--model", "fake:a", "--model", "fake:b", "--name", "mine", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, ["run", "demo", "--limit", "1", *typed])
    assert done.exit_code == 2
    assert "is for one model, and there are 2" in " ".join(done.output.replace("│", " ").split())


def test_a_misspelt_option_comes_with_the_nearest_one() -> None:
    with pytest.raises(ModelLoadError, match="has no option 'max_lenght'; did you mean 'max_length'"):
        completed({"max_lenght": 5})  # type: ignore[typeddict-unknown-key]
    with pytest.raises(ModelLoadError, match="batch_tokens 0 is out of range"):
        completed({"batch_tokens": 0})


def test_batch_tokens_bound_a_pass_and_move_no_number(tmp_path: Path) -> None:
    folder = saved_model(ARCHITECTURES["llama"], tmp_path / "llama")
    items = pairbank.load_corpus("starter", limit=1).select(range(10))
    small, usual = pairbank.load_model(folder, batch_tokens=30), pairbank.load_model(folder)
    widths: list[int] = []
    small.model.base_model.register_forward_pre_hook(
        lambda _module, _args, named: widths.append(named["input_ids"].numel()), with_kwargs=True
    )
    a, b = (pairbank.score(items, model)["direct_delta"][:] for model in (small, usual))
    assert len(widths) > 5
    assert a == pytest.approx(b, abs=1e-4)


@pytest.mark.parametrize("command", ["score", "run"])
@pytest.mark.parametrize("option", ["--workers", "--gpus-per-worker", "--threads-per-worker"])
def test_options_of_workers_are_refused_where_there_are_none(command: str, option: str, tmp_path: Path) -> None:
    words = [command, "starter" if command == "score" else "demo", "--model", "fake:a", "--out", str(tmp_path / "out")]
    with mock.patch("pairbank.scoring.models.load.load_model") as loader:
        done = CliRunner().invoke(app, [*words, option, "2"])
    assert done.exit_code == 2
    assert "add --ray local" in " ".join(done.output.split())
    loader.assert_not_called()
