"""What tells a served model from another one of the same name: its answers to fixed questions.

Of a completions server they are log-probabilities (`Probes`), of a chat API written answers and first tokens.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pairbank.arrays import FloatArray
from pairbank.files import cache_dir, cache_json, sha256_of_text
from pairbank.scoring.api.requests import EncodedRequest

T = TypeVar("T")
logger = logging.getLogger(__name__)
LEAST_COMPARED_NATS = math.log(0.02)
"""First tokens that are less probable move by chance."""
MOST_MOVED_NATS = 0.5
"""Of a first token's log-probability; APIs batch and route questions as they come."""
LEAST_ALIKE = 0.5
"""Share of the greedy answers that have to be the same, of those that were the same twice at load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probes:
    requests: tuple[EncodedRequest, ...]
    nats: FloatArray
    """Of all their tokens, one request after the other."""
    allowed_nats: float
    """What batching may move one of them by."""


def moved_nats(nats: FloatArray, other: FloatArray) -> float:
    """Return the largest difference; infinite where the numbers are not even as many."""
    return float(np.abs(nats - other).max()) if nats.shape == other.shape else float("inf")


def identity_of(probes: Probes, described: str) -> str:
    """Return the hash of a served model: that of an earlier load with the same answers, or a new one, recorded."""
    folder = cache_dir() / "served" / sha256_of_text(described)[:32]
    recorded = dict(
        _recorded(folder, lambda record: (np.array(record["nats"], np.float64), float(record["allowed_nats"])))
    )
    known = sorted(
        (moved_nats(probes.nats, nats), name)
        for name, (nats, allowed) in recorded.items()
        if moved_nats(probes.nats, nats) <= max(allowed, probes.allowed_nats)
    )
    if known:
        return known[0][1]
    hashes = (
        sha256_of_text(described, *(f"{value + 0.0:.{n_decimals}f}" for value in np.round(probes.nats, n_decimals)))
        for n_decimals in (1, 2, 3, 6, 12)
    )
    name = next(result for result in hashes if result not in recorded)
    cache_json(folder / f"{name}.json", {"allowed_nats": probes.allowed_nats, "nats": probes.nats.tolist()})
    return name


def chat_identity_of(answers: ChatAnswers, described: str) -> str:
    """Return the hash of a model behind a chat API, as `identity_of` does of one whose log-probabilities are known."""
    folder = cache_dir() / "served" / sha256_of_text("chat", described)[:32]

    def difference(record: Any) -> str | None:  # noqa: ANN401 - JSON is any
        known = ChatAnswers(model=record["model"], texts=tuple(record["texts"]), tops=tuple(record["tops"]))
        return known.difference(answers)

    for name, problem in _recorded(folder, difference):
        if problem is None:
            return name
    table = asdict(answers)
    name = sha256_of_text(described, json.dumps(table, ensure_ascii=False, sort_keys=True))
    cache_json(folder / f"{name}.json", table)
    return name


def _recorded(folder: Path, read: Callable[[Any], T]) -> Iterator[tuple[str, T]]:
    for path in sorted(folder.glob("*.json")):
        try:
            result = read(json.loads(path.read_bytes()))
        except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
            logger.warning("%s: not readable; delete it", path)
        else:
            yield path.stem, result


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatAnswers:
    """What tells a model behind a chat API from another one of the same name."""

    model: str
    """What its answers call it."""
    texts: tuple[str, ...]
    """A greedy answer to each question; empty where it had none, or another one each time."""
    tops: tuple[dict[str, float], ...]
    """The most probable first tokens of each answer, with log-probabilities in nats; none where none are told."""

    def difference(self, other: ChatAnswers) -> str | None:
        if self.model != other.model:
            return f"its answers are by {other.model!r}, and were by {self.model!r}"
        of_questions = (_moved_nats(a, b) for a, b in zip(self.tops, other.tops, strict=True) if a and b)
        tops = [nats for nats in of_questions if nats is not None]
        moved = max(tops, default=0.0)
        if moved > MOST_MOVED_NATS:
            return f"log-probabilities of its first tokens moved by {moved:.2f} nats (at most {MOST_MOVED_NATS:.2f})"
        texts = [a == b for a, b in zip(self.texts, other.texts, strict=True) if a and b]
        if not tops and texts and sum(texts) < LEAST_ALIKE * len(texts):
            return f"{len(texts) - sum(texts)} of {len(texts)} greedy answers to fixed questions are others"
        return None


def _moved_nats(tops: Mapping[str, float], other: Mapping[str, float]) -> float | None:
    """Return the largest difference of a token that is likely by one of them, or None where none is."""
    likely = {token for table in (tops, other) for token, nats in table.items() if nats > LEAST_COMPARED_NATS}
    # what a token that is not told has at most
    least = min(*tops.values(), *other.values())
    return max((abs(tops.get(token, least) - other.get(token, least)) for token in likely), default=None)
