"""The order of a table's rows changes nothing that an analysis says of it."""

from dataclasses import replace

import pandas as pd
import pytest

from pairbank.stats.analyses.base import DEFAULTS
from pairbank.stats.analyses.registry import section_or_note
from rated_tables import rated_table

SLOW = pytest.mark.ci
NAMES = (
    *("agreement_summary", "associations", "audit", "choice_likert", "grammaticality", "paradigms", "people"),
    *("self_agreement", pytest.param("comparisons", marks=SLOW), pytest.param("mixed", marks=SLOW)),
)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_tables_in_another_order_of_rows_give_the_same_section(name: str) -> None:
    tables = [rated_table(80, seed=seed, model=f"m{seed}") for seed in range(3)]
    if name == "choice_likert":
        tables = [replace(one, frame=one.frame.assign(task="context_pair")) for one in tables]
    shuffled = [replace(one, frame=one.frame.sample(frac=1, random_state=nth)) for nth, one in enumerate(tables)]
    first, second = (section_or_note(name, of, DEFAULTS, options={}) for of in (tables, shuffled))
    assert not first.reason
    assert (first.answer, first.text) == (second.answer, second.text)
    for part, table in first.tables.items():
        pd.testing.assert_frame_equal(table, second.tables[part])
