"""Writers of banks: killed at any step, disturbed, or many at once; nothing is lost and every rerun is accepted."""

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import pairbank
from bank_fixtures import Score
from pairbank.cards.bank import lock, writing
from pairbank.cards.bank.lock import LOCK, locked
from pairbank.errors import BankError
from pairbank.files import host


def contents(bank: Path) -> dict[str, bytes]:
    return {p.relative_to(bank).as_posix(): p.read_bytes() for p in sorted(bank.rglob("*")) if p.is_file()}


class Killed(BaseException):
    """Ends a writer where it is, as a kill would: nothing tidies up behind it."""


def test_a_writer_killed_while_files_are_moved_is_completed_by_the_next(
    tmp_path: Path, scored_by: Score, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = scored_by("fake-1", methods=("direct",))
    whole = contents(pairbank.write_bank(tmp_path / "whole", scored=[table]))
    real = Path.replace
    n_moves = len(whole)
    for n_before in range(n_moves):
        left = [n_before]

        def moved(self: Path, target: Path, left: list[int] = left) -> Path:
            if writing.WRITING in self.parts and "new" in self.parts and writing.WRITING not in Path(target).parts:
                left[0] -= 1
                if left[0] < 0:
                    raise Killed
            return real(self, target)

        bank = tmp_path / f"bank-{n_before}"
        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", moved)
            with pytest.raises(Killed):
                pairbank.write_bank(bank, scored=[table])
        with pytest.raises(BankError, match="a change of this bank was cut off"):
            pairbank.check_bank(bank)
        pairbank.write_bank(bank, scored=[table])
        assert contents(bank) == whole


def test_a_change_that_was_cut_off_and_whose_manifest_is_none_removes_no_file(tmp_path: Path, scored_by: Score) -> None:
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored_by("fake-1", methods=("direct",))])
    (bank / writing.WRITING / "new").mkdir(parents=True)
    (bank / writing.WRITING / "whole").touch()
    (bank / writing.WRITING / "new" / "manifest.json").write_text('{"files": {}}')
    before = contents(bank)
    with pytest.raises(BankError, match="lacks corpora or scores"):
        pairbank.write_bank(bank, title="Another")
    assert contents(bank) == before


def test_the_lock_of_a_process_that_ended_is_taken_over_and_stated(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
    dead = {"host": host(), "pid": pid, "since": "2026-01-01", "token": "x"}
    (tmp_path / LOCK).write_text(json.dumps(dead))
    with locked(tmp_path):
        assert f"taking over the lock of process {pid}" in caplog.text
    assert not (tmp_path / LOCK).exists()


def test_a_live_lock_of_another_machine_is_waited_for_and_its_holder_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "PATIENCE_SECONDS", 0.2)
    there = {"host": "node17 pid:[1]", "pid": 4, "since": "2026-01-01", "token": "x"}
    (tmp_path / LOCK).write_text(json.dumps(there))
    with pytest.raises(BankError, match="process 4 on node17, since 2026-01-01 has been writing"), locked(tmp_path):
        pass
    assert (tmp_path / LOCK).exists()


def test_who_lost_the_lock_writes_nothing(tmp_path: Path) -> None:
    with locked(tmp_path) as check:
        check()
        (tmp_path / LOCK).write_text("{}")
        with pytest.raises(BankError, match="was taken over"):
            check()


def test_a_check_waits_for_the_writer_and_finds_the_bank_whole(tmp_path: Path, scored_by: Score) -> None:
    bank = pairbank.write_bank(tmp_path / "bank", scored=[scored_by("fake-1", methods=("direct",))])
    card, aside = bank / "README.md", tmp_path / "aside"
    with ThreadPoolExecutor() as pool:
        with locked(bank):
            card.rename(aside)  # between two files of a change
            checked = pool.submit(pairbank.check_bank, bank)
            time.sleep(0.3)
            assert not checked.done()
            aside.rename(card)
        assert checked.result(timeout=60)["scores"].keys() == {"starter"}
    assert not (bank / LOCK).exists()
