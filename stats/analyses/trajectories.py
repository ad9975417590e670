"""What is learnt when? Scored tables of checkpoints in; curves by phenomenon, onsets and their order out."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import binom, rankdata, t

from pairbank.errors import BankError
from pairbank.scoring.api.names import reference_of
from pairbank.stats.analyses.base import DEFAULTS, Context, Section, reads
from pairbank.stats.estimates.bootstrap import LEAST_PARADIGMS, draws, standard_error
from pairbank.stats.estimates.shares import mean_of_items, signs
from pairbank.stats.figures.charts import curves, file_name, n_text
from pairbank.stats.figures.style import Figure
from pairbank.stats.measures.accuracy import wilson_by_group
from pairbank.stats.measures.agreement import pearson
from pairbank.stats.measures.paired_tests import corrected
from pairbank.stats.scored_table.scored_table import PARADIGM, read_table
from pairbank.stats.wording import number, span, with_interval

if TYPE_CHECKING:
    from pairbank.arrays import BoolArray, FloatArray, IntArray
    from pairbank.stats.analyses.introspection.model_features import ModelFeatures
    from pairbank.stats.scored_table.method_scores import ScoredFrame

LEAST_CHECKPOINTS = 3
UNITS = {"step": "step", "training_tokens": "training tokens", "training_words": "training words"}
_NAME = re.compile(
    r"(?P<run>.+?)[@/ _-]+(?P<kind>(?:global_?)?step|checkpoint|ckpt|chck)[-_ ]?(?P<n>\d+)(?P<times>[KMB]?)"
)
_TIMES = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """The checkpoints of one run on one corpus, from the first to the last."""

    run: str
    corpus: str
    unit: str
    """`step`, `training tokens` or `training words`."""
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
    for kind in UNITS:
        if isinstance(value := facts.get(kind), int | float):
            return run, kind, float(value)
    if features is not None and "@" in name:
        for kind, declared in (("step", features.step), ("training_tokens", features.training_tokens)):
            if declared is not None:
                return run, kind, float(declared)
    if text:
        kind = "training_words" if text["kind"] == "chck" else "step"
        return run, kind, int(text["n"]) * _TIMES[text["times"]]
    return None


def trajectories(tables: Sequence[ScoredFrame], features: Mapping[str, ModelFeatures]) -> list[Trajectory]:
    """Return the runs that have enough checkpoints on a corpus."""
    results: dict[tuple[str, str, str], list[tuple[float, ScoredFrame]]] = defaultdict(list)
    for table in tables:
        place = amount_of(table.model, table.signature.get("model", {}), features.get(table.model))
        if place is not None:
            results[place[0], table.corpus, place[1]].append((place[2], table))
    runs = []
    for (run, corpus, kind), points in results.items():
        points.sort(key=lambda point: point[0])
        amounts = tuple(amount for amount, _ in points)
        if len(set(amounts)) < len(amounts):
            twice = next(a for a, b in itertools.pairwise(amounts) if a == b)
            raise BankError(f"{run} on {corpus}: two checkpoints at {UNITS[kind]} {number(twice, digits=0)}; leave one")
        if len(points) >= LEAST_CHECKPOINTS:
            ordered = tuple(table for _, table in points)
            runs.append(Trajectory(run=run, corpus=corpus, unit=UNITS[kind], amounts=amounts, tables=ordered))
    if not runs:
        raise BankError(
            f"no run has {LEAST_CHECKPOINTS} checkpoints on a corpus; expected models named RUN@step-1000, or a step, "
            f"training_tokens or training_words in their signatures; found {', '.join(t.model for t in tables[:5])}"
        )
    return runs


LEAST_PHENOMENA = 5
N_PERMUTATIONS = 4999
_SHOWN = ("run", "corpus", "method", "phenomenon", "n", "first", "last", "unit", "onset", "onset_over_first")
"""Columns of the first page."""
_ONSET = "Onset: the checkpoint from which accuracy stays above chance; over first: above the first checkpoint."


def order_table(onsets: pd.DataFrame, *, rng: np.random.Generator) -> pd.DataFrame:
    """Return Spearman's rho of every two runs over the phenomena that both have, with permutation tests.

    Two numbers are compared: the onset (a phenomenon without one stands last) and the mean accuracy over all
    checkpoints, which does not depend on a threshold.
    """
    rows = [
        row
        for (corpus, method), part in onsets[onsets["phenomenon"] != ALL].groupby(["corpus", "method"], sort=False)
        for row in _pairs(str(corpus), str(method), part, rng)
    ]
    if not rows:
        return pd.DataFrame()
    result = pd.DataFrame(rows)
    for name in ("onset", "mean"):
        result[f"p_{name}_holm"] = corrected(result[f"p_{name}"]).holm
    return result


def _pairs(corpus: str, method: str, part: pd.DataFrame, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    by_run = {str(run): rows.set_index("phenomenon") for run, rows in part.groupby("run", sort=False)}
    for (entry, x), (two, y) in itertools.combinations(by_run.items(), 2):
        both = x.index.intersection(y.index)
        if len(both) < LEAST_PHENOMENA:
            continue
        row: dict[str, Any] = {"corpus": corpus, "method": method, "a": entry, "b": two, "n_phenomena": len(both)}
        for name, sign in (("onset", 1.0), ("mean", -1.0)):
            a, b = (table.loc[both, name].to_numpy(dtype=float) for table in (x, y))
            rho, p = rank_agreement(sign * np.nan_to_num(a, nan=np.inf), sign * np.nan_to_num(b, nan=np.inf), rng)
            row |= {f"rho_{name}": rho, f"p_{name}": p}
        yield row


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
    p = (1 + int((np.abs(drawn) >= abs(rho) - 1e-12).sum())) / (1 + N_PERMUTATIONS)
    return rho, p


ALPHA = 0.05
ALL = "all items"
LEAST_ITEMS = 10
"""Of a phenomenon; a sign test of fewer hardly can be significant after the correction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """The signs of a run's differences: 1 right, -1 wrong, 0 a tie."""

    signs: FloatArray
    """Shape (checkpoints, items)."""
    groups: dict[str, BoolArray]
    """Phenomenon -> its items, without `ALL`."""
    n_left_out: int
    """Items that not every checkpoint has a score of."""
    paradigms: IntArray
    """Number of each item's paradigm, -1 for none."""


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
    """Return one-sided p-values of a mean gain above 0: exact sign tests and, over ten paradigms or more, t tests.

    The larger of both counts, so that a claim holds for other items and for other paradigms like these.

    >>> above_chance(np.array([[1.0] * 5, [0.0] * 5]), np.full(5, -1)).round(5).tolist()
    [0.03125, 1.0]
    """
    right, wrong = ((gains * sign > 0).sum(axis=1) for sign in (1, -1))
    result: FloatArray = np.where(right + wrong > 0, binom.sf(right - 1, right + wrong, 0.5), 1.0)
    codes = draws(paradigms, gains.shape[1])
    if codes is None:
        return result
    errors = [standard_error(row, codes) for row in gains]
    over = [
        t.sf(row.mean() / error, codes.max()) if error > 0 else 0.0 for row, error in zip(gains, errors, strict=True)
    ]
    return np.maximum(result, over)


