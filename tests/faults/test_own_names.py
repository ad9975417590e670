"""A user's own items are never published under the licence of a corpus that ships, whatever their name."""

import json
from pathlib import Path

import datasets
import pytest

import pairbank
from pairbank.cards.bank.redistribution import licence_of, may_publish
from pairbank.errors import BankError


def test_the_name_of_a_shipped_corpus_unlocks_nothing() -> None:
    own = {"source": {"licence": "unknown", "redistributable": False}}
    assert not may_publish("starter", own)
    assert not may_publish("starter", {"corpus": "starter"})
    assert "not the corpus 'starter' that ships" in licence_of("starter", own)


def test_items_that_only_have_the_name_of_a_shipped_corpus_cannot_be_published(tmp_path: Path) -> None:
    shipped = pairbank.load_corpus("starter", subset="plausibility", limit=1)
    private = [row | {"target_good": "My secret is here.", "target_bad": "My secret are here."} for row in shipped]
    items = datasets.Dataset.from_list(private, features=shipped.features)
    bank = pairbank.write_bank(tmp_path / "bank", scored=[pairbank.score(items, "fake:fake")])
    with pytest.raises(BankError, match=r"starter: unknown\. These items are not the corpus 'starter' that ships"):
        pairbank.publish(bank, "acme/mine", dry_run=True)


def test_the_shipped_corpus_itself_can_be_published(tmp_path: Path) -> None:
    items = pairbank.load_corpus("starter", subset="plausibility", limit=1)
    bank = pairbank.write_bank(tmp_path / "bank", scored=[pairbank.score(items, "fake:fake")])
    facts = json.loads((bank / "manifest.json").read_text())["corpora"]["starter"]
    assert may_publish("starter", facts)
