"""Hu & Frank 2024 on LAMBADA: in, `lambada/MODEL.csv` (or all in `lambada.tar.xz`); out, a log a model and checkpoint.

A row is a passage, its last word, and the word's log-probability (nats, summed over tokens) after the passage
(`logprob_minicons`) and after a question that quotes the passage (`hf24_lambada`). Checkpoints of OLMo 7B have the step
in their revision; the published model is the one of step 557,000, as the paper's analysis takes it.

Hu & Frank 2024, Auxiliary task demands mask the capabilities of smaller language models, COLM.
"""

from __future__ import annotations

import csv
import io
import re
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pairbank.errors import CorpusError
from pairbank.files import reading
from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.importing.logs.log import Log, LogRow

if TYPE_CHECKING:
    import datasets

    from pairbank.scoring.importing.profile import ImportProfile

ARCHIVE, FOLDER = "lambada.tar.xz", "lambada"
LAST_STEP = {"OLMo 7B": 557_000}
"""Of a model whose checkpoints are there: the step of the model without a revision."""
NAMES = {
    "google/gemma-2b": "Gemma 2B",
    "google/gemma-7b": "Gemma 7B",
    "meta-llama/Llama-2-7b-hf": "Llama-2 7B",
    "meta-llama/Llama-2-13b-hf": "Llama-2 13B",
    "meta-llama/Llama-2-70b-hf": "Llama-2 70B",
    "mistralai/Mistral-7B-v0.1": "Mistral 7B",
    "allenai/OLMo-1B": "OLMo 1B",
    "allenai/OLMo-7B": "OLMo 7B",
    "EleutherAI/pythia-1b-deduped": "Pythia 1B",
    "EleutherAI/pythia-1.4b-deduped": "Pythia 1.4B",
    "EleutherAI/pythia-2.8b-deduped": "Pythia 2.8B",
    "EleutherAI/pythia-6.9b-deduped": "Pythia 6.9B",
    "EleutherAI/pythia-12b-deduped": "Pythia 12B",
}
"""Hub id -> the name in the paper's other tables, so that a bank has one model once."""
COLUMNS = ("item_id", "prefix", "final_word", "direct_logprob", "meta_logprob", "model", "revision")
_STEP = re.compile(r"step(?P<step>\d+)(-tokens\d+B)?")


def read(paths: Sequence[Path], how: ImportProfile, items: datasets.Dataset | None) -> list[Log]:  # noqa: ARG001
    """Return a log a model or checkpoint, by name and step."""
    logs = [_log(file, name, text) for file, name, text in _files(paths)]
    if not logs:
        raise ScoreImportError(
            f"{', '.join(map(str, paths))}: no {FOLDER}/MODEL.csv and no {ARCHIVE} of lm-task-demands"
        )
    return sorted(logs, key=lambda log: (str(log.facts.get("family", log.model)), log.facts.get("step", 0)))


def _files(paths: Iterable[Path]) -> Iterator[tuple[Path, str, str]]:
    """Yield file, name of the table, and its text."""
    for path in paths:
        if not path.exists():
            raise ScoreImportError(f"no file or folder {path}; expected {FOLDER}/MODEL.csv of lm-task-demands")
        inside = [*sorted(path.rglob(f"{FOLDER}/*.csv")), *sorted(path.rglob(ARCHIVE))] if path.is_dir() else [path]
        for file in inside:
            if file.name.endswith(".tar.xz"):
                yield from _members(file)
                continue
            with reading(file, CorpusError):
                yield file, file.name, file.read_text(encoding="utf-8")


def _members(file: Path) -> Iterator[tuple[Path, str, str]]:
    with reading(file, ScoreImportError, saying="no archive"), tarfile.open(file, "r:xz") as archive:
        for member in sorted(archive, key=lambda entry: entry.name):
            if member.isfile() and member.name.endswith(".csv") and (opened := archive.extractfile(member)):
                yield file, Path(member.name).name, opened.read().decode("utf-8")


def _log(file: Path, name: str, text: str) -> Log:
    table = csv.DictReader(io.StringIO(text, newline=""))
    if missing := [column for column in COLUMNS if column not in (table.fieldnames or ())]:
        raise ScoreImportError(
            f"{file} ({name}): no column {', '.join(missing)}; expected the file as it was published"
        )
    rows, models = [], set()
    for number, row in enumerate(table, 2):
        models.add((row["model"], row["revision"]))
        cells = {
            "pair_id": row["item_id"],
            "subset": FOLDER,
            "context_good": row["prefix"],
            "target_good": row["final_word"],
            "logprob_minicons_good": row["direct_logprob"],
            "hf24_lambada:asked:target": row["meta_logprob"],
        }
        rows.append(LogRow(file=file, line=number, cells=cells))
    if len(models) != 1:
        raise ScoreImportError(f"{file} ({name}): rows of {len(models)} models; expected one model a file")
    ((model_id, revision),) = models
    model = NAMES.get(model_id, model_id)
    step = _STEP.fullmatch(revision)
    if revision and step is None:
        raise ScoreImportError(f"{file} ({name}): revision is {revision!r}; expected stepN-tokensNB")
    known = int(step["step"]) if step else LAST_STEP.get(model)
    facts = {} if known is None else {"family": model, "step": known}
    return Log(
        model=f"{model}@step-{known}" if step else model,
        tool="scripts of lm-task-demands",
        settings={"model": model_id, "revision": revision or "main"},
        files=(file,),
        facts=facts,
        rows=rows,
    )
