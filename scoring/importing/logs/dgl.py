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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairbank.builders.ratings import BINARY, SHARE_THAT_ACCEPTS
from pairbank.builders.sources.tables import open_table
from pairbank.scoring.api.names import UNPARSED
from pairbank.scoring.importing.declared import JUDGED, SIDES, DeclaredScore, ScoreImportError
from pairbank.scoring.importing.join import normalised
from pairbank.scoring.importing.logs.log import Judgment, Log, LogRow, Refusals, files_in

if TYPE_CHECKING:
    import datasets

    from pairbank.scoring.importing.profile import ImportProfile

SURPRISALS, PROMPTED = "surprisals_*.csv", "prompting_*.csv"
STIMULI, SAMPLED, PEOPLE = "stimuli.csv", "dgl_models.csv", "dgl_people.csv"
CONDITIONS = {"grammatical": "1", "ungrammatical": "0"}
TOOL = "scripts of response-to-DGL"
_ARTICLES = {"a", "an"}
_SAMPLED_MODELS = {"davinci2": "text-davinci-002", "davinci3": "text-davinci-003", "chatGPT": "ChatGPT"}
_CHAT = {"original_prompt_gpt3.5_turbo": "gpt-3.5-turbo", "original_prompt_gpt4": "gpt-4"}
_RATERS = ("rater", "participant")
"""The column of raters; their names do not leave the reader."""
_TEMPLATE_ANSWERED = ("text-davinci-002", "text-davinci-003")
_ANSWERS = dict(zip(JUDGED, (("C",), ("N",)), strict=True))
_QUESTION = "Is the following sentence grammatically correct in English? Respond with C or N"
_DIRECT = DeclaredScore(
    name="direct_bos_unstated",
    kind="logprob",
    direction="higher",
    unit="nats",
    label="log P of the sentence, its first token included; what stood before it is not stated",
)
_ASKED = DeclaredScore(name="asked", kind="decision", answers=_ANSWERS, label=_QUESTION)
_ASKED_TEMPLATE = DeclaredScore(
    name="asked_without_sentence",
    kind="decision",
    answers=_ANSWERS,
    label=f"{_QUESTION}; the published script sends [SENTENCE] in place of the sentence",
)
_SAMPLED = DeclaredScore(
    name="sampled",
    kind="rating",
    direction="higher",
    unit="share of ten sampled answers that accept",
    label=_QUESTION,
    scale=(0.0, 1.0),
)


def read(paths: Sequence[Path], how: ImportProfile, items: datasets.Dataset | None) -> list[Log]:  # noqa: ARG001
    """Return a log a system: of pairs, or of single sentences where the profile's task is `sentence`."""
    return _sentences(paths) if how.task == "sentence" else _pairs(paths)


def _pairs(paths: Sequence[Path]) -> list[Log]:
    logs = []
    for file in files_in(paths, SURPRISALS, expected="surprisals_MODEL.csv"):
        rows, refusals, halves = [], Refusals(), list[tuple[int, dict[str, Any]]]()
        for line, row in _rows(file, "phenomenon", "test_item", "sentence_grammatical", "sum_surprisal_grammatical"):
            texts = [row[f"sentence_{condition}"] for condition in CONDITIONS]
            if all(texts):
                rows.append(_pair(file, line, row, row))
            else:
                halves.append((line, row))
        for line, good, bad in _put_together(file, halves, refusals):
            rows.append(_pair(file, line, good, bad))
        model = file.stem.removeprefix("surprisals_")
        logs.append(
            Log(model=model, tool=TOOL, files=(file,), rows=rows, scores=(_DIRECT,), left_out=refusals.left_out())
        )
    return logs


def _pair(file: Path, line: int, good: dict[str, Any], bad: dict[str, Any]) -> LogRow:
    cells: dict[str, str | None] = {
        "phenomenon": good["phenomenon"],
        "subset": good["phenomenon"],
        "pair_id": good["test_item"],
        "context_good": "",
        "context_bad": "",
    }
    for side, condition, row in zip(SIDES, CONDITIONS, (good, bad), strict=True):
        cells[f"target_{side}"] = row[f"sentence_{condition}"]
        text = row[f"sum_surprisal_{condition}"]
        try:
            cells[f"{_DIRECT.name}_{side}"] = repr(-float(text))
        except (TypeError, ValueError) as error:
            raise ScoreImportError(f"{file}, row {line}: {text!r}, expected a surprisal") from error
    return LogRow(file=file, line=line, cells=cells)


