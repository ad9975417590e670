"""Rows of a log to items of a corpus, by their texts: in, rows with sentences; out, their item ids, and what is left.

Two texts are the same where they are after Unicode's NFC, with every run of white space one space and none at the ends;
nothing else is forgiven, neither case nor punctuation. Contexts and targets are compared apart, so that a number given
a question is never taken for one of the sentence alone. A row without contexts of its own (a decision) is compared by
its two targets, or by the whole texts of both sides.

An item id pairs a row with its item only where the row's texts, if it has any, are the item's.

Where several items have the same texts, the row's own subset or paradigm and pair id decide; items of the same texts
that still remain are taken in the order of the rows, if there are no more rows than items and one paradigm holds them.
Everything else is doubtful, and refused: a text that stands in several paradigms, more rows than items, a log whose
better side is the corpus's worse one.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pairbank.scoring.api.names import DIRECT
from pairbank.scoring.importing.declared import SIDES, ScoreImportError
from pairbank.scoring.importing.log import MOST_EXAMPLES, LeftOut, LogRow, Refusals
from pairbank.scoring.importing.profile import ITEM_NAMES

if TYPE_CHECKING:
    import datasets

NORMALISATION = "NFC, white space one space and none at the ends"
_CONTEXTS = ("context_good", "context_bad")
_TARGETS = ("target_good", "target_bad")
_NO_SCORES = frozenset((*ITEM_NAMES, "model"))
_ITEM_COLUMNS = ("item_id", "subset", "paradigm", "pair_id", *_CONTEXTS, *_TARGETS)


def normalised(text: str) -> str:
    r"""Return a text as it is compared.

    >>> normalised("  Who  cares\u00a0? ")
    'Who cares ?'
    """
    return re.sub(r"\s+", " ", unicodedata.normalize("NFC", text)).strip()


def same_texts(cells: Mapping[str, str | None], item: Mapping[str, str | None]) -> bool:
    """Return whether the texts of a row, as many as it has, are those of an item.

    >>> item = {"context_good": "Who?", "target_good": "I.", "context_bad": "Who?", "target_bad": "Me."}
    >>> [same_texts(cells, item) for cells in ({}, {"target_good": "I. "}, {"target_good": "Who? I."}, item)]
    [True, True, True, True]
    >>> same_texts({"target_good": "Me.", "target_bad": "I."}, item)
    False
    """

    def is_same(side: str) -> bool:
        context, target = f"context_{side}", f"target_{side}"
        ours, theirs = ([normalised(texts.get(name) or "") for name in (context, target)] for texts in (cells, item))
        if cells.get(context) is not None:
            return ours == theirs
        return ours[1] in (theirs[1], normalised(" ".join(theirs)))

    return all(is_same(side) for side in SIDES if cells.get(f"target_{side}"))


def question_name(task: str) -> str:
    """Return the name of the score that the answers to a task's question become.

    >>> question_name("which-sentence"), question_name("2ndary")
    ('which_sentence', 'task_2ndary')
    """
    name = re.sub(r"\W+", "_", task).strip("_")
    return name if name[:1].isalpha() else f"task_{name}"


class TextJoin:
    def __init__(self, items: datasets.Dataset) -> None:
        self._corpus = str(items["corpus"][0])
        table = items.with_format("arrow").select_columns(list(_ITEM_COLUMNS))[:]
        self._items: list[dict[str, str | None]] = table.to_pylist()
        self._by_parts: dict[Hashable, list[int]] = defaultdict(list)
        self._by_targets: dict[Hashable, list[int]] = defaultdict(list)
        self._by_whole: dict[Hashable, list[int]] = defaultdict(list)
        self._by_id = {item["item_id"]: place for place, item in enumerate(self._items)}
        for place, item in enumerate(self._items):
            self._by_parts[_parts(item)].append(place)
            self._by_targets[_targets(item)].append(place)
            self._by_whole[_whole(item)].append(place)

    def join(self, rows: Sequence[LogRow]) -> tuple[list[LogRow], list[LeftOut], dict[str, Any]]:
        """Return the rows with their items' ids, what was left out, and how all fared; rows of one item are one.

        A log-probability given a context that is not the item's is an answer to a question: where the item has no
        context, it becomes a score of its own, with the name of the row's subset.
        """
        kinds: dict[tuple[str, ...], list[LogRow]] = defaultdict(list)
        for row in map(self._as_answer, rows):
            kinds[tuple(sorted(name for name in row.cells if name not in _NO_SCORES))].append(row)
        whole, left_out, n_normalised = dict[str, LogRow](), list[LeftOut](), 0
        for group in kinds.values():
            refusals = Refusals()
            for row, is_changed in self._joined(group, refusals):
                item_id = str(row.cells["item_id"])
                first = whole.get(item_id, row)
                whole[item_id] = replace(first, cells={**row.cells, **first.cells})
                n_normalised += is_changed
            left_out += refusals.left_out()
        if rows and not whole:
            raise ScoreImportError(
                f"none of {len(rows):,} rows has the texts of an item of {self._corpus}: {_shown(rows[0])}; give the "
                "corpus that was scored (--items), or none: items are then made of the log's own texts"
            )
        facts = {
            "by": "text",
            "normalisation": NORMALISATION,
            "n_joined": len(whole),
            "n_only_normalised": n_normalised,
            "n_items_of_corpus": len(self._items),
        }
        return [*whole.values()], left_out, facts

    def _as_answer(self, row: LogRow) -> LogRow:
        cells = row.cells
        scored = next((n[: -len("_good")] for n in cells if n.startswith(DIRECT) and n.endswith("_good")), None)
        if not cells.get("context_good") or scored is None or _parts(cells) in self._by_parts:
            return row
        if cells.get("context_good") != cells.get("context_bad") or _targets(cells) not in self._by_targets:
            return row
        name = question_name(str(cells.get("subset")))
        kept = {key: value for key, value in cells.items() if key in _NO_SCORES and key not in _CONTEXTS}
        sides = {f"{name}_{side}": cells[f"{scored}_{side}"] for side in ("good", "bad")}
        return replace(row, cells=kept | sides)

    def _joined(self, rows: Sequence[LogRow], refusals: Refusals) -> Iterator[tuple[LogRow, bool]]:
        """Yield rows with `item_id`, and whether their texts are the item's only after normalisation."""
        doubts = Refusals()
        groups: dict[tuple[int, ...], list[LogRow]] = defaultdict(list)
        for row in rows:
            by_id = self._by_id.get(row.cells.get("item_id") or "")
            if by_id is not None and same_texts(row.cells, self._items[by_id]):
                places = [by_id]
            else:
                places = self._places(row.cells)
            if places:
                groups[tuple(places)].append(row)
            elif by_id is not None:
                doubts.add(row.file, f"its item_id is of another text in {self._corpus}", _shown(row))
            elif self._reversed(row.cells):
                doubts.add(row.file, f"its better side is the worse one of {self._corpus}", _shown(row))
            else:
                refusals.add(row.file, f"no item of {self._corpus} has these texts", _shown(row))
        assigned: dict[int, LogRow] = {}
        for candidates, group in groups.items():
            self._assign(candidates, group, assigned, doubts)
        if left := doubts.left_out():
            raise ScoreImportError(
                f"{sum(rows.n for rows in left):,} row(s) whose item is in doubt: "
                f"{'; '.join(map(str, left[:MOST_EXAMPLES]))}. Nothing was imported; give the part of the corpus that "
                "was scored, or one log at a time"
            )
        for place, row in sorted(assigned.items(), key=lambda entry: (str(entry[1].file), entry[1].line)):
            item = self._items[place]
            is_changed = any(row.cells.get(name) not in (None, item[name]) for name in _TARGETS)
            yield replace(row, cells={**row.cells, "item_id": item["item_id"]}), is_changed

    def _places(self, cells: Mapping[str, str | None]) -> list[int]:
        if cells.get("context_good") is not None:
            result = self._by_parts.get(_parts(cells), [])
        else:
            result = self._by_targets.get(_targets(cells)) or self._by_whole.get(_whole(cells), [])
        for name, ours in (("paradigm", ("paradigm", "subset")), ("subset", ("subset", "paradigm"))):
            text = cells.get(name)
            if len(result) > 1 and text:
                result = [place for place in result if text in (self._items[place][our] for our in ours)] or result
        if len(result) > 1 and (text := cells.get("pair_id")):
            result = [place for place in result if self._items[place]["pair_id"] == text] or result
        return result

    def _reversed(self, cells: Mapping[str, str | None]) -> bool:
        sides = (SIDES, SIDES[::-1])
        turned = {f"{part}_{a}": cells.get(f"{part}_{b}") for part in ("context", "target") for a, b in sides}
        return turned["target_good"] is not None and bool(
            self._by_parts.get(_parts(turned)) or self._by_targets.get(_targets(turned))
        )

    def _assign(
        self, places: Sequence[int], group: Sequence[LogRow], assigned: dict[int, LogRow], doubts: Refusals
    ) -> None:
        homes = {(self._items[place]["subset"], self._items[place]["paradigm"]) for place in places}
        free = [place for place in places if place not in assigned]
        for number, row in enumerate(group):
            if len(homes) > 1:
                named = ", ".join(sorted({str(subset) for subset, _ in homes})[:MOST_EXAMPLES])
                doubts.add(row.file, f"its texts occur in several parts of {self._corpus} ({named})", _shown(row))
            elif number >= len(free):
                doubts.add(row.file, "its item has a row already", f"{_shown(row)}, also {group[0].where}")
            else:
                assigned[free[number]] = row


def _parts(cells: Mapping[str, str | None]) -> tuple[str, ...]:
    context, other = cells.get("context_good") or "", cells.get("context_bad")
    texts = (context, cells.get("target_good"), context if other is None else other, cells.get("target_bad"))
    return tuple(normalised(text or "") for text in texts)


def _targets(cells: Mapping[str, str | None]) -> tuple[str, ...]:
    return tuple(normalised(cells.get(name) or "") for name in _TARGETS)


def _whole(cells: Mapping[str, str | None]) -> tuple[str, ...]:
    good, target_good, bad, target_bad = _parts(cells)
    return normalised(f"{good} {target_good}"), normalised(f"{bad} {target_bad}")


def _shown(row: LogRow) -> str:
    text = row.cells.get("target_good") or row.cells.get("item_id") or "no text"
    return f"{row.where}: {text[:60]!r}"
