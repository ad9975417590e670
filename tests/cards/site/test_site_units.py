"""Units are right on every page: each method's own, from one table, on the card, site, report and in exports."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pairbank
from pairbank.scoring.api.layout import MethodLayout
from pairbank.scoring.methods.linking_functions import LINKING_FUNCTIONS

IMPORTED: dict[str, str | dict[str, Any]] = {
    "fluency": {"kind": "score", "direction": "higher"},
    "stars": {"kind": "rating", "direction": "higher", "scale": [1, 7]},
    "ppl": "perplexity",
    "judge": "decision",
}
UNITS = {
    "direct": "nats",
    "fluency": "units of fluency",
    "stars": "points",
    "ppl": "nats per token",
    "judge": "share of answers",
}


def _bank(folder: Path, model: str, *, rated: bool) -> Path:
    """Return a bank of imported numbers: of English with ratings, or of Greek without."""
    rng = np.random.default_rng(0)
    names = [f"{name}_{side}" for name in ("direct", "fluency", "stars", "ppl") for side in ("good", "bad")]
    rows: dict[str, Any] = {name: rng.uniform(1, 6, 12).round(2) for name in names}
    rows |= {name: -values for name, values in rows.items() if name.startswith("direct")}
    rows |= {"judge": ["good", "bad"] * 6, "language": "en" if rated else "el"}
    rows |= {
        "target_good": [f"Item {n} is here." for n in range(12)],
        "target_bad": [f"Item {n} are here." for n in range(12)],
    }
    if rated:
        rows |= {"human_good": rng.uniform(4, 7, 12), "human_bad": rng.uniform(1, 4, 12), "human_scale": "likert7"}
    folder.mkdir()
    pd.DataFrame(rows).to_csv(folder / "numbers.csv", index=False)
    tables = pairbank.import_scores(folder / "numbers.csv", scores=IMPORTED, model=model, corpus="numbers")
    return pairbank.write_bank(folder / "bank", scored=tables)


@pytest.mark.parametrize(("model", "rated"), [("gpt-x", True), ("llama-y", False), ("human-like Ω", True)])
def test_each_method_has_its_unit_on_card_and_site_and_is_called_what_it_is(
    model: str, rated: bool, tmp_path: Path
) -> None:
    bank = _bank(tmp_path / "in", model, rated=rated)
    site = pairbank.write_site(bank, tmp_path / "site", texts="all")
    packed = (site / "data" / "corpora" / "numbers" / "corpus.json.gz").read_bytes()
    methods = json.loads(gzip.decompress(packed))["methods"]
    assert {one["name"]: one["unit"] for one in methods} == UNITS
    card = (bank / "README.md").read_text(encoding="utf-8")
    for unit in UNITS.values():
        assert f"| {unit}" in card, unit
    table = pairbank.read_scored(next((bank / "scores").rglob("*.parquet")))
    page = pairbank.report([table]).markdown()
    assert "other functions of probability in" in page.casefold()  # the perplexity
    assert "other scores in" in page.casefold()  # `fluency`
    pairbank.export_results([table], tmp_path / "eee")
    texts = [path.read_text(encoding="utf-8") for path in (tmp_path / "eee").rglob("*.jsonl")]
    lines = [json.loads(line) for text in texts for line in text.splitlines()]
    result = {
        one["metadata"]["pairbank.method"]: one["metadata"]["pairbank.unit"] for one in lines if "metadata" in one
    }
    assert result.items() <= UNITS.items()


def test_every_linking_function_has_a_unit_of_probability() -> None:
    units = {
        name: MethodLayout(method=name, kind="direct", presentations=(), options=(), correct=()).unit_in_words
        for name in LINKING_FUNCTIONS
    }
    per_token = {name for name, function in LINKING_FUNCTIONS.items() if "/ N" in function.formula.replace("/N", "/ N")}
    assert {name for name, unit in units.items() if unit != "nats"} == per_token
    assert all(unit.startswith("nats") for unit in units.values())


def test_a_table_of_this_bank_says_its_units_in_one_line() -> None:
    items = pairbank.load_corpus("starter", subset="minimal-pairs", limit=1)
    methods = ["direct", "mean_logprob", "meta_question_simple", "rating_7"]
    tables = [pairbank.score(items, f"fake:{name}", methods=methods) for name in ("a", "b", "c")]
    for table in tables:
        assert "unit:nats+nats-per-token+points" in pairbank.report([table]).signatures[0]
