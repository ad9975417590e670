"""The section that every report has: accuracy of every model, method, corpus and phenomenon.

In: the long summary and the scored tables; out, a section whose answer is two sentences, whose first table fits a page,
and whose figures have captions that a reader can quote. A line over several models shows their range, no mean alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pairbank.builders.schema.columns import IDENTICAL_SIDES, NO_TRUTH
from pairbank.markdown import html_as_text
from pairbank.scoring.api.layout import MethodLayout
from pairbank.scoring.api.names import SENTENCE, is_string_logprob
from pairbank.stats.analyses.base import Section
from pairbank.stats.estimates.bootstrap import why_not_drawn, wider
from pairbank.stats.estimates.estimate import HUMAN
from pairbank.stats.figures.charts import MOST_CELLS, MOST_SERIES, file_name, heat_map, intervals, n_text
from pairbank.stats.figures.style import Figure
from pairbank.stats.report.cautions import (
    KEYS,
    POOLED,
    below_chance_notes,
    by_place,
    has_numbers,
    picks,
    unparsed_notes,
)
from pairbank.stats.report.overview_figures import PEOPLE, WITH_PEOPLE, overview_figures, people_text
from pairbank.stats.scored_table.method_scores import BIAS_NOTE, MARK, ScoredFrame, flagged, shows_both
from pairbank.stats.scored_table.scored_table import PARADIGM, is_reference
from pairbank.stats.wording import MISSING, capitalised, counts, inflect, n_items, names, percent, span, with_interval

LOG_P = "log P of the sentence, or of the target given its context, summed over tokens"
OF_SENTENCES = {"auc": "AUC", "mcc": "MCC", "acceptance": "says yes", "pearson_human_sentence": "r with people"}
"""Metrics of single sentences on the first page, and their headings there."""
MOST_LINES = 25
"""Of the table on the first page; a longer one becomes a line a corpus, with the range over models."""
MOST_INTERVALS = 4
"""Methods, or models, beside whose accuracies the first page has room for intervals."""
MOST_METHODS, MOST_MODELS = 6, 6
"""Columns of the table on the first page: more methods are lines, of more models the lowest and highest stand."""


def labels_of(tables: Sequence[ScoredFrame]) -> dict[str, str]:
    """Return what people call each method, by its name; a label that two methods share is nobody's.

    >>> layout = MethodLayout(method="meta", kind="direct", presentations=(), options=(), correct=(), label="Meta")
    >>> labels_of([ScoredFrame(corpus="c", model="m", frame=pd.DataFrame(), layouts=(layout,), signature={})])
    {'meta': 'Meta'}
    """
    layouts = layouts_of(tables)
    shown = [layout.label for layout in layouts.values()]
    return {
        name: layout.label
        for name, layout in layouts.items()
        if layout.label and shown.count(layout.label) == 1 and layout.label not in layouts
    }


def glosses_of(tables: Sequence[ScoredFrame]) -> dict[str, str]:
    """Return what each method measures, in a few words, by what people call it; of methods that score something.

    >>> layout = MethodLayout(method="meta", kind="forced_choice", presentations=("a", "b"), options=("1", "2"),
    ...                       correct=(0, 1), label="Meta")
    >>> frame = pd.DataFrame({"meta_delta": [0.5]})
    >>> glosses_of([ScoredFrame(corpus="c", model="m", frame=frame, layouts=(layout,), signature={})])
    {'Meta': 'a question about both sides, in both orders; probabilities of the answers 1, 2'}
    """
    labels = labels_of(tables)
    corpora: dict[str, dict[str, list[str]]] = {}
    for table in tables:
        definitions = table.signature.get("methods", {})
        for layout in table.layouts:
            name = labels.get(layout.method, f"`{layout.method}`")
            gloss = html_as_text(_gloss(layout, definitions.get(layout.method, {})))
            known = corpora.setdefault(name, {}).setdefault(gloss, [])
            if table.corpus not in known and has_numbers(table, layout.method):
                known.append(table.corpus)
    texts = {name: {gloss: own for gloss, own in glosses.items() if own} for name, glosses in corpora.items()}
    return {
        name: "; ".join(
            gloss if len(glosses) == 1 else f"on {html_as_text(names(own))}: {gloss}" for gloss, own in glosses.items()
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


def overview_section(summary: pd.DataFrame, tables: Sequence[ScoredFrame]) -> Section:
    """Return the section on accuracy, each method's by the definition of its paper."""
    layouts, labels = layouts_of(tables), labels_of(tables)
    summary = wider(summary)
    own_values = own_accuracies(summary, layouts)
    without = [
        table.corpus for table in tables if table.n_rows and flagged(table.part(["flags"]), "flags", NO_TRUTH).all()
    ]
    besides = list(_besides(summary, without=list(dict.fromkeys(without))))
    besides[:0] = [message for metric in WITH_PEOPLE if (message := people_text(summary, layouts, labels, metric))]
    footnotes = [BIAS_NOTE] if own_values["first_option"].notna().any() else []
    if ratings := [labels.get(name, f"`{name}`") for name, layout in layouts.items() if layout.kind == "rating"]:
        footnotes.append(f"Ratings ({', '.join(ratings)}) are compared by their expected value, not the likeliest one.")
    footnotes += [*unparsed_notes(summary, labels), *below_chance_notes(own_values, layouts, labels)]
    if wording := _draws(own_values, tables):
        footnotes.append(wording)
    footnotes += [*_identical(tables), *_label_notes(summary), *_raters(tables)]
    of_single = _sentence_table(summary, tables, labels)
    by_method = _sentences_by_method(summary, of_single, labels)
    sentences = {"sentences": of_single} if len(of_single) else {}
    if len(of_single) > MOST_LINES and len(by_method):
        sentences["sentences_by_method"] = by_method
    return Section(
        id="overview",
        title="Accuracy of direct and prompted scores",
        text="",
        answer=_answer(own_values, layouts, labels, besides=besides),
        tables={"accuracies": _first_table(own_values)} | sentences,
        main_table=next(reversed(sentences), "accuracies") if own_values.empty else "accuracies",
        footnotes=tuple(footnotes),
        figures=overview_figures(summary, own_values, tables),
    )


