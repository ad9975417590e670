"""Unigram counts for the corpora of a study: in, tables of the user's and corpora to count; out, those of a model.

Counts are chosen by the model's tokenizer and the items' language. Where the user gives none for a language, the
sentences of the corpora that the study names are counted; where there are none either, nothing is scored with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pairbank.study.corpora import ChosenItems
from pairbank.study.declaration import Study

if TYPE_CHECKING:
    from pairbank.scoring.api.model import Scorer
    from pairbank.scoring.methods.documents import Documents
    from pairbank.scoring.methods.unigrams import Unigrams, UnigramTables
    from pairbank.scoring.models.tokens.vocabulary import Vocabulary


def needs_counts(methods: Iterable[str]) -> bool:
    """Return whether some of these methods need unigram counts."""
    from pairbank.scoring.methods.linking_functions import LINKING_FUNCTIONS

    return any(name in LINKING_FUNCTIONS and LINKING_FUNCTIONS[name].needs == "unigrams" for name in methods)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Counts and texts to count, for all models of a run."""

    given: tuple[Unigrams, ...]
    """The user's tables."""
    texts: dict[str, list[Documents]] = field(default_factory=dict)
    """What each corpus that the study names says, one entry a language."""
    made: dict[tuple[str, tuple[str, ...], str], Unigrams] = field(default_factory=dict)
    """Counts made in this run: tokenizer, corpora and language -> table."""

    def of(self, study: Study, chosen: ChosenItems, model: Scorer) -> list[Unigrams] | None:
        """Return the counts for a corpus with a model, one table a language; None where no method needs any."""
        if not needs_counts(study.methods):
            return None
        from pairbank.scoring.models.tokens.vocabulary import vocabulary_of

        vocabulary = vocabulary_of(model)
        fingerprint = vocabulary.fingerprint
        tables = [table for table in self.given if table.tokenizer_sha256 == fingerprint]
        sources = chosen.choice.unigrams_from or study.unigrams_from
        for language in sorted(set(chosen.items["language"][:])):
            if not any(table.covers(language) for table in tables):
                tables += self._counted(sources, language, vocabulary, fingerprint)
        return tables

    def _counted(
        self, sources: tuple[str, ...], language: str, vocabulary: Vocabulary, fingerprint: str
    ) -> list[Unigrams]:
        """Return the table of what some corpora say in a language, if they say anything."""
        from pairbank.scoring.methods.documents import Documents
        from pairbank.scoring.methods.unigrams import count_unigrams

        base = _base(language)
        parts = [part for name in sources for part in self.texts[name] if _base(part.languages[0]) == base]
        if not parts:
            return []
        key = (fingerprint, sources, base)
        if key not in self.made:
            source = {"kind": "items of corpora", "corpora": [part.source for part in parts]}
            texts = [text for part in parts for text in part.texts]
            languages = tuple(sorted({part.languages[0] for part in parts}))
            documents = Documents(texts=texts, source=source, languages=languages)
            self.made[key] = count_unigrams(documents, _Cut(vocabulary))
        return [self.made[key]]


@dataclass(frozen=True, slots=True)
class _Cut:
    """A model of which the vocabulary alone is wanted."""

    vocabulary: Vocabulary


def counts_for(
    study: Study, corpora: Sequence[ChosenItems], given: UnigramTables | None, data_dir: str | Path | None
) -> Counts:
    """Return what there is to count for a study, read once for all models."""
    from pairbank.builders.load import load_corpus
    from pairbank.scoring.methods.documents import documents_of_items
    from pairbank.scoring.methods.unigrams import tables_of

    if not needs_counts(study.methods):
        return Counts(given=())
    wanted = {_base(language) for one in corpora for language in set(one.items["language"][:])}
    names = dict.fromkeys(name for one in corpora for name in one.choice.unigrams_from or study.unigrams_from)
    texts: dict[str, list[Documents]] = {}
    for name in names:
        items = load_corpus(name, data_dir=data_dir)
        rows: dict[str, list[int]] = {}
        for place, language in enumerate(items["language"][:]):
            rows.setdefault(language, []).append(place)
        kept = {language: where for language, where in rows.items() if _base(language) in wanted}
        texts[name] = [documents_of_items(items.select(where)) for _, where in sorted(kept.items())]
    return Counts(given=tuple(tables_of(given)) if given is not None else (), texts=texts)


def _base(language: str) -> str:
    return language.partition("-")[0]
