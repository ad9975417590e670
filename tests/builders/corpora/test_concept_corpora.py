"""COMPS and XCOMPS on files of their format with sentences of our own; their real files are not at hand."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pairbank
from corpus_files import known_manifest
from pairbank.builders.corpora.concepts import LANGUAGES, derive
from pairbank.builders.languages import typology
from pairbank.errors import CorpusError, CorpusFileNotFoundError


def comps_row(number: int, **changes: object) -> dict[str, Any]:
    return {
        "id": number,
        "property": "grows underground",
        "acceptable_concept": "beetroot",
        "unacceptable_concept": "apricot",
        "prefix_acceptable": "a beetroot",
        "prefix_unacceptable": "an apricot",
        "property_phrase": "grows underground.",
        "negative_sample_type": "taxonomic",
        "similarity": 0.25,
    } | changes


WUGS = {
    "base_id": 7,
    "nonsense_words": ["blick", "dorp"],
    "distraction_type": "before",
    "prefix_acceptable": "A blick is a beetroot. Therefore, a blick",
    "prefix_unacceptable": "A blick is an apricot. Therefore, a blick",
}


def write_comps(folder: Path, **files: list[dict[str, Any]]) -> Path:
    for subset in ("base", "wugs", "wugs_dist-before", "wugs_dist-in-between"):
        rows = files.get(subset.replace("-", "_"), [comps_row(1, **WUGS)])
        (folder / f"comps_{subset}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def write_xcomps(folder: Path, language: str, rows: object) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / f"comps_{language}.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    return folder


def xcomps_row(good: str, bad: str, **more: object) -> dict[str, Any]:
    return {"acceptable_sent": good, "unacceptable_sent": bad, "negative_sample_type": "random", **more}


def test_comps_sentences_are_prefix_and_property_phrase_with_a_capital(tmp_path: Path) -> None:
    items = pairbank.load_corpus("comps", data_dir=write_comps(tmp_path, base=[comps_row(1)]))
    base, wugs = items[0], items[1]
    assert base["item_id"] == "comps/base/1"
    assert (base["target_good"], base["target_bad"]) == (
        "A beetroot grows underground.",
        "An apricot grows underground.",
    )
    assert (base["context_good"], base["context_bad"], base["task"]) == ("", "", "concept_pair")
    assert (base["prefix_good"], base["prefix_bad"]) == ("a beetroot", "an apricot")
    assert (base["property"], base["property_phrase"]) == ("grows underground", "grows underground.")
    assert (base["concept_good"], base["concept_bad"], base["negative_type"]) == ("beetroot", "apricot", "taxonomic")
    assert (base["similarity"], base["base_id"], base["nonsense_words"]) == (0.25, None, None)
    assert base["flags"] == ["repaired:capital"]
    assert wugs["item_id"] == "comps/wugs/1"
    assert wugs["target_good"] == "A blick is a beetroot. Therefore, a blick grows underground."
    assert (wugs["base_id"], wugs["nonsense_words"], wugs["flags"]) == ("7", '["blick", "dorp"]', [])
    manifest = known_manifest(items)
    assert manifest["n_by_subset"] == dict.fromkeys(("base", "wugs", "wugs_dist-before", "wugs_dist-in-between"), 1)
    assert not any(file["verified"] for file in manifest["files"].values())


def test_comps_keeps_the_lower_case_where_no_repair_is_asked_for(tmp_path: Path) -> None:
    folder = write_comps(tmp_path, base=[comps_row(1)])
    (row,) = pairbank.load_corpus("comps", subset="base", data_dir=folder, repair=False)
    assert row["target_good"] == "a beetroot grows underground."
    assert row["flags"] == ["defect:capital"]


def test_one_subset_of_comps_needs_only_its_own_file(tmp_path: Path) -> None:
    write_comps(tmp_path)
    (tmp_path / "comps_base.jsonl").unlink()
    assert len(pairbank.load_corpus("comps", subset="wugs", data_dir=tmp_path)) == 1
    with pytest.raises(CorpusFileNotFoundError, match=r"no file 'comps_base\.jsonl' .*get it from https://"):
        pairbank.load_corpus("comps", data_dir=tmp_path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (json.dumps(comps_row(1, property_phrase="")), r"comps_base\.jsonl, row 1: property_phrase is '', expected"),
        (json.dumps(comps_row(1, acceptable_concept=None)), r"row 1: acceptable_concept is None, expected a text"),
        (json.dumps(comps_row(1, similarity="high")), r"row 1: similarity is 'high', expected a number"),
    ],
)
def test_a_malformed_comps_file_is_one_clear_error(tmp_path: Path, line: str, message: str) -> None:
    write_comps(tmp_path)
    (tmp_path / "comps_base.jsonl").write_text(line)
    with pytest.raises(CorpusError, match=message):
        pairbank.load_corpus("comps", data_dir=tmp_path)


def test_xcomps_takes_concepts_and_property_from_the_file_where_it_has_them(tmp_path: Path) -> None:
    rows = {
        "10": xcomps_row(
            "Rote Bete wächst unter der Erde.",
            "Eine Aprikose wächst unter der Erde.",
            acceptable_concept="Rote Bete",
            unacceptable_concept="Aprikose",
            property="wächst unterirdisch",
        )
    }
    (row,) = pairbank.load_corpus("xcomps", language="de", data_dir=write_xcomps(tmp_path, "de", rows))
    assert (row["item_id"], row["subset"], row["language"]) == ("xcomps/de/10", "de", "de")
    assert row["target_bad"] == "Eine Aprikose wächst unter der Erde."
    assert (row["concept_good"], row["concept_bad"], row["property"]) == (
        "Rote Bete",
        "Aprikose",
        "wächst unterirdisch",
    )
    assert (row["negative_type"], row["flags"]) == ("random", [])


def test_xcomps_derives_what_the_file_lacks_and_says_so(tmp_path: Path) -> None:
    rows = {
        "1": xcomps_row("Remolacha crece bajo tierra.", "Albaricoque crece bajo tierra."),
        "2": xcomps_row(
            "La remolacha es dulce.", "El limón es dulce.", acceptable_concept="remolacha", unacceptable_concept="limón"
        ),
        "3": xcomps_row("Un burro rebuzna.", "Un ganso rebuzna.", property="rebuznar"),
        "4": xcomps_row("Bajo tierra crece la remolacha.", "Bajo tierra crece el albaricoque."),
    }
    items = pairbank.load_corpus("xcomps", subset="es", data_dir=write_xcomps(tmp_path, "es", rows))
    facts = [(row["concept_good"], row["concept_bad"], row["property"]) for row in items]
    assert facts == [
        ("Remolacha", "Albaricoque", "crece bajo tierra"),
        ("remolacha", "limón", "es dulce"),
        ("burro", "ganso", "rebuznar"),
        (None, None, None),
    ]
    derived = ["derived:concepts"]
    assert items["flags"][:] == [derived, derived, [*derived, "stripped:article"], ["no_concepts"]]
    manifest = known_manifest(items)
    assert manifest["n_by_flag"] == {"derived:concepts": 3, "no_concepts": 1, "stripped:article": 1}


@pytest.mark.parametrize(
    ("language", "good", "bad", "concepts"),
    [
        ("de", "Ein Adler fliegt hoch.", "Eine Kuh fliegt hoch.", ("Adler", "Kuh")),
        ("fr", "L'aigle vole haut.", "La vache vole haut.", ("aigle", "vache")),
        ("ca", "Una àguila vola alt.", "La vaca vola alt.", ("àguila", "vaca")),
        ("es", "Un águila vuela alto.", "Una vaca vuela alto.", ("águila", "vaca")),
        ("nl", "Een arend vliegt hoog.", "Een koe vliegt hoog.", ("arend", "koe")),
    ],
)
def test_derived_concepts_are_bare_as_in_the_question(
    tmp_path: Path, language: str, good: str, bad: str, concepts: tuple[str, str]
) -> None:
    folder = write_xcomps(tmp_path, language, {"1": xcomps_row(good, bad)})
    (row,) = pairbank.load_corpus("xcomps", language=language, data_dir=folder)
    assert (row["concept_good"], row["concept_bad"]) == concepts
    assert row["flags"] == ["derived:concepts", "stripped:article"]


@pytest.mark.parametrize(
    ("language", "good", "bad"),
    [
        ("ru", "Орёл летает высоко.", "Корова летает высоко."),
        ("hu", "A sas magasan repül.", "Az egér magasan repül."),
        ("ko", "독수리는 높이 난다.", "소는 높이 난다."),
    ],
)
def test_where_deriving_was_not_checked_concepts_are_not_derived(
    tmp_path: Path, language: str, good: str, bad: str
) -> None:
    folder = write_xcomps(tmp_path, language, {"1": xcomps_row(good, bad)})
    (row,) = pairbank.load_corpus("xcomps", language=language, data_dir=folder)
    assert (row["concept_good"], row["flags"]) == (None, ["no_concepts"])


def test_the_copy_on_the_hub_gives_the_rows_of_the_json_files(tmp_path: Path) -> None:
    rows = {"0": xcomps_row("Un burro rebuzna.", "Un ganso rebuzna."), "1": xcomps_row("Rapa.", "Poma.")}
    first = pairbank.load_corpus("xcomps", subset="es", data_dir=write_xcomps(tmp_path / "json", "es", rows))
    folder = tmp_path / "hub" / "xcomps" / "data"
    folder.mkdir(parents=True)
    pd.DataFrame(list(rows.values())).to_parquet(folder / "comps_es-00000-of-00001.parquet")
    second = pairbank.load_corpus("xcomps", subset="es", data_dir=tmp_path / "hub")
    assert second.to_pandas().equals(first.to_pandas())
    (folder / "comps_es-00000-of-00001.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(CorpusError, match=r"comps_es-00000-of-00001\.parquet: not a readable parquet file"):
        pairbank.load_corpus("xcomps", subset="es", data_dir=tmp_path / "hub")


@pytest.mark.parametrize(
    ("good", "bad", "language"),
    [
        ("甜菜长在地下。", "杏子长在地下。", "zh"),  # no spaces: where a concept ends is a guess
        ("ينمو الشمندر تحت الأرض.", "ينمو المشمش تحت الأرض.", "ar"),  # the shared first word is the verb
        ("Burak rośnie.", "Morela dojrzewa.", "uk"),  # no common end
        ("A very old and large beetroot grows.", "A plum grows.", "nl"),  # longer than a concept
        ("Beetroot grows.", "Beetroot grows.", "nl"),  # no difference
        ("The red beetroot grows.", "The red apricot grows.", "nl"),  # a start of two words
        ("Grows.", "Purple beetroot grows.", "nl"),  # no concept on one side
    ],
)
def test_what_cannot_be_told_from_the_sentences_is_not_guessed(good: str, bad: str, language: str) -> None:
    assert derive(good, bad, language) is None


def test_all_of_xcomps_is_17_languages_with_typology(tmp_path: Path) -> None:
    for language in LANGUAGES:
        write_xcomps(tmp_path, language, {"1": xcomps_row("Rapa bonas.", "Poma bonas.")})
    items = pairbank.load_corpus("xcomps", data_dir=tmp_path)
    assert items["language"][:] == list(LANGUAGES)
    assert typology().keys() == {*LANGUAGES, "en"}
    # He et al. 2025, Figure 4: 2 analytic, 11 inflected, 4 agglutinative languages (without English)
    kinds = [typology()[language].typology for language in LANGUAGES]
    assert [kinds.count(kind) for kind in ("analytic", "inflectional", "agglutinative")] == [2, 11, 4]
    # Figure 1: weakly inflected en ca nl fr fa es, strongly inflected ar de el he ru uk
    groups = [known.group for known in typology().values()]
    assert (groups.count("weakly inflected"), groups.count("strongly inflected")) == (6, 6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"1": {"acceptable_sent": "A', r"comps_ko\.json: not JSON .* download it again"),
        ("[]", r"comps_ko\.json: a list, expected one object, id -> row"),
        ('{"1": "A b."}', r"comps_ko\.json, id '1': a str, expected a row"),
        ('{"1": {"acceptable_sent": "A b."}}', r"id '1': no text under unacceptable_sent, negative_sample_type; found"),
        ('{"1": {}, "1": {}}', r"comps_ko\.json: key '1' occurs twice in one object"),
        ("{}", r"corpus 'xcomps': no rows; expected at least one"),
    ],
)
def test_a_malformed_xcomps_file_is_one_clear_error(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "comps_ko.json").write_text(text)
    with pytest.raises(CorpusError, match=message):
        pairbank.load_corpus("xcomps", language="ko", data_dir=tmp_path)
