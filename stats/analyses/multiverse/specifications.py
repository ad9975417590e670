"""Every specification of a claim: one estimate per combination of the choices that the tables hold.

Ties are a choice where there are some, a filter where it leaves some items out and 20 in.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
import pandas as pd

from pairbank.arrays import BoolArray, FloatArray
from pairbank.errors import BankError
from pairbank.scoring.api.layout import MethodLayout
from pairbank.stats.analyses.multiverse.measures import Claim, Reading, filters_of, is_on_side, readings
from pairbank.stats.estimates.estimate import Estimate
from pairbank.stats.measures.agreement import pearson, spearman
from pairbank.stats.measures.paired_tests import paired_difference
from pairbank.stats.scored_table.method_scores import ScoredFrame, not_compared
from pairbank.stats.scored_table.scored_table import read_table

LEAST_ITEMS = 20
MOST = 20_000
"""Specifications; of more, the claim should name methods or models."""
MOST_NUMBERS = 200_000_000
"""Items of all specifications together: 1.6 GB."""
LEAST_TIES = 0.01
"""Share of ties from which on it is a choice what they count."""
TIES: Mapping[str, float | None] = {"one half": 0.5, "wrong": 0.0, "left out": None}


@dataclass(frozen=True, kw_only=True, eq=False)
class Specification:
    """One way of testing the claim."""

    choices: Mapping[str, str]
    estimate: Estimate
    corpus: str
    item_ids: np.ndarray
    """Ids of the items used, shape (items,)."""
    contributions: FloatArray
    """Of a difference each item's gain; of r what each item adds to Fisher's z; same shape."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Held:
    """What one table holds: its readings on the items that count, and filters of these."""

    corpus: str
    model: str
    setting: Mapping[str, str]
    """What of the model's signature may differ between tables of one model: BOS, precision."""
    item_ids: np.ndarray
    people: FloatArray
    """Human judgment of good - bad, NaN where there is none."""
    filters: Mapping[str, BoolArray]
    readings: Sequence[Reading]


def held(table: ScoredFrame) -> Held:
    read = read_table(table)
    used = read.rows(read.is_choice & read.has_truth)
    keys = {"BOS": "bos_policy", "precision": "dtype", "prompt format": "prompt_format"}
    known = {name: table.signature.get("model", {}).get(key) for name, key in keys.items()}
    return Held(
        corpus=table.corpus,
        model=table.model,
        setting={name: str(value) for name, value in known.items() if value},
        item_ids=np.array(used.item_ids, dtype=object),
        people=used.human_delta,
        filters=filters_of(used),
        readings=tuple(readings(used)) if len(used.frame) else (),
    )


def specifications(claim: Claim, tables: Sequence[Held]) -> list[Specification]:
    makers: dict[str, tuple[str, Callable[[Claim, Sequence[Held]], Iterator[Specification]]]] = {
        "people": ("human judgments of both sides", _of_people),
        "methods": ("a model with both", _of_pairs),
        "models": ("a method of both on the same items", _of_pairs),
    }
    needs, maker = makers[claim.kind]
    results: list[Specification] = []
    n_numbers = 0
    for specification in maker(claim, tables):
        results.append(specification)
        n_numbers += specification.contributions.size
        if len(results) > MOST or n_numbers > MOST_NUMBERS:
            raise BankError(
                f"the tables hold more than {len(results) - 1:,} specifications, of {n_numbers:,} items together: too "
                "many at once; name methods or models in multiverse.claim, or give fewer tables"
            )
    if not results:
        methods = dict.fromkeys(reading.layout.method for table in tables for reading in table.readings)
        biased = position_bias(tables) if claim.kind != "people" else ""
        raise BankError(
            f"no specification of the claim that {claim.in_words}: it takes {needs} and {LEAST_ITEMS} items; the "
            f"tables have {', '.join(methods) or 'no method'}. {biased}".rstrip()
        )
    return results


def position_bias(tables: Sequence[Held]) -> str:
    """Return which accuracies no specification compares, and why; empty where there are none."""
    results = [
        {"model": table.model, "method": reading.layout.method}
        for table in tables
        for reading in table.readings
        if reading.is_biased
    ]
    return not_compared(pd.DataFrame(results).drop_duplicates()) if results else ""


