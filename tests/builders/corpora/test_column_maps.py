"""Column maps: layouts that nobody here has seen are read without code."""

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import xlsxwriter

import pairbank
from corpus_files import known_manifest
from pairbank.errors import CorpusError, UnknownNameError


def write(folder: Path, name: str, text: str, column_map: str, encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_text(text, encoding=encoding)
    (folder / "map.toml").write_text(column_map, encoding="utf-8")
    return path


def sides(items: object) -> list[tuple[str, str]]:
    return list(zip(items["target_good"][:], items["target_bad"][:], strict=True))  # type: ignore[index]


PICKED = """\
[reading]
delimiter = ";"
encoding = "cp1252"

[columns]
pair_id = "Nr"
phenomenon = "Phänomen"

[fixed]
language = "de"

[label]
column = "richtig"
sides = ["Satz A", "Satz B"]
first = ["A"]
second = ["B"]
"""


def test_a_label_picks_the_better_of_two_columns(tmp_path: Path) -> None:
    table = (
        "Nr;Satz A;Satz B;richtig;Phänomen\n1;Die Hunde bellt.;Die Hunde bellen.;b;Kongruenz\n"
        "2;Er schläft.;Er schlafen.;A;Kongruenz\n"
    )
    items = pairbank.load_corpus(write(tmp_path, "urteile.csv", table, PICKED, "cp1252"))
    assert sides(items) == [("Die Hunde bellen.", "Die Hunde bellt."), ("Er schläft.", "Er schlafen.")]
    assert items["language"][:] == ["de", "de"]
    assert items["pair_id"][:] == ["1", "2"]
    assert items["phenomenon"][:] == ["Kongruenz", "Kongruenz"]


def test_a_label_that_the_map_does_not_name_is_refused_with_its_row(tmp_path: Path) -> None:
    path = write(tmp_path, "urteile.csv", "Nr;Satz A;Satz B;richtig;Phänomen\n1;a;b;C;x\n", PICKED, "cp1252")
    with pytest.raises(CorpusError, match=r"row 2: label 'richtig' is 'c', expected one of 'a', 'b'"):
        pairbank.load_corpus(path)


LONG = """\
layout = "long"
pair = ["pair"]

[columns]
sentence = "text"
context = "before"
human = "rating"
pair_id = "pair"

[fixed]
language = "sw"
human_scale = "likert5"

[label]
column = "ok"
good = true
bad = false
"""


def test_a_sentence_a_row_is_put_together_by_its_pair(tmp_path: Path) -> None:
    table = (
        "pair\tok\ttext\tbefore\trating\tcue\ttopic\n"
        "7\t0\tzinaenda.\tNdege\t1.5\tz\tbirds\n"
        "9\t1\twanalala.\tWatoto\t4.5\tw\tchildren\n"
        "7\t1.0\tinaenda.\tNdege\t5\ti\tbirds\n"
        "9\t0\tzinalala.\tWatoto\t2\tz\tchildren\n"
    )
    column_map = LONG.replace("good = true", 'good = ["1"]').replace("bad = false", "bad = 0")
    items = pairbank.load_corpus(write(tmp_path, "jozi.tsv", table, column_map))
    assert sides(items) == [("inaenda.", "zinaenda."), ("wanalala.", "zinalala.")]
    assert items["context_good"][:] == ["Ndege", "Watoto"]
    assert items["human_good"][:] == [5.0, 4.5]
    assert items["human_bad"][:] == [1.5, 2.0]
    assert items["cue_good"][:] == ["i", "w"]
    assert items["cue_bad"][:] == ["z", "z"]
    assert items["topic"][:] == ["birds", "children"]
    assert set(items["task"][:]) == {"continuation_pair"}


def test_a_property_of_a_pair_that_differs_between_its_rows_is_refused(tmp_path: Path) -> None:
    column_map = LONG.replace('pair_id = "pair"', 'pair_id = "pair"\nphenomenon = "topic"')
    table = "pair\tok\ttext\tbefore\trating\ttopic\n7\ttrue\ta b\tc\t1\tbirds\n7\tfalse\tb a\tc\t1\tbats\n"
    with pytest.raises(CorpusError, match=r"row 2 and 3: phenomenon is 'birds' of the better side and 'bats'"):
        pairbank.load_corpus(write(tmp_path, "jozi.tsv", table, column_map))


def test_rows_that_follow_one_another_are_a_pair(tmp_path: Path) -> None:
    column_map = """
layout = "long"
[reading]
header = ["label", "sentence"]
[columns]
sentence = "sentence"
[fixed]
language = "de"
[label]
column = "label"
good = "True"
bad = "False"
"""
    table = "True\tder Hund bellt\nFalse\tder Hund bellen\nFalse\tdie Hunde bellt\nTrue\tdie Hunde bellen\n"
    items = pairbank.load_corpus(write(tmp_path, "zeilen.tsv", table, column_map))
    assert sides(items) == [("der Hund bellt", "der Hund bellen"), ("die Hunde bellen", "die Hunde bellt")]


NESTED = """\
[columns]
target_good = "translation.qu.0"
target_bad = "translation.qu.1"
language = "meta.lang"
phenomenon = "meta.tags.0"
"""


def test_nested_json_is_read_by_paths(tmp_path: Path) -> None:
    row = {
        "translation": {"qu": ["Wasiqa hatunmi.", "Wasiqa hatunchu."], "en": "The house is big."},
        "meta": {"lang": "que", "tags": ["evidentials", "x"]},
    }
    path = write(tmp_path, "nested.jsonl", json.dumps(row) + "\n", NESTED)
    items = pairbank.load_corpus(path)
    assert sides(items) == [("Wasiqa hatunmi.", "Wasiqa hatunchu.")]
    assert (items[0]["language"], items[0]["phenomenon"]) == ("qu", "evidentials")
    assert json.loads(items[0]["translation"])["en"] == "The house is big."


def test_a_path_that_leads_nowhere_says_what_is_there(tmp_path: Path) -> None:
    path = write(tmp_path, "nested.jsonl", '{"translation": {"en": "x"}, "meta": {}}\n', NESTED)
    with pytest.raises(CorpusError, match=r"row 1: no column or path 'translation.qu.0'; at 'qu' found en"):
        pairbank.load_corpus(path)


def test_a_list_of_json_rows_is_a_table(tmp_path: Path) -> None:
    column_map = '[columns]\ncontext_good = "0.0"\ncontext_bad = "0.1"\ntarget_good = "1.0"\ntarget_bad = "1.1"\n'
    rows = [[["Mutilari", "Mutilari"], ["zitzaion.", "zitzaien."]]]
    items = pairbank.load_corpus(write(tmp_path, "suite.json", json.dumps(rows), column_map), language="eu")
    assert sides(items) == [("zitzaion.", "zitzaien.")]
    assert items["context_bad"][:] == ["Mutilari"]


def test_what_is_typed_goes_before_what_the_map_says(tmp_path: Path) -> None:
    column_map = '[columns]\ntarget_good = "a"\ntarget_bad = "b"\n[fixed]\nlanguage = "de"\n'
    path = write(tmp_path, "mine.csv", "a,b,c\nx y,x z,q\n", column_map)
    items = pairbank.load_corpus(path, language="fr", columns={"phenomenon": "c"})
    assert (items[0]["language"], items[0]["phenomenon"]) == ("fr", "q")


def test_a_map_of_the_files_own_name_goes_before_that_of_the_folder(tmp_path: Path) -> None:
    path = write(tmp_path, "mine.csv", "a,b\nx y,x z\n", '[columns]\ntarget_good = "a"\ntarget_bad = "b"\n')
    (tmp_path / "mine.map.toml").write_text('[columns]\ntarget_good = "b"\ntarget_bad = "a"\n')
    assert sides(pairbank.load_corpus(path)) == [("x z", "x y")]
    assert sides(pairbank.load_corpus(path, map_file=tmp_path / "map.toml")) == [("x y", "x z")]


@pytest.mark.parametrize(
    ("column_map", "message"),
    [
        ('layuot = "long"', r"no key in .*map.toml 'layuot'; did you mean 'layout'\? Known: columns, contrasts, "),
        ('layout = "wide"', "layout is 'wide'; expected 'pairs', 'long' or 'sentences'"),
        ("[columns]\ntarget_good = 'a'", "names no two sides"),
        ("[columns]\nsentence = 'a'", "no schema column in"),
        ("layout = 'long'\n[columns]\nsentence = 'a'", r"layout 'long' needs \[label\]"),
        ("layout = 'long'\n[columns]\nphenomenon = 'a'", "needs sentence ="),
        ("[label]\ncolumn = 'a'\nsides = ['a', 'b']", "expected sides ="),
        (
            "[label]\ncolumn = 'a'\nsides = ['a', 'b']\nfirst = 0\nsecond = [0.0]",
            "'0' is under first and under second",
        ),
        ("[reading]\ndelimiter = ';;'", "reading.delimiter is ';;': String should have at most 1 character"),
        ("[reading]\nquotes = 'no way'", "reading.quotes is 'no way'; expected true or false"),
        ("[reading]\nsheets = 'x'", "unknown key 'reading.sheets'; did you mean 'sheet'"),
        ("[label]\ngood = 1", "label.column is missing"),
        ("[values]\nphenomenon = 'x'", "values.phenomenon is 'x'; expected a table"),
        ("[fixed]\nphenomenon = []", r"fixed.phenomenon is \[\]; expected a text"),
        ("contrasts = [['a']]", "contrasts.0"),
        ("order = 'bad-first'", "order is 'bad-first'; expected 'good-first'"),
        ("not toml", "not TOML"),
        ("[columns]\ntarget_good = 'a'\ntarget_bad = 'B'", r"no column of .* 'B'"),
    ],
)
def test_a_map_with_a_fault_says_what_was_expected(tmp_path: Path, column_map: str, message: str) -> None:
    with pytest.raises((CorpusError, UnknownNameError), match=message):
        pairbank.load_corpus(write(tmp_path, "mine.csv", "a,b\nx y,x z\n", column_map))


def workbook(path: Path, sheets: Mapping[str, Sequence[Sequence[str | float]]]) -> Path:
    with xlsxwriter.Workbook(path) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for n, row in enumerate(rows):
                sheet.write_row(n, 0, [cell if cell != "" else None for cell in row])
    return path


def test_a_workbook_is_a_table(tmp_path: Path) -> None:
    rows: list[list[str | float]] = [
        ["good", "bad", "human_good", "topic"],
        ["Él duerme.", "Él duermen.", 6.1000000000000005, "x"],
        ["Llueve.", "Llueven.", 7.0, ""],
    ]
    items = pairbank.load_corpus(workbook(tmp_path / "pares.xlsx", {"Hoja1": rows}), language="es")
    assert sides(items) == [("Él duerme.", "Él duermen."), ("Llueve.", "Llueven.")]
    assert items["human_good"][:] == pytest.approx([6.1, 7.0])
    assert items["topic"][:] == ["x", None]


def test_of_several_sheets_the_map_says_which(tmp_path: Path) -> None:
    sheets: dict[str, list[list[str | float]]] = {"notes": [["x"]], "items": [["good", "bad"], ["a b", "a c"]]}
    path = workbook(tmp_path / "two.xlsx", sheets)
    with pytest.raises(CorpusError, match=r"2 sheets \(notes, items\); say which in a map: sheet = 'notes'"):
        pairbank.load_corpus(path)
    (tmp_path / "map.toml").write_text(
        "[reading]\nsheet = 'items'\n[columns]\ntarget_good = 'good'\ntarget_bad = 'bad'\n"
    )
    assert sides(pairbank.load_corpus(path)) == [("a b", "a c")]


def test_what_is_no_workbook_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.xlsx"
    path.write_text("good,bad\na,b\n")
    with pytest.raises(CorpusError, match=r"not a readable \.xlsx workbook"):
        pairbank.load_corpus(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/_rels/workbook.xml.rels", '<!DOCTYPE x [<!ENTITY a "b">]><Relationships/>')
    with pytest.raises(CorpusError, match="declares entities"):
        pairbank.load_corpus(path)


def test_merged_cells_hold_their_value_in_all_their_rows(tmp_path: Path) -> None:
    path = tmp_path / "merged.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["phenomenon", "good", "bad", "topic"])
        for n in range(1, 6):
            sheet.write_row(n, 1, [f"Swans glide {n}.", f"Swans glides {n}."])
        sheet.merge_range(1, 0, 3, 0, "agreement")
        sheet.write(4, 0, "tense")
        sheet.merge_range(4, 3, 5, 3, "birds")
    items = pairbank.load_corpus(path)
    assert items["phenomenon"][:] == ["agreement", "agreement", "agreement", "tense", None]
    assert items["topic"][:] == [None, None, None, "birds", "birds"]


def test_rows_that_are_hidden_or_struck_through_are_left_out_and_said(tmp_path: Path) -> None:
    path = tmp_path / "kept.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet, struck = book.add_worksheet(), book.add_format({"font_strikeout": True})
        sheet.write_row(0, 0, ["good", "bad"])
        for n, style in enumerate((None, struck, None, None), 1):
            sheet.write_row(n, 0, [f"Swans glide {n}.", f"Swans glides {n}."], style)
        sheet.set_row(3, None, None, {"hidden": True})
        sheet.write(4, 1, "Swans glides 4.", struck)  # one cell of two: the row stays
    items = pairbank.load_corpus(path)
    assert [good for good, _ in sides(items)] == ["Swans glide 1.", "Swans glide 4."]
    reading = known_manifest(items)["facts"]["reading"]
    assert [note.split(" (")[0] for note in reading if "left out" in note] == [
        "1 hidden row(s) left out",
        "1 struck-through row(s) left out",
    ]
    (tmp_path / "map.toml").write_text(
        '[reading]\nhidden = true\n[columns]\ntarget_good = "good"\ntarget_bad = "bad"\n'
    )
    assert len(pairbank.load_corpus(path)) == 4


def test_a_strict_workbook_is_read_and_an_error_in_a_cell_is_refused(tmp_path: Path) -> None:
    rows = [["good", "bad"], ["Swans glide.", "Swans glides."]]
    path = workbook(tmp_path / "strict.xlsx", {"a": rows})
    transitional = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text.replace(transitional, "http://purl.oclc.org/ooxml/spreadsheetml/main"))
    assert sides(pairbank.load_corpus(path)) == [("Swans glide.", "Swans glides.")]
    with xlsxwriter.Workbook(tmp_path / "error.xlsx") as book:
        sheet = book.add_worksheet()
        for n, row in enumerate(rows):
            sheet.write_row(n, 0, row)
        sheet.write_formula(1, 1, "=1/0", None, "#DIV/0!")
    with pytest.raises(CorpusError, match="cell B2: holds the error"):
        pairbank.load_corpus(tmp_path / "error.xlsx")


def test_a_cell_far_below_the_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "far.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["good", "bad"])
        sheet.write(1_048_575, 16_383, "x")
    with pytest.raises(CorpusError, match="reach to row 1,048,576 and column 16,384"):
        pairbank.load_corpus(path)


TRIALS = """\
trial_type,item,version,sentence,ok,who,answer
practice,0,g,Swans glide.,1,a,Agree
critical,1,g,Ann hums.,1,a,Agree
critical,1,b,Ann hum.,-1,a,Disagree
critical,1,g,Ann hums.,1,b,Neither
critical,1,b,Ann hum.,-1,b,Disagree
critical,2,g,Um mhm.,0,a,Agree
critical,2,g,Well.,,a,Agree
Critical,3,g,It rains.,1.0,b,Agree
filler,4,b,Who knows that.,-1,b,Agree
"""
RATED = """\
layout = "sentences"
where = { trial_type = "critical" }
[columns]
sentence = "sentence"
rater = "who"
rating = "answer"
[values.rating]
Agree = 2
Neither = "1"
Disagree = 0
[label]
column = "ok"
good = 1
bad = -1
[ratings]
scale = "likert0-2"
"""


def test_a_map_leaves_rows_out_and_says_how_many_and_why(tmp_path: Path) -> None:
    items = pairbank.load_corpus(write(tmp_path, "trials.csv", TRIALS, RATED))
    assert items["target_good"][:] == ["Ann hums.", "Ann hum.", "It rains."]
    assert items["label"][:] == [1, 0, 1]
    assert items["human_good"][:] == [1.5, 0.0, 2.0]
    reading = known_manifest(items)["facts"]["reading"]
    assert [note for note in reading if "left out" in note] == [
        "2 row(s) left out, whose 'trial_type' is not 'critical'",
        "1 row(s) left out, whose 'ok' is 0, between -1 and 1",
        "1 row(s) left out, whose 'ok' is empty",
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("trial_type = ", "kind = ", r"no column of .*trials\.csv \(named in its map\) 'kind'"),
        ('"critical"', '["other", 3]', "no row is left; 9 row.s. left out, whose 'trial_type' is not 'other' or '3'"),
        (
            '"likert0-2"',
            '"likert2"',
            "row 4: column 'answer' holds 0, expected a rating from 1 to 2 .*, such as likert0-1",
        ),
        ("Disagree = 0", "Disagree = 9", "row 4: column 'answer' holds 9, expected a rating from 0 to 2"),
        ("Agree = 2", "Agree = []", "values.rating.Agree"),
    ],
)
def test_what_a_map_leaves_out_or_means_is_checked(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in RATED
    path = write(tmp_path, "trials.csv", TRIALS, RATED.replace(old, new))
    with pytest.raises((CorpusError, UnknownNameError), match=message):
        pairbank.load_corpus(path)


def test_some_of_several_conditions_are_contrasted(tmp_path: Path) -> None:
    table = (
        "frame,cond,ending\n1,best,He hums a tune.\n1,related,He hums a song.\n"
        "2,best,She rows a boat.\n2,unrelated,She rows a lamp.\n2,extra,She rows.\n3,best,It rains.\n"
    )
    column_map = (
        'layout = "long"\npair = "frame"\ncontrasts = [["best", "related"], ["best", "unrelated"]]\n'
        '[columns]\nsentence = "ending"\npair_id = "frame"\n[label]\ncolumn = "cond"\n'
    )
    path = write(tmp_path, "frames.csv", table, column_map)
    with pytest.raises(CorpusError, match="row 7: 1 better and 0 worse rows"):
        pairbank.load_corpus(path)
    path.write_text(table.removesuffix("3,best,It rains.\n"), encoding="utf-8")
    assert sides(pairbank.load_corpus(path)) == [
        ("He hums a tune.", "He hums a song."),
        ("She rows a boat.", "She rows a lamp."),
    ]


def test_na_stays_a_word_where_the_map_says_so(tmp_path: Path) -> None:
    text = "g,b,c\nNA,Na,x\nC d.,D c.,NA\n"
    kept = '[reading]\nmissing = []\n[columns]\ntarget_good = "g"\ntarget_bad = "b"\nphenomenon = "c"\n'
    items = pairbank.load_corpus(write(tmp_path, "na.csv", text, kept))
    assert sides(items) == [("NA", "Na"), ("C d.", "D c.")]
    assert items["phenomenon"][:] == ["x", "NA"]
    gone = pairbank.load_corpus(write(tmp_path, "na.csv", text, kept.replace("missing = []", "quotes = true")))
    assert sides(gone) == [("C d.", "D c.")]
    assert gone["phenomenon"][:] == [None]


@pytest.mark.parametrize(
    ("header", "first", "second", "ratings"),
    [
        ("s,r1,r2", "Ann hums.,Agree,Neither", "It rains.,Disagree,2", 'columns = ["r1", "r2"]'),
        ("s,all", "Ann hums.,Agree;Neither", "It rains.,Disagree;2", 'cell = "all"\nseparator = ";"'),
    ],
)
def test_ratings_in_words_are_numbers_wherever_they_stand(
    tmp_path: Path, header: str, first: str, second: str, ratings: str
) -> None:
    column_map = (
        'layout = "sentences"\n[columns]\nsentence = "s"\n[values.rating]\nAgree = 3\nNeither = "2"\nDisagree = 1\n'
        f'[ratings]\nscale = "likert3"\n{ratings}\n'
    )
    items = pairbank.load_corpus(write(tmp_path, "words.csv", f"{header}\n{first}\n{second}\n", column_map))
    assert items["human_good"][:] == [2.5, 1.5]
