"""The page in a headless Chromium: it opens, filters, sorts, selects, goes back, and a permalink leads back."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pairbank
from bank_fixtures import bank_of
from made_items import made_item
from pairbank.builders.dataset import features
from pairbank.errors import BankError
from pairbank.stats.measures.paired_tests import compare_credits
from pairbank.stats.report.frames import scored_frame
from pairbank.stats.scored_table.method_scores import credits_of
from pairbank.stats.scored_table.scored_table import read_table
from site_bank import HOSTILE, LABELS, METHODS, LikesOne, QuickScorer, hard_items
from site_pages import Shown, serving, shown

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.ci  # a page in a browser takes some four seconds of processor time
TABS = {
    "grid": "Leaderboard",
    "leaderboard": "All results",
    "compare": "Direct vs prompted",
    "versus": "Head to head",
    "items": "Items",
    "agreement": "Agreement",
    "people": "People",
    "reports": "Reports",
    "download": "Download",
    "add": "Add a model",
}
Open = Callable[..., Shown]


@pytest.fixture
def opened(chromium: Browser, tmp_path: Path) -> Iterator[Open]:
    """Return a function that writes a bank's site, serves it and opens it."""
    with contextlib.ExitStack() as stack:

        def open_bank(bank: Path, query: str = "", **options: Any) -> Shown:  # noqa: ANN401 - as `shown` takes them
            site = pairbank.write_site(bank, tmp_path / "site", texts="all", name="org/bank")
            page = stack.enter_context(shown(chromium, stack.enter_context(serving(site)), **options))
            page.open(query)
            return page

        yield open_bank


# --- what is read ---


FIRST_VIEW = ["data/results/board/0-0.json.gz", "data/results/board/0-3.json.gz", "data/site.json.gz"]


def test_what_the_next_click_is_likely_to_need_is_read_behind_the_first_view(hard: Shown) -> None:
    hard.open()
    hard.page.wait_for_load_state("networkidle")
    data = [path for path in hard.asked if path.startswith("data/")]
    assert sorted(data[:3]) == FIRST_VIEW
    assert any("/items/" in path for path in data)
    for tab in ("All results", "People", "Items"):
        hard.go(tab)
    assert [path for path in hard.asked if path.startswith("data/")] == data


def test_who_saves_data_reads_only_what_is_looked_at(hard: Shown) -> None:
    hard.page.add_init_script("Object.defineProperty(navigator, 'connection', {value: {saveData: true}})")
    hard.open()
    data = [path for path in hard.asked if path.startswith("data/")]
    assert sorted(data) == FIRST_VIEW
    hard.open("?tab=compare&corpus=hard&model=fake_1")
    unwanted = ("/rows", "fake_2_", "others", "axes-1")
    assert not [path for path in hard.asked if any(part in path for part in unwanted)]
    assert [path for path in hard.asked if "packs/" in path] == ["data/corpora/hard/packs/axes-0.json.gz"]
    before = len(hard.asked)
    hard.go("Leaderboard")
    hard.go("Direct vs prompted")
    again = [path for path in hard.asked[before:] if path.startswith("data/corpora")]
    assert again == []


# --- the leaderboards ---


def test_a_dagger_says_what_a_tokenizer_cannot_read_and_people_say_of_how_many(
    opened: Open, hard_bank: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(hard_bank, tmp_path / "copy"))
    path = copy / "scores/hard/fake_1.parquet"
    table = pq.read_table(path)
    place, field = table.schema.get_field_index("direct_flags"), table.schema.field("direct_flags")
    pq.write_table(table.set_column(place, field, pa.array([["unknown_token"]] * len(table), field.type)), path)
    page = opened(copy)
    cells = dict(
        zip(*(page.page.locator(f".pb-grid tbody {x}").all_inner_texts() for x in ("th", "td.fig")), strict=True)
    )
    assert "†" in cells["fake-1"]
    assert "†" not in cells["fake<2>"]
    assert "n 54" in cells["people"]
    told = page.page.locator(".pb-grid sup").get_attribute("data-tip")
    assert told == "67 of 67 items hold characters that its tokenizer has no token for (`direct`)"
    assert "† The model’s tokenizer cannot read" in page.text()
    notice = page.page.locator(".pb-head .pb-notice").inner_text()
    assert "This bank is not whole: do not rely on its numbers" in notice
    assert "scores/hard/fake_1.parquet: changed since the bank was written" in notice
    page.go("All results")
    assert page.page.locator(".pb-board sup").count() == len(METHODS)


