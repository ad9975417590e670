"""Do models prefer what people prefer, and by as much? Scored tables in, a section out.

r of the model's difference with the human difference of each pair: over the corpus, over the pairs that pass the
edit-distance filter, and in ten bins of minimalness (Hu et al. 2026, section 5: predictions 2a and 2b); the same choice
as people (kappa and counts: Ivanova et al. 2024, Figure 2); and the ceiling that rating noise puts on r.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.markdown import html_as_text
from pairbank.stats.analyses.base import DEFAULTS, Context, Section
from pairbank.stats.analyses.by_distance import BIN_COLUMNS, EDIT_DISTANCE, close_pairs, rows_by_bin, wide
from pairbank.stats.estimates.bootstrap import wider
from pairbank.stats.estimates.estimate import HUMAN
from pairbank.stats.figures.charts import (
    MOST_SERIES,
    bin_figures,
    file_name,
    first_cells,
    heat_map,
    intervals,
    n_text,
    pages,
)
from pairbank.stats.figures.scatters import scatter_panels
from pairbank.stats.figures.style import Figure
from pairbank.stats.measures.agreement import cohens_kappa, pearson, percentage_bend, raw_agreement
from pairbank.stats.measures.confusion import choice_counts
from pairbank.stats.measures.distance_bins import distance_filter
from pairbank.stats.measures.human_agreement import VARIANCES, Ceiling, ceiling_from_spreads
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import (
    ScoredTable,
    SummaryRow,
    is_reference,
    long_table,
    read_table,
    reference_names,
)
from pairbank.stats.wording import capitalised, n_items, number, value_range

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray

KEYS = ("model", "corpus", "method")
ROBUST = "percentage_bend_human"
"""Metric: r that outliers do not decide."""


def text(correlations: pd.DataFrame, robust: pd.DataFrame, ceilings: pd.DataFrame, notes: Sequence[str]) -> str:
    """Return the finding, corpus by corpus."""
    parts = [" ".join(notes)] if notes else []
    whole = correlations[correlations["group_by"] == "all"]
    for corpus, part in whole.groupby("corpus", sort=False):
        n_pairs, n_models = sorted(set(part["n"])), part["model"].nunique()
        groups = sorted(part.groupby("method", sort=False), key=lambda group: -np.nan_to_num(group[1]["value"].max()))
        lines = [f"- {_method_text(str(method), rows)}" for method, rows in groups]
        (ceiling,) = ceilings[ceilings["corpus"] == corpus].to_dict("records")
        most = (
            f"r could reach about {number(ceiling['ceiling_r'])} (an estimate)"
            if ceiling["ceiling_r"] > 0
            else ceiling["reason"]
        )
        n_text = f"{n_pairs[0]:,}" if len(n_pairs) == 1 else f"{n_pairs[0]:,} to {n_pairs[-1]:,}"
        plural = "" if n_models == 1 else f", {n_models} models: smallest and largest r"
        head = f"**{html_as_text(str(corpus))}** ({n_text} rated pairs{plural}):"
        parts.append("\n".join([head, *lines, *_robust_text(part, robust), f"- Noise ceiling: {most}."]))
    parts.append(
        "Pairs with identical sides are left out. The table `correlation` repeats r after the edit-distance filter of "
        "Hu et al. 2026 where the items have an edit distance. The table `by_bin` has r in ten bins of minimalness, "
        "`choices` counts who prefers which side."
    )
    return "\n\n".join(parts)


def _robust_text(rows: pd.DataFrame, robust: pd.DataFrame) -> Iterator[str]:
    """Yield how far the robust r is from r at most, and whose they are, where there is one."""
    both = rows.merge(robust[robust["group_by"] == "all"], on=[*KEYS], suffixes=("", "_robust"))
    known = both.dropna(subset=["value", "value_robust"]).to_dict("records")
    if not known:
        return
    most = max(known, key=lambda row: abs(row["value_robust"] - row["value"]))
    where = f"`{most['method']}`" if rows["model"].nunique() == 1 else f"{most['model']}, `{most['method']}`"
    values = f"{number(most['value_robust'])} against {number(most['value'])}"
    yield f"- Robust r (percentage bend) is furthest from r for {html_as_text(where)}: {values}."


def _method_text(method: str, rows: pd.DataFrame) -> str:
    message = html_as_text(value_range(rows, ("model",)))
    if rows["value"].isna().all():
        return f"`{method}`: r is undefined"
    no_interval = " (no interval)" if len(rows) == 1 and rows["low"].isna().all() else ""
    return f"`{method}`: r = {message}{no_interval}"


def answer(whole: pd.DataFrame) -> str:
    """Return r with people by probability and by every other way, the smallest and the largest with whose they are."""
    texts = []
    by_string = is_reference(whole)
    for part, who in (
        (whole[by_string], f"log P ({reference_names(whole)})"),
        (whole[~by_string], "the other methods" if by_string.any() else "all methods"),
    ):
        if part["value"].notna().any():
            n = int(part["value"].notna().sum())
            middle = f"{number(float(part['value'].median()))} (median of {n:,}), " if n > 2 else ""
            texts.append(f"by {who} r = {middle}{value_range(part, KEYS)} ({n_items(part['n'])} rated pairs)")
    if not texts:
        return "The differences of no method vary, so that none correlates with people's."
    first, *others = texts
    more = "".join(f" {capitalised(other)}." for other in others)
    return html_as_text(f"Pearson r of a method's difference (good - bad) with people's: {first}.{more}")


DEFINITIONS = """\
- **pearson_human**: Pearson r of the method's difference (good - bad) with the human difference, jackknife interval at
  level 0.95. The human difference is the mean judgment of the better sentence minus that of the worse one, on the
  corpus's own scale.
