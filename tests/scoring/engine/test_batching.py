"""One rule for memory that runs out: half as much at once, and an error that says what to do where nothing is left."""

import weakref

import pytest
import torch

from pairbank.errors import ScoringError
from pairbank.scoring.engine.batching import halved, in_batches


def sizes(*, fits: int, budget_tokens: int = 64) -> list[int]:
    """Return how many of eight items of four tokens went through at once, where only `fits` do."""

    def compute(batch: list[int]) -> int:
        if len(batch) > fits:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return len(batch)

    width = {"width": lambda _item: 4, "budget_tokens": budget_tokens}
    return list(in_batches(list(range(8)), compute=compute, model_name="toy", **width))  # type: ignore[arg-type]


def test_a_batch_that_does_not_fit_is_halved_until_it_does_and_nothing_is_left_out() -> None:
    assert sizes(fits=8) == [8]
    assert sizes(fits=3) == [2, 2, 2, 2]
    assert sizes(fits=1) == [1] * 8


def test_an_input_that_does_not_fit_alone_is_an_error_with_the_model_and_a_remedy() -> None:
    with pytest.raises(ScoringError, match=r"toy: out of memory with one sequence a pass; use a smaller dtype"):
        sizes(fits=0)


def test_what_does_not_fit_beside_a_large_batch_is_tried_beside_a_smaller_one() -> None:
    """As in an encoder-decoder: the encoder's batch is what fills the memory that one decoder input lacks."""

    def outer(batch: list[int]) -> list[int]:
        def inner(jobs: list[int]) -> int:
            if len(batch) > 2:
                raise torch.OutOfMemoryError
            return len(jobs)

        return list(in_batches(batch, width=lambda _job: 1, budget_tokens=8, compute=inner, model_name="toy"))

    result = in_batches(list(range(8)), width=lambda _item: 1, budget_tokens=8, compute=outer, model_name="toy")
    assert list(result) == [[2], [2], [2], [2]]


def test_any_other_error_of_the_model_is_raised_as_it_is() -> None:
    with pytest.raises(RuntimeError, match="mat1 and mat2") as raised:
        halved(RuntimeError("mat1 and mat2 shapes cannot be multiplied"), 8, model_name="toy")
    assert not isinstance(raised.value, ScoringError)


def test_memory_that_ran_out_in_the_cpus_allocator_counts() -> None:
    assert halved(RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate"), 8, model_name="t") == 4


@pytest.mark.parametrize("at_once", [1, 2])
def test_the_tensors_of_a_pass_that_did_not_fit_are_gone_when_the_cache_is_emptied(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[weakref.ref[torch.Tensor]] = []
    freed: list[bool] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: freed.append(all(tensor() is None for tensor in held)))

    def compute(batch: list[int]) -> int:
        activations = torch.zeros(len(batch))
        if len(batch) > 2:
            held.append(weakref.ref(activations))
            raise torch.OutOfMemoryError("toy")
        return int(activations.numel())

    result = in_batches(
        list(range(8)), width=lambda _item: 1, budget_tokens=8, compute=compute, model_name="toy", at_once=at_once
    )
    assert sum(result) == 8
    assert freed == [True, True]
