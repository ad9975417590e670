"""`merge_banks`: two labs' banks, folders or names on the Hub, to a new folder with what both hold.

Results, manifest and card are made from the whole. What the banks say differently is refused, with what each says.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from pairbank.cards.bank import layout, tables
from pairbank.cards.bank.beside_tables import contradictions, declare, declared_in, united
from pairbank.cards.bank.lock import locked_where_writable
from pairbank.cards.bank.redistribution import is_left_out, lacks_licence
from pairbank.cards.bank.writing import refuse_other_folders, written_anew
from pairbank.cards.check import check_locked, listed
from pairbank.cards.hub.changes import LocalFile
from pairbank.cards.write import finish
from pairbank.errors import BankError
from pairbank.files import cache_dir, read_json, real_path, write_json
from pairbank.scoring.scored import open_scored, read_scored
from pairbank.scoring.signature import method_hashes

if TYPE_CHECKING:
    import datasets


VERSION_FACTS = ("version", "subset", "repair")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    name: str
    root: Path
    manifest: Mapping[str, Any] = field(default_factory=dict)  # empty until its bank is locked
    record: Mapping[str, Any] = field(default_factory=dict)  # what of it is known to be on the Hub


def merge_banks(first: str | Path, second: str | Path, *, out: str | Path, command: str = "") -> Path:
    """Write a bank that holds what two banks hold; return its folder.

    A licence that only one of them states for your own items holds for both.

    Args:
        first: a bank's folder, or `org/name` on the Hub.
        second: the other one.
        out: a new or empty folder, or one that holds this very bank.
        command: how to merge them again, for the card; it follows the commands of both.

    Raises:
        BankError: one is no whole bank, or they contradict each other: another version of a corpus, other numbers or
            another signature of the same model, other methods.
        PublishError: the Hub could not be reached.

    >>> merge_banks("my-bank", "their-bank", out="both")  # doctest: +SKIP
    """
    target = Path(out)
    refuse_other_folders(target)
    sides = [_side(place) for place in (first, second)]
    if real_path(target) in [real_path(side.root) for side in sides]:
        raise BankError(f"{target} is not empty; choose a new folder for the merged bank")
    with contextlib.ExitStack() as locks:
        # in one order, so that two processes that merge the same banks do not wait for each other
        for root in sorted({real_path(side.root) for side in sides}):
            locks.enter_context(locked_where_writable(root))
        a, b = (replace(side, manifest=check_locked(side.root)) for side in sides)
        for side in (a, b):
            layout.refuse_newer(side.root, side.manifest)
        declared = contradictions(*(declared_in(side.manifest) for side in (a, b)))
        conflicts = [*_corpus_conflicts(a, b), *_table_conflicts(a, b)]
        if conflicts := [*conflicts, *(f"{text} (in {a.name} and in {b.name})" for text in declared)]:
            where = f"{a.name} and {b.name} contradict each other in {len(conflicts)} point(s); nothing was written:"
            raise BankError(f"{where}{listed(conflicts)}")
        with written_anew(target, purpose="the merged bank") as staged:
            _write_union(a, b, staged, command)
    return target


def _write_union(a: _Side, b: _Side, staged: Path, command: str) -> None:
    manifest, made_anew = _united(a, b), (layout.CARD, layout.CROISSANT, layout.SUMMARY)
    for side in (b, a):
        for path in layout.bank_files(side.root):
            if path not in made_anew and not path.startswith(f"{layout.REPORTS}/"):
                (staged / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(side.root / path, staged / path)
    _copy_reports(a, b, staged)
    if old := [frame for side in (a, b) if (frame := tables.read_summary(side.root)) is not None]:
        # results of tables without texts are taken over from these
        results = pd.concat(old, ignore_index=True).drop_duplicates([*tables.IDENTITY])
        tables.write_summary(staged / layout.SUMMARY, results)
    summary = tables.summary_of(staged, manifest, {})
    if summary is not None:
        tables.write_summary(staged / layout.SUMMARY, summary)
    finish(staged, manifest, summary, command=command)
    if record := {**a.record, **b.record}:
        write_json(staged / layout.RECORD, record)
    check_locked(staged, depth="quick")


def _side(place: str | Path) -> _Side:
    """Return a bank's folder; one on the Hub is downloaded to our cache, as files and no links."""
    root = Path(place)
    if root.is_dir():
        record = read_json(root / layout.RECORD) if (root / layout.RECORD).is_file() else {}
        return _Side(name=str(place), root=root, record=record)
    repo_id = str(place)
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repo_id, flags=re.ASCII):
        raise BankError(f"{place}: no such folder; expected a bank, or ORG/NAME on the Hub")
    from huggingface_hub import HfApi

    from pairbank.cards.hub.repository import Repository, with_retries

    repository = Repository(api=HfApi(), repo_id=repo_id)
    remote = with_retries(f"read {repo_id}", repository.read)
    if not remote.revision:
        raise BankError(f"{repo_id}: neither a folder here nor a dataset on the Hub that your token can see")
    folder = cache_dir() / "banks" / repo_id.replace("/", "--") / remote.revision

    snapshot = partial(repository.api.snapshot_download, repo_id, repo_type="dataset", local_dir=folder)
    root = Path(with_retries(f"download {repo_id}", partial(snapshot, revision=remote.revision)))
    files = {path: LocalFile(content=root / path).etags for path in (*layout.bank_files(root), layout.MANIFEST)}
    return _Side(name=repo_id, root=root, record={repository.url: {"revision": remote.revision, "files": files}})


