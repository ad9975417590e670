"""What a plan says against what a run does: in, models and studies; out, the table of docs/scale.md.

    python tests/scale/planned.py [--models demo qwen2 gpt2]

Tokens are those that the engine counts. Time is the processor time of this process with one thread, so that others may
be at work on the machine; what the machine reaches is measured before and after each run. The two random models have
layers about as wide as the demo model's. About two minutes of processor time.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

import datasets
import pandas as pd
import torch

import pairbank
from pairbank.markdown import to_markdown
from pairbank.scoring.costs import TokensOnly, measured_flops_per_second, shape_of, work_of
from pairbank.study.declaration import load_study
from tiny_models import Architecture, saved_model

RANDOM = {
    "qwen2": Architecture(
        model_class="Qwen2ForCausalLM",
        config={
            "hidden_size": 640,
            "intermediate_size": 1792,
            "num_hidden_layers": 6,
            "num_attention_heads": 10,
            "num_key_value_heads": 2,
            "max_position_embeddings": 2048,
        },
        batching="packed",
        tokenizer="byte_bpe_eos",
    ),
    "gpt2": Architecture(
        model_class="GPT2LMHeadModel",
        config={"n_embd": 576, "n_layer": 8, "n_head": 9, "n_positions": 2048},
        batching="packed",
        tokenizer="byte_bpe_shared",
    ),
}
STUDIES = {"introspection": ("minimal-pairs", 6), "ewok-plausibility": ("contexts", 6)}
"""Each study's methods, on so many of the starter's items of its kind."""
N_TOKENS = 4_000
"""Of the model that measures the machine."""


def row_of(model: str, folder: str, study: str) -> dict[str, object]:
    """Return a line of the table."""
    subset, n_items = STUDIES[study]
    items = pairbank.load_corpus("starter", subset=subset).select(range(n_items))
    methods = load_study(study).methods
    work = work_of(items, TokensOnly(folder), methods=methods, sampled_units=10_000)
    flops = work.flops(shape_of(folder, dtype="float32"))
    scorer: Any = pairbank.load_model(folder, device="cpu", dtype="float32")
    before, rate = scorer.stats.n_computed_tokens, _rate()
    with tempfile.TemporaryDirectory() as cache, mock.patch.dict(os.environ, PAIRBANK_CACHE=cache):
        began = time.process_time()
        pairbank.score(items, scorer, methods=methods)
        seconds = time.process_time() - began
    rate = (rate + _rate()) / 2
    return {
        "model": model,
        "study": study,
        "items": n_items,
        "tokens planned": round(work.n_computed_tokens),
        "computed": scorer.stats.n_computed_tokens - before,
        "GFLOP": round(flops / 1e9),
        "GFLOP a second here": round(rate / 1e9, 1),
        "CPU s planned": round(flops / rate, 1),
        "taken": round(seconds, 1),
        "off": f"{flops / rate / seconds - 1:+.0%}",
    }


def _rate() -> float:
    return measured_flops_per_second(n_tokens=N_TOKENS, clock=time.process_time)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=["demo", *RANDOM])
    asked = parser.parse_args()
    datasets.disable_progress_bars()
    torch.set_num_threads(1)
    rows = []
    with tempfile.TemporaryDirectory() as work:
        for model in asked.models:
            folder = str(saved_model(RANDOM[model], Path(work) / model)) if model in RANDOM else model
            for study in STUDIES:
                rows.append(row_of(model, folder, study))
                sys.stderr.write(f"{rows[-1]}\n")
    sys.stdout.write(to_markdown(pd.DataFrame(rows)) + "\n")


if __name__ == "__main__":
    main()
