"""Hu et al. 2024 on the sentences of Dentella et al. 2023: in, their files; out, a log a system, of pairs or sentences.

Pairs (`hu-2024-dgl`): `surprisals_MODEL.csv`, the summed surprisal of both sides, first token included; nothing says
what stood before it, so that the score is `direct_bos_unstated`. Half a pair is put together with the row of the other
side whose words are the same in another order.

Sentences (`hu-2024-dgl-sentences`): `stimuli.csv` with what was answered to "Is the following sentence grammatically
correct in English? … Respond with C … N". People's answers (`dgl_people.csv`) are the items' human judgment, the share
of all repetitions that accept; ten sampled answers (`dgl_models.csv`) are the share of those that accept. The published
script sends text-davinci-002 and -003 the template instead of the question, and they make a sentence up: their answers
are a method of their own, `asked_without_sentence`, which the answers of the others are never compared with.

Hu, Mahowald, Lupyan, Ivanova & Levy 2024, PNAS 121(36); Dentella, Günther & Leivada 2023, PNAS 120(51).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pairbank.builders.ratings import BINARY, SHARE_THAT_ACCEPTS
from pairbank.scoring.api.names import UNPARSED
from pairbank.scoring.importing.declared import SIDES, ScoreImportError
from pairbank.scoring.importing.join import normalised
from pairbank.scoring.importing.log import Judgment, Log, LogRow, Refusals, Source, finite, published_rows

CONDITIONS = {"grammatical": "1", "ungrammatical": "0"}
TOOL = "scripts of response-to-DGL"
_ARTICLES = {"a", "an"}
_RATERS = ("rater", "participant")
"""The column of raters; their names do not leave the reader."""
_TEMPLATE_ANSWERED = ("text-davinci-002", "text-davinci-003")
Row = Mapping[str, str]
Answer = tuple[Path, str, str, str, str]
"""File, model, score, sentence, and what the file has for it."""


def read(source: Source) -> list[Log]:
    return _sentences(source) if source.how.task == "sentence" else _pairs(source)


def _pairs(source: Source) -> list[Log]:
    logs = []
    for file in source.files("surprisals_*.csv", expected="surprisals_MODEL.csv"):
        log = Log(model=file.stem.removeprefix("surprisals_"), tool=TOOL, files=(file,))
        halves: list[tuple[int, Row]] = []
        pairs: list[tuple[int, Row, Row]] = []
        for line, row in published_rows(file, *source.columns()):
            if all(row[f"sentence_{condition}"] for condition in CONDITIONS):
                pairs.append((line, row, row))
            else:
                halves.append((line, row))
        pairs += _put_together(file, halves, log.refusals)
        log.rows = [_pair(source, file, *pair) for pair in pairs]
        logs.append(log)
    return logs


def _pair(source: Source, file: Path, line: int, good: Row, bad: Row) -> LogRow:
    cells = source.cells(good) | {name: cell for name, cell in source.cells(bad).items() if name.endswith("_bad")}
    for name in (f"direct_bos_unstated_{side}" for side in SIDES):
        cells[name] = repr(-finite(cells[name], f"{file}, row {line}", "a surprisal"))
    return LogRow(file=file, line=line, cells={**cells, "context_good": "", "context_bad": ""})


def _put_together(file: Path, halves: Iterable[tuple[int, Row]], refusals: Refusals) -> Iterator[tuple[int, Row, Row]]:
    """Yield pairs made of two rows with the same words; count the halves that remain."""
    sides: dict[str, dict[tuple[str, ...], list[tuple[int, Row]]]] = {name: defaultdict(list) for name in CONDITIONS}
    for line, row in halves:
        condition = next((name for name in CONDITIONS if row[f"sentence_{name}"]), None)
        if condition is None:
            refusals.add(file, "no sentence", f"row {line}")
            continue
        words = sorted(set(normalised(row[f"sentence_{condition}"]).lower().split()) - _ARTICLES)
        sides[condition][row["phenomenon"], *words].append((line, row))
    goods, bads = sides.values()
    for same_words in dict.fromkeys([*goods, *bads]):
        good, bad = goods.get(same_words, []), bads.get(same_words, [])
        if len(good) == len(bad) == 1:
            yield *good[0], bad[0][1]
            continue
        for line, row in [*good, *bad]:
            refusals.add(file, "the other side of the pair is not there", f"row {line}: {row['test_item']}")


def _sentences(source: Source) -> list[Log]:
    file = source.file("stimuli.csv", expected="stimuli.csv of response-to-DGL")
    stimuli: dict[str, LogRow] = {}
    for line, row in published_rows(file, *source.columns(), "condition"):
        cells = {**source.cells(row), "label": CONDITIONS[_condition(row, file, line)]}
        stimuli[row["sentence"]] = LogRow(file=file, line=line, cells=cells)
    refusals = Refusals()
    draws: dict[str, list[Judgment]] = defaultdict(list)
    answers: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    files: dict[str, dict[Path, None]] = defaultdict(dict)
    for file, model, score, text, answer in (*_answers(source), *_sampled(source, draws)):
        files[model][file] = None
        if text not in stimuli:
            refusals.add(file, "the sentence is none of the stimuli", repr(text[:60]))
        elif score in answers[model][text]:
            raise ScoreImportError(f"{file}: {text[:60]!r} has two answers of {model}; leave one of them")
        else:
            answers[model][text][score] = answer
    judgments, people = _people(source, stimuli, refusals)
    logs = []
    for model, by_text in answers.items():
        log = Log(model=model, tool=TOOL, files=tuple(files[model]))
        for text in (text for text in stimuli if text in by_text):
            scores = {f"{score}_good": answer for score, answer in by_text[text].items()}
            cells = {**stimuli[text].cells, **people.get(text, {}), **scores}
            log.rows.append(LogRow(file=stimuli[text].file, line=stimuli[text].line, cells=cells))
        log.draws = [draw for draw in draws[model] if draw.text in stimuli]
        logs.append(log)
    logs[0].refusals, logs[0].judgments = refusals, judgments
    return logs


def _answers(source: Source) -> Iterator[Answer]:
    for file in source.files("prompting_*.csv", expected="prompting_MODEL.csv"):
        rows = [row for _, row in published_rows(file, "sentence", "condition")]
        models = {column: model for column, model in source.how.models.items() if column in rows[0]}
        if not models and "response_clean" in rows[0]:
            models = {"response_clean": file.stem.removeprefix("prompting_")}
        if not models:
            raise ScoreImportError(f"{file}: no answers; expected a column response_clean, or original_prompt_MODEL")
        for column, model in models.items():
            score = "asked_without_sentence" if model in _TEMPLATE_ANSWERED else "asked"
            yield from ((file, model, score, row["sentence"], row[column] or UNPARSED) for row in rows)


def _sampled(source: Source, draws: dict[str, list[Judgment]]) -> Iterator[Answer]:
    """Yield the share of the sampled answers that accept a sentence; add each of them to the draws of its model."""
    for file in source.files("dgl_models.csv", expected="dgl_models.csv"):
        values: dict[tuple[str, str], list[int]] = defaultdict(list)
        for line, row in published_rows(file, "model", "sentence", "condition", "accuracy", "repetition"):
            model, text = source.how.models.get(row["model"], row["model"]), row["sentence"]
            values[model, text].append(_accepts(row, file, line))
            value = float(values[model, text][-1])
            draws[model].append(Judgment(text=text, rater=row["repetition"], value=value, scale=BINARY))
        yield from ((file, model, "sampled", text, repr(sum(v) / len(v))) for (model, text), v in values.items())


def _people(
    source: Source, stimuli: Mapping[str, LogRow], refusals: Refusals
) -> tuple[list[Judgment], dict[str, dict[str, str]]]:
    """Return the share of each rater's repetitions that accept a sentence, and each sentence's human judgment."""
    accepted: dict[tuple[str, str], list[int]] = defaultdict(list)
    for file in source.files("dgl_people.csv", expected="dgl_people.csv"):
        rows = published_rows(file, "sentence", "condition", "accuracy")
        named = next((name for name in _RATERS if name in rows[0][1]), None)
        if named is None:
            raise ScoreImportError(f"{file}: no column {' or '.join(_RATERS)}; expected the file as it was published")
        numbers = {name: str(n) for n, name in enumerate(dict.fromkeys(row[named] for _, row in rows))}
        for line, row in rows:
            if row["sentence"] in stimuli:
                accepted[row["sentence"], numbers[row[named]]].append(_accepts(row, file, line))
            else:
                refusals.add(file, "the sentence is none of the stimuli", f"row {line}: {row['sentence'][:60]!r}")
    judgments, by_text = [], defaultdict[str, list[list[int]]](list)
    for (text, rater), values in accepted.items():
        share = sum(values) / len(values)
        judgments.append(Judgment(text=text, rater=rater, value=share, scale=SHARE_THAT_ACCEPTS))
        by_text[text].append(values)
    people = {
        text: {
            "human_good": repr(sum(map(sum, raters)) / sum(map(len, raters))),
            "human_n": str(len(raters)),
            "human_scale": SHARE_THAT_ACCEPTS,
        }
        for text, raters in by_text.items()
    }
    return judgments, people


def _accepts(row: Row, file: Path, line: int) -> int:
    """Return whether a judgment accepts a sentence: the files say whether it agrees with the condition."""
    if row["accuracy"] not in ("0", "1"):
        raise ScoreImportError(f"{file}, row {line}: accuracy is {row['accuracy']!r}, expected 0 or 1")
    return int(row["accuracy"] == CONDITIONS[_condition(row, file, line)])


def _condition(row: Row, file: Path, line: int) -> str:
    if row["condition"] not in CONDITIONS:
        expected = " or ".join(CONDITIONS)
        raise ScoreImportError(f"{file}, row {line}: condition is {row['condition']!r}, expected {expected}")
    return row["condition"]
