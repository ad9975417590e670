"""`report`: scored tables to a summary, sections of analyses, tables, figures and a folder that a reader can open."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from pairbank.errors import BankError, spelt_out
from pairbank.files import defused, several, write_json, write_text, written_together
from pairbank.markdown import html_as_text
from pairbank.scoring.api.layout import MethodLayout
from pairbank.scoring.signature import signature_line, unpinned_note
from pairbank.stats.analyses.base import Context, Section
from pairbank.stats.analyses.baselines import models_and_nulls
from pairbank.stats.analyses.registry import analysis_named, checked_options, section_or_note
from pairbank.stats.figures.letters import warn_of_letters
from pairbank.stats.figures.style import CAPTIONS, ENDINGS, Figure, named, save_figure
from pairbank.stats.report.checks import sentences
from pairbank.stats.report.frames import scored_frame, scored_frames
from pairbank.stats.report.item_sets import ids_by_text, item_set_notes
from pairbank.stats.report.overview import facts_of, glosses_of, overview, phenomena, question_of
from pairbank.stats.report.page import (
    APPENDIX,
    FIGURES,
    FIRST,
    as_markdown,
    build_pages,
    in_words,
    page_of_html,
    pages_of,
    shown_in_notebook,
)
from pairbank.stats.report.summary import on_all_cores, summarise
from pairbank.stats.report.wide_tables import accuracy_table, agreement_table, headline, wide_numbers
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.model_features import ModelFeatures, declared_of, from_small_to_large, tuned_pairs
from pairbank.stats.scored_table.scored_table import DTYPES

if TYPE_CHECKING:
    from pairbank.scoring.scored import Scored
    from pairbank.stats.analyses.neuro import Probed

SEED, N_RESAMPLES = 0, 1_000
"""Of random draws, where nobody asks for others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Every estimate of some scored tables, and what they were computed from.

    >>> import pairbank
    >>> made = pairbank.report(pairbank.score([("The dogs bark.", "The dogs barks.")], "fake:a"))
    >>> [figure.name for figure in made.figures]
    ['accuracy_items']
    """

    title: str
    """The question."""
    summary: pd.DataFrame
    """Long table: model, corpus, group, method, versus, metric, value, low, high, n …"""
    overview: Section
    """Accuracy by probability and when prompted, which every report has."""
    signatures: tuple[str, ...]
    seed: int
    phenomena: Section | None = None
    """Accuracy by phenomenon, where no analysis was asked for and a corpus names phenomena."""
    description: str = ""
    """What was done, in a sentence, under the title."""
    warnings: tuple[str, ...] = ()
    """What stands before the answer: models that failed, items that models do not share."""
    cautions: tuple[str, ...] = ()
    """Which texts a model cannot read."""
    unasked: tuple[str, ...] = ()
    """Which methods apply to no item of a corpus."""
    left_out: tuple[str, ...] = ()
    """Why numbers rest on fewer items than a corpus has, a sentence per corpus, for every page with numbers."""
    notes: tuple[str, ...] = ()
    """Deviations and limits that a reader must know."""
    sections: tuple[Section, ...] = ()
    """The further analyses that were asked for, and those that the models call for."""
    is_asked: bool = True
    """Whether the first of them answers the question; else it follows what every report has."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What people call the methods, by their names."""
    glosses: Mapping[str, str] = field(default_factory=dict)
    """What each method measures, by what people call it."""
    tables: tuple[Scored, ...] = ()
    """What it was computed from."""

    @property
    def parts(self) -> tuple[Section, ...]:
        """All sections, as they are read: first the one that answers the question, which is never an empty one."""
        if self.sections and self.is_asked and not self.sections[0].reason:
            return (self.sections[0], self.overview, *self.sections[1:])
        return (self.overview, *([self.phenomena] if self.phenomena else []), *self.sections)

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The figures of all sections."""
        return tuple(figure for section in self.parts for figure in section.figures)

    @property
    def imported(self) -> tuple[str, ...]:
        """What the scores of imported methods are, and what their differences are measured in, one line per method."""
        lines: dict[str, list[str]] = {}
        for table in self.tables:
            for name, definition in table.signature["methods"].items() if "imported" in table.signature else ():
                unit = html_as_text(MethodLayout.from_dict(definition["layout"]).unit_in_words)
                line = f"`{name}`: {html_as_text(definition['paper'])}. Difference (good - bad) in {unit}."
                n_by_flag = table.signature.get("n_by_flag", {}).get(name, {}).items()
                left_out = ", ".join(f"{n:,} {flag.replace('_', ' ')}" for flag, n in n_by_flag)
                of = html_as_text(f"{table.model} on {table.corpus}{f' ({left_out})' if left_out else ''}")
                lines.setdefault(line, []).append(of)
        return tuple(f"{line} {'; '.join(of)}." for line, of in lines.items())

    def summary_of(self, table: Scored) -> pd.DataFrame | None:
        """Return this very table's part of the summary; None for another one."""
        if not any(other is table for other in self.tables):
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
        """Return the first page as Markdown; its figures and appendices are files beside it."""
        return pages_of(self)[FIRST]

    def html(self) -> str:
        """Return the whole report as one page of HTML; its figures are files beside it."""
        return page_of_html(self.title, build_pages(self))

    def __repr__(self) -> str:
        corpora, models = (self.summary[name].nunique() for name in ("corpus", "model"))
        return (
            f"<Report: {self.title}\n"
            f"  {corpora} corpora, {models} models, {len(self.summary):,} estimates, {len(self.figures)} figures\n"
            f"  sections: {'; '.join(section.title for section in self.parts)}\n"
            "  .summary, .accuracy, .agreement, .markdown(), .html(), .save(FOLDER)>"
        )

    def _repr_html_(self) -> str:
        return shown_in_notebook(self)

    def save(self, folder: str | Path) -> Path:
        """Write the report.

        `report.md`, the first page; `appendix/`, the others; `report.html`, all of them; a CSV file of every table; the
        figures as PNG, SVG and PDF with their captions.

        Returns:
            The folder.
        """
        root = Path(folder)
        built = build_pages(self)
        pages = as_markdown(built)
        # The first page last: where it is, the report is whole.
        with written_together(root, last=next(iter(pages))) as staged:
            with ThreadPoolExecutor(max_workers=1) as beside:  # while other processes draw
                html = beside.submit(page_of_html, self.title, built)
                tables = beside.submit(lambda: {f"{name}.csv": _csv(table) for name, table in self.csv_tables.items()})
                self._save_figures(staged / FIGURES)
            for name, text in ({"report.html": html.result()} | tables.result() | pages).items():
                write_text(staged / name, text)
            current = {path.relative_to(staged) for path in staged.rglob("*")}
        stale = [*root.glob(f"{APPENDIX}/*.md"), *root.glob(f"{FIGURES}/{CAPTIONS}")]
        stale += [path for ending in ENDINGS for path in root.glob(f"{FIGURES}/*.{ending}")]
        for path in stale:
            if path.relative_to(root) not in current:
                path.unlink()
        return root

    @property
    def csv_tables(self) -> dict[str, pd.DataFrame]:
        """All tables, by the names of their CSV files."""
        tables = {"summary": self.summary}
        if self.summary.empty:
            tables["summary"] = self.overview.tables[self.overview.main_table]
        else:
            tables |= {
                "accuracy": wide_numbers(self.summary, "accuracy"),
                "agreement": wide_numbers(self.summary, "agreement"),
            }
        for section in self.parts:
            tables |= {f"{section.id}_{name}": table for name, table in section.tables.items()}
        return tables

    def _save_figures(self, folder: Path) -> None:
        undrawn = on_all_cores(partial(_saved, folder=folder, names=self.labels), self.figures)
        warn_of_letters(itertools.chain.from_iterable(undrawn))
        if self.figures:
            captions = {f"{figure.name}.png": in_words(figure.caption, self.labels) for figure in self.figures}
            write_json(folder / CAPTIONS, captions)


