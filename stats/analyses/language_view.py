"""Which languages, and what of each? Languages x phenomena, by family, of scored tables of any corpora.

Items of one language, phenomenon and method are pooled over corpora; phenomena of different corpora with one meaning
have one name (`data/phenomena.toml`). Languages are not ranked: corpora differ in how hard they are.
"""

from __future__ import annotations

import functools
import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib import resources
from typing import Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.scoring.api.names import DIRECT, is_string_logprob
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Chart, Result, Rows, analysis, cells, groups, where
from pairbank.stats.analyses.languages.items import LEAST_LANGUAGES, UNKNOWN, facts_of, items_of
from pairbank.stats.figures.charts import MOST_LINES, MOST_SERIES, areas, intervals, pages
from pairbank.stats.figures.models import FEW, grouped_map
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import is_reference, reference_names
from pairbank.stats.wording import span, with_interval

OTHER = "other"
"""What no corpus shares, or has no name."""
PLACE = ["model", "method", "language", "phenomenon"]
GROUPS = ("by", "group", "model", "method", "languages", "mean", "lowest", "highest")
MOST_LANGUAGES = 56
"""Rows of a map: twelve inches."""
MOST_COLUMNS = 18


@analysis(title="Which languages, and what of each?")
def language_view(tables: Sequence[ScoredFrame], _context: Context) -> Result:
    """Return accuracies by language and phenomenon, languages in the order of families and resource classes."""
    parts = [x[x["is_choice"] & x["delta"].notna()] for table in tables for x in items_of(table)]
    items = pd.concat(parts or [pd.DataFrame(columns=["language", "phenomenon"])])
    items["phenomenon"] = items["phenomenon"].map(aligned)
    if items["language"].nunique() < LEAST_LANGUAGES:
        raise BankError(
            f"{items['language'].nunique()} language(s) with scored choices; expected {LEAST_LANGUAGES} or more: run "
            "the study atlas, or score corpora of other languages"
        )
    tags = languages_in_order(sorted(set(items["language"])))
    by_phenomenon, whole = _accuracies(items, PLACE), _accuracies(items, PLACE[:3])
    of_groups, models = _groups(whole), list(dict.fromkeys(items["model"]))
    keys = pd.MultiIndex.from_frame(items[["corpus", "item_id"]])
    direct = is_reference(items).to_numpy(dtype=np.bool_)
    return Result(
        tables={
            "languages": _languages(items, whole, tags),
            "groups": of_groups,
            "phenomena": by_phenomenon,
            "accuracy": whole,
        },
        charts=[
            *_charts_of_models(whole, tags, models),
            *_charts_of_groups(of_groups, models),
            *_charts_of_phenomena(by_phenomenon, tags, models),
        ],
        values={
            "direct": whole[is_reference(whole)],
            "prompted": whole[~is_reference(whole)],
            "same_items": _accuracies(items[direct & keys.isin(keys[~direct])], PLACE[:3]),
            "n_models": len(models),
            "corpora_alone": sorted(where(items, phenomenon=OTHER)["corpus"].unique()),
            "FEW": FEW,
        },
    )


@functools.cache
def aligned(phenomenon: str | int | None) -> str:
    """Return the shared name of a phenomenon, which a table may have as a number.

    >>> [aligned(name) for name in ("NPI licensing", "npi_licensing", "SV-#", "filler-gap_dependencies", 7, None)]
    ['negation, NPIs', 'negation, NPIs', 'verb agreement', 'fillers, islands', 'other', 'other']
    """
    if pd.isna(phenomenon):
        return OTHER
    text = " ".join(re.findall(r"\w+", str(phenomenon).lower().replace("_", " ")))
    for shared, names in shared_names().items():
        if text in names or any(name.endswith("*") and text.startswith(name[:-1]) for name in names):
            return shared
    return OTHER


