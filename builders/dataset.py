"""The Hugging Face side of a corpus: a `datasets.GeneratorBasedBuilder` over its pure `rows`, and explicit `Features`.

Rows and counts are kept in the cache, the counts written last.
"""

from __future__ import annotations

import copy
import functools
import json
import logging
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import datasets

from pairbank.builders.corpora.corpus import BuildOptions, Corpus
from pairbank.builders.schema.columns import COLUMNS, IDENTICAL_SIDES, Column
from pairbank.builders.schema.validation import Validator
from pairbank.builders.sources.source import LocatedFile, Source
from pairbank.errors import CorpusError, PairbankError
from pairbank.files import cache_dir, sha256_of_file, sha256_of_text, write_json, writing

logger = logging.getLogger(__name__)
SPLIT = "items"
COUNTS = "pairbank_rows.json"
"""File beside the rows in the cache: their hash, and the part of the manifest that is counted in them."""
MANIFEST = "pairbank_manifest"
"""Key of the manifest in `DatasetInfo.download_checksums`, the field of a dataset for facts about the files it is made
of. `datasets` hands it on from a dataset to what is selected, filtered, mapped, pickled or saved of it, and drops it
where different datasets are put together."""
BUILDERS_VERSION = 1
"""Of `schema/`, `sources/` and this file. Prepared rows are kept under it, the corpus's `version` and its files'
hashes: raise it when the rows of many corpora move, and only then (of one corpus: raise that corpus's `version`).
`tests/builders/test_golden_rows.py` fails when rows move and neither does."""

_DAMAGE = (ValueError, TypeError, KeyError, AttributeError, EOFError, OSError)
"""What `datasets`, pyarrow and JSON raise where files in the cache are cut, emptied, gone or of another kind."""

# No file is streamed: without this, `datasets` patches this module to do so, and imports scipy.io for it.
_patched_for_streaming = datasets.DownloadConfig()


@dataclass
class CorpusConfig(datasets.BuilderConfig):  # type: ignore[misc]
    subset: str | None = None
    repair: bool = True


def _declared_info(corpus: Corpus) -> dict[str, str]:
    source = corpus.source
    names = {"citation": source.citation, "homepage": source.homepage, "license": source.licence}
    return {"description": corpus.description} | names


class CorpusBuilder(datasets.GeneratorBasedBuilder):  # type: ignore[misc]
    BUILDER_CONFIG_CLASS = CorpusConfig
    corpus: ClassVar[Corpus]

    def __init__(self, *, files: Mapping[str, LocatedFile], **kwargs: Any) -> None:  # noqa: ANN401 - passed on
        self._files = files
        super().__init__(**kwargs)

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(**_declared_info(self.corpus), features=features(self.corpus.extra_columns))

    def _split_generators(self, _dl_manager: object) -> list[datasets.SplitGenerator]:
        return [datasets.SplitGenerator(name=SPLIT, gen_kwargs={})]

    def _generate_examples(self) -> Iterator[tuple[str, dict[str, Any]]]:
        options = BuildOptions(subset=self.config.subset, repair=self.config.repair)
        validator = Validator(self.corpus.name, self.corpus.extra_columns, own=self.corpus.own)
        for item in validator.checked(self.corpus.rows(self._files, options)):
            yield item.item_id, item.row()


@functools.cache
def _cached_class(name: str, subsets: tuple[str, ...], version_: str) -> type[CorpusBuilder]:
    configs = [CorpusConfig(name="all", version=datasets.Version(version_))]
    configs += [CorpusConfig(name=s, subset=s, version=datasets.Version(version_)) for s in subsets]
    return type(f"{name.title()}Builder", (CorpusBuilder,), {"BUILDER_CONFIGS": configs, "DEFAULT_CONFIG_NAME": "all"})


def builder_class(corpus: Corpus) -> type[CorpusBuilder]:
    """Return the builder class of a corpus: one config a subset and `all`, which is the default."""
    base = _cached_class(corpus.name, corpus.subsets, corpus.version)
    return type(base.__name__, (base,), {"corpus": corpus})


def prepare(
    corpus: Corpus, files: Mapping[str, LocatedFile], options: BuildOptions, *, variant: str = ""
) -> datasets.Dataset:
    content = (f"{name}={file.sha256}" for name, file in sorted(files.items()))
    columns = (f"{column.name}:{column.type}" for column in corpus.extra_columns)
    key = sha256_of_text(*content, str(options), variant, corpus.version, str(BUILDERS_VERSION), *columns)[:16]
    kept = list((cache_dir() / "corpora" / corpus.name).glob(f"*/*/{key}"))
    if kept:
        try:
            return _prepared(corpus, files, options, key=key)
        except PairbankError:
            raise
        except _DAMAGE as problem:
            for folder in kept:
                aside = folder.with_name(f"{folder.name}.corrupt")
                shutil.rmtree(aside, ignore_errors=True)
                folder.rename(aside)
                logger.warning("%s is damaged (%s); it is set aside as %s, and built anew", folder, problem, aside.name)
    return _prepared(corpus, files, options, key=key)


