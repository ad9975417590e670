"""Everything about a run that can be known before anything is scored: in, a study, models and a folder; out, a `Plan`.

What would end the run is an error here, before the first model is loaded. `pairbank run --dry-run` prints the plan.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairbank.errors import ModelLoadError, StudyError, unknown_name
from pairbank.files import cache_dir, sha256_of_text
from pairbank.scoring.api.model import Scorer, slug
from pairbank.study.corpora import EDITS, ChosenItems, corpora_of, embedding_models
from pairbank.study.declaration import Study, UnigramText
from pairbank.study.model_list import ModelChoice, all_features, refuse_twins
from pairbank.study.raters import ratings_of_items

if TYPE_CHECKING:
    import datasets

    from pairbank.builders.sources.downloads import DownloadProgress
    from pairbank.scoring.api.method import Method
    from pairbank.scoring.api.model import Scorer
    from pairbank.scoring.methods.documents import Documents
    from pairbank.scoring.methods.unigrams import Unigrams, UnigramTables
    from pairbank.scoring.models.vocabulary import Vocabulary
    from pairbank.stats.scored_table.model_features import ModelFeatures


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
    files: tuple[Path, ...] = ()
    """Files of the study's `unigram_text`, which count before `texts` in their language."""
    made: dict[tuple[str, tuple[str, ...], str], Unigrams] = field(default_factory=dict)
    """Counts made in this run: tokenizer, corpora and language -> table."""

    def of(
        self, study: Study, chosen: ChosenItems, model: Scorer, *, progress: Callable[[int], None] = lambda _n: None
    ) -> list[Unigrams] | None:
        """Return the counts for a corpus with a model, one table a language; None where no method needs any."""
        if not needs_counts(study.methods):
            return None
        from pairbank.scoring.models.vocabulary import vocabulary_of

        vocabulary = vocabulary_of(model)
        fingerprint = vocabulary.fingerprint
        tables = [table for table in self.given if table.tokenizer_sha256 == fingerprint]
        sources = chosen.choice.unigrams_from or study.unigrams_from
        for language in sorted(set(chosen.items["language"][:])):
            if any(table.covers(language) for table in tables):
                continue
            text = study.unigram_text
            if self.files and text is not None and _base(text.language) == _base(language):
                tables.append(self._of_files(text, vocabulary, progress))
            else:
                tables += self._counted(sources, language, vocabulary, fingerprint)
        return tables

    def _of_files(self, text: UnigramText, vocabulary: Vocabulary, progress: Callable[[int], None]) -> Unigrams:
        """Return the table of the study's text, which is kept in the cache: a million documents take a while."""
        from pairbank.scoring.methods.documents import documents_of_files
        from pairbank.scoring.methods.unigrams import count_unigrams, read_unigrams

        facts = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in self.files]
        key = sha256_of_text("1", vocabulary.fingerprint, text.language, str(text.documents), str(facts))
        path = cache_dir() / "unigrams" / key[:2] / f"{key}.parquet"
        if not path.is_file():
            documents = documents_of_files(self.files, n_documents=text.documents)
            named = replace(documents, source=documents.source | {"folder": text.folder})
            count_unigrams(named, _Cut(vocabulary), language=text.language, progress=progress).save(path)
        return read_unigrams(path)

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
            source = {"kind": "better sentences of corpora", "corpora": [part.source for part in parts]}
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
    requested = {_base(language) for entry in corpora for language in set(entry.items["language"][:])}
    names = dict.fromkeys(name for value in corpora for name in value.choice.unigrams_from or study.unigrams_from)
    files = _files_to_count(study.unigram_text, data_dir)
    if study.unigram_text is not None and files and not any(member.choice.unigrams_from for member in corpora):
        requested -= {_base(study.unigram_text.language)}
    texts: dict[str, list[Documents]] = {}
    for name in names if requested else ():
        items = load_corpus(name, data_dir=data_dir)
        rows: dict[str, list[int]] = {}
        for place, language in enumerate(items["language"][:]):
            rows.setdefault(language, []).append(place)
        kept = {language: where for language, where in rows.items() if _base(language) in requested}
        texts[name] = [documents_of_items(items.select(where)) for _, where in sorted(kept.items())]
    return Counts(given=tuple(tables_of(given)) if given is not None else (), texts=texts, files=files)


