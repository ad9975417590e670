"""Causal language models: log P(token | tokens before it), many sequences a forward pass.

Packs of prefix trees go through forward passes with a tree attention mask; a model that does not honour such masks
(`self_check`) gets padded, length-sorted batches, and so do sequences longer than a window that a tree mask would not
limit.
"""

from __future__ import annotations

import itertools
import logging
import math
import operator
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch

from pairbank.arrays import FloatArray, IntArray
from pairbank.scoring.api.model import (
    Ask,
    Continuation,
    ModelInfo,
    OverLength,
    Progress,
    Scorer,
    ScoringStats,
    TextInput,
    ended,
)
from pairbank.scoring.api.requests import (
    STATE,
    WHOLE,
    EncodedProbe,
    EncodedRequest,
    LinearProbe,
    ProbeRequest,
    Request,
    Share,
)
from pairbank.scoring.engine.batching import default_batch_tokens, halved, packing_window, padded_batches
from pairbank.scoring.engine.forward import (
    Download,
    Reading,
    Reads,
    computed_prefix,
    input_device,
    is_split,
    padded_rows,
    scoring_mode,
    tree_rows,
)
from pairbank.scoring.engine.logprobs import head_logprobs_nats, read_logprobs_nats
from pairbank.scoring.engine.prefix_trees import Pack, SharedPrefix, plan, together
from pairbank.scoring.engine.threads import PASSES_AHEAD, Once, UnderWay, n_parallel_passes
from pairbank.scoring.models import generation
from pairbank.scoring.models.causal_tokens import CausalTokens
from pairbank.scoring.models.generation import Decoder
from pairbank.scoring.models.local import LocalScorer

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

logger = logging.getLogger(__name__)
_Job = Callable[[], "_PassResult"]
Batching = Literal["packed", "padded"]
PACK_TOKENS = 128
"""Nodes of one pack: attention within a pack is dense, so its cost grows with the square of this."""
LEAST_PASSES = 16
"""On a CPU, tokens are shared out among at least so many forward passes, where a pass is not smaller than a pack.

So no core is long idle at the end. It is one number for any number of parallel passes: what is computed together, and
so every last bit of a score, goes by the requests and `batch_tokens` alone."""


