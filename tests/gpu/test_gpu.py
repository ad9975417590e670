"""On a CUDA device: exactness by dtype, packed against padded, less when memory runs out, and speed; `make gpu`.

Numbers of a card are held to the same model on the CPU in float64, one sequence a pass. What is found goes to the page
that `PAIRBANK_GPU_PAGE` names.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

import pairbank
from contenders import bench
from naive_reference import token_logprobs
from pairbank.scoring.api.requests import EncodedRequest, Request
from pairbank.scoring.engine.batching import MemoryRanOutError
from pairbank.scoring.models.causal import CausalScorer
from tiny_models import ARCHITECTURES, saved_model

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]
TOLERANCE_NATS = {"float32": 2e-3, "bfloat16": 0.5, "float16": 0.1}
"""Of a token: float32 with TF32 off; a token of SmolLM2-135M in bfloat16 moves by 0.13 nats at most."""
MODELS = ("llama", "gpt2", "mistral", "bloom")
DEVICE = "cuda"
TEXTS = ["The keys to the cabinet are on the table.", "The keys to the cabinet is on the table.", "A dog barks."]
RESULTS = "## Checks of one card"
"""Heading of the page's section that is written here."""
Lines = list[str]


@pytest.fixture(scope="module")
def lines() -> Iterator[Lines]:
    """Yield the page's lines, and write it in the end."""
    result: Lines = []
    yield result
    page = os.environ.get("PAIRBANK_GPU_PAGE")
    if page and result:
        path = Path(page)
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        path.write_text(page_of(result, torch.cuda.get_device_name(), before), encoding="utf-8")


def page_of(result: Lines, card: str, before: str) -> str:
    """Return the page: its section of results made anew, all that stands around it as before."""
    head, _, rest = before.partition(RESULTS)
    made = f"Made by `make gpu` on one {card}, torch {torch.__version__}, CUDA {torch.version.cuda}."
    after = rest[rest.find("\n## ") :] if "\n## " in rest else "\n"
    return "\n".join(
        [f"{head}{RESULTS}", "", made, "", "| what | found |", "| --- | --- |", *result, after.removesuffix("\n"), ""]
    )


def on_card(folder: Path | str, dtype: str) -> CausalScorer:
    return cast("CausalScorer", pairbank.load_model(str(folder), device=DEVICE, dtype=dtype))


def fill_card(*_: object, **__: object) -> None:
    """Ask for a million GB: what a full card says is raised."""
    torch.empty(1 << 50, dtype=torch.uint8, device=DEVICE)


def nats(scorer: CausalScorer, requests: list[EncodedRequest]) -> list[Any]:
    return scorer.token_logprobs(requests, progress=lambda _n: None)


@pytest.mark.parametrize("dtype", TOLERANCE_NATS)
@pytest.mark.parametrize("name", MODELS)
def test_a_card_gives_the_numbers_of_a_naive_loop_in_float64(
    name: str, dtype: str, tmp_path: Path, lines: Lines
) -> None:
    folder = saved_model(ARCHITECTURES[name], tmp_path / name)
    scorer = on_card(folder, dtype)
    plain: Any = pairbank.load_model(str(folder), device="cpu", dtype="float64")
    requests = scorer.encode([Request(context="", target=text) for text in TEXTS])
    expected = [token_logprobs(plain.model, list(one.ids), one.n_scored) for one in requests]
    worst = max(float(np.abs(a - b).max()) for a, b in zip(nats(scorer, requests), expected, strict=True))
    lines.append(f"| {name}, {dtype}: worst token against a naive loop in float64 | {worst:.2g} nats |")
    assert worst < TOLERANCE_NATS[dtype]


@pytest.mark.parametrize("dtype", TOLERANCE_NATS)
def test_packed_and_padded_scores_agree(dtype: str, tmp_path: Path, lines: Lines) -> None:
    scorer = on_card(saved_model(ARCHITECTURES["llama"], tmp_path / "llama"), dtype)
    requests = scorer.encode([Request(context="", target=text) for text in TEXTS * 5])
    packed = nats(scorer, requests)
    scorer.batching = "padded"
    worst = max(float(np.abs(a - b).max()) for a, b in zip(nats(scorer, requests), packed, strict=True))
    lines.append(f"| {dtype}: packed against padded | {worst:.2g} nats |")
    assert worst < TOLERANCE_NATS[dtype]


def test_a_run_goes_on_with_half_when_memory_runs_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: Lines
) -> None:
    scorer = on_card(saved_model(ARCHITECTURES["gpt2"], tmp_path / "gpt2"), "float32")
    requests = scorer.encode([Request(context="", target=f"A dog barks {n} times.") for n in range(300)])
    expected = nats(scorer, requests)
    first, forward = scorer.batch_tokens, type(scorer)._pass

    def limited(self: CausalScorer, *args: Any, n_tokens: int, **more: Any) -> Any:  # noqa: ANN401
        if n_tokens > first // 8:
            fill_card()
        return forward(self, *args, n_tokens=n_tokens, **more)

    monkeypatch.setattr(CausalScorer, "_pass", limited)
    scorer.batch_tokens = first = min(first, 2_048)
    result = nats(scorer, requests)
    assert scorer.batch_tokens < first
    np.testing.assert_allclose(np.concatenate(result), np.concatenate(expected), atol=2e-3)
    lines.append(f"| memory runs out | the run goes on with {scorer.batch_tokens:,} of {first:,} tokens a pass |")
    monkeypatch.setattr(CausalScorer, "_pass", fill_card)
    with pytest.raises(MemoryRanOutError):
        nats(scorer, requests)


@pytest.mark.model
def test_speed_beside_the_bare_model_and_peers(lines: Lines) -> None:
    scorer = on_card("demo", "bfloat16")
    items = pairbank.load_corpus("starter", subset="minimal-pairs")
    for method in ("direct", "meta_question_simple"):
        for row in bench(scorer, items, method=method, repeats=3):
            lines.append(f"| {method}: {row.contender} | {row.wall_seconds:.2f} s, {row.wall_ratio:.2f} of ours |")
            assert row.wall_seconds > 0
