"""What a call of `score` asks of a model about some items: what of it is stored, what is missing, and computing that.

In: items, a description of a model, `ScoreOptions`. Out: shards, one per unit. Only `compute` needs the model itself;
where that lives in other processes (`Workers`; `ray_workers` is one), it hands out jobs and stores what comes back. A
`Recipe` says what a run does to items as plain values, so that any process that has the model can do a part of it.
"""

from __future__ import annotations

import functools
import gc
import math
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, runtime_checkable

from pairbank.builders.schema.columns import COLUMNS
from pairbank.errors import ModelChangedError, ScoringError
from pairbank.files import cache_dir, cached_json, sha256_of_text, write_json
from pairbank.scoring.api.method import Method, WritingMethod
from pairbank.scoring.api.model import one_begun_ahead
from pairbank.scoring.api.names import MethodName
from pairbank.scoring.methods.prompted import Pool, Prompted
from pairbank.scoring.methods.registry import FAMILIES, MethodOptions, in_order, method_named
from pairbank.scoring.methods.unigrams import UnigramTables
from pairbank.scoring.prompts.prompt import primary
from pairbank.scoring.prompts.registry import prompts_of
from pairbank.scoring.run.asking import Run
from pairbank.scoring.run.effort import efforts
from pairbank.scoring.run.store import VERSIONS, Shard, StoredShards
from pairbank.scoring.scored import refuse_score_columns

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

    from pairbank.scoring.api.model import ModelInfo, OverLength, Scorer

T = TypeVar("T")
Progress = Callable[[float, int], None]
"""Called with (items done, items in all) after every forward pass; an item may be done in part, by its work."""


