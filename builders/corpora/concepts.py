"""Concepts and their properties: COMPS and XCOMPS. Files in, one item a pair out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pairbank.builders.corpora.corpus import BuildOptions, is_requested, item_of
from pairbank.builders.corpora.declared import declared
from pairbank.builders.schema.columns import Item, Scalar
from pairbank.builders.sources.readers import decode, parsed_json, read_json_lines
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError
from pairbank.files import reading

LANGUAGES = ("ar", "ca", "de", "el", "es", "fa", "fr", "he", "hu", "ja", "ko", "nl", "ru", "tr", "uk", "vi", "zh")
SENTENCES = ("acceptable_sent", "unacceptable_sent")
XCOMPS_REQUIRED = (*SENTENCES, "negative_sample_type")
CONCEPT_KEYS = (
    ("acceptable_concept", "unacceptable_concept"),
    ("concept_acceptable", "concept_unacceptable"),
    ("acceptable", "unacceptable"),
    ("acc_concept", "unacc_concept"),
    ("positive_concept", "negative_concept"),
    ("concept_good", "concept_bad"),
)
PROPERTY_KEYS = ("property", "property_phrase", "prop", "feature")
DERIVED = "derived:concepts"
"""Flag: concepts, property or both were derived from the sentences, since the file does not have them."""
NO_CONCEPTS = "no_concepts"
"""Flag: concepts or property are not known; the meta prompt cannot be asked."""
STRIPPED = "stripped:article"
"""Flag: a derived concept stood behind an article in its sentence; concepts are bare, as in COMPS and the paper."""
ARTICLES = {
    "ca": ("un", "una", "uns", "unes", "el", "la", "els", "les"),
    "de": ("ein", "eine", "der", "die", "das"),
    "el": ("ένας", "μια", "μία", "ένα", "ο", "η", "το", "οι", "τα"),
    "es": ("un", "una", "unos", "unas", "el", "la", "los", "las"),
    "fr": ("un", "une", "des", "le", "la", "les"),
    "hu": ("egy", "a", "az"),
    "nl": ("een", "de", "het"),
    "tr": ("bir",),
}
"""Articles that are words of their own, as subjects have them (nominative); other languages have none, or write them as
part of the noun (ar, he)."""
ELIDED = {"ca": ("l'", "l’"), "fr": ("l'", "l’")}
"""Articles that stand before the noun without a space."""
CHECKED = ("ca", "de", "es", "fr", "nl")
"""Languages in which derived concepts were those of the question in all 24 pairs per language that were checked; with
rich morphology (ar, he, ko: none right; ru, hu, tr: two thirds) the sentence has another form than the question."""
WITHOUT_SPACES = ("ja", "zh")
VERB_MAY_COME_FIRST = ("ar",)
LONGEST_CONCEPT_WORDS = 4
FINAL_PUNCTUATION = ".!?…؟۔。"
COMPS_REQUIRED = (
    "id",
    "property",
    "acceptable_concept",
    "unacceptable_concept",
    "prefix_acceptable",
    "prefix_unacceptable",
    "property_phrase",
    "negative_sample_type",
)
COMPS_TEXTS = COMPS_REQUIRED[1:7]
OPTIONAL_TEXTS = ("base_id", "nonsense_words", "distraction_type")


def xcomps_rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the pairs language by language, in the order of each file.

    Concepts and property (of the meta prompt) are the file's, under `CONCEPT_KEYS` and `PROPERTY_KEYS`; else, in
    languages where this was checked, they are derived from the sentences, and the row is flagged; else they are null.
    """
    for language in LANGUAGES:
        if is_requested(language, options):
            path = files[f"comps_{language}.json"].path
            is_copy, where = not path.is_file(), str(path)
            table: Any = (
                _read_hub_copy(path, language) if is_copy else parsed_json(decode(path.read_bytes(), where), where)
            )
            if not isinstance(table, dict):
                kind = type(table).__name__
                raise CorpusError(f"{path}: a {kind}, expected one object, id -> row; get the file again")
            for identity, row in table.items():
                yield _xcomps_item(language, identity, row, f"{path}, id {identity!r}")


def _read_hub_copy(folder: Path, language: str) -> dict[str, Any]:
    """Return the rows of a language's parquet files by their key, or by their number from 0 where they have none."""
    import pyarrow.parquet as pq

    results: dict[str, Any] = {}
    for path in sorted(folder.glob(f"comps_{language}-*.parquet")):
        with reading(path, CorpusError, saying="not a readable parquet file", remedy="download it again"):
            rows_here = pq.read_table(path).to_pylist()
        for row in rows_here:
            identity = next((str(row[key]) for key in ("id", "idx") if row.get(key) is not None), str(len(results)))
            if identity in results:
                raise CorpusError(f"{path}: id {identity!r} occurs twice; download the copy again")
            results[identity] = row
    return results


