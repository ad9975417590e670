"""A figure of a report: a name, a caption that can be quoted, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

CAPTIONS = "captions.json"
"""Stands beside the files of figures: file name -> caption, for whoever shows them elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure of a report: drawn when it is saved."""

    name: str
    """File name without ending: `introspection_scatter`."""
    caption: str
    """A sentence or two that a reader can quote: what is shown, n, interval."""
    draw: Callable[[], Drawing]
