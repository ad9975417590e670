"""A user's file is read as it is meant, and what was done is said, or it is refused with the remedy: 300 files.

Each case is what somebody's program, spreadsheet or editor writes. None ends in an exception that is not ours, none is
read in silence where it could be read in two ways.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from own_files import json_lines, parquet, read
from pairbank.builders.corpora.registry import CORPORA
from pairbank.errors import PairbankError

PAIRS = [("Die Hunde hören.", "Die Hunde hört."), ("Sie sah ihn.", "Sie sah er.")]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A file, and how it comes out: `refused` matches the error, else `said` matches what is said of the reading."""

    id: str
    name: str
    data: bytes
    refused: str = ""
    said: str = ""
    pairs: list[tuple[str, str]] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    holds: dict[str, Any] = field(default_factory=dict)
    """Column -> its value in the first row."""


def table(header: str, rows: list[tuple[str, str]] | None = None, *, by: str = ",", end: str = "\n") -> str:
    lines = [header.replace(",", by), *(f"{good}{by}{bad}" for good, bad in (PAIRS if rows is None else rows))]
    return "".join(line + end for line in lines)


def case(id_: str, name: str, data: bytes, **given: Any) -> Case:  # noqa: ANN401 - fields of Case, options of `read`
    expected = {key: given.pop(key) for key in ("refused", "said", "pairs", "holds") if key in given}
    return Case(id=id_, name=name, data=data, options=given, **expected)


def csv(id_: str, text: str | bytes, **given: Any) -> Case:  # noqa: ANN401 - as above
    return case(id_, "mine.csv", text.encode() if isinstance(text, str) else text, **given)


def jsonl(id_: str, *rows: object, **given: Any) -> Case:  # noqa: ANN401 - as above
    return case(id_, "mine.jsonl", rows[0] if isinstance(rows[0], bytes) else json_lines(*rows), **given)


def pq(id_: str, data: bytes, **given: Any) -> Case:  # noqa: ANN401 - as above
    return case(id_, "mine.parquet", data, **given)


def encodings_and_delimiters() -> Iterator[Case]:
    """What spreadsheets write: semicolons, `sep=`, byte-order marks, line ends, legacy encodings."""
    said = {",": "separated by commas", ";": "separated by semicolons", "\t": "separated by tabs"}
    for suffix, own in ((".csv", ","), (".tsv", "\t")):
        for by, words in said.items():
            for codec in ("utf-8", "utf-8-sig", "utf-16"):
                for first in ("", f"sep={by}\r\n"):
                    expected = "as its first line says" if first else "" if by == own else words
                    data = (first + table("good,bad", by=by, end="\r\n")).encode(codec)
                    name = f"{suffix} by {by!r} in {codec} after {first!r}"
                    yield Case(id=name, name=f"mine{suffix}", data=data, said=expected, pairs=PAIRS)
    marked = codecs.BOM_UTF16_BE + table("good,bad").encode("utf-16-be")
    yield csv("big-endian UTF-16", marked, said="read as UTF-16, as its byte-order mark says", pairs=PAIRS)
    yield csv("old Macintosh line ends", table("good,bad", end="\r"), pairs=PAIRS)
    yield csv("no last line end", table("good,bad").rstrip(), pairs=PAIRS)
    for codec in ("cp1252", "latin-1", "mac-roman", "cp437", "cp850"):
        data = table("good,bad").encode(codec)
        yield csv(f"{codec}, not said", data, refused=r"row 2: byte .* is not UTF-8; .*--encoding cp1252")
        if codec == "cp1252":
            yield csv("the word as Windows has it", data, refused="is not UTF-8; .*the word would be 'hören.'")
        yield csv(f"{codec}, said", data, encoding=codec, said="as asked", pairs=PAIRS)
    for codec, pair in {
        "koi8-r": ("Он ушёл домой.", "Он ушла домой."),
        "shift_jis": ("猫が好きだ。", "猫を好きだ。"),
        "gb18030": ("他昨天去了学校。", "他昨天去了学校吗呢。"),
        "euc-kr": ("나는 학교에 갔다.", "나는 학교를에 갔다."),
        "cp1253": ("Ο σκύλος γαβγίζει.", "Ο σκύλος γαβγίζουν."),
    }.items():
        data = table("good,bad", [pair]).encode(codec)
        yield csv(f"{codec}, not said", data, refused="is not UTF-8")
        yield csv(f"{codec}, said", data, encoding=codec, said="as asked", pairs=[pair])
    for codec in ("utf-16-le", "utf-16-be", "utf-32-le"):
        data = table("good,bad", [("Ann left.", "Ann leaved.")]).encode(codec)
        yield csv(f"{codec} without mark", data, refused=r"control character U\+0000|no rows|cannot tell|one column")
        yield csv(f"{codec} without mark, said", data, encoding=codec, pairs=[("Ann left.", "Ann leaved.")])
    utf8 = table("good,bad").encode()
    yield csv("cp1252 asked for, UTF-8 found", utf8, encoding="cp1252", said="though it is UTF-8")
    yield csv("mark against what is asked", codecs.BOM_UTF8 + utf8, encoding="cp1252", refused="leave the encoding")
    yield csv("no such encoding", utf8, encoding="cp99999", refused="no encoding 'cp99999'")
    yield csv("encoding that is no text", utf8, encoding="base64", refused="no encoding 'base64'")
    yield csv("encoding with a NUL", utf8, encoding="a\0b", refused="no encoding")
    yield csv("two delimiters that both fit", "good;x,bad\na;y,b\n", refused="semicolons both make columns.*sep=")
    yield csv(
        "a comma in every header cell", "Satz, gut;schlecht\nA b.;B a.\n", said="semicolons", pairs=[("A b.", "B a.")]
    )
    yield csv("sep=| in the first line", "sep=|\ngood|bad\nA.|B.\n", said=r"separated by '\|'", pairs=[("A.", "B.")])
    yield csv("a comma that is not quoted", "good,bad\nA, b.,B.\n", refused="row 2: 3 cells, expected 2")


