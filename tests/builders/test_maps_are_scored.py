"""Items of maps and of new corpora are scored by models of four kinds, in languages with and without spaces."""

import json
from pathlib import Path

import numpy as np
import pytest

import pairbank
from golden_models import golden_model
from pairbank.builders.corpora.registry import CORPORA

MAP = """\
layout = "long"
order = "good-first"
[reading]
header = ["sentence"]
[columns]
sentence = "sentence"
[fixed]
language = "zh"
"""


@pytest.mark.parametrize("name", ["llama", "gpt2", "bert", "t5"])
def test_every_model_scores_what_a_map_reads(name: str, tmp_path: Path) -> None:
    (tmp_path / "map.toml").write_text(MAP, encoding="utf-8")
    (tmp_path / "pairs.csv").write_text("他看书\n书看他\n我喝水\n水喝我\n", encoding="utf-8")
    row = {"premise": "Wasi hatun.", "choice1": "Sumaq.", "choice2": "Juchuy.", "question": "cause", "label": 1}
    for file in CORPORA["xcopa"].source.files:
        (tmp_path / file.name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file.name).write_text(json.dumps(row | {"idx": 0, "changed": False}) + "\n", encoding="utf-8")
    (tmp_path / "NoCoLa_class_dev.txt").write_text("Ungrammatical:\nJeg har leste den.\tF\nGrammatical:\nDe sier.\n")
    model = pairbank.load_model(str(golden_model(name, tmp_path)), device="cpu")
    pairs = pairbank.load_corpus(tmp_path / "pairs.csv")
    choices = pairbank.load_corpus("xcopa", data_dir=tmp_path, language="qu")
    sentences = pairbank.load_corpus("nocola", data_dir=tmp_path, subset="dev")
    for items in (pairs, choices, sentences):
        scored = pairbank.score(items, model, methods=["direct"])
        assert np.isfinite(scored["direct_good"][:]).all()
        if items is not sentences:
            assert np.isfinite(scored["direct_delta"][:]).all()
