"""A column map: how the columns of any table make items, said in data. Rows in; cells by schema column out.

`pairs`: a row holds both sides. `long`: a row holds one side, and rows with the same ids (or each two that follow one
another) make a pair. `sentences`: a row holds one sentence. A column is named, or is the path to a value in nested JSON
(`translation.de.0`), also of JSON in a cell, or a text with several of them in it (`{a} {b}`).
"""

from __future__ import annotations

import ast
import functools
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from pairbank.builders.corpora.cells import kept_in
from pairbank.builders.schema.columns import Column, ColumnType, Scalar
from pairbank.builders.schema.language_tags import language_tag
from pairbank.builders.sources.formats import NOTHING_SAID, REPAIRS, TableFormat
from pairbank.builders.sources.readers import RepeatedKeyError, without_repeats
from pairbank.builders.sources.source import LocatedFile, member_bytes
from pairbank.declarations import Declaration
from pairbank.errors import CorpusError, UnknownNameError

Layout = Literal["pairs", "long", "sentences"]
Row = Mapping[str, Any]
NumberedRows = Iterable[tuple[int, Row]]
BadRow = Callable[[CorpusError], None]
OF_A_SIDE = {"sentence": "target", "context": "context", "human": "human"}
"""What a map names of one side (`long`, `sentences`) -> the stem of the schema's columns of both."""
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?")
PATH_FIELD = re.compile(r"\{(\w+)\}")
"""A piece of a path, or of a text that is made of one."""
FIELD = re.compile(r"\{([^{}]+)\}")


def plain_value(value: object) -> str:
    """Return a label or an id as text, whatever a file writes it as.

    >>> [plain_value(value) for value in (True, 0.0, "1.0", " Good ", None)]
    ['true', '0', '1', 'good', '']
    """
    return "" if value is None else _plain_text(str(value))


@functools.lru_cache(maxsize=4096)
def _plain_text(value: str) -> str:
    text = value.strip().casefold()
    if _NUMBER.fullmatch(text) and float(text).is_integer():
        return str(int(float(text)))
    return text


def listed(value: object) -> object:
    return [value] if isinstance(value, str | int | float) else value


Text = Annotated[str, BeforeValidator(lambda value: plain_value(value) if isinstance(value, int | float) else value)]
Meant = Annotated[str, BeforeValidator(plain_value)]
"""A value of a label, whatever a file writes it as."""
OneOrMore = Annotated[tuple[Meant, ...], BeforeValidator(listed)]


class Label(Declaration):
    """A table `[label]` of TOML: the column that says which side is the better one, and what its values mean."""

    column: str
    sides: tuple[str, str] | None = None
    first: OneOrMore = ()
    """`pairs`: values for which the first side is the better one."""
    second: OneOrMore = ()
    good: OneOrMore = ()
    """`long`, `sentences`: values of a good sentence."""
    bad: OneOrMore = ()

    @property
    def better(self) -> tuple[str, ...]:
        """`pairs`: the first of `sides` is the better one; `long`: this row is; `sentences`: it is acceptable."""
        return self.first if self.sides else self.good

    @property
    def worse(self) -> tuple[str, ...]:
        return self.second if self.sides else self.bad

    def undecided(self, row: Row, where: str) -> str:
        """Return in what the label of a row says neither: it is empty, or between the two on a scale; "" elsewhere."""
        value = plain_value(value_at(row, self.column, where))
        if value in self.better or value in self.worse:
            return ""
        if value in ("", "na", "nan", "<na>"):
            return f"whose {self.column!r} is empty"
        known = [*self.better, *self.worse]
        if all(_NUMBER.fullmatch(text) for text in (value, *known)):
            low, high = sorted((float(self.better[0]), float(self.worse[0])))
            if low < float(value) < high:
                return f"whose {self.column!r} is {value}, between {low:g} and {high:g}"
        return ""

    def says(self, row: Row, where: str) -> bool:
        value = plain_value(value_at(row, self.column, where))
        if value in self.better or value in self.worse:
            return value in self.better
        expected = ", ".join(map(repr, (*self.better, *self.worse)))
        raise CorpusError(f"{where}: label {self.column!r} is {value!r}, expected one of {expected}, as the map has it")


