"""What programs write above and beside a table is no part of it: titles, comments, row numbers, headers of surveys."""

from pathlib import Path

import pytest
import xlsxwriter

from own_files import Read, read
from pairbank.errors import CorpusError

PAIRS = [("Swans glide.", "Swans glides."), ("Ann hums.", "Ann hum.")]


def of(folder: Path, text: str, name: str = "mine.csv") -> Read:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (",good,bad\n0,Swans glide.,Swans glides.\n1,Ann hums.,Ann hum.\n", "taken for row numbers and left out"),
        ('"","good","bad"\n"1","Swans glide.","Swans glides."\n"2","Ann hums.","Ann hum."\n', "row numbers"),
        (";good;bad\ns1;Swans glide.;Swans glides.\ns2;Ann hums.;Ann hum.\n", "row numbers"),
        ("good\tbad\n1\tSwans glide.\tSwans glides.\n2\tAnn hums.\tAnn hum.\n", "one name short"),
        ("Norming study,\ngood,bad\nSwans glide.,Swans glides.\nAnn hums.,Ann hum.\n", "the header is in row 2"),
        ("Norming study\n\nmade by us\ngood,bad\nSwans glide.,Swans glides.\nAnn hums.,Ann hum.\n", "in row 4"),
        ("# made by us\n# 2025\ngood,bad\nSwans glide.,Swans glides.\nAnn hums.,Ann hum.\n", "in row 3"),
        (
            'good,bad\nQ1,Q2\n"{""ImportId"":1}","{""ImportId"":2}"\nSwans glide.,Swans glides.\nAnn hums.,Ann hum.\n',
            "Qualtrics: rows 2 and 3 are the questions' texts and ids",
        ),
    ],
)
def test_what_stands_around_a_table_is_left_out_and_said(tmp_path: Path, text: str, said: str) -> None:
    result = of(tmp_path, text, "mine.tsv" if "\t" in text else "mine.csv")
    assert result.pairs == PAIRS
    assert said in result.said


def test_a_workbook_has_the_same_frame(tmp_path: Path) -> None:
    path = tmp_path / "mine.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.write(0, 0, "Norming study")
        for n, row in enumerate((("", "good", "bad"), *((str(n), *pair) for n, pair in enumerate(PAIRS)))):
            sheet.write_row(n + 2, 0, [cell or None for cell in row])
    assert read(path).pairs == PAIRS
    assert "the header is in row 3" in read(path).said
    assert "row numbers" in read(path).said


@pytest.mark.parametrize(
    "text",
    [
        "good,bad\nSwans glide.,Swans glides.\n#Ann hums.,Ann hum.\n",  # a mark of a linguist
        "good,bad,#\nSwans glide.,Swans glides.,1\n",  # a name
    ],
)
def test_a_hash_in_a_table_is_no_comment(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(text, encoding="utf-8")
    assert len(read(path, marks="keep").rows) == text.count("\n") - 1


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("good,bad\nSwans, all, glide.,x\nAnn, too, hums.,y\n", "4 cells, expected 2"),
        (",good,bad\nsome text here,Swans glide.,Swans glides.\n", "column 1, which has no name"),
    ],
)
def test_what_is_no_frame_is_refused(tmp_path: Path, text: str, refused: str) -> None:
    with pytest.raises(CorpusError, match=refused):
        of(tmp_path, text)


PCIBEX = """\
#
# Results on Tuesday
# Columns below this comment are as follows:
# 1. Time.
# 2. Who (MD5).
# 3. PennElementType.
# 4. Value.
# 5. item.
# 6. condition.
# 7. sentence.
1,a,PennController,Start,0,gram,Well%2C swans glide.
1,a,Scale,{},0,gram,Well%2C swans glide.
# a comment of the second participant
1,a,Scale,2,0,un,Well%2C swans glides.
2,b,Scale,7,0,gram,Well%2C swans glide.
2,b,Scale,1,0,un,Well%2C swans glides.
"""
MAP = """\
layout = "long"
pair = ["item"]
[columns]
sentence = "sentence"
pair_id = "item"
rater = "Who (MD5)"
rating = "Value"
[label]
column = "condition"
good = ["gram"]
bad = ["un"]
[ratings]
scale = "likert7"
"""


def test_results_of_pcibex_are_read_by_a_map(tmp_path: Path) -> None:
    (tmp_path / "results.map.toml").write_text(MAP, encoding="utf-8")
    from pairbank import load_corpus

    path = tmp_path / "results.csv"
    path.write_text(PCIBEX.format(6), encoding="utf-8")
    items = load_corpus(path)
    assert items["target_good"][:] == ["Well, swans glide."]
    assert (items["human_good"][0], items["human_bad"][0]) == (6.5, 1.5)
    said = str(items.info.download_checksums)
    assert "1 row(s) of PennController itself left out" in said
    assert "columns as its comments name them; %2C is a comma" in said
    path.write_text(PCIBEX.format("very good"), encoding="utf-8")
    with pytest.raises(CorpusError, match="row 12: column 'Value' holds 'very good'"):
        load_corpus(path)
