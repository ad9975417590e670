"""COMPS: two concepts of which one has a property. Misra, Rayz & Ettinger 2023, EACL.

In: four JSON-lines files (real concepts; invented ones that inherit the property; the same with a distracting
sentence before it or in between). Out: one concept pair a line; the target is the whole sentence, prefix +
" " + property phrase. The paper scores the property phrase given the prefix: `property_phrase` and `prefix_good`,
`prefix_bad` hold its parts. Prefixes of `base` are lower case: the sentence gets its capital unless `repair=False`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pairbank.builders.corpora.corpus import BuildOptions, wanted
from pairbank.builders.corpora.declared import declared
from pairbank.builders.schema.columns import Item, Scalar
from pairbank.builders.sources.readers import decode, read_json_lines
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError

REQUIRED = (
    "id",
    "property",
    "acceptable_concept",
    "unacceptable_concept",
    "prefix_acceptable",
    "prefix_unacceptable",
    "property_phrase",
    "negative_sample_type",
)
TEXTS = REQUIRED[1:7]
OPTIONAL_TEXTS = ("base_id", "nonsense_words", "distraction_type")


def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the pairs of each file in its order, files subset by subset."""
    for subset in COMPS.subsets:
        if wanted(subset, options):
            path = files[f"comps_{subset}.jsonl"].path
            lines = decode(path.read_bytes(), str(path)).split("\n")
            for number, row in read_json_lines(lines, REQUIRED, where=str(path)):
                yield _item(subset, row, f"{path}, row {number}", options)


def _item(subset: str, row: Mapping[str, Any], where: str, options: BuildOptions) -> Item:
    if bad := [name for name in TEXTS if not isinstance(row[name], str) or not row[name].strip()]:
        raise CorpusError(f"{where}: {bad[0]} is {row[bad[0]]!r}, expected a text; get the file again")
    similarity = row.get("similarity")
    if similarity is not None and not isinstance(similarity, int | float):
        raise CorpusError(f"{where}: similarity is {similarity!r}, expected a number; get the file again")
    prefixes = {"good": row["prefix_acceptable"], "bad": row["prefix_unacceptable"]}
    capitals = {side: capitalised(prefix) for side, prefix in prefixes.items()}
    flags = []
    if capitals != prefixes:
        flags.append("repaired:capital" if options.repair else "defect:capital")
    starts = capitals if options.repair else prefixes
    extra: dict[str, Scalar] = {
        "negative_type": row["negative_sample_type"],
        "property": row["property"],
        "property_phrase": row["property_phrase"],
        "concept_good": row["acceptable_concept"],
        "concept_bad": row["unacceptable_concept"],
        "prefix_good": prefixes["good"],
        "prefix_bad": prefixes["bad"],
        "similarity": similarity,
    }
    extra |= {name: _text(row.get(name)) for name in OPTIONAL_TEXTS}
    return Item(
        item_id=f"comps/{subset}/{row['id']}",
        corpus="comps",
        subset=subset,
        language="en",
        task="concept_pair",
        phenomenon="property knowledge" if subset == "base" else "property inheritance",
        paradigm=row["negative_sample_type"],
        target_good=f"{starts['good']} {row['property_phrase']}",
        context_bad="",
        target_bad=f"{starts['bad']} {row['property_phrase']}",
        pair_id=str(row["id"]),
        flags=tuple(flags),
        extra=extra,
    )


def capitalised(text: str) -> str:
    """Return the text with a capital first letter, the rest as it is.

    >>> capitalised("a DVD player")
    'A DVD player'
    """
    return text[:1].upper() + text[1:]


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


COMPS = declared("comps", rows)
