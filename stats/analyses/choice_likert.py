"""CHOICE, LIKERT and LOGPROBS on the same items: scored tables of context pairs in, a section out.

Ivanova et al. 2024: does a model choose the context that people choose, and does it choose alike when it must choose,
when it rates, and when its log-probabilities are compared? People are a measure like the others, where the corpus has
what they chose or rated.

CHOICE are forced-choice prompts, LIKERT rating prompts, LOGPROBS log P(target | context). People have a CHOICE where
the corpus has the share of them that chose the right context, and a LIKERT where it has their mean ratings.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.markdown import html_as_text
from pairbank.stats.analyses.base import DEFAULTS, Context, Section
from pairbank.stats.estimates.bootstrap import wider
from pairbank.stats.estimates.estimate import HUMAN
from pairbank.stats.estimates.shares import is_tie, signs
from pairbank.stats.figures.charts import file_name, intervals, n_text
from pairbank.stats.figures.style import INK, SEQUENTIAL, Figure, drawing, label, styled
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.measures.confusion import Confusion, agreement_share, confusion, confusion_kappa, takes_second
from pairbank.stats.measures.paired_tests import paired_difference
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import ScoredTable, SummaryRow, long_table, read_table
from pairbank.stats.wording import median_and_span, number, shared_value, with_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from pairbank.arrays import FloatArray

CHOICE, LIKERT, LOGPROBS = MEASURES = ("CHOICE", "LIKERT", "LOGPROBS")
DESIGN = "design"
ARGMAX, EXPECTED = "argmax", "expected"
HUMAN_CHOICE = "human_choice"
"""Column of the items: the share of people who chose the right context, 0 to 1; null where nobody was asked."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measure:
    """One preference between the two contexts of each item."""

    method: str
    """A method, or `human`."""
    measure: str
    """CHOICE, LIKERT or LOGPROBS."""
    reading: str
    """Of LIKERT `expected` (mean rating) or `argmax` (the most probable one); of people the measure; else empty."""
    good_minus_bad: FloatArray
    """Preference for the right context, shape (rows,); NaN where there is none."""

    @property
    def name(self) -> str:
        """Method, and reading where there are two."""
        return f"{self.method} ({self.reading})" if self.reading else self.method


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What choices are compared with."""

    versus: str
    """`human` or `design`."""
    told_by: str
    """CHOICE or LIKERT of people, or `design`."""
    good_minus_bad: FloatArray
    """Above 0 where it is the right context, shape (rows,)."""


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
            yield Measure(method=layout.method, measure=CHOICE, reading="", good_minus_bad=delta)
        elif not layout.is_prompted:
            yield Measure(method=layout.method, measure=LOGPROBS, reading="", good_minus_bad=delta)


def human_measures(pairs: ScoredTable) -> Iterator[Measure]:
    """Yield people's preferences: what they chose, and what they rated higher, as far as the corpus has them."""
    for measure, preference in ((CHOICE, pairs.numbers(HUMAN_CHOICE) - 0.5), (LIKERT, pairs.human_delta)):
        if not np.isnan(preference).all():
            yield Measure(method=HUMAN, measure=measure, reading=measure, good_minus_bad=preference)


def references(pairs: ScoredTable) -> Iterator[Reference]:
    """Yield what choices are compared with: the items' design, and people (their CHOICE, else LIKERT)."""
    yield Reference(versus=DESIGN, told_by=DESIGN, good_minus_bad=np.ones(len(pairs.frame)))
    for people in human_measures(pairs):
        yield Reference(versus=HUMAN, told_by=people.measure, good_minus_bad=people.good_minus_bad)
        return


def of_the_paper(result: Sequence[Measure]) -> dict[str, Measure]:
    """Return one measure of each kind, the first one of the table; a rating as it would be written (`argmax`).

    >>> a = Measure(method="r", measure=LIKERT, reading=EXPECTED, good_minus_bad=np.zeros(1))
    >>> b = Measure(method="r", measure=LIKERT, reading=ARGMAX, good_minus_bad=np.zeros(1))
    >>> of_the_paper([a, b])["LIKERT"].reading
    'argmax'
    """
    chosen: dict[str, Measure] = {}
    for kind in MEASURES:
        own_values = [member for member in result if member.measure == kind]
        first = [value for value in own_values if value.method == own_values[0].method]
        if own_values:
            chosen[kind] = next((entry for entry in first if entry.reading == ARGMAX), first[0])
    return chosen


