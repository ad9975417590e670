"""The advantage over relatives of made-up models in a tenth of the time: for simulations, held to the shipped code.

All other models are yardsticks there and no relative is closer than another, so that sums over yardsticks are sums over
all models less two terms.
"""

import numpy as np
from numpy.typing import NDArray

from pairbank.stats.analyses.introspection.beyond_relatives import OwnAdvantage, over_models
from pairbank.stats.analyses.introspection.relatives import LEAST_YARDSTICK, ModelAdvantages
from pairbank.stats.estimates.estimate import undefined
from pairbank.stats.scored_table.scored_table import DeltaStack

Floats = NDArray[np.float64]


def quick_own_advantage(stack: DeltaStack, *, family_size: int) -> OwnAdvantage:
    """Return what `own_advantage` returns for what `made_up_models` made with one prompt, without the partial r."""
    (meta,) = stack.meta_nats
    n_models, n_items = meta.shape
    family = np.arange(n_models) // family_size
    same = (family[:, np.newaxis] == family) & ~np.eye(n_models, dtype=np.bool_)
    direct, answers = _standardised(stack.direct_nats), _standardised(meta)
    r = direct @ direct.T / n_items
    models = _advantages(direct, answers, r, same)
    there = ~np.isnan(models.value)
    nearest = np.zeros((n_models, n_models), dtype=np.bool_)
    nearest[np.arange(n_models), np.argmax(r - 2 * np.eye(n_models), axis=1)] = True
    similar = _advantages(direct, answers, r, nearest & there[:, np.newaxis])
    families = [str(nth) for nth in family]
    over, smallest = over_models(models, families, n_items=n_items, reason="none")
    over_similar, _ = over_models(similar, families, n_items=n_items, reason="none")
    return OwnAdvantage(
        over_relatives=over,
        over_most_similar=over_similar,
        partial=undefined("not made", n=n_items, method="none"),
        smallest=smallest,
        models=models,
        n_models=int(there.sum()),
        n_families=len(set(family[there])),
        n_most_similar=int((~np.isnan(similar.value)).sum()),
    )


def _standardised(values: Floats) -> Floats:
    centred = values - values.mean(axis=1, keepdims=True)
    return np.asarray(centred / np.sqrt((centred**2).mean(axis=1, keepdims=True)))


def _advantages(direct: Floats, answers: Floats, r: Floats, compared: NDArray[np.bool_]) -> ModelAdvantages:
    n_models, n_items = direct.shape
    i, j = np.nonzero(compared)
    with_own, with_other = (answers * direct).mean(axis=1)[i], (answers[i] * direct[j]).mean(axis=1)
    r_ij, total = r[i, j], r.sum(axis=1) - 1
    z_i, z_j = (np.where(z >= LEAST_YARDSTICK * (n_models - 2), z, np.nan) for z in (total[i] - r_ij, total[j] - r_ij))
    q = np.sqrt(z_j / z_i)
    by_q = with_own + with_other / q**2
    of_i, of_j = (part[:, np.newaxis] for part in (-by_q * q / (2 * z_i), by_q * q / (2 * z_j)))
    plus, minus = ((part * value)[:, np.newaxis] for part, value in ((q, with_own), (1 / q, with_other)))
    q, r_ij, z_i, z_j = (part[:, np.newaxis] for part in (q, r_ij, z_i, z_j))
    x, y, squares = direct[i], direct[j], direct**2
    others, weighted = direct.sum(axis=0) - x - y, r @ squares
    influence = answers[i] * (q * x - y / q) - ((plus - minus) * answers[i] ** 2 + plus * x**2 - minus * y**2) / 2
    influence += of_i * (x * others - (z_i * x**2 + weighted[i] - x**2 - r_ij * y**2) / 2)
    influence += of_j * (y * others - (z_j * y**2 + weighted[j] - y**2 - r_ij * x**2) / 2)
    share = compared / np.maximum(compared.sum(axis=1, keepdims=True), 1)
    mean = np.zeros((n_models, len(i)))
    mean[i, np.arange(len(i))] = share[i, j]
    nowhere = ~compared.any(axis=1) | (mean @ np.isnan(q[:, 0]) > 0)
    parts = ((plus - minus)[:, 0], with_own, with_other, influence / n_items)
    rows = [mean @ np.nan_to_num(part) for part in parts]
    for row in rows:
        row[nowhere] = np.nan
    value, own, relatives, of_items = rows
    return ModelAdvantages(
        value=value, own=own, relatives=relatives, influence=of_items, n_relatives=tuple(compared.sum(axis=1).tolist())
    )