def test_the_leaderboard_is_a_grid_with_ranks_people_and_a_signature(hard: Shown) -> None:
    hard.open()
    assert "Accuracy with Direct" in hard.text()
    names = hard.page.locator(".pb-grid tbody th").all_inner_texts()
    assert names == ["fake<2>", "fake-1", "people"]
    assert hard.page.locator(".pb-grid td.c-rank").all_inner_texts() == ["1–2", "1–2", ""]
    hard.choose("One column per", "method")
    assert hard.page.locator(".pb-grid thead th").count() == 4 + len(METHODS)
    hard.choose("One column per", "phenomenon")
    assert "<u>odd</u>" in hard.text()
    assert "3/3" in hard.text()
    hard.open()
    hard.page.locator(".pb-grid .pb-figure").first.click()
    dialog = hard.page.locator("dialog[open]")
    dialog.wait_for()
    told = dialog.inner_text()
    assert "model:pairbank/fake<2>@1|" in told
    assert "items sha256" in told
    assert "sig=" in hard.page.url
    hard.page.keyboard.press("Escape")
    hard.page.wait_for_selector("dialog:not([open])", state="attached")
    hard.page.go_back()
    dialog.wait_for()


def test_a_model_is_found_by_its_name_and_what_cannot_be_seen_is_named(hard: Shown) -> None:
    hard.open("?tab=grid&q=E%3C2")
    assert hard.page.locator(".pb-grid tbody th").all_inner_texts() == ["fake<2>", "people"]
    hard.open("?tab=grid&q=nobody")
    assert "No model is called “nobody”" in hard.page.locator(".pb-panel").inner_text()


def test_a_model_with_position_bias_is_marked_and_neither_ranked_nor_compared(opened: Open, tmp_path: Path) -> None:
    models = [QuickScorer(name="fake-1"), QuickScorer(name="fake-2"), LikesOne(name="likes-one")]
    scored = [pairbank.score(hard_items(), model, methods=METHODS[:2]) for model in models]
    page = opened(pairbank.write_bank(tmp_path / "made", scored=scored), "?tab=grid&bmethod=meta_question_simple")
    names = page.page.locator(".pb-grid tbody th").all_inner_texts()
    assert names == ["fake-2", "fake-1", "likes-one", "people"]
    assert page.page.locator(".pb-grid td.c-rank").all_inner_texts() == ["1", "2", "–", ""]
    assert page.page.locator(".pb-grid tbody sup").all_inner_texts() == ["‡"]
    assert "‡ Position bias: the model picks the same option" in page.text()
    page.go("All results")
    assert "0.50 [0.49, 0.51]‡" in page.text()
    versus = "?tab=versus&corpus=hard&method=meta_question_simple&versus=meta_question_simple&model=fake_1&against="
    page.open(versus + "likes_one")
    assert page.page.locator("h2").first.inner_text() == "Not compared: position bias"
    assert "likes-one picks the same option in 95% of the presentations or more" in page.text()
    page.open(versus + "fake_2")
    read = [read_table(scored_frame(one, for_analyses=True)).choices.methods for one in scored[:2]]
    first, second = (credits_of(x).credit for methods in read for x in methods if x.layout.method == METHODS[1])
    both = ~np.isnan(first + second)
    expected = compare_credits(first[both], second[both])
    shown_value = page.page.locator(".pb-test tr").nth(2).inner_text()
    assert f"{expected.difference.value:.3f}" in shown_value.replace("−", "-")
    page.open("?tab=agreement&corpus=hard&model=likes_one&cell=direct~meta_question_simple")
    assert "Accuracies not compared: with MetaQuestionSimple the model picks the same option" in page.text()


def test_the_list_shows_the_summarys_figures_sorts_and_goes_as_csv(hard: Shown, hard_bank: Path) -> None:
    summary = pq.read_table(hard_bank / "results/summary.parquet").to_pandas()
    hard.open("?within=hard&sort=accuracy")  # as links were before there was a grid
    assert hard.page.locator("[aria-selected=true]").inner_text() == "All results"
    figures = [float(x) for x in hard.page.locator("td.c-figure b").all_inner_texts()]
    assert figures == sorted(figures)
    methods = hard.page.locator("td.c-method").all_inner_texts()
    assert sorted(set(methods)) == sorted([*LABELS, "people"])
    assert methods.count("people") == 1
    one = summary[(summary["model"] == "fake-1") & (summary["method"] == "direct") & (summary["group_by"] == "all")]
    [row] = one[one["metric"] == "accuracy"].to_dict("records")
    texts = [f"{row[name]:.2f}" for name in ("value", "low", "high")]
    assert "{} [{}, {}]".format(*texts) in hard.text().replace("\n", " ").replace("\t", " ")
    hard.choose("Method", "Direct")
    hard.choose("Model", "fake-1")
    assert hard.page.locator(".pb-board tbody tr").count() == 1
    hard.open("?by=subset&group=odd&within=hard")
    assert set(hard.page.locator("td.c-group").all_inner_texts()) == {"odd"}
    with hard.page.expect_download() as download:
        hard.page.get_by_role("button", name="This table as CSV").click()
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8-sig"), newline="")))
    assert len(rows) == hard.page.locator(".pb-board tbody tr").count()
    exact = summary[(summary["group"] == "odd") & (summary["metric"] == "accuracy")]
    result = {(r["model"], r["method"]): float(r["accuracy"]) for r in rows if r["model"]}
    assert result == {(r["model"], r["method"]): r["value"] for r in exact.to_dict("records")}