def _xcomps_item(language: str, identity: str, row: object, where: str) -> Item:
    if not isinstance(row, dict):
        raise CorpusError(f"{where}: a {type(row).__name__}, expected a row (an object); get the file again")
    if missing := [key for key in XCOMPS_REQUIRED if not _text(row.get(key))]:
        raise CorpusError(f"{where}: no text under {', '.join(missing)}; found {', '.join(row)}; get the file again")
    good, bad = (row[key] for key in SENTENCES)
    facts, flags = _facts(language, row)
    return item_of(
        ("xcomps", language, identity),
        good,
        bad,
        language=language,
        task="concept_pair",
        phenomenon="property knowledge",
        paradigm=row["negative_sample_type"],
        pair_id=identity,
        flags=flags,
        extra={"negative_type": row["negative_sample_type"], **facts},
    )


def _facts(language: str, row: Mapping[str, Any]) -> tuple[dict[str, Scalar], tuple[str, ...]]:
    """Return property and concepts, all or none, and the flag that says where they come from."""
    names = ("concept_good", "concept_bad", "property")
    concepts = next((keys for keys in CONCEPT_KEYS if all(_text(row.get(key)) for key in keys)), None)
    prop = next((key for key in PROPERTY_KEYS if _text(row.get(key))), None)
    if concepts and prop:
        return {name: row[key] for name, key in zip(names, (*concepts, prop), strict=True)}, ()
    derived = derive(row[SENTENCES[0]], row[SENTENCES[1]], language) if language in CHECKED else None
    if derived is None:
        return dict.fromkeys(names), (NO_CONCEPTS,)
    flags: tuple[str, ...] = (DERIVED,)
    bare = [without_article(concept, language) for concept in derived[:2]]
    if not concepts and bare != list(derived[:2]):
        flags = (DERIVED, STRIPPED)
    facts: dict[str, Scalar] = dict(zip(names, (*bare, derived[2]), strict=True))
    if concepts:
        facts |= {"concept_good": row[concepts[0]], "concept_bad": row[concepts[1]]}
    if prop:
        facts["property"] = row[prop]
    return facts, flags


def without_article(concept: str, language: str) -> str:
    """Return a concept as a list has it: without the article that its sentence has before it.

    >>> without_article("Ein Adler", "de"), without_article("L'aigle", "fr"), without_article("Eine", "de")
    ('Adler', 'aigle', 'Eine')
    """
    first, _, rest = concept.partition(" ")
    if rest and first.lower() in ARTICLES.get(language, ()):
        return rest
    for article in ELIDED.get(language, ()):
        if concept.lower().startswith(article) and len(concept) > len(article):
            return concept[len(article) :]
    return concept


def derive(good: str, bad: str, language: str) -> tuple[str, str, str] | None:
    """Return concept, other concept and property, from two sentences that differ in their first words only.

    The property is the longest common run of final words, the concepts are what stands before it. That is wrong
    where both concepts end in the same word, and so rows are flagged. None where it would be a guess: no spaces
    between words, no common end, a concept of more than four words, or a common start that is more than one word
    (an article or classifier), in Arabic any (it may be the verb).

    >>> derive("Un lombric vit sous terre.", "Un faucon vit sous terre.", "fr")
    ('Un lombric', 'Un faucon', 'vit sous terre')
    >>> derive("蚯蚓住在地下。", "猎鹰住在地下。", "zh") is None
    True
    """
    a, b = good.rstrip(FINAL_PUNCTUATION).split(), bad.rstrip(FINAL_PUNCTUATION).split()
    n_end = _n_common(a[::-1], b[::-1])
    n_start = _n_common(a, b)
    concepts = a[: len(a) - n_end], b[: len(b) - n_end]
    if (
        language in WITHOUT_SPACES
        or not n_end
        or n_start > (0 if language in VERB_MAY_COME_FIRST else 1)
        or not all(n_start < len(words) <= LONGEST_CONCEPT_WORDS for words in concepts)
    ):
        return None
    return " ".join(concepts[0]), " ".join(concepts[1]), " ".join(a[len(a) - n_end :])


def _n_common(a: list[str], b: list[str]) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def comps_rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the pairs of each file in its order; the target is the whole sentence, prefix + " " + property phrase.

    The paper scores the property phrase given the prefix: `property_phrase` and `prefix_good`, `prefix_bad` hold its
    parts. Prefixes of `base` are lower case: the sentence gets its capital unless `repair=False`.
    """
    for subset in (subset for subset in COMPS.subsets if is_requested(subset, options)):
        path = files[f"comps_{subset}.jsonl"].path
        lines = decode(path.read_bytes(), str(path)).split("\n")
        for number, row in read_json_lines(lines, COMPS_REQUIRED, where=str(path)):
            where = f"{path}, row {number}"
            if bad := [name for name in COMPS_TEXTS if not isinstance(row[name], str) or not row[name].strip()]:
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
            for name in OPTIONAL_TEXTS:
                cell = row.get(name)
                extra[name] = cell if cell is None or isinstance(cell, str) else json.dumps(cell, ensure_ascii=False)
            yield item_of(
                ("comps", subset, row["id"]),
                f"{starts['good']} {row['property_phrase']}",
                f"{starts['bad']} {row['property_phrase']}",
                task="concept_pair",
                phenomenon="property knowledge" if subset == "base" else "property inheritance",
                paradigm=row["negative_sample_type"],
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


XCOMPS = declared("xcomps", xcomps_rows)
COMPS = declared("comps", comps_rows)
