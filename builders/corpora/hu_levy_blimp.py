"""The BLiMP sample of Hu & Levy 2023: 390 English minimal pairs, 30 a phenomenon. EMNLP 2023, section 5.1.

In: `corpus.csv` of their repository. Out: one item a pair; `blimp_item_id` is the same pair in the corpus `blimp`.
The field "syntax/semantics" is mended to "syntax_semantics" as there, unless `repair=False`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pairbank.builders.corpora.blimp import FIELD, MISSPELT_FIELD, REPAIRED_FIELD
from pairbank.builders.corpora.corpus import BuildOptions, Corpus, wanted
from pairbank.builders.schema.columns import Column, Item
from pairbank.builders.sources.readers import read_delimited
from pairbank.builders.sources.references import bibtex
from pairbank.builders.sources.source import LocatedFile, Source, SourceFile
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
PHENOMENA = (
    "anaphor_agreement",
    "argument_structure",
    "binding",
    "control_raising",
    "determiner_noun_agreement",
    "ellipsis",
    "filler_gap_dependency",
    "irregular_forms",
    "island_effects",
    "npi_licensing",
    "quantifiers",
    "s-selection",
    "subject_verb_agreement",
)
EXTRA = (
    Column(name="field", type="string", nullable=False, meaning="subfield of linguistics"),
    Column(name="field_source", type="string", nullable=True, meaning="the source's spelling, where mended"),
    Column(name="blimp_item_id", type="string", nullable=False, meaning="item_id of the pair in the corpus blimp"),
)


def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the 390 pairs in file order."""
    path = files[FILE].path
    for line, row in read_delimited(path, REQUIRED):
        phenomenon = row["category_fine"]
        if phenomenon not in PHENOMENA:
            raise CorpusError(
                f"{path}, row {line}: category_fine is {phenomenon!r}, expected one of {', '.join(PHENOMENA)}; "
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


_REVISION = "2dadd0e135449fa4de100e294177d92660d988fe"

HU_LEVY_BLIMP = Corpus(
    name="hu-levy-blimp",
    title="BLiMP sample of Hu & Levy 2023",
    description="390 pairs of BLiMP, 30 for each of its 13 phenomena, as Hu & Levy drew them.",
    version="1.0.0",
    languages=("en",),
    tasks=("sentence_pair",),
    n_items=390,
    human="",
    subsets=PHENOMENA,
    rows=rows,
    extra_columns=EXTRA,
    source=Source(
        homepage="https://github.com/jennhu/metalinguistic-prompting",
        revision=_REVISION,
        licence="cc-by-4.0",
        licence_note="The sentences are BLiMP's (CC-BY 4.0); the repository with the sample has no licence file.",
        redistributable=True,
        citation=bibtex("hu2023prompting", "warstadt2020blimp", between="\n"),
        files=(
            SourceFile(
                name=FILE,
                url="https://raw.githubusercontent.com/jennhu/metalinguistic-prompting/"
                f"{_REVISION}/datasets/exp3/blimp/{FILE}",
                sha256="c368f157435ec10d73d1b17b3d42c383baf7f28fff753cae43b85148dc4cf9d0",
            ),
        ),
    ),
)