- **percentage_bend_human** (table `robust`): the percentage bend correlation (Wilcox 1994), which is robust to
  outliers: values beyond the 80th percentile of distances from the median count as at it. Jackknife over 50 parts.
- **edit-distance filter**: pairs at most at (and, as the paper words it, below) the 75th percentile of the Levenshtein
  distance in characters over the rated pairs (Hu et al. 2026, section 5.1). Their 1,883 LI pairs are all those at most
  at it, rated or not (1,884 with the defects of the source repaired). Where a study has the filter, every number is of
  the rated ones among them, 1,792.
- **bins**: ten equally sized bins by cosine distance (section 4.2) or edit distance; pairs of one distance share a bin.
- **kappa_human**, **raw_agreement_human**: whether the method and people prefer the same side; items on which either
  prefers neither are left out (`n_ties`). Where almost everyone prefers the better side, kappa can be low even if
  agreement is high.
- **ceiling**: the square root of the reliability of the human differences, 1 - mean(sd^2/n of both sides) / variance.
"""


SCATTER = "people_scatter"
MOST_PANELS = 8
MOST_POINTS = 1_500
"""Of a scatter's panel; they are taken at equal steps."""


def points_of(delta: FloatArray, human_delta: FloatArray, place: SummaryRow) -> pd.DataFrame:
    """Return a method's difference and people's of each pair, at most `MOST_POINTS`."""
    kept = np.unique(np.linspace(0, delta.size - 1, min(delta.size, MOST_POINTS)).round().astype(np.int64))
    names = {"model": place.model, "corpus": place.corpus, "method": place.method}
    return pd.DataFrame({**names, "delta": delta[kept], "human": human_delta[kept]})


def main_figure(whole: pd.DataFrame) -> str:
    """Return the name of the main figure: the scatter where its panels are few; empty = the first one."""
    direct = whole[is_reference(whole) & whole["value"].notna()]
    return SCATTER if 0 < len(direct) <= MOST_PANELS else ""


def people_figures(whole: pd.DataFrame, points: Sequence[pd.DataFrame], by_bin: pd.DataFrame) -> Iterator[Figure]:
    """Yield all figures."""
    yield from correlation_figures(whole, section="people", metric="pearson_human", x_label="Pearson r with people")
    yield from _scatters(whole, points)
    yield from bin_figures(by_bin, section="people", y_label="Pearson r with people")