class MapTable(Declaration):
    """A column map in TOML: `map.toml`, `--map FILE`, or one of a corpus's `[[tables]]` (`docs/column-maps.md`)."""

    layout: Layout = "pairs"
    pair: Annotated[tuple[str, ...], BeforeValidator(listed)] = ()
    """`long`: columns whose cells are the same in rows of one pair; () = each two rows that follow one another."""
    order: Literal["good-first"] | None = None
    """`long`: of each two rows that follow one another, the better side is first."""
    contrasts: tuple[tuple[Meant, Meant], ...] = ()
    """`long`, where an item has more than two conditions: (label of the better side, of the worse one)."""
    reading: TableFormat = NOTHING_SAID
    columns: dict[str, str] = Field(default_factory=dict)
    """Schema column (or one of `OF_A_SIDE`) -> the table's column, or a path into it."""
    fixed: dict[str, Text] = Field(default_factory=dict)
    """Schema column -> what all rows have in it."""
    values: dict[str, dict[str, Text]] = Field(default_factory=dict)
    """Schema column -> what a cell of it says -> what it means; other cells stay as they are."""
    where: dict[str, OneOrMore] = Field(default_factory=dict)
    """Column -> the values of the rows that are read; others are left out and counted."""
    label: Label | None = None


class TablesTable(MapTable):
    """One of `[[tables]]`: files of one kind, and their column map."""

    path: str
    """`FOLDER/{subset}.csv`, or one file's name: `{field}` stands for a piece of a path, `*` for one without a name;
    fields can be said in `fixed` and `id`."""
    archive: str = ""
    """The archive that holds them; "" where each is a file of the source."""
    password: str = ""
    """Of the archive, where its authors publish it beside the archive to keep the texts out of training data."""
    id: str = ""
    """Of an item within its subset: fields of the path, `{n}` (from 1 in a file), `{pair_id}`, `{contrast}`.
    "" = `{n}`; of a user's corpus a hash of its texts."""


class Keep(Declaration):
    """One of `[[keep]]`: a column of the source that the corpus keeps."""

    name: str
    type: ColumnType = "string"
    meaning: str = "a column of your file"
    column: str = ""
    """Of the source; default: the name."""
    columns: tuple[str, ...] = ()
    """Columns of yes and no: kept are the names of those that say yes, joined."""
    by_side: bool = False
    """Kept once a side, as `<name>_good` and `<name>_bad`."""

    @property
    def read_from(self) -> str:
        return self.column or self.name

    @property
    def made(self) -> tuple[Column, ...]:
        names = (f"{self.name}_good", f"{self.name}_bad") if self.by_side else (self.name,)
        return tuple(Column(name=name, type=self.type, nullable=True, meaning=self.meaning) for name in names)

    def cells(self, shaped: ShapedRow, where: str) -> dict[str, Scalar]:
        if self.columns:
            texts = [name for name in self.columns if plain_value(shaped.good.get(name)) in ("1", "true")]
            return {self.name: ", ".join(texts) or None}
        if self.by_side:
            sides = (("good", shaped.good), ("bad", shaped.bad or {}))
            return {f"{self.name}_{side}": self._cell(row, where) for side, row in sides}
        return {self.name: self._cell(shaped.good, where)}

    def _cell(self, row: Row, where: str) -> Scalar:
        cell = row.get(self.read_from)
        if self.type == "string":
            return kept_in(cell, where, self.read_from)
        try:
            return typed(cell, self.type)
        except ValueError as error:
            raise CorpusError(f"{where}: column {self.read_from!r} holds {cell!r:.80}, expected {self.type}") from error


def typed(cell: object, kind: ColumnType) -> Scalar:
    """Return a cell as its column has it, None for an empty one.

    >>> typed("3.0", "int32"), typed("", "float64"), typed("True", "bool")
    (3, None, True)
    """
    if cell is None or cell == "":
        return None
    if kind == "bool":
        return plain_value(cell) in ("1", "true")
    number = float(str(cell))
    return int(number) if kind == "int32" else number


