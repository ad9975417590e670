"""A bank's versions: in, its manifest before and the hashes of its files now; out, what each writing changed.

A version is a state of the data: writing the same tables again makes none. There are no dates, so that the same steps
give the same bytes; on the Hub the commits have them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pairbank.cards.bank.layout import LONG, PROBES, SUMMARY, items_path, probe_paths, scores_path

MOST_NAMES = 12
"""Corpora and models named in one line."""


def with_version(manifest: Mapping[str, Any], hashes: Mapping[str, str], pairbank: str) -> list[dict[str, Any]]:
    """Return the bank's versions, with one more where its tables have changed.

    Args:
        manifest: as the bank will have it; `files` and `history` are still those of the state before.
        hashes: path -> sha256 of every data file now.
        pairbank: version of pairbank that writes.
    """
    before = {path: digest for path, digest in manifest.get("files", {}).items() if path.endswith(".parquet")}
    history = list(manifest.get("history", []))
    changes = list(_changes(manifest, before, hashes))
    return [*history, {"pairbank": pairbank, "changes": changes}] if changes else history


def _changes(manifest: Mapping[str, Any], before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """Yield in words what is new, other or gone; long views follow their scored tables, and are not named."""
    before, now = ({path: x for path, x in files.items() if not path.startswith(f"{LONG}/")} for files in (before, now))
    corpora = {items_path(name): f"{name} ({facts['n_items']:,} items)" for name, facts in manifest["corpora"].items()}
    scores = {
        scores_path(corpus, slug): str(signature["model"]["name"])
        for corpus, models in manifest["scores"].items()
        for slug, signature in models.items()
    }
    probes = {
        path: f"{signature['model']['name']} on {corpus}"
        for corpus, models in manifest.get(PROBES, {}).items()
        for slug, signature in models.items()
        for path in probe_paths(corpus, slug)
    }
    new = [path for path in now if path not in before]
    other = [path for path in now if path in before and before[path] != now[path]]
    gone = [path for path in before if path not in now]
    for verb, paths in (("added", new), ("changed", other)):
        if named := [corpora[path] for path in paths if path in corpora]:
            yield f"{verb} items: {_few(named)}"
        if tables := [path for path in paths if path in scores]:
            yield f"{verb} {_counted(len(tables), 'scored table')}: {_few([scores[path] for path in tables])}"
        if result := [probes[path] for path in paths if path in probes]:
            yield f"{verb} probes: {_few(result)}"
        rest = [path for path in paths if path not in corpora | scores | probes and path != SUMMARY]
        if rest:
            yield f"{verb} {_few(rest)}"
    if gone:
        yield f"removed {_few(gone)}"


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _few(names: Sequence[str]) -> str:
    known = list(dict.fromkeys(names))
    more = f" and {len(known) - MOST_NAMES} more" if len(known) > MOST_NAMES else ""
    return ", ".join(known[:MOST_NAMES]) + more
