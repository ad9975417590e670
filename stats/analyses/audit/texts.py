"""Checks of texts and prompts: of items, tokens and lengths, and of prompts that differ between rows or models."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pairbank.arrays import BoolArray, FloatArray
from pairbank.builders.schema.unseen import flags_of
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.names import DIRECT, IDENTICAL_TOKENS, UNKNOWN_TOKEN, is_string_logprob
from pairbank.stats.analyses.audit.answers import LEAST_EFFECT, LEAST_ITEMS, MOST_IDS, Audited, mean_share_p, result
from pairbank.stats.measures.paired_tests import LEAST_CLUSTERS, beyond_clusters_p
from pairbank.stats.scored_table.method_scores import ScoredFrame, flagged
from pairbank.stats.scored_table.scored_table import ScoredTable

TEXTS = ("context_good", "target_good", "context_bad", "target_bad")
PARADIGMS = ("paradigm", "phenomenon")
LEAST_OF_A_LENGTH = 10
"""Items whose better side is the longer one, and the shorter one, that a comparison takes."""

PROMPT = re.compile(r"(?:.*_)?(?:prompt|instruction|query|template)s?(?:_text)?", re.IGNORECASE)
"""Columns of a table that hold what was asked."""
MOST_TEMPLATES = 2
"""Both orders of one prompt."""


def has_texts(frame: pd.DataFrame) -> bool:
    return {"target_good", "target_bad"} <= {*frame.columns} and bool(frame["target_bad"].notna().any())


def texts_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Return context and target of both sides as texts, empty where there is none."""
    return pd.DataFrame({name: frame[name].fillna("") if name in frame.columns else "" for name in TEXTS})


def item_checks(table: ScoredTable, methods: Sequence[Audited]) -> Iterator[dict[str, Any]]:
    if not has_texts(table.frame):
        for check in ("identical", "repeated", "unseen", "lengths"):
            yield result(check, table.corpus, outcome="not checked", phrase="no_texts", n=len(table.frame))
        return
    texts = texts_of(table.frame)
    yield identical(table, methods, texts)
    yield repeated(table, methods, texts)
    yield unseen(table, methods, texts)
    yield length_alone(table)


def identical(table: ScoredTable, methods: Sequence[Audited], texts: pd.DataFrame) -> dict[str, Any]:
    """Pairs whose two sides are the same text, which no model can choose between."""
    same = (texts["target_good"] == texts["target_bad"]) & (texts["context_good"] == texts["context_bad"])
    which = same.to_numpy(dtype=np.bool_) | ~table.is_choice
    best = max((method for method in methods if method.n), key=lambda method: method.accuracy, default=None)
    headline = best.accuracy if best else np.nan
    n = int(which.sum())
    with_them = headline * best.n / (best.n + n) if best else np.nan
    values = {"n": n, "headline": headline, "with_them": with_them} | _named(best)
    row = _of_items("identical", table, (), which, values)
    return row | {"headline": with_them, "without": headline} if n else row


def flagged_items(method: Audited) -> Iterator[dict[str, Any]]:
    """Yield how many scored items a flag of a method names, and the accuracy without them.

    Sides of the same tokens are a tie whatever the model knows; it is not asked about what it has no token for.
    """
    name = ScoreColumns(method.layout.method).flags
    for check, flag in (("tokens", IDENTICAL_TOKENS), ("unknown", UNKNOWN_TOKEN)):
        if name not in method.table.frame.columns:
            yield method.not_checked(check, "no_flags")
            continue
        which = flagged(method.table.frame, name, flag) & method.scored
        values = {"n": int(which.sum()), "of": method.n}
        without = method.without(which)
        yield method.found(check, values, which=which, without=without) if which.any() else method.result(check)


def repeated(table: ScoredTable, methods: Sequence[Audited], texts: pd.DataFrame) -> dict[str, Any]:
    """Pairs that stand several times, or once each way round, so that one of both cannot be right."""
    good = texts["context_good"] + "\0" + texts["target_good"]
    bad = texts["context_bad"] + "\0" + texts["target_bad"]
    again = (good + "\1" + bad).duplicated().to_numpy(dtype=np.bool_) & table.is_choice
    turned = (good + "\1" + bad).isin({*(bad + "\1" + good)}).to_numpy(dtype=np.bool_) & table.is_choice
    values = {"n": int(again.sum()), "n_turned": int(turned.sum())}
    return _of_items("repeated", table, methods, again | turned, values)


