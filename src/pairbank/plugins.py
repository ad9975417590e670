"""Other people's work: corpora, prompts, analyses and back ends that an installed package offers as entry points.

A package says in its `pyproject.toml`, for example,

    [project.entry-points."pairbank.corpora"]
    my_corpus = "my_package.my_corpus:MY_CORPUS"

and the commands list and take it as they do our own. docs/contributing.md shows one of each kind.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib.metadata import entry_points
from typing import Any, Literal

from pairbank.errors import PluginError

Door = Literal["corpora", "prompts", "analyses", "backends"]


def plugins(door: Door, *, taken: Collection[str] = ()) -> dict[str, Any]:
    """Return what installed packages offer at one door, by name, loaded.

    Args:
        door: the group of entry points: `pairbank.<door>`.
        taken: names that are ours, which no package may take.

    Raises:
        PluginError: one cannot be loaded, or takes a name that is ours or another package's.
    """
    found: dict[str, Any] = {}
    for point in sorted(entry_points(group=f"pairbank.{door}"), key=lambda point: point.name):
        package = point.dist.name if point.dist else "an unknown package"
        if point.name in taken or point.name in found:
            raise PluginError(
                f"{package} offers {point.name!r} in pairbank.{door}, a name that is taken; rename its entry point or "
                "uninstall one of the two"
            )
        try:
            found[point.name] = point.load()
        except (ImportError, AttributeError) as error:
            raise PluginError(
                f"{package} offers {point.name!r} in pairbank.{door} as {point.value!r}, which cannot be loaded "
                f"({error}); mend or uninstall it"
            ) from error
    return found
