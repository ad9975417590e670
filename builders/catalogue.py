"""The corpora as people read about them: in, the registry; out, rows for the command line and a page of Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pairbank.builders.corpora.corpus import Corpus
from pairbank.builders.corpora.registry import CORPORA, OURS
from pairbank.builders.load import load_corpus
from pairbank.builders.sources.readers import data_file, read_delimited
from pairbank.errors import CorpusFileNotFoundError
from pairbank.files import cache_dir, replaced_atomically
from pairbank.markdown import rendered, table_of
from pairbank.plugins import package_names

FLAGS_SHOWN = 6
BUILT = ("corpus", "languages", "rows", "usable", "expected", "flags", "note")

Cached = Literal["yes", "no", "in part", "in the package", "your copy"]
MANY = 4
"""Names from which on their number is shown."""


def build_all(
    data_dir: str | Path | None = None,
    *,
    out: str | Path | None = None,
    on_progress: Callable[[str], None] = lambda _name: None,
) -> list[dict[str, str]]:
    """Build every corpus; return one row per corpus: rows, usable rows, expected rows, flags."""
    from pairbank.builders.dataset import manifest_of

    table: list[dict[str, str]] = []
    for corpus in CORPORA.values():
        on_progress(corpus.name)
        try:
            items = load_corpus(corpus.name, data_dir=data_dir)
        except CorpusFileNotFoundError as error:
            note = f"not built: {str(error).split(';', 1)[0]}"
            table.append(dict.fromkeys(BUILT, "") | {"corpus": corpus.name, "note": note})
            continue
        manifest = manifest_of(items) or {}
        if out is not None:
            with replaced_atomically(Path(out) / f"{corpus.name}.parquet") as temporary:
                items.to_parquet(str(temporary))
        flags = sorted(manifest["n_by_flag"].items(), key=lambda pair: (-pair[1], pair[0]))
        named = [f"{flag} {n:,}" for flag, n in flags[:FLAGS_SHOWN]]
        if len(flags) > FLAGS_SHOWN:
            named.append(f"and {len(flags) - FLAGS_SHOWN} more")
        n_by_subset = manifest["n_by_subset"]
        expected = f"{corpus.n_items:,}" if corpus.counted else ""
        if n_by_subset.keys() <= corpus.n_by_subset.keys():  # of a part of the files
            expected = f"{sum(corpus.n_by_subset[subset] for subset in n_by_subset):,}"
        unverified = [name for name, file in manifest["files"].items() if not file["verified"]]
        table.append(
            {
                "corpus": corpus.name,
                "languages": ", ".join(manifest["languages"]),
                "rows": f"{manifest['n_rows']:,}",
                "usable": f"{manifest['n_usable']:,}",
                "expected": expected,
                "flags": ", ".join(named),
                "note": f"not the pinned version: {', '.join(unverified)}" if unverified else "",
            }
        )
    return table


def total(table: Sequence[Mapping[str, str]]) -> str:
    built = [row for row in table if row["rows"]]
    languages = {language for row in built for language in row["languages"].split(", ")}
    n_rows = sum(int(row["rows"].replace(",", "")) for row in built)
    return f"{len(built)} of {len(table)} corpora, {len(languages)} languages, {n_rows:,} rows"


def cached(corpus: Corpus) -> Cached:
    if corpus.embedded:
        return "in the package"
    folder = cache_dir() / "downloads" / corpus.name
    files = [file for file in corpus.source.files if file.url]
    if not files:
        return "your copy"
    needed = [file.name for file in files if not file.optional]
    results = [name for name in needed if (folder / name).exists() or (folder / name.split(".", 1)[0]).exists()]
    return "yes" if len(results) == len(needed) else "in part" if results else "no"


def catalogue_rows(corpora: Iterable[Corpus] | None = None) -> list[dict[str, str]]:
    """Return one row a corpus: what it holds, whence, whether it is cached, and of which package it is, if any is."""
    packages = package_names("corpora") if corpora is None else {}
    return [
        {
            "corpus": corpus.name,
            "items": n_items(corpus),
            "languages": few(corpus.languages, "languages"),
            "tasks": ", ".join(corpus.tasks),
            "human judgments": corpus.human or "none",
            "licence": corpus.source.licence,
            "source": corpus.source.homepage or "embedded",
            "cached": cached(corpus),
            **({"package": packages.get(corpus.name, "")} if packages else {}),
        }
        for corpus in (CORPORA.values() if corpora is None else corpora)
    ]


def n_items(corpus: Corpus) -> str:
    """Return the number of rows; a number that the paper states and nobody counted is marked."""
    return f"{corpus.n_items:,}" if corpus.counted else f"about {corpus.n_items:,}"


def few(names: tuple[str, ...], kind: str) -> str:
    """Return the names, or their number where there are many.

    >>> few(("en", "zh"), "languages"), few(tuple("abcdef"), "languages")
    ('en, zh', '6 languages')
    """
    return ", ".join(names) if len(names) < MANY else f"{len(names)} {kind}"


def catalogue_markdown(corpora: Mapping[str, Corpus] | None = None) -> str:
    """Return the page of corpora: one table of all, then a section each. It depends on our builders alone."""
    known = {name: CORPORA[name] for name in OURS} if corpora is None else corpora
    counted = {row["corpus"]: row for row in counted_paradigms()}
    rows = [row | {"corpus": f"[{row['corpus']}](#{row['corpus']})"} for row in catalogue_rows(known.values())]
    return rendered(
        Path(__file__).with_name("corpora.md.j2"),
        (n_items,),
        overview=table_of({key: cell for key, cell in row.items() if key != "cached"} for row in rows),
        counted=[counted[name] for name in known if name in counted],
        uncounted=[name for name in known if name not in counted],
        corpora=known.values(),
    )


def paradigm_row(name: str, paradigms: Iterable[str | None]) -> dict[str, str]:
    sizes = Counter(name for name in paradigms if name is not None)
    n, largest = sizes.total(), max(sizes.values(), default=0)
    effective = n**2 / sum(size**2 for size in sizes.values()) if n else 0.0
    return {
        "corpus": name,
        "items": str(n),
        "paradigms": str(len(sizes)),
        "effective": f"{effective:.1f}",
        "largest": f"{largest / n if n else 0:.2f}",
    }


def counted_paradigms() -> list[dict[str, str]]:
    return [row for _, row in read_delimited(data_file("paradigms.tsv"), tuple(paradigm_row("", ())), delimiter="\t")]
