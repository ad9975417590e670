"""Numbers of a file as methods: one of each side, or one for each presentation and option of a prompt.

A number of which the lower is the better one is stored with its sign changed, a surprisal as the log-probability that
it is, in nats. A perplexity is stored as -ln(perplexity), the mean log-probability of a token in nats, so that the
difference of two sides is one of log-perplexities: that of the perplexities themselves would be made by the few
sentences that the model finds oddest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from pairbank.builders.corpora.cells import MOST_POINTS
from pairbank.files import sha256_of_text
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.method import side_columns
from pairbank.scoring.api.names import DIRECT, HALF_EMPTY, UNPARSED
from pairbank.scoring.importing.declared import NATS, SIDES, DeclaredScore
from pairbank.scoring.importing.method import Chunk, ImportedMethod, Range, flag_column, read_numbers
from pairbank.scoring.methods.direct import Direct
from pairbank.scoring.methods.prompted import Prompted

if TYPE_CHECKING:
    from pairbank.arrays import BoolArray, FloatArray
    from pairbank.scoring.prompts.prompt import Prompt

ROUNDING_NATS = 1e-6
MOST_PERPLEXITY = 1e30
LOGPROB = Range(
    low=-MOST_POINTS,
    high=ROUNDING_NATS,
    expected="a log-probability in nats (finite, at most 0; a surprisal needs its sign changed: say that it is one, "
    'kind = "surprisal")',
)
DIRECT_LOGPROB = DeclaredScore(name=DIRECT, kind="logprob", direction="higher", unit="nats")
"""What `direct_good` and `direct_bad` are where nothing else is said."""


def prompt_numbers(prompt: Prompt) -> tuple[str, ...]:
    return tuple(f"{prompt.id}:{p.name}:{option}" for p in prompt.presentations for option in prompt.option_labels)


def prompt_method(prompt: Prompt) -> ImportedMethod:
    """Return the answers to a prompt; a prompt that asks each item in one order needs the numbers of that one."""
    method, names = Prompted(prompt), prompt_numbers(prompt)

    def row_of(numbers: FloatArray) -> Mapping[str, Any]:
        is_given = ~np.isnan(numbers).reshape(len(prompt.presentations), -1)
        if not is_given.any():
            return {}
        asked = [bool(row.any()) or not prompt.is_fixed_order for row in is_given]
        if not is_given[asked].all():
            return {ScoreColumns(prompt.id).flags: [HALF_EMPTY]}
        return method.readout(numbers.tolist(), [], asked=asked)

    def part(chunk: Chunk, _two_sided: BoolArray) -> Mapping[str, Any]:
        rows = [*map(row_of, np.column_stack([read_numbers(chunk, name, LOGPROB) for name in names]))]
        return {name: [row.get(name) for row in rows] for name in method.columns}

    return ImportedMethod(
        name=prompt.id, numbers=names, columns=method.columns, definition=method.definition, part=part
    )


class _Kind(NamedTuple):
    believed: Range
    unit: str
    """Of the difference of two sides."""
    words: str
    higher_better: Callable[[FloatArray], FloatArray]


def _kind_of(score: DeclaredScore) -> _Kind:
    unit, is_higher = score.unit, score.direction == "higher"
    in_nats = "" if unit == "nats" else ", converted to nats"
    match score.kind:
        case "logprob":
            expected = LOGPROB.expected if unit == "nats" else f"a log-probability in {unit} (finite, at most 0)"
            words = f"log-probabilities in {unit}{in_nats}; difference = log P(good) - log P(bad)"
            return _Kind(replace(LOGPROB, expected=expected), "nats", words, lambda values: values * NATS[unit])
        case "surprisal":
            expected = f"a surprisal in {unit} (finite, at least 0)"
            believed = Range(low=-ROUNDING_NATS, high=MOST_POINTS, expected=expected)
            stored = f"surprisals in {unit}, lower is better: stored as log-probabilities, -surprisal{in_nats}"
            words = f"{stored}; difference = log P(good) - log P(bad)"
            return _Kind(believed, "nats", words, lambda values: 0.0 - values * NATS[unit])
        case "perplexity":
            expected = f"a perplexity (from 1 to {MOST_PERPLEXITY:g})"
            believed = Range(low=1 - ROUNDING_NATS, high=MOST_PERPLEXITY, expected=expected)
            words = (
                "perplexities, lower is better: stored as -ln(perplexity), the mean log-probability of a token in "
                "nats; difference = ln perplexity(bad) - ln perplexity(good), of log-perplexities"
            )
            return _Kind(believed, "nats per token", words, lambda values: -np.log(np.maximum(values, 1.0)))
        case "score" | "rating" | "decision":
            pass
    better = ", higher is better" if is_higher else ", lower is better: stored with the sign changed"
    low, high = score.scale or (-MOST_POINTS, MOST_POINTS)
    if score.scale is None:
        what = f"scores of each side{better}{f', in {unit}' if unit else ', unit not stated'}"
        expected = f"a finite number of at most {MOST_POINTS:g}"
    else:
        what = f"ratings of each side from {low:g} to {high:g} {unit}{better}"
        expected = f"a rating from {low:g} to {high:g}, or `unparsed`"
    return _Kind(
        Range(low=low, high=high, expected=expected),
        unit or f"units of {score.name}",
        f"{what}; difference = good - bad; no log-probabilities",
        lambda values: values if is_higher else 0.0 - values,
    )


def sides_method(score: DeclaredScore) -> ImportedMethod:
    columns, kind, is_rating = ScoreColumns(score.name), _kind_of(score), score.kind == "rating"

    def is_unparsed(cell: str | None) -> bool:
        return is_rating and cell is not None and score.meaning_of(cell, among=(UNPARSED,)) is not None

    def part(chunk: Chunk, two_sided: BoolArray) -> Mapping[str, Any]:
        names = (columns.good, columns.bad)
        good, bad = (kind.higher_better(read_numbers(chunk, name, kind.believed, but=is_unparsed)) for name in names)
        unparsed = [np.array(list(map(is_unparsed, chunk.column(name))), dtype=np.bool_) for name in names]
        has_good, has_bad = ~np.isnan(good) | unparsed[0], ~np.isnan(bad) | unparsed[1]
        whole = has_good & (has_bad | ~two_sided)
        half = ~whole & (has_good | has_bad)
        n_unparsed = unparsed[0].astype(np.int32) + unparsed[1]
        good, bad = np.where(whole, good, np.nan), np.where(whole, bad, np.nan)
        numbers = {columns.good: good, columns.bad: bad, columns.delta: good - bad}
        if is_rating:
            numbers[columns.unparsed] = np.where(whole, n_unparsed, np.nan)
        flags = {HALF_EMPTY: half, UNPARSED: whole & (n_unparsed > 0)}
        return {name: pa.array(values, from_pandas=True) for name, values in numbers.items()} | {
            columns.flags: flag_column(flags, len(chunk), null=~(whole | half))
        }

    return ImportedMethod(
        name=score.name,
        numbers=(columns.good, columns.bad),
        columns=columns.kinds(columns.good, columns.bad, columns.delta, columns.unparsed, columns.flags)
        if is_rating
        else side_columns(score.name),
        definition=_definition(score, kind),
        part=part,
    )


def _definition(score: DeclaredScore, kind: _Kind) -> dict[str, Any]:
    if score == DIRECT_LOGPROB:
        return Direct().definition
    words = f"{score.label}, {kind.words}" if score.label else kind.words
    kept: dict[str, Any] = {"kind": score.kind, "direction": score.direction, "unit": score.unit}
    sha256 = sha256_of_text("imported", *map(str, kept.values()), score.label)
    if score.name == DIRECT:
        return Direct().definition | {"paper": words, "imported": kept}
    layout: dict[str, Any] = {"method": score.name, "kind": "direct"}
    layout |= {"presentations": [], "options": [], "correct": [], "unit": kind.unit}
    if score.scale is not None:
        ends = [f"{end:g}" for end in score.scale]
        layout |= {"kind": "rating", "presentations": [*SIDES], "options": ends, "sides": [*SIDES]}
        layout |= {"readout": "decision"}
        kept |= {"scale": [*score.scale]}
    kept |= {"label": score.label} if score.label else {}
    return {"paper": words, "cites": [], "sha256": sha256, "imported": kept, "layout": layout}
