"""What is learnt when? Scored tables of checkpoints in; curves by phenomenon, onsets and their order out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from pairbank.errors import BankError
from pairbank.stats.analyses.base import DEFAULTS, Context, Section, reads
from pairbank.stats.analyses.trajectories.checkpoints import Trajectory, trajectories
from pairbank.stats.analyses.trajectories.onsets import ALL, ALPHA, LEAST_ITEMS, curve_rows, learnt, onset_rows
from pairbank.stats.analyses.trajectories.order import N_PERMUTATIONS, order_table
from pairbank.stats.figures.charts import curves
from pairbank.stats.figures.figure import Figure
from pairbank.stats.figures.shared import file_name, n_said
from pairbank.stats.wording import number, span

if TYPE_CHECKING:
    from pairbank.stats.scored_table.frame import ScoredFrame

MOST_CURVES = 8
"""In one figure; of more phenomena, all items and the seven with most items are drawn."""


@reads("features")
def section(tables: Sequence[ScoredFrame], context: Context = DEFAULTS) -> Section:
    """Return the curves of runs, when each phenomenon is above chance for good, and whether runs agree on the order.

    Args:
        tables: Scored tables, among them at least three checkpoints of a run.
        context: Declared features of models, of which steps and training tokens count; the seed of permutations.

    Raises:
        BankError: If no run has three checkpoints.
    """
    runs = trajectories(tables, context.features)
    curve, onset, left_out = list[dict[str, Any]](), list[dict[str, Any]](), 0
    for run in runs:
        for method in _methods(run):
            known = learnt(run, method)
            if known is not None:
                curve += curve_rows(run, method, known)
                onset += onset_rows(run, method, known)
                left_out += known.n_left_out
    if not onset:
        raise BankError("no item has a difference by the same method at every checkpoint of a run")
    found, when = pd.DataFrame(curve), pd.DataFrame(onset)
    order = order_table(when, rng=context.rng)
    said = [_run_said(str(run), str(method), part) for (run, _, method), part in when.groupby(_PLACE, sort=False)]
    text = "\n\n".join([*said, *_order_said(order), *_left_out_said(left_out)])
    shown = {"onsets": when, "curves": found} | ({"order": order} if len(order) else {})
    return Section(
        id="trajectories",
        title="What is learnt when",
        text=text,
        answer=said[0],
        main_table="onsets",
        draws=f"{N_PERMUTATIONS:,} permutations of phenomena" if len(order) else "",
        definitions=DEFINITIONS,
        tables=shown,
        figures=tuple(_figures(found)),
        references=(
            "Berger 1982, Technometrics 24:295-300: a claim that needs several tests",
            "Wilson 1927, JASA 22:209-212",
        ),
    )


_PLACE = ["run", "corpus", "method"]


def _methods(run: Trajectory) -> list[str]:
    names = [layout.method for layout in run.tables[0].layouts]
    return [name for name in names if all(name in {x.method for x in table.layouts} for table in run.tables)]


def _run_said(run: str, method: str, part: pd.DataFrame) -> str:
    """Say how a run goes on all items, and of how many phenomena it is above chance for good."""
    whole = part[part["phenomenon"] == ALL].iloc[0]
    unit, corpus = str(whole["unit"]), str(whole["corpus"])
    said = (
        f"**{run}** on {corpus}, `{method}`: accuracy goes from {_share(whole['first'])} at the first checkpoint to "
        f"{_share(whole['last'])} at {unit} {number(whole['last_checkpoint'], digits=0)} ({int(whole['n']):,} items). "
    )
    said += _onset_said(whole, unit)
    kinds = part[part["phenomenon"] != ALL]
    if kinds.empty:
        return f"{said} No phenomenon has {LEAST_ITEMS} items or more."
    learnt_ones = kinds[kinds["onset"].notna()].sort_values("onset", kind="stable")
    over = int(kinds["onset_over_first"].notna().sum())
    names = ", ".join(
        f"{row['phenomenon']} ({number(row['onset'], digits=0)})" for _, row in learnt_ones.head(5).iterrows()
    )
    more = f"; the earliest: {names}" if names else ""
    return (
        f"{said} Of {len(kinds)} phenomena {len(learnt_ones)} are above chance for good by the last checkpoint, "
        f"{over} better for good than at the first one (each claim corrected for {len(kinds)} phenomena){more}."
    )


def _onset_said(row: pd.Series[Any], unit: str) -> str:
    if pd.isna(row["onset"]):
        said = "It is not above chance for good by the last checkpoint"
    else:
        said = f"It is above chance for good from {unit} {number(row['onset'], digits=0)} on"
    if pd.isna(row["onset_over_first"]):
        return f"{said}, and not better for good than at the first checkpoint."
    return (
        f"{said}, and better for good than at the first checkpoint from {number(row['onset_over_first'], digits=0)} on."
    )


def _share(value: float) -> str:
    return number(value, digits=3)


def _order_said(order: pd.DataFrame) -> Iterator[str]:
    if order.empty:
        return
    agree = order[(order["p_mean_holm"] < ALPHA) & (order["rho_mean"] > 0)]
    yield (
        f"Order across runs: of {len(order):,} pairs of runs {len(agree):,} agree on which phenomena are easy, by the "
        "rank correlation of mean accuracies over all checkpoints (permutation tests, Holm's correction); rho from "
        f"{span(order['rho_mean'])}."
    )


def _left_out_said(n: int) -> Iterator[str]:
    if n:
        yield f"{n:,} items that not every checkpoint of their run has a score of are left out."


def _figures(found: pd.DataFrame) -> Iterator[Figure]:
    for (run, corpus, method), part in found.groupby(_PLACE, sort=False):
        sizes = part.drop_duplicates("phenomenon").set_index("phenomenon")["n"]
        kept = [ALL, *sizes.drop(ALL).sort_values(ascending=False, kind="stable").index[: MOST_CURVES - 1]]
        shown = part[part["phenomenon"].isin(kept)]
        few = "" if len(kept) == len(sizes) else f"; of {len(sizes) - 1} phenomena the {MOST_CURVES - 1} largest"
        yield Figure(
            name=file_name("trajectories", str(run), str(corpus), str(method)),
            caption=f"Accuracy of {run} on {corpus} by {method} over training ({n_said(part['n'])}){few}; bands are "
            "95% intervals (Wilson).",
            draw=partial(
                curves,
                shown,
                x="amount",
                series="phenomenon",
                x_label=str(part["unit"].iloc[0]),
                y_label="accuracy",
                chance=0.5,
            ),
        )


DEFINITIONS = f"""\
- **run**: models that are checkpoints of one training run, by their names (`RUN@step-1000`) or signatures;
  **amount**: how much the checkpoint had seen. Items are those that every checkpoint has a score of.
- **value**: share of items with a positive difference, ties one half, with Wilson's 95% interval. **p_above**:
  one-sided exact sign test of one half, ties dropped.
- **onset**: the first checkpoint from which on, to the last, every p_above is below **alpha** ({ALPHA} for all items,
  {ALPHA} over the number of phenomena for each of these, Bonferroni). **p_onset**: the greatest of these p-values;
  without an onset that of the last checkpoint. It is a statement about these items.
- **onset_over_first**: the same for exact McNemar tests against the first checkpoint: an untrained model need not be
  at one half, for the sides of a pair differ in length and in the frequency of their words.
- **first**, **last**, **mean**: accuracy at the first and last checkpoint, and on average over all.
- **rho_onset**, **rho_mean** (`order`): Spearman's rho of two runs over their phenomena, of onsets (none = last) and of
  mean accuracies, with two-sided permutation tests; `_holm`: corrected for all pairs.
"""
