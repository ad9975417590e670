"""What an analysis takes and gives: scored tables and what a report knows in, a section (text, tables, figures) out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.figures.style import Figure
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.model_features import ModelFeatures

if TYPE_CHECKING:
    from pairbank.stats.analyses.neuro import Probed

Fact = Literal["features", "ratings", "mean_ratings", "probed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What the analyses of a report share beside its tables.

    Raises:
        BankError: If the seed is negative.

    >>> Context(seed=-1)
    Traceback (most recent call last):
    pairbank.errors.BankError: seed is -1; expected 0 or more
    """

    seed: int = 0
    """Of every random draw; the same seed gives the same numbers."""
    n_resamples: int = 1000
    """Resamples of items, where an analysis resamples."""
    features: Mapping[str, ModelFeatures] = field(default_factory=dict)
    """What the user declares of models, by name, before the shipped declarations."""
    ratings: Sequence[pd.DataFrame | str] = ()
    """Individual ratings (`load_ratings(...).to_pandas()`) of any corpora; or parquet files of them."""
    mean_ratings: tuple[str, ...] = ()
    """Corpora whose sources give mean ratings and no individual ones."""
    probed: Sequence[Probed] = ()
    """What `pairbank.probe` found."""
    responses: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    """What `pairbank.participants` gave, by model; empty = the tables of the analysis are that."""
    nulls: Sequence[ScoredFrame] = ()
    """Tables of models with random weights, which are not among the tables of an analysis."""

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise BankError(f"seed is {self.seed}; expected 0 or more")

    @property
    def rng(self) -> np.random.Generator:
        """A fresh generator of the seed."""
        return np.random.default_rng(self.seed)


DEFAULTS = Context()
MOST_FIRST_ROWS = 30
"""Of a table on a report's first page; the rest of a longer one is in its CSV file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One analysis in a report."""

    id: str
    """Names its files: `introspection`."""
    title: str
    text: str
    """Markdown: the finding in plain words, with its evidence, exact n, filters and seed."""
    answer: str = ""
    """Markdown, two sentences: the answer to the title's question with its numbers, interval and n, as it stands on a
    report's first page; empty = the first paragraph of the text."""
    main_table: str = ""
    """Name of the table that the first page shows; empty = none."""
    main_columns: tuple[str, ...] = ()
    """Those of its columns that the first page shows; empty = all."""
    second_table: str = ""
    """Name of a further table of the first page; empty = none."""
    second_caption: str = ""
    """Markdown above it: what it has."""
    footnotes: tuple[str, ...] = ()
    """Sentences under the first page's table: what its marks mean, how its numbers are to be read."""
    main_figure: str = ""
    """Name of the figure that the first page shows; empty = the first one."""
    definitions: str = ""
    """Markdown: how every number is defined, with the paper's section or equation."""
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    """By name: each is a CSV with all digits, and the report's page shows it rounded."""
    figures: tuple[Figure, ...] = ()
    references: tuple[str, ...] = ()
    draws: str = ""
    """What was drawn at random with the report's seed (`1,000 resamples of items`); empty where nothing was."""
    reason: str = ""
    """Why there are no numbers; empty where there are."""
    leads: bool = True
    """Whether it comes before the overview where a report has it by itself."""

    @property
    def lead(self) -> str:
        """The answer, or the first paragraph of the text."""
        return self.answer or self.text.split("\n\n", 1)[0]

    @property
    def first_figure(self) -> Figure | None:
        """The figure of the first page, if there is one."""
        return next(
            (figure for figure in self.figures if not self.main_figure or figure.name == self.main_figure), None
        )


class Analysis(Protocol):
    """A function that makes a section; it raises BankError where the tables do not have what it needs."""

    def __call__(
        self,
        tables: Sequence[ScoredFrame],
        context: Context,
        /,
        **options: Any,  # noqa: ANN401 - each analysis checks its own
    ) -> Section:
        """Return the section; options are the analysis's own."""


_Function = TypeVar("_Function", bound=Callable[..., Section])
_READ: dict[Callable[..., Section], tuple[Fact, ...]] = {}


def reads(*facts: Fact) -> Callable[[_Function], _Function]:
    """Declare which facts of the context an analysis reads: they are gathered for it, and may be set as its options."""

    def declared(analysis: _Function) -> _Function:
        _READ[analysis] = facts
        return analysis

    return declared


def facts_read(analysis: Callable[..., Section]) -> tuple[Fact, ...]:
    """Return the facts of the context that an analysis declares to read."""
    return _READ.get(analysis, ())
