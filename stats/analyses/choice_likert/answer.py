"""The first page's words and table on choices: the long tables in; sentences and a line a model out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from pairbank.markdown import html_as_text
from pairbank.stats.analyses.choice_likert.measures import CHOICE, DESIGN, LIKERT, MEASURES
from pairbank.stats.estimates.metrics import HUMAN
from pairbank.stats.wording import number, shared_value, with_interval

BOTH = f"{CHOICE}-{LIKERT}"
TIES_FIRST = "accuracy_ties_first"
MOST_NAMED = 3

DEFINITIONS = """\
- An item is one target with two contexts; **CHOICE** asks which context fits, **LIKERT** rates context and target from
  1 to 5, **LOGPROBS** is log P(target | context). Ratings and log-probabilities choose the context that scores higher.
  A rating is read as the expected rating and as the most probable one (`argmax`), which is what a model would write.
- **people** (`told_by`): what people chose (CHOICE: the context that more than half of them chose) where the corpus
  has it, as in the paper; else the context with the higher mean rating (LIKERT). Items people tie on are left out.
- **accuracy**: share of items on which the method chooses what people choose (`human`) or the right context
  (`design`), ties one half. **accuracy_ties_first**: the same with ties given to the first context, as in the
  published analysis; the first page has it.
- **consistency**: share of items on which two measures choose the same context, ties to the first. Two measures that
  tie on every item are the same by that rule alone.
- **kappa**: Cohen's kappa of the confusion counts beside it (reference, method); undefined where
  either always chooses the same. First and second are the item's contexts in its own numbering; where items have none,
  "first" is the better one.
- `in_paper`: the first method of each kind, ratings by `argmax`: what first table and figures show.
"""


def shown_rows(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the rows of one metric that figures and the first table show: against people where they are, else design.

    Args:
        table: Long table of `choice_likert`.
        metric: Of its column `metric`.
    """
    rows = table[table["in_paper"] & (table["metric"] == metric)]
    rated = set(rows.loc[rows["versus"] == HUMAN, "corpus"])
    by_design = rows["versus"] == DESIGN
    return rows[~by_design | ~rows["corpus"].isin(rated)].reset_index(drop=True)


def first_table(accuracies: pd.DataFrame, consistency: pd.DataFrame) -> pd.DataFrame:
    """Return a line a model and corpus: its three accuracies (the paper's Table 1), and CHOICE-LIKERT (Table 2).

    Args:
        accuracies: Long table of `choice_likert`.
        consistency: The same.
    """
    right, same = shown_rows(accuracies, TIES_FIRST), shown_rows(consistency, "consistency")
    rows = []
    for (corpus, model), part in _by_model(pd.concat([right, same], ignore_index=True)):
        row: dict[str, Any] = {"model": model, "corpus": corpus, "n": int(part["n"].max())}
        row |= {kind: _cell(part[part["measure"] == kind]) for kind in (*MEASURES, BOTH)}
        rows.append(row)
    table = pd.DataFrame(rows, columns=["model", "corpus", "n", *MEASURES, BOTH])
    return table if table["corpus"].nunique() > 1 else table.drop(columns="corpus")


def _by_model(rows: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    for key, part in rows.groupby(["corpus", "model"], sort=False):
        corpus, model = key
        yield (str(corpus), str(model)), part


def _cell(rows: pd.DataFrame) -> str:
    if rows.empty:
        return ""
    row = rows.iloc[0]
    number = with_interval(row)
    if not row["n_ties"]:
        return number
    return f"{number}, {'all' if row['n_ties'] == row['n'] else row['n_ties']} tie"


def answer(accuracies: pd.DataFrame, consistency: pd.DataFrame) -> str:
    """Return the answer: agreement with people by each measure, and between choosing and rating.

    Args:
        accuracies: Long table of `choice_likert`.
        consistency: The same.
    """
    right, same = shown_rows(accuracies, TIES_FIRST), shown_rows(consistency, "consistency")
    corpus = right["corpus"].iloc[0]
    right, same = right[right["corpus"] == corpus], same[same["corpus"] == corpus]
    told_by = right.loc[right["model"] != HUMAN, "told_by"].iloc[0]
    whom = "the right context" if told_by == DESIGN else f"what people prefer ({told_by})"
    kinds = [(kind, right[(right["measure"] == kind) & (right["model"] != HUMAN)]) for kind in reversed(MEASURES)]
    said = [f"{kind} {_values(part)}" for kind, part in kinds if len(part)]
    n, width = int(right["n"].max()), float((right["high"] - right["low"]).max() / 2)
    precision = f"(n = {n:,}, 95% intervals at most ±{number(width)}; chance is 0.50)"
    sentences = [f"On {corpus}, models choose {whom} in a share of {'; '.join(said)} {precision}."]
    both = same[same["measure"] == BOTH]
    models, people = both[both["model"] != HUMAN], both[both["model"] == HUMAN]
    if len(models):
        human = f"; people do in {number(people['value'].iloc[0])}" if len(people) else ""
        sentences.append(f"Choosing and rating give the same context in {_values(models)}{human}.")
    return html_as_text(" ".join([*sentences, *ties_said(accuracies[accuracies["corpus"] == corpus])]))


def _values(part: pd.DataFrame) -> str:
    """Return one number with its interval, or the smallest and largest with their models."""
    ordered = part.sort_values("value", kind="stable")
    first, last = ordered.iloc[0], ordered.iloc[-1]
    if len(ordered) == 1:
        return f"{with_interval(first)} ({first['model']})"
    if (same := shared_value(ordered["value"])) is not None:
        return same
    return f"{number(first['value'])} ({first['model']}) to {number(last['value'])} ({last['model']})"


def ties_said(accuracies: pd.DataFrame) -> list[str]:
    """Return a sentence on models whose numbers are ties and nothing else; none where there are none.

    Args:
        accuracies: Long table of `choice_likert`.
    """
    rows = shown_rows(accuracies, TIES_FIRST)
    tied = rows[(rows["n_ties"] == rows["n"]) & (rows["n"] > 0)]
    said = []
    for kind, part in tied.groupby("measure", sort=False):
        names = list(dict.fromkeys(part["model"]))
        who = ", ".join(names[:MOST_NAMED]) + (
            f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        )
        said.append(
            f"All {int(part['n'].max()):,} {kind} comparisons of {who} are ties, given to the first context: "
            "there the share says how often the first context is right or chosen, and nothing of a preference."
        )
    return said
