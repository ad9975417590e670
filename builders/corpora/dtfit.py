"""DTFit: 395 agent-verb frames with a typical and an atypical object, rated by people. Vassallo et al. 2018.

In: `corpus.csv` (the pairs of Hu & Levy 2023, Experiment 2) and `clean_DTFit_human_dat.csv` (the 790 sentences
that people rated, 1-7). Out: one continuation pair a frame. A word that `corpus.csv` split off wrongly (item 213)
is rebuilt from the rated sentence unless `repair=False`; the source's cell then stands in `source_good` / `_bad`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pairbank.builders.corpora.corpus import BuildOptions
from pairbank.builders.corpora.declared import declared
from pairbank.builders.schema.columns import Item, Scalar
from pairbank.builders.sources.readers import read_delimited
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError

PAIRS, RATED = "corpus.csv", "clean_DTFit_human_dat.csv"
REQUIRED = (
    "item_id",
    "prefix",
    "good_continuation",
    "bad_continuation",
    "category",
    "good_human_score",
    "bad_human_score",
)
LABELS = {"good": "Plausible", "bad": "Implausible"}
HUMAN_CONTRADICTS = "human_contradicts"
"""Flag: people rate the side that was meant to be worse higher."""
HUMAN_TIE = "human_tie"
"""Flag: people rate both sides alike."""


def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the pairs in file order."""
    rated = _rated(files[RATED])
    path = files[PAIRS].path
    for number, row in read_delimited(path, REQUIRED):
        yield _item(row, rated, f"{path}, row {number}", options)


def _rated(file: LocatedFile) -> Mapping[tuple[str, str], str]:
    """Return (item, label) -> the sentence that people rated."""
    table = read_delimited(file.path, ("Sentence", "Plausibility", "Score", "ItemNum"))
    return {(row["ItemNum"], row["Plausibility"]): row["Sentence"] for _, row in table}


def _item(row: Mapping[str, str], rated: Mapping[tuple[str, str], str], where: str, options: BuildOptions) -> Item:
    words: dict[str, str] = {}
    extra: dict[str, Scalar] = {}
    flags: list[str] = []
    for side, label in LABELS.items():
        source = row[f"{side}_continuation"]
        if (row["item_id"], label) not in rated:
            raise CorpusError(
                f"{where}: {RATED} has no {label} sentence of item {row['item_id']}; take both files from one release"
            )
        rebuilt = rebuilt_continuation(row["prefix"], rated[row["item_id"], label], where)
        wrong = rebuilt != source
        words[side] = rebuilt if options.repair else source
        extra[f"source_{side}"] = source if options.repair and wrong else None
        if wrong:
            flags.append(f"{'repaired' if options.repair else 'defect'}:split_{side}")
    human = {side: _rating(row[f"{side}_human_score"], where) for side in LABELS}
    if human["good"] <= human["bad"]:
        flags.append(HUMAN_TIE if human["good"] == human["bad"] else HUMAN_CONTRADICTS)
    return Item(
        item_id=f"dtfit/all/{row['item_id']}",
        corpus="dtfit",
        subset="all",
        language="en",
        task="continuation_pair",
        phenomenon=row["category"],
        context_good=row["prefix"],
        target_good=words["good"],
        context_bad=row["prefix"],
        target_bad=words["bad"],
        human_good=human["good"],
        human_bad=human["bad"],
        human_scale="plausibility7",
        pair_id=row["item_id"],
        flags=tuple(flags),
        extra=extra,
    )


def rebuilt_continuation(prefix: str, sentence: str, where: str) -> str:
    """Return what the rated sentence has after the prefix, without the full stop.

    Raises:
        CorpusError: the sentence does not start with the prefix.

    >>> rebuilt_continuation("The pilot parked the", "The pilot parked the fire engine.", "row 2")
    'fire engine'
    """
    if not sentence.startswith(f"{prefix} "):
        raise CorpusError(
            f"{where}: prefix is {prefix!r}, but the rated sentence is {sentence!r}; take both files from one release"
        )
    return sentence[len(prefix) + 1 :].removesuffix(".")


def _rating(cell: str, where: str) -> float:
    try:
        rating = float(cell)
    except ValueError:
        rating = float("nan")
    if not 1 <= rating <= 7:
        raise CorpusError(f"{where}: rating is {cell!r}, expected a mean from 1 to 7; correct the cell")
    return rating


DTFIT = declared("dtfit", rows)
