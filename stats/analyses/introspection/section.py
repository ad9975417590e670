"""The introspection report: in, scored tables of several models; out, a section with verdict, tables and figures.

Song, Hu & Mahowald 2025: do a model's answers follow its own probabilities better than those of models like it?
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.markdown import html_as_text
from pairbank.scoring.api.names import reference_of
from pairbank.stats.analyses.base import DEFAULTS, Context, Section, reads
from pairbank.stats.analyses.introspection.analysis import ALL_ITEMS, DISAGREED, Introspection, introspect
from pairbank.stats.analyses.introspection.beyond_relatives import (
    LEAST_ITEMS,
    Beyond,
    own_words,
    signed_with_interval,
    why_not_told,
)
from pairbank.stats.analyses.introspection.by_model import by_model
from pairbank.stats.analyses.introspection.figures import (
    SCATTERS,
    introspection_figures,
    model_figures,
    scatter_name,
    scatters_of_corpora,
)
from pairbank.stats.analyses.introspection.input_only import DEFINITIONS as INPUT_ONLY
from pairbank.stats.analyses.introspection.input_only import input_only, said_of
from pairbank.stats.analyses.introspection.model_pairs import LEAST_SHARE, Disagreement, disagreement
from pairbank.stats.analyses.introspection.tables import SIMILARITY_TABLE, introspection_tables
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.model_features import SELF, ModelFeatures, find_features
from pairbank.stats.scored_table.scored_table import DeltaStack, read_table, stack_deltas
from pairbank.stats.wording import MISSING, number, percent, span, with_interval

if TYPE_CHECKING:
    from pairbank.stats.estimates.estimate import Estimate
    from pairbank.stats.measures.regression import Coefficient

_SAID: dict[Beyond, str] = {
    "beyond relatives": "answers follow own probabilities beyond relatives'",
    "beyond declared relatives only": "mixed, ahead of the declared relatives' only",
    "not shown": "no advantage of own probabilities over relatives' is shown",
    "relatives' more": "answers follow the relatives' more than their own",
    "inconclusive": "inconclusive",
}
_NO_DIFFERENCE: tuple[Beyond, ...] = ("not shown", "inconclusive")


def headline_sets(done: Sequence[Introspection]) -> list[Introspection]:
    """Return the analysis of each corpus that answers: of the items the models disagree on, if these are enough."""
    return list({result.corpus: result for result in done if result.items == ALL_ITEMS or _can_answer(result)}.values())


def _can_answer(result: Introspection) -> bool:
    return len(result.models) > 1 and result.n_items >= LEAST_ITEMS


def answer(done: Sequence[Introspection]) -> str:
    """Return two sentences that say whether answers follow own probabilities beyond relatives', with their numbers."""
    chosen = headline_sets(done)
    if len(chosen) > 1:
        return f"{_of_corpora(chosen)} {_own_r(chosen)}"
    (result,) = chosen
    headline, _ = own_words(result.own)
    where = html_as_text(f"{result.corpus}, {result.items} items (n = {result.n_items:,})")
    more = f" {_own_r(chosen)}" if result.verdict.beyond != "not shown" else ""
    return f"{where}: {headline}{more}"


def answer_table(done: Sequence[Introspection]) -> pd.DataFrame:
    """Return a line a corpus and set of items: what the answer rests on."""
    return pd.DataFrame([_row(result) for result in done])


SIMILARITY_CAPTION = (
    "**Published test** (Song et al. 2025, Table 7a): r of answers with direct differences, by similarity and match "
    "type; coefficients relative to self, negative where self is better. Three stars: p below 0.001, two: 0.01, one: "
    "0.05."
)


FOOTNOTES = (
    (
        "Δr: r of a model's answers with its own log-probabilities minus r with those of another model. Relatives: the "
        "closest declared ones (seed variants, else base/instruct, else same family)."
    ),
    "Disagreed: items on which at least 5% of the direct preferences, and of the prompted ones, differ from the rest.",
    "The published test is a regression over pairs of models; it may differ from the answer, which rests on Δr.",
)


def similarity_table(done: Sequence[Introspection]) -> pd.DataFrame:
    """Return the paper's Table 7a: a line a corpus and set of items, a column a coefficient, with stars for p."""
    rows = []
    for result in done:
        fit = result.regressions[SIMILARITY_TABLE]
        cells = {
            _TERMS.get(coefficient.term, coefficient.term): _starred(coefficient) for coefficient in fit.coefficients
        }
        if any(cells.values()):
            rows.append({"corpus": result.corpus, "items": result.items, "pairs": fit.n} | cells)
    return pd.DataFrame(rows)


