"""The proposal to Every Eval Ever: its example is an export, and exports fit the schema that has the field."""

import json
import re
from pathlib import Path

import pytest

import pairbank
from pairbank.cards.export import every_eval_ever
from pairbank.cards.export.every_eval_ever import OPTION_SCORES, schema_problems

jsonschema = pytest.importorskip("jsonschema")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "every-eval-ever.md"
SCHEMAS = Path(every_eval_ever.__file__).parent / "schemas"


def test_exports_fit_the_schema_with_the_proposed_field(tmp_path: Path) -> None:
    field, example = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL))
    schema = json.loads((SCHEMAS / "instance_level_eval.schema.json").read_text())
    schema["properties"]["output"]["properties"][OPTION_SCORES] = field
    validator = jsonschema.Draft7Validator(schema)
    methods = ["direct", "mean_logprob", "meta_question_simple"]
    scored = pairbank.score([("The dogs bark.", "The dogs barks.")], "fake:a", methods=methods)
    pairbank.export_results([scored], tmp_path)
    (samples,) = tmp_path.rglob("*_samples.jsonl")
    assert not schema_problems(samples)
    records = [json.loads(line) for line in samples.read_text().splitlines()]
    by_method = {record["evaluation_name"].partition("/")[2]: record for record in records}
    for method, record in by_method.items():
        entries = json.loads(record["performance"]["additional_details"][OPTION_SCORES])
        record["output"][OPTION_SCORES] = entries
        assert not [*validator.iter_errors(record)], method
        best = max(entries, key=lambda entry: entry["value"])
        if method == "direct":
            assert [entry["value"] for entry in entries] == [scored["direct_good"][0], scored["direct_bad"][0]]
            assert record["output"]["raw"] == [record["input"]["choices"][best["choice_idx"]]]
            rounded = [entry | {"value": round(entry["value"], 2)} for entry in entries]
            assert rounded == example
    prompted = json.loads(by_method["meta_question_simple"]["performance"]["additional_details"][OPTION_SCORES])
    total = sum((1 - 2 * entry["choice_idx"]) * entry["value"] for entry in prompted)
    assert total / 2 == pytest.approx(scored["meta_question_simple_delta"][0])
    assert {
        entry["unit"]
        for entry in json.loads(by_method["mean_logprob"]["performance"]["additional_details"][OPTION_SCORES])
    } == {"nats per token"}
    record = by_method["direct"]
    record["output"][OPTION_SCORES][0]["value"] = "-1.0"
    assert [*validator.iter_errors(record)]
