"""What a bank's files hold, for its card: in, its parquet files; out, columns, an example, lengths, who judged.

Texts of corpora that may not be published give numbers only, never an example. The column dictionary has one row per
column that a file has, with type, unit and meaning; columns of methods are listed once for all methods that have them,
as `METHOD_good`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pairbank.builders.corpora.registry import CORPORA
from pairbank.builders.ratings import RATING_COLUMNS
from pairbank.builders.schema.columns import COLUMNS
from pairbank.builders.schema.language_tags import joined
from pairbank.builders.schema.unseen import UNSEEN_FLAGS
from pairbank.cards.bank.layout import LONG, items_path, scores_path
from pairbank.cards.bank.redistribution import TEXTS, is_left_out, may_publish, score_columns
from pairbank.cards.bank.tables import LONG_COLUMNS
from pairbank.scoring.api.layout import MethodLayout, ScoreColumns, columns_of
from pairbank.stats.wording import magnitude, number

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


TYPES = {"double": "float64", "float": "float32"}
"""Arrow's names of types that have another one everywhere else."""
EXAMPLE_CHARACTERS = 300
"""A text of an example is cut here."""
EXAMPLE_ROWS = 256
"""The example is looked for among so many rows."""
_JUDGED = ("human_good", "human_bad", "human_scale", "human_n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Where most of some numbers lie."""

    median: float
    low: float
    """5th percentile."""
    high: float
    """95th percentile."""

    def __str__(self) -> str:
        return f"{number(self.median, digits=0)} ({number(self.low, digits=0)} to {number(self.high, digits=0)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Human judgments on one scale."""

    scale: str
    n_items: int
    raters: Spread | None
    """People an item; None where the source does not say it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What the tables of one corpus hold."""

    items: Mapping[str, str]
    """Column -> type, of the items."""
    scored: Mapping[str, str]
    """Column -> type, of a model's table; all have the same columns. Empty where no model was scored."""
    example: Mapping[str, Any] | None
    """One row of the items, with a model's scores where there are some; None where its texts stay here."""
    characters: Spread | None
    """Of a side, context and target together; None where the bank has no texts."""
    edits: Spread | None
    """Characters to insert, delete or replace to make one side of the other; None where items have one side."""
    judged: tuple[Judged, ...] = ()
    languages: tuple[str, ...] = ()
    """Of the items that are here, which may be fewer than the corpus has."""


def contents_of(root: Path, manifest: Mapping[str, Any]) -> dict[str, Contents]:
    """Return what each corpus of a bank holds."""
    return {corpus: _contents(root, corpus, manifest) for corpus in manifest["corpora"]}


def columns_in(path: Path) -> dict[str, str]:
    """Return the columns of a parquet file and their types."""
    return {field.name: type_name(field.type) for field in pq.read_schema(path)}


def type_name(kind: pa.DataType) -> str:
    """Return what a type is called on the card.

    >>> type_name(pa.float64()), type_name(pa.list_(pa.string()))
    ('float64', 'list<string>')
    """
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"list<{type_name(kind.value_type)}>"
    return TYPES.get(str(kind), str(kind))


def _contents(root: Path, corpus: str, manifest: Mapping[str, Any]) -> Contents:
    facts, scores = manifest["corpora"][corpus], manifest["scores"].get(corpus, {})
    path = root / items_path(corpus)
    columns = columns_in(path)
    requested = [name for name in (*TEXTS, "language", *_JUDGED) if name in columns]
    table = pq.read_table(path, columns=requested, partitioning=None)
    model = min(scores, default="")
    is_shown = may_publish(corpus, facts) and not is_left_out(facts)
    sides = _sides(table)
    return Contents(
        items=columns,
        scored=columns_in(root / scores_path(corpus, model)) if model else {},
        example=_example(root, corpus, manifest) if is_shown else None,
        characters=_spread([len(text) for texts in sides or () for text in texts if text is not None]),
        edits=_edits(*sides) if sides else None,
        judged=_judged(table),
        languages=tuple(sorted(set(table["language"].to_pylist()))) if "language" in columns else (),
    )


def _sides(table: pa.Table) -> tuple[list[str | None], list[str | None]] | None:
    """Return the whole strings of both sides, None where there is none; nothing where the texts are left out."""
    if not {*TEXTS, "language"} <= set(table.column_names):
        return None
    languages = table["language"].to_pylist()
    good, bad = (
        [
            None if target is None else joined(context or "", target, language)
            for context, target, language in zip(
                table[f"context_{side}"].to_pylist(), table[f"target_{side}"].to_pylist(), languages, strict=True
            )
        ]
        for side in ("good", "bad")
    )
    return good, bad


def _edits(good: list[str | None], bad: list[str | None]) -> Spread | None:
    from rapidfuzz.distance import Levenshtein

    pairs = zip(good, bad, strict=True)
    return _spread([Levenshtein.distance(a, b) for a, b in pairs if a is not None and b is not None])


def _spread(numbers: ArrayLike) -> Spread | None:
    result = np.asarray(numbers, dtype=np.float64)
    if not result.size:
        return None
    low, median, high = (float(x) for x in np.quantile(result, (0.05, 0.5, 0.95)))
    return Spread(median=median, low=low, high=high)


def _judged(table: pa.Table) -> tuple[Judged, ...]:
    if not set(_JUDGED) <= set(table.column_names):
        return ()
    frame = table.select(_JUDGED).to_pandas()
    rated = frame[frame["human_good"].notna() | frame["human_bad"].notna()]
    return tuple(
        Judged(scale=str(scale), n_items=len(rows), raters=_spread(rows["human_n"].dropna().to_numpy()))
        for scale, rows in rated.assign(human_scale=rated["human_scale"].fillna("")).groupby("human_scale")
    )


def _example(root: Path, corpus: str, manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the first row that needs no care, with the scores that the first model has of it."""
    row = next(
        (row for row in _first_rows(root / items_path(corpus)) if not row.get("flags")),
        None,
    )
    if row is None:
        return None
    results = {name: _shown(value) for name, value in row.items() if value not in (None, [])}
    scores = manifest["scores"].get(corpus, {})
    if slug := min(scores, default=""):
        columns = score_columns(scores[slug]["methods"])
        same = next(
            (
                first_row
                for first_row in _first_rows(root / scores_path(corpus, slug))
                if first_row["item_id"] == row["item_id"]
            ),
            {},
        )
        results |= {name: _shown(value) for name, value in same.items() if name in columns and value not in (None, [])}
    return results


def _first_rows(path: Path) -> list[dict[str, Any]]:
    batch = next(pq.ParquetFile(path).iter_batches(batch_size=EXAMPLE_ROWS), None)
    return [] if batch is None else batch.to_pylist()


def _shown(value: Any) -> Any:  # noqa: ANN401 - a cell of any type
    """Return a cell as JSON that a reader takes in: numbers of five digits, long texts cut.

    >>> _shown([-1.23456789, float("nan")]), _shown("x" * 400)[-2:]
    ([-1.2346, None], 'x…')
    """
    if isinstance(value, float):
        return float(magnitude(value, digits=5)) if math.isfinite(value) else None
    if isinstance(value, str) and len(value) > EXAMPLE_CHARACTERS:
        return f"{value[:EXAMPLE_CHARACTERS]}…"
    if isinstance(value, list):
        return [_shown(entry) for entry in value]
    return value


FLAG_MEANINGS: Mapping[str, str] = {
    "identical_sides": "both sides are the same string, and no choice can be scored",
    "duplicate_pair": "the same two strings stand in an earlier row of the corpus",
    "known_error": "a public list of errata reports this pair as faulty; it is kept and counts as any other",
    "not_nfc": "a text is not in Unicode's normal form C (said, never changed)",
    **UNSEEN_FLAGS,
    "no_truth": "good is a label and neither side is right: accuracy means nothing here",
    "boundary_merge": "a token spans the join of context and target, and is scored with the target",
    "first_token_unscored": "no BOS, so the first token has no probability and is left out",
    "identical_tokens": "both sides have the same tokens, so their difference is 0",
    "over_length": "longer than the model's context; the scores are NaN",
    "unknown_token": "the tokenizer has no token for some of the target, and its unknown token is scored",
    "special_token": "the text holds characters that the tokenizer reads as a special token",
    "no_word_boundary": "the target does not begin where a word does; the score is NaN",
    "no_unigrams": "no unigram counts of the item's language with the model's tokenizer; no score",
    "pmi_tokens_differ": "alone, the target is cut into other tokens than after its context",
    "region_tokens_differ": "a token reaches over the end of a region; it counts where it begins",
    "truncated": "what the model wrote ended before its thinking did, so that it has no answer",
    "unparsed": "no valid answer in what the model wrote, in one presentation or more",
    "near_tie": "a token was written that hardly led the second",
    "top_logprobs": "read from the most probable first tokens that an API tells, not from the whole option",
    "outside_top": "an option is not among the tokens that an API tells: its log-probability is an upper bound, or NaN",
    "unreported": "a server reported no log-probability of a token; the score is NaN",
    "half_empty": "an imported file has some of the numbers of this item, not all; the scores are null",
}
"""Flag -> meaning; those of a corpus alone (what was mended in it, say) are not among them."""


def flags_in(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the flags that a bank's items or scores have, as far as they are told, and what each means."""
    counts = [facts.get("n_by_flag") or {} for facts in manifest["corpora"].values()]
    for signatures in manifest["scores"].values():
        for signature in signatures.values():
            counts += list((signature.get("n_by_flag") or {}).values())
    results = {flag for count in counts if isinstance(count, Mapping) for flag, n in count.items() if n}
    return {flag: meaning for flag, meaning in FLAG_MEANINGS.items() if flag in results}


INTENDED = (
    "Comparing what a language model's probabilities prefer with what it answers when asked, item by item.",
    "Comparing models, methods or wordings of a question on the same items, with paired tests.",
    "Relating scores to people's judgments of the same sentences, where a corpus has them.",
    "Looking at single items: which contrast a model gets wrong, and by how much.",
)
UNSUITABLE = (
    "Training or tuning a model that is then evaluated on these corpora: its scores would say nothing any more.",
    'One number for "knows the language": a minimal pair tests one contrast, and a corpus some of them.',
    "Reading log-probabilities of different strings as grades of acceptability: length and word frequency go in.",
    "Judging people: texts and judgments are about sentences, and say nothing about who wrote or speaks in some way.",
)
LIMITATIONS = (
    "A score is of one model version, tokenizer and BOS policy: compare numbers only where their signatures agree.",
    "Minimal pairs test a contrast, not a grammar; automatically generated items can be odd in meaning.",
    "Texts that are public may stand in a model's training data.",
    "An interval is over items, or over paradigms where it says so; never over corpora or wordings of a question.",
)
BIASES = (
    "Corpora describe the variety that their authors chose, mostly written standard language; worse is worse in it.",
    "Languages and phenomena are covered very unevenly: a mean over corpora weighs what was easy to collect.",
)
IMPACT = (
    "Helps to tell what models know of a language from what they say when asked, in many languages.",
    "An accuracy on these items measures neither usefulness nor a speaker's command of a language.",
    "A model that prefers standard forms may disfavour other varieties where it corrects or grades texts.",
)
SENSITIVE = (
    "No personal data are collected; individual raters are numbered; sentences from newspapers may name people.",
)


METHOD = "METHOD"
"""Stands for a method's name."""
SIDES = "good", "bad"
MEANINGS: Mapping[str, tuple[str, str]] = {
    "good": ("score", "score of the better side; of a prompt, what its answers say for it (below)"),
    "bad": ("score", "score of the worse side; null where there is none"),
    "delta": ("score", "better side - worse side; above 0 = right"),
    "good_n": ("tokens", "tokens scored of the better side"),
    "bad_n": ("tokens", "tokens scored of the worse side"),
    "good_tokens": ("nats", "log-probability of each token scored of the better side"),
    "bad_tokens": ("nats", "log-probability of each token scored of the worse side"),
    "good_offsets": (
        "characters",
        "between which the tokens of the better side stand: token k is target[offsets[k]:offsets[k+1]]",
    ),
    "bad_offsets": ("characters", "between which the tokens of the worse side stand"),
    "good_ranks": ("rank", "of each token scored of the better side, 1 for the most probable; causal models"),
    "bad_ranks": ("rank", "of each token scored of the worse side"),
    "good_before": ("nats", "log-probability of a word's edge before the target of the better side"),
    "bad_before": ("nats", "log-probability of a word's edge before the target of the worse side"),
    "good_after": ("nats", "log-probability of a word's edge after the target of the better side"),
    "bad_after": ("nats", "log-probability of a word's edge after the target of the worse side"),
    "by_region": ("nats", "log-probability of each region of a sentence, in their order"),
    "logprobs": ("nats", "log-probabilities of the answers: for each presentation, each option; the order is below"),
    "argmax_good": ("points", "most probable rating of the better side"),
    "argmax_bad": ("points", "most probable rating of the worse side"),
    "first_choice": ("share", "of the presentations, those in which the option shown first is the more probable"),
    "answers": ("", "the option found in what the model wrote, one a presentation"),
    "draws": (
        "answer",
        "each sampled answer as a number, presentations x draws: 1 (yes, the better side), 0, or points",
    ),
    "texts": ("", "what the model wrote, one a presentation"),
    "unparsed": ("presentations", "answered without a valid answer"),
    "flags": ("", "why a score needs care; empty = nothing to say"),
}
"""Ending of a method's column -> unit and meaning; the unit "score" is the method's own."""
OTHERS: Mapping[str, tuple[str, str]] = {
    "flags": ("", "why a row needs care; empty = nothing to say"),
    "model": ("", "name of the model whose scores these are"),
    "model_source": ("", "the column `model` of the file that the corpus was read from"),
    "edit_distance": ("characters", "inserted, deleted or replaced to make one side of the other"),
    "cosine_distance": ("0 to 2", "1 - cosine of the embeddings of both sides"),
    "cosine_distance_model": ("", "the embedding model, id@revision"),
}
"""Columns that are neither in the schema nor a method's."""
RATINGS: Mapping[str, tuple[str, str]] = {column.name: ("", column.meaning) for column in RATING_COLUMNS}
"""Columns of a config of individual raters' ratings."""
SUMMARY: Mapping[str, str] = {
    "model": "the model; empty where the number is of people",
    "corpus": "the corpus",
    "group_by": "by what the items are grouped: subset, task, language, phenomenon …; a whole corpus is "
    'group_by="all", group=""',
    "group": "which of these groups",
    "method": "how the items were scored; human = people's mean judgments",
    "versus": "what the method is compared with (direct, human); empty where it is compared with nothing",
    "metric": "accuracy (of mean differences), accuracy_pooled (every presentation a trial), position_bias (first "
    "option chosen), pearson, spearman, kappa, raw_agreement (same choice), with people as …_human, and others",
    "value": "the estimate; null where there is none",
    "low": "lower end of the 95% interval; null where there is none",
    "high": "upper end of the 95% interval",
    "n": "items that the number is of",
    "n_excluded": "items that the method applies to and that the number is not of: identical sides, no score, for a "
    "comparison no value of the other",
    "ci_method": "how the interval was made",
    "reason": "why there is no value or no interval",
    "low_paradigms": "lower end of the 95% interval over other paradigms like these, where these are enough and of "
    "sizes even enough; low and high are about other items of these paradigms",
    "high_paradigms": "upper end of that interval",
    "n_paradigms": "paradigms that it rests on; 0 where there is none",
}
"""Column of the results -> meaning."""
UNITS = {"human_good": "points of human_scale", "human_bad": "points of human_scale", "human_n": "people"}
UNDESCRIBED = "as in the file that the corpus was read from"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A column, or one column of each of some methods."""

    column: str
    type: str
    unit: str
    meaning: str
    where: tuple[str, ...] = ()
    """Corpora that have it, where it is not in all of them; of a method's column, the methods."""


def dictionary(manifest: Mapping[str, Any], contents: Mapping[str, Contents]) -> list[Entry]:
    """Return an entry for each column of a bank's items and scored tables, in the order of the files."""
    return [*_items(contents), *_scores(manifest, contents)]


def described(manifest: Mapping[str, Any], contents: Mapping[str, Contents]) -> dict[str, Entry]:
    """Return an entry by the real name of each column."""
    results = {
        name: Entry(column=name, type="", unit=unit, meaning=meaning)
        for name, (unit, meaning) in (RATINGS if manifest.get("ratings") else {}).items()
    }
    if manifest.get(LONG):
        results |= {
            name: Entry(column=name, type="", unit="", meaning=reported) for name, reported in LONG_COLUMNS.items()
        }
    for entry in dictionary(manifest, contents):
        if entry.column.startswith(f"{METHOD}_"):
            names = (entry.column.replace(METHOD, method, 1) for method in entry.where)
            results |= dict.fromkeys(names, entry)
        else:
            results[entry.column] = entry
    return results


def _items(contents: Mapping[str, Contents]) -> Iterator[Entry]:
    """Yield the columns of the items: the schema's, then each corpus's own."""
    shared = {column.name: column.meaning for column in COLUMNS}
    results: dict[tuple[str, str, str], list[str]] = {}
    for corpus, held in contents.items():
        own_meanings = (
            {column.name: column.meaning for column in CORPORA[corpus].extra_columns} if corpus in CORPORA else {}
        )
        for name, kind in held.items.items():
            known = shared.get(name) or OTHERS.get(name, ("", ""))[1] or own_meanings.get(name) or UNDESCRIBED
            results.setdefault((name, kind, known), []).append(corpus)
    for (name, kind, meaning), corpora in results.items():
        everywhere = len(corpora) == len(contents)
        unit = UNITS.get(name) or OTHERS.get(name, ("", ""))[0]
        yield Entry(column=name, type=kind, unit=unit, meaning=meaning, where=() if everywhere else tuple(corpora))


def _scores(manifest: Mapping[str, Any], contents: Mapping[str, Contents]) -> Iterator[Entry]:
    """Yield what scored tables have beside the items' columns, one entry for all methods that have the same."""
    results: dict[tuple[str, str, str, str], list[str]] = {}
    for corpus, held in contents.items():
        signatures = manifest["scores"].get(corpus, {})
        if not signatures:
            continue
        methods = signatures[min(signatures)]["methods"]
        declared = {name: definition.get("columns", ()) for name, definition in methods.items()}
        owners = {
            column: method
            for method, columns in columns_of(methods, held.scored, declared=declared).items()
            for column in columns
        }
        for name, kind in held.scored.items():
            if name in owners:
                key, where = _of_method(name, kind, owners[name], methods[owners[name]]), owners[name]
            elif name not in held.items:
                key, where = (name, kind, *OTHERS.get(name, ("", UNDESCRIBED))), corpus
            else:
                continue
            results.setdefault(key, []).append(where)
    for (name, kind, unit, meaning), owned_by in results.items():
        is_general = not name.startswith(f"{METHOD}_") and len(owned_by) == len(contents)
        names = () if is_general else tuple(dict.fromkeys(owned_by))
        yield Entry(column=name, type=kind, unit=unit, meaning=meaning, where=names)


def _of_method(name: str, kind: str, method: str, definition: Mapping[str, Any]) -> tuple[str, str, str, str]:
    ending = name.removeprefix(f"{method}_")
    if name not in ScoreColumns(method).all:
        return name, kind, "", f"of the method {method}: its definition says what it is"
    unit, meaning = MEANINGS[ending]
    unit_of_method = MethodLayout.from_dict(definition["layout"]).unit_in_words
    return f"{METHOD}_{ending}", kind, unit_of_method if unit == "score" else unit, meaning
