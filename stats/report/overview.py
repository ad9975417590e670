"""The sections that every report has: accuracy of every model, method and corpus, and by phenomenon.

Their first table fits a page: a line over several models shows their range, no mean alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.builders.schema.columns import NO_TRUTH
from pairbank.markdown import html_as_text
from pairbank.scoring.api.layout import MethodLayout
from pairbank.scoring.api.names import SENTENCE, is_string_logprob
from pairbank.stats.analyses.form import Chart, Result, Rows, analysis, groups, where
from pairbank.stats.estimates.bootstrap import why_not_drawn, wider
from pairbank.stats.estimates.estimate import HUMAN
from pairbank.stats.figures.charts import MOST_CELLS, MOST_SERIES, heat_map, intervals
from pairbank.stats.report.checks import KEYS, POOLED, Facts, by_place, has_numbers, picks, sentences
from pairbank.stats.report.overview_figures import PEOPLE, overview_charts
from pairbank.stats.scored_table.method_scores import BIAS_NOTE, MARK, ScoredFrame, flagged, shows_both
from pairbank.stats.scored_table.scored_table import CONDITION, PARADIGM, is_reference
from pairbank.stats.wording import MISSING, counts, names, span, with_interval

if TYPE_CHECKING:
    from pairbank.stats.analyses.base import Context

LOG_P = "log P of the sentence, or of the target given its context, summed over tokens"
OF_SENTENCES = {"auc": "AUC", "mcc": "MCC", "acceptance": "says yes", "pearson_human_sentence": "r with people"}
"""Metrics of single sentences on the first page, and their headings there."""
OF_CONDITIONS = dict.fromkeys(("mean_rating", "mean_logprob", "mean_score"), "mean") | OF_SENTENCES
MOST_LINES = 25
"""Of the table on the first page; a longer one becomes a line per corpus, with the range over models."""
MOST_INTERVALS = 4
"""Methods, or models, beside whose accuracies the first page has room for intervals."""
MOST_METHODS, MOST_MODELS = 6, 6
"""Columns of the table on the first page: more methods are lines, of more models it has the lowest and highest."""
MOST_PHENOMENA = 15
"""Lines of a table on a first page: a longer one is in the appendix."""


def layouts_of(tables: Sequence[ScoredFrame]) -> dict[str, MethodLayout]:
    return {layout.method: layout for table in tables for layout in table.layouts}


def method_labels(layouts: Mapping[str, MethodLayout]) -> dict[str, str]:
    """Return what people call each method, by its name; a label that two methods share is nobody's.

    >>> layout = MethodLayout(method="meta", kind="direct", presentations=(), options=(), correct=(), label="Meta")
    >>> method_labels({"meta": layout})
    {'meta': 'Meta'}
    """
    shown = [layout.label for layout in layouts.values()]
    return {
        name: layout.label
        for name, layout in layouts.items()
        if layout.label and shown.count(layout.label) == 1 and layout.label not in layouts
    }


def glosses_of(tables: Sequence[ScoredFrame], labels: Mapping[str, str]) -> dict[str, str]:
    """Return what each method measures, in a few words, by what people call it; of methods that score something."""
    corpora: dict[str, dict[str, list[str]]] = {}
    for table in tables:
        definitions = table.signature.get("methods", {})
        for layout in table.layouts:
            glosses = corpora.setdefault(labels.get(layout.method, f"`{layout.method}`"), {})
            known = glosses.setdefault(html_as_text(_gloss(layout, definitions.get(layout.method, {}))), [])
            if table.corpus not in known and has_numbers(table, layout.method):
                known.append(table.corpus)
    texts = {name: {gloss: of for gloss, of in glosses.items() if of} for name, glosses in corpora.items()}
    return {
        name: "; ".join(
            gloss if len(glosses) == 1 else f"on {html_as_text(names(of))}: {gloss}" for gloss, of in glosses.items()
        )
        for name, glosses in texts.items()
        if glosses
    }


def _gloss(layout: MethodLayout, definition: Mapping[str, Any]) -> str:
    if label := definition.get("imported", {}).get("label"):
        return f"{LOG_P}; {label}" if is_string_logprob(layout.method) else f"{label} (imported)"
    if layout.kind == "direct":
        formula = str(definition.get("formula", "")) or layout.unit_in_words
        return LOG_P if is_string_logprob(layout.method) else f"{formula} (N tokens)" if "N" in formula else formula
    if layout.kind == "prediction":
        answers = "the word itself"
    elif layout.kind == "rating":
        answers = f"the answers {layout.options[0]} to {layout.options[-1]}"
    elif all(option.endswith(("_good", "_bad")) for option in layout.options):
        answers = "the two sides as answers"
    else:
        answers = f"the answers {', '.join(layout.options)}"
    orders = "both orders" if shows_both(layout) and layout.asked == "all" else "one order"
    question = {
        "forced_choice": f"a question about both sides, in {orders}",
        "judgment": "a question about each side alone",
        "rating": "a question about each side alone",
        "prediction": "a question about the next word",
    }[layout.kind]
    reading = {
        "options": f"probabilities of {answers}",
        "generation": "the answer is read from written text",
        "decision": "only the decision is known",
    }[layout.readout]
    return f"{question}; {reading}"


def question_of(summary: pd.DataFrame, tables: Sequence[ScoredFrame]) -> str:
    """Return the title of a report that has none: a question about what it contains."""
    layouts, models = layouts_of(tables).values(), list(dict.fromkeys(table.model for table in tables))
    kinds = {
        "log-probabilities": any(layout.is_of_probability and not layout.is_answer for layout in layouts),
        "prompted answers": any(layout.is_answer for layout in layouts),
    }
    scores = " and ".join(kind for kind, has_any in kinds.items() if has_any) or "scores"
    corpora = names(dict.fromkeys(table.corpus for table in tables), most=3)
    who = models[0] if len(models) == 1 else f"{len(models):,} models"
    if ((summary["metric"] == "accuracy") & summary["value"].notna()).any():
        return f"How accurate are the {scores} of {who} on {corpora}?"
    return f"What are the {scores} of {who} on {corpora}?"


def facts_of(summary: pd.DataFrame, tables: Sequence[ScoredFrame]) -> Facts:
    layouts = layouts_of(tables)
    own = own_accuracies(summary, layouts)
    return Facts(tables=tables, summary=summary, own=own, labels=method_labels(layouts), layouts=layouts)


def own_accuracies(summary: pd.DataFrame, layouts: Mapping[str, MethodLayout]) -> pd.DataFrame:
    """Return the accuracy of each method by its paper's own definition: averaged, or of presentations pooled."""
    is_pooled = summary["method"].isin([name for name, layout in layouts.items() if layout.accuracy == "pooled"])
    averages = summary[(summary["metric"] == "accuracy") & ~is_pooled]
    shares = by_place(summary, layouts)
    keys = pd.MultiIndex.from_frame(summary[KEYS])
    is_pooled |= keys.isin(shares.index)
    of_method = ((summary["metric"] == "accuracy") & ~is_pooled) | ((summary["metric"] == POOLED) & is_pooled)
    accuracies = summary.assign(first_option=shares.reindex(keys).to_numpy(dtype=float))
    place = [*KEYS, "group_by", "group"]
    of_paper = averages.set_index(place)["value"].reindex(pd.MultiIndex.from_frame(accuracies[place]))
    averaged = np.where(accuracies["first_option"].notna(), of_paper.to_numpy(dtype=float), np.nan)
    is_shown = of_method | (summary["metric"] == "human_accuracy")
    return accuracies.assign(averaged=averaged)[is_shown].reset_index(drop=True)


