"""Ray itself: the package, and a cluster to connect to or to start here.

In: `local`, `auto`, or an address. Out: Ray, connected. Ray is an extra: `pip install 'pairbank[ray]'`.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pairbank.errors import ModelLoadError

LOCAL = "local"
"""In the place of an address: a Ray of this run's own, on this machine."""
PASSED_ON = ("PYTHONPATH", "PAIRBANK_CACHE", "HF_HOME", "HF_HUB_OFFLINE", "XDG_CACHE_HOME")
"""Variables that workers get from this process. Keys are not among them: Ray shows what it was given."""


CONNECT_S = 10.0
_REMEDY = "start one (ray start --head --block), or use --ray local"


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What one worker has for itself."""

    n_cpus: int
    n_gpus: float

    def __str__(self) -> str:
        return f"{self.n_cpus} CPUs and {self.n_gpus:g} GPUs"


def ray_for(address: str) -> Any:  # noqa: ANN401 - the package
    """Return Ray; one of this run's own answers to nobody without a token, which no file holds."""
    if find_spec("ray") is None:
        raise ModelLoadError("workers need the package ray; pip install 'pairbank[ray]', or run parts (--part 1/4)")
    if address == LOCAL and "ray" not in sys.modules and "RAY_AUTH_MODE" not in os.environ:
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    return import_module("ray")


def begin(ray: Any, address: str, *, n_workers: int, needs: Needs) -> bool:  # noqa: ANN401
    """Connect to a cluster, or start a Ray here; return whether one was started.

    Raises:
        ModelLoadError: nobody is at the address, or it answers to nobody without its token.
    """
    if ray.is_initialized():
        return False
    _see_that_somebody_listens(address)
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    common: dict[str, Any] = {
        "runtime_env": {"env_vars": environment},
        "log_to_driver": False,
        "logging_level": logging.ERROR,
    }
    try:
        if address == LOCAL:
            ray.init(
                address="local",
                num_cpus=n_workers * needs.n_cpus,
                num_gpus=None if needs.n_gpus else 0,
                include_dashboard=False,
                **common,
            )
        else:
            ray.init(address=address, **common)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        token = "" if "RAY_AUTH_TOKEN" in os.environ else "; one with a token needs it here too (RAY_AUTH_TOKEN)"
        raise ModelLoadError(f"no Ray at {address!r} ({error}); {_REMEDY}{token}") from error
    return True


def _see_that_somebody_listens(address: str) -> None:
    """Refuse HOST:PORT where nothing is: Ray itself would try for a minute."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or "/" in host:
        return  # local, auto, or an address of another kind
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_S).close()
    except (OSError, OverflowError) as error:
        raise ModelLoadError(f"nobody listens at {address!r} ({error}); {_REMEDY}") from error


def has_room(ray: Any, needs: Needs) -> bool:  # noqa: ANN401 - the package
    """Return whether any node is large enough for a worker, were it free."""
    alive = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return any(one.get("CPU", 0) >= needs.n_cpus and one.get("GPU", 0) >= needs.n_gpus for one in alive)
