"""Do models prefer what people prefer, and by as much? Scored tables in, a section out.

r of the model's difference with the human difference of each pair: over the corpus, over the pairs that pass the
edit-distance filter, and in ten bins of minimalness (Hu et al. 2026, section 5: predictions 2a and 2b); the same choice
as people (kappa and counts: Ivanova et al. 2024, Figure 2); and the ceiling that rating noise puts on r.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.analyses.base import Section
from pairbank.stats.estimates.metrics import HUMAN
from pairbank.stats.figures.charts import heat_map, intervals
from pairbank.stats.figures.figure import Figure
from pairbank.stats.figures.shared import MOST_SERIES, bin_figures, file_name, first_cells, n_said
from pairbank.stats.measures.agreement import cohens_kappa, pearson, raw_agreement
from pairbank.stats.measures.confusion import choice_counts
from pairbank.stats.measures.distance_bins import correlation_by_bin, distance_filter
from pairbank.stats.measures.noise_ceiling import VARIANCES, Ceiling, ceiling_from_spreads
from pairbank.stats.scored_table.frame import ScoredFrame
from pairbank.stats.scored_table.scored_table import ScoredTable, read_table
from pairbank.stats.scored_table.summary_row import SummaryRow, long_table

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray

DISTANCES = ("cosine_distance", "edit_distance")
EDIT_DISTANCE = "edit_distance"
BIN_COLUMNS = {"subset": "string", "bin": "int64", "bin_low": "float64", "bin_high": "float64", "bin_median": "float64"}
_LEAST = 3
_SPREADS = ("human_sd_good", "human_n_good", "human_sd_bad", "human_n_bad")


def ceiling_of(table: ScoredTable) -> Ceiling:
    """Return the ceiling of r with people for the rated pairs of a table, or why its data allow none.

    It needs the spread and the number of the ratings of each sentence (columns human_sd_good, human_n_good,
    human_sd_bad, human_n_bad). A source that publishes means only, with or without a number of raters, has none.

    Args:
        table: Rows that are a choice.

    >>> frame = pd.DataFrame({"item_id": list("abc"), "human_good": [1.0, 2.0, 4.0], "human_bad": 0.0, "human_n": 12})
    >>> ceiling_of(read_table(ScoredFrame(corpus="toy", model="m", frame=frame, layouts=()))).reason
    'the source gives mean ratings only; a ceiling needs their spread or single ratings'
    """
    delta = table.human_delta
    sd_good, n_good, sd_bad, n_bad = (table.numbers(name) for name in _SPREADS)
    rated = ~np.isnan(delta + sd_good + n_good + sd_bad + n_bad)
    if not rated.any():
        reason = "the source gives mean ratings only; a ceiling needs their spread or single ratings"
        n_rated = int((~np.isnan(delta)).sum())
        return Ceiling(reliability=np.nan, ceiling_r=np.nan, n=n_rated, method=VARIANCES, reason=reason)
    return ceiling_from_spreads(delta[rated], sd_good[rated], n_good[rated], sd_bad[rated], n_bad[rated])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rated:
    """The pairs of one table that people rated, with one method's differences."""

    method: str
    delta: FloatArray
    human_delta: FloatArray
    pairs: ScoredTable
    n_rows: int
    """Rated pairs that the method applies to, identical sides included."""
    is_prompted: bool

    def has_bins(self, subset: str) -> bool:
        """Whether the method is followed through the bins: within subsets, only string probabilities are."""
        return not (subset and self.is_prompted)


