"""The numbers of a scored table against what its signature says of them: in, a table; out, what scoring cannot give.

Numbers are refused by `pairbank bank` and `check`; definitions of methods by `bank` and `check --submission`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pairbank.arrays import BoolArray, FloatArray
from pairbank.errors import PairbankError
from pairbank.scoring.api.layout import NATS, MethodLayout, ScoreColumns
from pairbank.scoring.api.names import MethodName, is_string_logprob
from pairbank.scoring.methods.prompted import Prompted, prompt_of_definition
from pairbank.scoring.methods.registry import FAMILIES, MethodOptions, method_named
from pairbank.scoring.prompts.prompt import Prompt
from pairbank.scoring.prompts.registry import prompts
from pairbank.scoring.scored import Scored
from pairbank.scoring.signature import method_hashes

_CLOSE_NATS = 1e-9
"""Rounding of good - bad, and of sums of log-probabilities."""
_ABOVE_ZERO_NATS = 1e-6
"""Rounding of the log-probability of a certain answer."""


def value_problems(scored: Scored) -> Iterator[str]:
    """Yield numbers of a scored table that no scoring gives.

    A score that is infinite, a log-probability above 0, a difference that is not good - bad, and a prompt's scores that
    are not those of its log-probabilities. NaN is what an item over the model's length has.
    """
    for method, definition in scored.signature["methods"].items():
        layout, c = MethodLayout.from_dict(definition["layout"]), ScoreColumns(method)
        wanted = [name for name in (c.good, c.bad, c.delta, c.logprobs) if name in scored.column_names]
        table, values = scored.arrow(wanted), dict[str, FloatArray]()
        for name in wanted:
            cells = _numbers(table[name])
            if cells is None:
                yield f"a score of {method} is no number"
                continue
            values[name] = cells
            if n := int(np.isinf(cells).sum()):
                yield f"column {name} is infinite in {n} value(s)"
            of_nats = name == c.logprobs or (
                layout.unit_in_words == NATS and is_string_logprob(method) and name != c.delta
            )
            if of_nats and (n := int((cells > _ABOVE_ZERO_NATS).sum())):
                yield f"column {name} is above 0 in {n} value(s); a log-probability is at most 0"
        if {c.good, c.bad, c.delta} <= values.keys():
            yield from _differing(c.delta, values[c.delta], values[c.good] - values[c.bad], "good - bad")
        if {c.good, c.logprobs} <= values.keys():
            yield from _unweighted(method, definition, layout, values)


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
    if not pa.types.is_floating(cells.type):
        return None
    result: FloatArray = cells.to_numpy(zero_copy_only=False).astype(np.float64)
    return result


def _differing(name: str, stated: FloatArray, made: FloatArray, what: str) -> Iterator[str]:
    comparable: BoolArray = np.isfinite(made) & ~np.isinf(stated)  # NaN beside a number is wrong; infinity is reported
    wrong = ~np.isclose(stated[comparable], made[comparable], rtol=1e-9, atol=_CLOSE_NATS)
    if n := int(wrong.sum()):
        yield f"column {name} is not {what} in {n} row(s)"


def _unweighted(
    method: str, definition: Mapping[str, Any], layout: MethodLayout, values: Mapping[str, FloatArray]
) -> Iterator[str]:
    """Yield a prompt's sides that are not the weighted sums of its log-probabilities, of items asked in all ways."""
    c = ScoreColumns(method)
    prompt = None if "imported" in definition else _prompt(method, definition)
    if prompt is None or not layout.is_judged:
        return
    logprobs = values[c.logprobs]
    for name, weights in (
        (c.good, [p.good for p in prompt.presentations]),
        (c.bad, [p.bad for p in prompt.presentations]),
    ):
        flat = np.array(weights, dtype=np.float64).ravel()
        if name in values and logprobs.shape[1] == len(flat):
            yield from _differing(name, values[name], logprobs @ flat, f"what {c.logprobs} gives")


def _prompt(method: str, definition: Mapping[str, Any]) -> Prompt | None:
    try:
        return prompt_of_definition(method, definition)
    except PairbankError:
        return None  # `definition_problems` says so


def definition_problems(signature: Mapping[str, Any]) -> Iterator[str]:
    """Yield methods whose definition is not what its hash says, or not that of this version of pairbank.

    A method that is defined by its own prompt must have the hash of that prompt. One of pairbank's name and hash must
    be pairbank's; one of pairbank's name, made by this version, must have its hash.
    """
    hashes = method_hashes(signature)
    for name, definition in signature["methods"].items():
        if "imported" in definition or "imported" in signature:
            continue
        try:
            ours = _defined(name, definition)
        except PairbankError as error:
            yield f"method {name}: {error}"
            continue
        if ours is None:
            continue
        is_same = method_hashes({"methods": {name: ours}})[name] == hashes[name]
        if not is_same and ("prompt" in definition or signature["pairbank"] == _version()):
            yield f"method {name}: its hash is not that of its definition; score with pairbank {_version()}"
        elif is_same and definition["layout"] != ours["layout"]:
            yield f"method {name}: its layout is not that of pairbank's method of this hash"


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
    per_token = ScoreColumns(name).tokens("good") in definition.get("columns", ())
    return method_named(name, options=MethodOptions(per_token=per_token)).definition


@functools.cache
def _version() -> str:
    from importlib.metadata import version

    return version("pairbank")
