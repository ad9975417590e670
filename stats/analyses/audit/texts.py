"""Checks of texts and prompts: of items, tokens and lengths, and of prompts that differ between rows or models.

In: the tables of one corpus; out: `Looked`. Within a table a prompt is compared with the sides' texts taken out of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.builders.schema.unseen import flags_of
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.names import DIRECT, IDENTICAL_TOKENS, UNKNOWN_TOKEN, is_string_logprob
from pairbank.stats.analyses.audit.answers import (
    LEAST_EFFECT,
    LEAST_ITEMS,
    MOST_IDS,
    Audited,
    CheckResult,
    mean_share_p,
)
from pairbank.stats.measures.paired_tests import LEAST_CLUSTERS, beyond_clusters_p
from pairbank.stats.scored_table.method_scores import flagged

if TYPE_CHECKING:
    from pairbank.arrays import BoolArray, FloatArray
    from pairbank.stats.scored_table.method_scores import ScoredFrame
    from pairbank.stats.scored_table.scored_table import ScoredTable

TEXTS = ("context_good", "target_good", "context_bad", "target_bad")
PARADIGMS = ("paradigm", "phenomenon")
LEAST_OF_A_LENGTH = 10
"""Items whose better side is the longer one, and the shorter one, that a comparison takes."""


def has_texts(frame: pd.DataFrame) -> bool:
    """Return whether the two sides can be read."""
    return {"target_good", "target_bad"} <= {*frame.columns} and bool(frame["target_bad"].notna().any())


def texts_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Return context and target of both sides as texts, empty where there is none."""
    return pd.DataFrame({name: frame[name].fillna("") if name in frame.columns else "" for name in TEXTS})


def item_checks(table: ScoredTable, methods: Sequence[Audited]) -> Iterator[CheckResult]:
    """Yield what was found of a corpus's items."""
    corpus: dict[str, Any] = {"corpus": table.corpus}
    if not has_texts(table.frame):
        for check in ("identical", "repeated", "unseen", "lengths"):
            yield CheckResult(check=check, outcome="not checked", phrase="no_texts", n=len(table.frame), **corpus)
        return
    yield identical(table, methods)
    yield repeated(table, methods)
    yield unseen(table, methods)
    yield length_alone(table)


def identical(table: ScoredTable, methods: Sequence[Audited]) -> CheckResult:
    """Pairs whose two sides are the same text, which no model can choose between."""
    texts = texts_of(table.frame)
    same = (texts["target_good"] == texts["target_bad"]) & (texts["context_good"] == texts["context_bad"])
    which = same.to_numpy(dtype=np.bool_) | ~table.is_choice
    n = int(which.sum())
    if not n:
        return CheckResult(check="identical", corpus=table.corpus, n=len(which))
    best = max((entry for entry in methods if entry.n), key=lambda member: member.accuracy, default=None)
    headline = best.accuracy if best else np.nan
    with_them = headline * best.n / (best.n + n) if best else np.nan
    values = {"n": n, "of": len(which), "headline": headline, "with_them": with_them} | _named(best)
    return CheckResult(
        check="identical",
        corpus=table.corpus,
        outcome="found",
        phrase="identical",
        values=values,
        n=len(which),
        n_concerned=n,
        headline=with_them,
        without=headline,
        items=tuple(table.frame["item_id"][which][:MOST_IDS]),
    )


def identical_tokens(entry: Audited) -> CheckResult:
    """Pairs whose sides are the same to a model's tokenizer: a tie whatever the model knows."""
    return _flagged(entry, "tokens", IDENTICAL_TOKENS)


def unknown_tokens(entry: Audited) -> CheckResult:
    """Items with characters that a model's tokenizer has no token for: it is not asked about what stands there."""
    return _flagged(entry, "unknown", UNKNOWN_TOKEN)


def _flagged(entry: Audited, check: str, flag: str) -> CheckResult:
    """Return how many scored items a flag of the method names, and the accuracy without them."""
    name = ScoreColumns(entry.layout.method).flags
    if name not in entry.table.frame.columns:
        return entry.not_checked(check, "no_flags")
    which = flagged(entry.table.frame, name, flag) & entry.scored
    n = int(which.sum())
    if not n:
        return entry.result(check)
    values = {"n": n, "of": entry.n}
    found = {"outcome": "found", "phrase": check, "values": values, "n_concerned": n, "items": entry.some(which)}
    return entry.result(check, without=entry.without(which), **found)


