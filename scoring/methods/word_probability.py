"""The method `direct_wb`: `direct` with the word-boundary correction of Pimentel & Meister 2024.

It asks the requests of `direct` and two more a side, and gives, in nats, for each side:

    direct_wb_good = Σ log p(tokens) − direct_wb_good_before + direct_wb_good_after

`…_before` is the log-probability that a word can begin where the target does, `…_after` that the target's last word
is over; what the two are exactly is told in `word_boundaries`. The Σ is that of `direct`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairbank.builders.languages import separator
from pairbank.files import sha256_of_text
from pairbank.scoring.api.layout import SIDES, ColumnKind, ScoreColumns
from pairbank.scoring.api.method import Answered, OfSides, Row, direct_layout, flags_of, side_columns, side_values
from pairbank.scoring.api.model import Scorer
from pairbank.scoring.api.names import DIRECT_WB, NO_WORD_BOUNDARY
from pairbank.scoring.api.requests import EDGES, Edge, EdgeRequest, Request
from pairbank.scoring.methods.direct import Direct

COLUMNS = ScoreColumns(DIRECT_WB)


@dataclass(frozen=True, slots=True, kw_only=True)
class WordProbability(OfSides):
    """log P(words of the target | words of the context), for causal models whose tokenizer marks words.

    Languages written without spaces have no such marks: their items have no score, null.
    """

    name: str = DIRECT_WB

    @property
    def definition(self) -> dict[str, Any]:
        """Paper, works to cite, formula, hash and (empty) layout."""
        formula = "log P(target | context) − log B(context) + log B(context∘target), B = Σ p(s), s in S_bow ∪ EOS"
        return {
            "paper": "Pimentel & Meister 2024 (How to compute the probability of a word); Oh & Schuler 2024",
            "cites": ["pimentel2024probability", "oh2024leading"],
            "formula": formula,
            "sha256": sha256_of_text(DIRECT_WB, formula, "1"),
            "layout": direct_layout(DIRECT_WB, "Direct (whole words)"),
        }

    @property
    def columns(self) -> dict[str, ColumnKind]:
        """Scores, numbers of tokens, flags, and the log-probabilities of the words' edges."""
        edges = [COLUMNS.edge(side, edge) for side in SIDES for edge in EDGES]
        return side_columns(DIRECT_WB) | COLUMNS.kinds(*edges)

    def applies_to(self, row: Row) -> bool:
        """Every item of a language that parts words by spaces."""
        return separator(row["language"]) == " "

    def reader(self, scorer: Scorer) -> Scorer:
        """Return a scorer that answers edge requests too.

        Raises:
            ScoringError: not a causal model, or a vocabulary that marks no words.
        """
        from pairbank.scoring.models.word_boundaries import word_edge_scorer

        return word_edge_scorer(scorer)

    def requests(self, row: Row, scorer: Scorer) -> list[Request]:
        """Return, a side, what `direct` asks, and the edges before and after the target."""
        results: list[Request] = []
        for request in Direct().requests(row, scorer):
            results += [request, *(_at_edge(request, edge) for edge in EDGES)]
        return results

    def values(self, answers: Sequence[Answered], _row: Row) -> dict[str, Any]:
        """Return corrected scores, their difference, token counts, flags, and the edges."""
        tokens, before, after = answers[::3], answers[1::3], answers[2::3]
        scores = [t.total_nats - b.total_nats + a.total_nats for t, b, a in zip(tokens, before, after, strict=True)]
        values = side_values(DIRECT_WB, scores, tokens)
        flags = dict.fromkeys([*values[COLUMNS.flags], *flags_of(answers)])
        if any(edge.logprobs_nats is not None and np.isnan(edge.total_nats) for edge in before):
            flags[NO_WORD_BOUNDARY] = None
        edges: dict[str, Any] = dict.fromkeys(self.columns.keys() - values.keys())
        for side, at_start, at_end in zip(SIDES, before, after, strict=False):
            edges[COLUMNS.edge(side, "before")] = at_start.total_nats
            edges[COLUMNS.edge(side, "after")] = at_end.total_nats
        return values | edges | {COLUMNS.flags: list(flags)}


def _at_edge(request: Request, edge: Edge) -> EdgeRequest:
    return EdgeRequest(context=request.context, target=request.target, where=request.where, edge=edge)
