"""What a check gives, and what it is given: in, a scored table; out, `Audited` methods and `Looked` results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pairbank.stats.estimates.estimate import mean_of_known
from pairbank.stats.estimates.ties import signs
from pairbank.stats.scored_table.credit import choices_of
from pairbank.stats.wording import number

if TYPE_CHECKING:
    from pairbank.arrays import BoolArray, FloatArray
    from pairbank.scoring.api.layout import MethodLayout
    from pairbank.stats.scored_table.method_scores import MethodScores
    from pairbank.stats.scored_table.scored_table import ScoredTable

Outcome = Literal["found", "clean", "inconclusive", "not checked"]
LEAST_ITEMS = 20
"""Items below which nothing is said of a method's choices."""
LEAST_EFFECT = 0.1
"""Biases smaller than this are not told, however sure: of the share of first options, or of accuracy by length."""
MOST_IDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """One check of one method of one model on one corpus (or of a corpus), and what came of it."""

    check: str
    corpus: str
    method: str = ""
    """Empty where the check is of items."""
    model: str = ""
    outcome: Outcome = "clean"
    said: str = ""
    """What was found, or why nothing could be; a phrase that goes on after the model's name."""
    n: int = 0
    """Items looked at."""
    n_concerned: int = 0
    """Items that show the fault."""
    headline: float = np.nan
    """The accuracy as it is reported (or, of a corpus, of a rule that needs no model)."""
    without: float = np.nan
    """The same without what was found; NaN where nothing would be left."""
    p: float = np.nan
    """Of the test behind it, where there is one; corrected later for all tests of the audit."""
    items: tuple[str, ...] = ()
    """Some of the items concerned."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Audited:
    """One method of one model on one corpus: the rows of which one side is right and which are a choice."""

    table: ScoredTable
    """Those rows."""
    scores: MethodScores
    """Of those rows."""

    @property
    def layout(self) -> MethodLayout:
        """The method's."""
        return self.scores.layout

    @property
    def place(self) -> dict[str, Any]:
        """Corpus, method and model, as `Looked` has them."""
        return {"corpus": self.table.corpus, "method": self.layout.method, "model": self.table.model}

    @cached_property
    def choices(self) -> FloatArray | None:
        """Part of the choice that each option has, shape (rows, presentations, options); None for other methods."""
        return choices_of(self.scores)

    @cached_property
    def credit_averaged(self) -> FloatArray:
        """1 right, 0 wrong, one half a tie of the difference, NaN without one, shape (rows,)."""
        return (signs(self.scores.delta_nats) + 1) / 2

    @cached_property
    def credit_by_presentation(self) -> FloatArray | None:
        """Credit of the correct option, shape (rows, presentations), NaN where not asked; None for other methods."""
        if self.choices is None:
            return None
        return self.choices[:, np.arange(len(self.layout.correct)), list(self.layout.correct)]

    @cached_property
    def credit(self) -> FloatArray:
        """Credit of each item by the definition of the method's paper; NaN where there is none, shape (rows,)."""
        if self.layout.accuracy == "pooled" and self.credit_by_presentation is not None:
            return mean_of_known(self.credit_by_presentation)
        return self.credit_averaged

    @cached_property
    def scored(self) -> BoolArray:
        """Which rows have a credit."""
        return ~np.isnan(self.credit)

    @cached_property
    def asked(self) -> BoolArray:
        """Which rows are of a task and language of which the method has any score, shape (rows,)."""
        kinds = [name for name in ("task", "language") if name in self.table.frame.columns]
        known = self.scored | ~np.isnan(self.scores.unparsed)
        if not kinds:
            return np.ones_like(known)
        codes = self.table.frame.groupby(kinds, dropna=False, sort=False).ngroup().to_numpy()
        return np.isin(codes, np.unique(codes[known]))

    @cached_property
    def n(self) -> int:
        """Rows with a credit."""
        return int(self.scored.sum())

    @cached_property
    def accuracy(self) -> float:
        """Mean credit, the headline; NaN without any."""
        return float(self.credit[self.scored].mean()) if self.n else np.nan

    def some(self, which: BoolArray) -> tuple[str, ...]:
        """Return the ids of some of the rows that are marked."""
        return tuple(self.table.frame["item_id"].iloc[np.flatnonzero(which)[:MOST_IDS]])


def audited(table: ScoredTable) -> Iterator[Audited]:
    """Yield each method that was asked of items of which one side is right."""
    used = table.rows(table.is_choice & table.has_truth)
    for scores in used.methods if len(used.frame) else ():
        if scores.applies.any() or not np.isnan(scores.unparsed).all():
            yield Audited(table=used, scores=scores)


def mean_share_p(values: FloatArray, *, about: float) -> float:
    """Return the two-sided p-value of a mean of items' shares being `about`: normal, with a pseudo-item either side.

    >>> round(mean_share_p(np.array([1.0] * 60 + [0.0] * 40), about=0.5), 3)
    0.046
    """
    from scipy.stats import norm

    deviation = values - about
    variance = (float((deviation**2).sum()) + 0.25) / (values.size + 1)
    return float(2 * norm.sf(abs(float(deviation.mean())) / np.sqrt(variance / values.size)))


def share_said(value: float) -> str:
    """Return a share with three digits.

    >>> share_said(0.5), share_said(1.0), share_said(float("nan"))
    ('0.500', '1.000', 'none')
    """
    return "none" if np.isnan(value) else number(value, digits=3)


def listed(names: Sequence[str], *, most: int = 4) -> str:
    """Return names in a phrase, of many the first ones.

    >>> listed(["a", "b"]), listed(list("abcdef"))
    ('`a`, `b`', '`a`, `b`, `c`, `d` and 2 more')
    """
    shown = ", ".join(f"`{name}`" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
