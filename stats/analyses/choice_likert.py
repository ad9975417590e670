"""CHOICE, LIKERT and LOGPROBS on the same items: scored tables of context pairs in, a section out.

Ivanova et al. 2024: does a model choose the context that people choose, and does it choose alike when it must choose,
when it rates, and when its log-probabilities are compared? CHOICE are forced-choice prompts, LIKERT rating prompts,
LOGPROBS log P(target | context).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.analyses.base import Section
from pairbank.stats.estimates.metrics import HUMAN
from pairbank.stats.estimates.ties import is_tie, signs
from pairbank.stats.figures.charts import heat_map, intervals
from pairbank.stats.figures.figure import Figure
from pairbank.stats.figures.shared import MOST_SERIES, file_name, first_cells, n_said
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.measures.confusion import Confusion, agreement_share, confusion, confusion_kappa, takes_second
from pairbank.stats.scored_table.frame import ScoredFrame
from pairbank.stats.scored_table.scored_table import ScoredTable, read_table
from pairbank.stats.scored_table.summary_row import SummaryRow, long_table

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray

TASK = "context_pair"
CHOICE, LIKERT, LOGPROBS = "CHOICE", "LIKERT", "LOGPROBS"
DESIGN = "design"
ARGMAX = "argmax"
CELLS = ("first_first", "first_second", "second_first", "second_second")
EXTRA = {"measure": "string", "reading": "string", "n_ties": "int64", **dict.fromkeys(CELLS, "int64")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One method's preference between the two contexts of each item."""

    method: str
    measure: str
    """CHOICE, LIKERT or LOGPROBS."""
    reading: str
    """For LIKERT `expected` (mean rating) or `argmax` (the most probable rating); else empty."""
    good_minus_bad: FloatArray
    """Preference for the right context, shape (rows,); NaN where the method does not apply."""

    @property
    def name(self) -> str:
        """Method, and reading where there are two."""
        return f"{self.method} ({self.reading})" if self.reading else self.method


def section(tables: Sequence[ScoredFrame], *, seed: int, n_resamples: int) -> Section:
    """Return accuracy against people and design, and consistency between the measures.

    Args:
        tables: Scored tables; used are their items of the task `context_pair`.
        seed: Not used: nothing is drawn.
        n_resamples: Not used either.

    Raises:
        BankError: If no table has scored context pairs.
    """
    against: list[dict[str, Any]] = []
    between: list[dict[str, Any]] = []
    for table in tables:
        read = read_table(table)
        pairs = read.rows(read.has_value("task", TASK))
        place = SummaryRow(**pairs.place, seed=seed, n_resamples=n_resamples)
        found = list(measures(pairs.choices))
        for item in found:
            against += _against(item, pairs, place)
        for a, b in itertools.combinations(found, 2):
            if a.method != b.method:
                between += _between(a, b, pairs, place)
    if not against:
        raise BankError(
            f"none of {sorted({t.corpus for t in tables})} has scored items of the task {TASK}; score ewok, or "
            "your own pairs of contexts with one target"
        )
    accuracies, consistency = long_table(against, EXTRA), long_table(between, EXTRA)
    return Section(
        id="choice_likert",
        title="Choosing, rating and log-probabilities",
        text=_text(accuracies, consistency),
        definitions=DEFINITIONS,
        tables={"accuracy": accuracies, "consistency": consistency},
        figures=tuple(agreement_figures(accuracies, consistency)),
        references=("Ivanova et al. 2024: Tables 1 and 2, Figure 2",),
    )


def measures(pairs: ScoredTable) -> Iterator[Measure]:
    """Yield the preferences of each method that chooses, rates or scores; a rating in both its readings.

    Args:
        pairs: Rows of a scored table. A rating method m has the columns m_argmax_good and m_argmax_bad beside its
            expected ratings.
    """
    for layout in pairs.layouts:
        delta = pairs.delta(layout.method)
        if np.isnan(delta).all():
            continue
        if layout.kind == "rating":
            yield Measure(method=layout.method, measure=LIKERT, reading="expected", good_minus_bad=delta)
            likeliest = pairs.argmax(layout.method)
            gap = likeliest[:, 0] - likeliest[:, 1]
            if not np.isnan(gap).all():
                yield Measure(method=layout.method, measure=LIKERT, reading=ARGMAX, good_minus_bad=gap)
        elif layout.kind == "forced_choice":
            yield Measure(method=layout.method, measure=CHOICE, reading="", good_minus_bad=delta)
        elif not layout.is_prompted:
            yield Measure(method=layout.method, measure=LOGPROBS, reading="", good_minus_bad=delta)


def _sides(pairs: ScoredTable) -> FloatArray:
    """Return 1 where the right context is the item's second one, -1 where it is the first or the items do not say."""
    return np.where(pairs.is_first_context == 0, 1.0, -1.0)


def _against(item: Measure, pairs: ScoredTable, place: SummaryRow) -> Iterator[dict[str, Any]]:
    sides, human = _sides(pairs.choices), pairs.choices.human_delta
    for versus, reference in ((DESIGN, np.ones(len(human))), (HUMAN, human)):
        kept = ~np.isnan(item.good_minus_bad + reference) & ~is_tie(reference)
        if not kept.any():
            continue
        delta, sign, side = item.good_minus_bad[kept], signs(reference[kept]), sides[kept]
        table = confusion(sign * side > 0, takes_second(delta * side))
        cells = _cells(table) | {"measure": item.measure, "reading": item.reading, "n_ties": int(np.sum(is_tie(delta)))}
        here = replace(place, method=item.name, versus=versus)
        n_rows = kept.size + pairs.n_identical
        half = replace(here, metric="accuracy")
        yield half.row(accuracy(delta * sign), n_rows=n_rows) | cells
        first = replace(here, metric="accuracy_ties_first")
        yield first.row(agreement_share(table), n_rows=n_rows) | cells
        yield replace(here, metric="kappa").row(confusion_kappa(table), n_rows=n_rows) | cells


