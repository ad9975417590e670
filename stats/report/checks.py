"""What a reader must know of the tables: position bias, missing answers, texts that a tokenizer cannot read.

A check yields findings, and the macro of its name in `checks.md.j2` puts each into a sentence.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pairbank.builders.schema.columns import IDENTICAL_SIDES, NO_TRUTH, ONE_SIDED_TASKS
from pairbank.markdown import html_as_text
from pairbank.scoring.api.layout import MethodLayout, ScoreColumns
from pairbank.scoring.api.names import IDENTICAL_TOKENS, OVER_LENGTH, UNKNOWN_TOKEN, reference_of
from pairbank.stats.analyses.baselines import with_and_without
from pairbank.stats.analyses.form import Words, groups, where
from pairbank.stats.scored_table.method_scores import (
    SAME_PLACE,
    ScoredFrame,
    flagged,
    is_one_place,
    number_column,
    shows_both,
)

UNREAD = 0.05
"""Share of items with unknown tokens, or with the same tokens on both sides, from which on it is reported."""
MOST_LINES = 8
"""Findings of one kind; of more, how many."""
CHANCE = 0.5
SAME_R = 0.995
"""Pearson r between two prompts from which on two decimals show 1.00."""
_LEAST_PAIRS = 10
KEYS = ["model", "corpus", "method"]
FIRST, OTHER = "always picks the first option", "never picks the first option"
POOLED, BIAS = "accuracy_pooled", "position_bias"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What checks look at."""

    tables: Sequence[ScoredFrame]
    summary: pd.DataFrame
    own: pd.DataFrame
    """Accuracies by each method's own definition."""
    labels: Mapping[str, str]
    layouts: Mapping[str, MethodLayout]


Finding = Mapping[str, Any]


def sentences(facts: Facts, *places: str) -> tuple[str, ...]:
    """Return what the checks of some places find, in words."""
    return tuple(
        _words().render(name, {"labels": facts.labels, **finding})
        for name, (place, find) in CHECKS.items()
        if place in places
        for finding in find(facts)
    )


@functools.cache
def _words() -> Words:
    return Words(Path(__file__).with_suffix(".md.j2"), {})


def cannot_read(table: ScoredFrame) -> str:
    """Return what of a corpus a model's tokenizer cannot read, or "" where that is hardly anything."""
    finding = _unread_of(table)
    return html_as_text(_words().render("unread_texts", finding)) if finding else ""


def _unread(facts: Facts) -> Iterator[Finding]:
    findings = [finding for table in facts.tables if (finding := _unread_of(table))]
    yield from findings[:MOST_LINES]
    if len(findings) > MOST_LINES:
        yield {"n_more": len(findings) - MOST_LINES}


def _unread_of(table: ScoredFrame) -> Finding | None:
    """Return how many items hold unknown tokens, or the same tokens on both sides, where that is more than UNREAD.

    The flags are those of `direct`, or of the first method that has any.
    """
    methods = [layout.method for layout in table.layouts if f"{layout.method}_flags" in table.column_names]
    method = reference_of(methods) or next(iter(methods), None)
    if method is None:
        return None
    flags, n = f"{method}_flags", table.n_rows
    frame = table.part(["item_id", "flags", f"{method}_delta", flags])
    is_pair = ~flagged(frame, "flags", IDENTICAL_SIDES) & ~np.isnan(number_column(frame, f"{method}_delta"))
    n_pairs, n_unknown = int(is_pair.sum()), int(flagged(frame, flags, UNKNOWN_TOKEN).sum())
    n_same = int((flagged(frame, flags, IDENTICAL_TOKENS) & is_pair).sum())
    counts = {"n_unknown": n_unknown * (n_unknown > UNREAD * n), "n": n}
    counts |= {"n_same": n_same * (n_same > UNREAD * n_pairs), "n_pairs": n_pairs}
    where = {"model": table.model, "corpus": table.corpus, "method": method}
    return where | counts if counts["n_unknown"] or counts["n_same"] else None