def report(
    scored: Scored | str | Path | Iterable[Scored | str | Path],
    *,
    title: str = "",
    description: str = "",
    seed: int = SEED,
    n_resamples: int = N_RESAMPLES,
    warnings: Sequence[str] = (),
    notes: Sequence[str] = (),
    analyses: str | Sequence[str] = (),
    options: Mapping[str, Mapping[str, Any]] | None = None,
    features: Mapping[str, ModelFeatures] | None = None,
    ratings: pd.DataFrame | Sequence[pd.DataFrame | str] = (),
    mean_ratings: Sequence[str] = (),
    probed: Probed | Sequence[Probed] = (),
    responses: Mapping[str, pd.DataFrame] | None = None,
) -> Report:
    """Return every estimate of some scored tables.

    Args:
        scored: what `pairbank.score` or `pairbank.read_scored` gave, or its file: one or several.
        title: heading of the report: its question; empty = one about its models and corpora.
        description: what was done, in a sentence; shown under the title.
        seed: of every random draw; the same seed gives the same bytes.
        n_resamples: resamples of items, in the analyses that resample.
        warnings: sentences at the report's head, before the answer.
        notes: sentences below the answer: deviations and the like.
        analyses: further analyses by name, in the order of their sections. One that the tables do not allow says why.
        options: more arguments of an analysis, by its name: `{"introspection": {"features": ...}}`.
        features: what is declared of models, by name: they stand from small to large; None = the option `features` of
            the analysis `introspection`, and what the shipped lists have.
        ratings: individual ratings of the items (`load_ratings(...).to_pandas()`, or parquet files of them).
        mean_ratings: corpora whose sources give mean ratings and no individual ones.
        probed: what `pairbank.probe` gave, for a section of its own and for the analysis `languages`.
        responses: what `pairbank.participants` gave, by model, for a section of its own.

    Raises:
        BankError: nothing to report on, the same corpus and model twice, tables of one corpus with the same item ids
            and no text in common, or an option with a text for a number.
        UnknownNameError: an analysis, or an option of one, that does not exist.

    >>> import pairbank
    >>> made = report(pairbank.score([("The dogs bark.", "The dogs barks.")], "fake:a"))
    >>> made.accuracy["n"].tolist()
    [1]
    """
    context = Context(
        seed=seed,
        n_resamples=n_resamples,
        ratings=tuple(several(ratings)),
        mean_ratings=tuple(mean_ratings),
        probed=tuple(several(probed)),
        responses=responses or {},
    )
    made = _report(several(scored, tables=True), several(analyses), context, options or {}, features)
    warned, noted = (*warnings, *made.warnings), (*notes, *made.notes)
    return replace(made, title=title or made.title, description=description, warnings=warned, notes=noted)


