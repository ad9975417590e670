"""What would be wrong is said as seldom, and intervals hold the truth as often, as docs/validation.md has it."""

import runpy
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from nulls import Null
from nulls.coverage import Case, one_column
from nulls.registry import TABLES
from pairbank.stats.estimates.estimate import Estimate
from pairbank.stats.estimates.shares import mean_of_items, share_of_items

ROOT = Path(__file__).parents[2]
TESTED = [
    pytest.param(null, id="-".join((table.name, *null.labels)), marks=[pytest.mark.ci] * null.ci)
    for table in TABLES.values()
    for null in table.tested
]


@pytest.mark.parametrize("null", TESTED)
def test_rates_are_within_their_bounds(null: Null) -> None:
    rates = null.rates(null.runs)
    for name, (low, high) in null.bounds.items():
        assert low <= rates[name] <= high, (name, rates)


def test_a_case_that_does_not_cover_is_seen_and_without_intervals_there_is_no_coverage() -> None:
    def narrow(values: np.ndarray) -> Estimate:
        """A third of the width: a normal interval of .65 standard errors covers .49."""
        whole = mean_of_items(values)
        half = (whole.high - whole.low) / 6
        return Estimate(value=whole.value, low=whole.value - half, high=whole.value + half, n=whole.n, method="narrow")

    case = Case("narrow", "normal", partial(one_column, kind="normal"), narrow, -5.0)
    assert 0.4 < case.null(50).rates(400)["held"] < 0.6
    none = Case("one item", "p = .5", lambda _, n: (np.full(n, 0.5),), share_of_items, 0.5)
    assert none.null(1).rates(3)["given"] == 0.0


def test_the_script_prints_one_table_of_each_form(capsys: pytest.CaptureFixture[str]) -> None:
    main = runpy.run_path(str(ROOT / "tests" / "simulations.py"))["main"]
    for name, only, n_rows in (
        ("equivalence", "", 7),
        ("ceiling", "0.995;", 2),
        ("introspection_sentences", "6 m", 12),
    ):
        main([name, "--runs", "2", "--jobs", "1", "--only", only])
        heading, _, *rows = capsys.readouterr().out.splitlines()
        assert len(rows) == n_rows
        assert {row.count("|") for row in rows} == {heading.count("|")}


def test_every_command_of_the_page_names_a_table() -> None:
    import re

    page = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    named = {name for command in re.findall(r"tests/simulations\.py ([\w ]+)", page) for name in command.split()}
    assert named == set(TABLES)
