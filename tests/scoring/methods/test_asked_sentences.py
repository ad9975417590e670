"""Single sentences: judged and rated like a side of a pair, equal to the naive loop, and never null in silence."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pairbank
from naive_reference import target_logprob, tokens_of
from pairbank.errors import ScoringError
from pairbank.scoring.api.model import Continuation
from pairbank.scoring.applicability import chosen_methods
from pairbank.scoring.methods.generated import Generated
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.prompts.prompt import in_language
from pairbank.scoring.prompts.registry import prompts
from single_sentences import labelled, rated
from tiny_models import ARCHITECTURES, saved_model

METHODS = ["yes_no", "rating_7", "acceptable_sentence"]


def in_chat(model: Any, question: str, stem: str) -> str:  # noqa: ANN401
    """Return question and stem as the tokenizer's own template renders them, the stem opening the answer."""
    messages = [{"role": "user", "content": question}, {"role": "assistant", "content": stem}]
    return str(model.tokenizer.apply_chat_template(messages, tokenize=False, continue_final_message=True))


def naive_options(model: Any, prompt_text: str, options: list[str], *, bos: int | None) -> list[float]:  # noqa: ANN401
    """Return log P(option | prompt), one forward pass each."""
    result = []
    for option in options:
        ids, n = tokens_of(model.tokenizer, prompt_text, option, bos)
        result.append(target_logprob(model.model, ids, n))
    return result


@pytest.mark.ci
@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize(
    ("architecture", "prompt_format"), [("llama", "base"), ("gpt2", "base"), ("gpt-neox", "base"), ("llama", "chat")]
)
def test_options_equal_the_naive_loop(
    tmp_path: Path,
    architecture: str,
    prompt_format: Any,  # noqa: ANN401
    language: str,
) -> None:
    name = next(x for x in ARCHITECTURES if x.replace("_", "-").lower().startswith(architecture))
    folder = saved_model(ARCHITECTURES[name], tmp_path / "model")
    model: Any = pairbank.load_model(folder, prompt_format=prompt_format)
    items = rated(3, language=language)
    rows = pairbank.score(items, model, methods=METHODS).dataset
    for row in rows:
        for method in METHODS:
            prompt = prompts()[method]
            asked = [p for p in prompt.presentations if not p.shows_worse]
            expected = []
            for p in asked:
                question = in_language(p.template, language).replace("{good}", row["target_good"])
                stem = in_language(p.stem, language)
                text = f"{question}\n{stem}" if prompt_format == "base" else in_chat(model, question, stem)
                options = [f" {option}" for option in prompt.written_options(language)]
                bos = model.info.bos_id if prompt_format == "base" else None
                expected += naive_options(model, text, options, bos=bos)
            result = np.array(row[f"{method}_logprobs"])
            n_asked = len(expected)
            assert result[:n_asked] == pytest.approx(expected, abs=1e-3)
            assert np.isnan(result[n_asked:]).all()
            assert row[f"{method}_bad"] is None
            assert row[f"{method}_delta"] is None
            shown = np.array(expected).reshape(len(asked), -1)
            if method == "rating_7":
                weights = np.exp(shown[0]) / np.exp(shown[0]).sum()
                assert row["rating_7_good"] == pytest.approx(weights @ np.arange(1, 8), abs=1e-3)
            elif method == "yes_no":
                assert row["yes_no_good"] == pytest.approx(shown[0, 0] - shown[0, 1], abs=1e-3)
            else:
                yes_minus_no = (shown[0, 0] - shown[0, 1] + shown[1, 1] - shown[1, 0]) / 2
                assert row["acceptable_sentence_good"] == pytest.approx(yes_minus_no, abs=1e-3)


def test_a_sentence_is_asked_as_the_same_side_of_a_pair_is() -> None:
    """The unacceptable sentence of a pair and the same sentence alone have one score."""
    methods = [*METHODS, "hl23_sent_judge_meta_question_simple", "dgl23_correct", "rating_5", "rating_100"]
    of_pair = pairbank.score([("The 0 hens cluck.", "The 0 hens clucks.")], FakeScorer(), methods=methods).dataset[0]
    good, bad = pairbank.score(labelled(1), FakeScorer(), methods=methods).dataset
    for name in methods:
        assert of_pair[f"{name}_good"] == pytest.approx(good[f"{name}_good"], abs=1e-12)
        assert of_pair[f"{name}_bad"] == pytest.approx(bad[f"{name}_good"], abs=1e-12)


