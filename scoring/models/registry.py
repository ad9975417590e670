"""Back ends by name, for models that transformers does not load: `NAME:rest` in, a scorer out.

Ours, and those that installed packages offer (`pairbank.backends`). What stands behind the colon is the back end's own
affair: a name, a path, an address.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from pairbank.errors import unknown_name
from pairbank.plugins import plugins, whose
from pairbank.scoring.api.model import Scorer
from pairbank.scoring.models.options import ADDRESS, BACKEND_NAME, LoadOptions

BACKENDS: dict[str, str] = {"fake": "pairbank.scoring.models.fake"}
"""Name -> module with a function `load`."""
SERVER = "pairbank.scoring.models.server.load"


class Backend(Protocol):
    """A function that makes a scorer."""

    def __call__(self, rest: str, options: LoadOptions) -> Scorer:
        """Return the scorer.

        Args:
            rest: what the user wrote behind the colon.
            options: every option of `load_model`, with its default where the user gave none. Those that the back end
                does not honour it refuses (`pairbank.scoring.models.options.refuse_others`).
        """


def from_backend(name: str, options: LoadOptions) -> Scorer | None:
    """Return the scorer of a model that a back end is to load, or None where the name does not ask for one.

    Raises:
        UnknownNameError: there is no such back end; the message has the nearest ones.
        PluginError: a package offers it, and it cannot be had, or gives something that is no scorer.
    """
    if ADDRESS.match(name):
        return cast("Backend", import_module(SERVER).load)(name, options)
    asked = BACKEND_NAME.fullmatch(name)
    if asked is None or Path(name).exists():
        return None
    if asked["name"] in BACKENDS:
        return cast("Backend", import_module(BACKENDS[asked["name"]]).load)(asked["rest"], options)
    offered = plugins("backends", taken=BACKENDS)
    if asked["name"] not in offered:
        raise unknown_name("back end", asked["name"], [*BACKENDS, *offered], whose=whose("backends"))
    plugin = offered[asked["name"]]
    backend = plugin.load()
    if not callable(backend):
        raise plugin.problem(f"which is {backend!r:.80}; expected a function of (rest, options) that makes a scorer")
    scorer = backend(asked["rest"], options)
    if not isinstance(scorer, Scorer):
        raise plugin.problem(f"which gives {scorer!r:.80}; expected an object with the methods of pairbank's Scorer")
    return scorer
