"""How often introspection is said where there is none, and found where there is: the tables of docs/validation.md.

    PYTHONPATH=tests/support python tests/simulations/introspection.py [--repetitions 400]

In: nothing but seeds; out: Markdown. About five minutes on one idle core; the small form is in the tests of the
analysis.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from joblib import Parallel, delayed

from introspection_nulls import DESIGNS, MEANINGS, Design, made_up_models
from introspection_quick import quick_own_advantage
from pairbank.stats.analyses.introspection.analysis import published_test
from pairbank.stats.analyses.introspection.beyond_relatives import own_advantage
from pairbank.stats.analyses.introspection.model_pairs import (
    disagreement,
    of_models,
    pair_correlations,
    pair_table,
    words,
)
from pairbank.stats.analyses.introspection.tables import consistency_by_self, consistency_by_similarity

CELLS = [(3, 1), (3, 2), (3, 3), (6, 1), (6, 2), (6, 3), (6, 6), (21, 1), (21, 2), (21, 3), (21, 7)]
"""Models and models of a family. Families of 7 do not fit into 3 or 6 models: one family of all stands for them."""
N_ITEMS = (240, 700, 1048)
FEW_CELLS = [(3, 2), (6, 3), (21, 7)]
SIZES = {
    "70 of 10 items": [10] * 70,
    "14 of 50 items": [50] * 14,
    "one of 350 items, 35 of 10": [350] + [10] * 35,
    "12 of 8 to 166 items": [8, 11, 15, 20, 27, 36, 48, 64, 85, 100, 120, 166],
}
PRIVILEGED = (0.05, 0.1, 0.2)
Cell = tuple[int, int, int]
SENTENCES = {
    "beyond relatives": "follow the model's own probabilities beyond",
    "ahead of the declared relatives' only": "ahead of the declared relatives' only",
    "no advantage is shown": "No advantage of a model's own",
    "relatives' more than own": "follow the relatives' probabilities more",
    "inconclusive": "inconclusive",
    "published test: self ahead of every type": "self is ahead of every other type",
    "published test: ahead of some types": "self is ahead of some types",
    "published test: ahead of no type": "self is ahead of no other type",
    "published test: some coefficients positive": "are positive: the line",
}
"""A short name and words that the verdict has only then."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--workers", type=int, default=-1)
    parser.add_argument("--table", choices=list(TABLES), action="append", help="one of the tables; repeat for more")
    given = parser.parse_args(arguments)
    started = time.perf_counter()
    for name in given.table or TABLES:
        print(f"\n### {name}\n", flush=True)  # noqa: T201
        for line in TABLES[name](given.repetitions, given.workers):
            print(line, flush=True)  # noqa: T201
        print(f"{time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)  # noqa: T201


def once(
    seed: int, cell: Cell, design: Design = "alike", privileged: float = 0.0, *, filtered: bool = False
) -> tuple[bool, ...]:
    """Return whether the verdict says `beyond relatives`, the relatives' interval is above 0, below 0, and more."""
    n_models, family_size, n_items = cell
    stack, _ = made_up_models(
        np.random.default_rng([seed, *cell]),
        n_models=n_models,
        family_size=family_size,
        n_items=n_items,
        design=design,
        privileged=privileged,
        preference=0.8 if filtered else 0.0,
    )
    if filtered:
        stack = stack.select(disagreement(stack.direct_nats, stack.meta_nats).keep)
    own = quick_own_advantage(stack, family_size=family_size)
    said = own.beyond
    over = own.over_relatives
    return said == "beyond relatives", over.low > 0, over.high < 0, said == "inconclusive"


def rates(repetitions: int, workers: int, *arguments: object, **more: object) -> tuple[float, ...]:
    result = Parallel(workers)(delayed(once)(seed, *arguments, **more) for seed in range(repetitions))
    return tuple(np.mean(result, axis=0))


def grid(repetitions: int, workers: int) -> Iterator[str]:
    """Yield a row a cell: said without privileged access, models alike and unequal in noise."""
    yield "| models | per family | " + " | ".join(f"{n:,} items" for n in N_ITEMS) + " |"
    yield "| --- | --- |" + " --- |" * len(N_ITEMS)
    for n_models, family_size in CELLS:
        cells = []
        for n_items in N_ITEMS:
            n = repetitions if family_size > 1 else min(20, repetitions)  # alone in its family: never told
            both = [
                rates(n, workers, (n_models, family_size, n_items), design) for design in ("alike", "unequal noise")
            ]
            told = "" if both[0][3] < 1 else " (inconclusive)"
            cells.append(" / ".join(f"{shown(r[0])} ({shown(r[1])})" for r in both) if not told else "0" + told)
        yield f"| {n_models} | {family_size} | " + " | ".join(cells) + " |"


def designs(repetitions: int, workers: int) -> Iterator[str]:
    """Yield a row a design: what is said without privileged access on 700 items."""
    yield "| design | " + " | ".join(f"{m} models, {f} of a family" for m, f in FEW_CELLS) + " |"
    yield "| --- |" + " --- |" * len(FEW_CELLS)
    requested: list[tuple[str, Design, bool]] = [(MEANINGS[design], design, False) for design in DESIGNS[2:]]
    requested += [(f"{design}; disagreed items only", design, True) for design in ("alike", "unequal noise")]
    for meaning, design, filtered in requested:
        cells = [rates(repetitions, workers, (m, f, 700), design, filtered=filtered) for m, f in FEW_CELLS]
        yield f"| {meaning} | " + " | ".join(f"{shown(r[0])} ({shown(r[1])})" for r in cells) + " |"


def paradigms(repetitions: int, workers: int) -> Iterator[str]:
    """Yield a row per sizes of paradigms and models: coverage of 0, and said, with paradigms as draws."""
    yield '| paradigms | models | interval over relatives contains 0 | report states "beyond its relatives\'" |'
    yield "| --- | --- | --- | --- |"
    for name, sizes in SIZES.items():
        for cell in FEW_CELLS[:2]:
            jobs = (delayed(over_paradigms)(seed, cell, sizes) for seed in range(repetitions))
            covered, claimed = np.mean(Parallel(workers)(jobs), axis=0)
            yield f"| {name} | {cell[0]} | {shown(covered)} | {shown(claimed)} |"


def over_paradigms(seed: int, cell: tuple[int, int], sizes: Sequence[int]) -> tuple[bool, bool]:
    """Return whether the interval over paradigms contains 0, and whether the report claims an advantage."""
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    stack, features = made_up_models(
        np.random.default_rng([seed, *cell, len(sizes)]),
        n_models=cell[0],
        family_size=cell[1],
        n_items=clusters.size,
        design="clustered items",
        clusters=clusters,
    )
    stack = replace(stack, clusters=clusters)
    own = own_advantage(stack, pair_correlations(stack), features)
    return own.over_relatives.low <= 0 <= own.over_relatives.high, own.beyond == "beyond relatives"


def power(repetitions: int, workers: int) -> Iterator[str]:
    """Yield a row a cell: found, where answers correlate so much with the model's own part."""
    columns = list(product(PRIVILEGED, (N_ITEMS[0], N_ITEMS[-1])))
    yield "| models | per family | " + " | ".join(f"r = {shown(r)}, {n:,} items" for r, n in columns) + " |"
    yield "| --- | --- |" + " --- |" * len(columns)
    for n_models, family_size in CELLS:
        if family_size == 1:
            continue
        cells = [shown(rates(repetitions, workers, (n_models, family_size, n), "alike", r)[0]) for r, n in columns]
        yield f"| {n_models} | {family_size} | " + " | ".join(cells) + " |"


def spoken(seed: int, cell: Cell, design: Design, privileged: float) -> tuple[bool, ...]:
    """Return which of the sentences the verdict says, then what tables alone would make one say."""
    n_models, family_size, n_items = cell
    stack, features = made_up_models(
        np.random.default_rng([seed, *cell]),
        n_models=n_models,
        family_size=family_size,
        n_items=n_items,
        design=design,
        privileged=privileged,
    )
    pairs, own = pair_table(stack, features), own_advantage(stack, pair_correlations(stack), features)
    test = published_test(consistency_by_similarity(pairs), n_models=n_models)
    text = words().render("headline", own) + words().render("published", test)
    family = of_models(pairs, stack.models[:family_size])
    tables = [consistency_by_self(part)["self"] for part in (family, pairs)]
    return (
        *(sentence in text for sentence in SENTENCES.values()),
        *(self.estimate > 0 and self.p_value < 0.05 for self in tables),
        own.partial.value > 0,
    )


def sentences(repetitions: int, workers: int) -> Iterator[str]:
    """Yield a row a sentence: how often it is said on 700 items, without privileged access and with r = .1 and .3."""
    cells = [(3, 3, 700), (6, 3, 700), (21, 7, 700)]
    settings: list[tuple[Design, float]] = [("alike", 0.0), ("unequal noise", 0.0), ("alike", 0.1), ("alike", 0.3)]
    names = [
        *SENTENCES,
        "Table 8, one family: self ahead",
        "Table 8, were families pooled: self ahead",
        "partial r above 0",
    ]
    columns = list(product(settings, cells))
    result = [
        np.mean(Parallel(workers)(delayed(spoken)(seed, cell, design, r) for seed in range(repetitions)), axis=0)
        for (design, r), cell in columns
    ]
    heads = [f"r = {shown(r)}, {design}, {m} models" for (design, r), (m, _, _) in columns]
    yield "| sentence | " + " | ".join(heads) + " |"
    yield "| --- |" + " --- |" * len(columns)
    for nth, name in enumerate(names):
        yield f"| {name} | " + " | ".join(shown(column[nth]) for column in result) + " |"


TABLES = {"grid": grid, "designs": designs, "paradigms": paradigms, "power": power, "sentences": sentences}


def shown(share: float) -> str:
    return "> 0.99" if 0.995 <= share < 1 else f"{share:.3f}".rstrip("0").rstrip(".")


if __name__ == "__main__":
    main()
