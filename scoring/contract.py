"""The contract of a method: an item to requests, and the requests' log-probabilities to the item's new columns.

Every method `m` gives `m_good`, `m_bad` and `m_delta` (null where it has one side only), and `m_flags`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from pairbank.scoring.backend import Scorer
from pairbank.scoring.requests import EncodedRequest, Request

IDENTICAL_TOKENS = "identical_tokens"
"""Flag: both sides have the same token ids; their difference is 0 by construction."""
OVER_LENGTH = "over_length"
"""Flag: longer than the model's context; the scores are NaN, as the user asked."""

ColumnKind = Literal["float64", "int32", "list<float64>", "list<string>"]
Row = Mapping[str, Any]
TokenScores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A request after scoring; `logprobs_nats` is None where it was too long for the model."""

    request: EncodedRequest
    logprobs_nats: TokenScores | None

    @property
    def total_nats(self) -> float:
        """Sum over the scored tokens, in float64; NaN where there is none."""
        return float("nan") if self.logprobs_nats is None else float(self.logprobs_nats.sum())

    @property
    def tokens_nats(self) -> list[float] | None:
        """The scored tokens one by one."""
        return None if self.logprobs_nats is None else self.logprobs_nats.tolist()


class Method(Protocol):
    """One way of getting a preference out of a model."""

    @property
    def name(self) -> str:
        """The prefix of its columns."""

    @property
    def definition(self) -> dict[str, Any]:
        """What the signature records: paper, hash, and the layout of the log-probabilities."""

    @property
    def columns(self) -> dict[str, ColumnKind]:
        """Its columns."""

    def applies_to(self, row: Row) -> bool:
        """Return whether the method can score an item."""

    def requests(self, row: Row, scorer: Scorer) -> list[Request]:
        """Return what is asked of the model for one item."""

    def values(self, answers: Sequence[Answered], row: Row) -> dict[str, Any]:
        """Return the item's columns from the answers to its requests."""


def flags_of(answers: Sequence[Answered]) -> list[str]:
    """Return the flags of all answers, each once."""
    flags = [flag for answer in answers for flag in answer.request.flags]
    flags += [OVER_LENGTH for answer in answers if answer.logprobs_nats is None]
    return list(dict.fromkeys(flags))
