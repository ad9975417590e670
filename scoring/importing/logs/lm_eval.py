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
from pairbank.scoring.importing.log import Log, LogRow, Source, Stated, json_file, json_lines, model_name

TOOL = "lm-evaluation-harness"
SAMPLES = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)\.jsonl")
_SETTINGS = ("model", "model_revision", "model_sha", "model_dtype", "batch_size", "limit", "fewshot_seed")
_TASK_SETTINGS = ("doc_to_text", "description", "target_delimiter", "num_fewshot", "fewshot_delimiter")
_METRICS = ("acc", "acc_norm", "acc_bytes")
_NORMALISED = {"per_char": ("nats per character", "acc_norm"), "per_byte": ("nats per byte", "acc_bytes")}


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
        name = f"{DIRECT}{self.suffix}"
        if name != DIRECT:
            yield DeclaredScore(name=name, kind="logprob", direction="higher", unit="nats", label=self.words)
        for stem, (unit, metric) in _NORMALISED.items():
            label = f"log-probability by length, as {metric} has it ({self.words})"
            yield DeclaredScore(name=stem + self.suffix, kind="score", direction="higher", unit=unit, label=label)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    """One line: its options, their log-probabilities, and which is right."""

    contexts: tuple[str, ...]
    options: tuple[str, ...]
    """With the delimiter."""
    logprobs: tuple[float, ...]
    gold: int
    delimiter: str
    bos: str
    """Of what has a context: `bos`, `no_bos` or `bos_unstated`."""

    @property
    def variant(self) -> Variant:
        has_context = any(self.contexts)
        return Variant(delimiter=self.delimiter, has_context=has_context, bos=self.bos if has_context else "bos")

    @property
    def texts(self) -> list[str]:
        """Return the options without the delimiter: what `acc_norm` counts the characters of."""
        return [option.removeprefix(self.delimiter) for option in self.options]

    def value(self, metric: str) -> float:
        """Return a metric by the harness's rule: the first of the greatest is chosen."""
        lengths = {
            "acc": [1.0 for _ in self.options],
            "acc_norm": [float(len(text)) for text in self.texts],
            "acc_bytes": [float(len(text.encode())) for text in self.texts],
        }[metric]
        return float(np.argmax(np.array(self.logprobs) / np.array(lengths)) == self.gold)


@dataclass(frozen=True, slots=True)
class _Run:
    """A `results_*.json`, or what is known without one."""

    results: Mapping[str, Any]

    def settings(self, task: str) -> dict[str, Any]:
        config = self.results.get("config") or {}
        texts = {key: config[key] for key in _SETTINGS if config.get(key) not in (None, "")}
        arguments = config.get("model_args")
        if isinstance(arguments, Mapping):
            texts["model_args"] = {key: model_name(str(value)) for key, value in arguments.items()}
        for key in ("transformers_version", "chat_template_sha", "system_instruction"):
            if self.results.get(key):
                texts[key] = self.results[key]
        settings, version = self.task(task), (self.results.get("versions") or {}).get(task)
        kept = {key: settings[key] for key in _TASK_SETTINGS if key in settings}
        return texts | {"task": task, "task_version": version} | kept

    def task(self, name: str) -> Mapping[str, Any]:
        return (self.results.get("configs") or {}).get(name) or {}

    @property
    def bos(self) -> str:
        """What stands before a context: `bos` or `no_bos`, or `bos_unstated` where it is left to the tokenizer."""
        config = self.results.get("config") or {}
        arguments = config.get("model_args") or {}
        if not isinstance(arguments, Mapping):
            arguments = dict(part.partition("=")[::2] for part in str(arguments).split(","))
        text = str(arguments.get("add_bos_token", "")).lower()
        return {"true": "bos", "false": "no_bos"}.get(text, "bos_unstated")

    @property
    def facts(self) -> dict[str, str]:
        """Return dtype and revision of the model, where the log states them."""
        config = self.results.get("config") or {}
        dtype = str(config.get("model_dtype") or "").removeprefix("torch.")
        revision = str(config.get("model_sha") or config.get("model_revision") or "")
        return {name: value for name, value in (("dtype", dtype), ("revision", revision)) if value}


def read(source: Source) -> list[Log]:
    expected = "samples_TASK_DATE.jsonl, as lm_eval --log_samples --output_path FOLDER writes"
    named = source.files("*.json*", expected=expected)
    files = [file for file in named if SAMPLES.fullmatch(file.name)]
    if not files:
        raise ScoreImportError(f"{source}: no samples_*.jsonl; expected {expected}")
    return [_log(file) for file in files]


