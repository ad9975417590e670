"""Common artefacts in scored tables: one row per finding, and what was looked for.

Every check that is a test (position, chance, below chance, length) enters one family over all tables of the call;
Holm's correction keeps the chance of any false finding at 0.05. The other checks are facts of the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.analyses.audit.answers import (
    CheckResult,
    answer_checks,
    audited,
    constant_scores,
    copies,
    listed,
    share_text,
)
from pairbank.stats.analyses.audit.texts import (
    changed_between,
    changed_items,
    changed_within,
    identical_tokens,
    item_checks,
    length_choice,
    unknown_tokens,
)
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Chart, Result, Rows, analysis, records
from pairbank.stats.figures.charts import MOST_LINES, intervals
from pairbank.stats.measures.paired_tests import LEAST_CLUSTERS, corrected
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import read_table

LEVEL = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A kind of fault that is looked for."""

    title: str
    drops: bool = False
    """Whether what is found leaves no accuracy: the headline is then the mean over models, with and without them."""
    is_test: bool = False


CHECKS = {
    "no_answer": Check(title="items without an answer"),
    "zero": Check(title="accuracy of 0 or below chance", drops=True, is_test=True),
    "chance": Check(title="accuracy at chance", drops=True, is_test=True),
    "constant": Check(title="constant choice", drops=True),
    "position": Check(title="position bias", is_test=True),
    "ties": Check(title="ties"),
    "scores": Check(title="constant or impossible scores"),
    "copies": Check(title="scores of another model", drops=True),
    "identical": Check(title="identical sides"),
    "tokens": Check(title="identical tokens"),
    "unknown": Check(title="unknown tokens"),
    "repeated": Check(title="repeated pairs"),
    "unseen": Check(title="differences that a reader may not see"),
    "lengths": Check(title="length tells the better side", is_test=True),
    "length_choice": Check(title="choice goes with length", is_test=True),
    "prompts": Check(title="prompts that change between rows"),
    "definitions": Check(title="prompts that change between models"),
    "items": Check(title="texts that change between models"),
}
"""By name, in the order of the report."""
COLUMNS = ("what", "where", "found", "models", "items", "headline", "without", "effect", "of")
NOT_CHECKED = ("what", "corpus", "method", "outcome", "why", "models")


@analysis(
    title="Common artefacts in these scores",
    references=("Holm 1979, Scandinavian Journal of Statistics 6:65-70",),
)
def audit(tables: Sequence[ScoredFrame], _context: Context) -> Result:
    """Return the artefacts found in the tables."""
    results = after_correction(list(run_checks(tables)))
    if all(result.outcome == "not checked" for result in results):
        raise BankError("no table has items of two sides and a method that compares them; there is nothing to audit")
    findings = findings_of(results)
    ran = {result.check for result in results if result.outcome != "not checked"}
    clean = {result.check for result in results if result.outcome == "clean"}
    clean -= {result.check for result in results if result.outcome == "found"}
    return Result(
        tables={
            "findings": findings,
            "details": _table([result for result in results if result.outcome == "found"]),
            "not_checked": not_checked_of(results),
            "checks": _table(results),
        },
        main_table="findings",
        charts=[*_charts(findings)],
        values={
            "n_tables": len(tables),
            "corpora": listed(list(dict.fromkeys(result.corpus for result in results)), most=8),
            "n_checks": len(CHECKS),
            "n_ran": len(ran),
            "n_methods": len(
                {(result.corpus, result.method, result.model) for result in results if result.method and result.model}
            ),
            "n_unsure": sum(result.outcome == "inconclusive" for result in results),
            "skipped": [check.title for name, check in CHECKS.items() if name not in ran],
            "clean": [check.title for name, check in CHECKS.items() if name in clean],
            "share": share_text,
            "LEAST_CLUSTERS": LEAST_CLUSTERS,
        },
    )


def findings_of(results: Sequence[CheckResult]) -> pd.DataFrame:
    """Return one row per finding: a check of a method on a corpus, over its models; the largest effects first."""
    by_key: dict[tuple[str, str, str], list[CheckResult]] = {}
    for result in results:
        by_key.setdefault((result.check, result.corpus, result.method), []).append(result)
    rows = Rows()
    for check in CHECKS:
        for key, of_key in by_key.items():
            if key[0] == check and any(result.outcome == "found" for result in of_key):
                row = _finding(of_key)
                rows.append(row | {"found": f"{row['found']}{_otherwise(of_key, results)}"})
    table = pd.DataFrame(rows, columns=[*COLUMNS])
    order = table["effect"].abs().fillna(-1.0).sort_values(ascending=False, kind="stable").index
    return table.loc[order].reset_index(drop=True)


