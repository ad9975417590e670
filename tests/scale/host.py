"""How long the host works beside the device: in, corpora and methods; out, the host's part of `pairbank plan`.

    python tests/scale/host.py [--items 600]

The model computes nothing: its forward pass and its output layer give zeros at once, so that all that is measured is
reading items, prompts, tokens, plans, inputs, tables and the store. Processor time of one thread.
"""

import argparse
import os
import sys
import tempfile
import time
from types import SimpleNamespace
from typing import Any
from unittest import mock

import datasets
import numpy as np
import pandas as pd
import torch

import pairbank
from pairbank.markdown import to_markdown
from pairbank.scoring.costs import HOST_SECONDS_PER_REQUEST
from pairbank.scoring.models import causal

METHODS = (("direct",), ("meta_question_simple",), ("acceptability_judgment_i",), ("direct", "meta_question_simple"))


def without_a_device(model: Any) -> Any:  # noqa: ANN401 - a scorer
    """Return a scorer whose model gives zeros at once."""

    def forward(input_ids: Any, **_: Any) -> Any:  # noqa: ANN401
        return SimpleNamespace(last_hidden_state=torch.zeros(*input_ids.shape, 1))

    model.model.base_model.forward = forward
    model.min_shared_tokens, model._n_parallel_passes, model.batch_tokens = np.inf, 1, 16_384
    model._pass_tokens = lambda _n: model.batch_tokens
    engine: Any = causal
    engine.head_logprobs_nats = lambda _head, _hidden, *, tokens, **_: lambda: np.zeros(len(tokens))
    return model


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=600)
    asked = parser.parse_args()
    datasets.disable_progress_bars()
    torch.set_num_threads(1)
    scorer = without_a_device(pairbank.load_model("demo", device="cpu"))
    source = pairbank.load_corpus("starter", subset="minimal-pairs")
    items = source.select([n % len(source) for n in range(asked.items)])
    numbered = [f"{text} {n}" for n, text in enumerate(items["target_good"][:])]
    items = items.remove_columns("target_good").add_column("target_good", numbered).cast(source.features)
    rows = []
    for methods in METHODS:
        counted = [0]
        encode = type(scorer).encode

        def encoded(requests: Any, encode: Any = encode, counted: list[int] = counted) -> Any:  # noqa: ANN401
            counted[0] += len(requests)
            return encode(scorer, requests)

        scorer.encode = encoded
        before = scorer.stats.n_computed_tokens
        with tempfile.TemporaryDirectory() as cache, mock.patch.dict(os.environ, PAIRBANK_CACHE=cache):
            began = time.process_time()
            pairbank.score(items, scorer, methods=methods)
            seconds = time.process_time() - began
        rows.append(
            {
                "methods": ", ".join(methods),
                "items": len(items),
                "requests": counted[0],
                "tokens computed": scorer.stats.n_computed_tokens - before,
                "host CPU s": round(seconds, 2),
            }
        )
        sys.stderr.write(f"{rows[-1]}\n")
    table = pd.DataFrame(rows)
    table["us per request"] = (1e6 * table["host CPU s"] / table["requests"]).round()
    sys.stdout.write(to_markdown(table) + "\n")
    middle = 1e6 * table["host CPU s"].sum() / table["requests"].sum()
    sys.stdout.write(f"{middle:.0f} us per request; planned with {1e6 * HOST_SECONDS_PER_REQUEST:.0f}\n")


if __name__ == "__main__":
    main()
