"""`score`: items and a model to the same rows with new columns, resumably, and their signature.

In: a Dataset in the shared schema, a scorer, names of methods. Out: `Scored`. What is asked of the model stands in
`methods`, what of it is in the store already in `run`.
"""

from __future__ import annotations

import functools
import logging
import math
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

import pyarrow as pa

from pairbank.builders.schema.columns import COLUMNS
from pairbank.errors import ScoringError
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.method import Method, WritingMethod
from pairbank.scoring.api.model import ScoringStats, one_begun_ahead
from pairbank.scoring.api.names import NO_UNIGRAMS, MethodName
from pairbank.scoring.methods.prompted import Pool
from pairbank.scoring.methods.registry import FAMILIES, in_order
from pairbank.scoring.methods.unigrams import UnigramTables
from pairbank.scoring.prompts.registry import prompts_of
from pairbank.scoring.run.shard import Job, Recipe, Run, Workers
from pairbank.scoring.run.units import Part, Unit, efforts, units_of
from pairbank.scoring.scored import Scored, refuse_score_columns, with_columns
from pairbank.scoring.signature import corpus_signature

if TYPE_CHECKING:
    import datasets

    from pairbank.scoring.api.model import ModelInfo, OverLength, Scorer

logger = logging.getLogger(__name__)
Progress = Callable[[float, int], None]
"""Called with (items done, items in all) after every forward pass; an item may be done in part, by its work."""


def score(
    items: datasets.Dataset,
    model: Scorer,
    *,
    methods: Sequence[str] = ("direct",),
    over_length: OverLength = "error",
    per_token: bool = False,
    unigrams: UnigramTables | None = None,
    prompts: Sequence[str | Path] = (),
    seed: int = 0,
    progress: Progress | None = None,
) -> Scored:
    """Score items with a model and return the same rows with new columns.

    Numbers land in the store shard by shard as they are computed; the same call after a kill continues there.
    A method that does not apply to an item (its task or language) leaves nulls.

    Args:
        items: a Dataset in the shared schema, of one corpus (`load_corpus` gives one).
        model: what `load_model` gives.
        methods: `direct`, `direct_wb` (`pairbank.scoring.methods.direct`), linking functions
            (`pairbank.scoring.methods.linking_functions`) and ids of prompts (`pairbank methods` lists them), perhaps
            asked after examples drawn from these items ("meta_question_simple@4shot") or in a chat
            ("hl23_sent_comp_meta_instruct@chat").
        over_length: what to do with a text longer than the model's context: an error that names the item,
            or NaN and the flag `over_length`.
        per_token: keep the log-probability of every token that `direct` scores, as two list columns.
        unigrams: for `slor` and `bayes_unigram`: what `count_unigrams` gave, or the file that `pairbank unigrams`
            wrote; of several, those of the model's tokenizer and the items' languages are taken. Items in a language
            without counts have null and the flag `no_unigrams`; an empty list says that there are none at all.
        prompts: TOML files with prompts of your own, whose ids are then methods too.
        seed: of the examples that a method puts before its question; recorded in the signature.
        progress: called after every forward pass.

    Raises:
        ScoringError: items not in the shared schema, an empty or over-long target, NaN from the model.
        UnknownNameError: a method that does not exist.
        PromptError: a prompt file that breaks the rules.
    """
    work = _work(
        items,
        model,
        methods=methods,
        over_length=over_length,
        per_token=per_token,
        unigrams=unigrams,
        prompts=prompts,
        seed=seed,
    )
    notify = progress or (lambda _done, _total: None)
    units = units_of(len(items), work.methods)
    is_stored = isinstance(model, _Absent)
    if not is_stored and isinstance(model, Workers):
        work.share_out(model, units, notify)
        is_stored = True
    shards: dict[str, list[pa.Table]] = {method.name: [] for method in work.methods}
    run = work.run()
    if isinstance(model, _Absent) and model.joining is not None:
        model.joining.refuse_missing(work, run, units)
    for tables in work.stored(run, units) if is_stored else work.tables(run, units, notify):
        for name, table in tables.items():
            shards[name].append(table)
    run.pack(shards)
    signature = _signature(items, model, work.methods, over_length=over_length, seed=seed)
    signature["n_by_flag"] = {name: _n_by_flag(name, parts) for name, parts in shards.items()}
    for lacking in counts_lacking(signature):
        logger.warning("%s by %s: %s", signature["corpus"]["name"], model.info.name, lacking)
    return Scored(dataset=with_columns(items, work.methods, shards, model=model.info.name), signature=signature)


