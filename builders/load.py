"""`load_corpus`: a name, or the path of a user's file, to a `datasets.Dataset` in the shared schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from pairbank.builders.corpora.corpus import BuildOptions, Corpus
from pairbank.builders.corpora.registry import corpus_named
from pairbank.builders.corpora.tabular import TabularOptions, is_tabular, tabular_corpus
from pairbank.builders.schema.columns import Task
from pairbank.builders.sources.downloads import Progress
from pairbank.builders.sources.source import LocatedFile, locate
from pairbank.errors import CorpusError, unknown_name
from pairbank.files import sha256_of_file

if TYPE_CHECKING:
    import datasets


def load_corpus(
    name: str | Path,
    *,
    data_dir: str | Path | None = None,
    subset: str | None = None,
    language: str | None = None,
    limit: int | None = None,
    repair: bool = True,
    columns: Mapping[str, str] | None = None,
    task: Task | None = None,
    progress: Progress | None = None,
) -> datasets.Dataset:
    """Return a corpus as a `datasets.Dataset` in the shared schema, every row of the source in it.

    Rows that need care (identical sides, a repeated pair, no human rating, mended text) are flagged in the
    column `flags`, never dropped.

    Args:
        name: a built-in corpus (`pairbank corpora` lists them), or the path of a CSV, TSV, JSON-lines or
            parquet file with your own items (two columns of sentences are enough: better, worse).
        data_dir: folder with the upstream files, or a root that holds one folder a corpus; None downloads.
        subset: only this subset (for BLiMP: a paradigm).
        language: only this language (BCP-47); for your own file: its language.
        limit: at most this many items of each paradigm (within its subset and language), in the source's order.
        repair: mend the documented defects of the source; False keeps its text as it is.
        columns: for your own file: schema column -> your column.
        task: for your own file: its task.
        progress: told of every piece of a file that is downloaded, perhaps from several threads.

    Raises:
        UnknownNameError: no such corpus, subset or language.
        CorpusFileNotFoundError: a file is missing and cannot be downloaded.
        CorpusError: a file or rows that cannot be accepted; all problems at once.
    """
    from pairbank.builders.dataset import prepare

    options = BuildOptions(subset=subset, repair=repair)
    if is_tabular(str(name)):
        table = TabularOptions(columns=columns or {}, language=language or "en", task=task)
        corpus, file = tabular_corpus(Path(name), table)
        dataset = prepare(corpus, {file.name: file}, options, variant=f"{table} {file.name}")
    else:
        if columns or task:
            raise CorpusError(f"columns and task describe a file of your own; {name!r} is a built-in corpus")
        corpus = corpus_named(str(name))
        if subset is not None and subset not in corpus.subsets:
            raise unknown_name(f"subset of {corpus.name}", subset, corpus.subsets)
        if language is not None and language not in corpus.languages:
            raise unknown_name(f"language of {corpus.name}", language, corpus.languages)
        if subset is None and language in corpus.subset_files:
            options = replace(options, subset=language)
        dataset = prepare(corpus, located_files(corpus, data_dir, options, progress=progress), options)
        if language is not None and len(corpus.languages) > 1:
            dataset = dataset.select([i for i, value in enumerate(dataset["language"][:]) if value == language])
    return dataset if limit is None else first_of_each_paradigm(dataset, limit)


def located_files(
    corpus: Corpus,
    data_dir: str | Path | None,
    options: BuildOptions | None = None,
    *,
    progress: Progress | None = None,
) -> Mapping[str, LocatedFile]:
    """Return the files of a built-in corpus by upstream name: the package's own, in `data_dir`, or downloaded.

    Args:
        corpus: whose files.
        data_dir: folder with the upstream files, or a root that holds one folder a corpus; None downloads.
        options: a subset that one file holds needs that file alone.
        progress: told of every piece of a file that is downloaded.

    Raises:
        CorpusFileNotFoundError: a file is missing and cannot be downloaded.
    """
    if not corpus.embedded:
        folder = None if data_dir is None else Path(data_dir)
        if folder is not None and corpus.folder and (folder / corpus.folder).is_dir():
            folder /= corpus.folder
        source = corpus.source
        if only := corpus.subset_files.get((options and options.subset) or ""):
            source = replace(source, files=tuple(file for file in source.files if file.name == only))
        return locate(corpus.name, source, folder, progress=progress)
    root = Path(str(resources.files(corpus.package) / "data"))
    return {
        name: LocatedFile(path=root / name, name=name, sha256=sha256_of_file(root / name), verified=True)
        for name in corpus.embedded
    }


def first_of_each_paradigm(dataset: datasets.Dataset, limit: int) -> datasets.Dataset:
    """Return at most `limit` items of each paradigm (within its subset and language), in their order.

    Raises:
        CorpusError: a limit below 1.
    """
    if limit < 1:
        raise CorpusError(f"limit is {limit}, expected at least 1 item a paradigm")
    seen: Counter[tuple[str | None, ...]] = Counter()
    kept: list[int] = []
    groups = zip(*(dataset[name][:] for name in ("subset", "language", "paradigm")), strict=True)
    for index, group in enumerate(groups):
        seen[group] += 1
        if seen[group] <= limit:
            kept.append(index)
    return dataset.select(kept)
