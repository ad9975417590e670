"""Reports as a page can show them: in, a bank's files; out, each report's own HTML with what stands beside it.

The site shows a report in a frame in which nothing runs; opened by itself, the page has a policy that says the same.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from pairbank.cards.bank.layout import REPORTS
from pairbank.cards.site.source import Source
from pairbank.files import write_text

COPIED = (".csv", ".png", ".svg", ".json", ".tex", ".pdf")
"""Kinds of files of a report that stand in the site beside it."""
FIRST_PAGE, WHOLE = "report.md", "report.html"
_POLICY = (
    '<!doctype html>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="'
    "default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"
    '">\n'
)
_OUTWARDS = re.compile(r"<a (?=href=\"https?:)")


def write_reports(root: Path, source: Source, files: Sequence[str]) -> list[dict[str, Any]]:
    """Copy the pages of a bank's reports and what belongs to them; return what the page needs to show them."""
    held = [path for path in sorted(files) if PurePosixPath(path).parts[0] == REPORTS and ".." not in Path(path).parts]
    for path in held:
        if PurePosixPath(path).suffix in COPIED:
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source.path(path), target)
    folders = [str(PurePosixPath(path).parent) for path in held if PurePosixPath(path).name == FIRST_PAGE]
    return [_written(root, source, folder, held) for folder in folders]


def _written(root: Path, source: Source, folder: str, held: Sequence[str]) -> dict[str, Any]:
    page = f"{folder}/{WHOLE}"
    if page in held:
        text = source.path(page).read_text(encoding="utf-8", errors="replace")
        write_text(root / page, _POLICY + _OUTWARDS.sub('<a target="_blank" rel="noopener noreferrer" ', text))
    return {
        "name": PurePosixPath(folder).relative_to(REPORTS).as_posix(),
        "page": page if page in held else "",
        "tables": [path for path in held if path.startswith(f"{folder}/") and path.endswith(".csv")],
    }
