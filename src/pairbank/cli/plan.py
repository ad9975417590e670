"""`plan`: the cost of a study. `compare-engines`: one model by several engines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

import pairbank
from pairbank.cli.display.console import show, status
from pairbank.cli.display.output import answer, say
from pairbank.cli.display.progress import bars, work_of
from pairbank.cli.loading import load
from pairbank.cli.models import chosen_models, chosen_study
from pairbank.cli.options import ItemOptions, Methods, StudyName, StudyOptions
from pairbank.scoring.models.options import LoadOptions
from pairbank.stats.wording import magnitude, percent

if TYPE_CHECKING:
    from pairbank.scoring.costs import Shape, Work


@dataclass(frozen=True, slots=True, kw_only=True)
class CostOptions:
    parameters: Annotated[list[float] | None, "Also estimate a model with this many parameters (70e9); repeatable."] = (
        None
    )
    device: Annotated[str, "here (measured on the spot), a100, h100, h200, l40s, rtx4090, v100."] = "h100"
    flops_per_second: Annotated[float | None, "Sustained FLOP/s of one device, instead of a device name."] = None
    dtype: Annotated[str, "Of the weights: bfloat16, float32, 8bit, 4bit …"] = "bfloat16"
    like: Annotated[str | None, "Local model to use for models that are not available: its tokenizer and shape."] = None
    kind: Annotated[Literal["causal", "masked", "seq2seq"] | None, "Kind of the models that --like represents."] = None
    total: Annotated[bool, "Print one line per model and a total."] = False
    items: Annotated[int | None, typer.Option(min=1, help="Extrapolate to a corpus of this many items.")] = None
    detect: Annotated[
        float | None, "Also print how many items and paradigms detect this difference in accuracy with 80% power."
    ] = None
    detect_r: Annotated[float | None, "The same for an r with people's ratings, by number of raters."] = None

    def check(self) -> None:
        from pairbank.scoring.costs import FLOPS_PER_SECOND

        if self.kind is not None and self.like is None:
            raise typer.BadParameter("--kind says what models are that are not here: name one that is (--like demo)")
        if self.flops_per_second is None and self.device not in (*FLOPS_PER_SECOND, "here"):
            known = ", ".join(FLOPS_PER_SECOND)
            raise typer.BadParameter(f"{self.device!r}: expected here, {known}, or --flops-per-second")

    def rate(self) -> tuple[float, str]:
        from pairbank.scoring.costs import FLOPS_PER_SECOND, UTILISATION, measured_flops_per_second

        if self.flops_per_second is not None:
            return self.flops_per_second, "as stated"
        if self.device == "here":
            return measured_flops_per_second(), "measured here"
        return FLOPS_PER_SECOND[self.device] * UTILISATION, f"{percent(UTILISATION)} of what the vendor states"


def plan(study: StudyName, *, what: StudyOptions, how: CostOptions) -> None:
    """Estimate the cost of a study: tokens, FLOPs, memory, and hours on 1, 8 and 64 devices.

    Only tokenizers and configurations are loaded. A few units of each corpus are laid out; the rest is like them.

    Example: pairbank plan demo --model demo --device here
    """
    import pandas as pd

    from pairbank.scoring.costs import Work, scaled
    from pairbank.study.corpora import plans_of
    from pairbank.study.declaration import load_study

    how.check()
    declared = chosen_study(load_study(study), what)
    models = chosen_models(declared, what, {})
    rows: list[dict[str, object]] = []
    of_models: list[dict[str, float]] = []
    with status(f"planning for {', '.join(model.name for model in models)}"):
        rate, reported = how.rate()
        plans = plans_of(
            declared,
            models,
            dtype=how.dtype,
            like=how.like,
            kind=how.kind,
            n_items=how.items,
            data_dir=what.data_dir,
        )
        for planned in plans:
            sizes = how.parameters or () if not of_models else ()
            for shape in (planned.shape, *(scaled(planned.shape, n) for n in sizes)):
                costs = {name: _costs(shape, work, rate) for name, work in planned.work.items()}
                in_all = _costs(shape, sum(planned.work.values(), start=Work()), rate)
                shown = {"all": in_all} if how.total else costs if len(costs) == 1 else {**costs, "all": in_all}
                rows += [_row(shape.name, name, of_corpus) for name, of_corpus in shown.items()]
                of_models.append(in_all)
    if how.total and len(of_models) > 1:
        in_all = {name: sum(costs[name] for costs in of_models) for name in of_models[0]}
        rows.append(_row(f"{len(of_models)} models", "all", in_all))
    show(pd.DataFrame(rows), name="costs", whole=["corpus"])
    answer(flops_per_second=rate, measured=reported)
    say(
        f"{magnitude(rate)} FLOP/s per device ({reported}); several devices: as many copies of the model, or its "
        "parts, in full use"
    )
    say("host_hours: one CPU core beside each device, at the same time; hours are those of the slower one")
    if how.detect is not None or how.detect_r is not None:
        _show_power(how)
    if how.like is not None:
        say(f"models with a declared size: tokens of {how.like}, its shape at that size")


def _show_power(how: CostOptions) -> None:
    from pairbank.stats.measures import power

    with status("simulating data"):
        tables = [power.items_for_difference(how.detect)] if how.detect is not None else []
        tables += [power.items_for_r(how.detect_r)] if how.detect_r is not None else []
    for table in tables:
        sizes = table.astype({"items_per_paradigm": "Int64", "items": "Int64"})
        show(sizes, name=f"power_{table.columns[0]}")
    say(
        f"fewest items for {percent(power.POWER)} power beyond their paradigms, if these have equal sizes; empty: more "
        f"than {power.MOST_ITEMS} per paradigm, so add paradigms. Assumptions: docs/statistics.md#power"
    )


def _costs(shape: Shape, work: Work, rate: float) -> dict[str, float]:
    return {
        "items": work.n_items,
        "tokens": work.n_sequence_tokens,
        "computed": work.n_computed_tokens,
        "FLOPs": work.flops(shape),
        "weights": shape.weights_bytes,
        "scores": work.result_bytes,
        "host_seconds": work.host_seconds,
        "seconds": max(work.flops(shape) / rate, work.host_seconds),  # device and host work at once
    }


def _row(model: str, corpus: str, costs: Mapping[str, float]) -> dict[str, object]:
    n_tokens, n_computed = costs["tokens"], costs["computed"]
    return {
        "model": model,
        "corpus": corpus,
        **{name: round(costs[name]) for name in ("items", "tokens", "computed")},
        "shared": percent(1 - n_computed / n_tokens if n_tokens else 0),
        "FLOPs": magnitude(costs["FLOPs"]),
        "weights_GB": round(costs["weights"] / 1e9, 1),
        "scores_MB": round(costs["scores"] / 1e6, 1),
        "host_hours": float(magnitude(costs["host_seconds"] / 3600)),
        **{f"hours_{n}": float(magnitude(costs["seconds"] / 3600 / n)) for n in (1, 8, 64)},
    }


def compare_engines(
    corpus: Annotated[str, "A corpus or your own file."],
    *,
    with_: Annotated[
        list[str],
        typer.Option(
            metavar="KEY=VALUE,…",
            help="What another engine has: model=NAME or a model option, as in dtype=bfloat16 or "
            "model=http://127.0.0.1:8000/v1,tokenizer=FOLDER. Repeatable.",
        ),
    ],
    model: Annotated[str, "The reference: demo, a folder, or a Hub id."] = "demo",
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

    from pairbank.scoring.applicability import chosen_methods
    from pairbank.scoring.engine_differences import engine_differences

    engines = [_engine(text) for text in with_]
    tables = []
    with status(f"building {corpus}"):
        items = which.load(corpus)
    methods = chosen_methods(items, method).methods
    for engine in ({}, *engines):
        provided = {**cast("dict[str, Any]", options), **engine}
        scorer = load(str(provided.pop("model", model)), **cast("LoadOptions", provided))
        with bars(work_of(scorer)) as bar:
            notify = bar(f"scoring {items['corpus'][0]}", scorer.info.name)
            tables.append(pairbank.score(items, scorer, methods=methods, per_token=True, progress=notify))
        del scorer
    reference, *others = tables
    frames = [
        engine_differences(reference, other).assign(engine=text) for text, other in zip(with_, others, strict=True)
    ]
    table = pd.concat([frame[["engine", *frame.columns[:-1]]] for frame in frames], ignore_index=True)
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
    options: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals:
            raise typer.BadParameter(f"--with {text!r}: expected KEY=VALUE, as in dtype=bfloat16")
        try:
            options[name.strip().replace("-", "_")] = json.loads(value)
        except ValueError:
            options[name.strip().replace("-", "_")] = value.strip()
    return options