BOTH = f"{CHOICE}-{LIKERT}"
TIES_FIRST, DIFFERENCE = "accuracy_ties_first", "difference"
MOST_NAMED = 3

DEFINITIONS = """\
- An item is one target with two contexts; **CHOICE** asks which context fits, **LIKERT** rates context and target from
  1 to 5, **LOGPROBS** is log P(target | context). Ratings and log-probabilities choose the context that scores higher.
  A rating is read as the expected rating and as the most probable one (`argmax`), which is what a model would write.
- **people** (`told_by`): what people chose (CHOICE: the context that more than half of them chose) where the corpus
  has it, as in the paper; else the context with the higher mean rating (LIKERT). Items people tie on are left out.
- **accuracy**: share of items on which the method chooses what people choose (`human`) or the right context
  (`design`), ties one half. **accuracy_ties_first**: the same with ties given to the first context, as in the
  published analysis; the first page has it.
- **differences**: share that a method chooses as people do (or rightly) minus that of another on the same items, ties
  to the first context.
- **consistency**: share of items on which two measures choose the same context, ties to the first. Two measures that
  tie on every item are the same by that rule alone.
- **kappa**: Cohen's kappa of the confusion counts beside it (reference, method); undefined where
  either always chooses the same. First and second are the item's contexts in its own numbering; where items have none,
  "first" is the better one.
- `in_paper`: the first method of each kind, ratings by `argmax`: what first table and figures show.
"""


