"""Checkpoints of the multiblimp repository: in, `NAME-STEP.tsv[.gz]` with token log-probabilities; out, a log a step.

A row is a pair of MultiBLiMP with `sen_prob` and `wrong_prob`, the natural logarithms of its tokens' probabilities in a
list, and `sen_nll` and `wrong_nll`, their negated sums, which are checked against the lists. The scripts call minicons'
`sequence_score` without `bos_token`, so that the sums are `logprob_minicons`. The step stands in the file's name.

Jumelet et al. 2025, MultiBLiMP 1.0, arXiv:2504.02768; scores of https://github.com/xiulinyang/multiblimp
"""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

from pairbank.errors import CorpusError
from pairbank.files import reading
from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.importing.log import Log, LogRow, Source, csv_rows

_NAME = re.compile(r"(?P<family>.+)-(?P<step>\d+)\.tsv(\.gz)?")
_STATED = {"sen_prob": "sen_nll", "wrong_prob": "wrong_nll"}
"""A column of token log-probabilities -> that of their negated sum."""
MOST_APART = 1e-3
"""In nats: a sum in single precision of some ten numbers."""


def read(source: Source) -> list[Log]:
    named = [(_NAME.fullmatch(file.name), file) for file in source.files("*.tsv*", expected="NAME-STEP.tsv.gz")]
    if wrong := [file for match, file in named if match is None]:
        raise ScoreImportError(f"{wrong[0]}: expected a name that ends in the step, NAME-STEP.tsv.gz")
    return [
        Log(
            model=f"{family}@step-{step}",
            tool="multiblimp's scripts",
            files=(file,),
            facts={"family": family, "step": step},
            rows=list(_rows(file, source)),
        )
        for family, step, file in sorted((match["family"], int(match["step"]), file) for match, file in named if match)
    ]


def _rows(file: Path, source: Source) -> Iterator[LogRow]:
    opened = gzip.open if file.suffix == ".gz" else open
    with reading(file, CorpusError), opened(file, "rt", encoding="utf-8", newline="") as lines:
        for line, row in csv_rows(lines, [*source.columns(), *_STATED.values()], str(file), delimiter="\t"):
            sums = {tokens: _sum(row[tokens], row[total], f"{file}, row {line}") for tokens, total in _STATED.items()}
            cells = {**source.cells({**row, **sums}), "context_good": "", "context_bad": ""}
            yield LogRow(file=file, line=line, cells=cells)


def _sum(tokens: str, total: str, where: str) -> str:
    try:
        result, stated = math.fsum(map(float, json.loads(tokens))), -float(total)
    except (ValueError, TypeError) as error:
        raise ScoreImportError(f"{where}: {tokens[:40]!r} and {total!r}; expected a list and a number") from error
    if not abs(result - stated) <= MOST_APART:
        raise ScoreImportError(
            f"{where}: log-probabilities sum to {result}, and {stated} is stated; get the file again"
        )
    return repr(result)