def own_accuracies(summary: pd.DataFrame, layouts: Mapping[str, MethodLayout]) -> pd.DataFrame:
    """Return the accuracy of each method by its paper's own definition: averaged, or of presentations pooled."""
    is_pooled = summary["method"].isin([name for name, layout in layouts.items() if layout.accuracy == "pooled"])
    averages = summary[(summary["metric"] == "accuracy") & ~is_pooled]
    shares = by_place(summary, layouts)
    keys = pd.MultiIndex.from_frame(summary[KEYS])
    is_pooled |= keys.isin(shares.index)
    of_method = ((summary["metric"] == "accuracy") & ~is_pooled) | ((summary["metric"] == POOLED) & is_pooled)
    result = summary.assign(first_option=shares.reindex(keys).to_numpy(dtype=float))
    place = [*KEYS, "group_by", "group"]
    of_paper = averages.set_index(place)["value"].reindex(pd.MultiIndex.from_frame(result[place])).to_numpy(dtype=float)
    result = result.assign(averaged=np.where(result["first_option"].notna(), of_paper, np.nan))
    return result[of_method | (summary["metric"] == "human_accuracy")].reset_index(drop=True)


def layouts_of(tables: Sequence[ScoredFrame]) -> dict[str, MethodLayout]:
    """Return the methods of all tables, by name."""
    return {layout.method: layout for table in tables for layout in table.layouts}


