"""Probes in a bank: in, what `probe` found of a model's hidden states; out, files, and the same read back.

`probes/<corpus>/layers/<model>.parquet` and `probes/<corpus>/groups/<model>.parquet` hold the two tables of a `Probed`;
its signature stands in the manifest.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairbank.cards.bank.layout import MANIFEST, PROBES, probe_paths, read_manifest
from pairbank.errors import BankError
from pairbank.files import read_parquet, write_parquet
from pairbank.stats.scored_table.summary_row import DTYPES

if TYPE_CHECKING:
    import pandas as pd

    from pairbank.stats.analyses.neuro import Probed


def take_probes(root: Path, manifest: dict[str, Any], probed: Iterable[Probed]) -> None:
    """Write probes to a bank's folder and its manifest; those of items that the bank's scores are not of are removed.

    Raises:
        BankError: probes of a model that the bank has no scores of on that corpus, or of other items.
    """
    held: dict[str, dict[str, Any]] = manifest.setdefault(PROBES, {})
    for entry in probed:
        corpus, slug = entry.signature["corpus"]["name"], entry.signature["model"]["slug"]
        if not _fits(manifest, corpus, slug, entry.signature):
            raise BankError(f"probes of {slug} on {corpus!r}: the bank has no scores of this model on these items")
        for path, frame in zip(probe_paths(corpus, slug), (entry.layers, entry.summary), strict=True):
            write_parquet(root / path, _arrow(frame))
        held.setdefault(corpus, {})[slug] = json.loads(json.dumps(entry.signature))
    for corpus, models in held.items():
        for slug in [slug for slug, signature in models.items() if not _fits(manifest, corpus, slug, signature)]:
            del models[slug]
            for path in probe_paths(corpus, slug):
                (root / path).unlink()
    manifest[PROBES] = {corpus: dict(sorted(models.items())) for corpus, models in sorted(held.items()) if models}
    if not manifest[PROBES]:
        del manifest[PROBES]


def probes_in(root: Path, *, corpora: Collection[str] | None = None) -> list[Probed]:
    """Return the probes that a bank holds, of some corpora or of all; a folder that is no bank has none.

    Raises:
        BankError: a file that is damaged, or has other columns.
    """
    if not (root / MANIFEST).is_file():
        return []
    return [
        _read(root, corpus, slug, signature)
        for corpus, models in read_manifest(root).get(PROBES, {}).items()
        for slug, signature in models.items()
        if corpora is None or corpus in corpora
    ]


def probe_problems(root: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a bank's probes."""
    for corpus, models in manifest.get(PROBES, {}).items():
        for slug, signature in models.items():
            if not _fits(manifest, corpus, slug, signature):
                yield f"probes of {slug} on {corpus!r}: the bank has no scores of this model on these items"
            try:
                result = _read(root, corpus, slug, signature)
            except BankError as error:
                yield str(error)
                continue
            for path, frame in zip(probe_paths(corpus, slug), (result.layers, result.summary), strict=True):
                if {*frame["model"]} - {signature["model"]["name"]} or {*frame["corpus"]} - {corpus}:
                    yield f"{path}: rows of another model or corpus"


def _read(root: Path, corpus: str, slug: str, signature: Mapping[str, Any]) -> Probed:
    from pairbank.stats.analyses.neuro import LAYER_DTYPES, Probed

    frames = []
    for path, types in zip(probe_paths(corpus, slug), (LAYER_DTYPES, DTYPES), strict=True):
        frame: pd.DataFrame = read_parquet(root / path).to_pandas()
        if [*frame.columns] != [*types]:
            raise BankError(f"{root / path}: columns {', '.join(frame.columns)}; expected {', '.join(types)}")
        frames.append(frame.astype(types))
    return Probed(layers=frames[0], summary=frames[1], signature=signature)


def _fits(manifest: Mapping[str, Any], corpus: str, slug: str, signature: Mapping[str, Any]) -> bool:
    """Return whether the bank has scores of a model on the items that were probed."""
    scored = manifest["scores"].get(corpus, {}).get(slug)
    return scored is not None and scored["corpus"]["items_sha256"] == signature["corpus"]["items_sha256"]


def _arrow(frame: pd.DataFrame) -> Any:  # noqa: ANN401 - pyarrow has no types
    import pyarrow as pa

    return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
