"""What no scoring gives: in, a scored table or its signature; out, in words, numbers and definitions that cannot be.

`pairbank bank` and `check` refuse the numbers, `bank` and `check --submission` the definitions too. What follows from
other columns is computed again: differences, a prompt's scores from its log-probabilities, sums of tokens, flags.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pairbank.arrays import BoolArray, FloatArray, IntArray
from pairbank.errors import PairbankError
from pairbank.scoring.api.layout import NATS, SIDES, MethodLayout, ScoreColumns, Side
from pairbank.scoring.api.names import DIRECT, PROBES, MethodName, is_string_logprob
from pairbank.scoring.methods.linking_functions import SLLN_EXPONENT
from pairbank.scoring.methods.probe_grammar import definition_of
from pairbank.scoring.methods.prompted import Prompted, prompt_of_definition, read_out
from pairbank.scoring.methods.registry import FAMILIES, MethodOptions, method_named
from pairbank.scoring.models.batch_check import allowed_nats
from pairbank.scoring.prompts.prompt import Prompt
from pairbank.scoring.prompts.registry import prompts
from pairbank.scoring.scored import Scored
from pairbank.scoring.signature import method_hashes
from pairbank.stats.wording import whole

_CLOSE = 1e-9  # rounding of good - bad, and of sums of log-probabilities
_ABOVE_ZERO_NATS = 1e-6  # rounding of the log-probability of a certain answer
_MOST_NATS_PER_TOKEN = 1e4
_LARGEST = 1e7  # a score further from 0 than this is none, in whatever unit
_MOST_TOKENS_PER_BYTE = 8
_FLAG = re.compile(r"[a-z][a-z0-9_]{0,40}(:[a-z][a-z0-9_]{0,40})?")
_POWERS = {"mean_logprob": 1.0, "slln_lp": SLLN_EXPONENT}
"""Linking function -> the power of the number of tokens that it divides log P by."""
_SCORES = ("good", "bad", "delta", "good_n", "bad_n", "logprobs")
_NUMERIC = (*_SCORES, "argmax_good", "argmax_bad", "first_choice", "unparsed")


def value_problems(scored: Scored) -> Iterator[str]:
    """Yield numbers of a scored table that no scoring gives. NaN is what an item over the model's length has."""
    n_bytes = {
        side: pc.binary_length(scored.arrow([name])[name]).to_numpy().astype(np.float64)
        for side in SIDES
        if (name := f"target_{side}") in scored.column_names
    }
    direct = None
    for method, definition in scored.signature["methods"].items():
        values = _Values(scored, method, definition, n_bytes)
        yield from values.problems()
        direct = values if method == DIRECT else direct
        if direct is not None and method in _POWERS:
            yield from values.not_made_of(direct, _POWERS[method])


