"""Next words of prefixes: encyclopaedic sentences, news, nonsense. Files in, one item a prefix out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from pairbank.builders.corpora.corpus import BuildOptions, item_of
from pairbank.builders.corpora.declared import declared
from pairbank.builders.schema.columns import NO_TRUTH, Item
from pairbank.builders.sources.readers import read_delimited
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError

NOT_ALPHANUMERIC = "continuation_not_alphanumeric"
"""Flag: the word carries punctuation (`more)`, `$100`), which the model has to predict too."""
UNTRIMMED_PREFIX = "untrimmed_prefix"
"""Flag: white space at an end of the prefix; with the space before the word there are two."""
REQUIRED = ("item_id", "prefix", "good_continuation", "bad_continuation", "log_freq", "log_freq_alter")
WITHOUT_TRUTH = ("nonsense", "randomseq")
"""Corpora whose `good` is the word that the generator drew."""
FILE = "corpus.csv"
"""Of both corpora of Hu & Levy 2023, Experiment 1."""
NEWS_EXTRA = {"category": "category", "published": "published_date_gmt", "downloaded": "download_date"}


def word_flags(prefix: str, *continuations: str) -> tuple[str, ...]:
    """Return what needs care in a prefix and the words that may follow it.

    >>> word_flags("It costs", "$100"), word_flags("It costs ", "ten", "eleven")
    (('continuation_not_alphanumeric',), ('untrimmed_prefix',))
    """
    flags = []
    if not all(word.isalnum() for word in continuations):
        flags.append(NOT_ALPHANUMERIC)
    if prefix != prefix.strip():
        flags.append(UNTRIMMED_PREFIX)
    return tuple(flags)


def continuation_rows(name: str, file: str, files: Mapping[str, LocatedFile], _options: BuildOptions) -> Iterator[Item]:
    """Yield the pairs of one of the four corpora of Song, Hu & Mahowald 2025, Experiment 2, in file order.

    `good` is the word that stood in the text, `bad` another lemma of nearly the same frequency. For `nonsense` and
    `randomseq` that is a label, not the truth: their rows carry the flag `no_truth`.
    """
    path = files[file].path
    for number, row in read_delimited(path, REQUIRED):
        flags = word_flags(row["prefix"], row["good_continuation"], row["bad_continuation"])
        yield item_of(
            (name, "all", row["item_id"].rsplit("_", 1)[-1]),
            row["good_continuation"],
            row["bad_continuation"],
            task="continuation_pair",
            context_good=row["prefix"],
            context_bad=row["prefix"],
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


def prefix_rows(
    name: str, extra: Mapping[str, str], files: Mapping[str, LocatedFile], _options: BuildOptions
) -> Iterator[Item]:
    """Yield one word-prediction item per row, in file order: a text without its last word, and this word."""
    for _, row in read_delimited(files[FILE].path, ("item_id", "prefix", "continuation", *extra.values())):
        yield item_of(
            (name, "all", row["item_id"]),
            row["continuation"],
            task="word_prediction",
            context_good=row["prefix"],
            pair_id=row["item_id"],
            flags=word_flags(row["prefix"], row["continuation"]),
            extra={column: row[source] for column, source in extra.items()},
        )


WIKIPEDIA = declared("wikipedia", partial(continuation_rows, "wikipedia", "wikipedia.csv"))
NEWS_2024 = declared("news-2024", partial(continuation_rows, "news-2024", "news.csv"))
NONSENSE = declared("nonsense", partial(continuation_rows, "nonsense", "jabberwocky.csv"))
RANDOMSEQ = declared("randomseq", partial(continuation_rows, "randomseq", "randomseq.csv"))
NEWS_2023 = declared("news-2023", partial(prefix_rows, "news-2023", NEWS_EXTRA))
P18 = declared("p18", partial(prefix_rows, "p18", {}))
