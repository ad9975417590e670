"""What the section on people says: in, its tables; out, its answer, its text, its definitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pairbank.markdown import html_as_text
from pairbank.scoring.api.names import DIRECT
from pairbank.stats.wording import n_items, number, value_range

KEYS = ("model", "corpus", "method")


def text(correlations: pd.DataFrame, ceilings: pd.DataFrame, notes: Sequence[str]) -> str:
    """Return the finding, corpus by corpus.

    Args:
        correlations: Long table.
        ceilings: A line a corpus.
        notes: What stands before.
    """
    parts = [" ".join(notes)] if notes else []
    whole = correlations[correlations["group_by"] == "all"]
    for corpus, part in whole.groupby("corpus", sort=False):
        n_pairs, n_models = sorted(set(part["n"])), part["model"].nunique()
        groups = sorted(part.groupby("method", sort=False), key=lambda group: -np.nan_to_num(group[1]["value"].max()))
        said = "; ".join(_method_said(str(method), rows) for method, rows in groups)
        (ceiling,) = ceilings[ceilings["corpus"] == corpus].to_dict("records")
        most = (
            f"r could reach about {number(ceiling['ceiling_r'])} (an estimate)"
            if ceiling["ceiling_r"] > 0
            else ceiling["reason"]
        )
        n_said = f"{n_pairs[0]:,}" if len(n_pairs) == 1 else f"{n_pairs[0]:,} to {n_pairs[-1]:,}"
        plural = "" if n_models == 1 else f", {n_models} models: smallest and largest r"
        parts.append(f"**{html_as_text(str(corpus))}** ({n_said} rated pairs{plural}): {said}. Noise ceiling: {most}.")
    parts.append(
        "Pairs with identical sides are left out. The table `correlation` repeats r after the edit-distance filter of "
        "Hu et al. 2026 where the items have an edit distance, `by_bin` within ten bins of minimalness, `choices` "
        "counts who prefers which side."
    )
    return "\n\n".join(parts)


def _method_said(method: str, rows: pd.DataFrame) -> str:
    said = html_as_text(value_range(rows, ("model",)))
    if said == "undefined":
        return f"`{method}` undefined"
    no_interval = " (no interval)" if len(rows) == 1 and rows["low"].isna().all() else ""
    return f"`{method}` r = {said}{no_interval}"


def answer(whole: pd.DataFrame) -> str:
    """Return r with people by probability and by every other way, the smallest and the largest with whose they are.

    Args:
        whole: Rows of the whole corpora.
    """
    said = []
    direct = whole[whole["method"] == DIRECT]
    for part, who in ((direct, "log P (`direct`)"), (whole[whole["method"] != DIRECT], "the other methods")):
        if part["value"].notna().any():
            said.append(f"by {who} r = {value_range(part, KEYS)} ({n_items(part['n'])} rated pairs)")
    if not said:
        return "The differences of no method vary, so that none correlates with people's."
    return html_as_text(f"Pearson r of a method's difference (good - bad) with people's: {'; '.join(said)}.")


DEFINITIONS = """\
- **pearson_human**: Pearson r of the method's difference (good - bad) with the human difference (mean judgment of the
  better sentence - of the worse one, on the corpus's own scale), jackknife interval at level 0.95.
- **edit-distance filter**: pairs at most at (and, as the paper words it, below) the 75th percentile of the Levenshtein
  distance in characters over the rated pairs (Hu et al. 2026, section 5.1). Their 1,883 LI pairs are all those at most
  at it, rated or not (1,884 with the defects of the source repaired). Where a study has the filter, every number is of
  the rated ones among them, 1,792.
- **bins**: ten equally sized bins by cosine distance (section 4.2) or edit distance; pairs of one distance share a bin.
- **kappa_human**, **raw_agreement_human**: whether the method and people prefer the same side; items on which either
  prefers neither are left out (`n_ties`). A corpus whose better side almost everyone prefers leaves kappa little room.
- **ceiling**: the square root of the reliability of the human differences, 1 - mean(sd^2/n of both sides) / variance.
"""