def structures() -> Iterator[Case]:
    """Files that are cut, empty, ragged or something else."""
    yield csv("nothing", "", refused="empty file")
    yield csv("a mark alone", codecs.BOM_UTF8, refused="empty file")
    yield csv("a blank line", "\n", refused="row 1: empty; expected a header")
    yield csv("a header alone", "good,bad\n", refused="no rows")
    yield csv("a header and blank rows", "good,bad\n,\n\n", refused="no rows")
    yield csv("sep= alone", "sep=;\n", refused="empty; expected a header")
    yield csv("blank rows at the end", table("good,bad") + ",\n , \n\n", said="2 rows; .*3 blank row", pairs=PAIRS)
    yield csv(
        "a blank row inside", "good;bad\nA.;B.\n;\nC.;D.\n", said="1 blank row", pairs=[("A.", "B."), ("C.", "D.")]
    )
    yield csv("columns without name or content", "good,bad,,\nA.,B.,,\n", pairs=[("A.", "B.")], said="by its name")
    yield csv("content without a name", "good,bad,\nA.,B.,x\n", refused="row 2: 'x' is in column 3, which has no name")
    yield csv("a name twice", "good,bad,bad\nA.,B.,C.\n", refused="column 'bad' occurs 2 times in the header")
    yield csv(
        "a name twice but for capitals", "good,Bad,bad\nA.,B.,C.\n", refused="'Bad' and 'bad' may both be target_bad"
    )
    yield csv("a quote that stays open", 'good,bad\nA.,B.\n"C.,D.\nE.,F.\n', refused="row 3: not readable as delimited")
    yield csv("a quote inside a cell", 'good,bad\n"A" b.,B.\n', refused="row 2: not readable as delimited")
    yield csv("a quoted line break", 'good,bad\n"A\nb.",B.\n', pairs=[("A\nb.", "B.")])
    yield csv("a cell of 17 MB", "good,bad\n" + "a" * (17 * 2**20) + ",B.\n", refused="field larger than field limit")
    yield csv(
        "two faults, both named",
        "good,bad\nA.,\nB.,C.\nD.\n",
        refused=r"(?s)2 rows cannot .*row 2: column 'bad' is empty.*row 4: 1 cells",
    )
    many = "good,bad\n" + "A.,\n" * 30
    yield csv("thirty faults, twenty shown", many, refused=r"(?s)30 rows cannot .*row 21: .*\n  ... and 10 more$")
    yield csv("white space for a sentence", "good,bad\n ,B.\n", refused="row 2: column 'good' is empty")
    yield csv("a no-break space for a sentence", "good,bad\n\u00a0,B.\n", refused="row 2: column 'good' is empty")
    for what, start in {
        "spreadsheet": b"PK\3\4",
        "xls": b"\xd0\xcf\x11\xe0",
        "gzip": b"\x1f\x8b\x08",
        "parquet": b"PAR1",
    }.items():
        yield csv(f"{what} called .csv", start + b"\0" * 64, refused="by its first bytes; export it")
    yield csv("a web page", "<!DOCTYPE html>\n<html><body>404</body></html>\n", refused="one column")
    yield csv("one column", "sentence\nA b.\n", refused="one column, 'sentence'; expected two")
    yield csv(
        "three columns, none known",
        "a,b,c\n1,A.,B.\n",
        refused="cannot tell which .*--column target_good=b --column target_bad=c",
    )
    yield csv(
        "two columns left beside an id",
        "id,Satz A,Satz B\n1,A.,B.\n",
        refused="'id' is pair_id.*--column 'target_good=Satz A'",
    )
    yield csv("bytes 0 to 255", bytes(range(256)), refused="mine.csv")
    yield csv("zeros", b"\0" * 1000, refused="control character|one column|no rows")
    yield csv("a subset that there is not", "good,bad,subset\nA.,B.,x\n", pairs=[("A.", "B.")], holds={"subset": "x"})
    yield csv("a shell command in a cell", "good,bad\n=1+1,@SUM(A1)\n", pairs=[("=1+1", "@SUM(A1)")])
    yield csv(
        "nan, null and None are words", "good,bad\nnan,null\nNone,none\n", pairs=[("nan", "null"), ("None", "none")]
    )
    for word in ("NA", "NaN", "<NA>", "#N/A"):
        yield csv(
            f"{word} for a sentence",
            f"good,bad,phenomenon,language\nA b.,B a.,{word},na\nC d.,{word},x,na\n{word},{word},x,na\n",
            said=f"2 row.s. left out, with '{word}' for a sentence",
            pairs=[("A b.", "B a.")],
            holds={"phenomenon": None, "language": "na"},
        )
    yield csv("NA alone", "good,bad\nNA,B a.\n", refused="no row is left; 1 row.s. left out, with 'NA' for a sentence")
    yield csv(
        "own columns named like the schema's",
        "good,bad,item_id,flags,flags_source\nA.,B.,1,2,3\n",
        pairs=[("A.", "B.")],
        holds={"item_id_source": "1", "flags_source_source": "2", "flags_source": "3"},
    )


