"""Which model a server runs: its answers to fixed questions, compared with those of earlier loads.

In: log-probabilities of fixed texts (`Probes`). Out: a hash that stays the same while the answers do, within what
batching moves, and becomes part of the key of stored scores. A hash of rounded numbers alone would change whenever one
of them lies at the edge of two, so the answers are recorded in the cache, and later ones are compared with them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pairbank.arrays import FloatArray
from pairbank.files import cache_dir, sha256_of_text, write_json
from pairbank.scoring.api.requests import EncodedRequest

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probes:
    """Fixed questions, and the answers at load."""

    requests: tuple[EncodedRequest, ...]
    nats: FloatArray
    """Of all their tokens, one request after the other."""
    allowed_nats: float
    """What batching may move one of them by."""


def moved_nats(one: FloatArray, other: FloatArray) -> float:
    """Return the largest difference; infinite where the numbers are not even as many."""
    return float(np.abs(one - other).max()) if one.shape == other.shape else float("inf")


def identity_of(probes: Probes, described: str) -> str:
    """Return the hash of a served model: that of an earlier load with the same answers, or a new one, recorded.

    Args:
        probes: what it answers.
        described: what the server and the user say of it; only equal descriptions are compared.
    """
    folder = cache_dir() / "served" / sha256_of_text(described)[:32]
    known = sorted(
        (moved_nats(probes.nats, nats), name)
        for name, nats, allowed in _recorded(folder)
        if moved_nats(probes.nats, nats) <= max(allowed, probes.allowed_nats)
    )
    if known:
        return known[0][1]
    taken = {name for name, _, _ in _recorded(folder)}
    hashes = (
        sha256_of_text(described, *(f"{value + 0.0:.{n_decimals}f}" for value in np.round(probes.nats, n_decimals)))
        for n_decimals in (1, 2, 3, 6, 12)
    )
    name = next(found for found in hashes if found not in taken)
    try:
        write_json(folder / f"{name}.json", {"allowed_nats": probes.allowed_nats, "nats": probes.nats.tolist()})
    except OSError as error:
        logger.warning("the answers that identify a served model are not recorded (%s)", error)
    return name


def _recorded(folder: Path) -> Iterator[tuple[str, FloatArray, float]]:
    """Yield name, answers and allowed difference of each record that can be read."""
    for path in sorted(folder.glob("*.json")):
        try:
            record = json.loads(path.read_bytes())
            yield path.stem, np.array(record["nats"], dtype=np.float64), float(record["allowed_nats"])
        except (OSError, ValueError, RecursionError, KeyError, TypeError):
            logger.warning("%s: not readable; delete it", path)
