"""Which models, and which methods, differ? Scored tables in, a section with every pair out.

Models are compared by each method, and methods within each model, on the items that both have scored; p-values are
corrected for the number of comparisons of a kind on a corpus.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.scoring.api.names import reference_of
from pairbank.stats.analyses.base import DEFAULTS, MOST_FIRST_ROWS, Context, Section
from pairbank.stats.estimates.bootstrap import wider
from pairbank.stats.figures.charts import MOST_CELLS, MOST_LINES, MOST_SERIES, file_name, heat_map, intervals, n_text
from pairbank.stats.figures.style import Figure
from pairbank.stats.measures.paired_tests import (
    LEAST_CLUSTERS,
    MARGIN,
    Comparison,
    beyond_clusters_p,
    compare_credits,
    corrected,
    no_comparison,
    no_difference,
)
from pairbank.stats.scored_table.method_scores import ScoredFrame, credits_of, not_compared
from pairbank.stats.scored_table.scored_table import read_table
from pairbank.stats.wording import capitalised, number, p_value, with_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pairbank.arrays import BoolArray, FloatArray, IntArray

MODELS, METHODS = "models", "methods"
SIGNIFICANCE = 0.05
MOST_FAMILIES = 4
"""Corpora and kinds of comparison that the first page tells one by one."""
MOST_NAMED = 3
"""Differences that are named in the text; the table has all."""


def _families(table: pd.DataFrame, *, margin: float) -> list[str]:
    return [
        _family_text(str(corpus), str(compared), part, margin=margin)
        for (corpus, compared), part in table.groupby(["corpus", "compared"], sort=False)
    ]


def answer_text(table: pd.DataFrame, *, margin: float) -> str:
    """Return what the first page has: all families where they are few, else how many differ and the largest of them."""
    families = _families(table, margin=margin)
    if len(families) <= MOST_FAMILIES:
        return "\n\n".join(families)
    differ = table["p_mid_holm"] < SIGNIFICANCE
    text = (
        f"{int(differ.sum()):,} of {len(table):,} comparisons of models and of methods on {table['corpus'].nunique()} "
        f"corpora differ on such items (McNemar's mid-p, Holm within each kind and corpus, {SIGNIFICANCE})."
    )
    if len(known := table[table["p_paradigms"].notna()]):
        beyond = int((known["p_paradigms_holm"] < SIGNIFICANCE).sum())
        text += f" {beyond:,} of {len(known):,} differ beyond their paradigms (t test, Holm)."
    tested = table[table["p_mid"].notna()]
    return text + (_named(tested) if len(tested) else "")


def text_of(table: pd.DataFrame, *, margin: float, apart: str = "") -> str:
    """Return what is said of every corpus and kind of comparison, and of those `apart` that are not compared."""
    parts = [*_families(table, margin=margin), *filter(None, [apart])]
    parts.append("Comparisons are paired, on the items that both have scored; pairs with identical sides are left out.")
    return "\n\n".join(parts)


def _family_text(corpus: str, compared: str, part: pd.DataFrame, *, margin: float) -> str:
    tested = part[part["p_mid"].notna()]
    by_holm = int((tested["p_mid_holm"] < SIGNIFICANCE).sum())
    description = "two models by one method" if compared == MODELS else "two methods of one model"
    text = (
        f"**{corpus}, {description}**: {by_holm:,} of {len(part):,} comparisons differ on such items (McNemar's "
        f"mid-p, Holm, "
        f"{SIGNIFICANCE}){_beyond_text(part)}."
    )
    n_same = int((part["p_equivalent_holm"] < SIGNIFICANCE).sum())
    text += f" {n_same:,} {'is' if n_same == 1 else 'are'} equivalent within {margin:g} (Holm)."
    if tested.empty:
        return text
    text += _named(tested)
    if untested := len(part) - len(tested):
        owners = "one has" if untested == 1 else f"{untested:,} have"
        text += f" {capitalised(owners)} no test: {'; '.join(dict.fromkeys(_why_not(part)))}."
    detectable = tested["detectable"].dropna()
    return text + (
        f" Minimum detectable effect (median): {number(detectable.median(), digits=3)}." if len(detectable) else ""
    )


def _named(tested: pd.DataFrame) -> str:
    """Name the largest difference that holds for as much as can be tested; the table has the others.

    That is beyond the paradigms where there are ten, else on such items.
    """
    by_size = wider(tested.loc[tested["difference"].abs().sort_values(ascending=False, kind="stable").index])
    differ = by_size[by_size["p_mid_holm"] < SIGNIFICANCE]
    beyond = differ[differ["p_paradigms"].isna() | (differ["p_paradigms_holm"] < SIGNIFICANCE)]
    (most,) = next(x for x in (beyond, differ, by_size) if len(x)).head(1).to_dict("records")
    which = (
        "significant difference"
        if len(beyond)
        else "difference (not significant beyond the paradigms)"
        if len(differ)
        else "difference (not significant)"
    )
    return f" Largest {which}: {_difference_text(most, interval=len(tested) == 1)}."


def _why_not(part: pd.DataFrame) -> Iterator[str]:
    for row in part[part["p_mid"].isna()].to_dict("records"):
        yield str(row["reason"]) if not pd.isna(row["reason"]) else "no item is right for one of both only"


def first_table(result: pd.DataFrame) -> pd.DataFrame:
    """Return what a page has of the comparisons: the first columns of the table, those that differ first."""
    order = result.assign(
        n_th=result.groupby(["corpus", "compared"], sort=False).ngroup(),
        p=result["p_mid_holm"].fillna(2.0),
        size=-result["difference"].abs().fillna(0.0),
    ).sort_values(["n_th", "p", "size"], kind="stable")
    rows = wider(result.loc[order.index])
    kept = rows[["corpus", "within", "a", "b"]].copy()
    kept["difference"] = [with_interval(row, "difference", sign=True) for row in rows.to_dict("records")]
    kept["n"] = rows["n"]
    kept["Holm's p"] = _p_cells(rows["p_mid_holm"])
    if rows["p_paradigms_holm"].notna().any():
        kept["Holm's p, paradigms"] = _p_cells(rows["p_paradigms_holm"])
    return kept.reset_index(drop=True) if len(kept) <= MOST_FIRST_ROWS else _nearest(kept, order)


def _nearest(kept: pd.DataFrame, order: pd.DataFrame) -> pd.DataFrame:
    """Return of each corpus and kind of comparison the first rows, as many of each as there is room for."""
    room = max(1, MOST_FIRST_ROWS // order["n_th"].nunique())
    return kept[(order.groupby("n_th").cumcount() < room).to_numpy()].reset_index(drop=True)


def _p_cells(values: pd.Series[float]) -> list[str]:
    return [p_value(p).removeprefix("p ").removeprefix("= ") if math.isfinite(p) else "" for p in values]


def _beyond_text(part: pd.DataFrame) -> str:
    """Say how many differ beyond the paradigms: of the same ones, items alone can tell."""
    known = part[part["p_paradigms"].notna()]
    if known.empty:
        return f"; beyond their paradigms inconclusive (fewer than {LEAST_CLUSTERS})"
    n = int((known["p_paradigms_holm"] < SIGNIFICANCE).sum())
    return f"; {n:,} differ beyond their {known['n_paradigms'].max():,} paradigms (t test, Holm)"


def _difference_text(row: Mapping[Any, Any], *, interval: bool) -> str:
    where = f"`{row['within']}`, {row['corpus']}, n = {row['n']:,}"
    difference = with_interval(row, "difference", sign=True, interval=interval)
    return f"`{row['a']}` - `{row['b']}` ({where}) = {difference}, Holm's {p_value(row['p_mid_holm'])}"


PARADIGM = "paradigm"
TYPES = {
    "corpus": "string",
    "compared": "string",
    "within": "string",
    "a": "string",
    "b": "string",
    "difference": "float64",
    "low": "float64",
    "high": "float64",
    "low_paradigms": "float64",
    "high_paradigms": "float64",
    "n": "int64",
    "n_only_a": "int64",
    "n_only_b": "int64",
    "n_ties": "int64",
    "p_exact": "float64",
    "p_mid": "float64",
    "p_mid_holm": "float64",
    "p_mid_bh": "float64",
    "n_paradigms": "int64",
    "p_paradigms": "float64",
    "p_paradigms_holm": "float64",
    "detectable": "float64",
    "p_equivalent": "float64",
    "p_equivalent_holm": "float64",
    "reason": "string",
}
BIASED_TYPES = {
    "corpus": "string",
    "model": "string",
    "method": "string",
    "first_option": "float64",
    "accuracy": "float64",
    "n": "int64",
}


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


def section(tables: Sequence[ScoredFrame], _context: Context = DEFAULTS, *, margin: float = MARGIN) -> Section:
    """Return every comparison of two models by one method, and of two methods of one model."""
    rows: list[dict[str, Any]] = []
    biased: list[dict[str, Any]] = []
    for corpus in dict.fromkeys(table.corpus for table in tables):
        own_values = [table for table in tables if table.corpus == corpus]
        earned = _same_ids([result for table in own_values for result in _earned(table, biased)])
        for compared in (MODELS, METHODS):
            rows += _family(corpus, compared, earned, margin=margin)
    left_out = pd.DataFrame(biased, columns=list(BIASED_TYPES)).astype(BIASED_TYPES)
    apart = not_compared(left_out)
    if not rows:
        raise BankError(
            f"{apart} Nothing else is left to compare."
            if biased
            else "nothing to compare: one model and one method; score with another, or leave the section out"
        )
    results = pd.DataFrame(rows, columns=list(TYPES)).astype(TYPES)
    first = first_table(results)
    return Section(
        id="comparisons",
        title="Differences between models and between methods",
        text=text_of(results, margin=margin, apart=apart),
        answer="\n\n".join(filter(None, (answer_text(results, margin=margin), apart))),
        definitions=DEFINITIONS,
        tables={"first": first, "comparisons": results} | ({"position_bias": left_out} if biased else {}),
        main_table="first",
        footnotes=(f"Smallest p of each kind first; all {len(results):,} are in `comparisons_comparisons.csv`.",)
        if len(first) < len(results)
        else (),
        figures=tuple(comparison_figures(results)),
        references=(
            "McNemar 1947, Psychometrika 12:153-157",
            "Fagerland, Lydersen & Laake 2013, BMC Medical Research Methodology 13:91",
            "Connor 1987, Biometrics 43:207-211",
            "Holm 1979, Scandinavian Journal of Statistics 6:65-70",
            "Benjamini & Hochberg 1995, JRSS-B 57:289-300",
            "Schuirmann 1987, J Pharmacokinet Biopharm 15:657-680; Tango 1998, Stat Med 17:891-908: equivalence",
        ),
    )


def _earned(table: ScoredFrame, biased: list[dict[str, Any]]) -> Iterator[_Earned]:
    """Yield the credits of each method; those with position bias go to `biased`, since they cannot be compared."""
    pairs = read_table(table).choices
    item_ids = np.array(pairs.item_ids, dtype=object)
    named = PARADIGM in pairs.frame.columns
    paradigm: IntArray = (
        np.asarray(pd.factorize(pairs.frame[PARADIGM], sort=True)[0], dtype=np.int64)
        if named
        else np.full(len(item_ids), -1, dtype=np.int64)
    )
    for scores in pairs.methods:
        result = credits_of(scores)
        known = result.credit[~np.isnan(result.credit)]
        where = {"corpus": table.corpus, "model": table.model, "method": scores.layout.method}
        if result.is_biased:
            numbers = {"first_option": result.first_option, "accuracy": known.mean(), "n": known.size}
            biased.append(where | numbers)
        elif known.size:
            yield _Earned(
                model=table.model,
                method=scores.layout.method,
                item_ids=item_ids,
                credit=result.credit,
                paradigm=paradigm,
            )


def _same_ids(earned: Sequence[_Earned]) -> list[_Earned]:
    """Return the credits with one array of ids for equal ones: comparing thousands of pairs looks at objects only."""
    kinds: list[NDArray[np.object_]] = []
    results = []
    for item in earned:
        known = next((ids for ids in kinds if ids is item.item_ids or np.array_equal(ids, item.item_ids)), None)
        if known is None:
            kinds.append(item.item_ids)
        results.append(item if known is None else replace(item, item_ids=known))
    return results


def _family(corpus: str, compared: str, earned: Sequence[_Earned], *, margin: float) -> list[dict[str, Any]]:
    """Return the comparisons of one kind on one corpus, with p-values corrected for how many they are."""
    rows = []
    for a, b in itertools.combinations(earned, 2):
        same_method, same_model = a.method == b.method, a.model == b.model
        if compared == MODELS and same_method and not same_model:
            names = {"within": a.method, "a": a.model, "b": b.model}
        elif compared == METHODS and same_model and not same_method:
            names = {"within": a.model, "a": a.method, "b": b.method}
        else:
            continue
        rows.append({"corpus": corpus, "compared": compared} | names | _compared(a, b, margin=margin))
    family = corrected([row["p_mid"] for row in rows])
    same, beyond = (corrected([row[name] for row in rows]).holm for name in ("p_equivalent", "p_paradigms"))
    for row, holm, discovery, alike, further in zip(
        rows, family.holm, family.benjamini_hochberg, same, beyond, strict=True
    ):
        row.update(p_mid_holm=holm, p_mid_bh=discovery, p_equivalent_holm=alike, p_paradigms_holm=further)
    return rows


def _compared(a: _Earned, b: _Earned, *, margin: float) -> dict[str, Any]:
    x, y, paradigm = a.credit, b.credit, a.paradigm
    if a.item_ids is not b.item_ids:
        _, of_a, of_b = np.intersect1d(a.item_ids, b.item_ids, assume_unique=True, return_indices=True)
        x, y, paradigm = x[of_a], y[of_b], paradigm[of_a]
    both: BoolArray = ~np.isnan(x + y)
    if not both.any():
        nothing = {"p_equivalent": np.nan}
        return _cells(no_comparison("they share no scored items")) | nothing | {"n_paradigms": 0, "p_paradigms": np.nan}
    compared = compare_credits(x[both], y[both], clusters=paradigm[both])
    result = _cells(compared) | {"p_equivalent": no_difference(x[both], y[both], margin=margin)}
    return result | _beyond(x[both] - y[both], paradigm[both])


def _beyond(gain: FloatArray, paradigm: IntArray) -> dict[str, Any]:
    """Return whether the difference holds beyond the paradigms, where every item has one."""
    n = 0 if (paradigm < 0).any() else int(np.unique(paradigm).size)
    return {"n_paradigms": n, "p_paradigms": beyond_clusters_p(gain, paradigm) if n else np.nan}


def _cells(result: Comparison) -> dict[str, Any]:
    return {
        "difference": result.difference.value,
        "low": result.difference.low,
        "high": result.difference.high,
        "low_paradigms": result.difference.low_paradigms,
        "high_paradigms": result.difference.high_paradigms,
        "n": result.n,
        "n_only_a": result.n_only_a,
        "n_only_b": result.n_only_b,
        "n_ties": result.n_ties,
        "p_exact": result.p_exact,
        "p_mid": result.p_mid,
        "detectable": result.detectable,
        "reason": result.reason or result.difference.reason,
    }


DEFINITIONS = f"""\
- **difference**: accuracy of A - accuracy of B on the items both have scored, each by the definition of its method's
  paper (sign of the difference, ties one half, or presentations pooled). Intervals are adjusted Wald intervals for
  pairs at level 0.95 (after Bonett & Price 2012). **low_paradigms**, **high_paradigms**: the same for paradigms like
  these, where the items are of {LEAST_CLUSTERS} or more (Student's t, cluster-robust). Sentences, figures and the
  first table have the wider.
- **position_bias** (table): models that pick the same option in 95% of the presentations or more. They are not
  compared: their accuracy is near one half by construction.
- **n_only_a**, **n_only_b**: items that only A, or only B, gets right; items on which either ties, or is right in half
  of the presentations, are in `n_ties`.
- **p_exact**, **p_mid**: McNemar's test, two-sided, exact and with the mid-p correction; where one of both ties, the
  item is half a gain of the other. **p_mid_holm**, **p_mid_bh**:
  corrected for all comparisons of the kind (models, or methods) on the corpus, by Holm and by Benjamini and Hochberg.
- **p_paradigms**: t test over `n_paradigms` paradigms of the mean difference, for other paradigms of the kind; the
  other tests are about other items of these very paradigms. **p_paradigms_holm**: corrected likewise.
- **detectable**: the smallest difference that a test at {SIGNIFICANCE} finds with a power of 0.8, given the number of
  items and the share that only one of the two gets right (Connor 1987). Empty: even a difference of that share is too
  small.
- **p_equivalent**: two one-sided tests, by Tango's score statistic, of a difference as large as the margin (option
  `margin`), ties one half: where small, the accuracies are equivalent. **p_equivalent_holm**: corrected.
