"""Ivanova et al. 2024: does a model choose the context that people choose, when it chooses, rates and reads?

CHOICE are forced-choice prompts, LIKERT rating prompts, LOGPROBS log P(target | context). People have a CHOICE where
the corpus has the share of them that chose the right context, and a LIKERT where it has their mean ratings.
"""

from __future__ import annotations

import itertools
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.arrays import FloatArray
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Result, Rows, analysis, charts, records, where, wide
from pairbank.stats.estimates.bootstrap import wider
from pairbank.stats.estimates.estimate import HUMAN
from pairbank.stats.estimates.shares import is_tie, signs
from pairbank.stats.figures.charts import intervals, write_cells
from pairbank.stats.figures.style import INK, SEQUENTIAL, drawing, label, styled
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.measures.confusion import agreement_share, confusion, confusion_kappa, takes_second
from pairbank.stats.measures.paired_tests import paired_difference
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import ScoredTable, SummaryRow, long_table, read_table
from pairbank.stats.wording import whole, with_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

TASK = "context_pair"
CHOICE, LIKERT, LOGPROBS = MEASURES = ("CHOICE", "LIKERT", "LOGPROBS")
BOTH = f"{CHOICE}-{LIKERT}"
DESIGN = "design"
ARGMAX, EXPECTED = "argmax", "expected"
HUMAN_CHOICE = "human_choice"
"""Column of the items: the share of people who chose the right context, 0 to 1; null where nobody was asked."""
TIES_FIRST, DIFFERENCE = "accuracy_ties_first", "difference"
COUNTS = ("first_first", "first_second", "second_first", "second_second")
"""Of a confusion matrix: reference, method."""
_COMPARED = dict.fromkeys(("measure", "reading", "told_by"), "string") | {"in_paper": "bool", "n_ties": "int64"}
DIFFERENCE_COLUMNS = _COMPARED | {"minus": "string"}
COLUMNS = _COMPARED | dict.fromkeys(COUNTS, "int64")
"""Beside those of the summary: what is measured and read how, what tells the reference, whether it is the one method of
its kind that figures and first tables show, ties, and the confusion counts."""
MOST_COLUMNS = 6
"""Models side by side in a figure; more go on below."""
SHORT_NAME = 15
TIED = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": INK, "linewidth": 0.5}
"""Round the words on a matrix that says nothing of a preference."""


@analysis(
    title="Choosing, rating and log-probabilities",
    needs=f"none of {{corpora}} has scored items of the task {TASK}; score ewok, or your own pairs of contexts with "
    "one target",
)
def choice_likert(tables: Sequence[ScoredFrame], _context: Context) -> Result:
    """Return accuracy against people and design, and consistency between the measures."""
    rows: dict[str, Rows] = defaultdict(list)
    rated: dict[str, ScoredTable] = {}
    for read in map(read_table, tables):
        pairs = read.rows(read.has_value("task", TASK))
        if of_model := list(measures(pairs.choices)):
            rated.setdefault(pairs.corpus, pairs)
            _add_rows(rows, of_model, pairs, SummaryRow(**pairs.place))
    for pairs in rated.values():
        place = SummaryRow(**pairs.place | {"model": HUMAN})
        _add_rows(rows, list(human_measures(pairs.choices)), pairs, place)
    if not rows["accuracy"]:
        return Result()
    accuracies, consistency = (long_table(rows[name], COLUMNS) for name in ("accuracy", "consistency"))
    differences = long_table(rows["differences"], DIFFERENCE_COLUMNS)
    right, same = shown_rows(accuracies, TIES_FIRST), shown_rows(consistency, "consistency")
    corpus = right["corpus"].iloc[0]
    chosen = partial(charts, draw=intervals, rows="model", series="measure", limits=(0, 1), title="{corpus}")
    return Result(
        tables={
            "choices": first_table(right, same),
            "accuracy": accuracies,
            "consistency": consistency,
            "differences": differences,
        },
        main_chart=f"confusion {corpus}" if accuracies["model"].nunique() <= MOST_COLUMNS else corpus,
        charts=(
            *charts("confusions", right, "corpus", name="confusion {corpus}", draw=confusion_panels),
            *chosen("accuracies", right, "corpus", x_label="same choice as {whom}", chance=0.5),
            *chosen("consistencies", same, "corpus", name="consistency {corpus}", x_label="same choice"),
        ),
        values={
            "corpus": corpus,
            "right": where(right, corpus=corpus),
            "same": where(same, corpus=corpus, measure=BOTH),
            "closer": wider(where(shown_rows(differences, DIFFERENCE), corpus=corpus)),
            "tied": right[(right["n_ties"] == right["n"]) & (right["n"] > 0)],
            "accuracies_of_models": where(accuracies[accuracies["model"] != HUMAN], metric="accuracy"),
            "whom": whom,
            "consistency_of_models": where(consistency[consistency["model"] != HUMAN], metric="consistency"),
        },
    )


