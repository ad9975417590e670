"""Human forced choices, against the agreement that the corpora's papers publish."""

from pathlib import Path

import pandas as pd
import pytest

from pairbank.builders.corpora import blimp
from pairbank.errors import BankError
from pairbank.stats.measures.human_agreement import HumanAgreement, human_agreement


def judgments_of(responses: pd.DataFrame) -> pd.DataFrame:
    """BLiMP's raw validation file as one row a judgment: paradigm, item (its two sentences), is_right.

    A task has five pairs; a condition is the paradigm with `ans1` or `ans2`, the better option, and an answer starts
    with the number chosen. Rejected tasks, unanswered questions, checks and unreleased paradigms are left out.
    """
    approved = responses[responses["AssignmentStatus"] == "Approved"]
    fields = ("Input.item_{}_condition", "Input.field_{}_1", "Input.field_{}_2", "Answer.Choice{}")
    questions = [approved[[field.format(i) for field in fields]] for i in range(1, 6)]
    names = ["condition", "one", "other", "answer"]
    long = pd.concat([question.set_axis(names, axis=1) for question in questions], ignore_index=True).dropna()
    condition = long["condition"].str.extract(r"^(?P<paradigm>.*)ans(?P<best>[12])$")
    items = ["|".join(sorted(pair)) for pair in zip(long["one"], long["other"], strict=True)]
    is_right = long["answer"].str[0] == condition["best"]
    result = pd.DataFrame({"paradigm": condition["paradigm"], "item": items, "is_right": is_right})
    return result[result["paradigm"].isin(blimp.BLIMP.subsets)]


def agreement(judgments: pd.DataFrame) -> HumanAgreement:
    columns = (judgments[name].to_numpy() for name in ("paradigm", "item", "is_right"))
    return human_agreement(*columns)


@pytest.mark.upstream
def test_blimp_people_agree_as_published(shared: Path) -> None:
    # Warstadt et al. 2020, section 5: individual .886, aggregate .964 over 67 paradigms of 5 pairs
    folder = shared / "corpora" / "blimp"
    judgments = judgments_of(pd.read_csv(folder / "human_responses.csv"))
    result = agreement(judgments)
    assert (result.n_paradigms, result.n_items, result.n_tied, result.n_judgments) == (67, 335, 5, 6676)
    assert result.individual == pytest.approx(0.8856, abs=5e-5)
    assert result.aggregate == pytest.approx(0.9642, abs=5e-5)
    assert result.pooled.low < result.pooled.value < result.pooled.high
    # paradigm by paradigm, the pairs that most people get right are the corpus's own summary
    summary = pd.read_csv(folder / "human_validation_summary.csv").set_index("Condition")["accepted"]
    for paradigm, part in judgments.groupby("paradigm"):
        assert round(5 * agreement(part).aggregate) == summary[str(paradigm)]


def test_paradigms_weigh_alike_and_ties_are_no_majority() -> None:
    # paradigm a: items 3/4 and 2/4 right; b: item 0/2 right
    right = [1, 1, 1, 0, 1, 1, 0, 0, 0, 0]
    result = human_agreement(["a"] * 8 + ["b"] * 2, [1] * 4 + [2] * 4 + [1] * 2, right)
    assert result.individual == pytest.approx((5 / 8 + 0) / 2, abs=1e-12)
    assert result.aggregate == pytest.approx((1 / 2 + 0) / 2, abs=1e-12)
    assert result.aggregate_ties_half == pytest.approx((1.5 / 2 + 0) / 2, abs=1e-12)
    assert result.pooled.value == pytest.approx(0.5, abs=1e-12)
    assert (result.pooled.n, result.n_judgments, result.n_items, result.n_tied, result.n_paradigms) == (3, 10, 3, 1, 2)


def test_judgments_without_an_item_are_refused() -> None:
    with pytest.raises(BankError, match="expected one paradigm, item and mark each"):
        human_agreement(["a"], [1, 2], [True])
