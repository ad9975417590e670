"""Other people's work: corpora, prompts, analyses and back ends that an installed package offers as entry points.

A package says in its `pyproject.toml`, for example,

    [project.entry-points."pairbank.corpora"]
    my-corpus = "my_package.my_corpus:MY_CORPUS"

and the commands list and take it as they do our own. docs/contributing.md shows one of each kind. Nothing of a package
is imported before what it offers is needed.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Collection
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from pairbank.errors import PluginError

Door = Literal["corpora", "prompts", "analyses", "backends"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """One thing that an installed package offers, not yet imported."""

    name: str
    package: str
    door: Door
    point: EntryPoint

    def load(self) -> Any:  # noqa: ANN401 - each door says what it takes, and checks it
        try:
            return self.point.load()
        except Exception as error:
            raise self.problem(f"which cannot be loaded ({type(error).__name__}: {error})") from error

    def problem(self, what: str) -> PluginError:
        """Return an error that says whose plug-in it is, and what is wrong with it."""
        return PluginError(
            f"{self.package} offers {self.name!r} in pairbank.{self.door} as {self.point.value!r}, {what}; "
            "mend or uninstall that package"
        )


def plugins(door: Door, *, taken: Collection[str] = ()) -> dict[str, Plugin]:
    """Return what installed packages offer at one door, by name."""
    offered = [
        Plugin(name=point.name, package=point.dist.name if point.dist else "a nameless package", door=door, point=point)
        for point in _offered(door, tuple(sys.path))
    ]
    by_name: dict[str, Plugin] = {}
    for plugin in sorted(offered, key=lambda plugin: (plugin.name, plugin.package)):
        if plugin.name in taken:
            raise plugin.problem("a name that pairbank itself has")
        if plugin.name in by_name:
            raise plugin.problem(f"a name that {by_name[plugin.name].package} has taken")
        by_name[plugin.name] = plugin
    return by_name


@functools.lru_cache(maxsize=16)
def _offered(door: Door, _places: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Return what is offered at a door by the packages of these places; all their metadata are read for it."""
    return tuple(entry_points(group=f"pairbank.{door}"))


def package_names(door: Door) -> dict[str, str]:
    return {name: plugin.package for name, plugin in plugins(door).items()}