def _answer(
    own: pd.DataFrame, layouts: Mapping[str, MethodLayout], labels: Mapping[str, str], *, besides: Sequence[str]
) -> str:
    """Return accuracy by probability and by prompts, how often which is higher, position bias, and people.

    `besides` follows, or replaces it: of corpora without truth, of items with one side.
    """
    whole = own[(own["group_by"] == "all") & own["value"].notna()]
    if whole.empty:
        return html_as_text("\n\n".join(besides)) or "No accuracy: no item with two sides was scored."
    requested = whole["method"].map(lambda name: name in layouts and layouts[name].is_answer)
    people, biased = whole["method"] == HUMAN, whole["first_option"].notna()
    by_string = is_reference(whole)
    direct, prompted = whole[by_string], whole[requested & ~biased]
    likely = whole["method"].map(lambda name: name in layouts and layouts[name].is_of_probability)
    by_other = ~requested & ~people & ~by_string
    kinds = (
        ("direct log-probabilities", direct),
        ("other functions of probability", whole[by_other & likely]),
        ("other scores", whole[by_other & ~likely]),
        ("prompted answers", prompted),
    )
    shown = [(kind, _values(part)) for kind, part in kinds if len(part)]
    texts = []
    if shown:
        first, *others = (
            f"{kind} favour the better side in {values} of items" if nth == 0 else f"{kind} in {values}"
            for nth, (kind, values) in enumerate(shown)
        )
        texts.append(f"{'; '.join([capitalised(first), *others])} ({_where(whole[~people & ~biased])}).")
    texts += [*_compared(direct, prompted), *_biased(whole[biased], labels, n_asked=int(requested.sum()))]
    raters = whole[people].drop_duplicates(["corpus", "value"])
    if len(raters):
        several = raters["corpus"].nunique() > 1
        n = f" ({f'{_corpora(raters)}, ' if several else ''}{n_items(raters['n'])})"
        besides = [f"Human judgments favour the better side in {_values(raters)}{n}.", *besides]
    return html_as_text("\n\n".join(part for part in (" ".join(texts), *besides) if part))


def _compared(direct: pd.DataFrame, prompted: pd.DataFrame) -> Iterator[str]:
    """Yield in how many comparisons of one model on one corpus direct scores are more accurate: intervals are apart."""
    both = direct.merge(prompted, on=["model", "corpus"], suffixes=("", "_prompted"))
    if len(both) > 1:
        higher, lower = (both["low"] > both["high_prompted"]).sum(), (both["high"] < both["low_prompted"]).sum()
        of = f"{higher} of {len(both)} comparisons with a prompt"
        yield f"Intervals favour direct scores in {of}, prompts in {lower} (others inconclusive)."


def _biased(part: pd.DataFrame, labels: Mapping[str, str], *, n_asked: int) -> Iterator[str]:
    """Yield in which cases a model picks the same option whatever it stands for."""
    if len(part) == 1:
        (entry,) = part.to_dict("records")
        yield (
            f"With {labels.get(entry['method'], entry['method'])}, {entry['model']} {picks(entry['first_option'])} "
            f"({percent(entry['first_option'])} first; position bias): {with_interval(entry)} with orders pooled."
        )
    elif len(part):
        yield f"Left out for position bias ({MARK}): {len(part)} of {n_asked} prompted cases."


def _besides(summary: pd.DataFrame, *, without: Sequence[str]) -> Iterator[str]:
    """Yield what is to be said of corpora in which neither side is right, and of items with one side."""
    if without:
        yield f"In {' and '.join(without)} neither side of an item is right: no accuracy."
    yield from _of_labels(summary)
    words = summary[(summary["metric"] == "mean_logprob") & (summary["group_by"] == "all") & summary["value"].notna()]
    if len(words):
        corpora = ", ".join(dict.fromkeys(words["corpus"]))
        yield f"Mean log P of items with one side (a word or a sentence) is {_values(words)} nats ({corpora})."


