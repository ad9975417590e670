"""A number that stands in several tables of a report has one interval there, by every analysis that prints it."""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd
import pytest

import pairbank
from pairbank.scoring.models.fake import FakeScorer
from pairbank.stats.analyses.base import DEFAULTS
from pairbank.stats.analyses.registry import ANALYSES, section_or_note
from pairbank.stats.report.summary import summarise
from rated_tables import rated_table

SHARES = ("accuracy", "accuracy_ties_first", "raw_agreement", "raw_agreement_human", "consistency", "human_accuracy")
"""Shares of items; `accuracy_pooled` and `position_bias` are shares of trials, of which an item has several."""
KINDS = dict.fromkeys(SHARES, "share") | {"pearson_human": "pearson", "kappa_human": "kappa"}
PLACE = ["kind", "model", "corpus", "method", "n"]


def intervals(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Every number of the long tables, its table, and what kind of number it is."""
    long = [
        part.assign(table=name)
        for name, part in tables.items()
        if {"metric", "value", "low", "high"} <= {*part.columns}
    ]
    rows = pd.concat([part[[*PLACE[1:], "metric", "value", "low", "high", "table"]] for part in long])
    rows = rows[rows["value"].notna()]
    return rows.assign(kind=rows["metric"].map(lambda metric: KINDS.get(metric, metric)), value=rows["value"].round(12))


def check(tables: Mapping[str, pd.DataFrame], *, least: int) -> None:
    rows = intervals(tables)
    shared = 0
    for where, part in rows.groupby([*PLACE, "value"]):
        bounds = part[["low", "high"]].round(9).drop_duplicates()
        assert len(bounds) == 1, f"{where}:\n{part.to_string()}"
        shared += part["table"].nunique() > 1
    assert shared >= least, "the tables print few numbers twice: this shows nothing"


@pytest.mark.ci
@pytest.mark.parametrize("n_items", [24, 200])
def test_all_analyses_of_rated_pairs_print_one_interval_for_one_number(n_items: int) -> None:
    frames = [
        replace(rated_table(n_items, model=name, seed=seed), signature={"model": {"name": name, "model_id": name}})
        for seed, name in enumerate(("gpt2", "pythia", "qwen"))
    ]
    tables = {"summary": pd.concat([summarise(f.frame, f.layouts, model=f.model) for f in frames])}
    for name in ANALYSES:
        made = section_or_note(name, frames, DEFAULTS, options={})
        tables |= {f"{name}.{part}": table for part, table in made.tables.items()}
    check(tables, least=8)


@pytest.mark.ci
def test_choosing_and_rating_contexts_print_the_intervals_of_the_summary() -> None:
    items = pairbank.load_corpus("starter")
    contexts = items.select([nth for nth, task in enumerate(items["task"]) if task == "context_pair"])
    methods = ["direct", "ewok24_choice", "ewok24_choice_both_orders", "ewok24_likert"]
    scored = [pairbank.score(contexts, FakeScorer(name=name), methods=methods) for name in ("a", "b", "c")]
    made = pairbank.report(scored, analyses=["choice_likert", "comparisons", "agreement_summary"], n_resamples=20)
    sections = {f"{part.id}.{name}": table for part in made.sections for name, table in part.tables.items()}
    del sections["choice_likert.differences"]  # of two measures each, on the same items
    check({"summary": made.summary} | sections, least=8)
