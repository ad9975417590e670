"""Does a claim hold under all reasonable choices of the analysis? (Simonsohn, Simmons & Nelson 2020)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pairbank.arrays import FloatArray
from pairbank.errors import BankError
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Chart, Result, analysis
from pairbank.stats.analyses.multiverse import specifications
from pairbank.stats.analyses.multiverse.measures import ASKING, LEAST_UNITS, Claim, claim_of, curve_test
from pairbank.stats.analyses.raters.judgments import ratings_given
from pairbank.stats.figures import scatters
from pairbank.stats.measures.regression import crossed_components
from pairbank.stats.scored_table.method_scores import ScoredFrame

PARADIGMS = ("paradigm", "phenomenon")
LEVEL = 0.05
LEAST_FOR_PEOPLE = 100
"""Rated items below which r would be said to be shown too often."""
COMPONENTS = ("corpus", "of", "part", "share", "low", "high", "variance", "levels", "cells")
LEAST_ITEMS = 20
ASKED, MEASURED, RATED = "right when asked", "right by probability", "ratings"
CHOICES = ("choice", "level", "specifications", "median", "holds", "beyond", "choice_share")


@analysis(title="Robustness to analysis choices", facts=("ratings",))
def multiverse(tables: Sequence[ScoredFrame], context: Context, *, claim: str = ASKING) -> Result:
    """Return a claim under every reasonable choice that the tables hold."""
    methods = [layout.method for layout in specifications.layouts_of(tables)]
    parsed = claim_of(claim, methods=methods, models=[table.model for table in tables])
    holding = [specifications.held(table) for table in tables]
    found = specifications.specifications(parsed, holding)
    curve = curve_of(parsed, found, _paradigms(tables), rng=context.rng, n_draws=context.n_resamples)
    rated = ratings_given(context.ratings) if context.ratings else None
    y_label = "r with people" if parsed.kind == "people" else "difference in accuracy"
    draw = partial(scatters.specification_curve, curve.table, choices=curve.varying, y_label=y_label, null=parsed.above)
    n, hidden = curve.table["n"], [name for name in curve.varying if curve.table[name].nunique() > scatters.MOST_LEVELS]
    return Result(
        title=f"Robustness to analysis choices: {parsed.in_words}",
        tables={
            "choices": curve.choices,
            "specifications": curve.table,
            "tests": pd.DataFrame([{"draws": kind} | test for kind, test in curve.tests.items()]),
            "variance": pd.DataFrame([*component_rows(holding, rated)], columns=[*COMPONENTS]),
        },
        main_table="choices",
        charts=[Chart(name="curve", caption="specifications_drawn", draw=draw, values={"n": n, "hidden": hidden})],
        values={
            "claim": parsed,
            "curve": curve,
            "strictest": curve.tests.get("paradigms") or curve.tests.get("items"),
            "not_compared": specifications.position_bias(holding) if parsed.kind != "people" else "",
            "n_draws": context.n_resamples,
            "outcomes": {ASKED: "prompted accuracy", MEASURED: "accuracy by probability", RATED: "people's ratings"},
        },
    )


def _paradigms(tables: Sequence[ScoredFrame]) -> dict[tuple[str, str], str]:
    """Return the paradigm of each item by corpus and id; of a corpus without any the phenomenon."""
    results: dict[tuple[str, str], str] = {}
    for table in tables:
        frame = table.part(["item_id", *PARADIGMS])
        column = next((x for x in PARADIGMS if x in frame.columns and frame[x].notna().any()), None)
        if column is not None:
            named = frame.dropna(subset=[column])
            results |= {
                (table.corpus, item): str(name) for item, name in zip(named["item_id"], named[column], strict=True)
            }
    return results


def component_rows(tables: Sequence[specifications.Held], ratings: pd.DataFrame | None) -> Iterator[dict[str, Any]]:
    """Yield the shares of variance of each corpus: of right answers when asked and by probability, and of ratings."""
    for corpus in dict.fromkeys(table.corpus for table in tables):
        of_corpus = [table for table in tables if table.corpus == corpus]
        for of, factor in ((ASKED, "prompt"), (MEASURED, "linking")):
            cells = [
                pd.DataFrame({"item": table.item_ids, "value": reading.credit}).assign(
                    **{factor: reading.choices.get("linking", reading.layout.method)},
                    model=" ".join([table.model, *table.setting.values()]),
                )
                for table in of_corpus
                for reading in table.readings
                if reading.layout.is_prompted == (of == ASKED) and reading.by_paper and not reading.is_biased
            ]
            if cells:
                yield from _rows(corpus, of, pd.concat(cells, ignore_index=True), ["item", factor, "model"])
        if ratings is not None:
            ids = {item for table in of_corpus for item in table.item_ids}
            theirs = ratings[ratings["item_id"].isin(ids)].astype({"item_id": str, "rater": str})
            side = theirs["side"].astype(str) if "side" in theirs.columns else ""
            yield from _rows(corpus, RATED, theirs.assign(item=theirs["item_id"] + " " + side), ["item", "rater"])


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
    for x in components:
        values = (corpus, of, x.name, x.share, x.low, x.high, x.variance, x.n_levels, len(cells))
        yield dict(zip(COMPONENTS, values, strict=True))


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """All specifications of a claim."""

    table: pd.DataFrame
    """One line a specification, lowest first: number, a column a choice that varies, estimate, low, high, n, holds."""
    choices: pd.DataFrame
    """One line a level of a choice: how many specifications, their median, share that hold, spread explained."""
    varying: tuple[str, ...]
    """Names of the choices that differ between specifications, with their columns in `table`."""
    fixed: dict[str, str]
    tests: dict[str, dict[str, float]]
    """What `curve_test` returned, by what the draws are: items, and paradigms where there are enough."""


def curve_of(
    claim: Claim,
    found: Sequence[specifications.Specification],
    paradigms: dict[tuple[str, str], str],
    *,
    rng: np.random.Generator,
    n_draws: int,
) -> Curve:
    """Return the curve, with its tests over items, and over paradigms where every item has one and there are ten."""
    names = dict.fromkeys(name for specification in found for name in specification.choices)
    cells = pd.DataFrame([{name: specification.choices.get(name, "-") for name in names} for specification in found])
    varying = tuple(name for name in names if cells[name].nunique() > 1)
    estimates = pd.DataFrame([asdict(specification.estimate) for specification in found])
    table = cells[list(varying)].assign(estimate=estimates["value"], **estimates[["low", "high", "n"]])
    table["holds"] = table["estimate"] > claim.above
    table["beyond"] = table["low"] > claim.above
    keys, matrix = _side_by_side(found)
    n_used, values = (table[name].to_numpy(dtype=np.float64) for name in ("n", "estimate"))
    observed = values * n_used
    if claim.kind == "people":  # squares sum to the variance of z in small samples too: n / (n - 3), as Fisher's
        observed, matrix = np.arctanh(values) - math.atanh(claim.above), matrix * np.sqrt(n_used / (n_used - 3))
    units = {"items": np.arange(len(keys), dtype=np.int64)}
    if all(key in paradigms for key in keys):
        codes, labels = pd.factorize(pd.Series([(corpus, paradigms[corpus, item]) for corpus, item in keys]))
        units |= {"paradigms": codes} if len(labels) < len(keys) else {}
    tests = {
        kind: curve_test(
            matrix,
            of,
            scale="z" if claim.kind == "people" else "gain",
            n_used=n_used,
            observed=observed,
            significant=table["beyond"].to_numpy(dtype=np.float64),
            rng=rng,
            n_draws=n_draws,
        )
        for kind, of in units.items()
        if np.unique(of).size >= LEAST_UNITS
    }
    ordered = table.sort_values("estimate", kind="stable").reset_index(drop=True)
    ordered.insert(0, "specification", np.arange(1, len(ordered) + 1))
    fixed = {name: str(cells[name].iloc[0]) for name in names if name not in varying}
    return Curve(table=ordered, choices=_by_choice(table, varying), varying=varying, fixed=fixed, tests=tests)


def _by_choice(table: pd.DataFrame, varying: Sequence[str]) -> pd.DataFrame:
    """Return what each level of each choice gives, and the share of the estimates' variance between the levels."""
    parts = [pd.DataFrame(columns=[*CHOICES])]
    spread = float(table["estimate"].var(ddof=0))
    for name in varying:
        by_level = table.groupby(name, sort=False)
        between = float(by_level["estimate"].transform("mean").var(ddof=0))
        of_estimates = {"specifications": ("estimate", "size"), "median": ("estimate", "median")}
        part = by_level.agg(**of_estimates, holds=("holds", "mean"), beyond=("beyond", "mean"))
        share = between / spread if spread > 0 else math.nan
        parts.append(part.rename_axis("level").reset_index().assign(choice=name, choice_share=share)[[*CHOICES]])
    return pd.concat(parts[1:] or parts, ignore_index=True)


def _side_by_side(found: Sequence[specifications.Specification]) -> tuple[list[tuple[str, str]], FloatArray]:
    """Return corpus and id of every item, and what it adds to each specification, shape (items, specifications)."""
    ids: dict[str, list[np.ndarray]] = {}
    for specification in found:
        ids.setdefault(specification.corpus, []).append(specification.item_ids)
    keys = [(corpus, str(item)) for corpus, of in ids.items() for item in pd.unique(np.concatenate(of))]
    places = pd.Index(keys, tupleize_cols=True)
    matrix: FloatArray = np.zeros((len(keys), len(found)))
    for nth, specification in enumerate(found):
        at = pd.MultiIndex.from_product([[specification.corpus], specification.item_ids])
        matrix[places.get_indexer(at), nth] = specification.contributions
    return keys, matrix