class CausalScorer(LocalScorer, CausalTokens):
    """Scores with a causal transformers model. Build it with `pairbank.load_model`."""

    samples_answers: ClassVar[Literal[True]] = True

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        info: ModelInfo,
        *,
        batching: Batching = "packed",
        batch_tokens: int | None = None,
    ) -> None:
        LocalScorer.__init__(self, model, tokenizer, info, body=partial(model.base_model, use_cache=False))
        CausalTokens.__init__(self, tokenizer, info)
        self.batching = batching
        self.batch_tokens = batch_tokens or default_batch_tokens(model)
        self.stats = ScoringStats()
        self.head: torch.nn.Linear | None = None
        """The output layer, where `logprobs.linear_head` found that it can be applied in blocks."""
        self.min_shared_tokens: float = math.inf
        """Nodes that a shared prefix has to save; infinity until `self_check.shared_prefix_problem` found none."""
        self.cuts_states: bool | None = None
        """Whether states are computed up to the probed layer alone; None until `self_check.cut_states` tries."""
        self._window = packing_window(model.config)
        self._told_of_window = False
        self._n_parallel_passes = n_parallel_passes(model)

    def encode(self, requests: Sequence[Request]) -> list[EncodedRequest]:
        return [
            EncodedProbe(ids=(*e.ids, STATE), start=len(e.ids), flags=e.flags, probe=r.probe)
            if isinstance(r, ProbeRequest)
            else (replace(e, ranks=True) if r.ranks else e)
            for r, e in zip(requests, super().encode(requests), strict=True)
        ]

    def write(
        self, prompts: Sequence[Ask], *, max_new_tokens: int, over_length: OverLength, progress: Progress
    ) -> list[Continuation]:
        inputs = [tuple(self.prompt_ids([ask.text], chat=ask.chat)[0]) for ask in prompts]
        check = tuple(tuple(ids) for ids in self.prompt_ids(generation.SELF_CHECK))
        decoder = Decoder(scorer=self, self_check=check)
        return decoder.write(prompts, inputs, max_new_tokens=max_new_tokens, over_length=over_length, progress=progress)

    def text_inputs(self, texts: Sequence[str]) -> list[TextInput]:
        return [TextInput(ids=tuple(ids), last=len(ids) - 1) for ids in self.prompt_ids(texts)]

    def with_word_edges(self) -> Scorer:
        from pairbank.scoring.models.word_boundaries import WordEdgeScorer

        return WordEdgeScorer(self)

    def token_logprobs(self, requests: Sequence[EncodedRequest], *, progress: Progress) -> list[FloatArray]:
        return ended(self.logprob_steps(requests, progress=progress))

    def logprob_steps(
        self, requests: Sequence[EncodedRequest], *, progress: Progress
    ) -> Generator[None, None, list[FloatArray]]:
        results = yield from self._steps(requests, WHOLE, progress)
        return [result for result in results if result is not None]

    def share_of_logprobs(self, requests: Sequence[EncodedRequest], share: Share) -> list[FloatArray]:
        results = ended(self._steps(requests, share, lambda _n: None))
        return [
            np.full(request.n_values, np.nan) if result is None else result
            for request, result in zip(requests, results, strict=True)
        ]

    def _steps(
        self, requests: Sequence[EncodedRequest], share: Share, progress: Progress
    ) -> Generator[None, None, list[FloatArray | None]]:
        """Go on with `_results` step by step; its modes hold for the steps alone, and not for what is done between."""
        results: list[FloatArray | None] = [None] * len(requests)
        steps = self._results(requests, results, share, progress)
        # between two steps a model is as its user left it: one in training would not be scored in passes still running
        waits = any(module.training for module in self.model.modules())
        while True:
            began = time.perf_counter()
            with scoring_mode(self.model):
                goes_on = next(steps, False)
                while goes_on and waits:
                    goes_on = next(steps, False)
            self.stats.seconds += time.perf_counter() - began
            if not goes_on:
                return results
            yield

    def _results(
        self, requests: Sequence[EncodedRequest], results: list[FloatArray | None], share: Share, progress: Progress
    ) -> Iterator[bool]:
        """Put each request's values into `results`; yield True when the first passes have begun, and the last ones."""
        while pending := [i for i, result in enumerate(results) if result is None]:
            passes = self._passes(requests, pending, share)
            try:
                passes.fill()
                yield True
                is_told = False
                while passes.n_under_way:
                    if passes.all_begun and not is_told:
                        is_told = True
                        yield True
                    created = next(passes)
                    values = np.atleast_2d(created.read())
                    starts = np.flatnonzero(np.diff(created.owners, prepend=-1))
                    for owner, part in zip(created.owners[starts], np.split(values, starts[1:], axis=1), strict=True):
                        results[owner] = part.ravel() if requests[owner].ranks else part[0]
                    self.stats.n_computed_tokens += created.n_tokens
                    self.stats.n_sequence_tokens += sum(len(requests[i].ids) - 1 for i in created.owners[starts])
                    progress(len(starts))
                    passes.fill()
            except RuntimeError as error:
                self.batch_tokens = halved(
                    error, self.batch_tokens, model_name=self.info.name, can_halve=not is_split(self.model)
                )
            finally:
                passes.stop()
            if not share.is_whole:
                break  # shares of smaller passes are not those that others compute

    def _passes(
        self, requests: Sequence[EncodedRequest], pending: Sequence[int], share: Share
    ) -> UnderWay[_Job, _PassResult]:
        """Return the forward passes, begun as they are needed; sequences beyond a sliding window go unpacked."""
        limit = -1 if self.batching == "padded" or self.one_at_a_time else self._window
        within = [i for i in pending if len(requests[i].ids) - 1 <= limit]
        beyond = [i for i in pending if len(requests[i].ids) - 1 > limit]
        if beyond and limit >= 0 and not self._told_of_window:
            self._told_of_window = True
            logger.warning(
                "%s: sequences longer than its window of %d tokens are scored in padded batches, which is slower but "
                "exact: a tree attention mask would not limit them",
                self.info.name,
                self._window,
            )
        size = 1 if self.one_at_a_time else self._pass_tokens(sum(len(requests[i].ids) - 1 for i in pending))
        all_jobs = itertools.chain(self._packed(requests, within, size), self._padded(requests, beyond, size))
        jobs = (job for number, job in enumerate(all_jobs) if share.has(number))
        return UnderWay(operator.call, jobs, n=self._n_parallel_passes, ahead=PASSES_AHEAD)

    def _pass_tokens(self, n_tokens: int) -> int:
        """Return how many tokens a forward pass takes: fewer where the last ones would leave cores idle."""
        if input_device(self.model).type != "cpu":
            return self.batch_tokens
        return min(self.batch_tokens, max(PACK_TOKENS, n_tokens // LEAST_PASSES))

    def _packed(self, requests: Sequence[EncodedRequest], chosen: Sequence[int], size: int) -> Iterator[_Job]:
        index = np.array(chosen, dtype=np.int64)
        layers = probed_layers(requests[i] for i in chosen)
        ranks = any(requests[i].ranks for i in chosen)
        # computed in a pass, whose one thread gives the same bytes whatever there are
        shared_prefix: Once[SharedPrefix] | None = None
        tokens = np.zeros(0, dtype=np.int64)
        for batch in together(self.packs([requests[i] for i in chosen]), size):
            if batch[0].shared_prefix is not tokens:
                tokens = batch[0].shared_prefix
                computed = partial(computed_prefix, self.model, tokens, input_device(self.model))
                shared_prefix = Once(computed) if len(tokens) else None
                self.stats.n_computed_tokens += len(tokens)
            n_tokens = sum(len(pack.tokens) for pack in batch)
            forward = partial(self._tree_rows, batch, shared_prefix, layers)
            yield partial(self._pass, forward, requests, index=index, n_tokens=n_tokens, ranks=ranks)

    def _tree_rows(
        self, packs: Sequence[Pack], shared_prefix: Once[SharedPrefix] | None, layers: Sequence[int] = ()
    ) -> tuple[torch.Tensor, Reads]:
        computed = None if shared_prefix is None else shared_prefix()
        hidden, cuts = self.head is not None, bool(self.cuts_states)
        return tree_rows(self.model, packs, shared_prefix=computed, hidden=hidden, layers=layers, cuts=cuts)

    def _padded(self, requests: Sequence[EncodedRequest], chosen: Sequence[int], size: int) -> Iterator[_Job]:
        order = sorted(chosen, key=lambda i: (len(requests[i].ids), requests[i].ids, i))

        def n_tokens(i: int) -> int:
            return len(requests[i].ids) - 1

        for batch in padded_batches(order, width=n_tokens, budget_tokens=size, window=self._window):
            of_batch = [requests[i] for i in batch]
            layers = probed_layers(of_batch)
            forward = partial(padded_rows, self.model, of_batch, hidden=self.head is not None, layers=layers)
            index = np.array(batch, dtype=np.int64)
            ranks, n_padded = any(request.ranks for request in of_batch), n_tokens(batch[-1]) * len(batch)
            yield partial(self._pass, forward, requests, index=index, n_tokens=n_padded, ranks=ranks)

    def _pass(
        self,
        forward: Callable[[], tuple[torch.Tensor, Reads]],
        requests: Sequence[EncodedRequest],
        *,
        index: IntArray,
        n_tokens: int,
        ranks: bool,
    ) -> _PassResult:
        """Run one forward pass; log-probabilities come from its logits, or its hidden states, of the rows read."""
        rows, reads = forward()
        where: dict[str, Any] = {"rows": reads.rows, "tokens": reads.tokens, "ranks": ranks}
        where["model_name"] = self.info.name
        read = read_logprobs_nats(rows, **where) if self.head is None else head_logprobs_nats(self.head, rows, **where)
        owners, probed = index[reads.owners], index[reads.probed]
        if len(probed):
            probes = [request.probe for i in probed if isinstance(request := requests[i], EncodedProbe)]
            read = _with_probes(read, probes, {layer: Download(states) for layer, states in reads.states.items()})
            owners = np.concatenate([owners, probed])
        return _PassResult(owners=owners, read=read, n_tokens=n_tokens)

    def packs(self, requests: Sequence[EncodedRequest]) -> Iterator[Pack]:
        budget_tokens = min(PACK_TOKENS, self.batch_tokens)
        return plan(requests, budget_tokens=budget_tokens, min_shared_tokens=self.min_shared_tokens)


def probed_layers(requests: Iterable[EncodedRequest]) -> list[int]:
    return sorted({request.probe.layer for request in requests if isinstance(request, EncodedProbe)})


def _with_probes(read: Reading, probes: Sequence[LinearProbe], states: Mapping[int, Download]) -> Reading:
    """Return what waits for a pass's log-probabilities, and behind them for what each probe says of its state."""

    def read_both() -> FloatArray:
        by_layer = {layer: download.wait() for layer, download in states.items()}
        said = np.empty(len(probes))
        for probe in dict.fromkeys(probes):
            of_probe = [row for row, other in enumerate(probes) if other is probe]
            said[of_probe] = probe.log_odds(by_layer[probe.layer][of_probe])
        values = np.atleast_2d(read())
        return np.concatenate([values, np.tile(said, (len(values), 1))], axis=1)

    return read_both


@dataclass(frozen=True, slots=True, kw_only=True)
class _PassResult:
    owners: IntArray
    """(n_reads,) the request of each read."""
    read: Reading
    """Gives (n_reads,) log-probabilities in nats, or where asked (2, n_reads) with the tokens' ranks."""
    n_tokens: int
