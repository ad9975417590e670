"""The card's figures against the results: in, the page and the summary; out, every difference, in words.

The page is read back as a reader sees it, table by table; nothing here renders it again.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pairbank.cards.card.foreign_text import CELL_CHARACTERS, parsed_tables, shown
from pairbank.cards.card.render import results_shown
from pairbank.cards.card.tables import ratings_table
from pairbank.stats.estimates.metrics import metrics_by_heading
from pairbank.stats.wording import number

if TYPE_CHECKING:
    import pandas as pd


def croissant_problems(
    text: str, configs: Sequence[Mapping[str, Any]], columns: Mapping[str, Mapping[str, str]], hashes: Mapping[str, str]
) -> list[str]:
    """Return what a Croissant file says that is not so, and what it leaves out.

    Args:
        text: croissant.json.
        configs: of the bank, with a path a split.
        columns: config -> column -> type, as the files have them.
        hashes: path -> sha256 of every data file.
    """
    try:
        stated = json.loads(text)
        files = {
            member["name"]: member.get("sha256")
            for member in stated["distribution"]
            if member["@type"] == "cr:FileObject"
        }
        sets = {entry["name"]: [field["name"] for field in entry["field"]] for entry in stated["recordSet"]}
    except (ValueError, TypeError, KeyError) as error:
        return [f"not a Croissant file of pairbank's ({type(error).__name__}: {str(error)[:80]})"]
    files.pop("repo", None)
    return [*_file_problems(files, hashes), *_set_problems(sets, configs, columns)]


def _file_problems(stated: Mapping[str, Any], hashes: Mapping[str, str]) -> Iterator[str]:
    yield from (f"{path} is not listed" for path in sorted(hashes.keys() - stated.keys()))
    yield from (f"lists {path[:200]!r}, which the bank has not" for path in sorted(stated.keys() - hashes.keys()))
    for path in sorted(hashes.keys() & stated.keys()):
        if stated[path] != hashes[path]:
            yield f"stale: {path} has another sha256"


def _set_problems(
    stated: Mapping[str, list[Any]], configs: Sequence[Mapping[str, Any]], columns: Mapping[str, Mapping[str, str]]
) -> Iterator[str]:
    known = {str(config["config_name"]): len(config["data_files"]) > 1 for config in configs}
    yield from (f"config {name} is not described" for name in sorted(known.keys() - stated.keys()))
    yield from (f"describes {name[:200]!r}, which is no config" for name in sorted(stated.keys() - known.keys()))
    for name in sorted(known.keys() & stated.keys()):
        expected = [*(["split"] if known[name] else []), *columns[name]]
        if differ := sorted(set(map(str, stated[name])) ^ set(expected)):
            yield f"stale: config {name} has other columns ({', '.join(differ)[:200]})"


ACCURACY, AGREEMENT = metrics_by_heading("accuracy"), metrics_by_heading("agreement")
"""Headings of the card's tables, and the metrics of the summary that stand under each."""
_NUMBER = r"-?\d+\.\d\d"
Row = Mapping[str, str]
Key = tuple[str, ...]


def figure_problems(
    page: str,
    summary: pd.DataFrame | None,
    n_items: Mapping[str, int],
    ratings: Mapping[str, Any] | None = None,
) -> list[str]:
    """Return every figure of a card that is not what the results say, and every one that is missing.

    Args:
        page: README.md.
        summary: the bank's results; None where it has no scores.
        n_items: corpus -> rows of its items.
        ratings: corpus -> facts of its ratings; None where the bank has none.
    """
    tables = parsed_tables(page)
    problems = [*_count_problems(tables, n_items), *_rating_problems(tables, ratings or {})]
    if summary is None:
        return problems
    known = {_key(row): row for row in results_shown(summary).to_dict("records")}
    unseen = {key for key in known if key[-1] in _all_metrics()}
    for rows in tables:
        for row in rows:
            headings = AGREEMENT if "versus" in row else ACCURACY if "accuracy" in row else {}
            for heading, metrics in headings.items():
                cell = row.get(heading, "")
                keys = [_key_of_cell(row, metric) for metric in metrics] if cell else []
                unseen -= set(keys)
                results = [list(_cell_problems(cell, row, known[key], " / ".join(key))) for key in keys if key in known]
                if keys and not results:
                    problems.append(_invented(cell, keys))
                elif results and all(results):
                    problems += results[0]
    problems += [f"{' / '.join(key)}: not on the card" for key in sorted(unseen)]
    return problems