def notebook_bar(what: str) -> Progress:
    from tqdm.auto import tqdm

    bar = tqdm(desc=what, unit=" items")

    def on_progress(n_done: float, n_total: int) -> None:
        if bar.total is None:
            bar.reset(n_total)
        bar.update(n_done - bar.n)
        if n_done >= n_total:
            bar.close()

    return on_progress


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """What is asked of a model, and how; `pairbank.score` describes each."""

    methods: Sequence[str] = ("direct",)
    over_length: OverLength = "error"
    per_token: bool = False
    unigrams: UnigramTables | None = None
    probe_text: str | Path | None = None
    prompts: Sequence[str | Path] = ()
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """`ScoreOptions`, checked against the items; it can be sent to another process."""

    names: tuple[str, ...]
    """Of methods, in the order of tables."""
    over_length: OverLength = "error"
    options: MethodOptions = field(default_factory=MethodOptions)

    @classmethod
    def of(cls, items: datasets.Dataset, options: ScoreOptions) -> Self:
        if not options.methods:
            raise ScoringError("no method to score with; name at least one, as in methods=['direct']")
        asked = [MethodName.parsed(name).id for name in options.methods if name not in FAMILIES]
        prompts = prompts_of(options.prompts, asked=asked)
        names = in_order(options.methods, prompts)
        return cls(
            names=tuple(names),
            over_length=options.over_length,
            options=MethodOptions(
                per_token=options.per_token,
                seed=options.seed,
                pool=Pool(items.to_list()) if any(MethodName.parsed(name).n_shots for name in names) else None,
                prompts=prompts,
                unigrams=options.unigrams,
                probe_text=options.probe_text,
                languages=tuple(sorted(set(items["language"][:]))),
            ),
        )

    def methods(self, model: Scorer | None) -> list[Method]:
        options = replace(self.options, scorer=model)
        return [method_named(name, options=options) for name in self.names]

    def run(self, model: Scorer, methods: Sequence[Method]) -> Run:
        reader = functools.reduce(lambda reader, method: method.reader(reader), methods, model)
        return Run(reader=reader, writer=model, over_length=self.over_length)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A unit of work, the same for every process: what its numbers are depends on nothing but the unit."""

    number: int
    start: int
    stop: int
    """One past the last item."""
    methods: tuple[Method, ...]

    @property
    def n_items(self) -> int:
        return self.stop - self.start


def units_of(n_items: int, methods: Sequence[Method]) -> list[Unit]:
    """Return the units of a run: prompts share instructions, so methods of one shard size go together."""
    results: list[Unit] = []
    for size in sorted({method.shard_items for method in methods}, reverse=True):
        together = tuple(method for method in methods if method.shard_items == size)
        for start in range(0, n_items, size):
            results.append(Unit(number=len(results), start=start, stop=min(start + size, n_items), methods=together))
    return results


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    number: int
    """From 1."""
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def chosen(self, units: Iterable[T], *, n_before: int = 0) -> list[T]:
        """Return this part's units: every n-th one, so that parts are alike in work.

        >>> Part(number=2, of=3).chosen("abcdefg"), Part(number=2, of=3).chosen("abcdefg", n_before=1)
        (['b', 'e'], ['a', 'd', 'g'])
        """
        return [unit for place, unit in enumerate(units, n_before) if place % self.of == self.number - 1]


def part_named(text: str) -> Part:
    result = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text.strip())
    if result is None or not 1 <= int(result[1]) <= int(result[2]):
        raise ScoringError(f"part {text!r}; expected I/N with I from 1 to N, as in 2/8")
    return Part(number=int(result[1]), of=int(result[2]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
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


class Work:
    def __init__(self, items: datasets.Dataset, info: ModelInfo, options: ScoreOptions, model: Scorer | None) -> None:
        """Check items and options; without a model its stored scores are found, but for `without_model` methods."""
        if missing := [c.name for c in COLUMNS if c.name not in items.column_names]:
            raise ScoringError(f"items lack the column(s) {', '.join(missing)}; get them from pairbank.load_corpus")
        if not len(items):
            raise ScoringError("no items to score; expected at least one row")
        corpora = sorted(set(items["corpus"][:]))
        if len(corpora) > 1:
            raise ScoringError(f"items of {len(corpora)} corpora ({', '.join(corpora)}); score one corpus at a time")
        self.items, self.info, self.model = items, info, model
        self.recipe = Recipe.of(items, options)
        self.methods = self.recipe.methods(model)
        refuse_score_columns(items, self.methods)  # before hours of scoring, not after
        self.units = units_of(len(items), self.methods)
        self.store = StoredShards(model_key=sha256_of_text(info.key, options.over_length))

    def stored(self) -> Iterator[Shard]:
        return (self._stored(unit) for unit in self.units)

    def compute(self, on_progress: Progress | None, units: Sequence[Unit] | None = None) -> Iterator[Shard]:
        """Yield the shard of each unit, from the store or scored now and stored."""
        if self.model is None:
            raise ScoringError(f"{self.info.name}: the model is needed to score; load it")
        chosen = self.units if units is None else units
        self.rendered()
        run = self.recipe.run(self.model, self.methods)
        if isinstance(self.model, Workers):
            return self._shared_out(self.model, chosen, on_progress)
        return self._computed(run, chosen, on_progress)

    def rendered(self) -> list[dict[str, str]]:
        """Return each prompt as the model reads it, from the store or rendered now; without both, none."""
        results: list[dict[str, str]] = []
        for method in self.methods:
            if isinstance(method, Prompted):
                tags = [tag for tag in self.recipe.options.languages or () if primary(tag) in method.prompt.languages]
                key = sha256_of_text(self.store.model_key, method.name, method.definition["sha256"], VERSIONS, *tags)
                path = cache_dir() / "rendered" / key[:2] / f"{key}.json"
                if (prompts := cached_json(path)) is None and self.model is not None:
                    prompts = [prompt for tag in tags for prompt in method.rendered(tag, self.model)]
                    write_json(path, prompts)
                results += prompts or []
        return results

    def _stored(self, unit: Unit) -> Shard:
        return self.store.find(self.items.select(range(unit.start, unit.stop)).to_list(), unit.methods)

    def _computed(self, run: Run, units: Sequence[Unit], on_progress: Progress | None) -> Iterator[Shard]:
        on_shares = self._on_shares(run, units, on_progress)

        def steps(unit: Unit, on_share: Callable[[float], None]) -> Generator[None, None, Shard]:
            shard = self._stored(unit)
            if missing := shard.missing:
                try:
                    self.store.keep(shard, (yield from run.steps(shard.rows, missing, on_share)))
                except ModelChangedError as error:
                    ids = [str(row.get("item_id", "?")) for row in shard.rows]
                    names = ", ".join(method.name for method in missing)
                    raise ModelChangedError(f"items {ids[0]} to {ids[-1]} ({names}): {error}") from error
            on_share(1.0)
            return shard

        gc.freeze()  # requests are many small objects: a fifth of the time would go into looking through all others
        try:
            yield from one_begun_ahead(map(steps, units, on_shares))
        finally:
            gc.unfreeze()

    def _on_shares(
        self, run: Run, units: Sequence[Unit], on_progress: Progress | None
    ) -> list[Callable[[float], None]]:
        """Return for each unit what is told of the share of it that is done; units differ in work."""
        if on_progress is None:
            return [lambda _share: None] * len(units)
        n_items, done = self._n_items(units), [0.0] * len(units)
        work = efforts(units, self.items.__getitem__, len(self.items), run.reader)
        per_item = n_items / sum(work) if work else 0.0

        def on_share(share: float, number: int) -> None:
            done[number] = share * work[number] * per_item
            on_progress(round(math.fsum(done), 6), n_items)

        return [functools.partial(on_share, number=number) for number in range(len(units))]

    def _shared_out(self, workers: Workers, units: Sequence[Unit], on_progress: Progress | None) -> Iterator[Shard]:
        shards, n_items = {unit.number: self._stored(unit) for unit in units}, self._n_items(units)
        jobs = [
            Job(
                unit=number,
                rows=shard.rows,
                names=tuple(method.name for method in shard.missing),
                is_divisible=not any(isinstance(method, WritingMethod) for method in shard.missing),
            )
            for number, shard in shards.items()
            if shard.missing
        ]

        def on_share(share: float) -> None:
            if on_progress is not None:
                on_progress(round(share * n_items, 6), n_items)

        if not jobs:
            on_share(1.0)
        for job, tables in workers.carried_out(jobs, self.recipe, on_share):
            self.store.keep(shards[job.unit], tables)
        yield from shards.values()

    def _n_items(self, units: Sequence[Unit]) -> int:
        return round(sum(unit.n_items * len(unit.methods) for unit in units) / len(self.methods))
