"""`score`: items and a model to the same rows with new columns, resumably, and their signature."""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from pairbank.builders.load import load_corpus
from pairbank.errors import ScoringError
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.model import ScoringStats
from pairbank.scoring.api.names import NO_UNIGRAMS
from pairbank.scoring.methods.registry import without_model
from pairbank.scoring.methods.unigrams import UnigramTables
from pairbank.scoring.models.load import scorer_of
from pairbank.scoring.run.store import Shard
from pairbank.scoring.run.work import Part, Progress, ScoreOptions, Work, notebook_bar
from pairbank.scoring.scored import Scored, counts, with_columns
from pairbank.scoring.signature import corpus_signature, with_prompts

if TYPE_CHECKING:
    import datasets

    from pairbank.scoring.api.model import ModelInfo, OverLength, Scorer

logger = logging.getLogger(__name__)


def score(
    items: datasets.Dataset | str | Path | Iterable[Any],
    model: Scorer | str | Path,
    *,
    methods: str | Sequence[str] = ("direct",),
    over_length: OverLength = "error",
    per_token: bool = False,
    unigrams: UnigramTables | None = None,
    probe_text: str | Path | None = None,
    prompts: Sequence[str | Path] = (),
    seed: int = 0,
    progress: Progress | None = None,
) -> Scored:
    """Score items with a model and return the same rows with new columns.

    Numbers land in the store shard by shard as they are computed; the same call after a kill continues there.
    A method that does not apply to an item (its task or language) leaves nulls.

    Args:
        items: a Dataset in the shared schema, of one corpus (`load_corpus` gives one), or what `load_corpus` takes: a
            DataFrame, a list of (better, worse) pairs, a path, a corpus's name.
        model: what `load_model` gives, or what it takes: a folder, a Hub id.
        methods: `direct`, linking functions and ids of prompts (`pairbank methods` lists all), perhaps asked after
            examples drawn from these items ("meta_question_simple@4shot") or in a chat (`@chat`).
        over_length: what to do with a text longer than the model's context: an error that names the item,
            or NaN and the flag `over_length`.
        per_token: keep the log-probability of every token that `direct` scores, as two list columns.
        unigrams: for `slor` and `bayes_unigram`: what `count_unigrams` gave, or the file that `pairbank unigrams`
            wrote; of several, those of the model's tokenizer and the items' languages are taken. Items in a language
            without counts have null and the flag `no_unigrams`; an empty list says that there are none at all.
        probe_text: file of the sentences that `probe_grammar` learns from, one a line; None: those that are shipped.
        prompts: TOML files with prompts of your own, whose ids are then methods too.
        seed: of the examples that a method puts before its question; recorded in the signature.
        progress: called after every forward pass; None: a bar in a notebook, nothing elsewhere.

    Raises:
        ScoringError: items not in the shared schema, an empty or over-long target, NaN from the model.
        UnknownNameError: a method that does not exist.
        PromptError: a prompt file that breaks the rules.

    >>> scored = score([("The dogs bark.", "The dogs barks.")], "fake:a")
    >>> round(scored[ScoreColumns("direct").delta][0], 2)
    10.19
    """
    if "item_id" not in getattr(items, "column_names", ()):
        items = load_corpus(items)
    scorer = scorer_of(model) if isinstance(model, str | Path) or not hasattr(model, "info") else model
    if progress is None and "ipykernel" in sys.modules:
        progress = notebook_bar(f"scoring with {scorer.info.name}")
    options = ScoreOptions(
        methods=[methods] if isinstance(methods, str) else methods,
        over_length=over_length,
        per_token=per_token,
        unigrams=unigrams,
        probe_text=probe_text,
        prompts=prompts,
        seed=seed,
    )
    return score_as(items, scorer, options, progress=progress)


