"""Examples of Linguistic Inquiry and of Adger's textbook as pairs, and those of BLIMPLI. Files in, items out."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from pairbank.builders.corpora.corpus import BuildOptions, is_requested, item_of, items_of
from pairbank.builders.corpora.corpus_map import corpus_map
from pairbank.builders.corpora.declared import declared
from pairbank.builders.ratings import Rated
from pairbank.builders.schema.columns import Item, Scalar
from pairbank.builders.sources.readers import data_file, read_delimited, read_rating
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError

LI_FILE = "LI_Large_pairs.csv"
LI_SUBSETS = {"Sprouse": "sprouse-2013", "Mahowald": "mahowald-2016"}
NO_PARADIGM = "LI-Adger"
"""What the file states in place of the paradigm of all 1,200 pairs of Sprouse et al. 2013; their ids have it."""
OF_SIDES = tuple(f"{cell}_{side}" for cell in ("sentence", "LS") for side in ("grammatical", "ungrammatical"))
BLIMP_LI_REQUIRED = (*OF_SIDES, "phenomenon", "paradigm", "pair_ID", "source")
LI_REQUIRED = (*BLIMP_LI_REQUIRED, "Good ID", "Bad ID")
FINAL_PUNCTUATION = (".", "?", "!", '."', '?"', ".”", "?”", "!”")
MOJIBAKE = re.compile(r"[^\x00-\u024f\u2010-\u2027]")
"""A character that is neither Latin nor general punctuation: in this English file, only mojibake has one."""
PAIRS = "li-adger_min_pairs.csv"
SENTENCES = "human_ME_results_li-adger_sentences.csv"
LI_ADGER_SUBSETS = {"LI": "li", "Adger": "adger"}
DISCARDED = "discarded_by_compilers"
OTHER_TEXT = "rated_text_differs"
"""Flag (with `_good`, `_bad`): the rated sentence of this id is spelt otherwise; it is in `rated_*`."""
_MORCELA = corpus_map("morcela")
BLIMP_LI_FILE = "BLIMPLI.csv"


def without_mojibake(text: str) -> str:
    """Undo UTF-8 bytes that were decoded as GBK; the closing quote, which that lost, is put back.

    >>> without_mojibake("I don鈥檛 know.")
    'I don’t know.'
    >>> without_mojibake("plain")
    'plain'
    """
    if not MOJIBAKE.search(text):
        return text
    lossless = text.replace("鈥\ufffd", "\0")
    return lossless.encode("gbk").decode("utf-8").replace("\0", "”")


def repaired_text(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the repaired sentence and the names of the repairs, in the order they were made."""
    done: list[str] = []
    for name, repair in (
        ("mojibake", without_mojibake),
        ("untrimmed", str.strip),
        ("double_space", lambda s: re.sub(" {2,}", " ", s)),
    ):
        result = repair(text)
        if result != text:
            done.append(name)
        text = result
    return text, tuple(done)


def sides_of(row: Mapping[str, str], options: BuildOptions) -> tuple[list[str], dict[str, Scalar], tuple[str, ...]]:
    """Return both sentences (repaired if asked for), what the source has where that differs, and flags of defects."""
    texts, sources, flags = list[str](), dict[str, Scalar](), list[str]()
    for side, source in (("good", row["sentence_grammatical"]), ("bad", row["sentence_ungrammatical"])):
        text, repairs = repaired_text(source)
        texts.append(text if options.repair else source)
        sources[f"source_{side}"] = source if options.repair and repairs else None
        prefix = "repaired" if options.repair else "defect"
        flags += [f"{prefix}:{name}_{side}" for name in repairs]
        if not text.endswith(FINAL_PUNCTUATION):
            flags.append(f"no_final_punctuation_{side}")
    return texts, sources, tuple(flags)


