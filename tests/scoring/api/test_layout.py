"""The names of score columns: one place for them, exact in both directions."""

import re
from pathlib import Path

import pytest

from pairbank.scoring.api.layout import MethodLayout, ScoreColumns, columns_of
from pairbank.scoring.methods.direct import Direct
from pairbank.scoring.methods.registry import FAMILIES, method_named
from pairbank.scoring.prompts.registry import prompts
from pairbank.scoring.run.store import ARROW_TYPES

ROOT = Path(__file__).resolve().parents[3]
NAMES = [*FAMILIES, *prompts(), "meta_question_simple@4shot", "hl23_sent_comp_meta_instruct@chat"]


@pytest.mark.parametrize("name", NAMES)
def test_every_column_of_every_method_is_named_in_one_place_and_found_again(name: str) -> None:
    method = method_named(name)
    names = ScoreColumns(name)
    assert method.columns == names.kinds(*method.columns)
    assert columns_of([name], method.columns) == {name: tuple(method.columns)}
    assert {names.good, names.bad, names.delta, names.flags} <= method.columns.keys()
    layout = MethodLayout.from_dict(method.definition["layout"])
    assert (layout.columns.logprobs in method.columns) == layout.has_logprobs


def test_the_columns_of_direct_stand_in_the_order_that_stored_tables_have() -> None:
    assert list(Direct(per_token=True).columns.items()) == [
        ("direct_good", "float64"),
        ("direct_bad", "float64"),
        ("direct_delta", "float64"),
        ("direct_good_n", "int32"),
        ("direct_bad_n", "int32"),
        ("direct_flags", "list<string>"),
        ("direct_good_tokens", "list<float64>"),
        ("direct_bad_tokens", "list<float64>"),
        ("direct_good_offsets", "list<int32>"),
        ("direct_bad_offsets", "list<int32>"),
        ("direct_good_ranks", "list<int32>"),
        ("direct_bad_ranks", "list<int32>"),
    ]


def test_a_column_of_the_corpus_is_not_taken_for_a_score_of_a_method_that_it_begins_like() -> None:
    table = ["item_id", "direct_object", "direct_wb_delta", "direct_delta", "pmi_of_words", "target_good"]
    assert columns_of(["direct", "pmi", "direct_wb"], table) == {
        "direct": ("direct_delta",),
        "pmi": (),
        "direct_wb": ("direct_wb_delta",),
    }


def test_a_method_of_somebody_elses_has_the_columns_that_its_signature_states() -> None:
    result = columns_of(["mine"], ["mine_delta", "mine_entropy", "mine_own"], declared={"mine": ["mine_entropy"]})
    assert result == {"mine": ("mine_delta", "mine_entropy")}


def test_every_type_of_column_can_be_stored() -> None:
    names = ScoreColumns("m")
    assert set(names.kinds(*names.all).values()) == ARROW_TYPES.keys()


def test_no_other_file_of_scoring_spells_the_name_of_a_score_column() -> None:
    spelt = re.compile(
        r"""\}_(delta|good_n|bad_n|flags|logprobs|first_choice|unparsed|argmax|answers|texts)|direct_delta["']"""
    )
    where = [
        f"{path.relative_to(ROOT)}:{n}"
        for path in sorted((ROOT / "scoring").rglob("*.py"))
        if path.name != "layout.py"
        for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if spelt.search(line) and not line.lstrip().startswith(">>>")
    ]
    assert not where, f"{where}: take the names of columns from ScoreColumns in scoring/api/layout.py"
