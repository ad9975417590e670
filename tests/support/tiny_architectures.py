"""Every masked and encoder-decoder architecture of transformers in miniature: made from its own configuration class.

In: a name of the tables. Out: a folder with a random model and a tokenizer. Weights are drawn wide, so that a pad that
is read, or a wrong position, moves a score by much more than rounding.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers

from tiny_bidirectional_models import bert_tokenizer, byte_bpe, t5_model

HIDDEN, HEADS, LAYERS, POSITIONS = 16, 2, 2, 300
_WIDTHS = (
    *("hidden_size", "embedding_size", "input_embedding_size", "output_embedding_size", "dim", "emb_dim", "d_model"),
    "d_embed",
)
_DEPTHS = (
    *("num_hidden_layers", "n_layers", "num_layers", "num_decoder_layers", "encoder_layers", "decoder_layers"),
    "num_encoder_layers",
)
_N_HEADS = (
    *("num_attention_heads", "num_key_value_heads", "n_heads", "n_head", "num_heads", "encoder_attention_heads"),
    *("decoder_attention_heads", "num_encoder_attention_heads", "num_decoder_attention_heads"),
)
_INNER = ("intermediate_size", "hidden_dim", "d_inner", "d_ff", "encoder_ffn_dim", "decoder_ffn_dim")
SIZES: Mapping[str, Any] = {
    **dict.fromkeys(_WIDTHS, HIDDEN),
    **dict.fromkeys(("d_head", "head_dim", "d_kv", "attention_head_size"), HIDDEN // HEADS),
    **dict.fromkeys(_DEPTHS, LAYERS),
    **dict.fromkeys(_N_HEADS, HEADS),
    **dict.fromkeys(_INNER, 32),
    "max_position_embeddings": POSITIONS,
}
"""What configuration classes call their sizes; each takes those that it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiny:
    model_class: str
    config: Mapping[str, Any] = field(default_factory=dict)
    tokenizer: str = "wordpiece"
    moves: bool = False
    """Scores depend on what else is in a batch, so that it has to go one sequence at a time."""


def _masked(model_class: str, *, moves: bool = False, **config: Any) -> Tiny:  # noqa: ANN401 - config values
    return Tiny(model_class=model_class, config=config, moves=moves)


def _bpe(model_class: str, *, moves: bool = False, **config: Any) -> Tiny:  # noqa: ANN401
    return Tiny(model_class=model_class, config=config, tokenizer="byte_bpe", moves=moves)


def _t5(model_class: str, *, moves: bool = False, **config: Any) -> Tiny:  # noqa: ANN401
    return Tiny(model_class=model_class, config=config, tokenizer="sentinels", moves=moves)


