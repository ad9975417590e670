"""What surprisals of words cost beside the bare forward pass: in, a model; out, processor times, interleaved.

    python tests/scale/words.py                 # the demo model, 10,000 words in texts of 200
    python tests/scale/words.py --words 2000 --text 10 --repeats 3

The bare pass reads the same texts with a BOS in the same batches and leaves its logits unread. The store is empty.
"""

import argparse
import itertools
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import torch

import pairbank
from pairbank.scoring.engine.batching import default_batch_tokens, in_batches, padded


def texts_of(n_words: int, length: int) -> list[str]:
    """Return texts of so many words: sentences of the starter's pairs, over and over, numbered so that all differ."""
    items = pairbank.load_corpus("starter", subset="minimal-pairs").filter(lambda row: row["language"] == "en")
    sentences = itertools.cycle([*items["target_good"], *items["target_bad"]])
    numbered = (word for n in itertools.count() for word in (f"{n}.", *next(sentences).split()))
    words = list(itertools.islice(numbered, n_words))
    return [" ".join(words[first : first + length]) for first in range(0, n_words, length)]


def bare(model: Any, texts: list[str]) -> None:  # noqa: ANN401 - a causal scorer
    """Run the model over the texts."""
    ids = [[model.info.bos_id, *one] for one in model.tokenizer(texts, add_special_tokens=False)["input_ids"]]

    def forward(batch: list[list[int]]) -> list[int]:
        inputs, mask = padded(batch, pad_id=0, device=model.model.device)
        model.model(input_ids=inputs, attention_mask=mask, use_cache=False)
        return [len(batch)]

    with torch.inference_mode():
        done = in_batches(
            sorted(ids, key=len),
            width=len,
            budget_tokens=default_batch_tokens(model.model),
            compute=forward,
            model_name=model.info.name,
        )
        assert sum(n for batch in done for n in batch) == len(texts)


def cpu_seconds(run: Callable[[], object]) -> float:
    """Return the processor time of a call, with an empty store."""
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, PAIRBANK_CACHE=folder):
        began = time.process_time()
        run()
        return time.process_time() - began


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="demo")
    parser.add_argument("--words", type=int, default=10_000)
    parser.add_argument("--text", type=int, default=200, help="words of a text")
    parser.add_argument("--repeats", type=int, default=2)
    asked = parser.parse_args()
    model, texts = pairbank.load_model(asked.model), texts_of(asked.words, asked.text)
    pairbank.words(texts[:1], model)
    ratios = []
    for _ in range(asked.repeats):
        plain = cpu_seconds(lambda: bare(model, texts))
        ours = cpu_seconds(lambda: pairbank.words(texts, model, lags=2))
        ratios.append(ours / plain)
        sys.stdout.write(f"bare {plain:.1f} s, words {ours:.1f} s, ratio {ratios[-1]:.3f}\n")
    sys.stdout.write(f"{asked.words:,} words, {len(texts):,} texts: {statistics.median(ratios):.3f}\n")


if __name__ == "__main__":
    main()
