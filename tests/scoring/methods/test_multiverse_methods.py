"""Which methods `pairbank score --multiverse` scores, by what the items are; and that its report has the curve."""

from pathlib import Path

import pandas as pd
import pytest

import pairbank
from command_line import completed
from pairbank.errors import ScoringError
from pairbank.scoring.methods.registry import multiverse_methods
from pairbank.scoring.prompts.registry import prompts

PAIRS = [(f"The hens cluck {i}.", f"The hens clucks {i} {'x' * (i % 3)}.") for i in range(24)]


def test_prompts_are_those_for_the_task_and_language_and_read_from_probabilities() -> None:
    english = multiverse_methods(pairbank.load_corpus(PAIRS, language="en"))
    assert english[:4] == ["direct", "mean_logprob", "slln_lp", "bayes_uniform"]
    assert {"hf24_paired", "meta_question_simple", "meta_question_simple_labels_ab"} <= set(english)
    assert not [name for name in english if name.endswith("_paper") or name == "pmi"]
    known = prompts()
    assert all(known[name].readout == "options" for name in english[4:])
    german = multiverse_methods(pairbank.load_corpus(PAIRS, language="de"))
    assert german[4:] == ["better_sentence", "acceptable_sentence", "yes_no", "rating_7"]


def test_counts_give_slor_and_contexts_give_pmi() -> None:
    items = pairbank.load_corpus("starter", subset="contexts")
    result = multiverse_methods(items, with_unigrams=True, asked=False)
    assert {"slor", "bayes_unigram", "pmi"} <= set(result)


def test_items_of_one_side_have_no_multiverse() -> None:
    items = pairbank.load_corpus(PAIRS).map(lambda _row: {"target_bad": None})
    with pytest.raises(ScoringError, match="no item has two sides"):
        multiverse_methods(items)


def test_the_command_scores_them_and_prints_the_verdict(tmp_path: Path) -> None:
    pairs, out = tmp_path / "pairs.csv", tmp_path / "scored.parquet"
    pd.DataFrame(PAIRS, columns=["good", "bad"]).to_csv(pairs, index=False)
    asked = ["score", str(pairs), "--model", "fake:a", "--multiverse", "-m", "hf24_paired", "-m"]
    result = completed([*asked, "meta_question_simple", "--out", str(out)])
    assert "Robustness to analysis choices: asking is worse than probability" in result.output
    assert "specifications" in result.output
    methods = pairbank.read_scored(out).methods
    assert methods == ("direct", "mean_logprob", "slln_lp", "bayes_uniform", "hf24_paired", "meta_question_simple")
