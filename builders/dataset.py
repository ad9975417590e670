"""The Hugging Face side of a corpus: a `datasets.GeneratorBasedBuilder` over its pure `rows`.

In: a `Corpus` and its located files. Out: a prepared `datasets.Dataset` in the shared schema, and a manifest
(counts, flags, file hashes) beside it in the cache, written last.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import datasets

from pairbank.builders.corpora.corpus import BuildOptions, Corpus
from pairbank.builders.schema.columns import features
from pairbank.builders.schema.flags import IDENTICAL_SIDES
from pairbank.builders.schema.validation import Validator
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import PairbankError
from pairbank.files import cache_dir, read_json, sha256_of_text, write_json

SPLIT = "items"
MANIFEST = "pairbank_manifest.json"


@dataclass
class CorpusConfig(datasets.BuilderConfig):  # type: ignore[misc]
    """One configuration: a subset (or all of them), mended or as the source has it."""

    subset: str | None = None
    repair: bool = True


class CorpusBuilder(datasets.GeneratorBasedBuilder):  # type: ignore[misc]
    """Builds one corpus; `builder_class` makes the concrete classes."""

    BUILDER_CONFIG_CLASS = CorpusConfig
    corpus: ClassVar[Corpus]

    def __init__(self, *, files: Mapping[str, LocatedFile], **kwargs: Any) -> None:  # noqa: ANN401 - passed on
        self._files = files
        super().__init__(**kwargs)

    def _info(self) -> datasets.DatasetInfo:
        source = self.corpus.source
        return datasets.DatasetInfo(
            description=self.corpus.description,
            citation=source.citation,
            homepage=source.homepage,
            license=source.licence,
            features=features(self.corpus.extra_columns),
        )

    def _split_generators(self, _dl_manager: object) -> list[datasets.SplitGenerator]:
        return [datasets.SplitGenerator(name=SPLIT, gen_kwargs={})]

    def _generate_examples(self) -> Iterator[tuple[str, dict[str, Any]]]:
        options = BuildOptions(subset=self.config.subset, repair=self.config.repair)
        validator = Validator(self.corpus.name, self.corpus.extra_columns)
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
    """Return the corpus as a Dataset, from the cache where content and code are unchanged.

    Args:
        corpus: what to build.
        files: its located files, by upstream name.
        options: subset and repairs.
        variant: anything else that the rows depend on (a user's column map); part of the cache key.

    Raises:
        CorpusError: a file or row that cannot be accepted.
    """
    content = (f"{name}={file.sha256}" for name, file in sorted(files.items()))
    key = sha256_of_text(*content, str(options), variant, corpus.version, version("pairbank"), _code_hash())
    builder = builder_class(corpus)(
        files=files,
        cache_dir=str(cache_dir() / "corpora"),
        dataset_name=corpus.name,
        config_name=options.subset if options.subset in corpus.subsets else "all",
        hash=key[:16],
        **({} if options.repair else {"repair": False}),
        **({"subset": options.subset} if options.subset and options.subset not in corpus.subsets else {}),
    )
    try:
        builder.download_and_prepare()
    except datasets.exceptions.DatasetGenerationError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, PairbankError):
            cause = cause.__cause__
        if cause is None:
            raise
        raise cause from None
    dataset = builder.as_dataset(split=SPLIT)
    manifest_path = Path(builder.cache_dir) / MANIFEST
    if not manifest_path.exists():
        write_json(manifest_path, _manifest(corpus, files, options, dataset))
    return dataset


def manifest_of(dataset: datasets.Dataset) -> dict[str, Any] | None:
    """Return the manifest of the corpus that a Dataset was built from, or None if pairbank did not build it."""
    for file in dataset.cache_files:
        path = Path(file["filename"]).with_name(MANIFEST)
        if path.is_file():
            manifest: dict[str, Any] = read_json(path)
            return manifest
    return None


def _manifest(
    corpus: Corpus, files: Mapping[str, LocatedFile], options: BuildOptions, dataset: datasets.Dataset
) -> dict[str, Any]:
    source = corpus.source
    return {
        "corpus": corpus.name,
        "title": corpus.title,
        "description": corpus.description,
        "version": corpus.version,
        "subset": options.subset,
        "repair": options.repair,
        "pairbank_version": version("pairbank"),
        "files": {file.name: {"sha256": file.sha256, "verified": file.verified} for file in files.values()},
        "source": {
            "homepage": source.homepage,
            "revision": source.revision,
            "licence": source.licence,
            "licence_note": source.licence_note,
            "redistributable": source.redistributable,
            "citation": source.citation,
        },
        "human": corpus.human,
        "n_rows": len(dataset),
        "n_usable": sum(IDENTICAL_SIDES not in flags for flags in dataset["flags"][:]),
        "n_by_subset": dict(Counter(dataset["subset"][:])),
        "languages": sorted(set(dataset["language"][:])),
        "tasks": sorted(set(dataset["task"][:])),
        "n_by_flag": dict(Counter(flag for flags in dataset["flags"][:] for flag in flags)),
        "facts": dict(corpus.metadata(files)),
    }


@functools.cache
def _code_hash() -> str:
    folder = Path(__file__).parent
    return sha256_of_text(*(p.read_text(encoding="utf-8") for p in sorted(folder.glob("*.py"))))
