"""`direct`: the log-probability of each side, sums of conditional log-probabilities, no chat template.

Gives direct_good, direct_bad and direct_delta in nats, the numbers of tokens scored, and where asked the
log-probability of every token, and the characters of the side between which the tokens stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pairbank.builders.languages import separator
from pairbank.builders.schema.columns import ONE_SIDED_TASKS
from pairbank.files import sha256_of_text
from pairbank.scoring.api.layout import SIDES, ColumnKind, ScoreColumns
from pairbank.scoring.api.method import Answered, OfSides, Row, direct_layout, side_columns, side_values
from pairbank.scoring.api.model import Scorer
from pairbank.scoring.api.names import DIRECT
from pairbank.scoring.api.requests import Request


@dataclass(frozen=True, slots=True)
class Direct(OfSides):
    """log P(target | context) of each side; sums of conditional log-probabilities, no chat template."""

    name: str = DIRECT
    per_token: bool = False
    """Whether each token's log-probability (`direct_good_tokens`), place (`_offsets`) and rank (`_ranks`) are kept."""

    @property
    def definition(self) -> dict[str, Any]:
        """Paper, works to cite, hash and (empty) layout."""
        return {
            "paper": "log P(target | context), summed over the target's tokens (Hu & Levy 2023, section 2)",
            "cites": ["hu2023prompting"],
            "sha256": sha256_of_text("direct", "1", *(["per token", "offsets", "ranks"] if self.per_token else [])),
            "layout": direct_layout(DIRECT, "Direct"),
        }

    @property
    def columns(self) -> dict[str, ColumnKind]:
        """Scores in nats, numbers of tokens, flags, and where asked the tokens' log-probabilities."""
        c = ScoreColumns(DIRECT)
        own_values = [of(side) for of in (c.tokens, c.offsets, c.ranks) for side in SIDES]
        return side_columns(DIRECT) | (c.kinds(*own_values) if self.per_token else {})

    def applies_to(self, _row: Row) -> bool:
        """Every item can be scored directly."""
        return True

    def requests(self, row: Row, _scorer: Scorer) -> list[Request]:
        """Return one request a side."""
        sides = SIDES[:1] if row["task"] in ONE_SIDED_TASKS and row["target_bad"] is None else SIDES
        results = []
        for side in sides:
            context, target = row[f"context_{side}"], row[f"target_{side}"]
            join = separator(row["language"]) if context else ""
            where = f"{row['item_id']} ({side})"
            results.append(Request(context=context, target=join + target, where=where, ranks=self.per_token))
        return results

    def values(self, answers: Sequence[Answered], row: Row) -> dict[str, Any]:
        """Return sums, difference, token counts and flags."""
        result = side_values(DIRECT, [answer.total_nats for answer in answers], answers)
        if not self.per_token:
            return result
        c = ScoreColumns(DIRECT)
        result |= dict.fromkeys([of(side) for of in (c.tokens, c.offsets, c.ranks) for side in SIDES])
        for side, answer in zip(SIDES, answers, strict=False):
            result[c.tokens(side)] = answer.tokens_nats
            result[c.ranks(side)] = None if answer.ranks is None else answer.ranks.tolist()
            if answer.tokens_nats is not None and (offsets := answer.request.offsets) is not None:
                n_join = len(separator(row["language"]) if row[f"context_{side}"] else "")
                result[c.offsets(side)] = [max(0, place - n_join) for place in offsets]
        return result
