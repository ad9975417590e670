"""Progress goes by work, so that the time left is not off by half until the prompts begin."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

import pairbank
from pairbank.arrays import FloatArray
from pairbank.scoring.api.model import Progress
from pairbank.scoring.api.requests import EncodedRequest
from pairbank.scoring.models.fake import FakeScorer


def test_what_is_done_is_in_step_with_the_tokens_read() -> None:
    read = [0]
    told: list[tuple[float, int]] = []

    class Counting(FakeScorer):
        """Counts the distinct tokens that it is asked for, and tells of its work at the end of each unit alone."""

        def token_logprobs(self, requests: Sequence[EncodedRequest], *, progress: Progress) -> list[FloatArray]:
            del progress
            read[0] += len({one.ids[:n] for one in requests for n in range(1, len(one.ids) + 1)})
            return super().token_logprobs(requests, progress=lambda _n: None)

    def tell(n_done: float, n_items: int) -> None:
        assert n_items == len(items)
        told.append((n_done / n_items, read[0]))

    items = pairbank.load_corpus("starter", limit=3)
    methods = ["direct", "meta_question_simple", "acceptability_judgment_i"]
    pairbank.score(items, Counting(name="counting"), methods=methods, progress=tell)
    shares = [share for share, _ in told]
    assert all(b >= a for a, b in itertools.pairwise(shares))
    assert shares[-1] == pytest.approx(1)
    assert shares[0] < 0.5  # direct scores are one of three methods, and far less than a third of the work
    assert max(abs(share - n_tokens / read[0]) for share, n_tokens in told) < 0.15
