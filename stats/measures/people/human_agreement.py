"""How often people pick the better sentence: single forced choices or counts in, agreement with the labels out.

Warstadt et al. 2020 (BLiMP, section 5): individual agreement (a single judgment is right) and aggregate agreement (more
than half of an item's raters are right), both averaged over paradigms. Liu et al. 2024 (ZhoBLiMP): counts a paradigm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.estimates.estimate import paired_vectors
from pairbank.stats.estimates.shares import share_of_trials

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pairbank.stats.estimates.estimate import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanAgreement:
    """How often people agree with the labels of a corpus; shares."""

    individual: float
    """Mean over paradigms of the share of single judgments that are right."""
    aggregate: float
    """Mean over paradigms of the share of items that more than half of the raters get right; a tie is not more."""
    aggregate_ties_half: float
    """The same with tied items counted one half."""
    pooled: Estimate
    """Share of all judgments that are right; the items are the clusters of the interval."""
    n_judgments: int
    n_items: int
    n_tied: int
    """Items on which as many raters are right as wrong."""
    n_paradigms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedAgreement:
    """The same from counts a paradigm; shares."""

    micro: float
    """Right judgments of all judgments."""
    macro: float
    """Mean over paradigms of the share of right judgments."""
    lowest: float
    """Smallest share of a paradigm."""
    n_judgments: int
    n_paradigms: int


def human_agreement(
    paradigms: ArrayLike,
    items: ArrayLike,
    is_right: ArrayLike,
    *,
    level: float = 0.95,
) -> HumanAgreement:
    """Return the agreement of single judgments with the labels.

    Args:
        paradigms: Paradigm of each judgment, shape (judgments,).
        items: Its item; ids may repeat over paradigms.
        is_right: Whether the rater chose the better side.
        level: Confidence level, a share.

    Raises:
        BankError: If there is no judgment, or the lengths differ.

    >>> found = human_agreement(["a"] * 3 + ["b"] * 2, [1, 1, 1, 1, 1], [True, True, False, True, False])
    >>> round(found.individual, 4), found.aggregate, found.aggregate_ties_half, found.n_items, found.n_tied
    (0.5833, 0.5, 0.75, 2, 1)
    """
    columns = [np.asarray(values) for values in (paradigms, items, is_right)]
    if len({column.shape for column in columns}) > 1 or columns[0].ndim != 1 or not columns[0].size:
        raise BankError(
            f"judgments have shapes {[c.shape for c in columns]}; expected one paradigm, item and mark each"
        )
    rows = pd.DataFrame({"paradigm": columns[0], "item": columns[1], "right": columns[2].astype(np.float64)})
    each = rows.groupby(["paradigm", "item"], sort=True)["right"].mean()
    shares = each.to_numpy(dtype=np.float64)
    votes = pd.DataFrame(
        {
            "paradigm": each.index.get_level_values("paradigm"),
            "most": shares > 0.5,
            "half": np.where(shares == 0.5, 0.5, shares > 0.5),
        }
    )
    by_paradigm = votes.groupby("paradigm")[["most", "half"]].mean()
    return HumanAgreement(
        individual=float(rows.groupby("paradigm")["right"].mean().mean()),
        aggregate=float(by_paradigm["most"].mean()),
        aggregate_ties_half=float(by_paradigm["half"].mean()),
        pooled=share_of_trials(
            rows["right"].to_numpy(),
            rows.groupby(["paradigm", "item"], sort=True).ngroup().to_numpy(),
            level=level,
        ),
        n_judgments=len(rows),
        n_items=len(votes),
        n_tied=int(np.sum(shares == 0.5)),
        n_paradigms=len(by_paradigm),
    )


def counted_agreement(n_right: ArrayLike, n_judgments: ArrayLike) -> CountedAgreement:
    """Return the agreement from right and all judgments of each paradigm.

    Args:
        n_right: Right judgments, shape (paradigms,).
        n_judgments: All judgments, 1 or more, same shape.

    Raises:
        BankError: If there is no paradigm, or counts that cannot be.

    >>> found = counted_agreement([19, 28], [22, 28])
    >>> round(found.micro, 4), round(found.macro, 4)
    (0.94, 0.9318)
    """
    right, total = paired_vectors(n_right, n_judgments, names=("n_right", "n_judgments"))
    if not right.size or (total < 1).any() or (right < 0).any() or (right > total).any():
        raise BankError(
            f"{right.size} paradigms; expected one or more, each with 0 to n right of n judgments, n above 0"
        )
    shares = right / total
    return CountedAgreement(
        micro=float(right.sum() / total.sum()),
        macro=float(shares.mean()),
        lowest=float(shares.min()),
        n_judgments=int(total.sum()),
        n_paradigms=right.size,
    )