def shown_rows(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the rows of one metric that figures and the first table show: against people, else design."""
    rows = table[table["in_paper"] & (table["metric"] == metric)]
    rated = set(rows.loc[rows["versus"] == HUMAN, "corpus"])
    by_design = rows["versus"] == DESIGN
    return rows[~by_design | ~rows["corpus"].isin(rated)].reset_index(drop=True)


def first_table(accuracies: pd.DataFrame, consistency: pd.DataFrame) -> pd.DataFrame:
    """Return a line a model and corpus: its three accuracies (the paper's Table 1), and CHOICE-LIKERT (Table 2)."""
    right, same = shown_rows(accuracies, TIES_FIRST), shown_rows(consistency, "consistency")
    rows = []
    for (corpus, model), part in _by_model(pd.concat([right, same], ignore_index=True)):
        row: dict[str, Any] = {"model": model, "corpus": corpus, "n": int(part["n"].max())}
        row |= {kind: _cell(part[part["measure"] == kind], n=row["n"]) for kind in (*MEASURES, BOTH)}
        rows.append(row)
    table = pd.DataFrame(rows, columns=["model", "corpus", "n", *MEASURES, BOTH])
    return table if table["corpus"].nunique() > 1 else table.drop(columns="corpus")


def _by_model(rows: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    for key, part in rows.groupby(["corpus", "model"], sort=False):
        corpus, model = key
        yield (str(corpus), str(model)), part


def _cell(rows: pd.DataFrame, *, n: int) -> str:
    """Return a share with its ties, and with its own n where that is not the row's."""
    if rows.empty:
        return ""
    row = rows.iloc[0]
    own_n = "" if row["n"] == n else f" (n = {row['n']:,})"
    ties = f", {'all' if row['n_ties'] == row['n'] else row['n_ties']} tie" if row["n_ties"] else ""
    return f"{with_interval(row)}{own_n}{ties}"


def answer(accuracies: pd.DataFrame, consistency: pd.DataFrame, differences: pd.DataFrame) -> str:
    """Return the answer: agreement with people by each measure, which is closer, and choosing beside rating."""
    right, same = shown_rows(accuracies, TIES_FIRST), shown_rows(consistency, "consistency")
    corpus = right["corpus"].iloc[0]
    right, same = right[right["corpus"] == corpus], same[same["corpus"] == corpus]
    told_by = right.loc[right["model"] != HUMAN, "told_by"].iloc[0]
    whom = "the right context" if told_by == DESIGN else f"what people prefer ({told_by})"
    kinds = [(kind, right[(right["measure"] == kind) & (right["model"] != HUMAN)]) for kind in reversed(MEASURES)]
    texts = [f"{kind} {_values(part)}" for kind, part in kinds if len(part)]
    n, width = int(right["n"].max()), float((right["high"] - right["low"]).max() / 2)
    precision = f"Chance is 0.50 (n = {n:,}, 95% intervals at most ±{number(width)})."
    sentences = [f"On {corpus}, models choose {whom} in these shares: {'; '.join(texts)}.", precision]
    both = same[same["measure"] == BOTH]
    models, people = both[both["model"] != HUMAN], both[both["model"] == HUMAN]
    paragraphs = [" ".join(sentences), *_closer_text(shown_rows(differences, DIFFERENCE), corpus)]
    if len(models):
        human = f"; people do in {number(people['value'].iloc[0])}" if len(people) else ""
        paragraphs.append(f"Choosing and rating give the same context in {_values(models)}{human}.")
    paragraphs[-1] = " ".join([paragraphs[-1], *ties_text(accuracies[accuracies["corpus"] == corpus])])
    return html_as_text("\n\n".join(paragraphs))


def _closer_text(differences: pd.DataFrame, corpus: str) -> Iterator[str]:
    """Yield how much more often log-probabilities choose as people do than each prompt does (the paper's claim 1)."""
    texts = []
    for kind in (CHOICE, LIKERT):
        rows = differences["measure"] == f"{LOGPROBS}-{kind}"
        part = wider(differences[rows & (differences["corpus"] == corpus)])
        n_models, part = len(part), part[part["n_ties"] < part["n"]]
        left_out = f" ({n_models - len(part)} of {n_models} models left out, all ties)" if n_models > len(part) else ""
        if n_models and part.empty:
            texts.append(f"- {LOGPROBS} minus {kind}: not compared, because every {kind} comparison is a tie")
        elif len(part) == 1:
            texts.append(f"- {LOGPROBS} minus {kind}: {with_interval(part.iloc[0], sign=True)}{left_out}")
        elif len(part):
            n_above, n_below = int((part["low"] > 0).sum()), int((part["high"] < 0).sum())
            middle = median_and_span(part["value"], noun="models", sign=True)
            ends = f"interval above 0 in {n_above}, below 0 in {n_below}"
            texts.append(f"- {LOGPROBS} minus {kind}: {middle}, {ends}{left_out}")
    if texts:
        yield "\n".join(["Log-probabilities beside each prompt, on the same items:", *texts])


def _values(part: pd.DataFrame) -> str:
    """Return one number with its interval, or the smallest and largest with their models."""
    ordered = part.sort_values("value", kind="stable")
    first, last = ordered.iloc[0], ordered.iloc[-1]
    if len(ordered) == 1:
        return f"{with_interval(first)} ({first['model']})"
    if (same := shared_value(ordered["value"])) is not None:
        return same
    return f"{number(first['value'])} ({first['model']}) to {number(last['value'])} ({last['model']})"


def ties_text(accuracies: pd.DataFrame) -> list[str]:
    """Return a sentence on models whose numbers are ties and nothing else; none where there are none."""
    rows = shown_rows(accuracies, TIES_FIRST)
    tied = rows[(rows["n_ties"] == rows["n"]) & (rows["n"] > 0)]
    texts = []
    for kind, part in tied.groupby("measure", sort=False):
        names = list(dict.fromkeys(part["model"]))
        who = ", ".join(names[:MOST_NAMED]) + (
            f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        )
        texts.append(
            f"All {int(part['n'].max()):,} {kind} comparisons of {who} are ties, given to the first context: "
            "there the share says how often the first context is right or chosen, and nothing of a preference."
        )
    return texts


CONFUSION, ACCURACIES = "choice_likert_confusion", "choice_likert"
MATRIX = (("first_first", "first_second"), ("second_first", "second_second"))
MOST_COLUMNS = 6
"""Models side by side; more go on below."""
SHORT_NAME = 15
TIED = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": INK, "linewidth": 0.5}
"""Round the words on a matrix that says nothing of a preference."""


def agreement_figures(accuracies: pd.DataFrame, consistency: pd.DataFrame) -> Iterator[Figure]:
    """Yield confusion matrices, accuracies, and how often two measures choose alike."""
    right = shown_rows(accuracies, TIES_FIRST)
    for corpus, part in right.groupby("corpus", sort=False):
        whom = _whom(part)
        first = "Ties are given to the first context, as in the paper."
        yield Figure(
            name=file_name(CONFUSION, corpus),
            caption=(
                f"{corpus}: choices of the first context (C1) or the second (C2), rows by {whom}, columns by each "
                f"model and measure ({n_text(part['n'])}). {first}"
            ),
            draw=partial(confusion_panels, part),
        )
        yield Figure(
            name=file_name(ACCURACIES, corpus),
            caption=(
                f"Share of items of {corpus!s} on which each model's measure chooses as {whom} "
                f"({n_text(part['n'])}). Lines are 95% intervals (Wilson). {first}"
            ),
            draw=partial(_of_models, part, x_label=f"same choice as {whom}", title=str(corpus), chance=0.5),
        )
    same = shown_rows(consistency, "consistency")
    for corpus, part in same.groupby("corpus", sort=False):
        yield Figure(
            name=file_name("choice_likert_consistency", corpus),
            caption=(
                f"Share of items of {corpus} on which two measures of a model choose the same context "
                f"({n_text(part['n'])}). Lines are 95% intervals (Wilson)."
            ),
            draw=partial(_of_models, part, x_label="same choice", title=str(corpus)),
        )


def _whom(part: pd.DataFrame) -> str:
    (told_by,) = set(part["told_by"])
    return "the items' design" if told_by == DESIGN else f"people ({told_by})"


def _of_models(part: pd.DataFrame, **style: Any) -> Drawing:  # noqa: ANN401 - of `intervals`
    return intervals(part, rows="model", series="measure", limits=(0, 1), **style)


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
            for row, kind in enumerate(kinds):
                place = (block * len(kinds) + row) * n_columns + column + 1
                axes = figure.add_subplot(n_blocks * len(kinds), n_columns, place)
                own_values = rows[(rows["model"] == model) & (rows["measure"] == kind)]
                _matrix(axes, own_values)
                if row == 0:
                    axes.set_title(_short(str(model)), fontsize=7.5, fontweight="normal", loc="center")
                if column == 0:
                    axes.set_ylabel(kind, fontsize=8)
    return figure


def _short(name: str) -> str:
    """Return a model's name without its organisation, in lines of at most `SHORT_NAME` letters."""
    return "\n".join(textwrap.wrap(label(name.rsplit("/", 1)[-1]), SHORT_NAME))


def _matrix(axes: Axes, own: pd.DataFrame) -> None:
    """Draw one matrix of counts; nothing where the model has not this measure."""
    axes.set_xticks([0, 1], ["C1", "C2"], fontsize=6.5)
    axes.set_yticks([0, 1], ["C1", "C2"], fontsize=6.5)
    axes.tick_params(length=0, pad=1)
    if own.empty:
        axes.tick_params(labelbottom=False, labelleft=False)
        axes.spines[:].set_visible(False)
        return
    counts = np.array([[int(own.iloc[0][name]) for name in line] for line in MATRIX])
    image = axes.imshow(counts, cmap=SEQUENTIAL, vmin=0, vmax=max(1, counts.sum() * 0.6), aspect="auto")
    for (row, column), count in np.ndenumerate(counts):
        red, green, blue, _ = image.to_rgba(count)
        dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
        axes.text(column, row, f"{count:,}", ha="center", va="center", fontsize=8, color="white" if dark else INK)
    if own.iloc[0]["n_ties"] == counts.sum():
        axes.text(0.5, 0.5, "all tie", ha="center", va="center", fontsize=7, color=INK, bbox=TIED)


TASK = "context_pair"
CELLS = ("first_first", "first_second", "second_first", "second_second")
EXTRA = {
    "measure": "string",
    "reading": "string",
    "told_by": "string",
    "in_paper": "bool",
    "n_ties": "int64",
    **dict.fromkeys(CELLS, "int64"),
}
"""Columns beside those of the summary: what is measured and read how, what tells the reference, whether it is the one
method of its kind that figures and first tables show, ties, and the confusion counts (reference, method)."""

APART = {name: EXTRA[name] for name in ("measure", "reading", "told_by", "in_paper", "n_ties")} | {"minus": "string"}
"""The same of differences: `method` minus `minus`, whose ties are counted."""


def section(tables: Sequence[ScoredFrame], _context: Context = DEFAULTS) -> Section:
    """Return accuracy against people and design, and consistency between the measures."""
    against: list[dict[str, Any]] = []
    between: list[dict[str, Any]] = []
    apart: list[dict[str, Any]] = []
    people: dict[str, tuple[ScoredTable, SummaryRow]] = {}
    for table in tables:
        read = read_table(table)
        pairs = read.rows(read.has_value("task", TASK))
        place = SummaryRow(**pairs.place)
        results = list(measures(pairs.choices))
        against += _all_against(results, pairs, place)
        between += _all_between(results, pairs, place)
        apart += _all_apart(results, pairs, place)
        if results:
            people.setdefault(pairs.corpus, (pairs, place))
    for pairs, place in people.values():
        own_values = list(human_measures(pairs.choices))
        against += _all_against(own_values, pairs, replace(place, model=HUMAN))
        between += _all_between(own_values, pairs, replace(place, model=HUMAN))
    if not against:
        raise BankError(
            f"none of {sorted({t.corpus for t in tables})} has scored items of the task {TASK}; score ewok, or "
            "your own pairs of contexts with one target"
        )
    return _section(long_table(against, EXTRA), long_table(between, EXTRA), long_table(apart, APART))


def _section(accuracies: pd.DataFrame, consistency: pd.DataFrame, differences: pd.DataFrame) -> Section:
    corpus = str(accuracies["corpus"].iloc[0])
    main = CONFUSION if accuracies["model"].nunique() <= MOST_COLUMNS else ACCURACIES
    return Section(
        id="choice_likert",
        title="Choosing, rating and log-probabilities",
        text=_text(accuracies, consistency),
        answer=answer(accuracies, consistency, differences),
        definitions=DEFINITIONS,
        tables={
            "choices": first_table(accuracies, consistency),
            "accuracy": accuracies,
            "consistency": consistency,
            "differences": differences,
        },
        main_table="choices",
        main_figure=file_name(main, corpus),
        figures=tuple(agreement_figures(accuracies, consistency)),
        references=("Ivanova et al. 2024: Tables 1 and 2, Figure 2",),
    )


def _all_against(result: Sequence[Measure], pairs: ScoredTable, place: SummaryRow) -> Iterator[dict[str, Any]]:
    """Yield the choices of each measure beside those of people and of the design; none beside itself."""
    shown = of_the_paper(result).values()
    for item in result:
        more = {"in_paper": item in shown}
        for row in _against(item, pairs, place):
            if not (item.method == HUMAN and row["told_by"] == item.measure):
                yield row | more


def _all_between(result: Sequence[Measure], pairs: ScoredTable, place: SummaryRow) -> Iterator[dict[str, Any]]:
    shown = of_the_paper(result).values()
    for a, b in itertools.combinations(result, 2):
        if a.method != b.method or a.method == HUMAN:
            for row in _between(a, b, pairs, place):
                yield row | {"in_paper": a in shown and b in shown}


def _all_apart(result: Sequence[Measure], pairs: ScoredTable, place: SummaryRow) -> Iterator[dict[str, Any]]:
    """Yield how much more often log-probabilities choose as each reference does than each prompt does."""
    shown = of_the_paper(result).values()
    for a, b in itertools.product(result, result):
        if a.measure == LOGPROBS and b.measure != LOGPROBS:
            for row in _apart(a, b, pairs, place):
                yield row | {"in_paper": a in shown and b in shown}


def _apart(a: Measure, b: Measure, pairs: ScoredTable, place: SummaryRow) -> Iterator[dict[str, Any]]:
    side = _sides(pairs.choices)
    for reference in references(pairs.choices):
        right = reference.good_minus_bad
        kept = ~np.isnan(a.good_minus_bad + b.good_minus_bad + right) & ~is_tie(right)
        if not kept.any():
            continue
        second = takes_second(right[kept] * side[kept])
        x, y = (takes_second(member.good_minus_bad[kept] * side[kept]) == second for member in (a, b))
        clusters = pairs.choices.paradigms[kept]
        gain = paired_difference(x.astype(np.float64) - y.astype(np.float64), clusters=clusters)
        n_ties = int(np.sum(is_tie(b.good_minus_bad[kept])))
        more = {"measure": f"{a.measure}-{b.measure}", "reading": b.reading, "told_by": reference.told_by}
        current = replace(place, method=a.name, versus=reference.versus, metric=DIFFERENCE)
        yield current.row(gain, n_rows=kept.size + pairs.n_identical) | more | {"n_ties": n_ties, "minus": b.name}


def _sides(pairs: ScoredTable) -> FloatArray:
    """Return 1 where the right context is the item's second one, -1 where it is the first or the items do not say."""
    return np.where(pairs.is_first_context == 0, 1.0, -1.0)


def _against(item: Measure, pairs: ScoredTable, place: SummaryRow) -> Iterator[dict[str, Any]]:
    sides = _sides(pairs.choices)
    for reference in references(pairs.choices):
        right = reference.good_minus_bad
        kept = ~np.isnan(item.good_minus_bad + right) & ~is_tie(right)
        if not kept.any():
            continue
        delta, sign, side = item.good_minus_bad[kept], signs(right[kept]), sides[kept]
        table = confusion(sign * side > 0, takes_second(delta * side))
        cells = _cells(item.measure, item.reading, table, n_ties=int(np.sum(is_tie(delta))))
        cells["told_by"] = reference.told_by
        current = replace(place, method=item.name, versus=reference.versus)
        n_rows = kept.size + pairs.n_identical
        half = replace(current, metric="accuracy")
        yield half.row(accuracy(delta * sign), n_rows=n_rows) | cells
        first = replace(current, metric="accuracy_ties_first")
        yield first.row(agreement_share(table), n_rows=n_rows) | cells
        yield replace(current, metric="kappa").row(confusion_kappa(table), n_rows=n_rows) | cells


def _between(a: Measure, b: Measure, pairs: ScoredTable, place: SummaryRow) -> Iterator[dict[str, Any]]:
    kept = ~np.isnan(a.good_minus_bad + b.good_minus_bad)
    if not kept.any():
        return
    side = _sides(pairs.choices)[kept]
    x, y = a.good_minus_bad[kept], b.good_minus_bad[kept]
    table = confusion(takes_second(x * side), takes_second(y * side))
    cells = _cells(f"{a.measure}-{b.measure}", "", table, n_ties=int(np.sum(is_tie(x) | is_tie(y))))
    current = replace(place, method=a.name, versus=b.name, metric="consistency")
    n_rows = kept.size + pairs.n_identical
    yield current.row(agreement_share(table), n_rows=n_rows) | cells
    yield replace(current, metric="kappa").row(confusion_kappa(table), n_rows=n_rows) | cells


def _cells(measure: str, reading: str, table: Confusion, *, n_ties: int) -> dict[str, Any]:
    counts = dict(zip(CELLS, table.cells, strict=True))
    return {"measure": measure, "reading": reading, "told_by": "", "n_ties": n_ties} | counts


def _text(accuracies: pd.DataFrame, consistency: pd.DataFrame) -> str:
    parts = []
    of_models = accuracies[accuracies["model"] != HUMAN]
    for (corpus, told_by), part in of_models[of_models["metric"] == "accuracy"].groupby(
        ["corpus", "told_by"], sort=False
    ):
        texts = [_wording(*row) for row in _ranges(part, ["measure", "method"])]
        whom = "the items' design" if told_by == "design" else f"people ({told_by})"
        parts.append(_listed(f"**{corpus}**, share of choices that agree with {whom}:", texts))
    same = consistency[(consistency["metric"] == "consistency") & (consistency["model"] != HUMAN)]
    for corpus in same["corpus"].unique():
        part = same[same["corpus"] == corpus]
        texts = [_wording(*row) for row in _ranges(part, ["measure", "method", "versus"])]
        parts.append(_listed(f"**{corpus}**, same choice by two measures:", texts))
    parts += ties_text(accuracies)
    parts.append(
        "`accuracy` credits ties one half, `accuracy_ties_first` gives them to the first context as the paper does."
    )
    return "\n\n".join(parts)


def _listed(title: str, entries: Sequence[str]) -> str:
    return "\n".join([f"{title}\n", *(f"- {entry}" for entry in entries)])


def _ranges(part: pd.DataFrame, keys: list[str]) -> Iterator[tuple[tuple[str, ...], pd.Series[float]]]:
    for names, rows in part.groupby(keys, sort=False):
        yield tuple(map(str, names)), rows["value"]


def _wording(names: tuple[str, ...], values: pd.Series[float]) -> str:
    measure, *methods = names
    shown = " and ".join(_named(method) for method in methods)
    shown_range = number(values.min())
    if len(values) > 1:
        shown_range += f" to {number(values.max())} over {len(values)} models"
    return f"{measure} ({shown}) {shown_range}"


def _named(measure: str) -> str:
    """Return a measure with its method's id between backticks, and how a rating was read after it."""
    method, _, reading = measure.partition(" (")
    return f"`{method}` ({reading}" if reading else f"`{method}`"
