"""One shard of items through all methods: from the store where it is there, else asked of the model, each thing once.

In: rows and methods. Out: a table of columns a method. Requests that several methods, orders or items have in common
go to the model once; answers that the model writes come last.

What `score` needs of a model that lives in other processes: it hands out jobs, and gives back tables to store.

In: jobs. Out: tables of columns, in any order. `ray_workers` is one. A `Recipe` says what a run does to items as plain
values (names of methods and what they are given), so that any process that has the model can do a part of it.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from pairbank.errors import ModelChangedError, OutputError, ScoringError
from pairbank.files import sha256_of_text
from pairbank.scoring.api.method import Answered, Method, WritingMethod, answered
from pairbank.scoring.api.model import Divisible, Noting, Stepwise, ended
from pairbank.scoring.methods.generated import generated_records
from pairbank.scoring.methods.prompted import Pool
from pairbank.scoring.methods.registry import MethodOptions, method_named
from pairbank.scoring.methods.unigrams import UnigramTables
from pairbank.scoring.prompts.prompt import Prompt
from pairbank.scoring.run.store import (
    LEAST_PACKED,
    Packs,
    pack_group,
    read_shard,
    schema_of,
    shard_key,
    write_pack,
    write_shard,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from pairbank.arrays import FloatArray
    from pairbank.scoring.api.model import OverLength, Scorer
    from pairbank.scoring.api.requests import EncodedRequest, Request, Share


logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Run:
    """What all shards of a call of `score` have in common."""

    reader: Scorer
    """Answers requests."""
    writer: Scorer
    """Writes answers: the model itself, where the reader is one made around it."""
    model_key: str
    """Hash of the model's signature."""
    over_length: OverLength
    packs: dict[str, Packs] = field(default_factory=dict)
    """By method."""
    keys: dict[str, list[str]] = field(default_factory=dict)
    """Of the shards that `shard` gave, by method."""
    loose: set[str] = field(default_factory=set)
    """Keys of those of them that are files of their own."""

    def shard(
        self, rows: Sequence[Mapping[str, Any]], methods: Sequence[Method], on_progress: Callable[[float], None]
    ) -> dict[str, pa.Table]:
        """Return the methods' columns for these items: from the store, or scored now, all methods together."""
        return ended(self.shard_steps(rows, methods, on_progress))

    def shard_steps(
        self, rows: Sequence[Mapping[str, Any]], methods: Sequence[Method], on_progress: Callable[[float], None]
    ) -> Generator[None, None, dict[str, pa.Table]]:
        """Do what `shard` does in the steps of `Stepwise`; the numbers are stored at the end."""
        keys = {m.name: shard_key(self.model_key, m, rows) for m in methods}
        for name, key in keys.items():
            self.keys.setdefault(name, []).append(key)
        tables = {m.name: self._stored(m, keys[m.name], n_rows=len(rows)) for m in methods}
        missing = [m for m in methods if tables[m.name] is None]
        if not missing:
            return {name: table for name, table in tables.items() if table is not None}
        missing.sort(key=lambda m: isinstance(m, WritingMethod))
        try:
            tables_of = yield from self._computed(rows, missing, on_progress)
            for method, table in zip(missing, tables_of, strict=True):
                write_shard(keys[method.name], table)
                self.loose.add(keys[method.name])
                tables[method.name] = table
        except ModelChangedError as error:
            ids = [str(row.get("item_id", "?")) for row in rows]
            raise ModelChangedError(
                f"items {ids[0]} to {ids[-1]} ({', '.join(m.name for m in missing)}): {error}"
            ) from error
        return {name: table for name, table in tables.items() if table is not None}

    def missing(self, rows: Sequence[Mapping[str, Any]], methods: Sequence[Method]) -> list[Method]:
        """Return the methods whose numbers for these items are not stored."""
        return [m for m in methods if self._stored(m, shard_key(self.model_key, m, rows), n_rows=len(rows)) is None]

    def _stored(self, method: Method, key: str, *, n_rows: int) -> pa.Table | None:
        """Return a stored shard: a file of its own, or in a pack."""
        schema = schema_of(method)
        packs = self.packs.setdefault(method.name, Packs(pack_group(self.model_key, method)))
        if key in packs.tables and (table := packs.find(key, schema, n_rows=n_rows)) is not None:
            return table
        if (table := read_shard(key, schema, n_rows=n_rows)) is not None:
            self.loose.add(key)
            return table
        return packs.find(key, schema, n_rows=n_rows)

    def pack(self, tables: Mapping[str, Sequence[pa.Table]]) -> None:
        """Put the shards of a run that has ended into one file per method; if that fails, they stay as they are."""
        for name, shards in tables.items():
            keyed = dict(zip(self.keys[name], shards, strict=True))
            if len(keyed) >= LEAST_PACKED and not self.loose.isdisjoint(keyed):
                try:
                    write_pack(self.packs[name].group, keyed)
                except (OutputError, OSError) as error:
                    logger.info("stored scores of %s are not packed (%s)", name, error)

    def computed(self, rows: Sequence[Mapping[str, Any]], methods: Sequence[Method]) -> dict[str, pa.Table]:
        """Return the methods' columns for these items, scored now and not stored."""
        chosen = sorted(methods, key=lambda m: isinstance(m, WritingMethod))
        tables = ended(self._computed(rows, chosen, lambda _share: None))
        return {method.name: table for method, table in zip(chosen, tables, strict=True)}

    def share_of_values(self, asked: UnitRequests, share: Share) -> FloatArray:
        """Return the answers that a share of the forward passes gives, one after the other; NaN for all others."""
        if isinstance(self.reader, Divisible) and asked.requests:
            return np.concatenate(self.reader.share_of_logprobs(asked.requests, share))
        return np.full(sum(request.n_values for request in asked.requests), np.nan)

    def keep(
        self, rows: Sequence[Mapping[str, Any]], methods: Sequence[Method], tables: Mapping[str, pa.Table]
    ) -> None:
        """Store what another process computed."""
        for method in methods:
            if method.name in tables:
                write_shard(shard_key(self.model_key, method, rows), tables[method.name])

    def _computed(
        self, rows: Sequence[Mapping[str, Any]], methods: Sequence[Method], on_progress: Callable[[float], None]
    ) -> Generator[None, None, Iterator[pa.Table]]:
        """Return each method's columns: first those that read probabilities, in one plan, then those that write."""
        n_read = sum(not isinstance(m, WritingMethod) for m in methods)
        requested = self.asked(rows, methods[:n_read])
        on_share = self._on_share(requested.requests, lambda share: on_progress(share * n_read / len(methods)))
        logprobs: Sequence[FloatArray] = []
        if requested.requests and n_read == len(methods) and isinstance(self.reader, Stepwise):
            logprobs = yield from self.reader.logprob_steps(requested.requests, progress=on_share)
        elif requested.requests:
            logprobs = self.reader.token_logprobs(requested.requests, progress=on_share)
        return self._tables(rows, methods, self._noted(requested).tables(logprobs), on_progress)

    def _tables(
        self,
        rows: Sequence[Mapping[str, Any]],
        methods: Sequence[Method],
        read: Iterator[pa.Table],
        on_progress: Callable[[float], None],
    ) -> Iterator[pa.Table]:
        """Yield the columns of the methods that read, and then those of the methods that write, which do so now."""
        yield from read
        written = [m for m in methods if isinstance(m, WritingMethod)]
        n_read = len(methods) - len(written)
        for n_before, method in enumerate(written, start=n_read):

            def on_share(share: float, n_before: int = n_before) -> None:
                on_progress((n_before + share) / len(methods))

            records = generated_records(method, rows, self.writer, over_length=self.over_length, on_progress=on_share)
            results = [record or method.unasked(row) for record, row in zip(records, rows, strict=True)]
            yield pa.Table.from_pylist(results, schema=schema_of(method))

    def _noted(self, asked: UnitRequests) -> UnitRequests:
        """Return what was asked, with the flags that the answers brought."""
        reader = self.reader
        if not isinstance(reader, Noting):
            return asked
        return replace(asked, encoded=[replace(e, flags=(*e.flags, *reader.flags_of(e))) for e in asked.encoded])

    def asked(self, rows: Sequence[Mapping[str, Any]], methods: Sequence[Method]) -> UnitRequests:
        """Return what these methods, none of which lets the model write, ask about these items."""
        per_method = [
            [method.requests(row, self.reader) if method.applies_to(row) else [] for row in rows] for method in methods
        ]
        requests = [r for per_row in per_method for of_row in per_row for r in of_row]
        places: dict[Request, int] = {}
        where = [places.setdefault(replace(r, where=""), len(places)) for r in requests]
        first = dict(zip(reversed(where), reversed(requests), strict=True))
        distinct = [first[place] for place in range(len(places))]
        encoded = self.reader.encode(distinct) if distinct else []
        return UnitRequests(
            rows=rows,
            methods=methods,
            n_requests=[[len(of_row) for of_row in per_row] for per_row in per_method],
            places=where,
            encoded=encoded,
            fits=self._fits(distinct, encoded),
        )

    def _fits(self, requests: Sequence[Request], encoded: Sequence[EncodedRequest]) -> list[bool]:
        longest = self.reader.info.max_length
        fits = [longest is None or len(e.ids) - 1 <= longest for e in encoded]
        if self.over_length == "error" and not all(fits):
            first = fits.index(False)
            raise ScoringError(
                f"{requests[first].where}: {len(encoded[first].ids)} tokens, but {self.reader.info.name} takes "
                f"{longest}; shorten the item, use a model with a longer context, or ask for NaN "
                "(over_length='nan', --over-length nan)"
            )
        return fits

    def _on_share(
        self, requests: Sequence[EncodedRequest], on_progress: Callable[[float], None]
    ) -> Callable[[int], None]:
        """Return what is told of each number of requests that have been answered."""
        n_done = 0

        def finished(n_requests: int) -> None:
            nonlocal n_done
            n_done += n_requests
            on_progress(n_done / len(requests))

        return finished


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRequests:
    """What a unit asks of the model: equal requests of several methods, orders or items once."""

    rows: Sequence[Mapping[str, Any]]
    methods: Sequence[Method]
    n_requests: list[list[int]]
    """Of each method, about each item."""
    places: list[int]
    """Of each request, which of the encoded ones it is."""
    encoded: list[EncodedRequest]
    fits: list[bool]
    """Into the model's context."""

    @property
    def requests(self) -> list[EncodedRequest]:
        """Those that the model answers."""
        return [e for e, ok in zip(self.encoded, self.fits, strict=True) if ok]

    def tables_of(self, values_nats: FloatArray) -> Iterator[pa.Table]:
        """Yield each method's columns, given the answers one after the other."""
        ends = np.cumsum([request.n_values for request in self.requests])
        return self.tables(np.split(values_nats, ends[:-1]) if len(ends) else [])

    def tables(self, logprobs_nats: Sequence[FloatArray]) -> Iterator[pa.Table]:
        """Yield each method's columns, given the answers to `requests`."""
        scored = iter(logprobs_nats)
        distinct = [
            answered(e, next(scored)) if ok else Answered(request=e, logprobs_nats=None)
            for e, ok in zip(self.encoded, self.fits, strict=True)
        ]
        answers = iter([distinct[place] for place in self.places])
        for method, of_rows in zip(self.methods, self.n_requests, strict=True):
            records = [
                method.values([next(answers) for _ in range(n)], row) if n else method.unasked(row)
                for row, n in zip(self.rows, of_rows, strict=True)
            ]
            yield pa.Table.from_pylist(records, schema=schema_of(method))


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A unit of work as it is sent."""

    unit: int
    rows: Sequence[Mapping[str, Any]]
    names: tuple[str, ...]
    """Of the methods that are not stored yet."""
    is_divisible: bool
    """The model writes nothing for it, so that its forward passes can be shared out."""

    @property
    def work(self) -> int:
        """A guess of it, good enough to compare jobs by."""
        return len(self.rows) * len(self.names)


@runtime_checkable
class Workers(Protocol):
    """What a scorer has whose model is elsewhere."""

    def carried_out(
        self, jobs: Sequence[Job], recipe: Recipe, on_progress: Callable[[float], None]
    ) -> Iterator[tuple[Job, Mapping[str, pa.Table]]]:
        """Yield each job with its tables, by name of method, as they are done; tell what share of the work is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The arguments of `score`, checked, without items and model; it can be sent to another process."""

    names: tuple[str, ...]
    """Of methods, in the order of tables."""
    over_length: OverLength = "error"
    per_token: bool = False
    seed: int = 0
    pool: Pool | None = None
    prompts: Mapping[str, Prompt] = field(default_factory=dict)
    unigrams: UnigramTables | None = None
    languages: tuple[str, ...] = ()
    """Of the items, whose unigram counts alone are taken."""

    def methods(self, model: Scorer) -> list[Method]:
        """Return the methods, bound to a model where they need to be."""
        options = MethodOptions(
            per_token=self.per_token,
            seed=self.seed,
            pool=self.pool,
            prompts=self.prompts,
            scorer=model,
            unigrams=self.unigrams,
            languages=self.languages,
        )
        return [method_named(name, options=options) for name in self.names]

    def run(self, model: Scorer, methods: list[Method]) -> Run:
        """Return what scores shards of items by these methods."""
        return Run(
            reader=functools.reduce(lambda reader, method: method.reader(reader), methods, model),
            writer=model,
            model_key=sha256_of_text(model.info.key, self.over_length),
            over_length=self.over_length,
        )
