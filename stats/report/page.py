"""The pages of a report: in, its sections; out, Markdown by file name, and one HTML page that opens anywhere.

The first page has the question, the answer with its numbers, the main figure and the main table, then a short part per
further question, then notes. Whole tables, other figures, definitions and signatures are in `appendix/`, linked.
"""

from __future__ import annotations

import base64
import functools
import html
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING

import pandas as pd

from pairbank.markdown import html_as_text, to_markdown
from pairbank.shown import spelt_out
from pairbank.stats.estimates.metrics import HUMAN
from pairbank.stats.figures.style import Figure, named, save_bytes
from pairbank.stats.report.overview_figures import PEOPLE
from pairbank.stats.report.wide_tables import accuracy_table, agreement_table, headline
from pairbank.stats.scored_table.scored_table import GROUPINGS
from pairbank.stats.wording import column_of

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

    from pairbank.stats.analyses.base import Section
    from pairbank.stats.report.report import Report


DEFINITIONS = """\
- **accuracy**: share of items with a positive difference (good - bad, in the method's unit). Ties (up to 1e-9) count
  one half. For prompted methods the difference is averaged over all presentations of the item.
- **orders pooled**: every presentation is one trial, right if the correct option is the most probable.
  For judgments of single sentences this is balanced accuracy. The interval counts items, not trials.
- **first option chosen**: share of presentations in which the option shown first is the most probable. Without bias it
  is 0.5 if both orders are asked; with a fixed order, it is the share of such items.
- **position bias**: this share is at least 0.95 or at most 0.05, and the correct option is shown in both places. Such
  answers name a place, not a side. The first page then gives the accuracy with **orders pooled**. The averaged accuracy
  compares how sure the model is of the same option in two presentations.
- **of likeliest ratings**: share of items whose better side gets the higher of the two most probable ratings; ties
  count one half. For ratings, **accuracy** compares expected ratings, in points of the scale.
- **no answer found**: share of written answers that were not found in the text, over all items. Accuracy is over the
  items with an answer.
- **mean log P**: of the one word (or sentence) of one-sided items, given its context or a question about it. Agreement
  is then between these log-probabilities, not between differences.
- **Pearson r, Spearman rho**: between the differences of the method and of `direct`, over the items that both have. For
  people, the difference is that of mean judgments. **Cohen's kappa, same choice**: between signs, without ties.
- **cannot read**: more than 5% of the items hold characters without a token (flag `unknown_token`), or more than 5% of
  the pairs have the same tokens on both sides (`identical_tokens`).
- **Intervals** (95%): Wilson for shares, clustered by items with several presentations; Student t for means.
  Pearson (from 4 items) and Spearman (from 10): jackknife on the z scale. Kappa: asymptotic on the z scale, if both
  choices occur 5 times or more. Items with identical sides are excluded and counted.
"""


FIRST, APPENDIX, FIGURES = "report.md", "appendix", "figures"
MOST_ROWS = 40
"""A longer table is cut in an appendix; its CSV file is whole."""
MOST_FIRST_ROWS = 40
"""The same on the first page."""
MOST_UNASKED = 2
"""Notes on methods that apply to no item of a corpus, on the first page; of more, all are in the appendix."""
_HEADINGS = {
    "choice_share": "share of its choice",
    "ci_method": "interval",
    "f1_chosen": "F1 (chosen layer)",
    "f1_control": "F1 (control)",
    "f1_selectivity": "F1 − control",
    "all_alike": "same answers",
    "group_by": "grouping",
    "independent_models": "independent models",
    "known_errors": "known errors",
    "mean_discrimination": "mean discrimination",
    "last_checkpoint": "last checkpoint",
    "n_excluded": "excluded",
    "n_undefined": "undefined",
    "onset_over_first": "onset (over first)",
    "n_paradigms": "paradigms",
    "p_onset": "p (onset)",
    "p_over_first": "p (over first)",
}
"""Columns of CSV files whose names are no headings."""
_NAMED = ("method", "versus", "other", "first", "second", "within", "a", "b")
"""Columns whose values may be names of methods."""


def pages_of(report: Report) -> dict[str, str]:
    """Return the Markdown of each page, by its path inside the report's folder; the first is `report.md`."""
    appendices = {f"{APPENDIX}/{section.id}.md": list(_appendix(section, report)) for section in report.parts}
    appendices[f"{APPENDIX}/accuracy.md"] = list(_accuracies(report))
    appendices[f"{APPENDIX}/agreement.md"] = [
        "# Agreement with `direct` and with people",
        _table(agreement_table(headline(report.summary)), report.labels),
    ]
    appendices[f"{APPENDIX}/how.md"] = list(_how(report))
    parts = {FIRST: list(_first(report, list(appendices)))} | appendices
    return {name: spelt_out("\n\n".join(part) + "\n") for name, part in parts.items()}


