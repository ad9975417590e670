"""Made-up data in which a claim is wrong, and how often our verdicts make it: for simulations and their small form."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from hu_frank import fit_by_family
from pairbank.stats.estimates.shares import share_of_items
from pairbank.stats.measures.associations import partial_correlation, within_correlation
from pairbank.stats.measures.mixed import LEAST_MODELS, fit_mixed
from pairbank.stats.measures.mixed_covariates import NO_EFFECT, fit_covariates
from pairbank.stats.measures.mixed_logistic import fit_logistic
from pairbank.stats.measures.over_wordings import mean_over_wordings
from pairbank.stats.measures.paired_tests import corrected, equivalence_p

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
        misses[run] = [not result.low <= 0 <= result.high for result in (first, second)]
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


def crossed_cells(
    n_units: int,
    n_methods: int,
    n_models: int,
    rng: np.random.Generator,
    *,
    effect: float = 0.0,
    by_model: float = 0.0,
    n_items: int = 1,
    threshold: bool = False,
    heavy: bool = False,
) -> pd.DataFrame:
    """Cells of a crossed design: paradigms, items, and how both differ by method and by model, all drawn.

    The second method is better by `effect`, the other methods and all models are equal on average. Each method changes
    each model by a draw of its own with the standard deviation `by_model`: no model is better over all methods for it,
    nor, below four models, is a method better over all models. With a threshold, values are 1 where the number is
    positive; heavy tails, of paradigms and of what is left, are those of t with 3 degrees of freedom.
    """
    shape = (n_units, n_items, n_methods, n_models)

    def tailed(*size: int) -> NDArray[np.float64]:
        return rng.standard_t(3, size) if heavy else rng.normal(size=size)

    drawn = (
        tailed(n_units, 1, 1, 1)
        + 0.4 * tailed(n_units, 1, n_methods, 1)
        + 0.3 * tailed(n_units, 1, 1, n_models)
        + 0.8 * rng.normal(size=(n_units, n_items, 1, 1))
        + 0.4 * rng.normal(size=(n_units, n_items, n_methods, 1))
        + 0.4 * rng.normal(size=(n_units, n_items, 1, n_models))
        + 0.7 * tailed(*shape)
        + 0.5
    )
    drawn[:, :, 1] += effect
    if by_model:
        own = by_model * rng.normal(size=(n_methods, n_models))
        own -= own.mean(axis=0)
        drawn += own - (own.mean(axis=1, keepdims=True) if n_models < LEAST_MODELS else 0.0)
    values = (drawn > 0).astype(float) if threshold else drawn
    unit, method, model = np.indices((n_units, n_methods, n_models)).reshape(3, -1)
    return pd.DataFrame(
        {
            "unit": [f"u{i:04d}" for i in unit],
            "method": [f"k{i}" for i in method],
            "model": [f"m{i}" for i in model],
            "phenomenon": [f"p{i % 5}" for i in unit],
            "value": values.mean(axis=1).ravel(),
        }
    )


def mixed_errors(
    n_units: int,
    n_methods: int,
    n_models: int,
    *,
    n_runs: int,
    seed: int,
    effect: float = 0.0,
    by_model: float = 0.0,
    n_items: int = 10,
    threshold: bool = False,
    heavy: bool = False,
) -> dict[str, float]:
    """Coverage of the second method's effect, and how often any method, model or phenomenon is said to differ.

    Where there is an effect, what is said of methods is power. Coverage of an effect on shares is not known.
    """
    rng = np.random.default_rng(seed)
    covered: list[bool] = []
    said: dict[str, list[bool]] = {"method": [], "model": [], "phenomenon": []}
    for _ in range(n_runs):
        cells = crossed_cells(
            n_units, n_methods, n_models, rng,
            effect=effect, by_model=by_model, n_items=n_items, threshold=threshold, heavy=heavy,
        )  # fmt: skip
        fitted = fit_mixed(cells, references={"method": "k0", "model": "m0"})
        if fitted.reason:
            continue
        own = next(x.estimate for x in fitted.effects if x.level == "k1")
        covered.append(own.low <= effect <= own.high)
        for term, result in said.items():
            p_values = [x.p for x in fitted.effects if x.term == term]
            result.append(bool((corrected(p_values).holm < 0.05).any()))
    rates = {term: float(np.mean(result)) for term, result in said.items()}
    known = not (threshold and effect)
    return {"coverage": float(np.mean(covered)) if known else np.nan, "fitted": len(covered) / n_runs} | rates


def crossed_answers(
    n_units: int,
    n_models: int,
    rng: np.random.Generator,
    *,
    mean: float,
    n_items: int = 10,
    effect: float = 0.0,
    lead: float = 0.0,
    by_model: float = 0.0,
) -> pd.DataFrame:
    """Right and wrong answers of two methods, from log odds in which paradigms, items and their differences are drawn.

    The second method is better by `effect`, the second model by `lead`; `mean` is the mean of the log odds, `by_model`
    as for `crossed_cells`.
    """
    shape = (n_units, n_items, 2, n_models)
    odds = np.full(shape, mean)
    for size, part in (
        (1.0, (n_units, 1, 1, 1)),
        (0.4, (n_units, 1, 2, 1)),
        (0.3, (n_units, 1, 1, n_models)),
        (0.8, (n_units, n_items, 1, 1)),
    ):
        odds = odds + size * rng.normal(size=part)
    own = by_model * rng.normal(size=(2, n_models))
    own -= own.mean(axis=0)
    odds = odds + own - (own.mean(axis=1, keepdims=True) if n_models < LEAST_MODELS else 0.0)
    odds[:, :, 1] += effect
    odds[..., 1] += lead
    unit, item, method, model = np.indices(shape).reshape(4, -1)
    return pd.DataFrame(
        {
            "unit": [f"u{i:03d}" for i in unit],
            "item": [f"u{i:03d}-{j:02d}" for i, j in zip(unit, item, strict=True)],
            "method": [f"k{i}" for i in method],
            "model": [f"m{i}" for i in model],
            "phenomenon": None,
            "value": (rng.random(shape) < 1 / (1 + np.exp(-odds))).astype(np.float64).ravel(),
        }
    )


def answer_errors(
    n_units: int,
    n_models: int,
    *,
    n_runs: int,
    seed: int,
    mean: float,
    effect: float = 0.0,
    lead: float = 0.0,
    by_model: float = 0.0,
) -> dict[str, float]:
    """How often methods and models are said to differ, by the linear model of shares and by the logistic one."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n_runs):
        answers = crossed_answers(n_units, n_models, rng, mean=mean, effect=effect, lead=lead, by_model=by_model)
        odds = fit_logistic(answers)
        if odds.reason:
            continue
        cells = answers.groupby(["unit", "method", "model"])["value"].mean().reset_index()
        result: dict[str, float] = {"accuracy": answers["value"].mean()}
        for name, fitted in (("linear", fit_mixed(cells)), ("logistic", odds)):
            for term in ("method", "model"):
                p_values = [x.p for x in fitted.effects if x.term == term]
                result[f"{name}, {term}"] = bool((corrected(p_values).holm < 0.05).any())
        own = next(x.estimate for x in odds.effects if x.level == "k1")
        rows.append(result | {"covered": own.low <= effect <= own.high})
    means = pd.DataFrame(rows).astype(float).mean()
    return {str(name): float(value) for name, value in means.items()} | {"fitted": len(rows) / n_runs}


