"""Studies: what ships is sound, mistakes are explained, and a run does what the file says."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import pairbank
from pairbank.cards.card.render import figures_in
from pairbank.errors import BankError, StudyError, UnknownNameError
from pairbank.scoring.models.fake import FakeScorer
from pairbank.stats.analyses.registry import analysis_named
from pairbank.stats.report.report import N_RESAMPLES
from pairbank.study.declaration import (
    CorpusChoice,
    Study,
    UnigramText,
    limited,
    load_study,
    study_names,
    with_corpora,
    with_minimalness,
)
from pairbank.study.one_model import silent
from study_runs import run_study

if TYPE_CHECKING:
    from pairbank.scoring.run.work import Progress
    from pairbank.stats.report.report import Report


def test_shipped_studies_name_corpora_and_methods_that_exist() -> None:
    from pairbank.builders import corpus_named
    from pairbank.scoring.methods.registry import in_order

    for name in study_names():
        study = load_study(name)
        assert all(corpus_named(choice.name) for choice in study.corpora)
        assert study.corpora or study.imports  # of published results, no corpus is scored
        assert in_order(study.methods) == list(study.methods)
        assert all(analysis_named(name) for name in study.analyses)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = 'x'\nmethods = ['direct']\n", r"no \[\[corpora\]\]"),
        (
            "title = 'x'\nmethods = ['direct']\ncolour = 1\n[[corpora]]\nname = 'li'\n",
            r"mine.toml: unknown key 'colour'\. Known keys: analyses",
        ),
        ("title = 'x'\nmethods = ['direct']\nanalysis = ['a']\n[[corpora]]\nname = 'li'\n", "did you mean 'analyses'"),
        ("title = 'x'\nmethods = ['direct']\n[[corpora]]\nname = 'li'\nsize = 1\n", "unknown key 'corpora.0.size'"),
        ("methods = ['direct']\n[[corpora]]\nname = 'li'\n", "mine.toml: title is missing"),
        ("title = 1\nmethods = ['direct']\n[[corpora]]\nname = 'li'\n", "title is 1; expected a text"),
        ("title = 'x'\nmethods = ['direct']\n[[corpora]]\nname = 'li'\nlimit = '5'\n", "limit is '5'; expected a"),
        ("title = 'x'\nmethods = ['direct', 3]\n[[corpora]]\nname = 'li'\n", r"methods\.1 is 3; expected a text"),
        (
            "title = 1\nmethods = ['direct']\nseed = -1\n[[corpora]]\nname = 'li'\n",
            r"mine\.toml: title is 1; .*mine\.toml: seed is -1",
        ),
        ("title = ", "not TOML"),
        (b"title = 'caf\xe9'", r"mine\.toml: cannot be read .*is not UTF-8.*; save it as UTF-8"),
        ("title = 'x'\nmethods = ['direct']\ncorpora = ['starter']", r"corpora.0 is 'starter'; expected a table: \[\["),
    ],
)
def test_a_mistake_in_a_study_is_explained(tmp_path: Path, text: str | bytes, message: str) -> None:
    (tmp_path / "mine.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(StudyError, match=message):
        load_study(str(tmp_path / "mine.toml"))


def test_a_misspelt_study_comes_with_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match="no study 'dmo'; did you mean 'demo'"):
        load_study("dmo")


def _study(*corpora: CorpusChoice) -> Study:
    return Study(name="mine", title="Mine", corpora=corpora, methods=("direct",), n_resamples=20)


def test_an_optional_corpus_that_is_not_to_be_had_is_left_out_and_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    study = _study(CorpusChoice(name="starter", limit=1), CorpusChoice(name="ewok", optional=True))
    _, made = run_study(study, [FakeScorer()], tmp_path / "bank", data_dir=tmp_path / "empty")
    assert set(made.summary["corpus"]) == {"starter"}
    (note,) = [one for one in made.notes if one.startswith("Left out: corpus 'ewok'")]
    assert " in empty/ewok or " in note  # a report is published: where the folder lies stays here
    assert str(tmp_path) not in note


def test_a_study_without_any_corpus_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="mine: none of its corpora can be had"):
        run_study(
            _study(CorpusChoice(name="ewok", optional=True)), [FakeScorer()], tmp_path / "bank", data_dir=tmp_path
        )


def test_a_study_can_be_run_on_other_corpora_and_says_so() -> None:
    study = with_corpora(_study(CorpusChoice(name="xcomps")), ["starter:concepts", "blimp"])
    assert study.corpora == (CorpusChoice(name="starter", subset="concepts"), CorpusChoice(name="blimp"))
    assert study.notes == ("Run by the user on starter:concepts, blimp instead of xcomps.",)
    assert study.description.endswith("Here: on starter:concepts, blimp.")
    assert limited(study, 3).description.endswith("Here: on starter:concepts, blimp. Here: at most 3 of each paradigm.")


def _run(study: Study, folder: Path, *models: FakeScorer) -> Report:
    _, made = run_study(study, models or [FakeScorer()], folder / "bank")
    return made


def test_only_items_with_the_columns_values_are_run_and_they_alone_count_to_the_limit(tmp_path: Path) -> None:
    chosen = CorpusChoice(name="starter", where={"subset": "minimal-pairs", "language": "en"}, limit=1)
    made = _run(_study(chosen), tmp_path)
    items = pairbank.load_corpus("starter", subset="minimal-pairs").to_pandas()
    n_paradigms = items[items["language"] == "en"]["paradigm"].nunique()
    (whole,) = made.summary[made.summary["group_by"] == "all"]["n"]
    assert whole == n_paradigms > 1


@pytest.mark.parametrize(
    ("where", "message"),
    [({"colour": "red"}, "has no column 'colour'"), ({"subset": "none"}, r"has no item with \{'subset': 'none'\}")],
)
def test_a_choice_that_fits_no_item_is_explained(where: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=message):
        _run(_study(CorpusChoice(name="starter", where=where)), tmp_path)


@pytest.mark.ci
def test_unigrams_are_counted_over_the_corpora_that_the_study_names(tmp_path: Path) -> None:
    study = replace(
        _study(CorpusChoice(name="starter", limit=1)), methods=("direct", "slor"), unigrams_from=("starter",)
    )
    folder, made = run_study(study, [FakeScorer()], tmp_path / "bank")
    assert "slor" in set(made.summary["method"])
    assert '"better sentences of corpora"' in (folder / "manifest.json").read_text()
    folder, made = run_study(replace(study, unigrams_from=()), [FakeScorer()], tmp_path / "other")
    assert pd.read_parquet(folder / "scores" / "starter" / "fake.parquet")["slor_delta"].isna().all()
    assert any(note.startswith("Left out: starter by fake: no slor of") for note in made.notes)


@pytest.mark.ci
def test_distances_between_the_sides_come_from_the_embedding_model_that_the_study_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    class Letters:
        id = "letters@1"

        def is_too_long(self, texts: Sequence[str]) -> list[bool]:
            return [False] * len(texts)

        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return np.array([[1.0 + text.count(c) for c in "aeiou"] for text in texts], dtype=np.float32)

    def load(name: object, **_options: object) -> Letters:
        asked.append(name)
        return Letters()

    monkeypatch.setattr("pairbank.scoring.minimalness.load_embedder", load)
    study = replace(_study(CorpusChoice(name="starter", limit=1)), minimalness="org/mine")
    folder, _ = run_study(study, [FakeScorer()], tmp_path / "bank")
    assert asked == ["org/mine"]
    items = pd.read_parquet(folder / "data" / "starter" / "items.parquet")
    assert set(items["cosine_distance_model"].dropna()) == {"letters@1"}
    run_study(replace(study, minimalness="default"), [FakeScorer()], tmp_path / "default")
    assert asked[1:] == [None]
    of_languages = {"en": "org/english", "zh": "org/chinese"}
    folder, _ = run_study(replace(study, minimalness=of_languages), [FakeScorer()], tmp_path / "languages")
    assert asked[2:] == ["org/english", "org/chinese"]
    items = pd.read_parquet(folder / "data" / "starter" / "items.parquet")
    assert set(items.dropna(subset="cosine_distance_model")["language"]) == {"en", "zh"}
    shipped = load_study("grammaticality")
    assert isinstance(shipped.minimalness, Mapping)
    assert shipped.minimalness["zh"] == "uer/sbert-base-chinese-nli"
    assert with_minimalness(shipped, "edits").minimalness == "edits"


@pytest.mark.ci
def test_a_text_in_the_data_folder_is_counted_before_corpora_once_a_tokenizer(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "fineweb" / "sample"
    folder.mkdir(parents=True)
    (folder / "b.txt").write_text("A second file.\n", encoding="utf-8")
    (folder / "a.jsonl").write_text(json.dumps({"text": "The sheep sleep."}) + "\n", encoding="utf-8")
    text = UnigramText(folder="fineweb", documents=1)
    study = replace(
        _study(CorpusChoice(name="starter", subset="minimal-pairs", limit=1)),
        methods=("direct", "slor"),
        unigrams_from=("starter",),
        unigram_text=text,
    )
    counted: list[str] = []
    scorers = [FakeScorer(name="a"), FakeScorer(name="b")]

    def on_progress(task: str, model: str) -> Progress:
        counted.append(task)
        return silent(task, model)

    bank, made = run_study(study, scorers, tmp_path / "bank", data_dir=tmp_path / "data", progress=on_progress)
    (own,) = json.loads((bank / "manifest.json").read_text())["scores"]["starter"]["a"]["model"]["unigrams"]
    assert (own["n_documents"], own["n_tokens"], own["source"]["folder"]) == (1, len("The sheep sleep."), "fineweb")
    assert counted.count("counting tokens of fineweb") == 1  # the second model has the same tokenizer
    assert "Unigram counts are of up to 1 documents of fineweb (en)." in made.notes
    _, made = run_study(study, scorers, tmp_path / "other")
    (said,) = (note for note in made.notes if note.startswith("Unigram counts"))
    assert "better sentences of starter" in said
    assert "Files in the folder fineweb of --data-dir would be counted instead" in said


@pytest.mark.ci
def test_a_run_computes_its_report_once_and_draws_and_writes_it_once(tmp_path: Path) -> None:
    from pairbank.stats.report import report as module

    study = replace(_study(CorpusChoice(name="starter", limit=1)), n_resamples=N_RESAMPLES)

    def counted(*models: FakeScorer) -> tuple[dict[str, int], int]:
        """Run the study; return how often each was called, and the number of figures of the report."""
        with contextlib.ExitStack() as stack:
            made = {
                name: stack.enter_context(mock.patch.object(module, name, wraps=getattr(module, name)))
                for name in ("report", "summarise", "overview", "save_figure")
            }
            stack.enter_context(
                mock.patch.object(module, "on_all_cores", lambda work, pieces, **_: list(map(work, pieces)))
            )
            saved = stack.enter_context(mock.patch.object(module.Report, "save", autospec=True, side_effect=save))
            n_figures = len(_run(study, tmp_path, *models).figures)
        return {name: one.call_count for name, one in made.items()} | {"save": saved.call_count}, n_figures

    save = module.Report.save
    calls, n_figures = counted(FakeScorer(name="fake-1"), FakeScorer(name="fake-2"))
    assert n_figures > 1
    assert calls == {"report": 1, "summarise": 2, "overview": 1, "save_figure": n_figures, "save": 1}
    calls, n_figures = counted(FakeScorer(name="fake-3"))
    # the report is of all three; the results of a bank are made from its tables: the two that stay are read again
    assert calls == {"report": 1, "summarise": 5, "overview": 1, "save_figure": n_figures, "save": 1}
    figures = figures_in(tmp_path / "bank")
    assert len(figures) == n_figures
    assert all(caption.endswith(".") for caption in figures.values()), "a caption is a sentence; a name is none"


@pytest.mark.ci
def test_declared_features_of_models_reach_the_analysis_of_introspection(tmp_path: Path) -> None:
    entry: dict[str, str | float] = {"family": "Mine", "generation": "1", "size_billions": 0.1, "type": "base"}
    study = replace(
        _study(CorpusChoice(name="starter", subset="minimal-pairs", language="en")),
        methods=("direct", "meta_question_simple"),
        analyses=("introspection",),
        models=({"name": "one", **entry}, {"name": "two", **entry, "generation": "2"}),
    )
    made = _run(study, tmp_path, FakeScorer(name="one"), FakeScorer(name="two"))
    kinds = {
        kind for table in made.sections[0].tables.values() if "match_type" in table for kind in table["match_type"]
    }
    assert "same family" in kinds
    with pytest.raises(BankError, match="model 'one' is declared twice"):
        _run(replace(study, models=study.models[:1] * 2), tmp_path)
