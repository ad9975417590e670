"""The documentation as a site: it builds strictly and without a network, names every page, and asks no other host."""

from __future__ import annotations

import functools
import gzip
import http.server
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

import pairbank

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the built documentation."""
    for library in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(library, reason=f"{library} is not installed (pip install '.[docs]')")
    folder = tmp_path_factory.mktemp("docs") / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
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
    assert "how to make this bank again" in reference


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
    for name in ("index", "api", "statistics", "gallery", "reports/atlas/report", "source/index"):
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
    facts = json.loads(gzip.decompress((site / "data" / "site.json.gz").read_bytes()))
    with_texts = {one["name"]: one["licence"] for one in facts["corpora"] if not one["texts_left_out"]}
    assert with_texts == {"multiblimp": "cc-by-4.0"}
    closed = [one["name"] for one in facts["corpora"] if one["name"] not in with_texts]
    assert len(closed) >= 5
    for name in closed:
        files = list((site / "data" / "corpora").glob(f"{name}/**/*.gz"))
        assert files
        for file in files:
            assert b"target_good" not in gzip.decompress(file.read_bytes()), file
