"""Do answers follow own probabilities beyond a relative's? In, deltas and comparisons; out, numbers per model.

Ours. Song, Hu & Mahowald 2025 define introspection as the degree to which a model's answers go with its own
probabilities beyond what a model with nearly identical knowledge would predict. For a model i that is asked and a
relative j, with r(i, j) between the answers of i and the direct differences of j,

    advantage = r(i, i) * q - r(i, j) / q,    q = sqrt(z(j) / z(i)),

where z(i) is the mean r between the direct differences of i and those of the yardsticks, third models. q puts both
correlations at the same reliability: without it the model with the less noisy probabilities would look introspective.
Let the direct differences of both be weight x shared part + noise of their own. If answers follow shared parts alone,
r(i, i) z(j) = r(i, j) z(i) whatever the weights and the noises: a vanishing tetrad (Spearman 1904b), so that the
advantage is 0. If answers also follow what is the model's own, it is that part of r(i, i).

Standard errors are those of the delta method: every item has an influence on each correlation, and so on each advantage
(the infinitesimal jackknife, Efron & Tibshirani 1993, ch. 21). Over paradigms they are CR2, as everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, product

import numpy as np

from pairbank.arrays import FloatArray
from pairbank.stats.analyses.introspection.model_pairs import PairCorrelations, complete_items, standardised, words
from pairbank.stats.estimates.bootstrap import freedom, shifts_of_mean
from pairbank.stats.estimates.estimate import Estimate, mean_of_known, undefined, without_interval
from pairbank.stats.scored_table.model_features import MATCH_TYPES, OTHER, ModelFeatures, match_type
from pairbank.stats.scored_table.scored_table import DeltaStack

METHOD = "none"
_SINGULAR = 1e-8
_DIGITS = 10
"""Numbers are rounded, so that the order of sums on another machine shows in no digit."""

_UNRELATED = MATCH_TYPES.index(OTHER)
LEAST_YARDSTICK = 0.1
"""A model whose direct differences correlate less than this with the yardsticks' has no known reliability."""


def partial_correlations(direct_direct: FloatArray, meta_direct: FloatArray) -> FloatArray:
    """Return r of each model's answers with its own direct differences, given the direct differences of all others."""
    n_models = len(direct_direct)
    values = np.full(n_models, np.nan)
    for model in range(n_models):
        r = np.ones((n_models + 1, n_models + 1))
        r[:-1, :-1], r[:-1, -1], r[-1, :-1] = direct_direct, meta_direct[:, model], meta_direct[:, model]
        if np.isfinite(r).all() and np.linalg.eigvalsh(r)[0] > _SINGULAR:
            inverse = np.linalg.inv(r)
            values[model] = -inverse[model, -1] / np.sqrt(inverse[model, model] * inverse[-1, -1])
    return values


