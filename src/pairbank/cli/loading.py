"""Models loaded for a command: one, or one after the other."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Unpack

import pairbank
from pairbank.cli.cluster import Cluster
from pairbank.cli.display.console import status
from pairbank.cli.display.output import note
from pairbank.cli.display.progress import Downloads, fresh_stats, stats_of
from pairbank.scoring.models.options import LoadOptions

if TYPE_CHECKING:
    from pairbank.scoring.api.model import Scorer, ScoringStats
    from pairbank.study.model_list import ModelChoice

READING = "reading the model's files, now"


def load(model: str, /, **options: Unpack[LoadOptions]) -> Scorer:
    with status(f"loading model {model}"):
        scorer = _loaded(model, options)
    fresh_stats(scorer)
    return scorer


def _loaded(model: str, options: LoadOptions) -> Scorer:
    scorer: Scorer = pairbank.load_model(model, progress=Downloads(doing=READING).on_progress, **options)
    return scorer


class Loader(contextlib.ExitStack):
    """Loads models, those of workers one after the other, and keeps what they count of their work."""

    def __init__(self, cluster: Cluster | None) -> None:
        super().__init__()
        self.cluster = cluster
        self.work: dict[str, ScoringStats | None] = {}

    def load(self, choice: ModelChoice) -> Scorer:
        if self.cluster is not None:
            self.close()
            shared = self.enter_context(self.cluster(choice.id, choice.options))
            self.work[shared.info.name] = stats_of(shared)
            return shared
        note(f"loading model {choice.name}")
        scorer = _loaded(choice.id, choice.options)
        self.work[scorer.info.name] = fresh_stats(scorer)
        return scorer
