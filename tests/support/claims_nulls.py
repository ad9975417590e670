"""Made-up data in which a claim is wrong, and how often our verdicts make it: for simulations and their small form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairbank.stats.measures.associations import partial_correlation, within_correlation
from pairbank.stats.measures.no_difference import equivalence_p

KINDS = ("normal", "heavy", "spread grows")
"""Of noise: normal; Student's t with 3 degrees of freedom; a standard deviation that grows with the size of x."""


def noise(kind: str, x: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Noise of a kind for each of some values."""
    if kind == "heavy":
        return rng.standard_t(3, x.shape)
    drawn = rng.normal(size=x.shape)
    return drawn * (0.3 + np.abs(x)) if kind == "spread grows" else drawn


def association_misses(kind: str, *, n_items: int, n_runs: int, seed: int) -> tuple[float, float]:
    """How often the interval of a partial, and of a within-subject, correlation of 0 misses 0.

    Items have a common part, which is given for the first and a level of the subject for the second; the same item's
    noise is shared by all four subjects.
    """
    rng = np.random.default_rng(seed)
    misses = np.zeros((n_runs, 2))
    for run in range(n_runs):
        common, own = rng.normal(size=(2, n_items))
        x, y = common + own, common + noise(kind, own, rng)
        first = partial_correlation(x, y, common[:, np.newaxis])
        levels = np.repeat(np.arange(4.0), n_items)
        shared, other = np.tile(own, 4), np.tile(noise(kind, own, rng), 4)
        x, y = levels + shared + rng.normal(size=4 * n_items), levels + other + rng.normal(size=4 * n_items)
        second = within_correlation(x, y, levels, np.tile(np.arange(n_items), 4))
        misses[run] = [not found.low <= 0 <= found.high for found in (first, second)]
    partial, within = misses.mean(axis=0)
    return float(partial), float(within)


def equivalence_errors(n_items: int, discordance: float, *, margin: float, level: float = 0.05) -> float:
    """How often accuracies that differ by exactly the margin are called equivalent: summed, not drawn."""
    from scipy.stats import multinomial

    only_b = (discordance - margin) / 2
    most = int(discordance * n_items + 8 * np.sqrt(discordance * n_items) + 8)
    counts = [(b, c) for b in range(min(most, n_items) + 1) for c in range(min(most, n_items) + 1 - b)]
    said = np.array([equivalence_p(b, c, n_items, margin=margin) < level for b, c in counts])
    cells = np.array([(b, c, n_items - b - c) for b, c in counts])
    return float(multinomial.pmf(cells[said], n_items, [only_b + margin, only_b, 1 - discordance]).sum())