def _same_answers(facts: Facts) -> Iterator[Finding]:
    """Yield models whose answers to different prompts correlate at 1.00, by corpus and prompts."""
    alike: dict[tuple[str, str, str, int], list[str]] = {}
    for table in facts.tables:
        prompts = {ScoreColumns(x.method).delta: x.method for x in table.layouts if x.is_answer and x.has_logprobs}
        if len(columns := [name for name in prompts if name in table.column_names]) < 2:
            continue
        with np.errstate(invalid="ignore", divide="ignore"):
            r = table.part(columns).astype(np.float64).corr(min_periods=_LEAST_PAIRS).to_numpy(dtype=np.float64)
        numbered = itertools.combinations(range(len(columns)), 2)
        if pairs := [(prompts[columns[a]], prompts[columns[b]]) for a, b in numbered if r[a, b] >= SAME_R]:
            alike.setdefault((table.corpus, *pairs[0], len(pairs) - 1), []).append(table.model)
    for (corpus, first, second, n_more), models in itertools.islice(alike.items(), MOST_LINES):
        yield {"corpus": corpus, "first": first, "second": second, "n_more": n_more, "models": models}


def _position_bias(facts: Facts) -> Iterator[Finding]:
    shares = by_place(facts.summary, facts.layouts)
    if shares.empty:
        return
    whole = facts.summary[(facts.summary["group_by"] == "all") & facts.summary["value"].notna()]
    answers = [name for name, layout in facts.layouts.items() if layout.is_answer]
    n_asked = int(((whole["metric"] == "accuracy") & whole["method"].isin(answers)).sum())
    yield _biased(shares.index.to_frame(), n_asked)


def _bias_on_sentences(facts: Facts) -> Iterator[Finding]:
    whole = where(facts.summary, metric="position_bias_sentence", group_by="all")
    if len(biased := whole[whole["value"].map(is_one_place)]):
        yield _biased(biased, len(whole))


def _biased(rows: pd.DataFrame, n_asked: int) -> Finding:
    models, methods = (rows[name].unique() for name in ("model", "method"))
    return {"n": len(rows), "n_asked": n_asked, "models": models, "methods": methods}


def by_place(summary: pd.DataFrame, layouts: Mapping[str, MethodLayout]) -> pd.Series[float]:
    """Return the share of first options of those with position bias, by model, corpus and method."""
    both = [name for name, layout in layouts.items() if shows_both(layout)]
    whole = summary[(summary["group_by"] == "all") & summary["method"].isin(both)]
    shares: pd.Series[float] = whole[whole["metric"] == BIAS].set_index(KEYS)["value"].astype(float)
    pooled = whole[(whole["metric"] == POOLED) & whole["value"].notna()].set_index(KEYS).index
    return shares[shares.map(is_one_place).astype(bool) & shares.index.isin(pooled)]


def picks(share: float) -> str:
    return FIRST if share >= SAME_PLACE else OTHER


def _unasked(facts: Facts) -> Iterator[Finding]:
    """Yield the methods that have no number of any item of a corpus, by any model."""
    for corpus in dict.fromkeys(table.corpus for table in facts.tables):
        tables = [table for table in facts.tables if table.corpus == corpus and table.n_rows]
        methods = dict.fromkeys(layout.method for table in tables for layout in table.layouts)
        empty = [method for method in methods if not any(has_numbers(table, method) for table in tables)]
        if empty:
            languages = {str(x) for table in tables for x in table.part(["language"]).to_numpy().ravel()}
            lines = [f"`{method}`" for method in empty[:MOST_LINES]]
            lines += [f"{len(empty) - MOST_LINES} more"] if len(empty) > MOST_LINES else []
            yield {"corpus": corpus, "languages": sorted(languages)[:3], "lines": lines}


def has_numbers(table: ScoredFrame, method: str) -> bool:
    columns = [f"{method}_{name}" for name in ("delta", "good", "unparsed", "answers", "logprobs")]
    return any(table.part([name]).notna().to_numpy().any() for name in columns)


def _unparsed(facts: Facts) -> Iterator[Finding]:
    summary = facts.summary
    rows = summary[(summary["metric"] == "unparsed") & (summary["group_by"] == "all") & (summary["value"] > 0)]
    yield from ({"method": group.key[0], "rows": group.frame} for group in groups(rows, "method"))


