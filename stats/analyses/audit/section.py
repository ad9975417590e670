"""Common artefacts in scored tables: one row per finding. All checks that are tests are one family (Holm)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.analyses.audit import answers, texts
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Chart, Result, analysis, groups, records, where
from pairbank.stats.figures.charts import MOST_LINES, intervals
from pairbank.stats.measures import paired_tests
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import read_table

LEVEL = 0.05


CHECKS = {
    "no_answer": "items without an answer",
    "zero": "accuracy of 0 or below chance",
    "chance": "accuracy at chance",
    "constant": "constant choice",
    "position": "position bias",
    "ties": "ties",
    "scores": "constant or impossible scores",
    "copies": "scores of another model",
    "identical": "identical sides",
    "tokens": "identical tokens",
    "unknown": "unknown tokens",
    "repeated": "repeated pairs",
    "unseen": "differences that a reader may not see",
    "lengths": "length tells the better side",
    "length_choice": "choice goes with length",
    "prompts": "prompts that change between rows",
    "definitions": "prompts that change between models",
    "items": "texts that change between models",
}
"""Name -> title, in the order of the report."""
DROPS = ("zero", "chance", "constant", "copies")
"""What is found leaves no accuracy: the headline is then the mean over models, with and without them."""
COLUMNS = ("what", "where", "found", "models", "items", "headline", "without", "effect", "of")
NOT_CHECKED = ("what", "corpus", "method", "outcome", "why", "models")


@analysis(title="Common artefacts in these scores")
def audit(tables: Sequence[ScoredFrame], _context: Context) -> Result:
    """Return the artefacts found in the tables."""
    checks = checks_of(tables)
    if (checks["outcome"] == "not checked").all():
        raise BankError("no table has items of two sides and a method that compares them; there is nothing to audit")
    findings, details = findings_of(checks), where(checks, outcome="found").reset_index(drop=True)
    ran = {*checks.loc[checks["outcome"] != "not checked", "what"]}
    clean = {*where(checks, outcome="clean")["what"]} - {*details["what"]}
    of_models = checks.loc[(checks["method"] != "") & (checks["model"] != ""), ["corpus", "method", "model"]]
    return Result(
        tables={"findings": findings, "details": details, "not_checked": not_checked_of(checks), "checks": checks},
        main_table="findings",
        charts=[*_charts(findings)],
        values={
            "n_tables": len(tables),
            "corpora": list(checks["corpus"].unique()),
            "n_checks": len(CHECKS),
            "n_ran": len(ran),
            "n_methods": len(of_models.drop_duplicates()),
            "n_unsure": int((checks["outcome"] == "inconclusive").sum()),
            "skipped": [title for title in CHECKS.values() if title not in ran],
            "clean": [title for title in CHECKS.values() if title in clean],
        },
    )


def findings_of(checks: pd.DataFrame) -> pd.DataFrame:
    """Return one row per finding: a check of a method on a corpus, over its models; the largest effects first."""
    in_order = checks.sort_values("check", key=lambda names: names.map([*CHECKS].index), kind="stable")
    of_check = groups(in_order, "check", "corpus", "method")
    rows = [_finding(group.frame, checks) for group in of_check if "found" in {*group.frame["outcome"]}]
    table = pd.DataFrame(rows, columns=[*COLUMNS])
    order = table["effect"].abs().fillna(-1.0).sort_values(ascending=False, kind="stable").index
    return table.loc[order].reset_index(drop=True)


def _finding(results: pd.DataFrame, checks: pd.DataFrame) -> dict[str, Any]:
    found = where(results, outcome="found")
    first = found.iloc[int((found["without"] - found["headline"]).abs().fillna(-1.0).to_numpy().argmax())]
    headline, without, of = first["headline"], first["without"], first["model"] or "the corpus"
    by_method = pd.DataFrame()
    if first["check"] in DROPS:  # which leaves the models no accuracy: how often are they right by their other methods?
        same = where(checks, check="no_answer", corpus=first["corpus"]).dropna(subset="headline")
        same = same[same["model"].isin(found["model"]) & (same["method"] != first["method"])]
        by_method = same.groupby("method", sort=False)["headline"].agg(["min", "max", "size"]).head(3).reset_index()
        if len(results) > 1:
            headline, of = results["headline"].mean(), f"mean over {len(results)} models"
            without = results.loc[results["outcome"] != "found", "headline"].mean()
    models = [model for model in found["model"] if model]
    return {
        "what": first["what"],
        "where": f"{first['corpus']}, `{first['method']}`" if first["method"] else first["corpus"],
        "found": answers.words().render("found", first, models, len(results), by_method),
        "models": f"{len(models)} of {len(results)}" if models else "",
        "items": found["n_concerned"].sum(),
        "headline": headline,
        "without": without,
        "effect": without - headline,
        "of": of,
    }


def not_checked_of(checks: pd.DataFrame) -> pd.DataFrame:
    """Return what was not checked or is inconclusive, and why: one row per check, corpus, method and reason."""
    shown = checks[checks["outcome"].isin(["not checked", "inconclusive"])]
    why = shown["said"].where(shown["outcome"] == "not checked", answers.words().render("inconclusive"))
    shown = shown.assign(why=why, models=(shown["model"] != "").astype(int))
    return shown.groupby([*NOT_CHECKED[:-1]], sort=False)["models"].sum().reset_index()


def checks_of(tables: Sequence[ScoredFrame]) -> pd.DataFrame:
    """Return what came of every check, one row each, with p corrected by Holm over all tests.

    Findings that do not hold after the correction are withdrawn.
    """
    checks = pd.DataFrame(list(_run(tables)), columns=[*answers.COLUMNS])
    checks.insert(2, "what", checks["check"].map(CHECKS))
    checks["p"] = paired_tests.corrected(checks["p"]).holm
    withdrawn, is_chance = (checks["outcome"] == "found") & (checks["p"] >= LEVEL), checks["check"] == "chance"
    checks.loc[withdrawn, ["outcome", "n_concerned", "items"]] = "clean", 0, ""
    checks.loc[withdrawn & is_chance, "outcome"] = "inconclusive"
    checks.loc[withdrawn & ~is_chance, "said"] = ""
    return checks


def _run(tables: Sequence[ScoredFrame]) -> Iterator[dict[str, Any]]:
    for corpus in dict.fromkeys(table.corpus for table in tables):
        of_corpus = [table for table in tables if table.corpus == corpus]
        reads = [read_table(table) for table in of_corpus]
        methods = [list(answers.audited(table)) for table in reads]
        flat = [method for of_table in methods for method in of_table]
        with_texts = max(reads, key=lambda table: ("target_bad" in table.frame.columns, len(table.frame)))
        yield from texts.item_checks(with_texts, flat)
        yield texts.changed_items(reads)
        yield from texts.changed_between(of_corpus, flat)
        for table, of_table in zip(reads, methods, strict=True):
            yield from texts.changed_within(table, of_table)
        for method in flat:
            yield from answers.answer_checks(method)
            yield texts.length_choice(method)
            yield from texts.flagged_items(method)
            yield answers.constant_scores(method)
        yield from answers.copies(flat)


def _charts(findings: pd.DataFrame) -> Iterator[Chart]:
    """Yield headlines with and without what was found, where both are numbers."""
    shown = findings[findings["headline"].notna() & findings["without"].notna()].head(MOST_LINES)
    rows = [
        {"row": f"{row['what']}: {row['where']}", "series": series, "value": row[column], "low": np.nan, "high": np.nan}
        for row in records(shown)
        for series, column in (("as reported", "headline"), ("without it", "without"))
    ]
    if rows:
        draw = partial(
            intervals, pd.DataFrame(rows), rows="row", series="series", x_label="accuracy", chance=0.5, limits=(0, 1)
        )
        yield Chart(name="headlines", caption="headlines", draw=draw)
