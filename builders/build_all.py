"""`pairbank build all`: every corpus whose files are there, and one table of what was counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pairbank.builders.corpora.corpus import Corpus
from pairbank.builders.corpora.registry import CORPORA
from pairbank.builders.load import load_corpus
from pairbank.errors import CorpusFileNotFoundError
from pairbank.files import replaced_atomically

FLAGS_SHOWN = 6


def build_all(
    data_dir: str | Path | None = None,
    *,
    out: str | Path | None = None,
    tell: Callable[[str], None] = lambda _name: None,
) -> list[dict[str, str]]:
    """Build every corpus; return one row a corpus: rows, usable rows, expected rows, flags by reason.

    A corpus whose files are missing gives a row that says so; any other problem is raised.

    Args:
        data_dir: root with one folder a corpus; None downloads.
        out: folder for `<corpus>.parquet`; None writes none.
        tell: called with each corpus's name before it is built.

    Raises:
        CorpusError: a corpus that is there and cannot be accepted.
    """
    from pairbank.builders.dataset import manifest_of

    table: list[dict[str, str]] = []
    for corpus in CORPORA.values():
        tell(corpus.name)
        try:
            items = load_corpus(corpus.name, data_dir=data_dir)
        except CorpusFileNotFoundError as error:
            table.append(_row(corpus.name, note=f"not built: {str(error).split(';', 1)[0]}"))
            continue
        manifest = manifest_of(items) or {}
        if out is not None:
            with replaced_atomically(Path(out) / f"{corpus.name}.parquet") as temporary:
                items.to_parquet(str(temporary))
        flags = sorted(manifest["n_by_flag"].items(), key=lambda pair: (-pair[1], pair[0]))
        named = [f"{flag} {n:,}" for flag, n in flags[:FLAGS_SHOWN]]
        if len(flags) > FLAGS_SHOWN:
            named.append(f"and {len(flags) - FLAGS_SHOWN} more")
        unverified = [name for name, file in manifest["files"].items() if not file["verified"]]
        table.append(
            _row(
                corpus.name,
                rows=f"{manifest['n_rows']:,}",
                usable=f"{manifest['n_usable']:,}",
                languages=", ".join(manifest["languages"]),
                expected=_expected(corpus, manifest["n_by_subset"]),
                flags=", ".join(named),
                note=f"not the pinned version: {', '.join(unverified)}" if unverified else "",
            )
        )
    return table


def total(table: Sequence[Mapping[str, str]]) -> str:
    """Return how many corpora were built, in how many languages, with how many rows."""
    built = [row for row in table if row["rows"]]
    languages = {language for row in built for language in row["languages"].split(", ")}
    n_rows = sum(int(row["rows"].replace(",", "")) for row in built)
    return f"{len(built)} of {len(table)} corpora, {len(languages)} languages, {n_rows:,} rows"


def _expected(corpus: Corpus, found: Mapping[str, int]) -> str:
    """Return the number of rows that the corpus declares of the subsets that are there; "" where it declares none."""
    if found.keys() <= corpus.n_by_subset.keys():
        return f"{sum(corpus.n_by_subset[subset] for subset in found):,}"
    return f"{corpus.n_items:,}" if corpus.counted else ""


def _row(
    corpus: str,
    *,
    languages: str = "",
    rows: str = "",
    usable: str = "",
    expected: str = "",
    flags: str = "",
    note: str = "",
) -> dict[str, str]:
    return {
        "corpus": corpus,
        "languages": languages,
        "rows": rows,
        "usable": usable,
        "expected": expected,
        "flags": flags,
        "note": note,
    }
