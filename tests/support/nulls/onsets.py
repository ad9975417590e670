"""How often the analysis `trajectories` says an onset where there is none, or too early: simulated runs of checkpoints.

A run has 12 checkpoints and 12 phenomena of some items each. An item's difference is latent: a part that it keeps over
checkpoints (`kept`) and a part of the checkpoint's own, so that neighbours agree as those of a real run do; what it has
learnt is added. The claim is that of any phenomenon.
"""

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from nulls import Null, Outcome, Table, at_least, at_most
from pairbank.stats.analyses.trajectories import ALPHA, above_chance, onset_of

N_CHECKPOINTS, N_PHENOMENA, TRUE_ONSET = 12, 12, 6


def onsets(signs: np.ndarray, *, over_first: bool, paradigms: np.ndarray | None = None) -> int | None:
    """Return the place of the onset of one phenomenon, as the analysis has it."""
    result = signs[1:] - signs[0] if over_first else signs
    codes = np.full(result.shape[1], -1) if paradigms is None else paradigms
    place, _ = onset_of(above_chance(result, codes), alpha=ALPHA / N_PHENOMENA)
    return place


def in_paradigms(
    rng: np.random.Generator, n_paradigms: int, n_each: int, *, alike: float, late: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return signs of items that share a part of their difference within paradigms, which they keep, and paradigms."""
    codes = np.repeat(np.arange(n_paradigms), n_each)
    learnt = np.where(np.arange(N_CHECKPOINTS) < TRUE_ONSET, 0.0, late)[:, np.newaxis]
    shared, stable = np.sqrt(alike) * rng.standard_normal(n_paradigms)[codes], rng.standard_normal(codes.size)
    own = rng.standard_normal((N_CHECKPOINTS, codes.size))
    return np.sign(shared + np.sqrt((1 - alike) / 2) * (stable + own) + learnt), codes


def drawn(
    rng: np.random.Generator, n_items: int, *, kept: float, bias: float, learnt: np.ndarray, shared: float
) -> np.ndarray:
    """Return signs of one phenomenon's differences, shape (checkpoints, items)."""
    stable = rng.standard_normal(n_items)
    own = rng.standard_normal((N_CHECKPOINTS, n_items))
    alike = rng.standard_normal((N_CHECKPOINTS, 1))
    noise = np.sqrt(kept) * stable + np.sqrt(1 - kept - shared) * own + np.sqrt(shared) * alike
    return np.asarray(np.sign(noise + bias + learnt[:, np.newaxis]))


def claims(
    rng: np.random.Generator,
    *,
    n_items: int,
    kept: float = 0.0,
    bias: float = 0.0,
    late: float = 0.0,
    over_first: bool = False,
    shared: float = 0.0,
    n_phenomena: int = N_PHENOMENA,
) -> Outcome:
    learnt = np.where(np.arange(N_CHECKPOINTS) < TRUE_ONSET, 0.0, late)
    data: dict[str, Any] = {"kept": kept, "bias": bias, "learnt": learnt, "shared": shared}
    places = [onsets(drawn(rng, n_items, **data), over_first=over_first) for _ in range(n_phenomena)]
    known = [place for place in places if place is not None]
    return {
        "any onset": bool(known),
        "too early": any(place < TRUE_ONSET for place in known),
        "by the next checkpoint": any(place <= TRUE_ONSET + 1 for place in known),
        "all at the true one": places == [TRUE_ONSET] * n_phenomena,
    }


def nested_claims(rng: np.random.Generator, *, n_paradigms: int, n_each: int, alike: float, late: float) -> Outcome:
    """Return whether any of two phenomena has an onset, over items alone and over paradigms too."""
    both = [in_paradigms(rng, n_paradigms, n_each, alike=alike, late=late) for _ in range(2)]
    return {
        name: any(
            onsets(signs, over_first=False, paradigms=codes if over else None) is not None for signs, codes in both
        )
        for name, over in (("any onset: items alone", False), ("with paradigms", True))
    }


def null_of(data: str, n_items: int, kept: float, **how: Any) -> Null:  # noqa: ANN401
    run = partial(claims, n_items=n_items, kept=kept, **how)
    return Null((data, str(n_items), str(kept)), run)


def nulls() -> Iterator[Null]:
    """Yield accuracies that never change, and one that does; last, items that are not independent, and power."""
    for n_items, kept in product((20, 100, 500), (0.0, 0.5, 0.95)):
        yield null_of("0.5 throughout", n_items, kept)
        yield null_of("0.79 from the seventh on", n_items, kept, late=0.8)
        yield null_of("0.63 throughout, over the first", n_items, kept, over_first=True, bias=0.33)
    yield null_of("0.5, words are shared (r = .2)", 100, 0.0, shared=0.2)
    yield null_of("0.79 from the seventh on, one phenomenon", 100, 0.5, late=0.8, n_phenomena=1)


def in_paradigms_nulls() -> Iterator[Null]:
    for (n_paradigms, n_each), alike, late in product(((10, 10), (20, 50), (75, 10)), (0.1, 0.2), (0.0, 0.5)):
        labels = (f"{n_paradigms} of {n_each} items", str(alike), "0.69 from the seventh on" if late else "0.5")
        run = partial(nested_claims, n_paradigms=n_paradigms, n_each=n_each, alike=alike, late=late)
        yield Null(labels, run)


TRUE = (at_most(0.1, "too early"), at_least(0.801, "all at the true one"))
TESTED = (
    null_of("0.5 throughout", 100, 0.95).small(60, at_most(0.1, "any onset"), seed=3),
    null_of("0.79 from the seventh on", 100, 0.5, late=0.8).small(60, *TRUE, seed=3),
)
TABLES = (
    Table("onsets", ("accuracy", "items", "kept"), nulls, TESTED),
    Table("onsets_in_paradigms", ("paradigms", "share of variance between them", "accuracy"), in_paradigms_nulls),
)
