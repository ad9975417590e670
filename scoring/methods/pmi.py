"""Pointwise mutual information of a target and its context, as a method. Church & Hanks 1990."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pairbank.files import sha256_of_text
from pairbank.scoring.api.layout import ColumnKind, ScoreColumns
from pairbank.scoring.api.method import Answered, OfSides, Row, direct_layout, flags_of, side_columns, side_values
from pairbank.scoring.api.model import Scorer
from pairbank.scoring.api.names import PMI, PMI_TOKENS_DIFFER
from pairbank.scoring.api.requests import Request
from pairbank.scoring.methods.direct import Direct


@dataclass(frozen=True, slots=True, kw_only=True)
class Pmi(OfSides):
    """log P(target | context) − log P(target), both after the same BOS and over the same tokens.

    The target alone keeps the space that parts it from its context, wherever the tokenizer then cuts it into the same
    tokens; where neither that nor the bare target does, the item is flagged `pmi_tokens_differ`. Items without a
    context have no score: null.
    """

    name: str = PMI

    @property
    def definition(self) -> dict[str, Any]:
        """Paper, works to cite, formula, hash and (empty) layout."""
        formula = "log P(target | context) − log P(target)"
        return {
            "paper": "Church & Hanks 1990 (pointwise mutual information)",
            "cites": ["church1990word"],
            "formula": formula,
            "sha256": sha256_of_text(self.name, formula, "1"),
            "layout": direct_layout(self.name, "PMI"),
        }

    @property
    def columns(self) -> dict[str, ColumnKind]:
        """Scores, numbers of tokens, flags."""
        return side_columns(self.name)

    def applies_to(self, row: Row) -> bool:
        """Every item whose sides have a context."""
        return bool(row["context_good"]) and (row["target_bad"] is None or bool(row["context_bad"]))

    def requests(self, row: Row, scorer: Scorer) -> list[Request]:
        """Return, a side, what `direct` asks, and the target alone."""
        results = []
        for request in Direct().requests(row, scorer):
            texts = dict.fromkeys([request.target, request.target.lstrip(" ")])
            alone = [Request(context="", target=text, where=f"{request.where}, target alone") for text in texts]
            encoded = scorer.encode([request, *alone])
            wanted = encoded[0].ids[encoded[0].start :]
            same = [a for a, e in zip(alone, encoded[1:], strict=True) if e.ids[e.start :] == wanted]
            results += [request, (same or alone)[0]]
        return results

    def values(self, answers: Sequence[Answered], _row: Row) -> dict[str, Any]:
        """Return both sides' scores, their difference, token counts and flags."""
        provided, alone = answers[::2], answers[1::2]
        pairs = list(zip(provided, alone, strict=True))
        values = side_values(self.name, [g.total_nats - a.total_nats for g, a in pairs], provided)
        differ = any(g.request.ids[g.request.start :] != a.request.ids[a.request.start :] for g, a in pairs)
        column = ScoreColumns(self.name).flags
        flags = [*values[column], *flags_of(alone), *([PMI_TOKENS_DIFFER] if differ else [])]
        return values | {column: list(dict.fromkeys(flags))}
