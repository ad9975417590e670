"""What probes will cost: how many texts, layers and fits in; bytes on disk and hours of processors out, in a line.

A rough number, within a factor of four: L-BFGS takes more passes where coordinates are correlated and labels say
nothing. Fits of 1,600 rows and 1,024 coordinates without correlation took a fifth of what this says on one core, one of
5,749 and 4,096 with a steep spectrum and random labels three and a half times as much. It is said before hidden states
are computed, for a model of 8 thousand million parameters in 18 languages needs a day on a large machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pairbank.stats.wording import magnitude, number

OPERATIONS_A_FIT = 400
"""By rows and coordinates: 100 passes, each a product forth and one back."""
OPERATIONS_A_SECOND = 1.5e9
LABEL_SETS = 2
"""Real labels and the control task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeCost:
    """What a probe of one corpus and model takes."""

    n_bytes: int
    """Of hidden states on disk, those of earlier runs among them."""
    cpu_hours: float
    """Of fits, on all processors together."""

    @property
    def in_words(self) -> str:
        """Both, for a person.

        >>> ProbeCost(n_bytes=132_000_000_000, cpu_hours=44.6).in_words
        'some 45 CPU hours, 132 GB on disk'
        """
        hours = (
            number(self.cpu_hours, digits=0) if self.cpu_hours >= 10 else magnitude(max(self.cpu_hours, 0.01), digits=2)
        )
        return f"some {hours} CPU hours, {magnitude(max(self.n_bytes / 1e9, 0.01))} GB on disk"


def probe_cost(
    n_texts: int, pairs_of_groups: Sequence[int], *, n_layers: int, n_hidden: int, n_folds: int, n_bytes: int
) -> ProbeCost:
    """Return what the probes of one corpus and model take.

    Args:
        n_texts: Distinct texts.
        pairs_of_groups: Pairs of each group that is probed by itself.
        n_layers: Layers, the embedding among them.
        n_hidden: Coordinates of a state.
        n_folds: Folds of the cross-validation.
        n_bytes: Of one stored number.

    >>> probe_cost(488_600, [3_593] * 72, n_layers=33, n_hidden=4096, n_folds=5, n_bytes=2).in_words
    'some 41 CPU hours, 132 GB on disk'
    """
    operations = 0.0
    for n_pairs in pairs_of_groups:
        rows = 2 * n_pairs * (n_folds - 1) / n_folds
        operations += OPERATIONS_A_FIT * rows * min(n_hidden, rows) * n_folds * LABEL_SETS * n_layers
    return ProbeCost(
        n_bytes=n_texts * n_layers * n_hidden * n_bytes, cpu_hours=operations / OPERATIONS_A_SECOND / 3_600
    )
