"""How often a probe is said to beat its nulls, and measures to rank items alike, when they do not: docs/validation.md.

    PYTHONPATH=src:tests/support python tests/simulations/represented.py [--runs 500]

In: made differences of pairs in paradigms of uneven sizes, each with its own shift of every measure.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd

from pairbank.scoring.api.layout import MethodLayout
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.represented import represented
from pairbank.stats.scored_table.method_scores import ScoredFrame
from simulated import asked_runs, show

METHODS = ("direct", "probe_grammar", "probe_grammar_null")
LAYOUTS = tuple(MethodLayout(method=name, kind="direct", presentations=(), options=(), correct=()) for name in METHODS)
SIZES = {
    "12 of 5 to 60": np.linspace(5, 60, 12, dtype=int),
    "30 of 2 to 120": np.geomspace(2, 120, 30).astype(int),
    "67 of 20": np.full(67, 20),
}


def frame(rng: np.random.Generator, sizes: np.ndarray, *, gap: float, spread: float) -> ScoredFrame:
    """Return a table whose probe is better than chance by a gap; paradigms shift each measure by their own amount."""
    paradigm = np.repeat(np.arange(len(sizes)), sizes)
    rows = pd.DataFrame(
        {"item_id": [f"toy/{nth:05d}" for nth in range(len(paradigm))], "paradigm": paradigm.astype(str)}
    )
    rows = rows.assign(corpus="toy", subset="s", phenomenon=None, language="en", human_good=np.nan, human_bad=np.nan)
    for name in METHODS:
        shift = spread * rng.normal(size=len(sizes))[paradigm] + gap * (name == "probe_grammar")
        rows[f"{name}_delta"] = rng.normal(size=len(paradigm)) + shift
    rows["flags"] = pd.Series([[]] * len(rows), dtype=object)
    return ScoredFrame(corpus="toy", model="m", frame=rows, layouts=LAYOUTS)


def claims(seed: int, sizes: np.ndarray, *, gap: float = 0.0, spread: float = 1.0) -> dict[str, bool]:
    """Return what the section claims: a lead over each null and both, rho above 0 and below 0."""
    rng = np.random.default_rng(seed)
    section = represented(
        [frame(rng, sizes, gap=gap, spread=spread)], Context(nulls=[frame(rng, sizes, gap=0.0, spread=spread)])
    )
    labels, weights = (section.tables["probes"]["low"] > 0).tolist()
    rho = section.tables["ranks"].iloc[0]
    return {
        "labels": labels,
        "weights": weights,
        "both": labels and weights,
        "above": rho["low"] > 0,
        "below": rho["high"] < 0,
    }


def rows(runs: int) -> Iterator[tuple[object, ...]]:
    for gap, (name, sizes) in product((0.0, 0.5), SIZES.items()):
        rates = pd.DataFrame([claims(seed, sizes, gap=gap) for seed in range(runs)]).mean()
        yield f"{gap:g}", name, *rates


if __name__ == "__main__":
    said = ("above shuffled labels", "above random weights", "both", "ρ above 0", "ρ below 0")
    show(("gap", "paradigms", *said), rows(asked_runs(500)))
