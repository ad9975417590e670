"""What commands say of themselves."""

from __future__ import annotations

import sys

import pytest

from pairbank.cli.display.console import command_line


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["score", "my pairs.csv", "--out", "out/a.parquet"], "pairbank score 'my pairs.csv' --out out/a.parquet"),
        (["run", "demo", "--out", "/home/ann/banks/demo-bank"], "pairbank run demo --out demo-bank"),
        (["run", "demo", "--data-dir=../../ann/corpora/"], "pairbank run demo --data-dir=corpora"),
        (["report", "~/secret/a.parquet", "--out", "/"], "pairbank report a.parquet --out ."),
        (["publish", "bank", "org/name"], "pairbank publish bank org/name"),
    ],
)
def test_the_command_on_a_card_tells_no_folders_of_its_writer(
    typed: list[str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/pairbank", *typed])
    assert command_line() == told
