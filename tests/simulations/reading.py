"""How often the section on reading times claims an effect of surprisal: rows as in docs/validation.md.

    PYTHONPATH=src:tests/support python tests/simulations/reading.py [--runs 300]

In: made-up reading times of twelve participants and eight texts; out, Markdown. Without an effect, participants still
differ in how surprisal changes their times, on average by nothing.
"""

from __future__ import annotations

import argparse

import numpy as np

from reading_cases import reading_claims


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=300)
    runs = parser.parse_args().runs
    print("| effect | texts and participants | runs | an effect | slower with surprisal | gain on held-out texts |")  # noqa: T201
    print("| --- | --- | --- | --- | --- | --- |")  # noqa: T201
    for effect in (0.0, 1.0):
        for uneven in (True, False):
            shares = np.mean([reading_claims(seed, effect=effect, uneven=uneven) for seed in range(runs)], axis=0)
            cells = " | ".join(f"{share:.3f}" for share in shares)
            kind = "uneven" if uneven else "even"
            print(f"| {effect:g} | {kind} | {runs} | {cells} |", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
