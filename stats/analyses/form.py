"""The form of every analysis: numbers in Python, words in a template beside it, charts as declarations.

An analysis is one function from scored tables to a `Result`. Beside its module, `NAME.md.j2` holds all its words: the
macros `answer`, `text`, `definitions`, `footnotes`, `references` and `draws`, of which only `text` is needed, and one
per kind of chart, which is its caption. This module renders the words, draws what is declared and makes the `Section`.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError, TemplateSyntaxError

from pairbank.arrays import IntArray
from pairbank.errors import BankError
from pairbank.stats import wording
from pairbank.stats.analyses.base import DEFAULTS, Context, Fact, Section, reads
from pairbank.stats.estimates.estimate import Estimate
from pairbank.stats.figures.charts import file_name
from pairbank.stats.figures.style import Figure
from pairbank.stats.scored_table.method_scores import ScoredFrame
from pairbank.stats.scored_table.scored_table import either

Rows = list[dict[str, Any]]

MOST_ROWS = 25
"""Of a table of the first page with one row per model and corpus."""
MOST_INTERVALS = 3
"""Columns whose cells have room for one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A figure: how it is drawn, and the macro of the template that is its caption."""

    name: str
    """Of its files, without the name of the analysis."""
    caption: str
    """Name of the macro; its argument has the attributes `values`, and `n`, how many items the chart rests on."""
    draw: Callable[[], Any]
    values: Mapping[str, Any] = field(default_factory=dict)


def charts(
    caption: str,
    table: pd.DataFrame,
    *by: str,
    draw: Callable[..., Any],
    name: str = "",
    select: Callable[[pd.DataFrame], pd.DataFrame] = lambda rows: rows,
    **style: Any,  # noqa: ANN401 - as `draw` takes them
) -> list[Chart]:
    """Return a chart per group of a table.

    Args:
        caption: Macro of the template. It knows the first row of the group (`chart.model`), the rows of the group
            (`chart.rows`) and what `select` has set in the `attrs` of the drawn ones.
        table: Long table.
        *by: Columns whose values make a group.
        draw: Called with the drawn rows and `style`.
        name: Of the file, if not the values of the group in a row; `{column}` stands for the group's value here, too.
        select: Returns the rows of a group that are drawn.
        **style: Options of `draw`; in a text `{column}` stands for the group's value.
    """
    made = []
    for group in groups(table, *by):
        drawn = select(group.frame)
        values = group.first | {"rows": group.frame, "n": group.frame.get("n")} | drawn.attrs
        options = {key: x.format(**values) if isinstance(x, str) else x for key, x in style.items()}
        label = name.format(**values) if name else " ".join(map(str, group.key))
        made.append(Chart(name=label, caption=caption, draw=partial(draw, drawn, **options), values=values))
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What an analysis returns; a table without columns is left out."""

    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    charts: Sequence[Chart] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    """What the template reads beside the tables, the constants of the module, whose names are in capitals, and the
    modules that it imports."""
    main_table: str | None = None
    """Of the first page; empty = none, None = the first one that has rows."""
    columns: Sequence[str] = ()
    """Of the main table, on the first page; empty = all."""
    second_table: str = ""
    title: str = ""
    """Where it says more than the declared one."""
    main_chart: str = ""
    """Name of the chart of the first page; empty = the first one."""


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of a table with the same values in some columns."""

    by: tuple[str, ...]
    key: tuple[Any, ...]
    frame: pd.DataFrame

    @property
    def place(self) -> dict[str, Any]:
        """The values of those columns."""
        return dict(zip(self.by, self.key, strict=True))

    @property
    def rows(self) -> Rows:
        """The rows as records."""
        return records(self.frame)

    @property
    def first(self) -> dict[str, Any]:
        """The first row."""
        return records(self.frame.head(1))[0]

    @property
    def highest(self) -> float:
        """The highest value; 0 where none is defined."""
        return max(self.frame["value"].dropna(), default=0.0)

    def values(self, metric: str) -> pd.Series[float]:
        """Return the defined values of one metric."""
        return self.frame.loc[self.frame["metric"] == metric, "value"].dropna()


def records(table: pd.DataFrame) -> Rows:
    """Return the rows of a table by the names of its columns."""
    return [dict(zip(map(str, table.columns), row.values(), strict=True)) for row in table.to_dict("records")]


def where(table: pd.DataFrame, **values: object) -> pd.DataFrame:
    """Return the rows of a table that have the given values.

    >>> where(pd.DataFrame({"n": [1, 2], "model": ["a", "b"]}), model="b")["n"].tolist()
    [2]
    """
    for column, value in values.items():
        table = table[table[column] == value]
    return table


def groups(table: pd.DataFrame, *by: str) -> list[Group]:
    """Return the groups of a table in the order of their first rows; none of an empty table."""
    return [Group(by, key, rows) for key, rows in table.groupby([*by], sort=False)] if len(table) else []


def interval_text(row: Mapping[str, Any]) -> str:
    """Return a value with its interval; nothing where it is undefined."""
    return "" if pd.isna(row["value"]) else wording.with_interval(row)


def wide(
    table: pd.DataFrame,
    *,
    rows: Sequence[str],
    columns: str,
    cell: Callable[[dict[str, Any]], str] = interval_text,
    always: Sequence[str] = (),
) -> pd.DataFrame:
    """Return one row per value of `rows` with its largest n, one column per value of `columns`; texts of a cell join.

    Values in `always` have a column wherever they are missing, too.
    """
    made = []
    for group in groups(table, *rows):
        row = group.place | {"n": int(group.frame["n"].max())}
        row |= dict.fromkeys(always, "")
        for record in group.rows:
            row[record[columns]] = row.get(record[columns], "") + cell(record)
        made.append(row)
    return pd.DataFrame(made)


def typed(rows: Rows, columns: Sequence[str] = ()) -> pd.DataFrame:
    """Return rows as a table whose texts are of pandas' own type; of no rows, a table of the given columns.

    >>> typed([{"model": "m", "n": 3}]).dtypes.astype(str).tolist()
    ['string', 'int64']
    """
    table = pd.DataFrame(rows, columns=list(columns) or None)
    texts = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    return table.astype(dict.fromkeys(texts, "string"))


def equal_steps(n: int, most: int) -> IntArray:
    """Return at most so many of n positions, at equal steps.

    >>> equal_steps(9, 3).tolist(), equal_steps(2, 3).tolist(), equal_steps(0, 3).tolist()
    ([0, 4, 8], [0, 1], [])
    """
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))


def range_table(long: pd.DataFrame) -> pd.DataFrame:
    """Return one row per model and corpus, one column per method; of too many, ranges by model or by corpus."""
    methods = list(dict.fromkeys(long["method"]))
    keys = ["corpus", "model"]
    if len(long[keys].drop_duplicates()) > MOST_ROWS:
        keys = ["model"] if long["model"].nunique() <= MOST_ROWS else ["corpus"]
    rows = Rows()
    for group in groups(long, *keys):
        row = group.place | {"n": wording.counts(group.frame["n"])}
        for method in methods:
            shown, interval = where(group.frame, method=method), len(methods) <= MOST_INTERVALS
            one = wording.with_interval(shown.iloc[0], interval=interval) if len(shown) == 1 else ""
            row[str(method)] = one or wording.span(shown["value"])
        rows.append(row)
    return pd.DataFrame(rows, columns=[*keys, "n", *map(str, methods)])


def cells(estimate: Estimate, name: str = "value", *, paradigms: bool = False) -> dict[str, float]:
    """Return an estimate as cells: `value, low, high`, or `r, r_low, r_high`; on request with those over paradigms."""
    low, high = ("low", "high") if name == "value" else (f"{name}_low", f"{name}_high")
    over = {f"{low}_paradigms": estimate.low_paradigms, f"{high}_paradigms": estimate.high_paradigms}
    return {name: estimate.value, low: estimate.low, high: estimate.high} | (over if paradigms else {})


def analysis(
    *,
    title: str,
    needs: str = "",
    facts: Sequence[Fact] = (),
    references: Sequence[str] = (),
    prefix: str | None = None,
    leads: bool = True,
) -> Callable[[Callable[..., Result]], Callable[..., Section]]:
    """Declare an analysis: its function becomes one from scored tables to a section.

    Args:
        title: Heading of the section.
        needs: What is wrong where the result has no rows, and what to do; `{corpora}` stands for those of the tables.
            Empty where such a result is none to refuse.
        facts: Of the context, gathered for this analysis; each may be set as an option.
        references: Literature, where it is not in the template (macro `references`, one a line).
        prefix: Of the files of its figures; None = its name.
        leads: Whether it comes before the overview where a report has it by itself.
    """

    def declared(function: Callable[..., Result]) -> Callable[..., Section]:
        name, folder = function.__name__, Path(inspect.getfile(function)).parent

        @reads(*facts)
        @functools.wraps(function)
        def section(tables: Sequence[ScoredFrame], context: Context = DEFAULTS, **options: Any) -> Section:  # noqa: ANN401
            result = function(tables, context, **options)
            if needs and not any(map(len, result.tables.values())):
                raise BankError(needs.format(corpora=sorted({table.corpus for table in tables})))
            known = function.__globals__.items()
            constants = {key: value for key, value in known if key.isupper() or inspect.ismodule(value)}
            words = Words(folder / f"{name}.md.j2", constants | dict(result.tables) | dict(result.values))
            figures = name if prefix is None else prefix
            made = _section(name, result, words, title=result.title or title, prefix=figures)
            return replace(made, references=(*references, *made.references), leads=leads)

        return section

    return declared


def _section(name: str, result: Result, words: Words, *, title: str, prefix: str) -> Section:
    shown = {key: table for key, table in result.tables.items() if len(table.columns)}
    first = next((key for key, table in shown.items() if len(table)), "")
    return Section(
        id=name,
        title=title,
        answer=words["answer"],
        text=words["text"],
        definitions=words.raw("definitions"),
        footnotes=tuple(filter(None, words["footnotes"].split("\n\n"))),
        draws=words["draws"],
        tables=shown,
        main_table=first if result.main_table is None else result.main_table,
        main_columns=tuple(result.columns),
        second_table=result.second_table,
        second_caption=words["second_caption"],
        figures=tuple(
            Figure(name=file_name(*filter(None, (prefix, x.name))), caption=words.caption(x), draw=x.draw)
            for x in result.charts
        ),
        main_figure=file_name(name, result.main_chart) if result.main_chart else "",
        references=tuple(filter(None, words.raw("references").splitlines())),
    )


@contextlib.contextmanager
def _faults_of(template: Path) -> Iterator[None]:
    """Raise what is wrong in a template with its file and line."""
    try:
        yield
    except BankError:
        raise
    except TemplateSyntaxError as error:
        raise BankError(f"{error.filename or template}, line {error.lineno}: {error.message}") from error
    except (TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        places = (x for x in reversed(traceback.extract_tb(error.__traceback__)) if x.filename.endswith(".j2"))
        place = str(template)
        if frame := next(places, None):
            compiled = _environment(template.parent).get_template(Path(frame.filename).name)
            place = f"{frame.filename}, line {compiled.get_corresponding_lineno(frame.lineno or 0)}"
        raise BankError(f"{place}: {type(error).__name__}: {error}") from error


class Words:
    """The texts of a template, with the values of one result."""

    def __init__(self, template: Path, values: Mapping[str, Any]) -> None:
        self._template = template
        with _faults_of(template):
            self._macros = vars(_environment(template.parent).get_template(template.name).make_module(dict(values)))

    def raw(self, name: str) -> str:
        """Return the text of a macro as it is wrapped; nothing where the template has none."""
        if name not in self._macros:
            return ""
        with _faults_of(self._template):
            return str(self._macros[name]()).lstrip("\n")

    def __getitem__(self, name: str) -> str:
        return _escaped(_paragraphs(self.raw(name)))

    def render(self, name: str, *values: object) -> str:
        """Return the text of a macro that takes values."""
        if name not in self._macros:
            raise BankError(f"{self._template}: no macro {name!r}, which is the caption of a chart; add it")
        with _faults_of(self._template):
            return _paragraphs(str(self._macros[name](*values)))

    def caption(self, chart: Chart) -> str:
        """Return the caption of a chart."""
        return self.render(chart.caption, SimpleNamespace(**chart.values))


@functools.cache
def _environment(folder: Path) -> Environment:
    made = Environment(  # noqa: S701 - Markdown, escaped as a whole
        loader=FileSystemLoader([folder, Path(__file__).parent]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.finalize = lambda value: value.strip("\n") if isinstance(value, str) else value  # of macros in a sentence
    made.filters |= FILTERS
    made.tests["missing"] = lambda value: bool(pd.isna(value))
    return made


def _interval(row: Mapping[str, Any], name: str = "value", *, sign: bool = False, side: bool = False) -> str:
    low, high = (f"{name}_low", f"{name}_high") if f"{name}_low" in row else ("low", "high")
    return wording.with_interval(row, name, low=low, high=high, sign=sign, side=side)


FILTERS: dict[str, Callable[..., Any]] = {
    "n": wording.number,
    "whole": wording.whole,
    "percent": wording.percent,
    "p": wording.p_value,
    "interval": _interval,
    "bounds": wording.bounds,
    "span": wording.span,
    "median": wording.median_and_span,
    "counts": wording.counts,
    "n_items": wording.n_items,
    "value_range": wording.value_range,
    "plural": wording.plural,
    "inflect": wording.inflect,
    "names": wording.names,
    "either": either,
    "capitalised": wording.capitalised,
    "by": groups,
    "where": where,
    "records": records,
}
"""Of every template: no analysis formats a number."""


def _escaped(text: str) -> str:
    """Return a text whose HTML a page of Markdown shows and does not obey; lone signs of inequality stay.

    >>> _escaped("a <b> & c &lt; d, p < .001")
    'a &lt;b&gt; & c &amp;lt; d, p < .001'
    """
    text = re.sub(r"&(?=#?\w+;)", "&amp;", text)
    return re.sub(r"(?<=\S)>", "&gt;", re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text))


def _paragraphs(text: str) -> str:
    r"""Return Markdown with one line per paragraph and list item, however a template wraps it.

    >>> _paragraphs("One\nparagraph.\n\n\n- a list,\n  wrapped\n- of two\n")
    'One paragraph.\n\n- a list, wrapped\n- of two'
    """
    text = re.sub(r"[ \t]+\n", "\n", text)
    text = re.sub(r"\s+([;,.:])(?=\s)", r"\1", text)  # a branch before punctuation leaves a space
    paragraphs = (re.sub(r"\s*\n(?! *- )\s*", " ", part.strip()) for part in re.split(r"\n\s*\n", text))
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)