@analysis(title="Accuracy of direct and prompted scores", prefix="")
def overview(
    tables: Sequence[ScoredFrame], _context: Context, *, summary: pd.DataFrame, left_out: Sequence[str] | None = None
) -> Result:
    """Return the accuracies of all models by their papers' definitions; `left_out`: what that check found, if known."""
    facts = facts_of(wider(summary), tables)
    left_out = sentences(facts, "left out") if left_out is None else left_out
    of_all, own = where(facts.summary[facts.summary["value"].notna()], group_by="all"), facts.own
    whole = where(own[own["value"].notna()], group_by="all")
    people, is_biased = whole["method"] == HUMAN, whole["first_option"].notna()
    kinds = _kinds(whole[~people & ~is_biased], facts.layouts)
    sentence_tables = {"sentences": _sentence_table(facts)}
    if len(long := sentence_tables["sentences"]) > MOST_LINES:
        sentence_tables["sentences_by_method"] = _sentences_by_method(of_all, facts.labels, long)
    sentence_tables = {name: table for name, table in sentence_tables.items() if len(table)}
    by_condition = _sentence_table(facts, group_by=CONDITION, metrics=OF_CONDITIONS)
    without = {
        table.corpus for table in tables if table.n_rows and flagged(table.part(["flags"]), "flags", NO_TRUTH).all()
    }
    of_corpus = {
        table.corpus: (table.signature.get("corpus", {}).get("manifest") or {}).get("facts") or {} for table in tables
    }
    return Result(
        tables={"accuracies": _first_table(own)} | sentence_tables | {"conditions": by_condition},
        second_table="conditions" if len(by_condition) else "",
        main_table=next(reversed(sentence_tables), "accuracies") if own.empty else "accuracies",
        charts=[*overview_charts(facts)],
        values={
            "whole": whole,
            "kinds": {kind: rows for kind, rows in kinds.items() if len(rows)},
            "compared": kinds["direct"].merge(kinds["prompted"], on=["model", "corpus"], suffixes=("", "_prompted")),
            "unbiased": whole[~people & ~is_biased],
            "biased": whole[is_biased],
            "n_prompted": len(kinds["prompted"]) + int(is_biased.sum()),
            "raters": whole[people].drop_duplicates(["corpus", "value"]),
            "correlations": {
                metric: {"rows": rows, "kinds": _kinds(rows, facts.layouts)}
                for metric in ("pearson_human", "pearson_human_sentence")
                if len(rows := where(of_all, metric=metric))
            },
            "without": [corpus for corpus in dict.fromkeys(table.corpus for table in tables) if corpus in without],
            "labels": facts.labels,
            "ratings": [name for name, layout in facts.layouts.items() if layout.kind == "rating"],
            "of_all": of_all,
            "rater_facts": {corpus: text for corpus, fact in of_corpus.items() if (text := fact.get("raters"))},
            "checks": "\n\n".join((*sentences(facts, "footnote"), *left_out)),
            "picks": picks,
        }
        | _draws(whole[whole["low"].notna()], tables),
    )


