"""Designs without an interaction but with large main effects: how often the analysis claims one, and how it covers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from nulls import Null, Outcome, Table, at_least, at_most, own_seed
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.design import design
from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import DIRECT

LEVELS = (("non-island", "island"), ("short", "long"))
CODED = np.array([[1, 0.5, 0.5, 0.25], [1, 0.5, -0.5, -0.25], [1, -0.5, 0.5, -0.25], [1, -0.5, -0.5, 0.25]])
"""Mean, structure, distance and their interaction, whose coefficient is minus the difference of differences."""
Sentence = tuple[str, str, str, str | None, str | None, float]
FACTS = {
    "factors": [
        {"column": "structure", "levels": list(LEVELS[0])},
        {"column": "distance", "levels": list(LEVELS[1])},
    ],
    "item_set": "item",
    "by": ["type"],
    "fillers": {"type": ["filler"]},
    "contrasts": [],
}
MANIFEST = {"facts": {"design": FACTS}}


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """How an experiment is drawn; standard deviations in points."""

    n_sets: int = 8
    n_raters: int = 24
    types: tuple[str, ...] = ("whether",)
    interaction: float = 0.0
    """Difference of differences, in points."""
    by_set: float = 0.4
    """Of the interaction between item sets, and of the slopes."""
    uneven: bool = False
    """Whether item sets of the second half have about half of their ratings, and one in four lacks a cell."""

    def drawn(self, seed: int) -> tuple[ScoredFrame, pd.DataFrame]:
        """Return a scored table and its ratings; people and the model have the same main effects."""
        rng = np.random.default_rng(seed)
        fixed = np.array([4.0, 1.5, 1.5, -self.interaction])
        rows: list[Sentence] = []
        ratings = []
        bias, slopes = rng.normal(0, 0.5, self.n_raters), rng.normal(0, 0.3, (self.n_raters, 4)) * [0, 1, 1, 1]
        for kind in self.types:
            for item in range(self.n_sets):
                effects = fixed + rng.normal(0, self.by_set, 4)
                scores = CODED @ (fixed + rng.normal(0, self.by_set, 4)) + rng.normal(0, 0.3, 4)
                few = self.uneven and item >= self.n_sets // 2
                for cell, score in enumerate(scores):
                    if self.uneven and cell == 3 and item % 4 == 3:
                        continue
                    item_id = f"{kind}/{item}/{cell}"
                    rows.append((item_id, kind, str(item), LEVELS[0][cell // 2], LEVELS[1][cell % 2], score))
                    for rater in range((item + cell) % 2, self.n_raters, 2):
                        if not few or rng.random() < 0.5:
                            value = CODED[cell] @ (effects + slopes[rater]) + bias[rater] + rng.normal(0, 0.8)
                            ratings.append((item_id, rater, value))
        for nth, mean in enumerate((1.5, 2.5, 5.5, 6.5) * 2):
            rows.append((f"filler/{nth}", "filler", f"f{nth}", None, None, mean))
            ratings += [
                (f"filler/{nth}", rater, mean + bias[rater] + rng.normal(0, 0.8)) for rater in range(self.n_raters)
            ]
        return _table(rows), _ratings(ratings)


def _table(rows: list[Sentence]) -> ScoredFrame:
    frame = pd.DataFrame(rows, columns=["item_id", "type", "item", "structure", "distance", "direct_good"])
    frame = frame.assign(corpus="islands", subset="all", language="en", task="sentence", phenomenon=None)
    frame = frame.assign(target_bad=None, direct_bad=np.nan, direct_delta=np.nan, human_good=np.nan, human_bad=np.nan)
    frame["flags"] = [[] for _ in range(len(frame))]
    return ScoredFrame(
        corpus="islands", model="m", frame=frame, layouts=(DIRECT,), signature={"corpus": {"manifest": MANIFEST}}
    )


def _ratings(rows: list[tuple[str, int, float]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["item_id", "rater", "value"]).assign(side="good", scale="likert7")


def claims(seed: int, experiment: Experiment) -> Outcome:
    """Return whether an interaction is claimed (p < .05) of people and the model, and whether 95% cover it."""
    table, ratings = experiment.drawn(seed)
    effects = design([table], Context(ratings=(ratings,)), raw=True).tables["effects"]
    shown = effects[effects["term"] == "structure:distance"]
    made: dict[str, float] = {}
    for who, rows in (("people", shown[shown["model"] == "human"]), ("model", shown[shown["model"] != "human"])):
        covered = (rows["low"] <= experiment.interaction) & (experiment.interaction <= rows["high"])
        made |= {f"{who}, claims": (rows["p"] < 0.05).mean(), f"{who}, coverage": covered.mean()}
    return made


CASES = {
    "8 item sets, 24 participants": Experiment(),
    "8 item sets, uneven": Experiment(uneven=True),
    "8 item sets, no variation by item set": Experiment(by_set=0.0),
    "16 item sets, uneven": Experiment(n_sets=16, uneven=True),
    "8 item sets, uneven, interaction of 1 point": Experiment(uneven=True, interaction=1.0),
}


def null_of(name: str) -> Null:
    return Null((name,), partial(claims, experiment=CASES[name]), each=own_seed)


def nulls() -> Iterator[Null]:
    return map(null_of, CASES)


RARE = {**at_most(0.1, "people, claims"), **at_most(0.12, "model, claims")}
COVERED = {**at_least(0.9, "people, coverage"), **at_least(0.88, "model, coverage")}
TESTED = (null_of("8 item sets, uneven").small(60, RARE, COVERED, ci=True),)
TABLES = (Table("design", ("experiment",), nulls, TESTED),)