def _first(report: Report, appendices: Sequence[str]) -> Iterator[str]:
    lead, *others = (_short(section, report.labels) for section in report.parts)
    yield f"# {html_as_text(report.title)}"
    if report.description:
        yield html_as_text(report.description)
    cautions = (in_words(caution, report.labels) for caution in report.cautions)
    yield from lead
    yield from (f"> {warning}" for warning in (*report.warnings, *cautions))
    for part in others:
        yield from part
    if notes := [*report.notes, *_unasked(report)]:
        yield "## Notes"
        yield "\n".join(f"- {note}" for note in notes)
    yield "## Appendix"
    names = {f"{APPENDIX}/{section.id}.md": section.title for section in report.parts} | {
        f"{APPENDIX}/accuracy.md": "Accuracy of every model, corpus, group and method",
        f"{APPENDIX}/agreement.md": "Agreement with `direct` and with people",
        f"{APPENDIX}/how.md": "Definitions, references, ids of methods, signatures",
    }
    yield "\n".join(f"- [{names[path]}]({path})" for path in appendices)
    yield "Every table is a CSV file beside this page, with all digits; `summary.csv` has every estimate."


def _unasked(report: Report) -> list[str]:
    """Return which methods apply to no item of a corpus; of many corpora, where that is listed."""
    if len(report.unasked) <= MOST_UNASKED:
        return [in_words(entry, report.labels) for entry in report.unasked]
    return [f"{len(report.unasked)} corpora lack methods that apply to none of their items: [list]({APPENDIX}/how.md)."]


def _short(section: Section, labels: Mapping[str, str]) -> Iterator[str]:
    """Yield what the first page has of a section: its answer, one figure, one table."""
    yield f"## {section.title}"
    yield in_words(section.lead, labels)
    if (figure := section.first_figure) is not None:
        yield from _figures([figure], FIGURES, labels)
    for name, caption in ((section.main_table, ""), (section.second_table, section.second_caption)):
        table = section.tables[name].dropna(axis="columns", how="all") if name else pd.DataFrame()
        if table.empty:
            continue
        if caption:
            yield in_words(caption, labels)
        yield _table(table.head(MOST_FIRST_ROWS), labels)
        if len(table) > MOST_FIRST_ROWS:
            yield f"The first {MOST_FIRST_ROWS} of {len(table):,} lines; all are in `{section.id}_{name}.csv`."
    if section.footnotes:
        yield "\n\n".join(in_words(note, labels) for note in section.footnotes)


def _appendix(section: Section, report: Report) -> Iterator[str]:
    yield f"# {section.title}"
    yield "[Back to the report](../report.md)"
    texts = (section.answer if section.answer not in section.text else "", section.text)
    yield from (in_words(part, report.labels) for part in texts if part)
    for name, table in section.tables.items():
        if table.empty:
            continue
        yield f"## {name.replace('_', ' ').capitalize()}"
        yield _table(table.head(MOST_ROWS), report.labels)
        if len(table) > MOST_ROWS:
            yield f"The first {MOST_ROWS} of {len(table):,} rows; all are in `{section.id}_{name}.csv`."
    yield from _figures(section.figures, f"../{FIGURES}", report.labels)
    if section.definitions:
        yield "## How these numbers are defined"
        yield section.definitions


def _accuracies(report: Report) -> Iterator[str]:
    yield "# Accuracy of every model, corpus, group and method"
    yield "[Back to the report](../report.md)"
    yield _table(accuracy_table(headline(report.summary)), report.labels)
    for group_by in (column for column in GROUPINGS if column != "subset"):
        part = report.summary[report.summary["group_by"] == group_by]
        if len(part):
            yield f"## By {group_by.replace('_', ' ')}"
            yield _table(accuracy_table(part), report.labels)


