"""Independent pieces of work on all cores: in, a function and its arguments; out, the results, in order.

In processes (joblib's), since most statistics are Python between small arrays, which threads do not speed up. They take
seconds to import what they need, so the first pieces are done here, and the pace of these tells whether the others are
worth it. The results are the same either way.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

WORTH_SECONDS = 8.0
"""Of work that is left, by the pace so far, from which other processes are begun."""
WORTH_BEGINNING_SECONDS = 2.0
"""Of work that is left, from which processes are begun for what follows it."""
_IMPORTED = ("matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf", "matplotlib.backends.backend_svg")


def on_all_cores(work: Callable[[T], R], pieces: Sequence[T], *, more_follows: bool = False) -> list[R]:
    """Return the result of each piece.

    Args:
        work: gets one piece; it and they are sent to other processes where there is much to do.
        pieces: of about the same size.
        more_follows: there will be more to do than these pieces: where they take seconds, the processes are begun
            beside them, and have imported what they need when they are wanted.

    >>> on_all_cores(abs, [-1, 2])
    [1, 2]
    """
    import joblib

    done: list[R] = []
    first_done_at = now = time.monotonic()
    for piece in pieces:
        n_paced, n_left = len(done) - 1, len(pieces) - len(done)
        if n_paced > 0 and (now - first_done_at) / n_paced * n_left > WORTH_SECONDS and joblib.cpu_count() > 1:
            break
        done.append(work(piece))
        now = time.monotonic()
        if len(done) == 1:  # it imported what all need
            first_done_at = now
        if len(done) == 2 and more_follows and (now - first_done_at) * n_left > WORTH_BEGINNING_SECONDS:
            threading.Thread(target=_begin_processes, daemon=True).start()
    rest = pieces[len(done) :]
    if not rest:
        return done
    n_processes = min(joblib.cpu_count(), len(rest))
    return done + list(joblib.Parallel(n_jobs=n_processes)(joblib.delayed(work)(piece) for piece in rest))


def _begin_processes() -> None:
    import joblib

    n = joblib.cpu_count()
    if n > 1:
        joblib.Parallel(n_jobs=n)(joblib.delayed(_import)((__name__, *_IMPORTED)) for _ in range(n))


def _import(modules: Sequence[str]) -> None:
    for name in modules:
        importlib.import_module(name)
