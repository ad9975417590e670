"""Which model it was: weights are hashed whole, and an edited model never gets its predecessor's scores."""

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pairbank
from pairbank.errors import ModelLoadError
from pairbank.scoring.models import weights as module
from pairbank.scoring.models.causal import CausalScorer
from pairbank.scoring.models.checkpoints import located
from pairbank.scoring.models.weights import HashProgress, fingerprint
from tiny_bidirectional_models import masked_model, saved, t5_model
from tiny_models import ARCHITECTURES, saved_model

WEIGHTS = "model.safetensors"
MODELS: dict[str, Callable[[Path], Path]] = {
    "llama": lambda folder: saved_model(ARCHITECTURES["llama"], folder),
    "bert": lambda folder: saved(*masked_model("bert"), folder),
    "t5": lambda folder: saved(*t5_model(), folder),
}


def flip_a_matrix(file: Path) -> None:
    """Flip all signs of a float32 matrix in the middle of a file, and put size and modification time back."""
    before = file.stat()
    data = bytearray(file.read_bytes())
    n_header = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + n_header])
    matrices = [entry for name, entry in header.items() if name != "__metadata__" and len(entry["shape"]) == 2]
    first, last = matrices[len(matrices) // 2]["data_offsets"]
    for i in range(8 + n_header + first + 3, 8 + n_header + last, 4):
        data[i] ^= 0x80
    with file.open("r+b") as handle:
        handle.write(data)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = file.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)


def scored(folder: Path) -> tuple[str, list[float]]:
    model = pairbank.load_model(folder, device="cpu")
    pairs = [("The keys are here.", "The keys is here."), ("A dog barks.", "A dog bark.")]
    return model.info.revision, pairbank.score(pairs, model)["direct_good"][:]


