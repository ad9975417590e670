"""The multiverse: what is a choice, claims, the whole curve against chance, and parts of the variance against truth."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pairbank
from nulls.multiverse import curve, deciding, multiverse_tables
from pairbank.errors import BankError, UnknownNameError
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.comparisons import comparisons as compared
from pairbank.stats.analyses.multiverse.measures import claim_of
from pairbank.stats.analyses.multiverse.section import multiverse as section
from pairbank.stats.measures.agreement import pearson
from pairbank.stats.report.frames import scored_frame
from rated_tables import keyed


def test_every_combination_of_what_the_tables_hold_is_a_specification() -> None:
    result = curve(multiverse_tables(100, seed=0), n_draws=20)
    # linking functions, wordings, (averaged, each counts, 2 x one per item), (all, close, people agree, are sure)
    assert len(result.table) == 2 * 2 * 4 * 4
    assert result.varying == ("linking", "wording", "orders", "items")
    assert result.fixed["model"] == "m0"
    assert result.table["estimate"].is_monotonic_increasing


def test_one_specification_is_the_comparison_of_the_report() -> None:
    tables = multiverse_tables(150, seed=1, gap=0.4)
    one = curve(tables, n_draws=20).table
    row = one[(one["linking"] == "direct") & (one["wording"] == "ask2") & (one["orders"] == "averaged")]
    (mine,) = row[row["items"] == "all"].to_dict("records")
    pairs = compared(tables, Context(n_resamples=1)).tables["comparisons"]
    (theirs,) = pairs[(pairs["a"] == "direct") & (pairs["b"] == "ask2")].to_dict("records")
    assert [mine[x] for x in ("estimate", "low", "high", "n")] == [
        theirs[x] for x in ("difference", "low", "high", "n")
    ]


def test_a_specification_of_r_is_the_r_of_the_report() -> None:
    tables = multiverse_tables(150, seed=1, people=0.5)
    one = curve(tables, "people > 0.2", n_draws=20).table
    (mine,) = one.query("linking == 'direct' and items == 'all' and r == 'Pearson'").to_dict("records")
    frame = tables[0].frame
    r = pearson(frame["direct_delta"], frame["human_good"])
    assert (mine["estimate"], mine["low"], mine["high"]) == (r.value, r.low, r.high)


def test_ties_are_a_choice_where_there_are_some() -> None:
    tables = multiverse_tables(100, seed=0)
    frame = tables[0].frame.copy()
    frame.loc[:9, ["direct_delta", "direct_good"]] = [0.0, -30.0]
    result = curve([replace(tables[0], frame=frame)], n_draws=20).table
    assert set(result["ties"]) == {"one half", "wrong", "left out"}
    one = result.query("linking == 'direct' and wording == 'ask1' and orders == 'averaged' and items == 'all'")
    by_rule = dict(zip(one["ties"], one["estimate"], strict=True))
    assert by_rule["one half"] - by_rule["wrong"] == pytest.approx(0.05)


def test_two_models_are_compared_by_every_reading_that_both_have() -> None:
    tables = multiverse_tables(100, seed=3, n_models=3)
    result = curve(tables, "m1 > m0", n_draws=20)
    assert len(result.table) == (2 + 2 * 4) * 4
    turned = curve(tables, "m1 < m0", n_draws=20)
    assert turned.table["estimate"].to_numpy() == pytest.approx(-result.table["estimate"].to_numpy()[::-1])
    claim = claim_of("m1 > m0", methods=["direct"], models=["m0", "m1"])
    assert claim.in_words == "m1 is right more often than m0"
    many = curve(tables, "m1 > m*", n_draws=20)
    assert set(many.table["model"]) == {"m1 - m0", "m1 - m2"}


def test_tables_of_one_model_with_and_without_bos_are_a_choice() -> None:
    one, other = multiverse_tables(60, seed=0), multiverse_tables(60, seed=1)
    tables = [
        replace(one[0], signature={"model": {"bos_policy": "bos"}}),
        replace(other[0], model="m0 without", signature={"model": {"bos_policy": "none"}}),
    ]
    assert set(curve(tables, n_draws=20).table["BOS"]) == {"bos", "none"}


@pytest.mark.parametrize(
    ("claim", "error", "said"),
    [
        ("asking is worse", BankError, "expected A > B"),
        ("people < .3", BankError, "expected people > NUMBER"),
        ("people > 3", BankError, "between -1 and 1"),
        ("direkt > ask1", UnknownNameError, "direct"),
        ("m0 > ask1", BankError, "one side is a method and the other a model"),
        ("mean_logprob > mean_logprob", BankError, "no specification of the claim"),
    ],
)
def test_a_claim_that_cannot_be_read_says_what_is_expected(claim: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        section(multiverse_tables(60, seed=0), Context(n_resamples=20), claim=claim)


def test_the_verdict_is_of_the_whole_curve_and_names_its_evidence() -> None:
    right = section(multiverse_tables(300, seed=0, gap=0.9), Context(n_resamples=199))
    assert right.answer.startswith("**Asking is worse than probability: shown over all specifications together** (p =")
    assert "It holds in 64 of 64 specifications (100%)" in right.answer
    assert "The minimum detectable median (80% power) is" in right.answer
    null = section(multiverse_tables(300, seed=2), Context(n_resamples=199))
    assert "not shown" in null.answer
    contrary = section(multiverse_tables(300, seed=0, gap=0.9), Context(n_resamples=199), claim="asking > probability")
    assert contrary.answer.startswith("**The contrary is shown of the claim that asking is better than probability**")


def test_paradigms_are_the_draws_where_there_are_ten() -> None:
    assert set(curve(multiverse_tables(120, seed=0, n_paradigms=12), n_draws=20).tests) == {"items", "paradigms"}
    few = curve(multiverse_tables(120, seed=0, n_paradigms=5), n_draws=20)
    assert set(few.tests) == {"items"}
    assert deciding(few)["n_units"] == 120


def test_the_same_seed_gives_the_same_bytes_and_the_section_is_drawn() -> None:
    tables = multiverse_tables(60, seed=0, n_models=2)
    first, again = (section(tables, Context(seed=4, n_resamples=50)) for _ in range(2))
    assert (first.answer, first.text) == (again.answer, again.text)
    upper, lower = first.figures[0].draw().axes
    assert upper.get_ylabel() == "difference in accuracy"
    assert len(lower.get_yticklabels()) == 2 + 2 + 2 + 4 + 4


def test_what_raters_said_gives_their_share_of_the_variance() -> None:
    tables = multiverse_tables(60, seed=0)
    rng = np.random.default_rng(0)
    item, rater = np.divmod(np.arange(60 * 8), 8)
    ratings = pd.DataFrame(
        {
            "item_id": [f"toy/{i:04d}" for i in item],
            "side": "good",
            "rater": [f"r{i}" for i in rater],
            "value": 2 * rng.normal(size=60)[item] + rng.normal(size=8)[rater] + rng.normal(size=480),
            "scale": "points7",
        }
    )
    made = section(tables, Context(n_resamples=20, ratings=[ratings]))
    parts = keyed(made.tables["variance"], "of", "part")
    assert parts["ratings", "item"]["share"] > 0.5 > parts["ratings", "rater"]["share"] > 0
    assert "**Variance of people's ratings** on toy (60 items, 8 raters)" in made.text


@pytest.mark.ci
@pytest.mark.upstream
def test_asking_is_worse_in_most_specifications_of_the_published_models_without_position_bias(shared: Path) -> None:
    """Hu & Frank 2024: nine of 13 models answer by position; of the others, hardly of Llama-2 70B."""
    tables = pairbank.import_scores(shared / "published" / "hu_frank_2024_syntax.csv", profile="hu-frank-2024")
    made = section([scored_frame(table, for_analyses=True) for table in tables], Context(n_resamples=99))
    models = made.tables["choices"].query("choice == 'model'")
    holds = dict(zip(models["level"], models["holds"], strict=True))
    assert set(holds) == {"Llama-2 70B", "Llama-2 7B", "Gemma 7B", "Mistral 7B"}
    assert holds["Llama-2 70B"] < 0.5
    assert holds["Llama-2 7B"] == 1
    assert made.tables["specifications"]["holds"].mean() == pytest.approx(0.71, abs=0.02)
    assert "Not compared because of position bias" in made.text
    assert "and 6 more" in made.text


def test_r_with_people_has_no_verdict_below_a_hundred_rated_items() -> None:
    made = section(multiverse_tables(60, seed=0, people=0.6), Context(n_resamples=20), claim="people > 0")
    assert "not tested (fewer than 100 rated items)" in made.answer
