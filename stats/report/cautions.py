"""What a reader must know of the tables: missing answers, position bias, texts that a tokenizer cannot read.

Texts that a model's tokenizer cannot read are no evidence of what the model knows; a method that applies to no item of
a corpus leaves no row in a table, and its absence has to be stated.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pairbank.builders.schema.columns import IDENTICAL_SIDES
from pairbank.markdown import html_as_text
from pairbank.scoring.api.layout import MethodLayout, ScoreColumns
from pairbank.scoring.api.names import IDENTICAL_TOKENS, UNKNOWN_TOKEN, reference_of
from pairbank.stats.scored_table.method_scores import (
    SAME_PLACE,
    ScoredFrame,
    delta_of,
    flagged,
    is_one_place,
    shows_both,
)
from pairbank.stats.wording import names, number, plural, span

if TYPE_CHECKING:
    pass


UNREAD = 0.05
"""Share of items with unknown tokens, or with the same tokens on both sides, above which it is said."""
MOST_LINES = 8
"""Of a model and corpus each; of more, how many."""
MOST_NAMED = 6
"""Methods in one line; of more, a line each."""
CHANCE = 0.5
SAME_R = 0.995
"""Pearson r between two prompts from which on two decimals show 1.00."""
_LEAST_PAIRS = 10
KEYS = ["model", "corpus", "method"]
FIRST, OTHER = "always picks the first option", "never picks the first option"
POOLED, BIAS = "accuracy_pooled", "position_bias"
_MOST_BIASED = 3


def cautions(tables: Sequence[ScoredFrame]) -> tuple[str, ...]:
    """Return what the tables do not show by themselves, a sentence each.

    >>> import pandas as pd
    >>> from pairbank.scoring.api.layout import MethodLayout
    >>> direct = MethodLayout(method="direct", kind="direct", presentations=(), options=(), correct=())
    >>> frame = pd.DataFrame({"item_id": ["a", "b"], "direct_delta": [1.0, 0.0],
    ...                       "direct_flags": [["unknown_token"], []]})
    >>> cautions([ScoredFrame(corpus="toy", model="gpt2", frame=frame, layouts=(direct,))])
    ('**gpt2 cannot read some of toy**: 1 of 2 items hold characters that its tokenizer has no token for (`direct`).',)
    """
    unread = [_sentence(table, text) for table in tables if (text := cannot_read(table))]
    if len(unread) > MOST_LINES:
        n = len(unread) - MOST_LINES
        unread = [*unread[:MOST_LINES], f"The same holds of {n} more models and corpora; analysis `audit` names all."]
    return (*unread, *_ignoring_prompts(tables))


def unasked(tables: Sequence[ScoredFrame]) -> tuple[str, ...]:
    """Return which methods have no number of any item of a corpus, a sentence a corpus."""
    return tuple(_not_asked(tables))


def cannot_read(table: ScoredFrame) -> str:
    """Return what of a corpus a model's tokenizer cannot read, or "" where that is hardly anything."""
    method = _first_flagged(table)
    if method is None:
        return ""
    flags, n = f"{method}_flags", table.n_rows
    frame = table.part(["item_id", "flags", f"{method}_delta", flags])
    is_pair = ~flagged(frame, "flags", IDENTICAL_SIDES) & ~np.isnan(delta_of(frame, method))
    n_pairs, n_unknown = int(is_pair.sum()), int(flagged(frame, flags, UNKNOWN_TOKEN).sum())
    n_same = int((flagged(frame, flags, IDENTICAL_TOKENS) & is_pair).sum())
    texts = []
    if n_unknown > UNREAD * n:
        texts.append(f"{n_unknown:,} of {n:,} items hold characters that its tokenizer has no token for")
    if n_same > UNREAD * n_pairs:
        texts.append(
            f"{n_same:,} of {n_pairs:,} pairs are the same tokens on both sides, ties whatever it knows, which "
            "accuracy counts one half"
        )
    return f"{'; '.join(texts)} (`{html_as_text(method)}`)" if texts else ""


