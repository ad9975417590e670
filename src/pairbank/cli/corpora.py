"""`pairbank corpora` and `pairbank build`: what there is, and a corpus as one file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from pairbank.cli.display.console import Downloads, quiet_bars, status
from pairbank.cli.display.output import answer, output, say
from pairbank.cli.display.tables import show
from pairbank.cli.options import DataDir, ItemOptions, Subset, corpora_named, load_items, takes_item_options
from pairbank.files import replaced_atomically

if TYPE_CHECKING:
    from pairbank.builders.ratings import Normalisation


def corpora(
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the reference page (docs/corpora.md).")] = False,  # noqa: FBT002
) -> None:
    """List the corpora with size, languages, tasks, human judgments, licence and cache status.

    Example: pairbank corpora
    """
    from pairbank.builders.catalogue import catalogue_markdown, catalogue_rows

    if markdown:
        sys.stdout.write(catalogue_markdown())
        return
    import pandas as pd

    show(pd.DataFrame(catalogue_rows()), name="corpora", whole=["corpus"])


@takes_item_options
def build(
    corpus: Annotated[
        str, typer.Argument(help="A corpus, a file of your own items, or `all`.", autocompletion=corpora_named)
    ],
    out: Annotated[Path | None, typer.Option(help="Parquet file to write; for `all`, a folder.")] = None,
    *,
    which: ItemOptions,
    repair: Annotated[bool, typer.Option(help="Repair documented defects of the source text.")] = True,
) -> None:
    """Build a corpus as one parquet file and print its manifest; `all` prints a table of counts.

    Example: pairbank build li --data-dir ../shared/corpora --out li.parquet
    """
    from pairbank.builders.dataset import manifest_of

    if corpus == "all":
        _build_all(which["data_dir"], out)
        return
    with quiet_bars(), status(f"building {corpus}"):
        items = load_items(corpus, repair=repair, **which)
    manifest = (manifest_of(items) or {}) | {"n_items": len(items)}
    brief = ("corpus", "version", "n_rows", "n_usable", "n_items", "languages", "tasks", "n_by_flag", "files")
    reported = {key: manifest.get(key) for key in brief}
    answer(**reported)
    if not output().as_json:
        say(json.dumps(reported, indent=2, ensure_ascii=False))
    if out is not None:
        with replaced_atomically(out) as temporary:
            items.to_parquet(str(temporary))
        answer(out=out)
        say(f"{out}: {len(items):,} items")


def ratings(
    corpus: Annotated[str, typer.Argument(help="A corpus with individual ratings.", autocompletion=corpora_named)],
    out: Annotated[
        Path, typer.Option(help="File to write: .csv, .tsv, .xlsx, .jsonl or .parquet; one row per rating.")
    ],
    *,
    data_dir: DataDir = None,
    subset: Subset = None,
    normalisation: Annotated[str, typer.Option(help="none, or z-by-rater.")] = "none",
    bom: Annotated[
        bool, typer.Option("--bom", help="Start .csv and .tsv files with a byte-order mark, for Excel.")
    ] = False,
) -> None:
    """Write a corpus's individual ratings: item_id, side, rater, value, scale.

    In R: ratings <- read.csv("ratings.csv"); item_id joins it to `pairbank build` and `score`.

    Example: pairbank ratings turblimp --data-dir ../shared/corpora --out ratings.csv
    """
    import pairbank
    from pairbank.files import refuse_other_than_a_file
    from pairbank.scoring.table_files import refuse_other_suffixes, write_unsigned

    refuse_other_suffixes(out)
    refuse_other_than_a_file(out)
    with quiet_bars(), status(f"building {corpus}"):
        result = pairbank.load_ratings(
            corpus,
            data_dir=data_dir,
            subset=subset,
            normalisation=cast("Normalisation", normalisation),
            progress=Downloads().tell,
        )
    write_unsigned(out, result.with_format("arrow")[:], bom=bom)
    items, raters, scales = (sorted(set(result[name][:])) for name in ("item_id", "rater", "scale"))
    answer(out=out, n_ratings=len(result), n_items=len(items), n_raters=len(raters), scales=scales)
    by = f"{len(items):,} items by {len(raters):,} raters"
    say(f"{out}: {len(result):,} ratings of {by}, on {', '.join(scales)}")


def _build_all(data_dir: Path | None, out: Path | None) -> None:
    import pandas as pd
    from rich.console import Console

    from pairbank.builders.catalogue import build_all, total

    with quiet_bars(), Console(stderr=True, quiet=output().quiet).status("building") as status:
        rows = build_all(data_dir, out=out, tell=lambda name: status.update(f"building {name}"))
    show(pd.DataFrame(rows), name="corpora")
    say(total(rows))
