"""What string probability says about grammaticality: scored tables in, a section out.

Hu et al. 2026, TACL: the two log-probabilities of a pair correlate (prediction 1a) and the less so the less minimal
the pair is (1b, ten bins of cosine distance); their difference follows people's (2); pooled, no linking function tells
grammatical from ungrammatical strings well (3), although the better string of a pair is usually the more probable one.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pairbank.arrays import BoolArray, FloatArray
from pairbank.scoring.api.names import DIRECT, is_string_logprob
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.by_distance import BIN_COLUMNS, DISTANCES, close_pairs, rows_by_bin
from pairbank.stats.analyses.form import Result, Rows, analysis, groups, range_table, where
from pairbank.stats.analyses.grammaticality import figures
from pairbank.stats.estimates import bootstrap
from pairbank.stats.estimates.estimate import undefined
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.measures.agreement import pearson
from pairbank.stats.measures.distance_bins import counts_lower_when_far
from pairbank.stats.measures.roc import Strings, auc, labelled_strings, pooled_pairs, roc_curve
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import ScoredTable, SummaryRow, is_reference, long_table, read_table

STRING_TASKS = ("sentence_pair", "sentence")
"""Tasks whose scores are of whole strings; a continuation given its context is none."""
N_BARS = 40
"""Of a histogram; its ends are the quantiles 0.001 and 0.999 of all strings."""
UNIGRAM = "unigram null"
"""The model of the null's rows: word counts of the corpus's own strings, which know no grammar."""
LEAST_ITEMS = 20
"""Of a number that a headline counts."""
LEAST_IN_BIN = 10
"""Pairs of each bin of an r over bins that a headline counts."""
LEAST_RATED = 3
N_PERMUTATIONS = 999


@analysis(
    title="Probability and grammaticality",
    needs="none of {corpora} has whole strings of both classes scored by `direct` or a linking function; score a "
    "corpus of sentence pairs, or of labelled sentences, with `direct`",
)
def grammaticality(tables: Sequence[ScoredFrame], context: Context, *, filtered: tuple[str, ...] = ()) -> Result:
    """Return correlations of the two strings of a pair, and how well a threshold separates all strings."""
    used, filters = close_pairs(tables, filtered)
    made = _Made(context.rng)
    for part in (part for table in used for part in read_table(table).parts()):
        if part.corpus not in made.nulls:
            counts = null_of(part)
            place = SummaryRow(model=UNIGRAM, corpus=part.corpus, group_by="all", group="", method=DIRECT)
            made.nulls[part.corpus] = [*itertools.chain(*predictions(counts, place).values())] if counts else []
        for scored in scored_strings(part):
            made.add(scored, SummaryRow(method=scored.method, **part.place))
    of_nulls, _ = close_pairs([null for null in context.nulls if null.corpus in made.nulls], filtered)
    for part in map(read_table, of_nulls):
        made.add_null_model(part)
    if not made.rows["separability"]:
        return Result()
    made.add_pools()
    return _result(made, filters)


def _result(made: _Made, filters: Rows) -> Result:
    tables = {
        "correlation": long_table(made.rows["correlation"]),
        "with_people": long_table(made.rows["with_people"]),
        "by_bin": long_table(made.rows["by_bin"], BIN_COLUMNS),
        "by_bin_people": long_table(made.rows["by_bin_people"], BIN_COLUMNS),
        "separability": long_table(made.rows["separability"]),
        "null": long_table([row for rows in made.nulls.values() for row in rows]),
        "roc": pd.concat(made.curves, ignore_index=True),
        "distributions": pd.concat(made.histograms, ignore_index=True),
        "null_by_bin": long_table(made.rows["null_by_bin"], BIN_COLUMNS),
    }
    shown = {name: bootstrap.wider(table) for name, table in tables.items()}
    whole = {name: where(shown[name], group_by="all") for name in ("correlation", "with_people", "separability")}
    areas, accuracies = (where(whole["separability"], metric=metric) for metric in ("auc", "accuracy"))
    sides, people = (rows[is_reference(rows)] for rows in (whole["correlation"], whole["with_people"]))
    null = shown["null"]
    used = areas[areas["value"].notna() & (areas["n"] >= LEAST_ITEMS)]
    medians = used.groupby("method", sort=False)["value"].median().sort_values(ascending=False, kind="stable")
    if tables["null_by_bin"].empty:
        del tables["null_by_bin"]
    return Result(
        tables={"areas": range_table(where(shown["separability"], metric="auc", group_by="all"))} | tables,
        main_chart="auc",
        charts=[*figures.string_charts(shown, made.points)],
        values={
            "filters": filters,
            "whole_areas": areas,
            "accuracies": accuracies,
            "sides": sides,
            "people": people,
            "nulls_of_sides": beside_nulls(sides, null, "pearson_sides"),
            "nulls_of_people": beside_nulls(people, null, "pearson_human"),
            "bins_of_sides": made.ends_of_bins(shown["by_bin"], "pearson_sides"),
            "bins_of_people": made.ends_of_bins(shown["by_bin_people"], "pearson_human"),
            "ends_by_corpus": ends_by_corpus(where(shown["by_bin"][is_reference(shown["by_bin"])], subset="")),
            "p_by_corpus": partial(made.p_of_falls, "pearson_sides", "cosine_distance"),
            "null_by_bin": shown["null_by_bin"],
            "null_ends_by_corpus": ends_by_corpus(shown["null_by_bin"]),
            "lacking": lacking(made.without, areas),
            "medians": medians.to_dict(),
        },
    )


def beside_nulls(rows: pd.DataFrame, null: pd.DataFrame, metric: str) -> Rows:
    """Return what word counts and random weights give, and how many models are above all of it (Zou & Donner 2008)."""
    beside = Rows()
    for of_counts in (True, False):
        known = null[(null["metric"] == metric) & null["value"].notna() & ((null["model"] == UNIGRAM) == of_counts)]
        strongest = known.sort_values("value", ascending=False, kind="stable").drop_duplicates("corpus")
        both = rows.merge(strongest[["corpus", "value", "high"]], on="corpus", suffixes=("", "_null"))
        if len(both):
            above = exceeds(both["value"], both["low"], both["value_null"], both["high_null"])
            n_models = 0 if of_counts else null.loc[null["model"] != UNIGRAM, "model"].nunique()
            beside.append({"values": known["value"], "n": len(both), "above": int(above.sum()), "n_models": n_models})
    return beside


def exceeds(value: ArrayLike, low: ArrayLike, null: ArrayLike, null_high: ArrayLike) -> BoolArray:
    """Return whether the interval of a difference to a null is above 0 (Zou & Donner 2008), from the intervals of both.

    >>> exceeds(0.9, 0.8, 0.7, 0.75).tolist(), exceeds(0.9, 0.8, 0.7, 0.9).tolist()
    (True, False)
    """
    first, lowest, second, highest = (np.asarray(x, dtype=np.float64) for x in (value, low, null, null_high))
    return np.asarray(first - second > np.hypot(first - lowest, highest - second))


def ends_by_corpus(binned: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the first and the last r of each model over bins of cosine distance, for corpora with several bins."""
    by_corpus = groups(where(binned[binned["value"].notna()], group_by="cosine_distance"), "corpus")
    return {str(x.key[0]): _ends(["model"], x.frame) for x in by_corpus if x.frame["bin"].nunique() > 1}


