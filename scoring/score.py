"""`score`: items and a model to the same rows with new columns, resumably, and their signature."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pairbank.builders.schema.columns import COLUMNS
from pairbank.errors import ScoringError
from pairbank.files import sha256_of_text
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.method import Method
from pairbank.scoring.api.names import DIRECT_WB, MethodName
from pairbank.scoring.methods.fewshot import Pool
from pairbank.scoring.methods.linking import UnigramTables
from pairbank.scoring.methods.registry import FAMILIES, MethodOptions, in_order, method_named
from pairbank.scoring.prompts.registry import prompts_of
from pairbank.scoring.run.shard import OverLength, Run
from pairbank.scoring.scored import Scored, with_columns
from pairbank.scoring.signature import corpus_signature, signature_json

if TYPE_CHECKING:
    import datasets

    from pairbank.scoring.api.model import Scorer

SHARD_ITEMS_DIRECT = 2_048
SHARD_ITEMS_PROMPTED = 128
"""Items scored at once and stored as one file, the most that a kill can lose; prompts are many times the work."""
Progress = Callable[[float, int], None]
"""Called with (items done, items in all) after every forward pass; an item may be done in part."""


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
        methods: `direct`, `direct_wb` (`pairbank.scoring.methods.word_probability`), linking functions
            (`pairbank.scoring.methods.linking_functions`) and ids of prompts (`pairbank methods` lists them), perhaps
            asked after examples drawn from these items ("meta_question_simple@4shot") or in a chat
            ("hl23_sent_comp_meta_instruct@chat").
        over_length: what to do with a text longer than the model's context: an error that names the item,
            or NaN and the flag `over_length`.
        per_token: keep the log-probability of every token that `direct` scores, as two list columns.
        unigrams: for `slor` and `bayes_unigram`: what `count_unigrams` gave, or the file that `pairbank unigrams`
            wrote; of several that of the model's tokenizer is taken.
        prompts: TOML files with prompts of your own, whose ids are then methods too.
        seed: of the examples that a method puts before its question; recorded in the signature.
        progress: called after every forward pass.

    Raises:
        ScoringError: items not in the shared schema, an empty or over-long target, NaN from the model.
        UnknownNameError: a method that does not exist.
        PromptError: a prompt file that breaks the rules.
    """
    _check_items(items)
    if not methods:
        raise ScoringError("no method to score with; name at least one, as in methods=['direct']")
    known = prompts_of(prompts)
    names = in_order(methods, known)
    pool = Pool(items.to_list()) if any(MethodName.parsed(name).n_shots for name in names) else None
    options = MethodOptions(per_token=per_token, seed=seed, pool=pool, prompts=known, scorer=model, unigrams=unigrams)
    chosen = [method_named(name, options=options) for name in names]
    signature = _signature(items, model, chosen, over_length=over_length, seed=seed)
    model_key = sha256_of_text(signature_json(signature["model"]).decode(), over_length)
    tell = progress or (lambda _done, _total: None)
    run = Run(reader=_reader(model, chosen), writer=model, model_key=model_key, over_length=over_length)
    n_done = 0
    shards: dict[str, list[pa.Table]] = {method.name: [] for method in chosen}
    for size, together in _groups(chosen):
        for start in range(0, len(items), size):
            rows = items.select(range(start, min(start + size, len(items)))).to_list()
            work = len(rows) * len(together)
            told = functools.partial(
                _tell_share, tell=tell, n_done=n_done, work=work, n_methods=len(chosen), n_items=len(items)
            )
            for name, table in run.shard(rows, together, told).items():
                shards[name].append(table)
            n_done += work
            tell(n_done / len(chosen), len(items))
    signature["n_by_flag"] = {name: _n_by_flag(name, parts) for name, parts in shards.items()}
    return Scored(dataset=with_columns(items, chosen, shards), signature=signature)


def _n_by_flag(method: str, parts: Sequence[pa.Table]) -> dict[str, int]:
    column = ScoreColumns(method).flags
    return dict(Counter(flag for part in parts for flags in part[column].to_pylist() for flag in flags or ()))


def _reader(model: Scorer, methods: Sequence[Method]) -> Scorer:
    """Return the scorer that can answer all that the methods ask."""
    if all(method.name != DIRECT_WB for method in methods):
        return model
    from pairbank.scoring.models.word_boundaries import word_edge_scorer

    return word_edge_scorer(model)


def _tell_share(share: float, *, tell: Progress, n_done: int, work: int, n_methods: int, n_items: int) -> None:
    tell((n_done + share * work) / n_methods, n_items)


def _groups(methods: Sequence[Method]) -> Iterator[tuple[int, list[Method]]]:
    """Yield (items a shard, methods scored together): prompts share instructions, so they go in one plan."""
    for size in (SHARD_ITEMS_DIRECT, SHARD_ITEMS_PROMPTED):
        group = [m for m in methods if (m.name in FAMILIES) == (size == SHARD_ITEMS_DIRECT)]
        if group:
            yield size, group


def _check_items(items: datasets.Dataset) -> None:
    if missing := [c.name for c in COLUMNS if c.name not in items.column_names]:
        raise ScoringError(f"items lack the column(s) {', '.join(missing)}; get them from pairbank.load_corpus")
    if not len(items):
        raise ScoringError("no items to score; expected at least one row")
    corpora = sorted(set(items["corpus"][:]))
    if len(corpora) > 1:
        raise ScoringError(f"items of {len(corpora)} corpora ({', '.join(corpora)}); score one corpus at a time")


def _signature(
    items: datasets.Dataset, model: Scorer, methods: Sequence[Method], *, over_length: OverLength, seed: int
) -> dict[str, Any]:
    from pairbank.builders.dataset import manifest_of

    return {
        "pairbank": version("pairbank"),
        "model": model.info.to_dict() | {"slug": model.info.slug},
        "methods": {m.name: {**m.definition, "columns": [*m.columns]} for m in methods},
        "over_length": over_length,
        "seed": seed,
        "corpus": corpus_signature(items, manifest_of(items) or {}),
    }