def names() -> Iterator[Case]:
    """Which of two columns is the better one: always said, and asked for where it is doubtful."""
    by_name = "better = column {0!r} (by its name), worse = column {1!r} (by its name)"
    by_place = "better = column {0!r} (by its place), worse = column {1!r} (by its place)"
    for good, bad in (
        ("good", "bad"), ("Good", "BAD"), (" good ", "bad "), ("grammatical", "ungrammatical"), ("better", "worse"),
        ("correct", "incorrect"), ("acceptable", "unacceptable"), ("sentence_good", "sentence_bad"),
        ("good_sentence", "bad_sentence"), ("target_good", "target_bad"),
    ):  # fmt: skip
        words = re.escape(by_name.format(good, bad))
        yield csv(f"{good} before {bad}", table(f"{good},{bad}"), said=words, pairs=PAIRS)
        exchanged = [(bad_text, good_text) for good_text, bad_text in PAIRS]
        yield csv(f"{bad} before {good}", table(f"{bad},{good}", exchanged), said=words, pairs=PAIRS)
    for first, second in (
        ("A", "B"), ("Satz 1", "Satz 2"), ("left", "right"), ("Grammatisch", "Ungrammatisch"), ("chosen", "rejected"),
        ("0", "1"), ("the better one", "the worse one"), ("sentence", "starred"), ("合法", "不合法"),
        ("preferred", "dispreferred"),
    ):  # fmt: skip
        words = re.escape(by_place.format(first, second))
        yield csv(f"{first}, {second} by place", table(f"{first},{second}"), said=words, pairs=PAIRS)
    for first, second in (
        ("Ungrammatisch", "Grammatisch"), ("inkorrekt", "korrekt"), ("falsch", "richtig"), ("rejected", "chosen"),
        ("schlecht", "gut"), ("inaceptable", "aceptable"), ("agrammatical", "grammatical_fr"), ("sbagliata", "giusta"),
        ("неправильно", "правильно"), ("不合法", "合法"), ("ill-formed", "well-formed"), ("is_wrong", "is_right"),
        ("implausible", "plausible"), ("not acceptable", "ok"), ("*", "ok"), ("fout", "goed"),
        ("sentence", "well formed"),
    ):  # fmt: skip
        line = "type: --column "
        yield csv(f"{first}, {second} the wrong way round", table(f"{first},{second}"), refused=re.escape(line))
    typed = {"target_good": "Grammatisch", "target_bad": "Ungrammatisch"}
    text = table("Ungrammatisch,Grammatisch", [(b, a) for a, b in PAIRS])
    yield csv("the line typed", text, columns=typed, said="as you say", pairs=PAIRS)
    for name in ("label", "judgment", "Rating", "acceptability", "id", "score", "Urteil", "gold", "is_label", "notes"):
        yield csv(f"sentence, {name}", f"sentence,{name}\nA b c.,x\nD e f.,y\n", refused="type|cannot tell")
    labels = "sentence,{}\n" + "".join(f"Sentence {n} is here.,{{}}\n" for n in range(8))
    yield csv(
        "numbers for sentences", labels.format("x", *"10101010"), refused="column 'x' holds numbers.*type: --column"
    )
    yield csv(
        "two labels over and over", labels.format("x", *["ok", "no"] * 4), refused="column 'x' holds 2 values over"
    )
    yield csv("ids for sentences", labels.format("x", *(f"s{n}" for n in range(8))), refused="column 'x' holds ids")
    yield csv("numbers under known names", "good,bad\n1,0\n0,1\n", refused="column 'good' holds numbers")
    yield csv("numbers after a context", "context,good,bad\n2 and 2 is,4,5\n", pairs=[("4", "5")])
    for header in (
        "The dogs bark.,The dogs barks.", "他去学校。,他学校去。", "who did you see there,who did you saw there",
        "The dogs bark,The dogs bark", "Ann left.,Ann leaved.", "Schläft er?,Schlaft er?",
    ):  # fmt: skip
        yield csv(f"no header but {header}", table(header), refused="put a line above it|occurs 2 times")
    yield csv("a header that comes again", "A,B\nA,B\nC d.,D c.\n", refused="put a line above it")
    yield csv(
        "three columns without header",
        "The dogs bark.,The dogs barks.,agreement\n" * 2,
        refused="put a line above it|cannot tell",
    )
    yield csv(
        "a space after each comma",
        "A, B\nAnn left., Ann leaved.\nSue ran., Sue runned.\n",
        refused="begins with a space, which would be scored",
    )
    yield csv(
        "both sides one column",
        table("A,B"),
        columns={"target_good": "A", "target_bad": "A"},
        refused="mapped to both sides",
    )
    yield csv(
        "a column that is not there",
        table("A,B"),
        columns={"target_good": "C"},
        refused="no column 'C' for target_good; found A, B",
    )
    yield csv("no schema column", table("A,B"), columns={"target_god": "A"}, refused="did you mean 'target_good'")
    for shipped in CORPORA:
        yield Case(
            id=f"{shipped}.csv",
            name=f"{shipped}.csv",
            data=table("good,bad").encode(),
            refused=f"{shipped} for the corpus itself",
        )
    for name in ("BLiMP.csv", "hu_levy_blimp.tsv", "li.jsonl", "Starter.parquet"):
        yield Case(id=name, name=name, data=b"", refused="ships with pairbank.*rename the file, as my_")


