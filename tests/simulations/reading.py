"""How often the section on reading times claims an effect of surprisal: rows as in docs/validation.md.

    PYTHONPATH=src:tests/support python tests/simulations/reading.py [--runs 300]

In: made-up reading times of twelve participants and 8 or 20 texts; out, Markdown. Without an effect, participants still
differ in how surprisal changes their times, on average by nothing. `covered`: how often the interval of the gain on
held-out texts has its mean over all runs, with participants drawn anew or the same in all runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from reading_cases import reading_claims, reading_row
from simulated import asked_runs, show


def rows(runs: int) -> Iterator[tuple[object, ...]]:
    for effect, (n_texts, uneven) in itertools.product((0.0, 1.0), ((8, True), (8, False), (20, True))):
        covered, claims = [], np.zeros(3)
        for readers_seed in (None, 1):
            options = {"effect": effect, "uneven": uneven, "n_texts": n_texts, "readers_seed": readers_seed}
            made = [reading_row(seed, **options) for seed in range(runs)]
            truth = float(np.mean([row["delta_ll"] for row in made]))
            covered.append(np.mean([row["low"] <= truth <= row["high"] for row in made]))
            claims = np.mean([reading_claims(row) for row in made], axis=0) if readers_seed is None else claims
        yield f"{effect:g}", str(n_texts), "uneven" if uneven else "even", *claims, *covered


if __name__ == "__main__":
    said = ("an effect", "slower", "gain on held-out texts", "covered", "… for these readers")
    show(("effect", "texts", "sizes", *said), rows(asked_runs(300)))
