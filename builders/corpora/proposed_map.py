"""A column map for a table that nobody has described; what its names and first rows leave open is a question.

What could not be decided is `FILL_IN` below a question with three sample rows. The map is tried on the table first.
"""

from __future__ import annotations

import difflib
import functools
import itertools
import json
import math
import re
import tempfile
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pairbank.builders.corpora.column_map import value_at
from pairbank.builders.corpora.column_use import (
    LEAST_ALIKE,
    Decider,
    Rows,
    alike,
    are_numbers,
    are_sentences,
    decider_of,
    likely_sides,
    texts,
    verdict,
    words_of,
)
from pairbank.builders.corpora.corpus import BuildOptions
from pairbank.builders.corpora.maps import read_map
from pairbank.builders.corpora.tabular import READING, tabular_corpus
from pairbank.builders.corpora.tabular_items import TabularOptions
from pairbank.builders.sources.readers import data_file
from pairbank.builders.sources.tables import Table
from pairbank.declarations import Declaration
from pairbank.errors import CorpusError, PairbankError
from pairbank.files import write_text

FILL_IN = "FILL_IN"
FILE = "file"
"""Column of the file's name, where each participant has one."""
_RATER = re.compile(r"\b(?:participants?|subjects?|subj|raters?|annotators?|workers?|informants?|persons?|prolific)\b")
_ITEM = re.compile(r"\b(?:items?|itm|pairs?|stimulus|stimuli|set)\b")
_RATING = re.compile(r"\b(?:mean|average|ratings?|scores?|judge?ments?|human|likert|points)\b|accept|natural")
_CLASS = re.compile(r"phenom|construction|categor|paradigm")
_LABELLED = re.compile(r"\b(?:labels?|gold|judge?ment|acceptability|grammaticality|condition|type|ok)\b")
_OF_A_TRIAL = re.compile(r"\b(?:trial|order|list|age|rt|time|no|nr|id|index|position|block)\b")
_TRIALS = {
    "trial_order": re.compile(r"^(?:trial|order|trial (?:order|number|index)|order number of item|item number)$"),
    "response_time": re.compile(
        r"^(?:rt|(?:response|reaction) time|time taken to answer|(?:reaktions)?zeit)$"
        r"|^(?:(?:reactie|antwoord|respons)tijd|(?:antwort)?zeit|(?:antwort|reaktions)?dauer|(?:reaktions|svars)tid"
        r"|temps de r(?:éponse|éaction)|tiempo de (?:respuesta|reacción)|tempo d[ie] (?:risposta|reazione)"
        r"|tempo de (?:resposta|reação)|время (?:ответа|реакции)|反应时间?|反應時間?|反応時間|반응 ?시간)(?: ms)?$"
    ),
    "list": re.compile(r"^(?:(?:input )?liste?|latin square group)$"),
}
"""What is known of each judgment -> the names, in words, of columns that hold it."""
_GOOD = ("1", "true", "yes", "ok", "good", "acceptable", "grammatical", "correct", "g", "y", "t")
_ATTENTION = re.compile(r"\b(?:attention|catch|checks?\d*|instructed)\b")
_INSTRUCTION = re.compile(r"\bplease\b.*\d", re.IGNORECASE)
"""Of a sentence that tells which answer to give."""
_FILLER = re.compile(r"\bfillers?\b")
_MOST_FACTORS, _MOST_LEVELS = 3, 6
_ALIKE, _RARE, _USUAL = 0.65, 4, 0.75
"""From which likeness on a value misspells one that is so many times as frequent; share of a sentence's rows."""
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_CELL_OF_RATINGS = re.compile(r"\[?\s*\d+(?:\.\d+)?(?:\s*[,;|/ ]\s*\d+(?:\.\d+)?)+\s*\]?")
_SAMPLES, _LONGEST_SAMPLE = 3, 60
_MOST_ROWS = 5_000
"""Of results, from which their map is told."""


class Program(Declaration):
    name: str
    has: tuple[str, ...]
    rater: tuple[str, ...]
    rating: str
    kind: str
    of_ratings: str
    own: str = ".*"


@functools.cache
def programs() -> tuple[Program, ...]:
    tables = tomllib.loads(data_file("programs.toml").read_text(encoding="utf-8"))["programs"]
    return tuple(Program.of(table, where="programs.toml", error=CorpusError) for table in tables)


