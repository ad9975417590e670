"""Differences between two sides that a reader does not see are flagged, and nothing else is."""

import logging
from pathlib import Path

import pytest

import pairbank
from pairbank.builders.schema.unseen import flags_of

DIFFER = {
    "normalisation_differs": [
        ("Ọmọ\u0301 náà sùn.", "\u1ecc\u0300mọ naa su\u0301n."),
        ("Der Fu\u0308hrer schl\u00e4ft.", "Die F\u00fchrer schl\u00e4ft."),
    ],
    "white_space_differs": [
        ("The mayor sleeps.", "The mayor sleep. "),
        ("The\u00a0mayor sleeps.", "The mayor sleep."),
        ("The  mayor sleeps.", "The mayor sleep."),
        ("The mayor\u3000sleeps.", "The mayor sleep."),
        ("\tThe mayor sleeps.", "The mayor sleep."),
        ("The mayor sleeps.\u0085", "The mayor sleep."),
    ],
    "invisible_differ": [
        ("My un\u00adcle sleeps.", "My uncle sleep."),
        ("Two cups\u200b are here.", "Two cups is here."),
        ("\u200fالولد ينام.", "الولد تنام."),
        ("\ufeffThe mayor sleeps.", "The mayor sleep."),
        ("The mayor\u2060 sleeps.", "The mayor sleep."),
        ("The heart \u2764\ufe0f beats.", "The heart \u2764 beat."),
    ],
    "lookalikes_differ": [
        ("The m\u0430yor sleeps.", "The mayor sleep."),
        ("\u0410 mayor sleeps.", "A mayor sleep."),
        ("The may\u03bfr sleeps.", "The mayor sleep."),
        ("Кот c\u043fит.", "Кот с\u043fать."),  # a Latin c in Russian
    ],
    "quotes_differ": [
        ("It's late.", "It\u2019s lates."),
        ('He said "no".', "He say \u201cno\u201d."),
        ("L'arbre tombe.", "L\u00b4arbre tombent."),
        ('Il dit "non".', "Il dis \u00abnon\u00bb."),
    ],
    "final_stop_differs": [
        ("The mayor sleeps.", "The mayor sleep"),
        ("市长睡觉。", "市长觉睡"),
        ("महापौर सोता है।", "महापौर सोती है"),
        ('He said "no."', 'He say "no"'),
    ],
    "markup": [
        ("Tom &amp; Ann sleep.", "Tom &amp; Ann sleeps."),
        ("The <i>mayor</i> sleeps.", "The <i>mayor</i> sleep."),
        ("Now%2C he sleeps.", "Now%2C he sleep."),
        ("It&#39;s late.", "It&#39;s lates."),
    ],
    "mojibake": [
        ("Herr MÃ¼ller schläft.", "Herr MÃ¼ller schlafen."),
        ("Itâ€™s late.", "Itâ€™s lates."),
        ("Le garÃ§on dort.", "Le garÃ§on dorment."),
    ],
    "look_the_same": [
        ("The mayor sleeps.", "The mayor  sleeps."),
        ("The m\u0430yor sleeps.", "The mayor sleeps."),
        ("Cafe\u0301.", "Caf\u00e9."),
        ("The mayor\u200c sleeps.", "The mayor sleeps."),
    ],
}

REMEDY = "the flags of the items say which, and --tidy repairs all but letters and full stops"
PLAIN = [
    ("The mayor sleeps.", "The mayor sleep."),
    ("Is R&D at 100% of a < b?", "Is R&D at 100% of b < a?"),
    ("She said 'no' to \"yes\".", "She say 'no' to \"yes\"."),
    ("اتومبیل موتور دارد.", "توت\u200cفرنگی موتور دارد."),  # a joiner that the word has
    ("मोर नाचता है।", "मोर नाचती है।"),
    ("Кот спит.", "Кот спать."),
    ("我请他把它关掉。", "我向他借了CD。"),  # Latin letters that are read as such
    ("Łódź śpi, größer als naïve.", "Łódź śpią, größer als naïve."),
    ("Was the café open?", "The café was open!"),
    ("市长睡觉。", "市长觉睡。"),
]


@pytest.mark.parametrize(("flag", "pair"), [(flag, pair) for flag, pairs in DIFFER.items() for pair in pairs])
def test_what_a_reader_does_not_see_is_flagged_whichever_side_it_is_on(flag: str, pair: tuple[str, str]) -> None:
    assert flag in [*flags_of(*pair, whole=True)]
    assert flag in [*flags_of(*pair[::-1], whole=True)]


@pytest.mark.parametrize("pair", PLAIN)
def test_what_a_reader_sees_is_not(pair: tuple[str, str]) -> None:
    assert [*flags_of(*pair, whole=True)] == []


def test_the_end_of_a_continuation_may_differ() -> None:
    assert [*flags_of("sleeps.", "sleep", whole=False)] == []


def test_a_file_of_ones_own_has_the_flags_and_one_line_that_counts_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [
        "good,bad",
        "The lamp hums.,The lamp hum.",
        "The lamp\u00a0hums on.,The lamp hum on.",
        "The lamp hum.,The lamp hums.",
        "The lamp hums.,The lamp hum.",
        "Un\u00adcle sleeps. ,Uncle sleep.",
    ]
    file = tmp_path / "mine.csv"
    file.write_text("\n".join(rows), encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        items = pairbank.load_corpus(str(file))
    assert items["flags"][:] == [
        [],
        ["white_space_differs"],
        ["reversed_pair"],
        ["duplicate_pair", "reversed_pair"],
        ["white_space_differs", "invisible_differ"],
    ]
    [line] = [record.getMessage() for record in caplog.records if "may not see" in record.getMessage()]
    counts = "duplicate_pair 1, invisible_differ 1, reversed_pair 2, white_space_differs 2"
    assert line == f"mine.csv: what a reader may not see: {counts}; {REMEDY}"


def test_tidy_repairs_what_can_be_repaired_and_says_where(tmp_path: Path) -> None:
    rows = [
        "good,bad",
        "The caf\u00e9 hums.,The cafe\u0301 hum. ",
        "The lamp\u00a0hums  on.,The lamp hum on.",
        "Un\u00adcle isn\u2019t here.,Uncle aren't here.",
        "R&amp;D works.,R&D work.",
        "Herr M\u00c3\u00bcller kam.,Herr M\u00fcller kamen.",
        "The lamp hums.,The lamp hum",
        "The m\u0430yor sleeps.,The mayor sleep.",
    ]
    file = tmp_path / "mine.csv"
    file.write_text("\n".join(rows), encoding="utf-8")
    items = pairbank.load_corpus(str(file), tidy=True)
    assert items["flags"][:] == [*[["repaired:tidy"]] * 5, ["final_stop_differs"], ["lookalikes_differ"]]
    assert items["target_good"][:5] == [
        *("The caf\u00e9 hums.", "The lamp hums on.", "Uncle isn't here.", "R&D works.", "Herr M\u00fcller kam.")
    ]
    assert items["target_bad"][:5] == [
        *("The caf\u00e9 hum.", "The lamp hum on.", "Uncle aren't here.", "R&D work.", "Herr M\u00fcller kamen.")
    ]
