"""Surprisal of words: against one forward pass per prefix written by hand, `direct_wb`, and windows of all lengths."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from pairbank.errors import ScoringError
from pairbank.scoring import words as words_module
from pairbank.scoring.api.method import Answered
from pairbank.scoring.api.model import Scorer
from pairbank.scoring.api.requests import Request
from pairbank.scoring.methods.direct import WordProbability
from pairbank.scoring.models.causal import CausalScorer
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.models.load import load_model
from pairbank.scoring.models.word_boundaries import WordEdgeScorer, word_marks
from pairbank.scoring.texts import Text, text_in_words, text_of_words
from pairbank.scoring.word_files import joined
from pairbank.scoring.words import words
from tiny_bidirectional_models import masked_model, saved
from tiny_models import ARCHITECTURES, saved_model

TEXTS = ["The keys to the cabinet are on the table.", "She saw him, and he (the old man) laughed!", "Dogs bark"]
MODELS = ("gpt2", "llama", "mistral")  # byte-level BPE without a leading space, two kinds of SentencePiece


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, CausalScorer]:
    folder = tmp_path_factory.mktemp("models")
    result = {name: load_model(saved_model(ARCHITECTURES[name], folder / name)) for name in MODELS}
    assert all(isinstance(one, CausalScorer) for one in result.values())
    return {name: one for name, one in result.items() if isinstance(one, CausalScorer)}


def corrected_score(scorer: CausalScorer, text: str) -> float:
    """Return the score of `direct_wb`."""
    item = {"item_id": "x", "task": "sentence", "language": "en", "context_good": "", "target_good": text}
    method, reader = WordProbability(), WordEdgeScorer(scorer)
    encoded = reader.encode(method.requests(item | {"context_bad": None, "target_bad": None}, reader))
    values = reader.token_logprobs(encoded, progress=lambda _n: None)
    answers = [Answered(request=e, logprobs_nats=v) for e, v in zip(encoded, values, strict=True)]
    return float(method.values(answers, item)["direct_wb_good"])


def by_hand(scorer: CausalScorer, text: str) -> pd.DataFrame:
    """Return log-probability, rank and entropy of each word, one forward pass per prefix, in float64."""
    encoding = scorer.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    tokens, offsets = encoding["input_ids"], encoding["offset_mapping"]
    bos = [] if scorer.info.bos_id is None else [scorer.info.bos_id]
    n_outputs = scorer.model.config.vocab_size
    marks = word_marks(scorer.tokenizer, n_outputs=n_outputs, name="m")
    ends = {*marks.begin_word.tolist(), *marks.end_text.tolist()}
    after = []
    for n in range(len(tokens) + 1):
        with torch.no_grad():
            logits = scorer.model(input_ids=torch.tensor([[*bos, *tokens[:n]]])).logits[0, -1].double().numpy()
        after.append(np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum())
    rows = []
    first = place = 0
    for word in text.split():
        start = text.index(word, place)
        place = start + len(word)
        last = max(i for i, (_, end) in enumerate(offsets) if end <= place) + 1
        total = sum(math.log(after[i][tokens[i]]) for i in range(first, last))
        if tokens[first] in set(marks.begin_word.tolist()):
            total -= math.log(sum(after[first][i] for i in ends))
        elif first == 0:
            total -= math.log(sum(after[first][i] for i in marks.others.tolist()))
        if last == len(tokens) or tokens[last] in set(marks.begin_word.tolist()):
            total += math.log(sum(after[last][i] for i in ends))
        at = after[first]
        entropy = -sum(p * math.log2(p) for p in at if p > 0)
        rows.append((word, total, 1 + int((at > at[tokens[first]]).sum()), entropy))
        first = last
    return pd.DataFrame(rows, columns=["word", "logprob_nats", "rank", "entropy_bits"])


@pytest.mark.parametrize("name", MODELS)
def test_words_are_those_of_one_pass_per_prefix_and_sum_to_the_corrected_score(
    models: dict[str, CausalScorer], name: str
) -> None:
    scorer = models[name]
    table = words(TEXTS, scorer)
    for number, text in enumerate(TEXTS, 1):
        own = table[table["text_id"] == str(number)].reset_index(drop=True)
        expected = by_hand(scorer, text)
        assert own["word"].tolist() == text.split()
        for column in ("logprob_nats", "rank", "entropy_bits"):
            np.testing.assert_allclose(own[column], expected[column], atol=1e-4, err_msg=column)
        np.testing.assert_allclose(own["surprisal_bits"], -own["logprob_nats"] / math.log(2))
        assert own["logprob_nats"].sum() == pytest.approx(corrected_score(scorer, text), abs=1e-4)
        assert [text[a:b] for a, b in zip(own["start"], own["end"], strict=True)] == text.split()
        pieces = ["".join(json.loads(cell)).strip() for cell in own["tokens"]]
        assert pieces == text.split()
        assert own["n_tokens"].sum() == len(scorer.tokenizer(text, add_special_tokens=False)["input_ids"])


def test_windows_change_nothing_before_the_first_one_ends_and_lags_stay_within_a_text(
    models: dict[str, CausalScorer],
) -> None:
    scorer = models["llama"]
    whole = words(TEXTS[:2], scorer, lags=2)
    short = words(TEXTS[:2], scorer, lags=2, window_tokens=8)
    assert short["logprob_nats"].notna().all()
    first = whole["text_id"] == "1"
    n_same = int(np.isclose(whole.loc[first, "logprob_nats"], short.loc[first, "logprob_nats"], atol=1e-4).sum())
    assert 2 <= n_same < first.sum()
    pd.testing.assert_frame_equal(words(TEXTS[:2], scorer, lags=2, window_tokens=10_000), whole)
    assert whole["surprisal_bits_lag1"].isna().tolist() == [n == 1 for n in whole["word_number"]]
    assert whole["surprisal_bits_lag2"][2] == whole["surprisal_bits"][0]
    assert whole["n_characters_lag1"][1] == 3


def test_times_of_regions_get_the_sums_of_their_words(models: dict[str, CausalScorer]) -> None:
    texts = [text_in_words("1", "{The old dog} {barked at} us."), text_in_words("2", "{The cats} slept {in the} sun.")]
    times = pd.DataFrame({"item": ["1", "1", "2"], "region": ["The old dog", "barked at", "in the"], "rt": [9, 8, 7]})
    for scorer in models.values():
        table = words(texts, scorer, lags=1)
        result = joined(table, times, by=("item", "region"), path=Path("rt.csv"))
        bits, numbers = table["surprisal_bits"], result["word_number"].tolist()
        assert numbers == [1, 4, 4]
        np.testing.assert_allclose(result["surprisal_bits"], [bits[:3].sum(), bits[3:5].sum(), bits[9:11].sum()])
        assert result["surprisal_bits_lag1"][1] == result["surprisal_bits"][0]
        assert result["surprisal_bits_lag1"][2] == bits[6:8].sum()
        assert result["n_characters"].tolist() == [11, 9, 6]
    parted = [text_in_words("1", "{old} dogs saw {old} cats.")]
    with pytest.raises(ScoringError, match="the word 'old' occurs twice in text '1'"):
        joined(words(parted, scorer), times[:1].assign(region="old"), by=("item", "region"), path=Path("rt.csv"))


def test_regions_characters_segmentations_and_top_tokens(models: dict[str, CausalScorer]) -> None:
    scorer = models["gpt2"]
    marked = words([text_in_words("a", "The {old dogs} bark.")], scorer, top=3)
    assert marked["region"].tolist() == ["", "old dogs", "old dogs", ""]
    np.testing.assert_allclose(marked["logprob_nats"], words(["The old dogs bark."], scorer)["logprob_nats"])
    assert all(len(json.loads(cell)) == 3 for cell in marked["top"])
    chinese = words(["这本书很有意思"], scorer, language="zh")
    assert chinese["word"].tolist() == list("这本书很有意思")
    in_words = words(["这 本 书 很 有意思"], scorer, language="zh")
    assert in_words["word"].tolist() == ["这", "本", "书", "很", "有意思"]
    assert in_words["logprob_nats"].sum() == pytest.approx(chinese["logprob_nats"].sum(), abs=1e-4)
    rows = text_of_words("x", ["The", "old", "dogs"], ["", "adjective", ""])
    assert words([rows], scorer)["region"].tolist() == ["", "adjective", ""]


def test_masked_models_give_pseudo_log_likelihoods_of_words(tmp_path: Path) -> None:
    scorer: Scorer = load_model(saved(*masked_model("bert"), tmp_path / "bert"))
    table = words(TEXTS[:1], scorer)
    [encoded] = scorer.encode([Request(context="", target=TEXTS[0])])
    [own] = scorer.token_logprobs([encoded], progress=lambda _n: None)
    assert table["logprob_nats"].sum() == pytest.approx(own.sum(), abs=1e-6)
    assert table["n_tokens"].sum() == len(own)
    assert table["rank"].isna().all()


def test_what_cannot_be_read_is_refused(models: dict[str, CausalScorer]) -> None:
    with pytest.raises(ScoringError, match="braces that do not match"):
        words(["The {old dog bark"], models["gpt2"])
    with pytest.raises(ScoringError, match="text 2: no word"):
        words(["a", "  "], models["gpt2"])
    with pytest.raises(ScoringError, match="causal and masked models"):
        words(["a b"], FakeScorer(name="fake"))


KILLED = """
import os, signal, sys
import pairbank
from pairbank.scoring import words
from dataclasses import replace
from pathlib import Path
real, n_done = words._causal, 0
def dies(*texts, **how):
    global n_done
    n_done += 1
    if n_done == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*texts, **how)
