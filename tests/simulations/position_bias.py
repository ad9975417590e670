"""How often a page says that equal models differ when they like one position: rows as in docs/validation.md.

    PYTHONPATH=src:tests/support python tests/simulations/position_bias.py [--runs 2000]

In: made answers to both orders of a forced choice; out, Markdown. Models of a pair have the same chance of a right
answer with orders pooled. The first one picks option 1 in a share of all presentations; averaged over orders, its
difference is on the right side for most items all the same.
"""

from collections.abc import Iterator
from functools import partial
from itertools import product

from position_nulls import pooled_differ, pooled_modelled, pooled_ranked, sign_differ, sign_modelled, sign_ranked
from sentence_nulls import rate
from simulated import asked_runs, show

SENTENCES = (
    ("`comparisons`", sign_differ, pooled_differ),
    ("ranks", sign_ranked, pooled_ranked),
    ("`mixed`", sign_modelled, pooled_modelled),
)


def rows(runs: int) -> Iterator[tuple[object, ...]]:
    for (sentence, before, now), first, n in product(SENTENCES, (0.5, 0.8, 0.94, 1.0), (24, 200, 1000)):
        if sentence == "`mixed`" and n == 24:  # fewer items than it has units and methods
            continue
        said = [rate(partial(of, n=n, first=first), runs=runs) for of in (before, now)]
        yield sentence, f"{first:.2f}", f"{n:,}", *said


if __name__ == "__main__":
    columns = ("sentence", "options picked first", "items", "averaged sign (before)", "pooled credit")
    show(columns, rows(asked_runs(2000)))
