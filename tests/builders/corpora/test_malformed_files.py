"""Bad files: one clear error that names file, row and remedy; on the command line exit code 1, no traceback."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pairbank
from command_line import completed
from pairbank.cli import main
from pairbank.errors import CorpusError, CorpusFileNotFoundError, UnknownNameError


def blimp_row(number: int, **changes: object) -> dict[str, Any]:
    """Return a row in BLiMP's format, with a sentence of our own."""
    return {
        "sentence_good": f"The {number} gardeners water the roses.",
        "sentence_bad": f"The {number} gardeners waters the roses.",
        "field": "morphology",
        "linguistics_term": "subject_verb_agreement",
        "UID": "regular_plural_subject_verb_agreement_1",
        "simple_LM_method": True,
        "one_prefix_method": True,
        "two_prefix_method": False,
        "lexically_identical": False,
        "one_prefix_prefix": f"The {number} gardeners",
        "one_prefix_word_good": "water",
        "one_prefix_word_bad": "waters",
        "pairID": str(number),
    } | changes


def write_blimp(folder: Path, rows: list[dict[str, Any]]) -> Path:
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    with zipfile.ZipFile(folder / "BLiMP.zip", "w") as archive:
        archive.writestr("data/regular_plural_subject_verb_agreement_1.jsonl", lines)
    return folder


LI_HEADER = (
    "sentence_grammatical,sentence_ungrammatical,phenomenon,paradigm,pair_ID,LS_diff,source,Good ID,Bad ID,"
    "LS_grammatical,LS_ungrammatical,LS_diff\n"
)
LI_ROW = "Ann left.,Ann leaved.,LI-Adger,LI-Adger,{},1.5,Sprouse,32.1.x.1a.g.01,32.1.x.1b.*.01,0.5,-1.0,1.5\n"


def test_unpacked_jsonl_files_give_the_same_rows_as_the_archive(tmp_path: Path) -> None:
    packed = write_blimp(tmp_path, [blimp_row(n) for n in range(3)])
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(packed / "BLiMP.zip") as archive:
        archive.extractall(unpacked)
    a = pairbank.load_corpus("blimp", data_dir=packed)
    b = pairbank.load_corpus("blimp", data_dir=unpacked)
    assert a.to_list() == b.to_list()
    assert b["item_id"][:] == [f"blimp/regular_plural_subject_verb_agreement_1/{n}" for n in range(3)]
    assert (b[0]["one_prefix_word_bad"], b[0]["two_prefix_word"]) == ("waters", None)


def test_all_problems_of_a_corpus_are_reported_at_once(tmp_path: Path) -> None:
    rows = [blimp_row(0), blimp_row(1, sentence_bad=" "), blimp_row(0), blimp_row(2, simple_LM_method="yes")]
    with pytest.raises(CorpusError, match=r"3 problem\(s\) in 4 rows") as caught:
        pairbank.load_corpus("blimp", data_dir=write_blimp(tmp_path, rows))
    message = str(caught.value)
    assert "agreement_1/1: target_bad is ' ', expected a non-empty text" in message
    assert "agreement_1/0: item_id is a repeated id, expected unique ids" in message
    assert "agreement_1/2: simple_LM_method is 'yes', expected a bool" in message


def without(row: dict[str, Any], key: str) -> dict[str, Any]:
    return {k: v for k, v in row.items() if k != key}


def truncated_zip(folder: Path) -> None:
    path = write_blimp(folder, [blimp_row(n) for n in range(50)]) / "BLiMP.zip"
    path.write_bytes(path.read_bytes()[:-200])


def climbing_zip(folder: Path) -> None:
    with zipfile.ZipFile(folder / "BLiMP.zip", "w") as archive:
        archive.writestr("../evil.jsonl", "{}\n")


def cut_json(folder: Path) -> None:
    with zipfile.ZipFile(folder / "BLiMP.zip", "w") as archive:
        archive.writestr("data/x.jsonl", json.dumps(blimp_row(0)) + "\n" + '{"sentence_good": "The')


@pytest.mark.parametrize(
    ("corpus", "make", "message"),
    [
        ("blimp", truncated_zip, r"BLiMP\.zip: not a readable zip archive .*get the file again"),
        ("blimp", climbing_zip, r"member '\.\./evil\.jsonl' points outside the archive"),
        ("blimp", cut_json, r"x\.jsonl, row 1: UID is .* expected the file's name 'x'"),
        (
            "blimp",
            lambda d: write_blimp(d, [blimp_row(0), without(blimp_row(1), "sentence_bad")]),
            r"agreement_1\.jsonl, row 2: missing field\(s\) sentence_bad; found sentence_good",
        ),
        ("blimp", lambda d: write_blimp(d, []), r"corpus 'blimp': no rows; expected at least one"),
        (
            "li",
            lambda d: (d / "LI_Large_pairs.csv").write_text("sentence_grammatical,source\nA.,Sprouse\n"),
            r"LI_Large_pairs\.csv, row 1: missing column\(s\) sentence_ungrammatical.*rename the columns",
        ),
        (
            "li",
            lambda d: (d / "LI_Large_pairs.csv").write_bytes((LI_HEADER + "Caf\xe9.").encode("latin-1")),
            r"row 2: byte b'\\xe9.*' is not UTF-8; save the file as UTF-8",
        ),
        (
            "li",
            lambda d: (d / "LI_Large_pairs.csv").write_text(LI_HEADER + LI_ROW.format(0) + "Ann left.,Ann\n"),
            r"row 3: 2 cells, expected 12 as in the header",
        ),
        (
            "li",
            lambda d: (d / "LI_Large_pairs.csv").write_text(LI_HEADER + LI_ROW.format(0).replace("0.5", "high")),
            r"row 2: rating 'high' is not a number",
        ),
        (
            "li",
            lambda d: (d / "LI_Large_pairs.csv").write_text(LI_HEADER + LI_ROW.format(0) + LI_ROW.format(0)),
            r"li/sprouse-2013/0: item_id is a repeated id",
        ),
        ("li", lambda _d: None, r"no file 'LI_Large_pairs\.csv' in .*; get it from https://"),
    ],
)
def test_a_malformed_upstream_file_is_one_clear_error(
    tmp_path: Path, corpus: str, make: Callable[[Path], object], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make(tmp_path)
    with pytest.raises((CorpusError, CorpusFileNotFoundError), match=message):
        pairbank.load_corpus(corpus, data_dir=tmp_path)
    assert run_cli(["build", corpus, "--data-dir", str(tmp_path), "--out", str(tmp_path / "x.parquet")]) == 1
    assert "Traceback" not in capsys.readouterr().err


def test_misspelt_names_come_with_the_nearest_ones() -> None:
    with pytest.raises(UnknownNameError, match="no corpus 'blmip'; did you mean 'blimp'"):
        pairbank.load_corpus("blmip")
    with pytest.raises(UnknownNameError, match="no subset of blimp 'passive_3'; did you mean 'passive_"):
        pairbank.load_corpus("blimp", subset="passive_3")


def test_the_command_line_shows_help_with_an_example_for_every_command() -> None:
    for command in ("corpora", "build", "score", "report", "bank", "run"):
        shown = completed([command, "--help"])
        assert f"Example: pairbank {command}" in shown.output


def run_cli(arguments: list[str]) -> int:
    import sys
    from unittest import mock

    with mock.patch.object(sys, "argv", ["pairbank", *arguments]), pytest.raises(SystemExit) as caught:
        main()
    code = caught.value.code
    assert isinstance(code, int)
    return code
