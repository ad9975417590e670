"""Linking functions: from the log-probabilities of a target's tokens to one score of how good the target is.

The methods that compute it (`Linked`) ask the requests of `direct` again, so that a run computes these once. The
formulas are those of Hu et al. 2026, section 6.1, with w_1 … w_N the tokens of the target, each given the context, all
logarithms natural. BOS and EOS are in no sum and not in N; without a BOS, nor is the first token.

    metric 1  direct          Σ log p(w_n)
    metric 2  bayes_uniform   Σ log p(w_n) + N log |Σ|            |Σ|: tokens of the vocabulary, special ones included
    metric 3  bayes_unigram   Σ log p(w_n) − Σ log p_uni(w_n)
    metric 4  slor            (Σ log p(w_n) − Σ log p_uni(w_n)) / N      Pauls & Klein 2012; Lau et al. 2017
    metric 5  mean_logprob    Σ log p(w_n) / N
              slln_lp         Σ log p(w_n) / N^α, α = 0.5                Liu et al. 2026 (ZhoBLiMP)

`pmi`: the pointwise mutual information of a target and its context (Church & Hanks 1990). `in_template`: log P of a
sentence behind a text that says it is grammatical (Ide et al. 2025, NAACL, section 3; the templates are the five of
github.com/Yusuke196/llm-acceptability for one sentence); `in_template` is the mean over `in_template_1` to `_5`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from pairbank.arrays import FloatArray
from pairbank.errors import ScoringError
from pairbank.files import sha256_of_text
from pairbank.scoring.api.layout import SIDES, ScoreColumns
from pairbank.scoring.api.method import Answered, OfSides, Row, direct_layout, flags_of, side_values
from pairbank.scoring.api.model import Scorer
from pairbank.scoring.api.names import NO_UNIGRAMS, PMI, PMI_TOKENS_DIFFER, SENTENCE
from pairbank.scoring.api.requests import Request
from pairbank.scoring.methods.direct import Direct
from pairbank.scoring.methods.unigrams import Unigrams, UnigramTables, unigrams_for
from pairbank.scoring.models.tokenizing import vocabulary_of
from pairbank.scoring.prompts.prompt import primary
from pairbank.scoring.signature import formula_sha256

Needs = Literal["nothing", "vocabulary", "unigrams"]
SLLN_EXPONENT = 0.5
"""α of `slln_lp`: the value that Liu et al. name SLLN-LP in their code (github.com/sjtu-compling/ZhoBLiMP, src)."""
_HU = "Hu et al. 2026, section 6.1"
TEMPLATES = (
    "The following sentence is grammatically acceptable.\n\n",
    "Linguists would consider the sentence below to be grammatically correct.\n\n",
    "Here is a grammatically correct sentence.\n\n",
    "Here is an English sentence that would be considered as linguistically acceptable.\n\n",
    "This is a correct English sentence.\n\n",
)
IN_TEMPLATE: Mapping[str, tuple[str, ...]] = {
    "in_template": TEMPLATES,
    **{f"in_template_{number}": (template,) for number, template in enumerate(TEMPLATES, 1)},
}


def mean_logprob(logprobs_nats: FloatArray) -> float:
    """Return Σ log p / N in nats: metric 5 of Hu et al. 2026.

    >>> mean_logprob(np.array([-1.0, -3.0]))
    -2.0
    """
    return float(logprobs_nats.sum()) / len(logprobs_nats)


def bayes_uniform(logprobs_nats: FloatArray, n_vocabulary: int) -> float:
    """Return Σ log p + N log |Σ| in nats: the log Bayes factor against the uniform model, metric 2 of Hu et al. 2026.

    >>> round(bayes_uniform(np.log([0.5, 0.25]), 8), 12) == round(math.log(0.5 * 0.25 * 8 * 8), 12)
    True
    """
    return float(logprobs_nats.sum()) + len(logprobs_nats) * math.log(n_vocabulary)


def bayes_unigram(logprobs_nats: FloatArray, unigram_logprobs_nats: FloatArray) -> float:
    """Return Σ log p − Σ log p_uni in nats: the log Bayes factor against the unigram model, metric 3 of Hu et al. 2026.

    >>> bayes_unigram(np.array([-1.0, -3.0]), np.array([-5.0, -6.0]))
    7.0
    """
    return float(logprobs_nats.sum()) - float(unigram_logprobs_nats.sum())


def slor(logprobs_nats: FloatArray, unigram_logprobs_nats: FloatArray) -> float:
    """Return the syntactic log-odds ratio (Σ log p − Σ log p_uni) / N (Pauls & Klein 2012); metric 4 of Hu et al. 2026.

    >>> slor(np.array([-1.0, -3.0]), np.array([-5.0, -6.0]))
    3.5
    """
    return bayes_unigram(logprobs_nats, unigram_logprobs_nats) / len(logprobs_nats)


def slln_lp(logprobs_nats: FloatArray, exponent: float = SLLN_EXPONENT) -> float:
    """Return the sub-linear length-normalised log-probability Σ log p / N^α (Liu et al. 2026, ZhoBLiMP).

    >>> slln_lp(np.array([-1.0, -2.0, -3.0, -4.0]))
    -5.0
    """
    return float(logprobs_nats.sum() / len(logprobs_nats) ** exponent)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkingFunction:
    """One linking function by its name in columns."""

    name: str
    label: str
    formula: str
    paper: str
    cites: tuple[str, ...] = ("hu2026string",)
    needs: Needs = "nothing"
    score: Callable[[FloatArray, FloatArray, int], float]
    """From log p, log p_uni (empty where not needed) and |Σ| (0 where not needed)."""


_FUNCTIONS = (
    LinkingFunction(
        name="mean_logprob",
        label="Mean log P",
        formula="Σ log p / N",
        paper=f"{_HU}, metric 5",
        score=lambda logprobs, _unigram, _size: mean_logprob(logprobs),
    ),
    LinkingFunction(
        name="slln_lp",
        label="SLLN-LP",
        formula=f"Σ log p / N^{SLLN_EXPONENT}",
        paper="Liu et al. 2026 (ZhoBLiMP), SLLN-LP; exponent of their released code",
        cites=("liu2024zhoblimp",),
        score=lambda logprobs, _unigram, _size: slln_lp(logprobs),
    ),
    LinkingFunction(
        name="bayes_uniform",
        label="Bayes factor (uniform)",
        formula="Σ log p + N log |Σ|",
        paper=f"{_HU}, metric 2",
        needs="vocabulary",
        score=lambda logprobs, _unigram, size: bayes_uniform(logprobs, size),
    ),
    LinkingFunction(
        name="bayes_unigram",
        label="Bayes factor (unigram)",
        formula="Σ log p − Σ log p_uni",
        paper=f"{_HU}, metric 3",
        needs="unigrams",
        score=lambda logprobs, unigram, _size: bayes_unigram(logprobs, unigram),
    ),
    LinkingFunction(
        name="slor",
        label="SLOR",
        formula="(Σ log p − Σ log p_uni) / N",
        paper=f"Pauls & Klein 2012; Lau et al. 2017; {_HU}, metric 4",
        cites=("pauls2012treelets", "lau2017grammaticality", "hu2026string"),
        needs="unigrams",
        score=lambda logprobs, unigram, _size: slor(logprobs, unigram),
    ),
)
LINKING_FUNCTIONS: Mapping[str, LinkingFunction] = {function.name: function for function in _FUNCTIONS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked(OfSides):
    """A linking function as a method. `bound` gives it the model's vocabulary and the unigram counts it needs."""

    function: LinkingFunction
    n_vocabulary: int = 0
    unigrams: tuple[Unigrams, ...] | None = None
    """Counts of the model's tokenizer, one a language; None = no model is known yet."""
    unigram_nats: tuple[FloatArray, ...] = ()
    """Of each table, (n_ids,) log p_uni of each token id."""

    @property
    def name(self) -> str:
        return self.function.name

    @property
    def definition(self) -> dict[str, Any]:
        of = self.function
        defined = self.defined(of.label, paper=of.paper, cites=of.cites, formula=of.formula)
        return defined | {"sha256": formula_sha256(of.name, of.formula)}

    @property
    def of_model(self) -> dict[str, Any]:
        if self.function.needs == "vocabulary":
            return {"n_vocabulary": self.n_vocabulary}
        if self.function.needs == "unigrams":
            return {"unigrams": [{**table.signature, "sha256": table.sha256} for table in self.unigrams or ()]}
        return {}

    def applies_to(self, row: Row) -> bool:
        """Every item that `direct` scores, if there are unigram counts of its language where they are needed."""
        return self.unigrams is None or self.function.needs != "unigrams" or self._place(row) is not None

    def unasked(self, _row: Row) -> dict[str, Any]:
        return dict.fromkeys(self.columns) | {ScoreColumns(self.name).flags: [NO_UNIGRAMS]}

    def requests(self, row: Row, scorer: Scorer) -> list[Request]:
        return Direct().requests(row, scorer)

    def values(self, answers: Sequence[Answered], row: Row) -> dict[str, Any]:
        place = self._place(row)
        table = np.empty(0) if place is None else self.unigram_nats[place]
        return side_values(self.name, [self._score(answer, table) for answer in answers], answers)

    def _place(self, row: Row) -> int | None:
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
    """Return a linking method with the vocabulary of this model and the unigram counts made with its tokenizer."""
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
        return self.defined(
            "PMI",
            paper="Church & Hanks 1990 (pointwise mutual information)",
            cites=["church1990word"],
            formula="log P(target | context) − log P(target)",
        )

    def applies_to(self, row: Row) -> bool:
        return bool(row["context_good"]) and (row["target_bad"] is None or bool(row["context_bad"]))

    def requests(self, row: Row, scorer: Scorer) -> list[Request]:
        results = []
        for request in Direct().requests(row, scorer):
            texts = dict.fromkeys([request.target, request.target.lstrip(" ")])
            alone = [Request(context="", target=text, where=f"{request.where}, target alone") for text in texts]
            encoded = scorer.encode([request, *alone])
            of_target = encoded[0].ids[encoded[0].start :]
            same = [a for a, e in zip(alone, encoded[1:], strict=True) if e.ids[e.start :] == of_target]
            results += [request, (same or alone)[0]]
        return results

    def values(self, answers: Sequence[Answered], _row: Row) -> dict[str, Any]:
        with_context, alone = answers[::2], answers[1::2]
        pairs = list(zip(with_context, alone, strict=True))
        differ = any(g.request.ids[g.request.start :] != a.request.ids[a.request.start :] for g, a in pairs)
        flags = [*flags_of(alone), *([PMI_TOKENS_DIFFER] if differ else [])]
        return side_values(self.name, [g.total_nats - a.total_nats for g, a in pairs], with_context, more_flags=flags)


