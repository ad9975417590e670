"""Factorial designs: effects of people's ratings and of models' scores on the same sentences.

A corpus states its design (factors, item sets, fillers) in its manifest; pairs are a design of one factor with the
levels good and bad. Ratings are z-scored within participants and scores within models, fillers included.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pairbank.arrays import FloatArray
from pairbank.builders.ratings import FORCED_CHOICE, normalised, without_constant_raters
from pairbank.errors import BankError
from pairbank.scoring.api.names import DIRECT
from pairbank.scoring.signature import design_of
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Chart, Result, Rows, analysis, cells, groups, typed, where, wide
from pairbank.stats.analyses.raters.judgments import ratings_given
from pairbank.stats.estimates.estimate import HUMAN, Tested
from pairbank.stats.figures.charts import interaction_panels, pages
from pairbank.stats.measures.agreement import pearson
from pairbank.stats.measures.designs import Effect, effects_of, of_item_sets, of_ratings
from pairbank.stats.measures.paired_tests import corrected
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import ScoredTable, is_filler, read_table
from pairbank.stats.wording import with_interval

PEOPLE = "people"
RATINGS, MEANS = "ratings", "mean ratings"
SIDE = "side"
LEAST_DESIGNS = 3
"""Of a correlation over designs."""
MOST_DESIGNS, MOST_COLUMNS = 6, 4
"""Rows and columns of an interaction plot; of more designs there are more figures."""
KEYS = ["corpus", "model", "method"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """A design as a manifest states it."""

    levels: dict[str, list[str]]
    item_set: str
    by: list[str] = field(default_factory=list)
    fillers: dict[str, list[str]] = field(default_factory=dict)
    contrasts: list[list[str]] = field(default_factory=list)

    @classmethod
    def of(cls, table: ScoredFrame) -> Stated:
        """Return the design of a table; of one that states none, the two sides of its pairs."""
        if not (facts := design_of(table.signature)):
            return cls(levels={SIDE: ["good", "bad"]}, item_set="item_id")
        levels = {factor["column"]: factor["levels"] for factor in facts["factors"]}
        if "target_bad" in table.column_names and table.part(["target_bad"])["target_bad"].notna().any():
            levels = {SIDE: ["good", "bad"], **levels}
        named = (*(name for name in levels if name != SIDE), facts["item_set"], *facts["by"], *facts["fillers"])
        if missing := [name for name in named if name not in table.column_names]:
            raise BankError(f"{table.corpus} by {table.model}: no columns {missing} of its design; score it again")
        return cls(levels=levels, **{name: facts[name] for name in ("item_set", "by", "fillers", "contrasts")})

    @property
    def effects(self) -> list[Effect]:
        return effects_of(self.levels, self.contrasts)

    @property
    def cells(self) -> pd.DataFrame:
        """One row per cell, one column per factor; the last factor varies fastest."""
        return pd.DataFrame(itertools.product(*self.levels.values()), columns=[*self.levels])

    def sentences(self, table: ScoredTable) -> pd.DataFrame:
        """Return what is scored: `item_id`, `side`, and its `design`, `item_set` and `cell` (-1 = in none)."""
        frame = table.frame.reset_index(drop=True)
        if SIDE in self.levels:
            paired = frame["target_bad"].notna() if "target_bad" in frame else pd.Series(data=True, index=frame.index)
            sides = [frame.assign(side=side, row=frame.index)[paired] for side in self.levels[SIDE]]
            frame = pd.concat(sides, ignore_index=True)
        else:
            frame = frame.assign(side="good", row=frame.index)
        codes = [pd.Index(known).get_indexer(pd.Index(frame[name])) for name, known in self.levels.items()]
        inside = np.all([code >= 0 for code in codes], axis=0) & ~is_filler(frame, self.fillers)
        cell = np.ravel_multi_index([np.maximum(code, 0) for code in codes], [*map(len, self.levels.values())])
        label = frame[self.by].astype("string").fillna("").agg(", ".join, axis=1) if self.by else table.corpus
        item_set, language = frame[self.item_set].astype("string"), frame.get("language", "")
        made = frame.assign(design=label, item_set=item_set, cell=np.where(inside, cell, -1), language=language)
        return made[["row", "item_id", "side", "design", "item_set", "cell", "language"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Scores or ratings of the sentences of a corpus."""

    corpus: str
    model: str
    method: str
    unit: str
    stated: Stated
    rows: pd.DataFrame
    """Of sentences in a cell: `design`, `item_set`, `cell`, `value` (analysed), `raw`, and `rater` of ratings."""

    @property
    def incomplete(self) -> list[str]:
        """Item sets without a value in some cell, with the first such cell, where effects leave them out."""
        if "rater" in self.rows:
            return []
        of_sets = self.rows.groupby(["design", "item_set"], sort=False)["cell"]
        first = {key: min({*range(len(self.stated.cells))} - {*cells}, default=-1) for key, cells in of_sets}
        return [f"{name} ({', '.join(self.stated.cells.iloc[at])})" for (_, name), at in first.items() if at >= 0]

    def estimated(self, rows: pd.DataFrame) -> tuple[str, list[Tested], list[float]]:
        """Return how one design was analysed, its cells and effects, and the same contrasts of raw means."""
        n_cells = len(self.stated.cells)
        contrasts = [*np.eye(n_cells), *(effect.weights for effect in self.stated.effects)]
        of_sets = (rows.pivot_table(index="item_set", columns="cell", values=name) for name in ("value", "raw"))
        by_set, raw_of_set = (means.reindex(columns=range(n_cells)).to_numpy(dtype=np.float64) for means in of_sets)
        means = np.array([np.nanmean(column) if (~np.isnan(column)).any() else np.nan for column in raw_of_set.T])
        raw = [float(weights[weights != 0] @ means[weights != 0]) for weights in contrasts]
        if "rater" not in rows:
            return "t over item sets", [of_item_sets(by_set, weights) for weights in contrasts], raw
        drawn = {"participant": pd.factorize(rows["rater"])[0], "item_set": pd.factorize(rows["item_set"])[0]}
        values, codes = rows["value"].to_numpy(dtype=np.float64), rows["cell"].to_numpy()
        return *of_ratings(values, codes, drawn, contrasts, self.stated.levels), raw


