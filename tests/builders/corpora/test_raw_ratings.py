"""Ratings as programs write them: `new map` knows Mechanical Turk, Gorilla and jsPsych; ids of people stay out."""

import csv
import json
from pathlib import Path

import pytest

import pairbank
from command_line import completed
from pairbank.builders.dataset import manifest_of

SENTENCES = [f"The {how} {what} sleeps." for how in ("old", "young", "red") for what in ("dog", "cat", "man", "bird")]
RATERS = [f"A1B2C3D4E5F{n}X" for n in range(5)]


def rows_of(program: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for place, rater in enumerate(RATERS):
        for n, sentence in enumerate(SENTENCES):
            rating, condition = 1 + (n * 3 + place) % 7, "ab"[n % 2]
            rows.append(
                {
                    "mturk": {
                        "HITId": f"3AB{n}", "AssignmentId": f"3CD{place}{n}", "WorkerId": rater,
                        "AssignmentStatus": "Approved", "WorkTimeInSeconds": 5 + n, "Input.list": "1",
                        "Input.condition": condition, "Input.sentence": sentence, "Answer.rating": rating,
                    },
                    "gorilla": {
                        "Event Index": n, "Participant Private ID": rater, "Zone Type": "response_rating_scale_likert",
                        "Reaction Time": 700 + n, "Response": rating, "sentence": sentence, "condition": condition,
                    },
                    "jspsych": {
                        "trial_type": "html-slider-response", "trial_index": n, "PROLIFIC_PID": rater, "rt": 800 + n,
                        "stimulus": sentence, "response": rating, "condition": condition,
                    },
                }[program]
            )  # fmt: skip
    around: dict[str, dict[str, object]] = {
        "mturk": {"AssignmentStatus": "Rejected", "WorkerId": RATERS[0], "Input.sentence": "A a.", "Answer.rating": 7},
        "gorilla": {"Event Index": "END OF FILE"},
        "jspsych": {"trial_type": "html-keyboard-response", "stimulus": "Welcome to the study.", "trial_index": 0},
    }
    return [*rows, around[program]]


@pytest.mark.parametrize(
    ("program", "suffix"), [("mturk", "csv"), ("gorilla", "csv"), ("jspsych", "csv"), ("jspsych", "json")]
)
def test_a_proposed_map_reads_the_file_as_it_is(program: str, suffix: str, tmp_path: Path) -> None:
    rows, path = rows_of(program), tmp_path / f"results.{suffix}"
    with path.open("w", encoding="utf-8", newline="") as file:
        if suffix == "json":
            json.dump(rows, file)
        else:
            writer = csv.DictWriter(file, [*rows[0]])
            writer.writeheader()
            writer.writerows(rows)
    completed(["new", "map", path])
    text = (tmp_path / "results.map.toml").read_text()
    assert "QUESTION" not in text
    assert "# Tried on the table: 12 items" in text
    items, ratings = pairbank.load_corpus(path), pairbank.load_ratings(path)
    assert sorted(items["target_good"][:]) == sorted(SENTENCES)
    expected = {s: sum(1 + (n * 3 + p) % 7 for p in range(5)) / 5 for n, s in enumerate(SENTENCES)}
    assert {item["target_good"]: item["human_good"] for item in items} == pytest.approx(expected)
    assert len(ratings) == len(SENTENCES) * len(RATERS)
    everything = json.dumps([manifest_of(items), items.to_list(), ratings.to_list()])
    assert not [rater for rater in RATERS if rater in everything]
