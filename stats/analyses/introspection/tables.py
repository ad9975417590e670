"""The tables of the introspection report: those of Song, Hu & Mahowald 2025, and ours.

In: the analyses, the table of model pairs. Out: CSV tables, and the regressions of appendix G (Tables 5 to 8) with R's
`lm` and `glm`: classical standard errors, natural logarithms. They treat pairs of models as independent, which pairs
that share a model are not; `self_contrasts` in `analysis` gives intervals that do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from pairbank.stats.analyses.form import cells, where
from pairbank.stats.analyses.introspection.model_pairs import words
from pairbank.stats.estimates.estimate import Estimate
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.measures.agreement import cohens_kappa
from pairbank.stats.measures.paired_tests import corrected
from pairbank.stats.measures.regression import Regression, binomial, least_squares
from pairbank.stats.scored_table.model_features import MATCH_TYPES, SELF, ModelFeatures, by_size
from pairbank.stats.scored_table.scored_table import DeltaStack
from pairbank.stats.wording import MISSING, number, span, with_interval

if TYPE_CHECKING:
    from pairbank.stats.analyses.introspection.analysis import Corpus, Introspection
    from pairbank.stats.analyses.introspection.beyond_relatives import OwnAdvantage

    Features = Mapping[str, ModelFeatures | None]

_Z = 1.96
_DIGITS = 10
"""Numbers from sums over items are rounded, so that the order of sums on another machine shows in no digit."""

SIMILARITY_TABLE = "Table 7a: consistency by similarity and match type"
ACCURACY, DRAWN = "accuracy", "share of drawn words preferred"
"""What a share of a model is: where one side is right, and where neither is."""
FILTER = ("corpus", "item_id", "direct_negative_share", "meta_negative_share", "kept", "outcome")


def introspection_tables(corpora: Sequence[Corpus]) -> dict[str, pd.DataFrame]:
    results = [result for corpus in corpora for result in corpus.results]
    filtered = [
        corpus.filtered.assign(corpus=corpus.name, item_id=corpus.stack.item_ids)[[*FILTER]]
        for corpus in corpora
        if corpus.filtered is not None
    ]
    shares = [by_model(corpus.stack, corpus.declared) for corpus in corpora]
    controls = [corpus.control for corpus in corpora if len(corpus.control)]
    keys = ("family", "generation", "size_billions", "type", "seed")
    models = [
        {"corpus": corpus.name, "model": model, "declared": (known := corpus.declared.get(model)) is not None}
        | {key: getattr(known, key, None) for key in keys}
        for corpus in corpora
        for model in corpus.stack.models
    ]
    return {
        "answers": pd.DataFrame([answer_row(result) for result in results]),
        "similarity": similarity_table(results),
        "models_and_prompts": pd.concat(shares, ignore_index=True),
        "input_only": pd.concat(controls, ignore_index=True) if controls else pd.DataFrame(),
        "verdicts": pd.DataFrame([_verdict_row(result) for result in results]).astype({"reason": "string"}),
        "match_types": by_result(results, lambda result: means_by_match_type(result.pairs)),
        "regressions": by_result(results, _regressions),
        "self_contrasts": by_result(results, lambda result: result.contrasts),
        "own_advantage": by_result(results, _own),
        "own_advantage_by_model": by_result(results, lambda result: own_by_model(result.own, result.models)),
        "pairs": by_result(results, lambda result: result.pairs),
        "filter": pd.concat(filtered, ignore_index=True) if filtered else pd.DataFrame(columns=FILTER),
        "models": pd.DataFrame(models),
    }


def by_result(results: Sequence[Introspection], table: Callable[[Introspection], pd.DataFrame]) -> pd.DataFrame:
    """Return the table of each result under each other, the corpus and the set of items in front."""
    parts = {(result.corpus, result.items): table(result) for result in results}
    return pd.concat(parts, names=["corpus", "items"]).droplevel(-1).reset_index()


def answer_row(result: Introspection) -> dict[str, Any]:
    """Return what the answer of a corpus and set of items rests on."""
    return {
        "corpus": result.corpus,
        "items": result.items,
        "n": result.n_items,
        "models": result.n_models,
        "r with own (range)": span(result.self_pairs["meta_direct"]),
        "Δr (self − relatives)": _cell(result.own.over_relatives),
        "minimum detectable effect": result.own.smallest,
        "Δr (self − most similar)": _cell(result.own.over_most_similar),
        "answer": result.own.beyond,
        "published test": result.published.outcome,
    }


def _cell(estimate: Estimate) -> str:
    return with_interval(cells(estimate), digits=3, sign=True) if estimate.is_defined else MISSING


def similarity_table(results: Sequence[Introspection]) -> pd.DataFrame:
    """Return the paper's Table 7a: one row per corpus and set of items, one column per coefficient, stars for p."""
    headings = {"intercept": "Intercept", "direct_direct": "ΔDirect ~ ΔDirect"}
    rows = []
    for result in results:
        fit, row = result.regressions[SIMILARITY_TABLE], {}
        for x in fit.coefficients:
            stars = "*" * sum(x.p_value < level for level in (0.001, 0.01, 0.05))
            is_known = not np.isnan([x.estimate, x.p_value]).any()
            row[headings.get(x.term, x.term)] = number(x.estimate, digits=3) + stars if is_known else ""
        if any(row.values()):
            rows.append({"corpus": result.corpus, "items": result.items, "pairs": fit.n} | row)
    return pd.DataFrame(rows)


