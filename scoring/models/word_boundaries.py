"""The word-boundary correction: the probability of words, not of the tokens that spell them.

Tokenizers such as GPT-2's mark where a word begins (" dog"), not where it ends: the tokens' product is the probability
that the text goes on with a word that *begins* so, "dog" but also "dogs". Pimentel & Meister 2024 ("How to compute the
probability of a word") and Oh & Schuler 2024 ("Leading whitespaces …") give the remedy:

    log P(w | c) = Σ log p(tokens of w | c) + log B(c∘w) − log B(c),      B(x) = Σ_{s ∈ S_bow ∪ {EOS}} p(s | x)

S_bow holds the tokens that begin with a space, Ġ or ▁ (not those that begin with a line break, as in the paper). EOS is
every special token: which of them ends a text depends on how the model was trained. In a target of several words the
inner corrections cancel. A text whose first token has no mark ("The" after BOS) is corrected at its start by all tokens
but S_bow, in the place of B(c). Where the tokenizer marks the ends of words ("dog</w>") nothing is to be corrected.
"""

from __future__ import annotations

import inspect
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from pairbank.arrays import FloatArray, IntArray
from pairbank.errors import ScoringError
from pairbank.scoring.api.model import ModelInfo, Progress, Scorer, WordEdges
from pairbank.scoring.api.names import BOUNDARY_MERGE, DIRECT_WB, FIRST_TOKEN_UNSCORED
from pairbank.scoring.api.requests import WHOLE, EdgeRequest, EncodedRequest, Request, Share
from pairbank.scoring.engine.batching import default_budget, in_batches
from pairbank.scoring.engine.forward import input_device, scoring_mode
from pairbank.scoring.engine.threads import n_parallel_passes

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from pairbank.scoring.models.causal import CausalScorer

WORD_EDGE, UNMARKED_START, NO_EDGE, CERTAIN_EDGE = -1, -2, -3, -4
"""In the place of the token that is read: the set S_bow ∪ EOS; all tokens but S_bow; a place that is no edge of a
word, whose value is NaN; and probability one, where words' ends are marked or the target itself ends with a space."""
FIXED_NATS = {NO_EDGE: float("nan"), CERTAIN_EDGE: 0.0}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WordMarks:
    begin_word: IntArray
    """S_bow: ids of the tokens that begin with a space."""
    end_text: IntArray
    others: IntArray
    """Ids of all tokens but S_bow."""
    marks_ends: bool
    """The vocabulary marks the ends of words; no token begins with a space."""


def word_marks(tokenizer: PreTrainedTokenizerBase, *, n_outputs: int, name: str) -> WordMarks:
    vocabulary = {i: token for token, i in tokenizer.get_vocab().items() if i < n_outputs}
    added = tokenizer.added_tokens_decoder
    special = {i for i, token in added.items() if token.special} | set(tokenizer.all_special_ids)
    # GPT-2's unknown token is its end of the text too.
    special -= {tokenizer.unk_token_id} - {tokenizer.eos_token_id, tokenizer.bos_token_id}
    rules = json.loads(tokenizer.backend_tokenizer.to_str())
    is_byte_level = '"ByteLevel"' in json.dumps([rules["pre_tokenizer"], rules["decoder"]])
    marks = ("Ġ", " ") if is_byte_level else ("▁", " ")
    begin = sorted(i for i, token in vocabulary.items() if token.startswith(marks) and i not in special)
    marks_ends = not begin and bool(rules["model"].get("end_of_word_suffix"))
    if not begin and not marks_ends:
        raise ScoringError(
            f"{name}: no token of its vocabulary begins with a space, so the beginnings of words are unknown; the "
            "word-boundary correction is not defined for it: use the method direct"
        )
    return WordMarks(
        begin_word=np.array(begin, dtype=np.int64),
        end_text=np.array(sorted(special & vocabulary.keys()), dtype=np.int64),
        others=np.array(sorted(vocabulary.keys() - set(begin)), dtype=np.int64),
        marks_ends=marks_ends,
    )


