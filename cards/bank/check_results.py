"""A bank's results against its tables: in, a folder and its manifest; out, every estimate that its table does not give.

All estimates are computed anew, with the draws that a bank's results are made with. Of a table without texts, whose
human judgments went with them, only what its scores give is computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pairbank.cards.bank.layout import SUMMARY, scores_path, tables
from pairbank.cards.bank.tables import read_summary
from pairbank.errors import BankError
from pairbank.scoring.scored import Scored, read_scored
from pairbank.stats.wording import precise

if TYPE_CHECKING:
    import pandas as pd

IDENTITY = ("model", "corpus", "group_by", "group", "method", "versus", "metric")
"""Columns of the results that say which number a row is."""
_NUMBERS = ("value", "low", "high", "n", "n_excluded")
_RELATIVE = 1e-6
"""Other versions of numpy and scipy may add in another order."""
_LOST = ("human_good", "human_bad")
Row = Mapping[Any, Any]


def result_problems(root: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield every row of the results that the tables do not give, that is missing, or that stands there twice."""
    summary = read_summary(root)
    if summary is None:
        return
    known = _by_identity(summary)
    if len(known) < len(summary):
        yield f"{SUMMARY}: {len(summary) - len(known)} row(s) stand there twice"
    there = set()
    for corpus, slug in tables(manifest):
        table = read_scored(root / scores_path(corpus, slug))
        there.add((table.model, corpus))
        yield from _differences(table, known)
    for model, corpus in sorted({(key[0], key[1]) for key in known} - there):
        yield f"{SUMMARY}: results of {model} on {corpus!r}, which the bank has no scores of"


def differing(old: pd.DataFrame, new: pd.DataFrame) -> list[str]:
    """Return in words what two tables of estimates of the same scores say differently; rows of one alone are named."""
    known, made = _by_identity(old), _by_identity(new)
    found = [f"{_where(key)}: not in the results" for key in made.keys() - known.keys()]
    found += [f"{_where(key)}: the tables give no such number" for key in known.keys() - made.keys()]
    return sorted(found) + [text for key, row in made.items() if key in known for text in _unlike(key, known[key], row)]


def _differences(table: Scored, known: Mapping[tuple[str, ...], Row]) -> Iterator[str]:
    import pandas as pd

    from pairbank.stats.report.report import table_summary

    lost = [name for name in _LOST if name not in table.dataset.column_names]
    if lost:
        dataset = table.dataset
        for name in lost:
            dataset = dataset.add_column(name, np.full(len(table), np.nan))
        table = Scored(dataset=dataset, signature=table.signature)
    try:
        made = table_summary(table)
    except BankError as error:
        yield f"scores of {table.model} on {table.corpus!r}: {error}"
        return
    ours = {key: row for key, row in known.items() if key[:2] == (table.model, table.corpus)}
    if not ours and len(made):  # sentences by region alone are no choice, and have none
        yield f"{SUMMARY}: no results of {table.model} on {table.corpus!r}"
        return
    problems = differing(pd.DataFrame(list(ours.values())), made)
    if lost:
        problems = [one for one in problems if not one.endswith("no such number")]
    yield from (f"{SUMMARY}: {problem}" for problem in problems)


def _by_identity(frame: pd.DataFrame) -> dict[tuple[str, ...], Row]:
    return {tuple(str(row[name] or "") for name in IDENTITY): row for row in frame.to_dict("records")}


def _unlike(key: tuple[str, ...], old: Row, new: Row) -> Iterator[str]:
    for name in _NUMBERS:
        a, b = float(old[name]), float(new[name])
        if not np.isclose(a, b, rtol=_RELATIVE, atol=1e-9, equal_nan=True):
            yield f"{_where(key)}: {name} is {precise(a)}, the tables give {precise(b)}"
            return


def _where(key: tuple[str, ...]) -> str:
    return " / ".join(part for part in key if part)
