"""lighteval: in, `details_TASK_DATE.parquet` (`--save-details`) and `results_DATE.json`; out, logs, one per file.

A row has `doc` (query, choices, gold_index), `model_response` and `metric`, as versions from 0.11 on write them. Two
choices with `logprobs` (nats, summed over the choice's tokens) are a pair; two choices with a written answer are a
decision. Other rows are left out, and listed.

Prompt and choice are tokenised apart, and what the tokenizer adds stands before the prompt. Of a sentence alone behind
a BOS that is `direct`; else the scores have names of their own. `output_tokens` are padded with -1.

Habib et al. 2023, LightEval: a lightweight framework for LLM evaluation, https://github.com/huggingface/lighteval
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pairbank.files import read_parquet
from pairbank.scoring.api.names import DIRECT
from pairbank.scoring.importing.declared import DeclaredScore, ScoreImportError
from pairbank.scoring.importing.join import question_name
from pairbank.scoring.importing.log import Choice, Log, LogRow, Source, finite, first_in, json_file, model_name

DETAILS = re.compile(r"details_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)\.parquet")
_UNITS = {"per_char": "nats per character", "per_token": "nats per token"}
_SETTINGS = ("add_special_tokens", "multichoice_continuations_start_space", "batch_size", "system_prompt")


def read(source: Source) -> list[Log]:
    expected = "details_TASK_DATE.parquet, as lighteval --save-details --output-dir FOLDER writes"
    files = [file for file in source.files("*.parquet", expected=expected) if DETAILS.fullmatch(file.name)]
    if not files:
        raise ScoreImportError(f"{source}: no details_*.parquet; expected {expected}")
    return [_log(file) for file in files]


def _log(file: Path) -> Log:
    _, task, date, _ = re.split(DETAILS, file.name)
    folder = file.parent.parent
    folders = (folder, Path(*("results" if part == "details" else part for part in folder.parts)))
    beside = next((path for path in (one / f"results_{date}.json" for one in folders) if path.is_file()), None)
    results = json_file(beside) if beside else {}
    general = results.get("config_general") or {}
    how = general.get("model_config") or {}
    log = Log(
        model=model_name(str(general.get("model_name") or how.get("model_name") or folder.name)),
        tool="lighteval",
        version=str(general.get("lighteval_sha") or "not stated"),
        settings={"task": task, **{key: how[key] for key in _SETTINGS if how.get(key) is not None}},
        files=(file, beside) if beside else (file,),
        facts={name: str(how[name]) for name in ("dtype", "revision") if how.get(name)},
    )
    table = read_parquet(file)
    if missing := [name for name in ("doc", "model_response", "metric") if name not in table.column_names]:
        raise ScoreImportError(f"{file}: no column {', '.join(missing)}; expected details of lighteval 0.11 or newer")
    scores, correct, choices = dict[str, DeclaredScore](), list[bool](), list[Choice]()
    for line, row in enumerate(table.to_pylist(), 1):
        doc, response, where = row["doc"], row["model_response"], f"{file}, row {line}"
        gold = doc["gold_index"][0] if isinstance(doc["gold_index"], list) else doc["gold_index"]
        values = [finite(x, where) for x in (response.get("logprobs") or [])[: len(doc["choices"])]]
        correct += [int(np.argmax(values)) == gold] if values else []
        if problem := _problem(doc, response):
            log.refusals.add(file, problem, f"row {line}")
        elif values:
            declared, cells = _scored(doc, response, values, gold)
            scores |= declared
            log.rows.append(LogRow(file=file, line=line, cells={**_cells(doc, task, gold), **cells}))
        else:
            choices.append(_choice(file, line, row, task, gold))
    log.scores = tuple(scores.values())
    if choices:
        log.decide(question_name(task), f"answers to the task {task} of lighteval", choices)
    printed = (results.get("results") or {}).get(task.replace("|", ":")) or {}
    log.compare(task, "acc", printed.get("acc"), correct)
    return log


def _problem(doc: Mapping[str, Any], response: Mapping[str, Any]) -> str:
    if len(doc["choices"]) != 2:
        return f"{len(doc['choices'])} choices, a pair has two"
    if response.get("logprobs"):
        return "" if len(response["logprobs"]) in (2, 4) else "no log-probability per choice"
    if len(response.get("text") or []) != 1:
        return f"{len(response.get('text') or [])} answers, expected one"
    is_bare = all(len(text.strip()) < 2 for text in doc["choices"])
    return "choices are letters, whose sentences are in the prompt alone" if is_bare else ""


def _scored(
    doc: Mapping[str, Any], response: Mapping[str, Any], values: list[float], gold: int
) -> tuple[dict[str, DeclaredScore], dict[str, str]]:
    n_before, what = len(response.get("input_tokens") or []), "prompt and choice tokenised apart"
    if not doc["query"]:
        what = "the sentence alone, after BOS" if n_before == 1 else "the sentence alone, without BOS"
    is_direct = not doc["query"] and n_before == 1
    suffix = "" if is_direct else "_lighteval" if doc["query"] else "_no_bos_lighteval"
    tokens = [len([i for i in ids if i >= 0]) for ids in (response.get("output_tokens") or [])[:2]]
    lengths = {DIRECT: [1, 1], "per_char": list(map(len, doc["choices"])), "per_token": tokens}
    scores, cells = dict[str, DeclaredScore](), dict[str, str]()
    for stem, (first, second) in ((stem, both) for stem, both in lengths.items() if len(both) == 2 and all(both)):
        name, by = stem + suffix, [values[0] / first, values[1] / second]
        if name != DIRECT:
            scores[name] = DeclaredScore(
                name=name,
                kind="logprob" if stem == DIRECT else "score",
                unit=_UNITS.get(stem, "nats"),
                direction="higher",
                label=f"log-probability, lighteval ({what})",
            )
        cells |= {f"{name}_good": repr(by[gold]), f"{name}_bad": repr(by[1 - gold])}
    return scores, cells


def _cells(doc: Mapping[str, Any], task: str, gold: int) -> dict[str, str | None]:
    good, bad, query = doc["choices"][gold], doc["choices"][1 - gold], doc["query"]
    return {
        "subset": task,
        "paradigm": task,
        "pair_id": doc.get("id") or None,
        "task": "continuation_pair" if query else "sentence_pair",
        "context_good": query or None,
        "context_bad": query or None,
        "target_good": good.lstrip() if query else good,
        "target_bad": bad.lstrip() if query else bad,
    }


def _choice(file: Path, line: int, row: Mapping[str, Any], task: str, gold: int) -> Choice:
    doc, response = row["doc"], row["model_response"]
    options = [text.strip() for text in doc["choices"]]
    return Choice(
        file=file,
        line=line,
        options=options,
        good=gold,
        answer=str((response.get("text_post_processed") or response["text"])[0]),
        is_right=any(value == 1 for value in (row["metric"] or {}).values()),
        shown_first=first_in(doc["query"], options, gold),
        cells={"subset": task, "pair_id": doc.get("id") or None},
    )
