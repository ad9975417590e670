"""EWoK-core 1.0: does a target sentence fit one context better than another? Ivanova et al. 2024, arXiv 2405.09605.

In: the user's authorised copy of a gated dataset, as CSV (one file or one a domain; a first line with the canary
is skipped), as the Hub's parquet, or as the encrypted zip archive in which its repository releases the CSV files, with
the password in the environment (`KEY_VARIABLE`). Out: two rows an item, one a target: the target is the same on both
sides, the contexts differ, and the better one is the one of the target's number. Human Likert means are taken where
the copy has them. The terms of use forbid the items in plain text on the internet: nothing here downloads, ships or
prints them, and an error names the row, never its text.
"""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pairbank.builders.corpora.corpus import BuildOptions, wanted
from pairbank.builders.corpora.declared import declared
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.archives import locked_members
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError, CorpusFileNotFoundError

CSV_FILE, PARQUET_FILE, ZIP_FILE = "ewok-core-1.0.csv", "ewok-core-1.0.parquet", "ewok-core-1.0.zip"
KEY_VARIABLE = "PAIRBANK_EWOK_PASSWORD"
"""Environment variable with the password of the archive: a command line would be in the shell's history."""
UNPACKED = {CSV_FILE: "testsuite*.csv", PARQUET_FILE: "test-*.parquet"}
"""Upstream's own names: one CSV a domain, or the Hub's parquet."""
HOMEPAGE = "https://huggingface.co/datasets/ewok-core/ewok-core-1.0"
BY_HAND = f"it is gated: accept the terms of use at {HOMEPAGE}, download your copy"
TEXTS = ("Target1", "Target2", "Context1", "Context2")
DESIGN = {
    "meta_template_id": ("MetaTemplateID", "id of the template's template"),
    "template_id": ("TemplateID", "id of the template"),
    "concept_a": ("ConceptA", "the first concept"),
    "concept_b": ("ConceptB", "the second concept"),
    "target_diff": ("TargetDiff", "how the targets differ: concept swap, variable swap"),
    "context_diff": ("ContextDiff", "how the contexts differ: antonym, negation, variable swap, other"),
    "context_type": ("ContextType", "direct or indirect"),
}
REQUIRED = ("Domain", *(column for column, _ in DESIGN.values()), *TEXTS)
Row = Mapping[str, Any]