def _ignoring_prompts(tables: Sequence[ScoredFrame]) -> Iterator[str]:
    """Yield which models' answers are the same whatever the prompt asks, a sentence a model."""
    alike: dict[tuple[str, str, str, int], list[str]] = {}
    for table in tables:
        if pairs := same_answers(table):
            alike.setdefault((table.corpus, *pairs[0], len(pairs) - 1), []).append(table.model)
    for (corpus, first, second, n), models in list(alike.items())[:MOST_LINES]:
        more = f", and between {plural(n, 'more pair')} of prompts" if n else ""
        verb = "gives" if len(models) == 1 else "give"
        yield (
            f"**{html_as_text(names(models))} {verb} the same answers to different prompts**: r = 1.00 between "
            f"`{html_as_text(first)}` and `{html_as_text(second)}` on {html_as_text(corpus)}{more}. "
            "Such answers depend on the sentences and not on the question."
        )


def same_answers(table: ScoredFrame) -> list[tuple[str, str]]:
    """Return pairs of prompts to which a model's answers correlate at 1.00, by their log-probabilities.

    >>> import pandas as pd
    >>> from pairbank.scoring.api.layout import MethodLayout
    >>> def prompt(name):
    ...     return MethodLayout(method=name, kind="judgment", presentations=("good", "bad"), options=("Yes", "No"),
    ...                         correct=(0, 1))
    >>> frame = pd.DataFrame({"a_delta": [float(n) for n in range(10)]}).assign(b_delta=lambda x: 2 * x["a_delta"])
    >>> same_answers(ScoredFrame(corpus="c", model="m", frame=frame, layouts=(prompt("a"), prompt("b"))))
    [('a', 'b')]
    """
    prompts = {ScoreColumns(x.method).delta: x.method for x in table.layouts if x.is_answer and x.has_logprobs}
    columns = [name for name in prompts if name in table.column_names]
    if len(columns) < 2:
        return []
    with np.errstate(invalid="ignore", divide="ignore"):
        r = table.part(columns).astype(np.float64).corr(min_periods=_LEAST_PAIRS).to_numpy(dtype=np.float64)
    pairs = itertools.combinations(range(len(columns)), 2)
    return [(prompts[columns[a]], prompts[columns[b]]) for a, b in pairs if r[a, b] >= SAME_R]


def unparsed_notes(summary: pd.DataFrame, labels: Mapping[str, str]) -> Iterator[str]:
    """Yield in how many written texts no answer was found."""
    rows = summary[(summary["metric"] == "unparsed") & (summary["group_by"] == "all") & (summary["value"] > 0)]
    for method, part in rows.groupby("method", sort=False):
        yield (
            f"{labels.get(str(method), f'`{method}`')}: no answer was found in {span(part['value'])} of the texts "
            f"({plural(part['model'].nunique(), 'model')}). Accuracy is over the items with an answer."
        )


def below_chance_notes(
    own: pd.DataFrame, layouts: Mapping[str, MethodLayout], labels: Mapping[str, str]
) -> Iterator[str]:
    """Yield which published decisions are below chance, where answers that could not be parsed may count as wrong."""
    decisions = [name for name, layout in layouts.items() if layout.is_answer and layout.readout == "decision"]
    whole = own[(own["group_by"] == "all") & own["method"].isin(decisions)]
    for (corpus, method), part in whole.groupby(["corpus", "method"], sort=False):
        if n := int((part["high"] < CHANCE).sum()):
            who = f"{n} of {plural(len(part), 'model')} {'is' if n == 1 else 'are'}"
            yield (
                f"{labels.get(str(method), f'`{method}`')} on {corpus}: {who} below chance (interval under "
                f"{number(CHANCE)}). Answers that could not be parsed may be counted as wrong."
            )


