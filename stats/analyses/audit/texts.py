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
    Audited,
    CheckResult,
    listed,
    mean_share_p,
    share_text,
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
            why = "the table has no texts of two sides"
            yield CheckResult(check=check, outcome="not checked", said=why, n=len(table.frame), **corpus)
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
    text = (
        f"{n:,} of {len(which):,} pairs have two identical sides; here they are left out"
        + (f" (`{best.table.model}` by `{best.layout.method}`: {share_text(headline)})" if best else "")
        + (f", as wrong answers they would make it {share_text(with_them)}" if best else "")
    )
    return CheckResult(
        check="identical", corpus=table.corpus, outcome="found", said=text, n=len(which), n_concerned=n,
        headline=with_them, without=headline, items=tuple(table.frame["item_id"][which][:5]),
    )  # fmt: skip


def identical_tokens(entry: Audited) -> CheckResult:
    """Pairs whose sides are the same to a model's tokenizer: a tie whatever the model knows."""
    text = "cannot tell the sides of {n:,} of {of:,} pairs apart: its tokenizer makes the same tokens of both"
    return _flagged(entry, "tokens", IDENTICAL_TOKENS, text)


def unknown_tokens(entry: Audited) -> CheckResult:
    """Items with characters that a model's tokenizer has no token for: it is not asked about what stands there."""
    text = "has no token for some characters of {n:,} of {of:,} items, and is given an unknown token in their place"
    return _flagged(entry, "unknown", UNKNOWN_TOKEN, text)


def _flagged(entry: Audited, check: str, flag: str, said: str) -> CheckResult:
    """Return how many scored items a flag of the method names (`n`, `of` them), and the accuracy without them."""
    name = ScoreColumns(entry.layout.method).flags
    if name not in entry.table.frame.columns:
        why = "the table has no flags of this method"
        return CheckResult(
            check=check, outcome="not checked", said=why, n=entry.n, headline=entry.accuracy, **entry.place
        )
    which = flagged(entry.table.frame, name, flag) & entry.scored
    n = int(which.sum())
    if not n:
        return CheckResult(check=check, n=entry.n, headline=entry.accuracy, **entry.place)
    kept = entry.credit[entry.scored & ~which]
    return CheckResult(
        check=check, outcome="found", said=said.format(n=n, of=entry.n), n=entry.n, n_concerned=n,
        headline=entry.accuracy,
        without=float(kept.mean()) if kept.size else np.nan, items=entry.some(which), **entry.place,
    )  # fmt: skip


def repeated(table: ScoredTable, methods: Sequence[Audited]) -> CheckResult:
    """Pairs that stand several times, or once each way round, so that one of both cannot be right."""
    texts = texts_of(table.frame)
    good = texts["context_good"] + "\0" + texts["target_good"]
    bad = texts["context_bad"] + "\0" + texts["target_bad"]
    again = (good + "\1" + bad).duplicated().to_numpy(dtype=np.bool_) & table.is_choice
    turned = (good + "\1" + bad).isin({*(bad + "\1" + good)}).to_numpy(dtype=np.bool_) & table.is_choice
    which = again | turned
    text = f"{again.sum():,} of {len(which):,} pairs stand there before"
    text += f", {turned.sum():,} also with the sides exchanged" if turned.any() else ""
    return _of_items("repeated", table, methods, which, text)


def unseen(table: ScoredTable, methods: Sequence[Audited]) -> CheckResult:
    """Pairs whose sides differ in what a reader does not see, so that scores measure the encoding."""
    texts = texts_of(table.frame)
    good = texts["context_good"] + "\n" + texts["target_good"]
    bad = texts["context_bad"] + "\n" + texts["target_bad"]
    whole = table.has_value("task", "sentence_pair")
    flags = [[*flags_of(*sides, whole=bool(x))] for *sides, x in zip(good, bad, whole, strict=True)]
    which = np.array([bool(found) for found in flags], dtype=np.bool_) & table.is_choice
    counts = Counter(flag for found, is_counted in zip(flags, which, strict=True) for flag in found if is_counted)
    kinds = ", ".join(f"{flag} {n:,}" for flag, n in counts.items())
    text = f"{which.sum():,} of {len(which):,} pairs differ in what a reader may not see ({kinds})"
    return _of_items("unseen", table, methods, which, text)


