"""What a model makes of the suites' predictions: in, a scored table of sentences by condition; out, rows of tables."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from pairbank.arrays import BoolArray, FloatArray
from pairbank.errors import BankError
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.names import REGION_TOKENS_DIFFER, REGIONS
from pairbank.stats.analyses.form import cells
from pairbank.stats.estimates.bootstrap import LEAST_PARADIGMS, share_over
from pairbank.stats.estimates.estimate import Estimate
from pairbank.stats.estimates.shares import mean_of_items, share_of_items, student_level, wilson_bounds
from pairbank.stats.scored_table.method_scores import ScoredFrame, flagged

Region = tuple[int, str]
"""Number of the region, 0 = the whole sentence; and condition."""
Surprisal = Callable[[int, str], "FloatArray"]
"""Region and condition -> surprisals in bits, one an item."""
TWOFOLD = "difference of differences"
EQUAL_BITS, EQUAL_SHARE = 1e-3, 1e-5
_TOKEN = re.compile(
    r"\s*(?:\(\s*(?P<region>\d+|\*)\s*;\s*%(?P<condition>[\w-]+)%\s*\)|(?P<number>\d+(?:\.\d+)?)|(?P<sign>[-+<>=&|()\[\]]))"
)
_CLOSING = {"(": ")", "[": "]"}
Sign = Literal["<", ">", "="]


Total = dict[Region | None, float]
"""A sum of surprisals: the factor of each region; None is a constant."""

NEEDED = ("subset", "phenomenon", "item_number", "condition", "formulas")
COLUMNS = ScoreColumns(REGIONS)
NATS_A_BIT = float(np.log(2))


def plus(total: Total, other: Total, factor: float) -> Total:
    """Return a sum and another one, times a factor."""
    return {key: total.get(key, 0.0) + factor * other.get(key, 0.0) for key in dict.fromkeys((*total, *other))}


def in_bits(total: Total, surprisal: Surprisal) -> FloatArray:
    """Return a sum, one number an item."""
    parts = [factor * surprisal(*region) for region, factor in total.items() if region is not None]
    constant = total.get(None, 0.0)
    return np.asarray(sum(parts, np.zeros_like(parts[0])) + constant if parts else np.float64(constant))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sums, and how they should compare."""

    left: Total
    sign: Sign
    right: Total
    text: str
    """As it stands in the formula."""

    @property
    def regions(self) -> tuple[Region, ...]:
        """What it reads."""
        return tuple(region for region in dict.fromkeys((*self.left, *self.right)) if region is not None)

    def margin_bits(self, surprisal: Surprisal) -> FloatArray:
        """Return by how much it holds, above 0 where it does; of an equality, minus the distance."""
        difference = in_bits(plus(self.left, self.right, -1), surprisal)
        return -np.abs(difference) if self.sign == "=" else difference if self.sign == ">" else -difference

    def holds(self, surprisal: Surprisal) -> BoolArray:
        """Return for which items it holds; a number that is NaN holds nowhere."""
        margin = self.margin_bits(surprisal)
        if self.sign != "=":
            return np.asarray(margin > 0)
        allowed = EQUAL_BITS + EQUAL_SHARE * np.abs(in_bits(self.right, surprisal))
        return np.asarray(-margin <= allowed)


@dataclass(frozen=True, slots=True)
class Joined:
    """Formulas of which all hold (`&`), or one (`|`)."""

    sign: Literal["&", "|"]
    parts: tuple[Formula, ...]

    def holds(self, surprisal: Surprisal) -> BoolArray:
        """Return for which items it holds."""
        result = np.stack([part.holds(surprisal) for part in self.parts])
        return np.asarray(result.all(axis=0) if self.sign == "&" else result.any(axis=0))


Formula = Comparison | Joined


def comparisons_of(formula: Formula) -> tuple[Comparison, ...]:
    """Return all comparisons of a formula, in order."""
    if isinstance(formula, Comparison):
        return (formula,)
    return tuple(comparison for part in formula.parts for comparison in comparisons_of(part))


def parsed(text: str) -> Formula:
    """Return a formula."""
    parser = _Parser(text)
    result = parser.joined()
    if parser.place < len(text.rstrip()) or isinstance(result, dict):
        raise parser.problem("a comparison of surprisals")
    return result


