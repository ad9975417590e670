"""`random:MODEL`: an architecture with weights as they are before training, which every signature says."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import pairbank
from pairbank.errors import ModelLoadError
from pairbank.scoring.models.load import remembered
from pairbank.study.model_list import choice_of
from tiny_bidirectional_models import masked_model, saved, t5_model
from tiny_models import ARCHITECTURES, saved_model


@pytest.fixture(scope="module", params=["gpt2", "qwen2", "bert", "t5"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of one of four families and tokenizers, as it is saved."""
    path = tmp_path_factory.mktemp("models") / request.param
    if request.param in ARCHITECTURES:
        return saved_model(ARCHITECTURES[request.param], path)
    return saved(*(t5_model(seed=5) if request.param == "t5" else masked_model(request.param, seed=5)), path)


def test_the_weights_are_drawn_from_the_seed_and_the_signature_says_so(folder: Path) -> None:
    trained = pairbank.load_model(folder)
    before = torch.random.get_rng_state()
    models = [
        pairbank.load_model(f"random:{folder}"),
        pairbank.load_model(folder, weights="random"),
        pairbank.load_model(folder, weights="random:1"),
    ]
    assert torch.equal(torch.random.get_rng_state(), before)
    first, same, other = (next(iter(x.model.parameters())).detach() for x in models)
    assert torch.equal(first, same)
    assert not torch.equal(first, other)
    assert not torch.equal(first, next(iter(trained.model.parameters())))
    assert [x.info.name for x in models] == [f"random-{folder.name}"] * 2 + [f"random-{folder.name}-seed1"]
    assert [x.info.weights for x in models] == ["random:0", "random:0", "random:1"]
    assert models[0].info.slug == f"random_{folder.name}"
    assert models[0].info.key == models[1].info.key
    assert len({models[0].info.key, models[2].info.key, trained.info.key}) == 3
    assert "weights" not in trained.info.to_dict()


def test_scores_are_those_of_the_random_model(folder: Path) -> None:
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=1).select(range(6))
    model = pairbank.load_model(f"random:{folder}")
    scored = pairbank.score(items, model, methods=["direct"])
    assert scored.signature["model"]["weights"] == "random:0"
    assert scored.signature["model"]["name"] == f"random-{folder.name}"
    trained = pairbank.score(items, pairbank.load_model(folder), methods=["direct"])
    assert not np.allclose(scored.to_pandas()["direct_delta"], trained.to_pandas()["direct_delta"])


def test_a_folder_needs_no_weights(folder: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    for path in folder.iterdir():
        if path.suffix != ".safetensors":
            (bare / path.name).write_bytes(path.read_bytes())
    assert pairbank.load_model(f"random:{bare}").info.weights == "random:0"


def test_a_random_model_is_not_remembered_as_the_trained_one(folder: Path) -> None:
    pairbank.load_model(folder)
    pairbank.load_model(f"random:{folder}")
    known, random = remembered(folder), remembered(f"random:{folder}")
    assert known is not None
    assert random is not None
    assert (known.weights, random.weights) == ("", "random:0")


def test_a_choice_has_the_name_that_the_model_will_have(folder: Path) -> None:
    assert choice_of(f"random:{folder}").name == f"random-{folder.name}"
    assert choice_of(str(folder), {"weights": "random:2"}).name == f"random-{folder.name}-seed2"
    assert choice_of("random:org/model@step1").reference == "random:org/model@step1"


def test_what_does_not_go_with_random_weights_is_refused(folder: Path) -> None:
    with pytest.raises(ModelLoadError, match="weights 'noise' is unknown; expected trained, random or random:SEED"):
        pairbank.load_model(folder, weights="noise")
    with pytest.raises(ModelLoadError, match="quantisation does not go with random weights"):
        pairbank.load_model(f"random:{folder}", quantisation="4bit")
    with pytest.raises(ModelLoadError, match=r"takes no weights='random'"):
        pairbank.load_model("random:fake:x")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert config["model_type"]
