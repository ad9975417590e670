"""Fixtures of the tests of servers: tiny models here, what serves them, and no waiting."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pairbank.scoring.models.server import client
from served_models import Here, Serve, models_here, serving


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Make pauses short, and keep scores and keys apart."""
    monkeypatch.setattr(client, "FIRST_PAUSE_S", 0.001)
    monkeypatch.delenv(client.KEY_VARIABLE, raising=False)
    monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def here(tmp_path_factory: pytest.TempPathFactory) -> Here:
    return models_here(tmp_path_factory.mktemp("models"))


@pytest.fixture
def serve(here: Here) -> Iterator[Serve]:
    with serving(here) as run:
        yield run