def test_a_task_is_limited_to_its_items_where_the_results_are_broken_down_by_task(opened: Open, tmp_path: Path) -> None:
    items = pairbank.load_corpus("starter", limit=2)
    bank = bank_of(tmp_path / "bank", items, "a", "b")
    page = opened(bank, "?tab=leaderboard&task=sentence_pair")
    summary = pq.read_table(bank / "results/summary.parquet").to_pandas()
    one = summary[(summary["group_by"] == "task") & (summary["group"] == "sentence_pair")]
    requested = one[one["metric"] == "accuracy"]["n"].unique().tolist()
    assert [int(x) for x in set(page.page.locator("td.c-n").all_inner_texts())] == requested
    assert len(items) not in requested


def test_intervals_are_for_these_paradigms_or_for_paradigms_like_these(opened: Open, tmp_path: Path) -> None:
    bank = bank_of(tmp_path / "bank", pairbank.load_corpus("starter", limit=1), "d")
    summary = pq.read_table(bank / "results/summary.parquet").to_pandas()
    [row] = summary[(summary["group_by"] == "all") & (summary["metric"] == "accuracy")].to_dict("records")
    assert row["n_paradigms"] >= 10
    texts = {kind: [f"{row[end + kind]:.2f}" for end in ("low", "high")] for kind in ("", "_paradigms")}
    assert texts[""] != texts["_paradigms"]
    page = opened(bank, "?tab=grid")
    assert "[{}, {}]".format(*texts[""]) in page.text()
    page.choose("Intervals for", "paradigms like these")
    assert "[{}, {}]".format(*texts["_paradigms"]) in page.text()
    page.go("All results")
    assert "[{}, {}]".format(*texts["_paradigms"]) in page.text()
    card = (bank / "README.md").read_text(encoding="utf-8")
    numbers = [f"{row[name]:.2f}" for name in ("value", "low", "high", "low_paradigms", "high_paradigms")]
    assert "{} [{}, {}], paradigms [{}, {}]".format(*numbers) in card
    pairbank.check_bank(bank)
    (bank / "README.md").write_text(card.replace(f"paradigms [{numbers[3]}", "paradigms [0.01"), encoding="utf-8")
    with pytest.raises(BankError, match="the card says"):
        pairbank.check_bank(bank)


# --- rows ---


def test_one_can_break_down_search_select_and_come_back_by_link(hard: Shown) -> None:
    hard.open("?tab=leaderboard")
    hard.choose("Broken down by", "phenomenon")
    hard.settled(lambda: hard.page.get_by_role("button", name="Accuracy").click())
    assert hard.page.locator("th[aria-sort=descending]").inner_text().startswith("Accuracy")
    assert hard.page.evaluate("document.activeElement.textContent").startswith("Accuracy")
    hard.go("Items")
    hard.choose("Phenomenon", "binding")
    assert "20 items" in hard.text()
    search = hard.control("Search the text")
    search.press_sequentially("NUMBER 9 ", delay=20)
    hard.page.wait_for_selector("thead:has-text('1 item')")
    hard.settled(lambda: hard.page.locator("tr[data-pick=item]").click())
    detail = hard.page.locator(".pb-detail").inner_text()
    assert "hard/odd/9" in detail
    link = hard.page.url
    assert "tab=items" in link
    assert "q=NUMBER+9+" in link
    hard.open()
    hard.page.goto(link)
    hard.page.wait_for_selector(".pb-detail")
    assert hard.page.locator(".pb-detail").inner_text() == detail
    assert search.input_value() == "NUMBER 9 "
    assert hard.control("Phenomenon").input_value() == "binding"
    assert hard.page.url == link
    search.press("End")
    search.press_sequentially("sees", delay=20)
    hard.page.wait_for_url("**sees**")
    assert search.input_value() == "NUMBER 9 sees"


def test_back_and_forward_go_through_every_state(hard: Shown) -> None:
    hard.open()
    steps: list[Callable[[], None]] = [
        lambda: hard.go("Items"),
        lambda: hard.choose("Which items", "Method is wrong"),
        lambda: hard.settled(lambda: hard.page.locator("tr[data-pick=item]").nth(2).click()),
        lambda: hard.go("Agreement"),
        lambda: hard.settled(lambda: hard.page.locator(".pb-heat td[data-pick]").nth(1).click()),
        lambda: hard.go("People"),
    ]
    seen = [(hard.page.url, hard.text())]
    for step in steps:
        step()
        seen.append((hard.page.url, hard.text()))
    assert len({url for url, _ in seen}) == len(seen)
    for url, text in reversed(seen[:-1]):
        hard.settled(hard.page.go_back)
        assert (hard.page.url, hard.text()) == (url, text)
    for url, text in seen[1:]:
        hard.settled(hard.page.go_forward)
        assert (hard.page.url, hard.text()) == (url, text)
    hard.open("?tab=items&corpus=hard")
    hard.settled(lambda: hard.page.locator("#pb-q").press_sequentially("river"))
    hard.page.wait_for_url("**q=river*")
    hard.page.go_back()
    hard.page.wait_for_function("document.getElementById('pb-q').value === ''")


