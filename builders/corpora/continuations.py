"""Song, Hu & Mahowald 2025, Experiment 2: four corpora of 1,000 prefixes with two possible next words.

In: `testsuites/*.csv` (nonsense stands in `jabberwocky.csv`). Out: one continuation pair a prefix, with the log
lemma frequency of both words. `good` is the word that stood in the text, `bad` another lemma of nearly the same
frequency. For `nonsense` and `randomseq` that is a label, not the truth: their rows carry the flag `no_truth`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from pairbank.builders.corpora.corpus import BuildOptions
from pairbank.builders.corpora.declared import declared
from pairbank.builders.corpora.words import word_flags
from pairbank.builders.schema.columns import NO_TRUTH, Item
from pairbank.builders.sources.readers import read_delimited
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError

REQUIRED = ("item_id", "prefix", "good_continuation", "bad_continuation", "log_freq", "log_freq_alter")
WITHOUT_TRUTH = ("nonsense", "randomseq")
"""Corpora whose `good` is the word that the generator drew."""


def rows(name: str, file: str, files: Mapping[str, LocatedFile], _options: BuildOptions) -> Iterator[Item]:
    """Yield the pairs of one of the four corpora in file order."""
    path = files[file].path
    for number, row in read_delimited(path, REQUIRED):
        flags = word_flags(row["prefix"], row["good_continuation"], row["bad_continuation"])
        yield Item(
            item_id=f"{name}/all/{row['item_id'].rsplit('_', 1)[-1]}",
            corpus=name,
            subset="all",
            language="en",
            task="continuation_pair",
            context_good=row["prefix"],
            target_good=row["good_continuation"],
            context_bad=row["prefix"],
            target_bad=row["bad_continuation"],
            pair_id=row["item_id"],
            flags=(*flags, NO_TRUTH) if name in WITHOUT_TRUTH else flags,
            extra={
                "log_freq_good": _number(row["log_freq"], f"{path}, row {number}: log_freq"),
                "log_freq_bad": _number(row["log_freq_alter"], f"{path}, row {number}: log_freq_alter"),
            },
        )


def _number(cell: str, where: str) -> float:
    try:
        return float(cell)
    except ValueError as error:
        raise CorpusError(f"{where} is {cell!r}, expected a log frequency; correct the cell") from error


WIKIPEDIA = declared("wikipedia", partial(rows, "wikipedia", "wikipedia.csv"))
NEWS_2024 = declared("news-2024", partial(rows, "news-2024", "news.csv"))
NONSENSE = declared("nonsense", partial(rows, "nonsense", "jabberwocky.csv"))
RANDOMSEQ = declared("randomseq", partial(rows, "randomseq", "randomseq.csv"))
