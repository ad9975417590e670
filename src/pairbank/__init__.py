"""pairbank: a bank of linguistic judgment items and of what language models say about them.

The public verbs, in the order the data flows: `load_corpus`, `load_model`, `score` (or
`import_scores` and `import_logs`, for numbers computed elsewhere), `report`, `write_bank`, `publish` (and
`merge_banks`, `strip_texts`, `cut_alike`, `export_results`). Shared banks: `submit`, `submit_results`,
`check_submission`, `review`,
`withdraw`, `build_store`, `fetch`. Beside items: `load_ratings` (individual ratings).
Beside scores: `words` (surprisal of every word of a text), `participants` (log-likelihood of each person's responses),
`probe` (a model's hidden states) and `add_minimalness` (how little the sides of a pair differ).
Importing this package imports neither torch nor transformers nor datasets; each verb does when it is called.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from pairbank.lazy import lazy_names

if TYPE_CHECKING:
    from pairbank.builders.load import load_corpus as load_corpus
    from pairbank.builders.load import load_ratings as load_ratings
    from pairbank.cards.check import check_bank as check_bank
    from pairbank.cards.export.every_eval_ever import export_results as export_results
    from pairbank.cards.merge import merge_banks as merge_banks
    from pairbank.cards.publish import Published as Published
    from pairbank.cards.publish import publish as publish
    from pairbank.cards.review import review as review
    from pairbank.cards.site.site import write_site as write_site
    from pairbank.cards.store import build_store as build_store
    from pairbank.cards.submissions import check_submission as check_submission
    from pairbank.cards.submissions import fetch as fetch
    from pairbank.cards.submissions import submit as submit
    from pairbank.cards.submissions import submit_results as submit_results
    from pairbank.cards.submissions import withdraw as withdraw
    from pairbank.cards.write import remove_model as remove_model
    from pairbank.cards.write import strip_texts as strip_texts
    from pairbank.cards.write import write_bank as write_bank
    from pairbank.probing import probe as probe
    from pairbank.scoring.cut import cut_alike as cut_alike
    from pairbank.scoring.importing.scores import Imports as Imports
    from pairbank.scoring.importing.scores import import_logs as import_logs
    from pairbank.scoring.importing.scores import import_scores as import_scores
    from pairbank.scoring.methods.unigrams import Unigrams as Unigrams
    from pairbank.scoring.methods.unigrams import count_unigrams as count_unigrams
    from pairbank.scoring.methods.unigrams import read_unigrams as read_unigrams
    from pairbank.scoring.minimalness import add_minimalness as add_minimalness
    from pairbank.scoring.models.load import load_model as load_model
    from pairbank.scoring.participants import participants as participants
    from pairbank.scoring.score import score as score
    from pairbank.scoring.scored import Scored as Scored
    from pairbank.scoring.scored import read_scored as read_scored
    from pairbank.scoring.words import words as words
    from pairbank.stats.analyses.neuro import Probed as Probed
    from pairbank.stats.report.report import Report as Report
    from pairbank.stats.report.report import report as report

if missing := [x for x in ("builders", "scoring", "stats", "cards") if not (Path(__file__).parent / x).is_dir()]:
    from pairbank.errors import CheckoutError

    raise CheckoutError(
        f"{Path(__file__).parent}: {', '.join(missing)} should be symbolic links to the top-level folders of the same "
        "names. They are not: git or an archive program wrote plain files. In a clone: git config "
        "core.symlinks true && git checkout -- src (on Windows with developer mode switched on). Or install the wheel: "
        "pip install pairbank"
    )

__version__ = version("pairbank")

MODULES = {
    "builders.load": "load_corpus load_ratings",
    "scoring.models.load": "load_model",
    "scoring.minimalness": "add_minimalness",
    "scoring.score": "score",
    "scoring.cut": "cut_alike",
    "scoring.importing.scores": "import_logs Imports import_scores",
    "scoring.scored": "Scored read_scored",
    "scoring.participants": "participants",
    "scoring.words": "words",
    "probing": "probe",
    "stats.analyses.neuro": "Probed",
    "scoring.methods.unigrams": "count_unigrams read_unigrams Unigrams",
    "stats.report.report": "report Report",
    "cards.write": "write_bank remove_model strip_texts",
    "cards.check": "check_bank",
    "cards.export.every_eval_ever": "export_results",
    "cards.merge": "merge_banks",
    "cards.publish": "publish Published",
    "cards.site.site": "write_site",
    "cards.submissions": "submit submit_results check_submission fetch withdraw",
    "cards.review": "review",
    "cards.store": "build_store",
}
"""Each module's public names, in the order in which data flow."""

__all__, __getattr__, __dir__ = lazy_names(__name__, MODULES)
