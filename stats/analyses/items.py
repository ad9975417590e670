"""Which items are hard, and which tell good models from poor ones? Scored tables in; item curves and suspects out.

Items that better models fail more often than poorer ones are suspects: of a wrong label, or of another construct.
Items that public lists call faulty (flag `known_error`) are shown beside them, with accuracies with and without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.builders.schema.columns import KNOWN_ERROR
from pairbank.errors import BankError
from pairbank.stats.analyses.base import DEFAULTS, Context, Section
from pairbank.stats.analyses.baselines import known_texts, with_and_without
from pairbank.stats.figures.charts import file_name
from pairbank.stats.figures.scatters import scatter
from pairbank.stats.figures.style import Figure
from pairbank.stats.measures.item_response import (
    LEAST_ITEMS,
    LEAST_MODELS,
    SIGNIFICANCE,
    ItemCurves,
    NegativeTest,
    fit_items,
    negative_items,
)
from pairbank.stats.scored_table.method_scores import ScoredFrame, credits_of, flagged, not_compared
from pairbank.stats.scored_table.scored_table import read_table
from pairbank.stats.wording import number, percent, plural

if TYPE_CHECKING:
    from pairbank.arrays import FloatArray
    from pairbank.stats.scored_table.scored_table import ScoredTable

N_NAMED = 3
"""Suspects that the answer names; the table has all."""
N_SAID = 3
"""Corpora and methods with a sentence of their own; the table has all."""
GROUPS = ("phenomenon", "paradigm")
_FACTS = ("phenomenon", "paradigm", KNOWN_ERROR, "human_delta")
SUSPECT, OTHER = "suspect", "other items"
_SHOWN = (
    "corpus",
    "method",
    "items",
    "models",
    "independent_models",
    "all_alike",
    "mean_discrimination",
    "suspects",
    "detectable",
    "known_errors",
)
"""Columns of the main table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fitted:
    """One method on one corpus, over models."""

    corpus: str
    method: str
    items: pd.DataFrame
    """One row per item."""
    models: pd.DataFrame
    line: dict[str, Any]
    """Its row of the main table."""


def section(tables: Sequence[ScoredFrame], _context: Context = DEFAULTS) -> Section:
    """Return difficulty and discrimination of each item, the suspects, and what known faulty items change."""
    known = with_and_without(tables)
    credit, facts, biased = _credits(tables)
    fitted, reasons = [], []
    for (corpus, method), each in credit.items():
        try:
            fitted.append(_fit(corpus, method, pd.DataFrame(each), facts[corpus]))
        except BankError as error:
            reasons.append(f"`{method}` on {corpus}: {error}")
    if not fitted and known.empty:
        raise BankError("; ".join(reasons) or "the tables hold no choice between two sides")
    lines = pd.DataFrame([one.line for one in fitted], columns=list(_SHOWN))
    return Section(
        id="items",
        title="Item difficulty and discrimination",
        text=_text(fitted, known, reasons, apart=not_compared(pd.DataFrame(biased))),
        answer=_answer(fitted, known, reasons),
        definitions=DEFINITIONS,
        tables={
            "overview": lines,
            "known_errors": known,
            "suspects": _joined(
                [element.items[element.items["suspect"]].drop(columns="suspect") for element in fitted]
            ),
            "groups": _joined([_by_group(entry) for entry in fitted]),
            "items": _joined([member.items for member in fitted]),
            "models": _joined([value.models for value in fitted]),
        },
        main_table="overview" if fitted else "known_errors",
        figures=tuple(_figure(one) for one in fitted),
        references=(
            "Birnbaum 1968, in Lord & Novick (eds), Statistical theories of mental test scores, chapters 17-20",
            "De Boeck 2008, Psychometrika 73:533-559 (items as a sample)",
            "Benjamini & Hochberg 1995, JRSS B 57:289-300",
        ),
    )


def _credits(
    tables: Sequence[ScoredFrame],
) -> tuple[dict[tuple[str, str], dict[str, pd.Series[float]]], dict[str, pd.DataFrame], list[dict[str, Any]]]:
    """Return credits by corpus, method and model; facts of the items by corpus; cases of position bias."""
    credit: dict[tuple[str, str], dict[str, pd.Series[float]]] = {}
    facts: dict[str, pd.DataFrame] = {}
    biased = []
    for table in tables:
        read = read_table(table).choices
        for scores in read.methods:
            result = credits_of(scores)
            applies = scores.applies & ~np.isnan(result.credit)
            if not applies.any():
                continue
            if result.is_biased:
                biased.append({"model": table.model, "method": scores.layout.method})
                continue
            ids = pd.Index(read.item_ids, dtype=object)[applies]
            selected = credit.setdefault((table.corpus, scores.layout.method), {})
            selected[table.model] = pd.Series(result.credit[applies], index=ids)
        current = _facts(read)
        facts[table.corpus] = current if table.corpus not in facts else facts[table.corpus].combine_first(current)
    return credit, facts, biased


