"""Hidden states: texts in, the state of the last token at every layer out, on disk. He et al. 2025, section 4.1.

The last token is the last of the text itself: causal models read it after everything else and one BOS, as direct
scores do; masked models and the encoder of an encoder-decoder read the whole text, and special tokens that close
it ([SEP], </s>) are not the last token. Layer 0 is the embedding, layer i the output of block i; transformers gives
the last one after the final normalisation. The model's head does not run.

Each distinct text is read once. States are stored as they are computed, some hundred texts a file, under a key of
model, version and texts: a run that was stopped goes on there, and a second one computes nothing.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from pairbank.errors import ScoringError
from pairbank.files import cache_dir, replaced_atomically, sha256_of_text
from pairbank.scoring.api.model import Progress
from pairbank.scoring.engine.batching import default_budget, in_batches, padded
from pairbank.scoring.engine.forward import input_device, scoring_mode
from pairbank.scoring.engine.limits import packing_window
from pairbank.scoring.models.causal import CausalScorer
from pairbank.scoring.models.masked import MaskedScorer
from pairbank.scoring.models.tokenizing import left_as_it_was
from pairbank.scoring.versions import HIDDEN_STATES_VERSION

if TYPE_CHECKING:
    from pairbank.scoring.api.model import Scorer
    from pairbank.scoring.models.load import LoadedModel

Precision = Literal["float32", "float16"]
SHARD_TEXTS = 512
"""Texts of one file; the most that a kill can lose."""
States = npt.NDArray[np.float32 | np.float16]


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenStates:
    """The states of some texts; on disk, read a layer at a time."""

    shards: tuple[Path, ...]
    """Files of shape (layers, texts of the file, hidden)."""
    place: npt.NDArray[np.int64]
    """For each text asked for, its place among the distinct ones, which the files hold in this order."""
    n_layers: int
    """Layers, the embedding among them."""
    n_hidden: int

    def layer(self, layer: int, texts: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Return the states of some texts at one layer.

        Args:
            layer: 0 is the embedding.
            texts: numbers of the texts, as they were asked for, shape (n,).

        Returns:
            Shape (n, hidden), float32.
        """
        found = np.empty((len(texts), self.n_hidden), dtype=np.float32)
        shard, row = np.divmod(self.place[texts], SHARD_TEXTS)
        for number in np.unique(shard):
            here = shard == number
            found[here] = np.load(self.shards[number], mmap_mode="r")[layer][row[here]]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Input:
    """Token ids of a text with the model's special tokens, and which of them is the last of the text."""

    ids: tuple[int, ...]
    last: int


def last_token_states(
    texts: Sequence[str],
    model: Scorer,
    *,
    where: Sequence[str] | None = None,
    precision: Precision = "float32",
    progress: Progress | None = None,
) -> HiddenStates:
    """Return the state of each text's last token at every layer.

    Args:
        texts: whole strings; equal ones are read once.
        model: what `load_model` gives.
        where: the item that each text is from, for errors.
        precision: how states are stored; `float16` takes half the room and refuses what it cannot hold.
        progress: called with the number of distinct texts just finished.

    Raises:
        ScoringError: not a model with hidden states, a text longer than it accepts or without a token, a state that
            is NaN or infinite or too large for `float16`.
    """
    reader = _checked(model)
    named = dict(zip(texts, where or [repr(text) for text in texts], strict=True))
    distinct = list(dict.fromkeys(texts))
    number = {text: i for i, text in enumerate(distinct)}
    if not distinct:
        raise ScoringError("no texts to read; expected at least one")
    identity = (
        json.dumps(model.info.to_dict(), ensure_ascii=False),
        precision,
        f"hidden states {HIDDEN_STATES_VERSION}",
    )
    shards = []
    for start in range(0, len(distinct), SHARD_TEXTS):
        part = distinct[start : start + SHARD_TEXTS]
        key = sha256_of_text(*identity, *part)
        path = cache_dir() / "states" / key[:2] / f"{key}.npy"
        if not path.is_file():
            states = _stored_as(precision, _computed(part, [named[text] for text in part], reader), model.info.name)
            with replaced_atomically(path) as temporary, temporary.open("wb") as handle:
                np.save(handle, states)
        shards.append(path)
        if progress is not None:
            progress(len(part))
    n_layers, _, n_hidden = _opened(shards[0]).shape
    return HiddenStates(
        shards=tuple(shards),
        place=np.array([number[text] for text in texts], dtype=np.int64),
        n_layers=n_layers,
        n_hidden=n_hidden,
    )