_TERMS = {"intercept": "Intercept", "direct_direct": "ΔDirect ~ ΔDirect"}


def _starred(coefficient: Coefficient) -> str:
    """Return a coefficient with the paper's stars; empty where it is not determined."""
    if np.isnan(coefficient.estimate) or np.isnan(coefficient.p_value):
        return ""
    stars = next(
        (mark for mark, level in (("***", 0.001), ("**", 0.01), ("*", 0.05)) if coefficient.p_value < level), ""
    )
    return number(coefficient.estimate, digits=3) + stars


def _of_corpora(chosen: Sequence[Introspection]) -> str:
    parts = []
    for beyond, text in _SAID.items():
        current = [results for results in chosen if results.verdict.beyond == beyond]
        evidence: dict[str, list[str]] = {}
        for result in current:  # corpora of which the same is to be said stand together
            evidence.setdefault(_evidence(result), []).append(html_as_text(result.corpus))
        if current:
            parts.append(f"**{text}** on {', '.join(in_a_row(corpora) + shown for shown, corpora in evidence.items())}")
    return f"Beyond relatives' probabilities: {'; '.join(parts)}.{_by_itself(chosen)}"


def _by_itself(chosen: Sequence[Introspection]) -> str:
    """Say what comes of judging several corpora each by itself, where one has a difference (Boole's bound)."""
    if all(result.verdict.beyond in _NO_DIFFERENCE for result in chosen):
        return ""
    share = min(1.0, len(chosen) * (1 - chosen[0].own.over_relatives.level))
    return (
        f" Each of these {len(chosen)} corpora is judged by itself: if none has a difference, up to {percent(share)} "
        f"of such studies report one for at least one corpus."
    )


def in_a_row(names: Sequence[str]) -> str:
    """Return names with a last "and".

    >>> in_a_row(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _evidence(result: Introspection) -> str:
    n = f"n = {result.n_items:,}"
    if result.verdict.beyond == "inconclusive":
        return f" ({why_not_told(result.own)}; {n})"
    interval = f"{signed_with_interval(result.own.over_relatives)} in r, {n}"
    if result.verdict.beyond == "not shown":
        return f" ({interval}; minimum detectable effect {number(result.own.smallest, digits=3)})"
    return f" ({interval})"


def _own_r(chosen: Sequence[Introspection]) -> str:
    """Say how high r of answers with own probabilities gets, and whose it is."""
    pairs = pd.concat([result.pairs.assign(corpus=result.corpus) for result in chosen])
    own_values = pairs[(pairs["match_type"] == SELF) & pairs["meta_direct"].notna()].sort_values(
        "meta_direct", kind="stable"
    )
    if own_values.empty:
        return "The correlation (r) with a model's own probabilities is undefined."
    ends = [own_values.iloc[0], own_values.iloc[-1]]
    if len(own_values) == 1:
        return f"The correlation (r) of its answers with its own probabilities is {number(ends[0]['meta_direct'])}."
    several = len(chosen) > 1
    texts = [
        html_as_text(f"{number(row['meta_direct'])} ({row['direct_model']}{', ' + row['corpus'] if several else ''})")
        for row in ends
    ]
    n_models = own_values["direct_model"].nunique()
    of = "1 model" if n_models == 1 else f"{n_models} models"
    return f"The correlation (r) with a model's own probabilities ranges from {' to '.join(texts)} ({of})."


def _row(result: Introspection) -> dict[str, Any]:
    own_values = result.pairs.loc[result.pairs["match_type"] == SELF, "meta_direct"].dropna()
    return {
        "corpus": result.corpus,
        "items": result.items,
        "n": result.n_items,
        "models": result.n_models,
        "r with own (range)": span(own_values),
        "Δr (self − relatives)": _cell(result.own.over_relatives),
        "minimum detectable effect": result.own.smallest,
        "Δr (self − most similar)": _cell(result.own.over_most_similar),
        "answer": result.verdict.beyond,
        "published test": result.verdict.outcome,
    }


def _cell(estimate: Estimate) -> str:
    """Return an estimate with its interval; why there is none stands in the verdict."""
    row = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return with_interval(row, digits=3, sign=True) if estimate.is_defined else MISSING


DEFINITIONS = """\
- **Pair of models**: A is read directly, B is asked; all ordered pairs, a model with itself included. **Consistency**
  (`meta_direct`): Pearson's r over items between the direct difference of A (log P(good) - log P(bad)) and the
  prompted difference of B, for each prompt, then the mean over prompts whose r is defined. **Similarity**
  (`direct_direct`): r between the direct differences of A and of B (Song, Hu & Mahowald 2025, sections 2 and 3.1).
  All pairs rest on the same items, those that every model answered.
