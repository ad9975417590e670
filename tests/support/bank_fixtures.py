"""Fixtures of the tests of banks: a hub to talk to, scored tables made by a fake model, no waiting between tries."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from hub_emulator import FakeHub, redirected

if TYPE_CHECKING:
    from pairbank.scoring.scored import Scored

Score: TypeAlias = "Callable[..., Scored]"
OWN_PAIRS = """good,bad,human_good,human_bad
The baker slices a warm loaf.,The loaf slices a warm baker.,6.5,1.5
Nobody has ever seen it rain here.,Somebody has ever seen it rain here.,6.0,2.5
The pilots land their small plane.,The pilots lands their small plane.,6.8,1.1
She wondered which coat he bought.,She wondered which coat he bought it.,5.9,2.0
"""
PAUSES_SECONDS = {1.0, 2.0, 4.0, 8.0}


def bank_of(folder: Path, items: Any, *names: str, methods: Sequence[str] = ("direct",), **more: Any) -> Path:  # noqa: ANN401
    """Write a bank of items, scored by fake models of these names."""
    import pairbank

    scored = [pairbank.score(items, f"fake:{name}", methods=methods) for name in names]
    return pairbank.write_bank(folder, scored=scored, **more)


def rehashed(bank: Path, change: Callable[[dict[str, Any]], object] = lambda _: None) -> Path:
    """Change the manifest of a bank and set every hash right, as a careless editor's script or an attacker would."""
    from pairbank.cards.bank.layout import bank_files
    from pairbank.files import sha256_of_file

    manifest = json.loads((bank / "manifest.json").read_bytes())
    manifest["files"] = {path: sha256_of_file(bank / path) for path in bank_files(bank)}
    change(manifest)
    (bank / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return bank


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """Yield a hub that the clients talk to, with a clean cache; pauses between tries take no time."""
    waited: list[float] = []
    sleep = time.sleep

    def pause(seconds: float) -> None:
        if seconds < min(PAUSES_SECONDS):  # no pause of ours: a client that polls a lock
            sleep(seconds)
        else:
            waited.append(seconds)

    monkeypatch.setattr("time.sleep", pause)
    with FakeHub() as hub, redirected(hub, tmp_path / "home"):
        hub.waited = waited
        yield hub
    assert set(waited) <= PAUSES_SECONDS


@pytest.fixture
def scored_by() -> Score:
    import pairbank

    def score(name: str, *, limit: int = 1, methods: tuple[str, ...] = ("direct", "meta_question_simple")) -> Scored:
        items = pairbank.load_corpus("starter", subset="plausibility", limit=limit)
        return pairbank.score(items, f"fake:{name}", methods=methods)

    return score


@pytest.fixture
def own_pairs(tmp_path: Path) -> Path:
    path = tmp_path / "own.csv"
    path.write_text(OWN_PAIRS)
    return path
