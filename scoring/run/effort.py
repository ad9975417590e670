"""The work of units, to tell how far a run is. In: units and items. Out: a number for each, in no known measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pairbank.scoring.api.method import Method, WritingMethod

if TYPE_CHECKING:
    from pairbank.scoring.api.model import Scorer
    from pairbank.scoring.api.requests import Request
    from pairbank.scoring.run.work import Unit

MOST_LOOKED_AT = 96
"""Items of a corpus, evenly spread, that are looked at for the methods scored together."""
TOKENS_OF_WRITING = 400
"""For an item whose answer is written."""
_LEAST = 1.0


def efforts(
    units: Sequence[Unit], item: Callable[[int], Mapping[str, Any]], n_items: int, reader: Scorer
) -> list[float]:
    """Return the work of each unit, in no particular measure."""
    places = range(0, n_items, max(1, -(-n_items // MOST_LOOKED_AT)))
    by_methods: dict[tuple[str, ...], dict[int, float]] = {}
    work = []
    for unit in units:
        key = tuple(method.name for method in unit.methods)
        if key not in by_methods:
            by_methods[key] = {place: _of_item(item(place), unit.methods, reader) for place in places}
        costs = by_methods[key]
        of_unit = [cost for place, cost in costs.items() if unit.start <= place < unit.stop] or list(costs.values())
        work.append(max(_LEAST, unit.n_items * sum(of_unit) / len(of_unit)))
    return work


def _of_item(row: Mapping[str, Any], methods: Sequence[Method], reader: Scorer) -> float:
    """Return the tokens that an item takes: those that requests share count once, where the model reads on."""
    requests: list[Request] = []
    n_written = 0
    for method in methods:
        if not method.applies_to(row):
            continue
        if isinstance(method, WritingMethod):
            n_written += TOKENS_OF_WRITING
        else:
            requests += method.requests(row, reader)
    encoded = reader.encode(requests) if requests else []
    if reader.info.pll:  # each token that is scored is a sequence of its own
        return n_written + sum(len(request.ids) * request.n_scored for request in encoded)
    return n_written + n_beginnings([request.ids for request in encoded])


def n_beginnings(sequences: Sequence[tuple[int, ...]]) -> int:
    """Return how many different beginnings some sequences have: a pass that shares them reads one token for each."""
    ordered = sorted(set(sequences))
    shared = 0
    for a, b in pairwise(ordered):
        differing = (k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)
        shared += next(differing, min(len(a), len(b)))
    return sum(map(len, ordered)) - shared
