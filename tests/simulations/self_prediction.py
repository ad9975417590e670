"""How often self-access is claimed of models that have none: the table of docs/validation.md.

    PYTHONPATH=src:tests/support python tests/simulations/self_prediction.py [--runs 300]

In: seeds; out: Markdown.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from alpha_nulls import SIZES
from self_prediction_nulls import access_rates
from simulated import asked_runs, show


def rows(runs: int) -> Iterator[tuple[object, ...]]:
    for access, sizes, n_models in product((0.0, 0.1), SIZES, (2, 4, 6)):
        made = access_rates(SIZES[sizes], n_models, access=access, n_runs=runs, seed=0)
        yield f"{access:g}", sizes, str(n_models), *made.values()


if __name__ == "__main__":
    show(("access", "items", "models", "claimed", "denied", "self above others"), rows(asked_runs(300)))