def _kinds(rows: pd.DataFrame, layouts: Mapping[str, MethodLayout]) -> dict[str, pd.DataFrame]:
    """Return rows by what their methods are: direct, another function of probability, another score, prompted."""
    known = [layouts.get(method) for method in rows["method"]]
    direct = is_reference(rows)
    prompted, likely = (
        pd.Series([layout is not None and getattr(layout, name) for layout in known], index=rows.index, dtype=bool)
        for name in ("is_answer", "is_of_probability")
    )
    others = ~direct & ~prompted
    return {
        "direct": rows[direct],
        "likely": rows[others & likely],
        "other": rows[others & ~likely],
        "prompted": rows[prompted],
    }


def _draws(whole: pd.DataFrame, tables: Sequence[ScoredFrame]) -> dict[str, Any]:
    """Return what intervals are about: paradigms like these where they can be the draws, else these very ones."""
    if "n_paradigms" not in whole.columns:
        return {"nested": whole.head(0), "of_items": {}}
    nested = whole[whole["n_paradigms"] > 0]
    reasons = {}
    for corpus, table in {table.corpus: table for table in tables}.items():
        labels = table.part([PARADIGM]).get(PARADIGM, [None] * table.n_rows)
        reasons[corpus] = why_not_drawn(np.asarray(labels, dtype=object))
    of_items = set(whole["corpus"]) - set(nested["corpus"])
    by_reason: dict[str, list[str]] = {}
    for corpus, reason in reasons.items():
        if corpus in of_items:
            by_reason.setdefault(reason, []).append(corpus)
    return {
        "nested": nested,
        "is_all": not any(reasons.get(corpus) for corpus in set(nested["corpus"])),
        "of_items": {reason: whole[whole["corpus"].isin(corpora)] for reason, corpora in by_reason.items()},
    }


