"""The prepared Dataset: when rows are made anew, and what it says of the corpus that it comes from."""

import pickle
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import pytest

import pairbank
from corpus_files import known_manifest
from pairbank.builders import dataset as module
from pairbank.builders.corpora.corpus import BuildOptions, Corpus
from pairbank.builders.corpora.registry import corpus_named
from pairbank.builders.dataset import manifest_of, prepare
from pairbank.builders.schema.columns import Column
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError
from pairbank.files import cache_dir
from pairbank.scoring.models.fake import FakeScorer
from pairbank.scoring.score import score

HEADER = "item_id,prefix,continuation\n"


def p18(folder: Path, word: str = "horse") -> dict[str, LocatedFile]:
    path = folder / "corpus.csv"
    path.write_text(f"{HEADER}1,The rider fell off the,{word}\n2,The sun is a,star\n")
    return {"corpus.csv": LocatedFile(path=path, name="corpus.csv", sha256=word, verified=False)}


def counted(corpus: Corpus, calls: list[str]) -> Corpus:
    def rows(files: Any, options: Any) -> Any:  # noqa: ANN401 - as the corpus takes them
        calls.append(corpus.version)
        return corpus.rows(files, options)

    return replace(corpus, rows=rows)


def saved(items: datasets.Dataset, folder: Path) -> datasets.Dataset:
    items.save_to_disk(folder / "items")
    return datasets.load_from_disk(folder / "items")


def mapped_in_memory(items: datasets.Dataset) -> datasets.Dataset:
    return items.map(lambda row: {"n": len(row["target_good"])}, keep_in_memory=True)


DERIVED: dict[str, Callable[[datasets.Dataset, Path], datasets.Dataset]] = {
    "select": lambda items, _folder: items.select([2, 0]),
    "flattened": lambda items, _folder: items.select([2, 0]).flatten_indices(keep_in_memory=True),
    "filter": lambda items, _folder: items.filter(lambda row: "1" in row["item_id"], keep_in_memory=True),
    "map": lambda items, _folder: items.map(lambda row: {"n": len(row["target_good"])}),
    "map in memory": lambda items, _folder: mapped_in_memory(items),
    "shuffle": lambda items, _folder: items.shuffle(seed=0),
    "add_column": lambda items, _folder: items.add_column("n", list(range(len(items)))),
    "remove_columns": lambda items, _folder: items.remove_columns(["pair_id"]),
    "rename_column": lambda items, _folder: items.rename_column("pair_id", "id"),
    "train_test_split": lambda items, _folder: items.train_test_split(test_size=0.5, seed=0)["test"],
    "two parts": lambda items, _folder: datasets.concatenate_datasets([items.select([0]), items.select([1, 2])]),
    "pickle": lambda items, _folder: pickle.loads(pickle.dumps(items)),  # noqa: S301 - our own
    "save_to_disk": saved,
}


@pytest.mark.parametrize("name", DERIVED)
def test_what_is_made_of_a_corpus_keeps_its_version_and_source(name: str, tmp_path: Path) -> None:
    items = pairbank.load_corpus("starter", limit=2)
    manifest = known_manifest(items)
    assert (manifest["corpus"], manifest["version"]) == ("starter", corpus_named("starter").version)
    assert manifest["source"]["licence"] == "apache-2.0"
    assert manifest_of(DERIVED[name](items, tmp_path)) == manifest


def test_it_keeps_them_where_the_cache_is_gone(private_cache: Path) -> None:
    items = mapped_in_memory(pairbank.load_corpus("starter", limit=1))
    shutil.rmtree(private_cache / "corpora")
    manifest = known_manifest(items)
    assert manifest["n_rows"] == corpus_named("starter").n_items


def test_rows_of_which_nobody_knows_whence_they_are_have_no_manifest(tmp_path: Path) -> None:
    items = pairbank.load_corpus("starter", limit=1)
    assert manifest_of(datasets.Dataset.from_list(items.to_list(), features=items.features)) is None
    other = prepare(corpus_named("p18"), p18(tmp_path), BuildOptions())
    assert manifest_of(datasets.concatenate_datasets([items, other])) is None
    assert manifest_of(datasets.concatenate_datasets([items, items.map(lambda row: row)])) == manifest_of(items)


