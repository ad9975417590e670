"""Shades of Zero (Hu, Sosa & Ullman 2025): event descriptions from probable to inconceivable. Files in, items out.

A sentence is the one that the models of the source scored ("He ..."); people rated how likely it is "for someone to
..." and rated no syntactic violations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import cast

from pairbank.builders.corpora.corpus import BuildOptions, item_of
from pairbank.builders.corpora.corpus_map import rating_value
from pairbank.builders.corpora.declared import declared_with_ratings, facts_of
from pairbank.builders.corpora.design import Design
from pairbank.builders.ratings import Rated, Raters, judged, rating_of
from pairbank.builders.sources.readers import read_delimited
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError

NAME = "shades-of-zero"
STIMULI, RATINGS = "stimuli_with_syntax.csv", "human_ratings.csv"
SCALE = "likert0-100"


def shades_rated(files: Mapping[str, LocatedFile], _options: BuildOptions) -> Iterator[Rated]:
    """Yield the sentences of each event, from probable to inconceivable."""
    raters = Raters()
    given: dict[tuple[str, str], list[tuple[int, float]]] = defaultdict(list)
    for number, row in read_delimited(files[RATINGS].path, ("item_id", "condition", "subject_id", "response")):
        value = rating_value(row["response"], f"{files[RATINGS].path}, row {number}")
        given[row["item_id"], row["condition"]].append((raters.number(row["subject_id"]), value))
    design = cast(Design, facts_of(NAME).design)
    for _, row in read_delimited(files[STIMULI].path):
        for condition in design.levels["condition"]:
            event = row["item_id"]
            item = item_of(
                (NAME, "all", f"{event}/{condition}"),
                f"{_said(row[condition])}.",
                context_good=_said(row["sentence_prefix"]),
                phenomenon="modal category",
                pair_id=event,
                extra={"condition": condition, "item_set": event},
            )
            ratings = given.pop((event, condition), [])
            yield judged(item, (rating_of(item, rater, value, SCALE) for rater, value in ratings))
    for event, condition in given:
        raise CorpusError(f"{files[RATINGS].path}: {STIMULI} has no event {event} that is {condition}; get both again")


def _said(text: str) -> str:
    return text.replace("[NP]", "He").replace("[POSS]", "his")


SHADES_OF_ZERO = declared_with_ratings(NAME, shades_rated)
