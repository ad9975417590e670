"""Pieces of work on all cores: their order, their errors, and the same report from one process and from several."""

import os
import time
from pathlib import Path

import joblib
import pytest

import pairbank
from pairbank.errors import BankError
from pairbank.scoring.models.fake import FakeScorer
from pairbank.stats.report import summary as parallel
from pairbank.stats.report.summary import on_all_cores

N_PIECES = 12


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "2")


def test_results_come_in_order_and_from_other_processes_where_that_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    here = os.getpid()

    def slow(piece: int) -> tuple[int, int]:
        time.sleep(0.02)
        return piece, os.getpid()

    few = on_all_cores(slow, range(N_PIECES))
    assert few == [(piece, here) for piece in range(N_PIECES)]
    monkeypatch.setattr(parallel, "WORTH_SECONDS", 0.1)  # ten pieces are left when the pace is known: .2 s
    many = on_all_cores(slow, range(N_PIECES))
    assert [piece for piece, _ in many] == list(range(N_PIECES))
    assert [process for _, process in many[:2]] == [here, here]
    assert (here in {process for _, process in many[2:]}) == (joblib.cpu_count() == 1)


@pytest.mark.parametrize("worth", [0.0, 1e9])
def test_an_error_of_a_piece_is_raised_as_it_is(worth: float, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(piece: int) -> int:
        if piece == 7:
            raise BankError(f"piece {piece} is bad")
        return piece

    monkeypatch.setattr(parallel, "WORTH_SECONDS", worth)
    with pytest.raises(BankError, match="piece 7 is bad"):
        on_all_cores(work, range(N_PIECES))


@pytest.mark.ci
def test_a_report_is_the_same_from_one_process_and_from_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=1)
    methods = ["direct", "meta_question_simple"]
    tables = [pairbank.score(items, FakeScorer(name=f"fake-{n}"), methods=methods) for n in range(N_PIECES)]
    pages = {}
    for worth in (0.0, 1e9):
        monkeypatch.setattr(parallel, "WORTH_SECONDS", worth)
        folder = pairbank.report(tables, n_resamples=20).save(tmp_path / str(worth))
        pages[worth] = {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    assert len(pages[0.0]) > N_PIECES
    assert pages[0.0] == pages[1e9]
