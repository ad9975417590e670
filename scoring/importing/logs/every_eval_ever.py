"""Every Eval Ever: in, `UUID_samples.jsonl` and perhaps `UUID.json` beside it; out, a log a file.

A record is one sample of one model: the question, its choices, the reference answer, what was extracted from the
output, whether it was correct. Records with two choices and one reference are pairs, their answers decisions; an answer
that is neither choice is `unparsed`, unless the record says that it was correct. The order of `choices` is taken for
the order shown only where the input holds both in that order: the schema does not say it. What the coalition's own
converter makes of lm-evaluation-harness has the place of the right choice as its reference, counted from 0, and the
context of the choices as its input: one that differs between records, since a question is the same in all of them. It
has a record of an answer for each metric, of which the first is read.

Records that pairbank exported (`pairbank export --to every-eval-ever`) carry item and numbers in their metadata, under
`pairbank.…`: these are imported as they were.

EvalEval Coalition, Every Eval Ever, schema 0.3.0, https://github.com/evaleval/every_eval_ever
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pairbank.scoring.api.names import DIRECT, is_string_logprob
from pairbank.scoring.importing.declared import SIDES, DeclaredScore, Kind, ScoreImportError
from pairbank.scoring.importing.join import question_name
from pairbank.scoring.importing.log import Choice, Log, LogRow, Source, first_in, json_file, json_lines, side_of
from pairbank.scoring.prompts.registry import prompts

ENDING = "_samples.jsonl"
OURS = "pairbank."
SCORE = f"{OURS}score."
METHOD, UNIT = f"{OURS}method", f"{OURS}unit"
_COUNTED_FROM_0 = ("lm_eval",)
"""Libraries of whose records the reference is the place of a choice."""
_REQUIRED = ("model_id", "evaluation_name", "sample_id", "input", "answer_attribution", "evaluation")


def read(source: Source) -> list[Log]:
    expected = f"UUID{ENDING} in the schema of Every Eval Ever"
    logs = []
    for file in source.files(f"*{ENDING}", expected=expected):
        by_model: dict[str, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
        for line, record in json_lines(file):
            if missing := [key for key in _REQUIRED if key not in record]:
                raise ScoreImportError(f"{file}, row {line}: no {', '.join(missing)}; the schema requires it")
            by_model[str(record["model_id"])].append((line, record))
        logs += [_log(file, model, records) for model, records in by_model.items()]
    return logs


def _log(file: Path, model: str, records: Sequence[tuple[int, dict[str, Any]]]) -> Log:
    beside = file.with_name(file.name.removesuffix(ENDING) + ".json")
    whole = json_file(beside) if beside.is_file() else {}
    library = whole.get("eval_library") or {}
    log = Log(
        model=model,
        tool=f"{library.get('name', 'not stated')} (Every Eval Ever)",
        version=str(library.get("version", "not stated")),
        settings={
            "schema_version": records[0][1].get("schema_version"),
            "evaluation_id": records[0][1].get("evaluation_id"),
            **{key: whole[key] for key in ("model_info", "source_metadata") if key in whole},
        },
        files=(file, beside) if whole else (file,),
    )
    choices, declared = defaultdict[str, list[Choice]](list), dict[str, DeclaredScore]()
    from_harness = library.get("name") in _COUNTED_FROM_0
    has_context = from_harness and len({str(record["input"].get("raw")) for _, record in records}) > 1
    metrics: dict[str, Any] = {}
    for line, record in records:
        metadata = record.get("metadata") or {}
        if METHOD in metadata:
            ours = {key: metadata[key] for key in metadata if key.startswith(OURS) and key not in (METHOD, UNIT)}
            cells = {key.removeprefix(SCORE).removeprefix(OURS): value for key, value in ours.items()}
            log.rows.append(LogRow(file=file, line=line, cells=cells))
            declared |= _own_scores(metadata)
            continue
        metric = record.get("evaluation_result_id")
        if from_harness and metrics.setdefault(str(record["sample_id"]), metric) != metric:
            log.refusals.add(file, "another metric of an answer that is imported", f"sample {record['sample_id']}")
            continue
        sample = _with_text_as_reference(record) if from_harness else record
        if problem := _problem(sample):
            log.refusals.add(file, problem, f"sample {record['sample_id']}")
        else:
            choice = _choice(file, line, sample, has_context=has_context)
            choices[question_name(str(record["evaluation_name"]))].append(choice)
    log.scores = tuple(declared.values())
    for name, asked in choices.items():
        log.decide(name, f"answers of {asked[0].cells['subset']}", asked)
    log.rows = list(_together(log.rows))
    _compare(log, whole, records)
    return log


def _with_text_as_reference(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record whose reference is the text of a choice, not its place."""
    choices, reference = record["input"].get("choices") or [], record["input"].get("reference") or []
    places = [int(text) for text in reference if text.isdecimal() and text not in choices]
    if len(places) != len(reference) or not all(place < len(choices) for place in places):
        return record
    return {**record, "input": {**record["input"], "reference": [choices[place] for place in places]}}


