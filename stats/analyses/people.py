"""Do models prefer what people prefer, and by as much? (Hu et al. 2026, section 5; Ivanova et al. 2024, Figure 2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.arrays import FloatArray
from pairbank.builders.ratings import FORCED_CHOICE, without_constant_raters
from pairbank.scoring.api.layout import MethodLayout
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.by_distance import BIN_COLUMNS, EDIT_DISTANCE, bin_charts, close_pairs, rows_by_bin
from pairbank.stats.analyses.form import (
    Chart,
    Result,
    Rows,
    analysis,
    cells,
    charts,
    equal_steps,
    range_table,
    records,
    where,
)
from pairbank.stats.estimates.bootstrap import wider
from pairbank.stats.estimates.estimate import HUMAN
from pairbank.stats.figures.charts import MOST_SERIES, first_cells, heat_map, intervals, pages
from pairbank.stats.figures.scatters import scatter_panels
from pairbank.stats.measures.agreement import cohens_kappa, pearson, percentage_bend, raw_agreement
from pairbank.stats.measures.confusion import choice_counts
from pairbank.stats.measures.distance_bins import largest_distance_kept
from pairbank.stats.measures.human_agreement import VARIANCES, Ceiling, ceiling_from_spreads, disattenuated
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import (
    ScoredTable,
    SummaryRow,
    is_reference,
    long_table,
    read_table,
    reference_names,
)
from pairbank.stats.wording import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

KEYS = ("model", "corpus", "method")
R, ROBUST = "pearson_human", "percentage_bend_human"
"""Metrics: r with people, and r that outliers do not decide."""
R_LABEL = "Pearson r with people"
LEAST_RATED, LEAST_CORRECTED = 3, 20
"""Pairs of r, and of r that is corrected for the reliability of ratings."""
MOST_PANELS = 8
MOST_POINTS = 1_500
"""Of a scatter's panel; they are taken at equal steps."""
CHOSEN = "people chose between the sentences; a ceiling needs ratings of each"
_CEILING = ("n", "reliability", "ceiling_r", "method", "reason")
_SPREADS = ("human_sd_good", "human_n_good", "human_sd_bad", "human_n_bad")
_COUNTS = ("both_good", "only_method_good", "only_people_good", "both_bad", "n_ties")


@analysis(
    title="Agreement with people",
    facts=("ratings",),
    needs=f"none of {{corpora}} has {LEAST_RATED} scored pairs that people rated on both sides (r of single sentences "
    "is in the first part of the report); compare with people on a corpus that has ratings, such as li or dtfit",
)
def people(tables: Sequence[ScoredFrame], context: Context, *, filtered: tuple[str, ...] = ()) -> Result:
    """Return how the methods of each table compare with people."""
    used, filters = close_pairs(tables, filtered)
    spreads = _spreads_of(context.ratings)
    rows: dict[str, Rows] = defaultdict(list)
    points: list[pd.DataFrame] = []
    ceilings: dict[str, dict[str, Any]] = {}
    for part in (part for table in used for part in read_table(table).parts()):
        for layout, pairs, n_rows in _rated(part):
            x, y, of = pairs.delta(layout.method), pairs.human_delta, pairs.paradigms
            place = SummaryRow(method=layout.method, versus=HUMAN, **part.place)
            rows["correlation"] += _correlations(pairs, place, n_rows=n_rows, is_filtered=part.corpus in filtered)
            bent = percentage_bend(x, y, clusters=of)
            rows["robust"].append(replace(place, metric=ROBUST).row(bent, n_rows=n_rows))
            if not (part.subset and layout.is_prompted):  # within subsets, only string probabilities have bins
                rows["by_bin"] += rows_by_bin(pairs, x, y, replace(place, metric=R))
            counts = choice_counts(x, y)
            for metric, measure in (("kappa_human", cohens_kappa), ("raw_agreement_human", raw_agreement)):
                estimate = measure(x, y, clusters=of)
                rows["choices"].append(replace(place, metric=metric).row(estimate, n_rows=n_rows) | counts)
            if not part.subset:
                if place.corpus not in ceilings:
                    ceiling = ceiling_of(part.choices, spreads)
                    ceilings[place.corpus] = {"corpus": place.corpus} | {x: getattr(ceiling, x) for x in _CEILING}
                rows["corrected"] += _corrected(pairs, place, spreads)
                kept = equal_steps(x.size, MOST_POINTS)
                drawn = pd.DataFrame({"delta": x[kept], "human": y[kept]})
                points.append(drawn.assign(**{name: getattr(place, name) for name in KEYS}))
    if not rows:
        return Result()
    long, robust = long_table(rows["correlation"]), long_table(rows["robust"])
    by_bin = long_table(rows["by_bin"], BIN_COLUMNS)
    whole = wider(where(long, group_by="all"))
    known = whole[whole["value"].notna()]
    of_strings = known[is_reference(known)]
    both = whole.merge(where(robust, group_by="all"), on=[*KEYS], suffixes=("", "_robust"))
    gaps = (both["value_robust"] - both["value"]).abs().dropna().sort_values(ascending=False, kind="stable")
    furthest = both.loc[gaps.index].drop_duplicates("corpus")
    return Result(
        tables={
            "r_with_people": range_table(whole),
            "correlation": long,
            "robust": robust,
            "by_bin": by_bin,
            "choices": long_table(rows["choices"], dict.fromkeys(_COUNTS, "int64")),
            "ceiling": pd.DataFrame(ceilings.values()),
            "corrected": pd.DataFrame(rows["corrected"]),
        },
        main_chart="scatter" if 0 < len(of_strings) <= MOST_PANELS else "",
        charts=(*_correlation_charts(known), *_scatters(of_strings, points), *bin_charts(by_bin, y_label=R_LABEL)),
        values={
            "filters": filters,
            "whole": whole,
            "of_strings": of_strings,
            "of_others": known[~is_reference(known)],
            "has_strings": is_reference(whole).any(),
            "reference": reference_names(whole),
            "furthest": {row["corpus"]: row for row in records(furthest)},
        },
    )


