"""What a read raises becomes an error of ours; only a regular file is ever replaced; nothing unpacks without end."""

import csv
import io
import json
import logging
import os
import tarfile
import tomllib
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import pairbank
from command_line import completed
from pairbank.builders.dataset import manifest_of
from pairbank.builders.sources import source
from pairbank.builders.sources.readers import delimited, read_delimited, read_json_lines, read_rating
from pairbank.builders.sources.source import member_texts
from pairbank.errors import BankError, CorpusError, OutputError, PairbankError
from pairbank.files import cache_dir, reading, replaced_atomically, write_text
from pairbank.scoring.api.method import Method
from pairbank.scoring.methods.direct import Direct
from pairbank.scoring.run.store import shard_key


@pytest.mark.parametrize(
    "problem",
    [
        OSError(5, "Input/output error"),
        EOFError("cut"),
        UnicodeDecodeError("utf-8", b"a\xe9", 1, 2, "invalid"),
        json.JSONDecodeError("Expecting value", "?", 0),
        csv.Error("cut"),
        zipfile.BadZipFile("cut"),
        tarfile.ReadError("cut"),
        zlib.error("cut"),
        tomllib.TOMLDecodeError("cut"),
        pa.ArrowInvalid("cut"),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_what_a_damaged_file_raises_becomes_the_error_asked_for_with_its_path(problem: Exception) -> None:
    with (
        pytest.raises(BankError, match=r"^x\.bin: cannot be read \(.*\); download it again$"),
        reading("x.bin", BankError),
    ):
        raise problem


def test_what_is_no_fault_of_the_file_and_errors_of_our_own_pass() -> None:
    for problem in (TypeError("a bug"), CorpusError("row 3")):
        with pytest.raises(type(problem), match=f"^{problem}$"), reading("x.bin", BankError):
            raise problem


def test_what_to_check_goes_by_what_the_operating_system_says() -> None:
    with pytest.raises(PairbankError, match=r"is a directory.*give a file, not a folder"), reading("x", PairbankError):
        raise IsADirectoryError(21, "is a directory")


def test_a_device_pipe_or_folder_is_never_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for path, what in ((Path("/dev/null"), "a device"), (tmp_path / "pipe", "pipe"), (tmp_path / "folder", "a folder")):
        with pytest.raises(OutputError, match=what):
            write_text(path, "text")
    assert Path("/dev/null").is_char_device()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "pipe"]


def test_a_new_file_and_one_behind_a_link_can_be_written(tmp_path: Path) -> None:
    with replaced_atomically(tmp_path / "new.txt") as temporary:
        temporary.write_text("a")
    (tmp_path / "link.txt").symlink_to(tmp_path / "new.txt")
    write_text(tmp_path / "link.txt", "b")
    assert (tmp_path / "link.txt").read_text() == "b"


def locked_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.tsv", "a\n")
    data = bytearray(path.read_bytes())
    for mark, flags_at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + flags_at] |= 1
    path.write_bytes(bytes(data))


def zip_bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in "abc":
            archive.writestr(f"{name}.tsv", "0" * 40_000)


def oddly_packed_zip(path: Path) -> None:
    zip_bomb(path)
    data = path.read_bytes().replace(b"PK\x01\x02\x14\x03\x14\0\0\0\x08\0", b"PK\x01\x02\x14\x03\x14\0\0\0\x63\0")
    path.write_bytes(data)


def tar_bomb(path: Path) -> None:
    with tarfile.open(path, "w:gz") as archive:
        info = tarfile.TarInfo("a.txt")
        info.size = 200_000
        archive.addfile(info, io.BytesIO(bytes(info.size)))


def tar_with_a_long_head(path: Path) -> None:
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("a.tsv")
        info.pax_headers = {"comment": "0" * 200_000}
        archive.addfile(info, io.BytesIO())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (locked_zip, r"member 'a\.tsv' is encrypted; unpack it"),
        (zip_bomb, "unpacks to more than 0 MiB, which no corpus does"),
        (tar_bomb, "unpacks to more than 0 MiB"),
        (tar_with_a_long_head, "unpacks to more than 0 MiB"),
    ],
)
def test_an_archive_that_is_locked_or_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None], message: str
) -> None:
    monkeypatch.setattr(source, "MAX_UNPACKED_BYTES", 100_000)
    make(tmp_path / "x.archive")
    with pytest.raises(CorpusError, match=message):
        list(member_texts(tmp_path / "x.archive", "*.tsv"))


def test_an_archive_packed_in_a_way_that_python_lacks_is_refused(tmp_path: Path) -> None:
    oddly_packed_zip(tmp_path / "x.zip")
    with pytest.raises(CorpusError, match=r"x\.zip:a\.tsv: (packed in a way that Python cannot unpack|damaged)"):
        list(member_texts(tmp_path / "x.zip", "*.tsv"))


