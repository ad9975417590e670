"""What string probability says about grammaticality: scored tables in, a section out.

Hu et al. 2026, TACL: the two log-probabilities of a pair correlate (prediction 1a) and the less so the less minimal
the pair is (1b, ten bins of cosine distance); their difference follows people's (2); pooled, no linking function tells
grammatical from ungrammatical strings well (3), although the better string of a pair is usually the more probable one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.analyses.base import DEFAULTS, Context, Section
from pairbank.stats.analyses.by_distance import BIN_COLUMNS, rows_by_bin
from pairbank.stats.analyses.close_pairs import close_pairs
from pairbank.stats.analyses.grammaticality.figures import AREAS, points_of, string_figures
from pairbank.stats.analyses.grammaticality.string_pools import ScoredStrings, histogram, scored_strings, together
from pairbank.stats.analyses.grammaticality.words import DEFINITIONS, answer, text
from pairbank.stats.analyses.ranges import wide
from pairbank.stats.estimates.estimate import undefined
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.measures.agreement import pearson
from pairbank.stats.measures.roc import Strings, auc, roc_curve
from pairbank.stats.scored_table.frame import ScoredFrame
from pairbank.stats.scored_table.scored_table import read_table
from pairbank.stats.scored_table.summary_row import SummaryRow, long_table

_LEAST_RATED = 3
_POOL = tuple[str, str, str]
"""Model, language and method of strings that are pooled over corpora."""


@dataclass(slots=True)
class _Found:
    """Rows of the tables, as they are made."""

    correlations: list[dict[str, Any]] = field(default_factory=list)
    people: list[dict[str, Any]] = field(default_factory=list)
    binned: list[dict[str, Any]] = field(default_factory=list)
    separated: list[dict[str, Any]] = field(default_factory=list)
    curves: list[pd.DataFrame] = field(default_factory=list)
    histograms: list[pd.DataFrame] = field(default_factory=list)
    points: list[pd.DataFrame] = field(default_factory=list)
    pools: dict[_POOL, dict[str, Strings]] = field(default_factory=lambda: defaultdict(dict))
    without: dict[tuple[str, str], str] = field(default_factory=dict)
    """Corpus -> why its strings cannot be told apart."""


def section(tables: Sequence[ScoredFrame], _context: Context = DEFAULTS, *, filtered: tuple[str, ...] = ()) -> Section:
    """Return correlations of the two strings of a pair, and how well a threshold separates all strings.

    Args:
        tables: Scored tables; used are those of whole strings, with the methods that put a number on one string
            (`direct` and its linking functions).
        filtered: Corpora of which only pairs of small edit distance are used (`close_pairs`).

    Raises:
        BankError: If no table has scored strings of both classes, or one to be filtered has no edit distances.
    """
    used, notes = close_pairs(tables, filtered)
    found = _Found()
    for part in (part for table in used for part in read_table(table).parts()):
        for scored in scored_strings(part):
            place = SummaryRow(method=scored.method, **part.place)
            _add(found, scored, place)
    if not found.separated:
        raise BankError(
            f"none of {sorted({t.corpus for t in tables})} has whole strings of both classes scored by `direct` or a "
            "linking function; score a corpus of sentence pairs, or of labelled sentences, with `direct`"
        )
    _add_pools(found, SummaryRow(model="", corpus="", group_by="all", group=""))
    return _section(found, notes)


def _section(found: _Found, notes: Sequence[str]) -> Section:
    made = {
        "correlation": long_table(found.correlations),
        "with_people": long_table(found.people),
        "by_bin": long_table(found.binned, BIN_COLUMNS),
        "separability": long_table(found.separated),
        "roc": pd.concat(found.curves, ignore_index=True),
        "distributions": pd.concat(found.histograms, ignore_index=True),
    }
    areas = made["separability"].query("metric == 'auc' and group_by == 'all'")
    return Section(
        id="grammaticality",
        title="Probability and grammaticality",
        text=text(made, notes),
        answer=answer(made, found.without),
        main_table="areas",
        main_figure=AREAS,
        definitions=DEFINITIONS,
        tables={"areas": wide(areas)} | made,
        figures=tuple(string_figures(made, found.points)),
        references=(
            "Hu et al. 2026, TACL: sections 4 to 6",
            "Obuchowski 1997, Biometrics 53:567-578",
            "DeLong, DeLong & Clarke-Pearson 1988, Biometrics 44:837-845",
        ),
    )


def _add(found: _Found, scored: ScoredStrings, place: SummaryRow) -> None:
    """Add what one method says of one corpus, or one of its subsets."""
    is_whole = not place.group
    if scored.good.size:
        sides = replace(place, metric="pearson_sides").row(pearson(scored.good, scored.bad), n_rows=scored.n_rows)
        found.correlations.append(sides)
        found.people += _with_people(scored, place)
        found.binned += rows_by_bin(scored.pairs, scored.good, scored.bad, replace(place, metric="pearson_sides"))
        if is_whole:
            found.points.append(points_of(scored, place))
    if scored.strings.problem:
        if is_whole:
            found.without.setdefault((place.corpus, place.method), scored.strings.problem)
        return
    found.separated += _separation(scored, place)
    found.curves.append(_curve(scored.strings, place))
    if is_whole:
        found.histograms.append(_histogram(scored.strings, place))
        if scored.language:
            found.pools[place.model, scored.language, scored.method][place.corpus] = scored.strings


def _add_pools(found: _Found, anywhere: SummaryRow) -> None:
    """Add what one threshold does on the strings of all corpora of a language together, where there are several."""
    for (model, language, method), parts in found.pools.items():
        if len(parts) < 2:
            continue
        strings = together(list(parts.values()))
        place = replace(anywhere, model=model, corpus=f"{len(parts)} corpora ({language})", method=method)
        found.separated.append(replace(place, metric="auc").row(auc(strings), n_rows=strings.n_items))
        found.curves.append(_curve(strings, place))
        found.histograms.append(_histogram(strings, place))


def _with_people(scored: ScoredStrings, place: SummaryRow) -> Iterator[dict[str, Any]]:
    rated = ~np.isnan(scored.human_delta)
    if rated.sum() >= _LEAST_RATED:
        delta = scored.good[rated] - scored.bad[rated]
        estimate = pearson(delta, scored.human_delta[rated])
        yield replace(place, versus="human", metric="pearson_human").row(estimate, n_rows=int(rated.sum()))


def _separation(scored: ScoredStrings, place: SummaryRow) -> Iterator[dict[str, Any]]:
    here = replace(place, metric="auc")
    yield here.row(auc(scored.strings), n_rows=scored.n_rows)
    here = replace(place, metric="accuracy")
    if scored.good.size:
        estimate = accuracy(scored.good - scored.bad)
    else:
        estimate = undefined("single labelled sentences make no pairs", n=0, method="none")
    yield here.row(estimate, n_rows=scored.n_rows)


def _curve(strings: Strings, place: SummaryRow) -> pd.DataFrame:
    curve = roc_curve(strings)
    return pd.DataFrame(
        {
            "model": place.model,
            "corpus": place.corpus,
            "subset": place.group,
            "method": place.method,
            "false_positive_rate": curve.false_positive_rate,
            "true_positive_rate": curve.true_positive_rate,
        }
    )


def _histogram(strings: Strings, place: SummaryRow) -> pd.DataFrame:
    return histogram(strings, {"model": place.model, "corpus": place.corpus, "method": place.method})