def score_as(
    items: datasets.Dataset, model: Scorer | StoredParts, options: ScoreOptions, *, progress: Progress | None = None
) -> Scored:
    if isinstance(model, StoredParts):
        return _joined(items, model, options)
    work = Work(items, model.info, options, model)
    return _scored(work, [*work.compute(progress)], options)


def score_stored(items: datasets.Dataset, info: ModelInfo, options: ScoreOptions) -> Scored | None:
    """Return what `score` would, without the model, where every number is in the store; else None."""
    if without_model(options.methods):
        return None
    work, shards = Work(items, info, options, None), list[Shard]()
    for shard in work.stored():
        if shard.missing:
            return None
        shards.append(shard)
    return _scored(work, shards, options)


@dataclass(slots=True, kw_only=True)
class Joining:
    of: int
    n_before: int = 0
    """Units of the corpora and models so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredParts:
    """In the place of a model, its scores, which were stored in parts."""

    info: ModelInfo
    joining: Joining
    stats: ScoringStats = field(default_factory=ScoringStats)


def _joined(items: datasets.Dataset, parts: StoredParts, options: ScoreOptions) -> Scored:
    joining, name = parts.joining, parts.info.name
    if names := without_model(options.methods):
        raise ScoringError(
            f"{name}: {names[0]} needs the model itself; leave --join out: the same command finds in the store "
            "what the parts scored"
        )
    work = Work(items, parts.info, options, None)
    shards = [*work.stored()]
    missing = [(unit, shard) for unit, shard in zip(work.units, shards, strict=True) if shard.missing]
    numbers = sorted({(joining.n_before + unit.number) % joining.of + 1 for unit, _ in missing})
    joining.n_before += len(work.units)
    if missing:
        raise ScoringError(
            f"{len(missing)} of {len(work.units)} units by {name} are not stored, the first from item "
            f"{missing[0][1].rows[0]['item_id']}: run --part {', '.join(f'{n}/{joining.of}' for n in numbers)} with "
            "the same options and cache folder (PAIRBANK_CACHE), then join again"
        )
    return _scored(work, shards, options)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartScored:
    n_units: int
    n_units_of_all: int


def score_part(
    items: datasets.Dataset,
    model: Scorer,
    part: Part,
    options: ScoreOptions,
    *,
    n_before: int = 0,
    progress: Progress | None = None,
) -> PartScored:
    """Score one of several parts of the items into the store; once all parts are there, `score` puts them together.

    All parts have the same options and cache folder; `n_before` counts the units of corpora and models before.
    """
    work = Work(items, model.info, options, model)
    units = part.chosen(work.units, n_before=n_before)
    for _shard in work.compute(progress, units):
        pass
    return PartScored(n_units=len(units), n_units_of_all=len(work.units))


def _scored(work: Work, shards: Sequence[Shard], options: ScoreOptions) -> Scored:
    from pairbank.builders.dataset import manifest_of

    work.store.pack(shards)
    names = [method.name for method in work.methods]
    parts = {name: [shard.tables[name] for shard in shards if name in shard.tables] for name in names}
    table = with_columns(work.items, work.methods, parts, model=work.info.name)
    of_model = work.info.to_dict() | {"slug": work.info.slug}
    signature: dict[str, Any] = {
        "pairbank": version("pairbank"),
        "model": functools.reduce(lambda facts, method: {**facts, **method.of_model}, work.methods, of_model),
        "methods": {method.name: {**method.definition, "columns": [*method.columns]} for method in work.methods},
        "over_length": options.over_length,
        "seed": options.seed,
        "corpus": corpus_signature(work.items, manifest_of(work.items) or {}),
        "n_by_flag": {name: counts(pc.list_flatten(table[ScoreColumns(name).flags])) for name in names},
    }
    for lacking in counts_lacking(signature):
        logger.warning("%s by %s: %s", signature["corpus"]["name"], work.info.name, lacking)
    return Scored(table=with_prompts(table, work.rendered()), signature=signature)


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
