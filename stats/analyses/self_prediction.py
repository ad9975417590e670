"""Introspection from answers alone: does a model predict its own answers better than other models predict them?

Self-access is by crossed predictions on items that two models answer alike, where whoever predicts by its own answer is
as right about the other as about itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from pairbank.arrays import FloatArray
from pairbank.errors import BankError
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Result, Rows, analysis, cells, typed
from pairbank.stats.estimates.bootstrap import wider
from pairbank.stats.estimates.estimate import Estimate, undefined
from pairbank.stats.estimates.shares import STUDENT, mean_of_items
from pairbank.stats.measures.accuracy import wilson
from pairbank.stats.scored_table.method_scores import ScoredFrame

KEYS = ["target", "item", "predictor"]
NEEDED = (*KEYS, "prediction", "behaviour")
LEAST_ALIKE = 10


@analysis(title="Does a model predict its own answers best?")
def self_prediction(tables: Sequence[ScoredFrame], _context: Context) -> Result:
    """Return how right models are about themselves and about each other."""
    rows = _checked(pd.concat([table.frame for table in tables], ignore_index=True))
    right = rows.assign(right=(rows["prediction"] == rows["behaviour"]).astype(float))
    accuracy = right.pivot_table(index="target", columns="predictor", values="right", sort=False)
    about = Rows()
    for target, of_target in right.groupby("target", sort=False):
        own = of_target.loc[of_target["predictor"] == target, "right"].to_numpy(dtype=np.float64)
        others = accuracy.loc[target].drop(target).dropna()
        usual = of_target.drop_duplicates("item")["behaviour"].value_counts(normalize=True).iloc[0]
        best = {"highest": others.max(), "whose": others.idxmax() if len(others) else ""}
        named = {"model": target} | cells(wilson(own, is_pooled=False)) | {"others": others.mean()}
        about.append(named | best | {"usual": usual, "n": own.size})
    pairs, estimate = crossed(right)
    access = cells(estimate, paradigms=True) | {"n": estimate.n, "pairs": len(pairs), "reason": estimate.reason}
    return Result(tables={"models": typed(about), "access": wider(typed([access])), "pairs": typed(pairs)})


def _checked(rows: pd.DataFrame) -> pd.DataFrame:
    if missing := [name for name in NEEDED if name not in rows]:
        raise BankError(f"no columns {', '.join(missing)}; expected {', '.join(NEEDED)} (docs/importing.md)")
    rows = rows.assign(**{name: rows[name].astype(str).str.strip() for name in NEEDED})
    for keys, what in ((KEYS, "prediction"), (KEYS[:2], "behaviour")):
        given = rows if what == "prediction" else rows.drop_duplicates([*keys, what])
        if (twice := given[given.duplicated(keys)]).size:
            raise BankError(f"{' / '.join(twice.iloc[0][keys])}: more than one {what}; give one")
    if absent := sorted({*rows["target"]} - {*rows.loc[rows["predictor"] == rows["target"], "target"]}):
        raise BankError(f"{', '.join(absent)}: no prediction of itself; expected rows whose predictor is the target")
    if rows["predictor"].nunique() < 2:
        raise BankError("one predictor; expected at least two models that predict each other")
    return rows


def crossed(right: pd.DataFrame) -> tuple[Rows, Estimate]:
    """Return, for each two models, how much better both are about themselves than about each other; and the mean.

    What makes a model a good predictor, or a target hard, is the same in both and cancels out.
    """
    wide = right.pivot(index="item", columns=["predictor", "target"], values="right")
    answers = right.drop_duplicates(KEYS[:2]).pivot(index="item", columns="target", values="behaviour")
    rows = Rows()
    gains: list[pd.Series[float]] = []
    for a, b in itertools.combinations(answers, 2):
        if not {(a, a), (a, b), (b, a), (b, b)} <= {*wide.columns}:
            continue
        alike = answers[a].notna() & (answers[a] == answers[b])
        gain = ((wide[a, a] - wide[b, a] + wide[b, b] - wide[a, b]) / 2)[alike].dropna()
        if len(gain) >= LEAST_ALIKE:
            rows.append({"a": a, "b": b, "value": gain.mean(), "n": len(gain), "alike": alike.mean()})
            gains.append(gain)
    if not rows:
        reason = f"no two models that predict each other answer {LEAST_ALIKE} items alike"
        return rows, undefined(reason, n=0, method=STUDENT)
    mean = float(np.mean([gain.mean() for gain in gains]))
    parts = pd.concat([(gain - gain.mean()) / len(gain) for gain in gains], axis=1).sum(axis=1) / len(gains)
    values: FloatArray = mean + parts.to_numpy(dtype=np.float64) * len(parts)
    paradigm = right.drop_duplicates("item").set_index("item").get("paradigm")
    codes = None if paradigm is None else pd.factorize(paradigm.reindex(parts.index))[0].astype(np.int64)
    return rows, mean_of_items(values, clusters=codes)
