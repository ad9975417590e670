"""Linking functions as methods: the requests of `direct` again, so that a run computes them once.

Every method gives m_good, m_bad, m_delta, the numbers of tokens m_good_n, m_bad_n, and m_flags. What each score is,
BOS, EOS and N are told in `linking_functions`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pairbank.arrays import FloatArray
from pairbank.errors import ScoringError
from pairbank.scoring.api.layout import ColumnKind, ScoreColumns
from pairbank.scoring.api.method import Answered, OfSides, Row, direct_layout, side_columns, side_values
from pairbank.scoring.api.model import Scorer
from pairbank.scoring.api.names import NO_UNIGRAMS, PMI
from pairbank.scoring.api.requests import Request
from pairbank.scoring.methods.direct import Direct
from pairbank.scoring.methods.linking_functions import LINKING_FUNCTIONS, LinkingFunction
from pairbank.scoring.methods.unigrams import Unigrams, UnigramTables, unigrams_for
from pairbank.scoring.models.tokens.vocabulary import vocabulary_of
from pairbank.scoring.signature import formula_sha256

LINKING_METHODS: tuple[str, ...] = (*LINKING_FUNCTIONS, PMI)
"""The names of linking functions and of PMI, in the order of their columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked(OfSides):
    """A linking function as a method. `bound` gives it the model's vocabulary and the unigram counts it needs.

    Its definition is the same for all models; what of its numbers is the model's stands in `of_model`.
    """

    function: LinkingFunction
    n_vocabulary: int = 0
    unigrams: tuple[Unigrams, ...] | None = None
    """Counts of the model's tokenizer, one a language; None = no model is known yet."""
    unigram_nats: tuple[FloatArray, ...] = ()
    """Of each table, (n_ids,) log p_uni of each token id."""

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.name

    @property
    def definition(self) -> dict[str, Any]:
        """Paper, works to cite, formula, hash of name and formula, and the (empty) layout."""
        return {
            "paper": self.function.paper,
            "cites": list(self.function.cites),
            "formula": self.function.formula,
            "sha256": formula_sha256(self.name, self.function.formula),
            "layout": direct_layout(self.name, self.function.label),
        }

    @property
    def of_model(self) -> dict[str, Any]:
        """The size of the vocabulary, or the unigram counts, where the function needs them."""
        if self.function.needs == "vocabulary":
            return {"n_vocabulary": self.n_vocabulary}
        if self.function.needs == "unigrams":
            return {"unigrams": [{**table.signature, "sha256": table.sha256} for table in self.unigrams or ()]}
        return {}

    @property
    def columns(self) -> dict[str, ColumnKind]:
        """Scores, numbers of tokens, flags."""
        return side_columns(self.name)

    def applies_to(self, row: Row) -> bool:
        """Every item that `direct` scores, if there are unigram counts of its language where they are needed."""
        return self.unigrams is None or self.function.needs != "unigrams" or self._place(row) is not None

    def unasked(self, _row: Row) -> dict[str, Any]:
        """Return nulls, and the flag that says that no counts are there."""
        return dict.fromkeys(self.columns) | {ScoreColumns(self.name).flags: [NO_UNIGRAMS]}

    def requests(self, row: Row, scorer: Scorer) -> list[Request]:
        """Return what `direct` asks."""
        return Direct().requests(row, scorer)

    def values(self, answers: Sequence[Answered], row: Row) -> dict[str, Any]:
        """Return both sides' scores, their difference, token counts and flags."""
        place = self._place(row)
        table = np.empty(0) if place is None else self.unigram_nats[place]
        return side_values(self.name, [self._score(answer, table) for answer in answers], answers)

    def _place(self, row: Row) -> int | None:
        """Return which table is of the item's language."""
        covering = (place for place, table in enumerate(self.unigrams or ()) if table.covers(row["language"]))
        return next(covering, None)

    def _score(self, answer: Answered, table: FloatArray) -> float:
        if answer.logprobs_nats is None:
            return float("nan")
        if self.function.needs == "unigrams":
            table = table[list(answer.request.ids[answer.request.start :])]
        return self.function.score(answer.logprobs_nats, table, self.n_vocabulary)


def bound(
    method: Linked, scorer: Scorer, unigrams: UnigramTables | None, languages: Collection[str] | None = None
) -> Linked:
    """Return a linking method with the vocabulary of this model and the unigram counts made with its tokenizer.

    Args:
        method: a linking function.
        scorer: the model to be scored.
        unigrams: counts, or the file that `pairbank unigrams` wrote, or several of these, one a tokenizer and language.
            Items in a language without counts have null and a flag; so have all where an empty list is given.
        languages: those of the items, whose counts alone are taken; None = all.

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
    result = unigrams_for(vocabulary, unigrams, wanted_by=f"{method.name} with {scorer.info.name}")
    tables = tuple(table for table in result if languages is None or any(map(table.covers, languages)))
    nats = tuple(table.logprobs_nats(np.arange(len(table.counts))) for table in tables)
    return replace(method, unigrams=tables, unigram_nats=nats)