- **Match types**, each excluding those before: self; seed variant (same family, generation, size and type);
  base/instruct (same but for the type); same family; other. Features are declared, never read from a name; pairs with
  a model that nobody declared are `undeclared` (ours).
- **Disagreed items**: at least 5% of the answers differ. The share of negative differences over all rows of model x
  prompt is in [0.05, 0.95], both for direct and for prompted differences (section 3.1).
- **Accuracy and kappa by model**: share of items whose difference is positive, ties one half, and Cohen's kappa of the
  signs with those of `direct`, ties left out (figures 2a, 5 and 8). Models are ordered by declared size, a vertical
  line where the next is over 2.5 times as big, as in heat maps of pairs; a family with seed variants has a map of its
  own. Where neither side is right there is no accuracy.
- **Test**: `lm(meta_direct ~ direct_direct + match_type)`, self as the reference, classical standard errors, natural
  logarithms of sizes where there are any (appendix G, Tables 5 to 8). Introspection makes the coefficients negative.
  The similarity of self is exactly 1, so that the line of similarity extrapolates beyond all other pairs. Without
  access to oneself coefficients are then often positive, and with it they are seldom negative: hardly a test.
- **r_squared** of a regression (the same on each of its lines): its share of the variance. The logistic one of Table 5
  has McFadden's (1974), 1 - log L / log L of the intercept alone, which is far smaller.
- **Table 8** compares self with the other models of one family that has seed variants, each family for itself. Pairs of
  other families as well would make self look better wherever families share anything.
- **Bars**: mean over pairs +- 1.96 standard errors (figures 3a, 4a). They, and the p values, take the pairs for
  independent, though each model is in many of them.
- **Self contrasts** (ours): a percentile bootstrap over items of the contrasts of Table 7 (self minus others), which
  says how far they would move with other items, for these models and prompts. At equal similarity they share the
  extended line; without control they show similarity. Neither is evidence of introspection or against it.
- **Advantage over relatives** (ours, `own_advantage`): r between a model's answers and its own direct differences
  minus r between the same answers and a relative's. Both r are first adjusted to the same reliability: they are
  multiplied by q and 1/q, where q^2 is the relative's mean r with third models' direct differences over the model's
  own. Without this the model with the less noisy probabilities would look introspective. Relatives: the closest
  declared ones (seed variants, else base/instruct, else same family). Mean over relatives and prompts, then models,
  then families where there are three. It is the part of r that the model shares with no relative: 0 where answers
  follow common knowledge, what the family shares and noise, however noisy each model is. It needs two declared
  relatives and a third model.
- Its **interval** covers other items and other models. Standard errors come from each item's influence (delta method),
  plus the variation of families beyond that (of models, with fewer than three families; DerSimonian & Laird 1986), with
  Student's t. **Minimum detectable effect**: the advantage for which such an interval excludes 0 with a power of 0.80.
- Where all items have a **paradigm** and there are ten or more, the interval and the bootstrap of contrasts resample
  paradigms, because items of one paradigm are more alike than others.
- The report **concludes** that answers follow a model's own probabilities beyond its relatives' only if two intervals
  exclude 0. One is of the advantage over the declared relatives, the other of that over the model whose direct
  differences correlate most with its own. The second is not sufficient, because the most similar model need not be a
  relative. `docs/statistics.md` has the error rates and the power.