def _report(
    scored: Sequence[Scored],
    analyses: Sequence[str],
    context: Context,
    options: Mapping[str, Mapping[str, Any]],
    features: Mapping[str, ModelFeatures] | None,
) -> Report:
    if not scored:
        raise BankError("nothing to report on; give at least one scored table")
    pairs = [(table.corpus, table.model) for table in scored]
    if len(set(pairs)) < len(pairs):
        twice = sorted({pair for pair in pairs if pairs.count(pair) > 1})
        raise BankError(f"scored twice: {', '.join(f'{c} by {m}' for c, m in twice)}; give each corpus and model once")
    options_by_name: dict[str, Mapping[str, Any]] = {name: {} for name in analyses} | dict(options)
    chosen: dict[str, dict[str, Any]] = {name: checked_options(name, given) for name, given in options_by_name.items()}
    if features is None:
        features = chosen.get("introspection", {}).get("features")
    scored, order = from_small_to_large(scored, features)
    ids, pairing = ids_by_text(scored)
    frames = scored_frames(scored, ids, for_analyses=bool(options_by_name))
    summary = pd.concat(on_all_cores(_summarised, frames, more_follows=True), ignore_index=True)
    frames, nulls = models_and_nulls(frames)
    context = replace(context, nulls=nulls, features=features or {})
    of_models = summary if not nulls else summary[summary["model"].isin({frame.model for frame in frames})]
    tuned = tuned_pairs(declared_of(frames, context.features))
    own = {"base_instruct": tuned, "neuro": context.probed, "participants": context.responses, "null_models": nulls}
    names = dict.fromkeys([*analyses, *(name for name, present in own.items() if present)])
    facts = facts_of(of_models, frames)
    has_phenomena = not analyses and not context.probed and (facts.own["group_by"] == "phenomenon").any()
    by_phenomenon = phenomena(frames, context, facts=facts) if has_phenomena else None
    cautions = ("caution", "caution on analyses") if analyses else ("caution",)
    item_sets, left_out = item_set_notes(frames), sentences(facts, "left out")
    notes = (unpinned_note(table.signature) for table in scored)
    unpinned = (html_as_text(" ".join(note.split())) for note in notes if note is not None)
    sections = (*(section_or_note(name, frames, context, options=chosen.get(name, {})) for name in names),)
    return Report(
        title=question_of(of_models, frames),
        summary=summary,
        overview=overview(frames, context, summary=of_models, left_out=left_out),
        phenomena=by_phenomenon if by_phenomenon and by_phenomenon.tables else None,
        signatures=tuple(signature_line(table.signature) for table in scored),
        seed=context.seed,
        warnings=(*pairing, *item_sets, *dict.fromkeys(unpinned)),
        cautions=tuple(map(html_as_text, sentences(facts, *cautions))),
        unasked=tuple(map(html_as_text, sentences(facts, "unasked"))),
        left_out=(*map(html_as_text, left_out), *item_sets[-1:]),
        notes=(*([order] if order else []), *map(html_as_text, sentences(facts, "note"))),
        sections=sections,
        is_asked=bool(analyses) or all(section.leads for section in sections[:1]),
        labels=facts.labels,
        glosses=glosses_of(frames, facts.labels),
        tables=tuple(scored),
    )


