"""The README's table of runtimes: pairbank beside the bare model, minicons and lm-evaluation-harness.

    PYTHONPATH=tests/support python tests/scale/bench.py --data-dir CORPORA --pairs 2000 --whole 2000 --prompts 100

BLiMP sentences with --data-dir, else the starter corpus. Tools take part if they are installed; each of their runs is
between two of pairbank's. Prints all timings, then the README's rows: wall-clock time relative to pairbank.
"""

import argparse
import dataclasses
import sys
from pathlib import Path

import datasets
import pandas as pd

import pairbank
from contenders import OURS, PLANNING, TOKENISING, bench
from pairbank.markdown import to_markdown
from pairbank.scoring.models.causal import CausalScorer

RANDOM, WHOLE, PROMPTED = "random BLiMP pairs", "whole BLiMP paradigms", "forced choices, both orders"


def readme_rows(timings: pd.DataFrame) -> pd.DataFrame:
    """Return one row per contender, one column per workload: wall-clock time relative to pairbank."""
    others = timings[~timings["contender"].isin([OURS, PLANNING, TOKENISING])]
    wide = others.pivot_table(index="contender", columns="workload", values="wall_ratio", sort=False)
    return wide.round(1).rename_axis(columns=None, index="").reset_index()


def main() -> None:
    """Time what the command line asks for and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="demo", help="a causal model")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--data-dir", type=Path, help="folder of corpora")
    parser.add_argument("--pairs", type=int, default=200, help="sentence pairs, drawn at random")
    parser.add_argument("--whole", type=int, default=0, help="pairs of whole paradigms")
    parser.add_argument("--prompts", type=int, default=30, help="pairs prompted (forced choice in both orders)")
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    datasets.disable_progress_bars()
    scorer = pairbank.load_model(asked.model, device=asked.device, dtype=asked.dtype)
    if not isinstance(scorer, CausalScorer):
        parser.error(f"{asked.model} is not a causal model")
    items = (
        pairbank.load_corpus("starter", subset="minimal-pairs")
        if asked.data_dir is None
        else pairbank.load_corpus("blimp", data_dir=asked.data_dir)
    )
    drawn = items.shuffle(seed=1)
    rows = [
        {**dataclasses.asdict(row), "workload": workload}
        for workload, method, source, n_pairs in (
            (RANDOM, "direct", drawn, asked.pairs),
            (WHOLE, "direct", items, asked.whole),
            (PROMPTED, "meta_question_simple", drawn, asked.prompts),
        )
        if n_pairs
        for row in bench(scorer, source.select(range(min(n_pairs, len(source)))), method=method, repeats=asked.repeats)
    ]
    timings = pd.DataFrame(rows)
    sys.stdout.write(f"{to_markdown(timings.round(4))}\n\n{to_markdown(readme_rows(timings))}\n")


if __name__ == "__main__":
    main()
