"""What a report's first page must not hide: answers by place, each number's n, texts that were not read, people."""

from collections.abc import Sequence
from dataclasses import replace

import datasets
import numpy as np
import pandas as pd
import pytest

import pairbank
from pairbank.scoring.api.layout import MethodLayout
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.scored import Scored
from pairbank.stats import summarise
from pairbank.stats.analyses.base import Section
from pairbank.stats.report.checks import sentences
from pairbank.stats.report.overview import facts_of, glosses_of, question_of
from pairbank.stats.report.overview import overview as overview_of
from pairbank.stats.report.wide_tables import wide_numbers
from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import META, rated_table
from single_sentences import rated


def overview(*frames: ScoredFrame) -> Section:
    return overview_of(frames, summary=summary_of(frames))


def summary_of(frames: Sequence[ScoredFrame]) -> pd.DataFrame:
    return pd.concat([summarise(x.frame, x.layouts, model=x.model) for x in frames], ignore_index=True)


def found(frames: Sequence[ScoredFrame], place: str = "caution") -> tuple[str, ...]:
    """What the checks of a place find."""
    return sentences(facts_of(summary_of(frames), frames), place)


def answering(
    *, lean: float, sense: float = 0.0, order: float = 0.0, seed: int = 0, n_items: int = 200, model: str = "gpt2"
) -> ScoredFrame:
    """Return a table whose answers lean to the first option by so many nats, and know the better side by so many.

    Args:
        lean: of option 1 over option 2, in nats, in both orders.
        sense: of the better side over the worse one.
        order: more of the lean where the worse side stands first: what averaging the orders takes for a judgment.
        seed: of the noise.
        n_items: pairs.
        model: its name.
    """
    table = rated_table(n_items, seed=seed, model=model)
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=n_items)
    good_first = lean + sense + noise  # log-odds of option 1
    bad_first = lean + order - sense + rng.normal(size=n_items)
    logprobs = np.stack([-np.logaddexp(0, -x) for x in (good_first, -good_first, bad_first, -bad_first)], axis=1)
    good, bad = logprobs[:, [0, 3]].mean(axis=1), logprobs[:, [1, 2]].mean(axis=1)
    columns = {"meta_good": good, "meta_bad": bad, "meta_delta": good - bad, "meta_logprobs": logprobs.tolist()}
    return replace(table, frame=table.frame.assign(**columns))


def test_an_answer_by_place_is_told_as_one_and_counts_with_orders_pooled() -> None:
    frame = answering(lean=9, order=2.0)
    always = overview(frame)
    said = "gpt2 always picks the first option (100% first; position bias): 0.50 [0.50, 0.50] with orders pooled."
    assert said in always.answer
    assert "prompted answers favour" not in always.answer
    (cell,) = always.tables["accuracies"]["meta"]
    assert cell == "0.50 [0.50, 0.50] †"
    assert any(note.startswith("† Position bias") for note in always.footnotes)
    caption = next(figure.caption for figure in always.figures if figure.name.startswith("accuracy"))
    assert caption.endswith("Position bias, orders pooled: `meta`.")
    never = overview(answering(lean=-9, order=2.0))
    assert "gpt2 never picks the first option (0% first;" in never.answer


def test_averaging_the_orders_would_have_told_a_preference_of_an_answer_by_place() -> None:
    # the model is surer of option 1 where the worse side stands first: averaged, it "prefers" the worse side
    result = [answering(lean=9, order=2.0, seed=seed) for seed in range(20)]
    averaged = [float((one.frame["meta_delta"][1:] > 0).mean()) for one in result]
    assert max(averaged) < 0.25
    for said in (overview(one).answer for one in result[:3]):
        assert "prompted answers favour" not in said
        assert "gpt2 always picks the first option" in said


def test_a_report_without_a_title_asks_about_its_models_and_corpora() -> None:
    def asked(*frames: ScoredFrame, metric: str = "accuracy") -> str:
        return question_of(pd.DataFrame({"metric": [metric], "value": [0.5]}), frames)

    both = answering(lean=0)
    direct = replace(both, layouts=both.layouts[:1])
    assert asked(both) == "How accurate are the log-probabilities and prompted answers of gpt2 on toy?"
    assert asked(direct, replace(direct, model="b")) == "How accurate are the log-probabilities of 2 models on toy?"
    assert asked(direct, metric="mean_logprob") == "What are the log-probabilities of gpt2 on toy?"


@pytest.mark.ci
@pytest.mark.parametrize("lean", [0.0, 1.0])
def test_a_model_that_leans_and_still_judges_is_not_said_to_answer_by_place(lean: float) -> None:
    said = [overview(answering(lean=lean, sense=1.0, seed=seed, n_items=60)).answer for seed in range(10)]
    assert not any("first option" in one for one in said)
    assert all("prompted answers in" in one for one in said)