def _of_items(check: str, table: ScoredTable, methods: Sequence[Audited], which: BoolArray, text: str) -> CheckResult:
    """Return what was found of some items, and the accuracy that changes most without them."""
    if not which.any():
        return CheckResult(check=check, corpus=table.corpus, n=len(which))
    ids = set(table.frame["item_id"][which])
    changes = [
        (abs(method.accuracy - kept), method, kept) for method in methods if (kept := _without(method, ids)) is not None
    ]
    _, most, kept = max(changes, key=lambda x: x[0], default=(0.0, None, np.nan))
    if most is not None:
        text += f"; without them `{most.table.model}` by `{most.layout.method}` is right in {share_text(kept)}"
        text += f", not {share_text(most.accuracy)}"
    return CheckResult(
        check=check, corpus=table.corpus, outcome="found", said=text, n=len(which), n_concerned=int(which.sum()),
        headline=np.nan if most is None else most.accuracy, without=kept,
        items=tuple(table.frame["item_id"][which][:5]),
    )  # fmt: skip


def _without(entry: Audited, ids: set[str]) -> float | None:
    kept = entry.credit[entry.scored & ~entry.table.frame["item_id"].isin(ids).to_numpy(dtype=np.bool_)]
    return float(kept.mean()) if kept.size else None


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
        why = f"{int((direction != 0).sum()):,} pairs have sides of different length; it takes {LEAST_ITEMS}"
        return CheckResult(outcome="not checked", said=why, n=direction.size, **place)
    credit = (direction + 1) / 2
    share = float(credit.mean())
    rule, right = ("longer", share) if share > 0.5 else ("shorter", 1 - share)
    result = right - 0.5 >= LEAST_EFFECT
    text = f"taking the {rule} side (in characters; equal ones one half) is right in {share_text(right)} of "
    text += f"{credit.size:,} pairs"
    return CheckResult(
        outcome="found" if result else "clean", said=text if result else "", n=credit.size, headline=right, without=0.5,
        n_concerned=int((direction != 0).sum()) if result else 0, p=_length_p(direction, np.ones_like(direction), used),
        **place,
    )  # fmt: skip


