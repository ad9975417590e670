"""The list of the papers' tables, figures and claims in docs/papers.md: whole, and true of the golden reports."""

import csv
import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden"
NEEDED = {
    "hu-levy-2023": {
        *(f"Abstract {nth}" for nth in ("1", "2", "3", "4")),
        *(f"Table {nth}" for nth in ("1", "2", "3", "4a", "4b", "5")),
        *(f"Figure {nth}" for nth in range(1, 12)),
        *(f"Claim {nth}" for nth in range(1, 5)),
    },
    "introspection": {
        *(f"Abstract {nth}" for nth in ("1", "2", "3", "4")),
        *(f"Table {nth}" for nth in ("1", "2", "5", "6", "7a", "7b", "8")),
        *(f"Figure {nth}" for nth in ("1", "2a", "2b", "3a", "3b", "5a", "6", "7", "10")),
    },
    "introspection-2": {
        *(f"Abstract {nth}" for nth in ("1", "3")),
        *(f"Table {nth}" for nth in ("3", "4", "6", "7", "8")),
        *(f"Figure {nth}" for nth in ("4a", "4b", "5b", "8", "9")),
    },
    "xcomps": {
        *(f"Abstract {nth}" for nth in ("1a", "1b", "2", "3a", "3b")),
        *(f"Table {nth}" for nth in (1, 2)),
        *(f"Figure {nth}" for nth in range(1, 5)),
        *(f"Claim {nth}" for nth in range(1, 4)),
    },
    "ivanova-2024": {
        *(f"Abstract {nth}" for nth in ("1", "2")),
        *(f"Table {nth}" for nth in (1, 2, 3)),
        *(f"Figure {nth}" for nth in (1, 2)),
        *(f"Claim {nth}" for nth in (1, 2)),
    },
    "three-measurements": {f"{kind} {nth}" for kind, n in (("Abstract", 4), ("Claim", 2)) for nth in range(1, n + 1)},
    "grammaticality": {
        *(f"Abstract {nth}" for nth in ("1", "2", "3", "4", "5")),
        *(f"Table {nth}" for nth in ("1a", "1b")),
        *(f"Figure {nth}" for nth in ("1", "2a", "2b", "3a", "3b", "4a", "4b", "5", "6", "7", "8")),
        *(f"Prediction {nth}" for nth in ("1a", "1b", "2a", "2b", "3")),
    },
}
"""What each paper numbers, and the claims of its abstract in their order, by the study that shows it."""
NOT_IN_GOLDEN = {"introspection_seed_variants_*": "stats/analyses/introspection/figures.py"}
"""Figures that the golden reports have no models for, and the code that draws them."""


def rows_of(study: str) -> list[list[str]]:
    page = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    part = page.split("## Every table, figure and claim")[1].split(f": `{study}`\n", 1)[1].split("\n### ")[0]
    lines = [line for line in part.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def names_in(cell: str) -> set[str]:
    """Return what a cell names, one by one: `Tables 2, 3` are Table 2 and Table 3."""
    result = re.match(r"(Table|Figure|Claim|Prediction|Abstract)s? ([\da-z]+(?:, [\da-z]+)*)", cell)
    return {f"{result[1]} {number}" for number in result[2].split(", ")} if result else set()


@pytest.mark.parametrize("study", NEEDED)
def test_every_table_figure_and_claim_is_listed_once(study: str) -> None:
    listed = [name for row in rows_of(study) for name in names_in(row[0])]
    assert sorted(listed) == sorted(NEEDED[study])


@pytest.mark.parametrize("study", NEEDED)
def test_what_the_list_names_is_in_the_report_or_has_a_reason(study: str) -> None:
    figures = re.findall(r"^## (.+)$", (GOLDEN / study / "figures.md").read_text(encoding="utf-8"), re.MULTILINE)
    with (GOLDEN / study / "tables.tsv").open(encoding="utf-8") as lines:
        tables = {row["table"] for row in csv.DictReader(lines, delimiter="\t")}
    page = (GOLDEN / study / "report.md").read_text(encoding="utf-8")
    for what, where, remark in rows_of(study):
        for name in re.findall(r"`([^`]+)`", where):
            if name in NOT_IN_GOLDEN:
                code = (ROOT / NOT_IN_GOLDEN[name]).read_text(encoding="utf-8")
                assert '"seed_variants"' in code
                continue
            assert any(fnmatchcase(one, name) for one in (*figures, *tables)), f"{what}: no {name} in the report"
        for sentence in re.findall(r'"(.+?)"', where):
            assert sentence in page, f"{what}: the first page does not say {sentence!r}"
        for link in re.findall(r"\]\((.+?)\)", where):
            assert (ROOT / "docs" / link).is_file(), f"{what}: no page {link}"
        if where == "–":
            assert len(remark.split()) > 1, f"{what}: no reason"
        else:
            assert re.search(r'`|"|\]\(', where), f"{what}: {where!r} names nothing"
