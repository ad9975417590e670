"""QFrBLiMP's decisions: in, a table of 0 and 1, a row an item and a column a system; out, a log a system.

The table is `decisions.csv`, or a folder `predictions` with a file a system, as the repository has it.

A column NAME says whether the sentence of higher probability was the good one (`preferred`), NAME_prompting whether the
good one was answered (`asked`). There are no numbers behind them, and an answer that could not be parsed is a 0 like a
wrong one: the files do not tell them apart. Items are found by their number in the corpus, so that it is needed. What
is no model (chance, the annotators' majority) is left out.

Beauchemin et al. 2025, QFrBLiMP, arXiv:2509.25664.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pairbank.builders.sources.readers import records, text_lines
from pairbank.builders.sources.tables import open_table
from pairbank.files import reading
from pairbank.scoring.importing.declared import ScoreImportError
from pairbank.scoring.importing.log import Log, LogRow, Source

DIRECT, ASKED = "preferred", "asked"
NO_MODELS = ("Aléatoire", "Annotateurs")
SIZES = "models_size.json"
PREDICTIONS = "predictions"
_FILE_ENDING, _DECISION = "_predictions.tsv", "minimal_pair_comparison"
_ENDING = "_prompting"


def read(source: Source) -> list[Log]:
    place = _place(source)
    if source.items is None:
        raise ScoreImportError(f"{place}: rows have numbers and no texts; give the corpus (--items qfrblimp)")
    table = source.items.with_format("arrow").select_columns(["item_id", "pair_id"])[:]
    ids = dict(zip(table["pair_id"].to_pylist(), table["item_id"].to_pylist(), strict=True))
    names, rows = _table(place)
    if unknown := [number for number, row in rows if str(row["id"]) not in ids]:
        raise ScoreImportError(
            f"{place}, row {unknown[0]}: no item of this number in the corpus ({len(unknown):,} such rows); expected "
            "the decisions about QFrBLiMP's 1,761 pairs"
        )
    sizes, file = dict[str, tuple[str, float]](), (place if place.is_dir() else place.parent) / SIZES
    if file.is_file():
        with reading(file, ScoreImportError, saying="not JSON"):
            stated = json.loads(file.read_text(encoding="utf-8"))
        sizes = {name.replace("/", "_"): (name, float(size)) for name, size in stated.items()}
    logs = []
    for system in dict.fromkeys(name.removesuffix(_ENDING) for name in names if name not in NO_MODELS):
        columns = {score: column for score, column in ((DIRECT, system), (ASKED, system + _ENDING)) if column in names}
        model, size = sizes.get(system, (system.replace("_", "/", 1), None))
        log = Log(
            model=model,
            tool="QFrBLiMP's scripts",
            settings={"columns": columns},
            files=tuple(place / PREDICTIONS / f"{column}{_FILE_ENDING}" for column in columns.values())
            if place.is_dir()
            else (place,),
            facts={} if size is None else {"size_billions": size / 1e9},
        )
        for number, row in rows:
            cells = {score: str(row[column]) for score, column in columns.items()}
            log.rows.append(LogRow(file=place, line=number, cells={"item_id": ids[str(row["id"])], **cells}))
        logs.append(log)
    for name in (name for name in NO_MODELS if name in names):
        logs[0].refusals.add(place, f"the column {name} is no model", n=len(rows))
    return logs


def _place(source: Source) -> Path:
    folders = [path for path in source.paths if path.is_dir() and (path / PREDICTIONS).is_dir()]
    tables = folders or source.files("decisions.csv", expected=f"decisions.csv or {PREDICTIONS}/ of QFrBLiMP")
    if len(tables) > 1:
        raise ScoreImportError(f"{tables[0]}, {tables[1]}: two tables of decisions; give one")
    return tables[0]


def _table(place: Path) -> tuple[list[str], list[tuple[int, dict[str, Any]]]]:
    if not place.is_dir():
        table = open_table(place)
        if "id" not in table.columns or len(table.columns) < 2:
            raise ScoreImportError(f"{place}: columns {', '.join(table.columns[:5])} …; expected id and systems")
        return [column for column in table.columns if column != "id"], list(table.rows())
    rows: dict[str, dict[str, Any]] = {}
    names = []
    for file in sorted((place / PREDICTIONS).glob(f"*{_FILE_ENDING}")):
        names.append(file.name.removesuffix(_FILE_ENDING))
        # the sentences have quotation marks of their own: no quoting
        lines = records(text_lines(file, "utf-8", newline=""), where=str(file), delimiter="\t", quotes=False)
        _, header = next(lines, (0, []))
        if (ends := [*header[:1], *header[-1:]]) != ["id", _DECISION]:
            raise ScoreImportError(f"{file}: columns {' … '.join(ends) or 'none'}; expected id … {_DECISION}")
        for number, cells in lines:
            decision = cells[-1] if len(cells) > 1 else ""
            if decision not in ("0", "1"):
                raise ScoreImportError(f"{file}, row {number}: {decision!r}; expected id … {_DECISION}, 0 or 1")
            rows.setdefault(cells[0], {"id": cells[0]})[names[-1]] = decision
    if not names:
        raise ScoreImportError(f"{place / PREDICTIONS}: no *{_FILE_ENDING}; expected the predictions of QFrBLiMP")
    for row in rows.values():
        if lacking := [name for name in names if name not in row]:
            raise ScoreImportError(f"{place / PREDICTIONS}: pair {row['id']} has no decision of {lacking[0]}")
    return names, list(enumerate(rows.values(), 2))
