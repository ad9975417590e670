"""From what a forward pass leaves to log-probabilities in nats: of logits, or of hidden states by the output layer.

They are normalised in float32 over the model's whole output layer whatever its dtype (DESIGN.md, correctness rule 4).
From hidden states the output layer is applied in blocks of the vocabulary: the logits of a pass are the largest thing
in memory by far, and on a CPU their pages cost as much time as their normalisation. A model whose logits are more than
one linear layer of its last hidden states (capped, scaled, quantised, placed elsewhere) keeps its own output layer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from pairbank.arrays import FloatArray, IntArray
from pairbank.errors import ScoringError
from pairbank.scoring.engine.forward import Download, Reading, is_split, on_device

if TYPE_CHECKING:
    from transformers import PreTrainedModel

BLOCK_LOGITS = {"cpu": 1 << 19}
"""Logits computed at a time: on a CPU, what stays in its cache."""
BLOCK_LOGITS_ACCELERATOR = 1 << 27
CHANGES_LOGITS = (
    "final_logit_softcapping",
    "logit_scale",
    "logits_scaling",
    "lm_head_multiplier",
    "output_multiplier_scale",
)
"""Settings of models that do something to their logits."""
ROWS_A_CHUNK = 512
"""Rows of logits that are normalised at a time, so that few stand in float32 at once."""


def linear_head(model: PreTrainedModel, ids: torch.Tensor) -> torch.nn.Linear | None:
    """Return the output layer if the model's logits are nothing but it, as tried on some ids (1, n); else None."""
    head: Any = model.get_output_embeddings()  # type: ignore[no-untyped-call]
    config = model.config.get_text_config()
    if type(head) is not torch.nn.Linear or hasattr(head, "_hf_hook") or model.base_model is model or is_split(model):
        return None
    if any(getattr(config, name, None) not in (None, 1, 1.0) for name in CHANGES_LOGITS):
        return None
    whole = model(input_ids=ids, use_cache=False).logits
    try:
        ours = head(model.base_model(input_ids=ids, use_cache=False).last_hidden_state)
    except (AttributeError, RuntimeError, TypeError):
        return None
    # in one type: some models give logits in float32 whatever their own type is
    same = whole.shape == ours.shape and torch.allclose(whole.float(), ours.float(), rtol=1e-4, atol=1e-4)
    return head if same else None


def head_logprobs_nats(
    head: torch.nn.Linear,
    hidden: torch.Tensor,
    *,
    rows: IntArray,
    tokens: IntArray,
    model_name: str,
    ranks: bool = False,
) -> Reading:
    """Return what waits for log-softmax values in nats at (row, token), the softmax in float32 over all the vocabulary.

    Their shape is (n_reads,), or (2, n_reads) with the tokens' ranks below.
    """
    order = np.argsort(tokens, kind="stable")
    hidden = hidden.to(head.weight.device)
    by_token, row_of = tokens[order], on_device(rows[order], hidden.device)
    token_of = on_device(by_token, hidden.device)
    most = BLOCK_LOGITS.get(hidden.device.type, BLOCK_LOGITS_ACCELERATOR)
    size = max(1, most // len(hidden))

    def blocks() -> Iterator[tuple[int, torch.Tensor]]:
        for first in range(0, head.out_features, size):
            last = min(first + size, head.out_features)
            logits = torch.nn.functional.linear(hidden, head.weight[first:last], _part(head.bias, first, last))
            yield first, logits.float()

    normalisers = []
    # a token that the output layer does not have keeps NaN, which is refused below
    chosen = torch.full((len(tokens),), torch.nan, device=hidden.device)
    for first, logits in blocks():
        a, b = np.searchsorted(by_token, (first, first + logits.shape[1])).tolist()
        chosen[a:b] = logits[row_of[a:b], token_of[a:b] - first]
        normalisers.append(logits.logsumexp(-1))
    # at the end and at once: added up block by block, rounding would grow with their number
    normaliser = torch.stack(normalisers).logsumexp(0)
    both = Download(torch.stack([chosen, normaliser[row_of]]))
    above = [(logits[row_of] > chosen[:, None]).sum(-1) for _, logits in blocks()] if ranks else []
    of_ranks = Download(torch.stack(above).sum(0)) if above else None

    def read() -> FloatArray:
        values = np.empty((1 if of_ranks is None else 2, len(tokens)))
        values[:, order] = _differences(both, of_ranks)
        return finite(values if ranks else values[0], model_name)

    return read


def _part(bias: torch.Tensor | None, first: int, last: int) -> torch.Tensor | None:
    return None if bias is None else bias[first:last]


def _differences(both: Download, above: Download | None) -> FloatArray:
    """Return log-probabilities (1, n_reads), with ranks below (2, n_reads) where it is known how many are above."""
    chosen, normaliser = both.wait().astype(np.float64)
    nats: FloatArray = chosen - normaliser
    return nats[None] if above is None else np.stack([nats, 1.0 + above.wait()])


def read_logprobs_nats(
    logits: torch.Tensor, *, rows: IntArray, tokens: IntArray, model_name: str, ranks: bool = False
) -> Reading:
    """Return what waits for log-softmax values in nats at (row, token), as `head_logprobs_nats` does."""
    normaliser = torch.cat([part.float().logsumexp(-1) for part in torch.split(logits, ROWS_A_CHUNK)])
    row_index = on_device(rows, logits.device)
    chosen = logits[row_index, on_device(tokens, logits.device)].float()
    both, above = Download(torch.stack([chosen, normaliser[row_index]])), None
    if ranks:
        parts = zip(torch.split(row_index, ROWS_A_CHUNK), torch.split(chosen, ROWS_A_CHUNK), strict=True)
        above = Download(torch.cat([(logits[places].float() > least[:, None]).sum(-1) for places, least in parts]))

    def read() -> FloatArray:
        values = _differences(both, above)
        return finite(values if ranks else values[0], model_name)

    return read


def finite(values: FloatArray, model_name: str) -> FloatArray:
    if not np.isfinite(values).all():
        raise ScoringError(
            f"model {model_name!r} gave a log-probability that is NaN or infinite; expected finite values: "
            "load it with dtype='float32', or check its weights"
        )
    return values
