"""Mandarin SyntaxGym, on made files of upstream's form: words, conditions, and which words are critical."""

import json
from pathlib import Path

import pytest

import pairbank
from pairbank.builders.corpora.registry import corpus_named
from pairbank.errors import CorpusError
from pairbank.scoring.models.fake import FakeScorer

MADE = {
    "Classifier": ["我 有 一 只 猫 。", "我 有 一 本 猫 。", "我 有 一 本 书 。", "我 有 一 只 书 。"],
    "GP_obj": ["他 看 那 本 姐姐 写 的 书 。", "他 看 那 个 姐姐 写 的 书 。"],
    "GP_sub": ["那 本 我 的 姐姐 写 的 书 很 厚 。", "那 个 我 的 姐姐 写 的 书 很 厚 。"],
    "Missing_Object": ["姐姐 写 了 。", "姐姐 写 了 书 。"],
    "Subordination": ["随着 天 亮 ， 鸟 叫 了 。", "随着 天 亮 。"],
    "Verb_Noun": ["姐姐 写 了 书 。", "姐姐 喝 了 书 。"],
}
"""One item of each folder."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The 28 files, of two items each."""
    for file in corpus_named("syntaxgym-mandarin").source.files:
        path = tmp_path / "syntaxgym-mandarin" / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = MADE[file.name.split("/")[0]]
        others = [line.replace("姐姐", "妹妹").replace("我", "她") for line in lines]
        path.write_text("\n".join([*lines, *others, ""]), encoding="utf-8")
    return tmp_path


def test_sentences_have_no_spaces_and_regions_around_the_critical_words(folder: Path) -> None:
    items = pairbank.load_corpus("syntaxgym-mandarin", data_dir=folder).to_pandas().set_index("item_id")
    regions = {
        "cls_none/1-ungrammatical_1": ["我有一本", "猫。", ""],
        "gpo_adj/1-general_classifier": ["他看那个姐姐", "写", "的书。"],
        "gps_none_pp/2-specific_classifier": ["那本她的妹妹写", "的", "书很厚。"],
        "mobj_sub2/1-ungrammatical": ["姐姐写了", "。", ""],
        "sd_obj/1-grammatical": ["随着天亮，鸟叫了", "。", ""],
        "vo_sub/1-ungrammatical": ["姐姐喝了", "书。", ""],
    }
    for item, expected in regions.items():
        row = items.loc[f"syntaxgym-mandarin/{item}"]
        assert json.loads(row["regions"]) == expected
        assert row["target_good"] == "".join(expected) == row["words"].replace(" ", "")
        assert [row["target_good"][start:end] for start, end in json.loads(row["region_spans"])] == expected
    assert json.loads(items.loc["syntaxgym-mandarin/gpo_adj/1-general_classifier", "formulas"]) == [
        "(2;%general_classifier%) > (2;%specific_classifier%)"
    ]
    assert len(json.loads(items.loc["syntaxgym-mandarin/cls_none/1-ungrammatical_1", "formulas"])) == 4
    assert (items["subset"].nunique(), len(items)) == (28, 4 * 8 + 24 * 4)


@pytest.mark.ci
def test_the_analysis_of_suites_reads_its_predictions_and_draws_suites_with_an_item(
    folder: Path, tmp_path: Path
) -> None:
    items = pairbank.load_corpus("syntaxgym-mandarin", data_dir=folder)
    suites = ("cls_none", "cls_adj")  # of the second, three of four conditions
    places = [place for place, suite in enumerate(items["subset"][:]) if suite in suites][:-5]
    scored = pairbank.score(items.select(places), FakeScorer(), methods=["regions"])
    report = pairbank.report([scored], analyses=["suites"], n_resamples=10)
    [section] = [one for one in report.sections if one.id == "suites"]
    assert section.tables["suites"].set_index("suite")["n"].to_dict() == {"cls_none": 2, "cls_adj": 0}
    comparisons = section.tables["comparisons"]
    assert comparisons[comparisons["suite"] == "cls_none"]["n"].to_list() == [2] * 4
    assert (report.save(tmp_path / "report") / "figures" / "suites_accuracy.png").is_file()


@pytest.mark.parametrize(
    ("file", "lines", "message"),
    [
        ("Classifier/cls_adj_txt.txt", MADE["Classifier"][:3], "3 lines, expected 4 per item"),
        ("GP_sub/gps_sub_txt.txt", ["那 本 书 很 厚 。"] * 2, "row 1: no 的 in "),
        ("GP_obj/gpo_sub_txt.txt", [MADE["GP_obj"][0], "的 书 。"], "row 2: .* is too short for its suite"),
    ],
)
def test_files_of_another_form_are_refused_with_the_row(
    folder: Path, file: str, lines: list[str], message: str
) -> None:
    (folder / "syntaxgym-mandarin" / file).write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=message):
        pairbank.load_corpus("syntaxgym-mandarin", data_dir=folder)