def repeated(table: ScoredTable, methods: Sequence[Audited]) -> CheckResult:
    """Pairs that stand several times, or once each way round, so that one of both cannot be right."""
    texts = texts_of(table.frame)
    good = texts["context_good"] + "\0" + texts["target_good"]
    bad = texts["context_bad"] + "\0" + texts["target_bad"]
    again = (good + "\1" + bad).duplicated().to_numpy(dtype=np.bool_) & table.is_choice
    turned = (good + "\1" + bad).isin({*(bad + "\1" + good)}).to_numpy(dtype=np.bool_) & table.is_choice
    which = again | turned
    return _of_items("repeated", table, methods, which, {"n": int(again.sum()), "n_turned": int(turned.sum())})


def unseen(table: ScoredTable, methods: Sequence[Audited]) -> CheckResult:
    """Pairs whose sides differ in what a reader does not see, so that scores measure the encoding."""
    texts = texts_of(table.frame)
    good = texts["context_good"] + "\n" + texts["target_good"]
    bad = texts["context_bad"] + "\n" + texts["target_bad"]
    whole = table.has_value("task", "sentence_pair")
    flags = [[*flags_of(*sides, whole=bool(x))] for *sides, x in zip(good, bad, whole, strict=True)]
    which = np.array([bool(found) for found in flags], dtype=np.bool_) & table.is_choice
    counts = Counter(flag for found, is_counted in zip(flags, which, strict=True) for flag in found if is_counted)
    return _of_items("unseen", table, methods, which, {"n": int(which.sum()), "kinds": counts})


def _of_items(
    check: str, table: ScoredTable, methods: Sequence[Audited], which: BoolArray, values: dict[str, Any]
) -> CheckResult:
    """Return what was found of some items, and the accuracy that changes most without them."""
    if not which.any():
        return CheckResult(check=check, corpus=table.corpus, n=len(which))
    most, without = changed_most(methods, set(table.frame["item_id"][which]))
    headline = most.accuracy if most else np.nan
    values |= {"of": len(which), "without": without, "headline": headline} | _named(most)
    return CheckResult(
        check=check,
        corpus=table.corpus,
        outcome="found",
        phrase=check,
        values=values,
        n=len(which),
        n_concerned=int(which.sum()),
        headline=headline,
        without=without,
        items=tuple(table.frame["item_id"][which][:MOST_IDS]),
    )


def _named(method: Audited | None) -> dict[str, str]:
    return {"model": method.table.model, "method": method.layout.method} if method else {"model": "", "method": ""}


def changed_most(methods: Sequence[Audited], ids: set[str]) -> tuple[Audited | None, float]:
    """Return the method whose accuracy changes most without some items, and that accuracy."""
    changes = [(method, method.without(method.among(ids))) for method in methods]
    known = [(method, without) for method, without in changes if not np.isnan(without)]
    return max(known, key=lambda change: abs(change[0].accuracy - change[1]), default=(None, np.nan))


def longer(table: ScoredTable) -> FloatArray:
    """Return 1 where the better side is the longer one, -1 where it is the shorter one, 0 where both are equal."""
    texts = texts_of(table.frame)
    direction: FloatArray = np.sign(
        texts["target_good"].str.len().to_numpy(dtype=np.float64)
        - texts["target_bad"].str.len().to_numpy(dtype=np.float64)
    )
    return direction


def length_alone(table: ScoredTable) -> CheckResult:
    """Taking always the shorter (or the longer) side is right far more often than half of the time."""
    used = table.rows(table.is_choice & table.has_truth)
    place: dict[str, Any] = {"check": "lengths", "corpus": table.corpus}
    direction = longer(used)
    if (direction != 0).sum() < LEAST_ITEMS:
        why = {"n": int((direction != 0).sum())}
        return CheckResult(outcome="not checked", phrase="few_lengths", values=why, n=direction.size, **place)
    credit = (direction + 1) / 2
    share = float(credit.mean())
    right = max(share, 1 - share)
    p = _length_p(direction, np.ones_like(direction), used)
    place |= {"n": credit.size, "headline": right, "without": 0.5, "p": p}
    if right - 0.5 < LEAST_EFFECT:
        return CheckResult(**place)
    values = {"rule": "longer" if share > 0.5 else "shorter", "right": right, "n": credit.size}
    n_concerned = int((direction != 0).sum())
    return CheckResult(outcome="found", phrase="lengths", values=values, n_concerned=n_concerned, **place)


