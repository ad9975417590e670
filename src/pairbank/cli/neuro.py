"""`pairbank neuro`: what probes find in a model's hidden states."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairbank.cli.display.console import quiet_bars, status
from pairbank.cli.display.output import answer, output, say
from pairbank.cli.display.tables import show
from pairbank.cli.options import Device, Dtype, ItemOptions, corpora_named, load_items, takes_item_options
from pairbank.cli.scoring import load
from pairbank.stats.wording import number

if TYPE_CHECKING:
    import pandas as pd

    from pairbank.probing import Progress
    from pairbank.stats.analyses.neuro import Probed


@takes_item_options
def neuro(
    corpus: Annotated[str, typer.Argument(help="A corpus, or a file of your own items.", autocompletion=corpora_named)],
    out: Annotated[Path, typer.Option(help="Folder for the tables per layer and per group.")],
    model: Annotated[str, typer.Option(help="demo, a folder, or a Hub id.")] = "demo",
    groups: Annotated[
        list[str] | None, typer.Option("--group", help="Column that defines the groups to probe, or all; repeatable.")
    ] = None,
    *,
    which: ItemOptions,
    precision: Annotated[str, typer.Option(help="Precision of the stored states: float32 or float16.")] = "float32",
    folds: Annotated[
        str, typer.Option(help="grouped: no sentence on both sides of a split; plain: at random.")
    ] = "grouped",
    cut_stop: Annotated[
        bool, typer.Option("--cut-stop/--keep-stop", help="Read sentences without their final punctuation mark.")
    ] = False,
    standardise: Annotated[
        bool, typer.Option("--standardise/--as-they-are", help="Standardise the states, or probe them as they are.")
    ] = True,
    seed: Annotated[int, typer.Option(min=0, help="Seed for folds and control labels.")] = 0,
    device: Device = "auto",
    dtype: Dtype = "auto",
) -> None:
    """Probe every layer's hidden states for the acceptable sentence of each pair (He et al. 2025).

    Five folds; no sentence or pair is on both sides of a split (--folds plain: at random). Prints F1, its interval
    and a control task. Default: one probe per subset. The authors' laboratory: --cut-stop --as-they-are --folds plain.

    Example: pairbank neuro starter --model demo --out neuro
    """
    import pairbank

    if precision not in ("float32", "float16"):
        raise typer.BadParameter(f"{precision!r}: expected float32 or float16")
    if folds not in ("grouped", "plain"):
        raise typer.BadParameter(f"{folds!r}: expected grouped or plain")
    chosen = groups or ["subset"]
    with quiet_bars():
        with status(f"building {corpus}"):
            items = load_items(corpus, **which)
        scorer = load(model, device=device, dtype=dtype, bos="auto")
        with _bars() as tell:
            probed = pairbank.probe(
                items,
                scorer,
                groups=chosen[0] if len(chosen) == 1 else chosen,
                folds="plain" if folds == "plain" else "grouped",
                cut_stop=cut_stop,
                standardise=standardise,
                precision="float16" if precision == "float16" else "float32",
                seed=seed,
                progress=tell,
            )
    show(_headline(probed), name="probes", whole=["group"])
    say("f1: best layer (optimistic). f1_chosen: layer chosen by the other folds. control: labels exchanged at random.")
    folder = probed.save(out)
    answer(out=folder)
    say(f"{folder}/neuro_summary.csv, neuro_layers.parquet")


def _headline(probed: Probed) -> pd.DataFrame:
    """Return a row a group: F1 of the paper, its layer, the honest one, the control's."""
    names = ["f1", "f1_layer", "f1_chosen", "f1_control", "accuracy"]
    table = probed.summary[probed.summary["metric"].isin(names)].copy()
    table["group"] = table["group"].where(table["group"] != "", "(mean)" if table["group"].nunique() > 1 else "(all)")
    wide = table.pivot_table(index="group", columns="metric", values="value", sort=False, dropna=False)[names]
    pairs = table[table["metric"] == "f1"].set_index("group")["n"]
    shown = wide.round(3).astype(object)
    shown["f1_layer"] = [number(layer, digits=0) if layer == layer else "" for layer in wide["f1_layer"]]  # noqa: PLR0124 - NaN
    shown.insert(0, "pairs", pairs)
    return shown.reset_index()


@contextlib.contextmanager
def _bars() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    count = TextColumn("{task.completed}/{task.total}")
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        count,
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True, quiet=output().quiet)) as bars:
        tasks: dict[str, int] = {}

        def tell(what: str, n_done: int, n_total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=n_total)
            bars.update(tasks[what], completed=n_done)  # type: ignore[arg-type]

        yield tell
