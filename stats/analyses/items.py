"""Which items are hard, and which tell good models from poor ones? Item curves and suspects, of scored tables.

Items that better models fail more often than poorer ones are suspects: of a wrong label, or of another construct.
Items that public lists call faulty (flag `known_error`) are shown beside them, with accuracies with and without them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pairbank.builders.schema.columns import KNOWN_ERROR
from pairbank.errors import BankError
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.baselines import with_and_without
from pairbank.stats.analyses.form import Result, Rows, analysis, charts, where
from pairbank.stats.figures.scatters import scatter
from pairbank.stats.measures import item_response
from pairbank.stats.scored_table.method_scores import ScoredFrame, credits_of, flagged, not_compared
from pairbank.stats.scored_table.scored_table import read_table

N_NAMED = 3
"""Suspects that the answer names; the table has all."""
N_ANSWERS = 3
"""Corpora and methods with a sentence of their own; the table has all."""
GROUPS = ("phenomenon", "paradigm")
_FACTS = (*GROUPS, KNOWN_ERROR, "human_delta")
SUSPECT, OTHER = "suspect", "other items"
Credits = dict[tuple[str, str], dict[str, "pd.Series[float]"]]
"""Corpus and method -> model -> credit by item."""


@analysis(title="Item difficulty and discrimination")
def items(tables: Sequence[ScoredFrame], _context: Context) -> Result:
    """Return difficulty and discrimination of each item, the suspects, and what known faulty items change."""
    known = with_and_without(tables)
    credit, facts, biased = _credits(tables)
    unfitted, fitted = Rows(), list[tuple[dict[str, Any], pd.DataFrame, pd.DataFrame]]()
    for (corpus, method), by_model in credit.items():
        place = {"corpus": corpus, "method": method}
        try:
            fitted.append(_fit(place, pd.DataFrame(by_model), facts[corpus]))
        except BankError as error:
            unfitted.append(place | {"reason": str(error)})
    overview, of_items, of_models = zip(*fitted, strict=True) if fitted else ((), (), ())
    if not overview and known.empty:
        reasons = [f"`{fit['method']}` on {fit['corpus']}: {fit['reason']}" for fit in unfitted]
        raise BankError("; ".join(reasons) or "the tables hold no choice between two sides")
    all_items = _joined(of_items)
    drawn = all_items.assign(kind=np.where(all_items["suspect"], SUSPECT, OTHER)) if overview else all_items
    draw = partial(scatter, x="difficulty", y="discrimination", series="kind", signs=True)
    labels: dict[str, Any] = {
        "title": "{corpus}\n{method}",
        "x_label": "difficulty (log odds of failure at mean ability)",
        "y_label": "discrimination (log odds per SD of ability)",
    }
    return Result(
        tables={
            "overview": pd.DataFrame(overview).drop(columns="rejected", errors="ignore"),
            "known_errors": known,
            "suspects": _joined([where(part, suspect=True).drop(columns="suspect") for part in of_items]),
            "groups": _joined([_by_group(part) for part in of_items]),
            "items": all_items,
            "models": _joined(of_models),
        },
        charts=charts("curves", drawn, "corpus", "method", select=_suspects_last, draw=draw, **labels),
        values={
            "fits": [
                row | {"suspected": list(where(part, suspect=True)["item_id"])}
                for row, part in zip(overview, of_items, strict=True)
            ],
            "unfitted": unfitted,
            "nan": float("nan"),
            "not_compared": not_compared(pd.DataFrame(biased)),
        },
    )


def _suspects_last(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.sort_values("kind", kind="stable")


def _credits(tables: Sequence[ScoredFrame]) -> tuple[Credits, dict[str, pd.DataFrame], Rows]:
    """Return credits of each model, facts of the items by corpus, and cases of position bias."""
    credit: Credits = defaultdict(dict)
    facts: dict[str, pd.DataFrame] = {}
    biased = Rows()
    for table in tables:
        read = read_table(table).choices
        for scores in read.methods:
            earned = credits_of(scores)
            applies = scores.applies & ~np.isnan(earned.credit)
            if earned.is_biased and applies.any():
                biased.append({"model": table.model, "method": scores.layout.method})
            elif applies.any():
                ids = pd.Index(read.item_ids, dtype=object)[applies]
                credit[table.corpus, scores.layout.method][table.model] = pd.Series(earned.credit[applies], index=ids)
        current = read.frame[[name for name in GROUPS if name in read.frame.columns]].assign(
            **{KNOWN_ERROR: flagged(read.frame, "flags", KNOWN_ERROR), "human_delta": read.human_delta}
        )
        current.index = pd.Index(read.item_ids, dtype=object)
        facts[table.corpus] = current if table.corpus not in facts else facts[table.corpus].combine_first(current)
    return credit, facts, biased


def _fit(
    place: dict[str, str], credit: pd.DataFrame, facts: pd.DataFrame
) -> tuple[dict[str, Any], pd.DataFrame, pd.DataFrame]:
    """Return what one method on one corpus gives over models: its row of the overview, its items and its models."""
    values = credit.to_numpy(dtype=np.float64)
    curves = item_response.fit_items(values)
    tested = item_response.negative_items(values, design_effect=curves.design_effect)
    rows = facts.reindex(credit.index, columns=list(_FACTS)).reset_index(names="item_id")
    items = pd.DataFrame(
        {
            **place,
            **{name: rows[name] for name in ("item_id", *GROUPS)},
            "n_models": (~np.isnan(values)).sum(axis=1),
            "accuracy": np.nanmean(values, axis=1),
            **{
                f"{of}{end}": values
                for of in ("difficulty", "discrimination")
                for end, values in zip(("", "_low", "_high"), (getattr(curves, of), *curves.interval(of)), strict=True)
            },
            "p_negative": tested.p,
            "p_negative_bh": tested.p_bh,
            "suspect": tested.suspect,
            KNOWN_ERROR: rows[KNOWN_ERROR].astype(bool),
            "human_delta": rows["human_delta"].astype("float64"),
        }
    ).sort_values(["p_negative", "item_id"], kind="stable", ignore_index=True)
    models = pd.DataFrame({**place, "model": credit.columns, "ability": curves.ability})
    models["accuracy"] = np.nanmean(values, axis=0)
    models = models.sort_values("ability", ascending=False, kind="stable", ignore_index=True)
    people = items["human_delta"]
    overview = {
        "items": len(items),
        "models": len(curves.ability),
        "independent_models": round(len(curves.ability) / curves.design_effect),
        "all_alike": int(np.isnan(tested.p).sum()),
        "mean_discrimination": float(curves.mean[1]),
        "suspects": int(items["suspect"].sum()),
        "detectable": tested.detectable,
        "known_errors": int(items[KNOWN_ERROR].sum()),
        "rejected": (people < 0).groupby(items["suspect"]).mean() if people.notna().all() else None,
    }
    return place | overview, items, models


def _by_group(of_items: pd.DataFrame) -> pd.DataFrame:
    """Return the mean curve of each phenomenon and paradigm: a low one is the group's fault, not its items'."""
    cells = {name: (name, pd.Series.mean) for name in ("difficulty", "discrimination")}
    sums = {"suspects": ("suspect", "sum"), "known_errors": (KNOWN_ERROR, "sum")}
    parts = []
    for column in GROUPS:
        named = of_items.assign(group_by=column, group=of_items[column]).dropna(subset=["group"])
        of_groups = named.groupby(["corpus", "method", "group_by", "group"])
        parts.append(of_groups.agg(n=("item_id", "size"), **cells, **sums).reset_index().astype({"group": str}))
    return _joined(parts)


def _joined(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    filled = [part for part in parts if len(part)]
    return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame()
