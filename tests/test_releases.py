"""Each release has its versions of numbers and files: the table of docs/releasing.md is that of the code."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from pairbank.cards.bank.layout import FORMAT_VERSION
from pairbank.scoring import versions
from pairbank.stats.version import STATISTICS_VERSION

ROOT = Path(__file__).parent.parent
PAGE = "docs/releasing.md"
SCORING = ("engine", "models", "methods", "hidden states", "words")
Releases = Mapping[str, Mapping[str, int]]


def releases(page: str) -> Releases:
    head, _, *rows = re.search(r"(?:^\| .*\n)+", page[page.index("| release |") :], re.MULTILINE)[0].splitlines()  # type: ignore[index]
    names = [cell.strip() for cell in head.strip("|").split("|")][1:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {release: dict(zip(names, map(int, numbers), strict=True)) for release, *numbers in cells}


def current() -> dict[str, int]:
    of_scoring = {name: getattr(versions, f"{name.replace(' ', '_').upper()}_VERSION") for name in SCORING}
    return of_scoring | {"statistics": STATISTICS_VERSION, "format": FORMAT_VERSION}


def faults(table: Releases, version: str, now: Mapping[str, int], tagged: Releases) -> list[str]:
    """Return what of the table is not so; `tagged` has the rows of releases as they were tagged."""
    last = [*table][-1]
    result = [f"the last row is {last}, pyproject.toml has {version}"] if last != version else []
    moved = [name for name in now if now[name] != table[last][name]]
    result += [f"{name} is version {now[name]}, the row of {last} says {table[last][name]}" for name in moved]
    result += [f"{name} was released: its row stays; add a row" for name in tagged if table.get(name) != tagged[name]]
    for before, after in itertools.pairwise(table):
        parts = [tuple(map(int, name.split("."))) for name in (before, after)]
        if parts[0] >= parts[1] or (table[before] != table[after] and parts[0][:2] == parts[1][:2]):
            result.append(f"{after} follows {before}: moved numbers need a higher middle number")
        if any(table[after][name] < number for name, number in table[before].items()):
            result.append(f"{after} has a lower version of something than {before}")
    return result


def tagged_rows() -> Releases:
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        return {}

    def git(*command: str) -> str:
        return subprocess.run(["git", *command], cwd=ROOT, check=True, capture_output=True, text=True).stdout

    tags = git("tag", "--list", "v*").split()
    return {tag[1:]: releases(git("show", f"{tag}:{PAGE}"))[tag[1:]] for tag in tags}


def test_the_table_of_releases_is_that_of_the_code() -> None:
    table = releases((ROOT / PAGE).read_text(encoding="utf-8"))
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert not (found := faults(table, version, current(), tagged_rows())), f"{PAGE}: {'; '.join(found)}"
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert headings == ["Unreleased", *[*table][::-1]]


OLD, NEW = {"engine": 1, "format": 1}, {"engine": 2, "format": 1}


@pytest.mark.parametrize(
    ("table", "version", "now", "tagged", "fault"),
    [
        ({"0.1.0": OLD}, "0.1.0", NEW, {}, "engine is version 2"),
        ({"0.1.0": NEW}, "0.1.0", NEW, {"0.1.0": OLD}, "0.1.0 was released"),
        ({"0.1.0": OLD, "0.2.0": NEW}, "0.1.0", NEW, {}, "the last row is 0.2.0"),
        ({"0.1.0": OLD, "0.1.1": NEW}, "0.1.1", NEW, {}, "a higher middle number"),
        ({"0.1.0": NEW, "0.2.0": OLD}, "0.2.0", OLD, {}, "a lower version"),
        ({"0.1.0": OLD, "0.2.0": NEW}, "0.2.0", NEW, {"0.1.0": OLD}, ""),
        ({"0.1.0": OLD, "0.1.1": OLD}, "0.1.1", OLD, {}, ""),
    ],
)
def test_a_moved_number_needs_a_row_of_its_own(
    table: Releases, version: str, now: Mapping[str, int], tagged: Releases, fault: str
) -> None:
    found = faults(table, version, now, tagged)
    assert any(fault in text for text in found) if fault else not found