class ColumnMap(TablesTable):
    """How a table's columns make items: a table of TOML that was checked, or what the names of the columns tell."""

    path: str = ""
    rater: str = ""
    """Column of raters, of a table that has one row per judgment."""
    rating: str = ""
    of_trial: dict[str, str] = Field(default_factory=dict)
    """`trial_order`, `response_time`, `list` -> the column that holds it of each judgment."""
    said: str = "columns as the map says"
    unused: str = ""
    """What is to be said of columns that were not used."""
    inferred: bool = False
    """Whether it was told from the names of columns: a row may then lack a cell (JSON lines)."""
    with_commas: bool = False
    """Whether `6,4` is a number (files that are not separated by commas)."""

    def changed(self, **fields: Any) -> ColumnMap:  # noqa: ANN401 - the fields of a map
        return ColumnMap(**(dict(self) | fields))

    def matching(self, files: Mapping[str, LocatedFile]) -> Iterator[tuple[str, str, Callable[[], bytes]]]:
        """Yield (path, where it stands, what reads it) of each file, in the order of the paths."""
        if self.archive:
            archive, pattern = files[self.archive].path, PATH_FIELD.sub("*", self.path)
            members = member_bytes(archive, pattern, self.fits, password=self.password)
            for name, data in members:
                yield name, f"{archive}:{name}", functools.partial(bytes, data)
            return
        for name in filter(self.fits, sorted(files)):
            yield name, str(files[name].path), files[name].path.read_bytes

    def fits(self, path: str) -> bool:
        return self.path_fields(path) is not None

    def path_fields(self, path: str) -> dict[str, str] | None:
        """Return what the fields of the path are for one file, None where it is not of this kind."""
        escaped = "".join(
            f"(?P<{part}>[^/]+?)" if place % 2 else re.escape(part).replace(r"\*", "[^/]*")
            for place, part in enumerate(PATH_FIELD.split(self.path))
        )
        result = re.fullmatch(f"(?:.*/)?{escaped}" if self.archive else escaped, path)
        if result is None:
            return None
        named = result.groupdict()
        if "language" not in named:
            return named
        try:
            return named | {"tag": language_tag(named["language"])}
        except UnknownNameError as error:
            raise CorpusError(f"{path}, {{language}} of path {self.path!r}: {error}") from error

    def of_file(self, path: str) -> ColumnMap:
        named = self.path_fields(path) or {}
        fixed = {name: PATH_FIELD.sub(lambda field: named[field[1]], text) for name, text in self.fixed.items()}
        escaped = {name: text.replace("{", "{{").replace("}", "}}") for name, text in named.items()}
        return self.changed(fixed=fixed, id=PATH_FIELD.sub(lambda field: escaped.get(field[1], field[0]), self.id))

    def named(self) -> frozenset[str]:
        label = () if self.label is None else (self.label.column, *(self.label.sides or ()))
        raters = [name for name in (self.rater, self.rating, *self.of_trial.values()) if name]
        return frozenset((*self.columns.values(), *label, *self.pair, *raters, *self.where))

    def number(self, shaped: ShapedRow, n: int) -> str:
        return (self.id or "{n}").format(n=n, pair_id=shaped.cells.get("pair_id"), contrast=shaped.contrast)

    @functools.cached_property
    def _texts(self) -> tuple[str, ...]:
        sides = () if self.label is None else self.label.sides or ()
        return (
            *(self.columns[name] for name in ("target_good", "target_bad", "sentence") if name in self.columns),
            *sides,
        )

    def left_out(self, row: Row, at: str) -> str:
        """Return why a row is no item and no fault either; "" where it is one of both."""
        for column, values in self.where.items():
            if plain_value(value_at(row, column, at)) not in values:
                return f"whose {column!r} is not {' or '.join(map(repr, values))}"
        if self.order is not None:
            return ""  # each two rows are a pair: none can be left out alone
        for name in self._texts:
            if row.get(name) in self.reading.missing:
                return f"with {row[name]!r} for a sentence (missing = [] under [reading] in a map keeps it as a word)"
        return "" if self.label is None else self.label.undecided(row, at)

    def chosen(self, rows: NumberedRows, where: str, tell: Callable[[str], None]) -> Iterator[tuple[int, Row]]:
        """Yield the rows that are read; told is why others are not."""
        for number, row in rows:
            try:
                why = self.left_out(row, f"{where}, row {number}")
            except CorpusError:
                why = ""  # a fault of the row, which is raised where the row is read
            if why:
                tell(why)
            else:
                yield number, row

    @property
    def sides(self) -> tuple[str, ...]:
        return ("target_good",) if self.layout == "sentences" else ("target_good", "target_bad")

    @functools.cached_property
    def _of_a_side(self) -> tuple[str, ...]:
        return () if self.layout == "pairs" else tuple(name for name in self.columns if name in OF_A_SIDE)

    @functools.cached_property
    def _of_a_pair(self) -> tuple[str, ...]:
        return tuple(name for name in self.columns if name not in self._of_a_side)

    @functools.cached_property
    def _choices(self) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
        if self.contrasts or self.label is None:
            return tuple(((good,), (bad,)) for good, bad in self.contrasts)
        return ((self.label.better, self.label.worse),)

    def shaped(self, rows: NumberedRows, where: str, bad_row: BadRow) -> Iterator[ShapedRow]:
        shape = {"pairs": self._pair, "sentences": self._sentence}.get(self.layout)
        groups = self._groups(rows, where) if shape is None else ([numbered] for numbered in rows)
        for group in groups:
            number, row = group[0]
            try:
                if shape is None:
                    results = list(self._pairs_of(group, where))
                else:
                    results = [shape(number, row, f"{where}, row {number}")]
            except CorpusError as error:
                bad_row(error)
                continue
            yield from results

    def _pair(self, number: int, row: Row, where: str) -> ShapedRow:
        cells = self._cells(row, where, of_a_side=False)
        if self.label is not None and self.label.sides is not None:
            first, second = self.label.sides
            good, bad = (first, second) if self.label.says(row, where) else (second, first)
            cells |= {"target_good": value_at(row, good, where), "target_bad": value_at(row, bad, where)}
        return ShapedRow(number=number, cells=cells, good=row, flags=tuple(row.get(REPAIRS, ())))

    def _sentence(self, number: int, row: Row, where: str) -> ShapedRow:
        cells = self._cells(row, where, of_a_side=False) | self._side(row, where, "good")
        label = None if self.label is None else int(self.label.says(row, where))
        return ShapedRow(number=number, cells=cells, good=row, label=label, flags=tuple(row.get(REPAIRS, ())))

    def _groups(self, rows: NumberedRows, where: str) -> Iterator[list[tuple[int, Row]]]:
        if self.pair:
            by_pair: dict[tuple[str, ...], list[tuple[int, Row]]] = {}
            for number, row in rows:
                at = f"{where}, row {number}"
                key = tuple(plain_value(value_at(row, name, at)) for name in self.pair)
                by_pair.setdefault(key, []).append((number, row))
            yield from by_pair.values()
            return
        left = iter(rows)
        yield from iter(lambda: list(itertools.islice(left, 2)), [])

    def _pairs_of(self, group: list[tuple[int, Row]], where: str) -> Iterator[ShapedRow]:
        label = self.label
        at = f"{where}, row {', '.join(str(number) for number, _ in group)}"
        if label is None:
            if len(group) != 2:
                raise CorpusError(f"{at}: one row, expected two, the better side first; the file may be cut")
            yield self._joined(group[0], group[1], where, "")
            return
        by_value: dict[str, list[tuple[int, Row]]] = {}
        for number, row in group:
            value = plain_value(value_at(row, label.column, f"{where}, row {number}"))
            by_value.setdefault(value, []).append((number, row))
        if others := set[str]() if self.contrasts else by_value.keys() - {*label.better, *label.worse}:
            raise CorpusError(f"{at}: label {label.column!r} is {sorted(others)[0]!r}, which the map does not name")
        for better, worse in self._choices:
            goods = [row for value, rows in by_value.items() if value in better for row in rows]
            bads = [row for value, rows in by_value.items() if value in worse for row in rows]
            if not (goods and bads) and any(a in by_value and b in by_value for a, b in self.contrasts):
                continue  # an item that has some of the conditions
            if (len(goods), len(bads)) != (1, 1):
                raise CorpusError(
                    f"{at}: {len(goods)} better and {len(bads)} worse rows, expected one of each; check the ids of "
                    f"the pair ({', '.join(self.pair) or 'two rows that follow one another'}) and the labels"
                )
            yield self._joined(goods[0], bads[0], where, "-".join((*better, *worse)) if self.contrasts else "")

    def _joined(self, good: tuple[int, Row], bad: tuple[int, Row], where: str, contrast: str) -> ShapedRow:
        cells = self._cells(good[1], f"{where}, row {good[0]}", of_a_side=False)
        other = self._cells(bad[1], f"{where}, row {bad[0]}", of_a_side=False) if self._of_a_pair else cells
        if differing := [name for name, cell in cells.items() if other[name] != cell]:
            name = differing[0]
            raise CorpusError(
                f"{where}, row {good[0]} and {bad[0]}: {name} is {cells[name]!r} of the better side and "
                f"{other[name]!r} of the worse one; expected the same value, since the column describes the pair"
            )
        cells |= self._side(good[1], f"{where}, row {good[0]}", "good")
        cells |= self._side(bad[1], f"{where}, row {bad[0]}", "bad")
        flags = tuple(dict.fromkeys((*good[1].get(REPAIRS, ()), *bad[1].get(REPAIRS, ()))))
        return ShapedRow(number=good[0], cells=cells, good=good[1], bad=bad[1], flags=flags, contrast=contrast)

    def _cells(self, row: Row, where: str, *, of_a_side: bool) -> dict[str, Any]:
        names = self._of_a_side if of_a_side else self._of_a_pair
        columns = self.columns
        if self.inferred:
            cells = {name: row.get(columns[name]) for name in names}
        else:
            cells = {name: self.meaning(name, value_at(row, columns[name], where)) for name in names}
        return cells if of_a_side else dict(self.fixed) | cells

    def _side(self, row: Row, where: str, side: str) -> dict[str, Any]:
        result = self._cells(row, where, of_a_side=True)
        return {f"{OF_A_SIDE[name]}_{side}": cell for name, cell in result.items()}

    def meaning(self, name: str, cell: Any) -> Any:  # noqa: ANN401 - a cell is what the file has
        known = self.values.get(name)
        return cell if known is None or cell is None else known.get(str(cell), cell)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapedRow:
    """What a map makes of one item's row, or of the rows of its two sides."""

    number: int
    """Line or row of the better side."""
    cells: dict[str, Any]
    """By schema column."""
    good: Row
    """The table's row; of `long`, that of the better side."""
    bad: Row | None = None
    label: int | None = None
    """`sentences`: 1 = acceptable."""
    flags: tuple[str, ...] = ()
    contrast: str = ""
    """The two conditions, where an item has more than two."""