def _rated(table: ScoredTable) -> Iterator[tuple[MethodLayout, ScoredTable, int]]:
    """Yield each method with the pairs that it and people rated, and how many they are with identical sides."""
    judged, human = ~np.isnan(table.human_delta), table.choices.human_delta
    for layout in table.layouts:
        keep = ~np.isnan(table.choices.delta(layout.method) + human)
        if keep.sum() >= LEAST_RATED:
            n_rows = int((judged & ~np.isnan(table.delta(layout.method))).sum())
            yield layout, table.choices.rows(keep), n_rows


def _correlations(pairs: ScoredTable, place: SummaryRow, *, n_rows: int, is_filtered: bool) -> Iterator[dict[str, Any]]:
    x, y, paradigms = pairs.delta(place.method), pairs.human_delta, pairs.paradigms
    current = replace(place, metric="pearson_human")
    yield current.row(pearson(x, y, clusters=paradigms), n_rows=n_rows)
    distance = pairs.numbers(EDIT_DISTANCE)
    known = ~np.isnan(distance)
    if known.sum() < LEAST_RATED or is_filtered:
        return
    limit = largest_distance_kept(distance[known])
    for name, rows in (("at most", known & (distance <= limit)), ("below", known & (distance < limit))):
        group = f"{name} the 75th percentile ({limit:g})"
        group = f"{current.group}: {group}" if current.group else group
        present = replace(current, group_by=EDIT_DISTANCE, group=group)
        yield present.row(pearson(x[rows], y[rows], clusters=paradigms[rows]), n_rows=n_rows)


def _spreads_of(ratings: Sequence[pd.DataFrame | str]) -> pd.DataFrame:
    """Return the spread and number of the individual ratings of each side, by item; empty where there are none."""
    from pairbank.stats.analyses.raters.judgments import ratings_given  # which takes ceilings from here

    if not ratings:
        return pd.DataFrame(columns=[*_SPREADS])
    known = without_constant_raters(ratings_given(ratings))[0]
    sides = [where(known, side=side).groupby("item_id")["value"].agg(["std", "count"]) for side in ("good", "bad")]
    return pd.concat(sides, axis=1).set_axis([*_SPREADS], axis=1)


