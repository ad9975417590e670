"""Which models, and which methods, differ? Every pair of them, on the items that both have scored."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairbank.arrays import BoolArray, FloatArray, IntArray
from pairbank.errors import BankError
from pairbank.scoring.api.names import reference_of
from pairbank.stats.analyses.base import MOST_FIRST_ROWS, Context
from pairbank.stats.analyses.form import Chart, Result, Rows, analysis, cells, groups, records, typed, where
from pairbank.stats.estimates.bootstrap import wider
from pairbank.stats.figures.charts import MOST_CELLS, MOST_LINES, MOST_SERIES, heat_map, intervals
from pairbank.stats.measures import paired_tests
from pairbank.stats.measures.paired_tests import compare_credits, corrected, no_comparison, no_difference
from pairbank.stats.scored_table.method_scores import ScoredFrame, credits_of, not_compared
from pairbank.stats.scored_table.scored_table import PARADIGM, read_table
from pairbank.stats.wording import column_of, with_interval

MODELS, METHODS = "models", "methods"
SIGNIFICANCE = 0.05
MOST_FAMILIES = 4
"""Corpora and kinds of comparison that the first page has one by one."""
COLUMNS = (
    "corpus", "compared", "within", "a", "b", "difference", "low", "high", "low_paradigms", "high_paradigms", "n",
    "n_only_a", "n_only_b", "n_ties", "p_exact", "p_mid", "p_mid_holm", "p_mid_bh", "n_paradigms", "p_paradigms",
    "p_paradigms_holm", "detectable", "p_equivalent", "p_equivalent_holm", "reason",
)  # fmt: skip


@analysis(title="Differences between models and between methods")
def comparisons(tables: Sequence[ScoredFrame], _context: Context, *, margin: float = paired_tests.MARGIN) -> Result:
    """Return every comparison of two models by one method, and of two methods of one model."""
    rows, biased = Rows(), Rows()
    for corpus in dict.fromkeys(table.corpus for table in tables):
        earned: list[_Earned] = []
        for table in tables:
            if table.corpus == corpus:
                earned += _earned(table, biased, earned)
        for compared in (MODELS, METHODS):
            rows += _family(corpus, compared, earned, margin=margin)
    left_out = not_compared(pd.DataFrame(biased))
    if not rows:
        raise BankError(
            f"{left_out} Nothing else is left to compare."
            if biased
            else "nothing to compare: one model and one method; score with another, or leave the section out"
        )
    pairs = typed(rows, COLUMNS)
    return Result(
        tables={"first": first_table(pairs), "comparisons": pairs, "position_bias": typed(biased)},
        charts=[*_charts(pairs)],
        values={
            "families": groups(pairs, "corpus", "compared"),
            "largest_difference": largest_difference,
            "not_compared": left_out,
            "margin": margin,
        },
    )


def largest_difference(pairs: pd.DataFrame) -> dict[str, Any]:
    """Return the largest difference that holds for as much as can be tested, and for what it holds."""
    tested = pairs[pairs["p_mid"].notna()]
    if tested.empty:
        return {}
    by_size = wider(tested.loc[tested["difference"].abs().sort_values(ascending=False, kind="stable").index])
    differ = by_size[by_size["p_mid_holm"] < SIGNIFICANCE]
    beyond = differ[differ["p_paradigms"].isna() | (differ["p_paradigms_holm"] < SIGNIFICANCE)]
    shown = next(rows for rows in (beyond, differ, by_size) if len(rows))
    significant = "beyond" if len(beyond) else "items" if len(differ) else ""
    return records(shown.head(1))[0] | {"significant": significant, "only": len(tested) == 1}


def first_table(result: pd.DataFrame) -> pd.DataFrame:
    """Return what a page has of the comparisons: the first columns of the table, those that differ first."""
    order = result.assign(
        n_th=result.groupby(["corpus", "compared"], sort=False).ngroup(),
        p=result["p_mid_holm"].fillna(2.0),
        size=-result["difference"].abs().fillna(0.0),
    ).sort_values(["n_th", "p", "size"], kind="stable")
    rows = wider(result.loc[order.index])
    kept = rows[["corpus", "within", "a", "b"]].copy()
    kept["difference"] = [with_interval(row, "difference", sign=True) for row in records(rows)]
    kept["n"] = rows["n"]
    kept["Holm's p"] = column_of(rows["p_mid_holm"], "p")
    if rows["p_paradigms_holm"].notna().any():
        kept["Holm's p, paradigms"] = column_of(rows["p_paradigms_holm"], "p")
    if len(kept) > MOST_FIRST_ROWS:  # of each corpus and kind of comparison as many as there is room for
        room = max(1, MOST_FIRST_ROWS // order["n_th"].nunique())
        kept = kept[(order.groupby("n_th").cumcount() < room).to_numpy()]
    return kept.reset_index(drop=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Earned:
    """One method of one model on one corpus."""

    model: str
    method: str
    item_ids: NDArray[np.object_]
    """Ids of the rows, sorted."""
    credit: FloatArray
    """By the definition of the method's paper; NaN where there is none."""
    paradigm: IntArray
    """Number of each item's paradigm; -1 where it has none."""


