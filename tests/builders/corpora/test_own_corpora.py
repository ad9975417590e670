"""Corpora of users: several files described in one TOML file, folders, composed texts, and ratings of people."""

import json
import re
from pathlib import Path

import pytest

import pairbank
from command_line import completed
from corpus_files import known_manifest
from own_files import read
from pairbank.builders.corpora.maps import read_map
from pairbank.builders.corpora.proposed_map import proposed_map
from pairbank.builders.corpora.registry import CORPORA
from pairbank.builders.dataset import manifest_of
from pairbank.errors import CorpusError, CorpusFileNotFoundError, UnknownNameError

CORPUS = """\
[corpus]
name = "kongruenz"
title = "Kongruenz im Deutschen"
licence = "cc-by-4.0"
language = "de"
citation = "@misc{roe2026, title = {Kongruenz}}"

[[tables]]
path = "{subset}/*.jsonl"
layout = "sentences"
[tables.columns]
sentence = "{subject} {verb.0}."
pair_id = "id"
[tables.fixed]
subset = "{subset}"
[tables.label]
column = "ok"
good = 1
bad = 0

[[tables]]
path = "pairs.tab"
[tables.columns]
target_good = "gut"
target_bad = "schlecht"

[ratings]
cell = "urteile"
scale = "likert5"
min_per_side = 2
"""


def corpus(folder: Path, text: str = CORPUS) -> Path:
    rows = {
        "nomen/eins.jsonl": {"id": 1, "subject": "Die Hunde", "verb": '["bellen"]', "ok": 1, "urteile": "5, 4,5"},
        "nomen/zwei.jsonl": {"id": 2, "subject": "Die Hunde", "verb": "['bellt']", "ok": 0, "urteile": [1, 2]},
        "pronomen/eins.jsonl": {"id": 3, "subject": "Wir", "verb": ["schläft"], "ok": 0, "urteile": "[1]"},
    }
    for name, row in rows.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / "corpus.toml").write_text(text, encoding="utf-8")
    return folder


def without_pairs(text: str = CORPUS) -> str:
    start, end = text.index('[[tables]]\npath = "pairs'), text.index("[ratings]")
    return text[:start] + text[end:]


def test_a_toml_file_describes_a_corpus_of_several_files(tmp_path: Path) -> None:
    folder = corpus(tmp_path / "mine", without_pairs())
    for path in (folder, folder / "corpus.toml"):
        items = pairbank.load_corpus(path)
        assert items["target_good"][:] == ["Die Hunde bellen.", "Die Hunde bellt.", "Wir schläft."]
        assert (items["subset"][:], items["label"][:]) == (["nomen", "nomen", "pronomen"], [1, 0, 0])
        assert set(items["language"][:]) == {"de"}
        assert items["human_good"][:] == pytest.approx([14 / 3, 1.5, None])
        assert items["human_n"][:] == [3, 2, None]
        assert items["flags"][2] == ["few_ratings"]
        manifest = known_manifest(items)
        assert (manifest["corpus"], manifest["title"]) == ("kongruenz", "Kongruenz im Deutschen")
        assert manifest["source"]["licence"] == "cc-by-4.0"
        assert manifest["source"]["redistributable"]
        assert manifest["source"]["citation"].startswith("@misc{roe2026")
        assert [*manifest["files"]] == ["nomen/eins.jsonl", "nomen/zwei.jsonl", "pronomen/eins.jsonl"]
        ratings = pairbank.load_ratings(path)
        assert ratings["value"][:] == [5, 4, 5, 1, 2]
        assert len(set(ratings["rater"][:])) == 5, "who gave a rating in a cell is not known"
        assert set(ratings["item_id"][:]) == set(items["item_id"][:2])