def map_of_results(header: Sequence[str], rows: Rows) -> tuple[str, str] | None:
    """Return the program that wrote a table, and its map; None if none is known or it holds no ratings of people."""
    known = next((known for known in programs() if {*known.has} <= {*header}), None)
    if known is None:
        return None
    rows = rows[:_MOST_ROWS]
    rater = next((name for name in known.rater if name in header), "")
    ratings = [name for name in header if re.fullmatch(known.rating, name)]
    ratings.sort(key=lambda name: not _RATING.search(words_of(name)))
    left = {*known.has, known.kind, *known.rater, *ratings} - {"sentence", "trial_index"}
    others = [name for name in header if name not in left and re.fullmatch(known.own, name)]
    sentence = _wordiest(others, rows)
    filled = [row for row in rows if any(_is_filled(row.get(name)) for name in ratings) and row.get(sentence)]
    kinds = [*dict.fromkeys(str(row.get(known.kind)) for row in filled if known.kind in header)]
    kinds = [kind for kind in kinds if re.fullmatch(known.of_ratings, kind)]
    kept = [row for row in filled if not kinds or str(row.get(known.kind)) in kinds]
    rating = next(filter(None, (_numeric(kept, name) for name in ratings)), "")
    if not rater or not rating:
        return None
    body = _map_of_sentences([rater, rating, *others], kept, rater, [], rating=rating)
    where = f"where = {{ {json.dumps(known.kind)} = {json.dumps(kinds)} }}\n" if kinds else ""
    body = body.replace("\n\n[columns]\n", f"\n{where}\n[columns]\n", 1)
    return known.name, f"# {known.name}\n{body}"


def _numeric(rows: Rows, name: str) -> str:
    """Return a column of numbers, or the path to the numbers in its JSON; "" where it holds neither."""
    if are_numbers(rows, name):
        return name
    cells = [value_at(row, name, "") for row in rows]
    keys = {key for cell in cells if isinstance(cell, str) for key in re.findall(r'"(\w+)":', cell)}
    keys |= {key for cell in cells if isinstance(cell, dict) for key in cell}
    for key in sorted(keys) if len(keys) == 1 else ():
        answers = [{key: value_at(row, f"{name}.{key}", "")} for row in rows]
        return f"{name}.{key}" if are_numbers(answers, key) else ""
    return ""


def _is_filled(cell: object) -> bool:
    return cell is not None and str(cell).strip() not in ("", "NULL", "null")


def proposed_map(header: Sequence[str], rows: Rows) -> str:
    """Return a column map for a table, filled in from the names of its columns and its first rows."""
    if (results := map_of_results(header, rows)) is not None:
        return results[1]
    of_raters = [name for name in header if _RATER.search(words_of(name)) and _repeats(rows, name)]
    one_each = len(of_raters) > 1 and all(are_numbers(rows, name) for name in of_raters)
    rater = "" if one_each else next(iter(of_raters), "") or _likely_rater(header, rows)
    sentences = [name for name in header if are_sentences(texts(rows, name))]
    sides = likely_sides(header, rows) if len(sentences) > 1 and not rater else None
    if sides is not None:
        decider = decider_of(header, rows, sides)
        if decider is not None or alike(rows, *sides) >= LEAST_ALIKE:
            return _map_of_pairs(header, rows, sides, decider)
    return _map_of_sentences(header, rows, rater, sentences)


def _likely_rater(header: Sequence[str], rows: Rows) -> str:
    """Return the column that tells the rows of each sentence apart, where sentences repeat; "" where there is none."""
    sentence = _wordiest(_of_sentences(header, rows), rows)
    said = [str(row.get(sentence) or "") for row in rows]
    if len({*said}) * 2 > len(said):
        return ""
    fitting = []
    for name in header:
        cells = [str(row.get(name) or "") for row in rows]
        tells_apart = len({*zip(said, cells, strict=True)}) == len(rows) and len({*cells}) * 3 <= len(rows)
        if tells_apart and "" not in cells and not _OF_A_TRIAL.search(words_of(name)):
            fitting.append(name)
    return min(fitting, key=lambda name: are_numbers(rows, name), default="")


