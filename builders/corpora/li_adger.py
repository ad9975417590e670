"""LI-Adger: 2,393 English minimal pairs with magnitude-estimation judgments of each sentence. Vázquez Martínez 2021.

In: the pairs (`li-adger_min_pairs.csv`) and the sentences with their mean z-scored judgments, joined by sentence id.
The sentences are from *Linguistic Inquiry* (Sprouse, Schütze & Almeida 2013) and from Adger's textbook (Sprouse &
Almeida 2012). Out: one item a pair; the 28 pairs that the compilers marked as not to be used carry a flag.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pairbank.builders.corpora.corpus import BuildOptions, wanted
from pairbank.builders.corpora.declared import declared
from pairbank.builders.corpora.li import mark_of
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.readers import read_delimited, read_rating
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError

PAIRS = "li-adger_min_pairs.csv"
SENTENCES = "human_ME_results_li-adger_sentences.csv"
SUBSETS = {"LI": "li", "Adger": "adger"}
DISCARDED = "discarded_by_compilers"
OTHER_TEXT = "rated_text_differs"
"""Flag (with `_good`, `_bad`): the rated sentence of this id is spelt otherwise; it stands in `rated_*`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rated:
    sentence: str
    judgment: float | None
    notes: str
    typo: str


def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the 2,393 pairs in file order, numbered by it."""
    rated = _rated(files[SENTENCES])
    path = files[PAIRS].path
    needed = ("dataset", "discard", "notes", "gramm_id", "gramm_sentence", "ungramm_id", "ungramm_sentence")
    for number, (line, row) in enumerate(read_delimited(path, needed), 1):
        where = f"{path}, row {line}"
        if row["dataset"] not in SUBSETS:
            raise CorpusError(f"{where}: dataset is {row['dataset']!r}, expected one of {', '.join(SUBSETS)}")
        for name in ("gramm_id", "ungramm_id"):
            if row[name] not in rated:
                raise CorpusError(
                    f"{where}: {name} {row[name]!r} is not among the {len(rated)} sentences of "
                    f"{files[SENTENCES].path}; get both files from one version"
                )
        if wanted(SUBSETS[row["dataset"]], options):
            yield _item(number, row, rated[row["gramm_id"]], rated[row["ungramm_id"]])


def _rated(located: LocatedFile) -> dict[str, _Rated]:
    rated: dict[str, _Rated] = {}
    for line, row in read_delimited(located.path, ("notes", "typo?", "id", "sentence", "judgement")):
        where = f"{located.path}, row {line}"
        if row["id"] in rated:
            raise CorpusError(f"{where}: id {row['id']!r} stands twice; expected one rating a sentence")
        judgment = read_rating(row["judgement"], where)
        rated[row["id"]] = _Rated(sentence=row["sentence"], judgment=judgment, notes=row["notes"], typo=row["typo?"])
    return rated


def _item(number: int, row: Mapping[str, str], good: _Rated, bad: _Rated) -> Item:
    flags = [DISCARDED] if row["discard"] else []
    if good.judgment is None or bad.judgment is None:
        flags.append("no_human_rating")
    same = {"good": good.sentence == row["gramm_sentence"], "bad": bad.sentence == row["ungramm_sentence"]}
    flags += [f"{OTHER_TEXT}_{side}" for side, is_same in same.items() if not is_same]
    good_type, bad_type = _type(row["gramm_id"]), _type(row["ungramm_id"])
    return Item(
        item_id=f"li-adger/{SUBSETS[row['dataset']]}/{number}",
        corpus="li-adger",
        subset=SUBSETS[row["dataset"]],
        language="en",
        task="sentence_pair",
        phenomenon=row.get("phenomenon") or None,
        paradigm=f"{good_type} | {bad_type}" if good_type != bad_type else good_type,
        target_good=row["gramm_sentence"],
        context_bad="",
        target_bad=row["ungramm_sentence"],
        human_good=good.judgment,
        human_bad=bad.judgment,
        human_scale="magnitude-estimation-z",
        pair_id=f"{row['gramm_id']} | {row['ungramm_id']}",
        flags=tuple(flags),
        extra={
            "good_id": row["gramm_id"],
            "bad_id": row["ungramm_id"],
            "good_mark": mark_of(row["gramm_id"]),
            "bad_mark": mark_of(row["ungramm_id"]),
            "notes": row["notes"] or None,
            "notes_good": good.notes or None,
            "notes_bad": bad.notes or None,
            "typo_good": good.typo or None,
            "typo_bad": bad.typo or None,
            "rated_good": None if same["good"] else good.sentence,
            "rated_bad": None if same["bad"] else bad.sentence,
        },
    )


def _type(identifier: str) -> str:
    """Return the sentence type of an id: the id without its mark and its number.

    >>> _type("34.1.phillips.93b.?*.01")
    '34.1.phillips.93b'
    """
    return identifier.rsplit(".", 2)[0]


LI_ADGER = declared("li-adger", rows)
