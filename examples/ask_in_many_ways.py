"""One set of items, ten ways of asking: how much of an answer is the question's?

    python examples/ask_in_many_ways.py --model demo

Labels (1/2, A/B, first/second, 2/1), the question's place, wording, judging one sentence at a time, and two answered
examples before the question. The items stay the same, so whatever differs is due to the asking.
"""

from __future__ import annotations

import argparse

import pandas as pd

import pairbank
from pairbank.scoring.models.fake import FakeScorer

WAYS = [
    "meta_question_simple",  # Which sentence is a better English sentence? 1: … 2: …
    "meta_question_simple_labels_ab",
    "meta_question_simple_labels_first_second",
    "meta_question_simple_labels_21",  # the sentence shown first is number 2
    "meta_question_simple_question_last",
    "meta_question_simple@2shot",  # two answered examples of other items before the question
    "grammaticality_judgment",
    "acceptability_judgment",
    "acceptability_judgment_i",  # each sentence alone, under both assignments of the answers
    "hl23_sent_judge_meta_question_simple",  # yes or no
]
COLUMNS = {
    "accuracy": "accuracy",
    "accuracy_pooled": "orders pooled",
    "position_bias": "first chosen",
    "raw_agreement": "as direct",
}


def main(arguments: list[str] | None = None) -> None:
    """Print how right, how biased and how consistent the answers are, and how many items change their answer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="demo", help="demo, a folder, a Hub id, or fake (random numbers)")
    parser.add_argument("--corpus", default="starter")
    parser.add_argument("--subset", default="minimal-pairs", help="a subset of sentence pairs")
    parser.add_argument("--limit", type=int, default=1, help="items of each paradigm")
    chosen = parser.parse_args(arguments)

    items = pairbank.load_corpus(chosen.corpus, subset=chosen.subset, limit=chosen.limit)
    model = FakeScorer() if chosen.model == "fake" else pairbank.load_model(chosen.model)
    scored = pairbank.score(items, model, methods=["direct", *WAYS])

    # The long summary has every estimate with its interval; here it is turned into one row a way of asking.
    summary = pairbank.report([scored]).summary
    whole = summary[(summary["group_by"] == "all") & summary["metric"].isin(COLUMNS)]
    wide = whole.pivot_table(index="method", columns="metric", values="value").reindex(["direct", *WAYS])
    print(f"{len(items)} items of {chosen.corpus}, {model.info.name}")
    print(wide.reindex(columns=list(COLUMNS)).rename(columns=COLUMNS).round(2).to_string(na_rep=""))

    # Does the preferred sentence depend on the way of asking? Ties (delta 0) prefer neither.
    table = scored.to_pandas()
    prefers = pd.DataFrame({way: table[f"{way}_delta"] > 0 for way in WAYS})
    changes = prefers.nunique(axis=1) > 1
    accuracies = wide.loc[WAYS, "accuracy"]
    lowest, highest = accuracies.idxmin(), accuracies.idxmax()
    print(f"\naccuracy from {accuracies[lowest]:.2f} ({lowest}) to {accuracies[highest]:.2f} ({highest})")
    print(f"{changes.sum()} of {len(changes)} items are answered one way or the other, depending on the question")
    biased = wide["position_bias"][lambda bias: (bias < 0.25) | (bias > 0.75)]
    print(f"{len(biased)} of {len(WAYS)} ways get the same option in more than three of four presentations")


if __name__ == "__main__":
    main()