def value_at(row: Row, path: str, where: str) -> Any:  # noqa: ANN401 - a cell is what the file has
    """Return the cell of a column, the value that a path leads to, or a text with several of them filled in.

    >>> value_at({"a.b": 1, "a": {"c": [2, 3]}}, "a.b", ""), value_at({"a": '{"c": [2, 3]}'}, "a.c.1", "")
    (1, 3)
    >>> value_at({"who": "Ann", "what": ["left", "leave"]}, "{who} {what.0}.", "")
    'Ann left.'
    """
    if path in row:
        return row[path]
    if pieces := FIELD.findall(path):
        cells = {piece: value_at(row, piece, where) for piece in pieces}
        if all(cell in (None, "") for cell in cells.values()):
            return None
        if several := [(piece, cell) for piece, cell in cells.items() if isinstance(cell, list | Mapping)]:
            piece, kind = several[0][0], type(several[0][1]).__name__
            raise CorpusError(
                f"{where}: {piece!r} in {path!r} is a {kind}, expected one value; say which of its values"
            )
        return FIELD.sub(lambda piece: "" if cells[piece[1]] is None else str(cells[piece[1]]), path)
    result: Any = row
    for step in path.split("."):
        if isinstance(result, str):
            try:
                result = _parsed(result)
            except RepeatedKeyError as error:
                raise CorpusError(f"{where}: key {error.args[0]!r} occurs twice in one object; leave one") from error
        if isinstance(result, Mapping) and step in result:
            result = result[step]
        elif isinstance(result, list) and step.isdecimal() and int(step) < len(result):
            result = result[int(step)]
        else:
            current = ", ".join(map(str, result)) if isinstance(result, Mapping) else f"a {type(result).__name__}"
            raise CorpusError(f"{where}: no column or path {path!r}; at {step!r} found {current[:200]}")
    return result


@functools.lru_cache(maxsize=4096)
def _parsed(cell: str) -> Any:  # noqa: ANN401 - what JSON gives
    """Return what a cell of JSON holds, or of a list or dict as Python writes it; another cell is its text.

    >>> _parsed('["a", 1]'), _parsed("['a', 1]"), _parsed("[a")
    (['a', 1], ['a', 1], '[a')
    """
    if cell.lstrip()[:1] not in ("[", "{"):
        return cell
    for read in (functools.partial(json.loads, object_pairs_hook=without_repeats), ast.literal_eval):
        try:
            return read(cell)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return cell
