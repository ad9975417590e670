"""Many models in one run: one after the other, none stopped by another, one bank, one report of all."""

import contextlib
import gc
import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd
import pytest
from typer.testing import CliRunner

import pairbank
from pairbank.cli import app
from pairbank.cli.loading import Loader
from pairbank.errors import StudyError
from pairbank.scoring.api.model import Scorer
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.models.options import LoadOptions
from pairbank.scoring.run.work import Part
from pairbank.study.declaration import CorpusChoice, load_study, with_corpora
from pairbank.study.model_list import ModelChoice, choice_of
from pairbank.study.one_model import Failure, loaded
from pairbank.study.preflight import planned
from pairbank.study.run import run_plan
from pairbank.study.scored_files import score_study_part
from study_runs import run_study, small_study
from tiny_models import ARCHITECTURES, saved_model

FAMILIES = ("gpt2", "llama", "qwen2")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    return {name: saved_model(ARCHITECTURES[name], root / f"tiny-{name}") for name in FAMILIES}


def _broken(folder: Path) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text("{}", encoding="utf-8")
    return folder


def _written(folder: Path) -> Path:
    path = folder / "mine.toml"
    path.write_text(
        'title = "Mine"\nmethods = ["direct"]\nn_resamples = 20\n'
        '[[corpora]]\nname = "starter"\nsubset = "minimal-pairs"\nlimit = 1\n',
        encoding="utf-8",
    )
    return path


def _list(path: Path, *entries: dict[str, Any]) -> str:
    lines = (["[[models]]", *(f"{key} = {value!r}" for key, value in entry.items())] for entry in entries)
    path.write_text("\n".join(line for entry in lines for line in entry), encoding="utf-8")
    return str(path)


def _run(*arguments: str | Path) -> Any:  # noqa: ANN401 - a result of click's
    return CliRunner().invoke(app, ["run", *map(str, arguments)], catch_exceptions=False)


def _models(folder: Path, study: str, corpus: str = "starter") -> set[str]:
    table = pd.read_csv(folder / "reports" / study / "summary.csv")
    return set(table[table["corpus"] == corpus]["model"])


@pytest.mark.ci
def test_a_model_is_gone_before_the_next_is_loaded(folders: dict[str, Path], tmp_path: Path) -> None:
    held: list[weakref.ref[Any]] = []

    def load(choice: ModelChoice) -> Scorer:
        gc.collect()
        assert [one for ref in held if (one := ref()) is not None] == []
        scorer = loaded(choice)
        held.extend([weakref.ref(scorer), weakref.ref(scorer.model), weakref.ref(scorer.tokenizer)])  # type: ignore[attr-defined]
        return scorer

    short = choice_of(str(saved_model(ARCHITECTURES["mistral"], tmp_path / "tiny-short")), {"max_length": 5})
    models = [choice_of(str(folder)) for folder in folders.values()]
    models.insert(1, short)
    failures: list[Failure] = []
    plan = planned(small_study(probe=("phenomenon",)), models, tmp_path / "bank")
    run_plan(plan, load=load, failed=failures.append)
    assert [failure.model for failure in failures] == ["tiny-short"]
    gc.collect()
    assert len(held) == 12
    assert [ref() for ref in held] == [None] * 12


