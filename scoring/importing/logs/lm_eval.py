"""lm-evaluation-harness: in, `samples_TASK_DATE.jsonl` (`--log_samples`) and `results_DATE.json`; out, logs.

A line of samples is one item of a task of multiple choice: what was scored (`arguments`, context and continuation an
option), the log-probabilities (`resps`, nats, summed over the continuation's tokens), and which option is right. Lines
with two options are pairs; others are left out, and listed. `direct` is log P(continuation | context), the sum;
`per_char` and `per_byte` divide it by the option's length, without the delimiter, as `acc_norm` and `acc_bytes` do.

What the harness scores is often not what `direct` is, and then has a name, a hash and a label of its own (`Variant`).
It joins context and continuation with a delimiter, a space unless the task says otherwise: of a sentence alone it
scores " The cat …" after its BOS, or EOS where there is none (`direct_space`). Whether a BOS is before a context is for
`add_bos_token` to say; unset, that is for the version and the tokenizer, and not in the log (`direct_bos_unstated`;
`direct_no_bos` where it is false).

The task's settings, and dtype and revision of the model, stand in the signature. The harness's accuracy takes the first
of equal options; ours credits a tie with one half.

Biderman et al. 2024, Lessons from the trenches on reproducible evaluation of language models, arXiv:2405.14782.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pairbank.files import sha256_of_text
from pairbank.scoring.api.names import DIRECT
from pairbank.scoring.importing.declared import DeclaredScore, ScoreImportError
from pairbank.scoring.importing.log import Log, LogRow, Source, json_file, json_lines, model_name

TOOL = "lm-evaluation-harness"
SAMPLES = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)\.jsonl")
_SETTINGS = ("model", "model_revision", "model_sha", "model_dtype", "batch_size", "limit", "fewshot_seed")
_TASK_SETTINGS = ("doc_to_text", "description", "target_delimiter", "num_fewshot", "fewshot_delimiter")
_METRICS = {
    "acc": (DIRECT, "nats"),
    "acc_norm": ("per_char", "nats per character"),
    "acc_bytes": ("per_byte", "nats per byte"),
}
"""The harness's accuracy -> the score by which it chooses an option, and its unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """In what the log-probabilities of a sample differ from `direct`.

    >>> Variant(delimiter=" ", has_context=False, bos="bos").suffix, Variant(delimiter=" ", has_context=True).suffix
    ('_space', '_bos_unstated')
    >>> Variant(delimiter="", has_context=False, bos="bos").suffix
    ''
    """

    delimiter: str
    has_context: bool
    bos: str = "bos_unstated"
    """`bos`, `no_bos` or `bos_unstated`: what is before the string that is scored."""

    @property
    def suffix(self) -> str:
        """What its methods have behind their names; nothing where it is `direct` itself."""
        usual = " " if self.has_context else ""
        named = {" ": "_space", "": "_joined"}.get(self.delimiter, f"_delimiter_{sha256_of_text(self.delimiter)[:6]}")
        return ("" if self.delimiter == usual else named) + ("" if self.bos == "bos" else f"_{self.bos}")

    @property
    def words(self) -> str:
        before = {
            "bos": "after BOS or EOS",
            "no_bos": "without BOS",
            "bos_unstated": "the log does not state whether after BOS",
        }[self.bos]
        description = "the continuation given its context" if self.has_context else "the sentence alone"
        return f"{TOOL}: {description}, with {self.delimiter!r} before it, {before}"

    def scores(self) -> Iterator[DeclaredScore]:
        for metric, (stem, unit) in _METRICS.items():
            name = stem + self.suffix
            if stem != DIRECT:
                label = f"log-probability by length, as {metric} has it ({self.words})"
                yield DeclaredScore(name=name, kind="score", direction="higher", unit=unit, label=label)
            elif name != DIRECT:
                yield DeclaredScore(name=name, kind="logprob", direction="higher", unit=unit, label=self.words)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    """One line: its options, which is right, and in what their scores differ from `direct`."""

    contexts: tuple[str, ...]
    texts: tuple[str, ...]
    """The options without the delimiter: what `acc_norm` counts the characters of."""
    scores: Mapping[str, Sequence[float]]
    """Metric -> the options' scores; the harness chooses the first of the greatest."""
    gold: int
    variant: Variant