def score_stored(items: datasets.Dataset, info: ModelInfo, **asked: Unpack[ScoreRequest]) -> Scored | None:
    """Return what `score` would, without the model, where every number is in the store; else None."""
    try:
        return score(items, cast("Scorer", _Absent(info)), **asked)
    except _NotStoredError:
        return None


def stored_model(info: ModelInfo, joining: Joining) -> Scorer:
    """Return a stand-in for a model whose scores are all stored in parts; `score` names those that are not."""
    return cast("Scorer", _Absent(info, joining))


@dataclass(slots=True, kw_only=True)
class Joining:
    """A run that puts parts together and scores nothing."""

    of: int
    """How many parts."""
    n_before: int = 0
    """Units of the corpora and models so far."""

    def refuse_missing(self, work: _Work, run: Run, units: Sequence[Unit]) -> None:
        """Refuse if units are not stored."""
        missing = [unit for unit in units if run.missing(work.rows(unit), unit.methods)]
        parts = sorted({(self.n_before + unit.number) % self.of + 1 for unit in missing})
        self.n_before += len(units)
        if missing:
            first = work.rows(missing[0])[0]["item_id"]
            named = ", ".join(f"{part}/{self.of}" for part in parts)
            raise ScoringError(
                f"{len(missing)} of {len(units)} units by {work.model.info.name} are not stored, the first from item "
                f"{first}: run --part {named} with the same options and cache folder (PAIRBANK_CACHE), then join again"
            )


class _NotStoredError(ScoringError):
    """A model is needed that was not loaded."""


@dataclass(frozen=True, slots=True)
class _Absent:
    """A model of which only is known what it is."""

    info: ModelInfo
    joining: Joining | None = None
    stats: ScoringStats = field(default_factory=ScoringStats)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - it has nothing else
        raise _NotStoredError(f"{self.info.name}: {name} needs the model")


class ScoreRequest(TypedDict, total=False):
    """What of `score` decides what is asked of the model."""

    methods: Sequence[str]
    over_length: OverLength
    per_token: bool
    unigrams: UnigramTables | None
    prompts: Sequence[str | Path]
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartScored:
    """What a part of a run did."""

    n_units: int
    """Of the part."""
    n_units_of_all: int
    """Of the whole run."""


def score_part(
    items: datasets.Dataset,
    model: Scorer,
    part: Part,
    *,
    n_before: int = 0,
    progress: Progress | None = None,
    **asked: Unpack[ScoreRequest],
) -> PartScored:
    """Score one of several parts of the items into the store; once all parts are there, `score` puts them together.

    The arguments, `asked` too, are those of `score`, and have to be the same for all parts. The parts share a cache
    folder (`PAIRBANK_CACHE`): on one machine, or on a file system that all machines see. `n_before` counts the units
    of the corpora and models that came before.
    """
    work = _work(items, model, **asked)
    units = units_of(len(items), work.methods)
    chosen, notify = part.chosen(units, n_before=n_before), progress or (lambda _done, _total: None)
    if isinstance(model, Workers):
        work.share_out(model, chosen, notify)
    else:
        for _tables in work.tables(work.run(), chosen, notify):
            pass
    return PartScored(n_units=len(chosen), n_units_of_all=len(units))


