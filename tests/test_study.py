"""Studies: what ships is sound, mistakes are explained, and a run does what the file says."""

from __future__ import annotations

from pathlib import Path

import pytest

from pairbank.errors import UnknownNameError
from pairbank.scoring.fake import FakeScorer
from pairbank.stats.analyses import analysis_named
from pairbank.study import CorpusChoice, Study, StudyError, load_study, run_study, study_names, with_corpora


def test_shipped_studies_name_corpora_and_methods_that_exist() -> None:
    from pairbank.builders import corpus_named
    from pairbank.scoring.methods import in_order

    for name in study_names():
        study = load_study(name)
        assert [corpus_named(choice.name).name for choice in study.corpora]
        assert in_order(study.methods) == list(study.methods)
        assert all(analysis_named(name) for name in study.analyses)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = 'x'\nmethods = ['direct']\n", r"no \[\[corpora\]\]"),
        ("title = 'x'\nmethods = ['direct']\ncolour = 1\n[[corpora]]\nname = 'li'\n", r"unknown key\(s\) colour"),
        ("title = 'x'\nmethods = ['direct']\n[[corpora]]\nname = 'li'\nsize = 1\n", r"corpora: unknown key\(s\) size"),
        ("methods = ['direct']\n[[corpora]]\nname = 'li'\n", "missing 1 required keyword-only argument: 'title'"),
        ("title = 1\nmethods = ['direct']\n[[corpora]]\nname = 'li'\n", "title is 1; expected a text"),
        (
            "title = 'x'\nmethods = ['direct']\n[[corpora]]\nname = 'li'\nlimit = '5'\n",
            "limit is '5'; expected a",
        ),
        ("title = 'x'\nmethods = ['direct', 3]\n[[corpora]]\nname = 'li'\n", r"expected a list \(each: a text\)"),
        ("title = ", "not TOML"),
    ],
)
def test_a_mistake_in_a_study_is_explained(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "mine.toml").write_text(text)
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
    assert any(note.startswith("Left out: corpus 'ewok'") for note in made.notes)


def test_a_study_without_any_corpus_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="mine: none of its corpora can be had"):
        run_study(
            _study(CorpusChoice(name="ewok", optional=True)), [FakeScorer()], tmp_path / "bank", data_dir=tmp_path
        )


def test_a_study_can_be_run_on_other_corpora_and_says_so() -> None:
    study = with_corpora(_study(CorpusChoice(name="xcomps")), ["starter:concepts", "blimp"])
    assert study.corpora == (CorpusChoice(name="starter", subset="concepts"), CorpusChoice(name="blimp"))
    assert study.notes == ("Run by the user on starter:concepts, blimp instead of xcomps.",)
