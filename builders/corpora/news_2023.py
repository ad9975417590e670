"""News 2023: 222 news openings of March 2023 without their last word. Hu & Levy 2023, Experiment 1.

In: `corpus.csv` (title, " -- ", first sentence without its last word). Out: one word-prediction item an article.
There is no worse side and no human judgment. Texts stay as they were scraped; what needs care is flagged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pairbank.builders.corpora.corpus import BuildOptions, Corpus
from pairbank.builders.corpora.words import word_flags
from pairbank.builders.schema.columns import Column, Item
from pairbank.builders.sources.readers import read_delimited
from pairbank.builders.sources.references import bibtex
from pairbank.builders.sources.source import LocatedFile, Source, SourceFile

FILE = "corpus.csv"
REQUIRED = ("item_id", "prefix", "continuation", "category", "published_date_gmt", "download_date")
EXTRA = (
    Column(name="category", type="string", nullable=False, meaning="section of the news"),
    Column(name="published", type="string", nullable=False, meaning="when it was published, GMT"),
    Column(name="downloaded", type="string", nullable=False, meaning="day on which it was downloaded"),
)


def rows(files: Mapping[str, LocatedFile], _options: BuildOptions) -> Iterator[Item]:
    """Yield the articles in file order."""
    for _, row in read_delimited(files[FILE].path, REQUIRED):
        yield Item(
            item_id=f"news-2023/all/{row['item_id']}",
            corpus="news-2023",
            subset="all",
            language="en",
            task="word_prediction",
            context_good=row["prefix"],
            target_good=row["continuation"],
            pair_id=row["item_id"],
            flags=word_flags(row["prefix"], row["continuation"]),
            extra={
                "category": row["category"],
                "published": row["published_date_gmt"],
                "downloaded": row["download_date"],
            },
        )


_REVISION = "2dadd0e135449fa4de100e294177d92660d988fe"

NEWS_2023 = Corpus(
    name="news-2023",
    title="News, March 2023",
    description="News openings of March 2023 without their last word, which is to be predicted (Hu & Levy 2023).",
    version="1.0.0",
    languages=("en",),
    tasks=("word_prediction",),
    n_items=222,
    human="",
    subsets=(),
    rows=rows,
    extra_columns=EXTRA,
    folder="news2023",
    source=Source(
        homepage="https://github.com/jennhu/metalinguistic-prompting",
        revision=_REVISION,
        licence="unknown",
        licence_note="Scraped news: the copyright stays with the publishers; use the items, do not republish them.",
        redistributable=False,
        citation=bibtex("hu2023prompting"),
        files=(
            SourceFile(
                name=FILE,
                url="https://raw.githubusercontent.com/jennhu/metalinguistic-prompting/"
                f"{_REVISION}/datasets/exp1/news/{FILE}",
                sha256="db361a56c78ad23cbcc9ea28182da6fe1421f064b1a071668e126d2391e6d1fa",
            ),
        ),
    ),
)
