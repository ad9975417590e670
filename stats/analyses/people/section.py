"""Do models prefer what people prefer, and by as much? Scored tables in, a section out.

r of the model's difference with the human difference of each pair: over the corpus, over the pairs that pass the
edit-distance filter, and in ten bins of minimalness (Hu et al. 2026, section 5: predictions 2a and 2b); the same choice
as people (kappa and counts: Ivanova et al. 2024, Figure 2); and the ceiling that rating noise puts on r.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.analyses.base import DEFAULTS, Context, Section
from pairbank.stats.analyses.by_distance import BIN_COLUMNS, rows_by_bin
from pairbank.stats.analyses.close_pairs import EDIT_DISTANCE, close_pairs
from pairbank.stats.analyses.people.figures import main_figure, people_figures, points_of
from pairbank.stats.analyses.people.words import DEFINITIONS, answer, text
from pairbank.stats.analyses.ranges import wide
from pairbank.stats.estimates.metrics import HUMAN
from pairbank.stats.estimates.paradigms import wider
from pairbank.stats.measures.agreement import cohens_kappa, pearson, raw_agreement
from pairbank.stats.measures.confusion import choice_counts
from pairbank.stats.measures.distance_bins import distance_filter
from pairbank.stats.measures.people.noise_ceiling import VARIANCES, Ceiling, ceiling_from_spreads
from pairbank.stats.scored_table.frame import ScoredFrame
from pairbank.stats.scored_table.scored_table import ScoredTable, read_table
from pairbank.stats.scored_table.summary_row import SummaryRow, long_table

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray

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


def section(tables: Sequence[ScoredFrame], _context: Context = DEFAULTS, *, filtered: tuple[str, ...] = ()) -> Section:
    """Return how the methods of each table compare with people.

    Args:
        tables: Scored tables; those without human judgments of both sides are passed over.
        filtered: Corpora of which only pairs of small edit distance are used (`close_pairs`).

    Raises:
        BankError: If no table has three pairs that people rated on both sides, or one to be filtered has no edit
            distances.
    """
    used, notes = close_pairs(tables, filtered)
    points: list[pd.DataFrame] = []
    correlations: list[dict[str, Any]] = []
    binned: list[dict[str, Any]] = []
    choices: list[dict[str, Any]] = []
    ceilings: dict[str, dict[str, Any]] = {}
    for part in (part for table in used for part in read_table(table).parts()):
        for rated in _rated(part):
            place = SummaryRow(method=rated.method, versus=HUMAN, **part.place)
            correlations += _correlations(rated, place, is_filtered=part.corpus in filtered)
            if rated.has_bins(part.subset):
                here = replace(place, metric="pearson_human")
                binned += rows_by_bin(rated.pairs, rated.delta, rated.human_delta, here)
            choices += _same_choice(rated, place)
            if not part.subset:
                ceilings.setdefault(place.corpus, _ceiling_row(part.choices))
                points.append(points_of(rated.delta, rated.human_delta, place))
    if not correlations:
        raise BankError(
            f"none of {sorted({t.corpus for t in tables})} has {_LEAST} scored pairs that people rated on both sides; "
            "compare with people on a corpus that has ratings, such as li, li-adger or dtfit"
        )
    long, by_bin = long_table(correlations), long_table(binned, BIN_COLUMNS)
    most = pd.DataFrame(ceilings.values())
    shown = wider(long)
    whole = shown[shown["group_by"] == "all"]
    return Section(
        id="people",
        title="Agreement with people",
        text=text(shown, most, notes),
        answer=answer(whole),
        main_table="r_with_people",
        main_figure=main_figure(whole),
        definitions=DEFINITIONS,
        tables={
            "r_with_people": wide(whole),
            "correlation": long,
            "by_bin": by_bin,
            "choices": long_table(choices, dict.fromkeys(_COUNTS, "int64")),
            "ceiling": most,
        },
        figures=tuple(people_figures(whole, points, by_bin)),
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


def _correlations(rated: _Rated, place: SummaryRow, *, is_filtered: bool) -> Iterator[dict[str, Any]]:
    here = replace(place, metric="pearson_human")
    paradigms = rated.pairs.paradigms
    yield here.row(pearson(rated.delta, rated.human_delta, clusters=paradigms), n_rows=rated.n_rows)
    distance = rated.pairs.numbers(EDIT_DISTANCE)
    known = ~np.isnan(distance)
    if known.sum() < _LEAST or is_filtered:
        return
    kept = distance_filter(distance[known])
    x, y, of = rated.delta[known], rated.human_delta[known], paradigms[known]
    for name, rows in (("at most", kept.at_most), ("below", kept.below)):
        group = f"{name} the 75th percentile ({kept.limit:g})"
        there = replace(here, group_by=EDIT_DISTANCE, group=f"{here.group}: {group}" if here.group else group)
        yield there.row(pearson(x[rows], y[rows], clusters=of[rows]), n_rows=rated.n_rows)


_COUNTS = ("both_good", "only_method_good", "only_people_good", "both_bad", "n_ties")


def _same_choice(rated: _Rated, place: SummaryRow) -> Iterator[dict[str, Any]]:
    counts = choice_counts(rated.delta, rated.human_delta)
    cells = {name: getattr(counts, name) for name in _COUNTS}
    here = replace(place, metric="kappa_human")
    paradigms = rated.pairs.paradigms
    yield here.row(cohens_kappa(rated.delta, rated.human_delta, clusters=paradigms), n_rows=rated.n_rows) | cells
    here = replace(place, metric="raw_agreement_human")
    estimate = raw_agreement(rated.delta, rated.human_delta, clusters=paradigms)
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
