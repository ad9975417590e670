"""Damaged shards of the store are set aside and scored again, with one line that says so; nothing damaged is served."""

import math
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pairbank
from counting import Counting
from pairbank.errors import ScoringError
from pairbank.scoring.run import store
from tiny_bidirectional_models import masked_model, saved
from tiny_models import ARCHITECTURES, saved_model

METHODS = ("direct", "meta_question_simple", "acceptability_judgment_i")
MODELS: dict[str, Callable[[Path], Any]] = {
    "fake": lambda _folder: pairbank.load_model("fake:x"),
    "llama": lambda folder: pairbank.load_model(saved_model(ARCHITECTURES["llama"], folder), device="cpu"),
    "bert": lambda folder: pairbank.load_model(saved(*masked_model("bert"), folder), device="cpu"),
}


def items(n: int = 6) -> Any:  # noqa: ANN401 - a Dataset
    return pairbank.load_corpus("starter", subset="minimal-pairs").select(range(n))


def columns(model: Any, n: int = 6) -> dict[str, Any]:  # noqa: ANN401 - a scorer
    scored = pairbank.score(items(n), model, methods=METHODS)
    return {name: list(_flat(scored[name][:])) for name in scored.dataset.column_names}


def _flat(value: Any) -> Iterator[Any]:  # noqa: ANN401 - a cell
    """Yield the members of nested lists; numbers may differ in the last bits where not all methods are asked anew."""
    if isinstance(value, list):
        for member in value:
            yield from _flat(member)
    else:
        yield pytest.approx(value, abs=1e-4, nan_ok=True) if isinstance(value, float) else value


