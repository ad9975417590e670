"""Which languages, and what of each? Scored tables of any corpora in; languages x phenomena, by family, out.

Items of one language, phenomenon and method are pooled over corpora; phenomena of different corpora with one meaning
have one name (`data/phenomena.toml`). Languages are not ranked: corpora differ in how hard they are.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import resources
from typing import Any

import numpy as np
import pandas as pd

from pairbank.builders.languages import language_facts
from pairbank.errors import BankError
from pairbank.scoring.api.names import DIRECT, is_string_logprob
from pairbank.stats.analyses.base import DEFAULTS, Context, Section
from pairbank.stats.figures.charts import MOST_LINES, MOST_SERIES, areas, file_name, intervals, n_text, pages
from pairbank.stats.figures.models import FEW, grouped_map
from pairbank.stats.figures.style import Figure
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import is_reference, read_table, reference_names
from pairbank.stats.wording import n_items, number, span, with_interval

OTHER = "other"
"""What no corpus shares, or has no name."""


@functools.cache
def aligned(phenomenon: str | None) -> str:
    """Return the shared name of a phenomenon.

    >>> [aligned(name) for name in ("NPI licensing", "npi_licensing", "SV-#", "filler-gap_dependencies", "BA", None)]
    ['negation, NPIs', 'negation, NPIs', 'verb agreement', 'fillers, islands', 'other', 'other']
    """
    if phenomenon is None:
        return OTHER
    text = " ".join(re.findall(r"\w+", phenomenon.lower().replace("_", " ")))
    for shared, names in shared_names().items():
        if text in names or any(name.endswith("*") and text.startswith(name[:-1]) for name in names):
            return shared
    return OTHER


@functools.cache
def shared_names() -> dict[str, tuple[str, ...]]:
    """Return the shared names, in the order in which they are shown, and what corpora call them."""
    path = resources.files("pairbank.stats.analyses") / "phenomena.toml"
    return {shared: tuple(names) for shared, names in tomllib.loads(path.read_text(encoding="utf-8")).items()}


UNKNOWN = "unknown"


def languages_in_order(tags: Sequence[str]) -> list[str]:
    """Return languages by family, within one from the best resourced to the least; unknown ones last.

    >>> languages_in_order(["tr", "nl", "en", "eu", "xx"])
    ['eu', 'en', 'nl', 'tr', 'xx']
    """
    return sorted(tags, key=lambda tag: (family(tag) == UNKNOWN, family(tag), -resource(tag), tag))


def family(tag: str) -> str:
    """Return the family of a language, `unknown` where the list does not have it.

    >>> family("fr-CA"), family("xx")
    ('Indo-European, Romance', 'unknown')
    """
    facts = language_facts().get(tag.partition("-")[0])
    return facts.family if facts else UNKNOWN


def resource(tag: str) -> int:
    """Return the class of a language; -1 where it has none."""
    facts = language_facts().get(tag.partition("-")[0])
    return facts.resource if facts is not None and facts.resource is not None else -1


def resource_class(tag: str) -> str:
    """Return the class of a language in words.

    >>> resource_class("de"), resource_class("wbp")
    ('5', 'unknown')
    """
    return str(resource(tag)) if resource(tag) >= 0 else UNKNOWN


def name_with_tag(tag: str) -> str:
    """Return a language's name with its tag.

    >>> name_with_tag("fr-CA"), name_with_tag("xx")
    ('French (fr-CA)', 'xx')
    """
    facts = language_facts().get(tag.partition("-")[0])
    return f"{facts.name} ({tag})" if facts else tag


MOST_LANGUAGES = 56
"""Rows of a map: twelve inches."""
MOST_COLUMNS = 18
MODELS = "language_view_models"
EXPLAINED = (
    "Languages are grouped by family; their number is the resource class (Joshi et al. 2020, 5 = most). White is "
    f"chance, grey has no items, pale cells have fewer than {FEW}."
)


def figures(
    cells: pd.DataFrame, whole: pd.DataFrame, groups: pd.DataFrame, *, order: Sequence[str], models: Sequence[str]
) -> Iterator[Figure]:
    """Yield languages x models and methods, means by resource class and family, languages x phenomena by model."""
    yield from _of_models(whole, order, models)
    yield from _of_groups(groups, models)
    columns = [name for name in (*shared_names(), OTHER) if name in set(cells["phenomenon"])]
    for model in models:
        part = cells[(cells["model"] == model) & is_reference(cells)]
        for nth, some in language_pages([tag for tag in order if tag in set(part["language"])]):
            shown = part[part["language"].isin(some)]
            named = reference_names(part)
            caption = f"Accuracy of {model} ({named}) by language and phenomenon ({n_text(shown['n'])} a cell)."
            place = ("language_view", model, DIRECT, nth)
            style = {"caption": caption, "title": f"{model}, {named.replace('`', '')}"}
            yield _map(place, shown, "phenomenon", tags=some, columns=columns, **style)


def language_pages(tags: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield languages in as few maps as hold them, parted between families where one ends near by.

    >>> [(nth, len(some)) for nth, some in language_pages(["de"] * 30 + ["tr"] * 50)]
    [('', 30), ('2', 50)]
    """
    n_pages = -(-len(tags) // MOST_LANGUAGES)
    start = 0
    for nth in range(n_pages):
        target = start + -(-(len(tags) - start) // (n_pages - nth))
        room = len(tags) - MOST_LANGUAGES * (n_pages - nth - 1)
        ends = [
            at
            for at in range(max(start + 1, room), min(start + MOST_LANGUAGES, len(tags)) + 1)
            if at == len(tags) or family(tags[at]) != family(tags[at - 1])
        ]
        stop = len(tags) if nth == n_pages - 1 else min(ends or [target], key=lambda end: abs(end - target))
        yield str(nth + 1) if nth else "", list(tags[start:stop])
        start = stop


def _of_models(whole: pd.DataFrame, order: Sequence[str], models: Sequence[str]) -> Iterator[Figure]:
    """Yield languages x models with a block a method; where they do not fit beside each other, a figure a method."""
    methods = sorted(set(whole["method"]), key=lambda method: (not is_string_logprob(method), method != DIRECT, method))
    fit = len(methods) * len(models) <= MOST_COLUMNS
    for block in [methods] if fit else [[method] for method in methods]:
        for page, some_models in pages(models, MOST_COLUMNS):
            selected = whole[whole["method"].isin(block) & whole["model"].isin(some_models)]
            known = set(selected["language"])
            for nth, some in language_pages([tag for tag in order if tag in known]):
                part = selected[selected["language"].isin(some)]
                part = part.assign(column=pd.Series(_pairs(part["method"], part["model"]), index=part.index))
                columns = [(method, model) for method in block for model in some_models]
                named = (MODELS, "" if fit else block[0], page if page > 1 else "", nth)
                caption = f"Accuracy by language, method and model ({n_text(part['n'])} a cell)."
                yield _map(named, part, "column", tags=some, columns=columns, caption=caption)


def _pairs(first: pd.Series[str], second: pd.Series[str]) -> list[tuple[str, str]]:
    return list(zip(first, second, strict=True))


def _map(
    name: tuple[object, ...],
    part: pd.DataFrame,
    column: str,
    *,
    tags: Sequence[str],
    columns: Sequence[str] | Sequence[tuple[str, str]],
    caption: str,
    title: str = "",
) -> Figure:
    """Return a map of languages; columns that are pairs stand in blocks by their first."""
    known = set(part[column])
    kept = [member for member in columns if member in known]
    values, n = (_matrix(part, column, cell, tags, kept) for cell in ("value", "n"))
    blocks = [value[0] for value in kept if isinstance(value, tuple)]
    labels = [entry[1] if isinstance(entry, tuple) else entry for entry in kept]
    rows = [_row_label(tag) for tag in tags]
    draw = partial(
        grouped_map,
        pd.DataFrame(values, index=rows, columns=labels),
        pd.DataFrame(n, index=rows, columns=labels),
        row_groups=[family(tag) for tag in tags],
        column_groups=blocks,
        value_label="accuracy",
        title=title,
    )
    return Figure(
        name=file_name(*(piece for piece in name if piece != "")), caption=f"{caption} {EXPLAINED}", draw=draw
    )


def _matrix(
    part: pd.DataFrame, column: str, cell: str, tags: Sequence[str], kept: Sequence[object]
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    results: dict[tuple[str, object], float] = dict(
        zip(zip(part["language"], part[column], strict=True), part[cell], strict=True)
    )
    return np.array([[results.get((tag, entry), np.nan) for entry in kept] for tag in tags], dtype=np.float64)


def _row_label(tag: str) -> str:
    return f"{name_with_tag(tag)} {resource(tag)}" if resource(tag) >= 0 else f"{name_with_tag(tag)} –"


def _of_groups(groups: pd.DataFrame, models: Sequence[str]) -> Iterator[Figure]:
    """Yield means over the languages of each resource class and family: a line a model, or a mark where many."""
    direct = groups[is_reference(groups)]
    for by in ("resource", "family"):
        part = direct[direct["by"] == by]
        if part["group"].nunique() < 2:
            continue
        ordered = part.sort_values("group", ascending=by == "family", kind="stable")
        ordered = ordered.sort_values("group", key=lambda group: group == UNKNOWN, kind="stable")
        shown = ordered.assign(
            value=ordered["mean"], low=ordered["lowest"], high=ordered["highest"], row=_group_labels(ordered, by)
        )
        shown = shown.sort_values("model", key=lambda names: names.map(list(models).index), kind="stable")
        rows = list(dict.fromkeys(_group_labels(ordered, by)))
        for page, some in pages(rows, MOST_LINES):
            selected = shown[shown["row"].isin(some)]
            selected = selected.assign(place=selected["row"].map(some.index)).sort_values("place", kind="stable")
            description = "accuracy by log P, mean over languages"
            yield Figure(
                name=file_name("language_view", by, *([page] if page > 1 else [])),
                caption=(
                    f"Accuracy ({reference_names(direct)}), mean over the languages of each {_BY[by]} "
                    "(their number in brackets)"
                    + ("; lines go from the lowest language to the highest." if len(models) <= MOST_SERIES else ".")
                    + " Corpora differ in how hard they are, and with them languages."
                ),
                draw=(
                    partial(intervals, selected, rows="row", series="model", x_label=description, chance=0.5)
                    if len(models) <= MOST_SERIES
                    else partial(areas, selected.assign(corpus=selected["row"]), x_label=description)
                ),
            )


_BY = {"resource": "resource class (Joshi et al. 2020)", "family": "family"}


def _group_labels(part: pd.DataFrame, by: str) -> list[str]:
    named = [f"class {name}" if by == "resource" and name.isdigit() else name for name in part["group"]]
    most = part.groupby("group")["languages"].max()
    return [f"{name} ({most[group]})" for name, group in zip(named, part["group"], strict=True)]


LEAST_LANGUAGES = 2
PLACE = ["model", "method", "language", "phenomenon"]


def section(tables: Sequence[ScoredFrame], _context: Context = DEFAULTS) -> Section:
    """Return accuracies by language and phenomenon, languages in the order of families and resource classes."""
    items = pd.concat([item for table in tables for item in _items(table)] or [pd.DataFrame(columns=["language"])])
    if items["language"].nunique() < LEAST_LANGUAGES:
        raise BankError(
            f"{items['language'].nunique()} language(s) with scored choices; expected {LEAST_LANGUAGES} or more: run "
            "the study atlas, or score corpora of other languages"
        )
    order = languages_in_order(sorted(set(items["language"])))
    cells, whole = _accuracies(items, PLACE), _accuracies(items, PLACE[:3])
    languages = _languages(items, whole, order)
    groups = _groups(whole)
    answer = _answer(whole, languages, _accuracies(_asked_too(items), PLACE[:3]))
    return Section(
        id="language_view",
        title="Which languages, and what of each?",
        text="\n\n".join([answer, *_coverage_text(languages, items)]),
        answer=answer,
        main_table="languages",
        definitions=DEFINITIONS,
        tables={"languages": languages, "groups": groups, "phenomena": cells, "accuracy": whole},
        figures=tuple(figures(cells, whole, groups, order=order, models=list(dict.fromkeys(items["model"])))),
        references=(
            "Glottolog: families",
            "Joshi et al. 2020, The State and Fate of Linguistic Diversity and Inclusion in the NLP World, Table 1",
        ),
    )


def _items(table: ScoredFrame) -> Iterator[pd.DataFrame]:
    """Yield the differences of each method, with where each item belongs."""
    read = read_table(table).choices
    frame = read.frame
    for layout in read.layouts:
        delta = read.delta(layout.method)
        known = ~np.isnan(delta)
        if known.any():
            names = [None if pd.isna(name) else str(name) for name in frame["phenomenon"][known]]
            yield pd.DataFrame(
                {
                    "model": table.model,
                    "method": layout.method,
                    "language": frame["language"].to_numpy(dtype=object)[known],
                    "phenomenon": [aligned(name) for name in names],
                    "corpus": table.corpus,
                    "item_id": frame["item_id"].to_numpy(dtype=object)[known],
                    "delta": delta[known],
                }
            )


def _accuracies(items: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    rows = []
    for key, part in items.groupby(by, sort=True):
        estimate = accuracy(part["delta"].to_numpy())
        numbers = {"value": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n}
        rows.append(dict(zip(by, key, strict=True)) | {"corpora": ", ".join(sorted(set(part["corpus"])))} | numbers)
    return pd.DataFrame(rows)


def _languages(items: pd.DataFrame, whole: pd.DataFrame, order: Sequence[str]) -> pd.DataFrame:
    """Return a line a language: where it belongs, what there is of it, and the range of accuracies over models."""
    rows: list[dict[str, Any]] = []
    n_models = items["model"].nunique()
    for tag in order:
        selected, own_values = items[items["language"] == tag], whole[whole["language"] == tag]
        facts = language_facts().get(tag.partition("-")[0])
        requested = own_values[~is_reference(own_values)]
        rows.append(
            {
                "language": tag,
                "name": facts.name if facts else "",
                "family": family(tag),
                "resource class": resource(tag) if resource(tag) >= 0 else None,
                "phenomena": selected["phenomenon"].nunique(),
                "corpora": ", ".join(sorted(set(selected["corpus"]))),
                "n": int(own_values["n"].max()),
                "models": f"{selected['model'].nunique()} of {n_models}",
                DIRECT: _range(own_values[is_reference(own_values)]),
                "asked": _range(requested),
                "prompts": requested["method"].nunique(),
            }
        )
    return pd.DataFrame(rows).astype({"resource class": "Int64"})


def _range(part: pd.DataFrame) -> str:
    if part.empty:
        return ""
    if len(part) == 1:
        entry = part.iloc[0]
        return with_interval(entry)
    return span(part["value"])


def _groups(whole: pd.DataFrame) -> pd.DataFrame:
    """Return means over languages, a language counting one, by family and by resource class."""
    rows: list[dict[str, Any]] = []
    known = whole.assign(
        family=[family(tag) for tag in whole["language"]],
        resource=[resource_class(tag) for tag in whole["language"]],
    )
    for by in ("resource", "family"):
        for (model, method, group), part in known.groupby(["model", "method", by], sort=True):
            spread = {"lowest": part["value"].min(), "highest": part["value"].max()}
            place = {"by": by, "group": group, "model": model, "method": method}
            rows.append(place | {"languages": len(part), "mean": part["value"].mean()} | spread)
    return pd.DataFrame(rows)


def _asked_too(items: pd.DataFrame) -> pd.DataFrame:
    """Return what is measured by probability of the items that somebody was asked about."""
    keys = pd.MultiIndex.from_frame(items[["corpus", "item_id"]])
    direct = is_reference(items).to_numpy(dtype=np.bool_)
    return items[direct & keys.isin(keys[~direct])]


def _answer(whole: pd.DataFrame, languages: pd.DataFrame, asked_too: pd.DataFrame) -> str:
    """Return two sentences: what there is, with accuracies by probability; and what asking gives, and where."""
    direct, requested = (whole[is_reference(whole) == is_direct] for is_direct in (True, False))
    n_families = languages["family"].nunique()
    text = f"{len(languages)} languages of {n_families} families and branches"
    if len(direct):
        text += f" ({n_items(direct['n'])} choices each): on average over languages {', '.join(_means_of(direct))}"
    first = f"{text}."
    if requested.empty:
        return f"{first}\n\nNo model was prompted in any of them."
    where = requested["language"].nunique()
    lines = [
        f"Prompts exist for {where} of them. In these languages:",
        *(f"- {text}." for text in _means_of(requested)),
    ]
    lines += [f"- On the same items, {text}." for text in _means_of(asked_too)]
    return f"{first}\n\n" + "\n".join(lines)


def _means_of(part: pd.DataFrame) -> Iterator[str]:
    """Yield the mean over languages of each method, with the range over models."""
    for method, own_values in part.groupby("method", sort=False):
        means = own_values.groupby("model", sort=False)["value"].mean()
        ends = f"{span(means)} ({len(means)} models)"
        over = ends if len(means) > 1 else number(means.iloc[0])
        yield f"`{method}` is right in {over}"


def _coverage_text(languages: pd.DataFrame, items: pd.DataFrame) -> Iterator[str]:
    n_models = items["model"].nunique()
    lacking = languages[languages["models"] != f"{n_models} of {n_models}"]["language"].tolist()
    if lacking:
        yield f"Coverage: {', '.join(lacking)} lack some of the {n_models} models."
    else:
        yield f"Coverage: {n_models} model{'s have' if n_models > 1 else ' has'} all languages."
    without = languages[languages["prompts"] == 0]["language"].tolist()
    if without:
        yield f"No prompt in {', '.join(without)}: sentences are scored, but models are not prompted."
    other = items[items["phenomenon"] == OTHER]["corpus"].unique()
    if len(other):
        yield f"Phenomena that one corpus alone has are `{OTHER}` ({', '.join(sorted(other))})."
    yield (
        "Corpora differ in difficulty, so the report does not rank languages. Items with identical sides are left out."
    )


DEFINITIONS = """\
- **accuracy**: share of items whose difference (good - bad) is positive, ties one half; Wilson's interval at level
  0.95. Items of a language and phenomenon are pooled over corpora.
- **phenomenon**: one name for what several corpora share; the list is pairbank's own (`data/phenomena.toml` of this
  analysis).
- **family**: as in Glottolog; of Indo-European and Afro-Asiatic the branch. **resource class**: Joshi et al. 2020,
  from 0 (hardly any data) to 5; empty where their list has no entry.
- **direct**, **asked**: accuracy with its interval for one model and method, else the lowest and the highest over
  models and methods.
- **groups**: unweighted means over languages, with the lowest and highest.
"""
