"""How often verdict sentences outside introspection are said wrongly: the table of docs/validation.md.

    PYTHONPATH=tests/support python tests/simulations/claims.py [--repetitions 200]

In: nothing but seeds; out: Markdown. About half an hour on one core; the small forms are in the tests of the analyses.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from claims_nulls import KINDS, association_misses, equivalence_errors, mixed_errors


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=200)
    given = parser.parse_args(arguments)
    for lines in (equivalence(), associations(given.repetitions), mixed(given.repetitions)):
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


def mixed(repetitions: int) -> Iterator[str]:
    """Yield coverage of a method's effect, and how often something is said to differ where nothing does."""
    yield "| outcome | units | items each | effect | covered | methods said | models said | phenomena said | fitted |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for kind, units, items, effect in [
        ("numbers", 30, 10, 0.0),
        ("numbers", 30, 10, 0.5),
        ("numbers", 67, 10, 0.0),
        ("shares", 30, 10, 0.0),
        ("shares", 67, 10, 0.0),
        ("shares", 200, 1, 0.0),
        ("numbers", 200, 1, 0.0),
    ]:
        found = mixed_errors(kind, units, 3, 3, n_items=items, n_runs=repetitions, seed=0, effect=effect)
        methods = f"{found['method']:.3f}" if "method" in found else ""
        yield (
            f"| {kind} | {units} | {items} | {effect} | {found['coverage']:.3f} | {methods} | {found['model']:.3f} | "
            f"{found['phenomenon']:.3f} | {found['fitted']:.2f} |"
        )


if __name__ == "__main__":
    main()
