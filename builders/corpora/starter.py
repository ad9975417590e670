"""The starter corpus: sentences written for pairbank, under its licence, to be useful before anything is downloaded.

Context pairs are in the manner of EWoK (Ivanova et al. 2024), concept pairs in the 18 languages of XCOMPS with its four
negative types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pairbank.builders.corpora.corpus import BuildOptions, is_requested, item_of
from pairbank.builders.corpora.declared import declared
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.readers import read_delimited
from pairbank.builders.sources.source import LocatedFile

LANGUAGES = ("ar", "ca", "de", "el", "en", "es", "fa", "fr", "he", "hu", "ja", "ko", "nl", "ru", "tr", "uk", "vi", "zh")
PAIRS, PLAUSIBILITY, CONTEXTS = "starter/minimal_pairs.tsv", "starter/plausibility.tsv", "starter/contexts.tsv"
CONCEPTS = {language: f"starter/concepts/{language}.tsv" for language in LANGUAGES}
CONCEPT_COLUMNS = ("negative_type", "property", "concept_good", "concept_bad")
NOTHING = dict.fromkeys((*CONCEPT_COLUMNS, "target_number"))


def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield minimal pairs, plausibility pairs, context pairs, then concept pairs language by language."""
    if is_requested("minimal-pairs", options):
        for number, row in _rows(files[PAIRS], "phenomenon", "paradigm", "good", "bad"):
            yield item_of(
                ("starter", "minimal-pairs", number),
                row["good"],
                row["bad"],
                phenomenon=row["phenomenon"],
                paradigm=row["paradigm"],
                extra=NOTHING,
            )
    if is_requested("plausibility", options):
        for number, row in _rows(files[PLAUSIBILITY], "category", "context", "good", "bad"):
            yield item_of(
                ("starter", "plausibility", number),
                row["good"],
                row["bad"],
                task="continuation_pair",
                phenomenon="plausibility",
                paradigm=row["category"],
                context_good=row["context"],
                context_bad=row["context"],
                extra=NOTHING,
            )
    if is_requested("contexts", options):
        yield from _contexts(files[CONTEXTS])
    if is_requested("concepts", options):
        for language in LANGUAGES:
            yield from _concepts(files[CONCEPTS[language]], language)


def _rows(file: LocatedFile, *columns: str) -> Iterator[tuple[int, dict[str, str]]]:
    return enumerate((row for _, row in read_delimited(file.path, columns, delimiter="\t")), 1)


def _contexts(file: LocatedFile) -> Iterator[Item]:
    for number, row in _rows(file, "domain", "context_1", "context_2", "target_1", "target_2"):
        for target, other in ((1, 2), (2, 1)):
            yield item_of(
                ("starter", "contexts", f"{number}-t{target}"),
                row[f"target_{target}"],
                row[f"target_{target}"],
                task="context_pair",
                phenomenon="world-knowledge",
                paradigm=row["domain"],
                context_good=row[f"context_{target}"],
                context_bad=row[f"context_{other}"],
                pair_id=str(number),
                extra=NOTHING | {"target_number": target},
            )


def _concepts(file: LocatedFile, language: str) -> Iterator[Item]:
    for _, row in _rows(file, "item", *CONCEPT_COLUMNS, "sentence_good", "sentence_bad"):
        yield item_of(
            ("starter", "concepts", f"{language}-{row['item']}"),
            row["sentence_good"],
            row["sentence_bad"],
            language=language,
            task="concept_pair",
            phenomenon="concepts",
            paradigm=row["negative_type"],
            pair_id=row["item"],
            extra=NOTHING | {name: row[name] for name in CONCEPT_COLUMNS},
        )


STARTER = declared("starter", rows)
