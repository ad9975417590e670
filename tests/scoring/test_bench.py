"""The bench on a tiny model: who takes part, what is compared."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

import pairbank
from pairbank.scoring.bench import BARE, OURS, PLANNING, TOKENISING, bench
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
