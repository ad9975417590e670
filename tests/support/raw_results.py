"""Results of one rating study in the exact form of each experiment program, sentences of our own."""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

NOUNS = ("old dog", "young cat", "red bird", "tall man", "small girl", "wet frog")
ITEMS = [(n, c, f"The {x} {'sleeps' if c == 'good' else 'sleep'}.")
         for n, x in enumerate(NOUNS) for c in ("good", "bad")]  # fmt: skip
PEOPLE = [f"{'5f' * 11}{n:02d}" for n in range(6)]
"""Ids as Prolific gives them."""
PENN = ("Results reception time", "MD5 hash of participant's IP address", "Controller name", "Order number of item",
        "Inner element number", "Label", "Latin Square Group", "PennElementType", "PennElementName", "Parameter",
        "Value", "EventTime")  # fmt: skip
IBEX = ("Time results were received", "MD5 hash of participant's IP address", "Controller name", "Item number",
        "Element number", "Type", "Group")  # fmt: skip


def rating(n: int, condition: str, rater: int) -> int:
    return max(1, min(7, (6 if condition == "good" else 2) + (n + rater) % 3 - 1))


def means(*, lowest: int = 1) -> dict[str, float]:
    values = {s: [rating(n, c, r) for r in range(len(PEOPLE))] for n, c, s in ITEMS}
    return {s: sum(rated) / len(rated) - 1 + lowest for s, rated in values.items()}


def _numbered(names: Iterable[str], start: int = 1) -> list[str]:
    return [f"# {n}. {name}." for n, name in enumerate(names, start)]


