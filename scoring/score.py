"""`score`: items and a model to the same rows with new columns, resumably, and their signature."""

from __future__ import annotations

import functools
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from pairbank.builders.schema import COLUMNS
from pairbank.errors import BankError, ScoringError
from pairbank.files import ROWS_A_GROUP, replaced_atomically, sha256_of_text, sha256_of_texts
from pairbank.scoring.fewshot import Pool
from pairbank.scoring.generated import Generated, generated_records
from pairbank.scoring.linking_methods import UnigramTables
from pairbank.scoring.methods import FAMILIES, Answered, Method, MethodOptions, Prompted, in_order, method_named
from pairbank.scoring.registry import MethodName, prompts_of
from pairbank.scoring.store import read_shard, schema_of, shard_key, write_shard
from pairbank.scoring.word_probability import DIRECT_WB

if TYPE_CHECKING:
    import datasets
    import pandas as pd

    from pairbank.scoring.backend import Scorer
    from pairbank.scoring.requests import Request

METADATA_KEY = b"pairbank"
SHARD_ITEMS_DIRECT = 2_048
SHARD_ITEMS_PROMPTED = 128
"""Items scored at once and stored as one file, the most that a kill can lose; prompts are many times the work."""
OverLength = Literal["error", "nan"]
Progress = Callable[[float, int], None]
"""Called with (items done, items in all) after every forward pass; an item may be done in part."""


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

    def save(self, path: str | Path) -> Path:
        """Write one parquet file that carries the signature in its schema metadata; return its path."""
        path = Path(path)
        table: pa.Table = self.dataset.with_format("arrow")[:]
        metadata = {**(table.schema.metadata or {}), METADATA_KEY: signature_json(self.signature)}
        with replaced_atomically(path) as temporary:
            pq.write_table(table.replace_schema_metadata(metadata), temporary, row_group_size=ROWS_A_GROUP)
        return path


def signature_json(signature: Mapping[str, Any]) -> bytes:
    """Return a signature as JSON bytes; its own order is stable."""
    return json.dumps(signature, ensure_ascii=False).encode()


def signature_line(signature: Mapping[str, Any]) -> str:
    """Return a signature in one line, in the manner of sacreBLEU."""
    model, corpus = signature["model"], signature["corpus"]
    parts = {
        "model": f"{model['model_id']}@{model['revision'][:12]}",
        "dtype": model["dtype"],
        "quant": model["quantisation"] or "none",
        "format": model["prompt_format"],
        "bos": f"{model['bos_policy']}({model['bos_id']})",
        **({"pll": model["pll"]} if model.get("pll") else {}),
        **({"mode": model["seq2seq_mode"]} if model.get("seq2seq_mode") else {}),
        "unit": "nats",
        "data": f"{corpus['name']}@{corpus['version']}#{corpus['items_sha256'][:8]}",
        "seed": str(signature["seed"]),
        "v": signature["pairbank"],
    }
    if "imported" in signature:
        parts["imported"] = signature["imported"]["sha256"][:12]
    return "|".join(f"{key}:{value}" for key, value in parts.items())


def read_scored(path: str | Path) -> Scored:
    """Read what `Scored.save` wrote.

    Raises:
        BankError: the file is not a scored table of pairbank's.
    """
    import datasets

    path = Path(path)
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (pa.ArrowException, OSError) as error:
        raise BankError(
            f"{path}: not a readable parquet file ({error}); give a file that `pairbank score` wrote"
        ) from error
    if METADATA_KEY not in metadata:
        raise BankError(f"{path}: carries no signature; expected a file that `pairbank score` wrote")
    signature = json.loads(metadata[METADATA_KEY])
    return Scored(dataset=datasets.Dataset(pq.read_table(path)), signature=signature)


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
        methods: `direct`, `direct_wb` (`pairbank.scoring.word_probability`), linking functions
            (`pairbank.scoring.linking`) and ids of prompts (`pairbank methods` lists them), perhaps asked after
            examples drawn from these items ("meta_question_simple@4shot") or in a chat
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
    run = _Run(model=_reader(model, chosen), model_key=model_key, over_length=over_length)
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
    signature["n_by_flag"] = {
        m.name: dict(
            Counter(f for part in shards[m.name] for flags in part[f"{m.name}_flags"].to_pylist() for f in flags or ())
        )
        for m in chosen
    }
    return Scored(dataset=with_columns(items, chosen, shards), signature=signature)


def _reader(model: Scorer, methods: Sequence[Method]) -> Scorer:
    """Return the scorer that can answer all that the methods ask."""
    if all(method.name != DIRECT_WB for method in methods):
        return model
    from pairbank.scoring.word_boundaries import word_edge_scorer

    return word_edge_scorer(model)


def _tell_share(share: float, *, tell: Progress, n_done: int, work: int, n_methods: int, n_items: int) -> None:
    tell((n_done + share * work) / n_methods, n_items)


def _groups(methods: Sequence[Method]) -> Iterator[tuple[int, list[Method]]]:
    """Yield (items a shard, methods scored together): prompts share instructions, so they go in one plan."""
    for size in (SHARD_ITEMS_DIRECT, SHARD_ITEMS_PROMPTED):
        group = [m for m in methods if (m.name in FAMILIES) == (size == SHARD_ITEMS_DIRECT)]
        if group:
            yield size, group


