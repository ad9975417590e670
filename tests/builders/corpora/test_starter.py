"""The sentences that pairbank ships: enough, distinct, minimal, in every language."""

import difflib
import unicodedata
from collections import Counter
from typing import Any

import pytest

import pairbank
from pairbank.builders.corpora.starter import LANGUAGES


@pytest.fixture(scope="module")
def starter() -> list[dict[str, Any]]:
    return [*pairbank.load_corpus("starter")]


def test_english_minimal_pairs_cover_14_phenomena_with_20_pairs_each(starter: list[dict[str, Any]]) -> None:
    pairs = [row for row in starter if row["subset"] == "minimal-pairs"]
    counts = Counter(row["phenomenon"] for row in pairs)
    assert len(counts) >= 12
    assert min(counts.values()) >= 20


def test_members_of_a_minimal_pair_differ_in_at_most_two_words_or_in_order(starter: list[dict[str, Any]]) -> None:
    for row in starter:
        if row["subset"] == "minimal-pairs":
            good, bad = row["target_good"].rstrip(".?").split(), row["target_bad"].rstrip(".?").split()
            changed = sum((Counter(good) - Counter(bad)).values()), sum((Counter(bad) - Counter(good)).values())
            lower = [[w.lower() for w in side] for side in (good, bad)]
            reordered = Counter(lower[0]) == Counter(lower[1])
            assert reordered or max(changed) <= 2, row["item_id"]


def test_there_are_60_plausibility_pairs_with_one_word_each(starter: list[dict[str, Any]]) -> None:
    pairs = [row for row in starter if row["subset"] == "plausibility"]
    assert len(pairs) >= 60
    for row in pairs:
        assert row["context_good"] == row["context_bad"]
        assert " " not in row["target_good"] + row["target_bad"], row["item_id"]


def test_context_pairs_give_each_of_two_targets_its_own_better_context(starter: list[dict[str, Any]]) -> None:
    pairs = [row for row in starter if row["subset"] == "contexts"]
    assert len(pairs) == 100
    assert set(Counter(row["paradigm"] for row in pairs).values()) == {10}
    for first, second in zip(pairs[::2], pairs[1::2], strict=True):
        assert first["pair_id"] == second["pair_id"]
        assert (first["target_number"], second["target_number"]) == (1, 2)
        assert first["target_good"] == first["target_bad"] != second["target_good"] == second["target_bad"]
        assert (first["context_good"], first["context_bad"]) == (second["context_bad"], second["context_good"])
        assert first["context_good"] != first["context_bad"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_20_concept_pairs_of_all_four_negative_types(
    starter: list[dict[str, Any]], language: str
) -> None:
    pairs = [row for row in starter if row["subset"] == "concepts" and row["language"] == language]
    assert len(pairs) >= 20
    counts = Counter(row["negative_type"] for row in pairs)
    assert set(counts) == {"taxonomic", "overlap", "co-occurrence", "random"}
    assert min(counts.values()) >= 5
    for row in pairs:
        assert row["concept_good"] != row["concept_bad"]
        similar = difflib.SequenceMatcher(None, row["target_good"], row["target_bad"]).ratio()
        assert similar > 0.3, row["item_id"]


def test_starter_texts_are_nfc_trimmed_distinct_and_unflagged(starter: list[dict[str, Any]]) -> None:
    assert len(starter) == 892
    for row in starter:
        assert not row["flags"]
        for side in ("good", "bad"):
            text = row[f"target_{side}"]
            assert text == text.strip()
            assert unicodedata.is_normalized("NFC", text)
            assert not any(unicodedata.category(c) == "Cc" for c in text)


def test_a_language_can_be_asked_for() -> None:
    items = pairbank.load_corpus("starter", language="ja")
    assert set(items["language"][:]) == {"ja"}
    assert set(items["subset"][:]) == {"concepts"}
