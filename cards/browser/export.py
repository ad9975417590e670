"""Downloads: in, a table and a view; out, the chosen rows as CSV or parquet, made while they are sent.

Nothing is written to disk beside the operating system's temporary files, and never into the bank. Each row carries the
signature of its scores. In CSV, a cell that a spreadsheet would run as a formula is defused with an apostrophe.
"""

from __future__ import annotations

import io
import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from pairbank.cards.browser.filters import chosen
from pairbank.cards.browser.view import FILTERS, View, resolved
from pairbank.errors import PairbankError, UnknownNameError
from pairbank.files import FORMULA, defused
from pairbank.scoring.signature import METADATA_KEY, signature_json, signature_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from pairbank.cards.browser.data import Bank, Table

BATCH_ROWS = 8_192
CHUNK_BYTES = 2**18
_FILTER_KEY = b"pairbank_filter"


def _defused_column(column: pa.Array) -> pa.Array:
    """Return a text column in which no cell starts a formula: `pairbank.files.defused`, a column at once."""
    return pc.replace_substring_regex(column, pattern=FORMULA, replacement=r"'\1")


def batches(table: Table, view: View) -> Iterator[pa.RecordBatch]:
    """Yield the chosen rows with two more columns, `model` and `signature`, a few thousand at a time."""
    rows = np.flatnonzero(chosen(table, view))
    table.load(table.names)
    line = signature_line(table.signature) if table.signature else ""
    for start in range(0, max(len(rows), 1), BATCH_ROWS):
        take = pa.array(rows[start : start + BATCH_ROWS])
        columns = {name: table.column(name).take(take) for name in table.names}
        columns |= {name: pa.array([text] * len(take), pa.string()) for name, text in _marks(table, line)}
        yield pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _marks(table: Table, line: str) -> list[tuple[str, str]]:
    marks = [("model", table.model), ("signature", line)] if table.signature else []
    return [(name, text) for name, text in marks if name not in table.names]


def csv_chunks(table: Table, view: View) -> Iterator[bytes]:
    """Yield the chosen rows as UTF-8 CSV; lists become JSON, null an empty cell."""
    for k, batch in enumerate(batches(table, view)):
        columns = [_cells(column) for column in batch.columns]
        out = io.BytesIO()
        csv.write_csv(
            pa.RecordBatch.from_arrays(columns, names=[defused(name) for name in batch.schema.names]),
            out,
            write_options=csv.WriteOptions(include_header=k == 0),
        )
        yield out.getvalue()


def _cells(column: pa.Array) -> pa.Array:
    if pa.types.is_list(column.type) and pa.types.is_floating(column.type.value_type):
        return _numbers_as_json(column)
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        lists = [None if value is None else json.dumps(value, ensure_ascii=False) for value in column.to_pylist()]
        return pa.array(lists, pa.string())
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return _defused_column(column)
    return column


def _numbers_as_json(column: pa.Array) -> pa.Array:
    """Return lists of numbers as JSON, a column at once: a loop over 134,000 rows takes a minute."""
    lists = pa.ListArray.from_arrays(pc.subtract(column.offsets, column.offsets[0]), column.flatten().cast(pa.string()))
    inside = pc.binary_join(lists, ", ")
    return pc.if_else(pc.is_valid(column), pc.binary_join_element_wise("[", inside, "]", ""), None)


def parquet_chunks(table: Table, view: View) -> Iterator[bytes]:
    """Yield the chosen rows as a parquet file whose metadata hold the signature and the filters."""
    metadata = {_FILTER_KEY: json.dumps(filters_of(view), ensure_ascii=False).encode()}
    if table.signature:
        metadata[METADATA_KEY] = signature_json(table.signature)
    with tempfile.SpooledTemporaryFile(max_size=2**25) as file:
        writer = None
        for batch in batches(table, view):
            if writer is None:
                writer = pq.ParquetWriter(file, batch.schema.with_metadata(metadata))
            writer.write_batch(batch.replace_schema_metadata(metadata))
        if writer is not None:
            writer.close()
        file.seek(0)
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def filters_of(view: View) -> dict[str, str]:
    """Return the filters that are on.

    >>> filters_of(View(language="en", show="wrong", method="direct"))
    {'language': 'en', 'show': 'wrong', 'method': 'direct'}
    """
    found = {name: getattr(view, name) for name in (*FILTERS, "q") if getattr(view, name)}
    return found | ({"show": view.show, "method": view.method} if view.show != "all" else {})


def file_name(table: Table, view: View, ending: str) -> str:
    """Return a name for the download that says what it holds, in ASCII."""
    parts = [table.corpus, table.model, *(f"{k}={v}" for k, v in filters_of(view).items())]
    return re.sub(r"[^A-Za-z0-9._=-]+", "_", "--".join(part for part in parts if part))[:120] + f".{ending}"


def routes(bank: Bank) -> list[Route]:
    """Return the download addresses: `pairbank/rows.csv`, `pairbank/rows.parquet` and `pairbank/summary.csv`.

    The query is that of the page's permalink.
    """
    from starlette.responses import PlainTextResponse, StreamingResponse
    from starlette.routing import Route

    def rows(request: Request) -> Response:
        view = _exactly(bank, replace(View.from_query(request.url.query), tab="download"))
        table = bank.table(view.corpus, view.model)
        ending = request.url.path.rsplit(".", 1)[-1]
        chunks = csv_chunks(table, view) if ending == "csv" else parquet_chunks(table, view)
        kind = "text/csv; charset=utf-8" if ending == "csv" else "application/vnd.apache.parquet"
        return StreamingResponse(chunks, media_type=kind, headers=_attached(file_name(table, view, ending)))

    def summary(request: Request) -> Response:
        view = _exactly(bank, replace(View.from_query(request.url.query), tab="leaderboard"))
        text = summary_csv(bank, view)
        headers = _attached("summary.csv")
        return StreamingResponse(iter([text]), media_type="text/csv; charset=utf-8", headers=headers)

    def answered(made: Callable[[Request], Response]) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            try:
                return made(request)
            except UnknownNameError as error:
                return PlainTextResponse(f"{error}\n", status_code=404)
            except PairbankError as error:
                return PlainTextResponse(f"{error}\n", status_code=500)

        return answer

    paths = {"rows.csv": rows, "rows.parquet": rows, "summary.csv": summary}
    return [Route(f"/pairbank/{name}", answered(endpoint)) for name, endpoint in paths.items()]


def _exactly(bank: Bank, asked: View) -> View:
    """Return what is asked for, completed with defaults: who takes rows away must get those asked for, or none.

    Raises:
        UnknownNameError: says every name that the bank does not have.
    """
    found = resolved(bank, asked)
    if found.notices:
        asked_for = "; ".join(notice.removesuffix(".").split(";")[0].split(", which")[0] for notice in found.notices)
        raise UnknownNameError(f"{asked_for}: no such name in this bank; nothing was made. Take the link from its page")
    return found.view


def summary_csv(bank: Bank, view: View) -> bytes:
    """Return the leaderboard's table as CSV, in the view's order."""
    from pairbank.cards.browser.leaderboard import board

    table = pa.Table.from_pandas(board(bank, view), preserve_index=False)
    columns = [_cells(column.combine_chunks()) for column in table.columns]
    out = io.BytesIO()
    csv.write_csv(pa.Table.from_arrays(columns, names=table.column_names), out)
    return out.getvalue()


def _attached(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
