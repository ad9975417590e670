"""Column maps in TOML: `map.toml` beside a file, `--map FILE`, or a table of a corpus. Unknown keys are errors.

In: a table of TOML. Out: a `ColumnMap`. The keys are those of `docs/column-maps.md`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pairbank.builders.corpora.column_map import OF_A_SIDE, ColumnMap, Label, Layout, plain_value
from pairbank.builders.corpora.column_roles import MAPPABLE
from pairbank.builders.sources.table_format import Mend, TableFormat
from pairbank.errors import CorpusError, unknown_name

GOOD_FIRST = "good-first"
KEYS = ("layout", "pair", "order", "contrasts", "reading", "columns", "fixed", "values", "label")
OF_A_JUDGMENT = ("rater", "rating")
"""What a map names of a table with one row per judgment."""
LABEL_KEYS = ("column", "sides", "first", "second", "good", "bad")
READING_KEYS = ("encoding", "delimiter", "quotes", "header", "sheet", "mends")


def map_of(document: Mapping[str, Any], where: str) -> ColumnMap:
    """Return the map of a TOML table.

    Raises:
        CorpusError: something in it is not as expected; the message says what.
    """
    _check_keys(document, KEYS, where)
    layout = document.get("layout", "pairs")
    if layout not in get_args(Layout):
        raise unknown_name(f"layout in {where}", str(layout), get_args(Layout))
    columns = _texts(document, "columns", where)
    fixed = _texts(document, "fixed", where)
    raters = {name: columns.pop(name, "") for name in OF_A_JUDGMENT}
    if bool(raters["rater"]) != bool(raters["rating"]):
        raise CorpusError(f"{where}: expected rater and rating under [columns], or neither of them")
    pair = _list(document.get("pair", []), "pair", where)
    if item := columns.pop("item", ""):
        pair = pair or ([item] if layout == "long" else [])
        columns.setdefault("pair_id", item)
    names = (*MAPPABLE, *OF_A_JUDGMENT, "item", *(() if layout == "pairs" else OF_A_SIDE))
    for name in (*columns, *fixed):
        if name not in names:
            raise unknown_name(f"schema column in {where}", name, names)
    label = _label(document["label"], layout, where) if "label" in document else None
    result = ColumnMap(
        layout=layout,
        columns=columns,
        fixed=fixed,
        values=_values(document.get("values", {}), where),
        label=label,
        pair=tuple(pair),
        rater=raters["rater"],
        rating=raters["rating"],
        good_first=_good_first(document, where),
        contrasts=tuple(_contrast(entry, where) for entry in document.get("contrasts", ())),
        format=_format(document.get("reading", {}), where),
    )
    _check_whole(result, where)
    return result


def _check_whole(found: ColumnMap, where: str) -> None:
    """Refuse a map that names too little to make items."""
    picked = found.label is not None and found.label.sides is not None
    if found.layout == "pairs":
        if not picked and not {"target_good", "target_bad"} <= found.columns.keys():
            raise CorpusError(
                f"{where}: names no two sides; expected target_good and target_bad under [columns], or [label] with "
                "column, sides, first and second"
            )
        return
    if "sentence" not in found.columns:
        raise CorpusError(f'{where}: layout {found.layout!r} needs sentence = "COLUMN" under [columns]')
    if found.layout == "long" and (found.label is None) != found.good_first:
        raise CorpusError(
            f"{where}: layout 'long' needs [label] with column, good and bad (or contrasts); or order = \"good-first\" "
            "where each two rows that follow one another are a pair, the better one first"
        )


def _good_first(document: Mapping[str, Any], where: str) -> bool:
    order = document.get("order")
    if order not in (None, GOOD_FIRST) or (order and "pair" in document):
        raise CorpusError(f"{where}: order is {order!r}, expected {GOOD_FIRST!r}, and no pair beside it")
    return order == GOOD_FIRST


def _label(table: object, layout: str, where: str) -> Label:
    where = f"{where}, [label]"
    if not isinstance(table, Mapping):
        raise CorpusError(f"{where}: expected a table with column, and which of its values mean what")
    _check_keys(table, LABEL_KEYS, where)
    names = ("first", "second") if layout == "pairs" else ("good", "bad")
    values = [tuple(plain_value(entry) for entry in _list(table.get(name, []), name, where)) for name in names]
    sides = tuple(_list(table.get("sides", []), "sides", where))
    if "column" not in table:
        raise CorpusError(f'{where}: names no column; expected column = "NAME"')
    if layout == "pairs" and (len(sides) != 2 or not all(isinstance(side, str) for side in sides) or not all(values)):
        raise CorpusError(
            f'{where}: expected sides = ["ONE", "OTHER"], and under first and second the label\'s values for '
            "which the one or the other is the better side"
        )
    if layout == "sentences" and not all(values):
        raise CorpusError(f"{where}: expected under good and bad the values that mean acceptable, and not")
    if both := [value for value in values[0] if value in values[1]]:
        raise CorpusError(f"{where}: {both[0]!r} stands under {names[0]} and under {names[1]}; leave one")
    pair = (sides[0], sides[1]) if layout == "pairs" else None
    return Label(column=str(table["column"]), better=values[0], worse=values[1], sides=pair)


def _contrast(pair: object, where: str) -> tuple[str, str]:
    values = _list(pair, "contrasts", where)
    if len(values) != 2:
        raise CorpusError(f"{where}: contrast {pair!r}, expected [label of the better side, label of the worse side]")
    return plain_value(values[0]), plain_value(values[1])


def _format(table: object, where: str) -> TableFormat:
    where = f"{where}, [reading]"
    if not isinstance(table, Mapping):
        raise CorpusError(f"{where}: expected a table with any of {', '.join(READING_KEYS)}")
    _check_keys(table, READING_KEYS, where)
    if not isinstance(table.get("quotes", True), bool):
        raise CorpusError(f"{where}: quotes is {table['quotes']!r}, expected true or false")
    delimiter = str(table.get("delimiter", ""))
    if len(delimiter) > 1:
        raise CorpusError(f"{where}: delimiter {delimiter!r} is more than one character")
    return TableFormat(
        encoding=table.get("encoding"),
        delimiter=delimiter,
        quotes=table.get("quotes", True),
        header=tuple(_list(table.get("header", []), "header", where)),
        sheet=table.get("sheet"),
        mends=tuple(Mend(find=entry["find"], put=entry["put"], flag=entry["flag"]) for entry in table.get("mends", ())),
    )


def _values(table: object, where: str) -> dict[str, dict[str, str]]:
    if not isinstance(table, Mapping):
        raise CorpusError(f"{where}: [values] is no table; expected [values.COLUMN] with what each cell means")
    return {name: _texts(table, name, f"{where}, [values]") for name in table}


def _texts(document: Mapping[str, Any], name: str, where: str) -> dict[str, str]:
    table = document.get(name, {})
    if not isinstance(table, Mapping) or not all(isinstance(value, str) for value in table.values()):
        raise CorpusError(f'{where}: [{name}] holds {table!r:.80}, expected name = "text" a line')
    return dict(table)


def _list(value: object, name: str, where: str) -> list[Any]:
    """Return a list; one value is a list of one."""
    if isinstance(value, Mapping):
        raise CorpusError(f"{where}: {name} is a table, expected a value or a list of values")
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def _check_keys(table: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise unknown_name(f"key in {where}", key, known)
