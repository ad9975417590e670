"""The Croissant file against the bank: in, its text, the files' hashes and columns; out, every difference, in words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def croissant_problems(
    text: str, configs: Sequence[Mapping[str, Any]], columns: Mapping[str, Mapping[str, str]], hashes: Mapping[str, str]
) -> list[str]:
    """Return what a Croissant file says that is not so, and what it leaves out.

    Args:
        text: croissant.json.
        configs: of the bank, with a path a split.
        columns: config -> column -> type, as the files have them.
        hashes: path -> sha256 of every data file.
    """
    try:
        stated = json.loads(text)
        files = {one["name"]: one.get("sha256") for one in stated["distribution"] if one["@type"] == "cr:FileObject"}
        sets = {one["name"]: [field["name"] for field in one["field"]] for one in stated["recordSet"]}
    except (ValueError, TypeError, KeyError) as error:
        return [f"not a Croissant file of pairbank's ({type(error).__name__}: {str(error)[:80]})"]
    files.pop("repo", None)
    return [*_file_problems(files, hashes), *_set_problems(sets, configs, columns)]


def _file_problems(stated: Mapping[str, Any], hashes: Mapping[str, str]) -> Iterator[str]:
    yield from (f"{path} is not listed" for path in sorted(hashes.keys() - stated.keys()))
    yield from (f"lists {path[:200]!r}, which the bank has not" for path in sorted(stated.keys() - hashes.keys()))
    for path in sorted(hashes.keys() & stated.keys()):
        if stated[path] != hashes[path]:
            yield f"stale: {path} has another sha256"


def _set_problems(
    stated: Mapping[str, list[Any]], configs: Sequence[Mapping[str, Any]], columns: Mapping[str, Mapping[str, str]]
) -> Iterator[str]:
    known = {str(config["config_name"]): len(config["data_files"]) > 1 for config in configs}
    yield from (f"config {name} is not described" for name in sorted(known.keys() - stated.keys()))
    yield from (f"describes {name[:200]!r}, which is no config" for name in sorted(stated.keys() - known.keys()))
    for name in sorted(known.keys() & stated.keys()):
        expected = [*(["split"] if known[name] else []), *columns[name]]
        if differ := sorted(set(map(str, stated[name])) ^ set(expected)):
            yield f"stale: config {name} has other columns ({', '.join(differ)[:200]})"
