"""What string probability says about grammaticality: scored tables in, a section out.

Hu et al. 2026, TACL: the two log-probabilities of a pair correlate (prediction 1a) and the less so the less minimal
the pair is (1b, ten bins of cosine distance); their difference follows people's (2); pooled, no linking function tells
grammatical from ungrammatical strings well (3), although the better string of a pair is usually the more probable one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairbank.errors import BankError
from pairbank.markdown import html_as_text
from pairbank.scoring.api.names import DIRECT, is_string_logprob
from pairbank.stats.analyses.base import DEFAULTS, Context, Section
from pairbank.stats.analyses.by_distance import BIN_COLUMNS, DISTANCES, close_pairs, rows_by_bin, wide
from pairbank.stats.analyses.grammaticality.figures import AREAS, points_of, string_figures
from pairbank.stats.estimates.bootstrap import wider
from pairbank.stats.estimates.estimate import Estimate, undefined
from pairbank.stats.measures.accuracy import accuracy
from pairbank.stats.measures.agreement import pearson
from pairbank.stats.measures.roc import Strings, auc, labelled_strings, pooled_pairs, roc_curve
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import ScoredTable, SummaryRow, is_reference, long_table, read_table
from pairbank.stats.wording import median_and_span, n_items, number, plural, span, value_range, with_interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pairbank.arrays import BoolArray, FloatArray

STRING_TASKS = ("sentence_pair", "sentence")
"""Tasks whose scores are of whole strings; a continuation given its context is none."""
N_BARS = 40
"""Of a histogram; its ends are the quantiles 0.001 and 0.999 of all strings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredStrings:
    """The strings of one table with one linking function."""

    method: str
    good: FloatArray
    """Scores of the pairs' good strings; empty for a corpus of single labelled sentences."""
    bad: FloatArray
    human_delta: FloatArray
    """What people say of each pair, good minus bad; NaN where they were not asked."""
    strings: Strings
    """All strings, paired or not."""
    pairs: ScoredTable
    """The pairs' rows."""
    n_rows: int
    """Rows the function applies to, identical sides included."""

    @property
    def language(self) -> str:
        """The language of the pairs or sentences; empty where there are several."""
        frame = self.pairs.frame
        result = set(frame["language"]) if "language" in frame.columns else {""}
        return str(result.pop()) if len(result) == 1 else ""


def scored_strings(table: ScoredTable) -> Iterator[ScoredStrings]:
    """Yield what each method that puts a number on one string says of a table's strings; classes may be empty."""
    kept = table.rows(table.has_value("task", *STRING_TASKS))
    used = kept.choices
    labels, human = used.numbers("label"), used.human_delta
    for layout in table.layouts:
        if layout.is_prompted:
            continue
        good, bad = used.side(layout.method, "good"), used.side(layout.method, "bad")
        paired, single = ~np.isnan(good + bad), ~np.isnan(good + labels) & np.isnan(bad)
        if paired.any():
            strings = pooled_pairs(good[paired], bad[paired])
        else:
            strings = labelled_strings(good[single], labels[single])
        yield ScoredStrings(
            method=layout.method,
            good=good[paired],
            bad=bad[paired],
            human_delta=human[paired],
            strings=strings,
            pairs=used.rows(paired if paired.any() else single),
            n_rows=int((~np.isnan(kept.side(layout.method, "good"))).sum()),
        )


def together(parts: Sequence[Strings]) -> Strings:
    """Return several pools as one; items stay apart.

    >>> both = together([pooled_pairs([1.0], [0.0]), labelled_strings([5.0, 6.0], [1, 0])])
    >>> both.good.tolist(), both.good_item.tolist(), both.bad_item.tolist(), both.n_items
    ([1.0, 5.0], [0, 1], [0, 2], 3)
    """
    starts = np.cumsum([0, *(part.n_items for part in parts)])
    return Strings(
        good=np.concatenate([part.good for part in parts]),
        bad=np.concatenate([part.bad for part in parts]),
        good_item=np.concatenate([part.good_item + at for part, at in zip(parts, starts, strict=False)]),
        bad_item=np.concatenate([part.bad_item + at for part, at in zip(parts, starts, strict=False)]),
        n_items=int(starts[-1]),
    )