def _corpus_conflicts(a: _Side, b: _Side) -> Iterator[str]:
    for name in sorted(a.manifest["corpora"].keys() & b.manifest["corpora"].keys()):
        facts = [side.manifest["corpora"][name] for side in (a, b)]
        stated = [(key, *(f.get(key) for f in facts)) for key in VERSION_FACTS]
        differ = [(key, x, y) for key, x, y in stated if x != y]
        yield from (f"corpus {name!r}: {key} {x!r} in {a.name}, {y!r} in {b.name}" for key, x, y in differ)
        licences = [(f.get("source") or {}).get("licence") for f in facts]
        if licences[0] != licences[1] and not any(lacks_licence(name, f) for f in facts):
            yield f"corpus {name!r}: licence {licences[0]!r} in {a.name}, {licences[1]!r} in {b.name}"
        if is_left_out(facts[0]) != is_left_out(facts[1]):
            whole, other = (b, a) if is_left_out(facts[0]) else (a, b)
            yield (
                f"corpus {name!r}: texts in {whole.name}, left out in {other.name}; leave them out in both "
                f"(pairbank strip {whole.name})"
            )
        elif not differ and (result := _file_difference(layout.items_path(name), a, b, tables.read_table)):
            yield f"corpus {name!r}: {result}"


def _table_conflicts(a: _Side, b: _Side) -> Iterator[str]:
    """Yield what is said differently of ratings, scores and probes that both banks hold."""
    for name in sorted(a.manifest.get(layout.RATINGS, {}).keys() & b.manifest.get(layout.RATINGS, {}).keys()):
        if result := _file_difference(layout.ratings_path(name), a, b, tables.read_table):
            yield f"corpus {name!r}, ratings: {result}"
    for kind, what in (("scores", "model"), (layout.PROBES, "probes of")):
        ours, theirs = a.manifest.get(kind, {}), b.manifest.get(kind, {})
        for name in sorted(ours.keys() & theirs.keys()):
            for slug in sorted(ours[name].keys() & theirs[name].keys()):
                where = f"corpus {name!r}, {what} {slug!r}"
                differ = signature_differences(ours[name][slug], theirs[name][slug])
                yield from (f"{where}: {key} is {x!r} in {a.name}, {y!r} in {b.name}" for key, x, y in differ[:3])
                if differ:
                    continue
                if kind == layout.PROBES:
                    paths = layout.probe_paths(name, slug)
                    is_same = all((a.root / path).read_bytes() == (b.root / path).read_bytes() for path in paths)
                    result = "" if is_same else f"other numbers in {a.name} than in {b.name}"
                else:
                    path = layout.scores_path(name, slug)
                    result = _file_difference(path, a, b, lambda file: read_scored(file).dataset)
                if result:
                    yield f"{where}: {result}"
            if kind == "scores":
                yield from _form_conflicts(name, a, b)


def _file_difference(path: str, a: _Side, b: _Side, read: Callable[[Path], datasets.Dataset]) -> str:
    """Return what `table_difference` says of two banks' files; files of the same bytes are not read into memory."""
    if a.manifest["files"][path] == b.manifest["files"][path]:  # `check` has compared them with the files
        return ""
    return table_difference(read(a.root / path), read(b.root / path), a.name, b.name)


def _form_conflicts(name: str, a: _Side, b: _Side) -> Iterator[str]:
    slugs = [min(side.manifest["scores"][name], default="") for side in (a, b)]
    if "" in slugs or slugs[0] == slugs[1]:
        return
    ours, theirs = a.manifest["scores"][name][slugs[0]], b.manifest["scores"][name][slugs[1]]
    where = f"corpus {name!r}, models {slugs[0]} ({a.name}) and {slugs[1]} ({b.name})"
    if ours["corpus"]["items_sha256"] != theirs["corpus"]["items_sha256"]:
        yield f"{where}: scored on different items ({ours['corpus']['n_items']} and {theirs['corpus']['n_items']})"
    hashes = [method_hashes(signature) for signature in (ours, theirs)]
    if differ := tables.differing_keys(*hashes):
        yield f"{where}: method(s) {', '.join(differ)} in one only, or in another wording"
        return
    paths = (side.root / layout.scores_path(name, slug) for side, slug in zip((a, b), slugs, strict=True))
    features = [open_scored(path).features for path in paths]
    if columns := tables.differing_keys(*features):
        yield f"{where}: column(s) {', '.join(columns)} in one only, or of another type"