def _sentence(table: ScoredFrame, said: str) -> str:
    return f"**{html_as_text(table.model)} cannot read some of {html_as_text(table.corpus)}**: {said}."


def _first_flagged(table: ScoredFrame) -> str | None:
    """Return the method whose flags tell how the texts are cut: `direct`, or the first that has any."""
    names = [layout.method for layout in table.layouts if f"{layout.method}_flags" in table.column_names]
    return reference_of(names) or next(iter(names), None)


def _not_asked(tables: Sequence[ScoredFrame]) -> Iterator[str]:
    """Yield which methods have no number of any item of a corpus, by any model."""
    for corpus in dict.fromkeys(table.corpus for table in tables):
        selected = [table for table in tables if table.corpus == corpus and table.n_rows]
        methods = dict.fromkeys(layout.method for table in selected for layout in table.layouts)
        empty = [name for name in methods if not any(has_numbers(table, name) for table in selected)]
        if empty:
            languages = {str(x) for table in selected for x in table.part(["language"]).to_numpy().ravel()}
            where = f" ({', '.join(sorted(languages)[:3])})" if languages else ""
            named = [f"`{html_as_text(name)}`" for name in empty[:MOST_LINES]]
            more = [f"{len(empty) - MOST_LINES} more"] if len(empty) > MOST_LINES else []
            text = f"No item of {html_as_text(corpus + where)} can be scored with"
            if len(named) > MOST_NAMED:
                yield "\n".join([f"{text} these methods:", *(f"  - {name}" for name in [*named, *more])])
            else:
                yield f"{text} {', '.join(named)}."


def has_numbers(table: ScoredFrame, method: str) -> bool:
    """Return whether a method has a number of any item of a table."""
    columns = [f"{method}_{name}" for name in ("delta", "good", "unparsed", "answers", "logprobs")]
    return any(table.part([name]).notna().to_numpy().any() for name in columns)


def picks(share: float) -> str:
    """Return what such a model does."""
    return FIRST if share >= SAME_PLACE else OTHER


def by_place(summary: pd.DataFrame, layouts: Mapping[str, MethodLayout]) -> pd.Series[float]:
    """Return the share of first options of those that answer by place, by model, corpus and method."""
    whole = summary[(summary["group_by"] == "all") & summary["method"].isin([*_both(layouts)])]
    shares: pd.Series[float] = whole[whole["metric"] == BIAS].set_index(KEYS)["value"].astype(float)
    pooled = whole[(whole["metric"] == POOLED) & whole["value"].notna()].set_index(KEYS).index
    return shares[shares.map(is_one_place).astype(bool) & shares.index.isin(pooled)]


def _both(layouts: Mapping[str, MethodLayout]) -> list[str]:
    return [name for name, layout in layouts.items() if shows_both(layout)]


def place_caution(summary: pd.DataFrame, layouts: Mapping[str, MethodLayout], labels: Mapping[str, str]) -> str:
    """Return what readers of numbers with averaged orders must know of models that answer by place, or ""."""
    shares = by_place(summary, layouts)
    if shares.empty:
        return ""
    requested = summary[(summary["group_by"] == "all") & (summary["metric"] == "accuracy") & summary["value"].notna()]
    n_asked = int(requested["method"].map(lambda name: name in layouts and layouts[name].is_answer).sum())
    who = listed(list(dict.fromkeys(str(model) for model, _, _ in shares.index)), most=_MOST_BIASED)
    methods = dict.fromkeys(labels.get(method, f"`{method}`") for _, _, method in shares.index)
    how = listed(list(methods), most=_MOST_BIASED)
    return (
        f"**Position bias** in {len(shares)} of {n_asked} combinations of model, corpus and prompt ({who}; {how}): "
        "the model picks the same option whatever the sentences are. Their differences and correlations compare "
        "degrees of certainty, not answers."
    )


def listed(names: Sequence[str], *, most: int) -> str:
    """Return the first names of a list, and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
