"""The pages of a report: in, its sections; out, blocks, which one renderer writes as Markdown and one as HTML.

The first page has the question, the answer with its numbers, the main figure and the main table, then a short part per
further question, then notes. Whole tables, other figures, definitions and signatures are in `appendix/`, linked.
"""

from __future__ import annotations

import base64
import functools
import html
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from pairbank.errors import spelt_out
from pairbank.markdown import html_as_text, to_markdown
from pairbank.stats.analyses.base import MOST_FIRST_ROWS, Section
from pairbank.stats.estimates.estimate import HUMAN
from pairbank.stats.figures.style import Figure, named, save_bytes
from pairbank.stats.report.overview_figures import PEOPLE
from pairbank.stats.report.wide_tables import accuracy_table, agreement_table, headline
from pairbank.stats.scored_table.scored_table import GROUPINGS
from pairbank.stats.wording import MISSING, UNDEFINED, column_of, whole

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

    from pairbank.stats.report.report import Report


FIRST, APPENDIX, FIGURES = "report.md", "appendix", "figures"
MOST_ROWS = 40
"""A longer table is cut in an appendix; its CSV file is whole."""
MOST_GLOSSES = 8
"""Lines on what methods measure, on the first page; the appendix has all."""
MOST_UNASKED = 2
"""Notes on methods that apply to no item of a corpus, on the first page; of more, all are in the appendix."""
_HEADINGS = {
    **{f"mean_{name}": f"mean {name}" for name in ("discrimination", "shift", "surprisal")},
    "independent_models": "independent models",
    "known_errors": "known errors",
    "last_checkpoint": "last checkpoint",
    "choice_share": "share of its choice",
    "delta_ll": "Δ log-likelihood",
    "effect_high": "effect, high",
    "effect_low": "effect, low",
    "effect_ms": "effect (ms per bit)",
    "ci_method": "interval",
    "f1": "F1",
    "f1_chosen": "F1 (chosen layer)",
    "f1_control": "F1 (control)",
    "f1_selectivity": "F1 − control",
    "all_alike": "same answers",
    "group_by": "grouping",
    "n_excluded": "excluded",
    "n_undefined": "undefined",
    "onset_over_first": "onset (over first)",
    "n_paradigms": "paradigms",
    "p_onset": "p (onset)",
    "p_over_first": "p (over first)",
    "p_holm": "p (Holm)",
}
"""Columns of CSV files whose names are no headings."""
MISSING_NOTE = f"{MISSING} No value: not scored, not applicable or undefined."
_REMARKS = ("notes", "reason")
"""Columns that are empty where there is nothing to remark."""
_NAMED = ("method", "versus", "other", "first", "second", "within", "a", "b", "level", "furthest")
"""Columns whose values may be names of methods."""

_HEAD = '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">'
_POLICY = (
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src 'self' data:; "
    "style-src 'unsafe-inline'\">"
)


class Heading(NamedTuple):
    """Of a part of a page: Markdown of one line."""

    text: str


class Text(NamedTuple):
    """Paragraphs and lists, as Markdown; a caution is set apart from the text around it."""

    markdown: str
    is_caution: bool = False


class Picture(NamedTuple):
    """A figure: the name of its file, and its caption as Markdown of one line."""

    name: str
    caption: str


class Table(NamedTuple):
    """A table whose cells are text."""

    cells: pd.DataFrame


class Links(NamedTuple):
    """Titles of other pages, by path."""

    titles: Mapping[str, str]


Block = Heading | Text | Picture | Table | Links


class Page(NamedTuple):
    """A title, and what is below it."""

    title: str
    blocks: Sequence[Block]


def pages_of(report: Report) -> dict[str, str]:
    """Return the Markdown of each page, by its path inside the report's folder; the first is `report.md`."""
    return as_markdown(build_pages(report))


def build_pages(report: Report) -> dict[str, Page]:
    """Return the pages by their paths, `report.md` first, before they are written as Markdown or HTML."""
    appendices = {
        f"{APPENDIX}/{section.id}.md": Page(section.title, [*_appendix(section, report)]) for section in report.parts
    }
    if len(report.summary):
        agreement = _table(agreement_table(headline(report.summary)), report.labels)
        appendices |= {
            f"{APPENDIX}/accuracy.md": Page(
                "Accuracy of every model, corpus, group and method", [*_left_out(report), *_accuracies(report)]
            ),
            f"{APPENDIX}/agreement.md": Page(
                "Agreement with `direct` and with people", [*_left_out(report), agreement]
            ),
        }
    appendices[f"{APPENDIX}/how.md"] = Page("Definitions, references, ids of methods, signatures", [*_how(report)])
    titles = {path: page.title for path, page in appendices.items()}
    first = Page(html_as_text(report.title), [*_first(report), *_end(titles)])
    return {path: Page(page.title, [*_explained(page.blocks)]) for path, page in ({FIRST: first} | appendices).items()}


