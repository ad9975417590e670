"""The word-boundary correction: against all continuations spelled out, and against a naive computation."""

import functools
import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

import naive_reference as naive
from made_items import made_item
from pairbank.errors import ScoringError
from pairbank.scoring.api.method import Answered, Method
from pairbank.scoring.methods.direct import Direct, WordProbability
from pairbank.scoring.models.causal import CausalScorer
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.models.load import load_model
from pairbank.scoring.models.word_boundaries import WordEdgeScorer, word_edge_scorer
from tiny_models import ARCHITECTURES, tiny_model
from tiny_tokenizers import SENTENCES, SPACE, TOKENIZERS

EOS = "<eos>"


def row(target: str, *, context: str = "", language: str = "en") -> dict[str, Any]:
    """Return an item with one side."""
    return made_item("toy/all/1", target, context_good=context, language=language).row()


@functools.lru_cache(maxsize=1)
def reader_of(scorer: CausalScorer) -> WordEdgeScorer:
    return WordEdgeScorer(scorer)


def values(method: Method, scorer: CausalScorer, item: dict[str, Any]) -> dict[str, Any]:
    """Return a method's columns for one item."""
    reader = reader_of(scorer)
    encoded = reader.encode(method.requests(item, reader))
    logprobs = reader.token_logprobs(encoded, progress=lambda _n: None)
    answers = [Answered(request=e, logprobs_nats=p) for e, p in zip(encoded, logprobs, strict=True)]
    return method.values(answers, item)


def word_logprob(scorer: CausalScorer, target: str, context: str = "") -> float:
    return float(values(WordProbability(), scorer, row(target, context=context))["direct_wb_good"])


def direct_logprob(scorer: CausalScorer, target: str, context: str = "") -> float:
    return float(values(Direct(), scorer, row(target, context=context))["direct_good"])


def loaded(
    folder: Path, tokenizer: PreTrainedTokenizerFast, *, architecture: str = "llama", extra: int = 0
) -> CausalScorer:
    """Return a scorer of a random model whose output layer has `extra` rows that are no token."""
    tiny_model(ARCHITECTURES[architecture], vocab_size=len(tokenizer) - 5 + extra).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    scorer = load_model(folder)
    assert isinstance(scorer, CausalScorer)
    return scorer


@pytest.fixture(scope="module")
def two_letters(tmp_path_factory: pytest.TempPathFactory) -> CausalScorer:
    """Return a random model over a and b, with and without a space before them, and the end of the text.

    Every string has one tokenization, so that the probability of a word is the sum over the texts that spell it.
    """
    tokens = [EOS, f"{SPACE}a", f"{SPACE}b", "a", "b"]
    tokenizer = Tokenizer(models.WordLevel({token: i for i, token in enumerate(tokens)}, unk_token=EOS))
    tokenizer.normalizer = normalizers.Replace(" ", SPACE)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(f"{SPACE}?."), "isolated")
    tokenizer.decoder = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.Fuse()])
    fast: PreTrainedTokenizerFast = transformers.PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, eos_token=EOS, bos_token=EOS
    )
    return loaded(tmp_path_factory.mktemp("two_letters"), fast)


def next_distribution(scorer: CausalScorer, ids: list[int]) -> list[float]:
    """Return p(token | ids) of every row of the output layer, by one forward pass on one sequence."""
    with torch.inference_mode():
        logits = scorer.model(torch.tensor([ids]), use_cache=False).logits[0, -1].double()
    return [float(p) for p in torch.softmax(logits, dim=-1)]


def continuations(scorer: CausalScorer, ids: list[int], n: int) -> Iterator[tuple[str, float]]:
    """Yield (text, probability) of every continuation of n tokens; after the end of a text there is none."""
    surface = [EOS, " a", " b", "a", "b"]
    if n == 0:
        yield "", 1.0
        return
    for token, p in enumerate(next_distribution(scorer, ids)):
        if surface[token] == EOS:
            yield EOS, p
        else:
            for rest, q in continuations(scorer, [*ids, token], n - 1):
                yield surface[token] + rest, p * q


