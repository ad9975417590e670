"""One corpus scored with one model, as statistics see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from pairbank.scoring.api.layout import MethodLayout


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredFrame:
    """One corpus scored with one model."""

    corpus: str
    model: str
    frame: pd.DataFrame
    """The shared schema with the methods' columns, one row an item."""
    layouts: tuple[MethodLayout, ...]
    signature: Mapping[str, Any] = field(default_factory=dict)
