"""A site in a headless Chromium: in, a folder; out, a page that fails its test if it breaks or asks another host."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from command_line import printed_by
from pairbank.cards.site.site import SiteServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
WAIT_MILLISECONDS = 30_000
NODE = os.environ.get("NODE") or shutil.which("node")
MODULES = [
    *("chunks", "tables", "view", "rows", "statistics", "results", "board", "item", "text", "download", "charts", "add")
]
BANK = 'new tables.Bank(await chunks.loaded("site.json.gz", (found) => found))'


def run_in_node(script: str, value: Any = None, *, app: Path, site: Path | None = None) -> Any:  # noqa: ANN401 - JSON
    """Return what a function of the page's modules gives in Node, where `open_bank()` reads the folder of a site."""
    code = f"""
        import {{ readFile }} from "node:fs/promises";
        globalThis.fetch = async (path) => new Response(await readFile(`{site}/${{decodeURIComponent(path)}}`));
        const [{", ".join(MODULES)}] = await Promise.all({json.dumps(MODULES)}.map((x) => import(`{app}/${{x}}.js`)));
        const open_bank = async () => {BANK};
        const value = JSON.parse(await readFile("/dev/stdin"));
        console.log(JSON.stringify(await (async () => {{ {script} }})()));
    """
    command = [str(NODE), "--input-type=module", "--eval", code]
    return json.loads(printed_by(command, input=json.dumps(value)))


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    with SiteServer(folder) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.url
        server.shutdown()
        thread.join()


@dataclass(kw_only=True)
class Shown:
    page: Page
    address: str
    asked: list[str] = field(default_factory=list)
    """Paths of all requests, in their order."""

    def open(self, query: str = "") -> None:
        """Open a view and wait until it is there."""
        self.page.goto(self.address + query)
        self.page.wait_for_selector(".pb-panel")

    def text(self) -> str:
        return self.page.locator(".pb-panel").inner_text()

    def choose(self, label: str, option: str) -> None:
        self.settled(lambda: self.control(label).select_option(label=option))

    def control(self, label: str) -> Locator:
        """Return a control that is there, by its label."""
        named = self.page.get_by_text(label, exact=True)
        return self.page.locator(".pb-field:not([hidden])").filter(has=named).locator("select, input")

    def go(self, tab: str) -> None:
        self.settled(lambda: self.page.get_by_role("tab", name=tab, exact=True).click())

    def settled(self, act: Any) -> None:  # noqa: ANN401 - any function without arguments
        self.page.evaluate("document.querySelector('.pb-panel').dataset.old = 1")
        act()
        self.page.wait_for_selector(".pb-panel:not([data-old])")


@contextlib.contextmanager
def shown(chromium: Browser, address: str, *, width: int = 1280, scheme: Any = "light") -> Iterator[Shown]:  # noqa: ANN401
    """Yield a page; at the end it must have asked no other host for anything, and no script of it may have broken."""
    context = chromium.new_context(viewport={"width": width, "height": 900}, accept_downloads=True, color_scheme=scheme)
    context.set_default_timeout(WAIT_MILLISECONDS)
    page = context.new_page()
    result = Shown(page=page, address=address)
    urls: list[str] = []
    broken: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    page.on("request", lambda request: result.asked.append(urlsplit(request.url).path.lstrip("/")))
    page.on("pageerror", lambda error: broken.append(str(error)))
    page.on("console", lambda message: broken.append(message.text) if message.type == "error" else None)
    try:
        yield result
    finally:
        context.close()
    outside = {urlsplit(url).hostname for url in urls if not url.startswith(("data:", "blob:"))} - {"127.0.0.1"}
    assert not outside
    assert not broken