def _checked(model: Scorer) -> LoadedModel:
    from pairbank.scoring.models.seq2seq import Seq2SeqScorer

    if not isinstance(model, CausalScorer | MaskedScorer | Seq2SeqScorer):
        raise ScoringError(
            f"{model.info.name} ({model.info.backend}) has no hidden states to read; expected a model that runs here: "
            "load it with pairbank.load_model"
        )
    return model


def _opened(path: Path) -> States:
    try:
        states: States = np.load(path, mmap_mode="r")
    except (ValueError, OSError, EOFError) as error:
        raise ScoringError(f"stored states {path} cannot be read ({error}); delete the file and run again") from error
    return states


def _stored_as(precision: Precision, states: npt.NDArray[np.float32], name: str) -> States:
    with np.errstate(over="ignore"):
        stored = states.astype(precision, copy=False)
    if not np.isfinite(stored).all():
        layer = int(np.argwhere(~np.isfinite(stored))[0][0])
        remedy = "store them as float32" if np.isfinite(states).all() else "load the model with dtype='float32'"
        raise ScoringError(
            f"model {name!r}: a hidden state of layer {layer} is NaN, infinite or too large for {precision}; {remedy}"
        )
    return stored


def _computed(texts: Sequence[str], where: Sequence[str], model: LoadedModel) -> npt.NDArray[np.float32]:
    """Return the states, shape (layers, texts, hidden), float32."""
    inputs = _inputs(texts, where, model)
    done: list[tuple[list[int], npt.NDArray[np.float32]]] = []
    with scoring_mode(model.model):
        for chosen in _alike(inputs, model):
            done += in_batches(
                sorted(chosen, key=lambda i: (len(inputs[i].ids), inputs[i].ids, i)),
                width=lambda i: len(inputs[i].ids),
                budget_tokens=default_budget(input_device(model.model)),
                compute=lambda batch: (batch, _batch_states([inputs[i] for i in batch], model)),
            )
    n_layers, _, n_hidden = done[0][1].shape
    found = np.empty((n_layers, len(texts), n_hidden), dtype=np.float32)
    for rows, states in done:
        found[:, rows] = states
    return found


def _inputs(texts: Sequence[str], where: Sequence[str], model: LoadedModel) -> list[_Input]:
    if isinstance(model, CausalScorer):
        inputs = [_Input(ids=tuple(ids), last=len(ids) - 1) for ids in model.prompt_ids(texts)]
    else:
        with left_as_it_was(model.tokenizer):
            encoding = model.tokenizer(
                list(texts), return_special_tokens_mask=True, split_special_tokens=True, verbose=False
            )
        inputs = [
            _Input(ids=tuple(ids), last=max((i for i, around in enumerate(special) if not around), default=-1))
            for ids, special in zip(encoding["input_ids"], encoding["special_tokens_mask"], strict=True)
        ]
    longest = model.info.max_length
    for made, place in zip(inputs, where, strict=True):
        if made.last < 0:
            raise ScoringError(f"{place}: the text has no token; expected at least one")
        if longest is not None and made.last + 1 > longest:
            raise ScoringError(
                f"{place}: {made.last + 1} tokens, but {model.info.name} takes {longest}; shorten the item, or use a "
                "model with a longer context"
            )
    return inputs


def _alike(inputs: Sequence[_Input], model: LoadedModel) -> Iterator[list[int]]:
    """Yield texts that may share a forward pass: long ones can switch a model's rotary embeddings (LongRoPE)."""
    window = packing_window(model.model.config) if isinstance(model, CausalScorer) else np.inf
    parts: dict[bool, list[int]] = defaultdict(list)
    for i, made in enumerate(inputs):
        parts[len(made.ids) > window].append(i)
    yield from parts.values()


def _batch_states(inputs: Sequence[_Input], model: LoadedModel) -> npt.NDArray[np.float32]:
    """Return the states after one forward pass, padded on the right, shape (layers, inputs, hidden)."""
    network: Any = model.model
    pad_id = getattr(model.tokenizer, "pad_token_id", None)
    ids, mask = padded(
        [made.ids for made in inputs], pad_id=pad_id if isinstance(pad_id, int) else 0, device=input_device(network)
    )
    if network.config.is_encoder_decoder:
        output = network.get_encoder()(input_ids=ids, attention_mask=mask, output_hidden_states=True)
    elif isinstance(model, CausalScorer):
        output = network.base_model(input_ids=ids, attention_mask=mask, use_cache=False, output_hidden_states=True)
    else:
        output = network.base_model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
    last = torch.tensor([made.last for made in inputs])
    rows = torch.arange(len(inputs))
    kept = [layer[rows.to(layer.device), last.to(layer.device)].float().cpu() for layer in output.hidden_states]
    states: npt.NDArray[np.float32] = torch.stack(kept).numpy()
    return states