@analysis(
    title="Factorial design: people and models",
    needs="none of {corpora} has scored sentences of a design; declare [design] in the map of your table and score it",
    facts=("ratings",),
)
def design(tables: Sequence[ScoredFrame], context: Context, *, raw: bool = False) -> Result:
    """Return cell means and effects of each design, of people and of each model and method; `raw`: not as z-scores."""
    observed = list[Observed]()
    given = without_constant_raters(ratings_given(context.ratings))[0] if context.ratings else pd.DataFrame()
    for table in tables:
        stated, read = Stated.of(table), read_table(table)
        sentences = Sentences(table=read, stated=stated, rows=stated.sentences(read), raw=raw)
        observed += () if any(one.corpus == table.corpus for one in observed) else sentences.of_people(given)
        observed += sentences.of_model()
    of_cells, effects = _estimates(observed)
    if effects.empty:
        return Result()
    effects["p_holm"] = effects.groupby([*KEYS, "term"])["p"].transform(lambda p: corrected(p).holm)
    highest = effects[effects["order"] == effects.groupby("corpus")["order"].transform("max")]
    over = list(_over_designs(highest))
    incomplete: dict[str, list[str]] = {}
    for one in observed:
        incomplete[one.corpus] = [*dict.fromkeys([*incomplete.get(one.corpus, ()), *one.incomplete])]
    summed = (one.rows for one in observed if one.method == DIRECT and len(one.rows))
    lengths = max((rows.groupby("cell")["n_tokens"].mean() for rows in summed), key=np.ptp, default=pd.Series([0.0]))
    return Result(
        tables={
            "interactions": _first_table(highest),
            "effects": effects.drop(columns="order"),
            "cells": of_cells,
            "with_people": typed(over, () if over else KEYS),
        },
        charts=[*_interaction_charts(of_cells, highest, "rating or score" if raw else "z-score")],
        values={
            "highest": highest,
            "raw": raw,
            "lengths": lengths,
            "incomplete": incomplete,
            "designs": {one.corpus: one.stated for one in observed},
        },
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Sentences:
    """The sentences of a table in their design, and what people and methods give them."""

    table: ScoredTable
    stated: Stated
    rows: pd.DataFrame
    raw: bool

    def of_people(self, given: pd.DataFrame) -> Iterator[Observed]:
        """Yield individual ratings; of a corpus that has none, mean ratings."""
        rated = given[given["item_id"].isin(set(self.table.item_ids))] if len(given) else given
        rated = rated[rated["scale"] != FORCED_CHOICE] if len(rated) else rated
        if len(rated):
            values = rated["value"].to_numpy(dtype=np.float64)
            z = values if self.raw else normalised(values.tolist(), rated["rater"].to_list(), "z-by-rater")
            rows = rated.assign(raw=values, value=z).merge(self.rows, on=["item_id", "side"])
            yield self._observed(rows, model=HUMAN, method=RATINGS, unit=str(rated["scale"].iloc[0]))
            return
        yield from self._scored(self.side("human_{side}"), model=HUMAN, method=MEANS, unit="points")

    def of_model(self) -> Iterator[Observed]:
        """Yield the scores of each method that scores single sentences."""
        for scores in self.table.methods:
            layout, single = scores.layout, scores.sentence_score[self.rows["row"]]
            values = np.where(np.isnan(single), self.side(layout.method), single)
            yield from self._scored(values, model=self.table.model, method=layout.method, unit=layout.unit_in_words)

    def side(self, name: str) -> FloatArray:
        """Return a method's scores of the sides, or a column's numbers where `{side}` stands for each."""
        read = self.table.side if "{" not in name else lambda text, side: self.table.numbers(text.format(side=side))
        good, bad = (read(name, side)[self.rows["row"]] for side in ("good", "bad"))
        return np.where(self.rows["side"] == "good", good, bad)

    def _scored(self, values: FloatArray, **place: str) -> Iterator[Observed]:
        known = ~np.isnan(values)
        if known.any():
            _, languages = np.unique(self.rows["language"].astype("string").fillna(""), return_inverse=True)
            z = values.copy()
            if not self.raw:
                z[known] = normalised(values[known].tolist(), languages[known].tolist(), "z-by-rater")
            tokens = self.side(f"{DIRECT}_{{side}}_n")
            yield self._observed(self.rows.assign(raw=values, value=z, n_tokens=tokens), **place)

    def _observed(self, rows: pd.DataFrame, **place: str) -> Observed:
        kept = rows[rows["cell"] >= 0].dropna(subset=["value"])
        return Observed(corpus=self.table.corpus, stated=self.stated, rows=kept, **place)


def _estimates(observed: Sequence[Observed]) -> tuple[pd.DataFrame, pd.DataFrame]:
    of_cells, effects = Rows(), Rows()
    for one in observed:
        named, contrasts = one.stated.cells, one.stated.effects
        for group in groups(one.rows.sort_values("design", kind="stable"), "design"):
            how, tested, raw = one.estimated(group.frame)
            place = {"corpus": one.corpus, "model": one.model, "method": one.method, "design": group.key[0]}
            n_raters = group.frame["rater"].nunique() if "rater" in group.frame else 0
            rest = {"unit": one.unit, "model_of_effects": how, "n_raters": n_raters}
            for nth, (test, value) in enumerate(zip(tested, raw, strict=True)):
                estimate = test.estimate
                row: dict[str, Any] = cells(estimate) | {"n": estimate.n}
                row["n_item_sets"] = group.frame["item_set"].nunique() if n_raters else estimate.n
                row |= rest | {"raw": value, "ci_method": estimate.method, "reason": estimate.reason or ""}
                if nth < len(named):
                    *others, level = named.iloc[nth]
                    of_cells.append(place | {"series": ", ".join(others), "level": level} | row)
                    continue
                effect = contrasts[nth - len(named)]
                kind = {"term": effect.term, "contrast": effect.contrast, "order": effect.order}
                effects.append(place | kind | row | {"df": test.degrees, "p": test.p})
    return typed(of_cells), typed(effects)


def _over_designs(highest: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield r of each method's effects with people's, over the designs of a corpus."""
    keys = ["corpus", "design", "term", "contrast"]
    people = where(highest, model=HUMAN)[[*keys, "value"]].dropna()
    both = highest[highest["model"] != HUMAN].merge(people, on=keys, suffixes=("", "_people")).dropna(subset=["value"])
    for group in groups(both, *KEYS):
        if group.frame["design"].nunique() >= LEAST_DESIGNS:
            r = pearson(group.frame["value"], group.frame["value_people"])
            yield group.place | cells(r) | {"n": r.n, "reason": r.reason or ""}


def _with_who(rows: pd.DataFrame) -> pd.DataFrame:
    who = rows["model"] + ", " + rows["method"]
    return rows.assign(who=who.mask(rows["model"] == HUMAN, PEOPLE))


def _first_table(highest: pd.DataFrame) -> pd.DataFrame:
    shown = _with_who(highest)
    keys = [name for name in ("corpus", "design", "contrast") if shown[name].nunique() > 1] or ["design"]
    shown["n"] = shown["n_item_sets"]
    is_less = shown["n"] < shown.groupby(keys)["n"].transform("max")
    shown["own_n"] = np.where(is_less, " (n = " + shown["n"].astype(str) + ")", "")
    shown_with = partial(with_interval, interval=shown["who"].nunique() <= MOST_COLUMNS, side=True)
    return wide(shown, rows=keys, columns="who", cell=lambda row: shown_with(row) + row["own_n"])


def _interaction_charts(of_cells: pd.DataFrame, highest: pd.DataFrame, unit: str) -> Iterator[Chart]:
    """Yield cell means, a row per design and a column for people and each model."""
    for corpus in groups(_with_who(of_cells), "corpus"):
        shown = list(dict.fromkeys(corpus.frame["who"]))[:MOST_COLUMNS]
        drawn = corpus.frame[corpus.frame["who"].isin(shown)]
        factors = where(highest, corpus=corpus.key[0])["term"].iloc[0].split(":")
        for nth, names in pages(list(dict.fromkeys(drawn["design"])), MOST_DESIGNS):
            part = drawn[drawn["design"].isin(names)]
            is_whole = part["design"].nunique() == drawn["design"].nunique()
            yield Chart(
                name=str(corpus.key[0]) if is_whole else f"{corpus.key[0]} {nth}",
                caption="interaction",
                draw=partial(interaction_panels, part, factors=factors, y_label=unit),
                values={"corpus": corpus.key[0], "n": part["n_item_sets"], "factors": factors},
            )
