"""The bank of a release, kept for good: `python tests/support/release_bank.py` writes `old_banks/VERSION.zip`.

It holds pairs with ratings in paradigms of uneven sizes, labelled and rated sentences in two languages, three made-up
models and methods of every kind, so that its results move when a statistic does. Its files are those of the format.
"""

from __future__ import annotations

import sys
import tempfile
import zipfile
from pathlib import Path

import pandas as pd

import pairbank
from pairbank.cards.bank.layout import bank_files
from pairbank.stats.scored_table.model_features import ModelFeatures
from single_sentences import labelled, rated

OLD_BANKS = Path(__file__).resolve().parent.parent / "cards" / "old_banks"
WRITE = "python tests/support/release_bank.py"
MODELS = ("fake-1", "fake-2", "fake-3")
PAIRS = ("direct", "mean_logprob", "meta_question_simple", "rating_7")
SENTENCES = ("direct", "yes_no")
SIZES = (2, 2, 3, 4, 5, 8, 13)
"""Of the paradigms."""
VERBS = ("sees", "draws", "finds", "helps", "calls", "likes", "meets")


def own_pairs() -> pd.DataFrame:
    rows = [(p, n) for p, size in enumerate(SIZES) for n in range(size)]
    return pd.DataFrame(
        {
            "good": f"Pilot {n} {VERBS[p]} the river.",
            "bad": f"Pilot {n} {VERBS[p][:-1]} the river.",
            "paradigm": f"verb-{p}",
            "phenomenon": ("agreement", "tense")[p % 2],
            "human_good": 5 + (3 * n + p) % 3 - (n == 1),
            "human_bad": 2 + (n * n + p) % 4 + 0.5,
            "human_scale": "likert7",
        }
        for p, n in rows
    )


def release_bank(folder: Path) -> Path:
    own_pairs().to_csv(file := folder.parent / "own.csv", index=False)
    pairs = [pairbank.load_corpus(file), pairbank.load_corpus("starter", subset="plausibility", limit=1)]
    sentences = [labelled(9), rated(15, language="de")]
    items = [(corpus, PAIRS) for corpus in pairs] + [(corpus, SENTENCES) for corpus in sentences]
    tables = [
        pairbank.score(corpus, f"fake:{name}", methods=methods, per_token=corpus is pairs[0])
        for corpus, methods in items
        for name in MODELS
    ]
    ratings = pd.DataFrame(
        {
            "item_id": item,
            "side": "good",
            "rater": f"r{rater}",
            "value": 2.0 + (place + 2 * rater) % 5,
            "scale": "likert7",
        }
        for place, item in enumerate(pairs[0]["item_id"])
        for rater in range(5)
    )
    return pairbank.write_bank(
        folder,
        scored=tables,
        ratings=[ratings],
        features={
            name: ModelFeatures(family=name, generation="1", size_billions=place, type="base")
            for place, name in enumerate(MODELS, 1)
        },
        title="A release's bank",
        published="2026-11-26",
    )


def main() -> None:
    out = OLD_BANKS / f"{pairbank.__version__}.zip"
    with tempfile.TemporaryDirectory() as name:
        bank = release_bank(Path(name) / "bank")
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
            for path in [*bank_files(bank), "manifest.json"]:
                file.writestr(zipfile.ZipInfo(path), (bank / path).read_bytes(), zipfile.ZIP_DEFLATED)
    sys.stdout.write(f"{out}: {out.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
