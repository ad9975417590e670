"""Files of `pairbank words`: texts, words per row, reading times; the command on two models."""

import json
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from command_line import completed
from pairbank.cli import app
from pairbank.errors import CorpusError, ScoringError
from pairbank.scoring.models.causal import CausalScorer
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.models.load import load_model
from pairbank.scoring.word_files import joined, read_table, read_texts, write_table
from pairbank.scoring.words import words
from tiny_models import ARCHITECTURES, saved_model

ROWS = "item,word,region\n1,The,\n1,old,adjective\n1,dog,\n1,saw,\n1,the,\n1,dog,\n2,She,\n2,slept.,verb\n"


def table_of(*models: str) -> pd.DataFrame:
    words = [("1", word) for word in ("The", "old", "dog", "saw", "the", "dog")] + [("2", "She"), ("2", "slept.")]
    rows: list[dict[str, object]] = []
    for model in models:
        numbers = {"1": 0, "2": 0}
        for text, word in words:
            numbers[text] += 1
            rows.append(
                {"model": model, "text_id": text, "word_number": numbers[text], "word": word, "bits": len(rows)}
            )
    return pd.DataFrame(rows)


def test_texts_are_read_from_lines_rows_and_words(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\ufeffThe {old} dog.\n\nShe slept.\n", encoding="utf-8")
    result = read_texts(tmp_path / "a.txt")
    assert [(one.id, one.text) for one in result] == [("1", "The old dog."), ("3", "She slept.")]
    (tmp_path / "a.tsv").write_text("name\tsentence\nx\tThe dog.\ny\tShe slept.\n")
    assert [one.id for one in read_texts(tmp_path / "a.tsv", text_id="name")] == ["x", "y"]
    (tmp_path / "a.csv").write_text(ROWS)
    by_word = read_texts(tmp_path / "a.csv", word="word", text_id="item", region="region")
    assert [(one.id, one.text) for one in by_word] == [("1", "The old dog saw the dog"), ("2", "She slept.")]
    assert by_word[0].regions == ("", "adjective", "", "", "", "")
    pd.read_csv(tmp_path / "a.csv").to_parquet(tmp_path / "a.parquet")
    again = read_texts(tmp_path / "a.parquet", word="word", text_id="item")
    assert [one.spans for one in again] == [one.spans for one in by_word]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({}, "which column is the text"),
        ({"text": "txt"}, "no column 'txt'; it has item, word, region"),
        ({"word": "word"}, "a row is a word; name the column that says which text"),
        ({"text": "word", "text_id": "item"}, "item '1' occurs in several rows"),
        ({"word": "region", "text_id": "item"}, "text 1: an empty word"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, how: dict[str, str], message: str) -> None:
    (tmp_path / "a.csv").write_text(ROWS)
    with pytest.raises(ScoringError, match=message):
        read_texts(tmp_path / "a.csv", **how)


def test_rows_out_of_reading_order_are_refused(tmp_path: Path) -> None:
    rows = ["item,word_number,word", "1,1,The", "1,2,dog", "2,2,slept", "2,1,She"]
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n")
    with pytest.raises(ScoringError, match="word_number falls within text '2'; rows are read as they are"):
        read_texts(tmp_path / "a.csv", word="word", text_id="item")
    (tmp_path / "b.csv").write_text("\n".join([*rows[:3], rows[4], rows[3]]) + "\n")
    result = read_texts(tmp_path / "b.csv", word="word", text_id="item")
    assert [text.text for text in result] == ["The dog", "She slept"]


def test_reading_times_get_the_columns_of_their_words() -> None:
    times = pd.DataFrame(
        {"subject": ["s2", "s1", "s1"], "item": ["2", "1", "1"], "word": ["She", "old", "saw"], "rt": ["1", "2", "3"]}
    )
    result = joined(table_of("a", "b"), times, by=("item", "word"), path=Path("rt.csv"))
    assert result[["subject", "item", "word", "rt", "model", "bits"]].to_numpy().tolist() == [
        ["s2", "2", "She", "1", "a", 6],
        ["s2", "2", "She", "1", "b", 14],
        ["s1", "1", "old", "2", "a", 1],
        ["s1", "1", "old", "2", "b", 9],
        ["s1", "1", "saw", "3", "a", 3],
        ["s1", "1", "saw", "3", "b", 11],
    ]
    numbered = times.assign(word=["1", "2", "6"])
    assert joined(table_of("a"), numbered, by=("item", "word"), path=Path("rt.csv"))["bits"].tolist() == [6, 1, 5]


@pytest.mark.parametrize(
    ("item", "word", "message"),
    [
        ("1", "dog", "the word 'dog' occurs twice in text '1'"),
        ("2", "dog", "rt.csv, row 2: no word 'dog' in a text '2'"),
        ("2", "3", "no word .*3.* in a text '2'"),
    ],
)
def test_a_reading_time_without_one_word_is_refused(item: str, word: str, message: str) -> None:
    times = pd.DataFrame({"item": [item], "word": [word], "rt": [1]}, index=[2])
    with pytest.raises(ScoringError, match=message):
        joined(table_of("a"), times, by=("item", "word"), path=Path("rt.csv"))


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_what_is_written_is_read(tmp_path: Path, suffix: str) -> None:
    table = table_of("a").astype({"word_number": str, "bits": str})
    write_table(tmp_path / f"a{suffix}", table)
    pd.testing.assert_frame_equal(read_table(tmp_path / f"a{suffix}").reset_index(drop=True), table)
    with pytest.raises(ScoringError, match="expected a file name with"):
        write_table(tmp_path / "a.xml", table)


def test_the_command_joins_reading_times_of_two_models(tmp_path: Path) -> None:
    (tmp_path / "spr.csv").write_text(ROWS)
    (tmp_path / "rt.csv").write_text("subject,item,n,rt\ns1,1,2,300\ns1,1,6,350\ns2,2,1,280\n")
    names = [str(saved_model(ARCHITECTURES[name], tmp_path / name)) for name in ("gpt2", "llama")]
    arguments = ["words", str(tmp_path / "spr.csv")]
    arguments += ["--word", "word", "--id", "item", "--region", "region", "--lags", "1"]
    for name in names:
        arguments += ["--model", name]
    arguments += ["--join", str(tmp_path / "rt.csv"), "--by", "item,n", "--out", str(tmp_path / "out.csv"), "--json"]
    completed(arguments)
    table = pd.read_csv(tmp_path / "out.csv")
    assert table["model"].tolist() == ["gpt2", "llama"] * 3
    assert table["word"].tolist() == ["old", "old", "dog", "dog", "She", "She"]
    assert table["surprisal_bits_lag1"].isna().tolist() == [False] * 4 + [True] * 2
    signature = json.loads((tmp_path / "out.signature.json").read_text())
    assert [one["name"] for one in signature["models"]] == ["gpt2", "llama"]
    refused = CliRunner().invoke(app, [*arguments[:2], "--model", names[0], "--out", str(tmp_path / "x.csv")])
    assert refused.exit_code != 0


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "words.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore:The design matrix is rank-deficient")  # a few made-up reading times
def test_the_page_runs_as_it_stands(demo_model: CausalScorer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = ""
    monkeypatch.setattr("pairbank.load_model", lambda _name, **_options: demo_model)
    for line in "".join(blocks("sh")).splitlines():
        program, *rest = shlex.split(line)
        if program == "printf":
            text, redirect, name = rest
            assert redirect == ">"
            Path(name).write_text(text.replace("\\n", "\n"), encoding="utf-8")
            continue
        done = completed(rest)
        shown += done.output
    table, _of_pcibex, _of_natural_stories = blocks("text")
    for row in table.splitlines():
        assert row.split() in [line.split() for line in shown.splitlines()], row
    words, tokens, regression = blocks("python")
    exec(compile(words, "words.md", "exec"), {})  # noqa: S102 - the page's own
    exec(compile(f"import pairbank\n{tokens}", "words.md", "exec"), {"model": FakeScorer()})  # noqa: S102 - the page's own
    exec(compile(regression, "words.md", "exec"), {})  # noqa: S102 - the page's own


def test_a_table_of_observations_gives_each_word_once_in_its_order(tmp_path: Path) -> None:
    words = [
        ("1", "a", 1, "The"),
        ("1", "a", 2, "dog"),
        ("1", "b", 1, "The"),
        ("1", "b", 2, "cat"),
        ("2", "a", 1, "She"),
    ]
    rows = [
        f"s{subject},{item},{condition},{n},{word}" for subject in (1, 2) for item, condition, n, word in words[::-1]
    ]
    path = tmp_path / "spr.csv"
    path.write_text("\n".join(["subject,item,condition,word_number,word", *rows]), encoding="utf-8")
    expected = r"word 2 of text '1' \(by word_number\) is 'cat' and 'dog'; name all columns .* --id item,cond"
    with pytest.raises(ScoringError, match=expected):
        read_texts(path, word="word", text_id="item")
    result = read_texts(path, word="word", text_id="item,condition")
    assert [(text.id, text.text) for text in result] == [("2/a", "She"), ("1/b", "The cat"), ("1/a", "The dog")]
    table = pd.DataFrame(
        {"model": "m", "text_id": ["1/a", "1/a"], "word_number": [1, 2], "word": ["The", "dog"], "bits": [3, 4]}
    )
    times = read_table(path).query("item == '1' and condition == 'a'")
    assert joined(table, times, by=("item,condition", "word_number"), path=path)["bits"].tolist() == [4, 3, 4, 3]


SENTENCES = {
    "1": ["The", "old", "gardener", "watered", "the", "roses", "before", "breakfast", "."],
    "2": ["Der", "Kellner", "brachte", "uns", "den", "Wein", ",", "den", "wir", "bestellt", "hatten", "."],
    "3": ["Rain", "fell", "on", "the", "roof", "of", "the", "barn", "all", "night", "."],
}


def observations(
    *,
    participant: str | None,
    number: str,
    order: str = "below",
    n: int = 3,
    without: tuple[int, str, int] | None = None,
) -> str:
    """Return a table with a row for each participant and word."""
    rows = [
        (subject, item, place, word)
        for subject in range(n)
        for item, words in SENTENCES.items()
        for place, word in enumerate(words, 1)
        if (subject, item, place) != without
    ]
    if order == "interleaved":
        rows.sort(key=lambda row: (row[1], row[2], row[0]))
    names = ["item", number, "word", "RT", *([participant] if participant else [])]
    lines = [",".join(names)]
    for at, (subject, item, place, word) in enumerate(rows):
        cells = [item, str(place), f'"{word}"', str(290 + 7 * at % 211), *([f"p{subject:02}"] if participant else [])]
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("participant", "number", "order", "n", "without"),
    [
        ("subj", "zone", "below", 4, None),
        ("MD5.hash.of.participants.IP.address", "Parameter", "below", 3, None),
        ("Prolific", "IA_ID", "interleaved", 3, None),
        ("Versuchsperson", "Stelle", "below", 2, None),
        ("participant", "zone", "below", 3, (0, "1", 4)),
        ("reader", "Slide", "interleaved", 2, (1, "2", 1)),
        (None, "zone", "below", 2, None),
        (None, "chunk", "interleaved", 2, None),
    ],
)
def test_copies_of_participants_are_refused_until_a_column_numbers_the_words(
    participant: str | None, number: str, order: str, n: int, without: tuple[int, str, int] | None, tmp_path: Path
) -> None:
    path = tmp_path / "spr.csv"
    path.write_text(
        observations(participant=participant, number=number, order=order, n=n, without=without), encoding="utf-8"
    )
    with pytest.raises(ScoringError, match=rf"would be read as one long text; .*--number {number}") as refused:
        read_texts(path, word="word", text_id="item")
    assert participant is None or f"once for each {participant}" in str(refused.value)
    texts = read_texts(path, word="word", text_id="item", number=number)
    assert {text.id: text.text.split() for text in texts} == SENTENCES


