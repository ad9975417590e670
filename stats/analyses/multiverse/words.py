"""What the section on a claim says: the curve in; answer, text, the table of tests and definitions out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import pandas as pd

from pairbank.stats.analyses.multiverse.curve import Curve
from pairbank.stats.measures.specification_curve import CurveTest
from pairbank.stats.wording import number, p_value, percent

LEVEL = 0.05
LEAST_FOR_PEOPLE = 100
"""Rated items below which r would be said to be shown too often."""


def answer_of(found: Curve) -> str:
    """Return the answer: the verdict on the whole curve, the share of specifications, and what could have been seen."""
    table, claim = found.table, found.claim
    n, n_holds, n_beyond = len(table), int(table["holds"].sum()), int(table["beyond"].sum())
    median, least, most = (float(x) for x in table["estimate"].quantile([0.5, 0, 1]))
    unit = "r" if claim.kind == "people" else "difference in accuracy"
    said = (
        f"{_verdict(found)} It holds in {n_holds:,} of {n:,} specifications ({percent(n_holds / n)}); in "
        f"{n_beyond:,} the "
        f"95% interval excludes {found.null:g}. The median {unit} is {_number(median)} ({_number(least)} to "
        f"{_number(most)}, n = {table['n'].min():,} to {table['n'].max():,} items)"
    )
    strictest = _strictest(found)
    return said + (
        f". The minimum detectable median (80% power) is {_number(strictest.detectable)} from {found.null:g}."
        if strictest
        else "."
    )  # fmt: skip


def _strictest(found: Curve) -> CurveTest | None:
    """Return the test over paradigms where there is one, else over items."""
    return found.tests.get("paradigms") or found.tests.get("items")


def _verdict(found: Curve) -> str:
    """Say whether the curve as a whole lies on the side of the claim: by its mean z, two-sided, over the draws."""
    strictest = _strictest(found)
    sentence = found.claim.in_words
    sentence = sentence[0].upper() + sentence[1:]
    if strictest is None:
        return f"**{sentence}**: not tested (fewer than ten items)."
    if found.claim.kind == "people" and int(found.table["n"].max()) < LEAST_FOR_PEOPLE:
        return f"**{sentence}**: not tested (fewer than {LEAST_FOR_PEOPLE} rated items)."
    of = "paradigms" if "paradigms" in found.tests else "such items"
    evidence = f"({p_value(strictest.p_mean_z)}, {strictest.n_units:,} {of})"
    if strictest.p_mean_z >= LEVEL:
        return f"**{sentence}: not shown** over all specifications together {evidence}."
    if strictest.mean_z > 0:
        return f"**{sentence}: shown over all specifications together** {evidence}."
    return f"**The contrary is shown of the claim that {found.claim.in_words}**, over all specifications {evidence}."


def text_of(found: Curve, parts: pd.DataFrame) -> str:
    """Return the tests, what the choices change, where the variance lies, and what was the same everywhere."""
    return "\n\n".join(_paragraphs(found, parts))


def _paragraphs(found: Curve, parts: pd.DataFrame) -> Iterator[str]:
    for kind, one in found.tests.items():
        yield (
            f"Tests of the whole curve over {one.n_units:,} {kind}, by exchanging signs: median {_number(one.median)} "
            f"from {found.null:g} ({p_value(one.p_median)}; chance gives {_number(one.null_median_low)} to "
            f"{_number(one.null_median_high)}), {percent(one.share)} significant on the claim's side "
            f"({p_value(one.p_share)}), "
            f"Stouffer's Z {number(one.mean_z, digits=1)} ({p_value(one.p_mean_z)})."
        )
    if "paradigms" in found.tests:
        yield "The verdict is that over paradigms, which is about other ones; that over items is about these very ones."
    if len(found.choices):
        first = found.choices.drop_duplicates("choice").sort_values("choice_share", ascending=False, kind="stable")
        said = ", ".join(f"{one['choice']} {percent(one['choice_share'])}" for one in first.to_dict("records"))
        yield f"Of the spread of the estimates lies between the levels of a choice, taken one by one: {said}."
    yield from _variance_said(parts)
    same = ", ".join(f"{name} {value}" for name, value in found.fixed.items() if value != "unknown")
    if same:
        yield f"The same in all specifications: {same}. What no table holds was not varied."


def _variance_said(parts: pd.DataFrame) -> Iterator[str]:
    for (corpus, of), part in parts.groupby(["corpus", "of"], sort=False):
        said = ", ".join(
            f"{one['part']} {percent(one['share'])}"
            + ("" if pd.isna(one["low"]) else f" [{percent(one['low'])}, {percent(one['high'])}]")
            for one in part.to_dict("records")
        )
        mains = [one for one in part.to_dict("records") if " x " not in one["part"] and one["part"] != "rest"]
        levels = ", ".join(f"{one['levels']:,} {one['part']}s" for one in mains)
        what = "people's ratings" if of == "ratings" else f"what is {of}"
        yield f"**Variance of {what}** on {corpus} ({levels}): {said}."


def tests_table(found: Curve) -> pd.DataFrame:
    """Return the tests, one line a kind of draws."""
    return pd.DataFrame([{"draws": kind} | asdict(one) for kind, one in found.tests.items()])


def _number(value: float) -> str:
    return number(value, digits=3, sign=True)


DEFINITIONS = """\
- **specification**: one combination of choices that the tables hold: model and corpus; BOS, precision and prompt format
  where tables differ in them; `linking`, how log-probabilities become a score (sum, mean over tokens or characters, or
  another linking function); `wording`, `format` and `examples` of the question; `orders`, how several orders are read
  (`averaged` differences; `each counts`; `one an item`, every second item the other order); `items`, which are taken
  (`close`: edit distance up to the 75th percentile; `same length` in words; `people agree` with the label; `people are
  sure`: their difference is above its median); `ties` (`one half`, `wrong`, `left out`), where 1% tie; kind of `r`.
  Claims about accuracy leave out models with position bias, whose accuracy is near one half whatever they know.
- **estimate**: accuracy of A - accuracy of B on the same items, adjusted Wald interval for pairs; or r with people,
  interval as everywhere. **holds**: the estimate is above what the claim says. **beyond**: so is its interval.
- **choice_share**: share of the variance of all estimates that lies between the levels of a choice, by itself; choices
  that come together share it.
- **p_median**, **p_share**, **p_mean_z**: of draws (their number is that of the bootstrap resamples) whose median is as
  far from the null, that have as large a share of significant specifications in either direction, or a sum of z as far
  from 0. In a draw, the sign of what an item (a paradigm) contributes is exchanged in all specifications at once. The
  verdict is that of the sum of z. **detectable**: the median that is found with a power of 0.8.
- **variance**: components of crossed random effects by sums of squares, of right (1) and wrong (0), by the definition
  of each method's paper, without models that have position bias; of ratings on their scale. `rest` is what the factors
  leave, with their highest combination. Intervals: jackknife over 20 groups of items, for these models and prompts.
"""