def _problem(record: Mapping[str, Any]) -> str:
    text = record["input"]
    choices, reference = text.get("choices") or [], text.get("reference") or []
    if len(choices) != 2:
        return f"{len(choices)} choices, a pair has two"
    if len(reference) != 1 or side_of(reference[0], choices, 0) == "unparsed":
        return "the reference is not one of the choices"
    return ""


def _choice(file: Path, line: int, record: Mapping[str, Any], *, has_context: bool) -> Choice:
    text, attributed = record["input"], record["answer_attribution"]
    options = list(text["choices"])
    good = 0 if side_of(text["reference"][0], options, 0) == "good" else 1
    final = [step["extracted_value"] for step in attributed if step.get("is_terminal", True)]
    return Choice(
        file=file,
        line=line,
        options=options,
        good=good,
        answer=str(final[-1]) if final else "",
        is_right=record["evaluation"].get("is_correct") is True,
        shown_first=first_in(str(text.get("formatted") or text["raw"]), options, good),
        cells={
            "subset": str(record["evaluation_name"]),
            "pair_id": str(record["sample_id"]),
            **({f"context_{side}": str(text["raw"]) for side in SIDES} if has_context else {}),
        },
    )


def _own_scores(metadata: Mapping[str, str]) -> dict[str, DeclaredScore]:
    """Return what the numbers of our own export are, where no method of ours has their names."""
    name, unit = metadata[METHOD], metadata.get(UNIT, "nats")
    is_answer = name in prompts() and any(key.startswith(f"{SCORE}{name}:") for key in metadata)
    if name == DIRECT or is_answer or f"{SCORE}{name}_good" not in metadata:
        return {}
    label = metadata.get(f"{OURS}label", "")
    kind: Kind = "logprob" if is_string_logprob(name) and unit == "nats" else "score"
    return {name: DeclaredScore(name=name, kind=kind, direction="higher", unit=unit, label=label)}


def _together(rows: Sequence[LogRow]) -> Iterator[LogRow]:
    whole: dict[str, LogRow] = {}
    for row in rows:
        item_id = row.cells.get("item_id")
        if item_id is None:
            yield row
        elif (first := whole.get(item_id)) is None:
            whole[item_id] = row
        else:
            if repeated := {key for key, value in row.cells.items() if first.cells.get(key, value) != value}:
                raise ScoreImportError(f"{row.where}: {item_id} has another {min(repeated)} in {first.where}")
            whole[item_id] = LogRow(file=first.file, line=first.line, cells={**first.cells, **row.cells})
    yield from whole.values()


def _compare(log: Log, whole: Mapping[str, Any], records: Sequence[tuple[int, Mapping[str, Any]]]) -> None:
    scores: dict[str, list[float]] = defaultdict(list)
    for _, record in records:
        for key in {record.get("evaluation_result_id"), record["evaluation_name"]} - {None}:
            scores[str(key)].append(float(record["evaluation"]["score"]))
    for result in whole.get("evaluation_results") or ():
        metric, name = result.get("metric_config") or {}, str(result.get("evaluation_name"))
        if "accuracy" in str(metric.get("metric_kind") or metric.get("metric_id") or ""):
            values = scores.get(str(result.get("evaluation_result_id"))) or scores.get(name, [])
            log.compare(name, "accuracy", (result.get("score_details") or {}).get("score"), values)
