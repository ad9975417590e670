"""Fixtures of the tests of the site: a bank of hostile texts, its site, one Chromium."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from site_pages import Shown


@pytest.fixture(scope="session")
def hard_bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from site_bank import write_hard_bank

    return write_hard_bank(tmp_path_factory.mktemp("hard") / "bank")


@pytest.fixture(scope="session")
def hard_site(hard_bank: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    import pairbank

    folder = tmp_path_factory.mktemp("hard_site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pairbank.cards.site.corpus_data.PAGE_ROWS", 16)
        patch.setattr("pairbank.cards.site.corpus_data.OWN_FILE", 4_000)
        patch.setattr("pairbank.cards.site.corpus_data.FULL", 1_600)
        return pairbank.write_site(hard_bank, folder / "site", texts="all", name="org/hard")


@pytest.fixture(scope="session")
def hard_address(hard_site: Path) -> Iterator[str]:
    from site_pages import serving

    with serving(hard_site) as address:
        yield address


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    from site_pages import CHROMIUM

    if CHROMIUM is None:
        pytest.skip("no chromium on the PATH; install it, or name it in CHROMIUM")
    with playwright.sync_playwright() as run:
        browser = run.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def hard(chromium: Browser, hard_address: str) -> Iterator[Shown]:
    from site_pages import shown

    with shown(chromium, hard_address) as page:
        yield page


@pytest.fixture(scope="session")
def in_node(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    from pairbank.cards.site import site
    from site_pages import NODE, run_in_node

    if NODE is None:
        pytest.skip("no node on the PATH; install nodejs, or name it in NODE")
    app = Path(shutil.copytree(Path(site.__file__).parent / "app", tmp_path_factory.mktemp("node") / "app"))
    (app / "package.json").write_text('{"type": "module"}')
    return partial(run_in_node, app=app)
