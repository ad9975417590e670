"""pairbank: a bank of linguistic judgment items and of what language models say about them.

The public verbs, in the order the data flows: `load_corpus`, `load_model`, `score` (or
`import_scores`, for numbers computed elsewhere), `report`, `write_bank`.
Importing this package imports neither torch nor transformers nor datasets; each verb does when it is called.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pairbank.builders.load import load_corpus
    from pairbank.cards.bank import write_bank
    from pairbank.scoring.import_scores import import_scores
    from pairbank.scoring.models import load_model
    from pairbank.scoring.score import Scored, read_scored, score
    from pairbank.scoring.unigrams import Unigrams, count_unigrams, read_unigrams
    from pairbank.stats.report import Report, report

__version__ = version("pairbank")

_VERBS = {
    "load_corpus": "pairbank.builders.load",
    "load_model": "pairbank.scoring.models",
    "score": "pairbank.scoring.score",
    "import_scores": "pairbank.scoring.import_scores",
    "Scored": "pairbank.scoring.score",
    "read_scored": "pairbank.scoring.score",
    "count_unigrams": "pairbank.scoring.unigrams",
    "read_unigrams": "pairbank.scoring.unigrams",
    "Unigrams": "pairbank.scoring.unigrams",
    "report": "pairbank.stats.report",
    "Report": "pairbank.stats.report",
    "write_bank": "pairbank.cards.bank",
}

__all__ = [
    "Report",
    "Scored",
    "Unigrams",
    "count_unigrams",
    "import_scores",
    "load_corpus",
    "load_model",
    "read_scored",
    "read_unigrams",
    "report",
    "score",
    "write_bank",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - module attributes are any
    if name not in _VERBS:
        raise AttributeError(f"module 'pairbank' has no attribute {name!r}")
    return getattr(import_module(_VERBS[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
