"""`check_bank`: is a folder a whole, unaltered bank? In, the folder; out, everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow.parquet as pq

from pairbank.cards.bank.check_tables import rating_problems, result_problems, table_problems
from pairbank.cards.bank.layout import (
    CARD,
    CROISSANT,
    PROMPTS,
    RATINGS,
    REPORTS,
    bank_files,
    data_files,
    foreign_entries,
    items_path,
    probe_files,
    read_manifest,
    scores_path,
)
from pairbank.cards.bank.lock import locked_where_writable
from pairbank.cards.bank.probes import probe_problems
from pairbank.cards.bank.redistribution import may_publish, reasons, text_columns
from pairbank.cards.bank.tables import long_problems, read_summary
from pairbank.cards.bank.writing import is_unfinished
from pairbank.cards.card.check_figures import croissant_problems, figure_problems
from pairbank.cards.card.render import columns_of_configs, configs_of, licences_of
from pairbank.errors import BankError
from pairbank.files import sha256_of_file

Depth = Literal["all", "quick"]
"""Of a check: everything, or all but the results."""
Reports = Literal["as written", "free"]
SHOWN = 12
"""Problems named in one message."""


def check_bank(bank: str | Path, *, depth: Depth = "all", reports: Reports = "as written") -> dict[str, Any]:
    """Return the manifest of a bank that is whole: files, hashes, tables, signatures, results and the card's figures.

    Waits for a process that is writing to the bank.

    Args:
        bank: the folder.
        depth: "all" computes every result anew from the tables; "quick" leaves that out.
        reports: "free" leaves them to the bank's owner, who may change them before it is written again.

    Raises:
        BankError: names every problem.
    """
    with locked_where_writable(Path(bank)):
        return check_locked(bank, depth=depth, reports=reports)


def check_locked(bank: str | Path, *, depth: Depth = "all", reports: Reports = "as written") -> dict[str, Any]:
    """Do what `check_bank` does, for the holder of the bank's lock.

    Raises:
        BankError: names every problem.
    """
    root = Path(bank)
    if is_unfinished(root):
        raise BankError(f"{root}: a change of this bank was cut off; run the command that was writing to it again")
    manifest = read_manifest(root)
    _stop_at(root, list(_file_problems(root, manifest, reports)))
    results = [*table_problems(root, manifest), *rating_problems(root, manifest), *probe_problems(root, manifest)]
    _stop_at(root, [*results, *_card_problems(root, manifest)])
    if depth == "all":
        _stop_at(root, [*result_problems(root, manifest), *long_problems(root, manifest)])
    _stop_at(root, list(_croissant_problems(root, manifest)))
    return manifest


def check_publishable(bank: str | Path) -> dict[str, Any]:
    """Return the manifest of a bank that is whole and holds no text that may not be published; for its lock's holder.

    Raises:
        BankError: names every problem, or the corpora whose texts must be left out and the command that does it.
    """
    root = Path(bank)
    manifest = check_locked(root)
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


def _file_problems(root: Path, manifest: Mapping[str, Any], reports: Reports) -> Iterator[str]:
    if foreign := foreign_entries(root):
        yield from (f"{path}: a link, device or pipe, through which nothing is read" for path in foreign)
        return
    recorded: Mapping[str, str] = manifest.get("files", {})
    present = set(bank_files(root))
    if reports == "free":
        recorded = {path: digest for path, digest in recorded.items() if not _is_report(path)}
        present = {path for path in present if not _is_report(path)}
    prompts = {path for path in recorded if path.startswith(f"{PROMPTS}/")}
    wanted = {*prompts, *data_files(manifest), *probe_files(manifest), CARD, *({CROISSANT} & recorded.keys())}
    yield from (f"{path}: missing" for path in sorted((wanted | recorded.keys()) - present))
    yield from (f"{path}: not in the manifest" for path in sorted(present - recorded.keys()))
    known = sorted(path for path in present & recorded.keys() if not _is_report(path))
    yield from (f"{path}: no table that the manifest says the bank has" for path in known if path not in wanted)
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


def _is_report(path: str) -> bool:
    return path.startswith(f"{REPORTS}/")


def _card_problems(root: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    try:
        page = (root / CARD).read_bytes().decode("utf-8")
        summary = read_summary(root)
    except UnicodeDecodeError as error:
        yield f"{CARD}: not UTF-8 ({error.reason} at byte {error.start})"
        return
    except BankError as error:
        yield str(error)
        return
    n_items = {corpus: facts["n_items"] for corpus, facts in manifest["corpora"].items()}
    yield from (f"{CARD}: {problem}" for problem in figure_problems(page, summary, n_items, manifest.get(RATINGS, {})))
    yield from _head_problems(page, manifest)


def _croissant_problems(root: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Say where the Croissant file is not of these tables; a bank of an earlier version has none."""
    path = root / CROISSANT
    if not path.is_file():
        return
    hashes = {name: manifest["files"][name] for name in data_files(manifest)}
    columns = columns_of_configs(root, manifest)
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        yield f"{CROISSANT}: not UTF-8 ({error.reason} at byte {error.start})"
        return
    problems = croissant_problems(text, configs_of(manifest, hashes), columns, hashes)
    yield from (f"{CROISSANT}: {problem}" for problem in problems)


def _head_problems(page: str, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Say where the YAML head does not read back, or its configs are not the bank's files."""
    import yaml

    parts = page.split("---\n", 2)
    try:
        head = yaml.safe_load(parts[1]) if len(parts) == 3 and not parts[0] else None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        yield f"{CARD}: its YAML head cannot be read ({str(error).splitlines()[0]})"
        return
    if not isinstance(head, dict):
        yield f"{CARD}: no YAML head"
        return
    configs = head.get("configs") or []
    try:
        paths = [str(file["path"]) for config in configs for file in config["data_files"]]
    except (TypeError, KeyError):
        yield f"{CARD}: its configs are none of pairbank's"
        return
    if sorted(paths) != data_files(manifest):
        yield f"{CARD}: its configs name {len(paths)} files, the bank has {len(data_files(manifest))}, or others"
    licences = head.get("license")
    expected = licences_of(manifest)
    if sorted(map(str, licences if isinstance(licences, list) else [licences])) != expected:
        yield f"{CARD}: its licence is {licences!r}, expected {expected!r}, the licences of the manifest's corpora"


def _holds_texts(root: Path, manifest: Mapping[str, Any], corpus: str) -> bool:
    import datasets

    if corpus in manifest.get(RATINGS, {}):
        return True
    models = manifest["scores"].get(corpus, {})
    paths = [items_path(corpus), *(scores_path(corpus, slug) for slug in models)]
    methods = {name: definition for signature in models.values() for name, definition in signature["methods"].items()}
    schemas = [pq.read_schema(root / path) for path in paths]
    return any(text_columns(datasets.Features.from_arrow_schema(schema), methods) for schema in schemas)
