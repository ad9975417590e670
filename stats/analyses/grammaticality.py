"""What string probability says about grammaticality: scored tables in, a section out.

Hu et al. 2026, TACL: the two log-probabilities of a pair correlate (prediction 1a) and the less so the less minimal
the pair is (1b, ten bins of cosine distance); pooled, no linking function tells grammatical from ungrammatical
strings well (prediction 3), although the better string of a pair is usually the more probable one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.scoring.api.names import DIRECT
from pairbank.stats.analyses.base import Section
from pairbank.stats.analyses.human_correlation import BIN_COLUMNS, DISTANCES
from pairbank.stats.estimates.estimate import undefined
from pairbank.stats.figures.charts import roc_curves
from pairbank.stats.figures.figure import Figure
from pairbank.stats.figures.shared import MOST_SERIES, bin_figures, file_name, place_said
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.measures.agreement import pearson
from pairbank.stats.measures.distance_bins import correlation_by_bin
from pairbank.stats.measures.roc import Strings, auc, labelled_strings, pooled_pairs, roc_curve
from pairbank.stats.scored_table.frame import ScoredFrame
from pairbank.stats.scored_table.scored_table import ScoredTable, read_table
from pairbank.stats.scored_table.summary_row import SummaryRow, long_table

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray

STRING_TASKS = ("sentence_pair", "sentence")
"""Tasks whose scores are of whole strings; a continuation given its context is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scored:
    """The strings of one table with one linking function."""

    method: str
    good: FloatArray
    """Scores of the pairs' good strings; empty for a corpus of single labelled sentences."""
    bad: FloatArray
    strings: Strings
    """All strings, paired or not."""
    pairs: ScoredTable
    """The pairs' rows."""
    n_rows: int
    """Rows the function applies to, identical sides included."""


def section(tables: Sequence[ScoredFrame], *, seed: int, n_resamples: int) -> Section:
    """Return correlations of the two strings of a pair, and how well a threshold separates all strings.

    Args:
        tables: Scored tables; used are those of whole strings, with the methods that put a number on one string
            (`direct` and its linking functions).
        seed: Not used: nothing is drawn.
        n_resamples: Not used either.

    Raises:
        BankError: If no table has scored strings of both classes.
    """
    correlations: list[dict[str, Any]] = []
    binned: list[dict[str, Any]] = []
    separated: list[dict[str, Any]] = []
    curves: list[pd.DataFrame] = []
    for part in (part for table in tables for part in read_table(table).parts()):
        for scored in _scored(part):
            place = SummaryRow(method=scored.method, **part.place, seed=seed, n_resamples=n_resamples)
            if scored.good.size:
                correlations.append(_correlation(scored, place))
                binned += _by_bins(scored, place)
            separated += _separation(scored, place)
            curves.append(_curve(scored, place))
    if not separated:
        raise BankError(
            f"none of {sorted({t.corpus for t in tables})} has whole strings of both classes scored by `direct` or a "
            "linking function; score a corpus of sentence pairs, or of labelled sentences, with `direct`"
        )
    found = {
        "correlation": long_table(correlations),
        "by_bin": long_table(binned, BIN_COLUMNS),
        "separability": long_table(separated),
        "roc": pd.concat(curves, ignore_index=True),
    }
    return Section(
        id="grammaticality",
        title="Probability and grammaticality",
        text=_text(found["correlation"], found["separability"]),
        definitions=DEFINITIONS,
        tables=found,
        figures=(
            *bin_figures(found["by_bin"], section="grammaticality", y_label="Pearson r of the two sides"),
            *roc_figures(found["roc"], found["separability"]),
        ),
        references=(
            "Hu et al. 2026, TACL: sections 4 and 6",
            "Obuchowski 1997, Biometrics 53:567-578",
            "DeLong, DeLong & Clarke-Pearson 1988, Biometrics 44:837-845",
        ),
    )


def _scored(table: ScoredTable) -> Iterator[_Scored]:
    kept = table.rows(table.has_value("task", *STRING_TASKS))
    used = kept.choices
    labels = used.numbers("label")
    for layout in table.layouts:
        if layout.is_prompted:
            continue
        good, bad = used.side(layout.method, "good"), used.side(layout.method, "bad")
        paired, single = ~np.isnan(good + bad), ~np.isnan(good + labels) & np.isnan(bad)
        if paired.any():
            strings = pooled_pairs(good[paired], bad[paired])
        else:
            strings = labelled_strings(good[single], labels[single])
        if strings.problem:
            continue
        yield _Scored(
            method=layout.method,
            good=good[paired],
            bad=bad[paired],
            strings=strings,
            pairs=used.rows(paired),
            n_rows=int((~np.isnan(kept.side(layout.method, "good"))).sum()),
        )


def _correlation(scored: _Scored, place: SummaryRow) -> dict[str, Any]:
    return replace(place, metric="pearson_sides").row(pearson(scored.good, scored.bad), n_rows=scored.n_rows)


def _by_bins(scored: _Scored, place: SummaryRow) -> Iterator[dict[str, Any]]:
    for column in DISTANCES:
        distance = scored.pairs.numbers(column)
        known = ~np.isnan(distance)
        for found in correlation_by_bin(scored.good[known], scored.bad[known], distance[known]):
            b = found.bin
            here = replace(place, group_by=column, group=f"bin {b.number}", metric="pearson_sides")
            yield here.row(found.estimate, n_rows=b.rows.size) | b.cells | {"subset": place.group}