def languages() -> Iterator[Case]:
    """Tags in any form are taken in their standard form; what is no tag is refused with the nearest."""
    given = {
        "zh_CN": "zh-CN", "zh_Hans": "zh-Hans", "cmn": "zh", "zho": "zh", "ja_JP": "ja-JP", "jpn": "ja",
        "en_US": "en-US", "eng": "en", "deu": "de", "ger": "de", "EN": "en", "pt_br": "pt-BR",
        "iw": "he", "fra": "fr", "zh-yue": "yue",
    }  # fmt: skip
    for tag, standard in given.items():
        said = re.escape(f"from {tag!r}")
        yield csv(f"language {tag}", table("good,bad"), language=tag, said=said, holds={"language": standard})
        text = f"good,bad,language\nA.,B.,{tag}\n"
        yield csv(f"cell {tag}", text, said=re.escape(f"{tag!r} as {standard}"), holds={"language": standard})
    yield csv("no language", table("good,bad"), said=r"language en \(English\), the default; for another, --lang")
    yield csv("a language", table("good,bad"), language="de", said=r"language de \(German\)")
    for tag, near in {
        "german": "'de'", "English": "'en'", "jp": "'ja'", "cn": "'zh'", "gr": "'el'", "en_US.UTF-8": "'en'",
        "germn": "'de'", "Mandarin": "'zh'",
    }.items():  # fmt: skip
        yield csv(f"language {tag}", table("good,bad"), language=tag, refused=f"did you mean {near}")
        yield csv(
            f"cell {tag}", f"good,bad,language\nA.,B.,{tag}\n", refused=f"row 2: no language tag .* did you mean {near}"
        )
    for tag in ("", " ", "x", "zzzz", "12", "de de", "../de", "a" * 300):
        yield csv(f"language {tag[:9]!r}", table("good,bad"), language=tag, refused="no language tag")


