"""Linking functions as methods: the requests of `direct` again, so that a run computes them once.

Every method gives m_good, m_bad, m_delta, the numbers of tokens m_good_n, m_bad_n, and m_flags. What each score is,
BOS, EOS and N are told in `linking_functions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pairbank.arrays import FloatArray
from pairbank.errors import ScoringError
from pairbank.files import sha256_of_text
from pairbank.scoring.api.layout import ColumnKind
from pairbank.scoring.api.method import Answered, OfSides, Row, direct_layout, side_columns, side_values
from pairbank.scoring.api.model import Scorer
from pairbank.scoring.api.names import PMI
from pairbank.scoring.api.requests import Request
from pairbank.scoring.methods.direct import Direct
from pairbank.scoring.methods.linking_functions import LINKING_FUNCTIONS, LinkingFunction
from pairbank.scoring.methods.unigrams import Unigrams, unigrams_for
from pairbank.scoring.models.vocabulary import vocabulary_of

UnigramTables = Unigrams | str | Path | Sequence[Unigrams | str | Path]
"""Counts, or the file that `pairbank unigrams` wrote, or several of these, one a tokenizer."""
LINKING_METHODS: tuple[str, ...] = (*LINKING_FUNCTIONS, PMI)
"""The names of linking functions and of PMI, in the order of their columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked(OfSides):
    """A linking function as a method. `bound` gives it the model's vocabulary and the unigram counts it needs."""

    function: LinkingFunction
    n_vocabulary: int = 0
    unigrams: Unigrams | None = None
    unigram_nats: FloatArray | None = None
    """(n_ids,) log p_uni of each token id."""

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.name

    @property
    def definition(self) -> dict[str, Any]:
        """Paper, works to cite, formula, what it was given, hash of all that, and the (empty) layout."""
        given: dict[str, Any] = {}
        if self.function.needs == "vocabulary":
            given["n_vocabulary"] = self.n_vocabulary
        if self.unigrams is not None:
            given["unigrams"] = self.unigrams.signature
        counted = "" if self.unigrams is None else self.unigrams.sha256
        return {
            "paper": self.function.paper,
            "cites": list(self.function.cites),
            "formula": self.function.formula,
            **given,
            "sha256": sha256_of_text(self.name, self.function.formula, str(self.n_vocabulary), counted),
            "layout": direct_layout(self.name),
        }

    @property
    def columns(self) -> dict[str, ColumnKind]:
        """Scores, numbers of tokens, flags."""
        return side_columns(self.name)

    def applies_to(self, _row: Row) -> bool:
        """Every item that `direct` scores."""
        return True

    def requests(self, row: Row, scorer: Scorer) -> list[Request]:
        """Return what `direct` asks."""
        return Direct().requests(row, scorer)

    def values(self, answers: Sequence[Answered], _row: Row) -> dict[str, Any]:
        """Return both sides' scores, their difference, token counts and flags."""
        return side_values(self.name, [self._score(answer) for answer in answers], answers)

    def _score(self, answer: Answered) -> float:
        if answer.logprobs_nats is None:
            return float("nan")
        table = np.empty(0) if self.unigram_nats is None else self.unigram_nats
        if self.function.needs == "unigrams":
            table = table[list(answer.request.ids[answer.request.start :])]
        return self.function.score(answer.logprobs_nats, table, self.n_vocabulary)


def bound(method: Linked, scorer: Scorer, unigrams: UnigramTables | None) -> Linked:
    """Return a linking method with the vocabulary of this model and the unigram counts made with its tokenizer.

    Args:
        method: a linking function.
        scorer: the model to be scored.
        unigrams: counts, or the file that `pairbank unigrams` wrote, or several of these, one a tokenizer.

    Raises:
        ScoringError: no counts where the method needs them, or counts of another tokenizer.
    """
    if method.function.needs == "nothing":
        return method
    vocabulary = vocabulary_of(scorer)
    if method.function.needs == "vocabulary":
        return replace(method, n_vocabulary=vocabulary.n_tokens)
    if unigrams is None:
        raise ScoringError(
            f"{method.name} needs unigram counts made with the tokenizer of {scorer.info.name}; make them with "
            "`pairbank unigrams FILE --model MODEL --out unigrams.parquet`, then give unigrams='unigrams.parquet' "
            "(--unigrams unigrams.parquet)"
        )
    table = unigrams_for(vocabulary, unigrams, wanted_by=f"{method.name} with {scorer.info.name}")
    return replace(method, unigrams=table, unigram_nats=table.logprobs_nats(np.arange(len(table.counts))))
