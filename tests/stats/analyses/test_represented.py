"""Probabilities, representations, answers and people: what is claimed of their ranks, and of a probe and its nulls."""

from __future__ import annotations

import numpy as np
import pytest

from nulls.represented import LAYOUTS, METHODS, SIZES, frame
from pairbank.errors import BankError
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.represented import represented
from pairbank.stats.scored_table.method_scores import ScoredFrame
from scored_frames import scored_frame


def test_rho_and_leads_are_those_of_scipy_and_of_counting() -> None:
    from scipy.stats import spearmanr

    table, null = (
        frame(np.random.default_rng(seed), SIZES["30 of 2 to 120"], gap=g, spread=0.3)
        for seed, g in ((1, 1.5), (2, 0.0))
    )
    section = represented([table], Context(nulls=[null]))
    rows = section.tables["ranks"].set_index("measures")
    deltas = [table.frame[f"{name}_delta"] for name in METHODS]
    assert rows.loc["probabilities and representations", "value"] == pytest.approx(
        spearmanr(deltas[0], deltas[1])[0], abs=1e-12
    )
    assert set(rows.index) == {"probabilities and representations", "probabilities and shuffled labels"}
    probes = section.tables["probes"].set_index("null")
    right = [np.mean(column > 0) for column in (*deltas, null.frame["probe_grammar_delta"])]
    assert probes["probe"].tolist() == pytest.approx([right[1]] * 2)
    assert probes["value"].tolist() == pytest.approx([right[1] - right[2], right[1] - right[3]])
    assert "the probe beats both nulls" in section.text
    assert "There are no random weights to compare it with." in represented([table], Context()).answer


def test_a_sentence_in_several_contexts_is_one_draw() -> None:
    claimed = []
    for seed in range(30):
        rng, sentence = np.random.default_rng(seed), np.repeat(np.arange(12), 5)
        rows = frame(rng, np.array([60]), gap=0.0, spread=0.0).frame.assign(paradigm=None, task="sentence")
        rows = rows.assign(target_good=sentence.astype(str), target_bad=None)
        for name in ("direct_good", "probe_grammar_good", "human_good"):
            rows[name] = 2 * rng.normal(size=12)[sentence] + rng.normal(size=60)
        rows = rows.assign(**{f"{name}_delta": np.nan for name in METHODS})
        table = ScoredFrame(corpus="toy", model="m", frame=rows, layouts=LAYOUTS[:2])
        section = represented([table], Context())
        ranks = section.tables["ranks"]
        assert (ranks["n_paradigms"] == 12).all()
        assert not section.second_table
        claimed += ((ranks["low"] > 0) | (ranks["high"] < 0)).tolist()
    assert np.mean(claimed) <= 0.1


def test_tables_of_one_measure_are_refused() -> None:
    with pytest.raises(BankError, match="have no two of probabilities"):
        represented([scored_frame("m", np.ones(20), {})], Context())
