"""Which link between log-probability and ratings suits each model? MORCELA, SLOR and the mean; ensembles.

MORCELA is (log P - β log P_uni + γ) / N, where SLOR is β = 1 and γ = 0. Of a linear model of the ratings on log P / N,
log P_uni / N and 1 / N, β and γ are ratios of coefficients. Scores are of coefficients fitted without the sentence's
group (paradigm, or item), so that nothing is fitted on what it is held against.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pairbank.arrays import FloatArray, IntArray
from pairbank.errors import BankError
from pairbank.scoring.api.layout import SIDES, ScoreColumns
from pairbank.scoring.api.names import DIRECT
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Result, Rows, analysis, cells, where, wide
from pairbank.stats.estimates.bootstrap import deleted, half_width
from pairbank.stats.estimates.estimate import Estimate, undefined
from pairbank.stats.estimates.shares import signs
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import ScoredTable, read_table
from pairbank.stats.wording import plural

SLOR = "slor"
LEAST_VOTERS = 3
METRICS = {
    "r": "r (MORCELA, held out)",
    "r_slor": "r (SLOR)",
    "r_mean": "r (mean log P)",
    "over_slor": "Δr (MORCELA − SLOR)",
    "beta": "β (frequency)",
    "gamma": "γ (length, nats)",
}
"""Numbers of a fit, and their headings."""
LEAST_GROUPS, N_FOLDS, MOST_PARTS = 20, 10, 50
"""Groups of sentences that are needed; folds of cross-validation; parts that are left out in turn for intervals."""
METHOD = "jackknife over groups of sentences, each with its own cross-validation"


@analysis(title="Which link between log-probability and ratings suits each model?")
def linking(tables: Sequence[ScoredFrame], _context: Context) -> Result:
    """Return what length and frequency weigh in each model, and r with people by three links."""
    rows, votes, unfitted = Rows(), Rows(), Rows()
    for table in map(read_table, tables):
        fit = _fitted(table)
        if isinstance(fit, str):
            unfitted.append({"corpus": table.corpus, "model": table.model, "reason": fit})
        else:
            rows += fit
        votes += _votes(table)
    if not rows and not votes:
        reasons = "; ".join(f"{fit['corpus']}, {fit['model']}: {fit['reason']}" for fit in unfitted[:3])
        raise BankError(f"no link can be fitted ({reasons}); score rated sentences by {DIRECT} and {SLOR}")
    fits = links = pd.DataFrame(rows)
    if rows:
        links = wide(fits, rows=("model", "corpus"), columns="metric")
        links = links[[*links.columns.drop("n"), "n"]]
    return Result(
        tables={"links": links, "linking": fits, "ensembles": pd.DataFrame(votes)},
        values={"unfitted": unfitted}
        | {name: where(fits, metric=metric) if rows else fits for name, metric in METRICS.items()},
    )


def _fitted(table: ScoredTable) -> Rows | str:
    """Return the numbers of what is fitted to one model on one corpus, or why nothing is."""
    missing = [name for name in (table.reference, SLOR) if name not in {layout.method for layout in table.layouts}]
    if missing:
        return f"not scored by {' and '.join(missing)}"
    codes, c, sides = table.paradigms, ScoreColumns(table.reference), []
    if (codes < 0).any() or np.unique(codes).size < LEAST_GROUPS:
        codes = np.arange(len(codes))
    for side, n in zip(SIDES, (c.good_n, c.bad_n), strict=True):
        logprob, tokens = table.side(table.reference, side), table.numbers(n)
        unigram = logprob - table.side(SLOR, side) * tokens
        rated = {"ratings": table.numbers(f"human_{side}"), "logprob_nats": logprob, "unigram_nats": unigram}
        sides.append(pd.DataFrame(rated | {"n_tokens": tokens, "groups": codes}))
    sentences = pd.concat(sides, ignore_index=True)
    sentences = sentences[np.isfinite(sentences.to_numpy()).all(axis=1) & (sentences["n_tokens"] > 0).to_numpy()]
    if sentences.empty:
        return "no rated sentence with unigram counts of its language"
    result = fitted_linking(sentences)
    if isinstance(result, str):
        return result
    return [
        {"model": table.model, "corpus": table.corpus, "metric": heading}
        | {**cells(estimate), "n": estimate.n, "n_groups": sentences["groups"].nunique(), "reason": estimate.reason}
        for name, heading in METRICS.items()
        for estimate in [getattr(result, name)]
    ]


def _votes(table: ScoredTable) -> Rows:
    """Return the accuracy of the majority of templates and questions, three or more of both kinds; nothing of fewer."""
    used = table.rows(table.is_choice & table.has_truth)
    deltas = {layout: used.delta(layout.method) for layout in used.layouts}
    known_deltas = {layout: delta for layout, delta in deltas.items() if not np.isnan(delta).all()}
    templates = [x for layout, x in known_deltas.items() if re.fullmatch(r"in_template_\d+", layout.method)]
    questions = [x for layout, x in known_deltas.items() if layout.kind == "judgment"]
    if len(templates) + len(questions) < LEAST_VOTERS or not templates or not questions:
        return []
    choices = signs(np.array([*templates, *questions]))
    known = ~np.isnan(choices).any(axis=0)
    if not known.any():
        return []
    estimate = accuracy(np.sign(choices[:, known].sum(axis=0)), clusters=used.paradigms[known])
    return [
        {"model": table.model, "corpus": table.corpus}
        | {"voters": f"{plural(len(templates), 'template')}, {plural(len(questions), 'question')}"}
        | {**cells(estimate), "n": estimate.n}
        | {"best single": max(float((1 + choice[known]).mean() / 2) for choice in choices)}
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedLinking:
    """What was learned, and how far it goes with people."""

    scores: FloatArray
    """Of each sentence, from coefficients fitted without its group: a predicted rating."""
    beta: Estimate
    """Weight of log P_uni; 1 in SLOR, 0 in the mean."""
    gamma: Estimate
    """In nats, over N; 0 in SLOR."""
    r: Estimate
    """Pearson's r of the held-out scores with the ratings."""
    r_slor: Estimate
    r_mean: Estimate
    """Of log P / N."""
    over_slor: Estimate
    """r - r_slor, of the same sentences."""