def histogram(strings: Strings, place: dict[str, Any]) -> pd.DataFrame:
    """Return how many good and bad strings fall into each of `N_BARS` equal steps of their score.

    Scores beyond the ends count with the outermost step.
    """
    both = np.concatenate([strings.good, strings.bad])
    low, high = np.quantile(both, (0.001, 0.999))
    edges = np.linspace(low, high if high > low else low + 1, N_BARS + 1)
    counted = {
        f"n_{name}": np.histogram(np.clip(scores, edges[0], edges[-1]), edges)[0]
        for name, scores in (("good", strings.good), ("bad", strings.bad))
    }
    return pd.DataFrame({**place, "low": edges[:-1], "high": edges[1:], **counted})


UNIGRAM = "unigram null"
"""The model of the null's rows: word counts of the corpus's own strings, which know no grammar."""


def unigram_logprobs(texts: Sequence[str]) -> FloatArray:
    """Return each text's log-probability by the counts of words in all of them, shape (texts,).

    Words are what blanks separate, in lower case; characters where texts have no blanks.

    >>> unigram_logprobs(["a b", "a a"]).round(3).tolist()
    [-1.674, -0.575]
    """
    cut = [text.lower().split() if " " in text.strip() else list(text.strip()) for text in texts]
    counts = Counter(word for words in cut for word in words)
    total = sum(counts.values())
    return np.array([sum(np.log(counts[word] / total) for word in words) for words in cut], dtype=np.float64)


def null_rows(table: ScoredTable) -> Iterator[dict[str, Any]]:
    """Yield what word counts alone give of the predictions, on the pairs of whole strings of a corpus."""
    used = table.rows(table.has_value("task", *STRING_TASKS)).choices
    if not {"target_good", "target_bad"} <= {*used.frame.columns}:
        return
    kept = used.rows((used.frame["target_good"].notna() & used.frame["target_bad"].notna()).to_numpy(dtype=np.bool_))
    n = len(kept.frame)
    if n < _LEAST_RATED:
        return
    both = unigram_logprobs([*kept.frame["target_good"], *kept.frame["target_bad"]])
    good, bad, human = both[:n], both[n:], kept.human_delta
    place = SummaryRow(model=UNIGRAM, corpus=table.corpus, group_by="all", group="", method=DIRECT)
    paradigms = kept.paradigms
    yield replace(place, metric="pearson_sides").row(pearson(good, bad, clusters=paradigms), n_rows=n)
    rated = ~np.isnan(human)
    if rated.sum() >= _LEAST_RATED:
        estimate = pearson(good[rated] - bad[rated], human[rated], clusters=paradigms[rated])
        yield replace(place, versus="human", metric="pearson_human").row(estimate, n_rows=int(rated.sum()))
    yield replace(place, metric="auc").row(auc(pooled_pairs(good, bad), clusters=paradigms), n_rows=n)
    yield replace(place, metric="accuracy").row(accuracy(good - bad, clusters=paradigms), n_rows=n)


def _beside_null(rows: pd.DataFrame, null: pd.DataFrame, metric: str) -> str:
    """Return what word counts and random weights give, and how many models are above that; "" without them."""
    is_counts = null["model"] == UNIGRAM
    message = _beside(rows, null[is_counts], metric, "Word counts alone (unigram null) give")
    if (random := null[~is_counts]).empty:
        return message
    return message + _beside(
        rows, random, metric, f"Random weights ({plural(random['model'].nunique(), 'model')}) give"
    )


def _beside(rows: pd.DataFrame, null: pd.DataFrame, metric: str, lead_in: str) -> str:
    """Return what a null gives, and how many models are above all of it (Zou & Donner 2008)."""
    known = null[(null["metric"] == metric) & null["value"].notna()]
    strongest = known.sort_values("value", ascending=False, kind="stable").drop_duplicates("corpus")
    both = rows.merge(strongest[["corpus", "value", "high"]], on="corpus", suffixes=("", "_null"))
    if both.empty:
        return ""
    above = int(exceeds(both["value"], both["low"], both["value_null"], both["high_null"]).sum())
    return (
        f" {lead_in} {span(known['value'])}; log P is above that in {above} of {len(both)} "
        "(95% intervals of the difference)."
    )


