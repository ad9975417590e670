"""The section on links between log-probability and ratings: three models, pairs, single sentences, what is missing."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pairbank.errors import BankError
from pairbank.stats.analyses.linking import linking as section
from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import direct, judgment, keyed, rated_table

SLOR = direct("slor")


def with_slor(model: str, *, beta: float, n: int = 150, single: bool = False) -> ScoredFrame:
    """Rated items whose log P is the rating plus beta times word frequency, times length."""
    table, rng = rated_table(n, model=model), np.random.default_rng(3)
    frame = table.frame.copy()
    for side in ("good", "bad"):
        length = rng.integers(4, 15, n)
        frequency = -9 + rng.normal(size=n)
        merit = frame[f"human_{side}"] + 0.5 * rng.normal(size=n)
        frame[f"direct_{side}"] = length * (merit + beta * frequency)
        frame[f"direct_{side}_n"] = length
        frame[f"slor_{side}"] = merit + (beta - 1) * frequency
    if single:
        frame[["direct_bad", "direct_bad_n", "slor_bad", "human_bad"]] = np.nan
    for method in ("direct", "slor"):
        frame[f"{method}_delta"] = frame[f"{method}_good"] - frame[f"{method}_bad"]
    return replace(table, frame=frame, layouts=(*table.layouts, SLOR))


def test_each_model_has_its_own_weights_beside_slor() -> None:
    tables = [with_slor(name, beta=beta) for name, beta in (("small", 0.9), ("middle", 0.6), ("large", 0.3))]
    result = section(tables)
    rows = keyed(result.tables["linking"], "model", "metric")
    betas = [rows[name, "β (frequency)"]["value"] for name in ("small", "middle", "large")]
    assert betas == pytest.approx([0.9, 0.6, 0.3], abs=0.1)
    assert rows["large", "Δr (MORCELA − SLOR)"]["low"] > 0
    assert (rows["large", "r (SLOR)"]["n"], rows["large", "r (SLOR)"]["n_groups"]) == (300, 150)
    assert "MORCELA is above SLOR in 2 and below in 0 of 3 combinations of model and corpus" in result.answer
    assert list(result.tables["links"]["model"]) == ["small", "middle", "large"]


def test_single_sentences_are_fitted_and_a_table_that_cannot_be_is_named() -> None:
    single = with_slor("one", beta=0.5, single=True)
    result = section([single, rated_table(60, model="without")])
    assert result.tables["linking"]["n"].unique().tolist() == [150]
    assert "- not fitted: toy, without: not scored by slor" in result.text
    with pytest.raises(BankError, match=r"no link can be fitted \(toy, without: not scored by slor\)"):
        section([rated_table(60, model="without")])
    unrated = replace(single, frame=single.frame.assign(human_good=np.nan))
    with pytest.raises(BankError, match="no rated sentence with unigram counts of its language"):
        section([unrated])
    with pytest.raises(BankError, match="15 groups of sentences"):
        section([with_slor("few", beta=0.5, n=15, single=True)])


def voters(right: dict[str, list[bool]]) -> ScoredFrame:
    """Pairs that some in-template scores, and a yes/no question, get right or wrong."""
    n = len(next(iter(right.values())))
    table = rated_table(n)
    frame = table.frame.copy()
    frame["flags"] = pd.Series([()] * n)
    layouts = [*table.layouts]
    for method, answers in right.items():
        delta = np.where(answers, 1.0, -1.0)
        frame[f"{method}_good"], frame[f"{method}_bad"], frame[f"{method}_delta"] = delta, 0.0, delta
        layouts.append(judgment(method) if method == "yes" else direct(method))
    frame["yes_logprobs"] = pd.Series([(0.0, -1.0, -1.0, 0.0)] * n)
    return replace(table, frame=frame, layouts=tuple(layouts))


def test_the_ensemble_is_the_majority_of_templates_and_questions() -> None:
    table = voters(
        {
            "in_template_1": [True, True, False, False],
            "in_template_2": [True, False, True, False],
            "yes": [False, True, True, False],
        }
    )
    [row] = section([table]).tables["ensembles"].to_dict("records")
    assert row["voters"] == "2 templates, 1 question"
    assert (row["value"], row["n"], row["best single"]) == (0.75, 4, 0.5)
    assert "majority of in-template scores and yes/no questions" in section([table]).answer
    with pytest.raises(BankError, match="no link can be fitted"):
        section([voters({"in_template_1": [True] * 4, "in_template_2": [True] * 4})])