def fitted_linking(given: pd.DataFrame) -> FittedLinking | str:
    """Return MORCELA fitted to ratings by cross-validation, or why it cannot be.

    Of each sentence: `ratings` (people's mean), `logprob_nats`, `unigram_nats` (log P_uni of its tokens, summed),
    `n_tokens`, and in `groups` the number of its paradigm or item, which is never split between folds.
    """
    if not np.isfinite(given.to_numpy()).all():
        raise BankError("ratings, log P, log P_uni, tokens and groups: expected finite numbers")
    columns = ("ratings", "logprob_nats", "unigram_nats", "n_tokens")
    y, logprob, unigram, n = (given[name].to_numpy(dtype=np.float64) for name in columns)
    _, group = np.unique(given["groups"].to_numpy(), return_inverse=True)
    n_groups = int(group.max(initial=-1)) + 1
    if n_groups < LEAST_GROUPS:
        return f"{n_groups} groups of sentences with ratings and unigram counts; fitting needs {LEAST_GROUPS}"
    design = np.column_stack([logprob / n, unigram / n, 1 / n, np.ones_like(n)])
    if not np.ptp(y) or np.linalg.matrix_rank(design - [*design[:, :3].mean(axis=0), 0]) < design.shape[1]:
        return "ratings, lengths or frequencies do not vary"
    order = np.random.default_rng(0).permutation(n_groups)
    fold, part = (order % N_FOLDS)[group], (order // N_FOLDS * N_FOLDS + order) % min(n_groups, MOST_PARTS)
    values, scores = _values(y, design, fold)
    kept = [part[group] != k for k in np.unique(part[group])]
    without = pd.DataFrame([_values(y[keep], design[keep], fold[keep])[0] for keep in kept])
    results = {name: _estimate(name, value, without[name].to_numpy(), n=y.size) for name, value in values.items()}
    return FittedLinking(scores=scores, **results)


def _values(y: FloatArray, design: FloatArray, fold: IntArray) -> tuple[dict[str, float], FloatArray]:
    """Return beta, gamma, three correlations and the gain of the first over the second; and the held-out scores."""
    scores = np.empty_like(y)
    for number in np.unique(fold):
        held = fold == number
        scores[held] = design[held] @ np.linalg.lstsq(design[~held], y[~held], rcond=None)[0]
    weights = np.linalg.lstsq(design, y, rcond=None)[0]
    r, r_slor, r_mean = (float(np.corrcoef(x, y)[0, 1]) for x in (scores, design[:, 0] - design[:, 1], design[:, 0]))
    values = {"beta": float(-weights[1] / weights[0]), "gamma": float(weights[2] / weights[0])}
    return values | {"r": r, "r_slor": r_slor, "r_mean": r_mean, "over_slor": r - r_slor}, scores


def _estimate(name: str, value: float, without: FloatArray, *, n: int) -> Estimate:
    """Return a value with a jackknife interval; a correlation's on Fisher's z scale."""
    if not math.isfinite(value) or not np.isfinite(without).all():
        return undefined("scores do not vary", n=n, method=METHOD)
    on_z = name.startswith("r")
    ends = np.arctanh(np.clip([value, *without], -1 + 1e-12, 1 - 1e-12)) if on_z else np.array([value, *without])
    half = half_width(deleted(ends[1:]))
    low, high = ends[0] - half, ends[0] + half
    if on_z:
        low, high = math.tanh(low), math.tanh(high)
    return Estimate(value=value, low=float(min(low, value)), high=float(max(high, value)), n=n, method=METHOD)