def _put_together(
    file: Path, halves: Iterable[tuple[int, dict[str, Any]]], refusals: Refusals
) -> Iterator[tuple[int, dict[str, Any], dict[str, Any]]]:
    """Yield pairs made of two rows with the same words; count the halves that remain."""
    results: dict[str, dict[Any, list[tuple[int, dict[str, Any]]]]] = {name: defaultdict(list) for name in CONDITIONS}
    for line, row in halves:
        condition = next((name for name in CONDITIONS if row[f"sentence_{name}"]), None)
        if condition is None:
            refusals.add(file, "no sentence", f"row {line}")
            continue
        words = sorted(set(normalised(row[f"sentence_{condition}"]).lower().split()) - _ARTICLES)
        results[condition][row["phenomenon"], *words].append((line, row))
    goods, bads = results.values()
    for words in dict.fromkeys([*goods, *bads]):
        good, bad = goods.get(words, []), bads.get(words, [])
        if len(good) == len(bad) == 1:
            yield good[0][0], good[0][1], bad[0][1]
            continue
        for line, row in [*good, *bad]:
            refusals.add(file, "the other side of the pair is not there", f"row {line}: {row['test_item']}")


def _sentences(paths: Sequence[Path]) -> list[Log]:
    stimuli, refusals, drawn = _stimuli(paths), Refusals(), _draws(paths)
    accepted: dict[str, dict[str, dict[str, str]]] = defaultdict(dict)
    files: dict[str, list[Path]] = defaultdict(list)
    for file, model, score, answers in (*_answers(paths), *_shares(drawn)):
        files[model].append(file)
        for text, answer in answers:
            if text not in stimuli:
                refusals.add(file, "the sentence is none of the stimuli", repr(text[:60]))
            elif score in accepted[model].setdefault(text, {}):
                raise ScoreImportError(f"{file}: {text[:60]!r} has two answers of {model}; leave one of them")
            else:
                accepted[model][text][score] = answer
    judgments = _judgments(paths, stimuli, refusals)
    draws: dict[str, list[Judgment]] = defaultdict(list)
    for (_, model), entries in drawn.items():
        draws[_SAMPLED_MODELS.get(model, model)] += [entry for entry in entries if entry.text in stimuli]
    people = _means(judgments)
    scores = (_ASKED, _ASKED_TEMPLATE, _SAMPLED)
    logs = []
    for model, result in accepted.items():
        named = {score for numbers in result.values() for score in numbers}
        rows = [
            LogRow(
                file=stimuli[text].file,
                line=stimuli[text].line,
                cells={
                    **stimuli[text].cells,
                    **people.get(text, {}),
                    **{f"{name}_good": numbers[name] for name in numbers},
                },
            )
            for text, numbers in ((text, result[text]) for text in stimuli if text in result)
        ]
        selected = tuple(score for score in scores if score.name in named)
        of_model = tuple(dict.fromkeys(files[model]))
        logs.append(Log(model=model, tool=TOOL, files=of_model, rows=rows, scores=selected, draws=draws[model]))
    logs[0].left_out = refusals.left_out()
    logs[0].judgments = judgments
    return logs


def _stimuli(paths: Sequence[Path]) -> dict[str, LogRow]:
    (file, *more) = files_in(paths, STIMULI, expected=f"{STIMULI} of response-to-DGL")
    if more:
        raise ScoreImportError(f"{file}, {more[0]}: two tables of stimuli; give one folder")
    results = {}
    for line, row in _rows(file, "phenomenon", "test_item", "condition", "sentence"):
        cells = {
            "target_good": row["sentence"],
            "phenomenon": row["phenomenon"],
            "subset": row["phenomenon"],
            "pair_id": row["test_item"],
            "label": CONDITIONS[_condition(row, file, line)],
        }
        results[row["sentence"]] = LogRow(file=file, line=line, cells=cells)
    return results


def _answers(paths: Sequence[Path]) -> Iterator[tuple[Path, str, str, list[tuple[str, str]]]]:
    """Yield file, model, score and its (sentence, answer)s."""
    for file in files_in(paths, PROMPTED, expected="prompting_MODEL.csv"):
        rows = [row for _, row in _rows(file, "sentence", "condition")]
        columns = {column: model for column, model in _CHAT.items() if column in rows[0]}
        if not columns and "response_clean" in rows[0]:
            columns = {"response_clean": file.stem.removeprefix("prompting_")}
        if not columns:
            raise ScoreImportError(f"{file}: no answers; expected a column response_clean, or {', '.join(_CHAT)}")
        for column, model in columns.items():
            score = _ASKED_TEMPLATE if model in _TEMPLATE_ANSWERED else _ASKED
            yield file, model, score.name, [(row["sentence"], row[column] or UNPARSED) for row in rows]


