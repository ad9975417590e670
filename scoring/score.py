"""`score`: items and a model to the same rows with new columns, resumably, and their signature.

In: a Dataset in the shared schema, a scorer, names of methods. Out: `Scored`. What is asked of the model stands in
`methods`, what of it is in the store already in `run`.
"""

from __future__ import annotations

import functools
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pairbank.builders.schema.columns import COLUMNS
from pairbank.errors import ScoringError
from pairbank.files import sha256_of_text
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.method import Method
from pairbank.scoring.api.names import NO_UNIGRAMS, MethodName
from pairbank.scoring.methods.fewshot import Pool
from pairbank.scoring.methods.registry import FAMILIES, MethodOptions, in_order, method_named
from pairbank.scoring.methods.unigrams import UnigramTables
from pairbank.scoring.prompts.registry import prompts_of
from pairbank.scoring.run.shard import Run
from pairbank.scoring.scored import Scored, with_columns
from pairbank.scoring.signature import corpus_signature

if TYPE_CHECKING:
    import datasets

    from pairbank.scoring.api.model import OverLength, Scorer

logger = logging.getLogger(__name__)
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
    _check_items(items)
    if not methods:
        raise ScoringError("no method to score with; name at least one, as in methods=['direct']")
    known = prompts_of(prompts, asked=[MethodName.parsed(name).id for name in methods if name not in FAMILIES])
    names = in_order(methods, known)
    pool = Pool(items.to_list()) if any(MethodName.parsed(name).n_shots for name in names) else None
    options = MethodOptions(
        per_token=per_token,
        seed=seed,
        pool=pool,
        prompts=known,
        scorer=model,
        unigrams=unigrams,
        languages=sorted(set(items["language"][:])),
    )
    chosen = [method_named(name, options=options) for name in names]
    signature = _signature(items, model, chosen, over_length=over_length, seed=seed)
    run = Run(
        reader=functools.reduce(lambda reader, method: method.reader(reader), chosen, model),
        writer=model,
        model_key=sha256_of_text(model.info.key, over_length),
        over_length=over_length,
    )
    shards = _shards(items, chosen, run, progress or (lambda _done, _total: None))
    signature["n_by_flag"] = {name: _n_by_flag(name, parts) for name, parts in shards.items()}
    for note in counts_lacking(signature):
        logger.warning("%s", note)
    return Scored(dataset=with_columns(items, chosen, shards), signature=signature)


def counts_lacking(signature: Mapping[str, Any]) -> list[str]:
    """Return a sentence on the items of a scored table that have no score for want of unigram counts; often none."""
    lacking = {name: flags[NO_UNIGRAMS] for name, flags in signature["n_by_flag"].items() if NO_UNIGRAMS in flags}
    corpus, model = signature["corpus"], signature["model"]["name"]
    return [
        f"{corpus['name']} by {model}: no {', '.join(names)} of {n:,} of {corpus['n_items']:,} items, for there are no "
        "unigram counts of their language with this model's tokenizer (pairbank unigrams --language)"
        for n in dict.fromkeys(lacking.values())
        for names in ([name for name, n_of in lacking.items() if n_of == n],)
    ]


def _shards(items: datasets.Dataset, methods: Sequence[Method], run: Run, tell: Progress) -> dict[str, list[pa.Table]]:
    """Return each method's columns, shard by shard; prompts share instructions, so they go in one plan."""
    shards: dict[str, list[pa.Table]] = {method.name: [] for method in methods}
    n_done = 0
    for size in sorted({method.shard_items for method in methods}, reverse=True):
        together = [method for method in methods if method.shard_items == size]
        for start in range(0, len(items), size):
            rows = items.select(range(start, min(start + size, len(items)))).to_list()
            work = len(rows) * len(together)

            def told(share: float, n_before: int = n_done, work: int = work) -> None:
                tell((n_before + share * work) / len(methods), len(items))

            for name, table in run.shard(rows, together, told).items():
                shards[name].append(table)
            n_done += work
            tell(n_done / len(methods), len(items))
    return shards


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
