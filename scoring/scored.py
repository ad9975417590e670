"""`Scored`: a table of items with the columns of methods, and its signature; to a parquet file and back."""

from __future__ import annotations

import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from pairbank.errors import BankError, ScoringError
from pairbank.files import read_parquet, sha256_of_file, write_parquet
from pairbank.scoring.signature import METADATA_KEY, signature_json, signature_problems

if TYPE_CHECKING:
    import datasets
    import pandas as pd

    from pairbank.scoring.api.layout import ColumnKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A scored corpus: the items with the methods' columns, and the signature that every number carries."""

    dataset: datasets.Dataset
    signature: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, key: int | str) -> Any:  # noqa: ANN401 - as a Dataset does
        return self.dataset[key]

    @property
    def corpus(self) -> str:
        """Name of the corpus."""
        return str(self.signature["corpus"]["name"])

    @property
    def model(self) -> str:
        """Short name of the model."""
        return str(self.signature["model"]["name"])

    @property
    def model_slug(self) -> str:
        """The model's name as a split name."""
        return str(self.signature["model"]["slug"])

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods scored."""
        return tuple(self.signature["methods"])

    @property
    def layouts(self) -> list[dict[str, Any]]:
        """How each method's log-probabilities are laid out."""
        return [definition["layout"] for definition in self.signature["methods"].values()]

    def to_pandas(self) -> pd.DataFrame:
        """Return the table as a DataFrame."""
        frame: pd.DataFrame = self.dataset.to_pandas()
        return frame

    def _repr_html_(self) -> str:
        """Return what a notebook shows: what was scored how, and the first rows."""
        said = f"{len(self):,} items of {self.corpus}, scored with {self.model}: {', '.join(self.methods)}"
        few = self.dataset.select(range(min(5, len(self)))).to_pandas()
        return f"<p>{html.escape(said)}</p>{few.to_html(index=False)}"

    def save(self, path: str | Path) -> Path:
        """Write one parquet file that carries the signature in its schema metadata; return its path."""
        path = Path(path)
        table: pa.Table = self.dataset.with_format("arrow")[:]
        metadata = {**(table.schema.metadata or {}), METADATA_KEY: signature_json(self.signature)}
        write_parquet(path, table.replace_schema_metadata(metadata))
        return path


def read_scored(path: str | Path) -> Scored:
    """Read what `Scored.save` wrote.

    Raises:
        BankError: the file is not a scored table of pairbank's.
    """
    path = Path(path)
    table = read_parquet(path)
    metadata = table.schema.metadata or {}
    if METADATA_KEY not in metadata:
        raise BankError(f"{path}: carries no signature; expected a file that `pairbank score` wrote")
    try:
        signature = json.loads(metadata[METADATA_KEY])
    except (ValueError, RecursionError) as error:
        raise BankError(f"{path}: its signature is not JSON ({error}); score again") from error
    if problems := signature_problems(signature):
        raise BankError(f"{path}: its signature is none of pairbank's ({'; '.join(problems[:3])}); score again")
    return Scored(dataset=dataset_of(table, path), signature=signature)


def dataset_of(table: pa.Table, path: Path) -> datasets.Dataset:
    """Return what was read from a parquet file as a Dataset with the Features it was written with.

    Raises:
        BankError: the file's Features are broken, or are not those of its columns.
    """
    import datasets

    try:
        # left to itself, datasets would pickle all of the table in memory for a fingerprint
        return datasets.Dataset(table, fingerprint=sha256_of_file(path))
    except (ValueError, TypeError, KeyError, AttributeError, pa.ArrowException) as error:
        raise BankError(f"{path}: its Features do not read back ({error}); write it again") from error


class Columned(Protocol):
    """What has columns in a scored table: a method, run here or imported."""

    @property
    def name(self) -> str:
        """The prefix of its columns."""

    @property
    def columns(self) -> Mapping[str, ColumnKind]:
        """Its columns and their types."""


def with_columns(
    items: datasets.Dataset, methods: Sequence[Columned], shards: Mapping[str, Sequence[pa.Table]]
) -> datasets.Dataset:
    """Return items and score columns as one Dataset with explicit Features."""
    import datasets

    kinds = {name: kind for method in methods for name, kind in method.columns.items()}
    if clash := [name for name in kinds if name in items.column_names]:
        raise ScoringError(f"items already have the column(s) {', '.join(clash)}; score the unscored items")
    score_features = datasets.Features({name: _feature(kind) for name, kind in kinds.items()})
    table: pa.Table = items.with_format("arrow")[:]
    for method in methods:
        part = pa.concat_tables(shards[method.name]).combine_chunks()
        for name in part.schema.names:
            table = table.append_column(name, part[name])
    features = datasets.Features({**items.features, **score_features})
    return datasets.Dataset(
        table.cast(features.arrow_schema),
        info=datasets.DatasetInfo(features=features),
        fingerprint=_fingerprint(items, table.select(list(kinds))),
    )


def _fingerprint(items: datasets.Dataset, scores: pa.Table) -> str:
    """Return what tells this table from others; left to itself, datasets would pickle all of it in memory for one."""
    digest = hashlib.sha256(items._fingerprint.encode())
    for name in scores.column_names:
        digest.update(name.encode())
        for chunk in scores[name].chunks:
            for buffer in chunk.buffers():
                digest.update(b"" if buffer is None else buffer)
    return digest.hexdigest()


def _feature(kind: str) -> Any:  # noqa: ANN401 - a datasets feature
    import datasets

    if kind.startswith("list"):
        return datasets.List(datasets.Value(kind[5:-1]))
    return datasets.Value(kind)
