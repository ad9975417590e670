"""Common artefacts in scored tables. Scored tables in, a section out: one line a finding, what was looked for.

Every check that is a test (position, chance, below chance, length) enters one family over all tables of the call;
Holm's correction keeps the chance of any false finding at 0.05. The other checks are facts of the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.analyses.audit.answers import answer_checks
from pairbank.stats.analyses.audit.looked import Looked, audited
from pairbank.stats.analyses.audit.numbers import constant_scores, copies
from pairbank.stats.analyses.audit.prompts import changed_between, changed_items, changed_within
from pairbank.stats.analyses.audit.texts import identical_tokens, item_checks, length_choice, unknown_tokens
from pairbank.stats.analyses.audit.words import CHECKS, DEFINITIONS, answer_of, lines_of, not_checked_of, text_of
from pairbank.stats.analyses.base import DEFAULTS, Context, Section
from pairbank.stats.figures.charts import intervals
from pairbank.stats.figures.figure import Figure
from pairbank.stats.figures.shared import MOST_LINES
from pairbank.stats.measures.paired_tests import corrected
from pairbank.stats.scored_table.frame import ScoredFrame
from pairbank.stats.scored_table.scored_table import ScoredTable, read_table

LEVEL = 0.05


def section(tables: Sequence[ScoredFrame], _context: Context = DEFAULTS) -> Section:
    """Return the artefacts found in the tables.

    Args:
        tables: Scored tables, made here or imported.

    Raises:
        BankError: If no table has two sides of which one is right.
    """
    looked = after_correction(list(look(tables)))
    if not any(one.outcome != "not checked" for one in looked):
        raise BankError("no table has items of two sides and a method that compares them; there is nothing to audit")
    found = lines_of(looked)
    return Section(
        id="audit",
        title="Common artefacts in these scores",
        text=text_of(looked, found, n_tables=len(tables)),
        answer=answer_of(looked, found, n_tables=len(tables)),
        main_table="findings",
        definitions=DEFINITIONS,
        tables={
            "findings": found,
            "details": _table([one for one in looked if one.outcome == "found"]),
            "not_checked": not_checked_of(looked),
            "checks": _table(looked),
        },
        figures=tuple(_figures(found)),
        references=("Holm 1979, Scandinavian Journal of Statistics 6:65-70",),
    )


def look(tables: Sequence[ScoredFrame]) -> Iterator[Looked]:
    """Yield what every check gives, before the correction for how many tests there are.

    Args:
        tables: Scored tables of any corpora.
    """
    for corpus in dict.fromkeys(table.corpus for table in tables):
        mine = [table for table in tables if table.corpus == corpus]
        read = [read_table(table) for table in mine]
        methods = [list(audited(table)) for table in read]
        flat = [one for of_table in methods for one in of_table]
        yield from item_checks(_with_texts(read), flat)
        yield changed_items(read)
        yield from changed_between(mine, flat)
        for table, of_table in zip(read, methods, strict=True):
            yield from changed_within(table, of_table)
        for one in flat:
            yield from answer_checks(one)
            yield length_choice(one)
            yield identical_tokens(one)
            yield unknown_tokens(one)
            yield constant_scores(one)
        yield from copies(flat)


def after_correction(looked: Sequence[Looked]) -> list[Looked]:
    """Return the results with p corrected by Holm over all of them, and findings that do not hold after it taken back.

    Args:
        looked: Results of all checks.
    """
    adjusted = corrected([one.p for one in looked]).holm
    return [
        one if np.isnan(p) else _decided(replace(one, p=float(p)))
        for one, p in zip(looked, adjusted, strict=True)
    ]  # fmt: skip


def _decided(one: Looked) -> Looked:
    if one.outcome != "found" or one.p < LEVEL:
        return one
    if one.check == "chance":
        return replace(one, outcome="inconclusive", n_concerned=0)
    return replace(one, outcome="clean", said="", n_concerned=0, items=())


def _with_texts(read: Sequence[ScoredTable]) -> ScoredTable:
    """Return the table with the most items that have texts."""
    return max(read, key=lambda table: ("target_bad" in table.frame.columns, len(table.frame)))


def _table(looked: Sequence[Looked]) -> pd.DataFrame:
    columns = list(Looked.__slots__)
    frame = pd.DataFrame([asdict(one) for one in looked], columns=columns)
    frame["what"] = [CHECKS[name].title for name in frame["check"]]
    frame["items"] = [" ".join(items) for items in frame["items"]]
    return frame[["corpus", "check", "what", *(name for name in columns if name not in ("corpus", "check"))]]


def _figures(found: pd.DataFrame) -> Iterator[Figure]:
    """Yield headlines with and without what was found, where both are numbers."""
    shown = found[found["headline"].notna() & found["without"].notna()].head(MOST_LINES)
    if shown.empty:
        return
    rows = [
        {"row": f"{one['what']}: {one['where']}", "series": series, "value": one[column], "low": np.nan, "high": np.nan}
        for one in shown.to_dict("records")
        for series, column in (("as reported", "headline"), ("without it", "without"))
    ]
    yield Figure(
        name="audit_headlines",
        caption="What each finding changes: the accuracy as it is reported, and without what was found (no intervals).",
        draw=partial(
            intervals, pd.DataFrame(rows), rows="row", series="series", x_label="accuracy", chance=0.5, limits=(0, 1)
        ),
    )