def _files_to_count(text: UnigramText | None, data_dir: str | Path | None) -> tuple[Path, ...]:
    """Return the files of a study's text to count, by name; none if the folder is not there."""
    if text is None or data_dir is None:
        return ()
    result = (Path(data_dir) / text.folder).rglob("*")
    return tuple(sorted(path for path in result if path.suffix in (".parquet", ".jsonl", ".txt") and path.is_file()))


def _counts_text(study: Study, counts: Counts) -> list[str]:
    """Return a note on the text whose tokens are counted, where the user gave no counts."""
    if counts.given or not needs_counts(study.methods):
        return []
    text = study.unigram_text
    message = []
    if text is not None and counts.files:
        message.append(f"up to {text.documents:,} documents of {text.folder} ({text.language})")
    if parts := [
        len(part.texts) for result in counts.texts.values() for part in result if isinstance(part.texts, list)
    ]:
        message.append(f"{sum(parts):,} better sentences of {', '.join(counts.texts)}")
    if not message:
        return []
    requested = (
        f" Files in the folder {text.folder} of --data-dir would be counted instead." if text is not None else ""
    )
    return [f"Unigram counts are of {' and '.join(message)}.{'' if counts.files else requested}"]


def _base(language: str) -> str:
    return language.partition("-")[0]


Asked = Scorer | ModelChoice
"""A model that is loaded, or is to be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A run that nothing known speaks against."""

    study: Study
    out: Path
    models: tuple[Asked, ...]
    corpora: tuple[ChosenItems, ...]
    counts: Counts
    features: Mapping[str, ModelFeatures]
    """Declared by the user or by the bank, by model name."""
    notes: tuple[str, ...]
    """What the report's head must say: corpora that are missing, columns that are not there to probe by."""
    warnings: tuple[str, ...]
    """What its user should know: texts that may not be published."""
    stored: Mapping[str, Sequence[str]]
    """Corpus -> slugs of the models whose scores the bank has."""
    ratings: Mapping[str, datasets.Dataset] = field(default_factory=dict)
    """Corpus -> individual ratings of the items: the bank gets it, and analyses that read it."""


def name_of(model: Asked) -> str:
    """Return what a model is, or will be, called in tables."""
    return model.name if isinstance(model, ModelChoice) else model.info.name


def scored_by(model: Asked, plan: Plan) -> tuple[ChosenItems, ...]:
    """Return the corpora of a run that a model is scored on: all, unless its list says which, or in which languages."""
    if not isinstance(model, ModelChoice):
        return plan.corpora
    return _scope(model, plan.corpora)


def _scope(model: ModelChoice, corpora: Sequence[ChosenItems]) -> tuple[ChosenItems, ...]:
    return tuple(entry for entry in corpora if model.is_for(entry.name, set(entry.items["language"][:])))


def planned(
    study: Study,
    models: Sequence[Asked],
    out: str | Path,
    *,
    data_dir: str | Path | None = None,
    unigrams: UnigramTables | None = None,
    downloads: Callable[[DownloadProgress], None] | None = None,
) -> Plan:
    """Return the plan of a run."""
    from pairbank.stats.analyses.registry import checked_options

    _check_names(study, models)
    root = Path(out)
    check_folder(root)
    methods = _methods(study)
    for name in (*study.analyses, *study.options):
        checked_options(name, study.options.get(name, {}))
    corpora = corpora_of(study, data_dir, downloads)
    _check_scopes(study, models, corpora.chosen)
    _check_embedders(study, corpora.chosen)
    held = _manifest(root)
    declared = all_features(study.models, [model for model in models if isinstance(model, ModelChoice)])
    _check_bank(held, corpora.chosen, methods, mine={slug(name_of(model)) for model in models})
    counts = counts_for(study, corpora.chosen, unigrams, data_dir)
    return Plan(
        study=study,
        out=root,
        models=tuple(models),
        corpora=corpora.chosen,
        counts=counts,
        features=_features(root, held, declared),
        notes=(*corpora.missing, *_unprobed(study, corpora.chosen), *_counts_text(study, counts)),
        warnings=(*_locked(corpora.chosen), *_unfitting(study, corpora.chosen)),
        stored={name: sorted(result) for name, result in held["scores"].items()},
        ratings=ratings_of_items(corpora.chosen, data_dir, bank=root, progress=downloads),
    )


