"""Linking functions and `direct_wb` through `score` and the command line."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
from typer.testing import CliRunner

import naive_reference as naive
import pairbank
from command_line import completed
from counting import Counting
from pairbank.cli import app
from pairbank.errors import ScoringError
from pairbank.scoring.methods.documents import documents_of_items
from pairbank.scoring.methods.linking_functions import LINKING_FUNCTIONS
from pairbank.scoring.models.causal import CausalScorer
from pairbank.scoring.models.fake import BOS, FakeScorer
from pairbank.scoring.models.load import load_model
from pairbank.scoring.signature import signature_line
from tiny_models import ARCHITECTURES, saved_model

TEXT = ["The cook cut the bread.", "A nurse wrote a note to the doctor."]


@pytest.fixture
def sentences() -> datasets.Dataset:
    return pairbank.load_corpus(
        [("The cook cuts the bread.", "The cook cut the the bread."), ("A nurse wrote.", "A nurse write a note.")]
    )


@pytest.fixture
def continuations() -> datasets.Dataset:
    return pairbank.load_corpus("starter", subset="plausibility", limit=1)


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_formulas_and_word_edges_equal_those_over_a_naive_loop(
    kind: str, sentences: datasets.Dataset, tmp_path: Path
) -> None:
    scorer = load_model(saved_model(ARCHITECTURES[kind], tmp_path / kind))
    assert isinstance(scorer, CausalScorer)
    model, tokenizer, size = scorer.model, scorer.tokenizer, len(scorer.tokenizer)
    path = pairbank.count_unigrams(TEXT, scorer).save(tmp_path / "u.parquet")
    items = sentences.select([1])
    methods = ["direct_wb", *LINKING_FUNCTIONS, "pmi"]
    [row] = pairbank.score(items, scorer, methods=methods, unigrams=path).dataset.to_list()
    counted = [i for text in TEXT for i in tokenizer(text, add_special_tokens=False)["input_ids"]]
    for side in ("good", "bad"):
        ids: list[int] = tokenizer(row[f"target_{side}"], add_special_tokens=False)["input_ids"]
        logprobs = naive.token_logprobs(model, [scorer.info.bos_id or 0, *ids], len(ids))
        unigram = [math.log((counted.count(i) + 1) / (len(counted) + size)) for i in ids]
        # ANALYSES 3.4 (Hu et al. 2026, metrics 1 to 5) and Liu et al. 2026
        expected = {
            "mean_logprob": sum(logprobs) / len(ids),
            "slln_lp": sum(logprobs) / len(ids) ** 0.5,
            "bayes_uniform": sum(logprobs) + len(ids) * math.log(size),
            "bayes_unigram": sum(logprobs) - sum(unigram),
            "slor": (sum(logprobs) - sum(unigram)) / len(ids),
        }
        assert {m: row[f"{m}_{side}"] for m in expected} == pytest.approx(expected, abs=1e-3)
        assert row[f"slor_{side}_n"] == len(ids)
        edges = row[f"direct_wb_{side}_after"] - row[f"direct_wb_{side}_before"]
        assert row[f"direct_wb_{side}"] == pytest.approx(sum(logprobs) + edges, abs=1e-3)
    assert row["slor_delta"] == row["slor_good"] - row["slor_bad"]
    assert row["pmi_good"] is None


@pytest.mark.parametrize("kind", ["llama", "mistral"])
def test_pmi_scores_the_same_tokens_where_a_dummy_space_stands_before_a_text(
    kind: str, continuations: datasets.Dataset, tmp_path: Path
) -> None:
    scorer = load_model(saved_model(ARCHITECTURES[kind], tmp_path))
    assert isinstance(scorer, CausalScorer)
    bos_id = scorer.info.bos_id or 0
    for row in pairbank.score(continuations.select(range(3)), scorer, methods=["pmi"]).dataset:
        assert row["pmi_flags"] == []
        for side in ("good", "bad"):
            target = f" {row[f'target_{side}']}"
            ids, n = naive.tokens_of(scorer.tokenizer, row[f"context_{side}"], target, bos_id)
            gain = naive.target_logprob(scorer.model, ids, n)
            gain -= naive.target_logprob(scorer.model, [bos_id, *ids[-n:]], n)
            assert row[f"pmi_{side}"] == pytest.approx(gain, abs=1e-3)


def test_a_run_asks_the_model_once_for_direct_and_all_linking_functions(sentences: datasets.Dataset) -> None:
    Counting.asked.clear()
    scorer = Counting()
    table = pairbank.count_unigrams(TEXT, scorer)
    pairbank.score(sentences, scorer, methods=["direct", *LINKING_FUNCTIONS, "pmi"], unigrams=table)
    assert len(scorer.asked) == 4


def test_a_method_that_needs_counts_says_which_command_makes_them(sentences: datasets.Dataset) -> None:
    with pytest.raises(ScoringError, match=r"slor needs unigram counts .* of fake; make them with `pairbank unigrams"):
        pairbank.score(sentences, FakeScorer(), methods=["slor"])


def test_the_signature_tells_the_counts_and_other_counts_never_meet_stored_scores(sentences: datasets.Dataset) -> None:
    fake = FakeScorer()
    first, second = (pairbank.count_unigrams(TEXT, fake, smoothing=k) for k in (1.0, 0.5))
    scored = [
        pairbank.score(sentences, fake, methods=["slor", "bayes_uniform"], unigrams=t) for t in (first, second, first)
    ]
    facts = scored[0].signature["model"]
    assert facts["unigrams"] == [first.signature | {"sha256": first.sha256}]
    assert facts["unigrams"][0]["smoothing"] == "add-1"
    assert facts["n_vocabulary"] == BOS + 1
    assert f"unigrams:en#{first.documents_sha256[:8]}" in signature_line(scored[0].signature)
    assert facts != scored[1].signature["model"]
    assert scored[0].signature["methods"] == scored[1].signature["methods"]
    assert scored[0]["slor_good"][:] != scored[1]["slor_good"][:]
    assert scored[0]["slor_good"][:] == scored[2]["slor_good"][:]


def test_a_method_is_the_same_for_all_models_and_what_is_the_models_stands_in_its_signature(
    sentences: datasets.Dataset, tmp_path: Path
) -> None:
    methods = ["direct", *LINKING_FUNCTIONS, "pmi"]
    families = ("gpt2", "llama", "gpt-j")
    models = [FakeScorer(), *(load_model(saved_model(ARCHITECTURES[x], tmp_path / x)) for x in families)]
    signatures = [
        pairbank.score(sentences, m, methods=methods, unigrams=pairbank.count_unigrams(TEXT, m)).signature
        for m in models
    ]
    assert len({json.dumps(signature["methods"]) for signature in signatures}) == 1
    sizes = {signature["model"]["n_vocabulary"] for signature in signatures}
    counts = {signature["model"]["unigrams"][0]["sha256"] for signature in signatures}
    assert len(sizes) == len(counts) == len(models)


def test_items_in_a_language_without_counts_have_no_score_and_a_flag(caplog: pytest.LogCaptureFixture) -> None:
    items = pairbank.load_corpus("starter", subset="concepts", limit=1)
    chosen = items.filter(lambda language: language in ("en", "zh"), input_columns="language")
    english = pairbank.count_unigrams(TEXT, FakeScorer())
    scored = pairbank.score(chosen, FakeScorer(), methods=["direct", "slor"], unigrams=english)
    rows = scored.dataset.to_list()
    assert {row["language"] for row in rows} == {"en", "zh"}
    for row in rows:
        is_counted = row["language"] == "en"
        assert (row["slor_delta"] is not None) is is_counted
        assert row["slor_flags"] == ([] if is_counted else ["no_unigrams"])
        assert row["direct_delta"] is not None
    n_chinese = sum(row["language"] == "zh" for row in rows)
    assert f"no slor of {n_chinese} of {len(rows)} items, for there are no unigram counts of their" in caplog.text
    both = [english, pairbank.count_unigrams(["这本书很有意思。"], FakeScorer(), language="zh_Hans")]
    whole = pairbank.score(chosen, FakeScorer(), methods=["direct", "slor"], unigrams=both)
    assert None not in whole["slor_delta"][:]
    assert [table["languages"] for table in whole.signature["model"]["unigrams"]] == [["en"], ["zh-Hans"]]
    none = pairbank.score(chosen, FakeScorer(), methods=["direct", "slor"], unigrams=[])
    assert set(none["slor_delta"][:]) == {None}


def test_a_table_from_before_methods_were_the_same_for_all_models_stands_in_a_bank_beside_new_ones(
    sentences: datasets.Dataset, tmp_path: Path
) -> None:
    methods = ["direct", "bayes_uniform", "slor"]
    table = pairbank.count_unigrams(TEXT, FakeScorer())
    new, other = (pairbank.score(sentences, FakeScorer(name=n), methods=methods, unigrams=table) for n in ("a", "b"))
    signature = json.loads(json.dumps(new.signature))
    facts = signature["model"]
    signature["methods"]["bayes_uniform"] |= {"sha256": "of that model", "n_vocabulary": facts.pop("n_vocabulary")}
    signature["methods"]["slor"] |= {"sha256": "of those counts", "unigrams": facts.pop("unigrams")[0]}
    old = pairbank.read_scored(replace(new, signature=signature).save(tmp_path / "old.parquet"))
    folder = pairbank.write_bank(tmp_path / "bank", scored=[old])
    pairbank.write_bank(folder, scored=[other])
    pairbank.check_bank(folder)
    assert set(pairbank.report([old, other], n_resamples=10).accuracy["model"]) == {"a", "b"}


def test_too_long_for_the_model_is_nan_with_a_flag_where_asked(sentences: datasets.Dataset) -> None:
    methods = ["mean_logprob", "slln_lp"]
    row = pairbank.score(sentences, FakeScorer(max_length=20), methods=methods, over_length="nan").dataset[0]
    for method in methods:
        assert math.isnan(row[f"{method}_delta"])
        assert row[f"{method}_flags"] == ["over_length"]


def test_direct_wb_leaves_null_where_words_are_not_spaced(tmp_path: Path) -> None:
    items = pairbank.load_corpus("starter", subset="concepts", limit=1)
    chosen = items.filter(lambda language: language in ("en", "zh"), input_columns="language")
    scorer = load_model(saved_model(ARCHITECTURES["qwen2"], tmp_path))
    rows = pairbank.score(chosen, scorer, methods=["direct", "direct_wb"]).dataset.to_list()
    assert {row["language"] for row in rows} == {"en", "zh"}
    for row in rows:
        if row["language"] == "zh":
            assert row["direct_wb_good"] is None
        else:
            edges = row["direct_wb_good_after"] - row["direct_wb_good_before"]
            assert row["direct_wb_good"] == pytest.approx(row["direct_good"] + edges, abs=1e-9)


def test_the_command_counts_and_the_score_command_takes_the_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = saved_model(ARCHITECTURES["qwen2"], tmp_path / "model")
    (tmp_path / "sentences.csv").write_text("good,bad\nA nurse wrote.,A nurse write a note.\n")
    text = tmp_path / "text.txt"
    text.write_text("\n".join(TEXT), encoding="utf-8")
    folder = tmp_path / "hub"
    folder.mkdir()
    (folder / "train.jsonl").write_text("".join(json.dumps({"body": t}) + "\n" for t in TEXT), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    runs: list[list[Any]] = [
        ["unigrams", text, "--model", model, "--out", "a.parquet"],
        ["unigrams", "--dataset", folder, "--column", "body", "--n-docs", "2", "--model", model, "--out", "b.parquet"],
        ["unigrams", "--corpus", "starter", "--model", model, "--out", "c.parquet"],
        ["score", "sentences.csv", "--model", model, "-m", "slor", "--unigrams", "a.parquet", "--out", "s.parquet"],
    ]
    for arguments in runs:
        completed([str(a) for a in arguments])
    a, b, c = (pairbank.read_unigrams(f"{name}.parquet") for name in "abc")
    assert a.documents_sha256 == b.documents_sha256
    assert np.array_equal(a.counts, b.counts)
    assert c.source["corpus"] == "starter"
    (used,) = pairbank.read_scored("s.parquet").signature["model"]["unigrams"]
    assert used["documents_sha256"] == a.documents_sha256


def test_the_counts_of_a_corpus_know_its_languages() -> None:
    items = pairbank.load_corpus("starter", subset="concepts", limit=1, language="de")
    table = pairbank.count_unigrams(documents_of_items(items), FakeScorer())
    assert table.languages == ("de",)
    assert not table.covers("en")


def test_the_command_wants_one_source(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["unigrams", "--out", str(tmp_path / "u.parquet")])
    assert done.exit_code == 2
    assert "one of them" in done.output
