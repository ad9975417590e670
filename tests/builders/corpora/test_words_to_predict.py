"""Corpora of next words: dtfit, p18, news-2023, and the four of Song et al. 2025, Experiment 2."""

import csv
from collections.abc import Sequence
from pathlib import Path

import pytest

import pairbank
from pairbank.errors import CorpusError, CorpusFileNotFoundError

SONG = {
    "wikipedia": "wikipedia.csv",
    "news-2024": "news.csv",
    "nonsense": "jabberwocky.csv",
    "randomseq": "randomseq.csv",
}
DTFIT = (
    *("item_id", "prefix", "good_continuation", "bad_continuation", "category", "good_human_score"),
    "bad_human_score",
)
RATED = ("Sentence", "Plausibility", "Score", "ItemNum")
NEWS = ("item_id", "prefix", "continuation", "category", "published_date_gmt", "download_date")
PAIRS = ("item_id", "prefix", "good_continuation", "bad_continuation", "log_freq", "log_freq_alter")


def write(path: Path, header: Sequence[str], *rows: Sequence[object]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows([header, *rows])
    return path.parent


def write_dtfit(folder: Path, *pairs: tuple[int, str, str, str, str, float, float]) -> Path:
    """Write both files: (item, prefix, good cell, bad cell, rated bad word, human good, human bad)."""
    cells = [(i, prefix, good, bad, "event_plausibility", x, y) for i, prefix, good, bad, _, x, y in pairs]
    rated = [
        (f"{prefix} {word}.", label, score, i)
        for i, prefix, good, _, rated_bad, x, y in pairs
        for word, label, score in ((good, "Plausible", x), (rated_bad, "Implausible", y))
    ]
    write(folder / "clean_DTFit_human_dat.csv", RATED, *rated)
    return write(folder / "corpus.csv", DTFIT, *cells)


@pytest.mark.upstream
def test_dtfit_sentences_are_the_790_that_people_rated(shared: Path) -> None:
    rows = pairbank.load_corpus("dtfit", data_dir=shared / "corpora")
    with (shared / "corpora/dtfit/clean_DTFit_human_dat.csv").open(encoding="utf-8", newline="") as handle:
        rated = {row["Sentence"]: float(row["Score"]) for row in csv.DictReader(handle)}
    built = {
        f"{row[f'context_{side}']} {row[f'target_{side}']}.": row[f"human_{side}"]
        for row in rows
        for side in ("good", "bad")
    }
    assert built == pytest.approx(rated, rel=1e-6)


def test_a_wrongly_split_word_of_dtfit_is_rebuilt_from_the_rated_sentence(tmp_path: Path) -> None:
    folder = write_dtfit(
        tmp_path,
        (1, "The pilot parked the", "plane", "sofa", "sofa", 6.5, 1.25),
        (7, "The clown juggled the", "clubs", "engine", "fire engine", 6.0, 2.0),
        (9, "The judge wore the", "wig", "robe", "robe", 3.0, 5.5),
        (10, "The nun sang the", "hymn", "song", "song", 4.0, 4.0),
    )
    rows = pairbank.load_corpus("dtfit", data_dir=folder).to_list()
    assert [row["target_bad"] for row in rows] == ["sofa", "fire engine", "robe", "song"]
    assert [row["source_bad"] for row in rows] == [None, "engine", None, None]
    assert [row["flags"] for row in rows] == [[], ["repaired:split_bad"], ["human_contradicts"], ["human_tie"]]
    assert rows[0]["item_id"] == "dtfit/all/1"
    assert (rows[0]["human_good"], rows[0]["human_bad"], rows[0]["human_scale"]) == (6.5, 1.25, "plausibility7")
    as_is = pairbank.load_corpus("dtfit", data_dir=folder, repair=False).to_list()
    assert [row["target_bad"] for row in as_is] == ["sofa", "engine", "robe", "song"]
    assert as_is[1]["flags"] == ["defect:split_bad"]
    assert as_is[1]["source_bad"] is None


def test_words_with_punctuation_repeated_rows_and_loose_spaces_are_flagged_not_dropped(tmp_path: Path) -> None:
    article = ("Rain -- It rained in", "Bergen", "Top", "2023-03-23 10:00:00", "2023-03-24")
    folder = write(
        tmp_path / "corpus.csv",
        NEWS,
        (1, *article),
        (2, *article),
        (3, "Cost -- It costs ", "(more)", "Top", "2023-03-23 11:00:00", "2023-03-24"),
    )
    rows = pairbank.load_corpus("news-2023", data_dir=folder).to_list()
    assert [row["flags"] for row in rows] == [
        [],
        ["duplicate_pair"],
        ["continuation_not_alphanumeric", "untrimmed_prefix"],
    ]
    assert rows[2]["context_good"] == "Cost -- It costs "
    assert (rows[0]["category"], rows[0]["published"]) == ("Top", "2023-03-23 10:00:00")


@pytest.mark.parametrize("name", SONG)
def test_song_files_give_continuation_pairs_with_frequencies(tmp_path: Path, name: str) -> None:
    stem = SONG[name].removesuffix(".csv")
    folder = write(tmp_path / SONG[name], PAIRS, (f"{stem}_0", "The ferry left the", "harbour", "spoon", 8.5, 8.25))
    (row,) = pairbank.load_corpus(name, data_dir=folder).to_list()
    assert (row["item_id"], row["pair_id"]) == (f"{name}/all/0", f"{stem}_0")
    assert (row["context_good"], row["context_bad"]) == ("The ferry left the", "The ferry left the")
    assert (row["target_good"], row["target_bad"]) == ("harbour", "spoon")
    assert (row["log_freq_good"], row["log_freq_bad"]) == (8.5, 8.25)
    assert row["flags"] == (["no_truth"] if name in ("nonsense", "randomseq") else [])


def test_a_root_of_corpora_may_use_the_folder_names_of_upstream(tmp_path: Path) -> None:
    (tmp_path / "introspection").mkdir()
    (tmp_path / "p18").mkdir()
    write(tmp_path / "introspection" / "news.csv", PAIRS, ("news_3", "The ferry left the", "harbour", "spoon", 8, 8))
    write(tmp_path / "p18" / "corpus.csv", ("item_id", "prefix", "continuation"), (1, "A kettle boils", "water"))
    assert pairbank.load_corpus("news-2024", data_dir=tmp_path)[0]["item_id"] == "news-2024/all/3"
    assert pairbank.load_corpus("p18", data_dir=tmp_path)[0]["target_good"] == "water"


def test_dtfit_files_that_do_not_belong_together_are_one_clear_error(tmp_path: Path) -> None:
    write_dtfit(tmp_path, (1, "The pilot parked the", "plane", "sofa", "sofa", 6.5, 1.25))
    rated = tmp_path / "clean_DTFit_human_dat.csv"
    rated.write_text(rated.read_text().replace("The pilot parked", "The pilot washed"))
    with pytest.raises(CorpusError, match=r"corpus\.csv, row 2: prefix is .* take both files from one release"):
        pairbank.load_corpus("dtfit", data_dir=tmp_path)
    rated.write_text(rated.read_text().replace("washed", "parked").replace("Implausible", "Odd"))
    with pytest.raises(CorpusError, match=r"corpus\.csv, row 2: .* has no Implausible sentence of item 1; take both"):
        pairbank.load_corpus("dtfit", data_dir=tmp_path)
    rated.unlink()
    with pytest.raises(CorpusFileNotFoundError, match=r"no file 'clean_DTFit_human_dat\.csv' .*get it from https://"):
        pairbank.load_corpus("dtfit", data_dir=tmp_path)


@pytest.mark.parametrize(
    ("name", "file", "header", "row", "message"),
    [
        (
            "wikipedia",
            "wikipedia.csv",
            PAIRS,
            ("wikipedia_0", "The ferry left the", "harbour", "spoon", "often", 8),
            r"wikipedia\.csv, row 2: log_freq is 'often', expected a log frequency; correct the cell",
        ),
        (
            "nonsense",
            "jabberwocky.csv",
            PAIRS,
            ("jabberwocky_0", "The ferry left the", "harbour", "spoon", "nan", 8),
            r"nonsense/all/0: log_freq_good is nan, expected a float64",
        ),
        (
            "dtfit",
            "corpus.csv",
            DTFIT,
            (1, "The pilot parked the", "plane", "sofa", "event_plausibility", 6.5, 9),
            r"corpus\.csv, row 2, bad_human_score \('9'\): people's mean answer is not a number from 1 to 7",
        ),
    ],
)
def test_a_malformed_file_is_one_clear_error(
    tmp_path: Path, name: str, file: str, header: Sequence[str], row: Sequence[object], message: str
) -> None:
    write_dtfit(tmp_path, (1, "The pilot parked the", "plane", "sofa", "sofa", 6.5, 1.25))
    write(tmp_path / file, header, row)
    with pytest.raises(CorpusError, match=message):
        pairbank.load_corpus(name, data_dir=tmp_path)
