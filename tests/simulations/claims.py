"""How often verdict sentences outside introspection are said wrongly: the table of docs/validation.md.

    PYTHONPATH=tests/support python tests/simulations/claims.py [--repetitions 200]

In: nothing but seeds; out: Markdown. About half an hour on one core; the small forms are in the tests of the analyses.
"""

import argparse
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from claims_nulls import (
    FAMILIES,
    KINDS,
    answer_errors,
    association_misses,
    covariate_errors,
    equivalence_errors,
    mixed_errors,
    wordings_cover,
)
from paradigm_cases import UNEVEN


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument(
        "--only", choices=("equivalence", "associations", "mixed", "designs", "logistic", "covariates", "wordings")
    )
    parser.add_argument("--seed", type=int, default=0, help="of the tables `designs` and `logistic`")
    parser.add_argument("--cells", default="", help="regular expression of rows of `designs`")
    given = parser.parse_args(arguments)
    tables = {
        "equivalence": equivalence(),
        "associations": associations(given.repetitions),
        "mixed": mixed(given.repetitions),
        "designs": designs(given.repetitions, seed=given.seed, cells=given.cells),
        "logistic": logistic(given.repetitions, seed=given.seed),
        "covariates": covariates(given.repetitions),
        "wordings": wordings(given.repetitions),
    }
    for lines in [tables[given.only]] if given.only else tables.values():
        for line in lines:
            print(line, flush=True)  # noqa: T201
        print(flush=True)  # noqa: T201


def equivalence() -> Iterator[str]:
    """Yield how often accuracies that differ by the margin are called equivalent: exact sums, nothing is drawn."""
    yield "| items | discordant | called equivalent |\n| --- | --- | --- |"
    for n_items, discordance in [(50, 0.05), (50, 0.2), (200, 0.05), (200, 0.1), (200, 0.3), (1000, 0.06), (1000, 0.3)]:
        yield f"| {n_items:,} | {discordance:.2f} | {equivalence_errors(n_items, discordance, margin=0.05):.3f} |"


def associations(repetitions: int) -> Iterator[str]:
    """Yield how often the 95% intervals of correlations of 0 cover it."""
    yield "| noise | items | partial r covers | r within models covers |\n| --- | --- | --- | --- |"
    for kind in KINDS:
        for n_items in (50, 200, 1000):
            partial, within = association_misses(kind, n_items=n_items, n_runs=5 * repetitions, seed=0)
            yield f"| {kind} | {n_items:,} | {1 - partial:.3f} | {1 - within:.3f} |"


def covariates(repetitions: int) -> Iterator[str]:
    """Yield how often size is said to change accuracy, or to change it otherwise by a second method."""
    yield "| models | sd of slopes | true difference | slope said | difference said | difference said (Hu & Frank) |"
    yield "| --- | --- | --- | --- | --- | --- |"
    nulls = [(families, slopes, 0.0) for families in FAMILIES for slopes in (0.0, 0.2)]
    for families, slopes, effect in [*nulls, *((families, 0.2, 0.5) for families in FAMILIES)]:
        n_published = 0 if effect else min(30, repetitions // 3)
        rates = covariate_errors(
            families, n_units=20, slopes=slopes, effect=effect, n_runs=repetitions, seed=77, by_family=n_published
        )
        said = f"{rates['own']:.3f} | {rates['difference']:.3f} | {rates['published']:.3f}"
        yield f"| {families} | {slopes:.1f} | {effect:.1f} | {said} |"


def wordings(repetitions: int) -> Iterator[str]:
    """Yield the coverage of the interval of asking over wordings, and of that over items and paradigms alone."""
    yield "| paradigms | wordings | sd of wordings | over wordings | over paradigms alone |"
    yield "| --- | --- | --- | --- | --- |"
    for layout in ("12 x 5", "40, 20, 13, …, 3 (12)", "120, 60, …, 4 (30)", "`jblimp`"):
        for n_wordings, spread in itertools.product((3, 5, 8), (0.0, 0.2, 0.5)):
            covered = wordings_cover(UNEVEN[layout], n_wordings=n_wordings, spread=spread, n_runs=repetitions, seed=7)
            yield f"| {layout} | {n_wordings} | {spread:.1f} | {covered['wordings']:.3f} | {covered['items']:.3f} |"


def mixed(repetitions: int) -> Iterator[str]:
    """Yield coverage of a method's effect, how often something is said to differ where nothing does, and power."""
    yield "| values | models | units | sd by model | effect | covered | methods said | models said | phenomena said |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    grid = (False, True), (3, 5, 20), (20, 67), (0.0, 0.3)
    for effect in (0.0, 0.4):
        for threshold, n_models, units, by_model in itertools.product(*grid):
            result = mixed_errors(
                units, 2, n_models, n_runs=repetitions // (4 if effect else 1), seed=n_models + units, effect=effect,
                by_model=by_model, threshold=threshold,
            )  # fmt: skip
            yield _row("accuracy" if threshold else "delta", n_models, units, by_model, effect, result)


HEAD = (
    "| values | models | paradigms | sd by model | effect | covered | methods said | models said | phenomena said |",
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
)
DESIGNS: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("delta, tails as t (3)", 5, {"heavy": True}),
    ("delta, tails as t (3), single items", 5, {"heavy": True, "n_items": 1}),
    ("delta, tails as t (3), single items", 3, {"heavy": True, "n_items": 1}),
    ("accuracy, single items", 5, {"threshold": True, "n_items": 1}),
    ("delta, four methods", 5, {"n_methods": 4}),
    ("delta, four models", 4, {}),
    ("accuracy, four methods, four models", 4, {"threshold": True, "n_methods": 4}),
)


