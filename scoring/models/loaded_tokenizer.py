"""A model's tokenizer as it is scored with: one that cuts a text always the same way, and as the model was trained.

BPE dropout and sentencepiece's sampling, saved with a model, cut every text at random: both are switched off.
Tokenizers of Mistral's models that transformers before 5 converted have another pre-tokenizer pattern than those that
the models were trained with; transformers knows both, and warns.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairbank.errors import ModelLoadError
from pairbank.scoring.models.batch_check import LONG_TEXT
from pairbank.scoring.models.checkpoints import located
from pairbank.scoring.models.loading import loading
from pairbank.scoring.models.options import reference_of
from pairbank.scoring.models.tokenizing import PROBE

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

logger = logging.getLogger(__name__)
N_TRIES = 4
"""Times that a text is cut, to see whether the same tokens come."""
MISTRAL = "fix_mistral_regex"
"""The option of transformers, which is in its warning too."""
CONVERTED_PATTERN = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|"
"""How the pattern begins that the conversion put in the place of Mistral's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedTokenizer:
    tokenizer: PreTrainedTokenizerBase
    changes: str = ""
    notes: list[str] = field(default_factory=list)


def load_tokenizer(
    path: str, name: str, options: Mapping[str, Any], *, local: bool, keep_mistral_regex: bool
) -> LoadedTokenizer:
    """Return the tokenizer of a folder or a Hub id; `options`: those of `from_pretrained`."""
    from transformers import AutoTokenizer

    changes: list[str] = []
    with loading(path, local=local) as notes:
        tokenizer = AutoTokenizer.from_pretrained(path, **options)
    if any(MISTRAL in note for note in notes):
        notes = [note for note in notes if MISTRAL not in note]
        saved = _split_pattern(tokenizer)
        if saved.startswith(CONVERTED_PATTERN) and not keep_mistral_regex:
            options = {**options, MISTRAL: True}
            with loading(path, local=local):
                tokenizer = AutoTokenizer.from_pretrained(path, **options)
            changes.append("pattern of the pre-tokenizer repaired (fix_mistral_regex)")
        elif saved.startswith(CONVERTED_PATTERN):
            notes.append("by transformers, the pattern of its pre-tokenizer is wrong; it is kept (keep_mistral_regex)")
    changes += _without_dropout(tokenizer)
    sampling = getattr(tokenizer, "sp_model_kwargs", None) or {}
    if sampling.get("enable_sampling"):
        options = {**options, "sp_model_kwargs": {**sampling, "enable_sampling": False}}
        with loading(path, local=local):
            tokenizer = AutoTokenizer.from_pretrained(path, **options)
        changes.append("sampling of sentencepiece switched off")
    if changes:
        logger.warning("%s: of its tokenizer as it was saved: %s", name, "; ".join(changes))
    first, *others = (tokenizer([PROBE, LONG_TEXT], verbose=False)["input_ids"] for _ in range(N_TRIES))
    if any(ids != first for ids in others):
        raise ModelLoadError(
            f"{name}: its tokenizer cuts the same text into other tokens each time, so that its scores would be "
            "chance; switch off dropout or sampling in the tokenizer's files, or name another tokenizer"
        )
    return LoadedTokenizer(tokenizer=tokenizer, changes="; ".join(changes), notes=notes)


def tokenizer_named(name: str | Path, *, keep_mistral_regex: bool = False) -> LoadedTokenizer:
    """Return the tokenizer of a model by name: 'demo', a folder, a GGUF file or a Hub id."""
    reference = reference_of(name)
    checkpoint = located(reference.id, gguf_file=None)
    options, local = checkpoint.options(reference.revision), bool(checkpoint.revision)
    return load_tokenizer(checkpoint.path, checkpoint.name, options, local=local, keep_mistral_regex=keep_mistral_regex)


def _split_pattern(tokenizer: PreTrainedTokenizerBase) -> str:
    rules = json.loads(tokenizer.backend_tokenizer.to_str())["pre_tokenizer"] or {}
    first, *_ = rules.get("pretokenizers") or [rules]
    return str((first.get("pattern") or {}).get("Regex", ""))


def _without_dropout(tokenizer: PreTrainedTokenizerBase) -> Iterator[str]:
    """Switch off what cuts words at random; yield what that was."""
    model: Any = getattr(getattr(tokenizer, "backend_tokenizer", None), "model", None)
    if dropout := getattr(model, "dropout", None):
        model.dropout = None
        yield f"BPE dropout of {dropout:.3g} switched off"
    if getattr(model, "alpha", None) is not None:
        model.alpha = None
        yield "sampling of unigrams switched off"