def exceeds(value: ArrayLike, low: ArrayLike, null: ArrayLike, null_high: ArrayLike) -> BoolArray:
    """Return whether the interval of a difference to a null is above 0 (Zou & Donner 2008), from the intervals of both.

    >>> exceeds(0.9, 0.8, 0.7, 0.75).tolist(), exceeds(0.9, 0.8, 0.7, 0.9).tolist()
    (True, False)
    """
    first, lowest, second, highest = (np.asarray(x, dtype=np.float64) for x in (value, low, null, null_high))
    return np.asarray(first - second > np.hypot(first - lowest, highest - second))


NULL_MODELS = """\
- **null models**: the table `null` also has models with random weights (`random:MODEL`), with their bins of prediction
  1b in `null_by_bin`. A model is above random weights if it is above the highest of them on the corpus.
"""
PLACES = ("model", "corpus")
LEAST_ITEMS = 20
"""Of a number that a headline counts."""
LEAST_IN_BIN = 10
"""Pairs of each bin of an r over bins that a headline counts."""


def answer(tables: Mapping[str, pd.DataFrame], without: Mapping[tuple[str, str], str]) -> str:
    """Return predictions 1 to 3 with their numbers: of each model and corpus the value, or the smallest and largest."""
    message, null = [], tables["null"]
    first = _direct(_whole(tables["correlation"]))
    if first["value"].notna().any():
        beside = _beside_null(first, null, "pearson_sides")
        message.append(
            f"**Prediction 1a**: log P of the two strings of a pair correlate at r = {_typical(first)}.{beside}"
        )
        message.append(f"**Prediction 1b** (weaker the less minimal the pair): {_bins_text(tables['by_bin'])}")
    second = _direct(_whole(tables["with_people"]))
    if second["value"].notna().any():
        beside = _beside_null(second, null, "pearson_human")
        message.append(
            f"**Prediction 2a**: their difference correlates with people's at r = {_typical(second)}.{beside}"
        )
        message.append(f"**Prediction 2b** (weaker the less minimal the pair): {_bins_text(tables['by_bin_people'])}")
    third = _whole(tables["separability"]).query("metric == 'auc'")
    right = _whole(tables["separability"]).query("metric == 'accuracy'")
    parted = (
        "**Prediction 3**: one threshold separates grammatical from ungrammatical strings with an area under the ROC "
        f"curve (AUC) of {_typical(third)}; 0.50 is chance."
    )
    lines = [*message, parted + "".join(_without(without, third)), *_by_score(third, right)]
    return html_as_text("\n".join(f"- {line}" for line in lines))


def _typical(rows: pd.DataFrame) -> str:
    """Return the one value with its interval, or the median, the smallest and the largest of those with enough items.

    A value of fewer items than `LEAST_ITEMS` could be anything, and would be the smallest or the largest.
    """
    known = rows[rows["value"].notna()]
    used = known[known["n"] >= LEAST_ITEMS]
    if len(known) == 1:
        return f"{with_interval(known.iloc[0])} ({n_items(known['n'])})"
    few = sorted(set(known["corpus"]) - set(used["corpus"]))
    left_out = f"; {', '.join(few)} left out, fewer than {LEAST_ITEMS}" if few else ""
    if used.empty:
        return f"{span(known['value'])} ({n_items(known['n'])}: too few items, {LEAST_ITEMS} are needed)"
    return median_and_span(used["value"], more=f"{n_items(used['n'])}{left_out}")


def _by_score(areas: pd.DataFrame, right: pd.DataFrame) -> Iterator[str]:
    """Yield the median AUC of each score, and how often the better string of a pair scores higher."""
    used = areas[areas["value"].notna() & (areas["n"] >= LEAST_ITEMS)]
    medians = used.groupby("method", sort=False)["value"].median().sort_values(ascending=False, kind="stable")
    if len(medians) > 1:
        shown = ", ".join(f"`{name}` {number(value)}" for name, value in medians.items())
        yield f"Median AUC by score: {shown}."
    if right["value"].notna().any():
        yield f"Within pairs the better string scores higher in a share of {_typical(right)}."


