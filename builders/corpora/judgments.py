"""Individual ratings in a table: columns of raters, a cell of ratings, or one row per judgment; and who is excluded.

Raters are excluded by the rules that the map states (`[ratings]`), and by no others.
"""

from __future__ import annotations

import functools
import itertools
import statistics
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from pydantic import Field

from pairbank.builders.corpora.cells import check_on_scale, label_in, number_in
from pairbank.builders.corpora.column_map import (
    ColumnMap,
    NumberedRows,
    OneOrMore,
    Row,
    ShapedRow,
    plain_value,
    value_at,
)
from pairbank.builders.ratings import Normalisation, Raters, Rating, Side, constant_raters, scale_after
from pairbank.declarations import Declaration
from pairbank.errors import CorpusError

FEW_RATINGS = "few_ratings"
"""Flag: a side has fewer ratings than the map asks for, so it has no mean and its ratings are left out."""
_GIVEN = "ratings:given"


class Given(NamedTuple):
    who: Hashable
    value: float
    of_trial: Mapping[str, float | str] = {}
    number: int | None = None
    """Row of its own, where it has one."""

    @property
    def trial(self) -> int | None:
        return self.number if self.number is None else int(self.of_trial.get("trial_order", self.number))


class AttentionCheck(Declaration):
    """Rows that are attention checks, no items: whoever rates one outside its bounds has failed it."""

    column: str
    values: OneOrMore
    """Cells of that column by which the rows are known."""
    at_least: float | None = None
    at_most: float | None = None

    def __str__(self) -> str:
        bounds = ((self.at_least, "at least"), (self.at_most, "at most"))
        expected = " and ".join(f"{words} {bound:g}" for bound, words in bounds if bound is not None)
        return f"{self.column} {' or '.join(self.values)}: expected {expected}"


