"""How often `design` claims an interaction where there is none, and how its intervals cover: a table for the docs."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from design_nulls import Experiment, outcomes
from simulated import asked_runs, show

CASES = {
    "8 item sets, 24 participants": Experiment(),
    "8 item sets, uneven": Experiment(uneven=True),
    "8 item sets, no variation by item set": Experiment(by_set=0.0),
    "16 item sets, uneven": Experiment(n_sets=16, uneven=True),
    "8 item sets, uneven, interaction of 1 point": Experiment(uneven=True, interaction=1.0),
}


def rows(runs: int) -> Iterator[tuple[object, ...]]:
    for name, experiment in CASES.items():
        yield name, *pd.DataFrame(list(outcomes(experiment, repetitions=runs))).mean()


if __name__ == "__main__":
    show(
        ("experiment", "people, claims", "people, coverage", "model, claims", "model, coverage"), rows(asked_runs(400))
    )
