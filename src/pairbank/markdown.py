"""Tables and texts as Markdown: in, a table or a string; out, text that a page shows and does not obey, and back.

What a page does with texts that strangers wrote, beside their HTML, stands in `pairbank.cards.card.foreign_text`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pandas as pd


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

    >>> print(to_markdown(pd.DataFrame({"a|b": ["1|2", "x\ny"], "n": [3, None]}, dtype=object)))
    | a\|b | n |
    | --- | --- |
    | 1\|2 | 3 |
    | x<br>y |  |
    >>> print(to_markdown(pd.DataFrame({"a": ["<b>&lt;"]})).splitlines()[2])
    | &lt;b&gt;&amp;lt; |
    """
    rows = [[cell(str(name)) for name in table.columns], ["---"] * len(table.columns)]
    rows += [["" if pd.isna(x) else cell(str(x)) for x in row] for row in table.itertuples(index=False, name=None)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def tables_in(page: str) -> list[list[dict[str, str]]]:
    r"""Return the tables of a page that `to_markdown` wrote: a row a dict from heading to cell, both as they stand.

    >>> tables_in("text\n\n| a | b |\n| --- | --- |\n| 1 | &lt; |\n\ntext")
    [[{'a': '1', 'b': '&lt;'}]]
    """
    tables: list[list[dict[str, str]]] = []
    lines = page.splitlines()
    for number, line in enumerate(lines):
        if not re.fullmatch(r"\|( --- \|)+", line) or number == 0:
            continue
        heading = _cells(lines[number - 1])
        rows = []
        for below in lines[number + 1 :]:
            if not below.startswith("|"):
                break
            rows.append(dict(zip(heading, _cells(below), strict=False)))
        tables.append(rows)
    return tables


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
