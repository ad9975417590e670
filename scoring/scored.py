"""`Scored`: a table of items with the columns of methods, and its signature; to a parquet file and back."""

from __future__ import annotations

import functools
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pairbank.errors import BankError, ScoringError
from pairbank.files import n_rows_of, read_parquet, sha256_of_file
from pairbank.scoring.api.layout import SIDES, MethodLayout, ScoreColumns
from pairbank.scoring.api.names import DIRECT
from pairbank.scoring.api.requests import token_spans
from pairbank.scoring.signature import (
    COPIES,
    METADATA_KEY,
    RenderedPrompt,
    prompts_of_table,
    signature_problems,
    write_scored,
)

if TYPE_CHECKING:
    import datasets
    import pandas as pd
    from matplotlib.figure import Figure

    from pairbank.scoring.api.method import Columned


MOST_SHOWN = 8
MODEL = "model"
"""The column that says in each row of a scored table which model it is of: tables may be put under each other."""
_MOST_FEATURES = 64
SMALL_BYTES = 2**20
"""A file up to this size is read once, whole, and not a column at a time."""
_FEATURES: dict[tuple[bytes, bytes], datasets.Features] = {}
"""Features that were read back, by the schema and the metadata that they are made of: those of a corpus's tables."""

NOT_IMPORTED = "not_imported"
"""Counted with the flags in a signature: items of which an imported table has no number of the method."""


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A scored corpus: the items with the methods' columns, and the signature that every number carries.

    >>> import pairbank
    >>> scored = pairbank.score([("The dogs bark.", "The dogs barks.")], "fake:a")
    >>> scored.model, scored.methods, len(scored.to_pandas())
    ('a', ('direct',), 1)
    """

    table: pa.Table
    """Its schema has the Features of a Dataset."""
    signature: Mapping[str, Any]

    @staticmethod
    def of(dataset: datasets.Dataset, signature: Mapping[str, Any]) -> Scored:
        """Return the scored corpus of a Dataset."""
        table: pa.Table = dataset.with_format("arrow")[:]
        return Scored(table=table, signature=signature)

    @functools.cached_property
    def dataset(self) -> datasets.Dataset:
        """The table as a Dataset with its Features."""
        import datasets

        digest = hashlib.sha256(str(self.table.schema).encode())
        for chunk in (chunk for column in self.table.columns for chunk in column.chunks):
            digest.update(f"{chunk.offset} {len(chunk)}".encode())
            for buffer in chunk.buffers():
                digest.update(b"" if buffer is None else buffer)
        # left to itself, datasets would pickle all of the table in memory for a fingerprint
        return datasets.Dataset(self.table, fingerprint=digest.hexdigest())

    def __len__(self) -> int:
        n_rows: int = self.table.num_rows
        return n_rows

    def __getitem__(self, key: int | str) -> Any:  # noqa: ANN401 - as a Dataset does
        return self.dataset[key]

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
        return list(self.table.column_names)

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Return some columns as an Arrow table."""
        return self.table.select(list(columns))

    @property
    def features(self) -> datasets.Features:
        """Types of the columns."""
        import datasets

        return datasets.Features.from_arrow_schema(self.table.schema)

    def select_columns(self, columns: Sequence[str]) -> datasets.Dataset:
        """Return some columns as a Dataset with their Features."""
        return self.dataset.select_columns(list(columns))

    @property
    def is_stored(self) -> bool:
        """Whether its rows stay in a file until they are read."""
        return False

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
    def methods_with_scores(self) -> tuple[str, ...]:
        """The methods that have a number for some item."""
        names, columns = {*self.column_names}, {}
        for method, c in ((method, ScoreColumns(method)) for method in self.methods):
            columns[method] = [name for name in (c.good, c.delta, c.by_region) if name in names]
        table = self.arrow([name for of_method in columns.values() for name in of_method])
        has_number = {name for name in table.column_names if table.column(name).null_count < len(self)}
        return tuple(method for method, of_method in columns.items() if not has_number.isdisjoint(of_method))

    @property
    def layouts(self) -> list[dict[str, Any]]:
        """How each method's log-probabilities are laid out."""
        return [definition["layout"] for definition in self.signature["methods"].values()]

    @property
    def prompts(self) -> tuple[RenderedPrompt, ...]:
        """Each prompt as the model reads it, special tokens included; none of a table that is imported or older."""
        return prompts_of_table(self.arrow(()), f"{self.corpus} by {self.model}")

    def to_pandas(self) -> pd.DataFrame:
        """Return the table as a DataFrame."""
        frame: pd.DataFrame = self.table.to_pandas()
        return frame

    def tokens(self) -> pd.DataFrame:
        """Return one row per token that `direct` scored.

        The columns are item_id, side, token_number, token, start, end, logprob_nats, rank.
        `start` and `end` are characters of the side. White space belongs to the token that follows it; tokens that
        are bytes of one character share it. `rank` is 1 for the most probable token; null where it was not read
        (masked models, servers).

        Raises:
            ScoringError: scored without `per_token`, by an earlier version or an encoder-decoder, or texts left out.
        """
        import pandas as pd

        c, rows = ScoreColumns(DIRECT), []
        columns = ["item_id", *(f"target_{side}" for side in SIDES), *map(c.tokens, SIDES), *map(c.offsets, SIDES)]
        if missing := [name for name in columns if name not in self.column_names]:
            raise ScoringError(
                f"{self.corpus} by {self.model}: no tokens, for the table has no {', '.join(missing)}; score with "
                "per_token=True (--per-token)"
            )
        columns += [name for name in map(c.ranks, SIDES) if name in self.column_names]
        for row in self.arrow(columns).to_pylist():
            for side in SIDES:
                spans, text = token_spans(row[c.offsets(side)] or ()), row[f"target_{side}"]
                values = row[c.tokens(side)] or ()
                ranks = row.get(c.ranks(side)) or [None] * len(values)
                for number, ((start, end), value, rank) in enumerate(zip(spans, values, ranks, strict=False), 1):
                    rows.append((row["item_id"], side, number, text[start:end], start, end, value, rank))
        if not rows:
            raise ScoringError(f"{self.corpus} by {self.model}: no token has a place in its text (encoder-decoders)")
        names = ["item_id", "side", "token_number", "token", "start", "end", "logprob_nats", "rank"]
        return pd.DataFrame(rows, columns=names).astype({"rank": "Int32"})

    def ratings(self) -> pd.DataFrame:
        """Return one row per sampled answer, as a table of individual ratings: the model as a rater.

        The columns are those of a table of ratings (item_id, side, rater, value, scale), then model and method. A
        rater is a draw; under several presentations of a side, each has raters of its own.

        Raises:
            ScoringError: no method with sampled answers.
        """
        import pandas as pd

        sampled = [layout for layout in map(MethodLayout.from_dict, self.layouts) if layout.samples]
        if not sampled:
            raise ScoringError(
                f"{self.corpus} by {self.model}: no sampled answers; score with --samples N (a method NAME@Nsamples)"
            )
        ids, frames = self.arrow(["item_id"])["item_id"].to_pylist(), []
        for layout in sampled:
            place: dict[str, int] = dict.fromkeys(SIDES, 0)
            column = ScoreColumns(layout.method).draws
            draws = self.arrow([column])[column].to_pylist()
            for number, side in enumerate(layout.sides_shown):
                at = slice(number * layout.samples, (number + 1) * layout.samples)
                rows = [
                    (item_id, side, place[side] * layout.samples + nth, value)
                    for item_id, values in zip(ids, draws, strict=True)
                    for nth, value in enumerate((values or ())[at])
                    if value == value  # noqa: PLR0124 - NaN
                ]
                place[side] += 1
                frame = pd.DataFrame(rows, columns=["item_id", "side", "rater", "value"])
                frames.append(frame.assign(scale=layout.scale_of_draws, model=self.model, method=layout.method))
        return pd.concat(frames, ignore_index=True).astype({"rater": "int32", "value": "float64"})

    def plot(self) -> Figure:
        """Return the first figure of a report of this table, for a notebook or `savefig`."""
        from pairbank import report

        figures = report(self).figures
        if not figures:
            raise ScoringError(f"{self.corpus} by {self.model}: nothing to draw; look at report(scored).summary")
        return figures[0].draw()

    def __repr__(self) -> str:
        shown = self.methods if len(self.methods) <= MOST_SHOWN else (*self.methods[:MOST_SHOWN], "…")
        return (
            f"<Scored: {len(self):,} items of {self.corpus} by {self.model}\n"
            f"  {len(self.methods)} method{'s' * (len(self.methods) != 1)}: {', '.join(shown)}\n"
            f"  {len(self.column_names)} columns; .to_pandas(), .plot(), .dataset, .signature, .save(PATH)>"
        )

    def _repr_html_(self) -> str:
        text = f"{len(self):,} items of {self.corpus}, scored with {self.model}: {', '.join(self.methods)}"
        few = self.table.slice(0, 5).to_pandas()
        return f"<p>{html.escape(text)}</p>{few.to_html(index=False)}"

    def save(self, path: str | Path, *, bom: bool = False) -> Path:
        """Write one file, of the kind that its suffix names (`pairbank.scoring.signature`); return its path.

        Args:
            path: `.parquet` carries the signature, and is what `read_scored` reads; `.csv`, `.tsv`, `.jsonl` and
                `.xlsx` are copies for other programs.
            bom: begin a CSV or TSV file with a byte-order mark, for Excel.

        Raises:
            OutputError: another suffix, or a place that cannot be written to.
        """
        write_scored(Path(path), self.table, self.signature, bom=bom)
        return Path(path)


