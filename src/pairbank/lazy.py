"""Public names of a package that are imported where they are first used: in, modules and their names."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of a package, from each module's names in one text."""
    homes = {name: module for module, names in modules.items() for name in names.split()}

    def get(name: str) -> Any:  # noqa: ANN401 - module attributes are any
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"pairbank.{homes[name]}"), name)

    return sorted(homes), get, lambda: sorted({*vars(sys.modules[package]), *homes})