def cells() -> Iterator[Case]:
    """Cells that are no sentences: control characters, halves of characters, lists, bytes, marks."""
    for number in (0, 1, 7, 8, 11, 12, 14, 27, 31, 127, 128, 150, 0xFFFF):
        odd = chr(number)
        name = f"U+{number:04X}"
        yield csv(
            f"{name} in a sentence", table("good,bad", [(f"A {odd} b.", "B.")]), refused=re.escape(f"character {name}")
        )
        yield jsonl(
            f"{name} as JSON", f'{{"good": "A \\u{number:04x}.", "bad": "B."}}', refused=re.escape(f"character {name}")
        )
    yield csv(
        "U+001B in a note",
        "good,bad,note\nA.,B.,\x1b[1m\n",
        refused=r"column 'note' holds the control character U\+001B",
    )
    for number in (0xD800, 0xDBFF, 0xDC00, 0xDFFF):
        half = f'{{"good": "A \\u{number:04x} b.", "bad": "B."}}'
        yield jsonl(f"U+{number:04X}, half of a character", half, refused=r"row 1: \\ud.* is half of a character")
    yield jsonl("both halves", '{"good": "A \\ud83d\\ude00.", "bad": "B."}', pairs=[("A 😀.", "B.")])
    for number in (0x85, 0x2028, 0x2029):
        pair = (f"A{chr(number)}b.", "B.")
        yield jsonl(f"U+{number:04X} ends no line", {"good": pair[0], "bad": pair[1]}, pairs=[pair])
        yield csv(f"U+{number:04X} ends no record", table("good,bad", [pair]), pairs=[pair])
    yield csv("a lost character", table("good,bad", [("Caf\ufffd.", "B.")]), said=r"U\+FFFD in 1 row")
    for value in (["A."], {"text": "A."}, True, 1, 1.5):
        kind = "a list|an object|true or false|a number"
        yield jsonl(f"{value!r} for a sentence", {"good": value, "bad": "B."}, refused=f"column 'good' holds ({kind})")
        if not isinstance(value, bool | int | float):
            row = {"good": "A.", "bad": "B.", "phenomenon": value}
            yield jsonl(f"{value!r} for a class", row, refused="column 'phenomenon' holds")
            kept = {"good": "A.", "bad": "B.", "more": value}
            yield jsonl(
                f"{value!r} in a column of one's own", kept, said="kept as JSON in 'more'", pairs=[("A.", "B.")]
            )
    yield jsonl(
        "null for a sentence",
        {"good": None, "bad": "B."},
        {"good": "A.", "bad": "B."},
        refused="row 1: column 'good' is empty",
    )
    for mark in ("*", "?", "??", "?*", "#", "%", "* ", "*?"):
        text = table("good,bad", [("Ann left.", f"{mark}Ann leaved.")])
        yield csv(f"{mark} before a sentence", text, refused=re.escape("type --marks strip"))
        stripped = [("Ann left.", "Ann leaved.")]
        yield csv(f"{mark} taken off", text, marks="strip", said="marks taken off in 1 row", pairs=stripped)
    starred = table("A,B", [("*Ann leaved.", "Ann left.")])
    yield csv("the star on the better side", starred, refused="--column target_good=B --column target_bad=A too")
    yield csv("a star that is meant", starred, marks="keep", pairs=[("*Ann leaved.", "Ann left.")])
    yield csv("no such treatment", starred, marks="drop", refused="no treatment of marks 'drop'")
    yield csv("no such task", table("good,bad"), task="pair", refused="no task 'pair'. Known: concept_pair")
    yield csv("no such task in a cell", "good,bad,task\nA.,B.,pairs\n", refused="row 2: no task 'pairs'")
    yield csv(
        "Spanish question marks", table("good,bad", [("¿Qué ves?", "¿Que ve?")]), pairs=[("¿Qué ves?", "¿Que ve?")]
    )


GERMAN = [
    ("Ich helfe dem Mädchen.", "Ich helfe das Mädchen."),
    ("Gestern hat Jürgen gelesen.", "Gestern Jürgen hat gelesen."),
    ("Er hat es geöffnet.", "Er hat geöffnet es."),
    ("Wir sind gefahren.", "Wir haben gefahren."),
    ("Das Mädchen lächelt.", "Die Mädchen lächelt."),
]


def marks() -> Iterator[Case]:
    """A mark on the better side contradicts the reading: it is never taken off there in silence."""
    turned = table("A;B", [(f"*{bad}", good) for good, bad in GERMAN], by=";")
    exchange = re.escape("--marks strip, and --column target_good=B --column target_bad=A too")
    for asked in ("refuse", "strip"):
        yield csv(
            f"all stars first, marks={asked}",
            turned,
            marks=asked,
            refused=f"row 2, 3, 4 and 2 more: column 'A', which is read as the better side, .*{exchange}",
        )
    typed = {"target_good": "B", "target_bad": "A"}
    yield csv("the line typed for stars", turned, marks="strip", columns=typed, pairs=GERMAN)
    yield csv(
        "stars that decide",
        turned,
        marks="decide",
        said=r"better = column without a mark in its row \('A' in 0, 'B' in 5\).*taken off in 5 row",
        pairs=GERMAN,
    )
    mixed = "A;B;R1;R2\n" + "".join(
        f"*{bad};{good};1,5;6,5\n" if place == 2 else f"{good};*{bad};6,5;1,5\n"
        for place, (good, bad) in enumerate(GERMAN)
    )
    columns = {"target_good": "A", "target_bad": "B", "human_good": "R1", "human_bad": "R2"}
    for asked in ("refuse", "strip"):
        yield csv(
            f"one star first, marks={asked}",
            mixed,
            marks=asked,
            columns=columns,
            refused=r"row 4: column 'A', which is read as the better side, .*type --marks decide",
        )
    yield csv(
        "stars that decide, with what belongs to the sides",
        mixed,
        marks="decide",
        columns=columns,
        said=r"\('A' in 4, 'B' in 1\)",
        pairs=GERMAN,
        holds={"human_good": 6.5, "human_bad": 1.5},
    )
    undecided = table("A,B", [("Ann left.", "*Ann leaved."), ("Sue ran.", "Sue runned."), ("*B a.", "*A b.")])
    yield csv(
        "rows that no star decides",
        undecided,
        marks="decide",
        refused="row 3, 4: expected a mark .* before one of the two sentences, found none or one before both",
    )
    yield csv("both sides marked", table("A,B", [("?A b.", "*B a.")]), marks="strip", pairs=[("A b.", "B a.")])
    yield csv(
        "the worse mark first", table("A,B", [("*A b.", "?B a.")]), marks="strip", refused="type --marks strip, and"
    )