def _explained(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield blocks, and below the first table with a cell without a value what its mark means."""
    told = False
    for block in blocks:
        yield block
        if not told and isinstance(block, Table) and block.cells.isin([MISSING]).any(axis=None):
            told = True
            yield Text(MISSING_NOTE)


def _first(report: Report) -> Iterator[Block]:
    lead, *others = (_short(section, report.labels) for section in report.parts)
    if report.description:
        yield Text(html_as_text(report.description))
    blocks = [*lead]
    yield from blocks
    yield from _methods(report.glosses, blocks)
    cautions = (in_words(caution, report.labels) for caution in report.cautions)
    yield from (Text(caution, is_caution=True) for caution in (*report.warnings, *cautions))
    for part in others:
        yield from part
    if notes := [*report.notes, *_unasked(report)]:
        yield Heading("Notes")
        yield _list(notes)


def _methods(glosses: Mapping[str, str], blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield what the methods measure that some blocks name; where they name none, all methods."""
    text = " ".join(block.markdown for block in blocks if isinstance(block, Text))
    tables = [block.cells for block in blocks if isinstance(block, Table)]
    cells = {str(x) for table in tables for x in (*table.columns, *table.to_numpy().ravel())}
    own = {
        name: gloss
        for name, gloss in glosses.items()
        if name in text or {name.strip("`"), name.partition(" (")[0]} & cells
    } or glosses
    names: dict[str, list[str]] = {}
    for name, gloss in own.items():
        names.setdefault(gloss, []).append(name)
    lines = [f"- **{', '.join(alike)}**: {gloss}." for gloss, alike in names.items()]
    more = [f"- [All methods]({APPENDIX}/how.md)"] if len(own) < len(glosses) or len(lines) > MOST_GLOSSES else []
    if lines:
        yield Text("\n".join(["Methods:", *lines[:MOST_GLOSSES], *more]))


def _end(titles: Mapping[str, str]) -> Iterator[Block]:
    yield Heading("Appendix")
    yield Links(titles)
    yield Text(
        "Every table is a CSV file beside this page, with all digits. `summary.csv` has every estimate; the overview "
        "quotes its columns `value` and `n`, and the wider of `low` to `high` (items) and `low_paradigms` to "
        "`high_paradigms`."
    )


def _list(lines: Sequence[str]) -> Text:
    return Text("\n".join(f"- {line}" for line in lines))


def _left_out(report: Report) -> Iterator[Block]:
    yield from (Text(in_words(sentence, report.labels)) for sentence in report.left_out)


def _unasked(report: Report) -> list[str]:
    """Return which methods apply to no item of a corpus; of many corpora, where that is listed."""
    if len(report.unasked) <= MOST_UNASKED:
        return [in_words(sentence, report.labels) for sentence in report.unasked]
    return [f"{len(report.unasked)} corpora lack methods that apply to none of their items: [list]({APPENDIX}/how.md)."]


def _short(section: Section, labels: Mapping[str, str]) -> Iterator[Block]:
    """Yield what the first page has of a section: its answer, one figure, one table."""
    yield Heading(section.title)
    yield Text(in_words(section.lead, labels))
    if (figure := section.first_figure) is not None:
        yield _picture(figure, labels)
    for name, caption in ((section.main_table, ""), (section.second_table, section.second_caption)):
        table = section.tables[name].dropna(axis="columns", how="all") if name else pd.DataFrame()
        if table.empty:
            continue
        if name == section.main_table and section.main_columns:
            table = table[[column for column in section.main_columns if column in table.columns]]
        if caption:
            yield Text(in_words(caption, labels))
        yield from _cut(table, MOST_FIRST_ROWS, f"{section.id}_{name}.csv", labels)
    yield from (Text(in_words(note, labels)) for note in section.footnotes)


def _cut(table: pd.DataFrame, most: int, file: str, labels: Mapping[str, str]) -> Iterator[Block]:
    yield _table(table.head(most), labels)
    if len(table) > most:
        yield Text(f"The first {most} of {len(table):,} rows; all are in `{file}`.")


def _appendix(section: Section, report: Report) -> Iterator[Block]:
    texts = (section.answer if section.answer not in section.text else "", section.text)
    yield from (Text(in_words(part, report.labels)) for part in texts if part)
    if section.tables:
        yield from _left_out(report)
    for name, table in section.tables.items():
        if table.empty:
            continue
        yield Heading(name.replace("_", " ").capitalize())
        yield from _cut(table, MOST_ROWS, f"{section.id}_{name}.csv", report.labels)
    yield from (_picture(figure, report.labels) for figure in section.figures)
    if section.definitions:
        yield Heading("How these numbers are defined")
        yield Text(section.definitions)


def _accuracies(report: Report) -> Iterator[Block]:
    yield _table(accuracy_table(headline(report.summary)), report.labels)
    for group_by in (column for column in GROUPINGS if column != "subset"):
        part = report.summary[report.summary["group_by"] == group_by]
        if len(part):
            yield Heading(f"By {group_by.replace('_', ' ')}")
            yield _table(accuracy_table(part), report.labels)


def _how(report: Report) -> Iterator[Block]:
    yield Heading("Definitions")
    yield Text(_template("definitions.md").rstrip())
    if report.unasked:
        yield Heading("Methods that apply to no item of a corpus")
        yield _list([in_words(sentence, report.labels) for sentence in report.unasked])
    if report.imported:
        yield Heading("Scores computed elsewhere")
        yield _list(report.imported)
    if draws := {section.id: section.draws for section in report.parts if section.draws}:
        yield Heading("Random draws")
        yield Text(f"Seed {report.seed}. {'; '.join(f'`{name}`: {drawn}' for name, drawn in draws.items())}.")
    if report.glosses:
        yield Heading("Methods")
        ids = {label: name for name, label in report.labels.items()}
        rows = [
            {"method": html.unescape(name), "id": ids.get(name, ""), "what it measures": html.unescape(gloss)}
            for name, gloss in report.glosses.items()
        ]
        yield Table(_with_marks(pd.DataFrame(rows)))
    references = dict.fromkeys(reference for section in report.parts for reference in section.references)
    if references:
        yield Heading("References")
        yield _list([*references])
    yield Heading("Signatures")
    yield _list([f"`{line}`" for line in report.signatures])


def in_words(text: str, labels: Mapping[str, str]) -> str:
    """Return a text with methods by the names that people call them, where their ids stand between backticks.

    >>> in_words("`meta` follows `direct`.", {"meta": "Meta"})
    'Meta follows `direct`.'
    """
    return re.sub(r"`([^`\n]+)`", lambda result: labels.get(result[1], result[0]), text)


def _picture(figure: Figure, labels: Mapping[str, str]) -> Picture:
    return Picture(figure.name, html_as_text(in_words(figure.caption, labels)))


def _table(table: pd.DataFrame, labels: Mapping[str, str]) -> Block:
    """Return a table with numbers as text, methods by the names that people call them, and one mark of no value."""
    if table.empty:
        return Text("There are none.")
    if "n_paradigms" in table.columns and not table["n_paradigms"].any():  # its intervals are empty, too
        table = table.drop(columns="n_paradigms")
    labels = {HUMAN: PEOPLE, **labels}
    shown = (
        table.astype(object)
        .rename(columns={**_HEADINGS, **labels})
        .rename(columns=functools.partial(_of_model, labels))
    )
    for name, column in zip(shown.columns, (table[column] for column in table.columns), strict=True):
        if pd.api.types.is_float_dtype(column):
            shown[name] = column_of(column, str(column.name))
        elif pd.api.types.is_integer_dtype(column):
            shown[name] = [x if pd.isna(x) else whole(x) for x in column]
        elif name in _NAMED:
            shown[name] = [_called(x, labels) if isinstance(x, str) else x for x in column]
        elif pd.api.types.is_object_dtype(column):  # counts beside ranges of counts
            shown[name] = [whole(x) if type(x) is int else x for x in column]
    return Table(_with_marks(shown))


def _of_model(labels: Mapping[str, str], name: str) -> str:
    """Return a heading `model, method` with the method's label."""
    model, comma, method = str(name).rpartition(", ")
    return f"{model}{comma}{labels[method]}" if comma and method in labels else name


def _with_marks(shown: pd.DataFrame) -> pd.DataFrame:
    """Return a table without empty columns, and with one mark in every cell without a value."""
    missing = shown.isna() | shown.isin(["", UNDEFINED])
    marked = shown.mask(missing & ~shown.columns.isin(_REMARKS), MISSING)
    return marked.loc[:, ~missing.all()]


def _called(method: str, labels: Mapping[str, str]) -> str:
    """Return the name of a method, which may be followed by how its answers were read: `likert (argmax)`."""
    known, bracket, reading = method.partition(" (")
    return labels.get(method, labels.get(known, known) + bracket + reading)


def as_markdown(pages: Mapping[str, Page]) -> dict[str, str]:
    texts = {}
    for path, page in pages.items():
        up, back = ("", []) if path == FIRST else ("../", [f"[Back to the report](../{FIRST})"])
        parts = [f"# {page.title}", *back, *(_as_markdown(block, up) for block in page.blocks)]
        texts[path] = spelt_out("\n\n".join(parts) + "\n")
    return texts


def _as_markdown(block: Block, up: str) -> str:
    match block:
        case Heading(text):
            return f"## {text}"
        case Text(markdown, is_caution):
            return f"> {markdown}" if is_caution else markdown
        case Picture(name, caption):
            return f"![{name}]({up}{FIGURES}/{name}.png)\n\n*{caption}*"
        case Table(cells):
            return to_markdown(cells)
        case Links(titles):
            return "\n".join(f"- [{title}]({path})" for path, title in titles.items())


def page_of_html(title: str, pages: Mapping[str, Page]) -> str:
    """Return all pages as one: the first open, the appendices folded below it."""
    parts = []
    for path, page in pages.items():
        body = "\n".join(_as_html(block, lambda name: f"{FIGURES}/{name}.png") for block in page.blocks)
        heading = _inline(page.title)
        parts.append(
            f"<h1>{heading}</h1>\n{body}"
            if path == FIRST
            else f'<details id="{_anchor(path)}"><summary>{heading}</summary>\n{body}\n</details>'
        )
    head = f"{_HEAD}\n{_POLICY}\n<title>{html.escape(title)}</title>\n<style>\n{_template('report.css')}</style>"
    return spelt_out("\n".join([head, "<body>", *parts, "</body>", "</html>", ""]))


def _template(name: str) -> str:
    return (resources.files("pairbank.stats.report") / "templates" / name).read_text(encoding="utf-8")


def shown_in_notebook(report: Report) -> str:
    """Return the first page of a report as HTML, its figures inside it."""
    figures = {figure.name: figure for figure in report.figures}

    def inside(name: str) -> str:
        out = io.BytesIO()
        with named(report.labels):
            save_bytes(figures[name].draw(), out)
        return f"data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}"

    title = f"<h1>{_inline(html_as_text(report.title))}</h1>"
    return spelt_out("\n".join([title, *(_as_html(block, inside) for block in _explained(_first(report)))]))


def _as_html(block: Block, source: Callable[[str], str]) -> str:
    """Return a block as HTML; `source` gives the address of a figure."""
    match block:
        case Heading(text):
            return f"<h2>{_inline(text)}</h2>"
        case Text(markdown, is_caution):
            shown = _linked(_markdown().render(markdown))
            return f"<blockquote>{shown}</blockquote>" if is_caution else shown
        case Picture(name, caption):
            shown = _inline(caption)
            alt = html.escape(html.unescape(re.sub("<[^>]*>", "", shown)))
            image = f'<img src="{html.escape(source(name))}" alt="{alt}">'
            return f"<figure>{image}<figcaption>{shown}</figcaption></figure>"
        case Table(cells):
            head = "".join(f"<th>{_cell(name)}</th>" for name in cells.columns)
            rows = cells.itertuples(index=False, name=None)
            body = "\n".join(f"<tr>{''.join(f'<td>{_cell(x)}</td>' for x in row)}</tr>" for row in rows)
            start = f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>\n'
            return f"{start}{body}\n</tbody></table></div>"
        case Links(titles):
            entries = (f'<li><a href="#{_anchor(path)}">{_inline(title)}</a></li>' for path, title in titles.items())
            return f"<ul>{''.join(entries)}</ul>"


def _cell(value: Any) -> str:  # noqa: ANN401 - of a table
    text = "" if pd.isna(value) else str(value)
    return "<br>".join(_inline(html_as_text(line.replace("\\", "\\\\"))) for line in text.splitlines())


def _inline(text: str) -> str:
    shown: str = _markdown().renderInline(text)
    return shown


def _linked(shown: str) -> str:
    """Return HTML whose links to other pages of the report lead to their places on the same page."""
    return re.sub(rf'href="{APPENDIX}/([^"]*)\.md"', r'href="#\1"', shown)


def _anchor(path: str) -> str:
    return path.removeprefix(f"{APPENDIX}/").removesuffix(".md")


@functools.cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False})