def _log(file: Path) -> Log:
    text = SAMPLES.fullmatch(file.name)
    if text is None:
        raise ScoreImportError(f"{file}: expected a name as lm_eval writes it, samples_TASK_DATE.jsonl")
    task = text["task"]
    beside = file.parent / f"results_{text['date']}.json"
    results = json_file(beside) if beside.is_file() else {}
    run = _Run(results=results)
    name = str(results.get("model_name") or (results.get("config") or {}).get("model_args") or file.parent.name)
    log = Log(
        model=model_name(name),
        tool=TOOL,
        version=str(results.get("lm_eval_version") or "not stated"),
        settings=run.settings(task),
        files=(file, beside) if results else (file,),
        facts=run.facts,
    )
    delimiter, bos = run.task(task).get("target_delimiter", " "), run.bos
    correct = {metric: list[float]() for metric in _METRICS}
    variants: dict[Variant, None] = {}
    for number, line in json_lines(file):
        sample = _sample(line, delimiter, bos, f"{file}, row {number}")
        if sample is None:
            log.refusals.add(file, "no options with log-probabilities (not a multiple choice)", f"row {number}")
            continue
        for metric, values in correct.items():
            values.append(sample.value(metric))
        if len(sample.options) == 2:
            variants[sample.variant] = None
            log.rows.append(LogRow(file=file, line=number, cells=_cells(line, sample, task)))
        else:
            log.refusals.add(file, f"{len(sample.options)} options, a pair has two", f"row {number}")
    log.scores = tuple(score for variant in variants for score in variant.scores())
    log.stated = list(_stated(task, results, correct))
    return log


def _stated(task: str, results: Mapping[str, Any], correct: Mapping[str, Sequence[float]]) -> Iterator[Stated]:
    printed = (results.get("results") or {}).get(task) or {}
    for metric, values in correct.items():
        stated = printed.get(f"{metric},none", printed.get(metric))
        if isinstance(stated, int | float) and values:
            result = sum(values) / len(values)
            yield Stated(what=task, metric=metric, stated=float(stated), computed=result)


def _sample(line: Mapping[str, Any], delimiter: str, bos: str, where: str) -> _Sample | None:
    """Return what a line holds; None where no option has a log-probability."""
    arguments, answers = line.get("arguments"), line.get("filtered_resps") or line.get("resps")
    if isinstance(arguments, Mapping):
        arguments = [arguments[key] for key in sorted(arguments, key=_number_of)]
        arguments = [[argument.get("arg_0"), argument.get("arg_1")] for argument in arguments]
    if not isinstance(arguments, list) or not isinstance(answers, list):
        raise ScoreImportError(f"{where}: no arguments and resps; expected a line that lm_eval --log_samples wrote")
    pairs = [tuple(argument[:2]) for argument in arguments]
    if len(pairs) < 2 or not all(isinstance(text, str) for pair in pairs for text in pair):
        return None
    if len(pairs) != len(answers):
        raise ScoreImportError(f"{where}: {len(pairs)} options and {len(answers)} answers; the line is not whole")
    logprobs = tuple(_logprob(answer, where) for answer in answers)
    options = tuple(str(option) for _, option in pairs)
    contexts = tuple(str(context) for context, _ in pairs)
    gold = _gold(line, contexts, options, logprobs, where)
    return _Sample(contexts=contexts, options=options, logprobs=logprobs, gold=gold, delimiter=delimiter, bos=bos)


def _number_of(key: str) -> int:
    return int(key.rsplit("_", 1)[-1])


def _logprob(answer: Any, where: str) -> float:  # noqa: ANN401 - JSON is any
    while isinstance(answer, list) and answer:
        answer = answer[0]
    try:
        return float(answer)
    except (TypeError, ValueError) as error:
        raise ScoreImportError(f"{where}: log-probability is {answer!r}, expected a number") from error


def _gold(
    line: Mapping[str, Any],
    contexts: tuple[str, ...],
    options: tuple[str, ...],
    logprobs: tuple[float, ...],
    where: str,
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
    good, bad = sample.gold, 1 - sample.gold
    texts, doc = sample.texts, line.get("doc")
    fields = doc if isinstance(doc, Mapping) else {}
    contexts = sample.contexts
    kind = "context_pair" if contexts[0] != contexts[1] else "continuation_pair" if contexts[0] else "sentence_pair"
    number = line.get("doc_id")
    results: dict[str, str | None] = {
        "subset": task,
        "task": kind,
        "pair_id": str(fields.get("pairID", number)),
        "paradigm": str(fields["UID"]) if "UID" in fields else task,
        "phenomenon": str(fields["linguistics_term"]) if "linguistics_term" in fields else None,
        "context_good": contexts[good],
        "context_bad": contexts[bad],
        "target_good": texts[good],
        "target_bad": texts[bad],
    }
    suffix = sample.variant.suffix
    for side, place in (("good", good), ("bad", bad)):
        results[f"direct{suffix}_{side}"] = repr(sample.logprobs[place])
        results[f"per_char{suffix}_{side}"] = repr(sample.logprobs[place] / len(texts[place]))
        results[f"per_byte{suffix}_{side}"] = repr(sample.logprobs[place] / len(texts[place].encode()))
    return results
