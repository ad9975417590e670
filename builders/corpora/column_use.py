"""What the cells of a user's columns look like: sentences, numbers, ids or labels; and which two may be a pair.

In: the names of columns and the first rows. Out: why a column holds no sentences, the two columns that most likely hold
the sides of a pair, and what is to be said of columns that were not used. Nothing here decides how a file is read:
it doubts, and words what to type.
"""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

_WORSE = re.compile(
    r"un ?gramm|agramm|ongramm|ogramm|un ?accept|inaccept|inacept|inaccett|in ?corr|inkorr|implaus|un ?plaus|anomal"
    r"|ill ?form|dispref|reject|violat|virheell|niepopraw|błędn|неграм|неправ|неверн|плох|ошиб|hatalı|yanlış"
    r"|错|錯|誤|误|非文|不可|不合|不好|不正|비문|خطأ|^\*"
    r"|\b(?:not|non|no|nicht|pas|niet|nie|inte|ikke|bad|worse|worst|wrong|false|negative|neg|starred|falsch|schlecht"
    r"|schlechter|schlechtes?|schlechten|fehler|faux|fausse|mauvaise?|pire|mal[oa]?|peor|errat[oa]|sbagliat[oa]|peggiore|fout|slecht"
    r"|slechter|onjuist|fel|dålig|väärä|zły|gorszy)\b"
)
_BETTER = re.compile(
    r"gramm|accept|acept|accett|corr|korr|plaus|well ?form|chosen|prefer|правил|верн|грамм|хорош|doğru"
    r"|正|对|對|好|合法|정문|صحيح"
    r"|\b(?:good|better|best|true|positive|pos|richtig|gut|gute[rsn]?|besser|bon|bonne|meilleure?|bueno|buena|mejor|buon[oa]"
    r"|migliore|goed|beter|rätt|bra|oikea|dobry|lepszy)\b"
)


def verdict(name: str) -> str:
    """Return "worse" or "better" if a name says it, else "".

    >>> [verdict(name) for name in ("Ungrammatisch", "is_correct", "left", "不正确", "not grammatical")]
    ['worse', 'better', '', 'worse', 'worse']
    """
    words = words_of(name)
    return "worse" if _WORSE.search(words) else "better" if _BETTER.search(words) else ""


