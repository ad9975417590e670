"""The controls above a panel: in, a bank and a resolved view; out, what each offers, holds, and whether it is there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pairbank.cards.browser.leaderboard import groups_of
from pairbank.cards.browser.text import words
from pairbank.cards.browser.view import FILTERS, MEASURES, ROW_TABS, axes_of, groupings
from pairbank.scoring.api.names import DIRECT
from pairbank.stats.estimates.metrics import HUMAN

if TYPE_CHECKING:
    from pairbank.cards.browser.data import Bank, Table
    from pairbank.cards.browser.view import View

LABELS = {
    "within": "Corpus",
    "by": "Broken down by",
    "group": "Group",
    "task": "Task",
    "corpus": "Corpus",
    "model": "Model",
    "method": "Method",
    "versus": "Against",
    "measure": "Measure",
    "subset": "Subset",
    "phenomenon": "Phenomenon",
    "language": "Language",
    "show": "Which items",
    "q": "Search the text",
}
"""Field of the view -> what the control is called, in the order of the page."""

Choices = list[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """The state of one control."""

    choices: Choices
    """(label, value); empty for the search box."""
    value: str
    is_visible: bool


def controls(bank: Bank, view: View) -> dict[str, Control]:
    """Return the state of every control; one that offers no choice is not there."""
    choices = _row_choices(bank, view) if view.tab in ROW_TABS else _summary_choices(bank, view)
    return {
        name: Control(
            choices=choices.get(name, []),
            value=getattr(view, name),
            is_visible=_belongs(name, view) and (name == "q" or len(choices[name]) > 1),
        )
        for name in LABELS
    }


def _summary_choices(bank: Bank, view: View) -> dict[str, Choices]:
    tasks = sorted({task for facts in bank.corpora.values() for task in facts.get("tasks", [])})
    groups = groups_of(bank, view) if view.by != "all" else []
    return {
        "within": _all("All corpora", bank.corpora) if len(bank.corpora) > 1 else [],
        "by": [("whole corpus" if name == "all" else words(name), name) for name in groupings(bank)],
        "group": _all("All groups", groups),
        "task": _all("Any task", tasks) if len(bank.corpora) > 1 and len(tasks) > 1 else [],
    }


def _row_choices(bank: Bank, view: View) -> dict[str, Choices]:
    table = bank.table(view.corpus, view.model)
    axes = axes_of(table)
    named = {
        "corpus": [(name, name) for name in bank.corpora],
        "model": [(name, slug) for slug, name in bank.models(view.corpus).items()],
        "method": [(name, name) for name in axes if name != HUMAN],
        "versus": [("people" if name == HUMAN else name, name) for name in axes if name != view.method],
        "measure": [(label, name) for name, label in MEASURES.items()],
        "show": _shown(axes, view.method),
    }
    return named | {name: _filter(table, name) for name in FILTERS}


def _filter(table: Table, name: str) -> Choices:
    values = table.values_of(name)
    return _all(f"All {name}s" if name != "phenomenon" else "All phenomena", values) if len(values) > 1 else []


def _all(label: str, values: Iterable[str]) -> Choices:
    return [(label, ""), *((words(value), value) for value in values)]


def _shown(axes: Sequence[str], method: str) -> Choices:
    found = [("All items", "all")]
    if not method:
        return found
    n_methods = len([name for name in axes if name != HUMAN])
    if DIRECT in axes and method != DIRECT:
        found.append(("Method and direct disagree", "direct"))
    if n_methods > 2:
        found.append(("Any two methods disagree", "any"))
    found.append(("Method is wrong", "wrong"))
    if HUMAN in axes:
        found.append(("Method and people disagree", "people"))
    return found


def _belongs(name: str, view: View) -> bool:
    if name == "within":
        return view.tab in ("leaderboard", "people")
    if name in ("by", "group", "task"):
        return view.tab == "leaderboard"
    if name == "measure":
        return view.tab == "agreement"
    if name == "versus":
        return view.tab == "compare"
    if name == "method" and view.show in ("all", "any"):
        return view.tab in ("compare", "items")
    return view.tab in ROW_TABS
