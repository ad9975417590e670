"""Hidden states: texts in, the state of the last token at every layer out, on disk. He et al. 2025, section 4.1.

The last token is the last of the text itself: causal models read it after one BOS; masked models and encoders read the
whole text, and special tokens that close it ([SEP], </s>) are not the last token. Layer 0 is the embedding, layer i the
output of block i, the last one after the final normalisation. Each distinct text is read once. States are stored as
they are computed, so that a run that was stopped goes on there; a file ends with a hash of its states, and one that was
damaged since is set aside and computed again.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from pairbank.errors import ScoringError
from pairbank.files import cache_dir, replaced_atomically, sha256_of_text
from pairbank.scoring.api.model import Progress, Scorer, StateReader
from pairbank.scoring.versions import HIDDEN_STATES_VERSION

logger = logging.getLogger(__name__)
Precision = Literal["float32", "float16"]
SEAL_BYTES = 32
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
        result = np.empty((len(texts), self.n_hidden), dtype=np.float32)
        shard, row = np.divmod(self.place[texts], SHARD_TEXTS)
        for number in np.unique(shard):
            current = shard == number
            result[current] = np.load(self.shards[number], mmap_mode="r")[layer][row[current]]
        return result


def last_token_states(
    texts: Sequence[str],
    model: Scorer,
    *,
    where: Sequence[str] | None = None,
    precision: Precision = "float32",
    progress: Progress | None = None,
) -> HiddenStates:
    reader = _reader(model)
    named = dict(zip(texts, where or [repr(text) for text in texts], strict=True))
    distinct = list(dict.fromkeys(texts))
    number = {text: i for i, text in enumerate(distinct)}
    if not distinct:
        raise ScoringError("no texts to read; expected at least one")
    shards = []
    for start in range(0, len(distinct), SHARD_TEXTS):
        part = distinct[start : start + SHARD_TEXTS]
        shards.append(_shard(part, [named[text] for text in part], reader, precision))
        if progress is not None:
            progress(len(part))
    n_layers, _, n_hidden = np.load(shards[0], mmap_mode="r").shape
    return HiddenStates(
        shards=tuple(shards),
        place=np.array([number[text] for text in texts], dtype=np.int64),
        n_layers=n_layers,
        n_hidden=n_hidden,
    )


def state_shape(text: str, model: Scorer) -> tuple[int, int]:
    """Return how many layers a model has, the embedding among them, and how many numbers a state; reads one text."""
    reader = _reader(model)
    n_layers, _, n_hidden = _computed([text], [repr(text)], reader).shape
    return n_layers, n_hidden


def _reader(model: Scorer) -> StateReader:
    if not isinstance(model, StateReader):
        raise ScoringError(
            f"{model.info.name} ({model.info.backend}) has no hidden states to read; expected a model that runs here: "
            "load it with pairbank.load_model"
        )
    return model


def _shard(texts: Sequence[str], where: Sequence[str], model: StateReader, precision: Precision) -> Path:
    """Return the file of these texts' states, made now if it is not there, or not as it was written."""
    key = sha256_of_text(model.info.key, precision, f"hidden states {HIDDEN_STATES_VERSION}", *texts)
    path = cache_dir() / "states" / key[:2] / f"{key}.states"
    if path.is_file():
        problem = _damage(path)
        if problem is None:
            return path
        aside = path.with_suffix(".corrupt")
        with contextlib.suppress(FileNotFoundError):  # another run was faster
            path.replace(aside)
        logger.warning(
            "stored states %s are damaged (%s): set aside as %s, and computed again", path, problem, aside.name
        )
    computed = _computed(texts, where, model)
    with np.errstate(over="ignore"):
        states: States = np.ascontiguousarray(computed.astype(precision, copy=False))
    if not np.isfinite(states).all():
        layer = int(np.argwhere(~np.isfinite(states))[0][0])
        remedy = "store them as float32" if np.isfinite(computed).all() else "load the model with dtype='float32'"
        raise ScoringError(
            f"model {model.info.name!r}: a hidden state of layer {layer} is NaN, infinite or too large for "
            f"{precision}; {remedy}"
        )
    with replaced_atomically(path) as temporary, temporary.open("wb") as handle:
        np.save(handle, states)
        handle.write(_seal(states))
        handle.flush()
        os.fsync(handle.fileno())
    return path


def _seal(states: States) -> bytes:
    """Return what stands behind the states of a file, where numpy does not look."""
    return hashlib.blake2b(states.data, digest_size=SEAL_BYTES).digest()


def _damage(path: Path) -> str | None:
    try:
        states: States = np.load(path, mmap_mode="r")
        with path.open("rb") as handle:
            handle.seek(-SEAL_BYTES, os.SEEK_END)
            result = handle.read()
    except PermissionError as error:
        raise ScoringError(
            f"stored states {path} cannot be read ({error.strerror}); check who may read them"
        ) from error
    except (ValueError, OSError, EOFError) as error:
        return " ".join(str(error).split())[:200]
    return None if result == _seal(states) else "its states are not those that were written"


def _computed(texts: Sequence[str], where: Sequence[str], model: StateReader) -> npt.NDArray[np.float32]:
    """Return the states, shape (layers, texts, hidden)."""
    inputs = model.text_inputs(texts)
    longest = model.info.max_length
    for created, place in zip(inputs, where, strict=True):
        if created.last < 0:
            raise ScoringError(f"{place}: the text has no token; expected at least one")
        if longest is not None and created.last + 1 > longest:
            raise ScoringError(
                f"{place}: {created.last + 1} tokens, but {model.info.name} takes {longest}; shorten the item, or use "
                "a model with a longer context"
            )
    return model.last_states(inputs)
