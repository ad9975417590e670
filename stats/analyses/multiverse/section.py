"""Does a claim hold under every defensible choice? Scored tables and a claim in; the curve, its test and a section out.

Simonsohn, Simmons & Nelson 2020: all specifications, how many of them hold, and a test of the whole curve.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.analyses.base import DEFAULTS, Context, Section, reads
from pairbank.stats.analyses.multiverse.measures import (
    ASKING,
    LEAST_UNITS,
    Claim,
    CurveTest,
    Scale,
    claim_of,
    curve_test,
)
from pairbank.stats.analyses.multiverse.specifications import (
    Held,
    Specification,
    held,
    layouts_of,
    position_bias,
    specifications,
)
from pairbank.stats.analyses.raters.judgments import ratings_given
from pairbank.stats.figures.scatters import MOST_DRAWN, MOST_LEVELS, specification_curve
from pairbank.stats.figures.style import Figure
from pairbank.stats.measures.regression import crossed_components
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.wording import capitalised, number, p_value, percent

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray, IntArray
    from pairbank.stats.analyses.multiverse.measures import Reading


PARADIGMS = ("paradigm", "phenomenon")


@reads("ratings")
def section(tables: Sequence[ScoredFrame], context: Context = DEFAULTS, *, claim: str = ASKING) -> Section:
    """Return a claim under every defensible choice that the tables hold."""
    methods = [layout.method for layout in layouts_of(tables)]
    requested = claim_of(claim, methods=methods, models=[table.model for table in tables])
    holding = [held(table) for table in tables]
    result = curve_of(
        requested,
        specifications(requested, holding),
        _paradigms(tables),
        rng=context.rng,
        n_draws=context.n_resamples,
    )
    apart = position_bias(holding) if requested.kind != "people" else ""
    rated = ratings_given(context.ratings) if context.ratings else None
    parts = pd.DataFrame([*component_rows(holding, rated)], columns=COLUMNS)
    return Section(
        id="multiverse",
        title=f"Robustness to analysis choices: {requested.in_words}",
        text="\n\n".join(filter(None, (text_of(result, parts), apart))),
        answer=answer_of(result),
        main_table="choices",
        draws=f"{context.n_resamples:,} draws of signs under the null hypothesis",
        definitions=DEFINITIONS,
        tables={
            "choices": result.choices,
            "specifications": result.table,
            "tests": tests_table(result),
            "variance": parts,
        },
        figures=(_figure(result),),
        references=(
            "Simonsohn, Simmons & Nelson 2020, Nature Human Behaviour 4:1208-1214: specification curve analysis",
            "Steegen et al. 2016, Perspectives on Psychological Science 11:702-712: multiverse",
            "Henderson 1953, Biometrics 9:226-252; Gao & Owen 2016, arXiv:1610.08088: variance components",
        ),
    )


def _paradigms(tables: Sequence[ScoredFrame]) -> dict[tuple[str, str], str]:
    """Return the paradigm of each item by corpus and id; of a corpus without any the phenomenon."""
    results: dict[tuple[str, str], str] = {}
    for table in tables:
        frame = table.part(["item_id", *PARADIGMS])
        column = next((x for x in PARADIGMS if x in frame.columns and frame[x].notna().any()), None)
        if column is not None:
            named = frame[frame[column].notna()]
            keys = [(table.corpus, item) for item in named["item_id"]]
            results |= dict(zip(keys, map(str, named[column]), strict=True))
    return results


def _figure(result: Curve) -> Figure:
    drawn = "" if len(result.table) <= MOST_DRAWN else f" ({MOST_DRAWN} of them at equal distances)"
    hidden = [name for name in result.varying if result.table[name].nunique() > MOST_LEVELS]
    left_out = f" Not drawn below, for it has more than {MOST_LEVELS} levels: {', '.join(hidden)}." if hidden else ""
    of_people = result.claim.kind == "people"
    least, most = int(result.table["n"].min()), int(result.table["n"].max())
    return Figure(
        name="multiverse_curve",
        caption=(
            f"The claim that {result.claim.in_words} under {len(result.table):,} specifications{drawn}, "
            f"n = {least:,} to {most:,} items: estimates with 95% intervals, blue where the interval is beyond the "
            f"line. The rows below show the choices of each.{left_out}"
        ),
        draw=partial(
            specification_curve,
            result.table,
            choices=result.varying,
            y_label="r with people" if of_people else "difference in accuracy",
            null=result.null,
        ),
    )


COLUMNS = ["corpus", "of", "part", "share", "low", "high", "variance", "levels", "cells"]
LEAST_ITEMS = 20
ASKED, MEASURED, RATED = "right when asked", "right by probability", "ratings"
_OUTCOMES = {ASKED: "prompted accuracy", MEASURED: "accuracy by probability", RATED: "people's ratings"}


def component_rows(tables: Sequence[Held], ratings: pd.DataFrame | None) -> Iterator[dict[str, Any]]:
    """Yield the shares of variance of each corpus: of right answers when asked and by probability, and of ratings."""
    for corpus in dict.fromkeys(table.corpus for table in tables):
        selected = [table for table in tables if table.corpus == corpus]
        for of, requested in ((ASKED, True), (MEASURED, False)):
            cells = _cells(selected, asked=requested)
            yield from _rows(corpus, of, cells, ["item", "prompt" if requested else "linking", "model"])
        if ratings is not None:
            ids = {item for table in selected for item in table.item_ids}
            theirs = ratings[ratings["item_id"].isin(ids)]
            if len(theirs):
                side = theirs["side"].astype(str) if "side" in theirs.columns else ""
                cells = pd.DataFrame({
                    "item": theirs["item_id"].astype(str) + " " + side, "rater": theirs["rater"].astype(str),
                    "value": theirs["value"],
                })  # fmt: skip
                yield from _rows(corpus, RATED, cells, ["item", "rater"])


def _cells(tables: Sequence[Held], *, asked: bool) -> pd.DataFrame:
    """Return one line per item, method and model: its credit, by the definition of the method's paper."""
    parts = [
        pd.DataFrame(
            {"item": table.item_ids, name: _method(reading), "model": _model(table), "value": reading.credit}
        )
        for table in tables
        for reading in table.readings
        for name in ["prompt" if asked else "linking"]
        if reading.layout.is_prompted == asked and reading.by_paper and not reading.is_biased
    ]  # fmt: skip
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["item", "value"])