def _prepared(corpus: Corpus, files: Mapping[str, LocatedFile], options: BuildOptions, *, key: str) -> datasets.Dataset:
    place = cache_dir() / "corpora"
    with writing(place):
        builder = builder_class(corpus)(
            files=files,
            cache_dir=str(place),
            dataset_name=corpus.name,
            config_name=options.subset if options.subset in corpus.subsets else "all",
            hash=key,
            **({} if options.repair else {"repair": False}),
            **({"subset": options.subset} if options.subset and options.subset not in corpus.subsets else {}),
        )
        shown = not datasets.are_progress_bars_disabled()
        datasets.disable_progress_bars()  # "Generating items split" is over before it is read
        try:
            builder.download_and_prepare()
        except datasets.exceptions.DatasetGenerationError as error:
            cause: BaseException | None = error
            while cause is not None and not isinstance(cause, PairbankError | OSError):
                cause = cause.__cause__ or cause.__context__
            if cause is None:
                raise
            raise cause from None
        finally:
            if shown:
                datasets.enable_progress_bars()
    return _sealed(builder, corpus, files, options)


def _sealed(
    builder: CorpusBuilder, corpus: Corpus, files: Mapping[str, LocatedFile], options: BuildOptions
) -> datasets.Dataset:
    """Return the prepared rows, which are those that were written: a damaged file is not even opened."""
    folder = Path(builder.cache_dir)
    # `datasets` keeps what a user selects or maps beside them (cache-….arrow)
    rows = {path.name: sha256_of_file(path) for path in sorted(folder.glob(f"*-{SPLIT}*.arrow"))}
    path = folder / COUNTS
    # Asked once: another process may write the file between here and below.
    is_new = not path.exists()
    sealed: dict[str, Any] = {"rows": rows} if is_new else json.loads(path.read_text(encoding="utf-8"))
    if sealed["rows"] != rows:
        raise ValueError("its rows are not those that were written")
    dataset = builder.as_dataset(split=SPLIT)
    if is_new:
        sealed["counts"] = _counted(corpus, files, dataset)
    digest = sha256_of_text(json.dumps(sealed["counts"], sort_keys=True))
    if sealed.get("counts_sha256", "") not in ("", digest):
        raise ValueError("its counts are not those that were written")
    if is_new:
        write_json(path, sealed | {"counts_sha256": digest})
    _declare(dataset, corpus, _declared(corpus, files, options) | sealed["counts"])
    return dataset


def manifest_of(dataset: datasets.Dataset) -> dict[str, Any] | None:
    """Return the manifest of the corpus that a Dataset was built from; None of one that pairbank did not build."""
    carried: dict[str, Any] | None = (dataset.info.download_checksums or {}).get(MANIFEST)
    return copy.deepcopy(carried)


def _declare(dataset: datasets.Dataset, corpus: Corpus, manifest: dict[str, Any]) -> None:
    """Let a dataset say what the corpus declares today, whenever its rows were prepared, and carry its manifest."""
    for name, value in _declared_info(corpus).items():
        setattr(dataset.info, name, value)
    carry_manifest(dataset, manifest)


def carry_manifest(dataset: datasets.Dataset, manifest: Mapping[str, Any]) -> None:
    # as JSON has it, keys in order: a signature's bytes do not depend on where the manifest comes from
    dataset.info.download_checksums = {MANIFEST: json.loads(json.dumps(manifest, sort_keys=True))}


def declare_ratings(
    table: datasets.Dataset,
    corpus: Corpus,
    files: Mapping[str, LocatedFile],
    options: BuildOptions,
    facts: Mapping[str, Any],
) -> None:
    """Let a table of ratings carry what its corpus declares, and how it was made."""
    _declare(table, corpus, _declared(corpus, files, options) | dict(facts))


def _declared(corpus: Corpus, files: Mapping[str, LocatedFile], options: BuildOptions) -> dict[str, Any]:
    return {
        "corpus": corpus.name,
        **{name: getattr(corpus, name) for name in ("title", "description", "version", "human")},
        "subset": options.subset,
        "repair": options.repair,
        "pairbank_version": version("pairbank"),
        "files": {file.name: {"sha256": file.sha256, "verified": file.verified} for file in files.values()},
        "source": {key.name: getattr(corpus.source, key.name) for key in fields(Source) if key.name != "files"},
    }


def _counted(corpus: Corpus, files: Mapping[str, LocatedFile], dataset: datasets.Dataset) -> dict[str, Any]:
    return {
        "n_rows": len(dataset),
        "n_usable": sum(IDENTICAL_SIDES not in flags for flags in dataset["flags"][:]),
        "n_by_subset": dict(Counter(dataset["subset"][:])),
        "languages": sorted(set(dataset["language"][:])),
        "tasks": sorted(set(dataset["task"][:])),
        "n_by_flag": dict(Counter(flag for flags in dataset["flags"][:] for flag in flags)),
        "facts": dict(corpus.metadata(files)),
    }


def features(extra: Sequence[Column] = ()) -> datasets.Features:
    """Return the explicit Features of a corpus: a column that is null in a whole shard would get the type null."""
    types = {column.name: datasets.Value(column.type) for column in COLUMNS}
    types["flags"] = datasets.List(datasets.Value("string"))
    if repeated := [column.name for column in extra if column.name in types]:
        raise CorpusError(f"extension columns {repeated} repeat shared columns; rename them")
    types |= {column.name: datasets.Value(column.type) for column in extra}
    return datasets.Features(types)
