"""How often `design` claims an interaction where there is none, and how its intervals cover: a table for the docs."""

from __future__ import annotations

import argparse

import pandas as pd

from design_nulls import Experiment, outcomes

CASES = {
    "8 item sets, 24 participants": Experiment(),
    "8 item sets, uneven": Experiment(uneven=True),
    "8 item sets, no variation by item set": Experiment(by_set=0.0),
    "16 item sets, uneven": Experiment(n_sets=16, uneven=True),
    "8 item sets, uneven, interaction of 1 point": Experiment(uneven=True, interaction=1.0),
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=400)
    n = parser.parse_args().repetitions
    print("| experiment | people, claims | people, coverage | model, claims | model, coverage |")  # noqa: T201
    print("| --- | --- | --- | --- | --- |")  # noqa: T201
    for name, experiment in CASES.items():
        means = pd.DataFrame(list(outcomes(experiment, repetitions=n))).mean()
        print(f"| {name} | {' | '.join(f'{value:.3f}' for value in means)} |", flush=True)  # noqa: T201
