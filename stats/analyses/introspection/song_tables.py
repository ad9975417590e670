"""The regressions of Song, Hu & Mahowald 2025, appendix G: in, the table of model pairs; out, their Tables 5 to 8.

All are R's `lm` and `glm` with classical standard errors and natural logarithms. They treat the pairs of models as
independent observations, which pairs that share a model are not: `stats.self_contrast` gives intervals that do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pairbank.stats.analyses.introspection.model_features import MATCH_TYPES, SELF
from pairbank.stats.measures.regression import Regression, binomial, least_squares

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pairbank.arrays import FloatArray

SIMILARITY = "direct_direct"
META = "is_meta"
LOG_SIZE = "log size"
META_BY_SIZE = "is_meta:log size"
LOG_DIRECT_SIZE = "log direct size"
LOG_META_SIZE = "log meta size"
SIZE_INTERACTION = "log direct size:log meta size"


def correctness_by_size(cells: pd.DataFrame) -> Regression:
    """Return the logistic regression of correct answers on method and log model size (Table 5).

    As published, every item x prompt is a row with a direct and a prompted outcome, so that a direct outcome counts
    once for each prompt. The standard errors are therefore too small for the direct method.

    Args:
        cells: Columns `is_meta` (bool), `size_billions`, `n_correct`, `n_trials`; one row a model and method. Give
            the direct row of a model once for each prompt, or with its counts times the number of prompts.

    Returns:
        Terms `intercept`, `is_meta`, `log size`, `is_meta:log size`, in log odds.

    Source: Song, Hu & Mahowald 2025, section 3.2.1, appendix G, Table 5.

    >>> cells = pd.DataFrame({"is_meta": [False, False, True, True], "size_billions": [1.0, 8.0, 1.0, 8.0],
    ...                       "n_correct": [80, 82, 60, 90], "n_trials": [100] * 4})
    >>> fit = correctness_by_size(cells)
    >>> round(fit["is_meta"].estimate, 4) == round(np.log(60 / 40) - np.log(80 / 20), 4)  # at log 1 = 0
    np.True_
    """
    log_size, is_meta = _log(cells["size_billions"]), cells["is_meta"].to_numpy(dtype=np.float64)
    return binomial(
        cells["n_correct"].to_numpy(dtype=np.float64),
        cells["n_trials"].to_numpy(dtype=np.float64),
        {META: is_meta, LOG_SIZE: log_size, META_BY_SIZE: is_meta * log_size},
        formula="correct ~ is_meta * log(size)",
    )


def consistency_by_size(pairs: pd.DataFrame) -> Regression:
    """Return r(direct of A, asked B) as a function of both log sizes and their product (Table 6).

    Args:
        pairs: What `pair_table` returned.

    Source: Song, Hu & Mahowald 2025, sections 3.2.1 and 4.2.1, appendix G, Table 6.

    >>> pairs = pd.DataFrame({"direct_size_billions": [1.0, 1.0, 8.0, 8.0, 2.0],
    ...                       "meta_size_billions": [1.0, 8.0, 1.0, 8.0, 2.0],
    ...                       "meta_direct": [0.1, 0.3, 0.2, 0.5, 0.1]})
    >>> consistency_by_size(pairs).df_residual
    1
    """
    direct, meta = _log(pairs["direct_size_billions"]), _log(pairs["meta_size_billions"])
    return least_squares(
        pairs["meta_direct"],
        {LOG_DIRECT_SIZE: direct, LOG_META_SIZE: meta, SIZE_INTERACTION: direct * meta},
        formula="meta_direct ~ log(direct_size) * log(meta_size)",
    )


def consistency_by_similarity(pairs: pd.DataFrame) -> Regression:
    """Return r(direct of A, asked B) as a function of similarity r(direct of A, direct of B) and match type (Table 7).

    The introspection test: each match type's coefficient is its distance from `self` at equal similarity, so that
    introspection would make it negative.

    Args:
        pairs: What `pair_table` returned; `big_models` of it for Table 7b.

    Returns:
        Terms `intercept`, `direct_direct` and the match types other than `self` that occur. Without a pair of the
        type `self`, undefined.

    Source: Song, Hu & Mahowald 2025, section 3.2.2, appendix G, Tables 7a and 7b.

    >>> pairs = pd.DataFrame({"match_type": ["self"] * 2 + ["other"] * 3, "direct_direct": [1, 1, 0.2, 0.4, 0.6],
    ...                       "meta_direct": [0.5, 0.6, 0.2, 0.3, 0.4]})
    >>> round(consistency_by_similarity(pairs)["other"].estimate, 6)  # slope .5: 0.55 at 1; others reach .6 there
    0.05
    """
    terms = {SIMILARITY: pairs[SIMILARITY].to_numpy(dtype=np.float64)} | _match_types(pairs)
    return least_squares(pairs["meta_direct"], terms, formula="meta_direct ~ direct_direct + match_type")


def by_match_type(pairs: pd.DataFrame, *, outcome: str = "meta_direct") -> Regression:
    """Return a column of the pairs as a function of match type alone; the intercept is the mean of `self`.

    Args:
        pairs: What `pair_table` returned.
        outcome: `meta_direct` or `direct_direct` (which shows that the match types measure similarity).

    Source: Song, Hu & Mahowald 2025, section 3.2.2.

    >>> pairs = pd.DataFrame({"match_type": ["self"] * 2 + ["other"] * 2, "meta_direct": [0.5, 0.6, 0.2, 0.3]})
    >>> round(by_match_type(pairs)["other"].estimate, 6)
    -0.3
    """
    return least_squares(pairs[outcome], _match_types(pairs), formula=f"{outcome} ~ match_type")


def consistency_by_self(pairs: pd.DataFrame) -> Regression:
    """Return r(direct of A, asked B) as a function of whether A is B (Table 8, there for the OLMo models alone).

    Args:
        pairs: What `pair_table` returned, or `of_models` of it.

    Source: Song, Hu & Mahowald 2025, appendix F and G, Table 8.

    >>> pairs = pd.DataFrame({"match_type": ["self"] * 2 + ["other"] * 2, "meta_direct": [0.5, 0.6, 0.2, 0.3]})
    >>> round(consistency_by_self(pairs)["self"].estimate, 6)
    0.3
    """
    is_self = (pairs["match_type"] == SELF).to_numpy(dtype=np.float64)
    return least_squares(pairs["meta_direct"], {SELF: is_self}, formula="meta_direct ~ is_self")


def _match_types(pairs: pd.DataFrame) -> dict[str, ArrayLike]:
    """Return a column of 0 and 1 for each match type but `self` that occurs, in their order."""
    found = set(pairs["match_type"])
    return {
        kind: (pairs["match_type"] == kind).to_numpy(dtype=np.float64)
        for kind in MATCH_TYPES
        if kind in found and kind != SELF
    }


def _log(size_billions: pd.Series[float]) -> FloatArray:
    return np.asarray(np.log(size_billions.to_numpy(dtype=np.float64)))
