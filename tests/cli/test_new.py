"""`pairbank new corpus`: what it writes passes its own test, the tests of all corpora, and ruff, as it stands."""

import json
import os
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

import pairbank
from checkouts import checkout
from command_line import completed, printed_by
from pairbank.cli.new import with_corpus, with_reference
from pairbank.errors import CorpusError

RUFF = Path(sysconfig.get_path("scripts")) / "ruff"
NAMES = ("my-corpus", "a1", "p2", "p100", "li-b", "zz-9", "a-name-of-forty-letters-and-what-it-give")
"""Each sorts into another place of the registry."""


def new(name: str, folder: Path) -> str:
    done = completed(["new", "corpus", name, "--out", str(folder)])
    return done.output


def check(folder: Path, *command: str, **environment: str) -> None:
    printed_by(command, cwd=folder, env=os.environ | environment)


@pytest.mark.parametrize(
    ("kind", "folder", "required"),
    [
        ("study", "studies", ["title"]),
        ("prompts", "scoring/prompts", ["prompts"]),
        ("profile", "scoring/importing/profiles", []),
        ("map", "builders/data/corpora", []),
    ],
)
def test_a_schema_has_the_keys_of_every_file_that_ships(
    tmp_path: Path, kind: str, folder: str, required: list[str]
) -> None:
    out = tmp_path / "a.schema.json"
    completed(["new", "schema", kind, "--out", str(out)])
    schema = json.loads(out.read_text())
    assert schema["additionalProperties"] is False
    assert schema.get("required", []) == required
    is_prompts = kind == "prompts"
    keys = schema["$defs"]["PromptTable"]["properties"] if is_prompts else schema["properties"]
    for path in sorted((Path(pairbank.__file__).parent / folder).glob("*.toml")):
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        for entry in document.get("prompts", []) if is_prompts else [document]:
            assert entry.keys() <= keys.keys(), path


@pytest.mark.ci
def test_a_corpus_written_in_a_checkout_is_one_of_ours(tmp_path: Path) -> None:
    root = checkout(tmp_path / "pairbank", "tests")
    for name in NAMES:
        said = new(name, root)
        assert f"builders/corpora/{name.replace('-', '_')}.py\n" in said
    check(root, str(RUFF), "check", "builders/corpora", "tests/builders/corpora")
    check(root, str(RUFF), "format", "--check", "builders/corpora", "tests/builders/corpora")
    tests = [*(f"corpora/test_{name.replace('-', '_')}.py" for name in NAMES), "corpora/test_registry.py"]
    tests += ["sources/test_references.py"]
    paths = [f"tests/builders/{name}" for name in tests]
    check(root, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *paths, PYTHONPATH=str(root / "src"))


@pytest.mark.ci
def test_a_corpus_written_elsewhere_is_a_package(tmp_path: Path) -> None:
    for name in NAMES:
        new(name, tmp_path)
        root = tmp_path / f"pairbank-{name}"
        assert f'"pairbank.corpora"]\n{name} = ' in (root / "pyproject.toml").read_text()
    check(tmp_path, str(RUFF), "check", ".")
    check(tmp_path, str(RUFF), "format", "--check", ".")
    package = tmp_path / f"pairbank-{NAMES[0]}"
    check(package, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("My-Corpus", "corpus name 'My-Corpus': expected small letters"),
        ("2x", "a letter first"),
        ("a--b", "single hyphens"),
        ("a" * 41, "at most 40"),
        ("class", "a word of Python; choose another, as in class-corpus"),
        ("blimp", r"corpus 'blimp' exists already \(BLiMP\); choose another name"),
    ],
)
def test_a_name_that_cannot_be_a_corpus_is_refused(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        new(name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_nothing_that_is_there_is_lost(tmp_path: Path) -> None:
    new("mine", tmp_path)
    mine = tmp_path / "pairbank-mine" / "src" / "pairbank_mine" / "corpus.py"
    mine.write_text("# my work\n")
    (tmp_path / "pairbank-mine" / "pyproject.toml").unlink()
    with pytest.raises(CorpusError, match="exists already"):
        new("mine", tmp_path)
    assert mine.read_text() == "# my work\n"
    assert not (tmp_path / "pairbank-mine" / "pyproject.toml").exists()


def test_a_registry_of_another_make_is_left_alone() -> None:
    with pytest.raises(CorpusError, match="no table of modules to put mine into; enter it by hand"):
        with_corpus("CORPORA = {}\n", "mine", "mine")


def test_a_reference_stands_where_its_key_sorts() -> None:
    text = "@misc{b,\n}\n"
    assert with_reference(text, "a", "A", 2020).index("@misc{a,") < with_reference(text, "a", "A", 2020).index("{b,")
    assert with_reference(text, "c", "C", 2020).startswith(text)