def test_a_method_with_the_correct_option_in_one_place_is_right_and_not_biased() -> None:
    fixed = MethodLayout(
        method="meta", kind="forced_choice", presentations=("good first",), options=("1", "2"), correct=(0,)
    )
    table = answering(lean=9)
    frame = table.frame.assign(meta_logprobs=[row[:2] for row in table.frame["meta_logprobs"]])
    answer = overview(replace(table, frame=frame, layouts=(table.layouts[0], fixed))).answer
    assert "first option" not in answer


def test_several_models_that_answer_by_place_are_counted_and_named() -> None:
    frames = [answering(lean=9, model="a"), answering(lean=-9, model="b"), answering(lean=0, sense=2, model="c")]
    answer = overview(*frames).answer
    assert "prompted answers in 1.00 [0.98, 1.00]" in answer
    assert "Left out for position bias (†): 2 of 3 prompted cases." in answer


def test_other_sections_are_read_with_a_caution_where_models_answer_by_place() -> None:
    def caution(*frames: ScoredFrame) -> str:
        return "".join(found(frames, "caution on analyses"))

    said = caution(answering(lean=9, model="a"), answering(lean=-9, model="b"), answering(lean=0, sense=2, model="c"))
    assert "**Position bias** in 2 of 3 combinations of model, corpus and prompt (a, b; `meta`)" in said
    assert not any(caution(answering(lean=1, sense=1, seed=seed)) for seed in range(10))


@pytest.mark.parametrize("lean", [9.0, 0.0])
def test_a_judgment_of_sentences_that_follows_the_order_of_options_has_a_caution(lean: float) -> None:
    table = pairbank.score(rated(), FakeScorer(name="gpt2"), methods=["direct", "acceptable_sentence"])
    rows = table.dataset.to_pandas()
    answers = np.random.default_rng(0).normal([lean, 0.0] * 2, 1.0, (len(rows), 4)) - 12  # 1 and 2, either for yes
    rows["acceptable_sentence_logprobs"] = np.hstack([answers, np.full_like(answers, np.nan)]).tolist()
    by_place = Scored.of(datasets.Dataset.from_pandas(rows, features=table.features), table.signature)
    caution = "".join(pairbank.report([by_place]).cautions)
    assert ("**Position bias on single sentences** in 1 of 1" in caution) == (lean > 0)


def test_a_report_with_further_analyses_has_that_caution_below_its_answer() -> None:
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=1)
    table = pairbank.score(items, FakeScorer(name="gpt2"), methods=["direct", "meta_question_simple"])
    rows = table.dataset.to_pandas()
    first = [-0.01, -9.0, -0.02, -9.0]  # option 1 in both orders, whichever side it is
    rows["meta_question_simple_logprobs"] = [first] * len(rows)
    rows["meta_question_simple_good"], rows["meta_question_simple_bad"] = -4.505, -4.51
    rows["meta_question_simple_delta"] = 0.005
    by_place = Scored.of(datasets.Dataset.from_pandas(rows, features=table.features), table.signature)
    pages = {name: pairbank.report([by_place], analyses=name) for name in ((), ("agreement_summary",))}
    assert [sum("Position bias" in one for one in made.cautions) for made in pages.values()] == [0, 1]
    page = pages["agreement_summary",].markdown()
    lead = page.index("## ")
    assert (
        lead
        < page.index("> **Position bias** in 1 of 1 combinations of model, corpus and prompt")
        < page.index("## ", lead + 1)
    )


def test_each_number_has_its_own_n_where_they_differ() -> None:
    table = answering(lean=0, sense=1)
    few = table.frame["item_id"].isin(table.frame["item_id"][:120])
    other = replace(META, method="other")
    frame = table.frame.assign(
        meta_delta=table.frame["meta_delta"].where(few),
        meta_logprobs=table.frame["meta_logprobs"].where(few, None),
        human_good=table.frame["human_good"].where(table.frame["item_id"].isin(table.frame["item_id"][:50])),
        **{f"other_{name}": table.frame[f"meta_{name}"] for name in ("good", "bad", "delta", "logprobs")},
    )
    result = overview(replace(table, frame=frame, layouts=(*table.layouts, other)))
    assert "(gpt2, toy, n = 119 to 199)" in result.answer
    assert "Human judgments favour the better side in" in result.answer
    assert "(n = 49)." in result.answer
    (row,) = result.tables["accuracies"].to_dict("records")
    assert row["n"] == 199
    assert row["meta"].endswith("(n = 119)")
    assert row["people"].endswith("(n = 49)")
    assert "(n" not in row["other"]