def alone_report(
    rows: pd.DataFrame,
    analysis: str,
    *,
    name: str,
    seed: int = SEED,
    options: Mapping[str, Any] | None = None,
    features: Mapping[str, ModelFeatures] | None = None,
) -> Report:
    """Return the report of a table of its own, whose only section is one analysis; the name is the corpus's."""
    by_model = rows.groupby("model", sort=False) if "model" in rows else [(name, rows)]
    tables = [ScoredFrame(corpus=name, model=str(model), frame=of_model, layouts=()) for model, of_model in by_model]
    context = Context(seed=seed, features=features or {})
    section = analysis_named(analysis)(tables, context, **checked_options(analysis, options or {}))
    nothing = pd.DataFrame(columns=[*DTYPES])
    return Report(title=f"{name}: {section.title}", summary=nothing, overview=section, signatures=(), seed=seed)


def table_summary(table: Scored) -> pd.DataFrame:
    """Return every estimate of one scored table, as a report of it has them in its summary."""
    return _summarised(scored_frame(table, for_analyses=False))


def _summarised(table: ScoredFrame) -> pd.DataFrame:
    return summarise(table.frame, table.layouts, model=table.model, signature=table.signature)


def _saved(figure: Figure, *, folder: Path, names: Mapping[str, str]) -> list[str]:
    with named(names):
        drawing, undrawn = figure.draw(), list[str]()
        save_figure(drawing, folder / figure.name, on_undrawn=undrawn.extend)
        drawing.clear()  # its parts name each other, and would stay until Python looks for such circles
        return undrawn


def _csv(table: pd.DataFrame) -> str:
    """Return a table as CSV; text that a spreadsheet would run as a formula is defused with an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([defused(spelt_out(str(name))) for name in table.columns])
    for row in table.itertuples(index=False, name=None):
        writer.writerow(["" if pd.isna(cell) else defused(cell) if isinstance(cell, str) else cell for cell in row])
    return out.getvalue()
