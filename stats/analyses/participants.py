"""Does a model predict what each participant answers? Of what `pairbank participants` writes."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd

from pairbank.arrays import FloatArray
from pairbank.errors import BankError
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.base_instruct import contrast_of_pairs
from pairbank.stats.analyses.form import Chart, Result, Rows, analysis, cells, records, typed, where
from pairbank.stats.figures.charts import intervals
from pairbank.stats.measures.families import LEAST_FAMILIES, crossed_mean
from pairbank.stats.measures.paired_tests import corrected
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.model_features import declared_of

KEYS = ["scale", "rater", "trial"]
RESPONSES = {*KEYS, "item_id", "side", "value", "option", "n_options"}
NEEDED = RESPONSES | {"loglik_nats", "alone_nats", "predicted", "n_before"}
CHANCE, OWN, OTHERS, ALONE = "chance", "own answers so far", "other participants", "without the session"
SIGNIFICANCE = 0.05


@analysis(title="Do models predict each participant's answers?", facts=("features",))
def participants(tables: Sequence[ScoredFrame], context: Context) -> Result:
    """Return the mean log-likelihood of responses by each model, beside what is known without a model."""
    frames = _frames(context.responses or {table.model: table.frame for table in tables})
    rows = next(iter(frames.values()))
    known = baselines(rows)
    people, items = (pd.factorize(rows[name])[0].astype(np.int64) for name in ("rater", "item_id"))
    nulls = {table.model for table in context.nulls}
    contrasts, models, by_rater = Rows(), Rows(), Rows()
    for model, frame in frames.items():
        given = frame["loglik_nats"].to_numpy(dtype=np.float64)
        mean = crossed_mean(given, people, items)
        right = (frame["predicted"] == frame["option"]).mean()
        models.append({"model": model, **cells(mean.estimate), "accuracy": right, "n": len(frame)})
        for name, other in (known | {ALONE: frame["alone_nats"].to_numpy(dtype=np.float64)}).items():
            gain = crossed_mean(given - other, people, items)
            place = {"model": model, "versus": name, "mean_other": float(other.mean())}
            contrasts.append(place | cells(gain.estimate) | {"p": gain.p, "reason": gain.estimate.reason})
        of_raters = frame.assign(**known).groupby("rater")[["loglik_nats", "alone_nats", *known]].mean()
        by_rater += [{"model": model} | row for row in records(of_raters.reset_index())]
    table = typed(contrasts)
    table["p_holm"] = corrected(table["p"]).holm
    means = {model: frame.groupby("rater")["loglik_nats"].mean() for model, frame in frames.items()}
    tuned, declared = Rows(), declared_of(tables, context.features)
    of_pairs = [*contrast_of_pairs({}, means, declared, pd.Series(dtype=object), tuned)]
    draw = partial(intervals, table, rows="model", series="versus", x_label="nats per response", zero=True)
    is_cut = np.any([frame["n_before"] < frame["trial"] - 1 for frame in frames.values()], axis=0)
    return Result(
        tables={
            "models": typed(models),
            "contrasts": table,
            "families": typed(tuned),
            "pairs": typed(of_pairs),
            "by_participant": typed(by_rater),
        },
        charts=[Chart(name="gains", caption="gains", draw=draw)],
        values={
            "baselines": {name: float(values.mean()) for name, values in known.items()},
            "majority": majority_accuracy(rows),
            "better": better_than(table[~table["model"].isin(nulls)]),
            "n_models": len(frames.keys() - nulls),
            "of_nulls": where(table[table["model"].isin(nulls)], versus=ALONE),
            "n_participants": rows["rater"].nunique(),
            "n_items": rows["item_id"].nunique(),
            "n_responses": len(rows),
            "n_cut": rows.loc[is_cut, "rater"].nunique(),
            "n_cut_responses": int(is_cut.sum()),
            "n_options": sorted(set(rows["n_options"])),
            "LEAST_FAMILIES": LEAST_FAMILIES,
        },
    )


def better_than(contrasts: pd.DataFrame) -> pd.DataFrame:
    """Return the contrasts that models win which are better than chance, too: poor baselines are no feat."""
    won = contrasts[(contrasts["p_holm"] < SIGNIFICANCE) & (contrasts["value"] > 0)]
    return won[won["model"].isin(where(won, versus=CHANCE)["model"])]


def _frames(frames: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the responses that all models have, in one order."""
    for model, frame in frames.items():
        if missing := sorted(NEEDED - {*frame.columns}):
            raise BankError(f"{model}: no columns {', '.join(missing)}; expected what `pairbank participants` wrote")
        if frame.duplicated(KEYS).any():
            raise BankError(f"{model}: two responses of one participant and trial; give one corpus, and a model once")
    indexed = {model: frame.set_index(KEYS) for model, frame in frames.items()}
    common = functools.reduce(pd.Index.intersection, [frame.index for frame in indexed.values()]).sort_values()
    if common.empty:
        raise BankError("the models have no response in common; score the same participants with each")
    return {model: frame.loc[common].reset_index() for model, frame in indexed.items()}


def baselines(rows: pd.DataFrame) -> dict[str, FloatArray]:
    """Return the log-likelihood of each response by what needs no model, one more answer added to each option.

    Rows are in the order of each participant's trials.

    >>> rows = pd.DataFrame({"scale": "binary", "rater": [0, 0], "trial": [1, 2], "item_id": ["a", "b"], "side": "good",
    ...                      "value": [1.0, 1.0], "option": [1, 1], "n_options": 2})
    >>> {name: np.exp(values).round(2).tolist() for name, values in baselines(rows).items()}
    {'chance': [0.5, 0.5], 'own answers so far': [0.5, 0.67], 'other participants': [0.5, 0.5]}
    """
    k = rows["n_options"].to_numpy(dtype=np.float64)
    own = rows.groupby(["scale", "rater", "option"]).cumcount().to_numpy()
    before = rows.groupby(["scale", "rater"]).cumcount().to_numpy()
    judged = ["scale", "item_id", "side"]
    same = rows.groupby([*judged, "value"])["rater"].transform("size").to_numpy() - 1
    others = rows.groupby(judged)["rater"].transform("size").to_numpy() - 1
    return {CHANCE: -np.log(k), OWN: np.log((own + 1) / (before + k)), OTHERS: np.log((same + 1) / (others + k))}


def majority_accuracy(rows: pd.DataFrame) -> float:
    """Return how often a response is what most of the others answered, ties shared; of items that others judged."""
    right: list[float] = []
    for _, judged in rows.groupby(["scale", "item_id", "side"]):
        _, given, n = np.unique(judged["value"], return_inverse=True, return_counts=True)
        left = n - np.eye(len(n))[given]
        most = left == left.max(axis=1, keepdims=True)
        if len(given) > 1:
            right += (most[np.arange(len(given)), given] / most.sum(axis=1)).tolist()
    return float(np.mean(right)) if right else np.nan