def _separation(scored: _Scored, place: SummaryRow) -> Iterator[dict[str, Any]]:
    here = replace(place, metric="auc")
    yield here.row(auc(scored.strings), n_rows=scored.n_rows)
    here = replace(place, metric="accuracy")
    if scored.good.size:
        estimate = accuracy(scored.good - scored.bad)
    else:
        estimate = undefined("single labelled sentences make no pairs", n=0, method="none")
    yield here.row(estimate, n_rows=scored.n_rows)


def _curve(scored: _Scored, place: SummaryRow) -> pd.DataFrame:
    curve = roc_curve(scored.strings)
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


def _text(correlations: pd.DataFrame, separated: pd.DataFrame) -> str:
    """Return the findings, corpus by corpus; numbers of several models are means with their range."""
    parts = []
    for corpus, part in separated[separated["group_by"] == "all"].groupby("corpus", sort=False):
        area, right = part[part["metric"] == "auc"], part[part["metric"] == "accuracy"]
        means = area.groupby("method", sort=False)["value"].mean().sort_values(ascending=False, kind="stable")
        best = str(means.index[0])
        said = [f"**{corpus}** ({_count(area['n'])} items, {_count_models(part)})."]
        whole = (correlations["corpus"] == corpus) & (correlations["group_by"] == "all")
        mine = correlations[whole & (correlations["method"] == DIRECT)]
        if mine["value"].notna().any():
            said.append(f"log P of the two strings of a pair correlate at r = {_mean(mine['value'])}.")
        others = _others(area, best)
        better = f" (highest of {len(others) + 1}; {'; '.join(others)})" if others else ""
        said.append(
            f"Pooled, the AUC of grammatical against ungrammatical strings by `{best}` is "
            f"{_area_said(area[area['method'] == best])}{better}, where .50 is chance."
        )
        in_pairs = right.loc[right["method"] == best, "value"]
        if in_pairs.notna().any():
            said.append(f"Within pairs the same score is right in {_mean(in_pairs)}.")
        parts.append(" ".join(said))
    parts.append(
        "Pairs with identical sides are left out. AUC intervals count items (both strings of a pair together); "
        "`by_bin` has r within ten bins of minimalness where the items have a distance, `roc` the curves."
    )
    return "\n\n".join(parts)


def _others(area: pd.DataFrame, best: str) -> list[str]:
    names = [name for name in area["method"].unique() if name != best]
    return [f"`{name}` {_mean(area.loc[area['method'] == name, 'value'])}" for name in names]


def _area_said(rows: pd.DataFrame) -> str:
    known = rows[rows["low"].notna()]
    if len(rows) > 1 or known.empty:
        return _mean(rows["value"])
    return f"{_mean(known['value'])} [{known['low'].iloc[0]:.2f}, {known['high'].iloc[0]:.2f}]"


def _mean(values: pd.Series[float]) -> str:
    known = values.dropna()
    if known.empty:
        return "undefined"
    one = f"{known.mean():.2f}"
    return one if len(known) == 1 else f"{one} ({known.min():.2f} to {known.max():.2f})"


def _count(values: pd.Series[int]) -> str:
    return f"{values.min():,}" if values.nunique() == 1 else f"{values.min():,} to {values.max():,}"


def _count_models(part: pd.DataFrame) -> str:
    n_models = part["model"].nunique()
    return "one model" if n_models == 1 else f"{n_models} models: mean, with its range"


DEFINITIONS = """\
- **pearson_sides**: Pearson r of the score of the good string with that of the bad string over pairs, jackknife
  interval (prediction 1a); in ten equally sized bins by the distance of the two strings in `by_bin` (1b).
- **auc**: all strings of the corpus are pooled, grammatical = 1, ungrammatical = 0: the share of all combinations of
  one of each in which the grammatical string scores higher, ties one half (section 6.3). Obuchowski's
  interval on the logit scale, for which both strings of a pair stay together.
- **accuracy**: share of pairs whose good string scores higher, ties one half; there is none for single sentences.
- Scores: `direct` is the summed log-probability (nats); the other methods are linking functions of it. Only tasks
  whose targets are whole strings are used.
"""


def roc_figures(roc: pd.DataFrame, separability: pd.DataFrame) -> Iterator[Figure]:
    """Yield the ROC curves: by method for one model, else by model for `direct`, for each corpus.

    Args:
        roc: Points: model, corpus, subset, method, false_positive_rate, true_positive_rate.
        separability: Long table with the areas (metric `auc`).
    """
    keys = ["corpus", "group", "model", "method"]
    areas = separability[separability["metric"] == "auc"].set_index(keys)["value"].to_dict()
    for (corpus, subset), part in roc.groupby(["corpus", "subset"], sort=False):
        several = part["model"].nunique() > 1
        first = DIRECT if DIRECT in set(part["method"]) else part["method"].iloc[0]
        mine = part[part["method"] == first] if several else part
        found: dict[str, tuple[FloatArray, FloatArray]] = {}
        for (model, method), points in mine.groupby(["model", "method"], sort=False):
            if len(found) < MOST_SERIES:
                name = f"{model if several else method}: {areas[corpus, subset, model, method]:.2f}"
                found[name] = (points["false_positive_rate"].to_numpy(), points["true_positive_rate"].to_numpy())
        where = place_said(corpus, subset)
        who = f"the {len(found)} models' `{first}`" if several else f"each score of {part['model'].iloc[0]}"
        yield Figure(
            name=file_name("grammaticality_roc", where),
            caption=(
                f"Separating grammatical from ungrammatical strings of {where} by one threshold on "
                f"{who}; the area under each curve stands in the legend, .50 is chance."
            ),
            draw=partial(roc_curves, found, title=where),
        )