def _all_metrics() -> set[str]:
    return {metric for headings in (ACCURACY, AGREEMENT) for metrics in headings.values() for metric in metrics}


def _key(row: Mapping[Any, Any]) -> Key:
    group = "all" if row["group_by"] == "all" else f"{row['group_by']}: {row['group']}"
    names = (row["model"], row["corpus"], group, row["method"], row["versus"] or "")
    return (*(shown(str(name), limit=CELL_CHARACTERS) for name in names), str(row["metric"]))


def _key_of_cell(row: Row, metric: str) -> Key:
    return (*(row.get(name, "") for name in ("model", "corpus", "group", "method", "versus")), metric)


def _invented(cell: str, keys: list[Key]) -> str:
    return f"{' / '.join(keys[0])}: the card says {cell}, the results have no such number"


def _cell_problems(cell: str, row: Row, known: Mapping[Any, Any], where: str) -> Iterator[str]:
    expected = [float(known[name]) for name in ("value", "low", "high")]
    # a card of before has no intervals over paradigms
    over = [float(known.get(name, math.nan)) for name in ("low_paradigms", "high_paradigms")]
    written = _numbers(cell)
    right = tuple(None if math.isnan(x) else number(x) for x in (*expected, *over))
    if written not in (right, (*right[:3], None, None)):
        yield f"{where}: the card says {cell}, the results {_text(expected)}"
    n = re.search(r"\(n = (\d+)\)", cell)
    if (n[1] if n else row.get("n")) != str(int(known["n"])):
        yield f"{where}: the card says n = {n[1] if n else row.get('n')}, the results {known['n']}"


def _numbers(cell: str) -> tuple[str | None, ...]:
    """Return value, low, high and both ends over paradigms of a cell as written; None where it has none.

    Cards of before have -0.00 where others have 0.00.

    >>> _numbers("-0.00 [-0.20, 0.10]")
    ('0.00', '-0.20', '0.10', None, None)
    """
    if cell == "undefined" or cell.startswith("undefined ("):
        return None, None, None, None, None
    cell = re.sub(r"-(0\.00)\b", r"\1", cell)
    over = rf"(?:, paradigms \[({_NUMBER}), ({_NUMBER})\])?"
    result = re.match(rf"({_NUMBER}) \[(?:({_NUMBER}), ({_NUMBER})|no interval)\]{over}(?: \(n = \d+\))?$", cell)
    return result.groups() if result else (cell,)


def _text(numbers: list[float]) -> str:
    return f"{number(numbers[0], digits=4)} [{number(numbers[1], digits=4)}, {number(numbers[2], digits=4)}]"


def _rating_problems(tables: list[list[dict[str, str]]], ratings: Mapping[str, Any]) -> Iterator[str]:
    """Say where the card's table of raters is not what the manifest says."""
    rows_on_card = {row["corpus"]: row for rows in tables for row in rows if "raters" in row and "load" in row}
    for expected in ratings_table(ratings).to_dict("records"):
        row = rows_on_card.pop(shown(str(expected["corpus"]), limit=CELL_CHARACTERS), {})
        for heading, cell in expected.items():
            got = row.get(str(heading), "nothing")
            if got != shown(str(cell), limit=CELL_CHARACTERS):
                yield f"ratings of {expected['corpus']}: the card says {got}, it is {cell}"
    yield from (f"ratings of {corpus}: on the card, not in the bank" for corpus in rows_on_card)


def _count_problems(tables: list[list[dict[str, str]]], n_items: Mapping[str, int]) -> Iterator[str]:
    rows = [row for rows in tables for row in rows if "config" in row and "items" in row]
    counts_on_card = {row["corpus"]: row["items"] for row in rows}
    for corpus, n in n_items.items():
        got = counts_on_card.pop(shown(corpus, limit=CELL_CHARACTERS), "nothing")
        if got.replace(",", "") != str(n):
            yield f"{corpus}: the card says {got} items, the bank has {n}"
    yield from (f"{corpus}: on the card, not in the bank" for corpus in counts_on_card)
