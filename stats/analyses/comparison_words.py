"""What comparisons say: in, their table; out, the sentences and the first table of a report.

Those that differ are named, the largest first; the largest of all only where none does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from pairbank.stats.measures.paired_tests import LEAST_CLUSTERS
from pairbank.stats.wording import number, p_value, with_interval

MODELS, METHODS = "models", "methods"
SIGNIFICANCE = 0.05
MOST_FAMILIES = 4
"""Corpora and kinds of comparison that the first page tells one by one."""
MOST_NAMED = 3
"""Differences that are named in the text; the table has all."""


def _families(table: pd.DataFrame, *, margin: float) -> list[str]:
    return [
        _family_said(str(corpus), str(compared), part, margin=margin)
        for (corpus, compared), part in table.groupby(["corpus", "compared"], sort=False)
    ]


def answer_said(table: pd.DataFrame, *, margin: float) -> str:
    """Return what the first page has: all families where they are few, else how many differ and the largest of them."""
    families = _families(table, margin=margin)
    if len(families) <= MOST_FAMILIES:
        return "\n\n".join(families)
    differ = table["p_mid_holm"] < SIGNIFICANCE
    said = (
        f"{int(differ.sum()):,} of {len(table):,} comparisons of models and of methods on {table['corpus'].nunique()} "
        f"corpora differ on such items (McNemar's mid-p, Holm within each kind and corpus, {SIGNIFICANCE})."
    )
    tested = table[table["p_mid"].notna()]
    return said + (_named(tested) if len(tested) else "")


def text_said(table: pd.DataFrame, *, margin: float, apart: str = "") -> str:
    """Return what is said of every corpus and kind of comparison, and of those `apart` that are not compared."""
    parts = [*_families(table, margin=margin), *filter(None, [apart])]
    parts.append("Comparisons are paired, on the items that both have scored; pairs with identical sides are left out.")
    return "\n\n".join(parts)


def not_compared(biased: pd.DataFrame) -> str:
    """Return which models are not compared, and why; "" where all are.

    Args:
        biased: One row per corpus, model and method with position bias.
    """
    if biased.empty:
        return ""
    names = [f"`{row['model']}` by `{row['method']}`" for row in biased.to_dict("records")]
    names = list(dict.fromkeys(names))
    shown = "; ".join(names[:MOST_NAMED]) + (f"; and {len(names) - MOST_NAMED:,} more" * (len(names) > MOST_NAMED))
    return (
        f"Not compared because of position bias: {shown}. These models pick the same option throughout, so their "
        "accuracy is near one half whatever they know."
    )


def _family_said(corpus: str, compared: str, part: pd.DataFrame, *, margin: float) -> str:
    tested = part[part["p_mid"].notna()]
    by_holm, by_bh = int((tested["p_mid_holm"] < SIGNIFICANCE).sum()), int((tested["p_mid_bh"] < SIGNIFICANCE).sum())
    what = "two models by one method" if compared == MODELS else "two methods of one model"
    said = (
        f"**{corpus}, {what}**: {by_holm:,} of {len(part):,} comparisons differ on such items (McNemar's mid-p, Holm, "
        f"{SIGNIFICANCE}; Benjamini-Hochberg: {by_bh:,}){_beyond_said(part)}."
    )
    n_same = int((part["p_equivalent_holm"] < SIGNIFICANCE).sum())
    said += f" {n_same:,} {'is' if n_same == 1 else 'are'} equivalent within {margin:g} (Holm)."
    if tested.empty:
        return said
    said += _named(tested)
    if untested := len(part) - len(tested):
        whose = "one has" if untested == 1 else f"{untested:,} have"
        said += f" {whose[0].upper()}{whose[1:]} no test: {'; '.join(dict.fromkeys(_why_not(part)))}."
    detectable = tested["detectable"].dropna()
    return said + (
        f" Minimum detectable effect (median): {number(detectable.median(), digits=3)}." if len(detectable) else ""
    )


def _named(tested: pd.DataFrame) -> str:
    """Name the largest difference; the table has the others, those that differ first."""
    by_size = tested.loc[tested["difference"].abs().sort_values(ascending=False, kind="stable").index]
    differ = by_size[by_size["p_mid_holm"] < SIGNIFICANCE]
    (most,) = (by_size if differ.empty else differ).head(1).to_dict("records")
    which = "difference (not significant)" if differ.empty else "significant difference"
    return f" Largest {which}: {_difference_said(most)}."


def _why_not(part: pd.DataFrame) -> Iterator[str]:
    for row in part[part["p_mid"].isna()].to_dict("records"):
        yield str(row["reason"]) if not pd.isna(row["reason"]) else "no item is right for one of both only"


def first_table(found: pd.DataFrame) -> pd.DataFrame:
    """Return what a page has of the comparisons: the first columns of the table, those that differ first.

    Args:
        found: The table of `comparisons`.
    """
    order = found.assign(
        n_th=found.groupby(["corpus", "compared"], sort=False).ngroup(),
        p=found["p_mid_holm"].fillna(2.0),
        size=-found["difference"].abs().fillna(0.0),
    ).sort_values(["n_th", "p", "size"], kind="stable")
    rows = found.loc[order.index]
    kept = rows[["corpus", "within", "a", "b"]].copy()
    kept["difference"] = [with_interval(row, "difference", sign=True) for row in rows.to_dict("records")]
    kept["n"] = rows["n"]
    kept["Holm's p"] = [
        "" if pd.isna(p) else p_value(p).removeprefix("p ").removeprefix("= ") for p in rows["p_mid_holm"]
    ]
    return kept.reset_index(drop=True)


def _beyond_said(part: pd.DataFrame) -> str:
    """Say how many differ beyond the paradigms: of the same ones, items alone can tell."""
    known = part[part["p_paradigms"].notna()]
    if known.empty:
        return f"; beyond their paradigms inconclusive (fewer than {LEAST_CLUSTERS})"
    n = int((known["p_paradigms_holm"] < SIGNIFICANCE).sum())
    return f"; {n:,} differ beyond their {known['n_paradigms'].max():,} paradigms (t test, Holm)"


def _difference_said(row: Mapping[Any, Any]) -> str:
    where = f"`{row['within']}`, {row['corpus']}, n = {row['n']:,}"
    difference = with_interval(row, "difference", sign=True)
    return f"`{row['a']}` - `{row['b']}` ({where}) = {difference}, Holm's {p_value(row['p_mid_holm'])}"
