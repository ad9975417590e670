"""SLING: 40 Chinese paradigms of 1,000 minimal pairs made from treebank sentences. Song et al. 2022, EMNLP.

In: `SLING_Data/**/*.jsonl` (a pair a line), as an archive or a folder; the `reflexive_*` folders, which were added
for another paper in 2024, are left alone. Out: one item a pair. The twelve `Anaphor/Plural` files all give "Plural" as
paradigm: it is mended to the file's name unless `repair=False`, and the source's stands in `paradigm_source`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pairbank.builders.corpora.corpus import BuildOptions, Corpus, wanted
from pairbank.builders.schema.columns import Column, Item
from pairbank.builders.sources.readers import member_texts, read_json_lines
from pairbank.builders.sources.references import bibtex
from pairbank.builders.sources.source import LocatedFile, Source, SourceFile
from pairbank.errors import CorpusError

ARCHIVE = "SLING_Data.tar.gz"
PATTERN = "SLING_Data/**/*.jsonl"
LATER_ADDITION = "reflexive_"
REQUIRED = ("sentence_good", "sentence_bad", "phenomenon", "paradigm", "pair_ID", "field")
REPAIRED_PARADIGM = "repaired:paradigm_name"
UNTOLD_PARADIGM = "Plural"

EXTRA = (
    Column(name="field", type="string", nullable=False, meaning="subfield of linguistics"),
    Column(name="paradigm_source", type="string", nullable=True, meaning="the source's paradigm, where mended"),
)

PARADIGMS = (
    "haishi_ma",
    "baseline_cl_female",
    "baseline_cl_male",
    "baseline_cl_men_female",
    "baseline_cl_men_male",
    "baseline_men_female",
    "baseline_men_male",
    "cl_men_self_female",
    "cl_men_self_male",
    "cl_self_female",
    "cl_self_male",
    "menself_female",
    "menself_male",
    "baseline_female",
    "baseline_male",
    "pp_female",
    "pp_male",
    "self_female",
    "self_male",
    "temporal_guo",
    "temporal_le",
    "zai_guo",
    "zai_le",
    "zai_no_le",
    "cl_adj_comp_noun",
    "cl_adj_comp_noun_v2",
    "cl_adj_simple_noun",
    "cl_comp_noun",
    "cl_comp_noun_v2",
    "cl_simple_noun",
    "dem_cl_swap",
    "definiteness_demonstrative",
    "definiteness_every",
    "any",
    "even_wh",
    "more_or_less",
    "rc_resumptive_noun",
    "rc_resumptive_pronoun",
    "bare_wh",
    "mod_wh",
)


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
    if stem not in PARADIGMS or row["paradigm"] not in (stem, UNTOLD_PARADIGM):
        raise CorpusError(
            f"{where}: paradigm is {row['paradigm']!r}, expected the file's name, one of SLING's {len(PARADIGMS)}; "
            "take away other files"
        )
    told = row["paradigm"] == stem
    mend = options.repair and not told
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


_REVISION = "fda75e24d8750348215462d867890c512830913d"

SLING = Corpus(
    name="sling",
    title="SLING",
    description="40 paradigms of 1,000 Chinese minimal pairs made from sentences of the Chinese Treebank, 9 phenomena.",
    version="1.0.0",
    languages=("zh",),
    tasks=("sentence_pair",),
    n_items=40_000,
    n_identical=24,
    human="",
    subsets=PARADIGMS,
    rows=rows,
    extra_columns=EXTRA,
    source=Source(
        homepage="https://github.com/Yixiao-Song/SLING_Data_Code",
        revision=_REVISION,
        licence="mit",
        redistributable=True,
        citation=bibtex("song2022sling"),
        files=(
            SourceFile(
                name=ARCHIVE,
                url=f"https://raw.githubusercontent.com/Yixiao-Song/SLING_Data_Code/{_REVISION}",
                sha256="3354169fb55cc25c0e19bc24173e51961aa692d3982abd859fb3c3a401339186",
                unpacked=PATTERN,
                members="pins/sling.tsv",
            ),
        ),
    ),
)