class _Values:
    def __init__(
        self, scored: Scored, method: str, definition: Mapping[str, Any], n_bytes: Mapping[Side, FloatArray]
    ) -> None:
        self.scored, self.method, self.definition, self.n_bytes = scored, method, definition, n_bytes
        self.is_imported = "imported" in scored.signature or "imported" in definition
        self.layout, self.c = MethodLayout.from_dict(definition["layout"]), ScoreColumns(method)
        held = [name for name in (f"{method}_{suffix}" for suffix in _NUMERIC) if name in scored.column_names]
        table = scored.arrow(held)
        cells = {name: _numbers(table[name]) for name in held}
        self.numbers = {name: numbers for name, numbers in cells.items() if numbers is not None}
        self.is_numeric = len(self.numbers) == len(cells)
        self.nulls = {name: table[name].is_null().to_numpy() for name in held}

    def problems(self) -> Iterator[str]:
        if not self.is_numeric:
            yield f"a score of {self.method} is no number"
            return
        yield from self._out_of_range()
        yield from self._no_differences()
        for side in SIDES:
            yield from self._wrong_counts(side)
            yield from self._wrong_tokens(side)
        yield from self._wrong_readout()
        yield from self._wrong_flags()

    def _out_of_range(self) -> Iterator[str]:
        c, layout = self.c, self.layout
        sides = (c.good, c.bad)
        is_of_strings = layout.unit_in_words == NATS and is_string_logprob(self.method)
        scale = _scale(layout)
        for name, cells in self.numbers.items():
            if n := int(np.isinf(cells).sum()):
                yield f"column {name} is infinite in {n} value(s)"
            elif n := int((np.abs(cells) > _LARGEST).sum()):
                yield f"column {name} is further from 0 than {whole(_LARGEST)} in {n} value(s)"
            if (name == c.logprobs or (is_of_strings and name in sides)) and (
                n := int((cells > _ABOVE_ZERO_NATS).sum())
            ):
                yield f"column {name} is above 0 in {n} value(s); a log-probability is at most 0"
            low, high = {
                c.first_choice: (0.0, 1.0),
                c.unparsed: (0.0, float(len(layout.presentations) * max(1, layout.samples) or 2)),
                **dict.fromkeys((*sides, c.argmax("good"), c.argmax("bad")) if scale else (), scale or (0.0, 0.0)),
            }.get(name, (-np.inf, np.inf))
            if n := int(((cells < low - _CLOSE) | (cells > high + _CLOSE)).sum()):
                yield f"column {name} is outside {whole(low)} to {whole(high)} in {n} value(s)"

    def _no_differences(self) -> Iterator[str]:
        """Yield differences that are not good - bad, and numbers beside which one is missing."""
        c = self.c
        if not {c.good, c.bad, c.delta} <= self.numbers.keys():
            return
        good, bad, delta = (self.numbers[name] for name in (c.good, c.bad, c.delta))
        yield from _differing(c.delta, delta, good - bad, "good - bad")
        has_sides = np.isfinite(good).any() or np.isfinite(bad).any()
        if has_sides and (n := int((np.isfinite(delta) & ~(np.isfinite(good) & np.isfinite(bad))).sum())):
            yield f"column {c.delta} has a number in {n} row(s) without {c.good} or {c.bad}"

    def _wrong_counts(self, side: Side) -> Iterator[str]:
        name = self.c.good_n if side == "good" else self.c.bad_n
        if name not in self.numbers or self.c.of(side) not in self.numbers or not is_string_logprob(self.method):
            return
        counts, nats = self.numbers[name], self.numbers[self.c.of(side)]
        wrong = (counts < 0) | (np.isfinite(nats) & (counts < 1))
        if side in self.n_bytes:
            wrong |= counts > _MOST_TOKENS_PER_BYTE * (self.n_bytes[side] + 1)
        if n := int(wrong.sum()):
            yield f"column {name} is no number of tokens of its text in {n} row(s)"
        elif n := int((nats < -_MOST_NATS_PER_TOKEN * counts).sum()):
            yield f"column {self.c.of(side)} is below {whole(-_MOST_NATS_PER_TOKEN)} nats per token in {n} row(s)"

    def _wrong_tokens(self, side: Side) -> Iterator[str]:
        """Yield log-probabilities of tokens that are not as many, or whose sum is not the side's."""
        name, count = self.c.tokens(side), self.c.good_n if side == "good" else self.c.bad_n
        if name not in self.scored.column_names or not {count, self.c.of(side)} <= self.numbers.keys():
            return
        tokens = self.scored.arrow([name])[name].combine_chunks()
        if not pa.types.is_list(tokens.type) or not pa.types.is_floating(tokens.type.value_type):
            yield f"column {name} holds no lists of numbers"
            return
        lengths = pc.fill_null(pc.list_value_length(tokens), 0).to_numpy(zero_copy_only=False)
        held = lengths > 0
        if n := int((lengths[held] != self.numbers[count][held]).sum()):
            yield f"column {name} has another number of tokens than {count} in {n} row(s)"
            return
        if not held.any():  # the second side of single sentences
            return
        starts = np.concatenate([[0], np.cumsum(lengths[held])[:-1]]).astype(np.int64)
        flat = tokens.flatten().to_numpy(zero_copy_only=False)
        if n := int((flat > _ABOVE_ZERO_NATS).sum()):
            yield f"column {name} is above 0 in {n} value(s); a log-probability is at most 0"
        for column, lowest, n_more in ((self.c.ranks(side), 1, 0), (self.c.offsets(side), 0, 1)):
            if column in self.scored.column_names and not self._is_of_tokens(column, lengths + n_more, lowest):
                yield f"column {column} has rows that are not those of the tokens of {name}"
        sums = np.add.reduceat(flat, starts)
        yield from _differing(
            self.c.of(side), self.numbers[self.c.of(side)][held], sums, f"the sum of {name}", atol=1e-6
        )

    def _is_of_tokens(self, column: str, lengths: IntArray, lowest: int) -> bool:
        """Return whether each list of a column is of its row's tokens, and no number below `lowest`; offsets rise."""
        cells = self.scored.arrow([column])[column].combine_chunks().drop_null()
        if not pa.types.is_list(cells.type) or not pa.types.is_integer(cells.type.value_type):
            return False
        held = pc.fill_null(pc.list_value_length(self.scored.arrow([column])[column]), 0).to_numpy()
        flat, inside = cells.flatten().to_numpy(), np.ones(int(held.sum()), dtype=bool)
        inside[np.cumsum(held[held > 0])[:-1]] = False
        goes_back = lowest == 0 and bool((np.diff(flat) < 0)[inside[1:]].any())
        return not goes_back and bool((flat >= lowest).all()) and bool((held == lengths)[held > 0].all())

    def _wrong_readout(self) -> Iterator[str]:
        """Yield a prompt's columns that its log-probabilities do not give."""
        prompt = None
        with contextlib.suppress(PairbankError):  # `definition_problems` says so
            prompt = prompt_of_definition(self.method, self.definition)
        if prompt is None or self.c.logprobs not in self.numbers:
            return
        flat, n_options = self.numbers[self.c.logprobs], len(prompt.options)
        n_values = len(prompt.presentations) * n_options
        lengths = pc.drop_null(pc.list_value_length(self.scored.arrow([self.c.logprobs])[self.c.logprobs]))
        if other := sorted(set(pc.unique(lengths).to_pylist()) - {n_values}):
            yield f"column {self.c.logprobs} has rows of {other[0]} values; expected {n_values}"
        elif flat.shape[1]:
            made = _read_out(prompt, self.c, flat.reshape(len(flat), -1, n_options))
            for name, cells in made.items():
                if name in self.numbers:
                    if n := int((np.isnan(cells) & np.isfinite(self.numbers[name])).sum()):
                        yield f"column {name} has a number in {n} row(s) that {self.c.logprobs} does not give"
                    yield from _differing(name, self.numbers[name], cells, f"what {self.c.logprobs} gives")

    def _wrong_flags(self) -> Iterator[str]:
        """Yield flags that are none, counts of them that are not the signature's, and NaN without a flag."""
        name = self.c.flags
        if name not in self.scored.column_names:
            return
        column = self.scored.arrow([name])[name].combine_chunks()
        if not pa.types.is_list(column.type) or not pa.types.is_string(column.type.value_type):
            yield f"column {name} holds no lists of texts"
            return
        counts = {str(x["values"]): x["counts"] for x in pc.value_counts(column.flatten()).to_pylist()}
        if other := sorted(flag for flag in counts if not _FLAG.fullmatch(flag)):
            yield f"column {name} has {other[0]!r:.80}, which is no flag"
        stated = self.scored.signature.get("n_by_flag", {}).get(self.method)
        if isinstance(stated, Mapping) and not self.is_imported and dict(stated) != counts:
            yield f"column {name} has other numbers of flags than its signature says"
        if self.c.good not in self.numbers or self.is_imported:
            return
        unflagged = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False) == 0
        missing = np.isnan(self.numbers[self.c.good]) & ~self.nulls[self.c.good]
        if n := int((missing & unflagged).sum()):
            yield f"column {self.c.good} is NaN in {n} row(s) without a flag that says why"

    def not_made_of(self, direct: _Values, power: float) -> Iterator[str]:
        """Yield where a mean log-probability is not that of `direct`, by more than rounding."""
        allowed = 10 * allowed_nats(str(self.scored.signature["model"]["dtype"]))
        for side, count in (("good", self.c.good_n), ("bad", self.c.bad_n)):
            names = (self.c.of(side), direct.c.of(side), count)  # type: ignore[arg-type]
            if {names[0], count} <= self.numbers.keys() and names[1] in direct.numbers:
                made = direct.numbers[names[1]] / np.maximum(self.numbers[count], 1) ** power
                known = np.isfinite(self.numbers[names[0]])
                yield from _differing(
                    names[0], self.numbers[names[0]][known], made[known], f"what {names[1]} gives", atol=allowed
                )


