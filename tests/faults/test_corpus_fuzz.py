"""Files that nobody thought of: whatever the bytes, a file is read in full and said, or refused by an error of ours."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from own_files import damaged, json_lines, parquet, read
from pairbank.errors import PairbankError

WHOLE = {
    ".csv": "good;bad;human_good;language\r\nDie Hunde hören.;Die Hunde hört.;6,4;de\r\nA «b».;B a.;;en\r\n".encode(),
    ".tsv": "context\tgood\tbad\nLook:\tÉmile ran.\tÉmile runned.\n".encode("utf-16"),
    ".jsonl": json_lines({"good": "A é.", "bad": "B."}, {"good": "C.", "bad": "D 😀.", "note": ["x"], "human_n": 3}),
    ".parquet": parquet({"good": ["A é.", "C."], "bad": ["B.", "D."], "human_good": [1.5, None]}),
}
TEXT = st.text(
    st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff"), min_size=1, max_size=20
).filter(lambda text: text.strip().casefold() not in ("na", "nan", "#n/a"))  # a missing value: its row has no pair


@pytest.mark.ci
@pytest.mark.parametrize("suffix", WHOLE)
@given(data=st.data())
@settings(max_examples=150)
def test_a_damaged_file_is_refused_or_read_and_stated(
    suffix: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / f"mine{suffix}"
    path.write_bytes(data.draw(damaged(WHOLE[suffix])))
    try:
        result = read(path)
    except PairbankError:
        return
    assert f"; {len(result.rows)} rows" in result.said
    assert all(good.strip() and bad.strip() for good, bad in result.pairs)


@pytest.mark.ci
@given(
    pairs=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=5),
    by=st.sampled_from(",;\t"),
    suffix=st.sampled_from((".csv", ".tsv")),
)
@settings(max_examples=150)
@example(pairs=[(";", ","), (",;", ";")], by=",", suffix=".csv")
@example(pairs=[("\ufeff", '"')], by=",", suffix=".csv")
def test_text_comes_out_of_a_delimited_file_byte_for_byte_or_the_file_is_refused(
    pairs: list[tuple[str, str]], by: str, suffix: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=by)
    writer.writerow(("good", "bad"))
    writer.writerows(pairs)
    path = tmp_path_factory.mktemp("fuzz") / f"mine{suffix}"
    path.write_text(out.getvalue(), encoding="utf-8", newline="")
    try:
        result = read(path, marks="keep")
    except PairbankError:
        return
    assert result.pairs == [pair for pair in pairs if any(text.strip() for text in pair)]


@pytest.mark.ci
@given(
    rows=st.lists(
        st.dictionaries(
            st.sampled_from(("good", "bad", "context", "human_good", "human_n", "language", "task", "x")),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
                lambda inner: st.lists(inner, max_size=2),
                max_leaves=3,
            ),
        ),
        max_size=4,
    )
)
@settings(max_examples=150)
def test_json_of_any_types_is_refused_or_read_and_stated(
    rows: list[dict[str, object]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "mine.jsonl"
    path.write_bytes(json_lines(*rows))
    try:
        result = read(path, marks="keep")
    except PairbankError:
        return
    texts = [
        (row["good"], row["bad"])
        for row in rows
        if any(cell not in (None, "") and str(cell).strip() for cell in row.values())
    ]
    assert result.pairs == texts


def test_a_file_that_cannot_be_opened_is_an_error_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.csv"
    with pytest.raises(PairbankError, match="no file"):
        read(path)
    path.mkdir()
    with pytest.raises(PairbankError, match=r"mine\.csv: no table; found no \.csv"):
        read(path)
    with pytest.raises(PairbankError, match=r"cannot be read \(File name too long\)"):
        read(tmp_path / ("a" * 300 + ".csv"))
    with pytest.raises(PairbankError, match="no file"):
        read(tmp_path / "a\0b.csv")
    path.rmdir()
    path.write_text("good,bad\nA.,B.\n")

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(PairbankError, match=r"mine\.csv: cannot be read \(Permission denied\); check who may read it"):
        read(path)