def _sentence_table(facts: Facts, *, group_by: str = "all", metrics: Mapping[str, str] = OF_SENTENCES) -> pd.DataFrame:
    """Return how scores of single sentences go with labels and people: one row per model, corpus, method and group."""
    corpora = {
        table.corpus
        for table in facts.tables
        if "task" in table.column_names and (table.part(["task"])["task"] == SENTENCE).all()
    }
    shown = where(facts.summary, group_by=group_by)
    shown = shown[shown["corpus"].isin(corpora)]
    of_people = shown["method"] == HUMAN
    shown = shown.assign(model=shown["model"].mask(of_people, PEOPLE), method=shown["method"].mask(of_people, ""))
    if group_by == CONDITION:
        shown = pd.concat([shown[of_people], shown[~of_people]])
        shown = shown.sort_values(["corpus", "model", "method"], key=lambda x: pd.factorize(x)[0], kind="stable")
    rows = Rows()
    for group in groups(shown, "model", "corpus", "method", "group"):
        known = {row["metric"]: row for row in group.rows if row["metric"] in metrics}
        if not known:
            continue
        model, corpus, method, name = group.key
        n = max(int(row["n"]) for row in known.values())
        names_ = {"model": model, "corpus": corpus, "method": facts.labels.get(method, method)}
        names_ |= {CONDITION: name, "n": n} if group_by == CONDITION else {"n": n}
        rows.append(names_ | {name: cell(known[metric], n=n) for metric, name in metrics.items() if metric in known})
    table = pd.DataFrame(rows)
    order = ["model", "corpus", "method", CONDITION, "n", *dict.fromkeys(metrics.values())]
    return table[[name for name in order if name in table.columns]].fillna("")


def _sentences_by_method(of_all: pd.DataFrame, labels: Mapping[str, str], long: pd.DataFrame) -> pd.DataFrame:
    """Return a column per method: AUC where sentences of a corpus have labels, else r with people."""
    shown = of_all[
        of_all["corpus"].isin(set(long["corpus"])) & of_all["metric"].isin(["auc", "pearson_human_sentence"])
    ]
    labelled = set(where(shown, metric="auc")["corpus"])
    shown = shown[(shown["metric"] == "auc") | ~shown["corpus"].isin(labelled)]
    few = shown["method"].nunique() <= MOST_INTERVALS
    cells = [with_interval(row, interval=few) for _, row in shown.iterrows()]
    shown = shown.assign(measure=shown["metric"].map(OF_SENTENCES), shown=cells)
    return _column_per_method(shown, ["corpus", "measure", "model"], labels, n=_n_of_row).fillna("")


def _column_per_method(
    rows: pd.DataFrame, keys: list[str], labels: Mapping[str, str], *, n: Callable[[pd.DataFrame], Any]
) -> pd.DataFrame:
    """Return the texts `shown` with a row per value of the keys, with its n, and a column per method."""
    rows = rows.assign(method=[labels.get(method, method) for method in rows["method"]])
    wide = rows.pivot_table(index=keys, columns="method", values="shown", aggfunc="first", sort=False)
    wide.insert(0, "n", pd.Series({group.key: n(group.frame) for group in groups(rows, *keys)})[wide.index])
    return wide.reset_index().rename_axis(columns=None)


def cell(row: Mapping[str, Any] | pd.Series[Any], *, n: int | str, interval: bool = True) -> str:
    """Return an accuracy with its own n, where that is not the row's, and a mark where it has position bias."""
    mark = "" if pd.isna(row.get("first_option")) else f" {MARK}"
    own_n = f" (n = {row['n']:,})" if row["n"] != n else ""
    return with_interval(row, interval=interval) + own_n + mark


