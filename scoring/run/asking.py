"""What a model is asked about items: requests in common go to it once, and what it writes comes last."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from pairbank.arrays import FloatArray
from pairbank.errors import ScoringError
from pairbank.scoring.api.method import Answered, Method, WritingMethod, answered
from pairbank.scoring.api.model import Divisible, Noting, OverLength, Scorer, Stepwise, ended
from pairbank.scoring.api.requests import EncodedRequest, Request, Share
from pairbank.scoring.methods.generated import generated_records
from pairbank.scoring.run.store import schema_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    reader: Scorer
    writer: Scorer
    """Writes answers: the model itself, where the reader is one made around it."""
    over_length: OverLength

    def computed(self, rows: Sequence[Mapping[str, Any]], methods: Sequence[Method]) -> dict[str, pa.Table]:
        return ended(self.steps(rows, methods, lambda _share: None))

    def steps(
        self, rows: Sequence[Mapping[str, Any]], methods: Sequence[Method], on_progress: Callable[[float], None]
    ) -> Generator[None, None, dict[str, pa.Table]]:
        """Return each method's columns: first those that read probabilities, in one plan, then those that write."""
        writing = [method for method in methods if isinstance(method, WritingMethod)]
        reading = [method for method in methods if not isinstance(method, WritingMethod)]
        asked = self.asked(rows, reading)
        requests, n_done = asked.requests, 0

        def on_requests(n_requests: int) -> None:
            nonlocal n_done
            n_done += n_requests
            on_progress(n_done / len(requests) * len(reading) / len(methods))

        logprobs: Sequence[FloatArray] = []
        if requests and not writing and isinstance(self.reader, Stepwise):
            logprobs = yield from self.reader.logprob_steps(requests, progress=on_requests)
        elif requests:
            logprobs = self.reader.token_logprobs(requests, progress=on_requests)
        if isinstance(self.reader, Noting):
            noted = [replace(e, flags=(*e.flags, *self.reader.flags_of(e))) for e in asked.encoded]
            asked = replace(asked, encoded=noted)
        tables = {method.name: table for method, table in zip(reading, asked.tables(logprobs), strict=True)}
        for n_before, method in enumerate(writing, start=len(reading)):

            def on_share(share: float, n_before: int = n_before) -> None:
                on_progress((n_before + share) / len(methods))

            records = generated_records(method, rows, self.writer, over_length=self.over_length, on_progress=on_share)
            results = [record or method.unasked(row) for record, row in zip(records, rows, strict=True)]
            tables[method.name] = pa.Table.from_pylist(results, schema=schema_of(method))
        return tables

    def share_of_values(self, asked: UnitRequests, share: Share) -> FloatArray:
        """Return the answers that a share of the forward passes gives, one after the other; NaN for all others."""
        if isinstance(self.reader, Divisible) and asked.requests:
            return np.concatenate(self.reader.share_of_logprobs(asked.requests, share))
        return np.full(sum(request.n_values for request in asked.requests), np.nan)

    def asked(self, rows: Sequence[Mapping[str, Any]], methods: Sequence[Method]) -> UnitRequests:
        """Return what these methods, none of which lets the model write, ask about these items."""
        per_method = [
            [method.requests(row, self.reader) if method.applies_to(row) else [] for row in rows] for method in methods
        ]
        requests = [r for per_row in per_method for of_row in per_row for r in of_row]
        places: dict[Request, int] = {}
        where = [places.setdefault(request, len(places)) for request in requests]
        distinct = list(places)
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
        return [e for e, ok in zip(self.encoded, self.fits, strict=True) if ok]

    def tables_of(self, values_nats: FloatArray) -> Iterator[pa.Table]:
        """Yield each method's columns, given the answers one after the other."""
        ends = np.cumsum([request.n_values for request in self.requests])
        return self.tables(np.split(values_nats, ends[:-1]) if len(ends) else [])

    def tables(self, logprobs_nats: Sequence[FloatArray]) -> Iterator[pa.Table]:
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