def _settings(results: Mapping[str, Any], task: str) -> dict[str, Any]:
    config = results.get("config") or {}
    settings = {key: config[key] for key in _SETTINGS if config.get(key) not in (None, "")}
    if isinstance(arguments := config.get("model_args"), Mapping):
        settings["model_args"] = {key: model_name(str(value)) for key, value in arguments.items()}
    for key in ("transformers_version", "chat_template_sha", "system_instruction"):
        if results.get(key):
            settings[key] = results[key]
    settings |= {"task": task, "task_version": (results.get("versions") or {}).get(task)}
    of_task = _of_task(results, task)
    return settings | {key: of_task[key] for key in _TASK_SETTINGS if key in of_task}


def _of_task(results: Mapping[str, Any], task: str) -> Mapping[str, Any]:
    return (results.get("configs") or {}).get(task) or {}


def _bos(config: Mapping[str, Any]) -> str:
    """Return what stands before a context: `bos` or `no_bos`, or `bos_unstated` where it is left to the tokenizer."""
    arguments = config.get("model_args") or {}
    if not isinstance(arguments, Mapping):
        arguments = dict(part.partition("=")[::2] for part in str(arguments).split(","))
    text = str(arguments.get("add_bos_token", "")).lower()
    return {"true": "bos", "false": "no_bos"}.get(text, "bos_unstated")


def read(source: Source) -> list[Log]:
    expected = "samples_TASK_DATE.jsonl, as lm_eval --log_samples --output_path FOLDER writes"
    named = [(file, SAMPLES.fullmatch(file.name)) for file in source.files("*.json*", expected=expected)]
    logs = [_log(file, match["task"], match["date"]) for file, match in named if match]
    if not logs:
        raise ScoreImportError(f"{source}: no samples_*.jsonl; expected {expected}")
    return logs


def _log(file: Path, task: str, date: str) -> Log:
    beside = file.parent / f"results_{date}.json"
    results = json_file(beside) if beside.is_file() else {}
    config = results.get("config") or {}
    dtype = str(config.get("model_dtype") or "").removeprefix("torch.")
    revision = str(config.get("model_sha") or config.get("model_revision") or "")
    log = Log(
        model=model_name(str(results.get("model_name") or config.get("model_args") or file.parent.name)),
        tool=TOOL,
        version=str(results.get("lm_eval_version") or "not stated"),
        settings=_settings(results, task),
        files=(file, beside) if results else (file,),
        facts={name: value for name, value in (("dtype", dtype), ("revision", revision)) if value},
    )
    delimiter, bos = _of_task(results, task).get("target_delimiter", " "), _bos(config)
    correct = {metric: list[bool]() for metric in _METRICS}
    variants: dict[Variant, None] = {}
    for number, line in json_lines(file):
        sample = _sample(line, delimiter, bos, f"{file}, row {number}")
        if sample is None:
            log.refusals.add(file, "no options with log-probabilities (not a multiple choice)", f"row {number}")
            continue
        for metric, values in correct.items():
            values.append(int(np.argmax(sample.scores[metric])) == sample.gold)
        if len(sample.texts) == 2:
            variants[sample.variant] = None
            log.rows.append(LogRow(file=file, line=number, cells=_cells(line, sample, task)))
        else:
            log.refusals.add(file, f"{len(sample.texts)} options, a pair has two", f"row {number}")
    log.scores = tuple(score for variant in variants for score in variant.scores())
    printed = (results.get("results") or {}).get(task) or {}
    for metric, values in correct.items():
        log.compare(task, metric, printed.get(f"{metric},none", printed.get(metric)), values)
    return log


