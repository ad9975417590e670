"""`pairbank corpora` and `pairbank build`: what there is, and a corpus as one file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from pairbank.cli.display.console import quiet_bars, status
from pairbank.cli.display.output import answer, output, say
from pairbank.cli.display.tables import show
from pairbank.cli.options import ItemOptions, corpora_named, load_items, takes_item_options
from pairbank.files import replaced_atomically


def corpora(
    markdown: Annotated[bool, typer.Option(help="Print the page docs/corpora.md.")] = False,  # noqa: FBT002
) -> None:
    """List the corpora: items, languages, tasks, human judgments, licence, source, whether cached.

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
    repair: Annotated[bool, typer.Option(help="Mend the documented defects of the source text.")] = True,
) -> None:
    """Build a corpus into one parquet file, and print its manifest; `all` prints one table of counts.

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
    told = {key: manifest.get(key) for key in brief}
    answer(**told)
    if not output().as_json:
        say(json.dumps(told, indent=2, ensure_ascii=False))
    if out is not None:
        with replaced_atomically(out) as temporary:
            items.to_parquet(str(temporary))
        answer(out=out)
        say(f"{out}: {len(items):,} items")


def _build_all(data_dir: Path | None, out: Path | None) -> None:
    import pandas as pd
    from rich.console import Console

    from pairbank.builders.build_all import build_all, total

    with quiet_bars(), Console(stderr=True, quiet=output().quiet).status("building") as status:
        rows = build_all(data_dir, out=out, tell=lambda name: status.update(f"building {name}"))
    show(pd.DataFrame(rows), name="corpora")
    say(total(rows))
