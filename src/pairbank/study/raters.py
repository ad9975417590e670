"""Individual ratings of the items of a run or a report: in, items and places of files; out, tables of ratings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pairbank.errors import CorpusFileNotFoundError, StudyError
from pairbank.files import read_parquet
from pairbank.study.corpora import ChosenItems
from pairbank.study.scored_files import ratings_file

if TYPE_CHECKING:
    import datasets
    import pandas as pd
    import pyarrow as pa

    from pairbank.builders.sources.downloads import Progress


class People(NamedTuple):
    """Whose responses are predicted: all items of the corpus, their ratings, and how many participants."""

    corpus: str
    items: datasets.Dataset
    ratings: datasets.Dataset
    most: int


def people_of(chosen: Sequence[ChosenItems], data_dir: str | Path | None) -> People | None:
    from pairbank.builders.load import load_corpus, load_ratings

    for corpus in chosen:
        if corpus.choice.participants:
            name, subset = corpus.choice.name, corpus.choice.subset
            items = load_corpus(name, data_dir=data_dir, subset=subset, language=corpus.choice.language)
            ratings = load_ratings(name, data_dir=data_dir, subset=subset, trials=True)
            return People(corpus.name, items, ratings, corpus.choice.participants)
    return None


def wants_ratings(analyses: Iterable[str]) -> bool:
    """Return whether one of these analyses reads individual ratings.

    >>> wants_ratings(["comparisons", "raters"]), wants_ratings(["comparisons"])
    (True, False)
    """
    from pairbank.stats.analyses.registry import reads_fact

    return any(reads_fact(name, "ratings") for name in analyses)


def ratings_of(
    corpora: Sequence[str], data_dir: str | Path | None, *, progress: Progress | None = None
) -> tuple[datasets.Dataset, ...]:
    """Return the ratings of those of some corpora that have individual raters."""
    from pairbank.builders.corpora.registry import CORPORA, is_own
    from pairbank.builders.load import load_ratings, own_ratings

    ratings = []
    for name in dict.fromkeys(corpora):
        if is_own(name) and (of_file := own_ratings(name)) is not None:
            ratings.append(of_file)
        if name not in CORPORA or CORPORA[name].rated is None:
            continue
        try:
            ratings.append(load_ratings(name, data_dir=data_dir, progress=progress))
        except CorpusFileNotFoundError:
            continue
    return tuple(ratings)


def means_only(corpora: Iterable[str]) -> tuple[str, ...]:
    """Return those of some corpora of which people's mean ratings are published and no single ones.

    >>> means_only(["li", "turblimp", "mine"])
    ('li',)
    """
    from pairbank.builders.corpora.registry import CORPORA

    names = dict.fromkeys(corpora)
    return tuple(name for name in names if name in CORPORA and CORPORA[name].human and CORPORA[name].rated is None)


def ratings_of_items(
    chosen: Sequence[ChosenItems], data_dir: str | Path | None, *, bank: Path, progress: Progress | None = None
) -> dict[str, datasets.Dataset]:
    """Return corpus -> the ratings of its items in a run, those of the bank where the source has none to give."""
    of_corpora = {}
    for corpus in chosen:
        ids = set(corpus.items["item_id"][:])
        tables = ratings_of([corpus.choice.name], data_dir, progress=progress) or ratings_in([bank], [corpus.name])
        for table in tables:
            rows = np.flatnonzero([item in ids for item in table["item_id"][:]])
            if rows.size:
                of_corpora[corpus.name] = table.select(rows)
    return of_corpora


def ratings_in(banks: Iterable[Path], corpora: Iterable[str]) -> tuple[datasets.Dataset, ...]:
    """Return the ratings of some corpora that banks hold; a folder that is no bank has none."""
    from pairbank.cards.bank.layout import MANIFEST, RATINGS, ratings_path, read_manifest
    from pairbank.cards.bank.tables import read_table
    from pairbank.cards.bank.writing import is_unfinished

    names = list(dict.fromkeys(corpora))
    ratings = []
    for root in dict.fromkeys(banks):
        is_bank = (root / MANIFEST).is_file() and not is_unfinished(root)
        rated = read_manifest(root).get(RATINGS, {}) if is_bank else {}
        ratings += [read_table(root / ratings_path(name)) for name in names if name in rated]
    return tuple(ratings)


def ratings_in_files(files: Iterable[Path]) -> tuple[pa.Table, ...]:
    """Return the ratings in the files beside scored tables (`NAME.ratings.parquet`), those of one corpus once."""
    tables: list[pa.Table] = []
    seen: dict[str, tuple[Path, list[tuple[object, ...]]]] = {}
    for path in dict.fromkeys(ratings_file(file) for file in files):
        if not path.is_file():
            continue
        table = read_parquet(path)
        of_items: dict[str, list[tuple[object, ...]]] = {}
        for row in table.to_pylist():
            of_items.setdefault(row["item_id"], []).append(tuple(row.values()))
        for item, rows in of_items.items():
            other, before = seen.setdefault(item, (path, rows))
            if before != rows:
                raise StudyError(
                    f"{path} and {other} have different ratings of {item}; score the corpus again with all models, or "
                    "delete the older file"
                )
        new = {item for item in of_items if seen[item][0] == path}
        if new:
            ids = table.column("item_id").to_pylist()
            tables.append(table.take([row for row, item in enumerate(ids) if item in new]))
    return tuple(tables)


def as_frames(ratings: Iterable[datasets.Dataset | pa.Table]) -> tuple[pd.DataFrame, ...]:
    return tuple(rating.to_pandas() for rating in ratings)