def unseen(table: ScoredTable, methods: Sequence[Audited], texts: pd.DataFrame) -> dict[str, Any]:
    """Pairs whose sides differ in what a reader does not see, so that scores measure the encoding."""
    good = texts["context_good"] + "\n" + texts["target_good"]
    bad = texts["context_bad"] + "\n" + texts["target_bad"]
    whole = table.has_value("task", "sentence_pair")
    flags = [[*flags_of(*sides, whole=bool(x))] for *sides, x in zip(good, bad, whole, strict=True)]
    which = np.array([bool(found) for found in flags], dtype=np.bool_) & table.is_choice
    counts = Counter(flag for found, is_counted in zip(flags, which, strict=True) for flag in found if is_counted)
    return _of_items("unseen", table, methods, which, {"n": int(which.sum()), "kinds": counts})


def _of_items(
    check: str, table: ScoredTable, methods: Sequence[Audited], which: BoolArray, values: dict[str, Any]
) -> dict[str, Any]:
    """Return what was found of some items, and the accuracy that changes most without them."""
    if not which.any():
        return result(check, table.corpus, n=len(which))
    ids = table.frame["item_id"]
    changes = [(x, x.without(x.table.frame["item_id"].isin(ids[which]).to_numpy())) for x in methods]
    known = [(method, without) for method, without in changes if not np.isnan(without)]
    most, without = max(known, key=lambda change: abs(change[0].accuracy - change[1]), default=(None, np.nan))
    headline = most.accuracy if most else np.nan
    effect: dict[str, Any] = {"headline": headline, "without": without}
    said: dict[str, Any] = {"phrase": check, "values": {"of": len(which)} | effect | _named(most) | values}
    return result(check, table.corpus, outcome="found", **said, n=len(which), which=which, ids=ids, **effect)


def _named(method: Audited | None) -> dict[str, str]:
    return {"model": method.table.model, "method": method.layout.method} if method else {"model": "", "method": ""}


def longer(table: ScoredTable) -> FloatArray:
    """Return 1 where the better side is the longer one, -1 where it is the shorter one, 0 where both are equal."""
    texts = texts_of(table.frame)
    direction: FloatArray = np.sign(
        texts["target_good"].str.len().to_numpy(dtype=np.float64)
        - texts["target_bad"].str.len().to_numpy(dtype=np.float64)
    )
    return direction


def length_alone(table: ScoredTable) -> dict[str, Any]:
    """Taking always the shorter (or the longer) side is right far more often than half of the time."""
    used = table.rows(table.is_choice & table.has_truth)
    direction = longer(used)
    n_differ = int((direction != 0).sum())
    made = partial(result, "lengths", table.corpus, n=direction.size)
    if n_differ < LEAST_ITEMS:
        return made(outcome="not checked", phrase="few_lengths", values={"n": n_differ})
    share = float(((direction + 1) / 2).mean())
    right = max(share, 1 - share)
    made = partial(made, headline=right, without=0.5, p=_length_p(direction, np.ones_like(direction), used))
    if right - 0.5 < LEAST_EFFECT:
        return made()
    values = {"rule": "longer" if share > 0.5 else "shorter", "right": right, "n": direction.size}
    return made(outcome="found", phrase="lengths", values=values, n_concerned=n_differ)


def length_choice(method: Audited) -> dict[str, Any]:
    """A method is right far more often where the better side is the longer (or the shorter) one."""
    if method.n < LEAST_ITEMS:
        return method.not_checked("length_choice", "few_items", n=method.n)
    if not has_texts(method.table.frame):
        return method.not_checked("length_choice", "no_texts")
    direction, credit = longer(method.table)[method.scored], method.credit[method.scored]
    up, down = credit[direction > 0], credit[direction < 0]
    values: dict[str, Any] = {"n_longer": up.size, "n_shorter": down.size, "least": LEAST_OF_A_LENGTH}
    if min(up.size, down.size) < LEAST_OF_A_LENGTH:
        return method.not_checked("length_choice", "few_of_a_length", **values)
    balanced = float(up.mean() + down.mean()) / 2
    differs = direction != 0
    centred = np.where(differs, credit - credit[differs].mean(), 0.0)
    balance = np.where(differs, direction - direction[differs].mean(), 0.0)
    p = _length_p(balance, centred, method.table.rows(method.scored))
    if abs(float(up.mean() - down.mean())) < LEAST_EFFECT:
        return method.result("length_choice", without=balanced, p=p)
    values |= {"longer": float(up.mean()), "shorter": float(down.mean()), "balanced": balanced}
    return method.found("length_choice", values, without=balanced, p=p, n_concerned=int(differs.sum()))


def _length_p(direction: FloatArray, credit: FloatArray, used: ScoredTable) -> float:
    """Return the p of no link between length and what is right: over paradigms where there are ten, else items."""
    product = direction * credit
    for column in PARADIGMS:
        if column in used.frame.columns and used.frame[column].notna().all():
            codes, names = pd.factorize(used.frame[column])
            if len(names) < LEAST_CLUSTERS:
                break
            p = beyond_clusters_p(product, codes)
            return 1.0 if np.isnan(p) else p
    return mean_share_p(product, about=0.0)


