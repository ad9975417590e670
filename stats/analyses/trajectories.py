"""What is learnt when? Scored tables of checkpoints in; curves by phenomenon, onsets and their order out."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import binom, rankdata, t

from pairbank.arrays import FloatArray, IntArray
from pairbank.errors import BankError
from pairbank.scoring.api.names import reference_of
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Result, Rows, analysis, cells, charts, groups
from pairbank.stats.estimates import bootstrap
from pairbank.stats.estimates.shares import mean_of_items, signs
from pairbank.stats.figures.charts import curves as curve_chart
from pairbank.stats.measures.accuracy import wilson_by_group
from pairbank.stats.measures.agreement import pearson
from pairbank.stats.measures.paired_tests import corrected
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.model_features import ModelFeatures
from pairbank.stats.scored_table.scored_table import PARADIGM, ScoredTable, read_table
from pairbank.stats.wording import number

ALPHA, N_PERMUTATIONS = 0.05, 4999
LEAST_CHECKPOINTS, LEAST_PHENOMENA, LEAST_ITEMS, MOST_CURVES = 3, 5, 10, 8
ALL = "all items"
UNITS = {"step": "step", "training_tokens": "training tokens", "training_words": "training words"}
FIRST_PAGE = ("run", "corpus", "method", "phenomenon", "n", "first", "last", "unit", "onset", "onset_over_first")
_NAME = re.compile(
    r"(?P<run>.+?)[@/ _-]+(?P<kind>(?:global_?)?step|checkpoint|ckpt|chck)[-_ ]?(?P<n>\d+)(?P<times>[KMB]?)"
)
_TIMES = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9}


@analysis(title="What is learnt when", facts=("features",))
def trajectories(tables: Sequence[ScoredFrame], context: Context) -> Result:
    """Return the curves of runs, when each phenomenon is above chance for good, and whether runs agree on the order."""
    curves, onsets, words, n_left_out = Rows(), Rows(), Rows(), 0
    for run in runs_of(tables, context.features):
        reads = [read_table(table).choices for table in run.tables]
        for layout in run.tables[0].layouts:
            n_left_out += _learnt(run, reads, layout.method, curves, onsets)
        words += _next_words(run)
    if not onsets and not words:
        raise BankError("no item has a difference, or a next word, by the same method at every checkpoint of a run")
    shown = {name: pd.DataFrame(rows) for name, rows in {"onsets": onsets, "curves": curves, "words": words}.items()}
    order = order_table(shown["onsets"], rng=context.rng)
    n_agree = int(((order["p_mean_holm"] < ALPHA) & (order["rho_mean"] > 0)).sum()) if len(order) else 0
    axis: dict[str, Any] = {"draw": curve_chart, "x": "amount", "x_label": "{unit}"}
    of_words = axis | {"series": "method", "y_label": "mean log P (nats)"}
    of_curves = axis | {"series": "phenomenon", "y_label": "accuracy", "chance": 0.5}
    return Result(
        tables={"onsets": shown["onsets"], "curves": shown["curves"], "order": order, "words": shown["words"]},
        columns=FIRST_PAGE if onsets else (),
        values={"n_left_out": n_left_out, "n_agree": n_agree, "reference_of": reference_of},
        charts=[
            *charts("next_words", shown["words"], "run", "corpus", name="{run} {corpus} words", **of_words),
            *charts("accuracies", shown["curves"], "run", "corpus", "method", select=_largest, **of_curves),
        ],
    )


class Run(NamedTuple):
    """The checkpoints of one training run on one corpus, from the first to the last."""

    name: str
    corpus: str
    unit: str
    amounts: tuple[float, ...]
    tables: tuple[ScoredFrame, ...]


def amount_of(
    name: str, facts: Mapping[str, object], features: ModelFeatures | None = None
) -> tuple[str, str, float] | None:
    """Return a checkpoint's run, the kind of its amount, and the amount; None for what is no checkpoint.

    >>> amount_of("tiny@checkpoint-30", {}), amount_of("m@chck_10M", {}), amount_of("gpt2", {})
    (('tiny', 'step', 30.0), ('m', 'training_words', 10000000.0), None)
    >>> amount_of("EN_50k@step-5", {"family": "EN_50k", "step": 5})
    ('EN_50k', 'step', 5.0)
    """
    text = _NAME.fullmatch(name)
    run = str(facts.get("family") or (text["run"] if text else name.split("@", maxsplit=1)[0]))
    declared = {kind: getattr(features, kind, None) for kind in UNITS} if "@" in name else {}
    for values in (facts, declared):
        for kind in UNITS:
            if isinstance(value := values.get(kind), int | float):
                return run, kind, float(value)
    if text:
        kind = "training_words" if text["kind"] == "chck" else "step"
        return run, kind, int(text["n"]) * _TIMES[text["times"]]
    return None


def runs_of(tables: Sequence[ScoredFrame], features: Mapping[str, ModelFeatures]) -> list[Run]:
    """Return the runs that have enough checkpoints on a corpus."""
    checkpoints: dict[tuple[str, str, str], list[tuple[float, ScoredFrame]]] = defaultdict(list)
    for table in tables:
        if place := amount_of(table.model, table.signature.get("model", {}), features.get(table.model)):
            checkpoints[place[0], table.corpus, UNITS[place[1]]].append((place[2], table))
    runs = []
    for key, points in checkpoints.items():
        amounts, ordered = zip(*sorted(points, key=lambda point: point[0]), strict=True)
        for a, b in itertools.pairwise(amounts):
            if a == b:
                raise BankError(f"{key[0]} on {key[1]}: two checkpoints at {key[2]} {number(a, digits=0)}; leave one")
        runs += [Run(*key, amounts, ordered)] if len(points) >= LEAST_CHECKPOINTS else []
    if not runs:
        raise BankError(
            f"no run has {LEAST_CHECKPOINTS} checkpoints on a corpus; expected models named RUN@step-1000, or a step, "
            f"training_tokens or training_words in their signatures; found {', '.join(t.model for t in tables[:5])}"
        )
    return runs


def _learnt(run: Run, reads: Sequence[ScoredTable], method: str, curves: Rows, onsets: Rows) -> int:
    """Add the accuracy of each phenomenon at each checkpoint, and the onsets; return how many items are left out."""
    if any(read.method(method) is None for read in reads):
        return 0
    deltas = pd.concat([pd.Series(read.delta(method), index=read.item_ids) for read in reads], axis=1)
    known = deltas.dropna()
    if known.empty:
        return 0
    right = signs(known.to_numpy(dtype=np.float64).T)
    items = reads[0].frame.set_index("item_id").reindex(known.index)
    all_paradigms = np.full(len(items), -1) if PARADIGM not in items else pd.factorize(items[PARADIGM])[0]
    kinds = {
        str(name): np.asarray(rows)
        for name, rows in (items.reset_index().groupby("phenomenon").indices if "phenomenon" in items else {}).items()
    }
    large = [name for name, rows in kinds.items() if rows.size >= LEAST_ITEMS]
    place = {"run": run.name, "corpus": run.corpus, "method": method}
    for name, rows in ({ALL: np.arange(len(items))} | kinds).items():
        mine, paradigms = right[:, rows], all_paradigms[rows]
        p_values, numbers = above_chance(mine, paradigms), np.repeat(np.arange(len(mine)), rows.size)
        accuracies = wilson_by_group(((mine + 1) / 2).ravel(), numbers, len(mine))
        curves += [
            {**place, "unit": run.unit, "phenomenon": name, "amount": amount, "model": table.model}
            | {**cells(accuracy), "n": accuracy.n, "p_above": float(p)}
            for amount, table, accuracy, p in zip(run.amounts, run.tables, accuracies, p_values, strict=True)
        ]
        if name != ALL and name not in large:
            continue
        alpha = ALPHA / (1 if name == ALL else len(large))
        onset, p_onset = onset_of(p_values, alpha=alpha)
        over, p_over = onset_of(above_chance(mine[1:] - mine[0], paradigms), alpha=alpha)
        onsets.append(
            {**place, "phenomenon": name, "n": rows.size}
            | {"n_paradigms": 0 if paradigms.min() < 0 else int(np.unique(paradigms).size)}
            | {"first": (mine[0].mean() + 1) / 2, "last": (mine[-1].mean() + 1) / 2, "mean": (mine.mean() + 1) / 2}
            | {"unit": run.unit, "onset": np.nan if onset is None else run.amounts[onset], "p_onset": p_onset}
            | {"onset_over_first": np.nan if over is None else run.amounts[over + 1], "p_over_first": p_over}
            | {"alpha": alpha, "last_checkpoint": run.amounts[-1]}
        )
    return int((deltas.notna().any(axis=1)).sum()) - len(known)


def onset_of(p_values: FloatArray, *, alpha: float) -> tuple[int | None, float]:
    """Return the first place from which on all p-values are below alpha, and the greatest p-value from there on.

    Without such a place, that of the last.

    >>> onset_of(np.array([0.2, 0.01, 0.2, 0.01, 0.001]), alpha=0.05)
    (3, 0.01)
    >>> onset_of(np.array([0.001, 0.2]), alpha=0.05)
    (None, 0.2)
    """
    from_here_on = np.maximum.accumulate(p_values[::-1])[::-1]
    below = np.flatnonzero(from_here_on < alpha)
    return (int(below[0]), float(from_here_on[below[0]])) if below.size else (None, float(from_here_on[-1]))


def above_chance(gains: FloatArray, paradigms: IntArray) -> FloatArray:
    """Return one-sided p-values of mean gains above 0: exact sign tests and, over ten paradigms or more, t tests.

    The larger of both counts, so that a claim holds for other items and for other paradigms like these.

    >>> above_chance(np.array([[1.0] * 5, [0.0] * 5]), np.full(5, -1)).round(5).tolist()
    [0.03125, 1.0]
    """
    right, wrong = ((gains * sign > 0).sum(axis=1) for sign in (1, -1))
    over_items: FloatArray = np.where(right + wrong > 0, binom.sf(right - 1, right + wrong, 0.5), 1.0)
    codes = bootstrap.draws(paradigms, gains.shape[1])
    if codes is None:
        return over_items
    means, errors = gains.mean(axis=1), [bootstrap.standard_error(row, codes) for row in gains]
    df = bootstrap.freedom(codes)
    over = [t.sf(mean / error, df) if error > 0 else 0.0 for mean, error in zip(means, errors, strict=True)]
    return np.maximum(over_items, over)


def _next_words(run: Run) -> Iterator[dict[str, Any]]:
    """Yield the mean log P of next words at every checkpoint by every method, and r of prompts with `direct`."""
    for amount, table in zip(run.amounts, run.tables, strict=True):
        read = read_table(table)
        direct = read.method(read.reference)
        if direct is None:
            return
        for scores in read.methods:
            rows = np.flatnonzero(scores.predicts & direct.predicts & read.has_value("task", "word_prediction"))
            if not rows.size:
                continue
            clusters, method = read.paradigms[rows], scores.layout.method
            row: dict[str, Any] = {"run": run.name, "corpus": run.corpus, "method": method, "unit": run.unit}
            row |= {"amount": amount, "model": table.model, "n": rows.size}
            row |= cells(mean_of_items(scores.word_nats[rows], clusters=clusters))
            if scores is not direct:
                row |= cells(pearson(direct.word_nats[rows], scores.word_nats[rows], clusters=clusters), "r")
            yield row


def order_table(onsets: pd.DataFrame, *, rng: np.random.Generator) -> pd.DataFrame:
    """Return Spearman's rho of every two runs over the phenomena that both have, with permutation tests."""
    rows = Rows()
    for group in groups(onsets[onsets["phenomenon"] != ALL], "corpus", "method") if len(onsets) else ():
        runs = {run.key[0]: run.frame.set_index("phenomenon") for run in groups(group.frame, "run")}
        for (one, x), (other, y) in itertools.combinations(runs.items(), 2):
            both = x.index.intersection(y.index)
            if len(both) < LEAST_PHENOMENA:
                continue
            row = group.place | {"a": one, "b": other, "n_phenomena": len(both)}
            for name, sign in (("onset", 1.0), ("mean", -1.0)):
                a, b = (sign * table.loc[both, name].fillna(np.inf).to_numpy(dtype=np.float64) for table in (x, y))
                row[f"rho_{name}"], row[f"p_{name}"] = rank_agreement(a, b, rng)
            rows.append(row)
    table = pd.DataFrame(rows)
    holm = {f"p_{x}_holm": corrected(table[f"p_{x}"]).holm for x in ("onset", "mean")} if rows else {}
    return table.assign(**holm)


