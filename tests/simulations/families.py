"""How often instruction tuning is said to change what it does not: the table of docs/validation.md.

    PYTHONPATH=src:tests/support python tests/simulations/families.py [--runs 1000]

In: seeds; out: Markdown.
"""

from __future__ import annotations

import argparse

from family_nulls import FAMILIES, SIZES, runs_of

SPREADS = {"none": (0.0, 0.0), "families": (0.3, 0.0), "paradigms": (0.0, 0.5), "both": (0.3, 0.5)}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    print("| measure | families | items | tuning varies over | covered | claimed | t test over pairs |")  # noqa: T201
    print("| --- | --- | --- | --- | --- | --- | --- |")  # noqa: T201
    for measure in ("accuracy", "r"):
        for families in FAMILIES:
            for sizes in SIZES:
                for spread, (by_family, by_paradigm) in SPREADS.items():
                    made = runs_of(
                        families, sizes, measure=measure, by_family=by_family, by_paradigm=by_paradigm,
                        n_runs=runs, seed=0,
                    )  # fmt: skip
                    shares = " | ".join(f"{share:.3f}" for share in made.values())
                    print(f"| {measure} | {families} | {sizes} | {spread} | {shares} |", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
