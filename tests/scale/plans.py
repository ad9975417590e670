"""What the papers' studies cost: in, the corpora that are here; out, the table of docs/scale.md.

    python tests/scale/plans.py --data-dir CORPORA [--device h100] [--studies introspection xcomps]

Each study is planned for its own paper's models and for the 21 of Song et al. 2025, by the demo model's tokens and its
shape at their sizes. Corpora that are not public are stood in for by as many items like the starter's. No model runs.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import datasets
import pandas as pd

from pairbank.markdown import to_markdown
from pairbank.scoring.costs import FLOPS_PER_SECOND, UTILISATION, Work
from pairbank.scoring.models.load import Kind
from pairbank.study.corpora import Planned, plans_of
from pairbank.study.declaration import load_study, with_corpora
from pairbank.study.model_list import load_list

SONG = "song-2025"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A paper's study."""

    study: str
    models: str
    """Its own paper's list."""
    kind: Kind = "causal"
    stand_in: tuple[str, int] | None = None
    """A corpus like its own, which are not public, and how many items those have."""


PLANS = (
    Plan(study="introspection", models=SONG),
    Plan(study="introspection-2", models=SONG),
    Plan(study="hu-levy-2023", models="hu-levy-2023", kind="seq2seq"),
    Plan(study="xcomps", models="he-2025", stand_in=("starter:concepts", 244_300 + 49_340)),
    Plan(study="ewok-plausibility", models="ivanova-2024", stand_in=("starter:contexts", 8_748)),
    Plan(study="ivanova-2024", models="ivanova-2024", stand_in=("starter:contexts", 350)),
    Plan(study="grammaticality", models="hu-2026"),
)


def rows_of(plan: Plan, data_dir: str | None, rate: float) -> Iterator[dict[str, object]]:
    """Yield a line a list of models."""
    study, n_items = load_study(plan.study), None
    if plan.stand_in is not None:
        corpus, n_items = plan.stand_in
        study = with_corpora(study, [corpus])
    lists = dict.fromkeys([(plan.models, plan.kind), (SONG, "causal")])
    for kind in dict.fromkeys(kind for _, kind in lists):
        names = [name for name, of in lists if of == kind]
        choices = [load_list(name) for name in names]
        made = iter(
            plans_of(
                study,
                [choice for chosen in choices for choice in chosen],
                dtype="bfloat16",
                like="demo",
                kind=kind,
                n_items=n_items,
                data_dir=data_dir,
            )
        )
        for name, chosen in zip(names, choices, strict=True):
            title = plan.study + (" *" if n_items else "")
            yield {"study": title, "models": f"{name} ({len(chosen)})", **_costs([next(made) for _ in chosen], rate)}


def _costs(made: Sequence[Planned], rate: float) -> dict[str, str]:
    works = [sum(one.work.values(), start=Work()) for one in made]
    flops = sum(work.flops(one.shape) for one, work in zip(made, works, strict=True))
    weights = [one.shape.weights_bytes / 1e9 for one in made]
    return {
        "items": f"{works[0].n_items:,.0f}",
        "tokens asked for": f"{works[0].n_sequence_tokens / 1e6:,.2f}M",
        "computed": f"{works[0].n_computed_tokens / 1e6:,.2f}M",
        "shared": f"{works[0].shared:.0%}",
        "FLOPs of all": f"{flops:.1e}",
        "weights, largest and all": f"{max(weights):,.1f} and {sum(weights):,.0f} GB",
        "scores of a model": f"{works[0].result_bytes / 1e6:,.1f} MB",
        "hours on 1, 8, 64": ", ".join(f"{flops / rate / 3600 / n:.2g}" for n in (1, 8, 64)),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir")
    parser.add_argument("--device", choices=[*FLOPS_PER_SECOND], default="h100")
    parser.add_argument("--studies", nargs="+", default=[plan.study for plan in PLANS])
    asked = parser.parse_args()
    datasets.disable_progress_bars()
    rate = FLOPS_PER_SECOND[asked.device] * UTILISATION
    rows = []
    for plan in PLANS:
        if plan.study not in asked.studies:
            continue
        for row in rows_of(plan, asked.data_dir, rate):
            rows.append(row)
            sys.stderr.write(f"{row}\n")
    sys.stdout.write(to_markdown(pd.DataFrame(rows)) + "\n")


if __name__ == "__main__":
    main()
