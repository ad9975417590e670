"""`report`: scored tables to estimates, tables and a folder that a reader can open.

In: objects with a scored table and its signature (`pairbank.Scored`). Out: the long summary of every corpus x
model, and `report.md` with its CSV files: n, definitions, seeds and signatures beside every number.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from pairbank.errors import BankError
from pairbank.files import write_text
from pairbank.scoring.score import signature_line
from pairbank.stats.layout import MethodLayout
from pairbank.stats.summary import summarise
from pairbank.stats.tables import accuracy_table, agreement_table, headline, to_markdown

if TYPE_CHECKING:
    from pairbank.scoring.score import Scored

DEFINITIONS = """\
- **accuracy**: share of items whose difference (good - bad, in nats) is positive, ties counted one half. For
  prompted methods the difference is averaged over all presentations of the item.
- **orders pooled**: every presentation is one trial: right if the correct option is the most probable.
  For judgments of single sentences this is balanced accuracy. The interval resamples items, not trials.
- **first option chosen**: share of presentations in which the option shown first is the most probable (.5 = no bias
  where both orders are asked; with a fixed order, the share of items).
- **of likeliest ratings**: share of items whose better side gets the higher of the two most probable ratings, ties
  counted one half. For ratings, **accuracy** compares expected ratings, in points of the scale.
- **mean log P**: of the one word of one-sided items, given its context or a question about it. Agreement is then
  between these log-probabilities, not between differences.
- **Pearson r, Spearman rho**: between the differences of the method and of `direct` (or of people: mean judgment of
  the better sentence - of the worse one) over the items that both have. **Cohen's kappa, same choice**: between the
  signs of the differences; ties left out.
- Intervals are at level .95: percentile bootstrap over items for shares and Spearman (Wilson for a share of
  exactly 0 or 1), Fisher z for Pearson, asymptotic for kappa. Items with identical sides are left out
  and counted as excluded.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Every estimate of some scored tables, and what they were computed from."""

    title: str
    summary: pd.DataFrame
    """Long table: model, corpus, group, method, versus, metric, value, low, high, n …"""
    signatures: tuple[str, ...]
    seed: int
    n_resamples: int
    notes: tuple[str, ...] = ()
    """Deviations and limits that a reader must know."""

    @property
    def accuracy(self) -> pd.DataFrame:
        """Accuracies for people: the whole corpora and their subsets."""
        return accuracy_table(headline(self.summary))

    @property
    def agreement(self) -> pd.DataFrame:
        """Agreement between methods and with people."""
        return agreement_table(headline(self.summary))

    def markdown(self) -> str:
        """Return the report as Markdown."""
        parts = [f"# {self.title}", *self.notes, "## Accuracy", to_markdown(self.accuracy)]
        parts += ["## Agreement", to_markdown(self.agreement)]
        for group_by in ("phenomenon", "language", "negative_type"):
            part = self.summary[(self.summary["group_by"] == group_by)]
            if len(part):
                parts += [f"## Accuracy by {group_by.replace('_', ' ')}", to_markdown(accuracy_table(part))]
        parts += ["## Definitions", DEFINITIONS.rstrip()]
        parts += [f"Seed {self.seed}, {self.n_resamples} bootstrap resamples."]
        parts += ["## Signatures", "\n".join(f"- `{line}`" for line in self.signatures)]
        return "\n\n".join(parts) + "\n"

    def save(self, folder: str | Path) -> Path:
        """Write `report.md`, `summary.csv`, `accuracy.csv` and `agreement.csv`; return the folder."""
        root = Path(folder)
        write_text(root / "report.md", self.markdown())
        for name, table in (
            ("summary", self.summary),
            ("accuracy", accuracy_table(self.summary)),
            ("agreement", agreement_table(self.summary)),
        ):
            write_text(root / f"{name}.csv", _csv(table))
        return root


def report(
    scored: Sequence[Scored],
    *,
    title: str = "pairbank report",
    seed: int = 0,
    n_resamples: int = 1000,
    notes: Sequence[str] = (),
) -> Report:
    """Return every estimate of some scored tables.

    Args:
        scored: what `pairbank.score` or `pairbank.read_scored` gave.
        title: heading of the report.
        seed: of the bootstrap; the same seed gives the same bytes.
        n_resamples: bootstrap resamples of each interval.
        notes: sentences that stand at the report's head.

    Raises:
        BankError: nothing to report on, or the same corpus and model twice.
    """
    if not scored:
        raise BankError("nothing to report on; give at least one scored table")
    pairs = [(table.corpus, table.model) for table in scored]
    if len(set(pairs)) < len(pairs):
        twice = sorted({pair for pair in pairs if pairs.count(pair) > 1})
        raise BankError(f"scored twice: {', '.join(f'{c} by {m}' for c, m in twice)}; give each corpus and model once")
    parts = [
        summarise(
            table.to_pandas(),
            [MethodLayout.from_dict(layout) for layout in table.layouts],
            model=table.model,
            seed=seed,
            n_resamples=n_resamples,
        )
        for table in scored
    ]
    return Report(
        title=title,
        summary=pd.concat(parts, ignore_index=True),
        signatures=tuple(signature_line(table.signature) for table in scored),
        seed=seed,
        n_resamples=n_resamples,
        notes=tuple(notes),
    )


def _csv(table: pd.DataFrame) -> str:
    """Return a table as CSV; a cell that a spreadsheet would run as a formula is defused with an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.columns)
    for row in table.itertuples(index=False, name=None):
        writer.writerow(["" if pd.isna(cell) else _safe(cell) for cell in row])
    return out.getvalue()


def _safe(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell
