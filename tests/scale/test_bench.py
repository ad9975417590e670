"""The bench on a tiny model: who takes part, what is compared."""

import importlib.util
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import pairbank
from command_line import printed_by
from contenders import BARE, HFLM, MINICONS, OURS, PLANNING, TOKENISING, VLLM, bench
from pairbank.scoring.models.causal import CausalScorer
from tiny_models import ARCHITECTURES, saved_model


@pytest.mark.parametrize("method", ["direct", "meta_question_simple"])
def test_without_peers_we_and_the_bare_model_are_timed(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name in ("minicons", "lm_eval") else find(name, *rest)
    )
    scorer = pairbank.load_model(saved_model(ARCHITECTURES["llama"], tmp_path / "llama"))
    assert isinstance(scorer, CausalScorer)
    passes: list[int] = []
    hook: Any = lambda _module, args, named: passes.append(named["input_ids"].numel())  # noqa: E731, ARG005
    scorer.model.base_model.register_forward_pre_hook(hook, with_kwargs=True)
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=1).select(range(6))
    rows = {row.contender: row for row in bench(scorer, items, method=method, repeats=2)}
    assert set(rows) == {OURS, TOKENISING, PLANNING, BARE}
    assert rows[OURS].cpu_ratio == rows[OURS].wall_ratio == 1
    assert rows[BARE].cpu_seconds > 0
    assert rows[PLANNING].wall_ratio < 1
    assert rows[OURS].n_distinct_tokens < rows[OURS].n_sequence_tokens
    # once to begin with, then the bare model and ours again in each repeat: five runs over the distinct tokens
    assert sum(passes) >= 5 * 0.9 * rows[OURS].n_distinct_tokens


def test_a_peer_that_is_half_installed_is_named_and_takes_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    find = importlib.util.find_spec
    broken = ("minicons", "lm_eval", "vllm")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: name in broken or find(name, *rest))
    for name in (*broken, "minicons.scorer"):
        monkeypatch.setitem(sys.modules, name, None)  # its import fails
    scorer = pairbank.load_model(saved_model(ARCHITECTURES["llama"], tmp_path / "llama"))
    assert isinstance(scorer, CausalScorer)
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=1).select(range(2))
    rows = {row.contender for row in bench(scorer, items, repeats=1)}
    assert rows == {OURS, TOKENISING, PLANNING, BARE}
    for name in (MINICONS, HFLM, VLLM):
        assert f"{name} is not timed: it is installed incompletely" in caplog.text


def test_both_peers_of_lm_evaluation_harness_get_the_same_requests_and_vllm_loads_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find, made, asked = importlib.util.find_spec, [], []

    class Peer:
        """Stands for both classes: it remembers what it is given."""

        def __init__(self, **options: Any) -> None:  # noqa: ANN401 - as lm_eval takes them
            made.append(options)

        def loglikelihood(self, requests: list[SimpleNamespace], *, disable_tqdm: bool) -> list[tuple[float, bool]]:
            assert disable_tqdm
            asked.append([request.arguments for request in requests])
            return [(-1.0, True)] * len(requests)

    stands_for = {"api.instance": "Instance", "models.huggingface": "HFLM", "models.vllm_causallms": "VLLM"}
    for module, name in stands_for.items():
        made_up: Any = SimpleNamespace(**{name: SimpleNamespace if name == "Instance" else Peer})
        monkeypatch.setitem(sys.modules, f"lm_eval.{module}", made_up)
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: None if name == "minicons" else name in ("vllm", "lm_eval") or find(name, *rest),
    )
    folder = saved_model(ARCHITECTURES["llama"], tmp_path / "llama")
    scorer = pairbank.load_model(folder)
    assert isinstance(scorer, CausalScorer)
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=1).select(range(3))
    for method in ("direct", "meta_question_simple"):
        rows = {row.contender: row for row in bench(scorer, items, method=method, repeats=1)}
        assert rows[VLLM].n_requests == rows[HFLM].n_requests == len(asked[-1])
        assert asked[-1] == asked[-2]  # HFLM's and vLLM's
        assert rows[VLLM].worst_difference_nats == rows[HFLM].worst_difference_nats > 0
    of_vllm = [options for options in made if "gpu_memory_utilization" in options]
    assert [(one["pretrained"], one["dtype"]) for one in of_vllm] == [(str(folder), "float32")]


@pytest.mark.ci
def test_the_command_prints_the_table_of_the_readme(tmp_path: Path) -> None:
    folder = saved_model(ARCHITECTURES["llama"], tmp_path / "llama")
    script = Path(__file__).with_name("bench.py")
    sizes = ["--pairs", "4", "--whole", "4", "--prompts", "2", "--repeats", "1"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PAIRBANK_CACHE": str(tmp_path / "cache")}
    printed = printed_by([sys.executable, script, "--model", folder, *sizes], env=environment)
    table = printed.strip().split("\n\n")[-1]
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    header = [cell.strip() for cell in table.splitlines()[0].split("|")]
    assert any([cell.strip() for cell in line.split("|")] == header for line in readme.splitlines()), header
    assert "bare model" in table