def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield two context pairs an item, items in the order of the copy.

    Raises:
        CorpusFileNotFoundError: there is no copy; the message says how to be authorised.
        CorpusError: a file or row that cannot be accepted, named without its text.
    """
    result = next((files[name] for name in (CSV_FILE, PARQUET_FILE, ZIP_FILE) if name in files), None)
    if result is None:
        raise CorpusFileNotFoundError(
            f"corpus 'ewok': no copy found; {BY_HAND} and give its folder as data_dir (--data-dir), the file named "
            f"{CSV_FILE}, {PARQUET_FILE} or {ZIP_FILE} (encrypted: its password in {KEY_VARIABLE}), or under "
            f"upstream's names ({', '.join(UNPACKED.values())})"
        )
    seen: Counter[tuple[str, str, str]] = Counter()
    for path, numbered in _tables(result):
        for number, row in numbered:
            item = _checked(row, f"{path}, row {number}")
            key = (item["Domain"], item["MetaTemplateID"], item["TemplateID"])
            seen[key] += 1
            if wanted(item["Domain"], options):
                identity = f"{key[1]}.{key[2]}.{seen[key]}"
                yield from (_pair(item, identity, target, f"{path}, row {number}") for target in (1, 2))


def _tables(found: LocatedFile) -> Iterator[tuple[Path, Iterator[tuple[int, Row]]]]:
    """Yield where each table of a copy stands, and its numbered rows."""
    if found.name == ZIP_FILE:
        remedy = (
            f"set {KEY_VARIABLE} to the password that the README of the release names (read -s {KEY_VARIABLE}; export "
            f"{KEY_VARIABLE}), and repeat the command"
        )
        password = os.environ.get(KEY_VARIABLE, "")
        for name, data in locked_members(found.path, UNPACKED[CSV_FILE], password=password, remedy=remedy):
            place = found.path / name
            yield place, _csv_rows(place, data)
        return
    for path in sorted(found.path.glob(UNPACKED[found.name])) if found.path.is_dir() else [found.path]:
        yield path, _parquet_rows(path) if path.suffix == ".parquet" else _csv_rows(path, path.read_bytes())


def _csv_rows(path: Path, data: bytes) -> Iterator[tuple[int, Row]]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CorpusError(f"{path}: not UTF-8; take a fresh copy") from None  # the cause would carry the items
    first, _, rest = text.partition("\n")
    skipped = 1 if "canary" in first.lower() else 0
    reader = csv.reader(io.StringIO(rest if skipped else text, newline=""), strict=True)
    try:
        header = next(reader, [])
        _check_columns(header, path)
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                raise CorpusError(
                    f"{path}, row {reader.line_num + skipped}: {len(cells)} cells, expected {len(header)} as in the "
                    "header; take a fresh copy of the file"
                )
            yield reader.line_num + skipped, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise CorpusError(f"{path}, row {reader.line_num + skipped}: not readable as CSV; take a fresh copy") from error


def _parquet_rows(path: Path) -> Iterator[tuple[int, Row]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise CorpusError(f"{path}: not a readable parquet file; take a fresh copy") from error
    _check_columns(table.column_names, path)
    yield from enumerate(table.to_pylist(), 1)


def _check_columns(header: Sequence[str], path: Path) -> None:
    """Refuse a table without the columns of EWoK; what it has instead is not said, for it may be an item."""
    if missing := [name for name in REQUIRED if name not in header]:
        raise CorpusError(
            f"{path}: missing column(s) {', '.join(missing)}; expected the header of EWoK-core 1.0 on line 1, or on "
            "line 2 below the canary"
        )


def _checked(row: Row, where: str) -> dict[str, Any]:
    """Return the row with clean strings and the domain's normal name; say which cell is at fault, never its text."""
    for name in REQUIRED:
        if row[name] is None or not str(row[name]).strip():
            raise CorpusError(f"{where}: {name} is empty; take a fresh copy of the file")
    domain = str(row["Domain"]).strip().lower().replace("_", "-").replace(" ", "-")
    if domain not in EWOK.subsets:
        raise CorpusError(f"{where}: Domain is none of {', '.join(EWOK.subsets)}; take a fresh copy of the file")
    return {**row, **{name: str(row[name]) for name in REQUIRED}, "Domain": domain}


def _pair(row: Row, identity: str, target: int, where: str) -> Item:
    """Return the context pair of one target: the context of its own number is the better one."""
    other = 3 - target
    columns = {number: f"response_mean_target{target}_context{number}" for number in (target, other)}
    human = {number: _rating(row.get(column), where) for number, column in columns.items()}
    rated = None not in human.values()
    requested = any(column in row for column in columns.values())
    domain = row["Domain"]
    return Item(
        item_id=f"ewok/{domain}/{identity}-t{target}",
        corpus="ewok",
        subset=domain,
        language="en",
        task="context_pair",
        phenomenon=domain,
        paradigm=row["ContextType"],
        context_good=row[f"Context{target}"],
        target_good=row[f"Target{target}"],
        context_bad=row[f"Context{other}"],
        target_bad=row[f"Target{target}"],
        human_good=human[target] if rated else None,
        human_bad=human[other] if rated else None,
        human_scale="likert5" if rated else None,
        pair_id=identity,
        flags=("no_human_rating",) if requested and not rated else (),
        extra={name: row[column] for name, (column, _) in DESIGN.items()} | {"target_number": target},
    )


def _rating(cell: object, where: str) -> float | None:
    if cell is None or cell in ("", "NA", "nan") or cell != cell:  # noqa: PLR0124 - NaN
        return None
    try:
        rating = float(str(cell))
    except ValueError:
        rating = float("nan")
    if not 1 <= rating <= 5:
        raise CorpusError(f"{where}: a human rating is not a mean from 1 to 5; take a fresh copy of the file")
    return rating


EWOK = declared("ewok", rows)