def starts_new_word(text: str) -> bool:
    return text.startswith((" ", EOS))


@pytest.mark.parametrize(("context", "ids"), [("a", [0, 3]), ("ab b", [0, 3, 4, 2]), ("b ba a", [0, 4, 2, 3, 1])])
@pytest.mark.parametrize("word", ["a", "b", "ab", "bba"])
def test_a_words_probability_is_that_of_all_continuations_that_spell_it_and_end_it(
    two_letters: CausalScorer, context: str, ids: list[int], word: str
) -> None:
    every = list(continuations(two_letters, ids, len(word) + 1))
    assert sum(p for _, p in every) == pytest.approx(1, abs=1e-9)
    spelled = sum(p for text, p in every if text.startswith(f" {word}") and starts_new_word(text[len(word) + 1 :]))
    possible = sum(p for text, p in every if starts_new_word(text))
    assert word_logprob(two_letters, word, context) == pytest.approx(math.log(spelled / possible), abs=1e-5)


@pytest.mark.parametrize(("context", "ids"), [("", [0]), ("ab b", [0, 3, 4, 2])])
def test_the_words_that_can_follow_sum_to_one_with_the_correction_and_to_more_without(
    two_letters: CausalScorer, context: str, ids: list[int]
) -> None:
    # Oh & Schuler 2024, section 2: without the correction the words that can follow a word boundary have more than
    # probability one. Here: words of up to three letters, the end of the text, and all longer words, whose mass is
    # that of what begins with four letters.
    words = ["".join(letters) for n in (1, 2, 3) for letters in itertools.product("ab", repeat=n)]
    after = next_distribution(two_letters, ids)
    start = sum(after[:3]) if context else after[0] + after[3] + after[4]
    longer = sum(math.exp(direct_logprob(two_letters, "".join(w), context)) for w in itertools.product("ab", repeat=4))
    corrected = sum(math.exp(word_logprob(two_letters, word, context)) for word in words)
    assert corrected + (longer + after[0]) / start == pytest.approx(1, abs=1e-5)
    uncorrected = sum(math.exp(direct_logprob(two_letters, word, context)) for word in words)
    assert (uncorrected + after[0]) / start > 1.1


def naive_values(scorer: CausalScorer, target: str, context: str) -> tuple[float, float, float]:
    """Return (Σ log p, log B before, log B after), written out over the vocabulary's strings."""
    tokenizer = scorer.tokenizer
    bos = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    joined = f"{context} {target}" if context else target
    ids, n_target = naive.tokens_of(tokenizer, context, joined[len(context) :], bos)
    special = {*tokenizer.all_special_ids} | {i for i, t in tokenizer.added_tokens_decoder.items() if t.special}
    if tokenizer.unk_token_id != tokenizer.eos_token_id:
        special -= {tokenizer.unk_token_id}
    bow = {i for token, i in tokenizer.get_vocab().items() if token[0] in "Ġ▁ " and i not in special}
    before, after = ids[:-n_target], ids
    edges = bow | special
    first = edges if ids[-n_target] in bow else set(range(len(tokenizer))) - bow
    at_start = sum(p for i, p in enumerate(next_distribution(scorer, before)) if i in first)
    at_end = sum(p for i, p in enumerate(next_distribution(scorer, after)) if i in edges)
    return naive.target_logprob(scorer.model, ids, n_target), math.log(at_start), math.log(at_end)


def assert_equals_naive(scorer: CausalScorer, target: str, context: str) -> None:
    total, before, after = naive_values(scorer, target, context)
    result = values(WordProbability(), scorer, row(target, context=context))
    assert result["direct_wb_good_before"] == pytest.approx(before, abs=1e-4)
    assert result["direct_wb_good_after"] == pytest.approx(after, abs=1e-4)
    assert result["direct_wb_good"] == pytest.approx(total - before + after, abs=1e-3)
    assert result["direct_wb_flags"] == []


PAIRS = [("barks.", "A dog"), ("believable story is on the table", "The un-"), ("A dogs bark.", ""), ("2", "1 or")]