def section(tables: Sequence[ScoredFrame], *, seed: int, n_resamples: int) -> Section:
    """Return how the methods of each table compare with people.

    Args:
        tables: Scored tables; those without human judgments of both sides are passed over.
        seed: Not used: nothing is drawn.
        n_resamples: Not used either.

    Raises:
        BankError: If no table has three pairs that people rated on both sides.
    """
    correlations: list[dict[str, Any]] = []
    binned: list[dict[str, Any]] = []
    choices: list[dict[str, Any]] = []
    ceilings: dict[str, dict[str, Any]] = {}
    for part in (part for table in tables for part in read_table(table).parts()):
        for rated in _rated(part):
            place = SummaryRow(method=rated.method, versus=HUMAN, **part.place, seed=seed, n_resamples=n_resamples)
            correlations += _correlations(rated, place)
            binned += _by_bins(rated, place) if rated.has_bins(part.subset) else []
            choices += _same_choice(rated, place)
            if not part.subset:
                ceilings.setdefault(place.corpus, _ceiling_row(part.choices))
    if not correlations:
        raise BankError(
            f"none of {sorted({t.corpus for t in tables})} has {_LEAST} scored pairs that people rated on both sides; "
            "compare with people on a corpus that has ratings, such as li, li-adger or dtfit"
        )
    long, by_bin = long_table(correlations), long_table(binned, BIN_COLUMNS)
    return Section(
        id="people",
        title="Agreement with people",
        text=_text(long, pd.DataFrame(ceilings.values())),
        definitions=DEFINITIONS,
        tables={
            "correlation": long,
            "by_bin": by_bin,
            "choices": long_table(choices, dict.fromkeys(_COUNTS, "int64")),
            "ceiling": pd.DataFrame(ceilings.values()),
        },
        figures=(
            *correlation_figures(long, section="people", metric="pearson_human", x_label="Pearson r with people"),
            *bin_figures(by_bin, section="people", y_label="Pearson r with people"),
        ),
        references=(
            "Hu et al. 2026, TACL: predictions 2a and 2b, section 5",
            "Ivanova et al. 2024: agreement with human choices, Figure 2",
            "Spearman 1904, American Journal of Psychology 15:72-101: attenuation",
        ),
    )


def _rated(table: ScoredTable) -> Iterator[_Rated]:
    judged, human = ~np.isnan(table.human_delta), table.choices.human_delta
    for layout in table.layouts:
        delta = table.choices.delta(layout.method)
        keep = ~np.isnan(delta + human)
        if keep.sum() < _LEAST:
            continue
        yield _Rated(
            method=layout.method,
            delta=delta[keep],
            human_delta=human[keep],
            pairs=table.choices.rows(keep),
            is_prompted=layout.is_prompted,
            n_rows=int((judged & ~np.isnan(table.delta(layout.method))).sum()),
        )


def _correlations(rated: _Rated, place: SummaryRow) -> Iterator[dict[str, Any]]:
    here = replace(place, metric="pearson_human")
    yield here.row(pearson(rated.delta, rated.human_delta), n_rows=rated.n_rows)
    distance = rated.pairs.numbers(EDIT_DISTANCE)
    known = ~np.isnan(distance)
    if known.sum() < _LEAST:
        return
    kept = distance_filter(distance[known])
    x, y = rated.delta[known], rated.human_delta[known]
    for name, rows in (("at most", kept.at_most), ("below", kept.below)):
        group = f"{name} the 75th percentile ({kept.limit:g})"
        there = replace(here, group_by=EDIT_DISTANCE, group=f"{here.group}: {group}" if here.group else group)
        yield there.row(pearson(x[rows], y[rows]), n_rows=rated.n_rows)


def _by_bins(rated: _Rated, place: SummaryRow) -> Iterator[dict[str, Any]]:
    for column in DISTANCES:
        distance = rated.pairs.numbers(column)
        known = ~np.isnan(distance)
        for found in correlation_by_bin(rated.delta[known], rated.human_delta[known], distance[known]):
            b = found.bin
            here = replace(place, group_by=column, group=f"bin {b.number}", metric="pearson_human")
            yield here.row(found.estimate, n_rows=b.rows.size) | b.cells | {"subset": place.group}


_COUNTS = ("both_good", "only_method_good", "only_people_good", "both_bad", "n_ties")


def _same_choice(rated: _Rated, place: SummaryRow) -> Iterator[dict[str, Any]]:
    counts = choice_counts(rated.delta, rated.human_delta)
    cells = {name: getattr(counts, name) for name in _COUNTS}
    here = replace(place, metric="kappa_human")
    yield here.row(cohens_kappa(rated.delta, rated.human_delta), n_rows=rated.n_rows) | cells
    here = replace(place, metric="raw_agreement_human")
    estimate = raw_agreement(rated.delta, rated.human_delta)
    yield here.row(estimate, n_rows=rated.n_rows) | cells


def _ceiling_row(table: ScoredTable) -> dict[str, Any]:
    found = ceiling_of(table)
    return {
        "corpus": table.corpus,
        "n": found.n,
        "reliability": found.reliability,
        "ceiling_r": found.ceiling_r,
        "method": found.method,
        "reason": found.reason,
    }