def length_choice(entry: Audited) -> CheckResult:
    """A method is right far more often where the better side is the longer (or the shorter) one."""
    if entry.n < LEAST_ITEMS:
        return entry.not_checked("length_choice", "few_items", n=entry.n)
    if not has_texts(entry.table.frame):
        return entry.not_checked("length_choice", "no_texts")
    direction, credit = longer(entry.table)[entry.scored], entry.credit[entry.scored]
    up, down = credit[direction > 0], credit[direction < 0]
    values: dict[str, Any] = {"n_longer": up.size, "n_shorter": down.size, "least": LEAST_OF_A_LENGTH}
    if min(up.size, down.size) < LEAST_OF_A_LENGTH:
        return entry.not_checked("length_choice", "few_of_a_length", **values)
    balanced = float(up.mean() + down.mean()) / 2
    differs = direction != 0
    centred = np.where(differs, credit - credit[differs].mean(), 0.0)
    balance = np.where(differs, direction - direction[differs].mean(), 0.0)
    tested = {"without": balanced, "p": _length_p(balance, centred, entry.table.rows(entry.scored))}
    if abs(float(up.mean() - down.mean())) < LEAST_EFFECT:
        return entry.result("length_choice", **tested)
    values |= {"longer": float(up.mean()), "shorter": float(down.mean()), "balanced": balanced}
    found = {"outcome": "found", "phrase": "length_choice", "values": values, "n_concerned": int(differs.sum())}
    return entry.result("length_choice", **tested, **found)


def _length_p(direction: FloatArray, credit: FloatArray, used: ScoredTable) -> float:
    """Return the p of no link between length and what is right: over paradigms where there are ten, else items."""
    product = direction * credit
    codes = paradigms_of(used)
    if codes is not None and np.unique(codes).size >= LEAST_CLUSTERS:
        p = beyond_clusters_p(product, np.unique(codes, return_inverse=True)[1])
        return 1.0 if np.isnan(p) else p
    return mean_share_p(product, about=0.0)


def paradigms_of(used: ScoredTable) -> np.ndarray | None:
    """Return each row's paradigm, or else its phenomenon, as a number; None where one has neither."""
    for column in PARADIGMS:
        if column in used.frame.columns and used.frame[column].notna().all():
            return np.asarray(pd.factorize(used.frame[column])[0])
    return None


PROMPT = re.compile(r"(?:.*_)?(?:prompt|instruction|query|template)s?(?:_text)?", re.IGNORECASE)
"""Columns of a table that hold what was asked."""
MOST_TEMPLATES = 2
"""Both orders of one prompt."""


def prompt_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns of a table that hold prompts.

    >>> prompt_columns(pd.DataFrame(columns=["item_id", "prompt", "direct_delta", "judge_prompt", "prompted_delta"]))
    ['prompt', 'judge_prompt']
    """
    return [str(name) for name in frame.columns if PROMPT.fullmatch(str(name))]


def changed_within(table: ScoredTable, methods: Sequence[Audited]) -> Iterator[CheckResult]:
    """Yield, for each column of prompts, whether more prompts were asked than the orders of one."""
    columns = prompt_columns(table.frame) if has_texts(table.frame) else []
    place: dict[str, Any] = {"corpus": table.corpus, "model": table.model}
    if not columns:
        yield CheckResult(check="prompts", outcome="not checked", phrase="no_prompts", n=len(table.frame), **place)
    for column in columns:
        template = templates(table.frame, column)
        counts = template.value_counts()
        if len(counts) <= MOST_TEMPLATES:
            yield CheckResult(check="prompts", n=int(template.notna().sum()), **place)
            continue
        rare = ~template.isin(counts.index[:MOST_TEMPLATES]) & template.notna()
        yield _changed(table, methods, column, template, rare.to_numpy(dtype=np.bool_))


def templates(frame: pd.DataFrame, column: str) -> pd.Series[str]:
    """Return each row's prompt with the texts of its sides taken out; null where there is none."""
    texts = texts_of(frame)
    results = []
    for prompt, *sides in zip(frame[column], *(texts[name] for name in TEXTS), strict=True):
        text = prompt if isinstance(prompt, str) else None
        for side in sorted((side for side in sides if side), key=len, reverse=True):
            text = None if text is None else text.replace(side, "…")
        results.append(text)
    return pd.Series(results, index=frame.index, dtype="object")


