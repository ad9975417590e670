"""How often a page says that equal models differ when they like one position: rows as in docs/validation.md.

    PYTHONPATH=src:tests/support python tests/simulations/position_bias.py [--runs 2000]

In: made answers to both orders of a forced choice; out, Markdown. Models of a pair have the same chance of a right
answer with orders pooled. The first one picks option 1 in a share of all presentations; averaged over orders, its
difference is on the right side for most items all the same.
"""

import argparse
from functools import partial

from position_nulls import pooled_differ, pooled_modelled, pooled_ranked, sign_differ, sign_modelled, sign_ranked
from sentence_nulls import rate

SENTENCES = (
    ("`comparisons`", sign_differ, pooled_differ),
    ("ranks", sign_ranked, pooled_ranked),
    ("`mixed`", sign_modelled, pooled_modelled),
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=2000)
    runs = parser.parse_args().runs
    print("| sentence | options picked first | items | averaged sign (before) | pooled credit |")  # noqa: T201
    print("| --- | --- | --- | --- | --- |")  # noqa: T201
    for sentence, before, now in SENTENCES:
        for first in (0.5, 0.8, 0.94, 1.0):
            for n in (24, 200, 1000):
                if sentence == "`mixed`" and n == 24:  # fewer items than it has units and methods
                    continue
                said = [rate(partial(of, n=n, first=first), runs=runs) for of in (before, now)]
                print(f"| {sentence} | {first:.2f} | {n:,} | {said[0]:.3f} | {said[1]:.3f} |", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
