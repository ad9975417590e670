"""The design of an experiment: `[design]` of a map says which columns are factors, item sets, designs and fillers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from pairbank.builders.corpora.column_map import OneOrMore, Row, ShapedRow, Text, listed, plain_value, value_at
from pairbank.builders.corpora.judgments import raters_of
from pairbank.declarations import Declaration
from pairbank.errors import CorpusError, unknown_name

Names = Annotated[tuple[str, ...], BeforeValidator(listed)]


class Design(Declaration):
    """The table `[design]` of a map: one row per sentence, pair, or judgment; the side is a factor of pairs."""

    factors: Names = ()
    """Columns whose levels are crossed within item sets; none = no design."""
    item_set: str = ""
    """Column of the item set (lexicalisation), whose sentences differ in their conditions alone; default: `item`."""
    by: Names = ()
    """Columns that tell several designs of one table apart, as island type and dependency."""
    fillers: dict[str, OneOrMore] = Field(default_factory=dict)
    """Column -> its values in fillers: in no condition, but part of what z-scores standardise."""
    levels: dict[str, tuple[Text, ...]] = Field(default_factory=dict)
    """Factor -> its levels, the baseline first; default: as they first occur."""
    contrasts: tuple[tuple[Text, Text], ...] = ()
    """Of one factor: levels that are compared, the higher one first; default: each level with the next."""

    @property
    def columns(self) -> tuple[str, ...]:
        names = (*self.factors, *([self.item_set] if self.item_set else []), *self.by, *self.fillers)
        return tuple(dict.fromkeys(names))

    def check_whole(self, where: str) -> None:
        if self.factors and not self.item_set:
            missing = 'item = "COLUMN" under [columns], or item_set'
            raise CorpusError(f"{where}, [design]: needs {missing}; a row holds one sentence or pair of an item set")
        if unknown := [name for name in self.levels if name not in self.factors]:
            raise unknown_name(f"factor in {where}, [design.levels]", unknown[0], self.factors)
        if self.contrasts and len(self.factors) > 1:
            raise CorpusError(f"{where}, [design]: contrasts are of one factor; found {len(self.factors)} factors")

    def is_filler(self, row: Row, at: str) -> bool:
        return any(plain_value(value_at(row, name, at)) in values for name, values in self.fillers.items())

    def text(self, name: str, row: Row, at: str) -> str:
        text = str(value_at(row, name, at) or "").strip()
        if text:
            return text
        marked = (
            f"{x!r} is {value_at(row, x, at)!r}, not {' or '.join(map(repr, y))}" for x, y in self.fillers.items()
        )
        expected = f"a value of [design], or a row named by its fillers ({', '.join(marked) or 'it has none'})"
        raise CorpusError(f"{at}: column {name!r} is empty; expected {expected}")

    def facts(self, levels: Mapping[str, tuple[str, ...]], names: Mapping[str, str]) -> dict[str, Any]:
        """Return what the manifest says; `names` are those of the corpus for the table's columns."""
        return {
            "factors": [{"column": names[name], "levels": list(levels[name])} for name in self.factors],
            "item_set": names[self.item_set],
            "by": [names[name] for name in self.by],
            "fillers": {names[name]: list(values) for name, values in self.fillers.items()},
            "contrasts": [list(pair) for pair in self.contrasts],
        }


