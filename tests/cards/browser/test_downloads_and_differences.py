"""Downloads of names that a bank does not have, and marking the differences of hostile texts."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from bank_fixtures import Score
from pairbank import write_bank
from pairbank.cards.browser.data import open_bank
from pairbank.cards.browser.export import routes
from pairbank.cards.browser.text import LONGEST_DIFFED, both_marked


@pytest.mark.parametrize(
    ("file", "query", "status", "reason"),
    [
        ("rows.csv", "corpus=starter&model=fake_1", 200, ""),
        ("rows.csv", "", 200, ""),
        ("rows.csv", "corpus=blimp", 404, "corpus “blimp”: no such name in this bank"),
        ("rows.parquet", "model=gpt2", 404, "model “gpt2”"),
        ("rows.csv", "model=gpt2&method=pmi", 404, "model “gpt2”.*method “pmi”"),
        ("rows.csv", "subset=nope", 404, "subset “nope”"),
        ("summary.csv", "within=blimp", 404, "within “blimp”"),
        ("summary.csv", "within=starter", 200, ""),
    ],
)
def test_a_download_of_a_wrong_name_is_a_404_with_the_reason(
    tmp_path: Path, scored_by: Score, file: str, query: str, status: int, reason: str
) -> None:
    requests = pytest.importorskip("starlette.requests")
    bank = open_bank(str(write_bank(tmp_path / "bank", scored=[scored_by("fake-1"), scored_by("fake-2")])))
    endpoint = next(route.endpoint for route in routes(bank) if route.path == f"/pairbank/{file}")
    scope = {"type": "http", "method": "GET", "path": f"/pairbank/{file}", "headers": [], "server": ("localhost", 80)}
    answer = endpoint(requests.Request({**scope, "query_string": query.encode()}))
    assert answer.status_code == status
    if reason:
        assert re.search(reason, bytes(answer.body).decode())


def test_a_damaged_table_is_a_message_and_no_traceback(tmp_path: Path, scored_by: Score) -> None:
    requests = pytest.importorskip("starlette.requests")
    folder = write_bank(tmp_path / "bank", scored=[scored_by("fake-1")])
    bank = open_bank(str(folder))
    (folder / "scores/starter/fake_1.parquet").write_bytes(b"PAR1")
    endpoint = next(route.endpoint for route in routes(bank) if route.path == "/pairbank/rows.csv")
    scope = {"type": "http", "method": "GET", "path": "/pairbank/rows.csv", "headers": [], "server": ("localhost", 80)}
    answer = endpoint(requests.Request({**scope, "query_string": b"corpus=starter&model=fake_1"}))
    assert answer.status_code == 500
    assert b"fake_1.parquet" in answer.body


def seconds(good: str, bad: str) -> float:
    """Return the shortest of three times."""
    found = []
    for _ in range(3):
        start = time.perf_counter()
        both_marked(good, bad)
        found.append(time.perf_counter() - start)
    return min(found)


def test_differences_of_hostile_repeats_take_no_longer_than_those_of_ordinary_texts() -> None:
    ordinary = "".join(chr(0x4E00 + 7 * k % 5_000) for k in range(LONGEST_DIFFED))
    usual = seconds(ordinary, ordinary[:300] + "猫" + ordinary[301:])
    half = LONGEST_DIFFED // 2
    for good, bad in (
        ("的" * LONGEST_DIFFED, "的" * (LONGEST_DIFFED - 1) + "了"),
        ("的了" * half, "了的" * half),
        ("的" * half + "了" * half, "了" * half + "的" * half),
        ("a " * half, " a" * half),
    ):
        assert seconds(good, bad) < max(20 * usual, 0.05)


def test_long_texts_are_marked_where_they_differ_and_read_back() -> None:
    start, end = "word " * 80, "more " * 30
    marked = both_marked(f"{start}cat {end}", f"{start}dog {end}")
    assert [re.findall("<mark>(.*?)</mark>", text) for text in marked] == [["cat"], ["dog"]]
    assert re.sub("<[^>]*>", "", marked[0]) == f"{start}cat {end}"
