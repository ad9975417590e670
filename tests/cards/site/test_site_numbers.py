"""What the page computes itself, against pairbank.stats, difflib and naive loops over the tables."""

from __future__ import annotations

import difflib
import itertools
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import datasets
import numpy as np
import pyarrow.parquet as pq
import pytest

import pairbank
from bank_fixtures import bank_of
from made_items import made_item
from pairbank.builders.dataset import features
from pairbank.cards.site.corpus_data import _prompt
from pairbank.scoring.prompts.prompt import fill, in_language, slot_values
from pairbank.scoring.prompts.registry import prompts
from pairbank.stats.measures.agreement import cohens_kappa, pearson, raw_agreement
from pairbank.stats.measures.paired_tests import compare, compare_credits, mcnemar_exact, mcnemar_mid_p
from site_bank import METHODS
from site_pages import Shown, serving, shown

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from pairbank.stats.estimates.estimate import Estimate

Run = Callable[..., Any]
FREEDOMS = (1, 1.5, 2, 3, 7.3, 25, 120, 299, 301, 5000)
SHOWN = ("all", "direct", "any", "wrong", "people")


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON is any
    """Return numbers as JSON can carry them."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return [_plain(x) for x in value] if isinstance(value, list) else value


def _arrays(rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    result = [(np.arange(1.0, 6.0), np.array([2.0, 1, 4, 3, 5]))]
    for n in (2, 3, 4, 5, 9, 40, 700):
        x = rng.standard_t(3, size=n)
        result.append((x, x + rng.standard_t(2, size=n)))
    result.append((np.arange(6.0), np.ones(6)))
    result.append((np.arange(6.0), 2 * np.arange(6.0)))
    result.append((np.append(np.zeros(8), 1.0), np.arange(9.0)))
    heavy = rng.standard_cauchy(size=60)
    result.append((heavy, heavy + rng.standard_cauchy(size=60)))
    ties = np.sign(rng.normal(size=80).round())
    result.append((ties, np.roll(ties, 1)))
    return result


def _same(result: dict[str, Any], expected: Estimate, tolerance: float = 1e-9) -> None:
    for name in ("value", "low", "high"):
        mine, theirs = result[name], getattr(expected, name)
        assert (mine is None) == math.isnan(theirs), (result, expected)
        if mine is not None:
            assert mine == pytest.approx(theirs, abs=tolerance, rel=tolerance), (name, result, expected)
    assert result["n"] == expected.n
    assert (result.get("reason") or None) == expected.reason


def test_the_pages_statistics_are_those_of_the_reports(in_node: Run) -> None:
    arrays = _arrays(np.random.default_rng(5))
    script = """
        const clean = (one) => JSON.parse(JSON.stringify(one));
        return value.map(([x, y]) => clean([statistics.pearson(x, y), statistics.kappa(x, y),
            statistics.compare(statistics.credits(x), statistics.credits(y)),
            statistics.matrix([x, y], "raw_agreement").values[0][1]]));
    """
    result = in_node(script, [[x.tolist(), y.tolist()] for x, y in arrays])
    for (x, y), (r, kappa, pair, same) in zip(arrays, result, strict=True):
        _same(r, pearson(x, y))
        _same(kappa, cohens_kappa(x, y))
        expected = compare(x, y)
        _same(pair["difference"], expected.difference, 1e-12)
        assert (pair["onlyA"], pair["onlyB"], pair["ties"]) == (expected.n_only_a, expected.n_only_b, expected.n_ties)
        for name, number in (("exact", expected.p_exact), ("mid", expected.p_mid), ("detectable", expected.detectable)):
            assert pair[name] == (None if math.isnan(number) else pytest.approx(number, rel=1e-9))
        value = raw_agreement(x, y).value
        assert same == (None if math.isnan(value) else pytest.approx(value, abs=1e-12))


def test_gains_of_any_size_have_the_test_of_the_reports(in_node: Run) -> None:
    rng = np.random.default_rng(7)
    pairs = [rng.choice([0.0, 1 / 3, 0.5, 2 / 3, 1.0], (2, n)) for n in (5, 40, 3_000)]
    result = in_node("return value.map(([x, y]) => statistics.compare(x, y))", [pair.tolist() for pair in pairs])
    for (x, y), one in zip(pairs, result, strict=True):
        expected = compare_credits(x, y)
        _same(one["difference"], expected.difference, 1e-12)
        assert (one["exact"], one["mid"]) == pytest.approx((expected.p_exact, expected.p_mid), rel=1e-6)
        assert one["accuracyA"] == pytest.approx(x.mean())


def test_quantiles_and_tails_hold_where_they_are_hard(in_node: Run) -> None:
    from scipy import special

    counts = [(0, 1), (3, 3), (1, 8), (40, 70), (900, 1_000), (33_000, 33_900), (5, 4_000)]
    script = """return [value[0].map(statistics.studentQuantile),
        value[1].map(([a, b]) => [statistics.mcnemarExact(a, b), statistics.mcnemarMid(a, b)])];"""
    quantiles, tails = in_node(script, [list(FREEDOMS), counts])
    assert quantiles == pytest.approx([special.stdtrit(v, 0.975) for v in FREEDOMS], rel=2e-9)
    for (a, b), (exact, mid) in zip(counts, tails, strict=True):
        assert exact == pytest.approx(mcnemar_exact(a, b), rel=1e-8, abs=1e-300)
        assert mid == pytest.approx(mcnemar_mid_p(a, b), rel=1e-8, abs=1e-300)


def test_matrices_are_those_of_the_statistics_pair_by_pair(in_node: Run) -> None:
    rng = np.random.default_rng(7)
    deltas = rng.normal(size=(300, 5)) + rng.normal(size=(300, 1)) + 50
    deltas[:, :3] -= 50
    deltas[rng.random(deltas.shape) < 0.2] = np.nan
    deltas[:40, 1] = 0.0
    script = """
        const columns = value[0].map((column) => Float64Array.from(column, (x) => x ?? NaN));
        return JSON.parse(JSON.stringify(statistics.matrix(columns, value[1])));
    """
    for measure, reference in (("pearson", pearson), ("kappa", cohens_kappa)):
        result = in_node(script, [_plain(deltas.T.tolist()), measure])
        for i in range(5):
            for j in range(5):
                if i == j:
                    continue
                both = np.isfinite(deltas[:, i]) & np.isfinite(deltas[:, j])
                expected = reference(deltas[both, i], deltas[both, j])
                mine = result["values"][i][j]
                assert (math.nan if mine is None else mine) == pytest.approx(expected.value, abs=1e-10, nan_ok=True)
                assert result["n"][i][j] == expected.n
    flat = in_node(script, [[[2.5] * 50, list(np.linspace(-1, 1, 50))], "pearson"])
    assert flat["values"][0][1] is None


def test_every_point_is_counted_in_the_nearest_hexagon(in_node: Run) -> None:
    rng = np.random.default_rng(3)
    x, y = rng.random(2_000), rng.random(2_000)
    script = """const found = charts.hexagons(value[0], value[1]);
        return [Array.from(found.codes), found.cells, charts.PLOT_WIDTH, charts.PLOT_HEIGHT];"""
    codes, cells, width, height = in_node(script, [x.tolist(), y.tolist()])
    place = {cell["code"]: k for k, cell in enumerate(cells)}
    px, py = x * width, (1 - y) * height
    distances = np.hypot(px[:, None] - [c["x"] for c in cells], py[:, None] - [c["y"] for c in cells])
    own = distances[np.arange(2_000), [place[code] for code in codes]]
    assert np.allclose(own, distances.min(axis=1))
    assert own.max() <= 9 + 1e-9
    assert sum(cell["n"] for cell in cells) == 2_000
    assert len({cell["name"] for cell in cells}) == len(cells)


def test_numbers_are_written_as_in_the_card(in_node: Run) -> None:
    values = [0.125, 0.375, 0.625, 0.875, 0.716, 0.145, 1.0, 0.0, 2.675, 64.6708, 0.005, 1.005, 12.5, 99.995]
    result = in_node("return value.map((x) => text.fixed(x, 2))", values)
    assert result == [f"{x:.2f}" for x in values]
    script = """return [text.share(0.716), text.share(-0.1), text.share(1), text.share(NaN), text.interval(0.7, 0.741),
        text.nats(6.398), text.nats(-0.001), text.nats(0), text.logprob(-64.6708), text.clipped("abcdef", 4)]"""
    texts = ["0.72", "−0.10", "1.00", "–", "[0.70, 0.74]", "+6.40", "−0.00", "0.00", "−64.67", "abc…"]
    assert in_node(script) == texts
    assert in_node("return text.niceTicks(-3.2, 11)") == [0, 5, 10]
    tiny = [2e-7, -4.4e-4, -0.004, 0.0051, 5e-10, -5e-10]
    shown = ["+0.00", "−0.00", "−0.00", "+0.01", "0.00", "0.00"]
    assert in_node("return value.map(text.nats)", tiny) == shown
    assert in_node("return value.map(text.logprob)", [-2e-7, 0]) == ["−0.00", "0.00"]


def test_ticks_never_run_into_the_axis(in_node: Run) -> None:
    script = """return value.map(([low, high]) => {
        const ticks = text.niceTicks(low, high);
        const { texts, label } = text.tickTexts(ticks, "Δ direct (nats)");
        return [texts, label];
    })"""
    result = in_node(script, [[-4e-7, 2.1e-7], [-0.06, 0.05], [-3, 11], [0, 2_400_000]])
    assert result[0] == [["−4", "−2", "0", "2"], "Δ direct (10⁻⁷ nats)"]
    assert result[1] == [["−0.06", "−0.04", "−0.02", "0.00", "0.02", "0.04"], "Δ direct (nats)"]
    assert result[3] == [["0.0", "0.5", "1.0", "1.5", "2.0"], "Δ direct (10⁶ nats)"]
    assert all(len(text) <= 6 for texts, _ in result for text in texts)


def test_the_test_of_two_models_can_be_done_again_from_the_counts_that_are_shown(in_node: Run) -> None:
    # Ties: an item on which one of both ties is half a gain. By hand: all signs of 3 whole and 2 half gains.
    first = [1.0, 1.0, -1.0, 0.0, 1.0, 0.0, 1.0]
    second = [-1.0, -1.0, 1.0, -1.0, 0.0, 0.0, 1.0]
    result = in_node(
        "return [statistics.compare(...value.map(statistics.credits)), statistics.signs(...value)]", [first, second]
    )
    assert result[1] == [[1, 1, 2], [0, 1, 1], [1, 0, 0]]
    assert [result[0][name] for name in ("onlyA", "onlyB", "halfA", "halfB")] == [2, 1, 2, 0]
    sizes = [1, 1, 1, 0.5, 0.5]
    sums = [sum(s * x for s, x in zip(signs, sizes, strict=True)) for signs in itertools.product((-1, 1), repeat=5)]
    assert result[0]["exact"] == pytest.approx(sum(abs(total) >= 2 for total in sums) / len(sums), abs=1e-12)


# --- rows, against a loop in Python ---


def naive_rows(path: Path, show: str, method: str, subset: str, q: str) -> list[str]:
    result = []
    for row in pq.read_table(path).to_pylist():
        human = None if row["human_good"] is None else row["human_good"] - row["human_bad"]
        deltas = [np.nan if row[f"{name}_delta"] is None else row[f"{name}_delta"] for name in METHODS]
        delta = deltas[METHODS.index(method)]
        kept = {
            "all": True,
            "wrong": delta < 0,
            "direct": delta * row["direct_delta"] < 0,
            "people": human is not None and delta * human < 0,
            "any": any(d > 0 for d in deltas) and any(d < 0 for d in deltas),
        }[show]
        texts = " ".join(str(row[name]) for name in ("item_id", "target_good", "target_bad"))
        if kept and q.lower() in texts.lower() and subset in ("", row["subset"]):
            result.append(row["item_id"])
    return result


ROWS = """
    const bank = await open_bank();
    const found = [];
    for (const query of value) {
        const {view: shown, table} = await view.resolvedRows(bank, view.fromQuery(query));
        const order = await rows.ordered(table, shown);
        found.push((await table.rows(order, ["item_id"])).map((row) => row.item_id));
    }
    return found;
