"""The answers to a prompt of the registry: in, a column for each presentation and option; out, the prompt's columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.names import HALF_EMPTY
from pairbank.scoring.importing.columns import read_numbers
from pairbank.scoring.importing.sides import LOGPROB

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pairbank.arrays import BoolArray, FloatArray
    from pairbank.scoring.api.layout import ColumnKind
    from pairbank.scoring.importing.reading import Chunk
    from pairbank.scoring.methods.prompted import Prompted


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