TEXTS = ("Ja, das ist gut.", "nein", "Keine Ahnung", "7 von 7", "2.", "elf")


def test_written_yes_no_and_ratings_are_parsed_in_the_language_of_the_item() -> None:
    items = rated(3, language="de")
    rows = [
        Generated(prompts()[name]).written([Continuation(text=text, n_tokens=3)], row)
        for name, texts in (("yes_no_free", TEXTS[:3]), ("rating_7_free", TEXTS[3:]))
        for text, row in zip(texts, items, strict=True)
    ]
    assert [row.get("yes_no_free_good") for row in rows[:3]] == [1.0, 0.0, None]
    assert [row["yes_no_free_answers"][0] for row in rows[:3]] == ["Ja", "Nein", None]
    assert [row["yes_no_free_unparsed"] for row in rows[:3]] == [0, 0, 1]
    assert [row.get("rating_7_free_good") for row in rows[3:]] == [7.0, 2.0, None]


def test_the_summary_of_labelled_and_rated_sentences() -> None:
    scored = pairbank.score(labelled(30), FakeScorer(), methods=["direct", *METHODS])
    summary = pairbank.report([scored], n_resamples=10).summary
    for method in ("direct", *METHODS):
        mine = set(summary[summary["method"] == method]["metric"])
        assert {"auc", "balanced_accuracy", "mcc"} <= mine
        assert ({"acceptance", "answer_accuracy"} <= mine) == (method in ("yes_no", "acceptable_sentence"))
    yes = [np.mean([a[0] > a[1], a[3] > a[2]]) for a in scored.dataset["acceptable_sentence_logprobs"]]
    said = summary[(summary["metric"] == "acceptance") & (summary["method"] == "acceptable_sentence")]["value"].item()
    assert said == pytest.approx(np.mean(yes))
    few = pairbank.report([pairbank.score(labelled(4), FakeScorer(), methods=["yes_no"])], n_resamples=10).summary
    assert few[few["metric"] == "mcc"]["reason"].item() == "a threshold needs 10 sentences of each label"
    people = pairbank.report([pairbank.score(rated(20), FakeScorer(), methods=["direct", *METHODS])], n_resamples=10)
    rows = people.summary[people.summary["metric"] == "pearson_human_sentence"]
    assert set(rows["method"]) == {"direct", *METHODS}
    table = pairbank.score(rated(20), FakeScorer(), methods=["rating_7"]).dataset
    expected = np.corrcoef(table["rating_7_good"], table["human_good"])[0, 1]
    assert rows[rows["method"] == "rating_7"]["value"].item() == pytest.approx(expected)
    assert "r with mean ratings of single sentences" in people.markdown()
    assert "| model | corpus | method | n | says yes | r with people |" in people.markdown()
    assert (
        "| model | corpus | method | n | AUC | MCC | says yes |" in pairbank.report([scored], n_resamples=10).markdown()
    )


def test_the_usual_methods_ask_single_sentences() -> None:
    for language in ("en", "de"):
        items = rated(2, language=language)
        methods = chosen_methods(items, None).methods
        assert methods == ("direct", "acceptable_sentence", "rating_7")
        rows = pairbank.score(items, FakeScorer(), methods=methods).dataset
        assert all(not math.isnan(row["rating_7_good"]) and row["acceptable_sentence_good"] is not None for row in rows)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("meta_question_simple", "applies to no item: it asks about .*what applies: direct, "),
        ("rating_7@4shot", "examples are answered pairs"),
        ("acceptable_sentence@4shot", "examples are answered pairs, and these are single sentences"),
        ("pmi", "applies to no item: it needs items with a context"),
        ("regions", "it needs single sentences whose regions are known"),
    ],
)
def test_a_method_that_applies_to_no_sentence_is_refused_before_scoring(method: str, message: str) -> None:
    with pytest.raises(ScoringError, match=message):
        chosen_methods(labelled(2), ["direct", method])


def test_the_prompt_of_the_documentation_rates_sentences(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "your-own.md").read_text(encoding="utf-8")
    example = page.split("```toml\n[[prompts]]")[1].split("```")[0]
    (tmp_path / "mine.toml").write_text("[[prompts]]" + example, encoding="utf-8")
    rows = pairbank.score(rated(3), FakeScorer(), methods=["naturalness_5"], prompts=[tmp_path / "mine.toml"]).dataset
    assert all(1 <= row["naturalness_5_good"] <= 5 for row in rows)
    assert all(len(row["naturalness_5_logprobs"]) == 5 for row in rows)
