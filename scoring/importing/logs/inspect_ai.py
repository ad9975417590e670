"""Inspect logs: in, `.eval` or `.json` files of inspect_ai; out, a log a file, the answers as decisions.

Samples with two choices and one right letter are pairs. Where a log asks a pair in both orders, both are kept, and
position bias can be told; where choices were shuffled by the solver, the order that was shown is not in the log. An
answer that names neither choice is `unparsed`: Inspect counts it as wrong, ours are shares of answers. `.eval` files
are read by Inspect's own reader (the extra `inspect`), `.json` files by it where it is installed.

UK AI Security Institute, Inspect: framework for large language model evaluations, https://inspect.aisi.org.uk
"""

from __future__ import annotations

import importlib.util
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.importing.join import question_name
from pairbank.scoring.importing.log import Choice, Log, Source, json_file, model_name

_VALUES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""What Inspect's accuracy makes of a score's value."""


def read(source: Source) -> list[Log]:
    expected = "logs of inspect_ai (.eval, or .json by --log-format json)"
    files = [file for file in source.files("*.*", expected=expected) if file.suffix in (".eval", ".json")]
    if not files:
        raise ScoreImportError(f"{source}: no .eval or .json file; expected {expected}")
    return [_log(file, _read(file)) for file in files]


def _read(file: Path) -> dict[str, Any]:
    if importlib.util.find_spec("inspect_ai") is None:
        if file.suffix == ".eval":
            raise ScoreImportError(
                f"{file}: .eval files are read by the package inspect_ai; pip install 'pairbank[inspect]', or turn it "
                "into JSON where it was made: inspect log convert --to json --output-dir OUT FILE"
            )
        result = json_file(file)
    else:
        from inspect_ai.log import read_eval_log

        try:
            result = read_eval_log(str(file)).model_dump(mode="json")
        except (ValueError, OSError, KeyError) as error:
            raise ScoreImportError(f"{file}: not a log that inspect_ai reads ({error}); download it again") from error
    if not isinstance(result.get("eval"), dict) or "task" not in result["eval"]:
        raise ScoreImportError(f"{file}: JSON without eval.task; expected a log of inspect_ai")
    return result


def _log(file: Path, document: Mapping[str, Any]) -> Log:
    facts, plan = document["eval"], document.get("plan") or {}
    task, epochs = str(facts["task"]), int((facts.get("config") or {}).get("epochs") or 1)
    if document.get("status", "success") != "success":
        raise ScoreImportError(f"{file}: its status is {document['status']!r}; expected a log that ran to its end")
    solver = [{"solver": step.get("solver"), "params": step.get("params") or {}} for step in plan.get("steps") or []]
    shuffled = any(step["params"].get("shuffle") for step in solver)
    log = Log(
        model=model_name(str(facts.get("model"))),
        tool="inspect_ai",
        version=str((facts.get("packages") or {}).get("inspect_ai", "not stated")),
        settings={
            "task": task,
            "epochs": epochs,
            "solver": solver,
            "generation": {key: value for key, value in (plan.get("config") or {}).items() if value},
        },
        files=(file,),
    )
    choices, values = defaultdict[str, list[Choice]](list), defaultdict[str, list[float]](list)
    for line, sample in enumerate(document.get("samples") or [], 1):
        for scorer, score in (sample.get("scores") or {}).items():
            value = score.get("value")
            value = _VALUES.get(value, 0.0) if isinstance(value, str) else value
            values[scorer].append(float(value) if isinstance(value, int | float) else 0.0)
        if problem := _problem(sample):
            log.refusals.add(file, problem, f"sample {sample.get('id')}")
            continue
        for scorer, score in sample["scores"].items():
            name = question_name(task if len(sample["scores"]) == 1 else f"{task}_{scorer}")
            name = name if epochs == 1 else f"{name}_epoch{sample.get('epoch', 1)}"
            choices[name].append(_choice(file, line, sample, score, task, shuffled=shuffled))
    for name, asked in choices.items():
        log.decide(name, f"answers to the task {task} of Inspect", asked)
    for score in (document.get("results") or {}).get("scores") or []:
        scorer, accuracy = str(score.get("scorer")), (score.get("metrics") or {}).get("accuracy")
        if accuracy is not None and (computed := values.get(scorer)):
            log.compare(task, f"accuracy ({scorer})", float(accuracy["value"]), computed)
    return log


def _problem(sample: Mapping[str, Any]) -> str:
    choices, target = sample.get("choices") or [], str(sample.get("target")).strip()
    if sample.get("error"):
        return "the sample ended in an error"
    if len(choices) != 2:
        return f"{len(choices)} choices, a pair has two"
    if target not in ("A", "B"):
        return f"target is {target[:20]!r}, expected A or B"
    return "" if sample.get("scores") else "no score"


def _choice(
    file: Path, line: int, sample: Mapping[str, Any], score: Mapping[str, Any], task: str, *, shuffled: bool
) -> Choice:
    good = "AB".index(str(sample["target"]).strip())
    text = sample.get("metadata") or {}
    return Choice(
        file=file,
        line=line,
        options=sample["choices"],
        good=good,
        answer=str(score.get("answer") or ""),
        is_right=score.get("value") == "C",
        shown_first=None if shuffled else "good" if good == 0 else "bad",
        cells={
            "subset": task,
            "paradigm": str(text["UID"]) if "UID" in text else None,
            "pair_id": str(text.get("pairID", sample.get("id"))),
        },
    )
