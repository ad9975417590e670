"""Introspection on one set of items: in, stacked deltas; out, pairs, regressions, contrasts, verdict."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.stats.analyses.introspection.item_resamples import resampled_correlations
from pairbank.stats.analyses.introspection.model_features import SEED_VARIANT, match_type
from pairbank.stats.analyses.introspection.model_pairs import big_models, of_models, pair_correlations, pair_table
from pairbank.stats.analyses.introspection.own.beyond_relatives import OwnAdvantage, own_advantage
from pairbank.stats.analyses.introspection.self_contrast import SelfContrast, self_contrasts
from pairbank.stats.analyses.introspection.song_tables import (
    by_match_type,
    consistency_by_self,
    consistency_by_similarity,
    consistency_by_size,
    correctness_by_size,
)
from pairbank.stats.analyses.introspection.verdict import Verdict, introspection_verdict
from pairbank.stats.estimates.ties import signs

if TYPE_CHECKING:
    from pairbank.stats.analyses.introspection.model_features import ModelFeatures
    from pairbank.stats.measures.regression import Regression
    from pairbank.stats.scored_table.delta_stack import DeltaStack

ALL_ITEMS = "all"
DISAGREED = "disagreed"
SIMILARITY_TABLE = "Table 7a: consistency by similarity and match type"


@dataclass(frozen=True, slots=True, kw_only=True)
class Introspection:
    """The analysis of one corpus on one set of its items."""

    corpus: str
    items: str
    """`all`, or `disagreed` for those that pass the filter."""
    n_items: int
    n_models: int
    """Models that are both read and asked."""
    models: tuple[str, ...]
    pairs: pd.DataFrame
    """What `pair_table` returned."""
    regressions: Mapping[str, Regression]
    """By what they are: `Table 7a: consistency by similarity and match type` …"""
    contrasts: tuple[SelfContrast, ...]
    own: OwnAdvantage
    verdict: Verdict

    @property
    def correlation(self) -> float:
        """Pearson's r over pairs of similarity and consistency (the published 0.32), NaN where it is undefined."""
        x, y = self.pairs["direct_direct"], self.pairs["meta_direct"]
        varies = x.notna() & y.notna()
        if varies.sum() < 2 or np.ptp(x[varies]) == 0 or np.ptp(y[varies]) == 0:
            return float("nan")
        return float(np.corrcoef(x[varies], y[varies])[0, 1])


def introspect(
    stack: DeltaStack,
    features: Mapping[str, ModelFeatures | None],
    *,
    items: str = ALL_ITEMS,
    seed: int = 0,
    n_resamples: int = 1000,
) -> Introspection:
    """Return the analysis of a stack of deltas.

    Args:
        stack: The deltas of the models, all items or those that a filter keeps.
        features: By model name; None or absent where nothing is declared.
        items: Name of the set of items.
        seed: Of the bootstrap; the draws depend on it, the corpus and the set of items alone.
        n_resamples: Resamples of items.
    """
    pairs = pair_table(stack, features)
    name = json.dumps(["introspection", stack.corpus, items]).encode()
    key = int.from_bytes(hashlib.blake2b(name, digest_size=16).digest(), "big")
    found = pair_correlations(stack)
    resampled = resampled_correlations(stack, rng=np.random.default_rng([seed, key]), n_resamples=n_resamples)
    contrasts = self_contrasts(found, resampled, pairs["match_type"].tolist())
    own = own_advantage(stack, found, features)
    regressions = dict(_regressions(stack, pairs, features))
    defined = pairs[(pairs["match_type"] == "self") & pairs["meta_direct"].notna()]
    return Introspection(
        corpus=stack.corpus,
        items=items,
        n_items=len(stack.item_ids),
        n_models=len(defined),
        models=stack.models,
        pairs=pairs,
        regressions=regressions,
        contrasts=contrasts,
        own=own,
        verdict=introspection_verdict(
            regressions[SIMILARITY_TABLE],
            own,
            n_models=len(defined),
            contrasts=contrasts,
        ),
    )


def _regressions(
    stack: DeltaStack, pairs: pd.DataFrame, features: Mapping[str, ModelFeatures | None]
) -> Iterator[tuple[str, Regression]]:
    """Yield the published regressions; those on big models and on seed variants where there are at least two."""
    if stack.has_truth:
        yield "Table 5: correctness by method and size", correctness_by_size(_cells(stack, features))
    yield "Table 6: consistency by size", consistency_by_size(pairs)
    yield SIMILARITY_TABLE, consistency_by_similarity(pairs)
    big = big_models(pairs)
    if len(big) > 1:
        yield "Table 7b: as 7a, models of 70 billion parameters or more", consistency_by_similarity(big)
    for family, siblings in with_seed_variants(stack.models, features).items():
        yield (
            f"Table 8: consistency by self, {family}, a family with seed variants",
            consistency_by_self(of_models(pairs, siblings)),
        )
    yield "section 3.2.2: consistency by match type", by_match_type(pairs)
    yield "section 3.2.2: similarity by match type", by_match_type(pairs, outcome="direct_direct")


def with_seed_variants(models: Sequence[str], features: Mapping[str, ModelFeatures | None]) -> dict[str, list[str]]:
    """Return the models of each family that has a seed variant in it (OLMo in the paper).

    Families are not pooled: a model is more like itself than like another family's, which is no advantage of self.

    Args:
        models: The models' names.
        features: By model name; None or absent where nothing is declared.
    """
    known = {name: found for name in models if (found := features.get(name)) is not None}
    families = [
        known[a].family for a, b in combinations(known, 2) if match_type(a, known[a], b, known[b]) == SEED_VARIANT
    ]
    return {
        family: [name for name, found in known.items() if found.family == family] for family in dict.fromkeys(families)
    }


def _cells(stack: DeltaStack, features: Mapping[str, ModelFeatures | None]) -> pd.DataFrame:
    """Return counts of correct answers, a direct and a prompted row for each model and prompt (Table 5)."""
    rows: list[dict[str, Any]] = []
    for nth, model in enumerate(stack.models):
        found = features.get(model)
        size = np.nan if found is None else found.size_billions
        for meta_nats in stack.meta_nats[:, nth]:
            both = ~np.isnan(meta_nats) & ~np.isnan(stack.direct_nats[nth])
            if not both.any():
                continue
            for is_meta, delta in ((False, stack.direct_nats[nth][both]), (True, meta_nats[both])):
                counts = {"n_correct": int((signs(delta) > 0).sum()), "n_trials": int(both.sum())}
                rows.append({"is_meta": is_meta, "size_billions": size} | counts)
    return pd.DataFrame(rows, columns=["is_meta", "size_billions", "n_correct", "n_trials"])