def test_a_link_from_another_bank_is_mended_and_says_so(hard: Shown) -> None:
    hard.open("?tab=items&corpus=gone&model=%3Cb%3E&show=x&page=99999999999&subset=x")
    notices = hard.page.locator(".pb-notice").all_inner_texts()
    assert len(notices) == 5
    assert "corpus “gone”" in notices[0]
    assert hard.control("Corpus").input_value() == "hard"
    hard.open("?tab=items&corpus=hard&item=hard/none/1")
    assert hard.page.locator(".pb-notice").all_inner_texts() == ["There is no item “hard/none/1” in hard."]
    hard.open("?tab=nowhere&__theme=dark")
    assert "tab “nowhere”" in hard.page.locator(".pb-notice").inner_text()
    assert "__theme=dark" in hard.page.url


def test_permalinks_give_back_the_view_they_were_made_from_and_a_change_of_corpus_forgets(
    in_node: Callable[..., Any], hard_site: Path
) -> None:
    asked = [
        "?tab=items&corpus=hard&model=fake_2_&show=wrong&subset=odd&q=a%26b%20%22%D8%A7&sort=-direct&page=2",
        "?tab=compare&corpus=hard&method=direct&versus=human",
        "?tab=versus&corpus=hard&model=fake_2_&against=fake_1&method=direct&versus=meta_question_simple",
        "?tab=agreement&corpus=hard&measure=kappa&cell=direct~human",
        "?tab=leaderboard&within=hard&by=subset&group=odd&sort=-n",
        "?tab=grid&across=method&bmethod=direct&sort=-mean",
        "?tab=download&corpus=hard&language=ar",
        "?tab=items",
        "?tab=leaderboard",
        "",
    ]
    script = """
        const bank = await open_bank();
        const resolve = async (asked) => view.ROW_TABS.includes(asked.tab)
            ? (await view.resolvedRows(bank, asked)).view
            : view.resolvedBoard(bank.site, asked).view();
        const found = [];
        for (const query of value) {
            const first = await resolve(view.fromQuery(query));
            const short = await view.link(bank, first);
            const again = await resolve(view.fromQuery(short));
            found.push([first, again, short, view.fromQuery(view.toQuery(first))]);
        }
        const row = {corpus: "a", subset: "s", item: "a/1", sort: "-direct", page: 4, q: "word"};
        const old = {...view.DEFAULTS, tab: "items", ...row};
        return [found, view.having(old, {corpus: "b"})];
    """
    result, forgotten = in_node(script, asked, site=hard_site)
    for query, (first, again, short, long_way) in zip(asked, result, strict=True):
        assert again == long_way == first, (query, short)
    assert [forgotten[name] for name in ("subset", "item", "sort", "page", "q")] == ["", "", "", 1, "word"]


def test_controls_that_offer_no_choice_are_not_there(hard: Shown) -> None:
    hard.open("?tab=items&corpus=hard")
    assert "Method and Direct disagree" in hard.control("Which items").inner_text()
    there = hard.page.locator(".pb-field:not([hidden]) label").all_inner_texts()
    assert "Phenomenon" in there
    assert "Against" not in there
    hard.open("?tab=items&corpus=starter")
    assert "Method" not in hard.page.locator(".pb-field:not([hidden]) label").all_inner_texts()


def test_points_and_cells_lead_to_items(hard: Shown) -> None:
    hard.open("?tab=compare")
    first = hard.page.locator("svg.pb-scatter circle").first
    first.hover(force=True)
    hard.page.wait_for_selector("#pb-tip.on")
    hard.settled(lambda: first.click(force=True))
    hard.settled(lambda: hard.page.locator(".pb-side .pb-link").click())
    assert hard.page.locator(".pb-detail").count() == 1
    hard.go("Agreement")
    hard.page.locator(".pb-heat td[tabindex]").first.focus()
    hard.settled(lambda: hard.page.keyboard.press("Enter"))
    assert hard.page.locator(".pb-side h3").inner_text() == "Direct and MetaQuestionSimple"
    assert "McNemar" in hard.text()
    hard.choose("Measure", "Cohen’s κ")
    assert "Cohen’s κ between methods" in hard.text()
    hard.settled(hard.page.locator(".pb-heat td[tabindex]").first.click)
    hard.settled(lambda: hard.page.get_by_role("button", name="Plot them →").click())
    assert hard.page.locator("[aria-selected=true]").inner_text() == "Direct vs prompted"