@functools.cache
def shared_names() -> dict[str, tuple[str, ...]]:
    """Return the shared names, in the order in which they are shown, and what corpora call them."""
    path = resources.files("pairbank.stats.analyses") / "phenomena.toml"
    return {shared: tuple(names) for shared, names in tomllib.loads(path.read_text(encoding="utf-8")).items()}


def languages_in_order(tags: Sequence[str]) -> list[str]:
    """Return languages by family, within one from the best resourced to the least; unknown ones last."""

    def place(tag: str) -> tuple[bool, str, int, str]:
        facts = facts_of(tag)
        return facts.family == UNKNOWN, facts.family, 1 if facts.resource is None else -facts.resource, tag

    return sorted(tags, key=place)


def _accuracies(items: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    rows = Rows()
    for key, part in items.groupby(by, sort=True):
        estimate = accuracy(part["delta"].to_numpy())
        corpora = {"corpora": ", ".join(sorted(set(part["corpus"])))}
        rows.append(dict(zip(by, key, strict=True)) | corpora | cells(estimate) | {"n": estimate.n})
    return pd.DataFrame(rows)


def _languages(items: pd.DataFrame, whole: pd.DataFrame, tags: Sequence[str]) -> pd.DataFrame:
    """Return one row per language: where it belongs, what there is of it, and the range of accuracies over models."""
    rows, n_models = Rows(), items["model"].nunique()
    for tag in tags:
        of_items, of_language = where(items, language=tag), where(whole, language=tag)
        prompted = of_language[~is_reference(of_language)]
        facts = facts_of(tag)
        row: dict[str, Any] = {"language": tag, "name": facts.name, "family": facts.family}
        row |= {"resource class": facts.resource}
        row |= {"phenomena": of_items["phenomenon"].nunique(), "corpora": ", ".join(sorted(set(of_items["corpus"])))}
        row |= {"n": int(of_language["n"].max()), "models": f"{of_items['model'].nunique()} of {n_models}"}
        row |= {DIRECT: _range(of_language[is_reference(of_language)]), "asked": _range(prompted)}
        rows.append(row | {"prompts": prompted["method"].nunique()})
    return pd.DataFrame(rows).astype({"resource class": "Int64"})


def _range(rows: pd.DataFrame) -> str:
    return "" if rows.empty else with_interval(rows.iloc[0]) if len(rows) == 1 else span(rows["value"])


def _groups(whole: pd.DataFrame) -> pd.DataFrame:
    """Return means over languages, a language counting one, by family and by resource class."""
    facts = whole["language"].map(facts_of)
    columns = {"resource": facts.map(lambda x: UNKNOWN if x.resource is None else str(x.resource))}
    columns["family"] = facts.map(lambda x: x.family)
    parts = [
        whole.groupby(["model", "method", group.rename("group")], sort=True)["value"]
        .agg(languages="size", mean=lambda values: values.mean(), lowest="min", highest="max")
        .reset_index()
        .assign(by=by)
        for by, group in columns.items()
    ]
    return pd.concat(parts, ignore_index=True)[[*GROUPS]]


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
            if at == len(tags) or facts_of(tags[at]).family != facts_of(tags[at - 1]).family
        ]
        stop = len(tags) if nth == n_pages - 1 else min(ends or [target], key=lambda end: abs(end - target))
        yield str(nth + 1) if nth else "", list(tags[start:stop])
        start = stop


def _charts_of_models(whole: pd.DataFrame, tags: Sequence[str], models: Sequence[str]) -> Iterator[Chart]:
    """Yield languages x models with a block per method; where these do not fit a page, a figure per method."""
    methods = sorted(set(whole["method"]), key=lambda method: (not is_string_logprob(method), method != DIRECT, method))
    fit = len(methods) * len(models) <= MOST_COLUMNS
    for block in [methods] if fit else [[method] for method in methods]:
        for page, some_models in pages(models, MOST_COLUMNS):
            shown = whole[whole["method"].isin(block) & whole["model"].isin(some_models)]
            file = " ".join(["models", *([] if fit else block), *([str(page)] if page > 1 else [])])
            yield from _maps(file, "by_model", shown, tags, {"method": block, "model": some_models})


