"""A bank rewritten as a whole or not at all: in, its folder; out, a copy to change, which takes the bank's place.

The new state is made beside the old one, in `.pairbank-writing/new`; what stays the same is a link to the same file.
When it is whole, `.pairbank-writing/whole` says so, and its files are moved to their places, the manifest last. A
process that is killed before that leaves the old bank; one that is killed later leaves a change that the next writer
completes. A `Draft` is the bank as it will be: it takes items, scored tables and licences, or says why they do not fit.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pairbank.builders.corpora.registry import CORPORA
from pairbank.cards.bank import layout
from pairbank.cards.bank.lock import LOCK, locked, remove_leftovers
from pairbank.cards.bank.redistribution import TEXTS, may_publish, score_columns, with_licence
from pairbank.cards.bank.tables import read_items, same_cells
from pairbank.cards.bank.values import definition_problems, value_problems
from pairbank.errors import BankError, OutputError, PairbankError
from pairbank.files import cleaned_up, refused
from pairbank.scoring.scored import MODEL, Scored, open_scored
from pairbank.scoring.signature import method_hashes, shared

if TYPE_CHECKING:
    import datasets

WRITING = ".pairbank-writing"
_NEW, _WHOLE = "new", "whole"
_LOG = logging.getLogger(__name__)

IDENTITY = (
    "model_id",
    "revision",
    "dtype",
    "quantisation",
    "backend",
    "architecture",
    "prompt_format",
    "bos_policy",
    "pll",
    "seq2seq_mode",
)
"""Values of a signature that make a model another one, with other numbers."""
CUT = "keep what all tables have: pairbank cut FILE FILE … --out alike, and a bank of the files in alike"

_IDENTITY_OF_ITEMS = {"item_id", *TEXTS}


@contextlib.contextmanager
def rewritten(root: Path) -> Iterator[Path]:
    """Yield a folder with the bank as it is, alone with it; what the block makes of it becomes the bank.

    A folder that is new or empty yields an empty one. If the block ends with an error, the bank stays as it was.
    """
    with _staged(root) as (staged, check):
        if (root / layout.MANIFEST).is_file():
            layout.refuse_newer(root, layout.read_manifest(root))
        for path in (layout.MANIFEST, *layout.bank_files(root)):
            if (root / path).is_file():
                (staged / path).parent.mkdir(parents=True, exist_ok=True)
                try:
                    os.link(root / path, staged / path)
                except OSError:  # a file system without hard links
                    shutil.copyfile(root / path, staged / path)
        yield staged
        _commit(root, check)


@contextlib.contextmanager
def written_anew(root: Path, *, purpose: str) -> Iterator[Path]:
    """Yield an empty folder; what the block puts there becomes the bank, where there is none but the very same."""
    with _staged(root) as (staged, check):
        yield staged
        if not (root / layout.MANIFEST).is_file():
            _commit(root, check)
        elif (root / layout.MANIFEST).read_bytes() != (staged / layout.MANIFEST).read_bytes():
            raise BankError(f"{root} is not empty; choose a new folder for {purpose}")


@contextlib.contextmanager
def _staged(root: Path) -> Iterator[tuple[Path, Callable[[], None]]]:
    with errors_named(root):
        refuse_other_folders(root)
    with errors_named(root), locked(root) as check:
        if is_unfinished(root):
            _LOG.warning("%s: completing a change that was cut off", root)
            _move(root)
        elif (root / WRITING).exists():
            shutil.rmtree(root / WRITING)
        remove_leftovers(root)
        refuse_other_folders(root)
        staged = root / WRITING / _NEW
        with cleaned_up(lambda: None if is_unfinished(root) else shutil.rmtree(root / WRITING, ignore_errors=True)):
            staged.mkdir(parents=True)
            yield staged, check


def _commit(root: Path, check: Callable[[], None]) -> None:
    check()
    for path in (root / WRITING / _NEW).rglob("*"):  # on the disk before any takes the place of an old one
        if stat.S_ISREG(path.lstat().st_mode):
            with path.open("rb") as file:
                os.fsync(file.fileno())
    try:
        (root / WRITING / _WHOLE).touch()
        _move(root)
    except KeyboardInterrupt:
        if is_unfinished(root):
            _move(root)
        raise


def refuse_other_folders(root: Path) -> None:
    """Refuse a place where no bank can be written: a file, a device, or a folder with other things in it."""
    if not os.path.lexists(root):
        return
    if not root.is_dir():
        raise BankError(f"{root} exists and is not a bank (no folder); choose an empty or new folder")
    if (root / WRITING).is_symlink():
        raise BankError(f"{root / WRITING}: a link, which pairbank never makes; remove it")
    if foreign := layout.foreign_entries(root):
        raise BankError(
            f"{root / foreign[0]}: a link, device or pipe; a bank has none. Put the file itself there, or remove it"
        )
    if (root / layout.MANIFEST).is_file() or (root / WRITING / _WHOLE).is_file():
        return
    if others := sorted(p.name for p in root.iterdir() if not p.name.startswith((LOCK, WRITING))):
        found = f"no {layout.MANIFEST}; it holds {others[0]}"
        raise BankError(f"{root} exists and is not a bank ({found}); choose an empty or new folder")


@contextlib.contextmanager
def errors_named(root: Path) -> Iterator[None]:
    """Say of what the operating system refuses which bank it was about, and what to do."""
    try:
        yield
    except OSError as error:
        problem = error.__cause__ if isinstance(error, OutputError) else error
        if not isinstance(problem, OSError) or (problem is error and isinstance(error, PairbankError)):
            raise
        raise BankError(str(refused(root, problem, saying="the bank cannot be written and is as it was"))) from error


def is_unfinished(root: Path) -> bool:
    """Return whether a writer was killed while it moved files to their places."""
    return (root / WRITING / _WHOLE).is_file()


def _move(root: Path) -> None:
    """Move the new files to their places, remove what is not of the bank any more, and put the manifest there last."""
    staged = root / WRITING / _NEW
    manifest = layout.read_manifest(staged if (staged / layout.MANIFEST).is_file() else root)
    for path in layout.bank_files(staged):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (staged / path).replace(root / path)
    for path in set(layout.bank_files(root)) - set(manifest.get("files", {})):
        (root / path).unlink()
    for folder in sorted((p for name in layout.FOLDERS for p in (root / name).rglob("*") if p.is_dir()), reverse=True):
        with contextlib.suppress(OSError):
            folder.rmdir()
    for name in (layout.RECORD, layout.MANIFEST):
        if (staged / name).is_file():
            (staged / name).replace(root / name)
    (root / WRITING / _WHOLE).unlink()
    shutil.rmtree(root / WRITING)


@dataclass(slots=True, kw_only=True)
class Draft:
    """A bank as it will be: the manifest, and what of it is new in this call."""

    root: Path
    manifest: dict[str, Any]
    items: dict[str, datasets.Dataset | Scored] = field(default_factory=dict)
    """New items, or a table that has them: `items_of` takes them out of it."""
    scored: dict[tuple[str, str], Scored] = field(default_factory=dict)
    ratings: dict[str, datasets.Dataset] = field(default_factory=dict)
    parts: dict[str, Any] = field(default_factory=dict)
    """Parts that many signatures have, each once."""

    def items_of(self, corpus: str) -> datasets.Dataset:
        if corpus in self.items:
            held = self.items[corpus]
            return items_of_scored(held) if isinstance(held, Scored) else held
        return read_items(self.root, corpus)

    def table_of(self, corpus: str, slug: str) -> Scored:
        if (corpus, slug) in self.scored:
            return self.scored[corpus, slug]
        return open_scored(self.root / layout.scores_path(corpus, slug))


def take_items(draft: Draft, items: datasets.Dataset | Scored) -> None:
    from pairbank.builders.dataset import manifest_of

    name = items.corpus if isinstance(items, Scored) else str(items["corpus"][0])
    stated = items.signature["corpus"].get("manifest") if isinstance(items, Scored) else manifest_of(items)
    before = draft.manifest["corpora"].get(name, {})
    kept = {key: before[key] for key in ("texts",) if key in before}
    if name not in CORPORA and may_publish(name, before):
        kept["source"] = before["source"]
    draft.items[name] = items
    draft.manifest["corpora"][name] = {**(stated or {"corpus": name}), **kept, "n_items": len(items)}


def take_scored(draft: Draft, table: Scored) -> None:
    corpus, slug = table.corpus, table.model_slug
    if not layout.is_slug(slug):
        raise BankError(f"model {table.model[:80]!r}: {slug[:80]!r} cannot name a split; score it under another name")
    if problems := [*value_problems(table), *definition_problems(table.signature)]:
        raise BankError(f"corpus {corpus!r}: scores of {slug}: {'; '.join(problems)}")
    models = draft.manifest["scores"].setdefault(corpus, {})
    for what, name, others in (("model", slug, models), ("corpus", corpus, draft.manifest["corpora"])):
        if twin := layout.file_twin(name, others):
            raise BankError(
                f"corpus {corpus!r}: {what} {name!r} and the bank's {twin!r} differ by case alone, and would be one "
                "file on macOS and Windows; give one of them another name"
            )
    if other := next((name for name in models if name != slug), ""):  # the others are alike among themselves
        _check_alike(table, other, models[other])
    _check_identity(draft.manifest, table)
    if corpus not in draft.manifest["corpora"]:
        take_items(draft, table)
    elif differ := _differing_columns(draft.items_of(corpus), table):
        if not _IDENTITY_OF_ITEMS & {*differ}:
            raise BankError(
                f"corpus {corpus!r}: column(s) {', '.join(differ)} in the table of {slug} are not those of the bank's "
                "items; score the bank's items, or write another bank"
            )
        if corpus in draft.items:
            raise BankError(f"corpus {corpus!r}: {slug} was scored on other items than those given; give one version")
        take_items(draft, table)
    draft.scored[corpus, slug] = table
    models[slug] = shared(json.loads(json.dumps(table.signature)), draft.parts)


def _check_identity(manifest: Mapping[str, Any], table: Scored) -> None:
    """Refuse two models of one name, in whichever corpora: folders of one name, revisions, dtypes or prompt formats."""
    ours, slug = table.signature["model"], table.model_slug
    for corpus, models in manifest["scores"].items():
        theirs = models[slug]["model"] if slug in models else ours
        if key := differing_key(theirs, ours):
            raise BankError(
                f"corpus {corpus!r}: models {theirs['model_id']} and {ours['model_id']} would both be the split "
                f"{slug!r}, and their {key} is {theirs.get(key)!r} and {ours.get(key)!r}; score one under another "
                "name, or write another bank"
            )


def differing_key(a: Mapping[str, Any], b: Mapping[str, Any], keys: Sequence[str] = IDENTITY) -> str:
    """Return the first value of a signature's model by which two models are not one; "" = they are one.

    >>> differing_key({"model_id": "a", "pll": ""}, {"model_id": "a"}), differing_key({"dtype": "float32"}, {})
    ('', 'dtype')
    """
    return next((key for key in keys if (a.get(key) or None) != (b.get(key) or None)), "")


def _check_alike(table: Scored, slug: str, other: Mapping[str, Any]) -> None:
    """Refuse two models whose tables differ in items or methods: splits of one config must have one form."""
    where = f"corpus {table.corpus!r}: models {table.model_slug} and {slug}"
    if other["corpus"]["items_sha256"] != table.signature["corpus"]["items_sha256"]:
        raise BankError(
            f"{where} were scored on different items; score both on the same corpus version and limit, or {CUT}"
        )
    hashes = [method_hashes(signature) for signature in (other, table.signature)]
    if hashes[0] != hashes[1]:
        raise BankError(
            f"{where} were scored with different methods, or other wordings of them ({', '.join(table.methods)} and "
            f"{', '.join(other['methods'])}); score both with the same ones, or {CUT}"
        )


def items_of_scored(table: Scored) -> datasets.Dataset:
    """Return the items of a scored table: its columns without the model's name and those of the methods."""
    scores = {MODEL, *score_columns(table.signature["methods"])}
    return table.select_columns([name for name in table.column_names if name not in scores])


