"""The tables of the introspection report: those of Song, Hu & Mahowald 2025, and ours.

In: the analyses, the table of model pairs. Out: CSV tables, and the regressions of appendix G (Tables 5 to 8) with R's
`lm` and `glm`: classical standard errors, natural logarithms. They treat pairs of models as independent, which pairs
that share a model are not; `self_contrast` in `analysis` gives intervals that do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from pairbank.stats.measures.paired_tests import corrected
from pairbank.stats.measures.regression import Regression, binomial, least_squares
from pairbank.stats.scored_table.model_features import MATCH_TYPES, SELF, ModelFeatures

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pairbank.arrays import FloatArray
    from pairbank.stats.analyses.introspection.analysis import Introspection, SelfContrast
    from pairbank.stats.analyses.introspection.beyond_relatives import OwnAdvantage
    from pairbank.stats.analyses.introspection.model_pairs import Disagreement
    from pairbank.stats.estimates.estimate import Estimate
    from pairbank.stats.scored_table.scored_table import DeltaStack

_Z = 1.96
_DIGITS = 10
"""Numbers from sums over items are rounded, so that the order of sums on another machine shows in no digit."""
_NOT_COMPARED = "no declared relative, no answers that vary, or direct differences unlike all others'"

SIMILARITY_TABLE = "Table 7a: consistency by similarity and match type"


def introspection_tables(
    stacks: Sequence[DeltaStack],
    filters: Mapping[str, Disagreement],
    done: Sequence[Introspection],
    declared: Mapping[str, Mapping[str, ModelFeatures | None]],
) -> dict[str, pd.DataFrame]:
    """Return the tables of the report by name."""
    return {
        "verdicts": pd.DataFrame([_verdict_row(results) for results in done]).astype({"reason": "string"}),
        "match_types": under_each_other((matches, means_by_match_type(matches.pairs)) for matches in done),
        "regressions": under_each_other((results, _regression_rows(results)) for results in done),
        "self_contrasts": under_each_other((results, contrast_table(results.contrasts)) for results in done),
        "own_advantage": under_each_other(
            (outcome, own_table(outcome.own, n_models=outcome.n_models)) for outcome in done
        ),
        "own_advantage_by_model": under_each_other(
            (result, own_by_model(result.own, result.models)) for result in done
        ),
        "pairs": under_each_other((results, results.pairs) for results in done),
        "filter": _filters(stacks, filters),
        "models": pd.DataFrame(
            [
                _model_row(stack.corpus, name, declared[stack.corpus].get(name))
                for stack in stacks
                for name in stack.models
            ]
        ),
    }


def under_each_other(parts: Iterable[tuple[Introspection, pd.DataFrame]]) -> pd.DataFrame:
    """Return tables under each other, the corpus and the set of items in front."""
    rows = []
    for result, table in parts:
        named = table.copy()
        named.insert(0, "corpus", result.corpus)
        named.insert(1, "items", result.items)
        rows.append(named)
    return pd.concat(rows, ignore_index=True)


def _verdict_row(result: Introspection) -> dict[str, Any]:
    fit = result.regressions[SIMILARITY_TABLE]
    return {
        "corpus": result.corpus,
        "items": result.items,
        "n_items": result.n_items,
        "n_models": result.n_models,
        "n_pairs": fit.n,
        "beyond_relatives": result.verdict.beyond,
        "published_test": result.verdict.outcome,
        "r_consistency_similarity": result.correlation,
        "reason": result.verdict.reason,
    }


def _regression_rows(result: Introspection) -> pd.DataFrame:
    parts = []
    for name, fit in result.regressions.items():
        part = fit.table()
        part.insert(0, "table", name)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _filters(stacks: Sequence[DeltaStack], filters: Mapping[str, Disagreement]) -> pd.DataFrame:
    parts = [_filter_rows(stack, filters[stack.corpus]) for stack in stacks if stack.corpus in filters]
    columns = ["corpus", "item_id", "direct_negative_share", "meta_negative_share", "kept", "outcome"]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def _filter_rows(stack: DeltaStack, filtered: Disagreement) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "corpus": stack.corpus,
            "item_id": stack.item_ids,
            "direct_negative_share": filtered.direct_negative_share,
            "meta_negative_share": filtered.meta_negative_share,
            "kept": filtered.keep,
            "outcome": filtered.outcomes,
        }
    )


def _model_row(corpus: str, name: str, features: ModelFeatures | None) -> dict[str, Any]:
    known = {} if features is None else {key: getattr(features, key) for key in ModelFeatures.__slots__}
    keys = ("family", "generation", "size_billions", "type", "seed")
    return {"corpus": corpus, "model": name, "declared": features is not None} | {key: known.get(key) for key in keys}


def means_by_match_type(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the bars of Song et al.'s figures 3a and 4a: mean r of each match type, with mean +- 1.96 standard errors.

    Source: Song, Hu & Mahowald 2025, figures 3a, 4a and 7a; the authors' analysis.R (plotrix std.error).

    >>> pairs = pd.DataFrame({"match_type": "self", "direct_direct": 1.0, "meta_direct": [0.1, 0.2, 0.3, 0.2]})
    >>> means_by_match_type(pairs)[["n_pairs", "value", "low"]].round(4).values.tolist()  # sd .0816, se .0408
    [[4.0, 0.2, 0.12]]
    """
    rows = []
    for kind in MATCH_TYPES:
        part = pairs[(pairs["match_type"] == kind) & pairs["meta_direct"].notna()]
        if not (pairs["match_type"] == kind).any():
            continue
        r = part["meta_direct"].to_numpy(dtype=np.float64)
        value = float(r.mean()) if r.size else np.nan
        half = _Z * float(r.std(ddof=1)) / np.sqrt(r.size) if r.size > 1 else np.nan
        reason = {0: "no pair has a defined r", 1: "one pair has no spread"}.get(r.size)
        similarity = float(part["direct_direct"].mean()) if r.size else np.nan
        rows.append(
            {
                "match_type": kind,
                "n_pairs": int(r.size),
                "value": value,
                "low": value - half,
                "high": value + half,
                "similarity": similarity,
                "reason": reason,
            }
        )
    return pd.DataFrame(rows).astype({"reason": "string"})


