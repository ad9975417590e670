"""What a store takes: in, a stranger's file; out, the table, or in words why it is too large or no scoring made it.

Nothing is read of a file before its end has said how much there is: a few kilobytes can stand for gigabytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.parquet as pq

from pairbank.errors import BankError, PairbankError
from pairbank.files import reading
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.model import BosPolicy, ModelInfo, OverLength
from pairbank.scoring.api.names import PROBES
from pairbank.scoring.methods.registry import method_named
from pairbank.scoring.scored import MODEL, Scored, feature_of, open_scored
from pairbank.scoring.signature import METADATA_KEY

MOST_TABLE_BYTES = 500 * 10**6
MOST_RECORD_BYTES = 4 * 10**6
MOST_SIGNATURE_BYTES = 2 * 10**6
MOST_MEMORY_BYTES = 2 * 10**9
"""Of a table when it is read."""
MOST_COLUMNS = 2_000
MOST_CHARACTERS = 500
"""Of a text in a signature."""
_MOST_VALUES = MOST_MEMORY_BYTES // 8
_BYTES_AT_ONCE = 2 * 10**8
_WORD = r"[\w.:+-]{0,100}"
_MODEL: Mapping[str, str] = {
    "model_id": r"(?!(?i:javascript|data|file|vbscript):)[\w./:@+ -]{1,200}",
    "revision": _WORD,
    "architecture": _WORD,
    "dtype": r"(b?float(16|32|64)|float8_\w{1,20}|unknown)",
    "device": r"[\w:, -]{1,60}",
    "backend": r"[\w.+-]{1,60}",
    "prompt_format": "(base|chat|unknown)",
    "bos_policy": f"({'|'.join(get_args(BosPolicy))}|own|unknown)",
    "weights": r"(random:\d{1,12})?",
}
"""Of a signature's model, what each value may be; of the others, any plain text."""
_MODEL_KEYS = {"slug", "n_vocabulary", "unigrams", *PROBES, *(field.name for field in fields(ModelInfo))}
_KEYS = {"pairbank", "model", "methods", "over_length", "seed", "corpus", "n_by_flag", "imported"}
_KEYS |= {"cut_from", "filled_from"}
_OWN_TO_A_TABLE = ("pool_sha256", "seed", "n_vocabulary", "unigrams")
"""Keys of a method's definition that are not the same in every table."""


