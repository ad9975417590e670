"""Downloads against a server of our own: cut and resumed, refused, wrong content, mirrors, folders of files."""

import hashlib
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from pairbank.builders.sources.downloads import DownloadProgress, download, mirrored, page_of
from pairbank.builders.sources.source import Source, SourceFile, digest_of_members, fetch, locate
from pairbank.errors import CorpusError, CorpusFileNotFoundError
from pairbank.files import cache_dir

DATA = bytes(range(256)) * 8192
"""Two mebibytes."""


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves `files`, with Range; the first answers may be cut or refused."""

    files: ClassVar[dict[str, bytes]] = {}
    cut_after: ClassVar[list[int]] = []
    refuse: ClassVar[list[int]] = []
    ranges: ClassVar[list[str | None]] = []
    honours_range: ClassVar[bool] = True

    def do_GET(self) -> None:
        asked = self.headers["Range"]
        self.ranges.append(asked)
        data = self.files.get(self.path)
        if data is None:
            self.send_error(404)
            return
        if self.refuse:
            self.send_error(self.refuse.pop(0))
            return
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and self.honours_range else 0
        if start >= len(data):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        sent = data[start:]
        self.wfile.write(sent[: self.cut_after.pop(0)] if self.cut_after else sent)
        self.close_connection = True

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr("pairbank.builders.sources.downloads.TRIES", 3)
    monkeypatch.setattr("pairbank.builders.sources.downloads.FIRST_WAIT_S", 0.01)
    Handler.files = {"/o/r/c/a.csv": DATA}
    Handler.cut_after, Handler.refuse, Handler.ranges, Handler.honours_range = [], [], [], True
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http_server:
        thread = threading.Thread(target=http_server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{http_server.server_address[1]}"
        http_server.shutdown()
        thread.join()


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def bring(url: str, path: Path, *, sha256: str = sha(DATA), seen: list[DownloadProgress] | None = None) -> None:
    progress = None if seen is None else seen.append
    download(url, path, sha256=sha256, corpus="mine", remedy="ask Ann", progress=progress)


def test_a_file_arrives_whole_with_progress_and_is_asked_for_once(server: str, tmp_path: Path) -> None:
    seen: list[DownloadProgress] = []
    for _ in range(2):
        bring(f"{server}/o/r/c/a.csv", tmp_path / "deep" / "a.csv", seen=seen)
    assert (tmp_path / "deep" / "a.csv").read_bytes() == DATA
    assert Handler.ranges == [None]
    assert [p.done_bytes for p in seen] == sorted(p.done_bytes for p in seen)
    assert seen[-1] == DownloadProgress(name="a.csv", done_bytes=len(DATA), total_bytes=len(DATA))


def test_a_cut_connection_goes_on_where_it_stopped(server: str, tmp_path: Path) -> None:
    Handler.cut_after = [700_000, 500_000]
    bring(f"{server}/o/r/c/a.csv", tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_bytes() == DATA
    assert Handler.ranges == [None, "bytes=700000-", "bytes=1200000-"]
    assert sorted(p.name for p in tmp_path.glob("a.csv*")) == ["a.csv", "a.csv.lock"]


def test_what_a_killed_run_left_is_used_by_the_next_one(server: str, tmp_path: Path) -> None:
    Handler.cut_after = [100, 100, 100]
    with pytest.raises(CorpusFileNotFoundError, match=r"after 300 of 2,097,152 bytes, 3 tries; what came is kept"):
        bring(f"{server}/o/r/c/a.csv", tmp_path / "a.csv")
    assert not (tmp_path / "a.csv").exists()
    bring(f"{server}/o/r/c/a.csv", tmp_path / "a.csv")
    assert Handler.ranges[-1] == "bytes=300-"
    assert (tmp_path / "a.csv").read_bytes() == DATA


def test_a_whole_part_file_needs_no_server(tmp_path: Path) -> None:
    (tmp_path / "a.csv.part").write_bytes(DATA)
    bring("http://127.0.0.1:9/a.csv", tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_bytes() == DATA


@pytest.mark.parametrize("left", [b"other bytes of an older version", DATA + b"too long"])
def test_a_stale_part_file_is_thrown_away(server: str, tmp_path: Path, left: bytes) -> None:
    (tmp_path / "a.csv.part").write_bytes(left)
    bring(f"{server}/o/r/c/a.csv", tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_bytes() == DATA


def test_a_server_without_ranges_sends_all_again(server: str, tmp_path: Path) -> None:
    Handler.honours_range = False
    Handler.cut_after = [1000]
    bring(f"{server}/o/r/c/a.csv", tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_bytes() == DATA


def test_a_busy_server_is_asked_again_and_given_up_after_some_tries(server: str, tmp_path: Path) -> None:
    Handler.refuse = [503, 429]
    bring(f"{server}/o/r/c/a.csv", tmp_path / "a.csv")
    Handler.refuse = [503, 503, 503]
    with pytest.raises(CorpusFileNotFoundError, match=r"HTTP 503 .*3 tries.*; ask Ann"):
        bring(f"{server}/o/r/c/a.csv", tmp_path / "b.csv")


def test_other_content_than_the_pinned_is_refused_and_not_kept(server: str, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=f"has sha256 {sha(DATA)}, expected {'0' * 64}.*ask Ann"):
        bring(f"{server}/o/r/c/a.csv", tmp_path / "a.csv", sha256="0" * 64)
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv.lock"]


def test_content_is_taken_as_it_is_where_no_hash_is_pinned(server: str, tmp_path: Path) -> None:
    for _ in range(2):
        bring(f"{server}/o/r/c/a.csv", tmp_path / "a.csv", sha256="")
    assert Handler.ranges == [None]


def test_a_missing_file_says_where_a_person_gets_it(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIRBANK_GITHUB_RAW", f"{server}/")
    file = SourceFile(name="b.csv", url="https://raw.githubusercontent.com/o/r/c/b.csv", sha256=sha(DATA))
    with pytest.raises(CorpusFileNotFoundError) as caught:
        fetch("mine", file)
    assert f"corpus 'mine': cannot download {server}/o/r/c/b.csv (HTTP 404 Not Found)" in str(caught.value)
    assert "get it from https://github.com/o/r/blob/c/b.csv as 'b.csv' and give its folder as data_dir" in str(
        caught.value
    )
    assert Handler.ranges == [None]


def test_a_file_without_an_address_says_how_a_person_gets_it(tmp_path: Path) -> None:
    file = SourceFile(name="x.csv", url="", sha256="", by_hand="ask the authors for the ratings")
    expected = "corpus 'mine': .*ask the authors for the ratings, name it 'x.csv' and "
    with pytest.raises(CorpusFileNotFoundError, match=expected + r"give its folder as data_dir"):
        fetch("mine", file)
    source = Source(homepage="", revision="", files=(file,), licence="unknown", citation="", redistributable=False)
    with pytest.raises(CorpusFileNotFoundError, match=expected + "put it there$"):
        locate("mine", source, tmp_path)


@pytest.mark.parametrize(
    ("variable", "url"),
    [
        ("PAIRBANK_GITHUB_RAW", "https://raw.githubusercontent.com/o/r/c/a.csv"),
        ("HF_ENDPOINT", "https://huggingface.co/o/r/c/a.csv"),
    ],
)
def test_a_mirror_stands_in_for_its_host(server: str, monkeypatch: pytest.MonkeyPatch, variable: str, url: str) -> None:
    monkeypatch.setenv(variable, server)
    assert mirrored(url) == f"{server}/o/r/c/a.csv"
    path = fetch("mine", SourceFile(name="a.csv", url=url, sha256=sha(DATA)))
    assert path == cache_dir() / "downloads" / "mine" / "a.csv"
    assert path.read_bytes() == DATA


def test_the_page_of_a_folder_is_its_tree() -> None:
    raw = "https://raw.githubusercontent.com/o/r/c/data"
    assert page_of(raw, folder=True) == "https://github.com/o/r/tree/c/data"
    assert page_of("https://huggingface.co/datasets/o/r", folder=True) == "https://huggingface.co/datasets/o/r"


def folder_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, contents: dict[str, bytes]) -> SourceFile:
    """Return an archive that upstream has as a folder of `contents`, pinned in a file of the test's own."""
    (tmp_path / "data" / "pins").mkdir(parents=True)
    lines = "".join(f"{name}\t{sha(data)}\n" for name, data in contents.items())
    (tmp_path / "data" / "pins" / "mine.tsv").write_text(lines)
    monkeypatch.setattr("importlib.resources.files", lambda _package: tmp_path)
    for name, data in contents.items():
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).write_bytes(data)
    return SourceFile(
        name="all.tar.gz",
        url="https://raw.githubusercontent.com/o/r/c",
        sha256=digest_of_members(tmp_path / "tree", "*/*.tsv"),
        unpacked="*/*.tsv",
        members="pins/mine.tsv",
    )


