"""Claims that are wrong under every specification, and ones that are right: what a specification curve says of them."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nulls import Null, Outcome, Table, at_least, at_most, own_seed
from pairbank.scoring.api.layout import MethodLayout
from pairbank.stats.analyses.multiverse.measures import ASKING, claim_of
from pairbank.stats.analyses.multiverse.section import Curve, curve_of
from pairbank.stats.analyses.multiverse.specifications import held, layouts_of, specifications
from pairbank.stats.scored_table.method_scores import ScoredFrame
from rated_tables import DIRECT, choice, direct, items_frame

MEAN = direct("mean_logprob")
LAYOUTS = (DIRECT, MEAN, choice("ask1"), choice("ask2"))


def multiverse_tables(
    n_items: int,
    *,
    seed: int,
    gap: float = 0.0,
    people: float = 0.0,
    n_models: int = 1,
    n_paradigms: int = 0,
    unequal: bool = False,
    heavy: bool = False,
    ratings: str = "normal",
    layouts: tuple[MethodLayout, ...] = LAYOUTS,
) -> list[ScoredFrame]:
    """Tables of models, measured in two ways and asked in two wordings and two orders.

    Models find the same items hard. Asking is right less often than probability by about 0.27 times the `gap`; on each
    paradigm it is better or worse; where `unequal`, one wording is better than probability and the other as much worse.
    `people` is about the correlation of people's differences with those of `direct`; `steps` are whole points.
    """
    rng = np.random.default_rng(seed)
    paradigm = rng.integers(n_paradigms, size=n_items) if n_paradigms else None
    shift = rng.normal(0, 0.7, n_paradigms)[paradigm] if paradigm is not None else 0.0
    hard = rng.normal(size=n_items)

    def noise(size: int) -> NDArray[np.float64]:
        return rng.standard_t(3, size) if heavy else rng.normal(size=size)

    message = noise(n_items)
    distance = rng.integers(1, 20, n_items).astype(float)
    judged = None
    tables = []
    for nth in range(n_models):
        own = noise(n_items)
        delta = 0.6 + hard + own
        mean = delta + 0.5 * noise(n_items) * np.sqrt(np.abs(delta) + 0.1)
        frame = items_frame(
            n_items,
            paradigm=None if paradigm is None else [f"p{i}" for i in paradigm],
            human_bad=0.0,
            edit_distance=distance,
            direct_good=-30 + delta,
            direct_bad=-30.0,
            direct_delta=delta,
            mean_logprob_good=mean,
            mean_logprob_bad=0.0,
            mean_logprob_delta=mean,
        )
        if judged is None:
            judged = people * delta + np.sqrt(max(0.0, 2 - 2 * people**2)) * message
        frame["human_good"] = np.round(judged) if ratings == "steps" else judged
        for which, name in enumerate(("ask1", "ask2")):
            # Right in .664 as probability is (unequal: .15 more, .15 less); paradigms widen the spread, so that
            # the mean must be higher.
            mean_asked = (1.263 if which else 0.05) if unequal else 0.6 * np.sqrt(1 + 0.49 / 2 * bool(n_paradigms))
            asked = mean_asked - gap + shift + hard + noise(n_items)
            bias = 0.05 * noise(n_items)
            parts = np.column_stack([asked / 2 + bias, -asked / 2 - bias, -asked / 2 + bias, asked / 2 - bias])
            frame[f"{name}_logprobs"] = list(parts - 8)
            frame[f"{name}_delta"] = parts[:, 0] - parts[:, 1] + parts[:, 3] - parts[:, 2]
        tables.append(ScoredFrame(corpus="toy", model=f"m{nth}", frame=frame, layouts=layouts))
    return tables


def curve(tables: list[ScoredFrame], claim: str = ASKING, *, n_draws: int = 199, seed: int = 0) -> Curve:
    requested = claim_of(claim, methods=[x.method for x in layouts_of(tables)], models=[t.model for t in tables])
    named = tables[0].frame[tables[0].frame["paradigm"].notna()]
    paradigms = {("toy", i): p for i, p in zip(named["item_id"], named["paradigm"], strict=True)}
    result = specifications(requested, [held(table) for table in tables])
    return curve_of(requested, result, paradigms, rng=np.random.default_rng(seed), n_draws=n_draws)


def deciding(result: Curve) -> dict[str, float]:
    return result.tests.get("paradigms") or result.tests["items"]


def claims(
    seed: int,
    n_items: int,
    *,
    claim: str = ASKING,
    n_draws: int = 199,
    **how: Any,  # noqa: ANN401 - of `multiverse_tables`
) -> Outcome:
    """Return which statistic is significant at .05, and whether the claim is said to be shown."""
    result = curve(multiverse_tables(n_items, seed=seed, **how), claim, n_draws=n_draws, seed=seed)
    one = deciding(result)
    significant = one["p_mean_z"] < 0.05
    return {
        "median": one["p_median"] < 0.05,
        "share": one["p_share"] < 0.05,
        "Stouffer's Z": significant,
        "shown": significant and one["mean_z"] > 0,
        "contrary shown": significant and one["mean_z"] < 0,
        "were items the draws": result.tests["items"]["p_mean_z"] < 0.05,
    }


CURVES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("asking as good as probability", {}),
    ("the same, heavy tails", {"heavy": True}),
    ("the same, 3 models on the same items", {"n_models": 3}),
    ("one wording better, the other as much worse", {"unequal": True}),
    ("15 paradigms, on each of which asking is better or worse", {"n_paradigms": 15}),
    ("40 such paradigms", {"n_paradigms": 40}),
    ("two equal models", {"n_models": 2, "claim": "m0 > m1"}),
    ("r with people is 0, claimed above 0", {"claim": "people > 0"}),
    ("the same, heavy tails", {"claim": "people > 0", "heavy": True}),
    ("the same, whole points", {"claim": "people > 0", "ratings": "steps"}),
    ("r with people is .3, claimed above .3", {"claim": "people > 0.3", "people": 0.3, "layouts": (DIRECT,)}),
    ("power: asking right 8% less often", {"gap": 0.3}),
    ("power: asking right 19% less often", {"gap": 0.7}),
    ("power: r with people is .3, claimed above .1", {"claim": "people > 0.1", "people": 0.3, "layouts": (DIRECT,)}),
)


def null_of(said: str, n_items: int, **how: Any) -> Null:  # noqa: ANN401
    return Null((said, str(n_items)), partial(claims, n_items=n_items, **how), each=own_seed)


def nulls() -> Iterator[Null]:
    for said, how in CURVES:
        for n_items in (300,) if said.startswith("power") else (60, 300):
            yield null_of(said, n_items, **how)


RARE, SHOWN = at_most(0.2, "Stouffer's Z"), at_least(0.801, "shown")
PEOPLE = {"claim": "people > 0.2", "people": 0.6, "layouts": (DIRECT, MEAN)}
FEW = partial(null_of, n_draws=99)
TESTED = (
    FEW("asking as good as probability", 100).small(20, RARE, ci=True),
    FEW("r with people is 0, heavy tails", 100, claim="people > 0", heavy=True).small(20, RARE, ci=True),
    FEW("15 paradigms", 600, n_paradigms=15).small(20, RARE, at_least(0.201, "were items the draws"), ci=True),
    FEW("power: asking right less often", 200, gap=0.7).small(10, SHOWN),
    FEW("power: r with people", 200, **PEOPLE).small(10, SHOWN),
)
TABLES = (Table("multiverse", ("data", "items"), nulls, TESTED),)
