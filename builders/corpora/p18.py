"""P18: 384 encyclopaedic sentences without their last word. Pereira et al. 2018, Experiment 2.

In: `corpus.csv` as Hu & Levy 2023 (Experiment 1) cut it: pronouns dereferenced, the last word split off, its full
stop removed. Out: one word-prediction item a sentence. There is no worse side and no human judgment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pairbank.builders.corpora.corpus import BuildOptions, Corpus
from pairbank.builders.corpora.words import word_flags
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.readers import read_delimited
from pairbank.builders.sources.references import bibtex
from pairbank.builders.sources.source import LocatedFile, Source, SourceFile

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


_REVISION = "2dadd0e135449fa4de100e294177d92660d988fe"

P18 = Corpus(
    name="p18",
    title="P18 (Pereira et al. 2018)",
    description="Encyclopaedic sentences without their last word, which is to be predicted (Hu & Levy 2023, Exp. 1).",
    version="1.0.0",
    languages=("en",),
    tasks=("word_prediction",),
    n_items=384,
    human="",
    subsets=(),
    rows=rows,
    source=Source(
        homepage="https://github.com/jennhu/metalinguistic-prompting",
        revision=_REVISION,
        licence="unknown",
        licence_note="The repository has no licence file (the sentences come from https://osf.io/crwz7): use the "
        "items, but ask before you republish them.",
        redistributable=False,
        citation=bibtex("pereira2018toward", "hu2023prompting", between="\n"),
        files=(
            SourceFile(
                name=FILE,
                url="https://raw.githubusercontent.com/jennhu/metalinguistic-prompting/"
                f"{_REVISION}/datasets/exp1/p18/{FILE}",
                sha256="493e4f4772781b6bcedec99e58143349468fe19d3e98ee4f6c5cf5d8d038cbeb",
            ),
        ),
    ),
)
