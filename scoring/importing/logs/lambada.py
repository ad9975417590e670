"""Hu & Frank 2024 on LAMBADA: in, `lambada/MODEL.csv` (or all in `lambada.tar.xz`); out, a log a model and checkpoint.

A row is a passage, its last word, and the word's log-probability (nats, summed over tokens) after the passage
(`logprob_minicons`) and after a question that quotes the passage (`hf24_lambada`). Checkpoints of OLMo 7B have the step
in their revision; the published model is the one of step 557,000, as the paper's analysis takes it.

Hu & Frank 2024, Auxiliary task demands mask the capabilities of smaller language models, COLM.
"""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from pairbank.errors import CorpusError
from pairbank.files import reading
from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.importing.log import Log, LogRow, Source, csv_rows

ARCHIVE, FOLDER = "lambada.tar.xz", "lambada"
LAST_STEP = {"OLMo 7B": 557_000}
"""Of a model whose checkpoints are there: the step of the model without a revision."""
_STEP = re.compile(r"step(?P<step>\d+)(-tokens\d+B)?")


def read(source: Source) -> list[Log]:
    logs = [_log(source, *table) for table in _tables(source.paths)]
    if not logs:
        raise ScoreImportError(f"{source}: no {FOLDER}/MODEL.csv and no {ARCHIVE} of lm-task-demands")
    return sorted(logs, key=lambda log: (str(log.facts.get("family", log.model)), log.facts.get("step", 0)))


def _tables(paths: Iterable[Path]) -> Iterator[tuple[Path, str, str]]:
    for path in paths:
        if not path.exists():
            raise ScoreImportError(f"no file or folder {path}; expected {FOLDER}/MODEL.csv of lm-task-demands")
        inside = [*sorted(path.rglob(f"{FOLDER}/*.csv")), *sorted(path.rglob(ARCHIVE))] if path.is_dir() else [path]
        for file in inside:
            if file.name.endswith(".tar.xz"):
                yield from _packed(file)
                continue
            with reading(file, CorpusError):
                yield file, file.name, file.read_text(encoding="utf-8")


def _packed(file: Path) -> Iterator[tuple[Path, str, str]]:
    with reading(file, ScoreImportError, saying="no archive"), tarfile.open(file, "r:xz") as archive:
        for packed in sorted(archive, key=lambda packed: packed.name):
            if packed.isfile() and packed.name.endswith(".csv") and (opened := archive.extractfile(packed)):
                yield file, Path(packed.name).name, opened.read().decode("utf-8")


def _log(source: Source, file: Path, name: str, text: str) -> Log:
    where = f"{file} ({name})"
    numbered = list(csv_rows(io.StringIO(text, newline=""), [*source.columns(), "model", "revision"], where))
    models = {(row["model"], row["revision"]) for _, row in numbered}
    if len(models) != 1:
        raise ScoreImportError(f"{where}: rows of {len(models)} models; expected one model a file")
    ((model_id, revision),) = models
    match = _STEP.fullmatch(revision)
    if revision and match is None:
        raise ScoreImportError(f"{where}: revision is {revision!r}; expected stepN-tokensNB")
    model = source.how.models.get(model_id, model_id)
    step = int(match["step"]) if match else LAST_STEP.get(model)
    return Log(
        model=f"{model}@step-{step}" if match else model,
        tool="scripts of lm-task-demands",
        settings={"model": model_id, "revision": revision or "main"},
        files=(file,),
        facts={} if step is None else {"family": model, "step": step},
        rows=[LogRow(file=file, line=n, cells={**source.cells(row), "subset": FOLDER}) for n, row in numbered],
    )
