"""How much work units are, from a few items of each: in, units and a reader; out, numbers that progress is told by.

A direct score reads a sentence, a prompted one several instructions: by items alone, the time left would be off by
half until the prompts begin. A guess of the work is enough; no score depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pairbank.scoring.api.method import Method, WritingMethod
from pairbank.scoring.run.units import Unit

if TYPE_CHECKING:
    from pairbank.scoring.api.model import Scorer
    from pairbank.scoring.api.requests import EncodedRequest, Request

MOST_LOOKED_AT = 96
"""Items of a corpus, evenly spread, that are looked at for the methods scored together."""
TOKENS_OF_WRITING = 400
"""For an item whose answer is written."""
_LEAST = 1.0


def efforts(
    units: Sequence[Unit], item: Callable[[int], Mapping[str, Any]], n_items: int, reader: Scorer
) -> list[float]:
    """Return the work of each unit, in no particular measure.

    Args:
        units: of one corpus.
        item: returns an item by its place.
        n_items: of the corpus.
        reader: what answers requests.
    """
    places = range(0, n_items, max(1, -(-n_items // MOST_LOOKED_AT)))
    by_methods: dict[tuple[str, ...], dict[int, float]] = {}
    found = []
    for unit in units:
        key = tuple(method.name for method in unit.methods)
        if key not in by_methods:
            by_methods[key] = {place: _of_item(item(place), unit.methods, reader) for place in places}
        costs = by_methods[key]
        own = [cost for place, cost in costs.items() if unit.start <= place < unit.stop] or list(costs.values())
        found.append(max(_LEAST, unit.n_items * sum(own) / len(own)))
    return found


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
    return n_written + (sum(map(_of_masked, encoded)) if reader.info.pll else _of_causal(encoded))


def _of_causal(encoded: Sequence[EncodedRequest]) -> int:
    return n_beginnings([one.ids for one in encoded])


def n_beginnings(sequences: Sequence[tuple[int, ...]]) -> int:
    """Return how many different beginnings some sequences have: a pass that shares them reads one token for each.

    >>> n_beginnings([(1, 2, 3), (1, 2, 4), (1, 2)])
    4
    """
    ordered = sorted(set(sequences))
    return sum(map(len, ordered)) - sum(_n_shared(a, b) for a, b in pairwise(ordered))


def _n_shared(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    differing = (k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)
    return next(differing, min(len(a), len(b)))


def _of_masked(one: EncodedRequest) -> int:
    """Each token that is scored is a sequence of its own."""
    return len(one.ids) * one.n_scored