MASKED: Mapping[str, Tiny] = {
    "albert": _masked("AlbertForMaskedLM"),
    "bert": _masked("BertForMaskedLM"),
    "big-bird": _masked("BigBirdForMaskedLM", attention_type="original_full"),
    "big-bird-sparse": _masked("BigBirdForMaskedLM", block_size=4, num_random_blocks=1),
    "camembert": _bpe("CamembertForMaskedLM"),
    "convbert": _masked("ConvBertForMaskedLM", moves=True),
    "data2vec-text": _bpe("Data2VecTextForMaskedLM"),
    "deberta": _bpe("DebertaForMaskedLM", relative_attention=True, pos_att_type=["c2p", "p2c"]),
    "deberta-v2": _masked("DebertaV2ForMaskedLM", relative_attention=True, pos_att_type=["c2p", "p2c"]),
    "distilbert": _masked("DistilBertForMaskedLM"),
    "electra": _masked("ElectraForMaskedLM"),
    "ernie": _masked("ErnieForMaskedLM"),
    "esm": _masked("EsmForMaskedLM", position_embedding_type="rotary", mask_token_id=4, pad_token_id=0),
    "esmc": _masked("EsmcForMaskedLM"),
    "eurobert": _masked("EuroBertForMaskedLM"),
    "flaubert": _masked("FlaubertWithLMHeadModel"),
    "fnet": _masked("FNetForMaskedLM", moves=True, tpu_short_seq_length=POSITIONS),
    "funnel": _masked(
        "FunnelForMaskedLM", moves=True, block_sizes=[1, 1], num_decoder_layers=1, num_hidden_layers=None
    ),
    "gte": _masked("GteForMaskedLM"),
    "ibert": _bpe("IBertForMaskedLM"),
    "jina-embeddings-v3": _masked("JinaEmbeddingsV3ForMaskedLM"),
    "layoutlm": _masked("LayoutLMForMaskedLM"),
    "longformer": _bpe("LongformerForMaskedLM", attention_window=[8, 8]),
    "luke": _bpe("LukeForMaskedLM", entity_vocab_size=8, entity_emb_size=8),
    "megatron-bert": _masked("MegatronBertForMaskedLM"),
    "mobilebert": _masked(
        "MobileBertForMaskedLM", moves=True, intra_bottleneck_size=HIDDEN, true_hidden_size=HIDDEN, embedding_size=8
    ),
    "modernbert": _masked(
        "ModernBertForMaskedLM", local_attention=8, pad_token_id=0, cls_token_id=2, sep_token_id=3,
        bos_token_id=2, eos_token_id=3,
    ),
    "mpnet": _masked("MPNetForMaskedLM"),
    "mra": _masked("MraForMaskedLM"),
    "neomme": _masked("NeoMMEForMaskedLM", head_dim=16),
    "nomic-bert": _masked("NomicBertForMaskedLM"),
    "nystromformer": _masked("NystromformerForMaskedLM", moves=True),
    "perceiver": _masked(
        "PerceiverForMaskedLM", d_latents=16, num_latents=8, num_blocks=1, num_self_attends_per_block=1,
        num_self_attention_heads=2, num_cross_attention_heads=2, qk_channels=16, v_channels=16,
    ),
    "reformer": _masked(
        "ReformerForMaskedLM", moves=True, is_decoder=False, attn_layers=["local", "local"], axial_pos_shape=[20, 15],
        axial_pos_embds_dim=[8, 8], local_attn_chunk_length=8, lsh_attn_chunk_length=8, feed_forward_size=32,
    ),
    "rembert": _masked("RemBertForMaskedLM"),
    "roberta": _bpe("RobertaForMaskedLM"),
    "roberta-prelayernorm": _bpe("RobertaPreLayerNormForMaskedLM"),
    "roc-bert": _masked("RoCBertForMaskedLM", pronunciation_vocab_size=400, shape_vocab_size=400),
    "roformer": _masked("RoFormerForMaskedLM"),
    "squeezebert": _masked("SqueezeBertForMaskedLM"),
    "tapas": _masked("TapasForMaskedLM"),
    "ultrabert": _masked("UltrabertForMaskedLM"),
    "xlm": _masked("XLMWithLMHeadModel"),
    "xlm-roberta": _bpe("XLMRobertaForMaskedLM"),
    "xlm-roberta-xl": _bpe("XLMRobertaXLForMaskedLM"),
    "xmod": _bpe("XmodForMaskedLM", languages=["en_XX"], default_language="en_XX"),
    "yoso": _masked("YosoForMaskedLM", moves=True),
}  # fmt: skip
"""Every name of transformers' own list of masked models, but those of SKIPPED."""
SKIPPED: Mapping[str, str] = {
    "modernvbert": "its text model is ModernBERT's; a whole one has a vision model, which does not get small",
    "ultravbert": "its text model is UltraBERT's; a whole one has a vision model, which does not get small",
    "bart": "an encoder-decoder, below",
    "mbart": "an encoder-decoder, below",
    "mvp": "an encoder-decoder, below",
}
"""Of transformers' own list of masked models, with the reason."""
_START: Mapping[str, Any] = {"decoder_start_token_id": 2, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
_T5_START: Mapping[str, Any] = {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1}
_DECODER = {
    "hidden_size": HIDDEN, "intermediate_size": 32, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS, "head_dim": HIDDEN // HEADS, "max_position_embeddings": POSITIONS,
    "sliding_window": 8, "layer_types": ["sliding_attention", "full_attention"], "query_pre_attn_scalar": 8,
}  # fmt: skip
SEQ2SEQ: Mapping[str, Tiny] = {
    "bart": _bpe("BartForConditionalGeneration", **_START),
    "bigbird-pegasus": _bpe(
        "BigBirdPegasusForConditionalGeneration", block_size=4, num_random_blocks=1, **_START
    ),
    "blenderbot": _bpe("BlenderbotForConditionalGeneration", **_START),
    "blenderbot-small": _bpe("BlenderbotSmallForConditionalGeneration", **_START),
    "encoder-decoder": _bpe("EncoderDecoderModel", **_START),
    "fsmt": _bpe("FSMTForConditionalGeneration", langs=["en", "de"], **_START),
    "led": _bpe(
        "LEDForConditionalGeneration", attention_window=8, max_encoder_position_embeddings=POSITIONS,
        max_decoder_position_embeddings=POSITIONS, **_START,
    ),
    "longt5": _t5("LongT5ForConditionalGeneration", local_radius=4, **_T5_START),
    "longt5-global": _t5(
        "LongT5ForConditionalGeneration", local_radius=4, encoder_attention_type="transient-global", **_T5_START
    ),
    "m2m100": _bpe("M2M100ForConditionalGeneration", **_START),
    "marian": _bpe("MarianMTModel", **_START),
    "mbart": _bpe("MBartForConditionalGeneration", **_START),
    "mt5": _t5("MT5ForConditionalGeneration", **_T5_START),
    "mvp": _bpe("MvpForConditionalGeneration", **_START),
    "nllb-moe": _bpe(
        "NllbMoeForConditionalGeneration", num_experts=2, encoder_sparse_step=1, decoder_sparse_step=1, **_START
    ),
    "pegasus": _bpe("PegasusForConditionalGeneration", **_START),
    "pegasus-x": _bpe("PegasusXForConditionalGeneration", block_size=8, num_global_tokens=4, **_START),
    "plbart": _bpe("PLBartForConditionalGeneration", **_START),
    "prophetnet": _bpe("ProphetNetForConditionalGeneration", moves=True, num_hidden_layers=None, **_START),
    "switch": _t5(
        "SwitchTransformersForConditionalGeneration", num_experts=2, num_sparse_encoder_layers=1,
        num_sparse_decoder_layers=1, **_T5_START,
    ),
    "t5": _t5("T5ForConditionalGeneration", **_T5_START),
    "t5gemma": _t5("T5GemmaForConditionalGeneration", **_T5_START),
    "umt5": _t5("UMT5ForConditionalGeneration", **_T5_START),
}  # fmt: skip


def made(tiny: Tiny, folder: Path) -> Path:
    tokenizer = _tokenizer(tiny.tokenizer)
    model_class = getattr(transformers, tiny.model_class)
    config = _config(tiny, model_class, len(tokenizer) + 3, tokenizer)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = model_class(config)
    _draw(model)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _tokenizer(kind: str) -> Any:  # noqa: ANN401 - tokenizer classes are untyped
    if kind == "wordpiece":
        return bert_tokenizer()
    if kind == "byte_bpe":
        tokenizer: Any = transformers.RobertaTokenizer(**byte_bpe())
        return tokenizer
    return t5_model()[1]


def _config(tiny: Tiny, model_class: Any, n_tokens: int, tokenizer: Any) -> Any:  # noqa: ANN401
    vocabulary = {"vocab_size": n_tokens, "src_vocab_size": n_tokens, "tgt_vocab_size": n_tokens}
    if tiny.model_class == "EncoderDecoderModel":
        sizes = {"hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
                 "intermediate_size": 32, "vocab_size": n_tokens}  # fmt: skip
        make: Any = transformers.BertConfig
        parts = (make(**sizes), make(**sizes, is_decoder=True, add_cross_attention=True))
        config: Any = transformers.EncoderDecoderConfig.from_encoder_decoder_configs(*parts)
        for name, value in tiny.config.items():
            setattr(config, name, value)
        return config
    if tiny.model_class == "T5GemmaForConditionalGeneration":
        part = {**_DECODER, "vocab_size": n_tokens, "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 2}
        make = transformers.T5GemmaConfig
        return make(encoder=part, decoder=dict(part), **{**tiny.config, "vocab_size": n_tokens})
    known = model_class.config_class()
    pad = {"pad_token_id": tokenizer.pad_token_id}
    sizes = {name: value for name, value in {**vocabulary, **pad, **SIZES}.items() if hasattr(known, name)}
    settings = {**sizes, **tiny.config}
    return model_class.config_class(**{name: value for name, value in settings.items() if value is not None})


def _draw(model: Any) -> None:  # noqa: ANN401 - any model
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim >= 2:
                spread = 0.6 if "embed" in name or "shared" in name else 1.5 / weight.shape[-1] ** 0.5
                weight.copy_(torch.randn(weight.shape, generator=generator) * spread)
            elif name.endswith("bias"):
                weight.add_(torch.randn(weight.shape, generator=generator) * 0.1)
