"""Rows that a notebook has at hand as a file in the cache, named by the hash of its bytes: same rows, same file."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pairbank.errors import CorpusError
from pairbank.files import cache_dir, sha256_of_text, write_bytes

if TYPE_CHECKING:
    import pandas as pd

EXPECTED = "expected a corpus's name, a path, a DataFrame, or a list of (better, worse) pairs or of dicts"


def file_of(rows: object, name: str) -> Path:
    """Return a parquet file `name` of the rows of a table, of pairs (better, worse) or of records.

    >>> file_of([("The dogs bark.", "The dogs barks.")], "mine").name
    'mine.parquet'
    """
    import pyarrow as pa

    frame = _frame_of(rows)
    frame = frame.reset_index(drop=frame.index.names == [None]).rename(columns=str)
    content = io.BytesIO()
    try:
        frame.to_parquet(content, index=False)
    except (pa.ArrowException, ValueError) as problem:
        raise CorpusError(f"{type(rows).__name__}: a column cannot be stored ({problem}); make it text") from problem
    path = cache_dir() / "in_memory" / sha256_of_text(content.getvalue().hex())[:16] / f"{name}.parquet"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, content.getvalue())
    return path


def _frame_of(rows: object) -> pd.DataFrame:
    import pandas as pd

    kind = type(rows).__name__
    if isinstance(rows, pd.DataFrame):
        return rows
    if callable(to_pandas := getattr(rows, "to_pandas", None)):  # polars, Arrow, datasets
        return pd.DataFrame(to_pandas())
    if isinstance(rows, Mapping):
        if splits := [split for split, values in rows.items() if hasattr(values, "column_names")]:
            raise CorpusError(f"{EXPECTED}; got a {kind} of splits: choose one, as in items[{splits[0]!r}]")
        return pd.DataFrame(rows)
    if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
        raise CorpusError(f"{EXPECTED}; got {kind}: {rows!r:.80}")
    several = list(rows.tolist() if hasattr(rows, "tolist") else rows)  # of numpy and of a pandas column
    if several and all(isinstance(row, Mapping) for row in several):
        return pd.DataFrame(several)
    odd = [row for row in several if not (isinstance(row, list | tuple) and len(row) == 2)]
    if several and not odd:
        return pd.DataFrame(several, columns=["good", "bad"])
    hint = "; for single sentences, pairbank.words(sentences, model)" if odd and isinstance(odd[0], str) else ""
    raise CorpusError(f"{EXPECTED}; got {f'a {kind} with {odd[0]!r:.80}' if odd else f'an empty {kind}'}{hint}")
