"""Processes of this machine: in, nothing or a process id; out, where this one runs, and whether another still does."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def host() -> str:
    """Return this machine's name and, on it, the space of process ids: containers have their own."""
    try:
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        space = ""
    return f"{socket.gethostname()} {space}".strip()


def is_running(pid: int) -> bool:
    """Return whether a process of this machine runs; one of somebody else's does, as far as we can tell.

    >>> is_running(os.getpid())
    True
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
