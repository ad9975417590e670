"""DTFit: 395 agent-verb frames with a typical and an atypical object, rated by people. Vassallo et al. 2018.

In: `corpus.csv` (the pairs of Hu & Levy 2023, Experiment 2) and `clean_DTFit_human_dat.csv` (the 790 sentences
that people rated, 1-7). Out: one continuation pair a frame. A word that `corpus.csv` split off wrongly (item 213)
is rebuilt from the rated sentence unless `repair=False`; the source's cell then stands in `source_good` / `_bad`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pairbank.builders.corpora.corpus import BuildOptions, Corpus
from pairbank.builders.schema.columns import Column, Item, Scalar
from pairbank.builders.sources.readers import read_delimited
from pairbank.builders.sources.references import bibtex
from pairbank.builders.sources.source import LocatedFile, Source, SourceFile
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
EXTRA = tuple(
    Column(name=f"source_{side}", type="string", nullable=True, meaning=f"source text of a mended {word} continuation")
    for side, word in (("good", "better"), ("bad", "worse"))
)
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


_REVISION = "2dadd0e135449fa4de100e294177d92660d988fe"
_FOLDER = f"https://raw.githubusercontent.com/jennhu/metalinguistic-prompting/{_REVISION}/datasets/exp2/dtfit"

DTFIT = Corpus(
    name="dtfit",
    title="DTFit (Vassallo et al. 2018)",
    description="Agent-verb frames with a typical and an atypical object, and how common people find each event.",
    version="1.0.0",
    languages=("en",),
    tasks=("continuation_pair",),
    n_items=395,
    human="mean 7-point plausibility of each sentence",
    subsets=(),
    rows=rows,
    extra_columns=EXTRA,
    source=Source(
        homepage="https://github.com/jennhu/metalinguistic-prompting",
        revision=_REVISION,
        licence="unknown",
        licence_note="Neither this repository nor https://github.com/carina-kauf/lm-event-knowledge, from which it "
        "has the ratings, has a licence file: use the items, but ask before you republish them.",
        redistributable=False,
        citation=bibtex("vassallo2018event", "hu2023prompting", between="\n"),
        files=(
            SourceFile(
                name=PAIRS,
                url=f"{_FOLDER}/{PAIRS}",
                sha256="736bc17830a08547f675a952565d36b196d72c4caff95e2208cd272abc95a7ef",
            ),
            SourceFile(
                name=RATED,
                url=f"{_FOLDER}/{RATED}",
                sha256="3e85bac1b84cb3ffaffbe0efcf867a6f83c56a82c06c1532a319802aaac3847c",
            ),
        ),
    ),
)