def _spreads(table: ScoredTable, spreads: pd.DataFrame) -> tuple[FloatArray, ...]:
    """Return deviations and numbers of the ratings of both sides: those of the table, else of individual ratings."""
    own = tuple(table.numbers(name) for name in _SPREADS)
    if not np.isnan(sum(own)).all():
        return own
    return tuple(spreads.reindex(table.item_ids).to_numpy(dtype=np.float64).T)


def _corrected(pairs: ScoredTable, place: SummaryRow, spreads: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield r over the root of the reliability of people's differences, on the pairs whose ratings have a spread."""
    sd_good, n_good, sd_bad, n_bad = _spreads(pairs, spreads)
    noise = sd_good**2 / n_good + sd_bad**2 / n_bad
    known = ~np.isnan(noise) & (np.fmin(n_good, n_bad) > 1)
    if known.sum() >= LEAST_CORRECTED:
        x, y = pairs.delta(place.method)[known], pairs.human_delta[known]
        estimate = disattenuated(x, y, noise[known], clusters=pairs.paradigms[known])
        counts = {name: getattr(estimate, name) for name in ("n", "n_paradigms", "reason")}
        yield {name: getattr(place, name) for name in KEYS} | cells(estimate) | counts


def ceiling_of(table: ScoredTable, spreads: pd.DataFrame | None = None) -> Ceiling:
    """Return the ceiling of r with people, from the spread and number of each side's ratings, or why there is none."""
    delta = table.human_delta
    sd_good, n_good, sd_bad, n_bad = _spreads(table, pd.DataFrame(columns=[*_SPREADS]) if spreads is None else spreads)
    rated = ~np.isnan(delta + sd_good + sd_bad) & (np.fmin(n_good, n_bad) > 1)
    if not rated.any():
        is_choice = {*table.frame.get("human_scale", pd.Series(dtype=str)).dropna()} == {FORCED_CHOICE}
        reason = CHOSEN if is_choice else "the source gives mean ratings without their spread"
        n_rated = int((~np.isnan(delta)).sum())
        return Ceiling(reliability=np.nan, ceiling_r=np.nan, n=n_rated, method=VARIANCES, reason=reason)
    return ceiling_from_spreads(delta[rated], sd_good[rated], n_good[rated], sd_bad[rated], n_bad[rated])


def _correlation_charts(known: pd.DataFrame) -> list[Chart]:
    """Return r with people: intervals for one model, else models x methods for each corpus."""
    if known["model"].nunique() == 1 and known["method"].nunique() <= MOST_SERIES:
        draw = partial(intervals, rows="corpus", series="method", x_label=R_LABEL, limits=(-1, 1), chance=0)
        return charts("r_of_model", known, "metric", draw=draw)

    def heat(rows: pd.DataFrame, *, title: str) -> Drawing:
        matrix = rows.pivot_table(index="model", columns="method", values="value", sort=False)
        return heat_map(first_cells(matrix), title=title, value_label=R_LABEL, limits=(-1, 1))

    return charts("r_of_models", known, "corpus", name=f"{R} {{corpus}}", draw=heat, title="{corpus}")


def _scatters(of_strings: pd.DataFrame, points: Sequence[pd.DataFrame]) -> Iterator[Chart]:
    """Yield a panel per corpus and model, as many figures as they need."""
    several = of_strings["model"].nunique() > 1
    known, parts = {tuple(row[key] for key in KEYS): row for row in records(of_strings)}, []
    for part in points:
        if row := known.get(tuple(part[[*KEYS]].iloc[0])):
            name = f"{row['corpus']}, {row['model']}" if several else row["corpus"]
            parts.append(part.assign(panel=f"{name}\nr = {number(row['value'])}, n = {row['n']:,}"))
    style: dict[str, Any] = {"x": "delta", "y": "human", "panel": "panel", "y_label": "people: good - bad"}
    style |= {"x_label": "log P(good) - log P(bad), nats", "with_n": False}
    for nth, shown in pages(parts, MOST_PANELS):
        name = f"scatter {nth}" if len(shown) < len(parts) else "scatter"
        draw = partial(scatter_panels, pd.concat(shown, ignore_index=True), **style)
        yield Chart(name=name, caption="scatter", draw=draw, values={"n": of_strings["n"]})
