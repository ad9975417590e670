"""`report`: scored tables to estimates, tables, figures and a folder that a reader can open.

In: objects with a scored table and its signature (`pairbank.Scored`). Out: the long summary of every corpus x
model, the sections of further analyses, and `report.md` with its CSV files and figures: n, definitions, seeds and
signatures beside every number.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from pairbank.errors import BankError
from pairbank.files import defused, write_json, write_text
from pairbank.markdown import html_as_text, to_markdown
from pairbank.scoring.api.layout import MethodLayout
from pairbank.scoring.signature import signature_line, unpinned_note
from pairbank.stats.analyses.asked_for import checked_options, section_or_note
from pairbank.stats.analyses.base import Section
from pairbank.stats.figures.figure import CAPTIONS, Figure
from pairbank.stats.figures.style import save_figure
from pairbank.stats.report.overview import overview_figures
from pairbank.stats.report.parallel import on_all_cores
from pairbank.stats.report.summary import summarise
from pairbank.stats.report.wide_tables import accuracy_table, agreement_table, headline
from pairbank.stats.scored_table.frame import ScoredFrame
from pairbank.stats.scored_table.scored_table import GROUPINGS

if TYPE_CHECKING:
    from pairbank.scoring.scored import Scored

DEFINITIONS = """\
- **accuracy**: share of items whose difference (good - bad, in nats) is positive, ties counted one half. For
  prompted methods the difference is averaged over all presentations of the item.
- **orders pooled**: every presentation is one trial: right if the correct option is the most probable.
  For judgments of single sentences this is balanced accuracy. The interval counts items, not trials.
- **first option chosen**: share of presentations in which the option shown first is the most probable (.5 = no bias
  where both orders are asked; with a fixed order, the share of items).
- **of likeliest ratings**: share of items whose better side gets the higher of the two most probable ratings, ties
  counted one half. For ratings, **accuracy** compares expected ratings, in points of the scale.
- **no answer found**: where the model writes its answer, the share of texts in which none was found, over all items;
  accuracy is over the items with an answer.
- **mean log P**: of the one word (or sentence) of one-sided items, given its context or a question about it. Agreement
  is then between these log-probabilities, not between differences.
- **Pearson r, Spearman rho**: between the differences of the method and of `direct` (or of people: mean judgment of
  the better sentence - of the worse one) over the items that both have. **Cohen's kappa, same choice**: between the
  signs of the differences; ties left out.
- Intervals are at level .95: Wilson for shares, clustered by items where each has several presentations; Student t for
  means; jackknife on the z scale for Pearson and Spearman (from 10 items on); asymptotic on the z scale for kappa
  (where both choices occur 5 times or more). Items with identical sides are left out and counted as excluded.
"""

SEED, N_RESAMPLES = 0, 1_000
"""Of the bootstrap, where nobody asks for others; a bank's results are made with them."""
FIGURES = "figures"
MOST_ROWS = 40
"""A longer table is cut on the page; its CSV file is whole."""


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
    figures: tuple[Figure, ...] = ()
    sections: tuple[Section, ...] = ()
    """The further analyses that were asked for."""
    tables: tuple[Scored, ...] = ()
    """What it was computed from."""

    def summary_of(self, table: Scored, *, seed: int = SEED, n_resamples: int = N_RESAMPLES) -> pd.DataFrame | None:
        """Return this very table's part of the summary; None for another one, or other draws than asked for."""
        if (seed, n_resamples) != (self.seed, self.n_resamples) or not any(one is table for one in self.tables):
            return None
        rows = (self.summary["corpus"] == table.corpus) & (self.summary["model"] == table.model)
        return self.summary[rows].reset_index(drop=True)

    @property
    def accuracy(self) -> pd.DataFrame:
        """Accuracies for people: the whole corpora and their subsets."""
        return accuracy_table(headline(self.summary))

    @property
    def agreement(self) -> pd.DataFrame:
        """Agreement between methods and with people."""
        return agreement_table(headline(self.summary))

    def markdown(self) -> str:
        """Return the report as Markdown; its figures are files beside it."""
        parts = [f"# {html_as_text(self.title)}", *self.notes, "## Accuracy", to_markdown(self.accuracy)]
        parts += ["## Agreement", to_markdown(self.agreement)]
        for group_by in (column for column in GROUPINGS if column != "subset"):
            part = self.summary[(self.summary["group_by"] == group_by)]
            if len(part):
                parts += [f"## Accuracy by {group_by.replace('_', ' ')}", to_markdown(accuracy_table(part))]
        parts += _figures_markdown(self.figures)
        for section in self.sections:
            parts += _section_markdown(section)
        parts += ["## Definitions", DEFINITIONS.rstrip()]
        parts += [f"Seed {self.seed}, {self.n_resamples} bootstrap resamples."]
        references = dict.fromkeys(reference for section in self.sections for reference in section.references)
        if references:
            parts += ["## References", "\n".join(f"- {reference}" for reference in references)]
        parts += ["## Signatures", "\n".join(f"- `{line}`" for line in self.signatures)]
        return "\n\n".join(parts) + "\n"

    def save(self, folder: str | Path) -> Path:
        """Write `report.md`, a CSV file of every table, and the figures as PNG and SVG with their captions.

        Returns:
            The folder.
        """
        root = Path(folder)
        write_text(root / "report.md", self.markdown())
        tables = {
            "summary": self.summary,
            "accuracy": accuracy_table(self.summary),
            "agreement": agreement_table(self.summary),
        }
        for section in self.sections:
            tables |= {f"{section.id}_{name}": table for name, table in section.tables.items()}
        for name, table in tables.items():
            write_text(root / f"{name}.csv", _csv(table))
        figures = [*self.figures, *(figure for section in self.sections for figure in section.figures)]
        written = on_all_cores(partial(_saved, folder=root / FIGURES), figures)
        for stale in {*root.glob(f"{FIGURES}/*.png"), *root.glob(f"{FIGURES}/*.svg")}.difference(*written):
            stale.unlink()
        if figures:
            write_json(root / FIGURES / CAPTIONS, {f"{figure.name}.png": figure.caption for figure in figures})
        else:
            (root / FIGURES / CAPTIONS).unlink(missing_ok=True)
        return root


