"""Made-up data of which a verdict or an interval would be wrong, and how often it is: one form for tests and docs.

A module makes data, states what would be claimed of one draw of them, and lists its `TABLES` of docs/validation.md.
`tests/stats/test_nulls.py` holds the small form of each to its bounds; `tests/simulations.py` prints the tables.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

Source = Any
"""Of random numbers: a generator that all runs share, or a run's own seed."""
Outcome = Mapping[str, Any]
"""Of one run: whether each claim is made, whether each interval holds the truth (NaN: there is none)."""
Bounds = Mapping[str, tuple[float, float]]


def at_most(rate: float, *names: str) -> Bounds:
    return dict.fromkeys(names or ("said",), (0.0, rate))


def at_least(rate: float, *names: str) -> Bounds:
    return dict.fromkeys(names or ("said",), (rate, 1.0))


def means(outcomes: Sequence[Any]) -> dict[str, float]:
    return {str(name): float(value) for name, value in pd.DataFrame(outcomes).astype(float).mean().items()}


def own_seed(seed: int, nth: int) -> int:
    return seed + nth


def pair_of_seeds(seed: int, nth: int) -> list[int]:
    return [seed, nth]


@dataclass(frozen=True)
class Null:
    """Data, and what would be said of them: a row of a table."""

    labels: tuple[str, ...]
    run: Callable[..., Any]
    """Draws the data from a source and returns the outcome, or what `summary` takes."""
    seed: Any = 0
    truth: Callable[[np.random.Generator], Any] | None = None
    """What all runs have in common, drawn first; `run` takes it too."""
    each: Callable[[Any, int], Source] | None = None
    """The seed of each run; none: one generator for all of them."""
    summary: Callable[[Sequence[Any]], Mapping[str, float]] = means
    fewer: Callable[[int], int] | None = None
    """How many runs of those that are asked for, where a run is slow."""
    runs: int = 0
    """In a test."""
    bounds: Bounds = field(default_factory=dict)
    """Of the rates in a test."""
    ci: bool = False
    """Whether the test takes more than two seconds."""

    def small(self, runs: int, *bounds: Bounds, **how: Any) -> Null:  # noqa: ANN401 - of Null
        """Return the form of a test: how many runs, and between which bounds its rates lie."""
        return replace(self, runs=runs, bounds={name: ends for each in bounds for name, ends in each.items()}, **how)

    def rates(self, runs: int) -> Mapping[str, float]:
        shared = np.random.default_rng(self.seed)
        known = (self.truth(shared),) if self.truth else ()
        sources = (
            self.each(self.seed, nth) if self.each else shared
            for nth in range(self.fewer(runs) if self.fewer else runs)
        )
        gc.freeze()  # statsmodels collects garbage in every call of Holm's correction: a tenth of a second
        return self.summary([self.run(source, *known) for source in sources])


def shown(rates: Mapping[str, float]) -> str:
    """Return rates side by side: a cell of a table whose columns are kinds of data."""
    return " / ".join(f"{rate:.3f}" for rate in rates.values())


@dataclass(frozen=True)
class Table:
    name: str
    heads: tuple[str, ...]
    """Of the labels, but for the last label where `cell` is given: those are columns."""
    nulls: Callable[[], Iterable[Null]]
    tested: Sequence[Null] = ()
    cell: Callable[[Mapping[str, float]], str] | None = None
    rates: Sequence[str] = ()
    """Those that are columns, where not all are."""
    number: Callable[[float], str] = "{:.3f}".format
    transposed: bool = False
    """Whether each rate is a row, each null a column."""


def published_rows(section: str) -> list[list[str]]:
    """Return the cells of the first table of a section of docs/validation.md, the heading first."""
    page = (Path(__file__).resolve().parents[3] / "docs" / "validation.md").read_text(encoding="utf-8")
    lines = page.split(f"### {section}")[1].split("\n\n| ")[1].split("\n\n")[0].splitlines()
    heading, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return [heading, *rows]


def published(section: str) -> dict[tuple[str, str], str]:
    """Return the cells of such a table by row and column."""
    heading, *rows = published_rows(section)
    return {(row[0], name): cell for row in rows for name, cell in zip(heading[1:], row[1:], strict=True)}