def designs(repetitions: int, *, seed: int, cells: str = "") -> Iterator[str]:
    """Yield the same for heavy tails, single items, four methods, four models; and power, of a fourth of the runs."""
    yield from HEAD
    for effect in (0.0, 0.4):
        for (name, n_models, more), units, by_model in itertools.product(DESIGNS, (20, 67), (0.0, 0.3)):
            if not re.search(cells, f"{name}, {n_models} models, {units} paradigms, sd {by_model}, effect {effect}"):
                continue
            given: dict[str, Any] = {"n_methods": 2, **more}
            result = mixed_errors(
                units, n_models=n_models, n_runs=repetitions // (4 if effect else 1), seed=1000 * seed + units,
                effect=effect, by_model=by_model, **given,
            )  # fmt: skip
            yield _row(name, n_models, units, by_model, effect, result)


def logistic(repetitions: int, *, seed: int) -> Iterator[str]:
    """Yield how often the linear model of shares and the logistic one say that something differs; last, power.

    From four models on, a report gives no verdict on methods by the logistic model.
    """
    names = "methods: linear | methods: logistic | models: linear | models: logistic"
    yield f"| models | accuracy | sd by model | effect | effect of a model | covered | {names} |"
    yield "| --- |" + " --- |" * 9
    for n_models, mean, by_model, effect, lead in (
        (3, 1.3, 0.0, 0.0, 0.0),
        (3, 4.0, 0.0, 0.0, 0.0),
        (5, 1.3, 0.4, 0.0, 0.0),
        (5, 4.0, 0.4, 0.0, 0.0),
        (3, 1.3, 0.0, 0.6, 0.0),
        (3, 4.0, 0.0, 0.9, 0.0),
        (3, 1.3, 0.0, 0.0, 0.6),
        (3, 4.0, 0.0, 0.0, 0.9),
        (5, 1.3, 0.4, 0.0, 0.6),
        (5, 4.0, 0.4, 0.0, 0.9),
    ):
        result = answer_errors(
            20, n_models, n_runs=repetitions, seed=1000 * seed + int(10 * mean) + n_models,
            mean=mean, by_model=by_model, effect=effect, lead=lead,
        )  # fmt: skip
        keys = ("covered", "linear, method", "logistic, method", "linear, model", "logistic, model")
        rates = " | ".join(f"{result[key]:.3f}" for key in keys)
        yield f"| {n_models} | {result['accuracy']:.2f} | {by_model} | {effect} | {lead} | {rates} |"


def _row(name: str, n_models: int, units: int, by_model: float, effect: float, result: dict[str, float]) -> str:
    covered = "" if math.isnan(result["coverage"]) else f"{result['coverage']:.3f}"
    said = " | ".join(f"{result[term]:.3f}" for term in ("method", "model", "phenomenon"))
    return f"| {name} | {n_models} | {units} | {by_model} | {effect} | {covered} | {said} |"


if __name__ == "__main__":
    main()
