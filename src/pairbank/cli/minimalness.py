"""`pairbank minimalness`: how little the two sides of each item differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairbank.cli.display.console import quiet_bars, status
from pairbank.cli.display.output import answer, say
from pairbank.cli.display.tables import show
from pairbank.cli.options import Device, ItemOptions, corpora_named, load_items, takes_item_options
from pairbank.errors import BankError
from pairbank.files import reading, replaced_atomically

if TYPE_CHECKING:
    import datasets

    from pairbank.scoring.scored import Scored


@takes_item_options
def minimalness(
    corpus: Annotated[
        str,
        typer.Argument(help="A corpus, your own file, or a scored file.", autocompletion=corpora_named),
    ],
    out: Annotated[Path, typer.Option(help="Parquet file to write: the items with the new columns.")],
    model: Annotated[
        str | None, typer.Option(help="sentence-transformers model: a folder or Hub id; default all-MiniLM-L6-v2.")
    ] = None,
    edits_only: Annotated[  # noqa: FBT002
        bool, typer.Option("--edits-only", help="Compute only edit_distance; needs no model.")
    ] = False,
    *,
    which: ItemOptions,
    device: Device = "auto",
    over_length: Annotated[
        str, typer.Option(help="Sentences longer than the model's context: error, or nan.")
    ] = "error",
) -> None:
    """Add edit_distance and cosine_distance between the sides of each item (Hu et al. 2026).

    A scored file keeps its scores and its signature.

    Example: pairbank minimalness starter --out starter.parquet
    """
    import pairbank
    from pairbank.scoring.minimalness import add_edit_distance
    from pairbank.scoring.scored import Scored, read_scored

    if over_length not in ("error", "nan"):
        raise typer.BadParameter(f"{over_length!r}: expected error or nan")
    with quiet_bars(), status(f"reading {corpus}") as _:
        items: datasets.Dataset | Scored = read_scored(corpus) if _is_scored(corpus) else load_items(corpus, **which)
        made: datasets.Dataset | Scored = (
            add_edit_distance(items)
            if edits_only
            else pairbank.add_minimalness(
                items, model, device=device, over_length="nan" if over_length == "nan" else "error"
            )
        )
        if isinstance(made, Scored):
            made.save(out)
        else:
            with replaced_atomically(out) as temporary:
                made.to_parquet(str(temporary))
    _show(made.dataset if isinstance(made, Scored) else made)
    answer(out=out, n_items=len(made))
    say(f"{out}: {len(made):,} items")


def _is_scored(name: str) -> bool:
    import pyarrow.parquet as pq

    from pairbank.scoring.signature import METADATA_KEY

    path = Path(name)
    if path.suffix != ".parquet" or not path.is_file():
        return False
    with reading(path, BankError, saying="not a readable parquet file"):
        return METADATA_KEY in (pq.read_schema(path).metadata or {})


def _show(items: datasets.Dataset) -> None:
    from pairbank.scoring.minimalness import COLUMNS

    names = [name for name in COLUMNS[:2] if name in items.column_names]
    table = items.select_columns(names).to_pandas().quantile([0, 0.25, 0.5, 0.75, 1]).round(4)
    table.insert(0, "quantile", table.index)
    show(table, name="quantiles")