def cut(frame: ScoredFrame, n: int, model: str, method: str = "direct") -> ScoredFrame:
    """Return a table under another model's name in which a method has numbers for the first n items alone."""
    kept = np.arange(len(frame.frame)) < n
    return replace(
        frame, model=model, frame=frame.frame.assign(**{f"{method}_delta": frame.frame[f"{method}_delta"].where(kept)})
    )


def test_a_row_over_models_has_the_n_of_the_numbers_it_shows() -> None:
    # 30 models do not fit a page: a line per corpus, with the lowest and the highest
    several = [cut(rated_table(100, seed=seed), 60 if seed else 100, f"m{seed}") for seed in range(30)]
    (row,) = overview(*several).tables["accuracies"].to_dict("records")
    assert row["n"] == "59 to 99"
    # with seven methods, a line per method: the extremes' own n, whatever the other models have
    names = [f"other{k}" for k in range(6)]
    layouts = tuple(replace(META, method=name) for name in names)
    tables = []
    for seed, n in enumerate((100, 60, 60, 60, 60, 60, 60)):
        table = rated_table(100, seed=seed)
        columns = {f"{a}_{b}": table.frame[f"meta_{b}"] for a in names for b in ("good", "bad", "delta", "logprobs")}
        always = {"direct_delta": [1.0, -1.0][seed % 2] if seed else np.where(np.arange(100) % 2, 1.0, -1.0)}
        wide = replace(table, frame=table.frame.assign(**columns, **always), layouts=(*table.layouts, *layouts))
        tables.append(cut(wide, n, f"m{seed}"))
    shown = overview(*tables).tables["accuracies"]
    (row,) = shown[shown["method"] == "direct"].to_dict("records")
    assert (row["min"][:4], row["max"][:4], row["n"]) == ("0.00", "1.00", 59)  # not 99, which is that of m0


def test_items_with_identical_sides_are_counted_on_the_first_page() -> None:
    assert "**n below the 200 items of toy**: 1 has identical sides." in overview(rated_table()).footnotes
    whole = rated_table(30)
    none = replace(whole, frame=whole.frame.assign(flags=pd.Series([["near_tie"]] * 30, dtype=object)))
    assert not any("identical" in note for note in overview(none).footnotes)


def test_every_page_says_why_n_is_below_the_number_of_items() -> None:
    whole = rated_table(30)
    flags = [["over_length"] * (nth in (3, 4)) for nth in range(30)]
    frame = whole.frame.assign(meta_flags=pd.Series(flags, dtype=object))
    names = frame.columns.astype(str)
    frame.loc[[3, 4], names[names.str.startswith("meta_") & (names != "meta_flags")]] = None
    frame.loc[[5], names[names.str.startswith("direct_")]] = None
    frame.loc[[6, 7, 8], ["human_good", "human_bad"]] = np.nan
    frame.loc[[9], "task"] = "sentence"
    tables = [replace(whole, frame=frame, model="a"), replace(whole, frame=whole.frame.iloc[:-4], model="b")]
    (said,) = found(tables, "left out")
    assert said == (
        "**n below the 30 items of toy**: 1 has identical sides; 1 is no pair (a); 3 have no human judgment (a); "
        "1 has no score (a; `direct`); 2 are longer than the context (a; `meta`); 4 are not in its table (b)."
    )


def test_whether_a_model_goes_with_people_is_on_the_first_page() -> None:
    table = rated_table()
    result = overview(table)
    direct, people = table.frame["direct_delta"][1:], (table.frame["human_good"] - table.frame["human_bad"])[1:]
    r = float(np.corrcoef(direct, people)[0, 1])
    said = "Pearson's r with human judgments (toy, n = 199): `direct` "
    assert f"{said}{r:.2f} [" in result.answer
    (figure,) = [figure for figure in result.figures if figure.name == "with_people_toy_gpt2"]
    assert len(figure.draw().axes) >= 2
    two = overview(table, rated_table(seed=1, model="b"))
    assert "Pearson's r with human judgments (toy, n = 199): " in two.answer
    assert "(direct); " in two.answer
    assert any(figure.name == "with_people_toy" for figure in two.figures)
    unrated = replace(table, frame=table.frame.assign(human_good=np.nan, human_bad=np.nan))
    without = overview(unrated)
    assert "people" not in without.answer.lower()
    assert not any(figure.name.startswith("with_people") for figure in without.figures)


