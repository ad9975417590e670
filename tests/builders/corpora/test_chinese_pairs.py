"""ZhoBLiMP, SLING and HLL: Chinese pairs, in the upstream formats with sentences of our own."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pairbank
from corpus_files import json_lines, known_manifest, table, write_tar, write_tree
from pairbank.errors import CorpusError, CorpusFileNotFoundError, ScoringError
from pairbank.scoring.minimalness import add_minimalness


def zho(uid: str, n: int, **changes: object) -> dict[str, Any]:
    return {
        "UID": uid,
        "phenomenon": "question",
        "sentence_good": f"张老师买了{n}本书吗？",
        "sentence_bad": f"张老师吗买了{n}本书？",
        "pairID": n,
    } | changes


def sling(paradigm: str, n: int, **changes: object) -> dict[str, Any]:
    return {
        "sentence_good": f"他们种了{n}棵树。",
        "sentence_bad": f"他们种{n}了棵树。",
        "phenomenon": "Anaphor",
        "paradigm": paradigm,
        "pair_ID": n,
        "field": "syntax",
    } | changes


ZHO = {
    "ZhoBLiMP/ellipsis_adj.jsonl": json_lines(zho("ellipsis_adj", n, phenomenon="ellipsis") for n in range(2)),
    "ZhoBLiMP/BA_meiba.jsonl": json_lines(zho("BA_meiba", n + 5) for n in range(2)),
}
HUMAN = table(
    ("UID", "correct", "total", "acc", "phenomenon"),
    [("BA_meiba", 21, 22, 21 / 22, "BA"), ("left_out", 14, 28, 0.5, "")],
)
SLING = {
    "SLING_Data/Anaphor/Plural/menself_male.jsonl": json_lines(sling("Plural", n) for n in range(2)),
    "SLING_Data/Anaphor/pp_male.jsonl": json_lines(sling("pp_male", n + 5) for n in range(2)),
    "SLING_Data/Anaphor/reflexive_auto/animacy.jsonl": json_lines([{"Phenomenon": "Anaphor", "pair_ID": "0"}]),
    "SLING_Data/Aspect/zai_le.jsonl": json_lines([sling("zai_le", 9, sentence_bad="他们种了9棵树。")]),
}
HLL_HEADER = ("group", "sentence", "acceptable", "rating", "id", "n")
HLL = [
    ("ch1-4", "他来了。", 1, 1.1, "g1", 148),
    ("ch1-4", "她来了。", 1, 0.9, "g2", 147),
    ("ch1-4", "他来过。", 0, -0.8, "u1", 148),
    ("ch1-4", "他来。", 0, "", "u2", 148),
    ("ch2-1", "甲乙丙丁。", 1, 1.2, "g3", 148),
    ("ch2-1", "一二三四。", 0, -1.2, "u3", 148),
    ("ch2-2", "只有一句。", 1, 1.0, "g4", 148),
]


@pytest.mark.parametrize("packed", [True, False])
def test_zhoblimp_files_are_paradigms_and_human_counts_are_facts(tmp_path: Path, packed: bool) -> None:
    if packed:
        write_tar(tmp_path / "ZhoBLiMP.tar.gz", ZHO)
    else:
        write_tree(tmp_path, ZHO)
    (tmp_path / "human_validation_result.csv").write_text(HUMAN)
    items = pairbank.load_corpus("zhoblimp", data_dir=tmp_path)
    assert items["item_id"][:] == [
        f"zhoblimp/{name}" for name in ("BA_meiba/5", "BA_meiba/6", "ellipsis_adj/0", "ellipsis_adj/1")
    ]
    assert set(items["language"][:]) == {"zh"}
    assert items["human_good"][:] == [None] * 4
    manifest = known_manifest(items)
    assert manifest["facts"] == {
        "human_forced_choice_by_paradigm": {"BA_meiba": {"n_correct": 21, "n_judgments": 22}},
        "human_forced_choice_of_excluded": {"left_out": {"n_correct": 14, "n_judgments": 28}},
    }
    assert pairbank.load_corpus("zhoblimp", data_dir=tmp_path, subset="ellipsis_adj")["pair_id"][:] == ["0", "1"]


def test_zhoblimp_can_be_built_without_the_human_counts(tmp_path: Path) -> None:
    write_tar(tmp_path / "ZhoBLiMP.tar.gz", ZHO)
    manifest = known_manifest(pairbank.load_corpus("zhoblimp", data_dir=tmp_path))
    assert manifest["facts"] == {}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"ZhoBLiMP/BA_meiba.jsonl": json_lines([zho("BA_other", 0)])}, r"BA_meiba\.jsonl, row 1: UID is 'BA_other'"),
        ({"ZhoBLiMP/my_own.jsonl": json_lines([zho("my_own", 0)])}, r"my_own\.jsonl, row 1: .*take away other files"),
    ],
)
def test_a_malformed_zhoblimp_file_is_one_clear_error(tmp_path: Path, changed: dict[str, str], message: str) -> None:
    write_tar(tmp_path / "ZhoBLiMP.tar.gz", ZHO | changed)
    with pytest.raises(CorpusError, match=message):
        pairbank.load_corpus("zhoblimp", data_dir=tmp_path)


def test_malformed_human_counts_are_one_clear_error(tmp_path: Path) -> None:
    write_tar(tmp_path / "ZhoBLiMP.tar.gz", ZHO)
    (tmp_path / "human_validation_result.csv").write_text("UID,correct,total\nBA_meiba,most,22\n")
    with pytest.raises(CorpusError, match=r"result\.csv, row 2: 'most' of '22', expected two whole numbers"):
        pairbank.load_corpus("zhoblimp", data_dir=tmp_path)


@pytest.mark.parametrize("packed", [True, False])
def test_sling_files_are_paradigms_and_the_later_addition_is_left_alone(tmp_path: Path, packed: bool) -> None:
    if packed:
        write_tar(tmp_path / "SLING_Data.tar.gz", SLING)
    else:
        write_tree(tmp_path, SLING)
    items = pairbank.load_corpus("sling", data_dir=tmp_path)
    assert items["item_id"][:] == [
        f"sling/{name}" for name in ("menself_male/0", "menself_male/1", "pp_male/5", "pp_male/6", "zai_le/9")
    ]
    assert items["paradigm"][:] == ["menself_male", "menself_male", "pp_male", "pp_male", "zai_le"]
    assert items["paradigm_source"][:] == ["Plural", "Plural", None, None, None]
    assert items["flags"][:] == [["repaired:paradigm_name"]] * 2 + [[], [], ["identical_sides"]]
    manifest = known_manifest(items)
    assert (manifest["n_rows"], manifest["n_usable"]) == (5, 4)
    as_is = pairbank.load_corpus("sling", data_dir=tmp_path, repair=False)
    assert as_is["paradigm"][:3] == ["Plural", "Plural", "pp_male"]
    assert as_is["flags"][:4] == [[], [], [], []]


def test_a_malformed_sling_file_is_one_clear_error(tmp_path: Path) -> None:
    changed = {"SLING_Data/Anaphor/pp_male.jsonl": json_lines([sling("zai_guo", 0)])}
    write_tar(tmp_path / "SLING_Data.tar.gz", SLING | changed)
    with pytest.raises(CorpusError, match=r"pp_male\.jsonl, row 1: paradigm is 'zai_guo', expected the file's name"):
        pairbank.load_corpus("sling", data_dir=tmp_path)


def test_hll_pairs_all_better_with_all_worse_sentences_of_a_group(tmp_path: Path) -> None:
    (tmp_path / "hll.csv").write_text(table(HLL_HEADER, HLL), encoding="utf-8")
    items = pairbank.load_corpus("hll", data_dir=tmp_path)
    assert items["pair_id"][:] == ["g1-u1", "g1-u2", "g2-u1", "g2-u2", "g3-u3"]
    assert items["human_good"][:] == pytest.approx([1.1, 1.1, 0.9, 0.9, 1.2])
    assert items[0]["human_bad"] == pytest.approx(-0.8)
    assert items["human_n"][:] == [148, 148, 147, 147, 148]
    # By hand: one character replaced or left out (1, 1), the first one replaced as well (2, 2), four replaced (4).
    # Their 75th percentile is the fourth smallest, 2; the rule keeps what is below it.
    assert items["edit_distance"][:] == [1, 1, 2, 2, 4]
    assert [("edit_distance_from_q75" in flags) for flags in items["flags"][:]] == [False, False, True, True, True]
    assert [("no_human_rating" in flags) for flags in items["flags"][:]] == [False, True, False, True, False]


def test_hll_needs_no_optional_columns(tmp_path: Path) -> None:
    (tmp_path / "hll.csv").write_text(table(HLL_HEADER[:4], [row[:4] for row in HLL]), encoding="utf-8")
    items = pairbank.load_corpus("hll", data_dir=tmp_path)
    assert items["pair_id"][:] == ["1-3", "1-4", "2-3", "2-4", "5-6"]
    assert items["human_n"][:] == [None] * 5


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", "好。", "*", 1.0)], r"hll\.csv, row 2: group is 'a' and acceptable '\*'; expected .* 1 or 0"),
        ([("a", "好。", 1, 1.0), ("b", "好不。", 0, 1.0)], r"hll\.csv: no group has both an acceptable and an unacc"),
    ],
)
def test_a_malformed_hll_file_is_one_clear_error(tmp_path: Path, rows: list[tuple[object, ...]], message: str) -> None:
    (tmp_path / "hll.csv").write_text(table(HLL_HEADER[:4], rows), encoding="utf-8")
    with pytest.raises(CorpusError, match=message):
        pairbank.load_corpus("hll", data_dir=tmp_path)


def test_hll_says_what_file_is_expected(tmp_path: Path) -> None:
    with pytest.raises(CorpusFileNotFoundError, match=r"columns group, sentence, acceptable .*name it 'hll\.csv'"):
        pairbank.load_corpus("hll")
    with pytest.raises(CorpusFileNotFoundError, match=r"no file 'hll\.csv' in .*10\.1007/s10831-020-09210-y"):
        pairbank.load_corpus("hll", data_dir=tmp_path)


def test_pairs_that_bring_their_edit_distance_get_their_cosine_distance_too(tmp_path: Path) -> None:
    class Letters:
        id = "letters@1"

        def is_too_long(self, texts: Sequence[str]) -> list[bool]:
            return [False] * len(texts)

        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return np.array([[1.0, len(text), sum(map(ord, text)) % 101] for text in texts], dtype=np.float32)

    (tmp_path / "hll.csv").write_text(table(HLL_HEADER, HLL))
    items = pairbank.load_corpus("hll", data_dir=tmp_path)
    made = add_minimalness(items, Letters())
    assert made["edit_distance"][:] == items["edit_distance"][:]
    differ = [good != bad for good, bad in zip(items["target_good"][:], items["target_bad"][:], strict=True)]
    assert any(differ)
    assert [distance > 0 for distance in made["cosine_distance"][:]] == differ
    others = items.remove_columns("edit_distance").add_column("edit_distance", [99] * len(items))
    with pytest.raises(ScoringError, match="already have the column 'edit_distance'"):
        add_minimalness(others, Letters())