def rank_agreement(x: FloatArray, y: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
    """Return Spearman's rho (ties share ranks) and its two-sided p-value by permutations; NaN where one is constant.

    >>> rho, p = rank_agreement(np.arange(8.0), np.arange(8.0), np.random.default_rng(0))
    >>> rho, p < 0.002
    (1.0, True)
    """
    a, b = (rankdata(values) - (len(values) + 1) / 2 for values in (x, y))
    scale = float(np.sqrt((a @ a) * (b @ b)))
    if scale == 0:
        return float("nan"), float("nan")
    drawn = rng.permuted(np.tile(b, (N_PERMUTATIONS, 1)), axis=1) @ a / scale
    rho = float(a @ b) / scale
    return rho, (1 + int((np.abs(drawn) >= abs(rho) - 1e-12).sum())) / (1 + N_PERMUTATIONS)


def _largest(part: pd.DataFrame) -> pd.DataFrame:
    """Return the curves of all items and of the phenomena with most items."""
    sizes = part.drop_duplicates("phenomenon").set_index("phenomenon")["n"].drop(ALL)
    kept = sizes.sort_values(ascending=False, kind="stable").index[: MOST_CURVES - 1]
    shown = part[part["phenomenon"].isin([ALL, *kept])]
    shown.attrs |= {"n_phenomena": len(sizes), "n_drawn": len(kept)}
    return shown
