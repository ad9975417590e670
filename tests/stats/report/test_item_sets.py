"""Models with different items: the head of a report says so, and comparisons are on the items in common."""

from dataclasses import replace

import numpy as np
import pytest

import pairbank
from pairbank.errors import BankError
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.scored import Scored
from pairbank.stats.analyses.comparisons import comparisons as section
from pairbank.stats.report.item_sets import HOW_COMPARED, MOST_NAMED, item_set_notes
from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import rated_table


def models(*names: str, n_items: int = 60) -> list[ScoredFrame]:
    return [rated_table(n_items, seed=seed, model=name) for seed, name in enumerate(names)]


def without(table: ScoredFrame, *rows: int) -> ScoredFrame:
    return replace(table, frame=table.frame.drop(index=list(rows)))


def test_nothing_is_said_where_all_models_have_the_same_items_in_any_order() -> None:
    a, b = models("a", "b")
    assert item_set_notes([a, replace(b, frame=b.frame.iloc[::-1])]) == ()
    assert item_set_notes([a]) == ()
    assert item_set_notes([a, replace(without(b, 3, 4), corpus="another")]) == ()
    only_direct = replace(b, layouts=b.layouts[:1])
    assert item_set_notes([a, only_direct]) == (), "a method that one model lacks is no difference of items"


def test_items_that_a_file_lacks_are_told_with_models_and_counts() -> None:
    a, b, c = models("a", "b", "c")
    notes = item_set_notes([a, without(b, 3, 4), without(c, 4, 5, 6)])
    assert notes == (
        "**The models have different items of toy** (`direct`, `meta`): `a` 60; `b` 58; `c` 57; 56 in common.",
        HOW_COMPARED,
    )


def test_items_without_a_number_of_one_method_are_told_for_that_method() -> None:
    a, b = models("a", "b")
    frame = b.frame.copy()
    frame.loc[[7, 8, 9], ["meta_delta", "meta_good"]] = np.nan
    notes = item_set_notes([a, replace(b, frame=frame)])
    assert notes[0] == "**The models have different items of toy** (`meta`): `a` 60; `b` 57; 57 in common."


def test_many_models_with_the_same_items_are_counted() -> None:
    first, *others = models(*(f"m{n}" for n in range(MOST_NAMED + 3)))
    (note, _) = item_set_notes([without(first, 1), *others])
    assert "`m0` 59; `m1`, `m2`, `m3`, `m4`, `m5`, `m6`, 2 more 60; 59 in common" in note


@pytest.mark.ci
def test_comparisons_of_such_models_are_on_the_items_that_both_have() -> None:
    a, b = models("a", "b")
    result = section([a, without(b, 3, 4)]).tables["comparisons"]
    between = result[result["compared"] == "models"]
    assert set(between["n"]) == {57}, "60, less two that b lacks, less one with identical sides"
    same = section([without(a, 3, 4), without(b, 3, 4)]).tables["comparisons"]
    columns = ["within", "a", "b", "difference", "low", "high", "n"]
    assert between[columns].equals(same[same["compared"] == "models"][columns])


def test_the_note_stands_at_the_head_of_a_report() -> None:
    items = pairbank.load_corpus("starter", limit=2)
    tables = [
        pairbank.score(items, FakeScorer(name="one"), methods=["direct"]),
        pairbank.score(items.select(range(len(items) - 1)), FakeScorer(name="<two>"), methods=["direct"]),
    ]
    page = pairbank.report(tables, notes=["Mine."]).markdown()
    n = len(items)
    said = f"`one` {n}; `&lt;two&gt;` {n - 1}; {n - 1} in common.\n\n> {HOW_COMPARED}\n\n## Accuracy"
    assert f"\n\n> **The models have different items of starter** (`direct`): {said}" in page
    assert HOW_COMPARED not in pairbank.report(tables[:1]).markdown()


def renumbered(table: Scored, order: list[int], *, model: str) -> Scored:
    """Return a model's table with its rows in another order, and the ids numbered by row as a file's rows were."""
    items = table.dataset.select(order).remove_columns(["item_id", "model"])
    items = items.add_column("item_id", [f"own/all/{n}" for n in range(1, len(order) + 1)])
    bare = items.remove_columns([name for name in items.column_names if name.startswith("direct_")])
    return pairbank.score(bare, FakeScorer(name=model), methods=["direct"])


def test_tables_that_number_their_items_differently_are_paired_by_text() -> None:
    items = pairbank.load_corpus("starter", limit=3)
    scored = pairbank.score(items, FakeScorer(name="same"), methods=["direct"])
    places = list(range(len(items)))
    straight, turned = (renumbered(scored, order, model="same") for order in (places, places[::-1]))
    other = replace(turned, signature={**turned.signature, "model": {**turned.signature["model"], "name": "copy"}})
    result = pairbank.report([straight, other], analyses=["comparisons"], n_resamples=20)
    section_ = next(part for part in result.parts if part.id == "comparisons")
    between = section_.tables["comparisons"]
    row = between[between["compared"] == "models"].iloc[0]
    assert (row["n_only_a"], row["n_only_b"]) == (0, 0), "one model under two names differs from itself on no item"
    assert "**Items of starter are paired by their texts**: `same`, `copy`" in result.warnings[0]


def test_tables_without_a_common_text_are_refused_and_without_texts_noted() -> None:
    items = pairbank.load_corpus("starter", limit=4, subset="minimal-pairs")
    scored = pairbank.score(items, FakeScorer(name="a"), methods=["direct"])
    half = len(items) // 2
    one = renumbered(scored, list(range(half)), model="a")
    two = renumbered(scored, list(range(half, 2 * half)), model="b")
    with pytest.raises(BankError, match=r"the tables of a and b have no text in common, yet the same item ids"):
        pairbank.report([one, two])
    whole = pairbank.score(items, FakeScorer(name="b"), methods=["direct"])
    part = pairbank.score(items.select(range(half)), FakeScorer(name="c"), methods=["direct"])
    assert not any("are paired" in note for note in pairbank.report([whole, part]).warnings)
    stripped = Scored.of(part.dataset.remove_columns(["target_good", "target_bad"]), part.signature)
    assert "`c` without texts to compare" in pairbank.report([whole, stripped]).warnings[0]