def plain(result: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers themselves, to be compared with what allows for rounding."""
    return {name: [getattr(value, "expected", value) for value in values] for name, values in result.items()}


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def page(path: Path) -> None:
    path.write_text("<html></html>", encoding="utf-8")


def flipped(path: Path) -> None:
    """Flip one bit of a value: parquet reads it without a word unless pages carry checksums."""
    data = bytearray(path.read_bytes())
    first = pq.ParquetFile(path).metadata.row_group(0).column(0)
    start = first.dictionary_page_offset or first.data_page_offset
    data[start + first.total_compressed_size - 3] ^= 0x10
    path.write_bytes(data)


def rewritten(change: Callable[[pa.Table], pa.Table]) -> Callable[[Path], None]:
    """Return what puts another table in the place of a shard's, its metadata left as they were."""

    def damage(path: Path) -> None:
        table = pq.read_table(path, partitioning=None)
        pq.write_table(change(table).replace_schema_metadata(table.schema.metadata), path)

    return damage


def with_nan(table: pa.Table) -> pa.Table:
    name = next(name for name in table.column_names if table.schema.field(name).type == pa.float64())
    at = table.column_names.index(name)
    return table.set_column(at, name, pa.array([math.nan, *table[name].to_pylist()[1:]], pa.float64()))


DAMAGES: dict[str, Callable[[Path], None]] = {
    "cut": cut,
    "empty": emptied,
    "a web page": page,
    "a flipped bit": flipped,
    "too few rows": rewritten(lambda table: table.slice(0, 2)),
    "rows twice": rewritten(lambda table: pa.concat_tables([table, table])),
    "rows in another order": rewritten(lambda table: table.take([*range(len(table))][::-1])),
    "a NaN": rewritten(with_nan),
    "a column less": rewritten(lambda table: table.drop_columns(table.column_names[:1])),
    "a column of text": rewritten(
        lambda table: table.set_column(0, table.column_names[0], pa.array(["x"] * len(table)))
    ),
}


@pytest.mark.ci
@pytest.mark.parametrize(
    ("damage", "name"), [*((damage, "fake") for damage in DAMAGES), ("a flipped bit", "llama"), ("a NaN", "bert")]
)
def test_a_damaged_shard_is_set_aside_and_scored_again(
    damage: str, name: str, tmp_path: Path, private_cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = MODELS[name](tmp_path / name)
    before = columns(model)
    shards = sorted((private_cache / "scores").rglob("*.parquet"))
    assert len(shards) == len(METHODS)
    for path in shards[:2]:
        DAMAGES[damage](path)
    assert plain(columns(model)) == before
    told = [record.getMessage() for record in caplog.records if "set aside as" in record.getMessage()]
    assert len(told) == 2
    assert all("scored again" in line for line in told)
    assert len([*(private_cache / "scores").rglob("*.corrupt")]) == 2
    caplog.clear()
    assert plain(columns(model)) == before
    assert not caplog.records


def test_the_shard_of_other_items_put_in_its_place_is_not_served(
    private_cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = columns(pairbank.load_model("fake:x"))
    shards = {path.name: path.read_bytes() for path in (private_cache / "scores").rglob("*.parquet")}
    columns(pairbank.load_model("fake:y"))
    others = [path for path in (private_cache / "scores").rglob("*.parquet") if path.name not in shards]
    for path in (private_cache / "scores").rglob("*.parquet"):
        if path.name in shards:
            for other in others:
                if pq.read_schema(other).names == pq.read_schema(path).names:
                    path.write_bytes(other.read_bytes())
    assert plain(columns(pairbank.load_model("fake:x"))) == before
    assert "its values are not those that were written" in caplog.text


def test_a_shard_that_may_not_be_read_is_an_error_and_stays(
    private_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns(pairbank.load_model("fake:x"))

    def refused(*_args: Any, **_options: Any) -> None:  # noqa: ANN401
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(pq, "read_table", refused)
    with pytest.raises(ScoringError, match="check who may read them"):
        columns(pairbank.load_model("fake:x"))
    assert not [*(private_cache / "scores").rglob("*.corrupt")]


PACKED = 4 * 128 + 3
"""Items of as many shards as are packed, and one more."""


def many_items(n: int = PACKED) -> Any:  # noqa: ANN401 - a Dataset
    base = items(40).to_pandas()
    rows = pd.concat([base] * (n // 40 + 1), ignore_index=True).head(n)
    rows["item_id"] = [f"starter/{k}" for k in range(n)]
    rows["target_good"] = [f"{text} {k}" for k, text in enumerate(rows["target_good"])]
    return datasets.Dataset.from_pandas(rows, features=items(1).features, preserve_index=False)


def files_of(cache: Path) -> list[Path]:
    return sorted((cache / "scores").rglob("*.parquet"))


@pytest.mark.ci
def test_a_run_that_ends_packs_its_shards_and_others_find_them_there(private_cache: Path, tmp_path: Path) -> None:
    rows, methods = many_items(), ["meta_question_simple", "acceptability_judgment_i"]
    whole = pairbank.score(rows, Counting(), methods=methods).save(tmp_path / "whole.parquet").read_bytes()
    n_asked, packs = len(Counting.asked), files_of(private_cache)
    assert len(packs) == len(methods)
    assert {path.parent.parent.name for path in packs} == {"packs"}
    before = [path.read_bytes() for path in packs]
    again = pairbank.score(rows, Counting(), methods=methods).save(tmp_path / "again.parquet").read_bytes()
    fewer = pairbank.score(rows.select(range(3 * 128)), Counting(), methods=methods[:1])
    name = "meta_question_simple_delta"
    assert again == whole
    assert fewer[name][:] == pairbank.read_scored(tmp_path / "whole.parquet")[name][: 3 * 128]
    assert len(Counting.asked) == n_asked
    assert [path.read_bytes() for path in files_of(private_cache)] == before


@pytest.mark.ci
@pytest.mark.parametrize("place", ["before the pack is written", "before shards are removed", "among shards"])
def test_a_kill_while_shards_are_packed_costs_nothing(
    place: str, private_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = many_items()
    whole = pairbank.score(rows, Counting(), methods=["meta_question_simple"])["meta_question_simple_delta"][:]
    [pack] = files_of(private_cache)
    shutil.rmtree(private_cache / "scores")
    n_removed = 0

    def killed(path: Path, **_options: Any) -> None:  # noqa: ANN401
        nonlocal n_removed
        if path.parent.name == "packs" or path.suffix == ".part":
            real(path, **_options)
            return
        n_removed += 1
        if n_removed == (3 if place == "among shards" else 1):
            raise KeyboardInterrupt
        real(path, **_options)

    real = Path.unlink
    with monkeypatch.context() as patched:
        if place == "before the pack is written":
            patched.setattr(store, "_packs", lambda _group: (_ for _ in ()).throw(KeyboardInterrupt))
            patched.setattr(store.Packs, "_read_new", lambda _packs: None)
        else:
            patched.setattr(Path, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            pairbank.score(rows, Counting(), methods=["meta_question_simple"])
    n_asked = len(Counting.asked)
    assert pairbank.score(rows, Counting(), methods=["meta_question_simple"])["meta_question_simple_delta"][:] == whole
    assert len(Counting.asked) == n_asked
    assert files_of(private_cache) == [pack]


@pytest.mark.ci
@pytest.mark.parametrize("damage", ["cut", "a web page", "a flipped bit", "rows in another order"])
def test_a_damaged_pack_is_scored_again_and_made_anew(
    damage: str, private_cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = many_items()
    whole = pairbank.score(rows, Counting(), methods=["meta_question_simple"])["meta_question_simple_delta"][:]
    [pack] = files_of(private_cache)
    DAMAGES[damage](pack)
    assert pairbank.score(rows, Counting(), methods=["meta_question_simple"])["meta_question_simple_delta"][:] == whole
    assert "scored again" in caplog.text
    assert files_of(private_cache) == [pack]
    caplog.clear()
    assert pairbank.score(rows, Counting(), methods=["meta_question_simple"])["meta_question_simple_delta"][:] == whole
    assert not caplog.records


def test_shards_are_on_the_disk_before_they_have_their_name(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda _handle: seen.append("sync"))
    real = Path.replace

    def replace(self: Path, target: Path) -> Path:
        if target.suffix == ".parquet" and "scores" in target.parts:
            seen.append("name")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    columns(pairbank.load_model("fake:x"))
    assert seen == ["sync", "name"] * len(METHODS)
