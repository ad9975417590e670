"""How probable is the word that came next, measured and asked? Scored one-sided items in, a section out.

Hu & Levy 2023, section 4.1 (experiment 1, word prediction): mean log P of the true continuation by method, and
Pearson's r between log P measured directly and given as the answer to a question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.analyses.base import DEFAULTS, Context, Section
from pairbank.stats.estimates.shares import mean_of_items
from pairbank.stats.measures.agreement import pearson
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import SummaryRow, either, long_table, read_table
from pairbank.stats.wording import number, with_interval

TASK = "word_prediction"


def section(tables: Sequence[ScoredFrame], _context: Context = DEFAULTS) -> Section:
    """Return mean log P by method, and its correlation with `direct`."""
    rows = [row for table in tables for row in _rows(table)]
    if not rows:
        raise BankError(
            f"none of {sorted({t.corpus for t in tables})} has scored items of the task {TASK}; score p18 or news-2023"
        )
    result = long_table(rows)
    return Section(
        id="prediction",
        title="Word prediction",
        text=_text(result),
        definitions=DEFINITIONS,
        tables={"words": _by_method(result), "prediction": result},
        main_table="words",
        footnotes=("Cells: mean log P in nats; for prompts also Pearson's r with the direct log P over the words.",),
        references=("Hu & Levy 2023: section 4.1, Figures 2 and 3",),
    )


def _rows(table: ScoredFrame) -> Iterator[dict[str, Any]]:
    read = read_table(table)
    words = read.rows(read.has_value("task", TASK)).choices
    direct = words.side(words.reference, "good")
    for layout in words.layouts:
        logprob = words.side(layout.method, "good")
        applies = ~np.isnan(logprob)
        if not applies.any():
            continue
        place = SummaryRow(method=layout.method, **words.place)
        current = replace(place, metric="mean_logprob")
        yield current.row(mean_of_items(logprob[applies]), n_rows=int(applies.sum()))
        both = applies & ~np.isnan(direct)
        if layout.method != words.reference and both.any():
            current = replace(place, versus=words.reference, metric="pearson")
            yield current.row(pearson(direct[both], logprob[both]), n_rows=int(applies.sum()))


def _text(result: pd.DataFrame) -> str:
    parts = []
    for corpus, part in result.groupby("corpus", sort=False):
        n_models = part["model"].nunique()
        over = "" if n_models == 1 else f", {n_models} models from lowest to highest"
        texts = []
        for method, selected in part.groupby("method", sort=False):
            mean = _ends(selected.loc[selected["metric"] == "mean_logprob", "value"])
            r = _ends(selected.loc[selected["metric"] == "pearson", "value"].dropna())
            texts.append(
                f"`{method}` {mean} nats"
                + (f" (r with {either(part['versus'][part['versus'] != ''])} = {r})" if r else "")
            )
        parts.append(
            f"**{corpus}** ({part['n'].max():,} items{over}), mean log P of the true word: {'; '.join(texts)}."
        )
    return "\n\n".join(parts)


def _by_method(result: pd.DataFrame) -> pd.DataFrame:
    """Return a line per model and corpus and a column per method: mean log P, and r with `direct`."""
    rows = []
    for (model, corpus), part in result.groupby(["model", "corpus"], sort=False):
        row: dict[str, Any] = {"model": model, "corpus": corpus, "n": int(part["n"].max())}
        for method, selected in part.groupby("method", sort=False):
            by_metric = {entry["metric"]: entry for entry in selected.to_dict("records")}
            r = f", r = {number(by_metric['pearson']['value'])}" if "pearson" in by_metric else ""
            row[str(method)] = f"{with_interval(by_metric['mean_logprob'])}{r}"
        rows.append(row)
    return pd.DataFrame(rows)


def _ends(values: pd.Series[float]) -> str:
    """Return the lowest and the highest value, one number where they are one, nothing where there is none."""
    if values.empty:
        return ""
    low, high = number(values.min()), number(values.max())
    return low if len(values) == 1 else f"{low} to {high}"


DEFINITIONS = """\
- **mean_logprob**: mean over items of the log-probability of the word that came next, in nats, summed over its tokens.
  It is given the text before the word (`direct`) or a question about it. Student's t interval over items, level 0.95.
- **pearson**: r over items of a question's log-probability with that of `direct`, jackknife interval.
"""