def shown_rows(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the rows of one metric that figures and the first table show: against people, else design."""
    rows = table[table["in_paper"] & (table["metric"] == metric)]
    rated = set(rows.loc[rows["versus"] == HUMAN, "corpus"])
    by_design = rows["versus"] == DESIGN
    shown = rows[~by_design | ~rows["corpus"].isin(rated)].reset_index(drop=True)
    return shown.assign(whom=[whom(told_by) for told_by in shown["told_by"]])


def whom(told_by: str) -> str:
    return "the items' design" if told_by == DESIGN else f"people ({told_by})"


def first_table(right: pd.DataFrame, same: pd.DataFrame) -> pd.DataFrame:
    """Return one row per model and corpus: its three accuracies (the paper's Table 1), and CHOICE-LIKERT (Table 2)."""
    shown = pd.concat([right, same[same["measure"] == BOTH]], ignore_index=True)
    shown["largest_n"] = shown.groupby(["corpus", "model"])["n"].transform("max")

    def cell(row: dict[str, Any]) -> str:
        own_n = "" if row["n"] == row["largest_n"] else f" (n = {row['n']:,})"
        ties = f", {'all' if row['n_ties'] == row['n'] else row['n_ties']} tie" if row["n_ties"] else ""
        return f"{with_interval(row)}{own_n}{ties}"

    table = wide(shown, rows=("model", "corpus"), columns="measure", cell=cell, always=(*MEASURES, BOTH))
    return table if table["corpus"].nunique() > 1 else table.drop(columns="corpus")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measure:
    """One preference between the two contexts of each item."""

    method: str
    """A method, `human` or `design`."""
    measure: str
    """CHOICE, LIKERT, LOGPROBS or `design`."""
    reading: str = ""
    """Of LIKERT `expected` (mean rating) or `argmax` (the most probable one); of people the measure; else empty."""
    good_minus_bad: FloatArray
    """Preference for the right context, shape (rows,); NaN where there is none."""

    @property
    def name(self) -> str:
        """Method, and reading where there are two."""
        return f"{self.method} ({self.reading})" if self.reading else self.method


def measures(pairs: ScoredTable) -> Iterator[Measure]:
    """Yield the preferences of each method that chooses, rates or scores; a rating in both its readings."""
    for layout in pairs.layouts:
        delta = pairs.delta(layout.method)
        if np.isnan(delta).all():
            continue
        if layout.kind == "rating":
            yield Measure(method=layout.method, measure=LIKERT, reading=EXPECTED, good_minus_bad=delta)
            likeliest = pairs.argmax(layout.method)
            gap = likeliest[:, 0] - likeliest[:, 1]
            if not np.isnan(gap).all():
                yield Measure(method=layout.method, measure=LIKERT, reading=ARGMAX, good_minus_bad=gap)
        elif layout.kind == "forced_choice":
            yield Measure(method=layout.method, measure=CHOICE, good_minus_bad=delta)
        elif not layout.is_prompted:
            yield Measure(method=layout.method, measure=LOGPROBS, good_minus_bad=delta)


def human_measures(pairs: ScoredTable) -> Iterator[Measure]:
    """Yield people's preferences: what they chose, and what they rated higher, as far as the corpus has them."""
    for measure, preference in ((CHOICE, pairs.numbers(HUMAN_CHOICE) - 0.5), (LIKERT, pairs.human_delta)):
        if not np.isnan(preference).all():
            yield Measure(method=HUMAN, measure=measure, reading=measure, good_minus_bad=preference)


def references(pairs: ScoredTable) -> Iterator[Measure]:
    """Yield what choices are compared with: the items' design, and people (their CHOICE, else LIKERT) without ties."""
    yield Measure(method=DESIGN, measure=DESIGN, good_minus_bad=np.ones(len(pairs.frame)))
    for people in itertools.islice(human_measures(pairs), 1):
        yield replace(people, good_minus_bad=np.where(is_tie(people.good_minus_bad), np.nan, people.good_minus_bad))


def of_the_paper(found: Sequence[Measure]) -> list[Measure]:
    """Return one measure of each kind, the first one of the table; a rating as it would be written (`argmax`).

    >>> a = Measure(method="r", measure=LIKERT, reading=EXPECTED, good_minus_bad=np.zeros(1))
    >>> b = Measure(method="r", measure=LIKERT, reading=ARGMAX, good_minus_bad=np.zeros(1))
    >>> of_the_paper([a, b])[0].reading
    'argmax'
    """
    chosen = []
    for kind in MEASURES:
        of_kind = [measure for measure in found if measure.measure == kind]
        of_method = [measure for measure in of_kind if measure.method == of_kind[0].method]
        chosen += sorted(of_method, key=lambda measure: measure.reading != ARGMAX)[:1]
    return chosen


def _add_rows(rows: dict[str, Rows], of_model: Sequence[Measure], pairs: ScoredTable, place: SummaryRow) -> None:
    """Add the choices of each measure beside those of people and of the design, and beside those of other measures."""
    shown, told_by = of_the_paper(of_model), list(references(pairs.choices))
    for measure, reference in itertools.product(of_model, told_by):
        if measure.method != HUMAN or measure.measure != reference.measure:  # people are not beside themselves
            named = {"measure": measure.measure, "reading": measure.reading, "told_by": reference.measure}
            current = replace(place, method=measure.name, versus=reference.method)
            rows["accuracy"] += _alike(reference, measure, pairs, current, named | {"in_paper": measure in shown})
    for a, b in itertools.combinations(of_model, 2):
        if a.method != b.method or a.method == HUMAN:
            named = {"measure": f"{a.measure}-{b.measure}", "reading": "", "told_by": ""}
            current = replace(place, method=a.name, versus=b.name)
            rows["consistency"] += _alike(a, b, pairs, current, named | {"in_paper": a in shown and b in shown})
    for a, b in itertools.product(of_model, of_model):
        if a.measure == LOGPROBS and b.measure != LOGPROBS:
            in_paper = {"in_paper": a in shown and b in shown}
            rows["differences"] += [row | in_paper for x in told_by for row in _difference(a, b, x, pairs, place)]


def _sides(pairs: ScoredTable) -> FloatArray:
    """Return 1 where the right context is the item's second one, -1 where it is the first or the items do not say."""
    return np.where(pairs.is_first_context == 0, 1.0, -1.0)


def _alike(
    a: Measure, b: Measure, pairs: ScoredTable, place: SummaryRow, named: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield how often two measures choose the same context, and kappa; beside a reference accuracy, ties one half."""
    kept = ~np.isnan(a.good_minus_bad + b.good_minus_bad)
    if not kept.any():
        return
    x, y, side = a.good_minus_bad[kept], b.good_minus_bad[kept], _sides(pairs.choices)[kept]
    table = confusion(takes_second(x * side), takes_second(y * side))
    estimates = {"consistency": agreement_share(table), "kappa": confusion_kappa(table)}
    if named["told_by"]:
        estimates = {"accuracy": accuracy(y * signs(x)), TIES_FIRST: estimates["consistency"]} | estimates
        del estimates["consistency"]
    cells = named | {"n_ties": int(np.sum(is_tie(x) | is_tie(y)))} | dict(zip(COUNTS, table, strict=True))
    for metric, estimate in estimates.items():
        yield replace(place, metric=metric).row(estimate, n_rows=len(pairs.frame)) | cells


def _difference(
    a: Measure, b: Measure, reference: Measure, pairs: ScoredTable, place: SummaryRow
) -> Iterator[dict[str, Any]]:
    """Yield how much more often a measure chooses as a reference does than another does."""
    kept = ~np.isnan(a.good_minus_bad + b.good_minus_bad + reference.good_minus_bad)
    if not kept.any():
        return
    side = _sides(pairs.choices)[kept]
    second, x, y = (takes_second(measure.good_minus_bad[kept] * side) for measure in (reference, a, b))
    gain = (x == second).astype(np.float64) - (y == second)
    current = replace(place, method=a.name, versus=reference.method, metric=DIFFERENCE)
    estimate = paired_difference(gain, clusters=pairs.choices.paradigms[kept])
    yield current.row(estimate, n_rows=len(pairs.frame)) | {
        "measure": f"{a.measure}-{b.measure}",
        "reading": b.reading,
        "told_by": reference.measure,
        "n_ties": int(np.sum(is_tie(b.good_minus_bad[kept]))),
        "minus": b.name,
    }


def confusion_panels(rows: pd.DataFrame) -> Drawing:
    """Draw a matrix of counts a model (columns) and measure (rows), as the paper's Figure 2."""
    models = list(dict.fromkeys(rows["model"]))
    kinds = [kind for kind in MEASURES if kind in set(rows["measure"])]
    n_columns = min(MOST_COLUMNS, len(models))
    n_blocks = -(-len(models) // MOST_COLUMNS)
    with styled():
        figure = drawing(0.9 + 1.05 * max(2, n_columns), 0.3 + n_blocks * (0.3 + 0.98 * len(kinds)))
        for nth, model in enumerate(models):
            block, column = divmod(nth, MOST_COLUMNS)
            name = "\n".join(textwrap.wrap(label(str(model).rsplit("/", 1)[-1]), SHORT_NAME))
            for row, kind in enumerate(kinds):
                place = (block * len(kinds) + row) * n_columns + column + 1
                axes = figure.add_subplot(n_blocks * len(kinds), n_columns, place)
                _matrix(axes, records(where(rows, model=model, measure=kind)))
                if row == 0:
                    axes.set_title(name, fontsize=7.5, fontweight="normal", loc="center")
                if column == 0:
                    axes.set_ylabel(kind, fontsize=8)
    return figure


def _matrix(axes: Axes, confusions: Rows) -> None:
    """Draw one matrix of counts; nothing where the model has not this measure."""
    axes.set_xticks([0, 1], ["C1", "C2"], fontsize=6.5)
    axes.set_yticks([0, 1], ["C1", "C2"], fontsize=6.5)
    axes.tick_params(length=0, pad=1)
    if not confusions:
        axes.tick_params(labelbottom=False, labelleft=False)
        axes.spines[:].set_visible(False)
        return
    counts = np.array([confusions[0][name] for name in COUNTS], dtype=np.float64).reshape(2, 2)
    image = axes.imshow(counts, cmap=SEQUENTIAL, vmin=0, vmax=max(1, counts.sum() * 0.6), aspect="auto")
    write_cells(axes, counts, np.asarray(image.to_rgba(counts)), size=8, text=whole)
    if confusions[0]["n_ties"] == counts.sum():
        axes.text(0.5, 0.5, "all tie", ha="center", va="center", fontsize=7, color=INK, bbox=TIED)
