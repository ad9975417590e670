"""Made-up base and instruction-tuned models that do not differ on average, and how often a difference is claimed."""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from pairbank.stats.measures.families import correlation_parts, family_contrast

FAMILIES = {
    "3 of one pair": (1, 1, 1),
    "3 uneven": (5, 2, 1),
    "5 uneven": (6, 3, 2, 1, 1),
    "7 uneven": (8, 5, 4, 3, 2, 2, 1),
}
SIZES = {
    "200 items": (1,) * 200,
    "20 x 10": (10,) * 20,
    "Zipf over 20 (190)": tuple(np.maximum(60 // np.arange(1, 21), 2)),
}


def runs_of(
    families: str, sizes: str, *, measure: str, by_family: float, by_paradigm: float, n_runs: int, seed: int
) -> dict[str, float]:  # fmt: skip
    """Return how often the true difference is covered, and how often it is said to be other than 0.

    Tuning moves a model's scores by a draw of its family, by one of each paradigm that all families share, and by one
    of each family in each paradigm; half of it is taken from the base model, so that neither is better for its spread.
    Beside it, a t test over pairs.
    """
    rng, said = np.random.default_rng(seed), dict.fromkeys(("covered", "claimed", "pairs"), 0.0)
    family = np.repeat(np.arange(len(FAMILIES[families])), FAMILIES[families])
    paradigm = np.repeat(np.arange(len(SIZES[sizes])), SIZES[sizes])
    n, codes = len(paradigm), paradigm if len(SIZES[sizes]) < len(paradigm) else np.full(len(paradigm), -1)
    for _ in range(n_runs):
        shape = (n, len(family))
        people = rng.normal(0, 0.5, len(SIZES[sizes]))[paradigm] + rng.normal(size=n)
        common = 0.5 * people[:, None] + rng.normal(size=(n, 1)) + 0.3 * rng.normal(size=(1, len(family))) + 0.8
        shift = rng.normal(0, by_family, family.max() + 1)[family] + rng.normal(0, by_family / 2, len(family))
        shift = shift + rng.normal(0, by_paradigm, (len(SIZES[sizes]), 1))[paradigm]
        shift = shift + rng.normal(0, by_paradigm / 2, (len(SIZES[sizes]), family.max() + 1))[paradigm][:, family]
        base, instruct = (common + own + 0.7 * rng.normal(size=shape) for own in (-shift / 2, shift / 2))
        differences = _differences(base, instruct, people, measure)
        result = family_contrast(differences, [str(x) for x in family], codes)
        said["covered"] += float(result.estimate.low <= 0 <= result.estimate.high)
        said["claimed"] += float(result.p < 0.05)
        said["pairs"] += float(stats.ttest_1samp(differences.mean(axis=0), 0.0).pvalue < 0.05)
    return {name: count / n_runs for name, count in said.items()}


def _differences(
    base: NDArray[np.float64], instruct: NDArray[np.float64], people: NDArray[np.float64], measure: str
) -> NDArray[np.float64]:
    if measure == "accuracy":
        return (instruct > 0).astype(float) - (base > 0)
    parts = [np.column_stack([correlation_parts(x, people) for x in of.T]) for of in (instruct, base)]
    return parts[0] - parts[1]
