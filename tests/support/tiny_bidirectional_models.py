"""Tiny random models and tokenizers, made on the spot: BERT, RoBERTa, XLM-R, T5 and BART in miniature.

Weights are drawn wide (standard deviation 0.3), so that a wrong mask or position moves a score by much more than
the tolerance.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BartTokenizer,
    BertConfig,
    BertForMaskedLM,
    BertTokenizer,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaTokenizer,
    T5Config,
    T5ForConditionalGeneration,
    T5Tokenizer,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
    XLMRobertaTokenizer,
)

from pairbank.scoring.api.requests import Request
from tiny_models import ARCHITECTURES, saved_model

TRAINING_TEXT = [
    "The keys to the cabinet are on the table. The keys is lost.",
    "unbelievable stories don't end. Which sentence is a better English sentence?",
    "My answer is 1 or 2. Respond with 1 or 2 as your answer.",
    "这 本 书 很 好 那 只 狗 在 跑",
    "الكلب يركض في الحديقة",
    "I like 😀 pizza",
]
SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "initializer_range": 0.3,
}
ROBERTA_TOKENS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def masked_model(family: str, *, n_positions: int = 200, seed: int = 0) -> tuple[Any, Any]:
    torch.manual_seed(seed)
    if family == "bert":
        tokenizer: Any = bert_tokenizer()
        bert_config = BertConfig(vocab_size=len(tokenizer), **SIZES, max_position_embeddings=n_positions)
        return BertForMaskedLM(bert_config).train(mode=False), tokenizer
    special: dict[str, Any] = {
        "pad_token_id": 1,
        "bos_token_id": 0,
        "eos_token_id": 2,
        "max_position_embeddings": n_positions,
    }
    if family == "roberta":
        tokenizer = RobertaTokenizer(**byte_bpe())
        config = RobertaConfig(vocab_size=len(tokenizer), **SIZES, **special)
        return RobertaForMaskedLM(config).train(mode=False), tokenizer
    tokenizer = XLMRobertaTokenizer(vocab=_unigram(["<s>", "<pad>", "</s>", "<unk>"]))
    return XLMRobertaForMaskedLM(XLMRobertaConfig(vocab_size=len(tokenizer), **SIZES, **special)).train(
        mode=False
    ), tokenizer


def t5_model(*, seed: int = 0, extra_ids: int = 4) -> tuple[Any, Any]:
    """Return a T5 with relative positions and (unless there are no extra ids) sentinels."""
    torch.manual_seed(seed)
    tokenizer = T5Tokenizer(vocab=_unigram(["<pad>", "</s>", "<unk>"]), extra_ids=extra_ids)
    sizes: dict[str, Any] = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}
    start: dict[str, Any] = {"decoder_start_token_id": 0}
    config = T5Config(vocab_size=len(tokenizer) + 3, **sizes, **start)
    return T5ForConditionalGeneration(config).train(mode=False), tokenizer


def bart_model(*, n_positions: int = 256, seed: int = 0) -> tuple[Any, Any]:
    """Return a BART: its decoder starts with </s>, its tokenizer puts <s> before a target."""
    torch.manual_seed(seed)
    tokenizer = BartTokenizer(**byte_bpe())
    config = BartConfig(
        vocab_size=len(tokenizer),
        d_model=16,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=n_positions,
        init_std=0.3,
    )
    model = BartForConditionalGeneration(config)
    torch.nn.init.normal_(model.final_logits_bias)
    return model.train(mode=False), tokenizer


def bert_tokenizer() -> Any:  # noqa: ANN401 - tokenizer classes are untyped
    """Return a lower-casing WordPiece tokenizer; long words get several pieces, the same in every process."""
    words = [word for word, _ in _words(" ".join(TRAINING_TEXT))]
    pieces = Counter(
        f"{'##' if start else ''}{word[start:end]}"
        for word in words
        for start in range(len(word))
        for end in range(start + 1, min(start + 4, len(word)) + 1)
    )
    single = sorted(piece for piece in pieces if len(piece.removeprefix("##")) == 1)
    longer = sorted((piece for piece in pieces if piece not in single), key=lambda piece: (-pieces[piece], piece))
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *single, *longer][:160]
    return BertTokenizer(vocab={piece: nth for nth, piece in enumerate(vocabulary)})


def _words(text: str) -> list[tuple[str, tuple[int, int]]]:
    lower = normalizers.BertNormalizer(lowercase=True).normalize_str(text)
    split: list[tuple[str, tuple[int, int]]] = pre_tokenizers.BertPreTokenizer().pre_tokenize_str(lower)
    return split


def scores(scorer: Any, texts: list[tuple[str, str]]) -> list[Any]:  # noqa: ANN401 - arrays
    """Return the log-probability of each token of (context, target)."""
    requests = scorer.encode([Request(context=context, target=target) for context, target in texts])
    result: list[Any] = scorer.token_logprobs(requests, progress=lambda _n: None)
    return result


def saved(model: Any, tokenizer: Any, folder: Path) -> Path:  # noqa: ANN401
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def saved_as(kind: str, folder: Path) -> Path:
    """Save a tiny BERT or T5, or a causal model of `ARCHITECTURES`."""
    if kind in ARCHITECTURES:
        return saved_model(ARCHITECTURES[kind], folder)
    return saved(*(masked_model("bert") if kind == "bert" else t5_model()), folder)


def byte_bpe() -> dict[str, Any]:
    """Return vocabulary and merges of a byte-level BPE, as RoBERTa and GPT-2 have."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=340,
        special_tokens=ROBERTA_TOKENS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TRAINING_TEXT, trainer)
    made = json.loads(tokenizer.to_str())["model"]
    return {"vocab": made["vocab"], "merges": [tuple(pair) for pair in made["merges"]]}


def _unigram(special: list[str]) -> list[tuple[str, float]]:
    """Return a Unigram vocabulary as SentencePiece orders it: special tokens first."""
    unknown = "<unk>"
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    trainer = trainers.UnigramTrainer(vocab_size=150, special_tokens=[unknown], unk_token=unknown, show_progress=False)
    tokenizer.train_from_iterator(TRAINING_TEXT, trainer)
    pieces = json.loads(tokenizer.to_str())["model"]["vocab"]
    return [(token, 0.0) for token in special] + [(piece, score) for piece, score in pieces if piece != unknown]
