"""How often a model is said to predict participants better than what it knows no more than: for docs/validation.md.

    PYTHONPATH=src:tests/support python tests/simulations/participants.py [--runs 1000]

In: seeds; out: Markdown.
"""

from __future__ import annotations

from collections.abc import Iterator

from session_nulls import claims, random_model_claims
from simulated import asked_runs, show


def rows(runs: int) -> Iterator[tuple[object, ...]]:
    for n_people, n_items in ((5, 40), (12, 40), (12, 200), (60, 40)):
        tables = {"same as": claims(n_people, n_items, n_runs=runs, seed=0)}
        for kind in ("random", "habits", "items"):
            tables[f"arbitrary, {kind}"] = random_model_claims(n_people, n_items, kind=kind, n_runs=runs, seed=0)
        for name, made in tables.items():
            yield name, f"{n_people} x {n_items}", *made.values()


if __name__ == "__main__":
    of = ("chance", "own answers", "other participants", "without the session")
    show(("model", "people x items", *of), rows(asked_runs(1000)))