def _ends(keys: list[str], binned: pd.DataFrame) -> pd.DataFrame:
    """Return the first and the last r over bins, and in how many bins there is one, by some columns."""
    return binned.sort_values("bin", kind="stable").groupby(keys, sort=False)["value"].agg(["first", "last", "size"])


def lacking(without: Mapping[tuple[str, str], str], areas: pd.DataFrame) -> Rows:
    """Return which methods of a corpus have no area, and the reason where none of them has."""
    present = {*zip(areas["corpus"], areas["method"], strict=True)}
    absent = pd.DataFrame([key for key in without if key not in present], columns=["corpus", "method"])
    known = {*areas["corpus"]}
    return [
        {
            "corpus": corpus,
            "methods": [*names],
            "reason": "" if corpus in known else without[str(corpus), names.iloc[0]],
        }
        for corpus, names in absent.groupby("corpus", sort=False)["method"]
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredStrings:
    """The strings of one table with one linking function."""

    method: str
    good: FloatArray
    """Scores of the pairs' good strings; empty for a corpus of single labelled sentences."""
    bad: FloatArray
    human_delta: FloatArray
    """What people say of each pair, good minus bad; NaN where they were not asked."""
    strings: Strings
    """All strings, paired or not."""
    pairs: ScoredTable
    """The pairs' rows."""
    n_rows: int
    """Rows the function applies to, identical sides included."""


def scored_strings(table: ScoredTable) -> Iterator[ScoredStrings]:
    """Yield what each method that puts a number on one string says of a table's strings; classes may be empty."""
    kept = table.rows(table.has_value("task", *STRING_TASKS))
    used = kept.choices
    labels, human = used.labels, used.human_delta
    for layout in table.layouts:
        if layout.is_prompted:
            continue
        good, bad = used.side(layout.method, "good"), used.side(layout.method, "bad")
        paired, single = ~np.isnan(good + bad), ~np.isnan(good + labels) & np.isnan(bad)
        if paired.any():
            strings = pooled_pairs(good[paired], bad[paired])
        else:
            strings = labelled_strings(good[single], labels[single])
        yield ScoredStrings(
            method=layout.method,
            good=good[paired],
            bad=bad[paired],
            human_delta=human[paired],
            strings=strings,
            pairs=used.rows(paired if paired.any() else single),
            n_rows=int((~np.isnan(kept.side(layout.method, "good"))).sum()),
        )


def together(parts: Sequence[Strings]) -> Strings:
    """Return several pools as one; items stay apart.

    >>> both = together([pooled_pairs([1.0], [0.0]), labelled_strings([5.0, 6.0], [1, 0])])
    >>> both.good.tolist(), both.good_item.tolist(), both.bad_item.tolist(), both.n_items
    ([1.0, 5.0], [0, 1], [0, 2], 3)
    """
    starts = np.cumsum([0, *(part.n_items for part in parts)])
    return Strings(
        good=np.concatenate([part.good for part in parts]),
        bad=np.concatenate([part.bad for part in parts]),
        good_item=np.concatenate([part.good_item + at for part, at in zip(parts, starts, strict=False)]),
        bad_item=np.concatenate([part.bad_item + at for part, at in zip(parts, starts, strict=False)]),
        n_items=int(starts[-1]),
    )


def histogram(strings: Strings, place: dict[str, Any]) -> pd.DataFrame:
    """Return how many good and bad strings fall into each of `N_BARS` equal steps of their score."""
    both = np.concatenate([strings.good, strings.bad])
    low, high = np.quantile(both, (0.001, 0.999))
    edges = np.linspace(low, high if high > low else low + 1, N_BARS + 1)
    good, bad = (np.histogram(x.clip(edges[0], edges[-1]), edges)[0] for x in (strings.good, strings.bad))
    return pd.DataFrame({**place, "low": edges[:-1], "high": edges[1:], "n_good": good, "n_bad": bad})


def unigram_logprobs(texts: Sequence[str]) -> FloatArray:
    """Return each text's log-probability by the counts of words in all of them, shape (texts,).

    Words are what blanks separate, in lower case; characters where texts have no blanks.

    >>> unigram_logprobs(["a b", "a a"]).round(3).tolist()
    [-1.674, -0.575]
    """
    cut = [text.lower().split() if " " in text.strip() else list(text.strip()) for text in texts]
    counts = Counter(word for words in cut for word in words)
    total = sum(counts.values())
    return np.array([sum(np.log(counts[word] / total) for word in words) for words in cut], dtype=np.float64)


def null_of(table: ScoredTable) -> ScoredStrings | None:
    """Return the pairs of whole strings of a corpus by word counts alone; None of too few."""
    used = table.rows(table.has_value("task", *STRING_TASKS)).choices
    texts = used.frame.reindex(columns=["target_good", "target_bad"])
    kept = used.rows(texts.notna().all(axis=1).to_numpy(dtype=np.bool_))
    n = len(kept.frame)
    if n < LEAST_RATED:
        return None
    both = unigram_logprobs([*kept.frame["target_good"], *kept.frame["target_bad"]])
    return ScoredStrings(
        method=DIRECT,
        good=both[:n],
        bad=both[n:],
        human_delta=kept.human_delta,
        strings=pooled_pairs(both[:n], both[n:]),
        pairs=kept,
        n_rows=n,
    )


def predictions(scored: ScoredStrings, place: SummaryRow) -> dict[str, Rows]:
    """Return r of the two sides, r with people, and how well scores separate the strings, as rows by table."""
    rows: dict[str, Rows] = {"correlation": [], "with_people": [], "separability": []}
    paradigms, delta, rated = scored.pairs.paradigms, scored.good - scored.bad, ~np.isnan(scored.human_delta)
    if scored.good.size:
        r = pearson(scored.good, scored.bad, clusters=paradigms)
        rows["correlation"].append(replace(place, metric="pearson_sides").row(r, n_rows=scored.n_rows))
    if rated.sum() >= LEAST_RATED:
        r = pearson(delta[rated], scored.human_delta[rated], clusters=paradigms[rated])
        human = replace(place, versus="human", metric="pearson_human")
        rows["with_people"].append(human.row(r, n_rows=int(rated.sum())))
    if not scored.strings.problem:
        none = undefined("single labelled sentences make no pairs", n=0, method="none")
        estimates = {
            "auc": auc(scored.strings, clusters=paradigms),
            "accuracy": accuracy(delta, clusters=paradigms) if delta.size else none,
        }
        for metric, estimate in estimates.items():
            rows["separability"].append(replace(place, metric=metric).row(estimate, n_rows=scored.n_rows))
    return rows


class _Made:
    """Rows of the tables, as they are made."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.rows: dict[str, Rows] = defaultdict(list)
        self.by_distance: dict[tuple[str, str, str], list[pd.DataFrame]] = defaultdict(list)
        """Metric, distance and corpus -> pairs of each model, by the reference method."""
        self.curves: list[pd.DataFrame] = []
        self.histograms: list[pd.DataFrame] = []
        self.points: list[pd.DataFrame] = []
        self.pools: dict[tuple[str, str, str], dict[str, Strings]] = defaultdict(dict)
        """Model, language and method -> strings of each corpus."""
        self.nulls: dict[str, Rows] = {}
        """Corpus -> rows of the unigram null, and of models with random weights."""
        self.without: dict[tuple[str, str], str] = {}
        """Corpus and method -> why its strings have no area."""

    def add(self, scored: ScoredStrings, place: SummaryRow) -> None:
        """Add what one method says of one corpus, or one of its subsets."""
        is_whole = not place.group
        for name, rows in predictions(scored, place).items():
            self.rows[name] += rows
        if scored.good.size:
            sides = replace(place, metric="pearson_sides")
            self.rows["by_bin"] += rows_by_bin(scored.pairs, scored.good, scored.bad, sides)
            rated = ~np.isnan(scored.human_delta)
            if is_string_logprob(place.method) and rated.sum() >= LEAST_RATED:
                human = replace(place, versus="human", metric="pearson_human")
                delta, of_people = (scored.good - scored.bad)[rated], scored.human_delta[rated]
                self.rows["by_bin_people"] += rows_by_bin(scored.pairs.rows(rated), delta, of_people, human)
            if is_whole:
                self.points.append(figures.points_of(scored, place))
                if place.method == scored.pairs.reference:
                    self._add_distances(scored, place)
        if scored.strings.problem:
            if is_whole:
                self.without.setdefault((place.corpus, place.method), scored.strings.problem)
            return
        self._add_curve(scored.strings, place, is_whole=is_whole)
        languages = {*scored.pairs.frame.get("language", ())}
        if is_whole and len(languages) == 1 and "" not in languages:
            self.pools[place.model, languages.pop(), scored.method][place.corpus] = scored.strings

    def add_null_model(self, table: ScoredTable) -> None:
        """Add what a model with random weights gives of the predictions."""
        for scored in scored_strings(table):
            if scored.method == table.reference and scored.good.size:
                place = SummaryRow(method=scored.method, **table.place)
                self.nulls[table.corpus] += itertools.chain(*predictions(scored, place).values())
                sides = replace(place, metric="pearson_sides")
                self.rows["null_by_bin"] += rows_by_bin(scored.pairs, scored.good, scored.bad, sides)

    def ends_of_bins(self, binned: pd.DataFrame, metric: str) -> dict[str, Any]:
        """Return r of the closest and furthest tenth of pairs of each model and corpus with enough pairs in all."""
        shown = binned[is_reference(binned) & (binned["subset"] == "") & binned["value"].notna()]
        for distance in DISTANCES:
            by_distance = where(shown, group_by=distance)
            enough = by_distance.groupby(["corpus", "model"])["n"].transform("min") >= LEAST_IN_BIN
            ends = _ends(["corpus", "model"], by_distance[enough])
            ends = ends[ends["size"] > 1]
            if len(ends):
                corpora = ends.index.unique("corpus")
                p = self.p_of_falls(metric, distance, *corpora) if len(ends) > 1 else math.nan
                return {"distance": distance.replace("_", " "), "ends": ends, "p": p}
        return {}

    def p_of_falls(self, metric: str, distance: str, *corpora: str) -> float:
        """Return how often r is lower in the furthest pairs of as many models, if pairs of a paradigm are permuted."""
        pairs = [pd.concat(self.by_distance[metric, distance, corpus]) for corpus in corpora]
        draw = partial(counts_lower_when_far, rng=self.rng, n_permutations=N_PERMUTATIONS)
        counts = np.sum([draw(of_corpus) for of_corpus in pairs], axis=0)
        return float((counts >= counts[0]).mean())

    def _add_distances(self, scored: ScoredStrings, place: SummaryRow) -> None:
        delta, named = scored.good - scored.bad, scored.pairs.frame.reindex(columns=["item_id", "paradigm"])
        for metric, x, y in (("pearson_sides", scored.good, scored.bad), ("pearson_human", delta, scored.human_delta)):
            for column in DISTANCES:
                pairs = named.assign(distance=scored.pairs.numbers(column), model=place.model, x=x, y=y)
                self.by_distance[metric, column, place.corpus].append(pairs.dropna(subset=["distance", "x", "y"]))

    def add_pools(self) -> None:
        """Add what one threshold does on the strings of all corpora of a language together, where there are several."""
        for (model, language, method), parts in self.pools.items():
            if len(parts) > 1:
                strings, corpus = together(list(parts.values())), f"{len(parts)} corpora ({language})"
                place = SummaryRow(model=model, corpus=corpus, group_by="all", group="", method=method, metric="auc")
                self.rows["separability"].append(place.row(auc(strings), n_rows=strings.n_items))
                self._add_curve(strings, place, is_whole=True)

    def _add_curve(self, strings: Strings, place: SummaryRow, *, is_whole: bool) -> None:
        names, curve = {"model": place.model, "corpus": place.corpus}, roc_curve(strings)
        rates = {name: getattr(curve, name) for name in ("false_positive_rate", "true_positive_rate")}
        self.curves.append(pd.DataFrame(names | {"subset": place.group, "method": place.method} | rates))
        if is_whole:
            self.histograms.append(histogram(strings, names | {"method": place.method}))