def _draws(own: pd.DataFrame, tables: Sequence[ScoredFrame]) -> str:
    """Return what intervals are about: paradigms like these where they can be the draws, else these very ones."""
    whole = own[(own["group_by"] == "all") & own["low"].notna()]
    if "n_paradigms" not in whole.columns or whole.empty:
        return ""
    nested = whole[whole["n_paradigms"] > 0]
    reasons = {table.corpus: why_not_drawn(_paradigms(table)) for table in tables}
    parts = []
    if len(nested):
        is_all = not any(reasons.get(corpus) for corpus in set(nested["corpus"]))
        parts.append(
            f"Intervals of {_corpora(nested)} ({counts(nested['n_paradigms'])} paradigms) extend to new paradigms "
            f"like these{'' if is_all else ' where all items of a number have one'}; `summary.csv` has those over "
            "items, too."
        )
    if (all_right := nested["value"] == 1).any():
        unseen = percent(1 - nested.loc[all_right, "low_paradigms"].min())
        parts.append(
            f"Where all items are right, no failing paradigm has been seen; up to {unseen} of others may fail."
        )
    of_items = set(whole["corpus"]) - set(nested["corpus"])
    others = {corpus: reason for corpus, reason in reasons.items() if corpus in of_items}
    for reason in dict.fromkeys(others.values()):
        corpora = whole[whole["corpus"].isin([corpus for corpus in others if others[corpus] == reason])]
        about = f"Intervals of {_corpora(corpora)} are for new items of these paradigms, not for new ones"
        parts.append(f"{about}: {reason}." if reason else f"{about}.")
    return " ".join(parts)


def _paradigms(table: ScoredFrame) -> np.ndarray:
    """Return the paradigm of each item, None where a table has no such column."""
    labels = table.part([PARADIGM])
    return labels[PARADIGM].to_numpy(dtype=object) if PARADIGM in labels else np.full(table.n_rows, None)


def _identical(tables: Sequence[ScoredFrame]) -> Iterator[str]:
    """Yield how many items have identical sides, which no number counts, per corpus."""
    left_out: dict[str, tuple[int, int]] = {}
    for table in tables:
        n = int(flagged(table.part(["flags"]), "flags", IDENTICAL_SIDES).sum())
        left_out[table.corpus] = max(left_out.get(table.corpus, (0, 0)), (n, table.n_rows))
    for corpus, (n, of) in left_out.items():
        if n:
            sides = f"{inflect(n, 'has', 'have')} identical sides: not counted in n"
            yield f"Of the {of:,} items of {corpus}, {n:,} {sides}."


def _raters(tables: Sequence[ScoredFrame]) -> list[str]:
    """Return how many people rated a user's own items, and how many raters were excluded and why, a line per corpus."""
    facts = {
        table.corpus: (table.signature.get("corpus", {}).get("manifest") or {}).get("facts") or {} for table in tables
    }
    return [f"Ratings of {corpus}: {text}." for corpus, fact in facts.items() if (text := fact.get("raters"))]


def _corpora(rows: pd.DataFrame) -> str:
    corpora = list(dict.fromkeys(rows["corpus"]))
    return " and ".join(corpora) if len(corpora) <= 2 else f"{len(corpora)} corpora"


def _is_of_sentences(table: ScoredFrame) -> bool:
    """Return whether all items of a table are single sentences."""
    return "task" in table.column_names and bool((table.part(["task"])["task"] == SENTENCE).all())