def test_files_that_no_table_fits_are_named_and_tables_are_needed(tmp_path: Path) -> None:
    folder = corpus(tmp_path / "mine", without_pairs().replace("{subset}/*", "{subset}/eins"))
    said = known_manifest(pairbank.load_corpus(folder))["facts"]["reading"]
    assert "not read, since no [[tables]] fits: nomen/zwei.jsonl" in said
    (folder / "corpus.toml").write_text(without_pairs().replace("jsonl", "csv"))
    with pytest.raises(CorpusFileNotFoundError, match=r"no table fits path \{subset\}/\*\.csv; found nomen/eins"):
        pairbank.load_corpus(folder)
    (folder / "one.toml").write_text("[columns]\ntarget_good = 'a'\ntarget_bad = 'b'\n")
    with pytest.raises(CorpusError, match=r"describes one table, and names no \[\[tables\]\]; type the table's path"):
        pairbank.load_corpus(folder / "one.toml")


def test_a_folder_of_tables_needs_no_map(tmp_path: Path) -> None:
    for name, text in {
        "nomen.csv": "good;bad\nDie Hunde bellen.;Die Hunde bellt.\n",
        "verben.tab": "a\tb\nx y\tx z\n",
    }.items():
        (tmp_path / "deutsch").mkdir(exist_ok=True)
        (tmp_path / "deutsch" / name).write_text(text, encoding="utf-8")
    items = pairbank.load_corpus(tmp_path / "deutsch", language="de")
    assert items["subset"][:] == ["nomen", "verben"]
    assert items["corpus"][:] == ["deutsch", "deutsch"]
    assert items["target_bad"][:] == ["Die Hunde bellt.", "x z"]
    assert len(pairbank.load_corpus(tmp_path / "deutsch", subset="verben")) == 1


def test_a_map_of_one_table_reads_every_table_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in ("one.csv", "two.csv"):
        (folder / name).write_text(f"a,b\n{name} y,{name} z\n")
    map_file = tmp_path / "turned.toml"
    map_file.write_text('[columns]\ntarget_good = "b"\ntarget_bad = "a"\n')
    items = pairbank.load_corpus(folder, map_file=map_file)
    assert items["target_good"][:] == ["one.csv z", "two.csv z"]
    assert items["subset"][:] == ["one", "two"]


def test_the_file_of_a_shipped_corpus_reads_a_users_copy_of_it(tmp_path: Path) -> None:
    shipped = Path(pairbank.__file__).parent / "builders/data/corpora/xcopa.toml"
    row = {"premise": "P.", "choice1": "A.", "choice2": "B.", "question": "cause", "label": 1, "changed": True}
    for n, file in enumerate(CORPORA["xcopa"].source.files):
        (tmp_path / file.name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file.name).write_text(json.dumps(row | {"idx": n}) + "\n", encoding="utf-8")
    text = shipped.read_text(encoding="utf-8").replace("[corpus]\n", '[corpus]\nname = "my-xcopa"\n')
    (tmp_path / "corpus.toml").write_text(text, encoding="utf-8")
    ours, own = pairbank.load_corpus("xcopa", data_dir=tmp_path), pairbank.load_corpus(tmp_path)
    assert own["item_id"][:] == [name.replace("xcopa", "my_xcopa") for name in ours["item_id"]]
    assert own.remove_columns(["item_id", "corpus"]).to_list() == ours.remove_columns(["item_id", "corpus"]).to_list()


JUDGMENTS = """\
item;who;trial;sentence;ok;points;comment
1;anna;1;Die Hunde bellen.;ja;7;
1;anna;2;Die Hunde bellt.;nein;2;odd
1;ben;2;Die Hunde bellen.;ja;6,5;
1;ben;1;Die Hunde bellt.;nein;3;
1;cem;1;Die Hunde bellen.;ja;1;
1;cem;2;Die Hunde bellt.;nein;7;
1;dora;2;Die Hunde bellt.;nein;4;
2;anna;3;Er schläft.;ja;6;
2;anna;4;Er schlafen.;nein;1;
2;ben;3;Er schläft.;ja;;
2;ben;4;Er schlafen.;nein;2;
check;anna;5;Bitte sieben.;ja;7;
check;ben;5;Bitte sieben.;ja;6;
check;cem;5;Bitte sieben.;ja;2;
"""
MAP = """\
layout = "long"
[columns]
item = "item"
sentence = "sentence"
rater = "who"
rating = "points"
[fixed]
language = "de"
[label]
column = "ok"
good = "ja"
bad = "nein"
"""
RULES = """
[ratings]
scale = "likert7"
min_per_rater = 2
[[ratings.attention]]
column = "item"
values = ["check"]
at_least = 6
"""