- It **cannot separate** privileged access from anything else that only this model's answers and probabilities share,
  such as a tokenizer or a length bias. In single models (`own_advantage_by_model`; interval over items alone, p and
  Holm's p) it is 0 only if relatives weigh common and family knowledge in the same proportion; in the mean also if
  their answers do.
- **Partial r**: of answers with the model's own direct differences, given those of all other models, each r over items,
  mean over prompts and models. No test: others' probabilities measure what is shared only roughly, so that it is above
  0 without any access to oneself.
- Table 5 counts a direct outcome once for each prompt, as published: its standard errors are too small. A difference
  of exactly 0 is not correct there, and not negative in the filter. Items with identical sides are left out.
"""
REFERENCES = (
    "Song, Hu & Mahowald 2025: Language Models Fail to Introspect About Their Knowledge of Language. COLM.",
    "DerSimonian & Laird 1986: Meta-analysis in clinical trials. Controlled Clinical Trials 7:177-188.",
    'Spearman 1904: "General intelligence", objectively determined and measured. Am J Psychol 15:201-292.',
)


@reads("features")
def section(tables: Sequence[ScoredFrame], context: Context = DEFAULTS, *, least_share: float = LEAST_SHARE) -> Section:
    """Return the introspection analysis of each corpus, on all items and on those the models disagree on."""
    stacks = [stack for part in _by_corpus(tables) if (stack := _usable(part)) is not None]
    if not stacks:
        raise BankError(
            "no corpus is scored both directly and with a prompt; introspection compares the two: score with methods "
            "such as direct and meta_question_simple"
        )
    declared = _declared(tables, context.features)
    filters = {
        s.corpus: disagreement(s.direct_nats, s.meta_nats, least_share=least_share) for s in stacks if least_share
    }
    done: list[Introspection] = []
    for stack in stacks:
        sets = {ALL_ITEMS: stack}
        if stack.corpus in filters:
            sets[DISAGREED] = stack.select(filters[stack.corpus].keep)
        known = declared[stack.corpus]
        done += [
            introspect(x, known, items=name, seed=context.seed, n_resamples=context.n_resamples)
            for name, x in sets.items()
        ]
    shares = pd.concat([by_model(stack, declared[stack.corpus]) for stack in stacks], ignore_index=True)
    chosen = headline_sets(done)
    control, controls = _input_only(stacks, tables)
    return Section(
        id="introspection",
        title="Introspection: does a model know its own probabilities best?",
        text="\n\n".join((_text(stacks, filters, done, declared), *controls)),
        answer=answer(done),
        definitions=DEFINITIONS + (INPUT_ONLY if len(control) else ""),
        tables={
            "answers": answer_table(done),
            "similarity": similarity_table(done),
            "models_and_prompts": shares,
            **({"input_only": control} if len(control) else {}),
            **introspection_tables(stacks, filters, done, declared),
        },
        main_table="answers",
        footnotes=FOOTNOTES,
        second_table="similarity",
        second_caption=SIMILARITY_CAPTION,
        draws=f"{context.n_resamples:,} resamples of items",
        main_figure=scatter_name(chosen[0]) if len(chosen) == 1 else SCATTERS,
        figures=(
            *scatters_of_corpora(chosen),
            *introspection_figures(done),
            *model_figures(shares, done, declared, _people(tables)),
        ),
        references=REFERENCES,
    )


def _input_only(stacks: Sequence[DeltaStack], tables: Sequence[ScoredFrame]) -> tuple[pd.DataFrame, list[str]]:
    """Return the input-only control of each corpus, and a sentence on each: what it gives, or why there is none."""
    result, text = [], []
    for stack in stacks:
        texts: dict[str, tuple[str, str]] = {}
        for table in tables:
            if table.corpus == stack.corpus and {"target_good", "target_bad"} <= {*table.column_names}:
                texts |= _texts(table.part(_TEXTS))
        try:
            kept = stack.select(np.array([item in texts for item in stack.item_ids], dtype=np.bool_))
            good, bad = ([texts[item][side] for item in kept.item_ids] for side in (0, 1))
            result.append(input_only(kept, good, bad))
            text.append(html_as_text(f"{stack.corpus}: ") + said_of(result[-1]))
        except BankError as error:
            text.append(html_as_text(f"{stack.corpus}: no input-only control ({error})."))
    return pd.concat(result, ignore_index=True) if result else pd.DataFrame(), text


_TEXTS = ("item_id", "context_good", "target_good", "context_bad", "target_bad")


def _texts(frame: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Return both sides of each pair as texts, contexts before them."""
    known = frame[frame["target_good"].notna() & frame["target_bad"].notna()]
    sides = []
    for side in ("good", "bad"):
        context = known[f"context_{side}"].fillna("") if f"context_{side}" in known.columns else ""
        sides.append((context + " " + known[f"target_{side}"]).str.strip())
    return dict(zip(known["item_id"], zip(*sides, strict=True), strict=True))


def _people(tables: Sequence[ScoredFrame]) -> dict[str, tuple[float, int]]:
    """Return by corpus the share of rated items whose better side people rate higher, and how many there are."""
    results = {}
    for table in tables:
        delta = read_table(table).choices.human_delta
        if table.corpus not in results and not np.isnan(delta).all():
            share = accuracy(delta[~np.isnan(delta)])
            results[table.corpus] = (share.value, share.n)
    return results


def _by_corpus(tables: Sequence[ScoredFrame]) -> list[list[ScoredFrame]]:
    corpora = dict.fromkeys(table.corpus for table in tables)
    return [[table for table in tables if table.corpus == corpus] for corpus in corpora]


def _usable(tables: Sequence[ScoredFrame]) -> DeltaStack | None:
    """Return the stack of a corpus, or None where no table has a direct and a prompted method."""
    methods = [x for table in tables for x in table.layouts]
    if reference_of(x.method for x in methods) is None or not any(x.is_prompted for x in methods):
        return None
    return stack_deltas(tables)


def _declared(
    tables: Sequence[ScoredFrame], given: Mapping[str, ModelFeatures]
) -> dict[str, dict[str, ModelFeatures | None]]:
    """Return what is declared about each model, by corpus (a published table has names of its own) and model."""
    results: dict[str, dict[str, ModelFeatures | None]] = {}
    names = {table.model for table in tables}
    for table in tables:
        model_id = str(table.signature.get("model", {}).get("model_id", ""))
        features = find_features(table.model, model_id=model_id, corpus=table.corpus, given=given, beside=names)
        results.setdefault(table.corpus, {})[table.model] = features
    return results


def _text(
    stacks: Sequence[DeltaStack],
    filters: Mapping[str, Disagreement],
    done: Sequence[Introspection],
    declared: Mapping[str, Mapping[str, ModelFeatures | None]],
) -> str:
    parts = []
    for stack in stacks:
        parts.append(f"### {stack.corpus}")
        parts.append(_facts(stack, filters.get(stack.corpus)))
        if strangers := [name for name in stack.models if declared[stack.corpus].get(name) is None]:
            parts.append(
                f"Nothing is declared about {', '.join(strangers)}: pairs with other models have the match type "
                "`undeclared`, and regressions on size leave them out. Declare family, generation, size and type to "
                "change that."
            )
        for result in done:
            if result.corpus == stack.corpus:
                description = "All items" if result.items == ALL_ITEMS else "Items the models disagree on"
                parts.append(f"*{description} (n = {result.n_items:,}).* {result.verdict.text}{_range(result)}")
    return "\n\n".join(parts)


def _facts(stack: DeltaStack, filtered: Disagreement | None) -> str:
    identical = f" ({stack.n_identical} more with identical sides are left out)" if stack.n_identical else ""
    models, prompts = _counted(len(stack.models), "model"), _counted(len(stack.prompts), "prompted method")
    items = _counted(len(stack.item_ids), "item")
    reported = [f"{models}, {prompts} ({', '.join(stack.prompts)}), {items}{identical}."]
    if filtered is None:
        reported.append("No item is left out for being easy.")
    else:
        counts = filtered.counts
        reported.append(
            f"At least {percent(filtered.least_share)} of the answers differ on {counts['kept']} items; direct answers "
            f"agree too much on {counts['direct answers agree']}, prompted ones on "
            f"{counts['prompted answers agree']}, both on {counts['both agree']}."
        )
    if not stack.has_truth:
        reported.append("Neither side of its items is right: no accuracy, and no regression on correctness.")
    if len(stack.models) == 1:
        reported.append("One model makes a single pair: no scatter, bars, lines or heat map of models is drawn.")
    return " ".join(reported)


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n:,} {what}s"


def _range(result: Introspection) -> str:
    """Return a last bullet: how high r gets at all."""
    own_values = result.pairs[result.pairs["match_type"] == SELF]["meta_direct"]
    if own_values.notna().sum() == 0:
        return ""
    start = "\n" if "\n- " in result.verdict.text else "\n\n"
    text = f"{start}- r with a model's own probabilities: {span(own_values)}"
    if pd.notna(result.correlation):
        text += f"; over pairs, consistency and similarity correlate at r = {number(result.correlation)}"
    return f"{text}."
