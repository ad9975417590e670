"""Accuracies with and without items that public lists call faulty (flag `known_error`). Tables in, rows out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.builders.schema.columns import KNOWN_ERROR
from pairbank.stats.measures.accuracy import wilson
from pairbank.stats.scored_table.method_scores import ScoredFrame, credits_of, flagged
from pairbank.stats.scored_table.scored_table import read_table
from pairbank.stats.wording import number, plural

if TYPE_CHECKING:
    from pairbank.stats.estimates.estimate import Estimate


def with_and_without(tables: Sequence[ScoredFrame]) -> pd.DataFrame:
    """Return accuracies with and without the items that are known to be faulty, one row per model and method.

    Args:
        tables: Scored tables; those without such items have no row.
    """
    return pd.DataFrame([row for table in tables if _has_known_errors(table) for row in _both_ways(table)])


def known_error_notes(tables: Sequence[ScoredFrame]) -> list[str]:
    """Return what known faulty items change, a sentence per corpus that has some."""
    return known_texts(with_and_without(tables))


def known_texts(rows: pd.DataFrame) -> list[str]:
    """Return a sentence per corpus on what its known faulty items change.

    Args:
        rows: What `with_and_without` returned.
    """
    return [_known_text(part) for _, part in rows.groupby("corpus", sort=False)] if len(rows) else []


def _has_known_errors(table: ScoredFrame) -> bool:
    return "flags" in table.column_names and bool(flagged(table.part(["flags"]), "flags", KNOWN_ERROR).any())


def _both_ways(table: ScoredFrame) -> Iterator[dict[str, Any]]:
    read = read_table(table).choices
    is_faulty = flagged(read.frame, "flags", KNOWN_ERROR)
    for scores in read.methods:
        result = credits_of(scores)
        used = scores.applies & ~np.isnan(result.credit)
        if not (used & is_faulty).any() or not (used & ~is_faulty).any():
            continue
        both = [wilson(result.credit[rows], is_pooled=result.is_pooled) for rows in (used, used & ~is_faulty)]
        yield {
            "corpus": table.corpus,
            "model": table.model,
            "method": scores.layout.method,
            "n": int(used.sum()),
            "n_known_errors": int((used & is_faulty).sum()),
            **_shown(both[0], "with"),
            **_shown(both[1], "without"),
            "difference": both[1].value - both[0].value,
        }


def _shown(estimate: Estimate, which: str) -> dict[str, float]:
    return {f"accuracy_{which}": estimate.value, f"low_{which}": estimate.low, f"high_{which}": estimate.high}


def _known_text(part: pd.DataFrame) -> str:
    """Return what the known faulty items of one corpus change."""
    most = part.iloc[int(part["difference"].abs().to_numpy().argmax())]
    return (
        f"**{most['corpus']}** has {plural(int(part['n_known_errors'].max()), 'item')} with a known error (flag "
        f"`{KNOWN_ERROR}`). Without them accuracy changes by at most {number(abs(most['difference']), digits=3)} "
        f"({most['model']}, `{most['method']}`: {number(most['accuracy_with'], digits=3)} with, "
        f"{number(most['accuracy_without'], digits=3)} without)."
    )