def _facts(read: ScoredTable) -> pd.DataFrame:
    return pd.DataFrame(
        {
            **{name: read.frame[name].to_numpy() for name in GROUPS if name in read.frame.columns},
            KNOWN_ERROR: flagged(read.frame, "flags", KNOWN_ERROR),
            "human_delta": read.human_delta,
        },
        index=pd.Index(read.item_ids, dtype=object),
    )


def _fit(corpus: str, method: str, credit: pd.DataFrame, facts: pd.DataFrame) -> _Fitted:
    values = credit.to_numpy(dtype=np.float64)
    curves = fit_items(values)
    tested = negative_items(values, design_effect=curves.design_effect)
    place = {"corpus": corpus, "method": method}
    rows = facts.reindex(credit.index, columns=list(_FACTS)).reset_index(names="item_id")
    items = pd.DataFrame(
        {
            **place,
            **{name: rows[name] for name in ("item_id", *GROUPS)},
            "n_models": (~np.isnan(values)).sum(axis=1),
            "accuracy": np.nanmean(values, axis=1),
            **_estimates(curves, "difficulty"),
            **_estimates(curves, "discrimination"),
            "p_negative": tested.p,
            "p_negative_bh": tested.p_bh,
            "suspect": tested.suspect,
            KNOWN_ERROR: rows[KNOWN_ERROR].astype(bool),
            "human_delta": rows["human_delta"].astype("float64"),
        }
    ).sort_values(["p_negative", "item_id"], kind="stable", ignore_index=True)
    models = pd.DataFrame({**place, "model": credit.columns, "ability": curves.ability})
    models["accuracy"] = np.nanmean(values, axis=0)
    return _Fitted(
        corpus=corpus,
        method=method,
        items=items,
        models=models.sort_values("ability", ascending=False, kind="stable", ignore_index=True),
        line=place | _line(items, curves, tested),
    )


def _estimates(curves: ItemCurves, of: str) -> dict[str, FloatArray]:
    low, high = curves.interval(of)
    return {of: getattr(curves, of), f"{of}_low": low, f"{of}_high": high}


def _line(items: pd.DataFrame, curves: ItemCurves, tested: NegativeTest) -> dict[str, Any]:
    people = items["human_delta"]
    rejected = (people < 0).groupby(items["suspect"]).mean()
    return {
        "items": len(items),
        "models": len(curves.ability),
        "independent_models": round(len(curves.ability) / curves.design_effect),
        "all_alike": int(np.isnan(tested.p).sum()),
        "mean_discrimination": float(curves.mean[1]),
        "suspects": int(items["suspect"].sum()),
        "detectable": tested.detectable,
        "known_errors": int(items[KNOWN_ERROR].sum()),
        "rejected": rejected if people.notna().all() else None,
    }


def _by_group(entry: _Fitted) -> pd.DataFrame:
    """Return the mean curve of each phenomenon and paradigm: a low one is the group's fault, not its items'."""
    parts = []
    for column in GROUPS:
        for value, part in entry.items.groupby(column, sort=True):
            parts.append(
                {
                    "corpus": entry.corpus,
                    "method": entry.method,
                    "group_by": column,
                    "group": str(value),
                    "n": len(part),
                    "difficulty": part["difficulty"].mean(),
                    "discrimination": part["discrimination"].mean(),
                    "suspects": int(part["suspect"].sum()),
                    "known_errors": int(part[KNOWN_ERROR].sum()),
                }
            )
    return pd.DataFrame(parts)