def _bins_text(binned: pd.DataFrame) -> str:
    """Return r of the closest and of the furthest tenth of the pairs, by cosine distance or else by edits."""
    selected = binned[is_reference(binned) & (binned["subset"] == "") & binned["value"].notna()]
    for distance in DISTANCES:
        ends = _ends_of_bins(selected[selected["group_by"] == distance])
        if ends.empty:
            continue
        lower = int((ends["last"] < ends["first"]).sum())
        near, far = (number(float(ends[end].median())) for end in ("first", "last"))
        count = f"; it is lower in {lower} of {len(ends)} (chance gives half)"
        over = "" if len(ends) == 1 else f" (medians of {len(ends)}){count}"
        by = distance.replace("_", " ")
        return f"from the closest to the furthest tenth of pairs by {by}, r goes from {near} to {far}{over}."
    return f"not tested, because no corpus has distances and {LEAST_IN_BIN} pairs in each tenth."


def _ends_of_bins(binned: pd.DataFrame) -> pd.DataFrame:
    """Return the first and the last r of each model and corpus whose bins all have enough pairs."""
    keys = ["corpus", "model"]
    ends = _ends_by(keys, binned[(binned.groupby(keys)["n"].transform("min") >= LEAST_IN_BIN)])
    return ends[ends["size"] > 1]


def _ends_by(keys: list[str], binned: pd.DataFrame) -> pd.DataFrame:
    """Return the first and the last r over bins, and in how many bins there is one, by some columns."""
    return binned.sort_values("bin", kind="stable").groupby(keys, sort=False)["value"].agg(["first", "last", "size"])


def _without(without: Mapping[tuple[str, str], str], areas: pd.DataFrame) -> Iterator[str]:
    """Yield why a corpus has no area, or which of its scores have none where others do."""
    present = set(zip(areas["corpus"], areas["method"], strict=True))
    corpora = {corpus for corpus, _ in present}
    lacking: dict[str, list[str]] = {}
    for corpus, method in without:
        if (corpus, method) not in present:
            lacking.setdefault(corpus, []).append(method)
    for corpus, methods in lacking.items():
        if corpus in corpora:
            of = " and ".join(f"`{method}`" for method in methods)
            yield f" No AUC of {of} for {corpus}, which has no such scores."
        else:
            yield f" No AUC for {corpus}: {without[corpus, methods[0]]}."


def text(tables: Mapping[str, pd.DataFrame], notes: Sequence[str]) -> str:
    """Return the findings, corpus by corpus; of several models, the smallest and the largest value."""
    parts = [" ".join(notes)] if notes else []
    whole = _whole(tables["separability"])
    for corpus, part in whole.groupby("corpus", sort=False):
        parts.append("\n".join(_of_corpus(str(corpus), part, tables)))
    parts.append(
        "Pairs with identical sides are left out. AUC intervals count items (both strings of a pair together). Further "
        "tables: `by_bin` has r within ten bins of minimalness where the items have a distance, `roc` has the curves, "
        "and `distributions` has histograms of the scores. The paper's Figure 1, a toy example of eight "
        "strings, is an illustration and no analysis."
    )
    return "\n\n".join(parts)