@dataclass(frozen=True, slots=True, kw_only=True)
class InTemplate(OfSides):
    """log P(sentence | template), of one template or the mean over several; English sentences without a context."""

    name: str
    templates: tuple[str, ...]

    @property
    def definition(self) -> dict[str, Any]:
        is_one = len(self.templates) == 1
        formula = "log P(sentence | template)" + ("" if is_one else f", mean over {len(self.templates)} templates")
        label = f"In-template LP {self.name.rpartition('_')[2]}" if is_one else "In-template LP (mean)"
        return {
            "paper": "Ide et al. 2025 (NAACL), in-template LP; templates of their released code",
            "cites": ["ide2025make"],
            "formula": formula,
            "templates": list(self.templates),
            "sha256": sha256_of_text(self.name, formula, *self.templates),
            "layout": direct_layout(self.name, label),
        }

    def applies_to(self, row: Row) -> bool:
        alone = not row["context_good"] and not row["context_bad"]
        return alone and row["task"] in (SENTENCE, "sentence_pair") and primary(row["language"]) == "en"

    def requests(self, row: Row, _scorer: Scorer) -> list[Request]:
        return [
            Request(context=template, target=row[f"target_{side}"], where=f"{row['item_id']} ({self.name}, {side})")
            for side in SIDES
            if row[f"target_{side}"] is not None
            for template in self.templates
        ]

    def values(self, answers: Sequence[Answered], _row: Row) -> dict[str, Any]:
        n = len(self.templates)
        sides = [answers[start : start + n] for start in range(0, len(answers), n)]
        scores = [float(np.mean([answer.total_nats for answer in side])) for side in sides]
        values, flags = side_values(self.name, scores, [side[0] for side in sides]), ScoreColumns(self.name).flags
        return values | {flags: list(dict.fromkeys([*flags_of(answers), *values[flags]]))}
