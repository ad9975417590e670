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

from pairbank.lazy import lazy_names

if missing := [x for x in ("builders", "scoring", "stats", "cards") if not (Path(__file__).parent / x).is_dir()]:
    from pairbank.errors import CheckoutError

    raise CheckoutError(
        f"{Path(__file__).parent}: {', '.join(missing)} should be symbolic links to the top-level folders of the same "
        "names. They are not: git or an archive program wrote plain files. In a clone: git config "
        "core.symlinks true && git checkout -- src (on Windows with developer mode switched on). Or install the wheel: "
        "pip install pairbank"
    )

__version__ = version("pairbank")

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