def li_rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the 2,379 pairs in file order; documented defects are repaired and flagged, unless `repair=False`."""
    path = files[LI_FILE].path
    for number, row in read_delimited(path, LI_REQUIRED):
        where = f"{path}, row {number}"
        if row["source"] not in LI_SUBSETS:
            raise CorpusError(f"{where}: source is {row['source']!r}, expected one of {', '.join(LI_SUBSETS)}")
        if not is_requested(LI_SUBSETS[row["source"]], options):
            continue
        texts, sources, flags = sides_of(row, options)
        extra: dict[str, Scalar] = {
            "good_id": row["Good ID"],
            "bad_id": row["Bad ID"],
            "good_mark": mark_of(row["Good ID"]),
            "bad_mark": mark_of(row["Bad ID"]),
        }
        human_good, human_bad = (read_rating(row[f"LS_{side}"], where) for side in ("grammatical", "ungrammatical"))
        if human_good is None or human_bad is None:
            flags = (*flags, "no_human_rating")
        yield item_of(
            ("li", LI_SUBSETS[row["source"]], row["pair_ID"]),
            *texts,
            phenomenon=row["phenomenon"],
            paradigm=paradigm_of(row["Good ID"], row["Bad ID"]) if row["paradigm"] == NO_PARADIGM else row["paradigm"],
            human_good=human_good,
            human_bad=human_bad,
            human_scale="likert7-z",
            pair_id=row["pair_ID"],
            flags=flags,
            extra=extra | sources,
        )


def mark_of(identifier: str) -> str | None:
    """Return the judgment code of an id such as `34.1.basilico.62.*.01`.

    >>> mark_of("34.1.basilico.62.*.01"), mark_of("34.3.Takano.2b.OK.1")
    ('*', 'OK')
    """
    parts = identifier.split(".")
    return parts[-2] if len(parts) > 2 else None


def li_adger_rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the 2,393 pairs in file order, numbered by it; the 28 that the compilers exclude carry a flag."""
    rated: dict[str, dict[str, str]] = {}
    means: dict[str, float | None] = {}
    for line, row in read_delimited(files[SENTENCES].path, ("notes", "typo?", "id", "sentence", "judgement")):
        where = f"{files[SENTENCES].path}, row {line}"
        if rated.setdefault(row["id"], row) is not row:
            raise CorpusError(f"{where}: id {row['id']!r} occurs twice; expected one rating a sentence")
        means[row["id"]] = read_rating(row["judgement"], where)
    path = files[PAIRS].path
    needed = ("dataset", "discard", "notes", "gramm_id", "gramm_sentence", "ungramm_id", "ungramm_sentence")
    for number, (line, row) in enumerate(read_delimited(path, needed), 1):
        where = f"{path}, row {line}"
        if row["dataset"] not in LI_ADGER_SUBSETS:
            raise CorpusError(f"{where}: dataset is {row['dataset']!r}, expected one of {', '.join(LI_ADGER_SUBSETS)}")
        for name in ("gramm_id", "ungramm_id"):
            if row[name] not in rated:
                raise CorpusError(
                    f"{where}: {name} {row[name]!r} is not among the {len(rated)} sentences of "
                    f"{files[SENTENCES].path}; get both files from one version"
                )
        if is_requested(LI_ADGER_SUBSETS[row["dataset"]], options):
            yield _li_adger_item(number, row, rated[row["gramm_id"]], rated[row["ungramm_id"]], means)


def _li_adger_item(
    number: int,
    row: Mapping[str, str],
    good: Mapping[str, str],
    bad: Mapping[str, str],
    means: Mapping[str, float | None],
) -> Item:
    human_good, human_bad = means[row["gramm_id"]], means[row["ungramm_id"]]
    flags = [DISCARDED] if row["discard"] else []
    if human_good is None or human_bad is None:
        flags.append("no_human_rating")
    same = {"good": good["sentence"] == row["gramm_sentence"], "bad": bad["sentence"] == row["ungramm_sentence"]}
    flags += [f"{OTHER_TEXT}_{side}" for side, is_same in same.items() if not is_same]
    return item_of(
        ("li-adger", LI_ADGER_SUBSETS[row["dataset"]], number),
        row["gramm_sentence"],
        row["ungramm_sentence"],
        phenomenon=row.get("phenomenon") or None,
        paradigm=paradigm_of(row["gramm_id"], row["ungramm_id"]),
        human_good=human_good,
        human_bad=human_bad,
        human_scale="magnitude-estimation-z",
        pair_id=f"{row['gramm_id']} | {row['ungramm_id']}",
        flags=tuple(flags),
        extra={
            "good_id": row["gramm_id"],
            "bad_id": row["ungramm_id"],
            "good_mark": mark_of(row["gramm_id"]),
            "bad_mark": mark_of(row["ungramm_id"]),
            "notes": row["notes"] or None,
            "notes_good": good["notes"] or None,
            "notes_bad": bad["notes"] or None,
            "typo_good": good["typo?"] or None,
            "typo_bad": bad["typo?"] or None,
            "rated_good": None if same["good"] else good["sentence"],
            "rated_bad": None if same["bad"] else bad["sentence"],
        },
    )