def learnt(trajectory: Trajectory, method: str) -> Learnt | None:
    """Return the signs of the items that every checkpoint has scored; None where there are none."""
    reads = [read_table(table).choices for table in trajectory.tables]
    if any(read.method(method) is None for read in reads):
        return None
    deltas = [dict(zip(read.item_ids, read.delta(method), strict=True)) for read in reads]
    ids = [item for item in deltas[0] if all(not np.isnan(delta.get(item, np.nan)) for delta in deltas)]
    n_seen = len({item for delta in deltas for item, value in delta.items() if not np.isnan(value)})
    if not ids:
        return None
    frame = reads[0].frame.set_index("item_id").loc[ids]
    groups = {}
    if "phenomenon" in frame.columns and frame["phenomenon"].notna().any():
        names = frame["phenomenon"].astype(object)
        groups = {str(name): np.asarray(names == name) for name in sorted(names.dropna().unique())}
    result = np.array([signs(np.array([delta[item] for item in ids])) for delta in deltas], dtype=np.float64)
    paradigms = np.full(len(ids), -1)
    if PARADIGM in frame.columns:
        paradigms = pd.factorize(frame[PARADIGM])[0]
    return Learnt(
        signs=result, groups=groups, n_left_out=n_seen - len(ids), paradigms=np.asarray(paradigms, dtype=np.int64)
    )


