"""What methods share that give one score a side, as `direct` does: their columns, values, flags and layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pairbank.scoring.contract import IDENTICAL_TOKENS, Answered, ColumnKind, flags_of


def direct_layout(method: str) -> dict[str, Any]:
    """Return the layout of a method without presentations and options."""
    return {"method": method, "kind": "direct", "presentations": [], "options": [], "correct": []}


def side_columns(method: str) -> dict[str, ColumnKind]:
    """Return the columns: scores of both sides, their difference, numbers of tokens, flags."""
    return {
        f"{method}_good": "float64",
        f"{method}_bad": "float64",
        f"{method}_delta": "float64",
        f"{method}_good_n": "int32",
        f"{method}_bad_n": "int32",
        f"{method}_flags": "list<string>",
    }


def side_values(method: str, scores: Sequence[float], answers: Sequence[Answered]) -> dict[str, Any]:
    """Return the columns' values of one item.

    Args:
        method: the prefix of the columns.
        scores: of the good side, and of the bad one where there is one.
        answers: of the same sides: the scored tokens.
    """
    good, bad = scores[0], scores[1] if len(scores) > 1 else None
    flags = flags_of(answers)
    if len(answers) > 1 and answers[0].request.ids == answers[1].request.ids:
        flags.append(IDENTICAL_TOKENS)
    return {
        f"{method}_good": good,
        f"{method}_bad": bad,
        f"{method}_delta": None if bad is None else good - bad,
        f"{method}_good_n": answers[0].request.n_scored,
        f"{method}_bad_n": None if bad is None else answers[1].request.n_scored,
        f"{method}_flags": flags,
    }
