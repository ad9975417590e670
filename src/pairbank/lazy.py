"""Public names of a package that are imported where they are first used: in, its stub (`.pyi`), which lists them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy_names(package: str, file: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of a package, by the imports of the stub beside its file."""
    stub = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    homes = {name: module for module, name in re.findall(r"^from (\S+) import (\w+)", stub, re.MULTILINE)}

    def get(name: str) -> Any:  # noqa: ANN401 - module attributes are any
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return sorted(homes), get, lambda: sorted({*vars(sys.modules[package]), *homes})