def _draws(paths: Sequence[Path]) -> dict[tuple[Path, str], list[Judgment]]:
    """Return the sampled answers by file and the model's name there."""
    results: dict[tuple[Path, str], list[Judgment]] = defaultdict(list)
    for file in files_in(paths, SAMPLED, expected=SAMPLED):
        for line, row in _rows(file, "model", "sentence", "condition", "accuracy", "repetition"):
            value = float(_accepts(row, file, line))
            entry = Judgment(text=row["sentence"], rater=row["repetition"], value=value, scale=BINARY)
            results[file, row["model"]].append(entry)
    return results


def _shares(
    drawn: Mapping[tuple[Path, str], Sequence[Judgment]],
) -> Iterator[tuple[Path, str, str, list[tuple[str, str]]]]:
    """Yield file, model, score and its (sentence, share of the sampled answers that accept it)s."""
    for (file, model), entries in drawn.items():
        values: dict[str, list[float]] = defaultdict(list)
        for entry in entries:
            values[entry.text].append(entry.value)
        yield (
            file,
            _SAMPLED_MODELS.get(model, model),
            _SAMPLED.name,
            [(text, repr(sum(v) / len(v))) for text, v in values.items()],
        )


def _judgments(paths: Sequence[Path], stimuli: dict[str, LogRow], refusals: Refusals) -> list[Judgment]:
    """Return the share of each rater's repetitions that accept a sentence."""
    texts: dict[tuple[str, str], list[int]] = defaultdict(list)
    for file in files_in(paths, PEOPLE, expected=PEOPLE):
        rows = _rows(file, "sentence", "condition", "accuracy")
        named = next((name for name in _RATERS if name in rows[0][1]), None)
        if named is None:
            raise ScoreImportError(f"{file}: no column {' or '.join(_RATERS)}; expected the file as it was published")
        numbers = {name: str(n) for n, name in enumerate(dict.fromkeys(row[named] for _, row in rows))}
        for line, row in rows:
            if row["sentence"] in stimuli:
                texts[row["sentence"], numbers[row[named]]].append(_accepts(row, file, line))
            else:
                refusals.add(file, "the sentence is none of the stimuli", f"row {line}: {row['sentence'][:60]!r}")
    return [
        Judgment(text=text, rater=rater, value=sum(result) / len(result), scale=SHARE_THAT_ACCEPTS, n=len(result))
        for (text, rater), result in texts.items()
    ]


def _means(judgments: Sequence[Judgment]) -> dict[str, dict[str, str]]:
    """Return by sentence the share of all judgments that accept it, and the number of raters."""
    by_text: dict[str, list[Judgment]] = defaultdict(list)
    for judgment in judgments:
        by_text[judgment.text].append(judgment)
    return {
        text: {
            "human_good": repr(
                sum(round(member.value * member.n) for member in result) / sum(entry.n for entry in result)
            ),
            "human_n": str(len(result)),
            "human_scale": SHARE_THAT_ACCEPTS,
        }
        for text, result in by_text.items()
    }


def _accepts(row: dict[str, Any], file: Path, line: int) -> int:
    """Return whether a judgment accepts a sentence: the files say whether it agrees with the condition."""
    if row["accuracy"] not in ("0", "1"):
        raise ScoreImportError(f"{file}, row {line}: accuracy is {row['accuracy']!r}, expected 0 or 1")
    return int(row["accuracy"] == CONDITIONS[_condition(row, file, line)])


def _condition(row: dict[str, Any], file: Path, line: int) -> str:
    if (result := str(row["condition"])) not in CONDITIONS:
        raise ScoreImportError(f"{file}, row {line}: condition is {result!r}, expected {' or '.join(CONDITIONS)}")
    return result


def _rows(file: Path, *columns: str) -> list[tuple[int, dict[str, Any]]]:
    """Return the rows of a file, which has at least some columns and one row."""
    table = open_table(file)
    if missing := [column for column in columns if column not in table.columns]:
        raise ScoreImportError(f"{file}: no column {', '.join(missing)}; expected the file as it was published")
    rows = [
        (line, {name: "" if cell is None else str(cell) for name, cell in row.items()}) for line, row in table.rows()
    ]
    if not rows:
        raise ScoreImportError(f"{file}: no rows")
    return rows
