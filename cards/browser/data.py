"""The bank's tables, read lazily: in, a source; out, one column or one row at a time, and the summary.

A column is read from parquet when it is first asked for and kept while there is room. Reading needs neither
datasets nor torch.
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pairbank.builders.schema.columns import ONE_SIDED_TASKS
from pairbank.builders.schema.flags import IDENTICAL_SIDES
from pairbank.cards.bank.layout import SUMMARY, items_path, scores_path
from pairbank.cards.browser.source import Source, manifest_of, open_source
from pairbank.errors import BankError, unknown_name
from pairbank.scoring.api.layout import MethodLayout, ScoreColumns
from pairbank.stats.estimates.metrics import HUMAN

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from pairbank.arrays import BoolArray, FloatArray

CACHE_BYTES = 768 * 2**20
Made = TypeVar("Made")


class Cache:
    """Values by key, the least recently used thrown away when they pass a number of bytes. Safe in threads."""

    def __init__(self, max_bytes: int = CACHE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._n_bytes = 0
        self._kept: OrderedDict[object, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: object, make: Callable[[], Made], size: Callable[[Made], int]) -> Made:
        """Return the value of a key, made now if it isn't kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                kept: Made = self._kept[key][0]
                return kept
        made = make()
        with self._lock:
            if key not in self._kept:
                self._kept[key] = (made, size(made))
                self._n_bytes += self._kept[key][1]
            while self._n_bytes > self._max_bytes and len(self._kept) > 1:
                self._n_bytes -= self._kept.popitem(last=False)[1][1]
        return made

    def __contains__(self, key: object) -> bool:
        with self._lock:
            return key in self._kept


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodFacts:
    """One method of a scored table."""

    name: str
    layout: MethodLayout
    paper: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One parquet file of items, with or without scores."""

    path: Path
    corpus: str
    model: str
    """The model's name; empty for a table without scores."""
    signature: Mapping[str, Any]
    """Of the scores; empty without."""
    cache: Cache
    names: tuple[str, ...] = field(init=False)
    n_rows: int = field(init=False)

    def __post_init__(self) -> None:
        """Read the file's footer.

        Raises:
            BankError: it is no parquet file.
        """
        try:
            footer = pq.read_metadata(self.path)
        except (pa.ArrowException, OSError) as error:
            raise BankError(f"{self.path}: not a readable parquet file ({error}); write the bank again") from error
        object.__setattr__(self, "names", tuple(footer.schema.to_arrow_schema().names))
        object.__setattr__(self, "n_rows", footer.num_rows)

    @property
    def methods(self) -> list[MethodFacts]:
        """The methods whose difference the table holds, in the order of its columns (a manifest sorts its keys)."""
        scored = self.signature.get("methods", {})
        deltas = {name: ScoreColumns(name).delta for name in scored}
        present = {name: self.names.index(delta) for name, delta in deltas.items() if delta in self.names}
        return [
            MethodFacts(
                name=name,
                layout=MethodLayout.from_dict(scored[name]["layout"]),
                paper=scored[name].get("paper", ""),
                sha256=scored[name].get("sha256", ""),
            )
            for name in sorted(present, key=present.__getitem__)
        ]

    def column(self, name: str) -> pa.Array:
        """Return one column."""
        return self.cache.get((self.path, name), functools.partial(self._read, name), lambda a: int(a.nbytes))

    def _read(self, name: str) -> pa.Array:
        return pq.read_table(self.path, columns=[name])[name].combine_chunks()

    def load(self, names: Sequence[str]) -> None:
        """Read several columns at once, which takes a quarter of the time that one by one does."""
        missing = [name for name in names if name in self.names and (self.path, name) not in self.cache]
        if missing:
            table = pq.read_table(self.path, columns=missing)
            for name in missing:
                self.cache.get((self.path, name), table[name].combine_chunks, lambda a: int(a.nbytes))

    def numbers(self, name: str) -> FloatArray:
        """Return a column of numbers as float64, NaN for null; all NaN where the table has no such column."""
        if name not in self.names:
            return np.full(self.n_rows, np.nan)
        key = (self.path, name, "numbers")
        return self.cache.get(key, lambda: _floats(self.column(name)), lambda a: int(a.nbytes))

    def delta(self, method: str) -> FloatArray:
        """Return good - bad by a method, or by people (`human`) on their scale; shape (rows,).

        Of one-sided items, where there is no difference, the score of the one side.
        """
        if method == HUMAN:
            return np.asarray(self.numbers("human_good") - self.numbers("human_bad"))
        columns = ScoreColumns(method)
        return self.numbers(columns.good if self.is_one_sided() else columns.delta)

    def is_one_sided(self) -> bool:
        """Return whether no item has a worse side (word prediction)."""
        if "task" not in self.names:
            return False
        return set(self.values_of("task")) <= set(ONE_SIDED_TASKS)

    def unit(self, method: str) -> str:
        """Return the unit of a method's scores."""
        return next((facts.layout.unit_in_words for facts in self.methods if facts.name == method), "nats")

    def is_choice(self) -> BoolArray:
        """Return which rows are a choice between two different sides, shape (rows,)."""
        key = (self.path, "is choice")
        return self.cache.get(key, self._is_choice, lambda a: int(a.nbytes))

    def _is_choice(self) -> BoolArray:
        flagged = np.zeros(self.n_rows, dtype=np.bool_)
        if "flags" in self.names:
            flags = self.column("flags")
            identical = pc.equal(pc.list_flatten(flags), IDENTICAL_SIDES).to_numpy(zero_copy_only=False)
            flagged[pc.list_parent_indices(flags).to_numpy()[identical.astype(np.bool_)]] = True
        return ~flagged

    def values_of(self, name: str) -> list[str]:
        """Return the different values of a text column, sorted; none where the table has no such column."""
        if name not in self.names:
            return []
        key = (self.path, name, "values")
        make = functools.partial(_unique, self.column(name))
        return self.cache.get(key, make, lambda values: sum(map(len, values)))

    def position(self, item_id: str) -> int | None:
        """Return the row of an item."""
        found = int(pc.index(self.column("item_id"), item_id).as_py())
        return None if found < 0 else found

    def row(self, position: int) -> dict[str, Any]:
        """Return one row, all its columns; of a long table, only the part of the file that holds it is read."""
        with pq.ParquetFile(self.path) as file:
            if file.num_row_groups > 1:
                sizes = [file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)]
                ends = np.cumsum(sizes)
                group = int(np.searchsorted(ends, position, side="right"))
                found = file.read_row_group(group).slice(position - int(ends[group]) + sizes[group], 1)
                return dict(found.to_pylist()[0])
        self.load(self.names)
        return {name: self.column(name)[position].as_py() for name in self.names}

    def rows(self, positions: Sequence[int], names: Sequence[str]) -> list[dict[str, Any]]:
        """Return some columns of some rows; a column that the table lacks is None."""
        self.load(names)
        take = pa.array(positions, type=pa.int64())
        columns = {
            name: self.column(name).take(take).to_pylist() if name in self.names else [None] * len(positions)
            for name in names
        }
        return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


