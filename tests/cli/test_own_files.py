"""What `score` says of a file of the user's own: sides exchanged, ratings without use, raters, files in the way."""

from pathlib import Path

import pytest

import pairbank
from command_line import run
from pairbank.errors import OutputError

WORDS = ("bark", "sleep", "run", "sit", "walk", "jump", "growl", "bite", "eat", "wait")
PAIRS = [(f"The dog {word}s.", f"The dog {word}.") for word in WORDS]


@pytest.fixture
def pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write pairs of which the model `fake:a` prefers the second side, and stand in their folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "pairs.csv"
    path.write_text("good,bad\n" + "".join(f"{good},{bad}\n" for good, bad in PAIRS), encoding="utf-8")
    deltas = pairbank.score(pairbank.load_corpus(path), "fake:a", methods=["direct"]).dataset["direct_delta"]
    sides = [pair[::-1] if delta > 0 else pair for pair, delta in zip(PAIRS, deltas, strict=True)]
    path.write_text("one,other\n" + "".join(f"{good},{bad}\n" for good, bad in sides), encoding="utf-8")
    return path


def test_sides_that_seem_exchanged_come_with_the_options_that_exchange_them(pairs: Path) -> None:
    line = ["score", pairs.name, "--language", "en", "--model", "fake:a", "-m", "direct", "--out"]
    text = run(*line, "scored.parquet")
    advice = "--column target_good=other --column target_bad=one"
    assert f"If your file has better and worse the other way round, score it again: type {advice}" in text
    again = run(*line, "again.parquet", *advice.split())
    assert "prefers the worse sentence" not in again
    assert "in 1.00 [0.72, 1.00] of items" in again


def test_what_an_output_would_replace_is_refused_or_said(pairs: Path) -> None:
    line = ["score", pairs.name, "--language", "en", "--model"]
    text = pairs.read_text(encoding="utf-8")
    with pytest.raises(OutputError, match="holds something other than scores, and would be lost"):
        run(*line, "fake:a", "--out", pairs.name)
    assert pairs.read_text(encoding="utf-8") == text
    Path("words.csv").write_text("word,surprisal_bits\n", encoding="utf-8")  # as `pairbank words` writes it
    Path("words.signature.json").write_text('{"pairbank": "0.1.0", "models": []}', encoding="utf-8")
    with pytest.raises(OutputError, match="holds something other than scores, and would be lost"):
        run(*line, "fake:a", "--out", "words.csv")
    first = ["fake:a", "-m", "direct", "-m", "meta_question_simple", "--out", "a.parquet", "--out", "a.csv"]
    assert "replaced" not in run(*line, *first)
    assert "replaced" not in run(*line, *first)
    fewer = run(*line, "fake:a", "-m", "direct", "--out", "a.parquet")
    assert "a.parquet: replaced; it also held meta_question_simple" in fewer
    other = run(*line, "fake:b", "-m", "direct", "--out", "a.csv")
    assert "a.csv: replaced; it held scores of pairs by a" in other
    (pairs.parent / "notes").mkdir()
    (pairs.parent / "notes" / "report.md").write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match="is no report of pairbank"):
        run("report", "a.parquet", "--out", "notes")


def test_ratings_of_one_side_only_are_said_to_be_of_no_use(pairs: Path) -> None:
    rows = [f"{line},5" for line in pairs.read_text(encoding="utf-8").splitlines()[1:]]
    pairs.write_text("\n".join(["good,bad,human_good", *rows]), encoding="utf-8")
    facts = pairbank.load_corpus(pairs).info.download_checksums
    assert "ratings of one side only in 10 row(s), which no result uses" in str(facts)


def test_attention_checks_are_proposed_and_a_report_states_who_was_excluded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ["Participant;Item;Sentence;grammatical;Judgment;trial"]
    for rater in range(4):
        for number, (good, bad) in enumerate(PAIRS[:3]):
            rows += [f"VP{rater};i{number};{good};yes;{7 - rater % 2};1", f"VP{rater};i{number};{bad};no;{1 + rater};2"]
        rows.append(f"VP{rater};check1;Please choose the 6 here.;control;{6 if rater else 2};3")
    Path("urteile.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    proposed = run("new", "map", "urteile.csv")
    assert 'layout = "long"' in proposed
    assert 'good = ["yes"]\nbad = ["no"]' in proposed
    assert '[[ratings.attention]]\ncolumn = "Item"\nvalues = ["check1"]\nat_least = 6\nat_most = 6' in proposed
    run("score", "urteile.csv", "--language", "en", "--model", "fake:a", "-m", "direct", "--out", "scored.parquet")
    run("report", "scored.parquet", "--out", "report")
    expected = "18 ratings by 3 raters, scale likert7; excluded: 1 rater who failed an attention check (6 ratings)"
    assert f"Ratings of urteile: {expected}." in Path("report/report.md").read_text(encoding="utf-8")


def test_conditions_called_control_are_no_attention_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ["participant,item,condition,sentence,rating"]
    for rater in range(3):
        for number, (good, bad) in enumerate(PAIRS[:3]):
            rows += [f"s{rater},{number},control,{good},6", f"s{rater},{number},raising,{bad} 3 times,{2 + rater}"]
    Path("verbs.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    assert "attention" not in run("new", "map", "verbs.csv")