def pcibex(path: Path) -> None:
    """Two blocks of columns per participant, the second one named whole or from its first new column on."""
    lines, own = ["#", "# Results on Monday November 03 2025 10:00:00 UTC", "#"], ("item", "condition", "sentence")
    below = "# Columns below this comment are as follows:"
    for who, name in enumerate(PEOPLE):
        lines += [below, *_numbered([*PENN, "Comments"])]
        trial = f"1762,{name}a,PennController"
        lines.append(f"{trial},0,0,intro,NULL,TextInput,age,Final,3{who},1762,NULL")
        both = [*own, "Comments"]
        lines += [below, *_numbered([*PENN, *both])] if who % 2 else _numbered(both, len(PENN) + 1)
        for k, (n, c, s) in enumerate(ITEMS, 1):
            lines.append(f"{trial},{k},0,trial,NULL,PennController,{k},_Trial_,Start,1762,{n},{c},{s},NULL")
            value = rating(n, c, who)
            lines.append(f"{trial},{k},0,trial,NULL,Scale,score,Choice,{value},1762,{n},{c},{s},Wait%2C success")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def ibex(path: Path) -> None:
    """AcceptabilityJudgment: a row with the sentence, a row with the answer."""
    asked = ("Question (NULL if none)", "Answer", "Whether or not answer was correct (NULL if N/A)",
             "Time taken to answer")  # fmt: skip
    lines = ["# Results on Monday", "# Columns below this comment are as follows:", *_numbered(IBEX)]
    for who, name in enumerate(PEOPLE):
        for k, (n, c, s) in enumerate(ITEMS):
            trial = f"12737{who},{name}b,AcceptabilityJudgment,{k},0,{c},{who % 2}"
            lines += ["# 8. Sentence (or sentence MD5).", f"{trial},{s}", *_numbered(asked, 8)]
            lines.append(f"{trial},NULL,{rating(n, c, who)},NULL,{900 + 10 * k}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def qualtrics(path: Path, labels: Sequence[str] = ()) -> None:
    """A matrix question, an age, a preview; `labels` name the answers from 1 on."""
    matrix = [f"Q5_{k}" for k in range(1, len(ITEMS) + 1)]
    header = ["StartDate", "Status", "IPAddress", "Finished", "ResponseId", "RecipientEmail", "Q2", "Q3_Click", *matrix]
    asked = [f"How natural is each? - {s}" for *_, s in ITEMS]
    texts = [*header[:6], "How old are you?", "Timing - First Click", *asked]
    ids = ["startDate", "status", "ipAddress", "finished", "_recordId", "recipientEmail", "QID2", "QID3_FIRST_CLICK",
           *(f"QID5_{k}" for k in range(1, len(ITEMS) + 1))]  # fmt: skip
    rows = [header, texts, [json.dumps({"ImportId": name}) for name in ids]]
    for who in range(len(PEOPLE)):
        values = [rating(n, c, who) for n, c, _ in ITEMS]
        said = [labels[value - 1] if labels else str(value) for value in values]
        rows.append(["2025-11-03", "IP Address", f"1.2.3.{who}", "True", f"R_{who}xyz", "", f"2{who}", "1.5", *said])
    rows.append(["2025-11-03", "Survey Preview", "9.9.9.9", "True", "R_prev", "", "1", "1.5", *["1"] * len(ITEMS)])
    _write(path, rows)


def jspsych(who: int, *, with_id: bool) -> list[dict[str, Any]]:
    trials: list[dict[str, Any]] = [
        {"rt": 4000, "stimulus": "<p>Welcome.</p>", "response": " ", "trial_type": "html-keyboard-response",
         "trial_index": 0}
    ]  # fmt: skip
    trials += (
        {"rt": 800 + k, "stimulus": f"<p style='font-size:40px'>{s}</p>", "response": rating(n, c, who) - 1,
         "trial_type": "html-button-response", "trial_index": k, "item": n, "condition": c}
        for k, (n, c, s) in enumerate(ITEMS, 1)
    )  # fmt: skip
    return [trial | ({"subject_id": PEOPLE[who]} if with_id else {}) for trial in trials]


def jspsych_csv(path: Path, people: Iterable[int], *, with_id: bool) -> None:
    trials = [trial for who in people for trial in jspsych(who, with_id=with_id)]
    columns = list(dict.fromkeys(name for trial in trials for name in trial))
    _write(path, [columns, *([trial.get(name, "") for name in columns] for trial in trials)])


def gorilla(path: Path) -> None:
    """Rows of texts and buttons around those of ratings, and an end that is no row."""
    header = ["Event Index", "Participant Public ID", "Participant Private ID", "Task Name", "Trial Number",
              "Zone Name", "Zone Type", "Reaction Time", "Response", "UTC Date and Time", "sentence",
              "condition"]  # fmt: skip
    rows: list[list[Any]] = [header]
    for who, name in enumerate(PEOPLE):
        for k, (n, c, s) in enumerate(ITEMS, 1):
            of_trial, end = [k, name, 7000 + who, "Ratings", k], ["03/11/2025", s, c]
            rows.append([*of_trial, "Zone1", "content_text", 3.2, "", *end])
            rows.append([*of_trial, "Zone2", "response_rating_scale_likert", 800 + k, rating(n, c, who), *end])
            rows.append([*of_trial, "advancementZone", "continue_button", 900, "", *end])
    _write(path, [*rows, ["END OF FILE"]])


def mturk(path: Path) -> None:
    """All sentences of a task in one row, numbered."""
    numbers = range(1, len(ITEMS) + 1)
    header = ["HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "Input.list",
              *(f"Input.{x}_{k}" for k in numbers for x in ("sentence", "condition")),
              *(f"Answer.rating_{k}" for k in numbers)]  # fmt: skip
    rows = [[f"3H{who}", f"3A{who}", f"A1B2C3D4E5F{who}X", "Approved", "1", *(x for _, c, s in ITEMS for x in (s, c)),
             *(rating(n, c, who) for n, c, _ in ITEMS)] for who in range(len(PEOPLE))]  # fmt: skip
    _write(path, [header, *rows])


def qualtrics_loop(path: Path) -> None:
    """Loop & merge with labels in place of numbers, an order of display, and a question that rates nothing."""
    header = ["Status", "Finished", "ResponseId", "Q1", *(f"{k}_Q5" for k in range(1, len(ITEMS) + 1)), "Q5_DO_1"]
    texts = [
        *header[:3],
        "Where do you live? - Selected Choice",
        *(f"{s}\n\nHow natural is this?" for *_, s in ITEMS),
        "Order",
    ]
    ids = ["status", "finished", "_recordId", "QID1", *(f"{k}_QID5" for k in range(1, len(ITEMS) + 1)), "QID5_DO_1"]
    rows = [header, texts, [json.dumps({"ImportId": name}) for name in ids]]
    for who in range(len(PEOPLE)):
        said = [f"{value} - good" if value == 7 else str(value) for value in (rating(n, c, who) for n, c, _ in ITEMS)]
        rows.append(["IP Address", "False" if who == 2 else "True", f"R_{who}xyz", "2", *said, "4"])
    _write(path, rows)


def gorilla_questionnaire(path: Path) -> None:
    """A questionnaire in long form: a label and its number per question, which is the sentence."""
    rows: list[list[Any]] = [
        ["Event Index", "Participant Public ID", "Participant Private ID", "Question Key", "Response"]
    ]
    for who, name in enumerate(PEOPLE):
        given = [(s, rating(n, c, who)) for n, c, s in ITEMS]
        keys = [
            ("BEGIN QUESTIONNAIRE", ""),
            *((k, v) for s, x in given for k, v in ((s, "good"), (f"{s}-quantised", x))),
        ]
        rows += ([place, name, 7000 + who, key, value] for place, (key, value) in enumerate(keys))
    _write(path, [*rows, ["END OF FILE"]])


def mturk_json(path: Path) -> None:
    """One sentence per assignment, radio buttons in JSON, a long description, and a rejected assignment."""
    rows = [
        ["HITId", "Description", "AssignmentId", "WorkerId", "AssignmentStatus", "Input.sentence", "Answer.taskAnswers"]
    ]
    for who in range(len(PEOPLE) + 1):
        for k, (n, c, s) in enumerate(ITEMS):
            answer = {"age": "31", "rating": {str(value): value == rating(n, c, who) for value in range(1, 8)}}
            status = "Approved" if who < len(PEOPLE) else "Rejected"
            told = "Read sentences, and say of each how natural it is"
            rows.append([f"3H{k}", told, f"3A{who}{k}", f"A1B2C3D4E5F{who}X", status, s, json.dumps([answer])])
    _write(path, rows)


def jatos_lines(path: Path) -> None:
    """Lists of trials, a line per participant, of a survey whose questions are named by their sentences."""
    lines = []
    for who, name in enumerate(PEOPLE):
        trial = {"trial_type": "survey-likert", "trial_index": 1, "rt": 9000, "subject_id": name}
        lines.append(json.dumps([trial | {"response": {s: rating(n, c, who) - 1 for n, c, s in ITEMS}}]))
    path.write_text("\n".join(lines), encoding="utf-8")


def write(program: str, folder: Path) -> Path:
    path = folder / {"jatos_lines": "results.txt", "jspsych.json": "results.json", "jspsych_folder": "people"}.get(
        program, f"results.{'zip' if program in ('osf', 'jatos') else 'csv'}"
    )
    everyone = range(len(PEOPLE))
    if program == "jspsych.json":
        path.write_text(json.dumps([x for who in everyone for x in jspsych(who, with_id=True)]), encoding="utf-8")
    elif program == "jspsych.csv":
        jspsych_csv(path, everyone, with_id=True)
    elif program in ("jspsych_folder", "osf"):
        people = folder / "people"
        people.mkdir()
        for who in everyone:
            jspsych_csv(people / f"data_{PEOPLE[who]}.csv", [who], with_id=False)
        (people / "README.md").write_text("Data.", encoding="utf-8")
        if program == "osf":
            with zipfile.ZipFile(path, "w") as archive:
                for file in people.iterdir():
                    archive.write(file, f"study/data/{file.name}")
                archive.writestr("__MACOSX/study/._x.csv", "x")
    elif program == "jatos":
        with zipfile.ZipFile(path, "w") as archive:
            for who in everyone:
                archive.writestr(f"study_result_{who}/data.txt", json.dumps(jspsych(who, with_id=False)))
    else:
        {"pcibex": pcibex, "ibex": ibex, "qualtrics": qualtrics, "gorilla": gorilla, "mturk": mturk,
         "qualtrics_loop": qualtrics_loop, "gorilla_questionnaire": gorilla_questionnaire, "mturk_json": mturk_json,
         "jatos_lines": jatos_lines}[program](path)  # fmt: skip
    return path


def _write(path: Path, rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
