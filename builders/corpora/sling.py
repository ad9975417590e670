"""SLING: 40 Chinese paradigms of 1,000 minimal pairs made from treebank sentences. Song et al. 2022, EMNLP.

In: `SLING_Data/**/*.jsonl` (a pair a line), as an archive or a folder; the `reflexive_*` folders, which were added
for another paper in 2024, are left alone. Out: one item a pair. The twelve `Anaphor/Plural` files all give "Plural" as
paradigm: it is mended to the file's name unless `repair=False`, and the source's stands in `paradigm_source`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pairbank.builders.corpora.corpus import BuildOptions, wanted
from pairbank.builders.corpora.declared import declared
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.archives import member_texts
from pairbank.builders.sources.readers import read_json_lines
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError

ARCHIVE = "SLING_Data.tar.gz"
PATTERN = "SLING_Data/**/*.jsonl"
LATER_ADDITION = "reflexive_"
REQUIRED = ("sentence_good", "sentence_bad", "phenomenon", "paradigm", "pair_ID", "field")
REPAIRED_PARADIGM = "repaired:paradigm_name"
UNTOLD_PARADIGM = "Plural"


def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the items of all paradigms asked for, files in alphabetical order."""
    path = files[ARCHIVE].path

    def asked(name: str) -> bool:
        return f"/{LATER_ADDITION}" not in name and wanted(_stem(name), options)

    for name, text in member_texts(path, PATTERN, asked):
        where = f"{path}:{name}"
        for number, row in read_json_lines(text.split("\n"), REQUIRED, where=where):
            yield _item(_stem(name), row, f"{where}, row {number}", options)


def _stem(name: str) -> str:
    return name.rsplit("/", 1)[-1].removesuffix(".jsonl")


def _item(stem: str, row: Mapping[str, Any], where: str, options: BuildOptions) -> Item:
    if stem not in SLING.subsets or row["paradigm"] not in (stem, UNTOLD_PARADIGM):
        raise CorpusError(
            f"{where}: paradigm is {row['paradigm']!r}, expected the file's name, one of SLING's {len(SLING.subsets)}; "
            "take away other files"
        )
    reported = row["paradigm"] == stem
    mend = options.repair and not reported
    return Item(
        item_id=f"sling/{stem}/{row['pair_ID']}",
        corpus="sling",
        subset=stem,
        language="zh",
        task="sentence_pair",
        phenomenon=row["phenomenon"],
        paradigm=stem if mend else row["paradigm"],
        target_good=row["sentence_good"],
        context_bad="",
        target_bad=row["sentence_bad"],
        pair_id=str(row["pair_ID"]),
        flags=(REPAIRED_PARADIGM,) if mend else (),
        extra={"field": row["field"], "paradigm_source": row["paradigm"] if mend else None},
    )


SLING = declared("sling", rows)