def _text(correlations: pd.DataFrame, ceilings: pd.DataFrame) -> str:
    """Return the finding, corpus by corpus."""
    parts = []
    whole = correlations[correlations["group_by"] == "all"]
    for corpus, part in whole.groupby("corpus", sort=False):
        means = part.groupby("method", sort=False)["value"].agg(["mean", "min", "max", "count"])
        means = means.sort_values("mean", ascending=False, kind="stable")
        n_pairs, n_models = sorted(set(part["n"])), part["model"].nunique()
        said = "; ".join(_method_said(row, part) for row in means.reset_index().to_dict("records"))
        (ceiling,) = ceilings[ceilings["corpus"] == corpus].to_dict("records")
        most = (
            f"r could reach about {ceiling['ceiling_r']:.2f} (an estimate)"
            if ceiling["ceiling_r"] > 0
            else ceiling["reason"]
        )
        n_said = f"{n_pairs[0]:,}" if len(n_pairs) == 1 else f"{n_pairs[0]:,} to {n_pairs[-1]:,}"
        plural = "" if n_models == 1 else f", mean of r over {n_models} models with its range"
        parts.append(f"**{corpus}** ({n_said} rated pairs{plural}): {said}. Noise ceiling: {most}.")
    parts.append(
        "Pairs with identical sides are left out. The table `correlation` repeats r after the edit-distance filter of "
        "Hu et al. 2026 where the items have an edit distance, `by_bin` within ten bins of minimalness, `choices` "
        "counts who prefers which side."
    )
    return "\n\n".join(parts)


def _method_said(row: Mapping[Any, Any], part: pd.DataFrame) -> str:
    method = row["method"]
    if row["count"] == 0:
        return f"`{method}` undefined"
    if row["count"] > 1:
        return f"`{method}` r = {row['mean']:.2f} ({row['min']:.2f} to {row['max']:.2f})"
    cell = part[(part["method"] == method) & part["value"].notna()].iloc[0]
    if pd.isna(cell["low"]):
        return f"`{method}` r = {cell['value']:.2f} (no interval)"
    return f"`{method}` r = {cell['value']:.2f} [{cell['low']:.2f}, {cell['high']:.2f}]"


DEFINITIONS = """\
- **pearson_human**: Pearson r of the method's difference (good - bad) with the human difference (mean judgment of the
  better sentence - of the worse one, on the corpus's own scale), jackknife interval at level .95.
- **edit-distance filter**: pairs at most at (and, as the paper words it, below) the 75th percentile of the Levenshtein
  distance in characters over the rated pairs (Hu et al. 2026, section 5.1; their 1,883 LI pairs follow from "at most").
- **bins**: ten equally sized bins by cosine distance (section 4.2) or edit distance; pairs of one distance share a bin.
- **kappa_human**, **raw_agreement_human**: whether the method and people prefer the same side; items on which either
  prefers neither are left out (`n_ties`). A corpus whose better side almost everyone prefers leaves kappa little room.
- **ceiling**: the square root of the reliability of the human differences, 1 - mean(sd^2/n of both sides) / variance.
"""


def correlation_figures(found: pd.DataFrame, *, section: str, metric: str, x_label: str) -> Iterator[Figure]:
    """Yield one figure of the whole corpora: intervals for one model, else models x methods for each corpus.

    Args:
        found: Long table with the columns of the summary.
        section: Prefix of the file names.
        metric: Which numbers to draw.
        x_label: What they are.
    """
    shown = found[(found["metric"] == metric) & (found["group_by"] == "all") & found["value"].notna()]
    if shown.empty:
        return
    if shown["model"].nunique() == 1 and shown["method"].nunique() <= MOST_SERIES:
        yield Figure(
            name=file_name(section, metric),
            caption=f"{x_label} of {shown['model'].iloc[0]} ({n_said(shown['n'])}). Lines are 95 % intervals.",
            draw=partial(intervals, shown, rows="corpus", series="method", x_label=x_label, limits=(-1, 1)),
        )
        return
    for corpus, part in shown.groupby("corpus", sort=False):
        matrix = part.pivot_table(index="model", columns="method", values="value", sort=False)
        yield Figure(
            name=file_name(section, metric, corpus),
            caption=f"{x_label} on {corpus}, by model and method ({n_said(part['n'])}).",
            draw=partial(heat_map, first_cells(matrix), title=str(corpus), value_label=x_label, limits=(-1, 1)),
        )