def by_model(stack: DeltaStack, features: Features) -> pd.DataFrame:
    """Return shares and kappas per model, in the order of declared sizes, and method (figures 2a, 5 and 8)."""
    rows = []
    for model in by_size(stack.models, features):
        nth, declared = stack.models.index(model), features.get(model)
        direct = stack.direct_nats[nth]
        for method, delta in ((stack.reference, direct), *zip(stack.prompts, stack.meta_nats[:, nth], strict=True)):
            known = ~np.isnan(delta)
            if not known.any():
                continue
            share, what = accuracy(delta[known]), ACCURACY if stack.has_truth else DRAWN
            size = np.nan if declared is None else declared.size_billions
            row = {"corpus": stack.corpus, "model": model, "size_billions": size, "method": method, "what": what}
            row |= {"share": share.value, "low": share.low, "high": share.high, "n": share.n}
            row |= dict.fromkeys(("kappa", "kappa_low", "kappa_high", "n_kappa"), np.nan)
            both = known & ~np.isnan(direct)
            if method != stack.reference and both.any():
                kappa = cohens_kappa(direct[both], delta[both])
                row |= cells(kappa, "kappa") | {"n_kappa": float(kappa.n)}
            rows.append(row)
    return pd.DataFrame(rows)


def _verdict_row(result: Introspection) -> dict[str, Any]:
    reasons = dict.fromkeys(filter(None, (result.own.inconclusive, result.published.reason)))
    return {
        "corpus": result.corpus,
        "items": result.items,
        "n_items": result.n_items,
        "n_models": result.n_models,
        "n_pairs": result.published.n_pairs,
        "beyond_relatives": result.own.beyond,
        "published_test": result.published.outcome,
        "r_consistency_similarity": result.correlation,
        "reason": "; ".join(reasons) or None,
    }


def _regressions(result: Introspection) -> pd.DataFrame:
    fits = {name: fit.table() for name, fit in result.regressions.items()}
    return pd.concat(fits, names=["table"]).droplevel(-1).reset_index()


