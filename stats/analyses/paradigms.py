"""What is hard? Scored tables in; accuracy by phenomenon and paradigm out, for every method and in both definitions.

The lowest of many groups are named with simultaneous intervals (Bonferroni over all groups): that of a group chosen
beforehand would be too high and too narrow for the one that came out lowest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.analyses.base import DEFAULTS, Context, Section
from pairbank.stats.estimates.shares import CLUSTERED, WILSON
from pairbank.stats.figures.charts import file_name, first_cells, heat_map, n_text
from pairbank.stats.figures.style import Figure
from pairbank.stats.measures.accuracy import simultaneous_by_group, wilson_by_group
from pairbank.stats.measures.paired_tests import corrected, gain_test
from pairbank.stats.scored_table.method_scores import BIAS_NOTE, MARK, Credits, ScoredFrame, credits_of, not_compared
from pairbank.stats.scored_table.scored_table import ScoredTable, SummaryRow, long_table, read_table
from pairbank.stats.wording import number, with_interval

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray, IntArray
    from pairbank.stats.scored_table.method_scores import MethodScores

COLUMNS = ("phenomenon", "paradigm")
"""Coarse and fine linguistic class."""
LEAST_ITEMS = 5
"""Paradigms with fewer items are not compared with the others."""
N_NAMED = 5
N_METHODS_SAID = 3
"""Methods whose lowest paradigms the text names; the table has all."""
SIGNIFICANCE = 0.05
CHANCE = 0.5
_TYPES = {
    "corpus": "string",
    "group_by": "string",
    "method": "string",
    "group": "string",
    "value": "float64",
    "low": "float64",
    "high": "float64",
    "n": "int64",
    "n_models": "int64",
    "n_models_below": "int64",
    "p_below": "float64",
    "p_below_holm": "float64",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Earned:
    """What one method of one model earns on the items that have a group."""

    corpus: str
    model: str
    method: str
    column: str
    items: pd.DataFrame
    """Columns item_id, group, credit."""


def section(tables: Sequence[ScoredFrame], _context: Context = DEFAULTS) -> Section:
    """Return accuracies by phenomenon and paradigm, and name the lowest."""
    rows: list[dict[str, Any]] = []
    earned: list[_Earned] = []
    biased: list[dict[str, Any]] = []
    for table in tables:
        read = read_table(table)
        for scores in read.choices.methods:
            if not scores.applies.any():
                continue
            result = credits_of(scores)
            if result.is_biased:
                biased.append({"model": table.model, "method": scores.layout.method})
            for column in COLUMNS:
                rows += _rows(read, scores, result, column, earned)
    if not rows:
        raise BankError(
            f"none of {sorted({t.corpus for t in tables})} has scored items of two phenomena or paradigms; the overall "
            "accuracies are all there is"
        )
    table_of_all = long_table(rows, {"by_paper": "bool", "first_option": "float64"})
    over = _over_models(earned)
    return Section(
        id="paradigms",
        title="Accuracy by phenomenon and paradigm",
        text=_text(over, apart=not_compared(pd.DataFrame(biased))),
        definitions=DEFINITIONS,
        tables={"accuracy": table_of_all, "over_models": over},
        figures=tuple(paradigm_figures(table_of_all)),
        references=(
            "Wilson 1927, JASA 22:209-212",
            "Clopper & Pearson 1934, Biometrika 26:404-413; Korn & Graubard 1998, Survey Methodology 24:193-201",
            "Holm 1979, Scandinavian Journal of Statistics 6:65-70",
        ),
    )


def _rows(
    table: ScoredTable, scores: MethodScores, result: Credits, column: str, earned: list[_Earned]
) -> Iterator[dict[str, Any]]:
    """Yield the accuracies of one method by one column, in both definitions; credits to compare go to `earned`."""
    if column not in table.frame.columns:
        return
    pairs, method = table.choices, scores.layout.method
    codes, labels = pd.factorize(pairs.frame[column], sort=True)
    names = [str(name) for name in labels]
    applies = scores.applies & (codes >= 0)
    if len(names) < 2 or not applies.any():
        return
    no_choice = table.frame[column][~table.is_choice].value_counts()
    excluded = {str(name): int(n) for name, n in no_choice.items()}
    place = replace(SummaryRow(**table.place), group_by=column, method=method)
    by_metric = {"accuracy": result.averaged} | ({} if result.pooled is None else {"accuracy_pooled": result.pooled})
    for metric, credit in by_metric.items():
        by_paper = credit is result.credit
        how = CLUSTERED if metric == "accuracy_pooled" else WILSON
        estimates = wilson_by_group(credit[applies], codes[applies], len(names), method=how)
        more = {"by_paper": by_paper, "first_option": result.first_option if by_paper else np.nan}
        for name, estimate in zip(names, estimates, strict=True):
            if estimate.n:
                current = replace(place, group=name, metric=metric)
                yield current.row(estimate, n_rows=estimate.n + excluded.get(name, 0)) | more
    if not result.is_biased:
        ids = np.array(pairs.item_ids, dtype=object)[applies]
        items = pd.DataFrame({"item_id": ids, "group": labels[codes[applies]], "credit": result.credit[applies]})
        earned.append(_Earned(corpus=table.corpus, model=table.model, method=method, column=column, items=items))


def _over_models(earned: Sequence[_Earned]) -> pd.DataFrame:
    """Return each group's accuracy over models with a simultaneous interval, and whether it is below chance."""
    results = []
    for key in dict.fromkeys((member.corpus, member.column, member.method) for member in earned):
        same = [value for value in earned if (value.corpus, value.column, value.method) == key]
        each = pd.concat([entry.items.assign(model=entry.model) for entry in same], ignore_index=True)
        sizes = each.groupby("group")["item_id"].nunique()
        each = each[each["group"].isin(sizes[sizes >= LEAST_ITEMS].index)]
        if each.empty:
            continue
        items = each.groupby(["group", "item_id"], sort=True)["credit"].mean().reset_index()
        codes, names = pd.factorize(items["group"])
        part = extremes(items["credit"].to_numpy(dtype=np.float64), np.asarray(codes, dtype=np.int64), len(names))
        by_model = each.groupby(["group", "model"])["credit"].mean().reset_index()
        below = by_model[by_model["credit"] < CHANCE].groupby("group").size()
        n_models = by_model.groupby("group").size()
        part.insert(0, "group", [str(name) for name in names])
        results.append(
            part.assign(
                corpus=key[0],
                group_by=key[1],
                method=key[2],
                n_models=n_models.reindex(names).to_numpy(),
                n_models_below=below.reindex(names).fillna(0).to_numpy(),
            )
        )
    joined = pd.concat(results, ignore_index=True) if results else pd.DataFrame(columns=list(_TYPES))
    return joined[list(_TYPES)].astype(_TYPES)