def test_a_signature_has_the_version_of_mapped_items_and_says_when_there_is_none() -> None:
    items = pairbank.load_corpus("starter", limit=1).filter(lambda row: row["task"] == "sentence_pair")
    model = FakeScorer()
    mapped = score(mapped_in_memory(items), model).signature["corpus"]
    assert (mapped["version"], mapped["manifest"]) == (corpus_named("starter").version, manifest_of(items))
    anew = score(datasets.Dataset.from_list(items.to_list(), features=items.features), model).signature["corpus"]
    assert (anew["version"], anew["manifest"]) == ("", {})
    assert anew["items_sha256"] == mapped["items_sha256"]


def test_a_reader_cannot_change_the_manifest_of_a_dataset() -> None:
    items = pairbank.load_corpus("starter", limit=1)
    manifest = known_manifest(items)
    manifest["source"]["licence"] = "mine"
    assert manifest_of(items) != manifest


def test_rows_are_made_anew_only_when_a_file_a_version_or_a_column_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    corpus = counted(corpus_named("p18"), calls)
    prepare(corpus, p18(tmp_path), BuildOptions())
    assert len(calls) == 1
    again = prepare(replace(corpus, title="Another title", n_items=3), p18(tmp_path), BuildOptions())
    assert len(calls) == 1
    changed = prepare(corpus, p18(tmp_path, "pony"), BuildOptions())
    assert (again["target_good"][0], changed["target_good"][0], len(calls)) == ("horse", "pony", 2)
    prepare(replace(corpus, version="1.0.1"), p18(tmp_path), BuildOptions())
    assert len(calls) == 3
    monkeypatch.setattr(module, "BUILDERS_VERSION", module.BUILDERS_VERSION + 1)
    prepare(corpus, p18(tmp_path), BuildOptions())
    assert len(calls) == 4
    column = Column(name="seen", type="bool", nullable=True, meaning="whether a rater saw it")
    with pytest.raises(CorpusError, match="seen is 'absent'"):
        prepare(replace(corpus, extra_columns=(column,)), p18(tmp_path), BuildOptions())
    assert len(calls) == 5


def test_what_a_corpus_declares_is_of_today_though_its_rows_come_from_the_cache(tmp_path: Path) -> None:
    corpus = corpus_named("p18")
    before = prepare(corpus, p18(tmp_path), BuildOptions())
    source = replace(corpus.source, licence="cc-by-4.0", homepage="https://example.org", citation="@misc{a}")
    today = prepare(replace(corpus, description="Corrected.", source=source, title="T"), p18(tmp_path), BuildOptions())
    assert today.cache_files == before.cache_files
    manifest = known_manifest(today)
    assert (manifest["title"], manifest["description"]) == ("T", "Corrected.")
    assert (manifest["source"]["licence"], manifest["source"]["citation"]) == ("cc-by-4.0", "@misc{a}")
    info = today.info
    said = (info.description, info.license, info.homepage, info.citation)
    assert said == ("Corrected.", "cc-by-4.0", "https://example.org", "@misc{a}")
    assert list(manifest) == sorted(manifest)


def test_counts_that_another_process_writes_meanwhile_do_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus, files = corpus_named("p18"), p18(tmp_path, "pony")
    first = prepare(corpus, files, BuildOptions())
    (path,) = (cache_dir() / "corpora" / "p18").glob(f"*/*/*/{module.COUNTS}")
    counts = path.read_text(encoding="utf-8")
    path.unlink()
    before = module.CorpusBuilder.as_dataset

    def with_counts_written(self: module.CorpusBuilder, **options: Any) -> Any:  # noqa: ANN401 - as `datasets` has it
        path.write_text(counts, encoding="utf-8")
        return before(self, **options)

    monkeypatch.setattr(module.CorpusBuilder, "as_dataset", with_counts_written)
    assert manifest_of(prepare(corpus, files, BuildOptions())) == manifest_of(first)