def _changed(
    table: ScoredTable, methods: Sequence[Audited], column: str, template: pd.Series[str], rare: np.ndarray
) -> CheckResult:
    most, without = changed_most(methods, set(table.frame["item_id"][rare]))
    headline = most.accuracy if most else np.nan
    values = {
        "n": int(template.nunique()),
        "column": column,
        "first": str(template.value_counts().index[0])[:60],
        "headline": headline,
        "without": without,
    } | _named(most)
    return CheckResult(
        check="prompts",
        corpus=table.corpus,
        model=table.model,
        outcome="found",
        phrase="prompts",
        values=values,
        n=int(template.notna().sum()),
        n_concerned=int(rare.sum()),
        headline=headline,
        without=without,
        items=tuple(table.frame["item_id"][rare][:MOST_IDS]),
    )


def changed_between(tables: Sequence[ScoredFrame], methods: Sequence[Audited]) -> Iterator[CheckResult]:
    """Yield which methods were defined otherwise for some models of a corpus: another prompt under one name."""
    hashes: dict[str, dict[str, list[str]]] = {}
    for table in tables:
        definitions = table.signature.get("methods", {})
        for layout in table.layouts:
            definition = definitions.get(layout.method) if isinstance(definitions, Mapping) else None
            if isinstance(definition, Mapping) and "sha256" in definition:
                hashes.setdefault(layout.method, {}).setdefault(str(definition["sha256"]), []).append(table.model)
    corpus = tables[0].corpus
    for method in dict.fromkeys(layout.method for table in tables for layout in table.layouts):
        known = hashes.get(method, {})
        n_models = sum(map(len, known.values()))
        place: dict[str, Any] = {"check": "definitions", "corpus": corpus, "method": method}
        if others := _scored_otherwise(method, tables):
            values: dict[str, Any] = {"direct": DIRECT, "models": others}
            yield CheckResult(outcome="found", phrase="other_strings", values=values, **place)
        elif n_models < 2:
            phrase = "one_model_signed" if len(tables) > 1 else "one_model"
            yield CheckResult(outcome="not checked", phrase=phrase, **place)
        elif len(known) == 1:
            yield CheckResult(**place)
        else:
            means = {
                key: np.array([x.accuracy for x in methods if x.layout.method == method and x.table.model in of])
                for key, of in known.items()
            }
            most = max(known, key=lambda key: len(known[key]))
            place |= {"headline": _mean(np.concatenate([*means.values()])), "without": _mean(means[most])}
            yield CheckResult(outcome="found", phrase="definitions_differ", values={"definitions": known}, **place)


def _scored_otherwise(method: str, tables: Sequence[ScoredFrame]) -> list[str]:
    """Return the models with `direct` where a method is log-probabilities of other strings, of models without it."""
    layouts = {table.model: {layout.method for layout in table.layouts} for table in tables}
    definitions = [
        table.signature.get("methods", {}).get(method, {}) for table in tables if method in layouts[table.model]
    ]
    is_variant = any((definition.get("imported") or {}).get("kind") == "logprob" for definition in definitions)
    if method == DIRECT or not is_variant or not is_string_logprob(method):
        return []
    if any({DIRECT, method} <= own for own in layouts.values()):
        return []
    return [model for model, own_values in layouts.items() if DIRECT in own_values]


def changed_items(tables: Sequence[ScoredTable]) -> CheckResult:
    """Items whose text is not the same in the tables of all models."""
    corpus = tables[0].corpus
    with_texts = [table for table in tables if has_texts(table.frame)]
    if len(with_texts) < 2:
        return CheckResult(check="items", corpus=corpus, outcome="not checked", phrase="one_model_with_texts")
    first = _text_by_id(with_texts[0])
    changed: set[str] = set()
    n_shared = 0
    for other in with_texts[1:]:
        both = first.index.intersection(pd.Index(other.frame["item_id"]))
        n_shared = max(n_shared, len(both))
        selected = _text_by_id(other).reindex(both)
        changed |= {*both[(selected != first.reindex(both)).to_numpy(dtype=np.bool_)]}
    if not n_shared:
        return CheckResult(check="items", corpus=corpus, outcome="not checked", phrase="no_shared_item")
    if not changed:
        return CheckResult(check="items", corpus=corpus, n=n_shared)
    return CheckResult(
        check="items",
        corpus=corpus,
        outcome="found",
        phrase="items",
        values={"n": len(changed), "of": n_shared},
        n=n_shared,
        n_concerned=len(changed),
        items=tuple(sorted(changed)[:MOST_IDS]),
    )


def _text_by_id(table: ScoredTable) -> pd.Series[str]:
    texts = texts_of(table.frame)
    joined = texts[TEXTS[0]]
    for name in TEXTS[1:]:
        joined = joined + "\0" + texts[name]
    return joined.set_axis(table.frame["item_id"])


def _mean(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else np.nan
