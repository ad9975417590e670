"""The report's section on languages: scored tables of several languages in, tables like He et al. 2025 out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.builders.languages import typology
from pairbank.errors import BankError
from pairbank.stats.analyses.base import Section
from pairbank.stats.analyses.languages.statistics import ENGLISH, method_correlations, typology_means
from pairbank.stats.figures.charts import heat_map
from pairbank.stats.figures.figure import Figure
from pairbank.stats.figures.shared import file_name, first_cells, n_said
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.scored_table.frame import ScoredFrame
from pairbank.stats.scored_table.scored_table import read_table
from pairbank.stats.scored_table.summary_row import SummaryRow, long_table

if TYPE_CHECKING:
    from pairbank.arrays import BoolArray

LEAST_LANGUAGES = 2
MOST_SAID = 12
"""Correlations that are told one by one; more are told as medians."""
INHERITANCE = "property inheritance"
"""Phenomenon of the COMPS pairs about invented words, which the other languages do not have."""
PROBED_BY = "language+negative_type"
"""How probes must be grouped to stand in the tables by language."""
PLACE = {"language": "string", "negative_type": "string"}


def section(
    tables: Sequence[ScoredFrame], *, seed: int, n_resamples: int, probed: Sequence[pd.DataFrame] = ()
) -> Section:
    """Return accuracies by language, negative type and method, means by typology, and correlations of methods.

    Languages are pooled over the corpora of a model (English is COMPS, the others XCOMPS).

    Args:
        tables: Scored tables; used are those whose items have a negative type.
        seed: Not used: nothing is drawn.
        n_resamples: Not used either.
        probed: Summaries of probes by language and negative type (`pairbank.probe`): their F1 stands beside the
            accuracies, as in the paper's Figure 1.

    Raises:
        BankError: If the tables have fewer than two languages, or one language twice for a model.
    """
    rows = [row for table in tables for row in _cells(table, seed=seed, n_resamples=n_resamples)]
    rows += [row for summary in probed for row in _probed_cells(summary)]
    accuracies = long_table(rows, PLACE)
    if accuracies["language"].nunique() < LEAST_LANGUAGES:
        raise BankError(
            f"{accuracies['language'].nunique()} language(s) with a negative type; expected {LEAST_LANGUAGES} or more: "
            "score xcomps, and comps for English"
        )
    cells = accuracies[accuracies["value"].notna()]
    kinds = {tag: entry.typology for tag, entry in typology().items()}
    means, correlations = typology_means(cells, kinds), method_correlations(cells)
    return Section(
        id="languages",
        title="Languages",
        text=_text(cells, means, correlations),
        definitions=DEFINITIONS,
        tables={"accuracy": accuracies, "typology": means, "correlation": correlations},
        figures=tuple(language_figures(accuracies)),
        references=("He et al. 2025 (XCOMPS): Figures 1, 3 and 4",),
    )


def _cells(table: ScoredFrame, *, seed: int, n_resamples: int) -> Iterator[dict[str, Any]]:
    if "negative_type" not in table.frame.columns:
        return
    read = read_table(table)
    known = read.rows(~read.has_value("phenomenon", INHERITANCE))
    frame = known.choices.frame
    languages, kinds = (frame[name].to_numpy(dtype=object) for name in ("language", "negative_type"))
    for layout in known.layouts:
        delta, everywhere = known.choices.delta(layout.method), known.delta(layout.method)
        for language in pd.unique(languages):
            for kind in pd.unique(kinds[languages == language]):
                here: BoolArray = (languages == language) & (kinds == kind) & ~np.isnan(delta)
                if not here.any():
                    continue
                place = SummaryRow(
                    model=table.model,
                    corpus=table.corpus,
                    group_by="language, negative_type",
                    group=f"{language}, {kind}",
                    method=layout.method,
                    metric="accuracy",
                    seed=seed,
                    n_resamples=n_resamples,
                )
                same = known.has_value("language", language) & known.has_value("negative_type", kind)
                n_rows = int((same & ~np.isnan(everywhere)).sum())
                estimate = accuracy(delta[here])
                yield place.row(estimate, n_rows=n_rows) | {"language": language, "negative_type": kind}


def _probed_cells(summary: pd.DataFrame) -> Iterator[dict[str, Any]]:
    chosen = summary[(summary["metric"] == "f1") & (summary["group_by"] == PROBED_BY)]
    for row in chosen.to_dict("records"):
        language, _, kind = str(row["group"]).partition("/")
        yield {str(name): cell for name, cell in row.items()} | {"language": language, "negative_type": kind}


def _text(cells: pd.DataFrame, means: pd.DataFrame, correlations: pd.DataFrame) -> str:
    tags = sorted(cells["language"].unique())
    least, most = int(cells["n"].min()), int(cells["n"].max())
    n_pairs = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    parts = [f"{len(tags)} languages ({', '.join(tags)}), {n_pairs} pairs a language and negative type."]
    for method, part in cells.groupby("method", sort=False):
        if part["language"].nunique() < LEAST_LANGUAGES:
            continue
        by_language = part.groupby("language", sort=False)["value"].mean()
        first, last = by_language.idxmax(), by_language.idxmin()
        ends = f"from {by_language.min():.2f} ({last}) to {by_language.max():.2f} ({first})"
        types = _by_type(means[means["method"] == method])
        measure = "F1" if set(part["metric"]) == {"f1"} else "accuracy"
        parts.append(f"`{method}`: mean {measure} {by_language.mean():.2f} over languages, {ends}{types}.")
    parts += _correlations_said(correlations)
    parts.append("Pairs with identical sides are left out.")
    return "\n\n".join(parts)


def _by_type(means: pd.DataFrame) -> str:
    if means.empty:
        return ""
    said = [f"{kind} {value:.2f}" for kind, value in means.groupby("typology", sort=True)["value"].mean().items()]
    return f"; by morphological type, without English: {', '.join(said)}"


def _correlations_said(correlations: pd.DataFrame) -> list[str]:
    known = correlations[correlations["value"].notna()]
    if len(known) <= MOST_SAID:
        return [_correlation_said(row) for row in known.to_dict("records")]
    parts = []
    for (a, b), part in known.groupby(["method", "versus"], sort=False):
        median, without = part["value"].median(), part["without_english"].median()
        rest = "" if np.isnan(without) else f", {without:.2f} without {ENGLISH}"
        parts.append(f"`{a}` and `{b}` over languages: median r = {median:.2f} of {len(part)}{rest}.")
    return parts


def _correlation_said(row: Mapping[Any, Any]) -> str:
    where = f"`{row['method']}` and `{row['versus']}` over languages ({row['negative_type']}, {row['model']})"
    said = f"{where}: r = {row['value']:.2f} (n = {row['n']})"
    if not pd.isna(row["without_english"]):
        said += f", {row['without_english']:.2f} without {ENGLISH}"
    if not pd.isna(row["lowest"]):
        said += f"; leaving out one language {row['lowest']:.2f} to {row['highest']:.2f}"
    return said + "."


DEFINITIONS = """\
- **accuracy**: share of pairs whose difference (good - bad) is positive, ties one half; Wilson's interval at
  level .95. One cell a language, negative type (how the wrong concept was chosen) and method. COMPS
  pairs about invented words are left out: English stands for property knowledge, as in the other languages.
- **typology**: unweighted mean of the cells of a morphological type (He et al. 2025, Table 2); English has no type
  there and is left out, as in their Figure 4.
- **correlation**: Pearson r of two methods' accuracies over languages, jackknife interval; `without_english`, and the
  lowest and highest r with any one language left out. An r that one language makes says little about the others.
"""


def language_figures(accuracies: pd.DataFrame) -> Iterator[Figure]:
    """Yield one heat map a model: negative types and methods by languages.

    Args:
        accuracies: Long table with `language` and `negative_type`.
    """
    for model, part in accuracies.groupby("model", sort=False):
        rows = part.assign(row=part["negative_type"] + " " + part["method"])
        matrix = rows.pivot_table(index="row", columns="language", values="value", sort=False).sort_index(axis=1)
        yield Figure(
            name=file_name("languages", model),
            caption=f"Accuracy of {model} by language, negative type and method ({n_said(part['n'])} a cell).",
            draw=partial(
                heat_map, first_cells(matrix), title=str(model), value_label="accuracy", limits=(0, 1), diverging=False
            ),
        )
