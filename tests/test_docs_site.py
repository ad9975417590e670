"""The documentation as a site: it builds strictly and without a network, names every page, and asks no other host."""

from __future__ import annotations

import functools
import gzip
import http.server
import json
import os
import re
import sys
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pandas as pd
import pytest

import pairbank
from command_line import printed_by

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for library in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(library, reason=f"{library} is not installed (pip install '.[docs]')")
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    printed_by(command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONWARNINGS": "ignore"})
    return folder


@pytest.mark.ci
def test_every_page_and_every_public_verb_is_in_the_site(built: Path) -> None:
    pages = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    names = [page.with_name("index.html") if page.name == "README.md" else page.with_suffix(".html") for page in pages]
    assert [name for name in names if not (built / name).is_file()] == []
    index = (built / "index.html").read_text(encoding="utf-8")
    navigation = set(re.findall(r'href="([\w./-]+\.html)"', index))
    assert {name.as_posix() for name in names if name.as_posix() != "index.html"} <= navigation
    reference = (built / "api.html").read_text(encoding="utf-8")
    shown = set(re.findall(r'<h2 id="pairbank\.[\w.]*?(\w+)"', reference))
    assert set(pairbank.__all__) - {"__version__"} <= shown
    assert "How to make this bank again" in reference


@pytest.mark.ci
def test_links_out_of_the_docs_lead_to_pages_of_the_files(built: Path) -> None:
    index = (built / "index.html").read_text(encoding="utf-8")
    assert 'href="source/examples.html"' in index
    example = (built / "source/examples/your_own_pairs.py.html").read_text(encoding="utf-8")
    assert "pairbank" in example
    assert (built / "source/CHANGELOG.html").is_file()


@pytest.fixture(scope="module")
def address(built: Path) -> Iterator[str]:
    handler = functools.partial(_Quiet, directory=str(built))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the standard library's
        """Say nothing of each request."""


@pytest.mark.ci
@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_pages_fit_the_window_and_ask_no_other_host(
    chromium: Browser, address: str, width: int, scheme: str, tmp_path: Path
) -> None:
    wide = {"width": width, "height": 900}
    context = chromium.new_context(viewport=wide, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    hosts: set[str | None] = set()
    broken: list[str] = []
    page.on("request", lambda request: hosts.add(urlsplit(request.url).hostname))
    page.on("pageerror", lambda error: broken.append(str(error)))
    for name in ("index", "api", "statistics", "gallery", "reports/items/report", "source/index"):
        page.goto(f"{address}{name}.html")
        page.wait_for_selector("article h1")
        page.screenshot(path=tmp_path / f"{name.replace('/', '-')}-{width}.png")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
    context.close()
    assert hosts == {"127.0.0.1"}
    assert not broken


def test_the_site_of_published_results_is_small_and_holds_texts_that_may_be_redistributed_alone() -> None:
    site = ROOT / "docs" / "published"
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) < 5_000_000
    app = ROOT / "cards" / "site" / "app"
    assert {path.name: path.resolve() for path in site.iterdir() if path.is_file()} == {
        path.name: path for path in app.iterdir()
    }
    facts = json.loads(gzip.decompress((site / "data" / "site.json.gz").read_bytes()))
    with_texts = {one["name"]: one["licence"] for one in facts["corpora"] if not one["texts_left_out"]}
    assert with_texts == {"multiblimp": "cc-by-4.0"}
    closed = [one["name"] for one in facts["corpora"] if one["name"] not in with_texts]
    assert len(closed) >= 5
    for name in closed:
        paths = (site / "data" / "corpora").glob(f"{name}/**/*.gz")
        files = [path for path in paths if path.name != "signatures.json.gz"]  # has the names of imported columns
        assert files
        for file in files:
            assert b"target_good" not in gzip.decompress(file.read_bytes()), file


OF_PUBLISHED = ("published", "people", "raters", "trajectories", "mixed", "items", "direct-vs-asked")
"""Reports of docs/reports that are made of published results."""
FEWEST_WORDS, MOST_WORDS = 4, 8


@pytest.mark.ci
def test_no_report_on_published_results_holds_a_text_of_its_sources(shared: Path) -> None:
    """A text is looked for by its first eight words, or by all of them."""
    if not (shared / "published").is_dir():
        pytest.skip("the published files are not here")
    pages = [path for name in OF_PUBLISHED for path in sorted((ROOT / "docs" / "reports" / name).rglob("*.*"))]
    pages = [path for path in pages if path.suffix in (".md", ".csv", ".json")]
    assert {path.relative_to(ROOT / "docs" / "reports").parts[0] for path in pages} == {*OF_PUBLISHED}
    beginnings = {words for text in _source_texts(shared) if (words := _words(text)[:MOST_WORDS])[FEWEST_WORDS - 1 :]}
    assert len(beginnings) > 9_000
    planted = max(beginnings)
    assert _shown(beginnings, f"| it shows: {' '.join(planted).capitalize()}. |") == {planted}
    for page in pages:
        assert not _shown(beginnings, page.read_text(encoding="utf-8")), page
    of_site = [path for path in (ROOT / "docs" / "published" / "data").rglob("*.gz") if "multiblimp" not in path.parts]
    with_words = [path for path in of_site if not {"packs", "others"} & {*path.parts}]
    assert len(with_words) > 20
    for path in with_words:
        assert not _shown(beginnings, gzip.decompress(path.read_bytes()).decode("utf-8")), path


def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", text.lower()))


def _shown(beginnings: set[tuple[str, ...]], page: str) -> set[tuple[str, ...]]:
    words = _words(page)
    lengths = range(FEWEST_WORDS, MOST_WORDS + 1)
    return beginnings & {words[place : place + n] for n in lengths for place in range(len(words) - n + 1)}


def _source_texts(shared: Path) -> Iterator[str]:
    published = shared / "published"
    columns = {
        "hu_frank_2024_syntax.csv": ("good_sentence", "bad_sentence", "sentence_grammatical", "sentence_ungrammatical"),
        "hu-2024-dgl/stimuli.csv": ("sentence",),
        "hu-2024-dgl/surprisals_text-davinci-003.csv": ("sentence_grammatical", "sentence_ungrammatical"),
        **{f"kauf-2023/people/{name}_SentenceSet.csv": ("Sentence",) for name in ("DTFit", "EventsAdapt", "EventsRev")},
    }
    for name, texts in columns.items():
        rows = pd.read_csv(published / name, usecols=list(texts))
        yield from (str(text) for column in texts for text in rows[column].dropna().unique())
    with tarfile.open(published / "hu-frank-2024" / "lambada.tar.xz") as archive:
        first = next(member for member in archive if member.name.endswith(".csv"))
        opened = archive.extractfile(first)
        assert opened is not None
        yield from pd.read_csv(opened, usecols=["prefix"])["prefix"]
    items = pairbank.load_corpus("qfrblimp", data_dir=shared / "corpora")
    yield from (*items["target_good"], *items["target_bad"])
