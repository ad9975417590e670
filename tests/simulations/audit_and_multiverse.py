"""How often the audit raises a false alarm, and a whole specification curve is called different: docs/validation.md.

    PYTHONPATH=src:tests/support python tests/simulations/audit_and_multiverse.py [--runs 100]

In: made tables without a fault, claims that are wrong under every specification, and true ones; out, Markdown.
Some five minutes of one idle core with 100 runs.
"""

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from audit_nulls import false_alarms
from multiverse_nulls import DIRECT, rates

CURVES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("asking as good as probability", {}),
    ("the same, heavy tails", {"heavy": True}),
    ("the same, 3 models on the same items", {"n_models": 3}),
    ("one wording better, the other as much worse", {"unequal": True}),
    ("15 paradigms, on each of which asking is better or worse", {"n_paradigms": 15}),
    ("40 such paradigms", {"n_paradigms": 40}),
    ("two equal models", {"n_models": 2, "claim": "m0 > m1"}),
    ("r with people is 0, claimed above 0", {"claim": "people > 0"}),
    ("the same, heavy tails", {"claim": "people > 0", "heavy": True}),
    ("the same, whole points", {"claim": "people > 0", "ratings": "steps"}),
    ("r with people is .3, claimed above .3", {"claim": "people > 0.3", "people": 0.3, "layouts": (DIRECT,)}),
    ("power: asking right 8% less often", {"gap": 0.3}),
    ("power: asking right 19% less often", {"gap": 0.7}),
    ("power: r with people is .3, claimed above .1", {"claim": "people > 0.1", "people": 0.3, "layouts": (DIRECT,)}),
)
CLEAN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("30 items", {"n_items": 30}),
    ("300 items", {"n_items": 300}),
    ("300 items, heavy tails", {"n_items": 300, "heavy": True}),
    ("300 items in 15 paradigms with their own difficulty and length", {"n_items": 300, "n_paradigms": 15}),
    ("1,200 items in 60 such paradigms", {"n_items": 1200, "n_paradigms": 60}),
)


def curves(runs: int, *, first_seed: int = 0, sizes: Sequence[int] = (60, 300)) -> Iterator[str]:
    """Yield how often each statistic of a curve is significant at .05, and the claim is said to be shown."""
    yield "| data | items | median | share | Stouffer's Z | shown | contrary shown | were items the draws |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for said, how in CURVES:
        for n_items in (300,) if said.startswith("power") else sizes:
            result = rates(n_items, runs=runs, first_seed=first_seed, **how)
            numbers = " | ".join(f"{result[key]:.3f}" for key in result)
            yield f"| {said} | {n_items} | {numbers} |"


def alarms(runs: int) -> Iterator[str]:
    """Yield how often anything at all is found in tables without a fault."""
    yield "| tables without a fault, three models and three methods | anything found |\n| --- | --- |"
    for said, how in CLEAN:
        yield f"| {said} | {false_alarms(runs=runs, **how):.3f} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--only", choices=("curves", "alarms"))
    parser.add_argument("--first-seed", type=int, default=0, help="of the curves")
    parser.add_argument("--sizes", type=int, nargs="+", default=(60, 300), help="items of the curves")
    given = parser.parse_args(arguments)
    if given.only != "alarms":
        for line in curves(given.runs, first_seed=given.first_seed, sizes=given.sizes):
            print(line, flush=True)  # noqa: T201
    if given.only != "curves":
        for line in alarms(given.runs):
            print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
