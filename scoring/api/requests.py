"""Requests: what every method asks of a model, log P(target | context), and their token sequences.

The boundary rule (DESIGN.md, correctness rule 2): context and target are encoded once, as one string, and a
token belongs to the target iff it covers a target character. Spaces at the join belong to the target.
"""

from __future__ import annotations

import bisect
import itertools
import operator
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from pairbank.arrays import FloatArray
from pairbank.errors import ScoringError
from pairbank.scoring.api.names import BOUNDARY_MERGE, FIRST_TOKEN_UNSCORED

_BITS = 6
N_PLACES = 1 << _BITS
"""That the passes of a unit are spread over."""
_PLACES: tuple[int, ...] = tuple(int(f"{number:0{_BITS}b}"[::-1], 2) for number in range(N_PLACES))
"""Of each number, its bits backwards: any range of places has its part of few passes as of many, and of those that come
first (the long ones) as of those that come last."""
Edge = Literal["before", "after"]
EDGES: tuple[Edge, ...] = ("before", "after")


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Some of the places."""

    first: int = 0
    stop: int = N_PLACES
    """One past the last."""

    @property
    def n_places(self) -> int:
        return self.stop - self.first

    @property
    def is_whole(self) -> bool:
        return (self.first, self.stop) == (0, N_PLACES)

    def has(self, number: int) -> bool:
        """Return whether the pass of this number, from 0, is of the share."""
        return self.first <= _PLACES[number % N_PLACES] < self.stop


WHOLE = Share()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Ask for log P(target | context). `where` names the item in errors."""

    context: str
    target: str
    chat: bool = False
    """The context was rendered with a chat template, which brings its own BOS."""
    where: str = field(default="", compare=False)
    ranks: bool = False
    """Ask for the rank of each scored token in the vocabulary too; what cannot say it answers without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeRequest(Request):
    """Ask for the log-probability that a word can begin just before, or has ended just after, the target."""

    edge: Edge


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearProbe:
    """A linear function of a text's last token's hidden state at one layer (0 is the embedding); gives log-odds."""

    layer: int
    weights: FloatArray
    """(hidden,)."""
    bias: float

    def log_odds(self, states: npt.NDArray[np.float32]) -> FloatArray:
        result: FloatArray = states.astype(np.float64) @ self.weights + self.bias
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRequest(Request):
    """Ask what a probe says of the last token of context and target, in the place of a log-probability."""

    probe: LinearProbe


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedRequest:
    """Token ids of context and target, BOS first; tokens from `start` on are scored, each given those before."""

    ids: tuple[int, ...]
    start: int
    flags: tuple[str, ...] = ()
    offsets: tuple[int, ...] | None = None
    """Of the scored tokens, in characters of the target (`token_offsets`); None where labels are no text."""
    ranks: bool = False
    """The answer has the log-probability of each scored token, and then the rank of each."""

    @property
    def n_scored(self) -> int:
        return len(self.ids) - self.start

    @property
    def n_values(self) -> int:
        return self.n_scored * (2 if self.ranks else 1)


STATE = -5
"""In the place of the token that is read, where the hidden state of those before it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedProbe(EncodedRequest):
    """Token ids of the text up to its last token, and `STATE`; its one value is what the probe says."""

    probe: LinearProbe
    suffix: tuple[int, ...] = ()
    """Special tokens that close the input of a model that reads both sides."""


def encoded(
    ids: Sequence[int],
    offsets: Sequence[tuple[int, int]],
    request: Request,
    *,
    bos_id: int | None,
    template_ids: Container[int] = (),
) -> EncodedRequest:
    """Place the target's tokens among the tokens of `request.context + request.target`.

    Plain spaces that end the context count as target. With no context every token is target, also one that covers no
    character (the space that some tokenizers put in front). The special tokens `template_ids` take in the spaces behind
    them; those are not scored for a space.
    """
    boundary = len(request.context.rstrip(" "))
    first = next((i for i, (_, end) in enumerate(offsets) if end > boundary), len(ids)) if boundary else 0
    if boundary and first < len(ids) and offsets[first][0] < boundary and ids[first] in template_ids:
        first += 1
    flags = []
    if boundary and first < len(ids):
        start = offsets[first][0]  # of the first scored token, which may not be where the target begins
        if start < boundary or (request.context + request.target)[boundary:start].strip():
            flags.append(BOUNDARY_MERGE)
    if bos_id is not None:
        ids, first = (bos_id, *ids), first + 1
    if first == 0 and ids:
        flags.append(FIRST_TOKEN_UNSCORED)
        first = 1
    if first >= len(ids):
        raise ScoringError(
            f"{request.where or 'request'}: target {request.target!r} has no token to score; "
            "expected at least one token after the first (give the text a BOS: bos='auto')"
        )
    places = token_offsets(offsets, first=first - (bos_id is not None))
    base = len(request.context)
    return EncodedRequest(
        ids=tuple(ids), start=first, flags=tuple(flags), offsets=tuple([max(0, place - base) for place in places])
    )


def token_offsets(offsets: Sequence[tuple[int, int]], *, first: int = 0) -> list[int]:
    """Return where tokens from `first` on begin and end: one number more than tokens, none below the one before.

    What stands between two tokens (white space that some tokenizers leave out) belongs to the second one. Of the bytes
    of one character, which are tokens of their own, the first one has it; `token_spans` gives it to all of them.
    """
    results = [offsets[first - 1][1] if first else 0]
    for place, (start, end) in enumerate(offsets[first:], first + 1):
        # the space that SentencePiece puts before a text has the place of the first character
        is_prefix = start == 0 and place < len(offsets) and offsets[place][0] == 0 and offsets[place][1] > end
        results.append(max(results[-1], 0 if is_prefix else end))
    return results


def token_spans(offsets: Sequence[int]) -> list[tuple[int, int]]:
    """Return first character and end of each token; an empty one shares the characters of the token before it."""
    results: list[tuple[int, int]] = []
    for start, end in itertools.pairwise(offsets):
        results.append((start, end) if end > start or not results else results[-1])
    return results


def owners_of(text: str, spans: Sequence[tuple[int, int]], offsets: Sequence[int]) -> list[int]:
    """Return which span (word or region) each token belongs to: that of its first character that is no white space.

    What stands before a span belongs to it; what stands behind the last one, to the last one.

    >>> owners_of("The dog.", [(0, 3), (4, 7), (7, 8)], [0, 3, 5, 7, 8])
    [0, 1, 1, 2]
    """
    last, result = len(spans) - 1, []
    for start, end in token_spans(offsets):
        black = next((place for place in range(start, end) if not text[place].isspace()), max(start, end - 1))
        result.append(min(bisect.bisect_right(spans, black, key=operator.itemgetter(1)), last))
    return result
