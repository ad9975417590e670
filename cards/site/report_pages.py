"""Reports as a page can show them: in, Markdown; out, a tree of elements in which only harmless ones can occur.

The page makes the elements from the tree one by one, so that no text of a report is ever read as HTML.
"""

from __future__ import annotations

import itertools
import posixpath
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

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


FIRST_PAGE = "report.md"
LONGEST_ALT = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a page of a report stands, and what its links may lead to."""

    folder: str = ""
    """Of the page, in the site."""
    root: str = ""
    """Of the report; no link leads out of it."""
    pages: Mapping[str, str] = field(default_factory=dict)
    """Path of each page of the report -> its name, empty for the first."""
    files: frozenset[str] = frozenset()
    """Paths of what stands in the site beside the pages."""


NOWHERE = Place()
"""Of a text that is no report's."""


def write_reports(root: Path, source: Source, files: Sequence[str]) -> list[dict[str, Any]]:
    """Write all pages of a bank's reports and copy what belongs to them; return what the page needs to show them."""
    held = [path for path in sorted(files) if PurePosixPath(path).parts[0] == REPORTS and ".." not in Path(path).parts]
    copied = [path for path in held if PurePosixPath(path).suffix in COPIED]
    for path in copied:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source.path(path), target)
    folders = [str(PurePosixPath(path).parent) for path in held if PurePosixPath(path).name == FIRST_PAGE]
    return [_written(root, source, folder, held, frozenset(copied)) for folder in folders]


def _written(root: Path, source: Source, folder: str, held: Sequence[str], copied: frozenset[str]) -> dict[str, Any]:
    """Write each page of a report; return its name, the places of its pages, and its tables."""
    inside = [path for path in held if path.startswith(f"{folder}/")]
    pages = {
        path: ""
        if path == f"{folder}/{FIRST_PAGE}"
        else PurePosixPath(path).relative_to(folder).with_suffix("").as_posix()
        for path in inside
        if path.endswith(".md")
    }
    results = {}
    for path, name in pages.items():
        place = Place(folder=posixpath.dirname(path), root=folder, pages=pages, files=copied)
        written = f"{path.removesuffix('.md')}{SUFFIX}"
        write_packed(root / "data" / written, tree_of(source.path(path).read_text(encoding="utf-8"), place))
        results[name] = written
    return {
        "name": PurePosixPath(folder).relative_to(REPORTS).as_posix(),
        "path": results[""],
        "pages": {name: path for name, path in results.items() if name},
        "tables": [path for path in inside if path.endswith(".csv")],
    }


def tree_of(text: str, place: Place = NOWHERE) -> list[Any]:
    """Return Markdown as a list of texts and [tag, attributes, children].

    >>> tree_of("a *b* <i>c</i> [d](javascript:x)")
    [['p', {}, ['a ', ['em', {}, ['b']], ' <i>c</i> [d](javascript:x)']]]
    """
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).parse(text)
    return _captioned(_nested(tokens, place))


def _captioned(tree: list[Any]) -> list[Any]:
    """Give each figure the caption that stands below it as what is read out for it."""
    for part, below in itertools.pairwise(tree):
        is_pair = all(isinstance(entry, list) and entry[0] == "p" and len(entry[2]) == 1 for entry in (part, below))
        if is_pair and part[2][0][0] == "img" and below[2][0][0] == "em":
            caption = _text_of(below)
            cut = caption if len(caption) <= LONGEST_ALT else f"{caption[: LONGEST_ALT - 1]}…"
            part[2][0][1]["alt"] = f"Figure: {cut}"
    return tree


def _text_of(part: Any) -> str:  # noqa: ANN401 - a text or an element
    return part if isinstance(part, str) else "".join(_text_of(entry) for entry in part[2])


def _nested(tokens: Sequence[Token], place: Place) -> list[Any]:
    root: list[Any] = []
    stack = [root]
    for token in tokens:
        if token.nesting == 1:
            element: list[Any] = [_tag(token), _attributes(token, place), []]
            if not token.hidden:
                stack[-1].append(element)
            stack.append(stack[-1] if token.hidden else element[2])
        elif token.nesting == -1:
            stack.pop()
        else:
            _leaf(token, stack[-1], place)
    return root


def _leaf(token: Token, into: list[Any], place: Place) -> None:
    if token.type == "inline":
        for part in _nested(token.children or [], place):
            _add(into, part)
    elif token.type in ("code_inline", "fence", "code_block"):
        into.append(_code(token, place))
    elif token.type in ("softbreak", "hardbreak"):
        _add(into, " " if token.type == "softbreak" else ["br", {}, []])
    elif token.type == "image":
        into.append(["img", {**_attributes(token, place), "alt": token.content}, []])
    elif token.type == "hr":
        into.append(["hr", {}, []])
    else:
        for k, line in enumerate(_LINE_BREAK.split(token.content)):
            if k:
                into.append(["br", {}, []])
            if line:
                _add(into, line)


def _code(token: Token, place: Place) -> list[Any]:
    """Return code; the name of a file of the report as a link to it."""
    code = ["code", {}, [token.content]]
    if token.type != "code_inline":
        return ["pre", {}, [code]]
    path = posixpath.join(place.root, token.content)
    return ["a", {"href": path}, [code]] if path in place.files else code


def _add(into: list[Any], part: Any) -> None:  # noqa: ANN401 - a text or an element
    """Append a part; a text after a text is one with it."""
    if isinstance(part, str) and into and isinstance(into[-1], str):
        into[-1] += part
    else:
        into.append(part)


def _tag(token: Token) -> str:
    return token.tag if token.tag in TAGS else "p"


def _attributes(token: Token, place: Place) -> dict[str, str]:
    """Return the one attribute that an element may have: where a link leads, where a figure is, how a cell stands."""
    if token.type == "link_open":
        target = _target(str(token.attrGet("href") or ""), place)
        if (page := unquote(target)) in place.pages:
            return {"page": place.pages[page]}
        is_file = PurePosixPath(target).suffix in COPIED
        return {"href": target} if is_file or urlsplit(target).scheme else {}
    if token.type == "image":
        target = _target(str(token.attrGet("src") or ""), place)
        return {"src": target} if target and not urlsplit(target).scheme else {}
    style = str(token.attrGet("style") or "")
    return {"align": "right"} if style == "text-align:right" else {}


def _target(target: str, place: Place) -> str:
    """Return where a link leads: another site, or a page or file of the report; empty for anything else."""
    parts = urlsplit(target)
    if parts.scheme in ("http", "https"):
        return target
    if parts.scheme or parts.netloc or not parts.path or target.startswith(("/", "#")):
        return ""
    path = posixpath.normpath(posixpath.join(place.folder, parts.path))
    return path if path.startswith(f"{place.root}/" if place.root else "") and ".." not in path.split("/") else ""
