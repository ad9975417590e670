"""One module makes text of numbers, so that every page writes them alike."""

import math
import re
from pathlib import Path

import pytest

import pairbank
from pairbank.stats import wording

ROOT = Path(pairbank.__file__).parent
FORMATS = re.compile(
    r"""\{[^{}"']*(?:\[['"]\w+['"]\])?:[-+<>^ z,0-9]*\.\d*[efgEG%]\}"""
    r"""|:z[.,\d]|['"][^'"\s]*\.\d[fge%]['"]"""
)
"""A number's format in an f-string, or as an argument of `format`."""
OWN = {"stats/wording.py"}


def test_the_pattern_finds_what_it_should() -> None:
    result = ['f"{x:.2f}"', "f\"{row['value']:.3g}\"", 'format(x, ".2f")', 'f"{x:z.2f}"', 'f"{share:.0%}"']
    assert all(FORMATS.search(text) for text in result)
    assert not any(FORMATS.search(text) for text in ('f"{n:,}"', 'f"{path.name}.png"', 'f"{number(x)}"'))


@pytest.mark.parametrize("stage", ["stats", "cards", "cli"])
def test_no_other_module_formats_a_number(stage: str) -> None:
    result = [
        f"{name}:{n}: {line.strip()}"
        for path in sorted((ROOT / stage).rglob("*.py"))
        if (name := str(path.relative_to(ROOT))) not in OWN
        for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if FORMATS.search(line) and not line.lstrip().startswith((">>>", "..."))
    ]
    assert not result, "use pairbank.stats.wording"


def test_the_edges_of_the_formats() -> None:
    assert [wording.p_value(p) for p in (0.00099, 0.001, 0.004)] == ["p < .001", "p = .001", "p = .004"]
    assert wording.column_of([0.004], "p") == [".004"]
    assert wording.column_of([0.099, 0.012]) == ["0.099", "0.012"]
    assert wording.with_interval({"value": 0.5, "low": math.nan, "high": math.nan}) == "0.50"
    assert wording.names("abcd") == "a, b, c and d"
    assert wording.names("abcde") == "a, b, c, d and 1 more"
