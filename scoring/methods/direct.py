"""`direct`: the log-probability of each side, sums of conditional log-probabilities, no chat template.

Gives direct_good, direct_bad and direct_delta in nats, the numbers of tokens scored, and where asked the
log-probability of every token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pairbank.builders.languages import separator
from pairbank.builders.schema.columns import ONE_SIDED_TASKS
from pairbank.files import sha256_of_text
from pairbank.scoring.api.method import Answered, ColumnKind, Row, flags_of
from pairbank.scoring.api.model import Scorer
from pairbank.scoring.api.names import DIRECT, IDENTICAL_TOKENS
from pairbank.scoring.api.requests import Request


@dataclass(frozen=True, slots=True)
class Direct:
    """log P(target | context) of each side; sums of conditional log-probabilities, no chat template."""

    name: str = DIRECT
    per_token: bool = False
    """Whether the log-probability of each token is kept (direct_good_tokens, direct_bad_tokens)."""

    @property
    def definition(self) -> dict[str, Any]:
        """Paper, works to cite, hash and (empty) layout."""
        return {
            "paper": "log P(target | context), summed over the target's tokens (Hu & Levy 2023, section 2)",
            "cites": ["hu2023prompting"],
            "sha256": sha256_of_text("direct", "1", *(["per token"] if self.per_token else [])),
            "layout": {"method": DIRECT, "kind": "direct", "presentations": [], "options": [], "correct": []},
        }

    @property
    def columns(self) -> dict[str, ColumnKind]:
        """Scores in nats, numbers of tokens, flags, and where asked the tokens' log-probabilities."""
        tokens: dict[str, ColumnKind] = {"direct_good_tokens": "list<float64>", "direct_bad_tokens": "list<float64>"}
        return {
            "direct_good": "float64",
            "direct_bad": "float64",
            "direct_delta": "float64",
            "direct_good_n": "int32",
            "direct_bad_n": "int32",
            "direct_flags": "list<string>",
            **(tokens if self.per_token else {}),
        }

    def applies_to(self, _row: Row) -> bool:
        """Every item can be scored directly."""
        return True

    def requests(self, row: Row, _scorer: Scorer) -> list[Request]:
        """Return one request a side."""
        sides = ("good",) if row["task"] in ONE_SIDED_TASKS and row["target_bad"] is None else ("good", "bad")
        found = []
        for side in sides:
            context, target = row[f"context_{side}"], row[f"target_{side}"]
            join = separator(row["language"]) if context else ""
            found.append(Request(context=context, target=join + target, where=f"{row['item_id']} ({side})"))
        return found

    def values(self, answers: Sequence[Answered], _row: Row) -> dict[str, Any]:
        """Return sums, difference, token counts and flags."""
        good, bad = answers[0], answers[1] if len(answers) > 1 else None
        flags = flags_of(answers)
        if bad is not None and good.request.ids == bad.request.ids:
            flags.append(IDENTICAL_TOKENS)
        tokens = {"direct_good_tokens": good.tokens_nats, "direct_bad_tokens": None if bad is None else bad.tokens_nats}
        return {
            "direct_good": good.total_nats,
            "direct_bad": None if bad is None else bad.total_nats,
            "direct_delta": None if bad is None else good.total_nats - bad.total_nats,
            "direct_good_n": good.request.n_scored,
            "direct_bad_n": None if bad is None else bad.request.n_scored,
            "direct_flags": flags,
            **(tokens if self.per_token else {}),
        }