class WordEdgeScorer:
    """A causal scorer that answers edge requests too; all others it hands on as they are."""

    def __init__(self, scorer: CausalScorer) -> None:
        self._scorer = scorer
        n_outputs = int(scorer.model.config.get_text_config().vocab_size)
        self._marks = word_marks(scorer.tokenizer, n_outputs=n_outputs, name=scorer.info.name)
        self._begin_word = frozenset(self._marks.begin_word.tolist())
        edge = np.union1d(self._marks.begin_word, self._marks.end_text)
        self._sets: Mapping[int, IntArray] = {WORD_EDGE: edge, UNMARKED_START: self._marks.others}

    @property
    def info(self) -> ModelInfo:
        return self._scorer.info

    def render_prompt(self, **parts: Any) -> str:  # noqa: ANN401 - those of the model's own scorer
        return self._scorer.render_prompt(**parts)

    def encode(self, requests: Sequence[Request]) -> list[EncodedRequest]:
        """Return each request's tokens; those of an edge end with the number of the token set that is read there."""
        encoded = self._scorer.encode(requests)
        return [
            self._edge(request, tokens) if isinstance(request, EdgeRequest) else tokens
            for request, tokens in zip(requests, encoded, strict=True)
        ]

    def _edge(self, request: EdgeRequest, encoded: EncodedRequest) -> EncodedRequest:
        ids, start = encoded.ids, encoded.start
        has_ended = request.edge == "after" and request.target[-1:].isspace()
        if self._marks.marks_ends or has_ended:
            return EncodedRequest(ids=(CERTAIN_EDGE,), start=0)
        if request.edge == "after":
            return EncodedRequest(ids=(*ids, WORD_EDGE), start=len(ids))
        if {BOUNDARY_MERGE, FIRST_TOKEN_UNSCORED} & set(encoded.flags):
            return EncodedRequest(ids=(NO_EDGE,), start=0)
        if ids[start] in self._begin_word:
            return EncodedRequest(ids=(*ids[:start], WORD_EDGE), start=start)
        at_start = not request.context.strip(" ")
        return EncodedRequest(ids=(*ids[:start], UNMARKED_START if at_start else NO_EDGE), start=start)

    def token_logprobs(self, requests: Sequence[EncodedRequest], *, progress: Progress) -> list[FloatArray]:
        results = self._answers(requests, partial(self._scorer.token_logprobs, progress=progress), WHOLE)
        progress(sum(map(_is_edge, requests)))
        return results

    def share_of_logprobs(self, requests: Sequence[EncodedRequest], share: Share) -> list[FloatArray]:
        return self._answers(requests, partial(self._scorer.share_of_logprobs, share=share), share)

    def _answers(
        self,
        requests: Sequence[EncodedRequest],
        of_tokens: Callable[[list[EncodedRequest]], list[FloatArray]],
        share: Share,
    ) -> list[FloatArray]:
        """Return the answers in the order of the requests; NaN for an edge that is not of the share."""
        tokens = iter(of_tokens([r for r in requests if not _is_edge(r)]))
        edges = self._edge_logprobs(requests, share)
        missing = np.full(1, np.nan)
        return [edges.get(r.ids, missing) if _is_edge(r) else next(tokens) for r in requests]

    def _edge_logprobs(self, asked: Sequence[EncodedRequest], share: Share) -> dict[tuple[int, ...], FloatArray]:
        """Return log B of each edge. Sequences of one length go together, so that there is nothing to pad."""
        model, numbers = self._scorer.model, itertools.count()
        edges = list({edge.ids: edge for edge in asked if edge.ids[-1] in self._sets}.values())
        results = {edge.ids: np.full(1, FIXED_NATS[edge.ids[-1]]) for edge in asked if edge.ids[-1] in FIXED_NATS}
        in_order = sorted(edges, key=lambda edge: (len(edge.ids), edge.ids))
        with scoring_mode(model):
            for _, alike in itertools.groupby(in_order, key=lambda edge: len(edge.ids)):
                for batch in in_batches(
                    list(alike),
                    width=lambda edge: len(edge.ids) - 1,
                    budget_tokens=1 if self._scorer.one_at_a_time else default_budget(model.device),
                    compute=self._one_pass,
                    model_name=self.info.name,
                    at_once=n_parallel_passes(model),
                    share=share,
                    numbers=numbers,
                ):
                    results |= batch
        return results

    def _one_pass(self, edges: list[EncodedRequest]) -> dict[tuple[int, ...], FloatArray]:
        model = self._scorer.model
        ids = torch.tensor([edge.ids[:-1] for edge in edges], device=input_device(model))
        takes_last = "logits_to_keep" in inspect.signature(model.forward).parameters
        last = model(input_ids=ids, use_cache=False, **({"logits_to_keep": 1} if takes_last else {})).logits[:, -1]
        numbers = np.array([edge.ids[-1] for edge in edges])
        values = np.full(len(edges), np.nan)
        for number, tokens in self._sets.items():
            rows = np.flatnonzero(numbers == number)
            logits = last[torch.from_numpy(rows).to(last.device)].float()
            mass = logits[:, torch.from_numpy(tokens).to(logits.device)].logsumexp(-1) - logits.logsumexp(-1)
            values[rows] = mass.cpu().numpy()
        if not np.isfinite(values).all():
            raise ScoringError(
                f"model {self.info.name!r} gave a word boundary a probability that is NaN or 0; expected a finite "
                "log-probability: load it with dtype='float32', or check its weights"
            )
        return {edge.ids: values[[i]] for i, edge in enumerate(edges)}


def _is_edge(request: EncodedRequest) -> bool:
    return CERTAIN_EDGE <= request.ids[-1] <= WORD_EDGE


def word_edge_scorer(scorer: Scorer) -> Scorer:
    if not isinstance(scorer, WordEdges):
        raise ScoringError(
            f"{DIRECT_WB} corrects causal models, whose next token can tell that a word is over; {scorer.info.name} is "
            f"scored by the back end {scorer.info.backend!r}: use the method direct"
        )
    return scorer.with_word_edges()
