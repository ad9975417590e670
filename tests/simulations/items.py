"""How good are the curves and the suspects of `items`? The tables of docs/validation.md.

    PYTHONPATH=src:tests/support python tests/simulations/items.py [--runs 200]

In: made answers to items of known curves, in paradigms on which models differ and from models that are relatives.
200 runs take about an hour of one core.
"""

from collections.abc import Iterator

from item_nulls import Design, means
from simulated import asked_runs, show

DESIGNS = (
    ("independent", Design(n_models=12, n_paradigms=10, n_each=10, flat=0.3)),
    ("independent", Design(n_models=13, n_paradigms=15, n_each=20, flat=0.3)),
    ("independent", Design(n_models=20, n_paradigms=5, n_each=10, flat=0.3)),
    ("independent", Design(n_models=40, n_paradigms=20, n_each=10, flat=0.3)),
    ("vary over paradigms", Design(n_models=40, n_paradigms=20, n_each=10, flat=0.3, paradigm_sd=0.7)),
    ("in families of 4", Design(n_models=40, n_paradigms=20, n_each=10, flat=0.3, family=4, family_sd=1.0)),
    ("both", Design(n_models=40, n_paradigms=20, n_each=10, flat=0.3, family=4, family_sd=1.0, paradigm_sd=0.7)),
    (
        "families of equal ability",
        Design(n_models=40, n_paradigms=20, n_each=10, flat=0.5, family=4, family_sd=1.0, own_sd=0.3),
    ),
    (
        "families of equal ability",
        Design(n_models=84, n_paradigms=20, n_each=10, flat=0.5, family=4, family_sd=1.0, own_sd=0.3),
    ),
)
"""Items of which none discriminates negatively, and on 30 or 50% ability changes nothing."""
POWER = (
    ("independent", Design(n_models=20, n_paradigms=20, n_each=10, reversed_share=0.03)),
    ("independent", Design(n_models=40, n_paradigms=20, n_each=10, reversed_share=0.03)),
    (
        "families of 5, paradigms",
        Design(n_models=85, n_paradigms=20, n_each=20, reversed_share=0.03, family=5, family_sd=0.7, paradigm_sd=0.5),
    ),
)
"""On 3% of the items ability lowers the log odds by 1.5 per standard deviation."""


def nulls(n_runs: int) -> Iterator[tuple[object, ...]]:
    for kind, design in DESIGNS:
        made = means(design, n_runs=n_runs)
        shares = (made[name] for name in ("difficulty", "discrimination", "any_false"))
        yield str(design.n_models), str(design.n_paradigms * design.n_each), kind, *shares


def power(n_runs: int) -> Iterator[tuple[object, ...]]:
    for kind, design in POWER:
        made = means(design, n_runs=n_runs)
        shares = (made[name] for name in ("found", "false", "r_discrimination"))
        yield str(design.n_models), str(design.n_paradigms * design.n_each), kind, *shares


if __name__ == "__main__":
    runs, of = asked_runs(200), ("models", "items", "kind")
    show((*of, "difficulty covered", "discrimination covered", "runs with a false suspect"), nulls(runs))
    show((*of, "planted items found", "false among suspects", "r of discriminations"), power(runs))