def _method(entry: Reading) -> str:
    return entry.layout.method if entry.layout.is_prompted else entry.choices["linking"]


def _model(table: Held) -> str:
    return " ".join([table.model, *table.setting.values()])


def _rows(corpus: str, of: str, cells: pd.DataFrame, factors: Sequence[str]) -> Iterator[dict[str, Any]]:
    cells = cells[cells["value"].notna()]
    used = [name for name in factors if name in cells.columns and cells[name].nunique() > 1]
    if len(used) < 2 or used[0] != "item" or cells["item"].nunique() < LEAST_ITEMS or cells["value"].nunique() < 2:
        return
    codes = {name: np.asarray(pd.factorize(cells[name])[0], dtype=np.int64) for name in used}
    try:
        result = crossed_components(cells["value"].to_numpy(dtype=np.float64), codes)
    except BankError:  # too few cells share a level: raters who each judged other items
        return
    for entry in result:
        yield {
            "corpus": corpus, "of": of, "part": entry.name, "share": entry.share, "low": entry.low, "high": entry.high,
            "variance": entry.variance, "levels": entry.n_levels, "cells": len(cells),
        }  # fmt: skip


UNITS = ("items", "paradigms")


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """All specifications of a claim."""

    claim: Claim
    table: pd.DataFrame
    """One line a specification, lowest first: number, a column a choice that varies, estimate, low, high, n, holds."""
    choices: pd.DataFrame
    """One line a level of a choice: how many specifications, their median, share that hold, spread explained."""
    varying: tuple[str, ...]
    """Names of the choices that differ between specifications, with their columns in `table`."""
    fixed: dict[str, str]
    """Choices that all specifications share."""
    tests: dict[str, CurveTest]
    """By what the draws are: items, and paradigms where there are ten."""

    @property
    def null(self) -> float:
        """What the claim says the estimate is above."""
        return self.claim.above


