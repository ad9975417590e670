"""MORCELA: coverage of its weights and correlations, and how often a right SLOR is said to be beaten.

    PYTHONPATH=src:tests/support python tests/simulations/linking.py [--runs 300]

In: made-up sentences (`linking_cases`); out, Markdown for docs/validation.md. Coverage of r is of its mean over runs.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np

from linking_cases import sentences
from pairbank.stats.analyses.linking import fitted_linking
from simulated import asked_runs, show

DATA = {"100 sentences": (100, 0), "300 sentences": (300, 0), "300 sentences in 30 paradigms": (300, 30)}
TRUTHS = {"β = 0.6, γ = 8": (0.6, 8.0), "β = 1, γ = 0: SLOR is right (null)": (1.0, 0.0)}


def rows(n_runs: int) -> Iterator[tuple[object, ...]]:
    for (data, (n, n_groups)), (name, (beta, gamma)) in product(DATA.items(), TRUTHS.items()):
        runs = []
        for seed in range(n_runs):
            rng = np.random.default_rng(seed)
            result = fitted_linking(sentences(rng, beta=beta, gamma=gamma, n=n, n_groups=n_groups))
            assert not isinstance(result, str)
            runs.append(result)
        r, slor, over = (np.mean([getattr(x, k).value for x in runs]) for k in ("r", "r_slor", "over_slor"))
        truth = {"beta": beta, "gamma": gamma, "r": r, "over_slor": over}
        held = [np.mean([getattr(x, k).low <= v <= getattr(x, k).high for x in runs]) for k, v in truth.items()]
        sides = [np.mean([x.over_slor.low > 0 for x in runs]), np.mean([x.over_slor.high < 0 for x in runs])]
        yield data, name, r, slor, *held, *sides


if __name__ == "__main__":
    coverage = ("coverage: β", "γ", "r", "Δr")
    show(("data", "truth", "r", "r (SLOR)", *coverage, "MORCELA above SLOR", "below"), rows(asked_runs(300)))
