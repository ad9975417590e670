"""Items of a bank, to be scored with one more model: in, the path of a bank's items; out, these very rows, and how.

A bank's own file says which items they are whatever limit, study or file they came from; `load_corpus` reads it like a
corpus of that name and version, so that what is scored on it can be merged with the bank.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairbank.errors import CorpusError
from pairbank.files import read_json, read_parquet, sha256_of_file

if TYPE_CHECKING:
    import datasets

ITEMS = "items.parquet"
MANIFEST = "manifest.json"
TEXT = "target_good"
"""A column that the items lack where their texts were left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Banked:
    """A corpus as a bank holds it."""

    corpus: str
    facts: Mapping[str, Any]
    """What the bank's manifest says of the corpus."""
    items: datasets.Dataset
    """Ids and labels alone where the texts were left out."""

    @property
    def has_texts(self) -> bool:
        """Whether the items can be scored as they are."""
        return TEXT in self.items.column_names


def is_banked(path: str | Path) -> bool:
    """Return whether a path is that of a bank's items: BANK/data/CONFIG/items.parquet, beside BANK/manifest.json.

    >>> is_banked("items.parquet"), is_banked("blimp")
    (False, False)
    """
    place = Path(path)
    if place.name != ITEMS or place.absolute().parents[1].name != "data":
        return False
    manifest = _root(place) / MANIFEST
    return (
        manifest.is_file()
        and isinstance(result := read_json(manifest), dict)
        and {"corpora", "scores"} <= result.keys()
    )


def banked(path: str | Path) -> Banked:
    """Return what stands in a bank's file of items, which must be the one that the bank was written with.

    Raises:
        CorpusError: the file is not that of the bank's manifest.
    """
    import datasets

    from pairbank.builders.dataset import carry_manifest

    place = Path(path)
    manifest = read_json(_root(place) / MANIFEST)
    name = f"data/{place.absolute().parent.name}/{ITEMS}"
    file_hash = sha256_of_file(place) if place.is_file() else "missing"
    if (stated := manifest.get("files", {}).get(name)) != file_hash:
        raise CorpusError(
            f"{place}: sha256 {file_hash[:12]}, the bank's manifest has {str(stated)[:12]}; get the bank anew"
        )
    items = datasets.Dataset(read_parquet(place), fingerprint=file_hash)
    corpus = str(items["corpus"][0])
    facts = {key: value for key, value in manifest["corpora"][corpus].items() if key not in ("n_items", "texts")}
    carry_manifest(items, facts)
    return Banked(corpus=corpus, facts=facts, items=items)


def methods_in_bank(path: str | Path, corpus: str) -> tuple[str, ...]:
    """Return the methods that a bank's models were scored with on a corpus, by the path of its items; () = none was."""
    signatures = read_json(_root(Path(path)) / MANIFEST)["scores"].get(corpus, {})
    return tuple(signatures[min(signatures)]["methods"]) if signatures else ()


def prompt_files_of_bank(path: str | Path) -> tuple[Path, ...]:
    """Return the files with the wording of a bank's methods, by the path of its items."""
    return tuple(sorted((_root(Path(path)) / "prompts").glob("*.toml")))


def _root(path: Path) -> Path:
    return path.absolute().parents[2]
