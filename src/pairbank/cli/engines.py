"""`pairbank compare-engines`: the same items by several engines, dtypes or servers."""

from __future__ import annotations

import json
from typing import Annotated, Any, cast

import typer

from pairbank.cli.display.console import bars, quiet_bars, status, work_of
from pairbank.cli.display.output import answer, say
from pairbank.cli.display.tables import show
from pairbank.cli.options import ItemOptions, Methods, load_items, takes_item_options, takes_model_options
from pairbank.cli.scoring import load
from pairbank.scoring.models.options import LoadOptions


@takes_model_options
@takes_item_options
def compare_engines(
    corpus: Annotated[str, typer.Argument(help="A corpus or your own file.")],
    other: Annotated[
        list[str],
        typer.Option(
            "--with",
            metavar="KEY=VALUE,…",
            help="What another engine has: model=NAME or a model option, as in dtype=bfloat16 or "
            "model=http://127.0.0.1:8000/v1,tokenizer=FOLDER. Repeatable.",
        ),
    ],
    model: Annotated[str, typer.Option(help="The reference: demo, a folder, or a Hub id.")] = "demo",
    *,
    method: Methods = None,
    tolerance: Annotated[float, typer.Option(min=0, help="Largest difference of a score that passes.")] = 1e-3,
    which: ItemOptions,
    options: LoadOptions,
) -> None:
    """Compare the scores of one model by several engines: transformers, servers, dtypes.

    Each row has the median and maximum difference from the reference, and the number of items whose sign changes.
    The exit code is 1 if a score differs by more than the tolerance, or flags, token counts or answers differ.

    Example: pairbank compare-engines starter --model demo --with dtype=bfloat16 -m direct --tolerance 1
    """
    import pandas as pd

    import pairbank
    from pairbank.scoring.applicability import chosen_methods
    from pairbank.scoring.engines import engine_differences

    engines = [_engine(text) for text in other]
    tables = []
    with quiet_bars():
        with status(f"building {corpus}"):
            items = load_items(corpus, **which)
        methods = chosen_methods(items, method).methods
        for own in ({}, *engines):
            given = {**cast("dict[str, Any]", options), **own}
            scorer = load(str(given.pop("model", model)), **cast("LoadOptions", given))
            with bars(work_of(scorer)) as bar:
                tell = bar(f"scoring {items['corpus'][0]}", scorer.info.name)
                tables.append(pairbank.score(items, scorer, methods=methods, per_token=True, progress=tell))
            del scorer
    reference, *others = tables
    found = [engine_differences(reference, one).assign(engine=text) for text, one in zip(other, others, strict=True)]
    table = pd.concat([frame[["engine", *frame.columns[:-1]]] for frame in found], ignore_index=True)
    failed = bool((table["max"] > tolerance).any() or table["other"].any())
    shown = table.assign(**{name: table[name].round(6) for name in ("median", "max", "max_token")})
    show(shown, name="differences", whole=["engine"])
    answer(n_items=len(items), tolerance=tolerance, passed=not failed)
    say("over the tolerance" if failed else f"all differences are at most {tolerance}")
    if failed:
        raise typer.Exit(1)


def _engine(text: str) -> dict[str, Any]:
    """Return an engine's options; a number, true or false is one.

    >>> _engine("dtype=bfloat16,max_length=128")
    {'dtype': 'bfloat16', 'max_length': 128}
    """
    found: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals:
            raise typer.BadParameter(f"--with {text!r}: expected KEY=VALUE, as in dtype=bfloat16")
        try:
            found[name.strip().replace("-", "_")] = json.loads(value)
        except ValueError:
            found[name.strip().replace("-", "_")] = value.strip()
    return found