def _check_names(study: Study, models: Sequence[Asked]) -> None:
    from pairbank.cards.write import REPORT_NAME

    if not REPORT_NAME.fullmatch(study.name):
        raise StudyError(
            f"study {study.name[:80]!r} cannot name the folder of its report; use letters, digits, '.', '_' and '-', "
            "starting with a letter or digit"
        )
    if not models:
        raise StudyError(f"{study.name}: no model to run it with; name one with --model, or a list with --models")
    problems = [(member, member.problem()) for member in models if isinstance(member, ModelChoice)]
    if result := [f"{entry.id}: {problem}" for entry, problem in problems if problem]:
        raise StudyError(f"{study.name}: {len(result)} of {len(models)} models cannot be loaded. {' '.join(result)}")
    refuse_twins([name_of(model) for model in models], where=study.name)


def _check_scopes(study: Study, models: Sequence[Asked], corpora: Sequence[ChosenItems]) -> None:
    """Refuse names of corpora in a model list that nobody knows, and lists that leave out every corpus."""
    from pairbank.builders.corpora.registry import CORPORA

    choices = [model for model in models if isinstance(model, ModelChoice)]
    current = [entry.name for entry in corpora]
    for model in choices:
        if unknown := [name for name in model.corpora if name not in current and name not in CORPORA]:
            raise unknown_name(f"corpus (of model {model.name!r})", unknown[0], [*current, *CORPORA])
    if len(choices) == len(models) and not any(_scope(model, corpora) for model in choices):
        raise StudyError(
            f"{study.name}: its corpora ({', '.join(current)}) are none that the model list names (corpora, "
            f"languages); "
            "choose others with --corpus, or change the list"
        )


def check_folder(root: Path) -> None:
    """Refuse a folder that holds something else than a bank, or that cannot be written to."""
    from pairbank.cards.bank.writing import refuse_other_folders

    refuse_other_folders(root)
    place = next(folder for folder in (root, *root.absolute().parents) if os.path.lexists(folder))
    if not place.is_dir():
        raise StudyError(f"{root}: {place} is no folder, so that no bank can be written there; choose another folder")
    if not os.access(place, os.W_OK | os.X_OK):
        raise StudyError(f"{root}: {place} is not yours to write to; choose another folder")


def _methods(study: Study) -> list[Method]:
    """Return the methods, unbound to a model; an unknown one is an error with the nearest names."""
    from pairbank.scoring.api.names import MethodName
    from pairbank.scoring.methods.registry import FAMILIES, MethodOptions, in_order, method_named
    from pairbank.scoring.prompts.registry import prompts_of

    if not study.methods:
        raise StudyError(f'{study.name}: no methods; expected at least one, such as methods = ["direct"]')
    known = prompts_of(study.prompts, asked=[MethodName.parsed(x).id for x in study.methods if x not in FAMILIES])
    options = MethodOptions(prompts=known, seed=study.seed)
    return [method_named(name, options=options) for name in in_order(study.methods, known)]


def _check_embedders(study: Study, corpora: Sequence[ChosenItems]) -> None:
    from importlib.util import find_spec

    if any(embedding_models(study, entry) for entry in corpora) and find_spec("sentence_transformers") is None:
        raise ModelLoadError(
            f"{study.name} asks for distances between sentences, which need the package sentence-transformers; pip "
            f"install 'pairbank[embeddings]', or count edits alone: --minimalness {EDITS} (in a study: minimalness = "
            f'"{EDITS}")'
        )


