"""Your own sentences, from a CSV file to a bank that anybody can load.

    python examples/your_own_pairs.py --model demo --out my-results

The file needs two columns, the better sentence first. Here it is made on the spot; give yours with --pairs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from datasets import load_dataset

import pairbank
from pairbank.scoring.models.fake import FakeScorer

PAIRS = """\
good,bad,phenomenon
The geese near the pond are loud.,The geese near the pond is loud.,agreement
The lid of the jars has cracked.,The lid of the jars have cracked.,agreement
The pilots who met her were late.,The pilots who met her was late.,agreement
Nobody has ever seen it.,Somebody has ever seen it.,negative polarity
No cook will ever try that.,Some cook will ever try that.,negative polarity
She hardly ever complains.,She often ever complains.,negative polarity
Who did he say left early?,Who did he say that left early?,extraction
What did you hear that she bought?,What did you hear the claim that she bought?,extraction
"""
METHODS = ["direct", "meta_question_simple", "acceptability_judgment_i"]


def main(arguments: list[str] | None = None) -> None:
    """Score the pairs, print the estimates and the items that need a look, and write a report and a bank."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, help="your CSV file; without it a small one is made")
    parser.add_argument("--model", default="demo", help="demo, a folder, a Hub id, or fake (random numbers)")
    parser.add_argument("--out", type=Path, default=Path("my-results"))
    chosen = parser.parse_args(arguments)
    chosen.out.mkdir(parents=True, exist_ok=True)
    pairs = chosen.pairs or chosen.out / "pairs.csv"
    if chosen.pairs is None:
        pairs.write_text(PAIRS, encoding="utf-8")

    # Every row that cannot be accepted is reported with file, line and reason.
    items = pairbank.load_corpus(pairs)
    model = FakeScorer() if chosen.model == "fake" else pairbank.load_model(chosen.model)
    # Interrupt this and run it again: it continues, since every finished score is kept in a cache.
    scored = pairbank.score(items, model, methods=METHODS)
    report = pairbank.report([scored], title="My pairs")
    print(report.accuracy.to_string(index=False), "\n")
    print(report.agreement.to_string(index=False), "\n")
    report.save(chosen.out / "report")

    # A bank is a folder in the Hub's layout; `pairbank publish` would put it there.
    bank = pairbank.write_bank(chosen.out / "bank", scored=[scored], reports={"mine": report})

    # From here on plain `datasets` and pandas: nobody needs pairbank to read a bank.
    table = load_dataset(str(bank), f"{scored.corpus}_scored", split=scored.model_slug).to_pandas()
    wrong = table[table["direct_delta"] < 0].sort_values("direct_delta")
    print(f"The probabilities prefer the worse sentence in {len(wrong)} of {len(table)} pairs (nats):")
    for pair in wrong.itertuples():
        print(f"  {pair.direct_delta:7.2f}  {pair.target_good} / {pair.target_bad}")
    against = table[table["direct_delta"] * table["meta_question_simple_delta"] < 0]
    print(f"In {len(against)} pairs the model, asked, contradicts its own probabilities (measured, asked):")
    for pair in against.itertuples():
        print(f"  {pair.direct_delta:7.2f} {pair.meta_question_simple_delta:7.2f}  {pair.target_good}")


if __name__ == "__main__":
    main()