def curve_of(
    claim: Claim,
    result: Sequence[Specification],
    paradigms: dict[tuple[str, str], str],
    *,
    rng: np.random.Generator,
    n_draws: int,
) -> Curve:
    """Return the curve."""
    names = list(dict.fromkeys(name for one in result for name in one.choices))
    cells = pd.DataFrame([{name: one.choices.get(name, "-") for name in names} for one in result])
    varying = tuple(name for name in names if cells[name].nunique() > 1)
    fixed = {name: str(cells[name].iloc[0]) for name in names if name not in varying}
    table = cells[list(varying)].assign(
        estimate=[entry.estimate.value for entry in result],
        low=[member.estimate.low for member in result],
        high=[element.estimate.high for element in result],
        n=[one.estimate.n for one in result],
    )
    table["holds"] = table["estimate"] > claim.above
    table["beyond"] = table["low"] > claim.above
    return Curve(
        claim=claim,
        table=_sorted(table),
        choices=_by_choice(table, varying),
        varying=varying,
        fixed=fixed,
        tests=_tests(claim, result, table, paradigms, rng=rng, n_draws=n_draws),
    )


def _sorted(table: pd.DataFrame) -> pd.DataFrame:
    ordered = table.sort_values("estimate", kind="stable").reset_index(drop=True)
    ordered.insert(0, "specification", np.arange(1, len(ordered) + 1))
    return ordered


def _by_choice(table: pd.DataFrame, varying: Sequence[str]) -> pd.DataFrame:
    """Return what each level of each choice gives, and the share of the estimates' variance between the levels."""
    rows: list[dict[str, Any]] = []
    spread = float(table["estimate"].var(ddof=0))
    for name in varying:
        by_level = table.groupby(name, sort=False)
        means = by_level["estimate"].transform("mean")
        share = float(means.var(ddof=0)) / spread if spread > 0 else math.nan
        for level, part in by_level:
            rows.append({
                "choice": name, "level": str(level), "specifications": len(part),
                "median": float(part["estimate"].median()), "holds": float(part["holds"].mean()),
                "beyond": float(part["beyond"].mean()), "choice_share": share,
            })  # fmt: skip
    columns = ["choice", "level", "specifications", "median", "holds", "beyond", "choice_share"]
    return pd.DataFrame(rows, columns=columns)


def _tests(
    claim: Claim,
    result: Sequence[Specification],
    table: pd.DataFrame,
    paradigms: dict[tuple[str, str], str],
    *,
    rng: np.random.Generator,
    n_draws: int,
) -> dict[str, CurveTest]:
    """Return the tests over items, and over paradigms where every item has one and there are ten."""
    scale: Scale = "z" if claim.kind == "people" else "gain"
    keys, matrix = _side_by_side(result)
    values = table["estimate"].to_numpy(dtype=np.float64)
    n_used = table["n"].to_numpy(dtype=np.float64)
    observed = np.arctanh(values) - math.atanh(claim.above) if scale == "z" else values * n_used
    if scale == "z":
        matrix = _spread(matrix, n_used)
    curves = {}
    for kind, units in zip(UNITS, _units(keys, paradigms), strict=True):
        if units is not None and np.unique(units).size >= LEAST_UNITS:
            curves[kind] = curve_test(
                matrix, units, scale=scale, n_used=n_used, observed=observed,
                significant=table["beyond"].to_numpy(dtype=np.float64), rng=rng, n_draws=n_draws,
            )  # fmt: skip
    return curves


