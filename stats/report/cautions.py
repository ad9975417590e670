"""What a reader must know of the tables: missing answers, position bias, unlike items, the order of models.

Texts that a model's tokenizer cannot read are no evidence of what the model knows; a method that applies to no item of
a corpus leaves no row in a table, and nobody would miss it.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pairbank.builders.schema.columns import IDENTICAL_SIDES
from pairbank.errors import BankError
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
from pairbank.stats.scored_table.model_features import ModelFeatures, by_size, find_features
from pairbank.stats.wording import names, number, plural, span

if TYPE_CHECKING:
    from pairbank.arrays import IntArray
    from pairbank.scoring.scored import Scored


UNREAD = 0.05
"""Share of items with unknown tokens, or with the same tokens on both sides, above which it is said."""
MOST_LINES = 8
"""Of a model and corpus each; of more, how many."""


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


CHANCE = 0.5
SAME_R = 0.995
"""Pearson r between two prompts from which on two decimals show 1.00."""
_LEAST_PAIRS = 10


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


TEXTS = ("context_good", "target_good", "context_bad", "target_bad")
MOST_NAMED = 6
"""Models with the same items that are named; the others are counted."""
HOW_COMPARED = (
    "The tables of accuracy and agreement, and means over models, are on each model's own items (column n). "
    "Comparisons of models are on common items: those of both in `comparisons`, those of all in `introspection` and in "
    "partial correlations."
)


def ids_by_text(tables: Sequence[Scored]) -> tuple[dict[int, list[str]], tuple[str, ...]]:
    """Return ids that pair items by their texts, of the tables whose own ids do not, and notes for a report's head."""
    results: dict[int, list[str]] = {}
    notes = []
    for corpus in dict.fromkeys(table.corpus for table in tables):
        places = [place for place, table in enumerate(tables) if table.corpus == corpus]
        if len({tables[place].signature["corpus"]["items_sha256"] for place in places}) < 2:
            continue
        without = [tables[place].model for place in places if not {*TEXTS} <= {*tables[place].column_names}]
        if without:
            notes.append(
                f"**Items of {html_as_text(corpus)} are paired by their ids**: the tables are of different items, and "
                f"{_named(without)} without texts to compare."
            )
            continue
        own_values = [_Own.of(tables[place]) for place in places]
        if _ids_agree(own_values):
            continue
        ids = _paired(own_values, corpus)
        results |= dict(zip(places, ids, strict=True))
        notes.append(
            f"**Items of {html_as_text(corpus)} are paired by their texts**: "
            f"{_named([entry.model for entry in own_values])} do not have the same texts under the same item ids."
        )
    return results, tuple(notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Own:
    """Ids and hashes of the texts of one table, in its rows' order."""

    model: str
    ids: list[str]
    texts: list[int]

    @classmethod
    def of(cls, table: Scored) -> _Own:
        columns = table.arrow(["item_id", *TEXTS])
        rows = zip(*(columns[name].to_pylist() for name in TEXTS), strict=True)
        return cls(model=table.model, ids=columns["item_id"].to_pylist(), texts=[hash(row) for row in rows])


def _ids_agree(tables: Sequence[_Own]) -> bool:
    """Return whether equal ids have equal texts, and equal texts are not all under other ids."""
    known: dict[str, int] = {}
    for table in tables:
        if any(known.setdefault(item_id, text) != text for item_id, text in zip(table.ids, table.texts, strict=True)):
            return False
    first = tables[0]
    return all({*first.ids} & {*entry.ids} or not {*first.texts} & {*entry.texts} for entry in tables[1:])


def _paired(tables: Sequence[_Own], corpus: str) -> list[list[str]]:
    """Return ids of each table's rows: those of the first table that has the text, the nth of a text with the nth."""
    first = tables[0]
    ids: dict[tuple[int, int], str] = {}
    used: set[str] = set()
    results = []
    for table in tables:
        if not {*table.texts} & {*first.texts}:
            raise BankError(
                f"corpus {corpus!r}: the tables of {first.model} and {table.model} have no text in common, yet the "
                f"same "
                "item ids; they are of different items: give the corpus of one another name (--corpus of `import`, or "
                "the file's name), or report on them separately"
            )
        n_of_text: Counter[int] = Counter()
        row_ids = []
        for item_id, text in zip(table.ids, table.texts, strict=True):
            key = (text, n_of_text[text])
            n_of_text[text] += 1
            if key not in ids:
                ids[key] = item_id if item_id not in used else f"{item_id} ({table.model})"
                used.add(ids[key])
            row_ids.append(ids[key])
        results.append(row_ids)
    return results


def item_set_notes(tables: Sequence[ScoredFrame]) -> tuple[str, ...]:
    """Return what a reader must know of models that have different items; nothing where all have the same.

    >>> from pairbank.scoring.api.layout import MethodLayout
    >>> from pairbank.stats.scored_table.method_scores import ScoredFrame
    >>> direct = MethodLayout(method="direct", kind="direct", presentations=(), options=(), correct=())
    >>> def table(model, ids):
    ...     frame = pd.DataFrame({"item_id": list(ids), "direct_delta": 1.0})
    ...     return ScoredFrame(corpus="toy", model=model, frame=frame, layouts=(direct,))
    >>> item_set_notes([table("a", "wxyz"), table("b", "xyz"), table("c", "yzx")])[0]
    '**The models have different items of toy** (`direct`): `a` 4; `b`, `c` 3; 3 in common.'
    """
    notes = [text for corpus in dict.fromkeys(table.corpus for table in tables) for text in _of_corpus(corpus, tables)]
    return (*notes, HOW_COMPARED) if notes else ()


def _of_corpus(corpus: str, tables: Sequence[ScoredFrame]) -> Iterator[str]:
    selected = [table for table in tables if table.corpus == corpus]
    if len(selected) < 2:
        return
    known = pa.array([], pa.large_string())
    scored: dict[str, dict[bytes, _Alike]] = {}
    for table in selected:
        column = pa.array(table.part(["item_id"])["item_id"], pa.large_string(), from_pandas=True)
        ids = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if ids.equals(known) or not len(known):  # the rule: a million Python strings less
            known, codes = ids, np.arange(len(ids))
        else:
            known = pa.concat_arrays([known, ids.filter(pc.invert(pc.is_in(ids, known)))])
            codes = pc.index_in(ids, known).to_numpy(zero_copy_only=False).astype(np.int64)
        for method in dict.fromkeys(layout.method for layout in table.layouts):
            sets, items = scored.setdefault(method, {}), _scored(table, method, codes)
            if items.size:
                sets.setdefault(sha256(items.tobytes()).digest(), _Alike(items=items)).models.append(table.model)
    texts: dict[str, list[str]] = {}
    for method, sets in scored.items():
        if text := _wording([*sets.values()]):
            texts.setdefault(text, []).append(f"`{html_as_text(method)}`")
    for text, methods in texts.items():
        yield f"**The models have different items of {html_as_text(corpus)}** ({', '.join(methods)}): {text}."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Alike:
    """Models that have the same items."""

    items: IntArray
    models: list[str] = field(default_factory=list)


def _scored(table: ScoredFrame, method: str, codes: IntArray) -> IntArray:
    """Return the items that have a difference, or a score of their one side, in ascending order."""
    columns = ScoreColumns(method)
    return np.sort(codes[table.part([columns.delta, columns.good]).notna().any(axis=1).to_numpy()])


def _wording(sets: Sequence[_Alike]) -> str:
    """Return which models have how many items; nothing where all have the same ones."""
    if len(sets) < 2:
        return ""
    texts = [f"{_named(entry.models)} {entry.items.size:,}" for entry in sets]
    common = reduce(np.intersect1d, [member.items for member in sets])
    return f"{'; '.join(texts)}; {common.size:,} in common"


def _named(models: Sequence[str]) -> str:
    names = [f"`{html_as_text(model)}`" for model in models]
    more = len(names) - MOST_NAMED
    return ", ".join(names if more <= 1 else [*names[:MOST_NAMED], f"{more} more"])


KEYS = ["model", "corpus", "method"]
FIRST, OTHER = "always picks the first option", "never picks the first option"
POOLED, BIAS = "accuracy_pooled", "position_bias"
_MOST_BIASED = 3


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
    who = _listed(list(dict.fromkeys(str(model) for model, _, _ in shares.index)), most=_MOST_BIASED)
    methods = dict.fromkeys(labels.get(method, f"`{method}`") for _, _, method in shares.index)
    how = _listed(list(methods), most=_MOST_BIASED)
    return (
        f"**Position bias** in {len(shares)} of {n_asked} combinations of model, corpus and prompt ({who}; {how}): "
        "the model picks the same option whatever the sentences are. Their differences and correlations compare "
        "degrees of certainty, not answers."
    )


def _listed(names: Sequence[str], *, most: int) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


_MOST_UNDECLARED = 4


def from_small_to_large(
    tables: Sequence[Scored], given: Mapping[str, ModelFeatures] | None = None
) -> tuple[list[Scored], str]:
    """Return tables by model, from small to large, and a sentence that says so; empty where no size is declared."""
    result = _declared(tables, given or {})
    models = by_size(list(result), result)
    corpora = list(dict.fromkeys(table.corpus for table in tables))
    place = {model: nth for nth, model in enumerate(models)}
    ordered = sorted(tables, key=lambda table: (place[table.model], corpora.index(table.corpus)))
    return ordered, _order_sentence(models, result)


def names_by_size(names: Sequence[str], given: Mapping[str, ModelFeatures]) -> list[str]:
    """Return models' names from small to large, where there is no more to find them by.

    >>> names_by_size(["mine", "Llama3.1 405B", "Qwen 1.5B"], {})
    ['Qwen 1.5B', 'Llama3.1 405B', 'mine']
    """
    return by_size(names, {name: find_features(name, given=given, beside=names) for name in names})


def _declared(tables: Sequence[Scored], given: Mapping[str, ModelFeatures]) -> dict[str, ModelFeatures | None]:
    """Return what is declared of each model, in order of appearance."""
    names = {table.model for table in tables}
    results: dict[str, ModelFeatures | None] = {}
    for table in tables:
        if results.get(table.model) is None:
            model_id = str(table.signature.get("model", {}).get("model_id", ""))
            results[table.model] = find_features(
                table.model, model_id=model_id, corpus=table.corpus, given=given, beside=names
            )
    return results


def _order_sentence(models: Sequence[str], features: Mapping[str, ModelFeatures | None]) -> str:
    unknown = [model for model in models if features[model] is None]
    if len(models) < 2 or len(unknown) == len(models):
        return ""
    text = "In tables and figures, models are ordered from small to large, by their declared numbers of parameters"
    if not unknown:
        return f"{text}."
    names = _listed(unknown, most=_MOST_UNDECLARED)
    return html_as_text(f"{text}; nothing is declared of {names}: last.")
