"""A bank as it will be: in, items, scored tables and licences; out, a manifest, or the reason why they do not fit.

Nothing is written here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pairbank.builders.corpora.registry import CORPORA
from pairbank.cards.bank.layout import MANIFEST, items_path, read_manifest, scores_path
from pairbank.cards.bank.manifest import is_slug
from pairbank.cards.bank.redistribution import TEXTS, may_publish, score_columns, with_licence
from pairbank.cards.bank.tables import read_table
from pairbank.cards.bank.values import definition_problems, value_problems
from pairbank.errors import BankError
from pairbank.scoring.scored import MODEL, Scored, open_scored
from pairbank.scoring.signature import method_hashes

if TYPE_CHECKING:
    import datasets


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


@dataclass(slots=True, kw_only=True)
class Draft:
    """A bank as it will be: the manifest, and what of it is new in this call."""

    root: Path
    manifest: dict[str, Any]
    items: dict[str, datasets.Dataset | Scored] = field(default_factory=dict)
    """New items, or a table that has them: `items_of` takes them out of it."""
    scored: dict[tuple[str, str], Scored] = field(default_factory=dict)
    ratings: dict[str, datasets.Dataset] = field(default_factory=dict)

    def items_of(self, corpus: str) -> datasets.Dataset:
        """Return a corpus's items, new or from disk."""
        if corpus in self.items:
            held = self.items[corpus]
            return items_of_scored(held) if isinstance(held, Scored) else held
        return read_table(self.root / items_path(corpus))

    def table_of(self, corpus: str, slug: str) -> Scored:
        """Return a scored table, new or from disk."""
        if (corpus, slug) in self.scored:
            return self.scored[corpus, slug]
        return open_scored(self.root / scores_path(corpus, slug))


def draft_of(root: Path) -> Draft:
    """Return the bank in a folder, or an empty one."""
    manifest = read_manifest(root) if (root / MANIFEST).is_file() else {"corpora": {}, "scores": {}}
    return Draft(root=root, manifest=manifest)


def take_items(draft: Draft, items: datasets.Dataset | Scored, facts: Mapping[str, Any] | None = None) -> None:
    """Put items into the draft.

    Args:
        draft: the bank; it gets them.
        items: of one corpus, or a table scored on them, which says what is known of the corpus.
        facts: of the corpus; None = what the items say of themselves.
    """
    from pairbank.builders.dataset import manifest_of

    name = items.corpus if isinstance(items, Scored) else str(items["corpus"][0])
    stated = items.signature["corpus"].get("manifest") if isinstance(items, Scored) else manifest_of(items)
    facts = facts or stated or {"corpus": name}
    before = draft.manifest["corpora"].get(name, {})
    kept = {key: before[key] for key in ("texts",) if key in before}
    if name not in CORPORA and may_publish(name, before):
        kept["source"] = before["source"]
    draft.items[name] = items
    draft.manifest["corpora"][name] = {**facts, **kept, "n_items": len(items)}


def take_scored(draft: Draft, table: Scored) -> None:
    """Put a scored table into the draft, and its items where the bank lacks them.

    Raises:
        BankError: it cannot stand beside what the bank holds.
    """
    corpus, slug = table.corpus, table.model_slug
    if not is_slug(slug):
        raise BankError(f"model {table.model[:80]!r}: {slug[:80]!r} cannot name a split; score it under another name")
    if problems := [*value_problems(table), *definition_problems(table.signature)]:
        raise BankError(f"corpus {corpus!r}: scores of {slug}: {'; '.join(problems)}")
    models = draft.manifest["scores"].setdefault(corpus, {})
    for other, signature in models.items():
        if other != slug:
            _check_alike(table, other, signature)
    _check_identity(draft.manifest, table)
    if corpus not in draft.manifest["corpora"]:
        take_items(draft, table)
    elif not _holds(draft.items_of(corpus), table):
        if corpus in draft.items:
            raise BankError(f"corpus {corpus!r}: {slug} was scored on other items than those given; give one version")
        take_items(draft, table)
    draft.scored[corpus, slug] = table
    models[slug] = json.loads(json.dumps(table.signature))


def _check_identity(manifest: Mapping[str, Any], table: Scored) -> None:
    """Refuse two models of one name, in whichever corpora: folders of one name, revisions, dtypes or prompt formats."""
    ours, slug = table.signature["model"], table.model_slug
    for corpus, models in manifest["scores"].items():
        theirs = models[slug]["model"] if slug in models else ours
        for key in IDENTITY:
            if (theirs.get(key) or None) != (ours.get(key) or None):
                raise BankError(
                    f"corpus {corpus!r}: models {theirs['model_id']} and {ours['model_id']} would both be the split "
                    f"{slug!r}, and their {key} is {theirs.get(key)!r} and {ours.get(key)!r}; score one under another "
                    "name, or write another bank"
                )


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
            if (name, slug) not in draft.scored and not _holds(draft.items_of(name), draft.table_of(name, slug)):
                raise BankError(
                    f"corpus {name!r}: the bank's scores of {slug} are of other items than those given; "
                    "score them again, or write another bank"
                )


def _holds(items: datasets.Dataset, table: Scored) -> bool:
    """Return whether a table's items stand among these, word for word; a table without texts has ids alone."""
    columns = [c for c in TEXTS if c in table.column_names and c in items.column_names]
    theirs: pa.Table = items.select_columns(["item_id", *columns]).with_format("arrow")[:]
    rows = pc.index_in(table.arrow(["item_id"])["item_id"], theirs["item_id"].combine_chunks())
    return not rows.null_count and all(table.arrow([c])[c].equals(theirs[c].take(rows)) for c in columns)


def state_licences(manifest: dict[str, Any], licences: Mapping[str, str]) -> None:
    """Put the licences that owners of corpora state into a manifest.

    Raises:
        BankError: no such corpus, or not theirs to state.
    """
    for name, licence in licences.items():
        if name not in manifest["corpora"]:
            raise BankError(
                f"no corpus {name!r} in this bank to state a licence of; it has {list(manifest['corpora'])}"
            )
        manifest["corpora"][name] = with_licence(name, manifest["corpora"][name], licence)