@pytest.mark.parametrize("suffix", ["zip", "tar.gz"])
@pytest.mark.parametrize("keep", range(0, 100, 9))
def test_an_archive_cut_anywhere_is_refused(tmp_path: Path, suffix: str, keep: int) -> None:
    path = tmp_path / f"x.{suffix}"
    {"zip": zip_bomb, "tar.gz": tar_bomb}[suffix](path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * keep // 100])
    with pytest.raises(CorpusError, match=r"x\..*not a readable (tar|zip) archive"):
        list(member_texts(path, "*.tsv"))


def test_upstream_files_are_read_as_strictly(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"none\.csv: cannot be read \(No such file or directory\); check the path"):
        list(read_delimited(tmp_path / "none.csv", ()))
    with pytest.raises(CorpusError, match="x, row 2: not readable as delimited text"):
        list(delimited('a,b\n"c,d\ne,f\n', (), where="x"))
    with pytest.raises(CorpusError, match="row 1: key 'a' occurs twice"):
        list(read_json_lines(['{"a": 1, "a": 2}'], (), where="x"))
    with pytest.raises(CorpusError, match=r"row 1: \\ud800 is half of a character"):
        list(read_json_lines(['{"a": "\\ud800"}'], (), where="x"))
    with pytest.raises(CorpusError, match="row 1: not JSON"):
        list(read_json_lines(["[" * 100_000], (), where="x"))
    with pytest.raises(CorpusError, match="rating 'inf' is infinite"):
        read_rating("inf", "x, row 1")


def test_a_nul_in_a_text_never_lets_two_items_share_stored_scores() -> None:
    method: Method = Direct()
    keys = {
        shard_key("model", method, [{"language": "en", "context_good": good, "target_good": target}])
        for good, target in (("a\0b", "c"), ("a", "b\0c"), ("a", "b"), ("\1", "b"), (None, "b"))
    }
    assert len(keys) == 5
    plain = [{"language": "en", "target_good": "a"}, {"language": "en", "target_good": "b\0c"}]
    assert shard_key("model", method, plain) != shard_key("model", method, plain[::-1])


def test_how_a_file_was_read_is_said_each_time_and_stands_in_the_manifest(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("Satz A;Satz B;human_good\nDer Hund bellt.;Der Hund bellen.;6,4\n;;\n", encoding="utf-8")
    columns = {"target_good": "Satz A", "target_bad": "Satz B"}
    for _ in ("built", "from the cache"):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            pairbank.load_corpus(path, columns=columns, language="deu")
        for words in (
            "pairs.csv: better = column 'Satz A' (as you say), worse = column 'Satz B' (as you say); 1 rows; ",
            "language de (German, from 'deu')",
            "separated by semicolons",
            "1 blank row(s) left out",
            "decimal commas in 1 row(s)",
        ):
            assert words in caplog.text
    manifest = manifest_of(pairbank.load_corpus(path, columns=columns, language="deu"))
    assert manifest is not None
    assert manifest["facts"]["reading"][0].startswith("better = column 'Satz A'")
    assert manifest["human"] == "column 'human_good' (of the better side)"


def test_the_command_line_takes_encoding_and_marks(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_bytes("good;bad\nEr hört.;*Er höre.\n".encode("cp1252"))
    out = tmp_path / "out.parquet"
    options = ["--encoding", "cp1252", "--marks", "strip", "--language", "de", "--out", str(out)]
    completed(["build", str(path), *options])
    import pyarrow.parquet as pq

    row = pq.read_table(out).to_pylist()[0]
    assert (row["target_good"], row["target_bad"], row["flags"]) == ("Er hört.", "Er höre.", ["repaired:mark"])


def test_options_of_a_file_are_refused_for_a_corpus_that_ships() -> None:
    with pytest.raises(CorpusError, match="what is fixed and a map describe a file of your own; 'starter' is"):
        pairbank.load_corpus("starter", encoding="cp1252")


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_the_cache_is_made_for_its_owner_alone_and_a_folder_that_is_there_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PAIRBANK_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home" / "cache"))
    assert cache_dir() == tmp_path / "home" / "cache" / "pairbank"
    assert cache_dir().stat().st_mode & 0o777 == 0o700
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o775)
    (tmp_path / "file").touch()
    for place in (shared, tmp_path / "file", tmp_path / "file" / "below"):
        monkeypatch.setenv("PAIRBANK_CACHE", str(place))
        assert cache_dir() == place
    assert shared.stat().st_mode & 0o777 == 0o775
