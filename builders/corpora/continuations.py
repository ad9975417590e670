"""Song, Hu & Mahowald 2025, Experiment 2: four corpora of 1,000 prefixes with two possible next words.

In: `testsuites/*.csv` (nonsense stands in `jabberwocky.csv`). Out: one continuation pair a prefix, with the log
lemma frequency of both words. `good` is the word that stood in the text, `bad` another lemma of nearly the same
frequency. For `nonsense` and `randomseq` that is a label, not the truth: their rows carry the flag `no_truth`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from pairbank.builders.corpora.corpus import BuildOptions, Corpus
from pairbank.builders.corpora.words import word_flags
from pairbank.builders.schema.columns import Column, Item
from pairbank.builders.schema.flags import NO_TRUTH
from pairbank.builders.sources.readers import read_delimited
from pairbank.builders.sources.references import bibtex
from pairbank.builders.sources.source import LocatedFile, Source, SourceFile
from pairbank.errors import CorpusError

REQUIRED = ("item_id", "prefix", "good_continuation", "bad_continuation", "log_freq", "log_freq_alter")
EXTRA = (
    Column(name="log_freq_good", type="float64", nullable=False, meaning="log lemma frequency of the better word"),
    Column(name="log_freq_bad", type="float64", nullable=False, meaning="log lemma frequency of the worse word"),
)
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


_REVISION = "828191573d6d7f5a9a9993b43ba9903d2189ae73"


def _corpus(*, name: str, file: str, sha256: str, title: str, description: str, licence_note: str) -> Corpus:
    return Corpus(
        name=name,
        title=title,
        description=description,
        version="1.0.0",
        languages=("en",),
        tasks=("continuation_pair",),
        n_items=1_000,
        human="",
        subsets=(),
        rows=partial(rows, name, file),
        extra_columns=EXTRA,
        folder="introspection",
        source=Source(
            homepage="https://github.com/SiyuanSong2004/language-introspection",
            revision=_REVISION,
            licence="unknown",
            licence_note=licence_note,
            redistributable=False,
            citation=bibtex("song2025introspect"),
            files=(
                SourceFile(
                    name=file,
                    url="https://raw.githubusercontent.com/SiyuanSong2004/language-introspection/"
                    f"{_REVISION}/testsuites/{file}",
                    sha256=sha256,
                ),
            ),
        ),
    )


_NO_LICENCE = "The repository has no licence file: use the items, but ask before you republish them."

WIKIPEDIA = _corpus(
    name="wikipedia",
    file="wikipedia.csv",
    sha256="64bc82525b53ce278813bddd6e763ab8b7d9b281887d59a6e699cd7cb78df285",
    title="Wikipedia (Song et al. 2025)",
    description="Wikipedia sentences cut before a word, with that word and one of like frequency.",
    licence_note=f"{_NO_LICENCE} Wikipedia's text is CC BY-SA.",
)
NEWS_2024 = _corpus(
    name="news-2024",
    file="news.csv",
    sha256="ed5fd3b8c7453724085d0e315fc483cc4df307ba5f6b2ccc88908d0261c71b8e",
    title="News, October 2024 (Song et al. 2025)",
    description="News sentences of October 2024 cut before a word, with that word and one of like frequency.",
    licence_note="Scraped news: the copyright stays with the publishers; use the items, do not republish them.",
)
NONSENSE = _corpus(
    name="nonsense",
    file="jabberwocky.csv",
    sha256="a3e6b0897db3c401924da8e0e8e6bb2bddbf48135ee55ebee5dd9b68dd40c9b7",
    title="Nonsense (Song et al. 2025)",
    description="Grammatical nonsense, as space-separated tokens, with two next words of like frequency; "
    "neither is right.",
    licence_note=_NO_LICENCE,
)
RANDOMSEQ = _corpus(
    name="randomseq",
    file="randomseq.csv",
    sha256="7b787f4b0c21d30fba61f87c5663c3b76cd73e96ffe5afecfc1c16d8ab378e98",
    title="Random sequences (Song et al. 2025)",
    description="Random words with two next words of like frequency; neither is right.",
    licence_note=_NO_LICENCE,
)