def prompt_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns of a table that hold prompts.

    >>> prompt_columns(pd.DataFrame(columns=["item_id", "prompt", "direct_delta", "judge_prompt", "prompted_delta"]))
    ['prompt', 'judge_prompt']
    """
    return [str(name) for name in frame.columns if PROMPT.fullmatch(str(name))]


def changed_within(table: ScoredTable, methods: Sequence[Audited]) -> Iterator[dict[str, Any]]:
    """Yield, for each column of prompts, whether more prompts were asked than the orders of one."""
    columns = prompt_columns(table.frame) if has_texts(table.frame) else []
    made = partial(result, "prompts", table.corpus, model=table.model)
    if not columns:
        yield made(outcome="not checked", phrase="no_prompts", n=len(table.frame))
    for column in columns:
        template = templates(table.frame, column)
        counts, n = template.value_counts(), int(template.notna().sum())
        if len(counts) <= MOST_TEMPLATES:
            yield made(n=n)
            continue
        rare = ~template.isin(counts.index[:MOST_TEMPLATES]) & template.notna()
        values = {"n": len(counts), "column": column, "first": str(counts.index[0])[:60]}
        changed = _of_items("prompts", table, methods, rare.to_numpy(dtype=np.bool_), values)
        yield changed | {"model": table.model, "n": n}


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


def changed_between(tables: Sequence[ScoredFrame], methods: Sequence[Audited]) -> Iterator[dict[str, Any]]:
    """Yield which methods were defined otherwise for some models of a corpus: another prompt under one name."""
    defined: dict[str, dict[str, list[str]]] = {}
    for table in tables:
        definitions = table.signature.get("methods", {})
        for layout in table.layouts:
            models = defined.setdefault(layout.method, {})
            if sha256 := definitions.get(layout.method, {}).get("sha256"):
                models.setdefault(str(sha256), []).append(table.model)
    for method, models in defined.items():
        made = partial(result, "definitions", tables[0].corpus, method=method)
        if others := _scored_otherwise(method, tables):
            values: dict[str, Any] = {"direct": DIRECT, "models": others}
            yield made(outcome="found", phrase="other_strings", values=values)
        elif sum(map(len, models.values())) < 2:
            yield made(outcome="not checked", phrase="one_model_signed" if len(tables) > 1 else "one_model")
        elif len(models) == 1:
            yield made()
        else:
            of_method = {x.table.model: x.accuracy for x in methods if x.layout.method == method}
            accuracies, most = pd.Series(of_method, dtype="float64"), max(models.values(), key=len)
            means: dict[str, Any] = {
                "headline": accuracies.reindex([*itertools.chain(*models.values())]).mean(),
                "without": accuracies.reindex(most).mean(),
            }
            yield made(outcome="found", phrase="definitions_differ", values={"definitions": models}, **means)


def _scored_otherwise(method: str, tables: Sequence[ScoredFrame]) -> list[str]:
    """Return the models with `direct` where a method is log-probabilities of other strings, of models without it."""
    methods = {table.model: {layout.method for layout in table.layouts} for table in tables}
    definitions = [
        table.signature.get("methods", {}).get(method, {}) for table in tables if method in methods[table.model]
    ]
    is_variant = any((definition.get("imported") or {}).get("kind") == "logprob" for definition in definitions)
    if method == DIRECT or not is_variant or not is_string_logprob(method):
        return []
    if any({DIRECT, method} <= of_model for of_model in methods.values()):
        return []
    return [model for model, of_model in methods.items() if DIRECT in of_model]


def changed_items(tables: Sequence[ScoredTable]) -> dict[str, Any]:
    """Items whose text is not the same in the tables of all models."""
    made = partial(result, "items", tables[0].corpus)
    by_id = [texts_of(table.frame).set_axis(table.frame["item_id"]) for table in tables if has_texts(table.frame)]
    if len(by_id) < 2:
        return made(outcome="not checked", phrase="one_model_with_texts")
    changed: set[str] = set()
    n_shared = 0
    for texts in by_id[1:]:
        shared = by_id[0].index.intersection(texts.index)
        n_shared = max(n_shared, len(shared))
        differs = (texts.reindex(shared) != by_id[0].reindex(shared)).any(axis=1)
        changed |= {*shared[differs.to_numpy(dtype=np.bool_)]}
    if not n_shared:
        return made(outcome="not checked", phrase="no_shared_item")
    if not changed:
        return made(n=n_shared)
    concerned: dict[str, Any] = {"n_concerned": len(changed), "items": " ".join(sorted(changed)[:MOST_IDS])}
    values = {"n": len(changed), "of": n_shared}
    return made(outcome="found", phrase="items", values=values, n=n_shared, **concerned)
