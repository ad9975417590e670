"""Details of lighteval, written here in its format (0.13): pairs by log-probability, answers, and what is no pair."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pairbank.errors import PairbankError
from pairbank.scoring.importing.scores import Imports, import_logs

DATE = "2026-11-05T10-11-12.345678"
PAIRS = [("The hens cluck.", "The hens clucks."), ("Das Huhn gackert laut.", "Das Huhn gackern laut.")]


def _row(query: str, choices: list[str], gold: int | list[int], **response: Any) -> dict[str, Any]:  # noqa: ANN401
    doc = {"query": query, "choices": choices, "gold_index": gold, "id": f"{query}{choices[0]}"}
    usual: dict[str, Any] = {"input_tokens": [], "text": [], "output_tokens": [], "text_post_processed": None}
    return {"doc": doc, "model_response": {"logprobs": [], **usual, **response}, "metric": {"acc": 1}}


def _write(folder: Path, model: str, task: str, rows: list[dict[str, Any]], acc: float) -> None:
    details = folder / "details" / model / DATE
    details.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), details / f"details_{task}_{DATE}.parquet")
    general = {"model_name": model, "lighteval_sha": "3fd15266", "model_config": {"dtype": "bfloat16"}}
    results = {"config_general": general, "results": {task.replace("|", ":"): {"acc": acc, "acc_stderr": 0.1}}}
    beside = folder / "results" / model
    beside.mkdir(parents=True)
    (beside / f"results_{DATE}.json").write_text(json.dumps(results))


def _imported(folder: Path) -> Imports:
    return import_logs(folder, "lighteval")


@pytest.mark.parametrize(("bos", "name"), [([1], "direct"), ([], "direct_no_bos_lighteval")])
def test_sentences_behind_a_bos_are_direct_and_others_are_not(bos: list[int], name: str, tmp_path: Path) -> None:
    tokens = [[5, 6, 7, 8], [5, 6, 7, -1]]
    rows = [_row("", [*pair], 0, logprobs=[-8.0, -9.0], input_tokens=bos, output_tokens=tokens) for pair in PAIRS]
    rows.append(_row("", ["a b", "c d", "e f"], 0, logprobs=[-1.0, -2.0, -3.0]))
    _write(tmp_path, "org/m", "lighteval|blimp:x|0", rows, acc=1.0)
    result = _imported(tmp_path)
    [table] = result.tables
    assert table.model == "org/m"
    assert table[f"{name}_good"] == [-8.0, -8.0]
    suffix = name.removeprefix("direct")
    assert table[f"per_token{suffix}_bad"] == [-3.0, -3.0]  # -1 is padding
    assert table[f"per_char{suffix}_good"][0] == -8 / 15
    assert [one.is_same for one in result.stated] == [True]
    assert [one.reason for one in result.left_out] == ["3 choices, a pair has two"]
    assert table.signature["model"]["dtype"] == "bfloat16"


def test_continuations_keep_their_prompt_and_are_scores_of_their_own(tmp_path: Path) -> None:
    rows = [_row("The hens", [" clucks.", " cluck."], [1], logprobs=[-3.0, -2.0], input_tokens=[1, 2, 3])]
    _write(tmp_path, "org/m", "lighteval|agree|0", rows, acc=0.0)
    result = _imported(tmp_path)
    [table] = result.tables
    row = table[0]
    assert (row["task"], row["context_good"], row["target_good"]) == ("continuation_pair", "The hens", "cluck.")
    assert (row["direct_lighteval_good"], row["direct_lighteval_delta"]) == (-2.0, 1.0)
    assert [(one.stated, one.computed) for one in result.stated] == [(0.0, 1.0)]  # a wrong number is not passed over


def test_written_answers_are_decisions_in_the_order_that_was_shown(tmp_path: Path) -> None:
    rows = [
        _row(f"Which is better?\n1. {bad}\n2. {good}\n", [bad, good], 1, text=[answer])
        for (good, bad), answer in zip(PAIRS, ("2", PAIRS[1][1]), strict=True)
    ]
    rows.append(_row("A. x y\nB. z w", ["A", "B"], 0, text=["A"]))
    rows.append(_row(f"{PAIRS[0][0]} {PAIRS[0][1]}", [*PAIRS[0]], 0, text=["1", "2"]))
    _write(tmp_path, "m", "community|better|0", rows, acc=0.5)
    result = _imported(tmp_path)
    [table] = result.tables
    [method] = table.methods
    assert table[f"{method}_delta"] == [1.0, -1.0]
    assert table["target_good"] == [good for good, _ in PAIRS]
    assert sorted(one.reason for one in result.left_out) == [
        "2 answers, expected one",
        "choices are letters, whose sentences are in the prompt alone",
    ]


def test_details_of_an_older_version_are_refused_with_what_is_expected(tmp_path: Path) -> None:
    pq.write_table(pa.table({"full_prompt": ["a"], "choices": [["b"]]}), tmp_path / f"details_x_{DATE}.parquet")
    with pytest.raises(PairbankError, match=r"no column doc, model_response, metric; expected details of lighteval"):
        _imported(tmp_path)
