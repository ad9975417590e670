"""What single raters said of the corpora of a run: in, names and a folder of files; out, tables of ratings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pairbank.errors import CorpusFileNotFoundError

if TYPE_CHECKING:
    import pandas as pd


def wants_ratings(analyses: Iterable[str]) -> bool:
    """Return whether one of these analyses reads what single raters said.

    >>> wants_ratings(["people", "raters"]), wants_ratings(["people"])
    (True, False)
    """
    from pairbank.stats.analyses.asked_for import takes

    return any(takes(name, "ratings") for name in analyses)


def ratings_of(corpora: Sequence[str], data_dir: str | Path | None) -> tuple[pd.DataFrame, ...]:
    """Return the ratings of those of some corpora that have single raters.

    Args:
        corpora: their names; one that pairbank does not ship has none.
        data_dir: where upstream files are; None downloads them. A file of ratings that is not there is passed over: the
            analysis then says that it has none.
    """
    from pairbank.builders.corpora.registry import CORPORA
    from pairbank.builders.load_ratings import load_ratings

    found = []
    for name in dict.fromkeys(corpora):
        if name not in CORPORA or CORPORA[name].rated is None:
            continue
        try:
            found.append(load_ratings(name, data_dir=data_dir).to_pandas())
        except CorpusFileNotFoundError:
            continue
    return tuple(found)
