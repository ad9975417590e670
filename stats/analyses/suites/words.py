"""What the section on test suites says: in, its tables; out, its answer, text and definitions."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from pairbank.stats.wording import number

DEFINITIONS = """- **A suite's accuracy** (`value`): share of its items in which every comparison of its formulas holds
  (Hu, Gauthier et al. 2020), with Wilson's 95% interval over items. Guessing is no single number: with three
  comparisons that hold by chance independently it is 0.125, with one .5; comparisons that share a number depend on each
  other.
- **each_alone**: the mean, over the suite's comparisons, of the share of items in which it holds.
- **Surprisal** of a region: minus the sum of the log-probabilities of its tokens, given all that stands before it, in
  bits. The space before a region counts with it. An empty region has surprisal 0.
- **Margin** of a comparison: by how many bits it holds (below 0 where it does not), mean over items with Student's t
  interval. A *difference of differences* compares more than two conditions.
- **control**: a formula that only says that two surprisals are equal; it is no part of a suite's accuracy, as in the
  published results. Equal is within 0.001 bits and 0.00001 of the size, as SyntaxGym's runner had it.
- **left_out**: items that lack a condition or a number. **other_tokens**: sentences that the tokenizer cuts into other
  tokens as a whole than region by region."""


def answer_of(by_suite: pd.DataFrame, comparisons: pd.DataFrame) -> str:
    """Return two sentences: accuracies of all models, and how many differences of differences hold."""
    means = {str(model): float(part["value"].mean()) for model, part in by_suite.groupby("model", sort=False)}
    n_suites, n_items = by_suite["suite"].nunique(), int(by_suite.groupby("model")["n"].sum().max())
    low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    first = f"{low}: all predictions of a suite hold in {number(means[low])} of its items"
    if len(means) > 1:
        first = (
            f"All predictions of a suite hold in {number(means[low])} ({low}) to {number(means[high])} ({high}) of its "
            f"items, {len(means)} models"
        )
    size = f"{_counted(n_suites, 'suite')}, {n_items:,} items, each suite weighted equally"
    return f"{first} ({size}).\n\n{_twofold(comparisons)}"


def _twofold(comparisons: pd.DataFrame) -> str:
    part = comparisons[comparisons["kind"] == "difference of differences"]
    if not len(part):
        return "None of these suites compares differences with each other."
    said = []
    for model, own in part.groupby("model", sort=False):
        above, below = int((own["low"] > 0).sum()), int((own["high"] < 0).sum())
        said.append(f"{model} {above} as predicted and {below} the other way")
    n = part.groupby("model").size().max()
    return (
        f"Differences of differences ({n}): intervals (95% each) lie beyond 0 in: {'; '.join(said)}. "
        f"By chance, {number(n / 20)} per model are expected."
    )


def text_of(by_suite: pd.DataFrame, comparisons: pd.DataFrame) -> str:
    """Return the section's text."""
    return "\n\n".join(_paragraphs(by_suite, comparisons))


def _paragraphs(by_suite: pd.DataFrame, comparisons: pd.DataFrame) -> Iterator[str]:
    yield (
        "Asked here: does a word surprise a model more, or less, where the grammar says so; by how many bits; and does "
        "what should matter matter more than it does where it should not (differences of differences)?"
    )
    for model, part in by_suite.groupby("model", sort=False):
        alone = part["each_alone"].mean()
        yield (
            f"{model}: on average over {_counted(len(part), 'suite')}, all predictions hold in "
            f"{number(part['value'].mean())} of the items, and a single comparison in {number(alone)}. "
            f"Lowest: {_ends(part, lowest=True)}; highest: {_ends(part, lowest=False)}."
        )
    if (differ := by_suite["other_tokens"]).any():
        yield (
            f"{int(differ.sum()):,} sentences (over all models) are cut into other tokens region by region than as a "
            "whole; they are used, and flagged `region_tokens_differ`."
        )
    if (out := by_suite["left_out"]).any():
        yield f"{int(out.sum()):,} items lack a condition or a number, as in a run with a limit, and are left out."
    controls = comparisons[comparisons["kind"] == "control"]
    if len(controls):
        yield f"{len(controls)} comparisons that only say that two surprisals are equal are listed as controls."


def _ends(part: pd.DataFrame, *, lowest: bool) -> str:
    some = part.nsmallest(3, "value") if lowest else part.nlargest(3, "value")
    return ", ".join(f"{row['suite']} {number(row['value'])}" for row in some.to_dict("records"))


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