def wide_tables() -> Iterator[Case]:
    """Tables of many columns: what is suggested can be pasted, and nothing but sentences is scored."""
    header = "Nr;Phänomen;guter Satz;schlechter Satz;Mittelwert gut;Mittelwert schlecht\n"
    classes = ("Kasus", "Verb", "Verb", "Auxiliar", "Genus")
    wide = header + "".join(
        f"{n};{what};{good};{bad};6,{n};2,{n}\n"
        for n, (what, (good, bad)) in enumerate(zip(classes, GERMAN, strict=True))
    )
    pair = "--column 'target_good=guter Satz' --column 'target_bad=schlechter Satz'"
    yield csv("a number, a class, a pair, ratings", wide, refused=re.escape(f"type: {pair}"))
    turned = header.replace("guter", "x").replace("schlechter", "guter").replace("x", "schlechter")
    exchanged = turned + "".join(f"1;Kasus;{bad};{good};6,1;2,1\n" for good, bad in GERMAN)
    yield csv("the worse sentence first in a wide table", exchanged, refused=re.escape(f"type: {pair}"))
    for good, bad, why in (
        ("Nr", "Phänomen", "'Nr' holds numbers"),
        ("Mittelwert gut", "Mittelwert schlecht", "'Mittelwert gut' holds numbers"),
        ("guter Satz", "Nr", "'Nr' holds numbers"),
        ("Phänomen", "guter Satz", "'Phänomen' holds single words"),
    ):
        typed = {"target_good": good, "target_bad": bad}
        yield csv(f"{good} against {bad}", wide, columns=typed, refused=f"{why}.*{re.escape(pair)}")
    typed = {"target_good": "guter Satz", "target_bad": "schlechter Satz"}
    said = "not used, only kept: 'Nr', 'Phänomen', 'Mittelwert gut', 'Mittelwert schlecht'$"
    yield csv("columns that are not used", wide, columns=typed, said=said, pairs=GERMAN)
    rated = typed | {"human_good": "Mittelwert gut", "human_bad": "Mittelwert schlecht", "phenomenon": "Phänomen"}
    yield csv(
        "a scale for all rows",
        wide,
        columns=rated,
        fixed={"human_scale": "likert7", "human_n": "20"},
        said="not used, only kept: 'Nr'$",
        holds={"human_scale": "likert7", "human_n": 20, "phenomenon": "Kasus"},
    )
    yield csv("a side for all rows", wide, fixed={"target_good": "A."}, refused="can be fixed 'target_good'")
    yield csv(
        "fixed, and a column",
        "good,bad,phenomenon\nA.,B.,x\n",
        fixed={"phenomenon": "y"},
        refused="phenomenon is column 'phenomenon', and fixed to 'y'",
    )
    chinese = "编号,甲,乙\n1,他昨天去了学校。,他昨天学校去了。\n2,我吃饭了。,我饭吃了。\n"
    yield csv("a wide Chinese table", chinese, refused="type: --column 'target_good=甲' --column 'target_bad=乙'")
    english = "item,cond,Sentence,Alternative,comment\n" + "".join(
        f"{n},agr,The dogs near tree {n} bark.,The dogs near tree {n} barks.,a remark on it\n" for n in range(5)
    )
    yield csv(
        "a wide English table", english, refused="type: --column target_good=Sentence --column target_bad=Alternative"
    )
    yield csv("numbers alone", "a,b,c\n1,2,3\n4,5,6\n", refused="no two columns hold texts.*pairbank new map")


