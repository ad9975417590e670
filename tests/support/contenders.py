"""pairbank timed beside the bare model and other tools on the same items (`tests/scale/bench.py` prints the table).

The same sentences and prompts go through our engine, the bare model, and installed peers. In: a loaded causal model and
items. Out: seconds and ratios, one process; every run of another contender stands between two of ours and is compared
with these, so that a machine that is busy or slows down does so for both; and the greatest difference between our
numbers and each peer's, for speed without agreement means nothing.
"""

from __future__ import annotations

import functools
import importlib.util
import logging
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from naive_reference import n_distinct_nodes
from pairbank.scoring.api.names import DIRECT
from pairbank.scoring.api.requests import EncodedRequest, Request
from pairbank.scoring.engine.forward import input_device, scoring_mode
from pairbank.scoring.engine.prefix_trees import plan
from pairbank.scoring.methods.registry import method_named
from pairbank.scoring.models.causal import PACK_TOKENS, CausalScorer

if TYPE_CHECKING:
    import datasets


logger = logging.getLogger(__name__)
PEER_BATCH = 32
OURS, BARE, MINICONS = "pairbank", "bare model", "minicons"
HFLM, VLLM = "lm-evaluation-harness", "lm-evaluation-harness, vLLM"
VLLM_MEMORY = 0.4
"""Share of a card's memory that vLLM takes: the model of all the others stands there, too."""
TOKENISING, PLANNING = "our tokenising", "our planning"
"""Parts of our own run; their ratio is a share."""
Run = Callable[[], Sequence[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRow:
    workload: str
    contender: str
    wall_seconds: float
    """Median over the repeats."""
    cpu_seconds: float
    """Of all threads of the process; the better measure where others use the machine too. Median over the repeats."""
    wall_ratio: float
    """Its seconds over the mean of our runs before and after it; median over the repeats."""
    cpu_ratio: float
    worst_difference_nats: float
    """Greatest difference of a sum from ours; NaN where there are no sums."""
    n_requests: int
    n_distinct_tokens: int
    n_sequence_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Timed:
    wall_seconds: float
    cpu_seconds: float
    sums: Sequence[float]


def bench(scorer: CausalScorer, items: datasets.Dataset, *, method: str = DIRECT, repeats: int = 3) -> list[BenchRow]:
    """Time one method on some items through every contender that is installed."""
    chosen = method_named(method)
    requests = [request for row in items.to_list() for request in chosen.requests(row, scorer)]
    encoded = scorer.encode(requests)
    others: dict[str, Run] = {
        TOKENISING: lambda: _nothing(scorer.encode(requests)),
        PLANNING: lambda: _nothing(list(scorer.packs(encoded))),
        BARE: lambda: _bare(scorer, encoded),
    }
    others |= _peers(scorer, requests)
    ours = [_timed(lambda: _ours(scorer, requests), scorer)]
    results: dict[str, list[_Timed]] = {name: [] for name in others}
    beside: dict[str, list[tuple[_Timed, _Timed]]] = {name: [] for name in others}
    for _ in range(repeats):
        for name, run in others.items():
            results[name].append(_timed(run, scorer))
            if name not in (TOKENISING, PLANNING):
                ours.append(_timed(lambda: _ours(scorer, requests), scorer))
            beside[name].append((ours[-2] if len(ours) > 1 else ours[-1], ours[-1]))
    counts = {
        "workload": method,
        "n_requests": len(encoded),
        "n_distinct_tokens": n_distinct_nodes(encoded),
        "n_sequence_tokens": sum(len(request.ids) - 1 for request in encoded),
    }
    first = _row(OURS, ours, [(our, our) for our in ours], ours[-1].sums, counts)
    return [first, *(_row(name, results[name], beside[name], ours[-1].sums, counts) for name in others)]


def _peers(scorer: CausalScorer, requests: Sequence[Request]) -> dict[str, Run]:
    """Return what is installed and can be imported; what only seems to be installed is named and takes no part."""
    known = {MINICONS: (("minicons",), _minicons), HFLM: (("lm_eval",), _hflm), VLLM: (("lm_eval", "vllm"), _vllm)}
    results: dict[str, Run] = {}
    for name, (packages, created) in known.items():
        if all(importlib.util.find_spec(package) for package in packages):
            try:
                results[name] = created(scorer, requests)
            except ImportError as error:
                logger.warning("%s is not timed: it is installed incompletely (%s)", name, error)
    return results


def _timed(run: Run, scorer: CausalScorer) -> _Timed:
    _wait_for_card(scorer)
    wall, cpu = time.perf_counter(), time.process_time()
    sums = run()
    _wait_for_card(scorer)
    return _Timed(wall_seconds=time.perf_counter() - wall, cpu_seconds=time.process_time() - cpu, sums=sums)


def _wait_for_card(scorer: CausalScorer) -> None:
    """Wait until a card has done what it was given: its work goes on after the call that began it."""
    if input_device(scorer.model).type == "cuda":
        torch.cuda.synchronize(input_device(scorer.model))


def _row(
    name: str,
    runs: Sequence[_Timed],
    beside: Sequence[tuple[_Timed, _Timed]],
    ours: Sequence[float],
    counts: Mapping[str, Any],
) -> BenchRow:
    pairs = list(zip(runs, beside, strict=True))
    return BenchRow(
        contender=name,
        wall_seconds=statistics.median(run.wall_seconds for run in runs),
        cpu_seconds=statistics.median(run.cpu_seconds for run in runs),
        wall_ratio=statistics.median(2 * run.wall_seconds / (a.wall_seconds + b.wall_seconds) for run, (a, b) in pairs),
        cpu_ratio=statistics.median(2 * run.cpu_seconds / (a.cpu_seconds + b.cpu_seconds) for run, (a, b) in pairs),
        worst_difference_nats=_worst(runs[-1].sums, ours),
        **counts,
    )


def _nothing(_made: object) -> list[float]:
    return []


def _worst(sums: Sequence[float], ours: Sequence[float]) -> float:
    return float(np.abs(np.array(sums) - np.array(ours)).max()) if sums else float("nan")


def _ours(scorer: CausalScorer, requests: Sequence[Request]) -> list[float]:
    """Return sums from text to number: tokenising and planning count."""
    logprobs = scorer.token_logprobs(scorer.encode(requests), progress=lambda _n: None)
    return [float(values.sum()) for values in logprobs]


def _bare(scorer: CausalScorer, encoded: Sequence[EncodedRequest]) -> list[float]:
    """Run the model's own forward pass over as many tokens as are distinct, and its head over the rows read.

    This is the limit for whoever computes each distinct token once: plain causal attention over rows as short as
    those of our packs, no padding, nothing gathered.
    """
    packs = list(plan(encoded, budget_tokens=sys.maxsize, min_shared_tokens=math.inf))
    tokens = np.concatenate([pack.tokens for pack in packs])
    is_read = np.concatenate([np.isin(np.arange(len(pack.tokens)), pack.read_nodes) for pack in packs])
    n_rows = max(1, scorer.batch_tokens // PACK_TOKENS)
    device, head = input_device(scorer.model), scorer.model.get_output_embeddings()  # type: ignore[no-untyped-call]
    with scoring_mode(scorer.model):
        for start in range(0, len(tokens), n_rows * PACK_TOKENS):
            stop = min(start + n_rows * PACK_TOKENS, len(tokens))
            width = PACK_TOKENS if stop - start >= PACK_TOKENS else stop - start
            stop = start + (stop - start) // width * width
            ids, read = (torch.from_numpy(x[start:stop].reshape(-1, width)).to(device) for x in (tokens, is_read))
            hidden = scorer.model.base_model(input_ids=ids, use_cache=False).last_hidden_state
            head(hidden[read])
    return []


def _minicons(scorer: CausalScorer, requests: Sequence[Request]) -> Callable[[], list[float]]:
    from minicons.scorer import IncrementalLMScorer

    peer: Any = IncrementalLMScorer(scorer.model, str(input_device(scorer.model)), tokenizer=scorer.tokenizer)

    def run() -> list[float]:
        sums: list[float] = []
        for start in range(0, len(requests), PEER_BATCH):
            batch = requests[start : start + PEER_BATCH]
            options: dict[str, Any] = {"reduction": lambda x: x.sum().item(), "bos_token": not batch[0].chat}
            if any(request.context for request in batch):
                contexts, targets = [r.context for r in batch], [r.target.lstrip(" ") for r in batch]
                sums += peer.conditional_score(contexts, targets, separator=" ", **options)
            else:
                sums += peer.sequence_score([r.target for r in batch], **options)
        return sums

    return run


def _hflm(scorer: CausalScorer, requests: Sequence[Request]) -> Callable[[], list[float]]:
    from lm_eval.models.huggingface import HFLM as Peer  # noqa: N811 - a class named in capitals

    peer: Any = Peer(
        pretrained=scorer.model, tokenizer=scorer.tokenizer, batch_size=PEER_BATCH, add_bos_token=not requests[0].chat
    )
    return _lm_eval(peer, requests)


def _vllm(scorer: CausalScorer, requests: Sequence[Request]) -> Callable[[], list[float]]:
    peer = _vllm_peer(scorer.model.name_or_path, str(scorer.model.dtype).removeprefix("torch."))
    peer.add_bos_token = not requests[0].chat  # it asks for it a text at a time
    return _lm_eval(peer, requests)


@functools.lru_cache(maxsize=1)
def _vllm_peer(folder: str, dtype: str) -> Any:  # noqa: ANN401 - without types
    """Return the same weights once more, as vLLM loads them: once, for it gives back no memory.

    In this process, so that its time on the CPU counts.
    """
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    from lm_eval.models.vllm_causallms import VLLM as Peer  # noqa: N811 - a class named in capitals

    return Peer(pretrained=folder, dtype=dtype, add_bos_token=True, gpu_memory_utilization=VLLM_MEMORY)


def _lm_eval(peer: Any, requests: Sequence[Request]) -> Callable[[], list[float]]:  # noqa: ANN401 - without types
    from lm_eval.api.instance import Instance

    requested = [
        Instance(request_type="loglikelihood", doc={}, arguments=(r.context, r.target), idx=i)
        for i, r in enumerate(requests)
    ]

    def run() -> list[float]:
        return [float(pair[0]) for pair in peer.loglikelihood(requested, disable_tqdm=True)]

    return run