def _below_chance(facts: Facts) -> Iterator[Finding]:
    """Yield published decisions below chance, where answers that could not be parsed may count as wrong."""
    decisions = [name for name, layout in facts.layouts.items() if layout.is_answer and layout.readout == "decision"]
    whole = facts.own[(facts.own["group_by"] == "all") & facts.own["method"].isin(decisions)]
    for group in groups(whole, "corpus", "method"):
        if n := int((group.frame["high"] < CHANCE).sum()):
            yield group.first | {"n": n, "n_models": len(group.frame), "chance": CHANCE}


def _left_out(facts: Facts) -> Iterator[Finding]:
    """Yield why numbers rest on fewer items than a corpus's table has, by corpus: a row per cause, model and method."""
    for corpus in dict.fromkeys(table.corpus for table in facts.tables):
        tables = [table for table in facts.tables if table.corpus == corpus]
        n_items = max(table.n_rows for table in tables)
        causes = [
            {"cause": cause, "n": n, "model": table.model, "method": method}
            for table in tables
            for cause, n, method in (("absent", n_items - table.n_rows, ""), *_lost(table))
            if n
        ]
        if causes:
            rows = pd.DataFrame(causes)
            n_methods = len({layout.method for table in tables for layout in table.layouts})
            yield {"corpus": corpus, "n_items": n_items, "causes": groups(rows, "cause")} | {
                "n_models": len(tables),
                "n_methods": n_methods,
            }


def _lost(table: ScoredFrame) -> Iterator[tuple[str, int, str]]:
    """Yield why a table's items are in no number, or in none of a method, with how many."""
    items = table.part(["flags", "human_good", "task", "language"])
    identical = flagged(items, "flags", IDENTICAL_SIDES)
    yield "identical", int(identical.sum()), ""
    if not (untrue := flagged(items, "flags", NO_TRUTH)).all():
        yield "no_truth", int(untrue.sum()), ""
    one_sided = items.get("task", pd.Series(dtype=str)).isin(ONE_SIDED_TASKS)
    if not one_sided.all():
        yield "one_sided", int(one_sided.sum()), ""
    if "human_good" in items and items["human_good"].notna().any():
        yield "unrated", int((items["human_good"].isna() & ~identical).sum()), ""
    kinds = items.filter(["task", "language"]).astype(str).sum(axis=1)
    for layout in table.layouts:
        columns = ScoreColumns(layout.method)
        scores = table.part([columns.delta, columns.good, columns.flags, columns.unparsed])
        lacking = scores.filter([columns.delta, columns.good]).isna().all(axis=1).to_numpy()
        if not lacking.any() or lacking.all():
            continue
        of_others = lacking & ~kinds.isin(kinds[~lacking]).to_numpy()
        lost = scores[lacking & ~of_others]
        too_long = flagged(lost, columns.flags, OVER_LENGTH)
        unparsed = lost[columns.unparsed].eq(1).to_numpy() if columns.unparsed in lost else too_long & False
        yield "inapplicable", int(of_others.sum()), layout.method
        yield "over_length", int(too_long.sum()), layout.method
        yield "unparsed", int((unparsed & ~too_long).sum()), layout.method
        yield "unscored", int((~unparsed & ~too_long).sum()), layout.method


def _known_errors(facts: Facts) -> Iterator[Finding]:
    yield from ({"rows": group.frame} for group in groups(with_and_without(facts.tables), "corpus"))


CHECKS: dict[str, tuple[str, Callable[[Facts], Iterable[Finding]]]] = {
    "unread": ("caution", _unread),
    "same_answers": ("caution", _same_answers),
    "position_bias": ("caution on analyses", _position_bias),
    "bias_on_sentences": ("caution", _bias_on_sentences),
    "unasked": ("unasked", _unasked),
    "unparsed": ("footnote", _unparsed),
    "below_chance": ("footnote", _below_chance),
    "left_out": ("left out", _left_out),
    "known_errors": ("note", _known_errors),
}
"""By the macro that is its words: where a report has it, and what looks for it."""