def test_methods_have_their_names_and_a_prompt_stands_as_the_model_read_it(hard: Shown) -> None:
    hard.open("?tab=items&corpus=hard&model=fake_1&method=meta_question_simple")
    hard.settled(hard.page.locator(".pb-items tbody tr").first.click)
    detail = hard.page.locator(".pb-detail")
    assert "as the model read it, chat template and special tokens included" in detail.inner_text()
    shown = detail.locator("details[open] pre").inner_text()
    assert "Which" in shown
    assert "{" not in shown
    assert detail.inner_text().index("as the model read it") < detail.inner_text().index("method, unit")
    assert detail.locator(".pb-method").first.get_attribute("data-tip") == "meta_question_simple"
    assert detail.locator(".pb-method").first.inner_text() == "MetaQuestionSimple"
    assert hard.control("Method").locator("option[value=direct]").inner_text() == "Direct"
    assert "method=meta_question_simple" in hard.page.url or "method=" not in hard.page.url


def test_two_models_and_two_methods_meet_on_the_same_items_with_the_paired_test(hard: Shown, hard_bank: Path) -> None:
    from pairbank.stats.measures.paired_tests import compare

    deltas = {
        s: pq.read_table(hard_bank / f"scores/hard/{s}.parquet")["direct_delta"].to_numpy()
        for s in ("fake_1", "fake_2_")
    }
    expected = compare(deltas["fake_1"], deltas["fake_2_"])
    hard.open("?tab=versus&corpus=hard&model=fake_1&against=fake_2_&method=direct&versus=direct")
    text = hard.text()
    assert f"{expected.n_only_a} items only the first, {expected.n_only_b} only the second" in text
    assert f"p = {expected.p_exact:.3f}".replace("0.", ".") in text
    hard.choose("Against model", "fake-1")
    assert "A model with one method is compared with itself" in hard.text()
    hard.choose("Against", "MetaQuestionSimple")
    assert "is right more often" in hard.text() or "do not tell them apart" in hard.text()
    hard.open("?tab=compare&corpus=hard&model=fake_1&method=meta_question_simple&versus=direct")
    hard.go("Head to head")
    chosen = [hard.page.locator(f"#pb-{name}").input_value() for name in ("method", "versus")]
    assert chosen == ["meta_question_simple"] * 2  # of two models, whatever was compared before


def test_arrow_keys_move_between_tabs_and_the_focus_is_seen(hard: Shown) -> None:
    hard.open()
    hard.page.locator("[role=tab][aria-selected=true]").focus()
    for key, label in (
        ("ArrowRight", "All results"),
        ("End", "Add a model"),
        ("ArrowRight", "Leaderboard"),
        ("ArrowLeft", "Add a model"),
        ("Home", "Leaderboard"),
    ):
        hard.settled(lambda key=key: hard.page.keyboard.press(key))
        hard.page.wait_for_function("label => document.activeElement.textContent === label", arg=label)
    outline = hard.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


# --- hostile texts ---

TREE = """() => [...document.querySelectorAll("#pb *, dialog *")].map((element) => [
    element.localName, [...element.attributes].map((one) => one.name),
    element.getAttribute("href") ?? element.getAttribute("src")])"""
TAGS = (
    "a article b bdi button circle code dd details dialog div dl dt em g h1 h2 h3 h4 header i input label li main mark "
    "nav option p path polygon pre rect section select small span strong summary svg table tbody td text th thead tr "
    "ul wbr"
)


def _only_harmless(page: Shown) -> None:
    for tag, attributes, target in page.page.evaluate(TREE):
        assert tag in TAGS.split()
        assert not [one for one in attributes if one.startswith("on")]
        assert target is None


def test_every_item_is_shown_whole_and_none_of_its_text_becomes_markup(hard: Shown) -> None:
    for name, text in HOSTILE.items():
        hard.open(f"?tab=items&corpus=hard&model=fake_2_&item={quote(_hostile(name))}")
        told = hard.page.locator(".pb-detail").text_content() or ""
        shown = text.translate(str.maketrans(dict[str, str | int | None]({"\0": "␀", "\a": "␇", "\u202e": "⟨U+202E⟩"})))
        assert shown in told
        assert all(method in told for method in LABELS)
        assert "Surprisal of each token" in told
        assert "fake-1" in told
        _only_harmless(hard)
    assert hard.page.evaluate("window.hacked") is None


def test_tokens_of_an_items_sentence_tell_their_string_and_log_probability(hard: Shown) -> None:
    hard.open(f"?tab=items&corpus=hard&model=fake_2_&item={quote('hard/odd/1')}")
    pieces = hard.page.locator(".pb-detail .pb-good .pb-tokenised span")
    sentence = "".join(pieces.all_inner_texts())
    assert sentence == "The pilot number 1 sees the river."
    tip = pieces.nth(4).get_attribute("data-tip") or ""
    assert re.fullmatch(r"“p”: −\d+\.\d\d nats, rank \d+", tip)
    pieces.nth(4).scroll_into_view_if_needed()
    # scrolling hides a tip, and is told a frame later
    hard.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    pieces.nth(4).dispatch_event("mouseover")
    assert hard.page.locator("#pb-tip.on").text_content() == tip
    assert hard.page.locator(".pb-detail .pb-bad .pb-tokenised span").count() == len(sentence) - 1