words._causal, words.SHARD_CHARACTERS = dies, 40
words.words(Path(sys.argv[2]).read_text().splitlines(), pairbank.load_model(sys.argv[1]))
"""


@pytest.mark.ci
def test_a_killed_run_goes_on_and_a_second_one_computes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"{text} {n}" for n in range(3) for text in TEXTS]
    (tmp_path / "texts.txt").write_text("\n".join(texts), encoding="utf-8")
    folder = saved_model(ARCHITECTURES["gpt2"], tmp_path / "gpt2")
    monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("pairbank.scoring.words.SHARD_CHARACTERS", 40)
    done = subprocess.run([sys.executable, "-c", KILLED, folder, tmp_path / "texts.txt"], check=False)
    assert done.returncode == -9
    assert len(list((tmp_path / "cache" / "scores").rglob("*.parquet"))) == 2
    scorer = load_model(folder)
    read: list[int] = []
    real = words_module._causal

    def counted(some: list[Text], **how: Any) -> Any:  # noqa: ANN401 - as the function in whose place it stands
        read.append(len(some))
        return real(some, **how)

    monkeypatch.setattr(words_module, "_causal", counted)
    first = words(texts, scorer)
    n_read = sum(read)
    assert 0 < n_read < len(texts)
    pd.testing.assert_frame_equal(words(texts, scorer, lags=1)[first.columns], first)
    assert sum(read) == n_read
    monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / "other"))
    pd.testing.assert_frame_equal(words(texts, scorer), first)
    words([*texts, "One more."], scorer, correct=False)
    assert sum(read) == n_read + 2 * len(texts) + 1


@pytest.mark.filterwarnings("ignore:tokenizer is changed")
@pytest.mark.parametrize("name", MODELS)
def test_tokens_and_words_have_the_values_of_minicons(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from minicons import scorer as minicons

    none = np.array([], dtype=np.int64)
    folder = saved_model(ARCHITECTURES[name], tmp_path / name)
    ours, other = load_model(folder), load_model(folder)  # minicons adds a token to what it gets
    theirs = minicons.IncrementalLMScorer(other.model, "cpu", tokenizer=other.tokenizer)
    for text in TEXTS:
        [values] = theirs.token_score([text], bos_token=name == "gpt2")  # others add their own
        [encoded] = ours.encode([Request(context="", target=text)])
        [own] = ours.token_logprobs([encoded], progress=lambda _n: None)
        np.testing.assert_allclose([value for _, value in values][1:], own, atol=1e-4)
        if name != "llama":  # minicons 0.3.39 miscounts the tokens of words there
            table = words([text], ours, correct=False)
            [result] = theirs.word_score_tokenized([text], tokenize_function=str.split, bos_token=name == "gpt2")
            np.testing.assert_allclose([value for _, value in result], table["logprob_nats"], atol=1e-4)
            # corrected, a word's edge is a token that begins a word; ours is also the end of the text, as in the papers
            monkeypatch.setattr(words_module, "word_marks", lambda *a, **k: replace(word_marks(*a, **k), end_text=none))
            table = words([text], ours)
            monkeypatch.undo()
            [result] = theirs.word_score_tokenized(
                [text], tokenize_function=str.split, bos_token=name == "gpt2", bow_correction=True
            )
            np.testing.assert_allclose([value for _, value in result][1:], table["logprob_nats"][1:], atol=1e-4)