def _of_people(_claim: Claim, tables: Sequence[Held]) -> Iterator[Specification]:
    kinds: dict[str, Callable[[FloatArray, FloatArray], Estimate]] = {"Pearson": pearson, "Spearman": spearman}
    for table in tables:
        for reading, (name, kept), (kind, r) in itertools.product(table.readings, table.filters.items(), kinds.items()):
            used = kept & ~np.isnan(reading.difference + table.people)
            # right and wrong alone, of which the method has differences too
            repeats = reading.choices.get("orders", "averaged") != "averaged" and reading.layout.has_logprobs
            if used.sum() < LEAST_ITEMS or repeats:
                continue
            x, y = reading.difference[used], table.people[used]
            estimate = r(x, y)
            if estimate.reason is not None:
                continue
            yield Specification(
                choices=_places(table) | dict(reading.choices) | {"r": kind, "items": name},
                estimate=estimate,
                corpus=table.corpus,
                item_ids=table.item_ids[used],
                contributions=influences(x, y, ranked=kind == "Spearman"),
            )


def influences(x: FloatArray, y: FloatArray, *, ranked: bool) -> FloatArray:
    """Return what each item adds to Fisher's z of r: its infinitesimal shifts, whose sum is 0.

    >>> shifts = influences(np.array([1.0, 2.0, 3.0, 5.0]), np.array([2.0, 1.0, 4.0, 3.0]), ranked=False)
    >>> abs(round(float(shifts.sum()), 12))
    0.0
    """
    from scipy.stats import rankdata

    first, second = (rankdata(x), rankdata(y)) if ranked else (x, y)
    a, b = (v - v.mean() for v in (first, second))
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    r = float(np.clip(a @ b, -1 + 1e-9, 1 - 1e-9))
    return np.asarray((a * b - r / 2 * (a * a + b * b)) / (1 - r * r))


def _of_pairs(claim: Claim, tables: Sequence[Held]) -> Iterator[Specification]:
    """Yield the specifications of two methods of one table, or of one method of the tables of two models."""
    of_models = claim.kind == "models"
    for first, other in itertools.product(tables, tables):
        is_claimed = fnmatchcase(first.model, claim.a) and fnmatchcase(other.model, claim.b)
        if of_models and (not is_claimed or first.corpus != other.corpus or first.model == other.model):
            continue
        for a, b in itertools.product(first.readings, other.readings) if of_models or first is other else ():
            is_same = a.layout.method == b.layout.method
            are_sides = is_on_side(a.layout, claim.a) and is_on_side(b.layout, claim.b)
            fits = is_same and a.choices == b.choices if of_models else are_sides and not is_same
            if fits and not a.is_biased and not b.is_biased:
                yield from _gains(first, other, a, b, _joined({} if of_models else a.choices, b.choices))


def _joined(a: Mapping[str, str], b: Mapping[str, str]) -> dict[str, str]:
    """Return the choices of both sides; what both have a choice of is told apart."""
    both = a.keys() & b.keys()
    return {
        f"{name} of {side}" if name in both else name: value
        for side, choices in (("A", a), ("B", b))
        for name, value in choices.items()
    }


def _places(table: Held, other: Held | None = None) -> dict[str, str]:
    model = table.model if other is None or other is table else f"{table.model} - {other.model}"
    return {"corpus": table.corpus, "model": model, **table.setting}


def _gains(first: Held, other: Held, a: Reading, b: Reading, choices: dict[str, str]) -> Iterator[Specification]:
    """Yield the specifications of two readings: filters and rules for ties."""
    credit = np.column_stack([a.credit, _onto(first, other, b.credit)])
    tied = np.column_stack([a.tied, _onto(first, other, b.tied.astype(np.float64)) == 1])
    known: BoolArray = np.asarray(~np.isnan(credit).any(axis=1))
    tied &= known[:, np.newaxis]
    is_choice = tied.any(axis=1).sum() >= LEAST_TIES * max(1, known.sum())
    rules = TIES if is_choice else {"one half": 0.5}
    for (rule, worth), (name, kept) in itertools.product(rules.items(), first.filters.items()):
        used = known & kept & (~tied.any(axis=1) if worth is None else known)
        if used.sum() < LEAST_ITEMS:
            continue
        counted = np.where(tied, worth, credit)[used] if worth is not None else credit[used]
        gain = counted[:, 0] - counted[:, 1]
        if not gain.any():
            continue
        yield Specification(
            choices=_places(first, other) | choices | {"items": name, "ties": rule},
            estimate=paired_difference(gain),
            corpus=first.corpus,
            item_ids=first.item_ids[used],
            contributions=gain,
        )


def _onto(first: Held, other: Held, values: FloatArray) -> FloatArray:
    """Return another table's values on the items of the first, NaN where it has none."""
    return np.asarray(pd.Series(values, other.item_ids).reindex(first.item_ids), dtype=np.float64)


def layouts_of(tables: Sequence[ScoredFrame]) -> list[MethodLayout]:
    """Return the methods of all tables, once each."""
    return list({layout.method: layout for table in tables for layout in table.layouts}.values())
