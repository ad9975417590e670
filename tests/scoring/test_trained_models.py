"""The script that trains the models of the example reports: each recipe makes a folder that pairbank scores."""

import json
from pathlib import Path

import numpy as np
import pytest

import pairbank
import trained_models
from tiny_tokenizers import SENTENCES

SCORERS = {"mini-bert": "MaskedScorer", "mini-t5": "Seq2SeqScorer"}
PAIRS = "good,bad\nThe dogs bark again.,The dogs barks again.\nHe said so.,He say so.\n"


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("texts")
    paths = {name: folder / f"{name}.txt" for name in ("english", "chinese", "world")}
    for nth, path in enumerate(paths.values()):
        path.write_text("\n".join(f"{sentence} {nth}" for sentence in SENTENCES), encoding="utf-8")
    return paths


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(trained_models.RECIPES))
def test_a_recipe_trains_a_model_that_pairbank_scores(name: str, texts: dict[str, Path], tmp_path: Path) -> None:
    trained_models.train(name, texts=texts, out=tmp_path, steps=4)
    (tmp_path / "pairs.csv").write_text(PAIRS)
    items = pairbank.load_corpus(str(tmp_path / "pairs.csv"))
    for folder in sorted(path for path in tmp_path.iterdir() if path.is_dir()):
        made = json.loads((folder / "training.json").read_text())
        assert made["steps"] == (1 if folder.name.endswith("-early") else 4)
        model = pairbank.load_model(folder, bos="cls" if name == "mini-gpt2-zh" else "auto")
        assert type(model).__name__ == SCORERS.get(name, "CausalScorer")
        deltas = pairbank.score(items, model, methods=["direct"])["direct_delta"]
        assert len(deltas) == 2
        assert np.isfinite(deltas).all()
    assert (tmp_path / "mini-llama-early").is_dir() == (name == "mini-llama")
