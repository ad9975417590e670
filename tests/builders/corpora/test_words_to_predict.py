"""Corpora of next words: dtfit, p18, news-2023, and the four of Song et al. 2025, Experiment 2."""

import csv
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import pairbank
from pairbank.builders import CORPORA
from pairbank.builders.dataset import manifest_of
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


def facts_of(name: str, shared: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    items = pairbank.load_corpus(name, data_dir=shared / "corpora")
    manifest = manifest_of(items)
    assert manifest is not None
    assert all(file["verified"] for file in manifest["files"].values())
    assert manifest["n_rows"] == CORPORA[name].n_items
    return items.to_list(), manifest


@pytest.mark.upstream
def test_dtfit_has_395_rated_pairs_one_of_them_mended(shared: Path) -> None:
    rows, manifest = facts_of("dtfit", shared)
    assert len(rows) == 395
    # CORPORA.md 1.5: people contradict the design in items 68, 266, 329, tie in 333; item 213 is split wrongly
    assert manifest["n_by_flag"] == {"human_contradicts": 3, "human_tie": 1, "repaired:split_bad": 1}
    flagged = {row["pair_id"]: row["flags"] for row in rows if row["flags"]}
    assert flagged.keys() == {"68", "213", "266", "329", "333"}
    # CORPORA.md 1.5: human accuracy .9899; ids 1-397 without 251 and 297
    assert sum(row["human_good"] > row["human_bad"] for row in rows) / 395 == pytest.approx(0.9899, abs=5e-5)
    assert {int(row["pair_id"]) for row in rows} == set(range(1, 398)) - {251, 297}
    mended = next(row for row in rows if row["pair_id"] == "213")
    assert mended["target_bad"].split()[-1] == mended["source_bad"] == "can"
    assert len(mended["target_bad"].split()) == 2


@pytest.mark.upstream
def test_dtfit_sentences_are_the_790_that_people_rated(shared: Path) -> None:
    rows, _ = facts_of("dtfit", shared)
    with (shared / "corpora/dtfit/clean_DTFit_human_dat.csv").open(encoding="utf-8", newline="") as handle:
        rated = {row["Sentence"]: float(row["Score"]) for row in csv.DictReader(handle)}
    built = {
        f"{row[f'context_{side}']} {row[f'target_{side}']}.": row[f"human_{side}"]
        for row in rows
        for side in ("good", "bad")
    }
    assert built == pytest.approx(rated, rel=1e-6)


@pytest.mark.upstream
def test_p18_has_384_alphanumeric_words(shared: Path) -> None:
    rows, manifest = facts_of("p18", shared)
    assert [row["pair_id"] for row in rows] == [str(n) for n in range(1, 385)]  # CORPORA.md 1.3
    assert manifest["n_by_flag"] == {}
    assert {row["task"] for row in rows} == {"word_prediction"}
    assert all(row["target_bad"] is None and row["context_bad"] is None for row in rows)


@pytest.mark.upstream
def test_news_2023_keeps_its_222_rows_and_flags_what_needs_care(shared: Path) -> None:
    rows, manifest = facts_of("news-2023", shared)
    # CORPORA.md 1.4: 10 words are not alphanumeric, items 47-49 are one article (2 duplicates)
    assert manifest["n_by_flag"] == {"continuation_not_alphanumeric": 10, "duplicate_pair": 2, "untrimmed_prefix": 1}
    assert [row["pair_id"] for row in rows if "duplicate_pair" in row["flags"]] == ["48", "49"]
    assert sum(not row["context_good"].isascii() for row in rows) == 92
    assert all(" -- " in row["context_good"] for row in rows)
    assert len({row["category"] for row in rows}) == 11


@pytest.mark.upstream
@pytest.mark.parametrize(
    ("name", "flags", "words"),
    [
        # CORPORA.md 1.9: prefixes of 6-30 words, means 15.9-16.6; no truth for two of them; one duplicate in news.
        # The single means were counted in the files.
        ("wikipedia", {}, 15.879),
        ("news-2024", {"duplicate_pair": 1}, 16.443),
        ("nonsense", {"no_truth": 1000}, 16.583),
        ("randomseq", {"no_truth": 1000}, 16.453),
    ],
)
def test_the_four_corpora_of_song_have_1000_pairs_each(
    shared: Path, name: str, flags: dict[str, int], words: float
) -> None:
    rows, manifest = facts_of(name, shared)
    assert len(rows) == 1000
    assert manifest["n_by_flag"] == flags
    lengths = [len(row["context_good"].split()) for row in rows]
    assert statistics.mean(lengths) == pytest.approx(words, abs=5e-4)
    assert (min(lengths) >= 6, max(lengths) <= 30) == (True, True)
    assert all(row["context_good"] == row["context_bad"] for row in rows)
    # The alternative is the lemma of nearest log frequency.
    assert statistics.median(abs(row["log_freq_good"] - row["log_freq_bad"]) for row in rows) < 0.01
    words_used = {word for row in rows for word in (row["target_good"], row["target_bad"])}
    not_ascii = {word for word in words_used if not word.isascii()}
    assert not_ascii <= {"hôtel", "décor"}


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
        ("p18", "corpus.csv", ("item_id", "prefix"), (1, "A kettle boils"), r"row 1: missing column\(s\) continuation"),
        (
            "p18",
            "corpus.csv",
            ("item_id", "prefix", "continuation"),
            (1, "A kettle boils", " "),
            r"p18/all/1: target_good is ' ', expected a non-empty text",
        ),
        ("news-2023", "corpus.csv", NEWS, (1, "It rained in", "Bergen"), r"row 2: 3 cells, expected 6"),
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
