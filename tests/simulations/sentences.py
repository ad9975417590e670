"""How often a report says something that is wrong: one row a sentence and kind of data, as in docs/validation.md.

    PYTHONPATH=src:tests/support python tests/simulations/sentences.py [--runs 2000]

In: made scores in which nothing differs, nothing lies below chance and nothing is predicted; out, Markdown. 2,000 runs
take some three minutes of one idle core. Sentences on introspection: `introspection.py`; equivalence and mixed models:
`claims.py`.
"""

import argparse
import itertools
import re
from collections.abc import Iterator, Sequence
from functools import partial

from paradigm_cases import UNEVEN
from rater_nulls import as_good
from sentence_nulls import (
    Said,
    above_null,
    alone_missed,
    below,
    differ,
    differ_beyond,
    differ_on_paradigms,
    falls,
    lowest_missed,
    misranked,
    predicted,
    rate,
    uncorrected_below,
)


def rows() -> Iterator[tuple[str, str, Said]]:
    """Yield sentences, the data in which they are wrong, and whether they are said."""
    said = "`comparisons`: k of m comparisons differ on such items"
    for n in (24, 200, 1000):
        yield said, f"4 equal models, {n:,} items", partial(differ, n=n)
    for n in (24, 1000):
        yield said, f"the same, one of them with ties on a third, {n:,} items", partial(differ, n=n, rounded=True)
    data = "60 paradigms of 20; models differ on each, not on the whole"
    yield f"{said} (true of these paradigms)", data, partial(differ_on_paradigms, n_paradigms=60, n_each=20)
    for n_paradigms, n_each in ((12, 20), (60, 20), (60, 3)):
        data = f"{n_paradigms} paradigms of {n_each}; models differ on each, not on the whole"
        draw = partial(differ_beyond, n_paradigms=n_paradigms, n_each=n_each)
        yield "`comparisons`: k differ beyond their paradigms", data, draw
    yield from compared()
    yield from extremes()
    yield from ranks()
    said = "`associations`: x % of the variance of people's differences is predicted"
    for kind in ("normal", "heavy", "tied"):
        for n, n_predictors in ((30, 6), (30, 10), (200, 10)):
            data = f"{n_predictors} predictors of nothing, {kind}, {n} items"
            yield said, data, partial(predicted, n=n, n_predictors=n_predictors, kind=kind)
    yield from above_nulls()
    yield from raters()


def compared() -> Iterator[tuple[str, str, Said]]:
    """Yield differences between 2, 5 and 20 models on 24, 100 and 1,000 items: none, and one model better by 0.10."""
    for n_models, (n_paradigms, n_each) in itertools.product((2, 5, 20), ((12, 2), (10, 10), (20, 50))):
        n = n_paradigms * n_each
        equal = f"{n_models} models that are equally good"
        better = f"power: one of {n_models} models better by 0.10"
        said = "`comparisons`: k of m differ on such items, 2 to 20 models"
        yield said, f"{equal}, {n:,} items", partial(differ, n=n, n_models=n_models)
        yield said, f"{better}, {n:,} items", partial(differ, n=n, n_models=n_models, lead=0.36)
        said = "`comparisons`: k differ beyond their paradigms, 2 to 20 models"
        nested = partial(differ_beyond, n_paradigms=n_paradigms, n_each=n_each, n_models=n_models)
        where = f"{n_paradigms} paradigms of {n_each}, on which they vary"
        yield said, f"{equal}, {where}", nested
        yield said, f"{better}, {where}", partial(nested, lead=0.5)


def extremes() -> Iterator[tuple[str, str, Said]]:
    """Yield the sentences on the lowest paradigms: none is below chance, all are equal, and power."""
    said = "`paradigms`: k below chance on average over models"
    for n_models, n_each, ties in (
        (1, 8, 0.0),
        (1, 100, 0.0),
        (1, 30, 0.3),
        (3, 30, 0.0),
        (13, 10, 0.0),
        (20, 50, 0.0),
    ):
        data = f"67 at chance, {n_each} items each, {n_models} model{'s' * (n_models > 1)}{', 0.3 ties' * bool(ties)}"
        yield said, data, partial(below, n_each=n_each, n_models=n_models, ties=ties)
    yield f"{said} (were it not corrected)", "67 at chance, 30 items each", partial(uncorrected_below, n_each=30)
    for n, n_each in ((4, 6), (10, 10), (20, 50)):
        for n_models in (2, 20):
            data = f"power: all {n} at 0.21, {n_each} items each, {n_models} models"
            yield said, data, partial(below, n_each=n_each, n_models=n_models, n=n, share=0.21)
    said = "`paradigms`: an interval of the five lowest misses the truth"
    for n_models, n_each in ((1, 8), (1, 20), (1, 100), (5, 20), (20, 100)):
        for share in (0.5, 0.7, 0.95):
            data = f"67 equal ones at {share:.2f}, {n_each} items each, {n_models} model{'s' * (n_models > 1)}"
            yield said, data, partial(lowest_missed, n_each=n_each, n_models=n_models, share=share)
    for n_each in (20, 100):
        data = f"67 equal ones at 0.70, {n_each} items each, 1 model"
        yield "the lowest one's interval, had it been chosen beforehand", data, partial(alone_missed, n_each=n_each)