def _charts_of_phenomena(by_phenomenon: pd.DataFrame, tags: Sequence[str], models: Sequence[str]) -> Iterator[Chart]:
    """Yield languages x phenomena by probability, a figure per model."""
    for model in models:
        shown = where(by_phenomenon[is_reference(by_phenomenon)], model=model).assign(block="")
        title = f"{model}, {reference_names(shown).replace('`', '')}"
        columns = {"block": [""], "phenomenon": [*shared_names(), OTHER]}
        yield from _maps(f"{model} {DIRECT}", "by_phenomenon", shown, tags, columns, title=title)


def _maps(
    file: str,
    caption: str,
    rows: pd.DataFrame,
    tags: Sequence[str],
    columns: Mapping[str, Sequence[str]],
    *,
    title: str = "",
) -> Iterator[Chart]:
    """Yield maps of as many languages as fit; the first of two columns makes blocks of the second."""
    for nth, some in language_pages([tag for tag in tags if tag in set(rows["language"])]):
        shown = rows[rows["language"].isin(some)]
        values, n = (shown.pivot(index="language", columns=[*columns], values=cell) for cell in ("value", "n"))
        order = [key for key in itertools.product(*columns.values()) if key in values]
        facts = [facts_of(tag) for tag in some]
        names = [f"{x.name} ({tag})" if x.name else tag for x, tag in zip(facts, some, strict=True)]
        index = [f"{x} {'–' if y.resource is None else y.resource}" for x, y in zip(names, facts, strict=True)]
        labels = [label for _, label in order]
        values, n = (x.reindex(index=some, columns=order).set_axis(index).set_axis(labels, axis=1) for x in (values, n))
        blocks: dict[str, Any] = {"row_groups": [x.family for x in facts]}
        blocks |= {"column_groups": [block for block, _ in order if block]}
        draw = partial(grouped_map, values, n, **blocks, value_label="accuracy", title=title)
        of_map = {"n": shown["n"], "model": shown["model"].iloc[0], "reference": reference_names(rows)}
        yield Chart(name=f"{file} {nth}".strip(), caption=caption, draw=draw, values=of_map)


def _charts_of_groups(of_groups: pd.DataFrame, models: Sequence[str]) -> Iterator[Chart]:
    """Yield means over the languages of each resource class and family: a line per model, or a mark where many."""
    direct = of_groups[is_reference(of_groups)].rename(columns={"mean": "value", "lowest": "low", "highest": "high"})
    direct = direct.sort_values("model", key=lambda names: names.map(list(models).index), kind="stable")
    few, x_label = len(models) <= MOST_SERIES, "accuracy by log P, mean over languages"
    for group in groups(direct, "by"):
        (by,), most = group.key, group.frame.groupby("group")["languages"].max()
        order = sorted(most.index, key=lambda key: (key == UNKNOWN, -int(key) if key.isdigit() else 0, key))
        labels = {key: f"{'class ' if key.isdigit() else ''}{key} ({most[key]})" for key in order}
        for page, some in pages(order, MOST_LINES) if len(order) > 1 else ():
            shown = group.frame[group.frame["group"].isin(some)]
            shown = shown.sort_values("group", key=lambda names: names.map(order.index), kind="stable")
            shown = shown.assign(row=shown["group"].map(labels))
            draw = partial(areas, shown.assign(corpus=shown["row"]), x_label=x_label)
            if few:
                draw = partial(intervals, shown, rows="row", series="model", x_label=x_label, chance=0.5)
            values = {"by": by, "few": few, "reference": reference_names(direct)}
            yield Chart(name=f"{by} {page}" if page > 1 else by, caption="by_group", draw=draw, values=values)
