"""Scores computed elsewhere to `Scored` tables, one a model, beside which our own can stand.

`import_scores` reads a file whose columns a profile or the caller maps. `import_logs` reads the files of another tool
or paper, joins their rows to a corpus by their texts (`join`), and says which rows were not imported. The signature
says that the numbers are imported: tool, version and settings as the log states them, and the files' hashes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pairbank.builders.schema.columns import Task
from pairbank.builders.sources.tables import SUFFIXES, Table, open_table
from pairbank.errors import PairbankError
from pairbank.files import sha256_of_file, sha256_of_texts
from pairbank.scoring.api.model import slug
from pairbank.scoring.api.names import TIE
from pairbank.scoring.importing.declared import SIDES, DeclaredScore, ScoreImportError
from pairbank.scoring.importing.join import TextJoin, question_name
from pairbank.scoring.importing.log import LeftOut, Log, LogRow, Source, Stated
from pairbank.scoring.importing.method import Chunk, ImportedMethod
from pairbank.scoring.importing.model_table import ModelTable
from pairbank.scoring.importing.profile import (
    ImportProfile,
    completed,
    imported_methods,
    load_profile,
    with_columns_mapped,
    with_scores_declared,
)
from pairbank.scoring.importing.reading import score_file
from pairbank.scoring.scored import NOT_IMPORTED, Scored

if TYPE_CHECKING:
    import datasets
    import pandas as pd

    from pairbank.scoring.importing.log import Judgment

TABLE = "table"
"""The reader of profiles that map the columns of a file: `import_scores`."""
READERS = {
    "babylm": "pairbank.scoring.importing.logs.babylm",
    "every-eval-ever": "pairbank.scoring.importing.logs.every_eval_ever",
    "hu-2020-syntaxgym": "pairbank.scoring.importing.logs.syntaxgym",
    "hu-2024-dgl": "pairbank.scoring.importing.logs.dgl",
    "hu-2024-dgl-sentences": "pairbank.scoring.importing.logs.dgl",
    "hu-2025-shades": "pairbank.scoring.importing.logs.shades",
    "hu-frank-2024-lambada": "pairbank.scoring.importing.logs.lambada",
    "inspect-ai": "pairbank.scoring.importing.logs.inspect_ai",
    "kauf-2023": "pairbank.scoring.importing.logs.kauf",
    "lighteval": "pairbank.scoring.importing.logs.lighteval",
    "lm-eval": "pairbank.scoring.importing.logs.lm_eval",
    "minicons": "pairbank.scoring.importing.logs.minicons",
    "multiblimp-checkpoints": "pairbank.scoring.importing.logs.multiblimp_checkpoints",
    "qfrblimp": "pairbank.scoring.importing.logs.qfrblimp",
}
"""A profile's `reader` -> the module whose `read(source)` gives the logs, one a model and run, in the files' order."""


def import_scores(
    path: str | Path,
    *,
    profile: str | ImportProfile | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    scores: Mapping[str, str | Mapping[str, Any]] | None = None,
    items: datasets.Dataset | None = None,
    corpus: str | None = None,
    model: str | None = None,
    language: str | None = None,
    task: Task | None = None,
) -> list[Scored]:
    """Return scores that were computed elsewhere, one `Scored` a model, in the file's order.

    Args:
        path: CSV, TSV, JSON-lines or parquet.
        profile: a shipped profile's name, the path of one (TOML), or the profile.
        columns: our name -> the file's column(s), as in `pairbank.scoring.importing.profile`; columns that bear our
            names are found without it.
        scores: method -> what its numbers are, as in `pairbank.scoring.importing.declared`:
            `{"slor": {"kind": "score", "direction": "higher"}, "judge": "decision"}`. What is not declared is
            log-probabilities in nats.
        items: the corpus that was scored, from `load_corpus`; the file then needs a column of `item_id`s. Without
            it the items are made from the file, which needs their sentences.
        corpus: name of the corpus; default: the profile's, else the file's name.
        model: the model of all rows, where no column says it.
        language: language of rows without a cell for it.
        task: task of rows without a cell for it.

    Raises:
        UnknownNameError: no such profile.
        ScoreImportError: a column that is missing, a cell that is no such number, no numbers at all, an item twice.
        CorpusError: sentences that are missing or not in the schema.

    >>> import pandas as pd, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "scores.csv"
    >>> frame = pd.DataFrame({"good": ["It rains."], "bad": ["It rain."], "x_good": [-9.5], "x_bad": [-12.0]})
    >>> frame.to_csv(path, index=False)
    >>> (table,) = import_scores(path, model="gpt-x", scores={"x": {"kind": "score", "direction": "higher"}})
    >>> table["x_delta"][:]
    [2.5]
    """
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES or not path.is_file():
        raise ScoreImportError(f"no file {path}; expected a {', '.join(SUFFIXES)} file of scores")
    how = load_profile(profile) if isinstance(profile, str) else profile or ImportProfile()
    how = with_scores_declared(how, scores or {}, where="scores")
    how = with_columns_mapped(how, columns or {}, where="columns")
    how = replace(how, model=model or how.model, language=language or how.language, task=task or how.task)
    table = open_table(path)
    if next(table.rows(), None) is None:
        raise ScoreImportError(f"{path}: no rows; expected a header and at least one score")
    how = replace(completed(how, table.columns), corpus=corpus or how.corpus or slug(path.stem))
    tables = _tables(table, how, items)
    columns_of_file = {name: list(columns) for name, columns in how.columns.items()}
    origin = {"file": path.name, "sha256": sha256_of_file(path), "columns": columns_of_file}
    return [tables.pop(name).scored(origin) for name in [*tables]]


def _tables(table: Table, how: ImportProfile, items: datasets.Dataset | None) -> dict[str, ModelTable]:
    path = table.path
    names, chunks = score_file(table, how, known=(number for numbers in how.numbers.values() for number in numbers))
    methods = imported_methods(how, names, table.columns, str(path))
    tables: dict[str, ModelTable] = {}
    for name, chunk in chunks:
        if name not in tables:
            tables[name] = ModelTable(name, methods, how, items)
        tables[name].add(chunk)
    if len({slug(name) for name in tables}) < len(tables):
        raise ScoreImportError(f"{path}: models {', '.join(tables)} have the same file name; rename one of them")
    check_numbers(path, how, methods, [*tables.values()])
    return tables


def check_numbers(
    path: Path, how: ImportProfile, methods: Sequence[ImportedMethod], tables: Sequence[ModelTable]
) -> None:
    """Refuse a method or a model without numbers, and scores so small that statistics take them for ties."""
    for method in methods:
        checked = ", ".join(repr(column) for name in method.numbers for column in how.columns.get(name, (name,)))
        if not any(table.has_numbers(method) for table in tables):
            n_half = sum(sum(table.n_by_flag(method).values()) for table in tables)
            n_empty = sum(table.n_by_flag(method).get(NOT_IMPORTED, 0) for table in tables)
            raise ScoreImportError(
                f"{path}: no scores of {method.name} in any row ({n_empty} empty, {n_half - n_empty} half empty); "
                f"looked for them in {checked}: map the columns that hold them, or leave these out of the file"
            )
        differences = np.concatenate([table.differences(method) for table in tables])
        n_small, n_differing = int(((differences > 0) & (differences <= TIE)).sum()), int((differences > 0).sum())
        if 2 * n_small > n_differing:
            raise ScoreImportError(
                f"{path}: {n_small} of {n_differing} differences of {method.name} are no larger than {TIE:g}, which "
                "statistics take for a tie; are these probabilities? Give their logarithms"
            )
    for table in tables:
        if not any(table.has_numbers(method) for method in methods):
            names = ", ".join(method.name for method in methods)
            raise ScoreImportError(f"{path}: no scores of {table.model} in any row of {names}; leave its rows out")


@dataclass(frozen=True, slots=True, kw_only=True)
class Imports:
    """What was imported, and what was not.

    >>> Imports(tables=[], left_out=[], stated=[]).tables
    []
    """

    tables: list[Scored]
    left_out: list[LeftOut]
    """Rows that were not imported: no pairs, or without an item in the corpus."""
    stated: list[Stated]
    """Numbers that the sources state about themselves, beside those computed from their rows."""
    ratings: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    """Corpus -> people's individual ratings where a source has them, as `write_bank` takes them: item_id, side, rater,
    value, scale."""
    draws: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    """Model -> its sampled answers where a source has each of them, as `Scored.ratings` gives them."""


def import_logs(
    paths: Sequence[str | Path] | str | Path,
    source: str | ImportProfile,
    *,
    items: datasets.Dataset | None = None,
    corpus: str | None = None,
    model: str | None = None,
    language: str | None = None,
) -> Imports:
    """Return what other tools have scored, a table a model.

    Args:
        paths: their files, or folders that hold them.
        source: which tool: a shipped profile's name (`lm-eval`, `inspect-ai` …), the path of one, or the profile.
        items: the corpus that was scored, from `load_corpus`; rows are joined to it by their texts. Without it items
            are made of the log's own texts.
        corpus: name of the corpus that is made so; default: the profile's.
        model: the model, where the log does not say it, or says it otherwise than you want; for one model alone.
        language: of items made of the log's own texts.

    Raises:
        UnknownNameError: no such profile.
        ScoreImportError: files that are none of the tool's, rows whose item is in doubt, or nothing to import.

    >>> import_logs("lm_eval_output", "lm-eval").tables  # doctest: +SKIP
    """
    how = load_profile(source) if isinstance(source, str) else source
    files = [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    how = replace(how, corpus=corpus or how.corpus, language=language or how.language)
    if how.reader == TABLE:
        tables = [
            table
            for path in files
            for table in import_scores(path, profile=how, items=items, corpus=corpus, model=model, language=language)
        ]
        return Imports(tables=_distinct(tables), left_out=[], stated=[])
    logs = _read(Source(paths=tuple(files), how=how, items=items))
    by_model: dict[str, list[Log]] = {}
    for log in logs:
        by_model.setdefault(log.model, []).append(log)
    if model is not None and len(by_model) > 1:
        raise ScoreImportError(f"model={model!r} is for one model, and the logs have {', '.join(by_model)}")
    by_model = by_model if model is None else {model: logs}
    if not any(log.rows for log in logs):
        reasons = "; ".join(str(rows) for log in logs for rows in log.refusals.left_out()[:1])
        raise ScoreImportError(f"{', '.join(map(str, files))}: no pair to import{f': {reasons}' if reasons else ''}")
    join = None if items is None else TextJoin(items)
    left_out = [rows for log in logs for rows in log.refusals.left_out()]
    tables = []
    for name, of_model in by_model.items():
        table, more = _table(name, of_model, how, items, join)
        tables += [] if table is None else [table]
        left_out += more
    return Imports(
        tables=_distinct(tables),
        left_out=left_out,
        stated=[value for log in logs for value in log.stated],
        ratings=_ratings(tables, [judgment for log in logs for judgment in log.judgments]),
        draws=_draws(tables, by_model),
    )


def _draws(tables: Sequence[Scored], by_model: Mapping[str, Sequence[Log]]) -> dict[str, pd.DataFrame]:
    """Return model -> its sampled answers as ratings: raters by number, the model as the one who rates."""
    results = {}
    for table in tables:
        drawn = [draw for log in by_model[table.model] for draw in log.draws]
        for frame in _ratings([table], drawn).values():
            number = {name: nth for nth, name in enumerate(dict.fromkeys(frame["rater"]))}
            rater = frame["rater"].map(number).astype("int32")
            results[table.model] = frame.assign(rater=rater, model=table.model, method="sampled")
    return results


def _ratings(tables: Sequence[Scored], judgments: Sequence[Judgment]) -> dict[str, pd.DataFrame]:
    """Return corpus -> the ratings of its sentences, under every item that has the sentence on a side."""
    import pandas as pd

    places: dict[str, dict[tuple[str, str, str], None]] = {}
    for table in tables if judgments else ():
        rows = table.dataset.select_columns(["item_id", *(f"target_{side}" for side in SIDES)])
        for item_id, *texts in zip(*(rows[name][:] for name in rows.column_names), strict=True):
            for side, text in zip(SIDES, texts, strict=True):
                places.setdefault(text, {})[table.corpus, item_id, side] = None
    ratings: dict[str, list[dict[str, Any]]] = {}
    for judgment in judgments:
        for corpus, item_id, side in places.get(judgment.text, ()):
            said = {"rater": judgment.rater, "value": judgment.value, "scale": judgment.scale}
            ratings.setdefault(corpus, []).append({"item_id": item_id, "side": side, **said})
    return {corpus: pd.DataFrame(rows) for corpus, rows in ratings.items()}


def _read(source: Source) -> list[Log]:
    name = source.how.reader
    if name not in READERS:
        raise ScoreImportError(f"reader is {name!r}; expected one of {TABLE}, {', '.join(READERS)}")
    try:
        logs: list[Log] = import_module(READERS[name]).read(source)
    except PairbankError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"[:200]  # a value of another kind than the tool writes there
        raise ScoreImportError(f"{source}: not as {name} writes it ({reason}); give its files as they were") from error
    return logs


def _table(
    name: str, logs: Sequence[Log], how: ImportProfile, items: datasets.Dataset | None, join: TextJoin | None
) -> tuple[Scored | None, list[LeftOut]]:
    rows = [row for log in logs for row in log.rows]
    if not rows:
        return None, []
    left_out: list[LeftOut] = []
    facts: dict[str, Any] = {"by": "the log's own texts", "n_joined": len(rows)}
    if join is not None:
        rows, left_out, facts = join.join(rows)
    known = {cell for row in rows for cell in row.cells}
    declared = {
        score.name: score
        for log in logs
        for score in (*log.scores, *_answers(rows, log))
        if score.kind == "decision" or any(f"{score.name}_{side}" in known for side in SIDES)
    }
    names = frozenset(cell for row in rows for cell, value in row.cells.items() if value is not None)
    used = [x for x in how.scores if x.name not in declared and not names.isdisjoint(how.numbers[x.name])]
    how = replace(how, scores=(*used, *declared.values()), model=name)
    methods = imported_methods(how, names, sorted(names), str(rows[0].file))
    table = ModelTable(name, methods, how, items)
    for file, of_file in itertools.groupby(rows, key=lambda row: row.file):
        group = list(of_file)
        cells = {cell: [row.cells.get(cell) for row in group] for cell in sorted(names)}
        table.add(Chunk(path=file, lines=[row.line for row in group], cells=cells))
    check_numbers(rows[0].file, how, methods, [table])
    scored = table.scored(_origin(logs, facts))
    model = {**scored.signature["model"], **{key: value for log in logs for key, value in log.facts.items()}}
    return Scored(table=scored.table, signature={**scored.signature, "model": model}), left_out


def _answers(rows: Sequence[LogRow], log: Log) -> Iterator[DeclaredScore]:
    """Yield what log-probabilities are that were found to be answers to a question."""
    for task in dict.fromkeys(row.cells.get("subset") for row in log.rows):
        name = question_name(str(task))
        if any(f"{name}_good" in row.cells for row in rows):
            label = f"both sentences as answers to the question of the task {task} of {log.tool}"
            yield DeclaredScore(name=name, kind="logprob", direction="higher", unit="nats", label=label)


def _origin(logs: Sequence[Log], join: Mapping[str, Any]) -> dict[str, Any]:
    files = list(dict.fromkeys(file for log in logs for file in log.files))
    hashes = {file.name: sha256_of_file(file) for file in files}
    named = ", ".join(hashes) if len(hashes) < 3 else f"{next(iter(hashes))} and {len(hashes) - 1} more"
    return {
        "file": named,
        "sha256": next(iter(hashes.values())) if len(hashes) == 1 else sha256_of_texts(sorted(hashes.values())),
        "files": hashes,
        "columns": {},
        "tool": {"name": logs[0].tool, "version": ", ".join(dict.fromkeys(log.version for log in logs))},
        "settings": _merged([log.settings for log in logs]),
        "join": dict(join),
        "stated": [asdict(stated) for log in logs for stated in log.stated],
        "left_out": [asdict(rows) for log in logs for rows in log.refusals.left_out()],
    }


def _merged(settings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return settings that all logs share once, and those that differ as lists.

    >>> _merged([{"seed": 0, "task": "a"}, {"seed": 0, "task": "b"}])
    {'seed': 0, 'task': ['a', 'b']}
    """
    results: dict[str, Any] = {}
    for key in dict.fromkeys(key for setting in settings for key in setting):
        values: list[Any] = []
        for setting in settings:
            if setting.get(key) not in values:
                values.append(setting.get(key))
        results[key] = values[0] if len(values) == 1 else values
    return results


def _distinct(tables: list[Scored]) -> list[Scored]:
    slugs = [(table.corpus, table.model_slug) for table in tables]
    if twice := [table.model for table in tables if slugs.count((table.corpus, table.model_slug)) > 1]:
        raise ScoreImportError(f"models {', '.join(dict.fromkeys(twice))} have the same file name; rename one of them")
    return tables
