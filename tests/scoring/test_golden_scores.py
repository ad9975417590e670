"""Numbers move only with a version: golden scores of every kind of model and family of methods."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import golden_scores as golden
from pairbank.arrays import FloatArray
from pairbank.scoring.engine import logprobs

NOW = golden.current_versions()


@pytest.fixture(scope="module")
def file() -> dict[str, Any]:
    return golden.read_golden()


def moved_by(file: dict[str, Any], column: str, nats: float) -> dict[str, Any]:
    """Return the file's numbers of one model, those of one column moved."""
    numbers = {"llama": copy.deepcopy(file["numbers"]["llama"])}
    numbers["llama"][column] = [None if value is None else value + nats for value in numbers["llama"][column]]
    return numbers


@pytest.mark.ci
def test_no_number_moves_while_the_versions_stay(file: dict[str, Any], tmp_path: Path) -> None:
    now = golden.golden_scores(tmp_path)
    assert not (refused := golden.refusals(file, now, NOW)), "\n".join(refused)
    columns = {model: [*result] for model, result in file["numbers"].items()}
    assert {model: [*result] for model, result in now.items()} == columns, (
        "columns differ from the file's: where a method's own changed, raise METHODS_VERSION in scoring/versions.py; "
        f"then run `{golden.WRITE}`"
    )


def test_the_file_has_the_numbers_of_these_versions(file: dict[str, Any]) -> None:
    assert file["versions"] == NOW, f"a version was raised, and the golden scores are not its own: run `{golden.WRITE}`"


def test_no_golden_text_hangs_on_rounding(file: dict[str, Any]) -> None:
    flags = [value for result in file["numbers"].values() for column in result for value in result[column]]
    assert not any("near_tie" in value for value in flags if isinstance(value, list))


def test_a_log_softmax_that_is_off_by_a_thousandth_asks_for_the_engines_version(
    file: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def off(values: FloatArray, _model_name: str) -> FloatArray:
        return values + 1e-3

    monkeypatch.setattr(logprobs, "finite", off)
    monkeypatch.setitem(golden.METHODS, "bert", ("direct", "mean_logprob"))
    now = golden.golden_scores(tmp_path, ["bert"])
    [refused] = golden.refusals(file, now, NOW)
    assert "raise ENGINE_VERSION or MODELS_VERSION" in refused
    assert golden.WRITE in refused
    assert not golden.refusals(file, now, NOW | {"ENGINE_VERSION": NOW["ENGINE_VERSION"] + 1})


@pytest.mark.parametrize(
    ("column", "names"),
    [
        ("direct_good", "ENGINE_VERSION or MODELS_VERSION"),
        ("slor_good", "METHODS_VERSION or MODELS_VERSION"),
        ("meta_question_simple_delta", "METHODS_VERSION or MODELS_VERSION"),
    ],
)
def test_what_moved_tells_which_version_to_raise(file: dict[str, Any], column: str, names: str) -> None:
    [refused] = golden.refusals(file, moved_by(file, column, 1e-3), NOW)
    assert f"raise {names} in scoring/versions.py" in refused
    assert f"llama, {column}" in refused


def test_moved_hidden_states_ask_for_their_own_version(file: dict[str, Any]) -> None:
    numbers = {"gpt2": copy.deepcopy(file["numbers"]["gpt2"])}
    numbers["gpt2"][golden.HIDDEN_STATES][0][0] += 1e-3
    [refused] = golden.refusals(file, numbers, NOW | {"ENGINE_VERSION": 99})
    assert "raise HIDDEN_STATES_VERSION" in refused


def test_rounding_and_missing_values_are_no_move(file: dict[str, Any]) -> None:
    assert not golden.differences(file["numbers"], moved_by(file, "direct_good", 1e-4))
    assert not golden.differences({"a": {"x": [np.nan, None]}}, {"a": {"x": [np.nan, None]}})
    assert len(golden.differences({"a": {"x": [np.nan, None, 1.0]}}, {"a": {"x": [1.0, 1.0, np.nan]}})) == 3


def test_a_changed_number_of_tokens_or_text_is_a_move() -> None:
    file = {"a": {"direct_good_n": [3], "m_texts": [["yes", None]]}}
    now = {"a": {"direct_good_n": [4], "m_texts": [["yes", "no"]]}}
    assert [m.column for m in golden.differences(file, now)] == ["direct_good_n", "m_texts"]
