"""Submissions to a store as strangers make them: tables with a cell or a signature changed, and pull requests."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

import pairbank
from pairbank.files import sha256_of_file
from pairbank.scoring.signature import METADATA_KEY


def edited(
    file: Path,
    out: Path,
    *,
    column: str = "",
    value: Callable[[Any], Any] = lambda x: x,
    sign: Callable[[Any], None] = lambda _: None,
    rows: slice = slice(1),
    table_as: Callable[[pa.Table], pa.Table] = lambda table: table,
) -> Path:
    """Write a scored table with some values of a column changed (the first one), its signature, or the whole table."""
    table = pq.read_table(file)
    metadata = table.schema.metadata
    table = table_as(table)
    signature = json.loads(metadata[METADATA_KEY])
    sign(signature)
    if column:
        values = table[column].to_pylist()
        values[rows] = map(value, values[rows])
        at = table.schema.get_field_index(column)
        table = table.set_column(at, table.schema.field(at), pa.array(values, type=table.schema.field(at).type))
    pq.write_table(table.replace_schema_metadata({**metadata, METADATA_KEY: json.dumps(signature).encode()}), out)
    return out


def named(signature: dict[str, Any], *, model: Mapping[str, str]) -> None:
    """Let a signature be of another model."""
    signature["model"].update(model)


def submission(file: Path, who: str, **record: Any) -> dict[str, bytes]:  # noqa: ANN401 - JSON is any
    signature, digest = pairbank.read_scored(file).signature, sha256_of_file(file)
    corpus, model = signature["corpus"], signature["model"]
    folder = f"{corpus['name']}@{corpus['items_sha256'][:12]}/{model['slug']}@{model['revision'][:12]}"
    path = f"submissions/{folder}/{who}-{digest[:12]}.parquet"
    stated = json.dumps({"submitter": who, "date": "", "sha256": digest, "signature": signature, **record})
    return {path: file.read_bytes(), path.replace(".parquet", ".json"): stated.encode()}


def put(store: Path, files: Mapping[str, bytes]) -> Path:
    for path, data in files.items():
        (store / path).parent.mkdir(parents=True, exist_ok=True)
        (store / path).write_bytes(data)
    return store / next(iter(files))


def propose(repo_id: str, files: Mapping[str, bytes | None], *, title: str = "Add scores") -> None:
    """Open a pull request that adds, changes or (None) removes files."""
    operations = [
        CommitOperationDelete(path) if data is None else CommitOperationAdd(path, data) for path, data in files.items()
    ]
    HfApi().create_commit(repo_id, operations, commit_message=title, repo_type="dataset", create_pr=True)


def clone(repo_id: str, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return Path(HfApi().snapshot_download(repo_id, repo_type="dataset", local_dir=folder))
