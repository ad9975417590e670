"""Does a claim hold under all reasonable choices of the analysis? The curve of its specifications, and its test.

Simonsohn, Simmons & Nelson 2020: all specifications, how many of them hold, and a test of the whole curve.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pairbank.arrays import FloatArray, IntArray
from pairbank.errors import BankError
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Chart, Result, Rows, analysis
from pairbank.stats.analyses.multiverse.measures import (
    ASKING,
    LEAST_UNITS,
    Claim,
    CurveTest,
    Reading,
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
from pairbank.stats.measures.regression import crossed_components
from pairbank.stats.scored_table.method_scores import ScoredFrame

PARADIGMS = ("paradigm", "phenomenon")
LEVEL = 0.05
LEAST_FOR_PEOPLE = 100
"""Rated items below which r would be said to be shown too often."""
COMPONENTS = ("corpus", "of", "part", "share", "low", "high", "variance", "levels", "cells")
LEAST_ITEMS = 20
ASKED, MEASURED, RATED = "right when asked", "right by probability", "ratings"
UNITS = ("items", "paradigms")


@analysis(
    title="Robustness to analysis choices",
    facts=("ratings",),
    references=(
        "Simonsohn, Simmons & Nelson 2020, Nature Human Behaviour 4:1208-1214: specification curve analysis",
        "Steegen et al. 2016, Perspectives on Psychological Science 11:702-712: multiverse",
        "Henderson 1953, Biometrics 9:226-252; Gao & Owen 2016, arXiv:1610.08088: variance components",
    ),
)
def multiverse(tables: Sequence[ScoredFrame], context: Context, *, claim: str = ASKING) -> Result:
    """Return a claim under every reasonable choice that the tables hold."""
    methods = [layout.method for layout in layouts_of(tables)]
    parsed = claim_of(claim, methods=methods, models=[table.model for table in tables])
    holding = [held(table) for table in tables]
    curve = curve_of(
        parsed,
        specifications(parsed, holding),
        _paradigms(tables),
        rng=context.rng,
        n_draws=context.n_resamples,
    )
    rated = ratings_given(context.ratings) if context.ratings else None
    return Result(
        title=f"Robustness to analysis choices: {parsed.in_words}",
        tables={
            "choices": curve.choices,
            "specifications": curve.table,
            "tests": tests_table(curve),
            "variance": pd.DataFrame([*component_rows(holding, rated)], columns=[*COMPONENTS]),
        },
        main_table="choices",
        charts=[
            Chart(
                name="curve",
                caption="specifications_drawn",
                draw=partial(
                    specification_curve,
                    curve.table,
                    choices=curve.varying,
                    y_label="r with people" if parsed.kind == "people" else "difference in accuracy",
                    null=curve.null,
                ),
                values={
                    "n": curve.table["n"],
                    "hidden": [name for name in curve.varying if curve.table[name].nunique() > MOST_LEVELS],
                },
            )
        ],
        values={
            "claim": parsed,
            "curve": curve,
            "strictest": curve.tests.get("paradigms") or curve.tests.get("items"),
            "not_compared": position_bias(holding) if parsed.kind != "people" else "",
            "n_draws": context.n_resamples,
            "outcomes": {ASKED: "prompted accuracy", MEASURED: "accuracy by probability", RATED: "people's ratings"},
            "LEAST_FOR_PEOPLE": LEAST_FOR_PEOPLE,
            "LEAST_UNITS": LEAST_UNITS,
            "LEVEL": LEVEL,
            "MOST_DRAWN": MOST_DRAWN,
            "MOST_LEVELS": MOST_LEVELS,
        },
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


def component_rows(tables: Sequence[Held], ratings: pd.DataFrame | None) -> Iterator[dict[str, Any]]:
    """Yield the shares of variance of each corpus: of right answers when asked and by probability, and of ratings."""
    for corpus in dict.fromkeys(table.corpus for table in tables):
        of_corpus = [table for table in tables if table.corpus == corpus]
        for of, asked in ((ASKED, True), (MEASURED, False)):
            cells = _cells(of_corpus, asked=asked)
            yield from _rows(corpus, of, cells, ["item", "prompt" if asked else "linking", "model"])
        if ratings is not None:
            ids = {item for table in of_corpus for item in table.item_ids}
            theirs = ratings[ratings["item_id"].isin(ids)]
            if len(theirs):
                side = theirs["side"].astype(str) if "side" in theirs.columns else ""
                cells = pd.DataFrame(
                    {
                        "item": theirs["item_id"].astype(str) + " " + side,
                        "rater": theirs["rater"].astype(str),
                        "value": theirs["value"],
                    }
                )
                yield from _rows(corpus, RATED, cells, ["item", "rater"])


def _cells(tables: Sequence[Held], *, asked: bool) -> pd.DataFrame:
    """Return one line per item, method and model: its credit, by the definition of the method's paper."""
    parts = [
        pd.DataFrame({"item": table.item_ids, name: _method(reading), "model": _model(table), "value": reading.credit})
        for table in tables
        for reading in table.readings
        for name in ["prompt" if asked else "linking"]
        if reading.layout.is_prompted == asked and reading.by_paper and not reading.is_biased
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["item", "value"])