def mean_partial(pairs: PairCorrelations, *, n_items: int) -> Estimate:
    """Return the mean over prompts and models, a value without an interval: it is above 0 under the null too."""
    both = np.flatnonzero(~np.isnan(np.diag(pairs.meta_direct)) & ~np.isnan(np.diag(pairs.direct_direct)))
    at = np.ix_(both, both)
    if len(both) < 2:
        return undefined(words().render("few_models_compared", len(both)), n=n_items, method=METHOD)
    prompts = zip(pairs.direct_direct_by_prompt, pairs.meta_direct_by_prompt, strict=True)
    by_model = mean_of_known(np.array([partial_correlations(direct[at], meta[at]) for direct, meta in prompts]), axis=0)
    if np.isnan(by_model).any():
        return undefined(words().render("linearly_dependent", len(both), n_items), n=n_items, method=METHOD)
    value = round(float(by_model.mean()), _DIGITS)
    return without_interval(value, "no test: above 0 without privileged access too", n=n_items, method=METHOD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One model beside one relative; all are positions in the list of models."""

    asked: int
    relative: int
    yardsticks: tuple[int, ...]
    """Models whose direct differences tell how reliable those of the two are; at least one."""


def closest_relatives(
    models: Sequence[str], features: Mapping[str, ModelFeatures | None], *, read: Sequence[int]
) -> tuple[Comparison, ...]:
    """Return each model beside its closest declared relatives.

    Closest are the relatives of the first match type that occurs: seed variants, else base and instruct, else the
    same family. Yardsticks are all other models but those that are closer to one of the two than the two are to each
    other: what such a model shares with one of them would count as that one's reliability. A pair without a yardstick
    is left out.
    """
    kinds = {
        (a, b): MATCH_TYPES.index(match_type(models[a], features.get(models[a]), models[b], features.get(models[b])))
        for a, b in product(read, repeat=2)
    }
    comparisons = []
    for model in read:
        others = [*read]
        others.remove(model)
        closest = min((kinds[model, other] for other in others), default=_UNRELATED)
        for relative in (other for other in others if kinds[model, other] == closest < _UNRELATED):
            yardsticks = [other for other in others if min(kinds[other, model], kinds[other, relative]) >= closest]
            if yardsticks:  # the relative is none: it is closer to itself
                comparisons.append(Comparison(asked=model, relative=relative, yardsticks=tuple(yardsticks)))
    return tuple(comparisons)


def most_similar(direct_direct: FloatArray, *, read: Sequence[int], asked: Sequence[int]) -> tuple[Comparison, ...]:
    """Return each asked model beside the one whose direct differences correlate most with its own, declared or not."""
    comparisons = []
    for model in asked:
        others = [k for k in read if k != model]
        if len(others) > 1:
            nearest = others[int(np.argmax(direct_direct[model, others]))]
            yardsticks = tuple(k for k in others if k != nearest)
            comparisons.append(Comparison(asked=model, relative=nearest, yardsticks=yardsticks))
    return tuple(comparisons)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAdvantages:
    """The advantage of each model's own probabilities over those of its relatives; NaN where it is undefined."""

    value: FloatArray
    """Mean over relatives and prompts, in units of r, shape (models,)."""
    own: FloatArray
    """Mean r with the model's own direct differences, likewise."""
    relatives: FloatArray
    """Mean r with its relatives', likewise."""
    influence: FloatArray
    """Of each item, or paradigm where these are the draws, shape (models, draws); the squares of a row add up to the
    squared standard error."""
    n_relatives: tuple[int, ...]
    freedom: float = math.inf
    """Degrees of freedom of these standard errors: those that the sizes of paradigms leave."""


def model_advantages(stack: DeltaStack, comparisons: Sequence[Comparison]) -> ModelAdvantages:
    """Return the advantage of each model, the mean over its comparisons and the prompts that they are defined for."""
    n_models, has_direct = len(stack.models), complete_items(stack.direct_nats)
    means, influence = np.zeros((3, n_models)), np.zeros((n_models, len(stack.item_ids)))
    n_prompts, n_relatives = np.zeros(n_models), np.zeros(n_models, dtype=np.int64)
    by_model = [[*group] for _, group in groupby(comparisons, key=lambda comparison: comparison.asked)]
    for meta_nats in stack.meta_nats:
        both = has_direct & complete_items(meta_nats)
        prompt = _Prompt.of(stack.direct_nats[:, both], meta_nats[:, both])
        for of_model in by_model:
            if (part := prompt.advantage(of_model)) is not None:
                model = of_model[0].asked
                means[:, model] += part[0]
                influence[model, both] += part[1]
                n_prompts[model] += 1
                n_relatives[model] = len(of_model)
    n_prompts[n_prompts == 0] = np.nan
    means, influence = means / n_prompts, influence / n_prompts[:, np.newaxis]
    if stack.clusters is not None:  # of whole clusters, whose squares add up to the variance over clusters (CR2)
        influence = np.stack([shifts_of_mean(row * row.size, stack.clusters) for row in influence])
    return ModelAdvantages(
        value=means[0],
        own=means[1],
        relatives=means[2],
        influence=influence,
        n_relatives=tuple(n_relatives.tolist()),
        freedom=math.inf if stack.clusters is None else freedom(stack.clusters),
    )


@dataclass(frozen=True, slots=True)
class _Prompt:
    """The differences on the items of one prompt, standardised to mean 0 and mean square 1, and their correlations."""

    read: FloatArray
    """What does not vary is 0, here and in `asked`."""
    asked: FloatArray
    direct: FloatArray
    """0 where an r is undefined."""
    meta: FloatArray

    @classmethod
    def of(cls, direct_nats: FloatArray, meta_nats: FloatArray) -> _Prompt:
        read, asked = standardised(direct_nats), standardised(meta_nats)
        # einsum, not BLAS: its threads would change last digits
        direct, meta = np.einsum("an,bn->ab", read, read), np.einsum("an,bn->ab", read, asked)
        read, asked = (np.nan_to_num(part) * np.sqrt(direct_nats.shape[1]) for part in (read, asked))
        return cls(read, asked, np.nan_to_num(direct), meta)

    def advantage(self, comparisons: Sequence[Comparison]) -> tuple[FloatArray, FloatArray] | None:
        """Return advantage, own r and relatives' r of one asked model, and the influence of each item; or None."""
        n_items, i = self.read.shape[1], comparisons[0].asked
        if n_items < 2:
            return None
        values, by_meta, by_direct = tetrads(self.direct, self.meta, comparisons)
        if not np.isfinite(values).all():
            return None
        rows, answers = np.flatnonzero(by_direct.any(axis=1)), self.asked[i]
        influence = answers * np.einsum("k,kn->n", by_meta, self.read)
        influence += (self.read[rows] * np.einsum("ak,kn->an", by_direct[rows], self.read)).sum(axis=0)
        of_meta, of_direct = by_meta * np.nan_to_num(self.meta[:, i]), by_direct * self.direct
        by_square = of_meta + of_direct.sum(axis=0) + of_direct.sum(axis=1)
        influence -= (answers**2 * of_meta.sum() + np.einsum("k,kn->n", by_square, self.read**2)) / 2
        of_relatives = self.meta[[comparison.relative for comparison in comparisons], i]
        return np.array([values.mean(), self.meta[i, i], of_relatives.mean()]), influence / n_items


def tetrads(
    direct: FloatArray, meta: FloatArray, comparisons: Sequence[Comparison]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the advantage in each comparison of one asked model, and derivatives of their mean.

    These are by r with answers, shape (models,), and by r of direct differences, shape (models, models). All are NaN
    where r with the yardsticks is too small to tell the reliability.
    """
    i, relatives = comparisons[0].asked, np.array([comparison.relative for comparison in comparisons])
    yardsticks = np.zeros((len(comparisons), len(direct)))
    for row, comparison in zip(yardsticks, comparisons, strict=True):
        row[list(comparison.yardsticks)] = 1.0
    sums = [(yardsticks * direct[who]).sum(axis=1) for who in (i, relatives)]
    usable = np.minimum(*sums) >= LEAST_YARDSTICK * yardsticks.sum(axis=1)
    of_asked, of_relative = (np.where(usable, each, np.nan) for each in sums)
    q, own, of_relatives = np.sqrt(of_relative / of_asked), meta[i, i], meta[relatives, i]
    by_q = own + of_relatives / q**2
    by_meta, by_direct = np.zeros(len(direct)), np.zeros((len(direct), len(direct)))
    by_meta[i], by_meta[relatives] = q.sum(), -1 / q
    by_direct[i] = (-(by_q * q / (2 * of_asked))[:, np.newaxis] * yardsticks).sum(axis=0)
    by_direct[relatives] = (by_q * q / (2 * of_relative))[:, np.newaxis] * yardsticks
    return own * q - of_relatives / q, by_meta / len(q), by_direct / len(q)
