"""Tables of minicons' scores: in, CSV, TSV, JSON lines or parquet; out, a log a file.

minicons returns lists, which everybody puts into a frame in their own way. Read are: a row a sentence (`sentence`), or
a row a token (`sentence`, `token`), or a row a pair (two texts, two numbers). What a number is stands in its column's
name, for `sequence_score` gives the mean of the tokens unless it is told to sum:

- `logprob` (summed: `reduction=lambda x: x.sum(0).item()`), `mean_logprob` (as it comes), `surprisal` (summed; nats),
  `surprisal_bits` (`base_two=True`); of a row a token, the token's own (`token_score`), which are summed here;
- the same with `_bos` behind it where the scores were made with `bos_token=True`: only sums of these are `direct`. By
  default minicons does not score the first token, so that `logprob` is a method of its own, `logprob_minicons`;
- of a row a pair, the same with `_good` and `_bad` behind it, and `sentence_good`, `sentence_bad`.

Rows of sentences need the corpus (`--items`): a sentence is found as a side of its items. `model` may be a column.

Misra 2022, minicons, arXiv:2203.13112.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairbank.builders.sources.tables import SUFFIXES, open_table
from pairbank.scoring.api.names import DIRECT
from pairbank.scoring.importing.declared import SIDES, ScoreImportError
from pairbank.scoring.importing.join import normalised
from pairbank.scoring.importing.log import Log, LogRow, Refusals, Source, finite

if TYPE_CHECKING:
    import datasets

    from pairbank.builders.sources.tables import Table

_STEMS: Mapping[str, tuple[str, float]] = {
    "logprob": ("logprob", 1.0),
    "mean_logprob": ("mean_logprob", 1.0),
    "surprisal": ("logprob", -1.0),
    "surprisal_bits": ("logprob", -math.log(2)),
}
_BOS = "_bos"
_KINDS: Mapping[str, tuple[str, float]] = {
    stem + bos: (DIRECT if (name, bos) == ("logprob", _BOS) else f"{name}_minicons{bos}", times)
    for stem, (name, times) in _STEMS.items()
    for bos in ("", _BOS)
}
"""A column's name -> the score that it is, and what it is multiplied by."""


def read(source: Source) -> list[Log]:
    expected = f"a table of minicons' scores ({', '.join(SUFFIXES)})"
    files = [file for file in source.files("*.*", expected=expected) if file.suffix.lower() in SUFFIXES]
    if not files:
        raise ScoreImportError(f"{source}: expected {expected}")
    return [log for file in files for log in _logs(file, source)]


def _logs(file: Path, source: Source) -> Iterator[Log]:
    table = open_table(file)
    columns = set(table.columns)
    paired = [kind for kind in _KINDS if {f"{kind}_good", f"{kind}_bad"} <= columns]
    single = [kind for kind in _KINDS if kind in columns]
    for kinds in (paired, single):
        names = [_KINDS[kind][0] for kind in kinds]
        if twice := [kind for kind, name in zip(kinds, names, strict=True) if names.count(name) > 1]:
            raise ScoreImportError(
                f"{file}: {', '.join(twice)} are one score, {_KINDS[twice[0]][0]}; leave one of them"
            )
    by_model: dict[str, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    for line, row in table.rows():
        by_model[str(row.get("model") or source.how.model or file.stem)].append((line, row))
    for model, rows in by_model.items():
        log = Log(model=model, tool="minicons", settings={"columns": list(table.columns)}, files=(file,))
        if paired and {"sentence_good", "sentence_bad"} <= columns:
            log.rows = [_pair(file, line, row, paired) for line, row in rows]
        elif single and "sentence" in columns:
            if source.items is None:
                raise ScoreImportError(f"{file}: a row a sentence; which are pairs? Give the corpus (--items)")
            log.rows = list(_matched_rows(file, _sums(table, rows, single), source.items, log.refusals))
        else:
            raise ScoreImportError(
                f"{file}: columns {', '.join(table.columns)}; expected sentence (and perhaps token) and one of "
                f"{', '.join(_KINDS)}, or sentence_good, sentence_bad and one of these with _good and _bad; the name "
                "says what the number is, so rename it: minicons' sequence_score is a mean unless its reduction sums"
            )
        yield log


def _pair(file: Path, line: int, row: Mapping[str, Any], kinds: Sequence[str]) -> LogRow:
    cells: dict[str, str | None] = {"context_good": "", "context_bad": ""}
    for side in SIDES:
        cells[f"target_{side}"] = str(row[f"sentence_{side}"])
        for kind in kinds:
            name, times = _KINDS[kind]
            cells[f"{name}_{side}"] = repr(times * finite(row[f"{kind}_{side}"], f"{file}, row {line}"))
    for name in ("subset", "paradigm", "phenomenon", "pair_id", "item_id", "language"):
        if row.get(name) not in (None, ""):
            cells[name] = str(row[name])
    return LogRow(file=file, line=line, cells=cells)


def _sums(
    table: Table, rows: Sequence[tuple[int, Mapping[str, Any]]], kinds: Sequence[str]
) -> dict[str, tuple[int, str, dict[str, float]]]:
    """Return sentences as they are compared -> the first row, the text, and their scores."""
    by_token = "token" in table.columns
    if by_token and any(kind.startswith("mean_") for kind in kinds):
        raise ScoreImportError(f"{table.path}: mean_logprob of a row a token; a token has no mean: call it logprob")
    results: dict[str, tuple[int, str, dict[str, float]]] = {}
    for line, row in rows:
        text = str(row["sentence"])
        numbers = {_KINDS[kind][0]: _KINDS[kind][1] * finite(row[kind], f"{table.path}, row {line}") for kind in kinds}
        first, _, sums = results.setdefault(normalised(text), (line, text, numbers))
        if by_token and sums is not numbers:
            for name, value in numbers.items():
                sums[name] += value
        elif sums != numbers:
            raise ScoreImportError(
                f"{table.path}, row {line}: {text[:60]!r} has another score in row {first}; leave one"
            )
    return results


def _matched_rows(
    file: Path, sentences: Mapping[str, tuple[int, str, dict[str, float]]], items: datasets.Dataset, refusals: Refusals
) -> Iterator[LogRow]:
    columns = ["item_id", "context_good", "target_good", "context_bad", "target_bad"]
    used: set[str] = set()
    for item in items.with_format("arrow").select_columns(columns)[:].to_pylist():
        if item["target_bad"] is None or item["context_good"] or item["context_bad"]:
            continue
        keys = [normalised(item[f"target_{side}"]) for side in SIDES]
        if not all(key in sentences for key in keys):
            continue
        used |= {*keys}
        cells: dict[str, str | None] = {"item_id": item["item_id"]}
        for side, key in zip(SIDES, keys, strict=True):
            cells |= {f"{name}_{side}": repr(value) for name, value in sentences[key][2].items()}
        yield LogRow(file=file, line=sentences[keys[0]][0], cells=cells)
    for key, (line, text, _) in sentences.items():
        if key not in used:
            refusals.add(
                file, "the sentence is no side of an item whose other side is there", f"row {line}: {text[:60]!r}"
            )
