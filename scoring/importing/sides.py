"""Imported methods: in, columns of a file; out, the columns of a scored table, or an error that names the row.

`ImportedSides` has a number of each side, `ImportedAnswers` one for each presentation and option of a prompt of the
registry (`decisions` has a third kind). Of both sides' numbers come `m_good`, `m_bad` and `m_delta`, higher better.

A number of which the lower is the better one is stored with its sign changed, a surprisal as the log-probability that
it is, in nats. A perplexity is stored as -ln(perplexity), the mean log-probability of a token in nats, so that the
difference of two sides is one of log-perplexities: that of the perplexities themselves would be made by the few
sentences that the model finds oddest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from pairbank.builders.corpora.tabular import MOST_POINTS
from pairbank.files import sha256_of_text
from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.method import Columned, side_columns
from pairbank.scoring.api.names import DIRECT, HALF_EMPTY, UNPARSED
from pairbank.scoring.importing.declared import NATS, SIDES, DeclaredScore, ScoreImportError
from pairbank.scoring.methods.direct import Direct

if TYPE_CHECKING:
    from pairbank.arrays import BoolArray, FloatArray
    from pairbank.scoring.api.layout import ColumnKind
    from pairbank.scoring.importing.reading import Chunk
    from pairbank.scoring.methods.prompted import Prompted


class Imported(Columned, Protocol):
    """A method whose numbers come from a file."""

    @property
    def numbers(self) -> tuple[str, ...]:
        """Our names of the columns of the file that it reads."""

    def part(self, chunk: Chunk, two_sided: BoolArray) -> Mapping[str, Any]:
        """Return its columns for some rows, as arrays or lists; `two_sided` says which items have a worse side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Which numbers are believed."""

    low: float
    high: float
    expected: str
    """In words, for the message about another one."""


def read_numbers(chunk: Chunk, name: str, believed: Range, *, but: Callable[[str], bool] | None = None) -> FloatArray:
    """Return a column of numbers, NaN for an empty cell."""
    cells = chunk.column(name)
    if but is not None:
        cells = [None if cell is None or but(cell) else cell for cell in cells]
    try:
        values = pa.array(cells, pa.string()).cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:  # one cell that Arrow cannot read; Python reads some more, such as " 1"
        values = np.array([_float(cell) for cell in cells])
    provided = np.array([cell is not None for cell in cells], dtype=np.bool_)
    wrong = provided & ~((values >= believed.low) & (values <= believed.high))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ScoreImportError(f"{chunk.where(row)}: {name} is {cells[row]!r}, expected {believed.expected}")
    return np.asarray(values, dtype=np.float64)


def _float(cell: str | None) -> float:
    try:
        return float("nan" if cell is None else cell)
    except ValueError:
        return float("nan")


def nullable(values: FloatArray) -> pa.Array:
    """Return numbers with null for NaN."""
    return pa.array(values, from_pandas=True)


def flag_column(flags: Mapping[str, BoolArray], n: int, *, null: BoolArray | None = None) -> pa.Array:
    """Return a list of flags a row.

    >>> flag_column({"a": np.array([True, False, True]), "b": np.array([True, False, False])}, 3).to_pylist()
    [['a', 'b'], [], ['a']]
    """
    counts = np.sum([*flags.values()], axis=0, dtype=np.int32) if flags else np.zeros(n, dtype=np.int32)
    names = [name for row in np.flatnonzero(counts) for name, has in flags.items() if has[row]]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    mask = None if null is None else pa.array(null)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(names, pa.string()), mask=mask)


def part_table(columns: Mapping[str, Any], schema: pa.Schema) -> pa.Table:
    """Return a method's columns as a table; what is not given is null.

    >>> part_table({"m_good": [1.0]}, pa.schema([("m_good", pa.float64()), ("m_n", pa.int32())])).to_pylist()
    [{'m_good': 1.0, 'm_n': None}]
    """
    n = len(next(iter(columns.values())))
    arrays = [_array(columns.get(field.name), field.type, n) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(values: pa.Array | Sequence[Any] | None, kind: pa.DataType, n: int) -> pa.Array:
    if values is None:
        return pa.nulls(n, kind)
    return values.cast(kind) if isinstance(values, pa.Array) else pa.array(values, kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedAnswers:
    """Log-probabilities of the answers to a prompt."""

    method: Prompted

    @property
    def name(self) -> str:
        """The prompt's id."""
        return self.method.name

    @property
    def definition(self) -> dict[str, Any]:
        """The prompt's own."""
        return self.method.definition

    @property
    def columns(self) -> dict[str, ColumnKind]:
        """The prompt's own."""
        return self.method.columns

    @property
    def numbers(self) -> tuple[str, ...]:
        """`prompt:presentation:option`, row-major."""
        prompt = self.method.prompt
        return tuple(f"{prompt.id}:{p.name}:{option}" for p in prompt.presentations for option in prompt.option_labels)

    def part(self, chunk: Chunk, _two_sided: BoolArray) -> Mapping[str, Any]:
        """Return the prompt's columns for some rows; null where a number that is needed is missing."""
        numbers = np.column_stack([read_numbers(chunk, name, LOGPROB) for name in self.numbers])
        rows = [self._row(row) for row in numbers]
        return {name: [result.get(name) for result in rows] for name in self.columns}

    def _row(self, numbers: FloatArray) -> Mapping[str, Any]:
        """Return one item's columns; a prompt that asks each item in one order needs the numbers of that one."""
        prompt = self.method.prompt
        is_given = ~np.isnan(numbers).reshape(len(prompt.presentations), -1)
        if not is_given.any():
            return {}
        requested = [bool(row.any()) or not prompt.is_fixed_order for row in is_given]
        if not is_given[requested].all():
            return {ScoreColumns(self.name).flags: [HALF_EMPTY]}
        return self.method.readout(numbers.tolist(), [], asked=requested)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSides:
    """A score of each side."""

    score: DeclaredScore

    @property
    def name(self) -> str:
        """The prefix of its columns."""
        return self.score.name

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns of the two sides."""
        columns = ScoreColumns(self.name)
        return columns.good, columns.bad

    @property
    def columns(self) -> dict[str, ColumnKind]:
        """Scores, flags, for a rating the number of texts without one, for others numbers of tokens (null)."""
        columns = ScoreColumns(self.name)
        if self.score.kind != "rating":
            return side_columns(self.name)
        return columns.kinds(columns.good, columns.bad, columns.delta, columns.unparsed, columns.flags)

    @property
    def definition(self) -> dict[str, Any]:
        """What it is in words, its hash, and the layout, which has the unit of a difference."""
        if self.score == DIRECT_LOGPROB:
            return Direct().definition
        kept: dict[str, Any] = {"kind": self.score.kind, "direction": self.score.direction, "unit": self.score.unit}
        sha256 = sha256_of_text("imported", *map(str, kept.values()), self.score.label)
        named = {"label": self.score.label} if self.score.label else {}
        if self.name == DIRECT:
            return Direct().definition | {"paper": self.meaning, "imported": kept}
        layout: dict[str, Any] = {"method": self.name, "kind": "direct"}
        layout |= {"presentations": [], "options": [], "correct": [], "unit": self.unit}
        if self.score.scale is not None:
            ends = [f"{end:g}" for end in self.score.scale]
            layout |= {"kind": "rating", "presentations": [*SIDES], "options": ends, "sides": [*SIDES]}
            layout |= {"readout": "decision"}
            kept |= {"scale": [*self.score.scale]}
        return {
            "paper": self.meaning,
            "cites": [],
            "sha256": sha256,
            "imported": kept | named,
            "layout": layout,
        }

    @property
    def unit(self) -> str:
        """What the difference of the two sides is measured in."""
        kind = self.score.kind
        if kind in ("logprob", "surprisal"):
            return "nats"
        return "nats per token" if kind == "perplexity" else self.score.unit or f"units of {self.name}"

    @property
    def meaning(self) -> str:
        """What the numbers are, in words."""
        score, label = self.score, f"{self.score.label}, " if self.score.label else ""
        turned = "" if score.direction == "higher" else ", lower is better: stored with the sign changed"
        better = ", higher is better" if score.direction == "higher" else ""
        in_nats = "" if score.unit == "nats" else ", converted to nats"
        if score.kind == "logprob":
            return f"{label}log-probabilities in {score.unit}{in_nats}; difference = log P(good) - log P(bad)"
        if score.kind == "surprisal":
            return (
                f"{label}surprisals in {score.unit}, lower is better: stored as log-probabilities, -surprisal"
                f"{in_nats}; difference = log P(good) - log P(bad)"
            )
        if score.kind == "perplexity":
            return (
                f"{label}perplexities, lower is better: stored as -ln(perplexity), the mean log-probability of a token "
                "in nats; difference = ln perplexity(bad) - ln perplexity(good), of log-perplexities"
            )
        if score.scale is not None:
            low, high = score.scale
            description = f"ratings of each side from {low:g} to {high:g} {score.unit}{better}{turned}"
        else:
            description = (
                f"scores of each side{better}{turned}{f', in {score.unit}' if score.unit else ', unit not stated'}"
            )
        return f"{label}{description}; difference = good - bad; no log-probabilities"

    def part(self, chunk: Chunk, two_sided: BoolArray) -> Mapping[str, Any]:
        """Return scores, difference and flags of some rows; null where a number that is needed is missing."""
        score = self.score
        but = self._is_unparsed if score.kind == "rating" else None
        read = [read_numbers(chunk, name, self._believed(), but=but) for name in self.numbers]
        good, bad = (self._higher_better(values) for values in read)
        unparsed = [np.zeros(len(chunk), dtype=np.bool_) for _ in SIDES]
        if but is not None:
            unparsed = [np.array([cell is not None and but(cell) for cell in chunk.column(x)]) for x in self.numbers]
        has_good, has_bad = ~np.isnan(good) | unparsed[0], ~np.isnan(bad) | unparsed[1]
        whole = has_good & (has_bad | ~two_sided)
        half = ~whole & (has_good | has_bad)
        n_unparsed = unparsed[0].astype(np.int32) + unparsed[1]
        good, bad = np.where(whole, good, np.nan), np.where(whole, bad, np.nan)
        columns = ScoreColumns(self.name)
        results = {
            columns.good: nullable(good),
            columns.bad: nullable(bad),
            columns.delta: nullable(good - bad),
            columns.flags: flag_column(
                {HALF_EMPTY: half, UNPARSED: whole & (n_unparsed > 0)}, len(chunk), null=~(whole | half)
            ),
        }
        if score.kind != "rating":
            return results
        return results | {columns.unparsed: nullable(np.where(whole, n_unparsed, np.nan))}

    def _is_unparsed(self, cell: str) -> bool:
        return self.score.meaning_of(cell, among=(UNPARSED,)) is not None

    def _believed(self) -> Range:
        score = self.score
        if score.kind == "logprob":
            return LOGPROB if score.unit == "nats" else Range(
                low=LOGPROB.low, high=LOGPROB.high, expected=f"a log-probability in {score.unit} (finite, at most 0)"
            )  # fmt: skip
        if score.kind == "surprisal":
            return Range(
                low=-ROUNDING_NATS, high=MOST_POINTS, expected=f"a surprisal in {score.unit} (finite, at least 0)"
            )
        if score.kind == "perplexity":
            return Range(
                low=1 - ROUNDING_NATS, high=MOST_PERPLEXITY, expected=f"a perplexity (from 1 to {MOST_PERPLEXITY:g})"
            )
        if score.scale is not None:
            low, high = score.scale
            return Range(low=low, high=high, expected=f"a rating from {low:g} to {high:g}, or `unparsed`")
        return Range(low=-MOST_POINTS, high=MOST_POINTS, expected=f"a finite number of at most {MOST_POINTS:g}")

    def _higher_better(self, values: FloatArray) -> FloatArray:
        kind = self.score.kind
        if kind == "perplexity":
            return -np.log(np.maximum(values, 1.0))
        if kind in ("logprob", "surprisal"):
            values = values * NATS[self.score.unit]
        return values if self.score.direction == "higher" else 0.0 - values
