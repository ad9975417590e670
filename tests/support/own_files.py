"""A user's files for tests: written as bytes, and read as `load_corpus` reads them but without a cache."""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from pairbank.builders.corpora.corpus import BuildOptions
from pairbank.builders.corpora.tabular import READING, tabular_corpus
from pairbank.builders.corpora.tabular_items import TabularOptions
from pairbank.builders.dataset import features
from pairbank.builders.schema.validation import Validator


@dataclass(frozen=True, kw_only=True)
class Read:
    rows: list[dict[str, Any]]
    said: str

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return [(row["target_good"], row["target_bad"]) for row in self.rows]


def read(path: Path, **options: Any) -> Read:  # noqa: ANN401 - the fields of TabularOptions
    corpus, files = tabular_corpus(path, TabularOptions(**{"marks": "refuse"} | options))
    made = Validator(corpus.name, corpus.extra_columns, own=corpus.own).checked(corpus.rows(files, BuildOptions()))
    rows = [item.row() for item in made]
    table = datasets.Dataset.from_list(rows, features=features(corpus.extra_columns))
    facts = corpus.metadata(files)[READING]
    assert isinstance(facts, list)
    return Read(rows=table.to_list(), said="; ".join(facts))


def write_frame(path: Path, frame: pd.DataFrame) -> Path:
    """Write a table in the format that the file's name ends in."""
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


def parquet(columns: Mapping[str, Sequence[Any]] | pa.Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(dict(columns)), out)
    return out.getvalue()


def json_lines(*rows: object) -> bytes:
    """Return JSON lines; a str is a line as it stands."""
    lines = (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """Return a file with some bytes changed, left out, put in or said twice, perhaps cut."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        n = draw(st.integers(0, 6))
        data[at : at + n] = draw(st.one_of(st.binary(max_size=6), st.just(bytes(data[at : at + 3 * n]))))
    return bytes(data[: draw(st.one_of(st.none(), st.integers(0, len(data))))])