def _map_of_pairs(header: Sequence[str], rows: Rows, sides: tuple[str, str], decider: Decider | None) -> str:
    columns = {"phenomenon": _first(header, _CLASS), "pair_id": _first(header, _ITEM)}
    if decider is None:
        return _toml("pairs", {"target_good": sides[0], "target_bad": sides[1], **columns}, {}, {})
    label = {"column": decider.column, "sides": [*sides], "first": decider.first, "second": decider.second}
    question = ""
    if not decider.is_certain:
        question = (
            f"# QUESTION: does {decider.column} = {decider.first!r} mean that {sides[0]!r} is the better one? Else "
            f"exchange first and second.\n{_samples(rows, [decider.column, *sides])}"
        )
    return question + _toml("pairs", columns, label, {})


def _map_of_sentences(
    header: Sequence[str], rows: Rows, rater: str, sentences: Sequence[str], *, rating: str = ""
) -> str:
    checks = _attention_rows(header, rows) if rater else []
    all_rows, rows = rows, [row for row in rows if row not in checks]
    numeric = [name for name in header if are_numbers(rows, name)]
    raters = [name for name in numeric if _RATER.search(words_of(name)) and name != rater]
    cell = "" if rater else next((name for name in header if _holds_ratings(texts(rows, name))), "")
    # a sentence is there once for each rater: its cells need not differ
    sentence = _wordiest(_of_sentences(header, rows) if rater else sentences, rows) or FILL_IN
    item = _item_column([name for name in header if name != sentence], rows)
    item = item or (_likely_item(header, rows, sentence) if rater else "")
    used = {sentence, rater, item, rating, *raters, cell}
    given = {name: {(str(row.get(rater)), str(row.get(name))) for row in rows} for name in header if rater}
    used |= {x for x, pairs in given.items() if len(pairs) == len(given[rater]) < len(rows)}  # a list, or an age
    free = [name for name in header if name not in used and not _OF_A_TRIAL.search(words_of(name))]
    design = _likely_design(free, rows, item, sentence) or _likely_design(
        free, _respelled(free, rows, sentence), item, sentence
    )
    used |= {*design.get("factors", ())}
    label, good, bad = _likely_label([name for name in header if name not in used], rows)
    if (design or rating) and good == [FILL_IN]:
        label, good = "", []
    ratings = [name for name in numeric if name not in {*used, label} and _RATING.search(words_of(name))]
    others = [name for name in numeric if name not in {*used, label} and not _OF_A_TRIAL.search(words_of(name))]
    if len(others) > 1:  # a time is on no scale
        others = [name for name in others if _likely_scale([row.get(name) for row in rows]) != "unstated"]
    rating = rating or (ratings[0] if ratings else others[0] if rater and len(others) == 1 else "")
    labels_of = Counter(x for x, _ in {(str(row.get(item)), str(row.get(label))) for row in rows}).values()
    is_long = bool(item and label and not design) and [*labels_of].count(2) * 2 > len(labels_of)
    columns = {"sentence": sentence, "item" if is_long or rater or design else "pair_id": item}
    columns |= {"rater": rater, "rating": rating or FILL_IN} if rater else {"human": rating}
    if rater:
        filled = [name for name in header if any(_is_filled(row.get(name)) for row in rows)]
        of_trials = {name: _first(filled, pattern) for name, pattern in _TRIALS.items()}
        columns["trial_order"] = _trial_order(numeric, all_rows, columns)
        columns |= {name: x for name, x in of_trials.items() if name == "list" or are_numbers(rows, x)}
    columns["phenomenon"] = _first([name for name in header if name not in used], _CLASS)
    individual: dict[str, Any] = {"columns": raters} if len(raters) > 1 else {"cell": cell} if cell else {}
    if rater or individual:
        columns.pop("human", None)
        names = raters or [cell or rating]
        individual["scale"] = _likely_scale([row.get(name) for row in all_rows for name in names])
        if checks and item and rating:
            individual["attention"] = _attention(checks, item, rating, sentence)
    labelled = {"column": label, "good": good, "bad": bad} if label else {}
    questions = [
        f"# QUESTION: which column holds {what}? Put its name in place of {FILL_IN}.\n"
        for what, column in (("the sentences", sentence), ("the ratings", columns.get("rating")))
        if column == FILL_IN
    ]
    if good == [FILL_IN]:
        questions.append(f"# QUESTION: which value of {label!r} means acceptable (good)? Or delete [label].\n")
    asked = "".join(questions) + (_samples(rows, header) if questions else "")
    if design:
        design["levels"] = _highest_first(design["levels"], rows, raters or [rating])
    if design and "phenomenon" in columns and columns["phenomenon"]:
        design["by"] = [columns["phenomenon"]]
    return asked + _toml("long" if is_long else "sentences", columns, labelled, individual, design)