"""


def test_filters_keep_what_a_loop_keeps(in_node: Run, hard_bank: Path, hard_site: Path) -> None:
    path = hard_bank / "scores/hard/fake_1.parquet"
    cases = [
        (show, subset, q)
        for show in SHOWN
        for subset, q in (
            ("", ""),
            ("", "PILOT number 1"),
            ("even", ""),
            ("", "القطة"),
            ("", "number 1?"),
            ("", "${window"),
        )
    ]
    method = METHODS[1]
    queries = [
        f"?tab=items&corpus=hard&model=fake_1&method={method}&show={s}&subset={sub}&q={quote(q)}" for s, sub, q in cases
    ]
    for case, result in zip(cases, in_node(ROWS, queries, site=hard_site), strict=True):
        show, subset, q = case
        assert result == naive_rows(path, show, method, subset, q), case


def test_sorting_puts_missing_judgments_last_both_ways(in_node: Run, hard_bank: Path, hard_site: Path) -> None:
    rows = pq.read_table(hard_bank / "scores/hard/fake_1.parquet").to_pylist()
    human = {
        row["item_id"]: np.nan if row["human_good"] is None else row["human_good"] - row["human_bad"] for row in rows
    }
    queries = ["?tab=items&corpus=hard&sort=human", "?tab=items&corpus=hard&sort=-human"]
    for result, sign in zip(in_node(ROWS, queries, site=hard_site), (1, -1), strict=True):
        values = sign * np.array([human[name] for name in result])
        known = values[~np.isnan(values)]
        assert len(result) == 67
        assert np.isnan(values[len(known) :]).all()
        assert (np.diff(known) >= 0).all()


def test_r_on_the_plot_is_r_of_the_summary(hard: Shown, hard_bank: Path) -> None:
    summary = pq.read_table(hard_bank / "results/summary.parquet").to_pandas()
    for method, versus, metric in (("meta_question_simple", "direct", "pearson"), ("direct", "human", "pearson_human")):
        one = summary[(summary["model"] == "fake-1") & (summary["group_by"] == "all") & (summary["method"] == method)]
        [row] = one[(one["metric"] == metric) & (one["corpus"] == "hard")].to_dict("records")
        hard.open(f"?tab=compare&corpus=hard&model=fake_1&method={method}&versus={versus}")
        figures = [_shown(row[name]) for name in ("value", "low", "high")]
        title = hard.page.locator(".pb-compare h2").inner_text()
        assert title == "r = {} [{}, {}], n = {}".format(*figures, row["n"])


def _shown(value: float) -> str:
    text = f"{abs(value):.2f}"
    return f"−{text}" if value < 0 and float(text) else text


# --- texts ---


def test_differences_are_marked_as_difflib_finds_them(in_node: Run) -> None:
    pairs = [
        ("The cat sleeps.", "The cat sleep."),
        ("Which coat did he buy it?", "Which did he buy?"),
        ("他昨天买了书", "他昨天书买了"),
        ("a b a b a", "b a b a b"),
        ("", "x"),
        ("same", "same"),
        ("🙂 ok.", "🙃 ok!"),
    ]
    pieces = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]|\w+|\s+|[^\w\s]")
    for (good, bad), result in zip(
        pairs, in_node("return value.map(([a, b]) => text.bothMarked(a, b))", pairs), strict=True
    ):
        a, b = pieces.findall(good), pieces.findall(bad)
        expected: list[list[str]] = [[], []]
        for kind, i0, i1, j0, j1 in difflib.SequenceMatcher(a=a, b=b, autojunk=False).get_opcodes():
            if kind != "equal":
                for side, part in enumerate(("".join(a[i0:i1]), "".join(b[j0:j1]))):
                    expected[side] += [part.strip()] if part.strip() else []
        for side, text in enumerate((good, bad)):
            assert "".join(part for part, _ in result[side]) == text
            assert [part for part, marked in result[side] if marked] == expected[side], (good, bad)


def test_long_repeated_texts_are_marked_at_once(in_node: Run) -> None:
    """The search for equal blocks would take their length to the third power: 600 letters, minutes."""
    pair = ["头" + "他书" * 299 + "尾", "首" + "书他" * 299 + "末"]
    milliseconds, left = in_node(
        "const start = performance.now(); const [left] = text.bothMarked(...value);"
        "return [performance.now() - start, left]",
        pair,
    )
    assert "".join(part for part, _ in left) == pair[0]
    assert milliseconds < 2_000


def test_every_prompt_is_shown_as_it_was_asked(in_node: Run) -> None:
    names = ("language", "context_good", "target_good", "context_bad", "target_bad")
    eagle, adler, bay = (
        dict(zip(names, cells, strict=True))
        for cells in (
            ("en", "An eagle", "can {fly}.", "A cow", "can {fly}."),
            ("zh-Hans", "鹰", "会飞。", "牛", "会飞。"),
            ("en", "The boats lay in the", "bay", None, None),
        )
    )
    rows = [eagle | {"property": "can fly", "concept_good": "eagle", "concept_bad": "cow"}, adler, bay]
    cases, expected = [], []
    for prompt in prompts().values():
        for row in rows:
            if str(row["language"]).split("-")[0] not in prompt.languages:
                continue
            cases.append([{"prompt": _prompt(prompt, [str(row["language"])])}, row])
            values = slot_values(row)
            asked = [
                (one.name, [in_language(by, str(row["language"])) for by in (one.template, one.stem)])
                for one in prompt.presentations
                if one.is_asked(row)
            ]
            expected.append([[n, prompt.join.join(fill(part, values) for part in parts if part)] for n, parts in asked])
    assert len(cases) > 40
    result = in_node("return value.map(([method, row]) => [...item.filledTemplates(method, row)])", cases)
    assert result == expected


def test_words_are_compared_by_their_log_probability(tmp_path: Path, chromium: Browser) -> None:
    rows = [
        made_item(
            f"words/all/{n}",
            "harbour" if n % 2 else "bay",
            task="word_prediction",
            context_good=f"The {n} boats lay in the",
        ).row()
        for n in range(20)
    ]
    words = datasets.Dataset.from_list(rows, features=features())
    prompt = "hl23_word_pred_meta_question_simple"
    bank = bank_of(tmp_path / "bank", words, "a", methods=["direct", prompt])
    summary = pq.read_table(bank / "results/summary.parquet").to_pandas()
    [row] = summary[(summary["metric"] == "pearson_logprob") & (summary["group_by"] == "all")].to_dict("records")
    with (
        serving(pairbank.write_site(bank, tmp_path / "site", texts="all")) as address,
        shown(chromium, address) as page,
    ):
        page.open("?tab=compare&corpus=words")
        assert page.control("Method").input_value() == prompt
        assert page.page.locator("h2").inner_text().startswith(f"r = {_shown(row['value'])} [")
        text = page.page.locator(".pb-scatter").text_content() or ""
        assert "log P, Direct (nats)" in text
        assert "both right" not in text


def test_what_cannot_be_seen_in_a_text_is_named(in_node: Run) -> None:
    shown = in_node("return value.map(text.visible);", ["a\u202eb", "\u200bc", "می\u200cخواهم", "d\u0007"])
    assert shown == ["a⟨U+202E⟩b", "⟨U+200B⟩c", "می\u200cخواهم", "d␇"]
