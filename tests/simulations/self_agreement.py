"""Coverage of the intervals of a model's agreement with itself: the table of docs/validation.md.

    PYTHONPATH=src:tests/support python tests/simulations/self_agreement.py [--runs 500]

In: seeds; out: Markdown.
"""

from __future__ import annotations

import argparse

from alpha_nulls import SIZES, alpha_rates, true_alpha


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=500)
    runs = parser.parse_args().runs
    for sizes in SIZES:
        for n_raters in (2, 5, 10):
            for shared in (0.0, 0.3, 0.6):
                made = alpha_rates(sizes, n_raters=n_raters, shared=shared, n_runs=runs, seed=0)
                shares = " | ".join(f"{share:.3f}" for share in made.values())
                print(f"| {sizes} | {n_raters} | {true_alpha(n_raters, shared):.2f} | {shares} |", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