FAMILIES = {
    "13 models, 5 families": (5, 3, 2, 2, 1),
    "8 models, 4 families": (3, 2, 2, 1),
    "20 models, 5 families": (8, 5, 4, 2, 1),
}


def covariate_errors(
    families: str, *, n_units: int, slopes: float, effect: float = 0.0, n_runs: int, seed: int, by_family: int = 0
) -> dict[str, float]:
    """How often the slope of size by one method, and the difference between two, are said to be other than 0.

    Paradigms have sizes as Zipf's law; they, models, families and methods of models vary, and the slope over
    paradigms and families (standard deviation `slopes`). In `by_family` of the runs also the model of Hu & Frank.
    """
    rng, said = np.random.default_rng(seed), {"own": 0, "difference": 0, "published": 0}
    family = np.repeat(np.arange(len(FAMILIES[families])), FAMILIES[families])
    n_models, n_items = len(family), np.maximum(120 // np.arange(1, n_units + 1), 2)
    for run in range(n_runs):
        x = rng.uniform(0, 2, n_models)
        unit, method, model = np.indices((n_units, 2, n_models)).reshape(3, -1)
        value = rng.normal(0, 0.5, n_units)[unit] + rng.normal(0, 0.2, (n_units, 2))[unit, method]
        value += rng.normal(0, 0.2, (n_units, n_models))[unit, model] + rng.normal(0, 0.3, n_models)[model]
        value += (
            rng.normal(0, 0.2, (2, n_models))[method, model]
            + rng.normal(0, 0.2, len(FAMILIES[families]))[family[model]]
        )
        steep = (
            rng.normal(0, slopes, (n_units, 2))[unit, method]
            + rng.normal(0, slopes / 2, (len(FAMILIES[families]), 2))[family[model], method]
        )
        value += (steep + effect * method) * x[model]
        size = n_items[unit]
        cells = pd.DataFrame(
            {"unit": unit.astype(str), "method": np.array(["a", "b"])[method], "model": model.astype(str)}
        )
        cells["value"] = value + rng.normal(size=len(value)) / np.sqrt(size)
        known = pd.DataFrame({"size": x}, index=[str(nth) for nth in range(n_models)])
        of_model = {str(nth): str(name) for nth, name in enumerate(family)}
        own = fit_covariates(cells[cells["method"] == "a"], known, of_model).effects[0]
        both = fit_covariates(cells, known, of_model, reference="a").effects
        said["own"] += own.p < 0.05
        said["difference"] += next(one.p for one in both if one.versus != NO_EFFECT) < 0.05
        if run < by_family:
            answers = cells.loc[np.repeat(cells.index, size)].reset_index(drop=True)
            answers["value"] = np.repeat(value, size) + rng.normal(size=len(answers))
            answers["x"], answers["family"] = x[np.repeat(model, size)], family[np.repeat(model, size)]
            said["published"] += fit_by_family(answers, reference="a", logistic=False).effects[3].p < 0.05
    return {name: count / ((by_family or 1) if name == "published" else n_runs) for name, count in said.items()}


def wordings_cover(sizes: Sequence[int], *, n_wordings: int, spread: float, n_runs: int, seed: int) -> dict[str, float]:
    """How often the interval over wordings has the mean over all wordings and paradigms, and that over items alone.

    Right and wrong answers by a threshold; paradigms (standard deviation 0.5), wordings (`spread`), wordings on single
    paradigms (half of it) and items vary.
    """
    rng, paradigm = np.random.default_rng(seed), np.repeat(np.arange(len(sizes)), sizes)
    shape, half = (n_wordings, len(sizes)), spread / 2
    truth = float(norm.cdf(0.5 / np.sqrt(0.5**2 + spread**2 + half**2 + 1.5)))
    over_wordings, over_items = 0, 0
    for _ in range(n_runs):
        value = 0.5 + (rng.normal(0, 0.5, len(sizes)) + rng.normal(0, half, shape))[:, paradigm]
        value += rng.normal(0, spread, (n_wordings, 1)) + rng.normal(size=len(paradigm))
        right = (value + rng.normal(0, np.sqrt(0.5), value.shape) > 0).astype(np.float64)
        whole = mean_over_wordings(right, clusters=paradigm)
        items = share_of_items(right.mean(axis=0), clusters=paradigm)
        over_wordings += whole.low <= truth <= whole.high
        over_items += np.fmin(items.low, items.low_paradigms) <= truth <= np.fmax(items.high, items.high_paradigms)
    return {"wordings": over_wordings / n_runs, "items": over_items / n_runs}