def _how(report: Report) -> Iterator[str]:
    yield "# How these numbers are made"
    yield "[Back to the report](../report.md)"
    yield "## Definitions"
    yield DEFINITIONS.rstrip()
    if report.unasked:
        yield "## Methods that apply to no item of a corpus"
        yield "\n".join(f"- {in_words(entry, report.labels)}" for entry in report.unasked)
    if report.imported:
        yield "## Scores computed elsewhere"
        yield "\n".join(f"- {line}" for line in report.imported)
    if draws := {section.id: section.draws for section in report.parts if section.draws}:
        yield "## Random draws"
        yield f"Seed {report.seed}. {'; '.join(f'`{name}`: {drawn}' for name, drawn in draws.items())}."
    if report.labels:
        yield "## Methods"
        yield to_markdown(pd.DataFrame([{"method": label, "id": name} for name, label in report.labels.items()]))
    references = dict.fromkeys(reference for section in report.parts for reference in section.references)
    if references:
        yield "## References"
        yield "\n".join(f"- {reference}" for reference in references)
    yield "## Signatures"
    yield "\n".join(f"- `{line}`" for line in report.signatures)


def in_words(text: str, labels: Mapping[str, str]) -> str:
    """Return a text with methods by the names that people call them, where their ids stand between backticks.

    >>> in_words("`meta` follows `direct`.", {"meta": "Meta"})
    'Meta follows `direct`.'
    """
    return re.sub(r"`([^`\n]+)`", lambda result: labels.get(result[1], result[0]), text)


def _figures(figures: Sequence[Figure], folder: str, labels: Mapping[str, str]) -> Iterator[str]:
    for figure in figures:
        yield f"![{figure.name}]({folder}/{figure.name}.png)"
        yield f"*{html_as_text(in_words(figure.caption, labels))}*"


def _table(table: pd.DataFrame, labels: Mapping[str, str]) -> str:
    """Return a table as Markdown, numbers rounded, methods by the names that people call them."""
    if table.empty:
        return "There are none."
    if "n_paradigms" in table.columns and not table["n_paradigms"].any():  # its intervals are empty, too
        table = table.drop(columns="n_paradigms")
    labels = {HUMAN: PEOPLE, **labels}
    shown = table.astype(object).rename(columns={**_HEADINGS, **labels})
    for name, column in zip(shown.columns, (table[column] for column in table.columns), strict=True):
        if pd.api.types.is_float_dtype(column):
            shown[name] = column_of(column, str(column.name))
        elif name in _NAMED:
            shown[name] = [_called(x, labels) if isinstance(x, str) else x for x in column]
    return to_markdown(shown)


def _called(method: str, labels: Mapping[str, str]) -> str:
    """Return the name of a method, which may be followed by how its answers were read: `likert (argmax)`."""
    known, bracket, reading = method.partition(" (")
    return labels.get(method, labels.get(known, known) + bracket + reading)


_HEAD = '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">'
_POLICY = (
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src 'self' data:; "
    "style-src 'unsafe-inline'\">"
)


def page_of_html(title: str, pages: Mapping[str, str]) -> str:
    """Return all pages as one: the first open, the appendices folded below it.

    Args:
        title: of the window.
        pages: Markdown by path, as `pages_of` returns it.
    """
    parts = [_html(pages[FIRST])]
    for path, text in pages.items():
        if path != FIRST:
            heading, _, rest = text.partition("\n")
            body = _html(
                rest.replace("[Back to the report](../report.md)\n", "").replace(f"(../{FIGURES}/", f"({FIGURES}/")
            )
            label = _markdown().renderInline(heading.removeprefix("# "))
            parts.append(f'<details id="{_anchor(path)}"><summary>{label}</summary>\n{body}</details>')
        parts[0] = parts[0].replace(f'href="{path}"', f'href="#{_anchor(path)}"')
    style = (resources.files("pairbank.stats.report") / "templates" / "report.css").read_text(encoding="utf-8")
    head = f"{_HEAD}\n{_POLICY}\n<title>{html.escape(title)}</title>\n<style>\n{style}</style>"
    return "\n".join([head, "<body>", *parts, "</body>", "</html>", ""])


def shown_in_notebook(report: Report) -> str:
    """Return the first page of a report as HTML, its figures inside it."""
    page = pages_of(report)[FIRST].partition("\n## Appendix\n")[0]
    shown = _html(page)
    for figure in report.figures:
        place = f'src="{FIGURES}/{figure.name}.png"'
        if place in shown:
            out = io.BytesIO()
            with named(report.labels):
                save_bytes(figure.draw(), out)
            shown = shown.replace(place, f'src="data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}"')
    return shown


def _anchor(path: str) -> str:
    return path.removeprefix(f"{APPENDIX}/").removesuffix(".md")


def _html(text: str) -> str:
    created: str = _markdown().render(text)
    return created.replace("<table>", '<div class="table"><table>').replace("</table>", "</table></div>")


@functools.cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table")
