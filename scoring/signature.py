"""What a number's signature is: JSON in a table's metadata, one line for a reader, and what it says of the items."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pairbank.files import sha256_of_texts

if TYPE_CHECKING:
    import datasets

METADATA_KEY = b"pairbank"
"""Key of the signature in the schema metadata of a parquet file."""


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
        "unit": _units(signature["methods"].values()),
        "data": f"{corpus['name']}@{corpus['version']}#{corpus['items_sha256'][:8]}",
        "seed": str(signature["seed"]),
        "v": signature["pairbank"],
    }
    if "imported" in signature:
        parts["imported"] = signature["imported"]["sha256"][:12]
    return "|".join(f"{key}:{value}" for key, value in parts.items())


def _units(definitions: Iterable[Mapping[str, Any]]) -> str:
    """Return what the methods' differences are measured in: nats, unless a method was imported in another unit."""
    units = (definition["layout"].get("unit") or "nats" for definition in definitions)
    return "+".join(dict.fromkeys(unit.replace(" ", "-") for unit in units))


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
