"""Small scored tables for the tests of sections, and the layouts of their methods."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pairbank.scoring.api.layout import MethodLayout
from pairbank.stats.scored_table.method_scores import ScoredFrame


def direct(name: str) -> MethodLayout:
    return MethodLayout(method=name, kind="direct", presentations=(), options=(), correct=())


def choice(name: str, **changes: Any) -> MethodLayout:  # noqa: ANN401 - of the layout
    """Return the layout of a forced choice in both orders."""
    orders: dict[str, Any] = {"presentations": ("good first", "bad first"), "options": ("1", "2"), "correct": (0, 1)}
    return MethodLayout(method=name, kind="forced_choice", **orders | changes)


def judgment(name: str) -> MethodLayout:
    return MethodLayout(
        method=name, kind="judgment", presentations=("good", "bad"), options=("Yes", "No"), correct=(0, 1)
    )


def rating(name: str, n_points: int, **changes: Any) -> MethodLayout:  # noqa: ANN401 - of the layout
    options, sides = tuple("1234567"[:n_points]), ("good", "bad")
    return MethodLayout(
        method=name, kind="rating", presentations=sides, options=options, correct=(), sides=sides, **changes
    )


DIRECT, META = direct("direct"), choice("meta")
POOLED = replace(META, accuracy="pooled")


def items_frame(n_items: int, corpus: str = "toy", **columns: Any) -> pd.DataFrame:  # noqa: ANN401
    """Unrated items of one subset with what every scored table has; `columns` replace that or come after it."""
    known: dict[str, Any] = {"corpus": corpus, "subset": "s", "language": "en", "phenomenon": None}
    known |= {"human_good": np.nan, "human_bad": np.nan, "flags": [[] for _ in range(n_items)]}
    return pd.DataFrame({"item_id": [f"{corpus}/{nth:04d}" for nth in range(n_items)]} | known | columns)


def rated_table(n_items: int = 200, *, seed: int = 0, corpus: str = "toy", model: str = "gpt2") -> ScoredFrame:
    """Pairs with both log-probabilities, human ratings, distances and two methods; the first row is no choice."""
    rng = np.random.default_rng(seed)
    message, good, bad, human, far = rng.normal(size=(5, n_items))
    frame = items_frame(
        n_items,
        corpus,
        subset="pairs",
        task="sentence_pair",
        paradigm=np.where(np.arange(n_items) % 4 < 2, "one", "two"),
        human_good=0.5 + good + human,
        human_bad=bad,
        flags=[["identical_sides"] if i == 0 else [] for i in range(n_items)],
        cosine_distance=np.abs(far),
        edit_distance=rng.integers(1, 20, n_items),
        direct_good=-30 + 8 * message + good,
        direct_bad=-31 + 8 * message + bad,
    )
    frame["direct_delta"] = frame["direct_good"] - frame["direct_bad"]
    answers = np.log(rng.uniform(0.05, 1.0, (n_items, 2, 2)))
    frame["meta_good"] = (answers[:, 0, 0] + answers[:, 1, 1]) / 2
    frame["meta_bad"] = (answers[:, 0, 1] + answers[:, 1, 0]) / 2
    frame["meta_delta"] = frame["meta_good"] - frame["meta_bad"]
    frame["meta_logprobs"] = answers.reshape(n_items, 4).tolist()
    return ScoredFrame(corpus=corpus, model=model, frame=frame, layouts=(DIRECT, META))


def keyed(table: pd.DataFrame, *names: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The rows of a table by the values of some columns, which must tell them apart."""
    rows = [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]
    result = {tuple(row[name] for name in names): row for row in rows}
    assert len(result) == len(rows), f"{names} do not tell the rows apart"
    return result


def always_first(table: ScoredFrame) -> ScoredFrame:
    """The same table; the model always picks option 1, and is surer of it where the good side is there."""
    n = len(table.frame)
    first = np.array([0.9, 0.8]) + np.random.default_rng(0).uniform(0, 0.05, (n, 1))
    logprobs = np.log(np.stack([first, 1 - first], axis=-1))
    good, bad = ((logprobs[:, 0, k] + logprobs[:, 1, 1 - k]) / 2 for k in (0, 1))
    cells = {"meta_good": good, "meta_bad": bad, "meta_delta": good - bad}
    return replace(table, frame=table.frame.assign(**cells, meta_logprobs=list(logprobs.reshape(n, 4))))
