"""A fake model that keeps what it is asked."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from pairbank.scoring.api.model import Progress
from pairbank.scoring.api.requests import EncodedRequest
from pairbank.scoring.models.fake import FakeScorer


class Counting(FakeScorer):
    """Who counts empties `asked` first: all of the class share it, since a run may copy its model."""

    asked: ClassVar[list[EncodedRequest]] = []

    def token_logprobs(
        self, requests: Sequence[EncodedRequest], *, progress: Progress
    ) -> list[npt.NDArray[np.float64]]:
        self.asked.extend(requests)
        return super().token_logprobs(requests, progress=progress)
