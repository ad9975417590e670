"""Archives and folders read alike; broken or untrustworthy ones are refused, with file and remedy."""

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from corpus_files import write_tar, write_tree
from pairbank.builders.sources.source import member_texts
from pairbank.errors import CorpusError

TEXTS = {"top/b.tsv": "b\n", "top/a.tsv": "ä\n", "top/deep/c.tsv": "c\n", "top/note.txt": "no\n", "top/._a.tsv": "\0"}


def zipped(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in TEXTS.items():
            archive.writestr(name, text)
    return path


@pytest.mark.parametrize("kind", ["folder", "tar", "zip"])
def test_a_folder_and_its_archives_give_the_same_texts_in_order_of_name(tmp_path: Path, kind: str) -> None:
    path = {
        "folder": lambda: write_tree(tmp_path / "x", TEXTS),
        "tar": lambda: write_tar(tmp_path / "x.tar.gz", TEXTS),
        "zip": lambda: zipped(tmp_path / "x.zip"),
    }[kind]()
    assert list(member_texts(path, "top/*.tsv")) == [("top/a.tsv", "ä\n"), ("top/b.tsv", "b\n")]
    assert [name for name, _ in member_texts(path, "top/**/*.tsv")] == ["top/a.tsv", "top/b.tsv", "top/deep/c.tsv"]
    assert list(member_texts(path, "top/*.tsv", lambda name: name == "top/b.tsv")) == [("top/b.tsv", "b\n")]


def test_an_archive_packed_under_another_folder_is_read_too(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "x.tar.gz", {f"repo-1a2b/{name}": text for name, text in TEXTS.items()})
    assert [name for name, _ in member_texts(path, "top/deep/*.tsv")] == ["repo-1a2b/top/deep/c.tsv"]


@pytest.mark.parametrize("name", ["../evil.tsv", "/etc/evil.tsv", "top/../../evil.tsv"])
def test_a_tar_member_that_points_outside_is_refused(tmp_path: Path, name: str) -> None:
    path = write_tar(tmp_path / "x.tar.gz", {"top/a.tsv": "a", name: "evil"})
    with pytest.raises(CorpusError, match=rf"x\.tar\.gz: member '{name}' points outside the archive"):
        list(member_texts(path, "top/*.tsv"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_a_link_or_device_in_a_tar_is_refused(tmp_path: Path, kind: bytes) -> None:
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo("top/a.tsv")
        info.type, info.linkname = kind, "/etc/passwd"
        archive.addfile(info)
    with pytest.raises(CorpusError, match=r"x\.tar\.gz: member 'top/a\.tsv' is a link or device, expected plain files"):
        list(member_texts(tmp_path / "x.tar.gz", "top/*.tsv"))


@pytest.mark.parametrize(("kept", "then"), [(0.0, b""), (0.3, b""), (0.9, b""), (0.5, b"\xff" * 40)])
def test_a_tar_that_is_cut_or_damaged_is_one_clear_error(kept: float, then: bytes, tmp_path: Path) -> None:
    path = write_tar(tmp_path / "x.tar.gz", {f"top/{n}.tsv": str(hash(n)) * 500 for n in range(50)})
    data = path.read_bytes()
    start = int(kept * len(data))
    path.write_bytes(data[:start] + then + data[start + len(then) :] * bool(then))
    with pytest.raises(CorpusError, match=r"x\.tar\.gz: not a readable tar archive .*get the file again"):
        list(member_texts(path, "top/*.tsv"))


def test_an_archive_without_the_expected_files_says_so(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "x.tar.gz", TEXTS)
    with pytest.raises(CorpusError, match=r"x\.tar\.gz: holds no file like \*\.jsonl; check the archive"):
        list(member_texts(path, "*.jsonl"))


def test_text_that_is_not_utf8_names_member_and_row(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo("a.tsv")
        info.size = 9
        archive.addfile(info, io.BytesIO(b"ok\ncaf\xe9 x"))
    with pytest.raises(CorpusError, match=r"x\.tar\.gz:a\.tsv, row 2: byte .* is not UTF-8"):
        list(member_texts(tmp_path / "x.tar.gz", "*.tsv"))
