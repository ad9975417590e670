"""Lists of models: what a file says is what is loaded, and mistakes are explained with entry and key."""

import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from command_line import completed
from pairbank.cli import app
from pairbank.errors import BankError, ModelLoadError, StudyError, UnknownNameError
from pairbank.scoring.models.load import load_model
from pairbank.stats.scored_table.model_features import features_in_paper, find_features, models_in_paper, papers
from pairbank.study.model_list import choice_of, choices_of, load_list, shipped_list

LIST = """
[[models]]
id = "allenai/OLMo-2-1124-7B@stage1-step1000-tokens5B"
dtype = "bfloat16"
family = "OLMo"
generation = 2
size_billions = 7
type = "base"
training_tokens = 5e9
date = 2024-11-26

[[models]]
id = "org/large"
name = "Large, in 4 bits"
quantisation = "4bit"
device_map = { "model.embed_tokens" = 0 }
prompt_format = "chat"

[[models]]
id = "one"
backend = "fake"
"""


def _written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_each_model_of_a_list_has_options_and_features_of_its_own(tmp_path: Path) -> None:
    first, second, third = load_list(_written(tmp_path, LIST))
    assert first.id == "allenai/OLMo-2-1124-7B"
    assert first.options == {"dtype": "bfloat16", "revision": "stage1-step1000-tokens5B"}
    assert first.name == "OLMo-2-1124-7B@stage1-step1000-tokens5B"
    assert first.features
    assert (first.features.generation, first.features.date, first.features.training_tokens) == ("2", "2024-11-26", 5e9)
    assert second.options == {
        "name": "Large, in 4 bits",
        "quantisation": "4bit",
        "device_map": {"model.embed_tokens": 0},
        "prompt_format": "chat",
    }
    assert second.features is None
    assert (third.id, third.name) == ("fake:one", "one")


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("models = 3", StudyError, r"mine.toml: no \[\[models\]\]"),
        ("[[model]]\nid = 'a/b'", StudyError, r"unknown key\(s\) model; expected \[\[models\]\] alone"),
        ("[[models]]\nname = 'x'", StudyError, "model 'x' has no id; expected id = a folder or a Hub id"),
        ("[[models]]\nid = 'a/b'\nquantization = '4bit'", StudyError, "'quantization'; did you mean 'quantisation'"),
        ("[[models]]\nid = 'a/b'\nquantisation = 4", StudyError, "quantisation is 4; expected '4bit' or '8bit'"),
        ("[[models]]\nid = 3", StudyError, "id is 3; expected a text"),
        ("[[models]]\nid = 'a/b'\nfamily = 'B'", BankError, "missing generation, size_billions, type"),
        ("[[models]]\nid = 'a/b'\n[[models]]\nid = 'c/b'", StudyError, "two models would be called 'b'"),
        ("[[models]]\nid = 'a/b c'\n[[models]]\nid = 'c/b-c'", StudyError, "'b c' and 'b-c' .in file names 'b_c'"),
        ("[[models]]\nid = 'a/b@v1'\nrevision = 'v2'", StudyError, "revision 'v2', but the model is named @v1"),
        ("[[models]", StudyError, "not TOML"),
    ],
)
def test_a_mistake_in_a_list_is_explained(tmp_path: Path, text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        load_list(_written(tmp_path, text))


def test_a_list_that_is_not_there_is_explained(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"no file .*none\.toml; expected a TOML file with"):
        load_list(str(tmp_path / "none.toml"))
    with pytest.raises(UnknownNameError, match="no list of models 'song-2024'; did you mean 'song-2025'"):
        load_list("song-2024")
    (tmp_path / "latin.toml").write_bytes("[[models]]\nid = 'caf\xe9'".encode("latin-1"))
    with pytest.raises(StudyError, match=r"latin\.toml: not TOML .*is not UTF-8"):
        load_list(str(tmp_path / "latin.toml"))


def test_a_revision_behind_the_name_is_for_hub_ids_alone(tmp_path: Path) -> None:
    assert choice_of("org/name@main", {"dtype": "float32"}).options == {"dtype": "float32", "revision": "main"}
    folder = tmp_path / "model"
    folder.mkdir()
    for name in (f"{folder}@v1", "./model@v1", "demo@v1"):
        with pytest.raises(ModelLoadError, match="only Hub ids have an @REVISION: a folder is one revision"):
            load_model(name)
    (tmp_path / "at@home").mkdir()
    assert choice_of(str(tmp_path / "at@home")).name == "at@home"
    with pytest.raises(ModelLoadError, match="cannot load model 'org/name'"):
        load_model("org/name@v1")


@pytest.mark.parametrize("name", papers())
def test_the_list_of_a_paper_can_be_printed_and_read_back(name: str, tmp_path: Path) -> None:
    printed = completed(["models", name])
    again = load_list(_written(tmp_path, printed.output))
    assert again == shipped_list(name).choices == load_list(name)
    features = features_in_paper(name)
    assert {choice.name: choice.features for choice in again} == dict(features)
    assert all(closed in printed.output for closed in models_in_paper(name)["closed"])
    assert tomllib.loads(printed.output).keys() == {"models"}
    completed(["models", name, "--out", str(tmp_path / "other.toml")])
    assert load_list(str(tmp_path / "other.toml")) == again


def test_the_lists_of_models_are_listed() -> None:
    printed = CliRunner().invoke(app, ["models"])
    assert all(name in printed.output for name in papers())


def test_song_2025_quantises_what_is_larger_than_70_billion() -> None:
    # Song et al. 2025, section 3.1: "we applied 4-bit quantization to models larger than 70B"
    for choice in shipped_list("song-2025").choices:
        assert choice.features
        assert (choice.options.get("quantisation") == "4bit") is (choice.features.size_billions > 70)
    assert sum("revision" in choice.options for choice in shipped_list("song-2025").choices) == 6


def test_a_published_name_is_known_whatever_the_corpus_and_one_of_two_papers_by_its_company() -> None:
    song, hu = features_in_paper("song-2025"), features_in_paper("hu-frank-2024")
    assert find_features("Llama3.1 8B IT", corpus="my-own") is song["Llama3.1 8B IT"]
    assert find_features("OLMo 7B", beside=["OLMo 7B", "Qwen 1.5B"]) is song["OLMo 7B"]
    assert find_features("OLMo 7B", beside=["OLMo 7B", "Pythia 1B"]) is hu["OLMo 7B"]
    assert find_features("OLMo 7B", beside=["OLMo 7B", "Pythia 1B", "Qwen 1.5B"]) is None
    assert find_features("gemma 2b") is None


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ("", "10.0.0.1:8000"),
        ('served_model = "org/Large-70B"', "Large-70B"),
        ('served_model = "org/Large-70B"\nrevision = "v2"', "Large-70B@v2"),
        ('name = "Large"\nquantisation = "awq"\nconcurrency = 8', "Large"),
    ],
)
def test_a_list_can_name_a_server(tmp_path: Path, options: str, name: str) -> None:
    entry = f'[[models]]\nid = "http://me@10.0.0.1:8000/v1"\ntokenizer = "org/tokens"\n{options}'
    [choice] = load_list(_written(tmp_path, entry))
    assert choice.id == "http://me@10.0.0.1:8000/v1"
    assert choice.options["tokenizer"] == "org/tokens"
    assert (choice.name, choice.problem()) == (name, None)


def test_two_models_of_one_server_need_two_names(tmp_path: Path) -> None:
    entry = '[[models]]\nid = "http://10.0.0.1:8000/v1"\n'
    with pytest.raises(StudyError, match=r"two models would be called '10\.0\.0\.1:8000'"):
        load_list(_written(tmp_path, entry * 2))
    text = "".join(f'{entry}served_model = "{name}"\n' for name in ("one", "two"))
    assert [choice.name for choice in load_list(_written(tmp_path, text))] == ["one", "two"]


def test_the_study_as_published_has_the_models_of_the_list_without_a_bos_where_the_paper_had_none() -> None:
    from pairbank.study.declaration import load_study

    of_study = choices_of(load_study("introspection-as-published").models, where="study")
    of_list = shipped_list("song-2025").choices
    assert [(one.id, one.name) for one in of_study] == [(one.id, one.name) for one in of_list]
    for own, listed in zip(of_study, of_list, strict=True):
        bos = {"bos": "none"} if own.name.startswith(("Qwen", "OLMo")) else {}
        assert own.options == listed.options | bos, own.name