@pytest.mark.ci
def test_a_model_that_fails_does_not_stop_the_others_and_a_rerun_continues(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    broken = _broken(tmp_path / "tiny-broken")
    study = _written(tmp_path)
    entries: list[dict[str, Any]] = [{"id": str(folder)} for folder in (broken, folders["gpt2"], folders["llama"])]
    entries += [{"id": "fake:short", "max_length": 5}, {"id": "fake:last", "name": "Last one"}]
    models = _list(tmp_path / "models.toml", *entries)
    bank = tmp_path / "bank"
    done = _run(study, "--models", models, "--out", bank)
    assert done.exit_code == 1
    assert "FAILED: tiny-broken was not loaded: " in done.output
    assert "FAILED: short was not scored on starter: " in done.output
    assert "2 failed; fix the causes below and rerun the same command" in done.output
    pairbank.check_bank(bank)
    page = (bank / "reports" / "mine" / "report.md").read_text()
    head = page.partition("\n## ")[2].partition("\n## ")[0]  # the answer, then what it needs care for
    assert "Failed: tiny-broken was not loaded: " in head
    assert "Failed: short was not scored on starter: " in head
    assert str(tmp_path) not in page
    assert _models(bank, "mine") == {"tiny-gpt2", "tiny-llama", "Last one"}
    saved_model(ARCHITECTURES["qwen2"], broken)
    entries[3] = {"id": "fake:short"}
    _list(tmp_path / "models.toml", *entries)
    again = _run(study, "--models", models, "--out", bank)
    assert again.exit_code == 0, again.output
    assert "tiny-gpt2: nothing to compute, every number was in the store" in again.output
    assert "Failed" not in (bank / "reports" / "mine" / "report.md").read_text()
    assert _models(bank, "mine") == {"tiny-gpt2", "tiny-llama", "Last one", "tiny-broken", "short"}
    _list(tmp_path / "models.toml", *entries[:3])
    with mock.patch("pairbank.cli.loading._loaded", side_effect=AssertionError("a model whose scores are stored")):
        assert _run(study, "--models", models, "--out", bank).output.count("nothing to compute") == 3


@pytest.mark.ci
def test_a_run_into_a_bank_with_other_models_reports_on_all_of_them(tmp_path: Path) -> None:
    bank, study = tmp_path / "bank", _written(tmp_path)
    runs = [_run(study, "--model", f"fake:{name}", "--out", bank) for name in ("one", "two")]
    assert [done.exit_code for done in runs] == [0, 0]
    assert _models(bank, "mine") == {"one", "two"}
    pairbank.check_bank(bank)
    [_, table] = runs[-1].output.split("Models and corpora (95% intervals)\n")
    assert {line.split()[0] for line in table.splitlines()[:3]} == {"model", "one", "two"}
    assert "Accuracy (95% intervals)" not in runs[-1].output  # of each group: in the report


@pytest.mark.ci
def test_one_corpus_that_cannot_be_scored_leaves_the_others(tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text(f"good,bad\n{'A b. ' * 30},B a.\n", encoding="utf-8")
    study = replace(small_study(), corpora=(CorpusChoice(name=str(tmp_path / "long.csv")), *small_study().corpora))
    models = [FakeScorer(name="short", max_length=120), FakeScorer(name="roomy")]
    folder, made = run_study(study, models, tmp_path / "bank")
    assert any(note.startswith("Failed: short was not scored on long: ") for note in made.warnings)
    assert (_models(folder, "mine"), _models(folder, "mine", "long")) == ({"short", "roomy"}, {"roomy"})


def test_a_run_of_which_nothing_is_left_says_why_for_each_model(tmp_path: Path) -> None:
    broken = [_broken(tmp_path / name) for name in ("a", "b")]
    with pytest.raises(StudyError, match=r"mine: nothing was scored. a was not loaded: .* b was not loaded: "):
        run_study(small_study(), [choice_of(str(folder)) for folder in broken], tmp_path / "bank")
    assert not (tmp_path / "bank").exists()


@pytest.mark.ci
def test_the_models_of_a_study_are_run_where_nobody_names_others(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        "title = 'Own'\nmethods = ['direct', 'meta_question_simple']\nn_resamples = 20\nanalyses = ['introspection']\n"
        "[[corpora]]\nname = 'starter'\nsubset = 'minimal-pairs'\nlimit = 2\n"
        + "".join(
            f"[[models]]\nid = 'fake:{name}'\nname = '{name}!'\nfamily = 'Fake'\ngeneration = '{name}'\n"
            "size_billions = 1\ntype = 'base'\n"
            for name in "abc"
        ),
        encoding="utf-8",
    )
    done = _run(path, "--out", tmp_path / "bank")
    assert done.exit_code == 0, done.output
    assert _models(tmp_path / "bank", "own") == {"a!", "b!", "c!"}
    table = pd.read_csv(tmp_path / "bank" / "reports" / "own" / "introspection_models.csv")
    assert table["declared"].all()
    assert set(table["family"]) == {"Fake"}
    other = _run(path, "--model", "fake:x", "--out", tmp_path / "other", "--dry-run").output
    assert " x no " in " ".join(other.split())
    assert "a!" not in other


@pytest.mark.ci
def test_options_of_the_command_line_are_for_models_that_do_not_say_otherwise(tmp_path: Path) -> None:
    study = _written(tmp_path)
    models = _list(tmp_path / "models.toml", {"id": "fake:a", "prompt_format": "base"}, {"id": "fake:b"})
    done = _run(study, "--models", models, "--prompt-format", "chat", "--out", tmp_path / "bank")
    assert done.exit_code == 0, done.output
    formats = {
        name: pairbank.read_scored(tmp_path / "bank" / "scores" / "starter" / f"{name}.parquet").signature["model"]
        for name in "ab"
    }
    assert [formats[name]["prompt_format"] for name in "ab"] == ["base", "chat"]


@pytest.mark.ci
def test_three_tokenizers_and_two_languages_stand_in_one_bank(folders: dict[str, Path], tmp_path: Path) -> None:
    for language, good, bad in (("en", "The dogs bark.", "The dogs barks."), ("zh", "他在看书。", "他看书在。")):
        (tmp_path / f"{language}.csv").write_text(f"good,bad,language\n{good},{bad},{language}\n", encoding="utf-8")
    methods = load_study("grammaticality").methods
    study = tmp_path / "mine.toml"
    study.write_text(
        f"title = 'Mine'\nmethods = {[*methods]}\nminimalness = 'edits'\n"
        f"n_resamples = 20\nunigrams_from = ['{tmp_path / 'en.csv'}']\n"
        + "".join(f"[[corpora]]\nname = '{tmp_path / language}.csv'\n" for language in ("en", "zh")),
        encoding="utf-8",
    )
    bank = tmp_path / "bank"
    done = _run(study, *(part for folder in folders.values() for part in ("--model", folder)), "--out", bank)
    assert done.exit_code == 0, done.output
    pairbank.check_bank(bank)
    scored = [pairbank.read_scored(path) for path in sorted(bank.glob("scores/*/*.parquet"))]
    assert [one.corpus for one in scored] == ["en"] * 3 + ["zh"] * 3
    assert len({str(one.signature["methods"]) for one in scored}) == 1
    assert len({table["sha256"] for one in scored[:3] for table in one.signature["model"]["unigrams"]}) == 3
    for one in scored:
        assert (one["slor_delta"][0] is not None) is (one.corpus == "en")
        assert one["bayes_uniform_delta"][0] is not None
    page = (bank / "reports" / "mine" / "report.md").read_text(encoding="utf-8")
    names = ", ".join(f"tiny-{name}" for name in FAMILIES)
    assert f"Left out: zh by {names}: no bayes_unigram, slor of 1 of 1 items" in page


@pytest.mark.ci
def test_each_corpus_of_a_study_can_have_its_own_embedder_and_counts(tmp_path: Path) -> None:
    (tmp_path / "zh.csv").write_text("good,bad,language\n他在看书。,他看书在。,zh\n", encoding="utf-8")
    (tmp_path / "text.csv").write_text("good,bad,language\n这本书很有意思。,这书本很有意思。,zh\n", encoding="utf-8")
    chinese = CorpusChoice(
        name=str(tmp_path / "zh.csv"), minimalness="edits", unigrams_from=(str(tmp_path / "text.csv"),)
    )
    english = CorpusChoice(name="starter", subset="minimal-pairs", language="en", limit=1, minimalness="")
    study = replace(
        small_study(minimalness="edits", unigrams_from=("starter",)),
        corpora=(chinese, english),
        methods=("direct", "slor"),
    )
    folder, _ = run_study(study, [FakeScorer(name=x) for x in "abc"], tmp_path / "bank")
    for name in "abc":
        zh, en = (pairbank.read_scored(folder / "scores" / corpus / f"{name}.parquet") for corpus in ("zh", "starter"))
        assert [one.signature["model"]["unigrams"][0]["languages"] for one in (zh, en)] == [["zh"], ["en"]]
        assert None not in [*zh["slor_delta"][:], *en["slor_delta"][:]]
        assert zh["edit_distance"][:] == [2]
        assert "edit_distance" not in en.dataset.column_names


def test_a_corpus_that_the_user_names_keeps_what_the_study_has_for_it() -> None:
    study = load_study("grammaticality")
    chinese = ("sling", "zhoblimp")
    own_values = (replace(one, minimalness="edits" if one.name in chinese else None) for one in study.corpora)
    study = with_corpora(replace(study, corpora=tuple(own_values)), ["sling", "zhoblimp:BA_1", "blimp"])
    assert [choice.minimalness for choice in study.corpora] == ["edits", "edits", None]
    assert study.minimalness == load_study("grammaticality").minimalness
    assert study.corpora[1].subset == "BA_1"


@pytest.mark.ci
def test_workers_of_one_model_are_gone_before_those_of_the_next_begin(tmp_path: Path) -> None:
    events: list[str] = []

    @contextlib.contextmanager
    def cluster(model: str, options: LoadOptions) -> Iterator[Scorer]:
        events.append(f"{model} begins")
        yield loaded(ModelChoice(id=model, options=options))
        events.append(f"{model} ends")

    plan = planned(small_study(), [choice_of(f"fake:{name}") for name in "abc"], tmp_path / "bank")
    with Loader(cluster=cluster) as loader:
        run_plan(plan, load=loader.load)
    assert events == [f"fake:{name} {what}" for name in "abc" for what in ("begins", "ends")]
    assert list(loader.work) == ["a", "b", "c"]


def test_a_part_of_a_run_is_of_all_its_models_and_fits_the_others(tmp_path: Path) -> None:
    models = [choice_of(f"fake:{name}") for name in "abc"]
    plan = planned(small_study(), models, tmp_path / "bank")
    done = [[part.n_units for part in score_study_part(plan, Part(number=i, of=2))] for i in (1, 2)]
    assert done == [[1, 0, 1], [0, 1, 0]]
    assert not (tmp_path / "bank").exists()