def contrast_table(contrasts: tuple[SelfContrast, ...]) -> pd.DataFrame:
    """Return two rows a match type, without control and at equal similarity: value, low, high, n and reason."""
    rows = [
        {"match_type": c.match_type, "control": control, "n_self": c.n_self, "n_pairs": c.n_pairs} | _cells_of(estimate)
        for c in contrasts
        for control, estimate in (("none", c.plain), ("similarity", c.at_equal_similarity))
    ]
    columns = ["match_type", "control", "n_self", "n_pairs", "value", "low", "high", "n_items", "ci_method", "reason"]
    return pd.DataFrame(rows, columns=columns).astype({"reason": "string"})


def own_table(own: OwnAdvantage, *, n_models: int) -> pd.DataFrame:
    """Return three rows: own probabilities over relatives', over the most similar model's, and the partial r."""
    estimates = {
        "advantage over closest declared relatives": own.over_relatives,
        "advantage over most similar model": own.over_most_similar,
        "partial r given all other models": own.partial,
    }
    rows = [{"quantity": name} | _cells_of(estimate) for name, estimate in estimates.items()]
    table = pd.DataFrame(rows).astype({"reason": "string"})
    table.insert(1, "n_models", [own.n_models, own.n_most_similar, n_models])
    table["found_4_in_5"] = [own.smallest, np.nan, np.nan]
    return table


def own_by_model(own: OwnAdvantage, models: Sequence[str]) -> pd.DataFrame:
    """Return one row a model: r with own and relatives' direct differences, advantage, interval over items, p, Holm."""
    result = own.models
    error = np.sqrt((result.influence**2).sum(axis=1))
    known = ~np.isnan(result.value) & (error > 0)
    p = np.full(len(models), np.nan)
    p[known] = 2 * norm.sf(np.abs(result.value[known] / error[known]))
    half = np.where(known, _Z * error, np.nan)
    return (
        pd.DataFrame(
            {
                "model": list(models),
                "n_relatives": result.n_relatives,
                "own_r": result.own,
                "relatives_r": result.relatives,
                "advantage": result.value,
                "low": result.value - half,
                "high": result.value + half,
                "n_items": own.over_relatives.n,
                "p_value": p,
                "p_holm": corrected(p).holm,
                "reason": [None if present else own.over_relatives.reason or _NOT_COMPARED for present in known],
            }
        )
        .astype({"reason": "string"})
        .round(_DIGITS)
    )


def _cells_of(estimate: Estimate) -> dict[str, Any]:
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n_items": estimate.n,
        "ci_method": estimate.method,
        "reason": estimate.reason,
    }


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

    Source: Song, Hu & Mahowald 2025, section 3.2.2.

    >>> pairs = pd.DataFrame({"match_type": ["self"] * 2 + ["other"] * 2, "meta_direct": [0.5, 0.6, 0.2, 0.3]})
    >>> round(by_match_type(pairs)["other"].estimate, 6)
    -0.3
    """
    return least_squares(pairs[outcome], _match_types(pairs), formula=f"{outcome} ~ match_type")


def consistency_by_self(pairs: pd.DataFrame) -> Regression:
    """Return r(direct of A, asked B) as a function of whether A is B (Table 8, there for the OLMo models alone).

    Source: Song, Hu & Mahowald 2025, appendix F and G, Table 8.

    >>> pairs = pd.DataFrame({"match_type": ["self"] * 2 + ["other"] * 2, "meta_direct": [0.5, 0.6, 0.2, 0.3]})
    >>> round(consistency_by_self(pairs)["self"].estimate, 6)
    0.3
    """
    is_self = (pairs["match_type"] == SELF).to_numpy(dtype=np.float64)
    return least_squares(pairs["meta_direct"], {SELF: is_self}, formula="meta_direct ~ is_self")


def _match_types(pairs: pd.DataFrame) -> dict[str, ArrayLike]:
    """Return a column of 0 and 1 for each match type but `self` that occurs, in their order."""
    results = set(pairs["match_type"])
    return {
        kind: (pairs["match_type"] == kind).to_numpy(dtype=np.float64)
        for kind in MATCH_TYPES
        if kind in results and kind != SELF
    }


def _log(size_billions: pd.Series[float]) -> FloatArray:
    return np.asarray(np.log(size_billions.to_numpy(dtype=np.float64)))