def _joined(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    filled = [part for part in parts if len(part)]
    return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame()


def _answer(fitted: Sequence[_Fitted], known: pd.DataFrame, reasons: Sequence[str]) -> str:
    texts = [_said(entry) for entry in fitted[:N_SAID]]
    if not fitted:
        texts.append(f"Inconclusive: {reasons[0] if reasons else 'no method has scores of several models'}.")
    texts += known_texts(known)
    return "\n\n".join(texts)


def _said(entry: _Fitted) -> str:
    line, suspects = entry.line, entry.items[entry.items["suspect"]]
    people = ""
    where = f"**{entry.corpus}**, `{entry.method}` ({plural(line['models'], 'model')}, {plural(line['items'], 'item')})"
    power = f"a discrimination below {number(line['detectable'])} is detectable with 80% power"
    if suspects.empty:
        return f"{where}: no item is shown to discriminate negatively; {power}."
    named = ", ".join(suspects["item_id"].head(N_NAMED)) + (", …" if len(suspects) > N_NAMED else "")
    verb = "discriminates" if len(suspects) == 1 else "discriminate"
    if (rejected := line["rejected"]) is not None:
        rates = [percent(rejected.get(suspect, np.nan)) for suspect in (True, False)]
        people = f" People prefer the other side in {rates[0]} of them and {rates[1]} of the other items."
    return (
        f"{where}: {plural(len(suspects), 'item')} {verb} negatively: better models fail more often ({named}; "
        f"Benjamini-Hochberg, {number(SIGNIFICANCE)}).{people} Elsewhere, {power}."
    )


def _text(fitted: Sequence[_Fitted], known: pd.DataFrame, reasons: Sequence[str], *, apart: str) -> str:
    parts = [_said(entry) for entry in fitted]
    parts += [
        f"On {member.corpus} by `{member.method}`, the errors of related models correlate: for a discrimination, "
        f"{plural(member.line['models'], 'model')} count as {member.line['independent_models']:,} independent ones. "
        f"All models answer {percent(member.line['all_alike'] / member.line['items'])} of the items alike, so that "
        "these items do not distinguish the models."
        for member in fitted
    ]
    parts += [f"Not fitted: {reason}." for reason in reasons]
    parts += known_texts(known)
    return "\n\n".join([*parts, apart] if apart else parts)


def _figure(entry: _Fitted) -> Figure:
    points = entry.items.assign(kind=np.where(entry.items["suspect"], SUSPECT, OTHER)).sort_values(
        "kind", kind="stable"
    )
    return Figure(
        name=file_name("items", entry.corpus, entry.method),
        caption=(
            f"Difficulty and discrimination of the {plural(len(points), 'item')} of {entry.corpus} by `{entry.method}` "
            f"over {plural(entry.line['models'], 'model')} (posterior means of a two-parameter logistic model). "
            f"Below the"
            " line, better models fail more often. Suspects pass the corrected test."
        ),
        draw=partial(
            scatter,
            points,
            x="difficulty",
            y="discrimination",
            x_label="difficulty (log odds of failure at mean ability)",
            y_label="discrimination (log odds per SD of ability)",
            title=f"{entry.corpus}\n{entry.method}",
            series="kind",
            signs=True,
        ),
    )


DEFINITIONS = f"""\
- **credit**: what a model earns on an item, by the method's own definition (1, 0, ties one half; pooled methods: the
  mean over presentations). Models with position bias, and null models, are left out.
- **ability**: of a model on the items of the corpus, mean 0 and standard deviation 1 over the models of the report.
- **difficulty**: log odds that a model of mean ability fails the item. **discrimination**: change of the log odds of
  success per standard deviation of ability. Both are posterior means of a two-parameter logistic model with 95%
  intervals. Items are a sample from a normal distribution, which is estimated together with the abilities (marginal
  maximum likelihood over items, with a weak prior that counts as 20 items). Values are shrunken towards the mean, the
  more so the fewer models there are. At least {LEAST_MODELS} models and {LEAST_ITEMS} items.
- **independent_models**: models, divided by the factor by which the correlation of their errors raises the variance of
  a discrimination. Likelihood and test are discounted by it.
- **p_negative**: one-sided exact rank-sum test that the models which succeed on the item rank lower on all other items
  (credits other than 0 and 1: Student's t of Spearman's rho), its z discounted. **p_negative_bh**: corrected for all
  items of the corpus (Benjamini & Hochberg); below {SIGNIFICANCE}, the item is a **suspect**.
- **all_alike**: items on which all models earn the same, which have no test.
- **detectable**: discrimination at which an item that half of the models get right is found with 80% power (normal
  approximation, corrected for all items). Items that most models get right need a lower one.
- **groups**: means over the items of a phenomenon or paradigm. A low mean speaks of the paradigm, not of its items.
- **known_error**: the item is in a public list of faulty items. Accuracy **with** and **without** these items;
  **difference**: without minus with. All other numbers of a report include them.
"""