def _first_table(own: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracies of whole corpora, in a shape that fits a page.

    One row per model and corpus, one column per method; one row per corpus where these would fill more than a page; of
    many methods one row per corpus and method.
    """
    whole = where(own, group_by="all")
    if whole["method"].nunique() > MOST_METHODS:
        return _row_per_method(whole)
    methods = list(dict.fromkeys(whole["method"]))
    of_models = len(whole[["model", "corpus"]].drop_duplicates()) <= MOST_LINES
    keys = ["model", "corpus"] if of_models else ["corpus"]
    rows = Rows()
    for group in groups(whole, *keys):
        known = group.frame if of_models else group.frame[group.frame["value"].notna()]
        row: dict[str, Any] = group.place | {"n": _n_of_row(known, is_range=not of_models)}
        for method in methods:
            values = where(group.frame, method=method)
            if len(values) == 1 or of_models:
                shown = (cell(x, n=row["n"], interval=len(methods) <= MOST_INTERVALS) for _, x in values.iterrows())
                row[method] = "".join(shown)
            else:
                row[method] = span(values["value"].dropna())
        rows.append(row)
    return pd.DataFrame(rows, columns=[*keys, "n", *methods]).rename(columns={HUMAN: PEOPLE})


def _n_of_row(rows: pd.DataFrame, *, is_range: bool = True) -> int | str:
    """Return the n of a table's row: of the numbers it shows as a range, or the largest where cells give their own."""
    if rows.empty or not is_range or rows["n"].nunique() == 1:
        return int(rows["n"].max()) if len(rows) else 0
    return counts(rows["n"])


def _row_per_method(whole: pd.DataFrame) -> pd.DataFrame:
    """Return one row per corpus and method: a column per model, or the lowest and the highest of many models."""
    models = list(dict.fromkeys(whole["model"]))
    few = len(models) <= MOST_MODELS
    people = where(whole, method=HUMAN).drop_duplicates("corpus").set_index("corpus")
    rows = Rows()
    for group in groups(whole[whole["method"] != HUMAN], "corpus", "method"):
        corpus, method = group.key
        row: dict[str, Any] = {"corpus": corpus, "method": method, "n": _n_of_row(group.frame, is_range=False)}
        if few:
            interval = len(models) <= MOST_INTERVALS
            row |= {x["model"]: cell(x, n=row["n"], interval=interval) for _, x in group.frame.iterrows()}
        else:
            ordered = group.frame[group.frame["value"].notna()].sort_values("value", kind="stable")
            ends = {"min": ordered.head(1), "max": ordered.tail(1)}
            for name, end in ends.items():  # an interval for a model chosen beforehand would mislead
                of_model = [f"{with_interval(x, interval=False)} ({x['model']})" for _, x in end.iterrows()]
                row[name] = of_model[0] if of_model else MISSING
            row["n"] = _n_of_row(pd.concat(ends.values()) if len(ordered) else group.frame)
        if corpus in people.index and corpus not in {other["corpus"] for other in rows}:
            row[PEOPLE] = cell(people.loc[corpus], n=row["n"])
        rows.append(row)
    shown = ["corpus", "method", "n", *(models if few else ("min", "max")), *([PEOPLE] if len(people) else [])]
    return pd.DataFrame(rows, columns=shown).fillna("")


@analysis(title="Accuracy by phenomenon")
def phenomena(_tables: Sequence[ScoredFrame], _context: Context, *, facts: Facts) -> Result:
    """Return accuracies by phenomenon of every corpus that names 2 to `MOST_CELLS`."""
    known = facts.own[(facts.own["method"] != HUMAN) & facts.own["value"].notna()]
    known = where(known, group_by="phenomenon")
    n_groups = known.groupby("corpus", sort=False)["group"].nunique()
    known = known[known["corpus"].isin(n_groups.index[n_groups.between(2, MOST_CELLS)])]
    table = pd.DataFrame()
    if len(known):
        known = known.assign(shown=[cell(row, n=row["n"]) for _, row in known.iterrows()])
        table = _column_per_method(known, ["corpus", "group", "model"], facts.labels, n=lambda rows: rows["n"].max())
    is_short = len(table) <= MOST_PHENOMENA
    has_marks = is_short and len(known) > 0 and bool(known["first_option"].notna().any())
    return Result(
        tables={"accuracies": table.rename(columns={"group": "phenomenon"})},
        main_table=None if is_short else "",
        charts=[chart for group in groups(known, "corpus") for chart in _phenomena_charts(group.key[0], group.frame)],
        values={"known": known, "bias_note": BIAS_NOTE if has_marks else ""},
    )


def _phenomena_charts(corpus: str, rows: pd.DataFrame) -> Iterator[Chart]:
    """Yield dots with intervals: of one model its methods; of several, a figure per method."""
    sizes = rows.groupby("group", sort=False)["n"].max()
    rows = rows.assign(where=[f"{group} (n = {sizes[group]:,})" for group in rows["group"]])
    several = rows["model"].nunique() > 1
    series = "model" if several else "method"
    for method, part in [(group.key[0], group.frame) for group in groups(rows, "method")] if several else [("", rows)]:
        is_map = part[series].nunique() > MOST_SERIES
        if is_map:
            matrix = part.pivot_table(index="where", columns=series, values="value", sort=False)
            draw = partial(heat_map, matrix, value_label="accuracy", limits=(0, 1), diverging=False)
        else:
            style: dict[str, Any] = {"x_label": "accuracy", "chance": 0.5, "limits": (0.0, 1.0)}
            draw = partial(intervals, part, rows="where", series=series, **style)
        values = {"corpus": corpus, "method": method, "is_map": is_map}
        yield Chart(name=f"{corpus} {method}".strip(), caption="by_phenomenon", draw=draw, values=values)
