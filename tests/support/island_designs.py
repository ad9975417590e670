"""A made-up island experiment: ratings in long format, and the map of its design. Our own sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

NAMES = ("Paul", "Tom", "Stacey", "Aaron", "George", "Casey", "Ruth", "Nina", "Omar", "Vera")
VERBS = ("stole", "sold", "wrote", "bought", "read", "baked", "found", "hid", "drew", "burnt")
THINGS = ("necklace", "lamp", "letter", "house", "book", "cake", "key", "coin", "map", "chair")
CELLS = (("non-island", "short"), ("non-island", "long"), ("island", "short"), ("island", "long"))
FILLERS = (("The cat slept.", 6.0), ("Cat the slept.", 1.5), ("She left early.", 6.5), ("Early she leaving.", 2.0))
ISLAND = dict(zip(CELLS, (6.2, 5.2, 5.6, 2.2), strict=True))
MAP = """\
layout = "sentences"

[columns]
sentence = "sentence"
item = "item"
rater = "participant"
rating = "rating"

[ratings]
scale = "likert7"

[design]
factors = ["structure", "distance"]
fillers = { type = "filler" }
"""
HEADER = ("participant", "ItemType", "type", "item", "structure", "distance", "sentence", "rating")


def sentence(item: int, structure: str, distance: str) -> str:
    that, thinks = ("that", "think") if structure == "non-island" else ("whether", "wonder")
    if distance == "short":
        return f"Who {thinks}s {that} {NAMES[item]} {VERBS[item]} the {THINGS[item]}?"
    return f"What did the guest {thinks} {that} {NAMES[item]} {VERBS[item]}?"


def judgments(
    *,
    means: Mapping[tuple[str, str], float] = ISLAND,
    n_sets: int = 8,
    n_raters: int = 12,
    seed: int = 0,
) -> Iterator[dict[str, str]]:
    """Yield the rows of an experiment: every rater sees half of each item set, and all fillers."""
    rng = np.random.default_rng(seed)
    for rater in range(n_raters):
        bias = rng.normal(0, 0.5)
        row = {"participant": f"p{rater + 1}"}
        for item in range(n_sets):
            for nth, cell in enumerate(CELLS):
                if (item + rater + nth) % 2 == 0:
                    points = str(int(np.clip(round(means[cell] + bias + rng.normal(0, 1)), 1, 7)))
                    shown = dict(zip(("structure", "distance"), cell, strict=True)) | {
                        "sentence": sentence(item, *cell)
                    }
                    yield (
                        row | {"ItemType": "target", "type": "target", "item": str(item + 1), "rating": points} | shown
                    )
        for nth, (text, mean) in enumerate(FILLERS):
            points = str(int(np.clip(round(mean + bias + rng.normal(0, 0.7)), 1, 7)))
            blank = {"structure": "", "distance": "", "sentence": text, "rating": points}
            yield row | {"ItemType": "filler", "type": "filler", "item": f"f{nth + 1}"} | blank


def write(folder: Path, rows: list[dict[str, str]], name: str = "islands", map_text: str = MAP) -> Path:
    lines = [",".join(HEADER), *(",".join(row[column] for column in HEADER) for row in rows)]
    path = folder / f"{name}.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    path.with_suffix(".map.toml").write_text(map_text, encoding="utf-8")
    return path
