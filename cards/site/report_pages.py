"""Reports as a page can show them: in, Markdown; out, a tree of elements in which only harmless ones can occur.

The page makes the elements from the tree one by one, so that no text of a report is ever read as HTML.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pairbank.cards.bank.layout import REPORTS
from pairbank.cards.site.columns import SUFFIX, write_packed
from pairbank.cards.site.source import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.token import Token

TAGS = frozenset(
    [
        "a",
        "blockquote",
        "br",
        "code",
        "em",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "img",
        "li",
        "ol",
        "p",
        "pre",
        "s",
        "strong",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "tr",
        "ul",
    ]
)
COPIED = (".csv", ".png", ".svg", ".json", ".tex", ".pdf")
"""Kinds of files of a report that stand in the site beside it."""
_LINE_BREAK = re.compile(r"<br\s*/?>|&lt;br&gt;")


def write_reports(root: Path, source: Source, files: Sequence[str]) -> list[dict[str, str]]:
    """Write a bank's reports and copy what belongs to them; return name and place of each.

    Args:
        root: the site's folder.
        source: the bank.
        files: paths in the bank that its manifest names.
    """
    found = []
    for path in sorted(files):
        parts = PurePosixPath(path)
        if parts.parts[0] != REPORTS or ".." in parts.parts:
            continue
        if parts.name == "report.md":
            folder = parts.parent.as_posix()
            tree = tree_of(source.path(path).read_text(encoding="utf-8"), folder)
            write_packed(root / "data" / f"{folder}/report{SUFFIX}", tree)
            name = parts.parent.relative_to(REPORTS).as_posix()
            found.append({"name": name, "path": f"{folder}/report{SUFFIX}"})
        elif parts.suffix in COPIED:
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source.path(path), target)
    return found


def tree_of(text: str, folder: str = "") -> list[Any]:
    """Return Markdown as a list of texts and [tag, attributes, children].

    Args:
        text: the Markdown; HTML in it is text.
        folder: of the report in the site; its links and figures are looked for there.

    >>> tree_of("a *b* <i>c</i> [d](javascript:x)")
    [['p', {}, ['a ', ['em', {}, ['b']], ' <i>c</i> [d](javascript:x)']]]
    """
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).parse(text)
    return _nested(tokens, folder)


def _nested(tokens: Sequence[Token], folder: str) -> list[Any]:
    root: list[Any] = []
    stack = [root]
    for token in tokens:
        if token.nesting == 1:
            element: list[Any] = [_tag(token), _attributes(token, folder), []]
            if not token.hidden:
                stack[-1].append(element)
            stack.append(stack[-1] if token.hidden else element[2])
        elif token.nesting == -1:
            stack.pop()
        else:
            _leaf(token, stack[-1], folder)
    return root


def _leaf(token: Token, into: list[Any], folder: str) -> None:
    if token.type == "inline":
        for part in _nested(token.children or [], folder):
            _add(into, part)
    elif token.type in ("code_inline", "fence", "code_block"):
        code = ["code", {}, [token.content]]
        into.append(code if token.type == "code_inline" else ["pre", {}, [code]])
    elif token.type in ("softbreak", "hardbreak"):
        _add(into, " " if token.type == "softbreak" else ["br", {}, []])
    elif token.type == "image":
        into.append(["img", {**_attributes(token, folder), "alt": token.content}, []])
    elif token.type == "hr":
        into.append(["hr", {}, []])
    else:
        for k, line in enumerate(_LINE_BREAK.split(token.content)):
            if k:
                into.append(["br", {}, []])
            if line:
                _add(into, line)


def _add(into: list[Any], part: Any) -> None:  # noqa: ANN401 - a text or an element
    """Append a part; a text after a text is one with it."""
    if isinstance(part, str) and into and isinstance(into[-1], str):
        into[-1] += part
    else:
        into.append(part)


def _tag(token: Token) -> str:
    return token.tag if token.tag in TAGS else "p"


def _attributes(token: Token, folder: str) -> dict[str, str]:
    """Return the one attribute that an element may have: where a link leads, where a figure is, how a cell stands."""
    if token.type == "link_open":
        target = _place(str(token.attrGet("href") or ""), folder)
        return {"href": target} if target else {}
    if token.type == "image":
        target = _place(str(token.attrGet("src") or ""), folder)
        return {"src": target} if target and not urlsplit(target).scheme else {}
    style = str(token.attrGet("style") or "")
    return {"align": "right"} if style == "text-align:right" else {}


def _place(target: str, folder: str) -> str:
    """Return where a link leads: another site, or a file of the report; empty for anything else."""
    parts = urlsplit(target)
    if parts.scheme in ("http", "https"):
        return target
    if parts.scheme or parts.netloc or target.startswith(("/", "#")) or ".." in PurePosixPath(parts.path).parts:
        return ""
    return f"{folder}/{target}" if folder else target
