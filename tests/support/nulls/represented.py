"""Pairs in paradigms of uneven sizes, each with its own shift of every measure, and a probe no better than its nulls.

How often it is said to beat them, and measures to rank items alike, when they do not.
"""

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np

from nulls import Null, Outcome, Table, at_most, own_seed
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.represented import represented
from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import direct, items_frame

METHODS = ("direct", "probe_grammar", "probe_grammar_null")
LAYOUTS = tuple(map(direct, METHODS))
SIZES = {
    "12 of 5 to 60": np.linspace(5, 60, 12, dtype=int),
    "30 of 2 to 120": np.geomspace(2, 120, 30).astype(int),
    "67 of 20": np.full(67, 20),
}


def frame(rng: np.random.Generator, sizes: np.ndarray, *, gap: float, spread: float) -> ScoredFrame:
    """Return a table whose probe is better than chance by a gap; paradigms shift each measure by their own amount."""
    paradigm = np.repeat(np.arange(len(sizes)), sizes)
    rows = items_frame(len(paradigm), paradigm=paradigm.astype(str))
    for name in METHODS:
        shift = spread * rng.normal(size=len(sizes))[paradigm] + gap * (name == "probe_grammar")
        rows[f"{name}_delta"] = rng.normal(size=len(paradigm)) + shift
    return ScoredFrame(corpus="toy", model="m", frame=rows, layouts=LAYOUTS)


def claims(seed: int, *, sizes: np.ndarray, gap: float = 0.0) -> Outcome:
    """Return what the section claims: a lead over each null and both, rho above 0 and below 0."""
    rng = np.random.default_rng(seed)
    table, null = (frame(rng, sizes, gap=gap, spread=1.0) for gap in (gap, 0.0))
    section = represented([table], Context(nulls=[null]))
    labels, weights = (section.tables["probes"]["low"] > 0).tolist()
    rho = section.tables["ranks"].iloc[0]
    return {
        "above shuffled labels": labels,
        "above random weights": weights,
        "both": labels and weights,
        "ρ above 0": rho["low"] > 0,
        "ρ below 0": rho["high"] < 0,
    }


def null_of(gap: float, sizes: str) -> Null:
    return Null((f"{gap:g}", sizes), partial(claims, sizes=SIZES[sizes], gap=gap), each=own_seed)


def nulls() -> Iterator[Null]:
    return (null_of(*each) for each in product((0.0, 0.5), SIZES))


TESTED = (null_of(0.0, "30 of 2 to 120").small(20, at_most(0.1, "both"), at_most(0.15, "ρ above 0")),)
TABLES = (Table("represented", ("gap", "paradigms"), nulls, TESTED),)
