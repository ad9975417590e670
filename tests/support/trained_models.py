"""Small models of five families, trained on public text on one CPU core.

In: the texts of `trained_text`. Out: a folder a model (transformers format) with steps, tokens read, last loss.

    python tests/support/trained_models.py trained          # all of them, below trained/models
    python tests/support/trained_models.py trained --model mini-bert --steps 500

| model | architecture | tokenizer | text |
| --- | --- | --- | --- |
| mini-gpt2 | GPT-2 | byte-level BPE | English |
| mini-llama-early, mini-llama | Llama, a quarter of the way and at the end | BPE with metaspace | English |
| mini-gpt2-zh | GPT-2 | single Chinese characters, [CLS] in front (BERT's) | Chinese |
| mini-qwen | Qwen 2 | byte-level BPE | Chinese, 24 languages, some English |
| mini-bert | BERT | WordPiece | English |
| mini-t5 | T5 | Unigram with sentinels | English |

Sequences are sentences behind their BOS, one after the other; AdamW with a cosine schedule. One seed: the
same machine makes the same weights.
"""

import argparse
import json
import math
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from trained_text import write_texts

LENGTH, BATCH, RATE, WARM_UP = 64, 16, 3e-3, 100
WIDTH, LAYERS, HEADS, VOCABULARY, POSITIONS = 128, 3, 4, 3072, 512
END, SENTINELS, TOKENIZER_LINES = "<|endoftext|>", 4, 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One model: what it is made of and what it reads."""

    text: tuple[str, ...]
    tokenizer: Callable[[list[str]], Any]
    model: Callable[[int], Any]
    objective: Callable[[torch.Tensor, Any, torch.Generator], dict[str, torch.Tensor]]
    steps: int
    early: str = ""
    """The name under which the model is kept after a quarter of its steps."""
    vocabulary: int = VOCABULARY


def byte_bpe(lines: list[str], *, size: int = VOCABULARY) -> Any:  # noqa: ANN401 - tokenizer classes are untyped
    """Byte-level BPE; one token is BOS, EOS and padding (GPT-2, Qwen)."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=[END], initial_alphabet=alphabet, show_progress=False)
    made.train_from_iterator(lines, trainer)
    return _fast(made, bos_token=END, eos_token=END, pad_token=END)


def large_byte_bpe(lines: list[str]) -> Any:  # noqa: ANN401
    """Byte-level BPE with twice the vocabulary, for many scripts."""
    return byte_bpe(lines, size=2 * VOCABULARY)


def metaspace_bpe(lines: list[str]) -> Any:  # noqa: ANN401
    """BPE with metaspace and byte fallback (Llama 2)."""
    made = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    special = ["<unk>", "<s>", "</s>", *(f"<0x{nth:02X}>" for nth in range(256))]
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=special, show_progress=False, limit_alphabet=200
    )
    made.train_from_iterator(lines, trainer)
    return _fast(made, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="</s>")


def wordpiece(lines: list[str], *, size: int = VOCABULARY, alphabet: int = 200) -> Any:  # noqa: ANN401
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=special, show_progress=False, limit_alphabet=alphabet
    )
    made.train_from_iterator(lines, trainer)
    return transformers.BertTokenizer(vocab=made.get_vocab())


def characters(lines: list[str]) -> Any:  # noqa: ANN401
    """WordPiece of single Chinese characters (BERT's Chinese one, which GPT-2s of Chinese have too)."""
    return wordpiece(lines, size=2 * VOCABULARY, alphabet=4000)