def _scale(layout: MethodLayout) -> tuple[float, float] | None:
    """Return the lowest and highest score of a rating or a share of answers; None of what has no such limits."""
    if layout.kind == "rating":
        try:
            points = [float(option) for option in layout.options]
        except ValueError:
            return None
        return min(points), max(points)
    return (0.0, 1.0) if layout.unit_in_words == "share of answers" else None


def _read_out(prompt: Prompt, c: ScoreColumns, logprobs: FloatArray) -> dict[str, FloatArray]:
    """Return what log-probabilities (items, presentations, options) give; NaN of items that lack some."""
    is_missing = np.isnan(logprobs)
    asked: BoolArray = ~np.all(is_missing, axis=2)
    usable = asked.any(axis=1) & ~(is_missing & asked[:, :, None]).any(axis=(1, 2))
    made = {name: np.full(len(logprobs), np.nan) for name in (c.good, c.bad, c.first_choice, *map(c.argmax, SIDES))}
    for _, rows in pd.Series(np.flatnonzero(usable)).groupby([*asked[usable].T], sort=False):
        shown = asked[rows.iloc[0]]
        presentations = list(itertools.compress(prompt.presentations, shown))
        for name, values in read_out(prompt, c, presentations, logprobs[rows][:, shown]).items():
            made[name][rows] = values
    return made