def _sentence_table(summary: pd.DataFrame, tables: Sequence[ScoredFrame], labels: Mapping[str, str]) -> pd.DataFrame:
    """Return how scores of single sentences go with labels and people: a line per model, corpus and method."""
    corpora = {table.corpus for table in tables if _is_of_sentences(table)}
    whole = summary[(summary["group_by"] == "all") & summary["corpus"].isin(corpora)]
    rows: list[dict[str, Any]] = []
    for (model, corpus, method), part in whole.groupby(["model", "corpus", "method"], sort=False):
        known = {x["metric"]: x for _, x in part.iterrows()}
        n = max((int(row["n"]) for metric, row in known.items() if metric in OF_SENTENCES), default=0)
        cells = {name: cell(known[metric], n=n) for metric, name in OF_SENTENCES.items() if metric in known}
        place = {"model": model, "corpus": corpus, "method": labels.get(str(method), str(method)), "n": n}
        rows += [place | cells] if cells else []
    result = pd.DataFrame(rows)
    order = ["model", "corpus", "method", "n", *OF_SENTENCES.values()]
    return result[[name for name in order if name in result.columns]].fillna("")


def _sentences_by_method(summary: pd.DataFrame, long: pd.DataFrame, labels: Mapping[str, str]) -> pd.DataFrame:
    """Return a line per corpus and model, a column per method: AUC where sentences have labels, else r with people."""
    if long.empty:
        return long
    kinds = {"auc": OF_SENTENCES["auc"], "pearson_human_sentence": OF_SENTENCES["pearson_human_sentence"]}
    shown = summary[
        (summary["group_by"] == "all") & summary["corpus"].isin(set(long["corpus"])) & summary["value"].notna()
    ]
    shown = shown[shown["metric"].isin(kinds)]
    labelled = set(shown.loc[shown["metric"] == "auc", "corpus"])
    shown = shown[(shown["metric"] == "auc") | ~shown["corpus"].isin(labelled)]
    if shown.empty:
        return long.head(0)
    keys = ["corpus", "measure", "model"]
    cells = shown.assign(
        measure=shown["metric"].map(kinds),
        method=[labels.get(name, name) for name in shown["method"]],
        shown=[with_interval(row, interval=shown["method"].nunique() <= MOST_INTERVALS) for _, row in shown.iterrows()],
    )
    wide = cells.pivot_table(index=keys, columns="method", values="shown", aggfunc="first", sort=False)
    wide.insert(0, "n", pd.Series({key: _n_of_row(part) for key, part in cells.groupby(keys, sort=False)})[wide.index])
    return wide.reset_index().rename_axis(columns=None).fillna("")


def _of_labels(summary: pd.DataFrame) -> Iterator[str]:
    """Yield how well scores and answers of single sentences tell acceptable from unacceptable ones."""
    whole = summary[(summary["group_by"] == "all") & summary["value"].notna()]
    for metric, text in (
        ("auc", "Area under the ROC curve (AUC) of scores of acceptable against unacceptable sentences:"),
        ("answer_accuracy", "Balanced accuracy of yes-no answers:"),
    ):
        if len(rows := whole[whole["metric"] == metric]):
            yield f"{text} {_values(rows)} ({_where(rows)})."


def _label_notes(summary: pd.DataFrame) -> Iterator[str]:
    """Yield what the two measures of single sentences compare, of those that the page has."""
    known = set(summary.loc[(summary["group_by"] == "all") & summary["value"].notna(), "metric"])
    if "auc" in known:
        yield (
            "AUC: share of all pairs of one acceptable and one unacceptable sentence in which the acceptable one "
            "scores higher. It uses the order of the scores alone, without a threshold; 0.50 is chance."
        )
    if "answer_accuracy" in known:
        yield (
            "Balanced accuracy: mean of the share of acceptable sentences with the answer yes and the share of "
            "unacceptable ones with no. The threshold is the model's own; 0.50 is chance."
        )


def _where(part: pd.DataFrame) -> str:
    """Return the corpora, and how many items the numbers rest on."""
    models, corpora = list(dict.fromkeys(part["model"])), list(dict.fromkeys(part["corpus"]))
    who = models[0] if len(models) == 1 else f"{len(models)} models"
    return f"{who}, {corpora[0] if len(corpora) == 1 else f'{len(corpora)} corpora'}, {n_items(part['n'])}"