def unigram(lines: list[str]) -> Any:  # noqa: ANN401
    made = Tokenizer(models.Unigram())
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    trainer = trainers.UnigramTrainer(
        vocab_size=VOCABULARY, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False
    )
    made.train_from_iterator(lines, trainer)
    pieces = [(piece, score) for piece, score in json.loads(made.to_str())["model"]["vocab"] if piece != "<unk>"]
    return transformers.T5Tokenizer(vocab=[("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), *pieces], extra_ids=SENTINELS)


def next_token(ids: torch.Tensor, tokenizer: Any, rng: torch.Generator) -> dict[str, torch.Tensor]:  # noqa: ANN401, ARG001
    """Predict every token from those before it."""
    return {"input_ids": ids, "labels": ids}


def masked_token(ids: torch.Tensor, tokenizer: Any, rng: torch.Generator) -> dict[str, torch.Tensor]:  # noqa: ANN401
    """Predict a fifth of the tokens, masked, from all others."""
    chosen = torch.rand(ids.shape, generator=rng) < 0.2
    return {"input_ids": ids.masked_fill(chosen, tokenizer.mask_token_id), "labels": ids.masked_fill(~chosen, -100)}


def missing_span(ids: torch.Tensor, tokenizer: Any, rng: torch.Generator) -> dict[str, torch.Tensor]:  # noqa: ANN401
    """Predict one span of one to eight tokens, which a sentinel replaces (T5's objective, one span)."""
    first, second = (tokenizer.convert_tokens_to_ids(f"<extra_id_{nth}>") for nth in (0, 1))
    length = int(torch.randint(1, 9, (), generator=rng))
    inputs, labels = [], []
    for row in ids:
        start = int(torch.randint(0, len(row) - length, (), generator=rng))
        span = row[start : start + length]
        inputs.append(torch.cat([row[:start], torch.tensor([first]), row[start + length :]]))
        labels.append(torch.cat([torch.tensor([first]), span, torch.tensor([second])]))
    return {"input_ids": torch.stack(inputs), "labels": torch.stack(labels)}


def gpt2(n_tokens: int) -> Any:  # noqa: ANN401
    sizes: dict[str, Any] = {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "n_positions": POSITIONS}
    config = transformers.GPT2Config(
        vocab_size=n_tokens, **sizes, bos_token_id=0, eos_token_id=0, **_no_dropout("pdrop")
    )
    return transformers.GPT2LMHeadModel(config)


def llama(n_tokens: int) -> Any:  # noqa: ANN401
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(vocab_size=n_tokens, **_rope(), bos_token_id=1, eos_token_id=2)
    )


def qwen(n_tokens: int) -> Any:  # noqa: ANN401
    return transformers.Qwen2ForCausalLM(
        transformers.Qwen2Config(vocab_size=n_tokens, **_rope(), bos_token_id=0, eos_token_id=0)
    )


def bert(n_tokens: int) -> Any:  # noqa: ANN401
    sizes: dict[str, Any] = {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS}
    sizes |= {"intermediate_size": 4 * WIDTH, "max_position_embeddings": POSITIONS}
    dropout: dict[str, Any] = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return transformers.BertForMaskedLM(transformers.BertConfig(vocab_size=n_tokens, **sizes, **dropout))


def t5(n_tokens: int) -> Any:  # noqa: ANN401
    sizes: dict[str, Any] = {
        "d_model": WIDTH,
        "d_kv": WIDTH // HEADS,
        "d_ff": 3 * WIDTH,
        "num_layers": 2,
        "num_heads": HEADS,
    }
    sizes |= {"decoder_start_token_id": 0, "dropout_rate": 0.0}
    config = transformers.T5Config(vocab_size=n_tokens, **sizes)
    return transformers.T5ForConditionalGeneration(config)


RECIPES: Mapping[str, Recipe] = {
    "mini-gpt2": Recipe(text=("english",), tokenizer=byte_bpe, model=gpt2, objective=next_token, steps=800),
    "mini-llama": Recipe(
        text=("english",),
        tokenizer=metaspace_bpe,
        model=llama,
        objective=next_token,
        steps=800,
        early="mini-llama-early",
    ),
    "mini-qwen": Recipe(
        text=("chinese", "world", "english"), tokenizer=large_byte_bpe, model=qwen, objective=next_token, steps=800
    ),
    "mini-gpt2-zh": Recipe(text=("chinese",), tokenizer=characters, model=gpt2, objective=next_token, steps=800),
    "mini-bert": Recipe(text=("english",), tokenizer=wordpiece, model=bert, objective=masked_token, steps=800),
    "mini-t5": Recipe(text=("english",), tokenizer=unigram, model=t5, objective=missing_span, steps=800),
}


def train(name: str, *, texts: Mapping[str, Path], out: Path, steps: int = 0) -> None:
    """Train one model and write it, and its earlier stage, below `out`."""
    recipe, rng = RECIPES[name], torch.Generator().manual_seed(1)
    lines = _lines([texts[text] for text in recipe.text])
    tokenizer = recipe.tokenizer(lines[:TOKENIZER_LINES])
    torch.manual_seed(1)
    model = recipe.model(len(tokenizer)).train()
    n_steps, begun, loss = steps or recipe.steps, time.perf_counter(), math.nan
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.05)
    schedule = transformers.get_cosine_schedule_with_warmup(optimiser, min(WARM_UP, n_steps // 4), n_steps)
    for step, ids in zip(range(1, n_steps + 1), _batches(lines, tokenizer), strict=False):
        now = model(**recipe.objective(ids, tokenizer, rng)).loss
        optimiser.zero_grad()
        now.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        loss = now.item() if math.isnan(loss) else 0.98 * loss + 0.02 * now.item()
        if step % 100 == 0:
            print(f"{name}: step {step} of {n_steps}, loss {loss:.2f}, {time.perf_counter() - begun:.0f} s", flush=True)  # noqa: T201
        made = {"steps": step, "tokens": step * BATCH * LENGTH, "loss": round(loss, 3), "text": recipe.text}
        if recipe.early and step == n_steps // 4:
            _save(model, tokenizer, out / recipe.early, made)
        if step == n_steps:
            _save(model, tokenizer, out / name, made)


def _save(model: Any, tokenizer: Any, folder: Path, made: Mapping[str, Any]) -> None:  # noqa: ANN401
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    numbers = {**made, "parameters": sum(weight.numel() for weight in model.parameters())}
    (folder / "training.json").write_text(json.dumps(numbers, indent=1) + "\n")


def _lines(paths: list[Path]) -> list[str]:
    """Return the lines of the files in one shuffled order; of later files no more than the first has characters."""
    lines: list[str] = []
    shuffle = random.Random(1)
    room = paths[0].stat().st_size
    for path in paths:
        own = path.read_text(encoding="utf-8").splitlines()
        shuffle.shuffle(own)
        size = 0
        for line in own:
            size += len(line.encode())
            if size > room:
                break
            lines.append(line)
    shuffle.shuffle(lines)
    return lines


def _batches(lines: list[str], tokenizer: Any) -> Iterator[torch.Tensor]:  # noqa: ANN401
    """Yield (BATCH, LENGTH) token ids, sentences one after the other behind their BOS, over and over."""
    start = next(
        token for token in (tokenizer.bos_token_id, tokenizer.cls_token_id, tokenizer.eos_token_id) if token is not None
    )
    ids: list[int] = []
    while True:
        for begin in range(0, len(lines), 512):
            coded = tokenizer(lines[begin : begin + 512], add_special_tokens=False)["input_ids"]
            ids.extend(token for sentence in coded for token in (start, *sentence))
            while len(ids) >= BATCH * LENGTH:
                yield torch.tensor(ids[: BATCH * LENGTH]).view(BATCH, LENGTH)
                ids = ids[BATCH * LENGTH :]


def _fast(made: Tokenizer, **roles: str) -> Any:  # noqa: ANN401
    return PreTrainedTokenizerFast(tokenizer_object=made, **roles)  # type: ignore[no-untyped-call]


def _rope() -> dict[str, Any]:
    return {
        "hidden_size": WIDTH, "intermediate_size": 3 * WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS, "max_position_embeddings": POSITIONS, "tie_word_embeddings": True,
    }  # fmt: skip


def _no_dropout(ending: str) -> dict[str, Any]:
    return {f"{place}_{ending}": 0.0 for place in ("resid", "embd", "attn")}


def main() -> None:
    parser = argparse.ArgumentParser(description="Train small models on Debian's own texts.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", action="append", choices=sorted(RECIPES), help="this one; repeatable; default: all")
    parser.add_argument("--steps", type=int, default=0, help="instead of the recipe's")
    asked = parser.parse_args()
    texts = write_texts(asked.folder)
    torch.set_num_threads(1)
    for name in asked.model or RECIPES:
        train(name, texts=texts, out=asked.folder / "models", steps=asked.steps)


if __name__ == "__main__":
    main()
