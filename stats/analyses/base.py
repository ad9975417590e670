"""What an analysis takes and gives: scored tables in, a report's section (text, tables, figures) out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from pairbank.stats.figures.figure import Figure
from pairbank.stats.scored_table.frame import ScoredFrame

if TYPE_CHECKING:
    import pandas as pd


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
    main_figure: str = ""
    """Name of the figure that the first page shows; empty = the first one."""
    definitions: str = ""
    """Markdown: how every number is defined, with the paper's section or equation."""
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    """By name: each is a CSV with all digits, and the report's page shows it rounded."""
    figures: tuple[Figure, ...] = ()
    references: tuple[str, ...] = ()
    reason: str = ""
    """Why there are no numbers; empty where there are."""

    @property
    def lead(self) -> str:
        """The answer, or the first paragraph of the text."""
        return self.answer or self.text.split("\n\n", 1)[0]

    @property
    def first_figure(self) -> Figure | None:
        """The figure of the first page, if there is one."""
        return next((one for one in self.figures if not self.main_figure or one.name == self.main_figure), None)


class Analysis(Protocol):
    """A function that makes a section; it raises BankError where the tables do not have what it needs."""

    def __call__(  # each analysis checks its own options
        self,
        tables: Sequence[ScoredFrame],
        *,
        seed: int,
        n_resamples: int,
        **options: Any,  # noqa: ANN401
    ) -> Section:
        """Return the section; options are the analysis's own."""
