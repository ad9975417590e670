"""Tiny random causal models, made here from configs: no download, the same everywhere.

The weights are drawn wide: scores then depend on every token of the context and on its position, so a wrong mask,
a wrong position or a wrong row shows as whole nats.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
import transformers
from transformers import PreTrainedModel

from pairbank.scoring.api.model import ModelInfo
from tiny_tokenizers import TOKENIZERS

HIDDEN, HEADS, LAYERS, MAX_LENGTH, WINDOW = 32, 2, 2, 640, 16

Batching = Literal["packed", "window", "padded"]
"""`window`: packed up to a length, padded beyond it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    model_class: str
    config: Mapping[str, Any]
    batching: Batching
    reason: str = ""
    """Part of the warning that says why it is not packed, or not always."""
    tokenizer: str = "byte_bpe_eos"
    reference_attention: str = "eager"
    """The attention of the naive loop."""


def _rope(**more: Any) -> dict[str, Any]:  # noqa: ANN401 - config values
    return {
        "hidden_size": HIDDEN,
        "intermediate_size": 48,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": 1,
        "head_dim": HIDDEN // HEADS,
        "max_position_embeddings": MAX_LENGTH,
        **more,
    }


def _gpt(**more: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"n_embd": HIDDEN, "n_layer": LAYERS, "n_head": HEADS, "n_positions": MAX_LENGTH, **more}


def _opt(**more: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "ffn_dim": 48,
        "word_embed_proj_dim": HIDDEN,
        "max_position_embeddings": MAX_LENGTH,
        **more,
    }


