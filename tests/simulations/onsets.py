"""How often the analysis `trajectories` says an onset where there is none, or too early: simulated runs of checkpoints.

A run has 12 checkpoints and 12 phenomena of some items each. An item's difference is latent: a part that it keeps over
checkpoints (`kept`) and a part of the checkpoint's own, so that neighbours agree as those of a real run do; what it has
learnt is added. Printed is, for each null, the share of runs in which the claim is made of any phenomenon:

    PYTHONPATH=src:tests/support python tests/simulations/onsets.py --runs 2000
"""

import argparse
import sys
from collections.abc import Callable
from functools import partial

import numpy as np

from pairbank.stats.analyses.trajectories import ALPHA, above_chance, onset_of

N_CHECKPOINTS, N_PHENOMENA, TRUE_ONSET = 12, 12, 6
Claims = Callable[[np.ndarray], bool]


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


def nested_rates(n_runs: int, *, seed: int = 0) -> dict[str, float]:
    """Return the share of runs with an onset of any of two phenomena: over items alone and over paradigms too."""
    rng = np.random.default_rng(seed)
    result: dict[str, float] = {}
    for n_paradigms, n_each in ((10, 10), (20, 50), (75, 10)):
        for alike in (0.1, 0.2):
            for late in (0.0, 0.5):
                draw = partial(in_paradigms, rng, n_paradigms, n_each, alike=alike, late=late)
                made = [[draw(), draw()] for _ in range(n_runs)]
                what = "power: 0.69 from the seventh on" if late else "any onset"
                for over in (False, True):
                    kind = "paradigms" if over else "items"
                    name = f"{what}, {n_paradigms} paradigms of {n_each}, alike {alike}, {kind}"
                    result[name] = float(np.mean([_any_onset(pair, over=over) for pair in made]))
    return result


def _any_onset(pair: list[tuple[np.ndarray, np.ndarray]], *, over: bool) -> bool:
    places = [onsets(signs, over_first=False, paradigms=codes if over else None) for signs, codes in pair]
    return any(place is not None for place in places)


def drawn(
    rng: np.random.Generator, n_items: int, *, kept: float, bias: float, learnt: np.ndarray, shared: float
) -> np.ndarray:
    """Return signs of one phenomenon's differences, shape (checkpoints, items)."""
    stable = rng.standard_normal(n_items)
    own = rng.standard_normal((N_CHECKPOINTS, n_items))
    alike = rng.standard_normal((N_CHECKPOINTS, 1))
    noise = np.sqrt(kept) * stable + np.sqrt(1 - kept - shared) * own + np.sqrt(shared) * alike
    result: np.ndarray = np.sign(noise + bias + learnt[:, np.newaxis])
    return result


def rates(n_runs: int, *, seed: int = 0) -> dict[str, float]:
    """Return the share of runs with a wrong claim, by null; and, for comparison, the power of one that is true."""
    rng = np.random.default_rng(seed)
    nothing, late = np.zeros(N_CHECKPOINTS), np.where(np.arange(N_CHECKPOINTS) < TRUE_ONSET, 0.0, 0.8)
    wrong: dict[str, float] = {}
    for n_items in (20, 100, 500):
        for kept in (0.0, 0.5, 0.95):
            wrong[f"any onset, {n_items} items, kept {kept}"] = _share(
                rng,
                n_runs,
                lambda place: place is not None,
                over_first=False,
                bias=0.0,
                learnt=nothing,
                n_items=n_items,
                kept=kept,
            )
            wrong[f"too early, {n_items} items, kept {kept}"] = _share(
                rng,
                n_runs,
                lambda p: p is not None and p < TRUE_ONSET,
                over_first=False,
                bias=0.0,
                learnt=late,
                n_items=n_items,
                kept=kept,
            )
            wrong[f"gain, {n_items} items, kept {kept}, .63 throughout"] = _share(
                rng,
                n_runs,
                lambda place: place is not None,
                over_first=True,
                bias=0.33,
                learnt=nothing,
                n_items=n_items,
                kept=kept,
            )
    wrong["any onset, 100 items whose words are shared (r = .2)"] = _share(
        rng, n_runs, lambda place: place is not None, n_items=100, kept=0.0, over_first=False, bias=0.0,
        learnt=nothing, shared=0.2,
    )  # fmt: skip
    wrong["power: onset found by the true checkpoint or the next, 100 items, kept 0.5"] = _share(
        rng, n_runs, lambda p: p is not None and p <= TRUE_ONSET + 1, n_items=100, kept=0.5, over_first=False,
        bias=0.0, learnt=late, n_phenomena=1,
    )  # fmt: skip
    return wrong


def _share(
    rng: np.random.Generator,
    n_runs: int,
    is_in_words: Callable[[int | None], bool],
    *,
    n_items: int,
    kept: float,
    bias: float,
    learnt: np.ndarray,
    over_first: bool,
    shared: float = 0.0,
    n_phenomena: int = N_PHENOMENA,
) -> float:
    said = 0
    for _ in range(n_runs):
        runs = (drawn(rng, n_items, kept=kept, bias=bias, learnt=learnt, shared=shared) for _ in range(n_phenomena))
        said += any(is_in_words(onsets(signs, over_first=over_first)) for signs in runs)
    return said / n_runs


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    for name, rate in (nested_rates(runs) | rates(runs)).items():
        sys.stdout.write(f"{rate:.3f}  {name}\n")
