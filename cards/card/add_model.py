"""How to add a model to a bank: in, its manifest and where it is; out, the commands, filled in, for card and site.

They score the items that the bank holds, read from the bank itself: a corpus by its name would be all of it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pairbank.cards.bank.layout import config_name, items_path
from pairbank.cards.bank.redistribution import is_left_out

MODEL = "ORG/MODEL"
"""Stands for the model in the commands."""
MINE, MERGED = "mine", "merged"
_PER_TOKEN = ("_good_tokens", "_bad_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """Lines for a shell, in their order."""

    fetch: tuple[str, ...]
    """Get the bank, where it is on the Hub."""
    score: tuple[str, ...]
    """A line a corpus."""
    bank: tuple[str, ...]
    merge: tuple[str, ...]
    propose: tuple[str, ...]
    """On the Hub, as a pull request."""
    own_copy: tuple[str, ...]
    """Corpora whose texts the bank leaves out: whoever scores reads them from their own copy."""


def commands_for(manifest: Mapping[str, Any], name: str) -> Commands:
    """Return the commands that score a bank's items with one more model and put the result beside the others.

    Args:
        manifest: the bank's.
        name: the bank's folder, or ORG/NAME on the Hub.
    """
    on_hub = is_on_hub(name)
    folder = name.rsplit("/", maxsplit=1)[-1] if on_hub else name
    corpora: Mapping[str, Any] = manifest["corpora"]
    scores: Mapping[str, Any] = manifest["scores"]
    asked = sorted(corpus for corpus in corpora if scores.get(corpus)) or sorted(corpora)
    left_out = tuple(corpus for corpus in asked if is_left_out(corpora[corpus]))
    files = [f"{config_name(corpus)}.parquet" for corpus in asked]
    public = f"{MINE}-public" if left_out else MINE
    return Commands(
        fetch=(f"hf download {name} --repo-type dataset --local-dir {folder}",) if on_hub else (),
        score=tuple(
            _line("pairbank score", f"{folder}/{items_path(corpus)}", *_model(corpus, manifest), "--out", file)
            for corpus, file in zip(asked, files, strict=True)
        ),
        bank=(
            _line("pairbank bank", *files, "--out", MINE),
            *([_line("pairbank strip", MINE, "--out", public)] if left_out else []),
            _line("pairbank check", public),
        ),
        merge=(_line("pairbank merge", name, public, "--out", MERGED), _line("pairbank check", MERGED)),
        propose=(f"hf upload {name} {MERGED} . --repo-type dataset --create-pr",) if on_hub else (),
        own_copy=left_out,
    )


def is_on_hub(name: str) -> bool:
    """Return whether a bank's name is ORG/NAME on the Hub, and not a folder's.

    >>> is_on_hub("lab/verbs"), is_on_hub("verbs"), is_on_hub("./verbs")
    (True, False, False)
    """
    return re.fullmatch(r"[\w-][\w.-]*/[\w.-]+", name, flags=re.ASCII) is not None


def _model(corpus: str, manifest: Mapping[str, Any]) -> list[str]:
    """Return the model, and the options without which its table would have another form than those of the bank."""
    signatures = manifest["scores"].get(corpus, {})
    if not signatures:
        return ["--model", MODEL]
    signature = signatures[min(signatures)]
    columns = [name for method in signature["methods"].values() for name in method.get("columns") or ()]
    options = ["--data-dir", "FOLDER"] if is_left_out(manifest["corpora"][corpus]) else []
    options += ["--per-token"] if any(name.endswith(_PER_TOKEN) for name in columns) else []
    options += ["--seed", str(signature["seed"])] if signature.get("seed") else []
    return ["--model", MODEL, *options]


def _line(command: str, *parts: str) -> str:
    return " ".join([command, *(shlex.quote(part) for part in parts)])
