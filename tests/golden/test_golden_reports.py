"""What reports say changes only where somebody read the change: golden reports of all studies and analyses."""

import difflib
import itertools
import re

import pandas as pd
import pytest

import golden_reports as golden
from pairbank.stats.analyses.registry import ANALYSES
from pairbank.study.declaration import load_study, study_names

SHOWN_LINES = 60


@pytest.mark.ci
@pytest.mark.parametrize("name", golden.GOLDEN)
def test_a_report_says_what_it_stated(name: str) -> None:
    now, stored = golden.texts_of(golden.golden_report(name)), golden.stored(name)
    assert sorted(now) == sorted(stored), f"other files than stored: run `{golden.WRITE} {name}`"
    moved = [
        line
        for file in now
        for line in difflib.unified_diff(stored[file].splitlines(), now[file].splitlines(), file, "now", "", "", 0, "")
    ]
    assert not moved, (
        f"the report {name} changed; where that is wanted, run `{golden.WRITE} {name}` and read the diff:\n"
        + "\n".join(moved[:SHOWN_LINES])
    )


def test_every_study_and_analysis_has_a_golden_report() -> None:
    # what is imported has its pages in docs/reports, and its numbers in tests/study/test_published_study.py
    assert {name for name in study_names() if not load_study(name).imports} <= set(golden.GOLDEN)
    used = {name for one in golden.GOLDEN.values() for name in one.analyses}
    used |= {name for study in study_names() for name in load_study(study).analyses}
    appended = {"base_instruct", "neuro", "null_models"}  # by reports: golden `demo`, `xcomps`, test_null_models
    assert used | appended == set(ANALYSES), (
        f"add an entry to GOLDEN of golden_reports.py, then run `{golden.WRITE} NAME`"
    )
    assert not [
        path.name
        for path in golden.ROOT.iterdir()
        if path.is_dir() and path.name not in {*golden.GOLDEN, "__pycache__"}
    ]


def test_a_hash_follows_the_numbers_and_not_their_last_digits() -> None:
    column = pd.Series([0.1234567, None, 1e-15])
    assert golden.hash_of(column) == golden.hash_of(column * (1 + 1e-12))
    assert golden.hash_of(column) != golden.hash_of(column * (1 + 1e-4))
    assert golden.hash_of(column) != golden.hash_of(column.fillna(0))


LONGEST = 60
"""Words of a paragraph on a first page."""
LONGER = {"Effects of methods, models and phenomena beyond these items": 97}
"""Sections that are still longer, and by how much; these numbers only fall."""


@pytest.mark.parametrize("name", golden.GOLDEN)
def test_the_paragraphs_of_a_first_page_are_short_and_its_headings_are_words(name: str) -> None:
    section, long, headings = "", [], set()
    lines = golden.stored(name)["report.md"].splitlines()
    for line, after in itertools.pairwise([*lines, ""]):
        section = line.removeprefix("## ") if line.startswith("## ") else section
        is_prose = (
            line and section != "Notes" and not line.startswith(("#", "|", "!", "*", "- [")) | line.startswith("**")
        )
        if is_prose and len(line.split()) > LONGER.get(section, LONGEST):
            long.append(f"{section}: {len(line.split())} words: {line}")
        if after.startswith("| ---"):
            headings |= {cell.strip() for cell in line.strip("|").split(" | ")}
    assert not long
    assert not [heading for heading in headings if re.search(r"[a-z]_[a-z]", heading)]
