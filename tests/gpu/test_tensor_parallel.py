"""Layers split over two processes, as on two cards: the numbers of one process, on a CPU (gloo)."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import pairbank
from pairbank.cli import app
from pairbank.errors import ModelLoadError
from pairbank.scoring.engine.batching import MemoryRanOutError, halved
from tiny_models import Architecture, saved_model

SIZES = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
}
MODELS = {
    "llama": Architecture(model_class="LlamaForCausalLM", config=SIZES, batching="packed", tokenizer="byte_bpe_bos"),
    "qwen2": Architecture(model_class="Qwen2ForCausalLM", config=SIZES, batching="packed", tokenizer="byte_bpe_eos"),
    "mistral": Architecture(
        model_class="MistralForCausalLM", config=SIZES, batching="packed", tokenizer="byte_bpe_bos"
    ),
}
PAIRS = "good,bad\nThe keys are here.,The keys is here.\nA dog barks.,A dog bark.\nShe sees it.,She see it.\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_two_processes_give_the_numbers_of_one(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = saved_model(MODELS[name], tmp_path / name)
    (tmp_path / "pairs.csv").write_text(PAIRS, encoding="utf-8")
    words = ["score", str(tmp_path / "pairs.csv"), "--model", str(folder), "-m", "direct", "-m", "meta_question_simple"]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "pairbank"),
            *(*words, "--tensor-parallel", "--device", "cpu", "--out", str(tmp_path / "split.parquet")),
        ],
        env=os.environ | {"OMP_NUM_THREADS": "1", "PAIRBANK_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("split.parquet: 3 items") == 1
    monkeypatch.setenv("PAIRBANK_CACHE", str(tmp_path / "cache"))
    whole = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "whole.parquet")], catch_exceptions=False)
    assert whole.exit_code == 0, whole.output
    split, alone = (pairbank.read_scored(tmp_path / f"{part}.parquet") for part in ("split", "whole"))
    assert split.signature["model"]["device_map"] == "tensor parallel, 2"
    for column in ("direct_good", "direct_bad", "meta_question_simple_delta"):
        np.testing.assert_allclose(split[column][:], alone[column][:], atol=1e-4)


def test_tensor_parallelism_needs_processes_a_plan_and_no_other_placement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(saved_model(MODELS["llama"], tmp_path / "llama"))
    with pytest.raises(ModelLoadError, match="start them, one per GPU: torchrun --nproc-per-node 8 -m pairbank"):
        pairbank.load_model(folder, tensor_parallel=True)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ModelLoadError, match="tensor_parallel and device_map exclude each other"):
        pairbank.load_model(folder, tensor_parallel=True, device_map="auto")


def test_processes_that_make_a_pass_together_do_not_halve_it_alone() -> None:
    with pytest.raises(MemoryRanOutError, match="--batch-tokens 2048"):
        halved(RuntimeError("not enough memory"), 4096, model_name="large", can_halve=False)
