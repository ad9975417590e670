"""Which formula holds for a mean over paradigms of uneven sizes? The wrong claims and the width of four candidates.

    PYTHONPATH=src:tests/support python tests/simulations/paradigm_formulas.py [--runs 2000]

Two equal models are compared on paradigms that are drawn anew in every run; the standard deviation between paradigms is
half of that of items. Out: a Markdown table of how often each interval of the difference in accuracy excludes 0, and of
its mean half-width. `item mean`: of all items, with Cochran's ratio of sums (CR1) and paradigms - 1 degrees of freedom,
with CR2 and those of Bell & McCaffrey, and with a jackknife that leaves out paradigms. `paradigm mean`: the t test of
unweighted means.
"""

import argparse

import numpy as np
from scipy import special

from pairbank.arrays import FloatArray
from pairbank.stats.estimates.bootstrap import deleted, effective_number, freedom, half_width, shifts_of_mean
from paradigm_cases import UNEVEN, nested

Interval = tuple[float, float]
"""Centre and half-width."""


def candidates(gain: FloatArray, codes: np.ndarray) -> dict[str, Interval]:
    sizes = np.bincount(codes)
    n, sums, mean = sizes.size, np.bincount(codes, weights=gain), float(gain.mean())
    of_all, quantile = sums - mean * sizes, float(special.stdtrit(n - 1, 0.975))
    ratio = np.sqrt(n / (n - 1)) * np.linalg.norm(of_all) / gain.size
    left_out = deleted((gain.sum() - sums) / (gain.size - sizes))
    each = sums / sizes
    return {
        "item mean, CR1": (mean, quantile * ratio),
        "item mean, CR2": (
            mean,
            float(special.stdtrit(freedom(codes), 0.975) * np.linalg.norm(shifts_of_mean(gain, codes))),
        ),
        "item mean, jackknife": (mean, half_width(left_out, level=0.95, lost=1)),
        "paradigm mean": (float(each.mean()), quantile * float(each.std(ddof=1)) / np.sqrt(n)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=2000)
    runs = parser.parse_args().runs
    names = ("item mean, CR1", "item mean, CR2", "item mean, jackknife", "paradigm mean")
    print("| sizes | effective number | " + " | ".join(names) + " |")  # noqa: T201
    print("| --- | --- |" + " --- |" * len(names))  # noqa: T201
    for name, sizes in UNEVEN.items():
        number = effective_number(np.repeat(np.arange(len(sizes)), sizes))
        rng = np.random.default_rng([7, len(sizes), sum(sizes)])
        shown: dict[str, list[Interval]] = {label: [] for label in names}
        for _ in range(runs):
            x, y, codes = nested(rng, sizes, shared=0.0)
            for label, interval in candidates((np.sign(x) - np.sign(y)) / 2, codes).items():
                shown[label].append(interval)
        cells = [
            f"{np.mean([abs(centre) > half for centre, half in made]):.3f} ({np.mean([half for _, half in made]):.2f})"
            for made in shown.values()
        ]
        print(f"| {name} | {number:.1f} | {' | '.join(cells)} |", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
