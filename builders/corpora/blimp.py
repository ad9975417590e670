"""BLiMP, and the sample of it that Hu & Levy 2023 use. Files in, one item a pair out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from pairbank.builders.corpora.corpus import BuildOptions, is_requested, item_of
from pairbank.builders.corpora.declared import declared
from pairbank.builders.schema.columns import Item, Scalar
from pairbank.builders.sources.readers import read_delimited
from pairbank.builders.sources.source import LocatedFile, member_rows
from pairbank.errors import CorpusError

BLIMP_ARCHIVE = "BLiMP.zip"
HUMAN_SUMMARY = "human_validation_summary.csv"
BOOLS = ("simple_LM_method", "one_prefix_method", "two_prefix_method", "lexically_identical")
BLIMP_REQUIRED = ("sentence_good", "sentence_bad", "field", "linguistics_term", "UID", "pairID", *BOOLS)
REPAIRED_FIELD = "repaired:field_spelling"
MISSPELT_FIELD, FIELD = "syntax/semantics", "syntax_semantics"
HU_LEVY_BLIMP_FILE = "corpus.csv"
HU_LEVY_BLIMP_REQUIRED = (
    "good_sentence",
    "bad_sentence",
    "category",
    "category_fine",
    "blimp_UID",
    "blimp_pairID",
    "item_id",
)


def blimp_rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the items of all paradigms asked for, in alphabetical order, every source field kept."""
    path = files[BLIMP_ARCHIVE].path
    for uid, row, where in member_rows(path, "*.jsonl", BLIMP_REQUIRED, partial(is_requested, options=options)):
        if row["UID"] != uid:
            raise CorpusError(f"{where}: UID is {row['UID']!r}, expected the file's name {uid!r}")
        field: str = row["field"]
        is_repaired = options.repair and field == MISSPELT_FIELD
        first: dict[str, Scalar] = {
            "field": FIELD if is_repaired else field,
            "field_source": field if is_repaired else None,
            "dependency_length": row.get("dependency_length"),
        }
        yield item_of(
            ("blimp", uid, row["pairID"]),
            row["sentence_good"],
            row["sentence_bad"],
            phenomenon=row["linguistics_term"],
            paradigm=uid,
            pair_id=row["pairID"],
            flags=(REPAIRED_FIELD,) if is_repaired else (),
            extra=first | {x.name: row.get(x.name) for x in BLIMP.extra_columns if x.name not in first},
        )


def blimp_metadata(files: Mapping[str, LocatedFile]) -> Mapping[str, object]:
    """Return the human agreement a paradigm: individual (share of single judgments) and majority (of 5 items)."""
    located = files.get(HUMAN_SUMMARY)
    if located is None:
        return {}
    agreement = {
        row["Condition"]: {
            "individual": float(row["total_mean"]),
            "majority": int(row["accepted"]) / 5,
            "n_judgments": int(row["count"]),
        }
        for _, row in read_delimited(located.path, ("Condition", "accepted", "total_mean", "count"))
        if row["Condition"] in BLIMP.subsets
    }
    return {"human_agreement_by_paradigm": agreement}


def hu_levy_blimp_rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the 390 pairs in file order; "syntax/semantics" is repaired as in `blimp`, unless `repair=False`."""
    path = files[HU_LEVY_BLIMP_FILE].path
    for line, row in read_delimited(path, HU_LEVY_BLIMP_REQUIRED):
        phenomenon = row["category_fine"]
        if phenomenon not in (known := HU_LEVY_BLIMP.subsets):
            raise CorpusError(
                f"{path}, row {line}: category_fine is {phenomenon!r}, expected one of {', '.join(known)}; "
                "is it another corpus.csv?"
            )
        if not is_requested(phenomenon, options):
            continue
        is_repaired = options.repair and row["category"] == MISSPELT_FIELD
        yield item_of(
            ("hu-levy-blimp", phenomenon, row["item_id"]),
            row["good_sentence"],
            row["bad_sentence"],
            phenomenon=phenomenon,
            paradigm=row["blimp_UID"],
            pair_id=row["item_id"],
            flags=(REPAIRED_FIELD,) if is_repaired else (),
            extra={
                "field": FIELD if is_repaired else row["category"],
                "field_source": row["category"] if is_repaired else None,
                "blimp_item_id": f"blimp/{row['blimp_UID']}/{row['blimp_pairID']}",
            },
        )


BLIMP = declared("blimp", blimp_rows, metadata=blimp_metadata)
HU_LEVY_BLIMP = declared("hu-levy-blimp", hu_levy_blimp_rows)