def _manifest(root: Path) -> dict[str, Any]:
    """Return the manifest of a bank that is whole, or that of an empty one."""
    from pairbank.cards.bank.layout import MANIFEST
    from pairbank.cards.bank.writing import is_unfinished
    from pairbank.cards.check import check_bank

    if not (root / MANIFEST).is_file() or is_unfinished(root):
        return {"corpora": {}, "scores": {}}
    return check_bank(root, depth="quick", reports="free")


def _check_bank(
    held: Mapping[str, Any], corpora: Sequence[ChosenItems], methods: Sequence[Method], *, mine: set[str]
) -> None:
    """Refuse a bank whose other models were scored with other methods, or on other items, than this run's."""
    from pairbank.builders.dataset import manifest_of
    from pairbank.scoring.api.names import MethodName
    from pairbank.scoring.signature import corpus_signature, method_hashes

    names = [method.name for method in methods]
    # those that draw examples from the items have a hash that is known when they are scored
    fixed = [method for method in methods if not MethodName.parsed(method.name).n_shots]
    ours = {method.name: method.definition["sha256"] for method in fixed}
    for entry in corpora:
        others = {
            model: signature for model, signature in held["scores"].get(entry.name, {}).items() if model not in mine
        }
        if not others:
            continue
        items = corpus_signature(entry.items, manifest_of(entry.items) or {})["items_sha256"]
        for model, signature in others.items():
            theirs = method_hashes(signature)
            if sorted(theirs) != sorted(names) or any(theirs[name] != ours.get(name, theirs[name]) for name in names):
                description = f"scored with {', '.join(theirs)}, and this run scores with {', '.join(names)}"
            elif signature["corpus"]["items_sha256"] != items:
                n_items = signature["corpus"]["n_items"]
                description = f"scored on other items ({n_items:,}) than those of this run ({len(entry.items):,})"
            else:
                continue
            raise StudyError(
                f"corpus {entry.name!r}: the bank has {model}, {description}; models of one bank are scored alike: "
                f"choose "
                "another folder with --out, or run with the same study and limit"
            )


def _features(root: Path, held: Mapping[str, Any], declared: Mapping[str, ModelFeatures]) -> dict[str, ModelFeatures]:
    """Return what the bank and this run declare of models together; a contradiction is refused."""
    from pairbank.cards.bank.beside_tables import contradictions, declared_in, united

    known = declared_in(held)
    if result := list(contradictions(known, declared)):
        raise StudyError(
            f"{root} and this run declare different features: {'; '.join(result)}. Declare the same, or change "
            f"those of "
            f"the bank first: pairbank bank --out {root} --models LIST"
        )
    return united(declared, known)


def _unprobed(study: Study, corpora: Sequence[ChosenItems]) -> list[str]:
    lacking = {entry.name: [x for x in study.probe if x not in entry.items.column_names] for entry in corpora}
    return [f"Not probed: {name}, which has no column {x[0]} to probe by." for name, x in lacking.items() if x]


def _unfitting(study: Study, corpora: Sequence[ChosenItems]) -> Iterator[str]:
    """Yield which methods apply to no item of a corpus, and why: its tables will have no such rows."""
    from pairbank.scoring.applicability import why_not_asked

    for entry in corpora:
        why = why_not_asked(entry.items, study.methods, prompts=study.prompts)
        if why:
            first, reason = next(iter(why.items()))
            names = ", ".join(why)
            yield f"{entry.name} is not asked by {names}: {first} applies to no item of it, {reason}"


def _locked(corpora: Sequence[ChosenItems]) -> list[str]:
    from pairbank.builders.dataset import manifest_of
    from pairbank.cards.bank.redistribution import licence_of, may_publish

    results = []
    for entry in corpora:
        facts = manifest_of(entry.items) or {}
        if not may_publish(entry.name, facts):
            results.append(
                f"texts of {entry.name} may not be published (licence: {licence_of(entry.name, facts)}); the bank will "
                "hold them, and `pairbank strip` makes a copy that can be published"
            )
    return results
