"""The section of mixed models: what is said, from which units, and how often wrongly."""

from dataclasses import replace

import pandas as pd
import pytest

from pairbank.errors import BankError
from pairbank.stats.analyses.mixed import mixed as section
from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import DIRECT, POOLED, always_first, keyed, rated_table


def models(n_items: int = 120, *, paradigms: int = 12, seeds: int = 2) -> list[ScoredFrame]:
    tables = [rated_table(n_items, seed=seed, model=f"m{seed}") for seed in range(seeds)]
    names = [f"p{i % paradigms:02d}" for i in range(n_items)]
    return [replace(x, frame=x.frame.assign(paradigm=names, phenomenon=[n[-1] for n in names])) for x in tables]


@pytest.mark.ci
def test_every_outcome_has_an_r_squared_in_the_report() -> None:
    fit = section(models()).tables["fit"]
    assert fit["outcome"].tolist() == ["delta", "accuracy"]
    assert fit["r_squared"].between(0, 1).all()


@pytest.mark.ci
def test_paradigms_are_the_units_where_there_are_ten_and_the_text_says_so() -> None:
    result = section(models())
    effects = result.tables["effects"]
    assert set(effects["unit"]) == {"paradigm"}
    assert set(effects["n"]) == {12}
    assert "12 paradigms of 119 items as a sample" in result.text
    rows = keyed(effects, "outcome", "term", "level")
    assert rows["delta", "method", "meta"]["versus"] == "direct"
    assert set(effects["term"]) == {"method", "model"}, "each phenomenon has one paradigm here: it tells nothing"
    row = rows["delta", "method", "meta"]
    interval = f"{row['value']:+.2f} [{row['low']:+.2f}, {row['high']:+.2f}] standard deviations"
    verb = "1 differs" if row["p_holm"] < 0.05 else "0 differ"
    said = f"of 1 other method, {verb} from `direct` at 0.05 (Holm). `meta` is furthest from it, by {interval}"
    assert f"delta of these 2 models: {said} (Holm's p " in result.text
    assert "accuracy by these 2 methods: of 1 other model, " in result.text


@pytest.mark.ci
def test_four_models_are_a_sample_and_a_model_with_all_methods_is_the_reference() -> None:
    tables = models(seeds=4)
    tables[0] = always_first(replace(tables[0], layouts=(DIRECT, POOLED)))
    result = section([tables[0], *(replace(x, layouts=(DIRECT, POOLED)) for x in tables[1:])])
    assert "delta of models like these 4: of 1 other method, " in result.text
    parts = result.tables["variance"]
    assert parts.loc[parts["part"] == "method x model", "outcome"].tolist() == ["delta", "accuracy"]
    effects = result.tables["effects"]
    assert set(effects.loc[effects["term"] == "model", "versus"]) == {"m1"}  # m0 has position bias by `meta`
    assert "in accuracy of models like these 4 (3 with several methods): " in result.answer
    assert "in delta of models like these 4: " in result.answer
    assert len(result.answer.split()) <= 60
    first = result.tables["comparisons"].query("outcome == 'accuracy'").iloc[0]
    assert (first["compared"], first["furthest"], first["versus"]) == ("1 other method", "meta", "direct")
    assert any(note.startswith("toy, accuracy: not compared because of position bias") for note in result.footnotes)


@pytest.mark.ci
def test_items_are_the_units_of_a_corpus_without_paradigms_and_as_many_as_asked_for_are_drawn() -> None:
    result = section(models(paradigms=2), max_items=40)
    assert set(result.tables["effects"]["unit"]) == {"item"}
    assert set(result.tables["effects"]["n"]) == {40}
    assert "40 items, drawn from 119 as a sample" in result.text
    again = section(models(paradigms=2), max_items=40)
    pd.testing.assert_frame_equal(result.tables["effects"], again.tables["effects"])


def test_one_method_of_one_model_is_refused() -> None:
    table = replace(models()[0], layouts=(DIRECT,))
    with pytest.raises(BankError, match="toy: nothing to compare"):
        section([table])


@pytest.mark.ci
def test_log_odds_of_a_right_answer_are_fitted_where_asked_for() -> None:
    result = section(models(), logistic=True)
    effects = result.tables["effects"]
    rows = keyed(effects[effects["outcome"] != "delta"], "outcome", "term", "level")
    (odds,) = [row for (outcome, term, _), row in rows.items() if (outcome, term) == ("log odds", "method")]
    (shares,) = [row for (outcome, term, _), row in rows.items() if (outcome, term) == ("accuracy", "method")]
    assert odds["ci_method"] == "mixed-laplace"
    assert odds["value"] * shares["value"] > 0
    assert odds["df"] == pytest.approx(shares["df"])
    assert " in log odds (Holm's p " in result.text
    assert set(result.tables["variance"].query("outcome == 'log odds'")["part"]) >= {"item", "unit"}
    assert "log odds" not in set(section(models()).tables["effects"]["outcome"])


@pytest.mark.ci
def test_log_odds_of_methods_on_models_like_these_have_no_interval() -> None:
    result = section(models(seeds=4), logistic=True)
    rows = result.tables["effects"].query("outcome == 'log odds'").set_index("term")
    assert rows.loc["method", ["low", "high", "p"]].isna().all()
    assert rows["p"][rows.index == "model"].notna().all()
    assert "in log odds (no interval: " in result.text


@pytest.mark.ci
def test_items_without_a_paradigm_are_left_out_of_log_odds_as_of_accuracies() -> None:
    without = models(130)
    kept = [replace(x, frame=x.frame.assign(paradigm=x.frame["paradigm"].where(x.frame.index >= 10))) for x in without]
    effects = section(kept, logistic=True).tables["effects"]
    assert effects.query("outcome == 'log odds'")["value"].notna().all()
    assert set(effects["n"]) == {12}
