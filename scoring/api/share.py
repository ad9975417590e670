"""Shares of a unit's forward passes, where several processes that have the same weights compute a part each.

In: the number of a pass. Out: whether it is of a share. What is computed together does not follow who computes it: all
plan the same passes, and each runs those of its share.
"""

from __future__ import annotations

from dataclasses import dataclass

_BITS = 6
N_PLACES = 1 << _BITS
"""That the passes of a unit are spread over."""
_PLACES: tuple[int, ...] = tuple(int(f"{number:0{_BITS}b}"[::-1], 2) for number in range(N_PLACES))
"""Of each number, its bits backwards: any range of places has its part of few passes as of many, and of those that come
first (the long ones) as of those that come last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Some of the places.

    >>> a, b = Share(stop=16), Share(first=16)
    >>> sum(a.has(number) for number in range(100)), sum(b.has(number) for number in range(100))
    (25, 75)
    """

    first: int = 0
    stop: int = N_PLACES
    """One past the last."""

    @property
    def n_places(self) -> int:
        """How many."""
        return self.stop - self.first

    @property
    def is_whole(self) -> bool:
        """All passes are of it."""
        return (self.first, self.stop) == (0, N_PLACES)

    def has(self, number: int) -> bool:
        """Return whether the pass of this number, from 0, is of the share."""
        return self.first <= _PLACES[number % N_PLACES] < self.stop


WHOLE = Share()
