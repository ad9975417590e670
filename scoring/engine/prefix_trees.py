"""The planner: token sequences in, packs of prefix trees out. Pure; it knows no model.

Sequences are sorted, so that those with a common prefix are neighbours; a pack is a run of neighbours whose distinct
prefixes (tree nodes) fit a token budget. A node is computed once, whatever reads it. A long prefix of many packs (an
instruction, worked examples) is no part of them: it is their shared prefix, which is computed once for all.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import DynamicCache

from pairbank.arrays import IntArray
from pairbank.scoring.api.requests import EncodedRequest

WINDOW_TOKENS = 2_000_000
"""Cells of the matrix that requests are laid out in, as many as fit at a time; bounds the planner's memory."""
MIN_SHARED_TOKENS = 64
"""Nodes that a shared prefix has to save: its own forward pass costs about as much as these."""
PREFIX_SHARE = 4
"""A shared prefix's token costs a row of a pass, in memory, about this part of what a node costs."""
LEAST_FILL = 0.5
"""A pack may end when this share of the budget is used, where few nodes of the next have to be computed again."""
PACKS_AT_ONCE = 64


class SharedPrefix(DynamicCache):
    """Keys and values of one sequence; every row of a pass sees them before its own."""

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *_args: object, **_kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the prefix's and a pass's keys and values (row, head, node, width), and keep nothing of the pass."""
        layer: Any = self.layers[layer_idx]
        n_rows = len(key_states)
        keys, values = layer.keys.expand(n_rows, -1, -1, -1), layer.values.expand(n_rows, -1, -1, -1)
        return torch.cat([keys, key_states], dim=-2), torch.cat([values, value_states], dim=-2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """A forest of prefix trees in depth-first order, for one row of a forward pass.

    Node j is an ancestor of node i (or i itself) iff j <= i < ends[j]; that is the attention mask. The shared prefix is
    an ancestor of all nodes.
    """

    shared_prefix: IntArray
    """(n_shared,) token ids of the prefix that all sequences of this and other packs have; empty if there is none."""
    tokens: IntArray
    """(n_nodes,) token ids."""
    depths: IntArray
    """(n_nodes,) position of each node in its sequence; the shared prefix's positions come before."""
    ends: IntArray
    """(n_nodes,) one past the last node of each subtree."""
    read_nodes: IntArray
    """(n_reads,) the node whose next-token distribution is read."""
    read_tokens: IntArray
    """(n_reads,) the token whose log-probability is read there."""
    read_requests: IntArray
    """(n_reads,) the request that each read belongs to; a request's reads stand together, in token order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sorted:
    """Requests in the order of their input sequences (all tokens but the last), as a matrix."""

    index: IntArray
    """(n,) which request each row is."""
    tokens: IntArray
    """(n, longest) input tokens, then -1."""
    lengths: IntArray
    """(n,) input tokens."""
    starts: IntArray
    """(n,) the node of the first read."""
    last: IntArray
    """(n,) the token read at the last node."""
    shared: IntArray
    """(n,) tokens in common with the row before; 0 in the first."""


def together(packs: Iterator[Pack], size: int) -> Iterator[list[Pack]]:
    """Yield packs with the same shared prefix together while their padded total keeps to `size` tokens."""
    batch: list[Pack] = []
    for pack in packs:
        longest = max(len(p.tokens) for p in (*batch, pack))
        # each row of a pass holds the keys and values of the shared prefix once more, in one layer at a time
        n_tokens = (longest + len(pack.shared_prefix) // PREFIX_SHARE) * (len(batch) + 1)
        if batch and (n_tokens > size or pack.shared_prefix is not batch[0].shared_prefix):
            yield batch
            batch = []
        batch.append(pack)
    if batch:
        yield batch


def plan(
    requests: Sequence[EncodedRequest], *, budget_tokens: int, min_shared_tokens: float = MIN_SHARED_TOKENS
) -> Iterator[Pack]:
    """Yield packs of at most `budget_tokens` nodes that hold every read of every request exactly once.

    A sequence longer than the budget makes a pack of its own. Packs with the same shared prefix follow each other, the
    largest first, so that neighbours are of like size. Which packs come out depends on the set of requests, not on
    their order.
    """
    order = _order(requests)
    first = 0
    while first < len(order):
        rows = _laid_out(requests, order[first : first + _window(requests, order[first:])])
        first += len(rows.index)
        for n_shared, chosen in _by_shared_prefix(rows, budget_tokens, min_shared_tokens):
            shared_prefix = rows.tokens[chosen[0], :n_shared]
            part = _without_shared_prefix(rows, chosen, n_shared)
            stops = [0, *_stops(part, budget_tokens)]
            some = [stops[n : n + PACKS_AT_ONCE + 1] for n in range(0, len(stops) - 1, PACKS_AT_ONCE)]
            packs = [pack for few in some for pack in _packs(part, few, shared_prefix)]
            yield from sorted(packs, key=lambda pack: -len(pack.tokens))


def _order(requests: Sequence[EncodedRequest]) -> list[int]:
    # Ids and the place in the input decide; sorting tuples compares token by token, in C.
    return sorted(range(len(requests)), key=lambda i: (requests[i].ids[:-1], requests[i].ids[-1]))


def _window(requests: Sequence[EncodedRequest], order: Sequence[int]) -> int:
    longest = np.maximum.accumulate([len(requests[i].ids) for i in order[:WINDOW_TOKENS]])
    return max(1, int(np.searchsorted(longest * np.arange(1, len(longest) + 1), WINDOW_TOKENS, side="right")))


def _laid_out(requests: Sequence[EncodedRequest], order: Sequence[int]) -> _Sorted:
    chosen = [requests[i] for i in order]
    lengths = np.array([len(request.ids) - 1 for request in chosen], dtype=np.int64)
    tokens = np.full((len(chosen), int(lengths.max())), -1, dtype=np.int64)
    tokens[np.arange(tokens.shape[1]) < lengths[:, None]] = np.concatenate(
        [np.array(request.ids[:-1], dtype=np.int64) for request in chosen]
    )
    same = np.logical_and.accumulate((tokens[1:] == tokens[:-1]) & (tokens[1:] >= 0), axis=1)
    return _Sorted(
        index=np.array(order, dtype=np.int64),
        tokens=tokens,
        lengths=lengths,
        starts=np.array([request.start - 1 for request in chosen], dtype=np.int64),
        last=np.array([request.ids[-1] for request in chosen], dtype=np.int64),
        shared=np.concatenate([[0], same.sum(axis=1)]),
    )


def _by_shared_prefix(rows: _Sorted, budget_tokens: int, worth_tokens: float) -> Iterator[tuple[int, IntArray]]:
    """Yield (tokens of a shared prefix, rows that have it): each row has the longest that is worth its own pass.

    From the whole window down: rows fall apart where they share no more than all of them do; a part that would save
    enough nodes with its own, longer prefix gets it as shared prefix, the rest stay with what they had.
    """
    n_new = np.concatenate([[0], np.cumsum(rows.lengths - rows.shared)])
    shared_prefixes, owner = [0], np.zeros(len(rows.index), dtype=np.int64)
    parts = [(0, len(rows.index), 0)]
    while parts:
        first, stop, selected = parts.pop()
        n_packs = int(n_new[stop] - n_new[first]) / budget_tokens
        if n_packs < 2 or stop - first < 2:
            continue
        common = int(rows.shared[first + 1 : stop].min())
        # what is read at a node of the shared prefix would be lost
        shared_prefix = min(common, int(rows.starts[first:stop].min()))
        if (shared_prefix - shared_prefixes[selected]) * (n_packs - 1) >= worth_tokens:
            selected = len(shared_prefixes)
            shared_prefixes.append(shared_prefix)
            owner[first:stop] = selected
        cuts = first + 1 + np.flatnonzero(rows.shared[first + 1 : stop] == common)
        parts += [(a, b, selected) for a, b in itertools.pairwise([first, *cuts.tolist(), stop])]
    for which, n_shared in enumerate(shared_prefixes):
        if (chosen := np.flatnonzero(owner == which)).size:
            yield n_shared, chosen


def _without_shared_prefix(rows: _Sorted, chosen: IntArray, n_shared: int) -> _Sorted:
    """Return some rows, in order, and what follows their shared prefix."""
    # Two rows have in common what all those between them have.
    shared = np.minimum.reduceat(rows.shared, chosen[:-1] + 1) if len(chosen) > 1 else rows.shared[:0]
    if len(chosen) > 1:
        shared[-1] = rows.shared[chosen[-2] + 1 : chosen[-1] + 1].min()
    lengths = rows.lengths[chosen] - n_shared
    return _Sorted(
        index=rows.index[chosen],
        tokens=rows.tokens[chosen, n_shared : n_shared + int(lengths.max())],
        lengths=lengths,
        starts=rows.starts[chosen] - n_shared,
        last=rows.last[chosen],
        shared=np.concatenate([[0], shared - n_shared]),
    )


def _stops(rows: _Sorted, budget_tokens: int) -> Iterator[int]:
    """Yield the row that each pack ends before: the cut, in the budget, that leaves least to be computed again."""
    lengths, shared = rows.lengths.tolist(), rows.shared.tolist()
    first, n_nodes = 0, 0
    cuts: list[tuple[int, int]] = []  # (nodes shared across the cut, row behind it) of the pack in the making
    row = 0
    while row < len(lengths):
        new = lengths[row] - (shared[row] if row > first else 0)
        if row > first and new:
            if n_nodes >= LEAST_FILL * budget_tokens:
                cuts.append((shared[row], -row))
            if n_nodes + new > budget_tokens:
                first = row = -min(cuts, default=(0, -row))[1]
                yield row
                n_nodes, cuts = 0, []
                continue
        n_nodes += new
        row += 1
    yield len(lengths)


def _packs(rows: _Sorted, stops: Sequence[int], shared_prefix: IntArray) -> Iterator[Pack]:
    """Yield the packs that end before these rows; the first of `stops` is where the first pack begins."""
    of = slice(stops[0], stops[-1])
    begins = np.array(stops[:-1]) - stops[0]
    lengths, shared = rows.lengths[of], rows.shared[of].copy()
    tokens = rows.tokens[of, : int(lengths.max())]
    shared[begins] = 0
    depth = np.arange(tokens.shape[1])
    is_new = (depth >= shared[:, None]) & (depth < lengths[:, None])
    offsets = np.concatenate([[0], np.cumsum(is_new.sum(axis=1))])
    # The node at depth d of a row: its own if new there, else that of the nearest row before.
    nodes = np.where(is_new, offsets[:-1, None] + depth - shared[:, None], -1)
    path = np.maximum.accumulate(nodes, axis=0)
    # A subtree at depth d ends where the next row begins that no longer shares d; a row's own is looked up above.
    leaves = np.where(depth >= shared[1:, None], offsets[1:-1, None], offsets[-1])
    ends = np.full(tokens.shape, offsets[-1])
    ends[:-1] = np.minimum.accumulate(leaves[::-1], axis=0)[::-1]
    is_read = (depth >= rows.starts[of, None]) & (depth < lengths[:, None])
    read = np.full(tokens.shape, -1)
    read[:, :-1] = tokens[:, 1:]
    read[np.arange(len(lengths)), lengths - 1] = rows.last[of]
    depths = np.broadcast_to(depth + len(shared_prefix), tokens.shape)
    of_nodes = [values[is_new] for values in (tokens, depths, ends)]
    n_reads = is_read.sum(axis=1)
    of_reads = [path[is_read], read[is_read], np.repeat(rows.index[of], n_reads)]
    first_nodes = offsets[[*begins, -1]].tolist()
    first_reads = np.concatenate([[0], np.cumsum(n_reads)])[[*begins, -1]].tolist()
    for (a, b), (c, d) in zip(itertools.pairwise(first_nodes), itertools.pairwise(first_reads), strict=True):
        yield Pack(
            shared_prefix=shared_prefix,
            tokens=of_nodes[0][a:b],
            depths=of_nodes[1][a:b],
            ends=of_nodes[2][a:b] - a,
            read_nodes=of_reads[0][c:d] - a,
            read_tokens=of_reads[1][c:d],
            read_requests=of_reads[2][c:d],
        )
