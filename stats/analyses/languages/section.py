"""Accuracy by language and kind of wrong concept, of scored tables of several languages, as He et al. 2025."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pairbank.builders.languages import typology
from pairbank.errors import BankError
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import MOST_ROWS, Group, Result, Rows, analysis, groups, records, typed, where
from pairbank.stats.analyses.languages import figures, statistics
from pairbank.stats.analyses.languages.items import LEAST_LANGUAGES, items_of
from pairbank.stats.analyses.languages.statistics import BEST_LAYER, ENGLISH, ORDER
from pairbank.stats.estimates.shares import signs
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.measures.paired_tests import corrected
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import SummaryRow, long_table
from pairbank.stats.wording import number, p_value

MOST_NAMED = 12
"""Correlations that the text has one by one; of more, medians."""
INHERITANCE = "property inheritance"
"""Phenomenon of the COMPS pairs about invented words, which the other languages do not have."""
PROBED_BY = "language+negative_type"
"""How probes must be grouped to be in the tables by language."""
KEYS = ("table", "model", "corpus", "method", "language")
"""Number of the table first: what two tables say of one cell is refused, not merged."""
PLACE = {"language": "string", "negative_type": "string"}
UNASKED = ("model", "method", "language", "n_items", "n_unasked")
CONTRAST = ("model", "method", "value", "low", "high", "n_languages", "n_higher", "n", "reason")


@analysis(title="Languages", facts=("probed",))
def languages(tables: Sequence[ScoredFrame], context: Context) -> Result:
    """Return accuracies by language, negative type and method, means by typology, and correlations of methods."""
    f1, layers, controls = (
        [
            row | dict(zip(("language", "negative_type"), str(row["group"]).split("/", 1), strict=True))
            for probes in context.probed
            for row in records(where(probes.summary, metric=metric, group_by=PROBED_BY))
        ]
        for metric in ("f1", "f1_layer", "f1_control")
    )
    pairs = _pairs(tables)
    accuracies = long_table([*_rows(pairs), *f1], PLACE)
    if accuracies["language"].nunique() < LEAST_LANGUAGES:
        raise BankError(
            f"{accuracies['language'].nunique()} language(s) with a negative type; expected {LEAST_LANGUAGES} or more: "
            "score xcomps, and comps for English"
        )
    cells = accuracies[accuracies["value"].notna()]
    types = {tag: facts.typology for tag, facts in typology().items()}
    means, of_layers = statistics.typology_means(cells, types), long_table(layers, PLACE)
    complexity = statistics.complexity_correlations(
        cells, of_layers[of_layers["value"].notna()], types, seed=context.seed
    )
    scored = pairs[pairs["is_choice"].astype(bool)].dropna(subset="delta")
    scored = scored.assign(credit=(signs(scored["delta"].to_numpy(dtype=np.float64)) + 1) / 2)
    by_method = groups(scored, "model", "method")
    differ = [x.place | statistics.languages_differ(x.frame) for x in by_method]
    varies = pd.DataFrame(differ, columns=["model", "method", "F", "p", "n_languages"])
    of_controls = long_table(controls, PLACE)
    tags = figures.in_order(list(cells["language"]), figures.PAPER_ORDER)
    has_types = means["typology"].nunique() > 1
    return Result(
        tables={
            "types": first_table(cells, means, complexity),
            "complexity": complexity,
            "accuracy": accuracies,
            "typology": means,
            "correlation": statistics.method_correlations(cells),
            "unasked": pd.DataFrame([row for table in tables for row in unasked_rows(table)], columns=[*UNASKED]),
            "layers": of_layers,
            "contrasts": contrasts(by_method, cells, over="negative_type"),
            "english": contrasts(by_method, cells, over="language"),
            "controls": of_controls,
            "varies": varies.assign(p_holm=corrected(varies["p"].to_numpy(dtype=float)).holm),
        },
        main_chart="types" if cells["model"].nunique() > 1 and has_types else str(accuracies["model"].iloc[0]),
        charts=[*figures.language_charts(accuracies, means, of_controls)],
        values={
            "cells": cells,
            "tags": tags,
            "methods": figures.methods_in_order(list(cells["method"])),
            "drew": (complexity["p"].notna() & (complexity["n_languages"] > statistics.MOST_EXACT)).any(),
        },
    )


def first_table(cells: pd.DataFrame, means: pd.DataFrame, complexity: pd.DataFrame) -> pd.DataFrame:
    """Return one row per model and method (one per model where these are too many): English, the types, the range."""
    rows = Rows()
    for group in groups(cells, "model", "method"):
        model, method = group.key
        by_language = group.frame.groupby("language", sort=False)["value"].mean()
        by_type = where(means, model=model, method=method).groupby("typology")["value"].mean()
        others = by_language.drop(labels=[ENGLISH], errors="ignore")
        row = {"model": model, "method": method, "English": _cell(by_language.get(ENGLISH))}
        row |= {kind: _cell(by_type.get(kind)) for kind in ORDER}
        row["lowest"] = f"{number(others.min())} ({others.idxmin()})" if len(others) else ""
        row["highest"] = f"{number(others.max())} ({others.idxmax()})" if len(others) else ""
        rows.append(row | {"rho with complexity": _rho(where(complexity, model=model, what=method))})
    for row in records(where(complexity, what=BEST_LAYER)):
        of_types = {kind: _cell(row[kind], digits=1) for kind in ORDER}
        rho = _rho(where(complexity, model=row["model"], what=BEST_LAYER))
        rows.append({"model": row["model"], "method": BEST_LAYER} | of_types | {"rho with complexity": rho})
    table = pd.DataFrame(rows).fillna("")
    if len(table) <= MOST_ROWS:
        return table
    shown = table["English"] + "; " + table[list(ORDER)].agg(" / ".join, axis=1)
    wide = table.assign(shown=shown.str.removeprefix("; ")).pivot_table(
        index="model", columns="method", values="shown", aggfunc="first", sort=False, fill_value=""
    )
    return wide.reset_index().rename_axis(columns=None)


def _cell(value: float | None, *, digits: int = 2) -> str:
    return "" if value is None or pd.isna(value) else number(value, digits=digits)


def _rho(complexity: pd.DataFrame) -> str:
    known = records(complexity[complexity["rho"].notna()])
    return f"{number(known[0]['rho'])} ({p_value(known[0]['p'])}, {known[0]['n_languages']} languages)" if known else ""


def contrasts(pairs: Sequence[Group], cells: pd.DataFrame, *, over: str) -> pd.DataFrame:
    """Return a difference of accuracies per model and method with its interval; of F1, which has none, as well."""
    of_kinds = over == "negative_type"
    of_pairs = statistics.random_minus_subtle if of_kinds else statistics.english_minus_others
    first, other = (statistics.RANDOM, "language") if of_kinds else (ENGLISH, "negative_type")
    rows = [x.place | of_pairs(x.frame) for x in pairs]
    for group in groups(where(cells, metric="f1"), "model"):
        wide = group.frame.pivot_table(index=other, columns=over, values="value", sort=False)
        if first in wide.columns and wide.shape[1] > 1:
            ahead = (wide[first] - wide.drop(columns=first).mean(axis=1)).dropna()
            means = wide.mean()
            n_higher = (ahead > 0).sum() if of_kinds else (means[first] > means).sum()
            f1 = {"value": ahead.mean(), "low": np.nan, "high": np.nan, "n": int(group.frame["n"].sum())}
            f1 |= {"n_languages": len(ahead) if of_kinds else wide.shape[1] - 1, "n_higher": int(n_higher)}
            reason = {"reason": "probes have no outcome of single pairs"}
            rows.append(group.place | {"method": figures.NEURO} | f1 | reason)
    return typed(rows, CONTRAST)


def _pairs(tables: Sequence[ScoredFrame]) -> pd.DataFrame:
    """Return every pair by every method, delta NaN where it has none; pairs of one property go together."""
    parts = [pd.DataFrame(columns=[*KEYS, "negative_type", "cluster", "delta", "is_choice"])]
    for nth, table in enumerate(tables):
        for items in items_of(table) if "negative_type" in table.column_names else ():
            known = items[items["phenomenon"] != INHERITANCE]
            cluster = known[["property", "target_good", "item_id"]].bfill(axis=1).iloc[:, 0].astype(str)
            parts.append(known.assign(table=nth, cluster=cluster).astype({"language": str, "negative_type": str}))
    return pd.concat(parts[1:] or parts, ignore_index=True)


def _rows(pairs: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the accuracy of each method in each language with each kind of wrong concept."""
    n_rows = pairs.groupby([*KEYS, "negative_type"])["delta"].count()
    for group in groups(pairs[pairs["is_choice"].astype(bool)], *KEYS):
        _, model, corpus, method, language = group.key
        names = {"model": model, "corpus": corpus, "method": method, "metric": "accuracy"}
        for kind, deltas in group.frame.groupby("negative_type", sort=False)["delta"]:
            if deltas.notna().any():
                place = SummaryRow(**names, group_by="language, negative_type", group=f"{language}, {kind}")
                row = place.row(accuracy(deltas.dropna()), n_rows=int(n_rows[(*group.key, kind)]))
                yield row | {"language": language, "negative_type": kind}


def unasked_rows(table: ScoredFrame) -> Iterator[dict[str, Any]]:
    """Yield how many items of each language a method could not be asked of, for want of what its question needs."""
    if "negative_type" not in table.column_names:
        return
    frame = table.frame.reset_index(drop=True)
    kept = frame[frame["phenomenon"] != INHERITANCE] if "phenomenon" in frame else frame
    for layout in table.layouts:
        if layout.is_prompted and (name := f"{layout.method}_flags") in kept.columns:
            lacks = kept[name].explode().astype(str).str.startswith("missing:").groupby(level=0).any()
            for language, rows in lacks.groupby(kept["language"], sort=True):
                counts = (table.model, layout.method, str(language), len(rows), int(rows.sum()))
                yield dict(zip(UNASKED, counts, strict=True))