class RatingRules(Declaration):
    """The table `[ratings]` of a map: where ratings are, their scale, and which of them are left out."""

    columns: tuple[str, ...] = ()
    """Raters with a column each."""
    cell: str = ""
    """A column, or a path, whose cells hold several ratings: a list, or text with separators."""
    separator: str = ","
    same_raters: bool = False
    """Of `cell`: whether the ratings of every cell are by the same raters in the same order."""
    scale: str = "unstated"
    side: Side = "good"
    attention: tuple[AttentionCheck, ...] = ()
    failures: int = Field(default=0, ge=0)
    """Attention checks that a rater may fail."""
    min_per_rater: int = Field(default=0, ge=0)
    min_per_side: int = Field(default=0, ge=0)
    """Sides with fewer ratings have no mean."""
    min_time: float = Field(default=0, ge=0)
    """Ratings that took less are excluded; in the unit of the column `response_time`."""
    min_median_time: float = Field(default=0, ge=0)
    """Raters whose median is lower are excluded."""
    normalisation: Normalisation = "none"
    """`z-by-rater`: ratings are z-scores within raters, over all that a rater judged, checks left out."""

    @property
    def stated_scale(self) -> str:
        return scale_after(self.scale, self.normalisation)

    def check_whole(self, column_map: ColumnMap, where: str) -> None:
        kinds = {"columns": bool(self.columns), "cell": bool(self.cell), "rater": bool(column_map.rater)}
        if sum(kinds.values()) != 1:
            named = ", ".join(name for name, is_there in kinds.items() if is_there) or "none"
            expected = "one of columns, cell, or rater and rating under [columns]"
            raise CorpusError(f"{where}, [ratings]: {named} given; expected {expected}")
        for_raters = self.attention or self.min_per_rater or self.failures or self.normalisation != "none"
        if for_raters and not column_map.rater:
            names = "attention, failures, min_per_rater and normalisation"
            raise CorpusError(f"{where}, [ratings]: {names} need rater and rating under [columns]")
        if (self.min_time or self.min_median_time) and "response_time" not in column_map.of_trial:
            raise CorpusError(f"{where}, [ratings]: min_time and min_median_time need response_time under [columns]")
        if any(check.at_least is None and check.at_most is None for check in self.attention):
            raise CorpusError(f"{where}, [ratings], attention: expected at_least or at_most beside column and values")
        if {"human", "human_good", "human_bad"} & column_map.columns.keys():
            raise CorpusError(f"{where}: mean ratings (human) and individual ratings; leave one, the means are made")
        if column_map.layout == "pairs" and self.scale != "forced-choice":
            raise CorpusError(
                f"{where}, [ratings]: scale is {self.scale!r}; of pairs in one row expected 'forced-choice' (1 = chose "
                "the better side); ratings of single sentences need layout long or sentences"
            )

    def said(self) -> str:
        rules = [
            *(f"raters who fail an attention check ({check})" for check in self.attention),
            *((f"raters with fewer than {self.min_per_rater} ratings",) if self.min_per_rater else ()),
            *((f"sides with fewer than {self.min_per_side} ratings",) if self.min_per_side else ()),
            *((f"ratings that took less than {self.min_time:g}",) if self.min_time else ()),
            *((f"raters whose median time is below {self.min_median_time:g}",) if self.min_median_time else ()),
        ]
        return f"excluded: {'; '.join(rules)}" if rules else ""

    def ratings(
        self, item_id: str, shaped: ShapedRow, column_map: ColumnMap, where: str, raters: Raters
    ) -> Iterator[Rating]:
        """Yield the ratings of an item, sides with too few of them left out."""
        sides: tuple[tuple[Side, Row], ...] = ((self.side, shaped.good),)
        if shaped.bad is not None:
            sides = (("good", shaped.good), ("bad", shaped.bad))
        for side, row in sides:
            given = self._given(row, column_map, where)
            for judgment in given if len(given) >= self.min_per_side else ():
                yield Rating(
                    item_id=item_id,
                    side=side,
                    rater=judgment.who if isinstance(judgment.who, int) else raters.number(judgment.who),
                    value=judgment.value,
                    scale=self.stated_scale,
                    trial=judgment.trial,
                    of_trial=judgment.of_trial,
                )

    def are_few(self, shaped: ShapedRow, column_map: ColumnMap, where: str) -> bool:
        rows = [row for row in (shaped.good, shaped.bad) if row is not None]
        return any(len(self._given(row, column_map, where)) < self.min_per_side for row in rows)

    def _given(self, row: Row, column_map: ColumnMap, where: str) -> tuple[Given, ...]:
        if _GIVEN in row:
            return cast("tuple[Given, ...]", row[_GIVEN])
        if self.columns:
            cells: list[tuple[Hashable, Any]] = list(enumerate(value_at(row, name, where) for name in self.columns))
        else:
            cell = value_at(row, self.cell, where)
            parts = _parts(cell, self.separator)
            cells = [
                (place if self.same_raters else (where, self.cell, place), part) for place, part in enumerate(parts)
            ]
        values = ((who, self.value(rating, column_map, where, self.cell or "ratings")) for who, rating in cells)
        return tuple(Given(who, value) for who, value in values if value is not None)

    def value(self, cell: object, column_map: ColumnMap, where: str, column: str) -> float | None:
        text = label_in(column_map.meaning("rating", cell), where, column)
        value = number_in(text, where, column, with_commas=column_map.with_commas)
        check_on_scale(value, self.scale, where, column)
        return value


def raters_of(row: Row) -> dict[str, int]:
    """Return who judged the sentence of a row that stands for several judgments, and in which row."""
    return {judgment.who: judgment.number for judgment in row.get(_GIVEN, ())}


def _parts(cell: object, separator: str) -> list[Any]:
    """Return the ratings in a cell.

    >>> _parts("4, 2;", ","), _parts("[4, 2]", ","), _parts([4, None], ","), _parts(3, ",")
    (['4', ' 2;'], ['4', ' 2'], [4, None], [3])
    """
    if isinstance(cell, str):
        return cell.strip().strip("[]").split(separator) if cell.strip() else []
    return list(cell) if isinstance(cell, list) else [] if cell is None else [cell]