def _sample(line: Mapping[str, Any], delimiter: str, bos: str, where: str) -> _Sample | None:
    """Return what a line holds; None where no option has a log-probability."""
    arguments, answers = line.get("arguments"), line.get("filtered_resps") or line.get("resps")
    if isinstance(arguments, Mapping):
        in_order = sorted(arguments, key=lambda key: int(key.rsplit("_", 1)[-1]))
        arguments = [[arguments[key].get("arg_0"), arguments[key].get("arg_1")] for key in in_order]
    if not isinstance(arguments, list) or not isinstance(answers, list):
        raise ScoreImportError(f"{where}: no arguments and resps; expected a line that lm_eval --log_samples wrote")
    pairs = [tuple(argument[:2]) for argument in arguments]
    if len(pairs) < 2 or not all(isinstance(text, str) for pair in pairs for text in pair):
        return None
    if len(pairs) != len(answers):
        raise ScoreImportError(f"{where}: {len(pairs)} options and {len(answers)} answers; the line is not whole")
    logprobs = [_logprob(answer, where) for answer in answers]
    contexts, options = zip(*pairs, strict=True)
    texts = tuple(option.removeprefix(delimiter) for option in options)
    lengths = {"acc": [1] * len(texts), "acc_norm": [*map(len, texts)], "acc_bytes": [len(x.encode()) for x in texts]}
    with np.errstate(divide="ignore", invalid="ignore"):  # of an option with an empty text, as in the harness
        scores = {metric: (np.array(logprobs) / np.array(n)).tolist() for metric, n in lengths.items()}
    has_context = any(contexts)
    return _Sample(
        contexts=contexts,
        texts=texts,
        scores=scores,
        gold=_gold(line, contexts, options, logprobs, where),
        variant=Variant(delimiter=delimiter, has_context=has_context, bos=bos if has_context else "bos"),
    )


def _logprob(answer: Any, where: str) -> float:  # noqa: ANN401 - JSON is any
    while isinstance(answer, list) and answer:
        answer = answer[0]
    try:
        return float(answer)
    except (TypeError, ValueError) as error:
        raise ScoreImportError(f"{where}: log-probability is {answer!r}, expected a number") from error


def _gold(
    line: Mapping[str, Any], contexts: Sequence[str], options: Sequence[str], logprobs: Sequence[float], where: str
) -> int:
    """Return which option is right; where only contexts differ, `acc` tells it of two."""
    if len(set(contexts)) > 1 and len(set(options)) == 1:
        if len(options) == 2 and line.get("acc") in (0, 1):
            chosen = int(np.argmax(logprobs))
            return chosen if line["acc"] == 1 else 1 - chosen
        raise ScoreImportError(f"{where}: options are contexts, and acc does not say which is right")
    target = str(line.get("target")).strip()
    if target.isdecimal() and len(target) < 5 and int(target) < len(options):
        return int(target)
    texts = [option.strip() for option in options]
    if target in texts:
        return texts.index(target)
    raise ScoreImportError(f"{where}: target is {target[:60]!r}, expected the number of an option, or its text")


def _cells(line: Mapping[str, Any], sample: _Sample, task: str) -> dict[str, str | None]:
    contexts, doc = sample.contexts, line.get("doc")
    fields = doc if isinstance(doc, Mapping) else {}
    kind = "context_pair" if contexts[0] != contexts[1] else "continuation_pair" if contexts[0] else "sentence_pair"
    cells: dict[str, str | None] = {
        "subset": task,
        "task": kind,
        "pair_id": str(fields.get("pairID", line.get("doc_id"))),
        "paradigm": str(fields.get("UID", task)),
        "phenomenon": str(fields["linguistics_term"]) if "linguistics_term" in fields else None,
    }
    for side, place in (("good", sample.gold), ("bad", 1 - sample.gold)):
        cells |= {f"context_{side}": contexts[place], f"target_{side}": sample.texts[place]}
        for metric, (stem, _) in _METRICS.items():
            cells[f"{stem}{sample.variant.suffix}_{side}"] = repr(sample.scores[metric][place])
    return cells