def extremes(credit: FloatArray, group: IntArray, n_groups: int) -> pd.DataFrame:
    """Return for each group its accuracy, an interval that holds for all groups at once, and a test of being below.

    >>> found = extremes(np.repeat([0.0, 1.0], 8), np.repeat([0, 1], 8), 2)
    >>> found["value"].tolist(), found["p_below_holm"].round(4).tolist()
    ([0.0, 1.0], [0.0078, 1.0])
    """
    estimates = simultaneous_by_group(credit, group, n_groups, level=1 - SIGNIFICANCE)
    p = []
    for nth, one in enumerate(estimates):
        tested = gain_test(2 * credit[group == nth] - 1) if one.value < CHANCE else None
        p.append(1.0 if tested is None else tested.p_exact / 2)
    return pd.DataFrame({
        "value": [entry.value for entry in estimates], "low": [estimate.low for estimate in estimates],
        "high": [member.high for member in estimates], "n": [element.n for element in estimates],
        "p_below": p, "p_below_holm": corrected(p).holm,
    })  # fmt: skip


def _text(over: pd.DataFrame, *, apart: str) -> str:
    parts = []
    for (corpus, column), part in over.groupby(["corpus", "group_by"], sort=False):
        text = list(dict.fromkeys(part["method"]))[:N_METHODS_SAID]
        for method, selected in part[part["method"].isin(text)].groupby("method", sort=False):
            ordered = selected.sort_values("value", kind="stable")
            lowest = [f"- {_low_text(row)}" for row in ordered.head(N_NAMED).to_dict("records")]
            n_below = int((selected["p_below_holm"] < SIGNIFICANCE).sum())
            n_models = int(selected["n_models"].max())
            average = "" if n_models == 1 else f" on average over {n_models} models"
            head = (
                f"**{corpus}**, `{method}`: of {len(selected):,} values of {column} with {LEAST_ITEMS} items or more, "
                f"{n_below:,} {'is' if n_below == 1 else 'are'} below chance{average} ({SIGNIFICANCE}, signs exchanged "
                "by item, Holm). The lowest:"
            )
            parts.append("\n".join([head, *lowest]))
    parts += [apart] if apart else []
    parts.append(
        "Intervals of named values hold for all values of the column at once (Bonferroni). Pairs with identical sides "
        "are left out."
    )
    return "\n\n".join(parts)