def _scatters(whole: pd.DataFrame, points: Sequence[pd.DataFrame]) -> Iterator[Figure]:
    """Yield a panel a corpus and model, as many figures as they need."""
    direct = whole[is_reference(whole) & whole["value"].notna()].set_index(["corpus", "model"])
    several = direct.index.get_level_values("model").nunique() > 1
    parts = []
    for part in points:
        where = (part["corpus"].iloc[0], part["model"].iloc[0])
        if where in direct.index and part["method"].iloc[0] == direct.loc[where, "method"]:
            r, n = float(direct.loc[where, "value"]), int(direct.loc[where, "n"])
            name = ", ".join(where) if several else where[0]
            parts.append(part.assign(panel=f"{name}\nr = {number(r)}, n = {n:,}"))
    for nth, shown in pages(parts, MOST_PANELS):
        yield Figure(
            name=file_name(SCATTER, *([nth] if len(shown) < len(parts) else [])),
            caption=(
                "Difference of log P against the difference of people's mean ratings, good minus bad, of each pair (Hu "
                f"et al. 2026, Figure 3a; {n_text(direct['n'])}). A panel shows at most {MOST_POINTS:,} pairs, r is of "
                "all; lines mark no difference."
            ),
            draw=partial(
                scatter_panels, pd.concat(shown, ignore_index=True), x="delta", y="human", panel="panel",
                x_label="log P(good) - log P(bad), nats", y_label="people: good - bad", with_n=False,
            ),
        )  # fmt: skip


def correlation_figures(result: pd.DataFrame, *, section: str, metric: str, x_label: str) -> Iterator[Figure]:
    """Yield one figure of the whole corpora: intervals for one model, else models x methods for each corpus."""
    shown = result[(result["metric"] == metric) & (result["group_by"] == "all") & result["value"].notna()]
    if shown.empty:
        return
    if shown["model"].nunique() == 1 and shown["method"].nunique() <= MOST_SERIES:
        yield Figure(
            name=file_name(section, metric),
            caption=f"{x_label} of {shown['model'].iloc[0]} ({n_text(shown['n'])}). Lines are 95% intervals.",
            draw=partial(intervals, shown, rows="corpus", series="method", x_label=x_label, limits=(-1, 1), chance=0),
        )
        return
    for corpus, part in shown.groupby("corpus", sort=False):
        matrix = part.pivot_table(index="model", columns="method", values="value", sort=False)
        yield Figure(
            name=file_name(section, metric, corpus),
            caption=f"{x_label} on {corpus}, by model and method ({n_text(part['n'])}).",
            draw=partial(heat_map, first_cells(matrix), title=str(corpus), value_label=x_label, limits=(-1, 1)),
        )


_LEAST = 3
_SPREADS = ("human_sd_good", "human_n_good", "human_sd_bad", "human_n_bad")