def opened(file: Path, manifest: Mapping[str, Any] | None = None) -> Scored:
    """Return a submitted table, its rows left in the file; one that is too large is refused before it is read."""
    n_bytes = file.stat().st_size
    if n_bytes > MOST_TABLE_BYTES:
        raise BankError(f"{file}: {n_bytes:,} bytes; a table has at most {MOST_TABLE_BYTES:,}")
    with reading(file, BankError, saying="not a readable parquet file", remedy="write it again"):
        end = pq.read_metadata(file)
        schema = pq.read_schema(file)
    stated = (schema.metadata or {}).get(METADATA_KEY, b"")
    if len(stated) > MOST_SIGNATURE_BYTES:
        raise BankError(f"{file}: a signature of {len(stated):,} bytes; at most {MOST_SIGNATURE_BYTES:,}")
    if end.num_columns > MOST_COLUMNS:
        raise BankError(f"{file}: {end.num_columns:,} columns; a table has at most {MOST_COLUMNS:,}")
    corpora = (manifest or {}).get("corpora", {})
    try:
        n_items = corpora[json.loads(stated)["corpus"]["name"]]["n_items"]
    except (ValueError, TypeError, KeyError, RecursionError):  # whoever reads the signature will say so
        n_items = max((facts["n_items"] for facts in corpora.values()), default=_MOST_VALUES)
    if end.num_rows > n_items:
        raise BankError(f"{file}: {end.num_rows:,} rows; the corpus has {n_items:,} items")
    groups = [end.row_group(number) for number in range(end.num_row_groups)]
    chunks = [group.column(number) for group in groups for number in range(group.num_columns)]
    n_values = sum(chunk.num_values for chunk in chunks)
    if n_values > _MOST_VALUES:
        raise BankError(f"{file}: {n_values:,} values; a table has at most {_MOST_VALUES:,}")
    largest = max((chunk.total_uncompressed_size for chunk in chunks), default=0)
    _refuse_large_texts(file, schema, n_rows=max(1, min(1_024, _BYTES_AT_ONCE // max(1, largest))))
    return open_scored(file)


def _refuse_large_texts(file: Path, schema: pa.Schema, *, n_rows: int) -> None:
    """Refuse texts that take too much memory, reading some rows at a time: a long one, repeated, is short in a file."""
    if odd := [field.name for field in schema if pa.types.is_dictionary(field.type)]:
        raise BankError(f"{file}: column(s) {', '.join(odd)[:200]} of a dictionary type; write plain ones")
    kinds = {field.name: getattr(field.type, "value_type", field.type) for field in schema}
    texts = [name for name, kind in kinds.items() if pa.types.is_string(kind) or pa.types.is_large_string(kind)]
    n_bytes = 0
    with reading(file, BankError, saying="not a readable parquet file", remedy="write it again"):
        for batch in pq.ParquetFile(file).iter_batches(batch_size=n_rows, columns=texts):
            n_bytes += batch.nbytes
            if n_bytes > MOST_MEMORY_BYTES:
                raise BankError(f"{file}: texts of more than {MOST_MEMORY_BYTES:,} bytes")


def form_problems(table: Scored, items: Mapping[str, Any]) -> Iterator[str]:
    """Yield columns that have another type than those of the items (their Features), or than their method gives."""
    kinds: dict[str, Any] = {MODEL: feature_of("string"), **items}
    for method in table.methods:
        columns = ScoreColumns(method)
        kinds |= {name: feature_of(kind) for name, kind in columns.kinds(*columns.all).items()}
    for name, feature in table.features.items():
        if name in kinds and feature != kinds[name]:
            yield f"column {name} is {feature}, expected {kinds[name]}"


def signature_faults(
    signature: Mapping[str, Any], facts: Mapping[str, Any], shown: Mapping[str, Any] | None
) -> Iterator[str]:
    """Yield what a signature states that no scoring does: keys, texts, versions, and what is said of methods."""
    model, corpus = signature["model"], signature["corpus"]
    for where, held, known in (("", signature, _KEYS), ("model.", model, _MODEL_KEYS)):
        yield from (f"signature: unknown key {where}{key!r:.80}" for key in sorted(held.keys() - known))
    for key, pattern in _MODEL.items():
        if (stated := model.get(key)) and not re.fullmatch(pattern, str(stated)):
            yield f"signature: model.{key} is {stated!r:.120}, which none of pairbank's is"
    lengths = (*get_args(OverLength), *(["unknown"] if "imported" in signature else []))
    if signature.get("over_length", "error") not in lengths:
        yield f"signature: over_length is {signature['over_length']!r:.80}; expected one of {lengths}"
    if not re.fullmatch(r"\d{1,4}(\.\w{1,20}){1,4}(\+\w{1,20})?", signature["pairbank"]):
        yield f"signature: pairbank is {signature['pairbank']!r:.80}; expected a version"
    if facts.get("version") and corpus["version"] != facts["version"]:
        yield f"signature: version {corpus['version']!r:.80} of the corpus; the store has {facts['version']!r}"
    papers = [str(definition.get("paper", "")) for definition in signature["methods"].values()]
    if "imported" in signature and not any(paper.startswith("imported") for paper in papers):
        yield "signature: it states an import, and no method is imported"
    yield from (f"signature: {text}" for text in _odd_texts(signature, ""))
    for name, definition in signature["methods"].items():
        yield from _definition_faults(name, definition, shown)


def _odd_texts(value: Any, where: str) -> Iterator[str]:  # noqa: ANN401 - JSON is any
    """Yield texts that are too long, or that a terminal or a page might obey; prompts and citations have lines."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _odd_texts(str(key), f"a key of {where or 'it'}")
            yield from _odd_texts(part, f"{where}.{key}".strip(".")[:120])
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _odd_texts(part, where)
    elif isinstance(value, str):
        is_long_by_nature = where.startswith("corpus.manifest") or ".prompt" in where
        if len(value) > MOST_CHARACTERS and not is_long_by_nature:
            yield f"{where} has {len(value):,} characters; at most {MOST_CHARACTERS}"
        elif not value.replace("\n", "").replace("\t", "").isprintable() or (
            where.startswith("model.") and "<" in value
        ):
            yield f"{where} is {value!r:.120}, which is no plain text"


def _definition_faults(name: str, definition: Mapping[str, Any], shown: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield keys of a method's definition that are neither those of the store's first model nor pairbank's own."""
    if "imported" in definition or str(definition.get("paper", "")).startswith("imported"):
        return
    known = [shown["methods"][name]] if shown and name in shown["methods"] else []
    try:
        method = method_named(name, per_token=ScoreColumns(name).tokens("good") in definition.get("columns", ()))
    except PairbankError:
        pass
    else:
        known.append({**json.loads(json.dumps(method.definition)), "columns": [*method.columns]})
    for key, stated in definition.items() if known else ():
        if key not in _OWN_TO_A_TABLE and all(stated != ours.get(key) for ours in known):
            yield f"method {name}: {key} is {stated!r:.120}, which is neither pairbank's nor the store's"
