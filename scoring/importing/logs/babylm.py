"""BabyLM's evaluation pipeline: in, `predictions.json`, or a file of `collate_preds`; out, a log a file of decisions.

A prediction holds the text that the model preferred and no number, and its id counts the rows of the pipeline's own
data, not those of BLiMP. So the corpus that was scored is needed (`--items`, the pipeline's .jsonl, or `blimp`): in
a part with as many items as predictions they are taken in order, if every text is a side of its item; else by their
texts, each of which must be a side of one item alone. The model and its revision stand in the path
(`MODEL/REVISION/zero_shot/BACKEND/TASK/DATA/`); a revision `chck_10M` is a model that saw ten million words.

Charpentier et al. 2025, BabyLM turns 3, arXiv:2502.10645; https://github.com/babylm/evaluation-pipeline-2025
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.importing.join import normalised
from pairbank.scoring.importing.log import Log, LogRow, Refusals, Source, Stated, json_file

if TYPE_CHECKING:
    import datasets

    from pairbank.scoring.importing.profile import ImportProfile

NAME = "preferred"
REPORT = "best_temperature_report.txt"
_PATH = re.compile(
    r"(?P<model>[^/]+)/(?P<revision>[^/]+)/zero_shot/(?P<backend>[^/]+)/(?P<task>[^/]+)/(?P<data>[^/]+)/"
)
_WORDS = re.compile(r"chck_(\d+)([KMB])")
_TIMES = {"K": 1e3, "M": 1e6, "B": 1e9}
Sides = tuple[str, str, str]
"""Item id, better side, worse side, as they are compared."""


def read(source: Source) -> list[Log]:
    files = source.files("*predictions.json", expected="predictions.json, as --save_predictions writes it")
    if source.items is None:
        raise ScoreImportError(
            "predictions of BabyLM's pipeline hold only the texts that were preferred; give the items that were scored "
            "(--items blimp, or the pipeline's own .jsonl)"
        )
    parts = _parts(source.items)
    return [_log(file, source.how, parts) for file in files]


def _parts(items: datasets.Dataset) -> dict[str, list[Sides]]:
    columns = ["item_id", "corpus", "subset", "paradigm", "context_good", "target_good", "context_bad", "target_bad"]
    table = items.with_format("arrow").select_columns(columns)[:]
    parts: dict[str, list[Sides]] = defaultdict(list)
    for item in table.to_pylist():
        good, bad = item["target_good"], item["target_bad"] or ""
        for name in {item["corpus"], item["subset"], item["paradigm"]} - {None}:
            parts[name].append((item["item_id"], normalised(good), normalised(bad)))
    return parts


def _log(file: Path, how: ImportProfile, parts: Mapping[str, Sequence[Sides]]) -> Log:
    match = _PATH.search(f"{file.parent.as_posix()}/")
    facts = match.groupdict() if match else {}
    name, revision = facts.get("model") or how.model, facts.get("revision", "main")
    log = Log(
        model=(name if revision == "main" else f"{name}@{revision}") or file.parent.name,
        tool="BabyLM evaluation pipeline",
        settings={key: facts[key] for key in ("revision", "backend", "task", "data") if key in facts},
        files=tuple(path for path in (file, file.parent / REPORT) if path.is_file()),
    )
    if words := _WORDS.fullmatch(revision):
        log.facts = {"family": name, "training_words": int(words[1]) * _TIMES[words[2]]}
    report, results = file.parent / REPORT, dict[str, str]()
    if report.is_file():
        by_part = report.read_text(encoding="utf-8").split("### AVERAGE")[0]
        results = dict(re.findall(r"(?m)^([\w-]+): (\d+\.\d\d)$", by_part))
    for part, table in json_file(file).items():
        texts = _texts(table, f"{file}: {part}")
        if part not in parts:
            for text in texts:
                log.refusals.add(file, f"the corpus has no part {part!r}", repr(text[:60]))
            continue
        rows = list(_rows(file, part, texts, parts[part], log.refusals))
        log.rows += rows
        if part in results:
            correct = 100 * sum(row.cells[NAME] == "good" for row in rows) / len(rows) if rows else 0.0
            what, stated = "accuracy in per cent", float(results[part])
            log.stated.append(Stated(what=part, metric=what, stated=stated, computed=correct, printed_to=0.005))
    return log


def _texts(table: Any, where: str) -> list[str]:  # noqa: ANN401 - JSON is any
    predictions = table.get("predictions") if isinstance(table, Mapping) else None
    if not isinstance(predictions, list) or not all(
        isinstance(prediction, Mapping) and "pred" in prediction for prediction in predictions
    ):
        raise ScoreImportError(f"{where}: no predictions with pred; expected a file that the pipeline wrote")
    return [str(prediction["pred"]) for prediction in predictions]


def _rows(file: Path, part: str, texts: Sequence[str], sides: Sequence[Sides], refusals: Refusals) -> Iterator[LogRow]:
    plain = [normalised(text) for text in texts]
    items: list[Sides | None] = list(sides)
    if len(plain) != len(sides) or any(text not in side[1:] for text, side in zip(plain, sides, strict=True)):
        homes: dict[str, list[Sides]] = defaultdict(list)
        for side in sides:
            for text in {*side[1:]}:
                homes[text].append(side)
        if doubtful := [line for line, text in enumerate(plain, 1) if len(homes.get(text, ())) > 1]:
            raise ScoreImportError(
                f"{file}: {part} has {len(plain):,} predictions and the corpus {len(sides):,} items. The texts of "
                f"{len(doubtful):,} predictions are sides of several items (the first is number {doubtful[0]}, "
                f"{texts[doubtful[0] - 1][:60]!r}); give the .jsonl file that was scored as --items"
            )
        items = [homes[text][0] if text in homes else None for text in plain]
    for line, (text, item) in enumerate(zip(plain, items, strict=True), 1):
        if item is None:
            refusals.add(file, f"the text is no side of an item of {part}", repr(text[:60]))
            continue
        item_id, good, bad = item
        chosen = "tie" if good == bad else "good" if text == good else "bad"
        yield LogRow(file=file, line=line, cells={"item_id": item_id, "subset": part, NAME: chosen})