def _finding(results: Sequence[CheckResult]) -> dict[str, Any]:
    check, corpus, method = CHECKS[results[0].check], results[0].corpus, results[0].method
    found = [result for result in results if result.outcome == "found"]
    first = max(found, key=lambda result: _size(result.without - result.headline))
    headline, without, of = first.headline, first.without, first.model or "the corpus"
    if check.drops and len(results) > 1:
        headline = _mean([result.headline for result in results])
        without = _mean([result.headline for result in results if result.outcome != "found"])
        of = f"mean over {len(results)} models"
    named = [result.model for result in found if result.model]
    text = f"`{first.model}` {first.said}" if first.model else first.said
    if len(named) > 1:
        text = f"{len(named)} of {len(results)} models ({listed(named)}). {text}"
    return {
        "what": check.title,
        "where": f"{corpus}, `{method}`" if method else corpus,
        "found": text,
        "models": f"{len(named)} of {len(results)}" if named else "",
        "items": sum(result.n_concerned for result in found),
        "headline": headline,
        "without": without,
        "effect": without - headline,
        "of": of,
    }


def _otherwise(of_key: Sequence[CheckResult], results: Sequence[CheckResult]) -> str:
    """Return how often the models of a finding are right by their other methods, where it leaves them no accuracy."""
    models = {result.model for result in of_key if result.outcome == "found" and CHECKS[result.check].drops}
    corpus, method = of_key[0].corpus, of_key[0].method
    by_method: dict[str, list[float]] = {}
    for result in results:
        same = result.check == "no_answer" and result.corpus == corpus and result.model in models
        if same and result.method != method and not np.isnan(result.headline):
            by_method.setdefault(result.method, []).append(result.headline)
    texts = [
        f"`{other}` {share_text(min(values))}" + (f" to {share_text(max(values))}" if len(values) > 1 else "")
        for other, values in by_method.items()
    ]
    owners = "the same models are" if len(models) > 1 else "the same model is"
    return f"; {owners} right by {', '.join(texts[:3])}" if texts else ""


def not_checked_of(results: Sequence[CheckResult]) -> pd.DataFrame:
    """Return what was not checked or is inconclusive, and why: one row per check, corpus, method and reason."""
    models: dict[tuple[str, str, str, str, str], int] = {}
    for result in results:
        if result.outcome in ("not checked", "inconclusive"):
            why = result.said if result.outcome == "not checked" else "neither shown to be at chance nor above it"
            key = (CHECKS[result.check].title, result.corpus, result.method, result.outcome, why)
            models[key] = models.get(key, 0) + bool(result.model)
    return pd.DataFrame([(*key, n) for key, n in models.items()], columns=[*NOT_CHECKED])


def _size(effect: float) -> float:
    return -1.0 if np.isnan(effect) else abs(effect)


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else np.nan


def run_checks(tables: Sequence[ScoredFrame]) -> Iterator[CheckResult]:
    """Yield what every check gives, before the correction for how many tests there are."""
    for corpus in dict.fromkeys(table.corpus for table in tables):
        of_corpus = [table for table in tables if table.corpus == corpus]
        reads = [read_table(table) for table in of_corpus]
        methods = [list(audited(table)) for table in reads]
        flat = [method for of_table in methods for method in of_table]
        with_texts = max(reads, key=lambda table: ("target_bad" in table.frame.columns, len(table.frame)))
        yield from item_checks(with_texts, flat)
        yield changed_items(reads)
        yield from changed_between(of_corpus, flat)
        for table, of_table in zip(reads, methods, strict=True):
            yield from changed_within(table, of_table)
        for method in flat:
            yield from answer_checks(method)
            yield length_choice(method)
            yield identical_tokens(method)
            yield unknown_tokens(method)
            yield constant_scores(method)
        yield from copies(flat)


def after_correction(results: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the results with p corrected by Holm over all; findings that do not hold after it are withdrawn."""
    adjusted = corrected([result.p for result in results]).holm
    return [
        result if np.isnan(p) else _decided(replace(result, p=float(p)))
        for result, p in zip(results, adjusted, strict=True)
    ]


def _decided(result: CheckResult) -> CheckResult:
    if result.outcome != "found" or result.p < LEVEL:
        return result
    if result.check == "chance":
        return replace(result, outcome="inconclusive", n_concerned=0)
    return replace(result, outcome="clean", phrase="", n_concerned=0, items=())


def _table(results: Sequence[CheckResult]) -> pd.DataFrame:
    names = [name if name != "phrase" else "said" for name in CheckResult.__slots__ if name != "values"]
    rows = [{name: getattr(result, name) for name in names} for result in results]
    frame = pd.DataFrame(rows, columns=names)
    frame["what"] = [CHECKS[name].title for name in frame["check"]]
    frame["items"] = [" ".join(items) for items in frame["items"]]
    return frame[["corpus", "check", "what", *(name for name in names if name not in ("corpus", "check"))]]


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
