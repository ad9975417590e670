"""A bank of three models on two corpora: one of English pairs with ratings, one of other languages without."""

from collections.abc import Callable, Sequence
from pathlib import Path

import datasets
import pandas as pd
import pytest

import pairbank
from made_items import made_item
from pairbank.builders.dataset import features

METHODS = ("direct", "meta_question_simple")
MODELS = ("fake-1", "fake-2", "pythia-70m")


def rated_items() -> datasets.Dataset:
    items = [
        made_item(
            f"rated/all/{n}",
            f"The {n} pilots see the river.",
            f"The {n} pilots sees the river.",
            phenomenon="agreement",
            human_good=5.0 + n / 10,
            human_bad=2.0 + (n % 3) / 10,
            human_scale="likert7",
            human_n=18 + n % 3,
        )
        for n in range(12)
    ]
    return datasets.Dataset.from_list([item.row() for item in items], features=features())


def ratings_of(items: datasets.Dataset, *, raters: Sequence[str] = ("A9XQ", "B2", "C7")) -> pd.DataFrame:
    """Return ratings of both sides of items by workers with identifiers."""
    rows = [
        (item, side, who, float(6 - number - (side == "bad") * 2 + place % 2), "likert7")
        for place, item in enumerate(items["item_id"])
        for side in ("good", "bad")
        for number, who in enumerate(raters)
    ]
    return pd.DataFrame(rows, columns=["item_id", "side", "rater", "value", "scale"])


@pytest.fixture(scope="session")
def three_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    corpora = (rated_items(), pairbank.load_corpus("starter", subset="concepts", limit=1))
    scored = [pairbank.score(items, f"fake:{name}", methods=METHODS) for items in corpora for name in MODELS]
    return pairbank.write_bank(
        tmp_path_factory.mktemp("three") / "bank",
        scored=scored,
        licences={"rated": "cc-by-4.0"},
        contact="https://example.org/pairs",
    )


@pytest.fixture
def copied(three_models: Path, tmp_path: Path) -> Callable[[], Path]:
    import shutil

    def copy() -> Path:
        return Path(shutil.copytree(three_models, tmp_path / "copy"))

    return copy