def curve_rows(trajectory: Trajectory, method: str, known: Learnt) -> Iterator[dict[str, Any]]:
    """Yield the accuracy of every phenomenon at every checkpoint, with Wilson's interval."""
    every = {ALL: np.ones(known.signs.shape[1], dtype=np.bool_)}
    place = {"run": trajectory.run, "corpus": trajectory.corpus, "method": method, "unit": trajectory.unit}
    for name, items in (every | known.groups).items():
        selected = known.signs[:, items]
        p_values = above_chance(selected, known.paradigms[items])
        numbers = np.repeat(np.arange(len(selected)), selected.shape[1])
        result = wilson_by_group(((selected + 1) / 2).ravel(), numbers, len(selected))
        for amount, table, estimate, p in zip(trajectory.amounts, trajectory.tables, result, p_values, strict=True):
            yield place | {
                "phenomenon": name,
                "amount": amount,
                "model": table.model,
                "value": estimate.value,
                "low": estimate.low,
                "high": estimate.high,
                "n": estimate.n,
                "p_above": float(p),
            }


def onset_rows(trajectory: Trajectory, method: str, known: Learnt) -> Iterator[dict[str, Any]]:
    """Yield the onsets of all items, and of every phenomenon with enough of them."""
    every = {ALL: np.ones(known.signs.shape[1], dtype=np.bool_)}
    groups = {name: items for name, items in known.groups.items() if items.sum() >= LEAST_ITEMS}
    for family in (every, groups):
        for name, items in family.items():
            selected, paradigms = known.signs[:, items], known.paradigms[items]
            yield {
                "run": trajectory.run,
                "corpus": trajectory.corpus,
                "method": method,
                "phenomenon": name,
                "n": int(items.sum()),
                "n_paradigms": 0 if paradigms.min() < 0 else int(np.unique(paradigms).size),
                "first": float((selected[0].mean() + 1) / 2),
                "last": float((selected[-1].mean() + 1) / 2),
                "mean": float((selected.mean() + 1) / 2),
                **_onsets(trajectory, selected, paradigms, alpha=ALPHA / len(family)),
            }


def _onsets(trajectory: Trajectory, mine: FloatArray, paradigms: IntArray, *, alpha: float) -> dict[str, Any]:
    place, p = onset_of(above_chance(mine, paradigms), alpha=alpha)
    over, p_over = onset_of(above_chance(mine[1:] - mine[0], paradigms), alpha=alpha)
    amounts = trajectory.amounts
    return {
        "unit": trajectory.unit,
        "onset": np.nan if place is None else amounts[place],
        "p_onset": p,
        "onset_over_first": np.nan if over is None else amounts[over + 1],
        "p_over_first": p_over,
        "alpha": alpha,
        "last_checkpoint": amounts[-1],
    }


def word_rows(trajectory: Trajectory) -> Iterator[dict[str, Any]]:
    """Yield the mean log P of next words at every checkpoint by every method, and r of prompts with `direct`."""
    for amount, table in zip(trajectory.amounts, trajectory.tables, strict=True):
        read = read_table(table)
        direct = read.method(read.reference)
        if direct is None:
            return
        words = direct.predicts & read.has_value("task", "word_prediction")
        if not words.any():
            return
        for scores in read.methods:
            rows = np.flatnonzero(scores.predicts & words)
            if not rows.size:
                continue
            mean = mean_of_items(scores.word_nats[rows], clusters=read.paradigms[rows])
            row: dict[str, Any] = {"run": trajectory.run, "corpus": trajectory.corpus, "method": scores.layout.method}
            row |= {"unit": trajectory.unit, "amount": amount, "model": table.model, "n": rows.size}
            row |= {"value": mean.value, "low": mean.low, "high": mean.high}
            if scores is not direct:
                r = pearson(direct.word_nats[rows], scores.word_nats[rows], clusters=read.paradigms[rows])
                row |= {"r": r.value, "r_low": r.low, "r_high": r.high}
            yield row


def _words_text(words: pd.DataFrame) -> Iterator[str]:
    for (run, corpus), part in words.groupby(_PLACE[:2], sort=False) if len(words) else ():
        goes, first, last = list[str](), part.iloc[0], part.iloc[-1]
        for method, rows in part.groupby("method", sort=False):
            first, last = rows.iloc[0], rows.iloc[-1]
            goes.append(f"from {number(first['value'])} to {number(last['value'])} by `{method}`")
            if not np.isnan(last.get("r", np.nan)):
                ends = (with_interval(entry, "r", low="r_low", high="r_high") for entry in (first, last))
                goes[-1] += f" (its r with `{reference_of(part['method'])}` from {' to '.join(ends)})"
        steps = " to ".join(number(member["amount"], digits=0) for member in (first, last))
        yield (
            f"**{run}** on {corpus} ({int(last['n']):,} next words): from {last['unit']} {steps}, mean log P goes "
            f"{', and '.join(goes)}."
        )