def paradigm_of(good_id: str, bad_id: str) -> str:
    """Return the paradigm of a pair: the types of its two sentences, which are their ids without mark and number.

    >>> paradigm_of("32.1.martin.1a.g.01", "32.1.martin.2c.*.01")
    '32.1.martin.1a | 32.1.martin.2c'
    >>> paradigm_of("34.1.phillips.93b.g.01", "34.1.phillips.93b.?*.01")
    '34.1.phillips.93b'
    """
    good, bad = (identifier.rsplit(".", 2)[0] for identifier in (good_id, bad_id))
    return good if good == bad else f"{good} | {bad}"


def morcela_rated(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Rated]:
    """Yield the pairs of the map, each with the paradigm that its ids state."""
    for rated in _MORCELA.rated(files, options):
        item = rated.item
        paradigm = paradigm_of(str(item.extra["good_id"]), item.pair_id or "")
        yield replace(rated, item=replace(item, paradigm=paradigm))


def blimp_li_rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the 1,048 pairs in file order: 670 of BLiMP, without ratings, and 378 of the corpus `li`, with its ratings.

    The rated pairs are those of `li` whose sentences have as many words and differ in exactly one, each pair once. The
    file has one paradigm for all pairs of Sprouse et al. 2013; `data/blimp_li_paradigms.tsv` has those of the same
    pairs in `li`, by ranges of pair_ID. Untrimmed text is repaired as in `li`, unless `repair=False`.
    """
    path = files[BLIMP_LI_FILE].path
    for line, row in read_delimited(path, BLIMP_LI_REQUIRED):
        where = f"{path}, row {line}"
        if row["source"] not in BLIMP_LI.subsets:
            raise CorpusError(f"{where}: source is {row['source']!r}, expected one of {', '.join(BLIMP_LI.subsets)}")
        if not is_requested(row["source"], options):
            continue
        texts, sources, flags = sides_of(row, options)
        human_good, human_bad = (read_rating(row[f"LS_{side}"], where) for side in ("grammatical", "ungrammatical"))
        rated = row["source"] == "li"
        if rated and (human_good is None or human_bad is None):
            raise CorpusError(
                f"{where}: a pair of li without both ratings; expected two mean z-scores: get the file again"
            )
        paradigm = row["paradigm"] if row["paradigm"] != NO_PARADIGM else _blimp_li_paradigms().get(row["pair_ID"])
        if paradigm is None:
            raise CorpusError(
                f"{where}: pair_ID {row['pair_ID']!r} is no pair of Sprouse et al. 2013; get the file again"
            )
        yield item_of(
            ("blimp-li", row["source"], row["pair_ID"]),
            *texts,
            phenomenon=row["phenomenon"],
            paradigm=paradigm,
            human_good=human_good,
            human_bad=human_bad,
            human_scale="likert7-z" if rated else None,
            pair_id=row["pair_ID"],
            flags=flags,
            extra=sources,
        )


@functools.cache
def _blimp_li_paradigms() -> Mapping[str, str]:
    path = data_file("blimp_li_paradigms.tsv")
    ranges = [row for _, row in read_delimited(path, ("first", "last", "paradigm"), delimiter="\t")]
    return {str(n): row["paradigm"] for row in ranges for n in range(int(row["first"]), int(row["last"]) + 1)}


LI = declared("li", li_rows)
LI_ADGER = declared("li-adger", li_adger_rows)
MORCELA = replace(_MORCELA.corpus(), rows=items_of(morcela_rated))
BLIMP_LI = declared("blimp-li", blimp_li_rows)
