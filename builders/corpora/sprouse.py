"""Sprouse et al. 2016: island effects in English and Italian, 2 x 2 designs with every rating. Files in, items out.

Codes of the English results are cells of the workbook's sheets, each before its sentence. Italian materials count item
sets through, the results 1 to 8 within each design: their order is taken to be the same. Fillers are items without a
condition.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from pairbank.builders.corpora.corpus import BuildOptions, is_requested, item_of
from pairbank.builders.corpora.declared import declared_with_ratings
from pairbank.builders.ratings import Rated, Raters, judged, rating_of
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.readers import decode, records
from pairbank.builders.sources.sheets import read_sheet
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError

SPACES = "repaired:spaces"
"""Flag: the workbook has spaces before or behind the sentence."""
LANGUAGES = {"english": "en", "italian": "it"}
ISLANDS = {"whe": "whether", "wh": "wh", "np": "complex NP", "sub": "subject", "adj": "adjunct"}
STRUCTURES, DISTANCES = {"non": "non-island", "isl": "island"}, {"sh": "short", "lg": "long"}
COLUMNS = ("subject", "survey", "judgment", "item", "order")
_CODE = re.compile(r"(WH|RC)\.(whe|wh|np|sub|adj)\.(non|isl)\.(sh|lg)\.(\d\d)")
_FILLER = re.compile(r"F\.\d+\.U?G")
_N_OF_A_DESIGN = 8


def _english(file: LocatedFile) -> dict[str, str]:
    """Return code -> sentence; fillers have the number of the survey before their code."""
    codes = {}
    for survey in "1234":
        for sheet in (f"Exp {survey} Materials", f"Fillers {survey}"):
            for _, cells in read_sheet(file.path, sheet).rows:
                for place, cell in enumerate(cells):
                    code = cell.strip()
                    if _CODE.fullmatch(code) or _FILLER.fullmatch(code):
                        key = f"{survey}.{code}" if code.startswith("F") else code
                        codes[key] = next(filter(None, cells[place + 1 :]), "")
    return codes


def _italian(file: LocatedFile) -> dict[str, str]:
    codes = {code: text for _, (_, code, text, *_) in read_sheet(file.path, "Fillers").rows[1:]}
    for _, (island, clause, distance, structure, number, text, *_) in read_sheet(file.path, "Stimuli").rows[1:]:
        kind = island.casefold().split()[0]
        short = {"adjunct": "adj", "complex": "np", "subject": "sub", "whether": "whe", "wh": "wh"}[kind]
        cell = f"{'non' if structure.startswith('non') else 'isl'}.{'sh' if distance == 'Short' else 'lg'}"
        codes[f"{clause}.{short}.{cell}.{(int(number) - 1) % _N_OF_A_DESIGN + 1:02d}"] = text
    return codes


def _judgments(file: LocatedFile) -> Iterator[tuple[int, str, str, str, str, str]]:
    """Yield row, participant, survey, code, rating and place in the session; lines of comments are above the header."""
    lines = decode(file.path.read_bytes(), str(file.path)).splitlines(keepends=True)
    start = next((n for n, line in enumerate(lines) if line.startswith(COLUMNS[0])), 0)
    rows = records(lines[start:], where=str(file.path), delimiter=",")
    _, header = next(rows, (0, []))
    if missing := [name for name in COLUMNS if name not in header]:
        raise CorpusError(f"{file.path}, row {start + 1}: missing column(s) {', '.join(missing)}; get the file again")
    who, survey, judgment, item, order = (header.index(name) for name in COLUMNS)
    for number, cells in rows:
        yield start + number, cells[who], cells[survey][:1], cells[item], cells[judgment], cells[order]


def sprouse_rated(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Rated]:
    """Yield the sentences of each language in the order in which they were judged first."""
    raters = Raters()
    for nth, (subset, language) in enumerate(LANGUAGES.items(), 1):
        if not is_requested(subset, options):
            continue
        materials = files[f"Experiment {nth} materials - {subset.title()}.xlsx"]
        results = files[f"Experiment {nth} results - {subset.title()}.csv"]
        codes = _english(materials) if subset == "english" else _italian(materials)
        given: dict[str, list[tuple[int, str, int]]] = defaultdict(list)
        for number, who, survey, code, rating, order in _judgments(results):
            key = code if code in codes else f"{survey}.{code}"
            if key not in codes:
                raise CorpusError(f"{results.path}, row {number}: {materials.path} has no sentence {code!r}")
            given[key].append((raters.number((subset, who)), rating, 1000 * int(survey) + int(order)))
        for code, judgments in given.items():
            item = _item(code, codes[code], subset, language, options)
            kept = ((rater, float(value), order) for rater, value, order in judgments if value != "NA")
            yield judged(item, (rating_of(item, rater, value, "likert7", trial=order) for rater, value, order in kept))


def _item(code: str, text: str, subset: str, language: str, options: BuildOptions) -> Item:
    matched = _CODE.fullmatch(code)
    dependency, island, structure, distance, number = matched.groups() if matched else ("filler", "", "", "", code)
    tidy = text.strip() if options.repair else text
    return item_of(
        ("sprouse-2016", subset, code),
        tidy,
        language=language,
        phenomenon=ISLANDS.get(island, "filler"),
        paradigm=f"{dependency} {island}" if island else None,
        pair_id=f"{dependency} {island} {number}".strip() if island else code,
        flags=(SPACES,) if tidy != text else (),
        extra={
            "dependency": dependency,
            "island": ISLANDS.get(island),
            "structure": STRUCTURES.get(structure),
            "distance": DISTANCES.get(distance),
            "item_set": number if island else None,
        },
    )


SPROUSE_2016 = declared_with_ratings("sprouse-2016", sprouse_rated)