def test_texts_that_a_model_cannot_read_are_told_above_a_share() -> None:
    table = rated_table(100)

    def flagged(n_unknown: int, n_same: int) -> ScoredFrame:
        flags = [["unknown_token"] * (i < n_unknown) + ["identical_tokens"] * (1 <= i <= n_same) for i in range(100)]
        return replace(table, frame=table.frame.assign(direct_flags=pd.Series(flags, dtype=object)))

    assert found([flagged(5, 4)]) == ()
    (said,) = found([flagged(94, 20)])
    assert said.startswith(
        "**gpt2 cannot read some of toy**: 94 of 100 items hold characters that its tokenizer has no"
    )
    assert "; 20 of 99 pairs are the same tokens on both sides" in said
    many = [replace(flagged(94, 0), model=f"m{i}") for i in range(12)]
    assert len(found(many)) == 9
    assert found(many)[-1].startswith("The same holds of 4 more models and corpora")


def test_a_method_that_applies_to_no_item_is_named() -> None:
    table = rated_table()
    empty = table.frame.assign(**{name: None for name in map(str, table.frame) if name.startswith("meta_")})
    (said,) = found([replace(table, frame=empty)], "unasked")
    assert said == "No item of toy (en) can be scored with `meta`."
    assert found([table, replace(table, frame=empty, model="b")], "unasked") == ()


def test_the_csv_of_agreement_has_numbers() -> None:
    table = rated_table()
    result = wide_numbers(summarise(table.frame, table.layouts, model="gpt2"), "agreement")
    row = result[(result["versus"] == "direct") & (result["group"] == "all")].iloc[0]
    numbers = [name for name in map(str, result) if name.startswith(("Pearson", "Spearman", "Cohen", "same"))]
    assert len(numbers) == 4 * 4
    assert all(pd.api.types.is_numeric_dtype(result[name]) for name in numbers)
    r = float(np.corrcoef(table.frame["direct_delta"][1:], table.frame["meta_delta"][1:])[0, 1])
    assert row["Pearson r"] == pytest.approx(r, abs=1e-12)
    assert row["Pearson r low"] < row["Pearson r"] < row["Pearson r high"]
    assert row["Pearson r n"] == 199


def test_a_model_whose_answers_do_not_depend_on_the_prompt_is_named() -> None:
    frame = answering(lean=0.0, sense=1.0)
    other = META.__class__.from_dict({**META.to_dict(), "method": "other"})
    columns = {str(name): frame.frame[name] for name in frame.frame if str(name).startswith("meta_")}

    def asked_twice(noise: float) -> ScoredFrame:
        second = {name.replace("meta_", "other_"): values for name, values in columns.items()}
        second["other_delta"] = columns["meta_delta"] + noise * np.random.default_rng(1).normal(size=len(frame.frame))
        return replace(frame, frame=frame.frame.assign(**second), layouts=(*frame.layouts, other))

    (told,) = found([asked_twice(0.0)])
    assert told.startswith("**gpt2 gives the same answers to different prompts**: r = 1.00 between `meta` and `other`")
    both = [asked_twice(0.0), replace(asked_twice(0.0), model="toy")]
    assert [text.partition(" give ")[0] for text in found(both)] == ["**gpt2 and toy"]
    assert found([asked_twice(0.5)]) == ()


def test_decisions_below_chance_have_a_note_on_answers_that_could_not_be_parsed() -> None:
    layout = MethodLayout(
        method="asked", kind="forced_choice", presentations=("a",), options=("good", "bad"), correct=(0,),
        counterbalanced=False, orders="unknown", readout="decision",
    )  # fmt: skip

    def deciding(share: float) -> Section:
        right = np.arange(100) < 100 * share
        decided = {"asked_good": right * 1.0, "asked_bad": ~right * 1.0, "asked_delta": np.where(right, 1.0, -1.0)}
        answers = pd.Series([["good" if good else "bad"] for good in right], dtype=object)
        frame = rated_table(100, seed=0).frame.assign(**decided, asked_answers=answers)
        return overview(ScoredFrame(corpus="toy", model="m", frame=frame, layouts=(layout,), signature={}))

    told = "Answers that could not be parsed may be counted as wrong."
    (note,) = [note for note in deciding(0.1).footnotes if told in note]
    assert note.startswith("`asked` on toy: 1 of 1 model is below chance (interval under 0.50).")
    assert not [note for note in deciding(0.45).footnotes if told in note]


def test_methods_are_glossed_and_one_name_for_two_methods_has_both() -> None:
    frame = answering(lean=0.0)
    imported = {"methods": {"meta": {"imported": {"label": "which <b> is better"}}}}
    same_name = replace(frame, corpus="other", signature=imported)
    assert (
        glosses_of([frame], {})["`meta`"]
        == "a question about both sides, in both orders; probabilities of the answers 1, 2"
    )
    told = glosses_of([frame, same_name], {})["`meta`"]
    assert told.startswith(f"on {frame.corpus}: a question about both sides")
    assert told.endswith("on other: which &lt;b&gt; is better (imported)")
