"""What a reader of the numbers must know of the tables: in, scored tables; out, a sentence a model and corpus.

Texts that a model's tokenizer cannot read are no evidence of what the model knows; a method that applies to no item of
a corpus leaves no row in a table, and nobody would miss it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pairbank.builders.schema.columns import IDENTICAL_SIDES
from pairbank.markdown import html_as_text
from pairbank.scoring.api.names import DIRECT, IDENTICAL_TOKENS, UNKNOWN_TOKEN
from pairbank.stats.scored_table.method_scores import ScoredFrame, delta_of, flagged

UNREAD = 0.05
"""Share of items with unknown tokens, or with the same tokens on both sides, above which it is said."""
MOST_LINES = 8
"""Of a model and corpus each; of more, how many."""


def cautions(tables: Sequence[ScoredFrame]) -> tuple[str, ...]:
    """Return what the tables do not show by themselves, a sentence each.

    Args:
        tables: One a corpus and model.

    >>> import pandas as pd
    >>> from pairbank.scoring.api.layout import MethodLayout
    >>> direct = MethodLayout(method="direct", kind="direct", presentations=(), options=(), correct=())
    >>> frame = pd.DataFrame({"item_id": ["a", "b"], "direct_delta": [1.0, 0.0],
    ...                       "direct_flags": [["unknown_token"], []]})
    >>> cautions([ScoredFrame(corpus="toy", model="gpt2", frame=frame, layouts=(direct,))])
    ('**gpt2 cannot read some of toy**: 1 of 2 items hold characters that its tokenizer has no token for (`direct`).',)
    """
    unread = [_sentence(table, said) for table in tables if (said := cannot_read(table))]
    if len(unread) > MOST_LINES:
        n = len(unread) - MOST_LINES
        unread = [*unread[:MOST_LINES], f"The same holds of {n} more models and corpora; analysis `audit` names all."]
    return tuple(unread)


def unasked(tables: Sequence[ScoredFrame]) -> tuple[str, ...]:
    """Return which methods have no number of any item of a corpus, a sentence a corpus.

    Args:
        tables: One a corpus and model.
    """
    return tuple(_not_asked(tables))


def cannot_read(table: ScoredFrame) -> str:
    """Return what of a corpus a model's tokenizer cannot read, or "" where that is hardly anything.

    Args:
        table: Flags of the items and of a method, and that method's differences; other columns are not looked at.
    """
    method = _first_flagged(table)
    if method is None:
        return ""
    flags, n = f"{method}_flags", table.n_rows
    frame = table.part(["item_id", "flags", f"{method}_delta", flags])
    is_pair = ~flagged(frame, "flags", IDENTICAL_SIDES) & ~np.isnan(delta_of(frame, method))
    n_pairs, n_unknown = int(is_pair.sum()), int(flagged(frame, flags, UNKNOWN_TOKEN).sum())
    n_same = int((flagged(frame, flags, IDENTICAL_TOKENS) & is_pair).sum())
    said = []
    if n_unknown > UNREAD * n:
        said.append(f"{n_unknown:,} of {n:,} items hold characters that its tokenizer has no token for")
    if n_same > UNREAD * n_pairs:
        said.append(
            f"{n_same:,} of {n_pairs:,} pairs are the same tokens on both sides, ties whatever it knows, which "
            "accuracy counts one half"
        )
    return f"{'; '.join(said)} (`{html_as_text(method)}`)" if said else ""


def _sentence(table: ScoredFrame, said: str) -> str:
    return f"**{html_as_text(table.model)} cannot read some of {html_as_text(table.corpus)}**: {said}."


def _first_flagged(table: ScoredFrame) -> str | None:
    """Return the method whose flags tell how the texts are cut: `direct`, or the first that has any."""
    names = [layout.method for layout in table.layouts if f"{layout.method}_flags" in table.column_names]
    return DIRECT if DIRECT in names else next(iter(names), None)


def _not_asked(tables: Sequence[ScoredFrame]) -> Iterator[str]:
    """Yield which methods have no number of any item of a corpus, by any model."""
    for corpus in dict.fromkeys(table.corpus for table in tables):
        mine = [table for table in tables if table.corpus == corpus and table.n_rows]
        methods = dict.fromkeys(layout.method for table in mine for layout in table.layouts)
        empty = [name for name in methods if not any(_has_numbers(table, name) for table in mine)]
        if empty:
            languages = {str(x) for table in mine for x in table.part(["language"]).to_numpy().ravel()}
            where = f" ({', '.join(sorted(languages)[:3])})" if languages else ""
            named = ", ".join(f"`{html_as_text(name)}`" for name in empty[:MOST_LINES])
            more = f" and {len(empty) - MOST_LINES} more" if len(empty) > MOST_LINES else ""
            yield f"No item of {html_as_text(corpus + where)} can be scored with {named}{more}."


def _has_numbers(table: ScoredFrame, method: str) -> bool:
    columns = [f"{method}_{name}" for name in ("delta", "good", "unparsed", "answers", "logprobs")]
    return any(table.part([name]).notna().to_numpy().any() for name in columns)
