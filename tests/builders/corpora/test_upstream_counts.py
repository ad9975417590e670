"""The upstream files themselves: the counts are those that shared/CORPORA.md verified by hand."""

from collections import Counter
from pathlib import Path

import pytest

import pairbank
from pairbank.builders.dataset import manifest_of

pytestmark = pytest.mark.upstream


@pytest.mark.ci
def test_blimp_has_67_paradigms_of_1000_and_7_identical_pairs(shared: Path) -> None:
    items = pairbank.load_corpus("blimp", data_dir=shared / "corpora")
    manifest = manifest_of(items)
    assert manifest is not None
    assert (manifest["n_rows"], manifest["n_usable"]) == (67_000, 66_993)
    assert set(manifest["n_by_subset"].values()) == {1000}
    assert len(manifest["n_by_subset"]) == 67
    assert all(file["verified"] for file in manifest["files"].values())
    # CORPORA.md 1.1: good == bad in passive_1 {324, 810} and principle_A_case_2 {105, 287, 372, 816, 967}
    identical = [
        item_id
        for item_id, flags in zip(items["item_id"][:], items["flags"][:], strict=True)
        if "identical_sides" in flags
    ]
    assert identical == [
        *(f"blimp/passive_1/{n}" for n in (324, 810)),
        *(f"blimp/principle_A_case_2/{n}" for n in (105, 287, 372, 816, 967)),
    ]
    # CORPORA.md 1.1: field counts, with the 1,000 misspelt rows counted under the right name
    assert Counter(items["field"][:]) == {
        "syntax": 26_000,
        "morphology": 18_000,
        "syntax_semantics": 14_000,
        "semantics": 9_000,
    }
    assert manifest["n_by_flag"]["repaired:field_spelling"] == 1000
    assert len(set(items["phenomenon"][:])) == 13


def test_blimp_carries_human_agreement_of_every_paradigm(shared: Path) -> None:
    manifest = manifest_of(pairbank.load_corpus("blimp", data_dir=shared / "corpora" / "blimp", subset="passive_1"))
    assert manifest is not None
    agreement = manifest["facts"]["human_agreement_by_paradigm"]
    assert len(agreement) == 67
    # CORPORA.md 1.1: mean individual agreement .8855, aggregate .9642
    assert sum(a["individual"] for a in agreement.values()) / 67 == pytest.approx(0.8855, abs=5e-5)
    assert sum(a["majority"] for a in agreement.values()) / 67 == pytest.approx(0.9642, abs=5e-5)


def test_li_quirks_are_mended_flagged_and_counted(shared: Path) -> None:
    items = pairbank.load_corpus("li", data_dir=shared / "corpora")
    manifest = manifest_of(items)
    assert manifest is not None
    assert manifest["n_by_subset"] == {"sprouse-2013": 1200, "mahowald-2016": 1179}
    assert manifest["n_usable"] == 2_378
    flags = manifest["n_by_flag"]
    # CORPORA.md 1.6
    assert (flags["repaired:mojibake_good"], flags["repaired:mojibake_bad"]) == (40, 41)
    assert (flags["repaired:untrimmed_good"], flags["repaired:untrimmed_bad"]) == (42, 38)
    assert (flags["no_final_punctuation_good"], flags["no_final_punctuation_bad"]) == (26, 32)
    assert (flags["duplicate_pair"], flags["identical_sides"], flags["no_human_rating"]) == (6, 1, 104)
    mended = [t for t in items["target_good"][:] + items["target_bad"][:] if not t.isascii()]
    assert {c for t in mended for c in t if not c.isascii()} == set("“”’é")
    rated = [
        (row["human_good"] > row["human_bad"], row["subset"])
        for row in items
        if row["human_good"] is not None and row["human_bad"] is not None
    ]
    # CORPORA.md 1.6: LS_diff > 0 in .9261 (Sprouse) and .9584 (Mahowald)
    for subset, share in (("sprouse-2013", 0.9261), ("mahowald-2016", 0.9584)):
        values = [positive for positive, where in rated if where == subset]
        assert sum(values) / len(values) == pytest.approx(share, abs=5e-5)


def test_li_keeps_the_source_text_beside_a_mended_one_and_can_leave_it(shared: Path) -> None:
    mended = pairbank.load_corpus("li", data_dir=shared / "corpora")
    as_is = pairbank.load_corpus("li", data_dir=shared / "corpora", repair=False)
    changed = 0
    for a, b in zip(mended, as_is, strict=True):
        assert b["source_good"] is None
        if a["target_good"] != b["target_good"]:
            changed += 1
            assert a["source_good"] == b["target_good"]
    assert changed == sum(s is not None for s in mended["source_good"][:])
    assert changed >= 80
