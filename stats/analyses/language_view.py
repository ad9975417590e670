"""Which languages, and what of each? Languages x phenomena, by family, of scored tables of any corpora.

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

import numpy as np
import pandas as pd

from pairbank.builders.languages import language_facts
from pairbank.errors import BankError
from pairbank.scoring.api.names import DIRECT, is_string_logprob
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Chart, Result, Rows, analysis, cells, groups, where
from pairbank.stats.figures.charts import MOST_LINES, MOST_SERIES, areas, intervals, pages
from pairbank.stats.figures.models import FEW, grouped_map
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import is_reference, read_table, reference_names
from pairbank.stats.wording import span, with_interval

OTHER = "other"
"""What no corpus shares, or has no name."""
UNKNOWN = "unknown"
LEAST_LANGUAGES = 2
PLACE = ["model", "method", "language", "phenomenon"]
MOST_LANGUAGES = 56
"""Rows of a map: twelve inches."""
MOST_COLUMNS = 18


@analysis(
    title="Which languages, and what of each?",
    references=(
        "Glottolog: families",
        "Joshi et al. 2020, The State and Fate of Linguistic Diversity and Inclusion in the NLP World, Table 1",
    ),
)
def language_view(tables: Sequence[ScoredFrame], _context: Context) -> Result:
    """Return accuracies by language and phenomenon, languages in the order of families and resource classes."""
    items = pd.concat([part for table in tables for part in _items(table)] or [pd.DataFrame(columns=["language"])])
    if items["language"].nunique() < LEAST_LANGUAGES:
        raise BankError(
            f"{items['language'].nunique()} language(s) with scored choices; expected {LEAST_LANGUAGES} or more: run "
            "the study atlas, or score corpora of other languages"
        )
    tags = languages_in_order(sorted(set(items["language"])))
    by_phenomenon, whole = _accuracies(items, PLACE), _accuracies(items, PLACE[:3])
    languages, of_groups = _languages(items, whole, tags), _groups(whole)
    models = list(dict.fromkeys(items["model"]))
    keys = pd.MultiIndex.from_frame(items[["corpus", "item_id"]])
    direct = is_reference(items).to_numpy(dtype=np.bool_)
    return Result(
        tables={"languages": languages, "groups": of_groups, "phenomena": by_phenomenon, "accuracy": whole},
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


def languages_in_order(tags: Sequence[str]) -> list[str]:
    """Return languages by family, within one from the best resourced to the least; unknown ones last."""
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
        facts = language_facts().get(tag.partition("-")[0])
        prompted = of_language[~is_reference(of_language)]
        rows.append(
            {
                "language": tag,
                "name": facts.name if facts else "",
                "family": family(tag),
                "resource class": resource(tag) if resource(tag) >= 0 else None,
                "phenomena": of_items["phenomenon"].nunique(),
                "corpora": ", ".join(sorted(set(of_items["corpus"]))),
                "n": int(of_language["n"].max()),
                "models": f"{of_items['model'].nunique()} of {n_models}",
                DIRECT: _range(of_language[is_reference(of_language)]),
                "asked": _range(prompted),
                "prompts": prompted["method"].nunique(),
            }
        )
    return pd.DataFrame(rows).astype({"resource class": "Int64"})


def _range(rows: pd.DataFrame) -> str:
    return "" if rows.empty else with_interval(rows.iloc[0]) if len(rows) == 1 else span(rows["value"])


def _groups(whole: pd.DataFrame) -> pd.DataFrame:
    """Return means over languages, a language counting one, by family and by resource class."""
    rows = Rows()
    known = whole.assign(
        family=[family(tag) for tag in whole["language"]],
        resource=[str(resource(tag)) if resource(tag) >= 0 else UNKNOWN for tag in whole["language"]],
    )
    for by in ("resource", "family"):
        for (model, method, group), part in known.groupby(["model", "method", by], sort=True):
            spread = {"lowest": part["value"].min(), "highest": part["value"].max()}
            place = {"by": by, "group": group, "model": model, "method": method}
            rows.append(place | {"languages": len(part), "mean": part["value"].mean()} | spread)
    return pd.DataFrame(rows)


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


def _charts_of_models(whole: pd.DataFrame, tags: Sequence[str], models: Sequence[str]) -> Iterator[Chart]:
    """Yield languages x models with a block per method; where these do not fit a page, a figure per method."""
    methods = sorted(set(whole["method"]), key=lambda method: (not is_string_logprob(method), method != DIRECT, method))
    fit = len(methods) * len(models) <= MOST_COLUMNS
    for block in [methods] if fit else [[method] for method in methods]:
        for page, some_models in pages(models, MOST_COLUMNS):
            shown = whole[whole["method"].isin(block) & whole["model"].isin(some_models)]
            of = list(zip(shown["method"], shown["model"], strict=True))
            shown = shown.assign(column=pd.Series(of, index=shown.index, dtype=object))
            columns = [(method, model) for method in block for model in some_models]
            name = " ".join(["models", *([] if fit else block), *([str(page)] if page > 1 else [])])
            yield from _maps(name, "by_model", shown, tags, columns)


def _charts_of_phenomena(by_phenomenon: pd.DataFrame, tags: Sequence[str], models: Sequence[str]) -> Iterator[Chart]:
    """Yield languages x phenomena by probability, a figure per model."""
    columns = [name for name in (*shared_names(), OTHER) if name in set(by_phenomenon["phenomenon"])]
    for model in models:
        shown = where(by_phenomenon[is_reference(by_phenomenon)], model=model)
        title = f"{model}, {reference_names(shown).replace('`', '')}"
        shown = shown.assign(column=shown["phenomenon"])
        yield from _maps(f"{model} {DIRECT}", "by_phenomenon", shown, tags, columns, title=title)


def _maps(
    name: str,
    caption: str,
    rows: pd.DataFrame,
    tags: Sequence[str],
    columns: Sequence[str] | Sequence[tuple[str, str]],
    *,
    title: str = "",
) -> Iterator[Chart]:
    """Yield maps of as many languages as fit; columns that are pairs are in blocks by their first."""
    known = set(rows["language"])
    for nth, some in language_pages([tag for tag in tags if tag in known]):
        shown = rows[rows["language"].isin(some)]
        kept = [column for column in columns if column in set(shown["column"])]
        labels = [column[1] if isinstance(column, tuple) else column for column in kept]
        facts = [language_facts().get(tag.partition("-")[0]) for tag in some]
        names = [f"{known.name} ({tag})" if known else tag for tag, known in zip(some, facts, strict=True)]
        classes = [resource(tag) if resource(tag) >= 0 else "–" for tag in some]
        index = [f"{name} {rank}" for name, rank in zip(names, classes, strict=True)]
        by_column = shown.set_index(["language", "column"])
        values, n = (
            pd.DataFrame([[by.get((tag, column), np.nan) for column in kept] for tag in some], index, labels, "float64")
            for by in (by_column["value"].to_dict(), by_column["n"].to_dict())
        )
        yield Chart(
            name=f"{name} {nth}".strip(),
            caption=caption,
            draw=partial(
                grouped_map,
                values,
                n,
                row_groups=[family(tag) for tag in some],
                column_groups=[column[0] for column in kept if isinstance(column, tuple)],
                value_label="accuracy",
                title=title,
            ),
            values={"n": shown["n"], "model": shown["model"].iloc[0], "reference": reference_names(rows)},
        )


def _charts_of_groups(of_groups: pd.DataFrame, models: Sequence[str]) -> Iterator[Chart]:
    """Yield means over the languages of each resource class and family: a line per model, or a mark where many."""
    direct = of_groups[is_reference(of_groups)]
    for group in groups(direct, "by"):
        by, rows = group.key[0], group.frame
        if rows["group"].nunique() < 2:
            continue
        ordered = rows.sort_values("group", ascending=by == "family", kind="stable")
        ordered = ordered.sort_values("group", key=lambda names: names == UNKNOWN, kind="stable")
        is_class = ordered["group"].str.isdigit() & (by == "resource")
        most = ordered.groupby("group")["languages"].transform("max")
        labels = ("class " + ordered["group"]).where(is_class, ordered["group"]) + " (" + most.astype(str) + ")"
        shown = ordered.assign(value=ordered["mean"], low=ordered["lowest"], high=ordered["highest"], row=labels)
        shown = shown.sort_values("model", key=lambda names: names.map(list(models).index), kind="stable")
        for page, some in pages(list(labels.unique()), MOST_LINES):
            of_page = shown[shown["row"].isin(some)]
            of_page = of_page.assign(place=of_page["row"].map(some.index)).sort_values("place", kind="stable")
            x_label, few = "accuracy by log P, mean over languages", len(models) <= MOST_SERIES
            yield Chart(
                name=f"{by} {page}" if page > 1 else str(by),
                caption="by_group",
                draw=partial(intervals, of_page, rows="row", series="model", x_label=x_label, chance=0.5)
                if few
                else partial(areas, of_page.assign(corpus=of_page["row"]), x_label=x_label),
                values={"by": by, "few": few, "reference": reference_names(direct)},
            )