def means_by_match_type(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return mean r of each match type +- 1.96 standard errors: figures 3a, 4a and 7a; analysis.R (std.error)."""
    rows = []
    for kind in (kind for kind in MATCH_TYPES if kind in {*pairs["match_type"]}):
        part = where(pairs, match_type=kind).dropna(subset="meta_direct")
        r, n = part["meta_direct"].to_numpy(dtype=np.float64), len(part)
        value = float(r.mean()) if n else np.nan
        half = _Z * float(r.std(ddof=1)) / np.sqrt(n) if n > 1 else np.nan
        row = {"match_type": kind, "n_pairs": n, "value": value, "low": value - half, "high": value + half}
        reason = {0: "no pair has a defined r", 1: "one pair has no spread"}.get(n)
        rows.append(row | {"similarity": part["direct_direct"].mean(), "reason": reason})
    return pd.DataFrame(rows).astype({"reason": "string"})


def _own(result: Introspection) -> pd.DataFrame:
    """Return three rows: own probabilities over relatives', over the most similar model's, and the partial r."""
    own = result.own
    quantities = (
        ("advantage over closest declared relatives", own.n_models, own.over_relatives, own.smallest),
        ("advantage over most similar model", own.n_most_similar, own.over_most_similar, np.nan),
        ("partial r given all other models", result.n_models, own.partial, np.nan),
    )
    rows = [
        {"quantity": name, "n_models": n} | cells_of(estimate) | {"found_4_in_5": smallest}
        for name, n, estimate, smallest in quantities
    ]
    return pd.DataFrame(rows).astype({"reason": "string"})


def own_by_model(own: OwnAdvantage, models: Sequence[str]) -> pd.DataFrame:
    """Return one row per model: r with own and relatives' direct differences, advantage, interval over draws, p."""
    advantages = own.models
    error = np.sqrt((advantages.influence**2).sum(axis=1))
    known = ~np.isnan(advantages.value) & (error > 0)
    error[~known] = np.nan
    p = 2 * stdtr(advantages.freedom, -np.abs(advantages.value / error))
    half = stdtrit(advantages.freedom, 0.975) * error
    reason = own.over_relatives.reason or words().render("not_compared")
    table = {
        "model": list(models),
        "n_relatives": advantages.n_relatives,
        "own_r": advantages.own,
        "relatives_r": advantages.relatives,
        "advantage": advantages.value,
        "low": advantages.value - half,
        "high": advantages.value + half,
        "n_items": own.over_relatives.n,
        "p_value": p,
        "p_holm": corrected(p).holm,
        "reason": [None if present else reason for present in known],
    }
    return pd.DataFrame(table).astype({"reason": "string"}).round(_DIGITS)


def cells_of(estimate: Estimate) -> dict[str, Any]:
    return cells(estimate) | {"n_items": estimate.n, "ci_method": estimate.method, "reason": estimate.reason}


def correctness_by_size(cells: pd.DataFrame) -> Regression:
    """Return the logistic regression of correct answers on method and log model size (Table 5).

    As published, every item x prompt is a row with a direct and a prompted outcome, so that a direct outcome counts
    once for each prompt. The standard errors are therefore too small for the direct method. Section 3.2.1, Table 5.
    """
    log_size, is_meta = np.log(cells["size_billions"]), cells["is_meta"].astype(float)
    terms = {"is_meta": is_meta, "log size": log_size, "is_meta:log size": is_meta * log_size}
    return binomial(cells["n_correct"], cells["n_trials"], terms, formula="correct ~ is_meta * log(size)")


def consistency_by_size(pairs: pd.DataFrame) -> Regression:
    """Return r(direct of A, asked B) as a function of both log sizes and their product (section 3.2.1, Table 6)."""
    direct, meta = np.log(pairs["direct_size_billions"]), np.log(pairs["meta_size_billions"])
    terms = {"log direct size": direct, "log meta size": meta, "log direct size:log meta size": direct * meta}
    return least_squares(pairs["meta_direct"], terms, formula="meta_direct ~ log(direct_size) * log(meta_size)")


def consistency_by_similarity(pairs: pd.DataFrame) -> Regression:
    """Return r(direct of A, asked B) as a function of similarity r(direct of A, direct of B) and match type (Table 7).

    The introspection test: each match type's coefficient is its distance from `self` at equal similarity, so that
    introspection would make it negative. Section 3.2.2, appendix G, Tables 7a and 7b.
    """
    terms = {"direct_direct": pairs["direct_direct"]} | _match_types(pairs)
    return least_squares(pairs["meta_direct"], terms, formula="meta_direct ~ direct_direct + match_type")


def by_match_type(pairs: pd.DataFrame, *, outcome: str = "meta_direct") -> Regression:
    """Return a column of the pairs as a function of match type alone; the intercept is the mean of `self` (3.2.2)."""
    return least_squares(pairs[outcome], _match_types(pairs), formula=f"{outcome} ~ match_type")


def consistency_by_self(pairs: pd.DataFrame) -> Regression:
    """Return r(direct of A, asked B) as a function of whether A is B (Table 8, there for the OLMo models alone)."""
    is_self = (pairs["match_type"] == SELF).astype(float)
    return least_squares(pairs["meta_direct"], {SELF: is_self}, formula="meta_direct ~ is_self")


def _match_types(pairs: pd.DataFrame) -> dict[str, pd.Series[float]]:
    """Return a column of 0 and 1 for each match type but `self` that occurs, in their order."""
    kinds = [kind for kind in MATCH_TYPES if kind != SELF and kind in {*pairs["match_type"]}]
    return {kind: (pairs["match_type"] == kind).astype(float) for kind in kinds}