def length_choice(entry: Audited) -> CheckResult:
    """A method is right far more often where the better side is the longer (or the shorter) one."""
    place = entry.place
    if not has_texts(entry.table.frame) or entry.n < LEAST_ITEMS:
        why = (
            "the table has no texts of two sides"
            if entry.n >= LEAST_ITEMS
            else f"{entry.n:,} items; it takes {LEAST_ITEMS}"
        )
        return CheckResult(
            check="length_choice", outcome="not checked", said=why, n=entry.n, headline=entry.accuracy, **place
        )
    direction, credit = longer(entry.table)[entry.scored], entry.credit[entry.scored]
    up, down = credit[direction > 0], credit[direction < 0]
    if min(up.size, down.size) < LEAST_OF_A_LENGTH:
        why = f"the better side is longer in {up.size:,} pairs and shorter in {down.size:,}; it takes 10 of each"
        return CheckResult(
            check="length_choice", outcome="not checked", said=why, n=entry.n, headline=entry.accuracy, **place
        )
    gap = float(up.mean() - down.mean())
    result = abs(gap) >= LEAST_EFFECT
    balanced = float(up.mean() + down.mean()) / 2
    text = (
        f"is right in {share_text(up.mean())} where the better side is the longer one (n = {up.size:,}) and in "
        f"{share_text(down.mean())} where it is the shorter one (n = {down.size:,}); "
        f"{share_text(balanced)} with equal weights"
    )
    used = entry.table.rows(entry.scored)
    differs = direction != 0
    centred = np.where(differs, credit - credit[differs].mean(), 0.0)
    balance = np.where(differs, direction - direction[differs].mean(), 0.0)
    return CheckResult(
        check="length_choice", outcome="found" if result else "clean", said=text if result else "", n=entry.n,
        n_concerned=int(differs.sum()) if result else 0, headline=entry.accuracy, without=balanced,
        p=_length_p(balance, centred, used), **place,
    )  # fmt: skip


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
        why = "the table has no column with the prompts that were asked"
        yield CheckResult(check="prompts", outcome="not checked", said=why, n=len(table.frame), **place)
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
    n, first = int(template.nunique()), str(template.value_counts().index[0])
    text = f"was asked with {n:,} prompts in the column `{column}`, most often {first[:60]!r}"
    rare_ids = set(table.frame["item_id"][rare])
    changes = []
    for entry in methods:
        kept = entry.scored & ~entry.table.frame["item_id"].isin(rare_ids).to_numpy(dtype=np.bool_)
        if kept.any():
            changes.append((entry.accuracy, float(entry.credit[kept].mean()), entry.layout.method))
    headline, without, method = max(changes, key=lambda x: abs(x[0] - x[1]), default=(np.nan, np.nan, ""))
    if method:
        text += f"; by `{method}` it is right in {share_text(headline)}"
        text += f", and in {share_text(without)} where asked as most were"
    return CheckResult(
        check="prompts", corpus=table.corpus, model=table.model, outcome="found", said=text,
        n=int(template.notna().sum()),
        n_concerned=int(rare.sum()), headline=headline, without=without,
        items=tuple(table.frame["item_id"][rare][:5]),
    )  # fmt: skip


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
        if others := _scored_otherwise(method, tables):
            text = f"is another method than `{DIRECT}`, which {listed(others, most=2)} has: other strings were scored"
            yield CheckResult(check="definitions", corpus=corpus, method=method, outcome="found", said=text)
        elif n_models < 2:
            why = "one model only, or none with a signature" if len(tables) > 1 else "there is one model only"
            yield CheckResult(check="definitions", corpus=corpus, method=method, outcome="not checked", said=why)
        elif len(known) == 1:
            yield CheckResult(check="definitions", corpus=corpus, method=method)
        else:
            means = {
                key: np.array([x.accuracy for x in methods if x.layout.method == method and x.table.model in of])
                for key, of in known.items()
            }
            most = max(known, key=lambda key: len(known[key]))
            every, kept = np.concatenate([*means.values()]), means[most]
            parts = [f"{listed(of, most=2)} ({key[:8]})" for key, of in known.items()]
            text = f"is defined in {len(known)} ways under one name: {'; '.join(parts)}"
            yield CheckResult(
                check="definitions", corpus=corpus, method=method, outcome="found", said=text,
                headline=_mean(every), without=_mean(kept),
            )  # fmt: skip


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
        return CheckResult(
            check="items", corpus=corpus, outcome="not checked", said="there is one model with texts only"
        )
    first = _text_by_id(with_texts[0])
    changed: set[str] = set()
    n_shared = 0
    for other in with_texts[1:]:
        both = first.index.intersection(pd.Index(other.frame["item_id"]))
        n_shared = max(n_shared, len(both))
        selected = _text_by_id(other).reindex(both)
        changed |= {*both[(selected != first.reindex(both)).to_numpy(dtype=np.bool_)]}
    if not n_shared:
        why = "the models share no item"
        return CheckResult(check="items", corpus=corpus, outcome="not checked", said=why)
    if not changed:
        return CheckResult(check="items", corpus=corpus, n=n_shared)
    text = f"{len(changed):,} of {n_shared:,} shared items have other texts in some tables, under the same id"
    return CheckResult(
        check="items", corpus=corpus, outcome="found", said=text, n=n_shared, n_concerned=len(changed),
        items=tuple(sorted(changed)[:5]),
    )  # fmt: skip


def _text_by_id(table: ScoredTable) -> pd.Series[str]:
    texts = texts_of(table.frame)
    joined = texts[TEXTS[0]]
    for name in TEXTS[1:]:
        joined = joined + "\0" + texts[name]
    return joined.set_axis(table.frame["item_id"])


def _mean(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else np.nan
