"""`check_bank`: is a folder a whole, unaltered bank? In, the folder; out, everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from pairbank.builders.schema.columns import COLUMNS
from pairbank.cards.bank.layout import CARD, bank_files, data_files, items_path, read_manifest, scores_path
from pairbank.cards.bank.redistribution import LABELS, is_left_out, may_publish, reasons, text_columns
from pairbank.cards.bank.tables import read_summary, read_table
from pairbank.cards.card.check_figures import figure_problems
from pairbank.errors import BankError
from pairbank.files import sha256_of_file
from pairbank.scoring.scored import read_scored

if TYPE_CHECKING:
    import datasets

SHOWN = 12
"""Problems named in one message."""


def check_bank(bank: str | Path) -> dict[str, Any]:
    """Return the manifest of a bank that is whole: files, hashes, tables, signatures and the card's figures.

    Raises:
        BankError: names every problem.
    """
    root = Path(bank)
    manifest = read_manifest(root)
    _stop_at(root, list(_file_problems(root, manifest)))
    _stop_at(root, [*_table_problems(root, manifest), *_card_problems(root, manifest)])
    return manifest


def check_publishable(bank: str | Path) -> dict[str, Any]:
    """Return the manifest of a bank that is whole and holds no text that may not be published.

    Raises:
        BankError: names every problem, or the corpora whose texts must be left out and the command that does it.
    """
    root = Path(bank)
    manifest = check_bank(root)
    private = [name for name, facts in manifest["corpora"].items() if not may_publish(name, facts)]
    if held := [name for name in private if _holds_texts(root, manifest, name)]:
        raise BankError(
            f"{root}: the bank holds texts that may not be published ({reasons(held, manifest['corpora'])}). "
            f"Make a copy with their ids and scores only: pairbank strip {root} --out PUBLIC (pairbank.strip_texts). "
            "Items of your own: state their licence when you write the bank (licences=, pairbank bank --licence)"
        )
    return manifest


def _stop_at(root: Path, problems: Sequence[str]) -> None:
    if problems:
        more = f"\n  ... and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        raise BankError(
            f"{root}: {len(problems)} problem(s); write the bank again (pairbank.write_bank):\n"
            + "\n".join(f"  {problem}" for problem in problems[:SHOWN])
            + more
        )


def _file_problems(root: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    recorded: Mapping[str, str] = manifest.get("files", {})
    present = set(bank_files(root))
    wanted = {*data_files(manifest), CARD}
    yield from (f"{path}: missing" for path in sorted((wanted | recorded.keys()) - present))
    yield from (f"{path}: not in the manifest" for path in sorted(present - recorded.keys()))
    if (
        CARD in present
        and CARD in recorded
        and not (wanted - present)
        and sha256_of_file(root / CARD) != recorded[CARD]
    ):
        yield f"{CARD}: changed since the bank was written (its sha256 is not the manifest's)"
        yield from _card_problems(root, manifest)
    for path in sorted((present & recorded.keys()) - {CARD}):
        if sha256_of_file(root / path) != recorded[path]:
            yield f"{path}: changed since the bank was written (its sha256 is not the manifest's)"


def _table_problems(root: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    for corpus, facts in manifest["corpora"].items():
        items = _read(root / items_path(corpus))
        if isinstance(items, str):
            yield items
            continue
        yield from _item_problems(corpus, facts, items)
        known = set(items["item_id"][:]) if "item_id" in items.column_names else set()
        first: tuple[str, datasets.Features] | None = None
        for slug, signature in sorted(manifest["scores"].get(corpus, {}).items()):
            path = scores_path(corpus, slug)
            try:
                scored = read_scored(root / path)
            except BankError as error:
                yield str(error)
                continue
            first = first or (path, scored.dataset.features)
            yield from _scored_problems(path, scored.dataset, known, first)
            if scored.signature != signature:
                yield f"{path}: its signature is not the manifest's"


def _read(path: Path) -> datasets.Dataset | str:
    try:
        return read_table(path)
    except (pa.ArrowException, OSError) as error:
        return f"{path}: not a readable parquet file ({error})"


def _item_problems(corpus: str, facts: Mapping[str, Any], items: datasets.Dataset) -> Iterator[str]:
    path = items_path(corpus)
    kinds = {column.name: column.type for column in COLUMNS}
    wanted = [name for name in (*kinds, "flags") if name in LABELS or not is_left_out(facts)]
    if missing := [name for name in wanted if name not in items.column_names]:
        yield f"{path}: lacks the column(s) {', '.join(missing)} of the shared schema"
        return
    wrong = [n for n in wanted if n in kinds and getattr(items.features[n], "dtype", "") != kinds[n]]
    yield from (f"{path}: column {n} is {items.features[n]}, expected {kinds[n]}" for n in wrong)
    if len(items) != facts["n_items"]:
        yield f"{path}: {len(items)} rows, the manifest says {facts['n_items']}"
    if len(set(items["item_id"][:])) < len(items):
        yield f"{path}: an item_id stands in several rows"
    if other := set(items["corpus"][:]) - {corpus}:
        yield f"{path}: rows of {sorted(other)[:3]}, expected {corpus!r} only"


def _scored_problems(
    path: str, table: datasets.Dataset, known: set[str], first: tuple[str, datasets.Features]
) -> Iterator[str]:
    if "item_id" not in table.column_names:
        yield f"{path}: lacks the column item_id"
        return
    if unknown := set(table["item_id"][:]) - known:
        yield f"{path}: {len(unknown)} item(s) that the corpus does not have, as {sorted(unknown)[0]}"
    if table.features != first[1]:
        a, b = dict(table.features), dict(first[1])
        differ = sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))
        yield f"{path}: column(s) {', '.join(differ) or '(order)'} differ from {first[0]}; one config has one form"


def _card_problems(root: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    page = (root / CARD).read_text(encoding="utf-8")
    summary = read_summary(root)
    n_items = {corpus: facts["n_items"] for corpus, facts in manifest["corpora"].items()}
    yield from (f"{CARD}: {problem}" for problem in figure_problems(page, summary, n_items))
    yield from _head_problems(page, manifest)


def _head_problems(page: str, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Say where the YAML head does not read back, or its configs are not the bank's files."""
    import yaml

    parts = page.split("---\n", 2)
    try:
        head = yaml.safe_load(parts[1]) if len(parts) == 3 and not parts[0] else None
    except yaml.YAMLError as error:
        yield f"{CARD}: its YAML head cannot be read ({str(error).splitlines()[0]})"
        return
    if not isinstance(head, dict):
        yield f"{CARD}: no YAML head"
        return
    configs = head.get("configs") or []
    paths = [file["path"] for config in configs for file in config["data_files"]]
    if sorted(paths) != data_files(manifest):
        yield f"{CARD}: its configs name {len(paths)} files, the bank has {len(data_files(manifest))}, or others"


def _holds_texts(root: Path, manifest: Mapping[str, Any], corpus: str) -> bool:
    import datasets

    models = manifest["scores"].get(corpus, {})
    paths = [items_path(corpus), *(scores_path(corpus, slug) for slug in models)]
    methods = {name: definition for signature in models.values() for name, definition in signature["methods"].items()}
    schemas = [pq.read_schema(root / path) for path in paths]
    return any(text_columns(datasets.Features.from_arrow_schema(schema), methods) for schema in schemas)