def judgments(folder: Path, column_map: str = MAP + RULES, table: str = JUDGMENTS) -> Path:
    path = folder / "urteile.csv"
    path.write_text(table, encoding="utf-8")
    (folder / "urteile.map.toml").write_text(column_map, encoding="utf-8")
    return path


def test_one_row_per_judgment_becomes_pairs_with_means_and_individual_ratings(tmp_path: Path) -> None:
    path = judgments(tmp_path)
    items = pairbank.load_corpus(path)
    assert items["target_good"][:] == ["Die Hunde bellen.", "Er schläft."]
    assert items["target_bad"][:] == ["Die Hunde bellt.", "Er schlafen."]
    # cem fails the check, dora gave one rating, ben left a cell empty: (7 + 6.5) / 2, 6; (2 + 3) / 2, (1 + 2) / 2
    assert items["human_good"][:] == [6.75, 6.0]
    assert items["human_bad"][:] == [2.5, 1.5]
    assert items["human_scale"][:] == ["likert7", "likert7"]
    assert items["human_n"][:] == [2, 2]
    assert "trial" not in items.column_names, "a column that differs between raters describes no item"
    manifest = known_manifest(items)
    said = "; ".join(manifest["facts"]["reading"])
    assert "7 ratings by 2 raters, scale likert7" in said
    assert "excluded: 1 rater who failed an attention check (2 ratings)" in said
    assert "excluded: 1 rater with fewer than 2 ratings (1 ratings)" in said
    assert "1 rows without a rating" in said
    assert "not kept, since they differ between ratings of one sentence: 'comment', 'trial'" in said
    assert "raters who fail an attention check (item check: expected at least 6)" in manifest["human"]
    ratings = pairbank.load_ratings(path)
    assert ratings.column_names == ["item_id", "side", "rater", "value", "scale"]
    assert sorted(zip(ratings["side"][:], ratings["rater"][:], ratings["value"][:], strict=True)) == [
        *(("bad", 0, 1.0), ("bad", 0, 2.0), ("bad", 1, 2.0), ("bad", 1, 3.0)),
        *(("good", 0, 6.0), ("good", 0, 7.0), ("good", 1, 6.5)),
    ]


def test_a_row_that_the_map_leaves_out_needs_no_rater(tmp_path: Path) -> None:
    column_map = 'where = { item = ["1", "2", "check"] }\n' + MAP + RULES
    items = pairbank.load_corpus(judgments(tmp_path, column_map, JUDGMENTS + "3;;6;Er singt.;ja;7;\n"))
    assert items["target_good"][:] == ["Die Hunde bellen.", "Er schläft."]
    assert "1 row(s) left out, whose 'item' is not" in "; ".join(known_manifest(items)["facts"]["reading"])


def test_every_rule_changes_who_is_left(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="row 13: 1 better and 0 worse rows"):
        pairbank.load_corpus(judgments(tmp_path, MAP))  # without a rule, a check is a sentence like any other
    everyone = judgments(tmp_path, MAP + RULES.replace("min_per_rater = 2", "failures = 1"))
    assert pairbank.load_corpus(everyone)["human_bad"][0] == 4.0, "(2 + 3 + 7 + 4) / 4"
    one_is_enough = judgments(tmp_path, MAP + RULES.replace("min_per_rater = 2", "min_per_rater = 1"))
    assert pairbank.load_corpus(one_is_enough)["human_bad"][0] == 3.0, "(2 + 3 + 4) / 3: dora gave exactly one"
    stricter = pairbank.load_corpus(judgments(tmp_path, MAP + RULES.replace("min_per_rater = 2", "min_per_rater = 4")))
    said = "; ".join(known_manifest(stricter)["facts"]["reading"])
    assert "excluded: 1 rater who failed" in said
    assert "excluded: 2 raters with fewer than 4 ratings (4 ratings)" in said, "ben and dora; cem has failed"
    few = judgments(tmp_path, MAP + RULES.replace("min_per_rater = 2", "min_per_side = 3"))
    items = pairbank.load_corpus(few)
    assert items["human_bad"][:] == [3.0, None]
    assert items["human_good"][:] == [None, None]
    assert items["flags"][:] == [["few_ratings"], ["few_ratings"]]


