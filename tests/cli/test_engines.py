"""`compare-engines`: dtypes of three kinds of models, planted differences, exit codes."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import pairbank
from pairbank.cli import app
from pairbank.errors import ScoringError
from pairbank.scoring.engine_differences import engine_differences
from pairbank.scoring.scored import Scored
from tiny_bidirectional_models import saved_as


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["compare-engines", "starter", "--limit", "1", *arguments])
    return done.exit_code, done.output


@pytest.mark.ci
@pytest.mark.parametrize("kind", ["llama", "bert", "t5"])
def test_dtypes_differ_by_more_than_nothing_and_no_more_than_the_tolerance(kind: str, tmp_path: Path) -> None:
    asked = ("--model", str(saved_as(kind, tmp_path / kind)), "--with", "dtype=bfloat16", "-m", "direct")
    code, text = run(*asked, "--tolerance", "5")
    assert code == 0, text
    assert "all differences are at most 5" in text
    assert "dtype=bfloat16" in text
    code, text = run(*asked, "--tolerance", "0")
    assert code == 1
    assert "over the tolerance" in text


def test_other_models_fail_and_equal_ones_pass() -> None:
    assert run("--model", "fake:a", "--with", "max_length=4000")[0] == 0
    assert run("--model", "fake:a", "--with", "max_length=4000", "--with", "model=fake:b")[0] == 1
    assert run("--model", "fake:a", "--with", "bfloat16")[0] == 2


def test_planted_differences_are_named() -> None:
    items = pairbank.load_corpus("starter", subset="minimal-pairs")
    one = pairbank.score(items, "fake:a", methods=["direct", "meta_question_simple"], per_token=True)
    deltas = list(one.dataset["direct_delta"][:])
    moved = [value + 0.25 if n == 3 else -value if n == 5 else value for n, value in enumerate(deltas)]
    flags = [["unknown_token"] if n == 7 else value for n, value in enumerate(one.dataset["direct_flags"][:])]
    table = one.dataset.remove_columns(["direct_delta", "direct_flags"])
    table = table.add_column("direct_delta", moved).add_column("direct_flags", flags)
    other = Scored.of(table, one.signature)
    result = {row["method"]: row for row in engine_differences(one, other).to_dict("records")}
    direct, prompted = result["direct"], result["meta_question_simple"]
    assert direct["max"] == pytest.approx(max(0.25, 2 * abs(deltas[5])))
    assert direct["worst_item"] == one.dataset["item_id"][5 if 2 * abs(deltas[5]) > 0.25 else 3]
    assert (direct["median"], direct["max_token"], direct["n"], direct["other"]) == (0, 0, len(items), 1)
    assert direct["sign_changes"] == sum(a * b < 0 for a, b in zip(deltas, moved, strict=True)) >= 1
    assert (prompted["max"], prompted["sign_changes"], prompted["other"]) == (0, 0, 0)
    with pytest.raises(ScoringError, match="the same items and methods"):
        engine_differences(one, pairbank.score(items.select([0]), "fake:a"))
