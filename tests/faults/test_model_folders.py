"""Malformed model folders: each is an error that names the file or the model and says what to do, never a traceback.

Folders of four families are damaged in every way that copies, downloads and hands damage them.
"""

import json
import logging
import pickle
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import pairbank
from pairbank import cli
from pairbank.errors import ModelLoadError, PairbankError
from pairbank.scoring.models import template_trial
from pairbank.scoring.models.loading import loading
from tiny_bidirectional_models import saved_as

WEIGHTS, CONFIG, TOKENIZER = "model.safetensors", "config.json", "tokenizer.json"
FAMILIES = {"gpt2": "gpt2", "llama": "qwen2", "bert": "bert", "t5": "t5"}
LAYERS = {"gpt2": "n_layer", "llama": "num_hidden_layers", "bert": "num_hidden_layers", "t5": "num_layers"}
WIDTHS = {"gpt2": "n_embd", "llama": "hidden_size", "bert": "hidden_size", "t5": "d_model"}

Damage = Callable[[Path, str], None]


def written(name: str, content: bytes) -> Damage:
    def damage(folder: Path, _family: str) -> None:
        (folder / name).write_bytes(content)

    return damage


def cut(name: str, share: float) -> Damage:
    def damage(folder: Path, _family: str) -> None:
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[: int(len(data) * share)])

    return damage


def configured(names: Mapping[str, str] | None = None, factor: float = 1, /, **settings: Any) -> Damage:  # noqa: ANN401
    """State other settings, or multiply the one that a family has under its name."""

    def damage(folder: Path, family: str) -> None:
        path = folder / CONFIG
        config = {**json.loads(path.read_text(encoding="utf-8")), **settings}
        if names:
            config[names[family]] = int(config[names[family]] * factor)
            config.pop("layer_types", None)
        path.write_text(json.dumps(config), encoding="utf-8")

    return damage


def without(*patterns: str) -> Damage:
    def damage(folder: Path, _family: str) -> None:
        for pattern in patterns:
            for path in folder.glob(pattern):
                path.unlink()

    return damage


