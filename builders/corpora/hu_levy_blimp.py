"""The BLiMP sample of Hu & Levy 2023: 390 English minimal pairs, 30 a phenomenon. EMNLP 2023, section 5.1.

In: `corpus.csv` of their repository. Out: one item a pair; `blimp_item_id` is the same pair in the corpus `blimp`.
The field "syntax/semantics" is mended to "syntax_semantics" as there, unless `repair=False`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pairbank.builders.corpora.blimp import FIELD, MISSPELT_FIELD, REPAIRED_FIELD
from pairbank.builders.corpora.corpus import BuildOptions, wanted
from pairbank.builders.corpora.declared import declared
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.readers import read_delimited
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError

FILE = "corpus.csv"
REQUIRED = (
    "good_sentence",
    "bad_sentence",
    "category",
    "category_fine",
    "blimp_UID",
    "blimp_pairID",
    "item_id",
)


def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the 390 pairs in file order."""
    path = files[FILE].path
    for line, row in read_delimited(path, REQUIRED):
        phenomenon = row["category_fine"]
        if phenomenon not in (known := HU_LEVY_BLIMP.subsets):
            raise CorpusError(
                f"{path}, row {line}: category_fine is {phenomenon!r}, expected one of {', '.join(known)}; "
                "is it another corpus.csv?"
            )
        if wanted(phenomenon, options):
            yield _item(row, options)


def _item(row: Mapping[str, str], options: BuildOptions) -> Item:
    mend = options.repair and row["category"] == MISSPELT_FIELD
    phenomenon = row["category_fine"]
    return Item(
        item_id=f"hu-levy-blimp/{phenomenon}/{row['item_id']}",
        corpus="hu-levy-blimp",
        subset=phenomenon,
        language="en",
        task="sentence_pair",
        phenomenon=phenomenon,
        paradigm=row["blimp_UID"],
        target_good=row["good_sentence"],
        context_bad="",
        target_bad=row["bad_sentence"],
        pair_id=row["item_id"],
        flags=(REPAIRED_FIELD,) if mend else (),
        extra={
            "field": FIELD if mend else row["category"],
            "field_source": row["category"] if mend else None,
            "blimp_item_id": f"blimp/{row['blimp_UID']}/{row['blimp_pairID']}",
        },
    )


HU_LEVY_BLIMP = declared("hu-levy-blimp", rows)
