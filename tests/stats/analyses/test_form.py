"""The form of an analysis: a fault of its template is one clear error."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pairbank.errors import BankError
from pairbank.stats.analyses.form import Chart, Words

TEMPLATE = "{% macro text() %}\nMean:\n{{ BODY }}\n{% endmacro %}\n"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("value|", "line 3: expected token 'name'"),
        ("value|nn", "line 3: No filter named 'nn'"),
        ("valeu|n", "line 3: UndefinedError: 'valeu' is undefined"),
        ("(value + 'x')|n", "line 3: TypeError: unsupported operand"),
    ],
)
def test_a_fault_of_a_template_names_file_and_line(tmp_path: Path, body: str, message: str) -> None:
    template = tmp_path / "mine.md.j2"
    template.write_text(TEMPLATE.replace("BODY", body), encoding="utf-8")
    with pytest.raises(BankError) as raised:
        _ = Words(template, {"value": 0.5})["text"]
    assert str(raised.value).startswith(f"{template}, {message}")


def test_a_caption_without_its_macro_is_named(tmp_path: Path) -> None:
    template = tmp_path / "mine.md.j2"
    template.write_text(TEMPLATE.replace("BODY", "value|n"), encoding="utf-8")
    chart = cast("Chart", SimpleNamespace(caption="curves", values=cast("dict[str, Any]", {})))
    with pytest.raises(BankError, match=r"mine\.md\.j2: no macro 'curves', which is the caption of a chart; add it"):
        Words(template, {"value": 0.5}).caption(chart)
