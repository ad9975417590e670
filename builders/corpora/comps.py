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

from pairbank.builders.corpora.corpus import BuildOptions, Corpus, wanted
from pairbank.builders.schema.columns import Column, Item, Scalar
from pairbank.builders.sources.readers import decode, read_json_lines
from pairbank.builders.sources.references import bibtex
from pairbank.builders.sources.source import LocatedFile, Source, SourceFile
from pairbank.errors import CorpusError

SUBSETS = ("base", "wugs", "wugs_dist-before", "wugs_dist-in-between")
FILES = {subset: f"comps_{subset}.jsonl" for subset in SUBSETS}
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
EXTRA = (
    Column(name="negative_type", type="string", nullable=False, meaning="taxonomic, overlap, co-occurrence, random"),
    Column(name="property", type="string", nullable=False, meaning="the property"),
    Column(name="property_phrase", type="string", nullable=False, meaning="the property, as the sentence says it"),
    Column(name="concept_good", type="string", nullable=False, meaning="the concept that has the property"),
    Column(name="concept_bad", type="string", nullable=False, meaning="the concept that lacks it"),
    Column(name="prefix_good", type="string", nullable=False, meaning="source prefix of the better side"),
    Column(name="prefix_bad", type="string", nullable=False, meaning="source prefix of the worse side"),
    Column(name="similarity", type="float64", nullable=True, meaning="similarity of the two concepts"),
    Column(name="base_id", type="string", nullable=True, meaning="id of the pair of `base` that it comes from"),
    Column(name="nonsense_words", type="string", nullable=True, meaning="invented words; a list is kept as JSON"),
    Column(name="distraction_type", type="string", nullable=True, meaning="COMPS's distraction_type"),
)
OPTIONAL_TEXTS = ("base_id", "nonsense_words", "distraction_type")


def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the pairs of each file in its order, files in the order of `SUBSETS`."""
    for subset in SUBSETS:
        if wanted(subset, options):
            path = files[FILES[subset]].path
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


_REVISION = "5a9dc6c403b32a276c80a8ccef9956faf50ed074"

COMPS = Corpus(
    name="comps",
    title="COMPS",
    description="Which of two concepts has a property: real ones, and invented ones that inherit it.",
    version="1.0.0",
    languages=("en",),
    tasks=("concept_pair",),
    n_items=91_000,
    human="",
    subsets=SUBSETS,
    rows=rows,
    extra_columns=EXTRA,
    counted=False,
    subset_files=FILES,
    source=Source(
        homepage="https://github.com/kanishkamisra/comps",
        revision=_REVISION,
        licence="apache-2.0",
        redistributable=True,
        citation=bibtex("misra2023comps"),
        files=tuple(
            SourceFile(
                name=name,
                url=f"https://raw.githubusercontent.com/kanishkamisra/comps/{_REVISION}/data/comps/{name}",
                sha256="",
            )
            for name in FILES.values()
        ),
    ),
)
