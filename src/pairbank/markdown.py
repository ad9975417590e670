"""Tables and texts as Markdown: in, a table or a string; out, text that a page shows and does not obey."""

from __future__ import annotations

import re

import pandas as pd


def to_markdown(table: pd.DataFrame) -> str:
    r"""Return a table as GitHub Markdown: no index, null as an empty cell, one line per row, HTML shown as text.

    >>> print(to_markdown(pd.DataFrame({"a|b": ["1|2", "x\ny"], "n": [3, None]}, dtype=object)))
    | a\|b | n |
    | --- | --- |
    | 1\|2 | 3 |
    | x<br>y |  |
    >>> print(to_markdown(pd.DataFrame({"a": ["<b>&lt;"]})).splitlines()[2])
    | &lt;b&gt;&amp;lt; |
    """
    cells = [[str(name) for name in table.columns], ["---"] * len(table.columns)]
    cells += [["" if pd.isna(x) else str(x) for x in row] for row in table.itertuples(index=False, name=None)]
    return "\n".join(f"| {' | '.join(_escaped(x) for x in row)} |" for row in cells)


def html_as_text(text: str) -> str:
    """Return a text whose HTML a page of Markdown shows and does not obey, as the dataset card has it.

    >>> html_as_text("a <b> & c &lt;")
    'a &lt;b&gt; & c &amp;lt;'
    """
    return re.sub(r"&(?=#?\w+;)", "&amp;", text).replace("<", "&lt;").replace(">", "&gt;")


def _escaped(text: str) -> str:
    return "<br>".join(html_as_text(text).replace("\\", "\\\\").replace("|", "\\|").splitlines())