class Bank:
    """A bank that is being looked at."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.manifest = manifest_of(source)
        self.cache = Cache()
        self._tables: dict[tuple[str, str], Table] = {}

    @property
    def corpora(self) -> dict[str, Mapping[str, Any]]:
        """Facts of each corpus, those with scores first."""
        facts: Mapping[str, Mapping[str, Any]] = self.manifest["corpora"]
        scored = self.manifest["scores"]
        return {name: facts[name] for name in sorted(facts, key=lambda name: (not scored.get(name), name))}

    def models(self, corpus: str) -> dict[str, str]:
        """Return slug -> name of the models that scored a corpus."""
        scores: Mapping[str, Any] = self.manifest["scores"].get(corpus, {})
        return {slug: str(scores[slug]["model"]["name"]) for slug in sorted(scores)}

    def table(self, corpus: str, slug: str = "") -> Table:
        """Return a corpus's items (no slug), or with the scores of one model.

        Raises:
            UnknownNameError: the bank lacks the corpus or the model.
        """
        if corpus not in self.corpora:
            raise unknown_name("corpus", corpus, self.corpora)
        if slug and slug not in self.models(corpus):
            raise unknown_name("model", slug, self.models(corpus))
        if (corpus, slug) not in self._tables:
            path = scores_path(corpus, slug) if slug else items_path(corpus)
            self._tables[corpus, slug] = Table(
                path=self.source.path(path),
                corpus=corpus,
                model=self.models(corpus).get(slug, ""),
                signature=self.manifest["scores"][corpus][slug] if slug else {},
                cache=self.cache,
            )
        return self._tables[corpus, slug]

    @functools.cached_property
    def summary(self) -> pd.DataFrame:
        """Every estimate, as `write_bank` computed them; empty for a bank without scores."""
        import pandas as pd

        from pairbank.stats.scored_table.summary_row import DTYPES

        if not any(self.manifest["scores"].values()):
            return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in DTYPES.items()})
        frame: pd.DataFrame = pq.read_table(self.source.path(SUMMARY)).to_pandas()
        return frame


def open_bank(source: str, revision: str | None = None) -> Bank:
    """Return a bank for looking at.

    Args:
        source: a folder, or ORG/NAME on the Hub.
        revision: of the Hub's; None = the newest.

    Raises:
        BankError: there is no bank.
    """
    return Bank(open_source(source, revision))


def _floats(column: pa.Array) -> FloatArray:
    return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def _unique(column: pa.Array) -> list[str]:
    return sorted(str(value) for value in pc.unique(column).to_pylist() if value is not None)