def headerless() -> Iterator[Case]:
    """A file without header line keeps its first row when the first suggestion is typed."""
    bare = "".join(f"{good};{bad}\n" for good, bad in GERMAN)
    yield csv("no header", bare, refused="type --header good,bad .*else bad,good")
    yield csv("no header, the line typed", bare, header=("good", "bad"), said="5 rows", pairs=GERMAN)
    turned = "".join(f"*{bad};{good}\n" for good, bad in GERMAN)
    yield csv("no header, stars first", turned, refused="type --header bad,good ")
    wide = "".join(f"{n};{good};{bad}\n" for n, (good, bad) in enumerate(GERMAN))
    yield csv("no header, three columns", wide, refused="type --header column1,good,bad ")
    yield csv("no header, three columns, the line typed", wide, header=("column1", "good", "bad"), pairs=GERMAN)
    yield csv("a header of another width", bare, header=("good",), refused="one column|2 cells, expected 1")
    yield jsonl("a header for JSON", {"good": "A."}, header=("good", "bad"), refused="names its columns itself")


def numbers() -> Iterator[Case]:
    for cell, value in {
        "6.4": 6.4,
        "-1": -1.0,
        "1e-3": 0.001,
        ".5": 0.5,
        "+2": 2.0,
        " 3 ": 3.0,
        "": None,
        "NA": None,
        "nan": None,
    }.items():
        text = f"good,bad,human_good\nA.,B.,{cell}\n"
        yield csv(f"rating {cell!r}", text, holds={"human_good": None if value is None else pytest.approx(value)})
    for cell in (
        *("inf", "-Infinity", "1e39", "1e300", "1e400", "2e9", "fine", "6.4.1", "1_000", "0x10", "--", "5/7", "٣"),
        *("six", "1 2"),
    ):
        text = f"good,bad,human_good\nA.,B.,{cell}\n"
        yield csv(f"rating {cell!r}", text, refused="row 2: column 'human_good' holds .* expected a (finite )?number")
    comma = "good{0}bad{0}human_good\nA.{0}B.{0}{1}\n"
    yield csv(
        "6,4 among semicolons",
        comma.format(";", "6,4"),
        said="decimal commas in 1 row",
        holds={"human_good": pytest.approx(6.4)},
    )
    yield csv(
        "6,4 among tabs",
        comma.format("\t", "6,4"),
        said="decimal commas in 1 row",
        holds={"human_good": pytest.approx(6.4)},
    )
    yield csv("6,4 among commas", comma.format(",", '"6,4"'), refused=r"expected a number with a point \(6\.4\)")
    yield csv("1.234,5 among semicolons", comma.format(";", "1.234,5"), refused="expected a number")
    yield jsonl("6,4 in JSON", {"good": "A.", "bad": "B.", "human_good": "6,4"}, refused=r"with a point \(6\.4\)")
    yield jsonl("NaN in JSON", '{"good": "A.", "bad": "B.", "human_good": NaN}', holds={"human_good": None})
    yield jsonl(
        "Infinity in JSON", '{"good": "A.", "bad": "B.", "human_good": Infinity}', refused="expected a finite number"
    )
    yield jsonl(
        "true for a rating", {"good": "A.", "bad": "B.", "human_good": True}, refused="holds 'True', expected a number"
    )
    yield jsonl("5,000 digits", f'{{"good": "A.", "bad": "B.", "human_good": {"9" * 5000}}}', refused="row 1: not JSON")
    for cell, n in {"12": 12, "12.0": 12, "": None, "NA": None, "0": 0, "2147483647": 2**31 - 1}.items():
        yield csv(f"{cell!r} raters", f"good,bad,human_n\nA.,B.,{cell}\n", holds={"human_n": n})
    for cell in ("1e10", "2147483648", "-1", "12.5", "inf", "many", "1e400"):
        yield csv(
            f"{cell!r} raters",
            f"good,bad,human_n\nA.,B.,{cell}\n",
            refused="column 'human_n' holds .* expected a whole number",
        )