def _method(reading: Reading) -> str:
    return reading.layout.method if reading.layout.is_prompted else reading.choices["linking"]


def _model(table: Held) -> str:
    return " ".join([table.model, *table.setting.values()])


def _rows(corpus: str, of: str, cells: pd.DataFrame, factors: Sequence[str]) -> Iterator[dict[str, Any]]:
    cells = cells[cells["value"].notna()]
    used = [name for name in factors if name in cells.columns and cells[name].nunique() > 1]
    if len(used) < 2 or used[0] != "item" or cells["item"].nunique() < LEAST_ITEMS or cells["value"].nunique() < 2:
        return
    codes = {name: np.asarray(pd.factorize(cells[name])[0], dtype=np.int64) for name in used}
    try:
        components = crossed_components(cells["value"].to_numpy(dtype=np.float64), codes)
    except BankError:  # too few cells share a level: raters who each judged other items
        return
    for part in components:
        yield {
            "corpus": corpus, "of": of, "part": part.name, "share": part.share, "low": part.low, "high": part.high,
            "variance": part.variance, "levels": part.n_levels, "cells": len(cells),
        }  # fmt: skip


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
    """By what the draws are: items, and paradigms where there are enough."""

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
    names = list(dict.fromkeys(name for specification in result for name in specification.choices))
    cells = pd.DataFrame([{name: specification.choices.get(name, "-") for name in names} for specification in result])
    varying = tuple(name for name in names if cells[name].nunique() > 1)
    fixed = {name: str(cells[name].iloc[0]) for name in names if name not in varying}
    table = cells[list(varying)].assign(
        estimate=[specification.estimate.value for specification in result],
        low=[specification.estimate.low for specification in result],
        high=[specification.estimate.high for specification in result],
        n=[specification.estimate.n for specification in result],
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
    rows = Rows()
    spread = float(table["estimate"].var(ddof=0))
    for name in varying:
        by_level = table.groupby(name, sort=False)
        means = by_level["estimate"].transform("mean")
        share = float(means.var(ddof=0)) / spread if spread > 0 else math.nan
        for level, part in by_level:
            rows.append(
                {
                    "choice": name,
                    "level": str(level),
                    "specifications": len(part),
                    "median": float(part["estimate"].median()),
                    "holds": float(part["holds"].mean()),
                    "beyond": float(part["beyond"].mean()),
                    "choice_share": share,
                }
            )
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
                matrix,
                units,
                scale=scale,
                n_used=n_used,
                observed=observed,
                significant=table["beyond"].to_numpy(dtype=np.float64),
                rng=rng,
                n_draws=n_draws,
            )
    return curves


def _side_by_side(result: Sequence[Specification]) -> tuple[list[tuple[str, str]], FloatArray]:
    """Return corpus and id of every item, and what it adds to each specification, shape (items, specifications)."""
    keys: list[tuple[str, str]] = []
    places: dict[str, pd.Index[Any]] = {}
    starts: dict[str, int] = {}
    for corpus in dict.fromkeys(specification.corpus for specification in result):
        ids = pd.unique(
            np.concatenate([specification.item_ids for specification in result if specification.corpus == corpus])
        )
        places[corpus], starts[corpus] = pd.Index(ids), len(keys)
        keys += [(corpus, str(item)) for item in ids]
    matrix: FloatArray = np.zeros((len(keys), len(result)))
    for nth, specification in enumerate(result):
        matrix[
            starts[specification.corpus] + places[specification.corpus].get_indexer(pd.Index(specification.item_ids)),
            nth,
        ] = specification.contributions
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


def tests_table(curve: Curve) -> pd.DataFrame:
    """Return the tests, one row per kind of draws."""
    return pd.DataFrame([{"draws": kind} | asdict(test) for kind, test in curve.tests.items()])
