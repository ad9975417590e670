"""The browser without a browser: what is read, chosen, counted, escaped and sent."""

from __future__ import annotations

import csv
import io
import json
import sys
from html.parser import HTMLParser
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pairbank
from browser_bank import HOSTILE, METHODS, write_hard_bank
from pairbank.builders.schema.columns import Item, features
from pairbank.cards.browser import agreement, charts, compare, data, export, filters, items, leaderboard, people, source
from pairbank.cards.browser.controls import controls
from pairbank.cards.browser.data import Bank, Cache, open_bank
from pairbank.cards.browser.download import python_code
from pairbank.cards.browser.header import citations, header
from pairbank.cards.browser.item import detail, filled_templates
from pairbank.cards.browser.view import SHOWN, TABS, View, resolved
from pairbank.errors import BankError, PairbankError
from pairbank.files import sha256_of_file
from pairbank.scoring.models.fake import FakeScorer
from pairbank.stats.measures.agreement import cohens_kappa, pearson

TAGS = """a article b bdi button circle code details div em g h1 h2 h3 h4 header i li mark nav p path polygon pre rect
section small span strong summary svg table tbody td text th thead tr ul wbr"""
SAFE_TAGS = frozenset(TAGS.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cache = pytest.MonkeyPatch()
    cache.setenv("PAIRBANK_CACHE", str(tmp_path_factory.mktemp("cache")))
    bank = write_hard_bank(tmp_path_factory.mktemp("hard") / "bank")
    cache.undo()
    return bank


@pytest.fixture
def bank(folder: Path) -> Bank:
    return open_bank(str(folder))


def view_of(bank: Bank, query: str) -> View:
    found = resolved(bank, View.from_query(query))
    assert not found.notices
    return found.view


class Page(HTMLParser):
    """What a browser would make of a page: its elements, its attributes and its text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        self.text += data


# --- reading ---


def test_opening_a_bank_reads_no_column_and_a_page_only_those_it_shows(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    original = pq.read_table

    def noted(path: Path, columns: list[str] | None = None) -> pa.Table:
        read.extend(columns or [path.name])
        return original(path, columns=columns)

    monkeypatch.setattr(pq, "read_table", noted)
    bank = open_bank(str(folder))
    assert read == []
    leaderboard.panel(bank, View())
    assert read == ["summary.parquet"]
    view = view_of(bank, "?tab=items&corpus=hard")
    filters.ordered(bank.table("hard", view.model), view)
    assert not [name for name in read if name.endswith(("_logprobs", "_tokens"))]


def test_the_cache_keeps_within_its_size_and_the_newest() -> None:
    cache = Cache(max_bytes=100)
    for n in range(5):
        assert cache.get(n, lambda n=n: n * 10, lambda _: 40) == n * 10  # type: ignore[misc]
    made: list[int] = []
    cache.get(4, lambda: made.append(4), lambda _: 40)
    assert made == []
    cache.get(0, lambda: made.append(0), lambda _: 40)
    assert made == [0]


def test_methods_stand_in_the_order_of_the_table_not_of_the_manifest(bank: Bank) -> None:
    assert [method.name for method in bank.table("hard", "fake_1").methods] == METHODS


def test_looking_at_everything_changes_no_byte_of_a_read_only_bank(folder: Path) -> None:
    from pairbank.cards.browser.app import rendered

    def state() -> dict[str, str]:
        return {str(p): sha256_of_file(p) for p in sorted(folder.rglob("*")) if p.is_file()}

    before = state()
    folders = [folder, *(p for p in folder.rglob("*") if p.is_dir())]
    for path in folders:
        path.chmod(0o555)
    try:
        bank = open_bank(str(folder))
        for tab in TABS:
            rendered(bank, View(tab=tab), narrow=True)
        table = bank.table("hard", "fake_1")
        assert b"".join(export.csv_chunks(table, View()))
        assert b"".join(export.parquet_chunks(table, View()))
    finally:
        for path in folders:
            path.chmod(0o755)
    assert state() == before


def test_what_is_no_bank_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(BankError, match=r"not a bank \(no manifest\.json\)"):
        open_bank(str(tmp_path))
    with pytest.raises(BankError, match=r"no folder .*absent; expected a bank's folder, or ORG/NAME"):
        open_bank(str(tmp_path / "absent"))
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(PairbankError, match=r"manifest\.json: not readable as JSON"):
        open_bank(str(tmp_path))


def test_a_damaged_table_is_named_on_the_page_and_the_other_pages_still_work(tmp_path: Path) -> None:
    from pairbank.cards.browser.app import rendered

    broken = write_hard_bank(tmp_path / "bank")
    path = broken / "scores/hard/fake_1.parquet"
    path.write_bytes(b"not parquet")
    shown = rendered(open_bank(str(broken)), View(tab="items", corpus="hard", model="fake_1"), narrow=False)[2]
    assert "fake_1.parquet: not a readable parquet file" in Page(shown).text
    assert "Accuracy" in rendered(open_bank(str(broken)), View(), narrow=False)[2]


def test_a_bank_on_the_hub_is_read_at_one_commit_and_file_by_file(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    asked: list[tuple[str, str | None]] = []

    def downloaded(name: str, relative: str, *, repo_type: str, revision: str | None) -> str:
        assert (name, repo_type) == ("org/bank", "dataset")
        asked.append((relative, revision))
        target = tmp_path / "snapshots" / "c0ffee" / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((folder / relative).read_bytes())
        return str(target)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", downloaded)
    monkeypatch.chdir(tmp_path)
    bank = open_bank("org/bank")
    assert [relative for relative, _ in asked] == ["manifest.json", "manifest.json"]
    assert asked[1][1] == bank.source.revision == "c0ffee"
    assert bank.table("hard", "fake_1").n_rows == 67
    assert asked[2:] == [("scores/hard/fake_1.parquet", "c0ffee")]


def test_the_hubs_refusals_say_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import httpx2
    import huggingface_hub
    from huggingface_hub import errors

    monkeypatch.chdir(tmp_path)
    answer = httpx2.Response(404, request=httpx2.Request("GET", "http://hub.invalid"))
    for error, told in (
        (errors.RepositoryNotFoundError("", response=answer), "no dataset of this name on the Hub that you may read"),
        (errors.RemoteEntryNotFoundError("", response=answer), "has no manifest.json; expected a bank"),
        (errors.LocalEntryNotFoundError(""), "the Hub cannot be reached; go online"),
    ):

        def refuse(*_: object, error: Exception = error, **__: object) -> str:
            raise error

        monkeypatch.setattr(huggingface_hub, "hf_hub_download", refuse)
        with pytest.raises(BankError, match=told):
            source.open_source("org/bank")


# --- choosing rows ---


def naive_rows(bank: Bank, view: View) -> list[str]:
    """Return the chosen ids by a loop over the rows in Python."""
    found = []
    for row in pq.read_table(bank.table(view.corpus, view.model).path).to_pylist():
        human = None if row["human_good"] is None else row["human_good"] - row["human_bad"]
        deltas = [np.nan if row[f"{name}_delta"] is None else row[f"{name}_delta"] for name in METHODS]
        delta = deltas[METHODS.index(view.method)]
        kept = {
            "all": True,
            "wrong": delta < 0,
            "direct": delta * row["direct_delta"] < 0,
            "people": human is not None and delta * human < 0,
            "any": any(d > 0 for d in deltas) and any(d < 0 for d in deltas),
        }[view.show]
        texts = " ".join(str(row[name]) for name in ("item_id", "target_good", "target_bad"))
        if kept and view.q.lower() in texts.lower() and view.subset in ("", row["subset"]):
            found.append(row["item_id"])
    return found


@pytest.mark.parametrize("show", SHOWN)
@pytest.mark.parametrize("rest", ["", "&q=PILOT%20number%201", "&subset=even", "&q=%D8%A7%D9%84%D9%82%D8%B7%D8%A9"])
def test_filters_keep_what_a_loop_keeps(bank: Bank, show: str, rest: str) -> None:
    view = view_of(bank, f"?tab=items&corpus=hard&model=fake_1&show={show}{rest}")
    table = bank.table("hard", "fake_1")
    rows = np.flatnonzero(filters.chosen(table, view))
    assert [row["item_id"] for row in table.rows(rows.tolist(), ["item_id"])] == naive_rows(bank, view)


def test_a_search_takes_its_text_literally(bank: Bank) -> None:
    table = bank.table("hard", "fake_1")
    assert filters.containing(table, "number 1?").sum() == 0
    assert filters.containing(table, "${window").sum() == 1


def test_sorting_puts_missing_judgments_last_both_ways(bank: Bank) -> None:
    table = bank.table("hard", "fake_1")
    for sort, sign in (("human", 1), ("-human", -1)):
        rows = filters.ordered(table, view_of(bank, f"?tab=items&corpus=hard&sort={sort}"))
        values = sign * table.delta("human")[rows]
        known = values[~np.isnan(values)]
        assert len(rows) == 67
        assert np.isnan(values[len(known) :]).all()
        assert (np.diff(known) >= 0).all()


# --- permalinks ---


def test_a_permalink_gives_back_the_view_it_was_made_from(bank: Bank) -> None:
    from pairbank.cards.browser.app import link

    asked = "?tab=items&corpus=hard&model=fake_2_&show=wrong&subset=odd&q=a%26b%20%22%D8%A7&sort=-direct&page=2"
    view = view_of(bank, asked)
    assert view.query == View.from_query(view.query).query
    assert resolved(bank, View.from_query(link(bank, view))).view == view
    assert view_of(bank, link(bank, view_of(bank, ""))) == view_of(bank, "")


def test_a_link_from_another_bank_is_mended_and_says_so(bank: Bank) -> None:
    found = resolved(bank, View.from_query("?tab=items&corpus=gone&model=%3Cb%3E&show=x&page=99999999999&subset=x"))
    assert found.view.corpus == "hard"
    assert found.view.page == 1
    assert len(found.notices) == 4
    assert "corpus “gone”" in found.notices[0]
    again = resolved(bank, View.from_query("?tab=items&corpus=hard&item=hard/none/1"))
    assert again.view.item == ""
    assert again.notices == ("There is no item “hard/none/1” in hard.",)


def test_a_change_of_corpus_forgets_what_belonged_to_the_old_one() -> None:
    view = View(tab="items", corpus="a", subset="s", item="a/1", sort="-direct", page=4, q="word")
    changed = view.having(corpus="b")
    assert (changed.subset, changed.item, changed.sort, changed.page, changed.q) == ("", "", "", 1, "word")


def test_controls_that_offer_no_choice_are_not_there(bank: Bank) -> None:
    view = view_of(bank, "?tab=items&corpus=hard")
    states = controls(bank, view)
    assert states["phenomenon"].is_visible
    assert ("Method and direct disagree", "direct") in states["show"].choices
    assert not states["versus"].is_visible
    starter = view_of(bank, "?tab=items&corpus=starter")
    assert not controls(bank, starter)["method"].is_visible


# --- numbers ---


def test_r_on_the_plot_is_r_of_the_summary(bank: Bank) -> None:
    table = bank.table("hard", "fake_1")
    for method, versus, metric in (
        ("meta_question_simple", "direct", "pearson"),
        ("direct", "human", "pearson_human"),
    ):
        view = view_of(bank, f"?tab=compare&corpus=hard&model=fake_1&method={method}&versus={versus}")
        summary = bank.summary
        [row] = summary[
            (summary["model"] == "fake-1")
            & (summary["corpus"] == "hard")
            & (summary["group_by"] == "all")
            & (summary["method"] == method)
            & (summary["metric"] == metric)
        ].to_dict("records")
        found = compare.compared(table, view).r
        assert [found.value, found.low, found.high, found.n] == pytest.approx(
            [row["value"], row["low"], row["high"], row["n"]], abs=1e-12
        )


def test_words_are_compared_by_their_log_probability(tmp_path: Path) -> None:
    rows = [
        Item(
            item_id=f"words/all/{n}",
            corpus="words",
            subset="all",
            language="en",
            task="word_prediction",
            context_good=f"The {n} boats lay in the",
            target_good="harbour" if n % 2 else "bay",
        ).row()
        for n in range(20)
    ]
    words = datasets.Dataset.from_list(rows, features=features())
    prompt = "hl23_word_pred_meta_question_simple"
    scored = pairbank.score(words, FakeScorer(), methods=["direct", prompt])
    bank = open_bank(str(pairbank.write_bank(tmp_path / "bank", scored=[scored])))
    view = view_of(bank, "?tab=compare&corpus=words")
    assert (view.method, view.versus) == (prompt, "direct")
    summary = bank.summary[(bank.summary["metric"] == "pearson_logprob") & (bank.summary["group_by"] == "all")]
    found = compare.compared(bank.table("words", "fake"), view).r
    assert [found.value, found.n] == pytest.approx([summary["value"].item(), 20], abs=1e-12)
    page = Page(compare.panel(bank.table("words", "fake"), view, narrow=False)).text
    assert "log P, direct (nats)" in page
    assert "both right" not in page


def test_matrices_are_those_of_the_statistics_pair_by_pair() -> None:
    rng = np.random.default_rng(7)
    deltas = rng.normal(size=(300, 5)) + rng.normal(size=(300, 1)) + 50
    deltas[:, :3] -= 50
    deltas[rng.random(deltas.shape) < 0.2] = np.nan
    deltas[:40, 1] = 0.0
    names = tuple("abcde")
    for measure, reference in (("pearson", pearson), ("kappa", cohens_kappa)):
        found = agreement.matrix(names, deltas, measure)
        for i in range(5):
            for j in range(5):
                both = np.isfinite(deltas[:, i]) & np.isfinite(deltas[:, j])
                if i == j or not both.any():
                    continue
                expected = reference(deltas[both, i], deltas[both, j])
                assert found.values[i, j] == pytest.approx(expected.value, abs=1e-10, nan_ok=True), (measure, i, j)
                assert found.n[i, j] == expected.n


def test_a_method_that_never_varies_has_no_correlation() -> None:
    deltas = np.stack([np.full(50, 2.5), np.linspace(-1, 1, 50)], axis=1)
    assert np.isnan(agreement.matrix(("flat", "line"), deltas, "pearson").values[0, 1])
    assert np.isnan(agreement.matrix(("flat", "line"), deltas, "kappa").values[0, 1])


def test_every_point_is_counted_in_the_nearest_hexagon() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.random(2_000), rng.random(2_000)
    grid = charts.hexagons(x, y)
    px, py = x * charts.PLOT_WIDTH, (1 - y) * charts.PLOT_HEIGHT
    distances = np.hypot(px[:, None] - grid.x, py[:, None] - grid.y)
    own = distances[np.arange(2_000), grid.of_point]
    assert np.allclose(own, distances.min(axis=1))
    assert own.max() <= charts._HEX_RADIUS + 1e-9
    assert len(set(grid.names)) == len(grid.names)


def test_the_leaderboard_shows_the_summarys_figures_and_sorts(bank: Bank) -> None:
    view = view_of(bank, "?within=hard&sort=accuracy")
    board = leaderboard.board(bank, view)
    assert board["accuracy"].is_monotonic_increasing
    assert set(board["method"]) == {*METHODS, "human"}
    assert list(board["method"]).count("human") == 1
    summary = bank.summary
    [row] = summary[
        (summary["model"] == "fake-1")
        & (summary["method"] == "direct")
        & (summary["metric"] == "accuracy")
        & (summary["group_by"] == "all")
    ].to_dict("records")
    text = " ".join(Page(leaderboard.panel(bank, view)).text.split())
    figures = [f"{row[name]:.2f}".removeprefix("0") for name in ("value", "low", "high")]
    assert "{} [{}, {}]".format(*figures) in text
    by_subset = leaderboard.board(bank, view_of(bank, "?within=hard&by=subset&group=odd"))
    assert set(by_subset["group"]) == {"odd"}


def test_a_task_is_limited_to_its_items_where_the_results_are_broken_down_by_task(bank: Bank) -> None:
    summary = bank.summary
    whole = summary[(summary["corpus"] == "hard") & (summary["group_by"] == "all")]
    one = whole.assign(group_by="task", group="sentence_pair", n=7)
    other = whole.assign(group_by="task", group="concept_pair", n=3)
    before = leaderboard.board(bank, View())
    bank.summary = pd.concat([summary, one, other], ignore_index=True)
    after = leaderboard.board(bank, View(task="sentence_pair"))
    assert set(after["n"]) == {7}
    assert len(after) == len(before)
    assert set(leaderboard.board(bank, View())["n"]) == set(before["n"])


def test_people_are_correlated_with_every_method(bank: Bank) -> None:
    found = people.correlations(bank, View())
    assert set(found["method"]) == set(METHODS)
    assert set(found["corpus"]) == {"hard"}
    assert "no items with human judgments" in people.panel(bank, View(within="starter"))


# --- what is shown ---


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("tab", TABS)
def test_no_text_of_an_item_becomes_markup(bank: Bank, name: str, tab: str) -> None:
    from pairbank.cards.browser.app import rendered

    item = f'hard/hostile/{name}"><i>'
    view = View(tab=tab, corpus="hard", model="fake_2_", subset="hostile", item=item, by="phenomenon", q="'\"><b>")
    page = Page(rendered(bank, view, narrow=False)[2])
    view = view.having(q="", item=item)
    both = Page(rendered(bank, view, narrow=False)[2])
    for shown in (page, both):
        assert shown.tags <= SAFE_TAGS
        assert not [found for found in shown.attributes if found.startswith("on")]
        assert all(link.startswith("pairbank/") for link in shown.links)


def test_an_item_is_shown_whole_with_every_score(bank: Bank) -> None:
    for name, text in HOSTILE.items():
        view = view_of(bank, f"?tab=items&corpus=hard&model=fake_1&item=hard/hostile/{name}%22%3E%3Ci%3E")
        shown = Page(detail(bank, bank.table("hard", "fake_1"), view)).text
        assert text.replace("\0", "␀").replace("\a", "␇") in shown
        for method in METHODS:
            assert method in shown
        assert "Surprisal of each token" in shown
        assert "fake<2>" in shown


def test_the_question_is_shown_as_it_was_asked(bank: Bank) -> None:
    table = bank.table("hard", "fake_1")
    position = table.position("hard/odd/1")
    assert position is not None
    method = table.methods[1]
    [first, second] = filled_templates(method, table.row(position)).values()
    assert first.index("sees the river") < first.index("see the river")
    assert second.index("see the river") < second.index("sees the river")
    other = data.MethodFacts(name=method.name, layout=method.layout, paper="", sha256="another wording")
    assert filled_templates(other, table.row(position)) == {}


def test_items_without_published_text_are_shown_by_id(bank: Bank, tmp_path: Path) -> None:
    table = bank.table("hard", "fake_1")
    bare = pq.read_table(table.path).drop_columns(["target_good", "target_bad", "context_good", "context_bad"])
    pq.write_table(bare, tmp_path / "bare.parquet")
    closed = data.Table(
        path=tmp_path / "bare.parquet", corpus="hard", model="fake-1", signature=table.signature, cache=Cache()
    )
    view = View(tab="items", corpus="hard", model="fake_1", method="direct", item="hard/odd/1")
    text = Page(items.panel(bank, closed, view)).text
    assert "text not published" in text
    assert "forbid publishing" in text
    assert compare.panel(closed, View(method="direct", versus="meta_question_simple"), narrow=False)


def test_a_bank_without_texts_opens_on_every_tab_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pairbank.cards.browser.app import rendered

    monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / "cache"))
    rows = [item.row() for item in _own_items("../my <pairs>")]
    own = datasets.Dataset.from_list(rows, features=features())
    scored = [pairbank.score(own, FakeScorer(name=name), methods=METHODS) for name in ("fake-1", "fake-2")]
    full = pairbank.write_bank(tmp_path / "full", scored=scored)
    closed = open_bank(str(pairbank.strip_texts(full, tmp_path / "public")))
    assert "texts left out" in Page(header(closed)).text
    for tab in TABS:
        page = Page(rendered(closed, View(tab=tab, item="own/1"), narrow=False)[2]).text
        assert "cannot be shown" not in page
        assert "sees the river" not in page
        assert ("text not published" in page) == (tab in ("compare", "items"))
        assert ("Pearson" in page) == (tab in ("people", "agreement"))
    view = resolved(closed, View(tab="download")).view
    table = closed.table(view.corpus, view.model)
    sent = b"".join(export.csv_chunks(table, view)).decode()
    assert len(sent.splitlines()) == 1 + len(own)
    assert "target_good" not in sent.splitlines()[0]
    exact = pq.read_table(io.BytesIO(b"".join(export.parquet_chunks(table, view))))
    assert exact["direct_delta"].to_pylist() == scored[0].dataset["direct_delta"][:]


def test_the_lines_of_python_load_a_corpus_of_an_odd_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / "cache"))
    rows = [item.row() for item in _own_items("../my <pairs>")]
    own = datasets.Dataset.from_list(rows, features=features())
    scored = pairbank.score(own, FakeScorer(name="fake-1"), methods=["direct"])
    bank = open_bank(str(pairbank.write_bank(tmp_path / "bank", scored=[scored])))
    for slug, config in (("fake_1", "my_pairs_11459350_scored"), ("", "my_pairs_11459350")):
        code = python_code(bank, bank.table("../my <pairs>", slug), View(corpus="../my <pairs>", model=slug))
        assert f", {config!r}, " in code
        found: dict[str, datasets.Dataset] = {}
        exec(code, found)  # noqa: S102 - the lines that the page offers
        assert found["rows"]["item_id"][:] == own["item_id"][:]


def test_a_manifest_cannot_name_a_file_outside_the_bank(tmp_path: Path) -> None:
    from pairbank.cards.browser.app import rendered

    pairbank.write_bank(tmp_path / "bank", corpora=[pairbank.load_corpus("starter", limit=1)])
    path = tmp_path / "bank" / "manifest.json"
    manifest = json.loads(path.read_text())
    pq.write_table(pa.table({"item_id": ["secret"]}), tmp_path / "secret.parquet")
    signature = {"model": {"name": "m"}, "corpus": {"items_sha256": ""}, "methods": {}}
    path.write_text(json.dumps(manifest | {"scores": {"starter": {"../../../secret": signature}}}))
    with pytest.raises(BankError, match=r"'\.\./\.\./\.\./secret' cannot name a split"):
        open_bank(str(tmp_path / "bank")).table("starter", "../../../secret")
    shown = rendered(open_bank(str(tmp_path / "bank")), View(tab="items"), narrow=False)[2]
    assert "cannot name a split" in Page(shown).text
    with pytest.raises(BankError, match="cannot name a split"):
        pairbank.check_bank(tmp_path / "bank")


def _own_items(corpus: str) -> list[Item]:
    return [
        Item(
            item_id=f"own/{n}",
            corpus=corpus,
            subset="one",
            language="en",
            task="sentence_pair",
            target_good=f"The pilot number {n} sees the river.",
            target_bad=f"The pilot number {n} see the river.",
            context_good="",
            context_bad="",
            human_good=5.0 + n % 3,
            human_bad=4.5,
            human_scale="likert7",
        )
        for n in range(9)
    ]


def test_contexts_that_differ_are_marked_and_a_single_corpus_is_not_offered(tmp_path: Path) -> None:
    corpus = pairbank.load_corpus("starter", subset="contexts", limit=1)
    scored = pairbank.score(corpus, FakeScorer(name="fake-1"), methods=["direct"])
    bank = open_bank(str(pairbank.write_bank(tmp_path / "bank", scored=[scored])))
    view = resolved(bank, View(tab="items", item="starter/contexts/1-t1")).view
    shown = detail(bank, bank.table(view.corpus, view.model), view)
    assert "Mara is <mark>afraid</mark> of heights." in shown
    assert "Mara is <mark>fond</mark> of heights." in shown
    assert not controls(bank, View())["within"].is_visible


def test_a_row_of_a_long_table_is_read_without_the_others(bank: Bank, tmp_path: Path) -> None:
    short = bank.table("hard", "fake_1")
    pq.write_table(pq.read_table(short.path), tmp_path / "long.parquet", row_group_size=16)
    long = data.Table(
        path=tmp_path / "long.parquet", corpus="hard", model="fake-1", signature=short.signature, cache=Cache()
    )
    for position in (0, 15, 16, 40, 63, 64, short.n_rows - 1):
        assert repr(long.row(position)) == repr(short.row(position))
    assert (long.path, "target_good") not in long.cache


def test_empty_states_say_what_to_do(bank: Bank, tmp_path: Path) -> None:
    from pairbank.cards.browser.app import rendered

    pairbank.write_bank(tmp_path / "items", corpora=[pairbank.load_corpus("starter", limit=1)])
    unscored = open_bank(str(tmp_path / "items"))
    told = {tab: Page(rendered(unscored, View(tab=tab), narrow=False)[2]).text for tab in TABS}
    assert "pairbank score" in told["leaderboard"]
    assert "Score the corpus" in told["compare"]
    assert "Score the corpus" in told["agreement"]
    assert "human judgments" in told["people"]
    assert "The cat" in told["items"] or "✓" in told["items"]
    nothing = view_of(bank, "?tab=items&corpus=hard&q=zebra")
    assert "No item fits" in items.panel(bank, bank.table("hard", nothing.model), nothing)


def test_the_head_says_what_it_is_and_how_to_cite(bank: Bank) -> None:
    text = Page(header(bank)).text
    n_items = 67 + len(pairbank.load_corpus("starter", limit=1))
    assert f"{n_items} items · 2 corpora · 2 models · 3 methods" in text
    assert bank.source.revision[:12] in text
    assert "model:pairbank/fake-1@1|" in text
    assert citations(bank).count("@software{pairbank") == 1


# --- downloads ---


def test_csv_holds_the_chosen_rows_defused_and_signed(bank: Bank) -> None:
    view = view_of(bank, "?tab=download&corpus=hard&model=fake_1&subset=hostile")
    text = b"".join(export.csv_chunks(bank.table("hard", "fake_1"), view)).decode()
    csv.field_size_limit(10**7)  # 10,000 tokens are more than Python's reader takes by default
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert len(rows) == len(HOSTILE)
    by_text = {row["target_good"] for row in rows}
    assert by_text == {("'" + t if t.startswith("=") else t) for t in HOSTILE.values()}
    assert {row["signature"] for row in rows} == {rows[0]["signature"]}
    assert rows[0]["signature"].startswith("model:pairbank/fake-1@1|")
    source_rows = pq.read_table(bank.table("hard", "fake_1").path).slice(60).to_pylist()
    for row, exact in zip(rows, source_rows, strict=True):
        assert float(row["direct_delta"]) == exact["direct_delta"]
        listed = row["meta_question_simple_logprobs"]
        assert (json.loads(listed) if listed else None) == exact["meta_question_simple_logprobs"]
        assert row["human_good"] == ""


def test_parquet_is_exact_and_says_which_filters_were_on(bank: Bank) -> None:
    view = view_of(bank, "?tab=download&corpus=hard&model=fake_1&subset=odd")
    made = pq.read_table(io.BytesIO(b"".join(export.parquet_chunks(bank.table("hard", "fake_1"), view))))
    exact = pq.read_table(bank.table("hard", "fake_1").path)
    kept = exact.filter(pa.compute.equal(exact["subset"], "odd"))
    assert made.drop_columns(["model", "signature"]).to_pylist() == kept.to_pylist()
    assert json.loads(made.schema.metadata[b"pairbank_filter"]) == {"subset": "odd"}
    assert json.loads(made.schema.metadata[b"pairbank"])["model"]["name"] == "fake-1"


def test_no_row_still_makes_a_file_with_its_columns(bank: Bank) -> None:
    table = bank.table("hard", "fake_1")
    view = view_of(bank, "?tab=download&corpus=hard&model=fake_1&q=zebra")
    [line] = b"".join(export.csv_chunks(table, view)).decode().splitlines()
    assert line.startswith('"item_id","corpus"')
    assert pq.read_table(io.BytesIO(b"".join(export.parquet_chunks(table, view)))).num_rows == 0


def test_the_leaderboard_as_csv_is_defused(bank: Bank) -> None:
    text = export.summary_csv(bank, view_of(bank, "?by=phenomenon")).decode()
    assert "<u>odd</u>" in text
    assert next(csv.DictReader(io.StringIO(text)))["n"]


def test_gradios_auth_is_refused_since_it_would_not_guard_the_downloads() -> None:
    from pairbank.cards.browser.app import BrowserBlocks

    page = BrowserBlocks.__new__(BrowserBlocks)  # gradio's own set-up opens an event loop that it never closes
    with pytest.raises(ValueError, match="does not guard the downloads"):
        page.launch(auth=("user", "secret"))


# --- the command ---


def test_without_gradio_the_command_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pairbank.cli.browse import browse

    monkeypatch.delitem(sys.modules, "pairbank.cards.browser.app", raising=False)
    monkeypatch.setitem(sys.modules, "gradio", None)
    with pytest.raises(PairbankError, match=r"needs gradio; pip install 'pairbank\[browse\]'"):
        browse(str(folder), no_open=True)


def test_a_bank_that_is_not_there_is_one_message(tmp_path: Path) -> None:
    from pairbank.cli.browse import browse

    with pytest.raises(BankError, match="expected a bank's folder, or ORG/NAME"):
        browse(str(tmp_path / "gone"), no_open=True)
