"""How often does the input-only control say that own probabilities, or the text, predict answers better?

    PYTHONPATH=src:tests/support python tests/simulations/input_only.py [--runs 200]

In: answers to made sentences, which follow the words, the paradigm and what nobody sees; out, the table of
docs/validation.md. In the nulls, direct differences follow answers as closely as the text's predictions do.
"""

from collections.abc import Iterator

from input_only_nulls import Design, shares
from simulated import asked_runs, show

NULLS = (
    Design(n_paradigms=20, n_each=15),
    Design(n_paradigms=20, n_each=15, n_models=5),
    Design(n_paradigms=10, n_each=30, by_paradigm=1.0),
    Design(n_paradigms=1, n_each=200, by_paradigm=0.0),
    Design(n_paradigms=20, n_each=8, n_more=140),
)
POWER = (
    Design(n_paradigms=20, n_each=15, by_text=0.0, own=0.3),
    Design(n_paradigms=20, n_each=15, own=0.8),
    Design(n_paradigms=20, n_each=15, own=0.0),
)


def rows(runs: int) -> Iterator[tuple[object, ...]]:
    for design in (*NULLS, *POWER):
        result = shares(design, n_runs=runs)
        text = f"text {design.by_text:.1f}, paradigms {design.by_paradigm:.1f}"
        case = f"both alike: {text}" if design.own is None else f"own r about {design.own:.1f}: {text}"
        sizes = map(str, (design.n_paradigms * design.n_each, design.n_paradigms, design.n_models))
        yield case, *sizes, result["own"], result["text"]


if __name__ == "__main__":
    show(("case", "items", "paradigms", "models", "own better", "text better"), rows(asked_runs(200)))