@dataclass(slots=True, kw_only=True)
class _Run:
    model: Scorer
    model_key: str
    over_length: OverLength

    def shard(
        self, rows: Sequence[Mapping[str, Any]], methods: Sequence[Method], tell: Callable[[float], None]
    ) -> dict[str, pa.Table]:
        """Return the methods' columns for these items: from the store, or scored now, all methods together."""
        keys = {m.name: shard_key(self.model_key, m, rows) for m in methods}
        tables = {m.name: read_shard(keys[m.name], m) for m in methods}
        missing = [m for m in methods if tables[m.name] is None]
        missing.sort(key=lambda m: isinstance(m, Generated))
        for method, table in zip(missing, self._computed(rows, missing, tell), strict=True):
            write_shard(keys[method.name], table)
            tables[method.name] = table
        return {name: table for name, table in tables.items() if table is not None}

    def _computed(
        self, rows: Sequence[Mapping[str, Any]], methods: Sequence[Method], tell: Callable[[float], None]
    ) -> Iterator[pa.Table]:
        """Yield each method's columns: first those that read probabilities, in one plan, then those that write."""
        written = [m for m in methods if isinstance(m, Generated)]
        n_read = len(methods) - len(written)
        yield from self._scored(rows, methods[:n_read], lambda share: tell(share * n_read / len(methods)))
        for n_before, method in enumerate(written, start=n_read):

            def told(share: float, n_before: int = n_before) -> None:
                tell((n_before + share) / len(methods))

            records = generated_records(method, rows, self.model, over_length=self.over_length, tell=told)
            schema = schema_of(method)
            found = [r or unasked(method, row, schema.names) for r, row in zip(records, rows, strict=True)]
            yield pa.Table.from_pylist(found, schema=schema)

    def _scored(
        self, rows: Sequence[Mapping[str, Any]], methods: Sequence[Method], tell: Callable[[float], None]
    ) -> Iterable[pa.Table]:
        asked = [
            [method.requests(row, self.model) if method.applies_to(row) else [] for row in rows] for method in methods
        ]
        answers = iter(self._answers([r for per_row in asked for requests in per_row for r in requests], tell))
        for method, per_row in zip(methods, asked, strict=True):
            schema = schema_of(method)
            records = [
                method.values([next(answers) for _ in requests], row)
                if requests
                else unasked(method, row, schema.names)
                for row, requests in zip(rows, per_row, strict=True)
            ]
            yield pa.Table.from_pylist(records, schema=schema)

    def _answers(self, requests: Sequence[Request], tell: Callable[[float], None]) -> list[Answered]:
        """Return the answers, equal requests of several methods, orders or items asked once."""
        places: dict[Request, int] = {}
        where = [places.setdefault(replace(r, where=""), len(places)) for r in requests]
        first = dict(zip(reversed(where), reversed(requests), strict=True))
        answers = self._distinct_answers([first[place] for place in range(len(places))], tell)
        return [answers[place] for place in where]

    def _distinct_answers(self, requests: Sequence[Request], tell: Callable[[float], None]) -> list[Answered]:
        encoded = self.model.encode(requests)
        longest = self.model.info.max_length
        fits = [longest is None or len(e.ids) - 1 <= longest for e in encoded]
        if self.over_length == "error" and not all(fits):
            first = fits.index(False)
            raise ScoringError(
                f"{requests[first].where}: {len(encoded[first].ids)} tokens, but {self.model.info.name} takes "
                f"{longest}; shorten the item, use a model with a longer context, or ask for NaN "
                "(over_length='nan', --over-length nan)"
            )
        wanted = [e for e, ok in zip(encoded, fits, strict=True) if ok]
        n_done = 0

        def finished(n_requests: int) -> None:
            nonlocal n_done
            n_done += n_requests
            tell(n_done / len(wanted))

        scored = iter(self.model.token_logprobs(wanted, progress=finished))
        return [
            Answered(request=e, logprobs_nats=next(scored) if ok else None) for e, ok in zip(encoded, fits, strict=True)
        ]


def unasked(method: Method, row: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the columns of a method that was not asked of an item: nulls, and flags if the item lacks something."""
    empty: dict[str, Any] = dict.fromkeys(names)
    if isinstance(method, Prompted) and method.applies_to(row):
        empty[f"{method.name}_flags"] = method.missing(row)
    return empty


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
    from pairbank.builders.hub import manifest_of

    return {
        "pairbank": version("pairbank"),
        "model": model.info.to_dict() | {"slug": model.info.slug},
        "methods": {m.name: {**m.definition, "columns": [*m.columns]} for m in methods},
        "over_length": over_length,
        "seed": seed,
        "corpus": corpus_signature(items, manifest_of(items) or {}),
    }


def corpus_signature(items: datasets.Dataset, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a signature says of the items: name, version, and a hash of ids and texts."""
    names = ["item_id", "context_good", "target_good", "context_bad", "target_bad"]
    # a batch at a time: as Python strings, all texts together would outweigh everything else that scoring holds
    batches = items.with_format(None).select_columns(names).iter(batch_size=1_000)
    rows = (row for batch in batches for row in zip(*(batch[name] for name in names), strict=True))
    return {
        "name": items["corpus"][0],
        "version": manifest.get("version", ""),
        "n_items": len(items),
        "items_sha256": sha256_of_texts(repr(row) for row in rows),
        "manifest": manifest,
    }


def with_columns(
    items: datasets.Dataset, methods: Sequence[Method], shards: Mapping[str, Sequence[pa.Table]]
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