def _of_trial(column_map: ColumnMap, row: Row, at: str) -> dict[str, float | str]:
    """Return what is known of the trial; an empty cell is not known."""
    result: dict[str, float | str] = {}
    for name, column in column_map.of_trial.items():
        cell = label_in(value_at(row, column, at), at, column)
        known = cell if name == "list" else number_in(cell, at, column, with_commas=column_map.with_commas)
        if known is not None and str(known).strip():
            result[name] = int(known) if name == "trial_order" else known
    return result


@dataclass(slots=True)
class _Sentence:
    number: int
    row: Row
    given: dict[str, Given] = field(default_factory=dict)


@dataclass(kw_only=True)
class Judgments:
    """Tables that have one row per judgment, put together: one row per sentence, with who gave it which rating."""

    rules: RatingRules
    also: tuple[str, ...] = ()
    """Columns that tell sentences apart beside those that the map names."""
    faults: list[CorpusError] = field(default_factory=list)
    varying: set[str] = field(default_factory=set)
    """Columns whose cells differ between judgments of one sentence."""
    n_missing: int = 0
    n_fast: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    _tables: dict[str, list[_Sentence]] = field(default_factory=dict)
    """Where a table stands -> its sentences."""
    _checks: dict[str, list[bool]] = field(default_factory=dict)
    _times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, column_map: ColumnMap, rows: NumberedRows, where: str) -> None:
        """Read the rows of a table; those that cannot be read are among the faults."""
        of_judgments = {column_map.rater, column_map.rating, *column_map.of_trial.values()}
        names = sorted({*column_map.named(), *self.also} - of_judgments)
        sentences: dict[tuple[str, ...], _Sentence] = {}
        for number, row in rows:
            at = f"{where}, row {number}"
            try:
                self._judgment(column_map, (number, row), at, names=names, sentences=sentences)
            except CorpusError as error:
                self.faults.append(error)
        self._tables[where] = list(sentences.values())

    def _judgment(
        self,
        column_map: ColumnMap,
        numbered: tuple[int, Row],
        at: str,
        *,
        names: list[str],
        sentences: dict[tuple[str, ...], _Sentence],
    ) -> None:
        number, row = numbered
        if not str(row.get(column_map.rater) or "").strip() and (why := column_map.left_out(row, at)):
            self.left_out[why] += 1
            return
        rater = str(label_in(value_at(row, column_map.rater, at), at, column_map.rater) or "").strip()
        if not rater:
            raise CorpusError(f"{at}: column {column_map.rater!r} is empty; expected who gave the rating")
        checks = (x for x in self.rules.attention if plain_value(value_at(row, x.column, at)) in x.values)
        check = next(checks, None)
        if check is None and (why := column_map.left_out(row, at)):
            self.left_out[why] += 1
            return
        value = self.rules.value(value_at(row, column_map.rating, at), column_map, at, column_map.rating)
        if check is not None:
            low, high = check.at_least, check.at_most
            is_passed = value is not None and (low is None or value >= low) and (high is None or value <= high)
            self._checks.setdefault(rater, []).append(is_passed)
            return
        result = sentences.setdefault(
            tuple(str(value_at(row, name, at)) for name in names), _Sentence(number=number, row=row)
        )
        self.varying |= {name for name in row if row[name] != result.row.get(name)}
        of_trial = _of_trial(column_map, row, at)
        time = of_trial.get("response_time")
        if isinstance(time, float):
            self._times[rater].append(time)
        if value is None:
            self.n_missing += 1
        elif isinstance(time, float) and time < self.rules.min_time:
            self.n_fast += 1
        elif rater in result.given:
            raise CorpusError(
                f"{at}: {rater!r} rated this sentence before (the first row of it is {result.number}); leave one "
                "rating, or name the column that tells the two apart (item, or pair) in the map"
            )
        else:
            result.given[rater] = Given(rater, value, of_trial, number)

    @functools.cached_property
    def _given(self) -> dict[str, list[tuple[int, float]]]:
        """Rater -> (number of the sentence, rating), once all tables were read."""
        given: dict[str, list[tuple[int, float]]] = defaultdict(list)
        sentences = itertools.chain.from_iterable(self._tables.values())
        for number, sentence in enumerate(sentences):
            for who, judgment in sentence.given.items():
                given[who].append((number, judgment.value))
        return given

    @functools.cached_property
    def _excluded(self) -> dict[str, set[str]]:
        """Why raters are excluded -> who, each for the first reason alone."""
        rules, given = self.rules, self._given
        reasons: dict[str, set[str]] = {}
        if rules.attention:
            reasons["who failed an attention check"] = {
                who for who, passed in self._checks.items() if passed.count(False) > rules.failures
            }
        if rules.min_median_time:
            reasons[f"whose median time is below {rules.min_median_time:g}"] = {
                who for who, times in self._times.items() if statistics.median(times) < rules.min_median_time
            }
        if rules.min_per_rater:
            few = {who for who, ratings in given.items() if len(ratings) < rules.min_per_rater}
            reasons[f"with fewer than {rules.min_per_rater} ratings"] = few
        if rules.normalisation != "none" and (constant := self._constant()):
            reasons["who always give the same answer, or gave one"] = constant
        seen = set[str]()
        for why, raters in reasons.items():
            reasons[why], seen = raters - seen, seen | raters
        return reasons

    def _constant(self) -> set[str]:
        names, columns = [*self._given], list[tuple[int, int, float]]()
        for number, ratings in enumerate(self._given.values()):
            columns += [(unit, number, value) for unit, value in ratings]
        units, raters, values = zip(*columns, strict=True) if columns else ((), (), ())
        scales = [self.rules.scale] * len(values)
        constant = {names[rater.rater] for rater in constant_raters("", units, raters, values, scales)}
        return constant | {who for who, ratings in self._given.items() if len({value for _, value in ratings}) < 2}

    @functools.cached_property
    def _spread(self) -> dict[str, tuple[float, float]]:
        """Rater -> mean and standard deviation of their ratings; 0 and 1 where they stay as they are."""
        if self.rules.normalisation == "none":
            return dict.fromkeys(self._given, (0.0, 1.0))
        kept = self._given.keys() - set().union(*self._excluded.values())
        values = {who: [value for _, value in self._given[who]] for who in kept}
        return {who: (statistics.fmean(rated), statistics.stdev(rated)) for who, rated in values.items()}

    def rows(self, where: str) -> Iterator[tuple[int, Row]]:
        excluded = set[str]().union(*self._excluded.values())
        for sentence in self._tables[where]:
            kept = ((judgment, *self._spread[who]) for who, judgment in sentence.given.items() if who not in excluded)
            given = tuple(judgment._replace(value=(judgment.value - mean) / spread) for judgment, mean, spread in kept)
            yield sentence.number, {**sentence.row, _GIVEN: given}

    def said(self) -> Iterator[str]:
        """Yield what was read and what was left out, a sentence a fact."""
        counts = Counter({who: len(ratings) for who, ratings in self._given.items()})
        kept = counts.keys() - set().union(*self._excluded.values())
        n = sum(counts[who] for who in kept)
        yield f"{n:,} ratings by {len(kept):,} raters, scale {self.rules.stated_scale}"
        for why, raters in self._excluded.items():
            plural, n = "rater" if len(raters) == 1 else "raters", sum(counts[who] for who in raters)
            yield f"excluded: {len(raters):,} {plural} {why} ({n:,} ratings)"
        if self.rules.min_time:
            yield f"excluded: {self.n_fast:,} ratings that took less than {self.rules.min_time:g}"
        if self.n_missing:
            yield f"{self.n_missing:,} rows without a rating"