def _highest_first(levels: Mapping[str, list[str]], rows: Rows, ratings: Sequence[str]) -> dict[str, list[str]]:
    """Return the levels of each factor by their mean rating, so that the baseline is first; as they are without one."""
    if not all(are_numbers(rows, name) for name in ratings):
        return {**levels}
    means: dict[tuple[str, str], float] = {}
    for factor, known in levels.items():
        for level in known:
            of_level = [row for row in rows if str(row.get(factor) or "").strip() == level]
            values = [float(str(row[name]).replace(",", ".")) for row in of_level for name in ratings if row.get(name)]
            means[factor, level] = sum(values) / len(values) if values else 0.0
    return {name: sorted(known, key=lambda level: -means[name, level]) for name, known in levels.items()}


def _samples(rows: Rows, header: Sequence[str]) -> str:
    lines = (" | ".join(f"{x}: {str(row.get(x))[:_LONGEST_SAMPLE]}" for x in header) for row in rows[:_SAMPLES])
    return "".join("#   " + re.sub(r"[\x00-\x1f\x7f]", " ", line) + "\n" for line in lines)


def tried_map(table: Path, body: str, *, encoding: str | None = None, results: Table | None = None) -> str:
    """Return, as a comment, what a map reads of a table: how many items, which rows are left out; or why it cannot."""
    if FILL_IN in body:
        return "# Not tried on the table, since a question is open.\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tried.toml"
        write_text(path, body)
        try:
            options = TabularOptions(map=read_map(path), encoding=encoding, table=results)
            corpus, files = tabular_corpus(table, options)
            n_items = sum(1 for _ in corpus.rows(files, BuildOptions()))
            reading = corpus.metadata(files)[READING]
        except PairbankError as error:
            lines = str(error).replace(str(path), "this map").splitlines()
            return "".join(f"# {line}\n" for line in ("QUESTION: the table cannot be read by this map:", *lines[:6]))
    told = "left out|lack a condition|not kept, since they differ"
    notes = [note for note in reading if re.search(told, note)] if isinstance(reading, list) else []
    notes += ["trial_order, response_time and list under [columns] keep them"] if "differ" in str(notes) else []
    return f"# Tried on the table: {'; '.join([f'{n_items:,} items', *notes])}.\n"


