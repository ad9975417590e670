"""pairbank: a bank of linguistic judgment items and of what language models say about them.

The public verbs, in the order the data flows: `load_corpus`, `load_model`, `score` (or
`import_scores` and `import_logs`, for numbers computed elsewhere), `report`, `write_bank`, `publish` (and
`merge_banks`, `strip_texts`, `cut_alike`, `export_results`). Shared banks: `submit`, `submit_results`,
`check_submission`, `review`,
`withdraw`, `build_store`, `fetch`. Beside items: `load_ratings` (individual ratings).
Beside scores: `words` (surprisal of every word of a text), `probe` (a model's hidden states) and `add_minimalness`
(how little the sides of a pair differ).
Importing this package imports neither torch nor transformers nor datasets; each verb does when it is called.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pairbank.builders.load import load_corpus, load_ratings
    from pairbank.cards.check import check_bank
    from pairbank.cards.export.every_eval_ever import export_results
    from pairbank.cards.merge import merge_banks
    from pairbank.cards.publish import Published, publish
    from pairbank.cards.site.site import write_site
    from pairbank.cards.store import build_store, review
    from pairbank.cards.submissions import check_submission, fetch, submit, submit_results, withdraw
    from pairbank.cards.write import remove_model, strip_texts, write_bank
    from pairbank.probing import probe
    from pairbank.scoring.cut import cut_alike
    from pairbank.scoring.importing.scores import Imports, import_logs, import_scores
    from pairbank.scoring.methods.unigrams import Unigrams, count_unigrams, read_unigrams
    from pairbank.scoring.minimalness import add_minimalness
    from pairbank.scoring.models.load import load_model
    from pairbank.scoring.score import score
    from pairbank.scoring.scored import Scored, read_scored
    from pairbank.scoring.words import words
    from pairbank.stats.analyses.neuro import Probed
    from pairbank.stats.report.report import Report, report

if missing := [x for x in ("builders", "scoring", "stats", "cards") if not (Path(__file__).parent / x).is_dir()]:
    from pairbank.errors import CheckoutError

    raise CheckoutError(
        f"{Path(__file__).parent}: {', '.join(missing)} should be symbolic links to the top-level folders of the same "
        "names. They are not: git or an archive program wrote plain files. In a clone: git config "
        "core.symlinks true && git checkout -- src (on Windows with developer mode switched on). Or install the wheel: "
        "pip install pairbank"
    )

__version__ = version("pairbank")

_VERBS = {
    "load_corpus": "pairbank.builders.load",
    "load_ratings": "pairbank.builders.load",
    "load_model": "pairbank.scoring.models.load",
    "add_minimalness": "pairbank.scoring.minimalness",
    "score": "pairbank.scoring.score",
    "cut_alike": "pairbank.scoring.cut",
    "import_logs": "pairbank.scoring.importing.scores",
    "Imports": "pairbank.scoring.importing.scores",
    "import_scores": "pairbank.scoring.importing.scores",
    "Scored": "pairbank.scoring.scored",
    "read_scored": "pairbank.scoring.scored",
    "words": "pairbank.scoring.words",
    "probe": "pairbank.probing",
    "Probed": "pairbank.stats.analyses.neuro",
    "count_unigrams": "pairbank.scoring.methods.unigrams",
    "read_unigrams": "pairbank.scoring.methods.unigrams",
    "Unigrams": "pairbank.scoring.methods.unigrams",
    "report": "pairbank.stats.report.report",
    "Report": "pairbank.stats.report.report",
    "write_bank": "pairbank.cards.write",
    "remove_model": "pairbank.cards.write",
    "strip_texts": "pairbank.cards.write",
    "check_bank": "pairbank.cards.check",
    "export_results": "pairbank.cards.export.every_eval_ever",
    "merge_banks": "pairbank.cards.merge",
    "publish": "pairbank.cards.publish",
    "Published": "pairbank.cards.publish",
    "write_site": "pairbank.cards.site.site",
    "submit": "pairbank.cards.submissions",
    "submit_results": "pairbank.cards.submissions",
    "check_submission": "pairbank.cards.submissions",
    "build_store": "pairbank.cards.store",
    "review": "pairbank.cards.store",
    "fetch": "pairbank.cards.submissions",
    "withdraw": "pairbank.cards.submissions",
}

__all__ = [
    "Imports",
    "Probed",
    "Published",
    "Report",
    "Scored",
    "Unigrams",
    "add_minimalness",
    "build_store",
    "check_bank",
    "check_submission",
    "count_unigrams",
    "cut_alike",
    "export_results",
    "fetch",
    "import_logs",
    "import_scores",
    "load_corpus",
    "load_model",
    "load_ratings",
    "merge_banks",
    "probe",
    "publish",
    "read_scored",
    "read_unigrams",
    "remove_model",
    "report",
    "review",
    "score",
    "strip_texts",
    "submit",
    "submit_results",
    "withdraw",
    "words",
    "write_bank",
    "write_site",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - module attributes are any
    if name not in _VERBS:
        raise AttributeError(f"module 'pairbank' has no attribute {name!r}")
    return getattr(import_module(_VERBS[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
