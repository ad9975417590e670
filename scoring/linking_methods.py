"""Linking functions as methods, and PMI: the requests of `direct` again, so that a run computes them once.

Every method gives m_good, m_bad, m_delta, the numbers of tokens m_good_n, m_bad_n, and m_flags. What each score is,
BOS, EOS and N are told in `linking`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pairbank.errors import ScoringError
from pairbank.files import sha256_of_text
from pairbank.scoring.backend import Scorer
from pairbank.scoring.contract import Answered, ColumnKind, Row, flags_of
from pairbank.scoring.direct import Direct
from pairbank.scoring.linking import LINKING_FUNCTIONS, FloatArray, LinkingFunction
from pairbank.scoring.requests import Request
from pairbank.scoring.sides import direct_layout, side_columns, side_values
from pairbank.scoring.unigrams import Unigrams, unigrams_for
from pairbank.scoring.vocabulary import vocabulary_of

UnigramTables = Unigrams | str | Path | Sequence[Unigrams | str | Path]
"""Counts, or the file that `pairbank unigrams` wrote, or several of these, one a tokenizer."""
PMI_TOKENS_DIFFER = "pmi_tokens_differ"
"""Flag: alone, the target is cut into other tokens than after its context."""
PMI = "pmi"
LINKING_METHODS: tuple[str, ...] = (*LINKING_FUNCTIONS, PMI)
"""The names of the methods of this module, in the order of their columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
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
        """Paper, formula, what it was given, hash of all that, and the (empty) layout."""
        given: dict[str, Any] = {}
        if self.function.needs == "vocabulary":
            given["n_vocabulary"] = self.n_vocabulary
        if self.unigrams is not None:
            given["unigrams"] = self.unigrams.signature
        counted = "" if self.unigrams is None else self.unigrams.sha256
        return {
            "paper": self.function.paper,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Pmi:
    """log P(target | context) − log P(target), both after the same BOS and over the same tokens.

    The target alone keeps the space that parts it from its context, wherever the tokenizer then cuts it into the same
    tokens; where neither that nor the bare target does, the item is flagged `pmi_tokens_differ`. Items without a
    context have no score: null.
    """

    name: str = PMI

    @property
    def definition(self) -> dict[str, Any]:
        """Paper, formula, hash and (empty) layout."""
        formula = "log P(target | context) − log P(target)"
        return {
            "paper": "Church & Hanks 1990 (pointwise mutual information)",
            "formula": formula,
            "sha256": sha256_of_text(self.name, formula, "1"),
            "layout": direct_layout(self.name),
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
        found = []
        for request in Direct().requests(row, scorer):
            texts = dict.fromkeys([request.target, request.target.lstrip(" ")])
            alone = [Request(context="", target=text, where=f"{request.where}, target alone") for text in texts]
            encoded = scorer.encode([request, *alone])
            wanted = encoded[0].ids[encoded[0].start :]
            same = [a for a, e in zip(alone, encoded[1:], strict=True) if e.ids[e.start :] == wanted]
            found += [request, (same or alone)[0]]
        return found

    def values(self, answers: Sequence[Answered], _row: Row) -> dict[str, Any]:
        """Return both sides' scores, their difference, token counts and flags."""
        given, alone = answers[::2], answers[1::2]
        pairs = list(zip(given, alone, strict=True))
        values = side_values(self.name, [g.total_nats - a.total_nats for g, a in pairs], given)
        differ = any(g.request.ids[g.request.start :] != a.request.ids[a.request.start :] for g, a in pairs)
        flags = [*values["pmi_flags"], *flags_of(alone), *([PMI_TOKENS_DIFFER] if differ else [])]
        return values | {"pmi_flags": list(dict.fromkeys(flags))}


def linking_method(name: str) -> Linked | Pmi:
    """Return the method of a linking function; `bound` completes it for a model."""
    return Pmi() if name == PMI else Linked(function=LINKING_FUNCTIONS[name])


def bound(method: Linked, scorer: Scorer, unigrams: UnigramTables | None) -> Linked:
    """Return a linking method with the vocabulary of this model and the unigram counts made with its tokenizer.

    Args:
        method: what `linking_method` gave.
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