def _work(
    items: datasets.Dataset,
    model: Scorer,
    *,
    methods: Sequence[str] = ("direct",),
    over_length: OverLength = "error",
    per_token: bool = False,
    unigrams: UnigramTables | None = None,
    prompts: Sequence[str | Path] = (),
    seed: int = 0,
) -> _Work:
    """Return what is to be done; the arguments are those of `score`, checked."""
    _check_items(items)
    if not methods:
        raise ScoringError("no method to score with; name at least one, as in methods=['direct']")
    known = prompts_of(prompts, asked=[MethodName.parsed(name).id for name in methods if name not in FAMILIES])
    names = in_order(methods, known)
    recipe = Recipe(
        names=tuple(names),
        over_length=over_length,
        per_token=per_token,
        seed=seed,
        pool=Pool(items.to_list()) if any(MethodName.parsed(name).n_shots for name in names) else None,
        prompts=known,
        unigrams=unigrams,
        languages=tuple(sorted(set(items["language"][:]))),
    )
    chosen = recipe.methods(model)
    refuse_score_columns(items, chosen)  # before hours of scoring, not after
    return _Work(items=items, recipe=recipe, methods=chosen, model=model)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """Items, and all that is done to them."""

    items: datasets.Dataset
    recipe: Recipe
    methods: list[Method]
    model: Scorer

    def rows(self, unit: Unit) -> list[dict[str, Any]]:
        """Return a unit's items."""
        results: list[dict[str, Any]] = self.items.select(range(unit.start, unit.stop)).to_list()
        return results

    def run(self) -> Run:
        """Return what scores a unit."""
        return self.recipe.run(self.model, self.methods)

    def tables(self, run: Run, units: Sequence[Unit], on_progress: Progress) -> Iterator[dict[str, pa.Table]]:
        """Yield each unit's columns, from the store or scored now."""
        n_items = self._n_items(units)
        work = efforts(units, self.items.__getitem__, len(self.items), run.reader)
        an_item = n_items / sum(work) if work else 0.0
        done = [0.0] * len(units)

        def taken(number: int) -> Generator[None, None, dict[str, pa.Table]]:
            unit, n_own = units[number], work[number] * an_item

            def on_share(share: float) -> None:
                done[number] = share * n_own
                on_progress(round(math.fsum(done), 6), n_items)

            tables = yield from run.shard_steps(self.rows(unit), unit.methods, on_share)
            on_share(1.0)
            return tables

        yield from one_begun_ahead(taken(number) for number in range(len(units)))

    def stored(self, run: Run, units: Sequence[Unit]) -> Iterator[dict[str, pa.Table]]:
        """Yield each unit's columns, which workers scored."""
        for unit in units:
            yield run.shard(self.rows(unit), unit.methods, lambda _share: None)

    def share_out(self, workers: Workers, units: Sequence[Unit], on_progress: Progress) -> None:
        """Let workers score what of these units is not stored; this process stores it."""
        run = self.run()
        jobs = [
            Job(
                unit=unit.number,
                rows=rows,
                names=tuple(method.name for method in missing),
                is_divisible=not any(isinstance(method, WritingMethod) for method in missing),
            )
            for unit in units
            for rows in (self.rows(unit),)
            if (missing := run.missing(rows, unit.methods))
        ]
        by_number, n_items = {unit.number: unit for unit in units}, self._n_items(units)

        def on_share(share: float) -> None:
            on_progress(round(share * n_items, 6), n_items)

        if not jobs:
            on_share(1.0)
        for job, tables in workers.carried_out(jobs, self.recipe, on_share):
            run.keep(job.rows, by_number[job.unit].methods, tables)

    def _n_items(self, units: Sequence[Unit]) -> int:
        """Return how many items the units make, counting an item once a method's share."""
        return round(sum(unit.n_items * len(unit.methods) for unit in units) / len(self.methods))


def counts_lacking(signature: Mapping[str, Any]) -> list[str]:
    """Return a sentence on the items of a scored table that have no score for want of unigram counts; often none."""
    lacking = {name: flags[NO_UNIGRAMS] for name, flags in signature["n_by_flag"].items() if NO_UNIGRAMS in flags}
    n_items = signature["corpus"]["n_items"]
    return [
        f"no {', '.join(names)} of {n:,} of {n_items:,} items, for there are no unigram counts of their language with "
        "this model's tokenizer (pairbank unigrams --language)"
        for n in dict.fromkeys(lacking.values())
        for names in ([name for name, n_of in lacking.items() if n_of == n],)
    ]


def _n_by_flag(method: str, parts: Sequence[pa.Table]) -> dict[str, int]:
    column = ScoreColumns(method).flags
    return dict(Counter(flag for part in parts for flags in part[column].to_pylist() for flag in flags or ()))


def _check_items(items: datasets.Dataset) -> None:
    if missing := [c.name for c in COLUMNS if c.name not in items.column_names]:
        raise ScoringError(f"items lack the column(s) {', '.join(missing)}; get them from pairbank.load_corpus")
    if not len(items):
        raise ScoringError("no items to score; expected at least one row")
    corpora = sorted(set(items["corpus"][:]))
    if len(corpora) > 1:
        raise ScoringError(f"items of {len(corpora)} corpora ({', '.join(corpora)}); score one corpus at a time")


def _of_model(model: Scorer) -> dict[str, Any]:
    return model.info.to_dict() | {"slug": model.info.slug}


def _signature(
    items: datasets.Dataset, model: Scorer, methods: Sequence[Method], *, over_length: OverLength, seed: int
) -> dict[str, Any]:
    from pairbank.builders.dataset import manifest_of

    return {
        "pairbank": version("pairbank"),
        "model": functools.reduce(lambda facts, method: {**facts, **method.of_model}, methods, _of_model(model)),
        "methods": {m.name: {**m.definition, "columns": [*m.columns]} for m in methods},
        "over_length": over_length,
        "seed": seed,
        "corpus": corpus_signature(items, manifest_of(items) or {}),
    }
