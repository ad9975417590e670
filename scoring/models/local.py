"""What the scorers of transformers models have in common: hidden states, and of those with an encoder their shell.

What is stored of the states stands in `hidden_states`; what a request is made of, and how its tokens are read, is each
scorer's own (`causal`, `masked`, `seq2seq`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from pairbank.arrays import FloatArray
from pairbank.scoring.api.model import ExampleTurn, ModelInfo, Progress, TextInput
from pairbank.scoring.api.requests import STATE, WHOLE, EncodedProbe, EncodedRequest, ProbeRequest, Request, Share
from pairbank.scoring.engine.batching import default_budget, in_batches, padded
from pairbank.scoring.engine.forward import input_device, scoring_mode
from pairbank.scoring.models.tokenizing import base_prompt, left_as_it_was, own_prefix

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Float32Array = npt.NDArray[np.float32]


class LocalScorer:
    """A scorer whose model of transformers is in this process."""

    _window: float = math.inf

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        info: ModelInfo,
        *,
        body: Callable[..., Any],
        budget_tokens: int | None = None,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.info = info
        self._body = body
        """What reads a text, without the output layer."""
        self.budget_tokens = budget_tokens or default_budget(model.device)
        self.one_at_a_time = False
        """A pass takes one text alone: what else is in a batch would move its numbers (`batch_check`)."""
        pad_id = tokenizer.pad_token_id
        self._pad_id = pad_id if isinstance(pad_id, int) else 0

    def __repr__(self) -> str:
        info = self.info
        facts = f"{info.name}, {info.dtype} on {info.device}, {info.prompt_format} prompts, BOS {info.bos_policy}"
        return f"<{type(self).__name__}: {facts}; .info, .model, .tokenizer>"

    def last_states(self, inputs: Sequence[TextInput], *, layer: int | None = None) -> Float32Array:
        device = input_device(self.model)

        def batch_states(batch: list[int]) -> tuple[list[int], Float32Array]:
            ids, mask = padded([inputs[i].ids for i in batch], pad_id=self._pad_id, device=device)
            layers = self._body(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
            chosen = layers if layer is None else layers[layer : layer + 1]
            return batch, _at(chosen, [inputs[i].last for i in batch])

        batches = in_batches(
            sorted(range(len(inputs)), key=lambda i: (len(inputs[i].ids), inputs[i].ids, i)),
            width=lambda i: len(inputs[i].ids),
            budget_tokens=1 if self.one_at_a_time else default_budget(device),
            compute=batch_states,
            model_name=self.info.name,
            window=self._window,
        )
        with scoring_mode(self.model):
            places, states = zip(*batches, strict=True)
        result: Float32Array = np.concatenate(states, axis=1)[:, np.argsort(np.concatenate(places))]
        return result


class EncoderScorer(LocalScorer, ABC):
    """One whose prompts are plain text, and whose encoder reads a text whole."""

    def render_prompt(
        self,
        *,
        system: str,  # noqa: ARG002
        user: str,
        stem: str,
        examples: Sequence[ExampleTurn] = (),  # noqa: ARG002
    ) -> str:
        return base_prompt(user=user, stem=stem)

    def as_read(self, text: str, *, chat: bool) -> str:  # noqa: ARG002
        return "".join([*self.tokenizer.convert_ids_to_tokens([*(own_prefix(self.tokenizer) or ())]), text])

    def text_inputs(self, texts: Sequence[str]) -> list[TextInput]:
        """Return each text's tokens as the model reads it whole; special tokens that close it are not its last one."""
        options = {"return_special_tokens_mask": True, "split_special_tokens": True, "verbose": False}
        with left_as_it_was(self.tokenizer):
            encoding = self.tokenizer(list(texts), **options)
        return [
            TextInput(ids=tuple(ids), last=max((i for i, around in enumerate(special) if not around), default=-1))
            for ids, special in zip(encoding["input_ids"], encoding["special_tokens_mask"], strict=True)
        ]

    def encode(self, requests: Sequence[Request]) -> list[EncodedRequest]:
        probes = [request for request in requests if isinstance(request, ProbeRequest)]
        inputs = iter(self.text_inputs([request.context + request.target for request in probes]) if probes else [])
        others = [request for request in requests if not isinstance(request, ProbeRequest)]
        encoded = iter(self._encoded(others) if others else [])
        results: list[EncodedRequest] = []
        for request in requests:
            if isinstance(request, ProbeRequest):
                ids, end = (text := next(inputs)).ids, text.last + 1
                results.append(EncodedProbe(ids=(*ids[:end], STATE), start=end, probe=request.probe, suffix=ids[end:]))
            else:
                results.append(next(encoded))
        return results

    def token_logprobs(self, requests: Sequence[EncodedRequest], *, progress: Progress) -> list[FloatArray]:
        return self._answers(requests, WHOLE, progress)

    def share_of_logprobs(self, requests: Sequence[EncodedRequest], share: Share) -> list[FloatArray]:
        return self._answers(requests, share, lambda _n: None)

    def _answers(self, requests: Sequence[EncodedRequest], share: Share, progress: Progress) -> list[FloatArray]:
        """Return what a share gives; states are read in passes of their own, of the texts as they stand."""
        probes = [r for r in requests if isinstance(r, EncodedProbe)]
        others = [r for r in requests if not isinstance(r, EncodedProbe)]
        said = iter(self._log_odds(probes) if probes and share.has(0) else np.full(len(probes), np.nan))
        progress(len(probes))
        read = iter(self._results(others, share, progress) if others else [])
        return [np.array([next(said)]) if isinstance(r, EncodedProbe) else next(read) for r in requests]

    def _log_odds(self, requests: Sequence[EncodedProbe]) -> FloatArray:
        result = np.empty(len(requests))
        for probe in dict.fromkeys(request.probe for request in requests):
            asked = {row: request for row, request in enumerate(requests) if request.probe is probe}
            texts = [TextInput(ids=(*of.ids[:-1], *of.suffix), last=len(of.ids) - 2) for of in asked.values()]
            result[[*asked]] = probe.log_odds(self.last_states(texts, layer=probe.layer)[0])
        return result

    @abstractmethod
    def _encoded(self, requests: Sequence[Request]) -> Sequence[EncodedRequest]:
        """Return the tokens of requests for log-probabilities, of which there is one or more."""

    @abstractmethod
    def _results(self, requests: Sequence[EncodedRequest], share: Share, progress: Progress) -> list[FloatArray]:
        """Return what the passes of a share give."""


def _at(layers: Sequence[torch.Tensor], last: Sequence[int]) -> Float32Array:
    """Return one token's state of each text at every layer; layers can stand on several devices."""
    rows, columns = torch.arange(len(last)), torch.tensor(last)
    kept = [layer[rows.to(layer.device), columns.to(layer.device)].float().cpu() for layer in layers]
    states: Float32Array = torch.stack(kept).numpy()
    return states
