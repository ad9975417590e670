"""Formulas of test suites: every one of the release against a reading of its text by Python, and what is no formula."""

import json
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import pairbank
from pairbank.arrays import FloatArray
from pairbank.errors import BankError
from pairbank.stats.analyses.suites.results import comparisons_of, parsed

N_ITEMS = 60


def read_by_python(text: str, value: dict[tuple[int, str], float]) -> bool:
    """Evaluate a formula by hand: brackets and signs are Python's, `=` is SyntaxGym's closeness."""
    code = re.sub(r"\((\d+);%([\w-]+)%\)", lambda result: repr(value[int(result[1]), result[2]]), text)
    code = code.replace("[", "(").replace("]", ")")
    code = re.sub(r"\(([-\d.e]+)\s*=\s*([-\d.e]+)\)", r"(abs(\1 - \2) <= 1e-3 + 1e-5 * abs(\2))", code)
    return bool(eval(code.replace("&", " and ").strip(), {}))  # noqa: S307 - texts of a pinned release


def drawn(values: dict[tuple[int, str], FloatArray], region: int, condition: str) -> FloatArray:
    """Return the values that were drawn for a region of a condition."""
    return values[region, condition]


@pytest.mark.upstream
def test_every_formula_of_every_suite_says_what_its_text_says(shared: Path) -> None:
    corpus = pairbank.load_corpus("syntaxgym-suites", data_dir=shared / "corpora")
    texts = {
        (suite, text)
        for suite, all_ in zip(corpus["subset"][:], corpus["formulas"][:], strict=True)
        for text in json.loads(all_)
    }
    assert len({suite for suite, _ in texts}) == 34
    n_regions = {
        suite: len(json.loads(one)) for suite, one in zip(corpus["subset"][:], corpus["regions"][:], strict=True)
    }
    known = {(suite, name) for suite, name in zip(corpus["subset"][:], corpus["condition"][:], strict=True)}
    rng = np.random.default_rng(3)
    for suite, text in sorted(texts):
        formula = parsed(text)
        for part in comparisons_of(formula):
            assert all((suite, name) in known and 0 < region <= n_regions[suite] for region, name in part.regions)
        names = {region for part in comparisons_of(formula) for region in part.regions}
        # whole numbers, so that equalities hold now and then
        values = {region: rng.integers(0, 4, N_ITEMS).astype(float) for region in sorted(names)}
        result = formula.holds(partial(drawn, values))
        expected = [read_by_python(text, {name: float(one[i]) for name, one in values.items()}) for i in range(N_ITEMS)]
        assert result.tolist() == expected, text
        assert 0 < sum(expected) < N_ITEMS


def test_what_stands_beside_a_difference_is_read_from_left_to_right() -> None:
    bits = {"a": 5.0, "b": 3.0, "c": 1.0}
    [part] = comparisons_of(parsed("(1;%a%) - (1;%b%) + (1;%c%) > 2.5"))
    assert part.margin_bits(lambda _region, name: np.array([bits[name]])).tolist() == [0.5]


def test_the_whole_sentence_and_alternatives_can_be_named() -> None:
    formula = parsed("(*;%a%) < (*;%b%) | [(1;%a%) = (1;%b%)]")
    totals = {
        (0, "a"): [1.0, 9.0, 9.0],
        (0, "b"): [2.0, 2.0, 2.0],
        (1, "a"): [1.0, 4.0, 4.0],
        (1, "b"): [0.0, 4.0005, 5.0],
    }
    assert formula.holds(lambda region, name: np.array(totals[region, name])).tolist() == [True, True, False]


NOT_FORMULAS = (
    "",
    "(5;%a%)",
    "(5;%a%) >",
    "[(5;%a%) > (5;%b%)",
    "(5;%a%) > (5;%b%) & (5;%c%)",
    "a > b",
    "(5;%a%) > (5;%b%) extra",
    "(1;%a%) > 0 & (1;%b%) > 0 | (1;%c%) > 0",
    "[(1;%a%) > 0] + 1 > 0",
    "[(1;%a%) > (1;%b%)) > 0",
)


@pytest.mark.parametrize("text", NOT_FORMULAS)
def test_what_is_no_formula_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(BankError, match=r"formula .*, character \d+: expected "):
        parsed(text)