def _low_text(row: dict[Any, Any]) -> str:
    models = "" if row["n_models"] == 1 else f", below {number(CHANCE)} in {row['n_models_below']} of {row['n_models']}"
    return f"{row['group']}: {with_interval(row)}{models}"


MOST_METHODS = 4
"""Whose accuracies are drawn, where there are several models."""

DEFINITIONS = f"""\
- **accuracy**: share of items whose difference (good - bad, averaged over presentations) is positive, ties one half;
  Wilson's score interval at level 0.95.
- **accuracy_pooled**: every presentation is a trial, right where the correct option is the most probable; Wilson's
  interval, clustered by items. **by_paper**: whether it is the method's own definition (with position bias, the pooled
  one). **first_option**: share of first options, where that is position bias.
- Intervals of these are of one group each, for a group chosen beforehand.
- **over_models**: mean credit of each item over the models without position bias, by the method's own definition, of
  groups with {LEAST_ITEMS} items or more. Its intervals hold for all groups of a column at once (Clopper &
  Pearson's, Bonferroni).
  **n_models_below**: models whose own accuracy is below {CHANCE}. **p_below**: one-sided test of a mean below chance,
  over the signs that the items' credits - {CHANCE} could have had. **p_below_holm**: corrected for all groups.
"""


def paradigm_figures(result: pd.DataFrame) -> Iterator[Figure]:
    """Yield accuracies by phenomenon (or paradigm where there is none), for each corpus.

    One model has a column per method; several have a figure per method and a column per model.
    """
    right = result[result["by_paper"]]
    marks = np.where(right["first_option"].notna(), f" {MARK}", "")
    for corpus, part in right.assign(model=right["model"] + marks).groupby("corpus", sort=False):
        column = "phenomenon" if "phenomenon" in set(part["group_by"]) else "paradigm"
        selected = part[part["group_by"] == column]
        if selected["model"].str.removesuffix(f" {MARK}").nunique() == 1:
            marked = selected["method"] + np.where(selected["first_option"].notna(), f" {MARK}", "")
            yield _heat_map(selected.assign(method=marked), str(corpus), column, across="method", title=str(corpus))
            continue
        for method in list(dict.fromkeys(selected["method"]))[:MOST_METHODS]:
            of_method = selected[selected["method"] == method]
            yield _heat_map(of_method, str(corpus), column, across="model", title=f"{corpus}\n{method}")


def _heat_map(mine: pd.DataFrame, corpus: str, column: str, *, across: str, title: str) -> Figure:
    matrix = mine.pivot_table(index="group", columns=across, values="value", sort=False)
    ordered = matrix.loc[matrix.mean(axis=1).sort_values(kind="stable").index]
    method = "" if across == "method" else str(mine["method"].iloc[0])
    by = f", `{method}`," if method else ""
    bias = f" {BIAS_NOTE}" if mine["first_option"].notna().any() else ""
    return Figure(
        name=file_name("paradigms", corpus, method) if method else file_name("paradigms", corpus),
        caption=f"Accuracy on {corpus}{by} by {column} and {across}, lowest first ({n_text(mine['n'])} each).{bias}",
        draw=partial(
            heat_map, first_cells(ordered), title=title, value_label="accuracy", limits=(0, 1), diverging=False
        ),
    )