def test_a_folder_is_downloaded_file_by_file(server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PAIRBANK_GITHUB_RAW", server)
    contents = {"one/a.tsv": b"a\tb\n", "two/b c.tsv": b"c\td\n"}
    file = folder_file(monkeypatch, tmp_path, contents)
    Handler.files = {"/o/r/c/one/a.tsv": b"a\tb\n", "/o/r/c/two/b%20c.tsv": b"c\td\n"}
    source = Source(homepage="", revision="c", files=(file,), licence="mit", citation="", redistributable=True)
    seen: list[DownloadProgress] = []
    located = locate("mine", source, None, progress=seen.append)["all.tar.gz"]
    assert located.verified
    assert {p.name for p in seen} == {"a.tsv", "b c.tsv"}
    assert (located.path / "two" / "b c.tsv").read_bytes() == b"c\td\n"
    assert locate("mine", source, None)["all.tar.gz"] == located
    assert len(Handler.ranges) == 2
    assert locate("mine", source, tmp_path / "tree")["all.tar.gz"].sha256 == located.sha256


def test_a_folder_with_a_missing_file_names_it_and_the_tree(
    server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PAIRBANK_GITHUB_RAW", server)
    file = folder_file(monkeypatch, tmp_path, {"one/a.tsv": b"a\tb\n"})
    with pytest.raises(CorpusFileNotFoundError, match=r"/one/a\.tsv \(HTTP 404.*from https://github\.com/o/r/tree/c"):
        fetch("mine", file)


def test_a_folder_whose_file_is_missing_calls_off_the_files_that_were_not_begun(
    server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PAIRBANK_GITHUB_RAW", server)
    monkeypatch.setattr("pairbank.builders.sources.source.CONNECTIONS", 1)
    file = folder_file(monkeypatch, tmp_path, {f"one/{n:03}.tsv": b"a\tb\n" for n in range(200)})
    with pytest.raises(CorpusFileNotFoundError, match=r"/one/000\.tsv \(HTTP 404"):
        fetch("mine", file)
    assert len(Handler.ranges) < 100