def read_scored(path: str | Path) -> Scored:
    """Read what `Scored.save` wrote; a table of before there was a column `model` gets it.

    Raises:
        BankError: the file is not a scored table of pairbank's.

    >>> import pairbank, tempfile
    >>> scored = pairbank.score([("The dogs bark.", "The dogs barks.")], "fake:a")
    >>> read_scored(scored.save(Path(tempfile.mkdtemp()) / "a.parquet")).methods
    ('direct',)
    """
    path = Path(path)
    signature = _signature_of(path, table := _parquet(path))
    features = _features(path, table)
    if MODEL not in table.column_names or table[MODEL].unique().to_pylist() != [signature["model"]["name"]]:
        table = _with_model(table, features, signature)
    return Scored(table=table, signature=signature)


class ScoredFile(Scored):
    """A scored table that stays in its file: columns are read when they are asked for, so that many tables fit."""

    path: Path
    _names: list[str]
    _state: tuple[int, ...]

    def __init__(self, path: Path, signature: Mapping[str, Any], names: list[str]) -> None:
        for name, value in {"path": path, "signature": signature, "_names": names, "_state": _state_of(path)}.items():
            object.__setattr__(self, name, value)

    @property
    def is_stored(self) -> bool:
        return True

    def __reduce__(self) -> tuple[type[ScoredFile], tuple[Path, Mapping[str, Any], list[str]]]:
        """Send another process where the table is, not its rows."""
        return ScoredFile, (self.path, self.signature, self._names)

    def __len__(self) -> int:
        self._check()
        return n_rows_of(self.path)

    @property
    def table(self) -> pa.Table:
        self._check()
        return _kept(self.path, self._state).table

    @property
    def dataset(self) -> datasets.Dataset:
        self._check()
        return _kept(self.path, self._state).dataset

    @property
    def column_names(self) -> list[str]:
        return list(self._names)

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        self._check()
        if self._state[1] > SMALL_BYTES or not columns:
            return read_parquet(self.path, columns)
        return _small(self.path, self._state).select([name for name in columns if name in self._names])

    @property
    def features(self) -> datasets.Features:
        return _features(self.path, self.arrow(()))

    def select_columns(self, columns: Sequence[str]) -> datasets.Dataset:
        return dataset_of(self.arrow(columns), self.path)

    def save(self, path: str | Path, *, bom: bool = False) -> Path:
        self._check()
        return read_scored(self.path).save(path, bom=bom)  # its rows are not kept afterwards

    def _check(self) -> None:
        if _state_of(self.path) != self._state:
            raise BankError(f"{self.path}: it was written anew while it was read; run the command again")


