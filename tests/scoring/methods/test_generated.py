"""Prompts whose answer the model writes: what counts as an answer, the columns, the store, the report."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest

import pairbank
from made_items import made_item
from pairbank.errors import ScoringError
from pairbank.scoring.api.model import Ask, Continuation, OverLength, Progress
from pairbank.scoring.methods.generated import Generated, first_answer
from pairbank.scoring.methods.page import shown
from pairbank.scoring.methods.registry import method_named
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.models.load import load_model
from pairbank.scoring.scored import read_scored
from prompt_files import prompt_text
from tiny_models import ARCHITECTURES, saved_model

WRITTEN: dict[str, Any] = {"readout": "generation", "max_new_tokens": 12}
PROMPTS = "".join(
    [
        prompt_text("choice", pattern=r"\b[ABab]\b", **WRITTEN),
        prompt_text("pick", options="12", template="1: {first} 2: {second}", pattern="[12]", **WRITTEN),
        prompt_text("scale", "rating", "123", "Rate: {sentence}", pattern="[1-3]", **WRITTEN),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Canned(FakeScorer):
    """Writes by a table: the first key that the prompt has in it decides."""

    texts: tuple[tuple[str, str], ...] = ()

    def write(
        self, prompts: Sequence[Ask], *, max_new_tokens: int, over_length: OverLength, progress: Progress
    ) -> list[Continuation]:
        assert (max_new_tokens, over_length) == (12, "error")
        SEEN.extend(ask.text for ask in prompts)
        progress(len(prompts))
        result = [next(text for key, text in self.texts if key in ask.text) for ask in prompts]
        return [Continuation(text=text, n_tokens=len(text)) for text in result]


SEEN: list[str] = []


@pytest.fixture
def prompt_file(tmp_path: Path) -> Path:
    SEEN.clear()
    path = tmp_path / "mine.toml"
    path.write_text(PROMPTS)
    return path


@pytest.fixture
def items() -> datasets.Dataset:
    return pairbank.load_corpus([("Good one.", "Bad one."), ("Good two.", "Bad two."), ("Good three.", "Bad three.")])


def scored(items: datasets.Dataset, file: Path, texts: dict[str, str], **more: Any) -> pairbank.Scored:  # noqa: ANN401
    model = Canned(texts=(*texts.items(), ("", "no idea")))
    return pairbank.score(items, model, methods=["direct", "choice", "scale"], prompts=[file], **more)


def test_a_choice_is_the_share_of_presentations_that_pick_each_side(items: datasets.Dataset, prompt_file: Path) -> None:
    texts = {
        "A: Good one.": " A, of course",
        "A: Bad one.": "Surely (b)",
        "A: Good two.": "B. Not A.",
        "A: Bad two.": "Both are fine",
    }
    rows = list(scored(items, prompt_file, texts).dataset)
    assert [row["choice_answers"] for row in rows] == [["A", "B"], ["B", None], [None, None]]
    assert rows[0]["choice_texts"] == [" A, of course", "Surely (b)"]
    numbers = [[row[f"choice_{x}"] for x in ("good", "bad", "delta", "unparsed")] for row in rows]
    assert numbers == [[1.0, 0.0, 1.0, 0], [0.0, 0.5, -0.5, 1], [None, None, None, 2]]
    assert [row["choice_flags"] for row in rows] == [[], ["unparsed"], ["unparsed"]]


def test_a_rating_is_the_number_written_for_each_side(items: datasets.Dataset, prompt_file: Path) -> None:
    texts = {"Rate: Good one.": " 3", "Rate: Bad one.": "I give it 2 of 3", "Rate: Good two.": "9 or 1"}
    rows = list(scored(items, prompt_file, texts).dataset)
    numbers = [[row[f"scale_{x}"] for x in ("good", "bad", "delta", "unparsed")] for row in rows]
    assert numbers == [[3.0, 2.0, 1.0, 0], [1.0, None, None, 1], [None, None, None, 2]]
    assert rows[1]["scale_answers"] == ["1", None]


def test_the_first_valid_answer_counts() -> None:
    assert first_answer("Between 6 and 2 I take 5", "[0-9]", ["1", "2", "5"]) == "2"
    assert first_answer("the ARROW, not the interview", "(?i)arrow|interview", ["arrow", "interview"]) == "arrow"
    assert first_answer("", "[12]", ["1", "2"]) is None


def test_only_the_published_order_is_asked_where_a_prompt_says_so() -> None:
    method = method_named("ewok24_choice_free")
    assert isinstance(method, Generated)
    contexts = {"context_good": "It rained.", "context_bad": "It was dry."}
    row = made_item("x/all/1", "She was wet.", "She was wet.", task="context_pair", **contexts).row()
    row["target_number"] = "2"
    [ask] = method.asks(row, FakeScorer())
    assert '1. "It was dry."\n2. "It rained."' in ask.text
    made = method.written([Continuation(text="2\n", n_tokens=2)], row)
    assert made["ewok24_choice_free_answers"] == [None, "2"]
    assert (made["ewok24_choice_free_delta"], made["ewok24_choice_free_unparsed"]) == (1.0, 0)
    assert "up to 20 tokens; the first match of [1-2] is the answer" in shown(method, row, FakeScorer())
    del row["target_number"]
    assert method.asks(row, FakeScorer()) == []


def test_answers_are_stored_and_never_written_twice(items: datasets.Dataset, prompt_file: Path, tmp_path: Path) -> None:
    first = scored(items, prompt_file, {"one": "A 1"}).save(tmp_path / "first.parquet")
    n_seen = len(SEEN)
    assert n_seen == 3 * 4
    again = scored(items, prompt_file, {"one": "A 1"}).save(tmp_path / "again.parquet")
    assert len(SEEN) == n_seen
    assert first.read_bytes() == again.read_bytes()
    read = read_scored(first)
    assert read["choice_answers"][:] == [["A", "A"], [None, None], [None, None]]
    assert read.signature["n_by_flag"]["choice"] == {"unparsed": 2}
    assert {layout["method"]: layout.get("readout") for layout in read.layouts}["choice"] == "generation"


def test_a_report_reads_what_was_written(items: datasets.Dataset, prompt_file: Path) -> None:
    table = scored(items, prompt_file, {"A: Good": "A", "A: Bad one": "B", "A: Bad": "A", "Rate: Good": "3", "R": "2"})
    summary = pairbank.report([table], n_resamples=10).summary
    result = {(row.method, row.metric): row for row in summary.itertuples()}
    # one pair is chosen in both orders, two pairs in one order each way: ties, credited one half
    assert result["choice", "accuracy"].value == pytest.approx(2 / 3)
    assert result["choice", "accuracy"].n == 3
    assert result["scale", "accuracy"].value == 1.0
    assert ("choice", "accuracy_pooled") not in result
    assert ("choice", "pearson") in result


def test_a_prompt_without_room_is_an_error_or_nan(items: datasets.Dataset, prompt_file: Path, tmp_path: Path) -> None:
    model = load_model(saved_model(ARCHITECTURES["gpt2"], tmp_path / "gpt2"), device="cpu", max_length=20)
    with pytest.raises(ScoringError, match=r"items/\S+ \(choice, good_first\): \d+ tokens and 12 to write"):
        pairbank.score(items, model, methods=["choice"], prompts=[prompt_file])
    table = pairbank.score(items, model, methods=["choice"], prompts=[prompt_file], over_length="nan").to_pandas()
    assert table["choice_delta"].isna().all()
    assert list(table["choice_flags"][0]) == ["over_length"]
    assert table["choice_unparsed"].tolist() == [0, 0, 0]


def test_items_of_another_kind_are_left_alone() -> None:
    starter = pairbank.load_corpus("starter", subset="plausibility").select(range(3))
    table = pairbank.score(starter, FakeScorer(), methods=["ewok24_likert_free"]).to_pandas()
    assert table["ewok24_likert_free_delta"].isna().all()
    assert table["ewok24_likert_free_texts"].isna().all()
    assert np.isnan(table["ewok24_likert_free_unparsed"]).all()


DRAWN = ["pick@5samples", "scale@5samples@t0.5"]


def drawn(items: datasets.Dataset, file: Path, methods: Sequence[str] = DRAWN, **more: Any) -> pairbank.Scored:  # noqa: ANN401
    return pairbank.score(items, FakeScorer(), methods=methods, prompts=[file], **more)


def test_draws_are_kept_one_by_one_and_scores_are_their_means(items: datasets.Dataset, prompt_file: Path) -> None:
    row = drawn(items, prompt_file, methods=["scale@20samples"])[0]
    values = np.array(row["scale@20samples_draws"]).reshape(2, 20)
    said = [None if np.isnan(value) else str(int(value)) for value in values.ravel()]
    assert said == row["scale@20samples_answers"]
    assert len(row["scale@20samples_texts"]) == 40
    assert [row["scale@20samples_good"], row["scale@20samples_bad"]] == np.nanmean(values, axis=1).tolist()
    assert row["scale@20samples_unparsed"] == np.isnan(values).sum() > 0
    assert len(set(said)) > 2


def test_a_seed_gives_the_same_draws_and_more_draws_leave_the_first_ones_as_they_are(
    items: datasets.Dataset, prompt_file: Path
) -> None:
    def of_first(n: int, **more: Any) -> list[list[str]]:  # noqa: ANN401
        result = drawn(items, prompt_file, methods=[f"scale@{n}samples"], **more)
        texts = result[f"scale@{n}samples_texts"]
        return [row[start : start + 3] for row in texts for start in (0, n)]

    assert of_first(3) == of_first(7)
    assert of_first(3, seed=1) != of_first(3)
    alone = drawn(items.select([2]), prompt_file, methods=["scale@3samples"])["scale@3samples_texts"][:]
    assert alone == drawn(items, prompt_file, methods=["scale@3samples"])["scale@3samples_texts"][2:]


def test_models_draw_by_numbers_of_their_own(items: datasets.Dataset) -> None:
    method = method_named("yes_no_free@3samples")
    assert isinstance(method, Generated)
    asks = [ask for name in ("a", "b") for ask in method.asks(items[0], FakeScorer(name=name))]
    assert len({ask.draw for ask in asks}) == len(asks) == 12


def test_the_model_is_a_rater_of_the_table_of_ratings(items: datasets.Dataset, prompt_file: Path) -> None:
    result = drawn(items, prompt_file)
    ratings = result.ratings()
    assert [*ratings.columns] == ["item_id", "side", "rater", "value", "scale", "model", "method"]
    scale = ratings[ratings["method"] == DRAWN[1]]
    assert set(scale["scale"]) == {"likert3"}
    means = scale.groupby(["item_id", "side"])["value"].mean()
    for row in result.dataset:
        assert means.get((row["item_id"], "good")) == row[f"{DRAWN[1]}_good"]
    choice = ratings[ratings["method"] == DRAWN[0]]
    assert set(choice["scale"]) == {"forced-choice"}
    assert set(choice["rater"]) <= set(range(10))  # both orders of each of five draws
    assert set(choice["side"]) == {"good"}
    assert pairbank.score(items, FakeScorer()).methods == ("direct",)
    with pytest.raises(ScoringError, match="no sampled answers; score with --samples N"):
        pairbank.score(items, FakeScorer()).ratings()


def test_draws_are_stored_under_their_temperature_and_seed(items: datasets.Dataset, prompt_file: Path) -> None:
    keys = [
        drawn(items, prompt_file, [name], seed=seed).signature["methods"][name]["sha256"]
        for name, seed in (
            ("scale@5samples", 0),
            ("scale@5samples@t0.5", 0),
            ("scale@5samples", 1),
            ("scale@6samples", 0),
        )
    ]
    assert len(set(keys)) == 4


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("yes_no@5samples", "reads the probabilities of its options; use yes_no_free"),
        ("meta_question_simple@5samples", "use one that lets the model write"),
        ("rating_7_free@5samples@t0", "a temperature above 0"),
        ("rating_7_free@2000samples", "expected 1 to 1,000"),
    ],
)
def test_draws_that_cannot_be_had_are_refused(name: str, message: str) -> None:
    with pytest.raises(ScoringError, match=message):
        method_named(name)


def test_a_report_reads_draws(items: datasets.Dataset, prompt_file: Path) -> None:
    summary = pairbank.report([drawn(items, prompt_file)], n_resamples=10).summary
    mine = summary[(summary["method"] == DRAWN[1]) & (summary["metric"] == "unparsed")]
    assert all(0 < share < 1 for share in mine["value"].tolist())
    assert len(mine)