def report(
    scored: Sequence[Scored],
    *,
    title: str = "pairbank report",
    seed: int = SEED,
    n_resamples: int = N_RESAMPLES,
    notes: Sequence[str] = (),
    analyses: Sequence[str] = (),
    options: Mapping[str, Mapping[str, Any]] | None = None,
    sections: Sequence[Section] = (),
) -> Report:
    """Return every estimate of some scored tables.

    Args:
        scored: what `pairbank.score` or `pairbank.read_scored` gave.
        title: heading of the report.
        seed: of the bootstrap; the same seed gives the same bytes.
        n_resamples: bootstrap resamples of each interval.
        notes: sentences that stand at the report's head.
        analyses: further analyses by name, in the order of their sections (`pairbank.stats.analyses.registry`). One
            that the tables do not allow has a section that says why.
        options: more arguments of an analysis, by its name: `{"introspection": {"features": ...}}`; those of one that
            is not asked for are not used. Text is read as the number or list that the option takes.
        sections: sections made elsewhere, put behind those of the analyses.

    Raises:
        BankError: nothing to report on, the same corpus and model twice, or an option with a text for a number.
        UnknownNameError: an analysis, or an option of one, that does not exist.
    """
    if not scored:
        raise BankError("nothing to report on; give at least one scored table")
    pairs = [(table.corpus, table.model) for table in scored]
    if len(set(pairs)) < len(pairs):
        twice = sorted({pair for pair in pairs if pairs.count(pair) > 1})
        raise BankError(f"scored twice: {', '.join(f'{c} by {m}' for c, m in twice)}; give each corpus and model once")
    given: dict[str, Mapping[str, Any]] = {name: {} for name in analyses} | dict(options or {})
    chosen = {name: checked_options(name, own) for name, own in given.items()}
    frames = [_frame(table) for table in scored]
    parts = on_all_cores(partial(_summarised, seed=seed, n_resamples=n_resamples), frames)
    summary = pd.concat(parts, ignore_index=True)
    return Report(
        title=title,
        summary=summary,
        signatures=tuple(signature_line(table.signature) for table in scored),
        seed=seed,
        n_resamples=n_resamples,
        notes=(*notes, *_unpinned(scored)),
        figures=overview_figures(summary, frames),
        sections=(
            *(
                section_or_note(name, frames, seed=seed, n_resamples=n_resamples, options=chosen[name])
                for name in analyses
            ),
            *sections,
        ),
        tables=tuple(scored),
    )


def table_summary(table: Scored, *, seed: int = SEED, n_resamples: int = N_RESAMPLES) -> pd.DataFrame:
    """Return every estimate of one scored table, as a report of it has them in its summary."""
    return _summarised(_frame(table), seed=seed, n_resamples=n_resamples)


def _frame(table: Scored) -> ScoredFrame:
    return ScoredFrame(
        corpus=table.corpus,
        model=table.model,
        frame=table.to_pandas(),
        layouts=tuple(MethodLayout.from_dict(layout) for layout in table.layouts),
        signature=table.signature,
    )


def _summarised(table: ScoredFrame, *, seed: int, n_resamples: int) -> pd.DataFrame:
    return summarise(table.frame, table.layouts, model=table.model, seed=seed, n_resamples=n_resamples)


def _unpinned(scored: Sequence[Scored]) -> list[str]:
    """Return a note a corpus that was not built from the pinned upstream files."""
    found = (unpinned_note(table.signature) for table in scored)
    return list(dict.fromkeys(html_as_text(" ".join(note.split())) for note in found if note is not None))


def _saved(figure: Figure, *, folder: Path) -> list[Path]:
    return save_figure(figure.draw(), folder / figure.name)


def _section_markdown(section: Section) -> list[str]:
    parts = [f"## {section.title}", section.text]
    for name, table in section.tables.items():
        parts += [f"### {name.replace('_', ' ').capitalize()}", to_markdown(_rounded(table.head(MOST_ROWS)))]
        if len(table) > MOST_ROWS:
            parts += [f"The first {MOST_ROWS} of {len(table):,} rows; all are in `{section.id}_{name}.csv`."]
    parts += _figures_markdown(section.figures)
    return [*parts, "### How these numbers are defined", section.definitions] if section.definitions else parts


def _figures_markdown(figures: Sequence[Figure]) -> list[str]:
    return [f"![{figure.name}]({FIGURES}/{figure.name}.png)\n\n*{html_as_text(figure.caption)}*" for figure in figures]


def _rounded(table: pd.DataFrame) -> pd.DataFrame:
    shown = table.astype(object)
    for name, column in table.items():
        if pd.api.types.is_float_dtype(column):
            shown[name] = [x if pd.isna(x) else f"{x:.3g}" if 0 < abs(x) < 0.1 else f"{x:.3f}" for x in column]
    return shown


def _csv(table: pd.DataFrame) -> str:
    """Return a table as CSV; a cell that a spreadsheet would run as a formula is defused with an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([defused(str(name)) for name in table.columns])
    for row in table.itertuples(index=False, name=None):
        writer.writerow(["" if pd.isna(cell) else defused(cell) if isinstance(cell, str) else cell for cell in row])
    return out.getvalue()
