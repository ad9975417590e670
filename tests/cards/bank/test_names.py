"""Names that are one file on macOS and Windows cannot stand side by side in a bank."""

from pathlib import Path

import pytest

import pairbank
from bank_fixtures import Score
from pairbank.errors import BankError
from pairbank.scoring.scored import Scored
from pairbank.scoring.signature import corpus_signature


@pytest.mark.parametrize("name", ["FAKE-1", "Fake-1", "fAKE-1"])
def test_two_models_whose_names_differ_by_case_alone_do_not_stand_in_one_bank(
    name: str, scored_by: Score, tmp_path: Path
) -> None:
    with pytest.raises(BankError, match="differ by case alone, and would be one file on macOS and Windows"):
        pairbank.write_bank(tmp_path / "bank", scored=[scored_by("fake-1"), scored_by(name)])


def test_two_corpora_whose_names_differ_by_case_alone_do_not_stand_in_one_bank(
    scored_by: Score, tmp_path: Path
) -> None:
    table = scored_by("fake-1")
    rows = table.dataset.map(lambda row: {"corpus": "STARTER", "item_id": row["item_id"].upper()})
    corpus = {**corpus_signature(rows, {}), "manifest": {"corpus": "STARTER", "n_items": len(rows)}}
    other = Scored.of(rows, {**table.signature, "corpus": corpus})
    with pytest.raises(BankError, match="corpus 'STARTER' and the bank's 'starter' differ by case alone"):
        pairbank.write_bank(tmp_path / "bank", scored=[table, other])
