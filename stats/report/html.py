"""A report as HTML: in, its Markdown pages; out, one page that opens anywhere, and what a notebook shows.

Markdown is read with raw HTML switched off, so that no text of a corpus or a model is obeyed. Appendices are folded.
"""

from __future__ import annotations

import base64
import functools
import html
import io
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING

from pairbank.stats.figures.style import named, save_bytes
from pairbank.stats.report.page import APPENDIX, FIGURES, FIRST, pages_of

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

    from pairbank.stats.report.report import Report

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
    page = pages_of(report)[FIRST].partition("## Everything else")[0]
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
    made: str = _markdown().render(text)
    return made.replace("<table>", '<div class="table"><table>').replace("</table>", "</table></div>")


@functools.cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table")
