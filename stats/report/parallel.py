"""Independent pieces of work on all cores: in, a function and its arguments; out, the results, in order.

In processes (joblib's), since most statistics are Python between small arrays, which threads do not speed up. The
results are the same in one process, where few pieces would not pay for starting others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

FEWEST = 10
"""Pieces for which processes are begun: they take some seconds to import what they need."""


def on_all_cores(work: Callable[[T], R], pieces: Sequence[T]) -> list[R]:
    """Return the result of each piece.

    Args:
        work: gets one piece; it and they are sent to other processes.
        pieces: each takes about a second, or there is no point.

    >>> on_all_cores(abs, [-1, 2])
    [1, 2]
    """
    import joblib

    n_processes = min(joblib.cpu_count(), len(pieces))
    if len(pieces) < FEWEST or n_processes < 2:
        return [work(piece) for piece in pieces]
    return list(joblib.Parallel(n_jobs=n_processes)(joblib.delayed(work)(piece) for piece in pieces))