def test_participants_of_two_conditions_under_one_id_are_refused_too(tmp_path: Path) -> None:
    rows = ["subj,item,cond,zone,word"]
    for subject in range(4):
        for item in ("1", "2"):
            words = f"The horse {('raced', 'that was raced')[subject % 2]} past barn {item} fell".split()
            rows += [f"{subject},{item},{subject % 2},{place},{word}" for place, word in enumerate(words, 1)]
    path = tmp_path / "spr.csv"
    path.write_text("\n".join(rows) + "\n")
    with pytest.raises(ScoringError, match="text '1' is there 4 times, once for each subj"):
        read_texts(path, word="word", text_id="item")
    with pytest.raises(ScoringError, match=r"word 3 of text '1' \(by zone\) is .* --id item,condition"):
        read_texts(path, word="word", text_id="item", number="zone")
    texts = read_texts(path, word="word", text_id="item,cond", number="zone")
    assert [text.text.split()[2] for text in texts] == ["raced", "raced", "that", "that"]


STORY = "Row the boat . Row the boat . The dog saw the cat . The dog saw the bird . Row the boat ."


@pytest.mark.parametrize("column", ["sentence", "Satz", "line", None])
@pytest.mark.parametrize("numbered", [False, True])
def test_a_story_that_repeats_a_sentence_is_one_text(column: str | None, numbered: bool, tmp_path: Path) -> None:
    words, sentence, rows = STORY.split(), 1, []
    for place, word in enumerate(words, 1):
        rows.append(["s1", str(place), word, str(sentence)])
        sentence += word == "."
    names = ["story", "word_number" if numbered else "row", "word", column or "x"]
    n_cells = 4 if column else 3
    path = tmp_path / "story.csv"
    path.write_text("\n".join(",".join(row[:n_cells]) for row in [names, *rows]) + "\n")
    [text] = read_texts(path, word="word", text_id="story")
    assert text.text == STORY


