"""Tables without a fault: how often the audit finds one all the same."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from nulls import Null, Outcome, Table, at_most, own_seed
from pairbank.stats.analyses.audit.section import checks_of
from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import DIRECT, META, items_frame

JUDGE = replace(META, method="judge", readout="decision", unit="share of answers")


def clean_tables(
    n_items: int, *, n_models: int = 3, seed: int = 0, n_paradigms: int = 0, heavy: bool = False, corpus: str = "toy"
) -> list[ScoredFrame]:
    """Models that are right in some three quarters, whatever the length or the order of the sides.

    With paradigms, each has its own difficulty and its own side that is mostly the longer one.
    """
    rng = np.random.default_rng(seed)
    paradigm = rng.integers(n_paradigms, size=n_items) if n_paradigms else np.zeros(n_items, dtype=np.int64)
    shift = rng.normal(0, 0.6, max(1, n_paradigms))[paradigm] if n_paradigms else np.zeros(n_items)
    side = rng.choice([-1, 1], max(1, n_paradigms))[paradigm] if n_paradigms else rng.choice([-1, 1], n_items)
    lengths = 20 + np.column_stack([rng.integers(0, 5, n_items), rng.integers(0, 5, n_items)])
    lengths[:, 0] += np.where(rng.random(n_items) < 0.8, 3 * side, 0)
    hard = rng.normal(size=n_items)
    return [
        ScoredFrame(
            corpus=corpus,
            model=f"m{nth}",
            frame=_scores(rng, lengths, 0.5 * hard + shift, paradigm, heavy=heavy, corpus=corpus),
            layouts=(DIRECT, META, JUDGE),
            signature={"methods": {name: {"sha256": f"hash of {name}"} for name in ("direct", "meta", "judge")}},
        )
        for nth in range(n_models)
    ]


def _scores(
    rng: np.random.Generator, lengths: np.ndarray, easy: np.ndarray, paradigm: np.ndarray, *, heavy: bool, corpus: str
) -> pd.DataFrame:
    n = len(easy)
    noise = rng.standard_t(3, (3, n)) if heavy else rng.normal(size=(3, n))
    delta = 0.8 + easy + noise[0]
    asked = 0.8 + easy + noise[1]
    answers = np.column_stack([asked / 2 - 3, np.full(n, -3.0), np.full(n, -3.0), asked / 2 - 3])
    answers[:, :2] += rng.normal(0, 0.3, (n, 1))
    answers[:, 2:] += rng.normal(0, 0.3, (n, 1))
    answers = np.minimum(answers, -0.01 - rng.random((n, 4)) / 10)
    odds = (0.8 + easy)[:, np.newaxis] + rng.normal(size=(n, 2)) > 0
    words = [["1" if odds[i, 0] else "2", "2" if odds[i, 1] else "1"] for i in range(n)]
    right = odds.mean(axis=1)
    frame = items_frame(
        n,
        corpus,
        subset="pairs",
        paradigm=[f"p{i}" for i in paradigm],
        context_good="",
        context_bad="",
        target_good=[f"g{i:05d}".ljust(size, "a") for i, size in enumerate(lengths[:, 0])],
        target_bad=[f"b{i:05d}".ljust(size, "a") for i, size in enumerate(lengths[:, 1])],
        direct_good=-30 + delta + rng.normal(size=n),
        meta_logprobs=list(answers),
        meta_delta=answers[:, 0] - answers[:, 1] + answers[:, 3] - answers[:, 2],
        judge_answers=words,
        judge_good=right,
        judge_bad=1 - right,
        judge_delta=2 * right - 1,
        judge_unparsed=0,
        **{f"{name}_flags": [[] for _ in range(n)] for name in ("direct", "meta", "judge")},
    )
    frame["direct_bad"] = frame["direct_good"] - delta
    frame["direct_delta"] = frame["direct_good"] - frame["direct_bad"]
    return frame


def looked_at(tables: list[ScoredFrame]) -> list[Any]:
    """What the audit finds, after the correction, as rows with attributes."""
    checks = checks_of(tables)
    return list(checks[checks["outcome"] == "found"].itertuples())


def alarm(seed: int, n_items: int, **how: Any) -> Outcome:  # noqa: ANN401 - of `clean_tables`
    """Return whether anything at all is found in tables without a fault; ties of two orders are none."""
    return {"anything found": any(one.check != "ties" for one in looked_at(clean_tables(n_items, seed=seed, **how)))}


def null_of(data: str, n_items: int, **how: Any) -> Null:  # noqa: ANN401
    return Null((data,), partial(alarm, n_items=n_items, **how), each=own_seed)


def nulls() -> Iterator[Null]:
    yield null_of("30 items", 30)
    yield null_of("300 items", 300)
    yield null_of("300 items, heavy tails", 300, heavy=True)
    yield null_of("300 items in 15 paradigms with their own difficulty and length", 300, n_paradigms=15)
    yield null_of("1,200 items in 60 such paradigms", 1200, n_paradigms=60)


TESTED = (  # one alarm at most
    null_of("60 items", 60, n_models=2).small(8, at_most(1 / 8, "anything found"), ci=True),
    null_of("12 paradigms", 240, n_models=2, n_paradigms=12).small(4, at_most(1 / 4, "anything found"), ci=True),
)
TABLES = (Table("audit", ("tables without a fault, three models and three methods",), nulls, TESTED),)
