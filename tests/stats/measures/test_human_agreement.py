"""Human forced choices, against the agreement that the corpora's papers publish."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pairbank.builders.corpora import blimp, zhoblimp
from pairbank.errors import BankError
from pairbank.stats.measures.human_agreement import HumanAgreement, blimp_judgments, counted_agreement, human_agreement


def agreement(judgments: pd.DataFrame) -> HumanAgreement:
    columns = (judgments[name].to_numpy() for name in ("paradigm", "item", "is_right"))
    return human_agreement(*columns, rng=np.random.default_rng(7))


@pytest.mark.upstream
def test_blimp_people_agree_as_published(shared: Path) -> None:
    # Warstadt et al. 2020, section 5: individual .886, aggregate .964 over 67 paradigms of 5 pairs
    folder = shared / "corpora" / "blimp"
    judgments = blimp_judgments(pd.read_csv(folder / "human_responses.csv"), paradigms=blimp.PARADIGMS)
    found = agreement(judgments)
    assert (found.n_paradigms, found.n_items, found.n_tied, found.n_judgments) == (67, 335, 5, 6676)
    assert found.individual == pytest.approx(0.8856, abs=5e-5)
    assert found.aggregate == pytest.approx(0.9642, abs=5e-5)
    assert found.pooled.low < found.pooled.value < found.pooled.high
    # paradigm by paradigm, the pairs that most people get right are the corpus's own summary
    summary = pd.read_csv(folder / "human_validation_summary.csv").set_index("Condition")["accepted"]
    for paradigm, part in judgments.groupby("paradigm"):
        assert round(5 * agreement(part).aggregate) == summary[str(paradigm)]


@pytest.mark.upstream
def test_zhoblimp_people_agree_as_published(shared: Path) -> None:
    # recomputed from the published counts: micro .9390, macro .9375, least .714 over the 118 released paradigms
    counts = pd.read_csv(shared / "corpora" / "zhoblimp" / "human_validation_result.csv")
    released = counts[counts["UID"].isin(zhoblimp.PARADIGMS)]
    found = counted_agreement(released["correct"], released["total"])
    assert found.n_paradigms == 118
    assert found.micro == pytest.approx(0.9390, abs=5e-5)
    assert found.macro == pytest.approx(0.9375, abs=5e-5)
    assert found.lowest == pytest.approx(0.714, abs=5e-4)
    everything = counted_agreement(counts["correct"], counts["total"])
    assert (everything.n_paradigms, round(everything.micro, 4)) == (129, 0.9114)


def test_paradigms_weigh_alike_and_ties_are_no_majority() -> None:
    # paradigm a: items 3/4 and 2/4 right; b: item 0/2 right
    right = [1, 1, 1, 0, 1, 1, 0, 0, 0, 0]
    found = human_agreement(["a"] * 8 + ["b"] * 2, [1] * 4 + [2] * 4 + [1] * 2, right, rng=np.random.default_rng(0))
    assert found.individual == pytest.approx((5 / 8 + 0) / 2, abs=1e-12)
    assert found.aggregate == pytest.approx((1 / 2 + 0) / 2, abs=1e-12)
    assert found.aggregate_ties_half == pytest.approx((1.5 / 2 + 0) / 2, abs=1e-12)
    assert found.pooled.value == pytest.approx(0.5, abs=1e-12)
    assert (found.pooled.n, found.n_judgments, found.n_items, found.n_tied, found.n_paradigms) == (3, 10, 3, 1, 2)


def responses() -> pd.DataFrame:
    rows = []
    for status, answer in (("Approved", "1. The cat that"), ("Rejected", "2. x"), ("Approved", None)):
        row: dict[str, str | None] = {"AssignmentStatus": status}
        for i, condition in enumerate(("islandans1", "islandans2", "attnchkans1", "otherans1", "islandans1"), start=1):
            row |= {f"Input.item_{i}_condition": condition, f"Answer.Choice{i}": answer}
            row |= {f"Input.field_{i}_1": "The cat that's here.", f"Input.field_{i}_2": f"Cat {i}."}
        rows.append(row)
    return pd.DataFrame(rows)


def test_rejected_unanswered_and_other_questions_are_left_out() -> None:
    found = blimp_judgments(responses(), paradigms=["island"])
    assert found["item"].tolist() == [f"Cat {i}.|The cat that's here." for i in (1, 2, 5)]
    assert found["is_right"].tolist() == [True, False, True]


def test_another_file_and_impossible_counts_are_refused() -> None:
    with pytest.raises(BankError, match=r"expected BLiMP's human_responses\.csv"):
        blimp_judgments(responses().drop(columns="Answer.Choice3"), paradigms=["island"])
    with pytest.raises(BankError, match="expected one or more, each with 0 to n right"):
        counted_agreement([3], [2])
    with pytest.raises(BankError, match="expected one or more"):
        counted_agreement([], [])
    with pytest.raises(BankError, match="expected one paradigm, item and mark each"):
        human_agreement(["a"], [1, 2], [True], rng=np.random.default_rng(0))
