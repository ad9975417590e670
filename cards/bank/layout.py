"""Where things stand in a bank: in, names of corpora and models; out, paths and config names.

Any file system, `load_dataset` and the Hub accept them, whatever the names.

README.md                              the dataset card; its `configs:` are what `load_dataset` reads
data/<corpus>/items.parquet            config `<corpus>`, split `items`
scores/<corpus>/<model>.parquet        config `<corpus>_scored`, one split a model
results/summary.parquet                config `summary`, split `results`
reports/<study>/                       report.md, CSV tables, figures and captions.json beside them
manifest.json                          signatures, counts and file hashes; written last
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pairbank.errors import BankError
from pairbank.files import read_json, sha256_of_text

CARD = "README.md"
MANIFEST = "manifest.json"
SUMMARY = "results/summary.parquet"
REPORTS = "reports"
RECORD = ".published.json"
"""What was published last, and where; stays on this machine."""
FOLDERS = ("data", "scores", "results", REPORTS)
NAME_BYTES = 96
LEFT_OUT = "left out"
"""Value of `texts` in a corpus's facts where the bank holds its ids and scores only."""


def config_name(corpus: str) -> str:
    r"""Return the config and folder of a corpus: its name, or a safe form of it that no other corpus has.

    >>> config_name("hu-levy-blimp"), config_name("summary"), config_name("../my <pairs>")
    ('hu-levy-blimp', 'summary_80b8fd96', 'my_pairs_11459350')
    """
    safe = "_".join(part for part in re.split(r"[^\w.-]+", corpus) if part).strip("._-")
    safe = safe.encode()[:NAME_BYTES].decode(errors="ignore")
    is_free = safe not in ("summary", "default", "data") and not safe.endswith("_scored")
    if safe == corpus and is_free:
        return corpus
    return f"{safe or 'corpus'}_{sha256_of_text(corpus)[:8]}"


def is_slug(name: str) -> bool:
    """Return whether a name can be that of a split, and so of a file.

    >>> is_slug("SmolLM2_135M"), is_slug("../SmolLM2"), is_slug("all")
    (True, False, False)
    """
    return re.fullmatch(r"\w+(\.\w+)*", name) is not None and name != "all"


def items_path(corpus: str) -> str:
    """Return where a corpus's items stand."""
    return f"data/{config_name(corpus)}/items.parquet"


def scores_path(corpus: str, slug: str) -> str:
    """Return where a model's scores of a corpus stand.

    Raises:
        BankError: the slug, which may come from somebody else's manifest, cannot name a split.
    """
    if not is_slug(slug):
        raise BankError(f"corpus {corpus[:80]!r}: {slug[:80]!r} cannot name a split; this is no manifest of pairbank's")
    return f"scores/{config_name(corpus)}/{slug}.parquet"


def tables(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (corpus, model slug) of every scored table, sorted."""
    for corpus, models in sorted(manifest["scores"].items()):
        for slug in sorted(models):
            yield corpus, slug


def data_files(manifest: Mapping[str, Any]) -> list[str]:
    """Return the paths of all parquet files that the manifest says the bank has."""
    files = [items_path(name) for name in manifest["corpora"]]
    files += [scores_path(corpus, slug) for corpus, slug in tables(manifest)]
    return sorted([*files, *([SUMMARY] if manifest["scores"] else [])])


def bank_files(root: Path) -> list[str]:
    """Return the paths of all files in a bank's own folders, and its card; the manifest is not among them."""
    found = [p for folder in FOLDERS for p in (root / folder).rglob("*") if p.is_file()]
    names = [p.relative_to(root).as_posix() for p in found if not p.name.startswith(".")]
    return sorted([*names, *([CARD] if (root / CARD).is_file() else [])])


def read_manifest(root: Path) -> dict[str, Any]:
    """Return a bank's manifest.

    Raises:
        BankError: the folder has none, or not one of a bank.
    """
    if not (root / MANIFEST).is_file():
        raise BankError(f"{root}: not a bank (no {MANIFEST}); expected a folder that pairbank.write_bank wrote")
    manifest = read_json(root / MANIFEST)
    if not isinstance(manifest, dict) or not {"corpora", "scores"} <= manifest.keys():
        raise BankError(f"{root / MANIFEST}: lacks corpora or scores; expected what pairbank.write_bank wrote")
    return manifest
