"""`check_bank`: is a folder a whole, unaltered bank? In, the folder; out, everything that is wrong with it.

The card's figures are held to the results: the page is read back as a reader sees it, table by table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pyarrow.parquet as pq

from pairbank.cards.bank import layout
from pairbank.cards.bank.beside_tables import probe_problems
from pairbank.cards.bank.check_tables import rating_problems, result_problems, table_problems
from pairbank.cards.bank.lock import locked_where_writable
from pairbank.cards.bank.redistribution import licence_of, may_publish, text_columns
from pairbank.cards.bank.tables import long_problems, read_summary
from pairbank.cards.bank.writing import is_unfinished
from pairbank.cards.card.contents import columns_in, configs_of
from pairbank.cards.card.render import licences_of, results_shown
from pairbank.cards.card.tables import ratings_table
from pairbank.errors import BankError
from pairbank.files import sha256_of_file
from pairbank.markdown import CELL_CHARACTERS, parsed_tables, shown
from pairbank.stats.estimates.estimate import HEADINGS
from pairbank.stats.report.wide_tables import estimate_text
from pairbank.stats.wording import number

Depth = Literal["all", "quick", "files"]
"""Of a check: everything, all but the results, or the files and their hashes alone."""
Reports = Literal["as written", "free"]
SHOWN = 12
"""Problems named in one message."""

ACCURACY, AGREEMENT = (
    {heading: [metric for metric, name in metrics.items() if name == heading] for heading in metrics.values()}
    for metrics in HEADINGS.values()
)
"""Headings of the card's tables, and the metrics of the summary that stand under each."""
Row = Mapping[str, str]
Key = tuple[str, ...]
WHOLE: set[str] = set()
"""Hashes of the manifests of banks that this process wrote, or whose tables and card it checked."""


def check_bank(bank: str | Path, *, depth: Depth = "all", reports: Reports = "as written") -> dict[str, Any]:
    """Return the manifest of a bank that is whole: files, hashes, tables, signatures, results and the card's figures.

    Waits for a process that is writing to the bank.

    Args:
        bank: the folder.
        depth: "all" computes every result anew from the tables; "quick" leaves that out, and reads no table of a bank
            that this process wrote or checked before; "files" reads no table.
        reports: "free" leaves them to the bank's owner, who may change them before it is written again.

    Raises:
        BankError: names every problem.

    >>> check_bank("my-bank")["corpora"]  # doctest: +SKIP
    """
    with locked_where_writable(Path(bank)):
        return check_locked(bank, depth=depth, reports=reports)


def check_locked(bank: str | Path, *, depth: Depth = "all", reports: Reports = "as written") -> dict[str, Any]:
    """Do what `check_bank` does, for the holder of the bank's lock."""
    root = Path(bank)
    if is_unfinished(root):
        raise BankError(f"{root}: a change of this bank was cut off; run the command that was writing to it again")
    manifest = layout.read_manifest(root)
    _stop_at(root, list(_file_problems(root, manifest, reports)))
    digest = sha256_of_file(root / layout.MANIFEST)
    if depth == "files" or (depth == "quick" and digest in WHOLE):
        return manifest
    results = [*table_problems(root, manifest), *rating_problems(root, manifest), *probe_problems(root, manifest)]
    _stop_at(root, [*results, *_card_problems(root, manifest)])
    if depth == "all":
        _stop_at(root, [*result_problems(root, manifest), *long_problems(root, manifest)])
    _stop_at(root, [f"{layout.CROISSANT}: {problem}" for problem in _croissant_problems(root, manifest)])
    WHOLE.add(digest)
    return manifest


def check_publishable(bank: str | Path) -> dict[str, Any]:
    """Return the manifest of an intact bank without text that may not be published; for its lock's holder."""
    root = Path(bank)
    manifest = check_locked(root)
    private = [name for name, facts in manifest["corpora"].items() if not may_publish(name, facts)]
    if held := [name for name in private if _holds_texts(root, manifest, name)]:
        reasons = "; ".join(f"{name}: {licence_of(name, manifest['corpora'][name])}" for name in held)
        raise BankError(
            f"{root}: the bank holds texts that may not be published ({reasons}). "
            f"Make a copy with their ids and scores only: pairbank strip {root} --out PUBLIC (pairbank.strip_texts). "
            "Items of your own: state their licence when you write the bank (licences=, pairbank bank --licence)"
        )
    return manifest


def _stop_at(root: Path, problems: Sequence[str]) -> None:
    if problems:
        raise BankError(
            f"{root}: {len(problems)} problem(s); write the bank again (pairbank.write_bank):{listed(problems)}"
        )


