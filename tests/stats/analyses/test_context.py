"""Ratings in context: their compression, and r of scores with and without the context; the corpus equals its source."""

from __future__ import annotations

import csv
from pathlib import Path

import datasets
import numpy as np
import pytest

import pairbank
from pairbank.builders.dataset import features
from pairbank.builders.schema.columns import Item
from pairbank.errors import BankError
from pairbank.stats.analyses.context import context, deming_slope
from pairbank.stats.report.frames import scored_frame
from tiny_models import ARCHITECTURES, saved_model

FAMILIES = ("gpt2", "llama", "mistral")


def items(language: str = "en", *, slope: float = 0.5, rated: bool = True, n: int = 24) -> datasets.Dataset:
    """Return sentences without context and in two, whose ratings in context are compressed to a slope."""
    text = {"en": "The {} hens cluck at {}.", "de": "Die {} Hennen gackern um {}."}[language]
    contexts = {"none": "", "real": "It is early.", "random": "A ship sank."}
    rows = [
        Item(
            item_id=f"rated-context/{subset}/{i}", corpus="rated-context", subset=subset, language=language,
            task="sentence", target_good=text.format(i, i % 7), context_good=before, pair_id=str(i),
            human_good=(2.5 + (slope if before else 1) * (i % 12 - 5.5) / 5 if rated else None),
            human_scale="likert4" if rated else None, human_n=15 if rated else None,
        ).row()
        for subset, before in contexts.items()
        for i in range(n)
    ]  # fmt: skip
    return datasets.Dataset.from_list(rows, features=features())


@pytest.mark.ci
@pytest.mark.parametrize("language", ["en", "de"])
def test_three_models_have_r_in_each_context_and_ratings_one_slope(language: str, tmp_path: Path) -> None:
    tables = []
    for name in FAMILIES:
        model = pairbank.load_model(str(saved_model(ARCHITECTURES[name], tmp_path / name)))
        tables.append(scored_frame(pairbank.score(items(language), model, methods=["direct"]), for_analyses=True))
    section = context(tables)
    slopes = section.tables["compression"].set_index("condition")
    assert slopes["value"].to_dict() == pytest.approx({"real": 0.5, "random": 0.5})
    assert section.answer.count("compressed") == 2
    r = section.tables["correlation"]
    assert len(r) == len(FAMILIES) * 5  # no context; two contexts, each with and without
    assert r["n"].eq(24).all()
    one = tables[0].frame
    alone, given = (one[one["subset"] == subset] for subset in ("none", "real"))
    expected = np.corrcoef(alone["direct_good"], given["human_good"])[0, 1]
    row = r[(r["model"] == tables[0].model) & (r["ratings"] == "real") & (r["score"] == "without context")]
    assert row["value"].item() == pytest.approx(expected, abs=1e-6)


def test_without_ratings_the_section_says_what_to_score() -> None:
    table = scored_frame(
        pairbank.score(items(rated=False), pairbank.load_model("fake:a"), methods=["direct"]), for_analyses=True
    )
    with pytest.raises(BankError, match="rated with and without context; score lau-2020-context"):
        context([table])


def test_the_slope_is_that_of_the_first_principal_axis_and_noise_in_both_does_not_move_it() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 200))
    y = y + 0.8 * x
    axis = np.linalg.svd(np.column_stack([x - x.mean(), y - y.mean()]), full_matrices=False)[2][0]
    assert deming_slope(x[None], y[None])[0] == pytest.approx(axis[1] / axis[0])
    true = rng.normal(size=(400, 250))
    slopes = deming_slope(true + 0.3 * rng.normal(size=true.shape), true + 0.3 * rng.normal(size=true.shape))
    assert slopes.mean() == pytest.approx(1, abs=0.005)


@pytest.mark.ci
@pytest.mark.upstream
def test_means_are_those_of_the_source(shared: Path) -> None:
    corpus = pairbank.load_corpus("lau-2020-context", data_dir=shared / "corpora")
    means = {item["item_id"]: item["human_good"] for item in corpus}
    for subset in ("none", "real", "random"):
        with (shared / "corpora" / "lau-context" / f"context-{subset}-ratings.csv").open(encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                assert means[f"lau-2020-context/{subset}/{row['ID']}"] == pytest.approx(float(row["mean-ratings"]))