@pytest.fixture
def kept_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the hashes of small files too, and of files written this very moment."""
    monkeypatch.setattr(module, "LARGE_BYTES", 1_000)
    monkeypatch.setattr(module, "SETTLED_SECONDS", 0.0)


@pytest.mark.ci
@pytest.mark.usefixtures("kept_at_once")
@pytest.mark.parametrize("name", MODELS)
def test_an_edited_model_never_gets_its_predecessors_scores(name: str, tmp_path: Path) -> None:
    folder = MODELS[name](tmp_path / name)
    first, again = scored(folder), scored(folder)
    assert first == again
    flip_a_matrix(folder / WEIGHTS)
    edited = scored(folder)
    assert edited[0] != first[0]
    assert max(abs(a - b) for a, b in zip(edited[1], first[1], strict=True)) > 1e-3
    flip_a_matrix(folder / WEIGHTS)
    assert scored(folder) == first


def big_file(folder: Path, n_bytes: int = 3 << 20) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / WEIGHTS
    path.write_bytes(bytes(n_bytes))
    return path


def reads(folder: Path) -> list[HashProgress]:
    """Return what is told while a folder is fingerprinted: nothing where all hashes are known."""
    told: list[HashProgress] = []
    fingerprint(folder, on_progress=told.append)
    return told


def test_a_large_file_is_read_once_and_every_byte_of_it_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SETTLED_SECONDS", 0.0)
    path = big_file(tmp_path / "m")
    [told] = reads(path.parent)
    assert told == HashProgress(name=WEIGHTS, done_bytes=3 << 20, total_bytes=3 << 20)
    assert not reads(path.parent)
    monkeypatch.setattr(module, "_known", {})
    assert not reads(path.parent), "another process finds it in the cache"
    seen = {fingerprint(path.parent)}
    for at in (0, 65_537, 1 << 20, (3 << 20) - 1):
        with path.open("r+b") as handle:
            handle.seek(at)
            handle.write(b"x")
        seen.add(fingerprint(path.parent))
    assert len(seen) == 5


def test_hashes_of_files_touched_a_moment_ago_are_not_kept(tmp_path: Path) -> None:
    path = big_file(tmp_path / "m")
    assert reads(path.parent)
    assert reads(path.parent)


def test_another_file_put_in_the_place_of_one_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SETTLED_SECONDS", 0.0)
    path = big_file(tmp_path / "m")
    before, stat = fingerprint(path.parent), path.stat()
    other = tmp_path / "other"
    other.write_bytes(b"y" * stat.st_size)
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    other.replace(path)
    assert fingerprint(path.parent) != before


@pytest.mark.parametrize("content", ["", "{", "[]", '{"stamp": 1}', '{"stamp": null, "sha256": "00"}'])
def test_a_damaged_entry_of_the_cache_is_made_anew(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, private_cache: Path
) -> None:
    monkeypatch.setattr(module, "SETTLED_SECONDS", 0.0)
    path = big_file(tmp_path / "m")
    right = fingerprint(path.parent)
    monkeypatch.setattr(module, "_known", {})
    [entry] = (private_cache / "hashes").iterdir()
    entry.write_text(content, encoding="utf-8")
    assert fingerprint(path.parent) == right
    assert "sha256" in json.loads(entry.read_text(encoding="utf-8"))


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = big_file(tmp_path / "m")

    def grow(_told: HashProgress) -> None:
        with path.open("ab") as handle:
            handle.write(b"more")

    with pytest.raises(ModelLoadError, match="changed while it was read; wait until it is whole"):
        fingerprint(path.parent, on_progress=grow)


def test_a_model_that_changes_while_it_is_loaded_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import transformers

    folder = MODELS["llama"](tmp_path / "llama")
    real = transformers.AutoModelForCausalLM.from_pretrained

    def load_late(*args: Any, **options: Any) -> Any:  # noqa: ANN401
        flip_a_matrix(folder / WEIGHTS)
        return real(*args, **options)

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", load_late)
    with pytest.raises(ModelLoadError, match="its files changed while it was loaded; load it again"):
        pairbank.load_model(folder, device="cpu")


PARTS = [
    *("modeling.py", "additional_chat_templates/tools.jinja", "tokenizer.model", "merges.txt", "source.spm"),
    *("qwen.tiktoken", "bpe.codes", "vocab", "tf_model.h5", "conf.yaml", "1_Pooling/config.json"),
    *("2_Dense/model.safetensors", "w/part.safetensors", "a/b/c/deep.bin"),
]
NO_PARTS = [
    *(
        "README.md",
        "1_Pooling/README.md",
        "scores.parquet",
        "own.csv",
        "plot.PNG",
        ".gitattributes",
        ".git/config.json",
    ),
    *(".cache/huggingface/x.json", "checkpoint-500/model.safetensors", "runs/a/events.out.tfevents.1"),
    "__pycache__/modeling.pyc",
]


@pytest.mark.parametrize("name", PARTS + NO_PARTS)
def test_every_file_that_a_loader_may_read_counts(name: str, tmp_path: Path) -> None:
    big_file(tmp_path)
    before = fingerprint(tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
    (tmp_path / name).write_text("1", encoding="utf-8")
    added = fingerprint(tmp_path)
    (tmp_path / name).write_text("2", encoding="utf-8")
    edited = fingerprint(tmp_path)
    assert len({before, added, edited}) == (3 if name in PARTS else 1)


@pytest.mark.parametrize("where", ["w/part.safetensors", "checkpoint-1/part.safetensors", ".w/part.safetensors"])
def test_shards_that_an_index_names_count_wherever_they_are(where: str, tmp_path: Path) -> None:
    (tmp_path / f"{WEIGHTS}.index.json").write_text(json.dumps({"metadata": {}, "weight_map": {"a": where}}))
    (tmp_path / where).parent.mkdir()
    (tmp_path / where).write_bytes(b"1")
    before = fingerprint(tmp_path)
    (tmp_path / where).write_bytes(b"2")
    assert fingerprint(tmp_path) != before


def test_loops_of_links_and_other_peoples_shards_are_left_alone(tmp_path: Path) -> None:
    folder = big_file(tmp_path / "m").parent
    (folder / "sub").mkdir()
    (folder / "sub" / "loop").symlink_to(folder, target_is_directory=True)
    weights = {"a": "../outside.bin", "b": "/etc/hostname", "c": "no\0name", "d": 3}
    indices: list[Any] = [{"weight_map": weights}, {"weight_map": ["../outside.bin"]}, [], {}]
    before = ""
    for index in indices:
        (folder / "x.index.json").write_text(json.dumps(index), encoding="utf-8")
        (tmp_path / "outside.bin").write_bytes(b"1")
        before = fingerprint(folder)
        (tmp_path / "outside.bin").write_bytes(b"2")
        assert fingerprint(folder) == before
    (folder / "x.index.json").write_text("[[[", encoding="utf-8")
    assert fingerprint(folder) != before


def test_a_folder_that_is_more_than_a_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_FILES", 3)
    for i in range(4):
        (tmp_path / f"{i}.bin").write_bytes(b"")
    with pytest.raises(ModelLoadError, match=r"more than 3 files.*put the model's own files into a folder"):
        fingerprint(tmp_path)


@pytest.mark.usefixtures("kept_at_once")
def test_the_model_that_an_adapter_is_put_on_counts(tmp_path: Path) -> None:
    base = saved_model(ARCHITECTURES["llama"], tmp_path / "base")
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_model.safetensors").write_bytes(b"weights of the adapter")
    (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(base), "r": 8}))
    before = located(adapter, gguf_file=None)
    assert located(adapter, gguf_file=None).revision == before.revision
    weights = base / "model.safetensors"
    data = weights.read_bytes()
    weights.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert located(adapter, gguf_file=None).revision != before.revision
    with pytest.raises(ModelLoadError, match="its files changed while it was loaded"):
        before.check_unchanged()
    # of a base on the Hub the adapter's own file tells the name
    (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "org/base"}))
    on_hub = located(adapter, gguf_file=None).revision
    (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "org/other"}))
    assert len({on_hub, located(adapter, gguf_file=None).revision, before.revision}) == 3


def test_many_at_once_agree(tmp_path: Path) -> None:
    for i in range(6):
        (tmp_path / f"part-{i}.safetensors").write_bytes(bytes([i]) * (1 << 20))
    result: list[str] = []
    threads = [threading.Thread(target=lambda: result.append(fingerprint(tmp_path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(result) == 8
    assert len(set(result)) == 1


@pytest.mark.parametrize("name", ["llama", "bert", "t5"])
def test_a_model_can_be_named_and_keeps_its_stored_scores(name: str, tmp_path: Path) -> None:
    folder = MODELS[name](tmp_path / "final")
    items = pairbank.load_corpus("starter", subset="minimal-pairs").select(range(3))
    plain, named = (pairbank.load_model(folder, device="cpu", name=given) for given in (None, "Run 1/final"))
    assert (plain.info.name, named.info.name, named.info.model_id) == ("final", "Run 1/final", "final")
    first = pairbank.score(items, plain)

    def never(*_args: Any, **_options: Any) -> None:  # noqa: ANN401
        raise AssertionError("asked again")

    named.__dict__["token_logprobs"] = never
    second = pairbank.score(items, named)
    assert second["direct_good"][:] == first["direct_good"][:]
    assert (second.model, second.model_slug) == ("Run 1/final", "final")


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a\x1b[2J"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ModelLoadError, match="expected a few printable characters"):
        pairbank.load_model("fake:x", name=name)


def test_a_name_alone_does_not_load_the_demo_model() -> None:
    with pytest.raises(ModelLoadError, match="name='gpt2' only names a model; say which, as the first argument"):
        pairbank.load_model(name="gpt2")


@pytest.mark.ci
def test_weights_of_the_demo_model_are_those_that_transformers_reads(demo_model: CausalScorer) -> None:
    """The hash is of what transformers 5.23 writes, read and named without our caches."""
    weights = Path(str(demo_model.model.name_or_path)) / "model.safetensors"
    assert hashlib.sha256(weights.read_bytes()).hexdigest() == (
        "a672150fb4f99d7c8f4168cecdd464069c0ef3a37d8113f22ddb9d48031d03cd"
    )


def test_a_fake_model_is_named_and_gives_the_same_numbers() -> None:
    items = pairbank.load_corpus("starter", subset="minimal-pairs").select(range(3))
    plain, named = (pairbank.load_model("fake:x", name=name) for name in (None, "other"))
    assert named.info.name == "other"
    assert pairbank.score(items, plain)["direct_good"][:] == pairbank.score(items, named)["direct_good"][:]


def test_versions_of_the_libraries_are_part_of_what_scores_are_stored_under() -> None:
    from dataclasses import replace

    info = pairbank.load_model("fake:x").info
    keys = {replace(info, **{field: "9.9"}).key for field in ("torch", "transformers", "device_name", "revision")}
    assert len(keys | {info.key}) == 5
    assert replace(info, name="another").key == info.key


@pytest.mark.usefixtures("kept_at_once")
def test_who_stops_a_model_that_is_hashed_does_not_wait_for_files_that_were_not_begun(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for n in range(30):
        (tmp_path / f"model-{n:02}.safetensors").write_bytes(bytes(2_000))
    read: list[str] = []

    def slowly(path: Path, *_of_file: object) -> str:
        time.sleep(0.02)
        read.append(path.name)
        return "0" * 64

    def stopped(_module: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "MOST_THREADS", 1)
    monkeypatch.setattr(module, "_read", slowly)
    monkeypatch.setattr(module, "import_module", stopped)
    with pytest.raises(KeyboardInterrupt):
        fingerprint(tmp_path)
    assert len(read) < 10