@pytest.mark.parametrize("tab", ["grid", "leaderboard", "compare", "versus", "agreement", "people", "download"])
def test_no_name_or_link_becomes_markup(hard: Shown, tab: str) -> None:
    rest = {"corpus": "hard", "model": "fake_2_", "by": "phenomenon", "across": "phenomenon"}
    for more in (
        {"subset": "hostile", "item": _hostile("markup")},
        {"q": "'\"><b>", "method": "<img src=x onerror='window.hacked = 1'>", "sig": '["<b>", "", ""]'},
    ):
        hard.open(f"?{urlencode({'tab': tab} | rest | more)}")
        _only_harmless(hard)
    assert hard.page.evaluate("window.hacked") is None


def _hostile(name: str) -> str:
    return f'hard/hostile/{name}"><i>'


def test_the_page_forbids_inline_script_and_other_hosts(hard_site: Path) -> None:
    page = (hard_site / "index.html").read_text()
    assert "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'" in page
    assert "http" not in page.replace("http-equiv", "")
    for file in hard_site.glob("*.js"):
        text = file.read_text()
        assert "innerHTML" not in text
        assert "eval(" not in text


def test_a_script_that_got_into_the_page_would_not_run(chromium: Browser, hard_address: str) -> None:
    page = chromium.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(hard_address)
    page.wait_for_selector(".pb-panel")
    page.evaluate(
        """() => { const made = document.createElement("script"); made.textContent = "window.hacked = 1";
        document.body.append(made);
        document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.hacked = 1'>"); }"""
    )
    page.wait_for_timeout(100)
    assert page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in text for text in refused)
    page.close()


# --- downloads ---


def _downloaded(hard: Shown) -> tuple[str, str]:
    with hard.page.expect_download() as download:
        hard.page.get_by_role("button", name="Download CSV").click()
    return Path(download.value.path()).read_text(encoding="utf-8"), download.value.suggested_filename


def test_csv_holds_the_chosen_rows_defused_signed_and_exact_and_of_no_row_there_is_none(
    hard: Shown, hard_bank: Path
) -> None:
    hard.open("?tab=download&corpus=hard&model=fake_1&subset=hostile")
    text, name = _downloaded(hard)
    assert name == "hard--fake-1--subset=hostile.csv"
    assert text.startswith("\ufeff")
    csv.field_size_limit(10**7)  # 10,000 tokens are more than Python's reader takes by default
    rows = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))
    assert len(rows) == len(HOSTILE)
    by_text = {row["target_good"] for row in rows}
    assert by_text == {("'" + t if t.startswith("=") else t) for t in HOSTILE.values()}
    assert {row["model"] for row in rows} == {"fake-1"}
    assert rows[0]["signature"].startswith("model:pairbank/fake-1@1|")
    exact_rows = pq.read_table(hard_bank / "scores/hard/fake_1.parquet").slice(60).to_pylist()
    for row, exact in zip(rows, exact_rows, strict=True):
        assert float(row["direct_delta"]) == exact["direct_delta"]
        for listed in ("meta_question_simple_logprobs", "direct_good_tokens"):
            assert (json.loads(row[listed]) if row[listed] else None) == exact[listed]
        assert row["human_good"] == ""
    hard.open("?tab=download&corpus=hard&model=fake_1&subset=even")
    text, _ = _downloaded(hard)
    table = pq.read_table(hard_bank / "scores/hard/fake_1.parquet")
    result = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))
    shortest = {row["item_id"]: row["human_good"] for row in result}
    for row in table.to_pylist():
        if row["item_id"] in shortest and row["human_good"] is not None:
            assert len(shortest[row["item_id"]]) <= 4  # 5.1, not 5.099999904632568
    hard.open("?tab=download&corpus=hard&model=fake_1&q=zebra")
    assert "No item fits" in hard.text()
    assert hard.page.get_by_role("button", name="Download CSV").count() == 0


def test_the_lines_of_python_load_a_corpus_of_an_odd_name(opened: Open, tmp_path: Path) -> None:
    rows = [
        made_item(f"own/{n}", f"Pilot {n} sees.", f"Pilot {n} see.", corpus="../my <pairs>", subset="o'ne \\ é").row()
        for n in range(4)
    ] + [made_item("own/x", "It rains.", "It rain.", corpus="../my <pairs>", subset="two").row()]
    own = datasets.Dataset.from_list(rows, features=features())
    bank = bank_of(tmp_path / "bank", own, "fake-1")
    page = opened(bank, "?tab=download")
    page.page.locator("#pb-subset").select_option(index=1)
    page.page.wait_for_selector("pre:has-text('filter')")
    code = page.page.locator(".pb-download pre").inner_text()
    assert "'my_pairs_11459350_scored'" in code
    result: dict[str, datasets.Dataset] = {}
    exec(code.replace("org/bank", str(bank)), result)  # noqa: S102 - the lines that the page offers
    assert result["rows"]["item_id"][:] == own["item_id"][:4]


# --- banks without texts, scores, people; reports; adding a model ---


