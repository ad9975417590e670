"""Read a bank with `datasets` alone, and ask whose probabilities a model's answers follow: its own, or another's?

    make demo                                            # leaves demo-bank/
    python examples/compare_models.py demo-bank          # or ORG/NAME on the Hub

Needs datasets and pandas, not pairbank. Song, Hu & Mahowald 2025 ask this of 21 models: if a model knew its own
probabilities by introspection, its answers would follow them better than those of other models. With the few
models of a small bank this is a look, not a test; `analyses = ["introspection"]` is the test.
"""

from __future__ import annotations

import argparse

import pandas as pd
from datasets import get_dataset_split_names, load_dataset


def main(arguments: list[str] | None = None) -> None:
    """Print the leaderboard of a bank's corpus, and how well each model's answers go with each one's probabilities."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bank", nargs="?", default="demo-bank", help="folder of a bank, or ORG/NAME on the Hub")
    parser.add_argument("--corpus", default="starter")
    parser.add_argument("--method", default="meta_question_simple", help="a prompted method of the bank")
    chosen = parser.parse_args(arguments)

    # 1. Every estimate of the bank is one row of the config "summary".
    results = load_dataset(chosen.bank, "summary", split="results").to_pandas()
    rows = results[
        (results["corpus"] == chosen.corpus) & (results["metric"] == "accuracy") & (results["group_by"] == "all")
    ]
    print(f"Accuracy on {chosen.corpus}, 95 % interval")
    print(rows[["model", "method", "value", "low", "high", "n"]].round(2).to_string(index=False), "\n")

    # 2. Every model is one split of the corpus's scored config; rows are matched by item_id.
    config, asked = f"{chosen.corpus}_scored", f"{chosen.method}_delta"
    models = get_dataset_split_names(chosen.bank, config)
    tables = {m: load_dataset(chosen.bank, config, split=m).to_pandas().set_index("item_id") for m in models}
    grid = pd.DataFrame(index=pd.Index(models, name="answers of"), columns=models, dtype=float)
    for model in models:
        for other in models:
            both = pd.concat([tables[model][asked], tables[other]["direct_delta"]], axis=1, join="inner").dropna()
            grid.loc[model, other] = both.corr().iloc[0, 1]
    print(f"Pearson r of {asked} (rows) with direct_delta (columns)")
    print(grid.round(2).to_string(), "\n")

    # 3. Self against the others: positive = the answers follow the model's own probabilities best.
    for model in models:
        others = grid.loc[model].drop(model)
        if others.empty:
            print(f"{model} is alone in this bank: score another model and add it with `pairbank bank`")
        else:
            print(f"{model}: r with itself {grid.loc[model, model]:.2f}, with others {others.mean():.2f} on average")


if __name__ == "__main__":
    main()
