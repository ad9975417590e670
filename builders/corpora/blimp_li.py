"""BLIMPLI: 1,048 English pairs that differ in one word. Song, Hu & Mahowald 2025, section 4.1.

In: `BLIMPLI.csv` of their repository. Out: one item a pair: 670 of BLiMP (10 a paradigm), without ratings, and 378 of
the corpus `li`, with its mean z-scored Likert judgments: the rated pairs there whose sentences have as many words and
differ in exactly one, each pair once. Untrimmed text is mended as in `li`, unless `repair=False`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pairbank.builders.corpora.corpus import BuildOptions, wanted
from pairbank.builders.corpora.declared import declared
from pairbank.builders.corpora.li import sides_of
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.readers import read_delimited, read_rating
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError

FILE = "BLIMPLI.csv"
REQUIRED = (
    "sentence_grammatical",
    "sentence_ungrammatical",
    "source",
    "paradigm",
    "phenomenon",
    "LS_grammatical",
    "LS_ungrammatical",
    "pair_ID",
)


def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the 1,048 pairs in file order."""
    path = files[FILE].path
    for line, row in read_delimited(path, REQUIRED):
        where = f"{path}, row {line}"
        if row["source"] not in BLIMP_LI.subsets:
            raise CorpusError(f"{where}: source is {row['source']!r}, expected one of {', '.join(BLIMP_LI.subsets)}")
        if wanted(row["source"], options):
            yield _item(row, where, options)


def _item(row: Mapping[str, str], where: str, options: BuildOptions) -> Item:
    sides = sides_of(row["sentence_grammatical"], row["sentence_ungrammatical"], options)
    human_good = read_rating(row["LS_grammatical"], where)
    human_bad = read_rating(row["LS_ungrammatical"], where)
    rated = row["source"] == "li"
    if rated and (human_good is None or human_bad is None):
        raise CorpusError(f"{where}: a pair of li without both ratings; expected two mean z-scores: get the file again")
    return Item(
        item_id=f"blimp-li/{row['source']}/{row['pair_ID']}",
        corpus="blimp-li",
        subset=row["source"],
        language="en",
        task="sentence_pair",
        phenomenon=row["phenomenon"],
        paradigm=row["paradigm"],
        target_good=sides.good,
        context_bad="",
        target_bad=sides.bad,
        human_good=human_good,
        human_bad=human_bad,
        human_scale="likert7-z" if rated else None,
        pair_id=row["pair_ID"],
        flags=sides.flags,
        extra={"source_good": sides.source_good, "source_bad": sides.source_bad},
    )


BLIMP_LI = declared("blimp-li", rows)