@dataclass(kw_only=True)
class Crossing:
    design: Design
    where: str
    columns: tuple[str, ...] = ()
    """Of raters that have one each."""
    rows: dict[tuple[str, ...], dict[tuple[str, ...], dict[str, int]]] = field(default_factory=dict)
    """Design -> cell -> item set -> row."""
    levels: dict[str, dict[str, str]] = field(default_factory=dict)
    """Factor -> level as `plain_value` has it -> as the table spells it first."""
    raters: dict[str, int] = field(default_factory=dict)
    """Rater -> row of the first sentence they rated."""
    with_filler: set[str] = field(default_factory=set)

    def note(self, shaped: ShapedRow, at: str) -> None:
        """Take a sentence; one that is in no cell of the design, and no filler, is an error."""
        row, design = shaped.good, self.design
        if not design.factors:
            return
        is_filler = design.is_filler(row, at)
        of_columns = {name: shaped.number for name in self.columns if str(value_at(row, name, at) or "").strip()}
        for rater, number in (raters_of(row) | of_columns).items():
            self.raters[rater] = min(number, self.raters.get(rater, number))
            self.with_filler |= {rater} if is_filler else set()
        if is_filler:
            return
        cell = tuple(self._level(name, row, at) for name in design.factors)
        other = shaped.bad or row
        for name in (*design.factors, *design.by, design.item_set):
            if plain_value(value_at(other, name, at)) != plain_value(value_at(row, name, at)):
                raise CorpusError(
                    f"{at}: column {name!r} is {value_at(row, name, at)!r} of the better side and "
                    f"{value_at(other, name, at)!r} of the worse one; a factor of pairs is the same on both "
                    'sides; if it tells the sentences of a pair apart, use layout = "sentences"'
                )
        by, (item_set,) = (tuple(design.text(name, row, at) for name in x) for x in (design.by, [design.item_set]))
        sets = self.rows.setdefault(by, {}).setdefault(cell, {})
        if sets.setdefault(item_set, shaped.number) != shaped.number:
            raise CorpusError(
                f"{at}: {design.item_set!r} {item_set} has a sentence with {self._said(cell)} in row {sets[item_set]}; "
                "expected one per condition; name the column that tells the two designs apart under by in [design]"
            )

    def _level(self, name: str, row: Row, at: str) -> str:
        text = self.design.text(name, row, at)
        declared = self.design.levels.get(name)
        known = self.levels.setdefault(name, {plain_value(level): level for level in declared or ()})
        spelled = known.get(plain_value(text)) if declared else known.setdefault(plain_value(text), text)
        if spelled != text:
            expected = ", ".join(map(repr, known.values()))
            raise CorpusError(f"{at}: column {name!r} is {text!r}; expected a level of the design, spelled {expected}")
        return text

    def _said(self, cell: tuple[str, ...]) -> str:
        return ", ".join(f"{name} = {level}" for name, level in zip(self.design.factors, cell, strict=True))

    def faults(self) -> Iterator[CorpusError]:
        """Yield what makes it no design: a factor with one level, an empty cell, raters without fillers."""
        levels = {name: tuple(self.levels.get(name, {}).values()) for name in self.design.factors}
        for name, known in levels.items():
            if len(known) < 2:
                rows = sorted(row for cells in self.rows.values() for sets in cells.values() for row in sets.values())
                places = f", rows {rows[0]} to {rows[-1]}" if rows else ""
                yield CorpusError(
                    f"{self.where}{places}: column {name!r} has {len(known)} level ({', '.join(known) or 'none'}); a "
                    "factor of [design] needs two; take it out of factors, or see what where and fillers leave out"
                )
        of_first = levels[self.design.factors[0]] if self.design.contrasts else ()
        for level in dict.fromkeys(itertools.chain.from_iterable(self.design.contrasts)):
            if level not in of_first:
                yield CorpusError(f"{self.where}, [design]: {unknown_name('level of contrasts', level, of_first)}")
        for by, cells in self.rows.items():
            numbers = [row for sets in cells.values() for row in sets.values()]
            of = "".join(f"{name} {value}, " for name, value in zip(self.design.by, by, strict=True))
            for cell in itertools.product(*levels.values()):
                if cell not in cells:
                    yield CorpusError(
                        f"{self.where}, rows {min(numbers)} to {max(numbers)}: {of}no sentence has {self._said(cell)}; "
                        f"expected all levels of {' and '.join(map(repr, self.design.factors))} crossed"
                    )
        if self.design.fillers and (lacking := sorted(self.raters.keys() - self.with_filler)):
            first = lacking[0]
            yield CorpusError(
                f"{self.where}, row {self.raters[first]}: rater {first!r} rated no filler"
                f"{f', nor did {len(lacking) - 1} others' if len(lacking) > 1 else ''} (column "
                f"{' or '.join(map(repr, self.design.fillers))}); their z-scores would rest on other sentences "
                "than those of other raters; leave their rows out, or fillers out of [design]"
            )

    def said(self) -> Iterator[str]:
        """Yield how many item sets lack a condition, for each design; levels are crossed in others."""
        for by, cells in self.rows.items():
            sets = dict.fromkeys(itertools.chain.from_iterable(cells.values()))
            lacking = [(name, cell) for name in sets for cell, found in cells.items() if name not in found]
            if lacking:
                first, cell = lacking[0]
                n, of = len({name for name, _ in lacking}), f" of {', '.join(by)}" if by else ""
                yield (
                    f"{n:,} of {len(sets):,} item sets{of} lack a condition (first: {self.design.item_set!r} {first}, "
                    f"{self._said(cell)}): models' effects leave them out"
                )

    def facts(self, names: Mapping[str, str]) -> dict[str, Any]:
        return self.design.facts({name: tuple(levels.values()) for name, levels in self.levels.items()}, names)
