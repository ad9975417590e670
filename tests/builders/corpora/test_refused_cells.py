"""Cells that would be misread in silence: dates in a workbook, ratings off the scale, marks, keys that repeat."""

import datetime as dt
import zipfile
from pathlib import Path

import pytest
import xlsxwriter

import pairbank
from own_files import read
from pairbank.errors import CorpusError

HEADER = ["good", "bad", "human_good", "human_bad"]
ROW = ["The hen clucks.", "The hen cluck.", 6.5, 2]


def workbook(path: Path, rating: float | dt.date, number_format: str) -> Path:
    with xlsxwriter.Workbook(path) as book:
        sheet, style = book.add_worksheet(), book.add_format({"num_format": number_format})
        sheet.write_row(0, 0, HEADER)
        sheet.write_row(1, 0, ROW)
        sheet.write_row(2, 0, ["The cat sleeps.", "The cat sleep."])
        if isinstance(rating, dt.date):
            sheet.write_datetime(2, 2, dt.datetime.combine(rating, dt.time()), style)
        else:
            sheet.write_number(2, 2, rating, style)
    return path


@pytest.mark.parametrize("number_format", ["d/m/yyyy", "dd. mmm", "h:mm", "[h]:mm", "mmm-yy", "[$-407]d. mmmm;@"])
def test_a_rating_that_a_spreadsheet_made_a_date_is_refused_with_its_cell(tmp_path: Path, number_format: str) -> None:
    path = workbook(tmp_path / "rated.xlsx", dt.date(2024, 5, 6), number_format)
    with pytest.raises(CorpusError, match=r"cell C3: a date or time \("):
        read(path)


@pytest.mark.parametrize("number_format", ["0.00", "[Red]0.0", '0.0" days"', "General", "#,##0", "0.0_)", "0E+00"])
def test_other_number_formats_are_numbers(tmp_path: Path, number_format: str) -> None:
    rows = read(workbook(tmp_path / "rated.xlsx", 6.25, number_format)).rows
    assert [row["human_good"] for row in rows] == [6.5, 6.25]


def edited(path: Path, old: str, new: str) -> Path:
    """Return a workbook with one place of its parts changed."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert any(old in text for text in parts.values())
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text.replace(old, new))
    return path


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('<row r="2"', '<row r="two"', "a row has the number 'two'"),
        ('<row r="2"', f'<row r="{"9" * 5000}"', "a row has the number '9999"),
        ("<v>6.25</v>", "<v>six</v>", "row 3: column 'human_good' holds 'six', expected a number"),
    ],
)
def test_an_odd_workbook_is_refused_with_the_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(CorpusError, match=said):
        read(edited(workbook(tmp_path / "rated.xlsx", 6.25, "0.00"), old, new))


def test_a_workbook_with_a_password_is_refused(tmp_path: Path) -> None:
    path = workbook(tmp_path / "rated.xlsx", 6.25, "0.00")
    data = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # the flag of each member, in both headers
        at = data.find(signature)
        while at >= 0:
            data[at + offset] |= 1
            at = data.find(signature, at + 1)
    path.write_bytes(data)
    with pytest.raises(CorpusError, match="protected by a password; save it without one"):
        read(path)


def test_what_a_workbook_writes_escaped_is_read_as_it_was(tmp_path: Path) -> None:
    path = workbook(tmp_path / "rated.xlsx", 6.25, "0.00")
    edited(path, "The hen clucks.", "The_x0020_hen_x005F_x0041_ clucks_xD800_.")
    assert read(path).rows[0]["target_good"] == "The hen_x0041_ clucks_xD800_."


@pytest.mark.parametrize("rating", ["0", "9", "7.5"])
def test_a_rating_outside_its_declared_scale_is_refused(tmp_path: Path, rating: str) -> None:
    path = tmp_path / "rated.csv"
    path.write_text(f"good,bad,human_good,human_bad\nA b.,B a.,7,1\nC d.,D c.,{rating},1\n", encoding="utf-8")
    assert read(path).rows[1]["human_good"] == float(rating), "no scale was declared"
    assert len(read(path, fixed={"human_scale": "likert7-z"}).rows) == 2, "of z-scores there are no ends"
    expected = f"row 3: column 'human_good' holds {rating}, expected a rating from 1 to 7"
    with pytest.raises(CorpusError, match=expected):
        read(path, fixed={"human_scale": "likert7"})
    scored = tmp_path / "scored.csv"
    text = f"good,bad,human_good,human_scale,direct_good,direct_bad\nC d.,D c.,{rating},likert7,-1,-2\n"
    scored.write_text(text, encoding="utf-8")
    with pytest.raises(CorpusError, match="expected a rating from 1 to 7"):
        pairbank.import_scores(scored, model="m")


def test_a_byte_order_mark_in_the_middle_is_refused(tmp_path: Path) -> None:
    path, part = tmp_path / "joined.csv", "\ufeffgood,bad\nA b.,B a.\n"
    path.write_text(part, encoding="utf-8")
    assert read(path).pairs == [("A b.", "B a.")]
    path.write_text(part + part.replace("A", "C"), encoding="utf-8")
    with pytest.raises(CorpusError, match=r"row 3: column 'good' holds a byte-order mark .* were two files joined"):
        read(path)
