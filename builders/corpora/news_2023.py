"""News 2023: 222 news openings of March 2023 without their last word. Hu & Levy 2023, Experiment 1.

In: `corpus.csv` (title, " -- ", first sentence without its last word). Out: one word-prediction item an article.
There is no worse side and no human judgment. Texts stay as they were scraped; what needs care is flagged.
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
REQUIRED = ("item_id", "prefix", "continuation", "category", "published_date_gmt", "download_date")


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


NEWS_2023 = declared("news-2023", rows)
