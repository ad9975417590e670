"""Copies of this checkout, for tests that write into one or build it."""

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STAGES = ("builders", "scoring", "stats", "cards")
NOT_COPIED = shutil.ignore_patterns(".*_cache", "__pycache__", "*.egg-info", ".hypothesis")


def checkout(folder: Path, *more: str) -> Path:
    """Copy what a build needs, links as links, and more of the top level where asked for."""
    for name in (*STAGES, "src", *more):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=NOT_COPIED)
    for file in ROOT.iterdir():
        if file.suffix in (".toml", ".py", ".md", ".in") or file.name == "LICENSE":
            shutil.copy2(file, folder / file.name)
    return folder