def _word_figures(words: pd.DataFrame) -> Iterator[Figure]:
    for (run, corpus), part in words.groupby(_PLACE[:2], sort=False) if len(words) else ():
        yield Figure(
            name=file_name("trajectories", str(run), str(corpus), "words"),
            caption=f"Mean log P of the next word by {run} on {corpus} over training ({n_text(part['n'])}); bands are "
            "95% intervals.",
            draw=partial(
                curves,
                part,
                x="amount",
                series="method",
                x_label=str(part["unit"].iloc[0]),
                y_label="mean log P (nats)",
            ),
        )


MOST_CURVES = 8
"""In one figure; of more phenomena, all items and the seven with most items are drawn."""


@reads("features")
def section(tables: Sequence[ScoredFrame], context: Context = DEFAULTS) -> Section:
    """Return the curves of runs, when each phenomenon is above chance for good, and whether runs agree on the order."""
    runs = trajectories(tables, context.features)
    curve, onset, left_out = list[dict[str, Any]](), list[dict[str, Any]](), 0
    for run in runs:
        for method in _methods(run):
            known = learnt(run, method)
            if known is not None:
                curve += curve_rows(run, method, known)
                onset += onset_rows(run, method, known)
                left_out += known.n_left_out
    words = pd.DataFrame([row for run in runs for row in word_rows(run)])
    if not onset and words.empty:
        raise BankError("no item has a difference, or a next word, by the same method at every checkpoint of a run")
    result, when, order = pd.DataFrame(curve), pd.DataFrame(onset), pd.DataFrame()
    of_words, of_runs, more = [*_words_text(words)], list[str](), list[str]()
    if onset:
        order = order_table(when, rng=context.rng)
        of_runs = [
            _run_text(str(run), str(method), part) for (run, _, method), part in when.groupby(_PLACE, sort=False)
        ]
        more = [*_order_text(order), *_left_out_text(left_out), *_paradigms_text(when)]
    shown = {"onsets": when, "curves": result} if onset else {}
    shown |= ({"order": order} if len(order) else {}) | ({"words": words} if len(words) else {})
    return Section(
        id="trajectories",
        title="What is learnt when",
        text="\n\n".join([*of_words, *of_runs, *more]),
        answer="\n\n".join([*of_words, *of_runs[:1]]),
        main_table="onsets" if onset else "words",
        main_columns=_SHOWN if onset else (),
        footnotes=(_ONSET,) if onset else (),
        draws=f"{N_PERMUTATIONS:,} permutations of phenomena" if len(order) else "",
        definitions=DEFINITIONS,
        tables=shown,
        figures=(*_word_figures(words), *(_figures(result) if onset else ())),
        references=(
            "Berger 1982, Technometrics 24:295-300: a claim that needs several tests",
            "Wilson 1927, JASA 22:209-212",
        ),
    )


_PLACE = ["run", "corpus", "method"]


def _methods(run: Trajectory) -> list[str]:
    names = [layout.method for layout in run.tables[0].layouts]
    return [name for name in names if all(name in {x.method for x in table.layouts} for table in run.tables)]


def _run_text(run: str, method: str, part: pd.DataFrame) -> str:
    """Say how a run goes on all items, and of how many phenomena it is above chance for good."""
    whole = part[part["phenomenon"] == ALL].iloc[0]
    unit, corpus = str(whole["unit"]), str(whole["corpus"])
    text = (
        f"**{run}** on {corpus}, `{method}`: accuracy goes from {_share(whole['first'])} at the first checkpoint to "
        f"{_share(whole['last'])} at {unit} {number(whole['last_checkpoint'], digits=0)} ({int(whole['n']):,} items). "
    )
    text += _onset_text(whole, unit)
    kinds = part[part["phenomenon"] != ALL]
    if kinds.empty:
        return f"{text} No phenomenon has {LEAST_ITEMS} items or more."
    learnt_ones = kinds[kinds["onset"].notna()].sort_values("onset", kind="stable")
    over = int(kinds["onset_over_first"].notna().sum())
    names = ", ".join(
        f"{row['phenomenon']} ({number(row['onset'], digits=0)})" for _, row in learnt_ones.head(5).iterrows()
    )
    more = f"; the earliest: {names}" if names else ""
    return (
        f"{text}\n\nOf {len(kinds)} phenomena, {len(learnt_ones)} are above chance for good by the last checkpoint, "
        f"{over} above the first one for good (each claim corrected for {len(kinds)} phenomena){more}."
    )


