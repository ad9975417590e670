"""The section on raters: choices and ratings from the table of ratings, models of three kinds, and what is said."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pairbank.errors import BankError
from pairbank.stats.analyses.base import DEFAULTS, Context, Section
from pairbank.stats.analyses.raters.judgments import ratings_given
from pairbank.stats.analyses.raters.section import raters as section
from pairbank.stats.analyses.registry import checked_options, section_or_note
from pairbank.stats.report.summary import summarise
from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import DIRECT, judgment, keyed, rated_table, rating


def forced(table: ScoredFrame, *, n_raters: int = 5, right: float = 0.87) -> pd.DataFrame:
    """Forced choices of raters of every item of a table."""
    ids = table.frame["item_id"].to_list()
    values = np.random.default_rng(9).random((len(ids), n_raters)) < right
    item, rater = np.divmod(np.arange(values.size), n_raters)
    return pd.DataFrame(
        {
            "item_id": np.array(ids)[item],
            "side": "good",
            "rater": rater,
            "value": values.ravel().astype(float),
            "scale": "forced-choice",
        }
    )


def likert(table: ScoredFrame, *, n_raters: int = 4, both: bool = True) -> pd.DataFrame:
    """Ratings from 1 to 7; half of the raters see the better side and half the worse one, unless all see both."""
    rng, rows = np.random.default_rng(4), []
    for number, one in enumerate(table.frame.to_dict("records")):
        for rater in range(n_raters):
            for side in ("good", "bad"):
                if both or (rater + number) % 2 == (side == "good"):
                    value = np.clip(round(4 + one[f"human_{side}"] + rng.normal()), 1, 7)
                    rows.append((one["item_id"], side, rater, float(value), "likert7"))
    return pd.DataFrame(rows, columns=["item_id", "side", "rater", "value", "scale"])


def models(n_items: int = 300) -> list[ScoredFrame]:
    """A model that is always right, one that is right in half, and one that answers as it is asked."""
    made = [rated_table(n_items, seed=0, model=name) for name in ("sure", "guessing", "shifted")]
    shifted = made[2].frame["direct_delta"].to_numpy(dtype=np.float64) + 1
    deltas = (np.ones(n_items), np.tile([1.0, -1.0], n_items // 2), shifted)
    return [
        replace(table, frame=table.frame.assign(direct_delta=delta)) for table, delta in zip(made, deltas, strict=True)
    ]


def made(tables: list[ScoredFrame], *ratings: pd.DataFrame) -> Section:
    return section(tables, Context(ratings=list(ratings)))


def test_a_model_that_is_wrong_on_whole_paradigms_does_not_pass_for_a_person() -> None:
    sure = models()[0]
    paradigm = np.arange(300) % 12
    wrong = np.where(paradigm == 0, -1.0, 1.0)
    nested = replace(sure, frame=sure.frame.assign(direct_delta=wrong, paradigm=[f"p{k}" for k in paradigm]))
    ratings = forced(sure)
    test = made([nested], ratings).tables["test"].iloc[0]
    assert test["winning_rate"] >= 0.5 > test["winning_rate_beyond"]
    assert " passes the alternative-annotator test" in made([nested], ratings).answer
    apart = replace(nested, frame=nested.frame.assign(paradigm=None))
    assert "1 of 1 by `direct` on toy; 0 of 1 by `meta` on toy. sure by `direct`" in made([apart], ratings).answer


def test_raters_and_models_stand_in_one_table_on_the_same_items() -> None:
    tables = models()
    result = made(tables, forced(tables[0]))
    beside = result.tables["beside"]
    assert beside["who"].str.contains("majority").sum() == 2
    assert set(beside["n"].dropna()) == {299}  # one pair is no choice
    tests = result.tables["test"].set_index(["model", "method", "phenomenon"])
    assert tests.loc[("sure", "direct", ""), "winning_rate"] == 1
    assert tests.loc[("guessing", "direct", ""), "winning_rate"] == 0
    assert "individual raters are right in 0.8" in result.answer
    assert "2 of 3 by `direct` on toy; 0 of 3 by `meta` on toy. sure by `direct`" in result.answer
    assert result.text.startswith("How often is one person right")
    for figure in result.figures:
        assert figure.draw().get_axes()


def test_accuracies_have_the_intervals_of_the_summary_over_items_and_over_paradigms() -> None:
    tables = models()
    names = [f"p{i % 15}" for i in range(len(tables[0].frame))]
    tables = [replace(table, frame=table.frame.assign(paradigm=names)) for table in tables]
    result = made(tables, forced(tables[0]))
    rows = result.tables["each"]
    mine = rows[(rows["kind"] == "model") & (rows["method"] == "meta")].set_index("who").loc[tables[0].model]
    summary = summarise(tables[0].frame, tables[0].layouts, model=tables[0].model)
    same = summary[(summary["metric"] == "accuracy") & (summary["method"] == "meta") & (summary["group_by"] == "all")]
    for name in ("value", "low", "high", "low_paradigms", "high_paradigms", "n_paradigms"):
        assert mine[name] == same[name].iloc[0]
    people = rows[rows["kind"] != "model"]
    assert (people["n_paradigms"] == 15).all()
    shown = result.tables["beside"].set_index("who").loc["majority of raters", "accuracy"]
    own = rows.set_index("who").loc["majority of raters"]
    low, high = min(own["low"], own["low_paradigms"]), max(own["high"], own["high_paradigms"])
    assert shown == f"{own['value']:.2f} [{low:.2f}, {high:.2f}]"


def test_nobody_is_as_good_as_a_person_and_the_answer_says_so() -> None:
    guessing = models()[1]
    only = replace(guessing, layouts=(DIRECT,))
    answer = made([only], forced(only)).answer
    assert "None of 1 combination of model, method and corpus passes the alternative-annotator test" in answer


def test_ratings_of_both_sides_make_choices_and_correlations() -> None:
    tables = models()
    ratings = likert(tables[0])
    result = made(tables, ratings)
    each = result.tables["each"]
    raters = each[each["kind"] == "rater"]
    assert raters["value"].notna().all()
    wide = ratings.pivot(index=["item_id", "side"], columns="rater", values="value").drop("toy/0000")  # no choice
    z = (wide - wide.mean()) / wide.std()
    with_others = [z[rater].corr(z.drop(columns=rater).mean(axis=1)) for rater in z]
    assert raters["r_with_others"].tolist() == pytest.approx(with_others)
    assert set(result.tables["reliability"]["of"]) == {"choices", "ratings of sides"}
    meta = each[(each["who"] == "sure") & (each["method"] == "meta")]
    assert meta["r_with_others"].isna().all()  # it scores no side


def test_raters_who_saw_one_side_are_compared_by_their_ratings() -> None:
    tables = models()
    result = made(tables, likert(tables[0], both=False))
    assert result.tables["each"]["value"].isna().all()
    tests = result.tables["test"]
    assert set(tests["method"]) == {"direct"}
    assert (tests["n"] > 300).all()
    assert "a rater correlates with the mean of the others at r" in result.answer


def test_means_without_raters_say_what_they_can_and_what_they_cannot() -> None:
    tables = models()
    frame = tables[0].frame
    human = np.sign(frame["human_good"].to_numpy() - frame["human_bad"].to_numpy())[1:]  # the first is no choice
    result = section(tables, Context(mean_ratings=("toy",)))
    each = result.tables["each"]
    people = each[each["kind"] == "people"].set_index("who")
    assert people.loc["mean ratings", "value"] == pytest.approx((human > 0).mean())
    direct = each[(each["who"] == "shifted") & (each["method"] == "direct")].iloc[0]
    sides = [frame[f"{kind}_{side}"].to_numpy()[1:] for kind in ("direct", "human") for side in ("good", "bad")]
    r = np.corrcoef(np.concatenate(sides[:2]), np.concatenate(sides[2:]))[0, 1]
    assert (direct["r_with_means"], direct["n_means"]) == (pytest.approx(r), 598)
    assert each[each["method"] == "meta"]["r_with_means"].isna().all()  # it scores no side
    assert result.text.startswith("Which side do people's mean ratings prefer")
    assert "publishes mean ratings without individual ones (the number of raters per mean is not" in result.answer
    assert "Summed log-probability (`direct`) decreases with length" in result.answer
    assert "no ceiling of r: the source gives mean ratings without their spread" in result.text
    assert result.tables["test"].empty
    for figure in result.figures:
        assert figure.draw().get_axes()
    known = [replace(t, frame=t.frame.assign(human_n=np.arange(300) % 3 + 8)) for t in tables]
    assert "8 to 10 raters per mean" in section(known, Context(mean_ratings=("toy",))).answer


def test_single_ratings_are_taken_where_there_are_both() -> None:
    tables, other = models(), rated_table(40, corpus="means", model="sure")
    ratings = [forced(tables[0])]
    result = section([*tables, other], Context(ratings=ratings, mean_ratings=("toy", "means")))
    people = result.tables["each"].query("kind == 'people'")
    assert people.groupby("corpus")["who"].count().to_dict() == {"means": 1, "toy": 3}
    assert "means publishes mean ratings" in result.answer
    assert "toy publishes" not in result.answer


def test_a_fair_score_of_single_sentences_is_named_where_there_is_one() -> None:
    tables = models()
    ratings = likert(tables[0], both=False)
    assert "score `mean_logprob` too" in made(tables, ratings).answer
    both = []
    for table in tables:
        fair = {f"mean_logprob_{end}": table.frame[f"direct_{end}"] for end in ("good", "bad", "delta")}
        layouts = (*table.layouts, replace(DIRECT, method="mean_logprob"))
        both.append(replace(table, frame=table.frame.assign(**fair), layouts=layouts))
    answer = made(both, ratings).answer
    assert "read `mean_logprob` for r" in answer
    assert made(both, ratings).text.startswith("How closely does one person agree with the others, and how closely")


def test_two_corpora_one_without_ratings_and_the_order_of_rows_change_nothing() -> None:
    tables, other = models(), rated_table(40, corpus="unrated", model="sure")
    ratings = forced(tables[0])
    once = made([*tables, other], ratings)
    again = made([*tables, other], ratings.sample(frac=1, random_state=1))
    assert set(once.tables["each"]["corpus"]) == {"toy"}
    for name, table in once.tables.items():
        pd.testing.assert_frame_equal(table, again.tables[name])


def test_a_file_of_ratings_is_given_as_text_and_what_is_wrong_is_stated(tmp_path: Path) -> None:
    tables = models()
    path = tmp_path / "ratings.parquet"
    forced(tables[0]).to_parquet(path)
    options = checked_options("raters", {"ratings": str(path), "epsilon": "0.2"})
    assert options == {"ratings": (str(path),), "epsilon": 0.2}
    assert section_or_note("raters", tables, DEFAULTS, options=options).answer
    with pytest.raises(BankError, match="no individual ratings were given"):
        section(tables)
    with pytest.raises(BankError, match="lacks the column"):
        ratings_given([forced(tables[0]).drop(columns="scale")])
    with pytest.raises(BankError, match="of none of the items of toy"):
        made(tables, forced(rated_table(30, corpus="other")))
    with pytest.raises(BankError, match="no such file"):
        ratings_given([str(tmp_path / "none.parquet")])


RATED = rating("rating", 7)
DRAWN = rating("free@8samples", 7, readout="generation", samples=8)
YES = judgment("yes")


def with_answers(model: str, *, knows: bool) -> ScoredFrame:
    """A model that rates both sides as people do, or all alike: by probabilities, draws, and a yes or no."""
    table, rng = rated_table(60, model=model), np.random.default_rng(7)
    means = 4 + table.frame[["human_good", "human_bad"]].to_numpy(dtype=np.float64) * knows
    nats = -((np.arange(1, 8) - means[:, :, np.newaxis]) ** 2) / 2
    shares = np.exp(nats) / np.exp(nats).sum(axis=2, keepdims=True)
    draws = [[float(rng.choice(7, p=one) + 1) for side in both for one in [side] * 8] for both in shares]
    draws[5][:8] = [np.nan] * 8
    yes = np.log(np.stack([np.full((60, 2), 0.75), np.full((60, 2), 0.25)], axis=2))
    frame = table.frame.assign(
        rating_good=means[:, 0], rating_bad=means[:, 1], rating_delta=means[:, 0] - means[:, 1],
        rating_argmax_good=4.0, rating_argmax_bad=4.0, rating_logprobs=nats.reshape(60, -1).tolist(), yes_good=0.0,
        yes_bad=0.0, yes_delta=0.0, yes_logprobs=yes.reshape(60, -1).tolist(),
    )  # fmt: skip
    name = DRAWN.method
    frame[[f"{name}_good", f"{name}_bad", f"{name}_delta", f"{name}_unparsed"]] = [4.0, 4.0, 0.0, 0]
    frame[f"{name}_draws"] = draws
    return replace(table, frame=frame, layouts=(*table.layouts, RATED, DRAWN, YES))


def test_distributions_of_answers_are_held_against_peoples_and_against_one_for_all() -> None:
    tables = [with_answers("knows", knows=True), with_answers("guesses", knows=False)]
    result = made(tables, likert(tables[0], n_raters=6))
    rows = keyed(result.tables["distances"], "model", "method", "of")
    assert {method for _, method, _ in rows} == {"rating", DRAWN.method}, "yes or no is no scale of seven"
    assert rows["knows", DRAWN.method, "model"]["n"] == 2 * 59 - 1
    for method in ("rating", DRAWN.method):
        ends = [rows[name, method, "model - one distribution"]["high"] for name in ("knows", "guesses")]
        assert ends[0] < 0 < ends[1]
        of_model = rows["knows", method, "model"]
        assert of_model["value"] == pytest.approx(of_model["floor"], rel=0.25)
    assert f"nearer than that: knows by `rating`, knows by `{DRAWN.method}`." in result.answer
    alone = made(tables[1:], likert(tables[0], n_raters=6))
    assert "no model is shown to be nearer." in alone.answer
    assert "Wasserstein distance of the first" in result.definitions


def test_judgments_are_held_against_binary_ratings_and_other_scales_are_not_compared() -> None:
    table = with_answers("guesses", knows=False)
    rated = likert(table, n_raters=6)
    binary = rated.assign(value=(rated["value"] > 4).astype(float), scale="binary")
    distances = made([table], binary).tables["distances"]
    assert set(distances["method"]) == {"yes"}
    accepted = binary[binary["item_id"] != table.frame["item_id"].iloc[0]].groupby(["item_id", "side"])["value"].mean()
    [row] = distances[distances["of"] == "model"].to_dict("records")
    assert row["value"] == pytest.approx((accepted - 0.75).abs().mean())
    again = {f"again_{name}": table.frame[f"yes_{name}"] for name in ("good", "bad", "delta", "logprobs")}
    both = replace(table, frame=table.frame.assign(**again), layouts=(*table.layouts, replace(YES, method="again")))
    twice = made([both], binary).tables["distances"]
    assert twice[twice["of"] == "model"]["value"].tolist() == [row["value"]] * 2, "each question asks the same people"
    assert "distances" not in made([table], rated.assign(scale="magnitude-estimation-z")).tables


def test_single_sentences_have_distributions_too() -> None:
    pairs = with_answers("knows", knows=True)
    frame = pairs.frame.assign(task="sentence", target_bad=None, human_bad=np.nan)
    missing = [str(name) for name in frame if str(name).endswith(("_bad", "_delta")) and name != "human_bad"]
    frame[missing] = np.nan
    frame["rating_logprobs"] = [[*one[:7], *[np.nan] * 7] for one in frame["rating_logprobs"]]
    frame["yes_logprobs"] = [[*one[:2], np.nan, np.nan] for one in frame["yes_logprobs"]]
    frame[f"{DRAWN.method}_draws"] = [[*one[:8], *[np.nan] * 8] for one in frame[f"{DRAWN.method}_draws"]]
    rated = likert(pairs, n_raters=6)
    rated = rated[rated["side"] == "good"]
    of_pairs, alone = (
        keyed(made([table], rated).tables["distances"], "method", "of")
        for table in (pairs, replace(pairs, frame=frame))
    )
    for method in ("rating", DRAWN.method):
        one, both = alone[method, "model"], of_pairs[method, "model"]
        assert (one["n"], one["value"], one["low"]) == (both["n"], both["value"], both["low"])


@pytest.mark.parametrize(("answer", "side"), [(1.0, "better"), (0.0, "worse")])
def test_a_rater_who_always_answers_the_same_is_left_out_and_named(answer: float, side: str) -> None:
    sure = models(120)[0]
    ratings = forced(sure)
    few = ratings["item_id"].isin(sure.frame["item_id"].head(60))
    ratings = ratings.assign(value=np.where(few, 1 - answer, ratings["value"]))
    constant = ratings.drop_duplicates("item_id").assign(rater=7, value=answer)
    result = made([sure], pd.concat([ratings, constant], ignore_index=True))
    sentence = f"Rater 7 of toy chose the {side} side in 120 of 120 judgments, also where most of the others did not"
    assert f"{sentence}: left out of means, majorities and ceilings." in result.answer
    assert result.tables["left_out"][["rater", "n_same", "n"]].to_numpy().tolist() == [[7, 120, 120]]
    without = made([sure], ratings)
    assert "left out of means" not in without.answer
    assert "left_out" not in without.tables
    pd.testing.assert_frame_equal(result.tables["each"], without.tables["each"])
