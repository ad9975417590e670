"""The report's section on languages: scored tables of several languages in, tables like He et al. 2025 out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.builders.languages import typology
from pairbank.errors import BankError
from pairbank.stats.analyses.base import DEFAULTS, Context, Section, reads
from pairbank.stats.analyses.languages.answer import answer, first_table, small_said, unasked_said
from pairbank.stats.analyses.languages.complexity import N_PERMUTATIONS, complexity_correlations, drew, power_said
from pairbank.stats.analyses.languages.complexity import said as complexity_said
from pairbank.stats.analyses.languages.figures import FEWEST, TYPES, language_figures, languages_in_order
from pairbank.stats.analyses.languages.statistics import ENGLISH, method_correlations, typology_means
from pairbank.stats.figures.shared import file_name
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.scored_table.frame import ScoredFrame
from pairbank.stats.scored_table.scored_table import read_table
from pairbank.stats.scored_table.summary_row import SummaryRow, long_table
from pairbank.stats.wording import number

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
UNASKED = ["model", "method", "language", "n_items", "n_unasked"]


@reads("probed")
def section(tables: Sequence[ScoredFrame], context: Context = DEFAULTS) -> Section:
    """Return accuracies by language, negative type and method, means by typology, and correlations of methods.

    Languages are pooled over the corpora of a model (English is COMPS, the others XCOMPS).

    Args:
        tables: Scored tables; used are those whose items have a negative type.
        context: The seed of permutations; F1 of probes, shown beside the accuracies as in Figure 1, and their best
            layers.

    Raises:
        BankError: If the tables have fewer than two languages, or one language twice for a model.
    """
    rows = [row for table in tables for row in _cells(table)]
    rows += [row for summary in context.probed for row in _probed_cells(summary)]
    accuracies = long_table(rows, PLACE)
    if accuracies["language"].nunique() < LEAST_LANGUAGES:
        raise BankError(
            f"{accuracies['language'].nunique()} language(s) with a negative type; expected {LEAST_LANGUAGES} or more: "
            "score xcomps, and comps for English"
        )
    cells = accuracies[accuracies["value"].notna()]
    kinds = {tag: entry.typology for tag, entry in typology().items()}
    means, correlations = typology_means(cells, kinds), method_correlations(cells)
    layers = long_table([row for summary in context.probed for row in _probed_cells(summary, "f1_layer")], PLACE)
    complexity = complexity_correlations(cells, layers[layers["value"].notna()], kinds, seed=context.seed)
    unasked = pd.DataFrame([row for table in tables for row in unasked_rows(table)], columns=UNASKED)
    figures = tuple(language_figures(accuracies, means))
    one = file_name("languages", accuracies["model"].iloc[0])
    several = cells["model"].nunique() > 1 and any(figure.name == TYPES for figure in figures)
    return Section(
        id="languages",
        title="Languages",
        text=_text(cells, means, correlations, complexity, unasked),
        answer=answer(cells, complexity, unasked),
        definitions=DEFINITIONS,
        tables={
            "types": first_table(cells, means, complexity),
            "complexity": complexity,
            "accuracy": accuracies,
            "typology": means,
            "correlation": correlations,
            "unasked": unasked,
            "layers": layers,
        },
        main_table="types",
        draws=f"{N_PERMUTATIONS:,} permutations of languages" if drew(complexity) else "",
        main_figure=TYPES if several else one,
        figures=figures,
        references=("He et al. 2025 (XCOMPS): abstract, Figures 1, 3 and 4",),
    )


def _cells(table: ScoredFrame) -> Iterator[dict[str, Any]]:
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
                )
                same = known.has_value("language", language) & known.has_value("negative_type", kind)
                n_rows = int((same & ~np.isnan(everywhere)).sum())
                estimate = accuracy(delta[here])
                yield place.row(estimate, n_rows=n_rows) | {"language": language, "negative_type": kind}


def unasked_rows(table: ScoredFrame) -> Iterator[dict[str, Any]]:
    """Yield how many items of each language a method could not be asked of, for want of what its question needs.

    Args:
        table: A scored table; a method's column of flags has `missing:SLOT` where it was not asked.
    """
    if "negative_type" not in table.frame.columns:
        return
    kept = table.frame[table.frame["phenomenon"] != INHERITANCE] if "phenomenon" in table.frame else table.frame
    for layout in table.layouts:
        name = f"{layout.method}_flags"
        if not layout.is_prompted or name not in kept.columns:
            continue
        lacks = kept[name].map(_is_missing).astype(bool)
        for language, rows in lacks.groupby(kept["language"], sort=True):
            counts = (table.model, layout.method, str(language), len(rows), int(rows.sum()))
            yield dict(zip(UNASKED, counts, strict=True))


def _is_missing(flags: object) -> bool:
    return isinstance(flags, list | tuple | np.ndarray) and any(str(flag).startswith("missing:") for flag in flags)


def _probed_cells(summary: pd.DataFrame, metric: str = "f1") -> Iterator[dict[str, Any]]:
    chosen = summary[(summary["metric"] == metric) & (summary["group_by"] == PROBED_BY)]
    for row in chosen.to_dict("records"):
        language, _, kind = str(row["group"]).partition("/")
        yield {str(name): cell for name, cell in row.items()} | {"language": language, "negative_type": kind}


def _text(
    cells: pd.DataFrame,
    means: pd.DataFrame,
    correlations: pd.DataFrame,
    complexity: pd.DataFrame,
    unasked: pd.DataFrame,
) -> str:
    tags = languages_in_order(list(cells["language"]))
    least, most = int(cells["n"].min()), int(cells["n"].max())
    n_pairs = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    parts = [f"{len(tags)} languages ({', '.join(tags)}), {n_pairs} pairs a language and negative type."]
    for method, part in cells.groupby("method", sort=False):
        if part["language"].nunique() < LEAST_LANGUAGES:
            continue
        by_language = part.groupby(["language", "model"], sort=False)["value"].mean().sort_values(kind="stable")
        tag = by_language.index.get_level_values("language")
        ends = f"from {number(by_language.iloc[0])} ({tag[0]}) to {number(by_language.iloc[-1])} ({tag[-1]})"
        types = _by_type(means[means["method"] == method]) if part["model"].nunique() == 1 else ""
        measure = "F1" if set(part["metric"]) == {"f1"} else "accuracy"
        own = part.groupby("model", sort=False)["value"].mean()
        mean = number(own.min()) + (f" to {number(own.max())} ({len(own)} models)" if len(own) > 1 else "")
        parts.append(f"`{method}`: mean {measure} {mean} over languages, {ends}{types}.")
    if found := "; ".join(complexity_said(complexity)):
        parts.append(
            f"Spearman's rho with morphological complexity, languages permuted: {found}; {power_said(complexity)}."
        )
    parts += [*_correlations_said(correlations), *unasked_said(unasked), *small_said(len(tags), FEWEST)]
    parts.append("Pairs with identical sides are left out.")
    return "\n\n".join(parts)


def _by_type(means: pd.DataFrame) -> str:
    if means.empty:
        return ""
    said = [f"{kind} {number(value)}" for kind, value in means.groupby("typology", sort=True)["value"].mean().items()]
    return f"; by morphological type, without English: {', '.join(said)}"


def _correlations_said(correlations: pd.DataFrame) -> list[str]:
    known = correlations[correlations["value"].notna()]
    if len(known) <= MOST_SAID:
        return [_correlation_said(row) for row in known.to_dict("records")]
    parts = []
    for (a, b), part in known.groupby(["method", "versus"], sort=False):
        median, without = part["value"].median(), part["without_english"].median()
        rest = "" if np.isnan(without) else f", {number(without)} without {ENGLISH}"
        parts.append(f"`{a}` and `{b}` over languages: median r = {number(median)} of {len(part)}{rest}.")
    return parts


def _correlation_said(row: Mapping[Any, Any]) -> str:
    where = f"`{row['method']}` and `{row['versus']}` over languages ({row['negative_type']}, {row['model']})"
    said = f"{where}: r = {number(row['value'])} (n = {row['n']})"
    if not pd.isna(row["without_english"]):
        said += f", {number(row['without_english'])} without {ENGLISH}"
    if not pd.isna(row["lowest"]):
        said += f"; leaving out one language {number(row['lowest'])} to {number(row['highest'])}"
    return said + "."


DEFINITIONS = """\
- **accuracy**: share of pairs whose difference (good - bad) is positive, ties one half; Wilson's interval at
  level 0.95. One cell a language, negative type (how the wrong concept was chosen) and method. COMPS
  pairs about invented words are left out: English stands for property knowledge, as in the other languages.
- **typology**: unweighted mean of the cells of a morphological type (He et al. 2025, Table 2); English has no type
  there and is left out, as in their Figure 4.
- **complexity**: Spearman's rho over languages, without English, of a method's mean over kinds of wrong concept, or of
  the probe's best layer (first block = 1; mean over kinds), with morphological complexity: analytic 0, inflectional 1,
  agglutinative 2. p: share of orders of the languages with as large a |rho| (9,999 drawn, all of up to 7 languages).
  `least_significant`: the smallest |rho| with p < .05 for these languages; `least_with_power`: the rho seen in four
  samples of five (Fisher's z with variance 1.06 / (n - 3)). Languages of a family are not independent: p is too small
  for a claim about languages at large.
- **unasked**: items that a question could not be put about, since the corpus does not have its concepts and property.
- **correlation**: Pearson r of two methods' accuracies over languages, jackknife interval; `without_english`, and the
  lowest and highest r with any one language left out. An r that one language makes says little about the others.
"""