def json_files() -> Iterator[Case]:
    first, second = (
        {"good": "A.", "bad": "B."},
        {"good": "C.", "bad": "D.", "context": "Look:", "human_good": 2, "note": "n"},
    )
    late = {"context_good": "", "human_good": None, "note": None}
    yield jsonl("columns that come late", first, second, pairs=[("A.", "B."), ("C.", "D.")], holds=late)
    yield jsonl("columns in another order", first, {"bad": "D.", "good": "C."}, pairs=[("A.", "B."), ("C.", "D.")])
    yield jsonl("a key twice", '{"good": "A.", "good": "B.", "bad": "C."}', refused="row 1: key 'good' occurs twice")
    yield jsonl("a cut line", first, '{"good": "C.", "ba', refused="row 2: not JSON .*may be cut")
    yield jsonl(
        "two faults, both named",
        "{",
        first,
        "[1]",
        refused=r"(?s)2 rows cannot .*row 1: not JSON.*row 3: list, expected",
    )
    yield jsonl(
        "an array of objects", f"[{first!r}]".replace("'", '"'), refused="row 1: list, expected a JSON object a line"
    )
    yield jsonl("an indented file", "{", '  "good": "A.",', '  "bad": "B."', "}", refused="not JSON")
    yield jsonl("blank lines", "", first, "  ", pairs=[("A.", "B.")])
    yield jsonl("an empty object", first, {}, pairs=[("A.", "B.")], said="1 blank row")
    yield jsonl("an empty object alone", {}, refused="no rows")
    yield jsonl("a row without its bad side", first, {"good": "C."}, refused="row 2: column 'bad' is empty")
    yield jsonl("deeper than anything", '{"good": ' + "[" * 100_000, refused="row 1: not JSON")
    yield jsonl("a number a line", "1", "2", refused="int, expected a JSON object")
    yield jsonl("another language", "good,bad", "A.,B.", refused="not JSON")
    yield jsonl("no JSON lines", b"", refused="no rows")
    yield jsonl("JSON in cp1252", '{"good": "é", "bad": "e"}'.encode("cp1252"), refused="row 1: byte .* is not UTF-8")
    yield jsonl(
        "JSON in UTF-16", '{"good": "é", "bad": "e"}'.encode("utf-16"), said="read as UTF-16", pairs=[("é", "e")]
    )
    yield jsonl("JSON with a mark", codecs.BOM_UTF8 + json_lines(first), pairs=[("A.", "B.")])
    yield jsonl("JSON with CRLF", json_lines(first).replace(b"\n", b"\r\n"), pairs=[("A.", "B.")])


def parquet_files() -> Iterator[Case]:
    whole = parquet({"good": ["A.", "C."], "bad": ["B.", "D."]})
    pairs = [("A.", "B."), ("C.", "D.")]
    yield pq("whole", whole, said="2 rows", pairs=pairs)
    for n in range(0, 100, 10):
        yield pq(f"{n}% of it", whole[: len(whole) * n // 100], refused="not a readable parquet file")
    yield pq("text", table("good,bad").encode(), refused="not a readable parquet file")
    yield pq(
        "no rows", parquet({"good": pa.array([], pa.string()), "bad": pa.array([], pa.string())}), refused="no rows"
    )
    yield pq("with an encoding", whole, encoding="cp1252", refused="has no encoding")
    twice = pa.table([["A."], ["B."], ["C."]], names=["good", "bad", "bad"])
    yield pq("a column twice", parquet(twice), refused="column 'bad' occurs 2 times")
    for what, values in {
        "bytes": [b"A."],
        "a list": [["A."]],
        "an object": [{"a": "A."}],
        "a number or date": [1.5],
        "true or false": [True],
    }.items():
        data = parquet({"good": values, "bad": ["B."]})
        yield pq(f"{what} for a sentence", data, refused=f"column 'good' holds {what}")
    invalid = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe"))
    yield pq(
        "strings that are not UTF-8", parquet({"good": invalid, "bad": ["B."]}), refused="not a readable parquet file"
    )
    dated = parquet({"good": ["A."], "bad": ["B."], "day": pa.array([10**18], pa.timestamp("us"))})
    yield pq("a year that Python lacks", dated, refused="not a readable parquet file")
    codes = parquet({"good": pa.array(["A."]).dictionary_encode(), "bad": pa.array(["B."], pa.large_string())})
    yield pq("categories and large strings", codes, pairs=[("A.", "B.")])
    blank = parquet({"good": ["A.", None, "C."], "bad": ["B.", None, "D."], "human_n": [3, None, None]})
    yield pq("a row of nulls", blank, said="1 blank row", pairs=pairs, holds={"human_n": 3})


FAMILIES = (
    encodings_and_delimiters, structures, names, languages, cells, marks, wide_tables, headerless, numbers, json_files,
    parquet_files,
)  # fmt: skip
CASES = [pytest.param(case, id=f"{family.__name__}: {case.id}") for family in FAMILIES for case in family()]


@pytest.mark.parametrize("case", CASES)
def test_a_file_is_read_as_meant_and_said_or_refused_with_the_remedy(case: Case, tmp_path: Path) -> None:
    path = tmp_path / case.name
    path.write_bytes(case.data)
    if case.refused:
        with pytest.raises(PairbankError, match=case.refused):
            read(path, **case.options)
        return
    result = read(path, **case.options)
    assert re.search(case.said, result.said), result.said
    assert re.match(r"better = column .* worse = column .*; \d+ rows; ", result.said)
    if case.pairs is not None:
        assert result.pairs == case.pairs
    assert {column: result.rows[0][column] for column in case.holds} == case.holds


def test_there_are_300_files() -> None:
    assert len(CASES) > 300
