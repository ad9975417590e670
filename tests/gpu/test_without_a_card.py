"""What `make gpu` runs, run on the CPU, so that it is in order when there is a card; and that cards are waited for."""

import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

import contenders

DTYPES = ("float32", "bfloat16", "float16")


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the checks of a card, on the CPU; where they fill its memory, this does not, but says so."""
    spec = importlib.util.spec_from_file_location("gpu_checks", Path(__file__).with_name("test_gpu.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def full(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(module, "DEVICE", "cpu")
    monkeypatch.setattr(module, "fill_card", full)
    return module


def test_the_checks_of_a_card_are_in_order(checks: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    for name, dtype in zip(("gpt2", "mistral", "bloom"), DTYPES, strict=True):
        checks.test_a_card_gives_the_numbers_of_a_naive_loop_in_float64(name, dtype, tmp_path / dtype, lines)
    checks.test_packed_and_padded_scores_agree("bfloat16", tmp_path / "packed", lines)
    checks.test_a_run_goes_on_with_half_when_memory_runs_out(tmp_path / "memory", monkeypatch, lines)
    before = f"# On a GPU\n\nWords.\n\n{checks.RESULTS}\n\nOld results.\n\n## Host and device\n\nMore words.\n"
    page = checks.page_of(lines, "Card 9000", before)
    assert page == checks.page_of(lines, "Card 9000", page)
    head, rest = page.split("Made by `make gpu` on one Card 9000, torch ")
    table, more = rest.split("\n## Host and device\n\n")
    assert (head, more) == (f"# On a GPU\n\nWords.\n\n{checks.RESULTS}\n\n", "More words.\n")
    assert [line.count("|") for line in table.splitlines() if line][1:] == [3] * (2 + 5)
    assert "| memory runs out | the run goes on with " in page


def test_what_a_card_still_has_to_do_is_waited_for_before_and_after_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: seen.append(str(device)))

    def run() -> list[float]:
        seen.append("run")
        return []

    for device in ("cuda:1", "cpu"):
        monkeypatch.setattr(contenders, "input_device", lambda _model, at=device: torch.device(at))
        scorer: Any = SimpleNamespace(model=None)
        contenders._timed(run, scorer)
    assert seen == ["cuda:1", "run", "cuda:1", "run"]