@pytest.mark.parametrize("kind", [k for k in sorted(TOKENIZERS) if k != "wordpiece"])
def test_every_kind_of_marked_vocabulary_equals_the_naive_computation(kind: str, tmp_path: Path) -> None:
    scorer = loaded(tmp_path, TOKENIZERS[kind](), extra=5)
    for target, context in PAIRS:
        assert_equals_naive(scorer, target, context)


def test_an_end_of_text_that_is_the_unknown_token_too_ends_words(tmp_path: Path) -> None:
    tokenizer = TOKENIZERS["byte_bpe_shared"]()
    tokenizer.unk_token = tokenizer.eos_token
    scorer = loaded(tmp_path, tokenizer)
    assert scorer.tokenizer.unk_token_id == scorer.tokenizer.eos_token_id
    assert_equals_naive(scorer, "barks.", "A dog")


def test_a_target_that_ends_with_a_space_has_said_that_its_last_word_is_over(two_letters: CausalScorer) -> None:
    result = values(WordProbability(), two_letters, row("a b ", context="b"))
    assert result["direct_wb_good_after"] == 0


@pytest.mark.parametrize("architecture", ["mamba", "bloom", "mistral-sliding"])
def test_models_that_are_not_packed_equal_the_naive_computation(architecture: str, tmp_path: Path) -> None:
    scorer = loaded(tmp_path, TOKENIZERS["byte_bpe_eos"](), architecture=architecture)
    for target, context in PAIRS:
        assert_equals_naive(scorer, target, context)


def test_where_the_ends_of_words_are_marked_nothing_is_corrected(tmp_path: Path) -> None:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["<unk>", EOS]
    trainer = trainers.BpeTrainer(
        vocab_size=200, special_tokens=special, end_of_word_suffix="</w>", show_progress=False
    )
    tokenizer.train_from_iterator(SENTENCES * 3, trainer)
    fast: PreTrainedTokenizerFast = transformers.PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, eos_token=EOS, unk_token="<unk>"
    )
    scorer = loaded(tmp_path, fast)
    assert word_logprob(scorer, "barks", "A dog") == direct_logprob(scorer, "barks", "A dog")


def test_without_word_marks_and_for_other_kinds_of_models_it_is_refused(tmp_path: Path) -> None:
    scorer = loaded(tmp_path, TOKENIZERS["wordpiece"]())
    with pytest.raises(ScoringError, match=r"no token of its vocabulary begins with a space.*use the method direct"):
        word_edge_scorer(scorer)
    with pytest.raises(ScoringError, match=r"direct_wb corrects causal models.*back end 'fake'"):
        word_edge_scorer(FakeScorer())


def test_without_bos_the_start_of_a_text_is_no_edge_and_its_score_is_nan(tmp_path: Path) -> None:
    loaded(tmp_path, TOKENIZERS["byte_bpe_eos"]())
    scorer = load_model(tmp_path, bos="none")
    assert isinstance(scorer, CausalScorer)
    result = values(WordProbability(), scorer, row("A dog barks."))
    assert math.isnan(result["direct_wb_good"])
    assert math.isfinite(result["direct_wb_good_after"])
    assert result["direct_wb_flags"] == ["first_token_unscored", "no_word_boundary"]
    assert math.isfinite(word_logprob(scorer, "barks.", "A dog"))


def test_a_target_that_does_not_begin_a_word_has_no_score(tmp_path: Path) -> None:
    scorer = loaded(tmp_path, TOKENIZERS["byte_bpe_eos"]())
    reader = word_edge_scorer(scorer)
    item = row("believable", context="The un")
    requests = [
        type(request)(**{**{f: getattr(request, f) for f in request.__dataclass_fields__}, "target": "believable"})
        for request in WordProbability().requests(item, reader)
    ]
    encoded = reader.encode(requests)
    logprobs = reader.token_logprobs(encoded, progress=lambda _n: None)
    answers = [Answered(request=e, logprobs_nats=p) for e, p in zip(encoded, logprobs, strict=True)]
    result = WordProbability().values(answers, item)
    assert math.isnan(result["direct_wb_good"])
    assert "no_word_boundary" in result["direct_wb_flags"]