def ranks() -> Iterator[tuple[str, str, Said]]:
    """Yield the leaderboard's ranks: of models that are equal over all paradigms, and of one that is better."""
    for over in (False, True):
        said = f"ranks: a model lacks one of the ranks that it has ({'with' if over else 'without'} paradigms)"
        for n_paradigms, n_each in ((10, 10), (20, 50), (75, 10)):
            for n_models in (2, 5, 20):
                data = f"{n_models} equal models, {n_paradigms} paradigms of {n_each} on which they vary"
                draw = partial(misranked, n_paradigms=n_paradigms, n_each=n_each, n_models=n_models, over=over)
                yield said, data, draw
    for n_paradigms, n_each in ((20, 50), (75, 10)):
        data = f"power: the best of 5 is better by 0.15, {n_paradigms} paradigms of {n_each}"
        draw = partial(misranked, n_paradigms=n_paradigms, n_each=n_each, lead=0.75)
        yield "ranks: the best model has rank 1 alone", data, draw


def above_nulls() -> Iterator[tuple[str, str, Said]]:
    """Yield the sentence on word counts and random weights: the same true r, and power."""
    said = "`grammaticality`: log P is above word counts (one of k)"
    sizes = ((24, 1), (200, 1), (1000, 1), (12, 2), (10, 10), (20, 50), (67, 15))
    for people, (n_paradigms, n_each) in itertools.product((False, True), sizes):
        which = "prediction 2a" if people else "prediction 1a"
        where = f"{n_paradigms} paradigms of {n_each}" if n_each > 1 else f"{n_paradigms:,} independent pairs"
        draw = partial(above_null, n_paradigms=n_paradigms, n_each=n_each, people=people)
        if n_each > 1:
            yield f"{said}, over items alone (before)", f"{which}, the same true r, {where}", partial(draw, over=False)
        yield said, f"{which}, the same true r, {where}", draw
        yield said, f"{which}, the same true r, heavy tails, {where}", partial(draw, heavy=True)
        lead = 1.0 if people else 0.3
        yield said, f"power: {which}, r higher ({_rs(people, lead)}), {where}", partial(draw, lead=lead)
    said = "`grammaticality`: r is lower in the furthest tenth in k of m (p < .05)"
    uneven = ("200 + 19 x 5", "120, 60, …, 4 (30)", "`jblimp`")
    layouts = {"10 x 20": [20] * 10, "20 x 50": [50] * 20} | {name: UNEVEN[name] for name in uneven}
    for n_models, (where, paradigms) in itertools.product((3, 6, 13), layouts.items()):
        draw = partial(falls, sizes=paradigms, n_models=n_models)
        yield said, f"{n_models} models, 2 corpora, paradigms {where}, distance changes nothing", draw
        if n_models == 6:
            power = partial(draw, effect=0.3)
            yield said, f"power: {n_models} models, 2 corpora, paradigms {where}, noise grows with distance", power


def _rs(people: bool, lead: float) -> str:
    if people:
        each = [0.4 * k * 2**0.5 / (2 * (0.4 * k) ** 2 + 1.25) ** 0.5 for k in (1 + lead, 1.0)]
    else:
        each = [(2 * k**2 - 0.16) / (2 * k**2 + 0.16 + 0.36) for k in (1 + lead, 1.0)]
    return f"{each[0]:.2f} for {each[1]:.2f}"


def raters() -> Iterator[tuple[str, str, Said]]:
    """Yield the sentence on raters: at the edge, where it is wrong, and of a model as good as a rater."""
    said = "`raters`: as good as one more person within 0.1"
    for n, n_raters in ((100, 3), (100, 13), (1000, 13)):
        data = f"advantage 0.1 below that of {n_raters} raters, {n:,} items"
        yield said, data, partial(as_good, n=n, n_raters=n_raters)
    data = "advantage 0.1 below that of 13 raters, 1,000 items in 20 paradigms, on which the model varies"
    yield f"{said} (may be true of these paradigms)", data, partial(as_good, n=1000, n_raters=13, n_paradigms=20)
    for n_raters in (3, 13):
        draw = partial(as_good, n=1000, n_raters=n_raters, n_paradigms=20, beyond=True)
        yield f"{said}, beyond its paradigms", data.replace("13", str(n_raters)), draw
    for n, n_raters, right in ((100, 3, 0.87), (100, 13, 0.87), (1000, 13, 0.87), (1000, 13, 0.82)):
        data = f"power: a model right in {right:.2f}, {n_raters} raters in 0.87, {n:,} items"
        yield said, data, partial(as_good, n=n, n_raters=n_raters, right=right)
    data = "power: as often right as 13 raters, 1,000 items in 20 paradigms"
    draw = partial(as_good, n=1000, n_raters=13, right=0.87, n_paradigms=20, beyond=True)
    yield f"{said}, beyond its paradigms", data, draw


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--only", default="", help="sentences that hold this text")
    parser.add_argument("--data", default="", help="regular expression of the data")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    print("| sentence | data | share of runs |\n| --- | --- | --- |")  # noqa: T201
    for sentence, data, said in rows():
        if given.only not in sentence or not re.search(given.data, data):
            continue
        print(f"| {sentence} | {data} | {rate(said, runs=given.runs, seed=given.seed):.3f} |", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