def open_scored(path: str | Path) -> Scored:
    """Return what `read_scored` reads, its rows left in the file until they are asked for."""
    path = Path(path)
    empty = _parquet(path, columns=())
    signature = _signature_of(path, empty)
    _features(path, empty)
    if MODEL in empty.column_names:
        table = ScoredFile(path, signature, empty.column_names)
        if table.arrow([MODEL])[MODEL].unique().to_pylist() == [signature["model"]["name"]]:
            return table
    return read_scored(path)


@functools.lru_cache(maxsize=4)
def _small(path: Path, _state: tuple[int, ...]) -> pa.Table:
    return read_parquet(path)


def _features(path: Path, empty: pa.Table) -> datasets.Features:
    metadata = (empty.schema.metadata or {}).get(b"huggingface", b"")
    key = (empty.schema.remove_metadata().serialize().to_pybytes(), metadata)
    if key not in _FEATURES:
        while len(_FEATURES) >= _MOST_FEATURES:
            del _FEATURES[next(iter(_FEATURES))]
        _FEATURES[key] = dataset_of(empty, path).features
    return _FEATURES[key]


@functools.lru_cache(maxsize=2)
def _kept(path: Path, _state: tuple[int, ...]) -> Scored:
    return read_scored(path)


def _state_of(path: Path) -> tuple[int, ...]:
    try:
        result = path.stat()
    except OSError as error:
        raise BankError(f"{path}: cannot be read ({error.strerror})") from error
    return (result.st_ino, result.st_size, result.st_mtime_ns)