def check_old_scores(draft: Draft) -> None:
    """Refuse new items of a corpus on which a table that stays was not scored."""
    for name in draft.items:
        for slug in draft.manifest["scores"].get(name, {}):
            if (name, slug) not in draft.scored and _differing_columns(
                draft.items_of(name), draft.table_of(name, slug)
            ):
                raise BankError(
                    f"corpus {name!r}: the bank's scores of {slug} are of other items than those given; "
                    "score them again, or write another bank"
                )


def _differing_columns(items: datasets.Dataset, table: Scored) -> list[str]:
    """Return the columns in which a table's items are not these; a table without texts has ids and labels alone."""

    def theirs(name: str) -> pa.ChunkedArray:
        return items.select_columns([name]).with_format("arrow")[:][name]

    def ours(name: str) -> pa.ChunkedArray:
        return table.arrow([name])[name]

    rows = pc.index_in(ours("item_id"), theirs("item_id").combine_chunks())
    if rows.null_count:
        return ["item_id"]
    columns = [name for name in table.column_names if name in items.column_names and name != MODEL]
    pairs = ((name, ours(name), theirs(name).take(rows)) for name in columns)  # a column at a time: memory
    return [name for name, own, other in pairs if not own.equals(other) and not same_cells(own, other)]


def state_licences(manifest: dict[str, Any], licences: Mapping[str, str]) -> None:
    for name, licence in licences.items():
        if name not in manifest["corpora"]:
            raise BankError(
                f"no corpus {name!r} in this bank to state a licence of; it has {list(manifest['corpora'])}"
            )
        manifest["corpora"][name] = with_licence(name, manifest["corpora"][name], licence)
