"""The report's section on languages: scored tables of several languages in, tables like He et al. 2025 out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.builders.languages import typology
from pairbank.errors import BankError
from pairbank.markdown import html_as_text
from pairbank.stats.analyses.base import DEFAULTS, Context, Section, reads
from pairbank.stats.analyses.languages.figures import (
    FEWEST,
    NEURO,
    TYPES,
    language_figures,
    languages_in_order,
    methods_in_order,
)
from pairbank.stats.analyses.languages.statistics import (
    ALPHA,
    BEST_LAYER,
    ENGLISH,
    N_PERMUTATIONS,
    ORDER,
    RANDOM,
    PairCredits,
    complexity_correlations,
    correlation_sentences,
    drew,
    languages_differ,
    method_correlations,
    power_text,
    random_minus_subtle,
    typology_means,
)
from pairbank.stats.estimates.shares import signs
from pairbank.stats.figures.charts import file_name, n_text
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.measures.paired_tests import corrected
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import SummaryRow, long_table, read_table
from pairbank.stats.wording import median_and_span, number, p_value, span, with_interval

if TYPE_CHECKING:
    from pairbank.arrays import BoolArray

MOST_LINES = 25


def first_table(cells: pd.DataFrame, means: pd.DataFrame, complexity: pd.DataFrame) -> pd.DataFrame:
    """Return a line a model and method (a line a model where these are too many): English, the types, the range."""
    rows = []
    for (model, method), part in cells.groupby(["model", "method"], sort=False):
        by_language = part.groupby("language", sort=False)["value"].mean()
        own_values = means[(means["model"] == model) & (means["method"] == method)].groupby("typology")["value"].mean()
        row = {"model": model, "method": method, "English": _two(by_language.get(ENGLISH))}
        row |= {kind: _two(own_values.get(kind)) for kind in ORDER}
        others = by_language.drop(labels=[ENGLISH], errors="ignore")
        row["lowest"] = f"{number(others.min())} ({others.idxmin()})" if len(others) else ""
        row["highest"] = f"{number(others.max())} ({others.idxmax()})" if len(others) else ""
        result = complexity[(complexity["model"] == model) & (complexity["what"] == method)]
        row["rho with complexity"] = _rho(result)
        rows.append(row)
    table = pd.DataFrame(rows)
    layers = complexity[complexity["what"] == BEST_LAYER]
    more = [
        {"model": row["model"], "method": BEST_LAYER}
        | {kind: _two(row[kind], digits=1) for kind in ORDER}
        | {"rho with complexity": _rho(layers[layers["model"] == row["model"]])}
        for row in layers.to_dict("records")
    ]
    table = pd.concat([table, pd.DataFrame(more)], ignore_index=True).fillna("") if more else table
    return table if len(table) <= MOST_LINES else _a_line_a_model(table)


def _a_line_a_model(table: pd.DataFrame) -> pd.DataFrame:
    """Return a column a method: English, and the three types from the least complex to the most."""
    shown = table["English"] + "; " + table[list(ORDER)].agg(" / ".join, axis=1)
    wide = table.assign(shown=shown.str.removeprefix("; ")).pivot_table(
        index="model", columns="method", values="shown", aggfunc="first", sort=False, fill_value=""
    )
    return wide.reset_index().rename_axis(columns=None)


def _two(value: float | None, *, digits: int = 2) -> str:
    return "" if value is None or pd.isna(value) else number(value, digits=digits)


def _rho(result: pd.DataFrame) -> str:
    if result.empty or pd.isna(result["rho"].iloc[0]):
        return ""
    row = result.iloc[0]
    return f"{number(row['rho'])} ({p_value(row['p'])}, {row['n_languages']} languages)"


def answer(
    cells: pd.DataFrame,
    complexity: pd.DataFrame,
    unasked: pd.DataFrame,
    *,
    contrasts: pd.DataFrame,
    controls: pd.DataFrame,
    varies: pd.DataFrame,
) -> str:
    """Return the answer: each method over languages and kinds of wrong concept, and what goes with complexity."""
    tags = languages_in_order(list(cells["language"]))
    models = list(dict.fromkeys(cells["model"]))
    parts = [_method_text(cells[cells["method"] == name], name) for name in methods_in_order(list(cells["method"]))]
    who = models[0] if len(models) == 1 else f"{len(models)} models"
    n = n_text(cells["n"])
    rest = f"(means over kinds of wrong concept, {n} pairs per language and kind; chance accuracy is 0.50)"
    sentences = ["\n".join([f"Over {len(tags)} languages, {who} {rest}:", *(f"- {part}" for part in parts)])]
    if controls["value"].notna().any():
        by_language = controls.groupby(["language", "model"], sort=False)["value"].mean()
        sentences.append(
            "F1 is the best layer's, and so optimistic: with exchanged labels (its chance level) it is "
            f"{span(by_language)}."
        )
    sentences += [*_varies_text(varies), *_english_text(cells), *_kinds_text(contrasts)]
    if complexity["rho"].notna().any():
        sentences.append(
            _rhos_text(
                "Spearman's rho with morphological complexity (analytic < inflectional < agglutinative)", complexity
            )
        )
    return html_as_text("\n\n".join([*sentences, *unasked_text(unasked)]))


def _rhos_text(what: str, complexity: pd.DataFrame) -> str:
    """Return what is correlated with complexity, an entry of a list each, and which rho these languages could show."""
    head = f"{what}, languages permuted; {power_text(complexity)}:"
    return "\n".join([head, *(f"- {text}" for text in correlation_sentences(complexity))])


def _varies_text(varies: pd.DataFrame) -> Iterator[str]:
    """Yield in how many models each method's accuracy differs between languages (the paper's claim 1)."""
    texts = []
    for method in methods_in_order(list(varies["method"])):
        tested = varies[(varies["method"] == method) & varies["p_holm"].notna()]
        if len(tested) == 1:
            texts.append(f"`{method}` {p_value(tested['p_holm'].iloc[0])}")
        elif len(tested):
            texts.append(f"`{method}` p < .05 in {(tested['p_holm'] < ALPHA).sum()} of {len(tested)} models")
    if texts:
        how = "analysis of variance over properties, Holm's correction"
        yield f"Differences between languages in accuracy ({how}): {'; '.join(texts)}."


def _english_text(cells: pd.DataFrame) -> Iterator[str]:
    """Yield how far each method's score in English is from the mean of the other languages (the paper's claim 1)."""
    texts = []
    for method in methods_in_order(list(cells["method"])):
        own_values = (
            cells[cells["method"] == method].groupby(["model", "language"], sort=False)["value"].mean().unstack()
        )
        if ENGLISH in own_values.columns and own_values.shape[1] > 1:
            ahead = (own_values[ENGLISH] - own_values.drop(columns=ENGLISH).mean(axis=1)).dropna()
            texts += [f"`{method}` {median_and_span(ahead, noun='models', sign=True)}"] if len(ahead) else []
    if texts:
        yield f"English minus the mean of the other languages: {'; '.join(texts)}."


def _kinds_text(contrasts: pd.DataFrame) -> Iterator[str]:
    """Yield how much more accurate methods are with random than with subtle wrong concepts (the paper's claim 2)."""
    texts = []
    for method in methods_in_order(list(contrasts["method"])):
        known = contrasts[(contrasts["method"] == method) & contrasts["value"].notna()]
        if known.empty:
            continue
        first = known.iloc[0]
        if len(known) == 1:
            shown = with_interval(first, sign=True)
        else:
            shown = median_and_span(known["value"], noun="models", sign=True)
            tested = known[known["low"].notna()]
            shown += f", interval above 0 in {(tested['low'] > 0).sum()} of {len(tested)}" if len(tested) else ""
        texts.append(f"`{method}` {shown}")
    if texts:
        yield f"Random minus subtle wrong concepts (taxonomic, overlap, co-occurrence): {'. '.join(texts)}."


def kind_contrasts(by_method: Mapping[tuple[str, str], PairCredits], cells: pd.DataFrame) -> pd.DataFrame:
    """Return, a row a model and method, accuracy with random minus that with subtle wrong concepts, with its interval.

    Of probes, whose pairs have no outcome each, the difference of their F1 stands without an interval.
    """
    rows = [
        {"model": model, "method": method} | random_minus_subtle(pairs) for (model, method), pairs in by_method.items()
    ]
    for model, part in cells[cells["metric"] == "f1"].groupby("model", sort=False):
        wide = part.pivot_table(index="language", columns="negative_type", values="value", sort=False)
        if RANDOM in wide.columns and wide.shape[1] > 1:
            ahead = (wide[RANDOM] - wide.drop(columns=RANDOM).mean(axis=1)).dropna()
            counts = {"n_languages": len(ahead), "n_higher": int((ahead > 0).sum()), "n": int(part["n"].sum())}
            f1 = {"value": ahead.mean(), "low": np.nan, "high": np.nan} | counts
            rows.append({"model": model, "method": NEURO} | f1 | {"reason": "probes have no outcome of single pairs"})
    return pd.DataFrame(rows, columns=list(_CONTRAST)).astype(_CONTRAST)


_CONTRAST = {
    "model": "string",
    "method": "string",
    "value": "float64",
    "low": "float64",
    "high": "float64",
    "n_languages": "int64",
    "n_higher": "int64",
    "n": "int64",
    "reason": "string",
}


def language_differences(by_method: Mapping[tuple[str, str], PairCredits]) -> pd.DataFrame:
    """Return, a row a model and method, the test of equal accuracy in all languages, corrected for their number."""
    rows = [
        {"model": model, "method": method} | languages_differ(pairs) for (model, method), pairs in by_method.items()
    ]
    result = pd.DataFrame(rows, columns=["model", "method", "F", "p", "n_languages"])
    return result.assign(p_holm=corrected(result["p"].to_numpy(dtype=float)).holm)


def _all_credits(tables: Sequence[ScoredFrame]) -> dict[tuple[str, str], PairCredits]:
    """Return the pairs of each model and method, over corpora."""
    parts: dict[tuple[str, str], list[PairCredits]] = {}
    for table in tables:
        for method, results in _credits(table):
            parts.setdefault((table.model, method), []).append(results)
    return {key: _together(result) for key, result in parts.items()}


def _credits(table: ScoredFrame) -> Iterator[tuple[str, PairCredits]]:
    """Yield what each pair of a table counts for each method; pairs of one property, else one sentence, go together."""
    if "negative_type" not in table.column_names:
        return
    read = read_table(table)
    known = read.rows(~read.has_value("phenomenon", INHERITANCE)).choices
    frame = known.frame
    names = [name for name in ("property", "target_good", "item_id") if name in frame.columns]
    cluster = frame[names].astype(object).bfill(axis=1).iloc[:, 0]
    for layout in known.layouts:
        delta = known.delta(layout.method)
        present = ~np.isnan(delta)
        if present.any():
            languages, kinds, clusters = (
                column.astype(str).to_numpy(dtype=object)[present]
                for column in (frame["language"], frame["negative_type"], cluster)
            )
            credit = (signs(delta[present]) + 1) / 2
            yield layout.method, PairCredits(credit=credit, language=languages, kind=kinds, cluster=clusters)


def _together(parts: Sequence[PairCredits]) -> PairCredits:
    names = ("credit", "language", "kind", "cluster")
    return PairCredits(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def _method_text(part: pd.DataFrame, name: str) -> str:
    by_language = part.groupby(["language", "model"], sort=False)["value"].mean().sort_values(kind="stable")
    description = "F1" if set(part["metric"]) == {"f1"} else "accuracy"
    ends = " to ".join(f"{number(by_language.iloc[place])} ({_where(part, by_language, place)})" for place in (0, -1))
    return f"`{name}` has {description} {ends}"


def _where(part: pd.DataFrame, by_language: pd.Series[float], place: int) -> str:
    """Return the language of a place among sorted means, and the model where there are several."""
    names = [str(by_language.index.get_level_values(level)[place]) for level in ("language", "model")]
    return ", ".join(names) if part["model"].nunique() > 1 else names[0]


def unasked_text(unasked: pd.DataFrame) -> list[str]:
    """Return a sentence on each method that could not be asked of some items, with the languages that it misses."""
    sentences = []
    for method, part in unasked.groupby("method", sort=False):
        by_language = part.drop_duplicates("language").set_index("language")
        if not (n := int(by_language["n_unasked"].sum())):
            continue
        lacking = by_language[by_language["n_unasked"] > 0]
        shown = ", ".join(f"{tag} {row['n_unasked']} of {row['n_items']}" for tag, row in lacking.iterrows())
        of = int(by_language["n_items"].sum())
        sentences.append(
            f"`{method}` was not asked of {n:,} of {of:,} items, whose concepts the corpus lacks ({shown}): there it "
            "rests on other items than the other methods do."
        )
    return sentences


def small_text(n_languages: int, fewest: int) -> Sequence[str]:
    """Return why methods are not drawn against each other, where the languages are too few.

    >>> small_text(2, 3)
    ['Methods are not drawn against each other: 2 languages are too few for a scatter.']
    """
    if n_languages >= fewest:
        return []
    return [f"Methods are not drawn against each other: {n_languages} languages are too few for a scatter."]


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
    by_method = _all_credits(tables)
    contrasts = kind_contrasts(by_method, cells)
    controls = long_table([row for summary in context.probed for row in _probed_cells(summary, "f1_control")], PLACE)
    varies = language_differences(by_method)
    figures = tuple(language_figures(accuracies, means, controls))
    member = file_name("languages", accuracies["model"].iloc[0])
    several = cells["model"].nunique() > 1 and any(figure.name == TYPES for figure in figures)
    return Section(
        id="languages",
        title="Languages",
        text=_text(cells, means, correlations, complexity, unasked),
        answer=answer(cells, complexity, unasked, contrasts=contrasts, controls=controls, varies=varies),
        definitions=DEFINITIONS,
        tables={
            "types": first_table(cells, means, complexity),
            "complexity": complexity,
            "accuracy": accuracies,
            "typology": means,
            "correlation": correlations,
            "unasked": unasked,
            "layers": layers,
            "contrasts": contrasts,
            "controls": controls,
            "varies": varies,
        },
        main_table="types",
        draws=f"{N_PERMUTATIONS:,} permutations of languages" if drew(complexity) else "",
        main_figure=TYPES if several else member,
        figures=figures,
        references=("He et al. 2025 (XCOMPS): abstract, Figures 1, 3 and 4",),
    )


def _cells(table: ScoredFrame) -> Iterator[dict[str, Any]]:
    if "negative_type" not in table.column_names:
        return
    read = read_table(table)
    known = read.rows(~read.has_value("phenomenon", INHERITANCE))
    frame = known.choices.frame
    languages, kinds = (frame[name].to_numpy(dtype=object) for name in ("language", "negative_type"))
    for layout in known.layouts:
        delta, everywhere = known.choices.delta(layout.method), known.delta(layout.method)
        for language in pd.unique(languages):
            for kind in pd.unique(kinds[languages == language]):
                current: BoolArray = (languages == language) & (kinds == kind) & ~np.isnan(delta)
                if not current.any():
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
                estimate = accuracy(delta[current])
                yield place.row(estimate, n_rows=n_rows) | {"language": language, "negative_type": kind}


def unasked_rows(table: ScoredFrame) -> Iterator[dict[str, Any]]:
    """Yield how many items of each language a method could not be asked of, for want of what its question needs."""
    if "negative_type" not in table.column_names:
        return
    frame = table.frame
    kept = frame[frame["phenomenon"] != INHERITANCE] if "phenomenon" in frame else frame
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
    parts = [f"{len(tags)} languages ({', '.join(tags)}), {n_pairs} pairs per language and negative type."]
    for method, part in cells.groupby("method", sort=False):
        if part["language"].nunique() < LEAST_LANGUAGES:
            continue
        by_language = part.groupby(["language", "model"], sort=False)["value"].mean().sort_values(kind="stable")
        tag = by_language.index.get_level_values("language")
        ends = f"from {number(by_language.iloc[0])} ({tag[0]}) to {number(by_language.iloc[-1])} ({tag[-1]})"
        types = _by_type(means[means["method"] == method]) if part["model"].nunique() == 1 else ""
        measure = "F1" if set(part["metric"]) == {"f1"} else "accuracy"
        own_values = part.groupby("model", sort=False)["value"].mean()
        mean = number(own_values.min()) + (
            f" to {number(own_values.max())} ({len(own_values)} models)" if len(own_values) > 1 else ""
        )
        parts.append(f"`{method}`: mean {measure} {mean} over languages, {ends}{types}.")
    if complexity["rho"].notna().any():
        parts.append(_rhos_text("Spearman's rho with morphological complexity", complexity))
    parts += [*_correlations_text(correlations), *unasked_text(unasked), *small_text(len(tags), FEWEST)]
    parts.append("Pairs with identical sides are left out.")
    return "\n\n".join(parts)


def _by_type(means: pd.DataFrame) -> str:
    if means.empty:
        return ""
    texts = [f"{kind} {number(value)}" for kind, value in means.groupby("typology", sort=True)["value"].mean().items()]
    return f"; by morphological type, without English: {', '.join(texts)}"


def _correlations_text(correlations: pd.DataFrame) -> list[str]:
    known = correlations[correlations["value"].notna()]
    if len(known) <= MOST_SAID:
        return [_correlation_text(row) for row in known.to_dict("records")]
    parts = []
    for (a, b), part in known.groupby(["method", "versus"], sort=False):
        median, without = part["value"].median(), part["without_english"].median()
        rest = "" if np.isnan(without) else f", {number(without)} without {ENGLISH}"
        parts.append(f"`{a}` and `{b}` over languages: median r = {number(median)} of {len(part)}{rest}.")
    return parts


def _correlation_text(row: Mapping[Any, Any]) -> str:
    where = f"`{row['method']}` and `{row['versus']}` over languages ({row['negative_type']}, {row['model']})"
    text = f"{where}: r = {number(row['value'])} ({row['n']} languages)"
    if not pd.isna(row["without_english"]):
        text += f", {number(row['without_english'])} without {ENGLISH}"
    if not pd.isna(row["lowest"]):
        text += f"; leaving out one language {number(row['lowest'])} to {number(row['highest'])}"
    return text + "."


DEFINITIONS = """\
- **accuracy**: share of pairs whose difference (good - bad) is positive, ties one half; Wilson's interval at
  level 0.95. One cell per language, negative type (how the wrong concept was chosen) and
  method. COMPS pairs about invented words are left out, so that English measures property knowledge like the other
  languages.
- **typology**: unweighted mean of the cells of a morphological type (He et al. 2025, Table 2); English has no type
  there and is left out, as in their Figure 4.
- **complexity**: Spearman's rho over languages, without English, with morphological complexity (analytic 0,
  inflectional 1, agglutinative 2). It is of a method's mean over kinds of wrong concept, or of the probe's best layer
  (first block = 1; mean over kinds). The p value is the share of orders of the languages with as large a |rho| (9,999
  drawn, all of up to 7 languages). `least_significant`: the smallest |rho| with p < .05 for these languages;
  `least_with_power`: the rho seen in four samples of five (Fisher's z with variance 1.06 / (n - 3)). Languages of a
  family are not independent: p is too small for a claim about languages at large.
- **contrasts**: accuracy with random wrong concepts minus the mean of the accuracies with the subtle kinds, in each
  language, then the mean over languages. The standard error keeps pairs of one property together; that of the mean is
  the mean of the languages', the largest it can be, since languages share concepts. Student's t.
- **varies**: one-way analysis of variance of accuracy between languages; units are the properties of each language
  (means over their pairs). `p_holm` is corrected for the number of models and methods.
- **controls**: the best layer's F1 with exchanged labels, the chance level of `neuro`.
- **unasked**: items that a question could not be put about, since the corpus does not have its concepts and property.
- **correlation**: Pearson r of two methods' accuracies over languages, jackknife interval; `without_english`, and the
  lowest and highest r with any one language left out. An r that one language makes says little about the others.
"""