def test_a_bank_without_texts_opens_on_every_tab_and_says_so(opened: Open, tmp_path: Path) -> None:
    own = tmp_path / "own.csv"
    own.write_text(
        "good,bad,human_good,human_bad\n"
        + "".join(f"Pilot {n} sees the river.,Pilot {n} see the river.,{5 + n % 3},4.5\n" for n in range(9))
    )
    items = pairbank.load_corpus(own)
    full = bank_of(tmp_path / "full", items, "fake-1", "fake-2", methods=METHODS)
    page = opened(pairbank.strip_texts(full, tmp_path / "public"))
    page.page.get_by_text("Versions and signatures").click()
    assert "texts left out" in page.page.locator(".pb-about").inner_text()
    item = items["item_id"][0]
    for tab in TABS:
        page.open(f"?tab={tab}&item={item}")
        text = page.text()
        assert "cannot be shown" not in text
        assert "sees the river" not in text
        assert ("text not published" in text) == (tab in ("compare", "items", "versus"))
    page.open("?tab=download")
    text, _ = _downloaded(page)
    assert len(text.splitlines()) == 1 + len(items)
    assert "target_good" not in text.splitlines()[0]


def test_empty_states_say_what_to_do(opened: Open, tmp_path: Path) -> None:
    page = opened(pairbank.write_bank(tmp_path / "items", corpora=[pairbank.load_corpus("starter", limit=1)]))
    told = {}
    for tab in TABS:
        page.open(f"?tab={tab}")
        told[tab] = page.text()
    for tab in ("grid", "leaderboard"):
        assert "pairbank score" in told[tab]
    for tab in ("compare", "agreement"):
        assert "Score the corpus" in told[tab]
    assert "human judgments" in told["people"]
    assert "no reports" in told["reports"]
    assert "`" not in "".join(told.values())
    assert "✓" in told["items"]
    page.open("?tab=items&q=zebra")
    assert "No item fits" in page.text()


def test_a_damaged_table_or_file_is_named_and_the_other_pages_still_work(
    opened: Open, hard_bank: Path, tmp_path: Path
) -> None:
    broken = Path(shutil.copytree(hard_bank, tmp_path / "bank"))
    (broken / "scores/hard/fake_1.parquet").write_bytes(b"not parquet")
    page = opened(broken, "?tab=items&corpus=hard&model=fake_1")
    assert "fake_1.parquet: not a readable parquet file" in page.text()
    page.go("All results")
    assert "Accuracy" in page.text()
    (tmp_path / "site/data/corpora/starter/ids.json.gz").write_bytes(b"\x1f\x8bxx")
    page.open("?tab=items&corpus=starter")
    assert "ids.json.gz is damaged; write the site again" in page.text()


def the_report_is_shown_whole(page: Shown) -> None:
    frame = page.page.frame_locator(".pb-report iframe")
    frame.locator("h1").first.wait_for()
    assert "<b>Mine</b>" in frame.locator("h1").first.inner_text()
    assert frame.locator("table").count() > 0
    assert frame.locator("[href^=javascript]").count() == 0
    figure = frame.locator("img").first
    assert str(figure.get_attribute("alt")).startswith("Accuracy")
    assert figure.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100
    saved = page.page.locator(".pb-files a").evaluate_all(
        "all => Promise.all(all.map(async (a) => [a.download, (await fetch(a.href)).status]))"
    )
    assert ["summary.csv", 200] in saved
    assert {status for _, status in saved} == {200}


def nothing_of_a_report_runs(page: Shown, report: Path) -> None:
    """Neither in the frame nor opened by itself; in another context, for the browser says what it blocks."""
    with report.open("a") as file:
        file.write("<script>document.body.dataset.ran = 1</script><img src=x onerror='document.body.dataset.ran = 1'>")
    alone = page.page.get_by_text("Open the report by itself").evaluate("link => link.href")
    browser = page.page.context.browser
    assert browser is not None
    with contextlib.closing(browser.new_context()) as context:
        other = context.new_page()
        other.goto(page.page.url)
        frame = other.frame_locator(".pb-report iframe")
        frame.locator("img[src=x]").wait_for(state="attached")
        assert frame.locator("body").get_attribute("data-ran") is None
        other.goto(alone)
        assert "<b>Mine</b>" in other.locator("h1").first.inner_text()
        assert other.locator("body").get_attribute("data-ran") is None