def test_a_rater_who_always_answers_alike_has_no_z_scores_wherever_the_rows_stand(tmp_path: Path) -> None:
    rows = [f"{n};{who};Satz {n}.;{1 + (n + place) % 7}" for n in range(24) for place, who in enumerate(("ana", "ben"))]
    rows += [f"{n};cem;Satz {n}.;{5 if n == 3 else 4}" for n in range(24)]
    column_map = """layout = "sentences"
[columns]
item = "item"
sentence = "sentence"
rater = "who"
rating = "points"
[ratings]
scale = "likert7"
normalisation = "z-by-rater"
"""
    path = judgments(tmp_path, column_map, "\n".join(["item;who;sentence;points", *rows, ""]))
    assert set(pairbank.load_corpus(path)["human_n"]) == {2}
    said = "; ".join(known_manifest(pairbank.load_corpus(path))["facts"]["reading"])
    assert "excluded: 1 rater who always give the same answer, or gave one (24 ratings)" in said


def test_a_field_of_a_path_is_one_folder_or_a_part_of_a_name(tmp_path: Path) -> None:
    (tmp_path / "corpus.toml").write_text(CORPUS.split("[ratings]", maxsplit=1)[0], encoding="utf-8")
    tables = read_map(tmp_path / "corpus.toml").tables[0]
    assert tables.path_fields("nomen/eins.jsonl") == {"subset": "nomen"}
    assert tables.path_fields("tief/nomen/eins.jsonl") is None
    assert tables.path_fields("nomen/eins.csv") is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "1;ben;2;Die Hunde bellen.;ja;6,5",
            "1;ben;2;Die Hunde bellen.;ja;8",
            "row 4: column 'points' holds 8, expected",
        ),
        ("1;ben;2;Die Hunde bellen.;ja;6,5", "1;ben;2;Die Hunde bellen.;ja;gut", "row 4: column 'points' holds 'gut'"),
        ("1;ben;2;", "1;;2;", "row 4: column 'who' is empty; expected who gave the rating"),
        ("1;ben;2;", "1;anna;2;", r"row 4: 'anna' rated this sentence before \(the first row of it is 2\)"),
    ],
)
def test_a_judgment_that_cannot_be_read_is_refused_with_its_row(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(CorpusError, match=message):
        pairbank.load_corpus(judgments(tmp_path, table=JUDGMENTS.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("scale =", "skale =", "unknown key 'ratings.skale'; did you mean 'scale'"),
        ('rating = "points"\n', "", "expected rater and rating under"),
        ('rating = "points"', 'rating = "punkte"', r"no column of .*urteile\.csv \(named in its map\) 'punkte'"),
        ('column = "item"\nvalues', 'column = "itm"\nvalues', "no column or path 'itm'"),
        ("at_least = 6", "", "expected at_least or at_most beside column and values"),
        ('scale = "likert7"', 'scale = "likert7"\ncell = "points"', "cell, rater given; expected one of columns, cell"),
        ('sentence = "sentence"', 'sentence = "sentence"\nhuman = "points"', "mean ratings .* and individual ratings"),
        ("min_per_rater = 2", "min_per_rater = -1", "ratings.min_per_rater is -1; expected 0 or a larger number"),
    ],
)
def test_rules_with_a_fault_say_what_was_expected(tmp_path: Path, old: str, new: str, message: str) -> None:
    column_map = MAP + RULES
    assert old in column_map
    with pytest.raises((CorpusError, UnknownNameError), match=message):
        pairbank.load_corpus(judgments(tmp_path, column_map.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[tables]]\nlayout = 'sentences'\n[tables.columns]\nsentence = 's'\n", "path is missing"),
        ("[[tables]]\npath = 'a.csv'\npaht = 'b'\n", "unknown key 'tables.0.paht'; did you mean 'path'"),
        (
            "[corpus]\ntitel = 'x'\n[columns]\ntarget_good = 'a'\ntarget_bad = 'b'\n",
            "unknown key 'corpus.titel'; did you",
        ),
        ("layout = 'pairs'\n[[tables]]\npath = 'a.csv'\n", r"layout beside \[\[tables\]\]; put them into"),
        (
            "[[tables]]\npath = '{subset}.csv'\ncolumns = {target_good='a', target_bad='b'}\nfixed.subset = '{x}'\n",
            r"no field of path '\{subset\}.csv' in .* 'x'",
        ),
        ("[[tables]]\npath = '{a}/{a}.csv'\n", r"\{a\} occurs twice in path"),
        (
            "[[tables]]\npath = '{language}.csv'\ncolumns = {target_good='a', target_bad='b'}\n",
            r"a\.csv, \{language\} of path '\{language\}\.csv': no language tag 'a'",
        ),
        (
            "[[keep]]\nnaem = 'x'\n[columns]\ntarget_good = 'a'\ntarget_bad = 'b'\n",
            "unknown key 'keep.0.naem'; did you mean 'name'",
        ),
    ],
)
def test_a_description_with_a_fault_says_what_was_expected(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.csv").write_text("a,b\nx y,x z\n")
    (tmp_path / "corpus.toml").write_text(text)
    with pytest.raises((CorpusError, UnknownNameError), match=message):
        pairbank.load_corpus(tmp_path)


def test_columns_that_are_kept_have_the_types_that_the_map_states(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"a": "x y", "b": "x z", "changed": false, "level": 3, "left": "out"}\n')
    keep = '[[keep]]\nname = "changed"\ntype = "bool"\n[[keep]]\nname = "level"\ntype = "int32"\n'
    (tmp_path / "map.toml").write_text(keep + '[columns]\ntarget_good = "a"\ntarget_bad = "b"\n')
    row = pairbank.load_corpus(path)[0]
    assert (row["changed"], row["level"]) == (False, 3)
    assert "left" not in row
    path.write_text('{"a": "x y", "b": "x z", "changed": false, "level": "high"}\n')
    with pytest.raises(CorpusError, match="row 1: column 'level' holds 'high', expected int32"):
        pairbank.load_corpus(path)


def test_a_bank_is_no_folder_of_tables(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(CorpusError, match="is a bank; give its items"):
        pairbank.load_corpus(tmp_path)


def proposed(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf-8")
    completed(["new", "map", str(folder / name)])
    return (folder / name).with_suffix(".map.toml").read_text(encoding="utf-8")


def test_new_map_fills_in_a_map_that_reads_the_table(tmp_path: Path) -> None:
    judgments = JUDGMENTS[: JUDGMENTS.index("check")].replace(";who;", ";Participant;")
    asked = proposed(tmp_path, "gefragt.csv", judgments)
    assert "# QUESTION: which value of 'ok' means acceptable (good)?" in asked
    assert "item: 1 | Participant: anna | trial: 1 | sentence: Die Hunde bellen. | ok: ja" in asked
    text = proposed(tmp_path, "urteile.csv", judgments.replace(";ja;", ";yes;").replace(";nein;", ";no;"))
    assert 'layout = "long"' in text
    assert 'rater = "Participant"' in text
    assert 'item = "item"' in text
    assert 'good = ["yes"]' in text
    assert pairbank.load_corpus(tmp_path / "urteile.csv")["human_n"][:] == [4, 2]
    single = proposed(tmp_path, "single.csv", "sentence,mean_rating\nThe dog barks.,6.5\nThe dog bark here.,2\n")
    assert 'human = "mean_rating"' in single
    items = pairbank.load_corpus(tmp_path / "single.csv")
    assert items["human_good"][:] == [6.5, 2.0]
    cells = proposed(tmp_path, "cells.csv", 'text,scores\nThe dog barks.,"4,5"\nThe dog bark here.,"1,2"\n')
    assert 'cell = "scores"\nscale = "likert5"' in cells
    assert pairbank.load_corpus(tmp_path / "cells.csv")["human_good"][:] == [4.5, 1.5]
    labelled = proposed(
        tmp_path, "labelled.tsv", "source\tlabel\tsentence\na1\t1\tThe dog barks.\na2\t0\tThe dog bark here.\n"
    )
    assert 'column = "label"\ngood = ["1"]\nbad = ["0"]' in labelled
    assert pairbank.load_corpus(tmp_path / "labelled.tsv")["label"][:] == [1, 0]


GOLD = "id,{},gold_label\n1,The lamp hums.,The lamp hum.,{}\n2,My aunts sings.,My aunts sing.,{}\n"


@pytest.mark.parametrize(
    ("sides", "first", "second"),
    [
        ("sentence_A,sentence_B", "A", "B"),
        ("option1,option2", "1", "2"),
        ("left,right", "left", "right"),
        ("s1,s2", "s1", "s2"),
        ("good,bad", "first", "second"),
    ],
)
def test_a_column_that_says_which_side_is_better_goes_before_names(
    tmp_path: Path, sides: str, first: str, second: str
) -> None:
    table = GOLD.format(sides, first, second)
    path = tmp_path / "gold.csv"
    path.write_text(table, encoding="utf-8")
    with pytest.raises(CorpusError, match=r"column 'gold_label' seems to say which of .*pairbank new map"):
        pairbank.load_corpus(path)
    columns = dict(zip(("target_good", "target_bad"), sides.split(","), strict=True))
    assert len(pairbank.load_corpus(path, columns=columns)) == 2, "the user says that it means something else"
    text = proposed(tmp_path, "gold.csv", table)
    assert f'[label]\ncolumn = "gold_label"\nsides = {json.dumps(sides.split(","))}' in text
    assert "# Tried on the table: 2 items." in text
    assert pairbank.load_corpus(path)["target_good"][:] == ["The lamp hums.", "My aunts sing."]


def test_what_new_map_cannot_decide_is_a_question_with_rows(tmp_path: Path) -> None:
    numbers = proposed(tmp_path, "numbers.csv", GOLD.format("s_a,s_b", "0", "1"))
    assert "# QUESTION: does gold_label = '0' mean that 's_a' is the better one?" in numbers
    assert "#   gold_label: 0 | s_a: The lamp hums. | s_b: The lamp hum." in numbers
    words = proposed(tmp_path, "none.csv", "status,q1,q2\nIP Address,7,2\nIP Address,odd,3\nPreview,6,1\n")
    assert 'sentence = "FILL_IN"' in words
    assert "# QUESTION: which column holds the sentences?" in words
    assert "#   status: IP Address | q1: odd | q2: 3" in words
    with pytest.raises(UnknownNameError, match="FILL_IN"):
        pairbank.load_corpus(tmp_path / "none.csv")


def test_new_map_says_what_its_map_leaves_out_or_cannot_read(tmp_path: Path) -> None:
    left_out = proposed(
        tmp_path, "some.csv", "sentence,label\nThe dog barks.,1\nThe dog bark here.,0\nNA,1\nHe sang it.,1\n"
    )
    assert "# Tried on the table: 3 items; 1 row(s) left out, with 'NA' for a sentence" in left_out
    uneven = "item,condition,sentence\n1,good,The dog barks.\n1,bad,The dog bark.\n2,good,It rains.\n"
    uneven += "3,good,He sang.\n3,bad,He sing.\n"
    text = proposed(tmp_path, "uneven.csv", uneven)
    assert "# QUESTION: the table cannot be read by this map:" in text
    assert "row 4: 1 better and 0 worse rows" in text


def test_a_table_with_one_text_column_is_offered_a_map(tmp_path: Path) -> None:
    for name, text in {
        "two.csv": "sentence,mean_rating\nThe dog barks.,6\nThe dog bark here.,2\n",
        "long.csv": "item,condition,sentence,label\n1,a,The dog barks.,good\n1,b,The dog bark here.,bad\n",
    }.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(CorpusError, match=rf"type pairbank new map \S*{name}"):
            read(tmp_path / name)


def test_a_proposed_map_never_names_a_column_that_is_not_there() -> None:
    header = ["x", "y"]
    assert "FILL_IN" in proposed_map(header, [{"x": 1, "y": 2}])


PEOPLE = ("PROLIFIC_PID", "IPAddress", "RecipientEmail", "WorkerId", "Participant Private ID", "LocationLatitude")


def test_columns_that_identify_people_are_not_kept(tmp_path: Path) -> None:
    """Of one participant they do not differ within a sentence, and would be kept as columns of the items."""
    path = tmp_path / "one.csv"
    ids = ["5f3c2a9b8e7d6c5b4a392817", "10.0.0.1", "a@b.org", "A1B2C3D4E5F6G7", "991", "47.4"]
    rows = [["good", "bad", "block", *PEOPLE], *([f"Dogs {v}.", f"Dog {v}.", "1", *ids] for v in ("bark", "run"))]
    path.write_text("\n".join(map(",".join, rows)) + "\n")
    items = pairbank.load_corpus(path)
    assert "block" in items.column_names
    assert not [name for name in items.column_names if re.search("prolific|ip|mail|worker|private|latit", name, re.I)]
    cells = {str(cell) for item in items for cell in item.values()}
    assert not cells & set(ids)
    said = "; ".join(known_manifest(items)["facts"]["reading"])
    assert "not kept, since they identify people: 'PROLIFIC_PID', 'IPAddress'" in said
    assert not set(ids) & set(re.findall(r"[\w.@]+", json.dumps(manifest_of(items))))


@pytest.mark.parametrize("software", ["prolific", "mturk"])
def test_ids_of_platforms_are_numbered_and_a_constant_rater_is_not_named(software: str, tmp_path: Path) -> None:
    column, bored, others = {
        "prolific": ("PROLIFIC_PID", "5f3c2a9b8e7d6c5b4a392817", [f"60aa2a9b8e7d6c5b4a39281{n}" for n in range(3)]),
        "mturk": ("WorkerId", "A1B2C3D4E5F6G7", [f"A9B2C3D4E5F6G{n}" for n in range(3)]),
    }[software]
    rows = [f"{column},sentence,points"]
    rows += [f"{who},Dog {n} barks.,{1 + (n + place) % 7}" for place, who in enumerate(others) for n in range(24)]
    rows += [f"{bored},Dog {n} barks.,4" for n in range(24)]
    (tmp_path / "r.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "r.map.toml").write_text(
        f'layout = "sentences"\n[columns]\nsentence = "sentence"\nrater = "{column}"\nrating = "points"\n'
        '[ratings]\nscale = "likert7"\n'
    )
    items = pairbank.load_corpus(tmp_path / "r.csv")
    manifest = json.dumps(manifest_of(items))
    assert "an id of a platform" in manifest
    assert not [who for who in (bored, *others) if who in manifest]
    assert set(pairbank.load_ratings(tmp_path / "r.csv")["rater"][:]) <= set(range(4))


def test_a_map_that_keeps_what_identifies_people_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("good,bad,IPAddress\nDogs bark.,Dog bark.,10.0.0.1\n")
    (tmp_path / "p.map.toml").write_text(
        '[columns]\ntarget_good = "good"\ntarget_bad = "bad"\n[[keep]]\nname = "ip"\ncolumn = "IPAddress"\n'
    )
    with pytest.raises(CorpusError, match="'IPAddress', which identifies people"):
        pairbank.load_corpus(tmp_path / "p.csv")