def _side_by_side(result: Sequence[Specification]) -> tuple[list[tuple[str, str]], FloatArray]:
    """Return corpus and id of every item, and what it adds to each specification, shape (items, specifications)."""
    keys: list[tuple[str, str]] = []
    places: dict[str, pd.Index[Any]] = {}
    starts: dict[str, int] = {}
    for corpus in dict.fromkeys(entry.corpus for entry in result):
        ids = pd.unique(np.concatenate([member.item_ids for member in result if member.corpus == corpus]))
        places[corpus], starts[corpus] = pd.Index(ids), len(keys)
        keys += [(corpus, str(item)) for item in ids]
    matrix: FloatArray = np.zeros((len(keys), len(result)))
    for nth, value in enumerate(result):
        matrix[starts[value.corpus] + places[value.corpus].get_indexer(pd.Index(value.item_ids)), nth] = (
            value.contributions
        )
    return keys, matrix


def _spread(influences: FloatArray, n_used: FloatArray) -> FloatArray:
    """Return influences whose squares sum to the variance of z in small samples too: n / (n - 3), as Fisher's."""
    return np.asarray(influences * np.sqrt(n_used / (n_used - 3)))


def _units(keys: Sequence[tuple[str, str]], paradigms: dict[tuple[str, str], str]) -> tuple[IntArray, IntArray | None]:
    items = np.arange(len(keys), dtype=np.int64)
    if any(key not in paradigms for key in keys):
        return items, None
    names = {name: nth for nth, name in enumerate(dict.fromkeys((key[0], paradigms[key]) for key in keys))}
    codes = np.array([names[key[0], paradigms[key]] for key in keys], dtype=np.int64)
    return items, codes if len(names) < len(keys) else None


LEVEL = 0.05
LEAST_FOR_PEOPLE = 100
"""Rated items below which r would be said to be shown too often."""


def answer_of(result: Curve) -> str:
    """Return the answer: the verdict on the whole curve, the share of specifications, and what could have been seen."""
    table, claim = result.table, result.claim
    n, n_holds, n_beyond = len(table), int(table["holds"].sum()), int(table["beyond"].sum())
    median, least, most = (float(x) for x in table["estimate"].quantile([0.5, 0, 1]))
    unit = "r" if claim.kind == "people" else "difference in accuracy"
    text = (
        f"{_verdict(result)} It holds in {n_holds:,} of {n:,} specifications ({percent(n_holds / n)}); in "
        f"{n_beyond:,} the "
        f"95% interval excludes {result.null:g}. The median {unit} is {_number(median)} ({_number(least)} to "
        f"{_number(most)}, n = {table['n'].min():,} to {table['n'].max():,} items)"
    )
    strictest = _strictest(result)
    return text + (
        f". The minimum detectable median (80% power) is {_number(strictest.detectable)} from {result.null:g}."
        if strictest
        else "."
    )  # fmt: skip


def _strictest(result: Curve) -> CurveTest | None:
    """Return the test over paradigms where there is one, else over items."""
    return result.tests.get("paradigms") or result.tests.get("items")


def _verdict(result: Curve) -> str:
    """Say whether the curve as a whole lies on the side of the claim: by its mean z, two-sided, over the draws."""
    strictest = _strictest(result)
    sentence = result.claim.in_words
    sentence = capitalised(sentence)
    if strictest is None:
        return f"**{sentence}**: not tested (fewer than ten items)."
    if result.claim.kind == "people" and int(result.table["n"].max()) < LEAST_FOR_PEOPLE:
        return f"**{sentence}**: not tested (fewer than {LEAST_FOR_PEOPLE} rated items)."
    of = "paradigms" if "paradigms" in result.tests else "such items"
    evidence = f"({p_value(strictest.p_mean_z)}, {strictest.n_units:,} {of})"
    if strictest.p_mean_z >= LEVEL:
        return f"**{sentence}: not shown** over all specifications together {evidence}."
    if strictest.mean_z > 0:
        return f"**{sentence}: shown over all specifications together** {evidence}."
    return f"**The contrary is shown of the claim that {result.claim.in_words}**, over all specifications {evidence}."


def text_of(result: Curve, parts: pd.DataFrame) -> str:
    """Return the tests, what the choices change, where the variance lies, and what was the same everywhere."""
    return "\n\n".join(_paragraphs(result, parts))


