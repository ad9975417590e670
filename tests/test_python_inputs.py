"""What a notebook has at hand is taken as it is; what cannot be taken is an error that says what was expected."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import datasets
import pandas as pd
import polars as pl
import pytest

import pairbank
from pairbank.errors import PairbankError

PAIRS = [("The keys are here.", "The keys is here."), ("The dogs bark.", "The dogs barks.")]
FRAME = pd.DataFrame(PAIRS, columns=["good", "bad"])


def csv_of(folder: Path) -> Path:
    FRAME.to_csv(folder / "items.csv", index=False)
    return folder / "items.csv"


@pytest.mark.parametrize(
    "rows",
    [
        FRAME,
        FRAME.set_index(pd.Index([5, 9])),
        pl.from_pandas(FRAME),
        datasets.Dataset.from_pandas(FRAME),
        PAIRS,
        FRAME.to_dict("records"),
        FRAME.to_dict("list"),
        FRAME.to_numpy(),
        zip(*zip(*PAIRS, strict=True), strict=True),
        csv_of,
    ],
    ids=("frame", "indexed", "polars", "dataset", "pairs", "dicts", "columns", "array", "zip", "file"),
)
def test_items_at_hand_are_scored_as_their_file_is(rows: Any, tmp_path: Path) -> None:  # noqa: ANN401
    scored = pairbank.score(rows(tmp_path) if callable(rows) else rows, "fake:a", methods="direct")
    expected = pairbank.score(pairbank.load_corpus(csv_of(tmp_path)), pairbank.load_model("fake:a"))
    assert scored["item_id"] == expected["item_id"]
    assert scored["direct_delta"] == expected["direct_delta"]
    assert scored.corpus == "items"


def test_columns_of_a_frame_and_a_named_index_are_kept_and_the_same_rows_are_the_same_corpus() -> None:
    frame = FRAME.assign(region=["x", "y"]).set_index(pd.Index(["p", "q"], name="speaker"))
    items = pairbank.load_corpus(frame, corpus="mine", language="de")
    assert (items["region"][:], items["speaker"][:], items["language"][0]) == (["x", "y"], ["p", "q"], "de")
    assert pairbank.load_corpus(frame, corpus="mine")["item_id"][:] == items["item_id"][:]


def test_one_table_a_file_and_one_report_are_taken_for_lists_of_one(tmp_path: Path) -> None:
    scored = pairbank.score(FRAME, "fake:a")
    path = scored.save(tmp_path / "a.parquet")
    reports = [pairbank.report(given) for given in (scored, str(path), {"a": scored})]
    for report in reports[1:]:
        pd.testing.assert_frame_equal(report.summary, reports[0].summary)
    banks = [
        pairbank.write_bank(tmp_path / name, scored=given, reports=made, authors=authors)
        for name, given, made, authors in (
            ("one", scored, reports[0], "Ada Lovelace"),
            ("list", [path], {"report": reports[0]}, ["Ada Lovelace"]),
        )
    ]
    manifests = [json.loads((bank / "manifest.json").read_text()) for bank in banks]
    assert manifests[0]["scores"] == manifests[1]["scores"]
    assert [manifest["authors"] for manifest in manifests] == [["Ada Lovelace"]] * 2
    assert all((bank / "reports/report/report.md").is_file() for bank in banks)
    assert (pairbank.write_bank(tmp_path / "three", corpora="starter") / "data" / "starter").is_dir()
    assert scored.plot().axes[0].get_yticklabels()
    assert len(repr(reports[0].figures)) < 1_000


class Sequential:
    """A model as another library has it."""


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pairbank.load_corpus(3), r"expected a corpus's name, a path, a DataFrame.*got int: 3"),  # type: ignore[arg-type]
        (lambda: pairbank.load_corpus([]), "got an empty list"),
        (lambda: pairbank.load_corpus([("a", "b", "c")]), r"got a list with \('a', 'b', 'c'\)"),
        (lambda: pairbank.load_corpus(["A b."]), r"got a list with 'A b.'; for single .* pairbank.words\(sentences"),
        (lambda: pairbank.load_corpus(pd.DataFrame({"good": ["a", 3], "bad": ["b", "c"]})), "a column cannot be sto"),
        (
            lambda: pairbank.load_corpus(pd.DataFrame({"good": [None, "a"], "bad": "b"})),
            "row 1: column 'good' is empty",
        ),
        (lambda: pairbank.score(FRAME, "../no/model"), "no folder ../no/model"),
        (lambda: pairbank.score(FRAME, Sequential()), "got Sequential: pairbank.load_model.FOLDER"),  # type: ignore[arg-type]
        (lambda: pairbank.report(FRAME), r"got DataFrame: scored = pairbank.score\(items, model\)"),  # type: ignore[arg-type]
        (lambda: pairbank.report(["items.csv"]), "items.csv"),
        (lambda: pairbank.report(None), r"got NoneType: scored = pairbank.score\(items, model\)"),  # type: ignore[arg-type]
        (lambda: pairbank.report(str(Path(__file__).parent)), "it is a folder: give its .parquet files"),
        (
            lambda: pairbank.load_corpus(datasets.DatasetDict(train=datasets.Dataset.from_pandas(FRAME))),
            r"got a DatasetDict of splits: choose one, as in items\['train'\]",
        ),
        (lambda: pairbank.write_bank(FRAME), r"folder first, got DataFrame: write_bank\(FOLDER, scored="),  # type: ignore[arg-type]
        (lambda: pairbank.words([], "fake:a"), "list of texts; got an empty list"),
        (lambda: pairbank.write_bank("bank", scored=FRAME), r"got DataFrame: scored = pairbank.score"),  # type: ignore[arg-type]
        (lambda: pairbank.write_bank("bank", reports=["x"]), 'reports: .* {"mine": pairbank.report'),  # type: ignore[arg-type]
        (lambda: pairbank.words(FRAME, "fake:a"), r"got DataFrame: words\(list\(frame\['sentence'\]\), model\)"),  # type: ignore[arg-type]
        (lambda: pairbank.words([Path("a.txt")], "fake:a"), "list of texts; got PosixPath"),  # type: ignore[list-item]
        (lambda: pairbank.words("A b.", Sequential()), "got Sequential"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_taken_is_an_error_that_says_what_was_expected(call: Callable[[], object], message: str) -> None:
    with pytest.raises(PairbankError, match=message):
        call()


def test_a_notebook_has_a_bar_and_a_script_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pairbank.score(FRAME, "fake:script")
    assert "scoring with" not in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    pairbank.score(FRAME, "fake:notebook")
    assert "scoring with notebook: 100%" in capsys.readouterr().err


def test_every_public_name_has_an_example() -> None:
    without = [name for name in pairbank.__all__ if ">>> " not in (getattr(pairbank, name).__doc__ or "")]
    assert without == []
