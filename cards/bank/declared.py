"""What a bank's makers declared of its models (family, size, generation …): in, lists of models; out, manifest entries.

Features that ship with pairbank are looked up by name and are not stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pairbank.cards.bank.layout import MANIFEST, read_manifest
from pairbank.stats.analyses.introspection.model_features import ModelFeatures, features_from_entries

FEATURES = "features"
"""Key of the manifest: model name -> what is declared of it."""


def declared_in(manifest: Mapping[str, Any]) -> dict[str, ModelFeatures]:
    """Return what a manifest says of models, by name.

    Raises:
        BankError: an entry that declares no features.
    """
    return features_from_entries([{"name": name, **entry} for name, entry in manifest.get(FEATURES, {}).items()])


def declared_in_bank(root: Path) -> dict[str, ModelFeatures]:
    """Return what a bank says of its models, by name; a folder that is no bank says nothing."""
    return declared_in(read_manifest(root)) if (root / MANIFEST).is_file() else {}


def declare(manifest: dict[str, Any], features: Mapping[str, ModelFeatures]) -> None:
    """Put what is declared of the models of a bank into its manifest, in place of what was declared of them before."""
    names = {signature["model"]["name"] for models in manifest["scores"].values() for signature in models.values()}
    known = manifest.get(FEATURES, {}) | {name: _entry(entry) for name, entry in features.items()}
    if kept := {name: known[name] for name in sorted(known.keys() & names)}:
        manifest[FEATURES] = kept
    else:
        manifest.pop(FEATURES, None)


def contradictions(ours: Mapping[str, ModelFeatures], theirs: Mapping[str, ModelFeatures]) -> Iterator[str]:
    """Yield where two declarations of one model differ; what only one of them says is no contradiction."""
    for name in sorted(ours.keys() & theirs.keys()):
        first, second = _entry(ours[name]), _entry(theirs[name])
        for key in (key for key in first if key in second and first[key] != second[key]):
            yield f"model {name!r}: {key} is {first[key]!r} and {second[key]!r}"


def united(ours: Mapping[str, ModelFeatures], theirs: Mapping[str, ModelFeatures]) -> dict[str, ModelFeatures]:
    """Return what two declarations that do not contradict each other say together."""
    both = {
        name: {**(_entry(theirs[name]) if name in theirs else {}), **(_entry(ours[name]) if name in ours else {})}
        for name in {**ours, **theirs}
    }
    return features_from_entries([{"name": name, **entry} for name, entry in both.items()])


def _entry(features: ModelFeatures) -> dict[str, Any]:
    """Return what was said, without what was not."""
    return {key: value for key, value in asdict(features).items() if value not in (None, "")}