"""


def comparison_figures(result: pd.DataFrame) -> Iterator[Figure]:
    """Yield differences in accuracy: intervals where they fit a page, else every two models by `direct`."""
    for (corpus, compared), part in result[result["difference"].notna()].groupby(["corpus", "compared"], sort=False):
        note = f"Differences in accuracy between {compared} on {corpus} ({n_text(part['n'])})"
        if len(part) <= MOST_LINES:
            shown = wider(part).assign(pair=part["a"] + " - " + part["b"], value=part["difference"])
            few = shown["within"].nunique() <= MOST_SERIES
            shown = shown if few else shown.assign(within="")
            yield Figure(
                name=file_name("comparisons", corpus, compared),
                caption=f"{note}; lines are 95% intervals, over items or over paradigms, whichever is wider.",
                draw=partial(
                    intervals, shown, rows="pair", series="within", x_label="difference in accuracy", chance=0
                ),
            )
            continue
        first = reference_of(part["within"]) or part["within"].iloc[0]
        selected = part[part["within"] == first]
        turned = selected.assign(a=selected["b"], b=selected["a"], difference=-selected["difference"])
        matrix = pd.concat([selected, turned]).pivot_table(index="a", columns="b", values="difference", sort=False)
        names = list(dict.fromkeys([*selected["a"], *selected["b"]]))[:MOST_CELLS]
        widest = max(0.05, float(np.ceil(selected["difference"].abs().max() * 20) / 20))
        yield Figure(
            name=file_name("comparisons", corpus, compared),
            caption=f"{note}, row - column, within `{first}`.",
            draw=partial(
                heat_map,
                matrix.reindex(index=names, columns=names),
                value_label="difference in accuracy",
                limits=(-widest, widest),
            ),
        )
