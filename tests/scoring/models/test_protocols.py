"""A back end of somebody else's: what satisfies the Protocols is scored, writes and shows its states as ours do."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import pairbank
from pairbank.errors import ScoringError
from pairbank.scoring.api.model import (
    Ask,
    Continuation,
    ExampleTurn,
    ModelInfo,
    OverLength,
    Progress,
    Scorer,
    StateReader,
    TextInput,
    WordEdges,
    Writer,
)
from pairbank.scoring.api.requests import EdgeRequest, EncodedRequest, Request
from pairbank.scoring.models.causal import CausalScorer
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.models.generation import write
from pairbank.scoring.models.hidden_states import last_token_states
from pairbank.scoring.models.masked import MaskedScorer
from pairbank.scoring.models.seq2seq import Seq2SeqScorer


@dataclass
class Reading:
    """Reads probabilities, and no more; of no class of ours."""

    asked: list[int] = field(default_factory=list)

    @property
    def info(self) -> ModelInfo:
        return FakeScorer(name="theirs").info

    def render_prompt(self, *, system: str, user: str, stem: str, examples: Sequence[ExampleTurn] = ()) -> str:
        return FakeScorer().render_prompt(system=system, user=user, stem=stem, examples=examples)

    def encode(self, requests: Sequence[Request]) -> list[EncodedRequest]:
        self.asked.append(len(requests))
        return FakeScorer().encode(requests)

    def token_logprobs(
        self, requests: Sequence[EncodedRequest], *, progress: Progress
    ) -> list[npt.NDArray[np.float64]]:
        return FakeScorer().token_logprobs(requests, progress=progress)


class Everything(Reading):
    """Writes, shows states and knows words' edges too."""

    def write(
        self,
        prompts: Sequence[Ask],
        *,
        max_new_tokens: int,
        over_length: OverLength,  # noqa: ARG002 - takes any length
        progress: Progress,
    ) -> list[Continuation]:
        progress(len(prompts))
        return [Continuation(text="My answer is 1.", n_tokens=max_new_tokens) for _ in prompts]

    def text_inputs(self, texts: Sequence[str]) -> list[TextInput]:
        return [TextInput(ids=tuple(map(ord, text)), last=len(text) - 1) for text in texts]

    def last_states(self, inputs: Sequence[TextInput]) -> npt.NDArray[np.float32]:
        return np.array([[[made.last, layer] for made in inputs] for layer in range(3)], dtype=np.float32)

    def with_word_edges(self) -> Scorer:
        return Edges()


class Edges(Everything):
    """Gives every edge of a word the same probability."""

    def encode(self, requests: Sequence[Request]) -> list[EncodedRequest]:
        certain = EncodedRequest(ids=(-1,), start=0)
        encoded = super().encode(requests)
        return [certain if isinstance(r, EdgeRequest) else e for r, e in zip(requests, encoded, strict=True)]

    def token_logprobs(
        self, requests: Sequence[EncodedRequest], *, progress: Progress
    ) -> list[npt.NDArray[np.float64]]:
        return [
            np.full(1, -0.5) if r.ids == (-1,) else super(Edges, self).token_logprobs([r], progress=progress)[0]
            for r in requests
        ]


def starter() -> Any:  # noqa: ANN401 - a Dataset
    return pairbank.load_corpus("starter", subset="minimal-pairs", limit=2)


def test_a_back_end_that_reads_probabilities_is_scored() -> None:
    scored = pairbank.score(starter(), Reading(), methods=["direct", "mean_logprob", "meta_question_simple"])
    ours = pairbank.score(starter(), FakeScorer(), methods=["direct", "mean_logprob", "meta_question_simple"])
    for column in ("direct_delta", "mean_logprob_good", "meta_question_simple_logprobs"):
        assert scored[column][:] == ours[column][:]


def test_nothing_is_encoded_where_a_method_asks_nothing() -> None:
    model = Reading()
    items = starter().map(lambda row: row | {"language": "zh"})
    scored = pairbank.score(items, model, methods=["meta_question_simple"])
    assert scored["meta_question_simple_delta"][:] == [None] * len(scored)
    assert model.asked == []


def test_a_back_end_that_writes_answers() -> None:
    assert write(Everything(), [Ask(text="?"), Ask(text="?")], max_new_tokens=4)[1].text == "My answer is 1."
    items = pairbank.load_corpus("starter", subset="plausibility", limit=2)
    answered = pairbank.score(items, Everything(), methods=["social24_likert_free"])
    assert len(answered) == len(items)
    with pytest.raises(ScoringError, match=r"theirs \(fake\) cannot write"):
        write(Reading(), [Ask(text="?")], max_new_tokens=4)


def test_a_back_end_that_shows_states_is_read_and_stored() -> None:
    states = last_token_states(["ab", "abcd"], Everything())
    assert states.layer(2, np.array([1, 0])).tolist() == [[3.0, 2.0], [1.0, 2.0]]
    with pytest.raises(ScoringError, match=r"theirs \(fake\) has no hidden states"):
        last_token_states(["ab"], Reading())


def test_a_back_end_that_knows_words_edges_is_corrected() -> None:
    plain = pairbank.score(starter(), Everything(), methods=["direct"])
    corrected = pairbank.score(starter(), Everything(), methods=["direct_wb"])
    assert corrected["direct_wb_good_after"][0] == -0.5
    assert corrected["direct_wb_delta"][:] == pytest.approx(plain["direct_delta"][:])
    with pytest.raises(ScoringError, match="direct_wb corrects causal models"):
        pairbank.score(starter(), Reading(), methods=["direct_wb"])


@pytest.mark.parametrize(
    ("kind", "protocols"),
    [
        (CausalScorer, {Writer, StateReader, WordEdges}),
        (MaskedScorer, {StateReader}),
        (Seq2SeqScorer, {Writer, StateReader}),
        (FakeScorer, {Writer}),
    ],
)
def test_what_each_back_end_of_ours_can_do(kind: type, protocols: set[type]) -> None:
    members = {Writer: {"write"}, StateReader: {"text_inputs", "last_states"}, WordEdges: {"with_word_edges"}}
    assert {protocol for protocol, names in members.items() if names <= set(dir(kind))} == protocols