def test_reports_and_their_figures_stand_in_the_site_and_commands_are_filled_in(opened: Open, tmp_path: Path) -> None:
    items = pairbank.load_corpus("starter", subset="contexts", limit=2)
    scored = [pairbank.score(items, f"fake:{name}", methods=["direct"]) for name in ("a", "b", "c")]
    report = pairbank.report(scored, title="<b>Mine</b> [x](javascript:alert(1))")
    bank = pairbank.write_bank(tmp_path / "bank", scored=scored, reports={"one": report})
    page = opened(bank, "?tab=reports&report=one")
    the_report_is_shown_whole(page)
    nothing_of_a_report_runs(page, tmp_path / "site/reports/one/report.html")
    page.open("?tab=add")
    assert "pairbank merge org/bank mine --out merged" in page.text()
    assert "hf upload org/bank merged . --repo-type dataset --create-pr" in page.text()
    assert "pairbank score bank/data/starter/items.parquet --model ORG/MODEL --out starter.parquet" in page.text()
    page.open("?tab=items&item=starter/contexts/1-t1")
    marks = page.page.locator(".pb-detail mark").all_inner_texts()
    assert "afraid" in marks
    assert "fond" in marks
    assert "Corpus" not in page.page.locator(".pb-field:not([hidden]) label").all_inner_texts()


def test_size_and_training_step_are_drawn_where_they_are_known(opened: Open, tmp_path: Path) -> None:
    items = pairbank.load_corpus("starter", subset="plausibility", limit=3)
    names = ["EleutherAI/pythia-70m", "EleutherAI/pythia-160m", "HuggingFaceTB/SmolLM2-135M-Instruct"]
    names += ["mine@step10", "mine@step1000"]
    page = opened(bank_of(tmp_path / "bank", items, *names))
    assert "Accuracy against size" in page.text()
    assert "Accuracy against training step" in page.text()
    page.choose("Family", "Pythia")
    assert page.page.locator(".pb-grid tbody tr").count() == 2
    assert "Accuracy against training step" not in page.text()


# --- the head, the width of a phone, colours ---


def test_the_head_says_what_it_is_and_how_to_cite(hard: Shown) -> None:
    hard.open()
    text = hard.page.locator(".pb-head").inner_text()
    n_items = 67 + len(pairbank.load_corpus("starter", limit=1))
    assert f"{n_items} items · 2 corpora · 2 models · 3 methods" in text
    hard.page.get_by_text("Versions and signatures").click()
    hard.page.wait_for_selector(".pb-about li code")
    assert "model:pairbank/fake-1@1|" in hard.page.locator(".pb-about").inner_text()
    hard.page.get_by_text("How to cite").click()
    assert "@software{pairbank" in hard.page.locator("#pb-bibtex").inner_text()


def test_a_tap_on_a_phone_opens_over_the_list_which_stays_where_it_is(chromium: Browser, hard_address: str) -> None:
    with shown(chromium, hard_address, width=390) as page:
        page.open("?tab=items&corpus=hard")
        row = page.page.locator("tr[data-pick=item]").nth(30)
        row.scroll_into_view_if_needed()
        before = page.page.evaluate("window.scrollY")
        assert before > 1000
        page.settled(row.click)
        assert page.page.evaluate("window.scrollY") == pytest.approx(before, abs=2)
        close = page.page.locator(".pb-side .pb-close")
        assert close.is_visible()
        page.settled(close.click)
        assert page.page.evaluate("window.scrollY") == pytest.approx(before, abs=2)
        assert page.page.locator(".pb-side").is_hidden()


CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const linear = (x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = rgb(getComputedStyle(one).backgroundColor);
      if (colour[3] > 250) return colour;
    }
    return [255, 0, 255];
  };
  const bad = [];
  for (const element of document.querySelectorAll("#pb *")) {
    const text = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    const style = getComputedStyle(element);
    if (!text || !element.checkVisibility() || element.closest("option") || element.disabled) continue;
    const [a, b] = [light(rgb(element.closest("svg") ? style.fill : style.color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.push([element.localName, element.textContent.slice(0, 30), ratio.toFixed(2)]);
  }
  return bad;
}"""


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_every_tab_fits_the_window_and_can_be_read(
    chromium: Browser, hard_address: str, width: int, scheme: str
) -> None:
    item = "item=hard/odd/9"
    views = {
        "grid": "",
        "grid-method": "?tab=grid&across=method",
        "leaderboard": "?tab=leaderboard&within=hard",
        "compare": f"?tab=compare&{item}",
        "versus": "?tab=versus",
        "items": f"?tab=items&{item}&show=wrong",
        "agreement": "?tab=agreement&cell=direct~human",
        "kappa": "?tab=agreement&measure=raw_agreement",
        "people": "?tab=people",
        "reports": "?tab=reports",
        "download": "?tab=download&language=ar",
        "add": "?tab=add",
    }
    with shown(chromium, hard_address, width=width, scheme=scheme) as page:
        for name, query in views.items():
            page.open(query)
            assert page.page.evaluate("document.documentElement.scrollWidth") <= width, name
            assert len(page.text()) > 60, name
            clipped = page.page.evaluate(
                """() => [...document.querySelectorAll("svg.pb-chart text")].filter((text) => {
                    const a = text.getBoundingClientRect(), b = text.closest("svg").getBoundingClientRect();
                    return a.left < b.left - 1 || a.right > b.right + 1 || a.bottom > b.bottom + 1 || a.top < b.top - 1;
                }).map((text) => text.textContent)"""
            )
            assert not clipped, name
            assert page.page.evaluate(CONTRAST) == [], name