def _of_corpus(corpus: str, part: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> list[str]:
    area, right = part[part["metric"] == "auc"], part[part["metric"] == "accuracy"]
    n_models = part["model"].nunique()
    texts = [f"**{html_as_text(corpus)}** ({_count(area['n'])} items, {n_models} model{'s' * (n_models > 1)}):"]
    sides = _direct(_whole(tables["correlation"])).query("corpus == @corpus")
    if sides["value"].notna().any():
        texts.append(f"- log P of the two strings of a pair: r = {_wording(sides)}.")
    texts += _bins_of_corpus(tables["by_bin"].query("corpus == @corpus and subset == ''"))
    if "null_by_bin" in tables:
        texts += _null_bins(tables["null_by_bin"].query("corpus == @corpus"))
    rated = _direct(_whole(tables["with_people"])).query("corpus == @corpus")
    if rated["value"].notna().any():
        texts.append(f"- Difference of log P with people's: r = {_wording(rated)} ({n_items(rated['n'])} rated pairs).")
    texts.append("- AUC of grammatical against ungrammatical strings, all pooled (0.50 is chance):")
    texts += [f"  - `{method}`: {_wording(selected)}" for method, selected in area.groupby("method", sort=False)]
    if right["value"].notna().any():
        texts.append("- Share of pairs whose better string scores higher:")
        texts += [
            f"  - `{method}`: {_wording(mine)}"
            for method, mine in right.groupby("method", sort=False)
            if mine["value"].notna().any()
        ]
    return texts


def _wording(rows: pd.DataFrame) -> str:
    return html_as_text(value_range(rows, ("model",)))


def _bins_of_corpus(binned: pd.DataFrame) -> list[str]:
    """Return r of the closest and of the furthest pairs of each model (prediction 1b)."""
    ends = _ends_by_cosine(binned[is_reference(binned)])
    if ends.empty:
        return []
    lower = int((ends["last"] < ends["first"]).sum())
    if len(ends) == 1:
        near, far = ends.iloc[0]
        return [
            f"- From the closest to the furthest pairs by cosine distance, r goes from {number(near)} to {number(far)}."
        ]
    count = f"{lower} of {len(ends)} models (chance gives half)"
    return [f"- In the furthest pairs by cosine distance, r is lower than in the closest for {count}."]


def _null_bins(binned: pd.DataFrame) -> list[str]:
    """Return in how many models with random weights r falls, too (prediction 1b)."""
    ends = _ends_by_cosine(binned)
    if ends.empty:
        return []
    return [f"- With random weights, r falls in {int((ends['last'] < ends['first']).sum())} of {len(ends)} models."]


def _ends_by_cosine(binned: pd.DataFrame) -> pd.DataFrame:
    """Return the first and the last r of each model over bins of cosine distance; no row where only one bin has r."""
    known = binned[(binned["group_by"] == "cosine_distance") & binned["value"].notna()]
    ends = _ends_by(["model"], known)[["first", "last"]]
    return ends if known["bin"].nunique() > 1 else ends.iloc[:0]


def _whole(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["group_by"] == "all"]


def _direct(table: pd.DataFrame) -> pd.DataFrame:
    return table[is_reference(table)]


def _count(values: pd.Series[int]) -> str:
    return f"{values.min():,}" if values.nunique() == 1 else f"{values.min():,} to {values.max():,}"


DEFINITIONS = """\
- **pearson_sides**: Pearson r of the score of the good string with that of the bad string over pairs, jackknife
  interval (prediction 1a). The table `by_bin` has it in ten equally sized bins by the distance of the strings (1b).
- **pearson_human**: Pearson r of the difference of the two strings' scores with the difference of their mean ratings,
  over the pairs that people rated (prediction 2a); within bins in `by_bin_people` (2b).
- **Intervals** in the text are the wider of those over items and, with ten paradigms or more, over paradigms.
- **Counts of models in which r falls** are no test. Models of the same pairs go together: all of five fall in a fifth
  of simulations in which distance changes nothing.
- **Headlines** are medians over models, corpora and scores, of numbers that rest on 20 items or more; those of bins, of
  corpora with 10 pairs or more in every bin.
- **auc**: area under the ROC curve of all strings of the corpus, grammatical = 1, ungrammatical = 0 (section 6.3). It
  is the share of all combinations of one grammatical and one ungrammatical string in which the grammatical one scores
  higher, ties one half. Obuchowski's interval on the logit scale, for which both strings of a pair stay together. Rows
  of `n corpora (en)` pool the strings of all corpora in that language, each counted once, as in the paper's Figure 4a.
- **accuracy**: share of pairs whose good string scores higher, ties one half; there is none for single sentences.
- **filter**: a study may restrict corpora to close pairs (LI and HLL). Every number then leaves out pairs further apart
  than the 75th percentile of the Levenshtein distance in characters over the rated pairs (section 5.1). For LI that
  leaves 1,884 pairs (the paper's 1,883 where the defects of the source are not repaired). People rated both sides of
  1,792 of them, which are the pairs of prediction 2.
- **null**: the same numbers by the summed log frequency of each string's words in the corpus's own strings (characters
  where these have no blanks). Such counts know no grammar: what they reach, the prediction does not show of a model.
- Scores: `direct` is the summed log-probability (nats); the other methods are linking functions of it. Only tasks
  whose targets are whole strings are used.
"""


_LEAST_RATED = 3
_POOL = tuple[str, str, str]
"""Model, language and method of strings that are pooled over corpora."""


@dataclass(slots=True)
class _Results:
    """Rows of the tables, as they are made."""

    correlations: list[dict[str, Any]] = field(default_factory=list)
    people: list[dict[str, Any]] = field(default_factory=list)
    binned: list[dict[str, Any]] = field(default_factory=list)
    binned_people: list[dict[str, Any]] = field(default_factory=list)
    separated: list[dict[str, Any]] = field(default_factory=list)
    curves: list[pd.DataFrame] = field(default_factory=list)
    histograms: list[pd.DataFrame] = field(default_factory=list)
    points: list[pd.DataFrame] = field(default_factory=list)
    pools: dict[_POOL, dict[str, Strings]] = field(default_factory=lambda: defaultdict(dict))
    nulls: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Corpus -> rows of the unigram null, and of models with random weights."""
    null_bins: list[dict[str, Any]] = field(default_factory=list)
    """Bins of models with random weights."""
    without: dict[tuple[str, str], str] = field(default_factory=dict)
    """Corpus -> why its strings cannot be told apart."""


def section(tables: Sequence[ScoredFrame], context: Context = DEFAULTS, *, filtered: tuple[str, ...] = ()) -> Section:
    """Return correlations of the two strings of a pair, and how well a threshold separates all strings."""
    used, notes = close_pairs(tables, filtered)
    result = _Results()
    for part in (part for table in used for part in read_table(table).parts()):
        if part.corpus not in result.nulls:
            result.nulls[part.corpus] = list(null_rows(part))
        for scored in scored_strings(part):
            place = SummaryRow(method=scored.method, **part.place)
            _add(result, scored, place)
    for part in map(
        read_table, close_pairs([null for null in context.nulls if null.corpus in result.nulls], filtered)[0]
    ):
        _add_null_model(result, part)
    if not result.separated:
        raise BankError(
            f"none of {sorted({t.corpus for t in tables})} has whole strings of both classes scored by `direct` or a "
            "linking function; score a corpus of sentence pairs, or of labelled sentences, with `direct`"
        )
    _add_pools(result, SummaryRow(model="", corpus="", group_by="all", group=""))
    return _section(result, notes)


def _section(result: _Results, notes: Sequence[str]) -> Section:
    created = {
        "correlation": long_table(result.correlations),
        "with_people": long_table(result.people),
        "by_bin": long_table(result.binned, BIN_COLUMNS),
        "by_bin_people": long_table(result.binned_people, BIN_COLUMNS),
        "separability": long_table(result.separated),
        "null": long_table([row for rows in result.nulls.values() for row in rows]),
        "roc": pd.concat(result.curves, ignore_index=True),
        "distributions": pd.concat(result.histograms, ignore_index=True),
    }
    if result.null_bins:
        created["null_by_bin"] = long_table(result.null_bins, BIN_COLUMNS)
    shown = {name: wider(table) for name, table in created.items()}
    areas = shown["separability"].query("metric == 'auc' and group_by == 'all'")
    return Section(
        id="grammaticality",
        title="Probability and grammaticality",
        text=text(shown, notes),
        answer=answer(shown, result.without),
        main_table="areas",
        main_figure=AREAS,
        definitions=DEFINITIONS + (NULL_MODELS if result.null_bins else ""),
        tables={"areas": wide(areas)} | created,
        figures=tuple(string_figures(shown, result.points)),
        references=(
            "Hu et al. 2026, TACL: sections 4 to 6",
            "Obuchowski 1997, Biometrics 53:567-578",
            "DeLong, DeLong & Clarke-Pearson 1988, Biometrics 44:837-845",
        ),
    )


def _add(result: _Results, scored: ScoredStrings, place: SummaryRow) -> None:
    """Add what one method says of one corpus, or one of its subsets."""
    is_whole = not place.group
    if scored.good.size:
        sides = replace(place, metric="pearson_sides").row(_of_sides(scored), n_rows=scored.n_rows)
        result.correlations.append(sides)
        result.people += _with_people(scored, place)
        if is_string_logprob(place.method):
            result.binned_people += _with_people_by_bin(scored, place)
        result.binned += rows_by_bin(scored.pairs, scored.good, scored.bad, replace(place, metric="pearson_sides"))
        if is_whole:
            result.points.append(points_of(scored, place))
    if scored.strings.problem:
        if is_whole:
            result.without.setdefault((place.corpus, place.method), scored.strings.problem)
        return
    result.separated += _separation(scored, place)
    result.curves.append(_curve(scored.strings, place))
    if is_whole:
        result.histograms.append(_histogram(scored.strings, place))
        if scored.language:
            result.pools[place.model, scored.language, scored.method][place.corpus] = scored.strings


def _add_null_model(result: _Results, table: ScoredTable) -> None:
    """Add what a model with random weights gives of the predictions."""
    for scored in scored_strings(table):
        if scored.method == table.reference and scored.good.size:
            place = SummaryRow(method=scored.method, **table.place)
            sides = replace(place, metric="pearson_sides")
            rows = [sides.row(_of_sides(scored), n_rows=scored.n_rows), *_with_people(scored, place)]
            result.nulls[table.corpus] += [*rows, *_separation(scored, place)]
            result.null_bins += rows_by_bin(scored.pairs, scored.good, scored.bad, sides)


def _add_pools(result: _Results, anywhere: SummaryRow) -> None:
    """Add what one threshold does on the strings of all corpora of a language together, where there are several."""
    for (model, language, method), parts in result.pools.items():
        if len(parts) < 2:
            continue
        strings = together(list(parts.values()))
        place = replace(anywhere, model=model, corpus=f"{len(parts)} corpora ({language})", method=method)
        result.separated.append(replace(place, metric="auc").row(auc(strings), n_rows=strings.n_items))
        result.curves.append(_curve(strings, place))
        result.histograms.append(_histogram(strings, place))


def _of_sides(scored: ScoredStrings) -> Estimate:
    return pearson(scored.good, scored.bad, clusters=scored.pairs.paradigms)


def _with_people(scored: ScoredStrings, place: SummaryRow) -> Iterator[dict[str, Any]]:
    rated = ~np.isnan(scored.human_delta)
    if rated.sum() >= _LEAST_RATED:
        delta = scored.good[rated] - scored.bad[rated]
        estimate = pearson(delta, scored.human_delta[rated], clusters=scored.pairs.paradigms[rated])
        yield replace(place, versus="human", metric="pearson_human").row(estimate, n_rows=int(rated.sum()))


def _with_people_by_bin(scored: ScoredStrings, place: SummaryRow) -> Iterator[dict[str, Any]]:
    rated = ~np.isnan(scored.human_delta)
    if rated.sum() >= _LEAST_RATED:
        delta, human = (scored.good - scored.bad)[rated], scored.human_delta[rated]
        current = replace(place, versus="human", metric="pearson_human")
        yield from rows_by_bin(scored.pairs.rows(rated), delta, human, current)


def _separation(scored: ScoredStrings, place: SummaryRow) -> Iterator[dict[str, Any]]:
    current = replace(place, metric="auc")
    yield current.row(auc(scored.strings, clusters=scored.pairs.paradigms), n_rows=scored.n_rows)
    current = replace(place, metric="accuracy")
    if scored.good.size:
        estimate = accuracy(scored.good - scored.bad, clusters=scored.pairs.paradigms)
    else:
        estimate = undefined("single labelled sentences make no pairs", n=0, method="none")
    yield current.row(estimate, n_rows=scored.n_rows)


def _curve(strings: Strings, place: SummaryRow) -> pd.DataFrame:
    curve = roc_curve(strings)
    return pd.DataFrame(
        {
            "model": place.model,
            "corpus": place.corpus,
            "subset": place.group,
            "method": place.method,
            "false_positive_rate": curve.false_positive_rate,
            "true_positive_rate": curve.true_positive_rate,
        }
    )


def _histogram(strings: Strings, place: SummaryRow) -> pd.DataFrame:
    return histogram(strings, {"model": place.model, "corpus": place.corpus, "method": place.method})