def listed(problems: Sequence[str]) -> str:
    more = [f"... and {len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
    return "".join(f"\n  {line}" for line in (*problems[:SHOWN], *more))


def _file_problems(root: Path, manifest: Mapping[str, Any], reports: Reports) -> Iterator[str]:
    if foreign := layout.foreign_entries(root):
        yield from (f"{path}: a link, device or pipe, through which nothing is read" for path in foreign)
        return
    recorded: Mapping[str, str] = manifest.get("files", {})
    present = set(layout.bank_files(root))
    if reports == "free":
        recorded = {path: digest for path, digest in recorded.items() if not _is_report(path)}
        present = {path for path in present if not _is_report(path)}
    prompts = {path for path in recorded if path.startswith(f"{layout.PROMPTS}/")}
    expected = {*prompts, *layout.data_files(manifest), *layout.probe_files(manifest), layout.CARD}
    expected |= {layout.CROISSANT} & recorded.keys()
    yield from (f"{path}: missing" for path in sorted((expected | recorded.keys()) - present))
    yield from (f"{path}: not in the manifest" for path in sorted(present - recorded.keys()))
    known = sorted(path for path in present & recorded.keys() if not _is_report(path))
    yield from (f"{path}: no table that the manifest says the bank has" for path in known if path not in expected)
    is_readable = layout.CARD in recorded and not (expected - present)
    if is_readable and sha256_of_file(root / layout.CARD) != recorded[layout.CARD]:
        yield f"{layout.CARD}: changed since the bank was written (its sha256 is not the manifest's)"
        yield from _card_problems(root, manifest)
    for path in sorted((present & recorded.keys()) - {layout.CARD}):
        if sha256_of_file(root / path) != recorded[path]:
            yield f"{path}: changed since the bank was written (its sha256 is not the manifest's)"


def _is_report(path: str) -> bool:
    return path.startswith(f"{layout.REPORTS}/")


def _card_problems(root: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    try:
        page = (root / layout.CARD).read_bytes().decode("utf-8")
        summary = read_summary(root)
    except UnicodeDecodeError as error:
        yield f"{layout.CARD}: not UTF-8 ({error.reason} at byte {error.start})"
        return
    except BankError as error:
        yield str(error)
        return
    n_items = {corpus: facts["n_items"] for corpus, facts in manifest["corpora"].items()}
    problems = figure_problems(page, summary, n_items, manifest.get(layout.RATINGS, {}))
    yield from (f"{layout.CARD}: {problem}" for problem in (*problems, *_head_problems(page, manifest)))


def _croissant_problems(root: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the Croissant file says that is not so, and what it leaves out."""
    if not (root / layout.CROISSANT).is_file():
        return
    try:
        stated = json.loads((root / layout.CROISSANT).read_bytes().decode("utf-8"))
        listed_files = [file for file in stated["distribution"] if file["@type"] == "cr:FileObject"]
        files = {str(file["name"]): file.get("sha256") for file in listed_files if file["name"] != "repo"}
        sets = {str(entry["name"]): {str(field["name"]) for field in entry["field"]} for entry in stated["recordSet"]}
    except UnicodeDecodeError as error:
        yield f"not UTF-8 ({error.reason} at byte {error.start})"
        return
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        yield f"not a Croissant file of pairbank's ({type(error).__name__}: {str(error)[:80]})"
        return
    hashes = {name: manifest["files"][name] for name in layout.data_files(manifest)}
    yield from (f"{path} is not listed" for path in sorted(hashes.keys() - files.keys()))
    yield from (f"lists {path[:200]!r}, which the bank has not" for path in sorted(files.keys() - hashes.keys()))
    stale = (path for path in sorted(hashes.keys() & files.keys()) if files[path] != hashes[path])
    yield from (f"stale: {path} has another sha256" for path in stale)
    splits = {config["config_name"]: config["data_files"] for config in configs_of(manifest, hashes)}
    yield from (f"config {name} is not described" for name in sorted(splits.keys() - sets.keys()))
    yield from (f"describes {name[:200]!r}, which is no config" for name in sorted(sets.keys() - splits.keys()))
    for name in sorted(splits.keys() & sets.keys()):
        expected = {*(["split"] if len(splits[name]) > 1 else []), *columns_in(root / splits[name][0]["path"])}
        if differ := sorted(sets[name] ^ expected):
            yield f"stale: config {name} has other columns ({', '.join(differ)[:200]})"


def _head_problems(page: str, manifest: Mapping[str, Any]) -> Iterator[str]:
    import yaml

    parts = page.split("---\n", 2)
    try:
        head = yaml.safe_load(parts[1]) if len(parts) == 3 and not parts[0] else None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        yield f"its YAML head cannot be read ({str(error).splitlines()[0]})"
        return
    if not isinstance(head, dict):
        yield "no YAML head"
        return
    configs = head.get("configs") or []
    try:
        paths = [str(file["path"]) for config in configs for file in config["data_files"]]
    except (TypeError, KeyError):
        yield "its configs are none of pairbank's"
        return
    if sorted(paths) != layout.data_files(manifest):
        yield f"its configs name {len(paths)} files, the bank has {len(layout.data_files(manifest))}, or others"
    licences = head.get("license")
    expected = licences_of(manifest)
    if sorted(map(str, licences if isinstance(licences, list) else [licences])) != expected:
        yield f"its licence is {licences!r}, expected {expected!r}, the licences of the manifest's corpora"


def _holds_texts(root: Path, manifest: Mapping[str, Any], corpus: str) -> bool:
    import datasets

    if corpus in manifest.get(layout.RATINGS, {}):
        return True
    models = manifest["scores"].get(corpus, {})
    paths = [layout.items_path(corpus), *(layout.scores_path(corpus, slug) for slug in models)]
    methods = {name: definition for signature in models.values() for name, definition in signature["methods"].items()}
    schemas = [pq.read_schema(root / path) for path in paths]
    return any(text_columns(datasets.Features.from_arrow_schema(schema), methods) for schema in schemas)


def figure_problems(
    page: str, summary: pd.DataFrame | None, n_items: Mapping[str, int], ratings: Mapping[str, Any] | None = None
) -> list[str]:
    """Return every figure of a card that is not what the results say, and every one that is missing."""
    tables = parsed_tables(page)
    problems = [*_count_problems(tables, n_items), *_rating_problems(tables, ratings or {})]
    if summary is None:
        return problems
    known = {_key(row): row for row in results_shown(summary).to_dict("records")}
    unseen = {key for key in known if any(key[-1] in metrics for metrics in HEADINGS.values())}
    for rows in tables:
        for row in rows:
            headings = AGREEMENT if "versus" in row else ACCURACY if "accuracy" in row else {}
            for heading, metrics in headings.items():
                cell = row.get(heading, "")
                place = tuple(row.get(name, "") for name in ("model", "corpus", "group", "method", "versus"))
                keys = [(*place, metric) for metric in metrics] if cell else []
                unseen -= set(keys)
                results = [list(_cell_problems(cell, row, known[key], " / ".join(key))) for key in keys if key in known]
                if keys and not results:
                    problems.append(f"{' / '.join(keys[0])}: the card says {cell}, the results have no such number")
                elif results and all(results):
                    problems += results[0]
    problems += [f"{' / '.join(key)}: not on the card" for key in sorted(unseen)]
    return problems


def _key(row: Mapping[Any, Any]) -> Key:
    group = "all" if row["group_by"] == "all" else f"{row['group_by']}: {row['group']}"
    names = (row["model"], row["corpus"], group, row["method"], row["versus"] or "")
    return (*(shown(str(name), limit=CELL_CHARACTERS) for name in names), str(row["metric"]))


def _cell_problems(cell: str, row: Row, known: Mapping[Any, Any], where: str) -> Iterator[str]:
    n = re.search(r" \(n = (\d+)\)$", cell)
    written = re.sub(r"-(0\.00)\b", r"\1", cell[: n.start()] if n else cell)  # cards of before have -0.00
    # and no intervals over paradigms
    if written not in (estimate_text(known), estimate_text({**known, "low_paradigms": None})):
        value, low, high = (number(float(known[name]), digits=4) for name in ("value", "low", "high"))
        yield f"{where}: the card says {cell}, the results {value} [{low}, {high}]"
    if (n[1] if n else row.get("n")) != str(int(known["n"])):
        yield f"{where}: the card says n = {n[1] if n else row.get('n')}, the results {known['n']}"


def _rating_problems(tables: list[list[dict[str, str]]], ratings: Mapping[str, Any]) -> Iterator[str]:
    rows_on_card = {row["corpus"]: row for rows in tables for row in rows if "raters" in row and "load" in row}
    for expected in ratings_table(ratings).to_dict("records"):
        row = rows_on_card.pop(shown(str(expected["corpus"]), limit=CELL_CHARACTERS), {})
        for heading, cell in expected.items():
            got = row.get(str(heading), "nothing")
            if got != shown(str(cell), limit=CELL_CHARACTERS):
                yield f"ratings of {expected['corpus']}: the card says {got}, it is {cell}"
    yield from (f"ratings of {corpus}: on the card, not in the bank" for corpus in rows_on_card)


def _count_problems(tables: list[list[dict[str, str]]], n_items: Mapping[str, int]) -> Iterator[str]:
    rows = [row for rows in tables for row in rows if "config" in row and "items" in row]
    counts_on_card = {row["corpus"]: row["items"] for row in rows}
    for corpus, n in n_items.items():
        got = counts_on_card.pop(shown(corpus, limit=CELL_CHARACTERS), "nothing")
        if got.replace(",", "") != str(n):
            yield f"{corpus}: the card says {got} items, the bank has {n}"
    yield from (f"{corpus}: on the card, not in the bank" for corpus in counts_on_card)
