"""P18: 384 encyclopaedic sentences without their last word. Pereira et al. 2018, Experiment 2.

In: `corpus.csv` as Hu & Levy 2023 (Experiment 1) cut it: pronouns dereferenced, the last word split off, its full
stop removed. Out: one word-prediction item a sentence. There is no worse side and no human judgment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pairbank.builders.corpora.corpus import BuildOptions
from pairbank.builders.corpora.declared import declared
from pairbank.builders.corpora.words import word_flags
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.readers import read_delimited
from pairbank.builders.sources.source import LocatedFile

FILE = "corpus.csv"


def rows(files: Mapping[str, LocatedFile], _options: BuildOptions) -> Iterator[Item]:
    """Yield the sentences in file order."""
    for _, row in read_delimited(files[FILE].path, ("item_id", "prefix", "continuation")):
        yield Item(
            item_id=f"p18/all/{row['item_id']}",
            corpus="p18",
            subset="all",
            language="en",
            task="word_prediction",
            context_good=row["prefix"],
            target_good=row["continuation"],
            pair_id=row["item_id"],
            flags=word_flags(row["prefix"], row["continuation"]),
        )


P18 = declared("p18", rows)
