"""Strings to be told apart: in, scored tables; out, each function's scores of good and bad strings, alone and pooled.

Hu et al. 2026, TACL, section 6: the strings of a corpus are one pool, grammatical or not; Figure 4a pools corpora too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.stats.measures.roc import Strings, labelled_strings, pooled_pairs
from pairbank.stats.scored_table.scored_table import ScoredTable

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray

STRING_TASKS = ("sentence_pair", "sentence")
"""Tasks whose scores are of whole strings; a continuation given its context is none."""
N_BARS = 40
"""Of a histogram; its ends are the quantiles 0.001 and 0.999 of all strings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredStrings:
    """The strings of one table with one linking function."""

    method: str
    good: FloatArray
    """Scores of the pairs' good strings; empty for a corpus of single labelled sentences."""
    bad: FloatArray
    human_delta: FloatArray
    """What people say of each pair, good minus bad; NaN where they were not asked."""
    strings: Strings
    """All strings, paired or not."""
    pairs: ScoredTable
    """The pairs' rows."""
    n_rows: int
    """Rows the function applies to, identical sides included."""

    @property
    def language(self) -> str:
        """The language of the pairs or sentences; empty where there are several."""
        frame = self.pairs.frame
        found = set(frame["language"]) if "language" in frame.columns else {""}
        return str(found.pop()) if len(found) == 1 else ""


def scored_strings(table: ScoredTable) -> Iterator[ScoredStrings]:
    """Yield what each method that puts a number on one string says of a table's strings; classes may be empty."""
    kept = table.rows(table.has_value("task", *STRING_TASKS))
    used = kept.choices
    labels, human = used.numbers("label"), used.human_delta
    for layout in table.layouts:
        if layout.is_prompted:
            continue
        good, bad = used.side(layout.method, "good"), used.side(layout.method, "bad")
        paired, single = ~np.isnan(good + bad), ~np.isnan(good + labels) & np.isnan(bad)
        if paired.any():
            strings = pooled_pairs(good[paired], bad[paired])
        else:
            strings = labelled_strings(good[single], labels[single])
        yield ScoredStrings(
            method=layout.method,
            good=good[paired],
            bad=bad[paired],
            human_delta=human[paired],
            strings=strings,
            pairs=used.rows(paired if paired.any() else single),
            n_rows=int((~np.isnan(kept.side(layout.method, "good"))).sum()),
        )


def together(parts: Sequence[Strings]) -> Strings:
    """Return several pools as one; items stay apart.

    >>> both = together([pooled_pairs([1.0], [0.0]), labelled_strings([5.0, 6.0], [1, 0])])
    >>> both.good.tolist(), both.good_item.tolist(), both.bad_item.tolist(), both.n_items
    ([1.0, 5.0], [0, 1], [0, 2], 3)
    """
    starts = np.cumsum([0, *(part.n_items for part in parts)])
    return Strings(
        good=np.concatenate([part.good for part in parts]),
        bad=np.concatenate([part.bad for part in parts]),
        good_item=np.concatenate([part.good_item + at for part, at in zip(parts, starts, strict=False)]),
        bad_item=np.concatenate([part.bad_item + at for part, at in zip(parts, starts, strict=False)]),
        n_items=int(starts[-1]),
    )


def histogram(strings: Strings, place: dict[str, Any]) -> pd.DataFrame:
    """Return how many good and bad strings fall into each of `N_BARS` equal steps of their score.

    Scores beyond the ends count with the outermost step.

    Args:
        strings: Both classes.
        place: Further columns.
    """
    both = np.concatenate([strings.good, strings.bad])
    low, high = np.quantile(both, (0.001, 0.999))
    edges = np.linspace(low, high if high > low else low + 1, N_BARS + 1)
    counted = {
        f"n_{name}": np.histogram(np.clip(scores, edges[0], edges[-1]), edges)[0]
        for name, scores in (("good", strings.good), ("bad", strings.bad))
    }
    return pd.DataFrame({**place, "low": edges[:-1], "high": edges[1:], **counted})