class Payload:
    """What a hostile pickle runs when it is read."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (print, ("the pickle ran",))


def as_bin(content: bytes) -> Damage:
    def damage(folder: Path, _family: str) -> None:
        (folder / WEIGHTS).unlink()
        (folder / "pytorch_model.bin").write_bytes(content)

    return damage


def few_rows(folder: Path, _family: str) -> None:
    """Cut the vocabulary of weights and configuration to fewer rows than the tokenizer has tokens."""
    path = folder / CONFIG
    config = json.loads(path.read_text(encoding="utf-8"))
    full, n_rows = config["vocab_size"], 20
    tensors = load_file(folder / WEIGHTS)
    cut_ones = {k: v[:n_rows].clone() if v.ndim and v.shape[0] == full else v for k, v in tensors.items()}
    save_file(cut_ones, folder / WEIGHTS, metadata={"format": "pt"})
    path.write_text(json.dumps({**config, "vocab_size": n_rows}), encoding="utf-8")


def not_a_number(folder: Path, _family: str) -> None:
    tensors = load_file(folder / WEIGHTS)
    save_file({k: torch.full_like(v, torch.nan) for k, v in tensors.items()}, folder / WEIGHTS, {"format": "pt"})


def as_folder(folder: Path, _family: str) -> None:
    (folder / WEIGHTS).unlink()
    (folder / WEIGHTS).mkdir()


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"
PAGE = b"<!DOCTYPE html><html><body>404</body></html>"
EVERY: Mapping[str, tuple[Damage, str]] = {
    "weights cut in half": (cut(WEIGHTS, 0.5), "damaged or cut short"),
    "weights cut in their header": (cut(WEIGHTS, 0.001), "damaged or cut short"),
    "weights without their last byte": (cut(WEIGHTS, 0.9999), "damaged or cut short"),
    "weights empty": (written(WEIGHTS, b""), "is empty; copy it again"),
    "weights a web page": (written(WEIGHTS, PAGE), "is a web page, not weights"),
    "weights a pointer": (written(WEIGHTS, POINTER), "is a pointer that git-lfs has left; .*git lfs pull"),
    "weights noise": (written(WEIGHTS, bytes(range(256)) * 40), "damaged or cut short"),
    "weights of huge header": (written(WEIGHTS, b"\xff" * 8 + b"{}"), "damaged or cut short"),
    "weights a folder": (as_folder, "cannot be read .* expected a file of weights"),
    "no weights": (without(WEIGHTS), "cannot load model"),
    "weights not numbers": (not_a_number, "NaN|infinite"),
    "weights a hostile pickle": (as_bin(pickle.dumps(Payload(), protocol=2)), "cannot load model"),
    "weights a cut pickle": (as_bin(b"\x80\x02\x95"), "cannot load model"),
    "weights no pickle": (as_bin(b"PK\x03\x04 not a zip"), "cannot load model"),
    "configuration cut": (cut(CONFIG, 0.5), "is not JSON"),
    "configuration empty": (written(CONFIG, b""), "is not JSON"),
    "configuration a list": (written(CONFIG, b"[1]"), "holds list, expected a JSON object"),
    "configuration not UTF-8": (written(CONFIG, b'{"a": "\xff\xfe"}'), "is not JSON"),
    "configuration without end": (written(CONFIG, b"[" * 100_000), "is not JSON"),
    "no configuration": (without(CONFIG), "no config.json in the folder"),
    "configuration of an unknown type": (configured(model_type="nosuch"), "cannot load model"),
    "configuration of a number": (configured(model_type=5), "cannot load model"),
    "configuration of more layers": (configured(LAYERS, 2), "has no weights for .* would be random"),
    "configuration of another width": (configured(WIDTHS, 0.5), "cannot load model|other shapes"),
    "configuration with text for a number": (configured(vocab_size="many"), "cannot load model"),
    "configuration of a negative size": (configured(vocab_size=-3), "cannot load model|other shapes"),
    "fewer rows than tokens": (few_rows, "the tokenizer gives token .* tokens only|does not fit|cannot load"),
    "tokenizer cut": (cut(TOKENIZER, 0.5), "is not JSON"),
    "tokenizer empty": (written(TOKENIZER, b""), "is not JSON"),
    "tokenizer of nothing": (written(TOKENIZER, b"{}"), "cannot load model"),
    "tokenizer a list": (written(TOKENIZER, b"[]"), "cannot load model"),
    "tokenizer configuration a list": (written("tokenizer_config.json", b"[]"), "holds list, expected a JSON object"),
    "no tokenizer": (
        without("tokenizer*", "vocab*", "merges*", "special*", "added*", "chat_template*", "spiece*"),
        "no tokenizer in the folder",
    ),
}
TEMPLATES = {
    "that raises": ("{{ raise_exception('no') }}", "its chat template cannot render a prompt"),
    "that is no template": ("{% for %}", "its chat template cannot render a prompt"),
    "that cuts what is asked": (
        "{% for m in messages %}{{ m.content[:3] }}{% endfor %}", "chat template (cannot|does not) render"
    ),
    "that leaves out what is asked": ("{% for m in messages[-1:] %}{{ m.role }}{% endfor %}", "chat template"),
    "that calls what is not there": ("{{ messages[0].content.nosuch() }}", "its chat template cannot render a prompt"),
    "that adds text and numbers": ("{{ messages[0].content + 1 }}", "its chat template cannot render a prompt"),
    "without end": ("{% for i in range(10**9) %}x{% endfor %}", "its chat template cannot render a prompt"),
    "with loops in loops": (
        "{% set r = range(9999) %}{% for i in r %}{% for j in r %}{% for k in r %}{% endfor %}{% endfor %}{% endfor %}",
        "its chat template takes too much time or memory",
    ),
    "that takes all memory": ("{{ 'x' * 10**10 }}", "its chat template takes too much time or memory"),
    "that writes a book": (
        "{{ 'x' * 10**7 }}{{ messages[-1].content }}", "its chat template makes 10,002,100 characters of a prompt"
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("whole")
    return {family: saved_as(kind, root / family) for family, kind in FAMILIES.items()}


def damaged(whole: Path, folder: Path, damage: Damage, family: str) -> Path:
    shutil.copytree(whole, folder)
    damage(folder, family)
    return folder


@pytest.mark.ci
@pytest.mark.parametrize("family", ["gpt2", "bert", "t5"])
@pytest.mark.parametrize("case", EVERY)
def test_a_damaged_folder_is_an_error_that_says_what_to_do(
    case: str, family: str, whole: dict[str, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    damage, message = EVERY[case]
    folder = damaged(whole[family], tmp_path / "broken", damage, family)
    with pytest.raises(PairbankError, match=message) as caught:
        pairbank.load_model(folder, device="cpu")
    assert "broken" in str(caught.value)
    assert len(str(caught.value)) < 1_200
    assert "the pickle ran" not in capfd.readouterr().out


@pytest.mark.parametrize("case", TEMPLATES)
def test_a_chat_template_that_fails_is_an_error_that_names_the_option(
    case: str, whole: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(template_trial, "TIME_LIMIT_S", 1)
    template, message = TEMPLATES[case]
    folder = damaged(whole["llama"], tmp_path / "broken", lambda _folder, _family: None, "llama")
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    with pytest.raises(ModelLoadError, match=f"{message}.*prompt_format='base'"):
        pairbank.load_model(folder, device="cpu")
    assert pairbank.load_model(folder, device="cpu", prompt_format="base").info.prompt_format == "base"


@pytest.mark.parametrize("family", FAMILIES)
def test_layers_beyond_count_are_refused_before_they_are_built(
    family: str, whole: dict[str, Path], tmp_path: Path
) -> None:
    folder = damaged(whole[family], tmp_path / "broken", configured(**{LAYERS[family]: 10**7}), family)
    with pytest.raises(ModelLoadError, match=f"{LAYERS[family]} is 10,000,000, expected at most 2,000"):
        pairbank.load_model(folder, device="cpu")


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_of_more_layers_than_the_configuration_are_stated(
    family: str, whole: dict[str, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = damaged(whole[family], tmp_path / "broken", configured(LAYERS, 0.5), family)
    pairbank.load_model(folder, device="cpu")
    assert "broken: the checkpoint has weights of more layers than its configuration" in caplog.text
    caplog.clear()
    pairbank.load_model(whole[family], device="cpu")
    assert "more layers" not in caplog.text


@pytest.mark.parametrize("name", ["org/no-such-model", "nosuch"])
def test_a_hub_id_without_the_hub_is_one_error_that_names_demo_and_a_folder(
    name: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ModelLoadError, match=f"cannot load model '{name}': .* give a folder .* 'demo'"):
        pairbank.load_model(name)
    assert not caplog.records
    assert not capfd.readouterr().err


def test_retries_of_the_hubs_client_are_not_printed() -> None:
    client = logging.getLogger("huggingface_hub")
    before = client.level
    with loading("m", local=False):
        assert not client.isEnabledFor(logging.WARNING)
    assert client.level == before


def test_an_error_that_is_no_fault_of_files_passes() -> None:
    class OurOwnError(Exception):
        pass

    with pytest.raises(OurOwnError), loading("m", local=True):
        raise OurOwnError
    with pytest.raises(ModelLoadError, match="memory ran out"), loading("m", local=True):
        raise MemoryError


def test_the_command_line_prints_one_message(
    whole: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = damaged(whole["gpt2"], tmp_path / "broken", cut(WEIGHTS, 0.5), "gpt2")
    monkeypatch.setattr(
        sys, "argv", ["pairbank", "score", "starter", "--limit", "1", "--model", str(folder), "--out", "x.parquet"]
    )
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    assert "damaged or cut short" in capsys.readouterr().err