def words_of(name: str) -> str:
    """Return a name as lower-case words.

    >>> words_of("isCorrect_now")
    'is correct now'
    """
    return re.sub(r"[\s_.-]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)).strip().casefold()


_LETTERS = re.compile(r"[^\W\d_]")
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?")
_CODE = re.compile(r"\S*\d\S*")
_SENTENCE_END = re.compile(r"[.!?。！？…][\"'”’»」)]*\s*$")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_RATING = re.compile(
    r"mittel|mean|average|rating|score|judge?ment|bewertung|urteil|akzept|accept|human|likert|moyenne|jugement|media|"
    r"juicio|punteggio|оценк|评分|評価|z wert|\bmw\b|\bmos\b"
)
_CLASS = re.compile(r"ph[äae]?nom|fenom|fenóm|phénom|construction|konstruktion|category|kategorie|现象|現象")
_MOST_LABELS = 10
_LEAST_ALIKE = 0.3
"""Two columns whose rows share fewer of their words are hardly the sides of minimal pairs."""
_ROWS_COMPARED = 50
_MOST_NAMED = 8


def texts(rows: Sequence[Mapping[str, Any]], name: str) -> list[str]:
    """Return the cells of a column that hold text."""
    return [cell for row in rows if isinstance(cell := row.get(name), str) and cell.strip()]


def not_sentences(cells: Sequence[str], others: Sequence[str]) -> str:
    """Return what cells hold that are numbers or ids; "" where they may be sentences.

    >>> not_sentences(["1", "2,5"], []), not_sentences(["s1", "s2"], ["A b.", "C d."]), not_sentences(["A."], [])
    ("numbers ('1', '2,5')", "ids ('s1', 's2')", '')
    """
    if cells and all(_NUMBER.fullmatch(cell.strip()) for cell in cells):
        return f"numbers ({_some(cells)})"
    is_code = [bool(_CODE.fullmatch(cell.strip())) for cell in cells]
    if cells and all(is_code) and any(" " in cell.strip() for cell in others):
        return f"ids ({_some(cells)})"
    return ""


def labels(cells: Sequence[str], others: Sequence[str]) -> str:
    """Return the few short values that cells repeat beside sentences that differ; "" where they do not."""
    values = set(cells)
    few = 0 < len(values) * 4 <= len(cells) and len(values) < min(_MOST_LABELS, len(set(others)))
    return f"{len(values)} values over and over ({_some(cells)})" if few and max(map(_n_words, values)) < 3 else ""


def single_words(cells: Sequence[str], others: Sequence[str]) -> str:
    """Return single words that stand beside whole sentences; "" where cells are no such words.

    >>> single_words(["Kasus", "Genus"], ["Ich helfe dem Kind.", "Das Kind schläft nicht."])
    "single words ('Kasus', 'Genus')"
    >>> single_words(["Geh!", "Lauf!"], ["Ich helfe dem Kind.", "Das Kind schläft nicht."])
    ''
    """
    words = all(_n_words(cell) == 1 and not _SENTENCE_END.search(cell) and not _UNSPACED.search(cell) for cell in cells)
    beside = bool(others) and all(_n_words(cell) > 2 for cell in others)
    return f"single words ({_some(cells)})" if cells and words and beside else ""


def likely_sides(
    header: Sequence[str], rows: Sequence[Mapping[str, Any]], *, given: str | None = None
) -> tuple[str, str] | None:
    """Return the two columns that most look like the sides of a pair, by its names or its order the better one first.

    Their cells are sentences (else at least texts), and the two of a row are alike but not the same.
    """
    others = [name for name in header if name != given]
    for likely in (_are_sentences, _are_texts):
        results = [name for name in others if likely(texts(rows, name))]
        pairs = itertools.combinations(results, 2) if given is None else ((given, name) for name in results)
        ranked = sorted(((_alike(rows, *pair), pair) for pair in pairs), key=lambda entry: -entry[0])
        if ranked and (ranked[0][0] >= _LEAST_ALIKE or likely is _are_texts):
            first, second = ranked[0][1]
            is_turned = verdict(first) == "worse" or (verdict(second) == "better" and verdict(first) != "better")
            return (second, first) if is_turned and given is None else (first, second)
    return None


def not_used(header: Sequence[str], rows: Sequence[Mapping[str, Any]], used: Mapping[str, str]) -> str:
    """Return what is to be said of columns that the schema does not get, "" if there are none."""
    unused = [name for name in header if name not in used.values()]
    if not unused:
        return ""
    more = f" and {len(unused) - _MOST_NAMED} more" if len(unused) > _MOST_NAMED else ""
    hints = (_ratings_hint(unused, rows, used), _class_hint(unused, rows, used))
    requested = "".join(f"; {hint}" for hint in hints if hint)
    return f"not used, only kept: {', '.join(map(repr, unused[:_MOST_NAMED]))}{more}{requested}"


def further_options(header: Sequence[str], rows: Sequence[Mapping[str, Any]], used: Mapping[str, str]) -> str:
    """Return the options for mean ratings and classes that a table seems to have, "" if it seems to have none."""
    unused = [name for name in header if name not in used.values()]
    hints = (_class_hint(unused, rows, used), _ratings_hint(unused, rows, used))
    return " ".join(hint.partition("type ")[2] for hint in hints if hint)


def _ratings_hint(unused: Sequence[str], rows: Sequence[Mapping[str, Any]], used: Mapping[str, str]) -> str:
    if used.keys() & {"human_good", "human_bad"}:
        return ""
    results = [name for name in unused if _RATING.search(words_of(name)) and _are_numbers(rows, name)]
    sides = {verdict(name): name for name in results}
    if not results or len(results) > 2 or (len(results) == 1 and not verdict(results[0])):
        return ""
    pairs = [("human_good", sides.get("better")), ("human_bad", sides.get("worse"))]
    if len(results) == 2 and not all(name for _, name in pairs):
        pairs = list(zip(("human_good", "human_bad"), results, strict=True))
    return f"ratings? type {_options([(entry, name) for entry, name in pairs if name])}"


def _class_hint(unused: Sequence[str], rows: Sequence[Mapping[str, Any]], used: Mapping[str, str]) -> str:
    results = [name for name in unused if _CLASS.search(words_of(name)) and not _are_numbers(rows, name)]
    return (
        "" if "phenomenon" in used or len(results) != 1 else f"classes? type {_options([('phenomenon', results[0])])}"
    )


def _options(pairs: Sequence[tuple[str, str]]) -> str:
    return " ".join(f"--column {shlex.quote(f'{name}={column}')}" for name, column in pairs)


def _are_numbers(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    cells = [cell for row in rows if (cell := row.get(name)) is not None and str(cell).strip()]
    return bool(cells) and all(
        isinstance(cell, int | float) or _NUMBER.fullmatch(str(cell).strip()) is not None for cell in cells
    )


def _are_texts(cells: Sequence[str]) -> bool:
    """Return whether cells have letters, and are neither numbers nor ids."""
    is_text = [bool(_LETTERS.search(cell)) and not _CODE.fullmatch(cell.strip()) for cell in cells]
    return bool(cells) and sum(is_text) * 5 >= len(cells) * 4


def _are_sentences(cells: Sequence[str]) -> bool:
    """Return whether most cells have several words, or end as sentences do, and most differ from each other."""
    like = [_n_words(cell) > 1 or bool(_SENTENCE_END.search(cell) or _UNSPACED.search(cell)) for cell in cells]
    return _are_texts(cells) and sum(like) * 5 >= len(cells) * 4 and len(set(cells)) * 2 > len(cells)


def _alike(rows: Sequence[Mapping[str, Any]], first: str, second: str) -> float:
    """Return which share of their words the two cells of a row have in common; 0 where most are the same."""
    pairs = [(str(row.get(first) or ""), str(row.get(second) or "")) for row in rows[:_ROWS_COMPARED]]
    if not pairs or sum(entry != other for entry, other in pairs) * 2 < len(pairs):
        return 0.0
    return sum(_shared(*pair) for pair in pairs) / len(pairs)


def _shared(first: str, second: str) -> float:
    ours, theirs = (Counter(text if _UNSPACED.search(text) else text.casefold().split()) for text in (first, second))
    return 2 * (ours & theirs).total() / ((ours.total() + theirs.total()) or 1)


def _n_words(text: str) -> int:
    return len(text.split())


def _some(cells: Sequence[str]) -> str:
    return ", ".join(repr(cell) for cell in list(dict.fromkeys(cells))[:3])


_RATER = re.compile(
    r"\b(?:participants?|subjects?|subj|raters?|annotators?|workers?|informants?|persons?|judge|user|prolific|vpn?|tn|"
    r"teilnehmer(?:in)?|versuchspersone?n?|proband(?:in)?s?|sujet|participant[ei]s?|partecipante|deelnemer)\b"
    r"|被试|参加者|участник|испытуем"
)
_ITEM = re.compile(r"\b(?:items?|itm|pairs?|stimulus|stimuli|set)\b|项目")
_LABELLED = re.compile(r"\b(?:labels?|gold|judge?ment|acceptability|grammaticality|condition|type|ok)\b")
_OF_A_TRIAL = re.compile(r"\b(?:trial|order|list|age|rt|time|zeit|alter|no|nr|id|index|position|block)\b")
_GOOD = ("1", "true", "yes", "ok", "good", "acceptable", "grammatical", "correct", "ja", "oui", "g", "y", "t")
_ATTENTION = re.compile(r"\b(?:attention|catch|checks?\d*|instructed|aufmerksamkeit\w*)\b|注意")
"""Of the id or condition of an attention check."""
_INSTRUCTION = re.compile(r"\b(?:please|bitte|veuillez|s'il vous|por favor|per favore)\b.*\d|请.*\d", re.IGNORECASE)
"""Of a sentence that tells which answer to give."""
_CELL_OF_RATINGS = re.compile(r"\[?\s*\d+(?:\.\d+)?(?:\s*[,;|/ ]\s*\d+(?:\.\d+)?)+\s*\]?")


def proposed_map(header: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a column map for a table, filled in from the names of its columns and its first rows, to be checked.

    >>> rows = [{"s": "Dogs bark.", "ok": 1}, {"s": "Dogs barks loudly.", "ok": 0}]
    >>> print(proposed_map(["s", "ok"], rows))
    layout = "sentences"
    <BLANKLINE>
    [columns]
    sentence = "s"
    <BLANKLINE>
    [label]
    column = "ok"
    good = ["1"]
    bad = ["0"]
    <BLANKLINE>
    """
    words = {name: words_of(name) for name in header}
    rater = next((name for name in header if _RATER.search(words[name]) and _repeats(rows, name)), "")
    checks = _attention_rows(header, rows, words) if rater else []
    all_rows, rows = rows, [row for row in rows if row not in checks]
    numeric = [name for name in header if _are_numbers(rows, name)]
    raters = [name for name in numeric if _RATER.search(words[name]) and name != rater]
    cell = next((name for name in header if _holds_ratings(texts(rows, name))), "")
    sentences = [name for name in header if _are_sentences(texts(rows, name))]
    sentences = sentences or [name for name in header if _are_texts(texts(rows, name)) and _mean_words(rows, name) > 1]
    sides = likely_sides(header, rows) if len(sentences) > 1 and not rater else None
    if sides is not None and _alike(rows, *sides) >= _LEAST_ALIKE:
        more = {"phenomenon": _first(header, _CLASS, words), "pair_id": _first(header, _ITEM, words)}
        return _toml("pairs", {"target_good": sides[0], "target_bad": sides[1], **more}, {}, {})
    sentence = max(sentences, key=lambda name: _mean_words(rows, name), default="FILL_IN")
    item = next((name for name in header if _ITEM.search(words[name]) and _repeats(rows, name)), "")
    used = {sentence, rater, item, *raters, cell}
    label, good, bad = _likely_label([name for name in header if name not in used], rows, words)
    ratings = [name for name in numeric if name not in {*used, label} and _RATING.search(words[name])]
    others = [name for name in numeric if name not in {*used, label} and not _OF_A_TRIAL.search(words[name])]
    rating = ratings[0] if ratings else others[0] if rater and len(others) == 1 else ""
    is_long = bool(item and label) and _both_in_each(rows, item, label)
    columns = {"sentence": sentence, "item" if is_long or rater else "pair_id": item}
    columns |= {"rater": rater, "rating": rating} if rater and rating else {"human": rating}
    columns |= {"phenomenon": next((name for name in header if _CLASS.search(words[name]) and name not in used), "")}
    individual: dict[str, Any] = {"columns": raters} if len(raters) > 1 else {"cell": cell} if cell else {}
    if (rater and rating) or individual:
        columns.pop("human", None)
        names = raters or [cell or rating]
        individual["scale"] = _likely_scale([row.get(name) for row in all_rows for name in names])
        if checks and item and rating:
            individual["attention"] = _attention(checks, item, rating, sentence)
    labelled = {"column": label, "good": good, "bad": bad} if label else {}
    return _toml("long" if is_long else "sentences", columns, labelled, individual)


def _toml(layout: str, columns: Mapping[str, str], label: Mapping[str, Any], ratings: Mapping[str, Any]) -> str:
    tables = {
        "columns": {name: column for name, column in columns.items() if column},
        "label": label,
        "ratings": ratings,
    }
    lines = [f'layout = "{layout}"']
    for name, table in tables.items():
        entries = [
            (f"[[{name}.{key}]]", entry) for key, value in table.items() if key == "attention" for entry in value
        ]
        for head, entry in [(f"[{name}]", table), *entries] if table else ():
            lines += [
                "",
                head,
                *(
                    f"{key} = {json.dumps(value, ensure_ascii=False)}"
                    for key, value in entry.items()
                    if key != "attention"
                ),
            ]
    return "\n".join(lines) + "\n"


def _attention_rows(
    header: Sequence[str], rows: Sequence[Mapping[str, Any]], words: Mapping[str, str]
) -> list[Mapping[str, Any]]:
    """Return the rows that look like attention checks, by their item, condition or sentence; none of most rows."""
    named = [name for name in header if not _RATER.search(words[name]) and not _are_numbers(rows, name)]
    sentences = {name for name in named if _mean_words(rows, name) > 2}
    checks = [
        row
        for row in rows
        if any(
            (_INSTRUCTION if name in sentences else _ATTENTION).search(words_of(str(row.get(name) or "")))
            for name in named
        )
    ]
    return checks if len(checks) * 2 < len(rows) else []


def _attention(checks: Sequence[Mapping[str, Any]], item: str, rating: str, sentence: str) -> list[dict[str, Any]]:
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


def _first(header: Sequence[str], pattern: re.Pattern[str], words: Mapping[str, str]) -> str:
    return next((name for name in header if pattern.search(words[name])), "")


def _repeats(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    cells = [str(row.get(name)) for row in rows]
    return len(set(cells)) < len(cells)


def _holds_ratings(cells: Sequence[str]) -> bool:
    return bool(cells) and all(_CELL_OF_RATINGS.fullmatch(cell.strip()) for cell in cells)


def _mean_words(rows: Sequence[Mapping[str, Any]], name: str) -> float:
    cells = texts(rows, name)
    return sum(_n_words(cell) for cell in cells) / len(cells) if cells else 0.0


def _likely_label(
    names: Sequence[str], rows: Sequence[Mapping[str, Any]], words: Mapping[str, str]
) -> tuple[str, list[str], list[str]]:
    """Return the column that says which sentence is acceptable, and its values that say so and that do not."""
    for name in sorted(names, key=lambda entry: not (verdict(entry) or _LABELLED.search(words[entry]))):
        values = sorted({str(row.get(name)).strip() for row in rows if str(row.get(name) or 0).strip()})
        good = [member for member in values if member.casefold() in _GOOD or verdict(member) == "better"]
        if len(values) == 2 and len(good) == 1 and (verdict(name) or _LABELLED.search(words[name])):
            bad = [value for value in values if value not in good]
            return (name, bad, good) if verdict(name) == "worse" else (name, good, bad)
    return "", [], []


def _both_in_each(rows: Sequence[Mapping[str, Any]], item: str, label: str) -> bool:
    """Return whether most items have rows of both labels."""
    values: dict[str, set[str]] = {}
    for row in rows:
        values.setdefault(str(row.get(item)), set()).add(str(row.get(label)))
    return sum(len(value) == 2 for value in values.values()) * 2 > len(values)


def _likely_scale(cells: Sequence[object]) -> str:
    """Return the scale that whole numbers from 1 look like, else "unstated".

    >>> _likely_scale(["1", 6]), _likely_scale([3, 5]), _likely_scale(["0.5"]), _likely_scale(["4,2"])
    ('likert7', 'likert5', 'unstated', 'likert5')
    """
    results = [float(number) for cell in cells for number in re.findall(r"-?\d+(?:\.\d+)?", str(cell))]
    if not results or min(results) < 1 or any(not number.is_integer() for number in results) or max(results) > 10:
        return "unstated"
    return f"likert{next(top for top in (5, 7, 10) if max(results) <= top)}"
