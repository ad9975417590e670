"""Distances between a model's and people's distributions: coverage, floor, and the error rate of "nearer".

    PYTHONPATH=src:tests/support python tests/simulations/distributions.py [--runs 500]

In: made-up people and models (`distribution_cases`); out, Markdown for docs/validation.md. Sentences and raters are
drawn anew in each run; coverage is of the mean over all runs.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np

from distribution_cases import Design, Model, ends, is_nearer, made
from simulated import asked_runs, show

DESIGNS = {
    "100 sentences, the same 20 raters": Design(),
    "30 sentences, the same 8 raters": Design(n_things=30, n_raters=8, per_thing=8),
    "300 sentences, 5 of 60 raters each": Design(n_things=300, n_raters=60, per_thing=5),
    "200 sentences in 20 paradigms, 10 of 40 raters each": Design(
        n_things=200, n_raters=40, per_thing=10, n_paradigms=20
    ),
    "80 sentences in 8 paradigms, yes/no ten times by 10 of 80 raters each": Design(
        n_things=80, n_raters=80, per_thing=10, n_paradigms=8, repeats=10
    ),
}
MODELS: dict[str, tuple[Model, int]] = {
    "people's distributions": ("people", 0),
    "the same, 10 draws": ("people", 10),
    "one distribution for all (null)": ("constant", 0),
    "one distribution, 10 draws (null)": ("constant", 10),
    "30% of the way to people's": ("between", 0),
}


def rows(n_runs: int) -> Iterator[tuple[object, ...]]:
    for (data, design), (who, (model, n_draws)) in product(DESIGNS.items(), MODELS.items()):
        runs = [made(np.random.default_rng(seed), design, model, n_draws=n_draws) for seed in range(n_runs)]
        truth = np.mean([values for _, values in runs], axis=0)
        covered = [
            np.mean([low <= true <= high for low, high in (ends(result, name) for result, _ in runs)])
            for name, true in (("model", truth[0]), ("nearer", truth[2]))
        ]
        floor, nearer = (np.mean([of(result) for result, _ in runs]) for of in (lambda x: x.floor, is_nearer))
        yield data, who, truth[0], floor, *covered, nearer


if __name__ == "__main__":
    said = ("mean distance", "floor", "coverage: distance", "coverage: difference", "said to be nearer")
    show(("data", "model", *said), rows(asked_runs(500)))
