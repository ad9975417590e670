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
from pairbank.scoring.api.names import DIRECT
from pairbank.scoring.methods.prompted import prompt_of_definition
from pairbank.scoring.methods.registry import FAMILIES

MODEL = "ORG/MODEL"
"""Stands for the model in the commands."""
FILE = "NUMBERS.csv"
"""Stands for a file with the model's numbers, where methods were computed elsewhere."""
MINE, MERGED = "mine", "merged"
_PER_TOKEN = ("_good_tokens", "_bad_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """Lines for a shell, in their order."""

    fetch: tuple[str, ...]
    """Get the bank, where it is on the Hub."""
    score: tuple[str, ...]
    """A line a corpus: it scores the items, or imports numbers where a method was computed elsewhere."""
    bank: tuple[str, ...]
    merge: tuple[str, ...]
    propose: tuple[str, ...]
    """On the Hub, as a pull request."""
    own_copy: tuple[str, ...]
    """Corpora whose texts the bank leaves out: whoever scores reads them from their own copy."""


def commands_for(manifest: Mapping[str, Any], name: str) -> Commands:
    """Return the commands that score a bank's items with one more model and put the result beside the others."""
    on_hub = is_on_hub(name)
    folder = name.rsplit("/", maxsplit=1)[-1] if on_hub else name
    corpora: Mapping[str, Any] = manifest["corpora"]
    scores: Mapping[str, Any] = manifest["scores"]
    scored = sorted(corpus for corpus in corpora if scores.get(corpus)) or sorted(corpora)
    left_out = tuple(corpus for corpus in scored if is_left_out(corpora[corpus]))
    files = [_result(corpus, manifest) for corpus in scored]
    public = f"{MINE}-public" if left_out else MINE
    return Commands(
        fetch=(f"hf download {name} --repo-type dataset --local-dir {folder}",) if on_hub else (),
        score=tuple(line for corpus in scored for line in _scored(corpus, manifest, folder)),
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


def _signature(corpus: str, manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    models = manifest["scores"].get(corpus, {})
    return models[min(models)] if models else {"methods": {}}


def _elsewhere(methods: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {
        name: definition
        for name, definition in methods.items()
        if (name != DIRECT and "imported" in definition)
        or (name not in FAMILIES and prompt_of_definition(name, definition) is None)
    }


def _result(corpus: str, manifest: Mapping[str, Any]) -> str:
    name = config_name(corpus)
    return f"{name}-import" if _elsewhere(_signature(corpus, manifest)["methods"]) else f"{name}.parquet"


def _scored(corpus: str, manifest: Mapping[str, Any], folder: str) -> list[str]:
    items, out, signature = f"{folder}/{items_path(corpus)}", _result(corpus, manifest), _signature(corpus, manifest)
    methods = dict(sorted(signature["methods"].items()))
    options = ["--data-dir", "FOLDER"] if is_left_out(manifest["corpora"][corpus]) else []
    imported = _elsewhere(methods)
    if not imported:
        # without these options its table would have another form than those of the bank
        columns = [name for method in methods.values() for name in method.get("columns") or ()]
        options += ["--per-token"] if any(column.endswith(_PER_TOKEN) for column in columns) else []
        seed = signature.get("seed")
        options += ["--seed", str(seed)] if isinstance(seed, int) and seed else []
        return [_line("pairbank score", items, "--model", MODEL, *(options if methods else []), "--out", out)]
    columns = ["item_id", *(column for name, facts in methods.items() for column in _columns(name, facts))]
    declared = [part for name, facts in imported.items() for part in ("--score", _declared(name, facts))]
    names = ", ".join(re.sub(r"[^\w:.-]", "_", column) for column in columns)
    return [
        f"# {FILE}: one row per item, with the columns {names}",
        _line("pairbank import", FILE, "--items", items, *options, "--model", MODEL, *declared, "--out", out),
    ]


def _columns(name: str, definition: Mapping[str, Any]) -> list[str]:
    layout = definition["layout"]
    if layout.get("readout") == "decision" and layout["kind"] != "rating":
        return [str(column) for column in definition.get("imported", {}).get("columns") or (name,)]
    if layout.get("presentations") and layout["kind"] != "rating":
        return [f"{name}:{shown}:{option}" for shown in layout["presentations"] for option in layout["options"]]
    return [f"{name}_good", f"{name}_bad"]


def _declared(name: str, definition: Mapping[str, Any]) -> str:
    imported = definition.get("imported", {})
    kind = str(imported.get("kind", "score"))
    parts = [f"{name}={kind}"]
    if kind in ("score", "rating"):
        parts.append(f"direction={imported.get('direction') or 'higher'}")
    if imported.get("unit"):
        parts.append(f"unit={imported['unit']}")
    if imported.get("scale"):
        parts.append("scale=" + "-".join(f"{end:g}" for end in imported["scale"]))
    parts += [f"{meaning}={'|'.join(cells)}" for meaning, cells in sorted((imported.get("answers") or {}).items())]
    parts += [f"label={imported['label']}"] if imported.get("label") else []
    return ",".join(parts)


def _line(command: str, *parts: str) -> str:
    return " ".join([command, *(shlex.quote(part) for part in parts)])
