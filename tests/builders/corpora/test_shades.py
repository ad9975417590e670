"""Shades of Zero: its files make a design of one factor; its published scores and ratings are those of R."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import pairbank
from corpus_files import known_manifest
from pairbank.errors import PairbankError
from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.design import design
from pairbank.stats.report.frames import scored_frame
from shared_files import present

LEVELS = ["probable", "improbable", "impossible", "inconceivable", "inconceivable_syntactic"]
ENDINGS = ["a pan", "[POSS] hat", "a sieve", "regret", "slept"]
BOS = {"gpt2": ["<|endoftext|>"], "meta-llama-3-8b": ["<|begin_of_text|>"] * 2, "olmo-7b_step500-tokens2b": []}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The form of the published files, with sentences of our own."""
    path = tmp_path / "shades-of-zero"
    path.mkdir()
    rows = [{"item_id": n, "sentence_prefix": f"[NP] cooked {n} eggs in", **dict(zip(LEVELS, ENDINGS, strict=True))}
            for n in (0, 1)]  # fmt: skip
    pd.DataFrame(rows).to_csv(path / "stimuli_with_syntax.csv", index=False)
    ratings = [{"subject_id": f"anon_{who}", "item_id": n, "condition": level, "response": 90 - 20 * place + who}
               for who in range(3) for n in (0, 1) for place, level in enumerate(LEVELS[:4])]  # fmt: skip
    pd.DataFrame(ratings).to_csv(path / "human_ratings.csv", index=False)
    for model, bos in BOS.items():
        tokens = [
            {"item_id": n, "eval_prefix": f"He cooked {n} eggs in", "condition": level, "token": token, "model": model,
             "continuation": f"{ending.replace('[POSS]', 'his')}.", "token_logprob": -1.5 * (place + 1),
             "is_continuation_token": place_of_token >= len(bos) + 1}
            for n in (0, 1) for place, (level, ending) in enumerate(zip(LEVELS, ENDINGS, strict=True))
            for place_of_token, token in enumerate([*bos, "He", "end", "end"])
        ]  # fmt: skip
        pd.DataFrame(tokens).to_csv(path / f"token_{model}.csv", index=False)
        summary = pd.DataFrame(tokens)[lambda x: x["is_continuation_token"]].groupby(["item_id", "condition"])
        stated = summary["token_logprob"].sum().rename("continuation_sum_logprob").reset_index()
        stated.to_csv(path / f"summary_{model}.csv", index=False)
    return path


def test_endings_of_an_event_are_a_design_of_ordered_conditions(folder: Path) -> None:
    items = pairbank.load_corpus("shades-of-zero", data_dir=folder.parent)
    assert items["target_good"][:5] == ["a pan.", "his hat.", "a sieve.", "regret.", "slept."]
    assert items["context_good"][5] == "He cooked 1 eggs in"
    assert items["human_good"][:5] == [91, 71, 51, 31, None]
    manifest = known_manifest(items)
    assert manifest["facts"]["design"]["factors"] == [{"column": "condition", "levels": LEVELS}]
    lacking = pd.read_csv(folder / "stimuli_with_syntax.csv").head(1)
    lacking.to_csv(folder / "stimuli_with_syntax.csv", index=False)
    with pytest.raises(PairbankError, match=r"human_ratings\.csv: stimuli_with_syntax\.csv has no event 1"):
        pairbank.load_corpus("shades-of-zero", data_dir=folder.parent)


def test_texts_with_another_number_of_bos_are_another_method(folder: Path) -> None:
    items = pairbank.load_corpus("shades-of-zero", data_dir=folder.parent)
    found = pairbank.import_logs(folder, "hu-2025-shades", items=items)
    methods = {table.model: table.methods for table in found.tables}
    assert methods == {
        "openai-community/gpt2": ("direct",),
        "meta-llama-3-8b": ("direct_two_bos",),
        "olmo-7b_step500-tokens2b@step-500": ("direct_no_bos",),
    }
    assert found.tables[1].to_pandas()["direct_no_bos_good"].tolist()[:2] == [-3, -6]
    assert all(stated.is_same for stated in found.stated)
    assert len(found.stated) == 3
    tokens = pd.read_csv(folder / "token_gpt2.csv")
    tokens.drop(index=0).to_csv(folder / "token_gpt2.csv", index=False)
    with pytest.raises(ScoreImportError, match=r"token_gpt2\.csv: several models, or texts that begin differently"):
        pairbank.import_logs(folder, "hu-2025-shades", items=items)


LME4 = {
    "probable - improbable": (1.14876, 0.08191, 97.75),
    "improbable - impossible": (0.94469, 0.07338, 93.18),
    "impossible - inconceivable": (0.01654, 0.02006, 101.74),
}
"""Estimate, standard error and degrees of freedom of lmer with lmerTest 3.1-3, `z ~ c + (1 + c | subject_id) +
(1 + c | item_id)` with differences of successive levels."""
PAIRED = {
    "openai-community/gpt2": (0.840511, 0.664676, 1.016345),
    "meta-llama/Meta-Llama-3-8B": (0.690366, 0.526603, 0.854129),
    "allenai/OLMo-7B-0424-hf@step-500": (-0.371590, -0.662261, -0.080919),
}
"""R's t.test over events, paired, of z-scored sums: impossible - inconceivable."""


@pytest.mark.ci
@pytest.mark.upstream
def test_effects_of_the_published_files_are_those_of_r(shared: Path) -> None:
    from scipy.stats import t

    root = present(shared / "published" / "shades-of-zero")
    items = pairbank.load_corpus("shades-of-zero", data_dir=root.parent)
    ratings = pairbank.load_ratings("shades-of-zero", data_dir=root.parent).to_pandas()
    assert (len(items), len(ratings), ratings["rater"].nunique()) == (350, 3_462, 50)  # as the authors' lmer has them
    found = pairbank.import_logs(root / "surprisals", "hu-2025-shades", items=items)
    assert [table.signature["imported"]["settings"]["bos"] for table in found.tables] == [0] * 10 + [2] * 2 + [1] * 3
    assert all(stated.is_same for stated in found.stated)
    tables = [scored_frame(table, for_analyses=True) for table in found.tables if table.model in PAIRED]
    effects = design(tables, Context(ratings=(ratings,))).tables["effects"]
    found_of = {(row["model"], row["contrast"]): row for row in effects.to_dict("records")}
    for contrast, (value, error, degrees) in LME4.items():
        row = found_of["human", contrast]
        reach = t.isf(0.025, degrees) * error
        assert (row["value"], row["df"]) == (pytest.approx(value, abs=2e-5), pytest.approx(degrees, rel=2e-3))
        assert (row["low"], row["high"]) == pytest.approx((value - reach, value + reach), abs=1e-4)
    assert found_of["human", "inconceivable - inconceivable_syntactic"]["reason"] == (
        "no ratings of inconceivable_syntactic"
    )
    for model, expected in PAIRED.items():
        row = found_of[model, "impossible - inconceivable"]
        assert (row["value"], row["low"], row["high"]) == pytest.approx(expected, abs=1e-6)
