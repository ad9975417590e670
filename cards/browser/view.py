"""What is being looked at, and its permalink: in, the query of a URL; out, a View, and back.

A link from elsewhere may name what this bank lacks; `resolved` replaces it and says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

import numpy as np

from pairbank.scoring.api.layout import ScoreColumns
from pairbank.scoring.api.names import DIRECT
from pairbank.stats.estimates.metrics import HUMAN

if TYPE_CHECKING:
    from pairbank.cards.browser.data import Bank, Table

TABS = {
    "leaderboard": "Leaderboard",
    "compare": "Direct vs prompted",
    "items": "Items",
    "agreement": "Agreement",
    "people": "People",
    "download": "Download",
}
ROW_TABS = ("compare", "items", "agreement", "download")
"""Tabs that look at the rows of one corpus and one model."""
BOARD_FIELDS = ("within", "by", "group", "task")
"""Fields that the tabs made from the summary look at."""
SHOWN = ("all", "direct", "any", "wrong", "people")
MEASURES = {"pearson": "Pearson r", "kappa": "Cohen’s κ", "raw_agreement": "Same choice"}
FILTERS = ("subset", "phenomenon", "language")
LONGEST = 500
"""Characters of one value in a link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One state of the page; every field with a value of its own stands in the permalink."""

    tab: str = "leaderboard"
    corpus: str = ""
    model: str = ""
    """A slug."""
    method: str = ""
    versus: str = ""
    """What `method` is compared with: a method, or `human`."""
    subset: str = ""
    phenomenon: str = ""
    language: str = ""
    q: str = ""
    """Text that an item must contain."""
    show: str = "all"
    """Which items: all, where `direct` or `people` disagree with the method, `any` two methods do, or it is `wrong`."""
    sort: str = ""
    """A column, with a minus in front for descending order."""
    page: int = 1
    item: str = ""
    cell: str = ""
    """What is selected in a chart: a bin of the scatter plot, or a pair of methods."""
    within: str = ""
    """Corpus that the leaderboard is limited to."""
    by: str = "all"
    group: str = ""
    task: str = ""
    measure: str = "pearson"

    @classmethod
    def from_query(cls, query: str) -> View:
        """Return the view of a link; keys that aren't ours (gradio's own, say) are left alone.

        >>> View.from_query("?tab=items&q=a%26b&page=x&__theme=dark")
        View.from_query('?tab=items&q=a%26b')
        """
        known = {f.name for f in fields(cls)}
        values: dict[str, Any] = {
            key: value[:LONGEST] for key, value in parse_qsl(query.removeprefix("?")) if key in known
        }
        page = values.pop("page", "1")
        values["page"] = int(page) if page.isdecimal() and len(page) < 9 and int(page) else 1
        return cls(**values)

    @property
    def query(self) -> str:
        """The permalink's query: what differs from the defaults."""
        default = View()
        changed = {f.name: getattr(self, f.name) for f in fields(self)}
        return "?" + urlencode({key: value for key, value in changed.items() if value != getattr(default, key)})

    def __repr__(self) -> str:
        return f"View.from_query({self.query!r})"

    def having(self, **changes: Any) -> View:  # noqa: ANN401 - fields are str and int
        """Return the view after a change of the user's: back on page 1, and nothing selected that is gone."""
        forgotten: dict[str, Any] = {}
        if changes.keys() - {"item", "cell", "page"}:
            forgotten = {"page": 1, "cell": ""}
        if changes.keys() & {"tab", "corpus"}:
            forgotten |= {"sort": ""}
        if changes.keys() & {"corpus"}:
            forgotten |= {"item": "", **dict.fromkeys(FILTERS, "")}
        if changes.keys() & {"by"}:
            forgotten |= {"group": ""}
        return replace(self, **(forgotten | changes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A view whose names all exist in the bank, and what had to be replaced for that."""

    view: View
    notices: tuple[str, ...] = ()


def resolved(bank: Bank, view: View) -> Resolved:
    """Return the view with every empty or unknown name replaced by the nearest default.

    What concerns rows is looked at on the tabs that show rows only: the others read no table.
    """
    names = _Names(view=view)
    tab = names.one_of("tab", TABS, "leaderboard")
    if tab in ROW_TABS:
        _resolve_rows(bank, names)
    else:
        names.one_of("within", ["", *bank.corpora], "")
        names.one_of("by", groupings(bank), "all")
    return Resolved(view=replace(view, **names.chosen), notices=tuple(names.notices))


def _resolve_rows(bank: Bank, names: _Names) -> None:
    corpora = list(bank.corpora)
    corpus = names.one_of("corpus", corpora, corpora[0])
    models = list(bank.models(corpus))
    table = bank.table(corpus, names.one_of("model", models, models[0] if models else ""))
    axes = axes_of(table)
    method = names.one_of("method", [name for name in axes if name != HUMAN], _main_method(table, axes))
    names.one_of("versus", axes, _other(axes, method))
    names.one_of("show", SHOWN, "all")
    names.one_of("measure", MEASURES, "pearson")
    for name in FILTERS:
        names.one_of(name, ["", *table.values_of(name)], "")
    item = names.view.item
    if item and table.position(item) is None:
        names.notices.append(f"There is no item “{item}” in {corpus}.")
        names.chosen["item"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    """The names of a view while they are looked up."""

    view: View
    chosen: dict[str, Any] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)

    def one_of(self, name: str, known: Iterable[str], default: str) -> str:
        """Return the view's value of a field if it is known, else the default; note it, and say so."""
        value: str = getattr(self.view, name)
        if value and value not in known:
            self.notices.append(
                f"This link asks for {name} “{value}”, which is not here; showing {default or 'all'} instead."
            )
        self.chosen[name] = value if value in known else default
        found: str = self.chosen[name]
        return found


def axes_of(table: Table) -> list[str]:
    """Return what differences a table holds: the methods that scored any item, then people if they judged any."""
    names = [method.name for method in table.methods]
    columns = map(ScoreColumns, names)
    table.load([name for one in columns for name in (one.good, one.delta)])
    return [name for name in (*names, HUMAN) if bool(np.isfinite(table.delta(name)).any())]


def groupings(bank: Bank) -> list[str]:
    """Return what the summary is broken down by, `all` first."""
    found = [str(name) for name in bank.summary["group_by"].unique()]
    return ["all", *(name for name in found if name != "all")]


def _main_method(table: Table, axes: list[str]) -> str:
    prompted = [method.name for method in table.methods if method.layout.is_prompted and method.name in axes]
    methods = [name for name in axes if name != HUMAN]
    return (prompted or methods or [""])[0]


def _other(axes: list[str], method: str) -> str:
    others = [name for name in (DIRECT, HUMAN, *axes) if name in axes and name != method]
    return others[0] if others else ""
