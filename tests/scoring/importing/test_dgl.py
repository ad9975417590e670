"""Hu et al. 2024: pairs and single sentences are read as published; what the paper's notebook prints comes out."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pairbank
from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.importing.scores import Imports, import_logs
from shared_files import present

SENTENCES = {  # phenomenon -> grammatical, ungrammatical
    "Agreement": ("The hen clucks", "The hen cluck"),
    "Order": ("I fed an old grey goose", "I fed a grey old goose"),
}
STIMULI = [
    ("Agreement", "TS 1", "grammatical", "The hen clucks"),
    ("Agreement", "TS 2", "ungrammatical", "The ducks waddles"),
    ("Order", "TS 1", "grammatical", "I fed an old grey goose"),
    ("Order", "TS 6", "ungrammatical", "I fed a grey old goose"),
]


@pytest.fixture
def made_up(tmp_path: Path) -> Path:
    """Files as they are published, about sentences of our own."""
    pairs = [
        ("Agreement", "TS 1", "grammatical", *SENTENCES["Agreement"], 20.0, 25.5),
        ("Agreement", "TS 2", "ungrammatical", "The ducks waddle", "The ducks waddles", 30.0, 28.0),
        ("Order", "TS 1", "grammatical", SENTENCES["Order"][0], "", 40.0, ""),
        ("Order", "TS 6", "ungrammatical", "", SENTENCES["Order"][1], "", 44.0),
        ("Order", "TS 2", "grammatical", "We saw a small white swan", "", 41.0, ""),
    ]
    names = ["phenomenon", "test_item", "original_condition", "sentence_grammatical", "sentence_ungrammatical"]
    names += ["sum_surprisal_grammatical", "sum_surprisal_ungrammatical"]
    pd.DataFrame(pairs, columns=names).to_csv(tmp_path / "surprisals_text-davinci-002.csv", index=False)
    stimuli = pd.DataFrame(STIMULI, columns=["phenomenon", "test_item", "condition", "sentence"])
    stimuli.to_csv(tmp_path / "stimuli.csv", index=False)
    asked = stimuli.assign(
        prompt="…", response=["C", "N", "A made-up sentence.", "C"], response_clean=["C", "N", "", "C"]
    )
    asked.to_csv(tmp_path / "prompting_text-davinci-002.csv", index=False)
    chat = pd.concat([stimuli, pd.DataFrame([{"sentence": "Goose the fed", "condition": "ungrammatical"}])])
    chat = chat.assign(**{"original_prompt_gpt3.5_turbo": list("CCCNN"), "original_prompt_gpt4": list("CNCNN")})
    chat.to_csv(tmp_path / "prompting_gpt-3.5-turbo_gpt-4.csv", index=False)
    repeated = [
        {**row, "model": "davinci2", "repetition": n, "accuracy": n % 2} for n in range(4) for row in _rows(stimuli)
    ]
    pd.DataFrame(repeated).to_csv(tmp_path / "dgl_models.csv", index=False, encoding="utf-8-sig")
    judged = [{**row, "rater": n // 2, "accuracy": int(n < 3)} for n in range(4) for row in _rows(stimuli)]
    pd.DataFrame(judged).to_csv(tmp_path / "dgl_people.csv", index=False)
    return tmp_path


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): cell for name, cell in row.items()} for row in frame.to_dict("records")]


def test_pairs_are_as_published_and_halves_with_the_same_words_are_put_together(made_up: Path) -> None:
    result = import_logs(made_up, "hu-2024-dgl")
    [table] = result.tables
    assert (table.model, table.methods) == ("text-davinci-002", ("direct_bos_unstated",))
    assert table.dataset["direct_bos_unstated_good"][:] == [-20.0, -30.0, -40.0]
    assert table.dataset["direct_bos_unstated_bad"][:] == [-25.5, -28.0, -44.0]
    assert (table.dataset["target_good"][2], table.dataset["target_bad"][2]) == SENTENCES["Order"]
    [left] = result.left_out
    assert (left.n, left.reason) == (1, "the other side of the pair is not there")


def test_sentences_have_labels_people_and_the_answers_of_each_system(made_up: Path) -> None:
    result = import_logs(made_up, "hu-2024-dgl-sentences")
    tables = {table.model: table for table in result.tables}
    assert {model: table.methods for model, table in tables.items()} == {
        "gpt-3.5-turbo": ("asked",),
        "gpt-4": ("asked",),
        "text-davinci-002": ("sampled", "asked_without_sentence"),
    }
    data = tables["text-davinci-002"].dataset
    assert (data["task"][0], data["target_bad"][0], data["label"][:]) == ("sentence", None, [1, 0, 1, 0])
    assert data["human_good"][:] == [0.75, 0.25, 0.75, 0.25]
    assert data["human_n"][:] == [2] * 4
    assert data["sampled_good"][:] == [0.5] * 4
    assert tables["text-davinci-002"].signature["methods"]["sampled"]["layout"]["kind"] == "rating"
    assert data["asked_without_sentence_good"][:] == [1.0, 0.0, None, 1.0]
    assert data["asked_without_sentence_unparsed"][:] == [0, 0, 1, 0]
    assert tables["gpt-4"].dataset["asked_good"][:] == [1.0, 0.0, 1.0, 0.0]
    assert [(one.file, one.n) for one in result.left_out] == [("prompting_gpt-3.5-turbo_gpt-4.csv", 2)]
    ratings = result.ratings["hu-2024-dgl-sentences"]
    assert ratings.columns.to_list() == ["item_id", "side", "rater", "value", "scale"]
    first = ratings[(ratings["item_id"] == data["item_id"][0]) & (ratings["side"] == "good")]
    assert dict(zip(first["rater"], first["value"], strict=True)) == {"0": 1.0, "1": 0.5}  # of two answers each
    assert len(ratings) == len(ratings.drop_duplicates(["item_id", "rater"])) == 8
    summary = pairbank.report([tables["gpt-3.5-turbo"]], n_resamples=10).summary
    numbers = summary[summary["group_by"] == "all"].set_index("metric")["value"]
    assert (numbers["acceptance"], numbers["answer_accuracy"]) == (0.75, 0.75)


def test_each_sampled_answer_is_a_rating_of_the_model(made_up: Path) -> None:
    result = import_logs(made_up, "hu-2024-dgl-sentences")
    assert [*result.draws] == ["text-davinci-002"]
    draws = result.draws["text-davinci-002"]
    assert [*draws.columns] == ["item_id", "side", "rater", "value", "scale", "model", "method"]
    assert (len(draws), sorted(set(draws["rater"])), set(draws["scale"])) == (16, [0, 1, 2, 3], {"binary"})
    [table] = [one for one in result.tables if one.model == "text-davinci-002"]
    shares = dict(zip(table["item_id"][:], table["sampled_good"][:], strict=True))
    assert draws.groupby("item_id")["value"].mean().to_dict() == pytest.approx(shares)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("prompting_text-davinci-002.csv", ",N\n", ",maybe\n", "asked_without_sentence_good is 'maybe'"),
        ("stimuli.csv", "ungrammatical", "odd", "condition is 'odd', expected grammatical or ungrammatical"),
        ("stimuli.csv", "sentence", "text", "no column sentence"),
        ("dgl_people.csv", ",1\n", ",7\n", "accuracy is '7', expected 0 or 1"),
    ],
)
def test_what_is_not_as_published_is_refused(made_up: Path, file: str, old: str, new: str, message: str) -> None:
    path = made_up / file
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ScoreImportError, match=message):
        import_logs(made_up, "hu-2024-dgl-sentences")


def test_an_answer_about_one_side_of_a_pair_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "judged.csv"
    path.write_text("good,bad,answer\nThe hen clucks.,The hen cluck.,yes\n", encoding="utf-8")
    with pytest.raises(ScoreImportError, match="a pair, and judge has no answers about its worse side"):
        pairbank.import_scores(path, scores={"judge": "decision"}, columns={"judge_good": "answer"}, model="m")


# the published files ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published(shared: Path) -> Path:
    return present(shared / "published" / "hu-2024-dgl")


@pytest.fixture(scope="module")
def pairs(published: Path) -> Imports:
    return import_logs(published, "hu-2024-dgl")


@pytest.fixture(scope="module")
def sentences(published: Path) -> Imports:
    return import_logs(published, "hu-2024-dgl-sentences")


@pytest.mark.upstream
def test_the_correlations_that_the_notebook_prints_come_out(pairs: Imports, sentences: Imports) -> None:
    """Figure 1b: the difference in the direction of the sentence that people saw, and how many of them accepted it."""
    accepted = dict(zip(*(sentences.tables[0].dataset[name] for name in ("target_good", "human_good")), strict=True))
    printed = {"text-davinci-002": 0.7448777486818973, "text-davinci-003": 0.672262826222596}
    for table in pairs.tables:
        data = table.dataset.to_pandas()
        sides = {row["target_good"]: row["direct_bos_unstated_delta"] for row in _rows(data)}
        sides |= {row["target_bad"]: -row["direct_bos_unstated_delta"] for row in _rows(data)}
        seen = np.array([(delta, accepted[text]) for text, delta in sides.items() if text in accepted])
        assert len(seen) == 80
        assert np.corrcoef(seen.T)[0, 1] == pytest.approx(printed[table.model], abs=1e-7)


@pytest.mark.upstream
def test_the_pairs_are_those_that_hu_and_frank_scored(pairs: Imports, shared: Path) -> None:
    """The 75 pairs of Hu & Frank 2024, five of them made of two rows, and the ten of the control."""
    path = present(shared / "published" / "hu_frank_2024_syntax.csv")
    theirs = pd.read_csv(path, usecols=["dataset", "sentence_grammatical", "sentence_ungrammatical"], low_memory=False)
    theirs = theirs[theirs["dataset"] == "dgl"]
    data = pairs.tables[0].dataset.to_pandas()
    data = data[data["phenomenon"] != "Plural Attraction control"]
    mine = set(zip(data["target_good"], data["target_bad"], strict=True))
    assert len(mine) == 75
    assert mine == set(zip(theirs["sentence_grammatical"], theirs["sentence_ungrammatical"], strict=True))


@pytest.mark.upstream
def test_people_accept_and_answers_are_unreadable_as_often_as_the_notebook_prints(sentences: Imports) -> None:
    tables = {table.model: table.dataset for table in sentences.tables}
    people = {(row["subset"], row["pair_id"]): row["human_good"] for row in tables["gpt-4"]}
    first = [people["Anaphora", f"TS {n}"] for n in (1, 10, 2, 3, 4)]
    assert first == pytest.approx([0.97, 0.40, 0.82, 0.96, 0.92])
    unparsed = sum(sum(tables[f"text-davinci-00{n}"]["asked_without_sentence_unparsed"]) for n in (2, 3))
    assert (unparsed / 160, unparsed / 320) == (0.04375, 0.021875)


@pytest.mark.upstream
def test_accuracies_and_acceptance_are_those_of_the_files(pairs: Imports, sentences: Imports) -> None:
    """At ceiling but for centre embedding; GPT-3.5 and GPT-4 are right more often than people (76%)."""
    right = {}
    for table in pairs.tables:
        data = table.dataset.to_pandas()
        right[table.model] = (data["direct_bos_unstated_delta"] > 0).groupby(data["phenomenon"]).sum().to_dict()
    common = dict.fromkeys(["Anaphora", "NPIs", "Intrusive Resumption", "Plural Attraction"], 10)
    common |= {
        "Plural Attraction control": 10,
        "Order of Adjectives": 5,
        "Comparative Sentences": 9,
        "Center Embedding": 0,
    }
    assert right["text-davinci-002"] == {**common, "Order of Adverbs": 10}
    assert right["text-davinci-003"] == {**common, "Order of Adverbs": 9}
    result = {}
    for table in sentences.tables:
        data = table.dataset.to_pandas()
        method = table.methods[-1]
        result[table.model] = data.groupby("label")[f"{method}_good"].sum().round(6).to_dict()
        share_right = np.where(data["label"] == 1, data["human_good"], 1 - data["human_good"]).mean()
        assert share_right == pytest.approx(0.761)
    assert result["gpt-3.5-turbo"] == {0: 11, 1: 35}
    assert result["gpt-4"] == {0: 1, 1: 34}
    assert result["text-davinci-002"] == {0: 33, 1: 33}
    assert result["text-davinci-003"] == {0: 15, 1: 16}
    assert result["ChatGPT"] == {0: 27.2, 1: 32.8}
