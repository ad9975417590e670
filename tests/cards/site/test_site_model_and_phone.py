"""The site of a bank with one model, models with random weights, a page on a phone, and pages that a list lacks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

import pairbank
from pairbank.markdown import parsed_tables
from pairbank.scoring.api.model import ModelInfo
from pairbank.scoring.models.fake import FakeScorer
from site_pages import Shown, serving, shown

if TYPE_CHECKING:
    from playwright.sync_api import Browser

METHODS = ["direct", "meta_question_simple"]
Open = Callable[..., Shown]


class _Random(FakeScorer):
    """A fake model of random weights."""

    @property
    def info(self) -> ModelInfo:
        return replace(super().info, weights="random:0")


@pytest.fixture
def open_site(chromium: Browser, tmp_path: Path) -> Iterator[Open]:
    """Return a function that scores pairs with some models, writes the bank and opens its site."""
    with contextlib.ExitStack() as stack:

        def open_models(models: Sequence[FakeScorer]) -> Shown:
            items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=4)
            scored = [pairbank.score(items, model, methods=METHODS) for model in models]
            bank = pairbank.write_bank(tmp_path / "bank", scored=scored)
            site = pairbank.write_site(bank, tmp_path / "site", texts="all")
            return stack.enter_context(shown(chromium, stack.enter_context(serving(site))))

        yield open_models


@pytest.mark.ci
def test_a_bank_of_one_model_opens_with_a_page_about_it(open_site: Open, tmp_path: Path) -> None:
    page = open_site([FakeScorer(name="ant"), _Random(name="a-null")])
    page.open()
    assert page.page.locator("[aria-selected=true]").inner_text() == "Model"
    tabs = page.page.locator("[role=tab]").all_inner_texts()
    assert [name for name in ("Items", "People", "Reports") if name in tabs] == ["Items"]  # empty ones are hidden
    assert "beside what people say" not in page.page.locator(".pb-lead").inner_text()
    assert page.page.locator(".pb-panel h2").first.inner_text() == "ant"
    first = page.page.locator(".pb-grid").first
    assert [x.strip() for x in first.locator("thead th").all_inner_texts()] == [
        "Corpus",
        "Direct",
        "MetaQuestionSimple",
    ]
    assert first.locator("tbody th").all_inner_texts() == ["starter", "a-null\nrandom weights, starter"]
    summary = pq.read_table(tmp_path / "bank/results/summary.parquet").to_pandas()
    rows = summary[(summary["model"] == "ant") & (summary["method"] == "direct") & (summary["metric"] == "accuracy")]
    [row] = rows[rows["group_by"] == "all"].to_dict("records")
    cell = first.locator("tbody tr").first.locator("td").first.inner_text()
    assert cell.startswith(f"{row['value']:.2f} [{row['low']:.2f}, {row['high']:.2f}]")
    assert f"n = {row['n']}" in cell
    groups = page.page.locator(".pb-grid").nth(1).locator("tbody tr")
    assert groups.count() == summary[summary["group_by"] == "phenomenon"]["group"].nunique()
    lowest = rows[rows["group_by"] == "phenomenon"]["value"].min()
    assert groups.first.locator("td").first.inner_text() == f"{lowest:.2f}"
    scores = pq.read_table(tmp_path / "bank/scores/starter/ant.parquet").to_pandas()
    wrong = scores[scores["direct_delta"] < 0].sort_values("direct_delta", kind="stable")
    worst = page.page.locator(".pb-items tbody tr")
    assert worst.count() == 10
    for nth in (0, 9):
        assert wrong["item_id"].iloc[nth] in worst.nth(nth).inner_text()
    page.settled(worst.nth(1).click)
    assert page.page.locator("[aria-selected=true]").first.inner_text() == "Items"
    assert wrong["item_id"].iloc[1] in page.page.locator(".pb-detail").inner_text()
    page.settled(page.page.go_back)
    page.settled(lambda: page.page.get_by_role("button", name=f"All {len(wrong)} items").click())
    assert f"{len(wrong)} items" in page.text()


@pytest.mark.ci
def test_models_with_random_weights_stand_apart_on_site_and_card(open_site: Open, tmp_path: Path) -> None:
    page = open_site([FakeScorer(name="ant"), FakeScorer(name="bee"), _Random(name="a-null")])
    page.open()
    names = page.page.locator(".pb-grid tbody th").all_inner_texts()
    assert sorted(names[:2]) == ["ant", "bee"]
    assert names[2] == "a-null\nrandom weights"
    ranks = page.page.locator(".pb-grid td.c-rank").all_inner_texts()
    assert all(set(rank) <= set("12–") and rank for rank in ranks[:2])
    assert ranks[2] == "–"
    assert "2 models · 1 null model" in page.page.locator(".pb-sizes").inner_text()
    assert "(null models) have no rank" in page.text()
    page.go("All results")
    assert page.page.locator(".c-model small").all_inner_texts() == ["random weights"] * len(METHODS)
    page.go("Items")
    assert page.control("Model").input_value() == "ant"
    pairbank.check_bank(tmp_path / "bank")
    card = (tmp_path / "bank/README.md").read_text(encoding="utf-8")
    before, after = card.split("### Null models (random weights)")
    models = {row["model"] for rows in parsed_tables(before) for row in rows if "accuracy" in row}
    assert models == {"ant", "bee"}
    assert {row["model"] for rows in parsed_tables(after) for row in rows if "accuracy" in row} == {"a-null"}
    assert "random weights, a null model" in after


@pytest.mark.ci
def test_a_phone_shows_the_first_row_at_once_and_keeps_the_models_names(chromium: Browser, hard_address: str) -> None:
    with shown(chromium, hard_address, width=390) as page:
        for query in ("", "?tab=grid&across=method", "?tab=leaderboard"):
            page.open(query)
            box = page.page.locator(".pb-panel tbody tr").first.bounding_box()
            assert box is not None
            assert box["y"] < 300, query
        page.open("?tab=grid&across=phenomenon")
        name = page.page.locator(".pb-grid tbody th").first
        page.page.locator(".pb-scroll").first.evaluate("(element) => { element.scrollLeft = 10_000; }")
        edges = [x.bounding_box() for x in (page.page.locator(".pb-scroll").first, name)]
        assert edges[0] is not None
        assert edges[1] is not None
        assert edges[1]["x"] == pytest.approx(edges[0]["x"], abs=1)
        button = page.page.get_by_role("button", name="Filters")
        assert button.inner_text().startswith("Filters: phenomenon")
        assert not page.page.locator("#pb-fields").is_visible()
        button.click()
        assert button.get_attribute("aria-expanded") == "true"
        page.choose("One column per", "method")
        assert button.inner_text().startswith("Filters: method")
        assert not page.page.locator(".pb-lead").is_visible()
        page.page.get_by_role("button", name="About this bank").click()
        assert page.page.locator(".pb-lead").is_visible()


def test_a_page_that_a_list_lacks_is_explained(hard: Shown) -> None:
    def notices(query: str) -> list[str]:
        hard.open(query)
        return hard.page.locator(".pb-panel > .pb-notice").all_inner_texts()

    assert notices("?tab=items&page=2") == []
    assert notices("?tab=items&page=x") == ["This link asks for page “x”, which is not a page number; showing page 1."]
    assert notices("?tab=items&page=9999") == [
        "This link asks for page 9,999, but the list has 2 pages; showing page 2."
    ]
    assert "page=2" in hard.page.url
    assert notices("?page=9999") == ["This link asks for page 9,999, but the list has 1 page; showing page 1."]
    assert notices("?tab=compare&page=3") == ["This link asks for page “3”, but this tab has one page."]
    assert "page=" not in hard.page.url