def _numbers(column: pa.ChunkedArray) -> FloatArray | None:
    """Return a column's numbers, of lists those of all cells in a row; None where it holds something else."""
    cells = column.combine_chunks()
    if pa.types.is_list(cells.type) or pa.types.is_large_list(cells.type):
        width = pc.max(pc.list_value_length(cells)).as_py() or 0
        flat = cells.flatten()
        if not pa.types.is_floating(flat.type):
            return None
        values = np.full((len(cells), width), np.nan)
        lengths = np.diff(cells.offsets.to_numpy())
        lengths = np.where(cells.is_valid().to_numpy(zero_copy_only=False), lengths, 0)
        values[np.arange(width) < lengths[:, None]] = flat.to_numpy(zero_copy_only=False)
        return values
    if not pa.types.is_floating(cells.type) and not pa.types.is_integer(cells.type):
        return None
    result: FloatArray = cells.to_numpy(zero_copy_only=False).astype(np.float64)
    return result


def _differing(name: str, stated: FloatArray, made: FloatArray, what: str, *, atol: float = _CLOSE) -> Iterator[str]:
    comparable: BoolArray = np.isfinite(made) & ~np.isinf(stated)  # NaN beside a number is wrong; infinity is reported
    wrong = ~np.isclose(stated[comparable], made[comparable], rtol=1e-9, atol=atol)
    if n := int(wrong.sum()):
        yield f"column {name} is not {what} in {n} row(s)"


def definition_problems(signature: Mapping[str, Any]) -> Sequence[str]:
    """Return methods whose definition is not what its hash says: a prompt's own, or that of this version of pairbank.

    One of pairbank's name and hash must be pairbank's; one of pairbank's name, made by this version, has its hash.
    """
    if "imported" in signature:
        return ()
    return _definition_problems(json.dumps(signature["methods"]), signature["pairbank"] == version("pairbank"))


@functools.lru_cache(maxsize=128)
def _definition_problems(methods: str, is_of_this_version: bool) -> tuple[str, ...]:  # noqa: FBT001
    """Return what `definition_problems` does; the models of a corpus have the same methods."""
    definitions: Mapping[str, Mapping[str, Any]] = json.loads(methods)
    hashes, results = method_hashes({"methods": definitions}), list[str]()
    for name, definition in definitions.items():
        if "imported" in definition:
            continue
        try:
            ours = _defined(name, definition)
        except PairbankError as error:
            results.append(f"method {name}: {error}")
            continue
        if ours is None:
            continue
        is_same = method_hashes({"methods": {name: ours}})[name] == hashes[name]
        if not is_same and ("prompt" in definition or is_of_this_version):
            results.append(
                f"method {name}: its hash is not that of its definition; score with pairbank {version('pairbank')}"
            )
        elif is_same and definition["layout"] != ours["layout"]:
            results.append(f"method {name}: its layout is not that of pairbank's method of this hash")
    return tuple(results)


def _defined(name: str, definition: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what pairbank says of a method; None where it does not know it, or examples decide its hash."""
    parts = MethodName.parsed(name)
    if parts.n_shots:
        return None
    if "prompt" in definition:
        prompt = prompt_of_definition(name, definition)
        return None if prompt is None else Prompted(prompt, in_chat=parts.in_chat).definition
    if name not in FAMILIES and parts.id not in prompts():
        return None
    if name in PROBES:  # learns from a text that is not in the bank
        stated = definition.get("training", {})
        return definition_of(name, n_sentences=stated.get("n_sentences"), text_sha256=stated.get("text_sha256"))
    per_token = ScoreColumns(name).tokens("good") in definition.get("columns", ())
    return method_named(name, options=MethodOptions(per_token=per_token)).definition