@dataclass(slots=True)
class _Parser:
    text: str
    place: int = 0

    def problem(self, expected: str) -> BankError:
        return BankError(f"formula {self.text!r:.200}, character {self.place + 1}: expected {expected}")

    def next(self) -> re.Match[str] | None:
        return _TOKEN.match(self.text, self.place)

    def sign(self, *signs: str) -> str:
        """Return and pass the next sign if it is one of these; "" if not."""
        token = self.next()
        if token is None or token["sign"] not in signs:
            return ""
        self.place = token.end()
        return str(token["sign"])

    def joined(self) -> Formula | Total:
        parts, signs = [self.compared()], []
        while sign := self.sign("&", "|"):
            signs.append(sign)
            parts.append(self.compared())
        if not signs:
            return parts[0]
        if len(set(signs)) > 1:
            raise self.problem("brackets where & and | are mixed")
        formulas = tuple(part for part in parts if not isinstance(part, dict))
        if len(formulas) < len(parts):
            raise self.problem("a comparison on both sides of & or |")
        return Joined("&" if signs[0] == "&" else "|", formulas)

    def compared(self) -> Formula | Total:
        first = self.next()
        start = first.start() if first is not None else self.place
        left = self.total()
        sign = self.sign("<", ">", "=")
        if not sign:
            return left
        right = self.total()
        if not isinstance(left, dict) or not isinstance(right, dict):
            raise self.problem("sums of surprisals on both sides of a comparison")
        named: Sign = "<" if sign == "<" else ">" if sign == ">" else "="
        return Comparison(left, named, right, " ".join(self.text[start : self.place].split()))

    def total(self) -> Formula | Total:
        result = self.one()
        while sign := self.sign("+", "-"):
            other = self.one()
            if not isinstance(result, dict) or not isinstance(other, dict):
                raise self.problem("surprisals to add, no comparisons")
            result = plus(result, other, 1 if sign == "+" else -1)
        return result

    def one(self) -> Formula | Total:
        token = self.next()
        if token is None:
            raise self.problem("(region;%condition%), a number or a bracket")
        self.place = token.end()
        if token["condition"]:
            number = 0 if token["region"] == "*" else int(token["region"])
            return {(number, token["condition"]): 1.0}
        if token["number"]:
            return {None: float(token["number"])}
        if token["sign"] not in _CLOSING:
            self.place = token.start()
            raise self.problem("(region;%condition%), a number or a bracket")
        inner = self.joined()
        if not self.sign(_CLOSING[token["sign"]]):
            raise self.problem(_CLOSING[token["sign"]])
        return inner


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The items of one suite, scored by one model."""

    place: dict[str, str]
    """Its model, corpus and name, as tables have them."""
    phenomenon: str
    formulas: tuple[Formula, ...]
    items: tuple[int, ...]
    bits: dict[str, FloatArray]
    """Condition -> surprisal of each region, shape (items, regions); NaN where the item lacks the condition."""
    counts: dict[str, int | str]
    """Sentences in which a token reaches over the end of a region; those that are not scored, and what is flagged."""

    def surprisal(self, region: int, condition: str) -> FloatArray:
        """Return the surprisals of a region, 0 = the whole sentence, in bits, one an item."""
        known = self.bits.get(condition)
        if known is None:
            return np.full(len(self.items), np.nan)
        if region > known.shape[1]:
            raise BankError(
                f"suite {self.place['suite']!r} has no region {region}, which its formula names of {condition!r}; it "
                f"has {known.shape[1]}"
            )
        return np.asarray(known.sum(axis=1) if region == 0 else known[:, region - 1])

    @property
    def predictions(self) -> tuple[Formula, ...]:
        """The formulas that say more than that two numbers are equal, which are controls."""
        texts = [formula for formula in self.formulas if any(part.sign != "=" for part in comparisons_of(formula))]
        return tuple(texts or self.formulas)

    @property
    def held(self) -> BoolArray:
        """For which items all predictions hold."""
        return np.asarray(np.stack([prediction.holds(self.surprisal) for prediction in self.predictions]).all(axis=0))


def suites_of(table: ScoredFrame) -> Iterator[Suite]:
    """Yield the suites of a table, in its order."""
    frame = table.frame
    if missing := [name for name in (*NEEDED, COLUMNS.by_region) if name not in frame.columns]:
        raise BankError(
            f"{table.corpus} by {table.model} lacks the column(s) {', '.join(missing)}; score a corpus of suites "
            "(syntaxgym-suites) with the method regions"
        )
    scored, unscored = frame[frame[COLUMNS.by_region].notna()], frame[frame[COLUMNS.by_region].isna()]
    differ = flagged(scored, COLUMNS.flags, REGION_TOKENS_DIFFER)
    for name, part in scored.groupby("subset", sort=False):
        first, without = part.iloc[0], unscored[unscored["subset"] == name]
        flags = [flag for of in without.get(COLUMNS.flags, ()) if of is not None for flag in of]
        items = tuple(dict.fromkeys(part["item_number"].to_list()))
        yield Suite(
            place={"model": table.model, "corpus": table.corpus, "suite": str(name)},
            phenomenon="" if first["phenomenon"] is None else str(first["phenomenon"]),
            formulas=tuple(parsed(text) for text in json.loads(first["formulas"])),
            items=items,
            bits=_bits(part, items),
            counts={
                "other_tokens": int(differ[(scored["subset"] == name).to_numpy()].sum()),
                "unscored": len(without),
                "unscored_flags": ", ".join(dict.fromkeys(flags)),
            },
        )


def _bits(part: pd.DataFrame, items: tuple[int, ...]) -> dict[str, FloatArray]:
    n_regions = set(map(len, part[COLUMNS.by_region]))
    if len(n_regions) != 1:
        raise BankError(
            f"{part['item_id'].iloc[0]}: sentences of its suite have {sorted(n_regions)} regions; expected one"
        )
    results = {}
    for name, rows in part.groupby("condition", sort=False):
        results[str(name)] = np.full((len(items), *n_regions), np.nan)
        nats = np.array(rows[COLUMNS.by_region].to_list(), dtype=np.float64)
        results[str(name)][pd.Index(items).get_indexer(pd.Index(rows["item_number"]))] = -nats / NATS_A_BIT
    return results


def suite_row(suite: Suite) -> dict[str, Any]:
    """Return in how many items of a suite all its predictions hold."""
    known = _known(suite, _parts(suite))
    estimate = share_of_items(suite.held[known].astype(float))
    shares = [float(part.holds(suite.surprisal)[known].mean()) if known.any() else np.nan for part in _parts(suite)]
    row: dict[str, Any] = suite.place | {"phenomenon": suite.phenomenon, "comparisons": len(shares)}
    row |= cells(estimate) | {"n": estimate.n, "each_alone": float(np.mean(shares)) if shares else np.nan}
    return row | {"left_out": int((~known).sum())} | suite.counts


def model_rows(by_suite: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield each model's mean accuracy over suites, for new items and, from ten suites on, for new suites."""
    for model, part in by_suite[by_suite["n"] > 0].groupby("model", sort=False):
        shares, n = part["value"].to_numpy(dtype=np.float64), part["n"].to_numpy(dtype=np.float64)
        mean, n_items = float(shares.mean()), int(n.sum())
        error = float((shares * (1 - shares) / np.maximum(n - 1, 1)).sum()) / shares.size**2
        effect = error * n_items / (mean * (1 - mean)) if error else 1.0
        level = student_level(0.95, max(1, n_items - shares.size))
        low, high = wilson_bounds(np.array([mean]), np.array([float(n_items)]), np.array([effect]), level=level)
        estimate = Estimate(value=mean, low=float(low[0]), high=float(high[0]), n=n_items, method="wilson-stratified")
        if shares.size >= LEAST_PARADIGMS:
            estimate = share_over(estimate, shares, np.arange(shares.size))
        row: dict[str, Any] = {"model": model} | cells(estimate) | {"n": estimate.n} | cells(estimate, paradigms=True)
        yield row | {"n_paradigms": estimate.n_paradigms, "suites": shares.size}


def comparison_rows(suite: Suite) -> Iterator[dict[str, Any]]:
    """Yield each comparison of a suite: in how many items it holds, and its margin in bits with its interval."""
    predicted = set(map(id, _parts(suite)))
    for formula in suite.formulas:
        for part in comparisons_of(formula):
            known, kind = _known(suite, [part]), TWOFOLD if len({x for _, x in part.regions}) > 2 else "difference"
            margin = mean_of_items(part.margin_bits(suite.surprisal)[known])
            held = share_of_items(part.holds(suite.surprisal)[known].astype(float))
            row: dict[str, Any] = suite.place | {"comparison": part.text.replace("%", "")}
            row |= {"kind": kind if id(part) in predicted else "control"} | cells(margin) | {"n": margin.n}
            yield row | cells(held, "holds") | {"reason": margin.reason or ""}


def _parts(suite: Suite) -> list[Comparison]:
    return [part for prediction in suite.predictions for part in comparisons_of(prediction)]


def _known(suite: Suite, parts: list[Comparison]) -> BoolArray:
    """Return which items have every number that these comparisons read."""
    numbers = [suite.surprisal(*region) for part in parts for region in part.regions]
    return np.asarray(~np.isnan(np.stack(numbers)).any(axis=0))
