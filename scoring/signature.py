"""What a number's signature is: JSON in a table's metadata, one line for a reader, and what it says of the items."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, model_validator

from pairbank.declarations import StoredRecord, problems_of
from pairbank.files import sha256_of_text, sha256_of_texts
from pairbank.scoring.api.layout import MethodLayout

if TYPE_CHECKING:
    import datasets

METADATA_KEY = b"pairbank"
"""Key of the signature in the schema metadata of a parquet file."""
MOST_FILES_SHOWN = 3


def signature_json(signature: Mapping[str, Any]) -> bytes:
    """Return a signature as JSON bytes; its own order is stable."""
    return json.dumps(signature, ensure_ascii=False).encode()


SHARED = ("methods", "corpus")
"""Parts of a signature that all models of a corpus have."""


def shared(signature: dict[str, Any], parts: dict[str, Any]) -> dict[str, Any]:
    """Return a signature whose methods and corpus are the objects of the signatures before it, where they are equal.

    A bank has thousands of signatures; of one corpus and its methods each would hold a copy.

    Args:
        signature: which is changed in place.
        parts: JSON of a part -> the part; new ones are added.
    """
    for name in SHARED:
        if name in signature:
            signature[name] = parts.setdefault(json.dumps(signature[name]), signature[name])
    return signature


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
        **({"unigrams": unigrams} if (unigrams := _unigrams_text(model)) else {}),
        "unit": _units(signature["methods"].values()),
        "data": f"{corpus['name']}@{corpus['version']}#{corpus['items_sha256'][:8]}",
        "seed": str(signature["seed"]),
        "v": signature["pairbank"],
    }
    if "imported" in signature:
        parts["imported"] = signature["imported"]["sha256"][:12]
    return "|".join(f"{key}:{value}" for key, value in parts.items())


def _unigrams_text(model: Mapping[str, Any]) -> str:
    """Return languages and documents of the unigram counts that scores were made with: `en#0123abcd`."""
    tables = model.get("unigrams") or ()
    return "+".join(f"{'/'.join(t['languages']) or 'unknown'}#{t['documents_sha256'][:8]}" for t in tables)


class _SignedModel(StoredRecord):
    name: str
    slug: str
    model_id: str
    revision: str
    dtype: str
    prompt_format: str


class _SignedCorpus(StoredRecord):
    name: str
    version: str
    items_sha256: str
    n_items: int
    unpinned_files: tuple[str, ...] = ()


class _SignedMethod(StoredRecord):
    sha256: str
    layout: MethodLayout
    columns: tuple[str, ...] = ()
    cites: tuple[str, ...] = ()


class Signature(StoredRecord):
    """A signature, as every reader can use it."""

    model: _SignedModel
    corpus: _SignedCorpus
    methods: dict[str, _SignedMethod] = Field(min_length=1)
    seed: int | str
    pairbank: str

    @model_validator(mode="after")
    def _of_itself(self) -> Self:
        for name, method in self.methods.items():
            if method.layout.method != name:
                raise ValueError(f"the layout of method {name!r} is that of {method.layout.method!r}")
        return self


def signature_problems(signature: Any) -> list[str]:  # noqa: ANN401 - JSON is any
    """Return what of a signature is missing or of another type than ours; none = every reader can use it.

    >>> signature_problems({"model": [], "corpus": {}, "methods": {}, "seed": "0", "pairbank": "0.1.0"})[:2]
    ['model is []; expected a table', 'corpus.name is missing']
    """
    return problems_of(Signature, signature)


def _units(definitions: Iterable[Mapping[str, Any]]) -> str:
    """Return what the methods' scores are measured in, each unit once."""
    units = (MethodLayout.from_dict(definition["layout"]).unit_in_words for definition in definitions)
    return "+".join(dict.fromkeys(unit.replace(" ", "-") for unit in units))


def formula_sha256(name: str, formula: str) -> str:
    """Return the hash of a method that is a formula: the same for all models."""
    return sha256_of_text(name, formula, "0", "")


def method_hashes(signature: Mapping[str, Any]) -> dict[str, str]:
    """Return the hash of each method of a signature, by which two tables are scored alike or not.

    Until version 0.1.0 the definition of a linking function held the model's vocabulary or unigram counts, and its
    hash with them; such a method has the hash of its formula, as it has now.

    >>> old = {"sha256": "of gpt2", "formula": "f", "n_vocabulary": 50257}
    >>> method_hashes({"methods": {"m": old}}) == {"m": formula_sha256("m", "f")}
    True
    """
    return {
        name: formula_sha256(name, definition["formula"])
        if "formula" in definition and ("n_vocabulary" in definition or "unigrams" in definition)
        else definition["sha256"]
        for name, definition in signature["methods"].items()
    }


def corpus_signature(items: datasets.Dataset, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a signature says of the items: name, version, and a hash of ids and texts."""
    names = ["item_id", "context_good", "target_good", "context_bad", "target_bad"]
    # a batch at a time: as Python strings, all texts together would outweigh everything else that scoring holds
    batches = items.with_format(None).select_columns(names).iter(batch_size=1_000)
    rows = (row for batch in batches for row in zip(*(batch[name] for name in names), strict=True))
    results = {
        "name": items["corpus"][0],
        "version": manifest.get("version", ""),
        "n_items": len(items),
        "items_sha256": sha256_of_texts(repr(row) for row in rows),
        "manifest": manifest,
    }
    unpinned = sorted(name for name, file in manifest.get("files", {}).items() if file.get("verified") is False)
    return results | ({"unpinned_files": unpinned} if unpinned else {})


def unpinned_note(signature: Mapping[str, Any]) -> str | None:
    """Return a sentence where a corpus was not built from the pinned upstream files, or None.

    >>> unpinned_note({"corpus": {"name": "blimp", "unpinned_files": ["BLiMP.zip"]}})[:77]
    'Corpus blimp was built from files that are not the pinned ones: BLiMP.zip. It'
    """
    corpus = signature["corpus"]
    files = corpus.get("unpinned_files") or ()
    if not files:
        return None
    shown = ", ".join(files[:MOST_FILES_SHOWN]) + (" …" if len(files) > MOST_FILES_SHOWN else "")
    return (
        f"Corpus {corpus['name']} was built from files that are not the pinned ones: {shown}. Its rows may differ "
        "from those published."
    )