def _onset_text(row: pd.Series[Any], unit: str) -> str:
    if pd.isna(row["onset"]):
        text = "Accuracy is not above chance for good by the last checkpoint"
    else:
        from_ = f"{unit} {number(row['onset'], digits=0)}"
        text = f"Accuracy is above chance for good (there and at all later checkpoints) from {from_} on"
    if pd.isna(row["onset_over_first"]):
        return f"{text}, and not above the first checkpoint for good."
    over_first = f"{unit} {number(row['onset_over_first'], digits=0)}"
    return f"{text}, and above the first checkpoint for good from {over_first} on."


def _share(value: float) -> str:
    return number(value)


def _order_text(order: pd.DataFrame) -> Iterator[str]:
    if order.empty:
        return
    agree = order[(order["p_mean_holm"] < ALPHA) & (order["rho_mean"] > 0)]
    yield (
        f"Order across runs: of {len(order):,} pairs of runs {len(agree):,} agree on which phenomena are easy, by the "
        "rank correlation of mean accuracies over all checkpoints (permutation tests, Holm's correction); rho from "
        f"{span(order['rho_mean'])}."
    )


def _left_out_text(n: int) -> Iterator[str]:
    if n:
        yield f"{n:,} items that not every checkpoint of their run has a score of are left out."


def _paradigms_text(when: pd.DataFrame) -> Iterator[str]:
    """Say of what the claims hold: of such paradigms, or of these."""
    enough = when["n_paradigms"] >= LEAST_PARADIGMS
    if enough.all():
        yield "All claims hold for other paradigms like these (t tests over paradigms)."
    elif enough.any():
        yield (
            f"Claims on {int(enough.sum()):,} of {len(enough):,} groups hold for other paradigms like these (t tests "
            f"over paradigms); the others have fewer than {LEAST_PARADIGMS}: their claims are about these very ones."
        )
    elif when["n_paradigms"].any():
        yield f"Fewer than {LEAST_PARADIGMS} paradigms: the claims are about these very ones."


def _figures(result: pd.DataFrame) -> Iterator[Figure]:
    for (run, corpus, method), part in result.groupby(_PLACE, sort=False):
        sizes = part.drop_duplicates("phenomenon").set_index("phenomenon")["n"]
        kept = [ALL, *sizes.drop(ALL).sort_values(ascending=False, kind="stable").index[: MOST_CURVES - 1]]
        shown = part[part["phenomenon"].isin(kept)]
        few = "" if len(kept) == len(sizes) else f"; of {len(sizes) - 1} phenomena the {MOST_CURVES - 1} largest"
        yield Figure(
            name=file_name("trajectories", str(run), str(corpus), str(method)),
            caption=f"Accuracy of {run} on {corpus} by {method} over training ({n_text(part['n'])}){few}; bands are "
            "95% intervals (Wilson).",
            draw=partial(
                curves,
                shown,
                x="amount",
                series="phenomenon",
                x_label=str(part["unit"].iloc[0]),
                y_label="accuracy",
                chance=0.5,
            ),
        )


DEFINITIONS = f"""\
- **run**: models that are checkpoints of one training run, by their names (`RUN@step-1000`) or signatures;
  **amount**: how much the checkpoint had seen. Items are those that every checkpoint has a score of.
- **value**: share of items with a positive difference, ties one half, with Wilson's 95% interval. **p_above**:
  one-sided exact sign test of one half, ties dropped; with {LEAST_PARADIGMS} paradigms or more (`n_paradigms`) the
  larger of this and a one-sided t test over paradigms.
- **onset**: the first checkpoint from which on, to the last, every p_above is below **alpha** ({ALPHA} for all items,
  {ALPHA} over the number of phenomena for each of these, Bonferroni). **p_onset**: the greatest of these p-values, or
  the last checkpoint's where there is no onset. The claim covers paradigms like these, or, with fewer than
  {LEAST_PARADIGMS}, these paradigms only.
- **onset_over_first**: the same for exact McNemar tests against the first checkpoint. An untrained model need not be
  at one half, because the sides of a pair differ in length and word frequency.
- **first**, **last**, **mean**: accuracy at the first and last checkpoint, and on average over all.
- **words**: of items that are next words: mean log-probability of the word (nats) with a 95% interval; **r**: Pearson's
  r of a prompt's log-probabilities with those of `direct` over the items.
- **rho_onset**, **rho_mean** (`order`): Spearman's rho of two runs over their phenomena, of onsets (none = last) and of
  mean accuracies, with two-sided permutation tests; `_holm`: corrected for all pairs.
"""
