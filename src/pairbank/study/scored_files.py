"""Where scored tables are that a user names: in, files, banks and folders; out, the files, in the order given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pairbank.errors import BankError


def scored_files(places: Iterable[Path]) -> list[Path]:
    """Return the files of scored tables.

    Args:
        places: Files as they are; banks, of which all score tables with texts are taken; other folders, of which all
            parquet files are (as `pairbank import --out` writes them).

    Raises:
        BankError: A folder with neither.
    """
    return [path for place in places for path in ([place] if not place.is_dir() else _in_folder(place))]


def _in_folder(folder: Path) -> list[Path]:
    from pairbank.cards.bank.layout import MANIFEST

    if (folder / MANIFEST).is_file():
        found = list(_of_bank(folder))
        if not found:
            raise BankError(
                f"{folder}: a bank without scores that a report can read (it has none, or ids and scores only, without "
                "texts); report on the files that `pairbank score` wrote"
            )
        return found
    if not (found := sorted(folder.glob("*.parquet"))):
        raise BankError(
            f"{folder}: no bank (it has no {MANIFEST}) and no folder of scored tables (it has no parquet files); give "
            "the folder of a bank, or the files that `pairbank score` wrote"
        )
    return found


def _of_bank(folder: Path) -> Iterator[Path]:
    from pairbank.cards.bank.layout import read_manifest, scores_path, tables
    from pairbank.cards.bank.redistribution import is_left_out

    manifest = read_manifest(folder)
    for corpus, slug in tables(manifest):
        if not is_left_out(manifest["corpora"][corpus]):
            yield folder / scores_path(corpus, slug)