def _parquet(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    if path.suffix.lower() in COPIES and path.is_file():
        raise BankError(
            f"{path}: not a scored table. Score it first: pairbank score {path.name} --out {path.stem}.parquet. If "
            "this is a copy that `pairbank score` wrote, give the parquet file: the same command with --out "
            "NAME.parquet writes it and computes nothing again"
        )
    return read_parquet(path, columns)


def _signature_of(path: Path, table: pa.Table) -> Mapping[str, Any]:
    metadata = table.schema.metadata or {}
    if METADATA_KEY not in metadata:
        raise BankError(f"{path}: carries no signature; expected a file that `pairbank score` wrote")
    try:
        signature = json.loads(metadata[METADATA_KEY])
    except (ValueError, RecursionError) as error:
        raise BankError(f"{path}: its signature is not JSON ({error}); score again") from error
    if problems := signature_problems(signature):
        raise BankError(f"{path}: its signature is none of pairbank's ({'; '.join(problems[:3])}); score again")
    results: Mapping[str, Any] = signature
    return results


def dataset_of(table: pa.Table, path: Path) -> datasets.Dataset:
    """Return what was read from a parquet file as a Dataset with the Features it was written with."""
    import datasets

    try:
        # left to itself, datasets would pickle all of the table in memory for a fingerprint
        return datasets.Dataset(table, fingerprint=sha256_of_file(path))
    except (ValueError, TypeError, KeyError, AttributeError, pa.ArrowException) as error:
        raise BankError(f"{path}: its Features do not read back ({error}); write it again") from error


def _with_model(table: pa.Table, features: datasets.Features, signature: Mapping[str, Any]) -> pa.Table:
    """Return a table of before with the column of the model where new ones have it; one of the items' steps aside."""
    import datasets

    names = [f"{MODEL}_source" if name == MODEL else name for name in table.column_names]
    scores = {name for method in signature["methods"].values() for name in method.get("columns", ())}
    place = next((i for i, name in enumerate(names) if name in scores), len(names))
    models = pa.array([signature["model"]["name"]] * len(table), pa.string())
    pairs = list(zip(names, features.values(), strict=True))
    features = datasets.Features(dict([*pairs[:place], (MODEL, datasets.Value("string")), *pairs[place:]]))
    table = table.rename_columns(names).add_column(place, MODEL, models)
    return table.replace_schema_metadata(None).cast(features.arrow_schema)


def counts(column: pa.ChunkedArray) -> dict[str, int]:
    """Return how often each value occurs."""
    return {row["values"]: row["counts"] for row in pc.value_counts(column).to_pylist()}


def n_by_flag(flags: pa.ChunkedArray) -> dict[str, int]:
    """Return how many items have each flag of a method, and of how many there is no score."""
    return counts(pc.list_flatten(flags)) | ({NOT_IMPORTED: flags.null_count} if flags.null_count else {})


def refuse_score_columns(items: datasets.Dataset, methods: Sequence[Columned]) -> None:
    """Raise an error if items have columns that methods write their scores to."""
    for method in methods:
        if clash := [name for name in method.columns if name in items.column_names]:
            raise ScoringError(
                f"the items have the column(s) {', '.join(clash)}, which {method.name} writes its scores to: score the "
                f"unscored items, or rename the columns of your file (own_{clash[0]}, for example)"
            )


def with_columns(
    items: datasets.Dataset, methods: Sequence[Columned], shards: Mapping[str, Sequence[pa.Table]], *, model: str
) -> pa.Table:
    import datasets

    refuse_score_columns(items, methods)
    if MODEL in items.column_names:  # of a model whose scores were taken out of the items
        if len(names := items.unique(MODEL)) > 1:
            raise ScoringError(
                f"items already have the column {MODEL}, of {len(names)} values; it would say who scored a row: rename "
                f"yours, or drop it with remove_columns({MODEL!r})"
            )
        items = items.remove_columns([MODEL])
    kinds = {name: kind for method in methods for name, kind in method.columns.items()}
    added = {MODEL: datasets.Value("string")} | {name: feature_of(kind) for name, kind in kinds.items()}
    table: pa.Table = items.with_format("arrow")[:]
    table = table.append_column(MODEL, pa.array([model] * len(table), pa.string()))
    for method in methods:
        part = pa.concat_tables(shards[method.name]).combine_chunks()
        for name in part.schema.names:
            table = table.append_column(name, part[name])
    return table.cast(datasets.Features({**items.features, **added}).arrow_schema)


def feature_of(kind: str) -> Any:  # noqa: ANN401 - a datasets feature
    """Return the feature of a column's type, as `list<float64>`."""
    import datasets

    if kind.startswith("list"):
        return datasets.List(datasets.Value(kind[5:-1]))
    return datasets.Value(kind)
