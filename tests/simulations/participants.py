"""How often a model is said to predict participants better than what it knows no more than: for docs/validation.md.

    PYTHONPATH=src:tests/support python tests/simulations/participants.py [--runs 1000]

In: seeds; out: Markdown.
"""

from __future__ import annotations

import argparse

from session_nulls import claims, random_model_claims


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    for n_people, n_items in ((5, 40), (12, 40), (12, 200), (60, 40)):
        tables = {"same as": claims(n_people, n_items, n_runs=runs, seed=0)}
        for kind in ("random", "habits", "items"):
            tables[f"arbitrary, {kind}"] = random_model_claims(n_people, n_items, kind=kind, n_runs=runs, seed=0)
        for name, made in tables.items():
            shares = " | ".join(f"{share:.3f}" for share in made.values())
            print(f"| {name} | {n_people} x {n_items} | {shares} |", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