def _toml(
    layout: str,
    columns: Mapping[str, str],
    label: Mapping[str, Any],
    ratings: Mapping[str, Any],
    design: Mapping[str, Any] | None = None,
) -> str:
    tables = {"columns": {name: column for name, column in columns.items() if column}, "label": label}
    rest = {key: value for key, value in ratings.items() if key != "attention"}
    heads = [(f"[{name}]", table) for name, table in (tables | {"ratings": rest}).items()]
    heads += [("[[ratings.attention]]", rule) for rule in ratings.get("attention", ())]
    nested = {f"[design.{name}]": table for name, table in (design or {}).items() if isinstance(table, dict)}
    heads += [("[design]", {k: v for k, v in (design or {}).items() if not isinstance(v, dict)}), *nested.items()]
    lines = [f'layout = "{layout}"']
    for head, table in heads:
        if table:
            keys = {key: key if _BARE_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False) for key in table}
            lines += ["", head]
            lines += [f"{keys[key]} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


def _attention_rows(header: Sequence[str], rows: Rows) -> list[Mapping[str, Any]]:
    """Return the rows that look like attention checks, by their item, condition or sentence; none of most rows."""
    named = [name for name in header if not _RATER.search(words_of(name)) and not are_numbers(rows, name)]
    patterns = {name: _INSTRUCTION if _mean_words(rows, name) > 2 else _ATTENTION for name in named}
    checks = [row for row in rows if any(x.search(words_of(str(row.get(n) or ""))) for n, x in patterns.items())]
    return checks if len(checks) * 2 < len(rows) else []


def _attention(checks: Rows, item: str, rating: str, sentence: str) -> list[dict[str, Any]]:
    """Return a rule for each attention check: the answer that its sentence asks for, else the one that most gave."""
    by_item: dict[str, list[Mapping[str, Any]]] = {}
    for row in checks:
        by_item.setdefault(str(row.get(item)), []).append(row)
    rules = []
    for value, same in by_item.items():
        stated = re.findall(r"\d+", str(same[0].get(sentence) or ""))
        usual = Counter(str(row.get(rating)).strip() for row in same).most_common(1)[0][0]
        expected = stated[-1] if stated else usual
        if expected.isdigit():
            rules.append({"column": item, "values": [value], "at_least": int(expected), "at_most": int(expected)})
    return rules


def _first(header: Sequence[str], pattern: re.Pattern[str]) -> str:
    return next((name for name in header if pattern.search(words_of(name))), "")


def _item_column(header: Sequence[str], rows: Rows) -> str:
    """Return the column of items, the shortest name first: `item` before `item type`, which has two values."""
    named = [name for name in header if _ITEM.search(words_of(name)) and _repeats(rows, name)]
    several = [name for name in named if len({str(row.get(name)) for row in rows}) > 2]
    return min(several or named, key=lambda name: len(words_of(name).split()), default="")


def _likely_item(header: Sequence[str], rows: Rows, sentence: str) -> str:
    """Return the column of which each sentence has one value, and shares it with others; "" where there is none."""
    pairs = {name: {(str(row.get(sentence)), str(row.get(name))) for row in rows} for name in header}
    n = len(pairs.pop(sentence, ()))
    shared = {name: len({value for _, value in known}) for name, known in pairs.items() if len(known) == n}
    return max((name for name, x in shared.items() if _MOST_LEVELS < x < n), key=shared.__getitem__, default="")


def _likely_design(names: Sequence[str], rows: Rows, item: str, sentence: str) -> dict[str, Any]:
    """Return the factors that are crossed within items, their levels, and what marks fillers; nothing of mere pairs.

    >>> rows = [{"item": i, "sentence": f"{s} {d} {i}.", "s": s, "d": d} for i in "12" for s in "xy" for d in "vw"]
    >>> _likely_design(["s", "d"], rows, "item", "sentence")
    {'factors': ['s', 'd'], 'levels': {'s': ['x', 'y'], 'd': ['v', 'w']}}
    """
    texts_of = {name: [str(row.get(name) or "").strip() for row in rows] for name in {*names, item, sentence} - {""}}
    fillers = {name: sorted({x for x in texts_of[name] if _FILLER.search(words_of(x))}) for name in names}
    marked = next((name for name, values in fillers.items() if values), "")
    if not marked:  # what is in no condition has empty cells there
        empty = [{place for place, cell in enumerate(texts_of[name]) if not cell} for name in names]
        for column, value in ((name, value) for name in names for value in sorted({*texts_of[name]} - {""})):
            if {place for place, cell in enumerate(texts_of[column]) if cell == value} in empty:
                marked, fillers[column] = column, [value]
    kept = [place for place in range(len(rows)) if not marked or texts_of[marked][place] not in fillers[marked]]
    cells = {name: [values[place] for place in kept] for name, values in texts_of.items()}
    if not kept or item not in cells or sentence not in cells:
        return {}
    levels = {name: list(dict.fromkeys(cells[name])) for name in names}
    candidates = [
        name
        for name in names
        if 1 < len(levels[name]) <= _MOST_LEVELS
        and "" not in levels[name]
        and len({*zip(cells[sentence], cells[name], strict=True)}) == len({*cells[sentence]})
        and len({*zip(cells[item], cells[name], strict=True)}) > 1.5 * len({*cells[item]})
    ]
    for n_factors in range(min(_MOST_FACTORS, len(candidates)), 0, -1):
        for factors in itertools.combinations(candidates, n_factors):
            combined = [*zip(*(cells[name] for name in factors), strict=True)]
            n_cells = math.prod(len(levels[name]) for name in factors)
            of_items = {*zip(cells[item], combined, strict=True)}
            if n_cells > 2 and len({*combined}) == n_cells and len(of_items) == len({*cells[sentence]}):
                found = {"factors": [*factors], "levels": {name: levels[name] for name in factors}}
                return found | ({"fillers": {marked: fillers[marked]}} if marked else {})
    return {}


def _respelled(names: Sequence[str], rows: Rows, sentence: str) -> list[dict[str, str]]:
    """Return columns with rare values as those that the sentence's other rows have, or that they seem to misspell."""
    cells = [{name: str(row.get(name) or "").strip() for name in {*row, *names, sentence}} for row in rows]
    n_of_sentence = Counter(row[sentence] for row in cells)
    shared = Counter((row[sentence], name, row[name]) for row in cells for name in names)
    usual = {(text, name): value for (text, name, value), n in shared.items() if n >= _USUAL * n_of_sentence[text]}
    cells = [row | {name: usual.get((row[sentence], name), row[name]) for name in names} for row in cells]
    meant: dict[tuple[str, str], str] = {}
    for name in names:
        n_of = Counter(row[name] for row in cells)
        for value, n in n_of.items() if len(n_of) <= 2 * _MOST_LEVELS else ():
            more = {x.casefold(): x for x, m in n_of.items() if x and m >= _RARE * n}
            for likely in difflib.get_close_matches(value.casefold(), [*more], n=1, cutoff=_ALIKE):
                meant[name, value] = more[likely]
    return [{name: meant.get((name, cell), cell) for name, cell in row.items()} for row in cells]


def _trial_order(names: Sequence[str], rows: Rows, columns: Mapping[str, str]) -> str:
    """Return the column that numbers each rater's rows, some of which may be lacking, and no sentences; else ""."""
    by_rater: dict[object, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_rater.setdefault(row.get(columns["rater"]), []).append(row)
    whole = [x for who, x in by_rater.items() if who != rows[-1].get(columns["rater"])]  # the last one's may go on
    n_sentences = len({row.get(columns["sentence"]) for row in rows})
    for name in (name for name in names if whole and name not in columns.values()):
        numbers = [{str(row.get(name)) for row in of_rater} for of_rater in whole]
        is_of_sentence = len({(row.get(columns["sentence"]), row.get(name)) for row in rows}) == n_sentences
        sizes = zip(numbers, map(len, whole), strict=True)
        if not is_of_sentence and all(len(x) == n and x <= {*map(str, range(1, 5 * n // 4 + 1))} for x, n in sizes):
            return name
    return ""


def _repeats(rows: Rows, name: str) -> bool:
    cells = [str(row.get(name)) for row in rows]
    return len(set(cells)) < len(cells)


def _holds_ratings(cells: Sequence[str]) -> bool:
    return bool(cells) and all(_CELL_OF_RATINGS.fullmatch(cell.strip()) for cell in cells)


def _of_sentences(header: Sequence[str], rows: Rows) -> list[str]:
    return [name for name in header if are_sentences(list(dict.fromkeys(texts(rows, name))))]


def _wordiest(names: Sequence[str], rows: Rows) -> str:
    return max(names, key=lambda name: _mean_words(rows, name), default="")


def _mean_words(rows: Rows, name: str) -> float:
    cells = texts(rows, name)
    return sum(len(cell.split()) for cell in cells) / len(cells) if cells else 0.0


def _likely_label(names: Sequence[str], rows: Rows) -> tuple[str, list[str], list[str]]:
    """Return the column that says which sentence is acceptable, and its values that say so and that do not."""
    for name in (x for x in names if verdict(x) or _LABELLED.search(words_of(x))):
        values = sorted({str(row.get(name)).strip() for row in rows if str(row.get(name) or 0).strip()})
        good = [value for value in values if value.casefold() in _GOOD or verdict(value) == "better"]
        if len(values) == 2 and len(good) == 1:
            bad = [value for value in values if value not in good]
            return (name, bad, good) if verdict(name) == "worse" else (name, good, bad)
        if len(values) == 2:
            return name, [FILL_IN], [FILL_IN]
    return "", [], []


def _likely_scale(cells: Sequence[object]) -> str:
    """Return the scale that whole numbers from 0 or 1 look like, else "unstated".

    >>> _likely_scale(["1", 6]), _likely_scale([3, 5]), _likely_scale(["0.5"]), _likely_scale(["4,2"])
    ('likert7', 'likert5', 'unstated', 'likert5')
    >>> _likely_scale([0, 6, 3])
    'likert0-6'
    """
    points = [float(number) for cell in cells for number in re.findall(r"-?\d+(?:\.\d+)?", str(cell))]
    if not points or min(points) < 0 or any(not point.is_integer() for point in points) or max(points) > 10:
        return "unstated"
    if 0 in points:
        return f"likert0-{next(top for top in (4, 6, 10) if max(points) <= top)}" if max(points) > 1 else "unstated"
    return f"likert{next(top for top in (5, 7, 10) if max(points) <= top)}"
