"""Results of experiment programs are read without a map; what a map declares of them is applied and counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pairbank
import raw_results
from command_line import completed
from corpus_files import known_manifest
from pairbank.builders.dataset import manifest_of
from pairbank.errors import CorpusError, PairbankError

PROGRAMS = ("pcibex", "ibex", "qualtrics", "jspsych.csv", "jspsych.json", "jspsych_folder", "osf", "jatos", "gorilla",
            "mturk", "qualtrics_loop", "gorilla_questionnaire", "mturk_json", "jatos_lines")  # fmt: skip
OF_TRIALS = {"pcibex": {"trial_order"}, "ibex": {"trial_order", "response_time"}, "qualtrics": set[str](),
             "qualtrics_loop": set[str](), "gorilla_questionnaire": set[str](), "mturk_json": set[str](),
             "mturk": {"list"}}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_results_are_read_as_the_program_wrote_them(program: str, tmp_path: Path) -> None:
    path = raw_results.write(program, tmp_path)
    items, ratings = pairbank.load_corpus(path), pairbank.load_ratings(path)
    lowest = 0 if program.startswith(("jspsych", "osf", "jatos")) else 1
    rated = {item[f"target_{side}"]: item[f"human_{side}"] for item in items for side in ("good", "bad")}
    rated.pop(None, None)
    assert rated == pytest.approx(raw_results.means(lowest=lowest))
    assert (len(ratings), len(set(ratings["rater"][:]))) == (72, 6)
    assert {*ratings.column_names[5:]} == OF_TRIALS.get(program, {"trial_order", "response_time"})
    everything = json.dumps([manifest_of(items), manifest_of(ratings), items.to_list(), ratings.to_list()])
    assert not [who for who in raw_results.PEOPLE if who in everything]
    assert "9.9.9.9" not in everything
    completed(["new", "map", path])
    text = path.with_suffix(".map.toml").read_text(encoding="utf-8")
    assert "QUESTION" not in text
    assert "results = true" in text
    mapped = pairbank.load_corpus(path)
    assert (mapped.to_list(), len(pairbank.load_ratings(path))) == (items.to_list(), 72)


def test_a_row_that_lacks_a_cell_is_told_though_the_last_row_of_gorilla_is_one_cell(tmp_path: Path) -> None:
    path = raw_results.write("gorilla", tmp_path)
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[5] = lines[5].rsplit(",", 1)[0]
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(CorpusError, match="row 6: 11 cells, expected 12"):
        pairbank.load_corpus(path)


def test_a_row_of_one_cell_is_no_end_of_another_programs_file(tmp_path: Path) -> None:
    path = raw_results.write("mturk", tmp_path)
    path.write_text(path.read_text(encoding="utf-8").rstrip("\n") + "\nABC\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=": 1 cells, expected"):
        pairbank.load_corpus(path)


def test_results_of_a_participant_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    folder = raw_results.write("jspsych_folder", tmp_path)
    file = sorted(folder.iterdir())[1]
    file.write_text(file.read_text(encoding="utf-8") + 'one cell, "open\n', encoding="utf-8")
    with pytest.raises(CorpusError, match=rf"{file.name}: results that cannot be read .*; correct the file, or take"):
        pairbank.load_corpus(folder)


def test_a_zip_of_results_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = raw_results.write("osf", tmp_path)
    monkeypatch.setattr("pairbank.builders.sources.source.MAX_UNPACKED_BYTES", 100)
    with pytest.raises(CorpusError, match="unpacks to more than"):
        pairbank.load_corpus(path)


EXCLUSIONS = """
[[ratings.attention]]
column = "item"
values = ["5"]
at_least = 9
"""


def test_exclusions_are_applied_and_counted(tmp_path: Path) -> None:
    path = raw_results.write("jspsych.csv", tmp_path)
    lines = path.read_text(encoding="utf-8").splitlines()
    last = [n for n, line in enumerate(lines) if raw_results.PEOPLE[0] in line]
    for n in last[1:]:
        lines[n] = "150," + lines[n].split(",", 1)[1]  # the first one hurries
    lines[last[-1] + 2] = "99," + lines[last[-1] + 2].split(",", 1)[1]  # one rating of the second
    path.write_text("\n".join(lines), encoding="utf-8")
    completed(["new", "map", path])
    place = tmp_path / "results.map.toml"
    declared = '[ratings]\nmin_time = 200\nmin_median_time = 300\nnormalisation = "z-by-rater"\nmin_per_rater = 3'
    place.write_text(place.read_text().replace("[ratings]", declared))
    items, ratings = pairbank.load_corpus(path), pairbank.load_ratings(path).to_pandas()
    manifest = known_manifest(items)
    said = manifest["facts"]["raters"]
    for count in ("59 ratings by 5 raters, scale likert0-6-z-by-rater", "13 ratings that took less than 200",
                  "0 raters with fewer than 3 ratings", "1 rater whose median time is below 300"):  # fmt: skip
        assert count in said
    of_raters = ratings.groupby("rater")["value"]
    assert of_raters.mean().abs().max() == pytest.approx(0, abs=1e-9)
    assert (of_raters.std() - 1).abs().max() == pytest.approx(0, abs=1e-9)
    assert items["human_scale"][0] == "likert0-6-z-by-rater"
    place.write_text(place.read_text().replace("min_time = 200", "") + EXCLUSIONS)
    with pytest.raises(PairbankError, match="no ratings"):
        pairbank.load_ratings(path)
    place.write_text(place.read_text().replace('response_time = "rt"\n', ""))
    with pytest.raises(CorpusError, match=r"min_time and min_median_time need response_time under \[columns\]"):
        pairbank.load_corpus(path)


def test_what_cannot_be_told_is_an_error_that_says_what_to_declare(tmp_path: Path) -> None:
    path = tmp_path / "survey.csv"
    raw_results.qualtrics(path, ["terrible", "bad", "odd", "so-so", "fine", "good", "perfect"])
    with pytest.raises(CorpusError, match=r"survey\.csv, row 4: a survey of Qualtrics whose answers are no numbers"):
        pairbank.load_corpus(path)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:3]))
    with pytest.raises(CorpusError, match=r"survey\.csv: a survey of Qualtrics without an answer; export it with"):
        pairbank.load_corpus(path)
    plain = raw_results.write("jspsych.json", tmp_path)
    trials = [{k: v for k, v in trial.items() if k != "stimulus"} for trial in json.loads(plain.read_text())]
    plain.write_text(json.dumps(trials))
    with pytest.raises(CorpusError, match=r"data of jsPsych; no column holds the sentences .* pairbank new map"):
        pairbank.load_corpus(plain)


def test_what_a_participant_typed_is_no_rating_and_no_json(tmp_path: Path) -> None:
    header, trial = "trial_type,trial_index,subject_id,stimulus,response", "html-slider-response,{},{},{} sleeps.,{}"
    rows = [trial.format(n, who, ("Dog", "The dog")[n], 2 + 3 * n) for who in ("s1", "s2") for n in (0, 1)]
    (tmp_path / "own.csv").write_text("\n".join([header, *rows, "survey-text,2,s1,Any remarks?,{smile}"]))
    assert pairbank.load_corpus(tmp_path / "own.csv")["human_good"] == [2, 5]
    assert len(pairbank.load_ratings(tmp_path / "own.csv")) == 4


def test_answers_of_mechanical_turk_that_are_cut_are_an_error_with_the_row(tmp_path: Path) -> None:
    header = "HITId,WorkerId,AssignmentStatus,Input.sentence,Answer.taskAnswers"
    rows = [f'{n},w1,Submitted,The dog sleeps {n}.,"{cell}"' for n, cell in enumerate(('[{""rating"": 6}]', "[{"))]
    (tmp_path / "batch.csv").write_text("\n".join([header, *rows]))
    with pytest.raises(CorpusError, match=r"batch\.csv, row 3, Answer\.taskAnswers: not JSON"):
        pairbank.load_corpus(tmp_path / "batch.csv")


def test_a_questionnaire_in_short_form_is_refused(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("Event Index,Participant Private ID,The dogs bark.\n1,991,6\n")
    with pytest.raises(CorpusError, match="a questionnaire of Gorilla in short form; download it in long form"):
        pairbank.load_corpus(tmp_path / "q.csv")
