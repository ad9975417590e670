"""Which languages, and what of each? Scored tables of any corpora in; languages x phenomena, by family, out.

Items of one language, phenomenon and method are pooled over corpora; phenomena of different corpora stand under one
name
(`alignment`). Languages are told and not ranked: corpora differ in how hard they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pairbank.builders.languages import language_facts
from pairbank.errors import BankError
from pairbank.scoring.api.names import DIRECT
from pairbank.stats.analyses.base import DEFAULTS, Context, Section
from pairbank.stats.analyses.language_view.alignment import OTHER, aligned
from pairbank.stats.analyses.language_view.figures import figures
from pairbank.stats.analyses.language_view.places import family, languages_in_order, resource, resource_class
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.scored_table.frame import ScoredFrame
from pairbank.stats.scored_table.scored_table import read_table
from pairbank.stats.wording import number, span, with_interval

LEAST_LANGUAGES = 2
PLACE = ["model", "method", "language", "phenomenon"]


def section(tables: Sequence[ScoredFrame], _context: Context = DEFAULTS) -> Section:
    """Return accuracies by language and phenomenon, languages in the order of families and resource classes.

    Args:
        tables: Scored tables of any corpora.

    Raises:
        BankError: If the tables have one language only.
    """
    items = pd.concat([one for table in tables for one in _items(table)] or [pd.DataFrame(columns=["language"])])
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
        text="\n\n".join([answer, *_coverage_said(languages, items)]),
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
        mine, own = items[items["language"] == tag], whole[whole["language"] == tag]
        facts = language_facts().get(tag.partition("-")[0])
        asked = own[own["method"] != DIRECT]
        rows.append(
            {
                "language": tag,
                "name": facts.name if facts else "",
                "family": family(tag),
                "resource class": resource(tag) if resource(tag) >= 0 else None,
                "phenomena": mine["phenomenon"].nunique(),
                "corpora": ", ".join(sorted(set(mine["corpus"]))),
                "n": int(own["n"].max()),
                "models": f"{mine['model'].nunique()} of {n_models}",
                DIRECT: _range(own[own["method"] == DIRECT]),
                "asked": _range(asked),
                "prompts": asked["method"].nunique(),
            }
        )
    return pd.DataFrame(rows).astype({"resource class": "Int64"})


def _range(part: pd.DataFrame) -> str:
    if part.empty:
        return ""
    if len(part) == 1:
        one = part.iloc[0]
        return with_interval(one)
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
    direct = (items["method"] == DIRECT).to_numpy()
    return items[direct & keys.isin(keys[~direct])]


def _answer(whole: pd.DataFrame, languages: pd.DataFrame, asked_too: pd.DataFrame) -> str:
    """Return two sentences: what there is, with accuracies by probability; and what asking gives, and where.

    Args:
        whole: Accuracies by model, method and language.
        languages: A line a language.
        asked_too: Accuracies by probability of the items that were asked about.
    """
    direct, asked = (whole[(whole["method"] == DIRECT) == is_direct] for is_direct in (True, False))
    n_families = languages["family"].nunique()
    said = f"{len(languages)} languages of {n_families} families and branches"
    if len(direct):
        said += f" (n = {int(direct['n'].min()):,} to {int(direct['n'].max()):,} choices each): {_means_said(direct)}"
    first = f"{said}."
    if asked.empty:
        return f"{first} No prompt was asked in any of them."
    where = asked["language"].nunique()
    second = f"Prompts exist for {where} of them; asked in these, {_means_said(asked)}"
    same = f", where on the same items {_means_said(asked_too)}" if len(asked_too) else ""
    return f"{first} {second}{same}."


def _means_said(part: pd.DataFrame) -> str:
    """Return the mean over languages of each method, with the range over models, and over languages."""
    said = []
    for method, own in part.groupby("method", sort=False):
        means = own.groupby("model", sort=False)["value"].mean()
        ends = f"{span(means)} ({len(means)} models)"
        over = ends if len(means) > 1 else number(means.iloc[0])
        said.append(f"`{method}` is right in {over} on average over languages")
    return ", ".join(said)


def _coverage_said(languages: pd.DataFrame, items: pd.DataFrame) -> Iterator[str]:
    n_models = items["model"].nunique()
    lacking = languages[languages["models"] != f"{n_models} of {n_models}"]["language"].tolist()
    if lacking:
        yield f"Coverage: {', '.join(lacking)} lack some of the {n_models} models."
    else:
        yield f"Coverage: {n_models} model{'s have' if n_models > 1 else ' has'} all languages."
    without = languages[languages["prompts"] == 0]["language"].tolist()
    if without:
        yield f"No prompt in {', '.join(without)}: they are scored and not asked."
    other = items[items["phenomenon"] == OTHER]["corpus"].unique()
    if len(other):
        yield f"Phenomena that one corpus alone has are `{OTHER}` ({', '.join(sorted(other))})."
    yield (
        "Corpora differ in how hard they are, so that languages are told and not ranked. Identical sides are left out."
    )


DEFINITIONS = """\
- **accuracy**: share of items whose difference (good - bad) is positive, ties one half; Wilson's interval at level
  0.95. Items of a language and phenomenon are pooled over corpora.
- **phenomenon**: what corpora share stands under one name; the list is pairbank's own (`data/phenomena.toml` of this
  analysis).
- **family**: as in Glottolog; of Indo-European and Afro-Asiatic the branch. **resource class**: Joshi et al. 2020,
  from 0 (hardly any data) to 5; empty where their list has no entry.
- **direct**, **asked**: accuracy with its interval for one model and method, else the lowest and the highest over
  models and methods.
- **groups**: unweighted means over languages, with the lowest and highest.
"""
