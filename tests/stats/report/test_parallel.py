"""Pieces of work on all cores: their order, their errors, and the same report from one process and from several."""

from __future__ import annotations

import os
from pathlib import Path

import joblib
import pytest

import pairbank
from pairbank.errors import BankError
from pairbank.scoring.models.fake import FakeScorer
from pairbank.stats.report import parallel
from pairbank.stats.report.parallel import FEWEST, on_all_cores


def test_results_come_in_order_and_from_other_processes_where_that_pays() -> None:
    here = os.getpid()
    many = on_all_cores(lambda piece: (piece, os.getpid()), range(FEWEST + 2))
    assert [piece for piece, _ in many] == list(range(FEWEST + 2))
    assert (here in {process for _, process in many}) == (joblib.cpu_count() == 1)
    few = on_all_cores(lambda piece: (piece, os.getpid()), range(FEWEST - 1))
    assert {process for _, process in few} == {here}


def test_an_error_of_a_piece_is_raised_as_it_is() -> None:
    def work(piece: int) -> int:
        if piece == 7:
            raise BankError(f"piece {piece} is bad")
        return piece

    with pytest.raises(BankError, match="piece 7 is bad"):
        on_all_cores(work, range(FEWEST))


def test_a_report_is_the_same_from_one_process_and_from_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = pairbank.load_corpus("starter", limit=2)
    methods = ["direct", "meta_question_simple"]
    tables = [pairbank.score(items, FakeScorer(name=f"fake-{n}"), methods=methods) for n in range(FEWEST)]
    pages = {}
    for fewest in (FEWEST, 1_000):
        monkeypatch.setattr(parallel, "FEWEST", fewest)
        folder = pairbank.report(tables, n_resamples=20).save(tmp_path / str(fewest))
        pages[fewest] = {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    assert len(pages[FEWEST]) > FEWEST
    assert pages[FEWEST] == pages[1_000]