def ceiling_of(table: ScoredTable) -> Ceiling:
    """Return the ceiling of r with people for the rated pairs of a table, or why its data allow none.

    It needs the spread and the number of the ratings of each sentence (columns human_sd_good, human_n_good,
    human_sd_bad, human_n_bad). A source that publishes means only, with or without a number of raters, has none.

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


def section(tables: Sequence[ScoredFrame], _context: Context = DEFAULTS, *, filtered: tuple[str, ...] = ()) -> Section:
    """Return how the methods of each table compare with people."""
    used, notes = close_pairs(tables, filtered)
    points: list[pd.DataFrame] = []
    correlations: list[dict[str, Any]] = []
    robust: list[dict[str, Any]] = []
    binned: list[dict[str, Any]] = []
    choices: list[dict[str, Any]] = []
    ceilings: dict[str, dict[str, Any]] = {}
    for part in (part for table in used for part in read_table(table).parts()):
        for rated in _rated(part):
            place = SummaryRow(method=rated.method, versus=HUMAN, **part.place)
            correlations += _correlations(rated, place, is_filtered=part.corpus in filtered)
            bent = percentage_bend(rated.delta, rated.human_delta, clusters=rated.pairs.paradigms)
            robust.append(replace(place, metric=ROBUST).row(bent, n_rows=rated.n_rows))
            if rated.has_bins(part.subset):
                current = replace(place, metric="pearson_human")
                binned += rows_by_bin(rated.pairs, rated.delta, rated.human_delta, current)
            choices += _same_choice(rated, place)
            if not part.subset:
                ceilings.setdefault(place.corpus, _ceiling_row(part.choices))
                points.append(points_of(rated.delta, rated.human_delta, place))
    if not correlations:
        raise BankError(
            f"none of {sorted({t.corpus for t in tables})} has {_LEAST} scored pairs that people rated on both sides; "
            "compare with people on a corpus that has ratings, such as li, li-adger or dtfit"
        )
    bent_rows = long_table(robust)
    long, by_bin = long_table(correlations), long_table(binned, BIN_COLUMNS)
    most = pd.DataFrame(ceilings.values())
    shown = wider(long)
    whole = shown[shown["group_by"] == "all"]
    return Section(
        id="people",
        title="Agreement with people",
        text=text(shown, bent_rows, most, notes),
        answer=answer(whole),
        main_table="r_with_people",
        main_figure=main_figure(whole),
        definitions=DEFINITIONS,
        tables={
            "r_with_people": wide(whole),
            "correlation": long,
            "robust": bent_rows,
            "by_bin": by_bin,
            "choices": long_table(choices, dict.fromkeys(_COUNTS, "int64")),
            "ceiling": most,
        },
        figures=tuple(people_figures(whole, points, by_bin)),
        references=(
            "Hu et al. 2026, TACL: predictions 2a and 2b, section 5",
            "Ivanova et al. 2024: agreement with human choices, Figure 2",
            "Wilcox 1994, Psychometrika 59:601-616: percentage bend correlation",
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


def _correlations(rated: _Rated, place: SummaryRow, *, is_filtered: bool) -> Iterator[dict[str, Any]]:
    current = replace(place, metric="pearson_human")
    paradigms = rated.pairs.paradigms
    yield current.row(pearson(rated.delta, rated.human_delta, clusters=paradigms), n_rows=rated.n_rows)
    distance = rated.pairs.numbers(EDIT_DISTANCE)
    known = ~np.isnan(distance)
    if known.sum() < _LEAST or is_filtered:
        return
    kept = distance_filter(distance[known])
    x, y, of = rated.delta[known], rated.human_delta[known], paradigms[known]
    for name, rows in (("at most", kept.at_most), ("below", kept.below)):
        group = f"{name} the 75th percentile ({kept.limit:g})"
        present = replace(
            current, group_by=EDIT_DISTANCE, group=f"{current.group}: {group}" if current.group else group
        )
        yield present.row(pearson(x[rows], y[rows], clusters=of[rows]), n_rows=rated.n_rows)


_COUNTS = ("both_good", "only_method_good", "only_people_good", "both_bad", "n_ties")


def _same_choice(rated: _Rated, place: SummaryRow) -> Iterator[dict[str, Any]]:
    counts = choice_counts(rated.delta, rated.human_delta)
    cells = {name: getattr(counts, name) for name in _COUNTS}
    current = replace(place, metric="kappa_human")
    paradigms = rated.pairs.paradigms
    yield current.row(cohens_kappa(rated.delta, rated.human_delta, clusters=paradigms), n_rows=rated.n_rows) | cells
    current = replace(place, metric="raw_agreement_human")
    estimate = raw_agreement(rated.delta, rated.human_delta, clusters=paradigms)
    yield current.row(estimate, n_rows=rated.n_rows) | cells


def _ceiling_row(table: ScoredTable) -> dict[str, Any]:
    result = ceiling_of(table)
    return {
        "corpus": table.corpus,
        "n": result.n,
        "reliability": result.reliability,
        "ceiling_r": result.ceiling_r,
        "method": result.method,
        "reason": result.reason,
    }