_FALCON = {
    "hidden_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "max_position_embeddings": MAX_LENGTH,
}
_NEO = {
    "hidden_size": HIDDEN,
    "num_layers": LAYERS,
    "num_heads": HEADS,
    "attention_types": [[["global", "local"], 1]],
    "window_size": WINDOW,
    "max_position_embeddings": MAX_LENGTH,
}
_MPT = {"d_model": HIDDEN, "n_heads": HEADS, "n_layers": LAYERS, "expansion_ratio": 2, "max_seq_len": MAX_LENGTH}
_MAMBA = {"hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "state_size": 8}
_MAMBA_2 = {**_MAMBA, "num_heads": 4, "head_dim": 16, "n_groups": 1, "chunk_size": 16}
_RWKV = {"hidden_size": HIDDEN, "attention_hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "context_length": 1024}
_GEMMA = _rope(query_pre_attn_scalar=16, sliding_window=WINDOW)
_CAPPED = {"attn_logit_softcapping": 5.0, "final_logit_softcapping": 3.0}
_ROPE = {"rope_type": "default", "rope_theta": 10000.0}
_LONG_ROPE = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "short_factor": [1.0] * 8,
    "long_factor": [1.0 + i for i in range(8)],
    "original_max_position_embeddings": WINDOW,
}
_NEXT = _rope(
    num_experts=2,
    num_experts_per_tok=1,
    moe_intermediate_size=HIDDEN,
    shared_expert_intermediate_size=HIDDEN,
    linear_num_key_heads=2,
    linear_num_value_heads=2,
    linear_key_head_dim=16,
    linear_value_head_dim=16,
    layer_types=["linear_attention", "full_attention"],
)
_LLAMA_4 = _rope(
    num_local_experts=2,
    num_experts_per_tok=1,
    intermediate_size_mlp=48,
    attention_chunk_size=WINDOW,
    layer_types=["chunked_attention", "full_attention"],
    pad_token_id=0,
)
_NO_POSITIONS = "its forward pass takes no position ids"
_WINDOW = f"longer than its window of {WINDOW} tokens"
_ALTERNATING = {"layer_types": ["sliding_attention", "full_attention"]}


def _packed(model_class: str, config: Mapping[str, Any], tokenizer: str = "byte_bpe_eos") -> Architecture:
    return Architecture(model_class=model_class, config=config, batching="packed", tokenizer=tokenizer)


def _window(model_class: str, config: Mapping[str, Any], tokenizer: str = "byte_bpe_eos") -> Architecture:
    return Architecture(model_class=model_class, config=config, batching="window", reason=_WINDOW, tokenizer=tokenizer)


def _padded(model_class: str, config: Mapping[str, Any], reason: str, tokenizer: str = "byte_bpe_eos") -> Architecture:
    return Architecture(model_class=model_class, config=config, batching="padded", reason=reason, tokenizer=tokenizer)


ARCHITECTURES: Mapping[str, Architecture] = {
    "gpt2": _packed("GPT2LMHeadModel", _gpt(), "byte_bpe_shared"),
    "gpt-bigcode": _packed("GPTBigCodeForCausalLM", _gpt(), "characters"),
    "gpt-neox": _packed("GPTNeoXForCausalLM", _rope(rotary_pct=0.5)),
    "gpt-j": _packed("GPTJForCausalLM", _gpt(rotary_dim=8), "wordpiece"),
    "llama": _packed("LlamaForCausalLM", _rope(), "metaspace_bpe"),
    "mistral": _packed("MistralForCausalLM", _rope(sliding_window=None), "metaspace_unigram"),
    "qwen2": _packed("Qwen2ForCausalLM", _rope()),
    "qwen3": _packed("Qwen3ForCausalLM", _rope()),
    "gemma2-full": _packed(
        "Gemma2ForCausalLM", {**_GEMMA, **_CAPPED, "layer_types": ["full_attention"] * LAYERS}, "metaspace_bpe"
    ),
    "phi": _packed("PhiForCausalLM", _rope(partial_rotary_factor=0.5)),
    "phi3": _packed("Phi3ForCausalLM", _rope(pad_token_id=0), "metaspace_bpe"),
    "olmo2": _packed("Olmo2ForCausalLM", _rope()),
    "opt": _packed("OPTForCausalLM", _opt(), "byte_bpe_bos"),
    "stablelm": _packed("StableLmForCausalLM", _rope()),
    "falcon-rotary": _packed("FalconForCausalLM", {**_FALCON, "alibi": False}, "byte_bpe_bos_eos"),
    "mistral-sliding": _window("MistralForCausalLM", _rope(sliding_window=WINDOW), "metaspace_unigram"),
    "gemma2": _window("Gemma2ForCausalLM", {**_GEMMA, **_CAPPED, **_ALTERNATING}, "metaspace_bpe"),
    "gemma3": _window("Gemma3ForCausalLM", {**_GEMMA, **_ALTERNATING}, "metaspace_bpe"),
    "gpt-oss": _window(
        "GptOssForCausalLM",
        _rope(num_local_experts=2, num_experts_per_tok=1, sliding_window=WINDOW, rope_parameters=_ROPE, **_ALTERNATING),
    ),
    "phi3-longrope": _window(
        "Phi3ForCausalLM",
        _rope(pad_token_id=0, original_max_position_embeddings=WINDOW, rope_parameters=_LONG_ROPE),
        "metaspace_bpe",
    ),
    "llama4-chunked": _window("Llama4ForCausalLM", _LLAMA_4, "byte_bpe_bos"),
    "gpt-neo": _padded("GPTNeoForCausalLM", _NEO, "its local attention follows the place in the pack"),
    "bloom": _padded(
        "BloomForCausalLM", {"hidden_size": HIDDEN, "n_layer": LAYERS, "n_head": HEADS}, _NO_POSITIONS, "byte_bpe_bos"
    ),
    "falcon-alibi": Architecture(
        model_class="FalconForCausalLM",
        config={**_FALCON, "alibi": True},
        batching="padded",
        reason="its ALiBi biases follow the place in the pack",
        # the eager path of transformers 5 adds the ALiBi biases twice; sdpa, the default, adds them once
        reference_attention="sdpa",
    ),
    "mpt": _padded("MptForCausalLM", _MPT, _NO_POSITIONS),
    "mamba": _padded("MambaForCausalLM", _MAMBA, _NO_POSITIONS),
    "mamba2": _padded("Mamba2ForCausalLM", _MAMBA_2, _NO_POSITIONS),
    "rwkv": _padded("RwkvForCausalLM", _RWKV, _NO_POSITIONS, "characters"),
    "qwen3-next": _padded("Qwen3NextForCausalLM", _NEXT, "it has linear_attention layers"),
}


def tiny_model(architecture: Architecture, *, vocab_size: int, seed: int = 0) -> PreTrainedModel:
    """Return a random model; its vocabulary is larger than the tokenizer's, as real ones are."""
    model_class = getattr(transformers, architecture.model_class)
    settings = {"bos_token_id": 0, "eos_token_id": 0, **architecture.config}
    config = model_class.config_class(**settings, vocab_size=vocab_size + 5)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model: PreTrainedModel = model_class(config)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim >= 2 and not name.endswith("A_log"):
                spread = 0.6 if "embed" in name or "wte" in name else 1.5 / weight.shape[-1] ** 0.5
                weight.copy_(torch.randn(weight.shape, generator=generator) * spread)
            elif name.endswith("bias"):
                weight.add_(torch.randn(weight.shape, generator=generator) * 0.1)
    model.train(mode=False)
    return model


def saved_model(architecture: Architecture, folder: Path) -> Path:
    tokenizer = TOKENIZERS[architecture.tokenizer]()
    tiny_model(architecture, vocab_size=len(tokenizer)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny_info(backend: str = "causal-packed", **changed: Any) -> ModelInfo:  # noqa: ANN401 - facts of a model
    facts: dict[str, Any] = dict.fromkeys(("name", "model_id"), "tiny") | dict.fromkeys(("bos_id", "max_length"))
    facts |= {"revision": "0", "architecture": "", "dtype": "float32", "quantisation": "", "device": "cpu"}
    return ModelInfo(**facts | {"backend": backend, "prompt_format": "base", "bos_policy": "auto"} | changed)
