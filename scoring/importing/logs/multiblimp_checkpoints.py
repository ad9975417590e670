"""Checkpoints of the multiblimp repository: in, `NAME-STEP.tsv[.gz]` with token log-probabilities; out, a log a step.

A row is a pair of MultiBLiMP with `sen_prob` and `wrong_prob`, the natural logarithms of its tokens' probabilities in a
list, and `sen_nll` and `wrong_nll`, their negated sums, which are checked against the lists. The scripts call minicons'
`sequence_score` without `bos_token`, so that the sums are `logprob_minicons`. The step stands in the file's name.

Jumelet et al. 2025, MultiBLiMP 1.0, arXiv:2504.02768; scores of https://github.com/xiulinyang/multiblimp
"""

from __future__ import annotations

import csv
import gzip
import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pairbank.errors import CorpusError
from pairbank.files import reading
from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.importing.logs.log import Log, LogRow, files_in

if TYPE_CHECKING:
    import datasets

    from pairbank.scoring.importing.profile import ImportProfile

_NAME = re.compile(r"(?P<family>.+)-(?P<step>\d+)\.tsv(\.gz)?")
_SIDES = {"good": ("sen", "sen_prob", "sen_nll"), "bad": ("wrong_sen", "wrong_prob", "wrong_nll")}
_METHOD = "logprob_minicons"
MOST_APART = 1e-3
"""In nats: a sum in single precision of some ten numbers."""


def read(paths: Sequence[Path], how: ImportProfile, items: datasets.Dataset | None) -> list[Log]:  # noqa: ARG001
    """Return a log a checkpoint, in order of their steps."""
    results = [(_NAME.fullmatch(file.name), file) for file in files_in(paths, "*.tsv*", expected="NAME-STEP.tsv.gz")]
    if wrong := [file for message, file in results if message is None]:
        raise ScoreImportError(f"{wrong[0]}: expected a name that ends in the step, NAME-STEP.tsv.gz")
    named = sorted((text["family"], int(text["step"]), file) for text, file in results if text is not None)
    return [
        Log(
            model=f"{family}@step-{step}",
            tool="multiblimp's scripts",
            files=(file,),
            facts={"family": family, "step": step},
            rows=list(_rows(file)),
        )
        for family, step, file in named
    ]


def _rows(file: Path) -> Iterator[LogRow]:
    with reading(file, CorpusError), _opened(file) as lines:
        table = csv.DictReader(lines, delimiter="\t")
        requested = {"phenomenon", "lang", *(column for columns in _SIDES.values() for column in columns)}
        if missing := requested - set(table.fieldnames or ()):
            raise ScoreImportError(f"{file}: no column {', '.join(sorted(missing))}; expected those of hf_cache_*.tsv")
        for number, row in enumerate(table, 2):
            where = f"{file}, row {number}"
            cells = {"subset": row["phenomenon"], "phenomenon": row["phenomenon"], "language": row["lang"]}
            for side, (text, tokens, total) in _SIDES.items():
                cells |= {f"target_{side}": row[text], f"{_METHOD}_{side}": repr(_sum(row[tokens], row[total], where))}
            yield LogRow(file=file, line=number, cells={**cells, "context_good": "", "context_bad": ""})


def _opened(file: Path):  # type: ignore[no-untyped-def]  # noqa: ANN202 - a text file, whichever opens it
    return gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8", newline="")


def _sum(tokens: str, total: str, where: str) -> float:
    try:
        result, stated = math.fsum(map(float, json.loads(tokens))), -float(total)
    except (ValueError, TypeError) as error:
        raise ScoreImportError(f"{where}: {tokens[:40]!r} and {total!r}; expected a list and a number") from error
    if not abs(result - stated) <= MOST_APART:
        raise ScoreImportError(
            f"{where}: log-probabilities sum to {result}, and {stated} is stated; get the file again"
        )
    return result
