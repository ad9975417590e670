"""Places that cannot be written to: full, taken by something else, a device; and what killed writers leave there."""

import contextlib
import errno
import gc
import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import pairbank
from bank_fixtures import Score
from pairbank import cli, files
from pairbank.cards.export.folders import export_for_r
from pairbank.errors import BankError, OutputError, PairbankError
from pairbank.files import replaced_atomically, write_text
from pairbank.scoring.scored import Scored

REMEDY = "run it again"


@pytest.fixture
def table(scored_by: Score) -> Scored:
    return scored_by("fake-1", limit=3, methods=("direct",))


@contextlib.contextmanager
def room_for(n_bytes: int) -> Iterator[None]:
    """Let no file grow beyond so many bytes, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def little_room(table: Scored) -> Iterator[None]:
    assert len(table)  # it is made before
    with room_for(1_000):
        yield


def all_of(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


@pytest.mark.usefixtures("little_room")
def test_a_full_disk_is_one_error_with_the_path_and_the_remedy_and_leaves_nothing(
    tmp_path: Path, table: Scored, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = pairbank.report([table])
    writes: list[Callable[[], object]] = [
        lambda: table.save(tmp_path / "scored.parquet"),
        lambda: made.save(tmp_path / "report"),
        lambda: pairbank.write_bank(tmp_path / "bank", scored=[table]),
        lambda: export_for_r([table], [], tmp_path / "r"),
        lambda: pairbank.export_results([table], tmp_path / "eee", organisation="us"),
    ]
    for write in writes:
        with pytest.raises(PairbankError, match=rf"{tmp_path}.*(File too large|larger files).*{REMEDY}"):
            write()
    assert all_of(tmp_path) == []
    monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / "cache"))
    with pytest.raises(PairbankError, match=rf"{tmp_path}.*{REMEDY}"):
        pairbank.load_corpus("starter", limit=1)


@pytest.mark.usefixtures("little_room")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # XlsxWriter leaves its own file open
def test_a_full_disk_is_the_same_error_for_a_workbook(tmp_path: Path, table: Scored) -> None:
    with pytest.raises(PairbankError, match=rf"{tmp_path}.*(File too large|larger files).*{REMEDY}"):
        table.save(tmp_path / "scored.xlsx")
    gc.collect()
    assert all_of(tmp_path) == []


def test_a_full_disk_leaves_an_old_bank_as_it_was(tmp_path: Path, scored_by: Score, table: Scored) -> None:
    bank = pairbank.write_bank(tmp_path / "bank", scored=[table])
    before = {path: path.read_bytes() for path in bank.rglob("*") if path.is_file()}
    other = scored_by("fake-2", limit=3, methods=("direct",))
    message = rf"^{bank}: the bank cannot be written and is as it was \(.*{REMEDY}"
    with room_for(5_000), pytest.raises(BankError, match=message):
        pairbank.write_bank(bank, scored=[other])
    assert {path: path.read_bytes() for path in bank.rglob("*") if path.is_file()} == before
    pairbank.write_bank(bank, scored=[other])
    assert len(pairbank.check_bank(bank)["scores"]["starter"]) == 2


@pytest.mark.parametrize(("number", "to_do"), [(errno.ENOSPC, "make room"), (errno.EROFS, "choose another place")])
def test_what_to_do_goes_by_what_the_operating_system_says(tmp_path: Path, number: int, to_do: str) -> None:
    message = rf"^{tmp_path}/a: cannot be written \(.*\); {to_do}, and {REMEDY}$"
    with pytest.raises(OutputError, match=message), replaced_atomically(tmp_path / "a"):
        raise OSError(number, os.strerror(number))
    assert not all_of(tmp_path)


def test_a_file_in_the_way_of_a_folder_is_stated(tmp_path: Path, table: Scored) -> None:
    (tmp_path / "file").write_text("mine")
    writes: list[Callable[[], object]] = [
        lambda: table.save(tmp_path / "file" / "scored.parquet"),
        lambda: pairbank.report([table]).save(tmp_path / "file"),
        lambda: pairbank.report([table]).save(tmp_path / "file" / "report"),
        lambda: pairbank.write_bank(tmp_path / "file" / "bank", scored=[table]),
    ]
    for write in writes:
        with pytest.raises(PairbankError, match=r"is where a folder is needed: choose another path"):
            write()
    with pytest.raises(BankError, match="is not a bank"):
        pairbank.write_bank(tmp_path / "file", scored=[table])
    assert (tmp_path / "file").read_text() == "mine"


def test_a_name_that_is_too_long_is_said_and_one_that_is_as_long_as_may_be_is_taken(tmp_path: Path) -> None:
    write_text(tmp_path / ("x" * 255), "text")
    with pytest.raises(OutputError, match="choose a shorter name"):
        write_text(tmp_path / ("x" * 256), "text")
    with pytest.raises(BankError, match="choose a shorter name"):
        pairbank.write_bank(tmp_path / ("x" * 256), scored=[])


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ground")
    (folder / "own.csv").write_text("good,bad\nThe dog barks.,The dog bark.\nWe read.,We reads.\n")
    (folder / "scores.csv").write_text("model,good,bad,direct_good,direct_bad\nx-1,A b.,B a.,-1.5,-2.5\n")
    runner = CliRunner()
    for argv in (
        ["score", str(folder / "own.csv"), "--model", "fake:a", "-m", "direct", "--out", str(folder / "a.parquet")],
        ["bank", str(folder / "a.parquet"), "--out", str(folder / "bank")],
    ):
        assert not runner.invoke(cli.app, argv).exception
    return folder


VERBS = {
    "build": "build {0}/own.csv",
    "score": "score {0}/own.csv --model fake:a -m direct",
    "import": "import {0}/scores.csv",
    "report": "report {0}/a.parquet",
    "bank": "bank {0}/a.parquet",
    "merge": "merge {0}/bank {0}/bank",
    "strip": "strip {0}/bank",
    "run": "run demo --model fake:a --corpus starter:plausibility --limit 1",
    "minimalness": "minimalness {0}/own.csv --edits-only",
}


@pytest.mark.ci
@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_replaces_a_device_or_pipe_or_writes_below_one(ground: Path, tmp_path: Path, verb: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for out in ("/dev/null", "/dev/full", str(pipe), "/dev/null/below"):
        result = CliRunner().invoke(cli.app, [*VERBS[verb].format(ground).split(), "--out", out])
        assert isinstance(result.exception, PairbankError), (out, result.exception, result.output)
        assert out.removesuffix("/below") in str(result.exception)
    assert Path("/dev/null").is_char_device()
    assert Path("/dev/full").is_char_device()
    assert all_of(tmp_path) == ["pipe"]
    assert pipe.is_fifo()


def test_a_report_on_a_disk_that_is_full_leaves_the_report_that_was_there(tmp_path: Path, table: Scored) -> None:
    pairbank.report([table], title="Before").save(tmp_path / "report")
    before = {path: path.read_bytes() for path in (tmp_path / "report").rglob("*") if path.is_file()}
    made = pairbank.report([table], title="After")
    with room_for(1_000), pytest.raises(PairbankError, match=REMEDY):
        made.save(tmp_path / "report")
    assert {path: path.read_bytes() for path in (tmp_path / "report").rglob("*") if path.is_file()} == before


def test_a_file_system_without_locks_is_told_with_what_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("fcntl.flock", no_locks)
    with pytest.raises(PairbankError, match=r"No locks available.*set PAIRBANK_CACHE to a folder on a local disk"):
        pairbank.load_corpus("starter", limit=1)


def test_a_device_is_refused_before_a_model_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairbank, "load_model", lambda *_, **__: pytest.fail("loaded"))
    result = CliRunner().invoke(cli.app, ["score", "starter", "--model", "fake:a", "--out", "/dev/null"])
    assert isinstance(result.exception, OutputError), (result.exception, result.output)


def test_what_a_killed_writer_left_is_removed_and_what_a_running_one_writes_stays(tmp_path: Path) -> None:
    pid = os.fork()
    if not pid:
        with replaced_atomically(tmp_path / "a.txt") as temporary:
            temporary.write_text("half")
            os._exit(0)
    os.waitpid(pid, 0)
    (left,) = all_of(tmp_path)
    assert left.startswith(".a.txt.")
    foreign = f".a.txt.{'0' * 8}-1.x.part"
    (tmp_path / foreign).touch()
    with replaced_atomically(tmp_path / "a.txt") as first:
        first.write_text("first")
        write_text(tmp_path / "a.txt", "second")
        assert first.read_text() == "first"
    assert all_of(tmp_path) == [foreign, "a.txt"]
    assert (tmp_path / "a.txt").read_text() == "first"


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (OSError(28, "No space left on device", "/x/cache"), "pairbank: /x/cache: No space left on device; check the"),
        (BankError("a \x1b[2J b"), "pairbank: a [U+001B][2J b\n"),
    ],
)
def test_no_refusal_of_the_operating_system_ends_a_command_with_a_traceback(
    problem: Exception, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def app() -> None:
        raise problem

    monkeypatch.setattr(cli, "app", app)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    assert capsys.readouterr().err.startswith(said)


def test_all_that_is_written_goes_through_one_place() -> None:
    """A file that is opened for writing elsewhere could be seen half-written, and its errors would be raw."""
    root = Path(files.__file__).parent
    marks = (".write_text(", ".write_bytes(", '.open("w', ".to_parquet(", ".to_csv(", "pq.write_table(", "np.save(")
    allowed = {
        "files.py": "temporary",
        "cards/bank/lock.py": "draft.write_text",
        "cli/__init__.py": "os.devnull",
        "cli/results.py": "write_text(out, table.to_csv(",
        "cli/scoring.py": "write_text(path, table.to_csv(",
        "builders/corpora/in_memory.py": "frame.to_parquet(content",  # into memory
        "cards/export/folders.py": ".to_csv(study / ",  # in a folder that is written whole or not at all
        "scoring/importing/scores.py": ">>> frame.to_csv(path",  # an example
    }
    odd = []
    # four folders are links, which rglob does not follow
    folders = [root, *(path for path in root.iterdir() if path.is_symlink())]
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            if any(mark in line for mark in marks) and "def " not in line:
                near = " ".join(lines[max(0, number - 4) : number + 1])
                if "replaced_atomically" not in near and allowed.get(name, line + "?") not in line:
                    odd.append(f"{name}:{number + 1}: {line.strip()}")
    assert not odd