def test_a_text_that_is_one_sentence_twice_is_read_where_its_words_are_numbered_through(tmp_path: Path) -> None:
    words = ["Never", "say", "never", "again", ".", "Never", "say", "never", "again", "."]
    path = tmp_path / "twice.csv"
    rows = "".join(f"a,{place},{word}\n" for place, word in enumerate(words, 1))
    path.write_text(f"id,place,word\n{rows}")
    with pytest.raises(ScoringError, match=r"text 'a' is the same 5 words 2 times.*number its words through"):
        read_texts(path, word="word", text_id="id")
    assert read_texts(path, word="word", text_id="id", number="place")[0].text.split() == words
    path.write_text(f"id,word_number,word\n{rows}")
    assert read_texts(path, word="word", text_id="id")[0].text.split() == words


def test_a_number_of_words_that_is_none_is_named_with_its_row(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("item,zone,word\n1,1,The\n1,R2,dog\n")
    with pytest.raises(ScoringError, match="row 3: 'R2' in zone, which is to number the words"):
        read_texts(tmp_path / "a.csv", word="word", text_id="item", number="zone")
    with pytest.raises(ScoringError, match="no column 'zon'; it has item, zone, word"):
        read_texts(tmp_path / "a.csv", word="word", text_id="item", number="zon")


@pytest.mark.parametrize("header", ["text", "sentence", "context text", "full text", "Satz", "t"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_one_column_is_one_column_whatever_its_name(header: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_text(f"{header}\nThe lamp hums.\nMy uncle slept.\n")
    texts = read_texts(path, text=None if header in ("text", "sentence") else header)
    assert [text.text for text in texts] == ["The lamp hums.", "My uncle slept."]


def test_tables_are_read_as_those_of_score(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("text;Nr\nDie Tür fällt zu.;1\nKäse, Brot und Öl.;2\n".encode("cp1252"))
    with pytest.raises(CorpusError, match=r"row 2: byte .* is not UTF-8; .*--encoding cp1252"):
        read_texts(path)
    assert [text.text for text in read_texts(path, encoding="cp1252")] == ["Die Tür fällt zu.", "Käse, Brot und Öl."]
    (tmp_path / "a.txt").write_bytes("Die Tür fällt zu.\n".encode("cp1252"))
    assert read_texts(tmp_path / "a.txt", encoding="cp1252")[0].text == "Die Tür fällt zu."
    (tmp_path / "b.csv").write_text("text,n\nA dog, barks.,1\n")
    with pytest.raises(CorpusError, match=r"row 2: 3 cells, expected 2 .* check the quotes and commas") as refused:
        read_texts(tmp_path / "b.csv")
    assert "UTF-8" not in str(refused.value)
    (tmp_path / "c.jsonl").write_text('{"sentence": "A dog barks."}\n')
    assert read_texts(tmp_path / "c.jsonl")[0].text == "A dog barks."


def test_white_space_that_is_not_read_is_stated(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    model = load_model(saved_model(ARCHITECTURES["gpt2"], tmp_path / "gpt2"))
    plain = words(["A dog barks.", "She slept."], model)
    assert "white space" not in caplog.text
    for text in ("A  dog barks.", "A\tdog barks.", " A dog barks. ", "A\N{NO-BREAK SPACE}dog barks."):
        caplog.clear()
        pd.testing.assert_frame_equal(words([text, "She slept."], model), plain)
        assert (
            "1 of 2 texts have white space that is not one space between two words (the first: text 1)" in caplog.text
        )
    caplog.clear()
    assert words(["狗 叫 了"], model, language="zh")["word"].tolist() == ["狗", "叫", "了"]
    assert "white space" not in caplog.text
