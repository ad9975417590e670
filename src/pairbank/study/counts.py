"""Unigram counts of a study: in, the user's tables and texts to count; out, a table per tokenizer and language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pairbank.files import cache_dir, sha256_of_text
from pairbank.study.corpora import ChosenItems
from pairbank.study.declaration import Study, UnigramText

if TYPE_CHECKING:
    from pairbank.scoring.methods.documents import Documents
    from pairbank.scoring.methods.unigrams import Unigrams, UnigramTables


def needs_counts(methods: Iterable[str]) -> bool:
    from pairbank.scoring.methods.linking_functions import LINKING_FUNCTIONS

    return any(name in LINKING_FUNCTIONS and LINKING_FUNCTIONS[name].needs == "unigrams" for name in methods)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    given: tuple[Unigrams, ...]
    """The user's tables."""
    texts: dict[str, list[Documents]] = field(default_factory=dict)
    """What each corpus that the study names says, one entry a language."""
    files: tuple[Path, ...] = ()
    """Files of the study's `unigram_text`, which count before `texts` in their language."""
    made: dict[tuple[str, tuple[str, ...], str], Unigrams] = field(default_factory=dict)
    """Counts made in this run: tokenizer, corpora and language -> table."""

    def of(
        self, study: Study, chosen: ChosenItems, model: object, *, progress: Callable[[int], None] = lambda _n: None
    ) -> list[Unigrams] | None:
        """Return the counts for a corpus with a model, one table a language; None where no method needs any."""
        if not needs_counts(study.methods):
            return None
        from pairbank.scoring.models.tokenizing import vocabulary_of

        fingerprint = vocabulary_of(model).fingerprint
        tables = [table for table in self.given if table.tokenizer_sha256 == fingerprint]
        sources = chosen.choice.unigrams_from or study.unigrams_from
        for language in sorted(chosen.languages):
            if any(table.covers(language) for table in tables):
                continue
            text = study.unigram_text
            if self.files and text is not None and _base(text.language) == _base(language):
                tables.append(self._of_files(text, model, fingerprint, progress))
            else:
                tables += self._counted(sources, language, model, fingerprint)
        return tables

    def _of_files(
        self, text: UnigramText, model: object, fingerprint: str, progress: Callable[[int], None]
    ) -> Unigrams:
        """Return the table of the study's text, which is kept in the cache: a million documents take a while."""
        from pairbank.scoring.methods.documents import documents_of_files
        from pairbank.scoring.methods.unigrams import count_unigrams, read_unigrams

        facts = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in self.files]
        key = sha256_of_text("1", fingerprint, text.language, str(text.documents), str(facts))
        path = cache_dir() / "unigrams" / key[:2] / f"{key}.parquet"
        if not path.is_file():
            documents = documents_of_files(self.files, n_documents=text.documents)
            named = replace(documents, source=documents.source | {"folder": text.folder})
            count_unigrams(named, model, language=text.language, progress=progress).save(path)
        return read_unigrams(path)

    def _counted(self, sources: tuple[str, ...], language: str, model: object, fingerprint: str) -> list[Unigrams]:
        from pairbank.scoring.methods.documents import Documents
        from pairbank.scoring.methods.unigrams import count_unigrams

        base = _base(language)
        parts = [part for name in sources for part in self.texts[name] if _base(part.languages[0]) == base]
        if not parts:
            return []
        key = (fingerprint, sources, base)
        if key not in self.made:
            source = {"kind": "better sentences of corpora", "corpora": [part.source for part in parts]}
            texts = [text for part in parts for text in part.texts]
            languages = tuple(sorted({part.languages[0] for part in parts}))
            documents = Documents(texts=texts, source=source, languages=languages)
            self.made[key] = count_unigrams(documents, model)
        return [self.made[key]]


def counts_for(
    study: Study, corpora: Sequence[ChosenItems], given: UnigramTables | None, data_dir: str | Path | None
) -> Counts:
    """Return what there is to count for a study, read once for all models."""
    from pairbank.builders.load import load_corpus
    from pairbank.scoring.methods.documents import documents_of_items
    from pairbank.scoring.methods.unigrams import tables_of

    if not needs_counts(study.methods):
        return Counts(given=())
    languages = {_base(language) for corpus in corpora for language in corpus.languages}
    names = dict.fromkeys(name for corpus in corpora for name in corpus.choice.unigrams_from or study.unigrams_from)
    text, files = study.unigram_text, list[Path]()
    if text is not None and data_dir is not None:
        paths = sorted((Path(data_dir) / text.folder).rglob("*"))
        files = [path for path in paths if path.suffix in (".parquet", ".jsonl", ".txt") and path.is_file()]
    if text is not None and files and not any(corpus.choice.unigrams_from for corpus in corpora):
        languages -= {_base(text.language)}
    texts: dict[str, list[Documents]] = {}
    for name in names if languages else ():
        items = load_corpus(name, data_dir=data_dir)
        rows: dict[str, list[int]] = {}
        for row, language in enumerate(items["language"][:]):
            rows.setdefault(language, []).append(row)
        texts[name] = [
            documents_of_items(items.select(of_language))
            for language, of_language in sorted(rows.items())
            if _base(language) in languages
        ]
    return Counts(given=tuple(tables_of(given)) if given is not None else (), texts=texts, files=tuple(files))


def counts_note(study: Study, counts: Counts) -> list[str]:
    """Return a note on the text whose tokens are counted, where the user gave no counts."""
    if counts.given or not needs_counts(study.methods):
        return []
    text, counted = study.unigram_text, []
    if text is not None and counts.files:
        counted.append(f"up to {text.documents:,} documents of {text.folder} ({text.language})")
    documents = [part for parts in counts.texts.values() for part in parts]
    if sizes := [len(part.texts) for part in documents if isinstance(part.texts, list)]:
        counted.append(f"{sum(sizes):,} better sentences of {', '.join(counts.texts)}")
    if not counted:
        return []
    instead = f" Files in the folder {text.folder} of --data-dir would be counted instead." if text is not None else ""
    return [f"Unigram counts are of {' and '.join(counted)}.{'' if counts.files else instead}"]


def _base(language: str) -> str:
    return language.partition("-")[0]