def _paragraphs(result: Curve, parts: pd.DataFrame) -> Iterator[str]:
    for kind, entry in result.tests.items():
        yield (
            f"Tests of the whole curve over {entry.n_units:,} {kind}, by exchanging signs:\n"
            f"- Median: {_number(entry.median)} from {result.null:g} ({p_value(entry.p_median)}; chance gives "
            f"{_number(entry.null_median_low)} to {_number(entry.null_median_high)})\n"
            f"- Significant on the claim's side: {percent(entry.share)} ({p_value(entry.p_share)})\n"
            f"- Stouffer's Z: {number(entry.mean_z, digits=1)} ({p_value(entry.p_mean_z)})"
        )
    if "paradigms" in result.tests:
        yield "The verdict uses the test over paradigms, which is about other ones; that over items is about these."
    if len(result.choices):
        first = result.choices.drop_duplicates("choice").sort_values("choice_share", ascending=False, kind="stable")
        text = ", ".join(f"{member['choice']} {percent(member['choice_share'])}" for member in first.to_dict("records"))
        yield f"Share of the variance of the estimates between the levels of each choice, taken one by one: {text}."
    yield from _variance_text(parts)
    same = ", ".join(f"{name} {value}" for name, value in result.fixed.items() if value != "unknown")
    if same:
        yield f"The same in all specifications: {same}. What no table holds was not varied."


def _variance_text(parts: pd.DataFrame) -> Iterator[str]:
    for (corpus, of), part in parts.groupby(["corpus", "of"], sort=False):
        lines = (
            f"- {entry['part']}: {percent(entry['share'])}"
            + ("" if pd.isna(entry["low"]) else f" [{percent(entry['low'])}, {percent(entry['high'])}]")
            for entry in part.to_dict("records")
        )
        mains = [
            member for member in part.to_dict("records") if " x " not in member["part"] and member["part"] != "rest"
        ]
        levels = ", ".join(f"{main['levels']:,} {main['part']}s" for main in mains)
        yield "\n".join([f"**Variance of {_OUTCOMES[str(of)]}** on {corpus} ({levels}):", *lines])


def tests_table(result: Curve) -> pd.DataFrame:
    """Return the tests, one line a kind of draws."""
    return pd.DataFrame([{"draws": kind} | asdict(entry) for kind, entry in result.tests.items()])


def _number(value: float) -> str:
    return number(value, digits=3, sign=True)


DEFINITIONS = """\
- **specification**: one combination of choices that the tables hold: model and corpus, and BOS, precision and prompt
  format where tables differ in them. The other choices are:
- `linking`: how log-probabilities become a score (sum, mean over tokens or characters, or another linking function).
- `wording`, `format`, `examples`: those of the question. `ties`: `one half`, `wrong` or `left out`, where 1% tie.
- `orders`: `averaged` differences, `each counts`, or `one per item` (every second item in the other order).
- `items`: `close` (edit distance up to the 75th percentile), `same length` in words, `people agree` with the label, or
  `people are sure` (their difference is above its median).
- Claims about accuracy leave out models with position bias, whose accuracy is near one half whatever they know.
- **estimate**: accuracy of A - accuracy of B on the same items (adjusted Wald interval for pairs), or r with people.
  **holds**: the estimate is above what the claim says. **beyond**: so is its interval.
- **choice_share**: share of the variance of all estimates between the levels of a choice. Confounded choices share it.
- **p_median**, **p_share**, **p_mean_z**: shares of resamples that are as extreme as the data. The criterion is the
  distance of the median from the null, the share of significant specifications in either direction, or the distance of
  the sum of z from 0. A resample exchanges
  the sign of an item's (or paradigm's) contribution in all specifications at once. The verdict uses the sum of z.
  **detectable**: the median that is detected with 80% power.
- **variance**: components of crossed random effects by sums of squares. Outcomes are right (1) and wrong (0) by the
  definition of each method's paper, without models that have position bias, or ratings on their scale. `rest` is the
  residual, which includes the highest interaction. Intervals: jackknife over 20 groups of items, for these models and
  prompts.
"""
