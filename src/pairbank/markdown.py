"""Tables and texts as Markdown: in, a table or a string; out, text that a page shows and does not obey, and back.

Names of corpora and models, titles and notes come from files that somebody else wrote. On the page they may not
start a table, a heading, a link, HTML or a code fence, nor turn the reading direction.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

import pandas as pd

from pairbank.errors import spelt_out

SHOWN_CHARACTERS = 160
"""A name longer than this is cut; its hash keeps it apart from others with the same start."""
CELL_CHARACTERS = 1_000
"""The same of a table's cell, and of code."""
_SPECIAL = re.compile(r"([\\`*~|#$]|\](?=[(\[:])|\[(?=\^)|(?<!\w)_|_(?!\w))")
"""What could start markup inside a line; brackets only where they would make a link or a footnote."""


def html_as_text(text: str) -> str:
    """Return a text whose HTML a page of Markdown shows and does not obey.

    >>> html_as_text("a <b> & c &lt;")
    'a &lt;b&gt; & c &amp;lt;'
    """
    return re.sub(r"&(?=#?\w+;)", "&amp;", text).replace("<", "&lt;").replace(">", "&gt;")


def as_cell(text: str) -> str:
    r"""Return a text as a cell of a table: HTML and bars as text, a break for every line.

    >>> as_cell("a|b\n<c>")
    'a\\|b<br>&lt;c&gt;'
    """
    return "<br>".join(html_as_text(text).replace("\\", "\\\\").replace("|", "\\|").splitlines())


def to_markdown(table: pd.DataFrame, *, cell: Callable[[str], str] = as_cell) -> str:
    r"""Return a table as GitHub Markdown: no index, null as an empty cell, one line per row.

    Args:
        table: what to show.
        cell: makes a heading or value one line without a bare `|`.
    """
    rows = [[cell(str(name)) for name in table.columns], ["---"] * len(table.columns)]
    rows += [["" if pd.isna(x) else cell(str(x)) for x in row] for row in table.itertuples(index=False, name=None)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def table_of(rows: Iterable[Mapping[str, str]]) -> str:
    return to_markdown(pd.DataFrame([*rows]), cell=lambda text: text.replace("|", "\\|"))


def rendered(template: Path, words: Iterable[Callable[..., str]], **facts: object) -> str:
    """Return a template of a page, filled in; `words` are its filters."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(  # noqa: S701 - Markdown
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters |= {word.__name__: word for word in words}
    return environment.from_string(template.read_text(encoding="utf-8")).render(facts)


def shown(text: str, *, limit: int = SHOWN_CHARACTERS) -> str:
    """Return a text on one line, controls and direction marks spelt out, cut where it is long."""
    line = spelt_out(" ".join(text.split()))
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass") + b"\0").hexdigest()
    return line if len(line) <= limit else f"{line[: limit - 12]}… ({digest[:8]})"


def inline(text: str, *, limit: int = SHOWN_CHARACTERS) -> str:
    """Return a text as one line of Markdown that reads as itself."""
    return _SPECIAL.sub(r"\\\1", html_as_text(shown(text, limit=limit)))


def alternative(text: str) -> str:
    r"""Return a text as the description of an image, where every bracket counts.

    >>> alternative("a [b][c]")
    'a \\[b\\]\\[c\\]'
    """
    return re.sub(r"(?<!\\)([\[\]])", r"\\\1", inline(text, limit=400))


def unescaped(text: str) -> str:
    """Return what `inline` was given (after `shown`)."""
    text = re.sub(r"\\([\\`*\[\]~|#$_])", r"\1", text).replace("&lt;", "<").replace("&gt;", ">")
    return re.sub(r"&amp;(?=#?\w+;)", "&", text)


def code(text: str) -> str:
    """Return a text as a code span, with a fence longer than any run of backticks in it."""
    line = shown(text, limit=CELL_CHARACTERS)
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    return f"`{line}`" if longest == 0 else f"{'`' * (longest + 1)} {line} {'`' * (longest + 1)}"


def fenced(text: str, language: str = "") -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *(spelt_out(line) for line in text.splitlines()), fence])


def table(frame: pd.DataFrame) -> str:
    """Return a table as Markdown: every cell as `inline` has it, null as an empty cell."""
    return to_markdown(frame, cell=partial(inline, limit=CELL_CHARACTERS))


def parsed_tables(page: str) -> list[list[dict[str, str]]]:
    r"""Return the tables of a page, a row a dict from heading to cell, unescaped; what `table` wrote reads back."""
    tables: list[list[dict[str, str]]] = []
    lines = page.splitlines()
    for number, line in enumerate(lines):
        if re.fullmatch(r"\|( --- \|)+", line) and number:
            heading = _cells(lines[number - 1])
            rows = itertools.takewhile(lambda below: below.startswith("|"), lines[number + 1 :])
            tables.append([dict(zip(heading, _cells(row), strict=False)) for row in rows])
    return tables


def _cells(line: str) -> list[str]:
    return [unescaped(cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