def _between(a: Measure, b: Measure, pairs: ScoredTable, place: SummaryRow) -> Iterator[dict[str, Any]]:
    kept = ~np.isnan(a.good_minus_bad + b.good_minus_bad)
    if not kept.any():
        return
    side = _sides(pairs.choices)[kept]
    x, y = a.good_minus_bad[kept], b.good_minus_bad[kept]
    table = confusion(takes_second(x * side), takes_second(y * side))
    cells = _cells(table) | {
        "measure": f"{a.measure}-{b.measure}",
        "reading": "",
        "n_ties": int(np.sum(is_tie(x) | is_tie(y))),
    }
    here = replace(place, method=a.name, versus=b.name, metric="consistency")
    n_rows = kept.size + pairs.n_identical
    yield here.row(agreement_share(table), n_rows=n_rows) | cells
    yield replace(here, metric="kappa").row(confusion_kappa(table), n_rows=n_rows) | cells


def _cells(table: Confusion) -> dict[str, int]:
    return dict(zip(CELLS, table.cells, strict=True))


def _text(accuracies: pd.DataFrame, consistency: pd.DataFrame) -> str:
    parts = []
    for (corpus, versus), part in accuracies[accuracies["metric"] == "accuracy"].groupby(
        ["corpus", "versus"], sort=False
    ):
        said = [_said(row) for row in _over_models(part, ["measure", "method"])]
        whom = "people" if versus == HUMAN else "the items' design"
        parts.append(f"**{corpus}**, share of choices that agree with {whom}: {'; '.join(said)}.")
    same = consistency[consistency["metric"] == "consistency"]
    for corpus in same["corpus"].unique():
        part = same[same["corpus"] == corpus]
        said = [_said(row) for row in _over_models(part, ["measure", "method", "versus"])]
        parts.append(f"**{corpus}**, same choice by two measures: {'; '.join(said)}.")
    parts.append(
        "`accuracy` credits ties one half, `accuracy_ties_first` gives them to the first context as the paper does."
    )
    return "\n\n".join(parts)


def _over_models(part: pd.DataFrame, keys: list[str]) -> Sequence[Mapping[Any, Any]]:
    groups = part.groupby(keys, sort=False)["value"].agg(["mean", "min", "max", "count"])
    return groups.reset_index().to_dict("records")


def _said(row: Mapping[Any, Any]) -> str:
    other = f" and `{row['versus']}`" if "versus" in row else ""
    spread = f" ({row['min']:.2f} to {row['max']:.2f} over {row['count']} models)" if row["count"] > 1 else ""
    return f"{row['measure']} (`{row['method']}`{other}) {row['mean']:.2f}{spread}"


DEFINITIONS = """\
- An item is one target with two contexts; **CHOICE** asks which context fits, **LIKERT** rates context and target from
  1 to 5, **LOGPROBS** is log P(target | context). Ratings and log-probabilities choose the context that scores higher.
  A rating is read as the expected rating and as the most probable one (`argmax`), which is what a model would write.
- **accuracy**: share of items on which the method chooses what people choose (`human`: the context with the higher mean
  human rating; items people tie on are left out) or the right context (`design`), ties one half.
  **accuracy_ties_first**: the same with ties given to the first context, as in the published analysis.
- **consistency**: share of items on which two measures choose the same context, ties to the first.
- **kappa**: Cohen's kappa of the confusion counts beside it (reference, method); undefined where
  either always chooses the same. First and second are the item's contexts in its own numbering; where items have none,
  "first" is the better one.
"""


def agreement_figures(accuracies: pd.DataFrame, consistency: pd.DataFrame) -> Iterator[Figure]:
    """Yield accuracies against each reference, and how often two measures choose alike.

    Args:
        accuracies: Long table of `choice_likert`, metric `accuracy`.
        consistency: Long table of `choice_likert`, metric `consistency`.
    """
    right = accuracies[(accuracies["metric"] == "accuracy") & accuracies["value"].notna()]
    for (corpus, versus), part in right.groupby(["corpus", "versus"], sort=False):
        shown = part[part["model"].isin(list(dict.fromkeys(part["model"]))[:MOST_SERIES])]
        whom = "people" if versus == HUMAN else "the items' design"
        look: dict[str, Any] = {"x_label": f"same choice as {whom}", "chance": 0.5, "limits": (0, 1)}
        yield Figure(
            name=file_name("choice_likert", corpus, versus),
            caption=(
                f"Share of items of {corpus!s} on which a method chooses as {whom} ({n_said(part['n'])}), ties "
                "one half. Lines are 95 % intervals (Wilson)."
            ),
            draw=partial(intervals, shown, rows="method", series="model", title=str(corpus), **look),
        )
    same = consistency[(consistency["metric"] == "consistency") & consistency["value"].notna()]
    for corpus in dict.fromkeys(map(str, same["corpus"])):
        part = same[same["corpus"] == corpus]
        turned = part.assign(method=part["versus"], versus=part["method"])
        matrix = pd.concat([part, turned]).pivot_table(index="method", columns="versus", values="value", sort=True)
        over = "" if part["model"].nunique() == 1 else f", mean over {part['model'].nunique()} models"
        yield Figure(
            name=file_name("choice_likert_consistency", corpus),
            caption=f"Share of items of {corpus} on which two methods choose the same context{over}.",
            draw=partial(heat_map, first_cells(matrix), value_label="same choice", limits=(0, 1), diverging=False),
        )
