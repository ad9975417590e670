"""Which tables are checkpoints of one run, in which order: tables in, `Trajectory` out.

How much a checkpoint had seen is taken from its signature (`step`, `training_tokens`, `training_words`: an import may
know it), from what is declared about it (`step` or `training_tokens` of a list of models), or from its name:
`RUN@step-1000`, `RUN@checkpoint-1000`, `RUN@chck_10M` (millions of words, as BabyLM has them). Of a run, one kind of
amount is used.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pairbank.errors import BankError
from pairbank.stats.wording import number

if TYPE_CHECKING:
    from pairbank.stats.analyses.introspection.model_features import ModelFeatures
    from pairbank.stats.scored_table.frame import ScoredFrame

LEAST_CHECKPOINTS = 3
UNITS = {"step": "step", "training_tokens": "training tokens", "training_words": "training words"}
_NAME = re.compile(
    r"(?P<run>.+?)[@/ _-]+(?P<kind>(?:global_?)?step|checkpoint|ckpt|chck)[-_ ]?(?P<n>\d+)(?P<times>[KMB]?)"
)
_TIMES = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """The checkpoints of one run on one corpus, from the first to the last."""

    run: str
    corpus: str
    unit: str
    """`step`, `training tokens` or `training words`."""
    amounts: tuple[float, ...]
    tables: tuple[ScoredFrame, ...]


def amount_of(
    name: str, facts: Mapping[str, object], features: ModelFeatures | None = None
) -> tuple[str, str, float] | None:
    """Return a checkpoint's run, the kind of its amount, and the amount; None for what is no checkpoint.

    >>> amount_of("tiny@checkpoint-30", {}), amount_of("m@chck_10M", {}), amount_of("gpt2", {})
    (('tiny', 'step', 30.0), ('m', 'training_words', 10000000.0), None)
    >>> amount_of("EN_50k@step-5", {"family": "EN_50k", "step": 5})
    ('EN_50k', 'step', 5.0)
    """
    said = _NAME.fullmatch(name)
    run = str(facts.get("family") or (said["run"] if said else name.split("@", maxsplit=1)[0]))
    for kind in UNITS:
        if isinstance(value := facts.get(kind), int | float):
            return run, kind, float(value)
    if features is not None and "@" in name:
        for kind, declared in (("step", features.step), ("training_tokens", features.training_tokens)):
            if declared is not None:
                return run, kind, float(declared)
    if said:
        kind = "training_words" if said["kind"] == "chck" else "step"
        return run, kind, int(said["n"]) * _TIMES[said["times"]]
    return None


def trajectories(tables: Sequence[ScoredFrame], features: Mapping[str, ModelFeatures]) -> list[Trajectory]:
    """Return the runs that have enough checkpoints on a corpus.

    Raises:
        BankError: no such run, or a run with two checkpoints at one place.
    """
    found: dict[tuple[str, str, str], list[tuple[float, ScoredFrame]]] = defaultdict(list)
    for table in tables:
        place = amount_of(table.model, table.signature.get("model", {}), features.get(table.model))
        if place is not None:
            found[place[0], table.corpus, place[1]].append((place[2], table))
    runs = []
    for (run, corpus, kind), points in found.items():
        points.sort(key=lambda point: point[0])
        amounts = tuple(amount for amount, _ in points)
        if len(set(amounts)) < len(amounts):
            twice = next(a for a, b in itertools.pairwise(amounts) if a == b)
            raise BankError(f"{run} on {corpus}: two checkpoints at {UNITS[kind]} {number(twice, digits=0)}; leave one")
        if len(points) >= LEAST_CHECKPOINTS:
            ordered = tuple(table for _, table in points)
            runs.append(Trajectory(run=run, corpus=corpus, unit=UNITS[kind], amounts=amounts, tables=ordered))
    if not runs:
        raise BankError(
            f"no run has {LEAST_CHECKPOINTS} checkpoints on a corpus; expected models named RUN@step-1000, or a step, "
            f"training_tokens or training_words in their signatures; found {', '.join(t.model for t in tables[:5])}"
        )
    return runs
