"""Tiny models for the golden scores: one of each kind, every parameter drawn from a generator keyed by its name.

So neither a library's initialisation, nor the order in which it makes its layers, nor a tokenizer's trainer that
leaves equal pieces in no fixed order can move a number. In: a folder. Out: a folder a model, for `load_model`.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import BertConfig, BertForMaskedLM, BertTokenizer, T5Config, T5ForConditionalGeneration, T5Tokenizer

from tiny_bidirectional_models import SIZES, TRAINING_TEXT, bart_model, saved
from tiny_models import ARCHITECTURES, tiny_model
from tiny_tokenizers import TOKENIZERS

N_POSITIONS = 1_024
SPACE = "\N{LOWER ONE EIGHTH BLOCK}"
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "llama": {},
    "gpt2": {},
    "bloom": {},
    "bert": {},
    "bert-within-word": {"pll": "within_word_l2r"},
    "t5": {},
    "bart": {},
}
"""What `load_model` is told of each: packed with rotary positions and a chat template, packed with learned positions,
padded (ALiBi), masked by both pseudo-log-likelihoods, and the two modes of an encoder-decoder."""


def golden_model(name: str, folder: Path) -> Path:
    makers: Mapping[str, Callable[[], tuple[Any, Any]]] = {
        "bert": _bert,
        "bert-within-word": _bert,
        "t5": _t5,
        "bart": lambda: bart_model(n_positions=N_POSITIONS),
    }
    model, tokenizer = makers[name]() if name in makers else _causal(name)
    fill_by_name(model)
    return saved(model, tokenizer, folder / name)


def fill_by_name(model: torch.nn.Module) -> None:
    """Draw every parameter anew: uniform numbers, wide enough that each token and its place shift a score."""
    biases = [(name, buffer) for name, buffer in model.named_buffers() if name.endswith("bias") and buffer.ndim == 2]
    with torch.no_grad():
        for name, weight in (*model.named_parameters(), *biases):
            seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8])
            drawn = (np.random.default_rng(seed).random(tuple(weight.shape)) - 0.5) * 12**0.5
            if weight.ndim >= 2:
                is_table = "embed" in name or "wte" in name or "shared" in name
                drawn *= 0.6 if is_table else 1.5 / weight.shape[-1] ** 0.5
            else:
                drawn = 0.1 * drawn + (0.0 if name.endswith("bias") else 1.0)
            weight.copy_(torch.from_numpy(drawn))


def _causal(name: str) -> tuple[Any, Any]:
    result = ARCHITECTURES[name]
    longer = {key: N_POSITIONS for key in ("max_position_embeddings", "n_positions") if key in result.config}
    tokenizer = TOKENIZERS[result.tokenizer]()
    return tiny_model(replace(result, config={**result.config, **longer}), vocab_size=len(tokenizer)), tokenizer


def _bert() -> tuple[Any, Any]:
    """Return a BERT that knows half of the training text's English words whole, and letters, not trained."""
    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    words = dict.fromkeys(word for line in TRAINING_TEXT for word in re.findall(r"[a-z]+", line.lower()))
    signs = [chr(code) for code in range(ord("!"), ord("~") + 1) if not chr(code).isupper()]
    pieces = (*special, *signs, *(f"##{sign}" for sign in signs), *(w for w in list(words)[::2] if len(w) > 1))
    tokenizer: Any = BertTokenizer(vocab={piece: i for i, piece in enumerate(pieces)})
    config = BertConfig(vocab_size=len(tokenizer), **SIZES, max_position_embeddings=N_POSITIONS)
    return BertForMaskedLM(config).train(mode=False), tokenizer


def _t5() -> tuple[Any, Any]:
    """Return a T5 whose pieces are the words of the training text and the letters of English, not trained."""
    special = ("<pad>", "</s>", "<unk>")
    words = dict.fromkeys(SPACE + word for line in TRAINING_TEXT for word in line.split())
    letters = [chr(code) for code in range(ord("!"), ord("~") + 1)]
    pieces = [(word, -8.0 - 0.01 * i) for i, word in enumerate(words)]
    pieces += [(letter, -4.0 - 0.01 * i) for i, letter in enumerate((SPACE, *letters)) if letter not in words]
    tokenizer: Any = T5Tokenizer(vocab=[(token, 0.0) for token in special] + pieces, extra_ids=4)
    sizes: dict[str, Any] = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}
    start: dict[str, Any] = {"decoder_start_token_id": 0}
    config = T5Config(vocab_size=len(tokenizer) + 3, **sizes, **start)
    return T5ForConditionalGeneration(config).train(mode=False), tokenizer
