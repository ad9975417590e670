"""EventsAdapt, DTFit and SocialN400: plausibility of events. Kauf et al. 2024, BlackboxNLP; Kauf et al. 2023.

In: three tables of pairs (read by the corpus's TOML file) and the single ratings of EventsAdapt, which upstream
publishes with the workers' identifiers: they are not downloaded, and become numbers. Out: one item a pair; one item a
sentence for the reversible events of EventsAdapt (AAR), which have ratings and no better side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from pairbank.builders.corpora.corpus import BuildOptions, wanted
from pairbank.builders.corpora.corpus_map import corpus_map, rating_value
from pairbank.builders.ratings import Rated, Raters, Rating, Side, judged
from pairbank.builders.schema.columns import Item, Scalar
from pairbank.builders.sources.readers import read_delimited
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError

RATINGS = "single_sentences/EventsAdapt/clean_EventsAdapt_human_dat.csv"
REQUIRED = ("Score", "ItemNum", "Sentence", "TrialType", "Voice")
RATER_COLUMNS = ("rater", "WorkerId")
SCALE = "plausibility7"
OTHER_TARGETS = "targets_differ"
"""Flag: the two stories end in two sentences, though the design has one."""

_MAP = corpus_map("kauf-2024")
Judgments = Mapping[str, list[tuple[int, float]]]
"""Sentence -> raters and their ratings."""


def rated(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Rated]:
    """Yield the pairs of the map, then the sentences of EventsAdapt that stand in no pair."""
    judgments, sentences = _judgments(files[RATINGS]) if RATINGS in files else ({}, {})
    paired: set[str] = set()
    for result in _MAP.rated(
        files, replace(options, subset=None) if options.subset == "events-adapt-reversible" else options
    ):
        item = result.item
        if item.subset == "events-adapt":
            paired |= {item.target_good, item.target_bad or ""}
            result = judged(item, _ratings(item, judgments)) if judgments else result  # noqa: PLW2901
        elif item.subset == "social-n400":
            result = Rated(item=_story(item))  # noqa: PLW2901
        if wanted(item.subset, options):
            yield result
    if wanted("events-adapt-reversible", options):
        for sentence, (number, kind, voice) in sentences.items():
            if sentence not in paired:
                yield _alone(sentence, number, kind, {"voice": voice}, judgments)


def _story(item: Item) -> Item:
    """Return a pair of stories with its task: one target in two contexts, or two targets each in its own."""
    contrast = item.item_id.rsplit("/", 1)[-1].split("-", 1)[-1]
    if not contrast.startswith("critical"):
        return replace(item, task="continuation_pair", paradigm="Control")
    differ = () if item.target_good == item.target_bad else (OTHER_TARGETS,)
    return replace(item, task="context_pair", paradigm="Critical", flags=(*item.flags, *differ))


def _alone(sentence: str, number: str, kind: str, extra: Mapping[str, Scalar], judgments: Judgments) -> Rated:
    item = Item(
        item_id=f"kauf-2024/events-adapt-reversible/{number}",
        corpus="kauf-2024",
        subset="events-adapt-reversible",
        language="en",
        task="sentence",
        phenomenon="plausibility",
        paradigm=kind,
        target_good=sentence,
        extra=extra,
    )
    return judged(item, _ratings(item, judgments))


def _ratings(item: Item, judgments: Judgments) -> Iterator[Rating]:
    sides: tuple[tuple[Side, str | None], ...] = (("good", item.target_good), ("bad", item.target_bad))
    for side, sentence in sides:
        if sentence is not None and sentence not in judgments:
            raise CorpusError(f"{item.item_id}: {RATINGS} has no rating of {sentence!r}; get both files again")
        for rater, value in judgments.get(sentence or "", ()):
            yield Rating(item_id=item.item_id, side=side, rater=rater, value=value, scale=SCALE)


def _judgments(file: LocatedFile) -> tuple[dict[str, list[tuple[int, float]]], dict[str, tuple[str, str, str]]]:
    """Return sentence -> its ratings (a blank one is none), and sentence -> its number, kind and voice."""
    raters = Raters()
    judgments: dict[str, list[tuple[int, float]]] = {}
    sentences: dict[str, tuple[str, str, str]] = {}
    for line, row in read_delimited(file.path, REQUIRED):
        who = next((row[name] for name in RATER_COLUMNS if name in row), None)
        if who is None:
            raise CorpusError(f"{file.path}, row {line}: no column {' or '.join(RATER_COLUMNS)}; get the file again")
        result = judgments.setdefault(row["Sentence"], [])
        if row["Sentence"] not in sentences:
            sentences[row["Sentence"]] = (str(len(sentences) + 1), row["TrialType"], row["Voice"])
        number = raters.number(who)
        if row["Score"] != "":
            result.append((number, rating_value(row["Score"], f"{file.path}, row {line}")))
    return judgments, sentences


KAUF_2024 = _MAP.corpus(rated)
