"""The introspection report: scored tables of several models in; verdicts, tables and figures out.

Song, Hu & Mahowald 2025: do a model's answers follow its own probabilities better than those of models like it?
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.scoring.api.layout import SIDES
from pairbank.scoring.api.names import reference_of
from pairbank.stats.analyses.base import Context
from pairbank.stats.analyses.form import Result, analysis
from pairbank.stats.analyses.introspection import figures
from pairbank.stats.analyses.introspection.analysis import ALL_ITEMS, DISAGREED, Corpus, introspect
from pairbank.stats.analyses.introspection.beyond_relatives import LEAST_ITEMS
from pairbank.stats.analyses.introspection.input_only import N_FOLDS, input_only
from pairbank.stats.analyses.introspection.model_pairs import LEAST_SHARE, disagreement, words
from pairbank.stats.analyses.introspection.tables import introspection_tables
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.model_features import declared_of
from pairbank.stats.scored_table.scored_table import DeltaStack, read_table, stack_deltas

_TEXTS = ("item_id", "context_good", "target_good", "context_bad", "target_bad")


@analysis(
    title="Introspection: does a model know its own probabilities best?",
    needs="no corpus is scored both directly and with a prompt; introspection compares the two: score with methods "
    "such as direct and meta_question_simple",
    facts=("features",),
)
def introspection(tables: Sequence[ScoredFrame], context: Context, *, least_share: float = LEAST_SHARE) -> Result:
    """Return the introspection analysis of each corpus, on all items and on those the models disagree on."""
    corpora = list(_corpora(tables, context, least_share=least_share))
    if not corpora:
        return Result()
    results = [result for corpus in corpora for result in corpus.results]
    features = {model: known for corpus in corpora for model, known in corpus.declared.items()}
    # Of each corpus, the items that the models disagree on answer, if these are enough.
    by_corpus = {}
    for result in results:
        if result.items == ALL_ITEMS or (len(result.models) > 1 and result.n_items >= LEAST_ITEMS):
            by_corpus[result.corpus] = result
    chosen, made = list(by_corpus.values()), introspection_tables(corpora)
    evidence: dict[str, dict[str, list[str]]] = {}  # corpora of which the same is to be said go together
    for result in chosen:
        of_answer = evidence.setdefault(result.own.beyond, {})
        of_answer.setdefault(words().render("evidence_of", result), []).append(result.corpus)
    self_pairs = pd.concat([result.self_pairs.assign(corpus=result.corpus) for result in chosen])
    return Result(
        tables=made,
        second_table="similarity" if len(made["similarity"]) else "",
        main_chart=figures.file_label(chosen[0], "scatter") if len(chosen) == 1 else figures.SCATTERS,
        charts=[
            *figures.scatters_of_corpora(chosen),
            *figures.introspection_charts(results),
            *figures.model_charts(made["models_and_prompts"], results, features, _people(tables)),
        ],
        values={
            "corpora": corpora,
            "chosen": chosen,
            "evidence": evidence,
            "self_pairs": self_pairs.sort_values("meta_direct", kind="stable"),
            "least_share": least_share,
            "n_resamples": context.n_resamples,
            "N_FOLDS": N_FOLDS,
        },
    )


def _corpora(tables: Sequence[ScoredFrame], context: Context, *, least_share: float) -> Iterator[Corpus]:
    """Yield the corpora that have a direct and a prompted method."""
    names = {table.model for table in tables}
    for corpus in dict.fromkeys(table.corpus for table in tables):
        of_corpus = [table for table in tables if table.corpus == corpus]
        layouts = [layout for table in of_corpus for layout in table.layouts]
        if reference_of(x.method for x in layouts) is None or not any(x.is_prompted for x in layouts):
            continue
        stack, filtered = stack_deltas(of_corpus), None
        declared = declared_of(of_corpus, context.features, beside=names)
        sets = {ALL_ITEMS: stack}
        if least_share:
            filtered = disagreement(stack.direct_nats, stack.meta_nats, least_share=least_share)
            sets[DISAGREED] = stack.select(filtered["kept"].to_numpy())
        results = [
            introspect(part, declared, items=items, seed=context.seed, n_resamples=context.n_resamples)
            for items, part in sets.items()
        ]
        control, why = _input_only(of_corpus, stack)
        yield Corpus(
            stack=stack, declared=declared, filtered=filtered, results=results, control=control, no_control=why
        )


def _input_only(tables: Sequence[ScoredFrame], stack: DeltaStack) -> tuple[pd.DataFrame, str]:
    """Return the input-only control of a corpus, or why there is none."""
    parts = [_texts(table.part(_TEXTS)) for table in tables]
    texts = pd.concat(parts).groupby(level=0).last()
    try:
        kept = stack.select(np.isin(stack.item_ids, texts.index))
        good, bad = (texts.loc[[*kept.item_ids], side].to_list() for side in SIDES)
        return input_only(kept, good, bad), ""
    except BankError as error:
        return pd.DataFrame(), str(error)


def _texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return both sides of each pair as texts by item, contexts before them."""
    known = frame.set_index("item_id").reindex(columns=_TEXTS[1:]).dropna(subset=["target_good", "target_bad"])
    known = known.astype(object).fillna("")
    return pd.DataFrame(
        {side: (known[f"context_{side}"] + " " + known[f"target_{side}"]).str.strip() for side in SIDES}
    )


def _people(tables: Sequence[ScoredFrame]) -> dict[str, tuple[float, int]]:
    """Return by corpus the share of rated items whose better side people rate higher, and how many there are."""
    shares = {}
    for table in tables:
        delta = read_table(table).choices.human_delta
        if table.corpus not in shares and not np.isnan(delta).all():
            share = accuracy(delta[~np.isnan(delta)])
            shares[table.corpus] = (share.value, share.n)
    return shares
