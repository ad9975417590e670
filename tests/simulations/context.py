"""How often ratings in context are called compressed or spread out when they are not: rows as in docs/validation.md.

    PYTHONPATH=src:tests/support python tests/simulations/context.py [--runs 1000]

In: made ratings from 1 to 4 of the same sentences in two conditions, by as many or more people in context.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np

from pairbank.stats.analyses.context import deming_slope
from pairbank.stats.estimates.bootstrap import bootstrap_statistic


def claims(seed: int, *, n_sentences: int, n_raters: tuple[int, int], slope: float = 1.0) -> tuple[bool, bool]:
    """Return whether ratings are called compressed, and spread out."""
    rng = np.random.default_rng(seed)
    true = rng.normal(2.6, 0.8, n_sentences)
    means = [
        np.clip(np.round(mean[:, None] + rng.normal(0, 0.8, (n_sentences, n))), 1, 4).mean(axis=1)
        for mean, n in zip((true, 2.6 + slope * (true - 2.6)), n_raters, strict=True)
    ]
    estimate = bootstrap_statistic(means, partial(deming_slope, ratio=n_raters[0] / n_raters[1]), rng=rng)
    return estimate.high < 1, estimate.low > 1


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    print("| slope | sentences | raters without, in context | compressed | spread out |")  # noqa: T201
    print("| --- | --- | --- | --- | --- |")  # noqa: T201
    for slope in (1.0, 0.8):
        for n_sentences in (40, 250):
            for n_raters in ((15, 15), (15, 17), (10, 20)):
                made = [claims(seed, n_sentences=n_sentences, n_raters=n_raters, slope=slope) for seed in range(runs)]
                shares = " | ".join(f"{share:.3f}" for share in np.mean(made, axis=0))
                print(f"| {slope:g} | {n_sentences} | {n_raters[0]}, {n_raters[1]} | {shares} |", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
