"""The page in a headless Chromium: it opens, filters, sorts, selects, and a permalink leads back.

Screenshots of every tab, at the width of a desk and of a phone, land in the test's temporary folder.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from browser_bank import HOSTILE, write_hard_bank

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("gradio", reason="gradio is not installed; pip install 'pairbank[browse]'")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH; install it, or name it in CHROMIUM")

START_SECONDS = 120
WAIT_MILLISECONDS = 30_000


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the hard bank with the command itself; yield its address."""
    cache = pytest.MonkeyPatch()
    cache.setenv("PAIRBANK_CACHE", str(tmp_path_factory.mktemp("cache")))
    bank = write_hard_bank(tmp_path_factory.mktemp("served") / "bank")
    cache.undo()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "pairbank", "browse", str(bank), "--port", str(port), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            yield _when_ready(f"http://127.0.0.1:{port}/", server)
        finally:
            server.kill()


def _when_ready(address: str, server: subprocess.Popen[str]) -> str:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:  # noqa: S310 - our own server
                assert answer.status == 200
                return address
        except OSError:
            time.sleep(0.2)
    server.kill()
    raise AssertionError(f"the page did not come up: {server.communicate()[0]}")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with playwright.sync_playwright() as run:
        browser = run.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """Return a page that fails the test if it asks another host for anything or its script breaks."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    context.set_default_timeout(WAIT_MILLISECONDS)
    page = context.new_page()
    asked: list[str] = []
    broken: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: broken.append(str(error)))
    yield page
    context.close()
    outside = {urlsplit(url).hostname for url in asked if not url.startswith(("data:", "blob:"))} - {"127.0.0.1"}
    assert not outside
    assert not broken


def open_view(page: Page, address: str, query: str = "") -> None:
    page.goto(address + query)
    page.wait_for_selector(".pb-panel")


def choose(page: Page, label: str, option: str) -> None:
    page.get_by_label(label, exact=True).click()
    page.get_by_role("option", name=option, exact=True).click()


def go(page: Page, tab: str) -> None:
    page.get_by_role("tab", name=tab).click()
    page.wait_for_selector(f"[role=tab][aria-selected=true]:text-is('{tab}')")


def test_one_can_sort_break_down_search_select_and_come_back_by_link(page: Page, address: str) -> None:
    open_view(page, address)
    choose(page, "Broken down by", "phenomenon")
    page.wait_for_selector("th:has-text('Phenomenon')")
    page.get_by_role("button", name="Accuracy").click()
    page.wait_for_selector("th[aria-sort=descending]:has-text('Accuracy')")
    shown = page.locator(".pb-board tbody td.c-figure b").all_inner_texts()
    assert [float(x) for x in shown] == sorted((float(x) for x in shown), reverse=True)

    go(page, "Items")
    choose(page, "Phenomenon", "binding")
    page.wait_for_selector("thead:has-text('20 items')")
    page.get_by_label("Search the text").press_sequentially("NUMBER 9 ", delay=20)
    page.wait_for_selector("thead:has-text('1 item')")
    page.locator("tr[data-pick=item]").click()
    page.wait_for_selector(".pb-detail h3:has-text('hard/odd/9')")
    detail = page.locator(".pb-detail").inner_text()
    link = page.url
    assert "tab=items" in link
    assert "q=NUMBER+9+" in link

    open_view(page, address)
    open_view(page, link)
    assert page.locator(".pb-detail").inner_text() == detail
    assert page.get_by_label("Search the text").input_value() == "NUMBER 9 "
    assert page.get_by_label("Phenomenon", exact=True).input_value() == "binding"
    assert page.url == link
    page.get_by_label("Search the text").press("End")
    page.get_by_label("Search the text").press_sequentially("sees", delay=20)
    page.wait_for_url("**sees**")
    assert page.get_by_label("Search the text").input_value() == "NUMBER 9 sees"


def test_points_and_cells_lead_to_items(page: Page, address: str) -> None:
    open_view(page, address, "?tab=compare")
    assert page.locator(".pb-compare h2").inner_text().startswith("r = ")
    first = page.locator("svg.pb-scatter circle").first
    first.hover(force=True)
    page.wait_for_selector("#pb-tip.on")
    first.click(force=True)
    page.wait_for_selector(".pb-side .pb-card")
    page.locator(".pb-side .pb-link").click()
    page.wait_for_selector(".pb-detail")
    go(page, "Agreement")
    page.locator(".pb-heat td[tabindex]").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".pb-side h3:has-text('direct and meta_question_simple')")
    choose(page, "Measure", "Cohen’s κ")
    page.wait_for_selector("h2:has-text('Cohen’s κ between methods')")


def test_hostile_text_runs_nothing_and_downloads_whole(page: Page, address: str) -> None:
    open_view(page, address, "?tab=items&subset=hostile")
    for row in page.locator("tr[data-pick=item]").all():
        name = row.get_attribute("data-value")
        row.locator("small").click()
        page.wait_for_function("name => document.querySelector('.pb-detail h3')?.textContent === name", arg=name)
    assert page.evaluate("window.hacked") is None
    go(page, "Download")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download CSV").click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert download.value.suggested_filename == "hard--fake-1--subset=hostile.csv"
    assert text.count("fake-1@1") == len(HOSTILE)
    assert "'=HYPERLINK" in text


@pytest.mark.parametrize("width", [1280, 390])
def test_every_tab_fits_the_window(page: Page, address: str, width: int, tmp_path: Path) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    item = "item=hard/odd/9"
    views = {
        "leaderboard": "?tab=leaderboard&within=hard",
        "compare": f"?tab=compare&{item}",
        "items": f"?tab=items&{item}&show=wrong",
        "agreement": "?tab=agreement&cell=direct~human",
        "people": "?tab=people",
        "download": "?tab=download&language=ar",
    }
    for name, query in views.items():
        open_view(page, address, query)
        page.screenshot(path=tmp_path / f"{name}-{width}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert len(page.locator(".pb-panel").inner_text()) > 100, name
        clipped = page.evaluate(
            """() => [...document.querySelectorAll("svg.pb-chart text")].filter((text) => {
                const a = text.getBoundingClientRect(), b = text.closest("svg").getBoundingClientRect();
                return a.left < b.left - 1 || a.right > b.right + 1 || a.bottom > b.bottom + 1 || a.top < b.top - 1;
            }).map((text) => text.textContent)"""
        )
        assert not clipped, name