def signature_differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return (key, value in a, value in b) where two signatures differ, keys joined by dots.

    What is to be cited is no difference: it changes no number, and a newer version may know better. A prompt's wording
    is compared by the hash beside it.

    >>> signature_differences({"model": {"dtype": "float32"}, "seed": 0}, {"model": {"dtype": "bfloat16"}, "seed": 0})
    [('model.dtype', 'float32', 'bfloat16')]
    """
    results: list[tuple[str, Any, Any]] = []
    for key in sorted((a.keys() | b.keys()) - {"cites", "prompt"}):
        x, y = a.get(key), b.get(key)
        if isinstance(x, Mapping) and isinstance(y, Mapping):
            results += [(f"{key}.{inner}", *values) for inner, *values in signature_differences(x, y)]
        elif x != y:
            results.append((key, x, y))
    return results


def table_difference(a: datasets.Dataset, b: datasets.Dataset, name_a: str, name_b: str) -> str:
    """Return in words the first difference between two tables; "" = they hold the same. No text is quoted."""
    if len(a) != len(b):
        return f"{len(a)} rows in {name_a}, {len(b)} in {name_b}"
    if differ := tables.differing_keys(a.features, b.features):
        return f"column(s) {', '.join(differ)} in one only, or of another type"
    for column in ("item_id", *(name for name in a.column_names if name != "item_id")):
        ours, theirs = (table.select_columns([column]).with_format("arrow")[:][column] for table in (a, b))
        if tables.same_cells(ours, theirs):
            continue
        if column == "item_id":
            return f"other items, or in another order, in {name_a} than in {name_b}"
        pairs = zip(a["item_id"][:], map(repr, ours.to_pylist()), map(repr, theirs.to_pylist()), strict=True)
        rows = [row for row in pairs if row[1] != row[2]]
        shown = f" ({rows[0][1]} and {rows[0][2]})" if "float" in str(a.features[column]) else ""
        return f"column {column} differs in {len(rows)} row(s), first {rows[0][0]}{shown}"
    return ""


def _united(a: _Side, b: _Side) -> dict[str, Any]:
    # in the order of both, with the facts of the first
    corpora = {**a.manifest["corpora"], **b.manifest["corpora"], **a.manifest["corpora"]}
    for name, facts in b.manifest["corpora"].items():
        if lacks_licence(name, corpora[name]) and not lacks_licence(name, facts):
            corpora[name] = {**corpora[name], "source": facts["source"]}
    commands = dict.fromkeys(line for side in (a, b) for line in side.manifest.get("command", "").splitlines() if line)
    texts: dict[str, Any] = {
        key: "; ".join(dict.fromkeys(text for side in (a, b) if (text := side.manifest.get(key))))
        for key in ("title", "contact")
    }
    texts["authors"] = list(dict.fromkeys(name for side in (a, b) for name in side.manifest.get("authors", [])))
    ratings = {**b.manifest.get(layout.RATINGS, {}), **a.manifest.get(layout.RATINGS, {})}
    manifest: dict[str, Any] = {
        "corpora": corpora,
        "scores": _by_corpus(a.manifest["scores"], b.manifest["scores"]),
        "command": "\n".join(commands),
    }
    manifest |= {key: text for key, text in texts.items() if text}
    probes = _by_corpus(*(side.manifest.get(layout.PROBES, {}) for side in (a, b)))
    manifest |= {key: table for key, table in ((layout.RATINGS, ratings), (layout.PROBES, probes)) if table}
    declare(manifest, united(declared_in(a.manifest), declared_in(b.manifest)))
    return manifest


def _by_corpus(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: {**theirs.get(name, {}), **ours.get(name, {})} for name in {**ours, **theirs}}


def _copy_reports(a: _Side, b: _Side, target: Path) -> None:
    """Copy the reports of both; one that both have in different versions gets a second folder, `<study>-2`."""
    folders: dict[str, Path] = {}
    for side in (a, b):
        for folder in sorted(p for p in (side.root / layout.REPORTS).glob("*") if p.is_dir()):
            if folder.name in folders and _contents(folders[folder.name]) == _contents(folder):
                continue
            number = 2
            name = folder.name
            while name in folders:
                name, number = f"{folder.name}-{number}", number + 1
            folders[name] = folder
    for name, folder in folders.items():
        shutil.copytree(folder, target / layout.REPORTS / name)


def _contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