def _earned(table: ScoredFrame, biased: Rows, others: Sequence[_Earned]) -> Iterator[_Earned]:
    """Yield the credits of each method; those with position bias go to `biased`, since they cannot be compared.

    Equal ids are one array, so that comparing thousands of pairs looks at objects only.
    """
    pairs = read_table(table).choices
    item_ids = np.array(pairs.item_ids, dtype=object)
    kinds = {id(x.item_ids): x.item_ids for x in others}.values()
    item_ids = next((known for known in kinds if np.array_equal(known, item_ids)), item_ids)
    paradigm = np.full(len(item_ids), -1, dtype=np.int64)
    if PARADIGM in pairs.frame.columns:
        paradigm = np.asarray(pd.factorize(pairs.frame[PARADIGM], sort=True)[0], dtype=np.int64)
    for scores in pairs.methods:
        earned, names = credits_of(scores), {"model": table.model, "method": scores.layout.method}
        known = earned.credit[~np.isnan(earned.credit)]
        if earned.is_biased:
            numbers = {"first_option": earned.first_option, "accuracy": known.mean(), "n": known.size}
            biased.append({"corpus": table.corpus} | names | numbers)
        elif known.size:
            yield _Earned(**names, item_ids=item_ids, credit=earned.credit, paradigm=paradigm)


def _family(corpus: str, compared: str, earned: Sequence[_Earned], *, margin: float) -> Rows:
    """Return the comparisons of one kind on one corpus, with p-values corrected for how many they are."""
    rows = Rows()
    for a, b in itertools.combinations(earned, 2):
        same_method, same_model = a.method == b.method, a.model == b.model
        if compared == MODELS and same_method and not same_model:
            names = {"within": a.method, "a": a.model, "b": b.model}
        elif compared == METHODS and same_model and not same_method:
            names = {"within": a.model, "a": a.method, "b": b.method}
        else:
            continue
        rows.append({"corpus": corpus, "compared": compared} | names | _compared(a, b, margin=margin))
    first = _copies(earned)
    families: dict[str, dict[tuple[str, ...], Rows]] = {}  # corrected together: by method, or all pairs of methods
    for row in rows:
        family, key = first.get(row["within"], ""), (row["a"], row["b"])
        if compared == METHODS:
            family, key = "", (row["within"], *sorted((first[row["a"]], first[row["b"]])))
        families.setdefault(family, {}).setdefault(key, []).append(row)
    for of_family in families.values():
        once = [copies[0] for copies in of_family.values()]
        p_values = {name: corrected([row[name] for row in once]) for name in ("p_mid", "p_equivalent", "p_paradigms")}
        for nth, copies in enumerate(of_family.values()):
            for row in copies:
                row.update({f"{name}_holm": p.holm[nth] for name, p in p_values.items()})
                row["p_mid_bh"] = p_values["p_mid"].benjamini_hochberg[nth]
    return rows


