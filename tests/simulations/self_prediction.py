"""How often self-access is claimed of models that have none: the table of docs/validation.md.

    PYTHONPATH=src:tests/support python tests/simulations/self_prediction.py [--runs 300]

In: seeds; out: Markdown.
"""

from __future__ import annotations

import argparse

from self_prediction_nulls import access_rates

SIZES = {
    "200 items": (1,) * 200,
    "12 x 10": (10,) * 12,
    "Zipf over 20 (190)": tuple(max(60 // n, 2) for n in range(1, 21)),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=300)
    runs = parser.parse_args().runs
    for access in (0.0, 0.1):
        for sizes, counts in SIZES.items():
            for n_models in (2, 4, 6):
                made = access_rates(counts, n_models, access=access, n_runs=runs, seed=0)
                shares = " | ".join(f"{share:.3f}" for share in made.values())
                print(f"| {access:g} | {sizes} | {n_models} | {shares} |", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
