"""`pairbank plan`: what a study costs, before anything is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from pairbank.cli.display.console import quiet_bars, status
from pairbank.cli.display.output import answer, say
from pairbank.cli.display.tables import show
from pairbank.cli.models import chosen_models
from pairbank.cli.options import DataDir, Limit, ModelLists, Models

if TYPE_CHECKING:
    from pairbank.scoring.costs import Shape, Work


def plan(
    study: Annotated[str, typer.Argument(help="A shipped study, or the path of a TOML file.")],
    model: Models = None,
    models: ModelLists = None,
    parameters: Annotated[
        list[float] | None,
        typer.Option(help="Also a model of so many parameters (70e9) with the first model's tokenizer; repeatable."),
    ] = None,
    device: Annotated[
        str, typer.Option(help="here (measured on the spot), a100, h100, h200, l40s, rtx4090, v100.")
    ] = "h100",
    flops_per_second: Annotated[
        float | None, typer.Option(help="What one device reaches while it scores, in place of a device's name.")
    ] = None,
    dtype: Annotated[str, typer.Option(help="Of the weights: bfloat16, float32, 8bit, 4bit …")] = "bfloat16",
    data_dir: DataDir = None,
    limit: Limit = None,
) -> None:
    """Say what a study costs: tokens, how much is shared, FLOPs, memory, bytes, hours on 1, 8 and 64 devices.

    Only tokenizers and configurations are loaded. A few units of each corpus are laid out; the rest is like them.

    Example: pairbank plan demo --model demo --device here
    """
    import pandas as pd

    from pairbank.scoring.costs import (
        FLOPS_PER_SECOND,
        UTILISATION,
        TokensOnly,
        measured_flops_per_second,
        scaled,
        shape_of,
    )
    from pairbank.study.costs import costs_of
    from pairbank.study.declaration import limited, load_study

    if flops_per_second is None and device not in (*FLOPS_PER_SECOND, "here"):
        raise typer.BadParameter(f"{device!r}: expected here, {', '.join(FLOPS_PER_SECOND)}, or --flops-per-second")
    wanted = load_study(study) if limit is None else limited(load_study(study), limit)
    choices = chosen_models(wanted, model or [], models or [], {})
    rows = []
    with quiet_bars():
        if flops_per_second is not None:
            rate, told = flops_per_second, "as stated"
        elif device == "here":
            with status("measuring this machine"):
                rate, told = measured_flops_per_second(), "measured here"
        else:
            rate, told = FLOPS_PER_SECOND[device] * UTILISATION, f"{UTILISATION:.0%} of what the vendor states"
        for choice in choices:
            with status(f"planning for {choice.name}"):
                name = choice.options.get("tokenizer") or choice.reference  # of a server's model, by its tokenizer
                stored_as = choice.options.get("quantisation") or dtype
                tokens, shape = TokensOnly(name), replace(shape_of(name, dtype=stored_as), name=choice.name)
                work = costs_of(wanted, tokens, kind=shape.kind, data_dir=data_dir)
            shapes = [shape, *(scaled(shape, n) for n in (parameters or ()) if choice is choices[0])]
            rows += [row for one in shapes for row in _rows(one, work, rate)]
    show(pd.DataFrame(rows), name="costs", whole=["corpus"])
    answer(flops_per_second=rate, measured=told)
    say(f"{rate:.3g} FLOP/s a device ({told}); several devices: as many copies of the model, or its parts, in full use")


def _rows(shape: Shape, work: Mapping[str, Work], rate: float) -> Iterator[dict[str, object]]:
    """Yield a line a corpus, and one of all of them."""
    from pairbank.scoring.costs import Work

    lines = dict(work) if len(work) == 1 else {**work, "all": sum(work.values(), start=Work())}
    for corpus, one in lines.items():
        seconds = one.flops(shape) / rate
        yield {
            "model": shape.name,
            "corpus": corpus,
            "items": round(one.n_items),
            "tokens": round(one.n_sequence_tokens),
            "computed": round(one.n_computed_tokens),
            "shared": f"{one.shared:.0%}",
            "FLOPs": f"{one.flops(shape):.2e}",
            "weights_GB": round(shape.weights_bytes / 1e9, 1),
            "scores_MB": round(one.result_bytes / 1e6, 1),
            **{f"hours_{n}": float(f"{seconds / 3600 / n:.3g}") for n in (1, 8, 64)},
        }