def _copies(earned: Sequence[_Earned]) -> dict[str, str]:
    """Return, per method, the first method with the same credits in all models, such as `per_char` for `per_byte`."""
    of_method: dict[str, list[_Earned]] = {}
    for x in earned:
        of_method.setdefault(x.method, []).append(x)

    def same(one: Sequence[_Earned], other: Sequence[_Earned]) -> bool:
        return len(one) == len(other) and all(
            a.model == b.model and a.item_ids is b.item_ids and np.array_equal(a.credit, b.credit, equal_nan=True)
            for a, b in zip(one, other, strict=True)
        )

    firsts: dict[str, str] = {}
    for method, of in of_method.items():
        firsts[method] = next((first for first in firsts.values() if same(of, of_method[first])), method)
    return firsts


def _compared(a: _Earned, b: _Earned, *, margin: float) -> dict[str, Any]:
    x, y, paradigm = a.credit, b.credit, a.paradigm
    if a.item_ids is not b.item_ids:
        _, of_a, of_b = np.intersect1d(a.item_ids, b.item_ids, assume_unique=True, return_indices=True)
        x, y, paradigm = x[of_a], y[of_b], paradigm[of_a]
    both: BoolArray = ~np.isnan(x + y)
    x, y, paradigm = x[both], y[both], paradigm[both]
    compared = compare_credits(x, y, clusters=paradigm) if both.any() else no_comparison("they share no scored items")
    n_paradigms = 0 if not both.any() or (paradigm < 0).any() else int(np.unique(paradigm).size)
    counts = ("n", "n_only_a", "n_only_b", "n_ties", "p_exact", "p_mid", "detectable")
    estimate = cells(compared.difference, paradigms=True)
    return {
        "difference": estimate.pop("value"),
        **estimate,
        **{name: getattr(compared, name) for name in counts},
        "reason": compared.reason or compared.difference.reason,
        "p_equivalent": no_difference(x, y, margin=margin) if both.any() else np.nan,
        "n_paradigms": n_paradigms,
        "p_paradigms": paired_tests.beyond_clusters_p(x - y, paradigm) if n_paradigms else np.nan,
    }


def _charts(table: pd.DataFrame) -> Iterator[Chart]:
    """Yield differences in accuracy: intervals where they fit a page, else every two models by `direct`."""
    for family in groups(table[table["difference"].notna()], "corpus", "compared"):
        corpus, compared, rows = *family.key, family.frame
        values = {"corpus": corpus, "compared": compared, "n": rows["n"]}
        if len(rows) <= MOST_LINES:
            shown = wider(rows).assign(pair=rows["a"] + " - " + rows["b"], value=rows["difference"])
            shown = shown if shown["within"].nunique() <= MOST_SERIES else shown.assign(within="")
            draw = partial(intervals, shown, rows="pair", series="within", x_label="difference in accuracy", chance=0)
            yield Chart(name=f"{corpus} {compared}", caption="differences", draw=draw, values=values)
            continue
        within = reference_of(rows["within"]) or rows["within"].iloc[0]
        shown = where(rows, within=within)
        turned = shown.assign(a=shown["b"], b=shown["a"], difference=-shown["difference"])
        matrix = pd.concat([shown, turned]).pivot_table(index="a", columns="b", values="difference", sort=False)
        names = list(dict.fromkeys([*shown["a"], *shown["b"]]))[:MOST_CELLS]
        widest = max(0.05, float(np.ceil(shown["difference"].abs().max() * 20) / 20))
        matrix = matrix.reindex(index=names, columns=names)
        draw = partial(heat_map, matrix, value_label="difference in accuracy", limits=(-widest, widest))
        yield Chart(name=f"{corpus} {compared}", caption="matrix", draw=draw, values=values | {"within": within})
