"""Data in which a claim on associations, differences, methods, models or size is wrong, and how often it is made."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import multinomial, norm

from hu_frank import fit_by_family
from nulls import Null, Outcome, Table, at_least, at_most
from nulls.paradigm_draws import UNEVEN
from pairbank.stats.estimates.shares import share_of_items
from pairbank.stats.measures.associations import partial_correlation, within_correlation
from pairbank.stats.measures.families import mean_over_wordings
from pairbank.stats.measures.mixed import LEAST_MODELS, Fitted, fit_mixed
from pairbank.stats.measures.mixed_covariates import NO_EFFECT, fit_covariates
from pairbank.stats.measures.mixed_logistic import fit_logistic
from pairbank.stats.measures.paired_tests import corrected, equivalence_p

KINDS = ("normal", "heavy", "spread grows")
"""Of noise: normal; Student's t with 3 degrees of freedom; a standard deviation that grows with the size of x."""


def noise(kind: str, x: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Noise of a kind for each of some values."""
    if kind == "heavy":
        return rng.standard_t(3, x.shape)
    drawn = rng.normal(size=x.shape)
    return drawn * (0.3 + np.abs(x)) if kind == "spread grows" else drawn


def association_claims(rng: np.random.Generator, *, kind: str, n_items: int) -> Outcome:
    """Return whether the interval of a partial, and of a within-subject, correlation of 0 covers 0.

    Items have a common part, which is given for the first and a level of the subject for the second; the same item's
    noise is shared by all four subjects.
    """
    common, own = rng.normal(size=(2, n_items))
    x, y = common + own, common + noise(kind, own, rng)
    first = partial_correlation(x, y, common[:, np.newaxis])
    levels = np.repeat(np.arange(4.0), n_items)
    shared, other = np.tile(own, 4), np.tile(noise(kind, own, rng), 4)
    x, y = levels + shared + rng.normal(size=4 * n_items), levels + other + rng.normal(size=4 * n_items)
    second = within_correlation(x, y, levels, np.tile(np.arange(n_items), 4))
    names = ("partial r covers", "r within models covers")
    return {name: one.low <= 0 <= one.high for name, one in zip(names, (first, second), strict=True)}


def equivalence_claims(_: np.random.Generator, *, n_items: int, discordance: float, margin: float = 0.05) -> Outcome:
    """Return how often accuracies that differ by exactly the margin are called equivalent: summed, not drawn."""
    only_b = (discordance - margin) / 2
    most = int(discordance * n_items + 8 * np.sqrt(discordance * n_items) + 8)
    counts = [(b, c) for b in range(min(most, n_items) + 1) for c in range(min(most, n_items) + 1 - b)]
    said = np.array([equivalence_p(b, c, n_items, margin=margin) < 0.05 for b, c in counts])
    cells = np.array([(b, c, n_items - b - c) for b, c in counts])
    rate = multinomial.pmf(cells[said], n_items, [only_b + margin, only_b, 1 - discordance]).sum()
    return {"called equivalent": float(rate)}


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


def mixed_claims(
    rng: np.random.Generator,
    *,
    n_units: int,
    n_models: int,
    n_methods: int = 2,
    effect: float = 0.0,
    threshold: bool = False,
    n_items: int = 10,
    **how: Any,  # noqa: ANN401 - of `crossed_cells`
) -> Outcome:
    """Return whether the second method's effect is covered, and any method, model or phenomenon said to differ.

    Where there is an effect, what is said of methods is power. Coverage of an effect on shares is not known.
    """
    cells = crossed_cells(n_units, n_methods, n_models, rng, effect=effect, n_items=n_items, threshold=threshold, **how)
    fitted = fit_mixed(cells, references={"method": "k0", "model": "m0"})
    if fitted.reason:
        return {"fitted": 0.0}
    own = next(x.estimate for x in fitted.effects if x.level == "k1")
    covered = own.low <= effect <= own.high if not (threshold and effect) else np.nan
    return {"covered": covered, **any_said(fitted, MIXED), "fitted": 1.0}


MIXED = {"methods said": "method", "models said": "model", "phenomena said": "phenomenon"}


def any_said(fitted: Fitted, terms: Mapping[str, str]) -> Outcome:
    """Return whether any level of each term differs after Holm's correction."""
    p_values = {name: [x.p for x in fitted.effects if x.term == term] for name, term in terms.items()}
    return {name: bool((corrected(p).holm < 0.05).any()) for name, p in p_values.items()}


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


def answer_claims(
    rng: np.random.Generator, *, n_models: int, mean: float, by_model: float, effect: float, lead: float
) -> Outcome:
    """Return whether methods and models are said to differ, by the linear model of shares and by the logistic one."""
    answers = crossed_answers(20, n_models, rng, mean=mean, effect=effect, lead=lead, by_model=by_model)
    odds = fit_logistic(answers)
    if odds.reason:
        return {}
    cells = answers.groupby(["unit", "method", "model"])["value"].mean().reset_index()
    own = next(x.estimate for x in odds.effects if x.level == "k1")
    said: dict[str, float] = {"accuracy": answers["value"].mean(), "covered": own.low <= effect <= own.high}
    fits = {"linear": fit_mixed(cells), "logistic": odds}
    for term in ("method", "model"):
        said |= {f"{term}s: {name}": any_said(fitted, {"": term})[""] for name, fitted in fits.items()}
    return said


FAMILIES = {
    "13 models, 5 families": (5, 3, 2, 2, 1),
    "8 models, 4 families": (3, 2, 2, 1),
    "20 models, 5 families": (8, 5, 4, 2, 1),
}


def covariate_claims(
    rng: np.random.Generator,
    *,
    families: str,
    slopes: float,
    effect: float = 0.0,
    n_units: int = 20,
    published: bool = False,
) -> Outcome:
    """Return whether the slope of size by one method, and the difference between two, are said to be other than 0.

    Paradigms have sizes as Zipf's law; they, models, families and methods of models vary, and the slope over
    paradigms and families (standard deviation `slopes`). `published`: by the model of Hu & Frank.
    """
    n_families = len(FAMILIES[families])
    family = np.repeat(np.arange(n_families), FAMILIES[families])
    n_models, n_items = len(family), np.maximum(120 // np.arange(1, n_units + 1), 2)
    x = rng.uniform(0, 2, n_models)
    unit, method, model = np.indices((n_units, 2, n_models)).reshape(3, -1)
    value = rng.normal(0, 0.5, n_units)[unit] + rng.normal(0, 0.2, (n_units, 2))[unit, method]
    value += rng.normal(0, 0.2, (n_units, n_models))[unit, model] + rng.normal(0, 0.3, n_models)[model]
    value += rng.normal(0, 0.2, (2, n_models))[method, model] + rng.normal(0, 0.2, n_families)[family[model]]
    steep = rng.normal(0, slopes, (n_units, 2))[unit, method]
    steep += rng.normal(0, slopes / 2, (n_families, 2))[family[model], method]
    value += (steep + effect * method) * x[model]
    size = n_items[unit]
    cells = pd.DataFrame({"unit": unit.astype(str), "method": np.array(["a", "b"])[method], "model": model.astype(str)})
    cells["value"] = value + rng.normal(size=len(value)) / np.sqrt(size)
    if published:
        answers = cells.loc[np.repeat(cells.index, size)].reset_index(drop=True)
        answers["value"] = np.repeat(value, size) + rng.normal(size=len(answers))
        answers["x"], answers["family"] = x[np.repeat(model, size)], family[np.repeat(model, size)]
        return {"difference said": fit_by_family(answers, reference="a", logistic=False).effects[3].p < 0.05}
    known = pd.DataFrame({"size": x}, index=[str(nth) for nth in range(n_models)])
    of_model = {str(nth): str(name) for nth, name in enumerate(family)}
    own = fit_covariates(cells[cells["method"] == "a"], known, of_model).effects[0]
    both = fit_covariates(cells, known, of_model, reference="a").effects
    difference = next(one for one in both if one.versus != NO_EFFECT)
    return {"slope said": own.p < 0.05, "difference said": difference.p < 0.05}


def wordings_cover(rng: np.random.Generator, *, sizes: Sequence[int], n_wordings: int, spread: float) -> Outcome:
    """Return whether the interval over wordings has the mean over all wordings and paradigms, and over items alone.

    Right and wrong answers by a threshold; paradigms (standard deviation 0.5), wordings (`spread`), wordings on single
    paradigms (half of it) and items vary.
    """
    paradigm = np.repeat(np.arange(len(sizes)), sizes)
    shape, half = (n_wordings, len(sizes)), spread / 2
    truth = float(norm.cdf(0.5 / np.sqrt(0.5**2 + spread**2 + half**2 + 1.5)))
    value = 0.5 + (rng.normal(0, 0.5, len(sizes)) + rng.normal(0, half, shape))[:, paradigm]
    value += rng.normal(0, spread, (n_wordings, 1)) + rng.normal(size=len(paradigm))
    right = (value + rng.normal(0, np.sqrt(0.5), value.shape) > 0).astype(np.float64)
    whole = mean_over_wordings(right, clusters=paradigm)
    items = share_of_items(right.mean(axis=0), clusters=paradigm)
    low, high = np.fmin(items.low, items.low_paradigms), np.fmax(items.high, items.high_paradigms)
    return {"over wordings": whole.low <= truth <= whole.high, "over paradigms alone": low <= truth <= high}


def exactly(_: int) -> int:
    return 1


def a_fourth(runs: int) -> int:
    return runs // 4


def equivalence() -> Iterator[Null]:
    """Yield accuracies that differ by the margin: exact sums, nothing is drawn."""
    data = ((50, 0.05), (50, 0.2), (200, 0.05), (200, 0.1), (200, 0.3), (1000, 0.06), (1000, 0.3))
    return (equivalent(*of) for of in data)


def associations() -> Iterator[Null]:
    return (associated(*of) for of in product(KINDS, (50, 200, 1000)))


def mixed() -> Iterator[Null]:
    for effect, threshold, n_models, units, by_model in product(
        (0.0, 0.4), (False, True), (3, 5, 20), (20, 67), (0.0, 0.3)
    ):
        how = {"by_model": by_model, "effect": effect, "threshold": threshold}
        yield mixed_null("accuracy" if threshold else "delta", n_models, units, seed=n_models + units, **how)


def mixed_null(name: str, n_models: int, units: int, *, seed: int, **how: Any) -> Null:  # noqa: ANN401
    labels = (name, str(n_models), str(units), str(how["by_model"]), str(how["effect"]))
    run = partial(mixed_claims, n_units=units, n_models=n_models, **how)
    return Null(labels, run, seed=seed, fewer=a_fourth if how["effect"] else None)


DESIGNS: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("delta, tails as t (3)", 5, {"heavy": True}),
    ("delta, tails as t (3), single items", 5, {"heavy": True, "n_items": 1}),
    ("delta, tails as t (3), single items", 3, {"heavy": True, "n_items": 1}),
    ("accuracy, single items", 5, {"threshold": True, "n_items": 1}),
    ("delta, four methods", 5, {"n_methods": 4}),
    ("delta, four models", 4, {}),
    ("accuracy, four methods, four models", 4, {"threshold": True, "n_methods": 4}),
)


def designs() -> Iterator[Null]:
    """Yield heavy tails, single items, four methods, four models; and power, of a fourth of the runs."""
    for effect, (name, n_models, more), units, by_model in product((0.0, 0.4), DESIGNS, (20, 67), (0.0, 0.3)):
        yield mixed_null(name, n_models, units, seed=units, by_model=by_model, effect=effect, **more)


def logistic() -> Iterator[Null]:
    """Yield answers by which methods or models differ; from four models on, a report says nothing of methods."""
    for n_models, mean, by_model, effect, lead in (
        (3, 1.3, 0.0, 0.0, 0.0),
        (3, 4.0, 0.0, 0.0, 0.0),
        (5, 1.3, 0.4, 0.0, 0.0),
        (5, 4.0, 0.4, 0.0, 0.0),
        (3, 1.3, 0.0, 0.6, 0.0),
        (3, 4.0, 0.0, 0.9, 0.0),
        (3, 1.3, 0.0, 0.0, 0.6),
        (3, 4.0, 0.0, 0.0, 0.9),
        (5, 1.3, 0.4, 0.0, 0.6),
        (5, 4.0, 0.4, 0.0, 0.9),
    ):
        how: dict[str, Any] = {"mean": mean, "by_model": by_model, "effect": effect, "lead": lead}
        labels = (str(n_models), str(by_model), str(effect), str(lead))
        yield Null(labels, partial(answer_claims, n_models=n_models, **how), seed=int(10 * mean) + n_models)


def covariates() -> Iterator[Null]:
    truths = [*product(FAMILIES, (0.0, 0.2), (0.0,)), *((families, 0.2, 0.5) for families in FAMILIES)]
    for families, slopes, effect in truths:
        run = partial(covariate_claims, families=families, slopes=slopes, effect=effect)
        yield Null((families, f"{slopes:.1f}", f"{effect:.1f}"), run, seed=77)


def hu_frank() -> Iterator[Null]:
    for families, slopes in product(FAMILIES, (0.0, 0.2)):
        run = partial(covariate_claims, families=families, slopes=slopes, published=True)
        yield Null((families, f"{slopes:.1f}"), run, seed=77)


def wordings() -> Iterator[Null]:
    layouts = ("12 x 5", "40, 20, 13, …, 3 (12)", "120, 60, …, 4 (30)", "`jblimp`")
    return (worded(*of) for of in product(layouts, (3, 5, 8), (0.0, 0.2, 0.5)))


def equivalent(n: int, share: float) -> Null:
    return Null((f"{n:,}", f"{share:.2f}"), partial(equivalence_claims, n_items=n, discordance=share), fewer=exactly)


def associated(kind: str, n: int) -> Null:
    return Null((kind, f"{n:,}"), partial(association_claims, kind=kind, n_items=n))


def worded(layout: str, n: int, spread: float) -> Null:
    run = partial(wordings_cover, sizes=UNEVEN[layout], n_wordings=n, spread=spread)
    return Null((layout, str(n), f"{spread:.1f}"), run, seed=7)


ALIKE = at_most(0.055, "called equivalent")
# 3 of 25 wrong at most; at .05, more in 3 of 100
ASSOCIATED = at_least(0.88, "partial r covers", "r within models covers")
# each said wrongly in 4 of 20 at most: at .05, more often in 3 of 1,000
METHODS_OF_MODELS = (at_most(0.2, *MIXED), at_least(0.75, "covered"), at_least(1.0, "fitted"))
CHANGED = partial(mixed_null, units=20, seed=3, by_model=0.3, effect=0.0, n_items=4)
SIZED = Null(("12 paradigms",), partial(covariate_claims, families="8 models, 4 families", slopes=0.2, n_units=12))
WORDED = (at_least(0.911, "over wordings"), at_most(0.899, "over paradigms alone"))
TESTED = {
    "equivalence": [equivalent(*of).small(1, ALIKE) for of in ((50, 0.05), (200, 0.05), (200, 0.3), (1000, 0.06))],
    "associations": [associated(kind, 120).small(25, ASSOCIATED, seed=1) for kind in KINDS],
    "mixed": [
        CHANGED(name, n_models=n, threshold=name == "accuracy").small(20, *METHODS_OF_MODELS, ci=True)
        for n, name in product((3, 5), ("delta", "accuracy"))
    ],
    "covariates": [SIZED.small(20, at_most(0.2, "slope said", "difference said"), seed=3, ci=True)],
    "wordings": [
        worded(layout, 5, 0.5).small(300, *WORDED, seed=3, ci=True) for layout in ("12 x 5", "40, 20, 13, …, 3 (12)")
    ],
}
EFFECTS, OF_SIZES = ("values", "models", "paradigms", "sd by model", "effect"), ("models", "sd of slopes")
TABLES = (
    Table("equivalence", ("items", "discordant"), equivalence, TESTED["equivalence"]),
    Table("associations", ("noise", "items"), associations, TESTED["associations"]),
    Table("mixed", EFFECTS, mixed, TESTED["mixed"], rates=("covered", *MIXED)),
    Table("mixed_designs", EFFECTS, designs, rates=("covered", *MIXED)),
    Table("logistic", ("models", "sd by model", "effect", "effect of a model"), logistic),
    Table("covariates", (*OF_SIZES, "true difference"), covariates, TESTED["covariates"]),
    Table("covariates_hu_frank", OF_SIZES, hu_frank),
    Table("wordings", ("paradigms", "wordings", "sd of wordings"), wordings, TESTED["wordings"]),
)
