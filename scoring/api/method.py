"""The contract of a method: an item to requests, and the requests' log-probabilities to the item's new columns.

Every method `m` gives `m_good`, `m_bad` and `m_delta` (null where it has one side only), and `m_flags`. A run, its
store and the preview ask nothing of a method but what stands here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from pairbank.arrays import FloatArray, IntArray
from pairbank.files import sha256_of_text
from pairbank.scoring.api.layout import ColumnKind, ScoreColumns
from pairbank.scoring.api.model import Ask, Continuation, Scorer
from pairbank.scoring.api.names import IDENTICAL_TOKENS, OVER_LENGTH
from pairbank.scoring.api.requests import EncodedRequest, Request

Row = Mapping[str, Any]
SHARD_ITEMS_DIRECT = 2_048
SHARD_ITEMS_PROMPTED = 128
"""Items scored at once and stored as one file, the most that a kill can lose; prompts are many times the work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A request after scoring; `logprobs_nats` is None where it was too long for the model."""

    request: EncodedRequest
    logprobs_nats: FloatArray | None
    ranks: IntArray | None = None
    """Of the scored tokens, 1 for the most probable one of the vocabulary; None where they were not read."""

    @property
    def total_nats(self) -> float:
        """Sum over the scored tokens, in float64; NaN where there is none."""
        return float("nan") if self.logprobs_nats is None else float(self.logprobs_nats.sum())

    @property
    def tokens_nats(self) -> list[float] | None:
        return None if self.logprobs_nats is None else self.logprobs_nats.tolist()


def answered(request: EncodedRequest, values: FloatArray) -> Answered:
    ranks = values[request.n_scored :].astype(np.int64) if request.ranks else None
    return Answered(request=request, logprobs_nats=values[: request.n_scored], ranks=ranks)


class Columned(Protocol):
    """What has columns in a scored table: a method, run here or imported."""

    @property
    def name(self) -> str:
        """The prefix of its columns."""

    @property
    def definition(self) -> dict[str, Any]:
        """What the signature records: paper, hash, and the layout of the log-probabilities."""

    @property
    def columns(self) -> dict[str, ColumnKind]:
        """Its columns and their types."""


class Method(Columned, Protocol):
    """One way of getting a preference out of a model."""

    @property
    def key_columns(self) -> Sequence[str]:
        """Columns of an item, beside its texts, that decide what is asked: stored scores are kept under them too."""

    @property
    def of_model(self) -> Mapping[str, Any]:
        """What of its numbers is the model's (JSON-ready, for the model's signature): vocabulary, unigram counts."""

    @property
    def shard_items(self) -> int:
        """Items scored at once and stored as one file; methods of one number are scored together."""

    def applies_to(self, row: Row) -> bool:
        """Return whether the method can score an item."""

    def unasked(self, row: Row) -> dict[str, Any]:
        """Return the columns of an item that nothing is asked of: nulls, and flags where it lacks something."""

    def reader(self, scorer: Scorer) -> Scorer:
        """Return what answers the requests: the scorer, or one around it that can answer more."""

    def requests(self, row: Row, scorer: Scorer) -> list[Request]:
        """Return what is asked of the model for one item."""

    def values(self, answers: Sequence[Answered], row: Row) -> dict[str, Any]:
        """Return the item's columns from the answers to its requests."""


@runtime_checkable
class WritingMethod(Method, Protocol):
    """A method whose answers the model writes, in the place of requests."""

    @property
    def max_new_tokens(self) -> int:
        """Most tokens of an answer."""

    @property
    def sought(self) -> str:
        """What is looked for in the texts, in words."""

    def asks(self, row: Row, scorer: Scorer) -> list[Ask]:
        """Return what the model is to go on from, for one item."""

    def written(self, texts: Sequence[Continuation], row: Row) -> dict[str, Any]:
        """Return the item's columns from what the model wrote."""


class OfSides:
    """What methods that score the sides as they stand have in common."""

    __slots__ = ()
    key_columns: ClassVar[tuple[str, ...]] = ()
    shard_items: ClassVar[int] = SHARD_ITEMS_DIRECT

    @property
    def columns(self: Columned) -> dict[str, ColumnKind]:
        return side_columns(self.name)

    def defined(
        self: Columned, label: str, *, paper: str, cites: Sequence[str], formula: str, version: str = "1"
    ) -> dict[str, Any]:
        """Return the definition of a method that its formula describes."""
        return {
            "paper": paper,
            "cites": list(cites),
            "formula": formula,
            "sha256": sha256_of_text(self.name, formula, version),
            "layout": direct_layout(self.name, label),
        }

    def unasked(self: Method, _row: Row) -> dict[str, Any]:
        return dict.fromkeys(self.columns)

    @property
    def of_model(self) -> Mapping[str, Any]:
        """Nothing: the numbers of most methods are the model's through its log-probabilities alone."""
        return {}

    def applies_to(self, _row: Row) -> bool:
        return True

    def reader(self, scorer: Scorer) -> Scorer:
        return scorer


def flags_of(answers: Sequence[Answered]) -> list[str]:
    flags = [flag for answer in answers for flag in answer.request.flags]
    flags += [OVER_LENGTH for answer in answers if answer.logprobs_nats is None]
    return list(dict.fromkeys(flags))


def direct_layout(method: str, label: str = "") -> dict[str, Any]:
    layout = {"method": method, "kind": "direct", "presentations": [], "options": [], "correct": []}
    return layout | ({"label": label} if label else {})


def side_columns(method: str) -> dict[str, ColumnKind]:
    c = ScoreColumns(method)
    return c.kinds(c.good, c.bad, c.delta, c.good_n, c.bad_n, c.flags)


def side_values(
    method: str, scores: Sequence[float], answers: Sequence[Answered], *, more_flags: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the columns' values of one item: the scores of its good side, and of the bad one where there is one."""
    c = ScoreColumns(method)
    good, bad = scores[0], scores[1] if len(scores) > 1 else None
    flags = flags_of(answers)
    if len(answers) > 1 and answers[0].request.ids == answers[1].request.ids:
        flags.append(IDENTICAL_TOKENS)
    return {
        c.good: good,
        c.bad: bad,
        c.delta: None if bad is None else good - bad,
        c.good_n: answers[0].request.n_scored,
        c.bad_n: None if bad is None else answers[1].request.n_scored,
        c.flags: list(dict.fromkeys([*flags, *more_flags])),
    }
