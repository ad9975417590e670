"""Files of the shared folder that a checkout may lack."""

from pathlib import Path

import pytest


def present(path: Path) -> Path:
    """Return a path of the fixture `shared`; skip where nothing lies there."""
    if not path.exists():
        pytest.skip(f"{path} is absent; set PAIRBANK_SHARED to the folder that holds it")
    return path
