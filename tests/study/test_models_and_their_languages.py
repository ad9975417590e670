"""Model lists that say what a model is scored on: English models stay out of Chinese corpora."""

from pathlib import Path

import pandas as pd
import pytest

import pairbank
from command_line import completed
from pairbank.errors import StudyError, UnknownNameError
from pairbank.study.declaration import CorpusChoice, Study
from pairbank.study.model_list import ModelChoice, load_list, shipped_list
from pairbank.study.preflight import planned, scored_by

STUDY = """
title = "Two languages"
methods = ["direct", "meta_question_simple"]
analyses = ["agreement_summary"]
n_resamples = 20
[[corpora]]
name = "{english}"
[[corpora]]
name = "{chinese}"
"""


def _written(folder: Path) -> dict[str, Path]:
    """Return a corpus of English pairs with ratings, one of Chinese pairs without, a study of both and a list."""
    pairs = {
        "english": [(f"The {n} cats sleep here.", f"The {n} cats sleeps here.", "en") for n in range(6)],
        "chinese": [(f"他们来了{n}次。", f"来他们了{n}次。", "zh-Hans") for n in range(6)],
    }
    paths = {}
    for name, rows in pairs.items():
        frame = pd.DataFrame(rows, columns=["sentence_good", "sentence_bad", "language"])
        if name == "english":
            frame = frame.assign(human_good=[6.0, 5.5, 6.5, 5.0, 6.2, 5.8], human_bad=2.0, human_scale="likert7")
        paths[name] = folder / f"{name}.csv"
        frame.to_csv(paths[name], index=False)
    paths["study"] = folder / "mine.toml"
    paths["study"].write_text(STUDY.format(**paths), encoding="utf-8")
    paths["list"] = folder / "list.toml"
    scopes = {"one": 'languages = ["en"]', "two": 'languages = ["zh"]', "three": "", "four": 'corpora = ["english"]'}
    text = "\n".join(f'[[models]]\nid = "fake:{name}"\n{scope}' for name, scope in scopes.items())
    paths["list"].write_text(text, encoding="utf-8")
    return paths


@pytest.mark.ci
def test_models_are_scored_on_what_their_list_says(tmp_path: Path) -> None:
    paths = _written(tmp_path)
    arguments = ["run", str(paths["study"]), "--models", str(paths["list"]), "--out", str(tmp_path / "bank")]
    dry = completed([*arguments, "--dry-run"])
    assert "at most 48 scores" in dry.output  # 6 items; 3 models by 2 English methods, 2 by 1 Chinese
    completed(arguments)
    manifest = pairbank.check_bank(tmp_path / "bank")
    scored = {corpus: sorted(models) for corpus, models in manifest["scores"].items()}
    assert scored == {"english": ["four", "one", "three"], "chinese": ["three", "two"]}
    page = (tmp_path / "bank" / "reports" / "mine" / "report.md").read_text(encoding="utf-8")
    assert "Not scored by one, four: chinese; the model list leaves them out." in page
    assert "Not scored by two: english;" in page
    assert "Failed" not in page


def test_hu_2026_keeps_each_model_to_its_language_and_begins_chinese_texts_with_cls() -> None:
    # Hu et al. 2026, Table 1b: GPT-2 and Llama-3-70B on English, GPT-2 ZH and Llama-3-8B ZH on Chinese corpora
    choices = {choice.name: choice for choice in shipped_list("hu-2026").choices}
    assert {name: one.languages for name, one in choices.items()} == {
        "GPT-2": ("en",),
        "Llama-3-70B": ("en",),
        "GPT-2 ZH": ("zh",),
        "Llama-3-8B ZH": ("zh",),
    }
    assert [name for name, one in choices.items() if one.options.get("bos") == "cls"] == ["GPT-2 ZH"]
    assert [name for name, one in choices.items() if one.is_for("sling", ["zh"])] == ["GPT-2 ZH", "Llama-3-8B ZH"]
    assert [name for name, one in choices.items() if one.is_for("blimp", ["en"])] == ["GPT-2", "Llama-3-70B"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('languages = "en"', r"languages is 'en'; expected a list"),
        ('languages = ["german"]', r"languages: no language tag 'german'; did you mean 'de'"),
        ("corpora = [3]", r"corpora\.0 is 3; expected a text"),
    ],
)
def test_a_mistaken_scope_is_explained(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "list.toml"
    path.write_text(f'[[models]]\nid = "fake:one"\n{line}', encoding="utf-8")
    with pytest.raises(StudyError, match=message):
        load_list(str(path))


def test_a_list_that_leaves_out_everything_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    choice = CorpusChoice(name="starter", subset="minimal-pairs", limit=1)
    study = Study(name="mine", title="Mine", corpora=(choice,), methods=("direct",))
    german = ModelChoice(id="fake:one", languages=("de",))
    with pytest.raises(StudyError, match=r"its corpora \(starter\) are none that the model list names"):
        planned(study, [german], tmp_path / "bank")
    with pytest.raises(UnknownNameError, match="'startr'; did you mean 'starter'"):
        planned(study, [ModelChoice(id="fake:one", corpora=("startr",))], tmp_path / "bank")
    plan = planned(study, [german, ModelChoice(id="fake:two", corpora=("starter", "cola"))], tmp_path / "bank")
    assert [len(scored_by(model, plan.corpora)) for model in plan.models] == [0, 1]
