"""SIGTERM ends a command as Ctrl+C does, with exit code 143; and what used to end in a traceback is one error."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import pairbank
from pairbank.cards.bank.layout import SUMMARY
from pairbank.cli import app
from pairbank.errors import PairbankError
from pairbank.files import PART, temporary_prefix

STARTED = "started"
SLOW = f"""
import sys, time
import pairbank, pairbank.cli
from pairbank.files import replaced_atomically

def slow(*_arguments, **_options):
    with replaced_atomically(__import__("pathlib").Path(sys.argv[-1])) as temporary:
        temporary.write_text("half")
        print({STARTED!r}, flush=True)
        time.sleep(60)

pairbank.load_model = slow
pairbank.cli.main()
"""


def started(code: str, argv: str, folder: Path) -> subprocess.Popen[str]:
    """Return a process that has come to where it waits."""
    command = [sys.executable, "-c", code, *argv.split()]
    running = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    assert running.stdout.readline().strip() == STARTED
    return running


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    (tmp_path / "own.csv").write_text("good,bad\nThe dog barks.,The dog bark.\n")
    scored = pairbank.score(pairbank.load_corpus(tmp_path / "own.csv"), pairbank.load_model("fake:a"))
    return pairbank.write_bank(tmp_path / "bank", scored=[scored])


def test_a_command_that_is_terminated_says_so_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("good,bad\nThe dog barks.,The dog bark.\n")
    running = started(SLOW, "score own.csv --model gpt2 --out scored.parquet", tmp_path)
    assert len([*tmp_path.iterdir()]) == 2
    running.send_signal(signal.SIGTERM)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 143
    assert "stopped; what was scored is stored: rerun to resume" in errors
    assert "Traceback" not in errors
    assert [path.name for path in tmp_path.iterdir()] == ["own.csv"]


OTHER = f"""
import sys, time
import pairbank, pairbank.cli

def slow(*_arguments, **_options):
    print({STARTED!r}, flush=True)
    time.sleep(60)

pairbank.{{verb}} = slow
pairbank.cli.main()
"""


@pytest.mark.parametrize(
    ("verb", "argv", "number", "code"),
    [
        ("write_site", "site bank --out site", signal.SIGTERM, 143),
        ("check_bank", "check bank", signal.SIGINT, 130),
        ("merge_banks", "merge bank bank --out both", signal.SIGTERM, 143),
    ],
)
def test_a_command_that_stores_nothing_says_in_one_line_that_it_was_stopped(
    verb: str, argv: str, number: signal.Signals, code: int, tmp_path: Path
) -> None:
    running = started(OTHER.format(verb=verb), argv, tmp_path)
    running.send_signal(number)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == code
    assert errors.strip() == "stopped; no file is half written: rerun to do it again"


CALLBACK = f"""
import os, signal, sys, time
import pairbank, pairbank.cli

class Dropped:
    def __del__(self):  # Python ignores what is raised here
        signal.raise_signal({{}})

def slow(*_arguments, **_options):
    Dropped()
    print({STARTED!r}, flush=True)
    time.sleep(60)

pairbank.load_model = slow
pairbank.cli.main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_meets_a_callback_in_which_exceptions_are_dropped_ends_the_command(
    number: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "own.csv").write_text("good,bad\nThe dog barks.,The dog bark.\n")
    code = CALLBACK.format(int(number))
    argv = [sys.executable, "-c", code, "score", "own.csv", "--model", "gpt2", "--out", "scored.parquet"]
    ended = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=50, check=False)
    assert ended.stdout.strip() == STARTED
    assert ended.returncode == 128 + number, ended.stderr
    assert "what was scored is stored" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "ignored" not in ended.stderr


def test_what_a_killed_site_left_is_removed_by_the_next(bank: Path, tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    mine = temporary_prefix(tmp_path / "page")
    killed = mine.replace(f"-{os.getpid()}.", f"-{ended.pid}.")
    for name in (f"{killed}0a_b1c2d{PART}", f"{mine}9a_b1c2d{PART}", ".page.my_notes"):
        (tmp_path / name / "new").mkdir(parents=True)
    pairbank.write_site(bank, tmp_path / "page")
    assert {path.name for path in tmp_path.iterdir() if path.name.startswith(".page")} == {
        f"{mine}9a_b1c2d{PART}",
        ".page.my_notes",
    }


def test_a_name_that_the_terminal_cannot_write_ends_no_command(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("good,bad,phenomenon\nThe dog barks.,The dog bark.,İstanbul\n", encoding="utf-8")
    argv = [sys.executable, "-m", "pairbank", "score", "own.csv", "--model", "fake:a", "--out", "scored.parquet"]
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run([*argv, "--wrong", "3"], cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "scored.parquet").is_file()


@pytest.mark.parametrize("verb", ["strip {0} --out {1}/a", "merge {0} {0} --out {1}/a"])
def test_links_in_a_circle_are_one_error(verb: str, bank: Path, tmp_path: Path) -> None:
    for name, target in (("a", "b"), ("b", "a")):
        (tmp_path / name).symlink_to(tmp_path / target)
    result = CliRunner().invoke(app, verb.format(bank, tmp_path).split())
    assert isinstance(result.exception, PairbankError | OSError), repr(result.exception)


def test_a_site_of_a_bank_whose_summary_is_cut_short_is_one_error(bank: Path, tmp_path: Path) -> None:
    summary = bank / SUMMARY
    summary.write_bytes(summary.read_bytes()[:-9])
    with pytest.raises(PairbankError, match=r"summary\.parquet"):
        pairbank.write_site(bank, tmp_path / "page")