def _values(part: pd.DataFrame) -> str:
    """Return one value with its interval, or the smallest and the largest."""
    return with_interval(part.iloc[0]) if len(part) == 1 else span(part["value"])


def _n(row: Mapping[str, Any] | pd.Series[Any], *, said: bool) -> list[str]:
    return [f"n = {row['n']:,}"] if said else []


def cell(row: Mapping[str, Any] | pd.Series[Any], *, n: int | str, interval: bool = True) -> str:
    """Return an accuracy with its own n, where that is not the row's, and a mark where it has position bias."""
    mark = "" if pd.isna(row.get("first_option")) else f" {MARK}"
    n_text = _n(row, said=row["n"] != n)
    return with_interval(row, interval=interval) + (f" ({n_text[0]})" if n_text else "") + mark


def _first_table(own: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracies of whole corpora, in a shape that fits a page.

    A line a model and corpus, a column a method; a line a corpus where these would fill more than a page; of many
    methods a line a corpus and method.
    """
    whole = own[own["group_by"] == "all"]
    if whole["method"].nunique() > MOST_METHODS:
        return _by_method(whole)
    methods = list(dict.fromkeys(whole["method"]))
    of_models = len(whole[["model", "corpus"]].drop_duplicates()) <= MOST_LINES
    keys = ["model", "corpus"] if of_models else ["corpus"]
    rows: list[dict[str, Any]] = []
    for place, part in whole.groupby(keys, sort=False):
        known = part if of_models else part[part["value"].notna()]
        row: dict[str, Any] = {**dict(zip(keys, place, strict=True)), "n": _n_of_row(known, is_range=not of_models)}
        for method in methods:
            values = part[part["method"] == method]
            if len(values) == 1 or of_models:
                shown = (cell(x, n=row["n"], interval=len(methods) <= MOST_INTERVALS) for _, x in values.iterrows())
                row[method] = "".join(shown)
            else:
                row[method] = span(values["value"].dropna())
        rows.append(row)
    return pd.DataFrame(rows, columns=[*keys, "n", *methods]).rename(columns={HUMAN: PEOPLE})


def _n_of_row(part: pd.DataFrame, *, is_range: bool = True) -> int | str:
    """Return the n of a table's row: of the numbers it shows as a range, or the largest where cells give their own."""
    if part.empty or not is_range or part["n"].nunique() == 1:
        return int(part["n"].max()) if len(part) else 0
    return counts(part["n"])


def _by_method(whole: pd.DataFrame) -> pd.DataFrame:
    """Return a line a corpus and method: a column a model, or the lowest and the highest of many models."""
    models = list(dict.fromkeys(whole["model"]))
    apart = len(models) <= MOST_MODELS
    people = whole[whole["method"] == HUMAN].drop_duplicates("corpus")
    shown = ["corpus", "method", "n", *(models if apart else ("min", "max"))]
    rows: list[dict[str, Any]] = []
    for (corpus, method), part in whole[whole["method"] != HUMAN].groupby(["corpus", "method"], sort=False):
        row: dict[str, Any] = {"corpus": str(corpus), "method": method, "n": _n_of_row(part, is_range=False)}
        if apart:
            few = len(models) <= MOST_INTERVALS
            row |= {x["model"]: cell(x, n=row["n"], interval=few) for _, x in part.iterrows()}
        else:
            ordered = part[part["value"].notna()].sort_values("value", kind="stable")
            row |= _extremes(ordered) | {"n": _n_of_row(ordered.iloc[[0, -1]] if len(ordered) else part)}
        selected = people[people["corpus"] == corpus]
        if len(selected) and all(entry["corpus"] != corpus for entry in rows):
            row[PEOPLE] = cell(selected.iloc[0], n=row["n"])
        rows.append(row)
    return pd.DataFrame(rows, columns=[*shown, *([PEOPLE] if len(people) else [])]).fillna("")


def _extremes(ordered: pd.DataFrame) -> dict[str, str]:
    """Return the lowest and the highest number, and whose: an interval for a model chosen beforehand would mislead."""
    if ordered.empty:
        return dict.fromkeys(("min", "max"), MISSING)
    ends = {"min": ordered.iloc[0], "max": ordered.iloc[-1]}
    return {name: f"{with_interval(row, interval=False)} ({row['model']})" for name, row in ends.items()}


MOST_PHENOMENA = 15
"""Of the table on a first page: a longer one stands in the appendix."""


def phenomena_section(own: pd.DataFrame, labels: Mapping[str, str]) -> Section | None:
    """Return accuracies by phenomenon of every corpus that names 2 to `MOST_CELLS`; None where no corpus does."""
    result = own[(own["group_by"] == "phenomenon") & (own["method"] != HUMAN) & own["value"].notna()]
    n_groups = result.groupby("corpus", sort=False)["group"].nunique()
    shown = n_groups[n_groups.between(2, MOST_CELLS)]
    result = result[result["corpus"].isin(shown.index)]
    if result.empty:
        return None
    corpora = "; ".join(
        f"{corpus}: {n} phenomena, {n_text(result.loc[result['corpus'] == corpus, 'n'])} items each"
        for corpus, n in shown.items()
    )
    table = _table(result, labels)
    return Section(
        id="phenomena",
        title="Accuracy by phenomenon",
        text="",
        answer=f"{corpora}. Each interval is for one phenomenon: the extremes of several are partly chance.",
        tables={"accuracies": table},
        main_table="accuracies" if len(table) <= MOST_PHENOMENA else "",
        footnotes=(BIAS_NOTE,) if len(table) <= MOST_PHENOMENA and result["first_option"].notna().any() else (),
        figures=tuple(_figures(result)),
    )


def _table(result: pd.DataFrame, labels: Mapping[str, str]) -> pd.DataFrame:
    """Return a line a corpus, phenomenon and model, a column a method; pooled orders are marked as in the overview."""
    cells = result.assign(
        shown=[cell(row, n=row["n"]) for _, row in result.iterrows()],
        method=[labels.get(name, name) for name in result["method"]],
    )
    keys = ["corpus", "group", "model"]
    n = cells.groupby(keys, sort=False)["n"].max()
    wide = cells.pivot_table(index=keys, columns="method", values="shown", aggfunc="first", sort=False)
    wide.insert(0, "n", n.reindex(wide.index))
    return wide.reset_index().rename(columns={"group": "phenomenon"}).rename_axis(columns=None)


def _figures(result: pd.DataFrame) -> Iterator[Figure]:
    """Yield dots with intervals: of one model its methods; of several, a figure a method."""
    for corpus, part in result.groupby("corpus", sort=False):
        sizes = part.groupby("group", sort=False)["n"].max()
        named = part.assign(where=[f"{group} (n = {sizes[group]:,})" for group in part["group"]])
        several = named["model"].nunique() > 1
        for method, own_values in named.groupby("method", sort=False) if several else [("", named)]:
            series = "model" if several else "method"
            text = f"Accuracy by phenomenon of {corpus}{f', `{method}`' if several else ''}: "
            if own_values[series].nunique() > MOST_SERIES:
                matrix = own_values.pivot_table(index="where", columns=series, values="value", sort=False)
                draw = partial(heat_map, matrix, value_label="accuracy", limits=(0, 1), diverging=False)
                text += "intervals stand in the table."
            else:
                draw = partial(
                    intervals,
                    own_values,
                    rows="where",
                    series=series,
                    x_label="accuracy",
                    chance=0.5,
                    limits=(0.0, 1.0),
                )
                text += "lines are 95% intervals (the wider of items and paradigms), the dashed line is chance."
            yield Figure(name=file_name("phenomena", corpus, *([method] if several else [])), caption=text, draw=draw)
